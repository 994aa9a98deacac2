"""Tests elapse run: lines become timers, and timers become lines of JSON."""

import json
import os
import random
import time

import support
from run_support import RunTest, firings


class Lines(RunTest):
    """Each kind of line."""

    def test_in(self):
        begun = time.time()
        first, second = self.fire('in 20ms order:42 {"amount":12.5}', "in 1us other")
        self.assertEqual((first["key"], first["payload"]), ("other", ""))
        self.assertEqual((second["key"], second["payload"]), ("order:42", '{"amount":12.5}'))
        self.assertEqual((second["run"], second["missed"]), (1, 0))
        self.assertGreaterEqual(time.time() - begun, 0.02)

    def test_at_a_time_to_come(self):
        # On a busy machine the time may have passed before the line is read. Then the test tries a
        # later time.
        for ahead in (0.3, 1, 3, 9):
            due = time.time() + ahead
            text = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(due + 3600))
            milliseconds = int(due % 1 * 1000)
            (firing,) = self.fire(f"at {text}.{milliseconds:03}+01:00 k p")
            self.assertGreaterEqual(time.time(), int(due) + milliseconds / 1000)
            expected = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(due))
            expected += f".{milliseconds:03}000Z"
            self.assertGreaterEqual(firing["due"], expected)
            if firing["due"] == expected:
                return
        self.fail("it was never due at its time")

    def test_at_a_time_that_has_passed(self):
        for text in ("2020-02-29T23:59:59Z", "2020-02-29T23:59:59.25-03:30", "1969-07-20T20:17:40Z",
                     "0000-01-01T00:00:00+23:59", "2020-01-01T00:00:00.000000000000Z"):
            with self.subTest(time=text):
                (firing,) = self.fire(f"at {text} k some payload")
                self.assertEqual(firing["payload"], "some payload")

    def test_every(self):
        for verb in ("every", "after-each"):
            with self.subTest(verb=verb):
                process = self.begin()
                self.tell(process, f"{verb} 2ms tick tock")
                runs = [json.loads(process.stdout.readline()) for _ in range(5)]
                self.assertEqual([firing["run"] for firing in runs], [1, 2, 3, 4, 5])
                self.assertEqual(runs, sorted(runs, key=lambda firing: firing["due"]))
                self.tell(process, "cancel tick")
                self.finish(process)
                self.assertEqual(process.returncode, 0)

    def test_cron(self):
        for arguments in ((), ("--utc",)):
            process = self.begin(*arguments)
            self.tell(process, 'cron "* * * * * *" second  by second')
            runs = [json.loads(process.stdout.readline()) for _ in range(2)]
            for number, firing in enumerate(runs, 1):
                self.assertEqual((firing["key"], firing["payload"], firing["run"]),
                                 ("second", " by second", number))
                self.assertTrue(firing["due"].endswith(".000000Z"), firing)
            self.tell(process, "cancel second")
            self.finish(process)
            self.assertEqual(process.returncode, 0)

    def test_cron_goes_by_local_time_or_utc(self):
        """The hours of a cron expression are those of the local time, or of UTC."""
        now = time.time()
        hours = ",".join(str(time.gmtime(now + minutes * 60).tm_hour) for minutes in (0, 30))
        line = f'cron "* * {hours} * * *" k'
        for arguments, zone, end, first in ((("--utc",), "ABC-12", "1h", "k"),
                                            ((), "ABC0", "1h", "k"),
                                            ((), "ABC-12", "1500ms", "end")):
            with self.subTest(arguments=arguments, zone=zone):
                process = self.begin(*arguments, env={**os.environ, "TZ": zone})
                self.tell(process, line, f"in {end} end")
                self.assertEqual(json.loads(process.stdout.readline())["key"], first)
                process.kill()

    def test_ignored_lines(self):
        self.assertEqual(self.fire("", "   ", "\t", "# in 1ms a", "  # in 1ms b", "#", "#\x00"), [])

    def test_an_empty_input(self):
        self.assertEqual(self.succeed("run"), "")
        self.assertEqual(self.succeed("run", "-"), "")
        self.assertEqual(self.succeed("run", stdin="\n"), "")

    def test_blanks(self):
        payloads = [firing["payload"] for firing in self.fire(
            "  in\t 1ms  a  b c ", "in 2ms b\tc\t", "in 3ms c ", "in 4ms d", "in 5ms e   ")]
        self.assertEqual(payloads, [" b c ", "c\t", "", "", "  "])

    def test_line_ends(self):
        for text in ("in 1ms a x\nin 2ms b y", "in 1ms a x\r\nin 2ms b y\r\n",
                     "in 1ms a x\nin 2ms b y\n"):
            fired = firings(self.succeed("run", stdin=text))
            self.assertEqual([(one["key"], one["payload"]) for one in fired],
                             [("a", "x"), ("b", "y")])
        (firing,) = firings(self.succeed("run", stdin="in 1ms a x\ry\r\r\n"))
        self.assertEqual(firing["payload"], "x\ry\r")

    def test_a_file(self):
        name = self.write("timers", "in 1ms a\n")
        for arguments in ((name,), ("--", name), ("--tick", "1us", name), (name, "--utc")):
            (firing,) = firings(self.succeed("run", *arguments, stdin="in 1ms b\n"))
            self.assertEqual(firing["key"], "a")
        (firing,) = firings(self.succeed("run", "-", stdin="in 1ms b\n"))
        self.assertEqual(firing["key"], "b")

    def test_the_longest(self):
        key, payload = "k" * 1024, "é" * 32768
        (firing,) = self.fire(f"in 1ms {key} {payload}")
        self.assertEqual((firing["key"], firing["payload"]), (key, payload))
        self.assertEqual(self.fire("#" + "x" * (2**20 - 1)), [])

    def test_the_tick_rounds_up(self):
        begun = time.monotonic()
        self.fire("in 1ns a", arguments=("--tick", "1ns"))
        self.fire("in 1ns a", arguments=("--tick", "100ms"))
        self.fire("in 101ms a", arguments=("--tick", "100ms"))
        self.assertGreaterEqual(time.monotonic() - begun, 0.1)


class Keys(RunTest):
    """Replacing and cancelling."""

    def test_a_pending_key_is_replaced(self):
        (firing,) = self.fire("in 1h k first", "in 10ms k second")
        self.assertEqual(firing["payload"], "second")
        (firing,) = self.fire("every 1h k first", 'cron "0 0 1 1 *" k second',
                              "at 2200-01-01T00:00:00Z k third", "after-each 1h k fourth",
                              "in 1ms k fifth")
        self.assertEqual(firing["payload"], "fifth")

    def test_cancelling(self):
        self.assertEqual(self.fired_keys(
            "in 1h a", "every 1h b", "after-each 1h c", 'cron "0 0 1 1 *" d',
            "at 2200-01-01T00:00:00Z e", "in 30ms f", "cancel a", "cancel b", "cancel c",
            "cancel d", "cancel e ", "cancel nobody", "cancel a"), ["f"])

    def test_a_key_is_free_again_once_it_has_fired(self):
        process = self.begin("--stats")
        for payload in ("one", "two"):
            self.tell(process, f"in 1ms k {payload}")
            self.assertEqual(json.loads(process.stdout.readline())["payload"], payload)
        _, errors = self.finish(process)
        self.assertEqual(self.counts(errors)["replaced"], 0)

    def test_many_at_random(self):
        """Compares a hundred thousand lines with a dictionary of what they leave pending: exactly
        these timers fire, once and in order."""
        seed = random.randrange(2**32)
        with self.subTest(seed=seed):
            choose = random.Random(seed)
            expected, lines, replaced, cancelled = {}, [], 0, 0
            for number in range(100000):
                key = f"k{choose.randrange(20000)}"
                if choose.random() < 0.3:
                    lines.append(f"cancel {key}")
                    cancelled += expected.pop(key, None) is not None
                else:
                    lines.append(f"in 1h {key} {number}")
                    replaced += key in expected
                    expected[key] = str(number)
            lines += [f"in 1ms {key} {payload}" for key, payload in expected.items()]
            replaced += len(expected)
            outcome = self.run_program("run", "--stats", stdin="\n".join(lines))
            self.assertEqual(outcome.status, 0, outcome.errors)
            fired = firings(outcome.output)
            self.assertEqual(len(fired), len(expected))
            self.assertEqual({one["key"]: one["payload"] for one in fired}, expected)
            self.assertEqual([one["due"] for one in fired], sorted(one["due"] for one in fired))
            counts = self.counts(outcome.errors)
            self.assertEqual((counts["replaced"], counts["cancelled"], counts["pending"]),
                             (replaced, cancelled, 0))
            self.assertEqual(counts["lines"], len(lines))
            self.assertEqual(counts["fired"], len(expected))


class Order(RunTest):
    def test_shuffled_deadlines_come_in_order(self):
        delays = list(range(300, 1300))
        random.shuffle(delays)
        # A file of this size is read at once, so all delays count from one moment.
        name = self.write("timers", "".join(f"in {delay}ms {delay}\n" for delay in delays))
        for _ in range(3):
            fired = firings(self.succeed("run", name))
            keys = [int(one["key"]) for one in fired]
            # If the machine stands still while the lines are read, timers are due before others are there. Then all
            # that are due by then come late.
            if keys == sorted(delays) or max(one["late_us"] for one in fired) < 200_000:
                break
        self.assertEqual(keys, sorted(delays), delays)

    def test_past_times_at_one_moment_come_in_the_order_of_lines(self):
        lines = [f"in 100ms {number}" for number in range(2000)]
        self.assertEqual(self.fired_keys(*lines), [str(number) for number in range(2000)])


class Json(RunTest):
    """Any text comes back as it was."""

    def check(self, payloads):
        lines = [f"in 1ms k{number} {payload}" for number, payload in enumerate(payloads)]
        output = self.succeed("run", stdin="\n".join(lines) + "\n")
        self.assertEqual(len(output.splitlines()), len(payloads))  # also of Unicode's line ends
        fired = {one["key"]: one["payload"] for one in firings(output)}
        for number, payload in enumerate(payloads):
            self.assertEqual(fired[f"k{number}"], payload)

    def test_every_character_that_is_special(self):
        specials = [chr(code) for code in (*range(1, 10), *range(11, 0xA1))]
        specials += ["\u2028", "\u2029", "\u2027", "\u202a", "\ufeff", "\uffff", "\U0010ffff",
                     "😀", "👩‍👩‍👧", '"', "\\", '\\"', "\\u0041", "</script>", "{}", "ü", "\ud7ff",
                     "\ue000", "\U00010000"]
        self.check([f"<{special}>" for special in specials])
        self.check([special * 7 for special in specials if special != "\r"])
        self.check([f"{special}{special}x" for special in specials])

    def test_random_text(self):
        seed = random.randrange(2**32)
        with self.subTest(seed=seed):
            choose = random.Random(seed)
            ranges = ((1, 9), (11, 0x7F), (0x80, 0x7FF), (0x800, 0xD7FF), (0xE000, 0xFFFF),
                      (0x10000, 0x10FFFF))
            payloads = ["".join(chr(choose.randint(*choose.choice(ranges)))
                                for _ in range(choose.randrange(40))) + "."
                        for _ in range(3000)]
            self.check(payloads)

    def test_keys(self):
        keys = ["é", "😀", 'say"', "back\\slash", "\x7f", "\u2028", "#", "a=b,c", "in"]
        self.assertEqual(self.fired_keys(*(f"in 2ms {key} x" for key in keys)), keys)


if __name__ == "__main__":
    support.main()
