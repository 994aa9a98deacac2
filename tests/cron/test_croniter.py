"""Random expressions, compared with croniter (Debian: python3-croniter) in UTC.

    test_croniter.py [--cases COUNT] [--seed SEED]

compares COUNT moments. Where the dialects differ nothing is compared:

- seconds are the last field in croniter and the first here: the field is moved;
- when both day fields are given, croniter takes */2 for a restriction, and so either
  day will do; here, as in Vixie cron, a field that begins with * is none: */n in a day
  field is used only with * in the other;
- a day field that lists all days, 1-31 or 0-6, is no restriction in croniter: it is one
  here, as in Vixie cron; not used;
- a day of the week with a step and no end, 1/2, goes on to 7 in croniter, and to 6
  here; not used;
- the last Friday is L5 in croniter and 5L here: translated; croniter refuses days of
  the week with and without L or # in one list, and with a restricted day of the month it
  finds the wrong days: not used together;
- with seconds, croniter takes 7 in a list for a day that never comes: not used there;
- * in a list with other items, SUN-SUN, and a step that is greater than the field has
  values are not used; L-3, 15W, LW, ? and several blanks croniter does not know;
- looking for a day that the month does not have, croniter steps over the first days of
  the next month, and over L: 30 and 31 are not used with 1 or 2, nor 29 to 31 with L;
- what does not come within fifty years ends a search of croniter's: the expressions used
  have days that come more often.
"""

import argparse
import datetime
import random
import sys
import time
import unittest

import support

try:
    import croniter
except ImportError:
    croniter = None

FIRST_S = int(datetime.datetime(1971, 1, 1, tzinfo=datetime.timezone.utc).timestamp())
LAST_S = int(datetime.datetime(2199, 1, 1, tzinfo=datetime.timezone.utc).timestamp())
MONTHS = "JAN FEB MAR APR MAY JUN JUL AUG SEP OCT NOV DEC".split()
WEEKDAYS = "SUN MON TUE WED THU FRI SAT".split()
FIRES = 10  # moments for each expression

options = argparse.Namespace(cases=10000, seed=int(time.time()))


class Maker:
    """Makes expressions that mean the same in both dialects."""

    def __init__(self, seed):
        self.random = random.Random(seed)

    def one_in(self, count):
        return self.random.randrange(count) == 0

    def word(self, value, names, low):
        if names and self.one_in(3) and value - low < len(names):
            name = names[value - low]
            return self.random.choice([name, name.lower(), name.capitalize()])
        return str(value)

    def item(self, low, high, names=(), open_steps=True):
        first = self.random.randint(low, high)
        kind = self.random.choice(["value", "value", "range", "range/step", "value/step"])
        step = self.random.randint(1, max(1, (high - low) // 2))
        last = self.random.randint(first, high)
        start = self.word(first, names, low)
        if kind == "value" or first == last or (kind == "value/step" and not open_steps):
            return start
        if kind == "value/step":
            return f"{start}/{step}"
        end = self.word(last, names, low)
        return f"{start}-{end}" if kind == "range" else f"{start}-{end}/{step}"

    def field(self, low, high, star_in, names=(), open_steps=True):
        if self.one_in(star_in):
            return "*"
        if self.one_in(4):
            return f"*/{self.random.randint(1, high - low)}"
        count = self.random.choice([1, 1, 2, 3])
        return ",".join(self.item(low, high, names, open_steps) for _ in range(count))

    def day(self):
        items = [self.item(1, 31) for _ in range(self.random.choice([1, 1, 2]))]
        if self.one_in(4):
            items.append(self.random.choice("Ll"))
        return ",".join(items)

    def weekday(self, has_seconds):
        items = [self.item(0, 6, WEEKDAYS, open_steps=False)
                 for _ in range(self.random.choice([1, 1, 2]))]
        if not has_seconds and self.one_in(6):
            items.append("7")
        return ",".join(items)

    def numbered_weekday(self):
        """One or more of 5L and 5#2, here and in croniter's words."""
        ours, theirs = [], []
        for _ in range(self.random.choice([1, 1, 2])):
            weekday = self.random.randint(0, 6)
            if self.one_in(3):
                ours.append(f"{weekday}L")
                theirs.append(f"L{weekday}")
            else:
                item = f"{weekday}#{self.random.randint(1, 5)}"
                ours.append(item)
                theirs.append(item)
        return ",".join(ours), ",".join(theirs)

    def days(self, has_seconds):
        """The day of the month, the day of the week, and this in croniter's words."""
        kind = self.random.choice(["none", "day", "weekday", "both", "step", "numbered"])
        if kind == "numbered":
            return ("*", *self.numbered_weekday())
        day, weekday = "*", "*"
        if kind == "step":
            if self.one_in(2):
                day = f"*/{self.random.randint(2, 20)}"
            else:
                weekday = f"*/{self.random.randint(2, 6)}"
        if kind in ("day", "both"):
            day = self.day()
        if kind in ("weekday", "both"):
            weekday = self.weekday(has_seconds)
        return day, weekday, weekday

    def make(self):
        """An expression, and the same in croniter's words."""
        has_seconds = self.one_in(3)
        minute = self.field(0, 59, 4)
        hour = self.field(0, 23, 3)
        month = "*" if self.one_in(2) else self.field(1, 12, 3, MONTHS)
        day, weekday, their_weekday = self.days(has_seconds)
        ours = f"{minute} {hour} {day} {month} {weekday}"
        theirs = f"{minute} {hour} {day} {month} {their_weekday}"
        if has_seconds:
            second = self.field(0, 59, 4)
            return f"{second} {ours}", f"{theirs} {second}"
        return ours, theirs


def differs(expression):
    """Whether croniter takes a list of days for *, or loses its way in a short month."""
    words = expression.split()
    expanded, _ = croniter.croniter.expand(expression)
    if any(words[field][0] != "*" and expanded[field][0] == "*" for field in (2, 4)):
        return True
    numbers = [day for day in expanded[2] if isinstance(day, int)]
    if not numbers:
        return False
    return max(numbers) >= (29 if "l" in expanded[2] else 30 if min(numbers) <= 2 else 32)


@unittest.skipUnless(croniter, "there is no croniter (Debian: python3-croniter)")
class Croniter(unittest.TestCase):
    maxDiff = None

    def test_same_moments(self):
        print(f"again: --cases {options.cases} --seed {options.seed}", flush=True)
        maker = Maker(options.seed)
        asked, wanted, compared = [], [], 0
        while compared < options.cases:
            ours, theirs = maker.make()
            after_s = maker.random.randint(FIRST_S, LAST_S)
            if differs(theirs):
                continue
            try:
                other = croniter.croniter(theirs, float(after_s))
                moments = [int(other.get_next(float)) for _ in range(FIRES)]
            except croniter.CroniterBadDateError:
                # Never, or not in fifty years.
                continue
            asked.append((after_s, FIRES, ours))
            wanted.append(moments)
            compared += FIRES
        answers = support.ask(asked)
        for question, answer, moments in zip(asked, answers, wanted, strict=True):
            self.assertEqual(answer, moments, question)
        print(f"{len(asked)} expressions, {compared} moments", flush=True)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--cases", type=int, default=options.cases)
    parser.add_argument("--seed", type=int, default=options.seed)
    known, sys.argv[1:] = parser.parse_known_args()
    vars(options).update(vars(known))
    support.main()


if __name__ == "__main__":
    main()
