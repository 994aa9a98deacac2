"""Tests elapse run with times as people write them, with one timer and no input, and with a byte order
mark."""

import datetime
import json
import os
import time

import support
from run_support import RunTest, firings


class Times(RunTest):
    def due(self, *lines, zone="ABC-5:30", arguments=()):
        """When the timers of these lines are due, by key, in UTC."""
        process = self.begin("--answers", *arguments, env={**os.environ, "TZ": zone})
        self.tell(process, *lines, "list")
        due = {}
        while "listed" not in (entry := json.loads(process.stdout.readline())):
            due[entry["list"]] = datetime.datetime.fromisoformat(entry["due"].replace("Z", "+00:00"))
        process.kill()
        self.assertEqual(len(due), len(lines))
        return due

    def test_a_time_of_day_is_the_next_such_time(self):
        before = datetime.datetime.now(datetime.timezone.utc)
        due = self.due("at 18:30 a", "at 06:00:05 b", "at 00:00:00.250 c")
        after = datetime.datetime.now(datetime.timezone.utc)
        zone = datetime.timezone(datetime.timedelta(hours=5, minutes=30))
        for key, clock in (("a", "18:30:00"), ("b", "06:00:05"), ("c", "00:00:00.25")):
            self.assertTrue(due[key].astimezone(zone).time().isoformat().startswith(clock), due)
            self.assertLess(before, due[key])
            self.assertLessEqual(due[key], after + datetime.timedelta(days=1))

    def test_a_date_without_a_zone_is_local(self):
        lines = ("at 2200-01-01T00:00 a", "at 2200-12-31T23:59:59.5 b")
        self.assertEqual({key: due.isoformat() for key, due in self.due(*lines).items()},
                         {"a": "2199-12-31T18:30:00+00:00",
                          "b": "2200-12-31T18:29:59.500000+00:00"})
        self.assertEqual(self.due(*lines, arguments=("--utc",))["a"].isoformat(),
                         "2200-01-01T00:00:00+00:00")

    def test_a_time_in_a_gap_and_one_that_comes_twice(self):
        due = self.due("at 2199-03-31T02:30 gap", "at 2199-10-27T02:30 twice",
                       zone="CET-1CEST,M3.5.0,M10.5.0/3")
        self.assertEqual(due["gap"].isoformat(), "2199-03-31T01:00:00+00:00")
        self.assertEqual(due["twice"].isoformat(), "2199-10-27T00:30:00+00:00")

    def test_a_local_time_that_has_passed(self):
        (firing,) = self.fire("at 2020-01-01T00:00 k", arguments=("--utc",))
        self.assertEqual(firing["due"], "2020-01-01T00:00:00.000000Z")
        (firing,) = self.fire("at 1969-01-01T00:00 k", arguments=("--utc",))

    def test_weeks(self):
        due = self.due("in 1w a", "in 2w3d b")
        self.assertAlmostEqual((due["b"] - due["a"]).total_seconds(), 10 * 86400, delta=60)


class OneShot(RunTest):
    def test_in(self):
        begun = time.monotonic()
        (firing,) = firings(self.succeed("run", "--in", "100ms", stdin="in 1ms never\n"))
        self.assertEqual(firing["key"], "once")
        self.assertGreaterEqual(time.monotonic() - begun, 0.1)

    def test_a_program(self):
        self.assertEqual(self.succeed("run", "--in", "1ms", "--exec", "echo", "fired"), "fired\n")

    def test_at(self):
        (firing,) = firings(self.succeed("run", "--at", "2020-01-01T00:00:00Z"))
        self.assertEqual(firing["due"], "2020-01-01T00:00:00.000000Z")


class Mark(RunTest):
    def test_a_byte_order_mark_is_skipped(self):
        for end in ("\n", "\r\n", ""):
            (firing,) = firings(self.succeed("run", stdin="\ufeffin 1ms k x" + end))
            self.assertEqual((firing["key"], firing["payload"]), ("k", "x"))
        self.assertEqual(self.succeed("run", stdin="\ufeff"), "")
        self.assertEqual(self.succeed("run", stdin="\ufeff\n\n"), "")

    def test_only_on_the_first_line(self):
        outcome = self.run_program("run", stdin="\n\ufeffin 1ms k\n")
        self.assertIn("line 2: ", outcome.errors)


if __name__ == "__main__":
    support.main()
