#!/usr/bin/env python3
"""check.py [FOLDER]: makes the site, or takes the one in FOLDER, and looks at its files.

Each link and picture leads to a file, and to a place in it if it names one. A page loads nothing from
elsewhere. The contents have the pages of the guide in the order of its index. The search knows words of
the guide, of a manual page and of a header. Then faults are planted, and each must be found.
"""

import html.parser
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import urllib.parse

ROOT = pathlib.Path(__file__).resolve().parents[3]
MAKER = ROOT / "scripts/site/make.py"
SKIPPED = 77
SCHEME = re.compile(r"[a-zA-Z][a-zA-Z0-9+.-]*:|//")
LOADS = {("script", "src"), ("link", "href"), ("img", "src"), ("iframe", "src"), ("source", "src"),
         ("video", "src"), ("audio", "src"), ("object", "data"), ("embed", "src"), ("form", "action")}
IN_STYLE = re.compile(r"url\(\s*['\"]?([^'\")]+)|@import\s+['\"]([^'\"]+)")
WORDS = ("berlin", "elapse_wheel_pop", "elapse_job_id")


class Reader(html.parser.HTMLParser):
    """What a page links to, what it loads, and which places it has."""

    def __init__(self, text):
        super().__init__()
        self.links, self.loads, self.places = [], [], set()
        self.feed(text)

    def handle_starttag(self, tag, attrs):
        for name, value in attrs:
            if name in ("id", "name"):
                self.places.add(value)
            elif (tag, name) in LOADS:
                self.loads.append(value or "")
            elif tag == "a" and name == "href":
                self.links.append(value or "")
            elif name == "style":
                self.loads += [first or second for first, second in IN_STYLE.findall(value or "")]


def missing(skip_reason):
    print(f"skipped: {skip_reason}; ./dev site installs it")
    sys.exit(SKIPPED)


def make(folder):
    for module in ("sphinx", "myst_parser", "sphinx_rtd_theme"):
        if subprocess.run(["/usr/bin/python3", "-c", f"import {module}"], stderr=subprocess.DEVNULL,
                          check=False).returncode != 0:
            missing(f"there is no {module}")
    if shutil.which("mandoc") is None:
        missing("there is no mandoc")
    subprocess.run([sys.executable, "-B", MAKER, folder], check=True)


def check_target(pages, folder, page, target):
    """The fault of a link, or None."""
    if SCHEME.match(target):
        return None
    name, _, anchor = urllib.parse.unquote(target).partition("#")
    path = (page.parent / name).resolve() if name else page
    if not path.is_relative_to(folder) or not path.is_file():
        return "there is no such file"
    if anchor and path in pages and anchor not in pages[path].places:
        return "there is no such place in it"
    return None


def faults_of_links(folder, pages):
    for page, read in pages.items():
        for target in dict.fromkeys(read.links + read.loads):
            wrong = check_target(pages, folder, page, target)
            if wrong:
                yield f"{page.relative_to(folder)}: {target}: {wrong}"


def faults_of_loads(folder, pages):
    for page, read in pages.items():
        for target in read.loads:
            if SCHEME.match(target) and not target.startswith("data:"):
                yield f"{page.relative_to(folder)} loads {target}"
    for style in folder.rglob("*.css"):
        for first, second in IN_STYLE.findall(style.read_text()):
            target = first or second
            if target.startswith("data:"):
                continue
            if SCHEME.match(target):
                yield f"{style.relative_to(folder)} loads {target}"
            elif not (style.parent / re.sub(r"[?#].*", "", target)).is_file():
                yield f"{style.relative_to(folder)}: {target}: there is no such file"


def faults_of_order(folder, pages):
    index = (ROOT / "docs/guide/README.md").read_text().split("**Start**")[1]
    rows = [line.split("|")[1] for line in index.splitlines() if line.startswith("| [")]
    wanted = [f"docs/guide/{name}.html" for row in rows for name in re.findall(r"\]\((\w+)\.md\)", row)]
    first = folder / "index.html"
    menu = re.search(r'class="wy-menu.*?</section>|class="wy-menu.*?</nav>', first.read_text(), re.S)[0]
    found = [name for name in dict.fromkeys(re.findall(r'href="(docs/guide/\w+\.html)"', menu))
             if not name.endswith("README.html")]
    if len(wanted) < 30 or found != wanted:
        yield f"the guide's pages are not in the order of its index: {found}"
    every = {page.relative_to(folder / "docs/guide").stem for page in pages if page.parent == folder / "docs/guide"}
    for page in (ROOT / "docs/guide").glob("*.md"):
        if page.stem not in every:
            yield f"docs/guide/{page.name} is not on the site"


def faults_of_search(folder):
    index = (folder / "searchindex.js").read_text()
    for word in WORDS:
        if not re.search(rf'\b"?{word}"?:', index):
            yield f"the search does not know {word}"


def faults(folder):
    pages = {path: Reader(path.read_text()) for path in sorted(folder.rglob("*.html"))}
    if len(pages) < 100:
        return [f"there are {len(pages)} pages only"]
    return [*faults_of_links(folder, pages), *faults_of_loads(folder, pages), *faults_of_order(folder, pages),
            *faults_of_search(folder)]


# A file, a text in it, what to plant instead, and words of the fault.
PLANTED = (
    ("index.html", 'href="docs/guide/start.html"', 'href="docs/guide/begin.html"', "begin.html: there is no such file"),
    ("index.html", "</body>", '<a href="docs/guide/users.html#no-such-place">x</a></body>', "no such place"),
    ("index.html", "</body>", '<script src="https://example.org/a.js"></script></body>', "loads https://example.org"),
    ("index.html", "</body>", '<img src="//example.org/a.png"></body>', "loads //example.org"),
    ("_static/site.css", "/*", "@import 'https://example.org/a.css'; /*", "loads https://example.org"),
    ("searchindex.js", "elapse_wheel_pop", "elapse_wheel_pup", "does not know elapse_wheel_pop"),
)


def not_noticed(folder):
    for name, text, instead, words in PLANTED:
        path = folder / name
        before = path.read_text()
        if text not in before:
            yield f"{name} has no {text!r}"
            continue
        path.write_text(before.replace(text, instead))
        if not any(words in fault for fault in faults(folder)):
            yield f"not noticed: {instead!r} in {name}"
        path.write_text(before)


def main():
    with tempfile.TemporaryDirectory(prefix="elapse-site-test-") as scratch:
        folder = pathlib.Path(scratch).resolve() / "site"
        if len(sys.argv) > 1:
            shutil.copytree(sys.argv[1], folder)
        else:
            make(folder)
        found = faults(folder) or list(not_noticed(folder))
    sys.exit("\n".join(found) if found else 0)


if __name__ == "__main__":
    main()
