#!/usr/bin/env python3
"""names.py CMOCKA: each macro of cmocka that a test uses is in the stand-in, too. CMOCKA is cmocka.h."""

import pathlib
import re
import sys

HERE = pathlib.Path(__file__).resolve().parent
IN_LIBC = {"assert", "malloc", "calloc", "realloc", "free"}
CALL = r"\b([a-z_]+)\("


def main(cmocka):
    macros = set(re.findall(r"#define +([a-z_]+)\(", pathlib.Path(cmocka).read_text(encoding="utf-8"))) - IN_LIBC
    stand_in = set(re.findall(CALL, (HERE / "cmocka.h").read_text(encoding="utf-8")))
    if "assert_true" not in macros & stand_in:
        sys.exit(f"{cmocka}: this is not cmocka.h, or its form has changed")
    lacking = [f"{path}: {name} is not in the stand-in for cmocka" for path in sorted(HERE.parent.parent.rglob("*.[ch]"))
               for name in sorted(set(re.findall(CALL, path.read_text(encoding="utf-8"))) & macros - stand_in)]
    sys.exit("\n".join(lacking) or 0)


main(*sys.argv[1:])
