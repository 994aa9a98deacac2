#!/usr/bin/env python3
"""test_beanstalkd.py: tests the code of docs/guide/from_beanstalkd.md with a server of Debian's beanstalkd."""

import shutil
import signal
import subprocess
import time
import unittest

import recipe_case
from recipe_case import PATIENCE_S, Line, redis

PAGE = "docs/guide/from_beanstalkd.md"
if shutil.which("beanstalkd") is None:
    recipe_case.skip("beanstalkd is not installed (beanstalkd)")

READY, MONTH_S = 0, 30 * 24 * 3600


def jobs_of(count):
    """Bodies with their delays: one after the other is ready, or due in a month."""
    bodies = recipe_case.HOSTILE + [recipe_case.LONG + b" %d" % number for number in range(count)]
    return {body: (READY, MONTH_S, MONTH_S + i)[i % 3] for i, body in enumerate(bodies[:count])}


class BeanstalkdTest(recipe_case.RecipeTest):
    tube = "mails"

    def setUp(self):
        super().setUp()
        self.began = {}
        self.new_line = self.line(lambda: self.elapse.connect())
        self.page = recipe_case.program_of(PAGE)
        self.begin("first")

    def begin(self, server):
        """Begins an old server of this name. What is put and moved from now on is of this one."""
        self.server = server
        path = f"{self.scratch}/beanstalkd-{server}"
        self.process = subprocess.Popen(["beanstalkd", "-l", "unix:" + path])
        self.addCleanup(lambda process=self.process: (process.kill(), process.wait()))
        recipe_case.wait_for_socket(path, self.process)
        self.old_line = self.line(lambda: recipe_case.unix_socket(path))
        self.old = self.connect()
        self.addCleanup(lambda old=self.old: old.file.close())

    def connect(self):
        return self.page["Beanstalkd"]("127.0.0.1", self.old_line.port)

    def put(self, body, delay=0, priority=1024, ttr=60):
        reply, _ = self.old.ask(b"put %d %d %d %d\r\n%s" % (priority, delay, ttr, len(body), body))
        return reply

    def fill(self, jobs):
        self.old.ask(b"use " + self.tube.encode())
        for body, delay in jobs.items():
            self.began[body] = time.time()
            self.assertEqual(self.put(body, delay)[0], b"INSERTED")

    def move(self):
        old = self.connect()
        with redis.Redis(port=self.new_line.port, socket_timeout=PATIENCE_S) as new:
            try:
                self.page["move"](old, new, self.tube.encode(), self.server.encode())
            finally:
                old.file.close()

    def left(self):
        """How many jobs the old server has, as its statistics say."""
        old = self.connect()
        lines = old.ask(b"stats")[1].decode().splitlines()
        old.file.close()
        stats = dict(line.split(": ", 1) for line in lines if ": " in line)
        return sum(int(stats[f"current-jobs-{state}"])
                   for state in ("urgent", "ready", "reserved", "delayed", "buried"))

    def check_moved(self, jobs):
        """All that were ready are done, once each. The others wait, once each, no shorter than they
        did there, and no more than a second longer."""
        self.assertEqual(self.left(), 0)
        self.work()
        self.assertEqual(self.done, {body: 1 for body, delay in jobs.items() if delay == READY})
        latest = time.time()
        found = self.waiting()
        self.assertEqual(len(found), len(dict(found)))
        self.assertEqual(set(dict(found)), {body for body, delay in jobs.items() if delay != READY})
        for body, due in found:
            self.assertGreaterEqual(due / 1000 - jobs[body] + 0.005, self.began[body])
            self.assertLessEqual(due / 1000 - jobs[body] - 1.005, latest)

    def check_breaks(self, count, line, direction, step):
        self.tube = f"after {self.tube}".replace(" ", "-")
        self.done.clear()
        jobs = jobs_of(count)
        self.old = self.connect()
        self.fill(jobs)
        self.old.file.close()
        self.assertGreater(self.move_over_breaks(self.move, line, direction, step), 3)
        self.check_moved(jobs)


class Moves(BeanstalkdTest):
    def test_hostile_bodies_arrive(self):
        jobs = jobs_of(100)
        self.fill(jobs)
        self.move()
        self.check_moved(jobs)

    def test_priorities_and_times_to_run_are_kept(self):
        self.fill({})
        for body, priority, ttr in ((b"late", 4294967295, 0), (b"soon", 0, 4294967295),
                                    (b"later", 4294967295, 7)):
            self.put(body, priority=priority, ttr=ttr)
        self.move()
        with self.elapse.client() as client:
            jobs = client.execute_command("RESERVE", self.tube, "COUNT", 10)
            self.assertEqual([job[4] for job in jobs], [b"soon", b"late", b"later"])
            times = []
            for job in jobs:
                fields = client.execute_command("LOOKUPID", job[0])
                times.append(dict(zip(fields[::2], fields[1::2]))[b"ttr"])
            self.assertEqual(times, [4294967295000, 1000, 7000])

    def test_buried_jobs_are_ready(self):
        self.fill({b"a": READY, b"b": READY})
        for _ in range(2):
            number = self.old.ask(b"peek-ready")[0][1]
            self.old.ask(b"watch " + self.tube.encode())
            reply, _ = self.old.ask(b"reserve-job " + number)
            self.assertEqual(reply[0], b"RESERVED")
            self.old.read(int(reply[-1]) + 2)
            self.assertEqual(self.old.ask(b"bury " + number + b" 0")[0], [b"BURIED"])
        self.move()
        self.check_moved({b"a": READY, b"b": READY})

    def test_equal_bodies_are_jobs_of_their_own(self):
        self.fill({})
        for _ in range(3):
            self.put(b"the same")
        self.move()
        self.work()
        self.assertEqual(self.done, {b"the same": 3})

    def test_two_servers_and_two_tubes_have_equal_ids_and_bodies(self):
        for server in ("first", "second", "third"):
            if server != "first":
                self.begin(server)
            self.tube = "others" if server == "third" else "mails"
            self.fill({b"tick": READY})
            self.move()
            self.assertEqual(self.left(), 0)
        with self.elapse.client() as client:
            for tube, count in (("mails", 2), ("others", 1)):
                jobs = client.execute_command("RESERVE", tube, "COUNT", 10)
                self.assertEqual([job[4] for job in jobs], [b"tick"] * count)

    def test_lines_that_break_neither_lose_nor_double(self):
        self.check_breaks(60, self.new_line, Line.DOWN, 80)
        self.check_breaks(60, self.old_line, Line.DOWN, 15000)

    def test_what_is_refused_stays(self):
        self.fill({b"short": READY, b"l" * 65535: READY})
        self.elapse.kill()
        self.elapse.start("--max-body", "65534")
        self.assertRaises(redis.ResponseError, self.move)
        self.assertEqual(self.left(), 1)
        self.elapse.kill()
        self.elapse.start()
        self.move()
        self.work()
        self.assertEqual(self.done, {b"short": 1, b"l" * 65535: 1})

    def test_a_server_that_is_emptied_refuses_jobs_and_says_when_none_is_left(self):
        self.fill({b"a": READY, b"b": READY})
        self.process.send_signal(signal.SIGUSR1)
        recipe_case.wait_until(lambda: self.put(b"c")[0] == b"DRAINING")
        self.assertEqual(self.left(), 2)
        while (found := self.old.ask(b"peek-ready"))[1] is not None:
            self.old.ask(b"delete " + found[0][1])
        self.assertEqual(self.left(), 0)


class Breaks(BeanstalkdTest):
    """The same with more jobs, and many breaks."""

    def test_lines_that_break_neither_lose_nor_double(self):
        self.check_breaks(300, self.new_line, Line.UP, 12000)
        self.check_breaks(300, self.new_line, Line.DOWN, 300)
        self.check_breaks(300, self.old_line, Line.UP, 800)
        self.check_breaks(300, self.old_line, Line.DOWN, 20000)

    def test_a_server_that_is_killed_neither_loses_nor_doubles(self):
        self.new_line = self.line(lambda: self.elapse.connect(), lambda: self.elapse.kill())
        self.check_breaks(300, self.new_line, Line.UP, 20000)
        self.check_breaks(300, self.new_line, Line.DOWN, 500)


if __name__ == "__main__":
    unittest.main(verbosity=2, warnings="ignore")
