"""Calls of the inbox of a cluster, sql/inbox.sql, by their names and values. Pure."""

from __future__ import annotations

import datetime
import json
from collections.abc import Callable
from typing import Any

from .. import _texts, tracing
from .._commands import JSON, PutOptions
from .._texts import Duration, Name

# Options of put: their names in the inbox, and how their values are written.
_OPTIONS: dict[str, tuple[str, Any]] = {}


def _text(value: Name, what: str) -> str:
    return value if isinstance(value, str) else _texts.name(value, what).decode()


def _text_of(what: str) -> Callable[[Name], str]:
    return lambda value: _text(value, what)


def _interval(value: Duration) -> datetime.timedelta:
    return value if isinstance(value, datetime.timedelta) else datetime.timedelta(seconds=_texts.seconds(value))


def _moment(value: datetime.datetime) -> datetime.datetime:
    _texts.moment(value)  # raises without a zone
    return value


for _name, _column, _write in (
    ("in_", "delay", _interval),
    ("at", "at", _moment),
    ("every", "every", _interval),
    ("cron", "cron", str),
    ("zone", "zone", str),
    ("key", "key", _text_of("key")),
    ("tag", "tag", _text_of("tag")),
    ("if_key", "ifkey", str),
    ("debounce_max", "max", _interval),
    ("priority", "priority", int),
    ("ttr", "ttr", _interval),
    ("expire", "expire", _interval),
    ("attempts", "retry", int),
    ("token", "token", _text_of("token")),
    ("await_", "await", int),
):
    _OPTIONS[_name] = (_column, _write)


def _call(function: str, arguments: dict[str, Any]) -> tuple[str, list[Any]]:
    names = ", ".join(f'"{name}" => %s' for name in arguments)
    return f"select elapse.{function}({names})", list(arguments.values())


def put(queue: str, tube: Name, body: Any, options: PutOptions) -> tuple[str, list[Any]]:
    """The statement of a put, and its values."""
    arguments: dict[str, Any] = {
        "tube": _text(tube, "tube"),
        "body": _texts.body(body, options.get("codec") or JSON),
        "queue": queue,
    }
    headers = {**tracing.headers(), **(options.get("headers") or {})}
    if headers:
        arguments["headers"] = json.dumps(headers, separators=(",", ":"))
    given: dict[str, Any] = {**options}
    backoff = given.pop("backoff", None)
    if backoff is not None:
        arguments["backoff_min"], arguments["backoff_max"] = map(_interval, backoff)
    for name, value in given.items():
        if name in ("codec", "headers") or value is None:
            continue
        if name not in _OPTIONS:
            raise TypeError(f"a put by the inbox has no option {name!r}")
        column, write = _OPTIONS[name]
        arguments[column] = write(value)
    return _call("put", arguments)


def cancel(queue: str, tube: Name, key: Name) -> tuple[str, list[Any]]:
    """The statement of a cancel, and its values."""
    return _call("cancel", {"tube": _text(tube, "tube"), "key": _text(key, "key"), "queue": queue})
