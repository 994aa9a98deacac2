#!/usr/bin/env python3
"""The race of the scheduler against the timers of other runtimes. README.md describes it."""

import argparse
import contextlib
import os
import shutil
import sys
import tempfile

sys.dont_write_bytecode = True
# pylint: disable=wrong-import-position
import contenders  # noqa: E402
import plots  # noqa: E402
import report  # noqa: E402
from results import WORKLOADS, Results  # noqa: E402

ROOT = os.path.dirname(os.path.dirname(contenders.HERE))
USUAL = {"timers": 1000000, "seconds": 5.0, "rounds": 5, "repetitions": 3}
QUICK = {"timers": 100000, "seconds": 1.0, "rounds": 2, "repetitions": 1}

STATUS_FAILED = 1
STATUS_USAGE = 2
STATUS_INTERRUPTED = 130


class Parser(argparse.ArgumentParser):
    def error(self, message):
        self.exit(STATUS_USAGE, f"{self.prog}: {message}\n")


def count_of(most):
    def parse(text):
        digits, unit = text, 1
        if text[-1:] in ("k", "M"):
            digits, unit = text[:-1], {"k": 10**3, "M": 10**6}[text[-1]]
        if not (digits.isascii() and digits.isdigit() and 1 <= int(digits) * unit <= most):
            raise argparse.ArgumentTypeError(
                f"{text}: not a number from 1 to {most} (1k and 1M are numbers)")
        return int(digits) * unit
    return parse


def seconds_of(text):
    try:
        number = float(text)
    except ValueError:
        number = 0
    if not 0.001 <= number <= 1000:
        raise argparse.ArgumentTypeError(f"{text}: not a number from 0.001 to 1000")
    return number


def some_of(known):
    def parse(text):
        for name in text.split(","):
            if name not in known:
                raise argparse.ArgumentTypeError(
                    f"{name or 'nothing'}: there are {', '.join(known)}")
        return tuple(name for name in known if name in text.split(","))
    return parse


def parse_arguments(arguments):
    parser = Parser(prog="race.py", allow_abbrev=False, description=(
        "Races the scheduler against the timers of other runtimes; bench/runtimes/README.md."))
    parser.add_argument("--workloads", type=some_of(WORKLOADS), default=WORKLOADS,
                        metavar="S1,S2,...", help="some alone")
    parser.add_argument("--contenders", type=some_of(contenders.NAMES), default=contenders.NAMES,
                        metavar="NAME,...", help=f"some of {', '.join(contenders.NAMES)}")
    parser.add_argument("--timers", type=count_of(50000000), help="number of timers (1M)")
    parser.add_argument("--seconds", type=seconds_of, help="length of S3, S4 and S6 (5)")
    parser.add_argument("--rounds", type=count_of(1000),
                        help="rounds in each process of S1, S2 and S6 (5)")
    parser.add_argument("--repetitions", type=count_of(1000),
                        help="processes of each contender in S1, S2 and S6 (3)")
    parser.add_argument("--csv", metavar="FILE", help="write all figures there")
    parser.add_argument("--plots", metavar="DIRECTORY", help="draw SVG files there, by gnuplot")
    parser.add_argument("--quick", action="store_true",
                        help="a first look: 100k timers, 1 s, 2 rounds, one process")
    parser.add_argument("--build", metavar="DIRECTORY", type=os.path.abspath,
                        default=os.path.join(ROOT, "build", "bench", "bench", "runtimes"),
                        help="where CMake left the programs in C, and others are to go")
    options = parser.parse_args(arguments)
    for name, value in (QUICK if options.quick else USUAL).items():
        if getattr(options, name) is None:
            setattr(options, name, value)
    if options.plots is not None:
        if shutil.which("gnuplot") is None:
            parser.error("--plots: there is no gnuplot (Debian: gnuplot-nox)")
        if set("'\n") & set(options.plots):
            parser.error(f"--plots: {options.plots}: not a name that gnuplot takes")
    return parser, options


def say(text):
    """Shows which run is under way, if standard error is a terminal."""
    if sys.stderr.isatty():
        print(f"\r\x1b[K{text}", end="", file=sys.stderr, flush=True)


def run_one(results, programs, case, name, lateness_path):
    options = results.options
    arguments = ["--workload", case.workload, "--timers", str(options.timers),
                 "--threads", str(case.threads), "--rounds", str(options.rounds),
                 "--seconds", f"{options.seconds:g}"]
    if case.workload == "S3":
        arguments += ["--lateness", lateness_path]
    metrics = [figure.metric for figure in case.figures] + list(case.marks)
    try:
        results.add(case, name, contenders.run(programs[name], arguments, metrics))
        if case.workload == "S3":
            results.histograms[name] = contenders.read_histogram(lateness_path)
    except contenders.Refusal as refusal:
        results.refusals[case, name] = str(refusal)
    except contenders.Failure as failure:
        results.failures[case, name] = str(failure)


def run_case(results, programs, case, folder):
    """The contenders take turns, every other time in reverse order, so that none always runs
    on a machine that another has just warmed."""
    repetitions = results.options.repetitions if case.in_rounds else 1
    for repetition in range(repetitions):
        for name in results.names if repetition % 2 == 0 else reversed(results.names):
            if (case, name) in results.refusals or (case, name) in results.failures:
                continue
            say(f"{case.workload}: {case.title}, {repetition + 1} of {repetitions}: {name}")
            run_one(results, programs, case, name, os.path.join(folder, f"{name}.csv"))


def race(options, csv_file):
    say("building")
    programs, left_out = contenders.find(options.build, options.contenders)
    results = Results(options, list(programs), left_out)
    with tempfile.TemporaryDirectory(prefix="elapse-race-") as folder:
        for case in results.cases():
            run_case(results, programs, case, folder)
    say("")
    report.print_table(results)
    if csv_file is not None:
        report.write_csv(results, csv_file)
    if options.plots is not None:
        plots.draw(results, options.plots)
    report.print_aims(results)
    if not programs:
        print("race.py: there is no contender", file=sys.stderr)
    return STATUS_FAILED if results.failures or not programs else 0


def main():
    parser, options = parse_arguments(sys.argv[1:])
    with contextlib.ExitStack() as stack:
        csv_file = None
        try:
            if options.plots is not None:
                os.makedirs(options.plots, exist_ok=True)
            if options.csv is not None:
                csv_file = stack.enter_context(
                    open(options.csv, "w", encoding="utf-8", newline=""))
        except OSError as error:
            parser.error(f"{error.filename}: {error.strerror}")
        try:
            return race(options, csv_file)
        except plots.GnuplotFailure as failure:
            print(f"race.py: gnuplot: {failure}", file=sys.stderr)
            return STATUS_FAILED
        except KeyboardInterrupt:
            return STATUS_INTERRUPTED


if __name__ == "__main__":
    sys.exit(main())
