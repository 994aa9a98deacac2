#!/usr/bin/env python3
"""How the durable queue behaves as it grows: the curve from 100,000 jobs to 100,000,000.

For each size it fills a queue on the disk, cancels, cleans, kills the process, recovers, and opens
the queue once more, each stage in a process of its own (elapse-bench-scale). The figures of a size
go to the CSV file when all its stages are done. A size that the file has already is left out, so
that a run which was stopped goes on where it was. bench/README.md describes the figures.
"""
import argparse
import csv
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

import scale_plots

HERE = pathlib.Path(__file__).resolve().parent
COLUMNS = ("series", "jobs", "stage", "figure", "at", "value", "unit")
GIB = 1 << 30
MEGABYTE = 1_000_000
UNITS = {"k": 1000, "M": MEGABYTE}

# Room for a job, with records that are not cleaned yet; and for a queue that has few jobs.
DISK_BYTES, DISK_LEAST = 250, 1 * GIB
MEMORY_BYTES = {"delayed": 80, "keyed": 112}
MEMORY_LEAST = GIB // 2


def number_of(text):
    """10k, 2M or 300000."""
    unit = UNITS.get(text[-1:], 1)
    digits = text[:-1] if unit > 1 else text
    if not digits.isdecimal() or not 10_000 <= int(digits) * unit <= 250 * MEGABYTE:
        raise argparse.ArgumentTypeError(f"'{text}' is no number of jobs from 10k to 250M")
    return int(digits) * unit


def list_of(read):
    return lambda text: [read(word) for word in text.split(",")]


def series_of(text):
    if text not in MEMORY_BYTES:
        raise argparse.ArgumentTypeError(f"'{text}' is not one of delayed, keyed")
    return text


def memory_free():
    with open("/proc/meminfo", encoding="ascii") as lines:
        for line in lines:
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    return None


def refuse_if_short(series, jobs, directory):
    """Ends the program if the disk or the memory cannot hold this size."""
    disk = jobs * DISK_BYTES + DISK_LEAST
    memory = jobs * MEMORY_BYTES[series] + MEMORY_LEAST
    free = shutil.disk_usage(directory).free
    if free < disk:
        sys.exit(f"scale.py: {jobs} jobs need {disk / GIB:.1f} GiB in {directory}, which has "
                 f"{free / GIB:.1f}; see --directory and --sizes")
    free = memory_free()
    if free is not None and free < memory:
        sys.exit(f"scale.py: {jobs} {series} jobs need {memory / GIB:.1f} GiB of memory, and "
                 f"{free / GIB:.1f} are free; see --sizes")


def run_stage(program, stage, directory, jobs, series, bounds):
    """Returns the rows that a stage prints."""
    command = [program, stage, directory, "--jobs", str(jobs)]
    if series == "keyed":
        command.append("--keys")
    for name, count in bounds.items():
        command += [f"--{name}", str(count)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        try:
            text, _ = process.communicate()
        except BaseException:
            process.kill()
            raise
    expected = -signal.SIGKILL if stage == "fill" else 0
    if process.returncode != expected:
        sys.exit(f"scale.py: {series}, {jobs} jobs: the stage {stage} failed")
    return list(csv.reader(text.splitlines()))


def measure(program, series, jobs, directory):
    """Returns all rows of one size."""
    rows = []
    bounds = {}
    for stage in ("fill", "recover", "reopen"):
        rows.append(["machine", f"load before {stage}", 0, f"{os.getloadavg()[0]:.2f}", "processes"])
        print(f"{series}, {jobs} jobs: {stage}", file=sys.stderr, flush=True)
        found = run_stage(program, stage, directory, jobs, series, bounds)
        bounds = {row[1]: int(float(row[3])) for row in found if row[0] == "end"}
        rows += [row for row in found if row[0] != "end"]
    done = subprocess.run([program, "describe", directory, "--jobs", str(jobs)], check=True,
                          stdout=subprocess.PIPE, text=True)
    rows.append(["machine", done.stdout.strip(), 0, os.cpu_count(), "processors"])
    return [[series, jobs, *row] for row in rows]


def read_csv(path):
    if not os.path.exists(path):
        return []
    with open(path, encoding="utf-8", newline="") as file:
        reader = csv.reader(file)
        if tuple(next(reader, ())) != COLUMNS:
            sys.exit(f"scale.py: {path} is not a file of this benchmark")
        return [[row[0], int(row[1]), *row[2:]] for row in reader]


def write_csv(path, rows):
    """The file has all rows, or those that it had."""
    with open(path + ".new", "w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(COLUMNS)
        writer.writerows(rows)
    os.replace(path + ".new", path)


# ---- the table ----

def text_of(value, unit):
    value = float(value)
    if unit == "/s":
        value, unit = value / 1000, "k/s"
    elif unit == "bytes" and value >= MEGABYTE:
        value, unit = value / MEGABYTE, "MB"
    elif unit == "us" and value >= 10_000:
        value, unit = value / 1000, "ms"
    return f"{value:,.{0 if value >= 1000 else 1 if value >= 100 else 2}f} {unit}"


def print_table(rows):
    sizes = sorted({(row[0], row[1]) for row in rows})
    cells = {(row[0], row[1], row[2], row[3]): (row[5], row[6]) for row in rows
             if row[2] != "window" and row[2] != "machine"}
    figures = list(dict.fromkeys((row[2], row[3]) for row in rows
                                 if row[2] not in ("window", "machine")))
    print("| | " + " | ".join(f"{series}, {jobs:,}" for series, jobs in sizes) + " |")
    print("|---" * (len(sizes) + 1) + "|")
    for stage, figure in figures:
        found = [cells.get((*size, stage, figure)) for size in sizes]
        print(f"| {stage}: {figure} | "
              + " | ".join("-" if cell is None else text_of(*cell) for cell in found) + " |")


# ---- all sizes ----

def stop(_number, _frame):
    sys.exit("scale.py: stopped")


def measure_all(options, rows):
    sizes = [(series, jobs) for jobs in sorted(options.sizes) for series in options.series
             if series != "keyed" or jobs <= options.keyed_most]
    for series, jobs in sizes:
        refuse_if_short(series, jobs, options.directory)
    for series, jobs in sizes:
        if any(row[0] == series and row[1] == jobs for row in rows):
            print(f"{series}, {jobs} jobs: {options.csv} has them", file=sys.stderr)
            continue
        refuse_if_short(series, jobs, options.directory)
        with tempfile.TemporaryDirectory(prefix="elapse-bench-scale.",
                                         dir=options.directory) as directory:
            rows += measure(options.program, series, jobs, directory)
        write_csv(options.csv, rows)


def main():
    parser = argparse.ArgumentParser(prog="scale.py", description=__doc__.split("\n\n")[0])
    program = HERE.parent.parent / "build/bench/bench/queue/elapse-bench-scale"
    parser.add_argument("--program", default=str(program), help="what measures one size")
    parser.add_argument("--sizes", type=list_of(number_of), metavar="N,N",
                        default=list_of(number_of)("100k,1M,10M"),
                        help="numbers of jobs, 10k to 250M (default 100k,1M,10M; the full curve "
                        "also has 100M, and needs 25 GB of disk and 9 GB of memory)")
    parser.add_argument("--series", type=list_of(series_of), default=["delayed", "keyed"],
                        metavar="NAME,NAME", help="delayed, keyed (default both)")
    parser.add_argument("--keyed-most", type=number_of, default=10 * MEGABYTE, metavar="N",
                        help="the largest size with keys (default 10M)")
    parser.add_argument("--directory", default=".", help="where the files go (default .)")
    parser.add_argument("--csv", default="scale.csv", metavar="FILE",
                        help="the figures; sizes that it has are not measured again (default "
                        "scale.csv)")
    parser.add_argument("--plots", metavar="DIRECTORY", help="draw the curves, with gnuplot")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, stop)
    rows = read_csv(options.csv)
    measure_all(options, rows)
    print_table(rows)
    if options.plots is not None:
        os.makedirs(options.plots, exist_ok=True)
        scale_plots.draw(rows, options.plots)


if __name__ == "__main__":
    main()
