"""test_chains.py [--long]: chains of three steps, while the processes of their workers, and the server, are killed at
random. Each chain ends exactly once, although each step may be run several times."""

import os
import random
import subprocess
import sys
import tempfile
import unittest

import support

support.need(("redis", "python3-redis"))

import elapse  # noqa: E402

CHAINS = 10_000 if support.LONG else 150
KILL_AT = 60 if support.LONG else 10  # so many chains more have ended
KILLS_LEAST = 30 if support.LONG else 1
WORKERS = 3
OPTIONS = "attempts=0, backoff=('0s', '0s')"

PROGRAM = f"""
import os
import elapse

threads = elapse.Worker(concurrency=4)
tasks = elapse.AsyncWorker(concurrency=16)
for step, following_ttr in ((1, "2s"), (2, "2s"), (3, "1h")):  # no job of step4 comes twice because its lease has ended
    @threads.handler(f"step{{step}}")
    def handle(job, following=f"step{{step + 1}}", ttr=following_ttr):
        os.write(1, b"x")
        job.done(elapse.put(following, job.body, ttr=ttr, {OPTIONS}))

    @tasks.handler(f"step{{step}}")
    async def handle_task(job, following=f"step{{step + 1}}", ttr=following_ttr):
        os.write(1, b"x")
        await job.done(elapse.put(following, job.body, ttr=ttr, {OPTIONS}))
"""


class Chains(unittest.TestCase):
    def start(self, kind):
        return subprocess.Popen(
            [sys.executable, "-B", "-m", "elapse.worker", f"chains:{kind}", "--url", self.server.url],
            cwd=self.directory,
            stdout=self.log,
            stderr=subprocess.DEVNULL,
            env={**os.environ, "PYTHONPATH": str(support.PACKAGE / "src")},
        )

    def setUp(self):
        self.server = support.DiskServer()
        self.addCleanup(self.server.__exit__)
        directory = tempfile.TemporaryDirectory()
        self.addCleanup(directory.cleanup)
        self.directory = directory.name
        with open(self.directory + "/chains.py", "w", encoding="utf-8") as file:
            file.write(PROGRAM)
        self.log = open(self.directory + "/log", "wb")
        self.addCleanup(self.log.close)

    def run_chains(self, kind):
        seed = random.randrange(1 << 32)
        chance = random.Random(seed)
        client = elapse.Client(self.server.url)
        self.addCleanup(client.close)
        chains = 0

        def begin():
            nonlocal chains
            numbers = range(chains, chains + CHAINS)
            client.put_many(elapse.put("step1", str(i), ttr="2s", attempts=0, backoff=("0s", "0s")) for i in numbers)
            chains += CHAINS

        begin()
        workers = [self.start(kind) for _ in range(WORKERS)]
        ended, kills, faults, last = 0, 0, 0, 0
        try:
            while ended < chains or kills < KILLS_LEAST or self.server.kills < 1:
                ended = client.stats("step4").get("ready", 0)
                if ended >= chains and (kills < KILLS_LEAST or self.server.kills < 1):
                    begin()  # this process has stood still while the workers went on
                if ended - last >= KILL_AT and ended < chains:
                    last = ended
                    faults += 1
                    if faults % 3 == 1:  # a step is sent again, and must not be done again
                        self.server.restart()
                        continue
                    number = chance.randrange(WORKERS)
                    workers[number].kill()
                    workers[number].wait()
                    workers[number] = self.start(kind)
                    kills += 1
                client.reserve("nothing", wait="5ms")  # a pause
        finally:
            for worker in workers:
                worker.kill()
                worker.wait()
        found = []
        while jobs := client.reserve("step4", count=1000, wait="10s" if len(found) < chains else "3s"):
            found += [job.text for job in jobs]
            client.run_many([elapse.Command((b"ACK", b"%d" % job.id, job.lease), list, again=True) for job in jobs])
        runs = os.path.getsize(self.directory + "/log")
        print(
            f"{chains} chains of 3 steps, {kills} kills of {kind} and {self.server.kills} of the server (seed {seed}): "
            f"{chains - len(set(found))} lost, "
            f"{len(found) - len(set(found))} ended twice, {runs - 3 * chains} runs of handlers repeated"
        )
        self.assertEqual(sorted(found, key=int), [str(i) for i in range(chains)])
        self.assertEqual([client.stats(f"step{i}").get("ready", 0) for i in (1, 2, 3)], [0, 0, 0])
        self.assertGreaterEqual(kills, KILLS_LEAST)
        self.assertGreaterEqual(self.server.kills, 1)

    def test_workers_of_threads(self):
        self.run_chains("threads")

    def test_workers_of_asyncio(self):
        self.run_chains("tasks")


if __name__ == "__main__":
    support.main()
