"""Tests that the checks see each kind of fault, and see none where there is none. Clients use nodes in
memory, which have one vice at a time. Also tests the proxy, with a fake server."""

import asyncio
import os
import sys
import tempfile
import time
import unittest
from unittest import mock

from fake_nodes import COUNTED_VICES, VICES, FakeCluster
from ledger import Job, Ledger
from load import ANSWER_LIMIT_S, Clients
from place import partition_of
from proxy import SOCKET, Proxy, Trap

PARTITIONS, NODES = 2, 3
LONGEST_S = 64


ENOUGH_WRONGS = 3
NAMES = ("put", "removed", "looked up", "handed out", "written", "read")  # what clients do


def is_enough(vice, unsafe, fake, ledger):
    """Whether as much was done as the test looks at."""
    if vice is not None:
        return vice not in COUNTED_VICES or fake.wrongs >= ENOUGH_WRONGS
    return ledger.counts["unsafe"] > 0 if unsafe else all(ledger.counts[name] > 0 for name in NAMES)


async def run(vice, seconds, unsafe=False):
    fake = FakeCluster(PARTITIONS, vice)
    ports = await fake.start(NODES)
    ledger = Ledger(PARTITIONS)
    clients = Clients(ledger, ports, PARTITIONS, "t", 1.0)
    await clients.start()
    await asyncio.sleep(seconds / 2)
    if unsafe:
        ledger.unsafe = (time.monotonic(), time.monotonic() + 100)
    await asyncio.sleep(seconds / 2)
    # On a machine with much other work little was done until now.
    until = time.monotonic() + ANSWER_LIMIT_S
    while not is_enough(vice, unsafe, fake, ledger) and time.monotonic() < until:
        await asyncio.sleep(0.1)
    # With a vice, some of the work is never done. Without one, the last put may be due seconds later.
    await clients.stop(limit_s=3 if vice else ANSWER_LIMIT_S)
    await clients.check(ports[0])
    await fake.stop()
    return ledger


async def run_until_found(vice):
    """On a busy machine few commands are sent in two seconds, so the clients may not have met the vice by then."""
    seconds = 2.0
    while VICES[vice] not in (ledger := await run(vice, seconds)).faulty() and seconds < LONGEST_S:
        seconds *= 2
    return ledger


class Checks(unittest.TestCase):
    def test_nothing_is_found_where_nothing_is_wrong(self):
        ledger = asyncio.run(run(None, 1.0))
        self.assertEqual(ledger.faulty(), {}, ledger.faults)
        for name in NAMES:
            self.assertGreater(ledger.counts[name], 0, name)
        self.assertEqual(ledger.counts["unresolved"], 0)
        self.assertEqual(len(ledger.answers), PARTITIONS)

    def test_each_vice_is_found(self):
        async def all_of_them():
            return await asyncio.gather(*map(run_until_found, VICES))
        for vice, ledger in zip(VICES, asyncio.run(all_of_them()), strict=True):
            with self.subTest(vice):
                self.assertIn(VICES[vice], ledger.faulty(), ledger.faults)

    def test_answers_in_an_unsafe_time_are_found(self):
        ledger = asyncio.run(run(None, 0.5, unsafe=True))
        self.assertEqual(list(ledger.faulty()), ["unsafe"])

    def test_a_job_may_be_early_by_the_bound_alone(self):
        ledger, now = Ledger(2), time.monotonic()
        for name, ahead_s in (("in time", 0.0), ("early", 0.01)):
            job = ledger.work[name] = Job("work", name, None, 0, 60.0)
            job.sent = now - job.delay_s + ahead_s
            with mock.patch("ledger.time.monotonic", return_value=now):
                ledger.handed_out(len(ledger.work), name, job.sent)
        self.assertEqual((ledger.faulty(), len(ledger.faults)), ({"early": 1}, 1), ledger.faults)
        self.assertGreater(ledger.earliest_s, 0.0)

    def test_the_longest_gap(self):
        ledger = Ledger(2)
        ledger.answers = {0: [1.0, 2.0, 2.5, 9.0], 1: [1.0, 1.5, 3.0, 3.5]}
        self.assertEqual(ledger.gap_s(1.0, 3.5), (1.5, 1))
        self.assertEqual(ledger.gap_s(1.0, 9.0), (6.5, 0))

    def test_service_is_back_when_a_later_write_is_answered(self):
        ledger = Ledger(2)
        moment = time.monotonic()
        ledger.acknowledge(0, moment - 1, moment + 1, True)
        self.assertFalse(ledger.answered_since(0, moment))
        ledger.acknowledge(0, moment + 1, moment + 2, True)
        ledger.acknowledge(0, moment - 1, moment + 3, True)
        self.assertTrue(ledger.answered_since(0, moment))
        self.assertFalse(ledger.answered_since(1, moment))

    def test_the_place_of_a_key(self):
        self.assertEqual(partition_of("orders", "4711", 1024), 552)


def message(kind, body=b""):
    return kind + (len(body) + 4).to_bytes(4, "big") + body


BEGIN = (8 + 4).to_bytes(4, "big") + (196608).to_bytes(4, "big") + b"user"
APPEND = [message(b"P", b"insert into x"), message(b"B", b"v" * 100), message(b"E"), message(b"S")]


class Proxied(unittest.IsolatedAsyncioTestCase):
    async def asyncSetUp(self):
        directory = tempfile.TemporaryDirectory(prefix="elapse-proxy-")
        self.addCleanup(directory.cleanup)
        self.target = os.path.join(directory.name, "server")
        os.mkdir(self.target)
        self.got = b""
        self.server = await asyncio.start_unix_server(self.serve, os.path.join(self.target, SOCKET))
        self.proxy = Proxy(os.path.join(directory.name, "proxy"), self.target)
        await self.proxy.start()
        path = os.path.join(self.proxy.directory, SOCKET)
        self.reader, self.writer = await asyncio.open_unix_connection(path)
        self.writer.write(BEGIN)

    async def asyncTearDown(self):
        self.writer.close()
        await self.proxy.stop()
        self.server.close()

    async def serve(self, reader, writer):
        """Answers each Sync by a Z."""
        while data := await reader.read(1 << 16):
            self.got += data
            if data.endswith(APPEND[-1]):
                writer.write(b"Z")
        writer.close()

    async def wait_for(self, condition):
        async with asyncio.timeout(60):
            while not condition():
                await asyncio.sleep(0.001)

    async def test_it_passes_everything_on(self):
        self.writer.write(b"".join(APPEND))
        self.assertEqual(await self.reader.readexactly(1), b"Z")
        self.assertEqual(self.got, BEGIN + b"".join(APPEND))

    async def test_a_sync_is_withheld(self):
        trap = self.proxy.set_trap(Trap("hold", b"insert into x", 0.2))
        sent = time.monotonic()
        self.writer.write(b"".join(APPEND))
        await self.wait_for(lambda: len(self.got) >= len(BEGIN + b"".join(APPEND[:-1])))
        # On a machine with much other work 0.2 s may have passed already.
        self.assertFalse(trap.ended.is_set() and time.monotonic() - sent < 0.2)
        self.assertEqual(await self.reader.readexactly(1), b"Z")
        self.assertGreaterEqual(time.monotonic() - sent, 0.2)
        self.assertTrue(trap.ended.is_set())
        self.assertEqual(self.got, BEGIN + b"".join(APPEND))
        # The next one is not held.
        self.writer.write(b"".join(APPEND))
        self.assertEqual(await self.reader.readexactly(1), b"Z")

    async def test_it_cuts_in_the_middle(self):
        self.proxy.set_trap(Trap("cut", b"insert into x"))
        self.writer.write(b"".join(APPEND))
        self.assertEqual(await self.reader.read(), b"")
        wanted = BEGIN + APPEND[0] + APPEND[1][:len(APPEND[1]) // 2]
        await self.wait_for(lambda: len(self.got) >= len(wanted))
        self.assertEqual(self.got, wanted)

    async def test_it_withholds_the_answer(self):
        trap = self.proxy.set_trap(Trap("cut_late", b"insert into x", 0.1))
        self.writer.write(b"".join(APPEND))
        self.assertEqual(await self.reader.read(), b"")
        await self.wait_for(lambda: len(self.got) >= len(BEGIN + b"".join(APPEND)))
        self.assertEqual(self.got, BEGIN + b"".join(APPEND))
        self.assertTrue(trap.ended.is_set())

    async def test_other_statements_do_not_spring_it(self):
        self.proxy.set_trap(Trap("cut", b"insert into y"))
        self.writer.write(b"".join(APPEND))
        self.assertEqual(await self.reader.readexactly(1), b"Z")


if __name__ == "__main__":
    sys.dont_write_bytecode = True
    unittest.main()
