#!/usr/bin/python3
"""An agent's session through MCP, as a script: look around, edit, compile, test,
commit; and the attacks of an agent that was talked into them, through the same tools."""
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
from client import Client, expect  # noqa: E402
from contained import case, main, need  # noqa: E402

PROGRAM = """#include <stdio.h>
int add(int a, int b) { return a - b; }
int main(void) { printf("%d\\n", add(2, 3)); return 0; }
"""


def project(at):
    at.write("add.c", PROGRAM)
    at.write("Makefile", "add: add.c\n\tcc -o add add.c\ncheck: add\n\ttest \"$$(./add)\" = 5\n")
    at.write(".gitignore", "add\n")
    at.outside_sh("git init -q . && git add -A && git commit -qm begin")


@case
def list_edit_compile_test_commit(at):
    need("git", "cc", "make")
    project(at)
    client = Client(at)
    names = [e["name"] for e in client.call("list_dir", {})["structuredContent"]["entries"]]
    expect(names == [".git", ".gitignore", "Makefile", "add.c"], names)
    found = client.call("grep", {"pattern": r"return a - b"})["structuredContent"]["matches"]
    expect([(m["path"], m["line"]) for m in found] == [("add.c", 2)], found)
    expect("int add" in client.call("read_file", {"path": "add.c"})["content"][0]["text"], "read_file")
    failed = client.call("shell", {"command": "make check"})["structuredContent"]
    expect(failed["exit_code"] == 2, failed)
    client.call("edit_file", {"path": "add.c", "old_text": "a - b", "new_text": "a + b"})
    passed = client.call("shell", {"command": "make check"})["structuredContent"]
    expect(passed["exit_code"] == 0, passed)
    done = client.call("exec", {"program": "git", "args": ["commit", "-qam", "fix: add adds"]})
    expect(done["structuredContent"]["exit_code"] == 0, done)
    expect(client.close() == 0, "status")
    expect(at.outside_sh("git log --format=%s") == "fix: add adds\nbegin\n", "the log")
    expect(at.outside_sh("git status --porcelain") == "", "something is left")


@case
def attacks_through_the_tools(at):
    need("git")
    project(at)
    at.outside_sh("mkdir -p ../home/.ssh ../home/.aws; echo PRIVATE > ../home/.ssh/id_rsa;"
                  "echo PRIVATE > ../home/.aws/credentials; echo before > ../outside/file")
    client = Client(at)

    def nothing_private(name, arguments):
        answer = client.request("tools/call", {"name": name, "arguments": arguments})
        expect("PRIVATE" not in str(answer), f"{name} {arguments}: {answer}")

    for path in ("~/.ssh/id_rsa", "~/.aws/credentials", at.home + "/.ssh/id_rsa", "../home/.ssh/id_rsa",
                 f"/proc/self/root{at.home}/.ssh/id_rsa", f"/proc/self/cwd/../home/.ssh/id_rsa",
                 at.home + "/./.ssh//id_rsa"):
        nothing_private("read_file", {"path": path})
        nothing_private("shell", {"command": f"cat {path}"})
        nothing_private("exec", {"program": "cat", "args": [path]})
        nothing_private("grep", {"pattern": "PRIVATE", "path": path})
    for link, target in (("a", at.home + "/.ssh/id_rsa"), ("b", at.home), ("c", "/proc/self/root")):
        os.symlink(target, at.path(link))
    for path in ("a", "b/.ssh/id_rsa", "c" + at.home + "/.ssh/id_rsa"):
        nothing_private("read_file", {"path": path})
    nothing_private("grep", {"pattern": "PRIVATE", "path": at.home})
    nothing_private("glob", {"pattern": "**/id_rsa", "path": at.home})
    nothing_private("list_dir", {"path": at.home + "/.ssh"})

    for name, arguments in (
            ("write_file", {"path": ".git/hooks/post-commit", "content": "#!/bin/sh\nid\n"}),
            ("write_file", {"path": at.outside + "/file", "content": "after"}),
            ("write_file", {"path": "b/.bashrc", "content": "x"}),
            ("edit_file", {"path": at.outside + "/file", "old_text": "before", "new_text": "after"}),
            ("shell", {"command": f"echo after > {at.outside}/file"}),
            ("shell", {"command": "mv .git g; mkdir -p .git/hooks; echo id > .git/hooks/post-commit"}),
            ("shell", {"command": "git config core.fsmonitor ./evil"}),
            ("shell", {"command": "ln -s ../outside o; echo after > o/file"})):
        client.request("tools/call", {"name": name, "arguments": arguments})
    expect(at.read(at.outside + "/file") == "before\n", "a file outside was changed")
    expect(not os.path.exists(at.path(".git/hooks/post-commit")), "a hook was made")
    expect("fsmonitor" not in at.read(".git/config"), "the configuration was changed")
    expect(os.listdir(at.outside) == ["file"], os.listdir(at.outside))
    expect(sorted(os.listdir(at.home)) == [".aws", ".gitconfig", ".ssh"], os.listdir(at.home))
    # The same tools, within the boundaries.
    client.call("write_file", {"path": "src/new.c", "content": "int x;\n"})
    done = client.call("shell", {"command": "git add -A src && git commit -qm more"})
    expect(done["structuredContent"]["exit_code"] == 0, done)
    expect(client.close() == 0, "status")


# A name that is a file when it is judged and a link when it is opened would lead a tool
# of this process to where it may not be.
@case
def a_swapped_name_leads_nowhere(at):
    at.outside_sh("mkdir ../secret; echo PRIVATE > ../secret/f; mkdir d; echo fine > d/f; ln -s ../secret l")
    client = Client(at, "--deny-read", at.top + "/secret", "--read", at.top + "/secret")
    swap = "while :; do mv d t; mv l d; mv d l; mv t d; done"
    job = client.call("shell", {"command": swap, "background": True})["structuredContent"]["id"]
    got = set()
    for _ in range(200):
        answer = client.request("tools/call", {"name": "read_file", "arguments": {"path": "d/f"}})
        got.add(answer["result"]["structuredContent"].get("content", "none"))
    client.call("shell_kill", {"id": job})
    expect("PRIVATE\n" not in got, got)
    client.close()


if __name__ == "__main__":
    sys.exit(main("work"))
