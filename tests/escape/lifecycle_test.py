#!/usr/bin/python3
"""Lifecycle: nothing outlives the run, whatever ends it, and the command cannot touch its keeper."""
import os
import random
import signal
import subprocess
import time

from fixture import PYTHON, Suite, settle

SUITE = Suite("lifecycle")
DAEMON = ("import os,signal,sys,time\n"
          "for n in set(range(1,65))-{signal.SIGCHLD}:\n"
          "  try: signal.signal(n,signal.SIG_IGN)\n  except (OSError,ValueError): pass\n"
          "if os.fork()==0:\n"
          "  os.setsid()\n"
          "  if os.fork()==0:\n"
          "    for fd in range(3): os.close(fd)\n"
          "    time.sleep(60)\n"
          "  os._exit(0)\n"
          "os.wait(); print('gone',flush=True)\n")


@SUITE.test("LIF-01")
def a_daemon_dies_with_the_run(f, profile):
    outside = subprocess.Popen([PYTHON, "-c", DAEMON, f.base + "/control-tag"], stdout=-1)
    outside.communicate(timeout=20)
    left = f.survivors(f.base + "/control-tag")
    assert left, "the daemon does not daemonize"
    for pid in left:
        os.kill(pid, signal.SIGKILL)
    done = f.python(profile, DAEMON, f.base + "/tag")
    assert done.stdout == b"gone\n", done
    assert not settle(f.survivors, 1.0)


@SUITE.test("LIF-03")
def the_supervisor_is_out_of_reach(f, profile):
    code = ("import os,signal\n"
            "for pid in [os.getppid(),1,0,-1]+list(range(2,40)):\n"
            "  if pid in (0,os.getpid(),-1): continue\n"
            "  for n in (signal.SIGSTOP,signal.SIGKILL):\n"
            "    try: os.kill(pid,n)\n    except OSError: pass\n"
            "print('still here',flush=True)\n")
    done = f.python(profile, code)
    assert done.stdout == b"still here\n" and done.returncode == 0, done


@SUITE.test("LIF-03")
def killing_everyone_is_killing_oneself(f, profile):
    began = time.monotonic()
    done = f.python(profile, "import os,time\nif os.fork()==0: os.kill(-1,9)\ntime.sleep(30)")
    assert done.returncode == 128 + 9 and time.monotonic() - began < 10, done


@SUITE.test("LIF-04")
def a_child_that_keeps_the_streams(f, profile):
    began = time.monotonic()
    done = f.run(profile, ["sh", "-c", "sleep 30 & echo done", f.base])
    assert done.stdout == b"done\n" and time.monotonic() - began < 10, done


@SUITE.test("LIF-05")
def orphans_are_reaped(f, profile):
    code = ("import os,time\nfor _ in range(300):\n"
            "  if os.fork()==0:\n    os.fork(); os._exit(0)\n"
            "for _ in range(300): os.wait()\n"
            "for _ in range(100):\n"
            "  left=[p for p in os.listdir('/proc') if p.isdigit() and int(p) not in (1,os.getpid())]\n"
            "  if not left: break\n  time.sleep(0.05)\n"
            "print(len(left))")
    done = f.python(profile, code)
    assert done.stdout == b"0\n", done


@SUITE.test("LIF-06")
def a_storm_of_forks_is_ended(f, profile):
    code = ("import os\n"
            "def storm():\n"
            "  while True:\n"
            "    try: pid=os.fork()\n    except OSError: continue\n"
            "    if pid==0: os.setsid()\n"
            "    else: os._exit(0)\n"
            "for _ in range(20):\n  if os.fork()==0: storm()\n"
            "import time; time.sleep(0.3)\n")
    done = f.python(profile, code, f.base + "/storm", flags=["--processes", "100"])
    assert done.returncode == 0, done
    assert not settle(f.survivors, 1.0)


@SUITE.test("LIF-09 FSW-20")
def killing_the_supervisor_at_any_moment(f, profile):
    """The long version, with 300 kills, is a soak test."""
    before = f.state()
    random.seed(int(os.environ.get("CORDON_SEED", "7")))
    delays = [random.uniform(0, 0.05) for _ in range(25)]
    for delay in delays:
        process = subprocess.Popen(f.command(profile, [PYTHON, "-c", "import time; time.sleep(60)",
                                                       f.base + "/kill"]),
                                   cwd=f.ws, env=f.environment(), stdout=-3, stderr=-3, stdin=-3)
        time.sleep(delay)
        process.kill()
        process.wait()
    left = settle(f.survivors)
    assert not left, left
    assert f.state() == before
    assert f.run(profile, ["true"]).returncode == 0


@SUITE.test("LIF-12")
def signals_to_the_supervisor_end_the_command(f, profile):
    for number in (signal.SIGTERM, signal.SIGHUP, signal.SIGINT):
        process = f.start(f.command(profile, ["sh", "-c", "echo up; exec sleep 60", f.base]), cwd=f.ws,
                          env=f.environment(), stdout=-1, start_new_session=True)
        assert process.stdout.readline() == b"up\n"
        process.send_signal(number)
        assert process.wait(timeout=10) == 128 + number, (number, process.returncode)
        f.processes.remove(process)
    assert not settle(f.survivors)


@SUITE.test("LIF-12")
def the_command_handles_a_signal_itself(f, profile):
    code = ("import signal,sys\nsignal.signal(signal.SIGINT, lambda *a: sys.exit(3))\n"
            "print('up',flush=True)\nsignal.pause()")
    process = f.start(f.command(profile, [PYTHON, "-c", code]), cwd=f.ws, env=f.environment(),
                      stdout=-1, start_new_session=True)
    assert process.stdout.readline() == b"up\n"
    process.send_signal(signal.SIGINT)
    assert process.wait(timeout=10) == 3, process.returncode


@SUITE.test("LIF-12")
def closed_standard_streams(f, profile):
    for closed in ("0<&-", "1>&-", "2>&-", "0<&- 1>&- 2>&-"):
        words = " ".join(f"'{w}'" for w in f.command(profile, ["sh", "-c", "echo x > desk/ran"]))
        done = subprocess.run(["sh", "-c", f"{words} {closed}"], cwd=f.ws, env=f.environment(),
                              timeout=20)
        ran = os.path.exists(f.ws + "/desk/ran")
        assert (done.returncode == 0) == ran, (closed, done)
        assert done.returncode in (0, 125), (closed, done)
        if ran:
            os.unlink(f.ws + "/desk/ran")


@SUITE.test("LIF-12")
def the_command_does_not_stop_the_supervisor(f, profile):
    process = f.start(f.command(profile, ["sh", "-c", "kill -STOP $$"], ["--timeout", "1s"]), cwd=f.ws,
                      env=f.environment(), stdout=-1)
    assert process.wait(timeout=15) == 124


@SUITE.test("LIF-09")
def many_at_once_in_one_workspace(f, profile):
    words = f.command(profile, ["sh", "-c", "echo $0; exit $0"])
    running = [subprocess.Popen(words + [str(n % 7)], cwd=f.ws, env=f.environment(), stdout=-1)
               for n in range(16)]
    for number, process in enumerate(running):
        out, _ = process.communicate(timeout=60)
        assert (out, process.returncode) == (b"%d\n" % (number % 7), number % 7)


if __name__ == "__main__":
    SUITE.main()
