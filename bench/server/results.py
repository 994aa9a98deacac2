"""The figures of a race: a CSV file that grows with each run, so that a race can be resumed."""

import csv
import io
import json
import os
import statistics
from collections import namedtuple

HEAD = ("round", "workload", "contender", "metric", "value")
SECONDS = "seconds"  # how long the run took: the last row of a run that is complete
ERROR = "error"

Summary = namedtuple("Summary", "count median least most")


class Mismatch(Exception):
    """The file is of another race: one line about how."""


class Results:
    """All figures, of earlier runs, too."""

    def __init__(self, path=None):
        self.path = path
        self.facts = {}     # (what, contender or ""): text, as ("processor", ""), ("version", name)
        self.values = {}    # (workload, contender, metric): {round: number}
        self.errors = {}    # (workload, contender): text of the last failure
        self.histograms = {}  # (workload, contender): {round: [(upper_us, count)]}
        self.done = set()   # (round, workload, contender)
        if path is not None and os.path.exists(path):
            self.load()

    # ---- the file ----

    def load(self):
        with open(self.path, encoding="utf-8", newline="") as file:
            text = file.read()
        whole = text[:text.rfind("\n") + 1]  # an interrupted write leaves a part of a line
        rows = list(csv.reader(io.StringIO(whole)))
        if rows and tuple(rows[0]) != HEAD:
            raise Mismatch(f"{self.path}: is no file of this race")
        run = []
        for row in rows[1:]:
            if len(row) != len(HEAD):
                raise Mismatch(f"{self.path}: a row has {len(row)} columns")
            if row[0] == "0":
                self.facts[row[1], row[2]] = row[4]
                continue
            if run and run[-1][:3] != row[:3]:
                run = []  # the run before has no end
            run.append(row)
            if row[3] in (SECONDS, ERROR):
                self.take(run)
                run = []
        if whole != text or run:
            self.cut(rows, run)

    def cut(self, rows, unfinished):
        """Writes the file again without what an interruption left behind."""
        kept = rows[:len(rows) - len(unfinished)]
        with open(self.path + ".new", "w", encoding="utf-8", newline="") as file:
            csv.writer(file, lineterminator="\n").writerows(kept)
        os.replace(self.path + ".new", self.path)

    def append(self, rows):
        """One write, so that an interruption leaves a part at most at the end of the file."""
        if self.path is None:
            return
        text = io.StringIO()
        writer = csv.writer(text, lineterminator="\n")
        if not os.path.exists(self.path) or os.path.getsize(self.path) == 0:
            writer.writerow(HEAD)
        writer.writerows(rows)
        with open(self.path, "a", encoding="utf-8", newline="") as file:
            file.write(text.getvalue())

    # ---- facts ----

    def state(self, what, contender, text):
        """Notes a fact. Raises Mismatch if the file has another one."""
        known = self.facts.get((what, contender))
        if known is not None and known != text:
            of_whom = f" of {contender}" if contender else ""
            raise Mismatch(f"{self.path}: {what}{of_whom} is {known} there, and {text} here")
        if known is None:
            self.facts[what, contender] = text
            self.append([("0", what, contender, "", text)])

    # ---- runs ----

    def add(self, number, workload, contender, figures, seconds, error=None):
        """Adds a run; with an error it may be tried again later."""
        start = (str(number), workload, contender)
        rows = []
        for metric, value in figures.items():
            text = json.dumps(value) if metric == "histogram" else f"{value:.10g}"
            rows.append((*start, metric, text))
        rows.append((*start, ERROR, error) if error else (*start, SECONDS, f"{seconds:.1f}"))
        self.append(rows)
        self.take(rows)

    def take(self, rows):
        number, workload, contender = int(rows[0][0]), rows[0][1], rows[0][2]
        # A run that failed before is replaced by the one that was made for it.
        for key in [key for key in self.values if key[:2] == (workload, contender)]:
            self.values[key].pop(number, None)
        for *_, metric, text in rows:
            if metric == ERROR:
                self.errors[workload, contender] = text
            elif metric == "histogram":
                self.histograms.setdefault((workload, contender), {})[number] = json.loads(text)
            else:
                self.values.setdefault((workload, contender, metric), {})[number] = float(text)
        if rows[-1][3] == SECONDS:
            self.done.add((number, workload, contender))
            self.errors.pop((workload, contender), None)

    # ---- what they say ----

    def contenders(self):
        """In the order in which their versions were noted."""
        return [contender for what, contender in self.facts if what == "version"]

    def summary(self, workload, contender, metric):
        """None if it was not measured."""
        numbers = list(self.values.get((workload, contender, metric), {}).values())
        if not numbers:
            return None
        return Summary(len(numbers), statistics.median(numbers), min(numbers), max(numbers))

    def median(self, workload, contender, metric):
        summary = self.summary(workload, contender, metric)
        return summary and summary.median

    def most(self, workload, contender, metric):
        summary = self.summary(workload, contender, metric)
        return summary and summary.most

    def histogram(self, workload, contender):
        """How many jobs were late by up to so many microseconds, in all rounds: sorted pairs."""
        sums = {}
        for buckets in self.histograms.get((workload, contender), {}).values():
            for upper_us, count in buckets:
                sums[upper_us] = sums.get(upper_us, 0) + count
        return sorted(sums.items())
