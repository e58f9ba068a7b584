#!/usr/bin/python3
"""Network: with net.mode "none" nothing leaves and nothing comes in; loopback inside works."""
import os
import socket
import struct
import subprocess
import threading
import time

from fixture import PYTHON, Refused, Suite

hits, kept = [], []
FASTOPEN = 0x20000000


def serve(family, kind, host):
    sock = socket.socket(family, kind)
    if family == socket.AF_INET6:
        sock.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 1)
    sock.bind((host, 0))
    port = sock.getsockname()[1]

    def loop():
        while True:
            try:
                if kind == socket.SOCK_STREAM:
                    sock.accept()[0].close()
                else:
                    sock.recv(100)
                hits.append((family.name, kind.name))
            except OSError:
                return
    if kind == socket.SOCK_STREAM:
        sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_FASTOPEN, 16)
        sock.listen(64)
    threading.Thread(target=loop, daemon=True).start()
    kept.append(sock)
    return port


def context(f):
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        free = probe.getsockname()[1]
    found = {"tcp": serve(socket.AF_INET, socket.SOCK_STREAM, "0.0.0.0"),
             "udp": serve(socket.AF_INET, socket.SOCK_DGRAM, "0.0.0.0"), "free": free,
             "tcp6": serve(socket.AF_INET6, socket.SOCK_STREAM, "::"),
             "udp6": serve(socket.AF_INET6, socket.SOCK_DGRAM, "::")}
    hits.clear()
    return found | {"host_net": os.stat("/proc/self/ns/net").st_ino,
                    "addresses": own_addresses()}


def own_addresses():
    """Addresses of this machine besides loopback."""
    shown = subprocess.run(["hostname", "-I"], capture_output=True, text=True, check=False).stdout
    return [a for a in shown.split() if ":" not in a][:2]


def evidence(f):
    time.sleep(0.05)
    found = [f"the host's listener was reached: {hit}" for hit in sorted(set(hits))]
    hits.clear()
    return found


SUITE = Suite("network", context=context, evidence=evidence, evident=True)


def tcp(address, port, family=socket.AF_INET):
    sock = socket.socket(family, socket.SOCK_STREAM)
    sock.settimeout(3)
    sock.connect((address, port))


def register_tcp():
    for name, address in {"loopback": "127.0.0.1", "another_loopback": "127.0.0.2",
                          "last_loopback": "127.255.255.254", "zero": "0.0.0.0"}.items():
        def act(t, address=address):
            tcp(address, t.tcp)
        act.__name__ = "tcp_to_" + name
        SUITE.here("NET-01")(act)
    for name, address in {"loopback6": "::1", "mapped": "::ffff:127.0.0.1", "zero6": "::"}.items():
        def act(t, address=address, name=name):
            tcp(address, t.tcp if name == "mapped" else t.tcp6, socket.AF_INET6)
        act.__name__ = "tcp_to_" + name
        SUITE.here("NET-01")(act)


register_tcp()


@SUITE.here("NET-01", control="the machine may have no other address")
def tcp_to_own_address(t):
    for address in t.addresses:
        tcp(address, t.tcp)
    if not t.addresses:
        raise Refused("none to try")


@SUITE.here("NET-01")
def tcp_by_the_shell(t):
    code = subprocess.run(["bash", "-c", f"exec 3<>/dev/tcp/127.0.0.1/{t.tcp}"],
                          stderr=subprocess.DEVNULL).returncode
    if code:
        raise Refused("bash could not")


@SUITE.here("NET-01")
def tcp_without_waiting(t):
    import select
    sock = socket.socket()
    sock.setblocking(False)
    code = sock.connect_ex(("127.0.0.1", t.tcp))
    select.select([], [sock], [], 3)
    code = sock.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
    if code:
        raise OSError(code, os.strerror(code))


def udp_effect(t, act):
    """A datagram that nobody takes is no error: only the host's listener tells."""
    act()
    if t.inside:
        raise Refused("sent, if at all, to nobody")


def register_udp():
    def send_to(t, family, address, port):
        socket.socket(family, socket.SOCK_DGRAM).sendto(b"hit", (address, port))

    def connected(t, family, address, port):
        sock = socket.socket(family, socket.SOCK_DGRAM)
        sock.connect((address, port))
        sock.send(b"hit")

    def message(t, family, address, port):
        socket.socket(family, socket.SOCK_DGRAM).sendmsg([b"hit"], [], 0, (address, port))

    def broadcast(t, family, address, port):
        sock = socket.socket(family, socket.SOCK_DGRAM)
        sock.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
        sock.sendto(b"hit", ("127.255.255.255" if family == socket.AF_INET else address, port))
    for way in (send_to, connected, message, broadcast):
        for family, address, key in ((socket.AF_INET, "127.0.0.1", "udp"),
                                     (socket.AF_INET6, "::1", "udp6")):
            def act(t, way=way, family=family, address=address, key=key):
                udp_effect(t, lambda: way(t, family, address, getattr(t, key)))
            act.__name__ = f"udp_{way.__name__}_{key}"
            SUITE.here("NET-02")(act)


register_udp()


@SUITE.here("NET-03")
def fast_open(t):
    socket.socket().sendto(b"hit", FASTOPEN, ("127.0.0.1", t.tcp))


@SUITE.here("NET-03")
def fast_open6(t):
    socket.socket(socket.AF_INET6).sendto(b"hit", FASTOPEN, ("::1", t.tcp6))


@SUITE.here("NET-03")
def fast_open_connect(t):
    sock = socket.socket()
    sock.setsockopt(socket.IPPROTO_TCP, 30, 1)  # TCP_FASTOPEN_CONNECT
    sock.connect(("127.0.0.1", t.tcp))
    sock.settimeout(3)
    try:
        sock.sendall(b"hit")
        sock.recv(1)
    except ConnectionResetError:
        pass  # reached, and closed at once


@SUITE.here("NET-03")
def multipath_tcp(t):
    sock = socket.socket(socket.AF_INET, socket.SOCK_STREAM, 262)
    sock.settimeout(3)
    sock.connect(("127.0.0.1", t.tcp))


@SUITE.here("NET-01")
def bound_to_the_host_device(t):
    sock = socket.socket()
    sock.setsockopt(socket.SOL_SOCKET, 25, b"lo\0")
    sock.settimeout(3)
    sock.connect(("127.0.0.1", t.tcp))


@SUITE.here("NET-06")
def question_to_a_name_server(t):
    query = struct.pack(">6H", 1, 0x100, 1, 0, 0, 0) + b"\6cordon\4test\0" + struct.pack(">2H", 1, 1)

    def act():
        # 192.0.2.1 is nobody's (TEST-NET-1): outside it is sent into the void.
        sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        sock.sendto(query, ("192.0.2.1", 53))
        sock.settimeout(1)
        return sock.recv(512)
    if t.inside:
        # Cordon's own answer: there is no such name.
        if act()[3] & 15 == 3:
            raise Refused("NXDOMAIN")
    else:
        try:
            act()
        except OSError:
            pass  # a host without a network


@SUITE.here("NET-06", control="there may be no such service")
def name_services_by_socket(t):
    got = []
    for name in ("/run/nscd/socket", "/var/run/nscd/socket", "/run/systemd/resolve/io.systemd.Resolve",
                 "/run/dbus/system_bus_socket", "/run/avahi-daemon/socket"):
        try:
            socket.socket(socket.AF_UNIX).connect(name)
            got.append(name)
        except OSError:
            pass
    if not got:
        raise Refused("none")
    return got


@SUITE.here("NET-07", control="host")
def ports_that_answer_on_loopback(t):
    if not t.inside:
        return
    got = []
    for port in list(range(1, 1200)) + [3128, 5432, 8080, t.tcp, t.tcp6]:
        sock = socket.socket()
        if sock.connect_ex(("127.0.0.1", port)) == 0:
            got.append(port)
        sock.close()
    # Where there is a proxy: its port, and the resolver's.
    if not set(got) - {53, 3128}:
        raise Refused(f"only {got}")
    return got


@SUITE.here("NET-08", control="root")
def make_an_interface(t):
    """RTM_NEWLINK of a dummy device; outside, in a namespace of its own."""
    if not t.inside:
        from fixture import call
        call("unshare", 0x40000000)
    name = struct.pack("HH", 4 + 6, 3) + b"crdn0\0" + b"\0\0"
    kind = struct.pack("HH", 4 + 6, 1) + b"dummy\0" + b"\0\0"
    info = struct.pack("HH", 4 + len(kind), 18) + kind
    body = struct.pack("BxHiII", 0, 0, 0, 0, 0) + name + info
    message = struct.pack("IHHII", 16 + len(body), 16, 0x605, 1, 0) + body
    sock = socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0)
    sock.send(message)
    code = -struct.unpack("i", sock.recv(4096)[16:20])[0]
    if code and not (code == 95 and not t.inside):  # EOPNOTSUPP: no dummy driver
        raise OSError(code, os.strerror(code))


@SUITE.here("NET-08", control="root")
def take_loopback_down(t):
    import fcntl
    if not t.inside:
        from fixture import call
        call("unshare", 0x40000000)
    fcntl.ioctl(socket.socket(socket.AF_INET, socket.SOCK_DGRAM), 0x8914,
                struct.pack("16sH22x", b"lo", 0))


@SUITE.here("NET-08")
def privileged_port(t):
    if not t.inside and os.geteuid() != 0:
        return
    socket.socket().bind(("127.0.0.1", 81))


@SUITE.here("PRC-19")
def interfaces_of_the_host(t):
    if os.stat("/proc/self/ns/net").st_ino == t.host_net:
        return "same namespace"
    seen = set(os.listdir("/sys/class/net")) | {n for _, n in socket.if_nameindex()}
    with open("/proc/net/dev") as file:
        seen |= {line.split(":")[0].strip() for line in file if ":" in line}
    if seen <= {"lo"}:
        raise Refused("only lo")
    return seen


@SUITE.allowed
def loopback_of_its_own(t):
    for family, address in ((socket.AF_INET, "127.0.0.1"), (socket.AF_INET6, "::1")):
        server = socket.socket(family)
        server.bind((address, 0))
        server.listen()
        client = socket.socket(family)
        client.connect(server.getsockname()[:2])
        server.accept()[0].send(b"hello")
        assert client.recv(10) == b"hello"
        one, other = (socket.socket(family, socket.SOCK_DGRAM) for _ in range(2))
        one.bind((address, 0))
        other.sendto(b"hello", one.getsockname()[:2])
        assert one.recv(10) == b"hello"


@SUITE.test("NET-04")
def listening_inside_is_not_reached_from_outside(f, profile):
    code = ("import socket,sys\ns=socket.socket()\n"
            "s.setsockopt(socket.SOL_SOCKET,socket.SO_REUSEADDR,1)\n"
            "s.bind(('0.0.0.0',int(sys.argv[1]))); s.listen(); print('up',flush=True); input()")

    def reached(command):
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            port = probe.getsockname()[1]
        process = f.start(command + [str(port)], cwd=f.ws, env=f.environment(), stdin=-1, stdout=-1)
        assert process.stdout.readline() == b"up\n"
        with socket.socket() as client:
            result = client.connect_ex(("127.0.0.1", port)) == 0
        process.communicate(b"\n", timeout=20)
        return result
    assert reached([PYTHON, "-c", code])
    assert not reached(f.command(profile, [PYTHON, "-c", code]))


@SUITE.test("NET-09")
def clients_that_ignore_proxies(f, profile):
    done = f.run(profile, ["sh", "-c", "curl -sS --noproxy '*' --max-time 3 http://192.0.2.1/; "
                           "getent hosts example.com; echo end"])
    told = done.stdout.replace(b"cordon: 192.0.2.1:80 denied: no rule allows it\n", b"")
    assert told == b"end\n", done


if __name__ == "__main__":
    SUITE.main()
