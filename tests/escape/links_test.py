#!/usr/bin/python3
"""Links and trust files: no link, rename or new name gets at what is protected.

`top` is the workspace's own repository, `ws` one of its own below it; both are
there when the run starts.
"""
import ctypes
import os
import shutil
import socket
import stat

from fixture import (CONTENT, Refused, Suite, call, link_open_file, path, secret_in, spill)

AT_FDCWD = -100
EXCHANGE = 2
BOTH = ("top", "ws")


def repositories_unchanged(f):
    """The nested repositories lie in ws/desk, which the suite does not compare."""
    problems = []
    for name in os.listdir(f.ws + "/desk"):
        git = f"{f.ws}/desk/{name}/.git"
        if not name.startswith("ws-") or name.endswith("-twin"):
            continue
        try:
            with open(git + "/config") as config:
                sound = "repositoryformatversion" in config.read()
            sound = sound and os.listdir(git + "/hooks") == ["pre-commit.sample"]
            sound = sound and not os.path.islink(git) and not os.path.islink(git + "/hooks")
        except OSError as error:
            sound = error
        if sound is not True:
            problems.append(f"repository of {name} changed: {sound}")
    return problems



def with_a_repository(fixture, folder):
    # A repository is a mount of its own, and nothing is renamed across mounts.
    if not folder.endswith("-twin"):
        fixture.repository(folder)


SUITE = Suite("links", evidence=repositories_unchanged, prepare=with_a_repository)


def below(t, name):
    """A place of the attack's own, beside the repository."""
    folder = t.dir if t.place != "top" else t.ws + "/desk"
    return f"{folder}/{name}-{os.getpid()}"


# Existing trust files.

@SUITE.attack("FSW-07", places=BOTH, twin=None)
def write_config(t):
    spill(t.dir + "/.git/config", flags=os.O_WRONLY | os.O_APPEND)


@SUITE.attack("FSW-07", places=BOTH, twin=None)
def write_config_with_o_creat(t):
    spill(t.dir + "/.git/config", flags=os.O_WRONLY | os.O_CREAT | os.O_TRUNC)


@SUITE.attack("FSW-07", places=BOTH, twin=None)
def add_a_hook(t):
    spill(t.dir + "/.git/hooks/pre-commit", flags=os.O_WRONLY | os.O_CREAT)


@SUITE.attack("FSW-07", places=BOTH, twin=None)
def change_a_hook(t):
    spill(t.dir + "/.git/hooks/pre-commit.sample")


@SUITE.attack("FSW-07", places=BOTH, twin=None)
def rename_a_hook(t):
    os.rename(t.dir + "/.git/hooks/pre-commit.sample", t.dir + "/.git/hooks/pre-commit")


@SUITE.attack("FSW-07", places=BOTH, twin=None)
def move_a_file_to_the_hooks(t):
    spill(below(t, "hook"), flags=os.O_WRONLY | os.O_CREAT)
    os.rename(below(t, "hook"), t.dir + "/.git/hooks/post-checkout")


@SUITE.attack("FSW-07", places=BOTH, twin=None)
def unlink_config(t):
    os.unlink(t.dir + "/.git/config")


@SUITE.attack("FSW-07", places=BOTH, twin=None)
def rename_config_away(t):
    os.rename(t.dir + "/.git/config", below(t, "config"))


@SUITE.attack("FSW-07", places=BOTH, twin=None)
def rename_onto_config_as_git_does(t):
    spill(t.dir + "/.git/config.lock", flags=os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    try:
        os.rename(t.dir + "/.git/config.lock", t.dir + "/.git/config")
    except OSError:
        os.unlink(t.dir + "/.git/config.lock")
        raise


@SUITE.attack("FSW-07", places=BOTH, twin=None)
def change_mode_of_config(t):
    os.chmod(t.dir + "/.git/config", 0o666)


@SUITE.attack("FSW-07", places=BOTH, twin=None)
def config_of_a_submodule(t):
    spill(t.dir + "/.git/modules/m/config")


@SUITE.attack("FSW-07", places=BOTH, twin=None)
def hook_of_a_submodule(t):
    spill(t.dir + "/.git/modules/m/hooks/post-checkout", flags=os.O_WRONLY | os.O_CREAT)


# Trust files that are not there yet.

MISSING = (".git/config.worktree", ".git/commondir", ".gitmodules", ".gitconfig", ".bashrc",
           ".bash_profile", ".profile", ".zshrc", ".zprofile", ".zshenv", ".envrc", ".ripgreprc",
           ".mcp.json", ".vscode/tasks.json", ".vscode/settings.json", ".idea/workspace.xml",
           ".claude/settings.json", ".claude/settings.local.json", ".claude/commands/x.md",
           ".claude/agents/x.md", ".codex/config.toml", ".agents/x", ".cursor/mcp.json",
           ".gemini/settings.json", ".cordon.toml", ".BASHRC", ".Mcp.Json", ".VSCODE/tasks.json",
           ".git/HOOKS/x")


def each_missing(t, make):
    """Whether any of the missing names could be made this way."""
    got = []
    for name in MISSING:
        if name == ".git/HOOKS/x" and not t.inside:
            continue
        target = f"{t.dir}/{name}"
        try:
            os.makedirs(os.path.dirname(target), exist_ok=True)
            make(target)
            got.append(name)
        except (OSError, Refused):
            pass
        finally:
            # An empty directory .claude is nobody's order to anybody.
            for spare in (".claude", ".git/HOOKS"):
                if not os.path.islink(f"{t.dir}/{spare}"):
                    try:
                        os.rmdir(f"{t.dir}/{spare}")
                    except OSError:
                        pass
    if not got:
        raise Refused("none of them")
    return got


@SUITE.attack("FSW-08", places=("top",), twin=None)
def create_missing(t):
    return each_missing(t, lambda p: spill(p, flags=os.O_WRONLY | os.O_CREAT))


@SUITE.attack("FSW-08", places=("top",), twin=None)
def create_missing_by_old_calls(t):
    return each_missing(t, lambda p: call("creat", path(p), 0o644))


@SUITE.attack("FSW-08", places=("top",), twin=None)
def create_missing_by_raw_open(t):
    return each_missing(t, lambda p: call("open", path(p), os.O_CREAT | os.O_WRONLY, 0o644))


@SUITE.attack("FSW-08", places=("top",), twin=None)
def create_missing_below_descriptors(t):
    folder = os.open(t.dir, os.O_PATH)
    return each_missing(t, lambda p: os.open(os.path.relpath(p, t.dir), os.O_CREAT | os.O_WRONLY,
                                             dir_fd=folder))


@SUITE.attack("FSW-08", places=("top",), twin=None)
def make_missing_a_directory(t):
    return each_missing(t, os.mkdir)


@SUITE.attack("FSW-08", places=("top",), twin=None)
def make_missing_a_directory_with_slashes(t):
    return each_missing(t, lambda p: os.mkdir(p + "//"))


@SUITE.attack("FSW-08", places=("top",), twin=None)
def make_missing_a_symlink(t):
    return each_missing(t, lambda p: os.symlink(t.dir + "/desk", p))


@SUITE.attack("FSW-08", places=("top",), twin=None)
def make_missing_a_fifo(t):
    return each_missing(t, os.mkfifo)


@SUITE.attack("FSW-08", places=("top",), twin=None)
def make_missing_by_mknod(t):
    return each_missing(t, lambda p: os.mknod(p, stat.S_IFREG | 0o644))


@SUITE.attack("FSW-08", places=("top",), twin=None)
def link_missing(t):
    spill(below(t, "source"), flags=os.O_WRONLY | os.O_CREAT)
    return each_missing(t, lambda p: os.link(below(t, "source"), p))


@SUITE.attack("FSW-08", places=("top",), twin=None)
def link_missing_from_an_unnamed_file(t):
    def make(target):
        fd = os.open(t.dir, os.O_TMPFILE | os.O_WRONLY, 0o644)
        link_open_file(fd, target)
    return each_missing(t, make)


@SUITE.attack("FSW-08", places=("top",), twin=None)
def rename_onto_missing(t):
    def make(target):
        spill(below(t, "source"), flags=os.O_WRONLY | os.O_CREAT)
        os.rename(below(t, "source"), target)
    return each_missing(t, make)


@SUITE.attack("FSW-08", places=("top",), twin=None)
def rename_onto_missing_without_replacing(t):
    def make(target):
        spill(below(t, "source"), flags=os.O_WRONLY | os.O_CREAT)
        call("renameat2", AT_FDCWD, path(below(t, "source")), AT_FDCWD, path(target), 1)
    return each_missing(t, make)


@SUITE.attack("FSW-08", places=("top",), twin=None)
def bind_missing(t):
    def make(target):
        os.chdir(os.path.dirname(target))
        socket.socket(socket.AF_UNIX).bind(os.path.basename(target))
    return each_missing(t, make)


@SUITE.attack("FSW-08", places=("top",), twin=None)
def create_missing_through_a_dangling_link(t):
    def make(target):
        link = below(t, "dangling")
        os.symlink(target, link)
        try:
            spill(link, flags=os.O_WRONLY | os.O_CREAT)
        finally:
            os.unlink(link)
    return each_missing(t, make)


@SUITE.attack("FSW-08", places=("top",), twin=None)
def create_missing_through_a_linked_directory(t):
    link = below(t, "aside")
    os.symlink(t.dir, link)
    return each_missing(t, lambda p: spill(link + p[len(t.dir):], flags=os.O_WRONLY | os.O_CREAT))


@SUITE.attack("FSW-08", places=("top",), twin=None)
def create_missing_by_dot_dot(t):
    return each_missing(t, lambda p: spill(t.dir + "/.git/.." + p[len(t.dir):],
                                           flags=os.O_WRONLY | os.O_CREAT))


@SUITE.attack("FSW-08", places=("top",), twin=None)
def create_missing_by_proc(t):
    os.chdir(t.dir)
    return each_missing(t, lambda p: spill("/proc/self/cwd" + p[len(t.dir):],
                                           flags=os.O_WRONLY | os.O_CREAT))


@SUITE.attack("FSW-08", places=("top",), twin=None)
def create_missing_by_cp_and_mv(t):
    import subprocess

    def make(target):
        for command in (["cp", "/etc/hostname", target], ["install", "/etc/hostname", target],
                        ["sh", "-c", 'echo x > "$0"', target], ["touch", target]):
            if subprocess.run(command, stderr=subprocess.DEVNULL).returncode == 0:
                return
        raise Refused(target)
    return each_missing(t, make)


@SUITE.attack("FSW-08", places=("top",), twin=None)
def rename_a_filled_directory_onto_a_parent(t):
    got = []
    for parent, inside in ((".claude", "settings.json"), (".vscode", "tasks.json"),
                           (".codex", "config.toml"), (".claude", "hooks/x")):
        source = below(t, "filled")
        os.makedirs(os.path.dirname(f"{source}/{inside}"), exist_ok=True)
        spill(f"{source}/{inside}", flags=os.O_WRONLY | os.O_CREAT)
        try:
            os.rename(source, f"{t.dir}/{parent}")
            got.append(parent)
            shutil.rmtree(f"{t.dir}/{parent}")
        except OSError:
            shutil.rmtree(source)
    if not got:
        raise Refused("none")
    return got


@SUITE.attack("FSW-08", places=("top",), twin=None)
def exchange_an_empty_parent_with_a_filled_one(t):
    source = below(t, "filled")
    os.mkdir(source)
    spill(source + "/settings.json", flags=os.O_WRONLY | os.O_CREAT)
    os.mkdir(t.dir + "/.claude")
    try:
        call("renameat2", AT_FDCWD, path(source), AT_FDCWD, path(t.dir + "/.claude"), EXCHANGE)
        shutil.rmtree(t.dir + "/.claude")
    except OSError:
        os.rmdir(t.dir + "/.claude")
        raise


@SUITE.attack("FSW-08", places=("top",), twin=None)
def exchange_the_other_way_round(t):
    source = below(t, "filled")
    os.mkdir(source)
    spill(source + "/settings.json", flags=os.O_WRONLY | os.O_CREAT)
    os.mkdir(t.dir + "/.claude")
    try:
        call("renameat2", AT_FDCWD, path(t.dir + "/.claude"), AT_FDCWD, path(source), EXCHANGE)
        shutil.rmtree(t.dir + "/.claude")
    except OSError:
        os.rmdir(t.dir + "/.claude")
        raise


@SUITE.attack("FSW-08", places=("top",), twin=None)
def make_a_parent_a_link_to_a_filled_one(t):
    source = below(t, "filled")
    os.mkdir(source)
    spill(source + "/settings.json", flags=os.O_WRONLY | os.O_CREAT)
    os.symlink(source, t.dir + "/.claude")
    os.unlink(t.dir + "/.claude")


@SUITE.attack("FSW-08", places=("top",), twin=None)
def fill_a_directory_that_is_moved_meanwhile(t):
    """A descriptor of .claude, kept while the name below it is made."""
    os.mkdir(t.dir + "/.claude")
    folder = os.open(t.dir + "/.claude", os.O_PATH)
    try:
        os.close(os.open("settings.json", os.O_CREAT | os.O_WRONLY, dir_fd=folder))
        os.unlink(t.dir + "/.claude/settings.json")
    finally:
        os.rmdir(t.dir + "/.claude")


@SUITE.attack("FSW-08", places=("top",), twin=None)
def move_a_directory_back_after_filling_it(t):
    os.mkdir(t.dir + "/.claude")
    away = below(t, "away")
    try:
        os.rename(t.dir + "/.claude", away)
    except OSError:
        os.rmdir(t.dir + "/.claude")
        raise
    spill(away + "/settings.json", flags=os.O_WRONLY | os.O_CREAT)
    try:
        os.rename(away, t.dir + "/.claude")
    except OSError:
        shutil.rmtree(away)
        raise
    shutil.rmtree(t.dir + "/.claude")


# The directories above them.

@SUITE.attack("FSW-09", places=BOTH, twin=None)
def rename_the_repository_away(t):
    os.rename(t.dir + "/.git", below(t, "aside"))


@SUITE.attack("FSW-09", places=BOTH, twin=None)
def rename_the_repository_by_its_parent_descriptor(t):
    os.rename(".git", ".git2", src_dir_fd=os.open(t.dir, os.O_RDONLY),
              dst_dir_fd=os.open(t.dir, os.O_RDONLY))


@SUITE.attack("FSW-09", places=BOTH, twin=None)
def exchange_the_repository(t):
    os.mkdir(below(t, "evil"))
    call("renameat2", AT_FDCWD, path(t.dir + "/.git"), AT_FDCWD, path(below(t, "evil")), EXCHANGE)


@SUITE.attack("FSW-09", places=BOTH, twin=None)
def exchange_with_the_repository(t):
    os.mkdir(below(t, "evil"))
    call("renameat2", AT_FDCWD, path(below(t, "evil")), AT_FDCWD, path(t.dir + "/.git"), EXCHANGE)


@SUITE.attack("FSW-09", places=("ws",), twin=None)
def rename_what_holds_the_repository(t):
    os.rename(t.dir, t.dir + "-moved")


@SUITE.attack("FSW-09", places=("ws",), twin=None)
def rename_what_holds_that(t):
    if not t.inside:
        os.rename(t.dir, t.dir + "-moved")
    else:
        os.rename(t.ws + "/desk", t.ws + "/work2")


@SUITE.attack("FSW-09", places=BOTH, twin=None)
def rename_the_modules_away(t):
    os.rename(t.dir + "/.git/modules", below(t, "modules"))


@SUITE.attack("FSW-10", places=BOTH, twin=None)
def remove_the_hooks(t):
    shutil.rmtree(t.dir + "/.git/hooks")
    os.symlink("/tmp", t.dir + "/.git/hooks")


@SUITE.attack("FSW-10", places=BOTH, twin=None)
def rename_the_hooks_away(t):
    os.rename(t.dir + "/.git/hooks", below(t, "hooks"))


@SUITE.attack("FSW-10", places=BOTH, twin=None)
def exchange_the_hooks_with_a_link(t):
    os.symlink("/tmp", below(t, "link"))
    call("renameat2", AT_FDCWD, path(below(t, "link")), AT_FDCWD, path(t.dir + "/.git/hooks"),
         EXCHANGE)


@SUITE.attack("LNK-03", places=BOTH, twin=None)
def exchange_config(t):
    spill(below(t, "evil"), flags=os.O_WRONLY | os.O_CREAT)
    call("renameat2", AT_FDCWD, path(t.dir + "/.git/config"), AT_FDCWD, path(below(t, "evil")),
         EXCHANGE)


# Symbolic links.

def linked(t, target, name="link"):
    made = below(t, name)
    os.symlink(target, made)
    return made


@SUITE.attack("LNK-01", places=("outside", "ro"), twin="ws")
def write_through_an_absolute_link(t):
    spill(linked(t, t.dir + "/file") if t.place == "twin" or not t.inside
          else link_in_workspace(t, t.dir + "/file"))


def link_in_workspace(t, target):
    made = f"{t.ws}/desk/link-{t.place}-{os.getpid()}"
    os.symlink(target, made)
    return made


@SUITE.attack("LNK-01")
def write_through_a_relative_link(t):
    spill(link_in_workspace(t, os.path.relpath(t.dir, t.ws + "/desk") + "/file"))


@SUITE.attack("LNK-01")
def create_through_a_link_to_its_directory(t):
    spill(link_in_workspace(t, t.dir) + "/new", flags=os.O_WRONLY | os.O_CREAT)


@SUITE.attack("LNK-01")
def create_through_a_dangling_link(t):
    spill(link_in_workspace(t, t.dir + "/new"), flags=os.O_WRONLY | os.O_CREAT)


@SUITE.attack("LNK-01")
def create_through_a_chain_of_links(t):
    link = t.dir
    for number in range(20):
        made = f"{t.ws}/desk/chain{number}-{t.place}-{os.getpid()}"
        os.symlink(link, made)
        link = made
    spill(link + "/new", flags=os.O_WRONLY | os.O_CREAT)


@SUITE.attack("LNK-01", twin=None)
def create_through_a_magic_link(t):
    spill(link_in_workspace(t, "/proc/self/root" + t.dir + "/new"),
          flags=os.O_WRONLY | os.O_CREAT)


@SUITE.attack("LNK-01")
def make_directory_through_a_link(t):
    os.mkdir(link_in_workspace(t, t.dir) + "/new")


@SUITE.attack("LNK-01")
def rename_into_a_link(t):
    spill(f"{t.ws}/desk/file-{t.place}-{os.getpid()}", flags=os.O_WRONLY | os.O_CREAT)
    os.rename(f"{t.ws}/desk/file-{t.place}-{os.getpid()}", link_in_workspace(t, t.dir) + "/new")


@SUITE.attack("LNK-01", places=("top",), twin=None)
def write_a_hook_through_a_link(t):
    spill(linked(t, t.dir + "/.git/hooks") + "/pre-push", flags=os.O_WRONLY | os.O_CREAT)


@SUITE.attack("LNK-01", places=("top",), twin=None)
def read_a_secret_through_a_link(t):
    os.chdir(t.dir)
    return secret_in(linked(t, t.dir + "/.env" if t.inside else t.control + "/secret.txt"))


@SUITE.attack("LNK-01", places=("top",), twin=None)
def race_a_link_against_creation(t):
    """The last component flips between a directory of ours and .git/hooks."""
    own = below(t, "own")
    os.mkdir(own)
    link, other = below(t, "flip"), below(t, "flop")
    os.symlink(own, link)
    os.symlink(t.dir + "/.git/hooks", other)
    pid = os.fork()
    if pid == 0:
        while True:
            call("renameat2", AT_FDCWD, path(link), AT_FDCWD, path(other), EXCHANGE)
    try:
        for number in range(300):
            try:
                os.close(os.open(f"{link}/raced-{number}", os.O_CREAT | os.O_WRONLY | os.O_EXCL))
            except OSError:
                pass
    finally:
        os.kill(pid, 9)
        os.waitpid(pid, 0)
    got = [n for n in os.listdir(t.dir + "/.git/hooks") if n.startswith("raced")]
    if not got:
        raise Refused("never")
    return len(got)


@SUITE.attack("LNK-01 PRC-17", places=("top",), twin=None)
def race_the_path_in_memory(t):
    """A second thread rewrites the path while the broker looks at it."""
    import threading
    good, bad = os.fsencode(below(t, "good")), os.fsencode(t.dir + "/.mcp.json")
    size = max(len(good), len(bad)) + 1
    buffer = ctypes.create_string_buffer(size)
    stop = False

    def flip():
        while not stop:
            ctypes.memmove(buffer, bad + b"\0", len(bad) + 1)
            ctypes.memmove(buffer, good + b"\0", len(good) + 1)
    thread = threading.Thread(target=flip)
    thread.start()
    number = 257 if os.uname().machine == "x86_64" else 56
    libc = ctypes.CDLL(None)
    for _ in range(400):
        fd = libc.syscall(number, AT_FDCWD, buffer, os.O_CREAT | os.O_WRONLY, 0o644)
        if fd >= 0:
            os.close(fd)
        try:
            os.unlink(good)
        except OSError:
            pass
    stop = True
    thread.join()
    if not os.path.lexists(bad):
        raise Refused("never")
    os.unlink(bad)


def race_a_bind(t, name, flip):
    """bind() of `name` while `flip` changes where that leads; a socket at a protected name."""
    import threading
    os.mkdir(t.dir + "/.claude")
    own = below(t, "own")
    os.mkdir(own)
    flip(own)
    stop = False

    def loop():
        while not stop:
            flip(t.dir + "/.claude")
            flip(own)
    thread = threading.Thread(target=loop)
    thread.start()
    for _ in range(300):
        sock = socket.socket(socket.AF_UNIX)
        try:
            sock.bind(name)
        except OSError:
            pass
        sock.close()
        try:
            os.unlink(own + "/settings.json")
        except OSError:
            pass
    stop = True
    thread.join()
    os.chdir("/")
    got = os.path.lexists(t.dir + "/.claude/settings.json")
    shutil.rmtree(t.dir + "/.claude")
    if not got:
        raise Refused("never")


@SUITE.attack("FSW-08 PRC-17", places=("top",), twin=None)
def race_the_directory_of_a_bind(t):
    race_a_bind(t, "settings.json", os.chdir)  # of all threads


@SUITE.attack("FSW-08 PRC-17", places=("top",), twin=None,
              control="outside it is one step, and wins too seldom")
def race_the_descriptor_of_a_bind(t):
    def flip(folder):
        fd = os.open(folder, os.O_PATH)
        os.dup2(fd, 77)
        os.close(fd)
    race_a_bind(t, f"/proc/{os.getpid()}/fd/77/settings.json", flip)


# Hard links.

@SUITE.attack("LNK-02")
def hard_link_then_write(t):
    os.link(t.dir + "/file", f"{t.ws}/desk/hard-{t.place}-{os.getpid()}")
    spill(f"{t.ws}/desk/hard-{t.place}-{os.getpid()}")


@SUITE.attack("LNK-02")
def hard_link_by_descriptor(t):
    fd = os.open(t.dir + "/file", os.O_RDONLY)
    made = f"{t.ws}/desk/hard2-{t.place}-{os.getpid()}"
    link_open_file(fd, made)
    spill(made)


@SUITE.attack("LNK-02", twin=None, control="root")
def hard_link_by_empty_path(t):
    fd = os.open(t.dir + "/file", os.O_PATH)
    made = f"{t.ws}/desk/hard3-{t.place}-{os.getpid()}"
    call("linkat", fd, path(""), AT_FDCWD, path(made), 0x1000)
    spill(made)


@SUITE.attack("LNK-02", places=BOTH, twin=None)
def hard_link_to_config(t):
    os.link(t.dir + "/.git/config", below(t, "config"))
    spill(below(t, "config"))


@SUITE.attack("LNK-02", places=BOTH, twin=None)
def hard_link_to_a_hook(t):
    os.link(t.dir + "/.git/hooks/pre-commit.sample", below(t, "hook"))
    spill(below(t, "hook"))


@SUITE.attack("LNK-02", places=BOTH, twin=None)
def hard_link_to_config_by_descriptor(t):
    fd = os.open(t.dir + "/.git/config", os.O_RDONLY)
    link_open_file(fd, below(t, "config2"))
    spill(below(t, "config2"))


@SUITE.attack("LNK-02", places=("top",), twin=None)
def hard_link_to_the_denied_file(t):
    source = t.dir + "/.env" if t.inside else t.dir + "/secret"
    os.link(source, below(t, "secret"))
    secret_in(below(t, "secret"))


# What the same calls may do.

@SUITE.allowed
def new_names_elsewhere(t):
    for name in ("sub/.bashrc", "sub/.mcp.json", "sub/.vscode/tasks.json", ".bashrc.txt",
                 "git", ".github/workflows/x.yml", ".gitignore", ".gitattributes"):
        os.makedirs(os.path.dirname(f"{t.dir}/{name}"), exist_ok=True)
        spill(f"{t.dir}/{name}", flags=os.O_WRONLY | os.O_CREAT | os.O_EXCL)


@SUITE.allowed
def objects_and_refs_of_the_repository(t):
    for name in ("objects/ab/cdef", "refs/heads/topic", "index", "HEAD.lock", "logs/HEAD",
                 "COMMIT_EDITMSG"):
        os.makedirs(os.path.dirname(f"{t.dir}/.git/{name}"), exist_ok=True)
        spill(f"{t.dir}/.git/{name}", flags=os.O_WRONLY | os.O_CREAT | os.O_EXCL)
    os.rename(t.dir + "/.git/HEAD.lock", t.dir + "/.git/HEAD")


@SUITE.allowed
def a_repository_of_its_own(t):
    os.makedirs(t.dir + "/fresh/.git/hooks")
    spill(t.dir + "/fresh/.git/hooks/pre-commit", flags=os.O_WRONLY | os.O_CREAT)
    spill(t.dir + "/fresh/.git/config", flags=os.O_WRONLY | os.O_CREAT)
    os.rename(t.dir + "/fresh", t.dir + "/renamed")


@SUITE.allowed
def links_and_renames_of_its_own(t):
    os.link(t.dir + "/file", t.dir + "/hard")
    os.symlink("file", t.dir + "/soft")
    spill(t.dir + "/soft", flags=os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    os.rename(t.dir + "/dir", t.dir + "/moved")
    call("renameat2", AT_FDCWD, path(t.dir + "/file"), AT_FDCWD, path(t.dir + "/second"), EXCHANGE)
    with open(t.dir + "/second", "rb") as file:
        assert file.read() != CONTENT


@SUITE.test("FSW-20")
def nothing_shows_in_the_workspace_while_it_runs(f, profile):
    """No placeholder for the protected names, neither inside nor outside."""
    names = sorted(os.listdir(f.ws))
    process = f.start(f.command(profile, ["sh", "-c", "ls -A; read x"]), cwd=f.ws,
                      env=f.environment(), stdin=-1, stdout=-1)
    seen = [process.stdout.readline().decode().strip() for _ in names]
    assert sorted(seen) == names, seen
    assert sorted(os.listdir(f.ws)) == names
    process.communicate(b"\n", timeout=20)
    assert process.returncode == 0
    assert sorted(os.listdir(f.ws)) == names


@SUITE.test("FSW-20")
def nothing_is_left_by_a_killed_supervisor(f, profile):
    before = f.state()
    process = f.start(f.command(profile, ["sh", "-c", "echo up; sleep 60", f.base]), cwd=f.ws,
                      env=f.environment(), stdout=-1)
    assert process.stdout.readline() == b"up\n"
    process.kill()
    process.wait()
    assert f.state() == before


@SUITE.test("LNK-05")
def a_workspace_that_is_a_link(f, profile):
    os.symlink(f.ws, f.base + "/alias")
    done = f.run(profile, ["sh", "-c", "echo x > desk/made; echo x > .bashrc; "
                           "mv .git g; echo x > .git/config"], cwd=f.base + "/alias")
    assert os.path.exists(f.ws + "/desk/made"), done
    assert not os.path.lexists(f.ws + "/.bashrc") and os.path.isdir(f.ws + "/.git"), done


if __name__ == "__main__":
    SUITE.main()
