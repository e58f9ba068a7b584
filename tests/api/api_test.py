#!/usr/bin/python3
"""The calls of cordon/runtime.h and cordon/policy_builder.h, from a program that is linked with the library."""
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import contained  # noqa: E402
from contained import case, expect  # noqa: E402

AGENT = os.path.join(os.environ["CORDON_BUILD_DIR"], "tests/agent_example")
SECRET = "the-secret"


def agent(place, *words):
    return subprocess.run([AGENT, words[0], place.ws, *words[1:]], cwd=place.ws,
                          env=place.env | {"CORDON_BIN": contained.BIN}, text=True, capture_output=True,
                          stdin=subprocess.DEVNULL, timeout=120, check=False)


def ordinary():
    if os.geteuid() == 0:
        raise contained.Skipped("a process of root's is not confined; the twin runs it")


@case
def dependencies_are_reported(place):
    done = agent(place, "dependencies")
    lines = done.stdout.splitlines()
    expect(done.returncode == 0 and lines[0] == "namespaces 1 1 1", "it is available", done)
    expect("none 1" in lines and any(line.startswith("bubblewrap ") for line in lines), "the table", done)


@case
def a_wrapped_command_is_contained(place):
    hidden = place.write(os.path.join(place.top, "hidden"), SECRET)
    done = agent(place, "wrap", "sh", "-c", f"echo $TOKEN; echo x > made; env | grep -c CORDON_POLICY; cat {hidden}")
    expect(done.stdout == "value\n0\n" and done.returncode != 0, "inside", done)
    expect(place.read("made") == "x\n", "the workspace is writable")


@case
def a_protected_command_keeps_from_the_data_directory(place):
    data = os.path.join(place.home, ".agent")
    place.write(os.path.join(data, "data/memory.db"), SECRET)
    place.write(os.path.join(data, "config.toml"), SECRET)
    place.write(os.path.join(data, "workspace/notes"), "fine")
    done = agent(place, "protect", data, "sh", "-c",
                 f"cat {data}/workspace/notes; cat {data}/data/memory.db {data}/config.toml; echo x > {data}/config.toml; "
                 f"echo x > /usr/bin/cordon-test; echo y > {data}/workspace/notes; echo ran")
    expect(done.stdout == "fineran\n", "what is denied", done)
    expect(place.read(os.path.join(data, "config.toml")) == SECRET and not os.path.exists("/usr/bin/cordon-test"),
           "nothing changed")
    expect(place.read(os.path.join(data, "workspace/notes")) == "y\n", "the rest is writable")


@case
def a_line_runs_inside(place):
    hidden = place.write(os.path.join(place.top, "hidden"), SECRET)
    for line in (f"cat {hidden}", f"id; cat {hidden}", f"id $(cat {hidden})", f"id | cat {hidden}",
                 f"id > /dev/null; cat {hidden}", f"LC_ALL=C id; cat {hidden}", f'"$X"id & cat {hidden}',
                 f"git status; cat {hidden}", f"git log; cat {hidden}", f"./id; cat {hidden}"):
        done = agent(place, "transform", line)
        expect(done.stdout.startswith("inside\n") and SECRET not in done.stdout, line, done)


@case
def an_excluded_command_runs_outside(place):
    done = agent(place, "transform", "id -u")
    expect(done.stdout == f"outside\n{os.geteuid()}\n", "a simple command", done)
    done = agent(place, "transform", "id -u > made")
    expect(done.stdout.startswith("inside\n"), "with a redirection it stays inside", done)


@case
def who_asks_to_run_outside_needs_permission(place):
    hidden = place.write(os.path.join(place.top, "hidden"), SECRET)
    done = agent(place, "bypass", f"cat {hidden}; true")
    expect(done.stdout == f"outside\n{SECRET}", "it is allowed", done)
    done = agent(place, "denied")
    expect(done.stdout.startswith("inside\nerror exec_denied"), "it is not", done)


@case
def nothing_is_asked_only_where_all_is_enforced(place):
    # For root's own process a plan is one of uid 0, which is partial.
    full = "0 0\n" if os.geteuid() == 0 else "1 0\n"
    expect(agent(place, "auto-allow", "none").stdout == full, "full; an excluded command is outside")
    expect(agent(place, "auto-allow", "open").stdout == "0 0\n", "an open network is not contained")


@case
def variables_that_are_chosen(place):
    done = agent(place, "environment")
    names = dict(line.split("=", 1) for line in done.stdout.splitlines())
    expect(names["MINE"] == "1" and names["http_proxy"].startswith("http://127.0.0.1:") and "HOME" not in
           [name for name in names if names[name] == place.home], "these", done)


@case
def a_process_confines_itself(place):
    ordinary()
    place.write(os.path.join(place.outside, "secret"), SECRET)
    done = agent(place, "confine", place.outside, "refuse")
    expect(done.stdout.splitlines() == [
        "read outside: Permission denied", "write outside: Permission denied", "write inside: yes", "read usr: yes",
        "socket: Address family not supported by protocol", "child: denied"], "confined", done)


@case
def what_a_process_cannot_do_to_itself_is_refused(place):
    ordinary()
    place.write(os.path.join(place.outside, "secret"), SECRET)
    done = agent(place, "confine", place.outside, "thread")
    expect("error unsupported: more than one thread" in done.stdout, "threads", done)
    place.write("denied", SECRET)
    done = agent(place, "confine", place.outside, "refuse")
    expect("error unsupported" in done.stdout and "denied" in done.stdout, "a hole", done)
    done = agent(place, "confine", place.outside, "warn")
    expect("write inside: yes" in done.stdout and "read outside: Permission denied" in done.stdout, "less", done)


if __name__ == "__main__":
    sys.exit(contained.main("api"))
