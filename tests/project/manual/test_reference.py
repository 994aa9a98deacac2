#!/usr/bin/env python3
"""The HTML reference: each of its links leads to a place that exists, and its index leads to each
function."""

import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import rules

SCRIPT = rules.ROOT / "scripts/reference.sh"


@unittest.skipUnless(shutil.which("mandoc"), "mandoc is not installed")
class Reference(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([SCRIPT, folder], check=True)
            cls.pages = {path.name: path.read_text() for path in pathlib.Path(folder).iterdir()}

    def test_each_link_leads_to_a_place(self):
        places = {name + "#" + place for name, text in self.pages.items()
                  for place in re.findall(r' id="([^"]+)"', text)} | set(self.pages)
        for name, text in self.pages.items():
            for target in re.findall(r'href="([^"]*)"', text):
                target = name + target if target.startswith("#") else target
                self.assertIn(target, places, name)

    def test_the_index_leads_to_each_function(self):
        book = rules.man_pages.Manual(rules.INCLUDE / "elapse")
        for page in rules.man_pages.PAGES:
            for item in book.functions(page):
                self.assertIn(f'"{page.name}.3.html#{item.name}"', self.pages["index.html"])

    def test_nothing_private_is_in_it(self):
        for name, text in self.pages.items():
            self.assertNotRegex(text, "(?i)elapse__", name)


if __name__ == "__main__":
    rules.run_tests()
