#!/usr/bin/python3
"""Privileges: the command has none, gains none, and leaves none behind for others."""
import ctypes
import os
import resource
import stat
import struct
import subprocess

from fixture import Refused, Suite, call, libc, path, spill

AT_FDCWD = -100


def no_set_id_bits(f):
    """Wherever an attack may write, nothing is left that runs as someone else."""
    problems = []
    for folder, folders, names in os.walk(f.ws):
        for name in folders + names:
            mode = os.lstat(f"{folder}/{name}").st_mode
            if not stat.S_ISLNK(mode) and mode & (stat.S_ISUID | stat.S_ISGID):
                problems.append(f"set-id bit on {folder}/{name}")
    return problems


SUITE = Suite("privileges", evidence=no_set_id_bits, flags=["--processes", "200"])


def status(name):
    with open("/proc/self/status") as file:
        for line in file:
            if line.startswith(name + ":"):
                return line.split(":")[1].strip()
    raise Refused("no " + name)


@SUITE.here("PRV-01", control="root")
def capabilities(t):
    held = [n for n in ("CapEff", "CapPrm", "CapInh", "CapAmb", "CapBnd") if int(status(n), 16)]
    if not held:
        raise Refused("none")
    return held


@SUITE.here("PRV-01")
def without_no_new_privs(t):
    if status("NoNewPrivs") == "1":
        raise Refused("set")


@SUITE.here("PRV-01")
def without_a_filter(t):
    if status("Seccomp") == "2":
        raise Refused("filtered")


@SUITE.here("PRV-02", control="NoNewPrivs is what is asked for")
def programs_that_run_as_root(t):
    if not t.inside:
        return
    got = []
    for name in ("su", "sudo", "mount", "passwd", "newgrp", "chsh", "pkexec", "ping"):
        program = "/usr/bin/" + name
        if os.path.exists(program) and os.stat(program).st_mode & stat.S_ISUID:
            with subprocess.Popen([program, "--help"], stdin=-1, stdout=-1, stderr=-1) as process:
                try:
                    with open(f"/proc/{process.pid}/status") as file:
                        text = file.read()
                    if "CapEff:\t0000000000000000" not in text:
                        got.append(name)
                except OSError:
                    pass
                process.communicate(timeout=10)
    if not got:
        raise Refused("none gains anything")
    return got


@SUITE.here("PRV-04", control="root")
def real_root(t):
    with open("/proc/self/uid_map") as file:
        inside, outside, _ = file.read().split()
    # uid 0 of the host, under whatever number.
    if os.getuid() - int(inside) + int(outside) != 0:
        raise Refused("not root")


@SUITE.here("PRV-04", control="root")
def become_root(t):
    os.setresuid(0, 0, 0)


@SUITE.here("PRV-04", control="root")
def become_someone_else(t):
    os.setresuid(1234, 1234, 1234)


@SUITE.here("PRV-04", control="root")
def change_groups(t):
    os.setgroups([0, 6])


@SUITE.here("PRV-04", control="root")
def become_another_group(t):
    os.setresgid(6, 6, 6)


@SUITE.here("PRV-04", control="there may be none outside")
def keep_groups(t):
    extra = [g for g in os.getgroups() if g not in (os.getgid(), 65534)]
    if not extra:
        raise Refused("none")
    return extra


@SUITE.here("PRV-04", control="root")
def chown_to_someone_else(t):
    os.chown(t.dir + "/file", 1234, 1234)


@SUITE.here("PRV-05", control="takes CAP_SYS_RESOURCE, which root of a container may not have")
def raise_limits(t):
    got = []
    for name in ("NOFILE", "NPROC", "CORE", "MEMLOCK", "SIGPENDING", "MSGQUEUE", "NICE", "RTPRIO"):
        number = getattr(resource, "RLIMIT_" + name)
        hard = resource.getrlimit(number)[1]
        if hard == resource.RLIM_INFINITY:
            continue
        try:
            resource.setrlimit(number, (hard + 1, hard + 1))
            got.append(name)
        except (OSError, ValueError):
            pass
    if not got:
        raise Refused("none")
    return got


@SUITE.here("PRV-05")
def write_core_files(t):
    if not t.inside:
        return
    if resource.getrlimit(resource.RLIMIT_CORE)[1] == 0:
        raise Refused("limit 0")


@SUITE.here("PRV-05", control="root")
def nicer_to_itself(t):
    os.setpriority(os.PRIO_PROCESS, 0, -5)


@SUITE.here("PRV-05", control="root")
def real_time(t):
    os.sched_setscheduler(0, os.SCHED_FIFO, os.sched_param(10))


# Set-id bits, by every call that takes a mode.

BITS = {"u": 0o4755, "g": 0o2755, "ug": 0o6755}


def kept(target, bits):
    """Whether the bit is there afterwards; the kernel may drop it by itself."""
    if not os.lstat(target).st_mode & bits & 0o6000:
        raise Refused("dropped")


def ways(t, mode):
    """name → how to make `t.dir/…` have this mode."""
    base = t.dir

    def with_open(number_first, *arguments):
        fd = call(number_first, *arguments)
        return os.close(fd)
    how = struct.pack("QQQ", os.O_CREAT | os.O_WRONLY, mode, 0)
    new = base + "/new"
    return {
        "chmod": (base + "/file", lambda: os.chmod(base + "/file", mode)),
        "chmod_raw": (base + "/file", lambda: call("chmod", path(base + "/file"), mode)),
        "chmod_with_upper_bits": (base + "/file", lambda: call("chmod", path(base + "/file"),
                                                               mode | 0x7f0000)),
        "chmod_with_high_half": (base + "/file", lambda: call("chmod", path(base + "/file"),
                                                              mode | (1 << 40))),
        "fchmod": (base + "/file", lambda: os.fchmod(os.open(base + "/file", os.O_RDONLY), mode)),
        "fchmodat": (base + "/file", lambda: call("fchmodat", AT_FDCWD, path(base + "/file"), mode)),
        "fchmodat2": (base + "/file",
                      lambda: call("fchmodat2", AT_FDCWD, path(base + "/file"), mode, 0)),
        "chmod_by_proc": (base + "/file", lambda: os.chmod(
            f"/proc/self/fd/{os.open(base + '/file', os.O_PATH)}", mode)),
        "chmod_directory": (base + "/dir", lambda: os.chmod(base + "/dir", mode)),
        "open": (new, lambda: with_open("open", path(new), os.O_CREAT | os.O_WRONLY, mode)),
        "openat": (new, lambda: with_open("openat", AT_FDCWD, path(new),
                                          os.O_CREAT | os.O_WRONLY, mode)),
        "openat2": (new, lambda: with_open("openat2", AT_FDCWD, path(new), ctypes.c_char_p(how), 24)),
        "creat": (new, lambda: with_open("creat", path(new), mode)),
        "mkdir": (new, lambda: os.mkdir(new, mode)),
        "mknod": (new, lambda: os.mknod(new, stat.S_IFREG | mode)),
        "mknodat": (new, lambda: call("mknodat", AT_FDCWD, path(new), stat.S_IFREG | mode, 0)),
        "mkfifo": (new, lambda: os.mknod(new, stat.S_IFIFO | mode)),
        "unnamed": (new, lambda: unnamed(t, mode, new)),
    }


def unnamed(t, mode, target):
    fd = call("openat", AT_FDCWD, path(t.dir), os.O_TMPFILE | os.O_WRONLY, mode)
    if libc.linkat(AT_FDCWD, b"/proc/self/fd/%d" % fd, AT_FDCWD, os.fsencode(target), 0x400):
        raise OSError(ctypes.get_errno(), "linkat")


def register_ways():
    class Nowhere:
        dir = ""
    for bits, mode in BITS.items():
        for way in ways(Nowhere, mode):
            def act(t, way=way, mode=mode):
                target, make = ways(t, mode)[way]
                make()
                kept(target, mode)
            act.__name__ = f"set_id_{bits}_by_{way}"
            drops = "the kernel itself drops these bits" if way in ("mkdir", "mknod", "mknodat",
                                                                    "mkfifo") else "host"
            SUITE.here("PRV-02", control=drops)(act)


register_ways()


@SUITE.here("PRV-02", control="root")
def file_capabilities(t):
    os.setxattr(t.dir + "/file", "security.capability",
                struct.pack("<IIIII", 0x02000001, 0xffffffff, 0, 0, 0))


@SUITE.here("PRV-02", control="root")
def trusted_attributes(t):
    os.setxattr(t.dir + "/file", "trusted.x", b"1")


@SUITE.here("PRV-02", control="host")
def access_list_for_another_user(t):
    """Allowed: an ACL grants what chmod could. It must not be a way to a set-id bit."""
    if t.inside:
        entries = struct.pack("<I", 2) + b"".join(
            struct.pack("<HHI", tag, 7, 0xffffffff) for tag in (0x01, 0x04, 0x20))
        try:
            os.setxattr(t.dir + "/file", "system.posix_acl_access", entries)
        except OSError:
            pass
        kept(t.dir + "/file", 0o6000)


@SUITE.allowed
def ordinary_modes(t):
    for mode in (0o600, 0o755, 0o1777, 0o444):
        os.chmod(t.dir + "/file", mode)
        assert os.stat(t.dir + "/file").st_mode & 0o7777 == mode
    os.mkdir(t.dir + "/sticky", 0o1777)
    spill(t.dir + "/made", flags=os.O_WRONLY | os.O_CREAT)
    assert os.stat(t.dir + "/made").st_mode & 0o777 == 0o644


@SUITE.allowed
def umask_holds_for_what_is_created(t):
    os.umask(0o077)
    spill(t.dir + "/private", flags=os.O_WRONLY | os.O_CREAT)
    assert os.stat(t.dir + "/private").st_mode & 0o777 == 0o600
    os.mkdir(t.dir + "/private.d")
    assert os.stat(t.dir + "/private.d").st_mode & 0o777 == 0o700


@SUITE.allowed
def lower_limits(t):
    resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
    os.nice(5)


@SUITE.test("PRV-04")
def files_belong_to_the_caller(f, profile):
    done = f.run(profile, ["sh", "-c", "id -u; echo x > desk/made"])
    assert done.returncode == 0, done
    assert os.stat(f.ws + "/desk/made").st_uid == os.getuid()
    assert done.stdout.strip() != b"0", "the command runs as uid 0"


@SUITE.test("PRV-06")
def a_copy_of_a_denied_program_is_no_escape(f, profile):
    """Running from memory or through the loader changes nothing of what may be done."""
    done = f.run(profile, ["sh", "-c", "cp /bin/cat desk/c; ./desk/c " + f.home + "/.netrc; "
                           "/lib64/ld-linux-x86-64.so.2 /bin/cat " + f.home + "/.netrc"])
    assert b"SECRET" not in done.stdout, done


if __name__ == "__main__":
    SUITE.main()
