#!/usr/bin/python3
"""The rules of style that a compiler does not know. `RULES` is the list."""
import os
import re
import sys
import tempfile

CODE = (".h", ".cc", ".c", ".S")
SKIPPED = {".git", "build", ".cache", "__pycache__", "compile_commands.json"}
MAX_LINES = 800
BANNED_WORDS = {"util", "utils", "helper", "helpers", "manager", "common", "misc"}
PRINTS = re.compile(r"\bstd::(cout|cerr|clog)\b|\bfmt::print\b"
                    r"|(?<![\w.>])(?:std::)?(?:v?f?printf|f?puts|putchar|perror)\s*\(")
FOR_TESTING = re.compile(r"(?:\.|->|^\s*|[=(,!&|?:]\s+|\breturn\s+|[(!])"
                         r"(?:\w+::)*\w*ForTesting\s*\(", re.MULTILINE)
# In pieces, so that this file passes its own rules.
HERE_ONLY = re.compile(r"(?<![\w.}~)-])/wo" r"rk/|\.\./sha" r"red")
NOW = "TODO" "(now)"
COMMENT_OR_TEXT = re.compile(r'//[^\n]*|/\*.*?\*/|"(?:\\.|[^"\\\n])*"', re.DOTALL)


def bare(text):
    """The code alone: comments and string literals blanked, lines kept."""
    return COMMENT_OR_TEXT.sub(lambda m: "\n" * m.group().count("\n"), text)


def in_src(where):
    return where.startswith("src/") and where.endswith(CODE)


def is_test(where):
    return where.endswith(("_test.cc", "_test.py")) or not where.startswith(("src/", "include/"))


def prints(where, text):
    if where.endswith(CODE) and not is_test(where) and not where.startswith("src/cli/"):
        if found := PRINTS.search(bare(text)):
            return f"the library prints nothing: {found.group()}"


def todo_now(where, text):
    return f"{NOW} is left" if NOW in text else None


def banned_name(where, text):
    name = os.path.basename(where).rsplit(".", 1)[0]
    if where.endswith(CODE + (".py",)) and BANNED_WORDS & set(name.split("_")):
        return "the name says nothing: call the file after what it holds"


def too_long(where, text):
    lines = text.count("\n")
    return f"{lines} lines, more than {MAX_LINES}" if in_src(where) and lines > MAX_LINES else None


def runs_in(where, text):
    if where.startswith(("src/spawn/", "src/backend/")) and in_src(where) and not is_test(where):
        if not text.startswith("// Runs in:"):
            return "the first line does not say `// Runs in: ...`"


def for_testing(where, text):
    if in_src(where) and not is_test(where):
        if found := FOR_TESTING.search(bare(text)):
            return f"calls a test-only member: {found.group().strip()}"


def here_only(where, text):
    if not where.endswith(".md"):
        if found := HERE_ONLY.search(text):
            return f"names a path of one machine: {found.group()}"


RULES = [prints, todo_now, banned_name, too_long, runs_in, for_testing, here_only]


def check_text(where, text):
    return [f"{where}: {problem}" for rule in RULES if (problem := rule(where, text))]


def check(root):
    problems = []
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(f for f in folders if f not in SKIPPED)
        for name in sorted(set(names) - SKIPPED):
            path = os.path.join(folder, name)
            if os.path.isfile(path) and not os.path.islink(path):
                with open(path, encoding="utf-8", errors="replace") as file:
                    problems += check_text(os.path.relpath(path, root), file.read())
    return problems


def self_test():
    """Each rule must find its fault, and leave alone what only looks like one."""
    bad = [
        (prints, "src/plan/a.cc", "  std::cout << 1;\n"),
        (prints, "src/plan/a.cc", '  printf("x");\n'),
        (prints, "src/plan/a.cc", '  if (x) fprintf(stderr, "x");\n'),
        (prints, "include/cordon/a.h", 'inline void F() { puts("x"); }\n'),
        (todo_now, "docs/x.txt", f"// {NOW}: more\n"),
        (banned_name, "src/sys/file_utils.cc", ""),
        (banned_name, "src/session/manager.h", ""),
        (banned_name, "tests/common.py", ""),
        (too_long, "src/plan/a.cc", "\n" * (MAX_LINES + 1)),
        (runs_in, "src/spawn/child.cc", '#include "spawn/child.h"\n'),
        (runs_in, "src/backend/linux/x.h", "// A header.\n// Runs in: child.\n"),
        (for_testing, "src/plan/a.cc", "  clock.SetForTesting(1);\n"),
        (for_testing, "src/plan/a.cc", "  auto x = Facts::NoneForTesting();\n"),
        (here_only, "tests/x.py", 'open("/wo' 'rk/x")\n'),
        (here_only, "dev", "cat ../sha" "red/x\n"),
    ]
    good = [
        ("src/plan/a.cc", '// std::cout\n  snprintf(b, 9, "printf(x)");\n  log.printf(1);\n'),
        ("src/cli/main.cc", "  std::cout << 1;\n"), ("tests/probes/a.cc", "  puts(x);\n"),
        ("src/plan/a_test.cc", "  std::cerr << plan;\n  plan.SetForTesting(1);\n"),
        ("src/plan/a.h", "  void SetClockForTesting(int now);\n"),
        ("src/plan/a.cc", "void Plan::SetClockForTesting(int now) {}\n"),
        ("src/spawn/child.cc", "// Runs in: child, between clone() and execve().\n"),
        ("src/spawn/child_test.cc", '#include "spawn/child.h"\n'),
        ("src/policy/commons.cc", ""), ("docs/x.md", "/wo" "rk/x\n"),
        ("tests/x.py", '"~/wo' 'rk/x" "/home/me/wo' 'rk/y"\n'),
    ]
    for rule, where, text in bad:
        assert rule(where, text), (rule.__name__, where, text)
    for where, text in good:
        assert not check_text(where, text), check_text(where, text)
    with tempfile.TemporaryDirectory() as root:
        os.mkdir(os.path.join(root, "src"))
        with open(os.path.join(root, "src", "misc.cc"), "w", encoding="utf-8") as out:
            out.write("puts(1);\n")
        assert len(check(root)) == 2, check(root)


def main():
    self_test()
    problems = check(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
    print("\n".join(problems) if problems else "style: clean")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
