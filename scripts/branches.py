#!/usr/bin/env python3
"""branches.py FOLDER EXPORT...: prints a table of the branches taken in FOLDER, and fails
unless each of them went both ways. Each EXPORT is the output of `llvm-cov export` for one program.

A source file that is compiled into several programs, or for several geometries, is in
several exports. The counts of one place in the text are added up.
"""

import collections
import json
import pathlib
import sys


def add_outcomes(files, export, folder):
    """files: file -> {(line, column, end line, end column, outcome): times taken}"""
    here = pathlib.Path.cwd()
    for function in export["data"][0]["functions"]:
        names = [pathlib.Path(name) for name in function["filenames"]]
        for name in names:
            if here / folder in name.parents:
                files[str(name.relative_to(here))].update()
        for branch in function["branches"]:
            *place, times_true, times_false, file, _, _ = branch
            if here / folder in names[file].parents:
                outcomes = files[str(names[file].relative_to(here))]
                outcomes[(*place, True)] += times_true
                outcomes[(*place, False)] += times_false


def main():
    folder, *exports = sys.argv[1:]
    files = collections.defaultdict(collections.Counter)
    for name in exports:
        with open(name, encoding="utf-8") as export:
            add_outcomes(files, json.load(export), folder)

    missing = []
    total = 0
    for name, outcomes in sorted(files.items()):
        missed = sorted(place for place, times in outcomes.items() if times == 0)
        missing += [(name, place) for place in missed]
        total += len(outcomes)
        if outcomes:
            taken = len(outcomes) - len(missed)
            share = 100 * taken / len(outcomes)
            print(f"{name:40} {taken:5} of {len(outcomes):5} branches {share:7.2f} %")

    unseen = {str(path) for path in pathlib.Path(folder).glob("*.c")} - files.keys()
    for name in sorted(unseen):
        print(f"{name}: is in none of the programs")
    for name, (line, column, _, _, outcome) in missing:
        print(f"{name}:{line}:{column}: is never {str(outcome).lower()}")
    if unseen or missing:
        sys.exit(f"{len(missing)} of {total} branches of {folder} are not taken.")
    print(f"All {total} branches of {folder} are taken.")


main()
