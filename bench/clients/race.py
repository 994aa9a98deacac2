#!/usr/bin/env python3
"""race.py [--rounds N] [--puts N] [--jobs N] [--directory DIR] [--program FILE] [--only NAME,...]: what one process
does in a second with each package for clients, beside BullMQ and Celery over redis-server with `appendfsync always`
on the same machine. README.md says what is measured. Prints a table in Markdown."""

import argparse
import contextlib
import json
import os
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
ROOT = HERE.parents[1]
PLACE = ROOT / "build/bench-clients"
PYTHON = "/usr/bin/python3"  # Debian's modules are those of its interpreter
MEASURES = ("one", "hundred", "work")
PATIENCE_S = 60
# name, the program, its server, the contender to compare it with
CONTENDERS = {
    "Python": ([PYTHON, "-B", HERE / "python_elapse.py", "threads"], "elapse", "Celery"),
    "Python, asyncio": ([PYTHON, "-B", HERE / "python_elapse.py", "asyncio"], "elapse", "Celery"),
    "Celery": ([PYTHON, "-B", HERE / "python_celery.py"], "redis", None),
    "JavaScript": (["node", PLACE / "node/node_elapse.mjs"], "elapse", "BullMQ"),
    "BullMQ": (["node", PLACE / "node/node_bullmq.mjs"], "redis", None),
    "Go": ([PLACE / "go_elapse"], "elapse", None),
}


def run(*command, **options):
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, check=False, **options)
    if done.returncode != 0:
        raise SystemExit(f"{command[0]} failed:\n{done.stdout}{done.stderr}")
    return done.stdout


def missing(name):
    """What is not installed that a contender needs, or None."""
    modules = {"Celery": "import celery, redis", "Python": "import redis", "Python, asyncio": "import redis"}
    if name in modules and subprocess.run([PYTHON, "-c", modules[name]], capture_output=True, check=False).returncode:
        return "python3-redis" + (" and python3-celery" if name == "Celery" else "")
    if name in ("JavaScript", "BullMQ") and not (shutil.which("node") and shutil.which("npm")):
        return "nodejs and npm"
    if name == "Go" and not shutil.which("go"):
        return "golang-go"
    if CONTENDERS[name][1] == "redis" and not shutil.which("redis-server"):
        return "redis-server"
    return None


def prepare(names):
    """Builds and installs what the programs need, in build/bench-clients."""
    PLACE.mkdir(parents=True, exist_ok=True)
    if {"JavaScript", "BullMQ"} & set(names):
        node = PLACE / "node"
        node.mkdir(exist_ok=True)
        run(ROOT / "clients/javascript/build.sh", node)
        (node / "package.json").write_text('{ "private": true }\n')
        package, = node.glob("elapse-client-*.tgz")
        run("npm", "install", "--silent", "--no-audit", "--no-fund", "--no-package-lock", "--prefix", node, "redis", "bullmq", "ioredis", package,
            stdin=subprocess.DEVNULL)
        for file in HERE.glob("*.mjs"):
            shutil.copy(file, node)
    if "Go" in names:
        environment = {**os.environ, "GOPATH": str(PLACE / "go"), "GOCACHE": str(PLACE / "cache"), "GOPROXY": "off",
                       "GOFLAGS": "-mod=mod", "GOTOOLCHAIN": "local"}
        run("go", "build", "-o", PLACE / "go_elapse", ".", cwd=HERE / "go", env=environment)


def free_port():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        return listener.getsockname()[1]


@contextlib.contextmanager
def server_of(kind, program, directory):
    """A new server, whose data is on the disk of the directory. Yields its address."""
    port = free_port()
    with tempfile.TemporaryDirectory(dir=directory) as data:
        command = [program, "serve", "--data", data + "/data", "--listen", f"127.0.0.1:{port}"] if kind == "elapse" else \
            ["redis-server", "--port", port, "--bind", "127.0.0.1", "--dir", data, "--save", "", "--appendonly", "yes",
             "--appendfsync", "always", "--maxmemory-policy", "noeviction"]
        with open(data + "/log", "wb") as log:
            process = subprocess.Popen([str(word) for word in command], stdin=subprocess.DEVNULL, stdout=log, stderr=log)
        try:
            end = time.monotonic() + PATIENCE_S
            while True:
                try:
                    socket.create_connection(("127.0.0.1", port)).close()
                    break
                except OSError:
                    if process.poll() is not None or time.monotonic() > end:
                        raise SystemExit(f"{kind} did not start:\n{pathlib.Path(data, 'log').read_text()}") from None
                    time.sleep(0.01)
            yield f"127.0.0.1:{port}"
        finally:
            process.send_signal(signal.SIGTERM)
            process.wait()


def measure(name, what, count, arguments):
    """Runs one measure with a server of its own; returns how many in a second."""
    program, kind, _ = CONTENDERS[name]
    with server_of(kind, arguments.program, arguments.directory) as address:
        said = json.loads(run(*program, address, what, count).splitlines()[-1])
    if said["count"] != count:
        raise SystemExit(f"{name}, {what}: {said['count']} of {count}")
    return count / said["seconds"]


def fsync_ms(directory):
    """How long it takes to have 200 bytes more on the disk: the median of 50."""
    times = []
    with tempfile.TemporaryFile(dir=directory) as file:
        for _ in range(50):
            begun = time.perf_counter()
            file.write(b"x" * 200)
            file.flush()
            os.fdatasync(file.fileno())
            times.append(time.perf_counter() - begun)
    return 1000 * statistics.median(times)


def table(rates, rounds):
    lines = [f"| rates in a second, the median of {rounds} (least to most) | put, one at a time | put, 100 at a time | handled, no-op |",
             "|---|---|---|---|"]
    medians = {key: statistics.median(values) for key, values in rates.items()}
    names = list(dict.fromkeys(name for name, _ in rates))

    def show(values):
        return f"{statistics.median(values):,.0f} ({min(values):,.0f} to {max(values):,.0f})"

    for name in names:
        lines.append(f"| {name} | " + " | ".join(show(rates[name, what]) for what in MEASURES) + " |")
    for name in names:
        other = CONTENDERS[name][2]
        if other in names:
            lines.append(f"| {name} / {other} | " + " | ".join(
                f"{medians[name, what] / medians[other, what]:.1f}" for what in MEASURES) + " |")
    return "\n".join(lines)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split(":")[0])
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--puts", type=int, default=2000, help="one at a time; ten times as many 100 at a time")
    parser.add_argument("--jobs", type=int, default=10_000, help="to be handled")
    parser.add_argument("--directory", default=str(PLACE), help="where the servers write")
    parser.add_argument("--program", default=str(ROOT / "build/release/elapse"))
    parser.add_argument("--only", help="names of contenders, with semicolons between them")
    arguments = parser.parse_args()
    names = []
    for name in arguments.only.split(";") if arguments.only else CONTENDERS:
        if (lacks := missing(name)) is None:
            names.append(name)
        else:
            print(f"left out: {name}: not installed: {lacks}", file=sys.stderr)
    prepare(names)
    counts = {"one": arguments.puts, "hundred": 10 * arguments.puts, "work": arguments.jobs}
    print(f"load before: {os.getloadavg()[0]:.1f}; one fdatasync: {fsync_ms(arguments.directory):.2f} ms", file=sys.stderr)
    rates = {}
    for number in range(arguments.rounds):
        for name in names:
            for what in MEASURES:
                rates.setdefault((name, what), []).append(measure(name, what, counts[what], arguments))
                print(f"round {number + 1}: {name}, {what}: {rates[name, what][-1]:,.0f}/s, load {os.getloadavg()[0]:.1f}, "
                      f"one fdatasync behind it: {fsync_ms(arguments.directory):.2f} ms", file=sys.stderr)
    print(f"load behind: {os.getloadavg()[0]:.1f}; one fdatasync: {fsync_ms(arguments.directory):.2f} ms", file=sys.stderr)
    print(table(rates, arguments.rounds))


if __name__ == "__main__":
    main()
