#!/usr/bin/python3
"""Terminal: the caller's is out of reach, and what stands in for it behaves like one."""
import fcntl
import os
import pty
import select
import signal
import struct
import termios
import time

from fixture import PYTHON, Suite

SUITE = Suite("terminal")
INJECT = ("import fcntl,os,sys\n"
          "def push(fd, request):\n"
          "  for byte in b'INJECTED\\n': fcntl.ioctl(fd, request, bytes([byte]))\n"
          "got=[]\n"
          "names=[0,1,2,'/dev/tty','/dev/console','/dev/stdin']+['/dev/pts/%d'%n for n in range(9)]\n"
          "for name in names:\n"
          "  try: fd=name if isinstance(name,int) else os.open(name, os.O_RDWR|os.O_NOCTTY)\n"
          "  except OSError: continue\n"
          "  for request in sys.argv[1:]:\n"
          "    try: push(fd, int(request, 0)); got.append((name, request))\n"
          "    except (OSError, OverflowError): pass\n"
          "print('GOT', got)\n")
# fcntl.ioctl cuts the request to 32 bits, so that the kernel sees what it would see anyway.
RAW = ("import ctypes,os,sys\n"
       "libc=ctypes.CDLL(None,use_errno=True)\n"
       "number=16 if os.uname().machine=='x86_64' else 29\n"
       "got=[]\n"
       "for fd in (0,1,2):\n"
       "  for high in (0, 1<<32, 0xffffffff<<32, 1<<63):\n"
       "    for low in (0x5412,0x541c,0x541d):\n"
       "      byte=ctypes.create_string_buffer(b'\\6X')\n"
       "      r=libc.syscall(ctypes.c_long(number),ctypes.c_long(fd),ctypes.c_ulong(high|low),byte)\n"
       "      if r>=0 or ctypes.get_errno() not in (1,): got.append((fd,hex(high|low),ctypes.get_errno()))\n"
       "print('GOT', got)\n")


class Session:
    """A command with a terminal of its own as its controlling one, as a shell has it."""

    def __init__(self, f, command, env=None):
        self.master, self.slave = pty.openpty()
        fcntl.ioctl(self.slave, termios.TIOCSWINSZ, struct.pack("HHHH", 33, 77, 0, 0))
        mode = termios.tcgetattr(self.slave)
        mode[3] &= ~termios.ECHO
        termios.tcsetattr(self.slave, termios.TCSANOW, mode)
        self.before = termios.tcgetattr(self.slave)

        def own():
            os.setsid()
            fcntl.ioctl(self.slave, termios.TIOCSCTTY, 0)
        self.process = f.start(command, stdin=self.slave, stdout=self.slave, stderr=self.slave,
                               cwd=f.ws, env=f.environment(env), preexec_fn=own)
        self.output = b""

    def read_until(self, text, seconds=20):
        end = time.monotonic() + seconds
        while text not in self.output and time.monotonic() < end:
            if select.select([self.master], [], [], 0.1)[0]:
                try:
                    self.output += os.read(self.master, 65536)
                except OSError:
                    break
            elif self.process.poll() is not None:
                break
        return text in self.output

    def finish(self, seconds=20):
        end = time.monotonic() + seconds
        while self.process.poll() is None and time.monotonic() < end:
            self.read_until(b"\0never", 0.2)
        self.read_until(b"\0never", 0.2)
        assert self.process.poll() is not None, ("hangs", self.output)
        return self.process.returncode

    def pending_input(self):
        """What is waiting in the caller's terminal to be read as if typed."""
        flags = fcntl.fcntl(self.slave, fcntl.F_GETFL)
        fcntl.fcntl(self.slave, fcntl.F_SETFL, flags | os.O_NONBLOCK)
        try:
            return os.read(self.slave, 4096)
        except OSError:
            return b""

    def close(self):
        os.close(self.master)
        os.close(self.slave)


def legacy_injection():
    """Whether this kernel lets anyone inject, so that there is something to show."""
    try:
        with open("/proc/sys/dev/tty/legacy_tiocsti") as file:
            return file.read().strip() == "1"
    except OSError:
        return True


@SUITE.test("TTY-01")
def nothing_is_typed_into_the_callers_terminal(f, profile):
    requests = ["0x5412", "0x80005412"]
    session = Session(f, [PYTHON, "-c", INJECT, "0x5412"])
    session.finish()
    if legacy_injection():
        assert b"INJECTED" in session.pending_input(), ("control", session.output)
    session.close()
    session = Session(f, f.command(profile, [PYTHON, "-c", INJECT, *requests]))
    session.finish()
    assert b"GOT []" in session.output, session.output
    assert b"INJECTED" not in session.pending_input()
    session.close()


@SUITE.test("TTY-01 TTY-02")
def whatever_the_upper_bits_say(f, profile):
    session = Session(f, f.command(profile, [PYTHON, "-c", RAW]))
    session.finish()
    assert b"GOT []" in session.output, session.output
    session.close()


@SUITE.test("TTY-02")
def terminals_of_others_are_not_there(f, profile):
    master, slave = pty.openpty()
    code = ("import os,sys\n"
            "print('PTS', sorted(os.listdir('/dev/pts')))\n"
            "for n in os.listdir('/dev/pts'):\n"
            "  if n.isdigit() and not os.path.samefile('/dev/pts/'+n, '/proc/self/fd/0'):\n"
            "    try: os.write(os.open('/dev/pts/'+n, os.O_RDWR|os.O_NOCTTY), b'HELLO')\n"
            "    except OSError: pass\n")
    session = Session(f, f.command(profile, [PYTHON, "-c", code]))
    session.finish()
    assert b"PTS ['0', 'ptmx']" in session.output, session.output
    assert not select.select([master], [], [], 0.1)[0]
    session.close()
    os.close(master)
    os.close(slave)


@SUITE.test("TTY-02")
def no_controlling_terminal_of_the_callers(f, profile):
    code = "import os\ntry: os.open('/dev/tty',os.O_RDWR); print('OPEN')\nexcept OSError: print('NONE')"
    session = Session(f, [PYTHON, "-c", code])
    session.finish()
    assert b"OPEN" in session.output, session.output
    session.close()
    session = Session(f, f.command(profile, [PYTHON, "-c", code]))
    session.finish()
    assert b"NONE" in session.output, session.output
    session.close()


@SUITE.test("TTY-02")
def a_master_is_not_taken_from_the_host(f, profile):
    """/dev/ptmx gives terminals of the sandbox's own devpts only."""
    done = f.python(profile, "import os,pty\nm,s=pty.openpty()\nprint(os.ttyname(s))\n"
                    "os.write(s,b'x'); assert os.read(m,1)==b'x'")
    assert done.returncode == 0 and done.stdout.startswith(b"/dev/pts/"), done


@SUITE.test("TTY-05")
def a_terminal_of_the_callers_size(f, profile):
    session = Session(f, f.command(profile, [PYTHON, "-c", (
        "import os,sys,signal\n"
        "signal.signal(signal.SIGWINCH,\n"
        "  lambda *a: os.write(1, b'SIZE %a' % (tuple(os.get_terminal_size()),)))\n"
        "print('TTY', [os.isatty(n) for n in range(3)], tuple(os.get_terminal_size()), flush=True)\n"
        "sys.stdin.readline()\nprint('END')")]))
    assert session.read_until(b"TTY [True, True, True] (77, 33)"), session.output
    fcntl.ioctl(session.slave, termios.TIOCSWINSZ, struct.pack("HHHH", 44, 88, 0, 0))
    os.kill(session.process.pid, signal.SIGWINCH)
    assert session.read_until(b"SIZE (88, 44)"), session.output
    os.write(session.master, b"\n")
    assert session.read_until(b"END"), session.output
    session.finish()
    session.close()


@SUITE.test("TTY-05")
def interrupting_ends_the_command(f, profile):
    session = Session(f, f.command(profile, ["sh", "-c", "echo up; exec sleep 60"]))
    assert session.read_until(b"up"), session.output
    os.write(session.master, b"\3")
    assert session.finish(10) == 128 + signal.SIGINT, (session.process.returncode, session.output)
    session.close()


@SUITE.test("TTY-05")
def the_callers_terminal_is_as_it_was(f, profile):
    session = Session(f, f.command(profile, ["sh", "-c", "stty raw -echo; echo done"]))
    session.finish()
    assert termios.tcgetattr(session.slave) == session.before
    session.close()


@SUITE.test("TTY-05")
def the_terminal_is_restored_after_a_signal(f, profile):
    session = Session(f, f.command(profile, ["sh", "-c", "echo up; exec sleep 60"]))
    assert session.read_until(b"up"), session.output
    session.process.terminate()
    session.finish(10)
    assert termios.tcgetattr(session.slave) == session.before
    session.close()


@SUITE.test("TTY-03")
def what_cordon_prints_cannot_steer_the_terminal(f, profile):
    evil = "x\x1b]52;c;aGk=\x07\x1b[31m"
    done = f.run(profile, [evil])
    assert b"\x1b" not in done.stderr and done.returncode == 127, done
    done = f.run(profile, ["true"], flags=["--read", "/nonexistent/" + evil])
    assert b"\x1b" not in done.stderr and done.returncode == 125, done


if __name__ == "__main__":
    SUITE.main()
