#!/usr/bin/env python3
"""sizes.py [--jobs N] [--partitions P] [--nodes 2,4,6] [--followers F] [--segment-bits BITS] [--csv FILE]

Measures what the nodes of a cluster take when each partition has --followers copies beside its owner's: all jobs are
put, and for each node the script prints how many partitions it owns and how many copies it has, its resident
memory, and the disk space of its directory: of the copies that it has, and of all files, as those of a copy that was
given up stay. It fails if the copies of two nodes differ by more than one.

`cmake --preset bench` builds the load, and --tools is its folder bench. ELAPSE_PROGRAM is the program. The script
needs the package postgresql.
"""

import argparse
import csv
import subprocess
import sys
import time

from copies import directory_of, lists_of, wait_for_copies
from load import ROOT, LoopThread
from nodes import cluster, wait_until
from throughput import Loads, new_cluster, remove, resident_bytes, sessions, settings

BALANCE_AFTER = ("--balance-after", "3s")
SETTLED_S = 2.0
MIB = 1 << 20


def disk_bytes(directory):
    done = subprocess.run(["du", "-s", "--block-size=1", str(directory)], capture_output=True, text=True, check=True)
    return int(done.stdout.split()[0])


def owned(it):
    owners = [it.node_at(row[2]) for row in it.databases.rows().values()]
    return {node: owners.count(node) for node in it.nodes}


def copies(it):
    members = [node for nodes in lists_of(it).values() for node in nodes]
    return {node: members.count(node) for node in it.nodes}


def is_even(counts):
    return max(counts.values()) - min(counts.values()) <= 1


def wait_until_even(it):
    wait_for_copies(it)
    wait_until(lambda: is_even(owned(it)) and is_even(copies(it)), "owners and copies are even", 180)
    wait_for_copies(it)


def measure(loop, options, count):
    words = BALANCE_AFTER + (("--segment-bits", str(options.segment_bits)) if options.segment_bits else ())
    it = new_cluster(loop, options.partitions, count, words, followers=min(options.followers, count - 1))
    try:
        it.start()
        wait_until_even(it)
        empty = {node: resident_bytes(node) for node in it.nodes}
        loads = Loads(options.tools, it)
        begun = time.monotonic()
        running = [loads.start(node, i, "put-key", connections=4, window=512, count=options.jobs // count)
                   for i, node in enumerate(it.nodes)]
        for load in running:
            loads.finish(load)
        took_s = time.monotonic() - begun
        wait_until_even(it)
        time.sleep(SETTLED_S)
        has, owns, lists = copies(it), owned(it), lists_of(it)
        print(f"{count} nodes, {options.jobs} jobs put in {took_s:.0f} s, {sessions(it)} sessions of the database",
              flush=True)
        rows = []
        for node in it.nodes:
            rows.append({"nodes": count, "node": node.number, "owns": owns[node], "copies": has[node],
                         "resident_bytes": resident_bytes(node), "resident_bytes_empty": empty[node],
                         "disk_bytes_of_copies": sum(disk_bytes(directory_of(node, part))
                                                     for part, members in lists.items() if node in members),
                         "disk_bytes": disk_bytes(node.directory / "data")})
            print("    node {node}: owns {owns}, {copies} copies, {resident:.0f} MiB resident ({empty:.0f} when empty), "
                  "{disk:.0f} MiB of disk for these copies, {files:.0f} in all".format(
                      resident=rows[-1]["resident_bytes"] / MIB, empty=empty[node] / MIB,
                      disk=rows[-1]["disk_bytes_of_copies"] / MIB, files=rows[-1]["disk_bytes"] / MIB, **rows[-1]),
                  flush=True)
        if not is_even(has):
            raise cluster.Failure(f"the copies of nodes differ: {list(has.values())}")
        return rows
    finally:
        remove(it)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", type=int, default=3_000_000)
    parser.add_argument("--partitions", type=int, default=12)
    parser.add_argument("--nodes", default="2,4,6")
    parser.add_argument("--followers", type=int, default=1)
    parser.add_argument("--segment-bits", type=int, help="of the nodes (theirs)")
    parser.add_argument("--tools", default=str(ROOT / "build/bench/bench"))
    parser.add_argument("--csv")
    options = parser.parse_args()
    if cluster.folder_of_programs() is None:
        print("skipped: PostgreSQL is not installed (the package postgresql)")
        sys.exit(77)
    settings(False)
    loop, rows = LoopThread(), []
    try:
        for count in map(int, options.nodes.split(",")):
            rows += measure(loop, options, count)
    finally:
        loop.stop()
    if options.csv:
        with open(options.csv, "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, rows[0].keys())
            writer.writeheader()
            writer.writerows(rows)


if __name__ == "__main__":
    main()
