#!/usr/bin/env python3
"""The manual pages: those of section 3, made here out of the headers, and those by hand. mandoc
has nothing to say of any; each page that another refers to is there; each function leads to a page
that tells of it."""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import unittest

import rules

COMPILER = os.environ.get("CC", "cc")
PROGRAM = os.environ.get("ELAPSE_PROGRAM", "")
BY_HAND = rules.ROOT / "docs/man"
MAKER = rules.ROOT / "scripts/manual/man_pages.py"
ELSEWHERE = {"pkg-config(1)"}
IGNORED = re.compile(r"referenced manual not found|mandoc\.db|^$")  # what is installed here


def make(folder, include=rules.INCLUDE):
    """Section 3 out of these headers, and the pages by hand, in one folder: text by name."""
    done = subprocess.run([sys.executable, "-B", MAKER, folder, include / "elapse"],
                          stderr=subprocess.PIPE, text=True, check=False)
    if done.returncode != 0:
        return None, done.stderr
    pages = {f"{path.stem}({path.suffix[1:]})": path.read_text()
             for where in (pathlib.Path(folder) / "man3", BY_HAND)
             for path in sorted(where.glob("elapse*.[0-9]"))}
    return pages, ""


def aliases(pages):
    """The pages that only lead to another."""
    found = {}
    for name, text in pages.items():
        other = re.fullmatch(r"\.so man(\d)/(\w+)\.\1\n", text)
        if other:
            found[name] = f"{other[2]}({other[1]})"
    return found


def linted(pages):
    """What mandoc says."""
    said = []
    led = aliases(pages)
    with tempfile.TemporaryDirectory() as folder:
        for name, text in pages.items():
            if name not in led:
                (pathlib.Path(folder) / name).write_text(text)
        done = subprocess.run(["mandoc", "-T", "lint", "-W", "style", *sorted(set(pages) - set(led))],
                              cwd=folder, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              text=True, check=False)
        said += [line for line in done.stdout.splitlines() if not IGNORED.search(line)]
    return said


def misled(pages):
    """References and other names that lead nowhere."""
    said = []
    led = aliases(pages)
    for name, other in led.items():
        if other not in pages or other in led:
            said.append(f"{name} leads to {other}, which is not there")
        elif not re.search(rf"^\.Nm {name[:-3]}\b", pages[other], re.M):
            said.append(f"{name} leads to {other}, which does not tell of it")
    for name, text in pages.items():
        for other, section in re.findall(r"\bXr ([\w-]+) (\d)", text):
            if f"{other}({section})" not in pages.keys() | ELSEWHERE:
                said.append(f"{name} refers to {other}({section}), which is not there")
    return said


def untold(pages, functions):
    """Functions without a page, or with one that lacks a part."""
    said = []
    led = aliases(pages)
    for function in functions:
        name = f"{function}(3)"
        page = pages.get(led.get(name, name))
        if page is None:
            said.append(f"{name} is not there")
            continue
        item = re.search(rf"^\.(?:It Fn|It Xo\n(?:\.Fn \w+ ,\n)*\.Fn) {function}\b.*?"
                         r"(?=^\.It|\n\.El\n\.Sh)", page, re.M | re.S)
        if not re.search(rf"^\.Fo {function}$", page, re.M) or item is None:
            said.append(f"{name}: its page does not tell of it")
        elif not re.search(r"^\.Em Cost :", item[0], re.M):
            said.append(f"{name}: no cost")
        parts = ("NAME", "LIBRARY", "SYNOPSIS", "DESCRIPTION", "FUNCTIONS", "THREADS", "EXAMPLES",
                 "ERRORS", "SEE ALSO")
        said += [f"{name}: no {part}" for part in parts if f"\n.Sh {part}\n" not in page]
    return said


class Pages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.pages, said = make(cls.folder.name)
        assert cls.pages, said
        public = rules.public_functions(COMPILER, rules.INCLUDE)
        book = rules.man_pages.Manual(rules.INCLUDE / "elapse")
        parts = {item.name for header in book.headers.values() for item in header.functions()
                 if item.part_of}
        cls.functions = sorted(public - parts)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def page(self, name, old, new):
        """The pages with a fault in one."""
        self.assertIn(old, self.pages[name], "it cannot be planted")
        return {**self.pages, name: self.pages[name].replace(old, new, 1)}

    @unittest.skipUnless(shutil.which("mandoc"), "mandoc is not there")
    def test_mandoc_has_nothing_to_say(self):
        self.assertEqual(linted(self.pages), [])
        planted = self.page("elapse_heap(3)", ".Sh THREADS\n", ".Sh THREADS\n.Bogus\n")
        self.assertRegex("\n".join(linted(planted)), r"elapse_heap.*unknown macro: \.Bogus")
        planted = self.page("elapse(7)", ".Sh EXAMPLES\n", ".Sh EXAMPLES\n.El\n")
        self.assertRegex("\n".join(linted(planted)), r"elapse\(7\).*El")

    def test_what_is_referred_to_is_there(self):
        self.assertEqual(misled(self.pages), [])
        planted = self.page("elapse(7)", ".Xr elapse_cron 3", ".Xr elapse_crown 3")
        self.assertEqual(misled(planted), ["elapse(7) refers to elapse_crown(3), which is not there"])
        planted = {**self.pages, "elapse_heap_pop(3)": ".so man3/elapse_wheel.3\n"}
        self.assertEqual(misled(planted),
                         ["elapse_heap_pop(3) leads to elapse_wheel(3), which does not tell of it"])
        planted = {**self.pages, "elapse_heap_pop(3)": ".so man3/elapse_hope.3\n"}
        self.assertEqual(misled(planted),
                         ["elapse_heap_pop(3) leads to elapse_hope(3), which is not there"])

    def test_each_function_is_told_of(self):
        self.assertGreater(len(self.functions), 90)
        self.assertEqual(untold(self.pages, self.functions), [])
        self.assertEqual(untold(self.pages, ["elapse_wheel_pull"]), ["elapse_wheel_pull(3) is not there"])
        planted = self.page("elapse_heap(3)", ".Fo elapse_heap_pop\n", "")
        self.assertEqual(untold(planted, self.functions),
                         ["elapse_heap_pop(3): its page does not tell of it"])
        planted = self.page("elapse_version(3)", ".Em Cost :", ".Em Price :")
        self.assertEqual(untold(planted, self.functions), ["elapse_version(3): no cost"])
        planted = self.page("elapse_version(3)", ".Sh EXAMPLES\n", "")
        self.assertEqual(untold(planted, self.functions), ["elapse_version(3): no EXAMPLES"])

    def test_elapse_7_leads_to_each_topic(self):
        topics = [page.name for page in rules.man_pages.PAGES]
        missing = [name for name in topics if f".Xr {name} 3" not in self.pages["elapse(7)"]]
        self.assertEqual(missing, [])

    def test_a_header_that_cannot_be_read_is_named(self):
        for name, old, new, expected in (
                ("wheel.h", " * Elapse: the", " * The", "wheel.h:1: the head does not begin with"),
                ("scheduler.h", "/* ---- pull mode ---- */", "/* ---- pulling ---- */",
                 "elapse_taken is on no page"),
                ("version.h", " *     if (strcmp(elapse_version(), ELAPSE_VERSION_TEXT) != 0)\n"
                 " *         ...;                           // header and library are of different "
                 "versions\n", "", "version.h: no example for elapse_version(3)")):
            with self.subTest(name), tempfile.TemporaryDirectory() as folder:
                include = pathlib.Path(folder) / "include"
                shutil.copytree(rules.INCLUDE, include)
                text = (include / "elapse" / name).read_text()
                self.assertIn(old, text, "it cannot be planted")
                (include / "elapse" / name).write_text(text.replace(old, new, 1))
                pages, said = make(folder, include)
                self.assertIsNone(pages)
                self.assertIn(expected, said)
                self.assertEqual(said.count("\n"), 1)

    @unittest.skipUnless(PROGRAM, "the program is not built")
    def test_elapse_1_has_every_option(self):
        def missing(page):
            said = []
            for command in ("run", "replay", "generate", "show"):
                help_text = subprocess.run([PROGRAM, command, "--help"], stdout=subprocess.PIPE,
                                           text=True, check=True).stdout
                options = set(re.findall(r"(?m)^ +--([a-z-]+)", help_text)) - {"help", "version"}
                self.assertTrue(options, help_text)
                section = re.search(rf"(?ms)^\.Sh {command.upper()}$(.*?)^\.Sh", page)[1]
                said += [f"{command} --{option}" for option in sorted(options)
                         if not re.search(rf"\bFl Fl {option}\b", section)]
            return said

        self.assertEqual(missing(self.pages["elapse(1)"]), [])
        planted = self.page("elapse(1)", ".It Fl Fl slots", ".It Fl Fl spots")
        self.assertEqual(missing(planted["elapse(1)"]), ["show --slots"])


if __name__ == "__main__":
    rules.run_tests()
