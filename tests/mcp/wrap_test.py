#!/usr/bin/python3
"""`cordon wrap-mcp`: another's MCP server inside a sandbox, its messages passed on, its
secrets not."""
import json
import os
import random
import string
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from contained import BIN, case, expect, main  # noqa: E402

WORD = random.Random(9)
SECRET = "ghp_" + "".join(WORD.choice(string.ascii_letters + string.digits) for _ in range(36))
SERVER = r'''
import json, sys
print("a banner that is no message", flush=True)
for line in sys.stdin:
    message = json.loads(line)
    if "id" not in message:
        continue
    try:
        text = eval(message["params"]["code"]) if message["method"] == "tools/call" else "hello"
    except Exception as problem:
        text = repr(problem)
    result = {"content": [{"type": "text", "text": str(text)}]}
    print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)
'''


class Wrapped:
    def __init__(self, at, *flags):
        at.write("server.py", SERVER)
        self.process = subprocess.Popen(
            [BIN, "wrap-mcp", *at.reads, *flags, "--", "/usr/bin/python3", "server.py"], cwd=at.ws,
            env=at.env | {"CLAUDECODE": "1"}, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE, text=True)
        self.last = 0

    def call(self, code):
        self.last += 1
        print(json.dumps({"jsonrpc": "2.0", "id": self.last, "method": "tools/call", "params": {"code": code}}),
              file=self.process.stdin, flush=True)
        answer = json.loads(self.process.stdout.readline())
        expect(answer["id"] == self.last, answer)
        return answer["result"]["content"][0]["text"] if "result" in answer else answer["error"]

    def close(self):
        self.process.stdin.close()
        expect(self.process.wait(30) == 0, "status")
        return self.process.stderr.read()


@case
def messages_pass_and_the_boundary_holds(at):
    at.outside_sh("mkdir -p ../home/.ssh; echo key > ../home/.ssh/id; echo x > ../outside/f")
    server = Wrapped(at)
    expect(server.call("1 + 1") == "2", "a call")
    expect(server.call("'z' * 300000") == "z" * 300000, "a large answer")
    expect("key" not in server.call(f"open('{at.home}/.ssh/id').read()"), "a credential")
    expect("Error" in server.call(f"open('{at.outside}/f', 'w')"), "a file outside")
    expect(server.call("open('made', 'w').write('x')") == "1", "the workspace")
    expect(server.call("__import__('os').environ.get('CLAUDECODE')") == "None", "CLAUDECODE")
    told = server.close()
    expect("no JSON" in told, told)
    expect(at.read(at.outside + "/f") == "x\n" and at.read("made") == "x", "files")


@case
def secrets_stay_on_their_side(at):
    at.write("key", SECRET)
    server = Wrapped(at)
    text = server.call("open('key').read()")
    expect(SECRET not in text and "[REDACTED:" in text, text)
    refused = server.call(f"open('ran', 'w').write('{SECRET}')")
    expect("secret" in refused["message"] and not os.path.exists(at.path("ran")), refused)
    expect(server.call("'fine'") == "fine", "after that")
    server.close()


@case
def it_ends_with_its_server_and_its_client(at):
    server = Wrapped(at)
    print(json.dumps({"jsonrpc": "2.0", "id": 1, "method": "tools/call",
                      "params": {"code": "__import__('os')._exit(7)"}}), file=server.process.stdin, flush=True)
    expect(server.process.wait(30) in (0, 7), "status")
    server = Wrapped(at)
    server.call("1")
    server.process.terminate()
    expect(server.process.wait(30) == 0, "SIGTERM")


if __name__ == "__main__":
    sys.exit(main("wrap"))
