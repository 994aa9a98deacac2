"""Schedules with the moments that another reader of them computed.

Schedules of our own are in schedules.tsv, beside this file. Real ones, of public projects, are in
the directory that ELAPSE_TRACES names, or else in shared/traces beside the project; where they are
absent, that test is skipped and says so. Moments more than sixty days after the beginning are not
in them.
"""

import csv
import datetime
import gzip
import os
import unittest
from pathlib import Path

import support

OWN = Path(__file__).with_name("schedules.tsv")
TRACES = Path(os.environ.get("ELAPSE_TRACES") or support.SOURCE_ROOT.parent / "shared/traces")
REAL = TRACES / "cron_expressions.tsv.gz"
HORIZON_S = 60 * 24 * 60 * 60
AFTER_S = int(datetime.datetime(2026, 3, 1, tzinfo=datetime.timezone.utc).timestamp())
NEVER = "error 4 this day never comes"


def seconds(text):
    """The moment of 2026-03-01T00:00Z or 2026-03-01T00:00:00Z."""
    return int(datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp())


def read(file):
    lines = (line for line in file if not line.startswith("#"))
    return list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))


class Schedules(unittest.TestCase):
    maxDiff = None

    def test_own_next_three(self):
        with open(OWN, encoding="utf-8", newline="") as file:
            rows = read(file)
        self.assertGreater(len(rows), 60)
        answers = support.ask([(AFTER_S, 3, row["expression"]) for row in rows])
        for row, answer in zip(rows, answers, strict=True):
            with self.subTest(row["expression"]):
                never = row["next"] == "never"
                self.assertEqual(answer, NEVER if never
                                 else [seconds(word) for word in row["next"].split()])
        print(f"{len(rows)} schedules of our own")

    @unittest.skipUnless(REAL.is_file(), f"there are no real schedules in {TRACES}")
    def test_real_next_five(self):
        with gzip.open(REAL, "rt", encoding="utf-8", newline="") as file:
            rows = [row for row in read(file) if row["kind"] == "cron"]
        self.assertEqual(len(rows), 571)
        answers = support.ask([(AFTER_S, 5, row["expr"]) for row in rows])
        without = set()
        for row, answer in zip(rows, answers, strict=True):
            wanted = [seconds(word) for word in row["next5_utc_after_2026-03-01T00:00:00Z"].split()]
            with self.subTest(row["expr"]):
                if len(wanted) == 5:
                    self.assertEqual(answer, wanted)
                elif wanted:
                    self.assertEqual(len(answer), 5)
                    self.assertEqual([fire for fire in answer if fire <= AFTER_S + HORIZON_S],
                                     wanted)
                else:
                    without.add(row["expr"])
                    self.assertEqual(answer, NEVER)
        self.assertIn("0 0 30 2 *", without)
        print(f"{len(rows)} schedules, of which never: {sorted(without)}")


if __name__ == "__main__":
    support.main()
