#!/usr/bin/env python3
"""page.py PAGE [OPTION]...: every code block of a page of the documentation does what the page
says. See --help for the options; tests/project/docs/README.md describes the test of each kind of block."""

import argparse
import dataclasses
import fnmatch
import os
import pathlib
import re
import shutil
import signal
import subprocess
import sys
import tempfile

import markdown

HERE = pathlib.Path(__file__).resolve().parent
PATIENCE_S = 100  # a machine may be slow: a limit that no run comes near
# The beginnings of paragraphs that cannot stand inside a function.
OUTSIDE = re.compile(r"static |#include|#define|struct \w+ \{$|enum \w+ \{$", re.M)
# Commands that would change the machine, even when run in a copy of the project.
OUTWARD = re.compile(r"\b(sudo|su|apt|apt-get|dpkg|systemctl)\b|(?<![\w.])/(usr|etc|opt|var|lib|bin)\b")
SERVER = "int main(void) { return 0; }\n"


@dataclasses.dataclass
class Tools:
    """The tools that build and run the blocks."""

    compiler: str = "cc"
    cxx: str = "c++"
    options: list = dataclasses.field(default_factory=list)
    libraries: list = dataclasses.field(default_factory=list)
    generator: str = "Ninja"
    program: str = ""  # the program `elapse`
    examples: str = ""  # the folder of the compiled examples


@dataclasses.dataclass
class Untested:
    """One line of the list of blocks that are not run."""

    page: str
    language: str
    text: str
    reason: str
    line: int

    def names(self, page, language, text):
        return (fnmatch.fnmatchcase(page, self.page) and language == self.language
                and fnmatch.fnmatchcase(text, self.text))


def read_untested(path):
    entries, faults = [], []
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not line.strip() or line.startswith("#"):
            continue
        fields = [field.strip() for field in line.split(" | ")]
        if len(fields) != 4 or not all(fields):
            faults.append(f"{path.name}:{number}: not PAGE | LANGUAGE | TEXT | REASON")
        else:
            entries.append(Untested(*fields, number))
    return entries, faults


def commands(script):
    """The lines of the script; a line that ends with a backslash is joined with the next."""
    lines = []
    for line in script.split("\n"):
        if lines and lines[-1].endswith("\\"):
            lines[-1] += "\n" + line
        else:
            lines.append(line)
    return lines


def bare(command):
    """The command in one line, without a comment at its end."""
    return " ".join(re.sub(r"\s{2,}#.*", "", command).replace("\\\n", " ").split())


def matches(expected, printed):
    """Whether the output matches the block, in which an ellipsis stands for any part of a line or,
    alone in its line, for any number of lines."""
    pattern = ""
    for line in expected.splitlines():
        if line.strip() == "…":
            pattern += r"(?:.*\n)*?"
        else:
            pattern += ".*".join(re.escape(part) for part in line.rstrip().split("…")) + r"\n"
    lines = "".join(line.rstrip() + "\n" for line in printed.splitlines())
    return re.fullmatch(pattern, lines) is not None


def end_session(session):
    """Ends every process of the session: the first one and all that it started, also those in
    process groups of their own."""
    for path in pathlib.Path("/proc").glob("[0-9]*/stat"):
        try:
            # After the name, which may contain anything, come state, parent, group, session.
            if int(path.read_text().rpartition(")")[2].split()[3]) == session:
                os.kill(int(path.parent.name), signal.SIGKILL)
        except OSError:
            continue


class Page:
    """One page, and the state that its blocks leave for later ones."""

    def __init__(self, root, name, tools, untested, scratch):
        self.root, self.name, self.tools = root, name, tools
        self.untested, self.scratch = untested, scratch
        self.copy = scratch / "copy"
        self.printed = None  # by the block before; None: it printed nothing that counts
        self.faults = []

    def fault(self, block, text):
        self.faults.append(f"{self.name}:{block.line}: {text}")

    def is_listed(self, language, text):
        return any(entry.names(self.name, language, text) for entry in self.untested)

    def run(self, block, command, folder, **options):
        """Runs it and returns its output, or None after a fault."""
        with subprocess.Popen(
                command, cwd=folder, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                stderr=subprocess.PIPE, text=True, start_new_session=True, **options) as process:
            try:
                printed, complaint = process.communicate(timeout=PATIENCE_S)
            except subprocess.TimeoutExpired:
                end_session(process.pid)
                self.fault(block, f"takes longer than {PATIENCE_S} s")
                return None
        if process.returncode != 0:
            self.fault(block, f"status {process.returncode}\n{printed}{complaint}")
            return None
        return printed

    def folder(self):
        """A copy of the project that contains the built program and examples."""
        if not self.copy.exists():
            shutil.copytree(self.root, self.copy, symlinks=True,
                            ignore=shutil.ignore_patterns("build", ".git"))
            for what, place in ((self.tools.program, "build/release/elapse"),
                                (self.tools.examples, "build/release/examples")):
                if what:
                    link = self.copy / place
                    link.parent.mkdir(parents=True, exist_ok=True)
                    link.symlink_to(what)
            (self.scratch / "home").mkdir()
        return self.copy

    def compile(self, block, text, *options):
        source = self.scratch / "block.c"
        source.write_text(text)
        return self.run(
            block,
            [self.tools.compiler, "-std=c11", "-D_GNU_SOURCE", *self.tools.options, "-Werror",
             "-I", self.root / "include", source, *options], self.scratch)

    def check_c(self, block):
        if block.marker and block.marker[0] == "in":
            return self.check_fragment(block)
        if block.marker and block.marker[0] == "from":
            return self.check_excerpt(block)
        if not re.search(r"^int main\(", block.text, re.M):
            return self.fault(block, "a fragment of C without `<!-- test: in WRAPPER -->` before it")
        program = self.scratch / "block"
        links = self.tools.libraries
        if self.compile(block, block.text, *links, "-pthread", "-o", program) is not None:
            self.printed = self.run(block, [program], self.scratch)
        return None

    def check_cpp(self, block):
        source, program = self.scratch / "block.cpp", self.scratch / "block"
        source.write_text(block.text)
        links = self.tools.libraries
        command = [self.tools.cxx, "-std=c++17", "-Wall", "-Wextra", "-Wpedantic", "-Werror",
                   "-I", self.root / "include", source, *links, "-pthread", "-o", program]
        if self.run(block, command, self.scratch) is not None:
            self.printed = self.run(block, [program], self.scratch)

    def check_excerpt(self, block):
        source = self.root / block.marker[1]
        if not source.exists():
            self.fault(block, f"there is no {block.marker[1]}")
        elif block.text not in source.read_text():
            self.fault(block, f"{block.marker[1]} has no such lines")

    def check_elsewhere(self, block):
        script = self.root / block.marker[1]
        if not script.exists() or self.name not in script.read_text():
            self.fault(block, f"{block.marker[1]} does not run it: there is no such script, or the "
                              f"script does not mention the page")

    def check_fragment(self, block):
        wrapper = self.root / "tests/project/docs/wrappers" / (block.marker[1] + ".c.in")
        if not wrapper.exists():
            return self.fault(block, f"there is no {wrapper.relative_to(self.root)}")
        text = re.sub(r"^\s*\.\.\.$", "", block.text, flags=re.M)
        text = text.replace("...;", "(void)0;")
        outside, inside = [], []
        for paragraph in re.split(r"\n(?=\n)", text):
            (outside if OUTSIDE.match(paragraph.lstrip("\n")) else inside).append(paragraph)
        whole = wrapper.read_text()
        if "@OUTSIDE@" not in whole:
            outside, inside = [], outside + inside
        whole = whole.replace("@OUTSIDE@", "\n".join(outside)).replace("@INSIDE@", "\n".join(inside))
        self.compile(block, whole, "-Wno-unused-function", "-Wno-unused-parameter",
                     "-Wno-unused-variable", "-Wno-unused-but-set-variable", "-fsyntax-only")
        return None

    def check_sh(self, block):
        script = [command for command in commands(block.text)
                  if not self.is_listed("sh", bare(command))]
        if not any(bare(command) and not bare(command).startswith("#") for command in script):
            return
        for command in script:
            if OUTWARD.search(bare(command)):
                self.fault(block, f"not run, because it reaches out of the copy: {bare(command)}")
                return
        environment = dict(os.environ, CC=self.tools.compiler, HOME=str(self.scratch / "home"),
                           DESTDIR=str(self.scratch / "installed"))
        self.printed = self.run(block, ["bash", "-euo", "pipefail", "-c", "\n".join(script)],
                                self.folder(), env=environment)

    def check_cmake(self, block):
        project = self.scratch / f"cmake-{block.line}"
        project.mkdir()
        (project / "CMakeLists.txt").write_text(block.text)
        (project / "server.c").write_text(SERVER)
        (project / "elapse").symlink_to(self.root)
        self.run(block, ["cmake", "-S", project, "-B", project / "build", "-Wno-dev",
                         "-G", self.tools.generator,
                         f"-DCMAKE_C_COMPILER={self.tools.compiler}"], project)

    def check_text(self, block, printed):
        if printed is None:
            self.fault(block, "a block of text that follows no block with output")
        elif not matches(block.text, printed):
            self.fault(block, f"the output differs from the page; it is:\n{printed}")

    def check(self, block):
        before, self.printed = self.printed, None
        if not block.closed:
            self.fault(block, "the block has no end")
        if block.marker and block.marker[0] not in ("in", "file", "from", "by"):
            self.fault(block, f"unknown mark: {block.marker[0]}")
        if block.marker and block.marker[0] == "by":
            self.check_elsewhere(block)
            return
        if block.language != "sh" and self.is_listed(block.language, block.first_line()):
            return
        if block.marker and block.marker[0] == "file":
            (self.folder() / block.marker[1]).write_text(block.text)
        if block.language == "text":
            self.check_text(block, before)
        elif block.language in ("c", "cpp", "sh", "cmake"):
            faults = len(self.faults)
            getattr(self, "check_" + block.language)(block)
            if len(self.faults) > faults:
                self.printed = None
        else:
            self.fault(block, f"neither tested nor in the list of those that are not: a block "
                              f"of kind {block.language}")

    def check_all(self):
        failed_before = False
        for block in markdown.split((self.root / self.name).read_text())[0]:
            if block.language == "text" and failed_before:
                self.printed = None
                continue
            faults = len(self.faults)
            self.check(block)
            failed_before = len(self.faults) > faults
        return self.faults


def check_page(root, name, tools, untested):
    """The faults of the page, each as `page:line: text`."""
    with tempfile.TemporaryDirectory(prefix="elapse-docs-") as scratch:
        return Page(root, name, tools, untested, pathlib.Path(scratch)).check_all()


def pages(root):
    """The pages whose blocks are tested."""
    found = [root / "README.md", *sorted((root / "docs").rglob("*.md"))]
    return [str(path.relative_to(root)) for path in found if path.exists()]


def check_untested(root, entries):
    """The entries of the list that match no block."""
    left = list(entries)
    for name in pages(root):
        for block in markdown.split((root / name).read_text())[0]:
            texts = [bare(command) for command in commands(block.text)] \
                if block.language == "sh" else [block.first_line()]
            left = [entry for entry in left
                    if not any(entry.names(name, block.language, text) for text in texts)]
    return [f"untested.txt:{entry.line}: there is no such block: {entry.text}" for entry in left]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("page", help="relative to the project; or `list`: the list itself")
    parser.add_argument("--root", type=pathlib.Path, default=HERE.parent.parent.parent)
    parser.add_argument("--compiler", default="cc")
    parser.add_argument("--cxx", default="c++")
    parser.add_argument("--options", nargs=argparse.REMAINDER, default=[],
                        help="of the compiler: all that follows")
    parser.add_argument("--library", action="append", default=[],
                        help="to link programs with; may be given again")
    parser.add_argument("--generator", default="Ninja")
    parser.add_argument("--program", default="", help="the program elapse, as built")
    parser.add_argument("--examples", default="", help="the folder of the examples, as built")
    said = parser.parse_args()

    entries, faults = read_untested(said.root / "tests/project/docs/untested.txt")
    if said.page == "list":
        faults += check_untested(said.root, entries)
    else:
        tools = Tools(said.compiler, said.cxx, said.options, said.library, said.generator, said.program,
                      said.examples)
        faults += check_page(said.root, said.page, tools, entries)
    sys.exit("\n".join(faults) if faults else 0)


if __name__ == "__main__":
    main()
