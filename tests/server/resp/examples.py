#!/usr/bin/env python3
"""examples.py: runs the examples (blocks of the kind `resp`) of docs/protocol.md and of the guide. The
examples of a page run in their order, in one connection to a new server.

    > COMMAND 'with words' in quotation marks
    < the reply: JSON; or an error as it is. … stands for any part of it.

Also checks that docs/protocol.md and docs/man/elapse-resp.7 have the syntax of each command of the
server, and of no other command.
"""

import json
import pathlib
import re
import shlex
import sys

import serving

ROOT = pathlib.Path(__file__).resolve().parents[3]
PAGE = "docs/protocol.md"
GUIDE = ["docs/guide/from_rabbitmq.md", "docs/guide/from_redis.md", "docs/guide/from_sidekiq.md", "docs/guide/from_sql.md"]
MANUAL = "docs/man/elapse-resp.7"
ANYTHING = "…"


def blocks(text):
    """The lines of each block, with their numbers."""
    block = None
    for number, line in enumerate(text.splitlines(), 1):
        if line.startswith("```"):
            if block is not None:
                yield block
            block = [] if line == "```resp" else None
        elif block is not None:
            block.append((number, line))


def notation(value):
    """A reply in the notation of the page."""
    if isinstance(value, serving.ReplyError):
        return f"-{value}"
    return json.dumps(value, ensure_ascii=False)


def matches(pattern, reply):
    parts = [re.escape(part) for part in pattern.split(ANYTHING)]
    return re.fullmatch(".*".join(parts), reply, re.S) is not None


def run_block(connection, block):
    """Yields what differs from the page."""
    reply = None
    for number, line in block:
        mark, rest = line[:2], line[2:]
        if mark == "> ":
            if reply is not None:
                yield f"{number}: the reply before is not on the page: {reply}"
            reply = notation(connection.ask(*shlex.split(rest)))
        elif mark == "< " and reply is not None:
            if not matches(rest, reply):
                yield f"{number}: the reply is {reply}"
            reply = None
        else:
            yield f"{number}: neither a command nor its reply: {line}"


def faults_of_examples(text):
    with serving.server() as port, serving.Connection(port) as connection:
        examples = list(blocks(text))
        if not examples:
            yield "there are no examples"
        for block in examples:
            yield from run_block(connection, block)


def documents_of_server():
    with serving.server() as port, serving.Connection(port) as connection:
        connection.ask("HELLO", 3)
        return connection.ask("COMMAND", "DOCS")


def syntax_of(name, document):
    arguments = document.get("arguments")
    return name.upper() + (" " + arguments[0]["display_text"] if arguments else "")


def faults_of_manual(text, documents):
    """Compares the manual page with the server's own documentation."""
    expected = {(syntax_of(name, document), document["summary"] + ".")
                for name, document in documents.items()}
    found = set(re.findall(r'^\.It Li "(.*)"\n(.*)$', text, re.M))
    for entry in sorted(expected ^ found):
        yield f"{'it lacks' if entry in expected else 'the server has no'} {entry}"


def faults_of_syntax(text, documents):
    """Compares the page with the server's own documentation."""
    lines = set(re.findall(r"^    ([A-Z].*)$", text, re.M))
    for cell in re.findall(r"^\| (`.*?`) \|", text, re.M):
        lines |= {part.replace("\\|", "|") for part in re.findall(r"`([^`]*)`", cell)}
    for name, document in documents.items():
        if syntax_of(name, document) not in lines:
            yield f"the page lacks: {syntax_of(name, document)}"
    named = set(re.findall(r"`([A-Z]+)`", text.split("In the examples")[0]))
    for name in named - {name.upper() for name in documents} - {"SET", "LPUSH", "ZADD"}:
        yield f"the server has no {name}"


def main():
    texts = {page: (ROOT / page).read_text() for page in (PAGE, *GUIDE, MANUAL)}
    documents = documents_of_server()
    faults = [(page, fault) for page in (PAGE, *GUIDE) for fault in faults_of_examples(texts[page])]
    faults += [(PAGE, fault) for fault in faults_of_syntax(texts[PAGE], documents)]
    faults += [(MANUAL, fault) for fault in faults_of_manual(texts[MANUAL], documents)]
    for page, fault in faults:
        print(f"{page}:{fault}")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
