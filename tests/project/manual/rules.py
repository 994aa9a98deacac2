"""The rules that the public headers keep as the manual: faults(compiler, headers) lists each place
that breaks one."""

import pathlib
import re
import sys
import unittest

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent.parent
INCLUDE = ROOT / "include"
sys.path[:0] = [str(ROOT / "scripts/manual"), str(ROOT / "tests/project/install")]

import headers as manual  # noqa: E402
import man_pages  # noqa: E402
import symbols  # noqa: E402

UNIT = re.compile(r"_(ns|us|ms|s|ticks?)$")
TIME_WORDS = {"now", "deadline", "delay", "earliest", "latest", "timeout", "period", "slack",
              "tick", "intended", "actual", "due", "lateness", "time"}
# Integers of 64 bits that count, name or find something.
NO_TIMES = {"capacity", "count", "cursor", "durable", "id", "kicked", "position", "removed",
            "running"}
INTEGER_64 = re.compile(r"\bu?int64_t\b")
OTHER_INTEGER = re.compile(r"\b(int|long|unsigned|size_t|u?int32_t)\b")
CAPITALS = re.compile(r"\bELAPSE_[A-Z0-9_]+\b|\b[A-Z][A-Z0-9_]{2,}\b")


def run_tests():
    """Runs the tests of the calling program. Exits with 77, skipped, if no test failed but some
    could not be run."""
    result = unittest.main(exit=False).result
    sys.exit(1 if not result.wasSuccessful() else 77 if result.skipped else 0)


def public_functions(compiler, include):
    """The functions that a program can call, as the compiler sees them, found without the code that
    makes the manual: those that the shared library exports, and the static inline ones."""
    names = symbols.declared(compiler, include)
    text = symbols.outside_braces(symbols.declarations(compiler, include))
    text = re.sub(r"__attribute__\s*\(\(.*?\)\)\s*\)?", " ", text)
    names |= set(re.findall(r"\bstatic\s+inline\b[^;()=]*?\b(\w+)\s*\(", text))
    return {name for name in names if not name.startswith("elapse__")}


def parameters(declaration):
    """Type and name of each parameter."""
    inside = declaration[declaration.index("(") + 1:-1]
    found = [re.match(r"(.*?)(\w+)$", each.strip()) for each in inside.split(",")]
    return [each.groups() for each in found if each and each[1]]


def is_time(kind, name):
    """An integer of 64 bits is a time, unless its name says otherwise; another integer is one if
    its name says so."""
    if INTEGER_64.search(kind):
        return name not in NO_TIMES
    return bool(TIME_WORDS & set(name.split("_")) and OTHER_INTEGER.search(kind))


class Rules:
    def __init__(self, book):
        self.book = book
        self.found = []
        self.known = {"NULL", "SIZE_MAX"}
        for name in book.constants:
            parts = name.split("_")
            self.known |= {"_".join(parts[start:]) for start in range(len(parts))}

    def fault(self, header, item, text):
        self.found.append(f"{header.name}:{item.line}: {item.name}: {text}")

    def bare_times(self, header):
        """Whether a rule at the head gives a unit to times without one in their names."""
        rule = header.rules.get("Times", "")
        return "ticks" in rule and "names end in" not in rule

    def function(self, header, item):
        comment = item.comment
        if item.part_of:
            whole = [each for each in header.functions() if each.name == item.part_of]
            if not whole or whole[0].part_of:
                self.fault(header, item, f"{item.part_of}, which calls it, is not there")
            return
        if not any(block.kind == "text" and re.search(r"\w", block.text)
                   for block in comment.effect):
            self.fault(header, item, "no effect")
        self.errors(header, item)
        for label in ("Cost", "Threads", "Since"):
            said = comment.clauses.get(label, header.rules.get(label, ""))
            if not re.search(r"\w", said):
                self.fault(header, item, f"no {label.lower()}")
        self.units(header, item)

    def errors(self, header, item):
        own = item.comment.clauses.get("Errors")
        named = self.book.errors(header, item)
        if re.match(r"enum elapse_error\b", item.declaration):
            if not named:
                self.fault(header, item, "returns an error, but names none")
        elif own is None and "Errors" not in header.rules:
            self.fault(header, item, "neither errors nor «Cannot fail.»")
        elif named:
            self.fault(header, item, "names errors, but returns none")
        for word in CAPITALS.findall(own or ""):
            if word not in self.known:
                self.fault(header, item, f"unknown error {word}")

    def units(self, header, item):
        if self.bare_times(header):
            return
        times = [name for kind, name in parameters(item.declaration) if is_time(kind, name)]
        if (re.match(r"u?int64_t ", item.declaration)
                and item.name.rsplit("_", 1)[1] not in NO_TIMES):
            times.append(item.name)
        for name in times:
            if not UNIT.search(name):
                self.fault(header, item, f"{name} has no unit")

    def members(self, header, item):
        for member in item.members if not item.opaque else []:
            if member.comment is None:
                self.fault(header, item, f"{member.name} has no comment")
                continue
            words = set(member.name.split("_"))
            bare = (item.kind == "struct" and INTEGER_64.search(member.declaration)
                    and "[" not in member.declaration and "(" not in member.declaration
                    and TIME_WORDS & words and not UNIT.search(member.name))
            if bare and not self.bare_times(header):
                self.fault(header, item, f"{member.name} has no unit")

    def header(self, header):
        for item in header.items:
            if item.private:
                continue
            if item.kind == "function":
                self.function(header, item)
            else:
                self.members(header, item)


def faults(compiler, include):
    include = pathlib.Path(include)
    try:
        book = man_pages.Manual(include / "elapse")
    except manual.Fault as fault:
        return [str(fault)]
    rules = Rules(book)
    read = set()
    for header in book.headers.values():
        rules.header(header)
        read |= {item.name for item in header.functions()}
    public = public_functions(compiler, include.resolve())
    rules.found += [f"{name}: it is missing in the manual" for name in sorted(public - read)]
    rules.found += [f"{name}: in the manual, but not in the library" for name in sorted(read - public)]
    if not public:
        rules.found.append("there are no functions")
    return rules.found
