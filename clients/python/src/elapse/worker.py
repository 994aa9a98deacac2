"""`python -m elapse.worker module:worker --concurrency 8` runs a worker; see elapse.Worker."""

from __future__ import annotations

import sys

from ._main import run_worker
from ._thread_worker import Handlers, Worker, holder

__all__ = ["Handlers", "Worker", "holder"]

if __name__ == "__main__":
    sys.exit(run_worker())
