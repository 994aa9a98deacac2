#!/usr/bin/env python3
"""test_sql.py: tests the code of docs/guide/from_sql.md with a table in a server of PostgreSQL."""

import sys
import unittest

import recipe_case
from recipe_case import PATIENCE_S, Line, redis

sys.path.insert(0, str(recipe_case.ROOT / "tests/cluster/inbox"))

from postgres_server import PostgresServer, psycopg2  # noqa: E402 - ends with 77 without PostgreSQL

PAGE = "docs/guide/from_sql.md"


class SqlTest(recipe_case.RecipeTest):
    @classmethod
    def setUpClass(cls):
        cls.postgres = PostgresServer()
        cls.addClassCleanup(cls.postgres.stop)

    def setUp(self):
        super().setUp()
        self.database = self.postgres.connect("postgres")
        self.addCleanup(self.database.close)
        self.sql = self.database.cursor()
        self.sql.execute("drop table if exists jobs")
        self.sql.execute(recipe_case.blocks(PAGE, "sql"))
        path = self.postgres.directory + "/.s.PGSQL.5432"
        self.old_line = self.line(lambda: recipe_case.unix_socket(path))
        self.new_line = self.line(lambda: self.elapse.connect())
        self.page = recipe_case.program_of(PAGE)

    def fill(self, jobs):
        self.sql.execute("alter sequence jobs_id_seq restart")
        self.sql.executemany("insert into jobs(due, body) values (to_timestamp(%s), %s)",
                             [(due, body) for body, due in jobs.items()])

    def move(self):
        with redis.Redis(port=self.new_line.port, socket_timeout=PATIENCE_S) as new:
            database = psycopg2.connect(host="127.0.0.1", port=self.old_line.port, user="admin",
                                        dbname="postgres", sslmode="disable", gssencmode="disable")
            try:
                self.page["move_rows"](database, new)
            finally:
                database.close()

    def rows_left(self):
        self.sql.execute("select body from jobs")
        return {bytes(body) for body, in self.sql.fetchall()}

    def check_moved(self, jobs):
        self.assertEqual(self.rows_left(), set())
        super().check_moved(jobs)

    def check_breaks(self, count, line, direction, step):
        self.elapse.forget()
        self.done.clear()
        jobs = recipe_case.many_jobs(count)
        self.fill(jobs)
        self.assertGreater(self.move_over_breaks(self.move, line, direction, step), 3)
        self.check_moved(jobs)


class Moves(SqlTest):
    def test_hostile_bodies_arrive(self):
        jobs = recipe_case.many_jobs(2 * recipe_case.BATCH + 1)
        self.fill(jobs)
        self.move()
        self.check_moved(jobs)

    def test_odd_moments_arrive(self):
        jobs = {b"a": float("-inf"), b"b": -1e9, b"c": 0.0, b"d": 1e-6, b"e": 1700000000.0004,
                b"f": 4102444800.0001, b"g": 9e12, b"h": float("inf")}
        self.fill(jobs)
        self.move()
        self.check_moved(jobs)

    def test_priorities_are_kept(self):
        self.sql.execute("insert into jobs(due, priority, body) values "
                         "('epoch', 7, 'late'), ('1990-01-01', 3, 'soon'), ('epoch', 7, 'later')")
        self.move()
        with self.elapse.client() as client:
            jobs = client.execute_command("RESERVE", self.tube, "COUNT", 10)
        self.assertEqual([job[4] for job in jobs], [b"soon", b"late", b"later"])

    def test_keys_and_tokens_of_others_take_no_row_for_theirs(self):
        with self.elapse.client() as client:
            client.execute_command("PUT", self.tube, "another", "KEY", 1, "TOKEN", 1)
            client.execute_command("PUT", "other", "another", "KEY", 2, "TOKEN", 2)
        self.fill({b"1": 4102444800, b"2": 4102444800})
        self.move()
        self.done.clear()
        self.work()
        self.assertEqual(self.done, {b"another": 1})
        self.assertEqual({body for body, _ in self.waiting()}, {b"1", b"2"})

    def test_lines_that_break_neither_lose_nor_double(self):
        self.check_breaks(100, self.new_line, Line.DOWN, 400)
        self.check_breaks(100, self.old_line, Line.UP, 700)

    def test_what_is_refused_stays(self):
        jobs = recipe_case.many_jobs(100)
        long = {b"l" * 65536: 5.0, b"l" * 100000: 4102444800}
        self.fill(jobs | long)
        for _ in range(2):
            self.assertRaises(redis.ResponseError, self.move)
            self.assertEqual(self.rows_left(), set(long))
        self.elapse.kill()
        self.elapse.start("--max-body", "1M")
        self.move()
        self.check_moved(jobs | long)


class Breaks(SqlTest):
    """The same with many jobs, and many breaks."""

    count = recipe_case.BATCH + 100

    def test_lines_that_break_neither_lose_nor_double(self):
        self.check_breaks(self.count, self.new_line, Line.UP, 45000)
        self.check_breaks(self.count, self.new_line, Line.DOWN, 3000)
        self.check_breaks(self.count, self.old_line, Line.UP, 7000)
        self.check_breaks(self.count, self.old_line, Line.DOWN, 35000)

    def test_a_server_that_is_killed_neither_loses_nor_doubles(self):
        killing = self.line(lambda: self.elapse.connect(), lambda: self.elapse.kill())
        self.new_line = killing
        self.check_breaks(self.count, killing, Line.UP, 55000)
        self.check_breaks(self.count, killing, Line.DOWN, 3000)


if __name__ == "__main__":
    unittest.main(verbosity=2, warnings="ignore")
