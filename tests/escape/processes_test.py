#!/usr/bin/python3
"""Processes: those of the host are neither seen nor touched, init gives nothing away, and the
kernel's rarer doors are shut."""
import ctypes
import errno
import os
import signal
import struct
import subprocess

from fixture import (PYTHON, Refused, SECRET, Suite, call, call_number, compile_c, in_child,
                     libc)

VICTIM = ("import ctypes, os, sys, signal, time\n"
          "ctypes.CDLL(None).prctl(15, b'cordon-victim', 0, 0, 0)\n"
          "signal.signal(10, lambda *a: open(sys.argv[1], 'w').close())\n"
          "os.chdir(os.path.dirname(sys.argv[1]))\n"
          "print('up', flush=True)\n"
          "while True: time.sleep(1)\n")

NATIVE = r"""
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>
static long int80(long n, long a, long b, long c) {
  long r;
  __asm__ volatile("int $0x80" : "=a"(r) : "a"(n), "b"(a), "c"(b), "d"(c)
                   : "memory", "r8", "r9", "r10", "r11");
  return (int)r;
}
int main(int argc, char** argv) {
  long r = 0;
  if (!strcmp(argv[1], "int80")) {
    r = int80(atol(argv[2]), strtol(argv[3], 0, 0), strtol(argv[4], 0, 0), strtol(argv[5], 0, 0));
  } else if (!strcmp(argv[1], "int80-open")) {
    char* p = mmap((void*)0x20000000, 8192, 3, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    strcpy(p, argv[2]);
    r = int80(5, (long)p, 0101, 0644);
  } else {
    r = syscall(0x40000000 | atol(argv[2]), strtol(argv[3], 0, 0), strtol(argv[4], 0, 0), 0);
    if (r < 0) r = -errno;
  }
  return r >= 0 ? 0 : -r > 200 ? 200 : -r;
}
"""
X86 = os.uname().machine == "x86_64"


def context(f):
    victim = f.start([PYTHON, "-c", VICTIM, f.base + "/marker"], stdout=-1,
                     env={"VICTIM_SECRET": SECRET, "PATH": "/usr/bin"})
    victim.stdout.readline()
    if X86:
        f.write(f.ws + "/desk/native", NATIVE_PROGRAM, 0o755)
    return {"victim": victim.pid, "harness": os.getpid(), "native": f.ws + "/desk/native",
            "host_pid_namespace": os.stat("/proc/self/ns/pid").st_ino}


def evidence(f):
    return ["the victim got the signal"] if os.path.exists(f.base + "/marker") else []


SUITE = Suite("processes", context=context, evidence=evidence, evident=True)


def others(t):
    """The processes that an attack may try: outside only the victim."""
    if not t.inside:
        return [t.victim]
    return [int(p) for p in os.listdir("/proc") if p.isdigit() and int(p) != os.getpid()] + [t.victim]


def any_of(t, act):
    """Whether `act(pid)` works for one of them; init above all."""
    got, why = [], None
    for pid in others(t):
        try:
            act(pid)
            got.append(pid)
        except (OSError, Refused) as error:
            why = error
    # Processes of this very command, its parent among them, are its own.
    own = {os.getppid(), os.getpid()} if t.inside else set()
    got = [pid for pid in got if pid not in own]
    if not got:
        raise why or Refused("nobody there")
    return got


@SUITE.here("PRC-08")
def see_processes_of_the_host(t):
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/comm") as file:
                if file.read().strip() == "cordon-victim":
                    return pid
        except OSError:
            pass
    raise Refused("not seen")


@SUITE.here("PRC-08")
def same_pid_namespace(t):
    if os.stat("/proc/self/ns/pid").st_ino != t.host_pid_namespace:
        raise Refused("another one")


@SUITE.here("PRC-01")
def read_environments(t):
    for pid in others(t):
        for name in ("environ", "cmdline"):
            try:
                with open(f"/proc/{pid}/{name}", "rb") as file:
                    if SECRET.encode() in file.read():
                        return pid
            except OSError:
                pass
    raise Refused("no secret")


@SUITE.here("PRC-02")
def open_memory(t):
    return any_of(t, lambda pid: os.close(os.open(f"/proc/{pid}/mem", os.O_RDWR)))


@SUITE.here("PRC-02")
def open_memory_for_reading(t):
    return any_of(t, lambda pid: os.close(os.open(f"/proc/{pid}/mem", os.O_RDONLY)))


@SUITE.here("PRC-03")
def seize(t):
    def act(pid):
        call("ptrace", 0x4206, pid, 0, 0)
    return any_of(t, act)


@SUITE.here("PRC-03")
def attach(t):
    def act(pid):
        call("ptrace", 16, pid, 0, 0)
        os.waitpid(pid, 0x40000000)
        call("ptrace", 17, pid, 0, 0)
    return any_of(t, act)


@SUITE.here("PRC-04")
def read_memory_of_others(t):
    buffer = ctypes.create_string_buffer(8)
    local = struct.pack("QQ", ctypes.addressof(buffer), 8)

    def act(pid):
        with open(f"/proc/{pid}/maps") as file:
            start = int(file.readline().split("-")[0], 16)
        call("process_vm_readv", pid, ctypes.c_char_p(local), 1,
             ctypes.c_char_p(struct.pack("QQ", start, 8)), 1, 0)
    return any_of(t, act)


@SUITE.here("PRC-04")
def take_descriptors_of_others(t):
    def act(pid):
        fd = call("pidfd_open", pid, 0)
        call("pidfd_getfd", fd, 1, 0)
    return any_of(t, act)


@SUITE.here("PRC-04")
def list_descriptors_of_others(t):
    return any_of(t, lambda pid: os.listdir(f"/proc/{pid}/fd"))


@SUITE.here("PRC-04")
def compare_with_others(t):
    return any_of(t, lambda pid: call("kcmp", os.getpid(), pid, 2, 0, 0))


@SUITE.here("IPC-05")
def signal_others(t):
    return any_of(t, lambda pid: os.kill(pid, signal.SIGUSR1 if pid == t.victim else 0)
                  if pid != 1 else no_signal_to_init())


def no_signal_to_init():
    raise Refused("init is ours to be signalled, and takes none")


@SUITE.here("IPC-05")
def signal_by_thread(t):
    call("tgkill", t.victim, t.victim, signal.SIGUSR1)


@SUITE.here("IPC-05")
def signal_by_descriptor(t):
    call("pidfd_send_signal", call("pidfd_open", t.victim, 0), signal.SIGUSR1, 0, 0)


@SUITE.here("IPC-05", control="it would be sent to everything of the user's")
def signal_everything(t):
    if not t.inside:
        return
    signal.signal(signal.SIGUSR1, signal.SIG_IGN)
    # Whatever it reaches is inside: the evidence is the victim's marker.
    pid = os.fork()
    if pid == 0:
        try:
            os.kill(-1, 0)
        finally:
            os._exit(0)
    os.waitpid(pid, 0)
    raise Refused("whatever it was")


@SUITE.here("IPC-05")
def signal_the_victims_group_by_f_setown(t):
    import fcntl
    reading, writing = os.pipe()
    fcntl.fcntl(reading, fcntl.F_SETOWN, t.victim)
    fcntl.fcntl(reading, 10, signal.SIGUSR1)  # F_SETSIG
    fcntl.fcntl(reading, fcntl.F_SETFL, os.O_ASYNC | os.O_NONBLOCK)
    os.write(writing, b"x")


@SUITE.here("PRV-05")
def limits_of_others(t):
    def act(pid):
        call("prlimit64", pid, 7, ctypes.c_char_p(struct.pack("QQ", 64, 64)), 0)
    return any_of(t, act)


@SUITE.here("PRV-05")
def limits_of_init(t):
    """Without processes, memory or descriptors it could neither reap nor report. Outside: of the victim."""
    got, why = [], None
    for resource in range(16):
        try:
            call("prlimit64", 1 if t.inside else t.victim, resource, ctypes.c_char_p(struct.pack("QQ", 1, 1)), 0)
            got.append(resource)
        except OSError as error:
            why = error
    if not got:
        raise why
    return got


@SUITE.here("PRC-07", control="the launcher is there only inside")
def write_programs_of_others(t):
    def act(pid):
        try:
            os.close(os.open(f"/proc/{pid}/exe", os.O_WRONLY))
        except OSError as error:
            if error.errno == errno.ETXTBSY:
                return  # would be possible in a quieter moment
            raise
    return any_of(t, act)


@SUITE.here("PRC-07", control="root")
def write_own_program(t):
    try:
        os.close(os.open("/proc/self/exe", os.O_WRONLY))
    except OSError as error:
        if error.errno != errno.ETXTBSY:
            raise


@SUITE.here("PRC-05 NSP-07", control="root")
def kernel_settings(t):
    got = []
    names = ["/proc/sys/kernel/core_pattern", "/proc/sys/kernel/modprobe", "/proc/sysrq-trigger",
             "/proc/sys/vm/overcommit_memory", "/proc/sys/kernel/hostname",
             "/proc/sys/net/ipv4/ip_forward", "/proc/sys/user/max_user_namespaces",
             "/proc/sys/fs/binfmt_misc/register", "/proc/sys/kernel/ns_last_pid",
             "/sys/kernel/uevent_helper", "/sys/power/state", "/sys/class/net/lo/mtu",
             "/sys/module/kernel/parameters/panic", "/proc/self/timens_offsets"]
    with open("/proc/self/cgroup") as groups:
        for line in groups:
            _, controller, where = line.strip().split(":", 2)
            for top in ("/sys/fs/cgroup", "/sys/fs/cgroup/unified",
                        "/sys/fs/cgroup/" + controller.split(",")[0]):
                for name in ("cgroup.procs", "memory.max", "pids.max", "release_agent",
                             "memory.limit_in_bytes", "cgroup.subtree_control"):
                    names += [f"{top}{where}/{name}", f"{top}/{name}"]
    for name in names:
        try:
            os.close(os.open(name, os.O_WRONLY))
            got.append(name)
        except OSError:
            pass
    if not got:
        raise Refused("none")
    return got


@SUITE.here("PRV-05", control="host")
def own_oom_score_lowered(t):
    with open("/proc/self/oom_score_adj") as file:
        before = int(file.read())
    if not t.inside:
        return  # outside, lowering it is for root alone
    for name in ("oom_score_adj", "oom_adj"):
        try:
            with open(f"/proc/self/{name}", "w") as file:
                file.write(str(before - 1))
            return
        except OSError as error:
            last = error
    raise last


@SUITE.here("PRC-16", control="root")
def information_of_the_kernel(t):
    got = []
    for name in ("/proc/kcore", "/proc/kmsg", "/proc/keys", "/proc/key-users", "/proc/timer_list",
                 "/proc/sched_debug", "/proc/kallsyms", "/proc/vmallocinfo", "/proc/slabinfo",
                 "/proc/iomem", "/sys/firmware/dmi/tables/DMI", "/sys/kernel/vmcoreinfo",
                 "/proc/kpagecount", "/sys/kernel/notes"):
        if name in ("/proc/key-users", "/sys/kernel/notes", "/sys/kernel/vmcoreinfo", "/proc/iomem"):
            continue  # readable by everyone, and no secret (addresses are zero)
        try:
            fd = os.open(name, os.O_RDONLY | os.O_NONBLOCK)
            if os.read(fd, 16):
                got.append(name)
        except OSError:
            pass
    for name in ("/sys/kernel/debug", "/sys/kernel/tracing", "/sys/fs/bpf", "/sys/kernel/security"):
        try:
            if os.listdir(name):
                got.append(name)
        except OSError:
            pass
    if not got:
        raise Refused("none")
    return got


@SUITE.here("PRC-06 FSR-07", control="root")
def other_devices(t):
    kept = {"null", "zero", "full", "random", "urandom", "tty", "ptmx", "pts", "shm", "fd",
            "stdin", "stdout", "stderr", "core", "mqueue"}
    got = [name for name in os.listdir("/dev") if name not in kept]
    if not got:
        raise Refused("none")
    return got


@SUITE.here("PRC-15", control="root")
def make_devices(t):
    got = []
    for folder in (t.dir, "/tmp", "/dev/shm", "/dev"):
        for kind, number in ((0o020666, os.makedev(1, 3)), (0o060666, os.makedev(254, 0)),
                             (0o020666, 0)):
            target = f"{folder}/cordon-node-{os.getpid()}"
            try:
                os.mknod(target, kind, number)
                got.append(target)
                os.unlink(target)
            except OSError:
                pass
    if not got:
        raise Refused("none")
    return got


# Calls of the kernel: reached when the answer is about the arguments, refused
# when it is that there is no such call or no permission.

REACHED_BY_ANYONE = {
    "bpf": (99, 0, 0), "perf_event_open": (0, 0, 0, 0, 0), "userfaultfd": (0,),
    "io_uring_setup": (1, 0), "io_uring_enter": (-1, 0, 0, 0, 0, 0),
    "io_uring_register": (-1, 0, 0, 0), "keyctl": (6, -3, 0, 0, 0),
    "add_key": (0, 0, 0, 0, 0), "request_key": (0, 0, 0, 0), "open_tree": (-100, 0, 0),
    "fspick": (-100, 0, 0), "setns": (-1, 0), "process_vm_readv": (0, 0, 0, 0, 0, 1),
    "process_vm_writev": (0, 0, 0, 0, 0, 1), "pidfd_getfd": (-1, 0, 0), "kcmp": (0, 0, 99, 0, 0),
    "quotactl": (-1, 0, 0, 0), "modify_ldt": (99, 0, 0), "migrate_pages": (0, 0, 0, 0),
    "memfd_secret": (99,), "clone3": (0, 0), "openat2": (-100, 0, 0, 0),
    "fanotify_init": (0xffff, 0),
}
REACHED_BY_ROOT = {
    "mount": (1, 1, 1, 0, 1), "umount2": (1, 0), "pivot_root": (1, 1), "fsopen": (1, 0),
    "fsconfig": (-1, 0, 0, 0, 0), "fsmount": (-1, 0, 0), "move_mount": (-1, 1, -1, 1, 0),
    "mount_setattr": (-100, 1, 0, 1, 32), "kexec_load": (0, 99, 0, 0xffff),
    "init_module": (1, 0, 1), "finit_module": (-1, 1, 99), "delete_module": (1, 0),
    "swapon": (1, 0), "swapoff": (1,), "reboot": (0, 0, 0, 0), "settimeofday": (1, 1),
    "clock_settime": (0, 1), "acct": (1,), "iopl": (99,), "ioperm": (1 << 30, 1, 1),
    "syslog": (99, 0, 0), "sethostname": (1, 1), "setdomainname": (1, 1),
    "open_by_handle_at": (-1, 1, 0), "chroot": (1,),
}


def reach(name, arguments):
    try:
        call(name, *arguments)
    except OSError as error:
        if error.errno in (errno.EPERM, errno.ENOSYS):
            raise


def register_calls():
    for table, control in ((REACHED_BY_ANYONE, "host"), (REACHED_BY_ROOT, "root")):
        for name, arguments in table.items():
            def act(t, name=name, arguments=arguments):
                reach(name, arguments)
            act.__name__ = "call_" + name
            fits = control if name not in ("bpf", "perf_event_open", "fanotify_init",
                                           "userfaultfd", "quotactl", "fspick") else "root"
            SUITE.here("PRC-09" + (" PRC-10" if "uring" in name else "")
                       + (" NSP-06" if "mount" in name or "tree" in name or "fs" in name else ""),
                       control=fits)(act)


register_calls()


@SUITE.here("PRC-09")
def calls_that_are_not_known_yet(t):
    """What a later kernel brings is not there for the sandbox."""
    got = []
    for number in range(467, 600):
        try:
            call_number(number, -1, -1, -1, -1, -1, -1)
            got.append(number)
        except OSError as error:
            if error.errno != errno.ENOSYS:
                got.append(number)
    if not t.inside:
        return  # a kernel older than those numbers has none of them
    if not got:
        raise Refused("none")
    return got


def run_native(t, *arguments):
    code = subprocess.run([t.native, *map(str, arguments)], stderr=subprocess.DEVNULL).returncode
    if code < 0:
        raise Refused(f"ended by signal {-code}")
    if code in (errno.EPERM, errno.ENOSYS, errno.EACCES):
        raise OSError(code, os.strerror(code))


if X86:
    NATIVE_PROGRAM = compile_c(NATIVE, "native") if os.path.exists("/usr/bin/gcc") else b""

    for attack_name, attack_words in {
            "getpid": (20, 0, 0, 0), "socket": (359, 1, 1, 0), "packet": (359, 17, 3, 0),
            "unshare": (310, 0, 0, 0), "io_uring": (425, 1, 0, 0), "mkdir": (39, 0, 0, 0)}.items():
        def through_int80(t, words=attack_words):
            run_native(t, "int80", *words)
        through_int80.__name__ = "int80_" + attack_name
        SUITE.here("PRC-11", control="root" if attack_name == "packet" else "host")(through_int80)

    @SUITE.here("PRC-11")
    def int80_creates_a_protected_name(t):
        target = (t.ws if t.inside else t.dir) + "/.mcp.json"
        run_native(t, "int80-open", target)
        if not os.path.exists(target):
            raise Refused("not made")

    for attack_name, attack_words in {"getpid": (39, 0, 0), "socket": (41, 1, 1),
                                      "mkdir": (83, 0, 0), "ioctl": (514, 0, 0)}.items():
        def through_x32(t, words=attack_words):
            if not t.inside:
                return  # most kernels have no x32: the filter must not rely on it
            run_native(t, "x32", *words)
        through_x32.__name__ = "x32_" + attack_name
        SUITE.here("PRC-11")(through_x32)


@SUITE.allowed
def tracing_its_own_child(t):
    pid = os.fork()
    if pid == 0:
        call("ptrace", 0, 0, 0, 0)
        os.kill(os.getpid(), signal.SIGSTOP)
        os._exit(7)
    assert os.WIFSTOPPED(os.waitpid(pid, 0)[1])
    call("ptrace", 7, pid, 0, 0)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 7


@SUITE.allowed
def signals_and_limits_of_its_own(t):
    import resource
    pid = os.fork()
    if pid == 0:
        signal.pause()
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
    assert resource.getrlimit(resource.RLIMIT_NOFILE) == (64, 64)
    assert resource.prlimit(pid, resource.RLIMIT_NOFILE)[1] > 64
    with open(f"/proc/{pid}/environ", "rb") as file:
        file.read()
    os.kill(pid, signal.SIGTERM)
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == -signal.SIGTERM


@SUITE.allowed
def signals_end_calls_that_wait(t):
    """A FIFO without a reader and a socket with a full queue: the broker waits for the caller."""
    import socket
    os.chdir(t.dir)
    os.mkfifo("fifo")
    server = socket.socket(socket.AF_UNIX)
    server.bind("full")
    server.listen(0)
    clients = []

    def fill():
        while True:
            clients.append(socket.socket(socket.AF_UNIX))
            clients[-1].connect("full")

    def handle(*_):
        raise InterruptedError
    signal.signal(signal.SIGALRM, handle)
    for act in (lambda: os.open("fifo", os.O_WRONLY | os.O_CREAT), fill):
        signal.alarm(1)
        try:
            act()
            raise AssertionError("it did not wait")
        except InterruptedError:
            pass


@SUITE.allowed
def connects_that_block_are_as_ever(t):
    """Done at once or waited for, and the socket still blocks afterwards."""
    import fcntl
    import socket
    import threading
    os.chdir(t.dir)
    local = socket.socket(socket.AF_UNIX)
    local.bind("served")
    local.listen(0)
    remote = socket.create_server(("127.0.0.1", 0))
    closed = socket.socket()
    closed.bind(("127.0.0.1", 0))  # nobody listens there

    def connect(kind, address, family=socket.AF_INET):
        sock = socket.socket(family, kind)
        try:
            sock.connect(address)
        finally:
            assert not fcntl.fcntl(sock, fcntl.F_GETFL) & os.O_NONBLOCK
        return sock
    kept = [connect(socket.SOCK_STREAM, remote.getsockname()),
            connect(socket.SOCK_DGRAM, remote.getsockname())]
    assert kept[0].getpeername() == remote.getsockname()
    try:
        connect(socket.SOCK_STREAM, closed.getsockname())
        raise AssertionError("connected to nobody")
    except ConnectionRefusedError:
        pass
    wanted = 4  # more than the queue takes: some of them wait for an accept
    server = threading.Thread(target=lambda: [local.accept() for _ in range(wanted)])
    threading.Timer(0.2, server.start).start()
    kept += [connect(socket.SOCK_STREAM, "served", socket.AF_UNIX) for _ in range(wanted)]
    assert all(sock.getpeername() for sock in kept)


@SUITE.allowed
def paths_are_opened_whatever_else_is_asked(t):
    """O_PATH makes the kernel forget O_CREAT."""
    os.chdir(t.dir)
    for name in ("file", "dir", "link"):
        os.close(os.open(name, os.O_PATH | os.O_CREAT))
    try:
        os.open("missing", os.O_PATH | os.O_CREAT)
        raise AssertionError("made")
    except FileNotFoundError:
        assert not os.path.lexists("missing")


@SUITE.allowed
def programs_from_memory(t):
    """memfd and fexecve are no escape, and tools use them."""
    fd = os.memfd_create("program", 0)
    with open("/bin/true", "rb") as file:
        os.write(fd, file.read())
    pid = os.fork()
    if pid == 0:
        os.execve(fd, ["true"], {})
    assert os.waitpid(pid, 0)[1] == 0


@SUITE.allowed
def landlock_and_seccomp_of_its_own(t):
    version = call_number(444, 0, 0, 1)
    assert version >= 1
    ruleset = call_number(444, ctypes.c_char_p(struct.pack("Q", 1 << 1)), 8, 0)

    def restrict():
        libc.prctl(38, 1, 0, 0, 0)
        call_number(446, ruleset, 0)
    in_child(restrict)


if __name__ == "__main__":
    SUITE.main()
