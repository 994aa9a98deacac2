"""What the tests of RESP over sockets share: a server, and the protocol in Python, which was written apart
from the server's own."""

import contextlib
import pathlib
import re
import socket
import sys
import tempfile

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))

from server_process import FREE_PORT, PATIENCE_S, SKIPPED, ServerProcess  # noqa: E402


@contextlib.contextmanager
def server(*options, directory=None):
    """A server on a free port of loopback, with an empty queue unless a directory is given. Yields
    the port. It has to end by SIGTERM, with status 0."""
    with tempfile.TemporaryDirectory() as own:
        running = ServerProcess(
            own + "/log",
            ["--data", directory or own + "/data", *FREE_PORT, "--segment-bits", "20", *options])
        try:
            yield running.wait_for_port()
            running.stop()
        finally:
            running.kill()


class ReplyError(Exception):
    """An error that the server replied with."""

    def __eq__(self, other):
        return isinstance(other, ReplyError) and str(self) == str(other)

    __hash__ = Exception.__hash__


class Connection:
    """A connection that speaks RESP. Replies are the values of Python: texts, numbers, lists, dicts,
    None, True and False; a ReplyError is returned, not raised."""

    def __init__(self, port):
        self.socket = socket.create_connection(("127.0.0.1", port), timeout=PATIENCE_S)
        self.file = self.socket.makefile("rb")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.file.close()
        self.socket.close()

    def send(self, *arguments):
        parts = [f"*{len(arguments)}\r\n".encode()]
        for argument in arguments:
            data = argument if isinstance(argument, bytes) else str(argument).encode()
            parts.append(b"$%d\r\n%s\r\n" % (len(data), data))
        self.socket.sendall(b"".join(parts))

    def line(self):
        line = self.file.readline()
        if not line.endswith(b"\r\n"):
            raise EOFError(f"the connection ended in {line!r}")
        return line[:1], line[1:-2].decode()

    def receive(self):
        kind, rest = self.line()
        if kind == b"+":
            return rest
        if kind == b"-":
            return ReplyError(rest)
        if kind == b":":
            assert re.fullmatch(r"-?(0|[1-9]\d*)", rest), rest
            return int(rest)
        if kind == b"$":
            return self.bulk(int(rest))
        if kind == b"*":
            return None if rest == "-1" else [self.receive() for _ in range(int(rest))]
        if kind == b"%":
            return {self.receive(): self.receive() for _ in range(int(rest))}
        if kind == b"_" and rest == "":
            return None
        if kind == b"#" and rest in "tf":
            return rest == "t"
        raise AssertionError(f"no RESP: {kind}{rest}")

    def bulk(self, size):
        if size == -1:
            return None
        data = self.file.read(size + 2)
        assert len(data) == size + 2 and data.endswith(b"\r\n"), data
        return data[:-2].decode("utf-8", "surrogateescape")

    def ask(self, *arguments):
        self.send(*arguments)
        return self.receive()
