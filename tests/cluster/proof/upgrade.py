#!/usr/bin/env python3
"""upgrade.py --from PROGRAM [--trials N] [--partitions P] [--lease-ms N]

Upgrades a cluster of three nodes under load: PROGRAM, of an older version, makes the queue and runs the nodes.
ELAPSE_PROGRAM makes the tables that are missing, and then the nodes are replaced by it, one after the other: ended by
SIGTERM, or killed in every other trial. Then the schema is upgraded, the nodes are started again with --followers 1, a
fourth node is added, and the first one is removed for good. After each step each partition has to answer a write. At
the end all answers are checked (ledger.py). For each step the script prints the longest time in which a partition
answered no write.

The script needs the package postgresql.
"""

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

from copies import lists_of, wait_for_copies
from ledger import KINDS
from load import LoopThread
from nodes import PROGRAM, Cluster, cluster, wait_until
from trial import Trial

COPIES = ("--followers", "1", "--balance-after", "3s")


class Steps:
    """The steps of one trial, and the longest time without service of each."""

    def __init__(self, trial):
        self.trial = trial
        self.gaps = []

    def do(self, what, function, *arguments):
        begun = time.monotonic()
        function(*arguments)
        self.trial.wait_for_service()
        gap_s, _part = self.trial.ledger.gap_s(begun, time.monotonic())
        self.gaps.append((what, gap_s))
        print(f"    {what}: {gap_s:.2f} s without service, {time.monotonic() - begun:.1f} s in all", flush=True)


def replace(node, how, program=PROGRAM, options=()):
    """The node ends, and comes back with another program, or other options."""
    node.was_killed = True
    if how == signal.SIGKILL:
        node.kill()
    else:
        node.signal(how)
        status = node.server.wait()
        if status != 0:
            raise AssertionError(f"a node that was ended had status {status}: {node.log()[-600:]}")
    node.program = program
    node.options += options
    node.start()
    node.wait_until_ready()


def create(it, old):
    """The tables of the new program are made while nodes of the old one run. The old one refuses them afterwards."""
    it.program = PROGRAM
    it.create()
    done = subprocess.run([old, "cluster", "create", "--cluster", it.databases.primary.host, "--partitions",
                           str(it.partitions)], check=False, capture_output=True, text=True)
    if done.returncode == 0 or "has version 2" not in done.stderr:
        raise AssertionError(f"the old program does not refuse the tables: {done}")


def upgrade(it):
    it.command("upgrade")


def add(trial):
    it = trial.it
    node = it.add_node()
    node.program = PROGRAM
    node.options += COPIES
    node.start()
    node.wait_until_ready()
    trial.clients.ports.append(node.port)
    wait_until(lambda: any(node in members for members in lists_of(it).values()), "the new node has copies")
    wait_for_copies(it)


def owners(it):
    return [it.node_at(row[2]) for row in it.databases.rows().values()]


def succeeds(it, verb, node):
    """Runs `elapse cluster` for a node, and returns whether its status is 0."""
    words = (PROGRAM, "cluster", verb, f"127.0.0.1:{node.port}", "--cluster", it.databases.primary.host)
    return subprocess.run(words, check=False, capture_output=True).returncode == 0


def remove(it, node):
    wait_until(lambda: succeeds(it, "drain", node), "it drains")
    wait_until(lambda: node not in owners(it), "it owns nothing")
    wait_until(lambda: succeeds(it, "may-stop", node), "it may stop")
    node.was_killed = True
    node.signal(signal.SIGTERM)
    node.server.wait()
    # Not before its last beat is two leases old.
    wait_until(lambda: succeeds(it, "remove", node), "it is removed")
    wait_for_copies(it)
    if any(node in members for members in lists_of(it).values()):
        raise AssertionError("a node that was removed is in a list")


def course(trial, old):
    it, steps = trial.it, Steps(trial)
    how = (signal.SIGTERM, signal.SIGKILL)[trial.number % 2]
    steps.do("the new program makes its tables", create, it, old)
    for number, node in enumerate(it.nodes):
        steps.do(f"node {number} gets the new program after {how.name}", replace, node, how)
    if any(node.program == old for node in it.nodes):
        raise AssertionError("an old node is left")
    steps.do("the schema is upgraded", upgrade, it)
    for number, node in enumerate(it.nodes):
        steps.do(f"node {number} starts again, with --followers 1", replace, node, signal.SIGTERM, PROGRAM, COPIES)
    it.followers = 1
    steps.do("two copies of each partition", wait_for_copies, it)
    steps.do("a node is added", add, trial)
    steps.do("the first one is removed for good", remove, it, it.nodes[0])
    return steps


def one(loop, options, number):
    """Runs a trial. Returns whether nothing is wrong, and the steps."""
    directory = tempfile.mkdtemp(prefix="elapse-upgrade-")
    os.chmod(directory, 0o755)
    it = Cluster(directory, loop, options.partitions, options.lease_ms, program=options.old)
    good = False
    try:
        it.start()
        trial, steps = Trial(it, "upgrade", number), []
        # The last look is through a node that is still there.
        trial.look_at = 1
        trial.run(lambda trial: steps.append(course(trial, options.old)))
        counts, bad = trial.ledger.counts, trial.ledger.faulty()
        good = not bad and not counts["unresolved"]
        print(f"trial {number}: {counts['put']} puts, {counts['removed']} removals, {counts['handed out']} handed out, "
              f"{counts['unsure']} unsure; " + ", ".join(f"{counts[kind]} {kind}" for kind in KINDS), flush=True)
        for fault in trial.ledger.faults[:5]:
            print(f"    {fault}")
        return good
    finally:
        it.end()
        if good or not options.keep:
            shutil.rmtree(directory, ignore_errors=True)
        else:
            print(f"kept: {directory}")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--from", dest="old", required=True, help="the older program")
    parser.add_argument("--trials", type=int, default=4)
    parser.add_argument("--partitions", type=int, default=6)
    parser.add_argument("--lease-ms", type=int, default=1000)
    parser.add_argument("--keep", action="store_true", help="keeps the directory of a bad trial")
    options = parser.parse_args()
    if cluster.folder_of_programs() is None:
        print("skipped: PostgreSQL is not installed (the package postgresql)")
        sys.exit(77)
    signal.signal(signal.SIGTERM, lambda number, frame: sys.exit(1))
    loop = LoopThread()
    try:
        bad = sum(not one(loop, options, number) for number in range(options.trials))
    finally:
        loop.stop()
    sys.exit(1 if bad else 0)


if __name__ == "__main__":
    main()
