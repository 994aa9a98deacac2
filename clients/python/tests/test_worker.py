"""The workers: what a handler may do, and what must not go wrong around it."""

import asyncio
import datetime
import logging
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

import redis  # noqa: E402

import elapse  # noqa: E402
from elapse import _hand, testing  # noqa: E402

NONE = {"attempts": 3, "backoff": ("0s", "0s")}


class Untold(Exception):
    """An exception whose text cannot be made."""

    def __str__(self):
        raise LookupError("there is no text")


class BadBury(elapse.Bury):
    """A Bury that does not call the one it is made of."""

    def __init__(self):  # pylint: disable=super-init-not-called
        pass


#: What handlers may raise so that nobody can read it, by the body of the job, with the state and the error of the job.
ODD = {
    "bury": (lambda: elapse.Bury(ValueError("no route")), "buried", "no route"),
    "retry": (lambda: elapse.RetryIn("1h", ValueError("no route"), failure=True), "delayed", "no route"),
    "untold": (Untold, "buried", "Untold, whose text cannot be made (LookupError)"),
    "bad": (BadBury, "buried", None),
}


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = testing.Server()
        cls.addClassCleanup(cls.server.close)
        cls.client = cls.server.client()

    def worker(self, **options):
        return elapse.Worker(self.server.client(), **options)

    def states(self, tube):
        stats = self.client.stats(tube)  # nothing: a tube without jobs is no more
        return [stats.get(name, 0) for name in ("delayed", "ready", "reserved", "buried")]


class Threads(Case):
    def test_jobs_are_done(self):
        worker, seen = self.worker(concurrency=3), []

        @worker.handler("done")
        def handle(job):
            seen.append((job.json(), job.attempt))

        self.client.put_many(elapse.put("done", i) for i in range(250))
        self.assertTrue(worker.run(until_idle=True))
        self.assertEqual(sorted(seen), [(i, 1) for i in range(250)])
        self.assertEqual(self.states("done"), [0, 0, 0, 0])

    def test_half_an_hour_takes_no_time(self):
        worker, seen = self.worker(), []
        worker.handler("later")(lambda job: seen.append(job.text))
        self.client.put("later", "a", in_="30m")
        worker.run(until_idle=True)
        self.assertEqual(seen, [])
        self.server.advance("30m")
        worker.run(until_idle=True)
        self.assertEqual(seen, ["a"])

    def test_what_a_handler_may_say(self):
        worker, seen, failures = self.worker(), [], []

        @worker.handler("say")
        def handle(job):
            seen.append((job.text, job.attempt, job.error))
            if job.text == "raise":
                raise ValueError("it cannot be done")
            if job.text == "retry":
                raise elapse.RetryIn("1h")
            if job.text == "failure":
                raise elapse.RetryIn("1h", "busy", failure=True)
            if job.text == "bury":
                raise elapse.Bury("hopeless")
            if job.text == "exit":
                sys.exit(3)

        worker.on_failure(lambda job, error: failures.append((job.text, type(error).__name__)))
        for text in ("raise", "retry", "failure", "bury", "exit", "good"):
            self.client.put("say", text, key=text, **NONE)
        self.assertTrue(worker.run(until_idle=True))
        self.assertEqual(
            [one for one in seen if one[0] == "raise"],
            [
                ("raise", 1, None),
                ("raise", 2, "ValueError: it cannot be done"),
                ("raise", 3, "ValueError: it cannot be done"),
            ],
        )
        look = lambda key: self.client.lookup("say", key)  # noqa: E731
        self.assertEqual(
            (look("raise").state, look("raise").reason, look("raise").error),
            ("buried", "no retry was left", "ValueError: it cannot be done"),
        )
        self.assertEqual((look("retry").state, look("retry").attempts), ("delayed", 0))
        self.assertEqual(
            (look("failure").state, look("failure").attempts, look("failure").error), ("delayed", 1, "busy")
        )
        self.assertEqual((look("bury").state, look("bury").error), ("buried", "hopeless"))
        self.assertEqual(look("exit").error, "SystemExit: 3")
        self.assertIsNone(look("good"))
        self.assertEqual(
            sorted(failures), [("bury", "Bury"), *[("exit", "SystemExit")] * 3, *[("raise", "ValueError")] * 3]
        )

    def check_odd(self, tube):
        """Each job of the tube is as ODD says, and the one behind them was done."""
        for key, (_, state, error) in ODD.items():
            job = self.client.lookup(tube, key)
            self.assertEqual((job.state, job.error), (state, error), key)
        self.assertIsNone(self.client.lookup(tube, "good"))

    def put_odd(self, tube):
        for key in (*ODD, "good"):
            self.client.put(tube, key, key=key, attempts=2 if key == "retry" else 1)

    def test_whatever_a_handler_raises_the_worker_goes_on(self):
        self.put_odd("odd")
        worker = self.worker(concurrency=1)

        @worker.handler("odd")
        def handle(job):
            if job.text != "good":
                raise ODD[job.text][0]()
            worker.stop()

        worker.on_failure(lambda job, error: sys.exit(3))
        worker.run()
        self.check_odd("odd")

    def test_whatever_a_coroutine_raises_the_worker_says_so(self):
        self.put_odd("odd-task")
        worker = elapse.AsyncWorker(concurrency=1)

        @worker.handler("odd-task")
        async def handle(job):
            if job.text != "good":
                raise ODD[job.text][0]()
            worker.stop()

        async def run():
            async with self.server.async_client() as client:
                await worker.run(client=client)

        asyncio.run(run())
        self.check_odd("odd-task")

    def test_headers_that_cannot_be_read_end_no_worker(self):
        self.client.run(elapse.Command((b"PUT", b"deep", b"x", b"HEADERS", b"[" * 2000), list, again=False))
        worker, seen = self.worker(), []
        worker.handler("deep")(lambda job: seen.append((job.text, job.headers)))
        worker.run(until_idle=True)
        self.assertEqual(seen, [("x", {})])

    def test_hooks(self):
        worker, seen = self.worker(), []
        worker.handler("hooks")(lambda job: seen.append("handler"))
        worker.before(lambda job: seen.append("before"))
        worker.after(lambda job: seen.append("after"))
        self.client.put("hooks", "x")
        worker.run(until_idle=True)
        self.assertEqual(seen, ["before", "handler", "after"])

    def test_a_lease_is_extended_and_a_cancel_reaches_the_handler(self):
        worker, reasons, began = self.worker(), [], threading.Event()

        @worker.handler("long")
        def handle(job):
            began.set()
            if job.wait("60s"):
                reasons.append(job.stop_reason)
                job.check()

        self.client.put("long", "x", key="x", ttr="6s")
        thread = threading.Thread(target=worker.run)
        thread.start()
        self.addCleanup(thread.join)
        self.addCleanup(worker.stop)
        self.assertTrue(began.wait(60))
        job = before = self.client.lookup("long", "x")
        while job.left <= before.left:  # until the lease begins anew
            before, job = job, self.client.lookup("long", "x")
            self.assertEqual((job.state, job.attempts), ("reserved", 0))
            self.assertTrue(job.holder)
            self.client.reserve("nothing", wait="20ms")  # a pause
        self.assertEqual(self.client.cancel("long", "x"), "running")
        while self.client.stats("long").get("cancelled_running", 0) > 0:
            self.client.reserve("nothing", wait="20ms")
        self.assertEqual(reasons, ["cancelled"])

    def test_a_lost_lease_reaches_the_handler(self):
        worker, reasons = self.worker(), []

        @worker.handler("lost")
        def handle(job):
            if job.attempt == 1:
                self.server.advance("10s")
                job.wait("60s")
                reasons.append(job.stop_reason)

        self.client.put("lost", "x", ttr="3s", **NONE)
        worker.run(until_idle=True)
        while self.states("lost") != [0, 0, 0, 0]:
            worker.run(until_idle=True)
        self.assertEqual(reasons, ["lost"])
        self.assertEqual(self.states("lost"), [0, 0, 0, 0])

    def test_a_handler_that_takes_too_long(self):
        worker, reasons = self.worker(), []

        @worker.handler("slow", limit="50ms")
        def handle(job):
            if job.attempt == 1:
                job.wait("60s")
                reasons.append(job.stop_reason)
                job.check()

        self.client.put("slow", "x", key="x", **NONE)
        worker.run(until_idle=True)
        self.assertEqual(reasons, ["limit"])
        self.assertEqual(self.states("slow"), [0, 0, 0, 0])

    def test_never_more_in_hand_than_free(self):
        worker = self.worker(concurrency=4)
        lock, running, most = threading.Lock(), [0], [0]

        @worker.handler("hand")
        def handle(job):
            with lock:
                running[0] += 1
                most[0] = max(most[0], running[0], self.client.stats("hand").get("running", 0))
            with lock:
                running[0] -= 1

        self.client.put_many(elapse.put("hand", i) for i in range(100))
        worker.run(until_idle=True)
        self.assertEqual(self.states("hand"), [0, 0, 0, 0])
        # Those that are done and whose ACK is being gathered are in the count of the server.
        self.assertLessEqual(most[0], 4 + _hand.GATHER_MAX)

    def test_done_with_further_jobs(self):
        worker, answers, seen = self.worker(), [], []

        @worker.handler("first")
        def first(job):
            results = job.done(elapse.put("second", job.body, key="s"), elapse.cancel("timeouts", "t"))
            answers.append([results[0].outcome, results[1]])

        worker.handler("second")(lambda job: seen.append(job.text))  # may run before `first` has ended
        self.client.put("timeouts", "t", key="t", in_="1h")
        self.client.put("first", "x")
        worker.run(until_idle=True)
        self.assertEqual((answers, seen), ([["scheduled", ["removed"]]], ["x"]))
        self.assertEqual(self.states("first"), [0, 0, 0, 0])

    def test_done_does_nothing_without_the_lease(self):
        worker, caught = self.worker(), []

        @worker.handler("guarded")
        def handle(job):
            if job.attempt == 1:
                self.server.advance("2m")
            try:
                job.done(elapse.put("guarded-next", job.body))
            except elapse.ElapseError as error:
                caught.append(type(error))
                raise

        self.client.put("guarded", "x", **NONE)
        while self.client.stats("guarded-next").get("ready", 0) == 0:
            worker.run(until_idle=True)
        self.assertEqual(caught, [elapse.LeaseEndedError])
        self.assertEqual(self.states("guarded-next")[1], 1)

    def test_stop_gives_back_what_has_not_begun(self):
        worker, seen = self.worker(concurrency=1), []

        @worker.handler("stopped")
        def handle(job):
            worker.stop()
            seen.append(job.text)

        self.client.put_many(elapse.put("stopped", i) for i in range(20))
        self.assertTrue(worker.run())
        self.assertEqual(len(seen), 1)
        self.assertEqual(self.states("stopped"), [0, 19, 0, 0])
        self.assertEqual({job.attempts for job in self.client.list("stopped")}, {0})

    def test_a_handler_that_hangs_does_not_hold_the_end(self):
        worker, hang = self.worker(grace="100ms"), threading.Event()
        self.addCleanup(hang.set)

        @worker.handler("hangs")
        def handle(job):
            worker.stop()
            hang.wait(600)

        self.client.put("hangs", "x", key="x", **NONE)
        self.assertFalse(worker.run())
        job = self.client.lookup("hangs", "x")
        self.assertEqual((job.state, job.error), ("ready", "the worker ended before the handler did"))

    def test_what_is_wrong_is_refused(self):
        with self.assertRaises(ValueError):
            self.worker(concurrency=0)
        with self.assertRaises(ValueError):
            self.worker().run()
        worker = self.worker()
        worker.handler("a")(print)
        with self.assertRaises(ValueError):
            worker.handler("a")(print)
        with self.assertRaises(TypeError):
            elapse.AsyncWorker().handler("a")(print)


def bulk(text):
    return b"$%d\r\n%s\r\n" % (len(text), text)


def a_job(number, tube, ttr_ms):
    """A job in the reply to RESERVE."""
    return b"".join(
        [
            b"*9\r\n:%d\r\n" % number,
            bulk(b"1-1"),
            bulk(tube),
            b"$-1\r\n",
            bulk(b"x"),
            b"$-1\r\n:1\r\n:0\r\n*2\r\n",
            bulk(b"ttr"),
            b":%d\r\n" % ttr_ms,
        ]
    )


class Leases(Case):
    """A handler is told when its lease has ended, and its lease is kept until then."""

    def test_words_of_a_lease_that_nobody_could_tell_of_keep_the_others(self):
        stopped = []
        hand = _hand.Hand(lambda job, reason: stopped.append((job.id, reason)))
        jobs = [
            elapse.Job(i, b"1-1", "t", None, b"", None, 1, 0, datetime.timedelta(seconds=30), *[None] * 9)
            for i in range(3)
        ]
        for job in jobs:
            hand.begin(job, 100.0, None)
        (command,) = _hand.extend_commands(hand.jobs())
        words = command.read([b"ok", redis.ResponseError("TRYAGAIN no owner"), b"gone"])
        self.assertEqual(words, ["ok", None, "gone"])
        self.assertEqual(hand.take_extensions(110.0), jobs)
        hand.extended(jobs, [words], 110.0, 111.0)
        self.assertEqual((hand.next_s(), hand.next_end_s()), (112.0, 130.0))
        hand.stop_late(130.0)
        self.assertEqual((stopped, hand.next_end_s()), ([(2, "lost"), (1, "lost")], 140.0))
        for answer in (b"gone", redis.ResponseError("TRYAGAIN no owner")):  # of one lease it is no list
            (command,) = _hand.extend_commands(jobs[:1])
            self.assertEqual(command.read(answer), ["gone" if answer == b"gone" else None])

    def silent(self):
        """A server that hands out one job, and answers nothing to EXTEND until the test ends."""
        over, handed_out = threading.Event(), []

        def answer(words):
            if words[0] == b"RESERVE" and not handed_out:
                handed_out.append(words)
                return b"*1\r\n" + a_job(7, b"t", 300)
            if words[0] == b"RESERVE":
                over.wait(0.02)
                return b"*0\r\n"
            over.wait()
            return b"+gone\r\n"

        fake = support.Fake(answer)
        self.addCleanup(fake.close)
        self.addCleanup(over.set)
        return fake, over

    def test_a_lease_is_lost_when_the_server_is_silent(self):
        fake, over = self.silent()
        worker, seen = elapse.Worker(fake.url, concurrency=1), []

        @worker.handler("t")
        def handle(job):
            seen.append((job.wait("15s"), job.stop_reason))
            over.set()
            worker.stop()

        worker.run()
        self.assertEqual(seen, [(True, "lost")])

    def test_a_lease_is_lost_when_the_server_is_silent_to_asyncio(self):
        fake, over = self.silent()
        worker, seen = elapse.AsyncWorker(fake.url, concurrency=1), []

        @worker.handler("t")
        async def handle(job):
            try:
                await asyncio.sleep(15)
            finally:
                seen.append(job.stop_reason)
                over.set()
                worker.stop()

        asyncio.run(worker.run())
        self.assertEqual(seen, ["lost"])

    def without_owner(self):
        """A server that hands out two jobs. Nobody owns the partition of the first one, so that what is said of it is
        refused, until the test ends; the second one is cancelled when its lease is extended."""
        over, refused, handed_out = threading.Event(), threading.Event(), []

        def answer(words):
            if words[0] == b"RESERVE" and not handed_out:
                handed_out.append(words)
                return b"*2\r\n" + a_job(1, b"quick", 6000) + a_job(2, b"slow", 6000)
            if words[0] == b"RESERVE":
                over.wait(0.02)
                return b"*0\r\n"
            if words[0] == b"EXTEND":
                cancelled = b"cancelled" if refused.is_set() else b"ok"
                words = [cancelled if id_of == b"2" else b"ok" for id_of in words[1::2]]
                return b"+%s\r\n" % words[0] if len(words) == 1 else b"*2\r\n+%s\r\n+%s\r\n" % tuple(words)
            if b"1" in words[1::2] and not over.is_set():
                refused.set()
                return b"-TRYAGAIN no owner\r\n"
            return b"*%d\r\n" % (len(words) // 2) + b"+ok\r\n" * (len(words) // 2)

        fake = support.Fake(answer)
        self.addCleanup(fake.close)
        self.addCleanup(over.set)
        return fake, over

    def test_leases_are_kept_while_a_partition_has_no_owner(self):
        """Both kinds of workers at the same time."""
        reasons = []
        (fake, over), (other, other_over) = self.without_owner(), self.without_owner()
        worker, tasks = elapse.Worker(fake.url), elapse.AsyncWorker(other.url)

        @worker.handler("slow")
        def handle(job):
            reasons.append((job.wait("25s"), job.stop_reason))
            over.set()
            worker.stop()

        @tasks.handler("slow")
        async def handle_task(job):
            try:
                await asyncio.sleep(25)
            finally:
                reasons.append((True, job.stop_reason))
                other_over.set()
                tasks.stop()

        @tasks.handler("quick")
        async def quick_task(job):
            pass

        worker.handler("quick")(lambda job: None)
        thread = threading.Thread(target=worker.run)
        thread.start()
        asyncio.run(tasks.run())
        thread.join()
        self.assertEqual(reasons, [(True, "cancelled")] * 2)

    def test_a_lease_is_kept_when_done_has_failed(self):
        """A handler that goes on is still told that its job was cancelled. Both kinds of workers at the same time."""
        reasons = []
        worker, tasks = self.worker(), elapse.AsyncWorker(self.server.url)
        wrong = elapse.put("t", "x", in_="5")  # a unit is missing

        @worker.handler("kept")
        def handle(job):
            self.client.cancel("kept", "x")  # before the lease is extended at once, because done has failed
            try:
                job.done(wrong)
            except elapse.CommandError:
                reasons.append((job.wait("15s"), job.stop_reason))

        @tasks.handler("kept-task")
        async def handle_task(job):
            self.client.cancel("kept-task", "x")
            try:
                await job.done(wrong)
            except elapse.CommandError:
                try:
                    await asyncio.sleep(15)
                finally:
                    reasons.append((True, job.stop_reason))

        for tube in ("kept", "kept-task"):
            self.client.put(tube, "x", key="x")
        thread = threading.Thread(target=worker.run, kwargs={"until_idle": True})
        thread.start()
        asyncio.run(tasks.run(until_idle=True))
        thread.join()
        self.assertEqual(reasons, [(True, "cancelled")] * 2)


class Logs(Case):
    def test_a_logger_that_raises_ends_no_worker(self):
        worker, done = self.worker(concurrency=1), threading.Event()

        class Broken(logging.Handler):
            def emit(self, record):
                raise OSError("the disk is full")

        broken = Broken()
        logging.getLogger("elapse").addHandler(broken)
        self.addCleanup(logging.getLogger("elapse").removeHandler, broken)

        @worker.handler("logged")
        def handle(job):
            if job.text == "fails":
                raise ValueError("it fails")
            done.set()

        self.client.put("logged", "fails", attempts=1)
        self.client.put("logged", "is done")
        thread = threading.Thread(target=worker.run, daemon=True)
        thread.start()
        self.assertTrue(done.wait(20))
        worker.stop()
        thread.join()


class Unreached(unittest.TestCase):
    """A worker without a server says so once, and again when it has one."""

    def check(self, run):
        lines, told = [], threading.Event()

        class Lines(logging.Handler):
            def emit(self, record):
                lines.append(record.getMessage())
                told.set()

        handler = Lines()
        logging.getLogger("elapse").addHandler(handler)
        self.addCleanup(logging.getLogger("elapse").removeHandler, handler)
        with support.DiskServer() as server:
            server.kill()
            thread = threading.Thread(target=run, args=(server.url,))
            thread.start()
            told.wait()
            time.sleep(0.5)  # some tries, which are not told
            server.start()
            with elapse.Client(server.url) as client:
                client.put("t", "x")
            thread.join()
        self.assertEqual(len(lines), 2, lines)
        self.assertRegex(lines[0], "^no jobs could be taken, and it is tried again: no server was reached")
        self.assertEqual(lines[1], "a server is reached again")

    def test_by_threads(self):
        def run(url):
            worker = elapse.Worker(elapse.Client(url, deadline="100ms"))
            worker.handler("t")(lambda job: worker.stop())
            worker.run()

        self.check(run)

    def test_by_asyncio(self):
        async def work(url):
            worker = elapse.AsyncWorker()

            @worker.handler("t")
            async def handle(job):
                worker.stop()

            async with elapse.AsyncClient(url, deadline="100ms") as client:
                await worker.run(client=client)

        self.check(lambda url: asyncio.run(work(url)))


class Asyncio(Case):
    def run_worker(self, worker, **options):
        async def run():
            async with self.server.async_client() as client:
                return await worker.run(client=client, **options)

        return asyncio.run(run())

    def test_jobs_are_done(self):
        worker, seen = elapse.AsyncWorker(concurrency=10), []

        @worker.handler("a-done")
        async def handle(job):
            await asyncio.sleep(0)
            seen.append(job.json())
            await job.done(elapse.put("a-next", job.body))

        self.client.put_many(elapse.put("a-done", i) for i in range(250))
        self.assertTrue(self.run_worker(worker, until_idle=True))
        self.assertEqual(sorted(seen), list(range(250)))
        self.assertEqual(self.states("a-done"), [0, 0, 0, 0])
        self.assertEqual(self.states("a-next"), [0, 250, 0, 0])

    def test_what_a_handler_may_say(self):
        worker, seen = elapse.AsyncWorker(), []

        @worker.handler("a-say")
        async def handle(job):
            if job.text == "raise":
                raise ValueError("it cannot be done")
            if job.text == "retry":
                raise elapse.RetryIn("1h")
            if job.text == "bury":
                raise elapse.Bury("hopeless")

        @worker.on_failure
        async def failed(job, error):
            seen.append((job.text, str(error)))

        for text in ("raise", "retry", "bury", "good"):
            self.client.put("a-say", text, key=text, attempts=1)
        self.run_worker(worker, until_idle=True)
        self.assertEqual(sorted(seen), [("bury", "hopeless"), ("raise", "it cannot be done")])
        self.assertEqual(self.states("a-say"), [1, 0, 0, 2])
        self.assertEqual(self.client.lookup("a-say", "raise").error, "ValueError: it cannot be done")

    def test_a_cancel_is_a_cancelled_error(self):
        worker, seen = elapse.AsyncWorker(), []

        @worker.handler("a-long")
        async def handle(job):
            try:
                await asyncio.get_running_loop().run_in_executor(None, self.client.cancel, "a-long", "x")
                await asyncio.sleep(600)
            except asyncio.CancelledError:
                seen.append(job.stop_reason)
                raise

        self.client.put("a-long", "x", key="x", ttr="6s")
        self.run_worker(worker, until_idle=True)
        self.assertEqual(seen, ["cancelled"])
        self.assertEqual(self.client.stats("a-long").get("cancelled_running", 0), 0)

    def test_stop_within_the_grace(self):
        worker, seen = elapse.AsyncWorker(concurrency=2, grace="50ms"), []

        @worker.handler("a-stop")
        async def handle(job):
            worker.stop()
            try:
                await asyncio.sleep(600)
            except asyncio.CancelledError:
                seen.append(job.stop_reason)
                raise

        self.client.put_many(elapse.put("a-stop", i, **NONE) for i in range(5))
        self.assertFalse(self.run_worker(worker))
        self.assertIn("stopping", seen)
        self.assertEqual(self.states("a-stop")[1:], [5, 0, 0])


TASKS = """
import sys
from elapse.tasks import App
app = App("127.0.0.1:1")
@app.task
def second(text):
    sys.stdout.write(text + "\\n")
    sys.stdout.flush()
@app.task
def first(text):
    second.delay(text)
"""

PROGRAM = """
import sys
import elapse
worker = elapse.Worker(concurrency=2)
@worker.handler("program")
def handle(job):
    sys.stdout.write(job.text + "\\n")
    sys.stdout.flush()
"""


class Program(Case):
    def run_program(self, text, name, lines):
        """Runs a program until it has said so many lines, and ends it by SIGTERM; returns the lines."""
        with tempfile.TemporaryDirectory() as directory:
            with open(directory + "/mine.py", "w", encoding="utf-8") as file:
                file.write(text)
            process = subprocess.Popen(
                [sys.executable, "-B", "-m", "elapse.worker", name, "--concurrency", "3", "--url", self.server.url],
                cwd=directory,
                stdout=subprocess.PIPE,
                env={**os.environ, "PYTHONPATH": str(support.PACKAGE / "src")},
            )
            said = {process.stdout.readline().decode().strip() for _ in range(lines)}
            process.send_signal(signal.SIGTERM)
            self.assertEqual(process.wait(), 0)
            process.stdout.close()
        return said

    def test_an_app_of_tasks(self):
        self.client.put("tasks", {"task": "mine.first", "args": ["a"], "kwargs": {}})
        self.assertEqual(self.run_program(TASKS, "mine:app", 1), {"a"})
        self.assertEqual(self.states("tasks"), [0, 0, 0, 0])

    def test_sigterm(self):
        self.client.put_many(elapse.put("program", f"job {i}") for i in range(10))
        self.assertEqual(self.run_program(PROGRAM, "mine:worker", 10), {f"job {i}" for i in range(10)})
        self.assertEqual(self.states("program"), [0, 0, 0, 0])


if __name__ == "__main__":
    support.main()
