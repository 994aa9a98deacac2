#!/usr/bin/env python3
"""assertions.py [ROOT]: files, lines, functions and assertions, for each room of rooms.txt.

A line of code is one that is not blank without its comments. An assertion is a use of
ELAPSE__ASSERT or of a macro whose name begins so. One that says only that pointers are not NULL is
counted apart, as are static assertions. Inline functions and assertions in headers count like the
others; the headers of include/elapse have a line of their own. `assertions.py --test` counts those of
a text.
"""

import collections
import pathlib
import re
import sys

sys.dont_write_bytecode = True
from room_rules import FOLDER, LITERAL, NAME, PUBLIC, Rules, blank, without_comments

DIRECTIVE = re.compile(r"^[ \t]*#(?:[^\n]*\\\n)*[^\n]*", re.MULTILINE)
# The brace of a function stands at the left margin; those of types and tables do not.
FUNCTION = re.compile(r"^\{$", re.MULTILINE)
ASSERTION = re.compile(r"\bELAPSE__ASSERT\w*\s*\(")
STATIC = re.compile(r"\b(?:_Static_assert|static_assert)\s*\(")
# Names, members and elements alone: what a call returns is more than a pointer that was given.
NOT_NULL = re.compile(r"[\w.\[\]>*&-]+!=NULL(?:&&[\w.\[\]>*&-]+!=NULL)*")
COLUMNS = ["files", "lines", "functions", "assertions", "a function", "not NULL", "static"]


def argument(text, begin):
    """What stands between the parenthesis that ends before `begin` and its partner, no blanks."""
    depth, end = 1, begin
    while depth > 0:
        depth += {"(": 1, ")": -1}.get(text[end], 0)
        end += 1
    return re.sub(r"\s", "", text[begin:end - 1])


def count(text):
    """The columns of one file."""
    lines = sum(1 for line in text.splitlines() if line.strip())
    text = DIRECTIVE.sub("", LITERAL.sub(blank, text))
    stated = [argument(text, match.end()) for match in ASSERTION.finditer(text)]
    not_null = sum(1 for fact in stated if NOT_NULL.fullmatch(fact))
    return collections.Counter({"files": 1, "lines": lines, "functions": len(FUNCTION.findall(text)),
                                "assertions": len(stated) - not_null, "not NULL": not_null,
                                "static": len(STATIC.findall(text))})


SAMPLE = """
#define ELAPSE__ASSERT(condition) \\
    ((void)0)
struct shape {
    int sides;
};

static_assert(sizeof(int) == 4, "");
void first(struct shape *shape)
{
    ELAPSE__ASSERT(shape != NULL);
    ELAPSE__ASSERT(shape->next[1].sides != NULL && other
                   != NULL);
    ELAPSE__ASSERT(shape != NULL || other != NULL);
    ELAPSE__ASSERT(shape->next == NULL);
}

int second(void)
{
    ELAPSE__ASSERT(strchr(names, '(') != NULL);
    ELAPSE__ASSERT(shape != NULL && shape->sides > 2);
    ELAPSE__ASSERT_THAT(count(), <, 3);
}
"""


def test():
    wanted = collections.Counter({"files": 1, "lines": 20, "functions": 2, "assertions": 5,
                                  "not NULL": 2, "static": 1})
    if (found := count(SAMPLE)) != wanted:
        sys.exit(f"expected {wanted}, found {found}")


def main():
    if sys.argv[1:] == ["--test"]:
        test()
        return
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else ".")
    rules = Rules(FOLDER / NAME)
    rooms = collections.defaultdict(collections.Counter)
    for file in sorted([*(root / "src").rglob("*.[ch]"), *(root / PUBLIC).glob("*.h")]):
        path = file.relative_to(root)
        room = PUBLIC if str(path.parent) == PUBLIC else rules.room_of(path) or str(path.parent)
        found = count(without_comments(file))
        rooms[room] += found
        rooms["all"] += found
    if not rooms["all"]["functions"]:
        sys.exit("There is no function in src.")
    width = max(len(room) for room in rooms)
    print(" " * width, *(f"{column:>10}" for column in COLUMNS))
    for room in sorted(rooms, key=lambda name: (name == "all", name)):
        found = rooms[room]
        ratio = found["assertions"] / found["functions"] if found["functions"] else 0
        cells = [f"{ratio:.2f}" if column == "a function" else found[column] for column in COLUMNS]
        print(f"{room:{width}}", *(f"{cell:>10}" for cell in cells))


main()
