#!/usr/bin/python3
"""`cordon run` and `cordon proxy` speak TLS: requests of intercepted hosts are decided one
by one, their servers are verified for real, secrets are put in outside the sandbox, and a
parent proxy may be behind TLS."""
import hashlib
import os
import socket
import ssl
import subprocess
import sys
import tempfile
import threading
import time

import fakenet
from fakenet import Server, read_until

BUNDLE = os.path.realpath("/etc/ssl/certs/ca-certificates.crt")
KEY = "ghp_R3alS3cretV4lueThatStaysOutside00"
FILE_KEY = "tok-live-0123456789ABCdefghij"
BIG = b"0123456789abcdef" * 200_000
ZONE = {"api.ok.test": ["93.184.216.10"], "plain.ok.test": ["93.184.216.10"],
        "bad.ok.test": ["93.184.216.11"], "other.ok.test": ["93.184.216.12"],
        "parent.proxy.test": ["93.184.216.11"], "false.proxy.test": ["93.184.216.11"]}


def openssl(*words):
    subprocess.run(["openssl", *words], check=True, capture_output=True)


def make_ca(folder, name):
    key, cert = os.path.join(folder, name + ".key"), os.path.join(folder, name + ".pem")
    openssl("req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
            "-keyout", key, "-out", cert, "-days", "2", "-subj", f"/CN={name}")
    return key, cert


def make_leaf(folder, name, ca):
    stem = os.path.join(folder, name)
    openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
            "-keyout", stem + ".key", "-out", stem + ".csr", "-subj", f"/CN={name}")
    with open(stem + ".ext", "w", encoding="ascii") as out:
        out.write(f"subjectAltName=DNS:{name}\n")
    openssl("x509", "-req", "-in", stem + ".csr", "-CA", ca[1], "-CAkey", ca[0], "-CAcreateserial",
            "-days", "2", "-extfile", stem + ".ext", "-out", stem + ".pem")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(stem + ".pem", stem + ".key")
    return context


NOT_TESTS = ("start", "run", "output", "put", "touch", "companion_of", "alone")


def upstream_of(url):
    return f'upstream = "{url}"\n'


class TlsServer:
    """HTTP/1.1 inside TLS, with a certificate by the name asked for."""

    def __init__(self, address, contexts):
        self.heads, self.contexts = [], contexts
        first = next(iter(contexts.values()))
        first.sni_callback = self.choose
        self.server = Server(address, 443, lambda c: self.talk(first.wrap_socket(c, server_side=True)))

    def choose(self, connection, name, _):
        if name in self.contexts:
            connection.context = self.contexts[name]

    def talk(self, connection):
        data = b""
        while True:
            data = read_until(connection, b"\r\n\r\n", data)
            head, data = data.split(b"\r\n\r\n", 1)
            self.heads.append(head.decode())
            path, body = head.split(b" ")[1], b""
            if b"transfer-encoding: chunked" in head.lower():
                data = read_until(connection, b"0\r\n\r\n", data).split(b"0\r\n\r\n", 1)[1]
            for line in head.split(b"\r\n"):
                if line.lower().startswith(b"content-length: "):
                    while len(data) < int(line[16:]):
                        data += connection.recv(65536)
                    body, data = data[:int(line[16:])], data[int(line[16:]):]
            if path == b"/ws":
                connection.sendall(b"HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\n"
                                   b"Connection: Upgrade\r\n\r\nfirst")
                connection.sendall(connection.recv(100).upper())
                connection.unwrap()
                return
            if path in (b"/close", b"/cut"):
                connection.sendall(b"HTTP/1.1 200 OK\r\n\r\nuntil the end")
                if path == b"/close":
                    connection.unwrap()
                return  # without a close_notify: somebody may have cut it
            answer = BIG if path == b"/big" else b"saw " + b" ".join(head.split(b" ")[:2]) + b" " + body + b"\n"
            connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: %d\r\n\r\n" % len(answer) + answer)


class TlsParent:
    """An HTTP proxy inside TLS that does as it is told, and remembers what it was."""

    def __init__(self, port, context):
        self.heads = []
        self.server = Server("93.184.216.11", port,
                             lambda c: self.talk(context.wrap_socket(c, server_side=True)))

    def talk(self, connection):
        head = read_until(connection, b"\r\n\r\n").decode()
        self.heads.append(head)
        what = head.split(" ")[1]
        if not head.startswith("CONNECT "):
            connection.sendall(b"HTTP/1.1 200 OK\r\n\r\nby the parent")
            if not what.endswith("/cut"):
                connection.unwrap()
            return
        host, port = what.split(":")
        with socket.create_connection((ZONE[host][0], int(port))) as server:
            connection.sendall(b"HTTP/1.1 200 Yes\r\n\r\n")
            back = threading.Thread(target=self.pass_on, args=(server, connection))
            back.start()
            self.pass_on(connection, server)
            back.join()

    @staticmethod
    def pass_on(one, other):
        try:
            while data := one.recv(65536):
                other.sendall(data)
            other.shutdown(socket.SHUT_WR)
        except OSError:
            pass


class Tests:
    def __init__(self, folder):
        self.folder = folder
        self.workspace = os.path.join(folder, "w")
        os.mkdir(self.workspace)
        os.chmod(self.workspace, 0o777)
        self.ca = make_ca(folder, "test-root")
        stranger = make_ca(folder, "stranger")
        leaf = lambda name, ca=self.ca: make_leaf(folder, name, ca)
        subprocess.run(["mount", "--bind", self.ca[1], BUNDLE], check=True)
        fakenet.NameServer(ZONE)
        self.api = TlsServer("93.184.216.10", {n: leaf(n) for n in ("api.ok.test", "plain.ok.test")})
        self.bad = TlsServer("93.184.216.11", {"bad.ok.test": leaf("bad.ok.test", stranger)})
        self.other = TlsServer("93.184.216.12", {"other.ok.test": leaf("other.ok.test")})
        self.parent = TlsParent(8443, leaf("parent.proxy.test"))
        self.false_parent = TlsParent(8444, leaf("false.proxy.test", stranger))

    def start(self, line, policy='[net.tls]\nintercept = ["api.ok.test", "bad.ok.test"]\n', **env):
        path = os.path.join(self.folder, "policy.toml")
        with open(path, "w", encoding="utf-8") as out:
            out.write('preset = "workspace"\n[net]\nmode = "proxy"\nallow = { only = ["*.ok.test"] }\n'
                      + policy)
        words = [*fakenet.person(), os.environ["CORDON_BIN"], "run", "--policy", path, "--workspace", self.workspace, "--",
                 "sh", "-c", line]
        return subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, text=True, env={**os.environ, **env},
                                cwd=self.workspace)

    def run(self, *args, **kwargs):
        with self.start(*args, **kwargs) as process:
            out, err = process.communicate(timeout=120)
            return subprocess.CompletedProcess(process.args, process.returncode, out, err)

    def output(self, *args, **kwargs):
        result = self.run(*args, **kwargs)
        assert result.returncode == 0, result
        return result.stdout

    def clients_need_no_flags(self):
        assert "saw GET /a" in self.output("curl -sS https://api.ok.test/a")
        assert "saw GET /b" in self.output("curl -sS --noproxy '*' https://api.ok.test/b")
        assert "saw GET /c" in self.output("curl -sS -x socks5h://127.0.0.1:3128 https://api.ok.test/c")
        python = "import urllib.request as u; print(u.urlopen(\"https://api.ok.test/d\").read())"
        assert "saw GET /d" in self.output(f"/usr/bin/python3 -c '{python}'")

    def java_needs_no_flags(self):
        self.put("Get.java", """public class Get {
          public static void main(String[] words) throws Exception {
            System.out.write(new java.net.URL(words[0]).openStream().readAllBytes());
            System.out.flush();
          }
        }""")
        get = "java -XX:TieredStopAtLevel=1 Get.java https://{}.ok.test/java"
        assert "saw GET /java" in self.output(get.format("api"))
        assert self.run(get.format("bad")).returncode != 0

    def only_listed_hosts_are_intercepted(self):
        issuer = lambda host: self.output(f"curl -sSv https://{host}/ 2>&1 | grep issuer")
        assert "Cordon" in issuer("api.ok.test")
        assert "test-root" in issuer("plain.ok.test")

    def bodies_and_connections_are_kept(self):
        said = self.output("curl -sSv -d hello https://api.ok.test/1 https://api.ok.test/2 2>&1")
        assert "saw POST /1 hello" in said and "saw POST /2 hello" in said, said
        assert "Re-using existing connection" in said, said
        digest = hashlib.sha256(BIG).hexdigest()
        assert digest in self.output("curl -sS https://api.ok.test/big | sha256sum")

    def websockets_work(self):
        said = self.output("printf 'GET /ws HTTP/1.1\\r\\nHost: api.ok.test\\r\\nConnection: Upgrade\\r\\n"
                           "Upgrade: websocket\\r\\n\\r\\n' > q; (cat q; sleep 1; printf word; sleep 1) | "
                           "openssl s_client -quiet -connect api.ok.test:443 -servername api.ok.test 2>e")
        assert "first" in said and "WORD" in said, said

    def an_answer_cut_short_is_not_passed_on_as_whole(self):
        assert self.output("curl -sS https://api.ok.test/close") == "until the end"
        result = self.run("curl -sS https://api.ok.test/cut")
        assert result.returncode != 0, result

    def rules_decide_requests(self):
        policy = ('[net.tls]\nintercept = ["api.ok.test"]\n[[net.rule]]\nhost = "api.ok.test"\n'
                  'methods = ["GET"]\npaths = ["/v1/**"]\n')
        assert "saw GET /v1/x" in self.output("curl -sS https://api.ok.test/v1/x", policy)
        before = len(self.api.heads)
        for flags in ("-X POST https://api.ok.test/v1/x", "https://api.ok.test/v2",
                      "--path-as-is https://api.ok.test/v1/../v2"):
            said = self.output(f"curl -sSi --suppress-connect-headers {flags}", policy)
            assert said.startswith("HTTP/1.1 403 ") and "X-Cordon-Reason: host_denied" in said, said
        assert len(self.api.heads) == before, self.api.heads[before:]

    def servers_are_verified(self):
        said = self.output("curl -sSi --suppress-connect-headers https://bad.ok.test/")
        assert said.startswith("HTTP/1.1 502 ") and "certificate" in said, said
        assert not self.bad.heads, self.bad.heads

    def names_must_agree(self):
        before = len(self.api.heads)
        said = self.output("curl -sSi --suppress-connect-headers -H 'Host: plain.ok.test' https://api.ok.test/")
        assert said.startswith("HTTP/1.1 403 ") and "name_mismatch" in said, said
        result = self.run("curl -sS --connect-to plain.ok.test:443:api.ok.test:443 https://plain.ok.test/")
        assert result.returncode != 0 and "saw" not in result.stdout, result
        assert len(self.api.heads) == before, self.api.heads[before:]

    def secrets_stay_outside(self):
        policy = ('[[net.credential]]\nhost = "api.ok.test"\nheader = "Authorization"\n'
                  'format = "Bearer {}"\nfrom = "env:API_KEY"\n')
        result = self.run("env; echo \"key $API_KEY\"; curl -sS https://api.ok.test/added; "
                          "curl -sS -H \"Authorization: token $API_KEY\" https://api.ok.test/replaced; "
                          "curl -sS -u \"me:$API_KEY\" https://api.ok.test/basic; "
                          "curl -sS -H \"Authorization: token $API_KEY\" https://other.ok.test/",
                          policy, API_KEY=KEY, COPY=f"x{KEY}", CORDON_UNUSED="1")
        assert result.returncode == 0, result
        assert KEY not in result.stdout + result.stderr, result
        shown = next(line[4:] for line in result.stdout.splitlines() if line.startswith("key "))
        assert len(shown) == len(KEY) and shown.startswith("ghp_"), shown
        seen = {head.split(" ")[1]: head for head in self.api.heads}
        assert f"\nAuthorization: Bearer {KEY}" in seen["/added"], seen["/added"]
        assert f"\nAuthorization: token {KEY}" in seen["/replaced"], seen["/replaced"]
        assert "\nAuthorization: Basic bWU6Z2hwX1IzYWxTM2NyZXRWNGx1" in seen["/basic"], seen["/basic"]
        assert shown in self.other.heads[-1] and KEY not in self.other.heads[-1], self.other.heads[-1]

    def secrets_of_files_and_commands(self):
        path = os.path.join(self.workspace, "token")
        with open(path, "w", encoding="ascii") as out:
            out.write(FILE_KEY + "\n")
        os.chmod(path, 0o644)
        policy = ('[[net.credential]]\nhost = "api.ok.test"\nheader = "x-api-key"\nfrom = "file:token"\n'
                  f'[[net.credential]]\nhost = "*.ok.test"\nheader = "X-Made"\nfrom = "command:echo {KEY}"\n')
        result = self.run("cat token; curl -sS -H \"x-api-key: $(cat token)\" https://api.ok.test/file", policy)
        assert result.returncode == 0 and FILE_KEY not in result.stdout, result
        assert len(result.stdout.splitlines()[0]) == len(FILE_KEY), result
        head = self.api.heads[-1]
        assert f"\nx-api-key: {FILE_KEY}" in head and f"\nX-Made: {KEY}" in head, head
        with open(path, encoding="ascii") as file:
            assert file.read() == FILE_KEY + "\n"

    def put(self, name, text):
        path = os.path.join(self.workspace, name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        os.chmod(os.path.dirname(path), 0o777)
        with open(path + ".new", "w", encoding="ascii") as out:
            out.write(text + "\n")
        os.chmod(path + ".new", 0o644)
        os.rename(path + ".new", path)
        return path

    def a_secret_file_stays_where_it_is(self):
        policy = '[[net.credential]]\nhost = "api.ok.test"\nheader = "X-Key"\nfrom = "file:keys/token"\n'
        token = self.put("keys/token", FILE_KEY)
        self.put("keys/mine", "mine")
        swap = ("import ctypes, os; print(ctypes.CDLL(None).renameat2(-100, b\"keys/token\", -100, "
                "b\"keys/mine\", 2))")
        said = self.output(
            "cd keys; mv token x && echo moved; mv mine token && echo replaced; ln token y && echo linked; "
            "rm -f token && echo removed; echo new > token && echo written; cd ..; mv keys other && echo renamed; "
            f"/usr/bin/python3 -c '{swap}'; mv keys/mine keys/twin && echo twin; cat keys/token", policy)
        assert said.split()[:2] == ["-1", "twin"] and len(said.split()) == 3, said
        assert FILE_KEY not in said and len(said.split()[2]) == len(FILE_KEY), said
        said = self.output("cat keys/* 2>&1; ls keys", policy)
        assert FILE_KEY not in said and "twin" in said, said
        with open(token, encoding="ascii") as file:
            assert file.read() == FILE_KEY + "\n"

    def a_link_to_a_secret_file_leads_to_no_other(self):
        policy = '[[net.credential]]\nhost = "api.ok.test"\nheader = "X-Key"\nfrom = "file:links/token"\n'
        self.put("links/decoy", "decoy-decoy-decoy")
        secret = self.put("kept/real", FILE_KEY)
        os.symlink(secret, os.path.join(self.workspace, "links/token"))
        said = self.output(f"cat {secret}; cd links; ln -sfn decoy token && echo linked; mv decoy token && echo moved; "
                           "cd ..; mkdir more; cp links/decoy more/token; mv links gone && echo aside; "
                           "mv more links && echo back; mkdir links; cp gone/decoy links/token && echo copied; "
                           "cp gone/decoy links/twin && echo twin", policy)
        assert FILE_KEY not in said and said.split()[1:] == ["aside", "twin"], said
        # What the next run is told of is missing now, not another file.
        result = self.run(f"cat {secret}", policy)
        assert result.returncode == 125 and not result.stdout, result

    def a_secret_file_with_another_name_is_refused(self):
        own = make_ca(self.workspace, "linked-root")
        for policy, secret in (
                ('[[net.credential]]\nhost = "api.ok.test"\nheader = "X-Key"\nfrom = "file:keys/two"\n',
                 self.put("keys/two", FILE_KEY)),
                (f'[net.tls]\nintercept = ["api.ok.test"]\nca = {{ cert = "{own[1]}", key = "{own[0]}" }}\n', own[0])):
            os.chmod(secret, 0o644)
            os.link(secret, os.path.join(self.workspace, "hard"))
            result = self.run("cat hard", policy)
            assert result.returncode == 125 and "hard link" in result.stderr and not result.stdout, result
            os.unlink(os.path.join(self.workspace, "hard"))
            assert self.output("echo ran", policy) == "ran\n"

    def a_secret_file_that_the_host_replaces_is_covered_again(self):
        policy = '[[net.credential]]\nhost = "api.ok.test"\nheader = "X-Key"\nfrom = "file:keys/token"\n'
        self.put("keys/token", FILE_KEY)
        # A new file that nothing covers is seen inside as soon as it is there: the twin.
        with self.start("touch ready; while ! [ -e go ]; do sleep 0.1; done; cat keys/open; "
                        "while grep -q live- keys/token; do sleep 0.1; done; cat keys/token || echo covered",
                        policy) as process:
            while not os.path.exists(os.path.join(self.workspace, "ready")) and process.poll() is None:
                time.sleep(0.05)
            self.put("keys/token", "tok-live-refreshed-0123456789")
            self.put("keys/open", "live-twin")
            self.touch("go")
            out, err = process.communicate(timeout=120)
        os.unlink(os.path.join(self.workspace, "go"))
        assert out == "live-twin\ncovered\n", (out, err)

    def a_missing_secret_stops_the_run(self):
        policy = '[[net.credential]]\nhost = "api.ok.test"\nheader = "X-Key"\nfrom = "env:NOT_SET"\n'
        result = self.run("echo ran", policy)
        assert result.returncode == 125 and "NOT_SET" in result.stderr, result
        assert "ran" not in result.stdout, result

    def the_users_own_authority_signs(self):
        own = make_ca(self.workspace, "own-root")
        os.chmod(own[0], 0o644)
        policy = ('[net.tls]\nintercept = ["api.ok.test"]\n'
                  f'ca = {{ cert = "{own[1]}", key = "{own[0]}" }}\n')
        said = self.output("curl -sSv https://api.ok.test/own 2>&1; cat own-root.key || echo hidden", policy)
        assert "saw GET /own" in said and "CN=own-root" in said, said
        assert "hidden" in said and "PRIVATE KEY" not in said, said

    def many_connections_and_large_uploads(self):
        said = self.output("seq 200 | xargs -P 20 -I@ curl -sS https://api.ok.test/n@ | grep -c 'saw GET /n'")
        assert said.strip() == "200", said
        said = self.output("head -c 5000000 /dev/zero | tr '\\0' z > up; "
                           "curl -sS -H Expect: --data-binary @up https://api.ok.test/up | tr -d 'z\n'; wc -c < up")
        assert said.split() == ["saw", "POST", "/up", "5000000"], said[:200]

    def a_parent_may_be_behind_tls(self):
        url = "https://me:p%40ss@parent.proxy.test:8443"
        intercept = '[net.tls]\nintercept = ["api.ok.test"]\n'
        for env, upstream in (({}, f'upstream = "{url}"\n'), ({"https_proxy": url}, "")):
            said = self.output("curl -sS https://plain.ok.test/tunnel", upstream + intercept, **env)
            assert "saw GET /tunnel" in said, said
            assert self.parent.heads[-1].startswith("CONNECT plain.ok.test:443 HTTP/1.1\r\n"), self.parent.heads
            assert "\r\nProxy-Authorization: Basic bWU6cEBzcw==\r\n" in self.parent.heads[-1], self.parent.heads
        # TLS inside that TLS, and a client that knows of no proxy.
        said = self.output("curl -sS https://api.ok.test/in; curl -sS --noproxy '*' https://plain.ok.test/un",
                           upstream_of(url) + intercept)
        assert "saw GET /in" in said and "saw GET /un" in said, said
        digest = hashlib.sha256(BIG).hexdigest()
        assert digest in self.output("curl -sS https://plain.ok.test/big | sha256sum", upstream_of(url))
        assert digest in self.output("curl -sS https://api.ok.test/big | sha256sum", upstream_of(url) + intercept)
        # Plain requests go to it as they are; one that was cut short is not passed on as whole.
        assert self.output("curl -sS http://plain.ok.test/p", upstream_of(url)) == "by the parent"
        assert self.parent.heads[-1].startswith("GET http://plain.ok.test/p HTTP/1.1\r\n"), self.parent.heads
        assert self.run("curl -sS http://plain.ok.test/cut", upstream_of(url)).returncode != 0
        before = len(self.parent.heads)
        assert self.run("curl -sS https://not.allowed.test/; curl -sS http://not.allowed.test/; exit 7",
                        upstream_of(url)).returncode == 7
        assert len(self.parent.heads) == before, self.parent.heads[before:]

    def a_parent_has_to_prove_who_it_is(self):
        for url in ("https://false.proxy.test:8444", "https://93.184.216.11:8443"):
            said = self.output("curl -sSi http://plain.ok.test/", upstream_of(url))
            assert said.startswith("HTTP/1.1 502 ") and "upstream proxy" in said and "certificate" in said, said
            result = self.run("curl -sS https://plain.ok.test/", upstream_of(url))
            assert result.returncode != 0 and "saw" not in result.stdout, result
        assert not self.false_parent.heads, self.false_parent.heads

    def alone(self, *flags, policy, **env):
        path = os.path.join(self.folder, "alone.toml")
        with open(path, "w", encoding="utf-8") as out:
            out.write('[net]\nmode = "proxy"\nallow = ["*.ok.test"]\n' + policy)
        return fakenet.Proxy("--policy", path, *flags, env=env)

    def the_proxy_alone_intercepts(self):
        ca = os.path.join(self.folder, "made.pem")
        policy = ('[net.tls]\nintercept = ["api.ok.test"]\n[[net.rule]]\nhost = "api.ok.test"\nmethods = ["GET"]\n'
                  '[[net.credential]]\nhost = "other.ok.test"\nheader = "X-Key"\nfrom = "env:API_KEY"\n')
        with self.alone("--ca-out", ca, policy=policy, API_KEY=KEY) as proxy:
            def curl(*words):
                words = ["curl", "-sS", "-x", f"http://127.0.0.1:{proxy.port}", *words]
                return subprocess.run(words, capture_output=True, text=True, timeout=60)
            with open(ca, encoding="ascii") as file:
                text = file.read()
            assert "BEGIN CERTIFICATE" in text and "PRIVATE" not in text, text
            assert "saw GET /alone" in curl("--cacert", ca, "https://api.ok.test/alone").stdout
            said = curl("--cacert", ca, "-d", "x", "https://api.ok.test/alone").stdout
            assert "denied" in said and "saw" not in said, said
            assert "saw GET /k" in curl("--cacert", ca, "https://other.ok.test/k").stdout
            assert f"\nX-Key: {KEY}" in self.other.heads[-1], self.other.heads[-1]
            # Others are not looked into, and who does not trust the authority is told so.
            assert "saw GET /p" in curl("--cacert", self.ca[1], "https://plain.ok.test/p").stdout
            assert curl("--cacert", self.ca[1], "https://api.ok.test/").returncode == 60

    def the_proxy_alone_needs_a_place_for_the_certificate(self):
        try:
            self.alone(policy='[net.tls]\nintercept = ["api.ok.test"]\n').process.kill()
        except AssertionError as refused:
            assert "--ca-out" in str(refused), refused
        else:
            raise RuntimeError("it started")

    def the_proxy_alone_has_a_parent_behind_tls(self):
        with self.alone(policy=upstream_of("https://parent.proxy.test:8443")) as proxy:
            said = subprocess.run(["curl", "-sS", "-x", f"http://127.0.0.1:{proxy.port}", "--cacert", self.ca[1],
                                   "https://plain.ok.test/q"], capture_output=True, text=True, timeout=60)
            assert "saw GET /q" in said.stdout, said
            assert self.parent.heads[-1].startswith("CONNECT plain.ok.test:443 "), self.parent.heads

    def the_companion_ends_with_the_run(self):
        for end in (lambda process: process.kill(), lambda process: self.touch("go")):
            before = len(self.api.heads)
            with self.start("rm -f go; curl -sS https://api.ok.test/alive; "
                            "while ! [ -e go ]; do sleep 0.1; done") as process:
                while len(self.api.heads) == before and process.poll() is None:
                    time.sleep(0.05)
                pid = self.companion_of(process.pid)
                end(process)
            assert pid, process
            while self.companion_of(process.pid, pid):  # the test's own time limit ends this
                time.sleep(0.05)

    def touch(self, name):
        with open(os.path.join(self.workspace, name), "w", encoding="ascii"):
            pass

    @staticmethod
    def companion_of(parent, known=None):
        """The pid of the companion that `parent` started."""
        for pid in [known] if known else filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
                    name, rest = file.read().split("(", 1)[1].rsplit(")", 1)
            except OSError:
                continue
            if name == "cordon-tls" and (known or int(rest.split()[1]) == parent):
                return pid
        return None


def main():
    if not os.path.exists(BUNDLE):
        print("skipped: no CA bundle here")
        return fakenet.SKIP
    fakenet.enter()
    folder = tempfile.mkdtemp(prefix="tls")
    os.chmod(folder, 0o755)
    tests = Tests(folder)
    wanted = sys.argv[1:]
    for name, test in vars(Tests).items():
        if name.startswith("_") or name in NOT_TESTS or (wanted and name not in wanted):
            continue
        test(tests)
        print("ok", name, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
