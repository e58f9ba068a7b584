#!/usr/bin/python3
"""Runs a command on a host with another bubblewrap: bubblewrap_host.py KIND -- COMMAND ARG...

For root, in a mount namespace of its own, so that nothing changes for others:
  setuid        bubblewrap is setuid root, and nobody may make user namespaces
  covered-proc  a part of /proc is covered, so that no other can be mounted
  old           a bubblewrap that does not know the options
  foreign       it belongs to somebody else than root
  racing        before it starts, the directory `d` of the workspace becomes a link
"""
import ctypes
import os
import shutil
import subprocess
import sys

PROGRAM = "/usr/bin/bwrap"
CLONE_NEWNS, CLONE_NEWUSER = 0x00020000, 0x10000000
MS_BIND, MS_REC, MS_PRIVATE = 0x1000, 0x4000, 0x40000
libc = ctypes.CDLL(None, use_errno=True)


def check(result):
    if result != 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))


def mount(source, target, kind=None, flags=0):
    check(libc.mount(source.encode(), target.encode(), kind and kind.encode(), flags, None))


def replace(change):
    """Another file in the place of bubblewrap; the tmpfs that it is on goes with the namespace."""
    folder = "/mnt"
    mount("tmpfs", folder, "tmpfs")
    os.chmod(folder, 0o755)
    copy = os.path.join(folder, "bwrap")
    shutil.copy(PROGRAM, copy)
    change(copy)
    mount(copy, PROGRAM, flags=MS_BIND)


def old(copy):
    with open(copy, "w", encoding="ascii") as file:
        file.write("#!/bin/sh\necho 'bwrap: Unknown option --disable-userns' >&2\nexit 1\n")


def racing(copy):
    real = copy + ".real"
    os.rename(copy, real)
    with open(copy, "w", encoding="ascii") as file:
        file.write('#!/bin/sh\ncase "$1" in --args) mv d .moved && ln -s e d ;; esac\n' f'exec {real} "$@"\n')
    os.chmod(copy, 0o755)


def without_user_namespaces():
    """All ids as they were, in a namespace of which the kernel makes no further ones."""
    ready, go = os.pipe(), os.pipe()
    parent = os.getpid()
    child = os.fork()
    if child == 0:
        os.read(ready[0], 1)
        for name in ("uid_map", "gid_map"):
            with open(f"/proc/{parent}/{name}", "w", encoding="ascii") as file:
                file.write("0 0 4294967295")
        os.write(go[1], b"x")
        os._exit(0)
    check(libc.unshare(CLONE_NEWUSER))
    os.write(ready[1], b"x")
    os.read(go[0], 1)
    os.waitpid(child, 0)
    with open("/proc/sys/user/max_user_namespaces", "w", encoding="ascii") as file:
        file.write("0")


def main():
    kind, words = sys.argv[1], sys.argv[3:]
    check(libc.unshare(CLONE_NEWNS))
    mount("none", "/", flags=MS_REC | MS_PRIVATE)
    if kind == "setuid":
        replace(lambda copy: os.chmod(copy, 0o4755))
        without_user_namespaces()
    elif kind == "covered-proc":
        mount("/dev/null", "/proc/version", flags=MS_BIND)
    elif kind in ("old", "racing"):
        replace({"old": old, "racing": racing}[kind])
    else:
        replace(lambda copy: os.chown(copy, 65534, 65534))
    sys.exit(subprocess.run(words, check=False).returncode)


if __name__ == "__main__":
    main()
