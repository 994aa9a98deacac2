#!/usr/bin/env python3
"""The contenders of PostgreSQL, with few jobs: postgres_test.py DIRECTORY-OF-LOADS"""

import os

import peer_test
import peers
import postgres
import server

JOBS = 300


class PostgresTest(peer_test.PeerTest):

    def test_0_put_and_delete(self):
        """The first of all, on a new server: its jobs have the first numbers."""
        figures = self.run_load("put", count=JOBS, window=64)
        self.assertEqual(figures["count"], JOBS)
        self.check_times(figures)
        self.assertEqual(self.run_load("delete", count=JOBS, window=64)["count"], JOBS)
        with self.assertRaisesRegex(server.Failure, "0 rows were affected"):
            self.server.run("delete", count=JOBS, window=64)

    def test_puts_for_a_time_from_many_connections(self):
        figures = self.run_load("put", seconds=0.2, connections=20, window=1)
        self.assertGreaterEqual(figures["count"], 20)
        self.check_times(figures)

    def test_cancels_and_moves_by_key_once(self):
        self.run_load("put-key", count=JOBS, window=100, first=1000)
        self.run_load("reschedule", count=JOBS, window=100, first=1000)
        figures = self.run_load("cancel", count=JOBS, window=100, connections=3, first=1000)
        self.assertEqual(figures["count"], JOBS)
        with self.assertRaisesRegex(server.Failure, "0 rows were affected"):
            self.server.run("cancel", count=JOBS, window=100, first=1000)

    def test_a_key_is_replaced(self):
        self.run_load("put-key", count=JOBS, window=100, first=5000)
        self.run_load("put-key", count=JOBS, window=100, first=5000)
        self.run_load("cancel", count=JOBS, window=100, first=5000)
        with self.assertRaises(server.Failure):
            self.server.run("reschedule", count=JOBS, window=100, first=5000)

    def test_story(self):
        figures = self.run_load("story", count=JOBS, share=90, window=100, first=10000)
        self.assertEqual(figures["count"], JOBS + JOBS * 90 // 100)
        self.assertIn("put_rate", figures)
        self.assertIn("cancel_rate", figures)

    def test_heartbeat(self):
        figures = self.run_load("heartbeat", count=50, seconds=0.2, window=20, connections=2,
                                first=20000)
        self.assertGreater(figures["count"], 0)
        self.run_load("cancel", count=50, window=20, first=20000)

    def test_churn(self):
        figures = self.run_load("churn", live=100, rate=1000, seconds=0.3, window=20, first=30000)
        self.assertLessEqual(figures["count"], 300)

    def test_hands_out_a_backlog_over_a_kill(self):
        self.run_load("put-now", count=JOBS, window=100)
        self.server.kill()
        self.assertGreater(self.server.restart(), 0)
        self.assertEqual(self.run_load("drain", count=JOBS, window=40, connections=3)["count"],
                         JOBS)
        self.run_load("put-now", count=1, window=1)
        with self.assertRaisesRegex(server.Failure, "handed out: 1, and not 2"):
            self.server.run("drain", count=2, window=1, seconds=0.3)

    def test_timers(self):
        figures = self.run_load("timers", rate=500, seconds=0.5, ahead_ms=300, connections=4)
        self.assertEqual((figures["early"], figures["missing"]), (0, 0))
        self.assertEqual(sum(count for _, count in figures["histogram"]), figures["count"])

    def test_memory_and_disk(self):
        self.assertGreater(self.server.resident_bytes(), 1 << 20)
        self.assertGreater(self.server.disk_bytes(), 1 << 20)
        self.assertIn("PostgreSQL 1", self.server.versions())

    @classmethod
    def tearDownClass(cls):
        """Nothing is left: no process, no shared memory."""
        processes, segment = cls.server.processes(), cls.server.shared_memory()
        super().tearDownClass()
        left = [process for process in processes if peers.is_running(process)]
        with open("/proc/sysvipc/shm", encoding="ascii") as file:
            shared = [line for line in file if line.split()[1] == str(segment)]
        if left or shared or os.path.exists(cls.directory):
            raise AssertionError(f"left behind: {left} {shared}")


if __name__ == "__main__":
    peer_test.main([postgres.Postgres1, postgres.Postgres100], PostgresTest)
