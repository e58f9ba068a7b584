#!/usr/bin/python3
"""`cordon plan` against CORDON_BIN: it shows what would be done, tells no secret
and makes nothing on the host."""
import json
import os
import shutil
import subprocess
import sys
import tempfile

BIN = os.path.abspath(os.environ["CORDON_BIN"])
SECRET = "hunter2-do-not-print"


def plan(*words, cwd, home):
    env = os.environ | {"HOME": home, "API_TOKEN": SECRET, "LD_PRELOAD": ""}
    return subprocess.run([BIN, "plan", *words], cwd=cwd, env=env, capture_output=True, text=True,
                          timeout=60, check=False, stdin=subprocess.DEVNULL)


def everything_below(top):
    return sorted((folder, tuple(sorted(folders)), tuple(sorted(files)))
                  for folder, folders, files in os.walk(top))


def check_text(work, home):
    told = plan("--env", "API_TOKEN", "--env", "CI=yes", "--timeout", "5m", "--", "make", "test",
                cwd=work, home=home)
    assert told.returncode == 0, told
    lines = told.stdout.splitlines()
    assert "  command    make test" in lines and "  network    proxy" in lines, told.stdout
    assert "  set      CI=yes" in lines and "  wall           5m" in lines, told.stdout
    assert any(line.startswith("  passed") and "API_TOKEN" in line for line in lines), told.stdout
    assert "LD_PRELOAD" in told.stdout.split("dropped", 1)[1], told.stdout
    names = told.stdout.split("names that may not come into being\n")[1].split("\n\n")[0]
    assert len(names.splitlines()) <= 4, names


def check_json(work, home):
    told = plan("--env", "API_TOKEN", "--json", "--steps", "--", "make", cwd=work, home=home)
    shown = json.loads(told.stdout)
    assert shown["command"] == ["make"] and shown["workspace"] == os.path.realpath(work), shown
    regions = {region["path"]: region for region in shown["regions"]}
    assert regions[shown["workspace"]]["rights"] == "read-write", regions
    assert regions[shown["workspace"] + "/.git/hooks"]["rights"] == "read-only", regions
    assert any(n["path"].endswith("/.mcp.json") for n in shown["protected_names"])
    assert shown["enforcement"]["fs.write"]["level"] == "full", shown["enforcement"]
    assert shown["steps"][-1] == "start init" and "seccomp" in shown["steps"], shown["steps"]
    assert shown["uid"] != 0, "a run by root is not one as root"


def check_no_secret(work, home):
    for words in ((), ("--json",), ("--steps",), ("--json", "--steps")):
        told = plan("--env", "API_TOKEN", *words, "--", "true", cwd=work, home=home)
        assert told.returncode == 0 and "API_TOKEN" in told.stdout, told
        assert SECRET not in told.stdout + told.stderr, words


def check_refused(work, home):
    for words in (("--read", "/no/such", "--", "true"), ("--",), ("--preset", "none-such", "--", "x")):
        told = plan(*words, cwd=work, home=home)
        assert told.returncode == 125 and told.stderr.startswith("cordon: "), told


def main():
    top = tempfile.mkdtemp(prefix="cordon-plan-")
    try:
        os.chmod(top, 0o755)
        work, home = top + "/work", top + "/home"
        os.makedirs(work)
        os.makedirs(home + "/.cache")
        subprocess.run(["git", "init", "-q", work], check=True)
        before = everything_below(top)
        for check in (check_text, check_json, check_no_secret, check_refused):
            check(work, home)
        assert everything_below(top) == before, "something was made on the host"
    finally:
        shutil.rmtree(top, ignore_errors=True)
    print("plan: it shows the run, no secret, and makes nothing")
    return 0


if __name__ == "__main__":
    sys.exit(main())
