"""Tests elapse serve --http: requests that take too long to come, though a byte comes all the time.

The test waits for the limits of docs/man/elapse-serve.8 by the real clock, all of them at the same time.
"""

import concurrent.futures
import contextlib
import itertools
import socket
import time

import support
from http_support import HttpTest
from serve_support import START_S

HEAD_S, BODY_S = 10, 30  # src/server/http/intake.h
PAUSE_S = 0.2
POST = b"POST /api/v1/put HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n"
RESERVE = POST.replace(b"/put ", b"/reserve ")
BODY = b'{"tube": "slow", "body": "x"}'


class Slow(HttpTest):
    def drip(self, begin, forever):
        """Sends the beginning, and then a byte again and again, until the server ends the connection.
        Returns how long that took, and what the server has answered."""
        connected = socket.create_connection(("127.0.0.1", self.port), START_S)
        start = time.monotonic()
        answer = b""
        with connected:
            connected.sendall(begin)
            connected.settimeout(PAUSE_S)
            while True:
                try:
                    connected.sendall(forever)
                    piece = connected.recv(1 << 16)
                    if not piece:
                        break
                    answer += piece
                except TimeoutError:
                    continue
                except (BrokenPipeError, ConnectionResetError):
                    break
        return time.monotonic() - start, answer

    def drip_in_time(self):
        """Sends each part of a request slowly, but within its limit: longer than a head may take, in all.
        Begins again if the machine stood still for so long that the limit has passed. Returns the answer, and how
        often the limit has passed."""
        for late in itertools.count():
            start, answer = time.monotonic(), b""
            with socket.create_connection(("127.0.0.1", self.port), START_S) as connected, contextlib.suppress(ConnectionError):
                connected.sendall(POST + b"Content-Length: %d\r\n\r\n" % len(BODY))
                for byte in BODY:
                    time.sleep(HEAD_S * 1.2 / len(BODY))
                    connected.sendall(bytes([byte]))
                answer = connected.recv(1 << 16)
            if answer != b"" or time.monotonic() - start < BODY_S - 0.1:
                return answer, late

    def two_in_time(self):
        """Sends two requests over one connection. The head of the second comes with the end of the first. Each comes
        within its limit, and both together take longer than one body may. Begins again if the machine stood still.
        Returns the answers, and how often a limit has passed."""
        head = POST + b"Content-Length: %d\r\n\r\n" % len(BODY)
        for late in itertools.count():
            answers = b""
            start = second = end = time.monotonic()
            with socket.create_connection(("127.0.0.1", self.port), START_S) as connected, contextlib.suppress(ConnectionError):
                connected.sendall(head + BODY[:-1])
                time.sleep(BODY_S * 0.6)
                second = time.monotonic()
                connected.sendall(BODY[-1:] + head + BODY[:-1])
                time.sleep(BODY_S * 0.6)
                connected.sendall(BODY[-1:])
                end = time.monotonic()
                while answers.count(b"HTTP/1.1 ") < 2:
                    piece = connected.recv(1 << 16)
                    if not piece:
                        break
                    answers += piece
            if answers.count(b"HTTP/1.1 ") == 2 or max(second - start, end - second) < BODY_S - 0.1:
                return answers, late

    def behind_a_wait(self):
        """Sends a request that waits for a job, and behind it one whose last byte comes later than a body may take, but
        in time after the answer. Begins again if the machine stood still. Returns what two_in_time returns."""
        wait = b'{"tubes": ["nothing"], "wait": "%ds"}' % (BODY_S * 0.8)
        for late in itertools.count():
            answers = b""
            answered = end = time.monotonic()
            with socket.create_connection(("127.0.0.1", self.port), BODY_S + START_S) as connected, contextlib.suppress(ConnectionError):
                connected.sendall(RESERVE + b"Content-Length: %d\r\n\r\n" % len(wait) + wait
                                  + POST + b"Content-Length: %d\r\n\r\n" % len(BODY) + BODY[:-1])
                answers = connected.recv(1 << 16)
                answered = time.monotonic()
                time.sleep(BODY_S * 0.5)
                connected.sendall(BODY[-1:])
                end = time.monotonic()
                while answers.count(b"HTTP/1.1 ") < 2:
                    piece = connected.recv(1 << 16)
                    if not piece:
                        break
                    answers += piece
            if answers.count(b"HTTP/1.1 ") == 2 or end - answered < BODY_S - 0.1:
                return answers, late

    def test_requests_that_drip_are_ended(self):
        server = self.serve_http()
        with concurrent.futures.ThreadPoolExecutor(max_workers=7) as pool:
            head = pool.submit(self.drip, b"GET /healthz HTTP/1.1\r\nHost: localhost\r\nX: ", b"x")
            body = pool.submit(self.drip, POST + b"Content-Length: 60000\r\n\r\n", b" ")
            chunks = pool.submit(self.drip, POST + b"Transfer-Encoding: chunked\r\n\r\n", b"1\r\n \r\n")
            in_time = pool.submit(self.drip_in_time)
            two = pool.submit(self.two_in_time)
            waited = pool.submit(self.behind_a_wait)
            behind = pool.submit(self.drip, POST + b"Content-Length: %d\r\n\r\n" % len(BODY) + BODY
                                 + POST + b"Content-Length: 60000\r\n\r\n", b" ")
            times_s = []
            for dripping, floor_s in ((head, HEAD_S), (body, BODY_S), (chunks, BODY_S)):
                took_s, answer = dripping.result()
                # The limit begins when the server gets the first byte; its clock is rounded.
                self.assertGreater(took_s, floor_s - 0.1)
                self.assertEqual(answer, b"")
                times_s.append(took_s)
            # A head may take less time than a body, and by more than what the machine adds.
            self.assertLess(times_s[0], min(times_s[1:]) - (BODY_S - HEAD_S) / 2)
            answer, late = in_time.result()
            self.assertRegex(answer, rb"^HTTP/1\.1 200 ")
            for pair in (two, waited):
                answers, more_late = pair.result()
                self.assertEqual(answers.count(b"HTTP/1.1 200 "), 2, answers)
                late += more_late
            # A request behind another one is ended, too, and the one before was answered.
            took_s, answer = behind.result()
            self.assertGreater(took_s, BODY_S - 0.1)
            self.assertEqual(answer.count(b"HTTP/1.1 200 "), 1, answer)
        # A request that comes at once is answered, and nothing of those that were ended was done.
        self.assertIn(self.get("/api/v1/stats")["total_put"], range(5, 6 + late))
        self.assertEqual(server.log().count(b"a request of HTTP has taken too long to come"), 4 + late)
        server.stop()


if __name__ == "__main__":
    support.main()
