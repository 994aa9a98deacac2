"""What goes wrong between a client and a server: answers that are lost, and parts that are refused. Both clients alike."""

import unittest

import support

support.need(("redis", "python3-redis"))

import elapse  # noqa: E402
from elapse import testing  # noqa: E402

KINDS = ("Client", "AsyncClient")


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
