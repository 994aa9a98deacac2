"""What a user may do wrong: each gets an error that says so, at once, and nothing hangs, is lost or half done."""

import asyncio
import concurrent.futures
import datetime
import functools
import os
import signal
import subprocess
import sys
import tempfile
import threading
import time
import unittest

import support

support.need(("redis", "python3-redis"))

import elapse  # noqa: E402
from elapse import _base, testing  # noqa: E402
from elapse.tasks import App  # noqa: E402

ONE = elapse.put("t", "b")

#: Calls that are wrong: the method, its arguments, the kind of the error, and what it says.
WRONG_CALLS = [
    ("cancel_many", ("t", "4711"), {}, TypeError, "^the keys are a list, or another iterable, and not '4711'$"),
    ("cancel_many", ("t", b"4711"), {}, TypeError, "^the keys are a list"),
    ("cancel_many", ("t", 4711), {}, TypeError, "^the keys are a list, or another iterable, and not 4711$"),
    ("put_many", ("4711",), {}, TypeError, "^the commands are a list"),
    ("put_many", (ONE,), {}, TypeError, "^the commands are a list"),
    ("put_many", (["4711"],), {}, TypeError, "^a command is made by elapse.put, .* and is not '4711'$"),
    ("transaction", ([ONE],), {}, TypeError, "^a command is made by elapse.put"),
    ("gather", ("t", "b", "4711"), {"timeout": "1h"}, TypeError, "^the commands are a list"),
    ("gather", ("t", "b", []), {"timeout": "1h"}, ValueError, "^a gather needs a piece$"),
    ("reserve", (), {}, TypeError, "^reserve needs a tube$"),
    ("reserve", ("t",), {"count": "2"}, TypeError, "^a count is a whole number, and not '2'$"),
    ("reserve", ("t",), {"wait": 5}, TypeError, "^a duration is a timedelta"),
    ("reserve", ("t",), {"wait": datetime.timedelta(seconds=-1)}, ValueError, "^a duration is not below 0"),
    ("put", ("t", "b"), {"priority": 1.5}, TypeError, "^a priority is a whole number, and not 1.5$"),
    ("put", ("t", "b"), {"attempts": "3"}, TypeError, "^a number of attempts is a whole number"),
    ("put", ("t", "b"), {"attempts": True}, TypeError, "^a number of attempts is a whole number"),
    ("put", ("t", "b"), {"backoff": "10s"}, TypeError, "^a backoff is the shortest and the longest wait"),
    ("put", ("t", "b"), {"delay": "10s"}, TypeError, "^put has no option 'delay'$"),
    ("put", ("t", object()), {}, TypeError, "not JSON serializable"),
    ("cancel_id", ("4711",), {}, TypeError, "^a job's number is a whole number, and not '4711'$"),
    ("lookup_id", ("4711",), {}, TypeError, "^a job's number is a whole number"),
    ("kick", ("t", "2"), {}, TypeError, "^a count is a whole number"),
    ("arrive", ("t", "k", 1.5), {}, TypeError, "^a count is a whole number"),
]

#: What the server refuses: the method, its arguments, and what the error says.
REFUSED_CALLS = [
    ("put", ("t", b"x" * 70_000), {}, "body"),
    ("put", ("", "b"), {}, "tube"),
    ("put", ("t" * 201, "b"), {}, "tube"),
    ("put", ("t", "b"), {"key": ""}, "key"),
    ("put", ("t", "b"), {"in_": "-5s"}, "^a duration cannot be negative: '-5s'$"),
    ("put", ("t", "b"), {"in_": "5"}, "^a unit is missing"),
    ("put", ("t", "b"), {"priority": -1}, "out of range: '-1'$"),
    ("put", ("t", "b"), {"ttr": "0s"}, "^ttr is from 1 ms"),
    ("put", ("t", "b"), {"headers": {"a": "x" * 5000}}, "^headers have at most 4096 bytes$"),
    ("reserve", ("t",), {"count": 0}, "COUNT"),
    ("limit", ("t",), {"concurency": 3}, "CONCURENCY"),
]


class Misuse(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = testing.Server()
        cls.addClassCleanup(cls.server.close)
        cls.client = cls.server.client()

    def check_calls(self, call):
        """`call` runs a method by its name."""
        for name, arguments, options, kind, said in WRONG_CALLS:
            with self.subTest(call=name, said=said), self.assertRaisesRegex(kind, said):
                call(name, *arguments, **options)
        for name, arguments, options, said in REFUSED_CALLS:
            with self.subTest(call=name, said=said), self.assertRaisesRegex(elapse.CommandError, said):
                call(name, *arguments, **options)
        self.assertEqual(self.client.stats("t"), {}, "something was stored")

    def test_calls(self):
        self.check_calls(lambda name, *arguments, **options: getattr(self.client, name)(*arguments, **options))

    def test_calls_of_asyncio(self):
        async def run(name, arguments, options):
            async with self.server.async_client() as client:
                return await getattr(client, name)(*arguments, **options)

        self.check_calls(lambda name, *arguments, **options: asyncio.run(run(name, arguments, options)))

    def test_nothing_of_many_is_nothing(self):
        self.assertEqual(
            (self.client.put_many([]), self.client.cancel_many("t", []), self.client.transaction()), ([], [], [])
        )

        async def run():
            async with self.server.async_client() as client:
                return await client.put_many([]), await client.cancel_many("t", []), await client.transaction()

        self.assertEqual(asyncio.run(run()), ([], [], []))

    def test_keys_of_any_iterable(self):
        self.client.put_many(elapse.put("keys", "b", key=key, in_="1h") for key in ("a", "b", b"\xff\x00"))
        self.assertEqual(self.client.cancel_many("keys", (key for key in ("a", "no"))), ["removed", "gone"])
        self.assertEqual(self.client.cancel_many("keys", {"b": 1}), ["removed"])
        (info,) = self.client.list("keys")
        self.assertEqual(self.client.cancel("keys", self.client.lookup_id(info.id).key), "removed")

    def test_a_body_as_large_as_may_be(self):
        self.client.put("large", b"x" * 65_535)
        self.assertEqual(len(self.client.reserve("large")[0].body), 65_535)

    def test_a_body_that_is_very_large_is_refused_and_the_client_goes_on(self):
        client = elapse.Client(self.server.url, deadline="2m")
        self.addCleanup(client.close)
        with self.assertRaises(elapse.ElapseError) as caught:
            client.put("t", b"x" * (64 << 20))
        self.assertIsInstance(caught.exception, elapse.CommandError)
        self.assertEqual(client.cancel("t", "k"), "gone")

    def test_addresses(self):
        for address, said in (
            ("", "no address"),
            ("::1", "no address"),
            ("h:x", "no address"),
            ("http://h:1", "no address"),
            (["h:1"], "text"),
        ):
            with self.subTest(address=address), self.assertRaisesRegex((TypeError, ValueError), said):
                elapse.Client(address)
        for address, url in (
            ("h", "redis://h:11300"),
            ("h:", "redis://h:11300"),
            ("h:7", "redis://h:7"),
            ("[::1]", "redis://[::1]:11300"),
            ("rediss://u:p@h", "rediss://u:p@h:11300"),
            ("unix:/run/e", "unix:///run/e"),
            ("unix:///run/e", "unix:///run/e"),
        ):
            self.assertEqual(_base.Options((address,), "1s", "1s", None, None, {}).addresses, [url])

    def test_options_of_a_client(self):
        for options in (
            {"deadline": 30},
            {"deadline": "0s"},
            {"deadline": "10m"},
            {"timeout": "0s"},
            {"timeout": "-1s"},
            {"decode_responses": True},
            {"protocol": 3},
        ):
            with self.subTest(options=options), self.assertRaises((TypeError, ValueError)):
                elapse.Client(self.server.url, **options)

    def test_a_wait_may_be_longer_than_the_timeout(self):
        """A server that waits is not taken for one that is silent. All wait at the same time."""
        client = elapse.Client(self.server.url, timeout="1s")
        self.addCleanup(client.close)

        async def run():
            async with self.server.async_client(timeout="1s") as client:
                return await client.reserve("waited", wait="1200ms")

        timer = threading.Timer(1.2, lambda: self.client.put("waited for", "x"))
        timer.start()
        with concurrent.futures.ThreadPoolExecutor() as pool:
            nothing = pool.submit(client.reserve, "waited", wait="1200ms")
            by_asyncio = pool.submit(lambda: asyncio.run(run()))
            self.assertEqual(client.reserve("waited for", wait="10m")[0].text, "x")
            self.assertEqual((nothing.result(), by_asyncio.result()), ([], []))
        timer.join()

    def test_a_client_that_was_closed_opens_again(self):
        client = elapse.Client(self.server.url)
        client.put("closed", "x")
        client.close()
        client.close()
        client.put("closed", "x")
        client.close()
        self.assertEqual(self.client.stats("closed")["ready"], 2)


class Handlers(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = testing.Server()
        cls.addClassCleanup(cls.server.close)
        cls.client = cls.server.client()

    def test_what_no_worker_can_run_is_refused(self):
        async def coroutine(job):
            pass

        def generator(job):
            yield job

        worker = elapse.Worker(self.server.client())
        tasks = elapse.AsyncWorker(self.server.url)
        for function in (coroutine, generator, functools.partial(coroutine), None, "print"):
            for register in (worker.handler("t"), worker.before, worker.after, worker.on_failure):
                with self.subTest(function=function), self.assertRaises(TypeError):
                    register(function)
        for register in (tasks.handler("t"), tasks.before, tasks.after, tasks.on_failure):
            with self.assertRaises(TypeError):
                register(print)
        with self.assertRaises(TypeError):
            App(self.server.url).task(coroutine)
        for wrong in (worker.handler, tasks.handler):
            with self.assertRaisesRegex(TypeError, "^a tube is a text or bytes"):
                wrong(print)  # @worker.handler without a tube
            with self.assertRaises(ValueError):
                wrong("t", limit="0s")
        for kind in (elapse.Worker, elapse.AsyncWorker):
            for concurrency in (0, -1, "8", 1.5, True):
                with self.subTest(concurrency=concurrency), self.assertRaises((TypeError, ValueError)):
                    kind(self.server.url, concurrency=concurrency)
            with self.assertRaises(ValueError):
                kind(self.server.url, grace="-1s")

    def test_a_job_is_not_done_by_a_coroutine_that_nobody_runs(self):
        async def coroutine():
            pass

        worker = elapse.Worker(self.server.client())
        made = []
        worker.handler("lazy")(lambda job: made.append(coroutine()) or made[-1])
        self.client.put("lazy", "x", key="k", attempts=1)
        worker.run(until_idle=True)
        made[0].close()
        self.assertRegex(self.client.lookup("lazy", "k").error, "^TypeError: the handler returned a coroutine")

    def test_a_tube_may_be_bytes(self):
        seen = []
        worker = elapse.Worker(self.server.client())
        worker.handler(b"by\xfftes")(lambda job: seen.append(job.tube))
        self.client.put(b"by\xfftes", "x")
        worker.run(until_idle=True)
        self.assertEqual(seen, ["by\udcfftes"])

    def test_done_is_called_once(self):
        faults = []
        worker = elapse.Worker(self.server.client())
        tasks = elapse.AsyncWorker(self.server.url)

        @worker.handler("once")
        def handle(job):
            job.done(elapse.put("next", "x"))
            try:
                job.done(elapse.put("next", "x"))
            except RuntimeError as error:
                faults.append(str(error))

        @tasks.handler("once")
        async def handle_task(job):
            await job.done(elapse.put("next", "x"))
            try:
                await job.done(elapse.put("next", "x"))
            except RuntimeError as error:
                faults.append(str(error))

        self.client.put("once", "x")
        worker.run(until_idle=True)
        self.client.put("once", "x")
        asyncio.run(tasks.run(until_idle=True))
        self.assertEqual(faults, ["done was called before"] * 2)
        self.assertEqual(self.client.stats("next")["ready"], 2)

    def test_a_wrong_delay_is_found_where_it_is_made(self):
        for delay in ("5 m", "5", "-5m", "soon", 5, datetime.timedelta(seconds=-1)):
            with self.subTest(delay=delay), self.assertRaises((TypeError, ValueError)):
                raise elapse.RetryIn(delay)

    def test_a_stop_before_a_run_is_not_forgotten(self):
        async def nothing(job):
            pass

        worker, tasks = elapse.Worker(self.server.client()), elapse.AsyncWorker(self.server.url)
        worker.handler("stopped")(print)
        tasks.handler("stopped")(nothing)
        worker.stop()
        tasks.stop()
        self.assertTrue(worker.run())
        self.assertTrue(asyncio.run(tasks.run()))
        self.client.put("stopped", "x")
        worker.run(until_idle=True)  # it counts once
        self.assertEqual(self.client.stats("stopped"), {})

    def test_two_workers_share_a_tube(self):
        seen = []
        workers = [elapse.Worker(self.server.client(), concurrency=2) for _ in range(2)]
        self.client.put_many(elapse.put("shared", i) for i in range(200))
        for worker in workers:
            worker.handler("shared")(lambda job: seen.append(job.json()))
        threads = [threading.Thread(target=worker.run, kwargs={"until_idle": True}) for worker in workers]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(sorted(seen), list(range(200)))

    def test_a_worker_that_is_refused_says_so(self):
        async def nothing(job):
            pass

        worker = elapse.Worker(self.server.url)
        tasks = elapse.AsyncWorker(self.server.url)
        for tube in ("count", "wait"):  # names of options: one of them alone can be reserved
            worker.handler(tube)(print)
            tasks.handler(tube)(nothing)
        with self.assertRaises(ValueError):
            worker.run()
        with self.assertRaises(ValueError):
            asyncio.run(tasks.run())
        with testing.Server("--users", self.users()) as server:
            for kind, wrong in (
                (elapse.AuthenticationNeededError, server.url),
                (elapse.NotPermittedError, server.url.replace("//", "//ann:right@")),
            ):
                worker = elapse.Worker(wrong)
                worker.handler("t")(print)
                with self.assertRaises(kind):
                    worker.run()
                tasks = elapse.AsyncWorker(wrong)
                tasks.handler("t")(nothing)
                with self.assertRaises(kind):
                    asyncio.run(tasks.run())

    def users(self):
        return support.users(self, "put *")


SLOW = """
import asyncio
import time
import elapse
worker = elapse.Worker(concurrency=2, grace="9m")
tasks = elapse.AsyncWorker(concurrency=2, grace="9m")
@worker.handler("slow")
def handle(job):
    print("begun", flush=True)
    job.wait("9m")
    time.sleep(600)
@tasks.handler("slow")
async def handle_task(job):
    print("begun", flush=True)
    await asyncio.sleep(600)
"""


class Interrupted(unittest.TestCase):
    def has_signal_pending(self, process):
        """Whether the process has not begun to handle the signal SIGINT that it was sent."""
        with open(f"/proc/{process.pid}/status", encoding="ascii") as file:
            pending = dict(line.split(":", 1) for line in file)["ShdPnd"]
        return int(pending, 16) >> (signal.SIGINT - 1) & 1

    def test_a_second_signal_ends_the_grace(self):
        with testing.Server() as server, tempfile.TemporaryDirectory() as directory:
            with open(directory + "/slow.py", "w", encoding="utf-8") as file:
                file.write(SLOW)
            client = server.client()
            for name in ("worker", "tasks"):
                client.put("slow", "x", key=name, backoff=("0s", "0s"))
                process = subprocess.Popen(
                    [sys.executable, "-B", "-m", "elapse.worker", f"slow:{name}", "--url", server.url],
                    cwd=directory,
                    stdout=subprocess.PIPE,
                    stderr=subprocess.DEVNULL,
                    env={**os.environ, "PYTHONPATH": str(support.PACKAGE / "src")},
                )
                self.assertEqual(process.stdout.readline(), b"begun\n")
                process.send_signal(signal.SIGINT)
                with self.assertRaises(subprocess.TimeoutExpired):
                    process.wait(1.5)  # the grace goes on
                while self.has_signal_pending(process):  # two signals that are pending are one
                    time.sleep(0.01)
                process.send_signal(signal.SIGINT)
                self.assertEqual(process.wait(), 1)
                process.stdout.close()
                self.assertEqual(client.lookup("slow", name).state, "ready")
                client.cancel("slow", name)


if __name__ == "__main__":
    support.main()
