#!/usr/bin/python3
"""Every layer carries weight: without it, one of the escape cases gets through.

Builds with CORDON_TEST_HOOKS can leave single layers out (src/session/without.h
has the list). Each row is a case that is refused with all layers and gets
through when the layers of the row are gone; `holds` are subsets of them that do
not suffice, because another layer stands behind.
"""
import os
import subprocess
import sys

import environment_test
import files_test
import host_changes_test
import ipc_test
import links_test
import namespaces_test
import network_test
import privileges_test
import processes_test
import repositories_test
import resources_test
import terminal_test
from fixture import BIN, MUST_RUN, ROOT, SKIP, Fixture

files, links, processes = files_test.SUITE, links_test.SUITE, processes_test.SUITE
privileges, namespaces, ipc = privileges_test.SUITE, namespaces_test.SUITE, ipc_test.SUITE
network, environment = network_test.SUITE, environment_test.SUITE
terminal, resources = terminal_test.SUITE, resources_test.SUITE
host_changes, repositories = host_changes_test.SUITE, repositories_test.SUITE

# THREATS 5.3: (layers left out, suite, case, profile, subsets that hold)
ROWS = [
    ("read_only", links, "write_config", "strict", ()),
    ("read_only", links, "change_mode_of_config", "strict", ()),
    ("read_only", links, "remove_the_hooks", "strict", ()),
    ("landlock", files, "standard_streams_opened_again", "strict", ()),
    ("masks", files, "read_the_denied_file_of_the_workspace", "strict", ()),
    ("net", network, "tcp_to_loopback", "strict", ()),
    ("net", network, "udp_send_to_udp", "strict", ()),
    ("net", network, "fast_open", "strict", ()),
    ("net", network, "listening_inside_is_not_reached_from_outside", "strict", ()),
    ("net", ipc, "connect_abstract", "strict", ("landlock",)),
    ("ipc", ipc, "shared_memory_by_key", "strict", ()),
    ("seccomp,userns", namespaces, "unshare_user", "strict", ("seccomp", "userns")),
    ("seccomp,userns", namespaces, "clone3_user", "strict", ("seccomp", "userns")),
    ("seccomp", processes, "call_io_uring_setup", "strict", ()),
    ("seccomp", processes, "call_keyctl", "strict", ()),
    ("seccomp", processes, "int80_getpid", "strict", ()),
    ("seccomp", ipc, "family_generic", "strict", ()),
    ("seccomp", privileges, "without_a_filter", "strict", ()),
    ("seccomp", privileges, "set_id_u_by_chmod", "strict", ()),
    ("seccomp", ipc, "send_in_workspace_dgram", "strict", ()),
    ("descriptors", files, "inherited_descriptors", "strict", ()),
    ("env", environment, "nothing_is_inherited_unasked", "strict", ()),
    ("init", processes, "open_memory_for_reading", "strict", ()),
    ("init", processes, "list_descriptors_of_others", "strict", ()),
    ("capabilities", privileges, "capabilities", "strict", ()),
    ("terminal", terminal, "terminals_of_others_are_not_there", "strict", ()),
    ("terminal,session,seccomp", terminal, "nothing_is_typed_into_the_callers_terminal", "strict",
     ("terminal", "session", "seccomp", "terminal,session", "terminal,seccomp")),
    ("dev", processes, "other_devices", "strict", ()),
    ("limits", resources, "processes_are_counted_for_this_sandbox", "strict", ()),
    ("limits", resources, "memory_of_one_process", "strict", ()),
    ("limits", resources, "memory_of_many_processes", "strict", ()),
    ("temp_size", resources, "the_sandboxes_own_directories_have_a_size", "strict", ()),
    ("floor", links, "create_missing", "strict", ()),
    ("floor", links, "rename_the_repository_away", "strict", ()),
    ("floor", links, "exchange_config", "strict", ()),
    ("names", links, "create_missing", "strict", ()),
    ("names", links, "rename_a_filled_directory_onto_a_parent", "strict", ()),
    ("sockets", ipc, "connect_in_workspace", "strict", ()),
    ("keeper", host_changes, "git_config_is_replaced", "strict", ()),
    ("keeper", host_changes, "credentials_that_come_later", "strict", ()),
    ("floor", repositories, "a_hidden_repository_is_not_forgotten", "strict", ()),
    ("floor", repositories, "files_that_a_configuration_includes", "strict", ()),
    ("names", repositories, "the_workspace_is_not_made_a_bare_repository", "strict", ()),
]
if ROOT:
    ROWS += [("root", privileges, "real_root", "strict", ()),
             ("root,landlock,read_only", processes, "kernel_settings", "strict",
              ("root",))]
    if hasattr(resources_test, "memory_that_nobody_maps"):
        ROWS += [("cgroup", resources, "memory_that_nobody_maps", "strict", ())]
# Structural: without it there is no sandbox at all.
REFUSED = ("pid",)


def without(layers):
    if layers:
        os.environ["CORDON_TEST_WITHOUT"] = layers
    else:
        os.environ.pop("CORDON_TEST_WITHOUT", None)


def check_row(layers, suite, case, profile, holds):
    problems = []
    for subset in ("", *holds):
        without(subset)
        if found := suite.breaches(profile, case):
            problems.append(f"{case} gets through without {subset or 'nothing'}: {found}")
    without(layers)
    if not suite.breaches(profile, case):
        problems.append(f"{case} is refused without {layers}: the layer has nothing to do here")
    return problems


def has_hooks(fixture):
    without("env")
    done = fixture.run("strict", ["env"], env={"CORDON_HOOKS": "yes"})
    without("")
    return b"CORDON_HOOKS=yes" in done.stdout


def check_release(fixture):
    """A release ignores the variable."""
    release = os.environ.get("CORDON_RELEASE_BIN", "")
    if not os.path.exists(release):
        print("no release build: whether it ignores the hooks is not tested")
        return ["no release build at CORDON_RELEASE_BIN"] if MUST_RUN else []
    every = ",".join(sorted({layer for row in ROWS for layer in row[0].split(",")}))
    env = fixture.environment({"CORDON_HOOKS": "yes", "CORDON_TEST_WITHOUT": every})
    done = subprocess.run([release, "run", "--preset", "strict", "--workspace", fixture.ws, "--",
                           "sh", "-c", "env; echo x >> .git/config; echo x > .mcp.json; id -u"],
                          env=env, cwd=fixture.ws, capture_output=True, check=False)
    problems = []
    if b"CORDON_HOOKS" in done.stdout or os.path.exists(fixture.ws + "/.mcp.json"):
        problems.append(f"the release takes CORDON_TEST_WITHOUT: {done}")
    if not done.stdout.rstrip().split(b"\n")[-1].isdigit():
        problems.append(f"the release did not run: {done}")
    with open(release, "rb") as file:
        if b"CORDON_TEST_WITHOUT" in file.read():
            problems.append("the release knows CORDON_TEST_WITHOUT")
    return problems


def main():
    fixture = Fixture()
    try:
        if not BIN or not os.path.exists(BIN) or not has_hooks(fixture):
            print("CORDON_BIN is not a build with CORDON_TEST_HOOKS")
            sys.exit(1 if MUST_RUN else SKIP)
        problems = check_release(fixture)
        for layer in REFUSED:
            without(layer)
            done = fixture.run("strict", ["echo", "RAN"])
            if done.returncode != 125 or b"RAN" in done.stdout:
                problems.append(f"runs without {layer}: {done}")
    finally:
        fixture.close()
    only = os.environ.get("CORDON_ESCAPE_ONLY", "")
    for row in ROWS:
        if only in row[2] or only in row[0]:
            problems += [f"[{row[0]}] {p}" for p in check_row(*row)]
    print("\n".join(problems))
    print(f"layers: {len(ROWS)} rows, {len(problems)} failed")
    sys.exit(1 if problems else 0)


if __name__ == "__main__":
    main()
