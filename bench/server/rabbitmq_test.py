#!/usr/bin/env python3
"""RabbitMQ, with few jobs: rabbitmq_test.py DIRECTORY-OF-LOADS"""

import peer_test
import peers
import rabbitmq
import server

JOBS = 300


class RabbitMQTest(peer_test.PeerTest):

    def test_puts(self):
        figures = self.run_load("put", count=JOBS, window=64)
        self.assertEqual(figures["count"], JOBS)
        self.check_times(figures)

    def test_puts_for_a_time_from_many_connections(self):
        figures = self.run_load("put", seconds=0.2, connections=20, window=1)
        self.assertGreaterEqual(figures["count"], 20)
        self.check_times(figures)

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
        self.assertGreater(self.server.disk_bytes(), 1 << 10)
        self.assertRegex(self.server.versions(), r"RabbitMQ \d")

    @classmethod
    def tearDownClass(cls):
        """No process is left."""
        processes = cls.server.processes()
        super().tearDownClass()
        left = [process for process in processes if peers.is_running(process)]
        if left:
            raise AssertionError(f"left behind: {left}")


if __name__ == "__main__":
    peer_test.main([rabbitmq.RabbitMQ], RabbitMQTest)
