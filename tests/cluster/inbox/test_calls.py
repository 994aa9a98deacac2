#!/usr/bin/env python3
"""Tests elapse.put, arrive, cancel and reschedule: what they store, what they refuse, and who may call them."""

import pathlib
import unittest

from inbox_case import InboxCase, psycopg2

LONGEST_MS = 9223372036854
NOTHING = {"key": None, "tag": None, "token": None, "due": "in", "due_ms": 0, "cron": None,
           "zone": None, "ifkey": "replace", "max_ms": None, "priority": 1024, "ttr_ms": 60000,
           "expire_ms": 0, "retry": 20, "backoff_min_ms": 1000,
           "backoff_max_ms": 600000}


class Calls(InboxCase):

    def put(self, options="", tube="t", body=b"x"):
        """Puts, and returns the row that a node gets."""
        number = self.value(f"select elapse.put(%s, %s {options})", (tube, body))
        [row] = self.rows()
        self.assertEqual(row["id"], number)
        self.ask("delete from elapse.inbox")
        self.assertIn(row.pop("age_ms"), range(0, 60000))
        return row

    def check_put(self, options, **columns):
        row = self.put(options)
        del row["id"]
        self.assertEqual(row, {"what": "put", "tube": b"t", "body": b"x", **NOTHING, **columns})

    def check_refused(self, call, *words):
        for text in (call, call):  # and the session goes on
            error = self.error(f"select elapse.{text}")
            self.assertEqual(error.pgcode, "22023", error)
            for word in words:
                self.assertIn(word, str(error))
        self.assertEqual(self.value("select count(*) from elapse.inbox"), 0)

    # ---- rows ----

    def test_defaults_are_those_of_put(self):
        self.check_put("")
        # Nothing is the default too, so that a program may pass what it does not have.
        self.check_put(", null, null, null, null, null, null, null, null, null, null, null, null,"
                       "null, null, null, null")

    def test_each_option(self):
        self.check_put(", delay => '30 minutes'", due_ms=1800000)
        self.check_put(", at => '2100-01-01 00:00:00.0005+00'", due="at", due_ms=4102444800001)
        self.check_put(", at => '1960-01-01'", due="at", due_ms=0)
        self.check_put(", every => '1 day'", due="every", due_ms=86400000)
        self.check_put(", cron => '0 9 * * mon', zone => 'Europe/Berlin'",
                       due="cron", due_ms=None, cron=b"0 9 * * mon", zone=b"Europe/Berlin")
        self.check_put(", key => 'k', tag => 'g', token => 'o'", key=b"k", tag=b"g", token=b"o")
        self.check_put(", key => 'k', ifkey => 'KEEP'", key=b"k", ifkey="keep")
        self.check_put(", key => 'k', ifkey => 'debounce', delay => '10 s', max => '1 min'",
                       key=b"k", ifkey="debounce", due_ms=10000, max_ms=60000)
        self.check_put(", priority => 7, ttr => '5 s', expire => '1 h', retry => 3,"
                       "backoff_min => '1 s', backoff_max => '10 min'", priority=7, ttr_ms=5000,
                       expire_ms=3600000, retry=3, backoff_min_ms=1000, backoff_max_ms=600000)

    def test_headers(self):
        row = self.put(", headers => 'h=\u00e4'", body=b"x\0y")
        self.assertEqual((row["what"], bytes(row["body"])), ("put+headers", b"\0\0\0\4h=\xc3\xa4x\0y"))
        self.check_refused("put('t', 'x', headers => '')", "headers must have 1 to 4096 bytes")
        self.check_refused("put('t', 'x', headers => repeat('x', 4097))", "and this one has 4097")

    def test_headers_wait_for_the_level_of_the_queue(self):
        """A node of 0.2 would refuse the row."""
        self.ask("create table elapse.queue (name text)")
        self.addCleanup(self.ask, "drop table elapse.queue")
        self.ask("insert into elapse.queue values ('main')")
        self.check_refused("put('t', 'x', headers => 'h')", "upgrade all nodes first")
        self.check_put("")
        self.ask("alter table elapse.queue add level integer default 0")
        self.check_refused("put('t', 'x', headers => 'h')", "upgrade all nodes first")
        self.ask("update elapse.queue set level = 1")
        self.assertEqual(self.put(", headers => 'h'")["what"], "put+headers")

    def test_await(self):
        row = self.put(", await => 3, key => 'k'")
        self.assertEqual((row["what"], bytes(row["body"]), row["due"], row["due_ms"], row["ifkey"]),
                         ("put+await", b"\0\0\0\0\0\0\0\3\0\0\0\0x", None, None, "keep"))
        row = self.put(", await => 4294967295, key => 'k', headers => 'h=1', delay => '1 s', ifkey => 'replace'")
        self.assertEqual((row["what"], bytes(row["body"]), row["due"], row["due_ms"], row["ifkey"]),
                         ("put+await", b"\0\0\0\0\xff\xff\xff\xff\0\0\0\3h=1x", "in", 1000, "replace"))
        self.assertEqual(self.put(", await => 1, key => 'k', delay => '0 s'")["due"], None)
        self.check_refused("put('t', 'x', key => 'k', await => 1, delay => '-1 s')", "delay")
        self.assertEqual(self.put(", await => 1, key => 'k', at => '2100-01-01 00:00+00'")["due"], "at")
        for wrong in ("0", "-1", "4294967296"):
            self.check_refused(f"put('t', 'x', key => 'k', await => {wrong})", "await must be from 1 to 4294967295")
        self.check_refused("put('t', 'x', await => 1)", "await needs key")
        self.check_refused("put('t', 'x', key => 'k', await => 1, every => '1 s')", "waits for no arrivals")
        self.check_refused("put('t', 'x', key => 'k', await => 1, cron => '* * * * *')", "waits for no arrivals")
        self.check_refused("put('t', 'x', key => 'k', await => 1, delay => '1 s', ifkey => 'debounce', max => '1 s')",
                           "waits for no arrivals")

    def arrive(self, arguments):
        """Arrives, and returns what is not null in the row that a node gets."""
        number = self.value(f"select elapse.arrive({arguments})")
        [row] = self.rows()
        self.ask("delete from elapse.inbox")
        self.assertEqual(row.pop("id"), number)
        return {name: value for name, value in row.items() if value is not None and name != "age_ms"}

    def test_arrive(self):
        one = {"what": "arrive", "tube": b"t", "key": b"k", "due_ms": 1}
        self.assertEqual(self.arrive("'t', 'k'"), one)
        self.assertEqual(self.arrive("'t', 'k', null, null"), one)
        self.assertEqual(self.arrive("'t', 'k', 4294967295, token => 'o'"), {**one, "due_ms": 4294967295, "token": b"o"})
        for wrong in ("0", "-1", "4294967296"):
            self.check_refused(f"arrive('t', 'k', {wrong})", "count must be from 1 to 4294967295")
        self.check_refused("arrive('t', 'k', token => '')", "a token must have 1 to 250 bytes")
        self.check_refused("arrive('t', null)", "must not be null")
        self.check_refused("arrive('t', '')", "a key must have 1 to 250 bytes")

    def test_arrivals_wait_for_the_level_of_the_queue(self):
        """A node of 0.2 would refuse the row."""
        self.ask("create table elapse.queue (name text, level integer default 0)")
        self.addCleanup(self.ask, "drop table elapse.queue")
        self.ask("insert into elapse.queue values ('main')")
        self.check_refused("put('t', 'x', key => 'k', await => 1)", "upgrade all nodes first")
        self.check_refused("arrive('t', 'k')", "upgrade all nodes first")
        self.ask("update elapse.queue set level = 1")
        self.assertEqual(self.arrive("'t', 'k'")["what"], "arrive")

    def test_arrivals_are_where_their_job_is(self):
        self.ask("update elapse.inbox_queue set parts = 7, hash_tags = true")
        self.addCleanup(self.ask, "update elapse.inbox_queue set parts = 1, hash_tags = false")
        for tube in ("t", "t{eu}"):
            self.ask("select elapse.put(%s, 'x', key => 'k' || n, await => 1), elapse.arrive(%s, 'k' || n, token => 'o')"
                     " from generate_series(1, 20) n", (tube, tube))
            self.assertEqual(self.ask("select key, count(distinct part) from elapse.inbox group by key having count(*) <> 2"
                                      " or count(distinct part) <> 1"), [])
            self.ask("delete from elapse.inbox")

    def test_durations_are_rounded_up(self):
        self.assertEqual(self.put(", delay => '1 microsecond'")["due_ms"], 1)
        self.assertEqual(self.put(", delay => '1.0001 s'")["due_ms"], 1001)
        self.assertEqual(self.put(", ttr => '1 us'")["ttr_ms"], 1)

    def test_edges(self):
        longest = f"make_interval(secs => {LONGEST_MS // 1000}) + '854 ms'"
        self.assertEqual(self.put(f", delay => {longest}")["due_ms"], LONGEST_MS)
        self.check_refused(f"put('t', 'x', delay => {longest} + '1 us')", "delay", "292 years")
        self.check_refused("put('t', 'x', delay => '-1 us')", "delay must be from 0 ms")
        self.assertEqual(self.put(", priority => 4294967295")["priority"], 4294967295)
        self.check_refused("put('t', 'x', priority => 4294967296)", "priority", "4294967295")
        self.check_refused("put('t', 'x', priority => -1)", "priority")
        self.check_refused("put('t', 'x', retry => 4294967296)", "retry")
        self.check_refused("put('t', 'x', every => '0 s')", "every must be from 1 ms")
        self.check_refused("put('t', 'x', ttr => '0 s')", "ttr must be from 1 ms")
        self.assertEqual(self.put(", at => '9999-12-31 23:59:59.999+00'")["due_ms"],
                         253402300799999)
        self.check_refused("put('t', 'x', at => '10000-01-01 00:00:00+00')", "10000")
        self.check_refused("put('t', 'x', at => 'infinity')", "infinity")

    def test_lengths_are_those_of_utf_8(self):
        self.assertEqual(self.put(tube="ä" * 100)["tube"], ("ä" * 100).encode())
        self.check_refused("put(repeat('ä', 100) || 'x', 'x')", "tube", "200", "201")
        self.check_refused("put('', 'x')", "tube", "1 to 200")
        for option, name in (("key", "a key"), ("tag", "a tag"), ("token", "a token")):
            self.assertEqual(len(self.put(f", {option} => repeat('k', 250)")[option]), 250)
            self.check_refused(f"put('t', 'x', {option} => repeat('k', 251))", name, "250", "251")
            self.check_refused(f"put('t', 'x', {option} => '')", name)
        self.check_refused("put('t', 'x', cron => repeat('*', 1024))", "cron", "1023")
        self.check_refused("put('t', 'x', cron => '* * * * *', zone => repeat('z', 65))", "zone")

    def test_bodies(self):
        self.assertEqual(self.put(body="ä\n")["body"], "ä\n".encode())
        self.assertEqual(self.put(body=bytes(range(256)))["body"], bytes(range(256)))
        self.assertEqual(self.put(body="")["body"], b"")
        self.assertEqual(len(self.put(body=b"x" * 65535)["body"]), 65535)
        self.check_refused("put('t', repeat('x', 65536))", "65536", "65535")
        self.open_queue(1, 10)
        self.check_refused("put('t', '12345678901')", "11", "10")

    def test_cancel_and_reschedule(self):
        numbers = [self.value("select elapse.cancel('t', 'k')"),
                   self.value("select elapse.reschedule('t', 'k', delay => '1.5 s')"),
                   self.value("select elapse.reschedule('t', 'k', at => '2100-01-01 00:00+00')")]
        rows = self.rows()
        self.assertEqual([row["id"] for row in rows], numbers)
        self.assertEqual([row["what"] for row in rows], ["cancel", "reschedule", "reschedule"])
        self.assertEqual([(row["tube"], row["key"], row["body"]) for row in rows],
                         [(b"t", b"k", None)] * 3)
        self.assertEqual([(row["due"], row["due_ms"]) for row in rows],
                         [(None, None), ("in", 1500), ("at", 4102444800000)])

    # ---- refusals ----

    def test_what_does_not_go_together(self):
        self.check_refused("put('t', 'x', delay => '1 s', at => now())", "only one of")
        self.check_refused("put('t', 'x', every => '1 s', cron => '* * * * *')", "only one of")
        self.check_refused("put('t', 'x', zone => 'utc')", "zone needs cron")
        self.check_refused("put('t', 'x', ifkey => 'keep')", "ifkey needs key")
        self.check_refused("put('t', 'x', key => 'k', ifkey => 'keeps')", "'keeps'", "debounce")
        self.check_refused("put('t', 'x', key => 'k', ifkey => 'debounce')", "debounce and max")
        self.check_refused("put('t', 'x', key => 'k', max => '1 s')", "debounce and max")
        debounce = "key => 'k', ifkey => 'debounce', max => '1 s'"
        self.check_refused(f"put('t', 'x', every => '1 s', {debounce})", "debounce needs a delay")
        self.check_refused(f"put('t', 'x', delay => '2 s', {debounce})", "max is less")
        self.check_refused("put('t', 'x', backoff_min => '1 s')", "backoff_min and backoff_max")
        self.check_refused("put('t', 'x', backoff_max => '1 s')", "backoff_min and backoff_max")
        self.check_refused("put('t', 'x', backoff_min => '2 s', backoff_max => '1 s')",
                           "backoff_max is less")
        self.check_refused("reschedule('t', 'k')", "needs delay or at")
        self.check_refused("reschedule('t', 'k', delay => '1 s', at => now())", "delay or at")

    def test_nulls_and_unknown_queues(self):
        self.check_refused("put(null, 'x')", "must not be null")
        self.check_refused("put('t', null::bytea)", "must not be null")
        self.check_refused("put('t', null::text)", "must not be null")
        self.check_refused("cancel('t', null)", "must not be null")
        self.check_refused("cancel('t', '')", "a key")
        self.check_refused("reschedule(null, 'k', '1 s')", "must not be null")
        self.check_refused("put('t', 'x', queue => 'other')", "no queue 'other'", "when it starts")
        self.check_refused("put('t', 'x', queue => null)", "no queue null")
        self.check_refused("cancel('t', 'k', queue => 'other')", "no queue 'other'")

    def test_months_have_no_fixed_length(self):
        self.check_refused("put('t', 'x', delay => '1 month')", "months", "at => now()")
        self.check_refused("put('t', 'x', delay => '1 month -30 days')", "months")
        self.check_refused("put('t', 'x', ttr => '1 year')", "ttr", "months and years")

    # ---- partitions ----

    def test_places(self):
        """The partition of each key, as the nodes have it: places.txt was made by another program."""
        lines = (pathlib.Path(__file__).parent / "places.txt").read_text().splitlines()
        lines = [line.split() for line in lines if not line.startswith("#")]
        self.assertGreater(len(lines), 100)
        for parts, tube, key, part in lines:
            found = self.value("select elapse.inbox_part_of_key(%s, decode(%s, 'hex'),"
                               "decode(%s, 'hex'))", (parts, tube.strip("-"), key))
            self.assertEqual(found, int(part), (parts, tube, key))

    def test_places_of_braces(self):
        """As the nodes have them (tests/cluster/router/braces_test.c)."""
        for parts, tube, part in ((1024, "mails{eu}", 951), (1024, "{eu}mails{us}", 951), (1024, "}{eu}", 951),
                                  (1024, "mails{us}", 673), (1000, "mails{eu}", 119), (1024, "a{{x}}", 478),
                                  (1, "mails{eu}", 0), (2, "mails{eu}", 1), (2, "mails{asia}", 0)):
            for key, token in ((None, None), ("k", None), ("k2", "o"), (None, "o")):
                self.assertEqual(self.value("select elapse.inbox_part(%s, true, convert_to(%s, 'UTF8'), convert_to(%s, 'UTF8'),"
                                            " convert_to(%s, 'UTF8'), 5)", (parts, tube, key, token)), part, (parts, tube, key))
        for tube in ("mails", "mails{}", "{}{eu}", "mails{eu", "mails}eu{", "mails{\u00fc"):
            self.assertIsNone(self.value("select elapse.inbox_braces(convert_to(%s, 'UTF8'))", (tube,)), tube)
            self.assertEqual(self.value("select elapse.inbox_part(1024, true, convert_to(%s, 'UTF8'), 'k', null, 5) ="
                                        " elapse.inbox_part_of_key(1024, convert_to(%s, 'UTF8'), 'k')", (tube, tube)), True)

    def test_braces_decide_in_queues_with_hash_tags(self):
        calls = ("select elapse.put('mails{eu}', 'x') from generate_series(1, 8);"
                 "select elapse.put('more{eu}', 'x', key => 'k' || n, token => 't' || n) from generate_series(1, 8) n;"
                 "select elapse.put('mails{eu}', 'x', token => 't' || n) from generate_series(1, 8) n;"
                 "select elapse.cancel('mails{eu}', 'k' || n), elapse.reschedule('more{eu}', 'k' || n, '1 s')"
                 " from generate_series(1, 8) n")
        self.open_queue(4)
        self.ask(calls)
        self.assertEqual(self.value("select count(distinct part) from elapse.inbox"), 4)
        self.ask("truncate elapse.inbox")
        self.open_queue(4, hash_tags=True)
        self.ask(calls)
        self.assertEqual(self.ask("select part, count(*) from elapse.inbox group by part"), [(3, 40)])

    def test_hash_tags_never_change(self):
        self.open_queue(4, hash_tags=True)
        self.assertIn("was entered with hash tags", str(self.error("select elapse.inbox_open('main', 4, 100)")))
        self.open_queue(4)
        self.assertIn("was entered without hash tags",
                      str(self.error("select elapse.inbox_open('main', 4, 100, true)")))

    def test_a_key_decides_then_a_token_then_chance(self):
        self.open_queue(4)
        self.ask("select elapse.put('t', 'x', key => 'k' || n, token => 'o') from generate_series("
                 "1, 400) n")
        self.ask("select elapse.cancel('t', 'k' || n), elapse.reschedule('t', 'k' || n, '1 s')"
                 "from generate_series(1, 400) n")
        self.assertEqual(self.value("select max(n) from (select count(distinct part) n from"
                                    " elapse.inbox group by key) c"), 1)
        shares = [n for (n,) in self.ask("select count(*) from elapse.inbox group by part")]
        self.assertEqual((len(shares), sum(shares)), (4, 1200))
        self.assertGreater(min(shares), 150)
        self.assertEqual(self.value("select count(*) from elapse.inbox where part <>"
                                    " elapse.inbox_part_of_key(4, 't', convert_to(key, 'UTF8'))"), 0)
        self.ask("truncate elapse.inbox")
        self.ask("select elapse.put('t' || n, 'x', token => 'o') from generate_series(1, 10) n")
        self.assertEqual(self.ask("select distinct part from elapse.inbox"),
                         self.ask("select elapse.inbox_part_of_key(4, '', 'o')"))
        self.ask("truncate elapse.inbox")
        self.ask("select elapse.put('t', 'x') from generate_series(1, 8)")
        self.assertEqual(self.ask("select part, count(*) from elapse.inbox group by 1 order by 1"),
                         [(0, 2), (1, 2), (2, 2), (3, 2)])

    def test_the_number_of_partitions_never_changes(self):
        self.ask("select elapse.inbox_open('main', 1, 100)")
        self.assertEqual(self.ask("select * from elapse.inbox_queue"), [("main", 1, 100, False)])
        self.assertIn("has 1 partitions, not 2",
                      str(self.error("select elapse.inbox_open('main', 2, 200)")))
        self.assertEqual(self.ask("select * from elapse.inbox_queue"), [("main", 1, 100, False)])

    # ---- rights ----

    def as_role(self, role):
        """A session of a user that has this role alone."""
        user = self.id().rsplit(".", maxsplit=1)[-1]
        self.ask(f"create role {user} login")
        if role is not None:
            self.ask(f"grant {role} to {user}")
        return self.connect(user=user)

    def check_denied(self, connection, *texts):
        for text in texts:
            self.assertEqual(self.error(text, connection=connection).pgcode, "42501", text)

    TABLES = ("select * from elapse.inbox", "delete from elapse.inbox",
              "insert into elapse.inbox (queue, part, id, what, tube) values ('main', 0, 1, 'put', 't')",
              "update elapse.inbox set tube = 'u'", "select * from elapse.inbox_refused",
              "truncate elapse.inbox", "select * from elapse.inbox_queue",
              "select nextval('elapse.inbox_id')", "select * from elapse.version")
    NODES = ("select * from elapse.inbox_rows('main', 0, 1, 1)",
             "select elapse.inbox_move('main', 0, '{1}')",
             "select elapse.inbox_open('main', 1, 1)")
    CALLS = ("select elapse.put('t', 'x', key => 'k')", "select elapse.put('t', 'x'::bytea)",
             "select elapse.cancel('t', 'k')", "select elapse.reschedule('t', 'k', '1 s')", "select elapse.arrive('t', 'k')")

    def test_callers_may_call_and_nothing_else(self):
        connection = self.as_role("elapse_caller")
        for text in self.CALLS:
            self.assertGreater(self.value(text, connection=connection), 0)
        self.check_denied(connection, *self.TABLES, *self.NODES)
        self.assertEqual(len(self.rows()), len(self.CALLS))

    def test_nodes_may_poll_and_move(self):
        self.ask(self.CALLS[0])
        connection = self.as_role("elapse_node")
        self.ask("select elapse.inbox_open('main', 1, 65535)", connection=connection)
        [number] = self.ids(connection=connection)
        self.ask("select elapse.inbox_move('main', 0, array[%s::bigint])", (number,), connection)
        self.check_denied(connection, *self.CALLS, "delete from elapse.inbox",
                          "insert into elapse.inbox_refused (id) values (1)")
        self.assertEqual(self.ask("select * from elapse.inbox_refused", connection=connection), [])

    def test_others_may_do_nothing(self):
        self.check_denied(self.as_role(None), *self.CALLS, *self.NODES, *self.TABLES)

    def test_a_caller_cannot_put_its_own_functions_in_the_way(self):
        """The functions run with the rights of their owner."""
        self.ask("grant create on schema public to public")
        connection = self.as_role("elapse_caller")
        self.ask("create function pg_temp.nextval(text) returns bigint language sql as 'select 1 / 0';"
                 "create function public.octet_length(bytea) returns integer language sql"
                 " as 'select 1 / 0'; set search_path = public, pg_temp, pg_catalog",
                 connection=connection)
        self.assertGreater(self.value(self.CALLS[0], connection=connection), 0)


if __name__ == "__main__":
    unittest.main()
