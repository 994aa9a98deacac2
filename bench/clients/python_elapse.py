"""python_elapse.py threads|asyncio ADDRESS one|hundred|work COUNT: one measure of race.py with the package for Python."""

import asyncio
import json
import pathlib
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "clients/python/src"))

import elapse  # noqa: E402

kind, address, what, count = *sys.argv[1:4], int(sys.argv[4])
BODY = {"to": "ann@example.org"}


def threads():
    client = elapse.Client(address)
    client.put("warm", BODY)
    begun = time.perf_counter()
    if what == "one":
        for _ in range(count):
            client.put("jobs", BODY)
        return time.perf_counter() - begun
    for _ in range(count // 100):
        client.put_many(elapse.put("jobs", BODY) for _ in range(100))
    if what == "hundred":
        return time.perf_counter() - begun
    worker = elapse.Worker(client, concurrency=8)
    first = []

    @worker.handler("jobs")
    def handle(job):
        if not first:
            first.append(time.perf_counter())

    worker.run(until_idle=True)
    return time.perf_counter() - first[0]


async def tasks():
    async with elapse.AsyncClient(address) as client:
        await client.put("warm", BODY)
        begun = time.perf_counter()
        if what == "one":
            for _ in range(count):
                await client.put("jobs", BODY)
            return time.perf_counter() - begun
        for _ in range(count // 100):
            await client.put_many(elapse.put("jobs", BODY) for _ in range(100))
        if what == "hundred":
            return time.perf_counter() - begun
        worker = elapse.AsyncWorker(client, concurrency=100)
        first = []

        @worker.handler("jobs")
        async def handle(job):
            if not first:
                first.append(time.perf_counter())

        await worker.run(until_idle=True)
        return time.perf_counter() - first[0]


seconds = threads() if kind == "threads" else asyncio.run(tasks())
with elapse.Client(address) as asked:
    stats = asked.stats()
done = stats["total_done"] if what == "work" else stats["total_put"] - 1  # without the first one
print(json.dumps({"seconds": seconds, "count": done}))
