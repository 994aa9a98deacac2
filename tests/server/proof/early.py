#!/usr/bin/env python3
"""early.py [--rounds N]

Tests that no job comes early (Q1), not even when nothing else takes time. The client measures a delay of
few milliseconds from before the put to after the hand-out. The server's clock counts in milliseconds. A
job that is put near the end of one millisecond must not come early in another.
"""

import argparse
import asyncio
import sys
import tempfile
import time

from proof_support import Command, Resp, Server, resp

DELAYS_MS = (1, 2, 3, 7)


async def measure(server, rounds):
    """Returns the least lateness in milliseconds, and how often it was negative."""
    link, least, early = await Resp.open(server.port), float("inf"), 0
    for i in range(rounds):
        delay_ms, got = DELAYS_MS[i % len(DELAYS_MS)], []
        began = time.monotonic()
        await link.ask([
            Command(resp("PUT", "t", "x", "IN", f"{delay_ms}ms"), lambda c, reply: None),
            Command(resp("RESERVE", "t", "WAIT", "60s"), lambda c, reply: got.append(reply))])
        late_ms = (time.monotonic() - began) * 1e3 - delay_ms
        least, early = min(least, late_ms), early + (late_ms < 0)
        await link.ask([Command(resp("ACK", *got[0][0][:2]), lambda c, reply: None)])
    link.close()
    return least, early


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--rounds", type=int, default=400)
    options = parser.parse_args()
    failed = False
    for durability in ("sync", "memory"):
        with tempfile.TemporaryDirectory(prefix="elapse-early-") as directory:
            server = Server(directory, "--durability", durability)
            try:
                server.wait_until_ready()
                least, early = asyncio.run(measure(server, options.rounds))
                server.stop()
            finally:
                server.kill()
        print(f"{durability}: {early} of {options.rounds} are early; the least lateness is {least:.3f} ms")
        failed = failed or early > 0
    sys.exit(1 if failed else 0)


if __name__ == "__main__":
    main()
