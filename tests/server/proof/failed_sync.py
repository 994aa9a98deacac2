#!/usr/bin/env python3
"""failed_sync.py [--times N] [--seed S]

Tests a sync that fails under load (strace injects EIO). The server must say so, and end by itself with a
status (Q11). No reply may tell of a record that was not synced before (Q4). The next start must lose
nothing that was acknowledged (Q2, Q3). Then tests the same with a write that fails.

The test is skipped if strace is not installed or may not trace.
"""

import argparse
import asyncio
import sys
import tempfile

import strace_log
from book import Book
from clients import BeanstalkdClient, RespClient
from kill import end, live
from order import World, examine, use
from proof_support import PATIENCE_S, SKIPPED, Server

STATUS_FAILED = 1
CONNECTIONS = 10
ENDLESS = 10 ** 9  # commands: until the server ends


def inject(call, when):
    return ["-e", f"inject={call}:error=EIO:when={when}"]


def ended_well(server, faults):
    """The server ends by itself, and says why."""
    status = server.process.wait(PATIENCE_S)
    if status != STATUS_FAILED:
        faults.append(f"the server has ended with {status}")
    if "writing or syncing failed: Input/output error" not in server.text():
        faults.append(f"the server did not say why it ended:\n{server.text()}")


async def keep_all(directory, call, when, seed):
    """Returns the faults of a run with every kind of command, and of the next start."""
    book = Book()
    clients = [(BeanstalkdClient if i % 2 else RespClient)(i, book, seed * 1000 + i)
               for i in range(CONNECTIONS)]
    server = Server(directory, before=strace_log.prefix(f"{directory}/strace", *inject(call, when)))
    try:
        server.wait_until_ready()
        book.begin_life()
        await asyncio.wait_for(
            asyncio.gather(*(live(client, server, book) for client in clients)), PATIENCE_S)
        ended_well(server, book.faults)
    finally:
        server.kill()
    server = Server(directory)
    try:
        server.wait_until_ready()
        await end(clients, server, book)
        server.stop()
    finally:
        server.kill()
    return book.faults, book.counts.get("answered", 0)


async def reply_late(directory, call, when, seed):
    """Returns the faults of a run whose replies are compared with the syncs before them."""
    world, log = World(seed), f"{directory}/strace"
    server = Server(directory, before=strace_log.prefix(log, *inject(call, when)))
    faults = []
    try:
        server.wait_until_ready()
        await asyncio.wait_for(use(server, world, ENDLESS), PATIENCE_S)
        ended_well(server, faults)
    finally:
        server.kill()
    early, needing, _ = examine(world, strace_log.read_calls(log))
    return faults + early, needing


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--times", type=int, default=3)
    parser.add_argument("--seed", type=int, default=1)
    options = parser.parse_args()
    refusal = strace_log.refusal()
    if refusal is not None:
        print(f"skipped: {refusal}")
        sys.exit(SKIPPED)
    failed = False
    for i in range(options.times):
        # The count is of each thread. The first calls are of the start, when nobody is there.
        for call, when in (("fdatasync", 5 + 6 * i), ("pwrite64", 9 + 7 * i)):
            for run in (keep_all, reply_late):
                with tempfile.TemporaryDirectory(prefix="elapse-sync-") as directory:
                    faults, count = asyncio.run(run(directory, call, when, options.seed + i))
                print(f"{call} number {when} fails, {run.__name__}: {count} replies, {len(faults)} faults")
                for fault in faults[:20]:
                    print(f"    {fault}")
                failed = failed or bool(faults) or count == 0
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
