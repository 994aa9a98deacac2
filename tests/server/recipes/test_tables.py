#!/usr/bin/env python3
"""test_tables.py: tests the tables of docs/guide/from_*.md, which compare commands of another program with
those of this server. The server must accept each of its commands as the table writes it."""

import pathlib
import re
import shlex
import sys

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "tests/support"), str(ROOT / "tests/server/resp")]

import serving  # noqa: E402

# What stands for something else.
STANDS_FOR = {"id": "1", "lease": "1-1", "milliseconds": "4102444800000"}


def commands_of(page, names):
    """The commands of the tables, with the numbers of their lines. An ellipsis stands for the tube
    and the body of a put; options alone are those of a put."""
    for number, line in enumerate(page.read_text().splitlines(), 1):
        cells = line.split(" | ") if line.startswith("| ") else []
        for text in re.findall(r"`([^`]*)`", " ".join(cells[1:])):
            words = [STANDS_FOR.get(word, word) for word in shlex.split(text)]
            if words[0] in ("KEY", "TOKEN", "RETRY", "BACKOFF", "EXPIRE", "PRIORITY") and words[1:]:
                words = ["PUT", "...", *words]
            if words[0] in names and words[1:]:
                yield number, [part for word in words
                               for part in (("tube", "body") if word == "..." else (word,))]


def main():
    pages = sorted((ROOT / "docs/guide").glob("from_*.md"))
    faults, tried = [], 0
    with serving.server() as port, serving.Connection(port) as connection:
        names = {document.upper() for document in connection.ask("COMMAND", "DOCS")[::2]}
        for page in pages:
            for number, words in commands_of(page, names):
                if words[0] == "RESERVE":  # so that it does not wait
                    connection.ask("PUT", words[1], "body")
                reply = connection.ask(*words)
                tried += 1
                if isinstance(reply, serving.ReplyError):
                    faults.append(f"{page.name}:{number}: {' '.join(words)}: {reply}")
    print(f"{tried} commands", *faults, sep="\n")
    return 1 if faults or tried < 20 else 0


if __name__ == "__main__":
    sys.exit(main())
