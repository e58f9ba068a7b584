#!/usr/bin/python3
"""`cordon explain` and the kernel agree.

Random small trees, random policies and random accesses: what a process inside
really got (reading, writing what exists, creating) is compared with what
`cordon explain` says. CORDON_SEED repeats a run, CORDON_CASES makes it longer.
"""
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile
from concurrent.futures import ThreadPoolExecutor

BIN = os.environ.get("CORDON_BIN", "")
PYTHON = "/usr/bin/python3"
NAMES = [b"a", b"b", b"c d", b"e\nf", b"q'\"", b"\xff\xfe", b".env", b"x.lock", "é".encode(), b"-n",
         b"*", b"[z]", b"a.b", b".hidden", b"\\", b"$x", b"~"]
PATTERNS = [b"**/.env", b"*.lock", b"a/*", b"**/[ab]", b"b/**", b"*", b"?.b", b"**/a/*", b"c*"]
SYSTEM = ["/usr", "/bin", "/lib", "/lib64", "/etc", "/sbin"]

# Inside: one byte of answer for each (act, path).
PROBE = """
import os, sys
def attempt(act, path):
    if act == 'r':
        if os.path.isdir(path): os.listdir(path)
        else: os.read(os.open(path, os.O_RDONLY), 1)
    elif act == 'w': os.open(path, os.O_WRONLY)
    else: os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY)
words = [os.fsencode(w) for w in sys.argv[1:]]
for act, path in zip(words[::2], words[1::2]):
    try: attempt(act.decode(), path); answer = '1'
    except OSError as error: answer = '0'
    os.write(1, answer.encode())
"""


def escaped(path):
    """As a pattern that means this one path."""
    return b"".join(b"[" + bytes([c]) + b"]" if c in b"*?[" else bytes([c]) for c in path)


def make_tree(rng, top):
    """Directories, files and links below top; their paths."""
    folders, files, links = [top], [], []
    os.makedirs(top, exist_ok=True)
    for _ in range(rng.randint(4, 12)):
        path = rng.choice(folders) + b"/" + rng.choice(NAMES)
        if os.path.lexists(path):
            continue
        kind = rng.random()
        if kind < 0.4 and path.count(b"/") - top.count(b"/") < 4:
            os.mkdir(path)
            folders.append(path)
        elif kind < 0.85:
            with open(path, "wb") as file:
                file.write(b"content")
            files.append(path)
        else:
            target = rng.choice(folders + files) if rng.random() < 0.8 else b"nowhere"
            os.symlink(target, path)
            links.append(path)
    return folders, files, links


class Case:
    def __init__(self, rng, top):
        self.top, self.ws = top, top + b"/w"
        self.policy = top + b"/policy.json"
        mine, other = make_tree(rng, self.ws), make_tree(rng, top + b"/o")
        self.nodes = [n for group in zip(mine, other) for part in group for n in part]
        self.folders = mine[0] + other[0]
        self.files = mine[1] + other[1]
        if rng.random() < 0.3:
            os.makedirs(self.ws + b"/.git/hooks", exist_ok=True)
            with open(self.ws + b"/.git/config", "wb") as file:
                file.write(b"[core]\n")
            self.files.append(self.ws + b"/.git/config")
            self.nodes.append(self.ws + b"/.git/config")
        self.flags = []
        self.make_policy(rng)
        self.accesses = self.make_accesses(rng)

    def pick(self, rng, pool):
        if rng.random() < 0.25:
            return rng.choice(PATTERNS)
        return escaped(rng.choice(pool))

    def make_policy(self, rng):
        below = [n for n in self.nodes if n != self.ws] or [self.ws + b"/a"]
        fs = {"temp": "shared", "caches": "none"}
        if rng.random() < 0.5:
            fs["read"] = {"only": ["?" + p for p in SYSTEM] + [os.fsdecode(self.ws)]}
        for _ in range(rng.randint(0, 2)):
            self.flags += [b"--read", escaped(rng.choice(self.nodes))]
        for _ in range(rng.randint(0, 2)):
            self.flags += [b"--deny-read", self.pick(rng, below)]
        for _ in range(rng.randint(0, 2)):
            self.flags += [b"--deny-write", self.pick(rng, below)]
        for _ in range(rng.randint(0, 1)):
            self.flags += [b"--write", escaped(rng.choice(self.nodes))]
        lists = {"allow_read_within_deny": below, "deny_new": below}
        for key, pool in lists.items():
            words = [self.pick(rng, pool) for _ in range(rng.randint(0, 2))]
            if key == "allow_read_within_deny":
                words = [w for w in words if w not in PATTERNS]
            words = [w.decode() for w in words if is_text(w)]
            fs[key] = words
        with open(self.policy, "w") as file:
            json.dump({"version": 1, "preset": "workspace", "fs": fs}, file)

    def make_accesses(self, rng):
        # Reads first and creations last: none changes the answer to another.
        there = [n for n in self.nodes if os.path.exists(n)]
        chosen = [(b"r", rng.choice(there)) for _ in range(4)]
        if self.files:
            chosen += [(b"w", rng.choice(self.files)) for _ in range(3)]
        made = {rng.choice(self.folders) + b"/" + rng.choice(NAMES + [b"new", b".mcp.json", b".bashrc"])
                for _ in range(4)}
        return chosen + [(b"c", path) for path in sorted(made) if not os.path.lexists(path)]

    def command(self, verb, words):
        return [BIN, verb, "--policy", self.policy, "--workspace", self.ws, *self.flags, *words]

    def run(self, verb, words):
        env = {"PATH": "/usr/bin:/bin", "HOME": self.top + b"/home"}
        return subprocess.run(self.command(verb, words), cwd=self.ws, env=env, capture_output=True,
                              stdin=subprocess.DEVNULL, timeout=60, check=False)

    def explained(self, access):
        act, path = access
        return self.run("explain", ["--json", "read" if act == b"r" else "write", path])


def is_text(word):
    try:
        word.decode()
        return b"\n" not in word
    except UnicodeDecodeError:
        return False


def check(seed, pool):
    """(number of accesses, problems) of one case; None if the policy is refused."""
    rng = random.Random(seed)
    top = os.fsencode(tempfile.mkdtemp(prefix="cordon-explain-", dir="/var/tmp"))
    os.chmod(top, 0o755)
    try:
        os.mkdir(top + b"/home")
        case = Case(rng, top)
        words = ["--", PYTHON, "-ISc", PROBE]
        # explain looks at the tree as it is before the run.
        answers = list(pool.map(case.explained, case.accesses))
        done = case.run("run", words + [w for pair in case.accesses for w in pair])
        if done.returncode == 125:
            agreed = all(answer.returncode == 2 for answer in answers)
            return 0, [] if agreed else [f"seed {seed}: run refuses, explain answers: {done.stderr}"]
        if len(done.stdout) != len(case.accesses):
            return 0, [f"seed {seed}: the probe did not run: {done}"]
        problems = []
        for access, answer, got in zip(case.accesses, answers, done.stdout.decode()):
            said = {0: "1", 1: "0"}.get(answer.returncode)
            if said != got:
                problems.append(f"seed {seed}: {access}: explain says {answer.stdout.decode()}"
                                f"{answer.stderr.decode()} inside: {got}\n  {case.flags}\n  "
                                + open(case.policy).read())
        return len(case.accesses), problems
    finally:
        shutil.rmtree(top, ignore_errors=True)


def main():
    if not os.path.exists(BIN):
        print("no CORDON_BIN")
        sys.exit(77 if os.environ.get("CORDON_TESTS_MUST_RUN") != "1" else 1)
    first = int(os.environ.get("CORDON_SEED") or random.randrange(10**6))
    cases = int(os.environ.get("CORDON_CASES") or 30)
    print(f"CORDON_SEED={first}")
    accesses, problems, number = 0, [], 0
    with ThreadPoolExecutor(2) as pool:
        while number < cases or (accesses < 5 * cases and number < 3 * cases):
            count, found = check(first + number, pool)
            accesses, number = accesses + count, number + 1
            problems += found
    print("\n".join(problems))
    print(f"{number} policies, {accesses} accesses, {len(problems)} disagreements")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
