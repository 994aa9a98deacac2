"""Tests elapse show: its pictures, the ways of timers down the levels, its steps and its errors.

The expected places of the timers were found by hand. Level 0 has two blocks of 128 slots of one tick.
Each level above has two blocks of 64 slots, and a slot has 128 ticks, 8192 ticks, 524288 ticks and so
on. Even blocks use the lower half of a level. A timer lies on the lowest level whose present or next
block has its deadline.
"""
import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import termios
import time
import unittest

from support import PROGRAM, STATUS_FAILED, ProgramTest, main

STRIP = re.compile(r"^[> ]\s*(\d+) \|(.*)\| (\d+)$")

LEGEND = """\
A cell is a slot: . empty, 1-9 timers, # ten or more, blank: takes no timer
Beside a row are the numbers of its first and last slot; > is the row of now.
[first,last] are ticks; a level covers now's slot above it and the next one.
"""


def strips(text):
    """Returns the cells of each drawn level, by level; the lines of a level are joined."""
    levels = {}
    level = None
    for line in text.splitlines():
        heading = re.match(r"level (\d+)   (\d+) slots of (\S+) ticks?   \S+", line)
        cells = STRIP.match(line)
        if heading and not line.startswith("levels"):
            level = int(heading[1])
        elif cells:
            levels[level] = levels.get(level, "") + cells[2]
    return levels


def slots(text):
    """Returns the listed slots: {(first, last): (slot, timers, deadlines)}."""
    found = re.findall(r"^     slot +(\d+)  \[(\d+),(\d+)\] +(\d+) timers?  +due (.*)$", text, re.M)
    return {(int(first), int(last)): (int(slot), int(timers), deadlines)
            for slot, first, last, timers, deadlines in found}


class ShowTest(ProgramTest):
    def shown(self, *arguments, columns=80):
        """Returns the output to a pipe, which must be plain ASCII."""
        environment = {"LC_ALL": "C.UTF-8", "TERM": "xterm", "COLUMNS": str(columns)}
        output = self.succeed("show", *map(str, arguments), env=environment)
        self.assertTrue(output.isascii())
        self.assertTrue(output.replace("\n", "").isprintable())
        return output


class Picture(ShowTest):
    def test_a_small_wheel_is_drawn_exactly(self):
        self.assertEqual(self.shown(0, 9, 9, 127, 128, 300), """\
A timing wheel at tick 0: 6 timers pending, the next due at tick 0

level 0   256 slots of 1 tick   5 timers in 4 slots
     +v now ----------------------------------------------------------+
>  0 |1........2......................................................| 63
  64 |...............................................................1| 127
 128 |1...............................................................| 191
 192 |................................................................| 255
     +- covers [0,255] -----------------------------------------------+
     slot   0  [0,0]      1 timer   due 0
     slot   9  [9,9]      2 timers  due 9 (2)
     slot 127  [127,127]  1 timer   due 127
     slot 128  [128,128]  1 timer   due 128

level 1   128 slots of 128 ticks   1 timer in 1 slot
     +v now; [0,255] is on level 0 -----------------------------------+
>  0 |  1.............................................................| 63
  64 |................................................................| 127
     +- covers [256,16383] -------------------------------------------+
     slot   2  [256,383]  1 timer  due 300

levels 2 to 10   slots of 8192 to 2^61 ticks   empty   covers 16384 and on

""" + LEGEND)

    def test_timers_lie_on_the_level_and_in_the_slot_known_by_hand(self):
        # deadline: level, slot, first tick, last tick
        known = {
            127: (0, 127, 127, 127),
            128: (0, 128, 128, 128),
            255: (0, 255, 255, 255),
            256: (1, 2, 256, 383),
            8191: (1, 63, 8064, 8191),
            8192: (1, 64, 8192, 8319),
            16383: (1, 127, 16256, 16383),
            16384: (2, 2, 16384, 24575),
            20000: (2, 2, 16384, 24575),
            524287: (2, 63, 516096, 524287),
            2**20 - 1: (2, 127, 127 * 8192, 2**20 - 1),
            2**20: (3, 2, 2 * 524288, 3 * 524288 - 1),
            2**25: (3, 64, 2**25, 2**25 + 524287),
            2**26: (4, 2, 2**26, 3 * 2**25 - 1),
            2**62 - 1: (9, 127, 127 * 2**55, 2**62 - 1),
            2**62: (10, 2, 2**62, 3 * 2**61 - 1),
            2**63: (10, 4, 2**63, 2**63 + 2**61 - 1),
        }
        for deadline, (level, slot, first, last) in known.items():
            with self.subTest(deadline=deadline):
                text = self.shown(deadline, columns=120)
                self.assertEqual(slots(text), {(first, last): (slot, 1, str(deadline))})
                cells = strips(text)
                self.assertEqual(list(cells), [level])
                self.assertEqual(cells[level].find("1"), slot)

    def test_slots_are_seen_from_the_pointer(self):
        # 8000 = 62 * 128 + 64. The next block of level 0 ends where the present one of level 1 does.
        text = self.shown("--now", 8000, 1, 70, 192, 9000)
        self.assertEqual(slots(text), {(8001, 8001): (65, 1, "8001"),
                                       (8070, 8070): (134, 1, "8070"),
                                       (8192, 8319): (64, 1, "8192"),
                                       (16384, 24575): (2, 1, "17000")})
        self.assertIn("covers [8000,8191]", text)
        self.assertIn("covers [8192,16383]", text)
        self.assertIn("covers [16384,1048575]", text)
        self.assertIn("now; [7936,8191] is on level 0 v", text)
        cells = strips(text)
        self.assertEqual(cells[0], " " * 64 + ".1" + "." * 62 + "." * 6 + "1" + "." * 121)
        self.assertEqual(cells[1], " " * 64 + "1" + "." * 63)
        self.assertEqual(cells[2], "  1" + "." * 125)

    def test_an_odd_block_is_in_the_upper_half_and_the_next_in_the_lower(self):
        # 8191 is the last tick of block 63 of level 0 and of block 0 of level 1. Slot 64 of level
        # 1 is the next one: its ticks are on level 0.
        text = self.shown("--now", 8191, 0, 1, 128, 129)
        self.assertEqual(slots(text), {(8191, 8191): (255, 1, "8191"), (8192, 8192): (0, 1, "8192"),
                                       (8319, 8319): (127, 1, "8319"),
                                       (8320, 8447): (65, 1, "8320")})
        cells = strips(text)
        self.assertEqual(cells[0], "1" + "." * 126 + "1" + " " * 127 + "1")
        self.assertEqual(cells[1], " " * 65 + "1" + "." * 62)
        self.assertIn(">192 |", text)

    def test_timers_of_a_slot_that_is_cascaded_in_steps_are_on_two_levels(self):
        # 300 timers in slot 2 of level 1. Three ticks before it, the newest 128 are moved: 60 that
        # are due at 380, and two for each tick from 342 to 375.
        text = self.shown("--step", "--every", 253, "--until", 253, *range(256, 376),
                          *range(256, 376), *[380] * 60, columns=10000)
        cells = strips(text[text.index("step 1"):])
        self.assertEqual(cells[0][:128], "." * 86 + "2" * 34 + "...." + "#" + "...")
        self.assertEqual(cells[1][2], "#")
        moved = re.findall(r"(\d+) from level 1 to 0", text)
        self.assertGreater(len(moved), 20)  # the line does not hold all of them
        self.assertEqual(moved, [str(tick) for tick in range(342, 376) for _ in "12"][:len(moved)])

    def test_at_the_end_of_time_the_levels_above_0_cover_nothing(self):
        self.assertIn("levels 1 to 10   slots of 128 to 2^61 ticks   empty\n",
                      self.shown("--now", 2**64 - 2, 0))

    def test_cells_count_up_to_nine(self):
        cells = strips(self.shown(*[5] * 9, *[6] * 10))
        self.assertEqual(cells[0][5:8], "9#.")

    def test_a_timer_is_a_delay_or_a_deadline(self):
        self.assertEqual(self.shown("--now", 1000, 5, 300),
                         self.shown("--now", 1000, "@1005", "@1300"))

    def test_a_deadline_that_has_passed_counts_as_now(self):
        self.assertEqual(slots(self.shown("--now", 1000, "@3")), {(1000, 1000): (232, 1, "1000")})

    def test_timers_that_are_never_due_are_in_the_last_slot_there_is(self):
        text = self.shown(2**64 - 1, 7)
        self.assertIn("2 timers pending, the next due at tick 7", text)
        self.assertEqual(slots(text)[(7 * 2**61, 2**64 - 1)], (7, 1, "never"))

    def test_sums_saturate(self):
        text = self.shown("--now", 2**64 - 200, 500)
        self.assertIn("1 timer pending\n", text)
        self.assertEqual([timers for _, _, timers in slots(text).values()], ["never"])

    def test_without_timers_several_levels_are_filled(self):
        self.assertEqual(sorted(strips(self.shown())), [0, 1, 2])

    def test_random_timers_are_the_same_by_seed(self):
        text = self.shown("--random", 500, "--seed", 7)
        self.assertIn("500 timers pending", text)
        self.assertEqual(text, self.shown("--random", 500, "--seed", 7))
        self.assertNotEqual(text, self.shown("--random", 500, "--seed", 8))

    def test_all_lists_every_slot(self):
        delays = range(10, 30)
        self.assertEqual(len(slots(self.shown(*delays))), 8)
        self.assertIn("and 12 slots more; --all", self.shown(*delays))
        self.assertEqual(len(slots(self.shown("--all", *delays))), 20)

    def test_numbers_are_never_cut(self):
        last = 2**64 - 2
        numbers = {str(number) for number in (0, 1, 2, 3, 7, 8, 9, 10, 55, 62, 61, 128, 256,
                                              last, last + 1, 2**62, 7 * 2**61, 2**61)}
        for columns in range(20, 90):
            with self.subTest(columns=columns):
                text = self.shown(last, columns=columns)
                told = "".join(line for line in text.splitlines(True) if "|" not in line)
                self.assertEqual(set(re.findall(r"\d+", told)) - numbers, set())
                self.assertRegex(text, rf"due\s+at\s+tick\s+{last}\n")
                self.assertRegex(text, rf"\sdue\s+{last}\n")

    def test_a_line_goes_on_between_words(self):
        text = self.shown("--now", 2**64 - 3, 1, 2)
        self.assertTrue(text.startswith(
            "A timing wheel at tick 18446744073709551613: 2 timers pending, the next due at\n"
            "  tick 18446744073709551614\n"))
        self.assertIn("  1 timer  due\n       18446744073709551614\n", text)

    def test_a_list_that_is_too_long_says_so(self):
        text = self.shown(*range(256, 288))
        self.assertIn("due 256, 257, 258, 259, 260, 261, 262 ...\n", text)

    def test_the_width_is_respected(self):
        for columns in (20, 24, 40, 72, 80, 200):
            for arguments in ([], ["--random", "400"], ["--path", "20000"], ["--step"],
                              [2**63, 2**64 - 2]):
                with self.subTest(columns=columns, arguments=arguments):
                    lines = self.shown(*arguments, columns=columns).splitlines()
                    self.assertLessEqual(max(map(len, lines)), columns)
                    self.assertTrue(any("|" in line for line in lines))


class Path(ShowTest):
    STOP = re.compile(r"^  tick (\d+) +(?:starts on|cascades to) level (\d+), slot (\d+)"
                      r"\s+\[(\d+),(\d+)\]$", re.M)
    FIRES = re.compile(r"^  tick (\d+) +fires, on time: after (\d+) wake-ups? and (\d+) moves?$",
                       re.M)

    def ways(self, *arguments):
        """Returns for each drawn way: its stops, and the tick, wake-ups and moves of its end."""
        ways = []
        for part in re.split(r"^(?=Alone|In company)", self.shown("--path", *arguments),
                             flags=re.M)[1:]:
            (end,) = self.FIRES.findall(part)
            ways.append(([tuple(map(int, stop)) for stop in self.STOP.findall(part)],
                         tuple(map(int, end))))
        return ways

    def test_alone_it_fires_out_of_its_slot_and_in_company_goes_level_by_level(self):
        self.assertEqual(self.ways(20000), [
            ([(0, 2, 2, 16384, 24575)], (20000, 1, 0)),
            ([(0, 2, 2, 16384, 24575), (16384, 1, 28, 19968, 20095),
              (19968, 0, 32, 20000, 20000)], (20000, 3, 2)),
        ])
        self.assertIn("One wake-up is enough", self.shown("--path", 20000))

    def test_on_level_0_there_is_no_way_down(self):
        self.assertEqual(self.ways(5), [([(0, 0, 5, 5, 5)], (5, 1, 0))])

    def test_at_the_first_tick_of_a_slot_company_changes_nothing(self):
        self.assertEqual(self.ways(8192), [([(0, 1, 64, 8192, 8319)], (8192, 1, 0))])

    def test_company_is_started_only_where_it_takes_the_timer_down(self):
        # 17024 is the first tick of its slot on level 1, where it then lies alone.
        text = self.shown("--path", 17024)
        company = text[text.index("In company"):]
        self.assertEqual(re.findall(r"\|[ .]*(\d)[ .]*\|", company), ["2", "1"])

    def test_it_begins_at_now(self):
        self.assertEqual(self.ways("--now", 1000, 130), [
            ([(1000, 0, 106, 1130, 1130)], (1130, 1, 0)),
        ])
        self.assertEqual(self.ways("--now", 1000, 230), [
            ([(1000, 1, 9, 1152, 1279)], (1230, 1, 0)),
            ([(1000, 1, 9, 1152, 1279), (1152, 0, 206, 1230, 1230)], (1230, 2, 1)),
        ])

    def test_every_way_ends_at_the_deadline_and_narrows_down_to_it(self):
        for deadline in (1, 127, 129, 8191, 8193, 99999, 2**30 + 12345, 2**63 + 1, 2**64 - 2):
            for stops, end in self.ways(deadline):
                with self.subTest(deadline=deadline, stops=stops):
                    self.assertEqual(end[0], deadline)
                    for tick, _, _, first, last in stops:
                        self.assertLessEqual(first, deadline)
                        self.assertLessEqual(deadline, last)
                        self.assertLess(tick, deadline)
                    levels = [stop[1] for stop in stops]
                    self.assertEqual(levels, sorted(set(levels), reverse=True))

    def test_without_a_timer_there_is_one(self):
        self.assertEqual(self.shown("--path"), self.shown("--path", 20000))

    def test_the_legend_comes_once_at_the_end(self):
        text = self.shown("--path", 5, 300)
        self.assertTrue(text.endswith("\n\n" + LEGEND))
        self.assertEqual(text.count("A cell is a slot"), 1)

    def test_one_after_the_other_for_several_timers(self):
        self.assertEqual(self.shown("--path", 5, 300).count("A timer started at tick 0, due"), 2)

    def test_a_timer_that_is_never_due_has_no_way(self):
        text = self.shown("--path", 2**64 - 1)
        self.assertEqual(self.STOP.findall(text),
                         [("0", "10", "7", str(7 * 2**61), str(2**64 - 1))])
        self.assertNotIn("fires", text)
        self.assertIn("There it stays", text)


class Step(ShowTest):
    def frames(self, *arguments, columns=80):
        """Returns the pictures, without the last line: (tick, fired, cascaded, cells)."""
        frames = []
        for part in self.shown("--step", *arguments, columns=columns).split("\n\n")[:-1]:
            tick = int(re.match(r"-- (?:start|wake-up \d+|step \d+), tick (\d+) --\n", part)[1])
            fired = re.search(r"^  fires +(.*)$", part, re.M)
            moved = re.search(r"^  cascades +(.*)$", part, re.M)
            frames.append((tick, fired and fired[1], moved and moved[1], strips(part)))
        return frames

    def test_each_wake_up_is_a_picture_and_each_firing_is_shown(self):
        frames = self.frames(3, 28000, 30000, 30050)
        self.assertEqual([frame[:3] for frame in frames], [
            (0, None, None),
            (3, "3 from level 0", "nothing"),
            (28000, "28000 from level 2 (the first due in its slot)",
             "30000 from level 2 to 1, 30050 from level 2 to 1"),
            (30000, "30000 from level 1 (the first due in its slot)", "30050 from level 1 to 0"),
            (30050, "30050 from level 0", "nothing"),
        ])
        self.assertEqual(frames[2][3][1].find("2"), 30000 // 128 % 128)
        self.assertEqual(frames[3][3][0].find("1"), 30050 % 256)

    def test_the_end_tells_which_moves_were_not_drawn(self):
        """A timer that is moved and fires at once is drawn as firing alone."""
        for timers in ([], [5, 200, 210, 20000, 20100], [3, 300, 310, 370, 1000, 30050],
                       ["--random", 200]):
            drawn = sum(0 if moved == "nothing" else moved.count(" to ")
                        for _, _, moved, _ in self.frames(*timers, columns=10000)[1:])
            end = self.shown("--step", *timers, columns=10000).splitlines()[-1]
            moves, at_once = re.search(r"(\d+) moves?(?: \((\d+) fired at once\))?$",
                                       end).groups(default="0")
            self.assertEqual(int(moves) - int(at_once), drawn, end)

    def test_the_end_tells_the_sum(self):
        self.assertTrue(self.shown("--step", 3, 300).endswith(
            "\nAfter 2 wake-ups: 2 fired, 0 still pending, 0 moves\n"))

    def test_every_goes_by_ticks_and_names_late_timers(self):
        self.assertEqual([frame[:3] for frame in self.frames("--every", 100, 300, 350)], [
            (0, None, None),
            (100, "nothing", "nothing"),
            (200, "nothing", "nothing"),
            (300, "300 from level 1 (the first due in its slot)", "350 from level 1 to 0"),
            (400, "350 from level 0 (50 late)", "nothing"),
        ])

    def test_a_timer_alone_in_its_slot_fires_from_there(self):
        self.assertEqual(self.frames(300)[1][1],
                         "300 from level 1 (alone in its slot: no cascade needed)")

    def test_why_it_fires_from_above_is_said_once_for_a_slot(self):
        self.assertEqual(self.frames(300, 300)[1][1],
                         "300 from level 1 (the first due in its slot), 300 from level 1")

    def test_the_deadlines_in_each_slot_are_listed(self):
        text = self.shown("--step", 9, 9, 1000, 1010, 1100)
        self.assertIn("\n     slot 9 [9,9]: 9 (2)\n", text)
        self.assertIn("\n     slot 7 [896,1023]: 1000, 1010; slot 8 [1024,1151]: 1100\n", text)

    def test_empty_levels_are_one_line(self):
        self.assertIn("\nlevels 0 to 1   slots of 1 to 128 ticks   empty   covers [0,16383]\nlevel 2",
                      self.shown("--step", 17000))

    def test_by_default_an_early_wake_up_takes_timers_down(self):
        self.assertEqual(self.frames()[2][2], "310 from level 1 to 0, 370 from level 1 to 0")

    def test_the_legend_comes_with_the_start_alone(self):
        text = self.shown("--step", 3, 300)
        self.assertEqual(text.count(LEGEND), 1)
        self.assertIn(LEGEND + "\n-- wake-up 1,", text)

    def test_every_shows_what_stays_in_the_slot_under_the_pointer(self):
        self.assertIn("v now; nothing in this slot is due yet",
                      self.shown("--step", "--every", 260, "--until", 260, 300))

    def test_until_ends_it(self):
        text = self.shown("--step", "--until", 299, 3, 300)
        self.assertIn("-- wake-up 1, tick 3 --", text)
        self.assertNotIn("tick 300 --", text)
        self.assertTrue(text.endswith("After 1 wake-up: 1 fired, 1 still pending, 0 moves\n"))
        self.assertIn("tick 300 --", self.shown("--step", "--until", 300, 3, 300))

    def test_timers_that_are_never_due_do_not_keep_it_going(self):
        self.assertTrue(self.shown("--step", 3, 2**64 - 1).endswith(
            "After 1 wake-up: 1 fired, 1 still pending, 0 moves\n"))

    def test_the_last_tick_there_is_ends_it(self):
        frames = self.frames("--every", 2**63, 2**64 - 2)
        self.assertEqual([frame[0] for frame in frames], [0, 2**63, 2**64 - 2])

    def test_every_timer_fires_once_and_in_order(self):
        fired = []
        for _, text, _, _ in self.frames("--random", 300, "--seed", 3, columns=1000)[1:]:
            self.assertNotIn("...", text)
            fired += [int(number) for number in re.findall(r"(\d+) from", text)]
        self.assertEqual(len(fired), 300)
        self.assertEqual(fired, sorted(fired))


class Terminal(unittest.TestCase):
    """On a terminal of 80 columns and 24 rows."""

    HIDE, RETURN = b"\x1b[?25l", b"\x1b[?25h"

    def start(self, *arguments, rows=24, columns=80, **environment):
        try:
            self.terminal, inner = pty.openpty()
        except OSError as error:
            self.skipTest(f"this machine gives no terminal: {error}")
        self.addCleanup(os.close, self.terminal)
        fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        process = subprocess.Popen(
            [PROGRAM, "show", *map(str, arguments)], stdin=inner, stdout=inner, stderr=inner,
            env={"LC_ALL": "C.UTF-8", "TERM": "xterm", **environment})
        os.close(inner)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def read_until(self, wanted=None):
        """Returns the output until `wanted` has come, or until its end."""
        output = b""
        while wanted is None or wanted not in output:
            try:
                piece = os.read(self.terminal, 65536)
            except OSError:  # all have closed it
                piece = b""
            if not piece:
                self.assertIsNone(wanted, output)
                break
            output += piece
        return output

    def output(self, *arguments, **options):
        process = self.start(*arguments, **options)
        output = self.read_until()
        self.assertEqual(process.wait(), 0)
        return output.decode()

    def test_it_has_box_drawing_and_colour(self):
        output = self.output(5)
        self.assertIn("┌", output)
        self.assertIn("\x1b[1;36m", output)

    def test_no_color_is_without_colour(self):
        output = self.output(5, NO_COLOR="1")
        self.assertIn("┌", output)
        self.assertNotIn("\x1b", output)

    def test_ascii_is_without_box_drawing(self):
        self.assertTrue(self.output("--ascii", 5).isascii())

    def test_a_locale_without_utf_8_is_without_box_drawing(self):
        self.assertTrue(self.output(5, LC_ALL="C").isascii())

    def test_a_dumb_terminal_is_as_none(self):
        for arguments in ([5], ["--step", 5]):
            output = self.output(*arguments, TERM="dumb")
            self.assertTrue(output.isascii())
            self.assertNotIn("\x1b", output)

    def test_columns_do_not_exceed_the_terminal(self):
        self.assertEqual(self.output("--random", 300, COLUMNS="200"),
                         self.output("--random", 300))

    def test_steps_are_drawn_in_place_and_the_cursor_comes_back(self):
        output = self.output("--step", "--pause", "1ms", 3, 300)
        self.assertEqual(len(re.findall(r"\x1b\[\d+A", output)), 2)
        self.assertTrue(output.startswith(self.HIDE.decode()))
        self.assertIn(self.RETURN.decode(), output)
        self.assertIn("After 2 wake-ups", output)

    def test_a_picture_is_no_higher_than_the_terminal(self):
        for rows in range(2, 40):
            output = self.output("--step", "--pause", "1ms", 5, 300, 20000, 2000000, 100000000,
                                 rows=rows)
            for height in re.findall(r"\x1b\[(\d+)A", output):
                self.assertLess(int(height), rows)

    def first_picture(self, *arguments, **options):
        output = self.output("--step", "--pause", "1ms", "--ascii", *arguments, NO_COLOR="1",
                             **options)
        return output.partition("\x1b[J")[0].replace("\x1b[K", "").replace("\r", "")

    def test_a_low_window_says_how_many_levels_it_leaves_out(self):
        timers = (5, 300, 20000, 2000000, 100000000)
        for rows, levels, last in [(24, [0, 1, 2], "2 levels more: make the window taller"),
                                   (30, [0, 1, 2, 3], "1 level more: make the window taller"),
                                   (5, [], "5 levels more: make the window taller")]:
            with self.subTest(rows=rows):
                picture = self.first_picture(*timers, rows=rows)
                self.assertEqual(sorted(strips(picture)), levels)
                self.assertEqual(picture.splitlines()[-1], last)
        self.assertEqual(sorted(strips(self.first_picture(*timers, rows=60))), [0, 1, 2, 3, 4])

    def test_the_legend_is_there_where_it_fits(self):
        self.assertTrue(self.first_picture(rows=27).endswith(LEGEND))
        self.assertNotIn("A cell is a slot", self.first_picture(rows=26))

    def test_a_window_too_small_for_any_picture_says_so(self):
        self.assertIn("Too low\n", self.first_picture(rows=2))
        self.assertIn("Too narrow\n", self.first_picture(columns=19))

    def test_pictures_are_apart_by_the_pause(self):
        begin = time.monotonic()
        self.output("--step", "--pause", "200ms", 3, 300)
        self.assertGreaterEqual(time.monotonic() - begin, 0.4)

    def test_signals_end_it_with_the_cursor_back(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(signal=number):
                process = self.start("--step", "--pause", "1h", 3)
                self.read_until(b"slot 3 [3,3]")
                process.send_signal(number)
                self.assertEqual(process.wait(timeout=60), -number)
                self.assertIn(self.RETURN, self.read_until())

    def test_stopping_brings_the_cursor_back_and_going_on_hides_it(self):
        process = self.start("--step", "--pause", "1h", 3)
        self.read_until(b"slot 3 [3,3]")
        process.send_signal(signal.SIGTSTP)
        self.read_until(self.RETURN)
        _, status = os.waitpid(process.pid, os.WUNTRACED)
        self.assertTrue(os.WIFSTOPPED(status))
        process.send_signal(signal.SIGCONT)
        self.read_until(self.HIDE)


class Keys(unittest.TestCase):
    """Standard input is a terminal, and keys step from picture to picture."""

    def start(self, *arguments, **options):
        """Starts the program on a terminal, as its foreground process."""
        terminal, inner = pty.openpty()
        self.terminal, self.inner = terminal, inner
        self.addCleanup(os.close, terminal)
        self.addCleanup(os.close, inner)
        fcntl.ioctl(inner, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 100, 0, 0))
        self.before = termios.tcgetattr(inner)

        def take_terminal():
            os.setsid()
            fcntl.ioctl(0, termios.TIOCSCTTY, 0)

        process = subprocess.Popen(
            [PROGRAM, "show", *map(str, arguments)], stdin=inner, stdout=inner, stderr=inner,
            env={"LC_ALL": "C.UTF-8", "TERM": "xterm", "NO_COLOR": "1"}, preexec_fn=take_terminal)
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    read_until = Terminal.read_until

    def press(self, key, wanted):
        """Presses a key, and expects `wanted` in the picture that follows, or in the end."""
        os.write(self.terminal, key.encode())
        text = self.read_until(self.HINT.encode() if "tick" in wanted else b"move").decode()
        self.assertIn(wanted, text)
        return text

    def assert_restored(self, process):
        self.assertEqual(process.wait(timeout=60), 0)
        self.assertEqual(termios.tcgetattr(self.inner), self.before)

    HINT = "space: step   b: back   p: play   q: quit"

    def test_keys_step_and_go_back(self):
        process = self.start("--step", 3, 300, 310)
        self.read_until(self.HINT.encode())
        self.assertNotEqual(termios.tcgetattr(self.inner), self.before)
        self.press(" ", "wake-up 1, tick 3 --")
        text = self.press(" ", "wake-up 2, tick 300 --")
        self.assertIn("310 from level 1 to 0", text)
        self.press("b", "wake-up 1, tick 3 --")
        self.press("b", "start, tick 0 --")
        self.press("b", "start, tick 0 --")
        self.press(" ", "wake-up 1, tick 3 --")
        self.press(" ", "wake-up 2, tick 300 --")
        self.press(" ", "wake-up 3, tick 310 --")
        os.write(self.terminal, b" ")
        self.read_until(b"3 fired, 0 still pending, 2 moves (1 fired at once)")
        self.assert_restored(process)

    def test_q_quits(self):
        process = self.start("--step", 3, 300)
        self.read_until(self.HINT.encode())
        self.press("q", "0 fired, 2 still pending, 0 moves")
        self.assert_restored(process)

    def test_p_plays(self):
        process = self.start("--step", 3, 300)
        self.read_until(self.HINT.encode())
        self.press("p", "After 2 wake-ups: 2 fired")
        self.assert_restored(process)

    def test_other_keys_do_nothing(self):
        process = self.start("--step", 3, 300)
        self.read_until(self.HINT.encode())
        self.press("x", "start, tick 0 --")
        self.press("q", "0 fired, 2 still pending")
        self.assert_restored(process)

    def test_signals_restore_the_terminal(self):
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            with self.subTest(signal=number):
                process = self.start("--step", 3, 300)
                self.read_until(self.HINT.encode())
                process.send_signal(number)
                self.assertEqual(process.wait(timeout=60), -number)
                self.assertEqual(termios.tcgetattr(self.inner), self.before)

    def test_an_interrupt_from_the_keyboard(self):
        process = self.start("--step", 3, 300)
        self.read_until(self.HINT.encode())
        os.write(self.terminal, b"\x03")
        self.assertEqual(process.wait(timeout=60), -signal.SIGINT)
        self.assertEqual(termios.tcgetattr(self.inner), self.before)


class Refused(ProgramTest):
    def test_a_wrong_command_line_is_reported(self):
        for arguments, message in [
                (["x"], "a timer is a delay in ticks, or @ and a tick, not 'x'"),
                (["@"], "@ takes a tick, not ''"),
                (["@x"], "@ takes a tick, not 'x'"),
                (["1.5"], "a timer is a delay in ticks, or @ and a tick, not '1.5'"),
                (["18446744073709551616"],
                 "'18446744073709551616' is above 18446744073709551615"),
                (["@99999999999999999999"],
                 "@ takes a tick: '99999999999999999999' is above 18446744073709551615"),
                (["--now", "18446744073709551615"],
                 "--now: '18446744073709551615' is not a whole number from 0 to 18446744073709551614"),
                (["--now", "1e3"], "--now: '1e3' is not a whole number from 0 to"),
                (["--random", "0"], "--random: '0' is not a whole number from 1 to 100000"),
                (["--random", "100001"], "is not a whole number from 1 to 100000"),
                (["--random", "3", "5"], "give timers or --random, not both"),
                (["--seed", "3"], "--seed needs --random"),
                (["--every", "3"], "--every needs --step"),
                (["--until", "3"], "--until needs --step"),
                (["--pause", "3s"], "--pause needs --step"),
                (["--step", "--pause", "3"], "--pause: '3': a unit is missing"),
                (["--step", "--pause", "2h"], "--pause: '2h' is not from 0s to 1h"),
                (["--step", "--every", "0"], "--every: '0' is not a whole number from 1 to"),
                (["--step", "--path", "3"], "--path and --step do not go together"),
                (["--step", "--all"], "--all goes neither with --path nor with --step"),
                (["--bogus"], "unrecognized option"),
        ]:
            with self.subTest(arguments=arguments):
                self.assert_usage_error("elapse show", "show", *arguments, says=[message])

    def test_help_names_every_option(self):
        output = self.succeed("show", "--help")
        for option in ("now", "random", "seed", "all", "ascii", "path", "step", "every", "until",
                       "pause"):
            self.assertIn(f"--{option} ", output)

    def test_a_closed_pipe_is_quiet(self):
        with subprocess.Popen([PROGRAM, "show", "--step", "--random", "2000"],
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            process.stdout.readline()
            process.stdout.close()
            self.assertEqual(process.stderr.read(), b"")
            self.assertNotEqual(process.wait(timeout=60), 0)

    @unittest.skipUnless(os.path.exists("/dev/full"), "there is no /dev/full")
    def test_output_that_cannot_be_written_is_reported(self):
        with open("/dev/full", "wb") as full:
            outcome = self.run_program("show", stdout=full)
        self.assertEqual(outcome.status, STATUS_FAILED, outcome)
        self.assertIn("standard output", outcome.errors)


if __name__ == "__main__":
    main()
