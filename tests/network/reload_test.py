#!/usr/bin/python3
"""Policy files that change while a command runs by them: names are allowed and denied from
then on, what cannot be used changes nothing, and the command cannot change its own rules."""
import json
import os
import subprocess
import sys
import threading

import world
from contained import CORDON, Skipped, case, expect

WORLD = None
ASK = "while read -r words; do eval \"$words\"; done"
FIRST, SECOND, EVIL = "http://allowed.test/", "http://x.wild.test/", "http://evil.test/"


class Session:
    """A shell inside that does what it is told, one line at a time."""

    def __init__(self, at, *flags):
        words = [*CORDON, "run", *at.reads, *flags, "--", "sh", "-c", ASK]
        self.process = subprocess.Popen(words, cwd=at.ws, env=at.env, stdin=subprocess.PIPE,
                                        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.said, self.heard = "", threading.Condition()
        threading.Thread(target=self.listen, daemon=True).start()
        expect(self.tell("echo runs") == "runs", "it does not run")

    def listen(self):
        for line in self.process.stderr:
            with self.heard:
                self.said += line
                self.heard.notify_all()

    def until(self, text):
        """Waits until it says `text` on stderr; forgets what it said."""
        with self.heard:
            expect(self.heard.wait_for(lambda: text in self.said, 60), f"never said {text!r}: {self.said}")
            said, self.said = self.said, ""
        return said

    def tell(self, line):
        self.process.stdin.write(line + "\n")
        self.process.stdin.flush()
        return self.process.stdout.readline().strip()

    def codes(self, *urls):
        return [self.tell(f"curl -s -m 60 -o /dev/null -w '%{{http_code}}\\n' {url}") for url in urls]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.wait(60)
        self.process.stdout.close()


def allow(*names):
    listed = ", ".join(f'"{name}"' for name in names)
    return f'version = 1\n[net]\nmode = "proxy"\nallow = {{ only = [{listed}] }}\n'


def rewrite(path, text, mode=0o644):
    """As an editor does: whole or not at all."""
    with open(path + ".new", "w", encoding="utf-8") as out:
        out.write(text)
    os.chmod(path + ".new", mode)
    os.replace(path + ".new", path)


@case
def names_change_while_it_runs(at):
    path = at.write(os.path.join(at.outside, "policy.toml"), allow("allowed.test"))
    with Session(at, "--policy", path) as run:
        expect(run.codes(FIRST, SECOND) == ["200", "403"], "before")
        rewrite(path, allow("x.wild.test"))
        run.until("policy read anew")
        expect(run.codes(FIRST, SECOND) == ["403", "200"], "after")
        expect(run.tell(f"( {world.UNPROXIED.replace(chr(10), ';')} curl -s {SECOND} )") == "welcome /", "captured")
        rewrite(path, allow("x.wild.test") + '[[net.rule]]\nhost = "x.wild.test"\npaths = ["/v1/**"]\n')
        run.until("policy read anew")
        expect(run.codes(SECOND, SECOND + "v1/a") == ["403", "200"], "rules of requests")
        rewrite(path, allow("x.wild.test").replace('"proxy"', '"none"'))
        run.until("policy read anew")
        expect(run.codes(SECOND) == ["403"], "no network at all")


@case
def what_cannot_be_used_changes_nothing(at):
    path = at.write(os.path.join(at.outside, "policy.toml"), allow("allowed.test"))
    with Session(at, "--policy", path) as run:
        for text in ("[net\n", allow("x.wild.test") + "surprise = 1\n", allow("*"),
                     allow("x.wild.test").replace('"proxy"', '"open"')):
            rewrite(path, text)
            run.until("the last good policy stays")
            expect(run.codes(FIRST, SECOND) == ["200", "403"], f"after {text!r}")
        os.unlink(path)
        run.until("the last good policy stays")
        rewrite(path, allow("x.wild.test"))
        run.until("policy read anew")
        expect(run.codes(FIRST, SECOND) == ["403", "200"], "good again")


@case
def settings_of_another_tool_are_watched(at):
    def allow_there(*names):
        return json.dumps({"network": {"allowedDomains": names}, "filesystem": {"allowWrite": ["."]}})
    path = at.write(os.path.join(at.outside, "srt-settings.json"), allow_there("allowed.test"))
    with Session(at, "--settings", path) as run:
        expect(run.codes(FIRST, SECOND) == ["200", "403"], "before")
        for text in ("{", '{"network": 1}', '{"network": {"deniedDomains": ["https://x/"]}}'):
            rewrite(path, text)
            run.until("the last good policy stays")
            expect(run.codes(FIRST, SECOND) == ["200", "403"], f"after {text!r}")
        rewrite(path, allow_there("x.wild.test"))
        run.until("policy read anew")
        expect(run.codes(FIRST, SECOND) == ["403", "200"], "after")


@case
def the_users_own_file_counts(at):
    path = at.write(os.path.join(at.home, ".config/cordon/policy.toml"), allow("allowed.test"))
    with Session(at) as run:
        expect(run.codes(FIRST, SECOND) == ["200", "403"], "before")
        rewrite(path, allow("x.wild.test"))
        run.until("policy read anew")
        expect(run.codes(FIRST, SECOND) == ["403", "200"], "after")


@case
def open_connections_that_are_denied_now_are_cut(at):
    path = at.write(os.path.join(at.outside, "policy.toml"), allow("ssh.test:22", "port.test:8443"))
    code = at.write(os.path.join(at.outside, "hold.py"),
                    "import socket\ns = socket.create_connection(('ssh.test', 22))\nprint(s.recv(99), flush=True)\n"
                    "try:\n    print(s.recv(99))\nexcept OSError as problem:\n    print(problem)\n")
    with Session(at, "--policy", path) as run:
        expect("SSH-2.0" in run.tell(f"{world.PYTHON} {code}"), "it is reached")
        rewrite(path, allow("port.test:8443"))
        run.until("policy read anew")
        left = run.process.stdout.readline()
        expect("reset" in left or "b''" in left, f"it is left open: {left}")


@case
def the_command_cannot_change_its_own_rules(at):
    path = at.write("policy.toml", allow("allowed.test"))
    at.write("wider", allow("evil.test"))
    trust = [*CORDON, "policy", "trust", path]
    subprocess.run(trust, check=True, env=at.env, cwd=at.ws, capture_output=True)
    with Session(at, "--policy", path) as run:
        expect(run.tell("cat wider > policy.toml && echo written") == "written", "the file is its own")
        said = run.until("the last good policy stays")
        expect("writable root" in said, said)
        expect(run.codes(FIRST, EVIL) == ["200", "403"], "it has changed its rules")
        # The person may.
        subprocess.run(trust, check=True, env=at.env, cwd=at.ws, capture_output=True)
        rewrite(path, allow("evil.test"))
        run.until("policy read anew")
        expect(run.codes(FIRST, EVIL) == ["403", "200"], "what was trusted")


@case
def a_link_that_the_command_turns_leads_nowhere_new(at):
    path = at.write(os.path.join(at.outside, "policy.toml"), allow("allowed.test"))
    wider = at.write(os.path.join(at.outside, "wider.toml"), allow("evil.test"))
    os.symlink(path, at.path("link.toml"))
    with Session(at, "--policy", at.path("link.toml")) as run:
        expect(run.tell(f"ln -sf {wider} link.toml && echo turned") == "turned", "the link is its own")
        rewrite(path, allow("allowed.test", "x.wild.test"))
        run.until("policy read anew")
        expect(run.codes(FIRST, SECOND, EVIL) == ["200", "200", "403"], "the link was followed")


@case
def a_file_that_only_root_may_read(at):
    if not os.environ["CORDON_FAKENET"].startswith("0 "):
        raise Skipped("root alone gives up what it may read")
    path = at.write(os.path.join(at.outside, "policy.toml"), allow("allowed.test"), 0o600)
    with Session(at, "--policy", path) as run:
        rewrite(path, allow("x.wild.test"), 0o600)
        said = run.until("may not read it")
        expect("last good policy stays" in said, said)
        expect(run.codes(FIRST, SECOND) == ["200", "403"], "before")
        rewrite(path, allow("x.wild.test"))
        run.until("policy read anew")
        expect(run.codes(FIRST, SECOND) == ["403", "200"], "after")


if __name__ == "__main__":
    WORLD = world.start()
    sys.exit(world.main("reload", WORLD))
