"""Tests the metrics, the events and the forecast of elapse serve --http."""

import json
import pathlib
import re
import shutil
import socket
import statistics
import subprocess
import time
import unittest

import support
from http_support import HttpTest
from serve_support import FREE_PORT, START_S, Server

LINE = re.compile(r'^([a-z_]+)(?:\{(.*)\})? (\S+)$')


class Figures(HttpTest):
    def metrics(self):
        answer = self.ask("GET", "/metrics")
        self.assertEqual(answer.status, 200)
        self.assertEqual(answer.headers["Content-Type"],
                         "text/plain; version=0.0.4; charset=utf-8")
        text = answer.body.decode()
        values = {}
        for line in text.splitlines():
            if not line.startswith("#"):
                name, labels, value = LINE.match(line).groups()
                self.assertNotIn((name, labels), values)
                values[name, labels] = float(value)
        return text, values

    def events(self, headers=None):
        """Yields the events, from a connection of its own."""
        connection = self.connect_http()
        connection.request("GET", "/events", headers=headers or {})
        response = connection.getresponse()
        self.assertEqual(response.status, 200)
        self.assertEqual(response.headers["Content-Type"], "text/event-stream")
        name = None
        for line in response:
            line = line.decode().rstrip("\n")
            if line.startswith("event: "):
                name = line[7:]
            elif line.startswith("data: "):
                self.assertEqual(name, "status")
                yield json.loads(line[6:])

    def event_that(self, holds):
        end = time.monotonic() + START_S
        for event in self.events():
            if holds(event) or time.monotonic() > end:
                self.assertTrue(holds(event), event)
                return event
        self.fail("the events have ended")


class Metrics(Figures):
    def test_counts(self):
        self.serve_http()
        for number in range(5):
            self.post("put", tube="a", body="b", **({"in": "1h"} if number else {}))
        self.post("put", tube='b"\\\nä', body="b")
        [job] = self.post("reserve", tubes=["a"])["jobs"]
        self.post("ack", jobs=[{"id": job["id"], "lease": job["lease"]}])
        before_ms = self.get("/api/v1/stats")["uptime_ms"]
        _, values = self.metrics()
        after_ms = self.get("/api/v1/stats")["uptime_ms"]
        uptime_ms = round(1000 * values["elapse_uptime_seconds", None])
        self.assertTrue(before_ms <= uptime_ms <= after_ms, (before_ms, uptime_ms, after_ms))
        self.assertEqual(values["elapse_jobs", 'tube="a",state="delayed"'], 4)
        self.assertEqual(values["elapse_jobs", 'tube="a",state="ready"'], 0)
        self.assertEqual(values["elapse_jobs", 'tube="b\\"\\\\\\nä",state="ready"'], 1)
        self.assertEqual(values["elapse_queue_jobs", 'state="delayed"'], 4)
        self.assertEqual(values["elapse_tubes", None], 2)
        self.assertEqual(values["elapse_jobs_put_total", None], 6)
        self.assertEqual(values["elapse_jobs_done_total", None], 1)
        self.assertEqual(values["elapse_commands_total", 'command="put"'], 6)
        self.assertEqual(values["elapse_commands_total", 'command="ack"'], 1)
        self.assertEqual(values["elapse_lateness_seconds_count", None], 1)
        self.assertGreater(values["elapse_fsync_seconds_count", None], 0)
        self.assertGreater(values["elapse_group_bytes_sum", None], 0)
        self.assertGreater(values["elapse_memory_bytes", None], 1 << 20)
        self.assertGreater(values["elapse_disk_free_bytes", None], 0)
        self.assertEqual(values["elapse_segments", None], 1)

    def test_histograms_add_up(self):
        self.serve_http()
        self.post("put", tube="a", body="b")
        time.sleep(0.1)
        self.post("reserve", tubes=["a"])
        _, values = self.metrics()
        for name in ("lateness_seconds", "fsync_seconds", "group_bytes"):
            buckets = [(float(labels[4:-1]), value) for (metric, labels), value in values.items()
                       if metric == f"elapse_{name}_bucket"]
            self.assertEqual(buckets, sorted(buckets))
            self.assertEqual([value for _, value in buckets], sorted(v for _, v in buckets))
            self.assertEqual(buckets[-1], (float("inf"), values[f"elapse_{name}_count", None]))
        self.assertEqual(values["elapse_lateness_seconds_bucket", 'le="0.064"'], 0)
        self.assertGreaterEqual(values["elapse_lateness_seconds_sum", None], 0.1)

    def test_the_oldest_job_that_nobody_takes(self):
        self.serve_http()
        self.post("put", tube="a", body="b")
        end = time.monotonic() + START_S
        overdue = 0
        while overdue < 1 and time.monotonic() < end:
            time.sleep(0.1)
            overdue = self.metrics()[1]["elapse_oldest_overdue_seconds", None]
        self.assertGreaterEqual(overdue, 1)
        self.post("reserve", tubes=["a"])
        self.assertEqual(self.metrics()[1]["elapse_oldest_overdue_seconds", None], 0)

    def test_many_tubes(self):
        server = self.serve_http()
        client = server.connect()
        for number in range(2100):
            client.send(b"use t%d\r\nput 1 3600 60 1\r\nx\r\n" % number)
        for _ in range(2100):
            self.assertTrue(client.line().startswith(b"USING"))
            self.assertTrue(client.line().startswith(b"INSERTED"))
        _, values = self.metrics()
        delayed = [value for (name, labels), value in values.items()
                   if name == "elapse_jobs" and 'state="delayed"' in labels]
        # That of the name `default`, which the client used first, is there too.
        self.assertEqual((len(delayed), sum(delayed)), (2101, 2100))
        self.assertEqual(values["elapse_tubes_left_out", None], 0)
        event = self.event_that(lambda event: len(event["tubes"]) == 200)
        self.assertEqual(event["tubes_total"], 2101)
        self.assertEqual(len({tube["name"] for tube in event["tubes"]}), 200)
        for name, count in (("t2000", 2), ("t7", 3), ("t900", 1)):
            for _ in range(count):
                client.send(b"use %s\r\nput 1 0 60 1\r\nx\r\n" % name.encode())
                self.assertTrue(client.line().startswith(b"USING"))
                self.assertTrue(client.line().startswith(b"INSERTED"))
        self.event_that(lambda event: [(tube["name"], tube["ready"]) for tube in event["tubes"][:3]]
                        == [("t7", 3), ("t2000", 2), ("t900", 1)])
        # Ready jobs that nobody takes would be trouble after ten seconds.
        for name, count in (("t2000", 2), ("t7", 3), ("t900", 1)):
            self.assertEqual(self.post("cancel_all", tube=name, state="ready")["removed"], count)
        self.post("pause", tube="t50", **{"for": "1h"})
        event = self.event_that(lambda event: event["tubes_in_trouble"] == 1)
        self.assertEqual(event["tubes"][0]["name"], "t50")

    def test_tubes_in_trouble(self):
        self.serve_http()
        self.post("put", tube='a"b', body="b")
        [job] = self.post("reserve", tubes=['a"b'])["jobs"]
        _, values = self.metrics()
        self.assertEqual(values["elapse_tubes_in_trouble", None], 0)
        self.assertNotIn("elapse_tube_buried_jobs", [name for name, _ in values])
        self.post("bury", jobs=[{"id": job["id"], "lease": job["lease"]}])
        self.post("limit", tube="held", concurrency=1)
        for _ in range(2):
            self.post("put", tube="held", body="b")
        self.post("reserve", tubes=["held"])
        _, values = self.metrics()
        self.assertEqual(values["elapse_tubes_in_trouble", None], 2)
        self.assertEqual(values["elapse_tube_buried_jobs", 'tube="a\\"b"'], 1)
        self.assertEqual(values["elapse_tube_buried_jobs", 'tube="held"'], 0)
        self.assertEqual(values["elapse_tube_held_jobs", 'tube="held"'], 1)
        self.assertEqual(values["elapse_tube_overdue_seconds", 'tube="a\\"b"'], 0)
        self.assertEqual(values["elapse_rest_held_jobs", None], 0)

    def test_tubes_in_trouble_among_more_than_have_counts(self):
        server = self.serve_http()
        client = server.connect()
        counted, buried = 10_000, 1001  # the limits of both are below
        for first in range(0, counted + 200, 100):
            for number in range(first, first + 100):
                client.send(b"use t%d\r\nput 1 3600 60 1\r\nx\r\n" % number)
            for _ in range(100):
                self.assertTrue(client.line().startswith(b"USING"))
                self.assertTrue(client.line().startswith(b"INSERTED"))
        watched = b"default"
        for number in range(buried):
            tube = b"t%d" % (number * 10)
            client.send(b"use %s\r\nwatch %s\r\nignore %s\r\n" % (tube, tube, watched))
            client.send(b"put 1 0 60 1\r\nx\r\nreserve\r\n")
            for word in (b"USING", b"WATCHING", b"WATCHING", b"INSERTED"):
                self.assertEqual(client.line().split()[0], word)
            watched = tube
            word, job, _ = client.line().split()
            self.assertEqual((word, client.line()), (b"RESERVED", b"x"))
            client.send(b"bury %s 1\r\n" % job)
            self.assertTrue(client.line().startswith(b"BURIED"))
        _, values = self.metrics()
        self.assertEqual(values["elapse_tubes_left_out", None], values["elapse_tubes", None] - counted)
        self.assertGreaterEqual(values["elapse_tubes_left_out", None], 200)
        self.assertEqual(values["elapse_tubes_in_trouble", None], buried)
        listed = [value for (name, _), value in values.items() if name == "elapse_tube_buried_jobs"]
        self.assertEqual((len(listed), sum(listed)), (1000, 1000))
        self.assertEqual(values["elapse_rest_buried_jobs", None], 1)

    def test_without_a_disk(self):
        self.serve_http("--durability", "memory")
        self.assertNotIn(("elapse_disk_free_bytes", None), self.metrics()[1])
        event = next(self.events())
        self.assertIsNone(event["storage"]["disk_free_bytes"])

    @unittest.skipIf(shutil.which("promtool") is None, "promtool is not installed")
    def test_prometheus_reads_them(self):
        self.serve_http()
        self.post("put", tube="a\xe9\"", body="b")
        text, _ = self.metrics()
        checked = subprocess.run(["promtool", "check", "metrics"], input=text.encode(),
                                 capture_output=True, check=False)
        self.assertEqual((checked.returncode, checked.stdout, checked.stderr), (0, b"", b""))


class Alerts(Figures):
    FOLDER = pathlib.Path(__file__).parents[3] / "examples" / "prometheus"

    def put_and_bury(self):
        self.post("put", tube="a", body="b")
        [job] = self.post("reserve", tubes=["a"])["jobs"]
        self.post("bury", jobs=[{"id": job["id"], "lease": job["lease"]}])

    def test_every_metric_of_an_alert_is_there(self):
        self.serve_http()
        self.put_and_bury()
        names = {name for name, _ in self.metrics()[1]}
        rules = (self.FOLDER / "elapse.rules.yml").read_text(encoding="utf-8")
        wanted = set(re.findall(r"\belapse_[a-z_]+", rules))
        self.assertGreater(len(wanted), 5)
        self.assertEqual(wanted - names, set())

    @unittest.skipIf(shutil.which("promtool") is None, "promtool is not installed")
    def test_the_alerts_come_when_they_should(self):
        for words in (("check", "rules", "elapse.rules.yml"),
                      ("test", "rules", "elapse.rules.test.yml")):
            checked = subprocess.run(["promtool", *words], cwd=self.FOLDER, capture_output=True,
                                     check=False, text=True)
            self.assertEqual(checked.returncode, 0, checked.stdout + checked.stderr)

    def test_the_guide_names_metrics_that_are_there(self):
        self.serve_http()
        self.put_and_bury()
        names = {name for name, _ in self.metrics()[1]}
        guide = self.FOLDER.parents[1] / "docs" / "guide" / "operating.md"
        for name in re.findall(r"`(elapse_[a-z_]+)`", guide.read_text(encoding="utf-8")):
            self.assertTrue({name, name + "_count"} & names, name)


class Events(Figures):
    def test_the_first_event_and_the_next(self):
        self.serve_http()
        self.post("put", tube="a", body="b", **{"in": "30m"})
        events = self.events()
        first, second = next(events), next(events)
        self.assertGreater(second["now_ms"], first["now_ms"])
        self.assertEqual(len(first["forecast"]["days"]), 365)
        self.assertEqual(len(first["forecast"]["hours"]), 48)
        self.assertNotIn("days", second["forecast"])
        self.assertEqual([len(second["forecast"][name]) for name in ("seconds", "minutes")],
                         [60, 60])
        self.assertEqual(sum(first["forecast"]["days"]), 1)
        self.assertEqual(first["storage"]["durability"], "sync")
        self.assertIsNone(first["lateness"]["p50_ms"])
        for level in first["wheel"]["levels"]:
            self.assertEqual(len(level["occupied"]), level["slots"] // 4)
            self.assertLess(level["position"], level["slots"])
        occupied = "".join(level["occupied"] for level in first["wheel"]["levels"])
        self.assertEqual(sum(int(digit, 16).bit_count() for digit in occupied), 1)

    def test_the_first_event_comes_at_once(self):
        """By the clock of the server: long before the next one, and not for all clients together."""
        self.serve_http()
        clients, waits = [], []
        for _ in range(6):
            asked_ms = self.get("/api/v1/forecast")["now_ms"]
            connection = self.connect_http()
            connection.request("GET", "/events")
            times = (json.loads(line[6:])["now_ms"] for line in connection.getresponse()
                     if line.startswith(b"data: "))
            clients.append((next(times), times))
            waits.append(clients[-1][0] - asked_ms)
            time.sleep(0.02)
        self.assertGreaterEqual(len({first_ms for first_ms, _ in clients}), 4)
        steps = [next(times) - first_ms for first_ms, times in clients]
        # Each client begins when the one before has its first event. So most of them would wait nearly for a whole
        # step, if the events of all came together. If the machine stands still, that touches few of them.
        self.assertLess(statistics.median(waits), statistics.median(steps) / 2)

    def test_tubes_and_rates(self):
        self.serve_http()
        self.post("put", tube="a", body="b")
        [tube] = self.event_that(lambda event: event["tubes"])["tubes"]
        self.assertEqual((tube["name"], tube["ready"], tube["delayed"], tube["reserved"],
                          tube["paused_until_ms"]), ("a", 1, 0, 0, None))
        self.post("reserve", tubes=["a"])
        event = self.event_that(lambda event: event["lateness"]["max_ms"] is not None)
        self.assertEqual(event["tubes"][0]["reserved"], 1)
        self.assertIsNotNone(event["fsync"]["p99_us"])
        self.post("pause", tube="a", **{"for": "1h"})
        tube = self.event_that(lambda e: e["tubes"][0]["paused_until_ms"] is not None)["tubes"][0]
        self.assertGreater(tube["paused_until_ms"], time.time() * 1000)

    def test_too_many_clients(self):
        self.serve_http()
        streams = [self.events() for _ in range(100)]
        for stream in streams:
            next(stream)
        self.refused(self.ask("GET", "/events"), 503, "FULL")
        streams.pop().close()

    def test_a_client_that_goes_away_makes_room(self):
        self.serve_http()
        connections = []
        for _ in range(100):
            connection = self.connect_http()
            connection.request("GET", "/events")
            connections.append((connection, connection.getresponse()))
        connections[0][1].close()
        connections[0][0].close()
        end = time.monotonic() + START_S
        status = 503
        while status == 503 and time.monotonic() < end:
            connection = self.connect_http()
            connection.request("GET", "/events")
            status = connection.getresponse().status
            time.sleep(0.05)
        self.assertEqual(status, 200)

    def test_a_client_that_does_not_read_loses_events_and_no_order(self):
        self.serve_http("--http", "unix:web")
        for number in range(200):
            self.post("put", tube=f"{number}".ljust(200, "\1"), body="b")
        with socket.socket(socket.AF_UNIX) as connected:
            connected.settimeout(START_S)
            connected.connect(str(self.directory / "web"))
            connected.sendall(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
            time.sleep(5)
            seen = b""
            while len(times := re.findall(rb'data: {"now_ms":(\d+)', seen)) < 4:
                seen += connected.recv(1 << 16)
        times = [int(found) for found in times]
        self.assertEqual(times, sorted(set(times)))
        # An event has 300 KB, and the socket holds fewer: those of some seconds were left out.
        self.assertGreater(max(b - a for a, b in zip(times, times[1:])), 1900)

    def test_the_server_ends_while_somebody_reads(self):
        server = self.serve_http()
        events = self.events()
        next(events)
        server.stop()


class Forecast(Figures):
    def test_forecast(self):
        self.serve_http()
        empty = self.get("/api/v1/forecast")
        self.assertEqual([len(empty[name]) for name in ("seconds", "minutes", "hours", "days")],
                         [60, 60, 48, 365])
        self.assertEqual(sum(empty["days"]), 0)
        began = time.monotonic()
        for delay in ("40s", "30m", "20h", "100d"):
            self.post("put", tube="a", body="b", key=delay, **{"in": delay})
        forecast = self.get("/api/v1/forecast")
        self.assertEqual([sum(forecast[name]) for name in ("seconds", "minutes", "hours", "days")],
                         [1, 2, 3, 4])
        passed_s = int(time.monotonic() - began)
        self.assertIn(forecast["seconds"].index(1), range(37 - passed_s, 43))
        self.post("cancel", tube="a", keys=["40s", "100d"])
        forecast = self.get("/api/v1/forecast")
        self.assertEqual([sum(forecast[name]) for name in ("seconds", "minutes", "hours", "days")],
                         [0, 1, 2, 2])

    def test_after_a_restart(self):
        server = self.serve_http()
        self.post("put", tube="a", body="b", **{"in": "30m"})
        server.stop()
        self.serve_http()
        self.assertEqual(sum(self.get("/api/v1/forecast")["minutes"]), 1)


class History(HttpTest):
    """The history of the last day, by a clock that the test moves."""

    def setUp(self):
        super().setUp()
        server = Server(self, ["--durability", "memory", *FREE_PORT, "--http", "127.0.0.1:0", "--test-clock"])
        self.servers.append(server)
        self.addCleanup(server.kill)
        self.port = self.http_port(server)
        self.client = server.connect()

    def advance(self, duration):
        self.assertTrue(self.client.ask(b"*3\r\n$5\r\nCLOCK\r\n$7\r\nADVANCE\r\n$%d\r\n%s\r\n" % (len(duration), duration)).startswith(b":"))

    def minutes(self, wanted):
        """The history, as soon as it has so many minutes."""
        while len((history := self.get("/api/v1/history"))["at_ms"]) < wanted:
            time.sleep(0.05)
        self.assertEqual({len(values) for values in history.values()}, {wanted})
        return history

    def test_a_minute_and_another(self):
        self.assertEqual(set(map(len, self.get("/api/v1/history").values())), {0})
        # The first minute begins when the server has looked once: so several may be needed.
        while not self.get("/api/v1/history")["at_ms"]:
            self.advance(b"1m")
            time.sleep(0.05)
        before = len(self.get("/api/v1/history")["at_ms"])
        for number in range(3):
            self.post("put", tube="t", body=f"job {number}")
        job = self.post("reserve", tubes=["t"])["jobs"][0]
        self.post("ack", jobs=[{"id": job["id"], "lease": job["lease"]}])
        self.advance(b"70s")
        history = self.minutes(before + 1)
        last = {name: values[-1] for name, values in history.items()}
        self.assertEqual({name: last[name] for name in ("delayed", "ready", "reserved", "buried", "put", "came_due", "handed_out", "done", "cancelled")},
                         {"delayed": 0, "ready": 2, "reserved": 0, "buried": 0, "put": 3, "came_due": 3, "handed_out": 1, "done": 1, "cancelled": 0})
        self.assertGreaterEqual(last["span_ms"], 70_000)
        self.assertGreaterEqual(last["overdue_ms"], 60_000)
        self.assertLessEqual(last["late_p99_ms"], last["late_max_ms"])
        self.advance(b"1m")
        history = self.minutes(before + 2)
        self.assertEqual((history["put"][-1], history["late_p99_ms"][-1]), (0, None))
        self.assertEqual(history["at_ms"], sorted(history["at_ms"]))
        one = self.get("/api/v1/history?count=1")
        self.assertEqual(one, {name: values[-1:] for name, values in history.items()})
        for count in ("0", "1441", "x"):
            self.get(f"/api/v1/history?count={count}", status=400)


if __name__ == "__main__":
    support.main()
