"""The report: one table of all figures, and one of the goals, in Markdown."""

import os
import platform
from collections import namedtuple

from workloads import WORKLOADS

MIB = 1 << 20
OURS = ("elapse", "elapse-lines")
FLOORS = ("floor", "keeper")
MARK = "°"

# A figure of a workload. needs: promises without which it is not the same work.
Row = namedtuple("Row", "title workload metric unit needs extra", defaults=(None,))

DURABLE = ("durable",)
BY_KEY = ("durable", "key")
LEASED = ("durable", "leases")

ROWS = (
    *(Row(workload.title + ", a second", name, "rate", "count", DURABLE,
          "p99_us" if name in ("put-1", "put-100x1") else None)
      for name, workload in WORKLOADS.items() if name.startswith("put-")),
    *(Row(f"{workload.title}: processor time of the server", name, "server_ns", "ns", DURABLE)
      for name, workload in WORKLOADS.items() if name in ("put-1000", "put-20000")),
    Row("delete in the order of putting, window 20,000, a second", "rest", "rate", "count",
        DURABLE),
    Row("story: put with a key, a second", "story", "put_rate", "count", DURABLE),
    Row("story: cancel 90 % by key, a second", "story", "cancel_rate", "count", BY_KEY),
    Row("reschedule by key, window 20,000, a second", "keyed", "rate", "count", BY_KEY),
    Row("move a time-out at each heartbeat, a second", "heartbeat", "rate", "count", BY_KEY),
    Row("hand out and acknowledge a backlog, a second", "backlog", "rate", "count", LEASED),
    *(Row(f"{title}: late, {label}", name, metric, "us", LEASED)
      for name, title in (("late-1k", "1,000 due a second"), ("late-20k", "20,000 due a second"),
                          ("many", "20,000 due a second, ten million pending"))
      for label, metric in (("p50", "p50_us"), ("p99", "p99_us"), ("p99.9", "p999_us"),
                            ("most", "max_us"))),
    *(Row(f"{title}: early", name, "early", "jobs", ())
      for name, title in (("late-1k", "1,000 due a second"), ("late-20k", "20,000 due a second"),
                          ("many", "20,000 due a second, ten million pending"))),
    Row("memory of a pending job", "rest", "memory_bytes", "bytes", ()),
    Row("memory of a pending job, of ten million", "many", "memory_bytes", "bytes", ()),
    Row("memory of a pending job with a key", "keyed", "memory_bytes", "bytes", ()),
    Row("disk of a pending job", "rest", "disk_bytes", "bytes", ()),
    Row("disk of a pending job with a key", "keyed", "disk_bytes", "bytes", ()),
    Row("ready again after kill -9, all jobs", "rest", "restart_s", "s", DURABLE),
    Row("ready again after kill -9, ten million jobs", "many", "restart_s", "s", DURABLE),
    Row("steady churn: steps a second", "churn", "rate", "count", BY_KEY),
    Row("steady churn: disk at most", "churn", "disk_most_bytes", "MiB", ()),
    Row("steady churn: memory at most", "churn", "memory_most_bytes", "MiB", ()),
)


# ---- texts ----

def processor():
    name = "unknown processor"
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as file:
            name = next((line.split(":", 1)[1].strip() for line in file
                         if line.startswith("model name")), name)
    except OSError:
        pass
    return f"{name}, {len(os.sched_getaffinity(0))} processors"


def system():
    release = ".".join(platform.release().split(".")[:2])
    return f"{platform.system()} {release} {platform.machine()}"


def count_text(number):
    if number >= 999_500:
        return f"{number / 1e6:.2f} M"
    if number >= 1000:
        return f"{number / 1000:.{1 if number < 99_950 else 0}f} k"
    return f"{number:.0f}"


def time_text(us):
    if us >= 1e6:
        return f"{us / 1e6:.2f} s"
    return f"{us / 1000:.{2 if us < 9995 else 1 if us < 99_950 else 0}f} ms"


def number_text(value, unit):
    if unit == "count":
        return count_text(value)
    if unit == "us":
        return time_text(value)
    if unit == "MiB":
        return f"{value / MIB:,.0f} MiB"
    if unit == "s":
        return f"{value:.2f} s"
    if unit == "ns":
        return f"{value:,.0f} ns"
    return f"{value:,.0f}"


def is_promised(promises, needs):
    return all(promises.get(need, False) for need in needs)


# ---- the table of figures ----

def cell(results, row, name, promises):
    value = results.median(row.workload, name, row.metric)
    if value is None:
        return "failed" if (row.workload, name) in results.errors else "-"
    text = number_text(value, row.unit)
    if row.extra is not None:
        extra = results.median(row.workload, name, row.extra)
        text += "" if extra is None else f", p99 {time_text(extra)}"
    if row.unit == "s":
        text += few_text(results, row.workload, name)
    floor = results.median(row.workload, "floor", row.metric)
    if floor and name != "floor":
        text += f" ({value / floor:.2f})"
    return text + ("" if name == "floor" or is_promised(promises, row.needs) else " " + MARK)


def few_text(results, workload, name):
    """How many jobs there were, if slowness allowed fewer than others had."""
    jobs = {other: results.median(workload, other, "jobs") or 0 for other in results.contenders()}
    is_most = jobs[name] == max(jobs.values())
    return "" if is_most else f", of {count_text(jobs[name])} jobs"


def table_lines(results, promises):
    names = results.contenders()
    yield f"| | {' | '.join(names)} |"
    yield "|---" * (len(names) + 1) + "|"
    for row in ROWS:
        cells = [cell(results, row, name, promises.get(name, {})) for name in names]
        if any(text != "-" for text in cells):
            yield f"| {row.title} | {' | '.join(cells)} |"


def head_lines(results, promises):
    yield f"{results.facts.get(('processor', ''), '')}; {results.facts.get(('system', ''), '')}"
    yield ""
    for name in results.contenders():
        version, note = results.facts["version", name], promises.get(name, {}).get("note", "")
        yield f"- {name}: {', '.join(text for text in (version, note) if text)}"
    yield ""
    yield (f"Medians of the rounds; in brackets, the ratio to the floor. {MARK}: the contender "
           "does not promise the same (durable when acknowledged, by key, a lease until it is "
           "acknowledged).")
    yield ""


# ---- goals ----

def best_of(results, names, row, promises=None):
    """The best median and its contender, among those that promise what the row needs."""
    found = []
    for name in names:
        value = results.median(row.workload, name, row.metric)
        if value is None or (row.unit == "s" and few_text(results, row.workload, name)):
            continue  # a start with fewer jobs cannot be compared
        if promises is None or is_promised(promises.get(name, {}), row.needs):
            found.append((value, name))
    if not found:
        return None, None
    return max(found) if row.unit == "count" else min(found)


def others(results):
    return [name for name in results.contenders()
            if name not in FLOORS and not name.startswith("elapse")]


def other_text(results, row, promises):
    value, name = best_of(results, others(results), row, promises)
    if value is None:
        value, name = best_of(results, others(results), row)
        name = name and f"{name} {MARK}"
    return "-" if value is None else f"{number_text(value, row.unit)}, {name}"


# A goal: at least (counts) or at most (others) `limit`, and `share` of the floor.
Goal = namedtuple("Goal", "row limit share", defaults=(None, None))


def row_of(workload, metric):
    return next(row for row in ROWS if (row.workload, row.metric) == (workload, metric))


GOALS = (
    Goal(row_of("put-20000", "rate"), 1e6, 0.35),
    Goal(row_of("put-1000", "rate"), None, 0.5),
    Goal(row_of("put-64", "rate"), None, 0.8),
    Goal(row_of("put-1", "rate"), None, 0.9),
    Goal(row_of("put-100x1", "rate"), None, 0.7),
    Goal(Row("put, 100 connections, one at a time: p99", "put-100x1", "p99_us", "us", DURABLE),
         None, 2),
    Goal(row_of("rest", "rate"), 1.5e6),
    Goal(row_of("story", "cancel_rate"), 5e5),
    Goal(row_of("keyed", "rate"), 5e5),
    Goal(row_of("backlog", "rate"), 4e5),
    Goal(row_of("late-20k", "p99_us"), 2000),
    Goal(row_of("late-20k", "early"), 0),
    Goal(row_of("many", "max_us"), 10_000),
    Goal(row_of("many", "early"), 0),
    Goal(row_of("rest", "memory_bytes"), 70),
    Goal(row_of("keyed", "memory_bytes"), 100),
    Goal(row_of("churn", "disk_most_bytes"), "twice the live bytes and 320 MiB"),
    Goal(row_of("rest", "restart_s"), 0.3),
    Goal(row_of("many", "restart_s"), 3),
)


def limit_of(results, goal, name):
    """The limit as a number, or None."""
    if not isinstance(goal.limit, str):
        return goal.limit
    live = results.most(goal.row.workload, name, "live_bytes")
    return None if live is None else 2 * live + 320 * MIB


def judge(results, goal, name, value):
    """Returns the ratio to the floor or None, and whether the goal is met or None."""
    met = []
    limit = limit_of(results, goal, name)
    if limit is not None:
        met.append(value >= limit if goal.row.unit == "count" else value <= limit)
    floor = results.median(goal.row.workload, "floor", goal.row.metric)
    ratio = value / floor if floor else None
    if goal.share is not None and ratio is not None:
        met.append(ratio >= goal.share if goal.row.unit == "count" else ratio <= goal.share)
    complete = len(met) == (goal.limit is not None) + (goal.share is not None)
    return ratio, all(met) if complete else None


def goal_text(results, goal, name):
    sign = "≥" if goal.row.unit == "count" else "≤"
    parts = [f"{sign} {goal.share:g} of the floor"] if goal.share is not None else []
    limit = limit_of(results, goal, name)
    if limit is not None:
        parts.append("none" if limit == 0 else f"{sign} {number_text(limit, goal.row.unit)}")
    elif goal.limit is not None:
        parts.append(goal.limit)
    return " and ".join(parts)


def goal_line(results, goal, promises):
    """None if it was not measured."""
    row = goal.row
    value, name = best_of(results, OURS, row)
    floor = results.median(row.workload, "floor", row.metric)
    floor_text = "-" if floor is None else number_text(floor, row.unit)
    if value is None:
        return None
    ratio, met = judge(results, goal, name, value)
    ratio_text = "-" if ratio is None else f"{ratio:.2f}"
    outcome = {True: "met", False: "**missed**", None: "not judged"}[met]
    return (f"| {row.title} | {floor_text} | {number_text(value, row.unit)}, {name} | "
            f"{ratio_text} | {goal_text(results, goal, name)} | {outcome} | "
            f"{other_text(results, row, promises)} |")


def goal_lines(results, promises):
    found = [line for line in (goal_line(results, goal, promises) for goal in GOALS) if line]
    if found:
        yield "| | floor | Elapse, by the better protocol | ratio | goal | | best of the others |"
        yield "|---" * 7 + "|"
        yield from found


def lines(results, promises):
    yield from head_lines(results, promises)
    yield from table_lines(results, promises)
    yield ""
    yield from goal_lines(results, promises)
    if results.errors:
        yield ""
        for (workload, name), text in sorted(results.errors.items()):
            yield f"- failed: {workload}, {name}: {text}"
