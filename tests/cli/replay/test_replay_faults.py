"""Tests what elapse replay refuses, and what it says then."""

import bz2
import gzip
import subprocess
import lzma
import os
import unittest
import zlib

import support
from support import HEADER, TIME_US_MAX, trace_text

LINE_BYTES_MAX = 65536


class Lines(support.ProgramTest):
    """Lines that are wrong by themselves."""

    def assert_bad_line(self, line, *says):
        """Expects that the line is refused as the only, the middle and the last line of a trace,
        also without a line end."""
        before, after = "0,start,before,5,", "1000,start,after,5,"
        says = [*says]
        with self.subTest(line=line[:80]):
            self.assert_bad_trace(trace_text(line), 2, *says)
            self.assert_bad_trace(trace_text(before, line, after), 3, *says)
            if line != "":  # an empty one without a line end is none
                self.assert_bad_trace(HEADER + before + "\n" + line, 3, *says)

    def test_the_number_of_fields(self):
        for line, count in (("10", 1), ("10,start", 2), ("10,start,a", 3),
                            ("10,start,a,5", 4), (" ", 1), ("10 start a 5 tag", 1)):
            self.assert_bad_line(line, f"{count} of the 5 fields", f"'{line}'")

    def test_an_empty_line(self):
        self.assert_bad_line("", "the line is empty")
        self.assert_bad_trace(HEADER.replace("\n", "\r\n") + "\r\n", 2, "the line is empty")

    def test_an_empty_key(self):
        self.assert_bad_line("10,start,,5,tag", "key is empty")

    def test_times_that_are_no_whole_numbers(self):
        for time in ("ten", "1.5", "1e3", "0x10", " 10", "10 ", "+10", "1_0", "1٠"):
            shown = "1\\xd9\\xa0" if time == "1٠" else time
            self.assert_bad_line(f"{time},start,a,5,", "time_us is not a whole number",
                                 f"'{shown}'")
        self.assert_bad_line(",start,a,5,", "time_us is empty")

    def test_delays_that_are_no_whole_numbers(self):
        for delay in ("five", "5.0", "5us", " 5", "5 ", "+5"):
            self.assert_bad_line(f"10,start,a,{delay},", "delay_us is not a whole number",
                                 f"'{delay}'")
        self.assert_bad_line("10,start,a,,", "delay_us is empty")
        self.assert_bad_line("10,restart,before,,", "delay_us is empty")
        self.assert_bad_line("10,cancel,before,never,", "delay_us is not a whole number", "'never'")

    def test_negative_numbers(self):
        self.assert_bad_line("-1,start,a,5,", "time_us is negative", "'-1'")
        self.assert_bad_line("10,start,a,-5,", "delay_us is negative", "'-5'")
        self.assert_bad_line("10,cancel,a,-5,", "delay_us is negative", "'-5'")

    def test_numbers_above_the_greatest(self):
        for number in (TIME_US_MAX + 1, 2**64, 2**64 + 10, 2**64 * 10 + 7, 10**20, 10**30):
            for name, line in (("time_us", f"{number},start,a,5,"),
                               ("delay_us", f"10,start,a,{number},")):
                self.assert_bad_line(line, f"{name} is above {TIME_US_MAX}", str(number))

    def test_deadlines_above_the_greatest(self):
        for time, delay in ((10, TIME_US_MAX - 9), (TIME_US_MAX - 999, 1000), (TIME_US_MAX, 1),
                            (TIME_US_MAX, TIME_US_MAX), (2**63, 2**63)):
            with self.subTest(time=time, delay=delay):
                for operation in ("start", "restart"):
                    self.assert_bad_trace(trace_text("0,start,a,18446744073709551614,",
                                                     f"{time},{operation},a,{delay},"), 3,
                                          "time_us + delay_us", f"{TIME_US_MAX}: {time} + {delay}")

    def test_unknown_operations(self):
        for operation in ("", "stop", "Start", "START", "starts", "star", " start", "expire"):
            self.assert_bad_line(f"10,{operation},a,5,", "op is not start, restart or cancel",
                                 f"'{operation}'")

    def test_bytes_that_are_no_text(self):
        self.assert_bad_line("10,start,a\0b,5,", "NUL", r"10,start,a\x00b,5,")
        self.assert_bad_line("10,start,a,5,\0", "NUL")
        self.assert_bad_line("\0", "NUL")
        # The message escapes the characters that would control a terminal.
        self.assert_bad_trace(trace_text("\x1b[31mred"), 2, r"'\x1b[31mred'")
        self.assert_bad_trace(HEADER.encode() + b"10,\xff\xfe,a,5,\n", 2, r"'\xff\xfe'")

    def test_lines_that_are_too_long(self):
        for total in (LINE_BYTES_MAX + 1, LINE_BYTES_MAX + 2, 10 * LINE_BYTES_MAX):
            begin = "10,start,a,5,"
            self.assert_bad_line(begin + "x" * (total - len(begin)),
                                 f"longer than {LINE_BYTES_MAX} bytes", begin)
        self.assert_bad_trace("x" * 2 * LINE_BYTES_MAX, 1, "longer than")

    def test_a_line_of_the_greatest_length_is_accepted(self):
        begin = "10,start,a,5,"
        line = begin + "x" * (LINE_BYTES_MAX - len(begin))
        for line_end in ("\n", "\r\n", ""):
            self.write("long.csv", HEADER + line + line_end)
            self.assert_figures(self.replay("long.csv"), operations=1, started=1, pending=1)

    def test_a_message_stays_one_line_of_bounded_length(self):
        for line in ("x" * 60000, "\x01" * 60000, "10,start,a," + "9" * 60000 + ","):
            self.write("bad.csv", trace_text(line))
            outcome = self.run_program("replay", "bad.csv")
            self.assert_fault(outcome, "bad.csv", 2)
            self.assertLess(len(outcome.errors), 400)


class Headers(support.ProgramTest):
    """The first line is always the same."""

    def test_an_empty_file(self):
        self.assert_bad_trace("", 1, "empty", HEADER.strip())
        self.assert_bad_trace("", 1, "empty", HEADER.strip(), name="bad.csv.gz")

    def test_wrong_headers(self):
        for header in ("", "time_us,op,key,delay_us", "time_us,op,key,delay_us,tag,more",
                       "time,op,key,delay,tag", "TIME_US,OP,KEY,DELAY_US,TAG",
                       " time_us,op,key,delay_us,tag", "time_us,op,key,delay_us,tag ",
                       "0,start,a,5,"):
            with self.subTest(header=header):
                for after in ("\n", "\n0,start,a,5,\n"):
                    self.assert_bad_trace(header + after, 1, HEADER.strip(), f"'{header}'")
        self.assert_bad_trace("\ufeff\ufeff" + trace_text("0,start,a,5,"), 1, "the first line must be",
                              r"'\xef\xbb\xbftime_us")

    def test_a_second_header(self):
        self.assert_bad_trace(HEADER + HEADER, 2, "time_us is not a whole number", "'time_us'")

    def test_something_else_than_a_trace(self):
        text = trace_text("0,start,a,5,").encode()
        for content in (bytes(range(1, 256)) * 10, b"\x7fELF\0\0\0\0", bytes(100000),
                        bz2.compress(text), lzma.compress(text)):
            self.assert_bad_trace(content, 1, "not a trace", "only gzip")


class Sequences(support.ProgramTest):
    """Lines that are wrong only because of the lines before them."""

    def test_a_start_of_a_pending_key(self):
        self.assert_bad_trace(trace_text("0,start,a,10,", "9,start,a,10,"), 3,
                              "start", "'a'", "pending until 10")
        self.assert_bad_trace(trace_text("0,start,a,10,", "0,start,a,10,"), 3, "'a'")
        self.assert_bad_trace(trace_text("0,start,a,10,", "9,restart,a,10,", "18,start,a,1,"), 4,
                              "start", "'a'", "pending until 19")

    def test_a_restart_of_a_key_that_is_not_pending(self):
        for lines in (("0,restart,a,10,",),
                      ("0,start,b,10,", "1,restart,a,10,"),
                      ("0,start,a,10,", "10,restart,a,10,"),
                      ("0,start,a,0,", "0,restart,a,10,"),
                      ("0,start,a,10,", "5,cancel,a,0,", "6,restart,a,10,"),
                      ("0,start,a,10,", "5,restart,a,1,", "6,restart,a,10,")):
            with self.subTest(lines=lines):
                self.assert_bad_trace(trace_text(*lines), len(lines) + 1,
                                      "restart", "'a'", "not pending")

    def test_a_cancel_of_a_key_that_is_not_pending(self):
        for lines in (("0,cancel,a,0,",),
                      ("0,start,A,10,", "1,cancel,a,0,"),
                      ("0,start,a,10,", "10,cancel,a,0,"),
                      ("0,start,a,0,", "0,cancel,a,0,"),
                      ("0,start,a,10,", "5,cancel,a,0,", "5,cancel,a,0,"),
                      ("0,start,a,10,", "10,start,b,10,", "11,cancel,a,,")):
            with self.subTest(lines=lines):
                self.assert_bad_trace(trace_text(*lines), len(lines) + 1,
                                      "cancel", "'a'", "not pending")

    def test_expiry_is_by_the_trace_also_when_the_tick_is_coarse(self):
        self.write("bad.csv", trace_text("0,start,a,10,", "10,restart,a,10,"))
        self.assert_fault(self.run_program("replay", "--tick", "1s", "bad.csv"), "bad.csv", 3,
                          "restart", "not pending")
        self.write("bad.csv", trace_text("0,start,a,10,", "9,start,a,10,"))
        self.assert_fault(self.run_program("replay", "--tick", "1s", "bad.csv"), "bad.csv", 3,
                          "start", "pending until 10")

    def test_time_going_backwards(self):
        self.assert_bad_trace(trace_text("10,start,a,5,", "9,start,b,5,"), 3,
                              "time goes backwards", "9", "10")
        self.assert_bad_trace(trace_text(f"{TIME_US_MAX},start,a,0,", "0,start,b,5,"), 3,
                              "time goes backwards", str(TIME_US_MAX))

    def test_the_first_fault_is_reported(self):
        faults = ("10,start,a,5", "5,start,b,1,", "10,stop,a,5,", "10,restart,never,5,",
                  "10,start,good,5,", "10,start,,5,", "x,start,a,5,", "10,start,a\0,5,",
                  "y" * (LINE_BYTES_MAX + 1))
        start = "10,start,good,5,"
        for first in faults:
            for second in faults:
                with self.subTest(first=first[:20], second=second[:20]):
                    self.write("bad.csv", trace_text(start, first, second))
                    self.assert_fault(self.run_program("replay", "bad.csv"), "bad.csv", 3)

    def test_a_fault_far_down(self):
        good = [f"{i},start,key-{i},5," for i in range(30000)]
        self.assert_bad_trace(trace_text(*good, "30000,restart,key-7,5,", "x"), 30002,
                              "restart", "'key-7'")
        self.assert_bad_trace(trace_text(*good, "x", "30000,restart,key-7,5,"), 30002,
                              "1 of the 5 fields", name="bad.csv.gz")


class Files(support.ProgramTest):
    """Files that cannot be read, or not to their end."""

    def test_a_file_that_is_not_there(self):
        outcome = self.run_program("replay", "absent.csv")
        self.assert_fault(outcome, "absent.csv", None, "No such file or directory")
        self.assertEqual(outcome.output, "")

    def test_a_directory(self):
        (self.directory / "folder").mkdir()
        outcome = self.run_program("replay", "folder")
        self.assert_fault(outcome, "folder", None, "Is a directory")
        self.assertEqual(outcome.output, "")
        descriptor = os.open(self.directory, os.O_RDONLY)
        self.addCleanup(os.close, descriptor)
        self.assert_fault(self.run_program("replay", "-", stdin_file=descriptor),
                          "standard input", None, "Is a directory")

    @unittest.skipIf(os.geteuid() == 0, "root may read every file")
    def test_a_file_that_may_not_be_read(self):
        self.write("secret.csv", HEADER)
        (self.directory / "secret.csv").chmod(0)
        self.assert_fault(self.run_program("replay", "secret.csv"), "secret.csv", None,
                          "Permission denied")

    def test_a_name_that_holds_control_characters(self):
        self.write("two\nlines\x1b.csv", "x")
        self.assert_fault(self.run_program("replay", "two\nlines\x1b.csv"), "two?lines?.csv", 1)

    def compressed(self, count):
        """Returns a gzip file of `count` starts, which differ so that they compress badly."""
        lines = (f"{i},start,key-{zlib.crc32(str(i).encode()):x},{i * 7919 % 10007}000,"
                 for i in range(count))
        return gzip.compress(trace_text(*lines).encode(), mtime=0)

    def test_gzip_data_cut_short(self):
        for count in (10, 50000):
            data = self.compressed(count)
            for length in (2, 5, 10, 11, 30, len(data) // 2, len(data) - 9, len(data) - 8,
                           len(data) - 5, len(data) - 1):
                with self.subTest(count=count, length=length):
                    read = zlib.decompressobj(wbits=31).decompress(data[:length])
                    line = read.count(b"\n") + 1
                    self.write("cut.csv", data[:length])
                    outcome = self.run_program("replay", "cut.csv")
                    self.assert_fault(outcome, "cut.csv", line, "gzip", "cut short")
                    self.assertEqual(outcome.output, "")

    def test_damaged_gzip_data(self):
        for count in (10, 50000):
            good = self.compressed(count)
            places = {"method": 2, "body": len(good) // 2, "checksum": len(good) - 8,
                      "length": len(good) - 4}
            for place, offset in places.items():
                with self.subTest(count=count, place=place):
                    data = bytearray(good)
                    data[offset:offset + 4] = bytes(byte ^ 0xff for byte in data[offset:offset + 4])
                    name = self.write("bad.csv", bytes(data))
                    outcome = self.run_program("replay", name)
                    self.assertEqual((outcome.status, outcome.output), (2, ""), outcome)
                    self.assertRegex(outcome.errors, r"\Aelapse replay: bad\.csv:\d+: .+\n\Z")

    def test_what_may_not_follow_a_gzip_member(self):
        """The replay never leaves out the rest of a trace silently: the message says the place."""
        first = gzip.compress(trace_text("0,start,a,5,").encode(), mtime=0)
        second = gzip.compress(b"10,start,b,5,\n20,start,c,5,\n", mtime=0)
        for rest, offset in ((bytes([second[0] ^ 1]) + second[1:], 0),
                             (second[:1] + bytes([second[1] ^ 1]) + second[2:], 0),
                             (b"\0" + second, 1),
                             (b"\0" * 300000 + second, 300000),
                             (b"\0" * 300000 + b"x", 300000),
                             (b"10,start,b,5,\n", 0),
                             (b"\n", 0),
                             (second + b"\0\0" + second, len(second) + 2)):
            with self.subTest(rest=rest[:20], length=len(rest)):
                self.write("bad.csv", first + rest)
                outcome = self.run_program("replay", "--json", "bad.csv")
                line = 5 if rest.startswith(second) else 3
                self.assert_fault(outcome, "bad.csv", line,
                                  f"the gzip data is damaged at byte {len(first) + offset}")
                self.assertEqual(outcome.output, "")
        self.write("bad.csv", first + second[:1])
        self.assert_fault(self.run_program("replay", "bad.csv"), "bad.csv", 3, "cut short")
        for padding in (0, 1, 511, 300000):
            name = self.write("good.csv", first + second + b"\0" * padding)
            self.assertEqual(self.replay(name)["operations"], 3)

    def test_a_bad_line_in_damaged_gzip_data_is_reported_with_the_damage(self):
        # More than is read at once, so that the line comes before the damage.
        text = trace_text("0,start,a,5,", "1,start,a,x,", *map(str, range(400000)))
        good = gzip.compress(text.encode(), mtime=0)
        broken = bytearray(good)
        broken[-8] ^= 1
        for data, damaged in ((good, False), (bytes(broken), True), (good[:-1], True)):
            self.write("bad.csv", data)
            outcome = self.run_program("replay", "bad.csv")
            self.assert_fault(outcome, "bad.csv", 3, "delay_us is not a whole number")
            self.assertEqual("(the gzip data is damaged)" in outcome.errors, damaged, outcome)

    def test_a_hashed_wheel_that_would_turn_very_often(self):
        """With the tick that the warning suggests, the replay ends soon."""
        starts = (f"{i},start,k{i},36000000000," for i in range(5000))
        name = self.write("long.csv", trace_text(*starts, "35000000000,start,b,1,"))
        with self.assertRaises(subprocess.TimeoutExpired) as raised:
            subprocess.run([support.PROGRAM, "replay", "--structure", "hashed", name],
                           cwd=self.directory, stderr=subprocess.PIPE, timeout=1, check=False)
        self.assertRegex(raised.exception.stderr.decode(),
                         r"\Aelapse replay: long\.csv: 68,\d{3},\d{3} turns of the hashed wheel "
                         r"follow, .*; try --tick 100ms\n\Z")
        self.succeed("replay", "--structure", "hashed", "--tick", "100ms", name)
        self.succeed("replay", "--structure", "hashed:16777216", name)
        self.succeed("replay", name)

    def test_an_empty_name(self):
        self.assert_fault(self.run_program("replay", ""), "''", None, "No such file")

    def test_damage_behind_the_last_line_is_reported_as_damage(self):
        data = bytearray(self.compressed(10))
        data[-8] ^= 1
        self.write("bad.csv", bytes(data))
        outcome = self.run_program("replay", "bad.csv")
        self.assertRegex(outcome.errors, r"\Aelapse replay: bad\.csv:\d+: the gzip data is damaged\n\Z")

    def test_one_bad_trace_among_good_ones(self):
        self.write("good.csv", trace_text("0,start,a,5,"))
        self.write("bad.csv", trace_text("0,start,a,x,"))
        outcome = self.run_program("replay", "--json", "good.csv", "bad.csv", "absent.csv",
                                   "good.csv")
        self.assertEqual(outcome.status, 2, outcome)
        self.assertEqual(outcome.output.count('"trace":"good.csv"'), 2, outcome)
        self.assertEqual(outcome.output.count("\n"), 2, outcome)
        errors = outcome.errors.splitlines()
        self.assertEqual(len(errors), 2, outcome)
        self.assertIn("bad.csv:2: ", errors[0])
        self.assertIn("absent.csv: ", errors[1])

    def test_a_fault_on_standard_input(self):
        outcome = self.run_program("replay", "-", stdin=trace_text("0,start,a,x,"))
        self.assert_fault(outcome, "standard input", 2, "delay_us", "'x'")


if __name__ == "__main__":
    support.main()
