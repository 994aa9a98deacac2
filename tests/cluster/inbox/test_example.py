#!/usr/bin/env python3
"""Runs the examples of examples/inbox, and the blocks of docs/guide/inbox.md, on a server."""

import pathlib
import re
import subprocess
import sys
import unittest

from inbox_case import DATABASE, InboxCase
from postgres_server import SCRIPT, SOURCE

EXAMPLES = SOURCE / "examples" / "inbox"
PAGE = SOURCE / "docs" / "guide" / "inbox.md"
BLOCK = re.compile(r"^<!-- test: by tests/cluster/inbox/test_example.py -->\n```(\w+)\n(.*?)^```$",
                   re.MULTILINE | re.DOTALL)


class Examples(InboxCase):

    def setUp(self):
        super().setUp()
        self.ask("drop table if exists orders;"
                 "create table orders (number bigint primary key, state text not null)")

    def orders(self):
        return self.ask("select number, state from orders order by 1")

    def calls(self):
        return [(row["what"], row["tube"], row["key"], row["body"]) for row in self.rows()]

    def run_psql(self, script, order, **options):
        return self.server.psql(DATABASE, "-v", f"order={order}", "-f", str(EXAMPLES / script), **options)

    def test_an_order_and_its_time_out_by_psql(self):
        done = self.run_psql("place_order.sql", 4711)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(self.orders(), [(4711, "open")])
        self.assertEqual(self.calls(), [("put", b"unpaid", b"4711", b"4711")])
        [row] = self.rows()
        self.assertEqual((row["due"], row["due_ms"], row["retry"]), ("in", 1800000, 5))

        done = self.run_psql("place_order.sql", 4711)
        self.assertIn("duplicate key", done.stderr)
        self.assertEqual(len(self.calls()), 1)

        done = self.run_psql("pay_order.sql", 4711)
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(self.orders(), [(4711, "paid")])
        self.assertEqual(self.calls()[1:], [("cancel", b"unpaid", b"4711", None)])

    def test_neither_if_the_time_out_is_refused(self):
        self.ask("delete from elapse.inbox_queue")
        done = self.run_psql("place_order.sql", 4711)
        self.assertIn("there is no queue 'main'", done.stderr)
        self.assertEqual((self.orders(), self.calls()), ([], []))

    def test_an_order_and_its_time_out_by_python(self):
        done = subprocess.run([sys.executable, "-B", str(EXAMPLES / "orders.py"),
                               f"host={self.server.directory} dbname={DATABASE} user=admin", "12"],
                              capture_output=True, text=True, check=False)
        self.assertEqual((done.stdout, done.stderr),
                         ("placed 12\nnot placed twice, and no second time-out\npaid\n"
                          "not open any more\n", ""))
        self.assertEqual(self.orders(), [(12, "paid")])
        self.assertEqual(self.calls(), [("put", b"unpaid", b"12", b"12"),
                                        ("cancel", b"unpaid", b"12", None)])

    def test_a_user_with_the_role_alone(self):
        self.ask("create role shop; alter role shop login; grant elapse_caller to shop;"
                 "grant select, insert, update on orders to shop")
        done = self.run_psql("place_order.sql", 1, user="shop")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual((self.orders(), len(self.calls())), ([(1, "open")], 1))
        self.ask("revoke all on orders from shop")

    def test_the_blocks_of_the_guide(self):
        """docs/guide/inbox.md"""
        blocks = BLOCK.findall(PAGE.read_text(encoding="utf-8"))
        self.assertEqual(blocks[0], ("sh", "psql -v ON_ERROR_STOP=1 -f sql/inbox.sql shop\n"))
        self.assertEqual(pathlib.Path("sql/inbox.sql"), SCRIPT.relative_to(SOURCE))
        for language, text in blocks[1:]:
            self.assertEqual(language, "sql")
            self.ask(text)
        self.assertGreater(len(blocks), 6)
        self.assertEqual(self.orders(), [(4711, "paid")])
        self.assertEqual([(call[0], call[2]) for call in self.calls()],
                         [("put", b"4711"), ("cancel", b"4711"), ("put", b"a@b.c"),
                          ("reschedule", b"a@b.c"), ("put", b"weekly"), ("cancel", b"4711"),
                          ("put+await", b"4711"), ("arrive", b"4711"), ("arrive", b"4711")])


if __name__ == "__main__":
    unittest.main()
