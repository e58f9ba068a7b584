#!/usr/bin/python3
"""`--help` of CORDON_BIN: all subcommands with one line each, and each tells its
usage within a screen's width."""
import os
import re
import subprocess
import sys

BIN = os.path.abspath(os.environ["CORDON_BIN"])
WIDTH = 100


def shown(*words):
    done = subprocess.run([BIN, *words], capture_output=True, text=True, timeout=60, check=True)
    assert all(len(line) <= WIDTH for line in done.stdout.splitlines()), done.stdout
    return done.stdout


def main():
    top = shown("--help")
    names = re.findall(r"^  (\w+) +\S", top, re.MULTILINE)
    assert {"run", "shell", "explain", "check", "plan", "policy", "doctor"} <= set(names), top
    for name in names:
        text = shown(name, "--help")
        assert f"\nUsage: cordon {name} " in text and " TEXT" not in text, text
    print(f"help: {len(names)} subcommands")
    return 0


if __name__ == "__main__":
    sys.exit(main())
