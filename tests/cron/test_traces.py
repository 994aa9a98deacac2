"""Real schedules, with the moments that another reader of them computed.

They lie in the directory that ELAPSE_TRACES names, or else in shared/traces beside
the project; where they are absent, nothing is tested. What comes more than sixty days
after the beginning is not in them.
"""

import csv
import datetime
import gzip
import os
import unittest
from pathlib import Path

import support

TRACES = Path(os.environ.get("ELAPSE_TRACES") or support.SOURCE_ROOT.parent / "shared/traces")
SCHEDULES = TRACES / "cron_expressions.tsv.gz"
HORIZON_S = 60 * 24 * 60 * 60
AFTER = datetime.datetime(2026, 3, 1, tzinfo=datetime.timezone.utc)


def seconds(text):
    return int(datetime.datetime.strptime(text, "%Y-%m-%dT%H:%MZ")
               .replace(tzinfo=datetime.timezone.utc).timestamp())


@unittest.skipUnless(SCHEDULES.is_file(), f"there are no real schedules in {TRACES}")
class RealSchedules(unittest.TestCase):
    maxDiff = None

    def test_next_five(self):
        with gzip.open(SCHEDULES, "rt", encoding="utf-8", newline="") as file:
            rows = [row for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
                    if row["kind"] == "cron"]
        self.assertEqual(len(rows), 571)
        after_s = int(AFTER.timestamp())
        answers = support.ask([(after_s, 5, row["expr"]) for row in rows])
        without = set()
        for row, answer in zip(rows, answers, strict=True):
            wanted = [seconds(word) for word in row["next5_utc_after_2026-03-01T00:00:00Z"].split()]
            with self.subTest(row["expr"]):
                if len(wanted) == 5:
                    self.assertEqual(answer, wanted)
                elif wanted:
                    self.assertEqual(len(answer), 5)
                    self.assertEqual([fire for fire in answer if fire <= after_s + HORIZON_S],
                                     wanted)
                else:
                    without.add(row["expr"])
                    self.assertEqual(answer, "error 4 this day never comes")
        self.assertIn("0 0 30 2 *", without)
        print(f"{len(rows)} schedules, of which never: {sorted(without)}")


if __name__ == "__main__":
    support.main()
