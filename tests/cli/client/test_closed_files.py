"""Tests that start the program with standard input, output or errors closed. No file that the program
opens, such as a socket or a file of the queue, may get the number of a closed standard file."""

import http.client
import os
import signal
import socket
import subprocess
import time

import support
from client_support import FAILED, GONE, LONG_S, OK, USAGE, ClientTest


class ClosedFiles(ClientTest):
    def begin(self, closed, *arguments, **options):
        return subprocess.Popen(["sh", "-c", f'exec "$0" "$@" {closed}', support.PROGRAM, *arguments],
                                cwd=self.directory, env=self.environment(), **options)

    def run_closed(self, closed, *arguments):
        with self.begin(closed, *arguments, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                        stderr=subprocess.PIPE) as process:
            output, errors = process.communicate(timeout=LONG_S)
            return process.returncode, output.decode(), errors.decode()

    def listens(self, name):
        with socket.socket(socket.AF_UNIX) as tried:
            return tried.connect_ex(os.fspath(self.directory / name)) == 0

    def test_the_output(self):
        self.start()
        self.assertEqual(self.run_closed(">&-", "stats"),
                         (FAILED, "", "elapse stats: standard output: Bad file descriptor\n"))

    def test_the_input(self):
        self.start()
        for arguments in (["put", "t"], ["put", "t", "--lines"]):
            self.assertEqual(self.run_closed("<&-", *arguments),
                             (USAGE, "", "elapse put: standard input: Bad file descriptor\n"))
        self.assertEqual(self.json_of("stats")[0]["total_put"], 0)

    def test_the_messages(self):
        self.start()
        self.assertEqual(self.run_closed("2>&-", "lookup", "t", "k"), (GONE, "", ""))
        self.assertEqual(self.run_closed("2>&-", "put", "t", "x"), (OK, "1 scheduled\n", ""))

    def test_a_server_with_none_of_them(self):
        """The log of the server is lost, and is not written into the files of the queue."""
        server = self.begin("<&- >&- 2>&-", "serve", "--data", "d", "--segment-bits", "18", "--listen",
                            "unix:socket", "--http", "unix:web", "--verbose")
        self.addCleanup(server.kill)
        end = time.monotonic() + LONG_S
        while not (self.listens("socket") and self.listens("web")) and time.monotonic() < end:
            time.sleep(0.01)
        self.address = "unix:socket"
        self.assertEqual(self.done("put", "t", "x"), "1 scheduled\n")
        with socket.socket(socket.AF_UNIX) as connected:
            connected.settimeout(LONG_S)
            connected.connect(os.fspath(self.directory / "web"))
            connected.sendall(b"GET /healthz HTTP/1.0\r\nHost: localhost\r\n\r\n")
            answer = http.client.HTTPResponse(connected)
            answer.begin()
            self.assertEqual((answer.status, answer.read()), (200, b"ok\n"))
        server.send_signal(signal.SIGTERM)
        self.assertEqual(server.wait(LONG_S), OK)
        for path in (self.directory / "d").rglob("*"):
            if path.is_file():
                self.assertNotIn(b"listening", path.read_bytes(), path)
        self.assertIn("all is whole", self.succeed("check", "d"))


if __name__ == "__main__":
    support.main()
