#!/usr/bin/python3
"""Mutants of a full JSON policy: `cordon policy check` and `cordon run` refuse each,
and the command of a refused run never starts."""
import concurrent.futures
import copy
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from contained import BIN, Place  # noqa: E402

GOOD = {
    "version": 1, "preset": "workspace", "on_unavailable": "refuse", "require": ["fs.read"], "trust": "auto",
    "fs": {"read": ["/"], "deny_read": ["?~/.ssh", "**/.env"], "allow_read_within_deny": ["?~/.ssh/known_hosts"],
           "write": ["."], "deny_write": ["*.lock"], "deny_new": ["**/.env*"], "temp": "private",
           "temp_size": "1GiB", "caches": "private", "git": "protect", "scan_depth": 5},
    "net": {"mode": "none", "local_binding": False, "private_addresses": "deny"},
    "exec": {"nesting": False, "allow_unsandboxed": False},
    "env": {"mode": "clean", "pass": ["LANG"], "set": {"CI": "true"}},
    "limits": {"wall": "60s", "cpu": "300s", "memory": "2GiB", "processes": 256, "open_files": 1024,
               "file_size": "1GiB", "output": "50kB"},
    "workspace": {"provider": "direct"},
}
WORDS = {"on_unavailable", "trust", "temp", "caches", "git", "mode", "private_addresses", "provider", "preset"}
FREE = {"set"}  # tables whose keys are the user's own


def paths(tree, at=()):
    for key, value in tree.items():
        yield (*at, key)
        if isinstance(value, dict) and key not in FREE:
            yield from paths(value, (*at, key))


def parent_of(tree, path):
    for key in path[:-1]:
        tree = tree[key]
    return tree


def renamed(path, name):
    """In the same place and order."""
    mutant = copy.deepcopy(GOOD)
    parent = parent_of(mutant, path)
    items = [(name if key == path[-1] else key, value) for key, value in parent.items()]
    parent.clear()
    parent.update(items)
    return mutant


def replaced(path, value):
    mutant = copy.deepcopy(GOOD)
    parent_of(mutant, path)[path[-1]] = value
    return mutant


def wrong_values(key, value):
    yield from (None, 1.5, [[]], {"x": 1})
    if isinstance(value, bool):
        yield from ("false", 0, [], "")
    elif isinstance(value, int):
        yield from (-1, 0, "many", True, 2**70, [value])
    elif isinstance(value, list):
        yield from (5, True, [5], [None], [""], [["x"]])
        if key in ("read", "write", "deny_read", "deny_write", "deny_new"):
            yield from (["$NO_SUCH_VARIABLE_AT_ALL/x"], ["a\0b"], {"onlyy": ["."]}, {"only": "."})
        if key in ("read", "write"):
            yield ["/no/such/path"]
    elif isinstance(value, dict):
        yield from ([], "x", 1, True)
    elif key in WORDS:
        yield from ("", value.upper(), value + " ", "none-such", 1, True, [1])
    else:  # sizes and durations
        yield from ("", "0", "-1s", "1 parsec", "GiB", "1e3GiB", True, [], "99999999999999999999GiB", "0x10", 0, -1)


def mutants():
    """(what, text)"""
    text = json.dumps(GOOD)
    for path in paths(GOOD):
        key, name = path[-1], ".".join(path)
        for other in (key.upper(), key + "s", key + " ", " " + key, key[:-1], key + "\u200b", key + "\0", ""):
            yield f"{name} as {other!r}", json.dumps(renamed(path, other))
        value = parent_of(GOOD, path)[key]
        for wrong in wrong_values(key, value):
            yield f"{name} = {wrong!r}", json.dumps(replaced(path, wrong))
        once = json.dumps({key: value})[1:-1]
        yield f"{name} twice", text.replace(once, f"{once}, {once}", 1)
    for cut in range(1, len(text), 37):
        yield f"cut at {cut}", text[:cut]
    for what, bad in (("empty", ""), ("blank", " \n"), ("null", "null"), ("a list", "[]"), ("a string", '"x"'),
                      ("with a tail", text + "x"), ("two of them", text + text), ("a comment", "// x\n" + text),
                      ("a last comma", text[:-1] + ",}"), ("single quotes", text.replace('"', "'")),
                      ("UTF-16", text.encode("utf-16")), ("not UTF-8", text.replace("LANG", "L\udcffNG")),
                      ("deep", "[" * 100000), ("huge", text + " " * (2 << 20)), ("version 2", text.replace(": 1", ": 2", 1)),
                      ("TOML", "version = 1\n"), ("a NUL", text + "\0"), ("nan", text.replace("256", "NaN"))):
        yield what, bad


def verdict(place, number, what, text):
    """None, or how a mutant got through."""
    path = os.path.join(place.outside, f"{number}.json")
    with open(path, "wb") as file:
        file.write(text if isinstance(text, bytes) else text.encode("utf-8", "surrogateescape"))
    # Whether a path exists is the host's matter: `check` is of the file alone.
    check = range(0, 126) if "/no/such/path" in what else range(1, 126)
    for words, refusals in ((["policy", "check", path], check),
                            (["run", "--policy", path, "--", "echo", "it-ran"], (125,))):
        try:
            done = subprocess.run([BIN, *words], cwd=place.ws, env=place.env, stdin=subprocess.DEVNULL,
                                  capture_output=True, timeout=30, check=False)
        except subprocess.TimeoutExpired:
            return f"{what}: {words[0]} hung"
        if done.returncode not in refusals or b"it-ran" in done.stdout:
            return f"{what}: `cordon {words[0]}` ended with {done.returncode}: {done.stdout[:200]}{done.stderr[:200]}"
        if not done.stderr.strip() and not done.stdout.strip():
            return f"{what}: `cordon {words[0]}` refused without a word"
    os.unlink(path)
    return None


def main():
    place = Place("mutants")
    try:
        good = place.write(place.outside + "/good.json", json.dumps(GOOD))
        for words in (["policy", "check", good], ["run", "--policy", good, "--", "true"]):
            done = subprocess.run([BIN, *words], cwd=place.ws, env=place.env, capture_output=True, text=True,
                                  stdin=subprocess.DEVNULL, timeout=30, check=False)
            if done.returncode != 0:
                print(f"the good policy is refused by {words[:2]}: {done.stdout}{done.stderr}")
                return 1
        made = [(n, what, text) for n, (what, text) in enumerate(mutants()) if text != json.dumps(GOOD)]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            through = [v for v in pool.map(lambda m: verdict(place, *m), made) if v]
    finally:
        place.remove()
    for line in through:
        print("NOT REFUSED", line)
    print(f"policy_mutate: {len(made)} mutants, {len(through)} not refused")
    return 1 if through else 0


if __name__ == "__main__":
    sys.exit(main())
