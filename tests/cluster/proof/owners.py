#!/usr/bin/env python3
"""owners.py [--nodes N] [--partitions P] [--followers F] [--lease-ms N] [--balance-after D] [--csv FILE] [--picture FILE]

Shows which node owns how many partitions while nodes are started, killed, started again and drained. No
client runs. The CSV has a line for each change: seconds, what was done last, and the number of each node.
The picture is an SVG of the same. With --followers the CSV also has how many copies each node is to have,
the picture shows them below the owners, and a node that dies loses its copies after 8 s.

ELAPSE_PROGRAM is the program. The script needs the package postgresql.
"""

import argparse
import csv
import os
import signal
import subprocess
import sys
import tempfile
import time

from copies import lists_of
from load import LoopThread
from nodes import PROGRAM, Cluster, cluster, wait_until

LOOK_S = 0.1
REPLACE_AFTER = "8s"
WIDTH, HEIGHT, LEFT, TOP = 760, 240, 40, 20
COLOURS = ("#4477aa", "#ee6677", "#228833", "#ccbb44", "#66ccee", "#aa3377")


class Watch:
    """Looks at the rows again and again, and keeps each change."""

    def __init__(self, it):
        self.it = it
        self.begun = time.monotonic()
        self.done = "all start"
        self.lines = []

    def counts(self):
        owners = [row[2] for row in self.it.databases.rows().values()]
        return [sum(self.it.node_at(owner) is node for owner in owners if owner) for node in self.it.nodes]

    def copies(self):
        """How many partitions have each node in their lists."""
        if not self.it.followers:
            return []
        members = [node for nodes in lists_of(self.it).values() for node in nodes]
        return [members.count(node) for node in self.it.nodes]

    def look(self):
        counts, copies = self.counts(), self.copies()
        if not self.lines or self.lines[-1][1:] != (self.done, counts, copies):
            self.lines.append((round(time.monotonic() - self.begun, 1), self.done, counts, copies))
        time.sleep(LOOK_S)
        return counts

    def until(self, done, condition):
        """Notes what was done, and looks until the counts are as they should be. Returns the seconds."""
        self.done, begun = done, time.monotonic()
        wait_until(lambda: condition(self.look()), f"after {done}: the counts", 300)
        took = time.monotonic() - begun
        text = f"; copies {self.copies()}" if self.it.followers else ""
        print(f"{done}: {self.counts()} after {took:.1f} s{text}", flush=True)
        return took

    def until_even(self, done, nodes):
        """Until the owners are even, and then until the copies are."""
        took = self.until(done, lambda counts: is_even(counts, nodes))
        if self.it.followers:
            self.until(done, lambda _counts: is_even(self.copies(), nodes))
        return took


def is_even(counts, nodes):
    mine = [count for number, count in enumerate(counts) if number in nodes]
    return sum(counts) == sum(mine) and max(mine) - min(mine) <= 1


def tell(it, verb, node):
    subprocess.run([PROGRAM, "cluster", verb, f"127.0.0.1:{node.port}", "--cluster", it.databases.primary.host],
                   check=True, stdout=subprocess.DEVNULL)


def course(it):
    watch, everyone, total = Watch(it), set(range(len(it.nodes))), it.partitions
    others = everyone - {1}
    watch.until_even("all have started", everyone)
    it.nodes[1].kill()
    watch.until("one is killed", lambda counts: sum(counts) == total and counts[1] == 0)
    watch.until_even("it stays away", others)
    it.nodes[1].start()
    watch.until_even("it joins", everyone)
    tell(it, "drain", it.nodes[2])
    watch.until("another one drains", lambda counts: counts[2] == 0 and sum(counts) == total)
    tell(it, "undrain", it.nodes[2])
    watch.until("it drains no more", lambda counts: is_even(counts, everyone))
    it.nodes[0].signal(signal.SIGTERM)
    it.nodes[0].was_killed = True
    watch.until("the first one ends", lambda counts: sum(counts) == total and counts[0] == 0)
    watch.until_even("it stays away, too", everyone - {0})
    return watch


def band(lines, column, total, top, x_of):
    """Areas, one above the other, of what each node has."""
    parts = []
    for line, following in zip(lines, lines[1:]):
        below = 0
        for node, count in enumerate(line[column]):
            y = top + HEIGHT - (below + count) / total * HEIGHT
            if count > 0:
                parts.append(f'<rect x="{x_of(line[0]):.1f}" y="{y:.1f}"'
                             f' width="{x_of(following[0]) - x_of(line[0]) + 0.2:.1f}"'
                             f' height="{count / total * HEIGHT:.1f}" fill="{COLOURS[node % len(COLOURS)]}"/>')
            below += count
    parts.append(f'<text x="4" y="{top + 10}">{total}</text><text x="4" y="{top + HEIGHT}">0</text>')
    return parts


def draw(watch, it, path):
    """The partitions that each node owns over time, and below them the copies that it is to have."""
    last = watch.lines[-1]
    lines = watch.lines + [(last[0] + 1, *last[1:])]
    end, partitions = lines[-1][0], it.partitions
    bands = [("owners", 2, partitions)]
    if it.followers:
        bands.append(("copies", 3, max(sum(line[3]) for line in lines)))
    bottom = TOP + len(bands) * (HEIGHT + TOP) - TOP

    def x_of(seconds):
        return LEFT + seconds / end * WIDTH
    parts = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH + 2 * LEFT} {bottom + 2 * TOP + 34}"'
             ' font-family="sans-serif" font-size="11">',
             "<title>Owners of the partitions over time</title>",
             '<rect width="100%" height="100%" fill="white"/>']
    for number, (name, column, total) in enumerate(bands):
        top = TOP + number * (HEIGHT + TOP)
        parts += band(lines, column, total, top, x_of)
        parts.append(f'<text x="{LEFT}" y="{top - 6}">{name} of each node</text>')
    for node in range(len(lines[0][2])):
        x = LEFT + WIDTH / 3 + 60 * node
        parts.append(f'<rect x="{x:.1f}" y="{TOP - 14}" width="10" height="10" fill="{COLOURS[node % len(COLOURS)]}"/>'
                     f'<text x="{x + 13:.1f}" y="{TOP - 5}">node {node}</text>')
    done, place = None, 0
    for seconds, what, *_rest in lines:
        if what != done:
            done, place = what, place + 1
            parts.append(f'<line x1="{x_of(seconds):.1f}" x2="{x_of(seconds):.1f}" y1="{TOP}" y2="{bottom}"'
                         ' stroke="black" stroke-dasharray="2 3"/>')
            parts.append(f'<text x="{x_of(seconds) + 2:.1f}" y="{bottom + 14 + place % 3 * 14}">{what}</text>')
    parts.append(f'<text x="{LEFT + WIDTH - 30}" y="{TOP - 6}">{end:.0f} s</text></svg>')
    with open(path, "w", encoding="utf-8") as file:
        file.write("\n".join(parts) + "\n")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--nodes", type=int, default=4)
    parser.add_argument("--partitions", type=int, default=12)
    parser.add_argument("--followers", type=int, default=0, help="of each partition (all other nodes)")
    parser.add_argument("--lease-ms", type=int, default=2000)
    parser.add_argument("--balance-after", default="10s")
    parser.add_argument("--csv")
    parser.add_argument("--picture")
    options = parser.parse_args()
    if options.nodes < 3:
        parser.error("--nodes: three or more")
    if cluster.folder_of_programs() is None:
        print("skipped: PostgreSQL is not installed (the package postgresql)")
        sys.exit(77)
    loop = LoopThread()
    with tempfile.TemporaryDirectory(prefix="elapse-owners-") as directory:
        os.chmod(directory, 0o755)
        it = Cluster(directory, loop, options.partitions, options.lease_ms, options.nodes,
                     options=("--balance-after", options.balance_after, "--replace-after", REPLACE_AFTER),
                     followers=options.followers)
        try:
            it.start()
            watch = course(it)
        finally:
            it.end()
            loop.stop()
    if options.csv:
        with open(options.csv, "w", newline="", encoding="utf-8") as file:
            writer = csv.writer(file)
            writer.writerow(("seconds", "done", *(f"node{i}" for i in range(options.nodes)),
                             *(f"copies{i}" for i in range(len(watch.lines[-1][3])))))
            writer.writerows((seconds, done, *counts, *copies) for seconds, done, counts, copies in watch.lines)
    if options.picture:
        draw(watch, it, options.picture)


if __name__ == "__main__":
    main()
