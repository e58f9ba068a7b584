#!/usr/bin/python3
"""Between the sandbox and its host: chosen ports in both directions, listed unix
sockets, and nothing else of the host's. The command cannot change its own network."""
import os
import shutil
import socket
import subprocess
import sys
import tempfile
import threading

import fakenet
import world
from contained import CORDON, case, expect
from world import NET, PYTHON

WORLD = None
HERE = None  # a server on the host's loopback, port 5432
ECHO = '''
import sys
def serve(family, address):
    s = socket.socket(family)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    s.bind(address)
    s.listen(64)
    print("up", flush=True)
    while True:
        c, _ = s.accept()
        data = b""
        while piece := c.recv(65536):
            data += piece
        c.sendall(b"inside " + data)
        c.close()
'''


def hello(connection):
    connection.sendall(b"hello from the host\n")


class UnixServer:
    """On the host. Says who it is to whoever comes."""

    def __init__(self, path, kind=socket.SOCK_STREAM):
        self.socket = socket.socket(socket.AF_UNIX, kind)
        self.socket.bind(path)
        if not path.startswith("\0"):
            os.chmod(path, 0o777)
        self.socket.listen(16)
        threading.Thread(target=self.serve, daemon=True).start()

    def serve(self):
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            with connection:
                try:
                    connection.sendall(b"hello by unix")
                except BrokenPipeError:
                    pass

    def close(self):
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()


# --- ports of the host --------------------------------------------------------------

LOOPBACK = '''
for host in ("127.0.0.1", "localhost", "::1"):
    try:
        with socket.create_connection((host, 5432), 20) as s:
            print(s.recv(100).decode().strip())
    except OSError as problem:
        print(errno.errorcode[problem.errno])
'''


@case
def host_ports_lead_to_the_host(at):
    for mode in (NET, ("--net", "none"), ("--net", "public")):
        done = world.python(at, LOOPBACK, flags=(*mode, "--host-port", "5432"))
        lines = done.stdout.splitlines()
        expect(lines[:2] == ["hello from the host"] * 2, f"{mode}: not reached", done)
        if fakenet.has_ipv6():
            expect(lines[2] == "hello from the host", f"{mode}: not reached by ::1", done)


@case
def without_them_the_host_is_not_there(at):
    HERE.came.clear()
    for mode in (NET, ("--net", "none"), ("--net", "public"), (*NET, "--host-port", "5433")):
        done = world.python(at, LOOPBACK, flags=mode)
        expect(done.stdout.split() == ["ECONNREFUSED"] * 3, f"{mode}: it is there", done)
    for host in ("localhost:5432", "127.0.0.1:5432", "[::1]:5432"):
        done = at.run("curl", "-sS", "-m", "60", "-x", "http://127.0.0.1:3128", "--noproxy", "",
                      f"http://{host}/", flags=NET)
        expect("hello" not in done.stdout, f"{host} by the proxy", done)
    expect(not HERE.came, "the host's server was reached")


@case
def a_host_port_without_a_server(at):
    done = world.python(at, LOOPBACK.replace("5432", "5433"), flags=(*NET, "--host-port", "5433"))
    expect("hello" not in done.stdout and "ETIMEDOUT" not in done.stdout, "a server from nowhere", done)
    expect(done.returncode == 0, "it broke", done)


# --- ports of the sandbox --------------------------------------------------------------

def ask_published(port, words):
    with socket.create_connection(("127.0.0.1", port), 20) as client:
        client.settimeout(20)
        client.sendall(words)
        client.shutdown(socket.SHUT_WR)
        return fakenet.read_all(client)


def published(at, code, port, flags):
    script = at.write(os.path.join(at.outside, "code.py"), world.PRELUDE + ECHO + code)
    process = subprocess.Popen([*CORDON, "run", *at.reads, *flags, "--", PYTHON, script], cwd=at.ws, env=at.env,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    try:
        expect(process.stdout.readline() == "up\n", "the server inside did not come up")
        answers = [ask_published(port, b"x" * size) for size in (0, 10, 1_000_000)]
        many = [socket.create_connection(("127.0.0.1", port), 20) for _ in range(50)]
        for number, client in enumerate(many):
            client.settimeout(20)
            client.sendall(b"%d" % number)
            client.shutdown(socket.SHUT_WR)
        answers += [fakenet.read_all(client) for client in many]
        for client in many:
            client.close()
        return answers
    finally:
        process.terminate()
        process.communicate(timeout=60)


@case
def a_published_server_is_reached(at):
    wanted = [b"inside " + b"x" * n for n in (0, 10, 1_000_000)] + [b"inside %d" % n for n in range(50)]
    for mode in (NET, ("--net", "none")):
        for where in ('socket.AF_INET, ("127.0.0.1", 3000)', 'socket.AF_INET, ("0.0.0.0", 3000)',
                      'socket.AF_INET6, ("::1", 3000)'):
            if "INET6" in where and not fakenet.has_ipv6():
                continue
            answers = published(at, f"serve({where})", 3000, (*mode, "--publish", "3000"))
            expect(answers == wanted, f"{mode} {where}: {[a[:20] for a in answers]}")
    with socket.socket() as gone:
        expect(gone.connect_ex(("127.0.0.1", 3000)) != 0, "the port outlives the run")


@case
def an_unpublished_server_is_not_reached(at):
    try:
        published(at, 'serve(socket.AF_INET, ("0.0.0.0", 3001))', 3001, (*NET, "--publish", "3000"))
        expect(False, "reached")
    except ConnectionRefusedError:
        pass


@case
def a_port_that_is_taken_is_an_error(at):
    for _ in range(30):  # the command would have to be quick
        done = at.run("echo", "ran", flags=(*NET, "--publish", "5432"))
        expect(done.returncode == 125 and "net.publish" in done.stderr, "not told", done)
        expect(done.stdout == "", "a refused command ran", done)


@case
def a_server_inside_is_reached_inside(at):
    """Also by curl, which is told of the proxy."""
    code = """
import http.server, subprocess, threading
server = http.server.ThreadingHTTPServer(("0.0.0.0", 8000), http.server.SimpleHTTPRequestHandler)
threading.Thread(target=server.serve_forever, daemon=True).start()
for host in ("localhost", "127.0.0.1", "127.0.0.2", "0.0.0.0"):
    print(subprocess.run(["curl", "-sS", "-m", "60", f"http://{host}:8000/here"], capture_output=True).stdout)
"""
    at.write("here", "here")
    done = world.python(at, code)
    expect(done.stdout == "b'here'\n" * 4, "not reached", done)
    expect("denied" not in done.stderr, "denied", done)


# --- unix sockets ---------------------------------------------------------------------

UNIX = '''
for path in sys.argv[1:]:
    s = socket.socket(socket.AF_UNIX)
    s.settimeout(20)
    try:
        s.connect(path.replace("@", "\\0"))
        print(s.recv(100).decode())
    except OSError as problem:
        print(errno.errorcode[problem.errno])
'''


def unix(at, path, *flags, net=NET):
    done = world.python(at, UNIX, path, flags=(*net, *flags))
    return done.stdout.strip(), done


@case
def a_listed_socket_is_reached(at):
    temporary = tempfile.mkdtemp(dir="/tmp")
    os.chmod(temporary, 0o755)
    denied = os.path.join(at.outside, "denied")
    os.mkdir(denied)
    at.write(os.path.join(denied, "secret"), "secret")
    paths = [os.path.join(at.outside, "a.sock"), os.path.join(temporary, "b.sock"),
             os.path.join(denied, "c.sock"), at.path("d.sock"), os.path.join(at.home, "e.sock")]
    servers = [UnixServer(path) for path in paths]
    try:
        for mode in (NET, ("--net", "none"), ("--net", "open")):
            for path in paths:
                hide = ("--deny-read", denied)
                said, done = unix(at, path, *hide, "--allow-unix", path, net=mode)
                expect(said == "hello by unix", f"{mode} {path}: {said}", done)
                said, done = unix(at, path, *hide, net=mode)
                expect(said in ("EACCES", "ENOENT", "EPERM"), f"{mode} {path} unlisted: {said}", done)
                said, done = unix(at, path, *hide, "--allow-unix", paths[paths.index(path) - 1], net=mode)
                expect(said in ("EACCES", "ENOENT", "EPERM"), f"{mode} {path} by another: {said}", done)
        done = at.run("sh", "-c", f"cat {denied}/secret; ls {temporary}", flags=(
            *NET, "--deny-read", denied, "--allow-unix", paths[2], "--allow-unix", paths[1]))
        expect(done.stdout == "b.sock\n", "more than the socket came along", done)
    finally:
        for server in servers:
            server.close()
        shutil.rmtree(temporary)


@case
def an_unlisted_socket_is_recorded(at):
    path = at.path("d.sock")
    server = UnixServer(path)
    _, done = unix(at, path)
    expect("denied: connect " + path in done.stderr and "unix_socket" in done.stderr, "not told", done)
    server.close()


@case
def a_server_that_is_started_anew(at):
    path = os.path.join(at.outside, "again.sock")
    server = UnixServer(path)
    script = at.write(os.path.join(at.outside, "code.py"), world.PRELUDE + UNIX.replace(
        "sys.argv[1:]", "[sys.argv[1]] * 2") + "    print(flush=True)\n    input()\n")
    process = subprocess.Popen([*CORDON, "run", *at.reads, *NET, "--allow-unix", path, "--", PYTHON, script, path],
                               cwd=at.ws, env=at.env, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    said = process.stdout.readline() + process.stdout.readline()
    server.close()
    os.unlink(path)
    server = UnixServer(path)
    said += process.communicate("\n\n", timeout=60)[0]
    expect(said.split("\n\n")[:2] == ["hello by unix"] * 2, f"{said}")
    server.close()


@case
def a_listed_socket_by_a_link(at):
    path, link = os.path.join(at.outside, "real.sock"), os.path.join(at.outside, "link.sock")
    os.symlink(path, link)
    server = UnixServer(path)
    for listed in (path, link):
        for asked in (path, link):
            said, done = unix(at, asked, "--allow-unix", listed)
            expect(said == "hello by unix", f"{asked} by {listed}: {said}", done)
    server.close()


@case
def grants_of_the_host_need_their_own_key(at):
    for name in ("docker.sock", "containerd.sock", "system_bus_socket"):
        path = os.path.join(at.outside, name)
        server = UnixServer(path)
        done = at.run("true", flags=(*NET, "--allow-unix", path))
        expect(done.returncode == 125 and "unix_sockets_dangerous" in done.stderr, "not refused", done)
        meant = world.policy(at, f'[net]\nunix_sockets_dangerous = ["{path}"]\n')
        said, done = unix(at, path, *meant)
        expect(said == "hello by unix", f"{path}: {said}", done)
        server.close()


@case
def what_is_no_socket_cannot_be_listed(at):
    plain = at.write("plain", "x")
    for path, word in ((plain, "not a socket"), (at.path("missing"), "does not exist")):
        done = at.run("true", flags=(*NET, "--allow-unix", path))
        expect(done.returncode == 125 and word in done.stderr and "net.unix_sockets" in done.stderr,
               "not refused", done)
    expect(at.run("true", flags=(*NET, "--allow-unix", "?" + at.path("missing"))).returncode == 0, "optional")


@case
def abstract_sockets_of_the_host_are_not_there(at):
    name = f"\0cordon-test-{os.getpid()}"
    server = UnixServer(name)
    probe = socket.socket(socket.AF_UNIX)
    probe.connect(name)
    probe.close()
    for mode in (NET, ("--net", "none"), ("--net", "public"), ("--net", "open")):
        said, done = unix(at, "@" + name[1:], net=mode)
        expect(said in ("ECONNREFUSED", "EPERM"), f"{mode}: {said}", done)
    server.close()


# --- the network itself -----------------------------------------------------------------

@case
def routes_and_addresses_cannot_be_changed(at):
    code = '''
import fcntl
def netlink(kind, body, flags=0x605):
    s = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
    s.settimeout(20)
    s.send(struct.pack("IHHII", 16 + len(body), kind, flags, 1, 0) + body)
    return errno.errorcode.get(-struct.unpack("i", s.recv(4096)[16:20])[0], "done")
lo = struct.pack("HHi", 8, 4, 1)
route = struct.pack("8BI", 2, 0, 0, 0, 255, 4, 254, 2, 0)
address = struct.pack("4BI", 2, 32, 0, 0, 1) + struct.pack("HH4B", 8, 2, 9, 9, 9, 9)
link = struct.pack("BxHiII", 0, 0, 1, 0, 1)
print(netlink(25, route + lo, 5), netlink(24, route + lo), netlink(20, address), netlink(21, address, 5),
      netlink(16, link))
s = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
for request in (0x8914, 0x8916):
    try:
        fcntl.ioctl(s, request, struct.pack("16sH2x4B16x", b"lo", 2, 9, 9, 9, 9))
        print("done")
    except OSError as problem:
        print(errno.errorcode[problem.errno])
print(get("allowed.test")[:15])
'''
    done = world.python(at, code)
    expect(done.stdout == "EPERM EPERM EPERM EPERM EPERM\nEPERM\nEPERM\nHTTP/1.1 200 OK\n", "changed", done)
    if shutil.which("ip"):
        done = at.run("sh", "-c", "ip route del local default table local; ip addr add 9.9.9.9/32 dev lo; "
                      "ip link set lo down; ip -o route show table local | grep -c 'local default'", flags=NET)
        expect(done.stderr.count("Operation not permitted") == 3 and done.stdout == "1\n", "changed", done)


@case
def captured_ports_cannot_be_taken(at):
    code = '''
def bind(family, kind, address, port, *options):
    s = socket.socket(family, kind)
    for option in options:
        s.setsockopt(socket.SOL_SOCKET, option, 1)
    try:
        s.bind((address, port))
        if kind == socket.SOCK_STREAM:
            s.listen()
        return "taken"
    except OSError as problem:
        return errno.errorcode[problem.errno]
reuse = (socket.SO_REUSEADDR, socket.SO_REUSEPORT)
tcp, udp = socket.SOCK_STREAM, socket.SOCK_DGRAM
for port in (22, 53, 80, 443, 3128, 8443):
    for options in ((), reuse):
        print(port, bind(socket.AF_INET, tcp, "0.0.0.0", port, *options),
              bind(socket.AF_INET, tcp, "127.0.0.1", port, *options),
              bind(socket.AF_INET6, tcp, "::", port, *options))
print("dns", bind(socket.AF_INET, udp, "0.0.0.0", 53, *reuse), bind(socket.AF_INET, udp, "127.0.0.1", 53, *reuse))
print("free", bind(socket.AF_INET, tcp, "0.0.0.0", 8080))
'''
    done = world.python(at, code)
    *captured, dns, free = done.stdout.splitlines()
    expect(len(captured) == 12 and free == "free taken", "it broke", done)
    expect("taken" not in " ".join(captured) + dns, "a captured port was taken", done)


@case
def quic_fails_at_once(at):
    code = '''
for address, family in (("93.184.216.10", socket.AF_INET), ("2606:2800:220::10", socket.AF_INET6),
                        ("allowed.test", socket.AF_INET)):
    s = socket.socket(family, socket.SOCK_DGRAM)
    s.settimeout(20)
    try:
        s.connect((address, 443))
        s.send(b"x" * 1200)
        s.recv(100)
        print("answered")
    except OSError as problem:
        print(errno.errorcode.get(problem.errno, "hangs"))
'''
    done = world.python(at, code)
    expect(done.stdout.split()[::2] == ["ECONNREFUSED"] * 2, "not refused at once", done)
    if fakenet.has_ipv6():
        expect(done.stdout.split()[1] == "ECONNREFUSED", "not refused at once", done)


@case
def no_way_to_the_host_s_namespace(at):
    code = '''
import glob
print(os.listdir("/sys/class/net"))
for path in glob.glob("/proc/[0-9]*/ns/net"):
    try:
        print(os.stat(path).st_ino == int(sys.argv[1]))
    except OSError:
        pass
for kind, protocol in ((socket.SOCK_RAW, socket.IPPROTO_ICMP), (socket.SOCK_RAW, socket.IPPROTO_RAW)):
    try:
        socket.socket(socket.AF_INET, kind, protocol)
        print("raw")
    except OSError as problem:
        print(problem.errno in (errno.EPERM, errno.EACCES, errno.EAFNOSUPPORT, errno.EPROTONOSUPPORT,
                                errno.ESOCKTNOSUPPORT))
'''
    done = world.python(at, code, os.stat("/proc/self/ns/net").st_ino)
    lines = done.stdout.splitlines()
    expect(lines[0] == "['lo']" and set(lines[1:-2]) == {"False"}, "the host's namespace is there", done)
    expect(lines[-2:] == ["True", "True"], "raw sockets", done)


if __name__ == "__main__":
    WORLD = world.start()
    HERE = fakenet.Server("127.0.0.1", 5432, hello)
    sys.exit(world.main("local", WORLD))
