#!/usr/bin/python3
"""Checks the includes of src/ and include/ against LAYERS.

A folder may include itself, the folders on its line and include/cordon/. Every
folder is listed, every listed word is a line of its own, and there is no cycle.
A _test.cc may also include the headers of tests/.
"""
import os
import re
import sys
import tempfile

INCLUDE = re.compile(r'^\s*#\s*include\s+"([^"]+)"', re.MULTILINE)
PUBLIC = "cordon"


def read_layers(text):
    layers = {}
    for line in text.splitlines():
        line = line.split("#")[0].strip()
        if line:
            name, _, below = line.partition(":")
            layers[name.strip()] = below.split()
    return layers


def check_layers(layers):
    for name, below in layers.items():
        for word in below:
            if word not in layers:
                yield f"LAYERS: {name} names {word}, which has no line"
    done, open_now = set(), []

    def visit(name):
        if name in open_now:
            yield "LAYERS: cycle " + " -> ".join(open_now[open_now.index(name):] + [name])
        elif name not in done:
            open_now.append(name)
            for below in layers.get(name, []):
                yield from visit(below)
            open_now.pop()
            done.add(name)

    for name in layers:
        yield from visit(name)


def sources(top):
    for folder, folders, names in os.walk(top):
        folders.sort()
        for name in sorted(names):
            if name.endswith((".h", ".cc", ".c", ".S")):
                yield os.path.join(folder, name)


def check_file(root, path, layers, test_folders):
    where = os.path.relpath(path, root)
    parts = where.split(os.sep)
    if parts[0] == "include":
        allowed = {PUBLIC}
    elif len(parts) < 3:
        yield f"{where}: a source belongs in a folder of src/"
        return
    elif parts[1] not in layers:
        yield f"{where}: folder {parts[1]} is not in LAYERS"
        return
    else:
        allowed = {PUBLIC, parts[1], *layers[parts[1]]}
        if where.endswith("_test.cc"):
            allowed |= test_folders
    with open(path, encoding="utf-8") as source:
        for included in INCLUDE.findall(source.read()):
            if "/" not in included or included.split("/")[0] not in allowed:
                yield f'{where}: may not include "{included}" (see LAYERS)'


def check(root):
    with open(os.path.join(root, "LAYERS"), encoding="utf-8") as file:
        layers = read_layers(file.read())
    problems = list(check_layers(layers))
    tests = os.path.join(root, "tests")
    test_folders = set(os.listdir(tests)) if os.path.isdir(tests) else set()
    for top in ("src", "include"):
        for path in sources(os.path.join(root, top)):
            problems += check_file(root, path, layers, test_folders - set(layers))
    return problems


def self_test():
    """Each broken tree must be found out, and the sound one must not."""
    good = {"LAYERS": "base:\nsys: base  # thin\n", "src/base/a.h": "#include <vector>\n",
            "src/sys/b.cc": '#include "sys/b.h"\n#include "base/a.h"\n#include "cordon/x.h"\n',
            "src/sys/b_test.cc": '#include "support/fake.h"\n', "tests/support/fake.h": "",
            "include/cordon/x.h": '#include "cordon/y.h"\n'}
    bad = [
        ("may not include", {"src/base/a.h": '#include "sys/b.h"\n'}),
        ("may not include", {"src/base/a.h": '#  include "b.h"\n'}),
        ("may not include", {"src/sys/b.cc": '#include "support/fake.h"\n'}),
        ("may not include", {"include/cordon/x.h": '#include "base/a.h"\n'}),
        ("not in LAYERS", {"src/new/c.cc": ""}),
        ("belongs in a folder", {"src/main.cc": ""}),
        ("cycle", {"LAYERS": "base: sys\nsys: base\n"}),
        ("no line", {"LAYERS": "base:\nsys: base gone\n"}),
    ]
    for expected, change in [(None, {})] + bad:
        with tempfile.TemporaryDirectory() as root:
            for name, text in (good | change).items():
                path = os.path.join(root, name)
                os.makedirs(os.path.dirname(path), exist_ok=True)
                with open(path, "w", encoding="utf-8") as out:
                    out.write(text)
            found = check(root)
        if expected is None:
            assert not found, found
        else:
            assert any(expected in problem for problem in found), (expected, change, found)


def main():
    self_test()
    problems = check(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    print("\n".join(problems) if problems else "layers: no back edge")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
