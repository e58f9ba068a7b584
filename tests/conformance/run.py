#!/usr/bin/env python3
"""Puts the cases of conformance/cases to the tiers, and says where one differs.

run.py [--drivers A,B] [--group NAME] [--table FILE] [--control] [--landlock-abi N,M] [-v]

Every case has one verdict for all tiers. A tier may differ or refuse only where
its case says so, with that verdict and that word; anything else is a failure.
Peers are only counted. What was to be denied must have left the host as it was,
and what was allowed must be found there.
"""

import argparse
import collections
import dataclasses
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import cases  # noqa: E402
import drivers  # noqa: E402


@dataclasses.dataclass
class Tally:
    same: int = 0
    documented: collections.Counter = dataclasses.field(default_factory=collections.Counter)
    refused: collections.Counter = dataclasses.field(default_factory=collections.Counter)
    unasked: int = 0
    failures: list = dataclasses.field(default_factory=list)
    too_wide: int = 0   # allowed what was to be denied
    too_narrow: int = 0
    unavailable: str = ""

    def total(self):
        return (self.same + sum(self.documented.values()) + sum(self.refused.values())
                + self.unasked + len(self.failures))


def judge(driver, fixture, case, answer, tally):
    if answer is None:
        tally.unasked += 1
        return
    verdict = "allow" if answer is True else "deny"
    difference = case.differs.get(driver.name)
    wanted = difference["verdict"] if difference else case.expect
    trouble = ""
    if verdict != wanted:
        trouble = f"{verdict}, not {wanted}" + ("" if answer is True else f" ({answer})")
    undone = verdict == "allow" and case.expect == "deny"
    evidence = None if undone or driver.name == "seatbelt" else fixture.evidence(case)
    if evidence is not None:
        done = verdict == "allow" and case.host != "untouched"
        if evidence != done:
            trouble += f"; the host says that it was {'' if evidence else 'not '}done"
    if trouble:
        tally.failures.append(f"{case.name}: {trouble}")
        tally.too_wide += verdict == "allow" and wanted == "deny"
        tally.too_narrow += verdict == "deny" and wanted == "allow"
    elif difference:
        tally.documented[difference["why"]] += 1
    else:
        tally.same += 1


def put(driver, group, tally):
    with cases.Fixture(group, driver.tmpdir) as fixture:
        try:
            answers = driver.answers(fixture)
        except drivers.Refused as refusal:
            word = group.refused.get(driver.name)
            if driver.name in drivers.PEERS or (word and word in str(refusal)):
                tally.refused[word or str(refusal)] += len(group.cases)
            else:
                tally.failures += [f"{case.name}: refused: {refusal}" for case in fixture.cases]
            return
        if driver.name in group.refused and driver.name not in drivers.PEERS:
            tally.failures.append(f"{group.name}: not refused by {driver.name}, as its file says")
        assert len(answers) == len(fixture.cases)
        for case, answer in zip(fixture.cases, answers):
            judge(driver, fixture, case, answer, tally)


def put_all(driver, groups):
    tally = Tally()
    for group in groups:
        try:
            put(driver, group, tally)
        except drivers.Unavailable as reason:
            tally.unavailable = str(reason)
            return tally
        except (RuntimeError, drivers.subprocess.TimeoutExpired) as error:
            tally.failures += [f"{case.name}: {error}" for case in group.cases]
    return tally


def check_control(groups):
    """What is to be denied must be possible without a sandbox, or a denial proves nothing."""
    idle = []
    for group in groups:
        with cases.Fixture(group, drivers.CONTROL.tmpdir) as fixture:
            fixture.cases = [case for case in fixture.cases
                             if case.expect == "deny" and case.control]
            answers = drivers.CONTROL.answers(fixture)
            idle += [f"{case.name}: {answer}" for case, answer in zip(fixture.cases, answers)
                     if answer is not True]
    print(f"without a sandbox: {len(idle)} cases are denied all the same")
    for line in idle:
        print("  " + line)
    return bool(idle)


def summary(name, tally):
    if tally.unavailable:
        return f"{name}: unavailable: {tally.unavailable}"
    return (f"{name}: {tally.same} of {tally.total()} as expected, "
            f"{sum(tally.documented.values())} differ as documented, "
            f"{sum(tally.refused.values())} refused as documented, {tally.unasked} not asked, "
            f"{len(tally.failures)} failed")


def table(groups, tallies):
    total = sum(len(group.cases) for group in groups)
    lines = ["| | cases | as expected | differ as documented | refused as documented | not asked | wrong: too wide | wrong: too narrow or failed |",
             "| --- | --- | --- | --- | --- | --- | --- | --- |"]
    for name, tally in tallies.items():
        label = f"{name} (peer)" if name in drivers.PEERS else f"`{name}`"
        if tally.unavailable:
            lines.append(f"| {label} | {total} | {tally.unavailable} | | | | | |")
            continue
        lines.append(f"| {label} | {tally.total()} | {tally.same} | {sum(tally.documented.values())} | "
                     f"{sum(tally.refused.values())} | {tally.unasked} | {tally.too_wide} | "
                     f"{len(tally.failures) - tally.too_wide} |")
    lines.append("")
    for name, tally in tallies.items():
        if name in drivers.PEERS or not (tally.documented or tally.refused):
            continue
        lines.append(f"`{name}`:")
        lines += [f"- {count} × {why}" for why, count in sorted(tally.documented.items())]
        lines += [f"- {count} × refused: `{why}`" for why, count in sorted(tally.refused.items())]
        lines.append("")
    return "\n".join(lines)


def write_table(path, text):
    start, end = "<!-- table: ./dev conformance -->\n", "<!-- end -->\n"
    with open(path, encoding="utf-8") as file:
        old = file.read()
    before, _, rest = old.partition(start)
    _, _, after = rest.partition(end)
    with open(path, "w", encoding="utf-8") as file:
        file.write(before + start + text + "\n" + end + after)


def lower_abis(options, groups):
    """Cordon's own tiers on kernels with less Landlock: the same verdicts."""
    failed = False
    names = [name for name in options.drivers.split(",") if isinstance(drivers.ALL[name], drivers.Cordon)]
    for abi in options.landlock_abi.split(","):
        drivers.ABI["CORDON_TEST_LANDLOCK_ABI"] = abi
        for name in names:
            tally = put_all(drivers.ALL[name], groups)
            print(summary(f"Landlock ABI {abi}, {name}", tally))
            for failure in tally.failures[:50]:
                print("  " + failure)
            failed = failed or bool(tally.failures or tally.unavailable)
    return 1 if failed else 0


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--drivers", default=",".join(drivers.ALL))
    parser.add_argument("--group", default="")
    parser.add_argument("--table", default="")
    parser.add_argument("--control", action="store_true")
    parser.add_argument("--landlock-abi", default="", help="lower ones, by a build with test hooks")
    parser.add_argument("-v", action="store_true")
    options = parser.parse_args()
    groups = [group for group in cases.load() if options.group in ("", group.name)]
    if options.landlock_abi:
        return lower_abis(options, groups)
    tallies = {name: put_all(drivers.ALL[name], groups) for name in options.drivers.split(",")}
    must_run = os.environ.get("CORDON_TESTS_MUST_RUN") == "1"
    failed = options.control and check_control(groups)
    for name, tally in tallies.items():
        print(summary(name, tally))
        peer = name in drivers.PEERS
        failed = failed or (bool(tally.failures) and not peer)
        failed = failed or (bool(tally.unavailable) and must_run)
        shown = tally.failures if options.v or not peer else []
        for failure in shown[:200]:
            print("  " + failure)
    if options.table:
        write_table(options.table, table(groups, tallies))
    return failed


if __name__ == "__main__":
    sys.exit(main())
