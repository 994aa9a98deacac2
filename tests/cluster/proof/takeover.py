#!/usr/bin/env python3
"""takeover.py [--jobs 1000000,5000000] [--lease-ms N] [--csv FILE]

Measures how long a partition with many jobs answers nothing when its owner is killed. The queue has one partition
and three nodes, of which two have a copy. First the owner is killed, so that its follower takes over. Then that one is
killed, too, and the third node, which has no copy, reads the log. The seconds are those from the kill to the answer
to a put that was sent through the third node. In each state the script prints the sessions of the database.

`cmake --preset bench` builds the load, and --tools is its folder bench. ELAPSE_PROGRAM is the program. The script
needs the package postgresql.
"""

import argparse
import csv
import socket
import sys
import time

from copies import lists_of, wait_for_copies
from load import ROOT, LoopThread
from nodes import PATIENCE_S, cluster
from proof_support import resp
from sizes import disk_bytes
from throughput import Loads, new_cluster, remove, resident_bytes, sessions, settings

NODES, CONNECTIONS, WINDOW = 3, 4, 4096
LIMIT_S = 1800
PAUSE_S = 0.02
JOBS_OF_A_LOAD = 2_000_000
ANSWERS = 3  # puts of first_answer
GIB = 1 << 30


def first_answer(port, token):
    """Sends a put until it is answered. Returns when."""
    end = time.monotonic() + LIMIT_S
    while time.monotonic() < end:
        with socket.create_connection(("127.0.0.1", port), timeout=LIMIT_S) as link:
            link.sendall(resp("PUT", "after", "body", "IN", "10h", "TOKEN", token))
            if link.makefile("rb").readline().startswith(b"*"):
                return time.monotonic()
        time.sleep(PAUSE_S)
    raise cluster.Failure("nothing was answered")


def count_jobs(port):
    """How many jobs the queue has, all of which are delayed."""
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S) as link:
        link.sendall(resp("STATS"))
        replies = link.makefile("rb")
        while replies.readline().strip() != b"delayed":
            pass
        return int(replies.readline()[1:])


def measure(loop, options, jobs):
    it = new_cluster(loop, 1, NODES, followers=1, lease_ms=options.lease_ms)
    try:
        it.start()
        wait_for_copies(it)
        owner, follower = lists_of(it)[0]
        third = next(node for node in it.nodes if node not in (owner, follower))
        loads = Loads(options.tools, it)
        begun = time.monotonic()
        # A load has five minutes for all of its jobs.
        for number, first in enumerate(range(0, jobs, JOBS_OF_A_LOAD)):
            loads.finish(loads.start(owner, number, "put-key", connections=CONNECTIONS, window=WINDOW // CONNECTIONS,
                                     count=min(JOBS_OF_A_LOAD, jobs - first)))
        filled_s = time.monotonic() - begun
        first_answer(third.port, "before")
        wait_for_copies(it)
        time.sleep(options.lease_ms / 1000)
        row = {"jobs": jobs, "lease_s": it.lease_s, "filled_s": round(filled_s, 1), "sessions": sessions(it),
               "resident_owner": resident_bytes(owner), "resident_third_before": resident_bytes(third),
               "disk_owner": disk_bytes(owner.directory / "data")}
        for name, dead in (("replica", owner), ("no_copy", follower)):
            begun = time.monotonic()
            dead.kill()
            row[f"by_{name}_s"] = round(first_answer(third.port, name) - begun, 2)
            row[f"sessions_{name}"] = sessions(it)
            expected = follower if dead is owner else third
            if it.owner_of(0) is not expected:
                raise cluster.Failure(f"node {it.owner_of(0).number} took over, and not {expected.number}")
            print(f"    {jobs} jobs: {name}, {row[f'by_{name}_s']} s", flush=True)
        row["resident_third"] = resident_bytes(third)
        there = count_jobs(third.port) - ANSWERS
        if there != jobs:
            raise cluster.Failure(f"{there} jobs are there, of {jobs}")
        print(f"{jobs} jobs (put in {filled_s:.0f} s), lease {it.lease_s:g} s: {row['by_replica_s']} s by a replica, "
              f"{row['by_no_copy_s']} s by a node without a copy. Sessions: {row['sessions']}, then "
              f"{row['sessions_replica']}, then {row['sessions_no_copy']}. Resident: owner "
              f"{row['resident_owner'] / GIB:.2f} GiB; the third node {row['resident_third_before'] / GIB:.2f} GiB, "
              f"then {row['resident_third'] / GIB:.2f}. Disk of the owner: {row['disk_owner'] / GIB:.2f} GiB",
              flush=True)
        return row
    finally:
        remove(it)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--jobs", default="1000000,5000000")
    parser.add_argument("--lease-ms", type=int, default=2000)
    parser.add_argument("--tools", default=str(ROOT / "build/bench/bench"))
    parser.add_argument("--csv")
    options = parser.parse_args()
    if cluster.folder_of_programs() is None:
        print("skipped: PostgreSQL is not installed (the package postgresql)")
        sys.exit(77)
    settings(False)
    loop = LoopThread()
    try:
        rows = [measure(loop, options, int(jobs)) for jobs in options.jobs.split(",")]
    finally:
        loop.stop()
    if options.csv:
        with open(options.csv, "w", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, rows[0].keys())
            writer.writeheader()
            writer.writerows(rows)


if __name__ == "__main__":
    main()
