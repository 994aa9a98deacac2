"""What goes wrong between a client and a server: answers that are lost, parts that are refused. Both clients alike."""

import asyncio
import functools
import time
import unittest

import support

support.need(("redis", "python3-redis"))

import elapse  # noqa: E402
from elapse import testing  # noqa: E402
from elapse._tries import Fault, Tries  # noqa: E402

KINDS = ("Client", "AsyncClient")


def with_password(fake):
    """The address of a fake server with a password, so that each connection begins with AUTH."""
    return fake.url.replace("redis://", "redis://ann:secret@")


class Case(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.server = testing.Server()
        cls.addClassCleanup(cls.server.close)
        cls.client = cls.server.client()

    def fake(self, answer):
        fake = support.Fake(answer)
        self.addCleanup(fake.close)
        return fake


class Tokens(Case):
    def test_a_put_is_not_sent_again_when_its_token_may_have_ended(self):
        for kind in KINDS:
            for name, command in (
                ("put", {"token": "mine", "token_for": "1ms"}),
                ("put_many", [elapse.put("t", "x", token="mine", token_for="1ms")]),
                ("transaction", [elapse.put("t", "x", token="mine", token_for="1ms")]),
            ):
                fake = self.fake(lambda words: None)
                with self.subTest(kind=kind, name=name), self.assertRaises(elapse.UncertainError):
                    if name == "put":
                        support.call(kind, fake.url, "put", "t", "x", **command)
                    else:
                        support.call(kind, fake.url, name, *([command] if name == "put_many" else command))
                self.assertEqual(len(fake.said), 1)

    def test_a_put_is_sent_again_while_its_token_lives(self):
        for kind in KINDS:
            fake = self.fake(lambda words: None if len(fake.said) == 1 else b"*2\r\n:7\r\n$5\r\nknown\r\n")
            result = support.call(kind, fake.url, "put", "t", "x", token="mine", token_for="9m")
            self.assertEqual((result, len(fake.said)), (elapse.PutResult(7, "known"), 2))

    def test_the_life_of_a_token_counts_from_the_first_try_that_may_have_been_done(self):
        tries = Tries(100.0, 60.0, again=True, life_s=10.0)
        now_s = 120.0
        for _ in range(3):  # the token has not begun to live
            now_s += tries.failed(Fault("refused", sent=False), now_s)
        tries.begin(now_s)
        began_s = now_s
        tries.failed(Fault("lost", sent=True), began_s + 8.0)
        tries.begin(began_s + 9.9)
        with self.assertRaises(elapse.UncertainError):
            tries.begin(began_s + 10.0)
        with self.assertRaises(elapse.UncertainError):
            tries.failed(Fault("refused", sent=False), began_s + 10.0)

    def slow_to_connect(self, of_a_put):
        """A server whose second connection takes long. The first put gets no answer, and the others this one."""

        def answer(words):
            if words[0] == b"AUTH":
                if [said[0] for said in fake.said].count(b"AUTH") == 2:
                    time.sleep(0.4)
                return b"+OK\r\n"
            return of_a_put if [said[0] for said in fake.said].count(b"AUTH") > 1 else None

        fake = self.fake(answer)
        return fake

    def test_a_put_is_not_sent_again_when_its_token_ended_while_the_client_connected(self):
        for kind in KINDS:
            for name in ("put_many", "transaction"):
                fake = self.slow_to_connect(PUT)
                puts = [elapse.put("t", "x", token="mine", token_for="300ms")]
                with self.subTest(kind=kind, name=name), self.assertRaises(elapse.UncertainError):
                    support.call(kind, with_password(fake), name, *([puts] if name == "put_many" else puts))
                self.assertEqual([said[0] for said in fake.said].count(b"PUT"), int(name == "put_many"))
            fake = self.slow_to_connect(PUT)
            puts = [elapse.put("t", "x", token="mine", token_for="300ms"), elapse.put("t", "y")]
            with self.subTest(kind=kind), self.assertRaises(elapse.BatchError) as caught:
                support.call(kind, with_password(fake), "put_many", puts)
            self.assertEqual(kinds_of(caught.exception.results), [elapse.UncertainError, elapse.PutResult])

    def unknown_once(self, last):
        """A server of a cluster whose partition is lost once before it answers to this word."""

        def answer(words):
            if words[0] != last:
                return b"+OK\r\n"
            if [said[0] for said in fake.said].count(last) == 1:
                return b"-UNKNOWN lost\r\n"
            return PUT if last == b"PUT" else b"*1\r\n" + PUT

        fake = self.fake(answer)
        return fake

    def test_a_put_with_a_short_token_is_not_sent_again_after_unknown(self):
        for kind in KINDS:
            for token_for, times in (("59s", 1), ("60s", 2)):
                for name in ("put_many", "transaction"):
                    last = b"PUT" if name == "put_many" else b"EXEC"
                    fake = self.unknown_once(last)
                    puts = [elapse.put("t", "x", token="mine", token_for=token_for)]
                    with self.subTest(kind=kind, name=name, token_for=token_for):
                        try:
                            support.call(kind, fake.url, name, *([puts] if name == "put_many" else puts))
                            self.assertEqual(times, 2)
                        except elapse.UncertainError:
                            self.assertEqual(times, 1)
                        self.assertEqual([said[0] for said in fake.said].count(last), times)


class Refusals(Case):
    """A server that refuses a second try says nothing about the first one."""

    def refusing(self, of_a_put):
        """A server that knows the password of the first connection alone. `of_a_put`: what it answers to a put."""

        def answer(words):
            if words[0] == b"AUTH":
                once = [said[0] for said in fake.said].count(b"AUTH") == 1
                return b"+OK\r\n" if once else b"-WRONGPASS invalid username-password pair\r\n"
            return of_a_put(words)

        fake = self.fake(answer)
        return fake

    def test_a_refusal_when_it_connects_again_does_not_hide_what_may_have_been_done(self):
        for kind in KINDS:
            for name in ("run", "put_many", "transaction"):
                fake = self.refusing(lambda words: None)
                put = elapse.put("t", "x")
                with self.subTest(kind=kind, name=name), self.assertRaises(elapse.UncertainError) as caught:
                    support.call(kind, with_password(fake), name, [put] if name == "put_many" else put)
                self.assertIsInstance(caught.exception.__cause__, elapse.WrongPasswordError)

    def test_a_refusal_when_it_connects_again_is_told_for_each_place(self):
        for kind in KINDS:
            first = self.refusing(lambda words: b"-%s lost\r\n" % words[2])
            second = self.fake(lambda words: b"-WRONGPASS invalid username-password pair\r\n")
            puts = [elapse.put("t", "TRYAGAIN"), elapse.put("t", "UNKNOWN")]
            with self.subTest(kind=kind), self.assertRaises(elapse.BatchError) as caught:
                support.call(kind, [with_password(first), with_password(second)], "put_many", puts)
            self.assertEqual(kinds_of(caught.exception.results), [elapse.WrongPasswordError, elapse.UncertainError])


PUT = b"*2\r\n:7\r\n$9\r\nscheduled\r\n"
SOON = {"deadline": "200ms"}


def kinds_of(results):
    return [type(one) for one in results]


class Batches(Case):
    """What is done stays known when the rest fails."""

    def test_puts_that_were_stored_are_told_when_the_server_goes(self):
        for kind in KINDS:
            fake = self.fake(lambda words: PUT if int(words[2]) < 100 else None)
            with self.subTest(kind=kind), self.assertRaises(elapse.BatchError) as caught:
                support.call(kind, fake.url, "put_many", [elapse.put("t", i) for i in range(250)], of_client=SOON)
            self.assertEqual(
                kinds_of(caught.exception.results),
                [elapse.PutResult] * 100 + [elapse.UncertainError] * 100 + [elapse.UnreachableError] * 50,
            )

    def test_puts_that_were_stored_are_told_when_a_partition_has_no_owner(self):
        for kind in KINDS:
            fake = self.fake(lambda words: b"-TRYAGAIN no owner\r\n" if words[1] == b"gone" else PUT)
            with self.subTest(kind=kind), self.assertRaises(elapse.BatchError) as caught:
                puts = [elapse.put(tube, "x") for tube in ("here", "gone", "here")]
                support.call(kind, fake.url, "put_many", puts, of_client=SOON)
            self.assertEqual(
                kinds_of(caught.exception.results), [elapse.PutResult, elapse.UnreachableError, elapse.PutResult]
            )
            # Those that were answered are not sent again.
            self.assertEqual([words[1] for words in fake.said].count(b"here"), 2)

    def test_the_job_that_waits_is_told_when_its_pieces_fail(self):
        for kind in KINDS:
            fake = self.fake(lambda words: PUT if words[1] == b"whole" else None)
            with self.subTest(kind=kind), self.assertRaises(elapse.BatchError) as caught:
                pieces = [elapse.put("part", "x")]
                support.call(kind, fake.url, "gather", "whole", "x", pieces, timeout="1h", of_client=SOON)
            self.assertEqual(kinds_of(caught.exception.results), [elapse.PutResult, elapse.UncertainError])

    def test_trouble_that_all_puts_share_is_raised_as_it_is(self):
        port, holder = support.hold_port()
        self.addCleanup(holder.close)
        for kind in KINDS:
            puts = [elapse.put("t", i) for i in range(250)]
            with self.subTest(kind=kind), self.assertRaises(elapse.UnreachableError):
                support.call(kind, f"127.0.0.1:{port}", "put_many", puts, of_client=SOON)
            fake = self.fake(lambda words: None)
            with self.subTest(kind=kind), self.assertRaises(elapse.UncertainError):
                support.call(kind, fake.url, "put_many", puts[:3], of_client=SOON)


class Draining(Case):
    """A server that is about to end takes no new jobs."""

    def draining(self):
        return self.fake(lambda words: b"+OK\r\n" if words == [b"MULTI"] else b"-DRAINING it is about to end\r\n")

    def test_the_next_address_gets_the_put(self):
        for kind in KINDS:
            for name, put in (
                ("put", ("drained", "x")),
                ("put_many", ([elapse.put("drained", "x")],)),
                ("transaction", (elapse.put("drained", "x"),)),
            ):
                fake = self.draining()
                with self.subTest(kind=kind, name=name):
                    support.call(kind, [fake.url, self.server.url], name, *put)
                    self.assertNotEqual(fake.said, [])
        self.assertEqual(self.client.stats("drained")["ready"], 6)

    def test_it_is_told_when_no_server_takes_the_put(self):
        for kind in KINDS:
            fake = self.draining()
            with self.subTest(kind=kind), self.assertRaises(elapse.DrainingError):
                support.call(kind, fake.url, "put", "t", "x", of_client=SOON)


class Cancels(Case):
    """A cluster answers a cancel of many keys in parts."""

    def owner(self, jobs):
        """A cluster with these jobs, by their keys, where the partition of the key "b" has no owner at first."""

        def answer(words):
            parts = b""
            for key in words[2:]:
                if key == b"b" and len(fake.said) <= 2:
                    parts += b"-TRYAGAIN no owner\r\n"
                else:
                    parts += b"+removed\r\n" if key in jobs else b"+gone\r\n"
                    jobs.discard(key)
            return b"*%d\r\n" % len(words[2:]) + parts

        fake = self.fake(answer)
        return fake

    def test_keys_that_were_cancelled_are_not_cancelled_again(self):
        for kind in KINDS:
            fake = self.owner({b"a", b"b"})
            words = support.call(kind, fake.url, "cancel_many", "t", ["a", "b", "c"])
            self.assertEqual(words, ["removed", "removed", "gone"])
            self.assertEqual(fake.said, [[b"CANCEL", b"t", *keys] for keys in ([b"a", b"b", b"c"], [b"b"], [b"b"])])

    def test_words_that_are_known_are_told_when_others_are_not(self):
        for kind in KINDS:
            fake = self.fake(
                lambda words: b"*2\r\n+removed\r\n-UNKNOWN lost\r\n" if words[2] == b"a" else b"*1\r\n+gone\r\n"
            )
            with self.subTest(kind=kind), self.assertRaises(elapse.BatchError) as caught:
                support.call(kind, fake.url, "cancel_many", "t", ["a", "b"])
            word, error = caught.exception.results
            self.assertEqual((word, type(error)), ("removed", elapse.UncertainError))

    def test_a_cancel_of_many_that_is_refused_as_a_whole_says_so(self):
        for kind in KINDS:
            fake = self.fake(lambda words: b"-NOPERM ann may not\r\n")
            with self.subTest(kind=kind), self.assertRaises(elapse.NotPermittedError):
                support.call(kind, fake.url, "cancel_many", "t", ["a", "b"])

    def test_a_command_that_was_done_in_part_is_uncertain(self):
        for kind in KINDS:
            fake = self.owner({b"a", b"b"})
            with self.subTest(kind=kind), self.assertRaises(elapse.UncertainError):
                support.call(kind, fake.url, "run", elapse.cancel("t", "a", "b"))


class Reversed:
    """A codec that is not JSON, and knows values that JSON does not."""

    def encode(self, value):
        return repr(value)[::-1].encode()

    def decode(self, body):
        return eval(body.decode()[::-1])


class Codecs(Case):
    """What is made before it is sent is written by the codec of the client that sends it."""

    def test_puts_that_are_made_before_use_the_codec_of_the_client(self):
        for kind in KINDS:
            call = functools.partial(support.call, kind, self.server.url, of_client={"codec": Reversed()})
            for value in ({1, 2}, {"a": 1}, None):
                put = elapse.put("codec", value)
                call("put_many", [put])
                call("run", put)
                call("transaction", put)
                self.client.put("step", "x")
                call("transaction", put, leased=self.client.reserve("step"))
                whole = [
                    call("gather", "whole", value, [put], timeout="1h")[0],
                    call("transaction", *elapse.gather("whole", value, [put], timeout="1h"))[0],
                ]
                bodies = [self.client.lookup_id(one.id).body for one in whole]
                self.assertEqual(bodies, [repr(value)[::-1].encode()] * 2)
                own = elapse.put("codec", value, codec=Reversed())
                self.client.put_many([own])
                jobs = self.client.reserve("codec", count=20)
                self.assertEqual([job.body for job in jobs], [repr(value)[::-1].encode()] * 7)
                self.client.put_many([elapse.put("codec", text) for text in (b"\xff", "text")])
                self.assertEqual([job.body for job in self.client.reserve("codec", count=2)], [b"\xff", b"text"])

    def test_a_body_may_be_changed_behind_its_put(self):
        body, puts = {}, []
        for i in range(3):
            body["i"] = i
            puts.append(elapse.put("changed", body))
        self.client.put_many(puts)
        self.assertEqual([job.json()["i"] for job in self.client.reserve("changed", count=3)], [0, 1, 2])

    def test_a_body_that_cannot_be_written_is_found_before_anything_is_sent(self):
        for kind in KINDS:
            puts = [*(elapse.put("unwritten", i) for i in range(150)), elapse.put("unwritten", object())]
            for name, arguments, options in (
                ("put_many", [puts], {}),
                ("transaction", puts, {}),
                ("gather", ["unwritten", "x", puts], {"timeout": "1h"}),
            ):
                with self.subTest(kind=kind, name=name), self.assertRaisesRegex(TypeError, "not JSON serializable"):
                    support.call(kind, self.server.url, name, *arguments, **options)
        self.assertEqual(self.client.stats("unwritten"), {})


class Transactions(Case):
    def setUp(self):
        self.way = support.Lossy(self.server.port)
        self.addCleanup(self.way.close)

    def test_a_transaction_that_is_sent_again_never_cancels_its_own_put(self):
        for kind in KINDS:
            self.way.loses = True
            with self.subTest(kind=kind), self.assertRaises(elapse.UncertainError):
                support.call(
                    kind, self.way.url, "transaction", elapse.cancel("own", "k"), elapse.put("own", "x", key="k")
                )
            self.assertFalse(self.way.loses)
            self.assertIsNotNone(self.client.lookup("own", "k"))

    def test_a_cancel_that_is_doubtful_hides_no_result_of_the_others(self):
        for kind in KINDS:
            for key in ("a", "b"):
                self.client.put("doubted", "x", key=key, in_="1h")
            self.way.loses = True
            cancelled, moved = support.call(
                kind,
                self.way.url,
                "transaction",
                elapse.cancel("doubted", "a"),
                elapse.reschedule("doubted", "b", in_="2h"),
            )
            self.assertFalse(self.way.loses)
            self.assertEqual((type(cancelled), moved), (elapse.UncertainError, "rescheduled"))

    def test_an_error_of_one_command_hides_no_result_of_the_others(self):
        for kind in KINDS:
            taken = self.client.put("taken", "x", key="k", in_="1h")
            first, busy, last = support.call(
                kind,
                self.server.url,
                "transaction",
                elapse.put("others", kind),
                elapse.put("taken", "y", key="k", if_key="fail"),
                elapse.cancel("taken", "none"),
            )
            self.assertEqual((first.outcome, last), ("scheduled", ["gone"]))
            self.assertIsInstance(busy, elapse.BusyKeyError)
            self.assertEqual(busy.id, taken.id)

    def test_a_job_that_is_done_with_a_key_that_is_taken_is_no_failure(self):
        seen, failures = [], []
        worker, tasks = elapse.Worker(self.server.client()), elapse.AsyncWorker(self.server.url)
        puts = [elapse.put("busy", "y", key="k", if_key="fail"), elapse.put("behind", "x")]

        @worker.handler("first")
        def handle(job):
            seen.append([type(one) for one in job.done(*puts)])

        @tasks.handler("first")
        async def handle_task(job):
            seen.append([type(one) for one in await job.done(*puts)])

        @tasks.on_failure
        async def failed(job, error):
            failures.append(error)

        worker.on_failure(lambda job, error: failures.append(error))
        self.client.put("busy", "x", key="k", in_="1h")
        for run in (lambda: worker.run(until_idle=True), lambda: asyncio.run(tasks.run(until_idle=True))):
            self.client.put("first", "x")
            run()
        self.assertEqual((seen, failures), ([[elapse.BusyKeyError, elapse.PutResult]] * 2, []))
        self.assertEqual(self.client.stats("behind")["ready"], 2)

    def test_a_transaction_that_tokens_guard_is_sent_again(self):
        for kind in KINDS:
            self.client.put("guarded", "x", key=kind, await_=3)
            self.way.loses = True
            results = support.call(
                kind, self.way.url, "transaction", elapse.put("guarded", kind), elapse.arrive("guarded", kind)
            )
            self.assertFalse(self.way.loses)
            self.assertEqual((results[0].outcome, results[1]), ("scheduled", 2))


if __name__ == "__main__":
    support.main()
