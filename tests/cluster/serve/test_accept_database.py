"""Tests elapse cluster accept-database: a node uses a database that was made anew by dump and restore."""

import os
import shutil
import subprocess

import nodes_support as support
from nodes_support import NodesTest
from postgres_support import cluster

PROGRAM = os.environ.get("ELAPSE_PROGRAM", str(support.ROOT / "build/developer/elapse"))


class AcceptDatabase(NodesTest):
    partitions = 2
    lease_ms = 500

    def setUp(self):
        super().setUp()
        self.other = cluster.Servers(count=1)
        self.addCleanup(self.other.end)
        self.other.start()
        self.other.primary.set_names("")

    def restore(self):
        """Makes the other server's tables of those of the primary."""
        programs = cluster.folder_of_programs()
        self.other.primary.sql("drop schema if exists elapse cascade;\n")
        dump = subprocess.run([f"{programs}/pg_dump", "--schema=elapse", "--no-owner", self.primary.host],
                              check=True, capture_output=True, text=True)
        subprocess.run([f"{programs}/psql", "--quiet", "--set=ON_ERROR_STOP=1", self.other.primary.host],
                       input=dump.stdout, check=True, capture_output=True, text=True)

    def accept(self, node, *options):
        done = subprocess.run([PROGRAM, "cluster", "accept-database", "--queue", "test", "--data", str(node.data),
                               "--cluster", self.other.primary.host, *map(str, options)], capture_output=True,
                              text=True, check=False, stdin=subprocess.DEVNULL, timeout=60)
        self.assertIn(done.returncode, (0, 1, 2, 3), done)
        return done

    def refused(self, words, node, *options):
        done = self.accept(node, *options)
        self.assertEqual(done.returncode, 1, done)
        self.assertIn(words, done.stderr)

    def move_to_other(self, node):
        """Lets the node use the other server, without a standby."""
        node.options = [self.other.primary.host if word in self.servers.hosts() else word for word in node.options]
        node.options.append("--single-copy")
        # The same server is named once.
        at = [i for i, word in enumerate(node.options) if word == "--cluster"]
        for i in reversed(at[1:]):
            del node.options[i:i + 2]

    def test_a_database_that_was_restored_is_accepted(self):
        node = self.owner()
        self.put_many(node, [str(i) for i in range(50)])
        node.stop()
        self.restore()
        self.move_to_other(node)
        node.start()
        self.wait_until(lambda: "another system" in node.process.text(), "the node refuses the database")
        self.refused("has opened this queue", node, "--yes")
        node.kill()
        before = (node.data / "part-0/cluster").read_bytes()
        self.refused("say --yes", node)
        self.assertEqual((node.data / "part-0/cluster").read_bytes(), before)
        done = self.accept(node, "--yes")
        self.assertEqual((done.returncode, done.stderr), (0, ""), done)
        self.assertIn("2 partitions of the directory use this database now", done.stdout)
        self.assertIn("the old database is not looked at", done.stdout)
        self.assertIn("nothing is to be accepted", self.accept(node, "--yes").stdout)
        node.start()
        self.wait_until(lambda: node.owned() == 2, "the node owns all")
        self.assertEqual(len(self.take(node)), 50)

    def test_a_node_without_a_copy_keeps_what_it_has_seen(self):
        """It has no directory of a partition. The database is another one until an operator says something."""
        owner, node = self.owner(), self.node().start()
        self.wait_until(lambda: int(node.info()["partitions_without_owner"]) == 0, "it knows all owners")
        self.put_many(owner, [str(i) for i in range(50)])
        self.wait_until((node.data / "witness").exists, "it has seen groups")
        node.stop()
        owner.stop()
        for part in (0, 1):
            shutil.rmtree(node.data / f"part-{part}")
        before = (node.data / "witness").read_bytes()
        self.restore()
        self.move_to_other(node)
        node.start()
        self.wait_until(lambda: "another system" in node.process.text(), "the node refuses the database")
        node.kill()
        self.assertEqual((node.data / "witness").read_bytes(), before)
        shutil.rmtree(node.data / "part-0", ignore_errors=True)
        shutil.rmtree(node.data / "part-1", ignore_errors=True)
        self.refused("say --yes", node)
        done = self.accept(node, "--yes")
        self.assertEqual((done.returncode, done.stderr), (0, ""), done)
        self.assertIn("partition 1: the node has no copy", done.stdout)
        self.assertIn("nothing is to be accepted", self.accept(node, "--yes").stdout)
        node.start()
        self.wait_until(lambda: node.owned() == 2, "the node owns all")
        self.assertEqual(len(self.take(node)), 50)

    def test_a_directory_that_no_node_has_used_is_refused(self):
        node = self.owner()
        node.stop()
        self.restore()
        shutil.rmtree(node.data)
        self.refused("no node has used it", node, "--yes")

    def test_one_partition_of_two(self):
        node = self.owner()
        node.stop()
        self.restore()
        self.assertIn("1 partition of the directory uses", self.accept(node, "--yes", "--partition", 1).stdout)
        self.assertIn("1 partition of the directory uses", self.accept(node, "--yes").stdout)
        self.assertEqual(self.accept(node, "--yes", "--partition", 2).returncode, 2)

    def test_a_copy_that_is_too_old_is_refused(self):
        node = self.owner()
        self.put_many(node, ["kept"])
        self.restore()
        self.put_many(node, [str(i) for i in range(50)])
        node.stop()
        self.refused("restore a later copy", node, "--yes")

    @staticmethod
    def seen_groups(node):
        """Returns the last group that the node has seen of each partition, from its file `witness`."""
        file = node.data / "witness"
        text = file.read_bytes() if file.exists() else b""
        return [int.from_bytes(text[at:at + 8], "little") for at in (32, 80) if len(text) >= at + 8]

    def test_a_copy_before_what_a_node_without_directories_has_seen_is_refused(self):
        owner, node = self.owner(), self.node().start()
        self.wait_until(lambda: int(node.info()["partitions_without_owner"]) == 0, "it knows all owners")
        self.put_many(owner, ["kept"])
        self.restore()
        ends = [int(line) for line in self.other.primary.sql("select last_group from elapse.partition order by part;\n").split()]

        def has_seen_more():
            self.put_many(owner, ["more"])
            return any(seen > end for seen, end in zip(self.seen_groups(node), ends))
        self.wait_until(has_seen_more, "it has seen groups that the copy lacks")
        node.stop()
        owner.stop()
        for part in (0, 1):
            shutil.rmtree(node.data / f"part-{part}")
        before = (node.data / "witness").read_bytes()
        self.refused("the node has seen group", node, "--yes")
        self.restore()
        self.other.primary.sql("update elapse.partition set epoch = 0;\n")
        self.refused("the database is older than what the node has seen", node, "--yes")
        self.assertEqual((node.data / "witness").read_bytes(), before)

    def test_a_copy_that_lacks_an_owner_is_refused(self):
        node = self.owner()
        node.stop()
        self.restore()
        self.other.primary.sql("update elapse.partition set epoch = 0;\n")
        self.refused("it lacks an owner that the node knows", node, "--yes")

    def test_another_log_is_refused(self):
        node = self.owner()
        self.put_many(node, [str(i) for i in range(20)])
        kept = self.folder / "kept"
        node.stop()
        shutil.copytree(node.data, kept)
        self.restore()
        # The old database goes on, and the directory of a node has what it wrote.
        self.other.primary.sql("update elapse.partition set last_hash = last_hash + 1;\n")
        self.refused("went on with other groups", node, "--yes")
        self.other.primary.sql("update elapse.partition set last_hash = last_hash - 1, stopped = 'x';\n")
        self.refused("it is stopped", node, "--yes")

    def test_a_node_that_lives_is_noticed(self):
        node = self.owner()
        node.stop()
        self.restore()
        other = self.node()
        self.move_to_other(other)
        other.start()
        self.wait_until(lambda: other.owned() == 2, "a new node owns all of the new database")
        # The command watches for 5/4 of this; the node keeps the lease that it read at its start.
        self.other.primary.sql("update elapse.queue set lease_ms = 3600000;\n")
        self.refused("a node uses this database", node, "--yes")

    def test_an_old_primary_of_the_same_database_is_refused(self):
        """The node has used timeline 2. The server with the same system is on timeline 1."""
        node = self.owner()
        node.stop()
        self.restore()
        server, kept = self.other.primary, self.folder / "timeline1"
        server.stop()
        shutil.copytree(server.data, kept)
        server.become_standby()
        self.other.give_to_user(server.data / "standby.signal")
        server.start()
        self.other.promote(server)
        # A checkpoint writes the new timeline where it is read.
        server.sql("checkpoint;\n")
        self.assertIn(", timeline 2\n", self.accept(node, "--yes").stdout)
        before = (node.data / "part-0/cluster").read_bytes()
        server.stop()
        shutil.rmtree(server.data)
        shutil.copytree(kept, server.data)
        for path in (server.data, *server.data.rglob("*")):
            self.other.give_to_user(path)
        server.start()
        self.refused("this is an old server of the same database", node)
        self.refused("it is on timeline 1, and the node has used timeline 2", node, "--yes")
        self.assertEqual((node.data / "part-0/cluster").read_bytes(), before)

    def test_the_directory_of_another_queue_is_refused(self):
        node = self.owner()
        node.stop()
        self.restore()
        self.other.primary.sql("update elapse.queue set identity = decode(repeat('ab', 16), 'hex');\n")
        self.refused("belongs to another queue or partition", node, "--yes")


if __name__ == "__main__":
    support.run_tests()
