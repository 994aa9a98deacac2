"""What a worker has in hand: the jobs that run, when their leases are extended, when their handlers have to stop, and
what is to be said of those that have ended. Pure: the time is the caller's, and so is the lock."""

from __future__ import annotations

import dataclasses
import logging
import math
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
#: Leases of which a partition did not answer are extended again after so long.
_UNANSWERED_S = 1.0


def described(error: BaseException) -> str:
    """The kind and the text of what a handler has raised. It raises nothing, although a text is made by code of the
    handler's."""
    kind = type(error).__name__
    try:
        text = str(error)
    except Exception as fault:
        return f"{kind}, whose text cannot be made ({type(fault).__name__})"
    return f"{kind}: {text}" if text else kind


@dataclasses.dataclass
class Running(Generic[J]):
    """A job whose handler runs."""

    job: J
    #: When its lease has ended for sure, unless it was extended.
    lease_ends_s: float
    #: When the handler's time is over.
    limit_s: float

    @property
    def ends_s(self) -> float:
        """When the handler has to stop."""
        return min(self.lease_ends_s, self.limit_s)


class Hand(Generic[J]):
    """The jobs of one worker."""

    def __init__(self, stop: Callable[[J, str], None]) -> None:
        self._stop = stop
        self._running: dict[tuple[int, bytes], Running[J]] = {}
        self._acks: list[tuple[int, bytes]] = []
        self._gathering_since = 0.0
        self._others: list[Command[Any]] = []
        self._extended_s = 0.0
        #: The leases are extended by then at the latest.
        self._soon_s = math.inf

    def begin(self, job: J, now_s: float, limit_s: float | None) -> Running[J]:
        """A handler begins with the job, which was handed out a moment ago."""
        if not self._running:
            self._extended_s = now_s
        running = Running(job, now_s + job.ttr.total_seconds(), math.inf if limit_s is None else now_s + limit_s)
        self._running[job.pair] = running
        return running

    def leave(self, job: J) -> Running[J] | None:
        """The job is not extended any more, and is not told to stop. Returns what `resume` takes; None: it was not
        running."""
        return self._running.pop(job.pair, None)

    def resume(self, running: Running[J]) -> None:
        """The job that was left is extended again: at once, because nobody did so meanwhile."""
        self._soon_s = 0.0
        self._running[running.job.pair] = running

    def has(self, job: J) -> bool:
        """Whether the job is running."""
        return job.pair in self._running

    def jobs(self) -> list[J]:
        """The jobs that are running."""
        return [running.job for running in self._running.values()]

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

    # ---- what is sent ----

    def next_s(self) -> float:
        """When there is something to send."""
        return min(self.next_said_s(), self.next_extension_s())

    def next_said_s(self) -> float:
        """When something is to be said of jobs that have ended."""
        if self._others or len(self._acks) >= GATHER_MAX:
            return 0.0
        return self._gathering_since + GATHER_S if self._acks else math.inf

    def next_extension_s(self) -> float:
        """When leases are to be extended."""
        return min(self._soon_s, self._extended_s + self._third_s()) if self._running else self._soon_s

    def _third_s(self) -> float:
        return min(running.job.ttr.total_seconds() for running in self._running.values()) / 3

    def take_said(self) -> list[Command[Any]]:
        """What is to be said of jobs that have ended."""
        said = self._others
        if self._acks:
            said = [*said, _commands.ack(self._acks[:_PAIRS_MAX])]
        self._acks, self._others = self._acks[_PAIRS_MAX:], []
        return said

    def take_extensions(self, now_s: float) -> list[J]:
        """The jobs whose leases are to be extended now: all of them, or none."""
        if self._running and now_s < min(self._extended_s + self._third_s(), self._soon_s):
            return []
        self._soon_s = math.inf
        self._extended_s = now_s
        return self.jobs()

    def extended(self, jobs: list[J], answers: list[Any], sent_s: float, now_s: float) -> None:
        """What the server answered to `extend_commands` of these jobs, which were sent then: the words of each command,
        or its error. A job whose lease has ended is told so, and so is one that was cancelled."""
        for first, answer in zip(range(0, len(jobs), _PAIRS_MAX), answers):
            if not isinstance(answer, list):
                continue
            for job, word in zip(jobs[first : first + _PAIRS_MAX], answer):
                running = self._running.get(job.pair)
                if running is None:
                    continue
                if word == "ok":
                    running.lease_ends_s = sent_s + job.ttr.total_seconds()
                elif word is None:
                    self._soon_s = now_s + _UNANSWERED_S
                else:
                    self.leave(job)
                    self._stop(job, "cancelled" if word == "cancelled" else "lost")

    # ---- what the watcher does ----

    def next_end_s(self) -> float:
        """When the first of the jobs has to stop."""
        return min((running.ends_s for running in self._running.values()), default=math.inf)

    def stop_late(self, now_s: float) -> None:
        """Tells the jobs to stop whose time is over, or whose lease has ended although nobody could be asked."""
        for running in list(self._running.values()):
            if running.ends_s <= now_s:
                self.leave(running.job)
                self._stop(running.job, "limit" if running.limit_s <= now_s else "lost")


def extend_commands(jobs: list[J]) -> list[Command[list[str | None]]]:
    """One command for all leases, if they are not above a thousand."""
    pairs = [job.pair for job in jobs]
    return [_commands.extend_once(pairs[i : i + _PAIRS_MAX]) for i in range(0, len(pairs), _PAIRS_MAX)]
