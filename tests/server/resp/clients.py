#!/usr/bin/env python3
"""clients.py [HIREDIS_CLIENT]: tests that clients of other authors work with this server: redis-cli (also
its help), redis-benchmark, redis-py and hiredis. A client that is not installed is skipped. The exit
status is 77 if none is installed."""

import fcntl
import os
import pty
import re
import select
import shutil
import struct
import subprocess
import sys
import termios
import time
import unittest

import serving

HIREDIS_CLIENT = ""
PYTHON_CLIENT = """
import sys
import redis

client = redis.Redis(port=int(sys.argv[1]))
assert client.ping() is True
assert client.execute_command("PUT", "t", b"\\x00\\xff", "KEY", "k") == [1, b"scheduled"]
[[number, lease, tube, key, body, due, attempt, missed]] = client.execute_command("RESERVE", "t")
assert (number, tube, key, body, attempt, missed) == (1, b"t", b"k", b"\\x00\\xff", 1, 0)
assert abs(due / 1000 - __import__("time").time()) < 600
assert client.execute_command("ACK", number, lease) == [b"ok"]
pipeline = client.pipeline(transaction=False)
for number in range(1000):
    pipeline.execute_command("PUT", "t", str(number))
assert [word for _, word in pipeline.execute()] == [b"scheduled"] * 1000
jobs = []
while len(jobs) < 1000:
    jobs += client.execute_command("RESERVE", "t", "COUNT", 1000 - len(jobs), "WAIT", "5s")
assert [int(job[4]) for job in jobs] == list(range(1000))
assert client.execute_command("RESERVE", "t", "WAIT", "20ms") == []
assert client.execute_command("LOOKUP", "t", "nobody") is None
try:
    client.get("x")
    raise SystemExit("GET did not fail")
except redis.ResponseError as error:
    assert str(error).startswith("unknown command"), error
transaction = client.pipeline()
transaction.execute_command("PUT", "steps", "one")
transaction.execute_command("PUT", "steps", "never", "KEY", "k")
transaction.execute_command("CANCEL", "steps", "k")
assert transaction.execute() == [[1002, b"scheduled"], [1003, b"scheduled"], [b"removed"]]
[job] = client.execute_command("RESERVE", "steps")
for expected in True, False:
    step = client.pipeline()
    step.execute_command("LEASED", job[0], job[1])
    step.execute_command("ACK", job[0], job[1])
    step.execute_command("PUT", "steps", "two")
    try:
        assert step.execute() == [b"ok", [b"ok"], [1004, b"scheduled"]] and expected
    except redis.WatchError:
        assert not expected
refused = client.pipeline()
refused.execute_command("PUT", "unsaid", "one")
refused.execute_command("RESERVE", "unsaid")
try:
    refused.execute()
    raise SystemExit("a RESERVE in a transaction did not fail")
except redis.ResponseError as error:
    assert "pipeline(transaction=False)" in str(error), error
    assert client.execute_command("STATS", "unsaid") is None
try:
    refused.watch("k")
    raise SystemExit("WATCH did not fail")
except redis.ResponseError as error:
    assert "LEASED" in str(error), error
refused.reset()
assert client.info()["loading"] == 0
assert client.client_setname("name") and client.client_getname() in ("name", b"name")
assert client.config_get("*") == {}
assert client.command_count() == len(client.command())
assert client.echo("x") == b"x"
client.close()
"""


def interpreter_with(module):
    for interpreter in (sys.executable, "/usr/bin/python3"):
        found = subprocess.run([interpreter, "-c", f"import {module}"], stderr=subprocess.DEVNULL,
                               check=False)
        if found.returncode == 0:
            return interpreter
    return None


def run(*command, **options):
    outcome = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                             timeout=serving.PATIENCE_S, check=False, **options)
    text = outcome.stdout.decode("utf-8", "surrogateescape")
    assert outcome.returncode == 0, f"{command} ended with {outcome.returncode}: {text}"
    return text


class Terminal:
    """A program on a terminal."""

    def __init__(self, *command):
        self.unread = b""
        self.process, self.descriptor = pty.fork()
        if self.process == 0:
            fcntl.ioctl(0, termios.TIOCSWINSZ, struct.pack("HHHH", 40, 200, 0, 0))
            os.execvpe(command[0], command, {**os.environ, "TERM": "xterm", "HOME": "/nonexistent"})

    def await_text(self, text):
        """Returns what the program has written since the text that was awaited last, once this is
        part of it."""
        end = time.monotonic() + serving.PATIENCE_S
        written, self.unread = self.unread, b""
        while text.encode() not in written:
            ready, _, _ = select.select([self.descriptor], [], [], max(0, end - time.monotonic()))
            assert ready, f"{text!r} does not come: {written!r}"
            written += os.read(self.descriptor, 65536)
        end_of_text = written.index(text.encode()) + len(text.encode())
        self.unread = written[end_of_text:]
        return written[:end_of_text].decode("utf-8", "replace")

    def type(self, text):
        os.write(self.descriptor, text.encode())

    def end(self):
        os.kill(self.process, 9)
        os.waitpid(self.process, 0)
        os.close(self.descriptor)


class Clients(unittest.TestCase):
    @unittest.skipUnless(shutil.which("redis-cli"), "redis-cli is not installed (redis-tools)")
    def test_redis_cli(self):
        with serving.server() as port:
            command = ("redis-cli", "-p", str(port))
            self.assertEqual(run(*command, "ping"), "PONG\n")
            self.assertEqual(run(*command, "PUT", "t", "a body", "KEY", "k"), "1\nscheduled\n")
            for version in ("-2", "-3"):
                self.assertIn("a body", run(*command, version, "LOOKUP", "t", "k"))
            self.assertIn("1-1", run(*command, "-3", "RESERVE", "t"))
            self.assertIn("ERR unknown command", run(*command, "GET", "x"))
            self.assertIn("-ERR syntax", "-" + run(*command, "PUT", "t", "b", "NEVER"))
            piped = run(*command, "--pipe",
                        input=b"*3\r\n$3\r\nPUT\r\n$1\r\nu\r\n$1\r\nb\r\n" * 2000)
            self.assertIn("errors: 0, replies: 2000", piped)

    @unittest.skipUnless(shutil.which("redis-cli"), "redis-cli is not installed (redis-tools)")
    def test_help_of_redis_cli(self):
        with serving.server() as port:
            terminal = Terminal("redis-cli", "-p", str(port))
            try:
                terminal.await_text(f"{port}> ")
                terminal.type("help reserve\r")
                text = terminal.await_text("Hands out jobs that are ready")
                self.assertRegex(text, r"tube \[tube \.\.\.\] \[COUNT count\] \[WAIT duration\]")
                # redis-cli drops what was typed before its prompt.
                terminal.await_text(f"{port}> ")
                terminal.type("help @workers\r")
                terminal.await_text("Ends jobs whose work is done")
            finally:
                terminal.end()

    @unittest.skipUnless(shutil.which("redis-benchmark"),
                         "redis-benchmark is not installed (redis-tools)")
    def test_redis_benchmark(self):
        with serving.server() as port:
            command = ("redis-benchmark", "-p", str(port), "-q", "-c", "20")
            for test in (("-t", "ping_mbulk", "-n", "2000"),
                         ("-n", "5000", "-P", "100", "PUT", "t", "body", "IN", "1h"),
                         ("-n", "200", "-3", "PUT", "t", "body", "KEY", "k")):
                text = run(*command, *test)
                self.assertRegex(text, r"[\d.]+ requests per second")
                self.assertNotRegex(text, re.compile(r"error", re.I))
            with serving.Connection(port) as connection:
                self.assertEqual(connection.ask("STATS", "t")[1], 5000)

    @unittest.skipUnless(interpreter_with("redis"), "redis-py is not installed (python3-redis)")
    def test_redis_py(self):
        with serving.server() as port:
            run(interpreter_with("redis"), "-c", PYTHON_CLIENT, str(port))

    def test_hiredis(self):
        if not HIREDIS_CLIENT:
            self.skipTest("hiredis is not installed (libhiredis-dev)")
        with serving.server() as port:
            run(HIREDIS_CLIENT, str(port))


if __name__ == "__main__":
    HIREDIS_CLIENT = sys.argv.pop(1) if len(sys.argv) > 1 else ""
    PROGRAM = unittest.main(exit=False, verbosity=2)
    if not PROGRAM.result.wasSuccessful():
        sys.exit(1)
    sys.exit(serving.SKIPPED if len(PROGRAM.result.skipped) == PROGRAM.result.testsRun else 0)
