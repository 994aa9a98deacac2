"""What the proofs share: a server that they kill, and connections that know which commands were answered."""

import asyncio
import os
import pathlib
import re
import signal
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "support"))

from server_process import FREE_PORT, PATIENCE_S, SKIPPED, ServerProcess  # noqa: E402

NOTHING = "(nothing)"  # of RESP


class Server(ServerProcess):
    """A server process on a free port of loopback."""

    def __init__(self, directory, *options, before=(), segment_bits=16):
        super().__init__(os.path.join(directory, "log"),
                         ["--data", os.path.join(directory, "data"), *FREE_PORT,
                          "--segment-bits", str(segment_bits), *options], before=before)
        self.port = None
        self.number = None  # of the server's own process, which another one may have started

    def wait_until_ready(self):
        self.port = self.wait_for_port()
        self.number = int(re.search(rb" ready: .* process (\d+)", self.log()).group(1))

    def signal(self, number):
        os.kill(self.number, number)

    def kill(self):
        if self.process.poll() is None and self.number is not None:
            self.signal(signal.SIGKILL)
        super().kill()


class Command:
    """Bytes to send; `ended` is called once: with the reply, or with None if none came."""

    def __init__(self, data, ended):
        self.data, self.ended = data, ended
        self.sent = None
        self.first = None  # the place of the first byte of its reply, in all that came

    def end(self, reply):
        self.ended(self, reply)


class Connection:
    """A connection that sends commands in batches and reads their replies. Subclasses parse."""

    def __init__(self, reader, writer):
        self.reader, self.writer = reader, writer
        self.got = 0
        self.port = writer.get_extra_info("sockname")[1]

    @classmethod
    async def open(cls, port):
        return cls(*await asyncio.open_connection("127.0.0.1", port))

    async def ask(self, commands, book=None):
        """Returns False if the server died; all commands have ended then, too."""
        now = time.monotonic()
        for command in commands:
            command.sent = now
        done = 0
        try:
            self.writer.write(b"".join(command.data for command in commands))
            while done < len(commands):
                commands[done].first = self.got
                reply = await self.receive()
                if book is not None:
                    book.answered(commands[done].sent)
                done += 1
                commands[done - 1].end(reply)
            return True
        except (ConnectionError, asyncio.IncompleteReadError):
            for command in commands[done:]:
                command.end(None)
            return False

    async def line(self):
        data = await self.reader.readuntil(b"\r\n")
        self.got += len(data)
        return data[:-2]

    async def body(self, size):
        data = await self.reader.readexactly(size + 2)
        self.got += len(data)
        return data[:-2].decode()

    def close(self):
        self.writer.close()


class Beanstalkd(Connection):
    """A reply is a tuple of its words; of RESERVED the last one is the body."""

    async def receive(self):
        words = tuple((await self.line()).decode().split(" "))
        if words[0] in ("RESERVED", "FOUND", "OK"):
            return (*words[:-1], await self.body(int(words[-1])))
        return words


class Resp(Connection):
    """A reply is a text, a number, NOTHING or a list; an error is a text with a minus before it."""

    async def receive(self):
        line = (await self.line()).decode()
        kind, rest = line[0], line[1:]
        if kind == "*":
            return [await self.receive() for _ in range(int(rest))]
        if kind == "$":
            if rest == "-1":
                return NOTHING
            return await self.body(int(rest))
        if kind == ":":
            return int(rest)
        return line if kind == "-" else rest


def resp(*words):
    texts = [str(word).encode() for word in words]
    return b"*%d\r\n" % len(texts) + b"".join(b"$%d\r\n%s\r\n" % (len(t), t) for t in texts)


def line(text, body=None):
    data = text.encode() + b"\r\n"
    return data if body is None else data + body.encode() + b"\r\n"
