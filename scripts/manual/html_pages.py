#!/usr/bin/env python3
"""html_pages.py FOLDER [HEADERS]: writes the HTML reference into FOLDER. It is the manual pages,
those of section 3 made from the public headers and the two written by hand, rendered by mandoc;
each name of the library links to the place that describes it. index.html lists them by header."""

import html
import pathlib
import re
import subprocess
import sys
import tempfile

import headers
import man_pages

NAME = re.compile(r"\b(?:elapse|ELAPSE)_\w+")
TAG = re.compile(r"(<[^>]*>)")
BY_HAND = ("elapse.7", "elapse.1", "elapse-client.1", "elapse-work.1", "elapse-resp.7", "elapse-serve.8",
           "elapse-cluster.8")
ELSEWHERE = {"pkg-config"}  # pages of others
STYLE = """\
body { max-width: 60em; margin: 1em auto; padding: 0 1em; font: 16px/1.45 sans-serif; }
a { color: #2a5d8f; text-decoration: none; } a:hover { text-decoration: underline; }
h1.Sh, h2 { font-size: 1.1em; margin-top: 1.8em; } a.permalink { color: inherit; }
code, pre, var { font-family: monospace; font-style: normal; } pre { background: #f4f6f8; padding: 0.6em; }
table.head, table.foot { width: 100%; color: #666; } dd { margin-bottom: 0.8em; }
td.head-vol { text-align: center; } td.head-rtitle, td.foot-os { text-align: right; }
"""


def rendered(folder, name):
    """The page as mandoc renders it."""
    done = subprocess.run(
        ["mandoc", "-T", "html", "-O", "man=%N.%S.html,style=style.css", "-I", "os=Elapse", name],
        cwd=folder, stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout


class Linker:
    """Turns each name of the library into a link to the place that describes it."""

    def __init__(self, manual):
        self.file_of = {}  # of functions, types and constants
        for page in man_pages.PAGES:
            for item in manual.items(page):
                for name in (item.name, *(each.name for each in item.members
                                          if item.kind == "enum")):
                    self.file_of[name] = page.name + ".3.html"

    def reference(self, tag):
        """The link for a reference to a manual page: to the name's place in its page."""
        name, section = re.search(r'href="([\w-]+)\.(\d)\.html"', tag).groups()
        if f"{name}.{section}" in BY_HAND or f"{name}.3.html" in self.file_of.values():
            return tag
        if name in self.file_of:
            return re.sub(r'href="[^"]*"', f'href="{self.file_of[name]}#{name}"', tag)
        if name not in ELSEWHERE:
            raise headers.Fault(f"there is no page {name}({section})")
        return '<a class="Xr">'

    def page(self, file, text):
        """The rendered page with links. A name that an entry of a list declares becomes an anchor."""
        anchors = set(re.findall(r' id="(\w+)"', text))
        open_tags, parts = [], []
        for part in TAG.split(text):
            if re.match(r"<(dt|a|code|var|pre)\b", part):
                open_tags.append(part)
            elif re.match(r"</(dt|a|code|var|pre)>", part):
                open_tags.pop()
            if part.startswith('<a class="Xr"'):
                part = self.reference(part)
            elif part == '<a class="In">':
                part = '<a class="In" href="index.html">'
            elif not part.startswith("<") and re.match("<(code|var|pre)", "".join(open_tags[-1:])):
                entry = any(tag.startswith("<dt") for tag in open_tags)
                declares = entry and re.search('class="(Fn|Dv|Vt)"', open_tags[-1])
                part = NAME.sub(lambda found: self.name(found[0], file, declares, anchors), part)
            parts.append(part)
        top = '<body>\n<p><a href="index.html">Elapse: all pages</a></p>'
        return "".join(parts).replace("<body>", top, 1)

    def name(self, name, file, declares, anchors):
        if name not in self.file_of:
            return name
        if declares and self.file_of[name] == file and name not in anchors:
            anchors.add(name)
            return f'<span id="{name}">{name}</span>'
        return f'<a href="{self.file_of[name]}#{name}">{name}</a>'


def index(manual):
    """A page that lists each header, its pages, and their functions."""
    lines = ["<!DOCTYPE html>", '<html><head><meta charset="utf-8"/><title>Elapse: reference</title>',
             '<link rel="stylesheet" href="style.css"/></head><body>', "<h1>Elapse: reference</h1>",
             '<p>Begin with <a href="elapse.7.html">elapse(7)</a>, the overview, or with '
             '<a href="elapse.1.html">elapse(1)</a>, the program.</p>']
    for header in dict.fromkeys(page.header for page in man_pages.PAGES):
        title = html.escape(manual.headers[header].title)
        lines.append(f'<h2 id="{header}">&lt;elapse/{header}&gt;: {title}</h2>')
        for page in man_pages.PAGES:
            if page.header != header:
                continue
            functions = ", ".join(f'<a href="{page.name}.3.html#{item.name}">{item.name}</a>'
                                  for item in manual.functions(page))
            lines.append(f'<p><a href="{page.name}.3.html">{page.name}(3)</a>'
                         + (f": {functions}" if functions else "") + "</p>")
    return "\n".join([*lines, "</body></html>", ""])


def write_all(folder, include):
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.html"):
        old.unlink()
    manual = man_pages.Manual(include)
    linker = Linker(manual)
    with tempfile.TemporaryDirectory() as scratch:
        man_pages.write_all(scratch, include)
        sources = [pathlib.Path(scratch) / "man3" / f"{page.name}.3" for page in man_pages.PAGES]
        sources += [man_pages.ROOT / "docs/man" / name for name in BY_HAND]
        for source in sources:
            file = source.name + ".html"
            (folder / file).write_text(linker.page(file, rendered(source.parent, source.name)))
    (folder / "style.css").write_text(STYLE)
    (folder / "index.html").write_text(index(manual))


def main():
    if len(sys.argv) not in (2, 3):
        sys.exit("usage: html_pages.py FOLDER [HEADERS]")
    try:
        write_all(sys.argv[1], sys.argv[2] if len(sys.argv) == 3 else man_pages.ROOT / "include/elapse")
    except headers.Fault as fault:
        sys.exit(f"html_pages.py: {fault}")


if __name__ == "__main__":
    main()
