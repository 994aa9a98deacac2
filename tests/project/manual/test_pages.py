#!/usr/bin/env python3
"""The manual pages: those of section 3, made here from the headers, and those written by hand.
mandoc finds no fault in any, and each function leads to a page that describes it."""

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
SECTIONS = ("NAME", "LIBRARY", "SYNOPSIS", "DESCRIPTION", "FUNCTIONS", "THREADS", "EXAMPLES",
            "ERRORS", "SEE ALSO")
IGNORED = re.compile(r"referenced manual not found|mandoc\.db|^$")  # depends on the machine


class Pages(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        folder = tempfile.TemporaryDirectory()
        cls.addClassCleanup(folder.cleanup)
        cls.man3 = pathlib.Path(folder.name) / "man3"
        subprocess.run([sys.executable, "-B", MAKER, folder.name], check=True)

    def page_of(self, function):
        """The text of the page, or of the page that it refers to."""
        text = (self.man3 / f"{function}.3").read_text()
        other = re.fullmatch(r"\.so man3/(\w+\.3)\n", text)
        return (self.man3 / other[1]).read_text() if other else text

    @unittest.skipUnless(shutil.which("mandoc"), "mandoc is not installed")
    def test_mandoc_finds_no_fault(self):
        paths = [path for path in [*self.man3.iterdir(), *BY_HAND.glob("*.[178]")]
                 if not path.read_text().startswith(".so ")]
        done = subprocess.run(["mandoc", "-T", "lint", "-W", "style", *sorted(paths)],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                              check=False)
        # Two pipes: in one, a line of stderr may stand within a line of stdout, which is buffered.
        lines = [*done.stdout.splitlines(), *done.stderr.splitlines()]
        self.assertEqual([line for line in lines if not IGNORED.search(line)], [])

    def test_each_function_is_described(self):
        book = rules.man_pages.Manual(rules.INCLUDE / "elapse")
        parts = {item.name for header in book.headers.values() for item in header.functions()
                 if item.part_of}
        functions = sorted(rules.public_functions(COMPILER, rules.INCLUDE) - parts)
        self.assertGreater(len(functions), 90)
        for function in functions:
            page = self.page_of(function)
            self.assertRegex(page, rf"(?m)^\.Nm {function}\b")
            self.assertRegex(page, rf"(?m)^\.Fo {function}$")
            self.assertRegex(page, rf"(?m)^\.(It )?Fn {function}\b")
            for section in SECTIONS:
                self.assertIn(f"\n.Sh {section}\n", page, function)

    def test_elapse_7_leads_to_each_topic(self):
        text = (BY_HAND / "elapse.7").read_text()
        for page in rules.man_pages.PAGES:
            self.assertIn(f".Xr {page.name} 3", text)

    @unittest.skipUnless(PROGRAM, "the program is not built")
    def test_each_command_has_a_page_that_describes_it(self):
        help_text = subprocess.run([PROGRAM, "--help"], stdout=subprocess.PIPE, text=True, check=True).stdout
        commands = set(re.findall(r"(?m)^  ([a-z]+) ", help_text))
        self.assertGreater(len(commands), 10, help_text)
        listed = {}
        for line in (BY_HAND / "commands.txt").read_text().splitlines():
            if not line.startswith("#"):
                page, *names = line.split()
                for name in names:
                    self.assertNotIn(name, listed)
                    listed[name] = page
                    self.assertRegex((BY_HAND / page).read_text(), rf"(?m)^\.(It |Op )?(Cm|Nm elapse) ([a-z]+ \| )*{name}\b")
        own = {path.stem.removeprefix("elapse-") for path in BY_HAND.glob("elapse-*.[18]")}
        self.assertEqual(own & set(listed), set())
        self.assertEqual(commands - own - set(listed), set())
        if "put" in commands and "cluster" in commands and "serve" in commands:
            self.assertEqual(set(listed) - commands, set())

    @unittest.skipUnless(PROGRAM, "the program is not built")
    def test_elapse_1_has_every_option(self):
        text = (BY_HAND / "elapse.1").read_text()
        for command in ("run", "replay", "generate", "show"):
            help_text = subprocess.run([PROGRAM, command, "--help"], stdout=subprocess.PIPE,
                                       text=True, check=True).stdout
            options = set(re.findall(r"(?m)^ +--([a-z-]+)", help_text)) - {"help", "version"}
            self.assertTrue(options, help_text)
            section = re.search(rf"(?ms)^\.Sh {command.upper()}$(.*?)^\.Sh", text)[1]
            for option in sorted(options):
                self.assertRegex(section, rf"\bFl Fl {option}\b", f"{command} --{option}")

    @unittest.skipUnless(PROGRAM, "the program is not built")
    def test_the_pages_of_the_client_have_every_option(self):
        commands = subprocess.run([PROGRAM, "--help"], stdout=subprocess.PIPE, text=True,
                                  check=True).stdout
        if "\n  put " not in commands:
            self.skipTest("the program is built without the client")
        for page, verbs in (("client", ("put", "cancel", "reschedule", "lookup", "list", "stats",
                                        "top")), ("work", ("work",))):
            text = (BY_HAND / f"elapse-{page}.1").read_text()
            for verb in verbs:
                help_text = subprocess.run([PROGRAM, verb, "--help"], stdout=subprocess.PIPE,
                                           text=True, check=True).stdout
                options = set(re.findall(r"(?m)^ +--([a-z-]+)", help_text)) - {"help", "version"}
                self.assertGreater(len(options), 7)
                for option in sorted(options):
                    self.assertRegex(text, rf"\bFl Fl {option}\b", f"{verb} --{option}")

    @unittest.skipUnless(PROGRAM, "the program is not built")
    def test_the_page_of_clusters_has_every_option(self):
        text = (BY_HAND / "elapse-cluster.8").read_text()
        help_text = subprocess.run([PROGRAM, "cluster", "--help"], stdout=subprocess.PIPE,
                                   text=True, check=True).stdout
        options = set(re.findall(r"(?m)^ +--([a-z-]+)", help_text)) - {"help", "version"}
        self.assertEqual(len(options), 12)
        for option in sorted(options):
            self.assertRegex(text, rf"(?m)^\.It Fl Fl {option}\b", option)


if __name__ == "__main__":
    rules.run_tests()
