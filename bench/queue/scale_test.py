#!/usr/bin/env python3
"""Tests of scale.py. Usage: scale_test.py PROGRAM, which is elapse-bench-scale."""
import argparse
import collections
import contextlib
import io
import os
import shutil
import sys
import tempfile
import unittest
import unittest.mock

import scale
import scale_plots

PROGRAM = None
Usage = collections.namedtuple("Usage", "total used free")


def run(*arguments):
    """Returns what scale.py prints."""
    out = io.StringIO()
    with unittest.mock.patch.object(sys, "argv", ["scale.py", *arguments]), \
            contextlib.redirect_stdout(out), contextlib.redirect_stderr(io.StringIO()):
        scale.main()
    return out.getvalue()


class Refusals(unittest.TestCase):
    def test_a_size_that_the_disk_cannot_hold_is_refused_before_anything_is_measured(self):
        with unittest.mock.patch.object(scale.shutil, "disk_usage",
                                        return_value=Usage(0, 0, 20 << 30)), \
                unittest.mock.patch.object(scale, "memory_free", return_value=1 << 50), \
                self.assertRaisesRegex(SystemExit, "100000000 jobs need 24.3 GiB in .*has 20.0"):
            run("--sizes", "10k,100M", "--series", "delayed", "--program", "/bin/false",
                "--csv", "/nowhere/scale.csv")

    def test_a_size_that_the_memory_cannot_hold_is_refused(self):
        with unittest.mock.patch.object(scale.shutil, "disk_usage",
                                        return_value=Usage(0, 0, 1 << 50)), \
                unittest.mock.patch.object(scale, "memory_free", return_value=6 << 30), \
                self.assertRaisesRegex(SystemExit, "need 8.0 GiB of memory, and 6.0 are free"):
            run("--sizes", "100M", "--series", "delayed", "--program", "/bin/false",
                "--csv", "/nowhere/scale.csv")

    def test_numbers_of_jobs(self):
        self.assertEqual(scale.number_of("10k"), 10_000)
        self.assertEqual(scale.number_of("250M"), 250_000_000)
        for text in ("", "k", "9999", "251M", "1G", "-1M", "1.5M"):
            with self.assertRaises(argparse.ArgumentTypeError):
                scale.number_of(text)


class Runs(unittest.TestCase):
    def setUp(self):
        self.directory = tempfile.mkdtemp()
        self.addCleanup(shutil.rmtree, self.directory)
        self.csv = os.path.join(self.directory, "scale.csv")

    def scale(self, program, *arguments):
        return run("--sizes", "10k", "--csv", self.csv, "--directory", self.directory,
                   "--program", program, *arguments)

    def test_each_stage_runs_once_and_leaves_nothing_but_its_figures(self):
        first = self.scale(PROGRAM)
        self.assertIn("| recover: open |", first)
        self.assertEqual(os.listdir(self.directory), ["scale.csv"])
        self.assertEqual(self.scale("/bin/false"), first)

    def test_a_size_that_fails_leaves_no_figures(self):
        with self.assertRaisesRegex(SystemExit, "delayed, 10000 jobs: the stage fill failed"):
            self.scale("/bin/false")
        self.assertEqual(os.listdir(self.directory), [])

    @unittest.skipIf(shutil.which("gnuplot") is None, "gnuplot is not installed")
    def test_the_curves_are_drawn(self):
        plots = os.path.join(self.directory, "plots")
        self.scale(PROGRAM, "--plots", plots)
        self.assertEqual(len(os.listdir(plots)), len(scale_plots.PLOTS))


if __name__ == "__main__":
    PROGRAM = os.path.abspath(sys.argv.pop(1))
    unittest.main()
