#!/usr/bin/python3
"""`cordon run` as a caller sees it: exit status, arguments, streams, signals,
environment, terminals, limits, policy files, and that nothing is left behind."""
import fcntl
import json
import os
import pty
import random
import select
import signal
import struct
import subprocess
import sys
import termios
import time
import tomllib

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from contained import BIN, case, expect, main  # noqa: E402

PYTHON = "/usr/bin/python3"


def refused(done, reason_words, code=125):
    expect(done.returncode == code, f"not refused with {code}", done)
    expect(done.stdout == "", "a refused run printed on stdout", done)
    for word in reason_words:
        expect(word in done.stderr, f"stderr does not say {word!r}", done)


def outcome(done):
    try:
        return json.loads(done.stdout)
    except ValueError as problem:
        raise AssertionError(f"not JSON: {problem}\n{done}") from problem


def start(at, *argv, flags=(), **more):
    more.setdefault("stdin", subprocess.DEVNULL)
    more.setdefault("stdout", subprocess.PIPE)
    more.setdefault("stderr", subprocess.PIPE)
    return subprocess.Popen([BIN, "run", *flags, "--", *argv], cwd=at.ws, env=at.env, **more)


def wait_for(path, seconds=20):
    until = time.monotonic() + seconds
    while not os.path.exists(path):
        expect(time.monotonic() < until, f"{path} never came")
        time.sleep(0.01)


def processes_with(marker):
    """Host processes with the marker in their arguments."""
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                if marker.encode() in file.read() and int(pid) != os.getpid():
                    found.append(int(pid))
        except OSError:
            pass
    return found


def gone(marker, seconds=10):
    """What is still there in the end. Not seen once is not gone: a launch that was
    under way has its command's arguments only later."""
    until, unseen = time.monotonic() + seconds, 0
    while unseen < 10:
        found = processes_with(marker)
        if found and time.monotonic() > until:
            return found
        unseen = 0 if found else unseen + 1
        time.sleep(0.02)
    return []


# --- exit status ------------------------------------------------------------------

@case
def exit_codes(at):
    for code in (0, 1, 2, 7, 42, 77, 123, 124, 125, 126, 127, 128, 137, 200, 254, 255):
        done = at.run("sh", "-c", f"exit {code}")
        expect(done.returncode == code, f"exit {code}", done)


@case
def ended_by_a_signal(at):
    for number in (1, 2, 3, 6, 9, 11, 13, 14, 15):
        done = at.run("sh", "-c", f"kill -{number} $$")
        expect(done.returncode == 128 + number, f"signal {number}", done)


@case
def timeout_of_a_command_that_ignores_term(at):
    began = time.monotonic()
    done = at.run("sh", "-c", "trap '' TERM; echo up; while :; do sleep 1; done",
                  flags=["--timeout", "500ms"])
    expect(done.returncode == 124 and done.stdout == "up\n", "timeout", done)
    expect("timed_out" in done.stderr or "time" in done.stderr, "stderr does not say so", done)
    expect(time.monotonic() - began < 15, "it took too long")


@case
def timeout_lets_the_command_clean_up(at):
    done = at.run("sh", "-c", "trap 'echo bye; exit 3' TERM; sleep 60 & wait", flags=["--timeout", "300ms"])
    expect(done.returncode == 124 and done.stdout == "bye\n", "TERM comes first", done)


@case
def refusals(at):
    refused(at.run("true", flags=["--timeout", "soon"]), ["timeout"])
    refused(at.run("true", flags=["--preset", "none-such"]), ["none-such"])
    refused(at.run("true", flags=["--policy", at.outside + "/missing.toml"]), ["missing.toml"])
    bad = at.write(at.outside + "/bad.toml", "version = 1\n[fs]\nwrit = ['.']\n")
    refused(at.run("true", flags=["--policy", bad]), ["bad.toml", "writ", "3"])
    unbuilt = at.write(at.outside + "/unbuilt.toml", "version = 1\n[audit]\ndenials = 'exact'\n")
    refused(at.run("true", flags=["--policy", unbuilt]), ["audit.denials"])
    refused(at.run("true", flags=["--write", "/no/such/place"]), ["/no/such/place"])
    refused(at.run(), [])


@case
def an_unknown_flag(at):
    refused(at.run("true", flags=["--no-such-flag"]), ["no-such-flag"])


@case
def workspace_too_wide(at):
    refused(at.run("true", cwd=at.home), ["workspace"])
    refused(at.run("true", cwd="/"), ["workspace"])
    refused(at.run("true", cwd="/usr"), ["workspace"])


@case
def not_executable_and_not_found(at):
    at.write("plain", "#!/bin/sh\n")
    at.write("script", "#!/no/such/interpreter\n", mode=0o755)
    for argv, code in ((["./plain"], 126), (["."], 126), (["/etc"], 126), (["./missing"], 127),
                       (["no-such-command"], 127), (["./plain/x"], None), (["./script"], None)):
        done = at.run(*argv)
        expect(done.returncode in ((code,) if code else (126, 127)), f"{argv}", done)
        expect(done.stderr.startswith("cordon: "), f"{argv} without a word", done)


# --- arguments ----------------------------------------------------------------------

@case
def arguments_are_passed_byte_for_byte(at):
    words = [b"--", b"-x", b"--json", b"", b"a b", b"new\nline", b"tab\t", b"\xff\xfe\x80", b"'\"`$(x)\\",
             b"--", b"-", b"--help", "ü€😀".encode(), b"=", b"*", b"--timeout=1s", b"%d %s"]
    done = at.run(PYTHON, "-c", "import os, sys; sys.stdout.buffer.write("
                  "b'\\0'.join(map(os.fsencode, sys.argv[1:])))", *words, text=False)
    expect(done.stdout.split(b"\0") == words, "the arguments differ", done)


@case
def a_command_named_like_a_flag(at):
    at.write("--help", "#!/bin/sh\necho mine \"$@\"\n", mode=0o755)
    env = at.env | {"PATH": at.ws + ":" + at.env["PATH"]}
    done = at.run("--help", "--version", env=env)
    expect(done.stdout == "mine --version\n" and done.returncode == 0, "not my --help", done)


@case
def words_after_the_command_are_its_own(at):
    done = subprocess.run([BIN, "run", "echo", "--json", "--timeout", "x", "--", "y"], cwd=at.ws,
                          env=at.env, capture_output=True, text=True, timeout=30, check=False)
    expect(done.stdout == "--json --timeout x -- y\n", "they were taken as cordon's", done)


@case
def many_and_long_arguments(at):
    done = at.run("sh", "-c", "echo $#", "sh", *["x"] * 20000)
    expect(done.stdout == "20000\n", "many arguments", done)
    done = at.run("sh", "-c", "echo ${#1}", "sh", "x" * 130000)
    expect(done.stdout == "130000\n", "a long argument", done)


# --- streams ------------------------------------------------------------------------

@case
def stdin_passes(at):
    done = at.run("cat", input="a\nb")
    expect(done.stdout == "a\nb" and done.returncode == 0, "stdin", done)
    big = os.urandom(1 << 20) * 24
    done = at.run("md5sum", input=big, text=False)
    import hashlib
    expect(done.stdout[:32].decode() == hashlib.md5(big).hexdigest(), "a large stdin is damaged")
    done = at.run("sh", "-c", "head -c 3", input="abcdef")
    expect(done.stdout == "abc", "a part of stdin", done)


@case
def closed_streams(at):
    for stream in (0, 1, 2):
        script = f"exec {BIN} run -- sh -c 'echo out; echo err >&2; exit 3' {stream}>&-"
        done = subprocess.run(["sh", "-c", script], cwd=at.ws, env=at.env, text=True, check=False,
                              capture_output=True, timeout=30)
        expect(done.returncode in (3, 125), f"stream {stream} closed", done)
        if done.returncode == 3 and stream != 1:
            expect("out" in done.stdout, f"stream {stream} closed: stdout is lost", done)
    done = subprocess.run(["sh", "-c", f"exec {BIN} run -- sh -c 'exit 4' <&- >&- 2>&-"], cwd=at.ws,
                          env=at.env, check=False, timeout=30)
    expect(done.returncode in (4, 125), "all closed", done)


@case
def the_status_is_kept_when_nobody_reads(at):
    """What Cordon has to say about the run goes nowhere; how it ended does not."""
    for argv, code in ((["sh", "-c", "exec 2> /dev/null; echo x > .mcp.json; exit 3"], 3), (["no-such-command"], 127)):
        with open("/dev/full", "w", encoding="utf-8") as full:
            done = at.run(*argv, stderr=full)
        expect(done.returncode == code, "with a full device as stderr", done)
        reading, writing = os.pipe()
        os.close(reading)
        done = at.run(*argv, stderr=writing)
        os.close(writing)
        expect(done.returncode == code, "with a closed pipe as stderr", done)
        expect(at.run(*argv).stderr != "", "there is nothing to say")


@case
def a_directory_as_a_stream_is_refused(at):
    """By it, everything below could be opened with the rights of the host's mounts."""
    at.write(at.outside + "/file", "content\n")
    use = "for n in 0 1 2; do cat /proc/self/fd/$n/file; done"
    for path in ("/", at.home, at.ws, at.outside):
        for how in (os.O_RDONLY, os.O_PATH):
            fd = os.open(path, how)
            try:
                for stream in ("stdin", "stdout", "stderr"):
                    done = at.run("sh", "-c", use, **{stream: fd})
                    expect(done.returncode == 125, f"{path} as {stream} is not refused", done)
                    expect(not done.stdout, f"{path} as {stream} was let in", done)
            finally:
                os.close(fd)
    with open(at.outside + "/file", encoding="utf-8") as file:
        done = at.run("cat", stdin=file)
        expect(done.stdout == "content\n" and done.returncode == 0, "a file", done)
    done = subprocess.run(["sh", "-c", f"exec < .; cd /; {use}"], cwd=at.outside, text=True,
                          capture_output=True, check=False)
    expect("content" in done.stdout, "without Cordon it is a way in", done)


@case
def no_other_descriptor_comes_in(at):
    fd = os.open("/", os.O_RDONLY)
    os.dup2(fd, 77, inheritable=True)
    try:
        done = at.sh("ls /proc/self/fd | tr '\\n' ' '", close_fds=False)
        expect("77" not in done.stdout.split(), "descriptor 77 came in", done)
    finally:
        os.close(fd)
        os.close(77)


@case
def much_output_without_loss(at):
    for size in (1 << 20, 64 << 20):
        done = at.run(PYTHON, "-c", f"import sys; [sys.stdout.buffer.write(b'%015d\\n' % i) for i in"
                      f" range({size} // 16)]; sys.stderr.write('e' * 100000)", text=False)
        expect(len(done.stdout) == size, f"{len(done.stdout)} of {size} bytes")
        expect(done.stdout.endswith(b"%015d\n" % (size // 16 - 1)), "the end is wrong")
        expect(len(done.stderr) == 100000, "stderr", done)


@case
def a_slow_reader_gets_all(at):
    child = start(at, "sh", "-c", "yes | head -c 3000000; exit 5", flags=["--output", "10MB"])
    time.sleep(1)
    out = child.stdout.read()
    expect(child.wait(30) == 5 and len(out) == 3000000, f"{len(out)} bytes, status {child.returncode}")


def leave_early(at, flags):
    child = start(at, "sh", "-c", "yes", flags=flags)
    child.stdout.read(100)
    child.stdout.close()
    expect(child.wait(30) == 141, f"yes without a reader ended with {child.returncode}")


@case
def a_reader_that_leaves(at):
    leave_early(at, [])


@case
def a_reader_that_leaves_the_relay(at):
    leave_early(at, ["--output", "10MB"])


@case
def output_is_cut_at_a_character(at):
    notice = "[cordon: output cut after 1000 bytes]"
    done = at.run(PYTHON, "-c", "print('é' * 2000); import sys; sys.exit(9)", flags=["--output", "1000"],
                  text=False, env=at.env)
    text = done.stdout.decode()
    expect(done.returncode == 9, "the exit status is kept", done)
    expect(text.startswith("é" * 490) and notice in text, "the cut", done)
    expect(len(done.stdout) < 1100, "too much passed", done)
    done = at.run(PYTHON, "-c", "print('x' + 'é' * 2000)", flags=["--output", "1000"], text=False)
    done.stdout.decode()
    done = at.run("sh", "-c", "head -c 3000 /dev/zero >&2; echo ok", flags=["--output", "1000"])
    expect(done.stdout == "ok\n" and notice in done.stderr, "stderr has its own limit", done)
    done = at.run("sh", "-c", "head -c 1000 /dev/zero", flags=["--output", "1000"])
    expect(len(done.stdout) == 1000, "the limit itself is not over it", done)


@case
def a_character_in_two_writes_is_cut_whole(at):
    done = at.run(PYTHON, "-c", "import os, time; os.write(1, b'x' * 999 + b'\\xc3'); time.sleep(.3);"
                  "os.write(1, b'\\xa9 more')", flags=["--output", "1000"], text=False)
    try:
        done.stdout.decode()
    except UnicodeDecodeError as problem:
        raise AssertionError(f"half a character: {done.stdout[-60:]}") from problem


@case
def json_shape(at):
    told = outcome(at.run("sh", "-c", "echo out; echo err >&2; exit 3", flags=["--json"]))
    expect((told["kind"], told["reason"], told["exit_status"], told["exit_code"]) ==
           ("exited", "exited", 3, 3), f"{told}")
    expect(told["stdout"] == "out\n" and told["stderr"] == "err\n", f"{told}")
    expect(not told["stdout_truncated"] and not told["stderr_truncated"], f"{told}")
    expect(set(told["usage"]) == {"wall_ms", "cpu_ms", "max_rss_kb"}, f"{told['usage']}")
    expect(told["usage"]["max_rss_kb"] > 0 and told["usage"]["wall_ms"] > 0, f"{told['usage']}")
    for feature in ("fs.read", "fs.write", "fs.floor", "net", "unix", "ipc", "pid", "seccomp", "env", "tty"):
        expect(told["enforcement"][feature]["level"] == "full", f"{feature}: {told['enforcement']}")
    expect(told["violations"] == [] and told["new_repositories"] == [], f"{told}")


@case
def json_of_other_ends(at):
    told = outcome(at.run("sh", "-c", "kill -9 $$", flags=["--json"]))
    expect((told["kind"], told["signal"], told["exit_status"]) == ("signaled", 9, 137), f"{told}")
    told = outcome(at.run("sleep", "60", flags=["--json", "--timeout", "200ms"]))
    expect((told["reason"], told["exit_status"]) == ("timed_out", 124), f"{told}")
    for argv, reason, status in ((["nope"], "exec_not_found", 127), (["/etc"], "exec_denied", 126)):
        done = at.run(*argv, flags=["--json"])
        told = outcome(done)
        expect((told["reason"], told["exit_status"]) == (reason, status), f"{told}")
        expect(done.returncode == status, "the status", done)
    unbuilt = at.write(at.outside + "/unbuilt.toml", "version = 1\n[audit]\ndenials = 'exact'\n")
    done = at.run("true", flags=["--json", "--policy", unbuilt])
    expect(done.returncode == 125, "refused", done)
    expect("unsupported" in done.stdout + done.stderr, "the reason of a refusal", done)


@case
def json_names_what_was_denied(at):
    told = outcome(at.run("sh", "-c", "echo x > .mcp.json", flags=["--json"]))
    expect(told["violations"], f"no violation: {told}")
    first = told["violations"][0]
    expect(first["reason"] == "floor_name" and first["subject"].endswith("/.mcp.json"), f"{first}")
    expect(first["count"] >= 1 and first["operation"], f"{first}")


@case
def json_of_what_is_not_text(at):
    told = outcome(at.run("printf", "a\\377b\\000c", flags=["--json"]))
    expect(told["stdout"].startswith("a") and told["exit_status"] == 0, f"{told}")
    told = outcome(at.run("sh", "-c", "yes | head -c 3000000", flags=["--json"]))
    expect(told["stdout_truncated"] and len(told["stdout"]) <= 1 << 20, "the capture has a limit")


# --- signals and processes --------------------------------------------------------------

def signal_and_collect(at, name):
    child = start(at, "sh", "-c", f"trap 'echo got {name}; n=1' {name}; : > up-{name};"
                  "while test -z \"$n\"; do sleep 0.05; done; sleep 0.5; exit 44")
    wait_for(at.path("up-" + name))
    child.send_signal(getattr(signal, "SIG" + name))
    out, err = child.communicate(timeout=20)
    expect(child.returncode == 44, f"{name}: {out} {err} {child.returncode}")
    return out.decode().splitlines()


@case
def signals_reach_the_command(at):
    for name in ("TERM", "INT", "HUP", "USR1", "QUIT"):
        got = signal_and_collect(at, name)
        expect(got and set(got) == {f"got {name}"}, f"{name}: {got}")


@case
def signals_come_once(at):
    for name in ("TERM", "HUP"):
        got = signal_and_collect(at, name)
        expect(got == [f"got {name}"], f"{name}: {got}")


@case
def a_signal_that_ends_the_command(at):
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        child = start(at, "sh", "-c", f": > up{number}; exec sleep 60")
        wait_for(at.path(f"up{number}"))
        child.send_signal(number)
        expect(child.wait(20) == 128 + number, f"{number}: {child.returncode}")
        child.communicate()


@case
def background_children_do_not_hold_the_run(at):
    marker = f"31{os.getpid():08d}"
    began = time.monotonic()
    done = at.run("sh", "-c", f"sleep {marker} & setsid sleep {marker} & (sleep {marker} &); echo ok")
    expect(done.stdout == "ok\n" and done.returncode == 0, "the run", done)
    expect(time.monotonic() - began < 15, "the run waited for them")
    expect(not gone(marker), "a background process lives on")


@case
def orphans_are_reaped(at):
    done = at.sh("for i in 1 2 3 4 5 6 7 8; do (sh -c 'sleep 0.05' &) ; done; sleep 0.6;"
                 "grep -l 'State:.Z' /proc/[0-9]*/status 2>/dev/null || echo none")
    expect(done.stdout == "none\n", "zombies inside", done)


@case
def sigkill_at_random_moments(at):
    marker = f"32{os.getpid():08d}"
    random.seed(1)
    for _ in range(30):
        child = start(at, "sh", "-c", f"setsid sleep {marker} & (trap '' TERM HUP; sleep {marker}) & sleep {marker}",
                      stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        time.sleep(random.random() * 0.08)
        child.kill()
        child.wait()
    left = gone(marker)
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    expect(not left, f"{len(left)} processes live on")
    expect(os.listdir(at.ws) == [], f"left in the workspace: {os.listdir(at.ws)}")


@case
def nothing_is_left(at):
    def host():
        with open("/proc/self/mountinfo", encoding="utf-8", errors="replace") as file:
            mounts = file.read().count("\n")
        ours = {folder: {n for n in os.listdir(folder) if "cordon" in n and not n.startswith("cordon-")}
                for folder in ("/tmp", "/var/tmp", "/dev/shm")}
        return mounts, ours
    at.outside_sh("git init -q .")
    before = host(), sorted(os.walk(at.ws))
    for _ in range(3):
        at.run("sh", "-c", "echo x > /tmp/cordonfile; echo x > /dev/shm/cordonfile; echo x > .mcp.json;"
               "mkdir .vscode; echo x > /var/tmp/cordonfile")
        at.run("sh", "-c", "kill -9 $$")
        at.run("sleep", "9", flags=["--timeout", "50ms"])
    expect((host(), sorted(os.walk(at.ws))) == before, "something is left on the host")


# --- environment --------------------------------------------------------------------------

DANGEROUS = ("LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT", "PYTHONPATH", "PYTHONSTARTUP", "NODE_OPTIONS",
             "RUBYOPT", "PERL5OPT", "PERL5LIB", "BASH_ENV", "ENV")
SECRETS = ("AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN", "ANTHROPIC_API_KEY", "MY_PASSWORD", "SSH_AUTH_SOCK")


def inside_environment(at, flags=(), env=()):
    env = at.env | {name: "/evil" for name in DANGEROUS} | {name: "secret" for name in SECRETS} | dict(env)
    env["LD_PRELOAD"] = ""  # the host's own loader would try it
    done = at.run("/usr/bin/env", "-0", flags=flags, env=env)
    expect(done.returncode == 0, "env", done)
    return dict(line.split("=", 1) for line in done.stdout.split("\0") if line)


@case
def the_environment_is_clean(at):
    inside = inside_environment(at, env={"HARMLESS": "x"})
    left = [n for n in (*DANGEROUS, *SECRETS, "HARMLESS") if n in inside]
    expect(not left, f"passed on: {left}")
    for name in ("PATH", "HOME", "TMPDIR"):
        expect(name in inside, f"{name} is missing: {inside}")


@case
def environment_flags(at):
    inside = inside_environment(at, flags=["--env", "GITHUB_TOKEN", "--env", "A=b=c", "--env", "E="])
    expect(inside["GITHUB_TOKEN"] == "secret" and inside["A"] == "b=c" and inside["E"] == "", f"{inside}")
    expect("MY_PASSWORD" not in inside, "another one came along")


@case
def inherited_environment(at):
    policy = at.write(at.outside + "/p.toml", 'version = 1\n[env]\nmode = "inherit"\n')
    inside = inside_environment(at, flags=["--policy", policy], env={"HARMLESS": "x"})
    expect(inside.get("HARMLESS") == "x", f"{inside}")
    left = [n for n in DANGEROUS if n in inside]
    expect(not left, f"dangerous names passed on: {left}")


# --- terminals ------------------------------------------------------------------------------

class Terminal:
    """A cordon on a pseudo terminal."""

    def __init__(self, at, *words, rows=33, columns=99):
        self.pid, self.fd = pty.fork()
        if self.pid == 0:
            os.chdir(at.ws)
            os.execve(BIN, [BIN, *words], at.env | {"TERM": "xterm", "PS1": "$ "})
        fcntl.ioctl(self.fd, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self.seen = ""

    def until(self, text, seconds=20):
        end = time.monotonic() + seconds
        while text not in self.seen:
            ready, _, _ = select.select([self.fd], [], [], max(0, end - time.monotonic()))
            expect(ready, f"{text!r} never came; so far {self.seen!r}")
            try:
                more = os.read(self.fd, 4096)
            except OSError:
                more = b""
            expect(more, f"it ended before {text!r}; so far {self.seen!r}")
            self.seen += more.decode(errors="replace")
        before, self.seen = self.seen.split(text, 1)
        return before

    def type(self, text):
        os.write(self.fd, text.encode())

    def end(self, seconds=20):
        until = time.monotonic() + seconds
        while time.monotonic() < until:
            if select.select([self.fd], [], [], 0.05)[0]:
                try:
                    self.seen += os.read(self.fd, 4096).decode(errors="replace")
                except OSError:
                    pass
            pid, status = os.waitpid(self.pid, os.WNOHANG)
            if pid:
                os.close(self.fd)
                return os.waitstatus_to_exitcode(status)
        os.kill(self.pid, signal.SIGKILL)
        os.waitpid(self.pid, 0)
        raise AssertionError(f"it did not end; so far {self.seen!r}")


@case
def run_on_a_terminal(at):
    terminal = Terminal(at, "run", "--", "sh", "-c",
                        "test -t 0 && test -t 1 && test -t 2 && echo all-tty; read x; stty size; exit 6")
    terminal.until("all-tty")
    terminal.type("go\n")
    terminal.until("33 99")
    expect(terminal.end() == 6, "the exit status")


@case
def the_window_size_follows(at):
    terminal = Terminal(at, "run", "--", "sh", "-c", "echo up; read x; stty size")
    terminal.until("up")
    fcntl.ioctl(terminal.fd, termios.TIOCSWINSZ, struct.pack("HHHH", 44, 111, 0, 0))
    time.sleep(0.3)
    terminal.type("\n")
    terminal.until("44 111")
    expect(terminal.end() == 0, "the exit status")


@case
def control_c_on_a_terminal(at):
    terminal = Terminal(at, "run", "--", "sh", "-c", "trap 'echo caught; exit 9' INT; echo up;"
                        "while :; do sleep 0.05; done")
    terminal.until("up")
    terminal.type("\x03")
    terminal.until("caught")
    expect(terminal.end() == 9, "the exit status")
    terminal = Terminal(at, "run", "--", "sh", "-c", "echo up; exec sleep 60")
    terminal.until("up")
    terminal.type("\x03")
    expect(terminal.end() == 130, "Ctrl-C ends a command with 130")


@case
def the_terminal_is_left_as_it_was(at):
    main_fd, side = pty.openpty()
    before = termios.tcgetattr(side)
    for script in ("stty raw -echo", "kill -9 $$", "exec sleep 9"):
        done = at.run("sh", "-c", script, flags=["--timeout", "300ms"], stdin=side, stdout=side, stderr=side)
        expect(termios.tcgetattr(side) == before, f"after {script!r} the terminal is another", done)
    os.close(main_fd)
    os.close(side)


@case
def only_stdin_is_a_terminal(at):
    main_fd, side = pty.openpty()
    done = at.run("sh", "-c", "test -t 0 && ! test -t 1 && echo ok", stdin=side)
    expect(done.stdout == "ok\n", "a redirected stdout is passed as it is", done)
    os.close(main_fd)
    os.close(side)


@case
def shell_with_job_control(at):
    at.env["SHELL"] = "/bin/bash"
    terminal = Terminal(at, "shell")
    terminal.type("PS1='%%'; stty -echo; echo be'gin'\n")
    terminal.until("begin")
    terminal.type("tty; set -o | grep monitor\n")
    expect("/dev/pts/" in terminal.until("monitor"), "no terminal")
    terminal.type("sleep 50\n")
    time.sleep(0.5)
    terminal.type("\x1a")
    terminal.until("Stopped")
    terminal.type("jobs; bg; echo in'back'\n")
    terminal.until("inback")
    terminal.type("fg\n")
    time.sleep(0.5)
    terminal.type("\x03")
    terminal.type("echo status-$?\n")
    terminal.until("status-130")
    terminal.type("echo x > made; exit 5\n")
    expect(terminal.end() == 5, "the exit status of the shell")
    expect(at.read("made") == "x\n", "the shell writes the workspace")


# --- limits ------------------------------------------------------------------------------------

@case
def limit_of_processes(at):
    done = at.run("bash", "-c", "for i in $(seq 60); do sleep 5 & done; jobs -r | wc -l; kill $(jobs -p)",
                  flags=["--processes", "20", "--timeout", "30s"])
    running = [int(word) for word in done.stdout.split()[:1]]
    expect(done.returncode != 0 or running and running[0] < 20, "60 processes ran", done)
    done = at.run("sh", "-c", "sleep 0 & sleep 0 & wait; echo fine", flags=["--processes", "20"])
    expect(done.stdout == "fine\n", "a few are allowed", done)


@case
def limit_of_memory(at):
    done = at.run(PYTHON, "-c", "import time; x = bytearray(400 << 20); x[::4096] = b'1' * len(x[::4096]);"
                  "time.sleep(20)", flags=["--json", "--memory", "100MiB", "--timeout", "30s"])
    told = outcome(done)
    expect(told["exit_status"] != 0 and told["exit_status"] != 124, f"the memory was given: {told}")
    if told["kind"] != "exited":  # by the tree; else the allocation itself failed
        expect(told["reason"] == "memory_limit", f"the kill is not named: {told}")
    expect(told["enforcement"]["limits.memory"]["level"] in ("full", "partial"), f"{told}")


@case
def limit_of_memory_over_the_tree(at):
    done = at.run("bash", "-c", "for i in 1 2 3 4 5 6; do /usr/bin/python3 -c 'import time;"
                  "x = b\"1\" * (40 << 20); time.sleep(20)' & done; wait; echo all-lived",
                  flags=["--json", "--memory", "100MiB", "--timeout", "40s"])
    told = outcome(done)
    expect(told["exit_status"] != 124, f"240 MiB were held: {told}")
    expect(told["reason"] == "memory_limit" or
           any(v["reason"] == "memory_limit" for v in told["violations"]), f"not named: {told}")


def busy(at):
    policy = at.write(at.outside + "/cpu.toml", 'version = 1\n[limits]\ncpu = "1s"\n')
    return at.run("sh", "-c", "while :; do :; done", flags=["--json", "--policy", policy, "--timeout", "30s"])


@case
def limits_by_policy_file(at):
    policy = at.write(at.outside + "/limits.toml", 'version = 1\n[limits]\nfile_size = "64kB"\n'
                      'open_files = 32\n')
    done = at.run("sh", "-c", "head -c 1000000 /dev/zero > big; echo after", flags=["--policy", policy])
    expect(os.path.getsize(at.path("big")) <= 65536, "a file over the limit", done)
    done = at.run(PYTHON, "-c", "x = [open('/dev/null') for i in range(100)]", flags=["--policy", policy])
    expect(done.returncode == 1 and "Too many open files" in done.stderr, "open files", done)


@case
def limit_of_processor_time(at):
    done = busy(at)
    expect(done.returncode not in (0, 124), "processor time", done)


@case
def limit_of_processor_time_is_named(at):
    expect(outcome(busy(at))["reason"] == "cpu_limit", "it is not named")


# --- policies -------------------------------------------------------------------------------------

TOML = """version = 1
preset = "workspace"
[fs]
deny_read = ["secret"]
deny_write = ["fixed"]
deny_new = ["*.evil"]
[env]
set = { COLOUR = "green" }
[limits]
wall = "20s"
"""


@case
def toml_and_json_say_the_same(at):
    at.write("secret", "s")
    at.write("fixed", "f")
    files = [at.write(at.outside + "/p.toml", TOML),
             at.write(at.outside + "/p.json", json.dumps(tomllib.loads(TOML)))]
    for file in files:
        done = at.run("sh", "-c", "echo $COLOUR; cat secret; echo x > fixed; echo x > a.evil; echo x > new;"
                      "rm new; ls", flags=["--policy", file])
        expect(done.stdout.split()[0] == "green", file, done)
        expect(at.read("fixed") == "f" and not os.path.exists(at.path("a.evil")), file, done)
        expect("s" not in done.stdout.split(), f"{file}: the secret was read", done)


@case
def an_untrusted_workspace_policy_only_narrows(at):
    at.write("secret", "s")
    at.write(".cordon.toml", 'version = 1\n[fs]\ndeny_read = ["secret"]\n')
    done = at.run("cat", "secret")
    expect(done.returncode != 0 and done.stdout == "", "it does not narrow", done)
    wide = f'version = 1\n[fs]\nwrite = ["{at.outside}"]\n[env]\nmode = "inherit"\n'
    at.write(".cordon.toml", wide)
    script = f"echo x > {at.outside}/made; echo $HARMLESS"
    env = at.env | {"HARMLESS": "inherited"}
    done = at.run("sh", "-c", script, env=env)
    expect(not os.path.exists(at.outside + "/made") and "inherited" not in done.stdout,
           "an untrusted file widened", done)
    trust = subprocess.run([BIN, "policy", "trust"], cwd=at.ws, env=at.env, capture_output=True,
                           text=True, timeout=30, check=False)
    expect(trust.returncode == 0, "policy trust", trust)
    at.reads = ("--read", at.home)
    done = at.run("sh", "-c", script, env=env)
    expect(os.path.exists(at.outside + "/made") and done.stdout == "inherited\n", "trusted, it widens", done)
    os.unlink(at.outside + "/made")
    at.write(".cordon.toml", wide + "# changed\n")
    done = at.run("sh", "-c", script, env=env)
    expect(not os.path.exists(at.outside + "/made"), "a change does not end the trust", done)


@case
def a_command_cannot_change_its_policy(at):
    at.write(".cordon.toml", "version = 1\n")
    at.run("sh", "-c", "echo x > .cordon.toml; rm -f .cordon.toml; mv .cordon.toml y; ln -sf x .cordon.toml;"
           f"echo x > {at.home}/.local/state/cordon/trusted; {BIN} policy trust")
    expect(at.read(".cordon.toml") == "version = 1\n", "the policy was changed")
    os.unlink(at.path(".cordon.toml"))
    done = at.run("sh", "-c", "echo 'version = 1' > .cordon.toml")
    expect(done.returncode != 0 and not os.path.exists(at.path(".cordon.toml")), "it was made", done)


@case
def a_policy_in_a_writable_root_is_refused(at):
    inside = at.write("p.toml", "version = 1\n")
    refused(at.run("true", flags=["--policy", inside]), ["p.toml"])
    refused(at.run("true", flags=["--policy", "p.toml"]), ["p.toml"])
    link = at.outside + "/link.toml"
    os.symlink(inside, link)
    refused(at.run("true", flags=["--policy", link]), ["toml"])


if __name__ == "__main__":
    sys.exit(main("run"))
