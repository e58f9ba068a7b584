#!/usr/bin/python3
"""The bubblewrap backend against CORDON_BIN. Started by root, each case runs again where bubblewrap is setuid and user
namespaces are off, and some on hosts with another bubblewrap (bubblewrap_host.py)."""
import json
import os
import signal
import socket
import subprocess
import sys
import threading
import time

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
sys.path.insert(0, TESTS)
import contained  # noqa: E402
from contained import case, expect  # noqa: E402

HOST = os.path.join(TESTS, "bubblewrap_host.py")
SETUID = "--setuid" in sys.argv
SECRET = "the-secret"
BY = ("--backend", "bubblewrap")
STRICT = (*BY, "--preset", "strict", "--net", "none")

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


def python(place, script, flags=STRICT, **more):
    """Runs a script that prints what it finds, one word a line; it must succeed."""
    done = place.run("/usr/bin/python3", "-c", script, flags=flags, **more)
    expect(done.returncode == 0, f"the script failed:\n{script}", done)
    return done.stdout.split()


@case
def files_are_read_and_written_where_the_policy_says(place):
    secret = place.write(os.path.join(place.outside, "secret"), SECRET)
    hidden = place.write(os.path.join(place.top, "hidden"), SECRET)
    place.write("keys/.env", SECRET)
    place.write("keys/fine", "fine")
    found = python(place, TRY + f"""
attempt(write, "new"); attempt(read, {secret!r}); attempt(read, "keys/fine"); attempt(write, "/tmp/x")
attempt(write, "/dev/shm/x"); attempt(write, {secret!r}); attempt(read, {hidden!r}); attempt(read, "keys/.env")
attempt(os.rename, "keys", "moved"); attempt(write, "/etc/x"); attempt(write, "/dev/x"); attempt(write, "/x")
attempt(read, "/etc/shadow"); attempt(os.listdir, "keys/closed")
""", flags=(*STRICT, "--deny-read", place.path("keys/.env"), "--deny-read", "?" + place.path("keys/closed")))
    expect(found[:5] == ["yes"] * 5 and "yes" not in found[5:], str(found))
    expect(place.read(secret) == SECRET and not os.path.exists("/tmp/x"), "a file changed")


@case
def what_is_allowed_within_what_is_denied(place):
    place.write(os.path.join(place.outside, "a/b/deep/file"), "fine")
    place.write(os.path.join(place.outside, "a/b/other"), SECRET)
    policy = place.write(os.path.join(place.top, "policy.toml"), f"""
preset = "strict"
net.mode = "none"
fs.deny_read = ["{place.outside}/a"]
fs.allow_read_within_deny = ["{place.outside}/a/b/deep"]
""")
    found = python(place, TRY + f"""
os.chdir({place.outside!r})
attempt(read, "a/b/deep/file"); attempt(read, "a/b/other"); attempt(os.listdir, "a"); attempt(os.listdir, "a/b")
attempt(write, "a/b/deep/file"); attempt(write, "a/new"); attempt(os.chmod, "a", 0o755)
""", flags=(*BY, "--policy", policy))
    expect(found[0] == "yes" and "yes" not in found[1:], str(found))


@case
def the_floor_holds(place):
    place.outside_sh("git init -q .; echo hook > .git/hooks/h")
    before = place.read(".git/config")
    found = python(place, TRY + """
attempt(write, ".git/index"); attempt(write, ".git/config"); attempt(write, ".git/hooks/h")
attempt(write, ".git/hooks/new"); attempt(write, ".mcp.json"); attempt(os.mkdir, ".vscode")
attempt(os.rename, ".git", "moved"); attempt(os.remove, ".git/hooks/h"); attempt(os.link, ".git/hooks/h", "alias")
""")
    expect(found[0] == "yes" and "yes" not in found[1:], str(found))
    expect(place.read(".git/config") == before and not os.path.lexists(place.path(".mcp.json")), "the floor moved")


@case
def a_file_that_the_host_replaces_stays_closed(place):
    place.write("config", "old")
    script = TRY + """
import time
attempt(write, "config")
open("ready", "w").close()
while not os.path.exists("done"): time.sleep(0.01)
time.sleep(0.3)
attempt(write, "config")
"""
    def change():
        while not os.path.exists(place.path("ready")):
            time.sleep(0.01)
        place.write("next", "new")
        os.rename(place.path("next"), place.path("config"))
        place.write("done", "")
    changer = threading.Thread(target=change)
    changer.start()
    done = place.run("/usr/bin/python3", "-c", script, flags=(*STRICT, "--deny-write", place.path("config"), "--json"))
    changer.join()
    outcome = json.loads(done.stdout)
    # Nobody can enter what a setuid bubblewrap made, to mount again: the run ends.
    wanted = ("protection_lost", ["EROFS"]) if SETUID else ("exited", ["EROFS", "EROFS"])
    expect((outcome["reason"], outcome["stdout"].split()) == wanted, str(wanted), done)
    expect(place.read("config") == "new", "it changed")


@case
def sockets_are_the_runs_own_or_listed(place):
    host = place.path("host.sock")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(host)
        server.listen()
        script = TRY + f"""
import socket
def reach(path):
    with socket.socket(socket.AF_UNIX) as client: client.connect(path)
attempt(reach, {host!r})
own = socket.socket(socket.AF_UNIX); own.bind("own.sock"); own.listen(); attempt(reach, "own.sock")
print(own.getsockname())
os.remove("own.sock")
"""
        found = python(place, script)
        expect(found[:2] == ["EACCES", "yes"], str(found))
        expect(SETUID or found[2] == "own.sock", "it has the name that was given: " + str(found))
        found = python(place, script, flags=(*STRICT, "--allow-unix", host))
        expect(found[:2] == ["yes", "yes"], str(found))


@case
def the_network_is_its_own(place):
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        script = TRY + f"""
import socket
def reach(host, port): socket.create_connection((host, port), timeout=10).close()
attempt(reach, "127.0.0.1", {port}); attempt(reach, "192.0.2.1", 80)
inside = socket.create_server(("127.0.0.1", 0)); attempt(reach, *inside.getsockname())
"""
        expect(python(place, script) == ["ECONNREFUSED", "ENETUNREACH", "yes"], "none")
        found = python(place, script, flags=(*STRICT, "--host-port", str(port)))
        expect(found == ["yes", "ENETUNREACH", "yes"], str(found))
    refused = place.run("true", flags=(*STRICT, "--host-port", "80"))
    expect(refused.returncode == 125 and "net.host_ports: 80" in refused.stderr, "a low port", refused)


@case
def the_proxy_is_the_way_out(place):
    flags = (*BY, "--preset", "strict", "--net", "proxy", "--allow-domain", "fine.example")
    expect(python(place, """
import urllib.request, urllib.error
try:
    urllib.request.urlopen("http://denied.example/", timeout=20)
except urllib.error.HTTPError as error:
    print(error.code)
""", flags=flags) == ["403"], "the proxy answers")


@case
def a_published_server_is_reached(place):
    with socket.create_server(("127.0.0.1", 0)) as probe:
        port = probe.getsockname()[1]
    script = f"""
import socket
with socket.create_server(("127.0.0.1", {port})) as server:
    print("up", flush=True)
    server.accept()[0].sendall(b"hello")
"""
    flags = (*STRICT, "--publish", str(port))
    if SETUID:
        refused = place.run("true", flags=flags)
        expect(refused.returncode == 125 and "net.publish" in refused.stderr, "it is refused", refused)
        return
    words = [*contained.CORDON, "run", *place.reads, *flags, "--", "/usr/bin/python3", "-c", script]
    with subprocess.Popen(words, cwd=place.ws, env=place.env, stdout=subprocess.PIPE, stdin=subprocess.DEVNULL,
                          text=True) as run:
        run.stdout.readline()
        with socket.create_connection(("127.0.0.1", port)) as client:
            expect(client.recv(10) == b"hello", "hello")


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
    words = [*contained.CORDON, "run", *place.reads, *STRICT, "--", "sh", "-c", f"setsid sleep {mark} & sleep {mark}"]
    with subprocess.Popen(words, cwd=place.ws, env=place.env, stdin=subprocess.DEVNULL) as run:
        while not lives(mark):
            time.sleep(0.01)
        os.kill(run.pid, signal.SIGKILL)
        run.wait()
    while lives(mark):  # the test's own time limit ends it
        time.sleep(0.01)


@case
def it_gives_no_power_and_no_secret(place):
    done = place.run("sh", "-c", "cat /proc/self/status; cat /proc/1/environ; ls /proc/self/fd | wc -l",
                     flags=STRICT, env=place.env | {"TOKEN": SECRET})
    expect(SECRET not in done.stdout, "the environment is clean", done)
    expect("CapEff:\t0000000000000000" in done.stdout and "NoNewPrivs:\t1" in done.stdout, "no power", done)
    expect("Seccomp:\t2" in done.stdout and done.stdout.split()[-1] == "4", "a filter, and no descriptor more", done)
    refused = place.run("unshare", "-U", "true", flags=STRICT)
    expect(refused.returncode != 0, "no user namespace", refused)


@case
def status_output_and_limits(place):
    done = place.run("sh", "-c", "cat; echo err >&2; exit 3", flags=STRICT, input="in")
    expect((done.returncode, done.stdout, done.stderr) == (3, "in", "err\n"), "as it was", done)
    missing = place.run("no-such-program", flags=STRICT)
    expect(missing.returncode == 127, "127", missing)
    late = place.run("sleep", "60", flags=(*STRICT, "--timeout", "1"))
    expect(late.returncode == 124, "124", late)
    script = """
import os, time
try:
    for _ in range(200):
        if os.fork() == 0: time.sleep(60)
    print("all")
except BlockingIOError:
    print("limited")
"""
    done = place.run("/usr/bin/python3", "-c", script, flags=(*STRICT, "--processes", "40"))
    # Without a user namespace to count in, the tree is watched, and may be ended.
    expect(done.stdout == "limited\n" or (SETUID and "process_limit" in done.stderr), "40", done)
    expect(python(place, script) == ["all"], "no limit")


@case
def the_record_says_what_was_done(place):
    outcome = json.loads(place.run("true", flags=(*STRICT, "--json")).stdout)
    levels = {name: item["level"] for name, item in outcome["enforcement"].items()}
    expect(outcome["backend"] == "bubblewrap", str(outcome))
    expect(all(levels[name] == "full" for name in ("fs.read", "fs.write", "fs.floor", "net", "pid", "seccomp")),
           str(levels))
    refused = place.run("true", flags=(*STRICT, "--processes", "40", "--require", "limits.processes"))
    expect(refused.returncode == (125 if SETUID else 0), "it counts in a user namespace", refused)


@case
def it_is_chosen_where_it_alone_can_make_namespaces(place):
    outcome = json.loads(place.run("true", flags=("--preset", "strict", "--json")).stdout)
    doctor = subprocess.run([*contained.CORDON, "doctor", "--json"], cwd=place.ws, env=place.env, text=True,
                            capture_output=True, check=False)
    report = json.loads(doctor.stdout)
    expect(outcome["backend"] == report["backend"], f"{outcome['backend']}, doctor: {report['backend']}")
    expect(report["backends"]["bubblewrap"]["available"], str(report))
    expect(report["backend"] == ("bubblewrap" if SETUID else "namespaces"), str(report))
    if SETUID:
        refused = place.run("true", flags=("--backend", "namespaces", "--preset", "strict"))
        expect(refused.returncode == 125, "what was named and cannot be had is refused", refused)


@case
def a_program_in_the_workspace_is_not_taken(place):
    place.write("bwrap", "#!/bin/sh\ntouch taken\n", 0o755)
    done = place.run("true", flags=STRICT, env=place.env | {"PATH": place.ws + ":" + place.env["PATH"]})
    expect(done.returncode == 0 and not os.path.exists(place.path("taken")), "the system's is taken", done)


@case
def nesting_is_refused(place):
    policy = place.write(os.path.join(place.outside, "policy.toml"), 'preset = "strict"\nexec.nesting = true\n')
    refused = place.run("true", flags=(*BY, "--policy", policy))
    expect(refused.returncode == 125 and "exec.nesting" in refused.stderr, "it is refused by name", refused)


def on_host(place, kind, *words):
    return subprocess.run([sys.executable, HOST, kind, "--", *contained.CORDON, "run", *place.reads, *STRICT, *words],
                          cwd=place.ws, env=place.env, text=True, capture_output=True, timeout=120, check=False)


def other_hosts(place):
    done = on_host(place, "old", "--", "true")
    expect(done.returncode == 125 and "too old" in done.stderr and "0.8.0" in done.stderr, "old", done)
    done = on_host(place, "foreign", "--", "true")
    expect(done.returncode == 125 and "not root's alone" in done.stderr, "foreign", done)
    for name in ("d", "e"):
        place.write(f"{name}/keys/.env", SECRET)
    denied = ("--deny-read", place.path("d/keys/.env"))
    done = on_host(place, "racing", *denied, "--", "cat", "d/keys/.env", "e/keys/.env", ".moved/keys/.env")
    expect(os.path.islink(place.path("d")), "the race took place", done)
    expect(done.returncode == 125 and "check the mount" in done.stderr, "a link in the place of a directory", done)
    done = on_host(place, "covered-proc", "--", "true")
    expect(done.returncode == 125 and "/proc" in done.stderr and "on_unavailable" in done.stderr, "no /proc", done)
    done = on_host(place, "covered-proc", "--on-unavailable", "warn", "--memory", "100MiB", "--", "sh", "-c",
                   "ls -A /proc | wc -l; echo x > f; echo x > /etc/x; cat f")
    expect(done.stdout == "0\nx\n" and "pid partial (there is no /proc inside)" in done.stderr, "without /proc", done)
    hungry = on_host(place, "covered-proc", "--on-unavailable", "warn", "--memory", "100MiB", "--", "python3", "-c",
                     "import time\nkept = [bytes([1]) * (1 << 20) for _ in range(300)]\ntime.sleep(5)")
    expect(hungry.returncode != 0 and "memory" in hungry.stderr, "limits hold without /proc", hungry)


def main():
    sys.argv = [word for word in sys.argv if word != "--setuid"]
    contained.need("bwrap")
    if SETUID or os.geteuid() != 0:
        return contained.main("bubblewrap")
    case(other_hosts)
    status = contained.main("bubblewrap")
    python3 = "/usr/bin/python3"  # one that everybody may execute
    user = [python3, os.path.join(TESTS, "as_user.py"), "--", python3, os.path.abspath(__file__)]
    again = subprocess.run([sys.executable, HOST, "setuid", "--", *user, "--setuid", *sys.argv[1:]], check=False)
    return status or again.returncode


if __name__ == "__main__":
    sys.exit(main())
