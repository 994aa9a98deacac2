"""A standby is promoted that lacks acknowledged groups: nobody goes on without them, and an operator has
two ways out."""

import json
import re
import shutil
import signal
import subprocess

import nodes_support as support
from nodes_support import NodesTest, server_process

BEFORE = [f"before{number}" for number in range(20)]
LATER = [f"later{number}" for number in range(20)]


class WrongStandbyTest(NodesTest):
    renews = True

    def command(self, *arguments, queue="test"):
        hosts = [word for host in self.servers.hosts() for word in ("--cluster", host)]
        return [server_process.PROGRAM, "cluster", *map(str, arguments), "--queue", queue, *hosts]

    def cluster(self, *arguments, **options):
        return subprocess.run(self.command(*arguments, **options), capture_output=True, text=True, check=False,
                              stdin=subprocess.DEVNULL, timeout=support.cluster.PATIENCE_S)

    def refused(self, words, *arguments, **options):
        done = self.cluster(*arguments, **options)
        self.assertEqual(done.returncode, 1, done)
        self.assertIn(words, done.stderr)
        return done.stdout

    def status(self):
        return json.loads(self.cluster("status", "--json").stdout)["partitions"][0]

    def ends_loudly(self, node, *words):
        self.assertEqual(node.process.wait(), 1, node.process.text())
        for text in ("partition 0 cannot go on", *words):
            self.assertIn(text, node.process.text())
        node.fails = True

    def promote(self, behind, ahead):
        """Ends the primary and the standby that has all; the other one is the primary then."""
        self.primary.kill()
        ahead.kill()
        behind.start()
        self.servers.promote(behind)
        self.primary = behind
        self.servers.rebuild(ahead, behind)

    def lose(self, between=lambda owner: None):
        """Two nodes; the owner alone knows of the jobs LATER, and the server that is the primary now
        lacks them. Returns both: the owner is about to end. `between`: called when it has half."""
        first = self.owner()
        second = self.follower()
        self.put_many(first, BEFORE)
        behind, ahead = self.servers[1], self.servers[2]
        second.process.signal(signal.SIGSTOP)
        behind.kill()
        self.put_many(first, LATER[:10])
        between(first)
        self.put_many(first, LATER[10:])
        self.promote(behind, ahead)
        second.process.signal(signal.SIGCONT)
        return first, second

    def data(self, node):
        return node.directory / "data"


class Stops(WrongStandbyTest):
    def test_nodes_that_had_not_read_the_lost_groups_stop_too(self):
        first, second = self.lose()
        self.ends_loudly(first, "lacks groups that were acknowledged", " knows group ")
        self.ends_loudly(second, "a node has found that the database lacks groups", " knows group ")
        part = self.status()
        self.assertIn("the database ended with group", part["stopped"])
        self.assertFalse(part["alive"])
        done = self.cluster("status")
        self.assertEqual(done.returncode, 1)
        self.assertIn("partition 0 is stopped, because groups are lost: ", done.stdout)
        third = self.node()
        third.begin()
        self.ends_loudly(third, "a node has found")


class LateWords(WrongStandbyTest):
    def test_words_that_nobody_has_seen_are_not_taken_away(self):
        """They come while append-lost looks whether a node lives, and change nothing else."""
        first, second = self.lose()
        self.ends_loudly(first)
        self.ends_loudly(second)
        command = self.command("append-lost", "--data", first.directory / "data")
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            self.wait_until(lambda: self.primary.sql("select count(*) from pg_stat_activity where query like"
                                                     " '%stopped, missed%' and pid <> pg_backend_pid();\n") != "0",
                            "it looks")
            self.primary.sql("update elapse.partition set missed = 'late';\n")
            _, words = process.communicate(timeout=support.cluster.PATIENCE_S)
        self.assertEqual(process.returncode, 1)
        self.assertIn("has changed meanwhile", words)
        self.assertEqual(self.status()["missed"], "late")


class ManyPartitions(WrongStandbyTest):
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

    def test_a_partition_that_stops_does_not_end_the_search_in_others(self):
        node = self.lose_both(self.lease_ms / 4000)
        self.ends_loudly(node, "partition 1 cannot go on")
        self.assertIn(" knows group ", self.mark_of_second())

    def test_the_search_in_others_has_an_end(self):
        self.ends_loudly(self.lose_both(self.lease_ms))
        self.assertEqual(self.mark_of_second(), "")


class Repairs(WrongStandbyTest):
    def stopped(self, **options):
        """The two nodes, both of which have ended: the directory of the first one has all groups."""
        first, second = self.lose(**options)
        self.ends_loudly(first)
        self.ends_loudly(second)
        return first, second

    def test_lost_groups_are_appended_again(self):
        first, second = self.stopped()
        before = self.status()
        self.refused("nothing can be appended: the database has all groups of this directory",
                     "append-lost", "--data", self.data(second))
        done = self.cluster("append-lost", "--data", self.data(first))
        self.assertEqual(done.returncode, 0, done)
        count, last = re.search(r"partition 0: (\d+) groups? (?:is|are) appended again, up to group (\d+);",
                                done.stdout).groups()
        self.assertGreater(int(count), 0)
        self.assertEqual(int(last), before["last_group"] + int(count))
        after = self.status()
        self.assertEqual((after["stopped"], after["owner"], after["last_group"]), ("", "", int(last)))
        self.assertGreater(after["epoch"], before["epoch"])
        done = self.cluster("append-lost", "--data", self.data(first))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn(f"nothing is to be appended: the database has all groups of this directory, up to {last}\n",
                      done.stdout)
        self.assertEqual((self.status()["epoch"], self.status()["last_group"]), (after["epoch"], int(last)))
        second.start()
        self.wait_until(lambda: second.owned() == 1, "a node owns it")
        self.refused("has opened this queue", "append-lost", "--data", self.data(second))
        first.start()
        self.assertEqual(set(self.take(first)), {*BEFORE, *LATER})

    def test_a_node_that_lives_is_noticed(self):
        first, _ = self.stopped()
        command = self.command("append-lost", "--data", self.data(first))
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
            while process.poll() is None:
                self.primary.sql("update elapse.partition set beat = beat + 1;\n")
            said, words = process.communicate()
        self.assertEqual(process.returncode, 1)
        self.assertIn("looking for 1s250ms whether a node lives\n", said)
        self.assertIn("a node lives", words)
        self.assertNotEqual(self.status()["stopped"], "")

    def test_a_directory_that_has_not_all_of_them(self):
        """The mark stays until it has what it names, or the loss is accepted."""
        part_of_them = self.folder / "copy"
        first, second = self.stopped(between=lambda owner: shutil.copytree(self.data(owner), part_of_them))
        before = self.status()
        named = int(re.search(r" knows group (\d+) ", before["stopped"]).group(1))
        said = self.refused(f"the mark names group {named}, and this directory ends with ", "append-lost",
                            "--data", part_of_them)
        self.assertIn("partition 0 was stopped: ", said)
        self.assertRegex(said, r"(?m) appended again, up to group \d+$")
        after = self.status()
        self.assertEqual(after["stopped"], before["stopped"])
        self.assertGreater(after["last_group"], before["last_group"])
        self.assertLess(after["last_group"], named)
        self.refused("nothing can be appended", "append-lost", "--data", part_of_them)
        second.begin()
        self.ends_loudly(second)
        done = self.cluster("append-lost", "--data", self.data(first))
        self.assertEqual(done.returncode, 0, done)
        self.assertEqual((self.status()["stopped"], self.status()["last_group"] >= named), ("", True))
        first.start()
        self.assertEqual(set(self.take(first)), {*BEFORE, *LATER})

    def test_it_goes_on_when_a_standby_is_there_again(self):
        """What was written is confirmed by a repetition."""
        first, _ = self.stopped()
        self.primary.set_names("")
        for verb in (("append-lost",), ("accept-loss", "--yes")):
            self.refused("synchronous_standby_names is empty", *verb, "--data", self.data(first))
        self.assertNotEqual(self.status()["stopped"], "")
        self.primary.set_names("ANY 1 (nobody)")
        self.refused("no synchronous standby has confirmed", "append-lost", "--data", self.data(first))
        self.refused("another session holds the row", "append-lost", "--data", self.data(first))
        self.primary.set_names("ANY 1 (s0,s1,s2)")
        self.wait_until(lambda: self.status()["stopped"] == "", "the first one has its standby")
        done = self.cluster("append-lost", "--data", self.data(first))
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("nothing is to be appended", done.stdout)
        self.assertEqual(self.status()["stopped"], "")

    def test_a_primary_of_the_past(self):
        """It is the first that answers."""
        first, _ = self.stopped()
        old = self.servers[0]
        self.assertIsNot(old, self.primary)
        old.start()
        done = self.cluster("append-lost", "--data", self.data(first))
        self.assertEqual(done.returncode, 1, done)
        self.assertIn("this server is a primary of the past: its timeline is 1, and the node has seen 2", done.stderr)
        self.assertEqual(done.stdout, f"database at {old.directory}, port 5432, timeline 1\n")
        old.kill()
        self.assertEqual(self.cluster("append-lost", "--data", self.data(first)).returncode, 0)

    def test_a_directory_of_another_queue_is_refused(self):
        first, second = self.stopped()
        self.assertEqual(self.cluster("create", queue="other").returncode, 0)
        self.refused("the directory belongs to another queue or partition", "append-lost", "--data",
                     self.data(first), queue="other")
        self.refused("No such file", "append-lost", "--data", self.folder / "nowhere")
        self.assertEqual(self.cluster("append-lost", "--data", self.data(second), "--partition", 1).returncode, 2)

    def test_a_loss_that_is_accepted(self):
        """A node that knows what was lost ends, and does not stop the others again. What they have
        added cannot be joined with it."""
        first, second = self.stopped()
        said = self.refused("nothing has changed", "accept-loss", "--data", self.data(first))
        self.assertRegex(said, r"the directory has [1-9]\d* groups? that the database lacks")
        self.assertNotEqual(self.status()["stopped"], "")
        done = self.cluster("accept-loss", "--yes")
        self.assertEqual(done.returncode, 0, done)
        self.assertEqual(self.status()["stopped"], "")
        self.refused("there is nothing to accept", "accept-loss")
        done = self.cluster("accept-loss", "--yes")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertIn("there is nothing to accept\n", done.stdout)
        second.start()
        self.put(second, "after")
        first.begin()
        self.ends_loudly(first, "lacks groups that were acknowledged")
        self.put(second, "later still")
        self.assertEqual(self.status()["stopped"], "")
        self.assertIn(" knows group ", self.status()["missed"])
        self.assertEqual(self.cluster("accept-loss", "--yes").returncode, 0)
        self.put(second, "and later")
        self.assertEqual(self.status()["missed"], "")
        second.stop()
        first.begin()
        self.ends_loudly(first, "lacks groups that were acknowledged")
        self.assertEqual(self.status()["stopped"], "")
        self.refused("the database went on with other groups behind group", "append-lost", "--data",
                     self.data(first))
        second.start()
        self.assertEqual(set(self.take(second)), {*BEFORE, "after", "later still", "and later"})


class Forgets(WrongStandbyTest):
    """The server that is promoted lacks take-overs, too; nobody has marked anything."""

    partitions = 2

    def put_keys(self, node, bodies):
        """A key says in which partition a job is."""
        self.assertEqual({self.put(node, body, "KEY", body) % 2 for body in bodies}, {0, 1})

    def rows(self):
        return json.loads(self.cluster("status", "--json").stdout)["partitions"]

    def test_each_partition_is_repaired(self):
        first = self.owner()
        self.put_keys(first, BEFORE)
        behind, ahead = self.servers[1], self.servers[2]
        behind.kill()
        self.primary.sql("update elapse.partition set epoch = 7, owner = '', beat = beat + 1;\n")
        self.wait_until(lambda: self.number("select min(epoch) from elapse.partition") > 7
                        and first.owned() == self.partitions, "the node owns all again")
        self.put_keys(first, LATER)
        first.kill()
        self.promote(behind, ahead)
        rows = self.rows()
        self.assertEqual([row["stopped"] for row in rows], ["", ""])
        done = self.cluster("append-lost", "--data", self.data(first))
        self.assertEqual(done.returncode, 2, done)
        self.assertIn("--partition is missing", done.stderr)
        for part in range(self.partitions):
            done = self.cluster("append-lost", "--data", self.data(first), "--partition", part)
            self.assertEqual(done.returncode, 0, done)
            self.assertIn(f"partition {part}: ", done.stdout)
            self.assertEqual([self.rows()[other]["last_group"] for other in range(part + 1, self.partitions)],
                             [rows[other]["last_group"] for other in range(part + 1, self.partitions)])
            self.assertGreater(self.rows()[part]["last_group"], rows[part]["last_group"])
        first.start()
        self.wait_until(lambda: first.owned() == self.partitions, "the node owns all")
        self.assertEqual(set(self.take(first)), {*BEFORE, *LATER})
        self.assertEqual([row["stopped"] for row in self.rows()], ["", ""])


if __name__ == "__main__":
    support.run_tests()
