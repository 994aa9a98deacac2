"""test_kills.py [--long]: a server that is killed while clients put loses no job and doubles none.

The short form kills it after each part of the puts; the long form puts 10,000 and more, and kills it each
second. Both go on until it was killed often enough."""

import asyncio
import threading
import unittest

import support

support.need(("redis", "python3-redis"))

import elapse  # noqa: E402

THREADS = 8
PUTS = 10_000 if support.LONG else 600
KILLS_LEAST = 10 if support.LONG else 3
TTR = "1h"  # so that no job comes twice because its lease has ended


class Killer:
    """Kills a server: each second, or whenever so many more puts are done."""

    def __init__(self, server, least, weight=1):
        self.server, self.least = server, least
        self.step = least * weight * THREADS // 5
        self.done = 0
        self.over = threading.Event()
        self.more = threading.Condition()
        self.thread = threading.Thread(target=self.run)

    def count(self, puts=1):
        with self.more:
            self.done += puts
            self.more.notify()

    def goes_on(self, puts):
        """Whether a client that has done so many steps goes on: it has a number to do, and the server has to
        be killed so many times meanwhile."""
        return puts < self.least or self.server.kills < KILLS_LEAST

    def run(self):
        at = 0
        while not self.over.is_set():
            if support.LONG:
                self.over.wait(1)
                # On a machine that stands still, a second is too short for any put.
                with self.more:
                    self.more.wait_for(lambda at=at: self.done > at or self.over.is_set())
                    at = self.done
            else:
                at += self.step
                with self.more:
                    self.more.wait_for(lambda at=at: self.done >= at or self.over.is_set())
            if not self.over.is_set():
                self.server.restart()

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        with self.more:
            self.more.notify()
        self.thread.join()


class Kills(unittest.TestCase):
    def setUp(self):
        self.server = support.DiskServer()
        self.addCleanup(self.server.__exit__)

    def check(self, expected):
        with elapse.Client(self.server.url) as client:
            found = []
            # A server that has just started may need a moment for its first hand-out.
            while jobs := client.reserve("t", count=1000, wait="10s" if len(found) < len(expected) else "100ms"):
                found += [job.text for job in jobs]
        print(
            f"{len(expected)} puts, {self.server.kills} kills: {len(set(expected) - set(found))} lost, "
            f"{len(found) - len(set(found))} doubled"
        )
        self.assertEqual(sorted(found), sorted(expected))
        self.assertGreaterEqual(self.server.kills, KILLS_LEAST)

    def in_threads(self, work):
        faults = []

        def guarded(number):
            try:
                work(number)
            except BaseException as error:
                faults.append(error)
                raise

        threads = [threading.Thread(target=guarded, args=(i,)) for i in range(THREADS)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(faults, [])

    def test_one_at_a_time(self):
        client = elapse.Client(self.server.url)
        self.addCleanup(client.close)
        expected = []
        with Killer(self.server, PUTS // THREADS) as killer:

            def work(number):
                i = 0
                while killer.goes_on(i):
                    expected.append(f"{number}-{i}")
                    client.put("t", f"{number}-{i}", ttr=TTR)
                    killer.count()
                    i += 1

            self.in_threads(work)
        self.check(expected)

    def test_a_hundred_at_a_time(self):
        client = elapse.Client(self.server.url)
        self.addCleanup(client.close)
        expected = []
        with Killer(self.server, PUTS * 2 // 100 // THREADS + 1, weight=100) as killer:

            def work(number):
                i = 0
                while killer.goes_on(i):
                    bodies = [f"{number}-{i}-{j}" for j in range(100)]
                    expected.extend(bodies)
                    client.put_many(elapse.put("t", body, ttr=TTR) for body in bodies)
                    killer.count(100)
                    i += 1

            self.in_threads(work)
        self.check(expected)

    def test_transactions(self):
        client = elapse.Client(self.server.url)
        self.addCleanup(client.close)
        expected = []
        with Killer(self.server, PUTS // 4 // THREADS) as killer:

            def work(number):
                i = 0
                while killer.goes_on(i):
                    bodies = [f"{number}-{i}-{j}" for j in range(4)]
                    expected.extend(bodies)
                    client.transaction(*(elapse.put("t", body, ttr=TTR) for body in bodies))
                    killer.count()
                    i += 1

            self.in_threads(work)
        self.check(expected)

    def test_asyncio(self):
        expected = []

        async def run(killer):
            async with elapse.AsyncClient(self.server.url) as client:

                async def work(number):
                    i = 0
                    while killer.goes_on(i):
                        expected.append(f"{number}-{i}")
                        await client.put("t", f"{number}-{i}", ttr=TTR)
                        killer.count()
                        i += 1

                await asyncio.gather(*map(work, range(THREADS)))

        with Killer(self.server, PUTS // THREADS) as killer:
            asyncio.run(run(killer))
        self.check(expected)


if __name__ == "__main__":
    support.main()
