#!/usr/bin/env python3
"""Tests rows of the inbox and transactions: which rows a node sees, and that each row moves into the log
exactly once, with the fenced append of src/cluster/ownership/statements.h."""

import json
import random
import threading
import time
import unittest

from inbox_case import QUEUE, InboxCase, psycopg2
from postgres_server import PATIENCE_S

MISSING = "EL001"  # the append's rows are not all there


class Told(InboxCase):
    """What the owner of a partition is told when a transaction commits."""

    def setUp(self):
        super().setUp()
        self.owner = self.connect()
        self.ask('listen "elapse/main/0"', connection=self.owner)
        self.assertEqual(self.told(), 0)

    def told(self):
        """How often the owner was told since the last call. An answer comes behind what was told before."""
        self.ask("select 1", connection=self.owner)
        count = len(self.owner.notifies)
        self.owner.notifies.clear()
        return count

    def test_each_call_tells(self):
        for call in ("put('t', 'x')", "put('t', 'x', key => 'k')", "arrive('t', 'k')",
                     "cancel('t', 'k')", "reschedule('t', 'k', '1 s')"):
            self.ask(f"select elapse.{call}")
            self.assertEqual(self.told(), 1, call)

    def test_a_transaction_tells_once_and_when_it_commits(self):
        self.ask("begin; select elapse.put('t', '1'); select elapse.put('t', '2')")
        self.assertEqual(self.told(), 0)
        self.ask("commit")
        self.assertEqual(self.told(), 1)
        self.ask("begin; select elapse.put('t', '3'); rollback")
        self.assertEqual(self.told(), 0)

    def test_the_owner_of_another_partition_is_not_told(self):
        self.open_queue(3)
        parts = set()
        for number in range(20):
            self.ask("select elapse.put('t', 'x', key => %s)", (f"k{number}",))
            [[part]] = self.ask("select part from elapse.inbox order by id desc limit 1")
            self.assertEqual(self.told(), part == 0)
            parts.add(part)
        self.assertEqual(parts, {0, 1, 2})

    def poll_until_asleep(self):
        """Polls in vain until the owner has given its lock up."""
        while self.value("select count(*) from pg_locks where locktype = 'advisory'"):
            self.assertEqual(self.ids(connection=self.owner), [])
            time.sleep(0.02)

    def test_an_owner_that_polls_anyway_is_not_told(self):
        """Until its polls have returned no row for a second."""
        for group in (1, 3):
            self.ask("select elapse.put('t', '1')")
            self.assertEqual(self.told(), 1)
            for number in (group, group + 1):
                polled_s = time.monotonic()
                ids = self.ids(connection=self.owner)
                self.assertEqual(len(ids), 1)
                self.assertTrue(self.append(ids, number))
                if number == group:
                    self.ask("select elapse.put('t', '2')")
                    self.assertEqual(self.told(), 0)
            self.poll_until_asleep()
            self.assertGreaterEqual(time.monotonic() - polled_s, 1)
            self.ask("select elapse.cancel('t', 'k')")
            self.assertEqual(self.told(), 1)
            self.ask("delete from elapse.inbox")

    def test_the_next_owner_is_told_when_the_one_before_has_gone(self):
        gone = self.connect()
        self.ask("select elapse.put('t', '1')")
        self.assertEqual(self.told(), 1)
        self.assertEqual(len(self.ids(connection=gone)), 1)
        self.ask("select elapse.put('t', '2')")
        self.assertEqual(self.told(), 0)
        self.assertEqual(len(self.ids(connection=self.owner)), 2)  # it does not wait for the other one's lock
        gone.close()
        while self.value("select count(*) from pg_locks where locktype = 'advisory'"):
            time.sleep(0.01)
        self.ask("select elapse.put('t', '3')")
        self.assertEqual(self.told(), 1)

    def test_an_owner_may_have_any_settings(self):
        """PostgreSQL writes a time in a form that it does not read in each zone."""
        for zone in ("Asia/Jakarta", "Asia/Kolkata", "Asia/Shanghai"):
            self.ask(f"set datestyle = 'SQL, DMY'; set timezone = '{zone}'", connection=self.owner)
            self.ask("select elapse.put('t', '1')")
            self.assertEqual(len(self.ids(connection=self.owner)), 1)
            self.ask("delete from elapse.inbox")
            polled_s = time.monotonic()
            self.poll_until_asleep()
            self.assertGreaterEqual(time.monotonic() - polled_s, 0.9)

    def test_a_poll_that_was_undone_leaves_no_lock(self):
        self.ask("select elapse.put('t', '1')")
        self.ask("begin; select * from elapse.inbox_rows('main', 0, 500, 1048576); rollback", connection=self.owner)
        self.ask("delete from elapse.inbox")
        self.assertEqual(self.ids(connection=self.owner), [])
        self.assertEqual(self.value("select count(*) from pg_locks where locktype = 'advisory'"), 0)

    def test_open_transactions_are_in_nobodys_way(self):
        """One that has told holds no lock until it commits."""
        open_one = self.connect(autocommit=False)
        self.ask("select elapse.put('t', '1')", connection=open_one)
        self.ask("select elapse.put('t', '2')")
        self.assertEqual(self.told(), 1)
        self.assertEqual(len(self.ids(connection=self.owner)), 1)
        self.ask("select elapse.put('t', '3')")
        self.assertEqual(self.told(), 0)
        open_one.commit()
        self.assertEqual(self.told(), 1)

    def end_prepared(self):
        for [name] in self.ask("select gid from pg_prepared_xacts"):
            self.ask(f"rollback prepared '{name}'")

    def test_a_transaction_can_be_prepared_if_it_tells_nothing(self):
        self.addCleanup(self.end_prepared)
        self.ask("begin; select elapse.put('t', '1')")
        with self.assertRaisesRegex(psycopg2.Error, "NOTIFY"):
            self.ask("prepare transaction 'first'")
        self.ask("rollback")
        self.ask("begin; set local elapse.notify = off; select elapse.put('t', '2')")
        self.ask("prepare transaction 'second'")
        self.assertEqual(self.ids(), [])
        self.ask("commit prepared 'second'")
        self.assertEqual(self.told(), 0)
        self.assertEqual([row["body"] for row in self.rows()], [b"2"])


class Transactions(InboxCase):

    def test_both_or_neither(self):
        """An order and its time-out."""
        self.ask("create temporary table orders (id integer)")
        self.ask("begin; insert into orders values (1); select elapse.put('orders', '1', key => '1');"
                 "rollback")
        self.assertEqual((self.ids(), self.value("select count(*) from orders")), ([], 0))
        self.ask("begin; insert into orders values (2); select elapse.put('orders', '2', key => '2');"
                 "savepoint s; select elapse.put('orders', '3', key => '3'); rollback to s; commit")
        self.assertEqual([row["key"] for row in self.rows()], [b"2"])
        self.assertEqual(self.value("select count(*) from orders"), 1)

    def test_an_error_of_a_call_undoes_its_transaction(self):
        self.ask("begin")
        self.ask("select elapse.put('t', 'x')")
        self.error("select elapse.put('', 'x')")
        self.ask("commit")
        self.assertEqual(self.ids(), [])

    def test_numbers_do_not_commit_in_order(self):
        """A transaction that began earlier commits later: its row is not lost, and not before."""
        slow = self.connect(autocommit=False)
        first = self.value("select elapse.put('t', 'first', key => 'k')", connection=slow)
        second = self.value("select elapse.put('t', 'second', key => 'k')")
        self.assertGreater(second, first)
        self.assertEqual(self.ids(), [second])
        slow_rolled_back = self.connect(autocommit=False)
        self.ask("select elapse.put('t', 'never')", connection=slow_rolled_back)
        self.assertTrue(self.append([second], 1))
        slow.commit()
        slow_rolled_back.rollback()
        self.assertEqual(self.ids(), [first])
        self.assertTrue(self.append([first], 2))
        self.assertEqual((self.ids(), self.groups()), ([], 2))

    def test_calls_one_after_another_are_in_order(self):
        """Also those of different sessions, whichever called first, or began its transaction first."""
        early, late = self.connect(autocommit=False), self.connect(autocommit=False)
        self.ask("select elapse.put('t', '0')", connection=late)
        late.rollback()
        self.ask("select 1", connection=late)
        self.ask("select elapse.put('t', '1', key => 'k')", connection=early)
        early.commit()
        self.ask("select elapse.cancel('t', 'k')", connection=late)
        late.commit()
        self.assertEqual([row["what"] for row in self.rows()], ["put", "cancel"])

    def test_a_poll_waits_for_nobody(self):
        """An open transaction, and another poll, hold up no poll and no move."""
        self.ask("select elapse.put('t', 'x')")
        slow = self.connect(autocommit=False)
        self.ask("select elapse.put('t', 'x')", connection=slow)
        self.rows(connection=slow)
        self.ask("set lock_timeout = '1s'")
        self.assertTrue(self.append(self.ids(), 1))

    def test_the_age_counts_from_the_call(self):
        slow = self.connect(autocommit=False)
        self.ask("select elapse.put('t', 'x', delay => '1 h')", connection=slow)
        time.sleep(0.3)
        slow.commit()
        self.ask("select now()", connection=slow)  # another transaction begins
        [row] = self.rows()
        self.assertGreaterEqual(row["age_ms"], 300)
        self.assertEqual(row["due_ms"], 3600000)
        began = self.value("select clock_timestamp()")
        self.ask("select elapse.put('t', 'x')", connection=slow)
        self.assertGreater(self.value("select made from elapse.inbox order by id desc limit 1",
                                      connection=slow), began)
        slow.rollback()
        self.ask("update elapse.inbox set made = clock_timestamp() + '1 h'")
        self.assertEqual(self.rows()[0]["age_ms"], 0)  # the clock was set back


class Rows(InboxCase):

    def wait_until_alone(self):
        """Waits until the sessions of other tests have ended. When a session ends, it adds what it has read to the
        statistics, which may be later than its connection was closed."""
        others = "select count(*) from pg_stat_activity where backend_type = 'client backend' and pid <> pg_backend_pid()"
        end = time.monotonic() + PATIENCE_S
        while self.value(others) > 0:
            self.assertLess(time.monotonic(), end, "sessions of other tests are there")
            time.sleep(0.005)

    def test_at_most_so_many_rows_and_bytes(self):
        self.ask("select elapse.put('t', repeat('x', 1000)) from generate_series(1, 10)")
        ids = [number for (number,) in self.ask("select id from elapse.inbox order by id")]
        self.assertEqual(self.ids(), ids)
        self.assertEqual(self.ids(rows_max=3), ids[:3])
        self.assertEqual(self.ids(bytes_max=1), ids[:1])  # one is always there
        self.assertEqual(self.ids(bytes_max=1000), ids[:1])
        self.assertEqual(self.ids(bytes_max=1001), ids[:2])
        self.ask("update elapse.inbox set body = null, what = 'cancel'")
        self.assertEqual(self.ids(bytes_max=1), ids)

    def test_partitions_and_queues_are_apart(self):
        self.open_queue(4)
        self.open_queue(4, name="other")
        self.ask("select elapse.put('t', 'x', key => 'k' || n) from generate_series(1, 100) n")
        self.ask("select elapse.put('t', 'x', key => 'k' || n, queue => 'other')"
                 "from generate_series(1, 100) n")
        ids = [self.ids(part=part) for part in range(4)]
        self.assertEqual(sum(len(part) for part in ids), 100)
        with self.assertRaises(psycopg2.Error) as caught:  # rows of another partition
            self.append(ids[1], 1, part=0)
        self.assertEqual(caught.exception.pgcode, MISSING)
        self.assertTrue(self.append(ids[1], 1, part=1))
        self.assertEqual([self.ids(part=part) for part in range(4)], [ids[0], [], ids[2], ids[3]])

    def test_relief(self):
        """What a queue that takes no jobs can still run: of each key only the first row."""
        self.ask("select elapse.put('t', 'x', key => 'new')")
        self.ask("select elapse.cancel('t', 'new')")
        self.ask("select elapse.put('t', 'x')")
        relief = [self.value("select elapse.cancel('t', 'old')"),
                  self.value("select elapse.cancel('u', 'new')"),
                  self.value("select elapse.arrive('u', 'sum')")]
        # A token takes a place, too.
        self.ask("select elapse.arrive('u', 'all', token => 'o')")
        self.ask("select elapse.reschedule('t', 'old', '1 s')")
        self.assertEqual(self.ids(relief=True), relief)
        self.assertEqual(self.ids(relief=True, rows_max=1), relief[:1])
        self.assertEqual(len(self.ids()), 8)

    def test_a_long_inbox_costs_no_more(self):
        """What a poll and a move read does not grow with the rows that wait behind."""
        self.wait_until_alone()
        self.ask("vacuum analyze elapse.inbox")
        connection = self.connect()
        read = "select pg_stat_force_next_flush()"
        count = "select idx_tup_read from pg_stat_user_indexes where indexrelname = 'inbox_pkey'"
        costs = []
        for group in (1, 2):
            self.ask("insert into elapse.inbox (queue, part, id, what, tube, key)"
                     "select 'main', 0, nextval('elapse.inbox_id'), 'cancel', 't', 'k'"
                     " from generate_series(1, %s)", (group * 2000 - 1000,))
            self.ask(read, connection=connection)
            before = self.value(count)
            ids = self.ids(rows_max=200, connection=connection)
            self.assertTrue(self.append(ids[:100] + ids[150:], group, connection=connection))
            self.ask(read, connection=connection)
            costs.append(self.value(count) - before)
        self.assertLess(costs[0], 600)
        self.assertLess(costs[1], costs[0] + 200)

    def test_relief_behind_many_rows(self):
        """It compares each row with the older ones of its key: not with all of them."""
        self.ask("vacuum analyze elapse.inbox")
        connection = self.connect()
        self.ask("insert into elapse.inbox (queue, part, id, what, tube, key)"
                 "select 'main', 0, nextval('elapse.inbox_id'), 'put', 't', 'k' || n"
                 " from generate_series(1, 20000) n")
        self.ask("select elapse.cancel('t', 'k' || n) from generate_series(19801, 20200) n")
        self.ask("set statement_timeout = '5s'", connection=connection)
        self.assertEqual(len(self.ids(relief=True, connection=connection)), 200)

    def test_polls_use_the_index(self):
        """Also with the statistics of an empty table, which it is most of the time."""
        self.wait_until_alone()
        self.ask("vacuum analyze elapse.inbox")
        connection = self.connect()
        self.ask("insert into elapse.inbox (queue, part, id, what, tube)"
                 "select 'other', 0, n, 'cancel', 't' from generate_series(1, 20000) n")
        self.ask("select elapse.cancel('t', 'k' || n) from generate_series(1, 20) n")
        count = "select seq_scan from pg_stat_user_tables where relname = 'inbox'"
        self.ask("select pg_stat_force_next_flush()")
        before = self.value(count)
        for relief in (False, True):
            [*ids] = self.ids(relief=relief, connection=connection)
            self.assertEqual(len(ids), 20)
        self.append(ids, 1, connection=connection)
        self.ask("select pg_stat_force_next_flush()", connection=connection)
        self.ask("select 1", connection=connection)
        self.assertEqual(self.value(count), before)


class Moves(InboxCase):

    def setUp(self):
        super().setUp()
        self.ask("select elapse.put('t', 'x' || n, key => 'k' || n) from generate_series(1, 5) n")
        self.five = self.ids()

    def check_nothing_happened(self, groups=0):
        self.assertEqual((self.ids(), self.groups()), (self.five, groups))
        self.assertEqual(self.ask("select last_group from elapse.partition where part = 0"),
                         [(groups,)])
        self.assertEqual(self.ask("select * from elapse.inbox_refused"), [])

    def check_missing(self, *values, **options):
        with self.assertRaises(psycopg2.Error) as caught:
            self.append(*values, **options)
        self.assertEqual(caught.exception.pgcode, MISSING)
        return str(caught.exception)

    def test_a_move_is_one_with_its_group(self):
        self.assertTrue(self.append(self.five[::2], 1, data=b"three"))
        self.assertEqual(self.ids(), self.five[1::2])
        self.assertEqual(self.ask("select group_number, bytes::bytea = 'three' from elapse.log"),
                         [(1, True)])
        self.assertTrue(self.append([], 2))
        self.assertEqual(self.groups(), 2)

    def test_without_the_fence_nothing_moves(self):
        self.assertFalse(self.append(self.five, 1, epoch=0))
        self.check_nothing_happened()
        self.assertFalse(self.append(self.five, 2))
        self.check_nothing_happened()
        self.assertFalse(self.append(self.five, 1, reasons=["r"] * 5, epoch=2))
        self.check_nothing_happened()

    def test_a_row_that_is_not_there_stops_the_group(self):
        self.assertIn("of 6 rows of the inbox 5 are there", self.check_missing(self.five + [9999], 1))
        self.check_nothing_happened()
        self.check_missing(self.five + self.five[:1], 1)  # twice the same
        self.check_nothing_happened()
        self.check_missing(self.five + [9999], 1, reasons=["r"] * 6)
        self.check_nothing_happened()
        self.assertTrue(self.append(self.five, 1))
        self.check_missing(self.five, 2)

    def test_a_refused_row_is_put_aside_with_its_reason(self):
        row = self.ask("select * from elapse.inbox where id = %s", (self.five[2],))
        self.assertTrue(self.append(self.five, 1, reasons=[None, None, "ERR why", None, "BUSYKEY 3"]))
        self.assertEqual(self.ids(), [])
        self.assertEqual(self.ask("select id, reason from elapse.inbox_refused order by id"),
                         [(self.five[2], "ERR why"), (self.five[4], "BUSYKEY 3")])
        [aside] = self.ask("select * from elapse.inbox_refused where id = %s", (self.five[2],))
        self.assertEqual(aside[:len(row[0])], row[0])
        self.assertEqual(len(aside), len(row[0]) + 2)

    def test_a_zombie_and_its_successor(self):
        """The old owner's append waits for its commit while another node takes over: the new one sees
        the rows gone. Where it took over first, the old append moves nothing."""
        old, new = self.connect(autocommit=False), self.connect()
        self.assertTrue(self.append(self.five, 1, connection=old))
        take_over = "update elapse.partition set epoch = epoch + 1 where part = 0 and last_group = %s"
        self.ask("set lock_timeout = '100ms'", connection=new)
        self.assertEqual(self.error(take_over, (0,), new).pgcode, "55P03")
        old.commit()
        self.assertEqual(self.ask(take_over, (1,), new), 1)
        self.assertEqual(self.ids(connection=new), [])
        self.ask("select elapse.put('t', 'x')")
        self.assertFalse(self.append(self.ids(), 2, connection=old))
        old.commit()
        self.assertTrue(self.append(self.ids(), 2, epoch=2, connection=new))

    def test_a_row_that_goes_away_while_the_move_waits(self):
        """The move sees the row, waits for its lock, and then it is gone: all or nothing."""
        other = self.connect(autocommit=False)
        self.ask("delete from elapse.inbox where id = %s", (self.five[0],), other)
        timer = threading.Timer(0.2, other.commit)
        timer.start()
        self.check_missing(self.five, 1, reasons=["r"] + [None] * 4)
        timer.join()
        self.five = self.five[1:]
        self.check_nothing_happened()


class Storm(InboxCase):
    """Many sessions at once, which commit, roll back and wait at random; owners that take over from
    each other; each committed call is in the log once, and the calls of a session on its key are in
    their order."""

    SECONDS = 3
    WRITERS = 5
    ENOUGH_CALLS = 10  # of a writer: on a machine with much other work it goes on until it has committed more
    seed = random.randrange(1 << 32)

    def write(self, writer, end, committed):
        """Transactions of up to three calls."""
        chance = random.Random(self.seed + writer)
        connection = self.connect(autocommit=False)
        done = 0
        while time.monotonic() < end or done <= self.ENOUGH_CALLS:
            calls = [f"{writer}-{done + i}" for i in range(chance.randint(1, 3))]
            for call in calls:
                self.ask("select elapse.put('t', %s, key => %s)", (call, f"k{writer}"), connection)
                if chance.random() < 0.1:
                    time.sleep(chance.random() * 0.02)
            if chance.random() < 0.2:
                connection.rollback()
            else:
                connection.commit()
                committed.extend(calls)
                done += len(calls)

    def own(self, all_written, part, moved):
        """A node: takes the partition over now and then, polls, moves, until all is written and nothing is left."""
        chance = random.Random(self.seed + 100 + moved["number"])
        connection = self.connect()
        epoch, group = 0, 0
        while True:
            is_last = all_written.is_set()
            if epoch == 0 or chance.random() < 0.02:
                [[epoch, group]] = self.ask(
                    "update elapse.partition set epoch = epoch + 1 where queue = %s and part = %s"
                    " returning epoch, last_group", (QUEUE, part), connection)
            rows = self.rows(part=part, rows_max=chance.choice((1, 5, 500)), connection=connection)
            if is_last and not rows:
                return
            rows = rows[:chance.randint(1, len(rows))] if rows else rows
            data = json.dumps([row["body"].decode() for row in rows]).encode()
            try:
                kept = self.append([row["id"] for row in rows], group + 1, part=part, epoch=epoch,
                                   data=data, connection=connection)
            except psycopg2.Error as error:
                # The other owner has moved them since the poll, and the fence alone would not see
                # it if this one had taken over in between.
                self.assertEqual(error.pgcode, MISSING)
                kept = False
            if kept:
                group += 1
                moved["rows"] += len(rows)
            else:
                epoch = 0
                time.sleep(0.005)

    def test_each_committed_call_is_in_the_log_once(self):
        self.open_queue(2)
        end, all_written = time.monotonic() + self.SECONDS, threading.Event()
        committed = [[] for _ in range(self.WRITERS)]
        owners = [{"number": n, "rows": 0} for n in range(4)]
        writing = [threading.Thread(target=self.write, args=(n, end, committed[n])) for n in range(self.WRITERS)]
        owning = [threading.Thread(target=self.own, args=(all_written, n % 2, owners[n])) for n in range(4)]
        for thread in writing + owning:
            thread.start()
        for thread in writing:
            thread.join()
        all_written.set()
        for thread in owning:
            thread.join()
        logs = self.ask("select bytes from elapse.log order by part, group_number")
        moved = [call for (data,) in logs for call in json.loads(bytes(data))]
        message = f"seed {self.seed}, {len(moved)} calls, {len(logs)} groups"
        self.assertEqual([row for part in (0, 1) for row in self.rows(part=part)], [], message)
        self.assertEqual(sorted(moved), sorted(sum(committed, [])), message)
        for writer, calls in enumerate(committed):
            mine = [call for call in moved if call.startswith(f"{writer}-")]
            self.assertEqual(mine, calls, message)
            self.assertGreater(len(calls), self.ENOUGH_CALLS, message)


class Upkeep(InboxCase):

    def test_the_table_is_vacuumed_by_its_own_settings(self):
        """A long-lived inbox stays small: its dead rows are reused."""
        options = self.value("select reloptions from pg_class where oid = 'elapse.inbox'::regclass")
        for option in ("autovacuum_vacuum_scale_factor=0", "autovacuum_vacuum_threshold=1000",
                       "vacuum_truncate=false"):
            self.assertIn(option, options)
        sizes = []
        for group in range(1, 9):
            self.ask("select elapse.put('t', repeat('x', 100)) from generate_series(1, 500)")
            self.assertTrue(self.append(self.ids(), group))
            self.ask("vacuum elapse.inbox")
            sizes.append(self.value("select pg_relation_size('elapse.inbox')"))
        self.assertEqual(sizes[1], sizes[-1], sizes)


if __name__ == "__main__":
    unittest.main()
