#!/usr/bin/env python3
"""test_redis.py: tests the code of docs/guide/from_redis.md with a server of Redis."""

import shutil
import subprocess
import unittest

import recipe_case
from recipe_case import PATIENCE_S, Line, redis

PAGE = "docs/guide/from_redis.md"
if shutil.which("redis-server") is None:
    recipe_case.skip("Redis is not installed (redis-server)")


class RedisTest(recipe_case.RecipeTest):
    tube = "reminders"

    def setUp(self):
        super().setUp()
        path = self.scratch + "/redis"
        server = subprocess.Popen(["redis-server", "--port", "0", "--unixsocket", path, "--save", ""],
                                  cwd=self.scratch, stdout=subprocess.DEVNULL)
        self.addCleanup(lambda: (server.kill(), server.wait()))
        recipe_case.wait_for_socket(path, server)
        self.redis = redis.Redis(unix_socket_path=path)
        self.addCleanup(self.redis.close)
        self.old_line = self.line(lambda: recipe_case.unix_socket(path))
        self.new_line = self.line(lambda: self.elapse.connect())
        self.page = recipe_case.program_of(PAGE)

    def fill(self, jobs):
        self.redis.zadd(self.tube, jobs)

    def move(self):
        with redis.Redis(port=self.old_line.port, socket_timeout=PATIENCE_S) as old, \
                redis.Redis(port=self.new_line.port, socket_timeout=PATIENCE_S) as new:
            self.page["move"](old, new, self.tube)

    def check_moved(self, jobs):
        self.assertEqual(self.redis.exists(self.tube), 0)
        super().check_moved(jobs)

    def check_breaks(self, count, name, line, direction, step):
        self.tube = name
        self.done.clear()
        jobs = recipe_case.many_jobs(count)
        self.fill(jobs)
        self.assertGreater(self.move_over_breaks(self.move, line, direction, step), 3)
        self.check_moved(jobs)


class Moves(RedisTest):
    def test_hostile_members_arrive(self):
        jobs = recipe_case.many_jobs(2 * recipe_case.BATCH + 1)
        self.fill(jobs)
        self.move()
        self.check_moved(jobs)

    def test_members_that_begin_alike_are_jobs_of_their_own(self):
        jobs = {recipe_case.LONG + b"%d" % number: 5.0 for number in range(100)}
        self.fill(jobs)
        self.move()
        self.check_moved(jobs)

    def test_odd_scores_arrive(self):
        jobs = {b"a": float("-inf"), b"b": -1.5, b"c": 0.0, b"d": 1e-9, b"e": 1700000000.0004,
                b"f": 4102444800.0001, b"g": 1e300, b"h": float("inf")}
        self.fill(jobs)
        self.move()
        self.check_moved(jobs)

    def test_due_jobs_come_in_the_order_of_their_scores(self):
        self.fill({b"%d" % number: 1e9 - number for number in range(100)})
        self.move()
        with self.elapse.client() as client:
            jobs = client.execute_command("RESERVE", self.tube, "COUNT", 100)
        self.assertEqual([int(job[4]) for job in jobs], list(range(99, -1, -1)))

    def test_a_job_that_was_moved_is_cancelled_by_its_key(self):
        self.fill({recipe_case.LONG: 4102444800})
        self.move()
        with self.elapse.client() as client:
            key = self.page["key_of"](recipe_case.LONG)
            self.assertEqual(client.execute_command("CANCEL", self.tube, key), [b"removed"])

    def test_lines_that_break_neither_lose_nor_double(self):
        self.check_breaks(100, "put", self.new_line, Line.DOWN, 400)
        self.check_breaks(100, "removed", self.old_line, Line.DOWN, 20000)

    def test_what_is_refused_stays(self):
        jobs = recipe_case.many_jobs(100)
        long = {b"l" * 65536: 5.0, b"l" * 100000: 4102444800}
        self.fill(jobs | long)
        for _ in range(2):
            self.assertRaises(redis.ResponseError, self.move)
            self.assertEqual(set(self.redis.zrange(self.tube, 0, -1)), set(long))
        self.elapse.kill()
        self.elapse.start("--max-body", "1M")
        self.move()
        self.check_moved(jobs | long)

    def test_the_worker_of_the_page(self):
        self.fill({b"m%d" % number: 1700000000.5 + number for number in range(100)})
        self.move()
        work_once = recipe_case.program_of(PAGE, self.elapse.port)["work_once"]
        bodies = []

        def do(body):
            bodies.append(body)
            if body == b"m7" and bodies.count(body) == 1:
                raise ValueError

        while len(bodies) < 101:
            work_once(do)
        self.assertEqual(sorted(bodies), sorted([b"m%d" % i for i in range(100)] + [b"m7"]))
        self.assertEqual(bodies[:7], [b"m%d" % i for i in range(7)])


class Breaks(RedisTest):
    """The same with many jobs, and many breaks."""

    count = recipe_case.BATCH + 100

    def test_lines_that_break_neither_lose_nor_double(self):
        self.check_breaks(self.count, "new, up", self.new_line, Line.UP, 45000)
        self.check_breaks(self.count, "new, down", self.new_line, Line.DOWN, 3000)
        self.check_breaks(self.count, "old, up", self.old_line, Line.UP, 25000)
        self.check_breaks(self.count, "old, down", self.old_line, Line.DOWN, 35000)

    def test_a_server_that_is_killed_neither_loses_nor_doubles(self):
        self.new_line = self.line(lambda: self.elapse.connect(), lambda: self.elapse.kill())
        self.check_breaks(self.count, "killed, up", self.new_line, Line.UP, 55000)
        self.check_breaks(self.count, "killed, down", self.new_line, Line.DOWN, 3000)


if __name__ == "__main__":
    unittest.main(verbosity=2, warnings="ignore")
