#!/usr/bin/python3
"""Real tools inside the default preset, with the workspace as the current directory.

What a case makes in the workspace must belong to the caller on the host.
"""
import os
import shutil
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from contained import Skipped, case, expect, main, need, where_present  # noqa: E402

ALLOW_CONFIG = 'version = 1\n[fs]\ngit = "allow-config"\n'


def repository(at, where=None):
    at.outside_sh("git init -q . && echo one > a && git add a && git commit -qm one", cwd=where)


def policy(at, text):
    return ("--policy", at.write(os.path.join(at.outside, "policy.toml"), text))


# --- git ----------------------------------------------------------------------

@case
def git_init_and_commit(at):
    at.sh("git init -q . && echo x > f && git add f && git commit -qm first")
    expect(at.outside_sh("git log --format=%s").strip() == "first", "the commit is not on the host")
    expect(at.outside_sh("git status --porcelain") == "", "the host sees a dirty tree")


@case
def git_config_of_a_repository_made_inside(at):
    done = at.sh("mkdir new && cd new && git init -q . && git config user.name X && git remote add o /x")
    expect("made a git repository" in done.stderr, "a new repository is not told", done)


@case
def git_status_is_clean(at):
    repository(at)
    done = at.sh("git status --porcelain --ignored --untracked-files=all")
    expect(done.stdout == "", "something of Cordon's shows inside", done)


@case
def git_add_and_commit(at):
    repository(at)
    at.sh("echo two >> a; echo b > b; git add -A; git commit -qm two; git commit -q --amend -m three")
    expect(at.outside_sh("git log --format=%s").split() == ["three", "one"], "the log is wrong")


@case
def git_branch_and_checkout(at):
    repository(at)
    at.sh("git branch x; git checkout -q x; git checkout -qb y; git switch -q main; git branch -D y")
    expect(at.outside_sh("git branch --format='%(refname:short)'").split() == ["main", "x"], "branches")


@case
def git_merge(at):
    repository(at)
    at.sh("git checkout -qb x; echo x > x; git add x; git commit -qm x; git checkout -q main;"
          "echo m > m; git add m; git commit -qm m; git merge -q --no-edit x; test -e x -a -e m")


@case
def git_merge_with_a_conflict(at):
    repository(at)
    at.sh("git checkout -qb x; echo x > a; git commit -qam x; git checkout -q main; echo m > a;"
          "git commit -qam m; ! git merge x; grep -q '<<<<' a; echo xm > a; git commit -qam both")


@case
def git_rebase(at):
    repository(at)
    at.sh("git checkout -qb x; echo x > x; git add x; git commit -qm x; git checkout -q main;"
          "echo m > m; git add m; git commit -qm m; git checkout -q x; git rebase -q main")
    expect(at.outside_sh("git log --format=%s").split() == ["x", "m", "one"], "the log is wrong")


@case
def git_stash(at):
    repository(at)
    at.sh("echo changed > a; git stash -q; grep -q one a; git stash pop -q; grep -q changed a")


@case
def git_tag_gc_and_fsck(at):
    repository(at)
    at.sh("git tag v1; git gc -q; git fsck --strict; git reflog | grep -q one; git bisect start;"
          "git bisect reset; git archive HEAD | tar -t")


@case
def git_worktree_add(at):
    repository(at)
    at.sh("git worktree add -q sub -b sub; cd sub; echo s > s; git add s; git commit -qm s")
    expect(at.outside_sh("git log --format=%s sub --").split() == ["s", "one"], "the log is wrong")
    at.sh("git worktree add -q other; git worktree remove other; test ! -e other; git worktree prune")


@case
def git_clone_of_a_local_repository(at):
    repository(at, at.outside)
    at.sh(f"git clone -q {at.outside} copy; cd copy; grep -q one a; git checkout -qb x;"
          "echo x >> a; git commit -qam x; git fetch -q")


@case
def git_clone_within_the_workspace(at):
    os.mkdir(at.path("r"))
    repository(at, at.path("r"))
    at.sh("git clone -q r c; git clone -q --bare r b.git; cd c; git pull -q")


@case
def git_commit_in_a_linked_worktree(at):
    """Its main repository lies outside the workspace."""
    os.mkdir(at.outside + "/main")
    repository(at, at.outside + "/main")
    at.outside_sh(f"git worktree add -q {at.ws}/tree -b tree", cwd=at.outside + "/main")
    tree = at.path("tree")
    at.sh("git status; echo t > t; git add t; git commit -qm t; git stash list", cwd=tree)
    expect(at.outside_sh("git log --format=%s tree --", cwd=at.outside + "/main").split()
           == ["t", "one"], "the commit did not reach the main repository")
    done = at.run("sh", "-c", f"echo x > {at.outside}/main/a", cwd=tree)
    expect(done.returncode != 0 and "one" in at.read(at.outside + "/main/a"),
           "the main repository's working tree was written", done)
    done = at.run("sh", "-c", f"echo x > {at.outside}/main/.git/hooks/pre-commit", cwd=tree)
    expect(done.returncode != 0, "the main repository's hooks were written", done)


CONFIG_WRITERS = {
    "remote": "git remote add origin /nowhere",
    "config": "git config some.key value",
    "submodule": "git -c protocol.file.allow=always submodule add -q {outside} sub",
}


def refused_and_told(at, command):
    repository(at)
    repository(at, at.outside)
    before = at.read(".git/config")
    done = at.run("sh", "-c", command.format(outside=at.outside))
    expect(done.returncode != 0, "what writes .git/config worked", done)
    expect("allow-config" in done.stderr, "stderr has no word on allow-config", done)
    expect(at.read(".git/config") == before, ".git/config was changed", done)
    expect(not os.path.lexists(at.path(".git/config.lock")), "a lock file is left", done)


def allowed_by_policy(at, command):
    repository(at)
    repository(at, at.outside)
    before = at.read(".git/config")
    flags = policy(at, ALLOW_CONFIG)
    at.sh(command.format(outside=at.outside), flags=flags)
    expect(at.read(".git/config") != before, ".git/config was not changed")
    done = at.run("sh", "-c", "echo x > .git/hooks/pre-commit", flags=flags)
    expect(done.returncode != 0, "allow-config gave the hooks away", done)


@case
def git_remote_add_is_refused(at):
    refused_and_told(at, CONFIG_WRITERS["remote"])


@case
def git_config_is_refused(at):
    refused_and_told(at, CONFIG_WRITERS["config"])


@case
def git_submodule_add_is_refused(at):
    refused_and_told(at, CONFIG_WRITERS["submodule"])


@case
def git_remote_add_with_allow_config(at):
    allowed_by_policy(at, CONFIG_WRITERS["remote"])


@case
def git_config_with_allow_config(at):
    allowed_by_policy(at, CONFIG_WRITERS["config"])


@case
def git_submodule_add_with_allow_config(at):
    allowed_by_policy(at, CONFIG_WRITERS["submodule"])
    expect("sub" in at.read(".gitmodules"), ".gitmodules was not written")
    at.sh("git commit -qm sub; cd sub; grep -q one a; git status", flags=policy(at, ALLOW_CONFIG))
    expect(at.outside_sh("git submodule status").split()[1] == "sub", "the host does not see it")
    # From then on it is there at the start: its hooks are kept too, and without the key all of it.
    for flags, names in ((policy(at, ALLOW_CONFIG), (".git/modules/sub/hooks/x",)),
                         ((), (".git/modules/sub/hooks/x", ".git/modules/sub/config", ".gitmodules"))):
        for name in names:
            done = at.run("sh", "-c", f"echo x >> {name}", flags=flags)
            expect(done.returncode != 0, f"{name} could be written", done)


# --- compilers ------------------------------------------------------------------

@case
def gcc_and_make(at):
    need("gcc", "make")
    sources = [f"f{i}" for i in range(8)]
    for name in sources:
        at.write(name + ".c", f"int {name}(void) {{ return 1; }}\n")
    at.write("main.c", "".join(f"int {n}(void);\n" for n in sources) +
             f"int main(void) {{ return {'+'.join(n + '()' for n in sources)} - 8; }}\n")
    at.write("Makefile", f"prog: main.o {' '.join(n + '.o' for n in sources)}\n\tgcc -o $@ $^\n")
    at.sh("make -s -j4 && ./prog")
    expect(os.access(at.path("prog"), os.X_OK), "the program is not on the host")


@case
def cmake_and_ninja(at):
    need("cmake", "ninja", "gcc")
    at.write("CMakeLists.txt", "cmake_minimum_required(VERSION 3.20)\nproject(p C)\n"
             "add_executable(p p.c)\nenable_testing()\nadd_test(NAME p COMMAND p)\n")
    at.write("p.c", "int main(void) { return 0; }\n")
    at.sh("cmake -G Ninja -S . -B build >log && ninja -C build >>log && ctest --test-dir build >>log")


@case
def cargo_build(at):
    where_present("cargo")
    need("gcc")
    at.env["PATH"] = os.environ["PATH"]
    at.write("Cargo.toml", '[package]\nname = "p"\nversion = "0.1.0"\nedition = "2021"\n')
    at.write("src/main.rs", 'fn main() { println!("from rust"); }\n')
    home = os.path.expanduser("~")  # rustup's toolchains are there
    kept = os.path.join(home, ".cache/cordon")
    before = set(os.listdir(kept)) if os.path.isdir(kept) else set()
    env = at.env | {"HOME": home}
    try:
        done = at.run("cargo", "--version", env=env)
        if done.returncode != 0 and "rustup" in done.stderr:
            raise Skipped("cargo has no toolchain: " + done.stderr)
        at.sh("cargo build -q --offline && ./target/debug/p | grep -q 'from rust'", env=env)
    finally:
        for name in set(os.listdir(kept)) - before if os.path.isdir(kept) else ():
            if name.startswith("ws-"):
                shutil.rmtree(os.path.join(kept, name), ignore_errors=True)


# --- python ---------------------------------------------------------------------

@case
def python_venv(at):
    at.sh("/usr/bin/python3 -m venv v && ./v/bin/python -c 'import sys; assert sys.prefix.endswith(\"/v\")'"
          " && ./v/bin/pip --version")


@case
def python_multiprocessing(at):
    at.write("m.py", """
import multiprocessing as mp

def square(x):
    return x * x

def put(shared, i):
    shared[i] = i

if __name__ == "__main__":
    for method in ("fork", "spawn", "forkserver"):
        context = mp.get_context(method)
        with context.Pool(4) as pool:
            assert pool.map(square, range(20)) == [i * i for i in range(20)]
        with context.Manager() as manager:
            shared = manager.dict()
            work = [context.Process(target=put, args=(shared, i)) for i in range(3)]
            [p.start() for p in work]
            [p.join() for p in work]
            assert dict(shared) == {0: 0, 1: 1, 2: 2}, dict(shared)
    queue, lock = mp.Queue(), mp.Lock()
    with lock:
        queue.put("x")
    assert queue.get() == "x"
    from multiprocessing import shared_memory
    memory = shared_memory.SharedMemory(create=True, size=4096)
    memory.close()
    memory.unlink()
    print("all")
""")
    done = at.sh("/usr/bin/python3 m.py")
    expect(done.stdout == "all\n", "not all of it ran", done)


@case
def python_sqlite(at):
    at.write("s.py", """
import sqlite3
for mode in ("delete", "wal"):
    base = sqlite3.connect("base-" + mode + ".db")
    base.execute("pragma journal_mode=" + mode)
    base.execute("create table t (x)")
    base.executemany("insert into t values (?)", [(i,) for i in range(100)])
    base.commit()
    assert base.execute("select sum(x) from t").fetchone() == (4950,)
    base.close()
""")
    at.sh("/usr/bin/python3 s.py; test -s base-wal.db")


@case
def python_loopback_and_threads(at):
    at.sh("""/usr/bin/python3 -c '
import http.server, threading, urllib.request
server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), http.server.SimpleHTTPRequestHandler)
threading.Thread(target=server.serve_forever, daemon=True).start()
assert urllib.request.urlopen("http://127.0.0.1:%d/" % server.server_port).status == 200
'""")


# --- node -----------------------------------------------------------------------

@case
def node_script(at):
    need("node")
    at.write("s.js", "const w = require('worker_threads');\n"
             "if (w.isMainThread) { const t = new w.Worker(__filename); t.on('message', m => {\n"
             "  const out = require('child_process').execFileSync('echo', [m]);\n"
             "  require('fs').writeFileSync('out', out); }); }\n"
             "else w.parentPort.postMessage('hi');\n")
    at.sh("node s.js; grep -q hi out")


@case
def npm_run(at):
    need("npm")
    at.write("package.json", '{"name": "p", "version": "1.0.0", "scripts": {"go": "echo ran > out"}}')
    at.sh("npm run --silent go; grep -q ran out")


@case
def npm_install_offline(at):
    need("npm")
    at.write("dep/package.json", '{"name": "dep", "version": "1.0.0", "main": "i.js"}')
    at.write("dep/i.js", "module.exports = 42;\n")
    at.write("tar/package.json", '{"name": "tar-dep", "version": "1.0.0", "main": "i.js",'
             '"bin": {"tar-dep": "i.js"}}')
    at.write("tar/i.js", "#!/usr/bin/env node\nmodule.exports = 43;\n")
    at.write("p/package.json", '{"name": "p", "version": "1.0.0"}')
    at.sh("cd tar; npm pack --silent --offline >/dev/null; cd ../p;"
          "npm install --silent --offline --no-audit --no-fund ../dep ../tar/tar-dep-1.0.0.tgz;"
          "node -e 'if (require(\"dep\") + require(\"tar-dep\") != 85) process.exit(1)'")


# --- shells and files -------------------------------------------------------------

@case
def bash_job_control(at):
    need("bash")
    done = at.sh("set -m; sleep 30 & sleep 30 & jobs -l | wc -l; kill -STOP %1; kill -CONT %1;"
                 "kill %1; wait %1 || echo one $?; kill %2; wait %2 || echo two $?;"
                 "sleep 1 & fg %1 >/dev/null; echo fg $?", shell="bash")
    expect(done.stdout.split("\n")[1:] == ["one 143", "two 143", "fg 0", ""], "the jobs", done)


@case
def bash_process_substitution(at):
    need("bash")
    done = at.sh("diff <(echo a) <(echo a) && cat <<<here && coproc cat; echo x >&${COPROC[1]};"
                 "read -r y <&${COPROC[0]}; echo $y", shell="bash")
    expect(done.stdout == "here\nx\n", "the output", done)


@case
def pipefail(at):
    need("bash")
    done = at.run("bash", "-c", "set -o pipefail; sh -c 'exit 3' | cat; echo ${PIPESTATUS[0]};"
                  "sh -c 'exit 4' | cat")
    expect(done.returncode == 4 and done.stdout == "3\n", "pipefail", done)
    done = at.run("bash", "-c", "set -o pipefail; yes | head -1; exit ${PIPESTATUS[0]}")
    expect(done.stdout == "y\n" and done.returncode == 141, "SIGPIPE is not as on the host", done)


@case
def tar_find_cp_rsync(at):
    need("rsync")
    at.write("d/x y", "1")
    at.write("d/deep/er/f", "2", mode=0o755)
    at.sh("ln -s x\\ y d/link; ln d/deep/er/f d/hard; tar czf t.tgz d; mkdir u; tar xzf t.tgz -C u;"
          "diff -r d u/d; cp -a d c; diff -r d c; rsync -aH d/ r/; diff -r d r;"
          "test $(find d -type f | wc -l) = 3; test -x c/deep/er/f; test -L r/link;"
          "find d -name f -exec grep -l 2 {} +; find u -delete; test ! -e u; touch -d 2001-01-01 c;"
          "test $(stat -c %Y c) -lt 1000000000; rm -r d c r")


@case
def tar_to_another_root(at):
    """Extracting with modes, times and links into private /tmp and back."""
    at.sh("mkdir /tmp/a; echo x > /tmp/a/f; chmod 640 /tmp/a/f; tar c -C /tmp a | tar x;"
          "test $(stat -c %a a/f) = 640; mv a /tmp/b; mv /tmp/b back; cat back/f")


@case
def ssh_keygen(at):
    need("ssh-keygen")
    at.sh("ssh-keygen -q -t ed25519 -N '' -f key; ssh-keygen -y -f key | cmp -n 60 - key.pub")
    expect(os.stat(at.path("key")).st_mode & 0o777 == 0o600, "the key's mode")


@case
def mkfifo_and_flock(at):
    at.sh("mkfifo p; (echo through > p) & read -r line < p; test $line = through; wait;"
          "flock lock -c 'echo held > h'; (flock 9; ! flock -n lock true) 9>lock; rm p")


@case
def unnamed_temporary_file(at):
    at.sh("""/usr/bin/python3 -c '
import os
for folder in (".", "/tmp", "/dev/shm"):
    fd = os.open(folder, os.O_TMPFILE | os.O_RDWR, 0o600)
    os.write(fd, b"x")
fd = os.open(".", os.O_TMPFILE | os.O_RDWR, 0o644)
os.write(fd, b"linked")
here = os.open(".", os.O_RDONLY)  # with it, python follows the link
os.link("/proc/self/fd/%d" % fd, "named", src_dir_fd=here, follow_symlinks=True)
'; grep -q linked named""")


@case
def unix_sockets_made_inside(at):
    for path in ("s", "/tmp/s", "\\0abstract"):
        at.sh(f"""/usr/bin/python3 -c '
import socket, threading
server = socket.socket(socket.AF_UNIX)
server.bind("{path}")
server.listen()
def serve():
    peer, _ = server.accept()
    peer.sendall(peer.recv(9).upper())
threading.Thread(target=serve).start()
client = socket.socket(socket.AF_UNIX)
client.connect("{path}")
client.sendall(b"hello")
assert client.recv(9) == b"HELLO"
a, b = socket.socketpair()
a.sendall(b"x")
assert b.recv(1) == b"x"
'""")


@case
def standard_streams_by_name(at):
    script = ("echo 1 > /dev/stdout; echo 2 > /dev/stderr; echo 3 >> /dev/stdout; echo 4 > /dev/fd/2;"
              "echo 5 | tee /dev/stderr | cat > /dev/null; cat /dev/stdin")
    done = at.sh(script, input="6\n")
    expect(done.stdout == "1\n3\n6\n" and done.stderr == "2\n4\n5\n", "through pipes", done)
    with open(at.path("out"), "w", encoding="utf-8") as out, \
            open(at.path("err"), "w", encoding="utf-8") as err:
        at.sh(script, stdout=out, stderr=err)
    expect(at.read("out") != "" and at.read("err") != "", "through files nothing arrives")


@case
def mktemp_and_heredocs(at):
    at.sh("f=$(mktemp); echo x > $f; d=$(mktemp -d); mv $f $d/; test -d \"$TMPDIR\"; mktemp -p . x.XXX;"
          "test -w /tmp; test -w /var/tmp; test -w /dev/shm; cat <<E\nhere\nE")


@case
def devices_and_proc(at):
    at.sh("head -c 8 /dev/urandom | wc -c | grep -q 8; : > /dev/null; head -c 4 /dev/zero | wc -c;"
          "! echo x > /dev/full; ps -e > out || true; test -r /proc/self/status; nproc; uname -a; id;"
          "df . > /dev/null; test -d /sys/devices; getent passwd root; date; hostname")


@case
def editors_make_backups(at):
    need("vim")
    at.write("f", "one\n")
    at.sh("vim -es -u NONE -i NONE -c 'set backup backupdir=. writebackup' -c '%s/one/two/' -c wq f < /dev/null;"
          "grep -q two f; sed -i s/two/three/ f; grep -q three f; perl -pi -e s/three/four/ f; grep four f")


@case
def permissions_and_times(at):
    at.sh("echo x > f; chmod 400 f; ! echo y > f 2>/dev/null || false; chmod 755 f; touch -r /etc/passwd f;"
          "truncate -s 1M big; fallocate -l 1M big2; sync big; ln -s f l; readlink -f l; rm -f f l big big2")


if __name__ == "__main__":
    sys.exit(main("tools"))
