"""Tests elapse serve --test-clock, a clock that clients move."""

import time

import support
from serve_support import FREE_PORT, ServeTest, Server

HUNDRED_YEARS_S = 36525 * 24 * 3600


def command(*words):
    """The bytes of a command of RESP."""
    parts = [b"$%d\r\n%s\r\n" % (len(word), word.encode()) for word in words]
    return b"*%d\r\n%s" % (len(words), b"".join(parts))


class TestClock(ServeTest):
    def test_it_needs_memory_alone(self):
        for words in (["--test-clock"], ["--test-clock", "--durability", "interval=50"]):
            self.assert_usage_error("elapse serve", "serve", *words,
                                    says=["--test-clock needs --durability memory"])
        for words in (["--data", "d"], ["--cluster", "dbname=x"]):
            self.assert_usage_error(
                "elapse serve", "serve", "--test-clock", "--durability", "memory", *words,
                says=["--test-clock is for tests of programs: it goes with neither --data"])
        self.assertFalse((self.directory / "d").exists())

    def serve_clock(self, *options):
        server = Server(self, ["--durability", "memory", *FREE_PORT, *options])
        self.servers.append(server)
        self.addCleanup(server.kill)
        return server, server.connect(), server.connect()

    def advance(self, client, duration):
        """Moves the clock; returns the new time in seconds."""
        reply = client.ask(command("CLOCK", "ADVANCE", duration))
        self.assertTrue(reply.startswith(b":"), reply)
        return int(reply[1:]) / 1000

    def wait_for_reserve(self, client):
        """Returns when a client waits for a job."""
        waiting = b""
        while waiting != b"blocked_clients:1":
            size = int(client.ask(command("INFO"))[1:])
            lines = client.take(size + 2).split(b"\r\n")
            waiting = next(line for line in lines if line.startswith(b"blocked_clients:"))

    def test_an_hour_takes_no_time(self):
        server, clock, client = self.serve_clock("--test-clock")
        ahead = 0
        for i in range(100):
            self.assertEqual(client.put(b"%d" % i, delay_s=3600), b"INSERTED %d" % (i + 1))
            # It is not due before its time.
            before = time.time()
            now = self.advance(clock, "3590s")
            ahead += 3590
            self.assertGreater(now - before - ahead, -1)
            self.assertEqual(client.ask(b"reserve-with-timeout 0\r\n"), b"TIMED_OUT")
            self.advance(clock, "10s")
            ahead += 10
            self.assertEqual(client.reserve(), (i + 1, b"%d" % i))
            self.assertEqual(client.ask(b"delete %d\r\n" % (i + 1)), b"DELETED")
        server.stop()

    def test_what_waits_is_woken(self):
        server, clock, client = self.serve_clock("--test-clock")
        client.put(b"late", delay_s=864000)
        # The client waits, and has no job, until the clock is moved.
        client.send(b"reserve-with-timeout 1000000\r\n")
        self.wait_for_reserve(clock)
        self.advance(clock, "10d")
        self.assertEqual(client.line(), b"RESERVED 1 4")
        client.take(6)
        # Its lease of 60 s ends.
        self.advance(clock, "2m")
        other = server.connect()
        self.assertEqual(other.reserve(), (1, b"late"))
        # A reserve's own wait ends, too.
        other.send(b"delete 1\r\nreserve-with-timeout 1000000\r\n")
        self.assertEqual(other.line(), b"DELETED")
        self.wait_for_reserve(clock)
        self.advance(clock, "12d")
        self.assertEqual(other.line(), b"TIMED_OUT")
        server.stop()

    def test_all_that_is_due_has_happened_with_the_answer(self):
        server, clock, client = self.serve_clock("--test-clock", "--idle", "5m")
        count = 5000  # more than a turn makes ready
        clock.send(b"".join(command("PUT", "t", "x", "IN", "20m") for _ in range(count)))
        for _ in range(3 * count):
            clock.line()
        # The connection that asks is not idle, although the time of --idle passes meanwhile.
        clock.send(command("CLOCK", "ADVANCE", "30m") + command("LOOKUPID", str(count)))
        self.assertTrue(clock.line().startswith(b":"))
        reply = [clock.line() for _ in range(12)]
        self.assertEqual(reply[reply.index(b"state") + 2], b"ready")
        self.assertEqual(client.socket.recv(1), b"")  # this one was idle
        server.stop()

    def test_a_wall_clock_time_comes_too(self):
        server, clock, client = self.serve_clock("--test-clock")
        now = self.advance(clock, "0s")
        self.assertLess(abs(now - time.time()), 3600)
        put = command("PUT", "default", "x", "AT", str(int(now * 1000) + 7200000))
        self.assertEqual(clock.ask(put), b"*2")
        self.assertEqual((clock.line(), clock.line()), (b":1", b"+scheduled"))
        self.advance(clock, "119m")
        self.assertEqual(client.ask(b"reserve-with-timeout 0\r\n"), b"TIMED_OUT")
        self.advance(clock, "1m")
        self.assertEqual(client.reserve(), (1, b"x"))
        server.stop()

    def test_it_goes_a_hundred_years_and_no_further(self):
        server, clock, _ = self.serve_clock("--test-clock")
        self.advance(clock, f"{HUNDRED_YEARS_S - 1}s")
        self.assertEqual(clock.ask(command("CLOCK", "ADVANCE", "1001ms")),
                         b"-ERR the test clock goes at most 100 years ahead of the machine's")
        self.advance(clock, "1s")
        self.assertTrue(clock.ask(command("CLOCK", "ADVANCE", "1ms")).startswith(b"-ERR the test"))
        self.assertTrue(clock.ask(command("CLOCK", "ADVANCE", "5")).startswith(b"-ERR a unit"))
        self.assertTrue(clock.ask(command("CLOCK", "5s")).startswith(b"-ERR syntax error"))
        server.stop()

    def test_without_the_option_the_clock_is_the_machine_s(self):
        server, clock, _ = self.serve_clock()
        self.assertTrue(clock.ask(command("CLOCK")).startswith(b":"))
        self.assertEqual(
            clock.ask(command("CLOCK", "ADVANCE", "1s")),
            b"-ERR the clock is the machine's: only a server with --test-clock moves it")
        server.stop()


if __name__ == "__main__":
    support.main()
