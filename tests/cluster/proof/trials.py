"""Runs many trials, and writes them to a CSV."""

import csv
import os
import pathlib
import shutil
import statistics
import tempfile
import time
import traceback

from copies import wait_for_copies
from ledger import KINDS
from load import LoopThread
from nodes import Cluster, cluster
from trial import COLUMNS, Trial

# Where there are followers. Many nodes and partitions with files of the usual size would take 10 GB of disk.
WITH_FOLLOWERS = ("--balance-after", "3s", "--segment-bits", "22")


class Book:
    """The CSV."""

    def __init__(self, path):
        self.path = pathlib.Path(path)
        if self.path.exists():
            with open(self.path, newline="", encoding="utf-8") as file:
                self.rows = list(csv.DictReader(file))
        else:
            self.rows = []

    def has(self, name, number):
        return any(row["fault"] == name and int(row["trial"]) == number for row in self.rows)

    def add(self, row):
        is_new = not self.path.exists()
        with open(self.path, "a", newline="", encoding="utf-8") as file:
            writer = csv.DictWriter(file, COLUMNS)
            if is_new:
                writer.writeheader()
            writer.writerow(row)
        self.rows.append({name: "" if row[name] is None else str(row[name]) for name in COLUMNS})

    def sum(self, column):
        return sum(int(row[column]) for row in self.rows)

    def summary(self, names):
        for name in names:
            rows = [row for row in self.rows if row["fault"] == name]
            if not rows:
                continue
            good = sum(row["verdict"] == "good" for row in rows)
            sums = {column: sum(int(row[column]) for row in rows)
                    for column in ("put", "removed", "zombies", "fenced", *KINDS)}
            earliest = [float(row["earliest_ms"]) for row in rows if row.get("earliest_ms")]
            gaps = [float(row["gap_s"]) for row in rows if row["gap_s"]]
            text = f"{name}: {good} of {len(rows)} good; {sums['put']} puts, " \
                f"{sums['removed']} removals; "
            text += ", ".join(f"{sums[kind]} {kind}" for kind in KINDS)
            if earliest:
                text += f"; {max(max(earliest), 0):.1f} ms early at most"
            if sums["zombies"]:
                text += f"; {sums['fenced']} of {sums['zombies']} zombies fenced"
            if gaps:
                text += f"; without service p50 {statistics.median(gaps):.2f} s, " \
                    f"max {max(gaps):.2f} s"
            print(text)


class Runner:
    """Runs trials of `faults`, functions by name, in one cluster as long as it is sound. Those in
    `proxied` and `clocked` need one with proxies, and with clocks."""

    def __init__(self, options, book, faults, proxied, clocked):
        self.options, self.book = options, book
        self.faults, self.proxied, self.clocked = faults, proxied, clocked
        self.it = self.directory = None
        self.kind = None
        self.loop = LoopThread()
        self.is_sound = self.was_good = True

    def fresh(self, name):
        """A new cluster, if the fault needs another one than there is."""
        kind = (name in self.proxied, name in self.clocked)
        if self.it is not None and self.is_sound and kind == self.kind:
            wait_for_copies(self.it)
            return
        self.end()
        self.kind, self.is_sound = kind, True
        self.directory = tempfile.mkdtemp(prefix="elapse-faults-")
        os.chmod(self.directory, 0o755)
        words = ("--single-copy",) if self.options.expect_loss else ()
        words += WITH_FOLLOWERS if self.options.followers else ()
        self.it = Cluster(self.directory, self.loop, self.options.partitions, self.options.lease_ms,
                          self.options.nodes, proxied=kind[0], clocked=kind[1], options=words,
                          followers=self.options.followers)
        self.it.start()
        wait_for_copies(self.it)

    def end(self):
        if self.it is not None:
            self.it.end()
            if self.was_good or not self.options.keep:
                shutil.rmtree(self.directory, ignore_errors=True)
            else:
                print(f"kept: {self.directory}")
        self.it = None

    def one(self, name, number):
        begun, trial, error = time.monotonic(), None, ""
        try:
            self.fresh(name)
            trial = Trial(self.it, name, number)
            trial.run(self.faults[name])
        except (AssertionError, cluster.Failure, OSError, TimeoutError) as failure:
            error = f"{type(failure).__name__}: {failure}".replace("\n", " | ")
            if self.options.verbose:
                traceback.print_exc()
        if trial is None:
            raise cluster.Failure(error)
        row = trial.row(begun, error)
        self.book.add(row)
        self.was_good = row["verdict"] == "good"
        self.is_sound = self.was_good and not trial.spoils
        print(f"{name} {number}: {row['verdict']}, {row['put']} puts, "
              f"without service {row['gap_s']} s, {row['seconds']} s. {row['note']}", flush=True)
        for fault in trial.ledger.faults[:5]:
            print(f"    {fault}", flush=True)
        return self.was_good

    def all(self):
        end = time.monotonic() + 60 * self.options.minutes
        bad = 0
        for name in self.options.only:
            for number in range(self.options.trials):
                if not self.book.has(name, number) and time.monotonic() < end:
                    bad += not self.one(name, number)
        return bad
