"""An internet in which `cordon run` is tried: names, servers, certificates. What
reaches a server or the name server is remembered, and `start()` has made all of it
before the first case runs."""
import os
import shutil
import ssl
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import contained  # noqa: E402
import fakenet  # noqa: E402
from contained import expect  # noqa: E402

PYTHON = "/usr/bin/python3"  # one in a home directory is out of reach inside
GOOD, OTHER, EVIL = fakenet.PUBLIC[:3]
GOOD6, EVIL6 = fakenet.PUBLIC6
ZONE = {"allowed.test": [GOOD], "six.test": [GOOD6], "both.test": [GOOD6, GOOD],
        "wild.test": [OTHER], "x.wild.test": [OTHER], "deep.x.wild.test": [OTHER],
        "evil.test": [EVIL], "ssh.test": [GOOD], "port.test": [GOOD],
        "loop.wild.test": ["127.0.0.1"], "zero.wild.test": ["0.0.0.0"],
        "mapped.wild.test": ["::ffff:127.0.0.1"], "private.wild.test": ["10.0.0.5"],
        "shared.wild.test": ["100.64.0.1"], "meta.wild.test": ["169.254.169.254"],
        "mixed.wild.test": ["127.0.0.1", OTHER]}
NET = ("--net", "proxy", "--allow-domain", "allowed.test", "--allow-domain", "*.wild.test",
       "--allow-domain", "six.test", "--allow-domain", "both.test",
       "--allow-domain", "ssh.test:22", "--allow-domain", "port.test:8443")
# In front of a shell script: as if nobody had told of a proxy.
UNPROXIED = ("for name in $(env | sed -n 's/^\\([A-Za-z_]*proxy[A-Za-z_]*\\)=.*/\\1/Ip') "
             "JAVA_TOOL_OPTIONS; do unset $name; done\n")


class World:
    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="world", dir="/var/tmp")
        os.chmod(self.folder, 0o755)
        self.names = fakenet.NameServer(ZONE)
        self.tcp_names = fakenet.Server(fakenet.DNS, 53, lambda _: None)
        self.seen_sni, self.greeted = [], []
        self.make_certificates()
        self.servers = {80: fakenet.Server("::", 80, self.http), 25: fakenet.Server("::", 25, self.http),
                        443: fakenet.Server("::", 443, self.https),
                        8443: fakenet.Server("::", 8443, self.http),
                        22: fakenet.Server("::", 22, self.ssh)}

    def close(self):
        shutil.rmtree(self.folder, ignore_errors=True)

    def path(self, name):
        return os.path.join(self.folder, name)

    def make_certificates(self):
        names = ",".join(f"DNS:{name}" for name in ("allowed.test", "x.wild.test", "evil.test",
                                                    "six.test", "both.test"))
        script = f"""
            openssl req -x509 -newkey rsa:2048 -nodes -days 9 -subj "/CN=our own" \
              -keyout ca.key -out ca.pem
            openssl req -newkey rsa:2048 -nodes -subj /CN=allowed.test -keyout server.key -out server.req
            echo subjectAltName={names} > server.ext
            openssl x509 -req -in server.req -CA ca.pem -CAkey ca.key -CAcreateserial -days 9 \
              -extfile server.ext -out server.pem"""
        subprocess.run(["sh", "-ec", script], cwd=self.folder, check=True, capture_output=True)
        self.tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        self.tls.load_cert_chain(self.path("server.pem"), self.path("server.key"))
        self.tls.sni_callback = lambda _, name, __: self.seen_sni.append(name)

    def http(self, connection):
        head = fakenet.read_until(connection, b"\r\n\r\n")
        path = head.split(b" ")[1].decode()
        body = self.body(path)
        status = b"404 None" if body is None else b"200 OK"
        connection.sendall(b"HTTP/1.1 " + status + b"\r\nConnection: close\r\nContent-Length: "
                           + str(len(body or b"")).encode() + b"\r\n\r\n" + (body or b""))

    def body(self, path):
        if not path.startswith("/repo.git/"):
            return b"welcome " + path.encode() + b"\n"
        try:
            with open(self.folder + path.partition("?")[0], "rb") as file:
                return file.read()
        except OSError:
            return None

    def https(self, connection):
        with self.tls.wrap_socket(connection, server_side=True) as secure:
            self.http(secure)

    def ssh(self, connection):
        """Speaks first, as ssh servers do, and has nothing to say after that."""
        connection.sendall(b"SSH-2.0-fake\r\n")
        self.greeted.append(fakenet.read_until(connection, b"\n"))

    def forget(self):
        for server in (*self.servers.values(), self.tcp_names):
            server.came.clear()
        for seen in (self.names.asked, self.names.questions, self.seen_sni, self.greeted):
            seen.clear()

    def came(self):
        """Every address that was reached since forget()."""
        return {address for server in self.servers.values() for address in server.came}

    def nothing_came(self, done=None):
        expect(not self.came(), f"reached: {self.came()}", done)


def start():
    """The world, in a network of its own. The first thing of a test."""
    fakenet.enter()
    contained.CORDON[:0] = fakenet.person()
    return World()


def main(name, world):
    try:
        return contained.main(name)
    finally:
        world.close()


def policy(at, text):
    return ("--policy", at.write(os.path.join(at.outside, "policy.toml"), "version = 1\n" + text))


def python(at, code, *argv, flags=NET, **more):
    """Runs python code inside, with `import socket` and a few words done."""
    words = at.write(os.path.join(at.outside, "code.py"), PRELUDE + code)
    return at.run(PYTHON, words, *map(str, argv), flags=flags, **more)


# `get` says what came back, or how it failed. No answer in 20 s is a failure of
# its own name.
PRELUDE = '''
import errno, json, os, socket, struct, sys

def get(host, port=80, family=0, name=None):
    try:
        where = socket.getaddrinfo(host, port, family, socket.SOCK_STREAM)
    except socket.gaierror as problem:
        return "no such name" if problem.errno == socket.EAI_NONAME else str(problem)
    try:
        with socket.socket(where[0][0]) as s:
            s.settimeout(20)
            s.connect(where[0][4])
            if port == 443:
                import ssl
                tls = ssl._create_unverified_context()
                s = tls.wrap_socket(s, server_hostname=name or host)
            s.sendall(b"GET / HTTP/1.1\\r\\nHost: %s\\r\\n\\r\\n" % (name or host).encode())
            data = b""
            while piece := s.recv(65536):
                data += piece
            return data.decode("latin1")
    except TimeoutError:
        return "hangs"
    except OSError as problem:
        return errno.errorcode.get(problem.errno, str(problem))
'''
