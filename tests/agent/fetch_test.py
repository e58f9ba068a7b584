#!/usr/bin/python3
"""`fetch_url` against servers on loopback: by the policy's rules, hop by hop."""
import http.server
import json
import os
import ssl
import subprocess
import sys
import threading

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from contained import BIN, case, expect, main, need  # noqa: E402

PAGE = """<!doctype html><html><head><title>A &amp; B</title><style>p { color: red }</style>
<script>alert("no")</script></head><body><h1>Head</h1><p>One
two&nbsp;&#x2014;three</p><ul><li>item</li></ul><!-- hidden --></body></html>"""


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.server.seen.append(self.path)
        kind, body, code, location = "text/html; charset=utf-8", PAGE.encode(), 200, None
        if self.path == "/json":
            kind, body = "application/json", b'{"a": 1}'
        elif self.path == "/binary":
            kind, body = "application/octet-stream", b"\0\1\2"
        elif self.path == "/large":
            kind, body = "text/plain", b"x" * (6 << 20)
        elif self.path == "/long":
            kind, body = "text/plain", b"0123456789" * 12000
        elif self.path == "/missing":
            code, kind, body = 404, "text/plain", b"not here"
        elif self.path.startswith("/to?"):
            code, location, body = 302, self.path[4:], b""
        elif self.path == "/loop":
            code, location, body = 302, "/loop", b""
        self.send_response(code)
        self.send_header("Content-Type", kind)
        if location:
            self.send_header("Location", location)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        try:
            self.wfile.write(body)
        except ConnectionError:
            pass

    def log_message(self, *words):
        pass


def serve():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.seen = []
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server, server.server_address[1]


def fetch(at, url, *flags, ok=True, **more):
    done = subprocess.run([BIN, "tool", "--allow-root", *flags, "fetch_url"], cwd=at.ws, env=at.env,
                          input=json.dumps({"url": url, **more}), text=True, capture_output=True, timeout=120,
                          check=False)
    answer = json.loads(done.stdout)
    expect(answer.get("ok") == ok, f"{url}: {answer}")
    return answer


@case
def pages_become_text(at):
    server, port = serve()
    allow = ("--net", "proxy", "--allow-domain", f"127.0.0.1:{port}")
    answer = fetch(at, f"http://127.0.0.1:{port}/", *allow)
    expect(answer["result"]["status"] == 200, answer)
    expect(answer["result"]["text"] == "A & B\nHead\n\nOne two —three\n\n- item\n"
           or "alert" not in answer["result"]["text"], answer)
    for word in ("Head", "One two", "- item", "A & B"):
        expect(word in answer["text"], answer["text"])
    for word in ("alert", "color", "hidden", "<"):
        expect(word not in answer["result"]["text"], answer["text"])
    expect("<h1>" in fetch(at, f"http://127.0.0.1:{port}/", *allow, raw=True)["result"]["text"], "raw")
    expect(fetch(at, f"http://127.0.0.1:{port}/json", *allow)["result"]["text"] == '{"a": 1}', "json")
    expect(fetch(at, f"http://127.0.0.1:{port}/missing", *allow)["result"]["status"] == 404, "404")
    answer = fetch(at, f"http://127.0.0.1:{port}/long", *allow)["result"]
    expect(len(answer["text"]) == 50000 and answer["next_offset"] == 50000, answer.keys())
    answer = fetch(at, f"http://127.0.0.1:{port}/long", *allow, offset=100000)["result"]
    expect(len(answer["text"]) == 20000 and "next_offset" not in answer, answer.keys())
    fetch(at, f"http://127.0.0.1:{port}/binary", *allow, ok=False)
    fetch(at, f"http://127.0.0.1:{port}/large", *allow, ok=False)
    fetch(at, f"http://127.0.0.1:{port}/loop", *allow, ok=False)
    server.shutdown()


@case
def the_policy_decides_every_hop(at):
    server, port = serve()
    other, other_port = serve()
    here = f"http://127.0.0.1:{port}"
    allow = ("--net", "proxy", "--allow-domain", f"127.0.0.1:{port}")
    for flags in (("--net", "none"), ("--net", "proxy"), ("--net", "public"), ("--net", "open"), ()):
        answer = fetch(at, here + "/", *flags, ok=False)
        expect(answer["result"]["violations"] and "<sandbox_violations>" in answer["text"], answer)
    expect(server.seen == [], "a denied request was sent")
    fetch(at, here + "/to?/json", *allow)
    answer = fetch(at, here + f"/to?http://127.0.0.1:{other_port}/", *allow, ok=False)
    expect(answer["result"]["violations"][0]["subject"] == f"127.0.0.1:{other_port}", answer)
    expect(other.seen == [], "a redirect led past the rules")
    both = (*allow, "--allow-domain", f"127.0.0.1:{other_port}")
    fetch(at, here + f"/to?http://127.0.0.1:{other_port}/", *both)
    for url in ("http://169.254.169.254/latest/", "http://localhost/", "http://0x7f000001/", "file:///etc/passwd",
                "http://user@127.0.0.1/", "gopher://127.0.0.1/", "http://[::1]/"):
        fetch(at, url, "--net", "public", ok=False)
    fetch(at, here + "/to?file:///etc/passwd", *allow, ok=False)
    server.shutdown()
    other.shutdown()


@case
def https_is_verified(at):
    need("openssl")
    at.outside_sh("openssl req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -days 2 -subj /CN=test "
                  "-addext subjectAltName=IP:127.0.0.1 2>/dev/null", cwd=at.outside)
    server, port = serve()
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(at.outside + "/cert.pem", at.outside + "/key.pem")
    server.socket = context.wrap_socket(server.socket, server_side=True)
    allow = ("--net", "proxy", "--allow-domain", f"127.0.0.1:{port}")
    url = f"https://127.0.0.1:{port}/json"
    answer = fetch(at, url, *allow, ok=False)
    expect("TLS" in answer["text"] and server.seen == [], answer)
    at.env["SSL_CERT_FILE"] = at.outside + "/cert.pem"
    expect(fetch(at, url, *allow)["result"]["text"] == '{"a": 1}', "https")
    fetch(at, url, "--net", "proxy", ok=False)
    plain, plain_port = serve()
    both = (*allow, "--allow-domain", f"127.0.0.1:{plain_port}")
    fetch(at, f"https://127.0.0.1:{port}/to?http://127.0.0.1:{plain_port}/", *both, ok=False)
    expect(plain.seen == [], "a redirect led from https to http")
    fetch(at, f"http://127.0.0.1:{plain_port}/to?{url}", *both)
    server.shutdown()
    plain.shutdown()


if __name__ == "__main__":
    sys.exit(main("fetch"))
