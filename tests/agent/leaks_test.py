#!/usr/bin/python3
"""Secrets in what a tool is given and in what it gives back: stopped or redacted, however
they are written, and what is none is left as it is."""
import base64
import json
import os
import random
import string
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from contained import BIN, case, expect, main  # noqa: E402

WORD = random.Random(7)
SECRET = "ghp_" + "".join(WORD.choice(string.ascii_letters + string.digits) for _ in range(36))


def call(at, name, arguments, *flags, ok=True, env=None):
    done = subprocess.run([BIN, "tool", "--allow-root", "--role", "chat", *at.reads, *flags, name], cwd=at.ws,
                          env=env or at.env, input=json.dumps(arguments), text=True, capture_output=True,
                          timeout=120, check=False)
    answer = json.loads(done.stdout)
    expect(answer.get("ok") == ok, f"{name}: {answer}")
    return answer, done.stdout


def policy(at, text):
    at.write("../outside/policy.toml", text)
    return "--policy", at.outside + "/policy.toml"


@case
def arguments_with_a_secret_are_not_used(at):
    for arguments in ({"command": f"touch ran; echo {SECRET}"},
                      {"command": "touch ran; echo " + base64.b64encode(SECRET.encode()).decode()},
                      {"command": "touch ran; echo '" + json.dumps({"token": SECRET}) + "'"}):
        answer, text = call(at, "shell", arguments, ok=False)
        expect(answer["result"]["error"] == "secret_found" and SECRET not in text, answer)
        expect(not os.path.exists(at.path("ran")), "the command ran")
    call(at, "write_file", {"path": "f", "content": SECRET}, ok=False)
    expect(not os.path.exists(at.path("f")), "written")
    call(at, "shell", {"command": "touch ran; echo fine"})
    expect(os.path.exists(at.path("ran")), "the twin did not run")


@case
def output_with_a_secret_is_redacted(at):
    at.write("key", SECRET + "\n")
    answer, text = call(at, "shell", {"command": "echo before; cat key; echo after"})
    expect(SECRET not in text and "before\n" in answer["text"] and "after\n" in answer["text"], text)
    expect("[REDACTED:" in answer["text"] and "secrets redacted" in answer["text"], answer["text"])
    answer, text = call(at, "shell", {"command": "cat key >&2"})
    expect(SECRET not in text and "[REDACTED:" in answer["text"], text)
    # In two pieces, in base64, in JSON.
    half = "head -c 20 key; sleep 0.5; tail -c +21 key"
    answer, text = call(at, "shell", {"command": half})
    expect(SECRET[20:] not in text and "[REDACTED:" in answer["text"], text)
    answer, text = call(at, "shell", {"command": "base64 -w0 key"})
    expect(base64.b64encode(SECRET.encode()).decode()[:40] not in text, text)
    at.write("data.json", json.dumps({"nested": json.dumps({"k": base64.b64encode(SECRET.encode()).decode()})}))
    answer, text = call(at, "read_file", {"path": "data.json"})
    expect(base64.b64encode(SECRET.encode()).decode()[:40] not in text, text)
    # Where the middle is cut out, a piece of one must not remain at the edges.
    at.write("long", "x " * 12490 + SECRET + " y" * 30000)
    answer, text = call(at, "shell", {"command": "cat long"})
    expect(SECRET[:24] not in text, "a piece is left")


@case
def files_with_a_secret(at):
    at.write("f.txt", f"one\ntoken {SECRET}\nthree\n")
    answer, text = call(at, "read_file", {"path": "f.txt"})
    expect(SECRET not in text and "three" in answer["text"], answer["text"])
    answer, text = call(at, "grep", {"pattern": "token|three"})
    expect(SECRET not in text and [m["line"] for m in answer["result"]["matches"]] == [2, 3], answer)
    answer, text = call(at, "send_file", {"path": "f.txt"}, ok=False)
    expect(answer["result"]["error"] == "secret_found" and "attachment" not in answer, answer)
    at.write("g.txt", "nothing\n")
    answer, _ = call(at, "send_file", {"path": "g.txt"})
    expect(base64.b64decode(answer["attachment"]["base64"]) == b"nothing\n", answer)


@case
def the_policy_says_what_is_done(at):
    at.write("key", SECRET + "\n")
    for word in ("block", "terminate"):
        flags = policy(at, f'version = 1\n[leaks]\nscan = true\non_leak = "{word}"\n')
        answer, text = call(at, "shell", {"command": "echo before; cat key"}, *flags, ok=False)
        expect(answer["result"]["error"] == "secret_found" and "before" not in text and SECRET not in text, answer)
        call(at, "shell", {"command": "echo before"}, *flags)
    answer, text = call(at, "shell", {"command": "cat key"}, *policy(at, "version = 1\n[leaks]\nscan = false\n"))
    expect(SECRET in text, "switched off")


@case
def values_of_secret_variables_are_known(at):
    env = at.env | {"MY_API_KEY": "correct horse battery", "OTHER": "plain words here"}
    at.write("f", "correct horse battery\nplain words here\n")
    answer, text = call(at, "read_file", {"path": "f"}, env=env)
    expect("correct horse" not in text and "plain words here" in answer["text"], answer["text"])


if __name__ == "__main__":
    sys.exit(main("leaks"))
