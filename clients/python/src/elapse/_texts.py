"""Durations, times and names as the protocol has them. Pure functions."""

from __future__ import annotations

import datetime
import json
from collections.abc import Iterable
from typing import Any, Protocol, TypeVar, Union

T = TypeVar("T")

#: A duration: a timedelta, or a text of the server such as "30m" or "1h30m". A number alone is
#: refused, because nobody knows its unit.
Duration = Union[datetime.timedelta, str]

#: A name: of a tube, a key, a tag, a group, a token.
Name = Union[str, bytes]

_EPOCH = datetime.datetime(1970, 1, 1, tzinfo=datetime.timezone.utc)
_MICROSECOND = datetime.timedelta(microseconds=1)
_MILLISECOND = datetime.timedelta(milliseconds=1)
_UNITS = {"w": 604800.0, "d": 86400.0, "h": 3600.0, "m": 60.0, "s": 1.0, "ms": 1e-3, "us": 1e-6, "ns": 1e-9}


def _refuse_space(value: str) -> None:
    if any(letter.isspace() for letter in value):
        raise ValueError(f"a duration has no space, such as '3s': {value!r}")


def duration(value: Duration) -> bytes:
    """A duration as the server reads it."""
    if isinstance(value, str):
        _refuse_space(value)
        return value.encode()
    if not isinstance(value, datetime.timedelta):
        raise TypeError(f"a duration is a timedelta, or a text such as '30m', and not {value!r}")
    if value < datetime.timedelta(0):
        raise ValueError(f"a duration is not below 0: {value!r}")
    return b"%dus" % (value // _MICROSECOND)


def seconds(value: Duration) -> float:
    """How many seconds a duration has."""
    if isinstance(value, datetime.timedelta):
        return value.total_seconds()
    if not isinstance(value, str):
        raise TypeError(f"a duration is a timedelta, or a text such as '30m', and not {value!r}")
    _refuse_space(value)
    total, number, unit = 0.0, "", ""
    for letter in value + "0":
        if letter.isdigit() or letter == ".":
            if unit:
                if unit not in _UNITS or not number:
                    raise ValueError(f"not a duration: {value!r}")
                total += float(number) * _UNITS[unit]
                number, unit = "", ""
            number += letter
        else:
            unit += letter
    if number != "0" or value == "":
        raise ValueError(f"a unit is missing: {value!r}")
    return total


def moment(value: datetime.datetime) -> bytes:
    """A time by the wall clock, rounded up to milliseconds."""
    if value.tzinfo is None:
        raise ValueError(f"a time needs a zone, such as datetime.now(timezone.utc): {value!r}")
    return b"%d" % max(0, -((_EPOCH - value) // _MILLISECOND))


def name(value: Name, what: str) -> bytes:
    """The bytes of a name. `what` says in an error what the name is of. A number is refused, because `bytes`
    would make so many zero bytes of it."""
    if isinstance(value, str):
        return value.encode("utf-8", "surrogateescape")
    if not isinstance(value, (bytes, bytearray, memoryview)):
        raise TypeError(f"a {what} is a text or bytes, and not {value!r}")
    return bytes(value)


def number(value: int, what: str) -> bytes:
    """A whole number. `what` says in an error what the number is of. A text is refused, and so is a number with a
    fraction, which would be cut."""
    if not isinstance(value, int) or isinstance(value, bool):
        raise TypeError(f"a {what} is a whole number, and not {value!r}")
    return b"%d" % value


def several(values: Iterable[T], what: str) -> list[T]:
    """The values of an iterable. `what` says in an error what they are. A text is refused, because each of its
    letters would be taken for a value."""
    if isinstance(values, (str, bytes, bytearray, memoryview)) or not isinstance(values, Iterable):
        raise TypeError(f"the {what} are a list, or another iterable, and not {values!r}")
    return list(values)


def read_name(value: bytes | None) -> str | None:
    """A name as a text. Bytes that are no UTF-8 survive: `name` gives them back."""
    return None if value is None else value.decode("utf-8", "surrogateescape")


def read_moment(ms: int | None) -> datetime.datetime | None:
    """A time of a reply."""
    return None if ms is None else _EPOCH + ms * _MILLISECOND


def read_duration(ms: int) -> datetime.timedelta:
    """A duration of a reply."""
    return ms * _MILLISECOND


def read_headers(value: bytes | None) -> dict[str, str]:
    """Headers as a dictionary; empty if they are not by the convention, an object of texts."""
    try:
        read = json.loads(value) if value else {}
    except (ValueError, RecursionError):  # a RecursionError: brackets in brackets, a thousand deep
        return {}
    if not isinstance(read, dict):
        return {}
    return {key: text for key, text in read.items() if isinstance(text, str)}


class Codec(Protocol):
    """How bodies that are neither bytes nor texts become bytes, and back."""

    def encode(self, value: Any) -> bytes:
        """The bytes of a value."""

    def decode(self, body: bytes) -> Any:
        """The value of a body."""


class JsonCodec:
    """Bodies in JSON, as compact as can be."""

    def encode(self, value: Any) -> bytes:
        """The bytes of a value."""
        return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()

    def decode(self, body: bytes) -> Any:
        """The value of a body."""
        return json.loads(body)


def body(value: Any, codec: Codec) -> bytes:
    """Bytes and texts are a body as they are; anything else goes through the codec."""
    if isinstance(value, (bytes, bytearray, memoryview)):
        return bytes(value)
    if isinstance(value, str):
        return value.encode()
    return codec.encode(value)
