#!/usr/bin/python3
"""The documents say what the code says, and their links lead somewhere.

docs/errors.md has one `### `id`` per reason of include/cordon/result.h, in that
order; ARCHITECTURE.md has one paragraph per folder of LAYERS; relative links
of every .md file exist.
"""
import os
import re
import sys

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
LINK = re.compile(r"\[[^\]]*\]\(([^)#\s]+)[^)]*\)")


def read(name):
    with open(os.path.join(ROOT, name), encoding="utf-8") as file:
        return file.read()


def reasons_in_code(text):
    return re.findall(r'\bX\(k\w+, "(\w+)"\)', text)


def reasons_in_docs(text):
    return re.findall(r"^### `(\w+)`$", text, re.MULTILINE)


def compare_lists(code, docs):
    problems = [f"docs/errors.md: no entry for {reason}" for reason in code if reason not in docs]
    problems += [f"docs/errors.md: {reason} is not in result.h" for reason in docs
                 if reason not in code]
    if not problems and code != docs:
        problems.append("docs/errors.md: not in the order of result.h, or an entry is double")
    return problems


def check_folders(layers, text):
    for name in re.findall(r"^(\w+):", layers, re.MULTILINE):
        if f"**`src/{name}/`**" not in text:
            yield f"ARCHITECTURE.md: no paragraph on src/{name}/"


def check_links(where, text, exists):
    for target in LINK.findall(text):
        if "://" not in target and not target.startswith("mailto:"):
            path = os.path.normpath(os.path.join(os.path.dirname(where), target))
            if not exists(path):
                yield f"{where}: link to {target}, which does not exist"


def documents():
    for folder in (".", "docs", "docs/agents"):
        for name in sorted(os.listdir(os.path.join(ROOT, folder))):
            if name.endswith(".md"):
                yield os.path.normpath(os.path.join(folder, name))


def self_test():
    assert reasons_in_code('  X(kA, "a") \\\n /* p */ \\\n X(kB, "b")') == ["a", "b"]
    assert reasons_in_docs("### `a`\ntext `c`\n### `b`\n") == ["a", "b"]
    assert not compare_lists(["a", "b"], ["a", "b"])
    for docs in (["a"], ["a", "b", "c"], ["b", "a"], ["a", "b", "b"]):
        assert compare_lists(["a", "b"], docs), docs
    assert list(check_folders("base:\nsys: base\n", "**`src/base/`** is")) != []
    links = "[x](gone.md) [y](https://example.org/z) [z](here.md#part)"
    assert len(list(check_links("docs/a.md", links, lambda p: p == "docs/here.md"))) == 1


def main():
    self_test()
    code = reasons_in_code(read("include/cordon/result.h"))
    assert code, "no reason found in result.h"
    problems = compare_lists(code, reasons_in_docs(read("docs/errors.md")))
    problems += check_folders(read("LAYERS"), read("ARCHITECTURE.md"))
    for where in documents():
        problems += check_links(where, read(where),
                                lambda path: os.path.exists(os.path.join(ROOT, path)))
    print("\n".join(problems) if problems else "docs: they agree with the code")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
