"""Forms of expressions, with the moments that another reader of them computed: forms.tsv."""

import collections
import csv
import datetime
import unittest
from pathlib import Path

import support

FORMS = Path(__file__).with_name("forms.tsv")
ZONES = Path("/usr/share/zoneinfo")
ROWS_OF_A_FORM = 40


def seconds(text):
    return int(datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp())


class Forms(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        with open(FORMS, encoding="utf-8", newline="") as file:
            lines = (line for line in file if not line.startswith("#"))
            cls.rows = list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))

    def test_there_are_enough_of_each(self):
        forms = collections.Counter(row["form"] for row in self.rows)
        self.assertEqual(set(forms), {"wraps", "every", "last", "zone", "open"})
        for form, count in forms.items():
            self.assertGreaterEqual(count, ROWS_OF_A_FORM, form)

    def test_next_three(self):
        for zone in sorted({row["zone"] for row in self.rows}):
            if zone != "UTC" and not (ZONES / zone).is_file():
                print(f"skipped: the zone {zone} is not installed")
                continue
            rows = [row for row in self.rows if row["zone"] == zone]
            answers = support.ask([(seconds(row["after"]), 3, row["expression"]) for row in rows],
                                  zone.replace("UTC", "utc"))
            for row, answer in zip(rows, answers, strict=True):
                with self.subTest(row["expression"], zone=zone, after=row["after"]):
                    self.assertEqual(answer, [seconds(word) for word in row["next"].split()])

    def test_zones_that_are_none(self):
        for zone in ("Europe/Nowhere", "../../../etc/passwd", "/usr/share/zoneinfo/Europe/Berlin",
                     "Europe/../Europe/Berlin", "zone.tab", "Europe", ".", "X", "CET-25",
                     "CET-1CEST,M3.5.0", "CET-1CEST,M13.5.0,M10.5.0", "CET-1CEST,M3.5.0,M10.5.0x"):
            answers = support.ask([(0, 1, "0 0 * * *")], zone)
            self.assertEqual(answers, ["error 0 there is no such zone"], zone)

    def test_rules(self):
        """The same as the files, in the years for which the rules hold."""
        after = seconds("2026-01-01T00:00:00Z")
        questions = [(after, 500, "30 2 * * 0"), (after, 50, "0 0 1 * *")]
        for rule, zone in (("CET-1CEST,M3.5.0,M10.5.0/3", "Europe/Berlin"),
                           ("EST5EDT,M3.2.0,M11.1.0", "America/New_York"),
                           ("IST-1GMT0,M10.5.0,M3.5.0/1", "Europe/Dublin"),
                           ("<+1030>-10:30<+11>-11,M10.1.0,M4.1.0", "Australia/Lord_Howe"),
                           ("<-02>2<-01>,M3.5.0/-1,M10.5.0/0", "America/Nuuk")):
            if (ZONES / zone).is_file():
                self.assertEqual(support.ask(questions, rule), support.ask(questions, zone), rule)


if __name__ == "__main__":
    support.main()
