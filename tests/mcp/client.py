"""A raw MCP client over stdio, for tests: it says what it is told and checks that
every line that comes back is one message."""
import json
import os
import queue
import subprocess
import sys
import threading

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from contained import BIN, expect  # noqa: E402

VERSION = "2025-06-18"


class Client:
    def __init__(self, at, *flags, initialize=True, capabilities=None, env=None):
        self.process = subprocess.Popen(
            [BIN, "mcp", "--allow-root", *at.reads, *flags], cwd=at.ws, env=env or at.env,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.lines = queue.Queue()
        self.errors = []
        self.seen = []  # messages that were not waited for
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()
        self.error_reader = threading.Thread(target=self.read_errors, daemon=True)
        self.error_reader.start()
        self.last = 0
        if initialize:
            self.hello = self.request("initialize", {
                "protocolVersion": VERSION, "capabilities": capabilities or {},
                "clientInfo": {"name": "test", "version": "1"}})["result"]
            self.notify("notifications/initialized")

    def read(self):
        for line in self.process.stdout:
            self.lines.put(line)
        self.lines.put(None)

    def read_errors(self):
        for line in self.process.stderr:
            self.errors.append(line.decode(errors="replace"))

    def raw(self, data):
        self.process.stdin.write(data if isinstance(data, bytes) else data.encode())
        self.process.stdin.flush()

    def send(self, message):
        self.raw(json.dumps(message) + "\n")

    def notify(self, method, params=None):
        self.send({"jsonrpc": "2.0", "method": method, "params": params or {}})

    def begin(self, method, params=None):
        self.last += 1
        self.send({"jsonrpc": "2.0", "id": self.last, "method": method, "params": params or {}})
        return self.last

    def next(self, timeout=60):
        try:
            line = self.lines.get(timeout=timeout)
        except queue.Empty:
            raise AssertionError("no message came; stderr: " + "".join(self.errors)) from None
        expect(line is not None, "the server went away: " + "".join(self.errors))
        message = json.loads(line)
        expect(message.get("jsonrpc") == "2.0", f"not a message: {line[:200]}")
        return message

    def answer(self, number, timeout=60):
        while True:
            for message in self.seen:
                if message.get("id") == number and "method" not in message:
                    self.seen.remove(message)
                    return message
            self.seen.append(self.next(timeout))

    def request(self, method, params=None, timeout=60):
        return self.answer(self.begin(method, params), timeout)

    def call(self, name, arguments, ok=True, **meta):
        params = {"name": name, "arguments": arguments}
        if meta:
            params["_meta"] = meta
        answer = self.request("tools/call", params)
        expect("result" in answer, f"{name} {arguments}: {answer}")
        result = answer["result"]
        expect(result["isError"] == (not ok), f"{name} {arguments}: {result['content'][0]['text']}")
        return result

    def close(self, timeout=30):
        """Ends the input, as a client does; the exit status."""
        try:
            self.process.stdin.close()
        except BrokenPipeError:
            pass
        status = self.process.wait(timeout)
        self.reader.join(timeout)
        self.error_reader.join(timeout)
        return status
