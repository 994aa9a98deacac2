"""Tests the commands that each send one verb: elapse kick, pause, resume, limit, arrive, reserve, ack,
nack, bury, extend."""

import re
import time

import support
from client_support import (FAILED, GONE, NO_SERVER, OK, TAKEN, UNKNOWN, USAGE, ClientTest, Stranger,
                            send_and_end)

VERBS = ("kick", "pause", "resume", "limit", "arrive", "reserve", "ack", "nack", "bury", "extend")


class VerbTest(ClientTest):
    def setUp(self):
        super().setUp()
        self.start()

    def reserve(self, tube):
        """Takes a job. Returns its id and its lease, as arguments."""
        [job] = self.json_of("reserve", tube)
        return str(job["id"]), job["lease"]

    def state(self, number):
        return self.json_of("lookup", "--id", str(number))[0]


class Work(VerbTest):
    """A job by hand: reserve, and each way in which the work ends."""

    def test_reserve_shows_a_job(self):
        self.done("put", "t", "two\nlines", "--key", "k", "--tag", "a", "--group", "g", "--ttr", "5s",
                  "--attempts", "3")
        [job] = self.json_of("reserve", "t", "--holder", "me")
        due = job.pop("due")
        self.assertGreater(due, 1 << 40)
        self.assertEqual(job, {"id": 1, "lease": "1-1", "tube": "t", "key": "k", "attempt": 1,
                               "missed": 0, "ttr": 5000, "tag": "a", "group": "g",
                               "attempts_left": 2, "body": "two\nlines"})
        self.assertEqual(self.state(1)["holder"], "me")
        self.done("nack", "1", "1-1", "--in", "0s", "--error", "no")
        output = self.done("reserve", "u", "t")
        self.assertRegex(output, r"^id +1\nlease +1-2\ntube +t\nkey +k\n")
        self.assertRegex(output, r"\nerror +no\n(.*\n)*body +two\?lines\n$")

    def test_reserve_many_and_none(self):
        self.done("put", "t", "--lines", stdin=b"a\nb\nc\n")
        self.assertEqual([job["body"] for job in self.json_of("reserve", "t", "--count", "2")],
                         ["a", "b"])
        self.assertEqual(len(self.done("reserve", "t", "--count", "9").split("\n\n")), 1)
        self.fails(GONE, "no job is ready", "reserve", "t")
        # It waits for longer than a reply may take otherwise. It is asked again if the machine stood still, so that the
        # time for both was over.
        for _ in range(10):
            began = time.monotonic()
            outcome = self.client("reserve", "t", "--wait", "300ms", "--timeout", "100ms")
            if outcome.status != UNKNOWN or time.monotonic() - began < 0.4:
                break
        self.assertEqual((outcome.status, outcome.output), (GONE, ""), outcome)
        self.assertIn("no job is ready", outcome.errors)

    def test_ack(self):
        self.done("put", "t", "--lines", stdin=b"a\nb\n")
        one, two = self.reserve("t"), self.reserve("t")
        self.assertEqual(self.done("ack", *one, *two, "9", "1-1", status=GONE),
                         "1 ok\n2 ok\n9 gone\n")
        self.assertEqual(self.json_of("ack", *one, status=GONE), [{"id": 1, "result": "gone"}])
        self.fails(GONE, "there is no such job", "lookup", "--id", "1")

    def test_nack_and_bury(self):
        self.done("put", "t", "x", "--backoff", "1h..2h")
        self.done("put", "u", "y")
        self.assertEqual(self.done("nack", *self.reserve("t"), "--error", "no route"), "1 ok\n")
        self.assertEqual((self.state(1)["state"], self.state(1)["error"]), ("delayed", "no route"))
        self.done("kick", "--id", "1")
        self.done("nack", *self.reserve("t"), "--after", "5h")
        self.assertGreater(self.state(1)["left"], 4 * 3600 * 1000)
        self.assertEqual(self.done("bury", *self.reserve("u"), "--error", "broken"), "2 ok\n")
        self.assertEqual((self.state(2)["state"], self.state(2)["error"]), ("buried", "broken"))
        self.assertEqual(self.done("bury", "2", "1-9", "1", "1-9", status=GONE), "2 gone\n1 gone\n")

    def test_a_job_that_was_cancelled(self):
        """To extend its lease makes no sense; to give it back does no harm."""
        self.done("put", "t", "x", "--key", "k")
        lease = self.reserve("t")
        self.assertEqual(self.done("extend", *lease), "1 ok\n")
        self.done("cancel", "t", "k")
        self.assertEqual(self.done("extend", *lease, status=GONE), "1 cancelled\n")
        self.assertEqual(self.done("nack", *lease), "1 cancelled\n")


class Tubes(VerbTest):
    def bury(self, tube, count):
        for _ in range(count):
            self.done("put", tube, "x")
            self.done("bury", *self.reserve(tube))

    def test_kick(self):
        self.bury("t", 3)
        self.assertEqual(self.done("kick", "t", "2"), "kicked 2\n")
        self.assertEqual(self.json_of("kick", "t", "9"), [{"kicked": 1}])
        self.assertEqual(self.done("kick", "--id", "1"), "1 ok\n")
        self.reserve("t")
        self.assertEqual(self.json_of("kick", "--id", "1", "2", "77", status=TAKEN),
                         [{"id": 1, "result": "running"}, {"id": 2, "result": "ok"},
                          {"id": 77, "result": "gone"}])

    def test_kick_all_takes_no_delayed_job(self):
        """KICK takes delayed jobs where none is buried. Who means all buried ones means none of those."""
        self.done("put", "t", "later", "--in", "1h")
        self.assertEqual(self.done("kick", "t", "--all"), "kicked 0\n")
        self.assertEqual(self.json_of("kick", "t", "--all"), [{"kicked": 0}])
        self.bury("t", 2)
        self.assertEqual(self.done("kick", "t", "--all"), "kicked 2\n")
        self.assertEqual(self.state(1)["state"], "delayed")

    def test_kick_all_while_the_buried_jobs_go(self):
        """The last one goes between the question and the kick. An older server does not know the word that helps."""
        commands = []

        def answer(connection):
            commands.append(connection.recv(1000))
            connection.sendall(b"*2\r\n$6\r\nburied\r\n:2\r\n")
            commands.append(connection.recv(1000))
            connection.sendall(b"-ERR wrong number of arguments for 'kick' command; syntax: KICK tube count\r\n")
        outcome = self.client("kick", "t", "--all", "--server", Stranger(self, answer).address)
        self.assertIn(b"STATS", commands[0])
        self.assertIn(b"$4\r\nKICK\r\n$1\r\nt\r\n$1\r\n2\r\n$6\r\nBURIED\r\n", commands[1])
        self.assertEqual((outcome.status, outcome.output), (FAILED, ""), outcome)
        self.assertIn("the server is older than this program", outcome.errors)

    def test_pause_and_resume(self):
        self.done("put", "t", "x")
        self.assertEqual(self.done("pause", "t", "1h"), "t ok\n")
        self.assertGreater(self.json_of("stats", "t")[0]["pause_left"], 3500 * 1000)
        self.fails(GONE, "no job is ready", "reserve", "t")
        self.assertEqual(self.json_of("resume", "t"), [{"tube": "t", "result": "ok"}])
        self.reserve("t")

    def test_limits(self):
        self.assertEqual(self.done("limit", "t", "--concurrency", "2"), "t ok\n")
        self.assertEqual(self.done("limit", "t").split()[:2], ["concurrency", "2"])
        self.assertEqual(self.json_of("limit", "t")[0]["concurrency"], 2)
        for words in (["--concurrency=3"], ["CONCURRENCY", "3"], ["concurrency", "3", "--json"]):
            self.done("limit", "t", *words)
            self.assertEqual(self.json_of("limit", "t")[0]["concurrency"], 3)
        self.done("limit", "t", "--buried-age", "3h", "--buried=5")
        self.assertEqual(self.json_of("limit", "t")[0]["buried_age"], 3 * 3_600_000)
        self.assertEqual(self.json_of("limit", "t")[0]["buried"], 5)
        self.done("limit", "t", "--none")
        self.fails(GONE, "there is no such tube", "limit", "t")

    def test_limits_that_the_client_does_not_know(self):
        """They go to the server as they are, so that an older client can set a newer server's."""
        said = []
        def answer(connection):
            said.append(connection.recv(1000))
            connection.sendall(b"+ok\r\n")
        self.done("limit", "t", "--brand-new", "7", "--other=a b", "--flag", "--server",
                  Stranger(self, answer).address)
        words = re.findall(rb"\$\d+\r\n([^\r]*)\r\n", said[0])
        self.assertEqual(words, [b"LIMIT", b"t", b"BRANDNEW", b"7", b"OTHER", b"a b", b"FLAG"])
        outcome = self.client("limit", "t", "--nonsense", "7")
        self.assertEqual((outcome.status, outcome.output), (USAGE, ""))
        self.assertIn("there is no option 'NONSENSE'", outcome.errors)

    def test_a_tube_that_is_not_there(self):
        self.fails(GONE, "there is no such tube: 'orders'", "pause", "orders", "1m")
        self.assertNotIn("elapse list", self.client("pause", "orders", "1m").errors)
        for tube in ("order", "orders-eu", "mails"):
            self.done("put", tube, "x")
        for words in (["pause", "oders", "1m"], ["resume", "oders"], ["kick", "oders", "1"],
                      ["kick", "oders", "--all"], ["limit", "oders"], ["stats", "oders"]):
            self.fails(GONE, "there is no such tube: 'oders'; did you mean 'order'?", *words)
        self.fails(GONE, "'ord'; did you mean 'order' or 'orders-eu'?", "stats", "ord")
        self.fails(GONE, "'sms'; 'elapse list' shows the tubes", "stats", "sms")


class Arrivals(VerbTest):
    def test_a_job_waits_for_its_arrivals(self):
        self.assertEqual(self.done("put", "t", "all", "--key", "k", "--await", "4"), "1 scheduled\n")
        [job] = self.json_of("lookup", "t", "k")
        self.assertEqual((job["state"], job["await"], job["due"]), ("delayed", 4, None))
        self.assertRegex(self.done("lookup", "t", "k"), r"\ndue +-\n")
        self.assertRegex(self.done("list", "t"), r"\n1 +delayed +- +- +0 +k")
        self.assertEqual(self.done("arrive", "t", "k"), "left 3\n")
        self.assertEqual(self.done("put", "t", "all", "--key", "k", "--await", "4"), "1 kept\n")
        self.assertEqual(self.done("arrive", "t", "k", "--arrive-token", "x"), "left 2\n")
        self.assertEqual(self.json_of("arrive", "t", "k", "--arrive-token", "x"), [{"left": 2}])
        self.fails(GONE, "no job is ready", "reserve", "t")
        self.assertEqual(self.done("arrive", "t", "k", "2", "--arrive-token", "y", "--arrive-token-for",
                                   "1m"), "left 0\n")
        self.done("ack", *self.reserve("t"))
        self.assertEqual(self.done("arrive", "t", "k", "2", "--arrive-token", "y"), "left 0\n")
        self.fails(GONE, "no job with this key waits for arrivals", "arrive", "t", "k")

    def test_the_time_out_comes_first(self):
        self.done("put", "t", "all", "--key", "k", "--await", "4294967295", "--in", "1ms")
        [job] = self.json_of("reserve", "t", "--wait", "30s")
        self.assertEqual(job["await"], 4294967295)
        self.fails(GONE, "no job with this key waits for arrivals", "arrive", "t", "k")


class Usage(ClientTest):
    def test_bad_command_lines(self):
        for says, *arguments in (
                ("a tube is missing", "kick"), ("a count is missing, or --all", "kick", "t"),
                ("'x' is not a count", "kick", "t", "x"), ("'0' is not a count", "kick", "t", "0"),
                ("unknown argument '2'", "kick", "t", "1", "2"),
                ("unknown argument '1'", "kick", "t", "1", "--all"),
                ("exclude each other", "kick", "--id", "1", "--all"),
                ("an id is missing", "kick", "--id"),
                ("is not the id of a job", "kick", "--id", "t"),
                ("a tube is missing", "pause"), ("a duration is missing", "pause", "t"),
                ("a unit is missing", "pause", "t", "10"), ("unknown argument", "resume", "t", "1s"),
                ("a tube is missing", "resume"), ("a tube is missing", "limit"),
                ("a tube is missing", "reserve"),
                ("a tube is missing", "arrive"), ("a key is missing", "arrive", "t"),
                ("'0' is not a count of arrivals", "arrive", "t", "k", "0"),
                ("is not a count of arrivals", "arrive", "t", "k", "4294967296"),
                ("unknown argument '2'", "arrive", "t", "k", "1", "2"),
                ("a unit is missing", "arrive", "t", "k", "--arrive-token-for", "3"),
                ("--await needs --key", "put", "t", "x", "--await", "3"),
                ("--await", "put", "t", "x", "--key", "k", "--await", "0"),
                ("a unit is missing", "reserve", "t", "--wait", "3"),
                ("the id of a job is missing", "ack"), ("the lease is missing", "ack", "1"),
                ("the lease is missing", "nack", "1", "1-1", "2"),
                ("is not the id of a job", "bury", "1-1", "1"),
                ("is not a lease", "extend", "1", "2"),
                ("a unit is missing", "nack", "1", "1-1", "--in", "5")):
            self.assert_usage_error(f"elapse {arguments[0]}", *arguments, says=[says])

    def test_refused_by_the_server(self):
        self.start()
        self.fails(USAGE, "ERR", "reserve", "t", "--count", "1001")
        self.fails(USAGE, "ERR", "nack", "1", "1-1", "--in", "1s", "--after", "1s")
        self.fails(USAGE, "ERR", "limit", "x" * 201, "--concurrency", "1")

    def test_no_server(self):
        arguments = {"kick": ["t", "1"], "arrive": ["t", "k"], "pause": ["t", "1m"], "ack": ["1", "1-1"],
                     "nack": ["1", "1-1"], "bury": ["1", "1-1"], "extend": ["1", "1-1"]}
        for verb in VERBS:
            self.fails(NO_SERVER, "no connection", verb, *arguments.get(verb, ["t"]), "--server",
                       "127.0.0.1:1")

    def test_replies_of_another_kind(self):
        for reply, *arguments in (
                (b"+a\033b\r\n", "pause", "t", "1s"), (b":1\r\n", "resume", "t"),
                (b"+word\r\n", "kick", "t", "1"), (b":-1\r\n", "kick", "t", "1"),
                (b"*1\r\n+ok\r\n", "ack", "1", "1-1", "2", "1-2"),
                (b"*1\r\n*1\r\n:1\r\n", "reserve", "t"), (b":1\r\n", "reserve", "t"),
                (b"-\033[2J\r\n", "extend", "1", "1-1")):
            def answer(connection, reply=reply):
                connection.recv(1000)
                connection.sendall(reply)
            outcome = self.client(*arguments, "--server", Stranger(self, answer).address)
            self.assertEqual((outcome.status, outcome.output), (FAILED, ""), (arguments, outcome))
            self.assertNotIn("\033", outcome.errors)
            self.assertEqual(len(outcome.errors.splitlines()), 1, outcome)

    def test_a_connection_that_ends_with_a_reply(self):
        """What is not the last job of the command was not sent, and the status says so."""
        def answer(connection):
            connection.recv(1000)
            send_and_end(connection, b"+ok\r\n")
        outcome = self.client("kick", "--id", "1", "2", "3", "--server", Stranger(self, answer).address)
        self.assertEqual((outcome.status, outcome.output), (NO_SERVER, "1 ok\n"), outcome)
        self.assertRegex(outcome.errors, r"^elapse kick: [^\n]* after 1; what is behind it was not sent\n$")
        outcome = self.client("kick", "--id", "1", "--server", Stranger(self, answer).address)
        self.assertEqual((outcome.status, outcome.output, outcome.errors), (OK, "1 ok\n", ""))

    def test_help(self):
        for verb in VERBS:
            output = self.succeed(verb, "--help")
            self.assertTrue(output.startswith(f"Usage: elapse {verb} "), output)
            self.assertLessEqual(max(map(len, output.splitlines())), 80, verb)
            self.assertEqual(self.client(verb, "--version").status, OK)


if __name__ == "__main__":
    support.main()
