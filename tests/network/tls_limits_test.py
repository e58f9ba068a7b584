#!/usr/bin/python3
"""What a command may try against interception: paths with two readings, names at
addresses, what it says ending up in the record, requests sent twice."""
import json
import os
import ssl
import subprocess
import sys
import tempfile
import threading

import fakenet
from fakenet import Server, read_until
from tls_test import BUNDLE, KEY, Tests as TlsTests, make_leaf, openssl

API, ADDRESS = "api.ok.test", "93.184.216.10"
RULES = ('[net.tls]\nintercept = ["api.ok.test", "api.ok.test:8443"]\n[[net.rule]]\n'
         'host = "api.ok.test:443"\nmethods = ["GET"]\npaths = ["/v1/**"]\n')
CREDENTIAL = ('[[net.credential]]\nhost = "api.ok.test"\nheader = "Authorization"\n'
              'format = "Bearer {}"\nfrom = "env:API_KEY"\n')
# Inside: says bytes over TLS and prints what comes back.
SAY = r'''
import socket, ssl, sys
def say(data, host="api.ok.test", port=443, sni=None):
    plain = socket.create_connection((host, port), 60)
    with ssl._create_unverified_context().wrap_socket(plain, server_hostname=sni or host) as tls:
        tls.sendall(data)
        got = b""
        while True:
            part = tls.recv(65536)
            if not part:
                return got
            got += part
'''
NOT_TESTS = ("python", "expect_denied")


def request(path, method=b"GET", fields=b"", host=b"api.ok.test"):
    return (method + b" " + path + b" HTTP/1.1\r\nHost: " + host + b"\r\nConnection: close\r\n" + fields
            + b"\r\n")


class OddServer:
    """TLS on 8443. It remembers what it was asked, and answers by the path."""

    def __init__(self, context):
        self.asked, self.context = [], context
        Server(ADDRESS, 8443, lambda c: self.talk(self.context.wrap_socket(c, server_side=True)))

    def talk(self, connection):
        data = b""
        while True:
            data = read_until(connection, b"\r\n\r\n", data)
            head, data = data.split(b"\r\n\r\n", 1)
            method, path = head.split(b" ")[:2]
            self.asked.append((method + b" " + path).decode())
            if path == b"/endless":
                while True:
                    connection.sendall(b"HTTP/1.1 102 Wait\r\n\r\n" * 50)
            interim = b"HTTP/1.1 103 Soon\r\n\r\n" * 40 if path == b"/interim" else b""
            connection.sendall(interim + b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\n\r\nok\n")
            if path == b"/first":  # kept by its word, and closed by its deed
                read_until(connection, b"\r\n\r\n", data)
                self.asked.append("cut")
                return


class Tests:
    def __init__(self, folder):
        self.base = TlsTests(folder)
        self.odd = OddServer(make_leaf(folder, API, self.base.ca))

    def python(self, code, policy=RULES, mode="proxy", flags=(), **env):
        """The outcome of a run of `code` with say()."""
        workspace = self.base.workspace
        script = self.base.put("inside.py", SAY + code)
        path = self.base.put("../policy.toml", f'preset = "workspace"\n[net]\nmode = "{mode}"\n'
                             'allow = { only = ["*.ok.test", "*.ok.test:8443"] }\n' + policy)
        words = [*fakenet.person(), os.environ["CORDON_BIN"], "run", "--policy", path, "--workspace", workspace,
                 *flags, "--", "/usr/bin/python3", script]
        return subprocess.run(words, stdin=subprocess.DEVNULL, capture_output=True, timeout=120,
                              cwd=workspace, env={**os.environ, **env})

    def expect_denied(self, requests, status, policy=RULES, port=443):
        """Each of them, with nothing of it seen by the server."""
        seen = len(self.base.api.heads) + len(self.odd.asked)
        code = f"for one in {requests!r}:\n    print(one[:60], say(one, port={port})[:12])\n"
        result = self.python(code, policy)
        answers = result.stdout.decode().splitlines()
        assert len(answers) == len(requests), result
        for answer in answers:
            assert f"HTTP/1.1 {status}"[:12] in answer, (answer, result.stderr)
        assert len(self.base.api.heads) + len(self.odd.asked) == seen, result

    def paths_have_one_reading(self):
        self.expect_denied([request(path) for path in (
            b"/v1/../v2", b"/v1/..%20/v2", b"/v1/%2e%2e/v2", b"/v1/a%23", b"/v1/a%3b", b"/v1/a%3f", b"/v1/%0a",
            b"/v1/%e0%80%ae%e0%80%ae/v2", b"/v1/%ef%bc%8e%ef%bc%8e%ef%bc%8fv2", b"/v1/\xff", b"/v1/a|b")], 403)
        self.expect_denied([request(b"/v2#/v1/x"), request(b"/v1/x#"), request(b"http://api.ok.test/v2#/v1/")], 400)
        result = self.python("print(say(%r))" % request(b"/v1/a%20b/c?d=%23"))
        assert b"saw GET /v1/a%20b/c" in result.stdout, result

    def headers_make_no_other_request(self):
        self.expect_denied([request(b"/v1/x", fields=field + b": /v2\r\n") for field in (
            b"X-HTTP-Method-Override", b"X-Original-URL", b"x-rewrite-url", b"X_Original_URL")], 403)
        result = self.python("print(say(%r))" % request(b"/v1/x", fields=b"X-Other: /v2\r\n"))
        assert b"saw GET /v1/x" in result.stdout, result

    def a_rule_with_a_port_is_for_that_port(self):
        self.expect_denied([request(b"/v1/x", host=b"api.ok.test:8443")], 403, port=8443)
        other = RULES.replace('"api.ok.test:443"', '"api.ok.test"')
        result = self.python("print(say(%r, port=8443))" % request(b"/v1/x", host=b"api.ok.test:8443"), other)
        assert b"200 OK" in result.stdout, result

    def an_address_does_not_stand_for_what_is_seen_or_denied(self):
        policy = RULES + '[[net.rule]]\nhost = "rules.test"\nmethods = ["GET"]\n'
        policy = 'deny = ["denied.test"]\n' + policy
        Server(ADDRESS, 80, self.answer_plain)
        code = f'''
for name in ("api.ok.test", "rules.test", "denied.test", "plain.ok.test"):
    try:
        print("tls", name, say({request(b"/close")!r}.replace(b"api.ok.test", name.encode()), "{ADDRESS}", sni=name)[:12])
    except OSError as error:
        print("tls", name, "reset")
    for via in ("direct", "connect"):
        with socket.create_connection(("{ADDRESS}", 80) if via == "direct" else ("127.0.0.1", 3128), 60) as plain:
            reader = plain.makefile("rb")
            if via == "connect":
                plain.sendall(b"CONNECT {ADDRESS}:80 HTTP/1.1\\r\\nHost: x\\r\\n\\r\\n")
                while reader.readline() != b"\\r\\n":
                    pass
            plain.sendall({request(b"/v2")!r}.replace(b"api.ok.test", name.encode()))
            print(via, name, reader.read()[:12])
'''
        result = self.python(code, policy, mode="public")
        said = result.stdout.decode().splitlines()
        for name in ("api.ok.test", "rules.test", "denied.test"):
            assert f"tls {name} reset" in said, (name, result)
            for via in ("direct", "connect"):
                assert f"{via} {name} b'HTTP/1.1 403'" in said, (name, via, result)
        for kind in ("tls", "direct", "connect"):
            assert f"{kind} plain.ok.test b'HTTP/1.1 200'" in said, (kind, result)

    @staticmethod
    def answer_plain(connection):
        head = read_until(connection, b"\r\n\r\n")
        assert b"\r\nHost: plain.ok.test\r\n" in head, head
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 3\r\nConnection: close\r\n\r\nok\n")

    def the_hello_of_ssl2_is_no_way_around(self):
        code = '''
with socket.create_connection(("plain.ok.test", 443), 60) as plain:
    plain.sendall(bytes([0x80, 0x2e, 1, 3, 3]) + bytes(43))
    try:
        print("got", plain.recv(100))
    except OSError:
        print("reset")
'''
        assert self.python(code).stdout == b"reset\n"

    def the_record_survives_what_a_client_says(self):
        bad = [b"/\xff", b"/\xc2\x9b2J", b"/\x9b31m", b"/\xe2\x80\xaeevil", b"/\xc2\x9d0;title"]
        code = "".join(f"say({request(path)!r})\n" for path in bad) + "sys.exit(3)\n"
        result = self.python(code, flags=["--json"])
        record = json.loads(result.stdout)
        assert result.returncode == 3 and record["exit_code"] == 3, result
        denied = [v for v in record["violations"] if v["subject"] == "api.ok.test:443"]
        assert denied and denied[0]["count"] == len(bad) and "/\\xff" in denied[0]["rule"], record["violations"]
        for path in bad[1:]:
            result = self.python(f"say({request(path)!r})\n")
            assert b"denied: connect api.ok.test:443" in result.stderr and b"\\x" in result.stderr, result
            assert path[1:3] not in result.stderr, result
        # The host that it was for, not what the client wrote.
        result = self.python("say(%r)" % request(b"/v1/x", host=b"evil.test"), flags=["--json"])
        subjects = [v["subject"] for v in json.loads(result.stdout)["violations"]]
        assert subjects == ["api.ok.test:443"], subjects

    def a_request_that_changes_things_is_sent_once(self):
        policy = '[net.tls]\nintercept = ["api.ok.test:8443"]\n'
        for method, times in ((b"DELETE", 1), (b"GET", 2)):
            self.odd.asked.clear()
            # A kept connection that its server closes in the moment of the second.
            keep = request(b"/first", host=b"api.ok.test:8443").replace(b"Connection: close\r\n", b"")
            again = request(b"/again", method, host=b"api.ok.test:8443")
            result = self.python(f"print(say({keep + again!r}, port=8443))", policy)
            assert self.odd.asked == ["GET /first", "cut"] + [method.decode() + " /again"] * (times - 1), \
                (self.odd.asked, result)
            assert result.stdout.count(b"200 OK") == times, result

    def interim_answers_end(self):
        policy = '[net.tls]\nintercept = ["api.ok.test:8443"]\n'
        ask = lambda path: self.python("print(say(%r, port=8443)[-200:])" % request(path, host=b"api.ok.test:8443"),
                                       policy).stdout
        assert b"interim answers without end" in ask(b"/endless")
        assert b"ok\\n" in ask(b"/interim")

    def malformed_chunks_are_the_clients_fault(self):
        fields = b"Transfer-Encoding: chunked\r\n"
        for body, status in ((b"-1\r\n", b"HTTP/1.1 400"), (b"2\r\nab\r\n0\r\n\r\n", b"HTTP/1.1 200")):
            policy = '[net.tls]\nintercept = ["api.ok.test"]\n'
            result = self.python("print(say(%r))" % (request(b"/c", b"POST", fields) + body), policy)
            assert status in result.stdout, (body, result)

    def secrets_are_not_sent_to_be_sent_back(self):
        methods = (b"TRACE", b"trace", b"TRACK", b"DEBUG", b"GET")
        code = "".join(f"say({request(b'/echo', method)!r})\n" for method in methods)
        self.base.api.heads.clear()
        result = self.python(code, CREDENTIAL, API_KEY=KEY)
        got = {head.split(" ")[0]: KEY in head for head in self.base.api.heads}
        assert got == {"TRACE": False, "trace": False, "TRACK": False, "DEBUG": False, "GET": True}, (got, result)

    def a_common_name_is_no_name(self):
        stem = os.path.join(self.base.folder, "cn-only")
        openssl("req", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes", "-keyout", stem + ".key",
                "-out", stem + ".csr", "-subj", f"/CN={API}")
        openssl("x509", "-req", "-in", stem + ".csr", "-CA", self.base.ca[1], "-CAkey", self.base.ca[0],
                "-CAcreateserial", "-days", "2", "-out", stem + ".pem")
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(stem + ".pem", stem + ".key")
        policy = '[net.tls]\nintercept = ["api.ok.test:8443"]\n'
        ask = "print(say(%r, port=8443))" % request(b"/", host=b"api.ok.test:8443")
        named, self.odd.context = self.odd.context, context
        assert b"502 Bad" in self.python(ask, policy).stdout
        self.odd.context = named
        assert b"200 OK" in self.python(ask, policy).stdout

    def the_companion_is_confined(self):
        with self.base.start("touch there; while ! [ -e stop ]; do sleep 0.1; done") as process:
            while not os.path.exists(os.path.join(self.base.workspace, "there")) and process.poll() is None:
                threading.Event().wait(0.05)
            pid = self.base.companion_of(process.pid)
            with open(f"/proc/{pid}/status", encoding="utf-8") as file:
                status = dict(line.split(":\t", 1) for line in file.read().splitlines() if ":\t" in line)
            self.base.touch("stop")
        assert status["Seccomp"] == "2" and status["NoNewPrivs"] == "1", status


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
        if name.startswith("_") or name in NOT_TESTS or name == "answer_plain" or (wanted and name not in wanted):
            continue
        test(tests)
        print("ok", name, flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main())
