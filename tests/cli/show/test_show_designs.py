"""Tests elapse show of dials and hashed wheels. The place of each timer, and where it moves, is known by
hand.

On dials a timer lies on the finest level that reaches its deadline, counted from the slot of now. It
cascades when its slot begins. In a hashed wheel the slot of a timer is its deadline modulo the number of
slots. The timer stays there for as many visits as there are turns before its deadline.
"""
import re

from test_show import ShowTest, slots, strips

from support import main


def way(text):
    """Returns the stops on the way of a timer: (tick, what happens)."""
    return [(int(tick), what) for tick, what in re.findall(r"^  tick (\d+) +(.*)$", text, re.M)]


class Dials(ShowTest):
    def levels(self, *arguments):
        """Returns {level: numbers of the slots that have timers}."""
        return {level: [number for number, cell in enumerate(cells) if cell != "."]
                for level, cells in strips(self.shown(*arguments)).items()}

    def test_a_timer_of_2_goes_to_slot_2(self):
        output = self.shown("--slots", "10,10,10", 2)
        self.assertEqual(strips(output), {0: "..1......."})
        self.assertEqual(slots(output), {(2, 2): (2, 1, "2")})

    def test_with_the_pointer_at_2_a_timer_of_9_uses_slot_1_again(self):
        output = self.shown("--slots", "10,10,10", "--now", 2, 9)
        self.assertEqual(strips(output), {0: ".1........"})
        self.assertEqual(slots(output), {(11, 11): (1, 1, "11")})

    def test_a_timer_of_15_cascades_at_10_and_fires_5_later(self):
        self.assertEqual(slots(self.shown("--slots", "10,10,10", 15)), {(10, 19): (1, 1, "15")})
        self.assertEqual(way(self.shown("--path", "--slots", "10,10,10", 15)), [
            (0, "starts on level 1, slot 1 [10,19]"),
            (10, "cascades to level 0, slot 5 [15,15]"),
            (15, "fires, on time: after 2 wake-ups and 1 move")])

    def test_70_seconds_are_a_minute_and_10(self):
        self.assertEqual(way(self.shown("--path", "--slots", "60,60", 70)), [
            (0, "starts on level 1, slot 1 [60,119]"),
            (60, "cascades to level 0, slot 10 [70,70]"),
            (70, "fires, on time: after 2 wake-ups and 1 move")])

    def test_ten_minutes_are_not_visited_before_they_are_over(self):
        """A timer of ten minutes is first visited when it fires, if it starts at a full minute.
        Otherwise it is visited once before, after nine minutes or later."""
        self.assertEqual(way(self.shown("--path", "--slots", "60,60", 600)), [
            (0, "starts on level 1, slot 10 [600,659]"),
            (600, "fires, on time: after 1 wake-up and 0 moves")])
        self.assertEqual(way(self.shown("--path", "--slots", "60,60", "--now", 30, 600))[1],
                         (600, "cascades to level 0, slot 30 [630,630]"))

    def test_a_clock_face(self):
        """An hour, 15 minutes and 30 seconds; a month is 174 slots, a day 144."""
        self.assertEqual(way(self.shown("--path", "--slots", "60,60,24,30", 4530)), [
            (0, "starts on level 2, slot 1 [3600,7199]"),
            (3600, "cascades to level 1, slot 15 [4500,4559]"),
            (4500, "cascades to level 0, slot 30 [4530,4530]"),
            (4530, "fires, on time: after 3 wake-ups and 2 moves")])
        output = self.shown("--structure", "dials:60,60,24,30", 3, 70, 4000, 100000)
        self.assertEqual([len(cells) for cells in strips(output).values()], [60, 60, 24, 30])

    def test_dials_of_one_number_grow_as_far_as_a_deadline_needs(self):
        self.assertEqual(self.levels("--slots", 512, 511), {0: [511]})
        self.assertEqual(self.levels("--slots", 512, 5, 512, 262144),
                         {0: [5], 1: [1], 2: [1]})
        self.assertNotIn("level 2", self.shown("--slots", 512, 262143))
        self.assertIn("2^63 ticks", self.shown("--slots", 512, "@18446744073709551614"))

    def test_what_no_level_covers_is_parked(self):
        output = self.shown("--slots", "4,4", 5, 20, 21, 40, "18446744073709551615")
        self.assertEqual(strips(output), {1: ".1.."})
        self.assertIn("parked   3 timers   past what the levels cover: due 20, 21, 40", output)
        self.assertIn("never due   1 timer", output)

    def test_steps_name_the_timers_that_cascade_and_their_levels(self):
        output = self.shown("--step", "--slots", "4,4", 5, 20, 21, 40)
        steps = re.findall(r"^-- wake-up \d, tick (\d+) --\n  fires +(.*)\n  cascades +(.*)$",
                           output, re.M)
        self.assertEqual(steps, [
            ("4", "nothing", "5 from level 1 to 0"),
            ("5", "5 from level 0", "nothing"),
            ("20", "20 from the parked", "21 from the parked to level 0"),
            ("21", "21 from level 0", "nothing"),
            ("40", "40 from the parked", "nothing")])
        self.assertIn("After 5 wake-ups: 4 fired, 0 still pending", output)

    def test_the_timers_listed_are_those_counted(self):
        """The ranges of dials overlap, so the slot of a timer does not follow from its deadline."""
        for now in (0, 7, 123):
            for arguments in (["--slots", "10,10,10"], ["--slots", "3,5,7"], ["--slots", "16"]):
                output = self.shown("--all", *arguments, "--now", now, "--random", 300,
                                    columns=10000)
                for first_last, (_, count, deadlines) in slots(output).items():
                    listed = [int(number or 1) for number in
                              re.findall(r"\d+(?: \((\d+)\))?", deadlines)]
                    self.assertEqual(sum(listed), count, (arguments, now, first_last))

    def test_the_timers_listed_are_those_counted_while_it_plays(self):
        output = self.shown("--step", "--slots", "4,4,4", 3, 9, 17, 18, 30, 31, 31, 63, 64, 80,
                            columns=10000)
        pictures = output.split("-- wake-up")
        self.assertGreater(len(pictures), 8)
        for picture in pictures:
            timers = re.findall(r"(\d+) timers? in \d+ slots?", picture)
            listed = re.findall(r"\[\d+,\d+\]: ([^;\n]*)", picture)
            deadlines = [int(number or 1) for text in listed
                         for number in re.findall(r"\d+(?: \((\d+)\))?", text)]
            self.assertEqual(sum(map(int, timers)), sum(deadlines), picture)


class Strips(ShowTest):
    def test_a_row_ends_with_the_last_slot(self):
        for slot_count, columns, last_row in [
                (100, 80, ">? 64 \\|\\.{32}1\\.{3} {28}\\| 99"), (60, 60, " 32 \\|.{28} {4}\\| 59")]:
            output = self.shown("--structure", f"hashed:{slot_count}", 96, columns=columns)
            self.assertRegex(output, last_row)
            self.assertEqual(len(strips(output)[0].replace(" ", "")), slot_count)


class Hashed(ShowTest):
    def test_5_and_15_share_slot_5_of_10_a_round_apart(self):
        output = self.shown("--structure", "hashed:10", 5, 15, 10)
        self.assertEqual(strips(output), {0: "1....2...."})
        self.assertEqual(slots(output), {(10, 10): (0, 1, "10"),
                                         (5, 15): (5, 2, "5, 15 (1 round)")})

    def test_several_timers_of_several_rounds(self):
        output = self.shown("--structure", "hashed", "--slots", 10, 35, 35)
        self.assertEqual(slots(output)[(5, 35)], (5, 2, "35 (2 timers, 3 rounds)"))

    def test_ten_minutes_on_60_slots_are_visited_nine_times(self):
        stops = way(self.shown("--path", "--structure", "hashed:60", 600))
        self.assertEqual(stops[0], (0, "starts on level 0, slot 0 [60,600]"))
        self.assertEqual([tick for tick, what in stops if "is visited" in what],
                         [60 * minute for minute in range(1, 10)])
        self.assertEqual(stops[-1], (600, "fires, on time: after 10 wake-ups and 9 moves"))

    def test_many_visits_are_not_told_one_by_one(self):
        stops = way(self.shown("--path", "--structure", "hashed:10", 1000))
        self.assertEqual(stops[-2][1], "and so on")
        self.assertEqual(stops[-1], (1000, "fires, on time: after 100 wake-ups and 99 moves"))

    def test_timers_in_no_slot(self):
        output = self.shown("--structure", "hashed:10", 0, 5, "18446744073709551615")
        self.assertIn("due now   1 timer", output)
        self.assertIn("never due   1 timer", output)
        self.assertEqual(strips(output), {0: ".....1...."})


class Chosen(ShowTest):
    def test_the_wheel_is_the_usual_one(self):
        self.assertEqual(self.shown(5), self.shown("--structure", "wheel", 5))

    def test_slots_may_stand_with_the_name_or_apart(self):
        together = self.shown("--structure", "hashed:10", 5)
        self.assertEqual(together, self.shown("--structure", "hashed", "--slots", 10, 5))
        self.assertEqual(together, self.shown("--structure", "hashed", 5))
        self.assertEqual(self.shown("--slots", "60,60,24,30", 5),
                         self.shown("--structure", "dials", 5))

    def test_a_wrong_structure_is_reported(self):
        for arguments, message in [
                (["--structure", "whee"], "there is no structure 'whee'"),
                (["--structure", "heap"], "the heap has no slots to draw"),
                (["--structure", "wheel:3"], "the slots of a wheel cannot be chosen"),
                (["--slots", "10,"], "the slots are not a list of up to 64 numbers"),
                (["--slots", ""], "the slots are not a list of up to 64 numbers"),
                (["--slots", "10,x"], "the slots are not a list of up to 64 numbers"),
                (["--slots", "0"], "there may be 2 or more on a level"),
                (["--slots", "1"], "there may be 2 or more on a level"),
                (["--slots", "4294967296"], "the slots are not a list of up to 64 numbers"),
                (["--slots", ",".join(["2"] * 65)], "the slots are not a list of up to 64 numbers"),
                (["--structure", "hashed:10,10"], "there is one level, so one number of slots"),
                (["--structure", "hashed:16777217"], "there may be 1 to 16777216"),
                (["--slots", "4097"], "4097 slots are too many to draw: up to 4096"),
                (["--structure", "dials:10", "--slots", "10"], "--structure has slots already"),
        ]:
            with self.subTest(arguments=arguments):
                self.assert_usage_error("elapse show", "show", *arguments, says=[message])


if __name__ == "__main__":
    main()
