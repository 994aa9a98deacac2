#!/usr/bin/env python3
"""The server beside its floor, beanstalkd and Redis: one table, with ratios to the floor.

Each figure is the median of some runs, each on a fresh server with an empty directory, on a free
port of this machine. Contenders that are not installed are left out, and named.
"""
import argparse
import pathlib
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
MILLION = 1_000_000

# name: program, how clients speak to it, and how it is started
CONTENDERS = {
    "floor": ("floor", "beanstalkd", "{tools}/elapse-bench-server-floor {dir}/floor"),
    "elapse": ("elapse", "beanstalkd", "{elapse} serve -l 127.0.0.1 -p {port} -b {dir}/data"),
    "elapse resp": ("elapse", "resp", "{elapse} serve -l 127.0.0.1 -p {port} -b {dir}/data"),
    "elapse -f50": ("elapse", "beanstalkd",
                    "{elapse} serve -l 127.0.0.1 -p {port} -b {dir}/data --durability interval=50"),
    "elapse memory": ("elapse", "beanstalkd",
                      "{elapse} serve -l 127.0.0.1 -p {port} --durability memory"),
    "beanstalkd -b": ("beanstalkd", "beanstalkd",
                      "beanstalkd -l 127.0.0.1 -p {port} -b {dir}"),
    "beanstalkd -f0": ("beanstalkd", "beanstalkd",
                       "beanstalkd -l 127.0.0.1 -p {port} -b {dir} -f0"),
    "redis": ("redis-server", "redis",
              "redis-server --port {port} --bind 127.0.0.1 --save '' --appendonly yes "
              "--appendfsync always --dir {dir}"),
}

# name: (how many jobs are put before, with which verb), then the verb, connections and window
ROWS = {
    "put, window 20,000": (None, "put", 1, 20000),
    "put, window 1,000": (None, "put", 1, 1000),
    "put, window 64": (None, "put", 1, 64),
    "put, window 1": (None, "put", 1, 1),
    "put, 100 connections": (None, "put", 100, 1),
    "delete, window 20,000": ("put", "delete", 1, 20000),
    "cancel by key, window 20,000": ("put-key", "cancel", 1, 20000),
    "reschedule by key, window 20,000": ("put-key", "reschedule", 1, 20000),
    "hand out and acknowledge": ("put-now", "drain", 1, 4000),
    # p99 is how late they come. 20,000 a second, due 2 s later; 4 connections take them.
    "timers, 20,000 a second": (None, "timers", 4, 20000),
}
SPEAKS = {
    "beanstalkd": {"put", "delete", "drain"},
    "resp": {"put", "delete", "cancel", "reschedule", "drain", "timers"},
    "redis": {"put", "delete", "drain"},
}


class Server:
    """One contender, started on a fresh directory."""

    def __init__(self, name, options):
        _, self.speech, command = CONTENDERS[name]
        self.name = name
        self.options = options
        self.directory = tempfile.mkdtemp(prefix="elapse-race-", dir=options.directory)
        with socket.socket() as probe:
            probe.bind(("127.0.0.1", 0))
            self.port = probe.getsockname()[1]
        line = command.format(tools=options.tools, elapse=options.elapse, port=self.port,
                              dir=self.directory)
        self.process = subprocess.Popen(["/bin/sh", "-c", "exec " + line], stdout=subprocess.PIPE,
                                        stderr=subprocess.DEVNULL)
        if name == "floor":
            self.port = int(self.process.stdout.readline())
        self.wait()
        self.wait_for_rest()

    def blocks(self):
        return sum(path.stat().st_blocks for path in pathlib.Path(self.directory).rglob("*")
                   if path.is_file())

    def wait_for_rest(self):
        """Waits until no file grows: the floor has written its file before, and so have others
        that write ahead."""
        last, since = self.blocks(), time.monotonic()
        begun = since
        while time.monotonic() - since < 0.5 and time.monotonic() - begun < 20:
            time.sleep(0.05)
            now = self.blocks()
            if now != last:
                last, since = now, time.monotonic()

    def wait(self):
        for _ in range(500):
            try:
                socket.create_connection(("127.0.0.1", self.port)).close()
                return
            except OSError:
                time.sleep(0.02)
        sys.exit(f"{self.name} does not listen")

    def run(self, tool, *arguments):
        command = [f"{self.options.tools}/elapse-bench-server-{tool}", str(self.port),
                   *map(str, arguments)]
        done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
        if done.returncode != 0:
            sys.exit(f"{self.name}: {' '.join(command)}: {done.stderr.strip()}")
        return done.stdout.split()

    def stop(self):
        self.process.send_signal(signal.SIGTERM)
        try:
            self.process.wait(5)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        shutil.rmtree(self.directory)


def measure(name, row, options):
    """Returns the rate, and p99 in microseconds or None."""
    before, verb, connections, window = ROWS[row]
    # A full sync each, or one line at a time: a million would take minutes.
    jobs = options.jobs if name != "beanstalkd -f0" else min(options.jobs, 20000)
    server = Server(name, options)
    try:
        if before is not None:
            server.run("load", server.speech, before, 1, 20000, 300, jobs)
        if verb == "timers":
            words = server.run("timers", window, options.seconds, connections)
        elif verb == "drain":
            words = server.run("drain", server.speech, jobs, window)
        elif before is not None:
            words = server.run("load", server.speech, verb, connections, window, 300, jobs)
        else:
            words = server.run("load", server.speech, verb, connections, window, options.seconds)
    finally:
        server.stop()
    p99 = float(words[words.index("p99") + 1]) if "p99" in words else None
    if verb == "timers":
        p99 *= 1000  # it says milliseconds
    return float(words[0]), p99 if p99 is None else round(p99)


def can(name, row):
    verb = ROWS[row][1]
    return verb in SPEAKS[CONTENDERS[name][1]] and (name != "floor" or verb == "put")


def text_of(figure, floor):
    rate, p99 = figure
    text = f"{rate / 1000:,.1f} k" if rate < MILLION else f"{rate / MILLION:.2f} M"
    if p99 is not None:
        text += f", p99 {p99} us"
    if floor is not None and figure is not floor:
        text += f" ({rate / floor[0]:.2f})"
    return text


def middle(figures):
    return (statistics.median(rate for rate, _ in figures),
            None if figures[0][1] is None else int(statistics.median(p for _, p in figures)))


def print_row(row, names, options):
    """Runs take turns, so that a noisy moment strikes all."""
    able = [name for name in names if can(name, row)]
    figures = {name: [] for name in able}
    for _ in range(options.repetitions):
        for name in able:
            figures[name].append(measure(name, row, options))
    middles = {name: middle(runs) for name, runs in figures.items()}
    floor = middles.get("floor")
    cells = [text_of(middles[name], floor) if name in middles else "-" for name in names]
    print(f"| {row} | {' | '.join(cells)} |", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    build = HERE.parent.parent / "build/bench"
    parser.add_argument("--tools", default=build / "bench/server", help="where the loads are")
    parser.add_argument("--elapse", default=build / "elapse", help="the program to measure")
    parser.add_argument("--directory", help="on the disk to measure; the system's by default")
    parser.add_argument("--rows", default="", help="only rows that have one of these words, a,b")
    parser.add_argument("--contenders", default=",".join(CONTENDERS))
    parser.add_argument("--seconds", type=float, default=3, help="of each run of puts")
    parser.add_argument("--jobs", type=int, default=MILLION, help="of the rows that need a backlog")
    parser.add_argument("--repetitions", type=int, default=3)
    options = parser.parse_args()
    names = options.contenders.split(",")
    for name in names:
        if name not in CONTENDERS:
            parser.error(f"no such contender: {name}")
    missing = [name for name in names if CONTENDERS[name][0] in ("beanstalkd", "redis-server")
               and shutil.which(CONTENDERS[name][0]) is None]
    if missing:
        print(f"Not installed: {', '.join(missing)}", file=sys.stderr)
    names = [name for name in names if name not in missing]
    wanted = [word for word in options.rows.split(",") if word]
    print(f"| per second | {' | '.join(names)} |")
    print("|---" * (len(names) + 1) + "|", flush=True)
    for row in ROWS:
        if not wanted or any(word in row for word in wanted):
            print_row(row, names, options)


if __name__ == "__main__":
    main()
