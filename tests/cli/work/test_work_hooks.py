"""Tests elapse work --post, which sends a request to a web hook for each job."""

import hashlib
import hmac
import json
import http.server
import resource
import signal
import threading
import time

import support
from work_support import LONG_S, OK, WorkTest


class Hook(http.server.ThreadingHTTPServer):
    """A web hook. `answer` gives the status for a request, or None to hang."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, test, answer):
        super().__init__(("127.0.0.1", 0), Handler)
        self.answer = answer
        self.requests = []
        self.connections = 0
        self.lock = threading.Lock()
        self.url = f"http://127.0.0.1:{self.server_address[1]}/hook?a=b"
        threading.Thread(target=self.serve_forever, daemon=True).start()
        test.addCleanup(self.server_close)
        test.addCleanup(self.shutdown)

    def handle_error(self, request, client_address):
        pass  # a worker that has had enough


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def setup(self):
        super().setup()
        with self.server.lock:
            self.server.connections += 1

    def do_POST(self):
        body = self.rfile.read(int(self.headers["Content-Length"]))
        with self.server.lock:
            self.server.requests.append((self.path, dict(self.headers.items()), body))
            status = self.server.answer(len(self.server.requests))
        if status is None:
            self.rfile.read(1)
            return
        self.send_response(status)
        if status == 429:
            self.send_header("Retry-After", "3600")
        self.send_header("Content-Length", "5")
        self.end_headers()
        self.wfile.write(b"reply")

    def log_message(self, *arguments):
        pass


class Hooks(WorkTest):
    def setUp(self):
        super().setUp()
        self.start()

    def test_more_requests_at_once_than_files_are_usual(self):
        """The worker begins with a low limit, and raises it as far as it may."""
        count = 100
        hook = Hook(self, lambda number: None)
        self.done("put", "t", "--lines", stdin=b"x\n" * count)
        low, high = resource.getrlimit(resource.RLIMIT_NOFILE)
        resource.setrlimit(resource.RLIMIT_NOFILE, (64, high))
        try:
            worker = self.work("t", "--concurrency", str(count), "--post", hook.url)
        finally:
            resource.setrlimit(resource.RLIMIT_NOFILE, (low, high))
        self.until(lambda: len(hook.requests) >= count, "sent")
        self.assertEqual(worker.errors(), "")

    def test_a_hook_gets_the_job(self):
        hook = Hook(self, lambda number: 204 if number > 1 else 200)
        body = bytes(range(256)) * 200
        self.write("secret", "the secret\n")
        self.done("put", "t\r\nx", "--key", "k %\r\nEvil: ö", stdin=body)
        worker = self.until_empty("t\r\nx", "--post", hook.url, "--secret-file", "secret",
                                  "--content-type", "text/plain")
        self.assertEqual((worker.output(), worker.errors()), ("", ""))
        [(path, headers, got)] = hook.requests
        self.assertEqual((path, got), ("/hook?a=b", body))
        self.assertEqual(headers["Elapse-Key"], "k%20%25%0D%0AEvil:%20%C3%B6")
        self.assertEqual(headers["Elapse-Tube"], "t%0D%0Ax")
        self.assertEqual(headers["Content-Type"], "text/plain")
        self.assertEqual((headers["Elapse-Job-Id"], headers["Elapse-Attempt"],
                          headers["Elapse-Missed"]), ("1", "1", "0"))
        self.assertRegex(headers["Elapse-Due-Ms"], r"^\d{13}$")
        self.assertNotIn("Evil", headers)
        self.assertNotIn("Expect", headers)
        signed = f"{headers['Elapse-Time-Ms']}.1.".encode() + body
        self.assertEqual(headers["Elapse-Signature"], "sha256=" + hmac.new(
            b"the secret", signed, hashlib.sha256).hexdigest())
        self.assertLess(abs(int(headers["Elapse-Time-Ms"]) / 1000 - time.time()), 3600)

    def test_headers_that_say_whose_a_request_is_stay(self):
        """A hook, or the proxy before it, trusts them. Names that only begin so travel."""
        hook = Hook(self, lambda number: 200)
        names = ("Proxy", "Proxy-Authorization", "Forwarded", "X-Forwarded-For", "x-forwarded-host", "Via", "Origin", "Referer",
                 "X-Real-IP", "X-Client-IP", "True-Client-IP", "X-HTTP-Method-Override", "Keep-Alive", "TE", "Trailer",
                 "Upgrade", "Set-Cookie", "Accept", "Accept-Encoding", "Proxied", "Vial", "Originator")
        for part in range(0, len(names), 8):
            self.done("put", "t", "x", "--headers", json.dumps({name: "evil" for name in names[part:part + 8]}))
        self.until_empty("t", "--post", hook.url)
        got = {name for _, headers, _ in hook.requests for name, value in headers.items() if value == "evil"}
        self.assertEqual(got, {"Accept-Encoding", "Proxied", "Vial", "Originator"})

    def test_headers_that_may_travel_do(self):
        hook = Hook(self, lambda number: 200)
        self.done("put", "t", "x", "--headers", json.dumps({
            "traceparent": "00-1", "X-Shop": "ä 7", "Empty": "", "Evil": "a\r\nInjected: yes", "Tab": "a\tb", "a b": "no",
            "a:b": "no", "host": "evil", "Content-Length": "0", "content-type": "evil", "Transfer-Encoding": "chunked",
            "Connection": "close", "AUTHORIZATION": "evil", "Cookie": "evil", "Elapse-Key": "evil", "elapse-signature": "evil",
            "User-Agent": "evil", "Expect": "100-continue", "number": 1, "a_b": "no"}))
        self.until_empty("t", "--post", hook.url)
        [(_, headers, body)] = hook.requests
        self.assertEqual(body, b"x")
        own = {name: value for name, value in headers.items() if not name.startswith("Elapse-")
               and name not in ("Host", "Content-Length", "Content-Type", "User-Agent", "Accept")}
        self.assertEqual(own, {"traceparent": "00-1", "X-Shop": "ä 7".encode().decode("latin-1"), "Empty": ""})
        self.assertNotIn("evil", " ".join(headers.values()))

    def test_an_unsigned_request_and_an_empty_body(self):
        hook = Hook(self, lambda number: 200)
        self.done("put", "t", "")
        self.until_empty("t", "--post", hook.url)
        [(_, headers, body)] = hook.requests
        self.assertEqual(body, b"")
        self.assertNotIn("Elapse-Signature", headers)

    def test_connections_stay(self):
        hook = Hook(self, lambda number: 200)
        self.done("put", "t", "--lines", stdin=b"x\n" * 200)
        self.until_empty("t", "--post", hook.url, "--concurrency", "4")
        self.assertEqual(len(hook.requests), 200)
        self.assertLessEqual(hook.connections, 8)

    def test_an_answer_that_is_not_2xx_is_a_failure(self):
        for status in (302, 404, 500):
            tube = f"t{status}"
            hook = Hook(self, lambda number, status=status: status)
            self.done("put", tube, "x", "--retry", "2", "--backoff", "10ms..10ms")
            worker = self.work(tube, "--post", hook.url)
            self.until(lambda tube=tube: self.counts(tube)["buried"] == 1, "buried")
            self.assertEqual([headers["Elapse-Attempt"] for _, headers, _ in hook.requests],
                             ["1", "2"])
            self.assertIn(f"attempt 1 failed: status {status} of HTTP\n", worker.errors())
            self.assertEqual(self.json_of("list", tube)[0]["error"],
                             f"status {status} of HTTP: reply")
            worker.kill()

    def test_a_hook_that_asks_for_time(self):
        hook = Hook(self, lambda number: 429)
        self.done("put", "t", "x", "--attempts", "2", "--backoff", "10ms..10ms", "--key", "k")
        worker = self.work("t", "--post", hook.url)
        self.until(lambda: self.counts()["delayed"] == 1, "waiting")
        [job] = self.json_of("lookup", "t", "k")
        self.assertGreater(job["left"], 3000000)
        self.assertEqual((job["attempts"], job["attempts_max"]), (1, 2))
        self.done("reschedule", "t", "k", "--in", "0s")
        self.until(lambda: self.counts()["buried"] == 1, "buried")
        self.assertIn("status 429 of HTTP", worker.errors())

    def test_a_hook_that_hangs(self):
        hook = Hook(self, lambda number: None if number == 1 else 200)
        self.done("put", "t", "x", "--ttr", "3900ms", "--backoff", "10ms..10ms")
        worker = self.work("t", "--post", hook.url, "--time-limit", "4s")
        self.until(lambda: self.json_of("stats")[0]["total_done"] == 1, "done")
        self.assertEqual([headers["Elapse-Attempt"] for _, headers, _ in hook.requests], ["1", "2"])
        self.assertRegex(worker.errors(), r"attempt 1 failed: .*(timed out|Timeout)")
        self.assertEqual(self.json_of("stats")[0]["total_timeouts"], 0)

    def test_a_hook_that_is_not_there(self):
        self.done("put", "t", "x", "--retry", "1")
        worker = self.work("t", "--post", "http://127.0.0.1:1/")
        self.until(lambda: self.counts()["buried"] == 1, "buried")
        self.assertRegex(worker.errors(), "attempt 1 failed: .*refused|attempt 1 failed: .*connect")

    def test_signals(self):
        go = threading.Event()

        def answer(number):
            go.wait(LONG_S)
            return 200
        hook = Hook(self, answer)
        self.done("put", "t", "x")
        worker = self.work("t", "--post", hook.url)
        self.until(lambda: hook.requests, "begun")
        worker.signal(signal.SIGTERM)
        self.until(lambda: "finishing" in worker.errors(), "heard")
        go.set()
        self.assertEqual(worker.wait(), OK, worker.errors())
        self.assertEqual(self.json_of("stats")[0]["total_done"], 1)

    def test_a_second_signal_gives_jobs_back(self):
        hook = Hook(self, lambda number: None)
        self.gives_back(lambda worker: hook.requests, "--post", hook.url)


if __name__ == "__main__":
    support.main()
