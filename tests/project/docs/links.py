#!/usr/bin/env python3
"""links.py [ROOT]: everything that the documentation points to exists: links between pages,
to headers and folders, to headings; files named in the tables of README.md and of the page about the folders; pages named in
sources, scripts and package files; pages of the guide that its index leaves out; kinds of tests
that the page about testing leaves out; tests that a page names."""

import pathlib
import re
import sys
import urllib.parse

import markdown

SKIPPED = {".git", "build", "corpus", "__pycache__"}
SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:")
SOURCES = {".c", ".h", ".py", ".sh", ".cmake", ".in", ".txt", ".docs", ".install", ".md", ".1", ".7"}
# Names of pages in running text. One that contains a * names no page in particular.
MENTION = re.compile(r"(?<![\w./*-])docs/[\w./-]*\.(?:md|[1-9])\b(?![/*])")
# A test: a file below tests/, and a function of it.
TEST = re.compile(r"`([\w./-]+\.c)::(\w+)`")
QUOTED = re.compile(r"`([^`]+)`")
# File names, as opposed to parameters, commands and numbers in the same tables.
PATH = re.compile(r"[\w.-]+(?:/[\w.-]*)+|[\w-]+\.(?:md|h|c|py|sh|svg)")


def files(root):
    for path in sorted(root.iterdir()):
        if path.name in SKIPPED or path.is_symlink():
            continue
        if path.is_dir():
            yield from files(path)
        else:
            yield path


def check_link(root, page, target):
    """The fault of the link, or None."""
    if SCHEME.match(target):
        return None
    name, _, anchor = urllib.parse.unquote(target).partition("#")
    path = (page.parent / name).resolve() if name else page
    if name.startswith("/") or not path.is_relative_to(root):
        return "leads out of the project"
    if path.relative_to(root).parts[:1] == ("build",):
        return "leads into the folder of builds"
    if not path.exists():
        return "there is no such file"
    if anchor and path.suffix != ".md":
        return "only a page has headings to link to"
    if anchor and anchor not in markdown.anchors(path.read_text()):
        return "there is no such heading"
    return None


def check_links(root):
    for page in files(root):
        if page.suffix != ".md":
            continue
        for line, target in markdown.links(page.read_text()):
            wrong = check_link(root, page, target)
            if wrong:
                yield f"{page.relative_to(root)}:{line}: {target}: {wrong}"


def check_tables(root):
    """Names in the tables of README.md and of the page about the folders: from the root, from include/, or in the folder that the
    row is about. In the row about tests/ each word in code style is one of its folders."""
    for page in (root / "README.md", root / "docs/guide/where_things_are.md"):
        if page.exists():
            yield from check_table(root, page)


def check_table(root, page):
    for number, line in enumerate(markdown.split(page.read_text())[1], 1):
        cells = line.split("|")
        if not line.startswith("|") or len(cells) < 3:
            continue
        first = QUOTED.search(cells[1])
        folder = root / first.group(1) if first and first.group(1).endswith("/") else root
        for name in QUOTED.findall(re.sub(r"\]\([^)]*\)", "]", line)):
            if not PATH.fullmatch(name) and not (folder == root / "tests" and name != "tests/"):
                continue
            if not any((place / name).exists() for place in (root, root / "include", folder)):
                yield f"{page.relative_to(root)}:{number}: {name}: there is no such file or folder"


def check_mentions(root):
    for path in files(root):
        if path.suffix not in SOURCES and path.name not in ("dev", "run"):
            continue
        # These mention pages of small projects that they make up.
        if path.parent == root / "tests/project/docs":
            continue
        text = path.read_text(errors="replace")
        if path.suffix == ".md":  # links are looked at by themselves
            text = re.sub(r"(?<=\])\([^)\n]*\)", "", text)
        for mention in MENTION.finditer(text):
            if not (root / mention.group()).exists():
                line = text.count("\n", 0, mention.start()) + 1
                yield f"{path.relative_to(root)}:{line}: {mention.group()}: there is no such page"


def check_index(root):
    """The index of the guide links to each of its pages, each says first what it is for, and README.md links to the guide."""
    index = root / "docs/guide/README.md"
    linked = {(index.parent / target.partition("#")[0]).resolve()
              for _, target in markdown.links(index.read_text())}
    for page in sorted(index.parent.glob("*.md")):
        if page != index and page not in linked:
            yield f"docs/guide/README.md: {page.name} is not in it"
        if page != index and not re.match(r"# [^\n]+\n\nThis page is for ", page.read_text()):
            yield f"docs/guide/{page.name}:3: it does not begin with what the page is for"
    if not any(target.startswith("docs/guide/") for _, target
               in markdown.links((root / "README.md").read_text())):
        yield "README.md: there is no link to the guide"


def check_kinds(root):
    """The page about testing names each folder of tests, or each folder inside that."""
    named = set(QUOTED.findall((root / "docs/guide/testing.md").read_text()))

    def has_place(folder):
        below = [one for one in folder.iterdir() if one.is_dir() and one.name not in SKIPPED]
        return (str(folder.relative_to(root)) in named
                or (below != [] and all(has_place(one) for one in below)))

    for folder in sorted((root / "tests").iterdir()):
        if folder.is_dir() and folder.name not in SKIPPED and not has_place(folder):
            yield f"docs/guide/testing.md: tests/{folder.name} is not in it"


def check_test(root, name, function):
    """The fault of a named test, or None. A test is defined by a macro whose name has TEST in it."""
    file = root / "tests" / name
    if not file.is_file():
        return "there is no such file below tests/"
    text = file.read_text()
    if not re.search(rf"^(\w*TEST\w*|CELL)\({function}\b", text, re.M):
        return "the file has no such test"
    return None


def check_tests(root):
    for page in files(root):
        if page.suffix != ".md":
            continue
        text = page.read_text()
        for named in TEST.finditer(text):
            wrong = check_test(root, *named.groups())
            if wrong:
                line = text.count("\n", 0, named.start()) + 1
                yield f"{page.relative_to(root)}:{line}: {named.group()[1:-1]}: {wrong}"


def check(root):
    root = root.resolve()
    checks = (check_links, check_tables, check_mentions, check_index, check_kinds, check_tests)
    return [fault for one in checks for fault in one(root)]


if __name__ == "__main__":
    FAULTS = check(pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else "."))
    sys.exit("\n".join(FAULTS) if FAULTS else 0)
