"""The cases: read from cases/*.toml, expanded, set up on the host, judged after.

A file holds groups. A group has a policy and what is there before; its tables
are acts times paths, each pair a case with the verdict that it must have on
every tier. `differs.TIER` documents another verdict there, `refused.TIER` that
the tier refuses the policy, by a word of its message.

Paths: {ws} the workspace, {ro} a read-only root, {out} and {home} what no rule
names unless the group does, {tmpdir} the command's TMPDIR, {id} a name that nothing
else has, {listener} and {other} ports of the host.
"""

import contextlib
import dataclasses
import json
import os
import pathlib
import shutil
import socket
import stat
import subprocess
import tempfile
import threading
import tomllib

from probe import CHANGED, CONTENT, GREETING

HERE = pathlib.Path(__file__).resolve().parent
NOBODY = 65534
SYSTEM = ["/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/etc"]
MARKER = "cordon-conformance-victim"

FILE_ACTS = {"read", "write", "append", "truncate", "chmod", "utime", "unlink", "rename", "exec",
             "replace", "link-out", "list-parent", "create-beside"}
DIRECTORY_ACTS = {"list", "rmdir", "rename-directory"}
CHANGING = {"write", "append", "truncate", "chmod", "utime", "unlink", "rename", "rmdir", "replace",
            "create", "mkdir", "symlink", "mkfifo", "move-in", "link-in", "move-directory-in",
            "rename-directory", "create-beside", "link-out"}


@dataclasses.dataclass
class Case:
    group: str
    act: str
    path: str            # with the group's words filled in once the fixture stands
    expect: str          # "allow" or "deny"
    requirement: str
    make: str            # "file", "directory" or "none"
    spare: str
    host: str            # "judge", "untouched" or "any"
    differs: dict
    control: bool        # whether it can be done without a sandbox
    number: int = 0
    other: str = ""

    @property
    def name(self):
        return f"{self.group}: {self.act} {self.path!r}"


@dataclasses.dataclass
class Group:
    name: str
    why: str
    policy: dict
    directories: list
    files: list
    links: dict
    sockets: list
    refused: dict
    cases: list


def default_make(act):
    return "file" if act in FILE_ACTS else "directory" if act in DIRECTORY_ACTS else "none"


def expected(table, act_index, path_index):
    expect = table["expect"]
    if isinstance(expect, str):
        return expect
    return expect[path_index if table.get("by") == "path" else act_index]


def table_cases(group, table):
    for act_index, act in enumerate(table["acts"]):
        for path_index, path in enumerate(table["paths"]):
            expect = expected(table, act_index, path_index)
            # Acts that succeed must not be in each other's way.
            if expect == "allow" and act in CHANGING and table.get("unique", True):
                path = f"{path}-{act}"
            yield Case(group, act, path, expect, table["requirement"],
                       table.get("make", default_make(act)),
                       table.get("spare", "{ws}"), table.get("host", "judge"),
                       table.get("differs", {}), table.get("control", True))


def load():
    groups, number = [], 0
    for file in sorted((HERE / "cases").glob("*.toml")):
        for item in tomllib.loads(file.read_text())["group"]:
            cases = [case for table in item["table"] for case in table_cases(item["name"], table)]
            for case in cases:
                number += 1
                case.number = number
            groups.append(Group(item["name"], item["why"], item["policy"],
                                item.get("directories", []), item.get("files", []),
                                item.get("links", {}), item.get("sockets", []),
                                item.get("refused", {}), cases))
    return groups


def greet(listener):
    while True:
        try:
            connection, _ = listener.accept()
        except OSError:
            return
        with connection:
            with contextlib.suppress(OSError):
                connection.sendall(GREETING)


class Fixture:
    """A fresh tree for one group, and the host's servers and a process."""

    def __init__(self, group, tmpdir="/tmp"):
        self.group, self.tmpdir = group, tmpdir
        self.closers = []

    def __enter__(self):
        self.base = pathlib.Path(tempfile.mkdtemp(prefix="cordon-conf-")).resolve()
        os.chmod(self.base, 0o755)
        self.words = {name: str(self.base / name) for name in ("ws", "ro", "out", "home")}
        for path in self.words.values():
            os.mkdir(path)
        self.words |= {"tmpdir": self.tmpdir, "id": self.base.name}
        for name in ("listener", "other"):
            listener = socket.create_server(("127.0.0.1", 0))
            self.serve(listener)
            self.words[name] = str(listener.getsockname()[1])
        # Its name is to be found in its arguments.
        user = {"user": NOBODY, "group": NOBODY, "extra_groups": []} if os.geteuid() == 0 else {}
        self.victim = subprocess.Popen(["/usr/bin/python3", "-c", "import time; time.sleep(600)",
                                        MARKER], **user)
        self.cases = [self.place(case) for case in self.group.cases]
        self.build()
        return self

    def __exit__(self, *_):
        self.victim.kill()
        self.victim.wait()
        for close in self.closers:
            close()
        for root, directories, _ in os.walk(self.base):
            for name in directories:
                path = os.path.join(root, name)
                if not os.path.islink(path):
                    os.chmod(path, 0o700)
        shutil.rmtree(self.base)

    def serve(self, listener):
        threading.Thread(target=greet, args=(listener,), daemon=True).start()
        self.closers.append(listener.close)

    def fill(self, text):
        for name, value in self.words.items():
            text = text.replace("{" + name + "}", value)
        return text

    def place(self, case):
        case = dataclasses.replace(case)
        case.path = self.fill(case.path)
        spare = self.fill(case.spare)
        if case.act in ("tcp",):
            case.path = self.words[case.path]
        elif case.path == "victim":
            case.path = str(self.victim.pid)
        if case.act in ("rename", "rename-directory"):
            case.other = f"{case.path}.moved"
        elif case.act == "create-beside":
            case.other = f"{case.path}.beside"
        elif case.act == "link-out":
            case.other = f"{spare}/linked-{case.number}"
        elif case.act in ("replace", "move-in", "link-in", "move-directory-in"):
            case.other = f"{spare}/spare-{case.number}"
        elif case.act == "see":
            case.other = MARKER if case.path != "self" else "python"
        return case

    def write(self, path):
        os.makedirs(os.path.dirname(path), exist_ok=True)
        if not os.path.lexists(path):
            pathlib.Path(path).write_bytes(CONTENT)

    def make(self, case):
        if case.make == "file":
            self.write(case.path)
        elif case.make == "directory":
            os.makedirs(case.path, exist_ok=True)
            if case.act == "list":
                self.write(case.path + "/inside")
        elif case.path.startswith(str(self.base)):
            os.makedirs(os.path.dirname(case.path), exist_ok=True)
        if case.act in ("replace", "move-in", "link-in"):
            self.write(case.other)
        elif case.act == "move-directory-in":
            self.write(case.other + "/commands/x")

    def build(self):
        for path in self.group.directories:
            os.makedirs(self.fill(path), exist_ok=True)
        for path in self.group.files:
            self.write(self.fill(path))
        for path, target in self.group.links.items():
            os.symlink(self.fill(target), self.fill(path))
        for path in self.group.sockets:
            server = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
            server.bind(self.fill(path))
            server.listen(8)
            self.serve(server)
        for case in self.cases:
            self.make(case)
        # The host's own permissions deny nothing here.
        for root, directories, files in os.walk(self.base):
            for name in directories + files:
                path = os.path.join(root, name)
                if not os.path.islink(path):
                    os.chmod(path, 0o777)
                if os.geteuid() == 0:
                    os.lchown(path, NOBODY, NOBODY)

    def policy(self):
        """The whole policy as Cordon reads it: nothing comes from a default preset."""
        def filled(value):
            if isinstance(value, str):
                text = self.fill(value)
                return int(text) if value in ("{listener}", "{other}") else text
            if isinstance(value, list):
                return [filled(item) for item in value]
            if isinstance(value, dict):
                return {key: filled(item) for key, item in value.items()}
            return value

        policy = {"version": 1, **filled(self.group.policy)}
        if "preset" in policy:
            return policy
        fs = {"read": [], "write": [], "deny_read": [], "allow_read_within_deny": [], **policy["fs"]}
        fs["read"] = [entry for root in fs["read"]
                      for entry in ([f"?{path}" for path in SYSTEM] if root == "@system" else [root])]
        for key in ("read", "write", "deny_read", "allow_read_within_deny"):
            fs[key] = {"only": fs[key]}
        policy["fs"] = {"caches": "none", **fs}
        policy["net"] = {"mode": "none", "allow": {"only": []}, **policy.get("net", {})}
        return policy

    def policy_file(self):
        path = self.base / "policy.json"
        path.write_text(json.dumps(self.policy()))
        os.chmod(path, 0o644)
        return str(path)

    def environment(self):
        return dict(os.environ, HOME=self.words["home"], CONF_PASSED="passed", CONF_SECRET="secret",
                    LD_LIBRARY_PATH="/x", BASH_ENV="/x", GIT_SSH_COMMAND="x", SSH_AUTH_SOCK="/x")

    def acts(self):
        return json.dumps([[case.act, case.path, case.other, case.expect == "deny"]
                           for case in self.cases])

    # --- what the host sees afterwards ---------------------------------------

    def evidence(self, case):
        """Whether the host's files say that the act was done; None: they cannot tell."""
        if case.host == "any" or case.act not in CHANGING:
            return None
        path, other = case.path, case.other
        there = os.path.lexists(path)
        if case.act in ("write", "append"):
            return there and CHANGED in pathlib.Path(path).read_bytes()
        if case.act == "truncate":
            return there and pathlib.Path(path).read_bytes() == b""
        if case.act == "chmod":
            return there and stat.S_IMODE(os.stat(path).st_mode) == 0o640
        if case.act == "utime":
            return there and os.stat(path).st_mtime == 1
        if case.act in ("unlink", "rmdir"):
            return not there
        if case.act in ("rename", "rename-directory", "create-beside", "link-out"):
            return os.path.lexists(other)
        if case.act in ("replace", "move-in", "move-directory-in"):
            return not os.path.lexists(other)
        kinds = {"create": stat.S_ISREG, "mkdir": stat.S_ISDIR, "symlink": stat.S_ISLNK,
                 "mkfifo": stat.S_ISFIFO, "link-in": stat.S_ISREG}
        return there and kinds[case.act](os.lstat(path).st_mode)
