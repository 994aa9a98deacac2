"""Reads a public header as a manual: the comment at its head, and each declaration with the
comment in front of it.

The comments follow these rules, which help human readers too:
- The head begins with "Elapse: TITLE." A paragraph or an item of a list there that begins with
  "Times:", "Threads:", "Errors:", "Cost:" or "Since:" is a rule for every function below.
- A comment belongs to the declaration after it, and to those that follow that without a blank line.
- In the comment of a function "Errors:", "Cost:", "Threads:" and "Errors, cost:" begin a clause on that
  topic, which ends with the paragraph or at the next such word; "Cannot fail.", "Any thread." and
  "Since 0.2." are sentences of their own.
- A comment "Called by elapse_x ...", "Part of elapse_x ...", "elapse_x calls this ..." or "What elapse_x
  calls ..." marks a function that only elapse_x calls; it is not in the manual.
- Four blanks begin a picture or code, and "- " begins an item of a list.
- A name with two underscores after "elapse" is private. So are the fields of a struct whose comment
  says "All fields are private."
"""

import dataclasses
import pathlib
import re
import typing

LABELS = ("Times", "Threads", "Errors", "Cost", "Since")
LABEL = re.compile(
    r"(?:^|(?<=[.;:)] ))(?:(Errors, cost|Errors|Cost|Threads):|(Cannot fail)\.|"
    r"(Any thread(?:, any time)?)\.|Since (\d+\.\d+)\.)\s*")
PART_OF = re.compile(r"(?:What|Called by|Part of) (elapse_\w+)|(elapse_\w+) calls this")
TOKEN = re.compile(
    r"""(?P<comment>/\*.*?\*/)|(?P<directive>^[ \t]*\#(?:[^\n]*\\\n)*[^\n]*)"""
    r"""|(?P<text>"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*')|(?P<other>[^\s])|(?P<blank>\s+)""",
    re.S | re.M | re.X)


class Fault(Exception):
    """A header that cannot be read as a manual."""


@dataclasses.dataclass
class Block:
    kind: str  # "text", "item" or "literal"
    text: str


@dataclasses.dataclass
class Comment:
    blocks: list
    effect: list = dataclasses.field(default_factory=list)  # blocks, without what follows
    clauses: dict = dataclasses.field(default_factory=dict)  # of LABELS: text

    @property
    def text(self):
        return " ".join(block.text for block in self.blocks)


@dataclasses.dataclass
class Member:
    name: str
    declaration: str
    comment: typing.Optional[Comment]
    private: bool = False


@dataclasses.dataclass
class Item:
    kind: str  # "function", "struct", "enum", "typedef" or "define"
    name: str
    declaration: str  # without body and marks
    comment: typing.Optional[Comment]
    line: int
    section: str
    members: list = dataclasses.field(default_factory=list)
    must_check: bool = False

    @property
    def private(self):
        return bool(re.match(r"elapse__|ELAPSE__", self.name))

    @property
    def part_of(self):
        """The only function that calls this one, if a program must not call it."""
        found = self.kind == "function" and self.comment and PART_OF.match(self.comment.text)
        return found[1] or found[2] if found else None

    @property
    def opaque(self):
        return self.comment is not None and "All fields are private" in self.comment.text


@dataclasses.dataclass
class Header:
    name: str
    title: str
    head: Comment
    rules: dict  # of LABELS: text
    items: list

    def functions(self):
        return [item for item in self.items if item.kind == "function" and not item.private]


def blocks_of(lines):
    """The blocks of a comment, given its lines without /*, * and */."""
    blocks, blank = [], True
    for line in lines:
        last = blocks[-1] if blocks else None
        indent = len(line) - len(line.lstrip())
        if not line.strip():
            blank = True
            continue
        if indent >= 4:
            if last and last.kind == "literal":
                last.text += ("\n\n" if blank else "\n") + line
            else:
                blocks.append(Block("literal", line))
        elif line.startswith("- "):
            blocks.append(Block("item", line[2:].strip()))
        elif last and not blank and last.kind != "literal":
            last.text += " " + line.strip()
        else:
            blocks.append(Block("text", line.strip()))
        blank = False
    for block in blocks:
        if block.kind == "literal":
            rows = block.text.split("\n")
            least = min(len(row) - len(row.lstrip()) for row in rows if row.strip())
            block.text = "\n".join(row[least:] for row in rows)
    return blocks


def unframed(comment):
    lines = comment[2:-2].split("\n")
    return [re.sub(r"^\s*\*( |$)", "", line).rstrip() if number else line.strip()
            for number, line in enumerate(lines)]


def split_clauses(comment):
    """Moves the clauses out of the paragraphs; the rest is the effect."""
    for block in comment.blocks:
        if block.kind == "literal":
            comment.effect.append(block)
            continue
        found = list(LABEL.finditer(block.text))
        kept = block.text[:found[0].start()] if found else block.text
        for match, following in zip(found, found[1:] + [None]):
            text = block.text[match.end():following.start() if following else None].strip()
            named, cannot_fail, any_thread, since = match.groups()
            if named:
                for label in named.split(", "):
                    add_clause(comment, label[0].upper() + label[1:], text)
                continue
            if cannot_fail:
                add_clause(comment, "Errors", "none: it cannot fail.")
            elif any_thread:
                add_clause(comment, "Threads", any_thread[0].lower() + any_thread[1:] + ".")
            else:
                add_clause(comment, "Since", f"version {since}.")
            kept += " " + text
        if kept.strip():
            comment.effect.append(Block(block.kind, kept.strip()))


def add_clause(comment, label, text):
    if label in comment.clauses:
        comment.clauses[label] += " " + text
    else:
        comment.clauses[label] = text


def comment_of(text):
    comment = Comment(blocks_of(unframed(text)))
    split_clauses(comment)
    return comment


def tidy(declaration):
    """A declaration on one line, without attributes for compilers."""
    text = re.sub(r"\b(ELAPSE_API|ELAPSE_MUST_CHECK|inline)\b", " ", declaration)
    text = re.sub(r"\s+", " ", text).strip()
    return re.sub(r"^(extern|static) ", "", text)


def headed(heading, comment):
    return comment_of(f"/* {heading.text.rstrip('.')}: {comment.text} */") if heading else comment


def members_of(kind, body):
    """The fields of a struct, or the constants of an enumeration."""
    # `before` is the comment in front. It belongs to the fields up to a blank line or the next such
    # comment. If the first of these has a comment behind it, `before` is a heading for all of them.
    members, before, heading, text = [], None, None, ""
    end = ";" if kind == "struct" else ","
    depth, last, first_after_comment = 0, None, False
    for match in TOKEN.finditer(body + ("" if kind == "struct" else ",")):
        token = match.group()
        if match["comment"]:
            same_line = last is not None and "\n" not in body[last:match.start()]
            if same_line and not text.strip():
                if members[-1].comment and first_after_comment:
                    before, heading = None, members[-1].comment
                members[-1].comment = headed(heading, comment_of(token))
            else:
                before, heading, last = comment_of(token), None, None
                first_after_comment = True
        elif match["blank"]:
            if token.count("\n") > 1 and not text.strip() and last is not None:
                before = heading = None
            text += " "
        else:
            depth += (token in "({[") - (token in ")}]")
            if token == end and depth == 0:
                declaration = re.sub(r"\s+", " ", text).strip()
                if declaration:
                    first_after_comment = last is None
                    members.append(Member(member_name(kind, declaration), declaration, before))
                    last = match.end()
                text = ""
            else:
                text += token
    for member in members:
        member.private = "elapse__" in member.declaration
    return members


def member_name(kind, declaration):
    if kind == "enum":
        return declaration.split("=")[0].strip()
    pointer = re.search(r"\(\*(\w+)\)", declaration)
    return pointer[1] if pointer else re.search(r"(\w+)\s*(\[.*\])?(\s*:.*)?$", declaration)[1]


def item_of(text, body, comment, line, section):
    """The declaration in `text`, in which {} stands for `body`."""
    declaration = tidy(text)
    must_check = "ELAPSE_MUST_CHECK" in text
    aggregate = re.match(r"(struct|enum) ?(\w*) ?(\{\})?;?$", declaration)
    if aggregate:
        kind, name, has_body = aggregate.groups()
        members = members_of(kind, body) if has_body else []
        if not name:  # a constant by itself
            constant = members[0]
            return Item("define", constant.name, f"enum {{ {constant.declaration} }}", comment, line,
                        section)
        return Item(kind, name, f"{kind} {name}", comment, line, section, members)
    if declaration.startswith("typedef"):
        name = re.search(r"(\w+)\s*\(", declaration)[1]
        return Item("typedef", name, declaration.rstrip(";"), comment, line, section)
    function = re.match(r"[^()=]*?\b(\w+) ?\(", declaration)
    if function:
        declaration = re.sub(r" ?(\{\})?;?$", "", declaration)
        return Item("function", function[1], declaration, comment, line, section,
                    must_check=must_check)
    raise Fault(f"line {line}: unknown kind of declaration: {declaration}")


def define_of(directive, comment, line, section):
    name = re.match(r"\s*#\s*define\s+(\w+)", directive)
    if not name or re.search(r"_H$", name[1]):
        return None
    return Item("define", name[1], directive.strip(), comment, line, section)


def items_of(source):
    """The declarations of a header below its head."""
    items, comment, section = [], None, ""
    text, body, depth, begun = "", "", 0, 0
    for match in TOKEN.finditer(source):
        token, line = match.group(), source.count("\n", 0, match.start()) + 1
        if depth > 0 or text.strip():  # inside a declaration
            opens, closes = token == "{", token == "}"
            if closes:
                depth -= 1
            if depth > 0:
                body += token
            elif closes:
                text += "}"
            elif not match["directive"] and not match["comment"]:
                text += token
            if opens:
                depth += 1
            # A struct ends in ";", a function with its body.
            ends = token == ";" or (closes and ")" in text and not text.startswith("typedef"))
            if depth == 0 and ends:
                items.append(item_of(text, body, comment, begun, section))
                text, body = "", ""
        elif match["comment"]:
            mark = re.match(r"/\* ---- (.*) ---- \*/$", token)
            section = mark[1] if mark else section
            comment = None if mark else comment_of(token)
        elif match["directive"]:
            item = define_of(token, comment, line, section)
            if item and not any(other.name == item.name for other in items):
                items.append(item)
        elif match["blank"]:
            if token.count("\n") > 1:
                comment = None
        else:
            text, begun = token, line
    return items


def first_sentence(text):
    """The first sentence of a text, and the rest."""
    found = re.match(r"(.+?[.:])(?: (?=[A-Z`(*])|$)(.*)$", text, re.S)
    return (found[1], found[2]) if found else (text, "")


def read(path):
    path = pathlib.Path(path)
    # The lines for C++ mean nothing to a reader.
    source = re.sub(r"^#ifdef __cplusplus\n.*?^#endif\n",
                    lambda found: "\n" * found[0].count("\n"), path.read_text(), flags=re.M | re.S)
    opening = re.match(r"/\*.*?\*/", source, re.S)
    if not opening:
        raise Fault(f"{path.name}: no comment at its head")
    head = Comment(blocks_of(unframed(opening[0])))
    title = head.blocks and re.match(r"Elapse: ", head.blocks[0].text)
    if not title:
        raise Fault(f"{path.name}:1: the head does not begin with «Elapse: TITLE.»")
    name, rest = first_sentence(head.blocks[0].text[title.end():])
    head.effect = [Block("text", rest)] if rest else []
    head.effect += head.blocks[1:]
    rules = {}
    for block in head.blocks:
        label = re.match(rf"({'|'.join(LABELS)}): (.*)", block.text, re.S)
        if label and block.kind != "literal":
            rules[label[1]] = label[2]
    rest_of_file = re.sub(r"[^\n]", " ", opening[0]) + source[opening.end():]
    try:
        items = items_of(rest_of_file)
    except Fault as fault:
        raise Fault(f"{path.name}: {fault}") from None
    return Header(path.name, name.rstrip(".:"), head, rules, items)


def read_all(folder):
    """All headers in a folder, by name."""
    return {path.name: read(path) for path in sorted(pathlib.Path(folder).glob("*.h"))}
