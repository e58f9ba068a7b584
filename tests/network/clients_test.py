#!/usr/bin/python3
"""Real clients inside, told of the proxy and not: what the policy allows works as
it does outside, everything else fails with a word and reaches nobody."""
import os
import shutil
import sys

import world
from world import EVIL, EVIL6, GOOD, GOOD6, NET, PYTHON, UNPROXIED
from contained import Skipped, case, expect, need
import fakenet

WORLD = None
# What no client may have to wait for.
SECONDS = 60

C_SOURCE = r"""
#include <netdb.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>
int main(int argc, char** argv) {
  struct addrinfo hints = {.ai_socktype = SOCK_STREAM}, *found;
  if (argc != 3 || getaddrinfo(argv[1], argv[2], &hints, &found) != 0) return 2;
  int fd = socket(found->ai_family, SOCK_STREAM, 0);
  if (connect(fd, found->ai_addr, found->ai_addrlen) != 0) { perror("connect"); return 3; }
  dprintf(fd, "GET /c HTTP/1.0\r\nHost: %s\r\n\r\n", argv[1]);
  char buffer[4096];
  for (long n; (n = read(fd, buffer, sizeof buffer)) > 0;) fwrite(buffer, 1, n, stdout);
  return 0;
}
"""
JAVA_SOURCE = r"""
import java.net.*;
public class Get {
  public static void main(String[] words) throws Exception {
    HttpURLConnection c = (HttpURLConnection) new URL(words[0]).openConnection();
    c.setConnectTimeout(60000);
    c.setReadTimeout(60000);
    System.out.println(c.getResponseCode());
    System.out.write(c.getInputStream().readAllBytes());
    System.out.flush();
  }
}
"""
PERL = ("use IO::Socket::INET; my ($h, $p) = @ARGV; my $s = IO::Socket::INET->new("
        "PeerAddr => $h, PeerPort => $p, Timeout => 60) or die \"$@\\n\";"
        "print $s \"GET /perl HTTP/1.0\\r\\nHost: $h\\r\\n\\r\\n\"; print while <$s>;")
NODE_FETCH = ("fetch(process.argv[1]).then(async r => console.log(r.status, await r.text()))"
              ".catch(e => { console.log('failed', e.cause && e.cause.code); process.exit(1) })")
NODE_HTTP = ("require('http').get(process.argv[1], r => { r.pipe(process.stdout) })"
             ".on('error', e => { console.log('failed', e.code); process.exit(1) })")
URLLIB = """
import sys, urllib.request
try:
    print(urllib.request.urlopen(sys.argv[1], None, 60).read().decode())
except OSError as problem:
    sys.exit(str(problem))
"""


def url_clients(at):
    """Each takes a URL as its last word."""
    yield "curl", f"curl -sS -m {SECONDS}"
    yield "wget", f"wget -q -O - --tries=1 --timeout={SECONDS}"
    yield "node", f"node -e \"{NODE_FETCH}\""
    yield "node", f"node -e \"{NODE_HTTP}\""
    yield "python3", f"{PYTHON} -c '{URLLIB}'"


def socket_clients(at):
    """Each takes a host and a port, and knows of no proxy."""
    yield "perl", f"perl -e '{PERL}'"
    yield "gcc", "./static"
    yield "bash", ("bash -c 'exec 3<>/dev/tcp/$0/$1 || exit 1; "
                   r'printf "GET /bash HTTP/1.0\r\nHost: $0\r\n\r\n" >&3; cat <&3' + "'")
    yield "nc", r"""sh -c 'printf "GET /nc HTTP/1.0\r\nHost: $0\r\n\r\n" | nc -w 60 "$0" "$1"'"""


def commands(at, host, port=80):
    shown = f"[{host}]" if ":" in host else host
    suffix = "" if port == 80 else f":{port}"
    for program, words in url_clients(at):
        if shutil.which(program):
            yield f"{words} http://{shown}{suffix}/path"
    for program, words in socket_clients(at):
        if shutil.which(program) and not (program == "perl" and ":" in host):
            yield f"{words} {host} {port}"


def prepare(at):
    need("gcc", "curl")
    at.write("static.c", C_SOURCE)
    at.outside_sh("gcc -static -o static static.c 2>gcc.log")


def outcome_of(at, script, flags=NET, **more):
    WORLD.forget()
    return at.run("sh", "-c", script, flags=flags, timeout=2 * SECONDS, **more)


def works(at, command, where):
    for before in ("", UNPROXIED):
        done = outcome_of(at, before + command)
        expect(done.returncode == 0 and "welcome" in done.stdout, f"does not work: {before}{command}", done)
        expect(WORLD.came() == {where}, f"{command}: reached {WORLD.came()}", done)


def fails(at, command):
    """Without a server, a question to the name server or a wait."""
    for before in ("", UNPROXIED):
        done = outcome_of(at, before + command)
        expect("welcome" not in done.stdout, f"works: {before}{command}", done)
        WORLD.nothing_came(done)
        said = (done.stdout + done.stderr).lower()
        expect("timed out" not in said and "timeout" not in said, f"{command} had to wait", done)
        leaked = [name for name in WORLD.names.asked if name not in ("allowed.test", "port.test")]
        expect(not leaked, f"asked outside for {leaked}", done)


@case
def allowed_names_work(at):
    prepare(at)
    for command in commands(at, "allowed.test"):
        works(at, command, GOOD)


@case
def other_names_fail(at):
    prepare(at)
    for command in commands(at, "evil.test"):
        fails(at, command)


@case
def bare_addresses_fail(at):
    prepare(at)
    for address in (EVIL, GOOD):
        for command in commands(at, address):
            fails(at, command)
    for command in [f"curl -sS -m {SECONDS} http://{EVIL}:9999/", f"curl -sS -m {SECONDS} https://{EVIL}/",
                    "bash -c 'exec 3<>/dev/tcp/93.184.216.12/22; cat <&3'"]:
        fails(at, command)


@case
def six_works_by_name_and_fails_bare(at):
    prepare(at)
    if not fakenet.has_ipv6():
        raise Skipped("no IPv6 here")
    for command in commands(at, "six.test"):
        works(at, command, GOOD6)
    for address in (EVIL6, GOOD6):
        for command in commands(at, address):
            fails(at, command)
    works(at, f"curl -sS -6 -m {SECONDS} --noproxy '*' http://allowed.test/", GOOD)


@case
def other_ports_fail(at):
    prepare(at)
    for command in commands(at, "port.test", 8443):
        works(at, command, GOOD)
    for host, port in (("allowed.test", 8443), ("port.test", 80), ("allowed.test", 25)):
        for command in list(commands(at, host, port))[:1]:
            fails(at, command)


@case
def denials_have_a_reason(at):
    done = outcome_of(at, "curl -sS -i http://evil.test/; curl -sS -i -p http://evil.test/; "
                      f"curl -sS -i --noproxy '*' http://{EVIL}/ ; curl -sS --noproxy '*' http://evil.test/")
    expect(done.stdout.count("HTTP/1.1 403 ") == 3, "not three times 403", done)
    expect(done.stdout.count("X-Cordon-Reason: host_denied") == 3, "no reason", done)
    expect("Could not resolve host: evil.test" in done.stderr, "not NXDOMAIN", done)
    done = outcome_of(at, f"curl -sS --noproxy '*' https://{EVIL}/")
    expect(done.returncode in (7, 35) and not WORLD.came(), "not reset", done)
    done = outcome_of(at, "curl -sS -x socks5h://127.0.0.1:3128 http://evil.test/")
    expect(done.returncode == 97, "SOCKS5 is not told", done)


@case
def clients_that_resolve_before_they_ask(at):
    """The proxy is asked for an address that stands for a name."""
    for way in ("-x socks5h://127.0.0.1:3128", "-x socks5://127.0.0.1:3128",
                "-x socks5://127.0.0.1:3128 -4", "-x socks5://[::1]:3128" if fakenet.has_ipv6() else ""):
        for url in ("http://allowed.test/", "-k https://allowed.test/"):
            done = outcome_of(at, f"curl -sS {way} {url}")
            expect(done.stdout == "welcome /\n" and WORLD.came() == {GOOD}, f"{way} {url}", done)
        done = outcome_of(at, f"curl -sS {way} http://evil.test/")
        expect("welcome" not in done.stdout and not WORLD.came(), f"{way}: another name", done)
    for way in ("-p", ""):
        done = outcome_of(at, "address=$(getent ahostsv4 allowed.test | head -n1 | cut -d' ' -f1); "
                          f"curl -sS {way} http://$address/")
        expect(done.stdout == "welcome /\n", f"{way}: the address of a name", done)
        for other in ("198.18.9.9", "198.18.0.1", GOOD):
            done = outcome_of(at, f"curl -sS {way} http://{other}/; curl -sS --noproxy '*' http://{other}/")
            expect("welcome" not in done.stdout and not WORLD.came(), f"{way} {other}: nobody's address", done)


@case
def java_works(at):
    need("java", "javac")
    at.write("Get.java", JAVA_SOURCE)
    at.outside_sh("javac -d . Get.java")
    run = "java -XX:TieredStopAtLevel=1 -Xshare:auto -cp . Get "
    works(at, run + "http://allowed.test/java", GOOD)
    fails(at, run + "http://evil.test/java")


@case
def git_over_http(at):
    need("git")
    bare = WORLD.path("repo.git")
    at.outside_sh(f"git init -q . && echo one > a && git add a && git commit -qm one && "
                  f"git clone -q --bare . {bare} && git -C {bare} update-server-info && rm -rf .git a")
    for before in ("", UNPROXIED):
        done = outcome_of(at, before + "git clone -q http://allowed.test/repo.git copy && cat copy/a; "
                          "rm -rf copy")
        expect(done.stdout == "one\n", "git does not work", done)
    fails(at, "git clone -q http://evil.test/repo.git welcome")


@case
def ssh_speaks(at):
    """The server speaks first, and nothing but its port tells what it is."""
    need("ssh")
    options = "-o BatchMode=yes -o StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null"
    for command in (f"ssh {options} ssh.test true",
                    f"GIT_SSH_COMMAND='ssh {options}' git ls-remote ssh://git@ssh.test/repo"):
        outcome_of(at, command)
        expect(any(line.startswith(b"SSH-2.0-OpenSSH") for line in WORLD.greeted), f"{command}: no greeting")
    done = outcome_of(at, f"ssh {options} evil.test true")
    expect("Could not resolve hostname evil.test" in done.stderr, "ssh is not told", done)
    done = outcome_of(at, f"ssh {options} allowed.test true")
    expect(done.returncode == 255 and not WORLD.came(), "a port that is not allowed", done)
    done = outcome_of(at, "bash -c 'exec 3<>/dev/tcp/ssh.test/22; head -n1 <&3'")
    expect(done.stdout == "SSH-2.0-fake\n", "no greeting", done)


@case
def large_files_come_whole(at):
    os.makedirs(WORLD.path("repo.git"), exist_ok=True)
    with open(WORLD.path("repo.git/large"), "wb") as file:
        file.write(os.urandom(1 << 20) * 20)
    wanted = at.outside_sh(f"sha256sum < {WORLD.path('repo.git/large')}")
    for before in ("", UNPROXIED):
        done = outcome_of(at, before + "for s in http https; do "
                          "curl -k -sS $s://allowed.test/repo.git/large | sha256sum; done")
        expect(done.stdout == wanted * 2, "another file", done)


@case
def many_at_once(at):
    code = """
import threading
results = []
def one(n):
    results.append(get("x.wild.test" if n % 2 else "allowed.test"))
threads = [threading.Thread(target=one, args=(n,)) for n in range(200)]
for t in threads: t.start()
for t in threads: t.join()
print(sum("welcome" in r for r in results), {r for r in results if "welcome" not in r})
"""
    WORLD.forget()
    done = world.python(at, code)
    expect(done.stdout == "200 set()\n", "not all 200 came through", done)
    expect(len(WORLD.servers[80].came) == 200, "not all 200 reached the server", done)


@case
def many_curls_at_once(at):
    need("curl")
    done = outcome_of(at, "for i in $(seq 200); do curl -sS -m 60 http://allowed.test/$i & done; wait")
    welcomed = sorted(int(line.split("/")[1]) for line in done.stdout.splitlines())
    expect(welcomed == list(range(1, 201)), f"{len(welcomed)} of 200", done)


if __name__ == "__main__":
    WORLD = world.start()
    sys.exit(world.main("clients", WORLD))
