#!/usr/bin/python3
"""IPC: sockets, shared memory, queues and keys of the host are out of reach; the sandbox's own work."""
import array
import ctypes
import errno
import os
import socket
import struct
import threading

from fixture import Refused, SECRET, Suite, call, libc, succeed

UNIX, STREAM, DGRAM, SEQ = socket.AF_UNIX, socket.SOCK_STREAM, socket.SOCK_DGRAM, socket.SOCK_SEQPACKET
hits = []


def serve(sock, name):
    """Notes everyone who gets through."""
    def accept():
        while True:
            try:
                peer, _ = sock.accept()
                hits.append(name)
                peer.close()
            except OSError:
                return

    def receive():
        while True:
            try:
                sock.recv(100)
                hits.append(name)
            except OSError:
                return
    stream = sock.type in (STREAM, SEQ)
    if stream:
        sock.listen(16)
    threading.Thread(target=accept if stream else receive, daemon=True).start()


kept = []


def context(f):
    tag = os.path.basename(f.base)
    os.mkdir(f.base + "/sock")
    addresses = {"stream": (f.base + "/sock/s", STREAM), "dgram": (f.base + "/sock/d", DGRAM),
                 "seqpacket": (f.base + "/sock/q", SEQ), "in_workspace": (f.ws + "/host.sock", STREAM),
                 "in_workspace_dgram": (f.ws + "/host.dgram", DGRAM),
                 "agent": (f.home + "/agent", STREAM),
                 "abstract": ("\0" + tag, STREAM), "abstract_dgram": ("\0d" + tag, DGRAM)}
    for name, (address, kind) in addresses.items():
        sock = socket.socket(UNIX, kind)
        sock.bind(address)
        if address[0] != "\0":
            os.chmod(address, 0o777)
        serve(sock, name)
        kept.append(sock)
    key = int.from_bytes(os.urandom(3), "big") | 0x5a000000
    segment = succeed(libc.shmget(key, 4096, 0o1666))
    libc.shmat.restype = ctypes.c_void_p
    address = libc.shmat(segment, None, 0)
    ctypes.memmove(address, SECRET.encode(), len(SECRET))
    semaphores = succeed(libc.semget(key, 1, 0o1666))
    queue = succeed(libc.msgget(key, 0o1666))
    attributes = struct.pack("8l", 0, 4, 64, 0, 0, 0, 0, 0)
    name = tag.encode()
    descriptor = call("mq_open", ctypes.c_char_p(name), 0o102, 0o666, ctypes.c_char_p(attributes))
    shm = "/dev/shm/" + tag
    f.write(shm, SECRET, 0o666)

    def clean():
        libc.shmdt(ctypes.c_void_p(address))
        libc.shmctl(segment, 0, None)
        libc.semctl(semaphores, 0, 0)
        libc.msgctl(queue, 0, None)
        os.close(descriptor)
        call("mq_unlink", ctypes.c_char_p(name))
        with open(shm) as file:
            intact = file.read() == SECRET
        os.unlink(shm)
        for sock in kept:
            sock.close()
        kept.clear()
        return [] if intact else ["the host's /dev/shm file changed"]
    f.clean = clean
    return {"addresses": {n: a for n, (a, _) in addresses.items()}, "key": key, "queue": tag,
            "shm": shm}


def evidence(f):
    complaints = f.clean() + [f"the host's {name} socket was reached" for name in sorted(set(hits))]
    hits.clear()
    return complaints


SUITE = Suite("ipc", context=context, evidence=evidence, evident=True)


def register_sockets():
    for name, kind in (("stream", STREAM), ("seqpacket", SEQ), ("in_workspace", STREAM),
                       ("agent", STREAM), ("abstract", STREAM)):
        def connect(t, name=name, kind=kind):
            sock = socket.socket(UNIX, kind)
            sock.connect(t.addresses[name])

        def connect_without_waiting(t, name=name, kind=kind):
            sock = socket.socket(UNIX, kind)
            sock.setblocking(False)
            sock.connect(t.addresses[name])
        for act, way in ((connect, "connect"), (connect_without_waiting, "connect_nonblocking")):
            act.__name__ = f"{way}_{name}"
            SUITE.here("IPC-01 IPC-02 IPC-03")(act)
    for name in ("dgram", "abstract_dgram", "in_workspace_dgram"):
        def send(t, name=name):
            socket.socket(UNIX, DGRAM).sendto(b"hit", t.addresses[name])

        def send_raw(t, name=name):
            socket.socket(UNIX, socket.SOCK_RAW).sendto(b"hit", t.addresses[name])

        def send_flagged(t, name=name):
            socket.socket(UNIX, DGRAM | socket.SOCK_CLOEXEC | socket.SOCK_NONBLOCK).sendto(
                b"hit", t.addresses[name])

        def send_message(t, name=name):
            socket.socket(UNIX, DGRAM).sendmsg([b"hit"], [], 0, t.addresses[name])

        def send_by_pair(t, name=name):
            socket.socketpair(UNIX, DGRAM)[0].sendto(b"hit", t.addresses[name])

        def connect_then_send(t, name=name):
            sock = socket.socket(UNIX, DGRAM)
            sock.connect(t.addresses[name])
            sock.send(b"hit")

        def send_by_high_family(t, name=name):
            fd = libc.syscall(41 if os.uname().machine == "x86_64" else 198,
                              ctypes.c_long(1 | (1 << 32)), ctypes.c_long(2 | (1 << 32)),
                              ctypes.c_long(0))
            if fd < 0:
                raise OSError(ctypes.get_errno(), "socket")
            socket.socket(fileno=fd).sendto(b"hit", t.addresses[name])
        for act in (send, send_raw, send_flagged, send_message, send_by_pair, connect_then_send,
                    send_by_high_family):
            act.__name__ = f"{act.__name__}_{name}"
            SUITE.here("IPC-01 IPC-02")(act)


register_sockets()


@SUITE.here("IPC-01")
def connect_through_a_link(t):
    os.symlink(t.addresses["in_workspace"], t.dir + "/alias")
    os.chdir(t.dir)
    socket.socket(UNIX).connect("alias")


@SUITE.here("IPC-01")
def connect_through_a_hard_link(t):
    # A socket that was made inside and one of the host, swapped by name.
    os.link(t.addresses["in_workspace"], t.dir + "/alias")
    os.chdir(t.dir)
    socket.socket(UNIX).connect("alias")


@SUITE.here("IPC-01")
def connect_after_rename(t):
    os.rename(t.addresses["in_workspace"], t.ws + "/desk/moved")
    try:
        socket.socket(UNIX).connect(t.ws + "/desk/moved")
    finally:
        os.rename(t.ws + "/desk/moved", t.addresses["in_workspace"])


@SUITE.here("IPC-01")
def connect_by_proc_descriptor(t):
    fd = os.open(t.addresses["in_workspace"], os.O_PATH)
    socket.socket(UNIX).connect(f"/proc/self/fd/{fd}")


@SUITE.here("IPC-01")
def connect_by_working_directory(t):
    os.chdir(t.ws)
    socket.socket(UNIX).connect("./desk/../host.sock")


@SUITE.here("IPC-01 PRC-17", control="a race needs two sockets of the attacker's")
def race_the_address(t):
    """The path flips between a socket of our own and the host's."""
    os.chdir(t.dir)
    own = socket.socket(UNIX)
    own.bind("own")
    own.listen(512)
    good, bad = b"own\0", os.fsencode(t.addresses["in_workspace"]) + b"\0"
    address = ctypes.create_string_buffer(struct.pack("H", 1) + good, 110)
    stop = False

    def flip():
        while not stop:
            ctypes.memmove(ctypes.addressof(address) + 2, bad, len(bad))
            ctypes.memmove(ctypes.addressof(address) + 2, good, len(good))
    thread = threading.Thread(target=flip)
    thread.start()
    for _ in range(300):
        sock = socket.socket(UNIX)
        libc.connect(sock.fileno(), address, 110)
        sock.close()
    stop = True
    thread.join()
    raise Refused("the host's listener tells")


@SUITE.here("IPC-01 PRC-17", control="a race needs two sockets of the attacker's")
def race_the_name(t):
    os.chdir(t.dir)
    own = socket.socket(UNIX)
    own.bind("own")
    own.listen(512)
    os.symlink("own", "flip")
    os.symlink(t.addresses["in_workspace"], "flop")
    pid = os.fork()
    if pid == 0:
        while True:
            libc.syscall(316 if os.uname().machine == "x86_64" else 276, -100, b"flip", -100,
                         b"flop", 2)
    for _ in range(300):
        sock = socket.socket(UNIX)
        sock.setblocking(False)
        try:
            sock.connect("flip")
        except OSError:
            pass
        sock.close()
    os.kill(pid, 9)
    os.waitpid(pid, 0)
    raise Refused("the host's listener tells")


@SUITE.here("IPC-04")
def shared_memory_by_key(t):
    segment = succeed(libc.shmget(t.key, 0, 0))
    libc.shmat.restype = ctypes.c_void_p
    address = libc.shmat(segment, None, 0)
    if address in (None, ctypes.c_void_p(-1).value):
        raise OSError(ctypes.get_errno(), "shmat")
    return ctypes.string_at(address, 20)


@SUITE.here("IPC-04")
def semaphores_by_key(t):
    succeed(libc.semget(t.key, 0, 0))


@SUITE.here("IPC-04")
def message_queue_by_key(t):
    succeed(libc.msgget(t.key, 0))


@SUITE.here("IPC-04")
def list_system_v_objects(t):
    for name in ("shm", "sem", "msg"):
        with open("/proc/sysvipc/" + name) as file:
            if any(int(line.split()[0]) == t.key for line in file.read().splitlines()[1:]):
                return name
    raise Refused("none")


@SUITE.here("IPC-04")
def posix_message_queue(t):
    call("mq_open", ctypes.c_char_p(t.queue.encode()), 0, 0, 0)


@SUITE.here("PRC-14")
def shared_memory_file(t):
    with open(t.shm) as file:
        file.read()


@SUITE.here("PRC-14", control="it would change the evidence")
def change_shared_memory_file(t):
    with open(t.shm, "r+") as file:
        file.write("x")


@SUITE.here("PRC-09")
def keyring_of_the_user(t):
    call("add_key", ctypes.c_char_p(b"user"), ctypes.c_char_p(b"cordon-x"), ctypes.c_char_p(b"1"), 1,
         -2)


@SUITE.here("PRC-09")
def keys_of_the_session(t):
    call("keyctl", 11, -3, 0, 0, 0)  # READ


FAMILIES = {"packet": (17, 3, 0), "alg": (38, 5, 0), "vsock": (40, 1, 0), "key": (15, 3, 2),
            "xdp": (44, 3, 0), "bluetooth": (31, 3, 1), "can": (29, 3, 1), "tipc": (30, 1, 0),
            "rds": (21, 5, 0), "smc": (43, 1, 0), "raw": (2, 3, 1), "raw6": (10, 3, 58),
            "ping": (2, 2, 1), "ping6": (10, 2, 58), "sctp": (2, 1, 132), "mptcp": (2, 1, 262),
            "udplite": (2, 2, 136), "smc_by_protocol": (2, 1, 256), "l2tp": (2, 2, 115),
            "dccp": (2, 6, 33), "igmp": (2, 3, 2), "netfilter": (16, 3, 12), "audit": (16, 3, 9),
            "uevent": (16, 3, 15), "sock_diag": (16, 3, 4), "generic": (16, 3, 16),
            "qipcrtr": (42, 2, 0), "appletalk": (5, 2, 0), "ax25": (3, 2, 0), "kcm": (41, 2, 0),
            "nfc": (39, 5, 0), "phonet": (35, 2, 0), "mctp": (45, 2, 0), "unspecified": (0, 1, 0)}


def register_families():
    for name, numbers in FAMILIES.items():
        def act(t, numbers=numbers):
            socket.socket(*numbers).close()
        act.__name__ = "family_" + name
        # Which of them exist, and for whom, is the kernel's configuration.
        SUITE.here("IPC-06", control="depends on the kernel's modules" if name not in
                   ("uevent", "sock_diag", "generic") else "host")(act)


register_families()


@SUITE.allowed
def sockets_of_its_own(t):
    os.chdir(t.dir)
    for kind in (STREAM, SEQ):
        server, client = socket.socket(UNIX, kind), socket.socket(UNIX, kind)
        server.bind(f"own{int(kind)}")
        server.listen()
        client.connect(f"own{int(kind)}")
        peer, _ = server.accept()
        reading, writing = os.pipe()
        client.sendmsg([b"x"], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, array.array("i", [writing]))])
        _, control, _, _ = peer.recvmsg(1, socket.CMSG_SPACE(4))
        passed = array.array("i", control[0][2][:4])[0]
        os.write(passed, b"by descriptor")
        assert os.read(reading, 20) == b"by descriptor"
        left, right = socket.socketpair(UNIX, kind)
        left.send(b"hello")
        assert right.recv(10) == b"hello"


@SUITE.allowed
def sockets_have_the_names_they_were_given(t):
    """The broker binds and connects; nobody may notice."""
    os.chdir(t.dir)
    os.symlink("dir", "way")
    os.mkdir("deep")
    absolute = os.path.abspath("absolute")
    by_proc = "/proc/self/cwd/proc"
    for name in ("plain", "./dotted", "dir/../up", "dir//twice", "way/linked", absolute, by_proc, "x" * 100):
        server, client = socket.socket(UNIX), socket.socket(UNIX)
        server.bind(name)
        # By a way that could change meanwhile, it is bound from its directory.
        assert server.getsockname() == (name if name != by_proc else "proc"), server.getsockname()
        server.listen()
        where = name if name != by_proc else "proc"
        client.connect(where)
        assert client.getpeername() == where, client.getpeername()
        peer, _ = server.accept()
        client.send(b"hello")
        assert peer.recv(9) == b"hello"
        assert os.stat(where).st_mode & 0o777 == 0o755, oct(os.stat(where).st_mode)
        try:
            socket.socket(UNIX).bind(name)
            raise AssertionError("bound twice")
        except OSError as error:
            assert error.errno == errno.EADDRINUSE, error
    for name in ("none/x", "file/x"):
        try:
            socket.socket(UNIX).bind(name)
            raise AssertionError(name)
        except (FileNotFoundError, NotADirectoryError):
            pass


@SUITE.allowed
def abstract_socket_of_its_own(t):
    server, client = socket.socket(UNIX), socket.socket(UNIX)
    server.bind("\0own")
    server.listen()
    client.connect("\0own")


@SUITE.allowed
def system_v_and_shared_memory_of_its_own(t):
    segment = succeed(libc.shmget(0, 4096, 0o600))
    libc.shmctl(segment, 0, None)
    queue = succeed(libc.msgget(0, 0o600))
    libc.msgctl(queue, 0, None)
    from multiprocessing import Lock, shared_memory
    with Lock():
        memory = shared_memory.SharedMemory(create=True, size=16)
        memory.close()
        memory.unlink()


@SUITE.allowed
def routes_can_be_asked_for(t):
    socket.socket(socket.AF_NETLINK, socket.SOCK_RAW, 0).close()
    assert [name for _, name in socket.if_nameindex()] == ["lo"]


@SUITE.test("IPC-03")
def sockets_named_in_the_environment(f, profile):
    names = {"SSH_AUTH_SOCK": f.home + "/agent", "DOCKER_HOST": "unix:///var/run/docker.sock",
             "DBUS_SESSION_BUS_ADDRESS": "unix:path=/run/user/0/bus", "WAYLAND_DISPLAY": "wayland-0",
             "XDG_RUNTIME_DIR": "/run/user/0", "DISPLAY": ":0", "GPG_AGENT_INFO": "x"}
    done = f.run(profile, ["env"], env=names)
    for name in names:
        assert name.encode() + b"=" not in done.stdout, name


if __name__ == "__main__":
    SUITE.main()
