"""The plots: SVG files, drawn by gnuplot."""

import os
import subprocess

from report import count_text, number_text, processor, system

# The colours of Okabe and Ito, which most people with a colour deficiency can tell apart. If
# two contenders share a colour, one has dashes.
LINES = {
    "elapse": "lc rgb '#0072b2' lw 3",
    "libuv": "lc rgb '#d55e00' lw 2",
    "libevent": "lc rgb '#009e73' lw 2",
    "libevent-precise": "lc rgb '#009e73' lw 2 dt 2",
    "go": "lc rgb '#56b4e9' lw 2",
    "executor": "lc rgb '#cc79a7' lw 2",
    "executor-remove": "lc rgb '#cc79a7' lw 2 dt 2",
    "java-util-timer": "lc rgb '#cc79a7' lw 2 dt 4",
    "netty": "lc rgb '#e69f00' lw 2",
    "netty-65536": "lc rgb '#e69f00' lw 2 dt 2",
    "tokio": "lc rgb '#000000' lw 2",
    "tokio-task": "lc rgb '#000000' lw 2 dt 2",
}
# By series: a bar of elapse, of a peer.
FILLS = (("#0072b2", "#8c8c8c"), ("#8ec4e4", "#cfcfcf"))
HATCH = 4  # a pattern of gnuplot
TEXT = "#555555"


class GnuplotFailure(Exception):
    """What gnuplot said."""


def quote(text):
    return "'" + text.replace("'", "''") + "'"


def setting(name, directory, title, height, footer):
    yield (f"set terminal svg size 860,{height} dynamic font 'Helvetica,13' background '#ffffff'")
    yield "reset"
    yield "set encoding utf8"
    yield f"set output {quote(os.path.join(directory, name + '.svg'))}"
    yield f"set title {quote(title)} noenhanced"
    yield "set border 3"
    yield "set tics nomirror out"
    for number, text in enumerate((f"{processor()}; {system()}", footer)):
        yield (f"set label {number + 1} {quote(text)} at screen 0.015,first 0 "
               f"font ',10' textcolor rgb '{TEXT}' noenhanced"
               ).replace("screen 0.015,first 0", f"screen 0.015,{(34 - 18 * number) / height:.4f}")


def tick_label(name):
    return "{/:Bold " + name + "}" if name == "elapse" else name


def bar(number, place, name, hatched, thick):
    """A filled box from 0 to the median, as an object that lies behind the axes."""
    summary, series = place
    top = number + thick * series
    colour = FILLS[series][name != "elapse"]
    style = (f"fillstyle pattern {HATCH} border lc rgb '{colour}'" if hatched
             else "fillstyle solid 1 noborder")
    return (f"set object rectangle from 0,{top:g} to {summary.median:g},{top + thick:g} "
            f"fillcolor rgb '{colour}' {style}")


def draw_bars(directory, name, title, unit, rows, series, hatched_title, footer):
    """Rows: contender, a summary for each series or None, hatched or not. The best on top."""
    rows = sorted((row for row in rows if any(row[1])),
                  key=lambda row: next(summary.median for summary in row[1] if summary))
    if not rows:
        return
    drawn = [number for number in range(len(series)) if any(row[1][number] for row in rows)]
    thick = 0.7 / len(drawn)
    highest = max(summary.most for row in rows for summary in row[1] if summary)
    hatched = any(row[2] for row in rows)
    keyed = len(drawn) > 1 or hatched
    yield from setting(name, directory, title,
                       170 + (30 if len(drawn) == 1 else 44) * len(rows) + 24 * keyed, footer)
    yield "set lmargin 18\nset rmargin 4\nset bmargin 6.5\nset grid xtics lc rgb '#dddddd' lt 1"
    yield f"set xlabel {quote(unit)}\nset xrange [0:{highest * 1.13 or 1:g}]"
    yield f"set yrange [{len(rows)}:-0.2]\nset ytics scale 0 ({', '.join(tick_places(rows))})"
    yield "set key outside top center horizontal Left reverse samplen 2" if keyed else "unset key"
    labels = []
    for row, (contender, summaries, is_hatched) in enumerate(rows):
        for place, number in enumerate(drawn):
            summary = summaries[number]
            if summary is None:
                continue
            yield bar(row, (summary, place), contender, is_hatched, thick)
            labels.append(f"{summary.median:g} {row + thick * (place + 0.5):g} {summary.least:g} "
                          f"{summary.most:g} {number_text(summary.median)}")
    yield "$values << end\n" + "\n".join(labels) + "\nend"
    entries = [f"keyentry with boxes fillstyle solid 1 noborder fillcolor rgb '{FILLS[place][1]}' "
               f"title {quote(series[number])}" for place, number in enumerate(drawn)
               if len(drawn) > 1]
    if hatched:
        entries.append(f"keyentry with boxes fillstyle pattern {HATCH} fillcolor rgb "
                       f"'{FILLS[0][1]}' title {quote(hatched_title)}")
    yield "plot " + ", ".join([
        "$values using ($3 < $4 ? $1 : NaN):2:3:4 with xerrorbars pt 0 lw 1 lc rgb '#333333' "
        "notitle",
        "$values using 4:2:5 with labels left offset 0.7,0 font ',11' notitle", *entries])
    yield "unset output\nunset object"


def tick_places(rows):
    return [f"'{tick_label(contender)}' {row + 0.35:g}"
            for row, (contender, _, _) in enumerate(rows)]


def case_rows(results, case, numbers, hatched):
    return [(name, [results.summary(case, name, case.figures[number]) for number in numbers],
             hatched(name)) for name in results.names]


def repeated(results):
    options = results.options
    return (f"medians, whiskers from least to most; processes x rounds: {options.repetitions} x "
            f"{options.rounds}")


def schedule_plot(results, directory):
    one, two = results.case("S1", 1), results.case("S1", 2)
    rows = [(name, [results.summary(one, name, one.figures[0]),
                    results.summary(two, name, two.figures[0])], bool(results.note(one, name)))
            for name in results.names]
    title = f"S1, schedule {count_text(results.timers(one))} timers"
    alone = " (event loops cannot)" if any(key[0] == two for key in results.refusals) else ""
    return draw_bars(directory, "s1-schedule", title, "ns of wall time for each timer", rows,
                     ("from one thread", "from two threads" + alone), "call only queues",
                     repeated(results))


def cancel_plot(results, directory):
    case = results.case("S2")
    rows = case_rows(results, case, (0, 1),
                     lambda name: results.mark(case, name, "unlinks") == 0)
    # Where nothing is left to be done afterwards, the second bar would only repeat the first.
    if all(both[0] is None or both[1].median <= both[0].median * 1.01 for _, both, _ in rows):
        rows = [(name, [both[0], None], hatched) for name, both, hatched in rows]
    title = f"S2, cancel {count_text(results.timers(case))} timers in random order"
    return draw_bars(directory, "s2-cancel", title, "ns for each timer", rows,
                     ("call has returned", "entry has gone, where that can be seen"),
                     "only marks, the entry stays", repeated(results))


def deliver_plot(results, directory):
    case = results.case("S3")
    rows = case_rows(results, case, (0,), lambda name: bool(results.note(case, name)))
    title = (f"S3, {count_text(results.timers(case))} timers come due within "
             f"{results.options.seconds:g} s: processor time")
    return draw_bars(directory, "s3-cpu", title, "s of processor time of the whole process", rows,
                     ("cpu",), "fires some early", "one process each")


def memory_plot(results, directory):
    case = results.case("S5")
    rows = case_rows(results, case, (0, 1), lambda name: False)
    title = f"S5, memory with {count_text(results.timers(case))} timers pending"
    return draw_bars(directory, "s5-memory", title, "bytes for each timer", rows,
                     ("live, where the runtime tells", "resident"), "",
                     "one process each")


def restart_plot(results, directory):
    case = results.case("S6")
    rows = case_rows(results, case, (0,), lambda name: bool(results.note(case, name)))
    title = f"S6, postpone random ones of {count_text(results.timers(case))} timers"
    return draw_bars(directory, "s6-reschedule", title, "ns for each", rows, ("reschedule",),
                     "no call for it: cancel and schedule anew", repeated(results))


def later_than(histogram):
    """Returns pairs: microseconds, and the share of the timers that were at least so late. The
    first is at 1 us, where the axis begins, and the last where the curve is below one timer."""
    total = sum(count for _, count in histogram)
    left = total
    points = []
    for lateness_us, count in sorted(histogram):
        if lateness_us >= 1:
            if not points and lateness_us > 1:
                points.append((1, left / total))
            points.append((lateness_us, left / total))
        left -= count
    return points


def lateness_plot(results, directory):
    case = results.case("S3")
    curves = {name: later_than(results.histograms[name]) for name in results.names
              if name in results.histograms}
    curves = {name: points for name, points in curves.items() if points}
    if not curves:
        return
    title = (f"S3, {count_text(results.timers(case))} timers come due within "
             f"{results.options.seconds:g} s: how late they fire")
    yield from setting("s3-lateness", directory, title, 540,
                       "one process each; what fires early counts as not late")
    yield "set bmargin 6.5\nset key outside right top Left reverse samplen 3\nset logscale xy"
    yield "set grid xtics ytics lc rgb '#dddddd' lt 1\nset mxtics 1\nset mytics 1"
    yield "set xlabel 'lateness x'\nset ylabel 'share of the timers that are later than x'"
    yield ("set xrange [1:*]\nset xtics ('1 µs' 1, '10 µs' 10, '100 µs' 100, '1 ms' 1e3, "
           "'10 ms' 1e4, '100 ms' 1e5, '1 s' 1e6, '10 s' 1e7)")
    yield (f"set yrange [{1 / results.timers(case):g}:1]\nset ytics ('100 %%' 1, '10 %%' 0.1, "
           "'1 %%' 0.01, '0.1 %%' 1e-3, '0.01 %%' 1e-4, '0.001 %%' 1e-5, '1 in 1M' 1e-6, "
           "'1 in 10M' 1e-7)")
    for number, points in enumerate(curves.values()):
        yield f"$curve{number} << end\n" + "\n".join(f"{x} {y:g}" for x, y in points) + "\nend"
    yield "plot " + ", ".join(
        f"$curve{number} using 1:2 with lines {LINES[name]} title "
        f"{quote(name + (' (some early)' if results.note(case, name) else ''))}"
        for number, name in enumerate(curves))
    yield "unset output"


PLOTS = (("S1", schedule_plot), ("S2", cancel_plot), ("S3", deliver_plot), ("S3", lateness_plot),
         ("S5", memory_plot), ("S6", restart_plot))


def draw(results, directory):
    """Raises GnuplotFailure."""
    script = "\n".join(line for workload, plot in PLOTS if workload in results.options.workloads
                       for line in plot(results, directory)) + "\n"
    done = subprocess.run(["gnuplot"], input=script, text=True, encoding="utf-8",
                          capture_output=True, check=False)
    if done.returncode != 0 or done.stderr.strip():
        lines = [line.strip() for line in done.stderr.splitlines() if line.strip()]
        raise GnuplotFailure(lines[-1] if lines else f"status {done.returncode}")
