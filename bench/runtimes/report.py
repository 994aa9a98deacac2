"""The table, the CSV file and the list of aims."""

import csv
import os
import platform

from contenders import LOOPS, TITLES

IDLE_MOST_MS = 5  # in 5 s


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


def number_text(number):
    if number == 0:
        return "0"
    return f"{number:.{2 if abs(number) < 9.995 else 1 if abs(number) < 99.95 else 0}f}"


def count_text(count):
    for unit, letter in ((10**6, "M"), (10**3, "k")):
        if count % unit == 0:
            return f"{count // unit}{letter}"
    return str(count)


def head_lines(results):
    options = results.options
    yield processor()
    yield system()
    yield (f"S1, S2 and S6: processes x rounds: {options.repetitions} x {options.rounds}; S3, S4 "
           f"and S5: one process each; S3 and S4 last {options.seconds:g} s, S6 at most as long")
    yield ""
    for name in results.names:
        yield f"{name:<16} {TITLES[name]}"
    for name, reason in results.left_out.items():
        yield f"{name:<16} left out: {reason}"
    yield ""
    yield (f"{'':6} {'figure':<20} {'timers':>6}  {'contender':<16} {'median':>10} {'least':>10} "
           f"{'most':>10} {'x elapse':>9}  note")


def figure_line(results, case, number, name, start):
    summary = results.summary(case, name, case.figures[number])
    own = results.median(case, "elapse", number)
    ratio = number_text(summary.median / own) if own and own > 0 <= summary.median else "-"
    note = results.note(case, name)
    if note and number > 0:
        # By then, marked or queued work has been done.
        note = "" if case.figures[number].label == "cascaded" else "as above"
    return (f"{start} {number_text(summary.median):>10} {number_text(summary.least):>10} "
            f"{number_text(summary.most):>10} {ratio:>9}  {note}").rstrip()


def figure_lines(results, case, number):
    figure = case.figures[number]
    what = f"{figure.label}, {figure.unit}"
    timers = count_text(results.timers(case))
    for name in results.names:
        start = f"{case.workload:<6} {what:<20} {timers:>6}  {name:<16}"
        if (case, name) not in results.refusals and (case, name) not in results.failures:
            yield figure_line(results, case, number, name, start)
        elif number > 0:
            continue
        elif (case, name) in results.refusals:
            yield f"{start} {'cannot':>10} {'':>31}  {results.refusals[case, name]}"
        else:
            yield f"{start} {'FAILED':>10} {'':>31}  {results.failures[case, name]}"


def print_table(results):
    for line in head_lines(results):
        print(line)
    for case in results.cases():
        print(f"\n{case.workload}: {case.title}")
        for number in range(len(case.figures)):
            for line in figure_lines(results, case, number):
                print(line)


def write_csv(results, file):
    rows = csv.writer(file, lineterminator="\n")
    rows.writerow(("workload", "threads", "figure", "unit", "timers", "contender", "values",
                   "median", "least", "most", "note", "processor", "system"))
    for case in results.cases():
        for figure in case.figures:
            for name in results.names:
                note = (results.refusals.get((case, name)) or results.failures.get((case, name)) or
                        results.note(case, name))
                summary = results.summary(case, name, figure)
                values = [summary.count, *(f"{number:.6f}" for number in summary[1:])
                          ] if summary else [0, "", "", ""]
                rows.writerow((case.workload, case.threads, figure.label, figure.unit,
                               results.timers(case), name, *values, note, processor(), system()))


# ---- aims ----

def best_of(results, case, names, number=0):
    """Returns the least median among these, and the contender that has it."""
    medians = [(results.median(case, name, number), name) for name in names]
    return min((pair for pair in medians if pair[0] is not None), default=(None, None))


def unlinking(results):
    """Returns the peers whose cancel removes the entry, and those for which this is unknown."""
    case = results.case("S2")
    return [name for name in peers(results)
            if case is None or results.mark(case, name, "unlinks") != 0]


def threaded(results):
    case = results.case("S1", 2)
    return [name for name in peers(results)
            if name not in LOOPS and (case, name) not in results.refusals]


def peers(results):
    return [name for name in results.names if name != "elapse"]


def judge(workload, what, unit, reached, limit, against):
    """Returns a line of the list: whether the limit is met, or by how much it is missed."""
    outcome = "met"
    if reached > limit:
        share = f", {reached / limit - 1:.0%}" if limit > 0 else ""
        outcome = f"MISSED by {number_text(reached - limit)} {unit}{share}"
    return (f"{workload:<3} {what:<24} {number_text(reached):>9} {unit:<9} "
            f"{against:<46} {outcome}")


def aim_lines(results):
    compared = (
        ("S1", 1, 0, "one thread", unlinking(results), "whose cancel unlinks"),
        ("S1", 1, 1, "one thread, cascaded", unlinking(results), "whose cancel unlinks"),
        ("S1", 2, 0, "two threads", unlinking(results), "whose cancel unlinks"),
        ("S1", 2, 1, "two threads, cascaded", unlinking(results), "whose cancel unlinks"),
        ("S2", 1, 0, "cancel", unlinking(results), "whose cancel unlinks"),
        ("S2", 1, 1, "cascaded", unlinking(results), "whose cancel unlinks"),
        ("S3", 1, 0, "cpu", peers(results), "of all"),
        # Resident memory is the one measure that means the same in every language.
        ("S5", 1, 1, "resident", threaded(results), "for many threads"),
        ("S6", 1, 0, "reschedule", peers(results), "of all"),
    )
    for workload, threads, figure, what, names, who in compared:
        case = results.case(workload, threads)
        own = results.median(case, "elapse", figure)
        best, name = best_of(results, case, names, figure)
        if own is not None and best is not None:
            yield workload, judge(workload, what, case.figures[figure].unit, own, best,
                                  f"best {who}: {number_text(best)}, {name}")
    case = results.case("S3")
    early = case and results.mark(case, "elapse", "early")
    if early is not None:
        yield "S3", judge("S3", "early", "timers", early, 0, "none")
    case = results.case("S4")
    own = results.median(case, "elapse")
    if own is not None:
        yield "S4", judge("S4", "cpu", "ms in 5 s", own, IDLE_MOST_MS, f"at most {IDLE_MOST_MS}")


def print_aims(results):
    lines = sorted(aim_lines(results), key=lambda pair: pair[0])
    if not lines or not peers(results):
        return
    print("\nElapse's aims, by medians:")
    for _, line in lines:
        print(line)
