#!/usr/bin/env python3
"""Runs random sequences of the native protocol against a model that was written from docs/protocol.md and
docs/promises.md alone.

The first part uses a server with a test clock. The second part uses a server with a directory, which is
killed and started again. A run prints its seed, and `--seed N` runs it again. Two runs with the same
seed may differ, because the server draws the waits before retries at random, and because a kill comes at
any moment. `--seconds N` is the long form."""
import argparse
import os
import pathlib
import random
import socket
import sys
import tempfile
import time

from model import GROUPS, KEYS, STEP_MS, TUBES, Difference, Error, Model, as_map

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))

from server_process import FREE_PORT, ServerProcess  # noqa: E402

MARGIN_MS = 3000        # nothing that the model foresees happens so soon after a command
WIDE_MS = STEP_MS // 2  # so far apart are two looks at the clock that the model may be wrong by more than it allows


class Slow(Exception):
    """The machine was so slow that the model cannot know what comes first."""


class Connection:
    """A connection that speaks RESP2."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=60)
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        self.file = self.socket.makefile("rb", buffering=65536)

    def send(self, commands):
        out = []
        for command in commands:
            out.append(b"*%d\r\n" % len(command))
            for argument in command:
                raw = argument if isinstance(argument, bytes) else str(argument).encode()
                out.append(b"$%d\r\n%s\r\n" % (len(raw), raw))
        self.socket.sendall(b"".join(out))

    def read(self):
        line = self.file.readline()
        if not line.endswith(b"\r\n"):
            raise ConnectionError("the server has closed the connection")
        kind, rest = line[:1], line[1:-2]
        if kind == b"+":
            return rest.decode()
        if kind == b"-":
            return Error(rest.decode())
        if kind == b":":
            return int(rest)
        count = int(rest)
        if count < 0:
            return None
        if kind == b"$":
            return self.file.read(count + 2)[:-2].decode()
        return [self.read() for _ in range(count)]


class Server:
    """`elapse serve` on a port of loopback that is free, another one after each start. Its log is a file."""

    def __init__(self, program, log, *options):
        self.program, self.log, self.options = program, log, options
        self.start()

    def start(self):
        self.running = ServerProcess(self.log, [*FREE_PORT, *self.options], (self.program, "serve"))

    def connect(self):
        try:
            return Connection(self.running.wait_for_port())
        except AssertionError as fault:
            raise Difference("the server does not start:", str(fault)) from fault

    def kill(self):
        self.running.kill()

    def stop(self):
        try:
            self.running.stop()
        except AssertionError as fault:
            raise Difference("the server did not end well:", str(fault)) from fault


class Run:
    """Random commands, each of which the model judges."""

    def __init__(self, seed, server, durable):
        self.random, self.server, self.durable = random.Random(seed), server, durable
        self.model, self.trace, self.count, self.stale, self.bodies = Model(), [], 0, [("1", "9-9")], 0
        self.connection = server.connect()
        self.look_clock()

    def chance(self, part):
        return self.random.random() < part

    def duration(self):
        """Milliseconds that are unlikely to be those of another event."""
        least = 40 * 60 * 1000 if self.durable else MARGIN_MS + 1000
        return self.random.randint(least, least * self.random.choice([2, 10, 100]))

    # Commands.

    def batch(self, commands):
        """The replies of the commands, between two looks at the clock."""
        self.trace.append([" ".join(str(part) for part in command) for command in commands])
        self.connection.send([("CLOCK",), *commands, ("CLOCK",)])
        replies = [self.connection.read() for _ in range(len(commands) + 2)]
        self.trace[-1] = list(zip(self.trace[-1], replies[1:-1]))
        events = list(self.model.events())
        self.model.now = (replies[0], replies[-1])
        # A command happened at any moment between the two looks. The model takes the later one.
        if replies[-1] - replies[0] >= WIDE_MS or any(when <= replies[-1] + 20 for when, *_ in events):
            raise Slow
        self.count += len(commands)
        return replies[1:-1]

    def do(self, operation):
        command, judge = operation
        judge(self.batch([command])[0])
        self.learn()

    def learn(self):
        """Asks for the due times that the server has drawn or rounded."""
        jobs = [job for job in self.model.learn if self.model.jobs.get(job.id) is job]
        self.model.learn = []
        for job, seen in zip(jobs, self.batch([("LOOKUPID", job.id) for job in jobs]) if jobs else []):
            self.model.expect(seen is not None, "LOOKUPID: no job", job.id)
            self.model.check(job, as_map(seen))
        if self.durable and any(job.state == "delayed" and job.due and job.due < self.model.now[1] + 60000 for job in jobs):
            raise Difference("a job is due sooner than the test foresees")

    def look_clock(self):
        self.connection.send([("CLOCK",)])
        now = self.connection.read()
        self.model.now = (now, now)

    def advance(self, by):
        by = max(int(by), 1)
        self.connection.send([("CLOCK", "ADVANCE", f"{by}ms"), ("CLOCK",)])
        replies = [self.connection.read() for _ in range(2)]
        self.trace.append([(f"CLOCK ADVANCE {by}ms", replies[0])])
        if any(replies[0] - 20 < when < replies[1] + 20 for when, *_ in self.model.events()):
            raise Slow
        self.model.pass_time(replies[0])
        self.model.now = (replies[0], replies[1])
        self.learn()

    def settle(self):
        """Moves the clock until nothing happens soon."""
        if self.durable:
            return self.look_clock()
        while True:
            self.look_clock()
            near = [when for when, *_ in self.model.events() if when <= self.model.now[1] + MARGIN_MS]
            if not near:
                return None
            target = min(near) + STEP_MS
            while any(target - STEP_MS < when < target + STEP_MS for when in near):
                target += STEP_MS
            self.advance(target - self.model.now[1])

    def jump(self):
        """Moves the clock far, but past no more than one end of a lease or one expiry."""
        stops = [when for when, what, _ in self.model.events() if what in ("ends", "expires")]
        whens = sorted(when for when, *_ in self.model.events())
        target = self.model.now[1] + self.duration()
        if whens and self.chance(0.7):
            target = whens[0] + STEP_MS
        stop = min(stops, default=target)
        if target > stop:
            target = stop + STEP_MS
        while any(target - STEP_MS < when < target + STEP_MS for when in whens):
            target += STEP_MS
        if target > self.model.now[1]:
            self.advance(target - self.model.now[1])

    # What a command has.

    def leases(self):
        held = [(job.id, job.lease) for job in [*self.model.of_all("reserved"), *self.model.shadows.values()]]
        pairs = self.random.sample(held, min(len(held), self.random.choice([1, 1, 1, 2, 3]))) if held else []
        if not pairs or self.chance(0.05):
            pairs = pairs + [self.random.choice(self.stale)]
        self.stale = (self.stale + pairs)[-50:]
        return pairs

    def number(self):
        jobs = [*self.model.jobs, *self.model.shadows]
        return self.random.choice(jobs) if jobs and self.chance(0.95) else self.random.randint(1, 50)

    def tube(self):
        return self.random.choice(TUBES)

    def text(self):
        return self.random.choice(["broken", "no route", "ä" * 600, "x" + "€" * 400, "x" * 1024, "\U0001F600" * 300])

    def put(self):
        r, m = self.random, self.model
        self.bodies += 1
        o = {"tube": self.tube(), "body": f"body {self.bodies} " + "z" * r.choice([0, 5, 120]), "key": r.choice(KEYS) if self.chance(0.5) else None,
             "tag": r.choice([None, "x", "y"]), "group": r.choice(GROUPS), "headers": r.choice([None, None, '{"a":"b"}']),
             "priority": r.choice([1024, 1024, 1024, 5, 2000]), "ttr": r.choice([60000, self.duration()]), "expire": 0, "attempts_max": 20,
             "backoff_min": 1000, "backoff_max": 600000, "missing": 0, "delay": None, "if_key": None, "token": None, "life": 600000, "at": None}
        if self.durable or self.chance(0.6):
            o["ttr"] = self.duration()
        if self.chance(0.2) and not self.durable:
            o["expire"] = self.duration()
        if self.chance(0.7):
            o["attempts_max"] = r.choice([0, 1, 2, 3, 20])
        if self.durable or self.chance(0.9):
            o["backoff_min"] = self.duration() * r.choice([1, 1, 1, 0])
            o["backoff_max"] = o["backoff_min"] * r.choice([1, 2, 3, 50])
        if self.chance(0.4):
            o["delay"] = self.duration()
        if o["key"] and self.chance(0.4):
            o["missing"] = r.randint(1, 4)
        if o["key"] and self.chance(0.5):
            o["if_key"] = r.choice(["REPLACE", "KEEP", "FAIL"])
        if self.chance(0.2):
            o["token"], o["life"] = f"token {r.randint(0, 8)}", r.choice([600000, 10000, 1000 * r.randint(10, 600)])
        command = ["PUT", o["tube"], o["body"]]
        for name, word in (("key", "KEY"), ("tag", "TAG"), ("group", "GROUP"), ("headers", "HEADERS"), ("if_key", "IFKEY"), ("token", "TOKEN")):
            if o[name] is not None:
                command += [word, o[name]]
        if o["delay"]:
            o["at"] = None if self.chance(0.7) or self.durable else m.now[1] + o["delay"]
            command += ["AT", o["at"]] if o["at"] else ["IN", f"{o['delay']}ms"]
        command += ["AWAIT", o["missing"]] if o["missing"] else []
        command += ["FOR", f"{o['life']}ms"] if o["token"] and o["life"] != 600000 else []
        command += ["PRIORITY", o["priority"]] if o["priority"] != 1024 else []
        command += ["EXPIRE", f"{o['expire']}ms"] if o["expire"] else []
        command += ["ATTEMPTS", o["attempts_max"], "BACKOFF", f"{o['backoff_min']}ms", f"{o['backoff_max']}ms", "TTR", f"{o['ttr']}ms"]
        return command, lambda reply: m.put(o, reply)

    def cancel(self):
        if self.chance(0.5):
            numbers = [self.number() for _ in range(self.random.choice([1, 1, 2]))]
            find = [lambda number=number: self.model.any_job(number) for number in numbers]
            command = ["CANCELID", *numbers]
        else:
            tube, keys = self.tube(), self.random.sample(KEYS, self.random.choice([1, 2]))
            find = [lambda key=key: self.model.named(tube, key) for key in keys]
            command = ["CANCEL", tube, *keys]
        return command, lambda reply: self.model.cancels(lambda: (each() for each in find), reply)

    def reschedule(self):
        delay = self.duration() if self.chance(0.85) else 0
        at = self.model.now[0] - 1000
        when = ["IN", f"{delay}ms"] if delay else ["AT", at]
        if self.chance(0.5):
            number = self.number()
            return ["RESCHEDULEID", number, *when], lambda reply: self.model.reschedule(lambda: self.model.any_job(number), at, delay, reply)
        tube, key = self.tube(), self.random.choice(KEYS)
        return ["RESCHEDULE", tube, key, *when], lambda reply: self.model.reschedule(lambda: self.model.named(tube, key), at, delay, reply)

    def arrive(self):
        waiting = [job for job in self.model.jobs.values() if job.waits]
        job = self.random.choice(waiting) if waiting and self.chance(0.8) else None
        tube, key = (job.tube, job.key) if job else (self.tube(), self.random.choice(KEYS))
        count = self.random.choice([1, 1, 1, 2, 9])
        token = f"token {self.random.randint(0, 3)}" if self.chance(0.5) else None
        life = 600000 if self.chance(0.5) else 1000 * self.random.randint(10, 600)
        command = ["ARRIVE", tube, key] + ([count] if count > 1 else [])
        command += ["TOKEN", token] + (["FOR", f"{life}ms"] if life != 600000 else []) if token else []
        return command, lambda reply: self.model.arrive(tube, key, count, token, life, reply)

    def kickid(self):
        number = self.number()
        return ["KICKID", number], lambda reply: self.model.kickid(number, reply)

    def ack(self):
        pairs = self.leases()
        return ["ACK", *sum(pairs, ())], lambda reply: self.model.ack(pairs, reply)

    def extend(self):
        pairs = self.leases()
        return ["EXTEND", *sum(pairs, ())], lambda reply: self.model.told("EXTEND", pairs, None, self.model.extend, reply)

    def nack(self):
        pairs, delay, after = self.leases(), None, None
        text = self.text() if self.chance(0.5) else None
        command = ["NACK", *sum(pairs, ())]
        if self.chance(0.3):
            delay = self.duration()
            command += ["IN", f"{delay}ms"]
        elif self.chance(0.4):
            after = self.duration()
            command += ["AFTER", f"{after}ms"]
        command += ["ERROR", text] if text is not None else []
        return command, lambda reply: self.model.told("NACK" if delay is None else "NACK IN", pairs, text, lambda job: self.model.nack(delay, after, job), reply)

    def bury(self):
        pairs, text = self.leases(), self.text() if self.chance(0.5) else None
        command = ["BURY", *sum(pairs, ())] + (["ERROR", text] if text is not None else [])
        return command, lambda reply: self.model.told("BURY", pairs, text, self.model.bury_told, reply)

    # Commands that stand outside of transactions.

    def kick(self):
        tube, count, m = self.tube(), self.random.choice([1, 1, 2, 50]), self.model
        jobs = m.of(tube, "buried") or m.of(tube, "delayed")
        unordered = any(job.buried_at < 0 if job.state == "buried" else job.due is None for job in jobs)
        if unordered or jobs and jobs[0].state == "delayed" and len({job.group for job in jobs}) > 1:
            count = 1       # several of these become ready in no order
        if sum(job.due is None for job in jobs) > 1:
            return
        reply, *seen = self.batch([("KICK", tube, count), *(("LOOKUPID", job.id) for job in jobs)])
        m.kick(tube, count, {job.id for job, it in zip(jobs, seen) if as_map(it)["state"] == "ready"}, reply)

    def pause(self):
        tube, m = self.tube(), self.model
        length, known = self.duration() if self.chance(0.6) else 0, m.exists(tube)

        def judge(reply):
            m.expect(reply == ("ok" if known else "gone"), "PAUSE:", reply)
            m.tubes[tube].pause_end = m.now[1] + length if known and length else 0
        self.do((["PAUSE", tube, f"{length}ms"], judge))

    def limit(self):
        tube, m = self.tube(), self.model
        it, command, rate, concurrency = m.tubes[tube], ["LIMIT", tube], None, None
        if self.chance(0.5):
            concurrency = self.random.randint(1, 4)
            command += ["CONCURRENCY", concurrency]
        if self.chance(0.5):
            rate = it.rate
            if it.rested <= m.now[0] and not self.durable:
                count = self.random.randint(1, 3)
                rate = (count, count * self.random.randint(MARGIN_MS + 1000, 100000), self.random.randint(1, 3))
            if rate:
                command += ["RATE", rate[0], "PER", f"{rate[1]}ms"] + (["BURST", rate[2]] if rate[2] > 1 or self.chance(0.5) else [])
        if len(command) == 2:
            command += ["NONE"]
        self.do((command, lambda reply: m.expect(reply == "ok", "LIMIT:", reply)))
        it.concurrency, it.rate = concurrency, rate
        for job in m.shadows.values():
            job.keeps_place &= job.tube != tube or concurrency is not None
        seen, = self.batch([("LIMIT", tube)])
        if not m.exists(tube):
            return m.expect(seen is None, "LIMIT of no tube:", seen)
        wanted = {"concurrency": concurrency, "rate": None, "rate_per": None, "rate_burst": None}
        if rate:
            wanted.update(rate=rate[0], rate_per=rate[1], rate_burst=rate[2])
        # Later versions may have further settings. LIMIT replaces all, so they are not set.
        return m.expect(as_map(seen) == {**dict.fromkeys(as_map(seen)), **wanted}, "LIMIT:", seen)

    def reserve(self):
        tubes = self.random.sample(TUBES, self.random.choice([1, 1, 2, 4]))
        count, details = self.random.choice([1, 1, 1, 2, 5]), self.chance(0.4)
        command = ["RESERVE", *tubes] + (["COUNT", count] if count > 1 else []) + (["DETAILS"] if details else [])
        command += ["WAIT", "1ms"] if self.chance(0.1) else []
        self.do((command, lambda reply: self.model.reserve(tubes, count, details, reply)))

    def transaction(self):
        makers = [self.put, self.put, self.cancel, self.reschedule, self.arrive, self.kickid, self.ack, self.nack, self.extend, self.bury]
        operations, guards, m = [], [], self.model
        if self.chance(0.5):
            guards = self.leases()
            operations.append((["LEASED", *sum(guards, ())], lambda reply: m.expect(reply == ("ok" if len(guards) == 1 else ["ok"] * len(guards)), "LEASED:", reply)))
        operations += [self.random.choice(makers)() for _ in range(self.random.randint(0, 5))]
        if self.chance(0.2):
            self.random.shuffle(operations)
        end, spoilt = self.random.choice(["EXEC"] * 8 + ["DISCARD"]), self.chance(0.05)
        middle = [operation[0] for operation in operations] + ([("RESERVE", TUBES[0])] if spoilt else [])
        replies = self.batch([("MULTI",), *middle, (end,)])
        queued = ["QUEUED"] * len(operations)
        m.expect(replies[0] == "OK" and replies[1:1 + len(operations)] == queued, "MULTI:", replies)
        if end == "DISCARD":
            m.expect(replies[-1] == "OK", "DISCARD:", replies[-1])
        elif spoilt:
            m.expect(isinstance(replies[-1], Error) and replies[-1].startswith("EXECABORT"), "EXEC:", replies[-1])
        elif any(m.leased(*guard) is None or guard[0] in m.shadows for guard in guards):
            m.expect(replies[-1] is None, "EXEC with a lease that has ended:", replies[-1])
        else:
            m.expect(isinstance(replies[-1], list) and len(replies[-1]) == len(operations), "EXEC:", replies[-1])
            for (_, judge), reply in zip(operations, replies[-1]):
                judge(reply)
        self.learn()

    # Looks.

    def look(self):
        m = self.model
        number, tube, key = self.number(), self.tube(), self.random.choice(KEYS)
        by_id, by_key = self.batch([("LOOKUPID", number), ("LOOKUP", tube, key)])
        for job, seen in ((m.any_job(number), by_id), (m.named(tube, key), by_key)):
            m.expect((job is None) == (seen is None), "LOOKUP:", seen, "instead of", job and vars(job))
            if job and job.id in m.shadows:
                m.expect(as_map(seen)["state"] == "cancelled", "LOOKUP of one that was cancelled:", seen)
            elif job:
                m.check(job, as_map(seen))

    def pages(self, command):
        """All that the pages show. `now` of the model is then the interval of all of them."""
        found, cursor, begin = [], 0, None
        while begin is None or cursor != 0:
            page, = self.batch([[*command, *(["CURSOR", cursor] if cursor else [])]])
            self.model.expect(isinstance(page, list), command, page)
            found += page[1]
            cursor = page[0]
            begin = self.model.now[0] if begin is None else begin
        self.model.now = (begin, self.model.now[1])
        return found

    def show(self, command, jobs, keys, body):
        """The reply lists these jobs, each as it is; their numbers, in the order of the reply."""
        m, found = self.model, [as_map(each) for each in self.pages(command)]
        m.expect(sorted(seen["id"] for seen in found) == sorted(job.id for job in jobs), command, found, "instead of", [job.id for job in jobs])
        for seen in found:
            job = m.jobs[seen["id"]]
            m.check(job, seen, keys or body, False)
            m.expect("headers" not in seen and ("body" in seen) == bool(body), command, seen)
            if body:
                m.expect((seen["body"], seen["body_bytes"]) == (job.body[:body], len(job.body)), command, seen)
        return [seen["id"] for seen in found]

    def list(self):
        m, tube = self.model, self.tube()
        state, tag = self.random.choice([None, "delayed", "ready", "reserved", "buried"]), self.random.choice([None, None, "x"])
        order = {"delayed": "SOONEST", "buried": "NEWEST"}.get(state) if tag is None and self.chance(0.6) else None
        keys, body = self.chance(0.3), self.random.choice([0, 0, 1, 100])
        command = ["LIST", tube] + (["STATE", state] if state else []) + (["TAG", tag] if tag else []) + ([order] if order else [])
        command += (["KEYS"] if keys else []) + (["BODY", body] if body else []) + ([] if order else ["COUNT", self.random.randint(1, 9)])
        jobs = [job for job in m.of(tube, state) if tag in (None, job.tag)]
        numbers = self.show(command, jobs, keys, body)
        if order == "SOONEST":
            dues = [m.jobs[number].due or 1 << 60 for number in numbers]
            m.expect(dues == sorted(dues), command, dues)
        elif order:
            m.expect([m.jobs[number].buried_at for number in numbers] == sorted((job.buried_at for job in jobs), reverse=True), command, numbers)

    def find(self):
        key = self.random.choice(KEYS)
        self.show(["FIND", key], [job for job in self.model.jobs.values() if job.key == key], False, 0)

    def groups(self):
        m, tube = self.model, self.tube()
        found = sorted((as_map(each) for each in self.pages(["GROUPS", tube, "COUNT", 2])), key=lambda each: each["group"])
        wanted = {}
        for job in [*m.of(tube), *(job for job in m.shadows.values() if job.tube == tube)]:
            if job.group is not None:
                it = wanted.setdefault(job.group, {"group": job.group, "delayed": 0, "ready": 0, "running": 0, "buried": 0})
                it["running" if job.state == "reserved" else job.state] += 1
        counts = [{name: each[name] for name in ("group", "delayed", "ready", "running", "buried")} for each in found]
        m.expect(counts == [wanted[name] for name in sorted(wanted)], "GROUPS:", found, "instead of", wanted)
        m.expect(all((each["held"], each["held_by"], each["held_left"]) == (0, None, 0) for each in found), "GROUPS: held", found)

    def counts(self, tube):
        m = self.model
        count = {state: len(m.of(tube, state)) for state in ("delayed", "ready", "reserved", "buried")}
        count["running"] = m.running(tube)
        count["held"] = max(0, count["ready"] - m.free(tube))
        return count

    def check_counts(self, tube, seen, pause_left):
        m, wanted = self.model, self.counts(tube)
        m.expect({name: seen[name] for name in wanted} == wanted, "counts of", tube, seen, "instead of", wanted)
        m.expect(seen["held_by"] in ([None] if wanted["held"] == 0 else ["concurrency", "rate"]), "held_by:", tube, seen)
        least, most = (max(0, m.tubes[tube].pause_end - now) for now in reversed(m.now))
        m.expect(least - 200 <= seen[pause_left] <= most + 200, "pause_left:", seen, least, most)

    def stats(self):
        m, tube = self.model, self.tube()
        seen, = self.batch([("STATS", tube)])
        if not m.exists(tube):
            return m.expect(seen is None, "STATS of no tube:", seen)
        m.expect(seen is not None, "STATS: no tube", tube)
        shadows = [job for job in m.shadows.values() if job.tube == tube]
        groups = {job.group for job in [*m.of(tube), *shadows]} - {None}
        m.expect((as_map(seen)["cancelled_running"], as_map(seen)["groups"]) == (len(shadows), len(groups)), "STATS:", seen, len(shadows), groups)
        return self.check_counts(tube, as_map(seen), "pause_left")

    def trouble(self):
        m, trouble = self.model, self.chance(0.6)
        found = {seen["tube"]: seen for seen in map(as_map, self.pages(["TUBES", "COUNTS"] + (["TROUBLE"] if trouble else [])))}
        took = m.now[1] - m.now[0]
        for tube in TUBES:
            oldest = max((m.now[1] - job.due for job in m.of(tube, "ready")), default=0)
            wanted, count = m.exists(tube), self.counts(tube)
            if trouble:
                wanted = count["buried"] or count["held"] or m.tubes[tube].pause_end > m.now[1] or oldest >= 10000
                if abs(oldest - 10000) < 500 + took and not (count["buried"] or count["held"] or m.tubes[tube].pause_end > m.now[1]):
                    continue
            m.expect(bool(wanted) == (tube in found), "TUBES: ", tube, found, "instead of", bool(wanted))
            if tube in found:
                self.check_counts(tube, found[tube], "pause_left")
                m.expect(oldest - took - 500 <= found[tube]["overdue"] <= oldest + 500, "overdue:", found[tube], oldest, took)

    # The whole.

    def step(self):
        self.settle()
        if not self.durable and self.chance(0.12):
            return self.jump()
        simple = [self.put, self.cancel, self.reschedule, self.arrive, self.kickid, self.ack, self.nack, self.extend, self.bury]
        if self.chance(0.5):
            return self.do(self.random.choices(simple, [4 if len(self.model.jobs) > 60 else 9, 1, 1, 4, 1, 4, 4, 1, 1])[0]())
        whole = [self.reserve, self.transaction, self.kick, self.pause, self.limit, self.look, self.list, self.find, self.groups, self.stats, self.trouble]
        return self.random.choices(whole, [10, 3, 1, 1, 1, 2, 2, 1, 1, 2, 1])[0]()

    def restart(self):
        """Kills the server, and looks what has survived."""
        m, names = self.model, [f"both {self.bodies}", f"more {self.bodies}"]
        puts = [["PUT", TUBES[0], "whole", "KEY", name, "IN", "40h"] for name in names]
        self.connection.send([("MULTI",), *puts, ("EXEC",)] if self.chance(0.7) else [])
        time.sleep(self.random.choice([0, 0, 0.001]))
        self.server.kill()
        self.trace.append([("KILL", "")])
        self.server.start()
        self.connection = self.server.connect()
        self.look_clock()
        there = self.batch([("LOOKUP", TUBES[0], name) for name in names])
        m.expect((there[0] is None) == (there[1] is None), "a transaction is there in part:", there)
        if there[0]:
            m.expect(self.batch([("CANCEL", TUBES[0], *names)]) == [["removed", "removed"]], "CANCEL")
        for it in m.tubes.values():
            it.turns = {group: 0 for group in it.turns}
            if it.rate:
                it.rested = m.now[1] + (it.rate[2] * it.rate[1] / it.rate[0])
        for job in list(m.jobs.values()):
            self.survived(job)
        for job in list(m.shadows.values()):
            if self.batch([("LOOKUPID", job.id)])[0] is None:
                m.expect(not job.keeps_place, "a job that was cancelled has lost its place", job.id)
                del m.shadows[job.id]

    def survived(self, job):
        m, seen = self.model, as_map(self.batch([("LOOKUPID", job.id)])[0] or [])
        m.expect(seen, "a job is lost:", vars(job))
        if job.state == "reserved" and seen["state"] == "ready":
            m.expect(m.tubes[job.tube].concurrency is None, "a job has lost its place:", seen)
            job.state = "gone"
            m.make_ready(job, seen["due"])
            m.tubes[job.tube].turns[job.group] = 0
        elif job.state == "buried":
            job.buried_at = -1      # the order of these is not kept
        m.check(job, seen)


def play(program, seed, commands, durable, directory):
    """The number of commands that were judged."""
    options = ["--data", directory, "--segment-bits", "20"] if durable else ["--durability", "memory", "--test-clock", "--segment-bits", "22"]
    server = Server(program, directory + "-log", *options)
    run = Run(seed, server, durable)
    try:
        while run.count < commands:
            run.step()
            if durable and run.chance(0.01):
                run.restart()
        server.stop()
    except (Difference, ConnectionError) as fault:
        for line in run.trace[-60:]:
            print("   ", "; ".join(f"{command[:400]}  ->  {reply}" for command, reply in line))
        print(f"seed {seed}{', durable' if durable else ''}, after {run.count} commands: {fault}")
        raise SystemExit(1) from fault
    except Slow:
        print(f"seed {seed}: the machine was too slow after {run.count} commands; what came before was as the documents say")
    finally:
        server.kill()
    return run.count


def play_enough(program, seed, commands, durable, directory):
    """Begins again where the machine was too slow. If that happens each few commands, the server is at fault."""
    judged = 0
    for attempt in range(100):
        if judged < commands:
            judged += play(program, seed + (attempt << 32), commands - judged, durable, f"{directory}{attempt}")
    if judged < commands:
        print(f"seed {seed}{', durable' if durable else ''}: too slow each time; only {judged} commands were judged")
        raise SystemExit(1)
    return judged


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--program", default=os.environ.get("ELAPSE_PROGRAM", "build/release/elapse"))
    parser.add_argument("--seed", type=int, default=None)
    parser.add_argument("--commands", type=int, default=2000, help="commands of each part")
    parser.add_argument("--seconds", type=float, default=0, help="goes on with further seeds for so long")
    parser.add_argument("--part", choices=["clock", "durable"], help="this part alone")
    options = parser.parse_args()
    seed = random.randrange(1 << 32) if options.seed is None else options.seed
    end, judged = time.monotonic() + options.seconds, 0
    while True:
        print(f"seed {seed}", flush=True)
        for part in ("clock", "durable"):
            if options.part in (None, part):
                with tempfile.TemporaryDirectory() as directory:
                    judged += play_enough(options.program, seed, options.commands, part == "durable", directory + "/data")
        seed += 1
        if time.monotonic() >= end:
            break
    print(f"{judged} commands were answered as the documents say")
    return 0


if __name__ == "__main__":
    sys.exit(main())
