#!/usr/bin/python3
"""Every system call of the launch fails once, by strace: the run is refused with a
message or runs contained; it never runs open, hangs or ends with 0.

faultinject.py [--every N] [--errors E,E] [--calls C,C]
"""
import argparse
import json
import os
import shutil
import signal
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from contained import BIN, SKIP, Place  # noqa: E402

ERRORS = ("EPERM", "ENOMEM", "EINVAL")
# In the order of the launch; what the C library needs to start (mmap, brk) is not ours.
CALLS = ("openat2", "getdents64", "readlink", "statx", "newfstatat", "openat", "access", "mkdir", "setgroups",
         "setresgid", "setresuid", "signalfd4", "pipe2", "socketpair", "memfd_create", "eventfd2",
         "inotify_init1", "inotify_add_watch", "prlimit64", "clone3", "clone", "unshare", "setsid", "keyctl",
         "fsopen", "fsconfig", "fsmount", "open_tree", "move_mount", "mount_setattr", "mount", "pivot_root",
         "umount2", "mkdirat", "symlinkat", "chdir", "fchdir", "umask", "sethostname", "capset", "prctl",
         "landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self", "seccomp", "sendmsg",
         "recvmsg", "dup3", "fcntl", "execveat", "execve", "rt_sigprocmask", "write", "read", "ioctl", "poll",
         "ppoll", "pidfd_send_signal", "close_range", "chroot")
# When one of these fails, the record may not go on claiming the layer, which the
# probe cannot see by itself.
LAYERS = {"landlock_add_rule": "landlock", "landlock_restrict_self": "landlock"}
# By these init tells and is told, and errors are written.
TELLING = ("read", "write", "poll", "ppoll")
LIMIT = 10
STATUS = 7

# Shell builtins only: one process, few system calls. Says OPEN for each gap.
PROBE = r"""
{ echo x > %(outside)s/escaped; } 2>/dev/null && echo OPEN write
{ echo x > .git/hooks/pre-commit; } 2>/dev/null && echo OPEN hooks
{ echo x > .mcp.json; } 2>/dev/null && echo OPEN floor-name
{ read -r x < %(home)s/.ssh/id_rsa; } 2>/dev/null && echo OPEN secret
while read -r key value rest; do
  case $key in
    NoNewPrivs:) test $value = 1 || echo OPEN $key $value ;;
    Seccomp:) test $value = 2 || echo OPEN $key $value ;;
    Cap*:) test $value = 0000000000000000 || echo OPEN $key $value ;;
    Uid:) test $value != 0 || echo OPEN $key $value ;;
  esac
done < /proc/self/status
while read -r name rest; do
  case $name in lo:*|Inter*|face*) ;; *) echo OPEN net $name ;; esac
done < /proc/net/dev
test $$ -lt 100 || echo OPEN pid $$
echo PROBED
exit %(status)d
"""


class Bench:
    def __init__(self):
        self.place = Place("fault")
        self.place.outside_sh("git init -q . && echo x > f && git add f && git commit -qm one")
        self.place.write(self.place.home + "/.ssh/id_rsa", "secret\n")
        self.script = PROBE % {"outside": self.place.outside, "home": self.place.home, "status": STATUS}
        self.trace = os.path.join(self.place.top, "trace")

    def run(self, inject):
        """(status or None for a hang, stdout, stderr, whether the fault happened)."""
        words = ["strace", "-f", "-qq", "-o", self.trace, *inject, BIN, "run", "--json",
                 "--backend", "namespaces", "--", "/bin/sh", "-c",
                 self.script]
        child = subprocess.Popen(words, cwd=self.place.ws, env=self.place.env, stdin=subprocess.DEVNULL,
                                 stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                 start_new_session=True)
        try:
            out, err = child.communicate(timeout=LIMIT)
            status = child.returncode
        except subprocess.TimeoutExpired:
            os.killpg(child.pid, signal.SIGKILL)
            out, err = child.communicate()
            status = None
        with open(self.trace, encoding="utf-8", errors="replace") as file:
            return status, out, err, "(INJECTED)" in file.read()

    def escaped(self):
        """What the probe, or Cordon itself, left on the host."""
        made = [path for path in (self.place.outside + "/escaped", self.place.path(".git/hooks/pre-commit"),
                                  self.place.path(".mcp.json")) if os.path.lexists(path)]
        for path in made:
            os.unlink(path)
        return made


def parsed(out):
    try:
        return json.loads(out)
    except ValueError:
        return None


def judge(call, status, out, err, made, usual):
    """(kind, problem or None)"""
    if status is None:
        return "hang", "it hung"
    told = parsed(out)
    inside = told.get("stdout", "") if told else out
    if made or "OPEN" in inside:
        return "open", f"it ran open: {made} {inside}"
    if status == 0:
        return "zero", f"exit 0 without the command's {STATUS}: {out[:300]}"
    if status < 0:
        # The fault hit strace's child before main, or a signal ended it: nothing ran.
        return "signal", f"ended by signal {-status}: {err[:300]}" if "PROBED" not in inside else None
    if "PROBED" in inside:
        layer = LAYERS.get(call)
        record = told["enforcement"] if told else None
        if layer and record == usual and status == STATUS:
            return "claim", f"{layer} failed, and the record still claims it"
        # Without its report init has told of no end: as good as killed.
        untold = status == 137 and call in TELLING
        return "contained", None if status == STATUS or untold else f"the probe ran, but the status is {status}"
    if status == 125 and call != "write" and not (err.strip() or (told and (told.get("message") or told.get("error")))):
        return "silent", f"refused without a word: {out[:300]}"
    return "refused" if status == 125 else "disturbed", None


def sweep(bench, options, usual):
    counts, problems = {}, []
    for call in options.calls:
        number, miss = 1, 0
        while not miss:
            for error in options.errors:
                inject = ["-e", f"trace={call}", "-e", f"inject={call}:error={error}:when={number}"]
                status, out, err, happened = bench.run(inject)
                made = bench.escaped()
                if not happened and status == STATUS:
                    miss = 1
                    break
                kind, problem = judge(call, status, out, err, made, usual)
                counts[kind] = counts.get(kind, 0) + 1
                if problem:
                    problems.append(f"{call} number {number} fails with {error}: {problem}")
                    print("FAILED", problems[-1], flush=True)
            number += options.every
            if number > options.most:
                break
    return counts, problems


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    listed = lambda text: tuple(text.split(","))  # noqa: E731
    parser.add_argument("--every", type=int, default=1)
    parser.add_argument("--most", type=int, default=300, help="no further than this call of a kind")
    parser.add_argument("--errors", type=listed, default=ERRORS)
    parser.add_argument("--calls", type=listed, default=CALLS)
    options = parser.parse_args()
    if shutil.which("strace") is None:
        print("skipped: there is no strace")
        return SKIP
    bench = Bench()
    try:
        status, out, err, _ = bench.run(["-e", "trace=none"])
        told = parsed(out)
        if status != STATUS or not told or "PROBED" not in told["stdout"]:
            print(f"skipped: a run under strace does not work here: {status}\n{out}\n{err}")
            return SKIP
        if "OPEN" in told["stdout"] or bench.escaped():
            print(f"without any fault the probe finds a gap:\n{told['stdout']}")
            return 1
        counts, problems = sweep(bench, options, told["enforcement"])
    finally:
        bench.place.remove()
    print("faultinject:", ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items())),
          f"({sum(counts.values())} faults, {len(problems)} problems)")
    return 1 if problems or not counts.get("refused") else 0


if __name__ == "__main__":
    sys.exit(main())
