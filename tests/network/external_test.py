#!/usr/bin/python3
"""A proxy of the user's own that is started for the run (net.external.command): told its
port, the only way out, and gone with all that it started when the run is."""
import json
import os
import signal
import subprocess
import sys
import time

import world
from contained import BIN, CORDON, case, expect, need
from world import EVIL, PYTHON, UNPROXIED

WORLD = None
# Says who it is. Its child has left the session and lost its parent.
PROXY = '''
import http.server, json, os, subprocess, sys
stray = int(subprocess.run(["sh", "-c", "setsid sleep 987 >/dev/null 2>&1 & echo $!"],
                           stdout=subprocess.PIPE).stdout)

class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path.endswith("/end"):
            os.kill(stray, 9)
            os._exit(3)
        body = json.dumps({"asked": self.path, "uid": os.getuid(), "pids": [os.getpid(), stray],
                           "user": os.environ.get("MARK")}).encode()
        self.send_response(200)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass

http.server.ThreadingHTTPServer(("127.0.0.1", int(os.environ["CORDON_PROXY_PORT"])), Handler).serve_forever()
'''


def external(at, *command):
    return world.policy(at, f'[net]\nmode = "proxy"\nexternal = {{ command = {json.dumps(command)} }}\n')


def our_proxy(at):
    return external(at, PYTHON, at.write(os.path.join(at.outside, "proxy.py"), PROXY))


def alive(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="utf-8") as file:
            return file.read().rsplit(")", 1)[1].split()[0] != "Z"
    except OSError:
        return False


def gone(pids):
    while any(map(alive, pids)):  # the test's own time limit ends this
        time.sleep(0.02)


@case
def it_is_started_and_used(at):
    at.env["MARK"] = "the caller's"
    done = at.run("curl", "-sS", "http://anything.test/x", flags=our_proxy(at))
    expect(done.returncode == 0, "the proxy is not reached", done)
    told = json.loads(done.stdout)
    expect(told["asked"] == "http://anything.test/x" and told["user"] == "the caller's", f"{told}", done)
    caller = int(os.environ["CORDON_FAKENET"].split()[0])
    expect(told["uid"] == (caller or 65534), f"not an ordinary user: {told}", done)
    expect(not any(map(alive, told["pids"])), "it outlives the run")


@case
def it_is_the_only_way_out(at):
    flags = our_proxy(at)
    for host in ("allowed.test", EVIL, "127.0.0.1"):
        done = at.run("sh", "-c", f"{UNPROXIED}curl -sS -m 60 http://{host}/", flags=flags)
        expect(done.returncode != 0 and not done.stdout, f"{host} was reached past it", done)
    WORLD.nothing_came()
    done = at.run("sh", "-c", "curl -sS -m 60 -x http://127.0.0.1:3128 http://allowed.test/", flags=flags)
    expect("allowed.test" in done.stdout, "the proxy itself", done)


@case
def when_it_ends_nothing_passes(at):
    done = at.run("sh", "-c", "curl -sS http://a.test/ >/dev/null && echo there; curl -sS http://a.test/end; "
                  "curl -sS -m 60 http://allowed.test/ || echo nothing", flags=our_proxy(at))
    expect(done.stdout == "there\nnothing\n", "not closed", done)
    WORLD.nothing_came(done)


@case
def what_does_not_serve_stops_the_run(at):
    for command, word in ((("/nonexistent/proxy",), "not found"), (("no-such-proxy-here",), "not found"),
                          (("sh", "-c", "exit 3"), "status 3"), (("sh", "-c", "kill -9 $$"), "signal 9"),
                          (("sh", "-c", "exec sleep 60"), "did not listen")):
        done = at.run("echo", "ran", flags=("--json", *external(at, *command)))
        expect(done.returncode == 125 and word in done.stderr + done.stdout, f"{command} is not told", done)
        expect("external_failed" in done.stderr + done.stdout and '"ran' not in done.stdout, f"{command}", done)


@case
def a_program_that_the_command_can_write_is_refused(at):
    script = at.write("proxy", "#!/bin/sh\nexec sleep 60\n", 0o755)
    done = at.run("echo", "ran", flags=external(at, script))
    expect(done.returncode == 125 and "writable root" in done.stderr and not done.stdout, "it was run", done)


@case
def it_ends_with_a_killed_supervisor(at):
    flags = our_proxy(at)
    words = [*CORDON, "run", *at.reads, *flags, "--", "sh", "-c", "curl -sS http://a.test/; echo; sleep 986"]
    for number in (signal.SIGKILL, signal.SIGTERM):
        with subprocess.Popen(words, cwd=at.ws, env=at.env, stdin=subprocess.DEVNULL,
                              stdout=subprocess.PIPE, text=True) as process:
            told = json.loads(process.stdout.readline())
            expect(all(map(alive, told["pids"])), "it is not there while the run is")
            process.send_signal(number)
        gone(told["pids"])


def cordons_own(at, more=""):
    return world.policy(at, f'[net]\nmode = "proxy"\nexternal = {{ command = ["sh", "-c", "exec {BIN} proxy '
                        f'--listen 127.0.0.1:$CORDON_PROXY_PORT --allow-domain ssh.test:22"] }}\n{more}')


@case
def ssh_goes_by_the_proxy(at):
    flags = cordons_own(at)
    need("ssh", "git")
    WORLD.forget()
    done = at.run("sh", "-c", "git ls-remote ssh://git@ssh.test/repo", flags=flags)
    expect(len(WORLD.greeted) == 1 and WORLD.greeted[0].startswith(b"SSH-2.0-OpenSSH"), f"{WORLD.greeted}", done)
    done = at.run("sh", "-c", "git ls-remote ssh://git@evil.test/repo", flags=flags)
    expect(len(WORLD.greeted) == 1 and "evil.test" in done.stderr and "403" in done.stderr, "not told why", done)
    done = at.run("sh", "-c", "echo $GIT_SSH_COMMAND", flags=cordons_own(at, '[env.set]\nGIT_SSH_COMMAND = "mine"\n'))
    expect(done.stdout == "mine\n", "the policy's own word", done)
    done = at.run("sh", "-c", "echo ${GIT_SSH_COMMAND-captured}", flags=world.NET)
    expect(done.stdout == "captured\n", "where ssh needs none, the repository's own choice holds", done)


@case
def any_stream_goes_by_the_proxy(at):
    """cordon connect, by HTTP and by SOCKS5; with no proxy named it dials."""
    for before, code in (("", 0), ("unset HTTPS_PROXY https_proxy;", 0),
                         (world.UNPROXIED.replace("\n", ";"), 0)):
        WORLD.forget()
        done = at.run("sh", "-c", f"{before} echo hello | {BIN} connect ssh.test 22", flags=world.NET)
        expect(done.returncode == code and done.stdout == "SSH-2.0-fake\n", "not reached", done)
        expect(WORLD.greeted == [b"hello\n"], f"{WORLD.greeted}", done)
        done = at.run("sh", "-c", f"{before} echo hello | {BIN} connect evil.test 22", flags=world.NET)
        expect(done.returncode == 1 and not done.stdout and WORLD.greeted == [b"hello\n"], "denied", done)
    expect(at.run(BIN, "connect", "a b", "22", flags=world.NET).returncode == 1, "no name at all")


if __name__ == "__main__":
    WORLD = world.start()
    sys.exit(world.main("external", WORLD))
