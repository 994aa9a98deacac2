"""The zones of the database, compared with Python's zoneinfo at random moments."""

import datetime
import random
import time
import unittest
import zoneinfo
from pathlib import Path

import support

ZONES = Path("/usr/share/zoneinfo")
NAMES = sorted(name for name in zoneinfo.available_timezones()
               if "/" in name and (ZONES / name).is_file())


@unittest.skipUnless(NAMES, "no zones are installed")
class Zones(unittest.TestCase):
    def test_midnights(self):
        """The first midnight after a moment, in zones and years at random."""
        seed = int(time.time())
        print(f"seed {seed}", flush=True)
        choose = random.Random(seed)
        for name in choose.sample(NAMES, min(60, len(NAMES))):
            zone = zoneinfo.ZoneInfo(name)
            wanted, asked = [], []
            for _ in range(40):
                date = datetime.datetime(choose.randrange(1905, 2200), choose.randrange(1, 13),
                                         choose.randrange(1, 28), 12)
                local = date.replace(tzinfo=zone)
                noon = int(local.timestamp())
                # A moment of which local time is known to be an ordinary one.
                if datetime.datetime.fromtimestamp(noon, zone).replace(tzinfo=None) != date:
                    continue
                asked.append((noon - 1, 1, f"0 12 {date.day} {date.month} *"))
                wanted.append([noon])
            self.assertEqual(support.ask(asked, name), wanted, name)


if __name__ == "__main__":
    support.main()
