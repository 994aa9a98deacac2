"""What the tests of the inbox share: one server and one database, which is emptied before each test."""

import unittest

from postgres_server import PostgresServer, SCRIPT, psycopg2  # pylint: disable=unused-import

DATABASE = "inbox"
QUEUE = "main"

# A partition and its log, as a node has them. The test is their owner.
TABLES = """
create schema if not exists elapse;
create table elapse.partition (
    queue text, part integer, epoch bigint not null default 1, owner text not null default 'me',
    beat bigint not null default 0, last_group bigint not null default 0,
    primary key (queue, part)) with (fillfactor = 10);
create table elapse.log (
    queue text, part integer, group_number bigint, epoch bigint, bytes bytea,
    primary key (queue, part, group_number));
insert into elapse.partition (queue, part) select 'main', n from generate_series(0, 3) n;
"""

# The append of src/cluster/ownership/statements.h. The update is the fence: without a row of it nothing moves.
APPEND = """
with p as (
    update elapse.partition set last_group = %(group)s, beat = beat + 1
    where queue = %(queue)s and part = %(part)s and epoch = %(epoch)s
        and last_group = %(group)s - 1
    returning 1
), m as materialized (
    select elapse.inbox_move(%(queue)s, %(part)s, %(ids)s::bigint[], %(reasons)s::text[]) from p
)
insert into elapse.log select %(queue)s, %(part)s, %(group)s, %(epoch)s, %(bytes)s from p, m
returning current_setting('synchronous_standby_names')
"""


class InboxCase(unittest.TestCase):
    server = None

    @classmethod
    def setUpClass(cls):
        if InboxCase.server is not None:
            return
        InboxCase.server = PostgresServer()
        unittest.addModuleCleanup(cls.stop)
        cls.server.make_database(DATABASE)
        done = cls.server.psql(DATABASE, "-f", str(SCRIPT))
        assert done.returncode == 0 and done.stderr == "", done.stderr
        connection = cls.server.connect(DATABASE)
        with connection.cursor() as cursor:
            cursor.execute(TABLES)
        connection.close()

    @classmethod
    def stop(cls):
        InboxCase.server.stop()
        InboxCase.server = None

    def setUp(self):
        self.connection = self.connect()
        self.ask("truncate elapse.inbox, elapse.inbox_refused, elapse.log;"
                 "update elapse.partition set epoch = 1, last_group = 0")
        self.open_queue(1)

    def connect(self, **options):
        connection = self.server.connect(DATABASE, **options)
        self.addCleanup(connection.close)
        return connection

    def ask(self, text, values=None, connection=None):
        """Runs a statement, and returns its rows."""
        with (connection or self.connection).cursor() as cursor:
            cursor.execute(text, values)
            return cursor.fetchall() if cursor.description else cursor.rowcount

    def value(self, text, values=None, connection=None):
        [[value]] = self.ask(text, values, connection)
        return value

    def error(self, text, values=None, connection=None):
        """Runs a statement that has to fail, and returns its error."""
        with self.assertRaises(psycopg2.Error) as caught:
            self.ask(text, values, connection)
        return caught.exception

    def open_queue(self, parts, body_bytes_max=65535, name=QUEUE, hash_tags=False):
        self.ask("delete from elapse.inbox_queue where queue = %s", (name,))
        self.ask("select elapse.inbox_open(%s, %s, %s, %s)", (name, parts, body_bytes_max, hash_tags))

    # ---- what a node does ----

    def rows(self, part=0, rows_max=500, bytes_max=1 << 20, relief=False, connection=None):
        """Polls, and returns a dictionary for each row."""
        with (connection or self.connection).cursor() as cursor:
            cursor.execute("select * from elapse.inbox_rows(%s, %s, %s, %s, %s)",
                           (QUEUE, part, rows_max, bytes_max, relief))
            names = [column.name for column in cursor.description]
            return [dict(zip(names, (bytes(value) if isinstance(value, memoryview) else value
                                     for value in row))) for row in cursor]

    def ids(self, **options):
        return [row["id"] for row in self.rows(**options)]

    def append(self, ids, group, reasons=None, part=0, epoch=1, data=b"", connection=None):
        """The fenced append. Returns whether it has happened."""
        return len(self.ask(APPEND, {"queue": QUEUE, "part": part, "epoch": epoch, "group": group,
                                     "ids": ids, "reasons": reasons, "bytes": data}, connection)) == 1

    def groups(self):
        return self.value("select count(*) from elapse.log")
