"""Tests the traces that elapse generate computes."""

import os
import signal
import subprocess

import support
from support import HEADER, STRUCTURES

BURST_US = 10_000_000
TIMEOUT_US = 1_800_000_000


class Orders(support.ProgramTest):
    """elapse generate orders."""

    def generate(self, *arguments):
        return self.succeed("generate", "orders", *arguments)

    def parsed(self, text):
        """Returns the operations of a trace, each as (time, operation, key, delay, tag)."""
        self.assertTrue(text.startswith(HEADER))
        self.assertTrue(text.endswith("\n"))
        operations = [line.split(",") for line in text.splitlines()[1:]]
        return [(int(time), operation, key, int(delay), tag)
                for time, operation, key, delay, tag in operations]

    def test_each_order_starts_once_and_the_paid_ones_are_cancelled_once(self):
        for orders in (1, 2, 3, 10, 99, 1000):
            for paid in (0, 1, 33, 50, 90, 99, 100):
                with self.subTest(orders=orders, paid=paid):
                    operations = self.parsed(
                        self.generate("--orders", str(orders), "--paid", str(paid)))
                    starts = [entry for entry in operations if entry[1] == "start"]
                    cancels = [entry for entry in operations if entry[1] == "cancel"]
                    self.assertEqual(len(operations), len(starts) + len(cancels))
                    self.assertEqual(len(starts), orders)
                    self.assertEqual(len(cancels), orders * paid // 100)
                    self.assertEqual({entry[2] for entry in starts},
                                     {f"order-{i}" for i in range(orders)})
                    times = [entry[0] for entry in operations]
                    self.assertEqual(times, sorted(times))
                    started = {entry[2]: entry[0] for entry in starts}
                    self.assertEqual(len({entry[2] for entry in cancels}), len(cancels))
                    for entry in cancels:
                        self.assertGreater(entry[0], started[entry[2]])
                        self.assertLess(entry[0], started[entry[2]] + TIMEOUT_US)

    def test_orders_come_in_a_burst_and_have_half_an_hour(self):
        operations = self.parsed(self.generate("--orders", "1000", "--paid", "0"))
        times = [entry[0] for entry in operations]
        self.assertEqual(times[0], 0)
        self.assertEqual(times[:-1], [i * BURST_US // 1000 for i in range(999)])
        self.assertEqual(times[-1], BURST_US + 1)
        self.assertEqual({entry[3] for entry in operations}, {TIMEOUT_US})

    def test_payments_are_spread_over_the_half_hour(self):
        operations = self.parsed(self.generate("--orders", "10000", "--paid", "50"))
        started = {entry[2]: entry[0] for entry in operations if entry[1] == "start"}
        quarters = [0, 0, 0, 0]
        halves = [0, 0]
        for time, operation, key, _, _ in operations:
            if operation == "cancel":
                quarters[(time - started[key]) * 4 // TIMEOUT_US] += 1
                halves[int(key.removeprefix("order-")) * 2 // 10000] += 1
        # 5000 payments: about 1250 in each quarter of the half hour (standard deviation 31), and
        # about 2500 in each half of the orders.
        for count in quarters:
            self.assertAlmostEqual(count, 1250, delta=200)
        for count in halves:
            self.assertAlmostEqual(count, 2500, delta=200)

    def test_the_same_seed_gives_the_same_trace(self):
        few = ("--orders", "500")
        default = self.generate(*few)
        self.assertEqual(self.generate(*few), default)
        self.assertEqual(self.generate(*few, "--seed", "1", "--paid", "90"), default)
        seeds = ("0", "2", "12345678901234567890", "18446744073709551615")
        self.assertEqual(len({default, *(self.generate(*few, "--seed", seed) for seed in seeds)}),
                         1 + len(seeds))
        # A seed changes which orders are paid, and when, but not the orders.
        self.assertEqual(self.generate(*few, "--paid", "0", "--seed", "7"),
                         self.generate(*few, "--paid", "0"))

    def test_replaying_it(self):
        for orders, paid in ((1, 100), (2, 50), (100, 1), (1000, 90), (1000, 100), (5000, 37)):
            for seed in ("1", "2"):
                trace = self.generate("--orders", str(orders), "--paid", str(paid), "--seed", seed)
                stopped = orders * paid // 100
                pending = peak = 0
                for operation in self.parsed(trace):
                    pending += 1 if operation[1] == "start" else -1
                    peak = max(peak, pending)
                for structure in STRUCTURES:
                    with self.subTest(orders=orders, paid=paid, seed=seed, structure=structure):
                        self.assert_figures(
                            self.replay("--structure", structure, "-", stdin=trace),
                            started=orders, restarted=0, stopped=stopped, fired=orders - stopped,
                            pending=0, operations=orders + stopped, peak_pending=peak)

    def test_replaying_it_when_nobody_pays(self):
        for orders in (1, 10, 1000):
            trace = self.generate("--orders", str(orders), "--paid", "0")
            self.assert_figures(self.replay("-", stdin=trace), started=orders, stopped=0, fired=0,
                                pending=orders)

    def test_the_defaults(self):
        process = subprocess.Popen([support.PROGRAM, "generate", "orders"],
                                   stdout=subprocess.PIPE)
        with process:
            figures = self.replay("-", stdin_file=process.stdout)
        self.assertEqual(process.returncode, 0)
        self.assert_figures(figures, operations=1900000, started=1000000, stopped=900000,
                            fired=100000, pending=0)


class Options(support.ProgramTest):
    """The command line."""

    def test_what_to_generate(self):
        for arguments, words in (((), "missing"), (("--orders", "5"), "missing"),
                                 (("sessions",), "'sessions'"), (("Orders",), "'Orders'"),
                                 (("",), "''"), (("orders", "orders"), "too many"),
                                 (("orders", "trace.csv"), "'trace.csv'")):
            with self.subTest(arguments=arguments):
                self.assert_usage_error("elapse generate", "generate", *arguments, says=(words,))

    def test_numbers(self):
        numbers = ("", "x", "-1", "+1", " 1", "1 ", "1.5", "1e3", "0x10", "1k", "9" * 30)
        for option, others in (("--orders", ("0", "100000001", "4294967297")),
                               ("--paid", ("101", "4294967296", "90%")),
                               ("--seed", ("18446744073709551616",))):
            for number in (*numbers, *others):
                with self.subTest(option=option, number=number):
                    self.assert_usage_error("elapse generate", "generate", "orders", option,
                                            number, says=(option, f"'{number}'"))

    def test_wrong_options(self):
        for arguments, words in ((("--count", "5"), "--count"), (("-n", "5"), "n"),
                                 (("--orders",), "--orders"), (("--help=yes",), "--help")):
            with self.subTest(arguments=arguments):
                self.assert_usage_error("elapse generate", "generate", "orders", *arguments,
                                        says=(words,))


class Output(support.ProgramTest):
    """Standard output to which nothing can be written."""

    def test_a_reader_that_goes_away(self):
        for restore_signals in (True, False):
            process = subprocess.Popen([support.PROGRAM, "generate", "orders"],
                                       restore_signals=restore_signals,
                                       stdout=subprocess.PIPE, stderr=subprocess.PIPE)
            with process:
                self.assertEqual(os.read(process.stdout.fileno(), len(HEADER)), HEADER.encode())
                process.stdout.close()
                self.assertEqual(process.stderr.read(), b"")
                status = process.wait(timeout=60)
            self.assertIn(status, (-signal.SIGPIPE, support.STATUS_FAILED))

    def test_a_full_device(self):
        for orders in ("1", "100000"):
            with open("/dev/full", "wb") as full:
                outcome = self.run_program("generate", "orders", "--orders", orders, stdout=full)
            self.assertEqual(outcome.status, support.STATUS_FAILED, outcome)
            self.assertEqual(outcome.errors, "elapse generate: standard output: No space left on device\n")


if __name__ == "__main__":
    support.main()
