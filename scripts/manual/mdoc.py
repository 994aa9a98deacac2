"""Writes the text of comments in mdoc, the language of manual pages."""

import re
import textwrap

WIDTH = 78
# A word: opening punctuation, the word itself, closing punctuation.
WORD = re.compile(r"(?P<open>[(\[\"]*)(?P<core>`[^`]+`|\w+\(\)|[\w./*-]*\w)(?P<close>[^\w`]*|'s[.,;:]?)$")
PUNCTUATION = ".,;:?!)]"


def escape(text):
    return text.replace("\\", "\\e")


def argument(text):
    """Any text as one argument of a macro."""
    text = escape(text).replace('"', "\\(dq")
    return f'"{text}"' if re.search(r"[^\w*-]", text) or len(text) < 3 else text


def literal(text):
    for plain, escaped in (("-", "\\-"), ("'", "\\(aq"), ("`", "\\(ga"), ("^", "\\(ha"),
                           ("~", "\\(ti")):
        text = escape(text) if plain == "-" else text
        text = text.replace(plain, escaped)
    return "\n".join("\\&" + line if line.startswith(".") else line for line in text.split("\n"))


def sentences(text):
    return re.split(r"(?<=[.?!]) (?=[A-Z`\"(*])", text)


class Writer:
    """Writes a page. `mark(word)` returns the macro and the arguments for a word, or None."""

    def __init__(self, mark):
        self.lines = []
        self.mark = mark
        self.begun = True  # nothing stands above in this section or item

    def macro(self, *words):
        self.lines.append("." + " ".join(words))

    def section(self, name):
        self.macro("Sh", name)
        self.begun = True

    def item(self, *words):
        self.macro("It", *words)
        self.begun = True

    def list(self, kind, *words):
        self.macro("Bl", "-" + kind, *words)

    def end_list(self):
        self.macro("El")
        self.begun = False

    def plain(self, words):
        # No line is broken after a hyphen, because readers could not tell it from hyphenation.
        for line in textwrap.wrap(escape(" ".join(words)), WIDTH, break_long_words=False,
                                  break_on_hyphens=False):
            self.lines.append("\\&" + line if line[0] in ".'" else line)

    def sentence(self, text):
        words = []
        for word in re.findall(r"(?:`[^`]+`|\S)+", text):
            parts = WORD.match(word)
            marked = parts and self.mark(parts["core"])
            if not marked:
                words.append(word.replace("`", ""))
                continue
            self.plain(words)
            words = []
            opening = ["Pf", argument(parts["open"])] if parts["open"] else []
            closing = parts["close"]
            if all(mark in PUNCTUATION for mark in closing):
                closing = list(closing)
            else:
                closing = ["Ns", argument(closing)]
            self.macro(*opening, *marked, *closing)
        self.plain(words)

    def text(self, text):
        if not self.begun:
            self.macro("Pp")
        self.begun = False
        for sentence in sentences(text):
            self.sentence(sentence)

    def labelled(self, label, text):
        """A paragraph that begins with its topic."""
        if not self.begun:
            self.macro("Pp")
        self.begun = False
        self.macro("Em", label, ":")
        for sentence in sentences(text):
            self.sentence(sentence)

    def literal(self, text):
        self.macro("Bd", "-literal", "-offset", "indent")
        self.lines.append(literal(text))
        self.macro("Ed")
        self.begun = False

    def blocks(self, blocks):
        in_list = False
        for block in blocks:
            if (block.kind == "item") != in_list:
                in_list = not in_list
                if in_list:
                    self.list("bullet")
                else:
                    self.end_list()
            if block.kind == "item":
                self.item()
                self.text(block.text)
            elif block.kind == "literal":
                self.literal(block.text)
            else:
                self.text(block.text)
        if in_list:
            self.end_list()
