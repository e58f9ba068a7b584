#!/usr/bin/python3
"""Repositories that were there before the run: what git on the host runs or reads cannot be written, wherever
it lies and however it is hidden or linked."""
import os
import shutil
import subprocess
import sys

from fixture import Suite

SUITE = Suite("repositories")
PLANTED = "planted"
GIT = ["git", "-c", "user.name=t", "-c", "user.email=t@example.com"]


def git(folder, *words):
    return subprocess.run([*GIT, "-C", folder, *words], check=True, capture_output=True, text=True).stdout


def sh(f, profile, line, flags=()):
    return f.run(profile, ["sh", "-c", line, f.base], flags=flags)


# Every way to get `planted` behind a name that exists or not. `$1` is the name; each way that works is told.
WAYS = f"""
n=$1; t=desk/tmp; mkdir -p "$(dirname "$n")" desk
got() {{ if grep -qs {PLANTED} "$n"; then echo "@$1"; fi; echo {PLANTED} > $t; }}
got none
dd if=$t of="$n" conv=notrunc,nocreat status=none; got open
cat $t >> "$n"; got create
cp $t "$n"; got copy
mv -f $t "$n"; got rename
ln -f $t "$n"; got link
ln -sfn "$PWD/$t" "$n"; got symlink
chmod 777 "$n" && echo @mode
mkdir "$n" && echo @directory && rmdir "$n"
mv "$n" desk/away && echo @away && mv desk/away "$n"
rm -rf "$n"; cat $t > "$n"; got again
rm -rf "$n"; mkdir "$n" && echo @directory
true
"""


def planted(f, profile, name):
    """The ways by which the command could change what the name leads to. The tree is as before afterwards."""
    shutil.copytree(f.ws, f.base + "/kept", symlinks=True)
    done = f.run(profile, ["sh", "-c", WAYS, f.base, name])
    assert done.returncode == 0, done
    shutil.rmtree(f.ws)
    os.rename(f.base + "/kept", f.ws)
    return sorted(set(word[1:] for word in done.stdout.decode().split() if word.startswith("@")))


def protected(f, profile, *names):
    for name in names:
        got = planted(f, profile, name)
        assert not got, f"{name} could be changed by {got}"


def pinned(f, profile, *names):
    """Directories on the way: written in, but neither replaced nor moved."""
    for name in names:
        got = planted(f, profile, name)
        assert got in ([], ["mode"]), f"{name} could be changed by {got}"


def free(f, profile, *names):
    """The same ways, where they are allowed: they do work."""
    for name in names:
        got = planted(f, profile, name)
        assert {"create", "rename", "again"} <= set(got), f"{name} could be changed only by {got}"


# A repository in a directory that its owner cannot look into.

@SUITE.test("FSW-07 chmod")
def a_hidden_repository_is_not_forgotten(f, profile):
    assert sh(f, profile, "mkdir x && git init -q x && chmod 000 x").returncode == 0
    again = "chmod 700 x && echo '[core]' >> x/.git/config && echo RAN"
    done = sh(f, profile, again)
    if os.geteuid() == 0 and done.returncode != 125:
        # Root looks in all the same, and the repository is protected.
        assert b"RAN" not in done.stdout, done
        assert "repositoryformatversion" in git(f.ws + "/x", "config", "--list"), done
    else:
        assert done.returncode == 125 and b"RAN" not in done.stdout, done
        assert (f.ws + "/x").encode() in done.stderr and b"cannot look into" in done.stderr, done
        told = f.run(profile, ["true"], flags=["--json"])
        assert b"scan_blocked" in told.stdout + told.stderr, told
    os.chmod(f.ws + "/x", 0o755)
    done = sh(f, profile, again)
    assert done.returncode != 0 and b"RAN" not in done.stdout, "its configuration is writable"
    done = sh(f, profile, "echo y > x/file && git -C x status && echo RAN")
    assert done.returncode == 0 and b"RAN" in done.stdout, done


@SUITE.test("FSW-07 chmod")
def directories_that_can_be_read_are_no_reason(f, profile):
    """0500 can be looked into, and what is in it is found."""
    os.mkdir(f.ws + "/x")
    f.repository(f.ws + "/x")
    os.chmod(f.ws + "/x", 0o500)
    done = sh(f, profile, "chmod 700 x; echo evil >> x/.git/config; echo fine > desk/file && echo RAN")
    assert done.returncode == 0 and done.stdout.endswith(b"RAN\n"), done
    with open(f.ws + "/x/.git/config") as file:
        assert "evil" not in file.read()


# What a configuration makes git run or read.

@SUITE.test("FSW-07 hooksPath")
def the_hooks_directory_that_is_configured(f, profile):
    free(f, profile, "tools-hooks/pre-commit", "other/pre-commit")
    f.write(f.ws + "/.git/config", "[core]\n\thooksPath = tools/hooks\n[core] fsmonitor = tools/watch.sh\n")
    f.write(f.ws + "/tools/hooks/pre-commit", "#!/bin/sh\n", 0o755)
    f.write(f.ws + "/tools/watch.sh", "#!/bin/sh\n", 0o755)
    f.write(f.ws + "/tools/build.sh", "#!/bin/sh\n", 0o755)
    protected(f, profile, "tools/hooks/pre-commit", "tools/hooks/post-checkout", "tools/hooks", "tools/watch.sh")
    free(f, profile, "tools/build.sh", "hooks/pre-commit")


@SUITE.test("FSW-07 hooksPath")
def a_configured_hooks_directory_that_is_not_there_yet(f, profile):
    f.write(f.ws + "/.git/config", "[core]\n\tHOOKSPATH = \"githooks\"\n")
    protected(f, profile, "githooks", "githooks/pre-commit")
    free(f, profile, "githooks2")


@SUITE.test("FSW-07 include")
def files_that_a_configuration_includes(f, profile):
    f.write(f.ws + "/.git/config", "[include]\n\tpath = ../team.ini\n"
            f"[includeIf \"gitdir:{f.ws}/\"]\n\tpath = {f.ws}/team/late.ini\n")
    f.write(f.ws + "/team.ini", "[include]\n\tpath = second.ini\n[alias]\n\tx = status\n")
    f.write(f.ws + "/second.ini", "[core]\n\thooksPath = deep-hooks\n")
    f.write(f.ws + "/plain.ini", "[core]\n")
    # git reads them: what is written there is obeyed.
    assert git(f.ws, "config", "--includes", "alias.x").strip() == "status"
    protected(f, profile, "team.ini", "second.ini", "team/late.ini", "deep-hooks/pre-commit")
    free(f, profile, "plain.ini", "late.ini")


# Bare repositories.

@SUITE.test("FSW-07 bare")
def a_bare_repository_as_workspace(f, profile):
    shutil.rmtree(f.ws + "/.git")
    subprocess.run([*GIT, "init", "-q", "--bare", f.ws], check=True, capture_output=True)
    protected(f, profile, "config", "hooks/pre-commit", "hooks", "config.worktree")
    free(f, profile, "description", "objects/info/alternates")
    assert git(f.ws, "rev-parse", "--is-bare-repository").strip() == "true"


@SUITE.test("FSW-07 bare")
def the_workspace_is_not_made_a_bare_repository(f, profile):
    """HEAD is what makes one of a directory with objects, refs and a configuration."""
    shutil.rmtree(f.ws + "/.git")
    make = "mkdir -p objects refs && echo '[core] fsmonitor = x' > config && echo ref: refs/heads/x > HEAD"
    done = sh(f, profile, make)
    assert done.returncode != 0 and not os.path.lexists(f.ws + "/HEAD"), done
    assert subprocess.run([*GIT, "-C", f.ws, "rev-parse", "--git-dir"], capture_output=True,
                          check=False).returncode != 0
    subprocess.run(["sh", "-c", make], cwd=f.ws, check=True)
    assert git(f.ws, "rev-parse", "--git-dir").strip() == "."  # on the host it is one
    os.unlink(f.ws + "/HEAD")
    free(f, profile, "head", "sub/HEAD")


# Protected names that are links.

@SUITE.test("FSW-07 LNK")
def a_repository_that_is_a_link(f, profile):
    shutil.rmtree(f.ws + "/.git")
    os.mkdir(f.ws + "/store")
    f.repository(f.ws + "/store")
    os.rename(f.ws + "/store/.git", f.ws + "/store/real")
    os.symlink("store/real", f.ws + "/.git")
    protected(f, profile, "store/real/config", "store/real/hooks/pre-commit", "store/real/hooks", ".git/config")
    pinned(f, profile, ".git", "store/real", "store")
    free(f, profile, "store/file", ".git/description")


@SUITE.test("FSW-07 LNK")
def a_trust_file_that_is_a_link(f, profile):
    f.write(f.ws + "/conf/mcp.json", "{}\n")
    os.symlink("conf/mcp.json", f.ws + "/.mcp.json")
    os.symlink("conf/later.sh", f.ws + "/.envrc")  # leads nowhere yet
    protected(f, profile, ".mcp.json", "conf/mcp.json", ".envrc", "conf/later.sh")
    pinned(f, profile, "conf")
    free(f, profile, "conf/other.json")


@SUITE.test("FSW-07 LNK")
def a_trust_directory_that_is_a_link(f, profile):
    f.write(f.ws + "/conf/editor/tasks.json", "{}\n")
    os.symlink("conf/editor", f.ws + "/middle")
    os.symlink("middle", f.ws + "/.vscode")
    protected(f, profile, ".vscode", ".vscode/tasks.json", ".vscode/settings.json", "middle", "conf/editor/tasks.json",
              "conf/editor/launch.json", "conf/editor")
    pinned(f, profile, "conf")
    free(f, profile, "conf/tasks.json", "conf/editor2")


if __name__ == "__main__":
    sys.exit(SUITE.main())
