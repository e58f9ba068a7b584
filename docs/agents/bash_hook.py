#!/usr/bin/env python3
"""A PreToolUse hook of Claude Code: runs each command of the Bash tool by
`cordon run`. Anything that goes wrong here blocks the command (status 2)."""
import json
import os
import shlex
import sys


def contained(command, directory):
    flags = [os.path.expanduser(word) for word in shlex.split(os.environ.get("CORDON_HOOK_FLAGS", ""))]
    words = ["cordon", "run", "--workspace", directory, *flags, "--", "bash", "-c", command]
    return shlex.join(words)


def main():
    call = json.load(sys.stdin)
    if call["tool_name"] != "Bash":
        return
    # The directory of the session, which a `cd` of the model's does not move.
    directory = os.environ.get("CLAUDE_PROJECT_DIR") or call["cwd"]
    changed = dict(call["tool_input"])
    changed["command"] = contained(changed["command"], directory)
    json.dump({"hookSpecificOutput": {
        "hookEventName": "PreToolUse", "permissionDecision": "allow",
        "permissionDecisionReason": "contained by cordon", "updatedInput": changed}}, sys.stdout)


if __name__ == "__main__":
    try:
        main()
    except Exception as problem:  # no other status blocks
        print(f"cordon hook: {problem!r}", file=sys.stderr)
        sys.exit(2)
