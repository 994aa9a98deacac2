#!/usr/bin/env python3
"""A stand-in for a server. It is not Elapse: it sends the page, and the statuses that a test gives it.

Tests use it for what a real server shows only after minutes or with ten million jobs, such as a disk
that is nearly full or a connection that is silent. It also runs by hand, to look at the page while
changing it:

    tests/server/page/stand_in.py [empty|ten|millions|trouble|node] [PORT]
"""

import base64
import hashlib
import http.server
import json
import math
import pathlib
import random
import re
import sys
import threading
import time
import urllib.parse

PAGE = pathlib.Path(__file__).resolve().parents[3] / "src/server/page/page.html"
RANGES = {"seconds": (60, 1000), "minutes": (60, 60_000), "hours": (48, 3_600_000), "days": (365, 86_400_000)}
MANY = 10_000_000


def policy(page):
    """The Content-Security-Policy that the server sends: one script and one style, by hash."""
    def digest(tag):
        [text] = re.findall(rf"<{tag}>(.*?)</{tag}>", page, re.DOTALL)
        return base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
    return (f"default-src 'none'; script-src 'sha256-{digest('script')}'; style-src 'sha256-{digest('style')}'; "
            "connect-src 'self'; img-src data:; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
            "require-trusted-types-for 'script'")


def forecast(dues, now_ms):
    """The counts of jobs that come due in each coming second, minute, hour and day."""
    counts = {}
    for name, (count, width) in RANGES.items():
        counts[name] = [0] * count
        for due_ms in dues:
            index = due_ms // width - now_ms // width
            if 0 <= index < count:
                counts[name][index] += 1
    return counts


def tube(name, delayed=0, ready=0, reserved=0, buried=0, **more):
    rates = {"put": 0, "cancelled": 0, "handed_out": 0, "acknowledged": 0, "due": 0}
    return {"name": name, "delayed": delayed, "ready": ready, "reserved": reserved, "buried": buried,
            "paused_until_ms": None, "oldest_overdue_ms": 0, **more, "rates": {**rates, **more.get("rates", {})}}


def wheel(levels, now_ms):
    def bitmap(slots, share):
        return "".join(f"{sum((source.random() < share) << bit for bit in range(4)):x}" for _ in range(slots // 4))
    source = random.Random(now_ms // 4000)
    return {"tick_ms": 1, "now_tick": now_ms,
            "levels": [{"slots": slots, "slot_ms": width, "position": (now_ms // width) % slots, "occupied": bitmap(slots, share)}
                       for slots, width, share in levels]}


def empty(now_ms):
    """A server on which nobody has put a job."""
    return {
        "now_ms": now_ms, "version": "1.2.3", "uptime_ms": 42_000, "draining": False,
        "storage": {"durability": "sync", "segments": 1, "segment_bytes": 4096, "live_bytes": 0,
                    "disk_free_bytes": 53 * 2**30, "damaged": 0, "unread_places": 0},
        "lateness": {"count": 0, "p50_ms": None, "p99_ms": None, "max_ms": None}, "oldest_overdue_ms": 0,
        "fsync": {"p50_us": None, "p99_us": None, "count_per_s": 0},
        "rates": {"put": 0, "cancelled": 0, "handed_out": 0, "acknowledged": 0, "due": 0},
        "connections": 0, "workers_waiting": 0, "memory_bytes": 6 * 2**20,
        "forecast": forecast([], now_ms),
        "wheel": wheel([(256, 1, 0), (128, 128, 0), (128, 8192, 0), (128, 524_288, 0)], now_ms),
        "tubes": [], "tubes_total": 0,
    }


def ten(now_ms, began_ms):
    """Ten jobs in two tubes, due at times that do not move."""
    offsets = [8, 22, 45, 130, 1500, 1500, 7200, 50_000, 400_000, 9_000_000]
    status = empty(now_ms)
    status.update(
        lateness={"count": 130, "p50_ms": 0.21, "p99_ms": 0.94, "max_ms": 1.3}, fsync={"p50_us": 380, "p99_us": 1900, "count_per_s": 3.5},
        rates={"put": 0.25, "cancelled": 0, "handed_out": 0.2, "acknowledged": 0.2, "due": 0.2},
        connections=3, workers_waiting=1, forecast=forecast([began_ms + 1000 * offset for offset in offsets], now_ms),
        wheel=wheel([(256, 1, 0), (128, 128, .01), (128, 8192, .03), (128, 524_288, .02), (128, 2**26, .01)], now_ms),
        tubes=[tube("mails", delayed=7, rates={"put": 0.25, "acknowledged": 0.2}), tube("orders", delayed=3)], tubes_total=2)
    return status


def millions(now_ms):
    """Ten million jobs in thousands of tubes, with much traffic and no trouble."""
    source = random.Random(4711)
    status = empty(now_ms)
    minutes = [int(3000 + 2000 * source.random() + (90_000 if index in (0, 17) else 0)) for index in range(60)]
    hours = [int(190_000 * (1.2 - abs(12 - (now_ms // 3_600_000 + index) % 24) / 12)) for index in range(48)]
    days = [int(MANY / 30 * 0.97**index * (0.6 if index % 7 > 4 else 1)) for index in range(365)]
    tubes = [tube(name, delayed=delayed, ready=ready, reserved=reserved, buried=0, oldest_overdue_ms=340 if ready else 0,
                  rates={"put": delayed / 3000, "acknowledged": delayed / 3100, "handed_out": delayed / 3100})
             for name, delayed, ready, reserved in [
                 ("orders.payment-deadline", 6_203_117, 12_480, 31_207), ("mails", 2_117_004, 1207, 4096),
                 ("reminders/subscription-ends-in-seven-days/every-country-but-those-that-ask-for-another-text", 901_441, 0, 12)]]
    tubes += [tube(f"tenant-{number:04}", delayed=source.randrange(1000, 6000), rates={"put": 0.4}) for number in range(197)]
    status.update(
        uptime_ms=86_400_000 * 61 + 7_200_000, forecast={"seconds": [source.randrange(40, 90) for _ in range(60)], "minutes": minutes,
                                                         "hours": hours, "days": days},
        storage={"durability": "sync", "segments": 311, "segment_bytes": 19_811_229_696, "live_bytes": 11_004_313_600,
                 "disk_free_bytes": 212 * 2**30, "damaged": 0, "unread_places": 0},
        lateness={"count": 187_200, "p50_ms": 0.7, "p99_ms": 14.2, "max_ms": 61}, oldest_overdue_ms=340, fsync={"p50_us": 900, "p99_us": 7200, "count_per_s": 410},
        rates={"put": 12_480.5, "cancelled": 9311, "handed_out": 3120, "acknowledged": 3118, "due": 3121.5},
        connections=2817, workers_waiting=312, memory_bytes=1_073_741_824, tubes=tubes, tubes_total=4312,
        wheel=wheel([(256, 1, .3), (128, 128, .48), (128, 8192, .48), (128, 524_288, .48), (128, 2**26, .4), (128, 2**31, .05)], now_ms))
    return status


def trouble(now_ms):
    """Everything that the page warns of."""
    status = millions(now_ms)
    status["storage"].update(disk_free_bytes=300 * 2**20, damaged=1, unread_places=2)
    status.update(draining=True, lateness={"count": 187_200, "p50_ms": 80, "p99_ms": 4200, "max_ms": 9000}, oldest_overdue_ms=754_000, workers_waiting=0,
                  fsync={"p50_us": 90_000, "p99_us": 1_400_000, "count_per_s": 7})
    status["tubes"][1].update(oldest_overdue_ms=754_000, ready=1_911_207, buried=3411)
    status["tubes"][5].update(paused_until_ms=now_ms + 600_000, ready=12)
    return status


def node(now_ms):
    """A node of a cluster that owns one of three partitions; nobody owns the last one. It has no wheel."""
    status = empty(now_ms)
    status["wheel"]["levels"] = []
    owners = (("here/1f", "10.0.0.1:11300", "owning", 0, ""), ("other/2e", "10.0.0.2:11300", "following", 1234, "it does not answer in time"),
              ("", "", "following", 3, "it does not answer in time"))
    status["cluster"] = {"queue": "main", "node": "here", "moves_paused": False, "nodes": None, "partitions": [
        {"partition": number, "role": role, "owned": role == "owning", "answering": role == "owning", "owner": owner, "address": address,
         "epoch": number + 7, "last_group": 90_000, "lag": lag, "tail": 80_000, "preferred": "", "target": "",
         "complaint": complaint, "clock": ""}
        for number, (owner, address, role, lag, complaint) in enumerate(owners)]}
    return status


def twelve(now_ms):
    """Twelve partitions on four nodes with long names: one node drains, one is silent, one partition moves, two are placed."""
    status = node(now_ms)
    names = [f"elapse-{number}.elapse-nodes.production-europe-west.svc.cluster.local" for number in range(4)]
    nodes = [{"name": name, "address": f"tls:{name}:11300", "version": "1.2.3", "alive": number < 3, "draining": number == 2,
              "age_ms": 2100 if number < 3 else 754_000, "ahead_ms": (3, -180, 0, 12)[number], "owns": (5, 5, 2, 0)[number],
              "ready": list(range(12)) if number < 2 else list(range(11)) if number == 2 else []} for number, name in enumerate(names)]
    owners = [0, 1, 2, 0, 1, 0, 1, 0, 1, 0, 1, 2]
    status["cluster"] = {"queue": "main", "node": names[0], "moves_paused": False, "nodes": nodes, "partitions": [
        {"partition": number, "role": "owning" if owner == 0 else "following", "owned": owner == 0, "answering": owner == 0,
         "owner": f"{names[owner]}/1f", "address": nodes[owner]["address"], "epoch": number + 7, "last_group": 90_000, "lag": 3 * number % 7,
         "tail": 80_000, "preferred": {3: names[0], 4: names[2]}.get(number, ""), "target": names[1] if number == 2 else "",
         "complaint": "", "clock": ""} for number, owner in enumerate(owners)]}
    nodes[0]["ready"].remove(11)
    nodes[1]["ready"].remove(11)
    return status


def total(status):
    """The same with the counts of the whole server, which also has the tubes that a status leaves out."""
    counts = {state: sum(tube[state] for tube in status["tubes"]) for state in ("delayed", "ready", "reserved", "buried")}
    counts["delayed"] += 7 * (status["tubes_total"] - len(status["tubes"]))
    return {**status, "jobs": counts}


class StandIn(http.server.ThreadingHTTPServer):
    """Serves the page, and `status(now_ms)` each second. `mode` is "well"; "silent": the connections
    stay, and nothing comes; or "closed": they end, and new ones are closed at once. `list_page(cursor)`
    answers a request for the jobs of a tube: the jobs, and the next cursor or None. `job` is the answer for
    each id."""

    daemon_threads = True

    def __init__(self, status, port=0):
        super().__init__(("127.0.0.1", port), Handler)
        self.status, self.mode = status, "well"
        self.list_page = lambda cursor: ([], None)
        self.job = None
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def tubes_like(self, prefix, most):
        """Tubes whose names begin so, as /api/v1/tubes tells them; also those that the status leaves out."""
        status = self.status(int(time.time() * 1000))
        shown = {tube["name"]: tube for tube in status["tubes"]}
        names = list(shown) + [name for number in range(status["tubes_total"]) if (name := f"tenant-{number:04}") not in shown]
        counts = ({"tube": name, **{state: shown.get(name, {}).get(state, 7 * (state == "delayed"))
                                    for state in ("delayed", "ready", "reserved", "buried")},
                   "held": 0, "running": 0, "pause_left_ms": 0, "overdue_ms": 0} for name in names[:status["tubes_total"]] if name.startswith(prefix))
        return list(counts)[:most]

    @property
    def address(self):
        return f"http://127.0.0.1:{self.server_port}/"

    def __exit__(self, *_):
        self.mode = "closed"
        self.shutdown()
        self.server_close()


def a_day(now_ms):
    """A day as /api/v1/history tells it: busy by day, quiet by night, and half an hour in which nothing was done."""
    minutes = range(1440)
    busy = [60 + int(50 * math.sin(minute / 230)) + minute % 7 for minute in minutes]
    stands = [900 <= minute < 930 for minute in minutes]
    ready = [busy[minute] * (minute - 899) if stands[minute] else 3 * busy[minute] // 2 for minute in minutes]
    same = dict.fromkeys(("delayed", "reserved", "buried", "overdue_ms", "cancelled"), [1] * 1440)
    return {**same, "at_ms": [now_ms - (1439 - minute) * 60_000 for minute in minutes], "span_ms": [60_000] * 1440, "ready": ready, "put": busy,
            "came_due": busy, "handed_out": busy, "done": [0 if stands[minute] else busy[minute] for minute in minutes],
            "late_p99_ms": [None if stands[minute] else 2 + minute % 5 for minute in minutes], "late_max_ms": [None if stands[minute] else 9 for minute in minutes]}


class Handler(http.server.BaseHTTPRequestHandler):
    def log_message(self, *_):
        pass

    def do_GET(self):
        if self.server.mode == "closed" and self.path != "/":
            self.close_connection = True
        elif self.path == "/events":
            self.send_events()
        elif self.path == "/":
            page = PAGE.read_text(encoding="utf-8")
            self.answer(200, "text/html; charset=utf-8", page.encode(), {"Content-Security-Policy": policy(page)})
        elif self.path.startswith("/api/v1/tubes?"):
            query = urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query)
            answer = json.dumps({"tubes": self.server.tubes_like(query["prefix"][0], int(query["count"][0])), "cursor": None})
            self.answer(200, "application/json", answer.encode(), {})
        elif re.fullmatch("/api/v1/tubes/[^/?]+", self.path):
            [tube] = self.server.tubes_like(urllib.parse.unquote(self.path.rsplit("/", 1)[1]), 1) or [{}]
            self.answer(200 if tube else 404, "application/json", json.dumps({name: tube[name] for name in tube if name != "tube"}).encode(), {})
        elif self.path == "/api/v1/whoami":
            self.answer(200, "application/json", b'{"user":"default","rights":["put","work","look","admin"],"tubes":null}', {})
        elif self.path.startswith("/api/v1/history?"):
            self.answer(200, "application/json", json.dumps(a_day(int(time.time() * 1000))).encode(), {})
        elif self.path.startswith("/api/v1/find?"):
            self.answer(200, "application/json", b'{"jobs":[],"cursor":null}', {})
        elif re.fullmatch("/api/v1/jobs/[0-9]+", self.path) and self.server.job is not None:
            self.answer(200, "application/json", json.dumps(self.server.job).encode(), {})
        elif "/jobs?" in self.path:
            query = urllib.parse.parse_qs(urllib.parse.urlsplit(self.path).query)
            found, cursor = self.server.list_page(int(query.get("cursor", ["0"])[0]))
            answer = json.dumps({"jobs": found, "cursor": cursor and str(cursor)})
            self.answer(200, "application/json", answer.encode(), {})
        else:
            self.answer(404, "application/json", b'{"error":{"code":"NOT_FOUND","message":"no such job"}}', {})

    def answer(self, code, kind, data, headers):
        self.send_response(code)
        for name, value in {"Content-Type": kind, "Content-Length": len(data), **headers}.items():
            self.send_header(name, str(value))
        self.end_headers()
        self.wfile.write(data)

    def send_events(self):
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.end_headers()
        try:
            while self.server.mode != "closed":
                if self.server.mode == "well":
                    data = json.dumps(total(self.server.status(int(time.time() * 1000))))
                    self.wfile.write(f"event: status\ndata: {data}\n\n".encode())
                time.sleep(1)
        except OSError:
            pass  # the page has closed it
        self.close_connection = True


def statuses():
    began_ms = int(time.time() * 1000)
    return {"empty": empty, "ten": lambda now_ms: ten(now_ms, began_ms), "millions": millions, "trouble": trouble,
            "node": node, "twelve": twelve}


if __name__ == "__main__":
    shown = StandIn(statuses()[sys.argv[1] if len(sys.argv) > 1 else "ten"], int(sys.argv[2]) if len(sys.argv) > 2 else 0)
    print(shown.address, flush=True)
    threading.Event().wait()
