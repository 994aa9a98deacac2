"""Tests elapse replay on real traces whose results are known from elsewhere.

The traces lie in the directory that ELAPSE_TRACES names, or else in shared/traces beside the project. If
there are none, nothing is tested.
"""

import os
import unittest
from pathlib import Path

import support
from support import STRUCTURES

TRACES = Path(os.environ.get("ELAPSE_TRACES") or support.SOURCE_ROOT.parent / "shared/traces")

FIGURES = ("operations", "peak_pending", "restarted", "stopped", "fired", "pending")
KNOWN = {
    "dns_ttl": (39843, 2572, 28702, 0, 8724, 2417),
    "kvblock_sliding_ttl": (288500, 21251, 82941, 0, 185380, 20179),
    "nasa_session_idle": (30969, 273, 27980, 0, 2853, 136),
    "wiki_user_idle": (39199, 567, 22929, 0, 15913, 357),
    "periodic_prow": (551041, 1511, 0, 0, 551031, 10),
}


@unittest.skipUnless(TRACES.is_dir(), f"there are no real traces in {TRACES}")
class RealTraces(support.ProgramTest):
    def assert_known(self, name):
        path = TRACES / f"{name}.csv.gz"
        expected = dict(zip(FIGURES, KNOWN[name], strict=True))
        expected["started"] = expected["operations"] - expected["restarted"] - expected["stopped"]
        digests = set()
        for structure in STRUCTURES:
            with self.subTest(structure=structure):
                figures = self.replay("--structure", structure, "--tick", "1us", path)
                self.assert_figures(figures, **expected)
                digests.add(figures["digest"])
        self.assertEqual(len(digests), 1, digests)

    def assert_known_in_coarse_ticks(self, name):
        """Expects the figures that do not depend on the tick, and that no timer is lost."""
        path = TRACES / f"{name}.csv.gz"
        operations, _, restarted, stopped, fired, _ = KNOWN[name]
        reports = [self.replay("--structure", structure, "--tick", "1s", path)
                   for structure in STRUCTURES]
        started = operations - restarted - stopped
        for figures in reports:
            self.assert_figures(figures, operations=operations, restarted=restarted,
                                stopped=stopped, started=started)
            self.assertLessEqual(figures["fired"], fired)
            self.assertEqual(figures["fired"] + figures["stopped"] + figures["pending"], started)
        for name in ("fired", "pending", "peak_pending", "digest"):
            self.assertEqual(len({figures[name] for figures in reports}), 1, name)

    def assert_alike(self, name, tick, *structures):
        """Expects that in each structure the same timers fire at the same tick, and none early."""
        path = TRACES / f"{name}.csv.gz"
        expected = self.replay("--structure", "wheel", "--tick", tick, path)
        for structure in structures:
            with self.subTest(structure=structure):
                figures = self.replay("--structure", structure, "--tick", tick, path)
                self.assert_figures(figures, early=0, **{
                    name: expected[name] for name in ("fired", "pending", "digest")})

    def test_dials(self):
        for name in KNOWN:
            self.assert_alike(name, "1ms", "dials", "dials:10", "dials:512", "dials:60,60,24,30")

    def test_hashed_wheels(self):
        """A wheel whose turn is much shorter than the delays is slow. So these traces get coarser
        ticks or more slots."""
        self.assert_alike("dns_ttl", "1ms", "hashed", "hashed:10")
        self.assert_alike("kvblock_sliding_ttl", "1ms", "hashed:512")
        self.assert_alike("kvblock_sliding_ttl", "1s", "hashed:10")
        self.assert_alike("nasa_session_idle", "1ms", "hashed:512")
        self.assert_alike("nasa_session_idle", "1s", "hashed:1", "hashed:10")
        self.assert_alike("wiki_user_idle", "1ms", "hashed:512")
        self.assert_alike("wiki_user_idle", "1s", "hashed:10")
        self.assert_alike("periodic_prow", "1s", "hashed:512")

    def test_dns_ttl(self):
        self.assert_known("dns_ttl")
        self.assert_known_in_coarse_ticks("dns_ttl")

    def test_kvblock_sliding_ttl(self):
        self.assert_known("kvblock_sliding_ttl")
        self.assert_known_in_coarse_ticks("kvblock_sliding_ttl")

    def test_nasa_session_idle(self):
        self.assert_known("nasa_session_idle")
        self.assert_known_in_coarse_ticks("nasa_session_idle")

    def test_wiki_user_idle(self):
        self.assert_known("wiki_user_idle")
        self.assert_known_in_coarse_ticks("wiki_user_idle")

    def test_periodic_prow(self):
        self.assert_known("periodic_prow")
        self.assert_known_in_coarse_ticks("periodic_prow")


if __name__ == "__main__":
    support.main()
