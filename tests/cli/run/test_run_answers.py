"""Tests elapse run --answers: what answer a line gets, and the lateness of a time that has passed."""

import datetime
import json
import signal
import subprocess
import time
from pathlib import Path

import support
from run_support import MOMENT, RunTest

# A program that runs until the test lets it go.
UNTIL_GO = "echo; while [ ! -e go ]; do sleep 0.02; done"


class Answers(RunTest):
    def ask(self, process, *lines):
        """Gives the lines, and returns as many lines of output, parsed."""
        self.tell(process, *lines)
        return [json.loads(process.stdout.readline()) for _ in lines]

    def finish_quietly(self, process, status):
        _, errors = self.finish(process)
        self.assertEqual(process.returncode, status, errors)

    def test_cancel_is_answered(self):
        process = self.begin("--answers")
        self.tell(process, "in 1h a", "every 1h é\"")
        answers = self.ask(process, "cancel a", "cancel a", "cancel é\"", "cancel nobody")
        self.assertEqual(answers, [{"cancel": "a", "answer": "removed"},
                                   {"cancel": "a", "answer": "gone"},
                                   {"cancel": "é\"", "answer": "removed"},
                                   {"cancel": "nobody", "answer": "gone"}])
        self.finish_quietly(process, 0)

    def test_cancel_of_a_timer_that_runs(self):
        process = self.begin("--answers", "--exec", "sh", "-c", UNTIL_GO)
        self.tell(process, "every 1ms k")
        self.assertEqual(process.stdout.readline(), b"\n")
        self.assertEqual(self.ask(process, "cancel k"), [{"cancel": "k", "answer": "running"}])
        self.write("go", "")
        self.finish_quietly(process, 0)

    def test_errors_are_lines_of_json(self):
        process = self.begin("--answers")
        answers = self.ask(process, "nonsense", "in 5 k")
        self.assertEqual([answer["line"] for answer in answers], [1, 2])
        self.assertIn("'nonsense' is none of", answers[0]["error"])
        self.assertIn("a unit is missing", answers[1]["error"])
        output, errors = self.finish(process)
        self.assertEqual((output, errors), ("", "elapse run: 2 lines were bad\n"))
        self.assertEqual(process.returncode, support.STATUS_FAILED)

    def list(self, process):
        self.tell(process, "list")
        entries = []
        while "listed" not in (entry := json.loads(process.stdout.readline())):
            self.assertEqual(list(entry), ["list", "state", "due"])
            self.assertRegex(entry["due"], MOMENT)
            entries.append(entry)
        self.assertEqual(entry, {"listed": len(entries)})
        self.assertEqual(entries, sorted(entries, key=lambda entry: entry["due"]))
        return [(entry["list"], entry["state"]) for entry in entries]

    def test_list(self):
        process = self.begin("--answers")
        self.assertEqual(self.list(process), [])
        self.tell(process, "in 3h c", "in 1h a", "every 2h b", "at 2200-01-01T00:00:00Z e",
                  'cron "0 0 1 1 *" d', "in 1h d", "in 90m a")
        self.assertEqual(self.list(process), [(key, "pending") for key in "dabce"])
        self.ask(process, "cancel b", "cancel e")
        self.assertEqual(self.list(process), [(key, "pending") for key in "dac"])
        self.tell(process, *(f"in 1h {key}" for key in range(3000)), *(f"in 2h {key}" for key in
                                                                        range(3000)))
        self.assertEqual(len(self.list(process)), 3003)
        process.send_signal(signal.SIGTERM)
        self.finish_quietly(process, 128 + signal.SIGTERM)

    def test_list_while_a_timer_runs(self):
        process = self.begin("--answers", "--exec", "sh", "-c", UNTIL_GO)
        self.tell(process, "in 1ms k")
        self.assertEqual(process.stdout.readline(), b"\n")
        self.assertEqual(self.list(process), [("k", "running")])
        self.tell(process, "at 2200-01-01T00:00:00Z k")
        self.assertEqual(self.list(process), [("k", "pending")])
        self.ask(process, "cancel k")
        self.write("go", "")
        self.finish_quietly(process, 0)

    def test_list_needs_the_option(self):
        outcome = self.run_program("run", stdin="list\n")
        self.assertIn("line 1: list needs --answers\n", outcome.errors)
        outcome = self.run_program("run", "--answers", stdin="list all\n")
        self.assertIn("there is more after the word list", outcome.output)

    def test_a_slow_reader_of_answers(self):
        """No more lines are read while too many answers wait. None is lost."""
        count = 12000
        name = self.write("timers", f"cancel {'k' * 1000}\n" * count)
        process = self.begin("--answers", name)
        with self.assertRaises(subprocess.TimeoutExpired):
            process.wait(timeout=0.3)
        output, errors = self.finish(process)
        self.assertEqual((output.count("gone"), errors, process.returncode), (count, "", 0))


class Clocks(RunTest):
    def test_delays_go_on_while_the_machine_is_suspended(self):
        """The alarm that ends the sleep of the clock thread is by the boot-time clock."""
        process = self.begin()
        self.tell(process, "in 1h k", "in 1ms first")
        process.stdout.readline()
        alarms = [text for path in Path(f"/proc/{process.pid}/fdinfo").iterdir()
                  if "clockid: " in (text := path.read_text())]
        boot_time = f"clockid: {time.CLOCK_BOOTTIME}\n"
        self.assertTrue(any(boot_time in text for text in alarms), alarms)
        self.assertFalse(any("clockid: 1\n" in text for text in alarms), alarms)

    def test_fired_is_the_wall_clock(self):
        before = time.time_ns() // 1000 * 1000
        (firing,) = self.fire("in 20ms k")
        fired = datetime.datetime.fromisoformat(firing["fired"].replace("Z", "+00:00"))
        self.assertLessEqual(before / 1e9, fired.timestamp() + 1e-6)
        self.assertLessEqual(fired.timestamp(), time.time())


class Past(RunTest):
    def test_a_time_that_has_passed_is_no_lateness(self):
        outcome = self.run_program("run", "--stats", stdin="at 2020-01-01T00:00:00Z k\n")
        latest = outcome.errors.rstrip().rpartition(" ")[2]
        self.assertLess(int(latest), 60_000_000, outcome)
        firing = json.loads(outcome.output)
        self.assertEqual(firing["due"], "2020-01-01T00:00:00.000000Z")


if __name__ == "__main__":
    support.main()
