#!/usr/bin/python3
"""Files: what is not granted can be neither written nor read, however the call is spelled."""
import ctypes
import errno
import os
import socket
import stat
import struct

from fixture import (Refused, SECRET, Suite, call, path,
                     secret_in, spill, succeed, libc)

AT_FDCWD = -100
SUITE = Suite("files")


# Writing content.

@SUITE.attack("FSW-01")
def overwrite(t):
    spill(t.dir + "/file")


@SUITE.attack("FSW-01")
def append(t):
    spill(t.dir + "/file", flags=os.O_WRONLY | os.O_APPEND)


@SUITE.attack("FSW-01")
def open_read_write_and_map(t):
    import mmap
    fd = os.open(t.dir + "/file", os.O_RDWR)
    with mmap.mmap(fd, 4) as shared:
        shared[:4] = b"mmap"


@SUITE.attack("FSW-01")
def create(t):
    spill(t.dir + "/new", flags=os.O_WRONLY | os.O_CREAT)


@SUITE.attack("FSW-01")
def create_exclusive(t):
    spill(t.dir + "/new", flags=os.O_WRONLY | os.O_CREAT | os.O_EXCL)


@SUITE.attack("FSW-01")
def create_by_creat(t):
    os.write(call("creat", path(t.dir + "/new"), 0o644), b"x")


@SUITE.attack("FSW-01", twin=None)
def create_by_openat2(t):
    how = struct.pack("QQQ", os.O_CREAT | os.O_WRONLY, 0o644, 0)
    os.write(call("openat2", AT_FDCWD, path(t.dir + "/new"), ctypes.c_char_p(how), 24), b"x")


@SUITE.attack("FSW-01")
def create_below_a_directory_descriptor(t):
    folder = os.open(t.dir, os.O_RDONLY | os.O_DIRECTORY)
    fd = os.open("new", os.O_WRONLY | os.O_CREAT, dir_fd=folder)
    os.write(fd, b"x")


@SUITE.attack("FSW-01")
def create_below_an_o_path_descriptor(t):
    folder = os.open(t.dir, os.O_PATH)
    os.write(os.open("new", os.O_WRONLY | os.O_CREAT, dir_fd=folder), b"x")


@SUITE.attack("FSW-01")
def create_after_fchdir(t):
    os.fchdir(os.open(t.dir, os.O_RDONLY))
    spill("new", flags=os.O_WRONLY | os.O_CREAT)


@SUITE.attack("FSW-01")
def create_by_dot_dot(t):
    os.chdir(t.dir + "/empty")
    spill("../dir/../new", flags=os.O_WRONLY | os.O_CREAT)


@SUITE.attack("FSW-01")
def create_by_many_slashes(t):
    spill("//" + t.dir.replace("/", "///") + "/./new", flags=os.O_WRONLY | os.O_CREAT)


@SUITE.attack("FSW-01")
def create_by_proc_self_cwd(t):
    os.chdir(t.dir)
    spill("/proc/self/cwd/new", flags=os.O_WRONLY | os.O_CREAT)


@SUITE.attack("FSW-01")
def create_by_proc_self_fd(t):
    folder = os.open(t.dir, os.O_PATH)
    spill(f"/proc/self/fd/{folder}/new", flags=os.O_WRONLY | os.O_CREAT)


@SUITE.attack("FSW-01", twin=None)
def create_by_proc_root(t):
    spill(f"/proc/{os.getpid()}/root{t.dir}/new", flags=os.O_WRONLY | os.O_CREAT)


@SUITE.attack("FSW-01")
def unnamed_file_then_linkat(t):
    fd = os.open(t.dir, os.O_TMPFILE | os.O_WRONLY, 0o644)
    os.write(fd, b"x")
    succeed(libc.linkat(AT_FDCWD, b"/proc/self/fd/%d" % fd, AT_FDCWD,
                        os.fsencode(t.dir + "/new"), 0x400))


@SUITE.attack("FSW-01", twin=None, control="linkat with AT_EMPTY_PATH is for CAP_DAC_READ_SEARCH")
def unnamed_file_then_linkat_of_empty_path(t):
    fd = os.open(t.dir, os.O_TMPFILE | os.O_WRONLY, 0o644)
    succeed(libc.linkat(fd, b"", AT_FDCWD, os.fsencode(t.dir + "/new"), 0x1000))


@SUITE.attack("FSW-01")
def copy_file_range_into_it(t):
    source = os.open(t.ws + "/desk/code/fixture.py" if t.inside else t.ws + "/.git/config",
                     os.O_RDONLY)
    fd = os.open(t.dir + "/file", os.O_WRONLY)
    os.copy_file_range(source, fd, 8)


@SUITE.attack("FSW-01")
def allocate_more(t):
    os.posix_fallocate(os.open(t.dir + "/file", os.O_RDWR), 0, 8192)


# Truncating.

@SUITE.attack("FSW-02")
def truncate(t):
    os.truncate(t.dir + "/file", 0)


@SUITE.attack("FSW-02")
def truncate_by_open_for_reading(t):
    os.open(t.dir + "/file", os.O_RDONLY | os.O_TRUNC)


@SUITE.attack("FSW-02")
def truncate_by_raw_call(t):
    call("truncate", path(t.dir + "/file"), 1)


@SUITE.attack("FSW-02")
def truncate_through_a_link(t):
    os.truncate(t.dir + "/link", 0)


@SUITE.attack("FSW-02")
def truncate_with_o_creat(t):
    os.open(t.dir + "/file", os.O_CREAT | os.O_TRUNC | os.O_RDWR)


# New nodes.

@SUITE.attack("FSW-03")
def make_directory(t):
    os.mkdir(t.dir + "/new")


@SUITE.attack("FSW-03")
def make_directory_with_trailing_slash(t):
    os.mkdir(t.dir + "/new///")


@SUITE.attack("FSW-03")
def make_symlink(t):
    os.symlink("/etc/passwd", t.dir + "/new")


@SUITE.attack("FSW-03")
def make_fifo(t):
    os.mkfifo(t.dir + "/new")


@SUITE.attack("FSW-03")
def make_node_of_a_regular_file(t):
    os.mknod(t.dir + "/new", stat.S_IFREG | 0o644)


@SUITE.attack("FSW-03")
def make_node_of_type_zero(t):
    call("mknodat", AT_FDCWD, path(t.dir + "/new"), 0o644, 0)


@SUITE.attack("FSW-03")
def make_node_of_a_socket(t):
    os.mknod(t.dir + "/new", stat.S_IFSOCK | 0o644)


@SUITE.attack("FSW-03")
def bind_a_socket(t):
    os.chdir(t.dir)  # the path of a socket is at most 108 bytes
    socket.socket(socket.AF_UNIX).bind("new")


@SUITE.attack("FSW-03")
def bind_a_socket_by_descriptor(t):
    folder = os.open(t.dir, os.O_PATH)
    socket.socket(socket.AF_UNIX).bind(f"/proc/self/fd/{folder}/new")


# Metadata, for which Landlock has no right.

@SUITE.attack("FSW-04")
def change_mode(t):
    os.chmod(t.dir + "/file", 0o666)


@SUITE.attack("FSW-04")
def change_mode_of_directory(t):
    os.chmod(t.dir + "/dir", 0o777)


@SUITE.attack("FSW-04")
def change_mode_by_descriptor(t):
    os.fchmod(os.open(t.dir + "/file", os.O_RDONLY), 0o600)


@SUITE.attack("FSW-04")
def change_mode_by_proc(t):
    fd = os.open(t.dir + "/file", os.O_PATH)
    os.chmod(f"/proc/self/fd/{fd}", 0o600)


@SUITE.attack("FSW-04")
def change_mode_by_fchmodat2(t):
    fd = os.open(t.dir + "/file", os.O_PATH)
    call("fchmodat2", fd, path(""), 0o600, 0x1000)


@SUITE.attack("FSW-04")
def change_owner_to_self(t):
    os.chown(t.dir + "/file", -1, os.getgid())


@SUITE.attack("FSW-04")
def change_times(t):
    os.utime(t.dir + "/file", (1, 1))


@SUITE.attack("FSW-04")
def change_times_by_descriptor(t):
    os.utime(os.open(t.dir + "/file", os.O_RDONLY), (1, 1))


@SUITE.attack("FSW-04")
def set_attribute(t):
    os.setxattr(t.dir + "/file", "user.planted", b"1")


@SUITE.attack("FSW-04")
def set_attribute_by_descriptor(t):
    os.setxattr(os.open(t.dir + "/file", os.O_RDONLY), "user.planted", b"1")


@SUITE.attack("FSW-04")
def set_inode_flags(t):
    import fcntl
    fd = os.open(t.dir + "/file", os.O_RDONLY)
    value = bytearray(8)
    fcntl.ioctl(fd, 0x80086601, value)  # FS_IOC_GETFLAGS
    flags = struct.unpack("i", value[:4])[0] ^ 0x80  # NOATIME
    fcntl.ioctl(fd, 0x40086602, struct.pack("q", flags))


# Removing and moving.

@SUITE.attack("FSW-05")
def unlink(t):
    os.unlink(t.dir + "/file")


@SUITE.attack("FSW-05")
def remove_directory(t):
    os.rmdir(t.dir + "/empty")


@SUITE.attack("FSW-05")
def unlink_below_a_descriptor(t):
    os.unlink("file", dir_fd=os.open(t.dir, os.O_RDONLY))


@SUITE.attack("FSW-05")
def rename_within(t):
    os.rename(t.dir + "/file", t.dir + "/new")


@SUITE.attack("FSW-05")
def rename_over(t):
    os.rename(t.dir + "/second", t.dir + "/file")


@SUITE.attack("FSW-05", twin=None)
def rename_out(t):
    os.rename(t.dir + "/file", t.ws + "/desk/taken-" + t.place)


@SUITE.attack("FSW-05", twin=None)
def rename_in(t):
    spill(t.ws + "/desk/mine-" + t.place, flags=os.O_WRONLY | os.O_CREAT)
    os.rename(t.ws + "/desk/mine-" + t.place, t.dir + "/new")


@SUITE.attack("FSW-05")
def rename_no_replace(t):
    call("renameat2", AT_FDCWD, path(t.dir + "/file"), AT_FDCWD, path(t.dir + "/new"), 1)


@SUITE.attack("FSW-05")
def rename_exchange(t):
    call("renameat2", AT_FDCWD, path(t.dir + "/file"), AT_FDCWD, path(t.dir + "/second"), 2)


@SUITE.attack("FSW-05", twin=None, control="root")
def rename_leaving_a_whiteout(t):
    call("renameat2", AT_FDCWD, path(t.dir + "/file"), AT_FDCWD, path(t.dir + "/new"), 4)


@SUITE.attack("FSW-05")
def rename_a_directory(t):
    os.rename(t.dir + "/dir", t.dir + "/moved")


@SUITE.attack("FSW-05")
def rename_with_trailing_slash(t):
    os.rename(t.dir + "/dir/", t.dir + "/moved/")


# A descriptor that can only read, opened again.

@SUITE.attack("FSW-06", twin="ws")
def reopen_by_proc_self_fd(t):
    fd = os.open(t.dir + "/file", os.O_RDONLY)
    spill(f"/proc/self/fd/{fd}")


@SUITE.attack("FSW-06")
def reopen_by_dev_fd(t):
    fd = os.open(t.dir + "/file", os.O_RDONLY)
    spill(f"/dev/fd/{fd}")


@SUITE.attack("FSW-06")
def reopen_by_proc_with_o_creat(t):
    fd = os.open(t.dir + "/file", os.O_RDONLY)
    spill(f"/proc/self/fd/{fd}", flags=os.O_WRONLY | os.O_CREAT)


@SUITE.attack("FSW-06")
def reopen_by_thread_self(t):
    fd = os.open(t.dir + "/file", os.O_RDONLY)
    spill(f"/proc/thread-self/fd/{fd}", flags=os.O_WRONLY | os.O_TRUNC)


@SUITE.attack("FSW-06")
def reopen_by_map_files(t):
    import mmap
    fd = os.open(t.dir + "/file", os.O_RDONLY)
    with mmap.mmap(fd, 4, prot=mmap.PROT_READ):
        with open("/proc/self/maps") as maps:
            area = next(line.split()[0] for line in maps if line.rstrip().endswith("/file"))
        try:
            spill("/proc/self/map_files/" + area)
        except PermissionError:
            if not t.inside and os.geteuid() != 0:
                return  # outside it takes CAP_CHECKPOINT_RESTORE
            if t.place == "twin":
                return
            raise


@SUITE.attack("FSW-14", places=("outside",), twin=None)
def write_where_nothing_may_be_read(t):
    spill(t.dir + "/shadow", flags=os.O_WRONLY | os.O_CREAT)


# The home directory.

HOME_FILES = (".bashrc", ".profile", ".gitconfig", ".ssh/authorized_keys", ".npmrc",
              ".config/autostart/x.desktop", ".config/systemd/user/x.service", ".local/bin/git",
              ".bash_profile", ".config/cordon/policy.toml", ".cache/x")


def home_is_not_there(t):
    """The fixture lies in /var/tmp, and that may be the sandbox's own."""
    return t.inside and not os.path.exists(t.base + "/policy.toml")


@SUITE.here("FSW-11 FSW-14", control="host")
def write_in_the_home_directory(t):
    if home_is_not_there(t):
        raise Refused("not there")
    home = t.home if t.inside else t.dir
    got = []
    for name in HOME_FILES:
        try:
            os.makedirs(os.path.dirname(f"{home}/{name}"), exist_ok=True)
            spill(f"{home}/{name}", flags=os.O_WRONLY | os.O_CREAT | os.O_APPEND)
            got.append(name)
        except OSError:
            pass
    if not got:
        raise Refused("none")
    return got


# Reading.

def outside_secret(t):
    return t.outside + "/secret.txt" if t.inside else t.control + "/secret.txt"


@SUITE.here("FSR-01")
def read_credentials_of_the_home(t):
    got = []
    for name in (".ssh/id_ed25519", ".aws/credentials", ".netrc", ".config/gh/hosts.yml",
                 ".docker/config.json", ".gnupg/private.key", ".kube/config", ".git-credentials",
                 ".bash_history"):
        for prefix in ("", "/proc/self/root", "//", "/usr/..", "/proc/1/root", "/dev/fd/../root"):
            try:
                secret_in(prefix + t.home + "/" + name)
                got.append(prefix + name)
            except (OSError, Refused):
                pass
    if not got:
        raise Refused("none")
    return got


@SUITE.here("FSR-05")
def list_denied_directories(t):
    got = []
    for name in (".ssh", ".aws", ".gnupg", ".kube", ".config/gh"):
        try:
            got += os.listdir(t.home + "/" + name)
        except OSError:
            pass
    if not got:
        raise Refused("none")
    return got


@SUITE.here("FSR-03")
def read_the_denied_file_of_the_workspace(t):
    got = []
    for spelling in (t.ws + "/.env", t.ws + "/./.env", t.ws + "/desk/../.env", ".env",
                     "/proc/self/cwd/.env", "/proc/self/root" + t.ws + "/.env"):
        os.chdir(t.ws)
        try:
            secret_in(spelling)
            got.append(spelling)
        except (OSError, Refused):
            pass
    if not got:
        raise Refused("none")
    return got


@SUITE.here("FSR-03")
def read_the_denied_file_by_descriptors(t):
    folder = os.open(t.ws, os.O_PATH)
    fd = os.open(".env", os.O_RDONLY, dir_fd=folder)
    if SECRET.encode() not in os.read(fd, 100):
        raise Refused("masked")


@SUITE.here("FSR-03")
def make_the_denied_file_readable(t):
    target = t.ws + "/.env"
    os.chmod(target, 0o644)
    secret_in(target)


@SUITE.here("FSR-03")
def read_a_copy_by_hard_link(t):
    os.link(t.ws + "/.env", t.dir + "/copy")
    secret_in(t.dir + "/copy")


@SUITE.here("FSR-03 LNK-03")
def read_it_after_rename(t):
    target = t.ws + "/.env" if t.inside else t.dir + "/secret"
    os.rename(target, t.dir + "/moved")
    secret_in(t.dir + "/moved")


@SUITE.here("FSR-03 LNK-03")
def read_it_after_exchange(t):
    target = t.ws + "/.env" if t.inside else t.dir + "/secret"
    call("renameat2", AT_FDCWD, path(target), AT_FDCWD, path(t.dir + "/file"), 2)
    secret_in(t.dir + "/file")


@SUITE.here("FSR-03")
def replace_the_denied_file(t):
    target = t.ws + "/.env" if t.inside else t.dir + "/secret"
    os.unlink(target)


@SUITE.here("FSR-04")
def read_through_another_process(t):
    got = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        for way in ("root" + t.home + "/.ssh/id_ed25519", "cwd/.env"):
            try:
                secret_in(f"/proc/{pid}/{way}")
                got.append(way)
            except (OSError, Refused):
                pass
    if not got:
        raise Refused("none")
    return got


@SUITE.here("FSR-03")
def read_by_handle(t):
    if os.geteuid() != 0 and not t.inside:
        return  # only root can, outside
    handle = ctypes.create_string_buffer(struct.pack("Ii", 128, 0) + bytes(128))
    mount = ctypes.c_int()
    call("name_to_handle_at", AT_FDCWD, path(t.ws + "/.env"), handle, ctypes.byref(mount), 0)
    fd = call("open_by_handle_at", os.open(t.ws, os.O_RDONLY), handle, os.O_RDONLY)
    if SECRET.encode() not in os.read(fd, 100):
        raise Refused("masked")


@SUITE.attack("FSR-01", places=("outside",), twin="ro")
def read_it(t):
    if t.inside and t.place == "outside":
        # The default preset reads what is not secret.
        if os.path.exists(t.outside):
            raise Refused("readable by the preset")
    return secret_in(t.dir + "/secret")


@SUITE.here("FSR-01")
def read_by_another_program(t):
    import subprocess
    if b"SECRET" not in subprocess.run(["cat", t.home + "/.netrc"], capture_output=True).stdout:
        raise Refused("cat could not")


@SUITE.here("FSR-02 FSR-06", control="root")
def read_what_is_only_roots(t):
    got = []
    for name in ("/etc/shadow", "/etc/gshadow", "/etc/shadow-", "/proc/self/root/etc/shadow"):
        try:
            with open(name, "rb") as file:
                if file.read(1):
                    got.append(name)
        except OSError:
            pass
    if not got:
        raise Refused("none")
    return got


@SUITE.here("FSR-07", control="root")
def open_block_devices(t):
    got = []
    for folder, _, names in os.walk("/dev"):
        for name in names:
            node = f"{folder}/{name}"
            try:
                if stat.S_ISBLK(os.stat(node).st_mode):
                    os.close(os.open(node, os.O_RDONLY | os.O_NONBLOCK))
                    got.append(node)
            except OSError:
                pass
    if not got:
        raise Refused("none")
    return got


@SUITE.allowed
def reading_what_is_granted(t):
    secret_in(t.ro + "/secret.txt")


@SUITE.allowed
def known_hosts_is_readable(t):
    # Granted within the denied ~/.ssh, where its preset reads the home at all.
    if not home_is_not_there(t):
        with open(t.home + "/.ssh/known_hosts") as file:
            assert file.read() == "# mine\n"


@SUITE.allowed
def devices_can_be_written(t):
    for name in ("null", "zero", "full", "tty"):
        try:
            spill("/dev/" + name)
        except OSError as error:
            assert (name, error.errno) in (("full", errno.ENOSPC), ("tty", errno.ENXIO)), error
    spill("/dev/null", flags=os.O_WRONLY | os.O_CREAT | os.O_TRUNC)


@SUITE.allowed
def temporary_files(t):
    for name in ("/tmp/x", "/dev/shm/x") if home_is_not_there(t) else ["/dev/shm/x"]:
        spill(name, flags=os.O_WRONLY | os.O_CREAT | os.O_EXCL)
        os.unlink(name)


@SUITE.allowed
def working_directory_that_was_removed(t):
    os.mkdir(t.dir + "/gone")
    os.chdir(t.dir + "/gone")
    os.rmdir(t.dir + "/gone")
    for name in ("new", "../new"):
        try:
            os.open(name, os.O_CREAT | os.O_WRONLY)
        except OSError as error:
            assert error.errno in (errno.ENOENT, errno.EACCES), error
        else:
            assert name == "../new", "made a name in a directory that is gone"


@SUITE.test("FSW-12 FSW-13 NSP-09")
def inherited_descriptors(f, profile):
    target = f.outside + "/file"
    f.write(target, "original")
    code = ("import os,sys\n"
            "left=[n for n in os.listdir('/proc/self/fd') if int(n)>2]\n"
            "print(len(left)-1)\n"  # the listing's own
            "for fd in (9,10):\n"
            "  for act in (lambda: os.pwrite(fd,b'x',0), lambda: os.fchdir(fd),\n"
            "              lambda: os.open('outside/secret.txt',os.O_RDONLY,dir_fd=fd)):\n"
            "    try: act(); print('GOT', fd)\n"
            "    except OSError: pass\n")
    file, folder = os.open(target, os.O_RDWR), os.open(f.base, os.O_RDONLY)

    def leak():
        os.dup2(file, 9)
        os.dup2(folder, 10)
    control = __import__("subprocess").run(
        ["/usr/bin/python3", "-c", code], preexec_fn=leak, close_fds=False, capture_output=True)
    assert b"GOT 9" in control.stdout and b"GOT 10" in control.stdout, control
    f.write(target, "original")
    done = f.python(profile, code, preexec_fn=leak, close_fds=False)
    os.close(file)
    os.close(folder)
    assert done.stdout == b"0\n", done
    with open(target) as content:
        assert content.read() == "original"


@SUITE.test("FSW-15")
def standard_streams_opened_again(f, profile):
    for stream, flags, mode, code in (
            (0, os.O_RDONLY, "O_WRONLY", "os.write(fd,b'OWNED')"),
            (1, os.O_WRONLY | os.O_APPEND, "O_RDONLY", "sys.stderr.write(os.read(fd,99).decode())"),
            (2, os.O_WRONLY | os.O_APPEND, "O_RDWR", "os.pwrite(fd,b'OWNED',0)")):
        for how in ("/proc/self/fd/%d", "/dev/fd/%d", "/proc/thread-self/fd/%d"):
            for extra in ("", "|os.O_CREAT"):
                target = f.outside + "/stream"
                f.write(target, SECRET, 0o666)
                script = (f"import os,sys\nfd=os.open({how!r}%{stream},os.{mode}{extra})\n{code}\n"
                          "os._exit(42)")
                with open(target, "rb" if flags == os.O_RDONLY else "ab") as file:
                    name = ("stdin", "stdout", "stderr")[stream]
                    done = f.python(profile, script, **{name: file})
                with open(target, "rb") as file:
                    content = file.read()
                where = (stream, how, mode, extra, done, content)
                assert content.startswith(SECRET.encode()), where
                assert b"OWNED" not in content, where
                if mode == "O_RDONLY":
                    assert SECRET.encode() not in (done.stderr or b""), where


@SUITE.test("FSW-20 FSW-23")
def a_crash_leaves_nothing(f, profile):
    before = f.state()
    done = f.python(profile, "import os,resource\n"
                    "assert resource.getrlimit(resource.RLIMIT_CORE)==(0,0)\n"
                    "os.kill(os.getpid(),11)")
    assert done.returncode == 128 + 11, done
    assert f.state() == before


if __name__ == "__main__":
    SUITE.main()
