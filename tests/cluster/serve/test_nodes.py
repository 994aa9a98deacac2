"""Tests nodes of a cluster as programs see them: an acknowledged job stays, whichever node dies."""

import shutil
import signal
import socket
import threading
import time
import unittest
import unittest.mock

import nodes_support as support
from nodes_support import Error, NodesTest
from stalls import Stalls


class OneNode(NodesTest):
    def test_a_job_is_put_reserved_and_acknowledged(self):
        node = self.owner()
        number = self.put(node, "tea", "KEY", "k")
        with node.connect() as connection:
            jobs = connection.ask("RESERVE", "tube")
            self.assertEqual([(job[0], job[3], job[4]) for job in jobs], [(number, "k", "tea")])
            self.assertEqual(connection.ask("ACK", number, jobs[0][1]), ["ok"])
        self.assertEqual(node.ask("LOOKUPID", number), None)
        self.assertGreater(self.number("select last_group from elapse.partition"), 1)

    def test_headers_need_the_level_of_the_queue(self):
        self.primary.sql("update elapse.queue set level = 0, hash_tags = false;\n")
        node = self.owner()
        refused = node.ask("PUT", "tube", "body", "HEADERS", "h")
        self.assertIsInstance(refused, Error)
        self.assertIn("ERR upgrade all nodes first", str(refused))
        node.stop()
        self.primary.sql("update elapse.queue set level = 1;\n")
        node.start()
        self.assertEqual(node.ask("PUT", "tube", "body", "HEADERS", "h")[1], "scheduled")
        node.kill()
        node.start()
        self.wait_until(lambda: node.owned() == 1, "the node owns its partition again")
        with node.connect() as connection:
            [job] = connection.ask("RESERVE", "tube", "WAIT", "20s", "DETAILS")
            details = dict(zip(job[8][::2], job[8][1::2]))
            self.assertEqual((job[4], details["headers"]), ("body", "h"))

    def test_what_was_acknowledged_is_there_after_a_stop_and_after_a_kill(self):
        node = self.owner()
        self.put_many(node, [f"a{i}" for i in range(100)])
        node.stop()
        self.assertEqual(self.primary.sql("select owner from elapse.partition;\n"), "")
        node.start()
        self.put_many(node, [f"b{i}" for i in range(100)])
        node.kill()
        node.start()
        self.assertEqual(set(self.take(node)), {f"{x}{i}" for x in "ab" for i in range(100)})

    def test_a_lost_directory_is_read_again(self):
        node = self.owner()
        self.put_many(node, [str(i) for i in range(50)])
        node.kill()
        self.assertTrue((node.directory / "data/part-0/cluster").exists())
        shutil.rmtree(node.directory / "data")
        node.start()
        self.assertEqual(len(self.take(node)), 50)

    def says_nothing(self, connection):
        connection.socket.settimeout(self.lease_ms / 1000)
        with self.assertRaises(TimeoutError):
            connection.socket.recv(1)
        connection.socket.settimeout(support.server_process.PATIENCE_S)

    def test_nothing_is_acknowledged_while_no_standby_has_it(self):
        node = self.owner()
        self.put(node, "first")
        self.freeze_standbys()
        with node.connect() as connection:
            connection.send("PUT", "tube", "second", "TOKEN", "t")
            self.says_nothing(connection)
            self.thaw_standbys()
            self.assertIsInstance(connection.receive(), list)
        self.assertEqual(set(self.take(node)), {"first", "second"})

    def test_reads_are_not_answered_when_the_lease_is_over(self):
        node = self.owner()
        number = self.put(node, "first")
        self.assertEqual(node.ask("LOOKUPID", number)[:4], ["id", number, "tube", "tube"])
        self.freeze_standbys()
        time.sleep(self.lease_ms / 1000)
        with node.connect() as connection:
            connection.send("LOOKUPID", number)
            self.says_nothing(connection)
            self.thaw_standbys()
            self.assertIsInstance(connection.receive(), list)

    def test_a_due_job_wakes_a_worker(self):
        node = self.owner()
        with node.connect() as connection:
            with Stalls() as stalls:
                start = time.monotonic()
                connection.send("RESERVE", "tube", "WAIT", "55s")
                self.put(node, "later", "IN", "300ms")
                jobs = connection.receive()
                # The router's own times, of 10 s and more, would hide that a wake-up is lost.
                self.assertLess(support.seconds_since(start) - stalls.seconds, 10)
            self.assertEqual([job[4] for job in jobs], ["later"])

    def test_it_waits_for_a_database_that_has_the_queue(self):
        node = self.node()
        self.primary.sql("alter table elapse.queue rename to away;\n")
        node.begin()
        node.process.wait_for(b"waiting for the database")
        self.primary.sql("alter table elapse.away rename to queue;\n")
        node.port = node.process.wait_for_port()
        self.put(node, "a")

    def node_at(self, *hosts):
        with unittest.mock.patch.object(self.servers, "hosts", lambda: list(hosts)):
            return self.node()

    def test_it_waits_for_a_server_that_takes_writes(self):
        """Only such a server tells which copies the node is to have. A standby, and a server that is not there, do not."""
        node = self.node_at(self.servers.list[1].host, "host=127.0.0.1 port=1")
        node.begin()
        node.process.wait_for(b"waiting for the database: server 1 of 2: ")
        log = node.process.wait_for(b"waiting for the database: server 2 of 2: ").decode()
        self.assertIn("session is read-only", log)
        self.assertIn("refused", log)
        self.assertNotIn(" ready: ", log)

    def test_each_server_has_its_own_complaint(self):
        """A standby, and a server that is not there, when the primary has ended."""
        standby = self.servers.list[1]
        node = self.node_at(standby.host, "host=127.0.0.1 port=1", self.primary.host).start()
        self.primary.stop()
        self.addCleanup(self.servers.wait_for_standbys, self.primary, 2)
        self.addCleanup(self.primary.start)
        node.process.wait_for(f"; the database at {standby.directory}, port 5432: it is a standby".encode())
        log = node.process.wait_for(b"; the database at 127.0.0.1, port 1: the connection is lost, or cannot be made: ")
        for line in log.decode().splitlines():
            if "; the database at " in line and f"{self.primary.directory}," not in line:
                self.assertEqual("refused" in line, "port 1: the connection is lost" in line, line)
                self.assertEqual("it is a standby" in line, str(standby.directory) in line, line)

    def test_one_copy_is_enough_only_if_the_operator_says_so(self):
        names = self.primary.sql("show synchronous_standby_names;\n")
        self.primary.set_names("")
        self.addCleanup(self.primary.set_names, names)
        node = self.node().start()
        node.process.wait_for(b"synchronous_standby_names is empty")
        self.assertEqual(node.owned(), 0)
        node.kill()
        node.options.append("--single-copy")
        node.start()
        self.put(node, "a")

    def test_options_that_do_not_fit_are_refused(self):
        for options, words in ((["--queue", "No"], b"--queue"),
                               (["--durability", "memory"], b"--durability"),
                               (["--cluster", "host=a,b,c port=1,2"], b"--cluster"),
                               (["--listen", "unix:" + str(self.folder / "s"), "--advertise", "x"],
                                b"--advertise")):
            node = self.node(*options)
            node.begin()
            self.assertEqual(node.process.wait(), 2, node.process.text())
            self.assertIn(words, node.process.log())


class TwoNodes(NodesTest):
    lease_ms = support.CALM_LEASE_MS

    def test_either_node_takes_all_commands(self):
        first = self.owner()
        second = self.follower()
        number = self.put(second, "tea", "KEY", "k")
        self.assertEqual(first.ask("LOOKUP", "tube", "k"), second.ask("LOOKUP", "tube", "k"))
        with second.connect() as connection:
            jobs = connection.ask("RESERVE", "tube")
            self.assertEqual([job[0] for job in jobs], [number])
            self.assertEqual(connection.ask("ACK", number, jobs[0][1]), ["ok"])
        self.assertEqual(first.ask("LOOKUPID", number), None)

    def holder(self, node, number):
        looked = node.ask("LOOKUPID", number)
        return looked[looked.index("holder") + 1]

    def test_who_holds_a_job_is_seen_through_any_node(self):
        nodes = [self.owner(), self.follower()]
        for reserving in nodes:
            number = self.put(reserving, "tea")
            with reserving.connect() as connection:
                self.assertEqual(connection.ask("RESERVE", "tube")[0][0], number)
                for node in nodes:
                    self.assertRegex(self.holder(node, number), r"\A127\.0\.0\.1:\d+\Z")
            number = self.put(reserving, "tea")
            with reserving.connect() as connection:
                connection.ask("CLIENT", "SETNAME", "mailer")
                connection.ask("RESERVE", "tube")
                for node in nodes:
                    self.assertEqual(self.holder(node, number), "mailer")

    def test_jobs_that_ended_are_in_the_file_of_the_owner(self):
        files = [self.folder / "ended0", self.folder / "ended1"]
        first = self.owner("--ended", files[0])
        second = self.follower("--ended", files[1])
        self.put(second, "tea", "KEY", "k1", "IN", "1h")
        self.assertEqual(second.ask("CANCEL", "tube", "k1"), ["removed"])
        self.wait_until(lambda: b"k1" in files[0].read_bytes(), "the line")
        first.stop()
        self.wait_until(lambda: second.owned() == 1, "the other node takes over")
        self.put(second, "tea", "KEY", "k2", "IN", "1h")
        self.assertEqual(second.ask("CANCEL", "tube", "k2"), ["removed"])
        self.wait_until(lambda: b"k2" in files[1].read_bytes(), "the line")
        self.assertIn(b'"key":"k1","outcome":"cancelled"', files[0].read_bytes())
        self.assertNotIn(b"k1", files[1].read_bytes())

    def test_a_command_that_an_owner_had_when_it_died_is_unknown(self):
        first = self.owner()
        second = self.follower()
        self.put(second, "a")
        first.freeze()
        with second.connect() as connection:
            connection.send("PUT", "tube", "b")
            connection.send("PUT", "tube", "c", "TOKEN", "t")
            self.wait_until(first.has_unread, "they are sent to the owner")
            first.kill()
            self.end_lease(first)
            answer = connection.receive()
            self.assertIsInstance(answer, Error)
            self.assertTrue(str(answer).startswith("UNKNOWN "), answer)
            self.assertIsInstance(connection.receive(), list)
        self.assertIn("c", self.take(second))

    def test_nodes_greet_each_other_with_the_first_password(self):
        passwords = self.folder / "passwords"
        passwords.write_text("# of nodes\nsecret\nother\n", encoding="ascii")
        passwords.chmod(0o600)
        nodes = [self.node("--auth", str(passwords)).start() for _ in range(2)]
        for node in nodes:
            with node.connect() as connection:
                self.assertIsInstance(connection.ask("PUT", "tube", "no"), Error)
                self.assertIsInstance(connection.ask("NODE", "HELLO", "1", "test", "0"), Error)
                self.assertEqual(connection.ask("AUTH", "other"), "OK")
                self.assertIsInstance(connection.ask("PUT", "tube", "yes"), list)

    def test_leases_outlive_their_owner(self):
        first = self.owner()
        second = self.follower()
        number = self.put(first, "a", "TTR", "60s")
        jobs = second.ask("RESERVE", "tube")
        # The reply of a hand-out does not wait for the record of its lease; this one is behind it.
        self.put(first, "b", "IN", "1h")
        first.kill()
        self.end_lease(first)
        self.wait_until(lambda: second.owned() == 1, "the other node takes over")
        with second.connect() as connection:
            self.assertEqual(self.reserve(connection), [])
        self.assertEqual(second.ask("ACK", number, jobs[0][1]), ["ok"])


class TakeOver(NodesTest):
    """The lease has to end. It is longer than a busy machine takes the processor from a node, so that nobody takes
    over before or afterwards."""

    lease_ms = 3000

    def test_the_other_node_takes_over_from_one_that_is_killed(self):
        first = self.owner()
        second = self.follower()
        self.put_many(first, [f"a{i}" for i in range(200)])
        with second.connect() as connection:
            done = connection.ask("RESERVE", "tube", "COUNT", 50)
            for job in done:
                self.assertEqual(connection.ask("ACK", job[0], job[1]), ["ok"])
        with Stalls() as stalls:
            start = time.monotonic()
            first.kill()
            # The put waits for the next owner. If the second node does not know yet that the first one
            # died, it sends the put to the first one, and says that nobody knows whether it was done.
            answer = second.ask("PUT", "tube", "b", "TOKEN", "b")
            if str(answer).startswith("UNKNOWN "):
                answer = second.ask("PUT", "tube", "b", "TOKEN", "b")
            self.assertIsInstance(answer, list, answer)
            self.assertLess(support.seconds_since(start) - stalls.seconds, self.lease_ms / 1000 * 4)
        self.assertEqual(second.owned(), 1)
        left = {f"a{i}" for i in range(200)} - {job[4] for job in done} | {"b"}
        self.assertEqual(set(self.take(second)), left)
        first.start()
        self.wait_until(lambda: first.info()["partitions_without_owner"] == "0", "it follows")
        self.assertEqual(first.owned(), 0)
        self.put(first, "c")
        self.assertEqual(set(self.take(second)), {"c"})

    def test_an_owner_that_was_frozen_follows_the_next_one(self):
        first = self.owner()
        second = self.follower()
        self.put(first, "a")
        with first.connect() as connection:
            first.freeze()
            self.wait_until(lambda: second.owned() == 1, "the other node takes over")
            self.put(second, "b")
            connection.send("PUT", "tube", "c")
            first.thaw()
            answer = connection.receive()
        self.put(first, "d")
        self.assertEqual((first.owned(), second.owned()), (0, 1))
        jobs = set(self.take(first))
        self.assertEqual(jobs - {"c"}, {"a", "b", "d"})
        if not isinstance(answer, Error):
            self.assertIn("c", jobs)


class Ends(NodesTest):
    """The lease is so long that nobody takes over for want of beats."""

    lease_ms = 30000

    def test_an_owner_that_is_stopped_hands_over_at_once(self):
        first = self.owner()
        second = self.follower()
        self.put_many(first, [f"a{i}" for i in range(100)])
        with Stalls() as stalls:
            start = time.monotonic()
            first.stop()
            self.put(second, "b")
            self.assertLess(support.seconds_since(start) - stalls.seconds, self.lease_ms / 1000 / 3)
        self.assertEqual(set(self.take(second)), {f"a{i}" for i in range(100)} | {"b"})
        self.assertIn(b"handed over", first.process.log())

    def test_clients_of_other_nodes_see_no_error_when_an_owner_is_stopped(self):
        first = self.owner()
        second = self.follower()
        stopper = threading.Timer(0.3, first.process.signal, [signal.SIGTERM])
        stopper.start()
        bodies = []
        end = time.monotonic() + 2
        with second.connect() as connection:
            # Until the first one has ended, however late.
            while time.monotonic() < end or first.process.process.poll() is None:
                self.assertLess(time.monotonic(), end + support.cluster.PATIENCE_S)
                some = [f"b{len(bodies) + i}" for i in range(50)]
                for body in some:
                    connection.send("PUT", "tube", body)
                for body in some:
                    self.assertIsInstance(connection.receive(), list)
                bodies += some
        stopper.join()
        self.assertEqual(first.process.wait(), 0)
        self.wait_until(lambda: second.owned() == 1, "it has the partition that was handed over")
        self.assertEqual(set(self.take(second)), set(bodies))

    def test_workers_of_another_node_are_woken(self):
        first = self.owner()
        second = self.follower()
        with second.connect() as connection:
            connection.send("RESERVE", "tube", "WAIT", "60s")
            self.put(first, "a")
            self.assertEqual([job[4] for job in connection.receive()], ["a"])


class Beanstalkd(NodesTest):
    lease_ms = support.CALM_LEASE_MS

    def talk(self, node, request, replies):
        with socket.create_connection(("127.0.0.1", node.port), timeout=60) as client:
            client.sendall(request)
            with client.makefile("rb") as answers:
                return [answers.readline() for _ in range(replies)]

    def test_either_node_speaks_it(self):
        first = self.owner()
        second = self.follower()
        for node, body in ((first, b"one"), (second, b"two")):
            answers = self.talk(node, b"use t\r\nput 0 0 60 3\r\n" + body + b"\r\n", 2)
            self.assertEqual(answers[0], b"USING t\r\n")
            self.assertRegex(answers[1], rb"^INSERTED \d+\r\n$")
        for node, body in ((second, b"one"), (first, b"two")):
            answers = self.talk(node, b"watch t\r\nreserve-with-timeout 10\r\n", 3)
            self.assertEqual(answers[0], b"WATCHING 2\r\n")
            self.assertEqual(answers[2], body + b"\r\n")


class Inbox(NodesTest):
    def setUp(self):
        super().setUp()
        self.primary.sql((support.ROOT / "sql/inbox.sql").read_text(encoding="utf-8"))

    def owner(self, *options):
        """A node that has entered the queue into the inbox, too: until then calls are refused."""
        node = super().owner(*options)
        self.wait_until(lambda: self.number("select count(*) from elapse.inbox_queue where queue = 'test'"),
                        "the queue is in the inbox")
        return node

    def test_an_order_and_its_job_commit_together(self):
        node = self.owner()
        self.primary.sql("create table if not exists public.orders (id int);\n")
        call = "select elapse.put('tube', '{}', key => '{}', queue => 'test');\n"
        self.primary.sql("begin;\ninsert into public.orders values (1);\n" +
                         call.format("kept", "k") + "commit;\n")
        self.primary.sql("begin;\n" + call.format("undone", "u") + "rollback;\n")
        self.wait_until(lambda: node.ask("LOOKUP", "tube", "k"), "the row is a job")
        self.assertEqual(set(self.take(node)), {"kept"})
        self.primary.sql("select elapse.put('tube', 'more', headers => 'h=1', queue => 'test');\n")
        [[*_, details]] = self.wait_until(lambda: node.ask("RESERVE", "tube", "DETAILS"), "the job with headers")
        self.assertEqual(details[details.index("headers") + 1], "h=1")
        self.primary.sql("select elapse.cancel('tube', 'none', queue => 'test');\n")
        self.wait_until(lambda: self.number("select count(*) from elapse.inbox") == 0,
                        "a row without effect leaves, too")

    def test_rows_outlive_nodes(self):
        first = self.owner()
        second = self.follower()
        first.kill()
        for number in range(20):
            self.primary.sql(f"select elapse.put('tube', 'b{number}', queue => 'test');\n")
        self.wait_until(lambda: self.number("select count(*) from elapse.inbox") == 0,
                        "the next owner moves them")
        self.assertEqual(set(self.take(second)), {f"b{number}" for number in range(20)})


class ManyPartitions(NodesTest):
    partitions = 3
    lease_ms = support.CALM_LEASE_MS

    def test_any_node_takes_any_command(self):
        first = self.owner()
        second = self.follower()
        keys = [f"key{i}" for i in range(60)]
        for node, some in ((first, keys[::2]), (second, keys[1::2])):
            for key in some:
                self.put(node, key, "KEY", key)
        self.assertEqual(set(self.take(second)), set(keys))
        first.kill()
        self.end_lease(first)
        self.wait_until(lambda: second.owned() == 3, "it owns all")
        self.put(second, "after")
        self.assertEqual(set(self.take(second)), {"after"})

    def test_jobs_are_in_all_partitions(self):
        first = self.owner()
        numbers = {self.put(first, key, "KEY", key) % 3 for key in map(str, range(60))}
        self.assertEqual(numbers, {0, 1, 2})

    def test_beanstalkds_protocol_is_refused(self):
        first = self.owner()
        with socket.create_connection(("127.0.0.1", first.port), timeout=60) as client:
            client.sendall(b"stats\r\n")
            with client.makefile("rb") as answers:
                self.assertIn(b"more than one partition", answers.readline())
                self.assertEqual(answers.read(), b"")


class Braces(NodesTest):
    partitions = 4  # mails{eu} lies in 3, mails{us} in 1, mails{asia} in 2
    lease_ms = support.CALM_LEASE_MS

    def put_grouped(self, node, tube):
        for group in "ab":
            for number in range(3):
                answer = node.ask("PUT", tube, f"{group}{number}", "GROUP", group)
                self.assertNotIsInstance(answer, Error, answer)
                self.assertEqual(answer[0] % 4, {"mails{eu}": 3, "more{eu}": 3, "mails{us}": 1}[tube])

    def bodies(self, node, *words):
        with node.connect() as connection:
            return [job[4] for job in self.ask_owners(connection, "RESERVE", *words)]

    def test_groups_and_limits_work_and_hold_over_a_fail_over(self):
        first = self.owner()
        second = self.follower()
        self.assertEqual(second.ask("LIMIT", "mails{eu}", "CONCURRENCY", "3"), "ok")
        for tube in ("mails{eu}", "more{eu}", "mails{us}"):
            self.put_grouped(second, tube)
        refused = "with several partitions, groups and limits need a tube with braces in its name, such as mails{eu}"
        for words in (("PUT", "mails", "x", "GROUP", "a"), ("LIMIT", "mails{}", "CONCURRENCY", "3")):
            self.assertEqual(str(second.ask(*words)), "ERR " + refused)
        self.assertEqual(self.bodies(second, "mails{eu}", "COUNT", "10"), ["a0", "b0", "a1"])
        self.assertEqual(self.bodies(first, "mails{eu}", "COUNT", "10"), [])
        self.assertEqual(self.bodies(first, "mails{us}", "COUNT", "10"), ["a0", "b0", "a1", "b1", "a2", "b2"])
        self.assertEqual(len(second.ask("GROUPS", "mails{eu}")[1]), 2)
        first.kill()
        self.end_lease(first)
        self.wait_until(lambda: second.owned() == 4, "it owns all")
        self.assertEqual(self.bodies(second, "mails{eu}", "COUNT", "10"), [])
        limits = second.ask("LIMIT", "mails{eu}")
        self.assertEqual(limits[limits.index("concurrency") + 1], 3)
        self.assertEqual(self.bodies(second, "more{eu}", "COUNT", "10"), ["a0", "b0", "a1", "b1", "a2", "b2"])

    def execute(self, connection, *commands):
        """Says a transaction as one pipeline, as clients do. Returns the answer to EXEC."""
        for command in (("MULTI",), *commands, ("EXEC",)):
            connection.send(*command)
        self.assertEqual(connection.receive(), "OK")
        self.assertEqual([connection.receive() for _ in commands], ["QUEUED"] * len(commands))
        return connection.receive()

    def test_transactions_go_to_one_partition_from_any_node(self):
        first = self.owner()
        second = self.follower()
        for node in (first, second):
            with node.connect() as connection:
                answers = self.execute(connection, ("PUT", "mails{eu}", "m", "KEY", "k"), ("PING",), ("PUT", "more{eu}", "o"),
                                       ("CANCEL", "more{eu}", "none"))
                self.assertEqual([answers[0][1], answers[1], answers[2][1], answers[3]], ["scheduled", "PONG", "scheduled", ["gone"]])
                self.assertEqual({answers[0][0] % 4, answers[2][0] % 4}, {3})
                # Each step follows exactly once from the one before, also if the transaction is said again.
                [job] = connection.ask("RESERVE", "mails{eu}", "WAIT", "20s")
                step = (("LEASED", job[0], job[1]), ("ACK", job[0], job[1]), ("PUT", "next", "n"))
                answers = self.execute(connection, *step)
                self.assertEqual(answers[:2], ["ok", ["ok"]])
                self.assertEqual(answers[2][0] % 4, 3)
                self.assertIsNone(self.execute(connection, *step))
                refused = self.execute(connection, ("PUT", "crossed{eu}", "x"), ("PUT", "crossed{us}", "x"))
                self.assertTrue(str(refused).startswith("CROSSSLOT "), refused)
                wrong = self.execute(connection, ("PUT", "crossed{eu}", "x"), ("PUT", "crossed{eu}", "x", "IN", "soon"))
                self.assertTrue(str(wrong).startswith("EXECABORT Transaction discarded: "), wrong)
                self.assertIn("soon", str(wrong))
                self.assertEqual(connection.ask("PING"), "PONG")
            for tube, bodies in (("more{eu}", ["o"]), ("next", ["n"]), ("crossed{eu}", []), ("crossed{us}", [])):
                self.assertEqual(self.bodies(node, tube, "COUNT", "10"), bodies, tube)

    def test_a_node_that_does_not_know_the_level_refuses_the_queue(self):
        self.primary.sql("update elapse.queue set level = 3;\n")
        node = self.node()
        node.begin()
        node.process.wait_for(b"queue test has level 3, and this program knows 2: upgrade it")


if __name__ == "__main__":
    support.run_tests()
