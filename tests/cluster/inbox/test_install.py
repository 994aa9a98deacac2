#!/usr/bin/env python3
"""Tests the installation of sql/inbox.sql: once, again, as an upgrade, and by which users."""

import threading
import unittest

from inbox_case import InboxCase, psycopg2
from postgres_server import PATIENCE_S, SCRIPT, SOURCE, time

CLUSTER_SCRIPT = SOURCE / "src" / "cluster" / "postgres" / "schema.sql"


class Install(InboxCase):
    database = "install"

    def setUp(self):
        if not self.server.has_database(self.database):
            self.server.make_database(self.database)
        self.connection = self.server.connect(self.database)
        self.addCleanup(self.connection.close)
        self.ask("set client_min_messages = warning; drop schema if exists elapse cascade")

    def install(self, *arguments, **options):
        return self.server.psql(self.database, *arguments, "-f", str(SCRIPT), **options)

    def check_installed(self, **options):
        done = self.install(**options)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, "", ""))

    def schema(self):
        """All that the script makes, as text."""
        return self.ask(
            "select p.oid::regprocedure::text, pg_get_functiondef(p.oid), p.proacl::text"
            " from pg_proc p where pronamespace = 'elapse'::regnamespace"
            " union all select attrelid::regclass::text, attname || format_type(atttypid, -1),"
            " attnum::text from pg_attribute join pg_class c on c.oid = attrelid"
            " where relnamespace = 'elapse'::regnamespace order by 1, 2, 3")

    def test_again_changes_nothing(self):
        self.check_installed()
        before = self.schema()
        self.ask("select elapse.inbox_open('main', 1, 100); select elapse.put('t', 'x', key => 'k')")
        self.check_installed()
        self.assertEqual(self.schema(), before)
        self.assertEqual(self.value("select count(*) from elapse.inbox"), 1)
        self.assertEqual(self.ask("select * from elapse.version"), [("inbox", 5)])

    def test_other_functions_of_the_schema_keep_their_rights(self):
        self.check_installed()
        self.ask("create function elapse.other() returns integer language sql as 'select 1'")
        self.check_installed()
        self.ask("create role anybody; grant usage on schema elapse to anybody; set role anybody")
        self.assertEqual(self.value("select elapse.other()"), 1)
        self.assertEqual(self.error("select elapse.cancel('t', 'k')").pgcode, "42501")

    def test_by_any_client(self):
        """The script has no commands of psql."""
        self.ask(SCRIPT.read_text(encoding="utf-8"))
        self.assertEqual(self.ask("select version from elapse.version"), [(5,)])

    def test_an_older_version_is_upgraded(self):
        """Functions that changed or are missing are there again, and rights; rows stay."""
        self.check_installed()
        before = self.schema()
        self.ask("select elapse.inbox_open('main', 1, 100); select elapse.put('t', 'x', key => 'k')")
        self.ask("update elapse.version set version = 0; drop function elapse.cancel;"
                 "create or replace function elapse.inbox_at_ms(at timestamptz) returns bigint"
                 " language sql as 'select 0::bigint';"
                 "grant execute on function elapse.inbox_at_ms(timestamptz) to public")
        self.check_installed()
        self.assertEqual(self.value("select count(*) from elapse.inbox"), 1)
        self.assertEqual(self.ask("select version from elapse.version"), [(5,)])
        self.assertEqual(len(self.schema()), len(before))

    def test_version_1_gets_headers(self):
        """Rows of before stay, calls by position and by name still mean one function, and rights are there."""
        old = ("text, {}, interval, timestamptz, interval, text, text, text, text, text, interval, bigint, interval, interval,"
               " bigint, interval, interval, text, text")
        self.check_installed()
        self.ask("select elapse.inbox_open('main', 1, 100)")
        self.ask("drop function elapse.put(" + old.format("text") + ", text, bigint);"
                 "drop function elapse.put(" + old.format("bytea") + ", text, bigint)")
        for body in ("text", "bytea"):
            self.ask(f"create function elapse.put(tube text, body {body}, delay interval default null, at timestamptz default null,"
                     " every interval default null, cron text default null, zone text default null, key text default null,"
                     " tag text default null, ifkey text default null, max interval default null, priority bigint default null,"
                     " ttr interval default null, expire interval default null, retry bigint default null,"
                     " backoff_min interval default null, backoff_max interval default null, token text default null,"
                     " queue text default 'main') returns bigint language sql as 'select 0::bigint'")
        self.ask("alter table elapse.inbox drop headers; alter table elapse.inbox_refused drop headers;"
                 "insert into elapse.inbox (queue, part, id, what, tube, key) values ('main', 0, 0, 'cancel', 't', 'k');"
                 "update elapse.version set version = 1")
        self.check_installed()
        self.assertEqual(self.value("select count(*) from pg_proc where proname = 'put'"
                                    " and pronamespace = 'elapse'::regnamespace"), 2)
        self.ask("select elapse.put('t', 'x', '1 s'::interval, null, null, null, null, 'k', null, null, null, null, null, null,"
                 " null, null, null, null, 'main');"
                 "select elapse.put('t', 'x', key => 'k2', headers => 'h=1')")
        self.assertEqual(self.ask("select what, key, convert_from(headers, 'UTF8') from elapse.inbox order by id"),
                         [("cancel", "k", None), ("put", "k", None), ("put", "k2", "h=1")])
        self.ask("set role elapse_caller; select elapse.put('t', 'x'); reset role")
        # A refused row is in the columns of the same names, wherever they stand.
        number = self.value("select id from elapse.inbox where key = 'k2'")
        self.ask(f"select elapse.inbox_move('main', 0, array[{number}], array['no'])")
        self.assertEqual(self.ask("select key, convert_from(headers, 'UTF8'), reason from elapse.inbox_refused"),
                         [("k2", "h=1", "no")])

    def test_version_2_gets_hash_tags(self):
        """A queue of before has none, a node of before goes on, and one of the functions is called, not two."""
        self.check_installed()
        after = self.schema()
        self.ask("select elapse.inbox_open('main', 4, 100); drop function elapse.inbox_open, elapse.inbox_part;"
                 "alter table elapse.inbox_queue drop hash_tags;"
                 "create function elapse.inbox_open(name text, parts integer, body_bytes_max integer) returns void"
                 " language sql as 'select'; create function elapse.inbox_part(parts integer, tube bytea, key bytea,"
                 " token bytea, id bigint) returns integer language sql as 'select 0';"
                 "update elapse.version set version = 2")
        # A node that needs hash tags cannot enter its queue.
        self.assertEqual(self.error("select elapse.inbox_open('tags', 4, 100, true)").pgcode, "42883")
        self.check_installed()
        self.assertEqual([row[0] for row in self.schema() if "(" in row[0]], [row[0] for row in after if "(" in row[0]])
        self.ask("select elapse.inbox_open('main', 4, 200); select elapse.inbox_open('tags', 4, 100, true)")
        self.assertEqual(self.ask("select queue, hash_tags from elapse.inbox_queue order by queue"),
                         [("main", False), ("tags", True)])
        self.ask("set role elapse_node; select elapse.inbox_open('tags', 4, 100, true); reset role")

    def test_version_3_gets_arrivals(self):
        """Rows of before stay, also refused ones, and calls by position and by name mean one function."""
        old = ("text, {}, interval, timestamptz, interval, text, text, text, text, text, interval, bigint, interval, interval,"
               " bigint, interval, interval, text, text, text")
        self.check_installed()
        after = self.schema()
        self.ask("select elapse.inbox_open('main', 1, 100); drop function elapse.arrive, elapse.inbox_count, elapse.inbox_check_level;"
                 "create function elapse.inbox_check_level(queue_name text) returns void language sql as 'select'")
        for body in ("text", "bytea"):
            self.ask(f"drop function elapse.put({old.format(body)}, bigint);"
                     f"create function elapse.put(tube text, body {body}, delay interval default null, at timestamptz default null,"
                     " every interval default null, cron text default null, zone text default null, key text default null,"
                     " tag text default null, ifkey text default null, max interval default null, priority bigint default null,"
                     " ttr interval default null, expire interval default null, retry bigint default null,"
                     " backoff_min interval default null, backoff_max interval default null, token text default null,"
                     " queue text default 'main', headers text default null)"
                     " returns bigint language sql as 'select 0::bigint'")
        self.ask("alter table elapse.inbox drop await, drop constraint inbox_what_check,"
                 " add constraint inbox_what_check check (what in ('put', 'cancel', 'reschedule'));"
                 "alter table elapse.inbox_refused drop await;"
                 "insert into elapse.inbox (queue, part, id, what, tube, key) values ('main', 0, 0, 'cancel', 't', 'k');"
                 "insert into elapse.inbox_refused (queue, part, id, made, what, tube, key, reason)"
                 " values ('main', 0, 7, now(), 'put', 't', 'k', 'no');"
                 "update elapse.version set version = 3")
        self.check_installed()
        self.assertEqual([row[0] for row in self.schema() if "(" in row[0]], [row[0] for row in after if "(" in row[0]])
        self.ask("select elapse.put('t', 'x', '1 s'::interval, null, null, null, null, 'k', null, null, null, null, null, null,"
                 " null, null, null, null, 'main', 'h=1');"
                 "select elapse.put('t', 'x', key => 'sum', await => 2);"
                 "set role elapse_caller; select elapse.arrive('t', 'sum'); reset role")
        self.assertEqual(self.ask("select what, key, await from elapse.inbox order by id"),
                         [("cancel", "k", None), ("put", "k", None), ("put", "sum", 2), ("arrive", "sum", 1)])
        number = self.value("select id from elapse.inbox where what = 'arrive'")
        self.ask(f"select elapse.inbox_move('main', 0, array[{number}], array['no'])")
        self.assertEqual(self.ask("select what, key, await, reason from elapse.inbox_refused order by id"),
                         [("arrive", "sum", 1, "no"), ("put", "k", None, "no")])
        # Once more changes nothing: no table is altered again.
        before = self.schema()
        self.check_installed()
        self.assertEqual(self.schema(), before)

    def test_a_newer_version_is_kept(self):
        self.check_installed()
        self.ask("update elapse.version set version = 6; drop function elapse.cancel")
        done = self.install()
        self.assertEqual(done.returncode, 3)
        self.assertIn("has version 6, and this script is of version 5", done.stderr)
        self.assertEqual(self.ask("select version, to_regproc('elapse.cancel') from elapse.version"),
                         [(6, None)])

    def test_an_error_in_the_middle_leaves_nothing(self):
        """Also where the client goes on after an error."""
        self.ask("create schema elapse; create table elapse.inbox_refused (wrong integer)")
        done = self.install("-v", "ON_ERROR_STOP=0")
        self.assertIn("ERROR", done.stderr)
        self.assertEqual(self.ask("select relname from pg_class where relkind in ('r', 'S') and"
                                  " relnamespace = 'elapse'::regnamespace"), [("inbox_refused",)])

    def test_at_the_same_time(self):
        done = []
        threads = [threading.Thread(target=lambda: done.append(self.install())) for _ in range(3)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual([(one.returncode, one.stderr) for one in done], [(0, "")] * 3)

    def version_table(self):
        """Its owner, rights and columns, and those of its schema."""
        return self.ask(
            "select nspname, r.rolname, nspacl::text, o.rolname, relacl::text,"
            " (select string_agg(attname || ' ' || format_type(atttypid, -1) || attnotnull, ','"
            " order by attnum) from pg_attribute where attrelid = c.oid and attnum > 0)"
            " from pg_class c join pg_namespace n on n.oid = relnamespace"
            " join pg_roles r on r.oid = nspowner join pg_roles o on o.oid = relowner"
            " where c.oid = 'elapse.version'::regclass")

    def wait_for_waiting(self):
        """Waits until a session waits for a lock."""
        end = time.monotonic() + PATIENCE_S
        while not self.value("select count(*) from pg_locks where not granted"):
            self.assertLess(time.monotonic(), end, "nobody waits")
            time.sleep(0.005)

    def begin_other(self, script):
        """Runs a script in a transaction that stays open."""
        connection = self.server.connect(self.database, autocommit=False)
        self.addCleanup(connection.close)
        text = script.read_text(encoding="utf-8").replace("\nbegin;\n", "\n").replace("\ncommit;\n", "\n")
        self.ask(text, connection=connection)
        return connection

    def test_with_the_tables_of_the_cluster_at_the_same_time(self):
        """Either may be the first, and the other one waits for its commit."""
        tables = []
        for first, second in ((SCRIPT, CLUSTER_SCRIPT), (CLUSTER_SCRIPT, SCRIPT)):
            with self.subTest(first=first.name):
                self.ask("drop schema if exists elapse cascade")
                other = self.begin_other(first)
                done = []
                arguments = ("-1",) if second is CLUSTER_SCRIPT else ()
                thread = threading.Thread(target=lambda options, script: done.append(
                    self.server.psql(self.database, *options, "-f", str(script))),
                    args=(arguments, second))
                thread.start()
                try:
                    self.wait_for_waiting()
                finally:
                    other.commit()
                    thread.join()
                self.assertEqual((done[0].returncode, done[0].stderr), (0, ""))
                self.assertEqual(self.ask("select * from elapse.version order by component"),
                                 [("cluster", 3), ("inbox", 5)])
                tables.append(self.version_table())
        self.assertEqual(tables[0], tables[1])

    def test_begins_like_the_tables_of_the_cluster(self):
        """What both make, they make in the same words."""
        def beginning(script):
            text = script.read_text(encoding="utf-8")
            begin = text.index("-- The same in schema.sql")
            return text[begin:text.index("$$;", begin)]
        self.assertIn("create schema elapse;", beginning(SCRIPT))
        self.assertEqual(beginning(SCRIPT), beginning(CLUSTER_SCRIPT))

    def test_into_the_schema_of_another_role(self):
        """The owner of a schema could have its own functions called with the rights of others."""
        user = "owner_of_schema"
        self.ask(f"create role {user} login; grant create on database {self.database} to {user}")
        for first, second in ((SCRIPT, CLUSTER_SCRIPT), (CLUSTER_SCRIPT, SCRIPT)):
            with self.subTest(first=first.name):
                self.ask("drop schema if exists elapse cascade")
                done = self.server.psql(self.database, "-f", str(first), user=user)
                self.assertEqual(done.returncode, 0, done.stderr)
                done = self.server.psql(self.database, "-f", str(second))
                self.assertEqual(done.returncode, 3)
                self.assertIn(f"the schema elapse belongs to the role {user}, and this is admin",
                              done.stderr)
                self.assertEqual(self.value("select count(*) from elapse.version"), 1)

    def test_an_owner_who_may_not_create_roles(self):
        """The roles are there, or a warning names the missing one. Calls run as the owner."""
        user = "owner_of_install"
        self.ask(f"create role {user} login; alter database {self.database} owner to {user}")
        self.check_installed(user=user)
        connection = self.server.connect(self.database, user=user)
        self.addCleanup(connection.close)
        self.ask("select elapse.inbox_open('main', 1, 100); select elapse.put('t', 'x')",
                 connection=connection)
        script = SCRIPT.read_text(encoding="utf-8").replace("elapse_caller", "no_such_role")
        self.ask(script, connection=connection)
        self.assertIn("the role no_such_role does not exist", "".join(connection.notices))

    def test_before_a_node_has_opened_its_queue(self):
        self.check_installed()
        self.assertIn("there is no queue 'main'", str(self.error("select elapse.cancel('t', 'k')")))
        self.assertIsInstance(self.error("select elapse.inbox_open('main', 0, 1)"), psycopg2.Error)


if __name__ == "__main__":
    unittest.main()
