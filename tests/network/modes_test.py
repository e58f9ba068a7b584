#!/usr/bin/python3
"""The modes of the network, the other ways out (a parent proxy, a proxy of one's own),
rules for plain HTTP, and what the record of a run says about all of them."""
import json
import sys

import fakenet
import world
from contained import case, expect
from world import EVIL, EVIL6, GOOD, NET, OTHER, UNPROXIED

WORLD = None
PARENT = None
EVERYTHING = '''
results = {}
for host in ("allowed.test", "evil.test", "93.184.216.12", "2606:2800:220::12", "127.0.0.1", "10.0.0.5",
             "169.254.169.254", "private.wild.test", "loop.wild.test", "meta.wild.test"):
    answer = get(host)
    results[host] = "welcome" if "welcome" in answer else answer.split("\\r\\n")[0]
print(json.dumps(results))
'''


class Parent:
    """An HTTP proxy of the host's that goes nowhere, and remembers what it was asked."""

    def __init__(self, port):
        self.asked = []
        self.server = fakenet.Server("127.0.0.1", port, self.talk)

    def talk(self, connection):
        head = fakenet.read_until(connection, b"\r\n\r\n")
        self.asked.append(head.split(b"\r\n")[0].decode())
        if head.startswith(b"CONNECT "):
            connection.sendall(b"HTTP/1.1 200 Yes\r\n\r\n")
            head = fakenet.read_until(connection, b"\r\n\r\n")
        connection.sendall(b"HTTP/1.1 200 OK\r\nConnection: close\r\nContent-Length: 7\r\n\r\nparent\n")


def everything(at, flags):
    WORLD.forget()
    done = world.python(at, EVERYTHING, flags=flags)
    expect(done.returncode == 0 and "hangs" not in done.stdout, "it broke or hung", done)
    results = json.loads(done.stdout)
    return {host for host, answer in results.items() if answer == "welcome"}, done


def record(at, *argv, flags):
    WORLD.forget()
    done = at.run(*argv, flags=("--json", *flags))
    return json.loads(done.stdout)


def curl(at, url, flags, before="", more=""):
    WORLD.forget()
    return at.run("sh", "-c", f"{before}curl -sS -m 60 {more} {url}", flags=flags)


# --- modes ------------------------------------------------------------------------

@case
def none_reaches_nothing(at):
    for flags in (("--net", "none"), ("--net", "none", "--host-port", "5432")):
        found, done = everything(at, flags)
        expect(not found and not WORLD.came(), f"reached {found} {WORLD.came()}", done)
        expect(not WORLD.names.asked, f"asked for {WORLD.names.asked}", done)
    net = record(at, "sh", "-c", "env", flags=("--net", "none"))
    expect("proxy" not in net["stdout"].lower(), f"proxy variables: {net['stdout']}")
    expect(net["enforcement"]["net"] == {"level": "full", "mechanism": "network namespace"}, f"{net}")


@case
def an_empty_list_reaches_nothing(at):
    found, done = everything(at, world.policy(at, '[net]\nmode = "proxy"\nallow = []\n'))
    expect(not found and not WORLD.came() and not WORLD.names.asked, f"reached {found}", done)


@case
def proxy_reaches_the_list(at):
    found, done = everything(at, NET)
    expect(found == {"allowed.test"} and WORLD.came() == {GOOD}, f"reached {found} {WORLD.came()}", done)


@case
def public_reaches_what_is_public(at):
    found, done = everything(at, ("--net", "public"))
    wanted = {"allowed.test", "evil.test", "93.184.216.12"}
    reached = {GOOD, EVIL}
    if fakenet.has_ipv6():
        wanted.add("2606:2800:220::12")
        reached.add(EVIL6)
    expect(found == wanted and WORLD.came() == reached, f"reached {found} {WORLD.came()}", done)
    expect("evil.test" in WORLD.names.asked, "nobody was asked", done)


@case
def deny_beats_public_and_allow(at):
    for mode in (("--net", "public"), (*NET, "--allow-domain", "**.evil.test")):
        found, done = everything(at, (*mode, "--deny-domain", "**.evil.test"))
        expect("evil.test" not in found and "allowed.test" in found, f"{mode}: {found}", done)
        expect("evil.test" not in WORLD.names.asked, "a denied name was asked for", done)
        expect("evil.test" in everything(at, mode)[0], f"{mode}: not without the denial either")


@case
def open_is_the_host_s(at):
    found, done = everything(at, ("--net", "open"))
    expect({"allowed.test", "evil.test", EVIL, "127.0.0.1", "10.0.0.5"} <= found, f"{found}", done)
    net = record(at, "true", flags=("--net", "open"))["enforcement"]["net"]
    expect(net["level"] == "none" and "open" in net["note"], f"the record does not say so: {net}")
    done = at.run("true", flags=("--net", "open", "--require", "net"))
    expect(done.returncode == 125 and "net" in done.stderr, "required, and not there", done)
    expect(at.run("true", flags=(*NET, "--require", "net")).returncode == 0, "required, and there")


@case
def open_takes_no_rules(at):
    for flags, word in ((("--deny-domain", "evil.test"), "net.deny"), (("--publish", "3000"), "net.publish")):
        done = at.run("true", flags=("--net", "open", *flags))
        expect(done.returncode == 125 and word in done.stderr, "not refused", done)


# --- the record ---------------------------------------------------------------------

@case
def denials_are_recorded_and_counted(at):
    script = (f"for i in 1 2 3; do curl -sS http://evil.test/; done; curl -sS --noproxy '*' http://evil.test/; "
              f"curl -sS --noproxy '*' http://{EVIL}/; curl -sS http://private.wild.test/; "
              f"curl -sS http://allowed.test/; curl -sS http://allowed.test:25/; curl -sS 'http://[{EVIL6}]/'")
    told = record(at, "sh", "-c", script, flags=NET)
    seen = {(v["operation"], v["subject"]): v for v in told["violations"]}
    wanted = {("connect", "evil.test:80"): ("host_denied", 3), ("look up", "evil.test"): ("host_denied", None),
              ("connect", f"{EVIL}:80"): ("host_denied", 1), ("connect", f"[{EVIL6}]:80"): ("host_denied", 1),
              ("connect", "allowed.test:25"): ("host_denied", 1),
              ("connect", "private.wild.test:80 (10.0.0.5)"): ("address_denied", 1)}
    for key, (reason, count) in wanted.items():
        expect(key in seen, f"{key} is not recorded: {list(seen)}")
        expect(seen[key]["reason"] == reason and seen[key]["rule"], f"{seen[key]}")
        expect(count in (None, seen[key]["count"]), f"{seen[key]}")
    expect("net.allow" in seen["connect", "evil.test:80"]["hint"], f"no hint: {seen}")
    expect(set(seen) == set(wanted), f"more than that: {set(seen) - set(wanted)}")
    net = told["enforcement"]["net"]
    expect(net == {"level": "full", "mechanism": "network namespace, proxy"}, f"{net}")


@case
def an_allowed_run_has_a_clean_record(at):
    told = record(at, "curl", "-sS", "http://allowed.test/", flags=NET)
    expect(told["stdout"] == "welcome /\n" and told["violations"] == [], f"{told}")
    done = curl(at, "http://allowed.test/", NET)
    expect(done.stderr == "", "words about nothing", done)


@case
def a_server_that_is_down_is_no_denial(at):
    flags = (*NET, "--allow-domain", "allowed.test:9")
    told = record(at, "sh", "-c", "curl -sS -i http://allowed.test:9/; curl -sS -i http://missing.wild.test/; "
                  "curl -sS --noproxy '*' http://missing.wild.test/", flags=flags)
    expect(told["stdout"].count("X-Cordon-Reason: upstream_failed") == 2, f"{told['stdout']}")
    expect(told["violations"] == [], f"{told['violations']}")


@case
def a_denial_names_its_rule(at):
    flags = world.policy(at, '[net]\nallow = ["**.evil.test"]\ndeny = ["evil.test"]\n')
    told = record(at, "curl", "-sS", "http://evil.test/", flags=flags)
    rules = {v["rule"] for v in told["violations"] if v["operation"] == "connect"}
    expect(len(rules) == 1 and "policy.toml:4" in rules.pop(), f"{told['violations']}")


@case
def a_flood_of_names_is_bounded(at):
    code = "for n in range(3000): get(f'n{n}.evil.test')\nprint(get('allowed.test')[:15])"
    words = at.write(at.outside + "/code.py", world.PRELUDE + code)
    told = record(at, world.PYTHON, words, flags=NET)
    expect(told["stdout"] == "HTTP/1.1 200 OK\n", f"{told['stdout']} {told['stderr']}")
    expect(100 <= len(told["violations"]) <= 1001, f"{len(told['violations'])} violations")
    if len(told["violations"]) > 1000:
        expect(told["violations"][-1]["subject"] == "others", f"{told['violations'][-1]}")
    expect(set(WORLD.names.asked) == {"allowed.test"}, "asked outside")


@case
def any_port_of_a_public_name(at):
    """By programs that know of no proxy, too; a server inside keeps its own."""
    code = '''
results = {host: get(host, int(port)).split("\\r\\n")[-1].strip()
           for host, port in (name.split("/") for name in sys.argv[1:])}
with socket.create_server(("127.0.0.1", 8443)) as server:
    with socket.create_connection(("127.0.0.1", 8443)) as own:
        server.accept()[0].sendall(b"own")
        results["own"] = own.recv(9).decode()
print(json.dumps(results))
'''
    asked = ("port.test/8443", "allowed.test/25", "six.test/8443", "private.wild.test/8443",
             "meta.wild.test/25", "10.0.0.5/8443", "::ffff:127.0.0.1/8443", "evil.test/8443")
    flags = ("--net", "public", "--deny-domain", "evil.test")
    WORLD.forget()
    done = world.python(at, code, *asked, flags=flags)
    expect(done.returncode == 0, "it broke", done)
    results = json.loads(done.stdout)
    reached = {host for host, answer in results.items() if "welcome" in answer}
    expect(reached == {"port.test", "allowed.test"} | ({"six.test"} if fakenet.has_ipv6() else set()),
           f"{results}", done)
    expect(WORLD.came() <= {GOOD, fakenet.PUBLIC6[0]} and results["own"] == "own", f"{results} {WORLD.came()}", done)
    expect("hangs" not in results.values(), f"{results}", done)
    done = world.python(at, 'print(get("allowed.test", 25))', flags=NET)
    expect(done.stdout == "ECONNREFUSED\n", "a port that a list does not name", done)


@case
def a_scan_of_ports_ends(at):
    code = '''
address = socket.getaddrinfo("allowed.test", 80)[0][4][0]
said = {}
for port in range(20000, 20400):
    answer = get(address, port)
    said[answer] = said.get(answer, 0) + 1
print(json.dumps(said))
print(get("allowed.test", 80).split("\\r\\n")[-1])
'''
    done = world.python(at, code, flags=("--net", "public"))
    expect(done.returncode == 0 and "hangs" not in done.stdout and "welcome" in done.stdout, "it broke", done)


# --- other ways out --------------------------------------------------------------------

@case
def a_parent_proxy_is_used(at):
    chained = NET + world.policy(at, '[net]\nupstream = "http://127.0.0.1:3129"\n')
    for before in ("", UNPROXIED):
        PARENT.asked.clear()
        done = curl(at, "http://allowed.test/a", chained, before)
        expect(done.stdout == "parent\n" and PARENT.asked, f"{PARENT.asked}", done)
        expect("allowed.test" in PARENT.asked[0], f"{PARENT.asked}", done)
        WORLD.nothing_came(done)
        PARENT.asked.clear()
        done = curl(at, "http://evil.test/a", chained, before)
        expect("parent" not in done.stdout and not PARENT.asked, "the parent was asked", done)
        done = curl(at, "http://127.0.0.1:3129/", chained, before)
        expect("parent" not in done.stdout, "the parent is reached past us", done)


@case
def the_parent_of_the_environment_is_used(at):
    at.env["https_proxy"] = "http://127.0.0.1:3129"
    PARENT.asked.clear()
    done = curl(at, "http://allowed.test/", NET)
    expect(done.stdout == "parent\n" and len(PARENT.asked) == 1, f"{PARENT.asked}", done)
    expect(EVIL not in WORLD.came(), "past the parent", done)


@case
def a_parent_that_cannot_be_one_is_told(at):
    at.env["https_proxy"] = "ftp://127.0.0.1:3129"
    done = at.run("true", flags=NET)
    expect(done.returncode == 125 and "https_proxy of the environment" in done.stderr, "not told", done)


@case
def a_proxy_of_one_s_own(at):
    flags = world.policy(at, '[net]\nmode = "proxy"\nexternal = { http = 3129 }\n')
    PARENT.asked.clear()
    done = curl(at, "http://anything.test/", flags)
    expect(done.stdout == "parent\n" and PARENT.asked == ["GET http://anything.test/ HTTP/1.1"],
           f"{PARENT.asked}", done)
    for host in ("allowed.test", EVIL, "127.0.0.1"):
        done = curl(at, f"http://{host}/", flags, UNPROXIED)
        expect("welcome" not in done.stdout and not WORLD.came(), f"{host} was reached past it", done)


@case
def the_same_port_for_http_and_socks(at):
    flags = world.policy(at, '[net]\nmode = "proxy"\nexternal = { http = 3129, socks = 3129 }\n')
    done = curl(at, "http://anything.test/", flags)
    expect(done.stdout == "parent\n", "one port for both", done)


@case
def a_port_that_we_need_ourselves(at):
    done = at.run("true", flags=(*NET, "--host-port", "3128"))
    expect(done.returncode == 125 and "net.host_ports" in done.stderr and "3128" in done.stderr,
           "not refused by name", done)
    expect(at.run("true", flags=("--net", "none", "--host-port", "3128")).returncode == 0, "free without us")
    done = at.run("true", flags=(*NET, "--host-port", "5432", "--host-port", "5432"))
    expect(done.returncode == 0, "the same twice", done)


# --- rules for plain HTTP ----------------------------------------------------------------

@case
def methods_and_paths(at):
    flags = NET + world.policy(at, '[net]\nmode = "proxy"\n[[net.rule]]\nhost = "allowed.test"\n'
                               'methods = ["GET"]\npaths = ["/v1/**"]\n')
    for before in ("", UNPROXIED):
        done = curl(at, "http://allowed.test/v1/a/b", flags, before)
        expect(done.stdout == "welcome /v1/a/b\n", "the rule allows it", done)
        for url, more in (("/v2/a", ""), ("/v1/a", "-X POST"), ("/v1/../v2", "--path-as-is"),
                          ("/v1/%2e%2e/v2", "--path-as-is")):
            done = curl(at, "http://allowed.test" + url, flags, before, more + " -i")
            expect("HTTP/1.1 403 " in done.stdout and "X-Cordon-Reason: " in done.stdout, f"{url}", done)
            WORLD.nothing_came(done)
        done = curl(at, "https://allowed.test/v1/a", flags, before, "-k")
        expect(done.returncode != 0 and not WORLD.came(), "TLS hides the path", done)
        done = curl(at, "http://x.wild.test/v2/a", flags, before)
        expect(done.stdout == "welcome /v2/a\n" and WORLD.came() == {OTHER}, "a host without rules", done)


if __name__ == "__main__":
    WORLD = world.start()
    PARENT = Parent(3129)
    sys.exit(world.main("modes", WORLD))
