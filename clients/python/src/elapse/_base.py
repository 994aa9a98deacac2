"""What both clients share: their options, and how the faults of redis-py are told apart."""

from __future__ import annotations

import asyncio
import inspect
import urllib.parse
from collections.abc import Sequence
from typing import Any

import redis
from redis.backoff import NoBackoff

from . import _commands, _texts
from ._commands import Command
from ._texts import Codec, Duration, JsonCodec
from ._tries import Fault, Tries
from .errors import (
    BatchError,
    DrainingError,
    ElapseError,
    ReplyError,
    TryAgainReply,
    UncertainError,
    UnknownReply,
    UnreachableError,
    WrongPasswordError,
)

DEFAULT = "127.0.0.1:11300"
_PORT = 11300

#: A token outlives the deadline by this time, within which a command may still be on its way.
TOKEN_MARGIN_S = 60.0
_DEADLINE_MAX_S = 540.0

#: What redis-py raises when a connection is lost, or cannot be made.
LOST = (redis.ConnectionError, redis.TimeoutError, OSError, asyncio.TimeoutError, EOFError)


def _url(address: str) -> str:
    """An address as redis-py takes it. Without a port it would have that of Redis."""
    if not isinstance(address, str):
        raise TypeError(f"an address is a text such as '127.0.0.1:11300', and not {address!r}")
    if address.startswith("unix:"):
        return address if "://" in address else f"unix://{address[len('unix:'):]}"
    url = address if "://" in address else f"redis://{address}"
    parts = urllib.parse.urlsplit(url)
    try:
        port = parts.port
    except ValueError:
        port = -1
    if parts.scheme not in ("redis", "rediss") or not parts.hostname or port == -1:
        raise ValueError(f"this is no address of a server, such as '127.0.0.1:11300': {address!r}")
    return url if port is not None else parts._replace(netloc=f"{parts.netloc.rstrip(':')}:{_PORT}").geturl()


class Options:
    """The options of a client, checked."""

    def __init__(
        self,
        addresses: tuple[str, ...],
        deadline: Duration,
        timeout: Duration,
        codec: Codec | None,
        name: str | None,
        others: dict[str, Any],
    ) -> None:
        self.addresses = [_url(one) for one in addresses or (DEFAULT,)]
        self.deadline_s = _texts.seconds(deadline)
        self.timeout_s = _texts.seconds(timeout)
        if not 0 < self.deadline_s <= _DEADLINE_MAX_S:
            raise ValueError("a deadline is above 0 and at most 9 minutes, because a token lives for 10")
        if self.timeout_s <= 0:
            raise ValueError("a timeout is above 0: otherwise a command could wait for ever")
        for option in ("decode_responses", "protocol"):
            if option in others:
                raise ValueError(f"a client has no option {option!r}: it reads replies in its own way")
        self.codec: Codec = codec or JsonCodec()
        self.name = name
        self.others = others

    def of_pool(self, retry: Any) -> dict[str, Any]:
        """The arguments of redis-py's pool of connections. Newer versions of redis-py send commands again by
        themselves, which could double them, unless they are told not to."""
        arguments = {
            "socket_timeout": self.timeout_s,
            "socket_connect_timeout": min(self.timeout_s, 5.0),
            "retry": retry(NoBackoff(), 0),
            **self.others,
        }
        if self.name is not None:
            arguments["client_name"] = self.name
        return arguments

    def written(self, command: Command[Any]) -> Command[Any]:
        """A put with its body written by the codec of the client."""
        return _commands.with_body(command, self.codec)

    def ready(self, command: Command[Any]) -> Command[Any]:
        """A command as it is sent: with its body written, and with a token of ours if it needs one."""
        return _commands.with_token(self.written(command), self.deadline_s + TOKEN_MARGIN_S)


def connection_arguments(pool_class: Any) -> tuple[str, ...]:
    """Older versions of redis-py want the name of a command where newer ones warn of one."""
    parameter = list(inspect.signature(pool_class.get_connection).parameters.values())[1:2]
    return (
        ("_",)
        if parameter
        and parameter[0].default is inspect.Parameter.empty
        and parameter[0].kind is inspect.Parameter.POSITIONAL_OR_KEYWORD
        else ()
    )


def refused_connection(error: Exception) -> Exception:
    """What a try is that found no connection: nothing was sent."""
    if isinstance(error, (redis.AuthenticationError, redis.ResponseError)):
        found = _commands.error_of(error)
        text = str(error)
        return WrongPasswordError(text) if "username-password" in text or "WRONGPASS" in text else found
    return Fault(str(error) or type(error).__name__, sent=False)


def read(command: Command[Any], reply: Any, tries: Tries) -> Any:
    """The result of a command. Raises Fault if it has to be tried again."""
    try:
        result = command.read(reply)
    except TryAgainReply as error:
        raise Fault(str(error), sent=False) from error
    except UnknownReply as error:
        raise Fault(str(error), sent=True, unknown=True) from error
    except DrainingError as error:  # another server may take the job
        raise Fault(str(error), sent=False, refusal=error) from error
    except ReplyError as error:
        tries.refused(error)
        raise
    if tries.uncertain and command.doubtful(result):
        raise _doubt(result)
    return result


def _doubt(result: Any) -> UncertainError:
    return UncertainError(
        f"the answer to an earlier try was lost, and this one answers {result}: either of them, or neither, has done it"
    )


def doubted(parts: Sequence[Command[Any]], results: list[Any], tries: Tries) -> list[Any]:
    """The results of a transaction without leases; errors stand in the places of those that an earlier try may have
    made what they are."""
    found = list(results)
    for place, (part, result) in enumerate(zip(parts, results)):
        try:
            if isinstance(result, ReplyError):
                tries.refused(result)
            elif tries.uncertain and part.doubtful(result):
                raise _doubt(result)
        except UncertainError as error:
            found[place] = error
    return found


class Places:
    """Commands that are sent together, each with its tries, until each has a result or an error in its place. The
    clients send what is `left`, and wait."""

    def __init__(self, commands: Sequence[Command[Any]], now_s: float, deadline_s: float) -> None:
        self._commands = commands
        self._tries = [Tries(now_s, deadline_s, one.again, one.life_s) for one in commands]
        self.results: list[Any] = [None] * len(commands)
        #: The places without a result, in their order.
        self.left = list(range(len(commands)))
        #: The error of further commands, which would meet the same trouble and wait as long; None: they may be sent.
        self.closed: ElapseError | None = None

    def begin(self, now_s: float) -> list[tuple[bytes, ...]]:
        """The arguments of the commands that are left, which are sent now. Those that would come too late have their
        error, and are left no more."""
        for place in list(self.left):
            try:
                self._tries[place].begin(now_s)
            except ElapseError as error:
                self._fail(place, error)
                self.left.remove(place)
        return [self._commands[place].sent for place in self.left]

    def _fail(self, place: int, error: ElapseError) -> None:
        self.results[place] = error
        if self._tries[place].over:
            self.closed = UnreachableError(
                f"it was not sent, because an earlier one was not done by its deadline: {error}"
            )

    def answered(self, replies: Sequence[Any], now_s: float) -> float:
        """Takes a reply for each command that is left, of which some may be faults. Returns for how many seconds to
        wait before what is left then is sent."""
        again: list[int] = []
        wait_s = 0.0
        for place, reply in zip(self.left, replies):
            tries = self._tries[place]
            try:
                try:
                    if isinstance(reply, Fault):
                        raise reply
                    self.results[place] = read(self._commands[place], reply, tries)
                except Fault as fault:
                    wait_s = max(wait_s, tries.failed(fault, now_s))
                    again.append(place)
            except ElapseError as error:
                self._fail(place, error)
        self.left = again
        return wait_s

    def lost(self, error: Fault | ReplyError, now_s: float) -> float:
        """The commands that are left got no reply, but this error. Returns what `answered` does."""
        if isinstance(error, Fault):
            return self.answered([error] * len(self.left), now_s)
        for place in self.left:
            try:
                self._tries[place].refused(error)
                self.results[place] = error
            except UncertainError as uncertain:
                self.results[place] = uncertain
        self.left, self.closed = [], error
        return 0.0


def raise_failed(results: list[Any], as_one: bool = False) -> None:
    """Raises BatchError if some of the results are errors. If all of them tell of the same trouble with the
    connection, it raises that; with `as_one`, also if all tell of the same trouble with anything."""
    failed = [one for one in results if isinstance(one, ElapseError)]
    if not failed:
        return
    kind = type(failed[0])
    if (
        (as_one or kind in (UnreachableError, UncertainError, WrongPasswordError))
        and len(failed) == len(results)
        and all(type(one) is kind for one in failed)
    ):
        raise failed[0]
    raise BatchError(results)
