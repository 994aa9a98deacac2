"""For the tests of programs that use Elapse: a server in memory, whose clock the test moves.

    with elapse.testing.Server() as server:
        client = server.client()
        client.put("orders", "4711", in_="30m")
        server.advance("30m")                       # takes no time
        my_worker.run(client=client, until_idle=True)
"""

from __future__ import annotations

import datetime
import os
import re
import selectors
import shutil
import subprocess
import time
from typing import IO, Any

from . import _commands, _texts
from ._commands import Command
from ._texts import Duration
from .aio import AsyncClient
from .client import Client
from .errors import ElapseError


class ServerError(ElapseError):
    """The server did not start; the text is what it said."""


class Server:
    """Runs `elapse serve --durability memory --test-clock` on a free port of this machine, until it is
    closed or the program ends. `program`: otherwise ELAPSE_PROGRAM of the environment, or `elapse`."""

    def __init__(self, *options: str, program: str | None = None, patience: Duration = "60s") -> None:
        found = program or os.environ.get("ELAPSE_PROGRAM") or shutil.which("elapse")
        if found is None:
            raise ServerError("there is no program 'elapse': install it, or name it by ELAPSE_PROGRAM")
        self._process = subprocess.Popen(
            [found, "serve", "--durability", "memory", "--test-clock", "--listen", "127.0.0.1:0", *options],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
        )
        assert self._process.stderr is not None
        self._clients: list[Client] = []
        try:
            self.port = self._wait_for_port(self._process.stderr, _texts.seconds(patience))
        except BaseException:
            self.close()
            raise
        self.url = f"redis://127.0.0.1:{self.port}"

    def _wait_for_port(self, errors: IO[bytes], patience_s: float) -> int:
        end_s = time.monotonic() + patience_s
        said = b""
        os.set_blocking(errors.fileno(), False)
        with selectors.DefaultSelector() as selector:
            selector.register(errors, selectors.EVENT_READ)
            while b" ready: " not in said:
                if not selector.select(max(0.0, end_s - time.monotonic())):
                    raise ServerError(f"the server is not ready in time: {said.decode(errors='replace')}")
                more = errors.read()
                if not more:
                    raise ServerError(f"the server has ended: {said.decode(errors='replace')}")
                said += more
        found = re.search(rb"listening: 127\.0\.0\.1:(\d+)", said)
        if found is None:
            raise ServerError(f"the server does not say where it listens: {said.decode(errors='replace')}")
        return int(found.group(1))

    def client(self, **options: Any) -> Client:
        """A client of this server, which is closed with it."""
        self._clients.append(Client(self.url, **options))
        return self._clients[-1]

    def async_client(self, **options: Any) -> AsyncClient:
        """A client for asyncio, to be closed by the caller."""
        return AsyncClient(self.url, **options)

    def advance(self, length: Duration) -> datetime.datetime:
        """Moves the clock of the server forward; returns its time. Whatever is due by then happens."""
        with Client(self.url) as client:
            return client.run(Command((b"CLOCK", b"ADVANCE", _texts.duration(length)), _read_clock, again=False))

    def now(self) -> datetime.datetime:
        """The time of the server's clock."""
        with Client(self.url) as client:
            return client.run(Command((b"CLOCK",), _read_clock, again=True))

    def close(self) -> None:
        """Ends the server."""
        for client in self._clients:
            client.close()
        self._process.kill()
        self._process.wait()
        if self._process.stderr is not None:
            self._process.stderr.close()

    def __enter__(self) -> Server:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _read_clock(reply: Any) -> datetime.datetime:
    if isinstance(reply, Exception):
        raise _commands.error_of(reply)
    found = _texts.read_moment(int(reply))
    assert found is not None
    return found
