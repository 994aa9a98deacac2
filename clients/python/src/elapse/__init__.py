"""Elapse from Python: put jobs that are due later, cancel and move them by key, and do them.

    from elapse import Client, Worker

The classes for asyncio are `AsyncClient` and `AsyncWorker`. README.md is the way in; docs/protocol.md
of Elapse says what each command does.
"""

from __future__ import annotations

import datetime as _datetime

from . import _commands
from ._commands import Command, JobInfo, PutOptions, PutResult
from ._texts import Codec, Duration, JsonCodec, Name
from ._thread_worker import Worker
from .aio import AsyncClient
from .aio_worker import AsyncWorker
from .client import Client
from .errors import (AuthenticationNeededError, BatchError, BusyKeyError, CommandError, CrossSlotError, DamagedError,
                     DiskError, DiskFullError, DrainingError, ElapseError, LeaseEndedError, LimitError,
                     NotPermittedError, OutOfMemoryError, ProtocolVersionError, ReplyError, TransactionAbortedError,
                     UncertainError, UnreachableError, WrongPasswordError)
from .jobs import AsyncJob, Bury, Job, JobCancelled, RetryIn, put

__version__ = "0.2.0"

__all__ = [
    "AsyncClient", "AsyncJob", "AsyncWorker", "AuthenticationNeededError", "BatchError", "Bury", "BusyKeyError", "Client", "Codec",
    "Command", "CommandError", "CrossSlotError", "DamagedError", "DiskError", "DiskFullError", "DrainingError",
    "Duration", "ElapseError", "Job", "JobCancelled", "JobInfo", "JsonCodec", "LeaseEndedError", "LimitError", "Name",
    "NotPermittedError", "OutOfMemoryError", "ProtocolVersionError", "PutOptions", "PutResult", "ReplyError", "RetryIn",
    "TransactionAbortedError", "UncertainError", "UnreachableError", "Worker", "WrongPasswordError", "cancel", "put", "reschedule",
]


def cancel(tube: Name, *keys: Name) -> Command[list[str]]:
    """A cancel that is not sent: for `job.done(...)` and `client.transaction(...)`."""
    return _commands.cancel(tube, *keys)


def reschedule(tube: Name, key: Name, *, in_: Duration | None = None,
               at: _datetime.datetime | None = None) -> Command[str]:
    """A reschedule that is not sent: for `job.done(...)` and `client.transaction(...)`."""
    return _commands.reschedule(tube, key, in_, at)
