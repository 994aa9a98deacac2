"""Tests elapse serve --ended, and elapse ended, which searches the file that the server has written."""

import json
import re
import subprocess
import time

import support
from serve_support import ServeTest
from support import STATUS_USAGE

GONE = 3
START_S = 60


class Ended(ServeTest):
    def ask(self, client, *words):
        """One command of RESP. Returns the first line of its reply, and reads no more."""
        client.send(b"*%d\r\n" % len(words) + b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words))
        return client.line()

    def put(self, client, *words):
        self.assertEqual(self.ask(client, b"PUT", *words), b"*2")
        number, word = client.line(), client.line()
        return int(number[1:]), word

    def lines(self, name="ended"):
        path = self.directory / name
        return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []

    def wait_for_lines(self, count):
        end = time.monotonic() + START_S
        while len(self.lines()) < count and time.monotonic() < end:
            time.sleep(0.01)
        self.assertEqual(len(self.lines()), count)
        return self.lines()

    def search(self, *options, status=0):
        done = subprocess.run([support.PROGRAM, "ended", "ended", *options], cwd=self.directory, capture_output=True,
                              text=True, check=False, stdin=subprocess.DEVNULL)
        self.assertEqual((done.returncode, done.stderr), (status, ""), done)
        return done.stdout.splitlines()

    def test_each_way_to_end(self):
        server = self.serve("--ended", "ended")
        client = server.connect()
        self.put(client, b"t", b"one", b"KEY", b"k1", b"TAG", b"spring")
        client.send(b"*2\r\n$7\r\nRESERVE\r\n$1\r\nt\r\n")
        lease = [client.line() for _ in range(14)][4]
        self.assertEqual(self.ask(client, b"ACK", b"1", lease), b"*1")
        self.assertEqual(client.line(), b"+ok")
        self.put(client, b"t", b"two", b"KEY", b"\xff", b"IN", b"1h")
        self.assertEqual(self.put(client, b"t", b"three", b"KEY", b"\xff", b"IN", b"1h"), (3, b"+replaced"))
        self.assertEqual(self.ask(client, b"CANCELID", b"3"), b"*1")
        client.line()
        self.put(client, b"u", b"four", b"EXPIRE", b"1ms")
        done, replaced, cancelled, expired = self.wait_for_lines(4)
        self.assertEqual({name: done[name] for name in ("id", "tube", "key", "tag", "outcome", "attempts", "recurring")},
                         {"id": 1, "tube": "t", "key": "k1", "tag": "spring", "outcome": "done", "attempts": 1,
                          "recurring": False})
        self.assertTrue(done["due_ms"] <= done["handed_out_ms"] <= done["ended_ms"], done)
        self.assertEqual((replaced["id"], replaced["outcome"], replaced["key_base64"]), (2, "replaced", "/w=="))
        self.assertEqual((cancelled["id"], cancelled["outcome"], cancelled["handed_out_ms"]), (3, "cancelled", None))
        self.assertEqual((expired["id"], expired["outcome"], "key" in expired), (4, "expired", False))
        # The file stays when the server does not, and the next one goes on with it.
        server.stop()
        client = self.serve("--ended", "ended").connect()
        self.put(client, b"t", b"five", b"KEY", b"k1", b"IN", b"1h")
        self.assertEqual(self.ask(client, b"CANCEL", b"t", b"k1"), b"*1")
        self.wait_for_lines(5)
        found = self.search("--key", "k1")
        self.assertEqual([line.split()[1:] for line in found], [["done", "1", "'t'", "'k1'", "attempts=1"],
                                                                 ["cancelled", "5", "'t'", "'k1'", "attempts=0"]])
        self.assertEqual([json.loads(line)["id"] for line in self.search("--tube", "u", "--json")], [4])
        self.assertEqual(len(self.search("--since", "7d")), 5)
        self.assertEqual(self.search("--key", "k1", "--tube", "u", status=GONE), [])
        self.assertEqual([line.split()[1:] for line in self.search("--key", b"\xff")],
                         [["replaced", "2", "'t'", "'\\xff'", "attempts=0"], ["cancelled", "3", "'t'", "'\\xff'", "attempts=0"]])
        self.assertEqual(self.search("--key", "/w==", status=GONE), [])
        self.assertEqual(self.search("--since", "0s", status=GONE), [])

    def test_a_full_file_gets_its_second_name(self):
        client = self.serve("--ended", "ended", "--max-ended", "1000").connect()
        for i in range(20):
            self.put(client, b"t", b"x", b"KEY", b"k%d" % i, b"IN", b"1h")
            self.assertEqual(self.ask(client, b"CANCEL", b"t", b"k%d" % i), b"*1")
            client.line()
        end = time.monotonic() + START_S
        while not self.search_last("k19") and time.monotonic() < end:
            time.sleep(0.01)
        for name in ("ended", "ended.1"):
            self.assertTrue(0 < (self.directory / name).stat().st_size <= 1000)
        kept = [line["key"] for line in self.lines("ended.1") + self.lines()]
        self.assertEqual(kept, [f"k{i}" for i in range(20 - len(kept), 20)])
        self.assertEqual(len(self.search("--tube", "t")), len(kept))

    def search_last(self, key):
        return any(line["key"] == key for line in self.lines())

    def test_a_disk_that_is_full_ends_nothing(self):
        server = self.serve("--ended", "/dev/full")
        client = server.connect()
        for i in range(3):
            self.put(client, b"t", b"x", b"KEY", b"k", b"IN", b"1h")
        server.wait_for(b"lines were dropped")
        # The server says each second what it has dropped since.
        dropped = re.compile(rb"ended: /dev/full: (\d+) lines were dropped: No space left on device\n")
        end = time.monotonic() + START_S
        while sum(map(int, dropped.findall(server.log()))) < 2 and time.monotonic() < end:
            time.sleep(0.01)
        self.assertEqual(sum(map(int, dropped.findall(server.log()))), 2)
        server.stop()

    def test_a_file_that_cannot_be_opened(self):
        server = self.serve("--ended", "nowhere/ended")
        self.assertEqual(server.wait(), STATUS_USAGE)
        self.assertIn(b"--ended nowhere/ended: No such file or directory", server.log())


if __name__ == "__main__":
    support.main()
