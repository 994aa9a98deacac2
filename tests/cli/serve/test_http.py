"""Tests elapse serve --http: who may ask, the page, and the requests that become commands.

ELAPSE_NO_TLS_SESSIONS names a library with which OpenSSL has no memory for sessions.
"""

import base64
import concurrent.futures
import gzip
import hashlib
import json
import os
import re
import select
import signal
import socket
import ssl
import subprocess
import time
import unittest
import zlib

import support
from http_support import HttpTest
from serve_support import START_S, few_files
from support import STATUS_USAGE

NO_TLS_SESSIONS = os.environ.get("ELAPSE_NO_TLS_SESSIONS")


class Guards(HttpTest):
    def test_names_of_the_server(self):
        self.serve_http("--http-host", "Timers.example")
        for host in ("127.0.0.1", "127.0.0.1:80", "[::1]:8080", "[::ffff:1.2.3.4]", "localhost",
                     "LOCALHOST:1", "timers.example", "TIMERS.EXAMPLE:65535", "10.0.0.255"):
            with self.subTest(host=host):
                self.assertEqual(self.ask("GET", "/", headers={"Host": host}).status, 200)
        for host in ("evil.example", "localhost.evil.example", "127.0.0.1.evil.example", "1.2.3",
                     "1.2.3.256", "1.2.3.4.5", "localhost:", "localhost:80x", "localhost:123456",
                     "timers.example.", "[::1", "[evil]", "[]", "", "127.0.0.1:80:90"):
            with self.subTest(host=host):
                answer = self.ask("GET", "/", headers={"Host": host})
                self.refused(answer, 421, "UNKNOWN_HOST")

    def test_a_request_without_a_host(self):
        self.serve_http()
        with socket.create_connection(("127.0.0.1", self.port), START_S) as connected:
            connected.sendall(b"GET / HTTP/1.0\r\n\r\n")
            self.assertRegex(connected.recv(100), rb"^HTTP/1\.\d 421 ")

    def test_pages_of_others_ask_for_nothing(self):
        self.serve_http()
        here = f"localhost:{self.port}"
        for origin in (f"http://{here}", f"https://{here}", f"HTTP://LOCALHOST:{self.port}"):
            with self.subTest(origin=origin):
                answer = self.ask("GET", "/api/v1/stats", headers={"Host": here, "Origin": origin})
                self.assertEqual(answer.status, 200)
                self.assertFalse([h for h in answer.headers if h.startswith("Access-Control")])
        for origin in ("http://evil.example", f"http://127.0.0.1:{self.port}", "null", "http://",
                       "http://localhost", f"ftp://{here}", here, f"http://{here}.evil.example"):
            for method, path in (("GET", "/api/v1/stats"), ("POST", "/api/v1/put"),
                                 ("GET", "/events"), ("OPTIONS", "/api/v1/put")):
                with self.subTest(origin=origin, path=path):
                    answer = self.ask(method, path, headers={"Host": here, "Origin": origin})
                    self.refused(answer, 403, "FOREIGN_ORIGIN")

    def test_changes_are_json(self):
        self.serve_http()
        body = b'{"tube":"a","body":"b"}'
        for kind in ("application/json", "application/json; charset=utf-8", "Application/JSON",
                     "application/json ;x"):
            with self.subTest(kind=kind):
                answer = self.ask("POST", "/api/v1/put", body, {"Content-Type": kind})
                self.assertEqual(answer.status, 200)
        for kind in ("text/plain", "application/x-www-form-urlencoded", "application/jsonx",
                     "text/json", "application/json,text/plain", ""):
            with self.subTest(kind=kind):
                answer = self.ask("POST", "/api/v1/put", body, {"Content-Type": kind})
                self.refused(answer, 415, "NOT_JSON")
        self.refused(self.ask("POST", "/api/v1/put", body), 415, "NOT_JSON")
        self.assertEqual(self.get("/api/v1/stats")["total_put"], 4)

    def test_passwords(self):
        self.write_secret("auth", "first\nsecond word\n")
        self.serve_http("--auth", "auth")
        for path in ("/", "/livez", "/healthz", "/readyz"):
            self.assertEqual(self.ask("GET", path).status, 200)
        strangers = []
        for path in ("/metrics", "/events", "/api/v1/stats", "/api/v1/forecast", "/nothing",
                     "/api/v1/openapi.json"):
            for header in (None, "Bearer third", "Bearer", "Bearer ", "Basic first", "first",
                           "Bearer firstx", "Bearer firs", "Bearer second"):
                strangers.append((path, {} if header is None else {"Authorization": header}))
        # The server delays the answers to wrong passwords.
        with concurrent.futures.ThreadPoolExecutor(len(strangers)) as threads:
            answers = threads.map(lambda asked: self.ask("GET", asked[0], headers=asked[1]), strangers)
        for asked, answer in zip(strangers, answers):
            with self.subTest(asked=asked):
                self.refused(answer, 401, "UNAUTHORIZED")
                self.assertEqual(answer.headers["WWW-Authenticate"], "Bearer")
        for password in ("first", "second word"):
            headers = {"Authorization": f"bearer {password}"}
            self.assertEqual(self.post("put", headers=headers, tube="a", body="b")["result"],
                             "scheduled")
            self.assertEqual(self.get("/api/v1/stats", headers=headers)["ready"] > 0, True)
        self.post("put", status=401, tube="a", body="b")
        self.get("/nothing", status=404, headers={"Authorization": "Bearer first"})

    def test_wrong_passwords_are_slow_and_counted(self):
        self.write_secret("auth", "first\n")
        server = self.serve_http("--auth", "auth")
        connection = self.connect_http()
        for number in range(5):
            begun = time.monotonic()
            answer = self.ask("GET", "/metrics", None, {"Authorization": "Bearer second"}, connection)
            self.refused(answer, 401, "UNAUTHORIZED")
            self.assertGreater(time.monotonic() - begun, 0.45)
            self.assertEqual(answer.headers["Connection"], "close" if number == 4 else None)
        right = {"Authorization": "Bearer first"}
        self.assertEqual(self.get("/api/v1/stats", headers=right)["total_wrong_passwords"], 5)
        server.wait_for(b"wrong passwords from 127.0.0.1")
        self.assertNotIn(b"second", server.log())

    def test_other_machines_need_passwords(self):
        status, log = self.refused_to_start("--http", "0.0.0.0:0")
        self.assertEqual(status, STATUS_USAGE)
        self.assertIn("other machines can reach this address: give --auth or --users, or --insecure", log)
        self.write_secret("auth", "first\n")
        server = self.serve("--http", "0.0.0.0:0", "--auth", "auth")
        server.stop()

    def refused_to_start(self, *arguments):
        server = self.serve(*arguments)
        return server.wait(), server.log().decode()


class Paths(HttpTest):
    def test_paths_and_methods(self):
        self.serve_http()
        for path in ("/nothing", "/api", "/api/v1/", "/api/v1/jobs/", "/api/v1/jobs/1/2",
                     "/api/v1/tubes/a/b", "/index.html", "//", "/%2e%2e/etc/passwd"):
            with self.subTest(path=path):
                self.refused(self.ask("GET", path), 404, "NO_SUCH_PATH")
        for method, path, allow in (
                ("POST", "/", "GET, HEAD"), ("PUT", "/api/v1/put", "POST"),
                ("GET", "/api/v1/put", "POST"), ("DELETE", "/api/v1/jobs/1", "GET, HEAD"),
                ("POST", "/metrics", "GET, HEAD"), ("OPTIONS", "/api/v1/put", "POST")):
            with self.subTest(method=method, path=path):
                answer = self.ask(method, path, headers={"Content-Type": "application/json"})
                self.refused(answer, 405, "METHOD")
                self.assertEqual(answer.headers["Allow"], allow)

    def test_ready_is_answered_when_jobs_can_be_asked_for(self):
        server = self.serve_http()
        number = self.post("put", tube="mail", body="x")["id"]
        server.kill()
        self.serve_http()
        self.assertEqual(self.ask("GET", "/readyz").body, b"ready\n")
        self.assertEqual(self.get(f"/api/v1/jobs/{number}")["tube"], "mail")
        self.assertEqual(self.ask("POST", "/readyz", b"").status, 405)

    def test_probes(self):
        """A server that takes no more jobs is alive, but no client should be sent to it any more. A
        probe needs no password."""
        self.write_secret("secret", "open sesame\n")
        server = self.serve_http("--auth", "secret")
        connection = self.connect_http()

        def ready():
            answer = self.ask("GET", "/readyz", connection=connection)
            return answer.status, answer.body

        for path in ("/livez", "/healthz"):
            answer = self.ask("GET", path, connection=connection)
            self.assertEqual((answer.status, answer.body), (200, b"ok\n"))
        self.assertEqual(ready(), (200, b"ready\n"))
        server.signal(signal.SIGUSR1)
        server.wait_for(b"no jobs are taken any more")
        self.assertEqual(ready(), (503, b"draining\n"))
        self.assertEqual(self.ask("GET", "/livez", connection=connection).status, 200)
        server.stop()

    def test_headers_of_each_answer(self):
        self.serve_http()
        for path in ("/", "/healthz", "/api/v1/stats", "/nothing"):
            answer = self.ask("GET", path)
            self.assertEqual(answer.headers["Cache-Control"], "no-store")
            self.assertEqual(answer.headers["X-Content-Type-Options"], "nosniff")
        answer = self.ask("HEAD", "/")
        self.assertEqual((answer.status, answer.body), (200, b""))

    def test_answers_are_compressed_for_clients_that_take_it(self):
        self.serve_http()
        plain = self.ask("GET", "/").body
        for accepted, is_compressed in (("gzip", True), ("br, gzip;q=0.5", True), ("GZIP , br", True), ("gzip;q=0", False),
                                        ("gzip; q=0.000, br", False), ("gzip;q=0.01", True), ("gzipped", False), ("br", False), ("", False)):
            with self.subTest(accepted=accepted):
                answer = self.ask("GET", "/", headers={"Accept-Encoding": accepted})
                self.assertEqual(answer.headers["Content-Encoding"], "gzip" if is_compressed else None)
                self.assertEqual(answer.headers["Vary"], "Accept-Encoding")
                self.assertEqual(gzip.decompress(answer.body) if is_compressed else answer.body, plain)
                if is_compressed:
                    self.assertLess(len(answer.body), len(plain) / 3)
        answer = self.ask("GET", "/healthz", headers={"Accept-Encoding": "gzip"})
        self.assertEqual((answer.headers["Content-Encoding"], answer.body), (None, b"ok\n"), "it is short")
        answer = self.ask("HEAD", "/", headers={"Accept-Encoding": "gzip"})
        self.assertEqual(int(answer.headers["Content-Length"]), len(plain))

    def test_events_are_compressed_one_by_one(self):
        self.serve_http()
        connection = self.connect_http()
        connection.request("GET", "/events", headers={"Accept-Encoding": "gzip"})
        answer = connection.getresponse()
        self.assertEqual(answer.headers["Content-Encoding"], "gzip")
        reader, text = zlib.decompressobj(31), b""
        while text.count(b"\n\n") < 2:
            text += reader.decompress(answer.read1())
        for event in text.split(b"\n\n")[:2]:
            self.assertIn("now_ms", json.loads(event.partition(b"data: ")[2]))

    def test_head_answers_have_no_body(self):
        """The test looks at the bytes, because http.client drops all that comes behind the headers
        of such an answer."""
        self.serve_http()
        for path in ("/", "/healthz", "/api/v1/openapi.json", "/api/v1/stats", "/metrics",
                     "/nothing", "/api/v1/jobs/9", "/events"):
            with self.subTest(path=path), \
                    socket.create_connection(("127.0.0.1", self.port), START_S) as connected:
                connected.sendall(b"HEAD %s HTTP/1.1\r\nHost: localhost\r\n\r\n"
                                  b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n"
                                  b"Connection: close\r\n\r\n" % path.encode())
                with connected.makefile("rb") as stream:
                    head, _, rest = stream.read().partition(b"\r\n\r\n")
                self.assertRegex(head, rb"^HTTP/1\.1 (200|404) ")
                self.assertRegex(rest, rb"^HTTP/1\.1 200 OK\r\n")
                self.assertTrue(rest.endswith(b"\r\n\r\nok\n"), rest)
                lengths = re.findall(rb"(?i)\r\nContent-Length: (\d+)", head)
                if path == "/events":
                    self.assertEqual(lengths, [])
                elif path in ("/", "/healthz", "/api/v1/openapi.json", "/nothing"):
                    self.assertEqual(lengths, [b"%d" % len(self.ask("GET", path).body)])
                else:
                    self.assertGreater(int(lengths[0]), 0)

    def test_the_page_runs_what_it_brings_and_nothing_else(self):
        self.serve_http()
        answer = self.ask("GET", "/")
        self.assertEqual(answer.headers["Content-Type"], "text/html; charset=utf-8")
        policy = dict(part.strip().split(" ", 1)
                      for part in answer.headers["Content-Security-Policy"].split(";"))
        self.assertEqual(policy["default-src"], "'none'")
        self.assertEqual(policy["connect-src"], "'self'")
        self.assertEqual(policy["frame-ancestors"], "'none'")
        for kind, element in (("script-src", b"script"), ("style-src", b"style")):
            parts = re.findall(b"<%s[^>]*>(.*?)</%s>" % (element, element), answer.body, re.S)
            self.assertEqual(len(parts), 1)
            digest = base64.b64encode(hashlib.sha256(parts[0]).digest()).decode()
            self.assertEqual(policy[kind], f"'sha256-{digest}'")
        self.assertNotRegex(answer.body, rb"<[^>]*\son[a-z]+\s*=")
        self.assertNotRegex(answer.body, rb"<[a-z]+[^>]*\sstyle\s*=")

    def test_a_request_that_is_too_big(self):
        self.serve_http("-z", "1000")
        kind = {"Content-Type": "application/json"}
        for size in (1000, 1001):
            self.assertEqual(self.post("put", status=200 if size == 1000 else 413, tube="a",
                                       body="x" * size).get("result"),
                             "scheduled" if size == 1000 else None)
        most = 4 * 1000 + 65536
        body = b'{"tube":"a","body":"x"}'
        self.assertEqual(self.ask("POST", "/api/v1/put", body.ljust(most), kind).status, 200)
        self.assertEqual(self.ask("POST", "/api/v1/put", body.ljust(most + 1), kind).status, 413)


class Strangers(HttpTest):
    """Clients that attack the server, or whom somebody else makes send a request."""

    def say(self, request):
        """Sends these bytes. Returns all that comes until the end of the connection."""
        connected = socket.create_connection(("127.0.0.1", self.port), START_S)
        self.addCleanup(connected.close)
        connected.sendall(request)
        answer = b""
        while piece := connected.recv(1 << 16):
            answer += piece
        return answer

    def refused_at_once(self, request, status, code):
        head, _, body = self.say(request).partition(b"\r\n\r\n")
        self.assertRegex(head, rb"^HTTP/1\.1 %d " % status)
        self.assertIn(b"Content-Type: application/json", head)
        self.assertEqual(json.loads(body)["error"]["code"], code)

    def test_heads_that_a_proxy_may_read_differently(self):
        self.serve_http()
        post = b"POST /api/v1/put HTTP/1.1\r\nHost: localhost\r\n"
        for head in (b"Content-Length: 5\r\nContent-Length: 6\r\n", b"Transfer-Encoding : chunked\r\n",
                     b"Host: 127.0.0.1\r\n", b"X: a\0b\r\n",
                     b"Transfer-Encoding: chunked\r\nContent-Length: 5\r\n"):
            with self.subTest(head=head):
                self.refused_at_once(post + head + b"\r\nhello", 400, "BAD_REQUEST")
        self.refused_at_once(b"GET / HTTP/1.1\r\nHost: localhost\0.evil.example\r\n\r\n", 400,
                             "BAD_REQUEST")

    def test_a_body_that_is_too_long_is_refused_before_it_comes(self):
        self.serve_http("-z", "1000")
        post = b"POST /api/v1/put HTTP/1.1\r\nHost: localhost\r\n"
        most = 4 * 1000 + 65536
        # The client sends nothing of the body.
        self.refused_at_once(post + b"Content-Length: %d\r\n\r\n" % (most + 1), 413, "TOO_BIG")
        self.refused_at_once(post + b"Expect: 100-continue\r\nContent-Length: 99999999\r\n\r\n",
                             413, "TOO_BIG")
        chunk = b"1000\r\n" + b"x" * 4096 + b"\r\n"
        self.refused_at_once(post + b"Transfer-Encoding: chunked\r\n\r\n" + chunk * 17, 413,
                             "TOO_BIG")

    def test_a_request_behind_another_one_is_refused_in_its_turn(self):
        self.serve_http()
        answer = self.say(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n"
                          b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nHost: b\r\n\r\n")
        self.assertEqual([line for line in answer.splitlines() if line.startswith(b"HTTP/1.1")][0],
                         b"HTTP/1.1 200 OK")
        self.assertIn(b"BAD_REQUEST", answer)

    def test_health_is_answered_when_one_address_has_its_share(self):
        self.serve_http(preexec_fn=few_files(200))
        strangers = []
        for number in range(150):
            connected = socket.create_connection(("127.0.0.1", self.port), START_S)
            self.addCleanup(connected.close)
            strangers.append(connected)
            # Twenty clients send half of a request; the others say nothing.
            if number < 20:
                connected.sendall(b"GET /metrics HTTP/1.1\r\nHost: localhost\r\nX-a")
        for _ in range(3):
            self.assertEqual(self.ask("GET", "/healthz").status, 200)
        # The server has ended an older connection to have room for the last one.
        ended, _, _ = select.select(strangers[20:], [], [], START_S)
        self.assertTrue(ended)
        self.assertEqual(ended[0].recv(1), b"")
        # Nobody had to wait until those ended that have all paths.
        self.assertFalse(select.select(strangers[20:21], [], [], 0)[0])
        answer = self.ask("GET", "/metrics")
        self.refused(answer, 503, "TOO_MANY_CONNECTIONS")
        self.assertEqual(answer.headers["Connection"], "close")


class Life(HttpTest):
    def test_a_client_that_goes_away_gets_no_job(self):
        self.serve_http()
        waiting = self.begin("reserve", tubes=["a"], wait="60s")
        self.until(lambda: self.get("/api/v1/stats")["waiting"] == 1)
        waiting.close()
        self.until(lambda: self.get("/api/v1/stats")["waiting"] == 0)
        self.post("put", tube="a", body="b")
        jobs = self.post("reserve", tubes=["a"])["jobs"]
        self.assertEqual([job["body"] for job in jobs], ["b"])
        self.assertEqual(jobs[0]["attempt"], 1)

    def test_a_reserve_waits(self):
        self.serve_http()
        waiting = self.begin("reserve", tubes=["a"], wait="60s")
        self.until(lambda: self.get("/api/v1/stats")["waiting"] == 1)
        self.post("put", tube="a", body="b")
        self.assertIn(b'"body":"b"', self.read_answer(waiting))
        before = time.monotonic()
        self.assertEqual(self.post("reserve", tubes=["a"], wait="50ms"), {"jobs": []})
        self.assertGreaterEqual(time.monotonic() - before, 0.05)

    def test_the_end_of_the_server(self):
        server = self.serve_http()
        waiting = self.begin("reserve", tubes=["a"], wait="60s")
        self.until(lambda: self.get("/api/v1/stats")["waiting"] == 1)
        server.stop()
        answer = self.read_answer(waiting)
        self.assertRegex(answer, rb"^HTTP/1\.1 503 ")
        self.assertIn(b'"code":"ENDED"', answer)

    def test_a_client_of_events_that_sends_without_end(self):
        """The client sends more than the buffers of sockets can hold. The server takes only a part
        of it."""
        self.serve_http("-z", "1000")
        with socket.create_connection(("127.0.0.1", self.port), START_S) as connected:
            connected.sendall(b"GET /events HTTP/1.1\r\nHost: localhost\r\n\r\n")
            self.assertRegex(connected.recv(100), rb"^HTTP/1\.1 200 ")
            most, sent = 64 << 20, 0
            connected.settimeout(1)
            with self.assertRaises(TimeoutError):
                while sent < most:
                    sent += connected.send(bytes(1 << 20))
            self.assertEqual(self.ask("GET", "/healthz").status, 200)

    def test_requests_follow_each_other_in_one_connection(self):
        self.serve_http()
        connection = self.connect_http()
        for number in range(1, 20):
            answer = self.ask("POST", "/api/v1/put", b'{"tube":"a","body":"b"}',
                              {"Content-Type": "application/json"}, connection)
            self.assertEqual(answer.json(), {"id": str(number), "result": "scheduled"})

    def test_more_connections_than_there_may_be(self):
        server = self.serve_http(preexec_fn=few_files(150))
        self.assertEqual(self.ask("GET", "/healthz").status, 200)
        idle = []
        for _ in range(150):
            connected = socket.create_connection(("127.0.0.1", self.port), START_S)
            self.addCleanup(connected.close)
            idle.append(connected)
        server.wait_for(b"a connection of HTTP gets /livez alone: there are too many")
        # Everything else goes on, and so does HTTP when there is room again.
        self.assertEqual(server.connect().put(b"a"), b"INSERTED 1")
        for connected in idle:
            connected.close()
        self.assertEqual(self.ask("GET", "/healthz").status, 200)
        server.stop()

    def test_connections_leave_descriptors_to_the_journal(self):
        server = self.serve_http(preexec_fn=few_files(120))
        own = self.open_sockets(server)
        client = server.connect()
        self.assertEqual(client.put(b"a"), b"INSERTED 1")

        def connect():
            connected = socket.create_connection(("127.0.0.1", self.port), START_S)
            self.addCleanup(connected.close)
            return connected
        connections = [connect() for _ in range(110)]
        server.wait_for(b"a connection of HTTP gets /livez alone: there are too many")
        clients, taken = [], -1
        while taken != (taken := self.open_sockets(server)):  # until one is not taken
            clients.append(server.connect())
            time.sleep(0.1)
        # The server keeps 40 descriptors for itself, and takes no more connections after a pause.
        for _ in range(150):
            self.assertLessEqual(self.open_sockets(server) - own, 120 - 40)
            time.sleep(0.01)
        self.assertLessEqual(server.log().count(b"no connection of HTTP"), 1)
        # These puts use many files: the journal has the descriptors that it needs.
        body = b"x" * 60000
        for i in range(40):
            self.assertEqual(client.put(body), b"INSERTED %d" % (i + 2))
        # The others get their turn when some have gone.
        for connected in connections[:-1]:
            connected.close()
        self.assertEqual(clients[-1].put(b"b"), b"INSERTED 42")
        connections[-1].sendall(b"GET /healthz HTTP/1.1\r\nHost: localhost\r\n\r\n")
        self.assertRegex(connections[-1].recv(100), rb"^HTTP/1\.\d 200 ")
        server.stop()

    @staticmethod
    def open_sockets(server):
        """Returns the number of open sockets. Files do not count, because the journal opens another
        one now and then."""
        folder, count = f"/proc/{server.process.pid}/fd", 0
        for name in os.listdir(folder):
            try:
                count += os.readlink(f"{folder}/{name}").startswith("socket:")
            except FileNotFoundError:
                pass  # it has been closed meanwhile
        return count

    def test_connections_that_have_gone_count_no_more(self):
        """More connections come, one after another, than there may be at once. Nobody has to
        wait."""
        server = self.serve_http(preexec_fn=few_files(80))
        for _ in range(100):
            connection = self.connect_http()
            self.assertEqual(self.ask("GET", "/healthz", connection=connection).status, 200)
            connection.close()
        client = server.connect()
        self.assertEqual(client.put(b"a"), b"INSERTED 1")
        server.stop()

    def serve_tls(self, **options):
        subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt",
                        "ec_paramgen_curve:P-256", "-nodes", "-keyout", "key.pem", "-out",
                        "cert.pem", "-subj", "/CN=localhost", "-days", "2"],
                       cwd=self.directory, check=True, capture_output=True)
        return self.serve("--http", "tls:127.0.0.1:0", "--tls-certificate", "cert.pem",
                          "--tls-key", "key.pem", **options)

    def test_tls(self):
        server = self.serve_tls()
        context = ssl.create_default_context(cafile=self.directory / "cert.pem")
        with socket.create_connection(("127.0.0.1", self.http_port(server)), START_S) as plain:
            with context.wrap_socket(plain, server_hostname="localhost") as secure:
                secure.sendall(b"GET /api/v1/stats HTTP/1.0\r\nHost: localhost\r\n\r\n")
                answer = b""
                while piece := secure.recv(1 << 16):
                    answer += piece
        self.assertRegex(answer, rb"^HTTP/1\.\d 200 ")
        self.assertIn(b'"total_put":0', answer)
        server.stop()

    @unittest.skipUnless(NO_TLS_SESSIONS, "not beside a sanitizer")
    def test_no_answer_is_in_plain_text_where_a_session_of_tls_fails(self):
        server = self.serve_tls(env={**os.environ, "LD_PRELOAD": NO_TLS_SESSIONS})
        with socket.create_connection(("127.0.0.1", self.http_port(server)), START_S) as plain:
            plain.sendall(b"GET /api/v1/stats HTTP/1.1\r\nHost: localhost\r\n\r\n")
            answer = b""
            while piece := plain.recv(1 << 16):  # to the end of the connection
                answer += piece
        self.assertRegex(answer, rb"^HTTP/1\.1 507 ")
        self.assertNotIn(b"total_put", answer)
        server.stop()

    def test_a_socket_in_the_file_system(self):
        server = self.serve("--http", "unix:web")
        self.assertIn("http:unix:web", server.addresses())
        with socket.socket(socket.AF_UNIX) as connected:
            connected.connect(str(self.directory / "web"))
            connected.sendall(b"GET /healthz HTTP/1.0\r\nHost: localhost\r\n\r\n")
            self.assertRegex(connected.recv(1000), rb"^HTTP/1\.\d 200 ")
        server.stop()
        self.assertFalse((self.directory / "web").exists())

    def read_answer(self, connected):
        answer = b""
        while b"\r\n\r\n" not in answer or not answer.endswith(b"}"):
            piece = connected.recv(1 << 16)
            if not piece:
                break
            answer += piece
        return answer

    def until(self, holds):
        end = time.monotonic() + START_S
        while not holds() and time.monotonic() < end:
            time.sleep(0.01)
        self.assertTrue(holds())


if __name__ == "__main__":
    support.main()
