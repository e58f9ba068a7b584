#!/usr/bin/python3
"""Names inside: who may be looked up, what a name may resolve to, that TLS is for the
name that was asked for, and that `cordon explain` knows all of it beforehand."""
import json
import subprocess
import sys

import fakenet
import world
from contained import CORDON, case, expect
from world import GOOD, NET, OTHER, UNPROXIED, ZONE

WORLD = None
KINDS = {"A": 1, "NS": 2, "CNAME": 5, "NULL": 10, "PTR": 12, "MX": 15, "TXT": 16, "AAAA": 28,
         "SRV": 33, "SVCB": 64, "HTTPS": 65, "AXFR": 252, "ANY": 255}

# ask(server, name, kind, way) -> (code, answers) of a DNS question.
ASK = '''
def ask(server, name, kind, way, port=53):
    query = struct.pack(">6H", 4711, 0x100, 1, 0, 0, 0)
    for label in name.split("."):
        query += bytes([len(label)]) + label.encode()
    query += b"\\0" + struct.pack(">2H", kind, 1)
    family = socket.AF_INET6 if ":" in server else socket.AF_INET
    with socket.socket(family, socket.SOCK_DGRAM if way == "udp" else socket.SOCK_STREAM) as s:
        s.settimeout(20)
        s.connect((server, port))
        if way == "udp":
            s.send(query)
            answer = s.recv(4096)
        else:
            s.sendall(struct.pack(">H", len(query)) + query)
            answer = b""
            while len(answer) < 2 or len(answer) < 2 + struct.unpack(">H", answer[:2])[0]:
                piece = s.recv(4096)
                assert piece, answer
                answer += piece
            answer = answer[2:]
    number, flags, _, count = struct.unpack(">4H", answer[:8])
    assert number == 4711 and flags & 0x8000, answer
    return flags & 15, count
'''
ALL_WAYS = '''
names, kinds, servers = json.loads(sys.argv[1])
for name in names:
    for server in servers:
        for way in ("udp", "tcp"):
            for kind in kinds:
                print(json.dumps([name, server, way, kind, ask(server, name, kind, way)]))
'''


def servers():
    v6 = ["::1", "2001:4860:4860::8888", fakenet.PUBLIC6[0]] if fakenet.has_ipv6() else []
    return ["127.0.0.1", "8.8.8.8", fakenet.DNS, "10.0.0.5", *v6]


def ask_all(at, names, kinds, flags=NET, where=None):
    WORLD.forget()
    done = world.python(at, ASK + ALL_WAYS, json.dumps([names, kinds, where or servers()]), flags=flags)
    expect(done.returncode == 0, "a question was not answered", done)
    answers = [json.loads(line) for line in done.stdout.splitlines()]
    expect(len(answers) == len(names) * len(where or servers()) * 2 * len(kinds), "too few answers", done)
    return answers


@case
def no_question_about_other_names_gets_out(at):
    data = "c2VjcmV0LWtleS1vZi10aGUtYWdlbnQ"
    names = ["evil.test", f"{data}.evil.test", f"{data}.allowed.test", "wild.test",
             ".".join([data] * 5) + ".example", "allowed.test.evil.test", "1.0.0.127.in-addr.arpa"]
    for name, server, way, kind, (code, count) in ask_all(at, names, list(KINDS.values())):
        expect((code, count) == (3, 0), f"{name} {kind} at {server} by {way}: {code}, {count} answers")
    expect(not WORLD.names.questions, f"asked outside: {WORLD.names.questions}")
    expect(not WORLD.tcp_names.came, "the name server was reached by TCP")


@case
def allowed_names_are_answered_everywhere(at):
    wanted = ["allowed.test", "x.wild.test", "aLLowed.Test"]
    for name, server, way, kind, (code, count) in ask_all(at, wanted, list(KINDS.values())):
        addresses = kind in (KINDS["A"], KINDS["AAAA"])
        expect(code == 0 and count == int(addresses), f"{name} {kind} at {server} by {way}: {code}, {count}")
    types = {kind for _, kind in WORLD.names.questions}
    expect(types <= {1, 28}, f"record types that nobody needs were asked for: {types}")
    expect({name for name, _ in WORLD.names.questions} <= {"allowed.test", "x.wild.test"}, "other names")


@case
def an_allowed_name_that_does_not_exist(at):
    for answer in ask_all(at, ["missing.wild.test"], [1, 28], where=["127.0.0.1"]):
        expect(answer[-1] == [3, 0], f"{answer}")
    expect("missing.wild.test" in WORLD.names.asked, "nobody was asked")


@case
def odd_questions_are_survived(at):
    code = ASK + '''
good = ask("127.0.0.1", "allowed.test", 1, "udp")
odd = [b"", b"\\0" * 11, b"\\xff" * 600, b"\\0\\1\\1\\0\\0\\1\\0\\0\\0\\0\\0\\0\\xc0\\x0c\\0\\1\\0\\1",
       b"\\0\\1\\1\\0\\0\\2\\0\\0\\0\\0\\0\\0" + b"\\4evil\\4test\\0\\0\\1\\0\\1" * 2,
       b"\\0\\1\\1\\0\\0\\1\\0\\0\\0\\0\\0\\0\\x3f" + b"a" * 20]
for packet in odd:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        s.sendto(packet, ("127.0.0.1", 53))
    with socket.create_connection(("127.0.0.1", 53), 20) as s:
        s.sendall(struct.pack(">H", len(packet)) + packet)
assert ask("127.0.0.1", "allowed.test", 1, "udp") == good == (0, 1), good
assert ask("127.0.0.1", "allowed.test", 28, "tcp") == (0, 1)
print("alive")
'''
    WORLD.forget()
    done = world.python(at, code)
    expect(done.stdout == "alive\n", "the name server inside is gone", done)
    expect(set(WORLD.names.asked) <= {"allowed.test"}, f"asked: {WORLD.names.asked}", done)


@case
def tools_look_up_by_us(at):
    WORLD.forget()
    done = at.run("sh", "-c", "cat /etc/resolv.conf; getent ahosts allowed.test; getent ahosts evil.test; "
                  "echo $?; getent hosts localhost", flags=NET)
    lines = done.stdout.splitlines()
    expect(lines[0] == "nameserver 127.0.0.1", "another resolv.conf", done)
    expect(any(line.startswith("198.1") for line in lines), "no address that stands for a name", done)
    expect("2" in lines and ("127.0.0.1" in lines[-1] or "::1" in lines[-1]), "wrong answers", done)
    expect(set(WORLD.names.asked) <= {"allowed.test"}, "asked outside for another name", done)


# --- addresses ------------------------------------------------------------------

def reached(at, host, flags, before=""):
    WORLD.forget()
    done = at.run("sh", "-c", f"{before}curl -sS -m 60 http://{host}/", flags=flags)
    expect("timed out" not in done.stderr, "had to wait", done)
    expect(("welcome" in done.stdout) == bool(WORLD.came()), "half a connection", done)
    return WORLD.came(), done


def both_ways(at, host, flags):
    """What was reached, the same told of the proxy or not."""
    found, done = reached(at, host, flags)
    again, done = reached(at, host, flags, UNPROXIED)
    expect(found == again, f"{host}: {found} by the proxy, {again} without", done)
    return found, done


@case
def names_of_special_addresses_are_denied(at):
    for name in ("loop", "zero", "mapped", "private", "shared", "meta"):
        found, done = both_ways(at, f"{name}.wild.test", NET)
        expect(not found, f"{name}: reached {found}", done)
        expect("address_denied" in done.stderr, f"{name}: no reason", done)
    expect(both_ways(at, "mixed.wild.test", NET)[0] == {OTHER}, "the good one of two is not taken")


@case
def private_addresses_may_be_allowed_but_metadata_never(at):
    flags = NET + world.policy(at, '[net]\nmode = "proxy"\nprivate_addresses = "allow"\n')
    expect(both_ways(at, "private.wild.test", flags)[0] == {"10.0.0.5"}, "a private one")
    expect(both_ways(at, "shared.wild.test", flags)[0] == {"100.64.0.1"}, "a shared one")
    for name in ("meta", "loop", "zero", "mapped"):
        found, done = both_ways(at, f"{name}.wild.test", flags)
        expect(not found, f"{name}: reached {found}", done)
    listed = NET + ("--allow-domain", "169.254.169.254", "--allow-domain", "10.0.0.5")
    expect(not both_ways(at, "169.254.169.254", listed)[0], "metadata by its address")
    expect(both_ways(at, "10.0.0.5", listed)[0] == {"10.0.0.5"}, "an address that is allowed itself")


@case
def addresses_in_other_clothes(at):
    for host in ("2130706433", "0x7f.1", "0177.0.0.1", "127.1", "[::ffff:127.0.0.1]", "[::ffff:7f00:1]",
                 "[64:ff9b::a9fe:a9fe]", "169.254.169.254.", "%31%32%37.0.0.1"):
        found, done = both_ways(at, host, NET)
        expect(not found, f"{host} reached {found}", done)


# --- TLS ------------------------------------------------------------------------

def tls(at, url, more="", flags=NET):
    """curl's status, by the proxy and without."""
    statuses = []
    for before in ("", UNPROXIED):
        WORLD.forget()
        done = at.run("sh", "-c", f"{before}curl -sS -m 60 --cacert {WORLD.path('ca.pem')} {more} {url}",
                      flags=(*flags, "--read", WORLD.folder))
        expect("timed out" not in done.stderr, "had to wait", done)
        expect((done.returncode == 0) == (done.stdout == "welcome /\n"), "neither yes nor no", done)
        statuses.append(done.returncode)
    expect((statuses[0] == 0) == (statuses[1] == 0), f"{url} {more}: {statuses}", done)
    return statuses[0], done


@case
def tls_for_the_name_works(at):
    for name in ("allowed.test", "x.wild.test", "six.test", "both.test"):
        if name == "six.test" and not fakenet.has_ipv6():
            continue
        status, done = tls(at, f"https://{name}/")
        expect(status == 0, f"https://{name}/", done)
        expect(WORLD.seen_sni == [name], f"the server saw {WORLD.seen_sni}", done)
    expect(tls(at, "https://ALLOWED.test/")[0] == 0, "upper case")


@case
def tls_for_another_name_is_cut(at):
    for other in ("evil.test", "x.wild.test"):
        # The client means `other`, and goes where allowed.test is.
        status, done = tls(at, f"https://{other}/", f"--connect-to {other}:443:allowed.test:443")
        expect(status != 0 and not WORLD.seen_sni, f"{other} was seen: {WORLD.seen_sni}", done)
        expect("name_mismatch" in done.stderr, "no reason", done)
    status, done = tls(at, "https://allowed.test/", "--connect-to allowed.test:443:allowed.test:443")
    expect(status == 0, "its own name", done)


@case
def tls_without_a_name_is_cut(at):
    code = """
import ssl
tls = ssl._create_unverified_context()
for name in (None, "allowed.test"):
    s = socket.create_connection(("allowed.test", 443), 20)
    try:
        print("connected", name, tls.wrap_socket(s, server_hostname=name).version() is not None)
    except OSError as problem:
        print("cut", name, isinstance(problem, TimeoutError))
"""
    WORLD.forget()
    done = world.python(at, code)
    expect(done.stdout == "cut None False\nconnected allowed.test True\n", "wrong", done)
    expect(WORLD.seen_sni == ["allowed.test"], f"the server saw {WORLD.seen_sni}", done)


# --- explain ---------------------------------------------------------------------

@case
def explain_agrees(at):
    flags = NET + ("--deny-domain", "no.wild.test", "--allow-domain", "**.apex.test",
                   "--allow-domain", OTHER)
    here = dict(ZONE) | {"no.wild.test": [OTHER], "apex.test": [OTHER], "sub.apex.test": [OTHER]}
    WORLD.names.zone = here
    targets = [f"{host}:{port}" for port in (80, 443, 22, 25, 8443) for host in
               ("allowed.test", "sub.allowed.test", "wild.test", "x.wild.test", "deep.x.wild.test",
                "no.wild.test", "apex.test", "sub.apex.test", "evil.test", "ssh.test", "port.test",
                "xallowed.test", OTHER, GOOD, "ALLOWED.test.", "127.0.0.1")]
    code = """
for target in sys.argv[1:]:
    host, _, port = target.rpartition(":")
    if port == "22":
        try:
            with socket.create_connection((host, port), 20) as s:
                s.settimeout(20)
                print(target, s.recv(4) == b"SSH-")
        except OSError as problem:
            print(target, isinstance(problem, TimeoutError) and "hangs")
    else:
        answer = get(host, int(port))
        print(target, "hangs" if answer == "hangs" else "welcome" in answer)
"""
    try:
        done = world.python(at, code, *targets, flags=flags)
    finally:
        WORLD.names.zone = ZONE
    expect(done.returncode == 0, "it broke", done)
    really = dict(line.split() for line in done.stdout.splitlines())
    expect(set(really.values()) == {"True", "False"}, f"{really}", done)
    for target in targets:
        said = subprocess.run([*CORDON, "explain", *flags, "connect", target], cwd=at.ws,
                              env=at.env, capture_output=True, text=True, check=False)
        expect(said.returncode in (0, 1), "no answer", said)
        expect(str(said.returncode == 0) == really[target],
               f"{target}: explain says {said.returncode == 0}, inside it is {really[target]}", said)


if __name__ == "__main__":
    WORLD = world.start()
    sys.exit(world.main("names", WORLD))
