#!/usr/bin/python3
"""Runs the examples of the README and of docs/agents against CORDON_BIN.

A ```sh block after a line `<!-- test -->` is run by `sh -e` in a fresh
workspace and home, with that binary as `cordon`, and must end with 0; a ```python block
by python. A line `! command` of sh means that the command must fail. When the
next block is a ```text block after `<!-- output -->`, it is what the first
prints. `<!-- test: user -->` marks what root, who gives up root, cannot do.
"""
import glob
import os
import re
import shutil
import subprocess
import sys
import tempfile

BLOCK = re.compile(r"^<!-- test(?P<user>: user)? -->\n```(?P<language>sh|python)\n(?P<script>.*?)^```\n"
                   r"(?:\s*<!-- output -->\n```text\n(?P<output>.*?)^```\n)?",
                   re.DOTALL | re.MULTILINE)
RUNNERS = {"sh": ["sh", "-e", "-c"], "python": ["/usr/bin/python3", "-c"]}
SKIP = 77


def examples(text):
    return [(m.group("language"), m.group("script"), m.group("output")) for m in BLOCK.finditer(text)
            if not m.group("user") or os.geteuid() != 0]


def with_failures(script):
    """`set -e` passes over a negated command, whatever it does."""
    return re.sub(r"^( *)! (.*)$", r"\1if \2; then exit 3; fi", script, flags=re.MULTILINE)


def has_run(binary):
    shown = subprocess.run([binary, "--help"], capture_output=True, text=True, check=False).stdout
    return re.search(r"^\s+run\b", shown, re.MULTILINE) is not None


def run_example(language, script, output, binary):
    script = with_failures(script) if language == "sh" else script
    top = tempfile.mkdtemp(prefix="cordon-readme-")
    try:
        os.makedirs(top + "/bin")
        os.makedirs(top + "/project")
        os.makedirs(top + "/home")
        os.symlink(binary, top + "/bin/cordon")
        env = os.environ | {"PATH": top + "/bin:" + os.environ["PATH"], "HOME": top + "/home"}
        done = subprocess.run([*RUNNERS[language], script], cwd=top + "/project", text=True,
                              capture_output=True, timeout=60, check=False, stdin=subprocess.DEVNULL,
                              env=env)
    finally:
        shutil.rmtree(top, ignore_errors=True)
    if done.returncode != 0:
        return f"exit status {done.returncode}\n{done.stdout}{done.stderr}"
    if output is not None and done.stdout != output:
        return f"printed\n{done.stdout}\nbut the document says\n{output}\nstderr:\n{done.stderr}"
    return None


def self_test():
    text = ("<!-- test -->\n```sh\ncordon a\n```\n\n<!-- output -->\n```text\nok\n```\n"
            "```sh\nnot me\n```\n<!-- test -->\n```python\ncordon b\n```\n```text\nnot mine\n```\n")
    assert examples(text) == [("sh", "cordon a\n", "ok\n"), ("python", "cordon b\n", None)], examples(text)
    assert run_example("sh", "cordon ok", "ok\n", "/bin/echo") is None
    assert run_example("sh", "cordon no", "ok\n", "/bin/echo") is not None
    assert run_example("sh", "cordon", None, "/bin/false") is not None
    assert run_example("sh", "! cordon\ntrue", None, "/bin/false") is None
    assert run_example("sh", "! cordon\ntrue", None, "/bin/true") is not None
    assert run_example("python", "print('ok')", "ok\n", "/bin/false") is None
    assert run_example("python", "assert False", None, "/bin/true") is not None


def main():
    self_test()
    binary = os.environ.get("CORDON_BIN", "")
    if not binary or not has_run(binary):
        print(f"skipped: the binary ({binary or 'CORDON_BIN is not set'}) has no `run` yet")
        return SKIP
    root = os.environ.get("CORDON_SOURCE_DIR") or os.path.dirname(os.path.dirname(
        os.path.abspath(__file__)))
    failed, count = 0, 0
    names = sys.argv[1:] or ["README.md", *sorted(glob.glob("docs/agents/*.md", root_dir=root))]
    for name in names:
        with open(os.path.join(root, name), encoding="utf-8") as file:
            found = examples(file.read())
        assert found or name != "README.md", "the README has no example marked <!-- test -->"
        count += len(found)
        for language, script, output in found:
            if problem := run_example(language, script, output, os.path.abspath(binary)):
                failed += 1
                print(f"--- {name}:\n{script}--- {problem}")
    print(f"readme: {count - failed} of {count} examples work")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
