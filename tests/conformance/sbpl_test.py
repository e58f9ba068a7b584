#!/usr/bin/env python3
"""The Seatbelt profiles that `cordon export seatbelt` makes, read and asked.
The evaluator itself is tested first: a judge must be judged."""

import json
import os
import pathlib
import random
import subprocess
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import sbpl  # noqa: E402
from sbpl import Profile, ProfileError, Subject  # noqa: E402

CORDON = os.environ["CORDON_BIN"]
HOSTILE = [
    "a b", 'x"y', "x\\y", 'x\\"y', "x)(allow default)",
    'x")(allow file-write*)(deny file-read* (literal "', "x\n(allow network*)", "x;comment",
    "[a-z]*", "x.*", "^$|()+?{}", "\u00fcn\u00ef", '#"x"', '(param "WS")', "'q'", "%s%n", "\t",
    "-D", "=x=", "a" * 200,
]
PRESETS = ["workspace", "strict", "sandbox", "rx", "rwx", "protect"]


def mac(path):
    for link in ("/tmp", "/var", "/etc"):
        if sbpl.is_inside(path, link):
            return "/private" + path
    return path


def export(*flags, cwd, home=None):
    env = dict(os.environ, HOME=str(home or cwd))
    done = subprocess.run([CORDON, "export", "seatbelt", "--json", *flags, "--", "true"],
                          cwd=cwd, env=env, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


def profile(*flags, cwd, home=None):
    made = export(*flags, cwd=cwd, home=home)
    return Profile(made["profile"], made["parameters"])


class Evaluator(unittest.TestCase):
    def test_the_last_rule_that_matches_decides(self):
        made = Profile('(version 1)(deny default)(allow file-read* (subpath "/a"))'
                       '(deny file-read* (subpath "/a/b"))(allow file-read* (literal "/a/b/c"))')
        for path, expected in [("/a/x", True), ("/a/b/x", False), ("/a/b/c", True),
                               ("/a/b/c/d", False), ("/ab", False)]:
            self.assertIs(made.allows("file-read-data", Subject(path=path)), expected, path)

    def test_an_answer_that_depends_on_the_order_of_groups_is_an_error(self):
        made = Profile('(version 1)(deny default)(allow file-read-data (subpath "/a"))'
                       '(deny file-read* (subpath "/a/b"))')
        self.assertTrue(made.allows("file-read-data", Subject(path="/a/x")))
        with self.assertRaises(sbpl.Ambiguous):
            made.allows("file-read-data", Subject(path="/a/b"))

    def test_strings_comments_and_raw_strings(self):
        forms = sbpl.read('; x\n(a "q\\"\\\\" #"^\\.x$" 3)')
        self.assertEqual(forms, [["a", 'q"\\', sbpl.RawString("^\\.x$"), 3]])
        for bad in ["(a", "a)", '"x', '("\\q")']:
            with self.assertRaises(ProfileError):
                Profile(bad)

    def test_what_macos_would_refuse_is_refused(self):
        for rule in ['(allow network-outbound (remote ip "127.0.0.1:80"))',
                     '(allow network-outbound (remote ip "localhost:0"))',
                     '(allow file-reed* (subpath "/"))', '(allow file-read* (subpath "a"))',
                     '(allow file-read* (subpath (param "NONE")))', '(allow file-read* (under "/"))',
                     '(permit file-read*)', '(allow)']:
            with self.assertRaises(ProfileError, msg=rule):
                Profile("(version 1)(deny default)" + rule)
        for text in ["(deny default)", "(version 2)(deny default)", "(version 1)"]:
            with self.assertRaises(ProfileError, msg=text):
                Profile(text)

    def test_endpoints(self):
        made = Profile('(version 1)(deny default)(allow network-outbound (remote ip "localhost:80")'
                       ' (remote unix-socket (path-literal "/s")))')
        def out(end): return made.allows("network-outbound", Subject(remote=end))
        self.assertTrue(out(("ip", "localhost", 80)))
        self.assertFalse(out(("ip", "localhost", 81)))
        self.assertFalse(out(("ip", "192.0.2.1", 80)))
        self.assertTrue(out(("unix-socket", "/s")))
        self.assertFalse(out(("unix-socket", "/s/t")))


class Exported(unittest.TestCase):
    def setUp(self):
        made = tempfile.TemporaryDirectory(prefix="cordon-sbpl-")
        self.addCleanup(made.cleanup)
        self.home = pathlib.Path(made.name).resolve()
        os.chmod(self.home, 0o755)
        self.ws = self.home / "ws"
        (self.ws / ".git/hooks").mkdir(parents=True)
        (self.ws / ".git/config").write_text("[core]\n")
        (self.home / ".ssh").mkdir()
        (self.home / ".ssh/id").write_text("secret")
        (self.home / ".ssh/known_hosts").write_text("x")

    def profile(self, *flags):
        return profile(*flags, cwd=self.ws, home=self.home)

    def test_every_preset_makes_a_profile_that_is_understood(self):
        for preset in PRESETS:
            made = export("--preset", preset, cwd=self.ws, home=self.home)
            read = Profile(made["profile"], made["parameters"])
            self.assertEqual(read.used, set(made["parameters"]), "a parameter that no rule uses")
            default = "(allow default)" if preset in ("protect", "rwx") else "(deny default)"
            self.assertTrue(made["profile"].startswith("(version 1)\n" + default), preset)
            others = [line for line in made["profile"].splitlines() if "default" in line]
            self.assertEqual(len(others), 1, others)

    def test_no_name_changes_the_rules(self):
        shape = None
        for name in HOSTILE:
            root = self.home / "x" / name
            (root / "ws/.git/hooks").mkdir(parents=True)
            made = export("--preset", "strict", cwd=root / "ws", home=self.home)
            shape = shape or made["profile"]
            self.assertEqual(made["profile"], shape, name)
            read = Profile(made["profile"], made["parameters"])
            inside = Subject(path=mac(str(root / "ws/f")))
            self.assertTrue(read.allows("file-write-create", inside), name)
            for outside in (mac(str(root / "f")), mac(str(self.home / "x/f"))):
                self.assertFalse(read.allows("file-write-create", Subject(path=outside)), name)
            hook = Subject(path=mac(str(root / "ws/.git/hooks/pre-commit")))
            self.assertFalse(read.allows("file-write-create", hook), name)

    def test_ancestors_of_a_protected_name_stay(self):
        made = self.profile("--preset", "strict")
        for name in (".git", ".claude", ".GIT"):
            for operation in ("file-write-unlink", "file-write-create"):
                subject = Subject(path=mac(f"{self.ws}/{name}"))
                self.assertFalse(made.allows(operation, subject), name)
        for operation in ("file-write-unlink", "file-write-create"):
            self.assertFalse(made.allows(operation, Subject(path=mac(str(self.ws)))))
            self.assertTrue(made.allows(operation, Subject(path=mac(f"{self.ws}/src"))))
        self.assertTrue(made.allows("file-write-create", Subject(path=mac(f"{self.ws}/.git/x"))))

    def test_a_name_is_protected_in_letters_of_either_case(self):
        made = self.profile("--preset", "strict")
        for name in (".BASHRC", ".Git/Hooks/pre-commit", ".claude/SETTINGS.json"):
            subject = Subject(path=mac(f"{self.ws}/{name}"))
            self.assertFalse(made.allows("file-write-create", subject), name)
        self.assertTrue(made.allows("file-write-create", Subject(path=mac(f"{self.ws}/.bashrc2"))))

    def test_services_that_lead_outside_are_not_looked_up(self):
        lead_out = ["com.apple.coreservices.launchservicesd", "com.apple.coreservices.appleevents",
                    "com.apple.pasteboard.1", "com.apple.securityd", "com.apple.SecurityServer",
                    "com.apple.dnssd.service", "com.apple.nsurlsessiond"]
        for flags in (["--preset", "strict"], ["--preset", "workspace"]):
            made = self.profile(*flags)
            for name in [*lead_out, "com.apple.trustd", "com.apple.trustd.agent"]:
                self.assertFalse(made.allows("mach-lookup", Subject(name=name)), name)
            allowed = Subject(name="com.apple.system.opendirectoryd.libinfo")
            self.assertTrue(made.allows("mach-lookup", allowed))
        everything = self.profile("--preset", "protect")
        for name in lead_out[:2]:
            self.assertFalse(everything.allows("mach-lookup", Subject(name=name)), name)
        for operation in ("lsopen", "job-creation", "appleevent-send", "file-link", "file-clone"):
            self.assertFalse(everything.allows(operation), operation)
        open_net = self.profile("--preset", "strict", "--net", "open")
        self.assertTrue(open_net.allows("mach-lookup", Subject(name="com.apple.trustd.agent")))

    def test_other_processes_are_not_seen(self):
        made = self.profile("--preset", "strict")
        for operation in ("signal", "process-info-pidinfo"):
            self.assertTrue(made.allows(operation, Subject(target="same-sandbox")))
            self.assertFalse(made.allows(operation, Subject(target="others")))
        self.assertFalse(made.allows("sysctl-read", Subject(name="kern.procargs2")))
        self.assertFalse(made.allows("sysctl-read", Subject(name="kern.proc.all")))
        self.assertTrue(made.allows("sysctl-read", Subject(name="hw.ncpu")))

    def test_a_terminal_is_the_commands_own(self):
        made = self.profile("--preset", "strict")
        own = Subject(path="/dev/ttys003", extensions=("com.apple.sandbox.pty",))
        for operation in ("file-read-data", "file-write-data", "file-ioctl"):
            self.assertTrue(made.allows(operation, own))
            self.assertFalse(made.allows(operation, Subject(path="/dev/ttys004")))
        self.assertTrue(made.allows("pseudo-tty"))
        self.assertTrue(made.allows("file-write-data", Subject(path="/dev/null")))
        self.assertFalse(made.allows("file-read-data", Subject(path="/dev/disk0")))

    def test_the_proxy_is_the_only_way_out(self):
        made = self.profile("--preset", "workspace", "--host-port", "5432")
        def out(end): return made.allows("network-outbound", Subject(remote=end))
        self.assertTrue(out(("ip", "localhost", 3128)))
        self.assertTrue(out(("ip", "localhost", 5432)))
        for end in [("ip", "localhost", 22), ("ip", "192.0.2.1", 3128), ("ip", "192.0.2.1", 53),
                    ("unix-socket", "/private/var/run/mDNSResponder"),
                    ("unix-socket", "/private/var/run/docker.sock")]:
            self.assertFalse(out(end), end)
        everywhere = Subject(local=("ip", "*", 8080))
        self.assertFalse(made.allows("network-bind", everywhere))

    def test_a_published_port_may_be_listened_on_and_no_other(self):
        made = self.profile("--preset", "strict", "--publish", "3000")
        for operation in ("network-bind", "network-inbound"):
            self.assertTrue(made.allows(operation, Subject(local=("ip", "localhost", 3000))))
            self.assertFalse(made.allows(operation, Subject(local=("ip", "localhost", 3001))))

    def test_the_rules_agree_with_explain(self):
        """Random paths: the profile says what `cordon explain` says."""
        for path in ("lib/a", "docs/x.md", "secrets/key", ".env"):
            (self.ws / path).parent.mkdir(parents=True, exist_ok=True)
            (self.ws / path).write_text("x")
        policy = self.home / "policy.toml"
        policy.write_text('version = 1\npreset = "workspace"\n[fs]\ntemp = "shared"\n'
                          'deny_read = ["./secrets", "./.env"]\ndeny_write = ["./docs"]\n')
        flags = ["--policy", str(policy)]
        made = self.profile(*flags)
        pieces = ["lib", "a", "docs", "x.md", "secrets", "key", ".env", ".git", "hooks", "config",
                  ".bashrc", "new", ".claude", "commands", "HEAD"]
        rng = random.Random(4)
        roots = [str(self.ws), str(self.home), str(self.home / ".ssh"), "/etc", "/usr"]
        seen = {True: 0, False: 0}
        for _ in range(120):
            path = "/".join([rng.choice(roots), *rng.sample(pieces, rng.randint(1, 2))])
            for access, operation in (("read", "file-read-data"), ("write", "file-write-data")):
                asked = subprocess.run([CORDON, "explain", *flags, access, path], cwd=self.ws,
                                       env=dict(os.environ, HOME=str(self.home)),
                                       capture_output=True, text=True)
                verdict = asked.stdout.startswith("allowed")
                seen[verdict] += 1
                self.assertEqual(made.allows(operation, Subject(path=mac(path))), verdict,
                                 f"{access} {path}\n{asked.stdout}")
        self.assertGreater(min(seen.values()), 20)

    def test_what_cannot_be_enforced_is_refused_by_name(self):
        def refused(*flags):
            done = subprocess.run([CORDON, "export", "seatbelt", "--preset", "strict", *flags,
                                   "--", "true"], cwd=self.ws, capture_output=True, text=True,
                                  env=dict(os.environ, HOME=str(self.home)))
            return done.returncode, done.stderr
        for flags, word in [(("--memory", "1GiB"), "limits.memory"), (("--timeout", "5s"), "limits.wall"),
                            (("--require", "pid"), "pid")]:
            code, text = refused(*flags)
            self.assertEqual(code, 125, flags)
            self.assertIn(word, text)
        self.assertEqual(refused("--memory", "1GiB", "--on-unavailable", "warn")[0], 0)
        self.assertEqual(refused("--require", "fs")[0], 0)

    def test_the_script_is_a_script(self):
        odd = self.home / "it's \"odd\""
        odd.mkdir()
        done = subprocess.run([CORDON, "export", "seatbelt", "--preset", "strict", "--env",
                               "SECRET_X", "--", "printf", "%s", "a'b $HOME"], cwd=odd,
                              capture_output=True, text=True,
                              env=dict(os.environ, HOME=str(self.home), SECRET_X="hunter2"))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertNotIn("hunter2", done.stdout)
        # sandbox-exec is not here: in its place a program that shows its arguments.
        shown = done.stdout.replace("/usr/bin/sandbox-exec", "/bin/echo shown")
        ran = subprocess.run(["sh", "-s"], input=shown, capture_output=True, text=True,
                             env=dict(os.environ, SECRET_X="hunter2"))
        self.assertEqual(ran.returncode, 0, ran.stderr)
        self.assertIn("-- printf %s a'b $HOME", ran.stdout)


if __name__ == "__main__":
    unittest.main()
