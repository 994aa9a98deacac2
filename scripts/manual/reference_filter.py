#!/usr/bin/env python3
"""reference_filter.py HEADER: the header as Doxygen wants it, on standard output: its comments
with Doxygen's commands in them, its declarations without bodies and private parts. Doxygen
calls it for each file (INPUT_FILTER in docs/reference/Doxyfile)."""

import pathlib
import re
import sys

import headers

NAME = re.compile(r"\b(elapse_\w+|ELAPSE_\w+)\b")
SPAN = re.compile(r"`([^`]+)`")


class Filter:
    def __init__(self, header, every):
        self.header = header
        self.links = {}
        for other in every.values():
            for item in other.items:
                if item.private or item.part_of:
                    continue
                mark = "@ref " if item.kind in ("struct", "enum", "typedef") else "#"
                self.links[item.name] = mark + item.name
                if item.kind == "enum":
                    self.links.update({member.name: "#" + member.name for member in item.members})

    def escaped(self, text):
        text = re.sub(r"[\\@#%]", r"\\\g<0>", text)
        text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
        return NAME.sub(lambda name: self.links.get(name[0], name[0]), text)

    def prose(self, text):
        parts = SPAN.split(text)
        return "".join(f"<code>{self.escaped(part)}</code>" if number % 2 else self.escaped(part)
                       for number, part in enumerate(parts))

    def blocks(self, blocks, brief):
        """The blocks; the first sentence is the brief description if that is wanted."""
        lines, in_list = [], False
        for number, block in enumerate(blocks):
            if (block.kind == "item") != in_list:
                in_list = not in_list
                lines.append("<ul>" if in_list else "</ul>")
            if block.kind == "item":
                lines.append(f"<li>{self.prose(block.text)}</li>")
            elif block.kind == "literal":
                command = "code{.c}" if re.search("[;{]$", block.text, re.M) else "verbatim"
                lines += ["", "@" + command, block.text, "@end" + command.partition("{")[0], ""]
            elif number == 0 and brief:
                first, rest = headers.first_sentence(block.text)
                lines += [f"@brief {self.prose(first)}", "", self.prose(rest), ""]
            else:
                lines += [self.prose(block.text), ""]
        if in_list:
            lines.append("</ul>")
        return lines

    def comment(self, lines):
        return "\n".join(["/**", *lines, "*/"])

    def documented(self, item):
        """The comment of a declaration."""
        comment = item.comment
        if comment is None:
            return ""
        lines = self.blocks(comment.effect, True)
        clauses = dict(comment.clauses)
        if item.kind == "function":
            clauses = {**self.header.rules, **clauses}
        for label in ("Errors", "Cost", "Threads", "Since"):
            if label in clauses:
                text = clauses[label]
                lines += [f"@par {label}", self.prose(text[0].upper() + text[1:]), ""]
        return self.comment(lines)

    def members(self, item):
        if item.opaque:
            return ""
        end = "," if item.kind == "enum" else ";"
        lines = []
        for member in item.members:
            if member.comment is not None:
                lines.append(self.comment(self.blocks(member.comment.blocks, True)))
            lines.append(member.declaration + end)
        return "\n".join(lines)

    def item(self, item):
        lines = [self.documented(item)]
        if item.kind in ("struct", "enum"):
            lines += [item.declaration, "{", self.members(item), "};"]
        elif item.kind == "define" and item.declaration.startswith("#"):
            lines.append(item.declaration)
        else:
            lines.append(item.declaration + ";")
        return "\n".join(lines)

    def whole(self):
        title = f"@brief {self.prose(self.header.title[0].upper() + self.header.title[1:])}."
        parts = [self.comment(["@file", title, "", *self.blocks(self.header.head.effect, False)])]
        parts += [self.item(item) for item in self.header.items
                  if not item.private and not item.part_of]
        return "\n\n".join(parts)


def main():
    path = pathlib.Path(sys.argv[1])
    try:
        every = headers.read_all(path.parent)
    except headers.Fault as fault:
        sys.exit(str(fault))
    print(Filter(every[path.name], every).whole())


if __name__ == "__main__":
    main()
