"""Tests nodes that have one partition each and no disk, on three servers of PostgreSQL. Nodes, sessions and
servers are stopped and killed. The tests check who owns the partition, and that confirmed groups stay."""

import itertools
import random
import signal
import time

import postgres_support as support
from postgres_support import LEASE_MS, cluster
from stalls import Stalls

NAMES = "ANY 1 (s0,s1,s2)"


SLEEP_S = 40  # longer than any statement may take


class Node:
    """A driver, and all that it has said. `log` has the groups that it has, by the order of events."""

    def __init__(self, driver):
        self.driver = driver
        self.events = []
        self.taken = 0

    def read(self, limit_s):
        event = self.driver.next(limit_s)
        self.events.append(event)
        return event

    def explain(self, kind, error):
        """Fails, with what the node says about itself."""
        if self.driver.process.poll() is None:
            self.tell("figures")
            self.read(5)
        raise AssertionError(f"no {kind}: {error}: {self.events[-6:]}")

    def await_event(self, kind, limit_s=cluster.PATIENCE_S, **fields):
        """Waits for the next event of this kind, with these fields, behind the one before."""
        end = time.monotonic() + limit_s
        while True:
            while self.taken < len(self.events):
                event = self.events[self.taken]
                self.taken += 1
                if event.get("event") == kind and fields.items() <= event.items():
                    return event
            try:
                self.read(max(0.001, end - time.monotonic()))
            except AssertionError as error:
                self.explain(kind, error)

    def read_all(self):
        """What has come by now. A driver that was killed has said nothing more."""
        while not self.driver.lines.empty():
            self.events.append(self.driver.lines.get() or {})

    def of_kind(self, kind):
        return [event for event in self.events if event.get("event") == kind]

    def tell(self, *words):
        self.driver.tell(*words)

    def figures(self):
        self.tell("figures")
        return self.await_event("figures")

    def submit(self, text):
        self.tell("submit", text)

    def log(self):
        """The texts of the groups that it has, as a follower and as an owner."""
        groups = {}
        for event in self.events:
            if event.get("event") == "rebuild":
                groups = {}
            if event.get("event") in ("apply", "confirmed"):
                groups[event["group"]] = event["text"]
        return groups


class RunnerTest(support.ClusterTest):
    lease_ms = LEASE_MS

    def setUp(self):
        super().setUp()
        maker = self.driver("link", "maker", self.lease_ms, self.primary.host)
        self.genesis = maker.ask("create", 1)["genesis"]

    def node(self, name):
        return Node(self.driver("runner", name, self.lease_ms, self.genesis, *self.servers.hosts()))

    def owner(self, name="first"):
        node = self.node(name)
        node.await_event("own")
        return node

    def pair(self):
        """An owner with one group, and a follower that has it."""
        first = self.owner()
        first.submit("one")
        first.await_event("confirmed", group=1, text="one")
        second = self.node("second")
        second.await_event("apply", group=1, text="one")
        return first, second

    def database_log(self, server=None):
        server = server or self.primary
        tables = server.sql("select relname from pg_class where relname ~ '^log_test_0_[0-9]+$'"
                            " order by length(relname), relname;\n").split()
        rows = itertools.chain.from_iterable(
            server.sql(f"select group_number, convert_from(bytes, 'UTF8') from elapse.{table}"
                       " order by group_number;\n").splitlines() for table in tables)
        return {int(group): text for group, text in (row.split("|") for row in rows)}

    def blocker(self, text):
        """Another session, which holds a lock."""
        session = self.primary.start_sql(f"begin;\n{text};\n\\echo done\n")
        self.assertEqual(session.stdout.readline(), "done\n")
        return session

    def assert_no_overlap(self, earlier, own):
        """The node before may answer nothing by the time that another one owns."""
        until = max(event["until"] for event in earlier.events if "until" in event)
        self.assertLessEqual(until, own["now"])


class CalmOwners(RunnerTest):
    """No lease has to end, and a busy machine ends none."""

    lease_ms = 10000

    def test_groups_are_confirmed_and_followed(self):
        first, second = self.pair()
        for number in range(2, 6):
            first.submit(f"group{number}")
            confirmed = first.await_event("confirmed", group=number, text=f"group{number}")
            self.assertLess(confirmed["now"], confirmed["until"])
        second.tell("news")
        for number in range(2, 6):
            second.await_event("apply", group=number, text=f"group{number}")
        figures = second.figures()
        self.assertEqual((figures["role"], figures["owner"], figures["address"], figures["until"]),
                         ("following", "first", "127.0.0.1:11300", 0))
        second.submit("not mine")
        second.await_event("refused")
        self.assertEqual(self.database_log(), first.log())

    def test_hand_over(self):
        """Much sooner than the lease ends, and the owner before answers nothing from then on."""
        first, second = self.pair()
        first.submit("two")
        first.tell("handover")
        first.await_event("confirmed", group=2)
        self.assertEqual(first.await_event("releasing")["until"], 0)
        first.await_event("ended", released=True)
        with Stalls() as stalls:
            began = time.monotonic()
            second.await_event("own", epoch=2)
            self.assertLess(time.monotonic() - began - stalls.seconds, self.lease_ms / 2000)
        self.assertEqual(second.log(), {1: "one", 2: "two"})
        first.submit("late")
        first.await_event("refused")
        second.submit("three")
        second.await_event("confirmed", group=3)

    def test_a_group_in_flight_is_given_back_when_it_is_fenced(self):
        """The node has the group before it can know of the other owner."""
        first = self.owner()
        rival = self.blocker("update elapse.partition set epoch = 9, owner = 'rival', beat = beat + 1")
        first.submit("lost")
        first.figures()
        rival.communicate("commit;\n")
        self.assertEqual(first.await_event("fenced")["text"], "lost")
        first.await_event("changed", owner="rival")
        self.assertEqual(self.database_log(), {})


class Stops(RunnerTest):
    lease_ms = 120000  # a statement has half of it

    def test_stopping_does_not_wait(self):
        first = self.owner()
        self.freeze_standbys()
        first.submit("one")
        self.wait_for_waiting()
        first.tell("stop")
        first.await_event("end", limit_s=self.lease_ms / 4000)


class Owners(RunnerTest):
    def test_a_hand_over_that_nobody_confirms_is_none(self):
        first = self.owner()
        self.freeze_standbys()
        first.tell("handover")
        first.await_event("ended", released=False)
        self.thaw_standbys()

    def test_a_killed_owner_is_followed_by_another(self):
        first, second = self.pair()
        first.figures()
        first.driver.signal(signal.SIGKILL)
        self.assert_no_overlap(first, second.await_event("own", epoch=2))
        second.submit("two")
        second.await_event("confirmed", group=2)
        third = self.node("third")
        third.await_event("apply", group=2, text="two")

    def test_an_owner_that_stood_still_is_fenced(self):
        first, second = self.pair()
        first.figures()
        first.driver.signal(signal.SIGSTOP)
        self.assert_no_overlap(first, second.await_event("own", epoch=2))
        second.submit("two")
        second.await_event("confirmed", group=2)
        first.submit("lost")
        first.driver.signal(signal.SIGCONT)
        first.await_event("apply", group=2, text="two")
        fenced = first.of_kind("fenced")
        self.assertEqual(len(fenced), 1)
        refused = [event["text"] for event in first.of_kind("refused")]
        self.assertEqual([event["text"] for event in fenced if event["text"]] + refused, ["lost"])
        self.assertEqual(self.database_log(), {1: "one", 2: "two"})
        self.assertEqual(first.log(), second.log())

    def test_nothing_is_answered_before_memory_is_on_the_disk(self):
        first = self.node("!first")
        first.await_event("remember", done=False, epoch=1)
        first.submit("one")
        confirmed = first.await_event("confirmed")
        self.assertEqual((confirmed["until"], first.figures()["until"]), (0, 0))
        first.tell("remember", 1)
        first.await_event("remember", done=True, epoch=1)
        cluster.wait_until(lambda: first.figures()["until"] > 0, "it answers")

    def test_what_was_trimmed_is_not_read(self):
        first, second = self.pair()
        first.submit("two")
        first.await_event("confirmed")
        first.tell("trim", 2)
        cluster.wait_until(lambda: self.number("select tail from elapse.partition") == 2, "the tail")
        self.primary.sql("delete from elapse.log_test_0_0 where group_number < 2;\n")
        third = self.node("third")
        third.await_event("rebuild", tail=2)
        third.await_event("apply", group=2, text="two")
        second.await_event("apply", group=2, text="two")

    def test_lost_groups_stop_it(self):
        """The wrong standby was promoted."""
        first = self.pair()[0]
        self.primary.sql("update elapse.partition set last_group = 0, last_hash = 0;\n")
        first.await_event("stopped", why="lost groups")
        first.submit("late")
        first.await_event("refused")
        self.assertEqual(first.figures()["until"], 0)

    def test_lost_groups_stop_nodes_that_had_not_read_them(self):
        """The row says so: the owner alone knew of them."""
        first, second = self.pair()
        second.driver.signal(signal.SIGSTOP)
        first.submit("two")
        first.await_event("confirmed", group=2)
        last_hash = self.number("select hash_of_previous from elapse.log_test_0_0 where group_number = 2")
        self.primary.sql(f"update elapse.partition set last_group = 1, last_hash = {last_hash};\n"
                         "delete from elapse.log_test_0_0 where group_number = 2;\n")
        first.await_event("stopped", why="lost groups")
        self.assertEqual(self.primary.sql("select stopped from elapse.partition;\n"),
                         "first knows group 2 of epoch 1, and the database ended with group 1 of epoch 1")
        second.driver.signal(signal.SIGCONT)
        second.await_event("stopped", why="marked")
        third = self.node("third")
        third.await_event("stopped", why="marked")
        self.assertEqual(second.of_kind("own") + third.of_kind("own"), [])
        self.assertEqual(self.database_log(), {1: "one"})


class Inbox(RunnerTest):
    def setUp(self):
        super().setUp()
        self.primary.sql((support.ROOT / "sql/inbox.sql").read_text(encoding="utf-8"))
        self.primary.sql("select elapse.inbox_open('test', 1, 65535);\n")

    def put(self, body):
        self.primary.sql(f"select elapse.put('tea', '{body}', delay => '5 s', key => 'k{body}',"
                         " queue => 'test');\n")

    def test_rows_go_with_groups(self):
        self.put("one")
        node = self.owner("@first")
        row = node.await_event("row")
        self.assertEqual((row["what"], row["tube"], row["key"], row["body"], row["due"]),
                         ("put", "tea", "kone", "one", "in"))
        self.assertLessEqual(row["due_ms"], 5000)
        node.await_event("confirmed", text="rows")
        for body in ("two", "three"):
            self.put(body)
            node.await_event("row", body=body)
            node.await_event("confirmed", text="rows")
        self.assertEqual(self.number("select count(*) from elapse.inbox"), 0)
        self.assertEqual(len(node.of_kind("row")), 3)

    def wait_until_it_is_told(self, node, body):
        """The session is told nothing while it holds a lock, which says that it polls."""
        told = len(node.of_kind("told"))
        while self.number("select count(*) from pg_locks where locktype = 'advisory'") > 0:
            time.sleep(0.05)
        self.put(body)
        node.await_event("row", body=body)
        while len(node.of_kind("told")) == told:
            node.await_event("told")

    def test_a_session_is_told_although_its_first_poll_failed(self):
        """The error of the poll undoes what the session has asked for."""
        definition = self.primary.sql("select pg_get_functiondef('elapse.inbox_rows'::regproc);\n")
        head = definition[:definition.index("AS $function$")]
        self.primary.sql(f"{head} as $$ begin raise exception 'not now'; end $$;\n")
        node = self.owner("@first")
        node.await_event("poll failed")
        self.primary.sql(definition + ";\n")
        self.put("one")
        node.await_event("row", body="one")
        node.await_event("confirmed", text="rows")
        self.wait_until_it_is_told(node, "two")

    def test_the_database_tells_of_rows(self):
        """Again in each session, because the one before has taken its wish with it."""
        node = self.owner("@first")
        for body in ("one", "two"):
            self.primary.sql("select elapse.put('tea', 'before', queue => 'test');\n")
            node.await_event("row", body="before")
            node.await_event("confirmed", text="rows")
            self.wait_until_it_is_told(node, body)
            self.primary.sql("select pg_terminate_backend(pid) from pg_stat_activity"
                             " where application_name = 'elapse/test/0';\n")

    def test_rows_that_are_gone_fence_it(self):
        """It takes over again, and reads them anew."""
        node = self.owner("@first")
        rival = self.blocker("update elapse.partition set beat = beat")
        self.put("one")
        node.await_event("row", body="one")
        self.primary.sql("delete from elapse.inbox;\n")
        rival.communicate("rollback;\n")
        node.await_event("fenced", text="rows")
        node.await_event("own", epoch=2)
        self.put("two")
        node.await_event("row", body="two")
        node.await_event("confirmed", group=1, text="rows")

    def test_a_poll_that_hangs_does_not_hold_up_the_lease(self):
        definition = self.primary.sql("select pg_get_functiondef('elapse.inbox_rows'::regproc);\n")
        head = definition[:definition.index("AS $function$")]
        node = self.owner("@first")
        self.primary.sql(f"{head} as $$ begin perform pg_sleep({SLEEP_S}); end $$;\n")
        node.await_event("poll failed", limit_s=SLEEP_S / 2)
        node.submit("one")
        node.await_event("confirmed", limit_s=SLEEP_S / 2, text="one")
        node.tell("figures")
        self.assertGreater(node.await_event("figures")["polls_lost"], 0)
        self.primary.sql(definition + ";\n")
        self.put("two")
        node.await_event("row", body="two")
        self.assertEqual(node.of_kind("fenced"), [])


class Databases(RunnerTest):
    def test_a_cancelled_commit_is_confirmed_by_a_barrier(self):
        """It answers with success, and no standby has it."""
        first = self.owner()
        self.freeze_standbys()
        first.submit("one")
        process = self.wait_for_waiting()
        self.primary.sql(f"select pg_cancel_backend({process});\n")
        first.await_event("changed", role="unknown")
        self.assertEqual(first.of_kind("confirmed"), [])
        self.thaw_standbys()
        first.await_event("confirmed", group=1, text="one")
        first.submit("two")
        first.await_event("confirmed", group=2)
        self.assertEqual(self.database_log(), {1: "one", 2: "two"})

    def test_a_terminated_commit_is_confirmed_by_a_barrier(self):
        first = self.owner()
        self.freeze_standbys()
        first.submit("one")
        process = self.wait_for_waiting()
        self.primary.sql(f"select pg_terminate_backend({process});\n")
        first.await_event("changed", role="unknown")
        self.assertEqual(first.of_kind("confirmed"), [])
        self.thaw_standbys()
        first.await_event("confirmed", group=1, text="one")

    def test_nothing_is_confirmed_without_names(self):
        first = self.owner()
        self.addCleanup(self.primary.set_names, NAMES)
        self.primary.set_names("")
        first.submit("one")
        cluster.wait_until(lambda: first.figures()["complaint"] == "no standby", "it complains")
        self.assertEqual(first.of_kind("confirmed"), [])
        self.primary.set_names(NAMES)
        first.await_event("confirmed", group=1, text="one")

    def test_names_that_are_emptied_while_a_commit_waits_confirm_nothing(self):
        first = self.owner()
        self.freeze_standbys()
        first.submit("one")
        self.wait_for_waiting()
        self.addCleanup(self.primary.set_names, NAMES)
        self.addCleanup(self.thaw_standbys)
        self.primary.set_names("")
        first.await_event("changed", role="unknown")
        cluster.wait_until(lambda: self.number("select last_group from elapse.partition") == 1,
                           "the commit is released")
        cluster.wait_until(lambda: first.figures()["complaint"] == "no standby", "it complains")
        self.assertEqual(first.of_kind("confirmed"), [])
        self.thaw_standbys()
        self.primary.set_names(NAMES)
        first.await_event("confirmed", group=1, text="one")


class FailOver(RunnerTest):
    renews = True

    def test_the_owner_goes_on_at_the_promoted_server(self):
        """The old primary comes back, says that it takes writes, and is not used."""
        first = self.owner()
        first.submit("one")
        first.await_event("confirmed", group=1)
        self.primary.freeze()
        winner = max(self.servers.list[1:], key=lambda server: self.number(
            "select pg_last_wal_receive_lsn() - '0/0'", server))
        loser = next(server for server in self.servers.list[1:] if server is not winner)
        self.servers.promote(winner)
        self.servers.repoint(loser, winner)
        first.submit("two")
        first.await_event("confirmed", group=2, text="two")
        self.primary.thaw()
        winner.signal_all(signal.SIGSTOP)
        winner.is_frozen = True
        time.sleep(LEASE_MS / 1000)
        self.assertEqual(first.of_kind("confirmed")[-1]["group"], 2)
        first.submit("three")
        winner.thaw()
        first.await_event("confirmed", group=3, text="three")
        self.assertEqual(self.database_log(winner), {1: "one", 2: "two", 3: "three"})


class Chaos(RunnerTest):
    """Three nodes that append as fast as they can, while nodes, sessions and standbys are hurt."""

    SECONDS = 8

    def setUp(self):
        super().setUp()
        self.all_nodes = []

    def hurt(self, dice, nodes):
        number = dice.randrange(3)
        kind = dice.choice(("kill", "stop", "handover", "terminate", "cancel", "freeze"))
        if kind == "stop":
            nodes[number].driver.signal(signal.SIGSTOP)
            time.sleep(dice.uniform(0.1, 1.5 * LEASE_MS / 1000))
            nodes[number].driver.signal(signal.SIGCONT)
        elif kind == "freeze":
            self.freeze_standbys()
            time.sleep(dice.uniform(0, LEASE_MS / 1000))
            self.thaw_standbys()
        elif kind in ("terminate", "cancel"):
            verb = "pg_terminate_backend" if kind == "terminate" else "pg_cancel_backend"
            self.primary.sql(f"select {verb}(pid) from pg_stat_activity"
                             " where application_name = 'elapse/test/0';\n")
        else:
            if kind == "kill":
                nodes[number].driver.signal(signal.SIGKILL)
            else:
                nodes[number].tell("handover")
            nodes[number] = self.node(f"+{len(self.all_nodes)}")
            self.all_nodes.append(nodes[number])

    def test_no_acknowledged_group_is_lost(self):
        seed = random.randrange(2**32)
        dice = random.Random(seed)
        nodes = [self.node(f"+{number}") for number in range(3)]
        self.all_nodes = list(nodes)
        end = time.monotonic() + self.SECONDS
        while time.monotonic() < end:
            time.sleep(dice.uniform(0, 0.5))
            self.hurt(dice, nodes)
        with self.subTest(seed=seed):
            self.end_nodes(nodes)
            self.check(self.database_log())

    def end_nodes(self, nodes):
        for node in nodes:
            node.tell("handover")
        for node in nodes:
            node.await_event("ended")
        for node in self.all_nodes:
            node.read_all()

    def check(self, log):
        self.assertEqual(sorted(log), list(range(1, len(log) + 1)), "the log has no gaps")
        texts = list(log.values())
        self.assertEqual(len(texts), len(set(texts)), "each group is there once")
        confirmed = 0
        for node in self.all_nodes:
            for event in node.of_kind("confirmed"):
                confirmed += 1
                self.assertEqual(log.get(event["group"]), event["text"], "confirmed, and lost")
            for group, text in node.log().items():
                self.assertEqual(log.get(group), text, "a node has another log")
        self.assertGreater(confirmed, 0)
        owns = sorted((event["epoch"], event["now"], node) for node in self.all_nodes
                      for event in node.of_kind("own"))
        self.assertEqual(len({epoch for epoch, _, _ in owns}), len(owns), "one owner each")


if __name__ == "__main__":
    support.run_tests()
