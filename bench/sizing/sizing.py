#!/usr/bin/env python3
"""Which tick, how many slots, which structure: replays four made-up situations through
`elapse replay` with each, and prints what it cost. Used by `./dev bench --sizing`.

Usage: sizing.py ELAPSE [--quick] [--csv FILE] [--situations NAME...] [--structures NAME...]
                 [--ticks DURATION...]

A situation is a trace, the same each time (seed 12345). Every replay is judged as `elapse
replay` does: nothing early, and of one situation the same timers fire whatever the structure.
The time for an operation includes advancing, popping and moving; wake-ups are how often the
structure asked to be woken, which on a real machine costs some microseconds each.
"""
import argparse
import csv
import json
import os
import random
import re
import subprocess
import sys
import tempfile
import time

SECOND_US = 1_000_000
LOOKS_MOST = 1_000_000_000
STRUCTURES = [
    "wheel", "heap", "dials:64", "dials:512", "dials:1024", "dials:60,60,24,30",
    "hashed:64", "hashed:512", "hashed:1024", "hashed:65536",
]
TICKS = ["1ms", "10ms", "50ms", "100ms", "200ms"]


def requests(source, scale):
    """Requests of a busy server: 1 s to answer; nearly all are answered within some 20 ms."""
    count = 200_000 // scale
    for number in range(count):
        begin_us = number * 100
        answer_us = int(source.expovariate(1 / 20_000)) + 1
        yield begin_us, "start", number, SECOND_US
        if answer_us < SECOND_US and source.random() < 0.999:
            yield begin_us + answer_us, "cancel", number, ""


def idle(source, scale):
    """Connections: 60 s without a word and they are closed; each speaks every few seconds."""
    connections = 5_000 // scale
    for number in range(connections):
        now_us = source.randrange(10 * SECOND_US)
        yield now_us, "start", number, 60 * SECOND_US
        while now_us < 300 * SECOND_US:
            pause_us = int(source.expovariate(1 / (8 * SECOND_US))) + 1
            if pause_us >= 60 * SECOND_US:
                break
            now_us += pause_us
            yield now_us, "restart", number, 60 * SECOND_US


def orders(source, scale):
    """Orders: half an hour to pay; nine in ten are paid, at any time before."""
    for number in range(100_000 // scale):
        begin_us = source.randrange(10 * SECOND_US)
        yield begin_us, "start", number, 1800 * SECOND_US
        if source.random() < 0.9:
            yield begin_us + source.randrange(1, 1800 * SECOND_US), "cancel", number, ""


def sparse(source, scale):
    """Few timers, far apart: some hundred jobs, each due within a day, over a week."""
    for number in range(2_000 // scale):
        begin_us = source.randrange(7 * 86_400 * SECOND_US)
        yield begin_us, "start", number, source.randrange(1, 86_400 * SECOND_US)


SITUATIONS = {"requests": requests, "idle": idle, "orders": orders, "sparse": sparse}


def write_trace(path, situation, scale):
    """Ends with an operation past the last deadline, so that all is replayed. Returns the sum of
    all delays."""
    operations = sorted(situation(random.Random(12345), scale), key=lambda operation: operation[0])
    deadlines = [time_us + delay_us for time_us, _, _, delay_us in operations if delay_us != ""]
    with open(path, "w", encoding="ascii") as trace:
        trace.write("time_us,op,key,delay_us,tag\n")
        for time_us, kind, key, delay_us in operations:
            trace.write(f"{time_us},{kind},{key},{delay_us},\n")
        trace.write(f"{max(deadlines) + SECOND_US},start,last,1,\n")
    return sum(delay_us for _, _, _, delay_us in operations if delay_us != "")


def check_names(elapse, structure, tick):
    """Ends the program unless both are what `elapse replay` takes."""
    empty = b"time_us,op,key,delay_us,tag\n"
    if subprocess.run([elapse, "replay", "--structure", structure, "--tick", tick, "-"],
                      input=empty, stdout=subprocess.DEVNULL, check=False).returncode != 0:
        sys.exit(2)


def replay(elapse, trace, structure, tick):
    """The figures of the quickest of three, or of one that took long."""
    best = None
    began = time.monotonic()
    for _ in range(3):
        if best is not None and time.monotonic() - began > 5:
            break
        done = subprocess.run([elapse, "replay", "--json", "--structure", structure, "--tick", tick,
                               trace], stdout=subprocess.PIPE, text=True, check=False)
        if done.returncode != 0:
            sys.exit(f"sizing.py: {structure} at {tick}: elapse replay failed")
        figures = json.loads(done.stdout)
        if best is None or figures["ns_per_operation"] < best["ns_per_operation"]:
            best = figures
    return best


def takes_too_long(structure, tick, delays_us):
    """A hashed wheel looks at each timer once a turn: whether that would be billions of times."""
    name, _, slots = structure.partition(":")
    if name != "hashed":
        return False
    turn_us = int(slots or 512) * int(tick.removesuffix("ms")) * 1000
    return delays_us / turn_us > LOOKS_MOST


def measure(options, situation, directory):
    """A row for each tick and structure."""
    trace = os.path.join(directory, situation + ".csv")
    delays_us = write_trace(trace, SITUATIONS[situation], 20 if options.quick else 1)
    rows = []
    for tick in options.ticks:
        digests = set()
        for structure in options.structures:
            if takes_too_long(structure, tick, delays_us):
                continue
            figures = replay(options.elapse, trace, structure, tick)
            digests.add((figures["digest"], figures["fired"], figures["pending"]))
            armings = figures["started"] + figures["restarted"]
            rows.append({
                "situation": situation, "tick": tick, "structure": structure,
                "ns_per_operation": figures["ns_per_operation"],
                "wakeups": figures["wakeups"],
                "moves_per_arming": figures["moves"] / armings,
                "fired": figures["fired"], "peak_pending": figures["peak_pending"],
            })
        if len(digests) != 1:
            sys.exit(f"sizing.py: {situation} at {tick}: the structures fired different timers")
    return rows


def print_table(situation, rows):
    """One line a structure, three columns a tick."""
    ticks = list(dict.fromkeys(row["tick"] for row in rows))
    print(f"\n{situation}: {SITUATIONS[situation].__doc__}")
    print(f"peak of {rows[0]['peak_pending']} pending, {rows[0]['fired']} fire; for each tick: "
          "ns an operation, wake-ups, moves or visits for each arming")
    print(f"{'':20}" + "".join(f"{tick:>30}" for tick in ticks))
    for structure in dict.fromkeys(row["structure"] for row in rows):
        by_tick = {row["tick"]: row for row in rows if row["structure"] == structure}
        cells = "".join(
            "{ns_per_operation:>10.0f} {wakeups:>9} {moves_per_arming:>9.2f}".format(**by_tick[tick])
            if tick in by_tick else f"{'takes minutes':>30}" for tick in ticks)
        print(f"{structure:20}{cells}")


def main():
    parser = argparse.ArgumentParser(prog="sizing.py", description=__doc__.split("\n\n")[0])
    parser.add_argument("elapse", metavar="ELAPSE", help="the program")
    parser.add_argument("--quick", action="store_true", help="a twentieth of each situation")
    parser.add_argument("--csv", metavar="FILE", help="write the figures to this file too")
    for name, known in (("situations", list(SITUATIONS)), ("structures", STRUCTURES),
                        ("ticks", TICKS)):
        parser.add_argument("--" + name, default=known, metavar="NAME", nargs="+",
                            help=f"instead of {' '.join(known)}")
    options = parser.parse_args()
    for situation in options.situations:
        if situation not in SITUATIONS:
            parser.error(f"there is no situation {situation}, but: {', '.join(SITUATIONS)}")
    for tick in options.ticks:
        if re.fullmatch("[1-9][0-9]*ms", tick) is None:
            parser.error(f"a tick is a whole number of milliseconds, such as 10ms, not {tick}")
        for structure in options.structures:
            check_names(options.elapse, structure, tick)
    figures = open(options.csv, "w", encoding="ascii", newline="") if options.csv else None
    all_rows = []
    with tempfile.TemporaryDirectory() as directory:
        for situation in options.situations:
            rows = measure(options, situation, directory)
            print_table(situation, rows)
            sys.stdout.flush()
            all_rows += rows
    if figures is not None:
        with figures:
            writer = csv.DictWriter(figures, fieldnames=list(all_rows[0]))
            writer.writeheader()
            writer.writerows(all_rows)


if __name__ == "__main__":
    main()
