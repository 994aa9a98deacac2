"""Tests the options of elapse serve, and what it says about wrong ones."""

import json
import socket

import support
from serve_support import START_S, Client, ServeTest
from support import STATUS_OK, STATUS_USAGE


class Options(ServeTest):
    def refuse(self, *arguments, says):
        self.assert_usage_error("elapse serve", "serve", *arguments, says=says)

    def test_errors_are_named(self):
        self.refuse("--listen", "nonsense", says=["--listen: 'nonsense': the port is missing"])
        self.refuse("--listen", "127.0.0.1:http", says=["the port is not a number"])
        self.refuse("--listen", "127.0.0.1:65536", says=["the port is above 65535"])
        self.refuse("--listen", "::1:80", says=["is written [ADDRESS]:PORT"])
        self.refuse("--listen", "[::1", says=["a ']' and a ':' are missing"])
        self.refuse("--listen", "unix:", says=["the path is missing"])
        self.refuse("--listen", "tls:127.0.0.1:1", says=["needs --tls-certificate and --tls-key"])
        self.refuse("--tls-key", "k", says=["need each other"])
        self.refuse("--durability", "never", says=["'never' is not sync, interval=MS"])
        self.refuse("--durability", "interval=0", says=["is not sync, interval=MS"])
        for count in ("0", "7", "-1", "any", ""):
            self.refuse("--followers", count, says=[f"--followers: '{count}' is not a whole number from 1 to 6, or all"])
        self.refuse("--log", "xml", says=["'xml' is not text or json"])
        self.refuse("--max-memory", "0", says=["is not a number of bytes"])
        self.refuse("--max-memory", "99999999999G", says=["is not a number of bytes"])
        self.refuse("-z", "33554433", says=["--max-body: '33554433' is not a number of bytes"])
        self.refuse("-f", "60001", says=["-f: '60001' is not"])
        self.refuse("--idle", "1ms", says=["--idle: '1ms' is not from 1s"])
        self.refuse("words", says=["unknown argument 'words'"])
        self.refuse(*["--listen=127.0.0.1:0"] * 33, says=["there are too many addresses"])

    def test_a_file_of_options(self):
        (self.directory / "conf").write_text(
            "# the server\n\ndata = from-file\nlog = json\n listen=127.0.0.1:0 \n"
            "no-beanstalkd = no\nmax-body = 10\n")
        server = self.serve("--config", "conf", "--max-body", "20", listen=None)
        self.assertIn(b'"event":"listening"', server.wait_for(b'"event":"ready"'))
        lines = [json.loads(line) for line in server.log().splitlines()]
        self.assertTrue(all(set(line) == {"time", "level", "event", "text"} for line in lines))
        port = int(lines[0]["text"].rpartition(":")[2])
        client = Client(socket.create_connection(("127.0.0.1", port), START_S))
        self.addCleanup(client.close)
        # The command line comes first.
        self.assertEqual(client.put(b"x" * 20), b"INSERTED 1")
        self.assertEqual(client.put(b"x" * 21), b"JOB_TOO_BIG")
        self.assertTrue((self.directory / "d").exists())
        self.assertFalse((self.directory / "from-file").exists())
        server.stop()

    def test_a_bad_file_is_named_with_its_line(self):
        for text, says in (("data = x\ncolour = red\n", "conf:2: there is no option 'colour'"),
                           ("data\n", "conf:1: a line is NAME = VALUE"),
                           ("\ninsecure = maybe\n", "conf:2: insecure: 'maybe' is not yes or no"),
                           ("max-jobs = 0\n", "conf:1: max-jobs: '0' is not a whole number"),
                           ("listen = x\n", "conf:1: listen: 'x': the port is missing")):
            (self.directory / "conf").write_text(text)
            self.refuse("--config", "conf", says=[says])
        self.refuse("--config", "missing", says=["missing: No such file"])

    def test_options_of_beanstalkd(self):
        outcome = self.run_program("serve", "-v")
        self.assertEqual((outcome.status, outcome.output[:7]), (STATUS_OK, "elapse "), outcome)
        server = self.serve("-l", "127.0.0.1", "-p", "0", "-b", "beans", "-z", "5", "-f", "50",
                            "-s", "100", "-F", "-V", listen=None)
        self.assertIn(b"-s is ignored", server.wait_for(b" ready: "))
        client = server.connect()
        self.assertEqual(client.put(b"12345"), b"INSERTED 1")
        self.assertEqual(client.put(b"123456"), b"JOB_TOO_BIG")
        server.wait_for(b" connected: 127.0.0.1:")
        server.stop()
        self.assertTrue((self.directory / "beans").exists())

    def test_a_body_larger_than_a_file_is_refused(self):
        client = self.serve("--max-body", "1M").connect()
        answer = client.put(b"x" * (1 << 19))
        self.assertIn(answer, (b"JOB_TOO_BIG", b"INTERNAL_ERROR", b"OUT_OF_MEMORY"))
        self.assertEqual(client.put(b"x" * (1 << 16)), b"INSERTED 1")

    def test_nobody_else_may_connect_unless_it_is_said(self):
        status, log = self.refused(listen="0.0.0.0:0")
        self.assertEqual(status, STATUS_USAGE)
        self.assertIn("other machines can reach this address: give --auth or --users, or --insecure", log)
        self.assertFalse((self.directory / "d").exists())
        self.serve("--insecure", listen="0.0.0.0:0").stop()
        self.write_secret("passwords", "# none but this\n  secret \n")
        self.serve("--auth", "passwords", listen="0.0.0.0:0").stop()
        self.write_secret("passwords", "# none\n\n")
        status, log = self.refused("--auth", "passwords")
        self.assertEqual(status, STATUS_USAGE)
        self.assertIn("passwords: it has no password in it", log)

    def test_an_address_in_use_is_named(self):
        first = self.serve()
        address = first.addresses()[0]
        status, log = self.refused(listen=address, data="other")
        self.assertEqual(status, STATUS_USAGE)
        self.assertIn(f"{address}: Address already in use", log)

    def test_an_unknown_user(self):
        status, log = self.refused("--user", "nobody-of-this-name")
        self.assertEqual(status, STATUS_USAGE)
        self.assertIn("user nobody-of-this-name: ", log)


if __name__ == "__main__":
    support.main()
