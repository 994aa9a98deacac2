"""Clients of both protocols that put, change and remove jobs at random, and tell the book (book.py)."""

import random
import time

from book import Keys
from proof_support import NOTHING, Beanstalkd, Command, Resp, line, resp

TUBES = ("w0", "w1", "w2")
LATER_MS = 600_000  # jobs with keys do not become due, so nobody else touches them
KEYS = 8            # of one client
BACKLOG_MAX = 4000
WINDOW_MAX = 12


def ignore(_command, _reply):
    """The outcome says nothing about a job."""


class Client:
    """What both protocols share. `batch` makes commands; outcomes go to the book."""

    def __init__(self, number, book, seed):
        self.number, self.book = number, book
        self.random = random.Random(seed)
        self.made = 0
        self.own = []      # jobs that this client has put
        self.leases = []
        self.link = None

    def body(self):
        self.made += 1
        return f"c{self.number}-{self.made}-" + "x" * self.random.choice((0, 10, 100, 1000))

    def pick(self, jobs):
        """Takes one out."""
        place = self.random.randrange(len(jobs))
        jobs[place], jobs[-1] = jobs[-1], jobs[place]
        return jobs.pop()

    def steps(self):
        count = self.random.randint(1, WINDOW_MAX)
        full = len(self.book.jobs) - self.book.counts.get("removed", 0) > BACKLOG_MAX
        commands = []
        for _ in range(count):
            commands += self.step(full)
        return commands

    def removal(self, job, data, is_whole):
        """A command that removes a job, as its owner."""
        book = self.book
        whole = is_whole and job.must_be_there() and job.removals == job.open_removals
        book.removal_sent(job)
        mine = job.removals

        def ended(_command, reply):
            answer = None if reply is None else reply[0]
            book.removal_ended(job, answer, whole and job.removals == mine)
        return Command(data, ended)

    def use(self, lease, data, due=None, removes=False):
        """A command of a worker. `due` is for those that make the job wait: from now on."""
        book, job = self.book, lease.job
        held = book.still_holds(lease) and job.removals == 0
        newest = job.lease is lease
        lease.may_have_ended = True
        before = job.removals
        if removes:
            book.removal_sent(job)
            before += 1
        sent = time.monotonic()
        change = None if due is None else book.change_sent(job, sent, sent + due)

        def ended(_command, reply):
            answer = None if reply is None else reply if isinstance(reply, str) else reply[0]
            if answer is not None:
                book.use_answered(lease, held, newest, before, answer)
            if removes:
                book.removal_ended(job, answer)
            if change is not None:
                done = None if answer is None else answer in ("ok", "RELEASED")
                book.change_ended(job, change, done)
        return Command(data, ended)


class BeanstalkdClient(Client):
    protocol = Beanstalkd

    def greet(self):
        self.leases = []  # they end with the connection
        return [Command(line(f"watch {tube}"), ignore) for tube in TUBES]

    def step(self, full):
        chance = self.random.random()
        if chance < 0.35 and not full:
            return self.put()
        if chance < 0.60 or not (self.leases or self.own):
            return [self.reserve()]
        if chance < 0.90 and self.leases:
            return self.work(self.pick(self.leases))
        if chance < 0.95 and self.own:
            job = self.pick(self.own)
            return [self.removal(job, line(f"delete {job.id}"), False)]
        return self.kick()

    def put(self):
        ttr, delay, body = self.random.randint(1, 2), self.random.choice((0, 0, 1)), self.body()
        job = self.book.put_sent(body, ttr, time.monotonic(), delay)

        def ended(_command, reply):
            if reply is None:
                return
            if reply[0] != "INSERTED":
                self.book.fault(f"put {job}: {reply}")
                return
            self.book.put_answered(job, int(reply[1]))
            if self.random.random() < 0.3:
                self.own.append(job)
        tube = self.random.choice(TUBES)
        priority = self.random.randint(0, 3)
        return [Command(line(f"use {tube}"), ignore),
                Command(line(f"put {priority} {delay} {ttr} {len(body)}", body), ended)]

    def reserve(self):
        def ended(command, reply):
            if reply is None or reply[0] != "RESERVED":
                return
            lease = self.book.handed_out(reply[2], int(reply[1]), None, command.sent, self)
            if lease is not None and self.random.random() < 0.9:
                self.leases.append(lease)
        return Command(line("reserve-with-timeout 0"), ended)

    def work(self, lease):
        number, chance = lease.job.id, self.random.random()
        if chance < 0.6:
            return [self.use(lease, line(f"delete {number}"), removes=True)]
        if chance < 0.8:
            delay = self.random.choice((0, 1))
            return [self.use(lease, line(f"release {number} 1 {delay}"), due=delay)]
        if chance < 0.9:
            return [self.use(lease, line(f"bury {number} 1"))]
        return [self.use(lease, line(f"touch {number}"))]

    def kick(self):
        # It may be a delayed job that becomes ready, of any client.
        if not self.own:
            return [Command(line("kick 0"), ignore)]
        job = self.random.choice(self.own)
        change = self.book.change_sent(job, time.monotonic(), 0.0)

        def ended(_command, reply):
            self.book.change_ended(job, change, None if reply is None else reply[0] == "KICKED")
        return [Command(line(f"kick-job {job.id}"), ended)]


class RespClient(Client):
    protocol = Resp

    def __init__(self, number, book, seed):
        super().__init__(number, book, seed)
        self.keys = Keys(book)
        self.unsure = []  # puts with a token that got no reply

    def greet(self):
        commands = [self.look(f"k{self.number}-{i}") for i in range(KEYS)]
        again, self.unsure = self.unsure, []
        commands += [self.put_with_token(*put) for put in again]
        return commands

    def step(self, full):
        chance = self.random.random()
        if chance < 0.25 and not full:
            return [self.put()]
        if chance < 0.45:
            return [self.key_step()]
        if chance < 0.65 or not (self.leases or self.own):
            return [self.reserve()]
        if chance < 0.92 and self.leases:
            return [self.work(self.pick(self.leases))]
        if chance < 0.97 and self.own:
            job = self.pick(self.own)
            return [self.removal(job, resp("CANCELID", job.id), True)]
        return [self.move()]

    # ---- jobs of all ----

    def put(self):
        ttr_ms, body = self.random.randint(800, 2000), self.body()
        delay_ms = self.random.choice((0, 0, 3, 50, 700))
        tube = self.random.choice(TUBES)
        job = self.book.put_sent(body, ttr_ms / 1e3, time.monotonic(), delay_ms / 1e3)
        words = ("PUT", tube, body, "IN", f"{delay_ms}ms", "TTR", f"{ttr_ms}ms", "PRIORITY", 2)
        token = f"t{self.number}-{self.made}" if self.random.random() < 0.5 else None
        return self.put_with_token(words, job, token)

    def put_with_token(self, words, job, token):
        def ended(_command, reply):
            if reply is None:
                if token is not None:
                    self.unsure.append((words, job, token))
            elif not isinstance(reply, list) or reply[1] not in ("scheduled", "known"):
                self.book.fault(f"PUT {job}: {reply}")
            else:
                self.book.put_answered(job, reply[0])
                if reply[1] == "known":
                    self.book.count("tokens known")
                if self.random.random() < 0.3:
                    self.own.append(job)
        return Command(resp(*words, *(("TOKEN", token) if token else ())), ended)

    def reserve(self):
        def ended(command, reply):
            for number, name, _tube, _key, body, *_rest in reply or []:
                lease = self.book.handed_out(body, number, name, command.sent, None)
                if lease is not None and self.random.random() < 0.9:
                    self.leases.append(lease)
        wait = ("WAIT", "20ms") if self.random.random() < 0.2 else ()
        return Command(resp("RESERVE", *TUBES, "COUNT", self.random.randint(1, 4), *wait), ended)

    def work(self, lease):
        name, chance = (lease.job.id, lease.name), self.random.random()
        if chance < 0.6:
            return self.use(lease, resp("ACK", *name), removes=True)
        if chance < 0.75:
            delay_ms = self.random.choice((0, 20, 500))
            return self.use(lease, resp("NACK", *name, "IN", f"{delay_ms}ms"), due=delay_ms / 1e3)
        if chance < 0.85:
            return self.use(lease, resp("BURY", *name))
        return self.use(lease, resp("EXTEND", *name))

    def move(self):
        """Gives an own job another due time."""
        if not self.own:
            return Command(resp("PING"), ignore)
        job, delay_ms = self.random.choice(self.own), self.random.choice((0, 5, 300, 900))
        sent = time.monotonic()
        change = self.book.change_sent(job, sent, sent + delay_ms / 1e3)

        def ended(_command, reply):
            self.book.change_ended(job, change, None if reply is None else reply == "rescheduled")
        return Command(resp("RESCHEDULEID", job.id, "IN", f"{delay_ms}ms"), ended)

    # ---- own keys ----

    def key_step(self):
        key, chance = f"k{self.number}-{self.random.randrange(KEYS)}", self.random.random()
        if chance < 0.5:
            return self.put_key(key)
        if chance < 0.75:
            return self.key_command(key, lambda due: resp("CANCEL", "keys", key), lambda state, due:
                                    (None, ("gone",) if state is None else ("removed",)))
        if chance < 0.9:
            return self.key_command(
                key, lambda ms: resp("RESCHEDULE", "keys", key, "IN", f"{ms}ms"),
                lambda state, due: (None, ("gone",)) if state is None
                else ((state[0], *due), ("rescheduled",)))
        return self.look(key)

    def put_key(self, key):
        body, keep = self.body(), self.random.random() < 0.3

        def step(state, due):
            if state is not None and keep:
                return state, ("kept",)
            return (body, *due), ("scheduled" if state is None else "replaced",)
        return self.key_command(
            key, lambda ms: resp("PUT", "keys", body, "KEY", key, "IN", f"{ms}ms", "IFKEY",
                                 "KEEP" if keep else "REPLACE"), step)

    def key_command(self, key, write, step):
        delay_ms = LATER_MS + self.random.randrange(LATER_MS)
        least = int(time.time() * 1e3) + delay_ms

        def ended(_command, reply):
            answer = None if reply is None else reply if isinstance(reply, str) \
                else reply[1] if len(reply) == 2 else reply[0]
            due = (least, int(time.time() * 1e3) + delay_ms + 1)
            self.keys.apply(key, lambda state: step(state, due), answer)
        return Command(write(delay_ms), ended)

    def look(self, key):
        def ended(_command, reply):
            if isinstance(reply, list):
                fields = dict(zip(reply[::2], reply[1::2], strict=True))
                self.keys.seen(key, (fields["body"], fields["due"]))
            elif reply == NOTHING:
                self.keys.seen(key, None)
        return Command(resp("LOOKUP", "keys", key), ended)
