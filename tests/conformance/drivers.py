"""The tiers that the cases are put to, and peers. A driver has a name and
`answers(fixture)`: for each case True (it could be done), a text (it could not,
and why) or None (this tier cannot be asked that here).

Refused says that the tier does not take the policy; Unavailable that it is not
here at all.
"""

import fnmatch
import json
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import engines  # noqa: E402
import sbpl  # noqa: E402
from cases import NOBODY  # noqa: E402

PYTHON = "/usr/bin/python3"
PROBE = (pathlib.Path(__file__).resolve().parent / "probe.py").read_text()
TIMEOUT = 120
ABI = {}  # a lower Landlock ABI, for builds that take one


class Refused(Exception):
    pass


class Unavailable(Exception):
    pass


def cordon():
    return os.environ["CORDON_BIN"]


def parsed(done):
    lines = [line for line in done.stdout.splitlines() if line.startswith("[")]
    if not lines:
        raise RuntimeError(f"no answer: {done.returncode} {done.stdout} {done.stderr}")
    return json.loads(lines[-1])


def run(words, fixture, environment=None):
    return subprocess.run([*words, PYTHON, "-c", PROBE, fixture.acts()], cwd=fixture.words["ws"],
                          env=(environment or fixture.environment()) | ABI, capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, timeout=TIMEOUT)


def policy_of(fixture):
    """The policy's file; one that the command could write must be trusted first."""
    path = fixture.policy_file()
    if "preset" in fixture.group.policy:
        subprocess.run([cordon(), "policy", "trust", path], env=fixture.environment(), check=True,
                       capture_output=True)
    return path


class Cordon:
    """`cordon run` with one of its backends."""

    def __init__(self, backend):
        self.name, self.tmpdir = backend, "$TMPDIR"

    def answers(self, fixture):
        done = run([cordon(), "run", "--backend", self.name, "--policy", policy_of(fixture),
                    "--workspace", fixture.words["ws"], "--"], fixture)
        if done.returncode == 125:
            if f"--backend {self.name} is not supported" in done.stderr:
                raise Unavailable("not built yet")
            raise Refused(done.stderr.strip())
        return parsed(done)


class Oci:
    """`cordon export oci`, run by crun."""
    name, tmpdir = "oci", "$TMPDIR"

    def answers(self, fixture):
        if reason := engines.available("crun"):
            raise Unavailable(reason)
        bundle, state = fixture.base / "bundle", fixture.base / "state"
        made = run([cordon(), "export", "oci", str(bundle), "--policy", policy_of(fixture),
                    "--workspace", fixture.words["ws"], "--"], fixture)
        if made.returncode != 0:
            raise Refused(made.stderr.strip())
        state.mkdir()
        done = engines.run("crun", bundle, state, capture_output=True, text=True,
                           stdin=subprocess.DEVNULL, timeout=TIMEOUT)
        return parsed(done)


class Seatbelt:
    """`cordon export seatbelt`, judged by the evaluator."""
    name, tmpdir = "seatbelt", "/private/tmp/cordon"

    def answers(self, fixture):
        made = subprocess.run([cordon(), "export", "seatbelt", "--json", "--policy",
                               policy_of(fixture), "--workspace", fixture.words["ws"], "--",
                               "true"], cwd=fixture.words["ws"], env=fixture.environment(),
                              capture_output=True, text=True)
        if made.returncode != 0:
            raise Refused(json.loads(made.stdout)["error"]["message"])
        exported = json.loads(made.stdout)
        profile = sbpl.Profile(exported["profile"], exported["parameters"])
        return [self.answer(profile, exported, case) for case in fixture.cases]

    def answer(self, profile, exported, case):
        if case.act == "env":
            return self.variable(exported["environment"], case.path)
        needed = self.operations(case)
        if needed is None:
            return None
        for operation, subject in needed:
            if not profile.allows(operation, subject):
                return f"{operation} {subject.path or ''}"
        return True

    @staticmethod
    def variable(environment, text):
        name, _, value = text.partition("=")
        if name in environment["pass"]:
            return True
        return True if name in environment["set"] and value in ("", environment["set"][name]) \
            else "not set"

    def operations(self, case):
        """What the act asks of the kernel: (operation, subject) pairs, in order."""
        act, path, other = case.act, case.path, case.other
        if act == "signal" or act == "see":
            target = "self" if path == "self" else "others"
            operation = "signal" if act == "signal" else "process-info-pidinfo"
            return [(operation, sbpl.Subject(target=target))]
        if act == "tcp":
            return [("network-outbound", sbpl.Subject(remote=("ip", "localhost", int(path))))]
        if act == "tcp-inside":
            end = ("ip", "localhost", 40000)
            return [("network-bind", sbpl.Subject(local=end)),
                    ("network-outbound", sbpl.Subject(remote=end))]
        if act == "connect":
            return [("network-outbound", sbpl.Subject(remote=("unix-socket", mac(path))))]
        if act == "connect-own":
            end = ("unix-socket", mac(path))
            return [("network-bind", sbpl.Subject(local=end)),
                    ("network-outbound", sbpl.Subject(remote=end))]
        if act in ("grow", "grow-little", "descriptors", "few-descriptors"):
            return None  # limits are not the profile's
        return self.file_operations(act, path, other)

    def file_operations(self, act, path, other):
        follow = {"read": ["file-read-data"], "open": ["file-read-data"], "list": ["file-read-data"],
                  "write": ["file-write-data"], "append": ["file-write-data"],
                  "open-write": ["file-write-data"], "truncate": ["file-write-data"],
                  "chmod": ["file-write-mode"], "utime": ["file-write-times"],
                  "exec": ["process-exec", "file-read-data"]}
        made = {"create", "mkdir", "symlink", "mkfifo"}
        if act in follow:
            return links(path) + [(operation, at(path, True)) for operation in follow[act]]
        if act == "list-parent":
            return [("file-read-data", at(os.path.dirname(path), True))]
        if act in ("unlink", "rmdir"):
            return links(os.path.dirname(path)) + [("file-write-unlink", at(path, False))]
        if act in made:
            return links(os.path.dirname(path)) + [("file-write-create", at(path, False))]
        if act == "create-beside":
            return [("file-write-create", at(other, False))]
        if act in ("rename", "rename-directory"):
            return moved(path, other)
        if act in ("replace", "move-in", "move-directory-in"):
            return moved(other, path)
        if act == "link-in":
            return [("file-link", at(other, False)), ("file-write-create", at(path, False))]
        assert act == "link-out", act
        return [("file-link", at(path, False)), ("file-write-create", at(other, False))]


def mac(path):
    for link in ("/tmp", "/var", "/etc"):
        if sbpl.is_inside(path, link):
            return "/private" + path
    return path


def at(path, follow):
    """The file that a path names, as the kernel calls it."""
    real = os.path.realpath(path) if follow else os.path.join(
        os.path.realpath(os.path.dirname(path)), os.path.basename(path))
    return sbpl.Subject(path=mac(real))


def links(path):
    """A link on the way must be readable."""
    met, way = [], ""
    for part in path.split("/")[1:]:
        way += "/" + part
        if os.path.islink(way) and part not in (".", ".."):
            met.append(("file-read-metadata", at(way, False)))
    return met


def moved(source, target):
    needed = [("file-write-unlink", at(source, False)), ("file-write-create", at(target, False))]
    if os.path.lexists(target):
        needed.append(("file-write-unlink", at(target, False)))
    return needed


# --- peers: the policy as a user of theirs would write it ----------------------------------------


def plain_policy(fixture):
    """The group's own policy, filled in, with globs expanded to what is there."""
    policy = fixture.policy()
    if "preset" in policy:
        raise Refused("a blocklist")
    fs, net = policy["fs"], policy["net"]
    for what, present in {"net.host_ports": net.get("host_ports"),
                          "limits": policy.get("limits")}.items():
        if present:
            raise Refused(what)
    def paths(key):
        entries = fs.get(key, [])
        entries = entries["only"] if isinstance(entries, dict) else entries
        found = []
        for entry in entries:
            entry = entry.removeprefix("?")
            if any(c in entry for c in "*?["):
                name = entry.rsplit("/", 1)[-1]
                found += [os.path.join(root, item)
                          for root, directories, files in os.walk(fixture.words["ws"])
                          for item in directories + files if fnmatch.fnmatch(item, name)]
            elif os.path.lexists(entry):
                found.append(entry)
        return found
    return policy, {key: paths(key) for key in ("read", "write", "deny_read", "deny_write",
                                                "allow_read_within_deny")}


def clean_environment(fixture, policy):
    environment = {"PATH": "/usr/bin:/bin", "HOME": fixture.words["home"]}
    env = policy.get("env", {})
    environment.update({name: fixture.environment()[name] for name in env.get("pass", [])})
    environment.update(env.get("set", {}))
    return environment


def as_nobody():
    """Peers do not give up root by themselves."""
    if os.geteuid() != 0:
        return []
    return ["setpriv", f"--reuid={NOBODY}", f"--regid={NOBODY}", "--clear-groups"]


class Bwrap:
    name, tmpdir = "bwrap", "/tmp"

    def answers(self, fixture):
        if shutil.which("bwrap") is None:
            raise Unavailable("not installed")
        policy, paths = plain_policy(fixture)
        words = ["bwrap", "--unshare-all", "--die-with-parent", "--new-session"]
        if policy["net"]["mode"] == "open":
            words.append("--share-net")
        everything = "/" in paths["read"]
        for path in paths["read"]:
            if os.path.islink(path):
                words += ["--symlink", os.readlink(path), path]
            else:
                words += ["--ro-bind", path, path]
        words += ["--dev", "/dev", "--proc", "/proc"]
        if policy["fs"]["temp"] == "private":
            words += ["--tmpfs", "/tmp", "--tmpfs", "/var/tmp"]
            if not everything:
                for path in paths["read"]:
                    if path.startswith("/tmp/"):
                        words += ["--ro-bind", path, path]
        for path in paths["write"]:
            words += ["--bind", path, path]
        for path in paths["deny_write"]:
            words += ["--ro-bind", path, path]
        for path in paths["deny_read"]:
            words += ["--tmpfs", path] if os.path.isdir(path) else ["--ro-bind", "/dev/null", path]
        for path in paths["allow_read_within_deny"]:
            words += ["--ro-bind", path, path]
        words += ["--chdir", fixture.words["ws"], "--clearenv"]
        for name, value in clean_environment(fixture, policy).items():
            words += ["--setenv", name, value]
        return parsed(run([*as_nobody(), *words, "--"], fixture))


def from_files(words, fixture, environment):
    """As run(), for those that take no long or no odd words."""
    script, acts = fixture.base / "ws/probe.py", fixture.base / "ws/acts.json"
    script.write_text(PROBE)
    acts.write_text(fixture.acts())
    return subprocess.run([*words, PYTHON, str(script), f"@{acts}"], cwd=fixture.words["ws"],
                          env=environment, capture_output=True, text=True,
                          stdin=subprocess.DEVNULL, timeout=TIMEOUT)


class Firejail:
    name, tmpdir = "firejail", "/tmp"

    def answers(self, fixture):
        if shutil.which("firejail") is None:
            raise Unavailable("not installed")
        policy, paths = plain_policy(fixture)
        words = ["firejail", "--quiet", "--noprofile", "--caps.drop=all", "--nonewprivs",
                 "--seccomp", "--read-only=/"]
        if policy["net"]["mode"] != "open":
            words.append("--net=none")
        if "/" not in paths["read"]:
            named = [fixture.words[name] for name in ("ro", "out", "home")]
            words += [f"--blacklist={path}" for path in named if path not in paths["read"]]
        words += [f"--read-write={path}" for path in paths["write"]]
        words += [f"--read-only={path}" for path in paths["deny_write"]]
        words += [f"--noblacklist={path}" for path in paths["allow_read_within_deny"]]
        words += [f"--blacklist={path}" for path in paths["deny_read"]]
        # It takes no long arguments, and not every user.
        return parsed(from_files([*words, "--"], fixture, clean_environment(fixture, policy)))


def from_npm(name):
    """A program of a directory where `npm install` was run: CORDON_PEERS."""
    folder = os.environ.get("CORDON_PEERS")
    if not folder or not os.path.exists(os.path.join(folder, "node_modules/.bin", name)):
        raise Unavailable("not installed; CORDON_PEERS names a directory with node_modules")
    return os.path.join(folder, "node_modules/.bin", name)


class Srt:
    """@anthropic-ai/sandbox-runtime, by a node of npm's `node` package."""
    name, tmpdir = "srt", "/tmp"

    def answers(self, fixture):
        program, node = from_npm("srt"), from_npm("node")
        policy, paths = plain_policy(fixture)
        settings = {"network": {"allowedDomains": [], "deniedDomains": []},
                    "filesystem": {"denyRead": paths["deny_read"], "allowWrite": paths["write"],
                                   "allowRead": paths["allow_read_within_deny"],
                                   "denyWrite": paths["deny_write"]}}
        file = fixture.base / "srt.json"
        file.write_text(json.dumps(settings))
        file.chmod(0o644)
        environment = clean_environment(fixture, policy)
        # It joins the words and has a shell read them again.
        words = [*as_nobody(), node, os.path.realpath(program), "--settings", str(file)]
        done = from_files(words, fixture, environment)
        if "dependencies not available" in done.stderr:
            raise Unavailable(done.stderr.strip().rpartition("not available: ")[2])
        return parsed(done)


class Codex:
    """@openai/codex: `codex sandbox`, which leaves reading open."""
    name, tmpdir = "codex", "/tmp"

    def answers(self, fixture):
        program = from_npm("codex")
        policy, paths = plain_policy(fixture)
        roots = json.dumps(paths["write"])
        words = [program, "sandbox", "-c", 'sandbox_mode="workspace-write"', "-c",
                 f"sandbox_workspace_write.writable_roots={roots}", "-c",
                 "sandbox_workspace_write.exclude_slash_tmp=true", "-c",
                 "sandbox_workspace_write.exclude_tmpdir_env_var=true", "-c",
                 f"sandbox_workspace_write.network_access={'true' if policy['net']['mode'] == 'open' else 'false'}",
                 "--"]
        # It puts a program there, and takes no place in /tmp for that.
        with tempfile.TemporaryDirectory(prefix="cordon-codex-", dir="/var/tmp") as home:
            if os.geteuid() == 0:
                os.chown(home, NOBODY, NOBODY)
            environment = clean_environment(fixture, policy) | {"CODEX_HOME": home}
            return parsed(run([*as_nobody(), *words], fixture, environment))


class Bare:
    """No sandbox at all: what is denied even so proves nothing."""
    name, tmpdir = "bare", "/tmp"

    def answers(self, fixture):
        return parsed(run(as_nobody(), fixture))


TIERS = {driver.name: driver for driver in (
    Cordon("namespaces"), Cordon("landlock"), Cordon("bubblewrap"), Oci(), Seatbelt())}
PEERS = {driver.name: driver for driver in (Bwrap(), Firejail(), Srt(), Codex())}
CONTROL = Bare()
ALL = {**TIERS, **PEERS}
