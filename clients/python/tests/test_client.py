"""The clients: each command, its results and its errors; both clients alike."""

import asyncio
import contextlib
import dataclasses
import datetime
import importlib
import importlib.util
import inspect
import socket
import threading
import unittest
from unittest import mock

import support

support.need(("redis", "python3-redis"))

import redis.asyncio  # noqa: E402

import elapse  # noqa: E402
from elapse import _commands, _texts, testing  # noqa: E402
from elapse._tries import Fault, Tries  # noqa: E402

UTC = datetime.timezone.utc


class Texts(unittest.TestCase):
    def test_durations(self):
        self.assertEqual(_texts.duration(datetime.timedelta(minutes=30, microseconds=1)), b"1800000001us")
        self.assertEqual(_texts.duration("1h30m"), b"1h30m")
        self.assertEqual(_texts.seconds("1h30m"), 5400)
        self.assertEqual(_texts.seconds("1.5s"), 1.5)
        self.assertEqual(_texts.seconds("250ms"), 0.25)
        for wrong in (30, 0.5, None):
            with self.assertRaises(TypeError):
                _texts.duration(wrong)
            with self.assertRaises(TypeError):
                _texts.seconds(wrong)
        for wrong in ("30", "", "m", "5 m", "1x"):
            with self.assertRaises(ValueError):
                _texts.seconds(wrong)
        for read in (_texts.duration, _texts.seconds):
            for wrong in ("3 s", " 3s", "3s\n"):
                with self.assertRaisesRegex(ValueError, "has no space"):
                    read(wrong)
        with self.assertRaises(ValueError):
            _texts.duration(datetime.timedelta(seconds=-1))

    def test_moments_are_rounded_up_and_have_a_zone(self):
        at = datetime.datetime(2100, 1, 1, tzinfo=UTC)
        self.assertEqual(_texts.moment(at), b"4102444800000")
        self.assertEqual(_texts.moment(at + datetime.timedelta(microseconds=1)), b"4102444800001")
        self.assertEqual(_texts.read_moment(4102444800000), at)
        with self.assertRaises(ValueError):
            _texts.moment(datetime.datetime(2100, 1, 1))

    def test_names_that_are_no_utf8_survive(self):
        self.assertEqual(_texts.name(_texts.read_name(b"\xff\x00a"), "key"), b"\xff\x00a")

    def test_options_are_checked(self):
        for wrong in ({"delay": "5s"}, {"in_": "5s", "at": datetime.datetime.now(UTC)}, {"in_": 5}):
            with self.assertRaises((TypeError, ValueError)):
                elapse.put("t", "b", **wrong)
        for wrong in ({"deadline": "10m"}, {"deadline": "0s"}, {"timeout": "0s"}):
            with self.assertRaises(ValueError):
                elapse.Client(**wrong)

    def test_each_put_of_ours_has_a_token_of_its_own(self):
        one, two = (_commands.with_token(elapse.put("t", "b", key="k"), 90) for _ in range(2))
        self.assertTrue(one.again and two.again)
        self.assertEqual(one.token[2:], (b"FOR", b"90000ms"))
        self.assertNotEqual(one.token[1], two.token[1])
        own = elapse.put("t", "b", token="mine")
        self.assertIs(_commands.with_token(own, 90), own)


class Trying(unittest.TestCase):
    def test_until_the_deadline(self):
        tries = Tries(100.0, 10.0, again=True)
        now = 100.0
        with self.assertRaises(elapse.UnreachableError):
            while True:
                now += tries.failed(Fault("refused", sent=False), now)
        self.assertTrue(108.9 < now < 110)
        with self.assertRaises(elapse.UncertainError):
            tries.failed(Fault("lost", sent=True), 111.0)

    def test_what_may_double_is_not_sent_again(self):
        tries = Tries(0.0, 10.0, again=False)
        tries.failed(Fault("refused", sent=False), 0.0)
        with self.assertRaises(elapse.UncertainError):
            tries.failed(Fault("lost", sent=True), 1.0)

    def test_both_clients_have_the_same_methods(self):
        for name, method in inspect.getmembers(elapse.Client, inspect.isfunction):
            if name.startswith("__"):
                continue
            other = getattr(elapse.AsyncClient, name)
            self.assertEqual(list(inspect.signature(method).parameters), list(inspect.signature(other).parameters))
            self.assertIsNotNone(method.__doc__ or name.startswith("_") or None, name)


#: Calls with a name that is neither a text nor bytes, each with the word that names the argument.
NUMBERS_AS_NAMES = [
    ("key", "put", ("t", "b"), {"key": 4711}),
    ("tag", "put", ("t", "b"), {"tag": 4711}),
    ("group", "put", ("t", "b"), {"group": 4711}),
    ("token", "put", ("t", "b"), {"token": 4711}),
    ("cron", "put", ("t", "b"), {"cron": 4711}),
    ("zone", "put", ("t", "b"), {"cron": "* * * * *", "zone": 4711}),
    ("tube", "put", (4711, "b"), {}),
    ("key", "gather", ("t", "b", [elapse.put("t", "b")]), {"timeout": "1h", "key": 4711}),
    ("key", "cancel", ("t", 4711), {}),
    ("tube", "cancel", (4711, "k"), {}),
    ("key", "cancel_many", ("t", ["k", 4711]), {}),
    ("tube", "cancel_all", (4711,), {}),
    ("tag", "cancel_all", ("t",), {"tag": 4711}),
    ("key", "reschedule", ("t", 4711), {"in_": "1h"}),
    ("tube", "reschedule", (4711, "k"), {"in_": "1h"}),
    ("key", "arrive", ("t", 4711), {}),
    ("tube", "arrive", (4711, "k"), {}),
    ("token", "arrive", ("t", "k"), {"token": 4711}),
    ("tube", "kick", (4711,), {}),
    ("tube", "pause", (4711, "1h"), {}),
    ("tube", "limit", (4711,), {}),
    ("tube", "limits", (4711,), {}),
    ("key", "lookup", ("t", 4711), {}),
    ("tube", "lookup", (4711, "k"), {}),
    ("tube", "list", (4711,), {}),
    ("tag", "list", ("t",), {"tag": 4711}),
    ("tube", "stats", (4711,), {}),
    ("tube", "groups", (4711,), {}),
    ("tube", "reserve", (4711,), {}),
]


class Names(unittest.TestCase):
    def test_a_number_is_no_name_and_nothing_is_sent(self):
        client = elapse.Client("127.0.0.1:1", deadline="100ms")  # what is sent there is an UnreachableError
        self.addCleanup(client.close)
        for what, call, arguments, options in NUMBERS_AS_NAMES:
            with self.subTest(call=call, what=what), self.assertRaisesRegex(
                TypeError, f"^a {what} is a text or bytes, and not 4711$"
            ):
                result = getattr(client, call)(*arguments, **options)
                if call in ("list", "groups"):
                    next(result)

    def test_nor_is_it_one_for_asyncio(self):
        async def run():
            async with elapse.AsyncClient("127.0.0.1:1", deadline="100ms") as client:
                for what, call, arguments, options in NUMBERS_AS_NAMES:
                    with self.subTest(call=call, what=what), self.assertRaisesRegex(
                        TypeError, f"^a {what} is a text or bytes, and not 4711$"
                    ):
                        result = getattr(client, call)(*arguments, **options)
                        await (result.__anext__() if call in ("list", "groups") else result)

        asyncio.run(run())

    def test_nor_is_it_one_for_the_inbox(self):
        if importlib.util.find_spec("django") is None:
            self.skipTest("python3-django is not installed")
        _inbox = importlib.import_module("elapse.django._inbox")
        for what in ("key", "tag", "token"):
            with self.assertRaisesRegex(TypeError, f"^a {what} is a text or bytes, and not 4711$"):
                _inbox.put("main", "t", "b", {what: 4711})
        with self.assertRaisesRegex(TypeError, "^a key is a text or bytes, and not 4711$"):
            _inbox.cancel("main", "t", 4711)
        self.assertEqual(_inbox.cancel("main", "t", b"k")[1], ["t", "k", "main"])

    def test_bytes_are_a_name(self):
        self.assertEqual(
            elapse.cancel("t", b"\x00").arguments, elapse.cancel(bytearray(b"t"), memoryview(b"\x00")).arguments
        )


class Commands(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = testing.Server()
        cls.addClassCleanup(cls.server.close)
        cls.client = cls.server.client()

    def test_put_and_look(self):
        result = self.client.put(
            "look",
            {"order": 4711},
            key="4711",
            in_=datetime.timedelta(minutes=30),
            tag="t",
            group="g",
            priority=7,
            ttr="5s",
            expire="1h",
            attempts=3,
            backoff=("1s", "1m"),
            headers={"a": "b"},
        )
        self.assertEqual(result.outcome, "scheduled")
        self.assertTrue(result.stored)
        job = self.client.lookup("look", "4711")
        self.assertEqual(
            (job.id, job.tube, job.key, job.tag, job.group, job.body, job.headers, job.state),
            (result.id, "look", "4711", "t", "g", b'{"order":4711}', {"a": "b"}, "delayed"),
        )
        self.assertEqual(
            [job.fields[name] for name in ("priority", "ttr", "expire", "attempts_max", "backoff_min", "backoff_max")],
            [7, 5000, 3600000, 3, 1000, 60000],
        )
        self.assertEqual(self.client.lookup_id(result.id).fields | {"left": 0}, job.fields | {"left": 0})
        self.assertIsNone(self.client.lookup("look", "nobody"))
        self.assertEqual([one.key for one in self.client.list("look", state="delayed", tag="t")], ["4711"])
        self.assertIn("look", list(self.client.tubes()))
        self.assertEqual(self.client.stats("look")["delayed"], 1)
        self.assertEqual(self.client.stats("nowhere"), {})

    def test_keys(self):
        put = self.client.put
        first = put("keys", "1", key="k", in_="1h")
        self.assertEqual(put("keys", "2", key="k", in_="1h").outcome, "replaced")
        self.assertEqual(put("keys", "3", key="k", if_key="keep").outcome, "kept")
        with self.assertRaises(elapse.BusyKeyError) as caught:
            put("keys", "4", key="k", if_key="fail")
        self.assertGreater(caught.exception.id, first.id)
        self.assertEqual(put("keys", "5", key="k", in_="1s", if_key="debounce", debounce_max="1m").outcome, "replaced")
        self.assertEqual(self.client.reschedule("keys", "k", in_="2h"), "rescheduled")
        self.assertEqual(
            self.client.reschedule("keys", "k", at=datetime.datetime(2100, 1, 1, tzinfo=UTC)), "rescheduled"
        )
        self.assertEqual(self.client.lookup("keys", "k").due.year, 2100)
        self.assertEqual(self.client.cancel_many("keys", ["k", "none"]), ["removed", "gone"])
        self.assertEqual(self.client.cancel("keys", "k"), "gone")

    def test_recurring(self):
        self.client.put("often", "a", every="1h", key="a")
        self.client.put("often", "b", cron="0 9 * * mon", zone="Europe/Berlin", key="b")
        self.assertTrue(self.client.lookup("often", "a").recurring and self.client.lookup("often", "b").recurring)
        self.assertEqual(self.client.cancel_all("often"), {"removed": 2, "running": 0})

    def test_tokens(self):
        one = self.client.put("tokens", "a", token="mine")
        self.assertEqual(self.client.put("tokens", "a", token="mine"), elapse.PutResult(one.id, "known"))

    def test_work_by_hand(self):
        client = self.client
        client.put("hand", "a", key="a", headers={"x": "y"}, tag="t", group="g", attempts=2, backoff=("0s", "0s"))
        (job,) = client.reserve("hand", count=5)
        self.assertEqual(
            (job.text, job.key, job.attempt, job.headers, job.tag, job.group, job.attempts_left),
            ("a", "a", 1, {"x": "y"}, "t", "g", 1),
        )
        self.assertEqual(client.extend(job), "ok")
        self.assertEqual(client.nack(job, error="no route"), "ok")
        (job,) = client.reserve("hand")
        self.assertEqual((job.attempt, job.error, job.attempts_left), (2, "no route", 0))
        self.assertEqual(client.cancel("hand", "a"), "running")
        self.assertEqual(client.extend(job), "cancelled")
        self.assertEqual((client.ack(job), client.ack(job)), ("ok", "gone"))
        client.put("hand", "b")
        (job,) = client.reserve("hand")
        self.assertEqual(client.bury(job, "broken"), "ok")
        (info,) = client.list("hand", state="buried")
        self.assertEqual((info.error, info.reason), ("broken", "a worker buried it"))
        self.assertEqual((client.kick("hand", 5), client.kick_id(info.id)), (1, "ok"))
        self.assertEqual(client.reserve("hand", count=5)[0].text, "b")
        self.assertEqual(client.reserve("hand", wait="1ms"), [])

    def test_pause_and_limit(self):
        client = self.client
        client.limit("limited", concurrency=1)
        self.assertEqual(client.limits("limited"), {"concurrency": 1})
        client.put_many(elapse.put("limited", str(i)) for i in range(3))
        self.assertEqual(len(client.reserve("limited", count=3)), 1)
        client.limit("limited", rate=(10, "1s"), burst=2)
        self.assertEqual(client.limits("limited"), {"rate": 10, "rate_per": 1000, "rate_burst": 2})
        with self.assertRaisesRegex(elapse.CommandError, "HORSES"):
            client.limit("limited", hor_ses=2)
        with self.assertRaises(TypeError):
            client.limit("limited", burst=2)
        client.limit(
            "limited",
            concurrency=3,
            rate=(10, "1s"),
            burst=2,
            group_concurrency=2,
            group_rate=(5, "1m"),
            group_burst=3,
            group_order=True,
            buried=100,
            buried_age="1h",
        )
        self.assertEqual(
            client.limits("limited"),
            {
                "concurrency": 3,
                "rate": 10,
                "rate_per": 1000,
                "rate_burst": 2,
                "group_concurrency": 2,
                "group_rate": 5,
                "group_rate_per": 60_000,
                "group_rate_burst": 3,
                "group_order": 1,
                "buried": 100,
                "buried_age": 3_600_000,
            },
        )
        with self.assertRaises(TypeError):
            client.limit("limited", rate=(10, "1s"), group_burst=2)
        client.limit("limited")
        self.assertEqual(client.limits("limited"), {})
        self.assertEqual(client.pause("limited", "1h"), "ok")
        self.assertEqual(client.reserve("limited", count=3), [])
        client.pause("limited", "0s")
        self.assertEqual(len(client.reserve("limited", count=3)), 2)

    def test_groups(self):
        client = self.client
        client.limit("held", group_concurrency=1)
        client.put_many(
            elapse.put("held", "x", in_="1h", group=f"later {i}") for i in range(250)
        )  # more than a page has
        for group in ("ann", "ann", "bob"):
            client.put("held", "x", group=group)
        self.assertEqual(len(client.reserve("held", count=5)), 2)
        (ann,) = client.groups("held", held=True)
        self.assertEqual(
            dataclasses.replace(ann, overdue=datetime.timedelta()),
            elapse.GroupInfo("ann", 0, 1, 1, 0, 1, "group_concurrency", datetime.timedelta(), datetime.timedelta()),
        )
        groups = {one.group: one for one in client.groups("held")}
        self.assertEqual(len(groups), 252)
        self.assertEqual((groups["bob"].held, groups["bob"].held_by, groups["later 7"].delayed), (0, None, 1))
        self.assertEqual(list(client.groups("nowhere")), [])

    def test_many_with_some_refused(self):
        puts = [elapse.put("many", str(i), in_="5" if i == 150 else "5s") for i in range(201)]
        with self.assertRaises(elapse.BatchError) as caught:
            self.client.put_many(puts)
        results = caught.exception.results
        self.assertIsInstance(results[150], elapse.CommandError)
        self.assertEqual(sum(isinstance(one, elapse.PutResult) for one in results), 200)
        self.assertEqual(self.client.stats("many")["delayed"], 200)

    def test_transactions(self):
        client = self.client
        results = client.transaction(
            elapse.put("both", "a", key="a", in_="1h"),
            elapse.reschedule("both", "a", in_="2h"),
            elapse.cancel("both", "a", "b"),
            elapse.put("both", "c"),
        )
        self.assertEqual([results[0].outcome, *results[1:3]], ["scheduled", "rescheduled", ["removed", "gone"]])
        with self.assertRaises(elapse.CommandError):
            client.transaction(elapse.put("both", "x"), elapse.put("both", "y", in_="5"))
        self.assertEqual(client.stats("both")["ready"], 1)
        (job,) = client.reserve("both")
        self.assertEqual(
            [one.outcome for one in client.transaction(elapse.put("next", "c"), leased=[job])], ["scheduled"]
        )
        with self.assertRaises(elapse.LeaseEndedError) as caught:
            client.transaction(elapse.put("next", "c"), leased=[job])
        self.assertFalse(caught.exception.maybe_done)
        self.assertEqual(client.stats("next")["ready"], 1)

    def test_codec(self):
        class Reversed:
            def encode(self, value):
                return repr(value)[::-1].encode()

            def decode(self, body):
                return eval(body.decode()[::-1])

        client = self.server.client(codec=Reversed())
        client.put("codec", (1, 2))
        (job,) = client.reserve("codec")
        self.assertEqual((job.body, job.value), (b")2 ,1(", (1, 2)))

    def test_the_clock(self):
        before = self.server.now()
        self.client.put("clock", "x", in_="30m")
        self.server.advance("29m")
        self.assertEqual(self.client.reserve("clock"), [])
        self.assertGreaterEqual(self.server.advance("1m") - before, datetime.timedelta(minutes=30))
        self.assertEqual(self.client.reserve("clock", wait="1s")[0].text, "x")

    def test_of_several_addresses_the_next_one_is_tried(self):
        with socket.socket() as deaf:  # nobody listens there
            deaf.bind(("127.0.0.1", 0))
            client = elapse.Client(f"127.0.0.1:{deaf.getsockname()[1]}", self.server.url)
            self.addCleanup(client.close)
            self.assertEqual(client.put("other", "x").outcome, "scheduled")
            self.assertEqual(client.put("other", "x").outcome, "scheduled")

    def test_no_server_is_an_error_in_time(self):
        with socket.socket() as deaf:
            deaf.bind(("127.0.0.1", 0))
            client = elapse.Client(f"127.0.0.1:{deaf.getsockname()[1]}", deadline="100ms")
            with self.assertRaises(elapse.UnreachableError):
                client.put("t", "x")

    def test_a_server_that_is_silent_is_uncertain(self):
        with socket.create_server(("127.0.0.1", 0)) as silent:
            client = elapse.Client(f"127.0.0.1:{silent.getsockname()[1]}", timeout="20ms", deadline="100ms")
            with self.assertRaises(elapse.UncertainError):
                client.put("t", "x")
            with self.assertRaises(elapse.UncertainError):
                client.kick("t")

    def test_a_password(self):
        with testing.Server("--users", support.users(self, "put *")) as server:
            with self.assertRaises(elapse.AuthenticationNeededError):
                elapse.Client(server.url).stats()
            with self.assertRaises(elapse.WrongPasswordError):
                elapse.Client(server.url.replace("//", "//ann:wrong@")).stats()
            ann = elapse.Client(server.url.replace("//", "//ann:right@"))
            self.assertEqual(ann.put("t", "x").outcome, "scheduled")
            with self.assertRaises(elapse.NotPermittedError):
                ann.pause("t", "1s")

    def test_threads_share_a_client(self):
        client = self.server.client()

        def work():
            for i in range(50):
                client.put("shared", str(i))
                list(client.list("shared"))

        threads = [threading.Thread(target=work) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        self.assertEqual(client.stats("shared")["ready"], 200)

    def test_asyncio(self):
        async def run():
            async with self.server.async_client() as client:
                results = await asyncio.gather(*(client.put("async", i, key=str(i), in_="1h") for i in range(50)))
                self.assertEqual(len({one.id for one in results}), 50)
                self.assertEqual(len([job async for job in client.list("async")]), 50)
                self.assertEqual(await client.cancel("async", "7"), "removed")
                await client.put_many(elapse.put("async-many", i, in_="1h") for i in range(1200))
                self.assertEqual(len({job.id async for job in client.list("async-many")}), 1200)  # several pages
                # A task that is cancelled while it waits spoils no connection for the others.
                for _ in range(5):
                    with self.assertRaises(asyncio.TimeoutError):
                        await asyncio.wait_for(client.reserve("nothing", wait="10s"), 0.02)
                    self.assertEqual((await client.stats("async"))["delayed"], 49)
                self.assertEqual(
                    [one.outcome for one in await client.transaction(elapse.put("async", "x"))], ["scheduled"]
                )
                with self.assertRaises(elapse.CommandError):
                    await client.put("async", "x", in_="5")
                self.assertIn("async", [tube async for tube in client.tubes()])
                await client.put("async", "x", in_="1h", group="ann")
                self.assertEqual([(one.group, one.delayed) async for one in client.groups("async")], [("ann", 1)])

        asyncio.run(run())

    def test_a_cancellation_that_is_lost_while_sending_ends_the_call(self):
        """asyncio.wait_for of Python 3.11 loses one that comes when all is sent. The call then waited for an answer."""
        send = redis.asyncio.Connection.send_packed_command

        async def lose(connection, *command):
            await send(connection, *command)
            asyncio.current_task().cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await asyncio.sleep(0)

        async def run():
            async with self.server.async_client() as client:
                await client.stats()
                with mock.patch.object(redis.asyncio.Connection, "send_packed_command", lose):
                    with self.assertRaises(asyncio.CancelledError):
                        await client.reserve("nothing", wait="10s")
                # Behind a cancellation that was caught, the client works.
                self.assertEqual((await client.put("cleanup", "x", in_="1h")).outcome, "scheduled")

        asyncio.run(run())


class LostAnswers(unittest.TestCase):
    """What an answer that is lost leads to."""

    @classmethod
    def setUpClass(cls):
        cls.server = testing.Server()
        cls.addClassCleanup(cls.server.close)
        cls.client = cls.server.client()

    def setUp(self):
        self.way = support.Lossy(self.server.port)
        self.addCleanup(self.way.close)
        self.lossy = elapse.Client(self.way.url)
        self.addCleanup(self.lossy.close)
        self.lossy.stats()

    def test_a_put_is_done_once(self):
        for options in ({}, {"key": "k"}, {"token": "t-lost"}):
            self.way.loses = True
            result = self.lossy.put("lost-put", "x", **options)
            self.assertFalse(self.way.loses)
            self.assertEqual(result.outcome, "known" if "token" in options else "scheduled")
        self.assertEqual(self.client.stats("lost-put")["ready"], 3)
        self.way.loses = True
        self.lossy.put_many(elapse.put("lost-many", i) for i in range(100))
        self.assertFalse(self.way.loses)
        self.assertEqual(self.client.stats("lost-many")["ready"], 100)

    def test_a_transaction_is_done_once(self):
        self.way.loses = True
        self.lossy.transaction(elapse.put("lost-two", "a"), elapse.put("lost-two", "b"))
        self.assertFalse(self.way.loses)
        self.assertEqual(self.client.stats("lost-two")["ready"], 2)

    def test_a_step_is_done_once(self):
        self.client.put("lost-step", "x")
        (job,) = self.client.reserve("lost-step")
        self.way.loses = True
        with self.assertRaises(elapse.LeaseEndedError) as caught:
            self.lossy.transaction(elapse.put("lost-next", "x"), leased=[job])
        self.assertTrue(caught.exception.maybe_done)
        self.assertEqual(self.client.stats("lost-next")["ready"], 1)

    def test_what_cannot_be_known_is_said(self):
        self.client.put("lost-cancel", "x", key="x", in_="1h")
        self.way.loses = True
        with self.assertRaises(elapse.UncertainError):
            self.lossy.cancel("lost-cancel", "x")
        self.way.loses = True
        (error,) = self.lossy.transaction(elapse.cancel("lost-cancel", "x"))
        self.assertIsInstance(error, elapse.UncertainError)
        self.assertIsNone(self.client.lookup("lost-cancel", "x"))
        self.client.put_many(elapse.put("lost-kick", i, in_="1h") for i in range(2))
        self.way.loses = True
        with self.assertRaises(elapse.UncertainError):
            self.lossy.kick("lost-kick")
        self.assertEqual(self.client.stats("lost-kick")["ready"], 1)


if __name__ == "__main__":
    support.main()
