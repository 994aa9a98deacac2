#!/usr/bin/env python3
"""kill.py [--rounds N] [--seed S] [--connections N] [--expect-loss] [-- OPTION...]

Kills a server again and again (kill -9) while it is under load from many connections of both protocols.
Each client knows what it sent and what was answered, and book.py says what must not happen then. At the
end all jobs are taken out, and those that were acknowledged must be among them.

--expect-loss is for a server that is started so that it loses jobs (OPTION --durability memory). The
proof must notice that, because a proof that cannot fail proves nothing.
"""

import argparse
import asyncio
import random
import sys
import tempfile
import time

from book import Book
from clients import TUBES, BeanstalkdClient, RespClient
from proof_support import PATIENCE_S, Command, Resp, Server, resp

FAULTS_SHOWN = 20


async def live(client, server, book):
    """One client in one life of the server: until it dies."""
    try:
        link = await client.protocol.open(server.port)
    except ConnectionError:
        return
    try:
        alive = await link.ask(client.greet(), book)
        while alive and not book.faults:
            alive = await link.ask(client.steps(), book)
            # Leases that nobody ends are ended by time.
            if client.random.random() < 0.02:
                await asyncio.sleep(0.05)
    finally:
        link.close()


async def one_round(clients, server, book, seconds):
    book.begin_life()
    puts = book.counts.get("put", 0)
    lives = [asyncio.create_task(live(client, server, book)) for client in clients]
    await asyncio.sleep(seconds)
    # If the machine stood still meanwhile, the server has done nothing that a kill could undo.
    end = time.monotonic() + PATIENCE_S
    while book.counts.get("put", 0) == puts and not all(life.done() for life in lives) and time.monotonic() < end:
        await asyncio.sleep(0.005)
    server.process.kill()
    await asyncio.gather(*lives)
    server.process.wait()


class Question:
    """Asks one thing at a time."""

    def __init__(self, link, book):
        self.link, self.book = link, book

    async def ask(self, *words):
        got = []
        if not await self.link.ask([Command(resp(*words), lambda c, r: got.append((c, r)))], self.book):
            raise AssertionError("the server has died by itself")
        self.sent = got[0][0].sent
        return got[0][1]


async def take_all(question, book):
    """Takes all jobs out that become ready, until none is left."""
    end = time.monotonic() + PATIENCE_S
    while True:
        jobs = await question.ask("RESERVE", *TUBES, "COUNT", 1000, "WAIT", "100ms")
        sent = question.sent
        for number, name, _tube, _key, body, *_rest in jobs:
            book.handed_out(body, number, name, sent, None)
        if jobs:
            answers = await question.ask("ACK", *(word for job in jobs for word in job[:2]))
            for job, answer in zip(jobs, answers, strict=True):
                if job[4] in book.jobs:
                    book.removal_ended(book.jobs[job[4]], answer)
            end = time.monotonic() + PATIENCE_S  # it goes on, however slowly
            continue
        figures = await question.ask("STATS")
        figures = dict(zip(figures[::2], figures[1::2], strict=True))
        if figures["buried"] > 0:
            for tube in TUBES:
                own = await question.ask("STATS", tube)
                if isinstance(own, list) and own[own.index("buried") + 1] > 0:
                    await question.ask("KICK", tube, own[own.index("buried") + 1])
        elif figures["delayed"] + figures["ready"] + figures["reserved"] \
                + figures["cancelled_running"] == 0:
            return
        if time.monotonic() > end:
            book.fault(f"jobs are left that nobody gets: {figures}")
            return


async def end(clients, server, book):
    """The last life: all keys are looked at and cancelled, and all jobs taken out."""
    book.begin_life()
    link = await Resp.open(server.port)
    for client in clients:
        if isinstance(client, RespClient):
            await link.ask(client.greet(), book)
            await link.ask([Command(resp("CANCEL", "keys", key), lambda c, r: None)
                            for key in client.keys.states], book)
    await take_all(Question(link, book), book)
    link.close()
    for job in book.missing():
        book.fault(f"Q2 {job} ({job.id}) was acknowledged, and is lost")


async def prove(options, directory):
    book, chance = Book(), random.Random(options.seed)
    clients = [(BeanstalkdClient if i % 2 else RespClient)(i, book, options.seed * 1000 + i)
               for i in range(options.connections)]
    starts = []
    for i in range(options.rounds + 1):
        began = time.monotonic()
        server = Server(directory, *options.options)
        try:
            server.wait_until_ready()
            starts.append(time.monotonic() - began)
            if i < options.rounds:
                await one_round(clients, server, book, chance.uniform(0.05, 0.8))
            else:
                await end(clients, server, book)
                server.stop()
        finally:
            server.kill()
        if book.faults:
            break
    return book, max(starts)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=100)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--connections", type=int, default=50)
    parser.add_argument("--expect-loss", action="store_true")
    parser.add_argument("options", nargs="*")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="elapse-kill-") as directory:
        book, slowest = asyncio.run(prove(options, directory))
    for fault in book.faults[:FAULTS_SHOWN]:
        print(fault[:200])
    counts = ", ".join(f"{count} {name}" for name, count in sorted(book.counts.items()))
    print(f"seed {options.seed}, {book.life - 1} kills, {options.connections} connections: {counts}; "
          f"slowest start {slowest:.3f} s; {len(book.faults)} faults")
    if options.expect_loss:
        sys.exit(0 if any("Q2" in fault for fault in book.faults) else 1)
    # A run in which nothing happened proves nothing.
    worked = all(book.counts.get(name, 0) > options.rounds
                 for name in ("put", "removed", "handed out", "keys looked at"))
    sys.exit(0 if worked and not book.faults else 1)


if __name__ == "__main__":
    main()
