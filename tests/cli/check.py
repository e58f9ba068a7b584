#!/usr/bin/python3
"""`cordon check` against CORDON_BIN: each guard alone, by a policy, from stdin, and the
public vectors in tests/data/guard."""
import json
import os
import random
import shutil
import subprocess
import sys
import tempfile

BIN = os.path.abspath(os.environ["CORDON_BIN"])
DATA = os.path.join(os.environ["CORDON_SOURCE_DIR"], "tests", "data", "guard")

ALLOWED = ["https://example.com/", "http://EXAMPLE.com.:80/x?y#z", "https://1.1.1.1/",
           "https://[2606:4700:4700::1111]/", "https://example.com/?u=http://127.0.0.1/",
           "https://example.com/a@b", "https://xn--bcher-kva.example/", "http://1.2.3.4.a.test/"]
DENIED = ["", "   ", "example.com", "file:///etc/passwd", "ftp://example.com/", "http:/127.0.0.1/",
          "http://user@example.com/", "http://example.com\\@127.0.0.1/", "http://127.0.0.1#@a.test/",
          "http://127.0.0.1/", "http://127.1/", "http://2130706433/", "http://0x7f.1/",
          "http://0177.0.0.1/", "http://127.0.0.1./", "http://localhost/", "http://x.localhost/",
          "http://[::1]/", "http://[::ffff:7f00:1]/", "http://[64:ff9b::a9fe:a9fe]/",
          "http://169.254.169.254/latest", "http://metadata.google.internal/", "http://metadata/",
          "http://kubernetes.default.svc/", "http://10.0.0.1/", "http://1.2.3.4.5/",
          "http://example.com:0/", "http://%31%32%37.0.0.1/", "http://ⓛocalhost/"]


def cordon(*words, cwd, stdin=""):
    return subprocess.run([BIN, "check", *words], cwd=cwd, capture_output=True, text=True,
                          timeout=60, check=False, input=stdin)


def check_values(cwd):
    for values, verdict, status in ((ALLOWED, "allow", 0), (DENIED, "deny", 1)):
        for value in values:
            told = cordon("--json", "url", "--", value, cwd=cwd)
            assert told.returncode == status, (value, told)
            answer = json.loads(told.stdout)
            assert answer["value"] == value and answer["verdict"] == verdict, answer
            assert bool(answer["reason"]) == (verdict == "deny"), answer


def check_lines(cwd):
    told = cordon("url", "-", cwd=cwd, stdin="\n".join(ALLOWED + DENIED) + "\nhttp://a\0.test/\n")
    answers = [json.loads(line) for line in told.stdout.splitlines()]
    assert told.returncode == 1 and len(answers) == len(ALLOWED) + len(DENIED) + 1, told
    assert [a["verdict"] for a in answers[:len(ALLOWED)]] == ["allow"] * len(ALLOWED), answers
    assert {a["verdict"] for a in answers[len(ALLOWED):]} == {"deny"}, answers
    assert cordon("url", "-", cwd=cwd, stdin="\n".join(ALLOWED)).returncode == 0


def check_policy(cwd):
    by_name = ["--net", "proxy", "--allow-domain", "*.wild.test", "--deny-domain", "b.wild.test"]
    for flags, value, status in ((by_name, "http://a.wild.test/", 0),
                                 (by_name, "http://b.wild.test/", 1),
                                 (by_name, "http://wild.test/", 1),
                                 (by_name, "http://a.wild.test:8080/", 1),
                                 (by_name, "https://example.com/", 1),
                                 (["--net", "none"], "https://example.com/", 1),
                                 (["--preset", "public-net"], "https://example.com/", 0),
                                 (["--preset", "public-net"], "http://10.0.0.1/", 1)):
        told = cordon(*flags, "url", value, cwd=cwd)
        assert told.returncode == status, (flags, value, told)


def verdicts(values, *words, cwd):
    """What `check … -` answers, by NUL, as the values may hold newlines."""
    data = "".join(value.replace("\0", "\n") + "\0" for value in values)
    told = subprocess.run([BIN, "check", "--null", *words, "-"], cwd=cwd, capture_output=True, text=True,
                          timeout=120, check=False, input=data)
    answers = [json.loads(line) for line in told.stdout.splitlines()]
    assert len(answers) == len(values) and told.returncode in (0, 1), told
    return answers


def vectors(name):
    with open(os.path.join(DATA, name), encoding="utf-8") as file:
        return json.load(file)


def check_url_vectors(cwd):
    table = vectors("ssrf.json")
    for vector, answer in zip(table, verdicts([v["url"] for v in table], "url", cwd=cwd)):
        assert answer["verdict"] == vector["expect"], (vector, answer)


def path_tree(top):
    """The fixture that the vectors of path_guard.json speak of, at TOP/w/ws."""
    root = os.path.join(top, "w", "ws")
    os.makedirs(os.path.join(root, "dir"))
    os.makedirs(os.path.join(top, "w", "ws-evil"))
    os.makedirs(os.path.join(top, "w", "outside"))
    for target, name in (("../outside", "link_out"), ("/etc", "link_abs"), ("..", "dir/link_up"),
                         ("link_out", "link_chain"), ("/proc/self/root", "link_proc"), ("/.", "link_rootdot"),
                         ("loop2", "loop1"), ("loop1", "loop2"), ("dir", "link_in")):
        os.symlink(target, os.path.join(root, name))
    return root


def check_path_vectors(cwd):
    root = path_tree(cwd)
    table = vectors("path_guard.json")
    paths = [cwd + v["path"] if v["path"].startswith("/w") else v["path"] for v in table]
    plain = [(v, p) for v, p in zip(table, paths) if "\0" not in p and "\n" not in p]
    for words, where in ((["path"], root), (["--workspace", root, "path"], cwd), (["--root", root, "path"], cwd)):
        for (vector, _), answer in zip(plain, verdicts([p for _, p in plain], *words, cwd=where)):
            wanted = "deny" if vector["expect"] == "reject" else "allow"
            assert answer["verdict"] == wanted, (vector, answer)
    held = [p for p in paths if "\0" in p]
    told = cordon("path", "-", cwd=root, stdin="".join(p + "\n" for p in held))
    assert [json.loads(line)["reason"] for line in told.stdout.splitlines()] == ["path_invalid"] * len(held), told
    for value, status in (("-rf", 0), ("--help", 0), ("", 1), ("link_in/new/x", 0)):
        assert cordon("path", "--", value, cwd=root).returncode == status, value
    shutil.rmtree(os.path.join(cwd, "w"))


def check_paths(cwd):
    agent = os.path.join(cwd, "agent")
    os.makedirs(os.path.join(agent, "data"))
    at_root = ["--root", "/", "--data-dir", agent, "--config", cwd + "/other.toml", "path"]
    for flags, value, status in ((at_root, "/etc/passwd", 0), (["--to-write", *at_root], "/etc/passwd", 1),
                                 (at_root, agent + "/data/x", 1), (at_root, agent + "/config.toml", 1),
                                 (at_root, agent + "/workspace/x", 0), (at_root, cwd + "/other.toml", 1),
                                 (at_root, agent + "/Data/x", 0), (["--ignore-case", *at_root], agent + "/Data/x", 1),
                                 (["--to-write", *at_root], "/binaries/x", 0),
                                 (["--to-write", "path"], "soul.md", 1), (["path"], "soul.md", 0),
                                 (["--to-write", "--identity", "A.md", "path"], "soul.md", 0),
                                 (["--to-write", "--identity", "A.md", "path"], "a.MD", 1)):
        told = cordon("--json", *flags, value, cwd=cwd)
        assert told.returncode == status, (flags, value, told)
        assert set(json.loads(told.stdout)) == {"value", "verdict", "reason", "detail", "path", "hard_linked"}, told


def check_env(cwd):
    for flags, value, reason in (([], "FOO", ""), ([], "FOO=a=b", ""), ([], "PATH=/x", "variable_denied"),
                                 ([], "LD_PRELOAD", "variable_denied"), ([], "API_KEY=x", "variable_denied"),
                                 ([], "A B=x", "variable_invalid"), ([], "=x", "variable_invalid"),
                                 ([], "GIT_CONFIG_COUNT=1", "variable_denied"),
                                 (["--tool", "aws"], "AWS_SHARED_CREDENTIALS_FILE=/x", ""),
                                 (["--tool", "cargo"], "RUSTC_WRAPPER=x", "variable_denied")):
        told = cordon("--json", *flags, "env", "--", value, cwd=cwd)
        assert json.loads(told.stdout)["reason"] == reason, (value, told)
        assert told.returncode == (1 if reason else 0), told


def check_command(cwd):
    for flags, value, effect, status in (([], "ls -l | wc", "read-only", 0), ([], "touch x", "local-change", 1),
                                         (["--up-to", "local-change"], "touch x", "local-change", 0),
                                         (["--up-to", "local-change"], "curl x", "remote", 1),
                                         (["--up-to", "remote"], "curl x | sh", "unknown", 1),
                                         (["--up-to", "remote"], "rm x", "destructive", 1),
                                         ([], "ls\nrm x", "destructive", 1), ([], "echo 'a", "unknown", 1)):
        told = cordon("--json", *flags, "command", "--", value, cwd=cwd)
        assert json.loads(told.stdout)["effect"] == effect and told.returncode == status, (value, told)
    told = json.loads(cordon("--json", "command", "ls a; rm b", cwd=cwd).stdout)
    assert [c["command"] for c in told["commands"]] == ["ls a", "rm b"] and not told["simple"], told
    with open(os.path.join(cwd, "p.toml"), "w", encoding="utf-8") as file:
        file.write('version = 1\n[exec]\nexcluded = ["docker"]\n')
    policy = ["--workspace", "/usr/share", "--policy", os.path.join(cwd, "p.toml")]
    for value, excluded in (("docker ps", True), ("docker ps; ls", False), ("./docker ps", False)):
        told = cordon("--json", *policy, "command", value, cwd=cwd)
        assert json.loads(told.stdout)["excluded"] == excluded, told


PIECES = ["q1", "q2", "q3", "q4", "q5", " ", " ", " ", "'", '"', "$(", ")", "`", "\\", "\n", ";", "|", "&", "<<E",
          "<<'E'", "\nE\n", "E", "${x:-", "${x", "}", "{ ", "; }", "if ", "; then ", "; fi", "case x in x) ",
          ";; esac", "$'", "#", "[[ ", " ]]", "x=", "(", "<(", ">f ", "2>&1", "&& ", "|| ", "for i in a; do ",
          "; done", "\\\n", '"$(', '")', "q6() { ", "$x", "<<<", '"${x:-', '}"', "\\`", '\\"', "! ", "{a,b}"]
LINES = ['q1 "$(q2)" `q3`', "q1 <<E\n$(q2)\nE\nq3", "if q1; then q2; fi", "case x in x) q1;; esac",
         "x=$(q1) q2", "{ q1; q2; } >f", "(q1;q2)", "for i in a; do q1; done", "q1 ${x:-$(q2)}",
         "q6() { q1; }; q6", "q1 <(q2)", "q1 <<E; q2\n`q3`\nE\nq4", "[[ a = a ]] && q1", "q1 \\\n q2; q3"]


def mutated(dice):
    line = dice.choice(LINES)
    for _ in range(dice.randint(0, 4)):
        at = dice.randint(0, len(line))
        cut = dice.choice((0, 0, 1, 2))
        line = line[:at] + dice.choice(PIECES + [""]) + line[at + cut:]
    return line


def check_against_bash(cwd):
    """Whatever bash runs of a line that was read is among its commands, or one is not told."""
    bash = shutil.which("bash")
    if not bash:
        print("skipped: bash is missing")
        return
    dice = random.Random(7)
    lines = [mutated(dice) for _ in range(400)]
    env = {"PATH": "/nonexistent", "BASH_FUNC_command_not_found_handle%%": '() { printf "%s\\0" "$1" >> "$RAN"; }'}
    ran = 0
    for number, (line, answer) in enumerate(zip(lines, verdicts(lines, "command", cwd=cwd))):
        names = {command["name"] for command in answer["commands"]}
        expands = any(not c["name"] and c["command"] for c in answer["commands"])
        if not names or expands:
            continue
        log = os.path.join(cwd, f"ran{number}")
        subprocess.run([bash, "-c", line], cwd=cwd, env={**env, "RAN": log}, stdin=subprocess.DEVNULL, text=True,
                       stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, timeout=60, check=False)
        if not os.path.exists(log):
            continue
        with open(log, encoding="utf-8", errors="replace") as file:
            called = {name for name in file.read().split("\0") if name in ("q1", "q2", "q3", "q4", "q5")}
        ran += len(called)
        assert called <= names, (line, called - names, answer)
    assert ran > 200, ran


def check_errors(cwd):
    for words in (["url"], ["nothing", "x"], ["--up-to", "all", "command", "ls"],
                  ["--root", "relative", "path", "x"],
                  ["--net", "proxy", "--allow-domain", "*.com", "url", "http://a.com/"]):
        told = cordon(*words, cwd=cwd)
        assert told.returncode == 2 and told.stderr, (words, told)


def main():
    with tempfile.TemporaryDirectory(prefix="cordon-check-", dir="/var/tmp") as cwd:
        for check in (check_values, check_lines, check_policy, check_url_vectors, check_path_vectors,
                      check_paths, check_env, check_command, check_against_bash, check_errors):
            check(cwd)
    print(f"check: {len(ALLOWED)} allowed, {len(DENIED)} denied")
    return 0


if __name__ == "__main__":
    sys.exit(main())
