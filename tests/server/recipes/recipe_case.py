"""What the tests of the recipes for moving jobs share. A recipe is the code on a page of the guide, as a
reader copies it. It moves hostile jobs over lines that break to a server that is killed, while a worker
does the jobs that have arrived. Each job must be done exactly once, and none before it is due.

Without redis-py, the import of this module ends the program with 77, which means "skipped" to ctest."""

import collections
import contextlib
import math
import os
import pathlib
import re
import shutil
import socket
import sys
import tempfile
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path[:0] = [str(ROOT / "tests/support"), str(ROOT / "tests/server/resp")]

import clients  # noqa: E402
from line import Line  # noqa: E402
from server_process import FREE_PORT, PATIENCE_S, SKIPPED, ServerProcess  # noqa: E402

try:
    import redis
except ImportError:
    interpreter = clients.interpreter_with("redis")
    if interpreter is None:
        print("skipped: redis-py is not installed (python3-redis)")
        sys.exit(SKIPPED)
    os.execv(interpreter, [interpreter, "-B", *sys.argv])

BATCH = 1000  # as many jobs the recipes move at a time
LONG = b"x" * 300
FAR_MS = 4102444800000  # the year 2100: nothing that is due then is handed out here
HOSTILE = [
    b"", b" ", b"\0", b"\0" * 250, b"\0" * 251, b"\xff\xfe\x80", b"\xc3\x28", b"\r\n", b"a\nb\r\nc",
    b"\"quoted\" and 'quoted'", b"\\", b"\\x00", b"%s %(x)s {} $1", b"*1\r\n$4\r\nPING\r\n", b"1", b"-1",
    b"'; drop table jobs; --", LONG, LONG + b"\0", LONG + b"1", LONG + b"2", b"y" * 250, b"y" * 251,
    "Größe \U0001f600".encode(), "Größe".encode("latin-1"), b"z" * 65535, b"NX", b"KEY"]


def skip(reason):
    print(f"skipped: {reason}")
    sys.exit(SKIPPED)


def blocks(page, language="python"):
    """The code of the page, as it stands there."""
    return "\n".join(re.findall(rf"^```{language}\n(.*?)^```", (ROOT / page).read_text(),
                                re.M | re.S))


def program_of(page, port=11300):
    """The names that the page's code defines; its port is replaced."""
    names = {}
    code = blocks(page).replace("port=11300", f"port={port}")
    exec(compile(code, f"the code of {page}", "exec"), names)
    return names


def many_jobs(count):
    """Bodies with the moments at which they are due, in seconds: one after the other is due long
    ago, in the year 2100, or at the same time as many others."""
    bodies = HOSTILE + [LONG + b" %d" % number for number in range(count - len(HOSTILE))]
    moments = [(1e9 + i % 7 / 8, FAR_MS / 1000, FAR_MS / 1000 + i * 1.0001)[i % 3]
               for i in range(count)]
    return dict(zip(bodies, moments))


def milliseconds(moment):
    return math.ceil(min(max(moment * 1000, 0), 1e14))


def unix_socket(path):
    end = socket.socket(socket.AF_UNIX)
    try:
        end.connect(path)
    except OSError:
        end.close()
        raise
    return end


def wait_until(condition):
    end = time.monotonic() + PATIENCE_S
    while not condition():
        assert time.monotonic() < end, "it does not come"
        time.sleep(0.002)


def wait_for_socket(path, process):
    """Waits until a server takes connections there."""
    def answers():
        assert process.poll() is None, "the old server does not start"
        with contextlib.suppress(OSError):
            unix_socket(path).close()
            return True
        return False
    wait_until(answers)


class Elapse:
    """A server that may be killed, and started again with what it has stored."""

    def __init__(self, directory):
        self.directory, self.process, self.port = directory, None, None
        self.start()

    def start(self, *options):
        self.process = ServerProcess(self.directory + "/log", [
            "--data", self.directory + "/data", *FREE_PORT, "--segment-bits", "22", *options])
        self.port = self.process.wait_for_port()

    def kill(self):
        self.process.kill()

    def forget(self):
        """Begins anew, with nothing."""
        self.kill()
        shutil.rmtree(self.directory + "/data")
        self.start()

    def start_if_killed(self):
        if self.process.process.poll() is not None:
            self.start()

    def connect(self):
        return socket.create_connection(("127.0.0.1", self.port))

    def client(self):
        return redis.Redis(port=self.port, socket_timeout=PATIENCE_S)


class RecipeTest(unittest.TestCase):
    """`tube` is where the recipe moves to."""

    tube = "jobs"

    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.scratch = scratch.name
        self.elapse = Elapse(self.scratch)
        self.addCleanup(lambda: self.elapse.kill())
        self.done = collections.Counter()

    def line(self, connect, at_break=lambda: None):
        made = Line(connect, at_break)
        self.addCleanup(made.end)
        return made

    def work(self):
        """Does all jobs that are ready."""
        with self.elapse.client() as client:
            while jobs := client.execute_command("RESERVE", self.tube, "COUNT", 1000):
                self.done.update(job[4] for job in jobs)
                client.execute_command("ACK", *(word for job in jobs for word in job[:2]))

    def waiting(self):
        """The jobs that wait, as bodies with their due times."""
        found, cursor = [], None
        with self.elapse.client() as client:
            while cursor != 0:
                cursor, listed = client.execute_command(
                    "LIST", self.tube, "COUNT", 1000, *(() if cursor is None else ("CURSOR", cursor)))
                pipeline = client.pipeline(transaction=False)
                for job in listed:
                    pipeline.execute_command("LOOKUPID", job[1])
                for job in pipeline.execute():
                    fields = dict(zip(job[::2], job[1::2]))
                    found.append((fields[b"body"], fields[b"due"]))
        return found

    def check_moved(self, jobs):
        """All that were due are done, once each; all others wait, once each, with their times."""
        self.work()
        past = collections.Counter({body: 1 for body, due in jobs.items()
                                    if milliseconds(due) < FAR_MS})
        self.assertEqual((self.done - past, past - self.done), ({}, {}))
        future = {body: milliseconds(due) for body, due in jobs.items()
                  if milliseconds(due) >= FAR_MS}
        found = self.waiting()
        self.assertEqual(len(found), len(future))
        self.assertEqual(dict(found), future)

    def move_over_breaks(self, move, broken, direction, step):
        """Moves again and again, over a line that breaks after `step` bytes more each time, until a
        move comes to its end. A worker does meanwhile what has arrived. Returns how often the line
        broke."""
        breaks = 0
        while True:
            broken.break_after((breaks + 1) * step, direction)
            ended = False
            try:
                move()
                ended = True
            except Exception as fault:
                self.assertTrue(broken.is_broken(), f"it did not end by the line: {fault!r}")
            broken.mend()
            self.elapse.start_if_killed()
            if ended:
                return breaks
            breaks += 1
            self.work()
            self.assertLess(breaks, 1000)
