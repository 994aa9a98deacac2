#!/usr/bin/env python3
"""Runs a server for long at about half of the load that it can carry. Memory and disk space must not grow.

    mixed.py LOAD [--seconds N] [--rate N]

LOAD is the program elapse-bench-server-timers, which puts timers, takes each and acknowledges it.
Without --rate, the script measures the peak first, for a tenth of the time. For each tenth of the run it
prints the resident memory, the bytes of the directory, and how many of these are live. It fails if

- the directory is ever larger than twice the live bytes and 5 segments;
- the memory in the second half exceeds the maximum of the first half by a tenth and 2 MiB;
- a job is lost, or comes early.

ELAPSE_PROGRAM names the program of the server.
"""

import argparse
import json
import subprocess
import sys
import time

import harness
from harness import MIB

SEGMENT_BITS = 24


def directory_bytes(path):
    total = 0
    for file in path.rglob("*"):
        try:
            if file.is_file():
                total += file.stat().st_blocks * 512
        except FileNotFoundError:  # cleaned meanwhile
            pass
    return total


def start_load(load, server, rate, seconds, ahead_ms=2000):
    return subprocess.Popen([load, str(server.port), "timers", "--rate", str(rate),
                             "--seconds", str(seconds), "--connections", "4",
                             "--ahead-ms", str(ahead_ms)], stdout=subprocess.PIPE, text=True)


def figures_of(text):
    """What the load says, without the histogram."""
    figures = json.loads(text)
    del figures["histogram"]
    return figures


def peak(load, seconds):
    """How many jobs a second a server hands out while they are put as fast as it takes them. It
    takes more than it can hand out then, so some are left over, and the server is done with."""
    with harness.server("--segment-bits", str(SEGMENT_BITS)) as server:
        text, _ = start_load(load, server, 0, seconds, 100).communicate(timeout=3600)
    figures = figures_of(text)
    print(f"peak: {figures}", flush=True)
    return figures["rate"]


def sample(server, native):
    # The live bytes change while the directory is looked at: take the larger number.
    def live():
        answer = native.ask("STATS")
        return dict(zip(answer[::2], answer[1::2]))["live_bytes"]
    before = live()
    used = directory_bytes(server.data)
    return server.memory(), used, max(before, live())


def run(load, seconds, rate):
    faults = []
    memories = []
    if rate is None:
        rate = int(peak(load, max(1, seconds / 10)) / 2)
    with harness.server("--segment-bits", str(SEGMENT_BITS)) as server:
        native = server.connect()
        running = start_load(load, server, rate, seconds)
        begun = shown = time.monotonic()
        print(f"rate {rate}\n  time  memory, MiB  directory, MiB  live, MiB")
        while running.poll() is None:
            memory, used, live = sample(server, native)
            now = time.monotonic() - begun
            memories.append((now, memory))
            allowed = 2 * live + 5 * (1 << SEGMENT_BITS)
            if used > allowed:
                faults.append(f"at {now:.0f} s the directory has {used / MIB:.1f} MiB, and "
                              f"{live / MIB:.1f} are live: {allowed / MIB:.1f} are allowed")
            if time.monotonic() - shown >= seconds / 10:
                shown = time.monotonic()
                print(f"{now:6.0f} {memory / MIB:12.1f} {used / MIB:15.1f} {live / MIB:10.1f}",
                      flush=True)
            time.sleep(min(1, seconds / 100))
        text = running.communicate()[0]
        native.__exit__()
        if running.returncode != 0:
            faults.append("the load failed: a job is missing, or was refused")
        else:
            figures = figures_of(text)
            print(figures)
            if figures["early"] > 0:
                faults.append(f"{figures['early']} jobs came early")
    first = max(m for t, m in memories if t <= seconds / 2)
    second = max(m for t, m in memories if t > seconds / 2)
    print(f"memory: most {first / MIB:.1f} MiB in the first half, {second / MIB:.1f} in the second")
    if second > first * 1.1 + 2 * MIB and not harness.SANITIZED:
        faults.append("the memory grows")
    for fault in faults[:20]:
        print(fault, file=sys.stderr)
    return not faults


def main():
    parser = argparse.ArgumentParser(description="Work at half of the peak, for long.")
    parser.add_argument("load", help="the program elapse-bench-server-timers")
    parser.add_argument("--seconds", type=float, default=1200)
    parser.add_argument("--rate", type=int, help="jobs a second; otherwise half of the peak")
    arguments = parser.parse_args()
    return 0 if run(arguments.load, arguments.seconds, arguments.rate) else 1


if __name__ == "__main__":
    sys.exit(main())
