"""Tests nodes for which it takes longer than a lease to bring a partition into service, as with very many jobs.
ELAPSE_SLOW_BEGIN names the program that is so slow (slow_begin.c)."""

import os
import re
import time

import nodes_support as support
import server_process
from nodes_support import NodesTest

SLOW_MS = 2500


class SlowNode(support.Node):
    settings = {"ELAPSE_SLOW_BEGIN_MS": str(SLOW_MS)}

    def begin(self):
        self.starts += 1
        self.fails = False
        self.process = server_process.ServerProcess(
            self.directory / f"log{self.starts}", self.options, program=(os.environ["ELAPSE_SLOW_BEGIN"], "serve"),
            env={**os.environ, **self.settings})


class SlowTest(NodesTest):
    def slow(self):
        self.nodes.append(SlowNode(self.folder / f"node{len(self.nodes)}", self.servers.hosts()))
        return self.nodes[-1]

    def epoch(self):
        return self.number("select epoch from elapse.partition")

    def owner_name(self):
        return self.primary.sql("select owner from elapse.partition;\n").split("/")[0]

    def wait_for_take_over(self, node, before):
        self.wait_until(lambda: self.epoch() > before and self.owner_name().endswith(f":{node.port}"), "it has the epoch")


class SlowBegin(SlowTest):
    def test_a_node_that_ends_meanwhile_hands_over(self):
        first = self.owner()
        self.put_many(first, ["kept"])
        slow = self.slow().start()
        before = self.epoch()
        first.stop()
        self.wait_for_take_over(slow, before)
        slow.stop()
        self.assertEqual(self.owner_name(), "")
        self.assertEqual(slow.process.wait(), 0)
        first.start()
        self.assertEqual(set(self.take(first)), {"kept"})

    def test_a_partition_that_is_to_move_leaves_before_it_serves(self):
        first = self.owner()
        self.put_many(first, ["kept"])
        slow = self.slow()
        slow.settings = {"ELAPSE_SLOW_BEGIN_MS": "30000"}
        slow.start()
        before = self.epoch()
        first.stop()
        self.wait_for_take_over(slow, before)
        first.start()
        name = f"name like '%:{first.port}'"
        self.wait_until(lambda: self.number(f"select count(*) from elapse.node where {name} and ready = '{{0}}'") == 1,
                        "the first one follows")
        self.primary.sql("insert into elapse.place (queue, part, preferred, target)"
                         f" select 'test', 0, name, name from elapse.node where {name};\n")
        self.wait_until(lambda: first.owned() == 1, "the first one serves again")
        self.assertNotIn("to bring its jobs into service", slow.process.text())
        self.assertEqual(set(self.take(first)), {"kept"})

    def full(self):
        """A node that has no room to serve while the file that it returns is there."""
        node, file = self.slow(), self.folder / "full"
        file.touch()
        node.settings = {"ELAPSE_NO_ROOM": str(file)}
        return node.start(), file

    def test_a_new_owner_without_room_leaves_the_partition_to_others(self):
        first = self.owner()
        self.put_many(first, ["kept"])
        full, _ = self.full()
        before = self.epoch()
        first.stop()
        self.wait_for_take_over(full, before)
        first.start()
        self.wait_until(lambda: first.owned() == 1, "the first one serves again")
        self.assertEqual(self.epoch(), before + 2)
        full.process.wait_for(b"partition 0 is left to other nodes")
        self.assertEqual(set(self.take(first)), {"kept"})

    def test_a_new_owner_without_room_serves_when_there_is_room_and_no_other_node(self):
        first = self.owner()
        self.put_many(first, ["kept"])
        full, file = self.full()
        before = self.epoch()
        first.stop()
        self.wait_for_take_over(full, before)
        self.wait_until(lambda: self.epoch() > before + 1, "it has left, and tries again")
        file.unlink()
        self.wait_until(lambda: full.owned() == 1, "it serves")
        self.assertEqual(set(self.take(full)), {"kept"})


class KeepsOrLoses(SlowTest):
    """Nobody else is to take over, though a busy machine gives the owner no processor for two seconds."""

    lease_ms = 4000
    slower_ms = 7000  # so much more than the lease that another one would have taken over, on a busy machine, too

    def test_the_next_owner_keeps_the_partition_until_it_serves(self):
        """Both nodes are slow. If beats waited, each would lose the partition to the other."""
        first = self.owner()
        nodes = [self.slow(), self.slow()]
        for node in nodes:
            node.settings = {"ELAPSE_SLOW_BEGIN_MS": str(self.slower_ms)}
            node.start()
        self.put_many(nodes[0], [str(i) for i in range(100)])
        before = self.epoch()
        first.kill()
        self.end_lease(first)
        self.wait_until(lambda: nodes[0].owned() + nodes[1].owned() == 1, "another one serves")
        self.assertEqual(self.epoch(), before + 1)
        self.assertEqual(len(self.take(nodes[0])), 100)
        said = self.wait_until(lambda: re.search(r"partition 0: it took (\d+) ms to bring its jobs into service",
                                                 nodes[0].process.text() + nodes[1].process.text()), "the log says so")
        self.assertGreaterEqual(int(said[1]), self.slower_ms)

    def test_a_node_that_loses_the_partition_meanwhile_follows(self):
        first = self.owner()
        self.put_many(first, ["kept"])
        slow = self.slow().start()
        before = self.epoch()
        first.stop()
        self.wait_for_take_over(slow, before)
        slow.freeze()
        first.start()
        self.wait_until(lambda: first.owned() == 1, "the first one serves again")
        told = len(slow.process.text())
        slow.thaw()
        self.put_many(first, ["more"])
        time.sleep(SLOW_MS / 1000)
        self.wait_until(lambda: "following" in slow.process.text()[told:] and slow.owned() == 0, "it follows")
        self.assertEqual(self.epoch(), before + 2)
        first.stop()
        self.wait_until(lambda: slow.owned() == 1, "it takes over again")
        self.assertEqual(set(self.take(slow)), {"kept", "more"})


if __name__ == "__main__":
    support.run_tests()
