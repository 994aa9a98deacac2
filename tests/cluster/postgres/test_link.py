"""Tests the session of a partition, statement by statement, on three servers of PostgreSQL."""

import signal
import unittest

import pooler
import postgres_support as support
from postgres_support import LEASE_MS, SESSION, cluster

NAMES = "ANY 1 (s0,s1,s2)"


class LinkTest(support.ClusterTest):
    def setUp(self):
        super().setUp()
        self.genesis = None

    lease_ms = LEASE_MS  # a statement waits for a lock for a quarter of it

    def link(self, name="node", hosts=None):
        return self.driver("link", name, self.lease_ms, *(hosts or self.servers.hosts()))

    def connected(self, name="node", host=0):
        link = self.link(name)
        self.assertEqual(link.ask("connect", host)["outcome"], "rows")
        return link

    def owner(self, name="node"):
        """A link that owns the partition in epoch 1, with a table."""
        link = self.connected(name)
        self.genesis = link.ask("create", 1)["genesis"]
        self.assertEqual(link.ask("take_over", 0, 0, 0)["count"], 1)
        self.assertEqual(link.ask("make_table", 0)["outcome"], "rows")
        return link

    def append(self, link, epoch, group, size=100, inbox=()):
        """Begins an append behind the last group."""
        previous = self.number("select last_hash from elapse.partition")
        link.tell("append", epoch, group, previous % 2**64, size, *inbox)

    def row(self):
        text = self.primary.sql("select epoch, owner, last_group from elapse.partition;\n")
        epoch, owner, last_group = text.split("|")
        return int(epoch), owner, int(last_group)

    def groups(self):
        return self.number("select count(*) from elapse.log_test_0_0")

    def rival(self, text, before=""):
        """Another session that has changed the row, and not yet committed."""
        rival = self.primary.start_sql(f"{before}begin;\n{text};\n\\echo done\n")
        self.assertEqual(rival.stdout.readline(), "done\n")
        return rival

    def wait_for_sessions(self, count):
        """Waits until the partition has so many sessions, and they rest. Those of drivers that were killed may still
        be there."""
        query = f"select count(*) from pg_stat_activity where application_name = '{SESSION}'"
        cluster.wait_until(lambda: self.number(query) == self.number(query + " and state = 'idle'") == count,
                           f"{count} sessions")

    def assert_outcome(self, result, outcome, count=None):
        self.assertEqual(result["outcome"], outcome, result)
        if count is not None:
            self.assertEqual(result["count"], count, result)


class Statements(LinkTest):
    def test_one_after_the_other(self):
        """As a role that may do little."""
        self.primary.sql("create role node login;\ngrant create on database postgres to node;\n")
        self.addCleanup(self.primary.sql, "drop owned by node cascade;\ndrop role node;\n")
        link = self.link(hosts=[self.primary.host.replace("user=elapse", "user=node")])
        made = link.ask("create", 2)
        self.assertTrue(made["made"] and made["same"], made)
        self.assert_outcome(link.ask("connect", 0), "rows")

        session = link.ask("session")
        self.assert_outcome(session, "rows", 1)
        system = self.number("select system_identifier from pg_control_system()")
        self.assertEqual(session["session"], [system, 1, False])
        self.assertEqual(session["after"]["names"], NAMES)
        self.assertEqual(session["after"]["commit"], "on")

        row = link.ask("read_row")
        self.assert_outcome(row, "rows", 1)
        self.assertEqual(row["row"], {
            "epoch": 0, "beat": 0, "last_group": 0, "last_hash": made["genesis"], "tail": 1,
            "lease_ms": LEASE_MS, "owner": "", "address": "", "stopped": ""})
        self.assertEqual(row["after"], session["after"])

        taken = link.ask("take_over", 0, 0, 0)
        self.assert_outcome(taken, "rows", 1)
        self.assertEqual((taken["row"]["epoch"], taken["row"]["beat"]), (1, 1))
        self.assertEqual((taken["row"]["owner"], taken["row"]["address"]),
                         ("node", "127.0.0.1:11300"))
        self.assertEqual((taken["before"], taken["after"]), (row["after"], row["after"]))
        self.assertFalse(taken["noticed"])
        self.assert_outcome(link.ask("take_over", 0, 0, 0), "rows", 0)
        self.assert_outcome(link.ask("take_over", 1, 0, 0), "rows", 0)
        self.assert_outcome(link.ask("take_over", 1, 1, 1), "rows", 0)

        self.assert_outcome(link.ask("append", 1, 1, made["genesis"], 10), "refused")
        for _ in range(2):
            again = link.ask("make_table", 0)
            self.assert_outcome(again, "rows")
            self.assertFalse(again["noticed"], "a table that exists is worth no notice")
        self.assert_outcome(link.ask("read_log", 1), "rows", 0)
        hashes = [made["genesis"]]
        for group in range(1, 4):
            appended = link.ask("append", 1, group, hashes[-1], 10)
            self.assert_outcome(appended, "rows", 1)
            self.assertEqual((appended["before"], appended["after"]), (row["after"], row["after"]))
            hashes.append(link.ask("read_row")["row"]["last_hash"])
        log = link.ask("read_log", 2)["log"]
        self.assertEqual(log, [[2, 1, hashes[1], 10, hashes[2]], [3, 1, hashes[2], 10, hashes[3]]])
        self.assert_outcome(link.ask("append", 1, 3, hashes[2], 10), "rows", 0)
        self.assert_outcome(link.ask("append", 1, 5, hashes[3], 10), "rows", 0)
        self.assert_outcome(link.ask("append", 2, 4, hashes[3], 10), "rows", 0)

        beaten = link.ask("beat", 1, 3)
        self.assert_outcome(beaten, "rows", 1)
        self.assertEqual((beaten["row"]["tail"], beaten["row"]["beat"]), (3, 5))
        self.assertEqual(link.ask("beat", 1, 2)["row"]["tail"], 3)
        self.assert_outcome(link.ask("beat", 2, 3), "rows", 0)
        self.assert_outcome(link.ask("terminate"), "rows")
        self.assert_outcome(link.ask("release", 2), "rows")
        self.assertEqual(link.ask("read_row")["row"]["owner"], "node")
        self.assert_outcome(link.ask("release", 1), "rows")
        released = link.ask("read_row")["row"]
        self.assertEqual((released["owner"], released["address"], released["beat"]), ("", "", 7))

        self.primary.sql("revoke update on elapse.partition from node;\n")
        self.assert_outcome(link.ask("take_over", 1, 7, 3), "refused")
        self.primary.sql("drop function elapse.make_log_table;\n")
        self.assert_outcome(link.ask("make_table", 1), "refused")
        self.primary.sql("drop table elapse.log_test_0_0;\n")
        self.assert_outcome(link.ask("read_log", 1), "rows", 0)

    def test_another_node_of_the_same_epoch_is_no_owner(self):
        self.owner("first")
        second = self.connected("second")
        self.assert_outcome(second.ask("beat", 1, 1), "rows", 0)
        self.assert_outcome(second.ask("release", 1), "rows")
        self.assertEqual(self.row(), (1, "first", 0))

    def test_a_marked_row_takes_nothing(self):
        """The mark says why; it is for epochs up to a number, and the first words stay. Where it comes
        late, the row says the same elsewhere, and takes all."""
        link = self.owner()
        self.append(link, 1, 1)
        self.assert_outcome(link.next(), "rows", 1)
        beat = link.ask("read_row")["row"]["beat"]
        self.assert_outcome(link.ask("mark", 0, 9), "rows", 1)
        self.assert_outcome(link.ask("mark", 0, 8), "rows", 1)
        before = link.ask("read_row")["row"]
        self.assertEqual(before["beat"], beat, "a node that comes late must not hide that the owner has died")
        self.assertEqual((before["stopped"], before["epoch"]), ("", 1))
        missed = "node knows group 9 of epoch 0, and the database ended with group 1 of epoch 1"
        self.assertEqual(self.primary.sql("select missed from elapse.partition;\n"), missed)
        marked = link.ask("mark", 3, 9)
        self.assert_outcome(marked, "rows", 1)
        self.assertEqual(marked["before"], marked["after"])
        row = marked["row"]
        self.assertEqual(row["stopped"],
                         "node knows group 9 of epoch 3, and the database ended with group 1 of epoch 1")
        self.assertEqual((row["epoch"], row["beat"], row["owner"]), (3, before["beat"] + 1, "node"))
        self.assert_outcome(link.ask("take_over", 3, row["beat"], 1), "rows", 0)
        self.append(link, 3, 2)
        self.assert_outcome(link.next(), "rows", 0)
        self.assertEqual(self.groups(), 1)
        again = link.ask("mark", 4, 8)["row"]
        self.assertEqual((again["stopped"], again["epoch"], again["beat"]), (row["stopped"], 4, row["beat"]))
        beaten = link.ask("beat", 4, 1)
        self.assertEqual(beaten["row"]["stopped"], row["stopped"])
        self.assertEqual(self.primary.sql("select missed from elapse.partition;\n"), missed)
        self.primary.sql("update elapse.partition set stopped = '';\n")
        self.append(link, 4, 2)
        self.assert_outcome(link.next(), "rows", 1)
        self.assert_outcome(link.ask("take_over", 4, beaten["row"]["beat"] + 1, 2), "rows", 1)

    def test_a_table_that_does_not_exist_has_no_groups(self):
        link = self.owner()
        self.assert_outcome(link.ask("read_log", 5000), "rows", 0)
        self.assert_outcome(link.ask("read_row"), "rows", 1)

    def test_no_row(self):
        link = self.owner()
        self.primary.sql("delete from elapse.partition;\n")
        self.assert_outcome(link.ask("read_row"), "rows", 0)

    def test_sizes(self):
        """A group of 5 MiB, two of which reach the limit of a read; and 256 groups at most."""
        link = self.owner()
        for group in (1, 2, 3):
            self.append(link, 1, group, 5 << 20)
            self.assert_outcome(link.next(), "rows", 1)
        self.assertEqual([(row[0], row[3]) for row in link.ask("read_log", 1)["log"]],
                         [(1, 5 << 20), (2, 5 << 20)])
        row = link.ask("read_row")["row"]
        self.assertEqual(link.ask("read_log", 3)["log"][0][4], row["last_hash"])
        self.assertEqual(self.primary.sql("select attstorage from pg_attribute where attname = "
                                          "'bytes' and attrelid = 'elapse.log_test_0_0'::regclass;\n"),
                         "e")
        self.primary.sql("insert into elapse.log_test_0_0 select n, 1, 0, 'x'"
                         " from generate_series(4, 1023) n;\n")
        self.assertEqual(len(link.ask("read_log", 4)["log"]), 256)
        self.assertEqual(len(link.ask("read_log", 1000)["log"]), 24)
        self.assert_outcome(link.ask("make_table", 1), "rows")
        self.primary.sql("update elapse.partition set last_group = 1023;\n")
        self.append(link, 1, 1024)
        self.assert_outcome(link.next(), "rows", 1)
        self.assertEqual([group[0] for group in link.ask("read_log", 1023)["log"]], [1023])
        self.assertEqual([group[0] for group in link.ask("read_log", 1024)["log"]], [1024])

    def test_tables_are_dropped_from_below(self):
        link = self.owner()
        self.primary.sql("create table elapse.log_test_0_x (); create table elapse.log_test_10_3 ();\n")
        for table in range(1, 21):
            link.ask("make_table", table)
        self.assert_outcome(link.ask("drop_tables", 19), "rows", 16)
        remaining = self.primary.sql("select relname from pg_class where relkind = 'r' and relname"
                                     " like 'log_test_0_%' order by relname;\n").split()
        self.assertEqual(remaining, ["log_test_0_16", "log_test_0_17", "log_test_0_18",
                                     "log_test_0_19", "log_test_0_20", "log_test_0_x"])
        self.assert_outcome(link.ask("drop_tables", 19), "rows", 3)
        self.assert_outcome(link.ask("drop_tables", 19), "rows", 0)
        self.assertEqual(self.number("select count(*) from pg_class where relname"
                                     " = 'log_test_10_3'"), 1)

    def test_a_table_with_another_name_is_none_of_the_log(self):
        """In whatever order the planner has the conditions evaluated."""
        link = self.owner()
        link.ask("make_table", 1)
        others = ("log_test_0_x1", "log_test_0_00", "log_test_1_0")
        for name in others:
            self.primary.sql(f"create table elapse.{name} ();\n")
        for function in ("textregexeq(text, text)", "starts_with(text, text)"):
            self.primary.sql(f"alter function pg_catalog.{function} cost 100000;\n")
            self.addCleanup(self.primary.sql, f"alter function pg_catalog.{function} cost 1;\n")
        self.assert_outcome(link.ask("drop_tables", 9), "rows", 2)
        for name in others:
            self.assertEqual(self.primary.sql(f"select count(*) from elapse.{name};\n"), "0")

    def test_a_table_that_is_read_is_not_dropped(self):
        link = self.owner()
        reader = self.rival("select * from elapse.log_test_0_0")
        self.assert_outcome(link.ask("drop_tables", 1), "locked")
        reader.communicate("commit;\n")
        self.assert_outcome(link.ask("drop_tables", 1), "rows", 1)


class Waits(LinkTest):
    """The other session commits before the statement gives its wait up, however late."""

    lease_ms = 240000

    def test_an_append_waits_for_a_take_over_and_is_fenced(self):
        """A condition, in place of the UPDATE, would look at the row as it was."""
        link = self.owner()
        rival = self.rival("update elapse.partition set epoch = 2, owner = 'rival', beat = beat + 1")
        self.append(link, 1, 1)
        link.says_nothing()
        rival.communicate("commit;\n")
        self.assert_outcome(link.next(), "rows", 0)
        self.assertEqual((self.row(), self.groups()), ((2, "rival", 0), 0))

    def test_a_take_over_waits_for_an_append_and_finds_another_row(self):
        link = self.owner()
        rival = self.rival("update elapse.partition set last_group = 1, beat = beat + 1")
        link.tell("take_over", 1, 1, 0)
        link.says_nothing()
        rival.communicate("commit;\n")
        self.assert_outcome(link.next(), "rows", 0)
        self.assertEqual(self.row(), (1, "node", 1))

    def test_an_append_goes_on_when_a_take_over_is_rolled_back(self):
        link = self.owner()
        rival = self.rival("update elapse.partition set epoch = 2, owner = 'rival', beat = beat + 1")
        self.append(link, 1, 1)
        link.says_nothing()
        rival.communicate("rollback;\n")
        self.assert_outcome(link.next(), "rows", 1)
        self.assertEqual((self.row(), self.groups()), ((1, "node", 1), 1))


class Fence(LinkTest):
    def test_a_row_that_stays_blocked_is_locked_and_terminate_frees_it(self):
        """A session that lost its client, or is frozen, has the name of the partition. One that
        blocks nothing is left alone."""
        link = self.owner()
        idle = self.connected("idle")
        rival = self.rival(f"set application_name = '{SESSION}';\nupdate elapse.partition"
                           " set epoch = epoch")
        self.append(link, 1, 1)
        self.assert_outcome(link.next(), "locked")
        self.assertEqual(self.groups(), 0)
        self.assert_outcome(link.ask("terminate"), "rows")
        self.append(link, 1, 1)
        self.assert_outcome(link.next(), "rows", 1)
        self.assertIn("terminating connection", rival.communicate("commit;\n")[0])
        self.assert_outcome(idle.ask("read_row"), "rows", 1)

    def test_the_inbox_is_emptied_by_the_append_or_nothing_is_done(self):
        link = self.owner()
        self.primary.sql(
            "create table elapse.inbox (id bigint primary key, reason text);\n"
            "insert into elapse.inbox select generate_series(1, 6);\n"
            "create table elapse.refused (like elapse.inbox);\n"
            "create function elapse.inbox_move(queue text, part integer, ids bigint[],"
            " reasons text[]) returns bigint language plpgsql as $$ declare n bigint; begin"
            " insert into elapse.refused select * from unnest(ids, reasons) r (i, t)"
            "  where t is not null;"
            " delete from elapse.inbox where id = any(ids); get diagnostics n = row_count;"
            " if n <> cardinality(ids) then raise exception 'gone' using errcode = 'EL001'; end if;"
            " return n; end $$;\n")
        self.append(link, 1, 1, inbox=(1, 3))
        self.assert_outcome(link.next(), "rows", 1)
        self.append(link, 1, 2, inbox=(3, 4))
        result = link.next()
        self.assert_outcome(result, "moved")
        self.assertIn("gone", result["message"])
        self.append(link, 2, 2, inbox=(2,))
        self.assert_outcome(link.next(), "rows", 0)
        self.assertEqual((self.row()[2], self.groups()), (1, 1))
        self.append(link, 1, 2, inbox=(2, '4:a"b\\c,{}', "5:NULL"))
        self.assert_outcome(link.next(), "rows", 1)
        self.assertEqual(self.primary.sql("select id from elapse.inbox;\n"), "6")
        self.assertEqual(self.primary.sql("select id, reason from elapse.refused order by id;\n"),
                         '4|a"b\\c,{}\n5|NULL')


class Commits(LinkTest):
    """Commits that wait for a standby, and what ends the wait."""

    def waiting_append(self):
        """A link whose append waits for a standby, and its process in the server."""
        link = self.owner()
        self.freeze_standbys()
        self.append(link, 1, 1)
        return link, self.wait_for_waiting()

    def test_it_waits_until_a_standby_has_it(self):
        link, _ = self.waiting_append()
        link.says_nothing(0.5)
        self.servers[2].thaw()
        result = link.next()
        self.assert_outcome(result, "rows", 1)
        self.assertEqual(result["before"], result["after"])
        self.assertFalse(result["noticed"])

    def test_names_that_are_emptied_show_in_the_second_look(self):
        """They release the commit, with success and without a notice."""
        link, _ = self.waiting_append()
        self.addCleanup(self.primary.set_names, NAMES)
        self.addCleanup(self.thaw_standbys)
        self.primary.set_names("")
        result = link.next()
        self.assert_outcome(result, "rows", 1)
        self.assertFalse(result["noticed"])
        self.assertEqual((result["before"]["names"], result["after"]["names"]), (NAMES, ""))

    def test_names_that_are_empty_show_in_the_first_look(self):
        link = self.owner()
        self.addCleanup(self.primary.set_names, NAMES)
        self.primary.set_names("")
        for statement in (("append", 1, 1, self.genesis, 10), ("beat", 1, 1), ("take_over", 1, 3, 1)):
            result = link.ask(*statement)
            self.assert_outcome(result, "rows", 1)
            self.assertEqual(result["before"]["names"], "")

    def test_clocks_of_other_nodes_are_counted(self):
        """R12. Living ones, those near the database's clock, and those that agree with this node."""
        link = self.owner()
        self.primary.sql("insert into elapse.queue values ('test', 2, 1000, decode(repeat('00', 16), 'hex'))"
                         " on conflict do nothing;\n")
        self.assertEqual(link.ask("clocks", 0)["others"], [0, 0, 0])
        self.primary.sql("insert into elapse.clock values"
                         " ('test', 'same', 3600000, clock_timestamp() - interval '1 h'),"
                         " ('test', 'right', 4000, clock_timestamp()),"
                         " ('test', 'dead', 0, clock_timestamp() - interval '2 d'),"
                         " ('test', 'future', 0, clock_timestamp() + interval '1 h');\n")
        a_day = 86400 * 1000
        self.assertEqual(self.primary.sql("select living, near, agreeing from elapse.tell_clock("
                                          f"'test', '127.0.0.1:11300', 3604000, {a_day});\n"), "2|1|1")
        self.assertEqual(self.number("select ahead_ms from elapse.clock where node = '127.0.0.1:11300'"),
                         3604000)

    def test_a_node_tells_its_clock_while_no_standby_answers(self):
        link = self.owner()
        self.addCleanup(self.primary.set_names, self.primary.sql("show synchronous_standby_names;\n"))
        self.primary.set_names("nobody")
        self.assert_outcome(link.ask("clocks", 100), "rows")

    def test_settings_that_are_loaded_meanwhile_show(self):
        """Perhaps they were others for a moment."""
        link, _ = self.waiting_append()
        loaded = self.primary.sql("select pg_conf_load_time();\n")
        self.primary.sql("select pg_reload_conf();\n")
        # The server tells all sessions at the same time, and this one has heard it.
        cluster.wait_until(lambda: self.primary.sql("select pg_conf_load_time();\n") != loaded, "it is loaded")
        self.thaw_standbys()
        result = link.next()
        self.assert_outcome(result, "rows", 1)
        self.assertLess(result["before"]["loaded_us"], result["after"]["loaded_us"])

    def test_the_second_look_is_sent_with_the_first(self):
        """It runs although the client stands still."""
        link, process = self.waiting_append()
        link.signal(signal.SIGSTOP)
        self.thaw_standbys()
        query = "select 1 from pg_stat_activity where state = 'idle' and query like " \
                f"'select current_setting%' and pid = {process}"
        cluster.wait_until(lambda: self.number(query), "the second look has run")
        link.signal(signal.SIGCONT)
        self.assert_outcome(link.next(), "rows", 1)

    def test_a_cancelled_wait_is_noticed(self):
        """The answer is success, with a warning, also where a role wants to see no warnings."""
        self.primary.sql("alter role elapse set client_min_messages = error;\n")
        self.addCleanup(self.primary.sql, "alter role elapse reset client_min_messages;\n")
        link, process = self.waiting_append()
        self.primary.sql(f"select pg_cancel_backend({process});\n")
        result = link.next()
        self.assert_outcome(result, "rows", 1)
        self.assertTrue(result["noticed"], result)
        self.assertIn("canceling wait", result["message"])
        self.thaw_standbys()
        following = link.ask("beat", 1, 1)
        self.assert_outcome(following, "rows", 1)
        self.assertFalse(following["noticed"], "a notice belongs to one result")

    def test_a_terminated_session_is_lost_and_its_write_is_there(self):
        link, process = self.waiting_append()
        self.primary.sql(f"select pg_terminate_backend({process});\n")
        self.assert_outcome(link.next(), "lost")
        cluster.wait_until(lambda: self.row() == (1, "node", 1), "the write is visible")
        self.assert_outcome(link.ask("beat", 1, 1), "lost")

    def test_an_abandoned_statement_is_not_cancelled(self):
        """It would be visible at once, without a standby."""
        link, process = self.waiting_append()
        self.assert_outcome(link.ask("connect", 0), "rows")
        self.assertEqual(link.ask("read_row")["row"]["last_group"], 0)
        self.assertEqual(self.wait_for_waiting(), process)
        self.assertEqual(link.ask("read_row")["row"]["last_group"], 0)
        self.thaw_standbys()
        cluster.wait_until(lambda: link.ask("read_row")["row"]["last_group"] == 1, "it is done")

    def test_a_killed_server_is_lost(self):
        link, _ = self.waiting_append()
        self.thaw_standbys()
        link.next()
        self.servers[1].kill()
        self.addCleanup(self.servers[1].start)
        self.assert_outcome(link.ask("connect", 1), "lost")
        self.assert_outcome(link.ask("read_row"), "lost")
        self.assert_outcome(link.ask("connect", 0), "rows")


class Sessions(LinkTest):
    def test_defaults_of_a_role_change_nothing(self):
        self.primary.sql("alter role elapse set statement_timeout = 200;\n"
                         "alter role elapse set synchronous_commit = local;\n"
                         "alter role elapse set default_transaction_read_only = on;\n"
                         "alter role elapse set default_transaction_isolation = serializable;\n"
                         "alter role elapse set lock_timeout = 1;\n")
        self.addCleanup(self.primary.sql, "set default_transaction_read_only = off;\n"
                                          "alter role elapse reset all;\n")
        hosts = [self.primary.host + " options='-c default_transaction_read_only=off'"]
        self.assertTrue(self.link(hosts=hosts).ask("create", 1)["made"])
        link = self.connected()
        taken = link.ask("take_over", 0, 0, 0)
        self.assert_outcome(taken, "rows", 1)
        self.assertEqual(taken["before"]["commit"], "on")
        self.wait_for_sessions(1)
        rival = self.rival("update elapse.partition set beat = beat",
                           "set default_transaction_read_only = off;\n")
        self.assert_outcome(link.ask("beat", 1, 1), "locked")
        rival.communicate("rollback;\n")

    def test_a_standby_says_that_it_is_one(self):
        self.owner()
        link = self.connected("other", 1)
        session = link.ask("session")
        self.assert_outcome(session, "rows", 1)
        self.assertEqual(session["session"][1:], [0, True])
        self.assert_outcome(link.ask("take_over", 1, 1, 0), "error")

    def test_a_string_with_several_hosts_is_refused(self):
        for host in ("host=a,b", "postgresql://a,b/x", "port=1,2", "hostaddr=127.0.0.1,127.0.0.2"):
            refused = self.link(hosts=[host]).next()
            self.assertTrue(refused["refused"])
            self.assertIn("several hosts", refused["message"])
        refused = self.link(hosts=["nonsense=1"]).next()
        self.assertIn("no connection string", refused["message"])
        self.assertNotIn("nonsense", refused["message"])

    def test_connecting_to_nobody_is_lost(self):
        link = self.link(hosts=["host=/nonexistent", "host=127.0.0.1 port=1"])
        for host in (0, 1):
            result = link.ask("connect", host)
            self.assert_outcome(result, "lost")
            self.assertNotEqual(result["message"], "")


@unittest.skipIf(pooler.PROGRAM is None, "the package pgbouncer is not installed")
class BehindAPooler(LinkTest):
    """W6. In transaction mode: each transaction may have another session of the server."""

    def setUp(self):
        super().setUp()
        self.pooler = pooler.Pooler(self.primary)
        self.addCleanup(self.pooler.end)

    def test_a_node_is_refused_before_it_sets_anything(self):
        link = self.link(hosts=[self.pooler.host])
        connected = link.ask("connect", 0)
        self.assertTrue(connected["pooled"], connected)
        self.wait_for_sessions(0)

    def test_a_command_is_refused_before_it_sets_anything(self):
        made = self.link(hosts=[self.pooler.host]).ask("create", 2)
        self.assertIn("a pooler, such as PgBouncer", made["message"])
        shown = cluster.run(self.pooler.directory, "psql", "-XAt", "-d",
                            self.pooler.host, "-c", "show idle_in_transaction_session_timeout")
        self.assertEqual(shown.strip(), "0")


class Schema(LinkTest):
    def test_twice_is_once(self):
        link = self.link()
        first = link.ask("create", 3)
        self.assertTrue(first["made"] and first["same"], first)
        self.primary.sql("update elapse.partition set epoch = 7 where part = 2;\n")
        self.assertEqual(link.ask("create", 3), first)
        self.assertEqual(self.number("select count(*) from elapse.partition"), 3)
        self.assertEqual(self.number("select epoch from elapse.partition where part = 2"), 7)

    def test_another_number_of_partitions_is_refused(self):
        link = self.link()
        link.ask("create", 3)
        refused = link.ask("create", 4)
        self.assertFalse(refused["made"])
        self.assertIn("3 partitions", refused["message"])
        self.assertEqual(self.number("select count(*) from elapse.partition"), 3)

    def test_a_later_version_is_refused(self):
        link = self.link()
        link.ask("create", 1)
        self.primary.sql("update elapse.version set version = 4;\n")
        refused = link.ask("create", 1)
        self.assertFalse(refused["made"])
        self.assertIn("version 4", refused["message"])

    def test_two_at_once(self):
        links = [self.link() for _ in range(4)]
        for link in links:
            link.tell("create", 8)
        for link in links:
            self.assertTrue(link.next()["made"])
        self.assertEqual(self.number("select count(*) from elapse.partition"), 8)

    def test_a_standby_cannot_make_them(self):
        link = self.link(hosts=[self.servers[1].host])
        refused = link.ask("create", 1)
        self.assertFalse(refused["made"])
        self.assertIn("read-only", refused["message"])


class FailOver(LinkTest):
    renews = True

    def test_a_promoted_standby_has_another_timeline(self):
        link = self.owner()
        self.append(link, 1, 1)
        self.assert_outcome(link.next(), "rows", 1)
        before = link.ask("session")["session"]
        self.primary.freeze()
        winner = max(self.servers.list[1:], key=lambda server: self.number(
            "select pg_last_wal_receive_lsn() - '0/0'", server))
        self.servers.promote(winner)
        loser = next(server for server in self.servers.list[1:] if server is not winner)
        self.servers.repoint(loser, winner)
        self.servers.wait_for_standbys(winner, 1)
        self.assert_outcome(link.ask("connect", self.servers.list.index(winner)), "rows")
        after = link.ask("session")["session"]
        self.assertEqual((after[0], after[1], after[2]), (before[0], 2, False))
        beaten = link.ask("beat", 1, 1)
        self.assert_outcome(beaten, "rows", 1)
        self.assertEqual(beaten["row"]["last_group"], 1)
        self.assertEqual(len(link.ask("read_log", 1)["log"]), 1)
        self.primary.thaw()
        self.assert_outcome(link.ask("connect", 0), "rows")
        old = link.ask("session")["session"]
        self.assertEqual(old, before)


if __name__ == "__main__":
    support.run_tests()
