"""Runs inside: does every act of a list, and says what came of it.

Given the list as JSON in the first argument, or in the file that @ names there: [[act, path, other, undo], …]. Prints
one JSON list: true (it could be done), or the error. What was to be denied and
could be done is undone, so that it is in no other act's way. Standard library only.
"""

import contextlib
import json
import os
import socket
import subprocess
import sys

CONTENT = b"#!/bin/sh\nexit 0\n"
CHANGED = b"changed\n"
GREETING = b"hello"


def greeted(connection):
    with connection:
        connection.settimeout(5)
        if connection.recv(16) != GREETING:
            raise OSError("no greeting")


def unix():
    return socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)


def opened(path, flags):
    os.close(os.open(path, flags))


def changed(path, flags):
    fd = os.open(path, flags)
    os.write(fd, CHANGED)
    os.close(fd)


def read(path, _):
    with open(path, "rb") as file:
        if file.read() != CONTENT:
            raise OSError("not what is there")


def listed(path, _):
    if "inside" not in os.listdir(path):
        raise OSError("not what is there")


def list_parent(path, _):
    if os.path.basename(path) not in os.listdir(os.path.dirname(path)):
        raise OSError("not what is there")


def execute(path, _):
    subprocess.run([path], check=True, capture_output=True)


def connect(path, _):
    connection = unix()
    connection.connect(path)
    greeted(connection)


def connect_own(path, _):
    server = unix()
    server.bind(path)
    server.listen(1)
    client = unix()
    client.connect(path)
    server.accept()[0].sendall(GREETING)
    greeted(client)


def tcp(port, _):
    greeted(socket.create_connection(("127.0.0.1", int(port)), timeout=5))


def tcp_inside(_, __):
    server = socket.create_server(("127.0.0.1", 0))
    client = socket.create_connection(server.getsockname(), timeout=5)
    server.accept()[0].sendall(GREETING)
    greeted(client)


def env(name, _):
    name, _, value = name.partition("=")
    if name not in os.environ or (value and os.environ[name] != value):
        raise OSError("not set")


def see(pid, marker):
    pid = pid if pid != "self" else os.getpid()
    with open(f"/proc/{pid}/cmdline", "rb") as file:
        if marker.encode() not in file.read():
            raise OSError("another process")


def grow(size):
    def act(path, _):
        import signal
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        with open(path, "wb", buffering=0) as file:
            if file.write(b"x" * size) != size:
                raise OSError("cut short")
    return act


def descriptors(number):
    def act(_, __):
        held = []
        try:
            for _ in range(number):
                held.append(os.open("/dev/null", os.O_RDONLY))
        finally:
            for fd in held:
                os.close(fd)
    return act


ACTS = {
    "read": read,
    "open": lambda path, _: opened(path, os.O_RDONLY),
    "open-write": lambda path, _: opened(path, os.O_WRONLY),
    "list": listed,
    "list-parent": list_parent,
    "exec": execute,
    "write": lambda path, _: changed(path, os.O_WRONLY),
    "append": lambda path, _: changed(path, os.O_WRONLY | os.O_APPEND),
    "truncate": lambda path, _: os.truncate(path, 0),
    "chmod": lambda path, _: os.chmod(path, 0o640),
    "utime": lambda path, _: os.utime(path, (1, 1)),
    "unlink": lambda path, _: os.unlink(path),
    "rmdir": lambda path, _: os.rmdir(path),
    "rename": lambda path, other: os.rename(path, other),
    "rename-directory": lambda path, other: os.rename(path, other),
    "replace": lambda path, other: os.rename(other, path),
    "move-in": lambda path, other: os.rename(other, path),
    "move-directory-in": lambda path, other: os.rename(other, path),
    "link-in": lambda path, other: os.link(other, path),
    "link-out": lambda path, other: os.link(path, other),
    "create": lambda path, _: opened(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY),
    "create-beside": lambda _, other: opened(other, os.O_CREAT | os.O_EXCL | os.O_WRONLY),
    "mkdir": lambda path, _: os.mkdir(path),
    "symlink": lambda path, _: os.symlink("inside", path),
    "mkfifo": lambda path, _: os.mkfifo(path),
    "connect": connect,
    "connect-own": connect_own,
    "tcp": tcp,
    "tcp-inside": tcp_inside,
    "env": env,
    "signal": lambda pid, _: os.kill(os.getpid() if pid == "self" else int(pid), 0),
    "see": see,
    "grow": grow(1 << 20),
    "grow-little": grow(1 << 10),
    "descriptors": descriptors(200),
    "few-descriptors": descriptors(8),
}


def restore(path, _):
    with open(path, "wb") as file:
        file.write(CONTENT)
    os.chmod(path, 0o777)


UNDO = {
    "create": lambda path, _: os.unlink(path),
    "create-beside": lambda _, other: os.unlink(other),
    "mkdir": lambda path, _: os.rmdir(path),
    "symlink": lambda path, _: os.unlink(path),
    "mkfifo": lambda path, _: os.unlink(path),
    "link-in": lambda path, _: os.unlink(path),
    "link-out": lambda _, other: os.unlink(other),
    "move-in": os.rename,
    "move-directory-in": os.rename,
    "rename": lambda path, other: os.rename(other, path),
    "rename-directory": lambda path, other: os.rename(other, path),
    "write": restore,
    "append": restore,
    "truncate": restore,
    "unlink": restore,
    "rmdir": lambda path, _: os.mkdir(path),
    "replace": lambda path, other: (os.rename(path, other), restore(path, other)),
}


def attempt(act, path, other, undo):
    path = path.replace("$TMPDIR", os.environ.get("TMPDIR", "/tmp"))
    try:
        ACTS[act](path, other)
    except (OSError, ValueError, subprocess.CalledProcessError) as error:
        return f"{type(error).__name__}: {error}"
    if undo and act in UNDO:
        with contextlib.suppress(OSError):
            UNDO[act](path, other)
    return True


if __name__ == "__main__":
    text = sys.argv[1]
    if text.startswith("@"):
        with open(text[1:], encoding="utf-8") as file:
            text = file.read()
    answers = [attempt(*one) for one in json.loads(text)]
    print(json.dumps(answers))
