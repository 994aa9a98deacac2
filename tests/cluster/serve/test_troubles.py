"""Tests nodes in trouble. They must say what is wrong, and still serve what they can: links are refused, an
inbox is installed later, directories belong to another queue, descriptors run out, and a node ends
without a hand-over.

ELAPSE_HOLDS_JOINS names a library that holds threads until several are held at the same time.
"""

import hashlib
import os
import re
import signal
import socket
import ssl
import subprocess
import time
import unittest
import urllib.request

import nodes_support as support
from nodes_support import Error, NodesTest, cluster, server_process

FILES = 200
HOLDS_JOINS = os.environ.get("ELAPSE_HOLDS_JOINS")


def create_queue(primary, name, lease):
    subprocess.run([server_process.PROGRAM, "cluster", "create", "--lease", lease, "--queue", name, "--cluster",
                    primary.host], check=True, stdout=subprocess.DEVNULL, timeout=cluster.PATIENCE_S)


def of_parts(node, name):
    """Returns a figure of each partition."""
    port = int(re.search(r"listening: http:127\.0\.0\.1:(\d+)", node.process.text())[1])
    with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics", timeout=60) as answer:
        text = answer.read().decode()
    return re.findall(rf"elapse_partition_{name}{{partition=\"\d+\"}} (\d+)", text)


class Start(NodesTest):
    def refused(self, node, words):
        node.begin()
        self.assertEqual(node.process.wait(), 2, node.process.text())
        self.assertIn(words, node.process.log())

    def test_options_of_a_cluster_need_one(self):
        for options in (["--queue", "main"], ["--advertise", "a:1"], ["--node", "n"], ["--single-copy"]):
            process = server_process.ServerProcess(self.folder / "log", options)
            self.addCleanup(process.kill)
            self.assertEqual(process.wait(), 2, process.text())
            self.assertIn(b"need --cluster", process.log())

    def test_a_connection_string_is_never_shown(self):
        for string in ("host=a password=tell nobody", "password='nobody", "postgresql://u:nobody%zz@h"):
            node = self.node("--cluster", string)
            self.refused(node, b"--cluster")
            self.assertNotIn(b"nobody", node.process.log())

    def test_each_server_of_the_database_says_why_it_does_not_help(self):
        node = self.node("--cluster", f"host={self.folder}/none")
        self.primary.sql("alter table elapse.queue rename to away;\n")
        node.begin()
        node.process.wait_for(b"server 4 of 4: the database has no tables of elapse")
        self.assertRegex(node.process.text(), "server 1 of 4: .*none")
        self.primary.sql("alter table elapse.away rename to queue;\n")
        node.port = node.process.wait_for_port()
        self.put(node, "a")

    def test_a_directory_belongs_to_one_queue(self):
        node = self.owner()
        self.put(node, "a")
        node.stop()
        create_queue(self.primary, "other", "1s")
        other = self.node(queue="other")
        node.data.rename(other.data)
        self.refused(other, b"another queue")
        other.data.rename(node.data)
        node.start()
        self.assertEqual(set(self.take(node)), {"a"})


class PasswordsTest(NodesTest):
    def passwords(self, name, *words):
        path = self.folder / name
        path.write_text("\n".join(words) + "\n", encoding="ascii")
        path.chmod(0o600)
        return str(path)

    def ask_as(self, node, password, *words):
        with node.connect() as connection:
            self.assertEqual(connection.ask("AUTH", password), "OK")
            return connection.ask(*words)

    def owned_by(self, node, password):
        lines = self.ask_as(node, password, "INFO").splitlines()
        return "partitions_here:1" in lines


class Waits(PasswordsTest):
    """What takes ten or twenty seconds. Each of these has a queue of its own, begins, and goes on when its
    time is over; so all of them wait at the same time."""

    def test_what_takes_long(self):
        scenarios = [self.an_inbox_may_come_later(), self.a_link_that_is_refused_is_logged_once(),
                     self.no_hand_over_takes_as_long_as_a_long_lease(),
                     self.a_node_that_waits_for_a_locked_table_ends()]
        for scenario in scenarios:
            next(scenario)
        for scenario in reversed(scenarios):
            with self.subTest(scenario.__name__):
                self.assertIsNone(next(scenario, None))

    def an_inbox_may_come_later(self):
        node = self.owner()
        node.process.wait_for(b"the database has no inbox")
        self.primary.sql((support.ROOT / "sql/inbox.sql").read_text(encoding="utf-8"))
        yield
        node.process.wait_for(b"the database has an inbox")
        self.primary.sql("select elapse.put('tube', 'a', key => 'k', queue => 'test');\n")
        self.wait_until(lambda: node.ask("LOOKUP", "tube", "k"), "the row is a job")
        self.assertEqual(set(self.take(node)), {"a"})

    def a_link_that_is_refused_is_logged_once(self):
        create_queue(self.primary, "refused", "30s")  # the second one is not to take over
        first = self.node("--auth", self.passwords("one", "secret"), queue="refused").start()
        self.wait_until(lambda: self.owned_by(first, "secret"), "it owns")
        second = self.node("--auth", self.passwords("other", "barley"), queue="refused").start()
        log = second.process.wait_for(b"no link to its owner")
        self.assertIn(b"WRONGPASS", log)
        # More attempts, with pauses of a second at most, say nothing more.
        with second.connect() as connection:
            self.assertEqual(connection.ask("AUTH", "barley"), "OK")
            connection.send("PUT", "tube", "a")
            yield
            self.assertIsInstance(connection.receive(), Error)
        self.assertEqual(second.process.log().count(b"no link to its owner"), 1)
        for password in (b"secret", b"barley"):
            self.assertNotIn(password, second.process.log() + first.process.log())

    def no_hand_over_takes_as_long_as_a_long_lease(self):
        """The owner's session does not answer."""
        lease_s = 120
        create_queue(self.primary, "long", f"{lease_s}s")
        node = self.node(queue="long").start()
        self.wait_until(lambda: node.owned() == 1, "it owns")
        session = self.wait_until(lambda: self.number(
            "select pid from pg_stat_activity where application_name = 'elapse/long/0' and state = 'idle'"),
                                  "its session rests")
        os.kill(session, signal.SIGSTOP)
        self.addCleanup(os.kill, session, signal.SIGCONT)
        begin = time.monotonic()
        node.process.signal(signal.SIGTERM)
        yield
        self.assertEqual(node.process.wait(), 0)
        self.assertLess(support.seconds_since(begin), lease_s / 3)
        self.assertIn(b"was not handed over", node.process.log())

    def a_node_that_waits_for_a_locked_table_ends(self):
        """It begins last and ends first: no other node can start meanwhile."""
        # A session of its own, because statistics stand still within a transaction.
        lock = self.primary.start_sql(
            "begin;\nlock table elapse.queue in access exclusive mode;\n\\echo done\n")
        self.assertEqual(lock.stdout.readline(), "done\n")
        try:
            # The other nodes wait for the table, too. This one has told its name: by then it is ready for signals.
            node = support.Node(self.folder / "alone", [f"{self.primary.host} application_name=alone"])
            self.nodes.append(node)
            node.begin()
            self.wait_until(lambda: self.number(
                "select count(*) from pg_stat_activity where application_name = 'alone' and wait_event_type = 'Lock'"),
                            "it waits")
            node.process.signal(signal.SIGTERM)
            yield
            self.assertEqual(node.process.wait(), 0, node.process.text())
        finally:
            lock.communicate("rollback;\n")


class Links(PasswordsTest):
    lease_ms = support.CALM_LEASE_MS

    def test_passwords_change_while_nodes_serve(self):
        path = self.passwords("all", "secret")
        nodes = [self.node("--auth", path).start() for _ in range(3)]
        self.wait_until(lambda: any(self.owned_by(node, "secret") for node in nodes), "one owns")
        for words, there, count in ((("secret", "barley"), "barley", 2), (("barley", "secret"), "barley", 2),
                                    (("barley",), "barley", 1)):
            self.passwords("all", *words)
            for node in nodes:
                before = node.process.log().count(b" reloaded: ")
                node.process.signal(signal.SIGHUP)
                self.wait_until(lambda node=node, before=before:
                                node.process.log().count(b" reloaded: ") > before, "it has read the file")
                self.assertIn(f"reloaded: {count} passwords".encode(), node.process.log())
            for node in nodes:
                self.assertIsInstance(self.ask_as(node, there, "PUT", "tube", "a"), list)
        owner = next(node for node in nodes if self.owned_by(node, "barley"))
        owner.kill()
        self.end_lease(owner)
        nodes.remove(owner)
        # New links: one of them to the other one, which is the owner now. A node may not know yet that the old one
        # is dead, and send it the put; with a token it sends the put again.
        for number, node in enumerate(nodes):
            self.assertIsInstance(self.ask_as(node, "barley", "PUT", "tube", "b", "TOKEN", f"b{number}"), list)

    def line_of(self, name, rights, tubes=""):
        return f"{name} #{hashlib.sha256(name.encode()).hexdigest()} {rights} {tubes}"

    def test_users_and_a_password_of_nodes(self):
        """The client's node checks names of tubes, the owner checks ids, by its own file."""
        everything = "put,work,look,admin"
        users = [self.passwords(f"users{i}", self.line_of("all", everything),
                                self.line_of("shop", everything, "mine*")) for i in range(2)]
        words = ["--node-password", self.passwords("node", "# of nodes", "secret"), "--users"]
        nodes = [self.node(*words, path).start() for path in users]

        def ask(node, name, *words):
            with node.connect() as connection:
                self.assertEqual(connection.ask("AUTH", name, name), "OK")
                return connection.ask(*words)

        self.wait_until(lambda: any("partitions_here:1" in ask(node, "all", "INFO").splitlines()
                                    for node in nodes), "one owns")
        owner = next(node for node in nodes
                     if "partitions_here:1" in ask(node, "all", "INFO").splitlines())
        other = next(node for node in nodes if node is not owner)
        for node in nodes:
            hidden = ask(node, "all", "PUT", "theirs", "a")[0]
            mine = ask(node, "shop", "PUT", "mine1", "a")[0]
            self.assertRegex(str(ask(node, "shop", "PUT", "theirs", "a")), "^NOPERM user shop may not put")
            self.assertEqual(ask(node, "shop", "CANCELID", hidden, mine), ["gone", "removed"])
            self.assertIsNone(ask(node, "shop", "LOOKUPID", hidden))
            job = ask(node, "all", "RESERVE", "theirs")[0]
            self.assertEqual(ask(node, "shop", "ACK", *job[:2]), ["gone"])
            self.assertEqual(ask(node, "shop", "NACK", *job[:2]), "gone")
            self.assertEqual(ask(node, "all", "ACK", *job[:2]), ["ok"])
            self.assertRegex(str(ask(node, "all", "NODE", "HELLO", "1", "test", "0")), "^NOPERM ")
            self.assertRegex(str(ask(node, "shop", "AS", "all", "CANCELID", hidden)), "^ERR unknown command")
        # The owner's file changes: it does not know the user any more.
        path = self.passwords(f"users{nodes.index(owner)}", self.line_of("all", everything))
        owner.process.signal(signal.SIGHUP)
        owner.process.wait_for(b"reloaded: 1 users")
        self.assertRegex(str(ask(other, "shop", "CANCELID", "1")), "^NOPERM user that is not in the file")
        # Without a password of their own nodes do not start with users.
        node = support.Node(self.folder / "alone", [self.primary.host], "--users", path)
        node.begin()
        self.addCleanup(node.end)
        self.assertEqual(node.process.wait(), 2)
        self.assertIn(b"--users: a node needs --node-password", node.process.log())

    def test_nodes_get_a_password_of_their_own_one_by_one(self):
        """As docs/guide/users.md has it."""
        auth = self.passwords("auth", "nodes", "clients")
        own = self.passwords("own", "nodes")
        nodes = [self.node("--auth", auth).start() for _ in range(2)]
        self.wait_until(lambda: any(self.owned_by(node, "clients") for node in nodes), "one owns")
        for node in nodes:
            node.stop()
            node.options += ["--node-password", own]
            node.start()
            for one in nodes:
                self.assertIsInstance(self.ask_as(one, "clients", "PUT", "tube", "a"), list)
        self.passwords("auth", "clients")
        for node in nodes:
            node.process.signal(signal.SIGHUP)
            node.process.wait_for(b"reloaded: 1 passwords")
        for node in nodes:
            self.assertIsInstance(self.ask_as(node, "clients", "PUT", "tube", "a"), list)
            self.assertRegex(str(self.ask_as(node, "nodes", "PUT", "tube", "a")), "^NOPERM")
            self.assertRegex(str(self.ask_as(node, "clients", "NODE", "HELLO", "1", "test", "0")), "^NOPERM")

    def test_a_long_password_is_one(self):
        long = "x" * 3000
        path = self.passwords("long", long)
        nodes = [self.node("--auth", path).start() for _ in range(2)]
        for node in nodes:
            self.assertIsInstance(self.ask_as(node, long, "PUT", "tube", "a"), list)

    def test_a_link_with_tls_gets_messages_within_its_session(self):
        """A push message that went past the session would end it."""
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes",
                        "-keyout", "key", "-out", "certificate", "-days", "2", "-subj", "/CN=node"],
                       cwd=self.folder, capture_output=True, check=True)
        node = self.owner("--listen", "tls:127.0.0.1:0", "--tls-certificate", str(self.folder / "certificate"),
                          "--tls-key", str(self.folder / "key"))
        context = ssl.create_default_context(cafile=str(self.folder / "certificate"))
        context.check_hostname = False
        port = int(re.search("listening: tls:127.0.0.1:([0-9]+)", node.process.text()).group(1))
        with support.serving.Connection(port) as link:
            link.socket = context.wrap_socket(link.socket)
            link.file = link.socket.makefile("rb")
            link.ask("HELLO", "3")
            self.assertEqual(link.ask("NODE", "HELLO", "1", "test", "0"), "OK")
            messages = []

            def reply_to(*words):
                link.send(*words)
                while link.file.peek(1)[:1] == b">":
                    self.assertEqual(link.line(), (b">", "1"))
                    messages.append(link.receive())
                return link.receive()

            for body in ("a", "b", "c"):
                self.put(node, body)
                self.assertEqual(reply_to("RESERVE", "tube")[0][4], body)
            self.assertEqual(set(messages), {"ready"})

    def test_owners_may_have_names(self):
        """The name has two addresses on many machines; nobody listens at one of them."""
        first, port = self.node(), self.hold_port()
        first.options[first.options.index("127.0.0.1:0")] = f"127.0.0.1:{port}"
        first.options += ["--advertise", f"localhost:{port}"]
        first.start()
        self.wait_until(lambda: first.owned() == 1, "it owns")
        second = self.follower()
        self.put(second, "a")


class Descriptors(NodesTest):
    def test_a_crowd_leaves_room_for_files(self):
        node = self.node()
        node.before = ("prlimit", f"--nofile={FILES}:{FILES}")
        node.start()
        self.wait_until(lambda: node.owned() == 1, "it owns")
        with node.connect() as connection:
            for _ in range(FILES):
                one = socket.create_connection(("127.0.0.1", node.port), timeout=60)
                self.addCleanup(one.close)
            body = "x" * 60000
            for number in range(100):
                self.assertIsInstance(connection.ask("PUT", "tube", f"{number}{body}"), list)
        node.process.wait_for(b"no connection can be taken now")


class SideBySide(NodesTest):
    partitions = 16

    def test_no_partition_waits_for_the_files_of_another(self):
        """The file `cluster` of the first one is a pipe, so it cannot be read before somebody writes."""
        node = self.node("--http", "127.0.0.1:0")
        (node.data / "part-0").mkdir(parents=True)
        pipe = node.data / "part-0/cluster"
        os.mkfifo(pipe)
        node.begin()
        self.wait_until(lambda: all((node.data / f"part-{part}/journal").exists() for part in range(1, 16)),
                        "the others are open")
        self.assertFalse((node.data / "part-0/journal").exists())
        with open(pipe, "wb"):
            pipe.unlink()
        node.port = node.process.wait_for_port()
        node.process.wait_for(b"partition 0 cannot go on: its directory does not fit the log, or is damaged: ")
        self.assertIn("part-0/cluster: it is no plain file. This node goes on without it", node.process.text())
        self.wait_until(lambda: node.owned() == 15, "it owns the others")
        self.wait_until(lambda: of_parts(node, "stopped") == ["1"] + 15 * ["0"], "one has stopped")
        node.stop()
        node.start()
        self.wait_until(lambda: node.owned() == 16, "it owns all")

    @unittest.skipUnless(HOLDS_JOINS, "not beside a sanitizer")
    def test_no_partition_waits_until_another_is_closed(self):
        """Threads that close partitions are held until four of them do so at the same time."""
        node = self.node()
        held = self.folder / "held"
        node.before = ("env", f"LD_PRELOAD={HOLDS_JOINS}", f"ELAPSE_HELD_JOINS={held}")
        node.start()
        self.wait_until(lambda: node.owned() == 16, "it owns all")
        held.touch()
        node.stop()
        self.assertEqual(held.read_text(), "together\n")


class BrokenTest(NodesTest):
    """One partition cannot go on; the node goes on with the other one."""

    partitions = 2

    def setUp(self):
        super().setUp()
        self.primary.sql("drop role if exists plain; create role plain login;"
                         " grant usage, create on schema elapse to plain;"
                         " grant all on all tables in schema elapse to plain;\n")
        self.tables = ["elapse.log_test_0_0", "elapse.log_test_1_0"]

    def plain_node(self):
        """A node with a role that has no rights but those that it was given. It owns all, and has a
        table for each log."""
        node = self.node("--http", "127.0.0.1:0")
        node.options = [word + " user=plain" if word.startswith("host=") else word for word in node.options]
        node.start()
        self.wait_until(lambda: node.owned() == 2, "it owns")
        self.assertEqual({self.put_key(node, number) for number in range(8)}, {0, 1})
        return node

    def put_key(self, node, number):
        """Returns the partition."""
        return self.put(node, f"body{number}", "KEY", f"key{number}") % 2

    def goes_on_without_the_second(self, node, *words):
        node.process.wait_for(b"partition 1 cannot go on: ")
        for word in (*words, "This node goes on without it"):
            self.assertIn(word, node.process.text())
        self.wait_until(lambda: (node.owned(), int(node.info()["partitions_without_owner"])) == (1, 1), "it has one")
        for state in ("stopped", "without_owner", "complaint"):
            self.wait_until(lambda name=state: of_parts(node, name) == ["0", "1"], state)
        self.put(node, "x", "KEY", self.key_of(0))

    def key_of(self, partition):
        def is_there(key):
            hashed = 14695981039346656037
            for byte in b"\x04tube" + key.encode():
                hashed = (hashed ^ byte) * 1099511628211 % 2**64
            return (hashed ^ hashed >> 32) % 2 == partition
        return next(filter(is_there, map(str, range(99))))

    def damage(self, node, partition):
        """Flips a byte of the header of the partition's first file, or flips it back."""
        files = (node.data / f"part-{partition}/journal").glob("*.log")
        with open(min(files, key=lambda path: int(path.stem)), "r+b") as file:
            file.seek(16)
            byte = file.read(1)[0]
            file.seek(16)
            file.write(bytes([byte ^ 1]))


class BrokenPartitions(BrokenTest):
    def test_a_directory_that_is_damaged_before_the_start(self):
        """Where no partition is left, the node ends."""
        node = self.owner("--http", "127.0.0.1:0")
        self.put(node, "kept", "KEY", self.key_of(1))
        node.stop()
        self.damage(node, 1)
        node.start()
        self.goes_on_without_the_second(node, "its directory does not fit the log, or is damaged: ",
                                        "part-1/journal/1.log: the header of the file is damaged")
        node.stop()
        self.damage(node, 0)
        node.begin()
        self.assertEqual(node.process.wait(), 1, node.process.text())
        for partition in (0, 1):
            self.assertIn(f"partition {partition} cannot go on: its directory", node.process.text())
            self.damage(node, partition)
        node.start()
        self.wait_until(lambda: node.owned() == 2, "it owns both again")
        self.assertEqual(set(self.take(node)), {"kept", "x"})

    def test_a_right_that_is_lost(self):
        node = self.plain_node()
        self.primary.sql(f"revoke insert on {self.tables[1]} from plain;\n")
        key = self.key_of(1)
        self.assertRegex(str(node.ask("PUT", "tube", "x", "KEY", key)), "^UNKNOWN ")
        self.goes_on_without_the_second(node, "a right is missing in the database", "permission denied")
        self.primary.sql(f"grant insert on {self.tables[1]} to plain;\n")
        node.stop()
        node.start()
        self.wait_until(lambda: node.owned() == 2, "it owns both again")
        self.put(node, "x", "KEY", key)

    def test_tables_that_are_gone(self):
        """A follower that needs the table stops, too. Where no partition is left, the node ends."""
        node = self.plain_node()
        self.primary.sql(f"drop table {self.tables[1]};\n")
        other = self.node("--http", "127.0.0.1:0").start()
        other.process.wait_for(b"partition 1 cannot go on: the log in the database contradicts itself, or lacks")
        node.process.signal(signal.SIGTERM)
        self.assertEqual(node.process.wait(), 0)
        self.wait_until(lambda: other.owned() == 1, "the other one has what can go on")
        self.goes_on_without_the_second(other)
        self.primary.sql(f"drop table {self.tables[0]};\n")
        with other.connect() as connection:
            connection.send("PUT", "tube", "x", "KEY", self.key_of(0))
            self.assertEqual(other.process.wait(), 1)
        other.fails = True
        self.assertIn("partition 0 cannot go on: a table", other.process.text())


class BrokenWhileItRuns(BrokenTest):
    lease_ms = 3000  # of the other node, which has to keep what it took over

    def test_a_directory_that_is_damaged_while_the_node_runs(self):
        """A node that loses its partitions opens their files again, and finds the damage."""
        node = self.owner("--http", "127.0.0.1:0")
        node.freeze()
        other = self.owner()
        self.damage(node, 1)
        node.thaw()
        node.process.wait_for(b"partition 1 cannot go on: its directory does not fit the log, or is damaged: ")
        self.assertIn("part-1/journal/1.log: the header of the file is damaged", node.process.text())
        self.wait_until(lambda: node.owned() == 0, "it follows the other partition")
        other.stop()
        self.goes_on_without_the_second(node)


class Twins(NodesTest):
    """Where the owner gets no processor for a lease, the second one owns, and the first one notices it."""

    lease_ms = 500  # they are noticed after three

    def test_two_nodes_with_one_address(self):
        first = self.owner()
        self.assertIn(b"no other machine can reach this node", first.process.log())
        second = self.node("--advertise", f"127.0.0.1:{first.port}").start()
        self.wait_until(lambda: any(b"has the address of this node" in node.process.log() for node in (first, second)),
                        "the one that follows says so")


class Ends(NodesTest):
    lease_ms = 30000

    def test_what_other_nodes_were_sent_is_answered_when_a_node_ends(self):
        first = self.owner()
        second = self.follower()
        self.put(second, "a")
        with second.connect() as connection:
            first.freeze()
            connection.send("PUT", "tube", "b")
            self.wait_until(first.has_unread, "it is sent to the owner")
            second.process.signal(signal.SIGTERM)
            second.process.wait_for(b"stopping")
            first.thaw()
            self.assertIsInstance(connection.receive(), list)
        self.assertEqual(second.process.wait(), 0)
        self.assertEqual(set(self.take(first)), {"a", "b"})


class NoHandOver(NodesTest):
    def test_what_nobody_confirms_is_no_hand_over(self):
        node = self.owner()
        self.freeze_standbys()
        node.process.signal(signal.SIGTERM)
        self.assertEqual(node.process.wait(), 0)
        self.thaw_standbys()
        self.assertIn(b"was not handed over", node.process.log())
        self.assertNotIn(b"has handed over", node.process.log())


if __name__ == "__main__":
    support.run_tests()
