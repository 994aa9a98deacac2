"""Tests what elapse replay counts, and how it reports."""

import fcntl
import gzip
import json
import os
import pty
import re
import shutil
import signal
import struct
import subprocess
import termios
import time
import unittest
import xml.etree.ElementTree

import replay_model
import support
from support import HEADER, STRUCTURES, TIME_US_MAX, trace_text

FIELDS = {
    "trace": str, "structure": str, "tick_us": int, "operations": int, "started": int,
    "restarted": int, "stopped": int, "fired": int, "pending": int, "peak_pending": int,
    "early": int, "late_ticks_max": int, "wakeups": int, "moves": int,
    "ns_per_operation": float, "digest": str,
}


class Counts(support.ProgramTest):
    """Small traces whose outcome is easy to see, on every structure."""

    def assert_outcome(self, lines, tick="1us", **expected):
        expected["operations"] = len(lines)
        self.write("trace.csv", trace_text(*lines))
        with self.subTest(lines=lines, tick=tick):
            digests = set()
            for structure in STRUCTURES:
                figures = self.replay("--structure", structure, "--tick", tick, "trace.csv")
                self.assert_figures(figures, structure=structure, **expected)
                digests.add(figures["digest"])
            self.assertEqual(len(digests), 1, digests)

    def test_nothing(self):
        self.assert_outcome([], started=0, restarted=0, stopped=0, fired=0, pending=0,
                            peak_pending=0, wakeups=0, moves=0, digest="0" * 16,
                            ns_per_operation=0.0)

    def test_a_timer_that_stays_pending(self):
        self.assert_outcome(["7,start,a,10,"], started=1, fired=0, pending=1, peak_pending=1,
                            wakeups=0, digest="0" * 16)

    def test_a_timer_fires_at_its_deadline(self):
        self.assert_outcome(["0,start,a,10,", "9,start,b,100,"], fired=0, pending=2)
        self.assert_outcome(["0,start,a,10,", "10,start,b,100,"], fired=1, pending=1,
                            peak_pending=1, wakeups=1)
        self.assert_outcome(["0,start,a,10,", "10,start,a,10,"], started=2, fired=1, pending=1,
                            peak_pending=1)

    def test_a_restart_replaces_the_deadline(self):
        self.assert_outcome(["0,start,a,10,", "9,restart,a,10,", "18,start,b,99,"],
                            started=2, restarted=1, fired=0, pending=2, peak_pending=2)
        self.assert_outcome(["0,start,a,10,", "9,restart,a,10,", "19,start,b,99,"],
                            fired=1, pending=1)
        self.assert_outcome(["0,start,a,1000,", "9,restart,a,1,", "10,start,b,99,"],
                            fired=1, pending=1)
        self.assert_outcome(["0,start,a,1000,", "9,restart,a,0,", "9,start,b,99,"],
                            fired=1, pending=1)

    def test_a_cancel_stops_it(self):
        self.assert_outcome(["0,start,a,10,", "9,cancel,a,0,", "99,start,b,1,"],
                            started=2, stopped=1, fired=0, pending=1, peak_pending=1)
        for delay in ("", "0", "77", str(TIME_US_MAX)):
            self.assert_outcome(["0,start,a,10,", f"9,cancel,a,{delay},", "9,start,a,1,",
                                 "10,start,b,5,"],
                                started=3, stopped=1, fired=1, pending=1, peak_pending=1)

    def test_no_delay(self):
        self.assert_outcome(["5,start,a,0,"], fired=0, pending=1, peak_pending=1)
        self.assert_outcome(["5,start,a,0,", "5,start,a,0,", "5,start,a,0,"],
                            started=3, fired=2, pending=1, peak_pending=1, wakeups=2)

    def test_many_at_one_moment(self):
        starts = [f"{i},start,key-{i},{1000 - i}," for i in range(1000)]
        self.assert_outcome([*starts, "1000,start,last,5,"], started=1001, fired=1000, pending=1,
                            peak_pending=1000, wakeups=1)

    def test_times_up_to_the_greatest(self):
        self.assert_outcome([f"0,start,a,{TIME_US_MAX},", f"{TIME_US_MAX - 1},start,b,1,",
                             f"{TIME_US_MAX},start,c,0,"],
                            started=3, fired=2, pending=1, peak_pending=2)
        self.assert_outcome([f"{TIME_US_MAX},start,a,0,", f"{TIME_US_MAX},start,b,0,"],
                            fired=1, pending=1)
        # With ticks of 11 us, the last tick but one ends before the last moment of the trace; with
        # ticks of 7 us, it ends at that moment.
        lines = [f"0,start,a,{TIME_US_MAX},", f"{TIME_US_MAX},start,a,0,"]
        self.assertEqual((TIME_US_MAX % 11 == 0, TIME_US_MAX % 7 == 0), (False, True))
        self.assert_outcome(lines, tick="11us", fired=0, pending=2)
        self.assert_outcome(lines, tick="7us", fired=1, pending=1)

    def test_a_coarse_tick_keeps_timers_back(self):
        # The timer is due at 10 and expires then by the trace, but in the structure only at 100.
        self.assert_outcome(["0,start,a,10,", "10,start,a,50,", "99,start,a,500,"], tick="100us",
                            started=3, fired=0, pending=3, peak_pending=3)
        self.assert_outcome(["0,start,a,10,", "10,start,a,50,", "99,start,a,500,",
                             "100,start,b,5,"], tick="100us",
                            started=4, fired=2, pending=2, peak_pending=3, wakeups=1)

    def test_a_coarse_tick_and_the_later_arming_of_a_key(self):
        # The older arming goes on waiting; the restarts and the cancels concern the later one.
        self.assert_outcome(["0,start,a,10,", "10,start,a,50,", "20,cancel,a,0,",
                             "200,start,b,5,"], tick="100us", started=3, stopped=1,
                            fired=1, pending=1, peak_pending=2)
        self.assert_outcome(["0,start,a,10,", "10,start,a,50,", "20,restart,a,500,",
                             "200,start,b,5,"], tick="100us", started=3, restarted=1,
                            fired=1, pending=2, peak_pending=2)
        self.assert_outcome(["0,start,a,10,", "10,start,a,50,", "20,restart,a,500,",
                             "200,restart,a,1,", "201,start,a,1,", "300,start,b,5,"],
                            tick="100us", started=4, restarted=2, fired=3, pending=1,
                            peak_pending=2)

    def test_many_keys_over_a_long_time(self):
        # More than a batch of operations, and no key comes twice.
        lines = [f"{i * 10},start,key-{i},{10 + i % 3}," for i in range(20000)]
        self.assert_outcome([*lines, "300000,start,end,5,"], started=20001, fired=20000,
                            pending=1, peak_pending=2)


class Digests(support.ProgramTest):
    """The digest tells which key fired with which deadline, whatever the order."""

    def digest(self, *lines, tick="1us"):
        self.write("trace.csv", trace_text(*lines))
        digests = {self.replay("--structure", structure, "--tick", tick, "trace.csv")["digest"]
                   for structure in STRUCTURES}
        self.assertEqual(len(digests), 1, digests)
        self.assertRegex(min(digests), r"\A[0-9a-f]{16}\Z")
        return int(digests.pop(), 16)

    def test_it_is_of_those_that_fired(self):
        end = "1000,start,end,5,"
        a = self.digest("0,start,a,10,", end)
        b = self.digest("3,start,b,10,", end)
        self.assertNotEqual(a, 0)
        self.assertEqual(self.digest("0,start,a,10,", "3,start,b,10,", end), (a + b) % 2**64)
        self.assertEqual(self.digest("1,start,b,12,", "2,start,a,8,", end), (a + b) % 2**64)
        self.assertEqual(self.digest("0,start,a,10,", "3,start,b,10,", "4,cancel,b,0,", end), a)
        self.assertEqual(self.digest("0,start,a,3,", "1,restart,a,9,", end), a)
        self.assertEqual(self.digest("0,start,a,10,", "3,start,b,5000,", end), a)
        self.assertNotEqual(self.digest("0,start,a,11,", end), a)
        self.assertNotEqual(self.digest("0,start,A,10,", end), a)

    def test_it_does_not_depend_on_the_tick(self):
        lines = replay_model.random_trace(3, 500, 50, 4000, 40)
        lines.append("100000000,start,end,5,")
        self.assertEqual(len({self.digest(*lines, tick=tick)
                              for tick in ("1us", "7us", "1ms", "1s")}), 1)


class Model(support.ProgramTest):
    """Compares replays of random traces with a simple model."""

    def compare(self, seed, **shape):
        lines = replay_model.random_trace(seed, **shape)
        self.write("random.csv", trace_text(*lines))
        for tick_us in (1, 7, 1000):
            expected = replay_model.replay(lines, tick_us)
            fired_ticks = expected.pop("fired_ticks")
            digests = set()
            for structure in STRUCTURES:
                with self.subTest(seed=seed, shape=shape, tick_us=tick_us, structure=structure):
                    figures = self.replay("--structure", structure, "--tick", f"{tick_us}us",
                                          "random.csv")
                    self.assert_figures(figures, tick_us=tick_us, **expected)
                    self.assertGreaterEqual(figures["wakeups"], fired_ticks)
                    if structure == "heap":
                        self.assertEqual(figures["wakeups"], fired_ticks)
                    digests.add(figures["digest"])
            self.assertEqual(len(digests), 1, (seed, tick_us, digests))

    def test_few_keys_and_short_delays(self):
        for seed in range(12):
            self.compare(seed, count=300, step_us=5, delay_us=40, keys=5)

    def test_many_keys_and_delays_about_the_coarsest_tick(self):
        for seed in range(6):
            self.compare(seed, count=800, step_us=200, delay_us=3000, keys=60)

    def test_long_delays(self):
        for seed in range(4):
            self.compare(seed, count=500, step_us=10**9, delay_us=10**11, keys=50)

    def test_more_than_a_batch(self):
        for seed in range(2):
            self.compare(seed, count=9000, step_us=30, delay_us=2000, keys=100)


class Input(support.ProgramTest):
    """The ways in which a trace may come."""

    LINES = ("0,start,a,10,tag", "5,restart,a,10,", "20,start,b,7,x,y,z")
    FIGURES = {"operations": 3, "started": 2, "restarted": 1, "fired": 1, "pending": 1}

    def assert_accepted(self, content, name="trace.csv"):
        self.write(name, content)
        self.assert_figures(self.replay(name), trace=name, **self.FIGURES)

    def test_line_ends(self):
        text = trace_text(*self.LINES)
        self.assert_accepted(text)
        self.assert_accepted(text[:-1])
        self.assert_accepted(text.replace("\n", "\r\n"))
        self.assert_accepted(text.replace("\n", "\r\n")[:-2])
        self.assert_accepted(text.replace("\n", "\r\n")[:-1])

    def test_a_header_alone(self):
        for content in (HEADER, HEADER[:-1], HEADER[:-1] + "\r\n"):
            self.write("empty.csv", content)
            self.assert_figures(self.replay("empty.csv"), operations=0, fired=0, pending=0)

    def test_keys_of_any_text(self):
        keys = ("a b", "schlüssel", "'\"", "-", "0", "k" * 60000, "\t", "a\rb")
        lines = [f"{i},start,{key},100," for i, key in enumerate(keys)]
        lines += [f"50,cancel,{key},," for key in keys]
        self.write("keys.csv", trace_text(*lines))
        self.assert_figures(self.replay("keys.csv"), started=len(keys), stopped=len(keys),
                            pending=0)

    def test_leading_zeros(self):
        self.write("zeros.csv", trace_text(f"{'0' * 40}7,start,a,{'0' * 40}5,", "12,start,a,1,"))
        self.assert_figures(self.replay("zeros.csv"), fired=1, pending=1)

    def test_gzip(self):
        text = trace_text(*self.LINES).encode()
        self.assert_accepted(gzip.compress(text), name="trace.csv.gz")
        self.assert_accepted(gzip.compress(text), name="misnamed.csv")
        self.assert_accepted(text, name="plain.gz.csv")
        self.assert_accepted(b"\xef\xbb\xbf" + text, name="marked.csv")
        half = len(text) // 2
        self.assert_accepted(gzip.compress(text[:half]) + gzip.compress(text[half:]),
                             name="members.csv")

    def write(self, name, content):
        """Writes the bytes as they are: some files here have a name that does not fit them."""
        data = content if isinstance(content, bytes) else content.encode()
        (self.directory / name).write_bytes(data)
        return name

    def test_standard_input(self):
        text = trace_text(*self.LINES)
        for data in (text.encode(), gzip.compress(text.encode())):
            self.assert_figures(self.replay("-", stdin=data), trace="standard input",
                                **self.FIGURES)

    def test_a_slow_pipe(self):
        process = subprocess.Popen([support.PROGRAM, "replay", "--json", "-"], text=True,
                                   stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        with process:
            for character in trace_text(*self.LINES):
                process.stdin.write(character)
                process.stdin.flush()
            output, _ = process.communicate(timeout=60)
        self.assert_figures(json.loads(output), **self.FIGURES)

    def test_several_traces(self):
        self.write("first.csv", trace_text(*self.LINES))
        self.write("second.csv.gz", gzip.compress(trace_text("0,start,a,1,").encode()))
        output = self.succeed("replay", "--json", "first.csv", "second.csv.gz", "-", "first.csv",
                              stdin=HEADER)
        reports = [json.loads(line) for line in output.splitlines()]
        self.assertEqual([(report["trace"], report["operations"]) for report in reports],
                         [("first.csv", 3), ("second.csv.gz", 1), ("standard input", 0),
                          ("first.csv", 3)])


class Reports(support.ProgramTest):
    """The two forms of the report."""

    def test_json_has_all_fields(self):
        self.write("trace.csv", trace_text("0,start,a,10,", "10,start,b,5,"))
        figures = self.replay("trace.csv")
        self.assertEqual({name: type(value) for name, value in figures.items()}, FIELDS)
        self.assertGreater(figures["ns_per_operation"], 0)
        self.assertEqual((figures["structure"], figures["tick_us"]), ("wheel", 1))

    def test_json_names_any_file(self):
        for name in ('quote".csv', "back\\slash.csv", "tab\t.csv", "line\n.csv", "größe.csv",
                     "€.csv", "😀.csv", "\x01\x7f.csv"):
            self.write(name, HEADER)
            self.assertEqual(self.replay(name)["trace"], name)
        for name in (b"\xff.csv", b"\xc3.csv", b"\xc0\xaf.csv", b"\xed\xa0\x80.csv"):
            self.write(os.fsdecode(name), HEADER)
            self.assertEqual(self.replay(name)["trace"].strip("\ufffd"), ".csv")

    def test_control_characters_do_not_reach_the_terminal(self):
        name = self.write("two\nlines\x1b[31m\x7f.csv", HEADER)
        self.assertIn("trace        two?lines?[31m?.csv\n", self.succeed("replay", name))

    def test_the_report_for_people(self):
        starts = [f"0,start,key-{i},{1000 + i}," for i in range(1234)]
        self.write("trace.csv", trace_text(*starts, "1,cancel,key-0,0,", "2,restart,key-1,1,",
                                           "3,start,end,5,"))
        output = self.succeed("replay", "--structure", "heap", "--tick", "1us", "trace.csv")
        found = dict(line.strip().split(None, 1) for line in output.splitlines())
        expected = {"trace": "trace.csv", "structure": "heap", "tick": "1us",
                    "operations": "1,237", "starts": "1,235", "restarts": "1", "stops": "1",
                    "fired": "1", "early": "0", "latest": "0 ticks late",
                    "pending": "1,233 at the end", "peak": "1,234", "wake-ups": "1"}
        self.assertEqual({name: found.get(name) for name in expected}, expected, output)
        for name in ("moves", "time", "digest"):
            self.assertIn(name, found)
        self.assertRegex(output, r"(?m)^occupancy, taken at 1,23\d pending$")
        # The levels together have all timers that were pending when they were counted.
        taken = int(found["occupancy,"].split()[2].replace(",", ""))
        levels = [line.split() for line in output.splitlines() if line.startswith("  level ")]
        self.assertEqual(sum(int(level[2].replace(",", "")) for level in levels), taken)


class Progress(support.ProgramTest):
    """The line that tells on a terminal how far a long replay is."""

    def test_it_stays_one_line_on_a_narrow_terminal(self):
        columns = 30
        terminal, side = pty.openpty()
        fcntl.ioctl(side, termios.TIOCSWINSZ, struct.pack("HHHH", 24, columns, 0, 0))
        with open(terminal, "rb", buffering=0) as shown:
            process = subprocess.Popen([support.PROGRAM, "replay", "-"], stdin=subprocess.PIPE,
                                       stdout=subprocess.DEVNULL, stderr=side)
            os.close(side)
            with process:
                # More than a batch before the line is due, and more than one after it.
                batch = [f"0,start,{number},5," for number in range(10000)]
                process.stdin.write(trace_text(*batch).encode())
                process.stdin.flush()
                time.sleep(1.2)
                process.stdin.write("".join(line.replace("start,", "start,x") + "\n"
                                            for line in batch).encode())
                process.stdin.close()
                self.assertEqual(process.wait(timeout=60), 0)
            text = os.read(terminal, 1 << 16).decode()
        lines = [line for line in text.split("\r\033[K") if line]
        self.assertGreater(len(lines), 0)
        for line in lines:
            self.assertRegex(line, r"\A'standard input': [\d,]+ op")
            self.assertEqual(len(line), columns - 1)


class Ticks(support.ProgramTest):
    """Durations, as --tick takes them."""

    def test_durations(self):
        self.write("trace.csv", HEADER)
        for text, tick_us, shown in (
                ("1us", 1, "1us"), ("250ms", 250000, "250ms"), ("1.5s", 1500000, "1s500ms"),
                ("1h15m30s", 4530000000, "1h15m30s"), ("1000ns", 1, "1us"), ("2m", 120000000, "2m"),
                ("1d", 86400000000, "1d"), ("0.5d", 43200000000, "12h"), ("90s", 90000000, "1m30s"),
                ("0.001ms", 1, "1us"), ("0s1us", 1, "1us"), ("1ms500us", 1500, "1ms500us"),
                ("1.500000000s", 1500000, "1s500ms"), ("007us", 7, "7us"),
                ("213503d23h34m33s709ms551us", 18446744073709551, "213503d23h34m33s709ms551us")):
            with self.subTest(text=text):
                self.assertEqual(self.replay("--tick", text, "trace.csv")["tick_us"], tick_us)
                self.assertIn(f"\ntick         {shown}\n",
                              self.succeed("replay", f"--tick={text}", "trace.csv"))

    def test_wrong_ticks(self):
        for text, words in (
                ("", "empty"), ("0", "unit is missing"), ("1", "unit is missing"),
                ("-1", "negative"), ("-1s", "negative"), ("0s", "positive"), ("0.0us", "positive"),
                ("1.5us", "whole, positive number of microseconds"),
                ("100ns", "whole, positive number of microseconds"), ("1001ns", "microseconds"),
                ("x", "a number is missing"), ("s", "a number is missing"),
                (".5s", "a number is missing"), ("1.s", "digits are missing"),
                ("1x", "unit is not one of"), ("1S", "unit is not one of"),
                ("1 s", "unit is not one of"), ("1s ", "unit is not one of"),
                ("1s1h", "large to small"), ("1s1s", "large to small"),
                ("1.5.5s", "unit is missing"), ("0.1ns", "finer than a nanosecond"),
                ("0.0000000001s", "finer than a nanosecond"), ("+1s", "a number is missing"),
                ("9" * 30 + "s", "longer than 64 bits"), ("213504d", "longer than 64 bits"),
                ("18446744073709551616ns", "longer than 64 bits")):
            with self.subTest(text=text):
                self.assert_usage_error("elapse replay", "replay", "--tick", text, "trace.csv",
                                        says=("--tick", f"'{text[:40]}'", words))


class Options(support.ProgramTest):
    """The command line."""

    def setUp(self):
        super().setUp()
        self.write("trace.csv", HEADER)

    def test_wrong_options(self):
        for arguments, words in (
                ((), "a trace is missing"), (("--json",), "a trace is missing"),
                (("-", "trace.csv", "-"), "only once"),
                (("--plot", "-", "trace.csv"), "'-'"), (("--plot", "", "trace.csv"), "''"),
                (("--structure", "tree", "trace.csv"), "'tree'"),
                (("--structure", "", "trace.csv"), "''"),
                (("--structure", "Wheel", "trace.csv"), "'Wheel'"),
                (("--plot", "plot.svg", "trace.csv", "trace.csv"), "--plot takes one trace"),
                (("--colour", "trace.csv"), "--colour"), (("-x", "trace.csv"), "x"),
                (("--json=yes", "trace.csv"), "--json"), (("trace.csv", "--tick"), "--tick")):
            with self.subTest(arguments=arguments):
                self.assert_usage_error("elapse replay", "replay", *arguments, says=(words,))

    def test_an_unknown_structure_names_those_there_are(self):
        self.assert_usage_error("elapse replay", "replay", "--structure", "tree", "trace.csv",
                                says=STRUCTURES)

    def test_the_slots_of_dials(self):
        for slots in ("", ":2", ":512", ":60,60,24,30", ":2,3"):
            report = self.replay("--structure", f"dials{slots}", "trace.csv")
            self.assertEqual(report["structure"], f"dials{slots}")
        many = ",".join(["2"] * 65)
        for slots, words in ((":", "not a list"), (":10,", "not a list"), (":10,x", "not a list"),
                             (":" + many, "not a list"), (":10,1", "too few or too many")):
            self.assert_usage_error("elapse replay", "replay", "--structure", f"dials{slots}",
                                    "trace.csv", says=(f"'dials{slots[:20]}", words))

    def test_the_slots_of_a_hashed_wheel(self):
        for slots in ("", ":1", ":60", ":16777216"):
            report = self.replay("--structure", f"hashed{slots}", "trace.csv")
            self.assertEqual(report["structure"], f"hashed{slots}")
        for slots, words in ((":", "not a list"), (":0", "there may be 1 to 16777216"), (":x", "not a list"),
                             (":16777217", "too few or too many"),
                             (":10,10", "there is one level")):
            self.assert_usage_error("elapse replay", "replay", "--structure", f"hashed{slots}",
                                    "trace.csv", says=(f"'hashed{slots}'", words))

    def test_the_default_is_the_wheel(self):
        self.assertEqual(self.replay("trace.csv")["structure"], "wheel")

    def test_options_may_follow_the_traces(self):
        report = json.loads(self.succeed("replay", "trace.csv", "--structure", "heap", "--json"))
        self.assertEqual(report["structure"], "heap")

    def test_a_name_that_looks_like_an_option(self):
        self.write("--json", HEADER)
        self.assertIn("trace        --json\n", self.succeed("replay", "--", "--json"))


class Output(support.ProgramTest):
    """Standard output to which nothing can be written."""

    def setUp(self):
        super().setUp()
        self.write("trace.csv", HEADER)

    def closed_pipe(self, **options):
        reading, writing = os.pipe()
        os.close(reading)
        try:
            return self.run_program("replay", *["trace.csv"] * 500, stdout=writing, **options)
        finally:
            os.close(writing)

    def test_a_reader_that_has_gone(self):
        for restore_signals in (True, False):
            outcome = self.closed_pipe(restore_signals=restore_signals)
            self.assertIn(outcome.status, (-signal.SIGPIPE, support.STATUS_FAILED), outcome)
            self.assertEqual(outcome.errors, "", outcome)

    def test_a_full_device(self):
        for arguments in (("trace.csv",), ("--json", "trace.csv"), ("trace.csv",) * 500,
                          ("--help",)):
            with open("/dev/full", "wb") as full:
                outcome = self.run_program("replay", *arguments, stdout=full)
            self.assertEqual(outcome.status, support.STATUS_FAILED, outcome)
            self.assertEqual(outcome.errors, "elapse replay: standard output: No space left on device\n")


@unittest.skipIf(shutil.which("gnuplot") is None, "gnuplot is not installed")
class Plots(support.ProgramTest):
    """--plot draws an SVG picture."""

    def assert_picture(self, name):
        root = xml.etree.ElementTree.parse(self.directory / name).getroot()
        self.assertEqual(root.tag, "{http://www.w3.org/2000/svg}svg")
        return "".join(root.itertext())

    def files(self):
        return sorted(os.fsdecode(entry) for entry in os.listdir(self.directory))

    def test_a_picture(self):
        lines = replay_model.random_trace(1, 2000, 3000, 10**6, 50)
        self.write("trace.csv", trace_text(*lines))
        for structure in STRUCTURES:
            plain = json.loads(self.succeed("replay", "--json", "--structure", structure,
                                            "trace.csv"))
            drawn = self.replay("--structure", structure, "--plot", "picture.svg", "trace.csv")
            for figures in (plain, drawn):
                del figures["ns_per_operation"]
            self.assertEqual(plain, drawn)
            text = self.assert_picture("picture.svg")
            for words in ("Pending timers", "Delays", "trace.csv", structure):
                self.assertIn(words, text)
            self.assertEqual(self.files(), ["picture.svg", "trace.csv"])

    def test_pictures_of_little(self):
        for lines in ((), ("0,start,a,0,",), ("5,start,a,1,",),
                      ("0,start,a,18446744073709551614,", "18446744073709551614,start,b,0,")):
            with self.subTest(lines=lines):
                self.write("trace.csv", trace_text(*lines))
                self.succeed("replay", "--plot", "picture.svg", "trace.csv")
                self.assert_picture("picture.svg")

    def test_names_that_mean_something_to_gnuplot(self):
        for name in ("a b.svg", "it's.svg", "@x_{y}^2$0.svg", "grüße.svg", "`touch broken`.svg",
                     'quote".svg', "back\\slash.svg", "%d.svg"):
            with self.subTest(name=name):
                trace = self.write(name + ".csv", trace_text("0,start,a,5,"))
                self.succeed("replay", "--plot", name, trace)
                self.assert_picture(name)
                self.assertNotIn("broken", self.files())
                (self.directory / name).unlink()
                (self.directory / trace).unlink()
                self.assertEqual(self.files(), [])

    def test_traces_of_any_name(self):
        for name, shown in ((b"a&b<c>.csv", "a&b<c>.csv"), (b"\xff.csv", "?.csv"),
                            (b"control\x01\x7f\n.csv", "control???.csv"), (b"100%.csv", "100%.csv"),
                            (b"`touch broken`.csv", "'touch broken'.csv")):
            self.write(os.fsdecode(name), trace_text("0,start,a,5,"))
            self.succeed("replay", "--plot", "picture.svg", name)
            self.assertIn(shown, self.assert_picture("picture.svg"))

    def test_a_pipe_is_written_to_and_stays_one(self):
        self.write("trace.csv", trace_text("0,start,a,5,"))
        pipe = self.directory / "pipe.svg"
        os.mkfifo(pipe)
        # The pipe is open for reading and writing, so neither side waits; a small picture fits it.
        descriptor = os.open(pipe, os.O_RDWR | os.O_NONBLOCK)
        self.addCleanup(os.close, descriptor)
        self.succeed("replay", "--plot", "pipe.svg", "trace.csv")
        self.assertTrue(pipe.is_fifo())
        picture = xml.etree.ElementTree.fromstring(os.read(descriptor, 1 << 16))
        self.assertTrue(picture.tag.endswith("}svg"))
        self.assertEqual(self.files(), ["pipe.svg", "trace.csv"])

    def test_a_symbolic_link_is_followed_and_stays_one(self):
        self.write("trace.csv", trace_text("0,start,a,5,"))
        (self.directory / "link.svg").symlink_to("picture.svg")
        self.succeed("replay", "--plot", "link.svg", "trace.csv")
        self.assertTrue((self.directory / "link.svg").is_symlink())
        self.assert_picture("picture.svg")
        self.assertEqual(self.files(), ["link.svg", "picture.svg", "trace.csv"])

    def test_a_place_that_cannot_be_written(self):
        self.write("trace.csv", trace_text("0,start,a,5,"))
        for place in ("absent/picture.svg", "trace.csv/picture.svg", "."):
            outcome = self.run_program("replay", "--plot", place, "trace.csv")
            self.assertEqual(outcome.status, support.STATUS_FAILED, outcome)
            self.assertRegex(outcome.errors, rf"\Aelapse replay: {re.escape(place)}: .*\n\Z")
            # The error is reported before the replay begins.
            self.assertEqual(outcome.output, "")
        self.assertEqual(self.files(), ["trace.csv"])

    def test_a_bad_trace_leaves_the_old_picture(self):
        self.write("bad.csv", "x")
        self.write("picture.svg", "old")
        outcome = self.run_program("replay", "--plot", "picture.svg", "bad.csv")
        self.assert_fault(outcome, "bad.csv", 1)
        self.assertEqual((self.directory / "picture.svg").read_text(), "old")
        self.assertEqual(self.files(), ["bad.csv", "picture.svg"])

    def test_a_device_that_is_full(self):
        self.write("trace.csv", trace_text("0,start,a,5,"))
        outcome = self.run_program("replay", "--plot", "/dev/full", "trace.csv")
        self.assertEqual(outcome.status, support.STATUS_FAILED, outcome)
        self.assertEqual(outcome.errors, "elapse replay: /dev/full: No space left on device\n")

    def test_the_trace_is_not_overwritten(self):
        text = trace_text("0,start,a,5,")
        self.write("trace.csv", text)
        (self.directory / "symbolic.svg").symlink_to("trace.csv")
        (self.directory / "hard.svg").hardlink_to(self.directory / "trace.csv")
        for plot in ("trace.csv", "./trace.csv", "symbolic.svg", "hard.svg"):
            for trace in ("trace.csv", "-"):
                with self.subTest(plot=plot, trace=trace):
                    with open(self.directory / "trace.csv", "rb") as source:
                        outcome = self.run_program("replay", "--plot", plot, trace,
                                                   stdin_file=source)
                    self.assert_fault(outcome, plot, None, "would overwrite the trace")
                    self.assertEqual(outcome.output, "")
                    self.assertEqual((self.directory / "trace.csv").read_text(), text)

    def test_files_beside_the_picture_are_left_alone(self):
        text = trace_text("0,start,a,5,")
        self.write("picture.svg.unfinished", text)
        self.succeed("replay", "--plot", "picture.svg", "picture.svg.unfinished")
        self.assert_picture("picture.svg")
        self.assertEqual((self.directory / "picture.svg.unfinished").read_text(), text)
        self.assertEqual(self.files(), ["picture.svg", "picture.svg.unfinished"])

    def test_the_rights_of_a_picture(self):
        self.write("trace.csv", trace_text("0,start,a,5,"))
        before = os.umask(0o027)
        self.addCleanup(os.umask, before)
        self.succeed("replay", "--plot", "picture.svg", "trace.csv")
        self.assertEqual((self.directory / "picture.svg").stat().st_mode & 0o777, 0o640)

    def test_without_gnuplot(self):
        self.write("trace.csv", trace_text("0,start,a,5,"))
        outcome = self.run_program("replay", "--plot", "picture.svg", "trace.csv",
                                   env={**os.environ, "PATH": str(self.directory)})
        self.assertEqual(outcome.status, support.STATUS_FAILED, outcome)
        self.assertRegex(outcome.errors, r"\Aelapse replay: .*gnuplot.*\n\Z")
        self.assertEqual(self.files(), ["trace.csv"])


if __name__ == "__main__":
    support.main()
