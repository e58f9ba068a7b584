#!/usr/bin/python3
"""The landlock backend against CORDON_BIN: without a namespace, what is denied is denied and what is allowed works.
Each case runs twice: as this host is, and as in a container whose engine forbids namespaces (no_namespaces.py)."""
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import contained  # noqa: E402
from contained import BIN, case, expect  # noqa: E402

ENGINE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "no_namespaces.py")
SECRET = "the-secret"
STRICT = ("--backend", "landlock", "--preset", "strict", "--net", "none")


def python(place, script, flags=STRICT, **more):
    """Runs a script that prints what it finds, one word a line; it must succeed."""
    done = place.run("/usr/bin/python3", "-c", script, flags=flags, **more)
    expect(done.returncode == 0, f"the script failed:\n{script}", done)
    return done.stdout.split()


# Prints "yes", or the name of the error.
TRY = """
import errno, os, sys
def attempt(what, *words, **more):
    try:
        what(*words, **more)
        print("yes", flush=True)
    except OSError as error:
        print(errno.errorcode[error.errno], flush=True)
def read(path):
    with open(path, "rb") as file:
        file.read()
def write(path):
    with open(path, "a") as file:
        file.write("x")
"""


@case
def files_are_read_and_written_where_the_policy_says(place):
    secret = place.write(os.path.join(place.outside, "secret"), SECRET)
    other = place.write(os.path.join(place.top, "other"), SECRET)
    place.write("a", "a")
    found = python(place, TRY + f"""
attempt(read, "a"); attempt(write, "a"); attempt(write, "new"); attempt(os.remove, "new")
attempt(read, "/usr/bin/env"); attempt(read, {secret!r}); attempt(write, {secret!r})
attempt(os.remove, {secret!r}); attempt(os.listdir, {place.outside!r})
attempt(read, {other!r}); attempt(os.listdir, {place.top!r}); attempt(os.listdir, "/")
""")
    expect(found == ["yes"] * 6 + ["EROFS", "EROFS", "yes", "EACCES", "EACCES", "EACCES"], str(found))
    expect(place.read(secret) == SECRET and place.read("a") == "ax", "a file changed")


@case
def a_denied_file_in_the_workspace_stays_closed_by_every_name(place):
    place.write("keys/.env", SECRET)
    place.write("keys/.envrc", "fine")
    found = python(place, TRY + """
attempt(read, "keys/.envrc"); attempt(read, "keys/.env"); attempt(write, "keys/.env")
attempt(os.link, "keys/.env", "alias"); attempt(os.rename, "keys/.env", "moved")
attempt(os.rename, "keys", "moved"); attempt(os.remove, "keys/.env"); attempt(os.truncate, "keys/.env", 0)
os.symlink("keys/.env", "link"); attempt(read, "link")
descriptor = os.open("keys/.env", os.O_PATH)
attempt(read, f"/proc/self/fd/{descriptor}"); attempt(os.chmod, "keys/.env", 0o755)
os.chdir("keys"); attempt(read, ".env"); attempt(read, "../keys/./.env"); attempt(read, ".envrc")
""", flags=(*STRICT, "--deny-read", place.path("keys/.env")))
    expect(found[0] == found[-1] == "yes", str(found))
    expect("yes" not in found[1:-1], str(found))
    expect(place.read("keys/.env") == SECRET, "the file changed")


@case
def a_denied_path_that_comes_later_is_closed_too(place):
    script = TRY + f"""
import time
attempt(read, "later")
open("ready", "w").close()
while not os.path.exists("later"): time.sleep(0.01)
attempt(read, "later")
"""
    def make():
        while not os.path.exists(place.path("ready")):
            time.sleep(0.01)
        place.write("later", SECRET)
    maker = threading.Thread(target=make)
    maker.start()
    found = python(place, script, flags=(*STRICT, "--deny-read", "?" + place.path("later")))
    maker.join()
    expect(found == ["ENOENT", "EACCES"], str(found))


@case
def the_floor_holds(place):
    place.outside_sh("git init -q .; echo hook > .git/hooks/h")
    before = place.read(".git/config")
    found = python(place, TRY + """
attempt(write, ".git/index"); attempt(write, ".git/config"); attempt(write, ".git/hooks/h")
attempt(write, ".git/hooks/new"); attempt(write, ".mcp.json"); attempt(os.mkdir, ".vscode")
attempt(os.rename, ".git", "moved"); attempt(os.remove, ".git/hooks/h"); attempt(os.rmdir, ".git/hooks")
attempt(os.link, ".git/hooks/h", "alias"); attempt(os.chmod, ".git/hooks/h", 0o755)
os.makedirs("d/.git/hooks"); attempt(os.rename, "d/.git/hooks", ".git/hooks")
""")
    expect(found[0] == "yes" and "yes" not in found[1:], str(found))
    expect(place.read(".git/config") == before and not os.path.lexists(place.path(".mcp.json")), "the floor moved")
    done = place.run("sh", "-c", "echo x > .mcp.json", flags=(*STRICT, "--json"))
    kinds = [item["reason"] for item in json.loads(done.stdout)["violations"]]
    expect(kinds == ["floor_name"], "the denial is recorded", done)


@case
def what_is_written_about_a_file_needs_the_right_to_write(place):
    place.write("mine", "x")
    other = place.write(os.path.join(place.outside, "theirs"), "x", 0o640)
    before = os.stat(other)
    found = python(place, TRY + f"""
for path in ("mine", {other!r}):
    attempt(os.chmod, path, 0o600); attempt(os.utime, path, (1, 2)); attempt(os.chown, path, -1, os.getgid())
    descriptor = os.open(path, os.O_RDONLY)
    attempt(os.fchmod, descriptor, 0o600); attempt(os.utime, descriptor, (1, 2))
    attempt(os.truncate, path, 0)
attempt(os.chmod, "mine", 0o4755)
""")
    expect(found == ["yes"] * 6 + ["EROFS"] * 6 + ["EPERM"], str(found))
    after = os.stat(other)
    expect((after.st_mode, after.st_mtime, after.st_ctime) == (before.st_mode, before.st_mtime, before.st_ctime),
           "it changed")


@case
def a_path_that_changes_under_the_check_gives_nothing(place):
    """Another thread turns the string, and a link, between an allowed and a denied file."""
    place.write("fine", "fine")
    place.write(".env", SECRET)
    found = python(place, """
import ctypes, os, threading
libc = ctypes.CDLL(None, use_errno=True)
path = ctypes.create_string_buffer(b"fine", 16)
os.symlink("fine", "link")
over = False
def turn():
    while not over:
        path[:5] = b".env\\0"
        path[:5] = b"fine\\0"
        for target in (".env", "fine"):
            os.symlink(target, "next"); os.rename("next", "link")
threads = [threading.Thread(target=turn) for _ in range(2)]
threads[0].start()
seen = set()
for _ in range(1500):
    for name in (path, b"link"):
        descriptor = libc.open(name, os.O_RDONLY)
        if descriptor >= 0:
            seen.add(os.read(descriptor, 100).decode()); os.close(descriptor)
over = True
threads[0].join()
print(*sorted(seen))
""", flags=(*STRICT, "--deny-read", place.path(".env")))
    expect(found == ["fine"], str(found))


@case
def programs_run_where_they_may_be_read(place):
    for name in ("tools/open/run", "tools/closed/run"):
        place.write(os.path.join(place.outside, name), "#!/bin/sh\necho ran\n", 0o755)
    flags = (*STRICT, "--deny-read", os.path.join(place.outside, "tools/closed"))
    found = python(place, TRY + f"""
import subprocess
run = lambda path: subprocess.run([path], check=True, stdout=subprocess.DEVNULL)
attempt(run, "{place.outside}/tools/open/run"); attempt(run, "{place.outside}/tools/closed/run")
open("own", "w").write("#!/bin/sh\\n"); os.chmod("own", 0o755); attempt(run, "./own")
""", flags=flags)
    expect(found == ["yes", "EACCES", "yes"], str(found))


@case
def temporary_files_are_the_runs_own(place):
    host = f"/tmp/cordon-test-{os.getpid()}"
    with open(host, "w", encoding="utf-8") as file:
        file.write(SECRET)
    try:
        found = python(place, TRY + f"""
import tempfile
with tempfile.NamedTemporaryFile() as file: print(os.path.dirname(file.name))
attempt(read, {host!r}); attempt(write, "/tmp/new"); attempt(os.listdir, "/tmp")
os.makedirs(tempfile.gettempdir() + "/" + "d/" * 200); os.chmod(tempfile.gettempdir() + "/d", 0)
""")
    finally:
        os.remove(host)
    expect(found[1:] == ["EACCES", "EROFS", "EACCES"] or found[1:] == ["EACCES", "EACCES", "EACCES"], str(found))
    expect(found[0].startswith("/tmp/cordon-") and not os.path.exists(os.path.dirname(found[0])),
           f"{found[0]} is gone after the run")


@case
def shared_memory_is_the_runs_own(place):
    name = f"cordon-test-{os.getpid()}"
    with open(f"/dev/shm/{name}", "w", encoding="utf-8") as file:
        file.write(SECRET)
    os.chmod(f"/dev/shm/{name}", 0o666)
    try:
        found = python(place, TRY + f"""
import ctypes
from multiprocessing import Lock
attempt(Lock)
attempt(read, "/dev/shm/{name}"); attempt(write, "/dev/shm/{name}"); attempt(read, "/dev/shm/{name}")
libc = ctypes.CDLL(None, use_errno=True)
print(libc.shmget(0, 4096, 0o1600), errno.errorcode[ctypes.get_errno()])
""")
        expect(found == ["yes", "ENOENT", "yes", "yes", "-1", "ENOSYS"], str(found))
        with open(f"/dev/shm/{name}", encoding="utf-8") as file:
            expect(file.read() == SECRET, "the host's changed")
    finally:
        os.remove(f"/dev/shm/{name}")


@case
def only_the_runs_own_processes_are_there(place):
    stranger = subprocess.Popen(["sleep", "60"])
    priority = os.getpriority(os.PRIO_PROCESS, stranger.pid)
    try:
        found = python(place, TRY + f"""
import signal, subprocess
child = subprocess.Popen(["sleep", "50"])
for pid in (child.pid, {stranger.pid}):
    attempt(read, f"/proc/{{pid}}/comm"); print(str(pid) in os.listdir("/proc"))
attempt(read, "/proc/self/status"); attempt(read, "/proc/meminfo"); attempt(os.listdir, "/proc/self/fd")
attempt(os.kill, {stranger.pid}, signal.SIGKILL); attempt(os.kill, os.getppid(), signal.SIGKILL)
attempt(os.setpriority, os.PRIO_PROCESS, {stranger.pid}, 15)
import fcntl, socket
pair = socket.socketpair()
attempt(fcntl.fcntl, pair[0], fcntl.F_SETOWN, {stranger.pid})
attempt(fcntl.fcntl, pair[0], fcntl.F_SETOWN, os.getpid())
attempt(os.setpriority, os.PRIO_PROCESS, child.pid, 15)
attempt(os.kill, child.pid, signal.SIGTERM); print(child.wait())
""")
        expect(found == ["yes", "True", "ENOENT", "False", "yes", "yes", "yes", "EPERM", "EPERM", "ESRCH",
                         "ESRCH", "yes", "yes", "yes", "-15"], str(found))
        expect(stranger.poll() is None and os.getpriority(os.PRIO_PROCESS, stranger.pid) == priority,
               "it was reached")
    finally:
        stranger.kill()
        stranger.wait()


def lives(mark):
    """Whether a process has this word among its arguments."""
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                if mark.encode() in file.read().split(b"\0"):
                    return True
        except OSError:
            continue
    return False


@case
def nothing_outlives_the_run(place):
    mark = f"7{os.getpid()}"
    done = place.run("sh", "-c", f"setsid sleep {mark} & (setsid sh -c 'trap \"\" TERM; sleep {mark}' &); echo up",
                     flags=STRICT)
    expect(done.stdout == "up\n" and done.returncode == 0, "the command ran", done)
    expect(not lives(mark), "a process lives on")


@case
def nothing_outlives_a_supervisor_that_is_killed(place):
    mark = f"8{os.getpid()}"
    words = [*contained.CORDON, "run", *place.reads, *STRICT, "--", "sh", "-c",
             f"echo $TMPDIR; setsid sleep {mark} & sleep {mark}"]
    with subprocess.Popen(words, cwd=place.ws, env=place.env, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL,
                          text=True) as run:
        temp = os.path.dirname(run.stdout.readline().strip())
        while not lives(mark):
            time.sleep(0.01)
        made = os.path.isdir(temp)
        os.kill(run.pid, signal.SIGKILL)
        run.wait()
    expect(made, "it had a directory of its own")
    while os.path.exists(temp) or lives(mark):  # the test's own time limit ends it
        time.sleep(0.01)


@case
def the_network_is_closed(place):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        script = TRY + f"""
import socket
def reach(): socket.create_connection(("127.0.0.1", {port})).close()
attempt(reach); attempt(socket.socket, socket.AF_INET, socket.SOCK_DGRAM)
def listen():
    with socket.socket() as server: server.listen()
attempt(listen); attempt(socket.socketpair)
"""
        expect(python(place, script) == ["EAFNOSUPPORT"] * 3 + ["yes"], "none")
        flags = ("--backend", "landlock", "--preset", "strict", "--net", "proxy")
        expect(python(place, script, flags=flags) == ["EACCES", "EAFNOSUPPORT", "EACCES", "yes"], "proxy")
        flags = (*STRICT, "--host-port", str(port))
        expect(python(place, script, flags=flags) == ["yes", "EAFNOSUPPORT", "EACCES", "yes"], "host port")


@case
def the_proxy_is_the_way_out(place):
    script = """
import os, urllib.request, urllib.error
print(os.environ["http_proxy"].startswith("http://127.0.0.1:"))
try:
    urllib.request.urlopen("http://denied.example/", timeout=20)
except urllib.error.HTTPError as error:
    print(error.code)
"""
    flags = ("--backend", "landlock", "--preset", "strict", "--net", "proxy", "--allow-domain", "fine.example")
    expect(python(place, script, flags=flags) == ["True", "403"], "the proxy answers")


@case
def a_published_server_is_reached(place):
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    script = f"""
import socket
with socket.create_server(("0.0.0.0", {port})) as server:
    print(server.getsockname()[0], flush=True)
    server.accept()[0].sendall(b"hello")
"""
    words = [*contained.CORDON, "run", *place.reads, *STRICT, "--publish", str(port), "--", "/usr/bin/python3", "-c",
             script]
    with subprocess.Popen(words, cwd=place.ws, env=place.env, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL,
                          text=True) as run:
        bound = run.stdout.readline().strip()
        with socket.create_connection(("127.0.0.1", port)) as client:
            expect(client.recv(10) == b"hello" and bound == "127.0.0.1", bound)


@case
def unix_sockets_are_the_runs_own_or_listed(place):
    host = place.path("host.sock")
    with socket.socket(socket.AF_UNIX) as server, socket.socket(socket.AF_UNIX) as hidden:
        server.bind(host)
        server.listen()
        hidden.bind("\0cordon-test-" + str(os.getpid()))
        hidden.listen()
        script = TRY + f"""
import socket
def reach(path):
    with socket.socket(socket.AF_UNIX) as client: client.connect(path)
attempt(reach, {host!r}); attempt(reach, "\\0cordon-test-{os.getpid()}")
own = socket.socket(socket.AF_UNIX); own.bind("own.sock"); own.listen(); attempt(reach, "own.sock")
print(own.getsockname())
attempt(lambda: socket.socket(socket.AF_UNIX).bind("\\0mine"))
attempt(socket.socket, socket.AF_UNIX, socket.SOCK_DGRAM)
os.remove("own.sock")
"""
        found = python(place, script)
        expect(found == ["EACCES", "EPERM", "yes", "own.sock", "EACCES", "EAFNOSUPPORT"], str(found))
        found = python(place, script, flags=(*STRICT, "--allow-unix", host))
        expect(found[0] == "yes", str(found))


@case
def tools_work(place):
    contained.need("git", "gcc")
    place.sh("""
git init -q r; cd r; echo x > a; git add a; git commit -qm one; git checkout -qb b; echo y >> a
git commit -qam two; git checkout -q -; git merge -q b; test "$(git log --oneline | wc -l)" = 2
cd ..; rm -rf r
echo 'int main(){return 7;}' > p.c; gcc p.c -o p; ./p || test $? = 7; rm p p.c
cp -r /usr/share/doc/bash copy; tar cf t.tar copy; rm -r copy; tar xf t.tar; test -d copy; rm -r copy t.tar
test "$(echo in | cat /dev/stdin)" = in; echo gone > /dev/null
""", flags=STRICT)
    place.sh('test "$(cat <(echo one) <(echo two))" = "one\ntwo"', shell="bash", flags=STRICT)


@case
def processes_are_counted(place):
    script = """
import os, time
children = []
try:
    for _ in range(60):
        child = os.fork()
        if child == 0:
            time.sleep(60)
        children.append(child)
    print("all")
except BlockingIOError:
    print("limited", 5 < len(children) < 40)
"""
    expect(python(place, script, flags=(*STRICT, "--processes", "40")) == ["limited", "True"], "40")
    expect(python(place, script, flags=STRICT) == ["all"], "no limit")


@case
def too_much_in_the_temporary_directory_ends_the_run(place):
    policy = place.write(os.path.join(place.outside, "policy.toml"),
                         'preset = "strict"\nfs.temp_size = "8MiB"\nnet.mode = "none"\n')
    flags = ("--backend", "landlock", "--policy", policy, "--json")
    done = place.run("sh", "-c", "head -c 64M /dev/zero > $TMPDIR/f; sleep 60", flags=flags)
    expect(json.loads(done.stdout)["reason"] == "disk_limit", "too much", done)
    done = place.run("sh", "-c", "head -c 1M /dev/zero > $TMPDIR/f", flags=flags)
    expect(json.loads(done.stdout)["reason"] == "exited", "little", done)


@case
def the_record_says_what_is_missing(place):
    outcome = json.loads(place.run("true", flags=(*STRICT, "--json")).stdout)
    levels = {name: item["level"] for name, item in outcome["enforcement"].items()}
    expect(outcome["backend"] == "landlock" and levels["pid"] == "partial" and levels["net"] == "full", str(levels))
    told = place.run("true", flags=STRICT)
    expect("backend landlock" in told.stderr and "pid partial" in told.stderr, "it is told once", told)
    refused = place.run("true", flags=(*STRICT, "--require", "pid", "--on-unavailable", "warn"))
    expect(refused.returncode == 125 and "pid" in refused.stderr, "require wins", refused)
    allowed = place.run("true", flags=(*STRICT, "--require", "fs.floor"))
    expect(allowed.returncode == 0, "what is full may be required", allowed)


@case
def no_containment_only_by_name(place):
    outcome = json.loads(place.run("true", flags=("--backend", "none", "--json")).stdout)
    expect(outcome["backend"] == "none" and outcome["enforcement"]["fs.write"]["level"] == "none", str(outcome))
    told = place.run("true", flags=("--backend", "none"))
    expect("backend none" in told.stderr, "it is told", told)
    refused = place.run("true", flags=("--backend", "none", "--require", "fs"))
    expect(refused.returncode == 125, "require wins", refused)


@case
def the_best_backend_is_chosen(place):
    outcome = json.loads(place.run("true", flags=("--preset", "strict", "--json")).stdout)
    doctor = subprocess.run([*contained.CORDON, "doctor", "--json"], cwd=place.ws, env=place.env, text=True,
                            capture_output=True, check=False)
    report = json.loads(doctor.stdout)
    expect(outcome["backend"] == report["backend"], f"{outcome['backend']}, doctor: {report['backend']}")
    if contained.CORDON == [BIN]:
        return
    expect(report["backend"] == "landlock" and not report["backends"]["namespaces"]["available"], str(report))
    refused = place.run("true", flags=("--backend", "namespaces", "--preset", "strict"))
    expect(refused.returncode == 125, "what was named and cannot be had is refused", refused)


def main():
    status = contained.main("landlock")
    contained.CORDON[:0] = [sys.executable, ENGINE, "--"]
    return contained.main("landlock_in_a_container") or status


if __name__ == "__main__":
    sys.exit(main())
