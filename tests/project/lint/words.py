#!/usr/bin/env python3
"""words.py: refuses the words that words.txt lists, in the files whose names are on its input.

    words.py --count    prints how many each file has, instead of each
    words.py --test     shows that each rule refuses its example, and only where it should

A phrase is found across the ends of lines, in comments as well. A name in the list of exemptions
is that of a file below the working directory.
"""

import fnmatch
import pathlib
import re
import sys

LIST = pathlib.Path(__file__).with_name("words.txt")
# A blank of a pattern: blanks, also around one end of a line and the marks of a comment there.
GAP = r"(?:[ \t]*\n[ \t]*(?:\*|//+|\#+|\.\\\")?[ \t]*|[ \t]+|[_-])"
# Such words, and names of documents that do not exist, are put together in this file, so that it
# passes this check and that of links.
UNFINISHED = "|".join(["TO" "DO", "FIX" "ME", "XX" "X", "HA" "CK"])


class Rule:
    def __init__(self, pattern, example, better, case):
        self.pattern, self.example, self.better = pattern, example, better
        text = pattern.replace("{s}", "(s|ed|ing)?").replace(" ", GAP)
        self.regex = re.compile(rf"(?<![A-Za-z])(?:{text})(?![A-Za-z])", 0 if case else re.IGNORECASE)


class List:
    def __init__(self, lines):
        self.rules = [Rule(UNFINISHED, "XX" "X: later", "finish it, or write it into an issue", True)]
        self.exempt, self.allowed = [], []
        for number, line in enumerate(lines, 1):
            if line.startswith("#") or not line.strip():
                continue
            kind, rest = line.split(None, 1)
            words = [word.strip() for word in re.split(r" \| ", rest)]
            if kind in ("refuse", "refuse-case") and len(words) == 3:
                self.rules.append(Rule(*words, kind == "refuse-case"))
            elif kind == "exempt" and len(words) == 3:
                self.exempt.append(words)
            elif kind == "allow" and len(words) == 2:
                self.allowed.append(words[0].replace(" ", GAP))
            else:
                sys.exit(f"{LIST.name}:{number}: this is no rule: {line.strip()}")
        patterns = {rule.pattern for rule in self.rules} | {"*"}
        for _, pattern, _ in self.exempt:
            if pattern not in patterns:
                sys.exit(f"{LIST.name}: an exemption of {pattern}, which is no pattern")
        self.allow = re.compile("|".join(self.allowed), re.IGNORECASE)

    def rules_for(self, name):
        free = {pattern for files, pattern, _ in self.exempt if fnmatch.fnmatch(name, files)}
        return [] if "*" in free else [rule for rule in self.rules if rule.pattern not in free]

    def find(self, name, text):
        """The line, the text and the rule of each word that is refused."""
        rules = self.rules_for(name)
        text = self.allow.sub(lambda match: re.sub(r"[^\n]", ".", match.group()), text) if rules else ""
        found = [(text.count("\n", 0, match.start()) + 1, match.group(), rule)
                 for rule in rules for match in rule.regex.finditer(text)]
        return sorted(found, key=lambda one: one[0])


def check(words, names, count):
    refused = 0
    for name in names:
        name = str(pathlib.PurePath(name))
        try:
            text = pathlib.Path(name).read_text(encoding="utf-8")
        except UnicodeDecodeError:
            continue
        found = words.find(name, text)
        refused += len(found)
        if count and found:
            print(f"{len(found):5} {name}")
        for line, phrase, rule in [] if count else found:
            print(f"{name}:{line}: \"{' '.join(phrase.split())}\"; better: {rule.better}")
    if refused:
        print(f"{refused} words to replace; {LIST} lists them, and the exemptions.")
    return refused == 0


def test(words):
    failures = []

    def expect(name, text, refused):
        if bool(words.find(name, text)) != refused:
            failures.append(f"{name}: {'not refused' if refused else 'refused'}: {text!r}")

    for rule in words.rules:
        if not rule.regex.search(rule.example):
            failures.append(f"{rule.pattern} does not refuse its example: {rule.example}")
        expect("a.c", f"/* Then {rule.example} */", True)
        if " " in rule.pattern and " " in rule.example:
            for end in ("\n", "\n * ", "\n# ", "\n    // "):
                expect("a.c", re.sub(r"(?<=\w) (?=\w)", end, rule.example), True)
            expect("a.md", rule.example.upper(), True)
        expect("docs/decisions/0001-x" ".md", rule.example, False)
        expect("CHANGELOG.md", rule.example, False)
    expect("bench/workloads.h", "DRA" "IN_SPAN", False)
    expect("src/a.c", "DRA" "IN_SPAN", True)
    expect("docs/a" ".md", "fill and\ndrain; the proleptic Gregorian\n * calen" "dar", False)
    expect("src/a.c", "uint64_t unix_ns; /* says what is wrong; what is the time? */", False)
    expect("src/a.c", "the rest remains where it was, output(offset)", False)
    for line in failures:
        print(line)
    return not failures


def main():
    words = List(LIST.read_text(encoding="utf-8").splitlines())
    option = sys.argv[1] if len(sys.argv) > 1 else ""
    if option not in ("", "--count", "--test") or len(sys.argv) > 2:
        sys.exit("usage: words.py [--count | --test]")
    passed = test(words) if option == "--test" else check(
        words, sys.stdin.read().splitlines(), option == "--count")
    sys.exit(0 if passed else 1)


main()
