"""What the tests of nodes share: three servers of PostgreSQL, a queue in them, and nodes of
`elapse serve --cluster`, each with a directory of its own."""

import itertools
import os
import pathlib
import re
import signal
import sys
import tempfile
import time

ROOT = pathlib.Path(__file__).resolve().parents[3]
for folder in ("tests/cluster/postgres", "tests/support", "tests/server/resp"):
    sys.path.insert(0, str(ROOT / folder))

import postgres_support as postgres  # noqa: E402
import server_process  # noqa: E402
import serving  # noqa: E402
from postgres_support import cluster  # noqa: E402

SEGMENT = ("--segment-bits", "20")
ALL_FOLLOW = ("--followers", "all")
LOG_LINES = 60
# For tests in which no lease has to end. A machine with much other work takes no processor away for so long, and the
# database confirms a commit sooner, so no node loses a partition that the test lets it keep.
CALM_LEASE_MS = 8000
Error = serving.ReplyError


class Node:
    """A node with a directory, which may be started again and again, at another port each time."""

    def __init__(self, directory, hosts, *options, queue="test", followers=ALL_FOLLOW):
        self.directory = pathlib.Path(directory)
        self.directory.mkdir(exist_ok=True)
        self.data = self.directory / "data"
        self.options = ["--data", str(self.data), *server_process.FREE_PORT, *SEGMENT,
                        "--queue", queue, *followers, *options]
        for host in hosts:
            self.options += ["--cluster", host]
        self.before = ()  # a program that starts it
        self.process = None
        self.starts = 0
        self.fails = False  # it has to end by itself, with status 1

    def begin(self):
        self.starts += 1
        self.fails = False
        self.process = server_process.ServerProcess(self.directory / f"log{self.starts}", self.options,
                                                    before=self.before)

    def start(self):
        self.begin()
        self.port = self.process.wait_for_port()
        return self

    def connect(self):
        return serving.Connection(self.port)

    def ask(self, *words):
        with self.connect() as connection:
            return connection.ask(*words)

    def info(self):
        lines = self.ask("INFO").splitlines()
        return dict(line.split(":", 1) for line in lines if ":" in line)

    def owned(self):
        """Returns how many partitions the node serves."""
        return int(self.info()["partitions_here"])

    def kill(self):
        self.process.kill()

    def stop(self):
        self.process.stop()

    def freeze(self):
        """Stops the node where it is. When this returns, none of its threads runs."""
        self.process.signal(signal.SIGSTOP)
        os.waitid(os.P_PID, self.process.process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)

    def thaw(self):
        self.process.signal(signal.SIGCONT)

    def has_unread(self):
        """Returns whether bytes wait in its connections that the node has not read."""
        lines = pathlib.Path("/proc/net/tcp").read_text(encoding="ascii").splitlines()[1:]
        ends = [re.match(r" *\d+: \w+:(\w+) \S+ \w+ \w+:(\w+)", line).groups() for line in lines]
        return any(int(port, 16) == self.port and int(waiting, 16) > 0 for port, waiting in ends)

    def end(self):
        if self.process is not None:
            self.process.kill()

    def check(self):
        """The node may have ended by SIGKILL, by SIGTERM, or because of its options."""
        if self.process is None:
            return
        status = self.process.wait()
        if status not in ((1,) if self.fails else (0, 2, -signal.SIGKILL)):
            raise AssertionError(f"a node ended with {status}:\n{self.process.text()}")
        for log in self.directory.glob("log*"):
            text = log.read_text(encoding="utf-8", errors="replace")
            if "Sanitizer" in text:
                raise AssertionError(text)


class NodesTest(postgres.ClusterTest):
    """The queue `test` has `partitions` partitions, and is new for each test."""

    partitions = 1
    lease_ms = 1000
    followers = ALL_FOLLOW  # each node takes over any partition at once, as most tests expect

    def setUp(self):
        super().setUp()
        made = tempfile.TemporaryDirectory(prefix="elapse-nodes-")
        self.addCleanup(made.cleanup)
        self.folder = pathlib.Path(made.name)
        self.nodes = []
        self.tokens = itertools.count()
        self.addCleanup(self.end_nodes)
        self.make_queue()

    def make_queue(self):
        maker = self.driver("link", "maker", self.lease_ms, self.primary.host)
        self.assertTrue(maker.ask("create", self.partitions)["made"])

    def has_failed(self):
        result = self._outcome.result
        return any(test is self for test, _ in result.errors + result.failures)

    def end_nodes(self):
        for node in self.nodes:
            node.end()
        if self.has_failed():
            self.tell_logs()
        for node in self.nodes:
            node.check()

    def tell_logs(self):
        """Prints the end of the log of each node, so that a failure can be understood afterwards."""
        for node in self.nodes:
            if node.process is not None:
                print(f"==== the log of {node.directory.name}", *node.process.text().splitlines()[-LOG_LINES:],
                      sep="\n", file=sys.stderr)

    def node(self, *options, **others):
        """Makes a node that is not started yet."""
        node = Node(self.folder / f"node{len(self.nodes)}", self.servers.hosts(), *options, followers=self.followers,
                    **others)
        self.nodes.append(node)
        return node

    def owner(self, *options):
        """Starts a node, and waits until it serves all partitions. Returns it."""
        node = self.node(*options).start()
        self.wait_until(lambda: node.owned() == self.partitions, "the node owns all")
        return node

    def follower(self, *options):
        node = self.node(*options).start()
        self.wait_until(lambda: int(node.info()["partitions_without_owner"]) == 0, "it knows all owners")
        return node

    def wait_until(self, condition, what):
        return cluster.wait_until(condition, what)

    def end_lease(self, node):
        """The lease of a node that was killed is over at once, as if the node had handed over. For tests about what
        comes after a take-over."""
        self.primary.sql("update elapse.partition set owner = '', address = '', beat = beat + 1"
                         f" where address = '127.0.0.1:{node.port}';\n")

    def hold_port(self):
        """Returns a port that nobody else gets until the test ends."""
        port, holder = server_process.hold_port()
        self.addCleanup(holder.close)
        return port

    def put(self, node, body, *options):
        answer = node.ask("PUT", "tube", body, *options)
        self.assertNotIsInstance(answer, Error, answer)
        return answer[0]

    def take(self, node, count=1000):
        """Reserves jobs, until the reply is empty, which says that none is ready in any partition;
        returns those it got, by their bodies."""
        jobs = {}
        with node.connect() as connection:
            while taken := self.reserve(connection, "COUNT", count):
                for job in taken:
                    self.assertNotIn(job[4], jobs)
                    jobs[job[4]] = job
            self.assertEqual(self.count_waiting(connection), 0)
        return jobs

    def reserve(self, connection, *options):
        """Asks again while there is no job, but a partition that cannot be reached."""
        return self.ask_owners(connection, "RESERVE", "tube", *options)

    def count_waiting(self, connection):
        """Returns how many jobs of all partitions are ready or delayed."""
        words = self.ask_owners(connection, "STATS", "tube") or []
        figures = dict(zip(words[::2], words[1::2]))
        return sum(int(figures.get(state, 0)) for state in ("ready", "delayed"))

    def ask_owners(self, connection, *words):
        """Asks again while partitions have no owner that can be reached. Returns a list, or None."""
        def ask():
            answer = connection.ask(*words)
            return None if str(answer).startswith("TRYAGAIN ") else (answer,)
        answer, = self.wait_until(ask, "an owner")
        self.assertIsInstance(answer, (list, type(None)))
        return answer

    def put_many(self, node, bodies):
        """Puts jobs in pipelines, and expects that all of them are acknowledged. With a token a put is sent again if
        its partition gets another owner meanwhile, as on a machine with much other work."""
        with node.connect() as connection:
            for body in bodies:
                connection.send("PUT", "tube", body, "TOKEN", f"token{next(self.tokens)}")
            for body in bodies:
                answer = connection.receive()
                self.assertIsInstance(answer, list, f"{body}: {answer}")


def seconds_since(start):
    return time.monotonic() - start


def run_tests():
    os.environ.setdefault("ELAPSE_PROGRAM", str(ROOT / "build/developer/elapse"))
    postgres.run_tests()
