"""Tests what nodes tell over HTTP: metrics, the events of the page, and commands in JSON.

ELAPSE_WRONG_CLOCK names a library with which a node's wall clock is wrong.
"""

import collections
import http.client
import json
import os
import pathlib
import re
import subprocess
import unittest

import nodes_support as support
from nodes_support import NodesTest

LINE = re.compile(r'^([a-z_]+)(?:\{(.*)\})? (\S+)$')
LISTENS = re.compile(r"listening: http:127\.0\.0\.1:(\d+)")
HTTP = ("--http", "127.0.0.1:0")
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
        for line in self.ask_http(node, "GET", "/events"):
            if line.startswith(b"data: "):
                return json.loads(line[6:])
        raise AssertionError("no event has come")

    def of_parts(self, values, name):
        return [values[f"elapse_partition_{name}", f'partition="{part}"'] for part in range(2)]

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

    def test_the_owner_dies(self):
        first = self.owner(*HTTP)
        second = self.follower(*HTTP)
        for number in range(8):
            self.put(first, f"b{number}", "KEY", str(number), "IN", "1h")
        self.assertEqual(self.event(second)["jobs"]["delayed"], 0)
        first.kill()
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

    def test_partitions_that_cannot_be_asked(self):
        names = self.primary.sql("show synchronous_standby_names;\n")
        self.addCleanup(self.primary.set_names, names)
        self.primary.set_names("")
        answer = self.ask_http(self.node(*HTTP).start(), "POST", "/api/v1/reserve", {"tubes": ["tube"]})
        self.assertEqual((answer.status, json.load(answer)["error"]["code"]), (503, "TRY_AGAIN"))

    def test_threads(self):
        """The loop, the reader of bodies and two errands; and for each partition a runner, and the two of
        its journal."""
        node = self.owner()
        wanted = {"elapse-reader": 1, "elapse-inbox": 1, "elapse-names": 1, "elapse-cluster": self.partitions,
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


if __name__ == "__main__":
    support.run_tests()
