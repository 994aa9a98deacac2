"""Tests the fail-over by hand of docs/guide/cluster.md, step by step, while nodes serve."""

import re

import nodes_support as support
from nodes_support import NodesTest, cluster

PAGE = support.ROOT / "docs/guide/cluster.md"


def blocks():
    """The statements of the page's part on that, block by block, without the names of its servers."""
    [text] = re.findall(r"(?ms)^## The database: by hand$(.*?)^## ", PAGE.read_text(encoding="utf-8"))
    found = re.findall(r"(?s)```sql\n(.*?)```", text)
    return [re.sub(r"(?m)^ +", "", block) for block in found]


class ByHand(NodesTest):
    renews = True

    def test_the_furthest_standby_takes_over(self):
        stop, compare, promote, follow = blocks()
        node = self.owner()
        second = self.follower()
        self.put_many(node, [f"before{number}" for number in range(50)])
        # One standby is behind: only the other one has the jobs from now on.
        behind, ahead = self.servers[1], self.servers[2]
        behind.sql(stop)
        self.wait_until(lambda: self.number("select count(*) from pg_stat_replication") == 1, "it has left")
        self.put_many(node, [f"later{number}" for number in range(50)])
        self.primary.kill()

        for standby in (behind, ahead):
            standby.sql(stop)
            self.wait_until(lambda standby=standby: standby.sql(
                "select count(*) from pg_stat_wal_receiver;\n") == "0", "its receiver has ended")
        positions = [standby.sql(compare) for standby in (behind, ahead)]
        self.assertEqual(self.number(f"select ('{positions[1]}'::pg_lsn > '{positions[0]}'::pg_lsn)::int",
                                     ahead), 1, positions)
        ahead.sql(promote)
        self.wait_until(lambda: ahead.sql("select pg_is_in_recovery();\n") == "f", "it is promoted")
        self.wait_until(lambda: ahead.sql("show synchronous_standby_names;\n") == "ANY 1 (s0,s1,s2)", "it has the names")
        behind.sql(follow.replace("host=WINNER", f"host={ahead.directory} user={cluster.SUPERUSER}"))

        self.wait_until(lambda: ahead.sql("select count(*) from pg_stat_replication;\n") == "1",
                        "the other one follows")
        self.wait_until(lambda: isinstance(second.ask("PUT", "tube", "after"), list), "nodes go on")
        jobs = set(self.take(second)) | set(self.take(node))
        for number in range(50):
            self.assertIn(f"before{number}", jobs)
            self.assertIn(f"later{number}", jobs)
        self.assertIn("after", jobs)


if __name__ == "__main__":
    support.run_tests()
