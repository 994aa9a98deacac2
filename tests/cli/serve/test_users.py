"""Tests elapse serve --users: who may do what, over sockets and HTTP, and with the commands of the client."""

import concurrent.futures
import hashlib
import json
import os
import re
import signal
import time

import http_schemas as schemas
import support
from http_support import HttpTest
from serve_support import ServeTest
from support import STATUS_USAGE

NOT_AUTHORISED = 7
RIGHTS = ("put", "work", "look", "admin", "node")


def line_of(name, rights, tubes=None, password=None):
    """A line of the file; without another one the password is the name."""
    digest = hashlib.sha256((password or name).encode()).hexdigest()
    return " ".join(word for word in (name, f"#{digest}", rights, tubes) if word) + "\n"


class Users(ServeTest):
    def redis(self, client, *words):
        client.send(b"*%d\r\n" % len(words) +
                    b"".join(b"$%d\r\n%s\r\n" % (len(word), word) for word in words))
        return client.line()

    def client_of(self, server, name, password=None):
        client = server.connect()
        self.assertEqual(self.redis(client, b"AUTH", name, password or name), b"+OK")
        return client

    def test_a_file_that_is_read_again(self):
        self.write_secret("users", line_of("shop", "put", "orders,mails*"))
        server = self.serve("--users", "users")
        stranger = server.connect()
        self.assertRegex(self.redis(stranger, b"PUT", b"orders", b"x"), b"^-NOAUTH")
        client = self.client_of(server, b"shop")
        self.assertEqual(self.redis(client, b"PUT", b"mails2", b"x"), b"*2")
        client.line(), client.line()
        self.assertEqual(
            self.redis(client, b"PUT", b"bills", b"x"),
            b"-NOPERM user shop may not put jobs to tube bills; its line in the file of --users "
            b"needs the right put, and this tube")
        # A wrong line: the table stays, and the log says why.
        self.write_secret("users", line_of("shop", "put", "bills") + "\nother secret put\n")
        server.signal(signal.SIGHUP)
        server.wait_for(b"the users stay as they are: users: line 3: a password is '#' and")
        self.assertRegex(self.redis(client, b"PUT", b"bills", b"x"), b"^-NOPERM")
        # A right line: it holds at once.
        self.write_secret("users", line_of("shop", "put", "bills"))
        server.signal(signal.SIGHUP)
        server.wait_for(b"reloaded: 1 users")
        self.assertEqual(self.redis(client, b"PUT", b"bills", b"x"), b"*2")
        client.line(), client.line()
        self.assertRegex(self.redis(client, b"PUT", b"mails2", b"x"), b"^-NOPERM")
        # The password is taken away, also from who is connected.
        self.write_secret("users", line_of("shop", "put", "bills", "another") + line_of("x", "put"))
        server.signal(signal.SIGHUP)
        server.wait_for(b"reloaded: 2 users")
        self.assertRegex(self.redis(client, b"PUT", b"bills", b"x"), b"^-NOAUTH")
        self.client_of(server, b"shop", b"another")
        self.assertNotIn(b"another", server.stop())

    def test_files_that_are_no_files_of_users(self):
        for text, says in (("", "it has no user in it"), ("secret\n", "line 1: a line is NAME"),
                           ("\n" + line_of("a", "put", "*x"), "line 2: a '*' stands only"),
                           (line_of("a", "write"), "line 1: there is no right 'write'"),
                           (line_of("a", "put") * 2, "line 2: line 1 has this user")):
            with self.subTest(text=text):
                self.write_secret("users", text)
                status, log = self.refused("--users", "users")
                self.assertEqual(status, STATUS_USAGE)
                self.assertIn("users: " + says, log)
        self.write_secret("users", line_of("a", "put"), 0o644)
        status, log = self.refused("--users", "users")
        self.assertEqual(status, STATUS_USAGE)
        self.assertIn("users: every user of this machine may read or write it", log)
        self.write_secret("users", line_of("a", "put"))
        status, log = self.refused("--users", "users", "--beanstalkd-user", "b")
        self.assertEqual(status, STATUS_USAGE)
        self.assertIn("--beanstalkd-user b: users has no such user", log)
        for words in (("--beanstalkd-user", "a"), ("--node-password", "users")):
            status, log = self.refused(*words)
            self.assertEqual(status, STATUS_USAGE)
            self.assertIn(f"{words[0]} needs --", log)
        # The file of the other kind is no file of users, nor the other way round.
        self.write_secret("auth", "secret\n")
        self.assertEqual(self.refused("--users", "auth")[0], STATUS_USAGE)

    def test_default_has_the_passwords_of_auth(self):
        self.write_secret("users", line_of("shop", "put"))
        self.write_secret("auth", "plain\n")
        server = self.serve("--users", "users", "--auth", "auth")
        for words in ((b"plain",), (b"default", b"plain")):
            client = server.connect()
            self.assertEqual(self.redis(client, b"AUTH", *words), b"+OK")
            self.assertRegex(self.redis(client, b"STATS"), rb"^\*\d+")
        self.assertRegex(self.redis(self.client_of(server, b"shop"), b"STATS"), b"^-NOPERM")
        server.stop()

    def test_beanstalkds_protocol_is_off_without_a_user_of_its_own(self):
        self.write_secret("users", line_of("shop", "put", "orders"))
        server = self.serve("--users", "users")
        client = server.connect()
        client.send(b"put 0 0 60 1\r\nx\r\n")
        self.assertTrue(client.is_closed())
        server.stop()
        server = self.serve("--users", "users", "--beanstalkd-user", "shop")
        client = server.connect()
        self.assertEqual(client.ask(b"put 0 0 60 1\r\nx\r\n"),
                         b"UNAUTHORIZED: user shop may not put jobs to tube default; its line in "
                         b"the file of --users needs the right put, and this tube")
        self.assertEqual(client.ask(b"use orders\r\n"), b"USING orders")
        self.assertRegex(client.put(b"x"), rb"^INSERTED \d")
        self.assertEqual(client.ask(b"peek 1\r\n"), b"NOT_FOUND")
        server.stop()
        server = self.serve("--users", "users", "--beanstalkd-user", "default")
        client = server.connect()
        self.assertRegex(client.put(b"x"), rb"^INSERTED \d")
        self.assertRegex(client.ask(b"peek 1\r\n"), b"^FOUND 1")
        server.stop()

    def test_guesses_are_slow_whoever_is_named(self):
        """Each answer waits half a second, or five: not more than ten a second and connection."""
        self.write_secret("users", line_of("shop", "put"))
        server = self.serve("--users", "users")

        def guess(name):
            client = server.connect()
            begun = time.monotonic()
            for _ in range(5):
                self.assertRegex(self.redis(client, b"AUTH", name, b"wrong"), b"^-WRONGPASS")
            self.assertTrue(client.is_closed())
            return time.monotonic() - begun

        with concurrent.futures.ThreadPoolExecutor(2) as threads:
            for seconds in threads.map(guess, (b"shop", b"nobody")):
                self.assertGreater(seconds, 2.4)
        self.client_of(server, b"shop")
        lines = re.compile(rb"(\d+) wrong passwords from 127.0.0.1\n")
        while sum(int(count) for count in lines.findall(server.log())) < 10:
            server.wait_for(b"wrong passwords")
            time.sleep(0.1)
        log = server.stop()
        self.assertEqual(sum(int(count) for count in lines.findall(log)), 10)
        self.assertLess(len(lines.findall(log)), 10)
        for word in (b"nobody", b"wrong\n"):
            self.assertNotIn(word, log)

    def test_the_client_says_who_it_is(self):
        out = self.succeed("password", "shop", "put,look,work", "orders")
        password, line = out.splitlines()
        self.assertRegex(line, rf"^shop #{hashlib.sha256(password.encode()).hexdigest()} "
                               "put,look,work orders$")
        self.write_secret("users", "# drawn\n" + line + "\n")
        self.write_secret("token", password + "\n")
        server = self.serve("--users", "users")
        words = ("--server", server.addresses()[0], "--token-file", "token")
        outcome = self.run_program("put", "orders", "x", *words, "--user", "shop")
        self.assertEqual(outcome.status, 0, outcome)
        outcome = self.run_program("put", "bills", "x", *words, "--user", "shop")
        self.assertEqual(outcome.status, NOT_AUTHORISED, outcome)
        self.assertIn("user shop may not put jobs to tube bills", outcome.errors)
        outcome = self.run_program("put", "orders", "x", *words)
        self.assertEqual(outcome.status, NOT_AUTHORISED, outcome)
        outcome = self.run_program("put", "orders", "x", *words, env={**os.environ, "ELAPSE_USER": "shop"})
        self.assertEqual(outcome.status, 0, outcome)
        outcome = self.run_program("work", "orders", "--until-empty", *words,
                                   "--user", "shop", "--exec", "cat")
        self.assertEqual(outcome.status, 0, outcome)
        outcome = self.run_program("work", "bills", "--until-empty", *words,
                                   "--user", "shop", "--exec", "cat")
        self.assertEqual(outcome.status, NOT_AUTHORISED, outcome)
        self.assertIn("user shop may not take jobs of tube bills", outcome.errors)
        self.assert_usage_error("elapse put", "put", "a", "b", "--user", "shop",
                                says=("--user needs --token-file",))

    def test_a_password_is_drawn_for_a_line_that_the_server_takes(self):
        drawn = {self.succeed("password") for _ in range(3)}
        self.assertEqual(len(drawn), 3)
        for text in drawn:
            password, line = text.splitlines()
            self.assertRegex(password, "^[0-9a-f]{64}$")
            self.assertRegex(line, "^NAME #[0-9a-f]{64} RIGHTS$")
        self.assert_usage_error("elapse password", "password", "shop", says=("NAME RIGHTS",))
        self.assert_usage_error("elapse password", "password", "shop", "write",
                                says=("there is no right 'write'",))
        self.assert_usage_error("elapse password", "password", "a:b", "put",
                                says=("a name has 1 to 64",))


# What each request needs: a right, None if a password is enough, or "open". A request of
# docs/openapi.json that is not here fails the test below.
REQUESTS = {
    ("get", "/"): "open", ("get", "/healthz"): "open", ("get", "/livez"): "open",
    ("get", "/readyz"): "open",
    ("get", "/metrics"): "look", ("get", "/events"): "look",
    ("get", "/api/v1/openapi.json"): None, ("get", "/api/v1/forecast"): "look",
    ("post", "/api/v1/put"): "put", ("post", "/api/v1/cancel"): "put",
    ("post", "/api/v1/reschedule"): "put", ("post", "/api/v1/reserve"): "work",
    ("post", "/api/v1/arrive"): "put",
    ("post", "/api/v1/ack"): "work", ("post", "/api/v1/nack"): "work",
    ("post", "/api/v1/extend"): "work", ("post", "/api/v1/bury"): "work",
    ("post", "/api/v1/kick"): "admin", ("post", "/api/v1/cancel_all"): "admin",
    ("post", "/api/v1/pause"): "admin", ("post", "/api/v1/transaction"): "put",
    ("post", "/api/v1/limit"): "admin", ("get", "/api/v1/tubes/{tube}/limit"): "admin",
    ("get", "/api/v1/jobs"): "look",
    ("get", "/api/v1/jobs/{id}"): "look", ("get", "/api/v1/tubes"): "look",
    ("get", "/api/v1/tubes/{tube}"): "look", ("get", "/api/v1/tubes/{tube}/jobs"): "look",
    ("get", "/api/v1/tubes/{tube}/groups"): "look", ("get", "/api/v1/stats"): "look",
    ("get", "/api/v1/find"): "look", ("get", "/api/v1/recurring"): "look",
    ("get", "/api/v1/history"): "look", ("get", "/api/v1/whoami"): None, ("get", "/api/v1/clients"): "admin",
}
BODIES = {
    "put": {"tube": "t", "body": "b"}, "cancel": {"tube": "t", "keys": ["k"]},
    "reschedule": {"tube": "t", "key": "k", "in": "1s"}, "reserve": {"tubes": ["t"]},
    "arrive": {"tube": "t", "key": "k"},
    "ack": {"jobs": [{"id": "1", "lease": "1-1"}]}, "nack": {"id": "1", "lease": "1-1"},
    "extend": {"id": "1", "lease": "1-1"}, "bury": {"id": "1", "lease": "1-1"},
    "kick": {"tube": "t", "count": 1}, "cancel_all": {"tube": "t"},
    "pause": {"tube": "t", "for": "0s"}, "limit": {"tube": "t"},
    "transaction": {"commands": [{"command": "put", "tube": "t", "body": "b"}]},
}


class Http(HttpTest):
    def bearer(self, name):
        return {"Authorization": f"Bearer {name}:{name}"}

    def test_each_request_needs_its_right_and_no_other(self):
        self.write_secret("users", "".join(line_of(right, right) for right in RIGHTS))
        self.serve_http("--users", "users")
        described = {(method, path) for path, methods in schemas.DESCRIPTION["paths"].items()
                     for method in methods if method in ("get", "post")}
        self.assertEqual(described, set(REQUESTS))
        for (method, path), needs in REQUESTS.items():
            body = None
            if method == "post":
                body = json.dumps(BODIES[path.rpartition("/")[2]]).encode()
            asked = path.replace("{id}", "1").replace("{tube}", "t")
            asked += "?tube=t&key=k" if path == "/api/v1/jobs" else ""
            asked += "?key=k" if path == "/api/v1/find" else ""
            for right in RIGHTS:
                with self.subTest(path=path, right=right):
                    answer = self.ask(method.upper(), asked, body,
                                      {"Content-Type": "application/json", **self.bearer(right)})
                    if needs in ("open", None, right):
                        self.assertIn(answer.status, (200, 404, 409), answer.body)
                    else:
                        self.refused(answer, 403, "NO_PERMISSION")

    def test_tubes(self):
        self.write_secret("users", line_of("all", "put,work,look,admin") +
                          line_of("shop", "put,work,look,admin", "orders*"))
        self.write_secret("auth", "plain:word\n")
        self.serve_http("--users", "users", "--auth", "auth")
        shop, everybody = self.bearer("shop"), self.bearer("all")
        self.assertEqual(self.get("/api/v1/whoami", headers=shop), {"user": "shop", "rights": ["put", "work", "look", "admin"], "tubes": ["orders*"]})
        self.assertEqual(self.get("/api/v1/whoami", headers={"Authorization": "Bearer plain:word"})["user"], "default")
        other = self.post("put", headers=everybody, tube="bills", body="b")["id"]
        self.assertEqual(self.get("/api/v1/stats", headers={"Authorization": "Bearer plain:word"})
                         ["ready"], 1)
        mine = self.post("put", headers=shop, tube="orders2", body="b")["id"]
        error = self.post("put", 403, headers=shop, tube="bills", body="b")["error"]
        self.assertEqual(error["code"], "NO_PERMISSION")
        self.assertRegex(error["message"], "^user shop may not put jobs to tube bills;")
        self.post("reserve", 403, headers=shop, tubes=["orders2", "bills"])
        for path in ("/api/v1/stats", "/api/v1/tubes", "/api/v1/tubes/bills", "/metrics",
                     "/api/v1/tubes/bills/jobs", "/api/v1/forecast", "/events"):
            self.refused(self.ask("GET", path, headers=shop), 403, "NO_PERMISSION")
        self.get("/api/v1/tubes/orders2/jobs", headers=shop)
        self.get(f"/api/v1/jobs/{mine}", headers=shop)
        self.assertEqual(self.get(f"/api/v1/jobs/{other}", 404, headers=shop),
                         self.get("/api/v1/jobs/4711", 404, headers=shop))
        job = self.post("reserve", headers=everybody, tubes=["bills"])["jobs"][0]
        for operation in ("extend", "nack", "bury"):
            self.assertEqual(self.post(operation, headers=shop, id=other, lease=job["lease"])
                             ["result"], "gone")
        self.assertEqual(self.post("ack", headers=shop, jobs=[{"id": other, "lease": job["lease"]}]),
                         {"results": ["gone"]})
        self.assertEqual(self.post("cancel", headers=shop, ids=[other]), {"results": ["gone"]})
        self.assertEqual(self.post("ack", headers=everybody,
                                   jobs=[{"id": other, "lease": job["lease"]}]), {"results": ["ok"]})

    def test_each_command_of_a_transaction_needs_its_right(self):
        self.write_secret("users", line_of("all", "put,work,look,admin") + line_of("putter", "put") +
                          line_of("shop", "put,work,look,admin", "orders*"))
        self.serve_http("--users", "users")
        shop, everybody = self.bearer("shop"), self.bearer("all")
        self.post("put", headers=everybody, tube="bills", body="b")
        job = self.post("reserve", headers=everybody, tubes=["bills"])["jobs"][0]
        holder = {"id": job["id"], "lease": job["lease"]}
        put = {"command": "put", "tube": "orders", "body": "x"}
        for headers, refused in ((shop, {**put, "tube": "bills"}),
                                 (self.bearer("putter"), {"command": "bury", **holder})):
            error = self.post("transaction", 403, headers=headers, commands=[put, refused])["error"]
            self.assertEqual(error["code"], "NO_PERMISSION")
        error = self.post("transaction", 409, headers=shop,
                          commands=[put, {"command": "leased", **holder}])["error"]
        self.assertEqual(error["code"], "LEASE_ENDED")
        self.assertEqual(self.get("/api/v1/stats", headers=everybody)["ready"], 0)
        done = self.post("transaction", headers=shop, commands=[
            {"command": "bury", **holder}, {"command": "ack", "jobs": [holder]}, put])["results"]
        self.assertEqual(done[:2], [{"result": "gone"}, {"results": ["gone"]}])
        self.assertEqual(done[2]["result"], "scheduled")
        self.assertEqual(self.get("/api/v1/stats", headers=everybody)["ready"], 1)
        self.assertEqual(self.post("bury", headers=everybody, **holder)["result"], "ok")

    def test_wrong_names_and_passwords(self):
        self.write_secret("users", line_of("shop", "put"))
        self.serve_http("--users", "users")
        tokens = ("shop", "shop:", ":shop", "shop:wrong", "nobody:shop", "default:shop", "shop:shop:")
        with concurrent.futures.ThreadPoolExecutor(len(tokens)) as threads:
            answers = threads.map(lambda token: self.ask(
                "GET", "/api/v1/stats", headers={"Authorization": f"Bearer {token}"}), tokens)
        for token, answer in zip(tokens, answers):
            with self.subTest(token=token):
                self.refused(answer, 401, "UNAUTHORIZED")


if __name__ == "__main__":
    support.main()
