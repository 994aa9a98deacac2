"""Tests each operation of the interface in JSON of elapse serve --http, and what it refuses."""

import base64
import json
import signal
import socket
import time
import urllib.parse

import support
from http_support import HttpTest
from serve_support import START_S

JSON = {"Content-Type": "application/json"}


class Description(HttpTest):
    """docs/openapi.json describes what the server does: see also `described` in http_support."""

    def test_each_operation_is_at_its_path(self):
        self.serve_http()
        description = self.get("/api/v1/openapi.json")
        names = []
        for path, methods in description["paths"].items():
            path = path.replace("{id}", "1").replace("{tube}", "a")
            for method, operation in methods.items():
                names.append(operation["operationId"])
                with self.subTest(path=path, method=method):
                    if path == "/events":
                        continue
                    answer = self.ask(method.upper(), path, b"{}" if method == "post" else None,
                                      JSON)
                    self.assertIn(str(answer.status), operation["responses"])
                    other = self.ask("GET" if method == "post" else "POST", path, None, JSON)
                    self.assertEqual(other.status, 405)
        self.assertEqual(len(names), len(set(names)))
        self.assertEqual(len(names), 35)


class Operations(HttpTest):
    def setUp(self):
        super().setUp()
        self.server = self.serve_http()

    def put(self, body="b", **members):
        return self.post("put", tube=members.pop("tube", "a"), body=body, **members)["id"]

    def take(self, tube="a"):
        [job] = self.post("reserve", tubes=[tube])["jobs"]
        return job

    def test_put_and_look(self):
        before = int(time.time() * 1000)
        put = self.post("put", tube="mails", body="hé\0llo \u2028\"\\\n", key="k", tag="t",
                        priority=7, ttr="90s", expire="2h", attempts=3, backoff=["1s", "1m"],
                        token="x", token_for="5m", **{"in": "1h"})
        self.assertEqual(put, {"id": "1", "result": "scheduled"})
        job = self.get("/api/v1/jobs/1")
        same = self.get("/api/v1/jobs?tube=mails&key=k")
        self.assertLessEqual(same.pop("left_ms"), job["left_ms"])
        self.assertTrue(0 < job.pop("left_ms") <= 3600001)
        self.assertEqual(same, job)
        due_ms = job.pop("due_ms")
        self.assertTrue(before + 3600000 <= due_ms <= time.time() * 1000 + 3600001)
        self.assertEqual(job, {
            "id": "1", "tube": "mails", "key": "k", "tag": "t", "group": None, "headers": None, "body": "hé\0llo \u2028\"\\\n",
            "state": "delayed", "priority": 7, "ttr_ms": 90000, "expire_ms": 7200000, "attempts_max": 3, "retry": 3,
            "backoff_min_ms": 1000, "backoff_max_ms": 60000, "attempts": 0, "recurring": False, "missed": 0, "failures": 0, "lease": None, "holder": None,
            "reason": None, "await": 0, "error": None, "error_at_ms": None})
        self.assertEqual(self.post("put", tube="mails", body="x", token="x"),
                         {"id": "1", "result": "known"})

    def test_each_way_to_be_due(self):
        at = 4102444800000
        self.put(key="at", at=at)
        self.assertEqual(self.get("/api/v1/jobs?tube=a&key=at")["due_ms"], at)
        self.put(key="every", every="10m")
        self.assertTrue(self.get("/api/v1/jobs?tube=a&key=every")["recurring"])
        self.put(key="cron", cron="0 9 * * mon", zone="Europe/Berlin")
        self.assertTrue(self.get("/api/v1/jobs?tube=a&key=cron")["recurring"])
        self.put(key="debounce", if_key="debounce", max="1m", **{"in": "10s"})
        self.assertEqual(self.post("put", tube="a", body="2", key="debounce", if_key="debounce",
                                   max="1m", **{"in": "10s"})["result"], "replaced")
        self.assertEqual(self.post("put", tube="a", body="2", key="at", if_key="keep")["result"],
                         "kept")
        refused = self.post("put", status=409, tube="a", body="2", key="at", if_key="fail")
        self.assertEqual(refused["error"]["code"], "BUSY_KEY")

    def test_bodies_that_are_no_text(self):
        for body in (b"\xff\x00", b"\xc0\x80", b"\xed\xa0\x80", b"\xf4\x90\x80\x80", b"a\xe2\x82",
                     b"\xf0\x8f\xbf\xbf", b""):
            with self.subTest(body=body):
                text = base64.b64encode(body).decode()
                number = self.post("put", tube="a", body_base64=text)["id"]
                job = self.get(f"/api/v1/jobs/{number}")
                if body:
                    self.assertEqual((job["body_base64"], "body" in job), (text, False))
                else:
                    self.assertEqual((job["body"], "body_base64" in job), ("", False))
        for body in ("\u00e9", "\U0010ffff", "\ud7ff\ue000", "\x7f\x01\t"):
            with self.subTest(body=body):
                text = base64.b64encode(body.encode()).decode()
                number = self.post("put", tube="a", body_base64=text)["id"]
                self.assertEqual(self.get(f"/api/v1/jobs/{number}")["body"], body)

    def test_names_with_any_character(self):
        for tube in ("a b", "a/b", "ä+%&=?#", "..", "\u2028\"'<script>"):
            with self.subTest(tube=tube):
                self.put(tube=tube, key=tube, tag=tube)
                name = urllib.parse.quote(tube, safe="")
                self.assertEqual(self.get(f"/api/v1/tubes/{name}")["ready"], 1)
                query = urllib.parse.urlencode({"tube": tube, "key": tube})
                self.assertEqual(self.get(f"/api/v1/jobs?{query}")["key"], tube)
                query = urllib.parse.urlencode({"tag": tube, "state": "ready"})
                [job] = self.get(f"/api/v1/tubes/{name}/jobs?{query}")["jobs"]
                self.assertEqual(job["tube"], tube)
        self.assertEqual(len(self.get("/api/v1/tubes")["tubes"]), 5)

    def test_names_that_are_no_text(self):
        """RESP takes any bytes as a name. They are in no string of JSON, and are not lost."""
        tube, key = b"\xff\xc0", b"k\x80"
        text = base64.b64encode(tube).decode()
        self.put(tube="a")
        host, _, port = next(a for a in self.servers[0].addresses()
                             if not a.startswith("http:")).rpartition(":")
        with socket.create_connection((host, int(port)), START_S) as client:
            words = (b"PUT", tube, b"x", b"KEY", key)
            client.sendall(b"*%d\r\n" % len(words) + b"".join(
                b"$%d\r\n%b\r\n" % (len(word), word) for word in words))
            self.assertEqual(client.recv(100)[:2], b"*2")
        names = self.get("/api/v1/tubes")["tubes"]
        self.assertEqual(sorted(names, key=str), ["a", {"name_base64": text}])
        path = "/api/v1/tubes/" + urllib.parse.quote_from_bytes(tube, safe="")
        self.assertEqual(self.get(path)["ready"], 1)
        [job] = self.get(f"{path}/jobs")["jobs"]
        self.assertEqual((job["tube_base64"], "tube" in job), (text, False))
        job = self.get(f"/api/v1/jobs/{job['id']}")
        self.assertEqual(job["key_base64"], base64.b64encode(key).decode())
        self.assertTrue({"tube", "key"}.isdisjoint(job))

    def test_a_tube_whose_name_is_no_text_can_be_changed(self):
        name = base64.b64encode(b"\xff\x00 ").decode()
        self.assertEqual(self.post("put", tube_base64=name, body="b", key="k", **{"in": "1h"})["result"], "scheduled")
        self.assertEqual(self.post("reschedule", tube_base64=name, key="k", **{"in": "2h"}), {"result": "rescheduled"})
        self.assertEqual(self.post("pause", tube_base64=name, **{"for": "1h"}), {"result": "ok"})
        self.assertEqual(self.post("limit", tube_base64=name, concurrency=3), {"result": "ok"})
        self.assertEqual(self.post("kick", tube_base64=name, count=1), {"kicked": 1})
        self.assertEqual(self.get("/api/v1/tubes/%FF%00%20")["ready"], 1)
        self.assertEqual(self.post("cancel_all", tube_base64=name)["removed"], 1)
        for members in ({"tube_base64": "?"}, {"tube_base64": name, "tube": "a"}, {"tube_base64": 1}, {}):
            self.post("pause", status=400, **members, **{"for": "1h"})

    def test_cancel(self):
        first, second = self.put(key="k", **{"in": "1h"}), self.put()
        self.assertEqual(self.post("cancel", tube="a", keys=["k", "nobody"]),
                         {"results": ["removed", "gone"]})
        self.assertEqual(self.post("cancel", ids=[first, second]), {"results": ["gone", "removed"]})
        self.put(key="k")
        job = self.take()
        self.assertEqual(self.post("cancel", tube="a", keys=["k"]), {"results": ["running"]})
        self.assertEqual(self.post("extend", id=job["id"], lease=job["lease"]),
                         {"result": "cancelled"})
        refused = self.post("cancel", status=400, ids=[first, "x"])
        self.assertEqual(refused["error"], {"code": "BAD_ARGUMENT",
                                            "message": "not the id of a job: 'x'"})

    def test_reschedule(self):
        number = self.put(key="k", **{"in": "1h"})
        self.assertEqual(self.post("reschedule", tube="a", key="k", at=4102444800000),
                         {"result": "rescheduled"})
        self.assertEqual(self.get("/api/v1/jobs/1")["due_ms"], 4102444800000)
        self.assertEqual(self.post("reschedule", id=number, **{"in": "0s"}),
                         {"result": "rescheduled"})
        self.assertEqual(self.post("reschedule", id="99", **{"in": "1s"}), {"result": "gone"})

    def test_arrivals(self):
        self.put(key="k", **{"await": 4})
        job = self.get("/api/v1/jobs?tube=a&key=k")
        self.assertEqual((job["state"], job["due_ms"], job["left_ms"], job["await"]),
                         ("delayed", None, None, 4))
        self.assertEqual(self.post("put", tube="a", body="b", key="k", **{"await": 9}),
                         {"id": "1", "result": "kept"})
        arrive = {"tube": "a", "key": "k", "token": "one", "token_for": "5m"}
        self.assertEqual(self.post("arrive", **arrive), {"left": 3})
        self.assertEqual(self.post("arrive", **arrive), {"left": 3})
        self.assertEqual(self.post("arrive", tube="a", key="k", count=2), {"left": 1})
        done = self.post("transaction", commands=[
            {"command": "arrive", "tube": "a", "key": "k", "token": "two"},
            {"command": "arrive", "tube": "a", "key": "k"}])["results"]
        self.assertEqual(done, [{"left": 0}, {"result": "gone"}])
        self.take()
        self.put(key="late", **{"await": 4, "in": "1ms"})
        [job] = self.post("reserve", tubes=["a"], wait="10s", details=True)["jobs"]
        self.assertEqual(job["details"]["await"], 4)
        for wrong in ({"count": 0}, {"count": 4294967296}, {"token_for": "5s"}, {"more": 1}):
            self.post("arrive", status=400, tube="a", key="k", **wrong)
        self.post("put", status=400, tube="a", body="b", **{"await": 1})

    def test_a_member_that_is_null_is_not_there(self):
        number = self.put(key="k", **{"in": "1h"})
        self.assertEqual(self.post("reschedule", id=None, tube="a", key="k", **{"in": "2h"}),
                         {"result": "rescheduled"})
        self.assertEqual(self.post("reschedule", id=number, tube=None, key=None, at=None,
                                   **{"in": "2h"}), {"result": "rescheduled"})
        self.assertEqual(self.post("kick", id=None, tube="a", count=1), {"kicked": 1})
        self.assertEqual(self.post("cancel", ids=None, tube="a", keys=["k"]),
                         {"results": ["removed"]})

    def test_work(self):
        for body in ("1", "2", "3", "4"):
            self.put(body, key=body)
        jobs = self.post("reserve", tubes=["a", "b"], count=3, wait="1s")["jobs"]
        self.assertEqual([job["body"] for job in jobs], ["1", "2", "3"])
        self.assertEqual({name: value for name, value in jobs[0].items() if name != "due_ms"},
                         {"id": "1", "lease": "1-1", "tube": "a", "key": "1", "body": "1",
                          "attempt": 1, "missed": 0})
        holders = [{"id": job["id"], "lease": job["lease"]} for job in jobs]
        self.assertEqual(self.post("extend", **holders[0]), {"result": "ok"})
        self.assertEqual(self.post("ack", jobs=[holders[0], holders[0]]),
                         {"results": ["ok", "gone"]})
        self.assertEqual(self.post("bury", **holders[1]), {"result": "ok"})
        self.assertEqual(self.get("/api/v1/jobs/2")["state"], "buried")
        self.assertEqual(self.post("nack", **holders[2], **{"in": "1h"}), {"result": "ok"})
        self.assertEqual(self.get("/api/v1/jobs/3")["state"], "delayed")
        self.assertEqual(self.post("nack", **holders[2]), {"result": "gone"})
        self.assertEqual(self.post("kick", tube="a", count=10), {"kicked": 1})
        # No job is buried now, and a delayed one is there.
        self.assertEqual(self.post("kick", tube="a", count=10, buried=True), {"kicked": 0})
        self.assertEqual(self.post("kick", id="3"), {"result": "ok"})
        self.assertEqual(self.post("kick", id="99"), {"result": "gone"})
        # It is ready already; and a worker has it.
        self.assertEqual(self.post("kick", id="3"), {"result": "ok"})
        self.post("reserve", tubes=["a"], count=3)
        self.assertEqual(self.post("kick", id="3"), {"result": "running"})

    def test_many_leases(self):
        for body in ("1", "2", "3"):
            self.put(body)
        jobs = self.post("reserve", tubes=["a"], count=3)["jobs"]
        holders = [{"id": job["id"], "lease": job["lease"]} for job in jobs]
        self.assertEqual(self.post("extend", jobs=[*holders, {"id": "1", "lease": "1-9"}]),
                         {"results": ["ok", "ok", "ok", "gone"]})
        self.assertEqual(self.post("extend", jobs=holders[:1]), {"results": ["ok"]})
        self.assertEqual(self.post("nack", jobs=holders[:2], **{"in": "1h"}),
                         {"results": ["ok", "ok"]})
        self.assertEqual([self.get(f"/api/v1/jobs/{number}")["state"] for number in (1, 2)],
                         ["delayed"] * 2)
        self.assertEqual(self.post("bury", jobs=holders), {"results": ["gone", "gone", "ok"]})
        # An id is not taken for the name of an option.
        refused = self.post("nack", status=400, jobs=[holders[2], {"id": "in", "lease": "1h"}])
        self.assertEqual(refused["error"]["message"], "jobs: an id is a number in a string")

    def test_who_holds_a_job(self):
        """The address of the client of HTTP, which has no port here; or whom it names."""
        for named, holder in ({}, "127.0.0.1"), ({"holder": "shop"}, "shop"):
            self.put(key="k")
            [job] = self.post("reserve", tubes=["a"], **named)["jobs"]
            self.assertEqual(self.get("/api/v1/jobs/" + job["id"])["holder"], holder)

    def test_transaction(self):
        self.put("one")
        job = self.take()
        holder = {"id": job["id"], "lease": job["lease"]}
        commands = [{"command": "leased", **holder}, {"command": "ack", "jobs": [holder]},
                    {"command": "put", "tube": "b", "body": "two", "key": "k", "in": "1h"},
                    {"command": "put", "tube": "b", "body": "two", "key": "k", "if_key": "fail"},
                    {"command": "cancel", "tube": "b", "keys": ["k", "l"]},
                    {"command": "put", "tube": "b", "body": "next"}]
        done = self.post("transaction", commands=commands)["results"]
        self.assertEqual(done[:3], [{"result": "ok"}, {"results": ["ok"]},
                                    {"id": "2", "result": "scheduled"}])
        self.assertEqual(done[3]["error"]["code"], "BUSY_KEY")
        self.assertEqual(done[4:], [{"results": ["removed", "gone"]}, {"id": "3", "result": "scheduled"}])
        refused = self.post("transaction", status=409, commands=commands)
        self.assertEqual(refused["error"]["code"], "LEASE_ENDED")
        self.assertEqual(self.get("/api/v1/tubes/b")["ready"], 1)
        # Whatever is wrong, nothing is done.
        put = {"command": "put", "tube": "b", "body": "x"}
        for wrong in ([], [7] * 501, [put, {"command": "reserve", "tubes": ["b"]}], [put, {}], [put, 7],
                      [put, {**put, "in": "5"}], [put, {**put, "cron": "61 * * * *"}],
                      [put, {"command": "kick", "tube": "b", "count": 1}], [put, {**put, "size": 1}]):
            with self.subTest(wrong=str(wrong)[:80]):
                refused = self.post("transaction", status=400, commands=wrong)
                self.assertEqual(refused["error"]["code"], "BAD_ARGUMENT")
        self.post("transaction", status=400, commands=[put], more=1)
        self.assertEqual(self.get("/api/v1/tubes/b")["ready"], 1)
        # More values than any other request may have.
        long = {"command": "put", "tube": "c", "body": "x", "tag": "t", "attempts": 3, "ttr": "1m", "group": "g",
                "priority": 7, "in": "1h", "expire": "2h"}
        self.assertEqual(len(self.post("transaction", commands=[long] * 200)["results"]), 200)

    def test_details(self):
        self.put(headers='{"traceparent":"00-1"}', tag="x", retry=2)
        [job] = self.post("reserve", tubes=["a"], details=True)["jobs"]
        self.assertEqual(job["details"], {"ttr_ms": 60000, "tag": "x", "headers": '{"traceparent":"00-1"}',
                                          "attempts_left": 1})
        self.assertEqual(self.get("/api/v1/jobs/" + job["id"])["headers"], '{"traceparent":"00-1"}')
        self.put()
        self.assertNotIn("details", self.post("reserve", tubes=["a"], details=False)["jobs"][0])
        self.post("reserve", status=400, tubes=["a"], details="yes")

    def test_tubes_that_are_words_of_the_command(self):
        self.put(tube="count")
        self.put(tube="Wait")
        self.put(tube="details")
        self.assertEqual(self.take("details")["tube"], "details")
        jobs = self.post("reserve", tubes=["a", "count"], count=10)["jobs"]
        self.assertEqual([job["tube"] for job in jobs], ["count"])
        self.assertEqual(self.take("Wait")["tube"], "Wait")
        self.post("reserve", status=400, tubes=["count", "wait"])

    def test_many(self):
        for number in range(7):
            self.put(tag="even" if number % 2 == 0 else "odd", **{"in": "1h"})
        found, cursor, pages = [], None, 0
        while pages == 0 or cursor is not None:
            query = "count=2" + (f"&cursor={cursor}" if cursor else "")
            page = self.get(f"/api/v1/tubes/a/jobs?{query}")
            found += [job["id"] for job in page["jobs"]]
            cursor, pages = page["cursor"], pages + 1
        self.assertEqual(sorted(found), [str(number) for number in range(1, 8)])
        self.assertEqual(self.post("cancel_all", tube="a", tag="odd"), {"removed": 3, "running": 0})
        self.assertEqual(self.post("cancel_all", tube="a", state="ready"),
                         {"removed": 0, "running": 0})
        self.assertEqual(self.get("/api/v1/tubes/a")["delayed"], 4)

    def test_limit(self):
        self.assertEqual(self.post("limit", tube="a", concurrency=1), {"result": "ok"})
        none = dict.fromkeys(("concurrency", "rate", "rate_per", "rate_burst", "group_concurrency", "group_rate",
                              "group_rate_per", "group_rate_burst", "group_order",
                              "buried", "buried_age"))
        self.assertEqual(self.get("/api/v1/tubes/a/limit"), none | {"concurrency": 1})
        self.put()
        self.put()
        self.assertEqual(len(self.post("reserve", tubes=["a"], count=2)["jobs"]), 1)
        stats = self.get("/api/v1/tubes/a")
        self.assertEqual((stats["ready"], stats["held"], stats["running"]), (1, 1, 1))
        self.assertEqual(self.post("limit", tube="a"), {"result": "ok"})
        self.assertEqual(self.get("/api/v1/tubes/a/limit"), none)
        self.take()
        self.post("limit", tube="a", rate=5, rate_per="1m", rate_burst=3)
        self.assertEqual(self.get("/api/v1/tubes/a/limit"),
                         none | {"rate": 5, "rate_per": 60000, "rate_burst": 3})
        self.post("limit", tube="a", group_concurrency=1)
        self.assertEqual(self.get("/api/v1/tubes/a/limit"), none | {"group_concurrency": 1})
        self.put(group="g")
        self.put(group="g")
        self.assertEqual(len(self.post("reserve", tubes=["a"], count=2)["jobs"]), 1)
        self.assertEqual(self.get("/api/v1/tubes/a")["held"], 1)
        self.post("limit", status=400, tube="a", group_concurrency=0)
        self.post("limit", tube="a", group_rate=5, group_rate_per="1m", group_rate_burst=3)
        self.assertEqual(self.get("/api/v1/tubes/a/limit"),
                         none | {"group_rate": 5, "group_rate_per": 60000, "group_rate_burst": 3})
        self.post("limit", status=400, tube="a", group_rate=5)
        self.post("limit", tube="a", group_order=True)
        self.assertEqual(self.get("/api/v1/tubes/a/limit"), none | {"group_order": True})
        self.post("limit", status=400, tube="a", group_order=1)
        self.post("limit", tube="a", group_order=False)
        self.assertEqual(self.get("/api/v1/tubes/a/limit"), none)
        self.post("limit", tube="a", rate=9, rate_per="1h", rate_burst=4, group_rate=5, group_rate_per="1m", group_rate_burst=3)
        self.assertEqual(self.get("/api/v1/tubes/a/limit"),
                         none | {"rate": 9, "rate_per": 3600000, "rate_burst": 4,
                                 "group_rate": 5, "group_rate_per": 60000, "group_rate_burst": 3})
        self.post("limit", tube="a", buried=1000, buried_age="7d")
        self.assertEqual(self.get("/api/v1/tubes/a/limit"), none | {"buried": 1000, "buried_age": 604800000})
        self.post("limit", status=400, tube="a", buried=0)
        self.post("limit", status=400, tube="a", rate=5)
        self.post("limit", status=400, tube="a", rate_per="1m")
        self.post("limit", status=400, tube="a", concurrency=0)
        self.post("limit", status=400, tube="a", concurrency="1")
        self.get("/api/v1/tubes/none/limit", status=404)

    def test_groups(self):
        for group in ("a", "a", "b"):
            self.put(group=group)
        jobs = self.post("reserve", tubes=["a"], count=3, details=True)["jobs"]
        self.assertEqual([job["details"]["group"] for job in jobs], ["a", "b", "a"])
        self.assertEqual(self.get("/api/v1/jobs/1")["group"], "a")
        self.put(group="b", **{"in": "1h"})
        page = self.get("/api/v1/tubes/a/groups?count=1")
        rest = self.get(f"/api/v1/tubes/a/groups?cursor={page['cursor']}")
        free = {"held": 0, "held_by": None, "held_left_ms": 0, "overdue_ms": 0}
        self.assertEqual(page["groups"] + rest["groups"],
                         [{"group": "a", "delayed": 0, "ready": 0, "running": 2, "buried": 0, **free},
                          {"group": "b", "delayed": 1, "ready": 0, "running": 1, "buried": 0, **free}])
        self.assertEqual(rest["cursor"], None)
        self.assertEqual(self.get("/api/v1/tubes/a")["groups"], 2)
        self.assertEqual(self.get("/api/v1/tubes/none/groups"), {"groups": [], "cursor": None})
        self.post("limit", tube="a", group_rate=1, group_rate_per="1h")
        for group in ("c", "c", "b"):
            self.put(group=group)
        self.assertEqual(len(self.post("reserve", tubes=["a"], count=3)["jobs"]), 2)
        [held] = self.get("/api/v1/tubes/a/groups?held=true")["groups"]
        self.assertEqual((held["group"], held["ready"], held["held"], held["held_by"]), ("c", 1, 1, "group_rate"))
        self.assertTrue(0 < held["held_left_ms"] <= 3_600_000, held)
        self.assertEqual(self.get("/api/v1/tubes/a")["held_by"], "group_rate")
        self.assertEqual(len(self.get("/api/v1/tubes/a/groups?held=false")["groups"]), 3)

    def test_tubes(self):
        for tube in ("a", "b", "c"):
            self.put(tube=tube)
        page = self.get("/api/v1/tubes?count=2")
        rest = self.get(f"/api/v1/tubes?cursor={page['cursor']}")
        self.assertEqual(sorted(page["tubes"] + rest["tubes"]), ["a", "b", "c"])
        self.assertEqual(rest["cursor"], None)
        self.assertEqual(self.post("pause", tube="a", **{"for": "1h"}), {"result": "ok"})
        self.assertEqual(self.get("/api/v1/tubes/a")["pause_ms"], 3600000)
        self.assertEqual(self.post("reserve", tubes=["a"]), {"jobs": []})
        self.assertEqual(self.post("pause", tube="a", **{"for": "0s"}), {"result": "ok"})
        self.assertEqual(self.post("pause", tube="x", **{"for": "0s"}), {"result": "gone"})
        stats = self.get("/api/v1/stats")
        self.assertEqual((stats["ready"], stats["total_put"], stats["draining"]), (3, 3, False))

    def test_lists_in_order_and_the_beginning_of_bodies(self):
        for wait in ("3h", "1h", "2h"):
            self.put(body=f"after {wait}", tube="later", key=wait, **{"in": wait})
        jobs = self.get("/api/v1/tubes/later/jobs?state=delayed&soonest=true&body=7")["jobs"]
        self.assertEqual([(job["key"], job["body"], job["body_bytes"]) for job in jobs],
                         [("1h", "after 1", 8), ("2h", "after 2", 8), ("3h", "after 3", 8)])
        jobs = self.get("/api/v1/tubes/later/jobs?state=delayed&soonest=true&count=1")["jobs"]
        self.assertEqual(len(jobs), 1)
        self.assertEqual(self.get("/api/v1/tubes/later/jobs?state=buried&newest=true")["jobs"], [])
        for query in ("soonest=true", "state=buried&soonest=true", "body=0", "soonest=1"):
            self.get(f"/api/v1/tubes/later/jobs?{query}", status=400)

    def test_answers_that_are_longer_than_what_waits_for_a_socket(self):
        """Those who look after a tube in trouble ask for hundreds of jobs, each with the beginning of its body."""
        self.server.stop()
        self.serve_http("--max-output", "16K")
        body = "x" * 1000
        for first in range(0, 500, 10):
            self.post("transaction", commands=[{"command": "put", "tube": "later", "body": body, "key": f"k{number}", "every": "1h"}
                                               for number in range(first, first + 10)])
        for path in ("tubes/later/jobs?state=delayed&soonest=true&count=500&body=1024",
                     "tubes/later/jobs?count=100&body=1024", "recurring?count=100&body=1024&keys=true"):
            with self.subTest(path):
                jobs = self.get(f"/api/v1/{path}")["jobs"]
                self.assertEqual(len(jobs), 500 if "count=500" in path else 100)
                self.assertEqual({job["body"] for job in jobs}, {body})

    def test_clients(self):
        name = base64.b64encode(b"\xff,").decode()
        for tube in ({"tube": "a b"}, {"tube_base64": name}):
            self.put(**tube) if "tube" in tube else self.post("put", body="b", **tube)
        self.post("reserve", tubes=["a b"], holder="worker 1")
        clients = self.get("/api/v1/clients")["clients"]
        [worker] = [one for one in clients if one["name"] == "worker 1"]
        self.assertEqual({name: worker[name] for name in ("id", "address", "leases", "tubes")},
                         {"id": "0", "address": "", "leases": 1, "tubes": ["a b"]})
        self.assertEqual([one["leases"] for one in clients if one["id"] != "0"], [0], "this request")

    def test_find(self):
        self.put(tube="a", key="k")
        self.put(tube="b", key="k")
        page = self.get("/api/v1/find?key=k")
        self.assertEqual(sorted(job["tube"] for job in page["jobs"]), ["a", "b"])
        self.assertEqual(page["cursor"], None)
        self.assertEqual(self.get("/api/v1/find?key=other"), {"jobs": [], "cursor": None})
        self.get("/api/v1/find", status=400)

    def test_what_recurs(self):
        self.put(tube="a", key="k", every="1h")
        self.put(tube="b", key="l", cron="0 9 * * mon", zone="utc")
        self.put(tube="a", key="once", **{"in": "1h"})
        page = self.get("/api/v1/recurring")
        self.assertEqual(sorted((job["tube"], job["recurring"], job["missed"], job["failures"]) for job in page["jobs"]),
                         [("a", True, 0, 0), ("b", True, 0, 0)])
        self.assertEqual(page["cursor"], None)
        self.assertEqual(sorted((job["key"], job["every_ms"], job["cron"], job["zone"])
                                for job in self.get("/api/v1/recurring?keys=true")["jobs"]),
                         [("k", 3_600_000, None, None), ("l", 0, "0 9 * * mon", "utc")])
        self.assertNotIn("cron", page["jobs"][0])
        first = self.get("/api/v1/recurring?count=1")
        rest = self.get(f"/api/v1/recurring?cursor={first['cursor']}")
        self.assertEqual(sorted(job["tube"] for job in first["jobs"] + rest["jobs"]), ["a", "b"])
        [job] = self.get("/api/v1/tubes/a/jobs?recurring=true&body=3&keys=true")["jobs"]
        self.assertEqual((job["key"], job["recurring"]), ("k", True))
        self.get("/api/v1/recurring?state=ready", status=400)

    def test_tubes_of_a_kind(self):
        for tube in ("quiet", "queer", "held"):
            self.put(tube=tube)
        self.put(tube="held")
        self.post("limit", tube="held", concurrency=1)
        self.post("reserve", tubes=["held"])
        self.assertEqual(self.get("/api/v1/tubes?trouble=true")["tubes"], ["held"])
        self.assertEqual(sorted(self.get("/api/v1/tubes?prefix=qu")["tubes"]), ["queer", "quiet"])
        [tube] = self.get("/api/v1/tubes?prefix=he&counts=true")["tubes"]
        self.assertEqual({name: tube[name] for name in ("tube", "ready", "held", "pause_left_ms")},
                         {"tube": "held", "ready": 1, "held": 1, "pause_left_ms": 0})

    def test_jobs_and_tubes_that_do_not_exist(self):
        for path in ("/api/v1/jobs/1", "/api/v1/jobs?tube=a&key=b", "/api/v1/tubes/a"):
            self.assertEqual(self.get(path, status=404)["error"]["code"], "GONE")
        self.assertEqual(self.get("/api/v1/tubes/a/jobs"), {"jobs": [], "cursor": None})
        self.put(tube="named", key="k", tag="spring")
        self.put(tube="named")
        jobs = self.get("/api/v1/tubes/named/jobs?keys=true")["jobs"]
        self.assertEqual([(job["key"], job["tag"]) for job in jobs],
                         [("k", "spring"), (None, None)])
        self.assertNotIn("key", self.get("/api/v1/tubes/named/jobs?keys=false")["jobs"][0])

    def test_bodies_that_are_no_request(self):
        for body in (b"", b"x", b"[]", b"1", b"{", b'{"tube":"a"}x', b'{"a":1,"a":2}', b"\xff",
                     b'{"tube":"\\ud800"}', b"[" * 5000, b"null", b'{"tube":"a",}'):
            with self.subTest(body=body[:20]):
                answer = self.ask("POST", "/api/v1/put", body, JSON)
                self.refused(answer, 400, "BAD_JSON")

    def test_more_values_than_any_request_has(self):
        """They are refused before they take memory; in a text they are none."""
        said = "the body has more values than any request"
        for body in (b'{"x":[' + b"0," * 100000 + b"0]}", b"[" * 100000, b"{" * 2001):
            answer = self.ask("POST", "/api/v1/put", body, JSON)
            self.refused(answer, 400, "BAD_JSON")
            self.assertEqual(answer.json()["error"]["message"], said)
        self.put(body='[{,"\\' * 5000)
        answer = self.post("ack", status=400,
                           jobs=[{"id": "1", "lease": "1-1"} for _ in range(501)])
        self.assertIn("1 to 500 values", answer["error"]["message"])
        jobs = [{"id": "9", "lease": "1-1"} for _ in range(500)]
        self.assertEqual(self.post("ack", jobs=jobs), {"results": ["gone"] * 500})

    def test_arguments_that_are_wrong(self):
        wrong = [
            ("put", {"body": "b"}), ("put", {"tube": "a"}), ("put", {"tube": 1, "body": "b"}),
            ("put", {"tube": "a", "body": 1}), ("put", {"tube": "a", "body": "b", "in": 30}),
            ("put", {"tube": "a", "body": "b", "in": "30"}),
            ("put", {"tube": "a", "body": "b", "typo": 1}),
            ("put", {"tube": "a", "body": "b", "body_base64": ""}),
            ("put", {"tube": "a", "body_base64": "a"}), ("put", {"tube": "a", "body_base64": 1}),
            ("put", {"tube": "a", "body": "b", "priority": -1}),
            ("put", {"tube": "a", "body": "b", "priority": 1.5}),
            ("put", {"tube": "a", "body": "b", "priority": 1 << 32}),
            ("put", {"tube": "a", "body": "b", "priority": "1"}),
            ("put", {"tube": "a", "body": "b", "backoff": "1s"}),
            ("put", {"tube": "a", "body": "b", "backoff": ["1s"]}),
            ("put", {"tube": "", "body": "b"}), ("put", {"tube": "a" * 201, "body": "b"}),
            ("put", {"tube": "a", "body": "b", "key": ""}),
            ("put", {"tube": "a", "body": "b", "if_key": "never", "key": "k"}),
            ("put", {"tube": "a", "body": "b", "in": "1s", "at": 1}),
            ("put", {"tube": "a", "body": "b", "cron": "x"}),
            ("cancel", {"tube": "a"}), ("cancel", {"tube": "a", "keys": []}),
            ("cancel", {"tube": "a", "keys": ["k"] * 501}), ("cancel", {"ids": [1]}),
            ("cancel", {"ids": ["0"]}), ("cancel", {"ids": ["1"], "tube": "a"}),
            ("reschedule", {"tube": "a", "key": "k"}),
            ("reschedule", {"id": "1", "in": "1s", "at": 1}),
            ("reserve", {"tubes": "a"}), ("reserve", {"tubes": ["a"], "count": 0}),
            ("reserve", {"tubes": ["a"], "count": 501}), ("reserve", {"tubes": ["a"], "wait": "x"}),
            ("ack", {"jobs": [{"id": "1"}]}), ("ack", {"jobs": [1]}),
            ("ack", {"jobs": [{"id": "1", "lease": "x"}]}), ("nack", {"id": "1"}),
            ("extend", {"id": "1", "lease": "1-1", "in": "1s"}), ("kick", {"tube": "a"}),
            ("bury", {"id": "1", "lease": "1-1", "jobs": [{"id": "1", "lease": "1-1"}]}),
            ("kick", {"tube": "a", "count": "x"}), ("pause", {"tube": "a"}),
            ("cancel_all", {"tube": "a", "state": "sleeping"}),
        ]
        for operation, members in wrong:
            with self.subTest(operation=operation, members=str(members)[:80]):
                answer = self.post(operation, status=400, **members)
                self.assertEqual(answer["error"]["code"], "BAD_ARGUMENT")
                self.assertTrue(answer["error"]["message"])
        for path in ("jobs", "jobs?tube=a", "jobs?tube=a&key=b&x=1", "jobs?tube", "jobs/x",
                     "jobs/0", "jobs?tube=a&tube=b&key=k", "jobs?tube=%zz&key=k", "jobs/%f",
                     "tubes/a/jobs?count=0", "tubes/a/jobs?keys=1", "tubes/a/jobs?count=501", "tubes/a/jobs?state=x",
                     "tubes?cursor=x", "stats?x=1", "jobs?tube=%ff&key=k", "jobs?tube=%00&key=%"):
            with self.subTest(path=path):
                answer = self.get(f"/api/v1/{path}", status=400)
                self.assertEqual(answer["error"]["code"], "BAD_ARGUMENT")
        self.assertEqual(self.get("/api/v1/stats")["total_put"], 0)

    def test_the_most_items_of_one_request(self):
        keys = [str(number) for number in range(500)]
        self.put(key="499")
        self.assertEqual(self.post("cancel", tube="a", keys=keys)["results"],
                         ["gone"] * 499 + ["removed"])
        for _ in range(3):
            self.put()
        self.assertEqual(len(self.post("reserve", tubes=["a"], count=500)["jobs"]), 3)

    def test_a_server_that_takes_no_jobs(self):
        self.server.signal(signal.SIGUSR1)
        self.server.wait_for(b"no jobs are taken any more")
        answer = self.ask("POST", "/api/v1/put", json.dumps({"tube": "a", "body": "b"}).encode(),
                          JSON)
        self.refused(answer, 503, "DRAINING")


class Limits(HttpTest):
    def test_a_full_tube(self):
        self.serve_http("--max-tube-jobs", "1")
        self.post("put", tube="a", body="b")
        self.assertEqual(self.post("put", status=429, tube="a", body="b")["error"]["code"], "LIMIT")

    def test_memory(self):
        self.serve_http("--max-memory", "1")
        self.until_status(507)

    def until_status(self, status):
        """The server looks at its memory once a second."""
        end = time.monotonic() + 60
        answer = None
        while time.monotonic() < end:
            answer = self.ask("POST", "/api/v1/put", b'{"tube":"a","body":"b"}', JSON)
            if answer.status == status:
                break
            time.sleep(0.05)
        self.refused(answer, status, "OUT_OF_MEMORY")


if __name__ == "__main__":
    support.main()
