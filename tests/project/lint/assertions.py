#!/usr/bin/env python3
"""assertions.py [ROOT]: functions, assertions and assertions a function, for each room of src.

An assertion is a use of ELAPSE__ASSERT or of a macro whose name begins so. Static assertions are
counted apart. Inline functions and assertions in headers count like the others.
"""

import collections
import pathlib
import re
import sys

COMMENT = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)
DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.MULTILINE)
# The brace of a function stands at the left margin; those of types and tables do not.
FUNCTION = re.compile(r"^\{$", re.MULTILINE)
ASSERTION = re.compile(r"\bELAPSE__ASSERT\w*\s*\(")
STATIC = re.compile(r"\b(?:_Static_assert|static_assert)\s*\(")


def count(text):
    """How many functions, assertions and static assertions the text of a file has."""
    text = DIRECTIVE.sub("", COMMENT.sub("", text))
    return collections.Counter(functions=len(FUNCTION.findall(text)),
                               assertions=len(ASSERTION.findall(text)),
                               static=len(STATIC.findall(text)))


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    rooms = collections.defaultdict(collections.Counter)
    for file in sorted((root / "src").rglob("*.[ch]")):
        found = count(file.read_text(encoding="utf-8"))
        rooms[str(file.parent.relative_to(root / "src"))] += found
        rooms["all"] += found
    for file in sorted((root / "include").rglob("*.h")):
        found = count(file.read_text(encoding="utf-8"))
        rooms["include/elapse"] += found
        rooms["all"] += found
    if not rooms["all"]["functions"]:
        sys.exit("There is no function in src.")
    print(f"{'room':16} functions  assertions  a function  static")
    for room in sorted(rooms, key=lambda name: (name == "all", name)):
        found = rooms[room]
        ratio = found["assertions"] / found["functions"] if found["functions"] else 0
        print(f"{room:16} {found['functions']:9}  {found['assertions']:10}  {ratio:10.2f}  {found['static']:6}")


main()
