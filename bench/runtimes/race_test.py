#!/usr/bin/env python3
"""race_test.py PROGRAMS: what the race does with wrong arguments, and with contenders that fail,
cannot, or differ; and whether the programs in C that lie in PROGRAMS keep to the protocol."""

import csv
import os
import stat
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
PROGRAMS = ""

# The figures that a contender made for the test prints, unless a test gives it others.
FIGURES = {
    "S1": {"schedule_ns": 100, "cascaded_ns": 100},
    "S2": {"cancel_ns": 50, "cascaded_ns": 50, "unlinks": 1},
    "S3": {"cpu_s": 1, "completion_s": 1, "fired": 1000, "early": 0, "earliest_ms": 0.1,
           "p50_ms": 0.5, "p90_ms": 0.9, "p99_ms": 1, "p999_ms": 1, "latest_ms": 2},
    "S4": {"cpu_s": 0.0001, "switches": 1},
    "S5": {"task_bytes": 64, "resident_bytes": 64},
    "S6": {"reschedule_ns": 80, "resets": 1},
}


def run(command, **options):
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


def make_contender(build, name, script):
    """A program that appends its name to a file and then does what the script says."""
    os.makedirs(os.path.join(build, "programs"), exist_ok=True)
    path = os.path.join(build, "programs", name)
    with open(path, "w", encoding="utf-8") as file:
        file.write(f"#!/bin/sh\necho {name} >>'{build}/turns'\n{script}\n")
    os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)


def printing(workload, **changed):
    figures = {**FIGURES[workload], **changed}
    lines = [f"printf '{metric}\\t{value}\\n'" for metric, value in figures.items()]
    # The last argument of S3 is where the histogram goes.
    if workload == "S3":
        lines.append('for path; do :; done; echo "100,1000" >"$path"')
    return "\n".join(lines)


def race(build, *arguments):
    return run([sys.executable, "-B", os.path.join(HERE, "race.py"), "--build", build,
                "--timers", "1k", "--rounds", "1", *arguments])


class WrongArguments(unittest.TestCase):
    def refused(self, command):
        done = run(command)
        self.assertEqual((done.returncode, done.stdout), (2, ""), command)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)

    def test_driver(self):
        for arguments in (["--timers", "1x"], ["--timers", "0"], ["--timers", "51M"],
                          ["--seconds", "nan"], ["--seconds", "0"], ["--rounds", "-1"],
                          ["--repetitions", "1.5"], ["--workloads", "S7"], ["--workloads", ""],
                          ["--contenders", "libev"], ["--contenders", "elapse,"], ["--timer", "1k"],
                          ["--csv"], ["--csv", "/no/such/folder/file"], ["more"]):
            self.refused([sys.executable, "-B", os.path.join(HERE, "race.py"), *arguments])

    def test_programs(self):
        for name in os.listdir(PROGRAMS):
            program = os.path.join(PROGRAMS, name)
            for arguments in ([], ["--workload"], ["--workload", "S7"], ["--workload", "S1 "],
                              ["--workload", "S1", "--timers", "0"],
                              ["--workload", "S1", "--timers", "1k"],
                              ["--workload", "S1", "--timers", "50000001"],
                              ["--workload", "S1", "--seconds", "1001"],
                              ["--workload", "S1", "--threads", "65"],
                              ["--workload", "S1", "--threads", "2", "--timers", "1"],
                              ["--workload", "S1", "--more", "1"]):
                self.refused([program, *arguments])


class Programs(unittest.TestCase):
    """What the protocol says of a histogram: ascending lower bounds, all timers in it."""

    def test_histogram(self):
        for name in os.listdir(PROGRAMS):
            with self.subTest(name), tempfile.NamedTemporaryFile() as file:
                done = run([os.path.join(PROGRAMS, name), "--workload", "S3", "--timers", "2000",
                            "--seconds", "0.1", "--lateness", file.name])
                self.assertEqual((done.returncode, done.stderr), (0, ""))
                figures = dict(line.split("\t") for line in done.stdout.splitlines())
                rows = [tuple(map(int, row)) for row in csv.reader(file.read().decode().split())]
                bounds = [bound for bound, _ in rows]
                self.assertEqual(bounds, sorted(set(bounds)))
                self.assertEqual(sum(count for _, count in rows), 2000)
                self.assertEqual(float(figures["fired"]), 2000)
                for bound in bounds:
                    width = max(1, 1 << max(0, abs(bound).bit_length() - 5))
                    self.assertEqual(bound % width, 0, "is no bound of a bucket")
                early = sum(count for bound, count in rows if bound < 0)
                self.assertEqual(early, float(figures["early"]))
                latest_us = float(figures["latest_ms"]) * 1000
                self.assertLessEqual(bounds[-1], latest_us)
                self.assertLess(latest_us, bounds[-1] + max(1, abs(bounds[-1]) / 16) + 1)

    def test_rounds(self):
        for name in os.listdir(PROGRAMS):
            done = run([os.path.join(PROGRAMS, name), "--workload", "S2", "--timers", "100",
                        "--rounds", "3"])
            self.assertEqual(done.stdout.count("cancel_ns\t"), 3, name)


class Race(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.build = folder.name

    def race(self, workload, *arguments, names="elapse,libuv"):
        return race(self.build, "--workloads", workload, "--contenders", names, *arguments)

    def test_contenders_take_turns(self):
        for name in ("elapse", "libuv"):
            make_contender(self.build, name, printing("S6"))
        self.assertEqual(self.race("S6", "--repetitions", "3").returncode, 0)
        with open(os.path.join(self.build, "turns"), encoding="utf-8") as file:
            self.assertEqual(file.read().split(),
                             ["elapse", "libuv", "libuv", "elapse", "elapse", "libuv"])

    def test_a_failure_is_reported_and_gives_status_1(self):
        make_contender(self.build, "elapse", printing("S6"))
        for script in ("echo 'count is wrong' >&2; exit 1", "echo nonsense",
                       "printf 'other\\t1\\n'"):
            make_contender(self.build, "libuv", script)
            done = self.race("S6")
            self.assertEqual(done.returncode, 1, script)
            self.assertRegex(done.stdout, r"libuv +FAILED")

    def test_one_failed_process_hides_the_figures_of_the_others(self):
        make_contender(self.build, "elapse", printing("S6"))
        make_contender(self.build, "libuv", f"test $(grep -c libuv '{self.build}/turns') = 1 ||"
                       f" exit 1\n{printing('S6')}")
        done = self.race("S6", "--repetitions", "2")
        self.assertEqual(done.returncode, 1)
        self.assertRegex(done.stdout, r"libuv +FAILED")
        self.assertNotIn("Elapse's aims", done.stdout)

    def test_what_cannot_be_done_is_no_failure(self):
        make_contender(self.build, "elapse", printing("S1"))
        make_contender(self.build, "libuv", "echo 'libuv: one thread only' >&2; exit 3")
        done = self.race("S1")
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stdout, r"libuv +cannot +one thread only")

    def test_a_missing_contender_is_named(self):
        make_contender(self.build, "elapse", printing("S6"))
        done = self.race("S6")
        self.assertEqual(done.returncode, 0)
        self.assertRegex(done.stdout, r"libuv +left out: ")

    def test_differing_semantics_are_noted(self):
        for workload, changed, note in (("S2", {"unlinks": 0}, "only marks"),
                                        ("S3", {"early": 3, "earliest_ms": -0.7}, "FIRES EARLY: 3"),
                                        ("S6", {"resets": 0}, "no call for it")):
            make_contender(self.build, "elapse", printing(workload))
            make_contender(self.build, "libuv", printing(workload, **changed))
            path = os.path.join(self.build, "figures.csv")
            done = self.race(workload, "--csv", path)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertRegex(done.stdout, rf"libuv .*{note}")
            with open(path, encoding="utf-8", newline="") as file:
                rows = [row for row in csv.DictReader(file) if row["contender"] == "libuv"]
            self.assertTrue(rows and all(note in row["note"] for row in rows))

    def test_aims_are_met_or_missed(self):
        for workload, own, other, line in (
                ("S6", {"reschedule_ns": 80}, {"reschedule_ns": 80.1}, r"S6 .* met"),
                ("S6", {"reschedule_ns": 100}, {"reschedule_ns": 80},
                 r"S6 .* MISSED by 20.0 ns, 25%"),
                ("S3", {"early": 2, "earliest_ms": -1}, {}, r"S3 +early .* MISSED by 2"),
                ("S3", {"cpu_s": 2}, {}, r"S3 +cpu .* MISSED by 1.00 s"),
                ("S2", {"cancel_ns": 60}, {}, r"S2 .* MISSED by 10.0 ns")):
            make_contender(self.build, "elapse", printing(workload, **own))
            make_contender(self.build, "libuv", printing(workload, **other))
            self.assertRegex(self.race(workload).stdout.split("Elapse's aims")[1], line)

    def test_peers_that_only_mark_are_not_aimed_at(self):
        make_contender(self.build, "elapse", printing("S2"))
        make_contender(self.build, "libuv", printing("S2", cancel_ns=1, unlinks=0))
        make_contender(self.build, "libevent", printing("S2", cancel_ns=70))
        done = self.race("S2", names="elapse,libuv,libevent")
        self.assertRegex(done.stdout, r"S2 .*: 70.0, libevent .* met")

    def test_idling_may_cost_5_ms(self):
        make_contender(self.build, "libuv", printing("S4"))
        for cpu_s, outcome in ((0.005, "met"), (0.0051, "MISSED")):
            make_contender(self.build, "elapse", printing("S4", cpu_s=cpu_s))
            self.assertRegex(self.race("S4").stdout, rf"S4 .* {outcome}")


if __name__ == "__main__":
    PROGRAMS = sys.argv.pop(1)
    unittest.main()
