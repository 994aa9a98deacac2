"""The errors of this package. All of them are `ElapseError`."""

from __future__ import annotations

from typing import ClassVar


class ElapseError(Exception):
    """What every error of this package is."""


class UnreachableError(ElapseError):
    """No server could be reached until the deadline. Nothing has happened."""


class UncertainError(ElapseError):
    """The command may have been done, or not, or may yet be done: the connection was lost before the
    answer came, and no later answer told. Look before you send it again, or send it again if that
    does no harm."""


class LeaseEndedError(ElapseError):
    """The lease of a job has ended, so nothing was done. Another worker may have the job: stop.

    `maybe_done`: the answer to an earlier try was lost, so it may be that try which ended the lease.
    """

    def __init__(self, text: str, maybe_done: bool = False) -> None:
        super().__init__(text)
        self.maybe_done = maybe_done


class ReplyError(ElapseError):
    """The server has refused the command; nothing has happened. `code` is the server's code."""

    code: ClassVar[str] = ""


class CommandError(ReplyError):
    """The command cannot be understood; the text says why."""

    code = "ERR"


class BusyKeyError(ReplyError):
    """Another job has the key. `id` is its number."""

    code = "BUSYKEY"

    def __init__(self, text: str) -> None:
        super().__init__(text)
        first = text.split(" ", 1)[0]
        self.id = int(first) if first.isdigit() else 0


class DiskFullError(ReplyError):
    """The disk is full: the job is not stored."""

    code = "DISKFULL"


class DiskError(ReplyError):
    """The disk cannot read the body of the job now."""

    code = "DISKERROR"


class DamagedError(ReplyError):
    """The body of the job is damaged."""

    code = "DAMAGED"


class LimitError(ReplyError):
    """There are as many jobs, tubes, groups or tokens as there may be."""

    code = "LIMIT"


class OutOfMemoryError(ReplyError):
    """The server has as much memory as it may take."""

    code = "OOM"


class DrainingError(ReplyError):
    """The server takes no new jobs, because it is about to end. The client tries the next address, and again until its
    deadline, before it raises this."""

    code = "DRAINING"


class TransactionAbortedError(ReplyError):
    """The transaction was discarded. Nothing is done."""

    code = "EXECABORT"


class AuthenticationNeededError(ReplyError):
    """The server asks for a password."""

    code = "NOAUTH"


class WrongPasswordError(ReplyError):
    """There is no such user and password."""

    code = "WRONGPASS"


class NotPermittedError(ReplyError):
    """The user may not do this to this tube."""

    code = "NOPERM"


class ProtocolVersionError(ReplyError):
    """The server does not speak the version of RESP that the connection asks for."""

    code = "NOPROTO"


class CrossSlotError(ReplyError):
    """The commands of the transaction belong to several partitions of the cluster."""

    code = "CROSSSLOT"


class TryAgainReply(ReplyError):
    """A partition of the cluster has no owner now. The client sends the command again by itself."""

    code = "TRYAGAIN"


class UnknownReply(ReplyError):
    """A partition of the cluster was lost before it answered. The client sends the command again by
    itself if that does no harm; otherwise it raises `UncertainError`."""

    code = "UNKNOWN"


def _all_replies(base: type[ReplyError]) -> dict[str, type[ReplyError]]:
    return {kind.code: kind for kind in base.__subclasses__()}


#: The class of each code.
BY_CODE: dict[str, type[ReplyError]] = _all_replies(ReplyError)


class BatchError(ElapseError):
    """Some commands of many have failed, and the others are done. `results` has, for each command in its place, its
    result or its error: with an UncertainError the command may have been done, with any other error it was not."""

    def __init__(self, results: list[object]) -> None:
        self.results = results
        failed = [one for one in results if isinstance(one, Exception)]
        super().__init__(f"{len(failed)} of {len(results)} commands failed, the first one with: {failed[0]}")
