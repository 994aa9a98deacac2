"""Tests elapse run with wrong lines, options and files, and the ways in which a run ends."""

import os
import signal
import subprocess
import time

import support
from run_support import RunTest, firings

BAD_LINES = (
    ("soon k p", "'soon' is none of in, at, every, after-each, cron, cancel, list"),
    ("IN 1s k", "'IN' is none"),
    ("in", "a duration is missing"),
    ("in ", "a duration is missing"),
    ("in 5 k", "'5': a unit is missing"),
    ("in -5s k", "cannot be negative"),
    ("in 5parsecs k", "the unit is not one of"),
    ("in " + "1" * 200 + "s k", "too long"),
    ("in 5s", "a key is missing"),
    ("in 5s  ", "a key is missing"),
    ("in 5s " + "k" * 1025, "the key is longer than 1024 bytes"),
    ("in 5s k " + "p" * 65537, "the payload is longer than 65536 bytes"),
    ("in 5s k " + "p" * 2**20, "the line is longer than 1048576 bytes"),
    ("#" * (2**20 + 1), "the line is longer than 1048576 bytes"),
    ("#" * (2**21 + 7), "the line is longer than 1048576 bytes"),
    ("at", "a time is missing"),
    ("at noon k", "'noon': the time is not of the form"),
    ("at 2026-11-20 k", "not of the form"),
    ("at 2026-11-20T10:00:00x k", "not of the form"),
    ("at 24:00 k", "not of the form"),
    ("at 9:30 k", "not of the form"),
    ("at 18:30:60 k", "not of the form"),
    ("at 18:30Z k", "not of the form"),
    ("at 2026-02-29T10:00 k", "not of the form"),
    ("at 2026-11-20T10:00:00.Z k", "digits are missing"),
    ("at 2026-11-20T10:00:00.0000000001Z k", "finer than a nanosecond"),
    ("at 2026-11-20T10:00:00Zulu k", "not of the form"),
    ("at 2026-11-20T10:00:00+1 k", "the zone is neither"),
    ("at 2026-11-20T10:00:00+24:00 k", "the zone is neither"),
    ("at 2026-02-29T10:00:00Z k", "no such date"),
    ("at 2026-13-01T10:00:00Z k", "no such date"),
    ("at 2026-00-01T10:00:00Z k", "no such date"),
    ("at 1900-02-29T10:00:00Z k", "no such date"),
    ("at 2026-11-20T24:00:00Z k", "no such date"),
    ("at 2026-11-20T23:59:60Z k", "no such date"),
    ("at 2555-01-01T00:00:00Z k", "later than 64 bits"),
    ("at 9999-12-31T23:59:59Z k", "later than 64 bits"),
    ("at 2026-11-20T10:00:00Z", "a key is missing"),
    ("every 0s k", "the period is zero"),
    ("after-each 0ms k", "the period is zero"),
    ("every 200000d k", "longer than 292 years"),
    ("every k", "a number is missing"),
    ("cron * * * * * k", "between double quotes"),
    ("cron", "between double quotes"),
    ('cron "* * * * * k', "lacks its closing quote"),
    ('cron "* * * * *"k', "a blank is missing"),
    ('cron "* * * * *"', "a key is missing"),
    ('cron "61 * * * *" k', "at character 1"),
    ('cron "* * 30 2 *" k', "the cron expression"),
    ('cron "" k', "the cron expression"),
    ('cron "' + "*" * 1024 + '" k', "the cron expression"),
    ('cron "' + "*" * 5000 + '" k', "longer than 1023 characters"),
    ("cancel", "a key is missing"),
    ("cancel k p", "there is more after the key"),
    (b"in 5s k a\x00b", "there is a NUL byte"),
    (b"in 5s k\x00", "there is a NUL byte"),
    (b"in 5s k \xff", "it is not UTF-8"),
    (b"in 5s \xc3", "it is not UTF-8"),
    (b"in 5s k \xed\xa0\x80", "it is not UTF-8"),
    (b"in 5s k \xc0\xaf", "it is not UTF-8"),
    (b"in 5s k \xf4\x90\x80\x80", "it is not UTF-8"),
    (b"in 5s k 1234567\xe2\x82", "it is not UTF-8"),
    (b"\x00", "there is a NUL byte"),
    ("two\x1bwords", r"'two\x1bwords'"),
)


class BadLines(RunTest):
    def test_each_has_its_message(self):
        for line, words in BAD_LINES:
            data = line if isinstance(line, bytes) else line.encode()
            for end in (b"\n", b"\r\n", b""):
                with self.subTest(line=data[:60], end=end):
                    outcome = self.run_program("run", stdin=b"in 1ms a\n\n" + data + end)
                    self.assertEqual(outcome.status, support.STATUS_FAILED, outcome)
                    first, last = outcome.errors.splitlines()
                    self.assertTrue(first.startswith("elapse run: standard input: line 3: "), first)
                    self.assertIn(words, first)
                    self.assertEqual(last, "elapse run: 1 line was bad")
                    self.assertEqual([one["key"] for one in firings(outcome.output)], ["a"])

    def test_all_of_them_in_one_file(self):
        data = b"".join((line if isinstance(line, bytes) else line.encode()) +
                        b"\nin 1ms a\n" for line, _ in BAD_LINES)
        name = self.write("timers", data)
        outcome = self.run_program("run", name)
        self.assertEqual(outcome.status, support.STATUS_FAILED, outcome)
        errors = outcome.errors.splitlines()
        self.assertEqual(errors.pop(), f"elapse run: {len(BAD_LINES)} lines were bad")
        for number, (error, (_, words)) in enumerate(zip(errors, BAD_LINES, strict=True)):
            self.assertTrue(error.startswith(f"elapse run: timers: line {2 * number + 1}: "), error)
            self.assertIn(words, error)

    def test_strict(self):
        outcome = self.run_program("run", "--strict", stdin="in 1h a\nnonsense\nin 1h b\nmore\n")
        self.assertEqual((outcome.status, outcome.output), (support.STATUS_USAGE, ""), outcome)
        self.assertEqual(len(outcome.errors.splitlines()), 3, outcome)
        self.assertIn("line 2: 'nonsense'", outcome.errors)
        self.assertIn("elapse run: ended with 1 timer pending\n", outcome.errors)
        self.assertIn("elapse run: 1 line was bad\n", outcome.errors)
        self.assertEqual(self.run_program("run", "--strict", stdin="in 1ms a\n").status, 0)


class Options(RunTest):
    def test_wrong_ones(self):
        for arguments, words in (
                (("--tick",), "--tick"), (("--tick", "0s"), "1ns to 1h"),
                (("--tick", "61m"), "1ns to 1h"), (("--tick", "x"), "number is missing"),
                (("--exec",), "program is missing"), (("--exec", ""), "program is missing"),
                (("a", "b"), "too many files: 'b'"), (("--workers", "3"), "needs --exec"),
                (("--workers", "0", "--exec", "true"), "'0'"),
                (("--workers", "4097", "--exec", "true"), "'4097'"),
                (("--timeout", "1s"), "needs --exec"), (("--retry", "1"), "needs --exec"),
                (("--backoff", "1s"), "needs --exec"),
                (("--backoff", "1s", "--exec", "true"), "needs --retry"),
                (("--retry", "1", "--backoff", "2s..1s", "--exec", "true"), "'2s..1s'"),
                (("--retry", "1", "--backoff", "0s..1s", "--exec", "true"), "'0s..1s'"),
                (("--retry", "1", "--backoff", "1s..2d", "--exec", "true"), "'1s..2d'"),
                (("--retry", "1", "--backoff", "1s..", "--exec", "true"), "is empty"),
                (("--in", "5"), "--in: the duration '5': a unit is missing"), (("--in", ""), "''"),
                (("--at", "noon"), "--at: 'noon'"), (("--in", "5m x"), "not one word"),
                (("--in", "1s", "--at", "18:30"), "not both"), (("--in", "1s", "f"), "no file"),
                (("--exec=true",), "--exec"), (("--nonsense",), "nonsense"), (("-x",), "x"),
                (("--strict=1",), "--strict")):
            with self.subTest(arguments=arguments):
                self.assert_usage_error("elapse run", "run", *arguments, says=(words,))

    def test_help(self):
        output = self.succeed("run", "--help")
        self.assertEqual(self.succeed("help", "run"), output)
        page = (support.SOURCE_ROOT / "docs/man/elapse.1").read_text()
        for option in ("--exec", "--workers", "--tick", "--utc", "--strict", "--stats",
                       "--timeout", "--retry", "--backoff", "--answers"):
            self.assertIn(option, output)
            self.assertRegex(page, rf"(?m)^\.It Fl Fl {option[2:]}\b")
        for line in output.splitlines():
            self.assertLessEqual(len(line), 80, line)

    def test_files_that_cannot_be_read(self):
        for name, words in (("missing", "No such file"), (".", "Is a directory"), ("", "")):
            outcome = self.run_program("run", name)
            self.assertEqual((outcome.status, outcome.output), (support.STATUS_USAGE, ""), outcome)
            self.assertRegex(outcome.errors, rf"^elapse run: ({name}|''): .*{words}.*\n$")

    def test_a_closed_standard_input(self):
        outcome = subprocess.run(["sh", "-c", '"$0" run <&-', support.PROGRAM],
                                 capture_output=True, timeout=100, check=False)
        self.assertEqual(outcome.returncode, support.STATUS_USAGE)
        self.assertEqual(outcome.stderr, b"elapse run: standard input: Bad file descriptor\n")


class Output(RunTest):
    def test_a_reader_that_goes_away(self):
        for line in ("every 1ms k", "in 1h k"):
            for restore_signals in (True, False):
                with self.subTest(line=line, restore_signals=restore_signals):
                    process = self.begin(restore_signals=restore_signals)
                    self.tell(process, line, "in 1ms first")
                    self.assertIn(b'"', process.stdout.readline())
                    process.stdout.close()
                    self.assertEqual(process.stderr.read(), b"")
                    self.assertIn(process.wait(timeout=100),
                                  (-signal.SIGPIPE, support.STATUS_FAILED))

    def test_a_full_device(self):
        with open("/dev/full", "wb") as full:
            outcome = self.run_program("run", stdin="every 1ms k\n", stdout=full)
        self.assertEqual(outcome.status, support.STATUS_FAILED, outcome)
        self.assertEqual(outcome.errors, "elapse run: standard output: No space left on device\n")

    def test_a_non_blocking_standard_output(self):
        """The parent may make it so; it belongs to the open file. Nothing is lost."""
        reading, writing = os.pipe()
        os.set_blocking(writing, False)
        name = self.write("timers", "".join(f"in 1ms k{number} {'x' * 200}\n"
                                            for number in range(5000)))
        with open(reading, "rb") as output:
            process = subprocess.Popen([support.PROGRAM, "run", name], cwd=self.directory,
                                       stdout=writing, stderr=subprocess.PIPE)
            os.close(writing)
            with process:
                # The pipe holds 64 KiB, the lines are a megabyte: it is full by the time of reading.
                with self.assertRaises(subprocess.TimeoutExpired):
                    process.wait(timeout=0.3)
                fired = firings(output.read().decode())
                self.assertEqual((process.wait(timeout=100), process.stderr.read()), (0, b""))
        self.assertEqual([one["key"] for one in fired], [f"k{number}" for number in range(5000)])

    def test_a_reader_that_is_slow(self):
        """More than any buffer on the way holds: nothing is lost."""
        process = self.begin()
        lines = [f"in 1ms {number} {'x' * 60000}" for number in range(200)]
        feeder = os.fork()
        if feeder == 0:
            self.tell(process, *lines)
            os._exit(0)
        os.waitpid(feeder, 0)
        output, errors = self.finish(process)
        self.assertEqual((process.returncode, errors), (0, ""))
        self.assertEqual([one["key"] for one in firings(output)],
                         [str(number) for number in range(200)])


    def test_a_signal_while_the_reader_is_slow(self):
        """It holds up the end for two seconds at most."""
        name = self.write("timers", "".join(f"in 1ms {number} {'x' * 60000}\n"
                                            for number in range(200)))

        def begin():
            process = self.begin(name)
            with self.assertRaises(subprocess.TimeoutExpired):
                process.wait(timeout=0.3)
            begun = time.monotonic()
            process.send_signal(signal.SIGTERM)
            return process, begun

        with self.subTest(reads=False):
            process, begun = begin()
            errors = process.stderr.read().decode()
            self.assertGreater(time.monotonic() - begun, 1.9)
            self.assertIn("the reader was too slow: lines that had fired are lost", errors)
            self.assertEqual(process.wait(timeout=100), 128 + signal.SIGTERM)
        with self.subTest(reads=True):
            # Reads again if the machine stood still, so that this reader was too slow.
            for _ in range(10):
                process, begun = begin()
                output, errors = self.finish(process)
                self.assertEqual(process.returncode, 128 + signal.SIGTERM)
                if "too slow" not in errors or time.monotonic() - begun < 1.9:
                    break
            firings(output)
            self.assertNotIn("too slow", errors)


class Signals(RunTest):
    def test_it_ends_at_a_signal(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(signal=number):
                process = self.begin()
                self.tell(process, "in 1h a", "every 1h b", 'cron "0 0 1 1 *" c', "in 1ms d")
                self.assertIn(b'"d"', process.stdout.readline())
                process.send_signal(number)
                output, errors = self.finish(process)
                self.assertEqual((process.returncode, output), (128 + number, ""))
                self.assertEqual(errors, "elapse run: ended with 3 timers pending\n")

    def test_a_signal_that_costs_nothing(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(signal=number):
                process = self.begin()
                self.tell(process, "in 1ms d")
                self.assertIn(b'"d"', process.stdout.readline())
                process.send_signal(number)
                self.assertEqual(self.finish(process),
                                 ("", "elapse run: ended with 0 timers pending\n"))
                self.assertEqual(process.returncode, 0)

    def test_lost_timers_count_more_than_bad_lines(self):
        process = self.begin()
        self.tell(process, "bad", "in 1h a", "in 1ms d")
        self.assertIn(b'"d"', process.stdout.readline())
        process.send_signal(signal.SIGTERM)
        self.finish(process)
        self.assertEqual(process.returncode, 128 + signal.SIGTERM)

    def test_a_hang_up_that_is_ignored(self):
        """As nohup arranges it."""
        process = subprocess.Popen(
            [support.PROGRAM, "run"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            preexec_fn=lambda: signal.signal(signal.SIGHUP, signal.SIG_IGN))
        process.stdin.write(b"in 1ms a\n")
        process.stdin.flush()
        self.assertIn(b'"a"', process.stdout.readline())
        process.send_signal(signal.SIGHUP)
        output, errors = process.communicate(b"in 1ms b\n", timeout=100)
        self.assertIn(b'"b"', output)
        self.assertEqual((process.returncode, errors), (0, b""))

    def test_a_signal_ends_it_after_the_input_too(self):
        process = self.begin("--stats")
        self.tell(process, "in 1h a", "in 1ms d")
        process.stdin.close()
        self.assertIn(b'"d"', process.stdout.readline())
        process.send_signal(signal.SIGTERM)
        errors = process.stderr.read().decode()
        self.assertEqual(process.wait(timeout=100), 128 + signal.SIGTERM)
        self.assertIn("ended with 1 timer pending", errors)
        self.assertEqual(self.counts(errors)["pending"], 1)

    def test_a_second_signal_ends_it_at_once(self):
        process = self.begin("--exec", "sh", "-c", "echo begun; exec sleep 10")
        self.tell(process, "in 1ms a")
        self.assertEqual(process.stdout.readline(), b"begun\n")
        process.send_signal(signal.SIGINT)
        while process.poll() is None:
            process.send_signal(signal.SIGTERM)
        self.assertEqual(process.returncode, -signal.SIGTERM)

    def test_counts_at_any_time(self):
        process = self.begin()
        self.tell(process, "in 1h a", "in 1h a", "bad", "in 1h b", "cancel b", "in 1h e", "in 1ms d")
        self.assertIn(b'"d"', process.stdout.readline())
        process.stderr.readline()
        for _ in range(2):
            process.send_signal(signal.SIGUSR1)
            counts = self.counts(process.stderr.readline().decode())
            self.assertEqual(counts, {"lines": 7, "bad": 1, "scheduled": 5, "replaced": 1,
                                      "cancelled": 1, "fired": 1, "failed": 0, "pending": 2})
            self.assertRegex(process.stderr.readline().decode(),
                             r"^elapse run: late by microseconds: p50 \d+, p90 \d+, p99 \d+, "
                             r"p99\.9 \d+, max \d+\n$")
        self.tell(process, "cancel a", "cancel e")
        self.assertEqual(self.finish(process), ("", "elapse run: 1 line was bad\n"))
        self.assertEqual(process.returncode, support.STATUS_FAILED)


if __name__ == "__main__":
    support.main()
