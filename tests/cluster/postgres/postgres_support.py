"""What the tests with real servers of PostgreSQL share: the servers and the drivers. A driver is a program
that reads commands as lines and answers with lines of JSON."""

import json
import os
import pathlib
import queue
import subprocess
import sys
import threading
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[3]
for folder in ("scripts", "tests/support"):
    sys.path.insert(0, str(ROOT / folder))
import cluster  # noqa: E402  pylint: disable=wrong-import-position

DRIVERS = os.environ.get("ELAPSE_DRIVERS", str(ROOT / "build/developer/tests/cluster/postgres"))
LEASE_MS = 2000
SESSION = "elapse/test/0"


def run_tests():
    """Runs the tests of the main program, or is skipped by status 77."""
    if cluster.folder_of_programs() is None:
        print("skipped: PostgreSQL is not installed (the package postgresql)")
        sys.exit(77)
    unittest.main()


class Driver:
    """A program that is driven by lines. It ends when its standard input does."""

    def __init__(self, name, *arguments):
        self.process = subprocess.Popen([f"{DRIVERS}/cluster-{name}-driver", *map(str, arguments)],
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.lines = queue.SimpleQueue()
        self.reader = threading.Thread(target=self.read, daemon=True)
        self.reader.start()

    def read(self):
        for line in self.process.stdout:
            self.lines.put(json.loads(line))
        self.lines.put(None)

    def tell(self, *words):
        self.process.stdin.write(" ".join(map(str, words)) + "\n")
        self.process.stdin.flush()

    def next(self, limit_s=cluster.PATIENCE_S):
        try:
            said = self.lines.get(timeout=limit_s)
        except queue.Empty:
            raise AssertionError("the driver says nothing") from None
        if said is None:
            raise AssertionError(f"the driver has ended, with {self.process.wait()}")
        return said

    def says_nothing(self, for_s=0.2):
        try:
            said = self.lines.get(timeout=for_s)
        except queue.Empty:
            return True
        raise AssertionError(f"the driver says {said}")

    def ask(self, *words):
        self.tell(*words)
        return self.next()

    def signal(self, number):
        self.process.send_signal(number)

    def end(self):
        self.process.kill()
        self.process.wait()
        self.reader.join()
        self.process.stdin.close()
        self.process.stdout.close()


class ClusterTest(unittest.TestCase):
    """Three servers for all tests of a program; tables that are new for each test. A class that
    changes which of them is the primary has `renews`."""

    servers = None
    renews = False

    @classmethod
    def setUpClass(cls):
        if ClusterTest.servers is None:
            ClusterTest.servers = cluster.Servers()
            unittest.addModuleCleanup(ClusterTest.servers.end)
            cls.servers.start()

    def setUp(self):
        if self.renews:
            self.addCleanup(self.servers.start)
        self.primary = self.servers.primary
        self.drivers = []
        self.addCleanup(self.end_drivers)
        self.primary.sql("drop schema if exists elapse cascade;\n")

    def end_drivers(self):
        for driver in self.drivers:
            driver.end()

    def driver(self, name, *arguments):
        self.drivers.append(Driver(name, *arguments))
        return self.drivers[-1]

    def freeze_standbys(self):
        for standby in self.standbys():
            standby.freeze()
            self.addCleanup(standby.thaw)

    def thaw_standbys(self):
        for standby in self.standbys():
            standby.thaw()

    def standbys(self):
        return [server for server in self.servers.list
                if server is not self.primary and server.process is not None]

    def number(self, query, server=None):
        """The number that a query gives; None if it gives none."""
        text = (server or self.primary).sql(query + ";\n")
        return int(text) if text else None

    def wait_for_waiting(self, count=1):
        """Waits until so many commits of the partition wait for a standby. Returns a process."""
        query = "select min(pid) from pg_stat_activity where wait_event = 'SyncRep'" \
                f" and application_name = '{SESSION}' having count(*) = {count}"
        return cluster.wait_until(lambda: self.number(query), "a commit waits for a standby")
