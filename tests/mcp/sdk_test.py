#!/usr/bin/python3
"""The official TypeScript SDK's client against `cordon mcp`, over stdio and HTTP: it
lists the tools and calls every one of them. The SDK comes from npm, by its name."""
import atexit
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from contained import BIN, Skipped, case, expect, main, need  # noqa: E402

SDK = ["@modelcontextprotocol/sdk@1"]
# The inspector wants a newer node than Debian's.
INSPECTOR = ["@modelcontextprotocol/inspector@2", "node@22"]
DRIVER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "sdk_client.mjs")


def installed(name, packages):
    """A directory with the packages in it; made once for all runs of this build."""
    mark = "/node_modules/" + packages[0].rsplit("@", 1)[0]
    kept = os.path.join(os.environ.get("CORDON_BUILD_DIR", ""), name)
    try:
        os.makedirs(kept, exist_ok=True)
        tempfile.TemporaryFile(dir=kept).close()
    except OSError:  # the twin's user may not write there
        if not os.path.isdir(kept + mark):
            kept = tempfile.mkdtemp(prefix="cordon-npm-", dir="/var/tmp")
            atexit.register(shutil.rmtree, kept, ignore_errors=True)
    if os.path.isdir(kept + mark):
        return kept
    done = subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--loglevel=error", "--prefix", kept, *packages],
                          cwd=kept, text=True, capture_output=True, timeout=240, check=False)
    if done.returncode != 0:
        if os.environ.get("CORDON_TESTS_MUST_RUN") == "1":
            raise RuntimeError(f"npm cannot install {packages}: " + done.stderr)
        raise Skipped(f"npm cannot install {packages}")
    return kept


def drive(at, transport, *words, env=None):
    need("node", "npm")
    place = installed("npm", SDK)
    script = os.path.join(at.top, "client.mjs")
    shutil.copy(DRIVER, script)
    os.symlink(place + "/node_modules", at.top + "/node_modules")
    done = subprocess.run(["node", script, transport, *words], cwd=at.ws, env=env or at.env, text=True,
                          stdin=subprocess.DEVNULL, capture_output=True, timeout=240, check=False)
    expect(done.returncode == 0, "the SDK's client", done)
    return json.loads(done.stdout)


def check(report):
    expect(report["server"]["name"] == "cordon", report)
    expect(sorted(report["called"]) == sorted(report["listed"]), report)
    expect(report["failed"] == [], report)
    expect(report["progress"] > 0 and report["cancelled"], report)
    expect(report["resources"] and report["prompts"], report)


@case
def over_stdio(at):
    report = drive(at, "stdio", BIN, "mcp", "--allow-root", "--role", "chat", *at.reads)
    check(report)


class Server:
    """`cordon mcp` over HTTP, for a while."""

    def __init__(self, at):
        self.at = at

    def __enter__(self):
        self.process = subprocess.Popen(
            [BIN, "mcp", "--allow-root", "--role", "chat", "--http", "0", *self.at.reads], cwd=self.at.ws,
            env=self.at.env | {"CORDON_MCP_TOKEN": "a-token"}, stdin=subprocess.DEVNULL,
            stderr=subprocess.PIPE, text=True)
        return next(line.split()[-1] for line in self.process.stderr if "http://" in line)

    def __exit__(self, *problem):
        self.process.terminate()
        expect(self.process.wait(30) == 0, "status")


@case
def over_http(at):
    with Server(at) as url:
        check(drive(at, "http", url, env=at.env | {"CORDON_MCP_TOKEN": "a-token"}))


def inspect(at, *words):
    need("node", "npm")
    tools = installed("npm-inspector", INSPECTOR) + "/node_modules/.bin"
    done = subprocess.run([tools + "/mcp-inspector", "--cli", *words], cwd=at.ws, text=True,
                          env=at.env | {"PATH": tools + ":" + at.env["PATH"]}, stdin=subprocess.DEVNULL,
                          capture_output=True, timeout=120, check=False)
    expect(done.returncode == 0, "the inspector", done)
    return json.loads(done.stdout)


def inspect_all(at, *server):
    names = [tool["name"] for tool in inspect(at, *server, "--method", "tools/list")["tools"]]
    expect("shell" in names and "send_file" in names, names)
    at.write("there.txt", "words\n")
    for name, arguments in (("shell", ["command=echo hello"]), ("read_file", ["path=there.txt"]),
                            ("list_dir", ["path=."]), ("grep", ["pattern=words"])):
        words = [word for argument in arguments for word in ("--tool-arg", argument)]
        result = inspect(at, *server, "--method", "tools/call", "--tool-name", name, *words)
        expect(not result["isError"], f"{name}: {result}")


@case
def the_inspector_over_stdio(at):
    inspect_all(at, BIN, "mcp", "--allow-root", "--role", "chat")


@case
def the_inspector_over_http(at):
    with Server(at) as url:
        inspect_all(at, url, "--transport", "http", "--header", "Authorization: Bearer a-token")


if __name__ == "__main__":
    sys.exit(main("sdk"))
