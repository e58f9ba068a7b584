#!/usr/bin/python3
"""Runs a test as an ordinary user: as_user.py -- COMMAND ARG...

Not root: just runs the command. Root: drops to `nobody` in a fresh directory,
with a fresh HOME, and passes the command's status on. Where that user cannot
reach the checkout (a clone below a 0700 directory), the test gets a copy of it:
every argument and CORDON_* variable that points into the checkout then points
into the copy. Everything made here is removed at the end.
"""
import ctypes
import os
import pwd
import shutil
import signal
import stat
import subprocess
import sys
import tempfile

USER = "nobody"
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
KEPT = ("CORDON_", "GTEST_", "LANG", "LC_", "TERM", "CI", "ASAN_", "UBSAN_", "TSAN_")
SKIPPED = {".git", "build", ".cache", "__pycache__"}
PR_SET_PDEATHSIG = 1


def drop(user):
    os.setgroups([])
    os.setresgid(user.pw_gid, user.pw_gid, user.pw_gid)
    os.setresuid(user.pw_uid, user.pw_uid, user.pw_uid)
    os.umask(0o022)


def can_reach(user, path):
    """Whether the user can open this file or list this directory."""
    pid = os.fork()
    if pid == 0:
        status = 1
        try:
            drop(user)
            os.close(os.open(path, os.O_RDONLY))
            status = 0
        except OSError:
            pass
        finally:
            os._exit(status)
    return os.waitpid(pid, 0)[1] == 0


def place(source, target):
    """A world-readable twin of a file: a hard link where that will do."""
    os.makedirs(os.path.dirname(target), mode=0o755, exist_ok=True)
    if os.path.lexists(target):
        return
    mode = os.lstat(source).st_mode
    if stat.S_ISLNK(mode):
        os.symlink(os.readlink(source), target)
        return
    if not stat.S_ISREG(mode):
        return
    wanted = 0o755 if mode & 0o100 else 0o644
    if mode & 0o777 == wanted:
        try:
            os.link(source, target)
            return
        except OSError:
            pass
    shutil.copyfile(source, target)
    os.chmod(target, wanted)


def files_below(top, only_executable):
    for folder, folders, names in os.walk(top):
        folders[:] = [f for f in folders if f not in SKIPPED | {"CMakeFiles"}]
        for name in names:
            path = os.path.join(folder, name)
            if not only_executable or (os.path.isfile(path) and os.access(path, os.X_OK)):
                yield path


def copy_checkout(source, build, extra, target):
    """The sources, the executables of the build, and the files named in `extra`."""
    wanted = list(files_below(source, only_executable=False))
    if build and os.path.isdir(build):
        wanted += files_below(build, only_executable=True)
    wanted += [path for path in extra if path.startswith(source + "/") and os.path.isfile(path)]
    for path in wanted:
        place(path, os.path.join(target, os.path.relpath(path, source)))


def moved(text, source, target):
    """`text` with a leading `source`, as a whole path, replaced by `target`."""
    if text == source or text.startswith(source + "/"):
        return target + text[len(source):]
    return text


def environment(home, user):
    kept = {k: v for k, v in os.environ.items() if k.startswith(KEPT)}
    return kept | {"HOME": home, "USER": user.pw_name, "LOGNAME": user.pw_name, "PATH": PATH}


def run_as(user, command, top):
    home, work = os.path.join(top, "home"), os.path.join(top, "work")
    for folder, mode in ((home, 0o700), (work, 0o755)):
        os.mkdir(folder)
        os.chmod(folder, mode)
        os.chown(folder, user.pw_uid, user.pw_gid)
    env = environment(home, user)

    source = os.environ.get("CORDON_SOURCE_DIR") or os.path.dirname(
        os.path.dirname(os.path.realpath(__file__)))
    build = os.environ.get("CORDON_BUILD_DIR", "")
    binary = os.environ.get("CORDON_BIN", "")
    needed = [source, __file__] + [p for p in (binary, command[0]) if os.path.exists(p)]
    if not all(can_reach(user, path) for path in needed):
        copy = os.path.join(top, "checkout")
        copy_checkout(source, build, command + list(env.values()), copy)
        command = [moved(word, source, copy) for word in command]
        env = {k: moved(v, source, copy) for k, v in env.items()}

    libc = ctypes.CDLL(None)

    def before_exec():
        drop(user)
        libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)  # ctest may kill us at a timeout

    child = subprocess.Popen(command, env=env, cwd=work, preexec_fn=before_exec)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, lambda n, _: child.send_signal(n))
    status = child.wait()
    return status if status >= 0 else 128 - status


def main():
    command = sys.argv[1:]
    if command[:1] == ["--"]:
        command = command[1:]
    if not command:
        sys.exit(__doc__)
    if os.geteuid() != 0:
        os.execvp(command[0], command)
    # Not below TMPDIR, which may be root's own.
    top = tempfile.mkdtemp(prefix="cordon-user-", dir="/var/tmp")
    os.chmod(top, 0o755)
    try:
        return run_as(pwd.getpwnam(USER), command, top)
    finally:
        shutil.rmtree(top, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
