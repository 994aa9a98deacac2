"""Tests what nodes tell over HTTP: metrics, the events of the page, and commands in JSON.

ELAPSE_WRONG_CLOCK names a library with which a node's wall clock is wrong.
"""

import collections
import http.client
import json
import os
import pathlib
import re
import shutil
import signal
import subprocess
import unittest

import nodes_support as support
from nodes_support import NodesTest

LINE = re.compile(r'^([a-z_]+)(?:\{(.*)\})? (\S+)$')
LISTENS = re.compile(r"listening: http:127\.0\.0\.1:(\d+)")
HTTP = ("--http", "127.0.0.1:0")
RULES = support.ROOT / "examples" / "prometheus"
WRONG_CLOCK = os.environ.get("ELAPSE_WRONG_CLOCK")


class FiguresTest(NodesTest):
    partitions = 2

    def log(self, node):
        return (node.directory / f"log{node.starts}").read_text(encoding="utf-8", errors="replace")

    def ask_http(self, node, method, path, body=None, headers=None):
        connection = http.client.HTTPConnection("127.0.0.1", int(LISTENS.search(self.log(node))[1]), timeout=60)
        self.addCleanup(connection.close)
        headers = dict(headers or {})
        if body is not None:
            headers["Content-Type"] = "application/json"
        connection.request(method, path, body=body and json.dumps(body), headers=headers)
        return connection.getresponse()

    def metrics(self, node):
        answer = self.ask_http(node, "GET", "/metrics")
        self.assertEqual(answer.status, 200)
        values = {}
        for line in answer.read().decode().splitlines():
            if not line.startswith("#"):
                name, labels, value = LINE.match(line).groups()
                self.assertNotIn((name, labels), values)
                values[name, labels] = float(value)
        return values

    def event(self, node):
        return self.event_that(node, lambda event: True)

    def event_that(self, node, fits):
        """Returns the first event of one stream that fits. A node has one each second."""
        with self.ask_http(node, "GET", "/events") as answer:
            events = (json.loads(line[6:]) for line in answer if line.startswith(b"data: "))
            for event, _ in zip(events, range(60)):
                if fits(event):
                    return event
        raise AssertionError("no such event has come")

    def of_parts(self, values, name):
        return [values[f"elapse_partition_{name}", f'partition="{part}"'] for part in range(2)]


class Figures(FiguresTest):
    def test_every_metric_of_an_alert_is_there(self):
        names = {name for name, _ in self.metrics(self.owner(*HTTP))}
        rules = (RULES / "elapse-cluster.rules.yml").read_text(encoding="utf-8")
        wanted = set(re.findall(r"\belapse_[a-z_]+", rules))
        self.assertGreater(len(wanted), 8)
        self.assertEqual(wanted - names, set())

    @unittest.skipIf(shutil.which("promtool") is None, "promtool is not installed")
    def test_the_alerts_come_when_they_should(self):
        for words in (("check", "rules", "elapse-cluster.rules.yml"),
                      ("test", "rules", "elapse-cluster.rules.test.yml")):
            checked = subprocess.run(["promtool", *words], cwd=RULES, capture_output=True, check=False, text=True)
            self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)

    def test_the_guide_names_metrics_that_are_there(self):
        names = {name for name, _ in self.metrics(self.owner(*HTTP))}
        guide = (support.ROOT / "docs/guide/cluster.md").read_text(encoding="utf-8")
        named = set(re.findall(r"`(elapse_[a-z_]+)`", guide))
        self.assertGreater(len(named), 8)
        self.assertEqual(named - names, set())

    def test_how_long_the_database_confirms_nothing(self):
        """The owner writes each quarter of its lease, which is a second here; then no standby confirms."""
        node = self.owner(*HTTP)
        idle = self.follower(*HTTP)
        self.wait_until(lambda: max(self.of_parts(self.metrics(node), "unconfirmed_ms")) < 900, "it is confirmed")
        self.freeze_standbys()
        self.wait_until(lambda: min(self.of_parts(self.metrics(node), "unconfirmed_ms")) > 1500, "it grows")
        self.assertEqual(self.of_parts(self.metrics(idle), "unconfirmed_ms"), [0, 0])
        self.assertEqual(self.probe(node, "/readyz"), (200, b"ready\n"))
        self.thaw_standbys()
        self.wait_until(lambda: max(self.of_parts(self.metrics(node), "unconfirmed_ms") +
                                    self.of_parts(self.metrics(idle), "unconfirmed_ms")) < 900, "confirmed again")

    def probe(self, node, path):
        answer = self.ask_http(node, "GET", path)
        return answer.status, answer.read()

    def test_probes(self):
        """That the database does not answer is no reason to send clients elsewhere: no node has another."""
        owner, follower = self.owner(*HTTP), self.follower(*HTTP)
        names = self.primary.sql("show synchronous_standby_names;\n")
        self.addCleanup(self.primary.set_names, names)
        self.primary.set_names("")
        self.wait_until(lambda: self.of_parts(self.metrics(owner), "complaint") == [1, 1], "it complains")
        for node in (owner, follower):
            self.assertEqual(self.probe(node, "/livez"), (200, b"ok\n"))
            self.assertEqual(self.probe(node, "/readyz"), (200, b"ready\n"))
        follower.process.signal(signal.SIGUSR1)
        self.wait_until(lambda: self.probe(follower, "/readyz") == (503, b"draining\n"), "it says so")
        self.assertEqual(self.probe(follower, "/livez"), (200, b"ok\n"))

    def test_a_node_that_is_drained(self):
        """No client should be sent to it, until it is undrained."""
        self.owner(*HTTP, "--node", "one")
        second = self.follower(*HTTP, "--node", "two")
        self.assertEqual(self.probe(second, "/readyz"), (200, b"ready\n"))
        for verb, answer in (("drain", (503, b"draining\n")), ("undrain", (200, b"ready\n"))):
            command = [support.server_process.PROGRAM, "cluster", verb, "two", "--queue", "test", "--cluster",
                       self.primary.host]
            # The database knows a node when it has told of itself for the first time.
            self.wait_until(lambda command=command: subprocess.run(
                command, capture_output=True, check=False).returncode == 0, "the database knows the node")
            self.wait_until(lambda answer=answer: self.probe(second, "/readyz") == answer, f"it is {verb}ed")
            self.assertEqual(self.probe(second, "/livez"), (200, b"ok\n"))

    def test_events_have_the_nodes_with_copies_and_moves(self):
        """Each node tells of all nodes what they have told of themselves."""
        nodes = [self.owner(*HTTP, "--node", "one"), self.follower(*HTTP, "--node", "two")]
        self.wait_until(lambda: self.number("select sum(cardinality(ready)) from elapse.node") == 4, "both are ready")
        self.primary.sql("insert into elapse.place (queue, part, preferred, target) values ('test', 0, 'one', ''), ('test', 1, '', 'gone');\n"
                         "update elapse.node set draining = true where name = 'two';\nupdate elapse.queue set moves_paused = true;\n")

        def told(event):
            cluster = event["cluster"]
            owners = self.primary.sql("select owner from elapse.partition where queue = 'test';\n").split()
            shown = [(one["name"], one["alive"], one["draining"], one["ready"]) for one in cluster["nodes"] or ()]
            owns = [one["owns"] for one in cluster["nodes"] or ()]
            # A target that is no node of the queue is of no use, and the balancer takes it away.
            return cluster["moves_paused"] and [(part["preferred"], part["target"]) for part in cluster["partitions"]] == [("one", ""), ("", "")] \
                and shown == [("one", True, False, [0, 1]), ("two", True, True, [0, 1])] and sum(owns) == 2 \
                and owns == [sum(owner.startswith(f"{name}/") for owner in owners) for name in ("one", "two")]
        for node in nodes:
            cluster = self.event_that(node, told)["cluster"]
            for one, other in zip(cluster["nodes"], nodes):
                self.assertEqual((one["address"], one["version"]), (f"127.0.0.1:{other.port}", cluster["nodes"][0]["version"]))
                self.assertIsInstance(one["ahead_ms"], int)
        self.addCleanup(self.servers.start)  # anew, so the nodes end before
        for node in nodes:
            self.addCleanup(node.kill)
        self.servers.stop()
        self.event_that(nodes[1], lambda event: event["cluster"]["nodes"] is None)

    def test_partitions_that_cannot_be_asked(self):
        names = self.primary.sql("show synchronous_standby_names;\n")
        self.addCleanup(self.primary.set_names, names)
        self.primary.set_names("")
        answer = self.ask_http(self.node(*HTTP).start(), "POST", "/api/v1/reserve", {"tubes": ["tube"]})
        self.assertEqual((answer.status, json.load(answer)["error"]["code"]), (503, "TRY_AGAIN"))

    def test_threads(self):
        """The loop, the reader of bodies and four errands; and for each partition a runner, and the two of
        its journal."""
        node = self.owner()
        wanted = {"elapse-reader": 1, "elapse-inbox": 1, "elapse-names": 1, "elapse-nodes": 1, "elapse-witness": 1, "elapse-cluster": self.partitions,
                  "elapse-commit": self.partitions, "elapse-journal": self.partitions}

        def named():
            tasks = pathlib.Path(f"/proc/{node.process.process.pid}/task").iterdir()
            names = [(task / "comm").read_text(encoding="ascii").strip() for task in tasks]
            return collections.Counter(name for name in names if name.startswith("elapse-"))

        self.wait_until(lambda: named() == wanted, f"the threads are {wanted}")

    def test_passwords(self):
        secret = self.folder / "secret"
        secret.write_text("open sesame\n", encoding="ascii")
        secret.chmod(0o600)
        node = self.node(*HTTP, "--auth", str(secret)).start()
        self.assertEqual(self.ask_http(node, "GET", "/metrics").status, 401)
        self.assertEqual(self.ask_http(node, "GET", "/metrics", headers={
            "Authorization": "Bearer wrong"}).status, 401)
        with node.connect() as connection:
            self.assertIn("WRONGPASS", str(connection.ask("AUTH", "wrong")))
        answer = self.ask_http(node, "GET", "/metrics", headers={"Authorization": "Bearer open sesame"})
        self.assertEqual(answer.status, 200)
        self.assertIn("\nelapse_wrong_passwords_total 2\n", answer.read().decode())
        self.wait_until(lambda: "wrong passwords from 127.0.0.1" in self.log(node), "the log says who guesses")

    def node_ahead(self, seconds):
        """Starts a node whose wall clock is so many seconds ahead."""
        node = self.node(*HTTP)
        node.before = ("env", f"LD_PRELOAD={WRONG_CLOCK}", f"ELAPSE_AHEAD_S={seconds}")
        return node.start()

    def status(self, *options):
        command = [support.server_process.PROGRAM, "cluster", "status", "--queue", "test", *options]
        return subprocess.run([*command, "--cluster", self.primary.host], stdout=subprocess.PIPE, text=True,
                              timeout=support.cluster.PATIENCE_S, check=False).stdout

    @unittest.skipUnless(WRONG_CLOCK, "not beside a sanitizer")
    def test_a_clock_that_differs_is_a_warning(self):
        """Below 5 s the node serves. The status names the worst clock."""
        said = "partition {}: this node's wall clock differs from the database's: watch NTP on both; " \
               r"this node's wall clock minus the database's: (-?\d+) ms"
        right = self.owner(*HTTP)
        self.wait_until(lambda: max(self.of_parts(self.metrics(right), "clock_off_ms")) < 500, "its clock is right")
        self.wait_until(lambda: "wall clock of the node" not in self.status(), "the status has no complaint")
        self.assertNotIn("wall clock of the node", self.status())
        for seconds, side in ((2, "ahead of"), (-4, "behind")):
            with self.subTest(seconds=seconds):
                node = self.node_ahead(seconds)
                for part in range(2):
                    line = self.wait_until(lambda node=node, part=part: re.search(
                        said.format(part), self.log(node)), "the log warns")
                    self.assertGreater(int(line[1]) * seconds, 500 * abs(seconds))
                self.wait_until(lambda node=node, off=abs(seconds): all(
                    1000 * off - 500 < here < 1000 * off + 500
                    for here in self.of_parts(self.metrics(node), "clock_off_ms")), "the metric")
                for part in self.event(node)["cluster"]["partitions"]:
                    self.assertRegex(part["clock"], "^this node's wall clock differs from the database's")
                worst = rf"the wall clock of the node at 127\.0\.0\.1:{node.port} is \d+ ms {side} the database's"
                self.wait_until(lambda worst=worst: re.search(worst, self.status()), "the status says which clock")
                [warning] = json.loads(self.status("--json"))["warnings"]
                self.assertRegex(warning, worst)
        self.assertEqual([part["clock"] for part in self.event(right)["cluster"]["partitions"]], [""] * 2)
        right.stop()
        self.wait_until(lambda: sum(other.owned() for other in self.nodes[1:]) == 2, "the others own all")

    @unittest.skipUnless(WRONG_CLOCK, "not beside a sanitizer")
    def test_a_node_whose_clock_is_wrong_is_not_ready(self):
        """It follows, and lacks nothing, but may not take over."""
        first = self.owner(*HTTP)
        wrong = self.node_ahead(60)
        self.wait_until(lambda: "wall clock is wrong by more than 5 s" in self.log(wrong), "the log says so")
        self.put_many(first, [str(i) for i in range(20)])
        self.wait_until(lambda: self.of_parts(self.metrics(wrong), "lag_groups") == [0, 0]
                        and all(self.of_parts(self.metrics(wrong), "last_group")), "it has caught up")
        self.assertEqual(self.of_parts(self.metrics(wrong), "replica_ready"), [0, 0])
        ready = "select ready from elapse.node where name like '%:{}' and beat > clock_timestamp() - interval '2 s';\n"
        for node, parts in ((first, "{0,1}"), (wrong, "{}")):
            self.wait_until(lambda node=node, parts=parts: self.primary.sql(ready.format(node.port)) == parts, parts)

    def test_names_that_are_emptied_are_a_complaint(self):
        node = self.owner(*HTTP)
        names = self.primary.sql("show synchronous_standby_names;\n")
        self.addCleanup(self.primary.set_names, names)
        self.primary.set_names("")
        self.wait_until(lambda: self.of_parts(self.metrics(node), "complaint") == [1, 1], "it complains")
        self.wait_until(lambda: self.of_parts(self.metrics(node), "answering") == [0, 0], "it answers nothing")
        # It tries the other servers, too, which are standbys.
        self.wait_until(lambda: self.event(node)["cluster"]["partitions"][0]["complaint"].startswith(
            "synchronous_standby_names is empty"), "it says why")


class CalmFigures(FiguresTest):
    """No lease has to end, and the owner is to stay the owner."""

    lease_ms = support.CALM_LEASE_MS

    def test_metrics(self):
        first = self.owner(*HTTP)
        second = self.follower(*HTTP)
        for number in range(20):
            self.put(second, f"b{number}", "KEY", str(number), "IN", "1h")
        self.put(first, "now")
        # A follower knows the end of the log as it saw it last.
        self.wait_until(lambda: self.of_parts(self.metrics(second), "last_group") ==
                        self.of_parts(self.metrics(first), "last_group"), "the follower sees all groups")
        self.wait_until(lambda: self.of_parts(self.metrics(second), "lag_groups") == [0, 0],
                        "the follower has all groups")
        owner, other = self.metrics(first), self.metrics(second)
        for values, owned, role in ((owner, 1, "owning"), (other, 0, "following")):
            self.assertEqual(self.of_parts(values, "owned"), [owned] * 2)
            self.assertEqual(self.of_parts(values, "answering"), [owned] * 2)
            self.assertEqual(self.of_parts(values, "without_owner"), [0, 0])
            self.assertEqual(self.of_parts(values, "complaint"), [0, 0])
            self.assertEqual(self.of_parts(values, "epoch"), [1, 1])
            for part in range(2):
                self.assertEqual(values["elapse_partition_role", f'partition="{part}",role="{role}"'], 1)
        self.assertEqual(self.of_parts(owner, "last_group"), self.of_parts(other, "last_group"))
        self.assertGreater(min(self.of_parts(owner, "last_group")), 1)
        self.assertEqual(owner["elapse_jobs", 'tube="tube",state="delayed"'], 20)
        self.assertEqual(owner["elapse_jobs", 'tube="tube",state="ready"'], 1)
        self.assertEqual(owner["elapse_queue_jobs", 'state="delayed"'], 20)
        self.assertEqual(owner["elapse_jobs_put_total", None], 21)
        self.assertNotIn(("elapse_jobs", 'tube="tube",state="delayed"'), other)
        self.assertEqual((other["elapse_jobs_put_total", None], other["elapse_segments", None]), (0, 0))
        self.assertGreaterEqual(other["elapse_router_commands_total", None], 20)
        self.assertGreaterEqual(other["elapse_router_sent_total", None], 20)

    def test_ready_replicas(self):
        first = self.owner(*HTTP)
        self.assertEqual(self.of_parts(self.metrics(first), "replica_ready"), [0, 0])
        second = self.follower(*HTTP)
        self.wait_until(lambda: self.of_parts(self.metrics(second), "replica_ready") == [1, 1], "it has caught up")
        first.kill()
        self.end_lease(first)
        self.wait_until(lambda: self.of_parts(self.metrics(second), "owned") == [1, 1], "it owns all")
        self.assertEqual(self.of_parts(self.metrics(second), "replica_ready"), [0, 0])

    def test_the_owner_dies(self):
        first = self.owner(*HTTP)
        second = self.follower(*HTTP)
        for number in range(8):
            self.put(first, f"b{number}", "KEY", str(number), "IN", "1h")
        self.assertEqual(self.event(second)["jobs"]["delayed"], 0)
        first.kill()
        self.end_lease(first)
        self.wait_until(lambda: self.of_parts(self.metrics(second), "owned") == [1, 1], "it owns all")
        self.wait_until(lambda: self.of_parts(self.metrics(second), "epoch") == [2, 2], "it tells so")
        values = self.metrics(second)
        self.assertEqual(values["elapse_jobs", 'tube="tube",state="delayed"'], 8)

    def test_events(self):
        first = self.owner(*HTTP, "--node", "one")
        second = self.follower(*HTTP, "--node", "two")
        for number in range(8):
            self.put(first, f"b{number}", "KEY", str(number), "IN", "30m")
        self.wait_until(lambda: self.event(first)["tubes"], "the pass over the tubes")
        seen, other = self.event(first), self.event(second)
        self.assertEqual((seen["cluster"]["node"], other["cluster"]["node"]), ("one", "two"))
        self.assertEqual(seen["cluster"]["queue"], "test")
        for event, owned, jobs in ((seen, True, 8), (other, False, 0)):
            self.assertEqual([part["owned"] for part in event["cluster"]["partitions"]], [owned] * 2)
            self.assertEqual([part["partition"] for part in event["cluster"]["partitions"]], [0, 1])
            for part in event["cluster"]["partitions"]:
                self.assertEqual(part["address"], f"127.0.0.1:{first.port}")
                self.assertEqual((part["epoch"], part["complaint"]), (1, ""))
            self.assertEqual(event["jobs"]["delayed"], jobs)
            self.assertEqual(sum(event["forecast"]["minutes"]), jobs)
        [tube] = seen["tubes"]
        self.assertEqual((tube["name"], tube["delayed"], seen["storage"]["segments"] >= 2), ("tube", 8, True))
        self.assertEqual((other["tubes"], other["wheel"]["levels"], other["storage"]["segments"]), ([], [], 0))
        self.assertEqual(len(seen["wheel"]["levels"]), 6)

    def test_commands_at_any_node(self):
        self.owner(*HTTP)
        second = self.follower(*HTTP)
        answer = self.ask_http(second, "POST", "/api/v1/put", {"tube": "tube", "body": "x"})
        self.assertEqual(answer.status, 200, answer.read())
        answer = self.ask_http(second, "POST", "/api/v1/reserve", {"tubes": ["tube"], "wait": "10s"})
        self.assertEqual([job["body"] for job in json.load(answer)["jobs"]], ["x"])

    def transact(self, node, *puts):
        commands = [{"command": "put", "tube": tube, "body": body} for tube, body in puts]
        answer = self.ask_http(node, "POST", "/api/v1/transaction", {"commands": commands})
        return answer.status, json.load(answer)

    def test_a_transaction_at_any_node(self):
        self.owner(*HTTP)
        second = self.follower(*HTTP)
        status, answer = self.transact(second, ("mails{eu}", "x"), ("more{eu}", "y"))
        self.assertEqual((status, [one["result"] for one in answer["results"]]), (200, ["scheduled"] * 2))
        self.assertEqual({int(one["id"]) % 2 for one in answer["results"]}, {1})
        status, answer = self.transact(second, ("mails{eu}", "z"), ("mails{asia}", "z"))
        self.assertEqual((status, answer["error"]["code"]), (400, "CROSS_SLOT"))
        for tube, bodies in (("mails{eu}", ["x"]), ("mails{asia}", [])):
            answer = self.ask_http(second, "POST", "/api/v1/reserve", {"tubes": [tube], "count": 10})
            self.assertEqual([job["body"] for job in json.load(answer)["jobs"]], bodies)


if __name__ == "__main__":
    support.run_tests()
