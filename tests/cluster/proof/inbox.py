#!/usr/bin/env python3
"""inbox.py [--partitions P] [--fsync] [--seconds S] [--transactions N]

Measures the transactional inbox of a cluster on this machine, and prints a line for each figure:

    latency      from the return of a commit until a worker has the job: at idle, one transaction at a
                 time with pauses, and with N transactions a second
    statements   how many transactions a second the database runs for the nodes while nothing happens
    application  how many transactions a second pgbench commits: an insert alone, with a call of
                 elapse.put, and with a call that tells the owner nothing (elapse.notify is off)

The servers of PostgreSQL, the nodes and the load share all processors. Needs python3-psycopg2.
"""

import argparse
import pathlib
import random
import re
import subprocess
import sys
import threading
import time

import psycopg2
from load import ROOT, LoopThread
from nodes import cluster
from throughput import new_cluster, remove, settings

sys.path.insert(0, str(ROOT / "tests/server/resp"))
import serving  # noqa: E402  pylint: disable=wrong-import-position,wrong-import-order

IDLE_PAUSE_S = (0.1, 0.5)
CLIENTS = 8
IDLE_S = 12  # the pauses between polls have grown to their greatest by then


class Workers:
    """They note when they get which job."""

    def __init__(self, nodes):
        self.got = {}
        self.changed = threading.Condition()
        self.is_over = False
        self.threads = [threading.Thread(target=self.work, args=(node.port,), daemon=True) for node in nodes]
        for thread in self.threads:
            thread.start()

    def work(self, port):
        with serving.Connection(port) as connection:
            while not self.is_over:
                jobs = connection.ask("RESERVE", "measured", "WAIT", "1s", "COUNT", 100)
                now_s = time.monotonic()
                with self.changed:
                    for job in jobs or []:
                        self.got[job[4]] = now_s
                    self.changed.notify_all()
                for job in jobs or []:
                    connection.ask("ACK", job[0], job[1])

    def wait(self, body):
        with self.changed:
            assert self.changed.wait_for(lambda: body in self.got, cluster.PATIENCE_S), body
            return self.got[body]

    def end(self):
        self.is_over = True
        for thread in self.threads:
            thread.join()


def commit(connection, body):
    """Returns when the commit has returned."""
    with connection.cursor() as cursor:
        cursor.execute("insert into measured default values")
        cursor.execute("select elapse.put('measured', %s::text)", (body,))
    connection.commit()
    return time.monotonic()


def say_latency(name, committed, workers):
    late_ms = sorted((workers.wait(body) - at_s) * 1000 for body, at_s in committed.items())
    print(f"latency {name}: p50 {late_ms[len(late_ms) // 2]:.1f} ms,"
          f" p99 {late_ms[len(late_ms) * 99 // 100]:.1f} ms, most {late_ms[-1]:.1f} ms,"
          f" of {len(late_ms)}", flush=True)


def latency(it, host, options):
    workers = Workers(it.nodes)
    with psycopg2.connect(host) as connection:
        committed = {}
        for number in range(options.transactions // 2):
            time.sleep(random.uniform(*IDLE_PAUSE_S))
            committed[f"idle {number}"] = commit(connection, f"idle {number}")
        say_latency("at idle", committed, workers)
    committed = {}
    start_s = time.monotonic()

    def load(first):
        with psycopg2.connect(host) as connection:
            for number in range(first, int(options.transactions * options.seconds), CLIENTS):
                time.sleep(max(0, start_s + number / options.transactions - time.monotonic()))
                committed[f"busy {number}"] = commit(connection, f"busy {number}")

    threads = [threading.Thread(target=load, args=(first,)) for first in range(CLIENTS)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    say_latency(f"under {options.transactions} transactions a second", committed, workers)
    workers.end()


def statements(primary, when):
    ask = "select xact_commit + xact_rollback from pg_stat_database where datname = current_database();\n"
    time.sleep(IDLE_S)
    before, start_s = int(primary.sql(ask)), time.monotonic()
    time.sleep(IDLE_S)
    count = int(primary.sql(ask)) - before - 1
    print(f"statements at idle, {when}: {count / (time.monotonic() - start_s):.1f} a second", flush=True)


def application(primary, directory, seconds):
    calls = {"an insert alone": "", "with a call": "select elapse.put('far', 'x', delay => '10 hours');\n"}
    calls["with a call that tells nothing"] = "set local elapse.notify = off;\n" + calls["with a call"]
    rates = {name: [] for name in calls}
    for _ in range(3):
        for name, call in calls.items():
            script = pathlib.Path(directory, "script.sql")
            script.write_text(f"begin;\ninsert into measured default values;\n{call}commit;\n", encoding="ascii")
            done = subprocess.run(["pgbench", "-n", "-c", str(CLIENTS), "-T", str(seconds), "-f", str(script),
                                   primary.host], capture_output=True, text=True, check=True)
            rates[name].append(float(re.search(r"tps = ([\d.]+)", done.stdout)[1]))
    for name, found in rates.items():
        print(f"application, {name}: {sorted(found)[1]:.0f} transactions a second", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--partitions", type=int, default=4)
    parser.add_argument("--fsync", action="store_true", help="the database syncs its commits to the disk")
    parser.add_argument("--seconds", type=int, default=20)
    parser.add_argument("--transactions", type=int, default=200, help="a second, of the second latency")
    options = parser.parse_args()
    settings(options.fsync)
    loop = LoopThread()
    it = new_cluster(loop, options.partitions, 1)
    try:
        it.start()
        primary = it.databases.primary
        primary.sql((ROOT / "sql/inbox.sql").read_text(encoding="utf-8"))
        primary.sql("create table measured (id bigserial primary key);\n")
        cluster.wait_until(lambda: primary.sql("select count(*) from elapse.inbox_queue;\n") == "1",
                           "the queue takes calls")
        statements(primary, "before the first call")
        latency(it, primary.host, options)
        statements(primary, "after calls")
        application(primary, it.directory, options.seconds // 2)
    finally:
        remove(it)
        loop.stop()


if __name__ == "__main__":
    main()
