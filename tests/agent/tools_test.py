#!/usr/bin/python3
"""`cordon tool`: every tool by itself. What the policy denies to a command it denies to
a tool, with the rule; beside each denial stands what is allowed."""
import base64
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from contained import BIN, case, expect, main  # noqa: E402


def call(at, name, arguments, *flags, ok=True):
    done = subprocess.run([BIN, "tool", "--allow-root", *at.reads, *flags, name], cwd=at.ws, env=at.env,
                          input=json.dumps(arguments), text=True, capture_output=True, timeout=120,
                          check=False)
    try:
        answer = json.loads(done.stdout)
    except ValueError:
        raise AssertionError(f"{name} {arguments}: not JSON\n{done}") from None
    expect("text" in answer, f"{name} {arguments}: {answer}")
    expect(answer["ok"] == ok, f"{name} {arguments}: {answer['text']}")
    expect(done.returncode == (0 if ok else 1), f"{name}: status", done)
    return answer


def denied(at, name, arguments, reason, *flags):
    answer = call(at, name, arguments, *flags, ok=False)
    expect(answer["result"].get("error") == reason, f"{name} {arguments}: {answer}")
    expect("do not guess" in answer["text"], answer["text"])
    expect("<sandbox_violations>" in answer["text"] and answer["result"]["violations"], answer)
    return answer


@case
def shell_tells_exit_and_output(at):
    answer = call(at, "shell", {"command": "echo out; echo err >&2; exit 3"})
    result = answer["result"]
    expect(result["kind"] == "exited" and result["exit_code"] == 3, result)
    expect(result["stdout"]["text"] == "out\n" and result["stderr"]["text"] == "err\n", result)
    expect(answer["text"] == "[exit code 3]\n[stdout]\nout\n[stderr]\nerr\n", answer["text"])
    answer = call(at, "shell", {"command": "kill -TERM $$"}, ok=False)
    expect(answer["result"]["kind"] == "signaled" and answer["result"]["signal"] == 15, answer)


@case
def shell_times_out(at):
    answer = call(at, "shell", {"command": "echo before; sleep 600", "timeout": 1}, ok=False)
    expect(answer["result"]["kind"] == "timed_out", answer)
    expect(answer["result"]["stdout"]["text"] == "before\n", answer)
    expect("timed out after 1 s" in answer["text"], answer["text"])
    # The policy's limit holds, whatever is asked for.
    answer = call(at, "shell", {"command": "sleep 600", "timeout": 600}, "--timeout", "1s", ok=False)
    expect(answer["result"]["kind"] == "timed_out", answer)


@case
def shell_output_is_cut_in_the_middle(at):
    answer = call(at, "shell", {"command": "echo first; head -c 300000 /dev/zero | tr '\\0' x; echo; echo last"})
    shown = answer["result"]["stdout"]
    expect(shown["bytes"] == 300000 + 12 and shown["cut"] == 300012 - 50000, str(shown)[:300])
    expect(shown["text"].startswith("first\n") and shown["text"].endswith("last\n"), "ends")
    expect("[output truncated: showed 50000 of 300012 bytes" in answer["text"], "notice")


@case
def shell_ends_what_waits_for_input(at):
    answer = call(at, "shell", {"command": "printf 'Password: '; sleep 600"}, ok=False)
    expect(answer["result"]["kind"] == "waiting_for_input", answer)
    expect("--yes" in answer["text"], answer["text"])
    # What is quiet without a question goes on; what reads gets nothing.
    answer = call(at, "shell", {"command": "echo building; sleep 7; echo built; read x || echo no input"})
    expect(answer["result"]["stdout"]["text"] == "building\nbuilt\nno input\n", answer)


@case
def working_dir_is_validated(at):
    os.mkdir(at.path("sub"))
    answer = call(at, "shell", {"command": "pwd", "working_dir": "sub"})
    expect(answer["result"]["stdout"]["text"] == at.path("sub") + "\n", answer)
    answer = call(at, "shell", {"command": "pwd", "working_dir": at.outside}, ok=False)
    expect(answer["result"]["error"] == "argument_invalid" and at.ws in answer["text"], answer)
    os.symlink(at.outside, at.path("link"))
    call(at, "shell", {"command": "pwd", "working_dir": "link"}, ok=False)
    call(at, "shell", {"command": "pwd", "working_dir": at.outside}, "--write", at.outside)
    call(at, "shell", {"command": "pwd", "working_dir": "none"}, ok=False)


@case
def shell_is_contained_and_says_so(at):
    at.outside_sh("git init -q .; git add -A; mkdir -p ../home/.ssh; echo key > ../home/.ssh/id")
    answer = call(at, "shell", {"command": "echo x > .git/hooks/pre-commit"})
    expect(answer["result"]["exit_code"] != 0, answer)
    expect(not os.path.exists(at.path(".git/hooks/pre-commit")), "the hook was written")
    expect("<sandbox_violations>" in answer["text"] and "pre-commit" in answer["text"], answer["text"])
    answer = call(at, "shell", {"command": "cat ~/.ssh/id"})
    expect("key" not in answer["result"]["stdout"]["text"], answer)
    expect(any(v["reason"] == "read_denied" for v in answer["result"]["violations"]), answer["text"])
    answer = call(at, "shell", {"command": f"echo x > {at.outside}/f"})
    expect(any(v["reason"] == "write_denied" for v in answer["result"]["violations"]), answer["text"])
    call(at, "shell", {"command": "echo x > f && cat f"})
    expect(at.read("f") == "x\n", "the workspace was not written")
    # A complaint of the command's own is not the sandbox's word.
    answer = call(at, "shell", {"command": "echo 'cat: /usr/bin/env: Permission denied' >&2; exit 1"})
    expect(answer["result"]["violations"] == [], answer)


@case
def exec_takes_words_as_they_are(at):
    answer = call(at, "exec", {"program": "printf", "args": ["%s|", "a b", "$(id)", ";"]})
    expect(answer["result"]["stdout"]["text"] == "a b|$(id)|;|", answer)
    answer = call(at, "exec", {"program": "sh", "args": ["-c", "echo $FOO"], "env": {"FOO": "bar"}})
    expect(answer["result"]["stdout"]["text"] == "bar\n", answer)
    for name in ("LD_PRELOAD", "ld_preload", "BASH_ENV", "NODE_OPTIONS", "PATH", "HOME"):
        answer = call(at, "exec", {"program": "true", "env": {name: "x"}}, ok=False)
        expect(answer["result"]["error"] == "variable_denied" and name in answer["text"], answer)
    answer = call(at, "exec", {"program": "no-such-program"}, ok=False)
    expect(answer["result"]["kind"] == "exec_failed", answer)


@case
def arguments_are_strict(at):
    for arguments in ({}, {"command": 1}, {"command": "x", "comand": "y"}, {"command": "a\0b"}, [],
                      {"command": "true", "timeout": 0}, {"command": "true", "timeout": "9"}):
        answer = call(at, "shell", arguments, ok=False)
        expect(answer["result"]["error"] == "argument_invalid", answer)
    call(at, "shell", {"command": "sleep 1", "background": True}, ok=False)
    done = subprocess.run([BIN, "tool", "--allow-root", "shell"], cwd=at.ws, env=at.env, input="{",
                          text=True, capture_output=True, check=False)
    expect(done.returncode == 2, "broken JSON", done)
    done = subprocess.run([BIN, "tool", "--allow-root", "shel"], cwd=at.ws, env=at.env, input="{}",
                          text=True, capture_output=True, check=False)
    expect(done.returncode == 2, "an unknown tool", done)


@case
def read_file_reads_in_pieces(at):
    at.write("f.txt", "".join(f"line {n}\n" for n in range(1, 5001)))
    answer = call(at, "read_file", {"path": "f.txt"})
    expect(answer["result"]["next_offset"] == 2001, answer["result"].keys())
    answer = call(at, "read_file", {"path": "f.txt", "offset": 4999})
    expect(answer["text"] == "line 4999\nline 5000\n", answer["text"])
    at.write("bin", b"\x00\x01\x02")
    answer = call(at, "read_file", {"path": "bin"}, ok=False)
    expect(answer["result"]["error"] == "file_unsuitable" and "binary" in answer["text"], answer)
    call(at, "read_file", {"path": "none"}, ok=False)
    call(at, "read_file", {"path": "."}, ok=False)
    os.mkfifo(at.path("fifo"))
    call(at, "read_file", {"path": "fifo"}, ok=False)
    at.write("long", "x" * 200000)
    answer = call(at, "read_file", {"path": "long"})
    expect(len(answer["text"]) < 51000 and "[line cut]" in answer["text"], "a long line")


@case
def reading_obeys_the_policy(at):
    at.outside_sh("mkdir -p ../home/.ssh; echo key > ../home/.ssh/id; echo h > ../home/.ssh/known_hosts")
    at.write(".env", "SECRET=1")
    at.write("ok", "fine\n")
    expect(call(at, "read_file", {"path": "ok"})["text"] == "fine\n", "the twin")
    denied(at, "read_file", {"path": "~/.ssh/id"}, "read_denied")
    denied(at, "read_file", {"path": at.home + "/.ssh/id"}, "read_denied")
    denied(at, "list_dir", {"path": "~/.ssh"}, "read_denied")
    denied(at, "stat", {"path": "~/.ssh/id"}, "read_denied")
    call(at, "read_file", {"path": "~/.ssh/known_hosts"})
    denied(at, "read_file", {"path": ".env"}, "read_denied", "--deny-read", ".env")
    call(at, "read_file", {"path": ".env"})
    # By a link, by its parts, by /proc.
    os.symlink(at.home + "/.ssh/id", at.path("link"))
    os.symlink(at.home, at.path("up"))
    denied(at, "read_file", {"path": "link"}, "read_denied")
    denied(at, "read_file", {"path": "up/.ssh/id"}, "read_denied")
    denied(at, "read_file", {"path": "../home/.ssh/id"}, "read_denied")
    call(at, "read_file", {"path": f"/proc/self/root{at.home}/.ssh/id"}, ok=False)
    call(at, "read_file", {"path": "/proc/self/environ"}, ok=False)
    os.symlink("ok", at.path("good"))
    expect(call(at, "read_file", {"path": "good"})["text"] == "fine\n", "a link inside")


@case
def search_passes_over_what_is_denied(at):
    at.write("a/x.py", "needle one\n")
    at.write("a/y.txt", "needle two\nNEEDLE\n")
    at.write("secret/z.py", "needle three\n")
    at.write("out/gen.py", "needle four\n")
    at.write(".gitignore", "out/\n")
    at.write("b/blob", b"needle\0")
    found = call(at, "grep", {"pattern": r"^needle \w+$"}, "--deny-read", "secret")["result"]
    expect([m["path"] for m in found["matches"]] == ["a/x.py", "a/y.txt", "out/gen.py"]
           or [m["path"] for m in found["matches"]] == ["a/x.py", "a/y.txt"], found)
    at.outside_sh("git init -q .")
    found = call(at, "grep", {"pattern": "needle"}, "--deny-read", "secret")["result"]["matches"]
    expect([(m["path"], m["line"]) for m in found] == [("a/x.py", 1), ("a/y.txt", 1)], found)
    found = call(at, "grep", {"pattern": "needle", "ignore_case": True, "include": "*.txt"})["result"]
    expect([m["line"] for m in found["matches"]] == [1, 2], found)
    found = call(at, "grep", {"pattern": "three"})["result"]["matches"]
    expect([m["path"] for m in found] == ["secret/z.py"], found)
    found = call(at, "glob", {"pattern": "*.py"}, "--deny-read", "secret")["result"]["paths"]
    expect(found == ["a/x.py"], found)
    found = call(at, "glob", {"pattern": "*.py", "ignored": True})["result"]["paths"]
    expect(found == ["a/x.py", "out/gen.py", "secret/z.py"], found)
    found = call(at, "glob", {"pattern": "a/*", "limit": 1})["result"]
    expect(found["paths"] == ["a/x.py"] and found["next_offset"] == 1, found)
    found = call(at, "glob", {"pattern": "a/*", "offset": 1})["result"]
    expect(found["paths"] == ["a/y.txt"], found)
    call(at, "grep", {"pattern": "("}, ok=False)
    denied(at, "grep", {"pattern": "x", "path": "secret"}, "read_denied", "--deny-read", "secret")


@case
def writing_obeys_the_policy(at):
    at.outside_sh("git init -q .")
    call(at, "write_file", {"path": "new/deep/f.txt", "content": "hällo\n"})
    expect(at.read("new/deep/f.txt") == "hällo\n", "not written")
    for path in (".git/hooks/pre-commit", ".git/config", ".vscode/settings.json", ".mcp.json",
                 ".GIT/hooks/x", ".bashrc", "new/../.git/hooks/y"):
        denied(at, "write_file", {"path": path, "content": "x"}, "write_denied")
    expect(not os.path.exists(at.path(".vscode")), "a directory came into being")
    denied(at, "write_file", {"path": at.outside + "/f", "content": "x"}, "write_denied")
    call(at, "write_file", {"path": at.outside + "/f", "content": "x"}, "--write", at.outside)
    os.symlink(at.outside, at.path("way"))
    denied(at, "write_file", {"path": "way/g", "content": "x"}, "write_denied")
    os.symlink(".git/hooks/pre-commit", at.path("alias"))
    denied(at, "write_file", {"path": "alias", "content": "x"}, "write_denied")
    denied(at, "write_file", {"path": "/tmp/x", "content": "x"}, "write_denied")
    at.write("SOUL.md", "me")
    for name in ("SOUL.md", "soul.MD", "IDENTITY.md", "USER.md"):
        denied(at, "write_file", {"path": name, "content": "x"}, "write_denied")
    call(at, "write_file", {"path": "NOTES.md", "content": "x"})
    expect(os.listdir(at.outside) == ["f"], os.listdir(at.outside))


@case
def a_write_is_whole_and_keeps_the_mode(at):
    path = at.write("run.sh", "old", mode=0o750)
    inode = os.stat(path).st_ino
    os.link(path, at.path("twin"))
    call(at, "write_file", {"path": "run.sh", "content": "new"})
    expect(at.read("run.sh") == "new" and os.stat(path).st_mode & 0o777 == 0o750, "mode")
    expect(at.read("twin") == "old" and os.stat(path).st_ino != inode, "written through a hard link")
    os.mkdir(at.path("d"))
    call(at, "write_file", {"path": "d", "content": "x"}, ok=False)
    left = [name for name in os.listdir(at.ws) if name.endswith(".tmp")]
    expect(left == [], left)


@case
def edit_wants_the_exact_count(at):
    at.write("f", "one two one\n")
    answer = call(at, "edit_file", {"path": "f", "old_text": "one", "new_text": "1"}, ok=False)
    expect("2 times, not 1" in answer["text"] and at.read("f") == "one two one\n", answer["text"])
    call(at, "edit_file", {"path": "f", "old_text": "three", "new_text": "3"}, ok=False)
    call(at, "edit_file", {"path": "f", "old_text": "", "new_text": "3"}, ok=False)
    call(at, "edit_file", {"path": "f", "old_text": "two", "new_text": "2"})
    call(at, "edit_file", {"path": "f", "old_text": "one", "new_text": "1", "count": 2})
    expect(at.read("f") == "1 2 1\n", at.read("f"))
    at.outside_sh("git init -q .")
    denied(at, "edit_file", {"path": ".git/config", "old_text": "core", "new_text": "x"}, "write_denied")


@case
def list_dir_and_stat(at):
    for n in range(600):
        at.write(f"many/{n:03}", "")
    answer = call(at, "list_dir", {"path": "many"})["result"]
    expect(len(answer["entries"]) == 500 and answer["next_offset"] == 500 and answer["total"] == 600, "")
    answer = call(at, "list_dir", {"path": "many", "offset": 500})["result"]
    expect([e["name"] for e in answer["entries"]] == [f"{n:03}" for n in range(500, 600)], answer)
    at.write("f", "12345", mode=0o640)
    answer = call(at, "stat", {"path": "f"})["result"]
    expect((answer["type"], answer["size"], answer["mode"], answer["writable"])
           == ("file", 5, "0640", True), answer)
    answer = call(at, "stat", {"path": "/usr/bin"})["result"]
    expect(answer["type"] == "directory" and not answer["writable"], answer)


@case
def send_file_is_for_chat(at):
    at.write("r.png", b"\x89PNG\r\n\x1a\n\0")
    answer = call(at, "send_file", {"path": "r.png"}, "--role", "chat")
    expect(base64.b64decode(answer["attachment"]["base64"]) == b"\x89PNG\r\n\x1a\n\0", answer)
    expect(answer["attachment"]["mime_type"] == "image/png", answer)
    at.write("../outside/f", "x")
    call(at, "send_file", {"path": at.outside + "/f"}, "--role", "chat", ok=False)
    with open(at.path("big"), "wb") as file:
        file.truncate(25 * 1024 * 1024 + 1)
    call(at, "send_file", {"path": "big"}, "--role", "chat", ok=False)
    done = subprocess.run([BIN, "tool", "--allow-root", "send_file"], cwd=at.ws, env=at.env, input="{}",
                          text=True, capture_output=True, check=False)
    expect(done.returncode == 2, "a worker has no send_file", done)


@case
def an_installed_tool_is_first_and_not_writable(at):
    at.write("ls", "#!/bin/sh\necho my ls\n", mode=0o755)
    done = subprocess.run([BIN, "tool", "install", at.path("ls")], cwd=at.ws, env=at.env, text=True,
                          capture_output=True, check=False)
    expect(done.returncode == 0, "install", done)
    place = at.home + "/.local/share/cordon/tools/bin/ls"
    expect(os.access(place, os.X_OK), place)
    answer = call(at, "shell", {"command": "ls; echo x >> $(command -v ls); rm $(command -v ls)"},
                  "--write", at.home)
    expect(answer["result"]["stdout"]["text"] == "my ls\n" and answer["result"]["exit_code"] != 0, answer)
    expect(os.path.exists(place), "removed from inside")
    denied(at, "write_file", {"path": place, "content": "x"}, "write_denied", "--write", at.home)
    call(at, "write_file", {"path": at.home + "/other", "content": "x"}, "--write", at.home)


@case
def approvals_and_hooks(at):
    at.write("f", "text\n")
    call(at, "read_file", {"path": "f"}, "--approve", "plan")
    for mode in ("plan", "safe"):  # nobody can be asked
        answer = call(at, "write_file", {"path": "g", "content": "x"}, "--approve", mode, ok=False)
        expect(answer["result"]["error"] == "approval_denied", answer)
    expect(not os.path.exists(at.path("g")), "written without approval")
    call(at, "write_file", {"path": "g", "content": "x"}, "--approve", "auto")
    call(at, "shell", {"command": "true"}, "--approve", "safe", "--sub-agent")
    answer = call(at, "shell", {"command": "true"}, "--approve", "auto", "--backend", "none", ok=False)
    expect(answer["result"]["error"] == "approval_denied", "auto-allowed without containment")
    hook = "grep -q forbidden && echo '{\"decision\":\"deny\",\"reason\":\"no such word\"}'; true"
    answer = call(at, "shell", {"command": "echo forbidden"}, "--hook", hook, ok=False)
    expect(answer["result"]["error"] == "hook_denied" and "no such word" in answer["text"], answer)
    call(at, "shell", {"command": "echo fine"}, "--hook", hook)
    hook = "echo '{\"decision\":\"allow\",\"arguments\":{\"command\":\"echo changed\"}}'"
    answer = call(at, "shell", {"command": "echo original"}, "--hook", hook)
    expect(answer["result"]["stdout"]["text"] == "changed\n", answer)


@case
def modes(at):
    call(at, "write_file", {"path": "f", "content": "x"}, "--mode", "sandbox")
    denied(at, "write_file", {"path": "g", "content": "x"}, "write_denied", "--mode", "rx")
    done = subprocess.run([BIN, "status", "--json", "--mode", "rx", "--workspace", at.ws + "/made"],
                          cwd=at.ws, env=at.env, text=True, capture_output=True, check=False)
    status = json.loads(done.stdout)
    expect(status["mode"] == "rx" and status["containment"] == "active", status)
    expect(done.returncode == 0 and os.path.isdir(at.path("made")), "the workspace is made", done)
    expect(at.path("made") in status["constraints"], status)
    done = subprocess.run([BIN, "status", "--backend", "none"], cwd=at.ws, env=at.env, text=True,
                          capture_output=True, check=False)
    expect(done.returncode == 1 and "disabled" in done.stdout, "status of no backend", done)


@case
def the_audit_log_has_tool_denials(at):
    log = at.top + "/audit.jsonl"
    at.outside_sh("mkdir -p ../home/.ssh; echo key > ../home/.ssh/id")
    call(at, "read_file", {"path": "~/.ssh/id"}, "--audit", log, ok=False)
    with open(log, encoding="utf-8") as file:
        events = [json.loads(line) for line in file]
    expect(any(e.get("reason") == "read_denied" for e in events), events)


@case
def root_must_say_so(at):
    if os.getuid() != 0:
        return
    done = subprocess.run([BIN, "tool", "shell"], cwd=at.ws, env=at.env, input='{"command":"id"}',
                          text=True, capture_output=True, check=False)
    expect(done.returncode == 125 and "--allow-root" in done.stdout, "served by root", done)
    answer = call(at, "shell", {"command": "id -u"})
    expect(answer["result"]["stdout"]["text"] != "0\n", answer)


if __name__ == "__main__":
    sys.exit(main("tools"))
