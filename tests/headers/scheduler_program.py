#!/usr/bin/env python3
"""scheduler_program.py COMPILER PROJECT: the first C program in docs/scheduler.md compiles
without a warning, and together with the library's sources it prints what it is meant to. How
late its task was is printed too, and differs from run to run.

A busy machine may not come to the task within the second that the program sleeps, or to the
cancel within half a second. So the program that is run is more patient: it waits for its task
instead, and what it cancels is due much later."""

import pathlib
import re
import subprocess
import sys
import tempfile

EXPECTED = re.compile(r"no call today\ntea is ready, \d+\.\d{3} ms late\n")
OPTIONS = ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-D_GNU_SOURCE", "-pthread"]
PATIENCE = {
    "    sleep(1);\n": """
    static struct elapse_statistics statistics;
    do {
        usleep(1000);
        elapse_scheduler_statistics(scheduler, &statistics);
    } while (statistics.pending + statistics.running > 0);
""",
    "500 * ELAPSE_MILLISECOND_NS": "500 * ELAPSE_SECOND_NS",
}


def patient(program):
    for hasty, replacement in PATIENCE.items():
        if program.count(hasty) != 1:
            sys.exit(f"the program of docs/scheduler.md has not one {hasty!r}")
        program = program.replace(hasty, replacement)
    return program


def main():
    compiler, project = sys.argv[1], pathlib.Path(sys.argv[2])
    block = re.search(
        r"^```c\n(.*?)^```$", (project / "docs/scheduler.md").read_text(), re.M | re.S)
    if block is None:
        sys.exit("docs/scheduler.md has no block of C")
    command = [compiler, *OPTIONS, "-I", project / "include"]

    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "first.c"
        program = pathlib.Path(folder) / "first"
        source.write_text(block.group(1))
        subprocess.run([*command, "-fsyntax-only", source], check=True)
        source.write_text(patient(block.group(1)))
        library = sorted((project / "src/structures").glob("*.c"))
        library += sorted((project / "src/scheduler").glob("*.c"))
        subprocess.run([*command, source, *library, "-o", program], check=True)
        printed = subprocess.run(
            [program], check=True, timeout=60, stdout=subprocess.PIPE, text=True).stdout
    if EXPECTED.fullmatch(printed) is None:
        sys.exit(f"it prints {printed!r}, which is not {EXPECTED.pattern!r}")


main()
