"""Tests journals that earlier versions wrote. Every later version must open them.

tests/engine/store/fixtures/format-N/journal has the files as a kill left them, and jobs.jsonl says what
is in them. format-N-SUBJECT has more files of format N. A machine with the other byte order (s390x)
wrote format-1-big-endian. Format 2 is that of nodes of a cluster, and format 3 has headers. Never write
one of these directories again: a new format gets a new directory.
"""

import shutil
import unittest

import support

FIXTURES = support.SOURCE_ROOT / "tests" / "engine" / "store" / "fixtures"


class Formats(support.ProgramTest):
    def copy(self, fixture):
        (self.directory / "d").mkdir()
        shutil.copytree(fixture / "journal", self.directory / "d" / "journal")
        return (fixture / "jobs.jsonl").read_text()

    def test_each_format_opens_with_all_its_jobs(self):
        fixtures = sorted(FIXTURES.glob("format-*"))
        self.assertTrue(fixtures)
        for fixture in fixtures:
            with self.subTest(fixture=fixture.name):
                jobs = self.copy(fixture)
                self.assertRegex(self.succeed("check", "d"), r"^all is whole: \d+ records\n$")
                self.assertEqual(self.succeed("export", "d"), jobs)
                shutil.rmtree(self.directory / "d")

    def test_format_1_goes_on(self):
        """The timer that a worker had when the process was killed fires again, and says so."""
        self.copy(FIXTURES / "format-1")
        process = self.run_program("run", "--data", "d", "--exec", "sh", "-c",
                                   "echo $ELAPSE_KEY $ELAPSE_REPETITION; kill $PPID")
        self.assertEqual(process.output, "held true\n", process)


if __name__ == "__main__":
    unittest.main()
