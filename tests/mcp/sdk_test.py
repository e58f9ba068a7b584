#!/usr/bin/python3
"""The official TypeScript SDK's client against `cordon mcp`, over stdio and HTTP: it
lists the tools and calls every one of them. The SDK comes from npm, by its name."""
import json
import os
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from contained import BIN, Skipped, case, expect, main, need  # noqa: E402

PACKAGE = "@modelcontextprotocol/sdk@1"
DRIVER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "sdk_client.mjs")


def sdk():
    """A directory with the SDK in it; made once for all runs of this build."""
    kept = os.path.join(os.environ.get("CORDON_BUILD_DIR", ""), "npm")
    try:
        os.makedirs(kept, exist_ok=True)
        probe = tempfile.TemporaryFile(dir=kept)
        probe.close()
    except OSError:  # the twin's user has none of its own there
        if not os.path.isdir(kept + "/node_modules/@modelcontextprotocol/sdk"):
            kept = tempfile.mkdtemp(prefix="cordon-npm-", dir="/var/tmp")
    if os.path.isdir(kept + "/node_modules/@modelcontextprotocol/sdk"):
        return kept
    done = subprocess.run(["npm", "install", "--no-audit", "--no-fund", "--silent", "--prefix", kept, PACKAGE],
                          cwd=kept, text=True, capture_output=True, timeout=240, check=False)
    if done.returncode != 0:
        if os.environ.get("CORDON_TESTS_MUST_RUN") == "1":
            raise RuntimeError("npm cannot install the SDK: " + done.stderr)
        raise Skipped("npm cannot install the SDK")
    return kept


def drive(at, transport, *words, env=None):
    need("node", "npm")
    place = sdk()
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


@case
def over_http(at):
    server = subprocess.Popen([BIN, "mcp", "--allow-root", "--role", "chat", "--http", "0", *at.reads],
                              cwd=at.ws, env=at.env | {"CORDON_MCP_TOKEN": "a-token"},
                              stdin=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    try:
        url = next(line.split()[-1] for line in server.stderr if "http://" in line)
        check(drive(at, "http", url, env=at.env | {"CORDON_MCP_TOKEN": "a-token"}))
    finally:
        server.terminate()
        expect(server.wait(30) == 0, "status")


if __name__ == "__main__":
    sys.exit(main("sdk"))
