#!/usr/bin/env python3
"""tidy.py BUILD: clang-tidy, by .clang-tidy, over each file that BUILD compiles.

A file that is compiled for several programs or geometries is examined once, by its first
command: clang-tidy itself would do it for each. One process for each file, for
what the analyzer makes of va_list goes wrong when it is given several.
"""

import concurrent.futures
import json
import os
import pathlib
import subprocess
import sys


def first_commands(build):
    commands = {}
    for entry in json.loads((build / "compile_commands.json").read_text()):
        # Files that the build itself generates are not examined.
        if build.resolve() not in pathlib.Path(entry["file"]).parents:
            commands.setdefault(entry["file"], entry)
    return commands


def examine(folder, file):
    done = subprocess.run(
        ["clang-tidy", "--quiet", "-p", folder, file],
        stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode == 0:
        return True
    print(done.stdout or done.stderr, flush=True)
    return False


def main():
    build = pathlib.Path(sys.argv[1])
    commands = first_commands(build)
    folder = build / "lint"
    folder.mkdir(exist_ok=True)
    (folder / "compile_commands.json").write_text(json.dumps(list(commands.values())))

    with concurrent.futures.ThreadPoolExecutor(len(os.sched_getaffinity(0))) as pool:
        outcomes = list(pool.map(lambda file: examine(folder, file), commands))
    print(f"{len(outcomes)} files examined, {outcomes.count(False)} with findings")
    sys.exit(0 if outcomes and all(outcomes) else 1)


main()
