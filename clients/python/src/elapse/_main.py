"""The command `python -m elapse.worker`."""

from __future__ import annotations

import argparse
import asyncio
import importlib
import logging
import os
import sys

from .aio import AsyncClient
from .aio_worker import AsyncWorker
from .client import Client
from .tasks import App
from ._thread_worker import Worker


def run_worker(arguments: list[str] | None = None) -> int:
    """Imports a worker and runs it; returns the status to exit with."""
    parser = argparse.ArgumentParser(
        prog="python -m elapse.worker", description="Runs a worker of Elapse until SIGTERM."
    )
    parser.add_argument("worker", metavar="MODULE:NAME", help="where the Worker or AsyncWorker is")
    parser.add_argument("--concurrency", type=int, help="how many handlers run at a time")
    parser.add_argument(
        "--url",
        action="append",
        help="the address of the server, in place of that in the program; "
        "may be given again for further nodes of a cluster",
    )
    parser.add_argument("--verbose", action="store_true", help="log more")
    options = parser.parse_args(arguments)
    logging.basicConfig(
        level=logging.DEBUG if options.verbose else logging.INFO,
        format="%(asctime)s %(levelname)s %(name)s: %(message)s",
    )
    module_name, _, name = options.worker.partition(":")
    sys.path.insert(0, "")
    worker: object = getattr(importlib.import_module(module_name), name or "worker", None)
    if isinstance(worker, App):
        if options.url:
            worker.client = Client(*options.url)  # its tasks put further ones there, too
        worker = worker.worker()
    if not isinstance(worker, (Worker, AsyncWorker)):
        parser.error(f"{options.worker} is no Worker, AsyncWorker or App")
    if options.concurrency is not None:
        if options.concurrency < 1:
            parser.error("--concurrency is 1 or more")
        worker.concurrency = options.concurrency
    if isinstance(worker, AsyncWorker):
        if options.url:
            worker.client = AsyncClient(*options.url)
        return 0 if asyncio.run(worker.run()) else 1
    if options.url:
        worker.client = Client(*options.url)
    if not worker.run():
        os._exit(1)  # threads of handlers that have not ended would keep the process
    return 0
