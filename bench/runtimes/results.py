"""The figures of each workload, their units, and their summaries."""

import statistics
from collections import namedtuple

from contenders import NOTES

# A figure: its name in the program's output, its name in the table, its unit, and that unit in the
# program's. If per_5_s is set, the figure grows with --seconds, and the table gives it for 5 s.
Figure = namedtuple("Figure", "metric label unit scale per_5_s", defaults=(1, False))

# A workload with one number of threads. `marks` are the metrics that become notes.
Case = namedtuple("Case", "workload threads title figures marks in_rounds own_timers",
                  defaults=(None,))

Summary = namedtuple("Summary", "count median least most")

LATENESS = (
    Figure("cpu_s", "cpu", "s"),
    Figure("completion_s", "completion", "s"),
    Figure("earliest_ms", "earliest", "ms"),
    Figure("p50_ms", "p50", "ms"),
    Figure("p90_ms", "p90", "ms"),
    Figure("p99_ms", "p99", "ms"),
    Figure("p999_ms", "p99.9", "ms"),
    Figure("latest_ms", "latest", "ms"),
    Figure("early", "early", "timers"),
)

CASES = (
    Case("S1", 1, "schedule", (Figure("schedule_ns", "schedule", "ns"),
                               Figure("cascaded_ns", "cascaded", "ns")), (), True),
    Case("S1", 2, "schedule from two threads", (Figure("schedule_ns", "two threads", "ns"),
                                                Figure("cascaded_ns", "cascaded", "ns")), (), True),
    Case("S2", 1, "cancel in random order", (Figure("cancel_ns", "cancel", "ns"),
                                             Figure("cascaded_ns", "cascaded", "ns")),
         ("unlinks",), True),
    Case("S3", 1, "come due", LATENESS, ("fired",), False),
    Case("S4", 1, "idle", (Figure("cpu_s", "cpu", "ms in 5 s", 1e3, True),
                           Figure("switches", "switches", "in 5 s", 1, True)), (), False),
    Case("S5", 1, "memory", (Figure("task_bytes", "task", "bytes"),
                             Figure("resident_bytes", "resident", "bytes")), (), False),
    Case("S6", 1, "postpone", (Figure("reschedule_ns", "reschedule", "ns"),), ("resets",), True,
         100000),
)
WORKLOADS = tuple(dict.fromkeys(case.workload for case in CASES))


class Results:
    """The figures of all runs, by case and contender."""

    def __init__(self, options, names, left_out):
        self.options = options
        self.names = names
        self.left_out = left_out
        self.values = {}      # (case, name, metric): list
        self.refusals = {}    # (case, name): why it cannot
        self.failures = {}    # (case, name): why it failed
        self.histograms = {}  # name: list of (lateness_us, count)

    def cases(self):
        return [case for case in CASES if case.workload in self.options.workloads]

    def case(self, workload, threads=1):
        """None if it was not run."""
        return next((case for case in self.cases()
                     if (case.workload, case.threads) == (workload, threads)), None)

    def timers(self, case):
        return case.own_timers or self.options.timers

    def add(self, case, name, figures):
        for metric, values in figures.items():
            self.values.setdefault((case, name, metric), []).extend(values)

    def mark(self, case, name, metric):
        """The least of what a metric was, None if it was not measured."""
        return min(self.values.get((case, name, metric), []), default=None)

    def summary(self, case, name, figure):
        """None if it was not measured, or the contender failed in one of the runs."""
        values = self.values.get((case, name, figure.metric), [])
        if not values or (case, name) in self.failures:
            return None
        scale = figure.scale * (5 / self.options.seconds if figure.per_5_s else 1)
        return Summary(len(values), *(scale * number for number in (
            statistics.median(values), min(values), max(values))))

    def median(self, case, name, number=0):
        summary = case and self.summary(case, name, case.figures[number])
        return summary.median if summary else None

    def note(self, case, name):
        """Where its semantics differ, in a few words."""
        if case.workload == "S2" and self.mark(case, name, "unlinks") == 0:
            return "only marks: the entry stays until its time"
        if case.workload == "S6" and self.mark(case, name, "resets") == 0:
            return "no call for it: cancel and schedule anew"
        early = case.workload == "S3" and self.mark(case, name, "early")
        if early:
            earliest_ms = -self.mark(case, name, "earliest_ms")
            return f"FIRES EARLY: {early:.0f} timers, by up to {earliest_ms:.3g} ms"
        return NOTES.get((case.workload, name), "")
