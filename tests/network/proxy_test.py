#!/usr/bin/python3
"""`cordon proxy` in a fake network: what is allowed works as without a proxy, what
is not is denied in band and leaves no trace outside."""
import json
import os
import socket
import ssl
import struct
import subprocess
import sys
import tempfile

import fakenet
from fakenet import Proxy, Server, read_all, read_until, socks_domain

ALLOW = ["--allow-domain", "**.ok.test", "--allow-domain", "hosts-file.test",
         "--allow-domain", "ok.test:7", "--allow-domain", "ok.test:9"]
ZONE = {"ok.test": ["93.184.216.10"], "b.ok.test": ["93.184.216.11"],
        "loop.ok.test": ["127.0.0.1"], "mixed.ok.test": ["127.0.0.1", "93.184.216.10"],
        "evil.test": ["93.184.216.12"], "down.ok.test": ["93.184.216.12"]}


def http_server(connection):
    """Tells back what it was sent, in many forms of HTTP."""
    data = b""
    while True:
        data = read_until(connection, b"\r\n\r\n", data)
        head, data = data.split(b"\r\n\r\n", 1)
        method, path = head.split(b" ")[:2]
        body = b""
        if b"Expect: 100" in head:
            connection.sendall(b"HTTP/1.1 100 Continue\r\n\r\n")
        if b"Transfer-Encoding: chunked" in head:
            data = read_until(connection, b"0\r\n\r\n", data)
            body, data = data.split(b"0\r\n\r\n", 1)
        for line in head.split(b"\r\n"):
            if line.startswith(b"Content-Length: "):
                while len(data) < int(line[16:]):
                    data += connection.recv(65536)
                body, data = data[:int(line[16:])], data[int(line[16:]):]
        answer = head + b"\n" + body
        if path == b"/chunked":
            connection.sendall(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
                               b"3;x=y\r\nabc\r\n2\r\nde\r\n0\r\n\r\n")
        elif path == b"/close":
            connection.sendall(b"HTTP/1.1 200 OK\r\n\r\nuntil the end")
            return
        elif path == b"/none":
            connection.sendall(b"HTTP/1.1 204 None\r\n\r\n")
        elif path == b"/ws":
            connection.sendall(b"HTTP/1.1 101 Switching\r\nUpgrade: websocket\r\n"
                               b"Connection: Upgrade\r\n\r\nfirst")
            connection.sendall(connection.recv(100).upper())
            return
        else:
            size = b"%d" % len(answer)
            connection.sendall(b"HTTP/1.1 200 OK\r\nX-Seen: 1\r\nContent-Length: " + size + b"\r\n\r\n"
                               + (b"" if method == b"HEAD" else answer))


def echo_after_end(connection):
    connection.sendall(b"all: " + read_all(connection))


def greets(connection):
    connection.sendall(b"SSH-2.0-fake\r\n")
    connection.sendall(b"got " + connection.recv(100))


def reason_of(answer):
    for line in answer.split(b"\r\n"):
        if line.startswith(b"X-Cordon-Reason: "):
            return line[17:].decode()
    return None


def client_hello(name):
    incoming, outgoing = ssl.MemoryBIO(), ssl.MemoryBIO()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    tls = context.wrap_bio(incoming, outgoing, server_hostname=name)
    try:
        tls.do_handshake()
    except ssl.SSLWantReadError:
        pass
    return outgoing.read()


class Tests:
    def __init__(self):
        self.dns = fakenet.NameServer(ZONE)
        self.web = [Server(a, 80, http_server) for a in ("93.184.216.10", "93.184.216.11")]
        self.evil = [Server("93.184.216.12", p, http_server) for p in (443, 8080)]
        self.loop = [Server("127.0.0.1", 80, http_server), Server("127.0.0.1", 443, http_server)]
        self.secure = Server("93.184.216.10", 443, echo_after_end)
        Server("93.184.216.10", 7, greets)

    def tunnels_keep_half_closed_ends(self):
        with Proxy(*ALLOW) as proxy, proxy.tunnel("ok.test:443") as client:
            client.sendall(b"x" * 300_000)
            client.shutdown(socket.SHUT_WR)
            answer = read_all(client)
            assert answer == b"all: " + b"x" * 300_000, len(answer)
            with proxy.tunnel("ok.test:443") as silent:
                silent.shutdown(socket.SHUT_WR)
                assert read_all(silent) == b"all: "

    def a_server_may_speak_first(self):
        with Proxy(*ALLOW) as proxy, proxy.tunnel("OK.test.:7") as client:
            assert read_until(client, b"\n") == b"SSH-2.0-fake\r\n"
            client.sendall(b"hello")
            assert read_all(client) == b"got hello"

    def denied_names_are_not_looked_up(self):
        with Proxy(*ALLOW) as proxy:
            asked = len(self.dns.asked)
            for target in ("evil.test:443", "secret.evil.test:443", "ok.test:22", "xok.test:443"):
                answer = proxy.tunnel(target)
                assert answer.startswith(b"HTTP/1.1 403 ") and reason_of(answer) == "host_denied", answer
            assert self.dns.asked[asked:] == [], self.dns.asked[asked:]
            proxy.tunnel("ok.test:443").close()
            assert "ok.test" in self.dns.asked[asked:]
        assert not any(server.came for server in self.evil)

    def special_addresses_are_denied_after_lookup(self):
        with Proxy(*ALLOW) as proxy:
            answer = proxy.tunnel("loop.ok.test:443")
            assert reason_of(answer) == "address_denied", answer
            proxy.tunnel("mixed.ok.test:443").close()
            answer = proxy.tunnel("127.0.0.1:443")
            assert reason_of(answer) == "host_denied", answer
            proxy.wait_for("loop.ok.test:443 (127.0.0.1)")
        assert not any(server.came for server in self.loop)

    def failures_say_so(self):
        with Proxy(*ALLOW) as proxy:
            for target in ("ok.test:9", "missing.ok.test:80"):
                answer = proxy.tunnel(target)
                assert answer.startswith(b"HTTP/1.1 502 "), answer
                assert reason_of(answer) == "upstream_failed", answer
            proxy.tunnel("hosts-file.test:443").close()

    def every_request_of_a_connection_is_decided(self):
        with Proxy(*ALLOW) as proxy, proxy.connect() as client:
            def get(url, more=""):
                client.sendall(f"GET {url} HTTP/1.1\r\nHost: spoofed.test\r\n{more}\r\n".encode())
            before = len(self.web[0].came)
            for url, host in [("http://ok.test/1", b"ok.test"), ("http://ok.test:80/2?q", b"ok.test"),
                              ("http://b.ok.test/3", b"b.ok.test")]:
                get(url, "Connection: x-hop\r\nX-Hop: 1\r\nProxy-Authorization: a\r\n")
                answer = read_until(client, b"Host: " + host)
                assert b"spoofed" not in answer and b"X-Hop" not in answer, answer
                assert b"Proxy-Auth" not in answer, answer
            assert len(self.web[0].came) == before + 1, "the upstream connection is kept"
            get("http://evil.test/")
            answer = read_all(client)
            assert b"HTTP/1.1 403 " in answer and b"host_denied" in answer, answer

    def bodies_are_passed_on_in_all_forms(self):
        with Proxy(*ALLOW) as proxy, proxy.connect() as client:
            client.sendall(b"POST http://ok.test/a HTTP/1.1\r\nHost: ok.test\r\nExpect: 100-continue\r\n"
                           b"Content-Length: 5\r\n\r\n")
            assert read_until(client, b"\r\n\r\n") == b"HTTP/1.1 100 Continue\r\n\r\n"
            client.sendall(b"hello")
            assert b"\nhello" in read_until(client, b"\nhello")
            client.sendall(b"POST http://ok.test/b HTTP/1.1\r\nHost: ok.test\r\n"
                           b"Transfer-Encoding: chunked\r\n\r\n2;ext\r\nhi\r\n0\r\nT: 1\r\n\r\n")
            answer = read_until(client, b"2\r\nhi\r\n")
            assert b"ext" not in answer and b"T: 1" not in answer, answer
            client.sendall(b"GET http://ok.test/chunked HTTP/1.1\r\nHost: ok.test\r\n\r\n")
            answer = read_until(client, b"0\r\n\r\n")
            assert answer.endswith(b"\r\n\r\n3\r\nabc\r\n2\r\nde\r\n0\r\n\r\n"), answer
            client.sendall(b"HEAD http://ok.test/ HTTP/1.1\r\nHost: ok.test\r\n\r\n"
                           b"GET http://ok.test/none HTTP/1.1\r\nHost: ok.test\r\n\r\n"
                           b"GET http://ok.test/close HTTP/1.1\r\nHost: ok.test\r\n\r\n")
            answer = read_all(client)
            assert answer.count(b"HTTP/1.1 ") == 3 and answer.endswith(b"until the end"), answer

    def websockets_become_tunnels(self):
        with Proxy(*ALLOW) as proxy, proxy.connect() as client:
            client.sendall(b"GET http://ok.test/ws HTTP/1.1\r\nHost: ok.test\r\n"
                           b"Connection: Upgrade\r\nUpgrade: websocket\r\n\r\n")
            answer = read_until(client, b"first")
            assert answer.startswith(b"HTTP/1.1 101 "), answer
            client.sendall(b"frames")
            assert read_all(client) == b"FRAMES"

    def malformed_requests_are_refused(self):
        with Proxy(*ALLOW) as proxy:
            for head, status in [
                    (b"GET / HTTP/1.1\r\nHost: ok.test\r\n\r\n", b"400"),
                    (b"GET https://ok.test/ HTTP/1.1\r\nHost: ok.test\r\n\r\n", b"400"),
                    (b"GET http://ok.test/ HTTP/1.1\nHost: ok.test\n\n", b"400"),
                    (b"GET http://ok.test/\r\n\r\n", b"400"),
                    (b"CONNECT ok.test:443 HTTP/1.1\r\nHost: x\r\nContent-Length: 2\r\n\r\nhi", b"400"),
                    (b"CONNECT ok.test HTTP/1.1\r\nHost: x\r\n\r\n", b"400"),
                    (b"CONNECT u@ok.test:443 HTTP/1.1\r\nHost: x\r\n\r\n", b"400"),
                    (b"\x04\x01\x00\x50\x01\x02\x03\x04\x00", b"400"),
                    (b"GET http://ok.test/ HTTP/1.1\r\nHost: ok.test\r\nA: " + b"x" * 20_000, b"431")]:
                answer = proxy.ask(head)
                assert answer.startswith(b"HTTP/1.1 " + status), (head, answer)
            assert b" 200 " in proxy.ask(b"GET http://ok.test/ HTTP/1.0\r\n\r\n")

    def a_broken_chunk_never_reaches_an_end(self):
        with Proxy(*ALLOW) as proxy:
            before = len(self.web[0].came)
            answer = proxy.ask(b"POST http://ok.test/ HTTP/1.1\r\nHost: ok.test\r\nTransfer-Encoding: "
                               b"chunked\r\n\r\n3\r\nabcX\r\n0\r\n\r\nGET http://ok.test/2 HTTP/1.1\r\n\r\n")
            assert b" 200 " not in answer, answer
            assert len(self.web[0].came) <= before + 1, "what followed it was read as a request"

    def socks_speaks_its_replies(self):
        with Proxy(*ALLOW) as proxy:
            v4 = lambda a, p: b"\5\1\0\1" + socket.inet_aton(a) + struct.pack(">H", p)
            for request, reply in [
                    (socks_domain(b"ok.test", 443), 0), (socks_domain(b"evil.test", 443), 2),
                    (socks_domain(b"evil.test\0.ok.test", 443), 2), (socks_domain(b"127.0.0.1", 443), 2),
                    (socks_domain(b"loop.ok.test", 443), 2), (v4("93.184.216.10", 443), 2),
                    (socks_domain(b"ok.test", 0), 2), (socks_domain(b"ok.test", 9), 5),
                    (socks_domain(b"missing.ok.test", 80), 4), (socks_domain(b"ok.test", 443, 2), 7),
                    (socks_domain(b"ok.test", 443, 3), 7), (b"\5\1\0\2\0\0", 8)]:
                code, client = proxy.socks(request)
                client.close()
                assert code == reply, (request, code)
            code, client = proxy.socks(socks_domain(b"ok.test", 7))
            with client:
                assert (code, read_until(client, b"\n")) == (0, b"SSH-2.0-fake\r\n")
            with proxy.connect() as client:
                client.sendall(b"\5\1\2")
                assert read_all(client) == b"\5\xff"

    def an_address_is_allowed_literally_only(self):
        with Proxy("--allow-domain", "93.184.216.10") as proxy:
            proxy.tunnel("93.184.216.10:443").close()
            assert reason_of(proxy.tunnel("93.184.216.11:443")) == "host_denied"

    def the_server_name_of_tls_must_match(self):
        with Proxy(*ALLOW) as proxy:
            good, other, none = (client_hello(n) for n in ("OK.test", "evil.test", None))
            for hello in (good, other, none):
                with proxy.tunnel("ok.test:443") as client:
                    client.sendall(hello[:40])
                    client.sendall(hello[40:])
                    client.shutdown(socket.SHUT_WR)
                    answer = read_all(client)
                    assert (answer == b"all: " + good) == (hello is good), answer
            proxy.wait_for("name_mismatch")
            with proxy.tunnel("ok.test:443") as client:  # an end within the hello
                client.sendall(good[:40])
                client.shutdown(socket.SHUT_WR)
                assert b"all" not in read_all(client)

    def rules_of_requests_hold_in_every_way_in(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "policy.toml")
            with open(path, "w", encoding="utf-8") as out:
                out.write('[net]\nmode = "proxy"\nallow = ["ok.test"]\n'
                          '[[net.rule]]\nhost = "ok.test"\nmethods = ["GET"]\npaths = ["/v1/**"]\n')
            with Proxy("--policy", path) as proxy:
                ask = lambda line: proxy.ask(line + b" HTTP/1.1\r\nHost: ok.test\r\nConnection: close\r\n\r\n")
                assert b" 200 OK" in ask(b"GET http://ok.test/v1/x")
                for line in (b"POST http://ok.test/v1/x", b"GET http://ok.test/v2", b"GET http://ok.test/v1/../v2"):
                    answer = ask(line)
                    assert answer.startswith(b"HTTP/1.1 403 "), answer
                for line, host, ok in [(b"GET /v1/x", b"ok.test", True), (b"GET /v2", b"ok.test", False),
                                       (b"GET /v1/x", b"evil.test", False)]:
                    code, client = proxy.socks(socks_domain(b"ok.test", 80))
                    with client:
                        assert code == 0
                        client.sendall(line + b" HTTP/1.1\r\nHost: " + host + b"\r\nConnection: close\r\n\r\n")
                        assert (b" 200 OK" in read_all(client)) == ok, (line, host)
                before = len(self.secure.came)
                with proxy.tunnel("ok.test:443") as client:
                    client.sendall(client_hello("ok.test"))
                    assert read_all(client) in (b"", b"<reset>")
                assert len(self.secure.came) == before

    def a_changed_policy_counts_at_once(self):
        with tempfile.TemporaryDirectory() as folder:
            path = os.path.join(folder, "policy.toml")

            def write(text):
                with open(path + ".new", "w", encoding="utf-8") as out:
                    out.write(text)
                os.replace(path + ".new", path)

            write('[net]\nmode = "proxy"\nallow = ["ok.test:7"]\n')
            with Proxy("--policy", path) as proxy:
                held = proxy.tunnel("ok.test:7")
                read_until(held, b"\n")
                write("[net\n")
                proxy.wait_for("the last good policy stays")
                proxy.tunnel("ok.test:7").close()
                assert reason_of(proxy.tunnel("b.ok.test:80")) == "host_denied"
                write('[net]\nmode = "proxy"\nallow = ["b.ok.test"]\n')
                proxy.wait_for("policy read anew")
                assert read_all(held) in (b"", b"<reset>")
                held.close()
                proxy.tunnel("b.ok.test:80").close()
                assert reason_of(proxy.tunnel("ok.test:7")) == "host_denied"

    def a_parent_is_told_names(self):
        asked = []

        def parent(connection):
            head = read_until(connection, b"\r\n\r\n")
            asked.append(head)
            if head.startswith(b"CONNECT "):
                connection.sendall(b"HTTP/1.1 200 Fine\r\n\r\n")
                connection.sendall(b"echo " + connection.recv(100))
            else:
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nhi")

        def socks_parent(connection):
            asked.append(connection.recv(3))
            connection.sendall(b"\5\0")
            asked.append(connection.recv(100))
            connection.sendall(b"\5\0\0\1\0\0\0\0\0\0echo")

        Server("127.0.0.1", 3128, parent)
        Server("127.0.0.1", 1080, socks_parent)
        before = len(self.dns.asked)
        env = {"HTTPS_PROXY": "http://me:secret@127.0.0.1:3128", "NO_PROXY": "b.ok.test"}
        with Proxy(*ALLOW, env=env) as proxy:
            with proxy.tunnel("unknown.ok.test:443") as client:
                client.sendall(b"x")
                assert read_all(client) == b"echo x"
            assert asked[-1].startswith(b"CONNECT unknown.ok.test:443 HTTP/1.1\r\n"), asked
            assert b"Proxy-Authorization: Basic bWU6c2VjcmV0\r\n" in asked[-1], asked
            answer = proxy.ask(b"GET http://unknown.ok.test/x HTTP/1.1\r\nHost: a\r\nConnection: close\r\n\r\n")
            assert answer.endswith(b"\r\n\r\nhi"), answer
            assert asked[-1].startswith(b"GET http://unknown.ok.test/x HTTP/1.1\r\n"), asked
            assert self.dns.asked[before:] == []
            count = len(asked)
            for target in ("evil.test:443", "169.254.169.254:80"):
                assert reason_of(proxy.tunnel(target)) in ("host_denied", "address_denied")
            proxy.tunnel("b.ok.test:80").close()
            assert len(asked) == count
        with Proxy(*ALLOW, env={"ALL_PROXY": "socks5h://127.0.0.1:1080"}) as proxy:
            with proxy.tunnel("unknown.ok.test:443") as client:
                assert read_until(client, b"echo") == b"echo"
            assert asked[-1] == socks_domain(b"unknown.ok.test", 443), asked

    def events_tell_all(self):
        with tempfile.TemporaryDirectory() as folder:
            log = os.path.join(folder, "new", "audit.jsonl")
            with Proxy(*ALLOW, "--json", "--audit", log) as proxy:
                with proxy.tunnel("ok.test:443") as client:
                    client.sendall(b"12345")
                    client.shutdown(socket.SHUT_WR)
                    read_all(client)
                first = json.loads(proxy.process.stdout.readline())
                assert (first["v"], first["kind"], first["via"]) == (1, "net.allow", "connect"), first
                assert (first["name"], first["port"], first["address"]) == ("ok.test", 443, "93.184.216.10"), first
                assert (first["bytes_out"], first["bytes_in"]) == (5, 10), first
                assert first["rule"] and first["duration_ms"] >= 0 and "reason" not in first, first
                proxy.tunnel("evil.test:443")
                second = json.loads(proxy.process.stdout.readline())
                assert (second["kind"], second["reason"], second["name"]) == ("net.deny", "host_denied", "evil.test")
                assert second["rule"] and second["run"] == first["run"], second
                assert proxy.socks(socks_domain(b"down.ok.test", 80))[0] == 5
                third = json.loads(proxy.process.stdout.readline())
                assert (third["kind"], third["via"], third["reason"]) == ("net.fail", "socks5", "upstream_failed")
            with open(log, encoding="utf-8") as file:
                kept = [json.loads(line) for line in file]
            without = lambda event: {name: event[name] for name in event if name != "time"}
            assert [without(e) for e in kept] == [without(e) for e in (first, second, third)], kept
            assert os.stat(log).st_mode & 0o777 == 0o600

    def an_audit_log_that_cannot_be(self):
        with tempfile.TemporaryDirectory() as folder:
            words = [os.environ["CORDON_BIN"], "proxy", "--listen", "127.0.0.1:0", "--audit", folder]
            done = subprocess.run(words, capture_output=True, text=True, timeout=60, check=False)
            assert done.returncode == 125 and "audit.log" in done.stderr, done

    def an_end_closes_what_is_open(self):
        with Proxy(*ALLOW) as proxy:
            held = [proxy.tunnel("ok.test:443") for _ in range(20)] + [proxy.connect() for _ in range(20)]
        for client in held:
            assert read_all(client) in (b"", b"<reset>")
            client.close()


def main():
    fakenet.enter()
    tests = Tests()
    chosen = sys.argv[1:]
    names = [name for name in vars(Tests) if not name.startswith("_")]
    for name in names:
        if chosen and name not in chosen:
            continue
        print(name.replace("_", " "), flush=True)
        getattr(tests, name)()
    print(f"proxy: {len(names)} tests")
    return 0


if __name__ == "__main__":
    sys.exit(main())
