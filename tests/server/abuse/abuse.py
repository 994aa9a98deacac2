#!/usr/bin/env python3
"""Attacks the server with bad clients. For each attack it shows the memory of the server, and how a
well-behaved client is served meanwhile.

    abuse.py [--long] [ATTACK...]

ELAPSE_PROGRAM names the program. The long form has the full numbers: 10,000 idle connections, and 1,000
new connections a second for 20 seconds. Each row has the resident memory before the attack, its maximum
during the attack, and the memory after it. It also has figures of the well-behaved client, before and
during the attack: p50, p99 and the longest latency of a put or an acknowledgement, and the lateness of a
job.

The test fails if the memory exceeds the bound of the attack, if a reply is wrong, if the well-behaved
client is not served, or if a job comes early. It also fails if the median latency of that client grows
by more than FACTOR. The growth is compared with the latency before, and with that of a second server at
the same time, which nobody attacks. So nothing here depends on how fast the machine is, or on what else
it does.
"""

import argparse
import multiprocessing
import sys
import time
import traceback

import attacks
import harness
from harness import MIB

FACTOR = 50
FLOOR_MS = 1.0  # a median below counts as this: it is the noise of the machine

# Name, bytes that each connection may cost (the limits of docs, see bound), how many connections
# there are in the long form, and options of the server.
#
# A connection that does not read costs up to --max-output, one reply beyond it (a megabyte of
# bodies), as much again while a buffer grows, and its input; one that stays in half a command
# costs its bytes, rounded up to a power of two; an idle one its objects.
OUTPUT = 6 * MIB
ATTACKS = [
    ("slow_peeks", OUTPUT, 20, {}),
    ("slow_lookups", OUTPUT, 20, {}),
    ("slow_reserves", OUTPUT, 20, {}),
    ("slow_great_reserves", OUTPUT, 4, {}),
    ("slow_lists", OUTPUT, 20, {}),
    ("hogs", 640 << 10, 400, {}),
    ("halves", 128 << 10, 2000, {}),
    ("idle", 4096, 10000, {}),
    ("come_and_go", MIB, 4, {}),
    ("too_many", 64 << 10, 100, {"files": 100}),
    ("great_header", 2 * MIB, 1, {}),
    ("nested", 2 * MIB, 1, {}),
    ("many_arguments", 2 * MIB, 1, {}),
    ("long_line", 2 * MIB, 1, {}),
    ("http", 2 * MIB, 1, {}),
    ("garbage", 2 * MIB, 1, {}),
]
SPARE = 4 * MIB  # what any work costs once: batches, caches of the allocator


def attack(name, port, scale, channel):
    """Runs an attack. This function is the main function of a process of its own."""
    said = None
    try:
        said = getattr(attacks, name)(port, scale, lambda: channel.send("under way"))
        failure = None
    except BaseException:  # the parent prints it, whatever it is
        failure = traceback.format_exc()
    channel.send((said, failure))
    # Its connections stay until the other side has looked.
    channel.recv()


class Measured:
    def __init__(self):
        self.latency = harness.Samples()
        self.lateness = harness.Samples()

    def take(self, probe):
        probe.round(self.latency, self.lateness)


def measure(name, server, spared, scale):
    """Returns what to print, and faults. `spared` is the server that is not attacked."""
    probe, spared_probe = harness.Probe(server), harness.Probe(spared)
    before, during, elsewhere = Measured(), Measured(), Measured()
    for _ in range(40 if scale < 1 else 200):
        before.take(probe)
    memory = server.memory()
    server.forget_peak()
    mine, its = multiprocessing.Pipe()
    other = multiprocessing.Process(target=attack, args=(name, server.port, scale, its))
    processor_s, begun = server.processor_s(), time.monotonic()
    other.start()
    message = None
    while not isinstance(message, tuple):
        during.take(probe)
        elsewhere.take(spared_probe)
        if mine.poll():
            message = mine.recv()
            if message == "under way":  # before, it put the jobs that it needs
                during, elsewhere = Measured(), Measured()
    processor_part = (server.processor_s() - processor_s) / (time.monotonic() - begun)
    during.take(probe)
    elsewhere.take(spared_probe)
    most = server.memory("VmHWM")
    mine.send("end")
    other.join()
    during.take(probe)
    probe.close()
    spared_probe.close()
    usual_ms = max(before.latency.at(0.5), elsewhere.latency.at(0.5), FLOOR_MS)
    return memory, most, server.memory(), before, during, usual_ms, processor_part, message


def bound(name, each, count, scale):
    return SPARE + each * attacks.scaled(count, scale, attacks.HOGS_LEAST if name == "hogs" else min(count, 4))


def try_one(name, each, count, options, scale):
    plain = ("--durability", "interval=50", "--segment-bits", "24")
    with harness.server(*plain, **options) as server, harness.server(*plain) as spared:
        memory, most, after, before, during, usual_ms, part, (said, failure) = measure(
            name, server, spared, scale)
    faults = [] if failure is None else [failure]
    grown, allowed = most - memory, bound(name, each, count, scale)
    if grown > allowed and not harness.SANITIZED:
        faults.append(f"its memory grew by {grown / MIB:.1f} MiB; allowed are {allowed / MIB:.1f}")
    if during.latency.at(0.5) > FACTOR * usual_ms:
        faults.append(f"the median latency of the other client was {during.latency.at(0.5):.2f} ms, "
                      f"and {usual_ms:.2f} ms before or at a server that nobody attacked")
    # It sleeps while it has no descriptor for more connections.
    if name == "too_many" and part > 0.7:
        faults.append(f"it was busy {part:.0%} of the time")
    print(f"{name:20} {memory / MIB:6.1f} {most / MIB:6.1f} {after / MIB:6.1f}   "
          f"{before.latency.text():>19} {during.latency.text():>19}   "
          f"{before.lateness.text():>19} {during.lateness.text():>19}  "
          f"{part:4.0%} {said or ''}", flush=True)
    for fault in faults:
        print(f"{name}: {fault}", file=sys.stderr)
    return not faults


def main():
    parser = argparse.ArgumentParser(description="The server and its bad clients.")
    parser.add_argument("--long", action="store_true", help="the full numbers")
    parser.add_argument("attacks", nargs="*", metavar="ATTACK")
    arguments = parser.parse_args()
    known = [row[0] for row in ATTACKS]
    for name in arguments.attacks:
        if name not in known:
            parser.error(f"{name} is none of: {' '.join(known)}")
    print("                     memory, MiB            latency, ms: p50 p99 max                  "
          "lateness, ms: p50 p99 max             processor")
    print("attack               before   most  after                before              during"
          "                before              during")
    fine = [try_one(*row, 1 if arguments.long else 0.02) for row in ATTACKS
            if not arguments.attacks or row[0] in arguments.attacks]
    return 0 if all(fine) else 1


if __name__ == "__main__":
    sys.exit(main())
