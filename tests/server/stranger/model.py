"""A model of the queue as docs/protocol.md and docs/promises.md describe it. It was written from these
documents alone, and shares no line with the server."""

STEP_MS = 200           # how far behind an event an advance ends; no time is compared more exactly
TUBES = [f"t{i}" for i in range(4)]
KEYS = [f"k{i}" for i in range(5)]
GROUPS = [None, None, "ga", "gb", "gc"]


class Difference(Exception):
    """The server and the model differ."""


class Error(str):
    """An error that the server answered."""


def as_map(flat):
    return dict(zip(flat[0::2], flat[1::2]))


class Job:
    """A job as the documents have it."""

    def __init__(self, **fields):
        self.id = self.due = self.lease = self.lease_end = self.reason = self.error = self.error_at = None
        self.state, self.attempts, self.handed, self.waits, self.buried_at = "delayed", 0, False, False, 0
        self.by_wall = False        # due by the wall clock (AT), not by the other one (IN)
        self.bounds = None          # the due time lies between these, and the server has not told it yet
        self.maybe_lost = False     # the server was killed since the hand-out
        self.keeps_place = False    # cancelled while a worker had it, in a tube with CONCURRENCY
        self.__dict__.update(fields)


class Tube:
    def __init__(self):
        self.concurrency = self.rate = None     # rate: (count, per, burst)
        self.rested = 0                         # when the bucket of the rate is full
        self.pause_end = 0
        self.turns = {}                         # group -> turn, of groups with ready jobs


class Model:
    """The queue of the documents. `now` is the interval in which the last command ran."""

    def __init__(self):
        self.jobs, self.shadows, self.tubes = {}, {}, {name: Tube() for name in TUBES}
        self.tokens, self.arrivals = {}, {}
        self.now, self.counter, self.learn = (0, 0), 0, []
        self.passing = None         # while time passes: when the last job became ready, and by which clock

    def expect(self, condition, *what):
        if not condition:
            raise Difference(" ".join(str(part) for part in what))

    # What a tube has.

    def of(self, tube, state=None):
        return [job for job in self.jobs.values() if job.tube == tube and state in (None, job.state)]

    def of_all(self, state):
        return [job for job in self.jobs.values() if job.state == state]

    def any_job(self, number):
        """The job with this number, also one that was cancelled and still runs."""
        return self.jobs.get(number) or self.shadows.get(number)

    def running(self, tube):
        return len(self.of(tube, "reserved")) + sum(job.tube == tube for job in self.shadows.values())

    def exists(self, tube):
        it = self.tubes[tube]
        return bool(self.of(tube) or self.running(tube) or it.concurrency or it.rate or it.pause_end > self.now[1])

    def holder(self, tube, key):
        return next((job for job in self.jobs.values() if job.tube == tube and job.key == key), None) if key else None

    def named(self, tube, key):
        """The job with the key, or one that had it, was cancelled and still runs."""
        return self.holder(tube, key) or next((job for job in self.shadows.values() if job.tube == tube and job.key == key), None)

    # Turns.

    def make_ready(self, job, due):
        if job.state == "ready":
            return
        turns = self.tubes[job.tube].turns
        moment = (due, job.by_wall)
        if job.group not in turns:
            # Any may be first among those of one moment, and of those that became due by two clocks while time passed.
            last, by_wall = self.passing or (None, None)
            if last is None or (last != due and by_wall == job.by_wall):
                self.counter += 1
            turns[job.group] = self.counter
        self.passing = self.passing and moment
        job.state, job.due, job.waits, job.bounds = "ready", due, False, None

    def leave(self, job, state):
        """The job leaves its state."""
        was, job.state = job.state, state
        if was == "ready" and not any(other.group == job.group for other in self.of(job.tube, "ready")):
            del self.tubes[job.tube].turns[job.group]

    def tokens_of_rate(self, tube, now):
        """How many hand-outs the rate allows now."""
        it = self.tubes[tube]
        if it.rate is None:
            return 1 << 30
        count, per, burst = it.rate
        behind = max(it.rested - now, 0)
        return int(max(0, (burst * per / count - behind) // (per / count)))

    def free(self, tube):
        it = self.tubes[tube]
        places = 1 << 30 if it.concurrency is None else max(0, it.concurrency - self.running(tube))
        return min(places, self.tokens_of_rate(tube, self.now[1]))

    def next_of(self, tube):
        """The jobs of which the next hand-out of the tube has to be one: several only while turns are not known."""
        ready = self.of(tube, "ready")
        if not ready or self.tubes[tube].pause_end > self.now[1] or not self.free(tube):
            return []
        least = min(job.priority for job in ready)
        ready = [job for job in ready if job.priority == least]
        turns = self.tubes[tube].turns
        turn = min(turns[job.group] for job in ready)
        groups = {job.group for job in ready if turns[job.group] == turn}
        return [min((job for job in ready if job.group == group), key=lambda job: job.id) for group in groups]

    def next(self, tubes):
        firsts = [self.next_of(tube) for tube in set(tubes)]
        firsts = [first for first in firsts if first]
        if len(firsts) > 1 and any(len(first) > 1 for first in firsts):
            return [job for first in firsts for job in first]
        return min(firsts, key=lambda first: (first[0].priority, first[0].id), default=[])

    def ready_of(self, tubes):
        return [(tube, self.tubes[tube].turns, [(job.id, job.group, job.priority) for job in self.of(tube, "ready")]) for tube in tubes]

    # Time.

    def events(self):
        for job in self.jobs.values():
            if job.state == "delayed" and job.due is not None:
                yield job.due, "due", job
            if job.state == "ready" and job.expire and not job.handed:
                yield job.due + job.expire, "expires", job
            if job.state == "reserved":
                yield job.lease_end, "ends", job
        for job in self.shadows.values():
            yield job.lease_end, "ends", job
        for name, it in self.tubes.items():
            if it.pause_end > self.now[0]:
                yield it.pause_end, "pause", name
            if it.rate:
                count, per, burst = it.rate
                for free in range(burst):
                    if it.rested - free * per / count > self.now[0]:
                        yield it.rested - free * per / count, "rate", name
        for tokens in (self.tokens, self.arrivals):
            for token, (_, end) in tokens.items():
                for when in (end, end + 1050):      # in between the token may be known or not
                    if when > self.now[0]:
                        yield when, "token", token

    def pass_time(self, until):
        """Everything up to `until` has happened, in the order of time."""
        self.passing = (None, False)
        while True:
            first = min((event for event in self.events() if event[0] <= until and event[1] in ("due", "expires", "ends")),
                        key=lambda event: event[0], default=None)
            if first is None:
                self.passing = None
                return
            when, what, job = first
            if what == "due":
                self.make_ready(job, job.due)
            elif what == "expires":
                self.drop(job)
            elif job.id in self.shadows:
                del self.shadows[job.id]
            else:
                job.error, job.error_at = "the lease has ended", None
                self.fail(job, (when, until), 0)

    # Ends and failures.

    def drop(self, job):
        self.leave(job, "gone")
        del self.jobs[job.id]

    def cancel(self, job):
        """Ends the job, and says what its cancel answers."""
        if job.state == "reserved":
            del self.jobs[job.id]
            self.shadows[job.id] = job
            job.keeps_place = self.tubes[job.tube].concurrency is not None
            return "running"
        self.drop(job)
        return "removed"

    def delay(self, job, bounds):
        self.leave(job, "delayed")
        job.bounds, job.due, job.lease, job.by_wall = bounds, bounds[1], None, False
        self.learn.append(job)

    def bury(self, job, reason):
        self.leave(job, "buried")
        self.counter += 1
        job.reason, job.lease, job.buried_at = reason, None, self.counter

    def fail(self, job, now, after):
        job.attempts += 1
        if job.attempts_max and job.attempts >= job.attempts_max:
            return self.bury(job, "no retry was left")
        most = min(job.backoff_max, job.backoff_min << min(job.attempts, 40))
        least = max(job.backoff_min, most // 2)
        job.lease = None
        if max(most, after) == 0:
            return self.make_ready(job, now[1])
        return self.delay(job, (now[0] + max(least, after) - 1, now[1] + max(most, after) + 1))

    def leased(self, number, lease):
        job = self.any_job(number)
        return job if job and job.lease == lease and (job.id in self.shadows or job.state == "reserved") else None

    # Commands: what each one answers and does.

    def put(self, o, reply):
        it = dict(o)
        token, life, policy, delay, at = (it.pop(name) for name in ("token", "life", "if_key", "delay", "at"))
        if token in self.tokens and self.tokens[token][1] > self.now[1]:
            return self.expect(reply == [self.tokens[token][0], "known"], "PUT of a token that is known:", reply)
        old = self.holder(it["tube"], it["key"])
        policy = policy or ("KEEP" if it["missing"] else "REPLACE")
        if old and policy == "KEEP":
            word = {"reserved": "running", "buried": "buried"}.get(old.state, "kept")
            return self.expect(reply == [old.id, word], "PUT KEEP:", reply, "instead of", [old.id, word])
        if old and policy == "FAIL":
            return self.expect(isinstance(reply, Error) and reply.startswith(f"BUSYKEY {old.id} "), "PUT FAIL:", reply)
        if old:
            self.cancel(old)
        self.expect(isinstance(reply, list) and reply[1] == ("replaced" if old else "scheduled"), "PUT:", reply)
        job = Job(id=reply[0], **it)
        self.expect(job.id not in self.jobs and job.id not in self.shadows, "an id comes twice:", reply)
        self.jobs[job.id] = job
        if token:
            self.tokens[token] = (job.id, self.now[1] + life)
        job.waits = job.missing > 0
        if delay:
            self.delay(job, (at, at) if at else (self.now[0] + delay, self.now[1] + delay))
            job.by_wall = bool(at)
        elif not job.waits:
            self.make_ready(job, self.now[1])

    def cancels(self, jobs, reply):
        words = ["gone" if job is None else "running" if job.id in self.shadows else self.cancel(job) for job in jobs()]
        self.expect(reply == words, "CANCEL:", reply, "instead of", words)

    def reschedule(self, find, at, delay, reply):
        job = find()
        word = "gone" if job is None else "running" if job.state == "reserved" else "rescheduled"
        self.expect(reply == word, "RESCHEDULE:", reply, "instead of", word)
        if word == "rescheduled":
            self.leave(job, "delayed")
            job.reason = None
            if delay:
                self.delay(job, (self.now[0] + delay, self.now[1] + delay))
            else:
                self.make_ready(job, at)
                if job.expire and not job.handed and at + job.expire <= self.now[0]:
                    self.drop(job)

    def arrive(self, tube, key, count, token, life, reply):
        job = self.holder(tube, key)
        waits = job is not None and job.waits
        if token and self.arrivals.get((tube, key, token), (0, 0))[1] > self.now[1]:
            return self.expect(reply == (job.missing if waits else 0), "ARRIVE that is repeated:", reply)
        if not waits:
            return self.expect(reply == "gone", "ARRIVE:", reply, "instead of gone")
        job.missing -= min(count, job.missing)
        self.expect(reply == job.missing, "ARRIVE:", reply, "instead of", job.missing)
        if token:
            self.arrivals[tube, key, token] = (job.id, self.now[1] + life)
        if not job.missing:
            self.make_ready(job, self.now[1])
        return None

    def kick_job(self, job):
        if job.state == "ready":
            return
        if job.state == "buried":
            job.attempts = 0
        job.error = job.error_at = job.reason = None
        self.make_ready(job, self.now[1])

    def kickid(self, number, reply):
        job = self.any_job(number)
        word = "gone" if job is None else "running" if job.state == "reserved" else "ok"
        self.expect(reply == word, "KICKID:", reply, "instead of", word)
        if word == "ok":
            self.kick_job(job)

    def kick(self, tube, count, kicked, reply):
        """`kicked` are those of which the server says afterwards that they are ready."""
        buried = sorted(self.of(tube, "buried"), key=lambda job: job.buried_at)
        delayed = sorted(self.of(tube, "delayed"), key=lambda job: job.due or 1 << 60)
        chosen = (buried or delayed)[:count]
        self.expect(reply == len(chosen), "KICK:", reply, "instead of", len(chosen))
        if count == 1 and buried and buried[0].buried_at < 0:
            chosen = [job for job in buried if job.buried_at < 0 and job.id in kicked]
        self.expect({job.id for job in chosen} == kicked, "KICK:", kicked, "instead of", [job.id for job in chosen])
        for job in chosen:
            self.kick_job(job)

    def ack(self, pairs, reply):
        words = []
        for number, lease in pairs:
            job = self.leased(number, lease)
            words.append("ok" if job else "gone")
            if job:
                self.shadows.pop(number, None) or self.drop(job)
        self.expect(reply == words, "ACK:", reply, "instead of", words)

    def told(self, verb, pairs, text, act, reply):
        words = []
        for number, lease in pairs:
            job = self.leased(number, lease)
            words.append("gone" if job is None else "cancelled" if number in self.shadows else "ok")
            if words[-1] == "cancelled" and verb != "EXTEND":
                del self.shadows[number]
            if words[-1] == "ok":
                if text is not None:
                    job.error = text.encode()[:1024].decode(errors="ignore")
                    job.error_at = self.now
                act(job)
        words = words if len(words) > 1 else words[0]
        self.expect(reply == words, verb + ":", reply, "instead of", words)

    def extend(self, job):
        job.lease_end = self.now[1] + job.ttr

    def nack(self, delay, after, job):
        if delay is not None:
            self.delay(job, (self.now[0] + delay, self.now[1] + delay))
        else:
            self.fail(job, self.now, after or 0)

    def bury_told(self, job):
        job.attempts += 1
        self.bury(job, "a worker buried it")

    def reserve(self, tubes, count, details, reply):
        self.expect(isinstance(reply, list) and len(reply) <= count, "RESERVE:", reply)
        for place in reply:
            choices = self.next(tubes)
            job = next((job for job in choices if job.id == place[0]), None)
            self.expect(job is not None, "RESERVE:", place, "instead of one of", [(it.id, it.group) for it in choices], self.ready_of(tubes))
            self.expect(place[2:5] + place[6:8] == [job.tube, job.key, job.body, job.attempts + 1, 0], "RESERVE:", place, vars(job))
            self.expect(len(place) == (9 if details else 8), "RESERVE: places", place)
            self.hand_out(job, place[1])
            if details:
                self.check_details(job, as_map(place[8]))
        self.expect(reply or not self.next(tubes), "RESERVE: nothing instead of", [vars(job) for job in self.next(tubes)])

    def hand_out(self, job, lease):
        it = self.tubes[job.tube]
        self.leave(job, "reserved")
        if job.group in it.turns:
            self.counter += 1
            it.turns[job.group] = self.counter
        if it.rate:
            it.rested = max(it.rested, self.now[1]) + it.rate[1] / it.rate[0]
        job.lease, job.handed, job.lease_end, job.maybe_lost = lease, True, self.now[1] + job.ttr, False

    def check_details(self, job, details):
        wanted = {"ttr": job.ttr, "tag": job.tag, "group": job.group, "headers": job.headers, "error": job.error, "recurring": None,
                  "attempts_left": max(0, job.attempts_max - job.attempts - 1) if job.attempts_max else None, "await": job.missing or None}
        for name, value in wanted.items():
            self.expect(details.get(name) == value, "DETAILS:", name, details.get(name), "instead of", value, details)
        self.check_error_at(job, details.get("error_at"))

    def check_error_at(self, job, value):
        if job.error_at is None:
            self.expect(value is None, "error_at:", value, "instead of nothing")
        else:
            self.expect(value is not None and job.error_at[0] - 1 <= value <= job.error_at[1] + 1, "error_at:", value, job.error_at)

    # What a job shows.

    def check(self, job, seen, keys=True, full=True):
        wanted = {"id": job.id, "tube": job.tube, "state": job.state, "priority": job.priority, "ttr": job.ttr, "expire": job.expire,
                  "attempts_max": job.attempts_max, "retry": job.attempts_max, "backoff_min": job.backoff_min,
                  "backoff_max": job.backoff_max, "attempts": job.attempts, "recurring": 0, "missed": 0, "failures": 0,
                  "reason": job.reason if job.state == "buried" else None, "await": job.missing,
                  "lease": job.lease if job.state == "reserved" else None}
        if keys:
            wanted.update(key=job.key, tag=job.tag, group=job.group, error=job.error)
            self.check_error_at(job, seen["error_at"])
        if full:
            wanted.update(headers=job.headers, body=job.body)
        for name, value in wanted.items():
            self.expect(seen[name] == value, f"{name} of {job.id}:", seen[name], "instead of", value, seen)
        for name in ("key", "error", "error_at", "tag", "group"):
            self.expect(keys or name not in seen, name, "is shown:", seen)
        self.check_times(job, seen)

    def check_times(self, job, seen):
        end = job.due if job.state == "delayed" else job.lease_end if job.state == "reserved" else None
        if job.state == "delayed" and job.due is None:
            return self.expect(seen["due"] is None and seen["left"] is None, "due and left:", seen)
        if end is None:
            return self.expect(seen["left"] == 0, "left:", seen)
        if job.state == "delayed" and job.bounds is not None:
            low, high = job.bounds
            self.expect(low - 1 <= seen["due"] <= high + 1, f"due of {job.id}:", seen["due"], "instead of", job.bounds, seen)
            job.due, job.bounds, end = seen["due"], None, seen["due"]
        slack = STEP_MS // 2
        self.expect(end - self.now[1] - slack <= seen["left"] <= end - self.now[0] + slack, "left:", seen["left"], end - self.now[0])
        self.expect(job.state != "delayed" or abs(seen["due"] - job.due) <= 1, "due:", seen, job.due)
        return None
