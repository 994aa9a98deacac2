"""Elapse in a project of Django, 3.2 or later.

    INSTALLED_APPS = [..., "elapse.django"]
    ELAPSE = {"ADDRESSES": ["127.0.0.1:11300"], "WORKER": "shop.jobs:worker"}

`enqueue_on_commit` puts a job when the transaction of the database commits, and not if it is rolled back.
Between the commit and the put the process can die: then the job is not put. Where that must not be, put by
the inbox of a cluster (docs/guide/inbox.md). `manage.py elapse_worker` runs the worker.
"""

from __future__ import annotations

import functools
from typing import Any

from .. import jobs
from .._texts import Name
from ..client import Client


@functools.lru_cache(maxsize=None)
def client() -> Client:
    """The client of the settings, one for each process."""
    from django.conf import settings
    found: dict[str, Any] = getattr(settings, "ELAPSE", {})
    return Client(*found.get("ADDRESSES", ()), **found.get("OPTIONS", {}))


def enqueue_on_commit(tube: Name, body: Any, *, using: str | None = None, **options: Any) -> None:
    """Puts a job when the present transaction commits; at once if there is none. `options` are those of
    Client.put. What is wrong with them is raised now, and not at the commit."""
    from django.db import transaction
    options.setdefault("codec", client().codec)
    command = jobs.put(tube, body, **options)
    transaction.on_commit(lambda: client().run(command), using=using)
