"""The curves of scale.py: SVG files, drawn by gnuplot."""

import os
import subprocess
import sys

# The colours of Okabe and Ito, which most people with a colour deficiency can tell apart.
BLUE, ORANGE, GREEN, SKY, PINK = "#0072b2", "#d55e00", "#009e73", "#56b4e9", "#cc79a7"
BY_SIZE = (SKY, GREEN, ORANGE, BLUE, PINK)
GREY = "lc rgb '#888888' lw 1.5 dt 2"
PROMISES = {"delayed": 70, "keyed": 100}
RECOVERY_GOAL = 0.3


def quote(text):
    return "'" + text.replace("'", "''") + "'"


def power_text(jobs):
    """100,000 is 10^5."""
    digits = len(str(jobs)) - 1
    return f"10^{{{digits}}}" if jobs == 10 ** digits else f"{jobs:,}"


class Figures:
    """The rows of the CSV file, by what they are."""

    def __init__(self, rows):
        self.rows = rows
        self.machine = next((row[3] for row in rows if row[2] == "machine" and
                             row[6] == "processors"), "")

    def sizes(self, series):
        return sorted({row[1] for row in self.rows if row[0] == series})

    def value(self, series, jobs, stage, figure):
        for row in self.rows:
            if row[:4] == [series, jobs, stage, figure]:
                return float(row[5])
        return None

    def curve(self, series, stage, figure, of=None):
        """Points (jobs, value), or (jobs, value a job) with `of`."""
        points = []
        for jobs in self.sizes(series):
            value = self.value(series, jobs, stage, figure)
            if value is not None:
                points.append((jobs, value if of is None else of(self, series, jobs, value)))
        return points

    def windows(self, series, jobs, figure):
        return [(int(row[4]), float(row[5])) for row in self.rows
                if row[:4] == [series, jobs, "window", figure]]


def setting(name, directory, title, figures, footer, ylabel, log_y=False, of_windows=False):
    sizes = [row[1] for row in figures.rows]
    least, most = min(sizes) / (100 if of_windows else 1.5), max(sizes) * 1.5
    yield "reset"
    yield "set terminal svg size 860,520 dynamic font 'Helvetica,13' background '#ffffff'"
    yield "set encoding utf8"
    yield f"set output {quote(os.path.join(directory, name + '.svg'))}"
    yield f"set title {quote(title)}"
    yield "set border 3\nset tics nomirror out\nset bmargin 6.5\nset mxtics 1\nset mytics 1"
    yield "set key outside right top Left reverse samplen 3"
    yield "set grid xtics ytics lc rgb '#dddddd' lt 1"
    yield f"set logscale {'xy' if log_y else 'x'}\nset xlabel 'jobs'\nset ylabel {quote(ylabel)}"
    yield ("set xtics (" + ", ".join(f"'10^{{{power}}}' 1e{power}" for power in range(3, 10)) + ")")
    yield f"set xrange [{least:g}:{most:g}]"
    for number, text in enumerate((figures.machine, footer)):
        yield (f"set label {number + 1} {quote(text)} at screen 0.015,{(34 - 18 * number) / 520:.4f} "
               "font ',10' textcolor rgb '#555555' noenhanced")


def plot(curves):
    """Curves: title, style, points; those without points are left out."""
    curves = [curve for curve in curves if curve[2]]
    if not curves:
        return
    for number, (_, _, points) in enumerate(curves):
        yield f"$curve{number} << end\n" + "\n".join(f"{x} {y:g}" for x, y in points) + "\nend"
    yield "plot " + ", ".join(f"$curve{number} using 1:2 with {style} title {quote(title)}"
                              for number, (title, style, _) in enumerate(curves))
    yield "unset output"


def line(colour, dashes=1):
    return f"linespoints lc rgb '{colour}' lw 2.5 dt {dashes} pt 7 ps 0.6"


def flat(points, level):
    """A line over the width of the points."""
    places = [x for x, _ in points]
    return [(min(places), level), (max(places), level)] if len(places) > 1 else []


def put_plot(figures, directory):
    yield from setting("scale-put", directory, "Puts a second while a queue fills", figures,
                       "each point is a hundredth of a run; groups of 1000, synced, one ahead; "
                       "dashed: the floor, which keeps no jobs",
                       "thousands of puts a second", log_y=True, of_windows=True)
    yield "set yrange [10:10000]"
    sizes = figures.sizes("delayed")
    curves = [(f"up to {power_text(jobs)} jobs",
               f"lines lc rgb '{BY_SIZE[number % len(BY_SIZE)]}' lw 2",
               [(at, rate / 1e3) for at, rate in figures.windows("delayed", jobs, "put")])
              for number, jobs in enumerate(sizes)]
    floor = [(jobs, rate / 1e3) for jobs, rate in figures.curve("delayed", "put", "floor")]
    yield from plot([*curves, ("floor", f"linespoints {GREY} pt 6 ps 0.6", floor)])


def put_time_plot(figures, directory):
    yield from setting("scale-put-cpu", directory, "Processor time of a put while a queue fills",
                       figures, "each point is a hundredth of a run; all threads together",
                       "microseconds", of_windows=True)
    yield "set yrange [0:*]"
    yield from plot([
        (f"up to {power_text(jobs)} jobs",
         f"lines lc rgb '{BY_SIZE[number % len(BY_SIZE)]}' lw 2",
         figures.windows("delayed", jobs, "processor time of a put"))
        for number, jobs in enumerate(figures.sizes("delayed"))])


def slope(figures, series, jobs, figure):
    """Bytes of each job from a tenth of the filling on: the buffers are there by then."""
    points = figures.windows(series, jobs, figure)
    if len(points) < 20:
        return None
    first, last = points[len(points) // 10 - 1], points[-1]
    return (last[1] - first[1]) / (last[0] - first[0])


def memory_curve(figures, series, figure):
    points = [(jobs, slope(figures, series, jobs, figure)) for jobs in figures.sizes(series)]
    return [point for point in points if point[1] is not None]


def memory_plot(figures, directory):
    yield from setting("scale-memory", directory, "Memory of a job", figures,
                       "growth from a tenth of the jobs to all of them; dashed: the promise",
                       "bytes")
    yield "set yrange [0:*]"
    curves = []
    for series, colour in (("delayed", BLUE), ("keyed", ORANGE)):
        counted = memory_curve(figures, series, "memory, allocated")
        resident = memory_curve(figures, series, "memory, resident")
        name = "with a key" if series == "keyed" else "delayed"
        curves += [(f"{name}, counted", line(colour), counted),
                   (f"{name}, resident", line(colour, 3), resident),
                   (f"promised: {PROMISES[series]}", f"lines {GREY}",
                    flat(counted, PROMISES[series]))]
    yield from plot(curves)


def a_million(_figures, _series, jobs, seconds):
    """Seconds for each million jobs that were put."""
    return seconds * 1e6 / jobs


def recovery_plot(figures, directory):
    yield from setting("scale-recovery", directory, "Opening a queue", figures,
                       "for each million jobs that were put; the log also has the cancels of many of them",
                       "seconds for a million jobs", log_y=True)
    killed = figures.curve("delayed", "recover", "open", a_million)
    yield from plot([
        ("after kill -9", line(BLUE), killed),
        ("  of it processor time", line(BLUE, 3),
         figures.curve("delayed", "recover", "open, processor time", a_million)),
        ("files not cached", line(ORANGE), figures.curve("delayed", "reopen", "open", a_million)),
        ("floor: reading them", f"linespoints {GREY} pt 6 ps 0.6",
         figures.curve("delayed", "reopen", "floor: read the files", a_million)),
        (f"goal: {RECOVERY_GOAL}", f"lines {GREY.replace('dt 2', 'dt 4')}",
         flat(killed, RECOVERY_GOAL))])


def longest_plot(figures, directory):
    yield from setting("scale-longest", directory, "The longest call", figures,
                       "on the wall, with waiting for the disk and other programs; the processor "
                       "time of 1000 puts has no waiting", "microseconds", log_y=True)
    yield from plot([
        ("put", line(BLUE), figures.curve("delayed", "put", "put: longest")),
        ("cancel", line(GREEN), figures.curve("delayed", "cancel", "cancel: longest")),
        ("while cleaning", line(ORANGE),
         figures.curve("delayed", "churn", "cancel or put: longest")),
        ("put, p99.99", line(BLUE, 3), figures.curve("delayed", "put", "put: p99.99")),
        ("1000 puts, processor time", line(PINK),
         figures.curve("delayed", "put", "processor time of 1000 calls: longest"))])


PLOTS = (put_plot, put_time_plot, memory_plot, recovery_plot, longest_plot)


def draw(rows, directory):
    """Draws all curves."""
    figures = Figures(rows)
    script = "\n".join(part for plots in PLOTS for part in plots(figures, directory)) + "\n"
    try:
        done = subprocess.run(["gnuplot"], input=script, text=True, encoding="utf-8",
                              capture_output=True, check=False)
    except FileNotFoundError:
        sys.exit("scale.py: the curves need gnuplot (Debian: gnuplot-nox)")
    if done.returncode != 0 or done.stderr.strip():
        sys.exit(f"scale.py: gnuplot: {done.stderr.strip()}")
