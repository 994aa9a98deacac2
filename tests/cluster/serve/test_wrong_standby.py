"""Tests the promotion of a standby that lacks acknowledged groups. No node goes on without these groups,
and an operator has two ways out."""

import json
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

import nodes_support as support
from nodes_support import NodesTest, cluster, server_process

BEFORE = [f"before{number}" for number in range(20)]
LATER = [f"later{number}" for number in range(20)]
NAMES = "ANY 1 (s0,s1,s2)"
SPARES = shutil.ignore_patterns("spare-*")  # the node makes and renames them while it lives
OF_NODES = "application_name like 'elapse/%'"


class WrongStandbyTest(NodesTest):
    lease_ms = 500

    def command(self, *arguments, queue="test"):
        hosts = [word for host in self.servers.hosts() for word in ("--cluster", host)]
        return [server_process.PROGRAM, "cluster", *map(str, arguments), "--queue", queue, *hosts]

    def cluster(self, *arguments, **options):
        return subprocess.run(self.command(*arguments, **options), capture_output=True, text=True, check=False,
                              stdin=subprocess.DEVNULL, timeout=cluster.PATIENCE_S)

    def succeed(self, *arguments, **options):
        done = self.cluster(*arguments, **options)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done)
        return done.stdout

    def refused(self, words, *arguments, **options):
        done = self.cluster(*arguments, **options)
        self.assertEqual(done.returncode, 1, done)
        self.assertIn(words, done.stderr)
        return done.stdout

    def rows(self, queue="test"):
        """What the database has of each partition."""
        text = self.primary.sql("select row_to_json(p) from elapse.partition p"
                                f" where queue = '{queue}' order by part;\n")
        return [json.loads(line) for line in text.splitlines()]

    def row(self):
        return self.rows()[0]

    def ends_loudly(self, node, *words):
        self.assertEqual(node.process.wait(), 1, node.process.text())
        for text in ("partition 0 cannot go on", *words):
            self.assertIn(text, node.process.text())
        node.fails = True


class WitnessTest(WrongStandbyTest):
    """A node that has lost its directory knows from its file `witness` which groups it has seen in the row."""

    def lose_groups(self, first):
        """The groups from `first` on are gone, as after the promotion of a standby that lacks them."""
        self.primary.sql(
            f"begin;\nupdate elapse.partition set last_group = {first - 1}, last_hash = (select hash_of_previous"
            f" from elapse.log_test_0_0 where group_number = {first});\n"
            f"delete from elapse.log_test_0_0 where group_number >= {first};\ncommit;\n")

    def witness(self, node):
        """Returns the group that the file says."""
        file = node.data / "witness"
        return int.from_bytes(file.read_bytes()[32:40], "little") if file.exists() else 0

    def nodes_with_groups(self):
        """An owner, and a node that has seen many groups and lost them. Both have ended."""
        owner = self.owner()
        follower = self.follower()
        self.put_many(owner, BEFORE)
        self.bodies = set(BEFORE)
        self.seen = self.row()["last_group"]

        def sees():
            body = f"body{len(self.bodies)}"
            self.bodies.add(body)
            self.put(owner, body, "TOKEN", body)
            return self.witness(follower) >= self.seen

        self.wait_until(sees, "the follower has written what it sees")
        follower.stop()
        owner.stop()
        shutil.rmtree(follower.data / "part-0")
        return follower

    def test_a_node_without_its_directory_marks_lost_groups(self):
        follower = self.nodes_with_groups()
        self.lose_groups(self.seen)
        follower.begin()
        self.ends_loudly(follower, "lacks groups that were acknowledged")
        self.assertRegex(self.row()["stopped"], rf"knows group \d+ of epoch \d+, and the database ended with group {self.seen - 1} ")
        # An operator accepts that. The node has nothing that it could give back, and goes on.
        self.succeed("accept-loss", "--partition", 0, "--yes")
        follower.start()
        self.wait_until(lambda: follower.owned() == 1, "it owns the partition")
        self.assertIn("this node has seen groups that the database lacks", follower.process.text())
        self.assertIn("knows group", self.row()["missed"])
        follower.stop()
        follower.start()
        self.wait_until(lambda: follower.owned() == 1, "it owns the partition again")
        self.assertNotIn("this node has seen groups", follower.process.text())

    def test_a_directory_that_no_list_names_is_compared(self):
        """Only the old owner knows what is lost. The others went on, and gave its copy to another node."""
        options = ("--followers", "1", "--balance-after", "1s", "--replace-after", "2s")
        first = self.owner("--node", "first", *options)
        self.put_many(first, BEFORE)
        first.kill()
        (first.data / "witness").unlink(missing_ok=True)
        self.lose_groups(self.row()["last_group"])
        others = [self.follower("--node", name, *options) for name in ("second", "third")]
        self.put_many(others[0], LATER)

        def lists():
            return self.primary.sql("select replicas from elapse.place where queue = 'test';\n").split()

        self.wait_until(lambda: sorted(lists()) == ["second", "third"], "the others have the copies")
        first.begin()
        self.ends_loudly(first, "lacks groups that were acknowledged")
        self.assertIn("knows group", self.row()["missed"])

    def test_a_log_that_is_whole_is_followed(self):
        follower = self.nodes_with_groups()
        follower.start()
        self.wait_until(lambda: follower.owned() == 1, "it owns the partition")
        self.assertEqual(set(self.take(follower)), self.bodies)
        self.assertEqual((self.row()["stopped"], self.row()["missed"]), ("", ""))

    def test_a_damaged_witness_is_no_reason_to_end(self):
        follower = self.nodes_with_groups()
        file = follower.data / "witness"
        file.write_bytes(file.read_bytes()[:-1])
        follower.start()
        self.wait_until(lambda: follower.owned() == 1, "it owns the partition")
        self.assertIn("the file is damaged, or of another queue", follower.process.text())


class AfterLoss(WrongStandbyTest):
    """All nodes have ended, because the primary lacks groups. That is made once, and is the beginning of
    each test: `kept` has the directories, and the tables of the primary as SQL.

        queue test, 1 partition     the directory `first`, of the owner, knows BEFORE and LATER; the
                                    primary and `second` know nothing of LATER; `half` is a copy of the
                                    first one, from when it knew half of LATER. The row has a mark.
        queue many, 2 partitions    `many`, of the last owner, knows BEFORE and LATER; the primary lacks
                                    LATER and the last take-overs. Nobody has marked that. `moved` is
                                    the same after another start, which has moved the jobs to a new
                                    file and freed the old one. `past` has what the primary has. A
                                    job of BEFORE's time was cancelled in LATER's.
    """

    kept = None

    def make_queue(self):
        if AfterLoss.kept is None:
            made = tempfile.TemporaryDirectory(prefix="elapse-loss-")
            unittest.addModuleCleanup(made.cleanup)
            super().make_queue()
            try:
                self.lose(pathlib.Path(made.name))
            except BaseException:
                self.addCleanup(self.servers.start)
                raise
            AfterLoss.kept = pathlib.Path(made.name)
        tables = (self.kept / "tables.sql").read_text(encoding="utf-8")
        self.primary.sql(f"begin;\ndrop schema if exists elapse cascade;\n{tables}\ncommit;\n")
        self.primary.end_session()  # it has the settings of the script

    def kept_node(self, name):
        """A node with a copy of a directory, which is not started yet."""
        node = self.node(queue="many" if name in ("many", "moved", "past") else "test")
        shutil.copytree(self.kept / name, node.data)
        return node

    # ---- how it was lost ----

    def put_keys(self, node, bodies):
        """A key says in which partition a job is."""
        self.assertEqual({self.put(node, body, "KEY", body) % 2 for body in bodies}, {0, 1})

    def begin_many(self, kept):
        """The queue many, with jobs, without an owner."""
        made = self.cluster("create", "--partitions", 2, "--lease", f"{self.lease_ms}ms", queue="many")
        self.assertEqual(made.returncode, 0, made)
        self.assertIn("warning: a lease below 2s", made.stderr)
        node = self.node(queue="many").start()
        self.wait_until(lambda: node.owned() == 2, "the node owns all")
        self.put_keys(node, BEFORE)
        self.put(node, "cancelled", "KEY", "cancelled")
        node.stop()
        shutil.copytree(node.data, kept / "past", ignore=SPARES)

    def go_on_with_many(self, kept):
        """Another node takes over, and dies, twice."""
        self.primary.sql("update elapse.partition set epoch = 7, beat = beat + 1 where queue = 'many';\n")
        node = self.node(queue="many").start()
        self.wait_until(lambda: node.owned() == 2, "the node owns all")
        self.put_keys(node, LATER)
        self.assertEqual(node.ask("CANCEL", "tube", "cancelled"), ["removed"])
        node.kill()
        shutil.copytree(node.data, kept / "many", ignore=SPARES)
        node.start()
        files = [node.data / f"part-{part}/journal/1.log" for part in range(2)]
        self.wait_until(lambda: not any(file.exists() for file in files), "the jobs have moved to new files")
        node.kill()
        shutil.copytree(node.data, kept / "moved", ignore=SPARES)

    def wait_for_standby(self, standby):
        """Waits until it has all that the primary has now."""
        now = self.primary.sql("select pg_current_wal_lsn();\n")
        self.wait_until(lambda: standby.sql(f"select pg_last_wal_receive_lsn() >= '{now}';\n") == "t",
                        "the standby has all")

    def wait_for_first_alone(self, first):
        """Waits until the first node owns the partition, and no statement of the other one is under way,
        which is frozen."""
        self.wait_until(lambda: self.row()["address"] == f"127.0.0.1:{first.port}" and self.number(
            f"select count(*) from pg_stat_activity where state <> 'idle' and {OF_NODES}") == 0,
                        "the first node owns it")

    def promote(self, behind, ahead):
        """Ends the primary and the standby that has all; the other one is the primary then."""
        self.primary.kill()
        ahead.kill()
        behind.start()
        self.servers.promote(behind)
        self.primary = behind
        self.servers.rebuild(ahead, behind)

    def lose(self, kept):
        """The owner alone learns of the jobs LATER; the standby that is promoted has nothing of them. It
        has all of BEFORE: `ANY 1` would not ensure that."""
        behind, ahead = self.servers[1], self.servers[2]
        self.begin_many(kept)
        first = self.owner()
        self.put_many(first, BEFORE)
        second = self.follower()
        self.wait_until(lambda: BEFORE[-1].encode() in b"".join(
            file.read_bytes() for file in second.data.glob("part-0/journal/*.log")), "the second node has BEFORE")
        second.freeze()
        self.wait_for_first_alone(first)
        self.wait_for_standby(behind)
        behind.kill()
        self.put_many(first, LATER[:10])
        shutil.copytree(first.data, kept / "half", ignore=SPARES)
        self.put_many(first, LATER[10:])
        self.go_on_with_many(kept)
        self.promote(behind, ahead)
        self.wait_until(lambda: self.row()["stopped"], "the owner has marked the row")
        second.thaw()
        self.ends_loudly(first, "lacks groups that were acknowledged", " knows group ")
        self.ends_loudly(second, "a node has found that the database lacks groups", " knows group ")
        for name, node in (("first", first), ("second", second)):
            shutil.copytree(node.data, kept / name)
        tables = cluster.run(self.servers.directory, "pg_dump", "-h", behind.directory, "-U", cluster.SUPERUSER,
                             "-n", "elapse", "postgres")
        (kept / "tables.sql").write_text(tables, encoding="utf-8")


class Stops(AfterLoss):
    def test_nodes_that_had_not_read_the_lost_groups_stop_too(self):
        """The two nodes of `lose` have done so."""
        part = json.loads(self.cluster("status", "--json").stdout)["partitions"][0]
        self.assertIn("the database ended with group", part["stopped"])
        self.assertFalse(part["alive"])
        done = self.cluster("status")
        self.assertEqual(done.returncode, 1)
        self.assertIn("partition 0 is stopped, because groups are lost: ", done.stdout)
        third = self.node()
        third.begin()
        self.ends_loudly(third, "a node has found")


class LateWords(AfterLoss):
    def test_words_that_nobody_has_seen_are_not_taken_away(self):
        """They come while append-lost looks whether a node lives, and change nothing else."""
        first = self.kept_node("first")
        self.primary.sql("begin;\nupdate elapse.partition set missed = 'late' where queue = 'test';\n")
        command = self.command("append-lost", "--data", first.data)
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            self.addCleanup(process.kill)
            self.wait_until(lambda: self.number("select count(*) from pg_locks where not granted"),
                            "it has looked, and waits for the row")
            self.primary.sql("commit;\n")
            said, words = process.communicate(timeout=cluster.PATIENCE_S)
        self.assertEqual(process.returncode, 1)
        self.assertIn("looking for ", said)
        self.assertIn("has changed meanwhile", words)
        self.assertEqual(self.row()["missed"], "late")


class ManyPartitionsTest(WrongStandbyTest):
    partitions = 2

    def lose_both(self, seconds):
        """Groups of both partitions are lost. The row of one of them has a mark, and to read that of the
        other one takes so long. Returns the only node that can mark it."""
        node = self.owner()
        for number in range(20):
            self.put(node, f"body{number}", "KEY", f"key{number}")
        node.stop()
        self.primary.sql("update elapse.partition set stopped = 'by hand' where part = 0;"
                         " update elapse.partition set last_group = 1 where part = 1;"
                         " alter table elapse.partition rename to all_partitions;"
                         " create view elapse.partition as select * from elapse.all_partitions"
                         f" where part = 0 or pg_sleep({seconds})::text is not null;\n")
        node.begin()
        return node

    def mark_of_second(self):
        return self.primary.sql("select stopped from elapse.all_partitions where part = 1;\n")


class Searches(ManyPartitionsTest):
    lease_ms = 4000  # the search goes on for two of them

    def test_a_partition_that_stops_does_not_end_the_search_in_others(self):
        node = self.lose_both(0.25)
        self.ends_loudly(node, "partition 1 cannot go on")
        self.assertIn(" knows group ", self.mark_of_second())


class SearchesInVain(ManyPartitionsTest):
    lease_ms = 1000

    def test_the_search_in_others_has_an_end(self):
        self.ends_loudly(self.lose_both(self.lease_ms / 1000))
        self.assertEqual(self.mark_of_second(), "")


class Repairs(AfterLoss):
    def test_lost_groups_of_a_directory_that_was_set_aside(self):
        """The node has made its copy anew since, and that one lacks the lost groups."""
        first, second = self.kept_node("first"), self.kept_node("second")
        (first.data / "part-0").rename(first.data / "part-0.left-1")
        shutil.copytree(second.data / "part-0", first.data / "part-0")
        said = self.succeed("append-lost", "--data", first.data)
        self.assertIn(f"the directory that was set aside: {first.data}/part-0.left-1\n", said)
        self.assertIn("appended again, up to group ", said)
        shutil.rmtree(first.data / "part-0")
        self.assertIn("nothing is to be appended", self.succeed("append-lost", "--data", first.data))
        second.start()
        self.wait_until(lambda: second.owned() == 1, "a node owns it")
        self.assertEqual(set(self.take(second)), {*BEFORE, *LATER})

    def test_a_directory_that_cannot_be_read_may_have_the_lost_groups(self):
        """Another one, which has no lost group, is no reason to say that nothing can be appended."""
        first, second = self.kept_node("first"), self.kept_node("second")
        shutil.copytree(second.data / "part-0", first.data / "part-0.left-1")
        shutil.rmtree(first.data / "part-0" / "journal")
        done = self.cluster("append-lost", "--data", first.data)
        self.assertEqual(done.returncode, 1, done)
        self.assertIn(f"{first.data}/part-0: this is no directory of a queue", done.stderr)
        self.assertNotIn("the database has all groups", done.stderr)

    def test_lost_groups_are_appended_again(self):
        first, second = self.kept_node("first"), self.kept_node("second")
        before = self.row()
        self.refused("nothing can be appended: the database has all groups of this directory",
                     "append-lost", "--data", second.data)
        said = self.succeed("append-lost", "--data", first.data)
        count, last = re.search(r"partition 0: (\d+) groups? (?:is|are) appended again, up to group (\d+);",
                                said).groups()
        self.assertGreater(int(count), 0)
        self.assertEqual(int(last), before["last_group"] + int(count))
        after = self.row()
        self.assertEqual((after["stopped"], after["owner"], after["last_group"]), ("", "", int(last)))
        self.assertGreater(after["epoch"], before["epoch"])
        self.assertIn(f"nothing is to be appended: the database has all groups of this directory, up to {last}\n",
                      self.succeed("append-lost", "--data", first.data))
        self.assertEqual((self.row()["epoch"], self.row()["last_group"]), (after["epoch"], int(last)))
        second.start()
        self.wait_until(lambda: second.owned() == 1, "a node owns it")
        self.refused("has opened this queue", "append-lost", "--data", second.data)
        first.start()
        self.assertEqual(set(self.take(first)), {*BEFORE, *LATER})

    def test_a_node_that_lives_is_noticed(self):
        first = self.kept_node("first")
        self.primary.sql("update elapse.queue set lease_ms = 3600000;\n")
        command = self.command("append-lost", "--data", first.data)
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            self.addCleanup(process.kill)
            while process.poll() is None:
                self.primary.sql("update elapse.partition set beat = beat + 1;\n")
            said, words = process.communicate()
        self.assertEqual(process.returncode, 1)
        self.assertIn("looking for 1h15m whether a node lives\n", said)
        self.assertIn("a node lives", words)
        self.assertNotEqual(self.row()["stopped"], "")

    def test_a_directory_that_has_not_all_of_them(self):
        """The mark stays until it has what it names, or the loss is accepted."""
        half, second = self.kept_node("half"), self.kept_node("second")
        before = self.row()
        named = int(re.search(r" knows group (\d+) ", before["stopped"]).group(1))
        said = self.refused(f"the mark names group {named}, and this directory ends with ", "append-lost",
                            "--data", half.data)
        self.assertIn("partition 0 was stopped: ", said)
        self.assertRegex(said, r"(?m) appended again, up to group \d+$")
        after = self.row()
        self.assertEqual(after["stopped"], before["stopped"])
        self.assertGreater(after["last_group"], before["last_group"])
        self.assertLess(after["last_group"], named)
        self.refused("nothing can be appended", "append-lost", "--data", half.data)
        second.begin()
        self.ends_loudly(second)
        first = self.kept_node("first")
        self.succeed("append-lost", "--data", first.data)
        self.assertEqual((self.row()["stopped"], self.row()["last_group"] >= named), ("", True))
        first.start()
        self.assertEqual(set(self.take(first)), {*BEFORE, *LATER})

    def test_it_goes_on_when_a_standby_is_there_again(self):
        """What was written is confirmed by a repetition."""
        first = self.kept_node("first")
        self.addCleanup(self.primary.set_names, NAMES)
        self.primary.set_names("")
        for verb in (("append-lost",), ("accept-loss", "--yes")):
            self.refused("synchronous_standby_names is empty", *verb, "--data", first.data)
        self.assertNotEqual(self.row()["stopped"], "")
        self.primary.set_names("ANY 1 (nobody)")
        self.refused("no synchronous standby has confirmed", "append-lost", "--data", first.data)
        self.refused("another session holds the row", "append-lost", "--data", first.data)
        self.primary.set_names(NAMES)
        self.wait_until(lambda: self.row()["stopped"] == "", "the first one has its standby")
        self.assertIn("nothing is to be appended", self.succeed("append-lost", "--data", first.data))
        self.assertEqual(self.row()["stopped"], "")

    def test_a_primary_of_the_past(self):
        """It is the first that answers."""
        first = self.kept_node("first")
        old = self.servers[0]
        self.assertIsNot(old, self.primary)
        self.addCleanup(old.kill)
        old.start()
        done = self.cluster("append-lost", "--data", first.data)
        self.assertEqual(done.returncode, 1, done)
        self.assertIn("this server is a primary of the past: its timeline is 1, and the node has seen 2", done.stderr)
        self.assertEqual(done.stdout, f"database at {old.directory}, port 5432, timeline 1\n")
        old.kill()
        self.assertEqual(self.cluster("append-lost", "--data", first.data).returncode, 0)

    def test_a_directory_of_another_queue_is_refused(self):
        first, second = self.kept_node("first"), self.kept_node("second")
        self.assertEqual(self.cluster("create", queue="other").returncode, 0)
        self.refused("the directory belongs to another queue or partition", "append-lost", "--data",
                     first.data, queue="other")
        self.refused("No such file", "append-lost", "--data", self.folder / "nowhere")
        self.assertEqual(self.cluster("append-lost", "--data", second.data, "--partition", 1).returncode, 2)

    def test_a_loss_that_is_accepted(self):
        """A node that knows what was lost ends, and does not stop the others again. What they have
        added cannot be joined with it."""
        first, second = self.kept_node("first"), self.kept_node("second")
        said = self.refused("nothing has changed", "accept-loss", "--data", first.data)
        self.assertRegex(said, r"the directory has [1-9]\d* groups? that the database lacks")
        self.assertNotEqual(self.row()["stopped"], "")
        self.succeed("accept-loss", "--yes")
        self.assertEqual(self.row()["stopped"], "")
        self.refused("there is nothing to accept", "accept-loss")
        self.assertIn("there is nothing to accept\n", self.succeed("accept-loss", "--yes"))
        second.start()
        self.put(second, "after")
        first.begin()
        self.ends_loudly(first, "lacks groups that were acknowledged")
        self.put(second, "later still")
        self.assertEqual(self.row()["stopped"], "")
        self.assertIn(" knows group ", self.row()["missed"])
        self.assertEqual(self.cluster("accept-loss", "--yes").returncode, 0)
        self.put(second, "and later")
        self.assertEqual(self.row()["missed"], "")
        second.stop()
        first.begin()
        self.ends_loudly(first, "lacks groups that were acknowledged")
        self.assertEqual(self.row()["stopped"], "")
        self.refused("the database went on with other groups behind group", "append-lost", "--data", first.data)
        # The node that ended has said what to do.
        log = first.process.log().decode()
        move = re.search(r"which keeps it: (mv '.*')$", log, re.MULTILINE).group(1)
        show = re.search(r"can still be seen: elapse (export '.*')$", log, re.MULTILINE).group(1)
        subprocess.run(move, shell=True, check=True)
        shown = subprocess.run(f"'{server_process.PROGRAM}' {show}", shell=True, check=True,
                               capture_output=True, text=True).stdout
        for body in (*BEFORE, *LATER):
            self.assertIn(body, shown)
        first.start()
        second.start()
        self.assertEqual(set(self.take(first)), {*BEFORE, "after", "later still", "and later"})


class Forgets(AfterLoss):
    """The server that was promoted lacks take-overs, too; nobody has marked anything."""

    def lasts(self):
        return [row["last_group"] for row in self.rows("many")]

    def test_each_partition_is_repaired(self):
        node = self.kept_node("many")
        rows = self.rows("many")
        self.assertEqual([(row["stopped"], row["epoch"]) for row in rows], [("", 1), ("", 1)])
        done = self.cluster("append-lost", "--data", node.data, queue="many")
        self.assertEqual(done.returncode, 2, done)
        self.assertIn("--partition is missing", done.stderr)
        for part in range(2):
            before = self.lasts()
            said = self.succeed("append-lost", "--data", node.data, "--partition", part, queue="many")
            self.assertIn(f"partition {part}: ", said)
            after = self.lasts()
            self.assertGreater(after[part], before[part])
            self.assertEqual(after[1 - part], before[1 - part])
        self.assertGreater(min(row["epoch"] for row in self.rows("many")), 8)
        node.start()
        self.wait_until(lambda: node.owned() == 2, "the node owns all")
        self.assertEqual(set(self.take(node)), {*BEFORE, *LATER})
        self.assertEqual([row["stopped"] for row in self.rows("many")], ["", ""])

    def test_a_directory_that_begins_behind_the_loss(self):
        """Nothing proves that its log goes on where the database ends; its jobs can still be seen."""
        node = self.kept_node("moved")
        before = self.rows("many")
        bodies = set()
        for part in range(2):
            self.refused("what lies between is not here. All jobs of the directory are in its groups from",
                         "append-lost", "--data", node.data, "--partition", part, queue="many")
            done = subprocess.run([server_process.PROGRAM, "export", str(node.data / f"part-{part}")], check=True,
                                  capture_output=True, text=True)
            bodies |= {json.loads(line)["body"] for line in done.stdout.splitlines()}
        self.assertEqual(bodies, {*BEFORE, *LATER})
        self.assertEqual(self.rows("many"), before)

    def test_the_log_begins_anew_with_a_directory(self):
        """Each of its jobs is there again, and none that had ended; nodes that know other groups read it
        from there on."""
        moved, past = self.kept_node("moved"), self.kept_node("past")
        before = self.rows("many")
        for part in range(2):
            said = self.succeed("append-lost", "--data", moved.data, "--partition", part, "--begin-anew", queue="many")
            first, end, missing, last = map(int, re.search(
                r"the log begins anew with group (\d+); that of the database, up to group (\d+), is given up, and the"
                r" (\d+) groups? between (?:is|are) in neither\n.* appended again, up to group (\d+);", said).groups())
            row = self.rows("many")[part]
            self.assertEqual(end, before[part]["last_group"])
            self.assertEqual((row["tail"], row["last_group"]), (first, last))
            self.assertEqual(missing, first - end - 1)
            self.assertGreater(missing, 0)
            self.assertGreater(row["epoch"], 8)
        past.start()
        self.wait_until(lambda: past.owned() == 2, "the node owns all")
        self.assertIn("the log, which is read again from group", past.process.text())
        moved.start()
        self.wait_until(lambda: moved.info()["partitions_without_owner"] == "0", "it follows")
        past.stop()
        self.assertEqual(set(self.take(moved)), {*BEFORE, *LATER})
        moved.stop()

    def test_the_log_does_not_begin_anew_where_owners_went_on(self):
        moved, past = self.kept_node("moved"), self.kept_node("past")
        self.primary.sql("update elapse.partition set epoch = 99 where queue = 'many';\n")
        self.refused("an owner of epoch 99, of which the directory knows nothing, may have gone on",
                     "append-lost", "--data", moved.data, "--partition", 0, "--begin-anew", queue="many")
        self.assertIn("nothing is to be appended", self.succeed(
            "append-lost", "--data", past.data, "--partition", 0, "--begin-anew", queue="many"))
        self.assertEqual([row["epoch"] for row in self.rows("many")], [99, 99])


if __name__ == "__main__":
    support.run_tests()
