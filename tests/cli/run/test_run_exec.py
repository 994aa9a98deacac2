"""Tests elapse run --exec, which runs a program each time that a timer fires."""

import os
import re
import signal
import time

import support
from run_support import MOMENT, RunTest

OWN = ("KEY", "DUE", "FIRED", "LATE_US", "RUN", "MISSED", "PAYLOAD")
# On a slow machine a timer may wait for a worker so long that it is reported: for a second or more.
WAITED = re.compile(r"^elapse run: '([^'\n]*)': waited (?!0s|\d+(?:ms|us|ns) )(\S+) for a worker; --workers allows more\n",
                    re.M)


class Exec(RunTest):
    def run_lines(self, text, *arguments, **options):
        """The errors lack what says that a timer has waited for a worker."""
        outcome = self.run_program("run", *arguments, stdin=text, **options)
        outcome.errors = WAITED.sub("", outcome.errors)
        return outcome

    def finish(self, process):
        output, errors = super().finish(process)
        return output, WAITED.sub("", errors)

    def test_the_environment(self):
        env = {**os.environ, "ELAPSE_KEY": "stale", "ELAPSE_RUN": "stale", "OTHER": "kept"}
        outcome = self.run_lines('in 1ms order:42 {"a": "é=b"} \n', "--exec", "env", "-0", env=env)
        self.assertEqual((outcome.status, outcome.errors), (0, ""), outcome)
        entries = [entry.split("=", 1) for entry in outcome.output.split("\0")[:-1]]
        self.assertEqual(len(entries), len(dict(entries)))
        got = dict(entries)
        self.assertEqual(got["ELAPSE_KEY"], "order:42")
        self.assertEqual(got["ELAPSE_PAYLOAD"], '{"a": "é=b"} ')
        self.assertEqual((got["ELAPSE_RUN"], got["ELAPSE_MISSED"]), ("1", "0"))
        self.assertTrue(MOMENT.fullmatch(got["ELAPSE_DUE"]), got)
        self.assertTrue(MOMENT.fullmatch(got["ELAPSE_FIRED"]), got)
        self.assertRegex(got["ELAPSE_LATE_US"], r"^\d+$")
        self.assertEqual(got["OTHER"], "kept")

    def test_the_largest_payload(self):
        outcome = self.run_lines(f"in 1ms {'k' * 1024} {'p' * 65536}\n", "--exec", "sh", "-c",
                                 'echo "${#ELAPSE_KEY} ${#ELAPSE_PAYLOAD}"')
        self.assertEqual((outcome.status, outcome.output), (0, "1024 65536\n"), outcome)

    def test_all_behind_it_belongs_to_the_program(self):
        outcome = self.run_lines("in 1ms k\n", "--utc", "--exec", "printf", "<%s>", "--help",
                                 "--exec", "--", "-", "two words", "", "$HOME;*")
        self.assertEqual(outcome.output, "<--help><--exec><--><-><two words><><$HOME;*>", outcome)
        self.assertEqual((outcome.status, outcome.errors), (0, ""), outcome)

    def test_its_input_is_empty_and_its_signals_are_as_ever(self):
        outcome = self.run_lines("in 1ms k\nin 2ms l\n", "--exec", "sh", "-c",
                                 "cat; grep SigBlk /proc/self/status")
        self.assertEqual(outcome.status, 0, outcome)
        self.assertRegex(outcome.output, r"^(SigBlk:\t0+\n){2}$")

    def test_failures(self):
        outcome = self.run_lines("in 1ms a 0\nin 2ms b 3\nin 3ms c 255\n", "--stats", "--exec",
                                 "sh", "-c", "exit $ELAPSE_PAYLOAD")
        self.assertEqual(outcome.status, support.STATUS_FAILED, outcome)
        lines = outcome.errors.splitlines()
        self.assertEqual(sorted(lines[:2]), ["elapse run: 'b': sh ended with exit status 3",
                                             "elapse run: 'c': sh ended with exit status 255"])
        counts = self.counts(outcome.errors)
        self.assertEqual((counts["fired"], counts["failed"]), (3, 2))

    def test_a_program_that_is_killed(self):
        outcome = self.run_lines("in 1ms a\n", "--exec", "sh", "-c", "kill -KILL $$")
        self.assertEqual(outcome.status, support.STATUS_FAILED, outcome)
        self.assertRegex(outcome.errors, r"^elapse run: 'a': sh was ended by signal 9 \(.+\)\n$")

    def test_a_program_that_cannot_be_run(self):
        self.write("plain", "no program")
        for program, words in (("/nonexistent/program", "No such file"), ("nowhere-found", "No such"),
                               ("./plain", "Permission denied")):
            outcome = self.run_lines("in 1ms a\nin 1ms b\n", "--exec", program)
            self.assertEqual(outcome.status, support.STATUS_FAILED, outcome)
            self.assertEqual(len(outcome.errors.splitlines()), 2, outcome)
            self.assertRegex(outcome.errors,
                             rf"^elapse run: '[ab]': cannot run {re.escape(program)}: {words}")

    def test_ignored_children_are_waited_for(self):
        def ignore():
            signal.signal(signal.SIGCHLD, signal.SIG_IGN)

        outcome = self.run_lines("in 1ms a\n", "--exec", "sh", "-c", "exit 4", preexec_fn=ignore)
        self.assertIn("exit status 4", outcome.errors)

    def check_together(self, workers, most):
        """Each notes how many there are, itself included, while it runs."""
        running = self.directory / f"running{workers}"
        running.mkdir()
        script = ('touch "$0/$ELAPSE_KEY"; ls "$0" | wc -l; sleep 0.05; rm "$0/$ELAPSE_KEY"')
        lines = "".join(f"in 1ms k{number}\n" for number in range(3 * most))
        outcome = self.run_lines(lines, *workers, "--exec", "sh", "-c", script, str(running))
        self.assertEqual((outcome.status, outcome.errors), (0, ""), outcome)
        seen = [int(line) for line in outcome.output.split()]
        self.assertEqual(len(seen), 3 * most)
        self.assertLessEqual(max(seen), most)
        return max(seen)

    def test_no_more_at_once_than_asked_for(self):
        self.assertEqual(self.check_together(("--workers", "1"), 1), 1)
        self.check_together(("--workers", "3"), 3)
        self.check_together((), 10)

    def test_one_key_never_overlaps_itself(self):
        script = 'mkdir "$0" || echo overlap; sleep 0.02; rmdir "$0"; echo "$ELAPSE_RUN"'
        process = self.begin("--exec", "sh", "-c", script, str(self.directory / "lock"))
        self.tell(process, "every 1ms k")
        self.assertEqual([process.stdout.readline() for _ in range(5)],
                         [f"{run}\n".encode() for run in range(1, 6)])
        self.tell(process, "cancel k")
        output, errors = self.finish(process)
        self.assertEqual((process.returncode, errors), (0, ""))
        self.assertNotIn("overlap", output)

    def test_a_program_that_runs_too_long(self):
        for script in ("sleep 100000", "sleep 100000; true", "sleep 100000 & wait"):
            with self.subTest(script=script):
                outcome = self.run_lines("in 1ms k\n", "--timeout", "200ms", "--exec", "sh", "-c",
                                         script)
                self.assertEqual((outcome.status, outcome.errors),
                                 (1, "elapse run: 'k': sh was ended after 200ms\n"))

    def test_a_program_that_does_not_listen(self):
        begun = time.monotonic()
        outcome = self.run_lines("in 1ms k\n", "--timeout", "100ms", "--exec", "sh", "-c",
                                 "trap '' TERM; while :; do sleep 0.1; done")
        self.assertGreater(time.monotonic() - begun, 5)
        self.assertEqual(outcome.errors, "elapse run: 'k': sh was ended after 100ms\n")

    def test_a_program_that_ends_in_time(self):
        outcome = self.run_lines("in 1ms k\nin 1ms l\n", "--timeout", "1h", "--exec", "sh", "-c",
                                 "sleep 0.05; echo done")
        self.assertEqual((outcome.status, outcome.output, outcome.errors), (0, "done\n" * 2, ""))

    def test_retries(self):
        script = 'echo >>count; test $(wc -l <count) -eq 3'
        outcome = self.run_lines("in 1ms k\n", "--retry", "5", "--backoff", "1ms..5ms", "--exec",
                                 "sh", "-c", script)
        self.assertEqual(outcome.status, 0, outcome)
        self.assertEqual(outcome.errors, "elapse run: 'k': sh ended with exit status 1\n" * 2)

    def test_retries_that_all_fail(self):
        begun = time.monotonic()
        outcome = self.run_lines("in 1ms k\n", "--stats", "--retry", "3", "--backoff",
                                 "50ms..80ms", "--exec", "false")
        self.assertGreater(time.monotonic() - begun, 0.05 + 0.08 + 0.08)
        self.assertEqual(outcome.status, support.STATUS_FAILED)
        self.assertEqual(outcome.errors.count("false ended with exit status 1\n"), 4)
        self.assertEqual(self.counts(outcome.errors)["failed"], 1)

    def test_a_signal_ends_the_wait_for_a_retry(self):
        process = self.begin("--retry", "9", "--backoff", "1h", "--exec", "false")
        self.tell(process, "in 1ms k", "in 1h l")
        self.assertIn(b"exit status 1", process.stderr.readline())
        process.send_signal(signal.SIGTERM)
        self.assertEqual(self.finish(process), ("", "elapse run: ended with 1 timer pending\n"))

    def test_a_long_wait_for_a_worker_is_reported(self):
        begun = time.monotonic()
        outcome = self.run_program("run", "--workers", "1", "--exec", "sleep", "1.2", stdin="in 1ms k\nin 2ms l\n")
        took_s = time.monotonic() - begun
        self.assertEqual((outcome.status, WAITED.sub("", outcome.errors)), (0, ""), outcome)
        # One waits for the other. Each may wait for the machine, too.
        found = WAITED.findall(outcome.errors)
        self.assertIn(sorted(key for key, _ in found), (["k"], ["l"], ["k", "l"]))
        for _, wait in found:
            minutes, seconds, milliseconds = re.fullmatch(r"(?:(\d+)m)?(?:(\d+)s)?(?:(\d+)ms)?", wait).groups("0")
            self.assertLess(60 * int(minutes) + int(seconds) + int(milliseconds) / 1000, took_s)

    def test_what_runs_is_waited_for(self):
        outcome = self.run_lines("in 1ms k\n", "--exec", "sh", "-c", "sleep 0.3; echo done")
        self.assertEqual((outcome.status, outcome.output), (0, "done\n"), outcome)
        process = self.begin("--exec", "sh", "-c", "echo begun; sleep 0.3; echo done")
        self.tell(process, "in 1ms k", "in 1h l")
        self.assertEqual(process.stdout.readline(), b"begun\n")
        process.send_signal(signal.SIGTERM)
        self.assertEqual(self.finish(process),
                         ("done\n", "elapse run: ended with 1 timer pending\n"))


if __name__ == "__main__":
    support.main()
