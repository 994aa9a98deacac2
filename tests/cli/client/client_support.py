"""What the tests of the client and of the worker share: a server, and functions that run commands against
it."""

import json
import os
import socket
import subprocess
import sys
import threading
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "serve"))
import serve_support  # noqa: E402
import support  # noqa: E402

OK, FAILED, USAGE, GONE, TAKEN, FULL, NO_SERVER, NOT_AUTHORISED, UNKNOWN = range(9)
LONG_S = 60  # a machine may be slow: a limit that no run comes near


class ClientTest(serve_support.ServeTest):
    """A test of the client. Its commands go to the server at `address`, once one was started."""

    address = None

    def start(self, *arguments, **options):
        server = self.serve(*arguments, **options)
        self.address = server.addresses()[0]
        return server

    def environment(self):
        cleared = {name: value for name, value in os.environ.items()
                   if name not in ("ELAPSE_SERVER", "ELAPSE_TOKEN_FILE")}
        return cleared | ({"ELAPSE_SERVER": self.address} if self.address else {})

    def client(self, *arguments, **options):
        options.setdefault("env", self.environment())
        return self.run_program(*arguments, **options)

    def done(self, *arguments, status=OK, **options):
        """Runs a command that must end with this status and no message; returns its output."""
        outcome = self.client(*arguments, **options)
        self.assertEqual((outcome.status, outcome.errors), (status, ""), outcome)
        return outcome.output

    def fails(self, status, says, *arguments, **options):
        """Runs a command that must end with this status, one message, and no output."""
        outcome = self.client(*arguments, **options)
        self.assertEqual((outcome.status, outcome.output), (status, ""), outcome)
        self.assertIn(says, outcome.errors.splitlines()[0])
        self.assertTrue(outcome.errors.startswith(f"elapse {arguments[0]}: "), outcome)
        self.assertEqual(len(outcome.errors.splitlines()), 2 if status == USAGE and
                         "Try" in outcome.errors else 1, outcome)

    def json_of(self, *arguments, status=OK):
        return [json.loads(line) for line in
                self.done(*arguments, "--json", status=status).splitlines()]

    def make_certificate(self, name, *subject):
        """Makes a key and a certificate that this key signs."""
        subprocess.run(
            ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
             "-nodes", "-keyout", f"{name}.key", "-out", f"{name}.pem", "-days", "2", "-subj",
             "/CN=test", "-addext", f"subjectAltName={','.join(subject)}"],
            cwd=self.directory, capture_output=True, check=True, timeout=LONG_S)

    def serve_tls(self, *arguments):
        self.make_certificate("server", "DNS:localhost", "IP:127.0.0.1")
        return self.start("--tls-certificate", "server.pem", "--tls-key", "server.key", *arguments,
                          listen="tls:127.0.0.1:0")


def send_and_end(connection, reply):
    """Sends the reply and the end of the connection in one packet, so that they come together."""
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_CORK, 1)
    connection.sendall(reply)
    connection.shutdown(socket.SHUT_WR)
    while connection.recv(1000):
        pass


class Stranger:
    """A listener on loopback, in place of a server. It calls `handle` for each connection."""

    def __init__(self, test, handle):
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.address = "127.0.0.1:%d" % self.listener.getsockname()[1]
        self.handle = handle
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()
        test.addCleanup(self.listener.close)

    def run(self):
        while True:
            try:
                connection, _ = self.listener.accept()
            except OSError:
                return
            with connection:
                self.handle(connection)
