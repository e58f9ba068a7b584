#!/usr/bin/python3
"""clang-tidy over the sources of a build: tidy.py --build DIR [--jobs N] [all|recent|changed|tests].

`all` is all that ships, `recent` those of it that the last 20 commits changed, `tests`
the tests and benchmarks, `changed` only files
that differ from main (or are not committed). A file that
passed is not looked at again until it, a header it includes, its flags or
.clang-tidy change: build/tidy holds one empty file per pass, named by the hash
of all of these.
"""
import argparse
import concurrent.futures
import hashlib
import json
import os
import shlex
import subprocess
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
TIDY = "clang-tidy-19"
# The flags are g++'s; clang does not know every warning among them.
EXTRA = ["--extra-arg=-Wno-unknown-warning-option", "--extra-arg=-Qunused-arguments",
         "--extra-arg=-Wno-deprecated-declarations"]


def file_hash(path, known={}):
    if path not in known:
        with open(path, "rb") as file:
            known[path] = hashlib.sha256(file.read()).hexdigest()
    return known[path]


def object_dependencies(build):
    """Object file -> the project's files it was built from, as ninja knows them."""
    text = subprocess.run(["ninja", "-C", build, "-t", "deps"], capture_output=True, text=True,
                          check=True).stdout
    found = {}
    for line in text.splitlines():
        if line and not line.startswith((" ", "ninja:")):
            current = found.setdefault(line.split(": #deps")[0], [])
        elif line.strip():
            path = os.path.normpath(os.path.join(build, line.strip()))
            if path.startswith(ROOT + "/") and os.path.exists(path):
                current.append(path)
    return found


def key(entry, dependencies):
    words = shlex.split(entry["command"])
    target = words[words.index("-o") + 1]
    parts = [file_hash(os.path.join(ROOT, ".clang-tidy")), entry["command"],
             file_hash(os.path.abspath(__file__)), file_hash(entry["file"])]
    parts += [file_hash(path) for path in sorted(dependencies.get(target, []))]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()


def changed_files():
    names = set()
    for command in (["diff", "--name-only", "main..."], ["diff", "--name-only", "HEAD"],
                    ["ls-files", "-o", "--exclude-standard"]):
        done = subprocess.run(["git", "-C", ROOT] + command, capture_output=True, text=True,
                              check=False)
        names.update(done.stdout.split("\n"))
    return {os.path.join(ROOT, name) for name in names if name}


def recent_files():
    done = subprocess.run(["git", "-C", ROOT, "log", "-20", "--no-merges", "--name-only", "--format="],
                          capture_output=True, text=True, check=True)
    return {os.path.join(ROOT, name) for name in done.stdout.split("\n") if name}


def is_test(path):
    return path.endswith("_test.cc") or path.startswith((ROOT + "/tests/", ROOT + "/bench/"))


def selected(build, which, dependencies):
    with open(os.path.join(build, "compile_commands.json"), encoding="utf-8") as file:
        entries = json.load(file)
    entries = {e["file"]: e for e in entries if e["file"].startswith(ROOT + "/")
               and not e["file"].startswith(os.path.join(ROOT, "build") + "/")
               and e["file"].endswith((".cc", ".cpp"))}
    if which == "changed":
        changed = changed_files()
        return keyed({f: e for f, e in entries.items() if f in changed}, dependencies)
    entries = {f: e for f, e in entries.items() if is_test(f) == (which == "tests")}
    if which == "recent":
        recent = recent_files()
        entries = {f: e for f, e in entries.items() if f in recent}
    return keyed(entries, dependencies)


def keyed(entries, dependencies):
    return [(f, key(e, dependencies)) for f, e in sorted(entries.items())]


def tidy(build, path):
    return subprocess.run([TIDY, "-p", build, "--quiet"] + EXTRA + [path], capture_output=True,
                          text=True, check=False)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--build", required=True)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("which", choices=["all", "recent", "changed", "tests"], default="all", nargs="?")
    options = parser.parse_args()
    build = os.path.abspath(options.build)
    passed_dir = os.path.join(ROOT, "build", "tidy")
    os.makedirs(passed_dir, exist_ok=True)

    files = selected(build, options.which, object_dependencies(build))
    todo = [(f, k) for f, k in files if not os.path.exists(os.path.join(passed_dir, k))]
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        jobs = {pool.submit(tidy, build, path): (path, name) for path, name in todo}
        for job in concurrent.futures.as_completed(jobs):
            path, name = jobs[job]
            if job.result().returncode == 0:
                open(os.path.join(passed_dir, name), "w", encoding="utf-8").close()
            else:
                failed += 1
                print(job.result().stdout, job.result().stderr, sep="\n")
    print(f"tidy: {len(files)} files, {len(todo)} looked at, {failed} with findings")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
