"""What the tests of the documentation read in a page of Markdown: code blocks, headings, links."""

import dataclasses
import re

FENCE = re.compile(r"^ {0,3}(`{3,}|~{3,})\s*([\w+-]*)\s*$")
LIST_ITEM = re.compile(r"^\s*([-*+]|\d+[.)])\s")
MARKER = re.compile(r"^<!-- test: (\w+) (\S+) -->$")
HEADING = re.compile(r"^#{1,6}\s+(.*?)\s*#*$")
LINK = re.compile(r"!?\[(?:[^\[\]]|\[[^\]]*\])*\]\(\s*<?([^()\s>]+)>?(?:\s+\"[^\"]*\")?\s*\)")
DEFINITION = re.compile(r"^ {0,3}\[[^\]]+\]:\s+(\S+)")


@dataclasses.dataclass
class Block:
    """A code block: its language ("indented" for one without a fence), its text, the line of
    the page where it begins, and what the comment before it says."""

    language: str
    text: str
    line: int
    marker: tuple[str, str] | None = None
    closed: bool = True

    def first_line(self):
        return next((line.strip() for line in self.text.splitlines() if line.strip()), "")


def _fenced(lines, begin, opening):
    end = begin + 1
    closing = re.compile(r"^ {0,3}" + opening.group(1)[0] + "{" + str(len(opening.group(1))) + r",}\s*$")
    while end < len(lines) and not closing.match(lines[end]):
        end += 1
    marker = MARKER.match(lines[begin - 1]) if begin > 0 else None
    return Block(
        language=opening.group(2) or "none",
        text="".join(line + "\n" for line in lines[begin + 1:end]),
        line=begin + 1,
        marker=marker.groups() if marker else None,
        closed=end < len(lines)), end + 1


def _indented(lines, begin):
    end = begin
    while end < len(lines) and (lines[end].startswith("    ") or not lines[end].strip()):
        end += 1
    text = "".join(line[4:] + "\n" for line in lines[begin:end]).rstrip("\n") + "\n"
    return Block(language="indented", text=text, line=begin + 1), end


def split(page):
    """The code blocks of the page, and its lines with those of the blocks left empty."""
    lines, blocks, prose = page.splitlines(), [], []
    at, in_list = 0, False
    while at < len(lines):
        line = lines[at]
        opening = FENCE.match(line)
        after_blank = at == 0 or not lines[at - 1].strip()
        if opening:
            block, end = _fenced(lines, at, opening)
        elif line.startswith("    ") and line.strip() and after_blank and not in_list:
            block, end = _indented(lines, at)
        else:
            if LIST_ITEM.match(line):
                in_list = True
            elif line.strip() and not line.startswith(" ") and after_blank:
                in_list = False
            prose.append(line)
            at += 1
            continue
        blocks.append(block)
        prose += [""] * (end - at)
        at = end
    return blocks, prose


def anchors(page):
    """The names that links may give for the page's headings, as the usual viewers make them."""
    found = set()
    for line in split(page)[1]:
        heading = HEADING.match(line)
        if heading is None:
            continue
        text = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading.group(1))
        name = re.sub(r"[^\w\- ]", "", text.lower()).replace(" ", "-")
        number, unique = 0, name
        while unique in found:
            number += 1
            unique = f"{name}-{number}"
        found.add(unique)
    return found


def links(page):
    """(line, target) for each link and picture of the page outside of code. A link's text may go
    on in the next line."""
    prose = "\n".join(split(page)[1])
    prose = re.sub(r"`[^`]*`", lambda code: re.sub(r"[^\n]", " ", code.group()), prose)
    for link in LINK.finditer(prose):
        yield prose.count("\n", 0, link.start()) + 1, link.group(1)
    for number, line in enumerate(prose.splitlines(), 1):
        definition = DEFINITION.match(line)
        if definition:
            yield number, definition.group(1)
