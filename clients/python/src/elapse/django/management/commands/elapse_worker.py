"""manage.py elapse_worker [MODULE:NAME]: runs a worker until SIGTERM."""

from __future__ import annotations

import importlib
from typing import Any

from django.conf import settings
from django.core.management.base import BaseCommand, CommandError
from django.db import close_old_connections

from elapse import Worker
from elapse.django import client
from elapse.jobs import Job


class Command(BaseCommand):
    """The command."""

    help = "Runs a worker of Elapse until SIGTERM."

    def add_arguments(self, parser: Any) -> None:
        """Its arguments."""
        parser.add_argument(
            "worker",
            nargs="?",
            metavar="MODULE:NAME",
            help="where the Worker is; otherwise what ELAPSE['WORKER'] of the settings says",
        )
        parser.add_argument("--concurrency", type=int, help="how many handlers run at a time")
        parser.add_argument("--until-idle", action="store_true", help="end when no job is ready")

    def handle(self, *_: Any, **options: Any) -> None:
        """Runs the worker with the client of the settings."""
        place = options["worker"] or getattr(settings, "ELAPSE", {}).get("WORKER")
        if not place:
            raise CommandError("name a worker, MODULE:NAME, or set ELAPSE['WORKER']")
        module, _, name = place.partition(":")
        worker = getattr(importlib.import_module(module), name or "worker", None)
        if not isinstance(worker, Worker):
            raise CommandError(f"{place} is no Worker")
        if options["concurrency"] is not None:
            if options["concurrency"] < 1:
                raise CommandError("--concurrency is 1 or more")
            worker.concurrency = options["concurrency"]
        self._close_connections(worker)
        if not worker.run(client=client(), until_idle=options["until_idle"]):
            raise CommandError("some handlers have not ended in time")

    @staticmethod
    def _close_connections(worker: Worker) -> None:
        """A thread that lives for long must not keep a connection to the database that has died."""

        def close(_: Job) -> None:
            close_old_connections()

        worker.before(close)
