#!/usr/bin/python3
"""Shell calls per second over MCP: `cordon mcp` beside a plain stdio server that runs
commands uncontained. bench/mcp.py [CALLS], with CORDON_BIN or build/release/cordon."""
import json
import os
import subprocess
import sys
import tempfile
import time

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
BIN = os.environ.get("CORDON_BIN", ROOT + "/build/release/cordon")


def plain_server():
    for line in sys.stdin:
        message = json.loads(line)
        if "id" not in message:
            continue
        result = {"protocolVersion": "2025-06-18", "capabilities": {}, "serverInfo": {}}
        if message["method"] == "tools/call":
            done = subprocess.run(["/bin/bash", "-c", message["params"]["arguments"]["command"]],
                                  stdin=subprocess.DEVNULL, capture_output=True, text=True, check=False)
            result = {"content": [{"type": "text", "text": done.stdout}], "isError": False}
        print(json.dumps({"jsonrpc": "2.0", "id": message["id"], "result": result}), flush=True)


def measure(command, calls):
    with tempfile.TemporaryDirectory(dir="/var/tmp") as place:
        os.chmod(place, 0o755)
        server = subprocess.Popen(command, cwd=place, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                  stderr=subprocess.DEVNULL, text=True)

        def ask(number, method, params):
            print(json.dumps({"jsonrpc": "2.0", "id": number, "method": method, "params": params}),
                  file=server.stdin, flush=True)
            return json.loads(server.stdout.readline())

        ask(0, "initialize", {"protocolVersion": "2025-06-18", "capabilities": {}})
        call = {"name": "shell", "arguments": {"command": "echo hello"}}
        for number in range(1, 6):
            assert "hello" in json.dumps(ask(number, "tools/call", call))
        began = time.perf_counter()
        for number in range(6, calls + 6):
            ask(number, "tools/call", call)
        seconds = time.perf_counter() - began
        server.stdin.close()
        server.wait()
        return calls / seconds


def main():
    if sys.argv[1:] == ["--plain"]:
        return plain_server()
    calls = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    for name, command in (("plain, uncontained", [sys.executable, __file__, "--plain"]),
                          ("cordon mcp", [BIN, "mcp", "--allow-root"])):
        rate = measure(command, calls)
        print(f"{name:<20} {rate:8.1f} calls/s  {1000 / rate:7.2f} ms a call")


if __name__ == "__main__":
    main()
