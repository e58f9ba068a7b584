#!/usr/bin/python3
"""as_user.py: drops root, reaches a checkout that the user cannot, cleans up."""
import glob
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

AS_USER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "as_user.py")


def run(command, script=AS_USER, **env):
    return subprocess.run(["/usr/bin/python3", script, "--"] + command, text=True,
                          capture_output=True, env=os.environ | env, check=False)


class AsUser(unittest.TestCase):
    def test_passes_the_status_and_the_arguments(self):
        self.assertEqual(run(["sh", "-c", "exit 7"]).returncode, 7)
        self.assertEqual(run(["printf", "%s|", "a b", ""]).stdout, "a b||")
        self.assertEqual(run(["sh", "-c", "kill -TERM $$"]).returncode % 128,
                         15 if os.geteuid() == 0 else 128 - 15)

    @unittest.skipIf(os.geteuid() != 0, "only root has anything to drop")
    def test_drops_everything_of_root(self):
        result = run(["sh", "-c", "id -u; id -G; grep CapEff /proc/self/status; "
                      "stat -c %U $HOME .; touch $HOME/x y && cat /etc/shadow"],
                     SECRET="hunter2")
        lines = result.stdout.split("\n")
        self.assertNotEqual(lines[0], "0")
        self.assertEqual(len(lines[1].split()), 1)
        self.assertEqual(lines[2].split()[1].strip("0"), "")
        self.assertEqual(lines[3:5], ["nobody", "nobody"])
        self.assertNotEqual(result.returncode, 0)  # of cat
        self.assertEqual(run(["printenv", "SECRET"], SECRET="hunter2").returncode, 1)

    @unittest.skipIf(os.geteuid() != 0, "only root has anything to drop")
    def test_a_checkout_out_of_reach_is_copied_and_removed(self):
        private = tempfile.mkdtemp(dir="/var/tmp")  # 0700
        try:
            source, build = private + "/clone", private + "/clone/build/dev"
            os.makedirs(source + "/tests")
            os.makedirs(build)
            shutil.copy(AS_USER, source + "/tests/as_user.py")
            with open(source + "/tests/data", "w", encoding="utf-8") as out:
                out.write("data\n")
            os.chmod(source + "/tests/data", 0o600)
            with open(build + "/probe", "w", encoding="utf-8") as out:
                out.write('#!/bin/sh\ncat "$CORDON_SOURCE_DIR/tests/data" "$1"; echo "$CORDON_BIN"\n')
            os.chmod(build + "/probe", 0o700)
            result = run([build + "/probe", source + "/tests/data"],
                         script=source + "/tests/as_user.py", CORDON_SOURCE_DIR=source,
                         CORDON_BUILD_DIR=build, CORDON_BIN=build + "/probe")
            lines = result.stdout.split("\n")
            self.assertEqual(lines[:2], ["data", "data"], result.stderr)
            self.assertTrue(lines[2].startswith("/var/tmp/cordon-user-"), lines)
            self.assertFalse(os.path.exists(lines[2]))
            with open(source + "/tests/data", encoding="utf-8") as kept:
                self.assertEqual(kept.read(), "data\n")
            self.assertEqual(os.stat(source + "/tests/data").st_mode & 0o777, 0o600)
        finally:
            shutil.rmtree(private)

    def test_leaves_nothing(self):
        result = run(["sh", "-c", "pwd"])
        if os.geteuid() == 0:
            self.assertEqual(glob.glob(os.path.dirname(result.stdout.strip())), [])


if __name__ == "__main__":
    sys.exit(unittest.main())
