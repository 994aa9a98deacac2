"""Tests that only some nodes have a copy of each partition, and that nothing is lost by that."""

import json
import os
import pathlib
import shutil
import re
import signal
import time
import urllib.request

import test_moves
from nodes_support import run_tests
from test_moves import Load


class Copies(test_moves.Moves):
    """Each partition has an owner and a follower, as nothing else is said."""

    lease_ms = 1000  # copies move once a lease, and files are kept for so many leases
    followers = ()
    options = ("--balance-after", "1s")

    def lists(self):
        """Returns the names of the nodes that each partition has in its list."""
        rows = self.primary.sql("select json_agg(coalesce(replicas, '') order by part) from elapse.partition"
                                " left join elapse.place using (queue, part) where queue = 'test';\n")
        return [names.split() for names in json.loads(rows)]

    def ready(self):
        """Returns for which partitions each node is ready, of those that live."""
        rows = self.primary.sql("select json_object_agg(name, ready) from elapse.node where queue = 'test'"
                                " and beat > clock_timestamp() - interval '2 s';\n")
        return {name: sorted(partitions) for name, partitions in json.loads(rows).items()}

    def are_in_place(self, copies):
        """Returns whether exactly the members of each list are ready, two of each partition."""
        lists, ready = self.lists(), self.ready()
        members = {name: [part for part, names in enumerate(lists) if name in names] for name in ready}
        return (all(len(names) == 2 for names in lists) and ready == members and
                sorted(map(len, ready.values())) == copies)

    def are_shown(self):
        """Returns whether `elapse cluster status` shows the lists, and an owner and a follower that is ready."""
        lists, parts = self.lists(), self.status()["partitions"]
        return all(sorted(part["replicas"]) == sorted(names) and
                   sorted(copy["state"] for copy in part["copies"]) == ["owner", "ready"]
                   for part, names in zip(parts, lists))

    def start_all(self, count, *options):
        nodes = [self.owner("--node", "n0", *self.options, *options)]
        for i in range(1, count):
            nodes.append(self.follower("--node", f"n{i}", *self.options, *options))
        return nodes

    def test_copies_are_spread(self):
        nodes = self.start_all(3)
        load = Load(nodes[2])
        self.wait_until(lambda: self.are_in_place([4, 4, 4]), "each node has four copies")
        self.wait_until(self.are_shown, "status shows them")
        self.wait_until(lambda: self.owned(nodes) == [2, 2, 2], "each node owns two")
        before = list(map(sorted, self.lists()))
        time.sleep(0.5)
        # A node that gets no processor tells nothing for a while, so it may not count as ready. The lists stay all the same.
        self.assertEqual(list(map(sorted, self.lists())), before)
        self.wait_until(lambda: self.are_in_place([4, 4, 4]), "each node still has four copies")
        self.assertEqual(list(map(sorted, self.lists())), before)
        self.finish(load)

    def put_all(self, node, count=60):
        self.bodies = {f"body{number}" for number in range(count)}
        with node.connect() as connection:
            for body in sorted(self.bodies):
                connection.send("PUT", "load", body, "KEY", body, "TOKEN", body)
            for body in self.bodies:
                self.assertIsInstance(connection.receive(), list)

    def take_rest(self, node):
        """Takes all jobs that are left, and expects that none is lost or doubled."""
        taken = self.take_all(node)
        self.assertEqual(len(taken), len(set(taken)))
        self.assertEqual(set(taken), self.bodies)

    def has_open(self, node, part):
        """Returns whether the node has files of the partition open."""
        folder = str(node.data / f"part-{part}") + "/"
        for file in pathlib.Path(f"/proc/{node.process.process.pid}/fd").iterdir():
            try:
                if os.readlink(file).startswith(folder):
                    return True
            except FileNotFoundError:  # it was closed meanwhile
                pass
        return False

    def test_an_owner_and_its_only_follower_die(self):
        """Nodes without a copy read the log of those partitions, and own them."""
        nodes = self.start_all(4)
        self.wait_until(lambda: self.are_in_place([3, 3, 3, 3]) and sorted(self.owned(nodes)) == [1, 1, 2, 2],
                        "the copies are spread")
        # Otherwise a third node may be about to get a copy, because it is to own the partition.
        self.cluster("pause")
        self.put_all(nodes[3])
        time.sleep(2)
        self.wait_until(lambda: self.are_in_place([3, 3, 3, 3]), "no copy is on its way")
        first, second = (int(name[1]) for name in self.lists()[3])
        alive = [node for number, node in enumerate(nodes) if number not in (first, second)]
        self.wait_until(lambda: not any(self.has_open(node, 3) for node in alive), "the others have no copy of it")
        self.assertTrue(self.has_open(nodes[first], 3) and self.has_open(nodes[second], 3))
        nodes[first].kill()
        nodes[second].kill()
        self.wait_until(lambda: sum(self.owned(alive)) == 6, "the others own all")
        self.take_rest(alive[0])
        self.wait_until(lambda: "partition 3: nobody looks after it, so this node reads its log" in
                        alive[0].process.text() + alive[1].process.text(), "the log says so")

    def left(self, node):
        """Returns of which partitions the node has files that it has left."""
        return [part for part in self.copies(node) if (node.data / f"part-{part}/left").exists()]

    def test_a_start_opens_no_copy_that_was_left(self):
        """It opens one whose file `left` is gone, or is older than the other files, and leaves it again."""
        nodes = self.start_all(3)
        self.put_all(nodes[0])
        self.wait_until(lambda: self.are_in_place([4, 4, 4]), "the copies are spread")
        node = nodes[1]  # it followed all until there were lists
        self.wait_until(lambda: len(self.left(node)) == 2, "the others were left")
        first, second = self.left(node)
        node.kill()
        node.start()
        self.assertFalse(self.has_open(node, first) or self.has_open(node, second))
        self.assertEqual(self.left(node), [first, second])
        self.wait_until(lambda: self.are_in_place([4, 4, 4]), "it is ready again")
        self.assertNotIn("gives up its copy", node.process.text())
        node.kill()
        (node.data / f"part-{first}/left").unlink()
        node.start()
        self.wait_until(lambda: f"partition {first}: this node gives up its copy" in node.process.text(),
                        "it has compared the files")
        self.wait_until(lambda: self.left(node) == [first, second], "it left them again")
        self.assertNotIn(f"partition {second}: this node gives up its copy", node.process.text())

    def test_a_copy_that_was_left_is_opened_when_it_is_called(self):
        """The file that says so goes before anything is written."""
        nodes = self.start_all(3)
        self.put_all(nodes[0])
        self.wait_until(lambda: self.are_in_place([4, 4, 4]), "the copies are spread")
        node = nodes[1]  # it followed all until there were lists
        self.wait_until(lambda: self.left(node), "it left some")
        part = self.left(node)[0]
        owner, follower = (nodes[int(name[1])] for name in self.lists()[part])
        owner.kill()
        follower.kill()
        self.wait_until(lambda: node.owned() == 6, "it owns all")
        self.assertEqual(self.left(node), [])
        self.take_rest(node)

    def aside(self, node):
        """Returns the directories that the node has set aside."""
        return sorted(node.data.glob("part-*.left-*"))

    @staticmethod
    def count(node, words):
        return node.process.text().count(words)

    def copies(self, node):
        """Returns of which partitions the node has a directory."""
        return sorted(int(path.name[len("part-"):]) for path in node.data.glob("part-*") if path.suffix == "")

    def left_files(self, node):
        """Returns the metric of each partition."""
        port = re.search(r"listening: http:127\.0\.0\.1:(\d+)", node.process.text())[1]
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/metrics") as page:
            text = page.read().decode()
        return [int(value) for value in re.findall(r'^elapse_partition_left_files\{partition="\d+"\} (\d+)$', text,
                                                   re.MULTILINE)]

    def wait_until_all_have_looked(self, count):
        """Waits until each of so many nodes has told of itself twice: in between it has looked at the database and
        decided."""
        for _ in range(2):
            now = self.primary.sql("select clock_timestamp();\n")
            self.wait_until(lambda now=now: self.number(
                f"select count(*) from elapse.node where queue = 'test' and beat > '{now}'") == count, "all have told")

    def give_up_soon(self, *options, keep="6s"):
        """Starts three nodes that soon set files aside, and waits until copies are spread."""
        nodes = self.start_all(3, "--keep-left", keep, *options)
        self.put_all(nodes[0])
        self.wait_until(lambda: self.are_in_place([4, 4, 4]), "the copies are spread")
        return nodes

    def test_files_of_copies_are_given_up(self):
        """They are set aside first, and then removed, and the node can make the copy anew."""
        nodes = self.give_up_soon()
        node = nodes[1]
        self.wait_until(lambda: self.count(node, "are set aside as") >= 2, "they are set aside")
        self.wait_until(lambda: all(len(self.copies(node)) == 4 and not self.aside(node) for node in nodes),
                        "they are removed")
        for other in nodes:
            self.wait_until(lambda other=other: self.count(other, "is removed: the log continues its") ==
                            self.count(other, "are set aside as"), "the log says so")
            self.assertFalse(list(other.data.glob("*.gone")))
            self.assertEqual(self.left(other), [])
        for other in (nodes[0], nodes[2]):
            other.kill()
        self.wait_until(lambda: node.owned() == 6, "it owns all")
        self.take_rest(node)

    def test_files_stay_while_groups_are_lost(self):
        """A node that came late has said so in the row of one partition."""
        self.primary.sql("update elapse.partition set missed = 'node x knows group 7' where part = 3;\n")
        nodes = self.give_up_soon("--http", "127.0.0.1:0")
        without = [node for number, node in enumerate(nodes) if f"n{number}" not in self.lists()[3]]
        self.wait_until(lambda: all(len(self.copies(node)) == 4 + (node in without) for node in nodes),
                        "the other files are set aside")
        self.wait_until(lambda: not any(self.aside(node) for node in nodes), "they are removed")
        self.assertTrue(all(self.left(node) == [3] for node in without))
        self.wait_until(lambda: all(self.left_files(node) == [0, 0, 0, 1, 0, 0] for node in without), "it is shown")

    def test_a_node_without_a_copy_ends_at_a_mark(self):
        """It would acknowledge for its other partitions what the right server does not have."""
        nodes = self.start_all(3)
        self.wait_until(lambda: self.are_in_place([4, 4, 4]), "each node has four copies")
        without = next(node for number, node in enumerate(nodes) if f"n{number}" not in self.lists()[3])
        self.primary.sql("update elapse.partition set stopped = 'node x knows group 7' where part = 3;\n")
        for node in nodes:
            node.fails = True
            self.assertEqual(node.process.wait(), 1)
        self.assertIn("partition 3, of which this node has no copy, cannot go on", without.process.text())

    def test_files_that_are_aside_stay_while_groups_are_lost(self):
        """The loss is found after they were set aside: append-lost may need them, however late the operator comes."""
        nodes = self.give_up_soon()
        self.wait_until(lambda: any(self.aside(node) for node in nodes), "some are set aside")
        self.primary.sql("update elapse.partition set missed = 'node x knows group 7';\n")
        self.wait_until_all_have_looked(len(nodes))
        time.sleep(1)  # a node may have decided before
        before = [self.aside(node) for node in nodes]
        self.assertTrue(any(before))
        time.sleep(8)
        self.assertEqual([self.aside(node) for node in nodes], before)
        self.primary.sql("update elapse.partition set missed = '';\n")
        self.wait_until(lambda: all(len(self.copies(node)) == 4 and not self.aside(node) for node in nodes),
                        "they are removed")

    def test_files_with_commands_that_were_not_confirmed_are_not_removed(self):
        nodes = self.give_up_soon(keep="12s")
        node = nodes[1]
        self.wait_until(lambda: self.aside(node), "some are set aside")
        kept = self.aside(node)[0]
        (kept / "journal" / "aside-1-7").write_bytes(b"commands")
        self.wait_until(lambda: f"{kept} stays, and is yours to remove" in node.process.text(), "the log says so")
        self.assertTrue((kept / "journal" / "aside-1-7").exists())

    def test_files_that_an_operator_removes_are_forgotten(self):
        nodes = self.give_up_soon(keep="12s")
        node = nodes[1]
        self.wait_until(lambda: self.aside(node), "some are set aside")
        removed = self.aside(node)[0]
        shutil.rmtree(removed)
        self.wait_until(lambda: f"{removed} is removed" in node.process.text(), "the log says so")
        self.assertFalse(removed.exists())

    def test_files_stay_while_moves_are_paused(self):
        nodes = self.give_up_soon(keep="12s")
        self.cluster("pause")
        self.wait_until(lambda: any(self.left(node) for node in nodes) or any(map(self.aside, nodes)), "some were left")
        self.wait_until_all_have_looked(len(nodes))
        time.sleep(1)
        before = [(self.copies(node), self.aside(node)) for node in nodes]
        time.sleep(2)
        self.assertEqual([(self.copies(node), self.aside(node)) for node in nodes], before)
        self.cluster("resume")
        self.wait_until(lambda: all(len(self.copies(node)) == 4 and not self.aside(node) for node in nodes),
                        "they are given up")

    def test_files_that_were_set_aside_are_known_after_a_start(self):
        nodes = self.give_up_soon()
        node = nodes[1]
        self.wait_until(lambda: self.aside(node), "some are set aside")
        node.stop()
        aside = self.aside(node)
        gone = node.data / "part-5.gone" / "journal"
        gone.mkdir(parents=True)
        (gone / "1.log").write_bytes(b"a rest")
        node.start()
        self.assertFalse(gone.parent.exists())
        self.assertEqual(self.aside(node), aside)
        self.wait_until(lambda: not self.aside(node), "they are removed")
        self.take_rest(node)

    def test_a_node_that_stays_away_loses_its_copies(self):
        nodes = self.start_all(3, "--replace-after", "4s")
        self.wait_until(lambda: self.are_in_place([4, 4, 4]), "the copies are spread")
        self.put_all(nodes[0])
        nodes[2].kill()
        self.wait_until(lambda: self.are_in_place([6, 6]), "the others have all copies")
        nodes[2].start()
        self.wait_until(lambda: self.are_in_place([4, 4, 4]), "it has copies again")
        nodes[0].kill()
        self.wait_until(lambda: sum(self.owned(nodes[1:])) == 6, "the others own all")
        self.take_rest(nodes[2])

    def guests(self):
        """Returns how often a node without a copy has opened a partition because nobody owned it."""
        return sum(log.read_text(encoding="utf-8", errors="replace").count("nobody looks after it")
                   for node in self.nodes for log in node.directory.glob("log*"))

    def test_a_short_absence_costs_no_copy(self):
        """On a machine with much other work a node may miss its lease. Then a guest comes, and stays in the list, so the
        test begins again."""
        nodes = self.start_all(3)
        for _ in range(5):
            self.wait_until(lambda: self.are_in_place([4, 4, 4]) and self.owned(nodes) == [2, 2, 2],
                            "the copies are spread")
            before, guests = self.lists(), self.guests()
            nodes[1].stop()
            self.wait_until(lambda: len(self.ready()) == 2, "it is away")
            nodes[1].start()
            self.wait_until(lambda: self.are_in_place([4, 4, 4]), "it is ready again")
            if self.guests() == guests:
                self.assertEqual(list(map(sorted, self.lists())), list(map(sorted, before)))
                return
        self.fail("guests came each time")

    def test_a_partition_moves_to_a_node_without_a_copy(self):
        """The node gets a copy first."""
        nodes = self.start_all(3)
        self.wait_until(lambda: self.are_in_place([4, 4, 4]), "the copies are spread")
        part, name = next((part, name) for part, names in enumerate(self.lists())
                          for name in ("n1", "n2") if name not in names)
        load = Load(nodes[0])
        self.cluster("move", part, name)
        self.wait_until(lambda: self.owners()[part] == name, "it owns the partition")
        self.wait_until(lambda: [len(names) for names in self.lists()] == [2] * 6, "another one gave up its copy")
        self.assertIn(name, self.lists()[part])
        self.finish(load)

    def test_a_session_that_hangs_is_given_up_soon(self):
        """The node watches all rows on one session. A server that does not answer keeps it for a lease only."""
        self.start_all(2)
        self.wait_for_nodes(2)

        def sessions():
            rows = self.primary.sql("select json_agg(pid) from pg_stat_activity"
                                    " where application_name = 'elapse/test/nodes';\n")
            return set(json.loads(rows))

        def beats():
            return int(self.primary.sql("select beat from elapse.partition where queue = 'test' and part = 0;\n"))

        self.wait_until(lambda: len(sessions()) == 2, "each node has a session")
        stuck, before = min(sessions()), beats()
        os.kill(stuck, signal.SIGSTOP)
        try:
            self.wait_until(lambda: len(sessions() - {stuck}) == 2, "the node has another session")
            # The owner of the partition writes four beats a lease. A command waits for 12 leases of this queue.
            self.assertLess(beats() - before, 4 * 8)
        finally:
            os.kill(stuck, signal.SIGCONT)

    def test_copies_are_in_two_zones(self):
        nodes = [self.owner("--node", "n0", "--zone", "a", *self.options)]
        nodes += [self.follower("--node", f"n{i}", "--zone", zone, *self.options) for i, zone in ((1, "a"), (2, "b" * 31))]
        self.wait_until(lambda: self.are_in_place([3, 3, 6]), "one copy of each is in the other zone")
        self.assertTrue(all("n2" in names for names in self.lists()))
        self.assertEqual([node["zone"] for node in self.status()["nodes"]], ["a", "a", "b" * 31])
        for zone in ("", "b" * 32):
            node = self.node("--zone", zone)
            node.begin()
            self.assertEqual(node.process.wait(), 2)
            self.assertIn("--zone: a zone has 1 to 31 bytes", node.process.text())
        node = self.node("--zone", b"Z\xfcrich")
        node.fails = True
        node.begin()
        node.process.wait()
        self.assertIn("--zone: a zone is text in UTF-8", node.process.text())

    def test_a_database_without_zones(self):
        """One that an older program has made."""
        self.primary.sql("alter table elapse.node drop column zone;\n")
        self.start_all(3, "--zone", "a")
        self.wait_until(lambda: self.are_in_place([4, 4, 4]), "the copies are spread")
        self.cluster("upgrade")
        self.wait_until(lambda: [node["zone"] for node in self.status()["nodes"]] == ["a"] * 3, "it has zones")

    def test_all_follow_again(self):
        nodes = self.start_all(3)
        self.wait_until(lambda: self.are_in_place([4, 4, 4]), "the copies are spread")
        self.put_all(nodes[0])
        for node in nodes:
            node.stop()
            node.options += ["--followers", "all"]
            node.start()
        self.wait_for_nodes(3)
        self.wait_until(lambda: self.lists() == [[]] * 6, "all follow all partitions")
        self.take_rest(nodes[1])

    def test_a_database_without_lists(self):
        """One that an older program has made."""
        self.primary.sql("alter table elapse.place drop column replicas;\n")
        nodes = self.start_all(2)
        self.wait_for_nodes(2)
        self.wait_until(lambda: "--followers does nothing" in nodes[0].process.text(), "it says so")
        self.cluster("upgrade")
        self.wait_until(lambda: [len(names) for names in self.lists()] == [2] * 6, "there are lists")

    def test_a_queue_of_old_nodes(self):
        """Nodes of 0.2 may run, which know no lists. The table may have some, from a moment after an upgrade."""
        self.primary.sql("update elapse.queue set hash_tags = false, level = 0;\n"
                         "update elapse.version set version = 2 where component = 'cluster';\n"
                         "insert into elapse.place (queue, part, replicas) values ('test', 5, 'n0');\n")
        nodes = self.start_all(3)
        self.wait_for_nodes(3)
        self.put_all(nodes[2])
        self.wait_until(lambda: self.ready() == {f"n{i}": list(range(6)) for i in range(3)}, "all follow all")
        self.wait_until(lambda: self.owned(nodes) == [2, 2, 2], "each node owns two")
        self.assertEqual(self.lists(), [[]] * 5 + [["n0"]])
        self.wait_until(lambda: any("--followers does nothing" in node.process.text() for node in nodes), "one says so")
        self.cluster("upgrade")
        self.wait_until(lambda: self.are_in_place([4, 4, 4]), "the copies are spread")
        self.take_rest(nodes[1])


for name in dir(test_moves.Moves):  # they have a class of their own
    if name.startswith("test_"):
        setattr(Copies, name, None)
del test_moves.Moves

if __name__ == "__main__":
    run_tests()
