#!/usr/bin/env python3
"""The bundles of `cordon export oci`, run by crun and runc. Each denial has its
allowed twin."""

import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import engines  # noqa: E402

CORDON = os.environ["CORDON_BIN"]
NOBODY = 65534

SOCKETS = """
import socket
def can(*kind):
    try:
        socket.socket(*kind).close()
        return "+"
    except OSError:
        return "-"
print(can(socket.AF_INET), can(socket.AF_UNIX), can(socket.AF_INET, socket.SOCK_RAW),
      can(socket.AF_NETLINK, socket.SOCK_RAW), can(40))
a, b = socket.socketpair()
print("pair")
"""


class Bundle(unittest.TestCase):
    def setUp(self):
        base = pathlib.Path(tempfile.mkdtemp(prefix="cordon-oci-")).resolve()
        os.chmod(base, 0o755)
        self.addCleanup(engines.remove, base)
        self.base, self.ws, self.home = base, base / "ws", base / "home"
        for path in (self.ws / ".git/hooks", self.ws / "src", self.home / ".ssh", base / "state"):
            path.mkdir(parents=True)
        (self.ws / ".git/config").write_text("[core]\n")
        (self.ws / ".env").write_text("TOKEN=inside\n")
        (self.ws / "sockets.py").write_text(SOCKETS)
        (self.home / ".ssh/id").write_text("secret\n")
        (self.home / ".ssh/known_hosts").write_text("known\n")
        (self.home / "plain").write_text("plain\n")
        if os.geteuid() == 0:
            for root, directories, files in os.walk(base):
                for name in directories + files:
                    os.chown(os.path.join(root, name), NOBODY, NOBODY)

    def script(self, text, *flags):
        """What each engine prints when the bundle runs `text`; they must agree."""
        bundle = self.base / "bundle"
        done = subprocess.run([CORDON, "export", "oci", str(bundle), *flags, "--", "sh", "-c", text],
                              cwd=self.ws, env=dict(os.environ, HOME=str(self.home)),
                              capture_output=True, text=True)
        self.assertEqual(done.returncode, 0, done.stderr)
        printed = {}
        for engine in ENGINES:
            ran = engines.run(engine, bundle, self.base / "state", capture_output=True, text=True,
                              stdin=subprocess.DEVNULL, timeout=60)
            printed[engine] = ran.stdout
            self.assertIn("end", ran.stdout, engine + ran.stderr)
            (self.ws / "made").unlink(missing_ok=True)
        engines.remove(bundle)
        self.assertEqual(len(set(printed.values())), 1, printed)
        return next(iter(printed.values())).split()

    def test_files(self):
        for preset in (["--preset", "strict"], ["--preset", "workspace", "--net", "none"]):
            words = self.script("""
                can() { "$@" >/dev/null 2>&1 && echo +$n || echo -$n; }
                n=write can touch made
                n=hook can touch .git/hooks/x
                n=config can sh -c 'echo x >> .git/config'
                n=rename can mv .git g
                n=readenv can cat .env
                n=replace can mv sockets.py .env
                n=etc can touch /etc/x
                n=tmp can touch /tmp/x
                n=null can sh -c 'echo x > /dev/null'
                n=shadow can cat /etc/shadow
                n=passwd can cat /etc/passwd
                n=suid can chmod u+s made
                n=mode can chmod 700 made
                echo end""", *preset, "--deny-read", ".env")
            self.assertEqual(words, ["+write", "-hook", "-config", "-rename", "-readenv", "-replace",
                                     "-etc", "+tmp", "+null", "-shadow", "+passwd", "-suid", "+mode",
                                     "end"])
        self.assertEqual((self.ws / ".git/config").read_text(), "[core]\n")
        self.assertTrue((self.ws / "sockets.py").exists())

    def test_credentials(self):
        words = self.script(f"""
            cat {self.home}/plain; cat {self.home}/.ssh/known_hosts
            cat {self.home}/.ssh/id; ls {self.home}/.ssh; echo end""",
                            "--preset", "workspace", "--net", "none", "--read", str(self.home))
        self.assertEqual(words, ["plain", "known", "end"])

    def test_network_and_sockets(self):
        words = self.script("tr -d ' ' < /proc/net/dev | grep -c :; python3 sockets.py; echo end",
                            "--preset", "workspace", "--net", "none")
        self.assertEqual(words, ["1", "+", "-", "-", "+", "-", "pair", "end"])

    def test_powers(self):
        words = self.script("""
            id -u; grep -E 'Cap(Eff|Bnd)' /proc/self/status | cut -f2
            grep NoNewPrivs /proc/self/status
            unshare -U true 2>/dev/null && echo +userns || echo -userns
            unshare -m true 2>/dev/null && echo +mounts || echo -mounts
            ls /proc | grep -c '^[0-9]' | awk '{print ($1 < 12) ? "few" : "many"}'
            echo end""", "--preset", "strict")
        uid = str(NOBODY if os.geteuid() == 0 else os.geteuid())
        none = "0" * 16
        self.assertEqual(words, [uid, none, none, "NoNewPrivs:", "1", "-userns", "-mounts", "few",
                                 "end"])


if __name__ == "__main__":
    reasons = {engine: engines.available(engine) for engine in ("crun", "runc")}
    ENGINES = [engine for engine, reason in reasons.items() if reason is None]
    if not ENGINES:
        print("skipped:", reasons)
        sys.exit(1 if os.environ.get("CORDON_TESTS_MUST_RUN") else 77)
    unittest.main()
