"""What the tests of PostgreSQL and RabbitMQ share: a server in a temporary directory, its loads
with few jobs, a kill and a restart."""

import os
import shutil
import sys
import tempfile
import types
import unittest

import server

SKIPPED = 77


def skip(why):
    print(f"Skipped: {why}")
    sys.exit(SKIPPED)


class PeerTest(unittest.TestCase):
    """One server for all tests of a class. They run in the order of their names, so each puts what
    it needs, and leaves nothing that is ready."""

    kind = None
    tools = None

    @classmethod
    def setUpClass(cls):
        cls.directory = tempfile.mkdtemp(prefix="elapse-peer-")
        cls.server = cls.kind(types.SimpleNamespace(tools=cls.tools), cls.directory)
        try:
            cls.server.start()
        except BaseException:
            cls.tearDownClass()
            raise

    @classmethod
    def tearDownClass(cls):
        cls.server.stop()
        shutil.rmtree(cls.directory)

    def run_load(self, verb, **options):
        """The figures of a load. Each rate is one."""
        figures = self.server.run(verb, **options)
        for name in figures:
            if name.endswith("rate"):
                self.assertGreater(figures[name], 0, f"{verb}: {name}")
        return figures

    def check_times(self, figures):
        times = [figures[name] for name in ("p50_us", "p99_us", "p999_us", "max_us")]
        self.assertEqual(times, sorted(times))
        self.assertGreater(times[0], 0)


def main(kinds, tests):
    """Runs the tests for each contender. The first argument is where the loads are."""
    tools = sys.argv[1]
    missing = kinds[0].missing_programs()
    if missing:
        skip(f"not installed: {', '.join(missing)}")
    if not os.access(os.path.join(tools, kinds[0].program), os.X_OK):
        skip(f"not built: {kinds[0].program}")
    suite = unittest.TestSuite()
    for kind in kinds:
        case = type(f"{tests.__name__}_{kind.name}", (tests,), {"kind": kind, "tools": tools})
        suite.addTests(unittest.defaultTestLoader.loadTestsFromTestCase(case))
    result = unittest.TextTestRunner(verbosity=2).run(suite)
    sys.exit(0 if result.wasSuccessful() else 1)
