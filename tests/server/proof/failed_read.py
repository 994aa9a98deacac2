#!/usr/bin/env python3
"""failed_read.py

Tests a read of a body that fails (strace injects EIO), while the next read works. The job must be handed
out all the same, nothing may be buried, and the log, the figures of STATS and those of /metrics must show the
failure (Q9).

The test is skipped if strace is not installed or may not trace.
"""

import asyncio
import re
import sys
import tempfile
import urllib.request

import strace_log
from proof_support import PATIENCE_S, SKIPPED, Command, Resp, Server, resp


async def ask(connection, *words):
    replies = []
    await connection.ask([Command(resp(*words), lambda _, reply: replies.append(reply))])
    return replies[0]


def figures_of_metrics(server):
    port = re.search(rb"listening: http:127\.0\.0\.1:(\d+)", server.log())[1].decode()
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=PATIENCE_S) as answer:
        lines = answer.read().decode().splitlines()
    return dict(line.split(" ") for line in lines if re.match(r"elapse_\w+ ", line))


async def use(server):
    """Returns what is wrong."""
    connection = await Resp.open(server.port)
    await ask(connection, "PUT", "orders", "the body")
    jobs = await ask(connection, "RESERVE", "orders")
    figures = await ask(connection, "STATS")
    figures = dict(zip(figures[::2], figures[1::2]))
    connection.close()
    faults = []
    if len(jobs) != 1 or jobs[0][4] != "the body" or jobs[0][6] != 1:
        faults.append(f"RESERVE answers {jobs}")
    expected = {"failed_reads": 1, "damaged_bodies": 0, "buried": 0, "reserved": 1}
    if {name: figures.get(name) for name in expected} != expected:
        faults.append(f"STATS answers {figures}")
    # The next read of the place has worked.
    expected = {"elapse_failed_reads_total": "1", "elapse_unread_places": "0", "elapse_damaged_bodies_total": "0"}
    metrics = figures_of_metrics(server)
    if {name: metrics.get(name) for name in expected} != expected:
        faults.append(f"/metrics answers {metrics}")
    if not re.search(r"warning disk: journal/1\.log: at offset \d+: the disk cannot read", server.text()):
        faults.append(f"the log is\n{server.text()}")
    return faults


def main():
    refusal = strace_log.refusal()
    if refusal is not None:
        print(f"skipped: {refusal}")
        sys.exit(SKIPPED)
    with tempfile.TemporaryDirectory(prefix="elapse-read-") as directory:
        # Only bodies are read by this call.
        server = Server(directory, "--http", "127.0.0.1:0", before=["strace", "-f", "-o", f"{directory}/strace", "-e", "trace=preadv2", "-e",
                                           "inject=preadv2:error=EIO:when=1"])
        try:
            server.wait_until_ready()
            faults = asyncio.run(asyncio.wait_for(use(server), PATIENCE_S))
        finally:
            server.kill()
    for fault in faults:
        print(fault)
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
