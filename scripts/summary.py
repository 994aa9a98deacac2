#!/usr/bin/env python3
"""summary.py [--newer FILE] REPORT...: what the tests came to, and what they cost.

A REPORT is a file that ctest writes by --output-junit, in build/PRESET. With --newer only reports
that were written after FILE count. Printed are how many tests passed, failed and were skipped, with the
reasons, the processor-seconds of each room, and the tests that used most of them. watch-test has
written these into build/PRESET/used/ROOM/TEST. The reason of a skip is the one that Python's unittest
prints, or else the last line of the test's output. Parts of a test that passes as a whole are named as
well.
"""

import argparse
import collections
import pathlib
import re
import xml.etree.ElementTree

MOST = 10  # how many of the most expensive tests are named


def parts_skipped(output):
    """The parts of a test that unittest and cmocka report as skipped, with the reason."""
    parts = [(name, why) for name, _, why in
             re.findall(r"^(\w+) .*\.\.\. skipped (['\"])(.*)\2$", output, re.MULTILINE)]
    parts += [(name, "cmocka tells no reason") for name in
              re.findall(r"^\[  SKIPPED \] (\w+)$", output, re.MULTILINE)]
    return list(dict.fromkeys(parts))


def last_line(output):
    lines = [line.strip() for line in output.splitlines() if line.strip()]
    return lines[-1] if lines else "it prints no reason"


class Summary:
    def __init__(self):
        self.outcomes = collections.Counter()
        self.skipped = collections.defaultdict(list)  # (test or part, reason) -> presets
        self.used = []  # processor-seconds, room, test, preset

    def read(self, report):
        preset = report.parent
        used = {file.name: file for file in preset.glob("used/*/*")}
        for case in xml.etree.ElementTree.parse(report).iter("testcase"):
            name, output = case.get("name"), case.findtext("system-out") or ""
            parts = parts_skipped(output)
            skipped = case.find("skipped")
            if skipped is not None and not skipped.get("message").startswith("SKIP_"):
                self.outcomes["failed"] += 1  # its program could not be started
            elif skipped is not None:
                self.outcomes["skipped"] += 1
                self.skipped[name, parts[0][1] if parts else last_line(output)].append(preset.name)
            else:
                self.outcomes["passed" if case.find("failure") is None else "failed"] += 1
                for part, why in parts:
                    self.skipped[f"{name}: {part}", why].append(preset.name)
            file = used.get(name)
            if file:
                self.used.append((float(file.read_text()), file.parent.name, name, preset.name))

    def show(self):
        rooms = collections.Counter()
        for used_s, room, _, _ in self.used:
            rooms[room] += used_s
        print("\nProcessor-seconds of the tests, by room:")
        for room, used_s in rooms.most_common():
            print(f"  {used_s:8.1f}  {room}")
        print("The most expensive tests:")
        for used_s, _, name, preset in sorted(self.used, reverse=True)[:MOST]:
            print(f"  {used_s:8.1f}  {name} ({preset})")
        if self.skipped:
            print("Skipped tests, and parts of tests:")
        for (name, why), presets in sorted(self.skipped.items()):
            print(f"  {name} ({', '.join(presets)}): {why}")
        print(f"\nTests: {self.outcomes['passed']} passed, {self.outcomes['failed']} failed, "
              f"{self.outcomes['skipped']} skipped; {sum(rooms.values()):.0f} processor-seconds")


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--newer", type=pathlib.Path)
    parser.add_argument("reports", nargs="*", type=pathlib.Path)
    options = parser.parse_args()
    since = options.newer.stat().st_mtime if options.newer else 0
    summary = Summary()
    for report in options.reports:
        if report.is_file() and report.stat().st_mtime >= since:
            summary.read(report)
    summary.show()


main()
