"""Elapse from Python: put jobs that are due later, cancel and move them by key, and do them.

    from elapse import Client, Worker

The classes for asyncio are `AsyncClient` and `AsyncWorker`. README.md is the way in; docs/protocol.md
of Elapse says what each command does.
"""

from __future__ import annotations

import datetime as _datetime
from collections.abc import Iterable as _Iterable
from typing import Any as _Any

from . import _commands, tracing
from ._commands import Command, GroupInfo, JobInfo, Limits, PutOptions, PutResult
from ._texts import Codec, Duration, JsonCodec, Name
from ._thread_worker import Worker
from .aio import AsyncClient
from .aio_worker import AsyncWorker
from .client import Client
from .errors import (
    AuthenticationNeededError,
    BatchError,
    BusyKeyError,
    CommandError,
    CrossSlotError,
    DamagedError,
    DiskError,
    DiskFullError,
    DrainingError,
    ElapseError,
    LeaseEndedError,
    LimitError,
    NotPermittedError,
    OutOfMemoryError,
    ProtocolVersionError,
    ReplyError,
    TransactionAbortedError,
    UncertainError,
    UnreachableError,
    WrongPasswordError,
)
from .jobs import AsyncJob, Bury, Job, JobCancelled, RetryIn, put

__version__ = "0.3.0"

__all__ = [
    "AsyncClient",
    "AsyncJob",
    "AsyncWorker",
    "AuthenticationNeededError",
    "BatchError",
    "Bury",
    "BusyKeyError",
    "Client",
    "Codec",
    "Command",
    "CommandError",
    "CrossSlotError",
    "DamagedError",
    "DiskError",
    "DiskFullError",
    "DrainingError",
    "Duration",
    "ElapseError",
    "GroupInfo",
    "Job",
    "JobCancelled",
    "JobInfo",
    "JsonCodec",
    "LeaseEndedError",
    "LimitError",
    "Limits",
    "Name",
    "NotPermittedError",
    "OutOfMemoryError",
    "ProtocolVersionError",
    "PutOptions",
    "PutResult",
    "ReplyError",
    "RetryIn",
    "TransactionAbortedError",
    "UncertainError",
    "UnreachableError",
    "Worker",
    "WrongPasswordError",
    "arrive",
    "cancel",
    "gather",
    "put",
    "reschedule",
]


def cancel(tube: Name, *keys: Name) -> Command[list[str]]:
    """A cancel that is not sent: for `job.done(...)` and `client.transaction(...)`."""
    return _commands.cancel(tube, *keys)


def reschedule(
    tube: Name, key: Name, *, in_: Duration | None = None, at: _datetime.datetime | None = None
) -> Command[str]:
    """A reschedule that is not sent: for `job.done(...)` and `client.transaction(...)`."""
    return _commands.reschedule(tube, key, in_, at)


def arrive(tube: Name, key: Name, n: int = 1, *, token: Name | None = None) -> Command[int | None]:
    """An arrival that is not sent: for `job.done(...)` and `client.transaction(...)`."""
    return _commands.arrive(tube, key, n, token)


def gather(
    tube: Name, body: _Any, pieces: _Iterable[Command[PutResult]], *, timeout: Duration, **options: _Any
) -> list[Command[PutResult]]:
    """The puts of `Client.gather` that are not sent, for `job.done(*...)` and `client.transaction(*...)`: up to 999
    pieces and the job that waits for them, all or nothing. The job that waits has a key that nothing else has. A `key`
    of yours is a TypeError: if it were taken, the pieces would be put all the same, and count for another gather."""
    if options.get("key") is not None:
        raise TypeError(
            "a gather that is not sent has no option 'key': if it were taken, the pieces would be put all "
            "the same; Client.gather has it"
        )
    checked: PutOptions = options  # type: ignore[assignment]
    return _commands.gather(tube, body, pieces, timeout, checked, tracing.headers())
