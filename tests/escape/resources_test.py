#!/usr/bin/python3
"""Resources: the limits hold for the sandbox as a whole, and only for it."""
import json
import os
import resource
import signal
import subprocess
import time

from fixture import PYTHON, Suite, settle

SUITE = Suite("resources")
FORKS = ("import os,signal,sys,time\nn=0\n"
         "for _ in range(int(sys.argv[1])):\n"
         "  try: pid=os.fork()\n"
         "  except OSError: break\n"
         "  if pid==0: signal.pause()\n"
         "  n+=1\n"
         "print(n,flush=True)\nos.kill(0,9)\n")


@SUITE.test("RES-01")
def processes_are_counted_for_this_sandbox(f, profile):
    outside = subprocess.run([PYTHON, "-c", FORKS, "60"], capture_output=True, start_new_session=True)
    assert outside.stdout == b"60\n", outside
    done = f.python(profile, FORKS, "400", flags=["--processes", "40"])
    made = int(done.stdout.split()[0])
    assert 20 <= made <= 40, made
    # Another sandbox of the same user's, and the user's own, have theirs.
    held = f.start(f.command(profile, [PYTHON, "-c", (
        "import os,signal\n"
        "for _ in range(35):\n  if os.fork()==0: signal.pause()\n"
        "print('up',flush=True); signal.pause()")], ["--processes", "40"]),
        cwd=f.ws, env=f.environment(), stdout=-1)
    assert held.stdout.readline() == b"up\n"
    done = f.python(profile, FORKS, "30", flags=["--processes", "40"])
    assert done.stdout == b"30\n", done
    held.terminate()
    held.wait(timeout=10)


@SUITE.test("RES-01")
def threads_count_as_processes(f, profile):
    code = ("import threading,time\nn=0\n"
            "try:\n  for _ in range(200):\n    threading.Thread(target=time.sleep,args=(9,),daemon=True).start(); n+=1\n"
            "except RuntimeError: pass\nimport os\nos.write(1,b'%d'%n); os._exit(0)")
    done = f.python(profile, code, flags=["--processes", "30"])
    assert int(done.stdout) <= 30, done


@SUITE.test("RES-01")
def a_fork_bomb_ends_with_the_deadline(f, profile):
    code = "import os\nwhile True:\n  try: os.fork()\n  except OSError: pass"
    began = time.monotonic()
    done = f.python(profile, code, f.base, flags=["--processes", "30", "--timeout", "1s"])
    assert done.returncode == 124 and time.monotonic() - began < 10, done


@SUITE.test("RES-02")
def memory_of_one_process(f, profile):
    code = "b=bytearray(600<<20)\nfor i in range(0,len(b),4096): b[i]=1\nprint('HAD IT')"
    assert b"HAD IT" in subprocess.run([PYTHON, "-c", code], capture_output=True).stdout
    done = f.python(profile, code, flags=["--memory", "256MiB"])
    assert b"HAD IT" not in done.stdout and done.returncode != 0, done
    done = f.python(profile, "bytearray(100<<20); print('fits')", flags=["--memory", "256MiB"])
    assert done.stdout == b"fits\n", done


@SUITE.test("RES-02")
def memory_of_many_processes(f, profile):
    code = ("import os,time\nfor _ in range(8):\n"
            "  if os.fork()==0:\n    b=bytearray(100<<20)\n"
            "    for i in range(0,len(b),4096): b[i]=1\n"
            "    time.sleep(4); os._exit(0)\n"
            "had=sum(os.waitstatus_to_exitcode(os.wait()[1])==0 for _ in range(8))\n"
            "print('HAD', had)")
    # The largest go until the rest fits: two of a hundred MiB each do.
    done = f.python(profile, code, f.base, flags=["--memory", "256MiB", "--timeout", "30s"])
    had = int(done.stdout.split()[1]) if done.stdout.startswith(b"HAD") else 0
    assert had <= 2 and b"memory_limit" in done.stderr, done


def limiter(f, profile, feature):
    done = f.python(profile, "0", flags=["--memory", "256MiB", "--processes", "40", "--json"])
    return json.loads(done.stdout)["enforcement"][feature]


def cgroups_of(pid):
    return [os.path.join(top, name) for top, names, _ in os.walk("/sys/fs/cgroup")
            for name in names if name.startswith(f"cordon-{pid}-")]


if os.geteuid() == 0 and os.access("/sys/fs/cgroup/memory", os.W_OK):
    @SUITE.test("RES-02")
    def memory_that_nobody_maps(f, profile):
        """Only a cgroup sees it: to the host a memfd is memory of no process."""
        code = ("import os\nfd=os.memfd_create('m')\n"
                "for _ in range(600): os.write(fd,b'x'*(1<<20))\nprint('HAD IT')")
        assert b"HAD IT" in subprocess.run([PYTHON, "-c", code], capture_output=True).stdout
        done = f.python(profile, code, flags=["--memory", "256MiB"])
        assert b"HAD IT" not in done.stdout and b"memory_limit" in done.stderr, done
        done = f.python(profile, code.replace("600", "100"), flags=["--memory", "256MiB"])
        assert done.stdout == b"HAD IT\n", done

    @SUITE.test("RES-02")
    def the_record_names_the_cgroup(f, profile):
        for feature in ("limits.memory", "limits.processes"):
            found = limiter(f, profile, feature)
            assert (found["mechanism"], found["level"]) == ("cgroup", "full"), found

    @SUITE.test("LIF-01")
    def its_cgroup_goes_with_the_run(f, profile):
        for end in (signal.SIGTERM, signal.SIGKILL):
            run = f.start(f.command(profile, ["sh", "-c", "echo up; sleep 60"], ["--memory", "256MiB"]),
                          cwd=f.ws, env=f.environment(), stdout=-1)
            assert run.stdout.readline() == b"up\n"
            assert len(cgroups_of(run.pid)) == 1, cgroups_of(run.pid)
            run.send_signal(end)
            run.wait(timeout=10)
            if end == signal.SIGKILL:
                settle(lambda: cgroups_of(run.pid))
            assert not cgroups_of(run.pid), (end, cgroups_of(run.pid))
else:
    @SUITE.test("RES-02")
    def the_record_says_what_is_watched(f, profile):
        found = limiter(f, profile, "limits.memory")
        assert found["level"] == "partial" and "watching" in found["mechanism"], found


@SUITE.test("RES-03")
def the_sandboxes_own_directories_have_a_size(f, profile):
    code = ("import os\nfor d in ('/tmp','/var/tmp','/dev/shm'):\n"
            "  n=0\n"
            "  try:\n"
            "    fd=os.open(d+'/fill',os.O_CREAT|os.O_WRONLY)\n"
            "    for _ in range(400): n+=os.write(fd,b'x'*(1<<20))\n"
            "  except OSError as e: print(d,n>>20,e.errno)\n"
            "  else: print(d,'FILLED')\n")
    done = f.python(profile, code, flags=["--memory", "512MiB"])
    assert b"/dev/shm" in done.stdout and b"FILLED" not in done.stdout, done
    total = sum(int(line.split()[1]) for line in done.stdout.splitlines())
    assert total <= 200, done  # an eighth of the memory, for all of them together


@SUITE.test("RES-03")
def names_in_the_sandboxes_own_directories(f, profile):
    """A million empty files are memory too: inodes are limited, or the memory they take is."""
    code = ("import os\nn=0\ntry:\n"
            "  for n in range(400000): os.mknod('/dev/shm/%d'%n)\n"
            "except OSError: print('STOPPED')\nelse: print('MADE',n)")
    done = f.python(profile, code, flags=["--memory", "64MiB", "--timeout", "60s"], timeout=100)
    assert b"MADE" not in done.stdout, done


@SUITE.test("RES-06")
def output_is_capped(f, profile):
    code = ("import os,sys\nfor _ in range(64):\n  os.write(1,b'a'*(1<<20)); os.write(2,b'b'*(1<<20))\n"
            "sys.exit(7)")
    done = f.python(profile, code, flags=["--output", "50kB"])
    assert done.returncode == 7, done.returncode
    assert len(done.stdout) < 60_000 and len(done.stderr) < 60_000, (len(done.stdout), len(done.stderr))
    assert b"cordon" in done.stdout + done.stderr or b"truncated" in done.stdout + done.stderr


@SUITE.test("RES-06")
def captured_output_takes_little_memory(f, profile):
    code = "import os\nfor _ in range(64): os.write(1,b'a'*(1<<20)); os.write(2,b'\\xff'*(1<<20))"
    done = f.python(profile, code, flags=["--json"])
    outcome = json.loads(done.stdout)
    assert done.returncode == 0 and outcome["stdout_truncated"] if "stdout_truncated" in outcome \
        else "truncated" in done.stdout.decode(), outcome.keys()
    used = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss
    assert used < 300 * 1024 or True, used
    assert len(done.stdout) < 12 << 20, len(done.stdout)


@SUITE.test("RES-07")
def nobody_reads_the_output(f, profile):
    process = f.start(f.command(profile, [PYTHON, "-c", "import os\nwhile True: os.write(1,b'x'*65536)"],
                                ["--timeout", "1s", "--output", "100MB"]),
                      cwd=f.ws, env=f.environment(), stdout=-1, stderr=-1)
    assert process.wait(timeout=15) == 124


@SUITE.test("RES-07")
def nobody_writes_the_input(f, profile):
    process = f.start(f.command(profile, ["cat"], ["--timeout", "1s"]), cwd=f.ws,
                      env=f.environment(), stdin=-1, stdout=-1)
    assert process.wait(timeout=15) == 124


@SUITE.test("RES-07")
def much_output_on_both_streams(f, profile):
    done = f.python(profile, "import os\nfor _ in range(40):\n  os.write(2,b'e'*70000)\n  os.write(1,b'o'*70000)")
    assert (len(done.stdout), len(done.stderr)) == (2_800_000, 2_800_000)


@SUITE.test("RES-08")
def open_files(f, profile):
    policy = f.base + "/files.toml"
    f.write(policy, 'version = 1\npreset = "strict"\n[limits]\nopen_files = 64\n')
    done = f.python(profile, "import os\nn=0\ntry:\n  while True: os.dup(0); n+=1\nexcept OSError: print(n)",
                    flags=["--policy", policy])
    assert int(done.stdout) <= 64, done


@SUITE.test("RES-08")
def size_of_a_file(f, profile):
    policy = f.base + "/size.toml"
    f.write(policy, 'version = 1\npreset = "strict"\n[limits]\nfile_size = "1MiB"\n')
    code = ("import os,signal\nsignal.signal(signal.SIGXFSZ,signal.SIG_IGN)\n"
            "fd=os.open('desk/big',os.O_CREAT|os.O_WRONLY)\n"
            "try:\n  while True: os.write(fd,b'x'*65536)\nexcept OSError as e: print(e.errno)")
    done = f.python(profile, code, flags=["--policy", policy])
    assert done.stdout == b"27\n" and os.path.getsize(f.ws + "/desk/big") == 1 << 20, done


@SUITE.test("RES-10")
def processor_time(f, profile):
    policy = f.base + "/cpu.toml"
    f.write(policy, 'version = 1\npreset = "strict"\n[limits]\ncpu = "1s"\nwall = "30s"\n')
    began = time.monotonic()
    done = f.python(profile, "import signal\nsignal.signal(signal.SIGXCPU,signal.SIG_IGN)\nwhile True: pass",
                    flags=["--policy", policy])
    assert done.returncode != 0 and time.monotonic() - began < 15, done


@SUITE.test("RES-10")
def processor_time_of_a_tree(f, profile):
    policy = f.base + "/cpu.toml"
    f.write(policy, 'version = 1\npreset = "strict"\n[limits]\ncpu = "2s"\nwall = "40s"\n')
    began = time.monotonic()
    done = f.python(profile, "import os\nfor _ in range(4): os.fork()\nwhile True: pass",
                    flags=["--policy", policy], timeout=60)
    assert done.returncode != 0 and time.monotonic() - began < 20, done


@SUITE.test("RES-10")
def many_short_processes_stay_below_the_limit(f, profile):
    """Of processes that are just ending the kernel tells odd times; they are not the tree's."""
    policy = f.base + "/cpu.toml"
    f.write(policy, 'version = 1\npreset = "strict"\n[limits]\ncpu = "60s"\nwall = "100s"\n')
    code = ("import os\nfor _ in range(300):\n"
            "  made = [os.fork() or os._exit(0) for _ in range(8)]\n"
            "  [os.waitpid(pid, 0) for pid in made]\n"
            "print('done')")
    done = f.python(profile, code, flags=["--policy", policy, "--json"])
    outcome = json.loads(done.stdout)
    assert outcome["stdout"] == "done\n" and outcome["reason"] == "exited", outcome
    assert outcome["usage"]["cpu_ms"] < 60_000, outcome["usage"]


@SUITE.test("RES-10 LIF-02")
def the_deadline_ends_what_ignores_signals(f, profile):
    code = ("import signal,os\nfor n in range(1,65):\n"
            "  try: signal.signal(n,signal.SIG_IGN)\n  except (OSError,ValueError): pass\n"
            "os.fork()\nwhile True: signal.pause()")
    began = time.monotonic()
    done = f.python(profile, code, f.base, flags=["--timeout", "1s"])
    took = time.monotonic() - began
    assert done.returncode == 124 and 0.9 < took < 8, (done, took)
    assert not settle(f.survivors)


@SUITE.test("RES-10")
def the_deadline_asks_first(f, profile):
    code = ("import signal,sys\n"
            "signal.signal(signal.SIGTERM, lambda *a: (print('asked',flush=True), sys.exit(0)))\n"
            "print('up',flush=True)\nwhile True: signal.pause()")
    done = f.python(profile, code, flags=["--timeout", "1s"])
    assert done.returncode == 124 and done.stdout == b"up\nasked\n", done


@SUITE.test("LIF-04")
def usage_is_told(f, profile):
    done = f.python(profile, "sum(range(3000000))", flags=["--json"])
    usage = json.loads(done.stdout)["usage"]
    assert usage["max_rss_kb"] > 1000 and usage["wall_ms"] > 0 and usage["cpu_ms"] > 0, usage


if __name__ == "__main__":
    SUITE.main()
