"""Elapse in a project of Django, 3.2 or later.

    INSTALLED_APPS = [..., "elapse.django"]
    ELAPSE = {"ADDRESSES": ["127.0.0.1:11300"], "WORKER": "shop.jobs:worker"}

`enqueue_on_commit` puts a job when the transaction of the database commits, and not if it is rolled back, and
`cancel_on_commit` cancels one. `manage.py elapse_worker` runs the worker.

Between the commit and the put the process can die: then the job is not put. If the log of a cluster is in the same
database, say `"INBOX": "main"` in the settings, with the name of the cluster's queue: then both write into the inbox
inside the transaction (docs/guide/inbox.md), and the job is put if and only if it commits.
"""

from __future__ import annotations

import functools
from typing import Any

from .. import _commands, jobs
from .._commands import PutOptions
from .._texts import Name
from ..client import Client
from . import _inbox as _inbox_calls


@functools.lru_cache(maxsize=None)
def client() -> Client:
    """The client of the settings, one for each process."""
    found = _settings()
    return Client(*found.get("ADDRESSES", ()), **found.get("OPTIONS", {}))


def _settings() -> dict[str, Any]:
    from django.conf import settings

    found: dict[str, Any] = getattr(settings, "ELAPSE", {})
    return found


def _inbox(statement: tuple[str, list[Any]], using: str | None) -> None:
    """Writes into the inbox, in the present transaction."""
    from django.core.exceptions import ImproperlyConfigured
    from django.db import DEFAULT_DB_ALIAS, connections

    connection = connections[using or DEFAULT_DB_ALIAS]
    if connection.vendor != "postgresql":
        raise ImproperlyConfigured(
            f"ELAPSE['INBOX'] needs PostgreSQL, and the database {connection.alias!r} is {connection.vendor}"
        )
    with connection.cursor() as cursor:
        cursor.execute(*statement)


def enqueue_on_commit(tube: Name, body: Any, *, using: str | None = None, **options: Any) -> None:
    """Puts a job when the present transaction commits; at once if there is none. `options` are those of
    Client.put; by the inbox without `group` and `token_for`. What is wrong with them is raised now, and not at
    the commit."""
    from django.db import transaction

    options.setdefault("codec", client().codec)
    command = jobs.put(tube, body, **options)
    if queue := _settings().get("INBOX"):
        checked: PutOptions = options  # type: ignore[assignment]
        _inbox(_inbox_calls.put(queue, tube, body, checked), using)
    else:
        transaction.on_commit(lambda: client().run(command), using=using)


def cancel_on_commit(tube: Name, key: Name, *, using: str | None = None) -> None:
    """Cancels the job that has the key when the present transaction commits; at once if there is none. Nobody
    learns whether a worker had it: where that matters, call `client().cancel` and look."""
    from django.db import transaction

    command = _commands.cancel(tube, key)
    if queue := _settings().get("INBOX"):
        _inbox(_inbox_calls.cancel(queue, tube, key), using)
    else:
        transaction.on_commit(lambda: client().run(command), using=using)
