#!/usr/bin/env python3
"""skipped.py [--newer FILE] REPORT...: names the tests that were skipped, and why.

A REPORT is a file that ctest writes by --output-junit, in build/PRESET. With --newer only reports
that were written after FILE count. The reason is the one that Python's unittest prints, or else the
last line of the test's output. Parts of a test that passes as a whole are named as well.
"""

import argparse
import pathlib
import re
import xml.etree.ElementTree


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


def read(report):
    """Pairs of a test, or a part of one, and the reason why it was skipped."""
    for case in xml.etree.ElementTree.parse(report).iter("testcase"):
        name, output = case.get("name"), case.findtext("system-out") or ""
        parts = parts_skipped(output)
        if case.find("skipped") is not None:
            yield name, parts[0][1] if parts else last_line(output)
        else:
            yield from ((f"{name}: {part}", why) for part, why in parts)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--newer", type=pathlib.Path)
    parser.add_argument("reports", nargs="*", type=pathlib.Path)
    options = parser.parse_args()
    since = options.newer.stat().st_mtime if options.newer else 0
    skipped = {}  # (test or part, reason) -> presets
    for report in options.reports:
        if not report.is_file() or report.stat().st_mtime < since:
            continue
        for test in read(report):
            skipped.setdefault(test, []).append(report.parent.name)
    print(f"\nSkipped: {len(skipped) or 'no'} test{'s' if len(skipped) != 1 else ''}")
    for (name, why), presets in sorted(skipped.items()):
        print(f"  {name} ({', '.join(presets)}): {why}")


main()
