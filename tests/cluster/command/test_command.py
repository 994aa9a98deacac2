"""Tests elapse cluster on three servers of PostgreSQL. The tests of append-lost are in tests/cluster/serve."""

import contextlib
import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import threading

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests/cluster/postgres"))
import postgres_support as support  # noqa: E402  pylint: disable=wrong-import-position
from postgres_support import cluster  # noqa: E402  pylint: disable=wrong-import-position

PROGRAM = os.environ.get("ELAPSE_PROGRAM", str(ROOT / "build/developer/elapse"))
FAILED, USAGE, GONE, NO_SERVER = 1, 2, 3, 6
NAMES = "ANY 1 (s0,s1,s2)"
LEASE_MS = 200         # of queues that nobody owns
SHORT_LEASE = r"\Aelapse cluster: warning: a lease below 2s .*\n\Z"
AN_HOUR_MS = 3600000
OWNED_LEASE_MS = 1000  # of one whose owner has to live


class CommandTest(support.ClusterTest):
    def run_program(self, *arguments, **variables):
        return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True,
                              check=False, stdin=subprocess.DEVNULL, timeout=cluster.PATIENCE_S,
                              env={**os.environ, **variables})

    def cluster(self, verb, *options, hosts=None, **others):
        words = [verb]
        for host in hosts if hosts is not None else [self.primary.host]:
            words += ["--cluster", host]
        return self.run_program("cluster", *words, *options, **others)

    def begin(self, verb, *options):
        """Starts the command, and does not wait for its end."""
        process = subprocess.Popen([PROGRAM, "cluster", verb, *options, "--cluster", self.primary.host],
                                   stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
        self.addCleanup(process.kill)
        return process

    def succeed(self, verb, *options, **others):
        done = self.cluster(verb, *options, **others)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done)
        return done.stdout

    def refused(self, status, words, verb, *options, **others):
        done = self.cluster(verb, *options, **others)
        self.assertEqual((done.returncode, done.stdout), (status, ""), done)
        self.assertIn(words, done.stderr)
        self.assertTrue(done.stderr.startswith("elapse cluster: "), done.stderr)
        self.assertEqual(len(done.stderr.splitlines()), 2 if status == USAGE else 1, done.stderr)
        return done.stderr

    def create(self, *options):
        """Makes a queue with a short lease, and returns what the program prints."""
        done = self.cluster("create", "--lease", f"{LEASE_MS}ms", *options)
        self.assertEqual(done.returncode, 0, done)
        self.assertRegex(done.stderr, SHORT_LEASE)
        return done.stdout

    def status(self, *options):
        """The status, as JSON, and the exit status."""
        done = self.cluster("status", "--json", *options)
        self.assertIn(done.returncode, (0, FAILED), done)
        self.assertEqual(done.stderr, "")
        return json.loads(done.stdout), done.returncode


class Create(CommandTest):
    def test_makes_a_queue_once(self):
        self.assertEqual(self.succeed("create", "--partitions", 3, "--queue", "orders", "--lease", "2s"),
                         "queue orders: 3 partitions, lease 2s, hash tags on\n")
        self.primary.sql("update elapse.partition set epoch = 7;\n")
        before = self.primary.sql("select * from elapse.queue, elapse.partition;\n")
        self.assertEqual(self.succeed("create", "--partitions", 3, "--queue", "orders", "--lease", "2s"),
                         "queue orders: 3 partitions, lease 2s, hash tags on; it exists already\n")
        self.assertEqual(self.primary.sql("select * from elapse.queue, elapse.partition;\n"), before)
        self.assertEqual(len(before.splitlines()), 3)

    def test_a_lease_that_is_shorter_than_a_busy_database_needs_is_warned_of(self):
        """Programs read the output: the warning is a message."""
        done = self.cluster("create", "--lease", "1999ms")
        self.assertEqual((done.returncode, done.stdout), (0, "queue main: 1 partition, lease 1s999ms, hash tags on\n"))
        self.assertRegex(done.stderr, SHORT_LEASE)
        self.succeed("create", "--queue", "orders", "--lease", "2s")

    def test_unless_told_otherwise(self):
        self.assertEqual(self.succeed("create"), "queue main: 1 partition, lease 10s, hash tags on\n")
        self.assertEqual(self.primary.sql("select name, parts, lease_ms from elapse.queue;\n"),
                         "main|1|10000")

    def test_each_queue_has_another_identity(self):
        for name in ("one", "two"):
            self.create("--queue", name)
        self.assertEqual(self.number("select count(distinct identity) from elapse.queue"), 2)
        self.assertEqual(self.number("select count(distinct last_hash) from elapse.partition"), 2)

    def test_other_facts_of_a_queue_that_exists_are_refused(self):
        self.create("--partitions", 3)
        before = self.primary.sql("select * from elapse.partition;\n")
        for options in (("--partitions", 4), ("--partitions", 3, "--lease", "3s")):
            self.refused(FAILED, "queue main exists, with 3 partitions and a lease of 200 ms", "create",
                      *options)
        self.assertEqual(self.primary.sql("select * from elapse.partition;\n"), before)

    def test_the_server_that_takes_writes_is_found(self):
        """Among several strings, and among the hosts of one."""
        standby, nobody = self.servers[1], "host=/nonexistent"
        self.assertIn("queue a:", self.succeed("create", "--queue", "a", hosts=[
            nobody, standby.host, self.primary.host]))
        several = self.primary.host.replace(f"host={self.primary.directory}",
                                            f"host={standby.directory},{self.primary.directory}")
        self.assertIn(",", several)
        self.assertIn("queue b:", self.succeed("create", "--queue", "b", hosts=[several]))
        self.assertEqual(self.number("select count(*) from elapse.queue"), 2)
        self.refused(NO_SERVER, "read-only", "create", hosts=[standby.host])

    def test_no_server(self):
        for verb in ("create", "status"):
            self.refused(NO_SERVER, "/nonexistent", verb, hosts=["host=/nonexistent"])
            self.refused(NO_SERVER, "refused", verb, hosts=["host=127.0.0.1 port=1"])

    def test_a_string_that_is_wrong_is_not_shown(self):
        for verb in ("create", "status"):
            for host, words in (("nonsense=1", "no connection string"),
                                ("host=a password=tell nonsense", "no connection string"),
                                ("postgresql://u:a@nonsense@h/d", "'@'"),
                                ("postgresql://u:nonsense/a@h/d", "'/'")):
                self.assertNotIn("nonsense", self.refused(NO_SERVER, words, verb, hosts=[host]))

    def test_a_role_that_is_not_there_or_may_not(self):
        for verb in ("create", "status"):
            self.refused(NO_SERVER, 'role "nobody" does not exist', verb,
                      hosts=[self.primary.host.replace("user=elapse", "user=nobody")])
        self.primary.sql("create role weak login;\n")
        self.addCleanup(self.primary.sql, "drop owned by weak;\ndrop role weak;\n")
        weak = [self.primary.host.replace("user=elapse", "user=weak")]
        self.refused(FAILED, "permission denied", "create", hosts=weak)
        self.create()
        self.refused(FAILED, "permission denied for schema elapse", "status", hosts=weak)
        self.refused(FAILED, "the schema elapse belongs to the role elapse, and this is weak", "create",
                  hosts=weak)

    def test_a_wrong_password(self):
        rules = self.primary.data / "pg_hba.conf"
        before = rules.read_text(encoding="utf-8")
        self.primary.sql("create role guarded login password 'right' superuser;\n")

        def restore():
            rules.write_text(before, encoding="utf-8")
            self.primary.sql("select pg_reload_conf();\ndrop owned by guarded cascade;\n"
                             "drop role guarded;\n")
        self.addCleanup(restore)
        rules.write_text("local all guarded scram-sha-256\n" + before, encoding="utf-8")
        self.primary.sql("select pg_reload_conf();\n")
        guarded = self.primary.host.replace("user=elapse", "user=guarded")
        words = cluster.wait_until(lambda: self.cluster("create", hosts=[guarded]).stderr,
                                   "the new rules count")
        self.assertIn("no password supplied", words)
        for verb in ("create", "status"):
            words = self.refused(NO_SERVER, "password authentication failed", verb,
                              hosts=[guarded + " password=wrong-secret"])
            self.assertNotIn("secret", words)
        self.succeed("create", hosts=[guarded], PGPASSWORD="right")

    def test_a_newer_schema(self):
        self.create()
        self.primary.sql("update elapse.version set version = 4 where component = 'cluster';\n")
        self.refused(FAILED, "version 4", "create")
        self.refused(FAILED, "version 4", "status")

    def test_a_new_queue_has_the_newest_level(self):
        self.create()
        self.assertEqual(self.number("select level from elapse.queue"), 2)
        self.assertEqual(self.number("select version from elapse.version where component = 'cluster'"), 3)

    def test_upgrade_raises_the_level_and_keeps_programs_of_0_2_out(self):
        """Where 0.2 has made the tables there is no column for the level, and the version is 2."""
        self.create()
        self.primary.sql("update elapse.version set version = 2 where component = 'cluster';\n"
                         "alter table elapse.queue drop column level, drop column hash_tags;\n")
        self.create("--queue", "second")
        self.assertEqual(self.primary.sql("select distinct level from elapse.queue;\n"), "0")
        self.primary.sql("alter table elapse.queue drop column level, drop column hash_tags;\n")
        self.assertEqual(self.status("--queue", "main")[0]["queue"], "main")
        for _ in range(2):
            self.assertEqual(self.succeed("upgrade"), "queue main has level 1: restart its nodes, one after the other\n")
            self.assertEqual(self.primary.sql("select name, level from elapse.queue order by name;\n"), "main|1\nsecond|0")
            self.assertEqual(self.number("select version from elapse.version where component = 'cluster'"), 3)
        self.refused(GONE, "no queue third", "upgrade", "--queue", "third")
        self.primary.sql("update elapse.queue set level = 3 where name = 'main';\n")
        self.refused(FAILED, "level 3, and this program knows 2", "status")

    def tags(self):
        """Of each queue, whether it has hash tags, and its level: a node that does not know them refuses level 2."""
        return self.primary.sql("select name, hash_tags, level from elapse.queue order by name;\n").split("\n")

    def test_hash_tags_are_for_ever(self):
        self.assertIn(", hash tags on\n", self.succeed("create", "--queue", "a"))
        self.assertIn(", hash tags off\n", self.succeed("create", "--queue", "b", "--no-hash-tags"))
        self.assertIn(", hash tags on\n", self.succeed("create", "--queue", "c", "--hash-tags"))
        self.assertEqual(self.tags(), ["a|t|2", "b|f|1", "c|t|2"])
        self.assertIn(", hash tags off; it exists already\n", self.succeed("create", "--queue", "b"))
        self.refused(FAILED, "queue a exists, with hash tags", "create", "--queue", "a", "--no-hash-tags")
        self.refused(FAILED, "queue b exists, without hash tags", "create", "--queue", "b", "--hash-tags")
        self.assertEqual(self.succeed("upgrade", "--queue", "a"), "queue a has level 2: restart its nodes, one after the other\n")
        self.assertEqual(self.tags(), ["a|t|2", "b|f|1", "c|t|2"])

    def test_an_older_schema_gets_hash_tags(self):
        """Queues of before have none. Where nodes of 0.2 may run, new ones have none either."""
        self.create()
        self.primary.sql("update elapse.queue set level = 1, hash_tags = false;\n"
                         "alter table elapse.queue drop column hash_tags;\n")
        self.assertFalse(self.status("--queue", "main")[0]["hash_tags"])
        self.create("--queue", "second")
        self.assertEqual(self.tags(), ["main|f|1", "second|t|2"])
        self.assertTrue(self.status("--queue", "second")[0]["hash_tags"])
        self.primary.sql("update elapse.version set version = 2 where component = 'cluster';\n")
        self.refused(FAILED, "nodes of 0.2 may run in this database", "create", "--queue", "third", "--hash-tags")
        self.assertIn(", hash tags off\n", self.succeed("create", "--queue", "third"))
        self.assertEqual(self.tags(), ["main|f|1", "second|t|2", "third|f|0"])

    def test_an_older_schema_is_brought_up_by_create(self):
        self.create()
        self.primary.sql("update elapse.version set version = 1 where component = 'cluster';\n"
                         "drop table elapse.clock;\ndrop function elapse.tell_clock;\n")
        self.refused(FAILED, "run elapse cluster create again", "status")
        before = self.primary.sql("select * from elapse.partition;\n")
        self.create()
        self.assertEqual(self.primary.sql("select * from elapse.partition;\n"), before)
        self.assertEqual(self.number("select version from elapse.version where component = 'cluster'"), 2)
        self.assertEqual(self.number("select count(*) from elapse.clock"), 0)


class Nodes(CommandTest):
    """What operators say of nodes. tests/cluster/serve/test_moves.py has nodes that obey."""

    def setUp(self):
        super().setUp()
        self.create("--partitions", 2)
        self.primary.sql("insert into elapse.node (queue, name, address, version, beat) values"
                         " ('main', 'a', 'there:1', '0.3', clock_timestamp()),"
                         " ('main', 'b', 'there:2', '0.3', clock_timestamp() - interval '1 day');\n")

    def places(self):
        return self.primary.sql("select part, preferred, target from elapse.place order by part;\n").splitlines()

    def test_a_partition_is_placed_and_let_go(self):
        self.assertEqual(self.cluster("move", "1", "there:2").stdout,
                         "partition 1 belongs to node b, and moves there when that node is ready\n")
        self.assertEqual(self.places(), ["1|b|"])
        self.assertIn("partition 1 belongs to node b\n", self.cluster("status").stdout)
        self.succeed("move", "1")
        self.assertEqual(self.places(), ["1||"])
        for word in ("2", "-1", "x", ""):
            self.refused(USAGE, "queue main has 2, which count from 0", "move", "--", word, "a")
        self.refused(GONE, "no node 'c'", "move", "0", "c")

    def test_a_node_that_does_not_live_is_forgotten(self):
        self.assertIn("warning: node 'b' does not live", self.cluster("move", "0", "b").stderr)
        self.succeed("drain", "b")
        self.assertEqual(self.number("select count(*) from elapse.node where draining and name = 'b'"), 1)
        self.succeed("remove", "b")
        self.assertEqual(self.primary.sql("select name from elapse.node;\n"), "a")
        self.assertEqual(self.places(), ["0||"])
        for verb in ("drain", "undrain", "may-stop", "remove"):
            self.refused(GONE, "no node 'b'", verb, "b")

    def beat(self, stops):
        while not stops.wait(0.02):
            self.primary.sql("update elapse.partition set beat = beat + 1;\n")

    @contextlib.contextmanager
    def beating(self):
        """Changes the rows of all partitions, so that status need not look for a lease."""
        stops = threading.Event()
        thread = threading.Thread(target=self.beat, args=(stops,))
        thread.start()
        try:
            yield
        finally:
            stops.set()
            thread.join()

    def test_copies_are_shown(self):
        """Node a lives, because the lease is long, and node b does not."""
        self.primary.sql("update elapse.queue set lease_ms = 3600000;\n"
                         "update elapse.node set ready = '{0}' where name = 'a';\n"
                         "update elapse.partition set owner = case part when 0 then 'a/1' else 'b/1' end;\n"
                         "insert into elapse.place (queue, part, replicas) values"
                         " ('main', 0, e'a\\nb'), ('main', 1, e'b\\na\\nc');\n")
        with self.beating():
            seen = self.status()[0]["partitions"]
        self.assertEqual([part["replicas"] for part in seen], [["a", "b"], ["b", "a", None]])
        self.assertEqual([{copy["node"]: copy["state"] for copy in part["copies"]} for part in seen],
                         [{"a": "owner", "b": "away"}, {"a": "copying", "b": "away"}])
        self.primary.sql("update elapse.node set ready = '{0,1}' where name = 'a';\n")
        with self.beating():
            text = self.succeed("status")
        self.assertIn("\nPARTITION  COPIES\n0          a owner, b away\n"
                      "1          a ready, b away, a node that was removed\n", text)
        self.primary.sql("delete from elapse.place;\n")
        with self.beating():
            text = self.succeed("status")
        self.assertIn("\n0          a owner; all nodes follow\n1          a ready; all nodes follow\n", text)

    def test_moves_are_paused(self):
        self.succeed("pause")
        self.assertTrue(self.status()[0]["moves_paused"])
        self.assertIn("planned moves are paused\n", self.cluster("status").stdout)
        self.succeed("resume")
        self.assertFalse(self.status()[0]["moves_paused"])

    def test_a_change_that_no_standby_has_is_told(self):
        self.freeze_standbys()
        self.refused(FAILED, "no synchronous standby has confirmed the change", "pause")
        self.thaw_standbys()

    def test_a_queue_that_is_not_there(self):
        for words in (("drain", "a"), ("move", "0", "a"), ("pause",)):
            self.refused(GONE, "no queue other", *words, "--queue", "other")


class Usage(CommandTest):
    def test_wrong_words(self):
        for words, *arguments in (
                ("say create, upgrade, status, move, drain, undrain, may-stop, remove, pause, resume, append-lost, accept-loss or accept-database", ),
                ("not 'drop'", "drop"), ("too many", "create", "x"),
                ("too many", "move", "1", "n", "x"), ("too many", "drain", "n", "x"), ("too many", "pause", "x"),
                ("move: say which partition", "move"), ("drain: say which node", "drain"), ("may-stop: say which node", "may-stop"),
                ("--cluster is missing", "create"), ("--cluster is missing", "status")):
            self.assert_usage(words, *arguments)
        host = ("--cluster", self.primary.host)
        for words, *arguments in (
                ("--partitions", "create", "--partitions", "0"),
                ("either --hash-tags or --no-hash-tags", "create", "--hash-tags", "--no-hash-tags"),
                ("belong to create", "status", "--hash-tags"), ("belong to create", "upgrade", "--no-hash-tags"),
                ("--partitions", "create", "--partitions", "1025"),
                ("--lease", "create", "--lease", "99ms"), ("--lease", "create", "--lease", "61m"),
                ("whole milliseconds", "create", "--lease", "100500us"),
                ("--json belongs to status", "create", "--json"),
                ("belong to create", "status", "--lease", "1s"),
                ("belong to create", "status", "--partitions", "1"),
                ("--data is missing", "append-lost"),
                ("--yes belongs to accept-loss", "append-lost", "--data", "x", "--yes"),
                ("--data is missing", "accept-database"),
                ("--single-copy belongs to", "accept-database", "--data", "x", "--single-copy"),
                ("--begin-anew belongs to append-lost", "accept-loss", "--begin-anew"),
                ("belong to append-lost, accept-loss and accept-database", "status", "--data", "x"),
                ("belong to append-lost, accept-loss and accept-database", "create", "--partition", "0"),
                ("belongs to append-lost and accept-loss", "status", "--single-copy"),
                ("--partition", "accept-loss", "--partition", "1024")):
            self.assert_usage(words, *arguments, *host)
        self.assert_usage("too many", "create", *(host * 17))

    def assert_usage(self, words, *arguments):
        done = self.run_program("cluster", *arguments)
        self.assertEqual((done.returncode, done.stdout), (USAGE, ""), done)
        self.assertIn(words, done.stderr)

    def test_names(self):
        for name in ("", "Main", "1st", "a-b", "a" * 33):
            self.refused(USAGE, "the name of a queue", "create", "--queue", name)
        self.succeed("create", "--queue", "a" * 32, "--partitions", 1024)
        self.assertEqual(self.number("select count(*) from elapse.partition"), 1024)


class MarkedTest(CommandTest):
    """A mark is in the row of queue main."""

    WORDS = "first knows group 9 of epoch 4, and the database ended with group 2 of epoch 1"

    def setUp(self):
        super().setUp()
        self.create()
        self.primary.sql(f"update elapse.partition set stopped = '{self.WORDS}', epoch = 4;\n")

    def row(self):
        epoch, stopped = self.primary.sql(
            "select epoch, stopped from elapse.partition where queue = 'main';\n").split("|")
        return int(epoch), stopped

    def fails(self, words, *options):
        done = self.cluster("accept-loss", "--yes", *options)
        self.assertEqual(done.returncode, FAILED, done)
        self.assertIn(words, done.stderr)


class Accept(MarkedTest):
    def test_epochs_of_nodes_that_were_down_lie_below(self):
        """A database that went back may lack many take-overs."""
        said = self.succeed("accept-loss", "--yes")
        self.assertIn(f"database at {self.primary.directory}, port 5432, timeline 1\n", said)
        self.assertIn(f"partition 0 was stopped: {self.WORDS}\n", said)
        epoch, stopped = self.row()
        self.assertEqual(stopped, "")
        self.assertGreaterEqual(epoch, 1000)

    def test_without_names_one_copy_is_all(self):
        self.addCleanup(self.primary.set_names, NAMES)
        self.primary.set_names("")
        self.fails("synchronous_standby_names is empty")
        self.assertEqual(self.row(), (4, self.WORDS))
        self.succeed("accept-loss", "--yes", "--single-copy")
        self.assertEqual(self.row()[1], "")

    def test_a_role_that_hears_no_warnings(self):
        """By a warning the server says that it has waited for no standby."""
        self.primary.sql("alter role elapse set client_min_messages = 'error';\n")
        self.addCleanup(self.primary.sql, "alter role elapse reset client_min_messages;\n")
        self.freeze_standbys()
        self.fails_in_the_commit("no synchronous standby has confirmed the change", "pg_cancel_backend")

    def test_a_connection_that_is_lost_in_the_commit(self):
        self.freeze_standbys()
        self.fails_in_the_commit("nobody knows whether the change was made; run this again", "pg_terminate_backend")

    def fails_in_the_commit(self, words, function):
        with self.begin("accept-loss", "--yes") as process:
            query = f"select count({function}(pid)) from pg_stat_activity where wait_event = 'SyncRep'"
            cluster.wait_until(lambda: self.number(query), "it waits for a standby")
            _, said = process.communicate(timeout=cluster.PATIENCE_S)
        self.assertEqual(process.returncode, FAILED)
        self.assertIn(words, said)


class Waits(MarkedTest):
    """The database waits without end; the commands do not. They wait at the same time."""

    def begin_status(self):
        """It has looked once, and its session does not answer any more."""
        self.succeed("create", "--queue", "frozen", "--lease", "1h")
        process = self.begin("status", "--queue", "frozen")
        session = cluster.wait_until(
            lambda: self.number("select pid from pg_stat_activity where state = 'idle'"
                                " and query like '%pg_walfile_name%' and pid <> pg_backend_pid()"), "it has looked")
        os.kill(session, signal.SIGSTOP)
        self.addCleanup(os.kill, session, signal.SIGCONT)
        return process

    def check(self, process, words):
        with process:
            said, why = process.communicate(timeout=cluster.PATIENCE_S)
        self.assertEqual((process.returncode, said), (FAILED, ""), why)
        self.assertIn(words, why)
        self.assertTrue(why.startswith("elapse cluster: "), why)
        self.assertEqual(len(why.splitlines()), 1, why)

    def test_what_the_database_does_not_answer(self):
        status = self.begin_status()
        self.freeze_standbys()
        create = self.begin("create", "--queue", "waits")
        self.fails("no synchronous standby has confirmed the change")
        self.fails("another session holds the row: it may be an earlier run of this")
        self.assertEqual(self.row(), (4, self.WORDS))
        with self.subTest("create"):
            self.check(create, "no synchronous standby has confirmed the change")
        with self.subTest("status"):
            self.check(status, "the database has not answered in 12 s")

        self.thaw_standbys()
        cluster.wait_until(lambda: self.row()[1] == "", "the first one has its standby")
        self.assertIn("there is nothing to accept\n", self.succeed("accept-loss", "--yes"))
        self.assertEqual(self.row()[1], "")
        self.create("--queue", "later")


class Status(CommandTest):
    def test_no_queue(self):
        self.refused(GONE, "the database has no tables of elapse", "status")
        self.create()
        self.refused(GONE, "the database has no queue other", "status", "--queue", "other")
        self.primary.sql("delete from elapse.partition;\n")
        self.refused(FAILED, "queue main lacks partitions", "status")

    def test_nobody_owns_it(self):
        self.create("--partitions", 2)
        seen, status = self.status()
        self.assertEqual(status, FAILED)
        self.assertEqual((seen["queue"], seen["lease_ms"], seen["timeline"], seen["warnings"]),
                         ("main", LEASE_MS, 1, []))
        self.assertEqual(seen["synchronous_standby_names"], NAMES)
        self.assertIn(str(self.primary.directory), seen["server"])
        for number, part in enumerate(seen["partitions"]):
            self.assertGreaterEqual(part.pop("unchanged_ms"), LEASE_MS)
            self.assertEqual(part, {"partition": number, "alive": False, "owner": "", "address": "",
                                    "stopped": "", "missed": "", "epoch": 0, "last_group": 0, "tail": 1,
                                    "preferred": "", "target": "", "replicas": [], "copies": []})
        self.assertEqual((seen["nodes"], seen["moves_paused"]), ([], False))
        self.assertEqual([standby["name"] for standby in seen["standbys"]], ["s1", "s2"])
        # Another test has changed the names. The process of each standby reads them by itself.
        query = "select count(*) from pg_stat_replication where sync_state = 'quorum'"
        cluster.wait_until(lambda: self.number(query) == 2, "both standbys have read the names")
        for standby in self.status()[0]["standbys"]:
            self.assertEqual((standby["sync"], standby["state"], standby["address"]),
                             ("quorum", "streaming", ""))
            self.assertGreaterEqual(standby["behind_bytes"], 0)

    def start_owner(self):
        """A node that beats, in the queue of the drivers."""
        maker = self.driver("link", "maker", OWNED_LEASE_MS, self.primary.host)
        genesis = maker.ask("create", 1)["genesis"]
        owner = self.driver("runner", "first", OWNED_LEASE_MS, genesis, *self.servers.hosts())
        cluster.wait_until(lambda: self.number("select count(*) from elapse.partition where owner <> ''"),
                           "somebody owns it")
        return owner

    def look_for(self, lease_ms):
        """From now on `status` takes the lease to be this long, and stops looking once it has seen the owner beat. So
        with an hour a busy machine, which gives the owner no processor for a while, makes no difference. The owner
        goes by the lease in the row of its partition."""
        self.primary.sql(f"update elapse.queue set lease_ms = {lease_ms} where name = 'test';\n")

    def test_an_owner_lives_and_dies(self):
        owner = self.start_owner()
        self.look_for(AN_HOUR_MS)
        seen, status = self.status("--queue", "test")
        self.assertEqual(status, 0, seen)
        [part] = seen["partitions"]
        self.assertTrue(part["alive"])
        self.assertTrue(part["owner"].startswith("first"), part)
        self.assertEqual(part["epoch"], 1)
        self.assertLess(part["unchanged_ms"], OWNED_LEASE_MS)
        text = self.succeed("status", "--queue", "test")
        self.assertIn(part["owner"], text)
        self.assertRegex(text, r"(?m)^0 +1 ")
        self.assertIn(f"synchronous_standby_names: {NAMES}\n", text)
        self.assertRegex(text, r"standby s1: quorum, streaming, [\d,]+ bytes behind\n")

        owner.process.kill()
        owner.process.wait()
        self.look_for(OWNED_LEASE_MS)
        # Both look for more than a lease.
        with self.begin("status", "--queue", "test") as process:
            seen, status = self.status("--queue", "test")
            text, _ = process.communicate(timeout=cluster.PATIENCE_S)
        self.assertEqual(status, FAILED)
        self.assertFalse(seen["partitions"][0]["alive"])
        self.assertEqual(seen["partitions"][0]["owner"], part["owner"])
        self.assertEqual(process.returncode, FAILED)
        self.assertRegex(text, rf"(?m)^0 .* > {OWNED_LEASE_MS // 1000}s")

    def test_a_partition_that_lost_groups_is_shown(self):
        """Its owner may beat; it is not alive."""
        self.start_owner()
        words = "first knows group 9 of epoch 1, and the database ended with group 2 of epoch 1"
        self.primary.sql(f"update elapse.partition set stopped = '{words}';\n")
        seen, status = self.status("--queue", "test")
        self.assertEqual(status, FAILED)
        self.assertEqual((seen["partitions"][0]["alive"], seen["partitions"][0]["stopped"]), (False, words))
        done = self.cluster("status", "--queue", "test")
        self.assertEqual(done.returncode, FAILED)
        self.assertIn(f"\npartition 0 is stopped, because groups are lost: {words}\n", done.stdout)

    def test_groups_that_a_late_node_misses_are_shown(self):
        """The owner lives, and goes on when the loss is accepted."""
        self.start_owner()
        self.look_for(AN_HOUR_MS)
        words = "second knows group 9 of epoch 0, and the database ended with group 2 of epoch 1"
        self.primary.sql(f"update elapse.partition set missed = '{words}';\n")
        seen, status = self.status("--queue", "test")
        self.assertEqual((status, seen["partitions"][0]["alive"], seen["partitions"][0]["missed"]), (0, True, words))
        self.assertIn(f"\npartition 0 went on without groups that are lost: {words}\n",
                      self.succeed("status", "--queue", "test"))
        self.assertIn(f"partition 0 went on without groups: {words}\n",
                      self.succeed("accept-loss", "--queue", "test", "--yes"))
        seen, status = self.status("--queue", "test")
        part = seen["partitions"][0]
        self.assertEqual((status, part["alive"], part["missed"], part["epoch"]), (0, True, "", 1))

    def test_names_that_are_emptied_are_a_warning(self):
        self.create()
        self.addCleanup(self.primary.set_names, NAMES)
        self.primary.set_names("")
        seen, _ = self.status()
        self.assertEqual(len(seen["warnings"]), 1)
        self.assertIn("synchronous_standby_names is empty", seen["warnings"][0])
        self.assertEqual(seen["synchronous_standby_names"], "")
        self.assertIn("warning: synchronous_standby_names is empty", self.cluster("status").stdout)

    def test_names_of_nobody_are_a_warning(self):
        self.create()
        self.addCleanup(self.primary.set_names, NAMES)
        self.primary.set_names("ANY 1 (elsewhere)")
        # The process of each standby reads the names by itself.
        warnings = cluster.wait_until(lambda: self.status()[0]["warnings"], "a warning")
        self.assertEqual(warnings, ["no synchronous standby is connected: each commit waits for one"])

    def test_a_role_that_may_not_see_standbys(self):
        self.primary.sql("create role node login;\ngrant create on database postgres to node;\n")
        self.addCleanup(self.primary.sql, "drop owned by node cascade;\ndrop role node;\n")
        node = [self.primary.host.replace("user=elapse", "user=node")]
        self.assertEqual(self.cluster("create", "--lease", f"{LEASE_MS}ms", hosts=node).returncode, 0)
        done = self.cluster("status", "--json", hosts=node)
        seen = json.loads(done.stdout)
        self.assertEqual(seen["warnings"], [])
        self.assertEqual([standby["behind_bytes"] for standby in seen["standbys"]], [None, None])
        self.assertIn(": its state is for roles that have pg_monitor\n",
                      self.cluster("status", hosts=node).stdout)

    def test_a_role_that_may_not_read_what_nodes_say(self):
        """The rest is shown, with a warning that names the right; partitions alone decide the status."""
        self.start_owner()
        self.look_for(AN_HOUR_MS)
        self.primary.sql("insert into elapse.node (queue, name, address, version, beat)"
                         " values ('test', 'a', 'there:1', '0.3', clock_timestamp());\n"
                         "create role watcher login;\ngrant usage on schema elapse to watcher;\n"
                         "grant select on elapse.version, elapse.queue, elapse.partition to watcher;\n")
        self.addCleanup(self.primary.sql, "drop owned by watcher;\ndrop role watcher;\n")
        watcher = [self.primary.host.replace("user=elapse", "user=watcher")]

        def look():
            done = self.cluster("status", "--queue", "test", "--json", hosts=watcher)
            self.assertEqual((done.returncode, done.stderr), (0, ""), done)
            return json.loads(done.stdout)
        tables = ["elapse.clock", "elapse.node", "elapse.place"]
        while tables:
            seen = look()
            self.assertEqual(seen["lacks_select"], tables)
            sees_nodes = "elapse.node" not in tables and "elapse.place" not in tables
            self.assertEqual([node["name"] for node in seen["nodes"]], ["a"] if sees_nodes else [])
            self.assertEqual((len(seen["partitions"]), seen["partitions"][0]["alive"]), (1, True))
            [warning] = seen["warnings"]
            self.assertIn(f"the role watcher lacks the right SELECT on {', '.join(tables)}: ", warning)
            text = self.succeed("status", "--queue", "test", hosts=watcher)
            self.assertIn(f"warning: {warning}\n", text)
            self.assertEqual("\nNODE " in text, sees_nodes)
            # What the warning says helps.
            self.primary.sql(f"grant select on {tables.pop()} to watcher;\n")
        seen = look()
        self.assertEqual((seen["lacks_select"], seen["warnings"], [node["name"] for node in seen["nodes"]]),
                         ([], [], ["a"]))
        self.assertIn("\nNODE ", self.succeed("status", "--queue", "test", hosts=watcher))

    def test_the_rights_of_the_guide_are_all_that_a_watcher_needs(self):
        self.start_owner()
        self.look_for(AN_HOUR_MS)
        self.primary.sql("create role watcher login;\n")
        self.addCleanup(self.primary.sql, "drop owned by watcher;\ndrop role watcher;\n")
        [rights] = re.findall(r"(?s)```sql\n([^`]*?to watcher;\n)```", (ROOT / "docs/guide/cluster.md").read_text(encoding="utf-8"))
        self.assertEqual(rights.count("grant"), 3)
        self.primary.sql(rights)
        done = self.cluster("status", "--queue", "test", "--json", hosts=[self.primary.host.replace("user=elapse", "user=watcher")])
        seen = json.loads(done.stdout)
        self.assertEqual((done.returncode, seen["warnings"], seen["lacks_select"]), (0, [], []))
        self.assertNotIn(None, [standby["behind_bytes"] for standby in seen["standbys"]])

    def test_texts_from_the_database_do_no_harm(self):
        self.create()
        self.primary.sql("update elapse.partition set owner = E'\\x1b[31mred\\n', address = 'a\"b';\n")
        done = self.cluster("status")
        self.assertNotIn("\x1b", done.stdout)
        self.assertIn("?[31mred?", done.stdout)
        seen, _ = self.status()
        self.assertEqual((seen["partitions"][0]["owner"], seen["partitions"][0]["address"]),
                         ("\x1b[31mred\n", 'a"b'))

    def test_it_changes_nothing(self):
        self.create()
        before = self.primary.sql("select * from elapse.partition;\n")
        self.cluster("status")
        self.assertEqual(self.primary.sql("select * from elapse.partition;\n"), before)


if __name__ == "__main__":
    support.run_tests()
