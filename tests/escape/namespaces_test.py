#!/usr/bin/python3
"""Namespaces and mounts: the sandbox's own cannot be left, changed or nested."""
import ctypes
import os
import struct

from fixture import PYTHON, Refused, SECRET, Suite, call, in_child, libc, path, secret_in, succeed

AT_FDCWD = -100
FLAGS = {"user": 0x10000000, "mount": 0x20000, "net": 0x40000000, "pid": 0x20000000,
         "ipc": 0x08000000, "uts": 0x04000000, "cgroup": 0x02000000, "time": 0x80}
SUITE = Suite("namespaces", context=lambda f: {
    "namespaces": {n: os.stat(f"/proc/self/ns/{n}").st_ino
                   for n in ("user", "mnt", "net", "pid", "ipc", "uts", "cgroup")}})


def register_unshare():
    for name, flag in FLAGS.items():
        def by_unshare(t, flag=flag):
            in_child(lambda: call("unshare", flag))

        def with_user(t, flag=flag):
            in_child(lambda: call("unshare", flag | FLAGS["user"]))

        def by_clone(t, flag=flag):
            pid = call("clone", flag | 17, 0, 0, 0, 0)
            if pid == 0:
                os._exit(0)
            os.waitpid(pid, 0)

        def by_clone3(t, flag=flag):
            arguments = struct.pack("11Q", flag, 0, 0, 0, 17, 0, 0, 0, 0, 0, 0)
            pid = call("clone3", ctypes.c_char_p(arguments), 88)
            if pid == 0:
                os._exit(0)
            os.waitpid(pid, 0)
        alone = "host" if name == "user" else "root"
        for act, way, control in ((by_unshare, "unshare", alone), (with_user, "unshare_with_user",
                                                                   "host"),
                                  (by_clone, "clone", alone), (by_clone3, "clone3", alone)):
            if way == "clone" and name == "time":
                continue  # the flag is not clone()'s
            act.__name__ = f"{way}_{name}"
            SUITE.here("NSP-01 PRC-13", control=control)(act)


register_unshare()


@SUITE.here("NSP-01")
def share_namespaces_with_the_host(t):
    shared = [n for n, inode in t.namespaces.items() if os.stat(f"/proc/self/ns/{n}").st_ino == inode]
    if not shared:
        raise Refused("none")
    return shared


@SUITE.here("NSP-02", control="root")
def mount_a_tmpfs(t):
    in_child(lambda: own_namespace(t) or succeed(libc.mount(
        b"none", os.fsencode(t.dir + "/empty"), b"tmpfs", 0, None)))


def own_namespace(t):
    """Outside, the control must not touch the host's mounts."""
    if not t.inside:
        call("unshare", FLAGS["mount"])
        succeed(libc.mount(b"none", b"/", None, 0x44000, None))  # private


@SUITE.here("NSP-02", control="root")
def bind_over(t):
    in_child(lambda: own_namespace(t) or succeed(libc.mount(
        os.fsencode(t.dir + "/file"), os.fsencode(t.dir + "/second"), None, 0x1000, None)))


@SUITE.here("NSP-02", control="root")
def remount_writable(t):
    in_child(lambda: own_namespace(t) or succeed(libc.mount(
        b"none", b"/", None, 0x20 | 0x1000, None)))


@SUITE.here("NSP-02", control="root")
def unmount(t):
    def act():
        own_namespace(t)
        if not t.inside:
            succeed(libc.mount(b"none", os.fsencode(t.dir), b"tmpfs", 0, None))
            return succeed(libc.umount2(os.fsencode(t.dir), 2))
        got = [m for m in (t.ws + "/.env", t.ws + "/.git/config", t.ws, "/proc", "/dev/shm", "/tmp")
               if libc.umount2(os.fsencode(m), 2) == 0]
        if not got:
            raise Refused("none")
    in_child(act)


@SUITE.here("NSP-06")
def open_tree_clone(t):
    def act():
        if not t.inside:
            call("unshare", FLAGS["user"] | FLAGS["mount"])
        call("open_tree", AT_FDCWD, path("/"), 1 | 0x8000)
    in_child(act)


def register_fsopen():
    for name in ("tmpfs", "proc", "sysfs", "overlay", "cgroup2", "mqueue", "devpts"):
        def act(t, name=name):
            def inner():
                if not t.inside:
                    call("unshare", FLAGS["user"] | FLAGS["mount"] | FLAGS["net"])
                call("fsopen", path(name), 0)
            in_child(inner)
        act.__name__ = "fsopen_" + name
        SUITE.here("NSP-06")(act)


register_fsopen()


@SUITE.here("NSP-06", control="root")
def clear_read_only_by_mount_setattr(t):
    attributes = struct.pack("QQQQ", 0, 1, 0, 0)

    def act():
        own_namespace(t)
        call("mount_setattr", AT_FDCWD, path(t.ro if t.inside else "/"), 0,
             ctypes.c_char_p(attributes), 32)
    in_child(act)


@SUITE.here("NSP-03")
def nested_namespace_detaches_the_masks(t):
    """O_PATH, new user and mount namespace, detach what lies over the file."""
    holder = os.open(t.ws, os.O_PATH | os.O_DIRECTORY)
    uid, gid = os.getuid(), os.getgid()

    def act():
        call("unshare", FLAGS["user"] | FLAGS["mount"])
        for name, text in (("setgroups", "deny"), ("uid_map", f"0 {uid} 1"), ("gid_map", f"0 {gid} 1")):
            with open("/proc/self/" + name, "w") as file:
                file.write(text)
        libc.umount2(os.fsencode(t.ws + "/.env"), 2)
        fd = os.open(".env", os.O_RDONLY, dir_fd=holder)
        if SECRET.encode() not in os.read(fd, 100):
            raise Refused("masked")
    in_child(act)


@SUITE.here("NSP-04", control="root")
def enter_namespaces_by_descriptor(t):
    got = []
    for pid in ("self", "1", str(os.getppid())):
        for name in ("user", "mnt", "net", "pid", "ipc", "uts", "cgroup"):
            try:
                fd = os.open(f"/proc/{pid}/ns/{name}", os.O_RDONLY)
                in_child(lambda: call("setns", fd, 0))
                got.append(f"{pid}/{name}")
            except (OSError, Refused):
                pass
    if not got:
        raise Refused("none")
    return got


@SUITE.here("NSP-04", control="root")
def enter_namespaces_by_pidfd(t):
    in_child(lambda: call("setns", call("pidfd_open", os.getppid(), 0), FLAGS["uts"]))


@SUITE.here("NSP-04", control="root")
def parent_of_the_user_namespace(t):
    import fcntl
    fd = os.open("/proc/self/ns/user", os.O_RDONLY)
    try:
        parent = fcntl.ioctl(fd, 0xb702)  # NS_GET_PARENT
    except OSError:
        if t.inside:
            raise
        return  # the host's has none
    call("setns", parent, 0)


@SUITE.here("NSP-05", control="root")
def chroot(t):
    in_child(lambda: call("chroot", path(t.dir)))


@SUITE.here("NSP-05", control="root")
def chroot_and_out_again(t):
    def act():
        holder = os.open("/", os.O_RDONLY)
        call("chroot", path(t.dir))
        os.fchdir(holder)
        for _ in range(64):
            os.chdir("..")
        call("chroot", path("."))
        secret_in(t.home + "/.netrc")
    in_child(act)


@SUITE.here("NSP-05", control="root")
def pivot_root(t):
    def act():
        own_namespace(t)
        target = os.fsencode(t.dir)
        succeed(libc.mount(target, target, None, 0x1000, None))
        os.chdir(t.dir)
        call("pivot_root", path("."), path("."))
    in_child(act)


@SUITE.here("NSP-12", control="host")
def maps_of_more_than_one_id(t):
    if not t.inside:
        return
    for name in ("uid_map", "gid_map"):
        with open("/proc/self/" + name) as file:
            lines = file.read().splitlines()
        if len(lines) != 1 or lines[0].split()[2] != "1":
            return lines
    with open("/proc/self/setgroups") as file:
        if file.read().strip() != "deny":
            return "setgroups"
    raise Refused("one id")


@SUITE.allowed
def threads_and_children(t):
    import multiprocessing
    import threading
    thread = threading.Thread(target=lambda: None)
    thread.start()
    thread.join()
    with multiprocessing.get_context("fork").Pool(2) as pool:
        assert pool.map(abs, [-1, 2]) == [1, 2]


@SUITE.allowed
def unshare_without_namespaces(t):
    in_child(lambda: call("unshare", 0x400 | 0x200))  # files, fs


@SUITE.test("NSP-11")
def mounts_of_the_host_stay(f, profile):
    def mounts():
        with open("/proc/self/mountinfo") as file:
            return file.read()
    before = mounts()
    process = f.start(f.command(profile, ["sh", "-c", "echo up; read x"]), cwd=f.ws,
                      env=f.environment(), stdin=-1, stdout=-1)
    assert process.stdout.readline() == b"up\n"
    assert mounts() == before
    process.communicate(b"\n", timeout=20)
    assert mounts() == before


@SUITE.test("IPC-11")
def two_sandboxes_do_not_meet(f, profile):
    first = f.start(f.command(profile, [PYTHON, "-c", (
        "import os,socket\n"
        "s=socket.socket(socket.AF_UNIX); s.bind('\\0cordon-meet'); s.listen()\n"
        "open('/dev/shm/meet','w').close(); print('up',flush=True); input()")]),
        cwd=f.ws, env=f.environment(), stdin=-1, stdout=-1)
    assert first.stdout.readline() == b"up\n"
    done = f.python(profile, (
        "import os,socket\n"
        "assert not os.path.exists('/dev/shm/meet')\n"
        "assert len([p for p in os.listdir('/proc') if p.isdigit()])==2\n"
        "try: socket.socket(socket.AF_UNIX).connect('\\0cordon-meet'); print('MET')\n"
        "except OSError: print('alone')"))
    assert done.stdout == b"alone\n", done
    first.communicate(b"\n", timeout=20)


if __name__ == "__main__":
    SUITE.main()
