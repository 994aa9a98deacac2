"""Tests elapse serve on a disk that fails, and with a wrong wall clock.

ELAPSE_HEADER_TIME names the program that changes the time in a header.
"""

import datetime
import os
import re
import shutil
import signal
import subprocess
import time
import unittest

import support
from serve_support import START_S, ServeTest
from support import STATUS_FAILED, STATUS_OK

HEADER_TIME = os.environ.get("ELAPSE_HEADER_TIME", "header-time")


class Disk(ServeTest):
    def fail_syncs(self, server):
        """From now on each sync of a file fails; returns the process that makes them fail."""
        if shutil.which("strace") is None:
            self.skipTest("strace is not there")
        said = self.directory / "strace"
        with open(said, "wb") as errors:
            tracer = subprocess.Popen(
                ["strace", "-f", "-o", "/dev/null", "-e", "trace=fdatasync",
                 "-e", "inject=fdatasync:error=EIO", "-p", str(server.process.pid)],
                cwd=self.directory, stderr=errors)
        def end():
            tracer.terminate()
            tracer.wait()
        self.addCleanup(end)
        until = time.monotonic() + START_S
        while b"attached" not in said.read_bytes():
            if tracer.poll() is not None or time.monotonic() > until:
                self.skipTest(f"strace cannot attach: {said.read_text().strip()}")
            time.sleep(0.005)
        return tracer

    def test_a_failed_sync_ends_it_and_acknowledges_nothing(self):
        # A checker of leaks cannot work in a process that is traced.
        server = self.serve(env={**os.environ, "ASAN_OPTIONS": "detect_leaks=0"})
        client = server.connect()
        self.assertEqual(client.put(b"before"), b"INSERTED 1")
        self.fail_syncs(server)
        client.send(b"put 1 0 60 5\r\nafter\r\n")
        self.assertTrue(client.is_closed())
        self.assertEqual(server.wait(), STATUS_FAILED, server.log())
        self.assertIn(b"d: writing or syncing failed: Input/output error; the server ends, "
                      b"because nobody knows what the disk has\n", server.log())
        self.assertNotIn(b"everything is durable", server.log())
        # What was acknowledged is there; the other job may be.
        server = self.serve()
        self.assertEqual(server.connect().reserve(), (1, b"before"))
        server.stop()


class WallClock(ServeTest):
    def leave(self, seconds):
        """A directory with a job, whose newest header is of now and so many seconds."""
        server = self.serve()
        self.assertEqual(server.connect().put(b"a"), b"INSERTED 1")
        server.stop()
        self.set_header(seconds)

    def set_header(self, seconds):
        newest = max((self.directory / "d" / "journal").glob("*.log"), key=lambda file: file.name)
        subprocess.run([HEADER_TIME, newest, str(seconds)], check=True)

    def test_it_waits_until_the_clock_is_right(self):
        self.leave(0)
        for _ in range(10):
            began = time.time()
            self.set_header(3)
            server = self.serve()
            log = server.wait_for(b" ready: ")
            # The clock is right from the beginning if the machine stood still for so long.
            if b" warning clock: " in log or time.time() - began < 2:
                break
            server.stop()
        self.assertRegex(log, rb"the wall clock is [1-4] seconds before the last time that this "
                              rb"queue wrote; waiting until it is right\n(.*\n)*.* ready: ")
        self.assertEqual(log.count(b" warning clock: "), 1)
        ready = re.search(rb"^(\S+)Z \S+ ready: ", log, re.MULTILINE).group(1).decode()
        ready_s = datetime.datetime.fromisoformat(ready + "+00:00").timestamp()
        # The header has whole seconds, by a clock that may be some milliseconds behind.
        self.assertGreaterEqual(ready_s, int(began - 0.02) + 3)
        self.assertEqual(server.connect().reserve(), (1, b"a"))
        server.stop()

    def test_a_signal_ends_the_wait(self):
        self.leave(3600)
        server = self.serve()
        server.wait_for(b"waiting until it is right")
        server.signal(signal.SIGTERM)
        self.assertEqual(server.wait(), STATUS_OK, server.log())
        self.assertNotIn(b" ready: ", server.log())
        # Nothing has changed meanwhile.
        self.set_header(-1)
        server = self.serve()
        self.assertEqual(server.connect().reserve(), (1, b"a"))
        self.assertNotIn(b" warning clock: ", server.log())
        server.stop()

    def test_a_clock_far_ahead_is_warned_of(self):
        self.leave(-23 * 3600)
        server = self.serve()
        self.assertEqual(server.connect().reserve(), (1, b"a"))
        self.assertNotIn(b" warning clock: ", server.stop())
        self.set_header(-49 * 3600)
        server = self.serve()
        self.assertEqual(server.connect().reserve(), (1, b"a"))
        self.assertIn(b" warning clock: the wall clock is 49 hours after the last start or file of "
                      b"this queue; if it is wrong, jobs become due too early\n", server.stop())


if __name__ == "__main__":
    support.main()
