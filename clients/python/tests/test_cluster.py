"""test_cluster.py: the owner of a cluster is killed while clients put and workers work: no put is lost and none
doubles, and the workers go on at the next owner. ../../in_cluster.py starts the cluster."""

import asyncio
import collections
import os
import socket
import sys
import threading
import unittest

import support

support.need(("redis", "python3-redis"))

import elapse  # noqa: E402

if "ELAPSE_CLUSTER" not in os.environ:
    print("skipped: there is no cluster (clients/in_cluster.py starts one)")
    sys.exit(support.SKIPPED)

ADDRESSES = os.environ["ELAPSE_CLUSTER"].split(",")
KILLS = 3
PUTTERS = 4
OPTIONS = {"ttr": "5s", "attempts": 0, "backoff": ("0s", "0s")}


def kill_owner():
    """Kills the node that owns the queue, and returns when another one is the owner."""
    host, port = os.environ["ELAPSE_CLUSTER_CONTROL"].split(":")
    with socket.create_connection((host, int(port))) as control, control.makefile("rw") as file:
        file.write("kill\n")
        file.flush()
        answer = file.readline()
    assert answer.startswith("killed "), answer


class Load:
    """What was put and what was done."""

    def __init__(self, tube):
        self.tube = tube
        self.puts, self.runs = [], collections.Counter()
        self.over = threading.Event()

    def names(self, number):
        """Names for a putter, one after another, while the load goes on."""
        i = 0
        while not self.over.is_set():
            yield f"{number}-{i}"
            i += 1


class OwnerKilled(unittest.TestCase):
    def setUp(self):
        self.client = elapse.Client(*ADDRESSES, deadline="2m")
        self.addCleanup(self.client.close)

    def kill(self, load):
        """Kills owner after owner, under load: puts and runs go on before the first and behind each."""
        for kill in range(KILLS + 1):
            puts, runs = len(load.puts), load.runs.total()
            while len(load.puts) < puts + 50 or load.runs.total() < runs + 50:
                self.client.reserve("nothing", wait="20ms")
            if kill < KILLS:
                kill_owner()
        load.over.set()

    def check(self, load, worker):
        while len(load.runs) < len(load.puts):
            self.client.reserve("nothing", wait="20ms")
        worker.stop()
        kept = collections.Counter(
            self.client.lookup_id(job.id).body.decode() for job in self.client.list(load.tube + "-kept")
        )
        print(
            f"{len(load.puts)} puts twice, {KILLS} owners killed: {len(set(load.puts) - set(kept))} lost, "
            f"{kept.total() - len(kept)} doubled, {load.runs.total() - len(load.runs)} runs of handlers repeated"
        )
        self.assertEqual(sorted(kept.elements()), sorted(load.puts))
        self.assertEqual(set(load.runs), set(load.puts))

    def test_threads(self):
        load = Load("threads")
        worker = elapse.Worker(self.client.like(), concurrency=4)

        @worker.handler(load.tube)
        def handle(job):
            load.runs[job.text] += 1

        def put(number):
            for name in load.names(number):
                self.client.put(load.tube, name, **OPTIONS)
                self.client.put(load.tube + "-kept", name)
                load.puts.append(name)

        threads = [threading.Thread(target=put, args=(i,), daemon=True) for i in range(PUTTERS)]
        runner = threading.Thread(target=worker.run, daemon=True)
        for thread in (*threads, runner):
            thread.start()
        self.kill(load)
        for thread in threads:
            thread.join()
        self.check(load, worker)
        runner.join()

    def test_asyncio(self):
        load = Load("tasks")

        async def run():
            async with elapse.AsyncClient(*ADDRESSES, deadline="2m") as client:
                worker = elapse.AsyncWorker(client.like(), concurrency=4)

                @worker.handler(load.tube)
                async def handle(job):
                    load.runs[job.text] += 1

                async def put(number):
                    for name in load.names(number):
                        await client.put(load.tube, name, **OPTIONS)
                        await client.put(load.tube + "-kept", name)
                        load.puts.append(name)

                runner = asyncio.create_task(worker.run())
                putters = [asyncio.create_task(put(i)) for i in range(PUTTERS)]
                await asyncio.to_thread(self.kill, load)
                await asyncio.gather(*putters)
                await asyncio.to_thread(self.check, load, worker)
                await runner

        asyncio.run(run())


if __name__ == "__main__":
    support.main()
