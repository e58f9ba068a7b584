#!/usr/bin/python3
"""`cordon doctor` against CORDON_BIN: its verdict is what a run finds, and where
user namespaces are off both name the cause."""
import json
import os
import shutil
import subprocess
import sys
import tempfile

BIN = os.path.abspath(os.environ["CORDON_BIN"])
FEATURES = ("fs.read fs.write fs.floor net unix ipc pid seccomp env tty limits.cpu limits.memory "
            "limits.processes limits.files limits.disk").split()


def call(*words, cwd):
    return subprocess.run(words, cwd=cwd, capture_output=True, text=True, timeout=60, check=False,
                          stdin=subprocess.DEVNULL)


def check_report(work):
    told = call(BIN, "doctor", "--json", cwd=work)
    report = json.loads(told.stdout)
    assert list(report["features"]) == FEATURES, list(report["features"])
    assert told.returncode == (0 if report["full"] else 1), told
    for item in report["mechanisms"]:
        assert item["detail"], item
        assert item["available"] or item["remedy"] or item["detail"].startswith("needs "), item
    text = call(BIN, "doctor", cwd=work)
    assert text.returncode == told.returncode and "\x1b" not in text.stdout, text
    assert all(item["name"] in text.stdout for item in report["mechanisms"]), text.stdout
    return report


def check_against_run(work, report):
    """What doctor says of the default preset is what its run records."""
    done = call(BIN, "run", "--json", "--", "true", cwd=work)
    if not report["full"]:
        return
    outcome = json.loads(done.stdout)
    assert done.returncode == 0, done
    for feature in FEATURES:
        if not feature.startswith("limits."):
            level = report["features"][feature]["level"]
            assert outcome["enforcement"][feature]["level"] == level, (feature, outcome)


def check_nested(work, report):
    """Inside a Cordon there are no user namespaces: doctor and run say why."""
    if not report["full"]:
        return
    copy = os.path.join(work, "cordon")
    shutil.copy(BIN, copy)
    inner = call(BIN, "run", "--", copy, "doctor", "--json", cwd=work)
    assert inner.returncode == 1, inner
    shown = json.loads(inner.stdout)
    assert shown["features"]["fs.read"]["level"] == "none", shown
    namespaces = next(m for m in shown["mechanisms"] if m["name"] == "user namespaces")
    assert not namespaces["available"] and "another Cordon" in namespaces["detail"], namespaces
    run = call(BIN, "run", "--", copy, "run", "--json", "--", "true", cwd=work)
    error = json.loads(run.stdout)["error"]
    assert run.returncode == 125 and error["reason"] == "user_namespaces", run
    assert "another Cordon" in error["message"] and "exec.nesting" in error["hint"], error


def check_limit(work):
    """A host that allows none: made of a user namespace, where one can be made."""
    off = ("echo 0 > /proc/sys/user/max_user_namespaces && exec \"$0\" doctor --json")
    inner = call("unshare", "-Ur", "sh", "-c", off, BIN, cwd=work)
    if not inner.stdout:
        return
    shown = json.loads(inner.stdout)
    found = next(m for m in shown["mechanisms"] if m["name"] == "user namespaces")
    assert inner.returncode == 1 and not found["available"], found
    assert "max_user_namespaces" in found["remedy"], found


def main():
    work = tempfile.mkdtemp(prefix="cordon-doctor-")
    try:
        os.chmod(work, 0o755)
        report = check_report(work)
        check_against_run(work, report)
        check_nested(work, report)
        check_limit(work)
    finally:
        shutil.rmtree(work, ignore_errors=True)
    print(f"doctor: the default preset is {'' if report['full'] else 'not '}enforced in full here")
    return 0


if __name__ == "__main__":
    sys.exit(main())
