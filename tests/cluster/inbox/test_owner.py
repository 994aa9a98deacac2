#!/usr/bin/env python3
"""Tests transactions on one side and a real queue on the other. The owners of the queue are killed, and
take over from each other. At the end the queue must have exactly what was committed.

ELAPSE_INBOX_OWNER names the program of owner.c.
"""

import os
import random
import subprocess
import sys
import threading
import time
import unittest

from inbox_case import DATABASE, InboxCase
from postgres_server import PATIENCE_S, SKIPPED

OWNER = os.environ.get("ELAPSE_INBOX_OWNER", "")
if not os.access(OWNER, os.X_OK):
    print("skipped: there is no owner (libpq-dev)")
    sys.exit(SKIPPED)

FENCED = 3
PARTS = 2
ENOUGH_GROUPS = 20


class Owner(InboxCase):

    def start(self, part):
        process = subprocess.Popen(
            ["setpriv", "--pdeathsig=KILL", OWNER,
             f"host={self.server.directory} dbname={DATABASE} user=admin", str(part), str(PARTS)],
            stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.addCleanup(self.kill, process)
        return process

    def wait_until_it_owns(self, process):
        if process not in self.owning:
            self.assertEqual(process.stdout.readline(), "owns\n")
            self.owning.add(process)

    @staticmethod
    def kill(process):
        process.kill()
        process.wait()
        process.stdin.close()
        process.stdout.close()

    def jobs(self, keys):
        """The job of each key, by the partition that has it: its body, and the milliseconds left."""
        found = {}
        for part in range(PARTS):
            process = self.start(part)
            said, _ = process.communicate("".join(key + "\n" for key in keys), PATIENCE_S)
            self.assertEqual(process.returncode, 0)
            lines = said.splitlines()
            self.assertEqual(lines[0], "owns")
            for line in lines[1:]:
                key, *job = line.split()
                if job != ["none"]:
                    self.assertNotIn(key, found)
                    found[key] = (job[0], int(job[1]), part)
        return found

    def check_jobs(self, model):
        """`model` has the body and the hours of each key that has a job."""
        found = self.jobs(model.keys())
        self.assertEqual({key: job[0] for key, job in found.items()},
                         {key: job[0] for key, job in model.items() if job is not None})
        for key, (_, left_ms, part) in found.items():
            due_ms = model[key][1] * 3600000
            self.assertTrue(due_ms - 60000 < left_ms <= due_ms + 1, (key, left_ms, due_ms))
            self.assertEqual(part, self.value("select elapse.inbox_part_of_key(%s, 't', %s::bytea)",
                                              (PARTS, key)))

    # ---- one owner ----

    def test_calls_arrive(self):
        self.open_queue(PARTS)
        self.ask("select elapse.put('t', 'a', delay => '1 h', key => 'a');"
                 "select elapse.put('t', 'b', delay => '1 h', key => 'b');"
                 "select elapse.put('t', 'c', delay => '1 h', key => 'c', headers => 'h=1');"
                 "select elapse.put('t', 'a2', delay => '2 h', key => 'a');"
                 "select elapse.cancel('t', 'b');"
                 "select elapse.reschedule('t', 'c', delay => '3 h');"
                 "select elapse.cancel('t', 'nobody')")
        self.ask("begin; select elapse.cancel('t', 'a'); rollback")
        # Of three that have to arrive one is missing, because a token counts once; of two none.
        self.ask("select elapse.put('t', 'sum', key => 'sum', delay => '1 h', await => 3, headers => 'h=2'),"
                 " elapse.put('t', 'all', key => 'all', delay => '1 h', await => 2);"
                 "select elapse.arrive('t', 'sum', 2, token => 'o'), elapse.arrive('t', 'all');"
                 "select elapse.arrive('t', 'sum', 2, token => 'o'), elapse.arrive('t', 'all', 7),"
                 " elapse.arrive('t', 'all'), elapse.arrive('t', 'nobody')")
        # The record of a job has the headers behind the body.
        self.check_jobs({"a": ("a2", 2), "b": None, "c": ("ch=1", 3), "nobody": None,
                         "sum": ("sumh=2", 1), "all": ("all", 0)})
        self.assertEqual(self.value("select count(*) from elapse.inbox_refused"), 0)
        self.assertEqual(sum(len(self.rows(part=part)) for part in range(PARTS)), 0)

    def test_refused_rows_do_not_block(self):
        self.open_queue(PARTS)
        self.ask("select elapse.put('t', 'a', delay => '1 h', key => 'a')")
        refused = [self.value("select elapse.put('t', 'a2', key => 'a', ifkey => 'fail')"),
                   self.value("select elapse.put('t', 'x', key => 'a', cron => 'never \"\\ ever')"),
                   self.value("select elapse.put('t', 'x', key => 'a', cron => '0 9 * * *',"
                              " zone => 'Mars/Olympus')")]
        self.ask("select elapse.put('t', 'b', delay => '1 h', key => 'b')")
        self.check_jobs({"a": ("a", 1), "b": ("b", 1)})
        rows = self.ask("select id, reason from elapse.inbox_refused order by id")
        self.assertEqual([row[0] for row in rows], refused)
        self.assertRegex(rows[0][1], r"^BUSYKEY \d+ has this key$")
        self.assertRegex(rows[1][1], r"^ERR ")
        self.assertRegex(rows[2][1], r"^ERR ")

    def test_a_backlog_of_many_polls(self):
        self.open_queue(PARTS)
        self.ask("select elapse.put('t', 'v' || n, delay => '1 h', key => 'k' || n)"
                 "from generate_series(1, 3000) n")
        self.check_jobs({f"k{n}": (f"v{n}", 1) for n in range(1, 3001, 100)})
        self.assertLess(self.groups(), 20)

    # ---- owners that come and go ----

    SECONDS = 4
    WRITERS = 4
    seed = random.randrange(1 << 32)

    def write(self, writer, stop, model):
        """Transactions on keys of its own, so that their order is known."""
        chance = random.Random(self.seed + writer)
        keys = [f"w{writer}k{n}" for n in range(4)]
        model.update({key: None for key in keys})
        connection = self.connect(autocommit=False)
        number, refused = 0, 0
        while not stop.is_set():
            after, refusals = dict(model), 0
            for _ in range(chance.randint(1, 3)):
                key, hours = chance.choice(keys), chance.randint(1, 9)
                kind = chance.choice(("put", "put", "fail", "cancel", "reschedule"))
                number += 1
                body = f"v{number}"
                if kind in ("put", "fail"):
                    self.ask("select elapse.put('t', %s, delay => %s, key => %s, ifkey => %s)",
                             (body, f"{hours} h", key, "fail" if kind == "fail" else "replace"),
                             connection)
                    if kind == "fail" and after[key] is not None:
                        refusals += 1
                    else:
                        after[key] = (body, hours)
                elif kind == "cancel":
                    self.ask("select elapse.cancel('t', %s)", (key,), connection)
                    after[key] = None
                else:
                    self.ask("select elapse.reschedule('t', %s, %s)", (key, f"{hours} h"), connection)
                    if after[key] is not None:
                        after[key] = (after[key][0], hours)
            if chance.random() < 0.2:
                connection.rollback()
            else:
                connection.commit()
                model.update(after)
                refused += refusals
            time.sleep(chance.random() * 0.005)
        model["refused"] = refused

    def test_the_queue_has_what_was_committed(self):
        self.open_queue(PARTS)
        end, stop = time.monotonic() + self.SECONDS, threading.Event()
        models = [{} for _ in range(self.WRITERS)]
        threads = [threading.Thread(target=self.write, args=(n, stop, models[n]))
                   for n in range(self.WRITERS)]
        for thread in threads:
            thread.start()
        chance = random.Random(self.seed)
        self.owning = set()
        owners = [self.start(part) for part in range(PARTS)]
        killed, fenced = 0, 0
        # On a machine with much other work little may have been done by then.
        while time.monotonic() < end or (self.groups() <= ENOUGH_GROUPS and time.monotonic() < end + PATIENCE_S):
            time.sleep(chance.random() * 0.5)
            part = chance.randrange(PARTS)
            old = owners[part]
            if chance.random() < 0.5:
                self.kill(old)
                killed += 1
                owners[part] = self.start(part)
            else:
                # An old owner that is still starting could take over from the new one.
                self.wait_until_it_owns(old)
                owners[part] = self.start(part)
                self.wait_until_it_owns(owners[part])
                self.assertEqual(self.wait_for_fence(old), FENCED, f"seed {self.seed}")
                fenced += 1
        stop.set()
        for thread in threads:
            thread.join()
        for process in owners:
            self.kill(process)
        model = {key: job for one in models for key, job in one.items()}
        refused = sum(one["refused"] for one in models)
        del model["refused"]
        message = f"seed {self.seed}, {killed} killed, {fenced} fenced, {self.groups()} groups"
        try:
            self.check_jobs(model)
            self.assertEqual(self.value("select count(*) from elapse.inbox_refused"), refused)
            self.assertGreater(self.groups(), ENOUGH_GROUPS)
        except AssertionError as error:
            raise AssertionError(message) from error

    @staticmethod
    def wait_for_fence(process):
        """The old owner notices when it wants to move a row: the writers go on meanwhile."""
        end = time.monotonic() + PATIENCE_S
        while process.poll() is None and time.monotonic() < end:
            time.sleep(0.01)
        return process.returncode


if __name__ == "__main__":
    unittest.main()
