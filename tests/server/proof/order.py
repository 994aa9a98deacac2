#!/usr/bin/env python3
"""order.py [--commands N] [--seed S] [--expect-fault] [-- OPTION...]

Tests that no reply leaves before its causes are durable (Q4). strace writes down the system calls of a
server. Clients of both protocols use the server, each with several commands at a time. For each reply
two kinds of records matter: those of its command, and those of other commands of which it tells. Before
the first byte of the reply is given to its socket, these records must be written. A sync of their file
that began after the write must also have ended.

The test is skipped if strace is not installed or may not trace. --expect-fault is for a server that
replies too early (OPTION --durability interval=50).
"""

import argparse
import asyncio
import random
import sys
import tempfile
import time

import strace_log
from proof_support import NOTHING, SKIPPED, Beanstalkd, Command, Resp, Server, line, resp
from strace_log import CHANGE, DELETE, LEASE, PUT

WINDOW = 6
TUBE = "default"
NAMES = {PUT: "PUT", CHANGE: "CHANGE", DELETE: "DELETE", LEASE: "LEASE"}


class Job:
    def __init__(self, number, body):
        self.number, self.body = number, body
        self.changes = self.leases = 0
        self.lease = None


class World:
    """What all clients know, and which records each reply needs."""

    def __init__(self, seed):
        self.random = random.Random(seed)
        self.jobs = {}     # by id
        self.keys = {}     # by key: the job
        self.made = 0
        self.needs = []    # (port, first byte, command, [(type, key, which of them)])

    def body(self):
        self.made += 1
        return f"body-{self.made}"


class Client:
    def __init__(self, number, world, link):
        self.number, self.world, self.link = number, world, link
        self.random = world.random
        self.held, self.buried = [], []
        self.has_died = False  # the server, seen from here

    def command(self, data, needs):
        """`needs` gives the records that a reply needs."""
        def ended(command, reply):
            if reply is None:
                self.has_died = True
                return
            self.world.needs.append((self.link.port, command.first, data, needs(reply)))
        return Command(data, ended)

    def put_done(self, number, body, key=None):
        job = self.world.jobs[number] = Job(number, body)
        needs = [(PUT, body, 0)]
        if key is not None:
            old = self.world.keys.get(key)
            if old is not None:
                needs.append((DELETE, old.number, 0))
            self.world.keys[key] = job
        return needs

    def handed_out(self, number, body, lease):
        job = self.world.jobs.setdefault(number, Job(number, body))
        job.lease = lease
        job.leases += 1
        self.held.append(job)
        # All that came before this hand-out; its own LEASE is excepted.
        return [(PUT, body, 0)] + [(CHANGE, number, i) for i in range(job.changes)]

    def take(self, jobs):
        return jobs.pop(self.random.randrange(len(jobs)))

    def counted(self, job, kind):
        """Which record of its type the next command writes."""
        if kind == CHANGE:
            job.changes += 1
            return [(CHANGE, job.number, job.changes - 1)]
        job.leases += 1
        return [(LEASE, job.number, job.leases - 1)]

    def guess(self):
        """The id of a job, perhaps of one that was just put, or is being removed."""
        greatest = max(self.world.jobs, default=1)
        return max(1, greatest - self.random.randint(-4, 12))

    def seen(self, number, body, was_known):
        """What a look at a job needs. A job that was put after the look was sent may not be there yet."""
        if body is not None:
            return [(PUT, body, 0)]
        return [(DELETE, number, 0)] if was_known else []

    def steps(self):
        return [self.step() for _ in range(self.random.randint(1, WINDOW))]


def expect(reply, *words):
    if reply not in words:
        raise AssertionError(f"{reply} is none of {words}")


class BeanstalkdClient(Client):
    def step(self):
        chance = self.random.random()
        if chance < 0.3:
            return self.put()
        if chance < 0.5:
            return self.command(line("reserve-with-timeout 0"), lambda reply: []
                                if reply[0] != "RESERVED" else
                                self.handed_out(int(reply[1]), reply[2], None))
        if chance < 0.75 and self.held:
            return self.work(self.take(self.held))
        if chance < 0.8 and self.buried:
            job = self.take(self.buried)
            return self.certain(f"kick-job {job.number}", "KICKED", self.counted(job, CHANGE))
        number = self.guess()
        was_known = number in self.world.jobs
        return self.command(line(f"peek {number}"), lambda reply:
                            self.seen(number, reply[2] if reply[0] == "FOUND" else None, was_known))

    def put(self):
        body = self.world.body()
        return self.command(line(f"put 1 0 1000 {len(body)}", body),
                            lambda reply: self.put_done(int(reply[1]), body))

    def certain(self, text, word, needs):
        def ended(reply):
            expect(reply[0], word)
            return needs
        return self.command(line(text), ended)

    def work(self, job):
        number, chance = job.number, self.random.random()
        if chance < 0.5:
            return self.certain(f"delete {number}", "DELETED", [(DELETE, number, 0)])
        if chance < 0.7:
            return self.certain(f"release {number} 1 0", "RELEASED", self.counted(job, CHANGE))
        if chance < 0.85:
            return self.certain(f"touch {number}", "TOUCHED", self.counted(job, LEASE))
        needs = self.counted(job, CHANGE)

        def ended(reply):
            expect(reply[0], "BURIED")
            self.buried.append(job)
            return needs
        return self.command(line(f"bury {number} 1"), ended)


class RespClient(Client):
    def step(self):
        chance = self.random.random()
        if chance < 0.2:
            body = self.world.body()
            return self.command(resp("PUT", TUBE, body, "TTR", "1000s", "PRIORITY", 1),
                                lambda reply: self.put_done(reply[0], body))
        if chance < 0.4:
            return self.key_step()
        if chance < 0.55:
            return self.command(resp("RESERVE", TUBE, "COUNT", 3), lambda reply:
                                [need for job in reply
                                 for need in self.handed_out(job[0], job[4], job[1])])
        if chance < 0.8 and self.held:
            return self.work(self.take(self.held))
        if chance < 0.85 and self.buried:
            job = self.take(self.buried)
            return self.certain(("KICKID", job.number), "ok", self.counted(job, CHANGE))
        return self.look()

    def look(self):
        number = self.guess()
        was_known = number in self.world.jobs

        def ended(reply):
            body = None if reply == NOTHING else reply[reply.index("body") + 1]
            return self.seen(number, body, was_known)
        return self.command(resp("LOOKUPID", number), ended)

    def certain(self, words, answer, needs):
        def ended(reply):
            expect(reply[0] if isinstance(reply, list) else reply, answer)
            return needs
        return self.command(resp(*words), ended)

    def work(self, job):
        name, chance = (job.number, job.lease), self.random.random()
        if chance < 0.5:
            return self.certain(("ACK", *name), "ok", [(DELETE, job.number, 0)])
        if chance < 0.7:
            return self.certain(("NACK", *name, "IN", "0s"), "ok", self.counted(job, CHANGE))
        if chance < 0.85:
            return self.certain(("EXTEND", *name), "ok", self.counted(job, LEASE))
        needs = self.counted(job, CHANGE)

        def ended(reply):
            expect(reply, "ok")
            self.buried.append(job)
            return needs
        return self.command(resp("BURY", *name), ended)

    def key_step(self):
        """Keys of this client alone, in a tube that nobody reserves from."""
        key, chance = f"k{self.number}-{self.random.randrange(2)}", self.random.random()
        if chance < 0.5:
            body = self.world.body()
            return self.command(resp("PUT", "keys", body, "KEY", key, "IN", "1h"),
                                lambda reply: self.put_done(reply[0], body, key))
        if chance < 0.75:
            def cancelled(reply):
                job = self.world.keys.get(key)
                if reply[0] == "removed":
                    del self.world.keys[key]
                return [] if job is None else [(DELETE, job.number, 0)]
            return self.command(resp("CANCEL", "keys", key), cancelled)

        def rescheduled(reply):
            return self.counted(self.world.keys[key], CHANGE) if reply == "rescheduled" else []
        return self.command(resp("RESCHEDULE", "keys", key, "IN", "2h"), rescheduled)


async def use(server, world, commands):
    clients = []
    for i in range(6):
        kind, protocol = ((BeanstalkdClient, Beanstalkd), (RespClient, Resp))[i % 2]
        clients.append(kind(i, world, await protocol.open(server.port)))

    async def work(client):
        while len(world.needs) < commands and not client.has_died:
            await client.link.ask(client.steps())
    await asyncio.gather(*(work(client) for client in clients))
    for client in clients:
        client.link.close()


def examine(world, calls):
    """Returns the faults, and how many replies needed a record."""
    journal, sent = strace_log.Journal(calls), strace_log.Sent(calls)
    faults, needing = [], 0
    for port, first, data, needs in world.needs:
        when = sent.when(port, first)
        needing += bool(needs)
        for kind, key, which in needs:
            durable = journal.durable.get((kind, key), [])
            at = durable[which] if which < len(durable) else None
            if at is None or at > when:
                faults.append(f"the reply to {data} was sent at line {when}; {NAMES[kind]} {key} "
                              f"number {which + 1} was durable at {at}")
    return faults, needing, journal.sync_count


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--commands", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--expect-fault", action="store_true")
    parser.add_argument("options", nargs="*")
    options = parser.parse_args()
    refusal = strace_log.refusal()
    if refusal is not None:
        print(f"skipped: {refusal}")
        sys.exit(SKIPPED)
    world = World(options.seed)
    with tempfile.TemporaryDirectory(prefix="elapse-order-") as directory:
        log = f"{directory}/strace"
        server = Server(directory, *options.options, before=strace_log.prefix(log))
        try:
            server.wait_until_ready()
            began = time.monotonic()
            asyncio.run(use(server, world, options.commands))
            if server.process.poll() is not None:
                raise AssertionError(f"the server has died:\n{server.text()}")
            seconds = time.monotonic() - began
            server.stop()
        finally:
            server.kill()
        faults, needing, syncs = examine(world, strace_log.read_calls(log))
    for fault in faults[:20]:
        print(fault)
    print(f"seed {options.seed}: {len(world.needs)} replies, of which {needing} need a record; "
          f"{syncs} syncs; {seconds:.1f} s; {len(faults)} replies too early")
    if options.expect_fault:
        sys.exit(0 if faults else 1)
    sys.exit(1 if faults or needing < options.commands // 3 else 0)


if __name__ == "__main__":
    main()
