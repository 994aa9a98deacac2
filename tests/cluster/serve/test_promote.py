"""Tests the command `promote` of `./dev cluster` (scripts/try_cluster.py): it does what has to be done first,
or says it and changes nothing. Two nodes serve meanwhile."""

import contextlib
import io
import sys
from unittest import mock

import nodes_support as support
from nodes_support import NodesTest

import try_cluster  # after nodes_support, which knows the folder of scripts


class Promote(NodesTest):
    renews = True

    def say(self, line):
        """Types a command. Returns what is printed."""
        printed = io.StringIO()
        with mock.patch.object(sys, "stdin", io.StringIO(line + "\n")), contextlib.redirect_stdout(printed):
            try_cluster.read_commands(self.servers, [])
        return printed.getvalue()

    def refused(self, line, *words):
        """The command must say why not, and leave all servers that are there as they were."""
        before = self.states()
        said = self.say(line)
        self.assertRegex(said, "^failed: ")
        for word in words:
            self.assertIn(word, said)
        self.assertEqual(self.states(), before)

    def states(self):
        """Who is a standby, and which primary it follows."""
        return {server.name: server.sql("select pg_is_in_recovery(), current_setting('primary_conninfo');\n")
                for server in self.servers.list if server.process is not None and not server.is_frozen}

    def streaming(self, server):
        return self.number("select count(*) from pg_stat_replication where state = 'streaming'", server)

    def last_group(self, server):
        return self.number("select last_group from elapse.partition", server)

    def test_it_does_what_comes_first_or_says_it(self):
        first, second, third = self.servers.list
        node, other = self.owner(), self.follower()
        self.put_many(node, [f"before{number}" for number in range(20)])

        # The old primary still confirms what a new one would not have.
        self.refused("promote 1", "server 0 is the primary, and takes writes", "`kill 0`", "`freeze 0`")
        self.refused("promote 0", "server 0 is the primary already")

        # Server 1 is behind: only server 2 has these jobs, beside the primary.
        self.servers.repoint(second, None)
        self.wait_until(lambda: self.streaming(first) == 1, "server 1 has left")
        self.put_many(node, [f"later{number}" for number in range(20)])
        self.say("kill 0")
        self.servers.repoint(second, first)
        self.refused("promote 0", "server 0 was the primary: `start 0`")
        self.refused("promote 1", "server 2 has more of the log: say `promote 2`")
        self.say("freeze 2")
        self.refused("promote 2", "server 2 is not there", "`thaw 2`")
        self.refused("promote 1", "server 2 may have more of the log, and is not there: say `thaw 2`")
        self.say("thaw 2")

        said = self.say("promote 2")
        self.assertIn("server 1 follows server 2\n", said)
        self.assertIn("server 0 comes back as its standby by `rebuild 0 2`\n", said)
        self.assertNotIn("no commit is confirmed", said)
        self.assertIs(self.servers.primary, third)
        # A commit is confirmed only because server 1 follows.
        self.wait_until(lambda: isinstance(other.ask("PUT", "tube", "after"), list), "nodes go on")
        self.assertEqual(self.streaming(third), 1)
        self.say("rebuild 0 2")
        self.wait_until(lambda: self.streaming(third) == 2, "the old primary is a standby")
        jobs = set(self.take(other)) | set(self.take(node))
        for number in range(20):
            self.assertIn(f"before{number}", jobs)
            self.assertIn(f"later{number}", jobs)
        self.assertIn("after", jobs)

        # Whoever says `anyway` gets it, and hears what is left to do. Either standby can have confirmed the last
        # groups, and server 1 is to lack none of them.
        self.put_many(other, ["last"])
        self.wait_until(lambda: self.last_group(second) == self.last_group(third), "server 1 has all groups")
        self.say("kill 2")
        self.say("kill 0")
        self.refused("promote 1", "server 0 may have more of the log, and is not there: say `start 0`")
        said = self.say("promote 1 anyway")
        self.assertIs(self.servers.primary, second)
        for place in (0, 2):
            self.assertIn(f"server {place} comes back as its standby by `rebuild {place} 1`\n", said)
        self.assertIn("no standby follows it, so no commit is confirmed until one does\n", said)
        self.say("rebuild 2 1")
        self.wait_until(lambda: isinstance(other.ask("PUT", "tube", "again"), list), "nodes go on")


if __name__ == "__main__":
    support.run_tests()
