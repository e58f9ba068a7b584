#!/usr/bin/python3
"""Environment and launch: nothing of the caller's travels in unasked, nothing is parsed twice."""
import os
import subprocess

from fixture import PYTHON, SECRET, Suite

SUITE = Suite("environment")
SECRETS = ("ANTHROPIC_API_KEY", "OPENAI_API_KEY", "AWS_SECRET_ACCESS_KEY", "GITHUB_TOKEN",
           "MY_CUSTOM_THING", "DB_PASSWORD", "HTTP_PROXY", "https_proxy", "NO_PROXY",
           "KUBECONFIG", "VAULT_TOKEN", "npm_config__auth")
DANGEROUS = ("LD_PRELOAD", "LD_LIBRARY_PATH", "LD_AUDIT", "PYTHONPATH", "PYTHONSTARTUP",
             "NODE_OPTIONS", "RUBYOPT", "PERL5OPT", "PERL5LIB", "BASH_ENV", "ENV", "GIT_SSH_COMMAND",
             "BASH_FUNC_ls%%", "GIT_CONFIG_COUNT", "SSH_AUTH_SOCK", "GLIBC_TUNABLES", "PS4",
             "SHELLOPTS", "GCONV_PATH", "JAVA_TOOL_OPTIONS", "DYLD_INSERT_LIBRARIES")


def seen_inside(done):
    return dict(line.split("=", 1) for line in done.stdout.decode().split("\0") if "=" in line)


@SUITE.test("ENV-01")
def nothing_is_inherited_unasked(f, profile):
    planted = {name: SECRET + name for name in SECRETS + DANGEROUS if name not in
               ("LD_PRELOAD", "LD_AUDIT", "GLIBC_TUNABLES")}
    outside = subprocess.run(["env", "-0"], env=planted | {"PATH": "/usr/bin"}, capture_output=True)
    assert seen_inside(outside).keys() >= planted.keys()
    done = f.run(profile, ["env", "-0"], env=planted)
    assert done.returncode == 0, done
    for name, value in seen_inside(done).items():
        assert SECRET not in value, name
        # Where there is a proxy, its variables are Cordon's own.
        assert name not in planted or "127.0.0.1" in value, (name, value)


@SUITE.test("ENV-01")
def dangerous_names_are_dropped_even_when_inherited(f, profile):
    policy = f.base + "/inherit.toml"
    f.write(policy, 'version = 1\npreset = "workspace"\n[env]\nmode = "inherit"\n')
    done = f.run(profile, ["env", "-0"], flags=["--policy", policy],
                 env={name: "/nowhere" for name in DANGEROUS if "LD_" not in name} | {"ORDINARY": "1"})
    seen = seen_inside(done)
    assert seen.get("ORDINARY") == "1", done
    passed = {name for name in set(DANGEROUS) & seen.keys() if "127.0.0.1" not in seen[name]}
    assert not passed, passed


@SUITE.test("ENV-01")
def what_is_asked_for_is_passed(f, profile):
    done = f.run(profile, ["env", "-0"], flags=["--env", "WANTED", "--env", "SET=a b=c\n"],
                 env={"WANTED": "yes"})
    seen = seen_inside(done)
    assert (seen.get("WANTED"), seen.get("SET")) == ("yes", "a b=c\n"), seen


@SUITE.test("PRC-01")
def nothing_in_the_environment_of_anyone_inside(f, profile):
    code = ("import os\nfor p in os.listdir('/proc'):\n"
            "  for n in ('environ','cmdline'):\n"
            "    try: print(p, n, open(f'/proc/{p}/{n}').read())\n"
            "    except OSError: pass\n")
    done = f.python(profile, code, env={"PLANTED": SECRET})
    assert SECRET.encode() not in done.stdout and b"cmdline" in done.stdout, done


@SUITE.test("ENV-01")
def no_secret_in_anyones_arguments(f, profile):
    """A value that is set on purpose shows in no command line of the host's either."""
    process = f.start([BIN_OF(f), "run", "--workspace", f.ws, "--preset", "strict", "--env", "TOKEN",
                       "--", "sh", "-c", "echo up; read x"], cwd=f.ws,
                      env=f.environment({"TOKEN": SECRET}), stdin=-1, stdout=-1)
    assert process.stdout.readline() == b"up\n"
    shown = subprocess.run(["ps", "-eo", "args"], capture_output=True).stdout
    assert b"cordon" in shown and SECRET.encode() not in shown
    process.communicate(b"\n", timeout=20)


def BIN_OF(f):
    return f.command("strict", [])[0]


@SUITE.test("ENV-02")
def no_program_of_the_workspaces_is_run_on_the_host(f, profile):
    for name in ("sh", "git", "bwrap", "newuidmap", "rg", "env", "true"):
        f.write(f"{f.ws}/bin/{name}", f"#!/bin/sh\ntouch {f.outside}/ran-{name}\nexec /bin/true\n", 0o755)
    done = f.run(profile, ["/bin/true"], env={"PATH": f"{f.ws}/bin:.:/usr/bin:/bin"})
    assert done.returncode == 0, done
    assert not [n for n in os.listdir(f.outside) if n.startswith("ran")]


@SUITE.test("ENV-02")
def relative_entries_of_path_are_not_searched(f, profile):
    f.write(f.ws + "/planted", "#!/bin/sh\necho PLANTED\n", 0o755)
    for path in (".:/usr/bin", ":/usr/bin", "/usr/bin:", "desk/..:/usr/bin"):
        done = f.run(profile, ["planted"], env={"PATH": path})
        assert done.returncode == 127 and b"PLANTED" not in done.stdout, (path, done)


@SUITE.test("ENV-03")
def arguments_arrive_as_they_are(f, profile):
    words = ["-", "--", "--help", "--json", "a b", "", "'\"$(id)`id`;|&", "x\ny", "*", "~", "$HOME",
             "\\", "--workspace=/", "é"]
    code = "import os,sys; os.write(1,b'\\0'.join(map(os.fsencode, sys.argv[1:])))"
    done = f.run(profile, [PYTHON, "-c", code, *words])
    assert done.stdout == b"\0".join(w.encode() for w in words), done
    done = f.run(profile, [PYTHON, "-c", code, b"\xff\xfe"])
    assert done.stdout == b"\xff\xfe", done


@SUITE.test("ENV-03")
def a_command_that_looks_like_an_option(f, profile):
    f.write(f.ws + "/desk/--help", "#!/bin/sh\necho ran \"$0\"\n", 0o755)
    done = f.run(profile, ["./--help"], cwd=f.ws + "/desk")
    assert done.stdout == b"ran ./--help\n", done


@SUITE.test("ENV-03")
def words_after_the_command_are_the_commands(f, profile):
    done = subprocess.run([BIN_OF(f), "run", "--preset", "strict", "--workspace", f.ws, "sh", "-c",
                           'echo "$@"', "sh", "--no-floor", "--preset", "rwx", "--write", "/"],
                          cwd=f.ws, env=f.environment(), capture_output=True)
    assert done.stdout == b"--no-floor --preset rwx --write /\n", done


@SUITE.test("ENV-04")
def temporary_directory_that_leads_elsewhere(f, profile):
    os.symlink(f.outside, f.base + "/tmp-link")
    before = f.state()
    done = f.run(profile, ["sh", "-c", "echo $TMPDIR; mktemp >/dev/null || true"],
                 env={"TMPDIR": f.base + "/tmp-link", "XDG_RUNTIME_DIR": f.base + "/tmp-link"})
    assert done.returncode == 0, done
    assert f.state() == before


@SUITE.test("ENV-04")
def a_home_that_is_odd(f, profile):
    for home in ("", "relative", "/nonexistent", f.base + "/policy.toml"):
        done = f.run(profile, ["sh", "-c", f"cat {f.ws}/.env; echo ran"], env={"HOME": home})
        assert SECRET.encode() not in done.stdout, (home, done)
        assert done.returncode in (0, 125), (home, done)


@SUITE.test("LIF-10")
def exit_statuses_are_the_commands(f, profile):
    for status in (0, 1, 2, 77, 124, 125, 126, 127, 128, 255):
        assert f.run(profile, ["sh", "-c", f"exit {status}"]).returncode == status
    assert f.run(profile, ["sh", "-c", "kill -SEGV $$"]).returncode == 128 + 11
    assert f.run(profile, ["no-such-program"]).returncode == 127
    assert f.run(profile, [f.ws + "/.git/config"]).returncode == 126


@SUITE.test("POL-05 POL-13")
def a_policy_that_cannot_be_read_stops_the_run(f, profile):
    for name, text in (("missing", None), ("empty", ""), ("broken", "version = "),
                       ("unknown", "version = 1\n[fs]\nreed = []\n")):
        policy = f"{f.base}/{name}.toml"
        if text is not None:
            f.write(policy, text)
        done = f.run(profile, ["sh", "-c", "echo RAN"], flags=["--policy", policy])
        if name != "empty":
            assert done.returncode == 125 and b"RAN" not in done.stdout, (name, done)


@SUITE.test("POL-07 POL-09")
def the_workspace_does_not_choose_its_policy(f, profile):
    f.write(f.ws + "/.cordon.toml", 'version = 1\n[fs]\nread = ["/"]\nwrite = ["/"]\n')
    done = f.run(profile, ["sh", "-c", f"echo x > {f.outside}/made; echo x > {f.home}/made"])
    assert not os.path.exists(f.outside + "/made") and not os.path.exists(f.home + "/made"), done
    os.unlink(f.ws + "/.cordon.toml")
    f.write(f.ws + "/mine.toml", 'version = 1\npreset = "rwx"\n')
    done = f.run(profile, ["sh", "-c", "echo RAN"], flags=["--policy", f.ws + "/mine.toml"])
    assert done.returncode == 125 and b"RAN" not in done.stdout, done


if __name__ == "__main__":
    SUITE.main()
