"""What tests that run commands by CORDON_BIN share: a place with a workspace and
a home of its own, one case after the other, a summary at the end."""
import os
import shutil
import subprocess
import sys
import tempfile
import time
import traceback

BIN = os.path.abspath(os.environ.get("CORDON_BIN", "cordon"))
CORDON = [BIN]  # a test may put words before it
# No directory of it may be out of reach inside: a lookup there fails with EACCES.
PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
SKIP = 77
CASES = []


class Skipped(Exception):
    """This host has not got what the case needs."""


def case(function):
    CASES.append(function)
    return function


class Place:
    """A fresh workspace `ws`, home `home` and directory `outside`, removed at the end."""

    def __init__(self, name):
        # Not in /tmp, which is another one inside.
        self.top = os.path.realpath(tempfile.mkdtemp(prefix=f"cordon-{name}-", dir="/var/tmp"))
        os.chmod(self.top, 0o755)
        for folder in ("ws", "home", "outside"):
            os.mkdir(os.path.join(self.top, folder))
            setattr(self, folder, os.path.join(self.top, folder))
        self.write(os.path.join(self.home, ".gitconfig"),
                   "[user]\nname = A U Thor\nemail = a@example.com\n[init]\ndefaultBranch = main\n")
        # In the private /var/tmp inside, these are there only when named.
        self.reads = ("--read", self.home, "--read", self.outside)
        self.env = os.environ | {"HOME": self.home, "SHELL": "/bin/sh", "PATH": PATH}
        for name in ("XDG_CACHE_HOME", "XDG_CONFIG_HOME", "XDG_STATE_HOME"):
            self.env.pop(name, None)

    def remove(self):
        subprocess.run(["chmod", "-R", "u+rwx", self.top], check=False, stderr=subprocess.DEVNULL)
        shutil.rmtree(self.top, ignore_errors=True)

    def path(self, name):
        return os.path.join(self.ws, name)

    def write(self, name, text, mode=0o644):
        path = self.path(name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as file:
            file.write(text if isinstance(text, bytes) else text.encode())
        os.chmod(path, mode)
        return path

    def read(self, name):
        with open(self.path(name), encoding="utf-8", errors="surrogateescape") as file:
            return file.read()

    def run(self, *argv, flags=(), text=True, timeout=120, cwd=None, **more):
        """`cordon run READS FLAGS -- ARGV`, with nothing on stdin unless told."""
        more.setdefault("env", self.env)
        if "input" not in more:
            more.setdefault("stdin", subprocess.DEVNULL)
        for stream in ("stdout", "stderr"):
            more.setdefault(stream, subprocess.PIPE)
        return subprocess.run([*CORDON, "run", *self.reads, *flags, "--", *argv], cwd=cwd or self.ws,
                              text=text, timeout=timeout, check=False, **more)

    def sh(self, script, shell="sh", **more):
        """Runs a script that must succeed."""
        done = self.run(shell, "-ec", script, **more)
        expect(done.returncode == 0, f"the script failed:\n{script}", done)
        return done

    def outside_sh(self, script, cwd=None):
        """The same without Cordon: what the host prepares or looks at."""
        done = subprocess.run(["sh", "-ec", script], cwd=cwd or self.ws, text=True, env=self.env,
                              stdin=subprocess.DEVNULL, capture_output=True, timeout=120, check=False)
        expect(done.returncode == 0, f"the preparation failed:\n{script}", done)
        return done.stdout


def expect(truth, what, done=None):
    if not truth:
        if done is not None:
            what += f"\n  exit status {done.returncode}\n  stdout: {shown(done.stdout)}" \
                    f"\n  stderr: {shown(done.stderr)}"
        raise AssertionError(what)


def shown(output):
    output = output if output is not None else ""
    return output if len(output) < 4000 else output[:2000] + type(output)() + output[-2000:]


def need(*programs):
    """Programs that tools/packages.txt installs: in CI they must be there."""
    for program in programs:
        if shutil.which(program) is None:
            kind = RuntimeError if os.environ.get("CORDON_TESTS_MUST_RUN") == "1" else Skipped
            raise kind(f"there is no {program}")


def where_present(program):
    """One that is tried where the host has it; nothing installs it."""
    if shutil.which(program) is None:
        raise Skipped(f"there is no {program}")


def foreign_files(top):
    """Files of another owner than the caller."""
    for folder, folders, files in os.walk(top):
        for name in folders + files:
            info = os.lstat(os.path.join(folder, name))
            if info.st_uid != os.geteuid():
                yield f"{os.path.join(folder, name)} belongs to {info.st_uid}"


def run_case(function, name):
    place = Place(name)
    try:
        function(place)
        wrong = list(foreign_files(place.ws))
        expect(not wrong, "files of another owner:\n" + "\n".join(wrong[:10]))
    finally:
        place.remove()


def verdict(function, name):
    """None, or what went wrong."""
    try:
        run_case(function, name)
    except Skipped as reason:
        return reason
    except subprocess.TimeoutExpired as late:
        return f"hung: {late}\n  {late.stdout}\n  {late.stderr}"
    except Exception as problem:
        where = "".join(traceback.format_tb(problem.__traceback__)[-2:])
        return f"{type(problem).__name__}: {problem}\n{where}"
    return None


def main(name, wanted=None):
    """Runs all cases, or those whose names begin with one of `wanted`."""
    wanted = sys.argv[1:] if wanted is None else wanted
    if not os.access(BIN, os.X_OK):
        print("skipped: CORDON_BIN is not a program")
        return SKIP
    passed, failed = 0, []
    for function in CASES:
        if wanted and not function.__name__.startswith(tuple(wanted)):
            continue
        began = time.monotonic()
        problem = verdict(function, name)
        if isinstance(problem, Skipped):
            print(f"skipped {function.__name__}: {problem}")
        elif problem is not None:
            failed.append(function.__name__)
            print(f"FAILED {function.__name__}: {problem}")
        else:
            passed += 1
        if "-v" in os.environ.get("CORDON_TEST_FLAGS", ""):
            print(f"{time.monotonic() - began:6.2f} s {function.__name__}")
        sys.stdout.flush()
    print(f"{name}: {passed} cases passed, {len(failed)} failed {' '.join(failed)}")
    return 1 if failed else 0
