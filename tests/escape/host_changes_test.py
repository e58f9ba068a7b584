#!/usr/bin/python3
"""The host goes on working during a run: what it replaces, moves or makes is protected like what was there.

A mount stays on the file it was put on, so a file that takes the place of a
protected one is bare until the supervisor has seen it. That takes a moment, so
each attack is repeated until it is refused, and must be refused from then on.
"""
import os
import shutil
import subprocess
import sys

from fixture import SECRET, Suite, settle

SUITE = Suite("host_changes")
PATIENCE = 10.0  # until what should have happened long ago counts as never
# One line of shell after the other; each is answered by whether it worked.
ANSWERING = 'echo up; while read -r line; do if (eval "$line") 2>&1; then echo @yes; else echo @no; fi; done'


class Run:
    """A command inside that does what it is told."""

    def __init__(self, f, profile, flags=()):
        self.process = f.start(f.command(profile, ["sh", "-c", ANSWERING, f.base], flags), cwd=f.ws,
                               env=f.environment(), stdin=-1, stdout=-1, stderr=subprocess.STDOUT)
        assert self.process.stdout.readline() == b"up\n"
        self.output = ""

    def can(self, line):
        self.process.stdin.write(line.encode() + b"\n")
        self.process.stdin.flush()
        self.output = ""
        while (answer := self.process.stdout.readline().decode()) not in ("@yes\n", "@no\n"):
            assert answer, f"the run ended: {self.process.wait()} {self.output}"
            self.output += answer
        return answer == "@yes\n"

    def refuses(self, *lines):
        for line in lines:
            assert not settle(lambda line=line: self.can(line), PATIENCE), f"never refused: {line}"
        for line in lines * 3:
            assert not self.can(line), f"refused only for a while: {line}"

    def end(self):
        self.process.stdin.close()
        assert self.process.wait(timeout=30) == 0, self.process.returncode


def appending(name):
    """An ordinary open, and one that could create: only the second asks the broker."""
    return (f"echo evil | dd of={name} conv=notrunc,nocreat oflag=append status=none",
            f"echo evil >> {name}")


def put(target, text):
    with open(target, "w") as file:
        file.write(text)


def replace(target, text):
    """As git and most editors save: a new file, renamed over the old one."""
    put(target + ".lock", text)
    os.rename(target + ".lock", target)


def keep_a_backup(target, text):
    """As other editors save: the old file steps aside and stays."""
    os.rename(target, target + "~")
    put(target, text)


def remove_and_make(target, text):
    os.unlink(target)
    put(target, text)


WAYS = (replace, keep_a_backup, remove_and_make)


def content(name):
    with open(name) as file:
        return file.read()


def replaced_by_the_host(f, profile, name, way):
    target = f"{f.ws}/{name}"
    f.write(target, "first\n")
    run = Run(f, profile)
    assert not any(run.can(line) for line in appending(name)), "it was never protected"
    way(target, "new\n")
    # The host can: nothing but the sandbox is in the way.
    with open(target, "a") as file:
        file.write("host\n")
    run.refuses(*appending(name))
    run.refuses(f"mv {name} gone", f"rm -f {name}", f"ln -f {name} other", f"chmod 666 {name}")
    before = content(target)
    assert before.startswith("new\nhost\n"), before
    assert run.can(f"cat {name}") and run.output == before, run.output
    assert not any(run.can(line) for line in appending(name))
    assert content(target) == before
    run.end()


@SUITE.test("FSW-07 RACE")
def git_config_is_replaced(f, profile):
    replaced_by_the_host(f, profile, ".git/config", replace)


@SUITE.test("FSW-07 RACE")
def settings_of_an_agent_are_saved(f, profile):
    for number, way in enumerate(WAYS):
        f.write(f"{f.ws}/desk/{number}/.git/HEAD", "ref: refs/heads/main\n")
        replaced_by_the_host(f, profile, f"desk/{number}/.mcp.json", way)


@SUITE.test("FSW-07 RACE")
def a_hook_is_replaced_with_its_directory(f, profile):
    hooks = f.ws + "/.git/hooks"
    run = Run(f, profile)
    os.rename(hooks, hooks + ".old")
    os.mkdir(hooks)
    put(hooks + "/pre-commit", "#!/bin/sh\n")
    run.refuses(*appending(".git/hooks/pre-commit"), "echo x > .git/hooks/post-checkout",
                "mv .git/hooks h")
    with open(hooks + "/pre-commit", "a") as file:
        file.write("# host\n")
    before = content(hooks + "/pre-commit")
    assert not any(run.can(line) for line in appending(".git/hooks/pre-commit"))
    assert content(hooks + "/pre-commit") == before and os.listdir(hooks) == ["pre-commit"]
    run.end()


@SUITE.test("FSR-04 RACE")
def a_denied_file_is_replaced(f, profile):
    """ws/.env is denied by every profile."""
    for way in WAYS:
        run = Run(f, profile)
        way(f.ws + "/.env", SECRET + "\n")
        assert SECRET in content(f.ws + "/.env")
        run.refuses(f"grep {SECRET} .env")
        run.end()


@SUITE.test("FSR-04 RACE")
def credentials_that_come_later(f, profile):
    shutil.rmtree(f.home + "/.aws")
    run = Run(f, profile, ["--read", f.home])
    for name in (".npmrc", ".aws/credentials", ".config/gh/token"):
        put_below(f.home, name, SECRET + "\n")
        assert SECRET in content(f"{f.home}/{name}")
        run.refuses(f"grep {SECRET} {f.home}/{name}")
        for way in WAYS:
            way(f"{f.home}/{name}", SECRET + "\n")
            run.refuses(f"grep {SECRET} {f.home}/{name}")
    # The file is masked, the place is not closed.
    put_below(f.home, "notes", "fine\n")
    assert run.can(f"cat {f.home}/notes") and run.output == "fine\n", run.output
    run.end()


def put_below(folder, name, text):
    os.makedirs(os.path.dirname(f"{folder}/{name}"), exist_ok=True)
    put(f"{folder}/{name}", text)


@SUITE.test("FSW-07")
def what_is_not_protected_stays_usable(f, profile):
    for number, way in enumerate(WAYS):
        target, name = f"{f.ws}/desk/notes{number}", f"desk/notes{number}"
        put(target, "first\n")
        run = Run(f, profile)
        way(target, "new\n")
        assert run.can(f"cat {name}") and run.output == "new\n", run.output
        for line in appending(name):
            assert run.can(line), (line, run.output)
        assert content(target) == "new\nevil\nevil\n"
        # A protected file beside it changes nothing about that.
        replace(f.ws + "/.git/config", "[core]\n")
        run.refuses(*appending(".git/config"))
        assert run.can(f"echo more >> {name}; mv {name} desk/moved; rm desk/moved"), run.output
        run.end()


@SUITE.test("FSW-20")
def names_that_the_host_removes_stay_protected(f, profile):
    f.write(f.ws + "/.mcp.json", "{}\n")
    run = Run(f, profile)
    os.unlink(f.ws + "/.mcp.json")
    run.refuses("echo x > .mcp.json", "ln -s desk .mcp.json", "mkdir .mcp.json", "mv desk .mcp.json")
    assert not os.path.lexists(f.ws + "/.mcp.json")
    assert run.can("echo x > mcp.json"), run.output
    run.end()


if __name__ == "__main__":
    sys.exit(SUITE.main())
