"""Clients that put, cancel, look up and work on jobs through all nodes of a cluster, and tell the ledger.
They run in a thread of their own, so that a fault may take long.

    putters   several connections; a put has a token, and is sent again until it is answered
    writers   one for each register, which is a key with rising versions
    readers   one for each node and partition; it asks for registers at a fixed rate, whether answers
              come or not, so that it reads what a frozen node says when it wakes up
    workers   one for each node
"""

import asyncio
import pathlib
import random
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parents[3]
sys.path.insert(0, str(ROOT / "tests/server/proof"))

from ledger import Job, Register, is_unsure  # noqa: E402
from place import key_in, partition_of  # noqa: E402
from proof_support import NOTHING, Resp, resp  # noqa: E402

FAR = "10h"         # when stored jobs are due: nobody gets them
TTR_S = 1
BATCH = 3
PAUSE_S = 0.01      # between batches, and between a reader's questions, with as many clients as follows
USUAL = 6           # nodes times partitions; with more each client waits longer, so that all together ask as often
REGISTERS = 2       # of each partition
CHUNK = 200
ANSWER_LIMIT_S = 40  # until all is answered, when all nodes run
REPETITIONS = 3      # of questions at the end that were not answered


class LoopThread:
    """An event loop in a thread."""

    def __init__(self):
        self.loop = asyncio.new_event_loop()
        self.thread = threading.Thread(target=self.loop.run_forever, daemon=True)
        self.thread.start()

    def run(self, coroutine, limit_s=120):
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop).result(limit_s)

    def begin(self, coroutine):
        return asyncio.run_coroutine_threadsafe(coroutine, self.loop)

    def stop(self):
        self.loop.call_soon_threadsafe(self.loop.stop)
        self.thread.join()
        self.loop.close()


async def ask(link, commands, limit_s):
    """Sends all, and returns the replies; None for each that did not come."""
    replies = []
    try:
        async with asyncio.timeout(limit_s):
            link.writer.write(b"".join(resp(*words) for words in commands))
            for _ in commands:
                replies.append(await link.receive())
    except (OSError, asyncio.IncompleteReadError, TimeoutError):
        link.close()
        replies += [None] * (len(commands) - len(replies))
    return replies


class Client:
    """One connection at a time; when it fails, the next one is to the next node."""

    def __init__(self, clients, number):
        self.clients, self.ledger = clients, clients.ledger
        self.number, self.node = number, number
        self.random = random.Random(f"{clients.tag}-{type(self).__name__}-{number}")
        self.link = None

    async def ask(self, commands):
        """Replies; None for all that are unknown."""
        while self.link is None:
            ports = self.clients.ports
            try:
                async with asyncio.timeout(self.clients.patience_s):
                    self.link = await Resp.open(ports[self.node % len(ports)])
            except (OSError, TimeoutError):
                self.node += 1
                await asyncio.sleep(PAUSE_S)
                if self.clients.is_over():
                    return [None] * len(commands)
        replies = await ask(self.link, commands, self.clients.patience_s)
        if replies[-1] is None:
            self.node += 1
            self.link = None
            self.ledger.counts["connections lost"] += 1
        return replies

    def close(self):
        if self.link is not None:
            self.link.close()


class Putter(Client):
    def __init__(self, clients, number):
        super().__init__(clients, number)
        self.part = number % clients.partitions
        self.node = number // clients.partitions
        self.made = 0
        self.open_puts, self.open_removals = [], []
        self.own = []

    def new_job(self):
        is_work = self.random.random() < 0.2
        has_key = not is_work and self.random.random() < 0.5
        tube = self.clients.work if is_work else self.clients.store
        while True:
            self.made += 1
            body = f"{self.clients.tag}-{self.number}-{self.made}"
            key = f"key-{body}" if has_key else None
            job = Job(tube, body, key, self.part,
                      self.random.choice((0.0, 0.02, 0.3, 3.0)) if is_work else 36000.0)
            place = (tube, key) if has_key else ("", job.token)
            if partition_of(*place, self.clients.partitions) == self.part:
                break
        if is_work:
            self.ledger.work[body] = job
        else:
            self.ledger.jobs.append(job)
        return job

    def put_words(self, job):
        delay = FAR if job.delay_s > 1000 else f"{int(job.delay_s * 1000)}ms"
        return ("PUT", job.tube, job.body, "IN", delay, "TTR", f"{TTR_S}s", "TOKEN", job.token,
                *(("KEY", job.key) if job.key else ()))

    def removal_words(self, job):
        if job.key and self.random.random() < 0.7:
            return ("CANCEL", job.tube, job.key)
        return ("CANCELID", job.id)

    def plan(self):
        """Pairs of words, and the function that takes the sending time and the reply."""
        plan = [(self.put_words(job), job, self.put_ended) for job in self.open_puts]
        plan += [(self.removal_words(job), job, self.removal_ended) for job in self.open_removals]
        self.open_puts, self.open_removals = [], []
        for _ in range(0 if self.clients.is_stopping else BATCH):
            chance = self.random.random()
            if chance < 0.65 or not self.own:
                job = self.new_job()
                plan.append((self.put_words(job), job, self.put_ended))
            elif chance < 0.8:
                job = self.own.pop(self.random.randrange(len(self.own)))
                job.removal_sent = time.monotonic()
                plan.append((self.removal_words(job), job, self.removal_ended))
            else:
                job = self.random.choice(self.own)
                plan.append((look_words(job), job, self.look_ended))
        return plan

    def put_ended(self, job, sent, reply):
        if not self.ledger.put_answered(job, sent, reply):
            self.open_puts.append(job)
        elif job.id is not None and job.tube == self.clients.store:
            self.own.append(job)

    def removal_ended(self, job, sent, reply):
        word = reply[0] if isinstance(reply, list) else reply
        if not self.ledger.removal_answered(job, sent, word):
            self.open_removals.append(job)

    def look_ended(self, job, sent, reply):
        if not is_unsure(reply):
            self.ledger.looked_up(job, sent, reply != NOTHING)

    def has_ended(self):
        return self.clients.is_stopping and not self.open_puts and not self.open_removals

    async def run(self):
        while not self.has_ended() and not self.clients.is_over():
            plan = self.plan()
            now = time.monotonic()
            for _words, job, ended in plan:
                if ended == self.put_ended and job.sent is None:
                    job.sent = now
            replies = await self.ask([words for words, _job, _ended in plan])
            for (_words, job, ended), reply in zip(plan, replies, strict=True):
                ended(job, now, reply)
            await asyncio.sleep(self.clients.pause_s)
        self.ledger.counts["unresolved"] += len(self.open_puts) + len(self.open_removals)
        self.close()


class Writer(Client):
    def __init__(self, clients, number, register):
        super().__init__(clients, number)
        self.register = register

    async def run(self):
        register = self.register
        while not self.clients.is_stopping:
            register.written += 1
            version = register.written
            words = ("PUT", register.tube, version, "KEY", register.key, "IN", FAR,
                     "TOKEN", f"{register.tube}-{register.key}-{version}")
            while True:
                sent = time.monotonic()
                reply = (await self.ask([words]))[0]
                if self.ledger.write_answered(register, version, sent, reply):
                    break
                if self.clients.is_over():
                    self.ledger.counts["unresolved"] += 1
                    break
                await asyncio.sleep(self.clients.pause_s)
            await asyncio.sleep(self.clients.pause_s)
        self.close()


def version_in(reply):
    """0 if there is no job; None if it is no answer."""
    if reply == NOTHING:
        return 0
    if isinstance(reply, list):
        return int(reply[reply.index("body") + 1])
    return None


def look_words(job):
    return ("LOOKUP", job.tube, job.key) if job.key else ("LOOKUPID", job.id)


class Reader(Client):
    """It stays with one node, and asks however late the answers are."""

    def __init__(self, clients, node, part):
        super().__init__(clients, node)
        self.part = part
        self.mine = [r for r in self.ledger.registers if r.part == part]
        self.last_answer = 0.0

    async def ask_on(self, link, questions):
        try:
            number = 0
            while not self.clients.is_stopping:
                register = self.mine[number % len(self.mine)]
                number += 1
                questions.put_nowait((register, register.known))
                link.writer.write(resp("LOOKUP", register.tube, register.key))
                await asyncio.sleep(self.clients.pause_s)
        finally:
            questions.put_nowait(None)

    async def read_on(self, link, questions):
        while (question := await questions.get()) is not None:
            version = version_in(await link.receive())
            if version is not None:
                self.ledger.read_answered(*question, version)
                self.last_answer = time.monotonic()

    async def run(self):
        while not self.clients.is_stopping:
            try:
                link = await Resp.open(self.clients.ports[self.node])
            except OSError:
                await asyncio.sleep(5 * PAUSE_S)
                continue
            questions = asyncio.Queue()
            asking = asyncio.create_task(self.ask_on(link, questions))
            try:
                await self.read_on(link, questions)
            except (OSError, asyncio.IncompleteReadError):
                pass  # the node has ended
            finally:
                asking.cancel()
                link.close()


class Worker(Client):
    async def run(self):
        clients = self.clients
        while not clients.is_over():
            sent = time.monotonic()
            reply = (await self.ask([("RESERVE", clients.work, "COUNT", 20, "WAIT", "50ms")]))[0]
            if isinstance(reply, str) and not is_unsure(reply):
                self.ledger.fault("wrong", f"RESERVE: {reply}")
            jobs = reply if isinstance(reply, list) else []
            known = [self.ledger.handed_out(job[0], job[4], sent) for job in jobs]
            if jobs and self.random.random() < 0.97:
                words = ("ACK", *(word for job in jobs for word in job[:2]))
                answers = (await self.ask([words]))[0]
                if is_unsure(answers):
                    answers = [None] * len(jobs)
                for (number, *_), job, word in zip(jobs, known, answers):
                    if job is not None and word == "ok":
                        job.done[number] = time.monotonic()
                        job.removed = job.removed or job.done[number]
                    elif job is not None and is_unsure(word):
                        job.removal_tried = True
            elif not jobs:
                if clients.is_stopping and clients.putters_ended and self.all_done():
                    break
                await asyncio.sleep(PAUSE_S)
        self.close()

    def all_done(self):
        """A job whose ACK got no answer may be gone, or come again after its TTR."""
        return all(job.removed is not None or (job.handed_out > 0 and job.removal_tried)
                   for job in self.ledger.work.values() if job.answered is not None)


class Clients:
    """All clients of one trial. `ports` are those of the nodes, and may change."""

    def __init__(self, ledger, ports, partitions, tag, lease_s):
        self.ledger, self.ports, self.partitions, self.tag = ledger, ports, partitions, tag
        self.patience_s = 5 * lease_s  # a client has a time-out of its own
        self.pause_s = PAUSE_S * max(1, len(ports) * partitions / USUAL)
        self.store, self.work = f"store-{tag}", f"work-{tag}"
        self.table = f"registers-{tag}"
        self.is_stopping = False
        self.putters_ended = False
        self.end_at = None
        self.tasks = []
        ledger.registers = [Register(self.table, key_in(part, partitions, self.table, f"r{i}"), part)
                            for part in range(partitions) for i in range(REGISTERS)]
        self.readers = [Reader(self, node, part)
                        for node in range(len(ports)) for part in range(partitions)]
        self.putters = [Putter(self, i) for i in range(len(ports) * partitions)]
        self.writers = [Writer(self, i, r) for i, r in enumerate(ledger.registers)]
        self.workers = [Worker(self, i) for i in range(len(ports))]

    def is_over(self):
        return self.end_at is not None and time.monotonic() > self.end_at

    async def start(self):
        self.tasks = [asyncio.create_task(c.run())
                      for c in (*self.putters, *self.writers, *self.readers, *self.workers)]

    async def stop(self, limit_s=ANSWER_LIMIT_S):
        """Puts nothing more, and waits until all is answered, and all work done."""
        self.end_at = time.monotonic() + limit_s
        self.is_stopping = True
        putters = self.tasks[:len(self.putters) + len(self.writers)]
        await asyncio.gather(*putters)
        self.putters_ended = True
        _done, pending = await asyncio.wait(self.tasks, timeout=limit_s)
        for task in pending:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=bool(pending))

    async def abandon(self):
        """Ends all of them at once."""
        self.is_stopping = True
        self.end_at = 0.0
        for task in self.tasks:
            task.cancel()
        await asyncio.gather(*self.tasks, return_exceptions=True)

    # ---- the last look ----

    async def check(self, port):
        """When all is answered, each job and register is looked at, through one node."""
        link = await Resp.open(port)
        try:
            await self.check_jobs(link)
            await self.check_registers(link)
            await self.check_counts(link)
        finally:
            link.close()

    async def all_replies(self, link, commands):
        """Commands that may be sent again: they look, or leave nothing behind. On a busy machine an
        owner may lose its lease at the end, too."""
        replies = await ask(link, commands, ANSWER_LIMIT_S)
        for _ in range(REPETITIONS):
            if None not in replies and any(is_unsure(reply) for reply in replies):
                replies = await ask(link, commands, ANSWER_LIMIT_S)
        for words, reply in zip(commands, replies, strict=True):
            if is_unsure(reply):
                raise AssertionError(f"{words[0]} was not answered, after all: {reply}")
        return replies

    async def check_jobs(self, link):
        jobs = [job for job in self.ledger.jobs if job.answered is not None and job.id is not None]
        for start in range(0, len(jobs), CHUNK):
            chunk = jobs[start:start + CHUNK]
            sent = time.monotonic()
            replies = await self.all_replies(link, [look_words(job) for job in chunk])
            for job, reply in zip(chunk, replies, strict=True):
                self.ledger.looked_up(job, sent, reply != NOTHING, is_last=True)
        waiting = [job for job in self.ledger.work.values()
                   if job.answered is not None and job.id is not None and job.handed_out == 0]
        replies = await self.all_replies(link, [("LOOKUPID", job.id) for job in waiting])
        for job, reply in zip(waiting, replies, strict=True):
            self.ledger.fault("lost" if reply == NOTHING else "late",
                              f"{job} was put, and handed out to nobody")

    async def check_registers(self, link):
        registers = self.ledger.registers
        replies = await self.all_replies(link, [("LOOKUP", r.tube, r.key) for r in registers])
        for register, reply in zip(registers, replies, strict=True):
            self.ledger.read_answered(register, register.known, version_in(reply) or 0,
                                      is_last=True)

    async def check_counts(self, link):
        """As many jobs as there must be: a put that was done twice shows. Then cancels all."""
        alive = sum(job.answered is not None and job.removed is None for job in self.ledger.jobs)
        undecided = self.ledger.counts["unresolved"]
        (stats,) = await self.all_replies(link, [("STATS", self.store)])
        there = stats[stats.index("delayed") + 1] if isinstance(stats, list) else 0
        if there - alive > undecided:
            self.ledger.fault("doubled", f"{there} jobs are there, and {alive} were put")
        await self.all_replies(link, [("CANCELALL", tube)
                                      for tube in (self.store, self.table, self.work)])
