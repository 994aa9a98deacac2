"""Tests elapse replay with structures that each break a promise. The replay must find each of them.

ELAPSE_BROKEN_PROGRAM names the program that has these structures (broken_structures.c).
"""

import json
import os
import subprocess

import support
from support import trace_text

PROGRAM = os.environ.get("ELAPSE_BROKEN_PROGRAM", "elapse-broken")


class Broken(support.ProgramTest):
    """The replay reports the broken promise on standard error and exits with the status of a
    failure. A build with sanitizers also checks that it leaks no memory then."""

    def setUp(self):
        super().setUp()
        # Nearly all timers fire, and one is left at the end. 200 are pending at one time, and the
        # operations are more than one batch.
        lines = [f"{number // 2 * 100},start,key-{number},10000," for number in range(6000)]
        self.write("trace.csv", trace_text(*lines, "1000000000,start,end,5,"))

    def run_broken(self, structure, *arguments):
        completed = subprocess.run(
            [PROGRAM, "replay", "--structure", structure, *arguments, "trace.csv"],
            cwd=self.directory, capture_output=True, timeout=120, check=False)
        return support.Outcome(completed)

    def assert_judged(self, structure, message, **expected):
        """Expects a report which says that the structure is wrong."""
        for form in ((), ("--json",)):
            outcome = self.run_broken(structure, *form)
            self.assertEqual(outcome.status, support.STATUS_FAILED, outcome)
            self.assertEqual(outcome.errors, f"elapse replay: trace.csv: {message}\n")
        figures = json.loads(outcome.output)
        self.assertEqual({name: figures[name] for name in expected}, expected)

    def assert_refused(self, structure, message):
        """Expects a failure without a report."""
        outcome = self.run_broken(structure)
        self.assertEqual((outcome.status, outcome.output), (support.STATUS_FAILED, ""), outcome)
        self.assertRegex(outcome.errors,
                         rf"\Aelapse replay: trace\.csv:\d+: the structure is broken: {message}\n\Z")

    def test_a_sound_one(self):
        outcome = self.run_broken("sound")
        self.assertEqual((outcome.status, outcome.errors), (support.STATUS_OK, ""), outcome)

    def test_timers_that_fire_late(self):
        self.assert_judged("late", "timers were up to 3 ticks late", early=0, late_ticks_max=3,
                           fired=6000)

    def test_timers_that_are_late_and_pending_at_the_end(self):
        self.assert_judged("late-at-the-end", "timers were up to 999990000 ticks late", early=0,
                           late_ticks_max=999990000, fired=0, pending=6001)

    def test_timers_that_fire_early(self):
        self.assert_judged("early", "6000 timers fired early", early=6000, late_ticks_max=0)

    def test_one_that_cannot_be_initialised(self):
        self.assert_refused("init-refused", "it could not be initialised")

    def test_one_that_refuses_timers(self):
        self.assert_refused("start-refused", "it refused to start a timer")

    def test_one_that_loses_timers(self):
        self.assert_refused("start-lost", "its count of pending timers is wrong")


if __name__ == "__main__":
    support.main()
