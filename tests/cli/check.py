#!/usr/bin/python3
"""`cordon check url` against CORDON_BIN: the guard alone, by a policy, from stdin."""
import json
import os
import subprocess
import sys
import tempfile

BIN = os.path.abspath(os.environ["CORDON_BIN"])

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


def check_errors(cwd):
    for words in (["url"], ["nothing", "x"], ["path", "x"],
                  ["--net", "proxy", "--allow-domain", "*.com", "url", "http://a.com/"]):
        told = cordon(*words, cwd=cwd)
        assert told.returncode == 2 and told.stderr, (words, told)


def main():
    with tempfile.TemporaryDirectory(prefix="cordon-check-", dir="/var/tmp") as cwd:
        for check in (check_values, check_lines, check_policy, check_errors):
            check(cwd)
    print(f"check: {len(ALLOWED)} allowed, {len(DENIED)} denied")
    return 0


if __name__ == "__main__":
    sys.exit(main())
