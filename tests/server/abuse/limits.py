#!/usr/bin/env python3
"""Tests each limit of `elapse serve` at its edge: the last value that is accepted, and the first that is
not.

ELAPSE_PROGRAM names the program.
"""

import time
import unittest

import attacks
import harness
from attacks import command, connect, read_line, read_to_end
from serving import ReplyError


def put_line(connected, size, delay=0):
    connected.sendall(b"put 0 %d 60 %d\r\n%s\r\n" % (delay, size, b"x" * size))
    return read_line(connected).split()[0]


IDLE_S = 1.0


class Limits(unittest.TestCase):
    def serve(self, *options, durability="memory", **others):
        server = self.enterContext(harness.server("--durability", durability, *options, **others))
        self.native = self.enterContext(server.connect())
        self.classic = self.enterContext(connect(server.port))
        return server

    def refused(self, words, *arguments):
        answer = self.native.ask(*arguments)
        self.assertIsInstance(answer, ReplyError)
        self.assertIn(words, str(answer))

    def test_body(self):
        for options, most in ((), 65535), (("-z", "100"), 100), (("-z", "1M"), 1 << 20):
            with self.subTest(most=most):
                self.serve(*options)
                self.assertEqual(self.native.ask("PUT", "t", b"x" * most)[1], "scheduled")
                self.refused("long", "PUT", "t", b"x" * (most + 1))
                self.assertEqual(put_line(self.classic, most), b"INSERTED")
                self.assertEqual(put_line(self.classic, most + 1), b"JOB_TOO_BIG")
                self.assertEqual(put_line(self.classic, 1), b"INSERTED")
                self.assertEqual(self.native.ask("PING"), "PONG")

    def test_connections(self):
        server = self.serve("--max-connections", "5")
        self.assertEqual(self.native.ask("PING"), "PONG")
        more = [self.enterContext(connect(server.port)) for _ in range(3)]
        for one in more:
            self.assertTrue(attacks.is_open(one))
        with connect(server.port) as refused:
            self.assertEqual(read_to_end(refused), b"")
        more[0].close()
        # The server may hear of the end a moment later.
        for _ in range(1000):
            with connect(server.port) as one:
                try:
                    if attacks.is_open(one):
                        return
                except (AssertionError, ConnectionError):
                    time.sleep(0.01)
        self.fail("no connection is taken in place of one that has ended")

    def test_jobs(self):
        self.serve("--max-jobs", "3")
        for _ in range(3):
            self.assertEqual(self.native.ask("PUT", "t", "", "IN", "1h")[1], "scheduled")
        self.assertIsInstance(self.native.ask("PUT", "t", "", "IN", "1h"), ReplyError)
        self.assertEqual(put_line(self.classic, 1), b"OUT_OF_MEMORY")
        self.assertEqual(self.native.ask("CANCELID", 2), ["removed"])
        self.assertEqual(self.native.ask("PUT", "t", "", "IN", "1h")[1], "scheduled")

    def test_tubes(self):
        self.serve("--max-tubes", "3")
        self.classic.close()
        names = self.native.ask("TUBES")[1]
        for i in range(3 - len(names)):
            self.assertEqual(self.native.ask("PUT", f"t{i}", "", "IN", "1h")[1], "scheduled")
        self.assertIsInstance(self.native.ask("PUT", "more", "", "IN", "1h"), ReplyError)
        self.assertEqual(self.native.ask("PUT", "t0", "", "IN", "1h")[1], "scheduled")

    def test_tube_jobs(self):
        self.serve("--max-tube-jobs", "2")
        for _ in range(2):
            self.assertEqual(put_line(self.classic, 1), b"INSERTED")
        self.assertEqual(put_line(self.classic, 1), b"OUT_OF_MEMORY")
        self.assertIsInstance(self.native.ask("PUT", "default", ""), ReplyError)
        self.assertEqual(self.native.ask("PUT", "other", "")[1], "scheduled")
        self.assertEqual(self.native.ask("CANCELID", 1), ["removed"])
        self.assertEqual(self.native.ask("PUT", "default", "")[1], "scheduled")

    def test_tube_bytes(self):
        self.serve("--max-tube-bytes", "100")
        self.assertEqual(put_line(self.classic, 60), b"INSERTED")
        self.assertEqual(put_line(self.classic, 41), b"OUT_OF_MEMORY")
        self.assertEqual(put_line(self.classic, 40), b"INSERTED")
        self.assertEqual(put_line(self.classic, 1), b"OUT_OF_MEMORY")
        self.assertIsInstance(self.native.ask("PUT", "default", "x"), ReplyError)
        self.assertEqual(self.native.ask("PUT", "default", "")[1], "scheduled")

    def test_tube_name(self):
        self.serve()
        for size, good in (1, True), (200, True), (201, False), (0, False):
            name = b"t" * size
            with self.subTest(size=size):
                answer = self.native.ask("PUT", name, "", "IN", "1h")
                self.assertEqual(not isinstance(answer, ReplyError), good, answer)
                for verb, reply in (b"use", b"USING "), (b"watch", b"WATCHING "):
                    self.classic.sendall(verb + b" " + name + b"\r\n")
                    answer = read_line(self.classic)
                    self.assertEqual(answer.startswith(reply), good, answer)
                    self.assertTrue(good or answer == b"BAD_FORMAT")

    def test_key(self):
        self.serve()
        for option in "KEY", "TAG", "TOKEN":
            for size, good in (1, True), (250, True), (251, False), (0, False):
                with self.subTest(option=option, size=size):
                    answer = self.native.ask("PUT", "t", "", "IN", "1h", option, "k" * size)
                    self.assertEqual(not isinstance(answer, ReplyError), good, answer)

    def test_line(self):
        self.serve()
        # A line has up to 224 bytes with its end. Blanks before a number are skipped.
        fill = 224 - len(b"reserve-with-timeout 0\r\n")
        for more, reply in (0, b"TIMED_OUT"), (1, b"BAD_FORMAT"):
            self.classic.sendall(b"reserve-with-timeout " + b" " * (fill + more) + b"0\r\n")
            self.assertEqual(read_line(self.classic), reply)

    def test_arguments(self):
        server = self.serve()
        self.assertEqual(self.native.ask("CANCELID", *range(1, 2048)), ["gone"] * 2047)
        self.refused("too many arguments", "CANCELID", *range(1, 2049))
        for count, good in (1 << 20, True), ((1 << 20) + 1, False):
            with connect(server.port) as connected:
                connected.sendall(b"*%d\r\n" % count + b"$0\r\n\r\n" * (count if good else 0))
                expected = b"-ERR too many" if good else b"-ERR Protocol error"
                self.assertTrue(read_line(connected).startswith(expected))
                if good:
                    self.assertTrue(attacks.is_open_resp(connected))

    def test_bytes_of_arguments(self):
        self.serve("-z", "1000")
        # The longest argument is at least some kilobytes, so that all names fit.
        self.assertEqual(self.native.ask("PING"), "PONG")
        size, most = 1, 1 << 20
        while size < most:  # the longest that is taken
            half = (size + most + 1) // 2
            answer = self.native.ask("ECHO", "e" * half)
            size, most = (size, half - 1) if isinstance(answer, ReplyError) else (half, most)
        self.assertGreaterEqual(size, 1000)
        self.assertLess(size, 64 << 10)
        self.refused("too long", "ECHO", "e" * (size + 1))
        self.assertEqual(self.native.ask("PING"), "PONG")

    def test_bulk(self):
        server = self.serve()
        for size, words in (512 << 20, None), ((512 << 20) + 1, b"invalid bulk length"):
            with connect(server.port) as connected:
                connected.sendall(b"*1\r\n$%d\r\n" % size)
                if words is None:
                    self.assertFalse(attacks.select.select([connected], [], [], 0.1)[0])
                else:
                    self.assertIn(words, read_to_end(connected))

    def test_depth(self):
        server = self.serve()
        with connect(server.port) as connected:
            connected.sendall(b"*1\r\n*1\r\n$4\r\nPING\r\n")
            self.assertTrue(read_to_end(connected).startswith(b"-ERR Protocol error: expected '$'"))

    def test_output(self):
        """No command runs while so much output is unread; all run in the end. A reply that has no
        bytes yet counts by its memory: some 600 bytes."""
        server = self.serve("--max-output", "100K")
        self.assertEqual(self.native.ask("PUT", "t", b"x" * 65535, "KEY", "k")[1], "scheduled")
        count = 400
        with connect(server.port, 4096) as slow:
            slow.sendall(command("LOOKUP", "t", "k") * count + command("PUT", "late", ""))
            time.sleep(0.3)
            self.assertNotIn("late", self.native.ask("TUBES")[1])
            slow.setsockopt(attacks.socket.SOL_SOCKET, attacks.socket.SO_RCVBUF, 1 << 20)
            came = b""
            while not came.endswith(b"+scheduled\r\n"):
                piece = slow.recv(1 << 20)
                self.assertTrue(piece)
                came = came[-64:] + piece
        self.assertIn("late", self.native.ask("TUBES")[1])

    def begin(self, server, *steps):
        """A connection with these steps, each of which sends a command and reads a line of its reply. Begins again if
        the machine stood still for so long that the connection was idle meanwhile. Returns the connection, the lines,
        and when it began."""
        for tries in range(10):
            began, connected, lines = time.monotonic(), connect(server.port), []
            try:
                for step in steps:
                    connected.sendall(step)
                    lines.append(read_line(connected))
                self.addCleanup(connected.close)
                return connected, lines, began
            except (AssertionError, ConnectionError):
                connected.close()
                if time.monotonic() - began < IDLE_S - 0.1 or tries == 9:
                    raise

    def test_idle(self):
        server = self.serve("--idle", f"{IDLE_S:.0f}s")
        holds, lines, _ = self.begin(server, b"put 0 0 60 1\r\nx\r\n", b"reserve\r\n")
        self.assertTrue(lines[0].startswith(b"INSERTED"))
        self.assertTrue(lines[1].startswith(b"RESERVED"))
        waits, lines, _ = self.begin(server, b"watch w\r\nreserve\r\n")
        self.assertEqual(lines, [b"WATCHING 2"])
        idle, lines, begun = self.begin(server, b"use still\r\n")
        self.assertEqual(lines, [b"USING still"])
        self.assertEqual(read_to_end(idle), b"")
        self.assertGreater(time.monotonic() - begun, IDLE_S - 0.1)
        time.sleep(0.5)
        self.assertEqual(read_line(holds), b"x")
        self.assertTrue(attacks.is_open(holds))
        native, lines, _ = self.begin(server, command("PUT", "w", ""))
        self.assertEqual((lines, read_line(native)[:1], read_line(native)), ([b"*2"], b":", b"+scheduled"))
        self.assertTrue(read_line(waits).startswith(b"RESERVED"))

    @unittest.skipIf(harness.SANITIZED, "memory says nothing")
    def test_memory(self):
        """The process looks at its memory once a second. Files in memory count."""
        self.serve("--max-memory", "64M")
        put = 0
        body = b"m" * 60000
        while put < 4000:
            answer = self.native.ask("PUT", "t", body, "IN", "1h")
            if isinstance(answer, ReplyError):
                break
            put += 1
            # The look may come late, when the machine stands still: the later puts wait for it.
            if put % 20 == 0 or put > 2000:
                time.sleep(0.02)
        self.assertIsInstance(answer, ReplyError)
        self.assertGreater(put, 100)
        self.assertEqual(put_line(self.classic, 1), b"OUT_OF_MEMORY")
        # Everything else goes on.
        self.assertEqual(self.native.ask("CANCELID", 1), ["removed"])
        self.assertEqual(self.native.ask("PING"), "PONG")


if __name__ == "__main__":
    unittest.main()
