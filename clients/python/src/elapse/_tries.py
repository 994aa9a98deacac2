"""When a command is sent again, and where to. Pure: the clock and the wait are the caller's."""

from __future__ import annotations

import math
import random

from .errors import ElapseError, ReplyError, UncertainError, UnreachableError

_WAIT_MIN_S = 0.02
_WAIT_MAX_S = 1.0
#: A node of a cluster sends a put again by itself only if its token lives for this long, at least. So after UNKNOWN a
#: put with a shorter one is as one without a token.
_LIFE_AFTER_UNKNOWN_S = 60.0


class Fault(Exception):
    """A try that has failed. `sent`: the server may have done the command. `refusal`: what it answered instead.
    `unknown`: it answered UNKNOWN, so that it may be done within the next moments yet."""

    def __init__(self, text: str, sent: bool, refusal: ReplyError | None = None, unknown: bool = False) -> None:
        super().__init__(text)
        self.sent, self.refusal, self.unknown = sent, refusal, unknown


class Tries:
    """The tries of one command, until a deadline. `life_s`: how long its token lives; once that has passed since the
    first try that may have been done was sent, another try could do it twice, so there is none."""

    def __init__(self, now_s: float, deadline_s: float, again: bool, life_s: float = math.inf) -> None:
        self._end_s = now_s + deadline_s
        self._again = again
        self._life_s = life_s
        self._began_s = now_s
        self._wait_s = _WAIT_MIN_S
        #: An earlier try may have been done.
        self.uncertain = False
        #: The deadline has passed.
        self.over = False
        self._deadline_s = self._end_s

    def begin(self, now_s: float) -> None:
        """A try is sent now, over a connection that may have taken long. Raises UncertainError if it comes too late
        behind one that may have been done."""
        if self.uncertain and now_s >= self._end_s:
            self.over = now_s >= self._deadline_s
            raise self.given_up(Fault("a connection came too late", sent=False))
        self._began_s = now_s

    def refused(self, error: ReplyError) -> None:
        """The server has refused this try. Raises UncertainError from that if an earlier one may have been done."""
        if self.uncertain:
            raise UncertainError(f"an earlier try may have been done; this one was refused: {error}") from error

    def failed(self, fault: Fault, now_s: float) -> float:
        """Returns how long to wait before the next try; raises if there is none."""
        if fault.sent and not self.uncertain:
            self.uncertain = True
            self._end_s = min(self._end_s, self._began_s + self._life_s)
        if fault.sent and (not self._again or (fault.unknown and self._life_s < _LIFE_AFTER_UNKNOWN_S)):
            raise UncertainError(f"the command may have been done, or not: {fault}") from fault
        wait_s = self._wait_s * random.uniform(0.5, 1.0)
        self._wait_s = min(_WAIT_MAX_S, self._wait_s * 2)
        if now_s + wait_s >= self._end_s:
            self.over = now_s + wait_s >= self._deadline_s
            raise self.given_up(fault) from fault
        return wait_s

    def given_up(self, fault: Fault) -> ElapseError:
        """The error of the last try."""
        if self.uncertain:
            return UncertainError(
                "the command may have been done, or not; it was sent until the deadline, or for as long as its token "
                f"lives: {fault}"
            )
        if fault.refusal is not None:
            return fault.refusal
        return UnreachableError(f"no server was reached until the deadline: {fault}")
