"""Commands as values: their arguments, how their replies are read, and whether they may be sent
again. Pure: the clients send them, and the workers and transactions are made of them."""

from __future__ import annotations

import dataclasses
import datetime
import json
import math
import secrets
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Generic, Literal, TypedDict, TypeVar

from . import _texts
from ._texts import Codec, Duration, JsonCodec, Name
from .errors import BY_CODE, CommandError, LeaseEndedError, ReplyError, TryAgainReply, UnknownReply

T = TypeVar("T")

IfKey = Literal["replace", "keep", "fail", "debounce"]
State = Literal["delayed", "ready", "reserved", "buried"]

JSON = JsonCodec()


class PutOptions(TypedDict, total=False):
    """What `put` takes beside tube and body; docs/protocol.md, PUT, says what each does."""

    in_: Duration
    at: datetime.datetime
    every: Duration
    cron: str
    zone: str
    key: Name
    await_: int
    if_key: IfKey
    debounce_max: Duration
    tag: Name
    group: Name
    priority: int
    ttr: Duration
    expire: Duration
    attempts: int
    backoff: tuple[Duration, Duration]
    token: Name
    token_for: Duration
    headers: Mapping[str, str]
    codec: Codec


@dataclasses.dataclass(frozen=True)
class PutResult:
    """What `put` has done. `outcome`: `scheduled`, `replaced`, `kept`, `running`, `buried` or `known`."""

    id: int
    outcome: str

    @property
    def stored(self) -> bool:
        """Whether the job is stored, by this put or by an earlier one with the same token."""
        return self.outcome in ("scheduled", "replaced", "known")


@dataclasses.dataclass(frozen=True)
class JobInfo:
    """A job as `lookup` and `list` show it. `fields` has all that the server told, by its names, with
    times and durations in milliseconds."""

    id: int
    tube: str
    state: str
    due: datetime.datetime | None
    left: datetime.timedelta
    #: How many arrivals are missing; the job waits for them, or was released without them.
    missing: int
    key: str | None
    tag: str | None
    group: str | None
    attempts: int
    attempts_max: int
    recurring: bool
    holder: str | None
    reason: str | None
    error: str | None
    error_at: datetime.datetime | None
    headers: Mapping[str, str]
    body: bytes | None
    fields: Mapping[str, Any]


@dataclasses.dataclass(frozen=True)
class GroupInfo:
    """A group of a tube that has jobs, as `groups` shows it."""

    group: str
    delayed: int
    ready: int
    #: Workers have them, also those that were cancelled.
    running: int
    buried: int
    #: How many of the ready jobs a limit of each group holds back.
    held: int
    #: Which limit: `group_concurrency`, `group_rate`, `group_order`; None: none does.
    held_by: str | None
    #: Until the rate of the group lets a job run; zero: it is not the rate that holds them.
    held_left: datetime.timedelta
    #: For how long the first ready job has been due.
    overdue: datetime.timedelta


@dataclasses.dataclass(frozen=True)
class Command(Generic[T]):
    """One command. `read` makes the result from the reply, and raises if the reply is an error."""

    arguments: tuple[bytes, ...]
    read: Callable[[Any], T]
    #: Sending it again does no harm, although its answer may be another one.
    again: bool
    #: An answer to a second try that may be the work of the first one.
    doubtful: Callable[[T], bool] = lambda _: False
    #: Of a put: a token of our own, with how long it lives.
    token: tuple[bytes, ...] = ()
    #: Of a put with a token of the caller's: for how many seconds after a try another one does no harm.
    life_s: float = math.inf
    #: Of a put whose body is for the codec of the client: this body, alone. The arguments have it in JSON, or no
    #: bytes in its place if JSON cannot say it.
    body: tuple[Any, ...] = dataclasses.field(default=(), compare=False, repr=False)

    @property
    def sent(self) -> tuple[bytes, ...]:
        """The arguments with the token."""
        return self.arguments + self.token


def commands(values: Iterable[Command[T]]) -> list[Command[T]]:
    """The commands of an iterable, checked: other values would fail where nobody knows them any more."""
    found = _texts.several(values, "commands")
    for one in found:
        if not isinstance(one, Command):
            raise TypeError(f"a command is made by elapse.put, elapse.cancel and so on, and is not {one!r}")
    return found


# ---- replies ----


def error_of(error: Exception) -> ReplyError:
    """The error of this package for an error of redis-py, which has cut the codes that it knows."""
    text = str(error)
    known = {
        "NoPermissionError": "NOPERM",
        "AuthenticationError": "NOAUTH",
        "AuthenticationWrongNumberOfArgsError": "ERR",
        "ExecAbortError": "EXECABORT",
        "TryAgainError": "TRYAGAIN",
        "ClusterCrossSlotError": "CROSSSLOT",
        "OutOfMemoryError": "OOM",
        "InvalidResponse": "ERR",
    }
    code = known.get(type(error).__name__)
    first, _, rest = text.partition(" ")
    if first in BY_CODE:
        code, text = first, rest
    kind = BY_CODE.get(code or "ERR", CommandError)
    return kind(text)


def _raised(reply: Any) -> Any:
    if isinstance(reply, Exception):
        raise error_of(reply)
    return reply


def _word(reply: Any) -> str:
    raised = _raised(reply)
    return raised.decode() if isinstance(raised, bytes) else str(raised)


def _words(reply: Any) -> list[str]:
    found = _raised(reply)
    failed = [error_of(one) for one in found if isinstance(one, Exception)]
    if 0 < len(failed) < len(found) and isinstance(failed[0], TryAgainReply):
        raise UnknownReply(f"some parts were done, and another was not: {failed[0]}")
    return [_word(one) for one in found]


def _number(reply: Any) -> int:
    return int(_raised(reply))


def _put_result(reply: Any) -> PutResult:
    number, outcome = _raised(reply)
    return PutResult(int(number), _word(outcome))


def read_map(reply: Any) -> dict[str, Any]:
    """A map, which RESP2 writes as names and values in turn."""
    raised = _raised(reply)
    if raised is None:
        return {}
    pairs = raised.items() if isinstance(raised, dict) else zip(raised[::2], raised[1::2])
    return {key.decode(): value for key, value in pairs}


def _job_info(reply: Any) -> JobInfo:
    fields = read_map(reply)

    def text(name: str) -> str | None:
        return _texts.read_name(fields.get(name))

    return JobInfo(
        id=fields["id"],
        tube=text("tube") or "",
        state=text("state") or "",
        due=_texts.read_moment(fields["due"]),
        left=_texts.read_duration(fields["left"] or 0),
        missing=fields.get("await", 0),
        key=text("key"),
        tag=text("tag"),
        group=text("group"),
        attempts=fields["attempts"],
        attempts_max=fields["attempts_max"],
        recurring=bool(fields["recurring"]),
        holder=text("holder"),
        reason=text("reason"),
        error=text("error"),
        error_at=_texts.read_moment(fields.get("error_at")),
        headers=_texts.read_headers(fields.get("headers")),
        body=fields.get("body"),
        fields=fields,
    )


def _found(reply: Any) -> JobInfo | None:
    return None if _raised(reply) is None else _job_info(reply)


# ---- puts and changes ----


def _when(in_: Duration | None, at: datetime.datetime | None) -> tuple[bytes, ...]:
    if in_ is not None and at is not None:
        raise ValueError("in_ and at exclude each other")
    if in_ is not None:
        return b"IN", _texts.duration(in_)
    return (b"AT", _texts.moment(at)) if at is not None else ()


def _headers(headers: Mapping[str, str]) -> tuple[bytes, ...]:
    return (b"HEADERS", json.dumps(dict(headers), separators=(",", ":")).encode()) if headers else ()


def _life_s(token_for: Duration | None) -> float:
    """How many seconds a token lives, at least. 0 if that cannot be read here: what it means is the server's word."""
    try:
        return math.inf if token_for is None else _texts.seconds(token_for)
    except ValueError:
        return 0.0


def put(tube: Name, body: Any, options: PutOptions, headers: Mapping[str, str] | None = None) -> Command[PutResult]:
    """PUT. `headers` are those of the tracing; those of the options come first."""
    wrong = set(options) - set(PutOptions.__annotations__)
    if wrong:
        raise TypeError(f"put has no option {sorted(wrong)[0]!r}")
    written, left = _body(body, options.get("codec"))
    arguments: list[bytes] = [b"PUT", _texts.name(tube, "tube"), written]
    arguments += _when(options.get("in_"), options.get("at"))
    for word, value in (
        (b"EVERY", options.get("every")),
        (b"TTR", options.get("ttr")),
        (b"EXPIRE", options.get("expire")),
    ):
        if value is not None:
            arguments += (word, _texts.duration(value))
    for what in ("cron", "zone", "key", "tag", "group"):
        text: Name | None = options.get(what)  # type: ignore[assignment]
        if text is not None:
            arguments += (what.upper().encode(), _texts.name(text, what))
    if_key, debounce_max = options.get("if_key"), options.get("debounce_max")
    if if_key is not None:
        arguments += (b"IFKEY", if_key.upper().encode())
    if debounce_max is not None:
        arguments += (b"MAX", _texts.duration(debounce_max))
    for word, count, of in (
        (b"AWAIT", options.get("await_"), "number of arrivals"),
        (b"PRIORITY", options.get("priority"), "priority"),
        (b"ATTEMPTS", options.get("attempts"), "number of attempts"),
    ):
        if count is not None:
            arguments += (word, _texts.number(count, of))
    backoff, token, token_for = options.get("backoff"), options.get("token"), options.get("token_for")
    if backoff is not None:
        if not isinstance(backoff, (tuple, list)) or len(backoff) != 2:
            raise TypeError(
                f"a backoff is the shortest and the longest wait, such as ('1s', '10m'), and not {backoff!r}"
            )
        arguments += (b"BACKOFF", _texts.duration(backoff[0]), _texts.duration(backoff[1]))
    if token is not None:
        arguments += (b"TOKEN", _texts.name(token, "token"))
    if token_for is not None:
        arguments += (b"FOR", _texts.duration(token_for))
    merged: dict[str, str] = dict(headers or {})
    merged.update(options.get("headers") or {})
    arguments += _headers(merged)
    return Command(tuple(arguments), _put_result, again=token is not None, life_s=_life_s(token_for), body=left)


def _body(body: Any, codec: Codec | None) -> tuple[bytes, tuple[Any, ...]]:
    """The bytes of a body, and what of it is left for the codec of the client that will send it. It is written in JSON
    here already, so that most programs may change the body behind the put."""
    if codec is not None or isinstance(body, (bytes, bytearray, memoryview, str)):
        return _texts.body(body, codec or JSON), ()
    try:
        return JSON.encode(body), (body,)
    except Exception:  # the codec of the client may know how; if it does not, it raises this where the put is sent
        return b"", (body,)


def with_body(command: Command[Any], codec: Codec) -> Command[Any]:
    """The put with its body as the codec of the client writes it."""
    if not command.body or (type(codec) is JsonCodec and command.arguments[2]):
        return command
    written = codec.encode(command.body[0])
    return dataclasses.replace(command, arguments=(*command.arguments[:2], written, *command.arguments[3:]), body=())


def new_token() -> bytes:
    """A name that nothing else has."""
    return secrets.token_urlsafe(16).encode()


def with_token(command: Command[Any], live_s: float) -> Command[Any]:
    """The put or arrival with a token of our own, so that it may be sent again. A second try of a put that
    answers `known` has found the work of the first one: the job is scheduled."""
    if command.again or command.arguments[0] not in (b"PUT", b"ARRIVE"):
        return command
    token = (b"TOKEN", new_token(), b"FOR", b"%dms" % min(600_000, max(1000, live_s * 1000)))
    if command.arguments[0] == b"ARRIVE":
        return dataclasses.replace(command, again=True, token=token)

    def read(reply: Any) -> PutResult:
        result = _put_result(reply)
        return PutResult(result.id, "scheduled") if result.outcome == "known" else result

    return dataclasses.replace(command, read=read, again=True, token=token)


def cancel(tube: Name, *keys: Name) -> Command[list[str]]:
    """CANCEL."""
    if not keys:
        raise TypeError("cancel needs a key")
    # A `gone` of a second try may be the work of the first one.
    return Command(
        (b"CANCEL", _texts.name(tube, "tube"), *(_texts.name(key, "key") for key in keys)),
        _words,
        again=True,
        doubtful=lambda words: "gone" in words,
    )


def one_cancel(cancels: Sequence[tuple[bytes, ...]]) -> tuple[bytes, ...]:
    """CANCEL of the keys of all these CANCELs, which are of one tube, and of one key each."""
    return (*cancels[0][:2], *(arguments[2] for arguments in cancels))


def replies_of_cancel(count: int, reply: Any) -> list[Any]:
    """What each of so many CANCELs would have been answered, by the reply to all of them as one."""
    return [[one] for one in reply] if isinstance(reply, list) else [reply] * count


def cancel_id(*ids: int) -> Command[list[str]]:
    """CANCELID."""
    return Command(
        (b"CANCELID", *(_texts.number(number, "job's number") for number in ids)),
        _words,
        again=True,
        doubtful=lambda words: "gone" in words,
    )


def cancel_all(tube: Name, state: State | None, tag: Name | None) -> Command[dict[str, int]]:
    """CANCELALL."""
    return Command((b"CANCELALL", _texts.name(tube, "tube"), *_filter(state, tag)), read_map, again=False)


def reschedule(tube: Name, key: Name, in_: Duration | None, at: datetime.datetime | None) -> Command[str]:
    """RESCHEDULE."""
    when = _when(in_, at)
    if not when:
        raise TypeError("reschedule needs in_ or at")
    return Command((b"RESCHEDULE", _texts.name(tube, "tube"), _texts.name(key, "key"), *when), _word, again=True)


def reschedule_id(number: int, in_: Duration | None, at: datetime.datetime | None) -> Command[str]:
    """RESCHEDULEID."""
    when = _when(in_, at)
    if not when:
        raise TypeError("reschedule needs in_ or at")
    return Command((b"RESCHEDULEID", _texts.number(number, "job's number"), *when), _word, again=True)


def _missing(reply: Any) -> int | None:
    raised = _raised(reply)
    return None if raised == b"gone" else int(raised)


def arrive(tube: Name, key: Name, n: int, token: Name | None) -> Command[int | None]:
    """ARRIVE."""
    named = () if token is None else (b"TOKEN", _texts.name(token, "token"))
    return Command(
        (b"ARRIVE", _texts.name(tube, "tube"), _texts.name(key, "key"), _texts.number(n, "count"), *named),
        _missing,
        again=token is not None,
    )


#: The headers of a piece say where it arrives when it is done. The packages of all languages know them.
GATHER_TUBE = "elapse-gather-tube"
GATHER_KEY = "elapse-gather-key"


def _piece(put_of: Command[PutResult], headers: Mapping[str, str]) -> Command[PutResult]:
    """A put with more headers, which `put` writes last."""
    if put_of.arguments[0] != b"PUT":
        raise TypeError("the pieces of a gather are made by elapse.put")
    arguments = put_of.arguments
    if len(arguments) > 3 and arguments[-2] == b"HEADERS":
        headers = {**json.loads(arguments[-1]), **headers}
        arguments = arguments[:-2]
    return dataclasses.replace(put_of, arguments=arguments + _headers(headers))


def gather(
    tube: Name,
    body: Any,
    pieces: Iterable[Command[PutResult]],
    timeout: Duration,
    options: PutOptions,
    headers: Mapping[str, str] | None = None,
) -> list[Command[PutResult]]:
    """The put of a job that waits for the pieces, and behind it those of the pieces. A key that is taken is a
    BusyKeyError: pieces of two gathers must not be counted together."""
    pieces = commands(pieces)
    if not pieces:
        raise ValueError("a gather needs a piece")
    for name in ("await_", "in_", "at", "every", "cron", "zone", "if_key", "debounce_max"):
        if name in options:
            raise TypeError(f"a gather has no option {name!r}")
    given = options.get("key")
    key = _texts.name(new_token() if given is None else given, "key")
    whole = options.copy()
    whole["key"], whole["await_"], whole["in_"], whole["if_key"] = key, len(pieces), timeout, "fail"
    where = {GATHER_TUBE: _texts.read_name(_texts.name(tube, "tube")) or "", GATHER_KEY: _texts.read_name(key) or ""}
    return [put(tube, body, whole, headers), *(_piece(one, where) for one in pieces)]


def kick(tube: Name, count: int) -> Command[int]:
    """KICK."""
    return Command((b"KICK", _texts.name(tube, "tube"), _texts.number(count, "count")), _number, again=False)


def kick_id(number: int) -> Command[str]:
    """KICKID."""
    return Command((b"KICKID", _texts.number(number, "job's number")), _word, again=False)


def pause(tube: Name, length: Duration) -> Command[str]:
    """PAUSE."""
    return Command((b"PAUSE", _texts.name(tube, "tube"), _texts.duration(length)), _word, again=True)


class Limits(TypedDict, total=False):
    """What `limit` takes beside the tube; docs/protocol.md, LIMIT, says what each does. A rate is how many are
    handed out, and in how long; its burst is how many at once after a rest."""

    concurrency: int | None
    rate: tuple[int, Duration] | None
    burst: int | None
    group_concurrency: int | None
    group_rate: tuple[int, Duration] | None
    group_burst: int | None
    group_order: bool | None
    buried: int | None
    buried_age: Duration | None


def limit(tube: Name, limits_of: Limits) -> Command[str]:
    """LIMIT with settings. Those that this package does not know are a number behind a word."""
    settings: list[bytes] = []
    for name in ("rate", "group_rate"):
        rate: tuple[int, Duration] | None = limits_of.get(name)  # type: ignore[assignment]
        burst: int | None = limits_of.get(name.replace("rate", "burst"))  # type: ignore[assignment]
        if rate is not None:
            settings += (name.replace("_", "").upper().encode(), b"%d" % rate[0], b"PER", _texts.duration(rate[1]))
        if burst is not None:
            if rate is None:
                raise TypeError(f"{name.replace('rate', 'burst')} needs {name}")
            settings += (b"BURST", b"%d" % burst)
    if limits_of.get("group_order"):
        settings.append(b"GROUPORDER")
    age = limits_of.get("buried_age")
    if age is not None:
        settings += (b"BURIED", b"AGE", _texts.duration(age))
    counts: Mapping[str, Any] = limits_of
    for name, count in counts.items():
        if (
            name not in ("rate", "burst", "group_rate", "group_burst", "group_order", "buried_age")
            and count is not None
        ):
            settings += (name.replace("_", "").upper().encode(), b"%d" % count)
    return Command((b"LIMIT", _texts.name(tube, "tube"), *(settings or (b"NONE",))), _word, again=True)


def limits(tube: Name) -> Command[dict[str, int]]:
    """LIMIT, to look."""

    def read(reply: Any) -> dict[str, int]:
        return {name: value for name, value in read_map(reply).items() if value is not None}

    return Command((b"LIMIT", _texts.name(tube, "tube")), read, again=True)


# ---- looks ----


def lookup(tube: Name, key: Name) -> Command[JobInfo | None]:
    """LOOKUP."""
    return Command((b"LOOKUP", _texts.name(tube, "tube"), _texts.name(key, "key")), _found, again=True)


def lookup_id(number: int) -> Command[JobInfo | None]:
    """LOOKUPID."""
    return Command((b"LOOKUPID", _texts.number(number, "job's number")), _found, again=True)


def _filter(state: State | None, tag: Name | None) -> tuple[bytes, ...]:
    found: tuple[bytes, ...] = ()
    if state is not None:
        found += (b"STATE", state.upper().encode())
    if tag is not None:
        found += (b"TAG", _texts.name(tag, "tag"))
    return found


def list_jobs(tube: Name, state: State | None, tag: Name | None, cursor: bytes) -> Command[tuple[bytes, list[JobInfo]]]:
    """One page of LIST, with keys."""

    def read(reply: Any) -> tuple[bytes, list[JobInfo]]:
        following, jobs = _raised(reply)
        following = following if isinstance(following, bytes) else b"%d" % following
        return following, [_job_info(job) for job in jobs]

    places = (b"CURSOR", cursor) if cursor != b"0" else ()
    return Command((b"LIST", _texts.name(tube, "tube"), *_filter(state, tag), *places, b"KEYS"), read, again=True)


def stats(tube: Name | None) -> Command[dict[str, Any]]:
    """STATS."""
    return Command((b"STATS",) if tube is None else (b"STATS", _texts.name(tube, "tube")), read_map, again=True)


def tubes(cursor: bytes) -> Command[tuple[bytes, list[str]]]:
    """One page of TUBES."""

    def read(reply: Any) -> tuple[bytes, list[str]]:
        following, names = _raised(reply)
        following = following if isinstance(following, bytes) else b"%d" % following
        return following, [_texts.read_name(name) or "" for name in names]

    return Command((b"TUBES",) if cursor == b"0" else (b"TUBES", b"CURSOR", cursor), read, again=True)


def groups(tube: Name, held: bool, cursor: bytes) -> Command[tuple[bytes, list[GroupInfo]]]:
    """One page of GROUPS."""

    def group_of(reply: Any) -> GroupInfo:
        fields = read_map(reply)
        return GroupInfo(
            group=_texts.read_name(fields["group"]) or "",
            delayed=fields["delayed"],
            ready=fields["ready"],
            running=fields["running"],
            buried=fields["buried"],
            held=fields["held"],
            held_by=_texts.read_name(fields["held_by"]),
            held_left=_texts.read_duration(fields["held_left"] or 0),
            overdue=_texts.read_duration(fields["overdue"] or 0),
        )

    def read(reply: Any) -> tuple[bytes, list[GroupInfo]]:
        following, found = _raised(reply)
        following = following if isinstance(following, bytes) else b"%d" % following
        return following, [group_of(one) for one in found]

    words = ((b"HELD",) if held else ()) + ((b"CURSOR", cursor) if cursor != b"0" else ())
    return Command((b"GROUPS", _texts.name(tube, "tube"), *words), read, again=True)


# ---- transactions ----


def _result_or_error(part: Command[Any], reply: Any) -> Any:
    """The result of a part of a transaction, or its error, which stops no other part."""
    try:
        return part.read(reply)
    except ReplyError as error:
        return error


def transaction(
    parts: Sequence[Command[Any]], leases: Sequence[tuple[int, bytes]]
) -> tuple[list[tuple[bytes, ...]], Command[list[Any]]]:
    """MULTI, the parts and EXEC: what to send, and a command that reads the reply of EXEC alone. With a lease it may be
    sent again, because the first one that is done ends the lease. Without one it may be if the tokens guard all of it,
    or if nothing in it makes a job: a second cancel could remove what the put of the first try has made."""
    guard: list[bytes] = [b"LEASED"]
    for number, lease in leases:
        guard += (b"%d" % number, lease)
    sent: list[tuple[bytes, ...]] = [(b"MULTI",)]
    if leases:
        sent.append(tuple(guard))
    sent += [part.sent for part in parts]
    sent.append((b"EXEC",))

    def read(reply: Any) -> list[Any]:
        replies = _raised(reply)
        if replies is None:
            raise LeaseEndedError("the lease has ended: nothing was done")
        return [_result_or_error(part, one) for part, one in zip(parts, replies[1 if leases else 0 :])]

    with_tokens = [part.arguments[0] in (b"PUT", b"ARRIVE") for part in parts]
    again = bool(leases) or (all(part.again for part in parts) and (all(with_tokens) or not any(with_tokens)))
    life_s = math.inf if leases else min((part.life_s for part in parts), default=math.inf)
    return sent, Command((b"EXEC",), read, again=again, life_s=life_s)


# ---- work ----


def reserve(tubes_of: Sequence[Name], count: int, wait: Duration | None) -> Command[list[list[Any]]]:
    """RESERVE with DETAILS. Not sent again by itself: what was handed out and lost comes back alone."""
    options = {b"COUNT", b"WAIT", b"DETAILS", b"HOLDER"}
    if not tubes_of:
        raise TypeError("reserve needs a tube")
    names = sorted((_texts.name(tube, "tube") for tube in tubes_of), key=lambda tube: tube.upper() not in options)
    if len(names) > 1 and names[1].upper() in options:
        raise ValueError(f"one RESERVE takes one of the tubes {names[0]!r} and {names[1]!r}")
    waiting = () if wait is None else (b"WAIT", _texts.duration(wait))
    return Command(
        (b"RESERVE", *names, b"COUNT", _texts.number(count, "count"), *waiting, b"DETAILS"), _raised, again=False
    )


def waits(wait: Duration | None, longest_s: float) -> Iterator[Duration | None]:
    """The waits of the RESERVEs that together wait so long: each so short that a server which answers nothing is still
    told from one that waits."""
    if wait is None or _texts.seconds(wait) <= longest_s:
        yield wait
        return
    left_s = _texts.seconds(wait)
    while left_s > 0:
        yield datetime.timedelta(seconds=min(left_s, longest_s))
        left_s -= longest_s


def _pairs(leases: Sequence[tuple[int, bytes]]) -> tuple[bytes, ...]:
    found: list[bytes] = []
    for number, lease in leases:
        found += (b"%d" % number, lease)
    return tuple(found)


def _one_or_many(reply: Any) -> list[str]:
    raised = _raised(reply)
    return _words(raised) if isinstance(raised, list) else [_word(raised)]


def ack(leases: Sequence[tuple[int, bytes]]) -> Command[list[str]]:
    """ACK."""
    return Command((b"ACK", *_pairs(leases)), _words, again=True)


def nack(
    leases: Sequence[tuple[int, bytes]],
    in_: Duration | None = None,
    after: Duration | None = None,
    error: str | None = None,
) -> Command[list[str]]:
    """NACK."""
    arguments = (b"NACK", *_pairs(leases), *_when(in_, None))
    if after is not None:
        arguments += (b"AFTER", _texts.duration(after))
    if error is not None:
        arguments += (b"ERROR", _error(error))
    return Command(arguments, _one_or_many, again=True)


def bury(leases: Sequence[tuple[int, bytes]], error: str | None = None) -> Command[list[str]]:
    """BURY."""
    said = () if error is None else (b"ERROR", _error(error))
    return Command((b"BURY", *_pairs(leases), *said), _one_or_many, again=True)


def extend(leases: Sequence[tuple[int, bytes]]) -> Command[list[str]]:
    """EXTEND."""
    return Command((b"EXTEND", *_pairs(leases)), _one_or_many, again=True)


def extend_once(leases: Sequence[tuple[int, bytes]]) -> Command[list[str | None]]:
    """EXTEND of a worker's leases: a word for each, or None where a partition did not answer. Such a part is not sent
    again by itself, because the words of the others must not wait for it."""

    def read(reply: Any) -> list[str | None]:
        if isinstance(reply, list):
            return [None if isinstance(one, Exception) else _word(one) for one in reply]
        try:
            return [_word(reply)]
        except (TryAgainReply, UnknownReply):
            return [None] * len(leases)

    return Command((b"EXTEND", *_pairs(leases)), read, again=True)


def _error(text: str) -> bytes:
    """The server cuts an error at 1,024 bytes; what is longer than an argument may be is cut here."""
    return text.encode("utf-8", "replace")[:4000]
