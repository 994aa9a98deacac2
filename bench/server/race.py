#!/usr/bin/env python3
"""The race of the durable: the server beside its floor, beanstalkd, Redis, PostgreSQL and RabbitMQ.

One server runs at a time, each run on an empty directory. The figures of each run go into the CSV
file at once; a race that was interrupted goes on from there when it is started again.
"""

import argparse
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time

sys.dont_write_bytecode = True
# pylint: disable=wrong-import-position
import contenders  # noqa: E402
import plots  # noqa: E402
import quick  # noqa: E402
import report  # noqa: E402
from results import Mismatch, Results  # noqa: E402
from server import Failure  # noqa: E402
from workloads import FULL, QUICK, TINY, WORKLOADS, takes_part  # noqa: E402

HERE = os.path.dirname(os.path.abspath(__file__))
BUILD = os.path.join(os.path.dirname(os.path.dirname(HERE)), "build")

STATUS_FAILED = 1
STATUS_USAGE = 2
STATUS_INTERRUPTED = 130


class Parser(argparse.ArgumentParser):
    def error(self, message):
        self.exit(STATUS_USAGE, f"{self.prog}: {message}\n")


def some_of(known):
    """A parser of names with commas between them; a name with * at its end stands for several."""
    def parse(text):
        chosen = []
        for word in text.split(","):
            found = [name for name in known
                     if name == word or (word.endswith("*") and name.startswith(word[:-1]))]
            if not word or not found:
                raise argparse.ArgumentTypeError(
                    f"{word or 'nothing'}: there are {', '.join(known)}")
            chosen += found
        return tuple(name for name in known if name in chosen)
    return parse


def number_of(kind, most):
    def parse(text):
        try:
            number = kind(text)
        except ValueError:
            number = 0
        if not 0 < number <= most:
            raise argparse.ArgumentTypeError(f"{text}: not a number above 0, up to {most}")
        return number
    return parse


def parse_arguments(arguments):
    names = tuple(contenders.KNOWN)
    parser = Parser(prog="race.py", description=__doc__, allow_abbrev=False,
                    epilog=f"Contenders: {', '.join(names)}. Workloads: {', '.join(WORKLOADS)}.")
    parser.add_argument("--contenders", type=some_of(names), metavar="A,B")
    parser.add_argument("--only", type=some_of(tuple(WORKLOADS)), metavar="A,B",
                        help="only these workloads; put* is all that begin with put")
    parser.add_argument("--rounds", type=number_of(int, 100), help="3, and 1 if not the full race")
    parser.add_argument("--quick", action="store_true",
                        help=f"{quick.MINUTES} minutes: the main figures of what is installed, as text")
    parser.add_argument("--tiny", action="store_true",
                        help="counts that say only that it all runs; also with --quick")
    parser.add_argument("--minutes", type=number_of(float, 10_000), help="begin no run that would "
                        f"probably end later than this (120, and {quick.MINUTES} with --quick)")
    parser.add_argument("--csv", metavar="FILE", help="the figures; a race goes on from there "
                        "(build/servers.csv, and none if not the full race)")
    parser.add_argument("--plots", metavar="DIRECTORY", help="draw SVG files there, by gnuplot")
    parser.add_argument("--report", action="store_true", help="only report what the file has")
    parser.add_argument("--directory", help="on the disk to measure; by default that of the file, "
                        "or the present one")
    parser.add_argument("--tools", default=os.path.join(BUILD, "bench/bench/server"),
                        help="where the load programs are")
    parser.add_argument("--elapse", default=os.path.join(BUILD, "release/elapse"),
                        help="the program to measure")
    options = parser.parse_args(arguments)
    options.scale = TINY if options.tiny else QUICK if options.quick else FULL
    options.contenders = options.contenders or (
        tuple(name for name in quick.CONTENDERS if name in names) if options.quick else names)
    options.only = options.only or (quick.WORKLOADS if options.quick else tuple(WORKLOADS))
    options.rounds = options.rounds or (3 if options.scale is FULL else 1)
    options.minutes = options.minutes or (quick.MINUTES if options.quick else 120)
    if options.csv is None and options.scale is FULL:
        options.csv = os.path.join(BUILD, "servers.csv")
    options.directory = os.path.abspath(options.directory or
                                        os.path.dirname(options.csv or "") or ".")
    if options.plots is not None and shutil.which("gnuplot") is None:
        parser.error("--plots: there is no gnuplot (Debian: gnuplot-nox)")
    return parser, options


def say(text):
    print(f"[{time.strftime('%H:%M:%S')}] {text}", file=sys.stderr, flush=True)


# ---- the race ----

class Stand:
    """The one server that runs now."""

    def __init__(self, options):
        self.options = options
        self.key = self.server = self.directory = None

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.clear()

    def clear(self):
        """Stops the server, and removes its directory."""
        directory, self.directory, self.key = self.directory, None, None
        if directory is None:
            return
        try:
            self.server.stop()
        finally:
            shutil.rmtree(directory, ignore_errors=True)

    def place(self, key, name):
        """Returns a new server, or the present one if it has this key."""
        if key is None or key != self.key:
            self.clear()
            self.directory = tempfile.mkdtemp(prefix="elapse-race-", dir=self.options.directory)
            self.server = contenders.KNOWN[name](self.options, self.directory)
            self.server.start()
            self.key = key
        return self.server

    def measure(self, number, name, workload):
        """Runs a workload. Returns its figures, and why it failed or None."""
        figures, group = {}, WORKLOADS[workload].group
        try:
            server = self.place(group and (number, group, name), name)
            for more in WORKLOADS[workload].run(server, self.options.scale):
                figures.update(more)
        except (Failure, OSError, subprocess.SubprocessError) as failure:
            self.clear()
            return figures, str(failure)
        return figures, None


def groups_of(names):
    """Neighbours of one group together."""
    groups = []
    for name in names:
        group = WORKLOADS[name].group
        if group is None or not groups or WORKLOADS[groups[-1][0]].group != group:
            groups.append([])
        groups[-1].append(name)
    return groups


def runs_of(options, names):
    """Rounds, workloads and contenders, these every other time in reverse order, so that none
    always runs on a machine that another has just warmed."""
    for number in range(1, options.rounds + 1):
        for group in groups_of(options.only):
            for contender in names if number % 2 == 1 else reversed(names):
                kind = contenders.kind_of(contender)
                for name in group:
                    if takes_part(kind, contender, WORKLOADS[name]) and number <= (
                            WORKLOADS[name].rounds or number):
                        yield number, name, contender


def race(options, results, names):
    """Returns how many runs there was no time for."""
    until = time.monotonic() + options.minutes * 60
    unmade = 0
    with Stand(options) as stand:
        for run in runs_of(options, names):
            if run in results.done:
                continue
            number, workload, name = run
            expected_s = WORKLOADS[workload].expected_s * options.scale.share
            if time.monotonic() + expected_s > until:
                unmade += 1
                continue
            begun = time.monotonic()
            figures, error = stand.measure(number, name, workload)
            seconds = time.monotonic() - begun
            results.add(number, workload, name, figures, seconds, error)
            say(f"round {number}, {workload}, {name}: {seconds:.1f} s" +
                (f": FAILED: {error}" if error else ""))
    return unmade


def note_facts(options, results):
    """What may not change within one file. Returns the contenders that are installed."""
    results.state("scale", "", options.scale.name)
    results.state("processor", "", report.processor())
    results.state("system", "", report.system())
    names = []
    for name in options.contenders:
        missing = contenders.missing_of(name, options)
        if missing:
            say(f"{name} is left out: {', '.join(missing)} is not there")
            continue
        names.append(name)
        server = contenders.KNOWN[name](options, options.directory)
        results.state("version", name, server.versions() or "-")
    return names


def left_out(options):
    """Pairs of a contender that is not here, and the Debian packages that bring it."""
    pairs = ((name, contenders.missing_of(name, options)) for name in options.contenders)
    return [(name, ", ".join(contenders.PACKAGES.get(program, program) for program in missing))
            for name, missing in pairs if missing]


def run_all(options):
    if options.csv is not None:
        os.makedirs(os.path.dirname(os.path.abspath(options.csv)), exist_ok=True)
    if options.plots is not None:
        os.makedirs(options.plots, exist_ok=True)
    results = Results(options.csv)
    load = os.getloadavg()[0]
    unmade = 0
    if not options.report:
        names = note_facts(options, results)
        unmade = race(options, results, names)
    promises = {name: contenders.promises_of(name) for name in contenders.KNOWN}
    if options.quick:
        print("\n".join(quick.lines(results, promises, left_out(options), load)))
    else:
        print("\n".join(report.lines(results, promises)))
    if options.plots is not None:
        plots.draw(results, promises, options.plots)
    if unmade > 0:
        say(f"there was no time for {unmade} runs: " + (
            "the same command goes on with them" if options.csv else "--minutes gives more"))
    return STATUS_FAILED if results.errors or not results.done else 0


def end_by_signal(number, _frame):
    raise SystemExit(128 + number)


def main():
    parser, options = parse_arguments(sys.argv[1:])
    signal.signal(signal.SIGTERM, end_by_signal)
    try:
        return run_all(options)
    except (Mismatch, OSError) as error:
        parser.error(str(error))
    except plots.GnuplotFailure as failure:
        print(f"race.py: gnuplot: {failure}", file=sys.stderr)
        return STATUS_FAILED
    except KeyboardInterrupt:
        say("interrupted: the same command goes on")
        return STATUS_INTERRUPTED
    return 0


if __name__ == "__main__":
    sys.exit(main())
