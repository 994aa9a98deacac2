"""What a worker has in hand: the jobs that run, when their leases are extended, and what is to be said of
those that have ended. Pure: the time is the caller's, and so is the lock."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any, Generic, TypeVar

from . import _commands
from ._commands import Command
from .errors import LeaseEndedError
from .jobs import Bury, JobBase, RetryIn

log = logging.getLogger("elapse")

J = TypeVar("J", bound=JobBase)

#: ACKs are gathered for so long, or until there are so many.
GATHER_S = 0.005
GATHER_MAX = 100
_PAIRS_MAX = 1000


def described(error: BaseException) -> str:
    """The kind and the text of what a handler has raised. It raises nothing, although a text is made by code of the
    handler's."""
    kind = type(error).__name__
    try:
        text = str(error)
    except Exception as fault:
        return f"{kind}, whose text cannot be made ({type(fault).__name__})"
    return f"{kind}: {text}" if text else kind


class Hand(Generic[J]):
    """The jobs of one worker."""

    def __init__(self, stop: Callable[[J, str], None]) -> None:
        self._stop = stop
        self.running: dict[tuple[int, bytes], J] = {}
        self._limits: dict[tuple[int, bytes], float] = {}
        self._acks: list[tuple[int, bytes]] = []
        self._gathering_since = 0.0
        self._others: list[Command[Any]] = []
        self._extended_s = 0.0

    def begin(self, job: J, now_s: float, limit_s: float | None) -> None:
        """A handler begins with the job."""
        if not self.running:
            self._extended_s = now_s
        self.running[job.pair] = job
        if limit_s is not None:
            self._limits[job.pair] = now_s + limit_s

    def leave(self, job: J) -> bool:
        """The job is not extended any more. Returns whether it was running."""
        self._limits.pop(job.pair, None)
        return self.running.pop(job.pair, None) is not None

    def end(self, job: J, error: BaseException | None, now_s: float) -> str:
        """The handler has ended, with this error or none. Returns the outcome."""
        self.leave(job)
        try:
            return self._say(job, error, now_s)
        except Exception:  # what a handler raises may be of a class that is made badly
            log.exception("job %d of %s: what its handler raised cannot be read; the job has failed", job.id, job.tube)
            self._others.append(_commands.nack([job.pair]))
            return "failed"

    def _say(self, job: J, error: BaseException | None, now_s: float) -> str:
        """Notes what is to be said of a job whose handler has ended; returns the outcome."""
        if job.finished:
            return "done"
        if isinstance(error, LeaseEndedError) or job.stop_reason == "lost":
            return "lost"
        if job.stop_reason == "cancelled":
            self._ack(job, now_s)  # so that the job which is cancelled is forgotten at once
            return "cancelled"
        if error is None:
            self._ack(job, now_s)
            return "done"
        if isinstance(error, RetryIn):
            in_, after = (None, error.delay) if error.failure else (error.delay, None)
            self._others.append(_commands.nack([job.pair], in_, after, error.reason))
            return "retry"
        if isinstance(error, Bury):
            self._others.append(_commands.bury([job.pair], error.reason))
            return "buried"
        if job.stop_reason == "stopping":
            return self.give_back(job)
        text = "the handler's time was over" if job.stop_reason == "limit" else described(error)
        self._others.append(_commands.nack([job.pair], error=text))
        return "failed"

    def give_back(self, job: J) -> str:
        """The job is ready again, and this is no failure."""
        self.leave(job)
        self._others.append(_commands.nack([job.pair], in_="0s"))
        return "given back"

    def fail(self, job: J, error: str) -> None:
        """The job has failed although its handler has not ended."""
        self.leave(job)
        job.finished = True
        self._others.append(_commands.nack([job.pair], error=error))

    def _ack(self, job: J, now_s: float) -> None:
        if not self._acks:
            self._gathering_since = now_s
        self._acks.append(job.pair)

    # ---- what the keeper sends ----

    def next_s(self) -> float:
        """When the keeper has something to send."""
        times = list(self._limits.values())
        if self._others or len(self._acks) >= GATHER_MAX:
            return 0.0
        if self._acks:
            times.append(self._gathering_since + GATHER_S)
        if self.running:
            times.append(self._extended_s + self._third_s())
        return min(times, default=float("inf"))

    def _third_s(self) -> float:
        return min(job.ttr.total_seconds() for job in self.running.values()) / 3

    def take_said(self) -> list[Command[Any]]:
        """What is to be said of jobs that have ended."""
        said = self._others
        if self._acks:
            said = [*said, _commands.ack(self._acks[:_PAIRS_MAX])]
        self._acks, self._others = self._acks[_PAIRS_MAX:], []
        return said

    def take_extensions(self, now_s: float) -> list[J]:
        """The jobs whose leases are to be extended now: all of them, or none."""
        for pair, limit_s in list(self._limits.items()):
            if limit_s <= now_s:
                del self._limits[pair]
                self._stop(self.running.pop(pair), "limit")
        if not self.running or now_s < self._extended_s + self._third_s():
            return []
        self._extended_s = now_s
        return list(self.running.values())

    def extended(self, jobs: list[J], words: list[str]) -> None:
        """What the server said of the leases. A job whose lease has ended is told so, and so is one that
        was cancelled."""
        for job, word in zip(jobs, words):
            if word != "ok" and job.pair in self.running:
                self.leave(job)
                self._stop(job, "cancelled" if word == "cancelled" else "lost")


def extend_commands(jobs: list[J]) -> list[Command[list[str]]]:
    """One command for all leases, if they are not above a thousand."""
    pairs = [job.pair for job in jobs]
    return [_commands.extend(pairs[i : i + _PAIRS_MAX]) for i in range(0, len(pairs), _PAIRS_MAX)]


def extension_words(answers: list[Any]) -> list[str] | None:
    """What `extend_commands` was answered, a word for each lease. None if the server refused one of the commands."""
    words: list[str] = []
    for answer in answers:
        if not isinstance(answer, list):
            return None
        words += answer
    return words
