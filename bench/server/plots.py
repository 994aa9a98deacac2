"""The plots: SVG files, drawn by gnuplot. Bars are hatched where a contender does not promise the
same work; each plot names the machine and the versions."""

import os
import subprocess
import textwrap

from report import FLOORS, MIB, ROWS, few_text, is_promised, number_text

# The colours of Okabe and Ito, which most people with a colour deficiency can tell apart.
LINES = {
    "elapse": "lc rgb '#0072b2' lw 3",
    "beanstalkd": "lc rgb '#d55e00' lw 2",
    "beanstalkd-f0": "lc rgb '#d55e00' lw 2 dt 2",
    "redis": "lc rgb '#cc79a7' lw 2",
    "redis-1s": "lc rgb '#cc79a7' lw 2 dt 4",
    "redis-lease": "lc rgb '#cc79a7' lw 2 dt 2",
    "postgres-1": "lc rgb '#009e73' lw 2 dt 4",
    "postgres-100": "lc rgb '#009e73' lw 2 dt 2",
    "postgres-1000": "lc rgb '#009e73' lw 2",
    "rabbitmq": "lc rgb '#e69f00' lw 2",
}
OTHER_LINE = "lc rgb '#000000' lw 1"
OURS, FLOOR, PEER = "#0072b2", "#e3e3e3", "#8c8c8c"
HATCH = 4  # a pattern of gnuplot
TEXT = "#555555"
WIDTH = 860
FOOTER_COLUMNS = 140  # of text at size 10

NOT_DURABLE = "not durable when acknowledged"
UNITS = {"count": "a second", "us": "microseconds", "ns": "nanoseconds", "bytes": "bytes",
         "s": "seconds", "MiB": "MiB", "jobs": "jobs"}

# Files of bars: name, title, and the rows: (workload, metric).
BARS = (
    ("put-20000", "durable puts, one connection, 20,000 under way", ("put-20000", "rate")),
    ("put-1000", "durable puts, one connection, 1,000 under way", ("put-1000", "rate")),
    ("put-64", "durable puts, one connection, 64 under way", ("put-64", "rate")),
    ("put-1", "durable puts, one connection, one at a time", ("put-1", "rate")),
    ("put-100x1", "durable puts, 100 connections, one at a time", ("put-100x1", "rate")),
    ("put-100x64", "durable puts, 100 connections, 64 under way", ("put-100x64", "rate")),
    ("story-put", "half an hour: put with a key", ("story", "put_rate")),
    ("story-cancel", "half an hour: cancel 90 % by key", ("story", "cancel_rate")),
    ("delete", "delete in the order of putting", ("rest", "rate")),
    ("reschedule", "reschedule by key", ("keyed", "rate")),
    ("heartbeat", "move a time-out at each heartbeat", ("heartbeat", "rate")),
    ("backlog", "hand out and acknowledge a backlog", ("backlog", "rate")),
    ("memory", "memory of a pending job", ("rest", "memory_bytes")),
    ("memory-key", "memory of a pending job with a key", ("keyed", "memory_bytes")),
    ("disk", "disk of a pending job", ("rest", "disk_bytes")),
    ("restart", "ready again after kill -9", ("rest", "restart_s")),
    ("restart-many", "ready again after kill -9, ten million jobs", ("many", "restart_s")),
    ("churn-disk", "disk under steady churn, at most", ("churn", "disk_most_bytes")),
)
CURVES = (
    ("late-1k", "1,000 timers due a second: how late they are handed out"),
    ("late-20k", "20,000 timers due a second: how late they are handed out"),
    ("many", "20,000 due a second while ten million wait: how late they are handed out"),
)


class GnuplotFailure(Exception):
    """What gnuplot said."""


def quote(text):
    return "'" + text.replace("'", "''") + "'"


def caption_lines(results, names, remark):
    """The machine, the versions of these contenders, and a remark."""
    machine = "; ".join(results.facts.get((fact, ""), "unknown")
                        for fact in ("processor", "system"))
    versions = "; ".join(f"{name}: {results.facts['version', name]}" for name in names
                         if results.facts.get(("version", name), "-") != "-")
    return [line for text in (machine, versions, remark)
            for line in textwrap.wrap(text, FOOTER_COLUMNS)]


def setting(name, directory, title, height, caption):
    height += 18 * len(caption)
    yield f"set terminal svg size {WIDTH},{height} dynamic font 'Helvetica,13' background '#ffffff'"
    yield "reset"
    yield "set encoding utf8"
    yield f"set output {quote(os.path.join(directory, name + '.svg'))}"
    yield f"set title {quote(title)} noenhanced"
    yield "set border 3\nset tics nomirror out"
    yield f"set bmargin {5 + 1.2 * len(caption):g}"
    for number, text in enumerate(reversed(caption)):
        place = f"screen 0.015,{(14 + 18 * number) / height:.4f}"
        yield (f"set label {number + 1} {quote(text)} at {place} font ',10' "
               f"textcolor rgb '{TEXT}' noenhanced")


# ---- bars ----

def colour_of(name):
    return FLOOR if name in FLOORS else OURS if name.startswith("elapse") else PEER


def tick_label(name):
    return "{/:Bold " + name + "}" if name == "elapse" else name


def bar(number, start, summary, name, hatched):
    colour = colour_of(name)
    style = (f"fillstyle pattern {HATCH} border lc rgb '{colour}'" if hatched
             else "fillstyle solid 1 noborder")
    return (f"set object rectangle from {start:g},{number} to {summary.median:g},{number + 0.7:g} "
            f"fillcolor rgb '{colour}' {style}")


def hatched_title(row):
    missing = {"durable": NOT_DURABLE, "key": "not by key",
               "leases": "deleted before the work is done"}
    return " or ".join(missing[need] for need in row.needs)


def bar_rows(results, row):
    """Contenders with what was measured, the best first. A start with fewer jobs is left out."""
    scale = 1 / MIB if row.unit == "MiB" else 1
    rows = []
    for name in results.contenders():
        summary = results.summary(row.workload, name, row.metric)
        if row.unit == "s" and few_text(results, row.workload, name):
            continue
        if summary is not None and summary.least > 0:
            rows.append((name, summary._replace(median=summary.median * scale,
                                                least=summary.least * scale,
                                                most=summary.most * scale)))
    return sorted(rows, key=lambda pair: pair[1].median, reverse=row.unit == "count")


def bars(results, promises, directory, plot):
    name, title, (workload, metric) = plot
    row = next(row for row in ROWS if (row.workload, row.metric) == (workload, metric))
    rows = bar_rows(results, row)
    if not rows:
        return
    highest = max(summary.most for _, summary in rows)
    lowest = min(summary.least for _, summary in rows)
    is_wide = highest > 50 * lowest
    start = 10 ** len(str(int(lowest))) / 100 if is_wide else 0
    remark = "medians, whiskers from least to most" + ("; logarithmic" if is_wide else "")
    caption = caption_lines(results, [contender for contender, _ in rows], remark)
    hatched = {contender for contender, _ in rows if contender != "floor" and
               not is_promised(promises.get(contender, {}), row.needs)}
    yield from setting(name, directory, title, 130 + 30 * len(rows) + 24 * bool(hatched), caption)
    yield "set lmargin 16\nset rmargin 4\nset grid xtics lc rgb '#dddddd' lt 1"
    if is_wide:
        yield f"set logscale x\nset xrange [{start:g}:{highest * 3:g}]"
    else:
        yield f"set xrange [0:{highest * 1.15 or 1:g}]"
    yield f"set xlabel {quote(UNITS[row.unit])}"
    yield "set format x '%g'" if row.unit == "s" else "set format x '%.0s %c'"
    places = ", ".join(f"'{tick_label(contender)}' {number + 0.35:g}"
                       for number, (contender, _) in enumerate(rows))
    yield f"set yrange [{len(rows)}:-0.2]\nset ytics scale 0 ({places})"
    yield ("set key outside top center horizontal Left reverse samplen 2" if hatched
           else "unset key")
    for number, (contender, summary) in enumerate(rows):
        yield bar(number, start, summary, contender, contender in hatched)
    yield "$values << end"
    for number, (_, summary) in enumerate(rows):
        text = number_text(summary.median * (MIB if row.unit == "MiB" else 1), row.unit)
        yield (f"{summary.median:g} {number + 0.35:g} {summary.least:g} {summary.most:g} "
               f"\"{text}\"")
    yield "end"
    entry = (f", keyentry with boxes fillstyle pattern {HATCH} fillcolor rgb '{PEER}' title "
             f"{quote(hatched_title(row))}" if hatched else "")
    yield ("plot $values using ($3 < $4 ? $1 : NaN):2:3:4 with xerrorbars pt 0 lw 1 "
           "lc rgb '#333333' notitle, $values using 4:2:5 with labels left offset 0.7,0 font ',11' "
           "notitle" + entry)
    yield "unset output\nunset object"


# ---- lateness ----

def later_than(histogram):
    """Pairs: microseconds, and the share of the jobs that were later. The last bucket leaves none,
    and has no place on a logarithmic axis."""
    total = sum(count for _, count in histogram)
    left = total
    points = [(1, 1.0)]
    for upper_us, count in histogram:
        left -= count
        if left > 0:
            points.append((upper_us, left / total))
        else:
            points.append((upper_us, 0.5 / total))
    return points


def curves(results, directory, plot):
    workload, title = plot
    names = [name for name in results.contenders() if results.histogram(workload, name)]
    if not names:
        return
    early = {name for name in names if results.most(workload, name, "early")}
    caption = caption_lines(results, names, "all rounds together; early jobs count as not late")
    yield from setting("lateness-" + workload, directory, title, 430, caption)
    yield "set key outside right top Left reverse samplen 3\nset logscale xy"
    yield "set grid xtics ytics lc rgb '#dddddd' lt 1\nset mxtics 1\nset mytics 1"
    yield "set xlabel 'lateness x'\nset ylabel 'share of the timers that are later than x'"
    yield ("set xrange [10:*]\nset xtics ('10 µs' 10, '100 µs' 100, '1 ms' 1e3, '10 ms' 1e4, "
           "'100 ms' 1e5, '1 s' 1e6, '10 s' 1e7, '100 s' 1e8)")
    yield ("set yrange [*:1]\nset ytics ('100 %%' 1, '10 %%' 0.1, '1 %%' 0.01, '0.1 %%' 1e-3, "
           "'0.01 %%' 1e-4, '0.001 %%' 1e-5, '1 in 1M' 1e-6, '1 in 10M' 1e-7)")
    for number, name in enumerate(names):
        points = later_than(results.histogram(workload, name))
        yield f"$curve{number} << end\n" + "\n".join(f"{x} {y:g}" for x, y in points) + "\nend"
    yield "plot " + ", ".join(
        f"$curve{number} using 1:2 with lines {LINES.get(name, OTHER_LINE)} title "
        f"{quote(name + (' (some early)' if name in early else ''))} noenhanced"
        for number, name in enumerate(names))
    yield "unset output"


def script(results, promises, directory):
    for plot in BARS:
        yield from bars(results, promises, directory, plot)
    for plot in CURVES:
        yield from curves(results, directory, plot)


def draw(results, promises, directory):
    """Raises GnuplotFailure."""
    text = "\n".join(script(results, promises, directory)) + "\n"
    done = subprocess.run(["gnuplot"], input=text, text=True, encoding="utf-8",
                          capture_output=True, check=False)
    if done.returncode != 0 or done.stderr.strip():
        lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
        raise GnuplotFailure(lines[-1] if lines else f"status {done.returncode}")
