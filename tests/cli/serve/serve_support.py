"""What the tests of the server share: functions that start it, and connections to it."""

import os
import pathlib
import re
import resource
import socket
import sys

import support

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))

from server_process import FREE_PORT, PATIENCE_S as START_S, ServerProcess  # noqa: E402

LISTENING = re.compile(rb"listening: (\S+)\n")


class Client:
    """A connection that speaks beanstalkd's protocol, or plain bytes."""

    def __init__(self, connected):
        self.socket = connected
        self.socket.settimeout(START_S)
        self.buffer = b""

    def send(self, data):
        self.socket.sendall(data)

    def line(self):
        while b"\r\n" not in self.buffer:
            self.fill()
        line, _, self.buffer = self.buffer.partition(b"\r\n")
        return line

    def take(self, count):
        while len(self.buffer) < count:
            self.fill()
        taken, self.buffer = self.buffer[:count], self.buffer[count:]
        return taken

    def fill(self):
        data = self.socket.recv(1 << 16)
        if not data:
            raise EOFError(f"the server has closed the connection after {self.buffer!r}")
        self.buffer += data

    def ask(self, data):
        self.send(data)
        return self.line()

    def put(self, body, delay_s=0):
        return self.ask(b"put 1 %d 60 %d\r\n%s\r\n" % (delay_s, len(body), body))

    def reserve(self):
        words = self.ask(b"reserve-with-timeout %d\r\n" % START_S).split()
        assert words[0] == b"RESERVED", words
        return int(words[1]), self.take(int(words[2]) + 2)[:-2]

    def is_closed(self):
        try:
            return self.socket.recv(1) == b""
        except ConnectionError:
            return True

    def close(self):
        self.socket.close()


class Server(ServerProcess):
    """A running server of a test, in its directory."""

    def __init__(self, test, arguments, **options):
        words = [support.PROGRAM, "serve"]
        self.test = test
        super().__init__(test.directory / f"log-{len(test.servers)}", arguments, words,
                         cwd=test.directory, **options)

    def addresses(self):
        return [found.decode() for found in LISTENING.findall(self.wait_for(b" ready: "))]

    def connect(self, number=0):
        address = self.addresses()[number].removeprefix("tls:")
        if address.startswith("unix:"):
            connected = socket.socket(socket.AF_UNIX)
            connected.connect(os.fspath(self.test.directory / address[5:]))
        else:
            host, _, port = address.rpartition(":")
            connected = socket.create_connection((host.strip("[]"), int(port)), START_S)
        client = Client(connected)
        self.test.addCleanup(client.close)
        return client


class ServeTest(support.ProgramTest):
    def setUp(self):
        super().setUp()
        self.servers = []

    def serve(self, *arguments, listen=FREE_PORT[1], data="d", **options):
        """Starts a server with small files, so that a start costs little."""
        words = ["--data", data, "--segment-bits", "18"]
        if listen is not None:
            words += ["--listen", listen]
        server = Server(self, [*words, *arguments], **options)
        self.servers.append(server)
        self.addCleanup(server.kill)
        return server

    def write_secret(self, name, text, mode=0o600):
        path = self.directory / name
        path.write_text(text)
        path.chmod(mode)

    def refused(self, *arguments, **options):
        """Starts a server that must end by itself; returns its status and its log."""
        server = self.serve(*arguments, **options)
        return server.wait(), server.log().decode()


def few_files(count):
    """For preexec_fn: the process may have so many files open, and cannot raise that."""
    def limit():
        resource.setrlimit(resource.RLIMIT_NOFILE, (count, count))
    return limit
