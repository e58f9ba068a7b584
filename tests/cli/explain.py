#!/usr/bin/python3
"""`cordon explain` against CORDON_BIN: its words, its exit status, and that the
kernel gives a command inside the same answer."""
import json
import os
import shutil
import subprocess
import sys
import tempfile

BIN = os.path.abspath(os.environ["CORDON_BIN"])


def cordon(*words, cwd):
    return subprocess.run([BIN, *words], cwd=cwd, capture_output=True, text=True, timeout=60,
                          check=False, stdin=subprocess.DEVNULL)


def make_tree(top):
    """A workspace that is a repository, and a neighbour that it may only read."""
    work, beside = top + "/ws", top + "/beside"
    for folder in (work, beside, work + "/denied", work + "/sub"):
        os.makedirs(folder)
    subprocess.run(["git", "init", "-q", work], check=True)
    for path in ("/ws/a", "/ws/denied/x", "/ws/denied/y", "/beside/b"):
        with open(top + path, "w", encoding="utf-8") as file:
            file.write("x\n")
    with open(work + "/tool", "w", encoding="utf-8") as file:
        file.write("#!/bin/sh\n")
    os.chmod(work + "/tool", 0o755)
    os.symlink("../beside/b", work + "/to-b")
    os.symlink("../beside/new", work + "/dangling")
    os.symlink("sub/fresh", work + "/inside")
    with open(top + "/policy.toml", "w", encoding="utf-8") as file:
        file.write('version = 1\n[fs]\nread = ["../beside"]\ndeny_read = ["denied"]\n'
                   'allow_read_within_deny = ["denied/y"]\ndeny_new = ["*.key"]\n')
    return work


QUESTIONS = [
    ("read", "a", True), ("write", "a", True), ("write", "sub/new/deep", True),
    ("read", "/etc/passwd", True), ("write", "/etc/passwd", False),
    ("read", "to-b", True), ("write", "to-b", False), ("write", "dangling", False),
    ("write", "inside", True), ("read", "denied", False), ("read", "denied/x", False),
    ("read", "denied/y", True), ("write", "denied/y", False), ("write", "sub/my.key", False),
    ("write", ".git/hooks/post-commit", False), ("write", ".git/config", False),
    ("read", ".git/config", True), ("write", ".mcp.json", False), ("write", "sub/.mcp.json", True),
    ("exec", "tool", True), ("exec", "a", False), ("exec", "/bin/sh", True),
    ("exec", "/bin", False), ("write", "/tmp/x", True), ("write", "/dev/null", True),
    ("read", "/proc/self/status", True), ("write", "/proc/self/oom_score_adj", False),
    ("read", "/dev/mem", False), ("read", "../policy.toml", False), ("read", "..", True),
]

# What the question comes to inside, with status 0 if it can be done.
ACTS = {"read": 'if [ -d "$1" ]; then ls "$1"; else cat "$1"; fi',
        "write": 'mkdir -p "$(dirname "$1")" && echo x >> "$1"', "exec": '"$1" </dev/null'}


def inside(work, act, path):
    done = cordon("run", "--policy", "../policy.toml", "--", "sh", "-c",
                  f"{{ {ACTS[act]}; }} >/dev/null 2>&1", "sh",
                  path if path.startswith("/") else "./" + path, cwd=work)
    assert done.returncode != 125, done.stderr
    return done.returncode == 0


def check_questions(work):
    for act, path, allowed in QUESTIONS:
        told = cordon("explain", "--policy", "../policy.toml", "--json", act, path, cwd=work)
        assert told.returncode == (0 if allowed else 1), (act, path, told)
        answer = json.loads(told.stdout)
        assert answer["allowed"] is allowed and answer["rule"], (act, path, answer)
        assert inside(work, act, path) is allowed, (act, path, "the kernel says otherwise", answer)


def check_words(work):
    told = cordon("explain", "--policy", "../policy.toml", "read", "denied/x", cwd=work)
    top = os.path.realpath(os.path.dirname(work))
    assert told.returncode == 1, told
    assert told.stdout.splitlines() == [
        f"denied: read {top}/ws/denied/x",
        "  rule  fs.deny_read ../policy.toml:4",
        f"  why   {top}/ws/denied is not readable",
        f'  hint  fs.allow_read_within_deny = ["{top}/ws/denied/x"] would allow it',
    ], told.stdout
    answer = json.loads(cordon("explain", "--policy", "../policy.toml", "--json", "read",
                               "denied/x", cwd=work).stdout)
    assert (answer["source"], answer["line"]) == ("../policy.toml", 4), answer


def check_permissions(work):
    """What the policy allows and the file's own mode does not."""
    os.chmod(work + "/a", 0o400)
    told = cordon("explain", "write", "a", cwd=work)
    os.chmod(work + "/a", 0o644)
    assert told.returncode == 1 and "file permissions" in told.stdout, told


CONNECTS = [
    ("allowed.test", True), ("ALLOWED.test.:80", True), ("allowed.test:22", False),
    ("a.wild.test:443", True), ("wild.test", False), ("no.wild.test", False),
    ("evil.test", False), ("codeberg.org:22", True), ("10.0.0.5:5432", True),
    ("10.0.0.6:5432", False), ("169.254.169.254:80", False), ("127.1", False),
    ("0x7f000001:443", False), ("localhost:80", False), ("[::1]:80", False), ("a..test", False),
]


def check_connects(work):
    """By name and before resolution; the rule has its file and line."""
    with open(work + "/../net.toml", "w", encoding="utf-8") as file:
        file.write('version = 1\n[net]\nmode = "proxy"\n'
                   'allow = { only = ["allowed.test", "*.wild.test", "@codeberg", "10.0.0.5:5432"] }\n'
                   'deny = ["no.wild.test"]\n')
    for target, allowed in CONNECTS:
        told = cordon("explain", "--policy", "../net.toml", "--json", "connect", target, cwd=work)
        assert told.returncode == (0 if allowed else 1), (target, told)
        answer = json.loads(told.stdout)
        assert answer["allowed"] is allowed and answer["rule"], (target, answer)
    told = cordon("explain", "--policy", "../net.toml", "connect", "no.wild.test", cwd=work)
    assert told.stdout.splitlines() == [
        "denied: connect no.wild.test:443", "  rule  net.deny no.wild.test (../net.toml:5)",
    ], told.stdout
    told = cordon("explain", "--policy", "../net.toml", "connect", "evil.test:22", cwd=work)
    assert told.stdout.splitlines() == [
        "denied: connect evil.test:22", '  rule  net.mode = "proxy" ../net.toml:3',
        "  why   no rule allows it", '  hint  net.allow = ["evil.test:22"] would allow it',
    ], told.stdout
    answer = json.loads(cordon("explain", "--policy", "../net.toml", "--json", "connect",
                               "git.codeberg.org:22", cwd=work).stdout)
    assert (answer["source"], answer["line"]) == ("../net.toml", 4), answer
    assert cordon("explain", "connect", "allowed.test", cwd=work).returncode == 1
    assert cordon("explain", "--preset", "public-net", "connect", "a.test", cwd=work).returncode == 0


def check_errors(work):
    for words, reason in ((("--net", "proxy", "--allow-domain", "*.com", "connect", "a.com"),
                           "policy_bad_value"),
                          (("command", "ls; rm x"), "unsupported"),
                          (("reed", "a"), "usage"),
                          (("--preset", "none-such", "read", "a"), "policy_bad_value"),
                          (("--write", "/no/such", "read", "a"), "policy_path_missing")):
        told = cordon("explain", "--json", *words, cwd=work)
        assert told.returncode == 2, (words, told)
        assert json.loads(told.stdout)["error"]["reason"] == reason, (words, told.stdout)
    assert cordon("explain", "read", cwd=work).returncode == 2
    assert cordon("explain", "read", "a", cwd="/").returncode == 2  # "/" as the workspace


def main():
    top = tempfile.mkdtemp(prefix="cordon-explain-", dir="/var/tmp")
    try:
        os.chmod(top, 0o755)
        work = make_tree(top)
        for check in (check_words, check_errors, check_permissions, check_connects,
                      check_questions):
            check(work)
    finally:
        shutil.rmtree(top, ignore_errors=True)
    print(f"explain: {len(QUESTIONS)} answers, and the kernel agrees")
    return 0


if __name__ == "__main__":
    sys.exit(main())
