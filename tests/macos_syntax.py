#!/usr/bin/env python3
"""The sources that only macOS builds must at least be C++: each is checked
against stub headers (tests/data/macos), with the project's warnings."""

import os
import pathlib
import subprocess
import sys

ROOT = pathlib.Path(os.environ["CORDON_SOURCE_DIR"])
FLAGS = ["-std=c++23", "-fsyntax-only", "-Wall", "-Wextra", "-Wshadow", "-Wold-style-cast",
         "-Wno-missing-field-initializers", "-Werror"]


def check(text_or_path):
    command = ["g++", *FLAGS, f"-I{ROOT}/tests/data/macos", f"-I{ROOT}/include", f"-I{ROOT}/src"]
    if isinstance(text_or_path, pathlib.Path):
        return subprocess.run([*command, text_or_path], capture_output=True, text=True)
    return subprocess.run([*command, "-x", "c++", "-"], input=text_or_path,
                          capture_output=True, text=True)


def main():
    built = (ROOT / "src/CMakeLists.txt").read_text()
    sources = [path for path in sorted((ROOT / "src/backend/macos").glob("*.cc"))
               if not path.name.endswith("_test.cc")]
    apple = [path for path in sources if f"backend/macos/{path.name}" not in built]
    assert apple, "there is no source that only macOS builds"
    failed = False
    for path in apple:
        done = check(path)
        if done.returncode:
            print(f"{path.relative_to(ROOT)}:\n{done.stderr}")
            failed = True
    # The check can fail.
    assert check('#include <sandbox.h>\nint main() { sandbox_no_such(); }').returncode != 0
    return failed


if __name__ == "__main__":
    sys.exit(main())
