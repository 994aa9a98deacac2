"""A job in the hands of a worker, and what a handler may say about it."""

from __future__ import annotations

import dataclasses
import datetime
import json
import threading
from collections.abc import Awaitable, Callable, Mapping
from typing import Any

from . import _texts, tracing
from ._commands import GATHER_KEY, GATHER_TUBE, Command, PutOptions, PutResult, put as _put, read_map
from ._texts import Codec, Duration, Name


class RetryIn(Exception):
    """Raised by a handler: the job is due again after this time, and this is no failure. With
    `failure` it counts as an attempt, and the wait is at least this time. `reason`: a text, or an
    exception, whose text it is then; it becomes the job's error."""

    def __init__(self, delay: Duration, reason: object = None, *, failure: bool = False) -> None:
        said = None if reason is None else str(reason)
        super().__init__(said or f"again in {delay}")
        _texts.duration(delay)
        _texts.seconds(delay)  # what the server could not read would be found when nobody is told any more
        self.delay, self.reason, self.failure = delay, said, failure


class Bury(Exception):
    """Raised by a handler: the job is set aside until somebody kicks it. `reason`: a text, or an exception, whose
    text it is then; it becomes the job's error."""

    def __init__(self, reason: object) -> None:
        self.reason = str(reason)
        super().__init__(self.reason)


class JobCancelled(Exception):
    """Raised by `job.check()`: the job was cancelled, or its lease has ended. Stop working."""


def put(tube: Name, body: Any, **options: Any) -> Command[PutResult]:
    """A put that is not sent: for `job.done(...)`, `client.transaction(...)` and `client.put_many(...)`.
    It takes the options of `Client.put`, and carries the trace on that is active where it is made. A body that is
    neither bytes nor a text is written by the codec of the client that sends it, unless `codec` is given; if that
    is not JSON, it is written when it is sent, so do not change it before."""
    checked: PutOptions = options  # type: ignore[assignment]
    return _put(tube, body, checked, tracing.headers())


@dataclasses.dataclass(eq=False)
class JobBase:
    """What both kinds of jobs have."""

    id: int
    lease: bytes
    tube: str
    key: str | None
    body: bytes
    due: datetime.datetime | None
    #: 1, and 1 more for each hand-out that failed.
    attempt: int
    #: Occurrences of a recurring job that passed since the one before.
    missed: int
    ttr: datetime.timedelta
    tag: str | None
    group: str | None
    headers: Mapping[str, str]
    #: How many hand-outs may fail after this one; None: no limit.
    attempts_left: int | None
    recurring: bool
    #: Of a job that was put with `await_`: how many had not arrived when its time was over.
    missing: int
    #: What went wrong last, and when.
    error: str | None
    error_at: datetime.datetime | None
    codec: Codec = dataclasses.field(repr=False)
    #: Why the handler should stop: "cancelled", "lost" (the lease has ended), "limit" (the handler's
    #: time is over) or "stopping"; None: go on.
    stop_reason: str | None = dataclasses.field(default=None, init=False)
    #: `done` was called: the worker says nothing more about the job.
    finished: bool = dataclasses.field(default=False, init=False)

    @property
    def text(self) -> str:
        """The body as a text of UTF-8."""
        return self.body.decode()

    @property
    def value(self) -> Any:
        """The body as the client's codec reads it."""
        return self.codec.decode(self.body)

    def json(self) -> Any:
        """The body as JSON."""
        return json.loads(self.body)

    @property
    def gatherer(self) -> tuple[str, str] | None:
        """Of a piece of a gather: the tube and the key of the job that waits for it."""
        tube, key = self.headers.get(GATHER_TUBE), self.headers.get(GATHER_KEY)
        return None if not tube or not key else (tube, key)

    @property
    def pair(self) -> tuple[int, bytes]:
        """The id and the lease."""
        return self.id, self.lease


Finish = Callable[["Job", "tuple[Command[Any], ...]"], "list[Any]"]
AsyncFinish = Callable[["AsyncJob", "tuple[Command[Any], ...]"], Awaitable[list[Any]]]


@dataclasses.dataclass(eq=False)
class Job(JobBase):
    """A job in a worker of threads."""

    _finish: Finish | None = dataclasses.field(default=None, repr=False)
    _stop: threading.Event = dataclasses.field(default_factory=threading.Event, repr=False)

    @property
    def cancelled(self) -> bool:
        """Whether the handler should stop."""
        return self._stop.is_set()

    def check(self) -> None:
        """Raises JobCancelled if the handler should stop. Call it between steps of long work."""
        if self._stop.is_set():
            raise JobCancelled(self.stop_reason)

    def wait(self, timeout: Duration) -> bool:
        """Sleeps for so long, or until the handler should stop; returns whether it should."""
        return self._stop.wait(_texts.seconds(timeout))

    def stop(self, reason: str) -> None:
        """Called by the worker: the handler should stop."""
        self.stop_reason = self.stop_reason or reason
        self._stop.set()

    def done(self, *commands: Command[Any]) -> list[Any]:
        """The job is done, and these puts and cancels happen, all together and exactly once, whatever crashes.
        Returns their results, with errors in their places as `Client.transaction` does. Raises LeaseEndedError, and
        nothing has happened, if somebody else may have the job."""
        if self._finish is None:
            raise RuntimeError("this job came without a worker: use client.transaction(..., leased=[job])")
        return self._finish(self, commands)


@dataclasses.dataclass(eq=False)
class AsyncJob(JobBase):
    """A job in a worker of asyncio. If it should stop, its task is cancelled: `stop_reason` says why."""

    _finish: AsyncFinish | None = dataclasses.field(default=None, repr=False)

    async def done(self, *commands: Command[Any]) -> list[Any]:
        """As `Job.done`."""
        if self._finish is None:
            raise RuntimeError("this job came without a worker: use client.transaction(..., leased=[job])")
        return await self._finish(self, commands)


def read_job(reply: list[Any], codec: Codec) -> dict[str, Any]:
    """The fields of a job from a place of RESERVE's reply. Later servers may add places and names."""
    details = read_map(reply[8]) if len(reply) > 8 else {}
    return {
        "id": int(reply[0]),
        "lease": reply[1],
        "tube": _texts.read_name(reply[2]),
        "key": _texts.read_name(reply[3]),
        "body": reply[4],
        "due": _texts.read_moment(reply[5]),
        "attempt": int(reply[6]),
        "missed": int(reply[7]),
        "ttr": _texts.read_duration(details.get("ttr", 60_000)),
        "tag": _texts.read_name(details.get("tag")),
        "group": _texts.read_name(details.get("group")),
        "headers": _texts.read_headers(details.get("headers")),
        "attempts_left": details.get("attempts_left"),
        "recurring": bool(details.get("recurring", False)),
        "missing": details.get("await", 0),
        "error": _texts.read_name(details.get("error")),
        "error_at": _texts.read_moment(details.get("error_at")),
        "codec": codec,
    }
