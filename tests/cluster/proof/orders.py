#!/usr/bin/env python3
"""orders.py [--orders N] [--seconds-between S] [--partitions P] [--no-faults]

Stores orders in PostgreSQL, each with its time-out in the same transaction (sql/inbox.sql). A third of
the transactions is rolled back, and some roll a second time-out back to a savepoint. Meanwhile owners
are killed and stopped, and servers of PostgreSQL are killed and replaced. At the end, exactly the orders
that the database has must have had their time-out.

If the commit of a transaction got no answer, the transaction counts as committed if the database has it
at the end. A time-out may come twice, because the acknowledgement of a worker was lost. Such time-outs
are counted. After an answered ACK a time-out must not come again.
"""

import argparse
import asyncio
import collections
import itertools
import os
import random
import shutil
import subprocess
import sys
import tempfile
import threading
import time

SKIPPED = 77
SYSTEM_PYTHON = "/usr/bin/python3"  # Debian's modules are those of its interpreter

try:
    import psycopg2
except ImportError:
    if os.path.realpath(sys.executable) == os.path.realpath(SYSTEM_PYTHON) or subprocess.run(
            [SYSTEM_PYTHON, "-c", "import psycopg2"], check=False, capture_output=True).returncode:
        print("skipped: psycopg2 is not installed (python3-psycopg2)")
        sys.exit(SKIPPED)
    os.execv(SYSTEM_PYTHON, [SYSTEM_PYTHON, "-B", *sys.argv])

from load import ROOT, LoopThread, Resp, ask  # noqa: E402
from nodes import Cluster, cluster, wait_until  # noqa: E402

LEASE_MS = 1000
SHOPS = 8            # connections that place orders
PHANTOM = 10**12     # added to the number of an order: its time-out is rolled back to a savepoint
DELAYS = ("0 s", "0.2 s", "1 s", "3 s")
QUIET_LIMIT_S = 60   # without a time-out, though some are missing
AFTER_S = 3          # in which no further one may come
FAULTS_SHOWN = 10

TABLE = "create table orders (number bigint primary key, state text not null);\n"
PLACE = """insert into orders values (%(number)s, 'open');
select elapse.put('unpaid', %(body)s, delay => %(delay)s, key => %(body)s, ttr => '2 s')"""


class Shop(threading.Thread):
    """Places orders, one after the other. After an error it connects anew, and goes on with the next."""

    def __init__(self, work, number):
        super().__init__(daemon=True)
        self.work, self.random = work, random.Random(number)
        self.connection = None
        self.answered = []
        self.counts = collections.Counter()

    def connect(self):
        while True:
            host = self.work.it.databases.primary.host
            try:
                self.connection = psycopg2.connect(host)
                return
            except psycopg2.Error:
                self.counts["connections refused"] += 1
                time.sleep(0.05)

    def place(self, number):
        """Returns whether it was committed."""
        with self.connection.cursor() as cursor:
            delay = self.random.choice(DELAYS)
            cursor.execute(PLACE, {"number": number, "body": str(number), "delay": delay})
            if self.random.random() < 0.1:
                cursor.execute("savepoint before")
                cursor.execute("select elapse.put('unpaid', %s, key => %s)",
                               (str(number + PHANTOM), str(number + PHANTOM)))
                cursor.execute("rollback to savepoint before")
        if self.random.random() < 1 / 3:
            self.connection.rollback()
            return False
        self.connection.commit()
        return True

    def run(self):
        for number in self.work.numbers:
            if self.connection is None:
                self.connect()
            try:
                if self.place(number):
                    self.answered.append(number)
                    self.counts["committed"] += 1
                else:
                    self.counts["rolled back"] += 1
            except psycopg2.Error as error:
                self.counts["no answer"] += 1
                self.counts[f"error: {str(error).strip().splitlines()[0][:60]}"] += 1
                self.connection.close()
                self.connection = None
        if self.connection is not None:
            self.connection.close()


class Workers:
    """They take all time-outs, through each of the nodes."""

    def __init__(self, it):
        self.it = it
        self.fired = collections.Counter()
        self.done = {}  # when its ACK was answered
        self.faults = []
        self.last = time.monotonic()
        self.is_stopping = False

    async def work(self, node):
        link = None
        while not self.is_stopping:
            try:
                if link is None:
                    link = await Resp.open(node.port)
            except OSError:
                await asyncio.sleep(0.05)
                continue
            sent = time.monotonic()
            jobs = (await ask(link, [("RESERVE", "unpaid", "COUNT", 200, "WAIT", "50ms")], 10))[0]
            if jobs is None:
                link = None
                continue
            if not isinstance(jobs, list) or not jobs:
                await asyncio.sleep(0.01)
                continue
            self.take(jobs, sent)
            words = ("ACK", *(word for job in jobs for word in job[:2]))
            answers = (await ask(link, [words], 10))[0]
            if answers is None:
                link = None
            for job, word in zip(jobs, answers if isinstance(answers, list) else ()):
                if word == "ok":
                    self.done.setdefault(int(job[4]), time.monotonic())

    def take(self, jobs, sent):
        self.last = time.monotonic()
        for job in jobs:
            number = int(job[4])
            self.fired[number] += 1
            if self.done.get(number, sent) < sent:
                self.faults.append(f"order {number}: its time-out was done, and comes again")

    async def run(self):
        await asyncio.gather(*(self.work(node) for node in self.it.nodes))


class Chaos:
    """Faults one after the other."""

    def __init__(self, it):
        self.it = it
        self.counts = collections.Counter()
        self.steps = itertools.cycle((self.kill_owner, self.kill_primary, self.stop_owner,
                                      self.kill_standby, self.end_owner))
        self.part = 0

    def owner(self):
        self.part = (self.part + 1) % self.it.partitions
        return self.it.wait_for_owners()[self.part]

    def kill_owner(self):
        node = self.owner()
        node.kill()
        time.sleep(1.5)
        node.start()
        node.wait_until_ready()

    def end_owner(self):
        node = self.owner()
        node.was_killed = True
        node.server.stop()
        node.start()
        node.wait_until_ready()

    def stop_owner(self):
        node = self.owner()
        node.freeze()
        time.sleep(2.5)
        node.thaw()

    def kill_primary(self):
        self.it.databases.primary.kill()
        self.it.databases.promote_best()
        self.it.databases.bring_back()

    def kill_standby(self):
        standby = self.it.databases.standbys()[0]
        standby.kill()
        time.sleep(0.5)
        standby.start()
        self.it.databases.bring_back()

    def step(self):
        step = next(self.steps)
        step()
        self.counts[step.__name__] += 1


class Proof:
    def __init__(self, options, it):
        self.options, self.it = options, it
        self.numbers = Locked(iter(range(1, options.orders + 1)))
        self.workers = Workers(it)
        self.chaos = Chaos(it)
        self.faults = []

    def install(self):
        primary = self.it.databases.primary
        done = subprocess.run(
            [os.path.join(cluster.folder_of_programs(), "psql"), "-XAtq", "-v", "ON_ERROR_STOP=1",
             "-h", str(primary.directory), "-U", cluster.SUPERUSER, "-d", "postgres", "-f",
             str(ROOT / "sql/inbox.sql")], capture_output=True, text=True, check=False)
        if done.returncode != 0:
            raise cluster.Failure(f"sql/inbox.sql: {done.stderr.strip()}")
        primary.sql(TABLE)

    def wait_for_inbox(self):
        opened = "select count(*) from elapse.inbox_queue where queue = 'main';\n"
        wait_until(lambda: self.it.databases.primary.sql(opened) == "1",
                   "a node has opened its inbox")

    def place_all(self):
        shops = [Shop(self, i) for i in range(SHOPS)]
        for shop in shops:
            shop.start()
        while any(shop.is_alive() for shop in shops):
            for shop in shops:
                shop.join(self.options.seconds_between / SHOPS)
            if self.options.faults and any(shop.is_alive() for shop in shops):
                self.chaos.step()
        counts = collections.Counter()
        for shop in shops:
            counts.update(shop.counts)
        return counts, [number for shop in shops for number in shop.answered]

    def committed(self):
        text = self.it.databases.primary.sql("select number from orders;\n")
        return set(map(int, text.split()))

    def wait_for_all(self, wanted):
        self.workers.last = time.monotonic()
        while not wanted <= self.workers.fired.keys() \
                and time.monotonic() - self.workers.last < QUIET_LIMIT_S:
            time.sleep(0.05)
        time.sleep(AFTER_S)

    def check(self, committed, answered):
        fired, faults = self.workers.fired, self.faults
        faults += self.workers.faults
        for number in sorted(set(answered) - committed):
            faults.append(f"order {number}: its commit was answered, and the database lacks it")
        for number in sorted(committed - fired.keys()):
            faults.append(f"order {number} has had no time-out")
        for number in sorted(fired.keys() - committed):
            faults.append(f"order {number} has had a time-out, and was not committed")
        left = self.it.databases.primary.sql(
            "select (select count(*) from elapse.inbox), (select count(*) from elapse.inbox_refused);\n")
        if left != "0|0":
            faults.append(f"rows are left in the inbox, or refused: {left}")

    def run(self):
        # Nodes look for the inbox when they start.
        self.it.start(before_nodes=self.install)
        self.wait_for_inbox()
        working = self.it.loop.begin(self.workers.run())
        begun = time.monotonic()
        counts, answered = self.place_all()
        seconds = time.monotonic() - begun
        committed = self.committed()
        self.wait_for_all(committed)
        self.workers.is_stopping = True
        working.result(60)
        self.check(committed, answered)
        twice = sum(count > 1 for count in self.workers.fired.values())
        print(f"{sum(counts[name] for name in ('committed', 'rolled back', 'no answer'))} orders in "
              f"{seconds:.0f} s: {counts['committed']} answered as committed, "
              f"{counts['rolled back']} rolled back, {counts['no answer']} without an answer; the "
              f"database has {len(committed)}; {len(self.workers.fired)} have had their time-out, "
              f"{twice} of them more than once")
        print("faults: " + (", ".join(f"{count} {name}" for name, count
                                      in self.chaos.counts.items()) or "none"))
        for name, count in sorted(counts.items()):
            if name.startswith("error"):
                print(f"    {count} x {name}")


class Locked:
    """An iterator for several threads."""

    def __init__(self, iterator):
        self.iterator, self.lock = iterator, threading.Lock()

    def __iter__(self):
        return self

    def __next__(self):
        with self.lock:
            return next(self.iterator)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--orders", type=int, default=100_000)
    parser.add_argument("--seconds-between", type=float, default=3.0, help="faults")
    parser.add_argument("--partitions", type=int, default=2)
    parser.add_argument("--no-faults", dest="faults", action="store_false")
    options = parser.parse_args()
    if cluster.folder_of_programs() is None:
        print("skipped: PostgreSQL is not installed (the package postgresql)")
        sys.exit(SKIPPED)
    loop = LoopThread()
    directory = tempfile.mkdtemp(prefix="elapse-orders-")
    os.chmod(directory, 0o755)
    it = Cluster(directory, loop, options.partitions, LEASE_MS)
    proof = Proof(options, it)
    try:
        proof.run()
    finally:
        it.end()
        loop.stop()
        shutil.rmtree(directory, ignore_errors=True)
    for fault in proof.faults[:FAULTS_SHOWN]:
        print(f"fault: {fault}")
    print(f"{len(proof.faults)} faults")
    sys.exit(1 if proof.faults else 0)


if __name__ == "__main__":
    main()
