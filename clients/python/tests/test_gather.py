"""Scatter and gather: a job that waits for others, and each of these arrives once."""

import asyncio
import unittest

import support

support.need(("redis", "python3-redis"))

import elapse  # noqa: E402
from elapse import testing  # noqa: E402


class Gather(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = testing.Server()
        cls.addClassCleanup(cls.server.close)
        cls.client = cls.server.client()

    def test_arrivals(self):
        client = self.client
        self.assertEqual(client.put("a", "x", key="k", await_=5).outcome, "scheduled")
        self.assertEqual(client.put("a", "x", key="k", await_=5).outcome, "kept")
        info = client.lookup("a", "k")
        self.assertEqual((info.missing, info.due, info.state), (5, None, "delayed"))
        self.assertEqual(client.arrive("a", "k", 2), 3)
        self.assertEqual([client.arrive("a", "k", token="one") for _ in range(2)], [2, 2])
        self.assertEqual(client.transaction(elapse.arrive("a", "k"), elapse.put("a", "y", in_="1h"))[0], 1)
        self.assertEqual(client.reserve("a"), [])
        self.assertEqual(client.arrive("a", "k", 7), 0)
        self.assertIsNone(client.arrive("a", "k"))
        self.assertEqual(client.arrive("a", "k", token="one"), 0)
        (job,) = client.reserve("a", count=2)
        self.assertEqual((job.text, job.missing, job.gatherer), ("x", 0, None))

    def worker(self, asynchronous, tubes, handle):
        """Runs a worker until there is nothing to do."""
        if not asynchronous:
            worker = elapse.Worker(self.client, concurrency=4)
            for tube in tubes:
                worker.handler(tube)(handle)
            worker.run(until_idle=True)
            return

        async def run():
            async with self.server.async_client() as client:
                worker = elapse.AsyncWorker(client, concurrency=4)

                async def handle_task(job):
                    done = handle(job)
                    if done is not None:
                        await done

                for tube in tubes:
                    worker.handler(tube)(handle_task)
                await worker.run(until_idle=True)

        asyncio.run(run())

    def ten_pieces(self, asynchronous):
        whole, part, after = (f"{name}{asynchronous:d}" for name in ("whole", "part", "after"))
        seen = []

        def handle(job):
            if job.tube == whole:
                seen.append((job.text, job.missing))
            elif job.text == "3":
                raise elapse.Bury("it is lost")
            elif job.text == "4" and job.attempt == 1:
                raise ValueError("it is done the second time")
            elif job.text == "5":
                return job.done(elapse.put(after, "5"))  # arrives, too
            return None

        results = self.client.gather(
            whole,
            "all",
            [elapse.put(part, str(i), backoff=("0s", "0s"), headers={"a": str(i)}) for i in range(10)],
            timeout="1h",
            key="all",
            headers={"b": "c"},
        )
        self.assertEqual([one.outcome for one in results], ["scheduled"] * 11)
        with self.assertRaises(elapse.BusyKeyError):
            self.client.gather(whole, "all", [elapse.put(part, "no")], timeout="1h", key="all")
        self.assertEqual(self.client.stats(part)["ready"], 10)
        self.worker(asynchronous, [whole, part], handle)
        self.assertEqual((seen, self.client.lookup(whole, "all").missing), ([], 1))
        self.assertEqual([job.text for job in self.client.reserve(after)], ["5"])
        self.server.advance("1h")
        self.worker(asynchronous, [whole], handle)
        self.assertEqual(seen, [("all", 1)])
        # The one that was lost comes too late, and does no harm.
        self.client.kick(part)
        (job,) = self.client.reserve(part)
        self.assertEqual(job.headers, {"a": "3", "elapse-gather-tube": whole, "elapse-gather-key": "all"})
        self.assertEqual(self.client.transaction(leased=[job]), [])

    def test_ten_pieces_with_workers_of_threads(self):
        self.ten_pieces(False)

    def test_ten_pieces_with_workers_of_asyncio(self):
        self.ten_pieces(True)

    def test_all_or_nothing(self):
        client = self.client
        client.put("first", "x")
        (job,) = client.reserve("first")
        puts = elapse.gather("tree", "root", [elapse.put("leaf", i) for i in range(3)], timeout="1h")
        self.assertEqual(len(client.transaction(*puts, leased=[job])), 4)
        with self.assertRaises(elapse.LeaseEndedError):
            client.transaction(*puts, leased=[job])
        leaves = client.reserve("leaf", count=5)
        self.assertEqual(len(leaves), 3)
        client.transaction(leased=leaves)
        self.assertEqual([(one.text, one.missing) for one in client.reserve("tree")], [("root", 0)])

    def test_what_is_refused(self):
        piece = elapse.put("t", "x")
        for pieces, options in (
            ([], {}),
            ([piece], {"in_": "5s"}),
            ([piece], {"await_": 2}),
            ([elapse.cancel("t", "k")], {}),
            ([piece], {"key": "order-7"}),
        ):
            with self.assertRaises((TypeError, ValueError)):
                elapse.gather("t", "x", pieces, timeout="1h", **options)
        with self.assertRaises(elapse.CommandError):
            self.client.put("t", "x", await_=1)  # it needs a key
        self.assertEqual(self.client.stats("t"), {})


class LostAnswers(unittest.TestCase):
    """Each arrival counts once, although the answer was lost."""

    def test_each_piece_counts_once(self):
        with testing.Server() as server:
            way = support.Lossy(server.port)
            self.addCleanup(way.close)
            client, lossy = server.client(), elapse.Client(way.url)
            self.addCleanup(lossy.close)
            lossy.stats()
            way.loses = True
            lossy.gather("whole", "all", [elapse.put("part", str(i)) for i in range(6)], timeout="1h", key="all")
            self.assertFalse(way.loses)
            self.assertEqual((client.lookup("whole", "all").missing, client.stats("part")["ready"]), (6, 6))
            way.loses = True
            self.assertEqual(lossy.arrive("whole", "all"), 5)  # it was sent again
            self.assertFalse(way.loses)
            job, second = client.reserve("part", count=2)
            way.loses = True
            with self.assertRaises(elapse.LeaseEndedError) as caught:
                lossy.transaction(leased=[job])
            self.assertTrue(caught.exception.maybe_done)
            self.assertEqual(client.lookup("whole", "all").missing, 4)
            client.transaction(leased=[second])
            self.assertEqual(client.lookup("whole", "all").missing, 3)


if __name__ == "__main__":
    support.main()
