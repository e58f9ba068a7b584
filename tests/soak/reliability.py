#!/usr/bin/python3
"""Many runs at once with exact results, then SIGKILL at random moments; after both
the host is as it was.

reliability.py [--runs N] [--at-once N] [--kills N] [--seed N]
"""
import argparse
import concurrent.futures
import os
import random
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from contained import BIN, Place  # noqa: E402

TEMP = ("/tmp", "/var/tmp", "/dev/shm")
LIMITS = ((), ("--memory", "512MiB", "--processes", "64"))  # by a cgroup, where there can be one
RUNS_AS = os.geteuid() or 65534  # a run of root's is nobody's


def lines_of(path):
    with open(path, encoding="utf-8", errors="replace") as file:
        return file.read().splitlines()


def processes(marker):
    """(pids with the marker in their arguments, children of ours that nobody waited for)"""
    ours, zombies = [], []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/stat", encoding="utf-8", errors="replace") as file:
                state, parent = file.read().rsplit(")", 1)[1].split()[:2]
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                words = file.read()
        except OSError:
            continue
        if int(pid) == os.getpid():
            continue
        if state == "Z" and int(parent) == os.getpid():
            zombies.append(int(pid))
        elif marker.encode() in words:
            ours.append(int(pid))
    return ours, zombies


def owner(path):
    try:
        return os.lstat(path).st_uid
    except OSError:
        return None


def host_state(place, marker):
    """What must not grow. Others use this host too, so only what can be ours counts."""
    ours, zombies = processes(marker)
    temp = {os.path.join(folder, name) for folder in TEMP for name in os.listdir(folder)
            if not name.startswith("cordon-")  # those are the tests' own places
            and owner(os.path.join(folder, name)) == RUNS_AS}
    cgroups = [name for _, names, _ in os.walk("/sys/fs/cgroup") for name in names
               if name.startswith("cordon-")]
    return {
        "mounts": len(lines_of("/proc/self/mountinfo")),
        "processes": len(ours),
        "zombies": len(zombies),
        "temporary files": temp,
        "cgroups": len(cgroups),
        "unix sockets": sorted(line.split()[-1] for line in lines_of("/proc/net/unix")[1:]
                               if place.top in line),
        "workspace": sorted((folder, tuple(folders), tuple(sorted(files)))
                            for folder, folders, files in os.walk(place.ws)),
        "descriptors": len(os.listdir("/proc/self/fd")),
    }


def settled(place, marker, before, seconds=20):
    """The state after, when what is on its way out has had time to go."""
    time.sleep(0.3)  # a launch that was under way
    until, fresh = time.monotonic() + seconds, None
    while True:
        after = host_state(place, marker)
        # A compiler next door makes temporary files too; ours would stay.
        new = after.pop("temporary files") - before["temporary files"]
        fresh = new if fresh is None else fresh & new
        left = {key: f"{before[key]} before, {now} now" for key, now in after.items()
                if (now > before[key] if isinstance(now, int) else now != before[key])}
        if fresh:
            left["temporary files"] = sorted(fresh)
        if not left or time.monotonic() > until:
            return left
        time.sleep(0.2)


def one_run(place, number, marker):
    script = f": {marker}; echo 'run {number} of many'; echo {number} >&2; exit {number % 7}"
    try:
        done = subprocess.run([BIN, "run", *LIMITS[number % 2], "--", "sh", "-c", script],
                              cwd=place.ws, env=place.env, stdin=subprocess.DEVNULL,
                              capture_output=True, timeout=120, check=False)
    except subprocess.TimeoutExpired:
        return f"run {number} hung"
    wanted = (number % 7, f"run {number} of many\n".encode(), f"{number}\n".encode())
    got = (done.returncode, done.stdout, done.stderr)
    return None if got == wanted else f"run {number}: {got} instead of {wanted}"


def many_runs(place, count, at_once, marker):
    began = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(at_once) as pool:
        wrong = [w for w in pool.map(lambda n: one_run(place, n, marker), range(count)) if w]
    took = time.monotonic() - began
    print(f"{count} runs at {at_once} at once in {took:.0f} s, {len(wrong)} wrong")
    return wrong


def random_kills(place, count, marker, rng):
    """The command makes children that ignore signals, leave its session and write."""
    script = (f"setsid sleep {marker} & (trap '' TERM HUP INT; sleep {marker}) &"
              f"echo x > .mcp.json; sleep {marker}")
    for number in range(count):
        child = subprocess.Popen([BIN, "run", *LIMITS[number % 2], "--", "sh", "-c", script],
                                 cwd=place.ws, env=place.env, stdin=subprocess.DEVNULL,
                                 stdout=subprocess.DEVNULL,
                                 stderr=subprocess.DEVNULL)
        time.sleep(rng.random() * 0.1)
        child.send_signal(signal.SIGKILL)
        child.wait()
    print(f"{count} kills")


def end(pids):
    for pid in pids:
        try:
            os.kill(pid, signal.SIGKILL)
        except OSError:
            pass


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=10000)
    parser.add_argument("--at-once", type=int, default=16)
    parser.add_argument("--kills", type=int, default=300)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    options = parser.parse_args()
    print(f"seed {options.seed}")
    marker = f"33{os.getpid():08d}"
    place = Place("soak")
    try:
        place.outside_sh("git init -q . && echo x > f && git add f && git commit -qm one")
        subprocess.run([BIN, "run", "--", "true"], cwd=place.ws, env=place.env, check=True, timeout=60)
        before = host_state(place, marker)
        wrong = many_runs(place, options.runs, options.at_once, marker)
        left = settled(place, marker, before)
        random_kills(place, options.kills, marker, random.Random(options.seed))
        left_by_kills = settled(place, marker, before)
        end(processes(marker)[0])
    finally:
        place.remove()
    for line in wrong[:20]:
        print("WRONG", line)
    for when, found in (("the runs", left), ("the kills", left_by_kills)):
        for key, what in found.items():
            print(f"LEFT after {when}: {key}: {what}")
    failed = bool(wrong or left or left_by_kills)
    print("reliability: " + ("failed" if failed else "nothing wrong, nothing left"))
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
