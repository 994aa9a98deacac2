#!/usr/bin/env python3
"""make.py FOLDER: writes the site into FOLDER: static files, which need no network and no server to be read.

It is the documents of this project in the order of docs/guide/README.md, the manual pages and the reference
made from the headers, laid out by Sphinx with the theme of Read the Docs. Pages are copied with their links
rewritten: to another page; to a manual page or a header, in the reference; to a source, which is shown as text.
"""

import html
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path[:0] = [str(ROOT / "scripts/manual"), str(ROOT / "tests/project/docs")]

import html_pages  # noqa: E402
import man_pages  # noqa: E402
import markdown  # noqa: E402

GUIDE = "docs/guide/README.md"
TARGET = re.compile(r"(!?)(\](?:\(|: +))<?([^()\s>]+)>?")
SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:")
CODE = re.compile(r"(`+)(?:(?!\1).)+\1")
REFERENCE = ("docs/protocol.md", "docs/cluster_protocol.md", "docs/promises.md", "docs/glossary.md", "docs/install.md")
PROJECT = ("SECURITY.md", "docs/threat_model.md", "CHANGELOG.md", "ARCHITECTURE.md", "CONTRIBUTING.md",
           "examples/README.md", "bench/README.md", "docs/decisions/README.md")
SOURCE_PAGE = """<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<title>{name}</title><style>body {{ font: 15px/1.5 sans-serif; margin: 1em; }} pre {{ overflow-x: auto; }}</style></head>
<body><p><a href="{home}">Elapse</a>: {name}</p><pre>{text}</pre></body></html>
"""


class Fault(Exception):
    """Something is missing, or is not as this script expects it."""


def place_of(page):
    """Where the page lies in the source that Sphinx reads."""
    return "index.md" if page == "README.md" else page


def linked_from(page):
    """The files that the page links to, as paths from the root."""
    path = ROOT / page
    for _, target in markdown.links(path.read_text()):
        name = target.partition("#")[0]
        if name and not SCHEME.match(target):
            yield (path.parent / name).resolve().relative_to(ROOT).as_posix()


def all_pages():
    """README and each page that can be reached from it."""
    found, left = [], ["README.md", *REFERENCE, *PROJECT]
    while left:
        page = left.pop(0)
        if page not in found:
            found.append(page)
            left += [name for name in linked_from(page) if name.endswith(".md")]
    return found


def chapters():
    """The guide's parts with their pages, in the order of its index."""
    parts, name = [], None
    for line in (ROOT / GUIDE).read_text().splitlines():
        heading = re.fullmatch(r"\*\*(.+)\*\*", line)
        if heading:
            name = heading[1]
            parts.append((name, []))
        elif line.startswith("| [") and name is not None:
            parts[-1][1].extend(f"docs/guide/{page}" for page in re.findall(r"\]\((\w+\.md)\)", line.split("|")[1]))
    if len(parts) < 5:
        raise Fault(f"{GUIDE} has no parts in bold with tables of pages")
    return parts


class Site:
    """The source of the site, in a folder that Sphinx reads."""

    def __init__(self, source):
        self.source = source
        self.extra = source / "extra"
        self.pages = all_pages()
        self.manual = man_pages.Manual(ROOT / "include/elapse")
        self.headers = {page.header for page in man_pages.PAGES}

    def target(self, page, target):
        """What a link of the page becomes."""
        if SCHEME.match(target) or target.startswith("#"):
            return target
        name, _, anchor = target.partition("#")
        path = (ROOT / page).parent.joinpath(name).resolve().relative_to(ROOT)
        file = path.as_posix()
        if file in self.pages:
            other = os.path.relpath(place_of(file), pathlib.PurePath(place_of(page)).parent)
            return other + (f"#{anchor}" if anchor else "")
        if path.parent.as_posix() == "docs/man" and path.name in html_pages.BY_HAND:
            return f"site:reference/{path.name}.html"
        if path.parent.as_posix() == "include/elapse" and path.name in self.headers:
            return f"site:reference/index.html#{path.name}"
        if path.suffix in (".png", ".svg"):
            return self.copied(path)
        return self.shown(path)

    def copied(self, path):
        place = self.extra / path
        place.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / path, place)
        return f"site:{path.as_posix()}"

    def shown(self, path):
        """A page with the text of a source, or with the names that are in a folder."""
        source = ROOT / path
        text = ("".join(f"{name}\n" for name in sorted(os.listdir(source))) if source.is_dir() else source.read_text())
        place = self.extra / "files" / f"{path}.html"
        place.parent.mkdir(parents=True, exist_ok=True)
        home = os.path.relpath(self.extra / "index.html", place.parent)
        place.write_text(SOURCE_PAGE.format(name=html.escape(path.as_posix()), home=home,
                                            text=html.escape(text)))
        return f"site:files/{path.as_posix()}.html"

    def rewritten(self, page):
        """The page with its links rewritten, outside of code."""
        text = (ROOT / page).read_text()
        lines, prose = text.splitlines(), markdown.split(text)[1]
        for at, line in enumerate(prose):
            if not line:
                lines[at] = re.sub(r"^```resp$", "```text", lines[at])
                continue
            codes = []
            # The code of a line is put aside, because it may look like a link.
            bare = CODE.sub(lambda code: codes.append(code[0]) or f"\0{len(codes) - 1}\0", line)
            bare = TARGET.sub(lambda found: self.link(page, bare, found), bare)
            lines[at] = re.sub(r"\0(\d+)\0", lambda code: codes[int(code[1])], bare)
        return "\n".join(lines) + "\n"

    def link(self, page, line, found):
        opening, target = found[2], found[3]
        begins = line.rfind("[", 0, found.start())
        if begins > 0 and line[begins - 1] == "!":  # a picture, which Sphinx copies
            return f"{found[1]}{opening}{target}"
        return f"{found[1]}{opening}{self.target(page, target)}"

    def write_page(self, page, more=""):
        place = self.source / place_of(page)
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(self.rewritten(page) + more)

    def write_reference(self):
        """The manual pages and the reference as pages of the site; returns their names, in order."""
        folder = self.source / "reference"
        folder.mkdir()
        with tempfile.TemporaryDirectory() as scratch:
            html_pages.write_all(scratch, ROOT / "include/elapse")
            for made in sorted(pathlib.Path(scratch).glob("*.html")):
                body = re.search(r"<body>(.*)</body>", made.read_text(), re.S)[1]
                body = re.sub(r'^\s*<p><a href="index.html">Elapse: all pages</a></p>', "", body)
                body = re.sub(r"^\s*<h1>.*?</h1>", "", body)
                (folder / made.name).write_text(f'<div class="manual">{body}</div>\n')
                stem = made.name.removesuffix(".html")
                title = ("The library, by header" if stem == "index"
                         else re.sub(r"\.(\d)$", r"(\1)", stem))
                (folder / f"{stem}.rst").write_text(
                    f"{title}\n{'=' * len(title)}\n\n.. raw:: html\n   :file: {made.name}\n")
        library = [f"reference/{page.name}.3" for page in man_pages.PAGES]
        return [f"reference/{name}" for name in html_pages.BY_HAND], ["reference/index", *library]

    def contents(self, commands, library):
        """The trees of contents, which are at the end of the first page."""
        in_tree, trees = {"README.md"}, []

        def tree(caption, names):
            trees.append(f"\n```{{toctree}}\n:hidden:\n:caption: {caption}\n\n" + "\n".join(names) + "\n```\n")

        def of(pages):
            in_tree.update(pages)
            return [page.removesuffix(".md") for page in pages]

        for at, (name, pages) in enumerate(chapters()):
            tree(name, of(([GUIDE] if at == 0 else []) + pages))
        tree("Reference", of(REFERENCE) + commands)
        tree("The library", library)
        tree("The project", of(PROJECT) + of([page for page in self.pages if page not in in_tree | set(PROJECT)
                                              and not page.startswith("docs/decisions/")]))
        tree("Decisions", of(sorted(page for page in self.pages if page not in in_tree)))
        return "".join(trees)

    def write(self):
        shutil.copy(HERE / "conf.py", self.source)
        (self.source / "static").mkdir()
        shutil.copy(HERE / "site.css", self.source / "static")
        self.extra.mkdir()
        shutil.copytree(ROOT / "docs/pictures", self.source / "docs/pictures")
        trees = self.contents(*self.write_reference())
        for page in self.pages:
            self.write_page(page, trees if page == "README.md" else "")


def resolve(folder):
    """Makes each link of the scheme site: a path from the page on which it stands."""
    for page in folder.rglob("*.html"):
        text = page.read_text()
        to_root = os.path.relpath(folder, page.parent)
        changed = re.sub(r'href="site:', f'href="{to_root}/', text)
        if changed != text:
            page.write_text(changed)


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: make.py FOLDER")
    folder = pathlib.Path(sys.argv[1]).resolve()
    if folder.exists():
        shutil.rmtree(folder)
    with tempfile.TemporaryDirectory(prefix="elapse-site-") as scratch:
        source = pathlib.Path(scratch) / "source"
        source.mkdir()
        try:
            Site(source).write()
        except Fault as fault:
            sys.exit(f"make.py: {fault}")
        done = subprocess.run(["/usr/bin/python3", "-m", "sphinx", "-W", "--keep-going", "-q", "-b", "html",
                               "-d", f"{scratch}/trees", source, folder], check=False)
        if done.returncode != 0:
            sys.exit("make.py: Sphinx does not take the pages as they are")
    (folder / ".buildinfo").unlink(missing_ok=True)
    resolve(folder)


if __name__ == "__main__":
    main()
