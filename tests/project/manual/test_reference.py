#!/usr/bin/env python3
"""The HTML reference: Doxygen makes it without a warning, a page for each header, and each
function with its errors, cost, threads and since when; what is undocumented fails."""

import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import rules

SCRIPT = rules.ROOT / "scripts/reference.sh"


@unittest.skipUnless(shutil.which("doxygen"), "doxygen is not there")
class Reference(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)
        self.headers = self.folder / "elapse"
        shutil.copytree(rules.INCLUDE / "elapse", self.headers)

    def make(self):
        return subprocess.run([SCRIPT, self.folder / "html", self.headers], stdout=subprocess.PIPE,
                              stderr=subprocess.STDOUT, text=True, check=False)

    def test_it_has_everything(self):
        done = self.make()
        self.assertEqual((done.returncode, done.stdout), (0, ""))
        for path in self.headers.glob("*.h"):
            self.assertTrue((self.folder / f"html/{path.stem}_8h.html").exists(), path.name)
        page = (self.folder / "html/wheel_8h.html").read_text()
        pop = re.search(r'(?s)<h2 class="memtitle">.*?elapse_wheel_pop\(\)</h2>(.*?)<h2', page)[1]
        for label in ("Errors", "Cost", "Threads", "Since"):
            self.assertTrue(f"<dt>{label}</dt>" in pop, label)
        heap = (self.folder / "html/heap_8h.html").read_text()
        self.assertTrue('href="wheel_8h.html#' in heap, "no link from the heap to the wheel")
        for private in ("ELAPSE__", ">elapse__", "elapse_wheel_pop_due"):
            self.assertFalse(private in page, private)

    def test_what_is_undocumented_fails(self):
        for path in self.headers.iterdir():
            if path.name not in ("attributes.h", "error.h", "version.h"):
                path.unlink()
        self.assertEqual(self.make().returncode, 0)
        with (self.headers / "error.h").open("a") as header:
            header.write("int elapse_more(void);\n")
        done = self.make()
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("elapse_more(void) (function) of file error.h is not documented", done.stdout)

    def test_a_header_that_cannot_be_read_fails(self):
        text = (self.headers / "cron.h").read_text()
        (self.headers / "cron.h").write_text(text.replace("Elapse: cron", "Cron", 1))
        done = self.make()
        self.assertNotEqual(done.returncode, 0)
        self.assertIn("cron.h:1: the head does not begin with", done.stdout)


if __name__ == "__main__":
    rules.run_tests()
