#!/usr/bin/python3
"""The mistakes of earlier sandboxes, one test each; README.md has the table."""
import json
import os
import shutil
import subprocess
import sys
import time

sys.path.insert(0, os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "escape"))
from fixture import PYTHON, SECRET, Suite, settle  # noqa: E402

ENGINE = os.path.join(os.path.dirname(os.path.dirname(os.path.abspath(__file__))), "no_namespaces.py")

SUITE = Suite("regressions")
GIT = ["git", "-c", "user.name=t", "-c", "user.email=t@example.com", "-c", "commit.gpgsign=false",
       "-c", "protocol.file.allow=always"]


def sh(f, profile, line, flags=(), **options):
    return f.run(profile, ["sh", "-c", line], flags=flags, **options)


def git(folder, *words):
    subprocess.run(GIT + ["-C", folder, *words], check=True, capture_output=True)


@SUITE.test("seed 1")
def seed_01_a_deny_inside_an_allow_holds(f, profile):
    f.write(f.ws + "/data/memory.db", SECRET)
    done = sh(f, profile, "cat data/memory.db; echo x >> data/memory.db; ls data; echo ok > other",
              ["--deny-read", f.ws + "/data"])
    with open(f.ws + "/data/memory.db") as file:
        assert file.read() == SECRET
    assert SECRET.encode() not in done.stdout and b"memory" not in done.stdout, done
    assert os.path.exists(f.ws + "/other"), done


@SUITE.test("seed 2, seed 5")
def seed_02_landlock_is_really_applied(f, profile):
    """What only Landlock refuses: opening a stream of the host's again for writing."""
    f.write(f.outside + "/feed", "feed", 0o666)
    with open(f.outside + "/feed") as feed:
        done = f.python(profile, "import os\nos.write(os.open('/proc/self/fd/0',os.O_WRONLY),b'OWNED')",
                        stdin=feed)
    with open(f.outside + "/feed") as feed:
        assert feed.read() == "feed" and done.returncode != 0, done
    outcome = json.loads(f.run(profile, ["true"], flags=["--json"]).stdout)
    assert "landlock" in json.dumps(outcome["enforcement"]), outcome


@SUITE.test("seed 3")
def seed_03_dev_null_can_be_written(f, profile):
    done = sh(f, profile, "echo x > /dev/null && echo x >> /dev/null && head -c 8 /dev/zero > /dev/null "
              "&& head -c 4 /dev/urandom > /dev/null && : < /dev/null && echo fine 2>/dev/null")
    assert done.stdout == b"fine\n" and done.returncode == 0, done


@SUITE.test("seed 4")
def seed_04_the_command_is_really_contained(f, profile):
    done = f.python(profile, "print(open('/proc/self/status').read())")
    assert b"Seccomp:\t2" in done.stdout and b"NoNewPrivs:\t1" in done.stdout, done
    done = sh(f, profile, f"echo x > {f.outside}/made")
    assert done.returncode != 0 and not os.path.exists(f.outside + "/made"), done


@SUITE.test("seed 7")
def seed_07_denied_paths_are_the_kernels_business(f, profile):
    f.write(f.ws + "/secrets/key.pem", SECRET)
    f.write(f.ws + "/deep/er/.env", SECRET)
    done = sh(f, profile, "cat secrets/key.pem deep/er/.env; cp -r deep copy; cat copy/er/.env; "
              "tar cf - . | tar tf -; " + PYTHON + " -c 'print(open(\"secrets/key.pem\").read())'",
              ["--deny-read", "secrets/*", "--deny-read", "**/.env"])
    assert SECRET.encode() not in done.stdout, done


@SUITE.test("seed 8")
def seed_08_excluded_commands_are_refused(f, profile):
    policy = f.base + "/excluded.toml"
    f.write(policy, 'version = 1\npreset = "strict"\n[exec]\nexcluded = ["docker"]\n')
    done = sh(f, profile, "echo RAN; docker ps", ["--policy", policy])
    assert done.returncode == 125 and b"RAN" not in done.stdout, done


@SUITE.test("seed 9")
def seed_09_the_exit_status_is_the_commands(f, profile):
    for status in (0, 3, 88, 255):
        assert sh(f, profile, f"exit {status}").returncode == status


@SUITE.test("seed 10")
def seed_10_no_port_is_open(f, profile):
    code = ("import socket\n"
            "for p in (53,80,443):\n"
            "  for kind in (socket.SOCK_STREAM,socket.SOCK_DGRAM):\n"
            "    s=socket.socket(socket.AF_INET,kind); s.settimeout(1)\n"
            "    try:\n"
            "      s.connect(('192.0.2.1',p)); s.send(b'GET / HTTP/1.0\\r\\n\\r\\n'); got=s.recv(4096)\n"
            "      ours=b'X-Cordon-Reason' in got or p==53 and got[3]&15\n"
            "      if got and not ours: print('OPEN',p,got)\n"
            "    except OSError: pass\n")
    assert f.python(profile, code).stdout == b""


@SUITE.test("seed 11")
def seed_11_the_environment_is_not_inherited(f, profile):
    done = f.run(profile, ["env"], env={"API_KEY": SECRET, "LD_LIBRARY_PATH": "/x"})
    assert SECRET.encode() not in done.stdout and b"LD_LIBRARY" not in done.stdout, done


@SUITE.test("seed 12")
def seed_12_what_cannot_be_enforced_is_refused(f, profile):
    """Where user namespaces cannot be made, a run that names them does not run at all; one that names
    nothing takes the next backend, and says so."""
    done = sh(f, profile, "echo RAN", ["--backend", "seatbelt"])
    assert done.returncode == 125 and b"RAN" not in done.stdout, done
    if os.geteuid() != 0:  # root first becomes someone else, and no_new_privs is no hindrance there
        # As in a container, whose engine lets nobody make namespaces.
        def run(*flags):
            return subprocess.run([PYTHON, ENGINE, "--", *f.command(profile, ["echo", "RAN"], [*flags])], cwd=f.ws,
                                  env=f.environment(), capture_output=True)
        done = run()
        assert done.returncode == 0 and b"RAN" in done.stdout and b"backend landlock" in done.stderr, done
        done = run("--require", "pid")
        assert done.returncode == 125 and b"RAN" not in done.stdout, done
        done = run("--backend", "namespaces")
        assert done.returncode == 125 and b"RAN" not in done.stdout and b"namespace" in done.stderr, done


@SUITE.test("seed 13")
def seed_13_secrets_are_in_nobodys_arguments(f, profile):
    process = f.start(f.command(profile, ["sh", "-c", "echo up; read x"], ["--env", "TOKEN"]),
                      cwd=f.ws, env=f.environment({"TOKEN": SECRET}), stdin=-1, stdout=-1)
    assert process.stdout.readline() == b"up\n"
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{pid}/cmdline", "rb") as file:
                assert SECRET.encode() not in file.read(), pid
        except OSError:
            pass
    process.communicate(b"\n", timeout=20)


@SUITE.test("seed 14")
def seed_14_the_floor_is_last(f, profile):
    """Whatever is granted, also below a protected path or by its exact name."""
    f.write(f.ws + "/.vscode/tasks.json", "{}")
    for grant in (f.ws, f.ws + "/.git", f.ws + "/.git/hooks", f.ws + "/.git/config", f.ws + "/.vscode"):
        done = sh(f, profile, "echo x >> .git/config; echo x > .git/hooks/pre-commit; "
                  "echo x > .vscode/tasks.json; echo x > .vscode/new", ["--write", grant])
        with open(f.ws + "/.git/config") as file:
            assert "x\n" not in file.read(), (grant, done)
        assert os.listdir(f.ws + "/.git/hooks") == ["pre-commit.sample"], (grant, done)
        assert os.listdir(f.ws + "/.vscode") == ["tasks.json"], (grant, done)


@SUITE.test("seed 15")
def seed_15_order_in_the_policy_means_nothing(f, profile):
    f.write(f.ws + "/a/b/secret", SECRET)
    f.write(f.ws + "/a/b/open", "open")
    rules = [["--deny-read", f.ws + "/a/b/secret"], ["--deny-write", f.ws + "/a/b"],
             ["--deny-read", f.ws + "/a/b/open"], ["--write", f.ws + "/a"], ["--read", f.ws + "/a/b"]]
    for number in range(len(rules)):
        flags = sum(rules[number:] + rules[:number], [])
        done = sh(f, profile, "cat a/b/secret a/b/open; echo x > a/b/new; echo x > a/new", flags)
        assert done.stdout == b"" and not os.path.exists(f.ws + "/a/b/new"), (flags, done)
        assert os.path.exists(f.ws + "/a/new"), (flags, done)
        os.unlink(f.ws + "/a/new")


@SUITE.test("seed 16")
def seed_16_the_parent_of_a_protected_path_stays(f, profile):
    done = sh(f, profile, "mv .git g2; mkdir -p .git/hooks; echo evil > .git/hooks/pre-commit")
    assert os.listdir(f.ws + "/.git/hooks") == ["pre-commit.sample"], done
    assert not os.path.exists(f.ws + "/g2"), done


@SUITE.test("seed 17")
def seed_17_linked_worktrees_are_protected(f, profile):
    if not shutil.which("git"):
        return
    shutil.rmtree(f.ws)
    main = f.base + "/main"
    os.mkdir(main)
    git(f.base, "init", "-q", main)
    f.write(main + "/file", "1")
    git(main, "add", "file")
    git(main, "commit", "-qm", "1")
    git(main, "worktree", "add", "-q", f.ws)
    f.write(f.ws + "/.env", SECRET)
    done = sh(f, profile, "git status --short >/dev/null && echo 2 > file && git add file && "
              "git -c user.name=t -c user.email=t@x commit -qm 2 && git log --oneline | wc -l; "
              "git config core.fsmonitor evil; echo x > $(git rev-parse --git-common-dir)/hooks/pre-commit; "
              "echo gitdir: /tmp > .git")
    assert done.stdout.strip() == b"2", done
    with open(main + "/.git/config") as file:
        assert "evil" not in file.read()
    assert not os.path.exists(main + "/.git/hooks/pre-commit")
    with open(f.ws + "/.git") as file:
        assert "worktrees" in file.read()


@SUITE.test("seed 17")
def seed_17_a_plain_directory_stays_plain(f, profile):
    shutil.rmtree(f.ws + "/.git")
    done = sh(f, profile, "ls -A .git; echo x > made; git init -q . && git add made && echo inited")
    assert b"inited" in done.stdout or not shutil.which("git"), done
    shutil.rmtree(f.ws + "/.git", ignore_errors=True)
    before = sorted(os.listdir(f.ws))
    assert sh(f, profile, "true").returncode == 0
    assert sorted(os.listdir(f.ws)) == before


@SUITE.test("seed 18")
def seed_18_a_file_can_be_masked(f, profile):
    f.write(f.ws + "/token", SECRET)
    done = sh(f, profile, "cat token; echo $?; echo x > token; ls token", ["--deny-read", f.ws + "/token"])
    assert SECRET.encode() not in done.stdout and b"token" in done.stdout, done
    with open(f.ws + "/token") as file:
        assert file.read() == SECRET


@SUITE.test("seed 19")
def seed_19_processes_of_the_host_are_not_there(f, profile):
    done = f.python(profile, "import os\nprint(sorted(int(p) for p in os.listdir('/proc') if p.isdigit()))")
    assert done.stdout == b"[1, 2]\n", done


@SUITE.test("seed 20")
def seed_20_the_command_dies_with_its_supervisor(f, profile):
    process = f.start(f.command(profile, ["sh", "-c", "setsid sleep 60 & echo up; sleep 60", f.base + "/x"]),
                      cwd=f.ws, env=f.environment(), stdout=-1)
    assert process.stdout.readline() == b"up\n"
    process.kill()
    process.wait()
    assert not settle(f.survivors)
    done = f.python(profile, "import os\nprint(os.getsid(0)==os.getpid())")
    assert done.stdout == b"True\n", done


@SUITE.test("seed 21")
def seed_21_odd_names_do_not_open_the_sandbox(f, profile):
    for name in ('a"b', "a(b)", "a\\b", "a\nb", "a b", "a'b", "[a]*?", "~", "$HOME", "-rf", "é",
                 b"\xff\xfe".decode("utf-8", "surrogateescape")):
        odd = f"{f.base}/odd/{name}"
        f.repository(odd)
        f.write(odd + "/.env", SECRET)
        done = subprocess.run(
            [f.command(profile, [])[0], "run", "--preset", "strict", "--workspace", odd, "--deny-read",
             "**/.env", "--", "sh", "-c",
             f"cat .env; echo x > .mcp.json; echo x >> .git/config; echo x > {f.outside}/made; "
             "echo ok > made"], cwd=odd, env=f.environment(), capture_output=True)
        assert done.returncode == 0 and SECRET.encode() not in done.stdout, (name, done)
        assert os.path.exists(odd + "/made") and not os.path.exists(odd + "/.mcp.json"), (name, done)
        assert not os.path.exists(f.outside + "/made"), name
        with open(odd + "/.git/config") as file:
            assert "x\n" not in file.read(), name


@SUITE.test("seed 22")
def seed_22_an_unsupported_network_is_refused(f, profile):
    done = sh(f, profile, "echo RAN", ["--net", "proxy", "--allow-domain", "example.com"])
    assert done.returncode == 0 or (done.returncode == 125 and b"RAN" not in done.stdout), done


@SUITE.test("seed 24")
def seed_24_limits_stop_forks_and_let_address_space_be(f, profile):
    bomb = "import os\nfor _ in range(9):\n  try: os.fork()\n  except OSError: pass\nimport time; time.sleep(0.5)"
    began = time.monotonic()
    done = f.python(profile, bomb, f.base, flags=["--processes", "50", "--timeout", "10s"])
    assert done.returncode == 0 and time.monotonic() - began < 10, done
    # Reserving much and using little is what node and Go do.
    done = f.python(profile, "import mmap\nm=mmap.mmap(-1,4<<30,flags=mmap.MAP_PRIVATE|0x4000,"
                    "prot=mmap.PROT_READ)\nprint('reserved')", flags=["--memory", "512MiB"])
    assert done.stdout == b"reserved\n", done
    if shutil.which("node"):
        done = f.run(profile, ["node", "-e", "console.log(1+1)"], flags=["--memory", "1GiB"])
        assert done.stdout == b"2\n" or done.returncode in (126, 127), done


@SUITE.test("seed 25")
def seed_25_processes_of_the_user_do_not_count(f, profile):
    others = [f.start(["sleep", "30"]) for _ in range(40)]
    done = sh(f, profile, "for i in 1 2 3 4 5; do sleep 0.1 & done; wait; echo fine", ["--processes", "20"])
    assert done.stdout == b"fine\n", done
    for process in others:
        process.kill()


if __name__ == "__main__":
    SUITE.main()
