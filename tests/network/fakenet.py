"""A network of our own to try a proxy in: addresses on `lo`, a name server, servers
that remember who came. No packet leaves the machine.

`enter()` first: it starts the script again inside new namespaces, as root or, by
a user namespace, as anyone."""
import atexit
import os
import shutil
import socket
import struct
import subprocess
import sys
import tempfile
import threading

DNS = "93.184.216.53"
PUBLIC = ["93.184.216.10", "93.184.216.11", "93.184.216.12", DNS]
SPECIAL = ["10.0.0.5", "100.64.0.1", "169.254.169.254"]
PUBLIC6 = ["2606:2800:220::10", "2606:2800:220::12"]
SKIP = 77


def enter():
    if "CORDON_FAKENET" not in os.environ:
        who = [] if os.geteuid() == 0 else ["-U", "-r"]
        unshare = ["unshare", *who, "-n", "-m", "--propagation", "private"]
        if subprocess.run([*unshare, "true"], capture_output=True).returncode != 0:
            print("skipped: no new network namespace can be made here")
            sys.exit(1 if os.environ.get("CORDON_TESTS_MUST_RUN") == "1" else SKIP)
        os.environ["CORDON_FAKENET"] = f"{os.geteuid()} {os.getegid()}"
        os.execvp(unshare[0], [*unshare, sys.executable, *sys.argv])
    for name in list(os.environ):
        if name.lower().endswith("_proxy"):
            del os.environ[name]
    run = lambda *words: subprocess.run(words, check=True)
    run("ip", "link", "set", "lo", "up")
    for address in PUBLIC + SPECIAL:
        run("ip", "addr", "add", f"{address}/32", "dev", "lo")
    for address in PUBLIC6 if has_ipv6() else []:
        run("ip", "-6", "addr", "add", f"{address}/128", "dev", "lo", "nodad")
    folder = tempfile.mkdtemp(prefix="fakenet")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    for path, text in [("/etc/resolv.conf", f"nameserver {DNS}\noptions timeout:1 attempts:1\n"),
                       ("/etc/hosts", "127.0.0.1 localhost\n93.184.216.10 hosts-file.test\n")]:
        ours = os.path.join(folder, os.path.basename(path))
        with open(ours, "w", encoding="ascii") as out:
            out.write(text)
        run("mount", "--bind", ours, os.path.realpath(path))


def has_ipv6():
    return os.path.exists("/proc/net/if_inet6")


def person():
    """The words to put before a command so that it runs as whoever called enter(),
    who is root in here for want of a better way to make a network."""
    uid, gid = os.environ["CORDON_FAKENET"].split()
    return [] if uid == "0" else ["unshare", "-U", f"--map-user={uid}", f"--map-group={gid}"]


class NameServer:
    """Answers from `zone` (name -> addresses); remembers the names asked for, and
    beside it each with the type of record."""

    def __init__(self, zone):
        self.zone, self.asked, self.questions = zone, [], []
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind((DNS, 53))
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            query, client = self.socket.recvfrom(2000)
            labels, at = [], 12
            while query[at]:
                labels.append(query[at + 1:at + 1 + query[at]].decode("latin1"))
                at += query[at] + 1
            name, kind = ".".join(labels).lower(), struct.unpack(">H", query[at + 1:at + 3])[0]
            self.asked.append(name)
            self.questions.append((name, kind))
            known, records, count = self.zone.get(name), b"", 0
            for address in known or []:
                v6 = ":" in address
                if kind == (28 if v6 else 1):
                    raw = socket.inet_pton(socket.AF_INET6 if v6 else socket.AF_INET, address)
                    records += b"\xc0\x0c" + struct.pack(">HHIH", kind, 1, 0, len(raw)) + raw
                    count += 1
            flags = b"\x81\x80" if known is not None else b"\x81\x83"
            self.socket.sendto(query[:2] + flags + b"\0\1" + struct.pack(">H", count) + b"\0\0\0\0"
                               + query[12:at + 5] + records, client)


class Server:
    """Runs `talk(connection)` for each connection to address:port, in a thread. At
    "::" it is the server of every address. `came` has the address each one meant."""

    def __init__(self, address, port, talk):
        self.came, self.talk = [], talk
        every = address == "::"
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self.listener = socket.create_server((address, port), backlog=256, family=family,
                                             dualstack_ipv6=every)
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            connection, _ = self.listener.accept()
            self.came.append(connection.getsockname()[0].removeprefix("::ffff:"))
            threading.Thread(target=self.one, args=(connection,), daemon=True).start()

    def one(self, connection):
        with connection:
            try:
                self.talk(connection)
            except (OSError, EOFError):
                pass


def read_until(connection, mark, already=b""):
    data = already
    while mark not in data:
        piece = connection.recv(65536)
        if not piece:
            raise EOFError(data)
        data += piece
    return data


def read_all(connection):
    data = b""
    while True:
        try:
            piece = connection.recv(65536)
        except ConnectionResetError:
            return data + b"<reset>"
        if not piece:
            return data
        data += piece


class Proxy:
    """`cordon proxy` on a port of its own; `with` ends it and checks how it ended."""

    def __init__(self, *flags, env=None):
        words = [os.environ["CORDON_BIN"], "proxy", "--listen", "127.0.0.1:0", *flags]
        self.process = subprocess.Popen(words, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                        stderr=subprocess.PIPE, text=True,
                                        env={**os.environ, **(env or {})})
        self.said = []
        while True:
            line = self.process.stderr.readline()
            assert line, "\n".join(self.said)
            self.said.append(line)
            if "HTTP and SOCKS5 on port " in line:
                self.port = int(line.rsplit(" ", 1)[1])
                break
        self.heard = threading.Condition()
        threading.Thread(target=self.listen, daemon=True).start()

    def listen(self):
        for line in self.process.stderr:
            with self.heard:
                self.said.append(line)
                self.heard.notify_all()

    def wait_for(self, text):
        """Until it has said `text` on stderr."""
        with self.heard:
            assert self.heard.wait_for(lambda: any(text in line for line in self.said), 20), self.said

    def __enter__(self):
        return self

    def __exit__(self, *failure):
        self.process.terminate()
        code = self.process.wait(20)
        if not any(failure):
            assert code == 0, (code, self.said)

    def connect(self):
        connection = socket.create_connection(("127.0.0.1", self.port), 20)
        connection.settimeout(20)
        return connection

    def ask(self, head):
        """Sends it; all that comes back until the end."""
        with self.connect() as connection:
            connection.sendall(head)
            return read_all(connection)

    def tunnel(self, target):
        """CONNECT: the connection, or the whole answer if it was no."""
        connection = self.connect()
        connection.sendall(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n".encode())
        answer = b""
        while not answer.endswith(b"\r\n\r\n"):  # what follows may be the server's
            piece = connection.recv(1)
            assert piece, answer
            answer += piece
        if answer.startswith(b"HTTP/1.1 200 "):
            return connection
        answer += read_all(connection)
        connection.close()
        return answer

    def socks(self, request):
        """The reply code and the connection."""
        connection = self.connect()
        connection.sendall(b"\5\1\0")
        assert connection.recv(2) == b"\5\0"
        connection.sendall(request)
        reply = b""
        while len(reply) < 10:
            piece = connection.recv(10 - len(reply))
            assert piece, reply
            reply += piece
        return reply[1], connection


def socks_domain(name, port, command=1):
    return bytes([5, command, 0, 3, len(name)]) + name + struct.pack(">H", port)
