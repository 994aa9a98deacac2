#!/usr/bin/env python3
"""readme_program.py COMPILER PROJECT: the first C program in README.md compiles without
a warning, together with the library's sources, and prints what README.md says."""

import pathlib
import re
import subprocess
import sys
import tempfile

EXPECTED = "order 1 was not paid\norder 3 was not paid\n"
OPTIONS = ["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror"]


def main():
    compiler, project = sys.argv[1], pathlib.Path(sys.argv[2])
    block = re.search(r"^```c\n(.*?)^```$", (project / "README.md").read_text(), re.M | re.S)
    if block is None:
        sys.exit("README.md has no block of C")

    with tempfile.TemporaryDirectory() as folder:
        source = pathlib.Path(folder) / "first.c"
        program = pathlib.Path(folder) / "first"
        source.write_text(block.group(1))
        library = sorted((project / "src/structures").glob("*.c"))
        subprocess.run(
            [compiler, *OPTIONS, "-I", project / "include", source, *library, "-o", program],
            check=True)
        printed = subprocess.run(
            [program], check=True, timeout=10, stdout=subprocess.PIPE, text=True).stdout
    if printed != EXPECTED:
        sys.exit(f"it prints {printed!r}, not {EXPECTED!r}")


main()
