"""Tests that partitions move between nodes that live: by the balance, and as operators say. Meanwhile clients lose no
answer and no job."""

import json
import os
import socket
import subprocess
import threading
import time

import nodes_support as support
from nodes_support import Error, NodesTest

PROGRAM = os.environ.get("ELAPSE_PROGRAM", str(support.ROOT / "build/developer/elapse"))
LONG = "1h"  # no balance within the test


class Load:
    """Puts jobs, takes and acknowledges them at one node, on two connections. Notes each answer that is no success."""

    def __init__(self, node):
        self.node = node
        self.stops = threading.Event()
        self.put = set()
        self.done = []
        self.wrong = []
        self.threads = [threading.Thread(target=self.run, args=(what,)) for what in (self.put_one, self.take_some)]
        for thread in self.threads:
            thread.start()

    def run(self, what):
        with self.node.connect() as connection:
            while not self.stops.is_set():
                try:
                    what(connection)
                except Exception as error:  # the test tells it
                    self.wrong.append(repr(error))
                    return

    def put_one(self, connection):
        body = f"job{len(self.put)}"
        self.put.add(body)
        answer = connection.ask("PUT", "load", body)
        if isinstance(answer, Error) or answer[1] != "ready" and answer[1] != "scheduled":
            self.wrong.append((body, str(answer)))

    def take_some(self, connection):
        jobs = connection.ask("RESERVE", "load", "COUNT", 5, "WAIT", "50ms")
        for job in jobs if isinstance(jobs, list) else ():
            self.done.append(job[4])
            answer = connection.ask("ACK", job[0], job[1])
            if answer != ["ok"]:
                self.wrong.append((job, str(answer)))

    def end(self):
        self.stops.set()
        for thread in self.threads:
            thread.join()


class Beanstalkd:
    """A client of beanstalkd's protocol that keeps going: it connects again whenever its connection has ended. What
    it has sent and got no answer to was not done."""

    def __init__(self, node, what):
        self.node = node
        self.what = what
        self.stops = threading.Event()
        self.put = set()
        self.done = []
        self.wrong = []
        self.ends = 0  # of connections
        self.sent = 0
        self.client = None
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        while not self.stops.is_set():
            try:
                with socket.create_connection(("127.0.0.1", self.node.port), timeout=support.cluster.PATIENCE_S) as client, \
                        client.makefile("rb") as answers:
                    self.client = client
                    client.sendall(b"use load\r\nwatch load\r\nignore default\r\n")
                    if self.lines(answers, 3):
                        while not self.stops.is_set() and getattr(self, self.what)(client, answers):
                            pass
            except ConnectionError:
                pass
            self.ends += 1

    def lines(self, answers, count):
        """Returns so many lines. Returns None if the connection has ended before."""
        lines = [answers.readline() for _ in range(count)]
        return lines if lines[-1].endswith(b"\r\n") else None

    def put_some(self, client, answers):
        """Commands are under way at each moment: the next ones are sent before the answers are read."""
        bodies = [f"{id(self)}-{self.sent + i}" for i in range(20)]
        self.sent += len(bodies)
        client.sendall(b"".join(b"put 0 0 60 %d\r\n%s\r\n" % (len(body), body.encode()) for body in bodies))
        for body in bodies:
            line = answers.readline()
            if not line.endswith(b"\r\n"):
                return False
            if not line.startswith(b"INSERTED "):
                self.wrong.append((body, line))
            self.put.add(body)
        return True

    def take_one(self, client, answers):
        client.sendall(b"reserve-with-timeout 1\r\n")
        line = answers.readline()
        if line == b"TIMED_OUT\r\n":
            return True
        words = line.split()
        if not line.endswith(b"\r\n") or words[0] != b"RESERVED":
            return False
        body = answers.readline()
        if not body.endswith(b"\r\n"):
            return False
        client.sendall(b"delete %s\r\n" % words[1])
        line = answers.readline()
        if line == b"DELETED\r\n":
            self.done.append(body.decode().strip())
        elif line.endswith(b"\r\n"):
            self.wrong.append((body, line))
        return line.endswith(b"\r\n")

    def wait(self, client, answers):
        """The answer to the put comes, though the reserve behind it waits for ever."""
        body = f"{id(self)}-{self.sent}"
        self.sent += 1
        client.sendall(b"watch nothing\r\nignore load\r\nput 0 0 60 %d\r\n%s\r\nreserve\r\n" % (len(body), body.encode()))
        lines = self.lines(answers, 3)
        if lines is not None:
            self.put.add(body)
            answers.readline()
        return False

    def read_nothing(self, client, _):
        client.settimeout(0.1)
        try:
            while not self.stops.is_set():
                client.sendall(b"stats\r\n" * 100)
        except TimeoutError:
            pass
        while not self.stops.is_set() and self.is_open(client):
            time.sleep(0.05)
        return False

    @staticmethod
    def is_open(client):
        """Reads nothing. The other side has closed if nothing can be sent for good."""
        try:
            client.send(b"stats\r\n")
        except TimeoutError:
            pass
        except OSError:
            return False
        return True

    def end(self):
        self.stops.set()
        if self.what == "wait" and self.client is not None:
            self.client.shutdown(socket.SHUT_RDWR)
        self.thread.join()


class MovesTest(NodesTest):
    def start_nodes(self, count, *options):
        nodes = [self.owner("--node", "n0", *options)]
        nodes += [self.follower("--node", f"n{i}", *options) for i in range(1, count)]
        return nodes

    def cluster(self, verb, *words):
        done = subprocess.run([PROGRAM, "cluster", verb, *map(str, words), "--queue", "test", "--cluster",
                               self.primary.host], capture_output=True, text=True, check=False,
                              stdin=subprocess.DEVNULL, timeout=60)
        self.assertIn(done.returncode, (0, 1, 2, 3), done)
        return done

    def status(self):
        return json.loads(self.cluster("status", "--json").stdout)

    def owners(self):
        return [row.split("/")[0] for row in
                self.primary.sql("select owner from elapse.partition where queue = 'test' order by part;\n").splitlines()]

    def owned(self, nodes):
        return [node.owned() for node in nodes]

    def wait_for_nodes(self, count):
        """Waits until each node is ready for each partition."""
        self.wait_until(lambda: self.number("select coalesce(sum(cardinality(ready)), 0) from elapse.node") ==
                        count * self.partitions, "all nodes are ready")

    def finish(self, load):
        load.end()
        self.assertEqual(load.wrong, [])
        left = set(self.take_all(load.node))
        self.assertEqual(left | set(load.done), load.put)
        self.assertEqual(len(load.done), len(set(load.done)))

    def take_all(self, node):
        bodies = []
        with node.connect() as connection:
            while jobs := self.ask_owners(connection, "RESERVE", "load", "COUNT", 1000):
                bodies += [job[4] for job in jobs]
        return bodies

class MovesOfOne(MovesTest):
    """A queue with one partition, which serves clients of beanstalkd's protocol."""

    partitions = 1
    lease_ms = 8000

    def test_clients_that_keep_going_do_not_put_it_off(self):
        """Each move is done at the first attempt. Every command that has an answer was done, and no other one."""
        nodes = self.start_nodes(2, "--balance-after", LONG)
        self.wait_for_nodes(2)
        clients = [Beanstalkd(node, what) for node in nodes
                   for what in ("put_some", "put_some", "take_one", "take_one", "wait", "read_nothing")]
        workers = [client for client in clients if client.what != "read_nothing"]
        try:
            for left, right in ((0, 1), (1, 0), (0, 1)):
                ends, done = [client.ends for client in workers], sum(len(client.done) for client in clients)
                self.wait_until(lambda: sum(len(client.done) for client in clients) > done + 100, "jobs are done")
                self.cluster("drain", f"n{left}")
                self.wait_until(lambda: self.owned(nodes)[right] == 1, "it has moved")
                self.cluster("undrain", f"n{left}")
                self.wait_until(lambda: all(client.ends > before for client, before in zip(workers, ends)),
                                "each client has connected again")
        finally:
            for client in clients:
                client.end()
        self.assertEqual([client.wrong for client in clients], [[]] * len(clients))
        for node in nodes:
            self.assertIn("it moves to another node", node.process.text())
            self.assertNotIn("it does not move", node.process.text())
        done = [body for client in clients for body in client.done]
        self.assertEqual(len(done), len(set(done)))
        self.assertEqual(set(done) | set(self.take_all(nodes[1])), set().union(*(client.put for client in clients)))

    def test_an_answer_that_is_not_there_yet_is_waited_for(self):
        """The database confirms nothing for more than a quarter of the lease. What has no answer is not done all the same."""
        nodes = self.start_nodes(2, "--balance-after", LONG)
        self.wait_for_nodes(2)
        clients = [(socket.create_connection(("127.0.0.1", node.port), timeout=support.cluster.PATIENCE_S), name)
                   for node, name in zip(nodes, "ab")]
        tables = self.primary.sql("select format('elapse.%I', relname) from pg_class"
                                  " where relname like 'log_test_%' and relkind = 'r';\n").split()
        lock = self.primary.start_sql(f"begin;\nlock table {', '.join(tables)} in share mode;\n\\echo done\n")
        self.assertEqual(lock.stdout.readline(), "done\n")
        try:
            for client, name in clients:
                client.sendall(b"use load\r\n" + b"".join(b"put 0 0 60 3\r\n%s%02d\r\n" % (name.encode(), i) for i in range(20)))
            self.wait_until(lambda: self.number("select count(*) from pg_stat_activity where wait_event_type = 'Lock'") > 0,
                            "the log waits for the lock")
            self.cluster("drain", "n0")
            self.wait_until(lambda: "it moves to another node" in nodes[0].process.text(), "the move has begun")
            time.sleep(self.lease_ms * 3 / 8 / 1000)
        finally:
            lock.communicate("rollback;\n")
        answered = set()
        for client, name in clients:
            with client, client.makefile("rb") as file:
                answers = [line for line in file if line.startswith(b"INSERTED ")]
            answered |= {f"{name}{i:02d}" for i in range(len(answers))}
        self.assertGreaterEqual(len(answered), 1)
        self.wait_until(lambda: self.owned(nodes)[1] == 1, "it has moved")
        self.assertEqual(set(self.take_all(nodes[1])), answered)


class Moves(MovesTest):
    partitions = 6
    lease_ms = 2000  # a busy machine may give an owner no processor for a second

    def test_the_first_node_does_not_keep_all(self):
        nodes = self.start_nodes(3, "--balance-after", "1s")
        self.assertEqual(self.owned(nodes)[0], 6)
        load = Load(nodes[1])
        self.wait_until(lambda: self.owned(nodes) == [2, 2, 2], "each node owns two")
        time.sleep(0.5)
        self.assertEqual(self.owned(nodes), [2, 2, 2])
        self.finish(load)
        status = self.status()
        self.assertEqual([(node["name"], node["owns"], node["alive"]) for node in status["nodes"]],
                         [("n0", 2, True), ("n1", 2, True), ("n2", 2, True)])
        self.assertEqual({row["target"] for row in status["partitions"]}, {""})

    def test_an_operator_places_a_partition(self):
        nodes = self.start_nodes(2, "--balance-after", LONG)
        self.wait_for_nodes(2)
        load = Load(nodes[0])
        self.assertIn("partition 3 belongs to node n1, and moves there", self.cluster("move", 3, "n1").stdout)
        self.wait_until(lambda: self.owners()[3] == "n1", "it has moved")
        # The address of a node names it as well.
        address = self.status()["nodes"][1]["address"]
        self.cluster("move", 0, address)
        self.wait_until(lambda: self.owners()[0] == "n1", "partition 0 has moved, and the balancer with it")
        self.cluster("move", 0, "n0")
        self.wait_until(lambda: self.owners()[0] == "n0", "it has moved back")
        self.finish(load)
        self.assertEqual([row["preferred"] for row in self.status()["partitions"]], ["n0", "", "", "n1", "", ""])
        self.assertIn("may be at any node", self.cluster("move", 3).stdout)
        self.assertEqual(self.status()["partitions"][3]["preferred"], "")

    def test_what_a_worker_has_stays_its_own(self):
        """The log has the records of leases before a partition moves, though no reply waits for them."""
        nodes = self.start_nodes(2, "--balance-after", LONG)
        self.wait_for_nodes(2)
        with nodes[1].connect() as connection:
            for i in range(60):
                connection.ask("PUT", "tube", f"b{i}", "TTR", "1h")
            jobs = []
            while taken := self.reserve(connection, "COUNT", 100):
                jobs += taken
            self.assertEqual(len(jobs), 60)
            self.cluster("drain", "n0")
            self.wait_until(lambda: self.owned(nodes) == [0, 6], "all have moved")
            self.assertEqual(self.ask_owners(connection, "RESERVE", "tube", "COUNT", 100), [])
            self.assertEqual([connection.ask("ACK", job[0], job[1]) for job in jobs], [["ok"]] * 60)

    def test_a_node_drains(self):
        nodes = self.start_nodes(3, "--balance-after", LONG)
        self.wait_for_nodes(3)
        load = Load(nodes[0])
        self.assertIn("node n0 drains: 6 partitions to move", self.cluster("drain", "n0").stdout)
        self.wait_until(lambda: self.owned(nodes) == [0, 3, 3], "it owns nothing")
        self.finish(load)
        self.assertTrue(self.status()["nodes"][0]["draining"])
        # It takes over nothing that others can own.
        nodes[1].stop()
        self.wait_until(lambda: nodes[2].owned() == 6, "the third owns all")
        nodes[1].start()
        self.wait_for_nodes(3)
        self.cluster("undrain", "n0")
        self.cluster("move", 2, "n0")
        self.wait_until(lambda: self.owners()[2] == "n0", "it owns again")

    def test_moves_are_paused(self):
        self.start_nodes(2, "--balance-after", "200ms")
        self.cluster("pause")
        self.wait_for_nodes(2)
        done = self.cluster("move", 3, "n1")
        self.assertIn("moves are paused", done.stderr)
        before = self.owners()
        time.sleep(3 * self.lease_ms / 1000)
        self.assertEqual(self.owners(), before)
        self.assertTrue(self.status()["moves_paused"])
        self.cluster("resume")
        self.wait_until(lambda: sorted(self.owners()) == ["n0"] * 3 + ["n1"] * 3 and self.owners()[3] == "n1", "they go on")

    def test_whether_a_node_may_stop(self):
        nodes = self.start_nodes(2, "--balance-after", LONG)
        self.wait_for_nodes(2)
        self.assertEqual(self.cluster("may-stop", "n0").returncode, 0)
        nodes[1].kill()
        self.wait_until(lambda: self.cluster("may-stop", "n0").returncode == 1, "no other node is ready")
        done = self.cluster("may-stop", "n0")
        self.assertEqual(len(done.stdout.splitlines()), 6)
        self.assertEqual(self.cluster("may-stop", "n1").returncode, 0)
        self.assertEqual(self.cluster("may-stop", "nobody").returncode, 3)

    def test_a_node_is_removed(self):
        nodes = self.start_nodes(2, "--balance-after", LONG)
        self.wait_for_nodes(2)
        self.assertIn("lives: end it first", self.cluster("remove", "n1").stderr)
        self.cluster("move", 3, "n1")
        self.wait_until(lambda: self.owners()[3] == "n1", "it has moved")
        nodes[1].kill()
        self.wait_until(lambda: not self.status()["nodes"][1]["alive"], "it does not live")
        self.assertEqual(self.cluster("remove", "n1").returncode, 0)
        status = self.status()
        self.assertEqual([node["name"] for node in status["nodes"]], ["n0"])
        self.assertEqual(status["partitions"][3]["preferred"], "")

    def test_a_database_without_the_tables(self):
        self.primary.sql("drop table elapse.node; drop table elapse.place;"
                         " alter table elapse.queue drop moves_paused;\n")
        nodes = self.start_nodes(2, "--balance-after", "200ms")
        self.wait_until(lambda: "no table of nodes" in nodes[0].process.text(), "the node says so")
        self.assertIn("upgrade makes it", self.cluster("drain", "n0").stderr)
        self.assertEqual(self.status()["nodes"], [])
        self.assertEqual(self.owned(nodes), [6, 0])
        self.cluster("upgrade")
        self.wait_until(lambda: self.owned(nodes) == [3, 3], "they are balanced")

    def test_an_owner_that_dies_is_replaced_whoever_it_was_to_move_to(self):
        nodes = self.start_nodes(3, "--balance-after", LONG)
        self.wait_for_nodes(3)
        self.put_many(nodes[1], [str(i) for i in range(50)])
        self.primary.sql("insert into elapse.place (queue, part, target) values ('test', 3, 'n1');\n")
        nodes[0].kill()
        self.wait_until(lambda: sum(self.owned(nodes[1:])) == 6, "others own all")
        self.assertEqual(len(self.take(nodes[1])), 50)


if __name__ == "__main__":
    support.run_tests()
