"""What every escape test stands on: a fresh tree, attacks, and evidence.

An attack is a function that does one thing to what it is given, and raises
OSError (or Refused) when it is kept from it. The suite then runs it

- outside the sandbox, on a tree of its own, where it must succeed: the attack
  can tell a boundary from a mistake in itself (`control`);
- inside, by every profile, where it must be refused (`places`);
- inside, on a tree that the policy gives, where it must succeed: the boundary
  is not just a broken command (`twin`).

All attacks of a suite run in one sandbox per profile, each in a process of its
own. Afterwards the host looks at what changed; what the attack says about
itself is believed only when it says that it got through.

A test file makes a Suite, decorates its attacks and ends with `SUITE.main()`.
The same file, copied into the workspace, is what runs inside. Standard library
only: inside there is nothing else.
"""
import ctypes
import errno
import json
import os
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time
import traceback
from types import SimpleNamespace

SECRET = "CORDON-SECRET-7391"
CONTENT = b"original\n"
BIN = os.environ.get("CORDON_BIN", "")
MUST_RUN = os.environ.get("CORDON_TESTS_MUST_RUN") == "1"
SKIP = 77
PYTHON = "/usr/bin/python3"  # one in a home directory is out of reach inside
# The host itself has no such thing: nothing to be kept from.
ABSENT = {errno.ENOSYS, errno.EAFNOSUPPORT, errno.EPROTONOSUPPORT, errno.ESOCKTNOSUPPORT,
          errno.ENODEV, errno.EOPNOTSUPP, errno.ENXIO}
ROOT = os.geteuid() == 0

libc = ctypes.CDLL(None, use_errno=True)

# Numbers of calls that libc has no function for: x86-64, and arm64 where it has the call.
NUMBERS = {
    "open": (2, None), "creat": (85, None), "mkdir": (83, None), "rename": (82, None),
    "link": (86, None), "symlink": (88, None), "mknod": (133, None), "chmod": (90, None),
    "fchmod": (91, 52), "fchmodat": (268, 53), "fchmodat2": (452, 452), "openat": (257, 56),
    "openat2": (437, 437), "renameat2": (316, 276), "linkat": (265, 37), "mknodat": (259, 33),
    "truncate": (76, 45), "clone": (56, 220), "clone3": (435, 435), "unshare": (272, 97),
    "setns": (308, 268), "mount": (165, 40), "umount2": (166, 39), "pivot_root": (155, 41),
    "chroot": (161, 51), "open_tree": (428, 428), "move_mount": (429, 429), "fsopen": (430, 430),
    "fsconfig": (431, 431), "fsmount": (432, 432), "fspick": (433, 433),
    "mount_setattr": (442, 442), "ptrace": (101, 117), "process_vm_readv": (310, 270),
    "process_vm_writev": (311, 271), "pidfd_open": (434, 434), "pidfd_getfd": (438, 438),
    "pidfd_send_signal": (424, 424), "kcmp": (312, 272), "keyctl": (250, 219),
    "add_key": (248, 217), "request_key": (249, 218), "bpf": (321, 280),
    "perf_event_open": (298, 241), "userfaultfd": (323, 282), "io_uring_setup": (425, 425),
    "io_uring_enter": (426, 426), "io_uring_register": (427, 427), "kexec_load": (246, 104),
    "init_module": (175, 105), "finit_module": (313, 273), "delete_module": (176, 106),
    "swapon": (167, 224), "swapoff": (168, 225), "reboot": (169, 142),
    "settimeofday": (164, 170), "clock_settime": (227, 112), "adjtimex": (159, 171),
    "acct": (163, 89), "quotactl": (179, 60), "iopl": (172, None), "ioperm": (173, None),
    "syslog": (103, 116), "sethostname": (170, 161), "setdomainname": (171, 162),
    "name_to_handle_at": (303, 264), "open_by_handle_at": (304, 265),
    "fanotify_init": (300, 262), "modify_ldt": (154, None), "move_pages": (279, 239),
    "migrate_pages": (256, 238), "memfd_secret": (447, 447), "personality": (135, 92),
    "tgkill": (234, 131), "prlimit64": (302, 261), "mq_open": (240, 180),
    "mq_unlink": (241, 181), "seccomp": (317, 277), "setxattr": (188, 5),
    "sched_setscheduler": (144, 119), "execveat": (322, 281),
}


class Refused(Exception):
    """The attack ran into the boundary without an errno to show for it."""


def call(name, *arguments):
    """The raw system call; OSError when it fails."""
    number = NUMBERS[name][0 if os.uname().machine == "x86_64" else 1]
    if number is None:
        raise OSError(errno.ENOSYS, name)
    return call_number(number, *arguments)


def call_number(number, *arguments):
    plain = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    result = libc.syscall(ctypes.c_long(number), *plain)
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


def path(text):
    return ctypes.c_char_p(os.fsencode(text))


def succeed(result):
    """For functions of libc: OSError when they return a negative number."""
    if result < 0:
        code = ctypes.get_errno()
        raise OSError(code, os.strerror(code))
    return result


def spill(target, data=b"planted\n", flags=os.O_WRONLY):
    """Opens, writes, closes."""
    fd = os.open(target, flags, 0o644)
    try:
        os.write(fd, data)
    finally:
        os.close(fd)


def link_open_file(fd, target):
    """A name for what a descriptor holds."""
    succeed(libc.linkat(-100, b"/proc/self/fd/%d" % fd, -100, os.fsencode(target), 0x400))


def secret_in(target):
    """Reads it; Refused if it can be read but does not say anything."""
    with open(target, "rb") as file:
        data = file.read(4096)
    if SECRET.encode() not in data:
        raise Refused("no secret in it")
    return data


def in_child(act):
    """Runs `act` in a process of its own; OSError if that could not do it."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            act()
            code = 0
        except OSError as error:
            code = min(error.errno or 250, 250)
        except Refused:
            code = 251
        except BaseException:
            traceback.print_exc()
            code = 252
        finally:
            os._exit(code)
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if code in (251,) or code < 0:
        raise Refused(f"process ended with {code}")
    if code:
        raise OSError(code, os.strerror(code))


def compile_c(source, name):
    """A static program from a few lines of C, made on the host."""
    folder = tempfile.mkdtemp(prefix="cordon-escape-c-")
    with open(folder + "/a.c", "w") as file:
        file.write(source)
    target = folder + "/" + name
    subprocess.run(["gcc", "-O1", "-static", "-w", "-o", target, folder + "/a.c"], check=True)
    with open(target, "rb") as file:
        image = file.read()
    shutil.rmtree(folder)
    return image


class Fixture:
    """base/{ws,outside,ro,home,tmp,control}: ws is the workspace, ro is granted
    for reading by every profile, outside is not granted, control is for the
    attacks that run on the host."""

    def __init__(self):
        self.base = tempfile.mkdtemp(prefix="cordon-escape-",
                                     dir=os.environ.get("CORDON_TEST_DIR", "/var/tmp"))
        os.chmod(self.base, 0o755)
        for name in ("ws", "outside", "ro", "home", "tmp", "control"):
            os.mkdir(f"{self.base}/{name}")
            setattr(self, name, f"{self.base}/{name}")
        self.policy = self.base + "/policy.toml"
        with open(self.policy, "w") as file:
            file.write('version = 1\npreset = "workspace"\n[fs]\ntemp = "shared"\n')
        self.processes = []
        for place in (self.outside, self.ro, self.control):
            self.write(place + "/secret.txt", SECRET + "\n")
        for name in (".ssh/id_ed25519", ".aws/credentials", ".netrc", ".config/gh/hosts.yml",
                     ".docker/config.json", ".gnupg/private.key", ".kube/config",
                     ".git-credentials", ".bash_history"):
            self.write(f"{self.home}/{name}", SECRET + "\n", 0o600)
        for name in (".bashrc", ".profile", ".gitconfig", ".ssh/known_hosts"):
            self.write(f"{self.home}/{name}", "# mine\n")
        self.repository(self.ws)
        self.write(self.ws + "/.env", SECRET + "\n", 0o600)
        os.mkdir(self.ws + "/desk")

    def repository(self, top):
        """A repository by its files, so that git need not be there."""
        if os.path.exists(top + "/.git"):
            return
        self.write(top + "/.git/HEAD", "ref: refs/heads/main\n")
        self.write(top + "/.git/config", "[core]\n\trepositoryformatversion = 0\n")
        self.write(top + "/.git/hooks/pre-commit.sample", "#!/bin/sh\n", 0o755)
        self.write(top + "/.git/info/exclude", "\n")
        self.write(top + "/.git/modules/m/config", "[core]\n")
        os.makedirs(top + "/.git/modules/m/hooks")
        os.makedirs(top + "/.git/objects/pack")
        os.makedirs(top + "/.git/refs/heads")

    @staticmethod
    def write(target, text, mode=0o644):
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(target, "wb") as file:
            file.write(text if isinstance(text, bytes) else text.encode())
        os.chmod(target, mode)

    def target(self, place, name):
        """A directory for one attack to work on."""
        if place == "top":
            return self.ws  # the workspace itself, of which nothing may change
        folder = {"ws": self.ws + "/desk"}.get(place) or getattr(self, place)
        folder = f"{folder}/{place}-{name}"
        self.write(folder + "/file", CONTENT)
        self.write(folder + "/second", CONTENT)
        self.write(folder + "/secret", SECRET + "\n")
        self.write(folder + "/dir/inner", CONTENT)
        os.mkdir(folder + "/empty")
        os.symlink("file", folder + "/link")
        return folder

    def environment(self, extra=None):
        env = {k: v for k, v in os.environ.items()
               if k in ("PATH", "LANG", "CORDON_TEST_WITHOUT") or k.endswith("SAN_OPTIONS")}
        return env | {"HOME": self.home, "TMPDIR": self.tmp} | (extra or {})

    def command(self, profile, argv, flags=()):
        return [BIN, "run", "--workspace", self.ws, *PROFILES[profile](self), *flags, "--", *argv]

    def run(self, profile, argv, flags=(), env=None, timeout=120, **options):
        """cordon run, with the output as bytes."""
        options = {"stdin": subprocess.DEVNULL, "stdout": subprocess.PIPE,
                   "stderr": subprocess.PIPE, "cwd": self.ws} | options
        return subprocess.run(self.command(profile, argv, flags), env=self.environment(env),
                              timeout=timeout, check=False, **options)

    def python(self, profile, code, *arguments, **options):
        return self.run(profile, [PYTHON, "-c", code, *arguments], **options)

    def start(self, argv, **options):
        process = subprocess.Popen(argv, **options)
        self.processes.append(process)
        return process

    def close(self):
        for process in self.processes:
            process.kill()
            process.wait()
        # What an attack left without permission to enter it.
        for folder, folders, _ in os.walk(self.base):
            for name in folders:
                if not os.path.islink(f"{folder}/{name}"):
                    os.chmod(f"{folder}/{name}", 0o755)
        shutil.rmtree(self.base, ignore_errors=True)

    # Evidence.

    def state(self):
        """Everything but the attacks' own places: ws/desk, control and tmp."""
        seen = {}
        for folder, folders, files in os.walk(self.base):
            folders[:] = [f for f in folders if f"{folder}/{f}" not in
                          (self.control, self.ws + "/desk", self.tmp)]
            for name in folders + files:
                describe(f"{folder}/{name}", seen, len(self.base) + 1)
        return seen

    def leftovers(self):
        """What a run may leave nowhere: mounts, files of its own, processes."""
        found = ["tmp/" + name for name in os.listdir(self.tmp)]
        with open("/proc/self/mountinfo") as file:
            found += ["mount " + line.split()[4] for line in file if self.base in line]
        return found + [f"process {pid}" for pid in self.survivors()]

    def survivors(self, tag=None):
        tag = os.fsencode(tag or self.base)
        mine = {os.getpid(), os.getppid()} | {p.pid for p in self.processes}
        found = []
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                with open(f"/proc/{pid}/cmdline", "rb") as file:
                    line = file.read()
            except OSError:
                continue
            if tag in line and int(pid) not in mine:
                found.append(int(pid))
        return found


def describe(name, seen, prefix):
    status = os.lstat(name)
    fact = [stat.S_IFMT(status.st_mode), status.st_mode & 0o7777, status.st_uid, status.st_gid]
    if stat.S_ISREG(status.st_mode):
        with open(name, "rb") as file:
            fact += [file.read(), status.st_mtime_ns, status.st_nlink]
    elif stat.S_ISLNK(status.st_mode):
        fact.append(os.readlink(name))
    try:
        fact.append(sorted(os.listxattr(name, follow_symlinks=False)))
    except OSError:
        pass
    seen[name[prefix:]] = fact


def changes(before, after):
    return sorted(name for name in before.keys() | after.keys()
                  if before.get(name) != after.get(name))


# Each with ro readable and ws/.env not. In `workspace` the rest of the fixture is
# there to be seen (temp is shared), in `strict` it is not.
PROFILES = {
    "strict": lambda f: ["--preset", "strict", "--read", f.ro, "--deny-read", f.ws + "/.env"],
    "workspace": lambda f: ["--policy", f.policy, "--deny-read", f.ws + "/.env"],
}


class Attack:
    def __init__(self, act, ids, places, twin, control):
        self.act, self.ids, self.places = act, ids, places
        self.twin, self.control = twin, control
        self.name = act.__name__


class Suite:
    """`context(fixture)` gives what the attacks find in `t` besides `t.dir`, the
    directory prepared for them, and the fixture's folders. `flags` are for
    `cordon run`. `prepare(fixture, folder)` adds to a target. `evidence(fixture)` is called after each run, and what it
    returns is a list of complaints. `evident`: the controls must cause some."""

    def __init__(self, name, context=None, flags=(), evidence=None, before=None, hold=None,
                 prepare=None, evident=False):
        self.evident = evident
        self.prepare = prepare or (lambda fixture, folder: None)
        self.name, self.context, self.flags = name, context, flags
        self.file = os.path.abspath(sys._getframe(1).f_globals["__file__"])
        self.evidence, self.before, self.hold = evidence, before, hold
        self.attacks, self.benign, self.tests = {}, {}, []
        self.problems, self.passed = [], 0

    def attack(self, ids="", places=("outside", "ro"), twin="ws", control="host"):
        """`control`: "host", "root" (only root could do it there) or a reason
        why there is none. `twin`: the place where it must succeed inside."""
        def register(act):
            assert act.__name__ not in self.attacks, act.__name__
            self.attacks[act.__name__] = Attack(act, ids, places, twin, control)
            return act
        return register

    def here(self, ids="", twin=None, control="host"):
        """An attack on something other than a directory."""
        return self.attack(ids, places=("ws",), twin=twin, control=control)

    def allowed(self, act):
        """Must work inside."""
        self.benign[act.__name__] = act
        return act

    def test(self, ids=""):
        """A test of its own, called with (fixture, profile); AssertionError fails."""
        def register(act):
            self.tests.append((act, ids))
            return act
        return register

    # Inside, and for the controls outside.

    def perform(self, orders_file):
        with open(orders_file) as file:
            orders = json.load(file)
        for name, place, folder in orders["list"]:
            act = self.benign.get(name) or self.attacks[name].act
            t = SimpleNamespace(**orders["context"], dir=folder, place=place)
            result = one_attempt(act, t)
            print("\n@@" + json.dumps([name, place, *result]), flush=True)

    # On the host.

    def orders(self, fixture, listed, file):
        context = self.context(fixture) if self.context else {}
        context |= {n: getattr(fixture, n) for n in ("base", "ws", "outside", "ro", "home")}
        context |= {"control": fixture.control, "inside": bool(listed) and listed[0][1] != "control",
                    "caller_uid": os.getuid()}
        with open(file, "w") as out:
            json.dump({"list": listed, "context": context}, out)

    def controls(self):
        """Whether each attack works where nothing holds it back."""
        fixture = Fixture()
        try:
            wanted = [a for a in self.attacks.values()
                      if a.control == "host" or (a.control == "root" and ROOT)]
            listed = [(a.name, "control", fixture.target("control", a.name)) for a in wanted]
            if not listed:
                return
            self.orders(fixture, listed, fixture.base + "/orders.json")
            for _, _, target in listed:
                self.prepare(fixture, target)
            if self.before:
                self.before(fixture)
            done = subprocess.run([PYTHON, self.file, "--perform",
                                   fixture.base + "/orders.json"], cwd=fixture.ws,
                                  stdin=subprocess.DEVNULL, capture_output=True, timeout=120,
                                  env=fixture.environment(), check=False)
            results = parse(done.stdout)
            complaints = self.evidence(fixture) if self.evidence else []
            if self.evident and not complaints:
                self.problem("control", None, "the attacks leave no evidence outside")
            for attack in wanted:
                verdict, detail, code = results.get((attack.name, "control"), ("missing", "", 0))
                # A race that is never won in the time it has shows nothing either way.
                if verdict == "done" or code in ABSENT or detail.startswith("never"):
                    continue
                self.problem("control", attack, f"does not work outside: {verdict} {detail}"
                             + (done.stderr.decode()[-500:] if verdict == "missing" else ""))
        finally:
            fixture.close()

    def contained(self, profile):
        fixture = Fixture()
        try:
            listed = [(a.name, place, fixture.target(place, a.name))
                      for a in self.attacks.values() for place in a.places]
            listed += [(a.name, "twin", fixture.target(a.twin, a.name + "-twin"))
                       for a in self.attacks.values() if a.twin]
            listed += [(name, "benign", fixture.target("ws", name)) for name in self.benign]
            if not listed:
                return
            folder = fixture.ws + "/desk/code"
            os.mkdir(folder)
            for source in (self.file, os.path.abspath(__file__)):
                shutil.copy(source, folder)
            self.orders(fixture, listed, folder + "/orders.json")
            for _, _, target in listed:
                self.prepare(fixture, target)
            if self.before:
                self.before(fixture)
            before = fixture.state()
            held = self.hold(fixture) if self.hold else {}
            done = fixture.run(profile, [PYTHON, "-B",
                                         folder + "/" + os.path.basename(self.file), "--perform",
                                         folder + "/orders.json"], flags=self.flags, **held)
            self.judge(profile, fixture, listed, done)
            for change in changes(before, fixture.state()):
                self.problem(profile, None, f"changed on the host: {change}")
            complaints = self.evidence(fixture) if self.evidence else []
            for complaint in complaints + settle(fixture.leftovers):
                self.problem(profile, None, complaint)
        finally:
            fixture.close()

    def judge(self, profile, fixture, listed, done):
        results = parse(done.stdout)
        if not results:
            return self.problem(profile, None, f"did not run: status {done.returncode} "
                                + done.stderr.decode(errors="replace")[-1000:])
        for name, place, _ in listed:
            verdict, detail, _ = results.get((name, place), ("missing", "", 0))
            attack = self.attacks.get(name)
            wanted = "done" if place in ("twin", "benign") else "refused"
            if verdict == wanted:
                self.passed += 1
            else:
                what = {"done": "GOT THROUGH", "refused": "was kept from"}.get(verdict, verdict)
                self.problem(profile, attack or name, f"{place}: {what} {detail}")

    def single_tests(self, profile):
        for act, ids in self.tests:
            fixture = Fixture()
            try:
                act(fixture, profile)
                left = settle(fixture.leftovers)
                assert not left, f"left behind: {left}"
                self.passed += 1
            except AssertionError as error:
                where = traceback.extract_tb(error.__traceback__)[-1].lineno
                self.problem(profile, f"{act.__name__} [{ids}]", f"line {where}: {error}")
            except subprocess.TimeoutExpired as error:
                self.problem(profile, f"{act.__name__} [{ids}]", f"hangs: {error}")
            finally:
                fixture.close()

    def breaches(self, profile, name):
        """What one attack or test of the suite got through, run on its own."""
        kept = (self.attacks, self.benign, self.tests, self.problems)
        self.attacks = {n: a for n, a in self.attacks.items() if n == name}
        self.tests = [t for t in self.tests if t[0].__name__ == name]
        self.benign, self.problems = {}, []
        assert self.attacks or self.tests, name
        for attack in self.attacks.values():
            attack.twin = None
        self.contained(profile)
        self.single_tests(profile)
        found = self.problems
        self.attacks, self.benign, self.tests, self.problems = kept
        return found

    def problem(self, profile, attack, text):
        name = f"{attack.name} [{attack.ids}]" if isinstance(attack, Attack) else attack or "host"
        self.problems.append(f"{self.name}/{profile}: {name}: {text}")

    def main(self):
        if sys.argv[1:2] == ["--perform"]:
            return self.perform(sys.argv[2])
        if not BIN or not os.path.exists(BIN):
            print("no CORDON_BIN")
            sys.exit(1 if MUST_RUN else SKIP)
        started = time.monotonic()
        only = os.environ.get("CORDON_ESCAPE_ONLY")  # for a person at work on one attack
        if only:
            self.attacks = {n: a for n, a in self.attacks.items() if only in n}
            self.benign = {n: a for n, a in self.benign.items() if only in n}
            self.tests = [t for t in self.tests if only in t[0].__name__]
        if "CORDON_TEST_WITHOUT" not in os.environ:
            self.controls()
        for profile in PROFILES:
            self.contained(profile)
            self.single_tests(profile)
        for problem in self.problems:
            print(problem)
        print(f"{self.name}: {len(self.attacks)} attacks, {self.passed} checks passed, "
              f"{len(self.problems)} failed, {time.monotonic() - started:.1f} s")
        sys.exit(1 if self.problems else 0)


def settle(look, seconds=2.0):
    """What is still there after a moment."""
    end = time.monotonic() + seconds
    while (found := look()) and time.monotonic() < end:
        time.sleep(0.02)
    return found


def parse(output):
    results = {}
    for line in output.decode(errors="replace").splitlines():
        if line.startswith("@@"):
            name, place, *result = json.loads(line[2:])
            results[name, place] = result
    return results


def one_attempt(act, t):
    """[verdict, detail, errno] of `act(t)` in a process of its own."""
    reading, writing = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reading)
        try:
            signal.alarm(30)
            value = act(t)
            result = ["done", repr(value)[:200], 0]
        except OSError as error:
            result = ["refused", f"{errno.errorcode.get(error.errno, error)} {error.filename or ''}",
                      error.errno or 0]
        except Refused as error:
            result = ["refused", str(error)[:200], 0]
        except BaseException:
            result = ["broken", traceback.format_exc()[-600:], 0]
        os.write(writing, json.dumps(result).encode())
        os._exit(0)
    os.close(writing)
    with os.fdopen(reading, "rb") as file:
        text = file.read()
    status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if text:
        return json.loads(text)
    if status == -signal.SIGALRM:
        return ["hangs", "", 0]
    return ["refused", f"ended by {signal.Signals(-status).name if status < 0 else status}", 0]
