"""Tests the commands that use a server: elapse put, cancel, reschedule, lookup, list, stats, top."""

import base64
import contextlib
import fcntl
import os
import pty
import re
import select
import signal
import socket
import struct
import subprocess
import termios
import threading
import time

import support
from client_support import (FAILED, FULL, GONE, LONG_S, NO_SERVER, NOT_AUTHORISED, OK, TAKEN,
                            UNKNOWN, USAGE, ClientTest, Stranger, send_and_end)
from serve_support import FREE_PORT, Server
from server_process import hold_port

VERBS = ("put", "cancel", "reschedule", "lookup", "list", "stats", "top", "find")


class Jobs(ClientTest):
    """Each command: from its arguments to what it prints."""

    def setUp(self):
        super().setUp()
        self.start()

    def test_put_and_cancel(self):
        self.assertEqual(self.done("put", "orders", "pay 1", "--in", "30m", "--key", "1"),
                         "1 scheduled\n")
        self.assertEqual(self.done("put", "orders", "pay 1", "--in", "1h", "--key", "1"),
                         "2 replaced\n")
        self.assertEqual(self.json_of("put", "orders", "x"), [{"id": 3, "result": "scheduled"}])
        self.assertEqual(self.done("cancel", "orders", "1"), "1 removed\n")
        self.assertEqual(self.done("cancel", "orders", "1", "2", status=GONE), "1 gone\n2 gone\n")
        self.assertEqual(self.done("cancel", "--id", "3", "99", status=GONE),
                         "3 removed\n99 gone\n")
        self.assertEqual(self.json_of("cancel", "--id", "3", status=GONE),
                         [{"id": 3, "result": "gone"}])
        self.assertEqual(self.json_of("cancel", "orders", "k", status=GONE),
                         [{"key": "k", "result": "gone"}])

    def test_a_taken_key(self):
        self.done("put", "t", "first", "--key", "k")
        self.fails(TAKEN, "BUSYKEY 1 has this key", "put", "t", "x", "--key", "k", "--ifkey", "fail")
        self.assertEqual(self.done("put", "t", "x", "--key", "k", "--ifkey", "keep"), "1 kept\n")
        self.assertEqual(self.done("put", "t", "new", "--key", "k", "--ifkey", "debounce",
                                   "--max", "1h", "--in", "1m"), "1 replaced\n")
        self.assertEqual(self.done("lookup", "t", "k", "--body"), "new")

    def test_a_job_that_a_worker_has(self):
        self.done("put", "t", "x", "--key", "k")
        client = self.servers[0].connect()
        client.send(b"*2\r\n$7\r\nRESERVE\r\n$1\r\nt\r\n")
        self.assertEqual(client.line(), b"*1")
        self.assertEqual(self.done("put", "t", "y", "--key", "k", "--ifkey", "keep", status=TAKEN),
                         "1 running\n")
        self.assertEqual(self.done("reschedule", "t", "k", "--in", "1m", status=TAKEN), "running\n")
        self.assertEqual(self.json_of("list", "t")[0]["state"], "reserved")
        self.assertEqual(self.done("cancel", "t", "k"), "k running\n")

    def test_options_of_put(self):
        self.assertEqual(self.done("put", "t", "a", "--put-token", "z"), "1 scheduled\n")
        self.assertEqual(self.done("put", "t", "a", "--put-token", "z"), "1 known\n")
        self.done("put", "t", "b", "--tag", "spring", "--priority", "7", "--ttr", "5s", "--expire",
                  "1h", "--put-token", "y", "--put-token-for", "20s", "--attempts", "3", "--backoff",
                  "1s..1m", "--at", "2100-01-01T00:00:00+01:00", "--key", "b")
        [job] = self.json_of("lookup", "t", "b")
        self.assertEqual({name: job[name] for name in ("id", "state", "due", "priority", "ttr",
                                                       "expire", "attempts_max", "retry", "recurring", "body")},
                         {"id": 2, "state": "delayed", "due": 4102441200000, "priority": 7,
                          "ttr": 5000, "expire": 3600000, "attempts_max": 3, "retry": 3, "recurring": False,
                          "body": "b"})
        self.assertEqual([job["id"] for job in self.json_of("list", "t", "--tag", "spring")], [2])
        self.done("put", "t", "c", "--cron", "0 9 * * mon", "--zone", "Europe/Berlin", "--key", "c")
        self.assertTrue(self.json_of("lookup", "t", "c")[0]["recurring"])
        self.done("put", "t", "d", "--every", "1h", "--key", "d")
        self.done("put", "t", "e", "--at", "4102441200000", "--key", "e")
        self.assertEqual(self.json_of("lookup", "t", "e")[0]["due"], 4102441200000)

    def test_a_time_is_never_early(self):
        self.done("put", "t", "e", "--at", "2100-01-01T00:00:00.0001+01:00", "--key", "e")
        self.assertEqual(self.json_of("lookup", "t", "e")[0]["due"], 4102441200001)

    def test_where_a_body_comes_from(self):
        every_byte = bytes(range(256))
        self.write("body", every_byte)
        for arguments, stdin, body in ((["@body"], b"", every_byte), (["--file", "body"], b"",
                                                                      every_byte),
                                       ([], every_byte, every_byte), (["@@home"], b"", b"@home"),
                                       ([""], b"", b""), ([], b"", b""), (["--", "--in"], b"",
                                                                          b"--in")):
            put_id = self.done("put", "t", *arguments, stdin=stdin).split()[0]
            completed = subprocess.run([support.PROGRAM, "lookup", "--id", put_id, "--body"],
                                       env=self.environment(), stdout=subprocess.PIPE, check=True,
                                       timeout=LONG_S)
            self.assertEqual(completed.stdout, body)
        [job] = self.json_of("lookup", "--id", "1")
        self.assertEqual(base64.b64decode(job["body_base64"]), every_byte)
        self.fails(USAGE, "No such file", "put", "t", "@nothing")
        self.fails(USAGE, "the body '@' is written '@@'", "put", "t", "@")
        self.assertEqual(self.json_of("lookup", "--id", self.done("put", "t", "@@").split()[0])
                         [0]["body"], "@")
        self.fails(USAGE, "exclude each other", "put", "t", "x", "--file", "body")
        self.fails(USAGE, "Is a directory", "put", "t", "@.")

    def test_an_input_that_does_not_block(self):
        """Another program that has the same pipe may have set it to non-blocking."""
        for arguments, output in (([], b"1 scheduled\n"), (["--lines"], b"2 scheduled\n")):
            reader, writer = os.pipe()
            os.set_blocking(reader, False)
            with subprocess.Popen([support.PROGRAM, "put", "t", *arguments], stdin=reader,
                                  stdout=subprocess.PIPE, env=self.environment()) as put:
                os.close(reader)
                time.sleep(0.2)
                os.write(writer, b"late")
                os.close(writer)
                self.assertEqual((put.stdout.read(), put.wait(LONG_S)), (output, OK))
        self.assertEqual(self.done("lookup", "--id", "1", "--body"), "late")

    def test_the_longest_body(self):
        self.done("put", "t", stdin=b"x" * 65535)
        self.fails(USAGE, "ERR", "put", "t", stdin=b"x" * 65536)
        self.fails(USAGE, "at most 32 MiB", "put", "t", stdin=b"x" * ((32 << 20) + 1))

    def test_lines(self):
        count = 5000
        lines = b"".join(b"job %d\n" % number for number in range(count)) + b"the last"
        output = self.done("put", "t", "--lines", "--in", "1h", stdin=lines)
        self.assertEqual(output, "".join(f"{number} scheduled\n" for number in
                                         range(1, count + 2)))
        self.assertEqual(self.done("lookup", "--id", "1", "--body"), "job 0")
        self.assertEqual(self.done("lookup", "--id", str(count + 1), "--body"), "the last")
        self.assertEqual(self.done("put", "t", "--lines", stdin=b""), "")
        self.assertEqual(self.done("put", "u", "--lines", stdin=b"\n\r\n"),
                         f"{count + 2} scheduled\n{count + 3} scheduled\n")

    def test_a_bad_line_is_named_and_the_others_are_put(self):
        lines = b"one\n" + b"x" * 70000 + b"\nthree\n"
        outcome = self.client("put", "t", "--lines", stdin=lines)
        self.assertEqual(outcome.status, USAGE, outcome)
        self.assertEqual(outcome.output, "1 scheduled\n2 scheduled\n")
        self.assertRegex(outcome.errors, r"^elapse put: line 2: ERR .*\n$")

    def test_lines_that_come_slowly_are_put_at_once(self):
        with subprocess.Popen([support.PROGRAM, "put", "t", "--lines"], env=self.environment(),
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE) as put:
            for number in (1, 2):
                put.stdin.write(b"a line\n")
                put.stdin.flush()
                self.assertEqual(put.stdout.readline(), b"%d scheduled\n" % number)
            put.stdin.close()
            self.assertEqual(put.wait(LONG_S), OK)

    def test_reschedule(self):
        self.done("put", "t", "x", "--key", "k", "--in", "1h")
        self.assertEqual(self.done("reschedule", "t", "k", "--at", "4102441200000"),
                         "rescheduled\n")
        self.assertEqual(self.json_of("lookup", "t", "k")[0]["due"], 4102441200000)
        self.assertEqual(self.json_of("reschedule", "--id", "1", "--in", "2h"),
                         [{"result": "rescheduled"}])
        self.assertEqual(self.done("reschedule", "--id", "9", "--in", "2h", status=GONE), "gone\n")
        self.assertEqual(self.done("reschedule", "t", "q", "--in", "2h", status=GONE), "gone\n")

    def test_lookup_for_people(self):
        self.done("put", "t", "two\nlines\033[2J", "--key", "k", "--at", "4102441200000")
        output = self.done("lookup", "t", "k")
        self.assertIn("\nbody          two?lines?[2J\n", output)
        self.assertIn("\ndue           2099-12-31T23:00:00.000Z\n", output)
        self.fails(GONE, "there is no such job", "lookup", "t", "nobody")
        self.fails(GONE, "there is no such job", "lookup", "--id", "99", "--json")

    def test_list(self):
        count = 2500
        self.done("put", "many", "--lines", "--in", "1h", stdin=b"x\n" * count)
        self.done("put", "few", "x", "--tag", "a\tb")
        ids = [job["id"] for job in self.json_of("list", "many")]
        self.assertEqual(sorted(ids), list(range(1, count + 1)))
        self.assertEqual(len(self.json_of("list", "many", "--limit", "1001")), 1001)
        self.assertEqual(self.json_of("list", "many", "--state", "buried"), [])
        table = self.done("list", "few").splitlines()
        self.assertEqual(len(table), 2)
        self.assertRegex(table[0], r"^ID +STATE +DUE +LEFT +ATTEMPTS +KEY +TAG +GROUP +ERROR$")
        self.assertRegex(table[1], r"^2501 +ready +2\S+Z +0 +0 +- +a\?b +- +-$")
        self.assertEqual([(job["key"], job["tag"]) for job in self.json_of("list", "few")],
                         [(None, "a\tb")])
        self.assertEqual(self.done("list", "few", "--columns", "id,priority"), "ID    PRIORITY\n2501  1,024\n")
        self.assertEqual(self.json_of("list", "few", "--columns", "tag,id"), [{"id": 2501, "tag": "a\tb"}])
        self.assertEqual(len(self.json_of("list", "many", "--limit", "250")), 250)
        self.fails(USAGE, "need a tube", "list", "--columns", "id")
        self.fails(USAGE, "a job has no 'stat'; did you mean 'state'?", "list", "few", "--columns", "id,stat")
        self.fails(USAGE, "a job has no ''; id, state", "list", "few", "--columns", "id,")
        self.assertEqual(set(self.done("list").split()), {"many", "few"})
        self.assertEqual(sorted(line["tube"] for line in self.json_of("list")), ["few", "many"])
        self.fails(USAGE, "ERR", "list", "few", "--state", "odd", "--json")

    def test_a_list_of_a_tube_that_is_not_there(self):
        self.done("put", "orders", "x")
        self.fails(GONE, "there is no such tube: 'ordres'; did you mean 'orders'?", "list", "ordres")
        self.fails(GONE, "there is no such tube", "list", "ordres", "--json", "--state", "buried")
        self.assertEqual(self.json_of("list", "orders", "--state", "buried"), [])
        self.assertEqual(len(self.done("list", "orders", "--tag", "none").splitlines()), 1)

    def test_a_list_in_order(self):
        for seconds in (300, 100, 200):
            self.done("put", "t", f"in {seconds}", "--in", f"{seconds}s")
        self.assertEqual([job["id"] for job in self.json_of("list", "t", "--soonest")], [2, 3, 1])
        for _ in range(3):
            self.done("put", "u", "x")
        for number in (5, 4, 6):
            [job] = self.json_of("reserve", "u")
            self.done("bury", str(job["id"]), job["lease"], "--error", f"error {number}")
        self.assertEqual([job["id"] for job in self.json_of("list", "u", "--newest")], [6, 5, 4])
        self.assertEqual(self.done("list", "u", "--newest", "--limit", "1", "--columns", "id,error"),
                         "ID  ERROR\n6   error 6\n")
        self.assertEqual(self.done("list", "t", "--soonest", "--columns", "body,id").splitlines()[1],
                         "in 100  2")
        self.assertEqual(self.json_of("list", "t", "--body", "2", "--soonest")[0]["body"], "in")
        for words in (["--newest", "--soonest"], ["--newest", "--state", "ready"]):
            self.assertEqual(self.client("list", "t", *words).status, USAGE)
        self.fails(USAGE, "1 to 1024", "list", "t", "--body", "1025")

    def test_what_recurs(self):
        self.done("put", "t", "once", "--in", "1h")
        self.done("put", "t", "often", "--every", "1h", "--key", "k")
        self.done("put", "u", "nightly", "--cron", "0 3 * * *")
        table = self.done("list", "--recurring").splitlines()
        self.assertRegex(table[0], r"^ID +TUBE +STATE +DUE +LEFT +EVERY +CRON +ZONE +MISSED +FAILURES +KEY +TAG +ERROR$")
        self.assertRegex(table[1], r"^2 +t +delayed +2\S+Z +\S+ \S+ +1h +- +- +0 +0 +k +- +-$")
        self.assertRegex(table[2], r"   0 3 \* \* \* +- +0 ")
        self.assertEqual([(job["every"], job["cron"], job["zone"]) for job in self.json_of("list", "--recurring")],
                         [(3_600_000, None, None), (0, "0 3 * * *", None)])
        self.assertEqual(len(table), 3)
        self.assertEqual([job["id"] for job in self.json_of("list", "--recurring")], [2, 3])
        self.assertEqual([job["key"] for job in self.json_of("list", "t", "--recurring")], ["k"])
        self.assertEqual(self.json_of("list", "t", "--recurring", "--state", "ready"), [])
        self.assertEqual(self.done("list", "--recurring", "--columns", "tube,body").splitlines()[1:], ["t     often", "u     nightly"])
        self.fails(GONE, "there is no such tube", "list", "nowhere", "--recurring")
        self.fails(USAGE, "neither --newest", "list", "t", "--recurring", "--newest")
        self.fails(USAGE, "need a tube", "list", "--recurring", "--state", "ready")

    def test_find(self):
        for tube in ("a", "b", "c"):
            self.done("put", tube, "x", "--key", "k" if tube != "b" else "other")
        self.assertEqual([job["tube"] for job in self.json_of("find", "k")], ["a", "c"])
        table = self.done("find", "other").splitlines()
        self.assertRegex(table[0], r"^ID +TUBE +STATE +DUE +LEFT +ATTEMPTS$")
        self.assertRegex(table[1], r"^2 +b +ready ")
        self.fails(GONE, "no job has the key 'nobody'", "find", "nobody")
        self.assert_usage_error("elapse find", "find", says=["a key is missing"])

    def test_groups(self):
        for group in ("amy", "amy", "bob"):
            self.done("put", "t", "x", "--group", group)
        self.done("put", "t", "x", "--group", "bob", "--in", "1h")
        self.done("put", "u", "x")
        self.json_of("reserve", "t")
        zero = {"delayed": 0, "ready": 0, "running": 0, "buried": 0}
        free = {"held": 0, "held_by": None, "held_left": 0}
        groups = sorted(self.json_of("groups", "t"), key=lambda group: group["group"])
        self.assertEqual([group.pop("overdue") >= 0 for group in groups], [True, True])
        zero |= free
        self.assertEqual(groups,
                         [zero | {"group": "amy", "ready": 1, "running": 1},
                          zero | {"group": "bob", "ready": 1, "delayed": 1}])
        table = self.done("groups", "t").splitlines()
        self.assertRegex(table[0], r"^GROUP +DELAYED +READY +RUNNING +BURIED +HELD +HELD BY +HELD LEFT +OVERDUE$")
        self.assertEqual(len(self.json_of("groups", "t", "--limit", "1")), 1)
        self.assertEqual(self.done("groups", "u").splitlines(), [table[0]])
        self.assertEqual(self.json_of("groups", "t", "--held"), [])
        self.done("limit", "t", "--group-concurrency", "1")
        self.assertRegex(self.done("groups", "t", "--held").splitlines()[1], r"^amy +0 +1 +1 +0 +1 +group_concurrency +\S")
        self.assertEqual([group["held"] for group in self.json_of("groups", "t", "--held")], [1])
        self.assertEqual(self.json_of("stats", "t")[0]["held_by"], "group_concurrency")
        # A rate says when the next one may run.
        self.done("limit", "w", "--group-rate", "1", "--per", "1h")
        for _ in range(2):
            self.done("put", "w", "x", "--group", "amy")
        self.json_of("reserve", "w")
        self.assertRegex(self.done("groups", "w", "--held").splitlines()[1], r"^amy +0 +1 +1 +0 +1 +group_rate +(1h|59m)")
        self.fails(GONE, "there is no such tube: 'v'", "groups", "v")
        self.assert_usage_error("elapse groups", "groups", says=["a tube is missing"])

    def test_clients(self):
        self.done("put", "mails", "x")
        self.json_of("reserve", "mails", "--holder", "a b,c%")
        rows = self.json_of("clients")
        self.assertEqual([(row["name"], row["leases"], row["tubes"]) for row in rows if row["id"] == 0],
                         [("a b,c%", 1, ["mails"])])
        [own] = [row for row in rows if row["id"] != 0]
        self.assertEqual((own["leases"], own["oldest"], own["tubes"]), (0, 0, []))
        self.assertRegex(own["addr"], r"^127\.0\.0\.1:[0-9]+$")
        table = self.done("clients").splitlines()
        self.assertRegex(table[0], r"^ID +ADDR +NAME +LEASES +OLDEST +TUBES$")
        self.assertRegex(table[-1], r"^0 +- +a b,c% +1 +\S.* mails$")
        self.assert_usage_error("elapse clients", "clients", "x", says=["unknown argument 'x'"])
        # Names with a comma, of digits, and that are no text.
        for tube in ("a,b", "12", b"\xff", "/w=="):
            self.done("put", tube, "x")
            self.done("reserve", tube, "--holder", "many")
        [many] = [row for row in self.json_of("clients") if row["name"] == "many"]
        self.assertEqual(many["leases"], 4)
        self.assertEqual(sorted(map(str, many["tubes"])), sorted(["a,b", "12", "/w==", "{'name_base64': '/w=='}"]))

    def test_history(self):
        server = Server(self, ["--test-clock", "--durability", "memory", *FREE_PORT])
        self.servers.append(server)
        self.addCleanup(server.kill)
        self.address = server.addresses()[0]
        young = self.client("history")
        self.assertEqual(young.status, OK)
        self.assertEqual(young.errors, "elapse history: there is nothing to show yet: the first minute of the server is not over\n")
        self.assertRegex(young.output, r"^AT +PUT +DONE +READY +BURIED +OVERDUE +LATE P99 +LATE MAX\n$")
        self.done("put", "t", "x")
        clock = server.connect()
        # The first minute begins when the server has looked once, so several may be needed.
        while not self.client("history", "--json").output:
            self.assertRegex(clock.ask(b"*3\r\n$5\r\nCLOCK\r\n$7\r\nADVANCE\r\n$2\r\n1m\r\n"), b"^:[0-9]+$")
        [last] = self.json_of("history", "--minutes", "1")
        self.assertEqual(set(last), {"at", "span", "delayed", "ready", "reserved", "buried", "overdue", "put", "came_due",
                                     "handed_out", "done", "cancelled", "late_p99", "late_max"})
        self.assertEqual((last["ready"], last["done"]), (1, 0))
        minutes = self.json_of("history")
        titles, *lines = self.done("history").splitlines()
        self.assertRegex(titles, r"^AT +PUT +DONE +READY +BURIED +OVERDUE +LATE P99 +LATE MAX$")
        self.assertEqual(len(lines), len(minutes))
        # The put came before the first minute, unless the server had looked before it.
        self.assertLessEqual(sum(minute["put"] for minute in minutes), 1)
        self.assertRegex(lines[-1], rf"^\d{{4}}-\d\d-\d\d.* {minutes[-1]['put']} +0 +1 +0 +\S.* - +-$")
        self.assert_usage_error("elapse history", "history", "x", says=["unknown argument 'x'"])
        self.assertEqual(self.client("history", "--minutes", "1441").status, USAGE)

    def test_whoami(self):
        self.assertEqual(self.json_of("whoami"), [{"user": "default", "rights": ["put", "work", "look", "admin"], "tubes": None}])
        self.assertEqual(self.done("whoami").splitlines(), ["user    default", "rights  put,work,look,admin", "tubes   -"])
        self.assert_usage_error("elapse whoami", "whoami", "x", says=["unknown argument 'x'"])

    def test_cancel_all(self):
        self.done("put", "t", "--lines", "--tag", "a", stdin=b"x\n" * 10)
        self.done("put", "t", "y")
        self.assertEqual(self.done("cancel", "t", "--all", "--tag", "a"), "removed 10, running 0\n")
        self.assertEqual(self.json_of("cancel", "t", "--all", "--state", "ready"),
                         [{"removed": 1, "running": 0}])

    def test_many_keys_are_cancelled_in_pieces(self):
        keys = [f"k{number}" for number in range(2500)]
        for key in ("k0", "k999", "k1000", "k2499"):
            self.done("put", "t", "x", "--key", key, "--in", "1h")
        lines = self.done("cancel", "t", *keys, status=GONE).splitlines()
        self.assertEqual([line.split()[0] for line in lines], keys)
        self.assertEqual([line.split()[0] for line in lines if line.endswith(" removed")],
                         ["k0", "k999", "k1000", "k2499"])

    def test_stats(self):
        self.done("put", "t", "x")
        [tube] = self.json_of("stats", "t")
        self.assertEqual((tube["ready"], tube["total_put"]), (1, 1))
        [server] = self.json_of("stats")
        self.assertIs(server["disk_full"], False)
        self.assertRegex(self.done("stats", "t"), r"\nready +1\n")
        self.fails(GONE, "there is no such tube", "stats", "nothing")

    def test_a_reader_that_has_gone(self):
        self.done("put", "t", "--lines", stdin=b"x\n" * 2000)
        with subprocess.Popen([support.PROGRAM, "list", "t", "--json"], env=self.environment(),
                              stdout=subprocess.PIPE, stderr=subprocess.PIPE) as listing:
            listing.stdout.read(1)
            listing.stdout.close()
            self.assertEqual(listing.stderr.read(), b"")
            self.assertNotEqual(listing.wait(LONG_S), OK)

    def test_lines_whose_answers_nobody_reads(self):
        """The client says how far it came, and that is true."""
        with subprocess.Popen([support.PROGRAM, "put", "t", "--lines"], env=self.environment(),
                              stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE) as lines:
            lines.stdout.close()
            _, errors = lines.communicate(b"x\n" * 3000)
        self.assertEqual(lines.returncode, 1, errors)
        said = re.search(rb"cannot be written: (\d+) lines were answered; (?:nobody knows whether "
                         rb"lines \d+ to (\d+) were put; )?those behind were not sent", errors)
        self.assertIsNotNone(said, errors)
        answered = int(said[1])
        put = self.json_of("stats", "t")[0]["total_put"]
        self.assertTrue(answered <= put <= int(said[2] or answered), (errors, put))

    def test_output_that_cannot_be_written(self):
        with open("/dev/full", "wb") as full:
            outcome = self.client("put", "t", "x", stdout=full)
        self.assertEqual(outcome.status, 1, outcome)
        self.assertIn("standard output: No space left", outcome.errors)


class Usage(ClientTest):
    def test_bad_command_lines(self):
        for says, *arguments in (
                ("a tube is missing", "put"), ("unknown argument 'c'", "put", "a", "b", "c"),
                ("give one of --in, --at", "put", "t", "x", "--in", "1s", "--every", "1s"),
                ("--zone needs --cron", "put", "t", "x", "--zone", "utc"),
                ("--ifkey needs --key", "put", "t", "x", "--ifkey", "keep"),
                ("need each other", "put", "t", "x", "--key", "k", "--ifkey", "debounce"),
                ("'odd' is not replace", "put", "t", "x", "--key", "k", "--ifkey", "odd"),
                ("a unit is missing", "put", "t", "x", "--in", "30"),
                ("a unit is missing", "put", "t", "x", "--backoff", "1s..30"),
                ("the time is not of the form", "put", "t", "x", "--at", "tomorrow"),
                ("cannot share", "put", "t", "--lines", "--key", "k"),
                ("unknown argument 'x'", "put", "t", "x", "--lines"),
                ("a key is missing", "cancel", "t"), ("a tube is missing", "cancel"),
                ("an id is missing", "cancel", "--id"),
                ("is not the id of a job", "cancel", "--id", "1", "x"),
                ("is not the id of a job", "cancel", "--id", "0"),
                ("is not the id of a job", "lookup", "--id", str(2**53)),
                ("need --all", "cancel", "t", "k", "--tag", "a"),
                ("exclude each other", "cancel", "--id", "1", "--all"),
                ("give one of --in and --at", "reschedule", "t", "k"),
                ("give one of --in and --at", "reschedule", "t", "k", "--in", "1s", "--at",
                 "978307200000"),
                ("seconds need 000 behind them", "put", "t", "x", "--at", str(int(time.time()))),
                ("seconds need 000 behind them", "reschedule", "t", "k", "--at", "978307199999"),
                ("seconds need 000 behind them", "put", "t", "x", "--at", "0"),
                ("give a tube and a key", "reschedule", "t", "--in", "1s"),
                ("give a tube and a key", "lookup", "t"),
                ("exclude each other", "lookup", "t", "k", "--body", "--json"),
                ("need a tube", "list", "--tag", "a"), ("unknown argument", "stats", "a", "b"),
                ("unknown argument", "top", "x"), ("is no terminal", "top")):
            self.assert_usage_error(f"elapse {arguments[0]}", *arguments, says=[says])

    def test_bad_settings(self):
        self.write("two-lines", "a\nb\n")
        self.write("empty", "\n")
        self.write("longest", "x" * 4096 + "\n")
        self.write("longer", "x" * 4097)
        for verb in VERBS:
            arguments = {"put": ["t", "x"], "cancel": ["t", "k"], "lookup": ["t", "k"],
                         "reschedule": ["t", "k", "--in", "1s"], "top": ["--once"], "find": ["k"]}.get(verb, [])
            for status, says, *options in (
                    (USAGE, "others can read a command line", "--token", "secret"),
                    (USAGE, "the port is not a number", "--server", "host:port"),
                    (USAGE, "the host is missing", "--server", ":11300"),
                    (USAGE, "--server: '': the host is missing", "--server", ""),
                    (USAGE, "--token-file: '': No such file", "--token-file", ""),
                    (USAGE, "with more than one ':'", "--server", "::1:11300"),
                    (USAGE, "need an address with tls:", "--server", "h:1", "--ca", "f"),
                    (USAGE, "need each other", "--server", "tls:h:1", "--cert", "f"),
                    (USAGE, "No such file", "--token-file", "nothing"),
                    (USAGE, "one line", "--token-file", "two-lines"),
                    (USAGE, "empty", "--token-file", "empty"),
                    (USAGE, "at most 4096", "--token-file", "longer"),
                    (NO_SERVER, "no connection", "--token-file", "longest", "--server",
                     "127.0.0.1:1")):
                self.fails(status, says, verb, *arguments, *options)

    def test_the_password_stands_in_no_message(self):
        outcome = self.client("put", "t", "x", "--token", "hunter2")
        self.assertNotIn("hunter2", outcome.errors)


class Connections(ClientTest):
    """Every way to a server, and every way to fail on it."""

    def test_no_server(self):
        for address in ("127.0.0.1:1", "[::1]:1", "unix:nothing", "no-such-host.invalid:1"):
            self.fails(NO_SERVER, f"{address}: no connection: ", "put", "t", "x", "--server",
                       address)
        self.fails(NO_SERVER, "no connection", "put", "t", "--lines", "--server", "127.0.0.1:1",
                   stdin=b"x\n" * 10)
        self.fails(NO_SERVER, "no connection", "cancel", "t", *["k"] * 3000, "--server",
                   "127.0.0.1:1")

    def test_unix_socket(self):
        self.start(listen="unix:socket")
        self.assertEqual(self.done("put", "t", "x"), "1 scheduled\n")

    def test_ipv6(self):
        try:
            socket.create_server(("::1", 0), family=socket.AF_INET6).close()
        except OSError:
            self.skipTest("this machine has no IPv6")
        self.start(listen="[::1]:0")
        self.assertEqual(self.done("put", "t", "x"), "1 scheduled\n")
        port = self.address.rpartition(":")[2]
        self.fails(NO_SERVER, "no connection", "put", "t", "x", "--server", f"127.0.0.1:{port}")

    def test_passwords(self):
        self.write("passwords", "open sesame\n")
        (self.directory / "passwords").chmod(0o600)
        self.write("right", "open sesame\n")
        self.write("wrong", "close\n")
        self.start("--auth", "passwords")
        self.assertEqual(self.done("put", "t", "x", "--token-file", "right"), "1 scheduled\n")
        self.assertEqual(self.done("put", "t", "--lines", "--token-file", "right",
                                   stdin=b"x\ny\n"), "2 scheduled\n3 scheduled\n")
        for verb in (["put", "t", "x"], ["put", "t", "--lines"], ["cancel", "t", "k"],
                     ["lookup", "t", "k"], ["list", "t"], ["stats"], ["top", "--once"],
                     ["reschedule", "t", "k", "--in", "1s"]):
            self.fails(NOT_AUTHORISED, "asks for a password", *verb, stdin=b"x\n")
            self.fails(NOT_AUTHORISED, "does not know this password", *verb, "--token-file",
                       "wrong", stdin=b"x\n")
        environment = self.environment() | {"ELAPSE_TOKEN_FILE": "right"}
        self.assertEqual(self.done("stats", "t", "--json", env=environment)[:1], "{")

    def test_a_password_for_a_server_without_any(self):
        self.write("password", "any\n")
        self.start()
        self.assertEqual(self.done("put", "t", "x", "--token-file", "password"), "1 scheduled\n")

    def test_tls(self):
        self.serve_tls()
        self.assertEqual(self.done("put", "t", "--ca", "server.pem", stdin=b"x" * 65535),
                         "1 scheduled\n")
        self.assertEqual(len(self.done("lookup", "--id", "1", "--body", "--ca", "server.pem")),
                         65535)
        lines = self.done("put", "t", "--lines", "--ca", "server.pem", stdin=b"x" * 500 + b"\n" +
                          b"y\n" * 5000).splitlines()
        self.assertEqual(len(lines), 5001)
        local = self.address.replace("127.0.0.1", "localhost")
        self.done("stats", "--ca", "server.pem", "--server", local)

    def test_tls_that_cannot_be_trusted(self):
        self.serve_tls()
        self.fails(NO_SERVER, "self-signed", "put", "t", "x")
        self.make_certificate("other", "DNS:localhost")
        self.fails(NO_SERVER, "no connection: ", "put", "t", "x", "--ca", "other.pem")
        self.fails(USAGE, "the certificates nothing", "put", "t", "x", "--ca", "nothing")
        # The certificate has the right signature, but another name.
        self.servers[0].stop()
        self.make_certificate("server", "DNS:elsewhere")
        self.start("--tls-certificate", "server.pem", "--tls-key", "server.key",
                   listen="tls:127.0.0.1:0")
        self.fails(NO_SERVER, "IP address mismatch", "put", "t", "x", "--ca", "server.pem")

    def test_tls_where_there_is_none(self):
        self.start()
        self.fails(NO_SERVER, "no connection: ", "put", "t", "x", "--server", "tls:" + self.address,
                   "--timeout", "200ms")

    def test_a_server_that_speaks_something_else(self):
        def answer(connection):
            connection.recv(100)
            connection.sendall(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        stranger = Stranger(self, answer)
        self.fails(NO_SERVER, "not of the protocol", "put", "t", "x", "--server", stranger.address)

    def test_the_old_name_of_attempts_is_sent_as_it_is(self):
        """A server of 0.2 knows RETRY alone."""
        said = []
        def answer(connection):
            said.append(connection.recv(1000))
            connection.sendall(b"*2\r\n:1\r\n+scheduled\r\n")
        for option, word in (("--retry", b"RETRY"), ("--attempts", b"ATTEMPTS")):
            self.assertEqual(self.client("put", "t", "x", option, "3", "--server",
                                         Stranger(self, answer).address).status, 0)
            self.assertIn(b"\r\n%s\r\n$1\r\n3\r\n" % word, said[-1])
        self.fails(USAGE, "--retry is the old name of --attempts", "put", "t", "x", "--retry", "3", "--attempts", "3")

    def test_replies_that_would_write_to_the_terminal(self):
        """What the server sends is checked before it is printed, and errors are masked."""
        for reply, *arguments in (
                (b"*2\r\n:1\r\n+\033[2J\r\n", "put", "t", "x"),
                (b"*1\r\n+\033[2J\r\n", "cancel", "t", "k"),
                (b'+a"b\r\n', "reschedule", "t", "k", "--in", "1s", "--json"),
                (b"-\033[2J\r\n", "stats")):
            def answer(connection, reply=reply):
                connection.recv(1000)
                connection.sendall(reply)
            stranger = Stranger(self, answer)
            outcome = self.client(*arguments, "--server", stranger.address)
            self.assertEqual((outcome.status, outcome.output), (FAILED, ""), outcome)
            self.assertNotIn("\033", outcome.errors)

    def test_an_array_of_more_values_than_any_reply_has(self):
        """The client takes no memory for it, and does not wait for the values."""
        def announce(connection):
            connection.recv(1000)
            connection.sendall(b"*2147483647\r\n")
            connection.recv(1000)
        stranger = Stranger(self, announce)
        self.fails(NO_SERVER, "not of the protocol", "stats", "--server", stranger.address)

    def list_of(self, answer):
        """Runs `elapse list`, with its messages on a terminal, against a server that answers the
        n-th LIST by answer(n)."""
        def talk(connection):
            asked = 0
            while said := connection.recv(1000):
                if b"STATS" in said: # of the server, and of the tube
                    connection.sendall(b"*2\r\n$7\r\ndelayed\r\n:1000000\r\n")
                else:
                    asked += 1
                    connection.sendall(answer(asked))
        ours, theirs = pty.openpty()
        listing = subprocess.Popen(
            [support.PROGRAM, "list", "t", "--state", "buried", "--server",
             Stranger(self, talk).address],
            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=theirs)
        os.close(theirs)
        self.addCleanup(os.close, ours)
        self.addCleanup(listing.stdout.close)
        self.addCleanup(listing.wait)
        self.addCleanup(listing.kill)
        return listing, ours

    def watch(self, *answers):
        """Runs `elapse list --watch` against a server that answers one LIST after another by these.
        Returns its status, what it drew, and its messages."""
        def talk(connection):
            left = list(answers)
            while said := connection.recv(1000):
                if b"STATS" in said:
                    connection.sendall(b"$-1\r\n")  # there is no such tube
                elif b"TUBES" in said:
                    connection.sendall(b"*2\r\n:0\r\n*0\r\n")
                elif left:
                    connection.sendall(left.pop(0))
                else:
                    return
        ours, theirs = pty.openpty()
        self.addCleanup(os.close, ours)
        fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 100, 0, 0))
        watching = subprocess.Popen(
            [support.PROGRAM, "list", "t", "--watch", "--interval", "100ms", "--server",
             Stranger(self, talk).address],
            stdin=subprocess.DEVNULL, stdout=theirs, stderr=subprocess.PIPE)
        os.close(theirs)
        self.addCleanup(watching.wait)
        self.addCleanup(watching.kill)
        errors = watching.communicate(timeout=LONG_S)[1].decode()
        drawn = b""
        with contextlib.suppress(OSError):  # the end of a terminal
            while some := os.read(ours, 65536):
                drawn += some
        return watching.returncode, drawn.decode(), errors

    def test_a_watch_that_ends_says_why(self):
        empty = b"*2\r\n:0\r\n*0\r\n"
        for answers, status, says in (
                ([b"-TRYAGAIN no owner\r\n"], NO_SERVER, "elapse list: TRYAGAIN no owner\n"),
                ([empty, b"-NOPERM no right\r\n"], NOT_AUTHORISED, "elapse list: NOPERM no right\n"),
                ([empty, empty], UNKNOWN, "nobody knows whether the command was done\n")):
            outcome = self.watch(*answers)
            self.assertEqual(outcome[0], status, outcome)
            self.assertTrue(outcome[2].endswith(says), outcome)
            self.assertEqual(outcome[2].count("\n"), 1, outcome)
            self.assertEqual("there is nothing now" in outcome[1], len(answers) > 1, outcome)

    def test_a_watch_shows_that_a_job_cannot_be_read_and_goes_on(self):
        page = (b"*2\r\n:0\r\n*2\r\n-DAMAGED %s job\r\n"
                b"*4\r\n$2\r\nid\r\n:4711\r\n$5\r\nstate\r\n$7\r\ndelayed\r\n")
        status, drawn, errors = self.watch(page % b"first", page % b"second", b"-TRYAGAIN no owner\r\n")
        self.assertEqual((status, errors), (NO_SERVER, "elapse list: TRYAGAIN no owner\n"))
        self.assertRegex(drawn, "(?s)a job of the list: 'DAMAGED first job'.*4711.*'DAMAGED second job'.*4711")

    def test_a_list_says_how_far_it_is(self):
        """A search for one job among a million gets hundreds of replies without a job."""
        seen = threading.Event()
        def answer(asked):
            return b"*2\r\n:0\r\n*0\r\n" if seen.is_set() else b"*2\r\n:%d\r\n*0\r\n" % asked
        listing, terminal = self.list_of(answer)
        said = b""
        while b"listed 0" not in said:
            self.assertTrue(select.select([terminal], [], [], LONG_S)[0], "it says nothing")
            said += os.read(terminal, 1000)
        self.assertRegex(said, rb"looked at some \d[\d,]* of 1,000,000 jobs, listed 0")
        seen.set()
        self.assertEqual(listing.wait(LONG_S), OK)
        self.assertEqual(len(listing.stdout.read().splitlines()), 1, "the head of the table")

    def test_a_list_shows_a_job_as_soon_as_it_has_it(self):
        seen = threading.Event()
        job = b"*4\r\n$2\r\nid\r\n:4711\r\n$5\r\nstate\r\n$6\r\nburied\r\n"
        def answer(asked):
            if asked == 2:
                return b"*2\r\n:2\r\n*1\r\n" + job
            if asked > 2 and not seen.wait(LONG_S):
                return b"-ERR nobody saw the job\r\n"
            return b"*2\r\n:%d\r\n*0\r\n" % (asked if asked < 5 else 0)
        listing, _ = self.list_of(answer)
        listing.stdout.readline()
        self.assertIn(b"4711", listing.stdout.readline())
        seen.set()
        self.assertEqual(listing.wait(LONG_S), OK)

    def gets_no_reply(self, handle, timeout):
        """Expects that a put to a server that behaves so is given up after this time. Puts again if the machine stood
        still for so long that the put was not even sent: then there was no server."""
        heard = []
        def hear(connection):
            heard.append(connection.recv(1000))
            handle(connection)
        stranger = Stranger(self, hear)
        for tries in range(1, 11):
            outcome = self.client("put", "t", "x", "--server", stranger.address, "--timeout", timeout)
            if outcome.status != NO_SERVER:
                break
            end = time.monotonic() + LONG_S
            while len(heard) < tries and time.monotonic() < end:
                time.sleep(0.01)
            self.assertEqual(heard[tries - 1:], [b""], outcome)
        self.assertEqual((outcome.status, outcome.output), (UNKNOWN, ""), outcome)
        self.assertRegex(outcome.errors, "^elapse put: .*there was no reply in time; nobody knows.*\n$")

    def test_a_reply_that_never_comes(self):
        def hang(connection):
            while connection.recv(1000):
                pass
        self.gets_no_reply(hang, "100ms")

    def test_a_reply_that_never_ends(self):
        """The time limit holds, also while bytes keep coming."""
        def drip(connection):
            connection.sendall(b"$1000\r\n")
            while True:
                connection.sendall(b"x")
                time.sleep(0.02)
        def until_gone(connection):
            try:
                drip(connection)
            except OSError:
                pass
        self.gets_no_reply(until_gone, "1s")

    def test_a_reply_longer_than_any(self):
        """Such a reply does not fill the memory of the client."""
        def flood(connection):
            try:
                connection.sendall(b"$536870911\r\n")
                for _ in range(500):
                    connection.sendall(b"x" * (1 << 20))
            except OSError:
                pass
        stranger = Stranger(self, flood)
        self.fails(NO_SERVER, "not of the protocol", "stats", "--server", stranger.address)

    def test_a_connection_that_breaks(self):
        stranger = Stranger(self, lambda connection: connection.recv(10))
        self.fails(UNKNOWN, "nobody knows whether the command was done", "put", "t", "x",
                   "--server", stranger.address)
        self.fails(UNKNOWN, "nobody knows whether lines 1 to ", "put", "t", "--lines", "--server",
                   stranger.address, stdin=b"x\n" * 100)

    def test_a_connection_that_breaks_before_the_password_is_answered(self):
        """The server may have accepted the password and run the request behind it."""
        def take(connection):
            taken = b""
            while b"PUT" not in taken:
                taken += connection.recv(100)
        stranger = Stranger(self, take)
        self.write("password", "open sesame\n")
        self.fails(UNKNOWN, "nobody knows whether the command was done", "put", "t", "x",
                   "--server", stranger.address, "--token-file", "password")

    def test_a_connection_that_breaks_after_some_answers(self):
        def answer_two(connection):
            connection.recv(10000)
            connection.sendall(b"*2\r\n:1\r\n+scheduled\r\n*2\r\n:2\r\n+scheduled\r\n")
        stranger = Stranger(self, answer_two)
        outcome = self.client("put", "t", "--lines", "--server", stranger.address, stdin=b"x\n" * 5)
        self.assertEqual((outcome.status, outcome.output),
                         (UNKNOWN, "1 scheduled\n2 scheduled\n"), outcome)
        self.assertIn("whether lines 3 to 5 were put", outcome.errors)

    def test_a_connection_that_ends_with_the_reply_to_the_first_keys(self):
        """One request has at most 1000 keys."""
        def answer(connection):
            taken = b""
            while b"$4\r\nk999\r\n" not in taken:
                taken += connection.recv(100000)
            send_and_end(connection, b"*1000\r\n" + b"+removed\r\n" * 1000)
        keys = [f"k{i}" for i in range(1001)]
        outcome = self.client("cancel", "t", *keys[:1000], "--server", Stranger(self, answer).address)
        self.assertEqual((outcome.status, outcome.errors), (OK, ""), outcome)
        outcome = self.client("cancel", "t", *keys, "--server", Stranger(self, answer).address)
        self.assertEqual((outcome.status, outcome.output.count("\n")), (NO_SERVER, 1000), outcome)
        self.assertRegex(outcome.errors, r"^elapse cancel: [^\n]* after k999; what is behind it was not sent\n$")

    def test_a_connection_that_ends_with_the_last_answers(self):
        """Every line was put, and every line has its answer."""
        def answer(connection):
            taken = b""
            while taken.count(b"PUT") < 5:
                taken += connection.recv(10000)
            time.sleep(0.2)  # so that the client has found the end of its input
            send_and_end(connection, b"*2\r\n:1\r\n+scheduled\r\n" * 5)
        output = self.done("put", "t", "--lines", "--server", Stranger(self, answer).address,
                           stdin=b"x\n" * 5)
        self.assertEqual(output, "1 scheduled\n" * 5)

    def test_an_answer_that_makes_no_sense_after_some_that_do(self):
        def answer_one(connection):
            connection.recv(10000)
            connection.sendall(b"*2\r\n:1\r\n+scheduled\r\nHTTP/1.1 400\r\n")
        stranger = Stranger(self, answer_one)
        outcome = self.client("put", "t", "--lines", "--server", stranger.address, stdin=b"x\n" * 5)
        self.assertEqual((outcome.status, outcome.output), (UNKNOWN, "1 scheduled\n"), outcome)
        self.assertIn("whether lines 2 to 5 were put", outcome.errors)

    def test_lines_for_a_server_that_reads_slowly(self):
        """The client reads no lines ahead that it cannot send yet. So no line seems too long."""
        count = 4500
        def read_late(connection):
            time.sleep(1)
            end = b""
            while taken := connection.recv(1 << 20):
                taken = end + taken
                connection.sendall(b"*2\r\n:1\r\n+scheduled\r\n" * taken.count(b"PUT"))
                end = taken[-2:]
        stranger = Stranger(self, read_late)
        outcome = self.client("put", "t", "--lines", "--server", stranger.address,
                              stdin=(b"x" * 10000 + b"\n") * count)
        self.assertEqual((outcome.status, outcome.errors), (OK, ""))
        self.assertEqual(outcome.output.count("\n"), count)

    def test_a_full_server(self):
        self.start("--max-jobs", "1")
        self.done("put", "t", "x")
        self.fails(FULL, "LIMIT", "put", "t", "x")
        outcome = self.client("put", "t", "--lines", stdin=b"x\ny\n")
        self.assertEqual((outcome.status, outcome.output), (FULL, ""), outcome)
        self.assertEqual(len(outcome.errors.splitlines()), 2)


class Top(ClientTest):
    def setUp(self):
        super().setUp()
        self.start()
        self.done("put", "orders", "--lines", stdin=b"x\n" * 3)

    def test_once(self):
        output = self.done("top", "--once")
        self.assertIn("jobs   delayed 0   ready 3   reserved 0   buried 0\n", output)
        self.assertRegex(output, r"\norders +3 +0 +(-|\d+s) +0 +0 +0 +- +-\n$")
        self.assertNotIn("\033", output)

    def read(self, terminal, wanted):
        """Reads pictures until one has these words, and returns it."""
        text = b""
        end = time.monotonic() + LONG_S
        while time.monotonic() < end:
            if not select.select([terminal], [], [], 1)[0]:
                continue
            try:
                text += os.read(terminal, 1 << 16)
            except OSError:
                break
            for picture in text.split(b"\033[H")[1:]:
                if picture.endswith(b"\033[J") and re.search(wanted, picture):
                    return picture
        self.fail(f"no {wanted!r} in {text!r}")

    def lines(self, picture):
        return re.sub(rb"\033\[[0-9;?]*[A-Za-z]", b"", picture).decode().splitlines()

    def open_terminal(self):
        """elapse top on a terminal of 80x24."""
        master, slave = pty.openpty()
        self.addCleanup(os.close, master)
        fcntl.ioctl(slave, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
        top = subprocess.Popen([support.PROGRAM, "top", "--interval", "100ms"], stdin=slave,
                               stdout=slave, stderr=slave, start_new_session=True,
                               preexec_fn=lambda: fcntl.ioctl(0, termios.TIOCSCTTY, 0),
                               env=self.environment() | {"TERM": "xterm"})
        os.close(slave)
        self.addCleanup(top.kill)
        return top, master

    def test_on_a_terminal(self):
        for number in range(30):
            self.done("put", f"tube-{number}", "x", "--in", "1h")
        top, terminal = self.open_terminal()
        lines = self.lines(self.read(terminal, rb"put 0/s"))
        self.assertLess(len(lines), 24)
        self.assertTrue(lines[0].startswith("elapse 127.0.0.1:"), lines)
        self.assertRegex(lines[-2], r"^and \d+ more$")
        self.assertTrue(lines[-1].startswith("q: quit  s: sort (trouble)"), lines)
        self.assertLessEqual(max(map(len, lines)), 80)
        fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 9, 30, 0, 0))
        top.send_signal(signal.SIGWINCH)
        end = time.monotonic() + LONG_S
        while len(lines) > 8 and time.monotonic() < end:
            lines = self.lines(self.read(terminal, rb"TUBE"))
        self.assertLess(len(lines), 9)
        self.assertLessEqual(max(map(len, lines)), 30)
        os.write(terminal, b"xq")
        self.assertEqual(top.wait(LONG_S), OK)

    def test_keys(self):
        """Into a tube and a job, and back; kick and pause, each after a question; sort and filter."""
        for number in range(3):
            [job] = self.json_of("reserve", "orders")
            if number < 2:
                self.done("bury", str(job["id"]), job["lease"], "--error", "no route to host")
        self.done("put", "mails", "x", "--in", "1h")
        top, terminal = self.open_terminal()
        picture = self.read(terminal, rb">orders +0 +2 ")
        for keys, wanted in ((b"\r", rb"2 +buried .*no route to host"), (b"\r", rb"orders, job 2 "),
                             (b"\033", rb"1 +buried .*no route"), (b"\033[B", rb"1 +buried"),
                             (b"k", rb"kick job 1\? y/n"), (b"y", rb"kick: ok"),
                             (b"\033", rb">orders +1 +1 "), (b"k", rb"kick 1 buried jobs of orders\? y/n"),
                             (b"n", rb"q: quit"), (b"p", rb"pause orders for 10m\? y/n"),
                             (b"y", rb"pause: ok"), (b"x", rb"orders +1 +1 +paused"),
                             (b"s", rb"sorted by ready"), (b"/mai", rb"begins with: mai_"),
                             (b"\r", rb"tubes that begin with 'mai'"), (b"x", rb">mails ")):
            os.write(terminal, keys)
            picture = self.read(terminal, wanted)
        self.assertNotIn(b"orders", picture)
        states = {job["id"]: job["state"] for job in self.json_of("list", "orders")}
        self.assertEqual(states, {1: "ready", 2: "buried", 3: "reserved"})
        self.assertGreater(self.json_of("stats", "orders")[0]["pause_left"], 500 * 1000)
        os.write(terminal, b"q")
        self.assertEqual(top.wait(LONG_S), OK)

    def bury(self, tube, count):
        for _ in range(count):
            self.done("put", tube, "x")
            [job] = self.json_of("reserve", tube)
            self.done("bury", str(job["id"]), job["lease"])

    def test_an_answer_is_for_the_tube_that_the_question_named(self):
        """Another tube comes to the selected place while the question stands."""
        self.bury("mails", 1)
        top, terminal = self.open_terminal()
        self.read(terminal, rb">mails ")
        for tube, keys in (("b-first", b"k"), ("a-first", b"p")):
            os.write(terminal, keys)
            self.read(terminal, rb"(kick 1 buried jobs of|pause) (mails|b-first).*\? y/n")
            named = "mails" if keys == b"k" else "b-first"
            self.bury(tube, 3)
            self.read(terminal, b">" + tube.encode() + b" ")
            os.write(terminal, b"y")
            self.read(terminal, rb"kick: 1 jobs" if keys == b"k" else rb"pause: ok")
            [stats] = self.json_of("stats", named)
            self.assertEqual(stats["buried"] if keys == b"k" else stats["pause_left"] > 0, keys == b"p")
            self.assertEqual(self.json_of("stats", tube)[0]["buried"], 3)
        os.write(terminal, b"q")
        self.assertEqual(top.wait(LONG_S), OK)

    def test_a_list_without_jobs_has_none_to_kick(self):
        self.done("cancel", "--id", "1", "2", "3")
        self.bury("mails", 1)
        self.done("put", "later", "x", "--in", "1h")
        self.done("pause", "later", "1h")
        self.done("cancel", "--id", "5")
        top, terminal = self.open_terminal()
        self.read(terminal, rb">later ")
        for keys, wanted in ((b"\033[B", rb">mails "), (b"\r", rb"4 +buried"),
                             (b"k", rb"kick job 4\? y/n"), (b"n", rb"Escape: back"),
                             (b"\033", rb">mails "), (b"\033[A", rb">later "), (b"\r", rb"later  "),
                             (b"kp", rb"resume later\? y/n")):
            os.write(terminal, keys)
            self.read(terminal, wanted)
        os.write(terminal, b"nq")
        self.assertEqual(top.wait(LONG_S), OK)

    def test_escape_answers_a_question_with_no(self):
        for _ in range(2):
            [job] = self.json_of("reserve", "orders")
            self.done("bury", str(job["id"]), job["lease"])
        top, terminal = self.open_terminal()
        self.read(terminal, rb">orders +1 +2 ")
        for keys, wanted in ((b"\r", rb"2 +buried"), (b"k", rb"kick job 2\? y/n"),
                             (b"\033", rb"Escape: back  Enter: the job"), (b"y\033", rb">orders +1 +2 "),
                             (b"k", rb"kick 2 buried jobs of orders\? y/n"), (b"\033", rb"q: quit  s: sort"),
                             (b"ys", rb"sorted by ready")):
            os.write(terminal, keys)
            self.read(terminal, wanted)
        os.write(terminal, b"q")
        self.assertEqual(top.wait(LONG_S), OK)
        self.assertEqual(self.json_of("stats", "orders")[0]["buried"], 2)

    def test_a_server_that_goes_and_comes_back(self):
        self.servers.pop().stop()
        port, holder = hold_port()
        self.addCleanup(holder.close)
        self.start(listen=f"127.0.0.1:{port}")
        top, terminal = self.open_terminal()
        self.read(terminal, rb"q: quit")
        server = self.servers[-1]
        server.stop()
        self.read(terminal, rb"no news: ")
        self.start(listen=self.address)
        self.read(terminal, rb"q: quit")
        top.send_signal(signal.SIGTERM)
        self.assertEqual(top.wait(LONG_S), -signal.SIGTERM)


if __name__ == "__main__":
    support.main()
