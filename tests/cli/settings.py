#!/usr/bin/python3
"""Other tools' settings against CORDON_BIN: `cordon policy import`, `--settings`,
agents by id, trust, and the hook of docs/agents on the documented input."""
import json
import os
import subprocess
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from contained import BIN, PATH, case, expect, main  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
HOOK = os.path.join(ROOT, "docs/agents/bash_hook.py")


def cordon(at, *words, cwd=None, **more):
    return subprocess.run([BIN, *words], cwd=cwd or at.ws, env=at.env, capture_output=True, text=True,
                          timeout=120, check=False, stdin=subprocess.DEVNULL, **more)


def must_fail(script):
    """`set -e` passes over `! command`; this does not."""
    words = [f"if {word[2:]}; then exit 3; fi" if word.startswith("! ") else word for word in script.split("; ")]
    return "; ".join(words)


def srt(at, **filesystem):
    text = json.dumps({"network": {"allowedDomains": ["allowed.test"]}, "filesystem": filesystem})
    return at.write(os.path.join(at.outside, "srt-settings.json"), text)


@case
def what_srt_denies_is_denied_and_what_it_allows_is_allowed(at):
    at.write(os.path.join(at.home, "secret"), "hush\n")
    at.write(os.path.join(at.home, "open"), "plain\n")
    at.write("lib/.env", "hush\n")
    at.write("kept", "same\n")
    path = srt(at, denyRead=["~/secret", "**/.env"], allowWrite=["."], denyWrite=["kept"])
    flags = ("--settings", path)
    done = at.sh(must_fail("cat ~/open; ! cat ~/secret; ! cat lib/.env; echo x > new; ! echo x > kept; "
                           "! echo x > ~/open; cat kept"), flags=flags)
    expect("plain" in done.stdout and "same" in done.stdout and "hush" not in done.stdout, "reads", done)
    expect(at.read("new") == "x\n" and at.read("kept") == "same\n", "writes", done)
    for question, status in (("read " + at.home + "/secret", 1), ("write new", 0), ("write kept", 1),
                             ("connect allowed.test", 0), ("connect evil.test", 1)):
        asked = cordon(at, "explain", *at.reads, *flags, *question.split())
        expect(asked.returncode == status, question, asked)
    asked = cordon(at, "explain", *at.reads, *flags, "read", at.home + "/secret")
    expect("fs.deny_read " + path + ":1" in asked.stdout, "the rule has no place", asked)


@case
def an_import_means_what_the_settings_mean(at):
    path = srt(at, denyRead=["~/secret"], allowWrite=[".", "~/out"], denyWrite=["kept"])
    made = os.path.join(at.outside, "made.toml")
    done = cordon(at, "policy", "import", path, "-o", made)
    expect(done.returncode == 0 and os.path.exists(made), "not made", done)
    direct = cordon(at, "policy", "show", "--json", "--settings", path)
    by_file = cordon(at, "policy", "show", "--json", "--policy", made)
    expect(direct.returncode == 0 and direct.stdout == by_file.stdout, "they differ", by_file)
    expect(cordon(at, "policy", "import", path, "-o", made).returncode == 1, "overwritten")
    answer = json.loads(cordon(at, "policy", "import", "--json", path).stdout)
    expect(answer["from"] == "srt" and "preset = \"bare\"" in answer["policy"], "json", answer)


@case
def what_is_left_out_is_said(at):
    path = at.write(os.path.join(at.outside, "srt-settings.json"),
                    '{"network": {"allowAllUnixSockets": true}, "novelty": 1}')
    done = at.run("true", flags=("--settings", path))
    expect(done.returncode == 0 and "2 of its words have no meaning here" in done.stderr, "silent", done)
    shown = cordon(at, "policy", "import", path).stdout
    expect("#   line 1, novelty: not known" in shown and "network.allowAllUnixSockets" in shown, shown)
    quiet = at.run("true", flags=("--settings", srt(at, allowWrite=["."])))
    expect(quiet.stderr == "", "noise", quiet)


@case
def what_cannot_be_read_stops_the_run(at):
    for text, words in (('{"network": {\n"allowedDomains": "x"}}', ":2: network.allowedDomains: expected"),
                        ('{"network": {\n', ":2: "), ('{"theme": 1}', "not the settings of a tool")):
        path = at.write(os.path.join(at.outside, "x.json"), text)
        done = at.run("true", flags=("--settings", path))
        expect(done.returncode == 125 and words in done.stderr, f"{text!r} was taken", done)
    done = at.run("true", flags=("--settings", os.path.join(at.outside, "none.json")))
    expect(done.returncode == 125, "a missing file", done)
    path = srt(at, allowWrite=["."])
    os.chmod(path, 0o666)
    done = at.run("true", flags=("--settings", path))
    expect(done.returncode == 125 and "written by others" in done.stderr, "writable by others", done)


@case
def a_file_in_the_workspace_needs_trust(at):
    at.write(".claude/settings.json", '{"sandbox": {"filesystem": {"allowWrite": ["~/out"]}}}')
    os.mkdir(os.path.join(at.home, "out"))
    flags = ("--settings", ".claude/settings.json")
    done = at.run("sh", "-c", "echo x > ~/out/f", flags=flags)
    expect(done.returncode == 125 and "cordon policy trust .claude/settings.json" in done.stderr, "taken", done)
    done = cordon(at, "policy", "trust", ".claude/settings.json")
    expect(done.returncode == 0, "not trusted", done)
    at.sh(must_fail("echo x > ~/out/f; ! echo '{}' > .claude/settings.json"), flags=flags)
    at.write(".claude/settings.json", '{"sandbox": {"filesystem": {"allowWrite": ["~"]}}}')
    expect(at.run("true", flags=flags).returncode == 125, "another text is trusted")
    at.write("junk.json", '{"x": 1}')
    expect(cordon(at, "policy", "trust", "junk.json").returncode == 1, "junk is trusted")


@case
def a_link_counts_by_its_own_name(at):
    where = at.write(os.path.join(at.outside, "dotfiles/claude.json"),
                     '{"sandbox": {"filesystem": {"allowWrite": ["rel"]}}}')
    os.makedirs(os.path.join(at.home, ".claude"))
    os.symlink(where, os.path.join(at.home, ".claude/settings.json"))
    done = cordon(at, "policy", "import", os.path.join(at.home, ".claude/settings.json"))
    expect('"?~/.claude/rel"' in done.stdout, "relative to what it leads to", done)


@case
def the_kind_can_be_named(at):
    path = at.write(os.path.join(at.outside, "a.toml"), 'sandbox_mode = "workspace-write"\n')
    at.sh("echo x > f", flags=("--settings", "codex:" + path))
    done = cordon(at, "policy", "import", "--from", "agents", path)
    expect('preset = "sandbox"' in done.stdout, "as agents", done)
    expect(cordon(at, "policy", "import", "--from", "emacs", path).returncode == 1, "emacs")


@case
def an_agent_has_its_own_directories(at):
    instance = os.path.join(at.outside, "bot")
    config = at.write(os.path.join(instance, "config.toml"),
                      '[[agents]]\nid = "main"\n[agents.sandbox]\npassthrough_env = ["MINE"]\n'
                      '[[agents]]\nid = "other"\n')
    for name in ("main/workspace", "main/data", "other/workspace"):
        os.makedirs(os.path.join(instance, "agents", name))
    at.write(os.path.join(instance, "agents/main/data/db"), "hush\n")
    at.write(os.path.join(instance, "agents/other/workspace/x"), "hush\n")
    at.env["MINE"] = "mine"
    words = [BIN, "run", "--settings", config]
    script = ("pwd; echo $MINE; echo x > made; ! cat ../data/db; ! echo x > ../data/new; "
              "! cat ../../other/workspace/x; ! cat ../../../config.toml")

    def run(*flags):
        return subprocess.run([*words, *flags, "--", "sh", "-ec", must_fail(script)], env=at.env, capture_output=True,
                              cwd=at.ws, text=True, timeout=120, check=False, stdin=subprocess.DEVNULL)
    done = run("--agent", "main")
    expect(done.returncode == 0, "it failed", done)
    expect(done.stdout.split() == [instance + "/agents/main/workspace", "mine"], "place", done)
    expect(os.path.exists(instance + "/agents/main/workspace/made"), "nothing made", done)
    for flags, text in ((), "--agent takes one of main other"), (("--agent", "third"), "no agent \"third\""):
        done = run(*flags)
        expect(done.returncode == 125 and text in done.stderr, text, done)


AGENTS = {  # preset: what it keeps, what it obeys and has, what it obeys and has not, its secret
    "claude": (".claude/projects/x", ".claude/settings.json", ".claude/settings.local.json",
               ".claude/.credentials.json"),
    "codex": (".codex/sessions/x", ".codex/config.toml", ".codex/AGENTS.md", ".codex/auth.json"),
    "gemini": (".gemini/tmp/x", ".gemini/settings.json", ".gemini/GEMINI.md", ".gemini/oauth_creds.json"),
    "opencode": (".local/share/opencode/log/x", ".local/share/opencode/bin/y", ".local/share/opencode/bin/z",
                 ".local/share/opencode/auth.json"),
}


@case
def an_agent_writes_its_state_and_not_what_it_obeys(at):
    for preset, (state, obeyed, absent, secret) in AGENTS.items():
        for name in (state, obeyed, secret):
            at.write(os.path.join(at.home, name), "old\n")
        script = (f"cat ~/{secret}; echo new > ~/{state}; ! echo new > ~/{obeyed}; ! rm ~/{obeyed}; "
                  f"! mv ~/{obeyed} ~/{state}.away; ! echo new > ~/{absent}; ! mv ~/{state} ~/{absent}; "
                  f"echo x > ~/.bashrc || true; echo done")
        run = [BIN, "run", "--preset", preset, "--", "sh", "-ec", must_fail(script)]
        done = subprocess.run(run, cwd=at.ws, env=at.env, capture_output=True, text=True, timeout=120,
                              check=False, stdin=subprocess.DEVNULL)
        expect(done.returncode == 0 and done.stdout == "old\ndone\n", preset, done)
        kept = at.read(os.path.join(at.home, obeyed)), at.read(os.path.join(at.home, state))
        expect(kept == ("old\n", "new\n") and not os.path.exists(os.path.join(at.home, absent)), preset, done)
        expect(not os.path.exists(at.home + "/.bashrc"), f"{preset} writes the home directory", done)
        other = at.run("cat", os.path.join(at.home, secret))
        if preset != "opencode":
            expect(other.returncode != 0, f"the secret of {preset} can be read by every command", other)


@case
def claude_saves_its_file_in_the_home_directory(at):
    at.write(os.path.join(at.home, ".claude.json"), "{}")
    at.sh("echo '{\"a\": 1}' > ~/.claude.json; echo $DISABLE_AUTOUPDATER", flags=("--preset", "claude"))
    expect(at.read(os.path.join(at.home, ".claude.json")) == '{"a": 1}\n', "not saved")


def hook(at, call, **env):
    return subprocess.run([sys.executable, HOOK], input=call if isinstance(call, str) else json.dumps(call),
                          env=at.env | env, cwd=at.ws, capture_output=True, text=True, timeout=60, check=False)


def call_of(at, command, tool="Bash"):
    return {"session_id": "abc123", "transcript_path": "/path/to/session.jsonl", "cwd": at.ws,
            "permission_mode": "default", "hook_event_name": "PreToolUse", "tool_name": tool,
            "tool_input": {"command": command, "description": "x", "timeout": 120000},
            "tool_use_id": "toolu_01ABC123"}


@case
def the_hook_contains_what_the_model_runs(at):
    command = "echo \"it's\" > out.txt; echo $((40 + 2)); echo x > ~/escape"
    done = hook(at, call_of(at, command))
    expect(done.returncode == 0, "hook", done)
    answer = json.loads(done.stdout)["hookSpecificOutput"]
    changed = answer["updatedInput"]
    expect(answer["permissionDecision"] == "allow" and changed["timeout"] == 120000, "answer", answer)
    os.mkdir(at.path("bin"))
    os.symlink(BIN, at.path("bin/cordon"))
    ran = subprocess.run(["bash", "-c", changed["command"]], cwd=at.ws, capture_output=True, text=True,
                         timeout=120, check=False, env=at.env | {"PATH": at.path("bin") + ":" + PATH})
    expect(ran.returncode == 1 and ran.stdout == "42\n", "as it would have run", ran)
    expect(at.read("out.txt") == "it's\n" and not os.path.exists(at.home + "/escape"), "contained", ran)


@case
def the_hook_blocks_what_it_cannot_read(at):
    for call in ("", "{", "[]", '{"tool_name": "Bash"}'):
        expect(hook(at, call).returncode == 2, f"{call!r} passes")
    done = hook(at, call_of(at, "x", tool="Read"))
    expect(done.returncode == 0 and done.stdout == "", "another tool", done)
    flags = hook(at, call_of(at, "true"), CORDON_HOOK_FLAGS="--preset strict")
    expect("--preset strict" in json.loads(flags.stdout)["hookSpecificOutput"]["updatedInput"]["command"], flags)


if __name__ == "__main__":
    sys.exit(main("settings"))
