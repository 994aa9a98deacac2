"""Tests elapse cron, which checks an expression and lists its next times. Also tests cron[ZONE] in elapse
run."""

import datetime
import json
import os
import subprocess
import time
import unittest
import zoneinfo
from pathlib import Path

import support
from support import STATUS_USAGE

HAS_ZONES = Path("/usr/share/zoneinfo/Europe/Berlin").is_file()


class Cron(support.ProgramTest):
    def next(self, *arguments, **options):
        """The moments that are listed, which are checked against their weekdays."""
        moments = []
        for line in self.succeed("cron", *arguments, **options).splitlines():
            moment, weekday = line.split(" ")
            moments.append(datetime.datetime.fromisoformat(moment))
            self.assertEqual(moments[-1].strftime("%a"), weekday)
        return moments

    def test_the_next_five(self):
        begun = datetime.datetime.now(datetime.timezone.utc)
        moments = self.next("30 22-2 * * *", "--zone", "UTC")
        self.assertEqual(len(moments), 5)
        self.assertEqual({moment.hour for moment in moments}, {22, 23, 0, 1, 2})
        self.assertEqual({moment.minute for moment in moments}, {30})
        self.assertGreaterEqual(moments[0], begun)
        self.assertEqual(moments, sorted(moments))

    def test_as_many_as_asked_for(self):
        for count in (0, 1, 1000):
            self.assertEqual(len(self.next("* * * * *", "--next", str(count))), count)

    @unittest.skipUnless(HAS_ZONES, "no zones are installed")
    def test_a_zone(self):
        for zone in ("Europe/Berlin", "Asia/Kolkata", "America/St_Johns"):
            for moment in self.next("0 6 1 * *", "--zone", zone, "--next", "30"):
                local = moment.astimezone(zoneinfo.ZoneInfo(zone))
                self.assertEqual((local.hour, local.day), (6, 1))
                self.assertEqual(local.utcoffset(), moment.utcoffset())

    def test_local_time(self):
        environment = {**os.environ, "TZ": "ABC-5:30"}
        (moment,) = self.next("0 12 * * *", "--next", "1", env=environment)
        self.assertEqual((moment.hour, moment.utcoffset()),
                         (12, datetime.timedelta(hours=5, minutes=30)))

    def test_a_duration(self):
        before = int(time.time())
        first, second = self.next("@every 1h30m", "--next", "2")
        self.assertEqual(second - first, datetime.timedelta(minutes=90))
        self.assertLessEqual(before + 5400, first.timestamp())
        self.assertLessEqual(first.timestamp(), time.time() + 5400 + 1)  # in whole seconds

    def test_a_wrong_expression(self):
        outcome = self.run_program("cron", "* * 30 2 *")
        self.assertEqual((outcome.status, outcome.output, outcome.errors),
                         (STATUS_USAGE, "", "elapse cron: the cron expression '* * 30 2 *': at "
                                            "character 5: this day never comes\n"))

    def test_wrong_options(self):
        for arguments, words in (((), "an expression is missing"),
                                 (("*", "*"), "in quotes"),
                                 (("* * * * *", "--next", "-1"), "'-1'"),
                                 (("* * * * *", "--zone", "Nowhere"), "no time zone 'Nowhere'"),
                                 (("* * * * *", "--zone", "../x"), "no time zone '../x'")):
            self.assert_usage_error("elapse cron", "cron", *arguments, says=(words,))

    def test_a_zone_in_tz_that_is_none(self):
        for zone in ("Nowhere/Land", "CET-1CEST,M3.5.0", "x", ":Nowhere", "/etc/passwd"):
            environment = {**os.environ, "TZ": zone}
            for command, stdin in (("cron", ""), ("run", "in 1ms k\n")):
                arguments = ("* * * * *",) if command == "cron" else ()
                outcome = self.run_program(command, *arguments, stdin=stdin, env=environment)
                self.assertEqual((outcome.status, outcome.output, outcome.errors),
                                 (STATUS_USAGE, "", f"elapse {command}: TZ: there is no time zone "
                                                    f"'{zone}'\n"))

    def test_a_zone_in_tz_that_is_one(self):
        zones = ["", "UTC", "UTC0", "CET-1CEST,M3.5.0,M10.5.0/3", "<+03>-3", "EST5EDT"]
        if HAS_ZONES:
            zones += ["Europe/Berlin", ":Europe/Berlin", "/usr/share/zoneinfo/Europe/Berlin"]
        for zone in zones:
            self.assertEqual(len(self.next("* * * * *", env={**os.environ, "TZ": zone})), 5, zone)
        self.succeed("run", "--utc", env={**os.environ, "TZ": "Nowhere/Land"})


class Run(support.ProgramTest):
    @unittest.skipUnless(HAS_ZONES, "no zones are installed")
    def test_a_zone_of_a_line(self):
        """Of two zones, the one in which it is this hour fires."""
        now = datetime.datetime.now(datetime.timezone.utc)
        hours = ",".join(str((now + datetime.timedelta(minutes=minutes)).hour)
                         for minutes in (0, 30))
        program = subprocess.Popen([support.PROGRAM, "run"], stdin=subprocess.PIPE,
                                   stdout=subprocess.PIPE, env={**os.environ, "TZ": "ABC-12"})
        lines = (f'cron[Asia/Tokyo] "* * {hours} * * *" tokyo\n'
                 f'cron[UTC] "* * {hours} * * *" utc\n'
                 "in 1500ms end\n")
        with program:
            program.stdin.write(lines.encode())
            program.stdin.flush()
            keys = []
            while "end" not in keys:
                keys.append(json.loads(program.stdout.readline())["key"])
            program.kill()
        self.assertIn("utc", keys)
        self.assertNotIn("tokyo", keys)

    def test_bad_zones(self):
        for line, words in (('cron[Nowhere] "* * * * *" k', "there is no time zone 'Nowhere'"),
                            ('cron[] "* * * * *" k', "there is no time zone ''"),
                            ('cron[../../etc/passwd] "* * * * *" k', "there is no time zone"),
                            ('cron[UTC "* * * * *" k', "lacks its closing bracket"),
                            ('cron[' + "x" * 500 + '] "* * * * *" k', "there is no time zone"),
                            ('cron[UTC] * k', "between double quotes")):
            outcome = self.run_program("run", stdin=line + "\n")
            self.assertIn(words, outcome.errors)


if __name__ == "__main__":
    support.main()
