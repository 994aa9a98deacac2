"""Fake nodes of a cluster: several ports, and one table of jobs in memory. A vice is what such a node does
wrong, so that the checks can show that they see it.

    loses     forgets some of the jobs that it has acknowledged
    undoes    answers some removals, and does not do them
    lags      the last node answers look-ups from an old copy
    doubles   forgets tokens, and answers -UNKNOWN to some puts that it has done
    hurries   hands jobs out before their time
    repeats   hands jobs out again that are done
"""

import asyncio
import copy
import time

from load import NOTHING, Resp, partition_of

VICES = {"loses": "lost", "undoes": "undone", "lags": "stale", "doubles": "doubled",
         "hurries": "early", "repeats": "undone"}
COUNTED_VICES = ("loses", "undoes", "doubles")  # these are wrong now and then


class FakeCluster:
    def __init__(self, partitions, vice=None):
        self.partitions, self.vice = partitions, vice
        self.jobs, self.keys, self.tokens = {}, {}, {}
        self.numbers = [part or partitions for part in range(partitions)]
        self.copy = ({}, {})
        self.copied = 0.0
        self.steps = 0
        self.wrongs = 0  # how often hits() was true
        self.listeners = []

    def hits(self, every=20):
        self.steps += 1
        self.wrongs += self.steps % every == 0
        return self.steps % every == 0

    async def start(self, nodes):
        self.listeners = [await asyncio.start_server(lambda r, w, n=n: self.serve(n, r, w),
                                                     "127.0.0.1", 0) for n in range(nodes)]
        return [listener.sockets[0].getsockname()[1] for listener in self.listeners]

    async def stop(self):
        for listener in self.listeners:
            listener.close()

    async def serve(self, node, reader, writer):
        link = Resp(reader, writer)
        is_last = node == len(self.listeners) - 1
        try:
            while True:
                words = await link.receive()
                verb = getattr(self, "do_" + words[0].lower())
                writer.write(self.encode(verb(words[1:], is_last)))
                await asyncio.sleep(0)
        except (OSError, asyncio.IncompleteReadError, asyncio.CancelledError):
            writer.close()

    def encode(self, value):
        if isinstance(value, list):
            return b"*%d\r\n" % len(value) + b"".join(self.encode(v) for v in value)
        if isinstance(value, int):
            return b":%d\r\n" % value
        if value == NOTHING:
            return b"$-1\r\n"
        if value.startswith("-"):
            return value.encode() + b"\r\n"
        return b"$%d\r\n%s\r\n" % (len(value), value.encode())

    # ---- commands ----

    def do_put(self, words, _is_last):
        tube, body = words[:2]
        options = dict(zip(words[2::2], words[3::2]))
        key, token = options.get("KEY"), options["TOKEN"]
        forgets = self.vice == "doubles"
        if token in self.tokens and not forgets:
            return [self.tokens[token], "known"]
        part = partition_of(*((tube, key) if key else ("", token)), self.partitions)
        number = self.numbers[part]
        self.numbers[part] += self.partitions
        old = self.keys.get((tube, key)) if key else None
        if old is not None:
            self.jobs.pop(old, None)
        if key:
            self.keys[tube, key] = number
        wait = options["IN"]
        seconds = 36000 if wait == "10h" else int(wait[:-2]) / 1000
        if not (self.vice == "loses" and self.hits()):
            self.jobs[number] = [tube, key, body, time.monotonic() + seconds, 0]
        self.tokens[token] = number
        if forgets and self.hits():
            return "-UNKNOWN the partition was lost"
        return [number, "scheduled" if old is None else "replaced"]

    def remove(self, number):
        if number not in self.jobs:
            return "gone"
        if not (self.vice == "undoes" and self.hits()):
            job = self.jobs.pop(number)
            self.keys.pop((job[0], job[1]), None)
        return "removed"

    def do_cancel(self, words, _is_last):
        return [self.remove(self.keys.get((words[0], words[1])))]

    def do_cancelid(self, words, _is_last):
        return [self.remove(int(words[0]))]

    def do_cancelall(self, words, _is_last):
        mine = [number for number, job in self.jobs.items() if job[0] == words[0]]
        for number in mine:
            del self.jobs[number]
        return ["removed", len(mine), "running", 0]

    def shown(self, number, is_last):
        jobs = self.jobs
        if self.vice == "lags" and is_last:
            if time.monotonic() - self.copied > 0.3:
                self.copy = (copy.copy(self.jobs), copy.copy(self.keys))
                self.copied = time.monotonic()
            jobs = self.copy[0]
        return ["id", number, "body", jobs[number][2]] if number in jobs else NOTHING

    def do_lookup(self, words, is_last):
        keys = self.copy[1] if self.vice == "lags" and is_last else self.keys
        return self.shown(keys.get((words[0], words[1])), is_last)

    def do_lookupid(self, words, is_last):
        return self.shown(int(words[0]), is_last)

    def do_stats(self, words, _is_last):
        return ["delayed", sum(job[0] == words[0] for job in self.jobs.values())]

    def do_reserve(self, words, _is_last):
        now = time.monotonic() + (0.2 if self.vice == "hurries" else 0)
        found = []
        for number, job in self.jobs.items():
            if job[0] == words[0] and job[3] <= now and job[4] <= now:
                job[4] = now + 1
                found.append([number, f"1-{number}", job[0], NOTHING, job[2], 0, 1, 0])
        return found

    def do_ack(self, words, _is_last):
        for number in words[::2]:
            if self.vice == "repeats":
                self.jobs[int(number)][4] = 0
            else:
                self.jobs.pop(int(number), None)
        return ["ok"] * (len(words) // 2)
