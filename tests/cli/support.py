"""What the tests of the program share: functions that run it, and functions that make traces.

ELAPSE_PROGRAM names the program. Each test has a directory of its own, which is also the working
directory of the program, so that the names of files in messages are short.
"""

import gzip
import json
import os
import re
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

PROGRAM = os.environ.get("ELAPSE_PROGRAM", "elapse")
HAS_SERVER = os.environ.get("ELAPSE_HAS_SERVER", "1") == "1"
HAS_CLIENT = os.environ.get("ELAPSE_HAS_CLIENT", "1") == "1"
SOURCE_ROOT = Path(__file__).resolve().parents[2]
STRUCTURES = ("wheel", "heap")
HEADER = "time_us,op,key,delay_us,tag\n"
TIME_US_MAX = 2**64 - 2

STATUS_OK, STATUS_FAILED, STATUS_USAGE = 0, 1, 2
SKIPPED = 77  # what ctest takes for "skipped"


class Outcome:
    """How a run of the program ended."""

    def __init__(self, completed):
        self.status = completed.returncode
        self.output = completed.stdout.decode("utf-8", "surrogateescape")
        self.errors = completed.stderr.decode("utf-8", "surrogateescape")

    def __str__(self):
        return f"status {self.status}\noutput: {self.output}\nerrors: {self.errors}"


def trace_text(*lines):
    """Returns the text of a trace with these lines, which have no line ends."""
    return HEADER + "".join(line + "\n" for line in lines)


class ProgramTest(unittest.TestCase):
    """A test case with a directory and a program to run in it."""

    maxDiff = None

    def setUp(self):
        directory = tempfile.TemporaryDirectory(prefix="elapse-test-")
        self.addCleanup(directory.cleanup)
        self.directory = Path(directory.name)

    def write(self, name, content):
        """Writes a file of text or bytes; compressed when its name ends in .gz."""
        data = content if isinstance(content, bytes) else content.encode()
        if name.endswith(".gz"):
            data = gzip.compress(data, mtime=0)
        (self.directory / name).write_bytes(data)
        return name

    def run_program(self, *arguments, stdin=b"", **options):
        if isinstance(stdin, str):
            stdin = stdin.encode()
        if "stdin_file" in options:
            source = {"stdin": options.pop("stdin_file")}
        else:
            source = {"input": stdin}
        options.setdefault("stdout", subprocess.PIPE)
        completed = subprocess.run(
            [PROGRAM, *map(os.fsdecode, arguments)],
            cwd=self.directory, stderr=subprocess.PIPE, timeout=120, check=False,
            **source, **options)
        if completed.stdout is None:
            completed.stdout = b""
        return Outcome(completed)

    def succeed(self, *arguments, **options):
        """Runs the program, which must succeed quietly, and returns its output."""
        outcome = self.run_program(*arguments, **options)
        self.assertEqual((outcome.status, outcome.errors), (STATUS_OK, ""), outcome)
        return outcome.output

    def replay(self, *arguments, **options):
        """Runs a replay. Returns its figures, parsed from JSON."""
        lines = self.succeed("replay", "--json", *arguments, **options).splitlines()
        self.assertEqual(len(lines), 1, lines)
        return json.loads(lines[0])

    def assert_figures(self, figures, **expected):
        """Expects these values of figures, and what holds for the figures of every replay."""
        expected = {"early": 0, "late_ticks_max": 0, **expected}
        self.assertEqual({name: figures[name] for name in expected}, expected)

    def assert_usage_error(self, program, *arguments, says=()):
        """Expects a usage error: one message that has all of `says`, and a hint."""
        outcome = self.run_program(*arguments)
        self.assertEqual(outcome.status, STATUS_USAGE, outcome)
        self.assertEqual(outcome.output, "", outcome)
        lines = outcome.errors.splitlines()
        self.assertEqual(len(lines), 2, outcome)
        self.assertTrue(lines[0].startswith(program + ": "), outcome)
        self.assertEqual(lines[1], f"Try '{program} --help'.", outcome)
        for words in says:
            self.assertIn(words, lines[0], outcome)

    def assert_fault(self, outcome, name, line, *says):
        """Expects a failure with one line that names the file, the line and the fault."""
        self.assertEqual(outcome.status, STATUS_USAGE, outcome)
        lines = outcome.errors.splitlines()
        self.assertEqual(len(lines), 1, outcome)
        place = name if line is None else f"{name}:{line}"
        self.assertRegex(lines[0], rf"^elapse replay: {re.escape(place)}: .", outcome)
        for words in says:
            self.assertIn(words, lines[0], outcome)

    def assert_bad_trace(self, content, line, *says, name="bad.csv"):
        """The trace is refused on every structure and in every form, and nothing reported of it."""
        self.write(name, content)
        for structure, form in zip(STRUCTURES, ((), ("--json",)), strict=True):
            outcome = self.run_program("replay", "--structure", structure, *form, name)
            self.assert_fault(outcome, name, line, *says)
            self.assertEqual(outcome.output, "", outcome)


def main():
    """Runs the tests of the calling file; SKIPPED when there was none to run."""
    result = unittest.main(exit=False, verbosity=2).result
    if not result.wasSuccessful():
        sys.exit(1)
    sys.exit(SKIPPED if result.testsRun == len(result.skipped) else 0)
