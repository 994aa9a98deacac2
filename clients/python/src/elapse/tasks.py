"""Tasks as Celery's programs have them, so that a project moves file by file.

    app = App("127.0.0.1:11300")

    @app.task
    def send(to):
        ...

    send.delay("ann")
    result = send.apply_async(("bob",), countdown=1800, task_id="mail-bob")
    result.revoke()

`python -m elapse.worker module:app` works on them. What differs from Celery: an exception is retried with a
growing wait, 20 attempts unless `max_retries` says otherwise; a second task with the id of one that waits
takes its place; results are not kept.
"""

from __future__ import annotations

import dataclasses
import datetime
import functools
import inspect
import uuid
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from ._commands import PutOptions
from ._thread_worker import Worker
from .client import Client
from .jobs import Job, RetryIn


@dataclasses.dataclass(frozen=True)
class Result:
    """A task that was put. `id` is its name, by which it is revoked."""

    id: str
    task: Task

    def revoke(self) -> bool:
        """Cancels the task; returns whether nobody will ever run it. One that runs is told to stop."""
        return self.task.app.client.cancel(self.task.queue, self.id) == "removed"

    def reschedule(self, *, countdown: float | None = None, eta: datetime.datetime | None = None) -> bool:
        """Gives the task another time; returns whether it was still waiting."""
        delay = None if countdown is None else datetime.timedelta(seconds=countdown)
        return self.task.app.client.reschedule(self.task.queue, self.id, in_=delay, at=eta) == "rescheduled"


@dataclasses.dataclass(frozen=True)
class Request:
    """What a bound task may know of its run: `self` of a function with bind=True."""

    task: Task
    job: Job
    args: Sequence[Any]
    kwargs: Mapping[str, Any]

    @property
    def id(self) -> str | None:
        """The id of the task."""
        return self.job.key

    @property
    def retries(self) -> int:
        """How many runs have failed before."""
        return self.job.attempt - 1

    def retry(self, *, countdown: float = 180, exc: BaseException | None = None) -> RetryIn:
        """Ends this run as failed; the next one comes after the countdown at the earliest. Use it as in
        Celery: `raise self.retry(countdown=60, exc=error)`."""
        reason = f"{type(exc).__name__}: {exc}" if exc is not None else None
        raise RetryIn(datetime.timedelta(seconds=countdown), reason, failure=True) from exc


class Task:
    """A function that can be put as a job. Called, it runs here and now."""

    def __init__(
        self, app: App, function: Callable[..., Any], name: str, queue: str, bind: bool, options: PutOptions
    ) -> None:
        self.app, self.function, self.name, self.queue, self.bind = app, function, name, queue, bind
        self.options = options
        functools.update_wrapper(self, function)

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return self.function(*args, **kwargs)

    def delay(self, *args: Any, **kwargs: Any) -> Result:
        """Puts the task, due now."""
        return self.apply_async(args, kwargs)

    def apply_async(
        self,
        args: Sequence[Any] = (),
        kwargs: Mapping[str, Any] | None = None,
        *,
        countdown: float | None = None,
        eta: datetime.datetime | None = None,
        task_id: str | None = None,
        expires: float | datetime.datetime | None = None,
    ) -> Result:
        """Puts the task: due after `countdown` seconds, or at `eta`; dropped if nobody took it by
        `expires`, in seconds from now or as a time."""
        if countdown is not None and eta is not None:
            raise ValueError("countdown and eta exclude each other")
        options = self.options.copy()
        number = task_id or uuid.uuid4().hex
        options["key"] = number
        now = datetime.datetime.now(datetime.timezone.utc)
        due = now
        if countdown is not None:
            delay = datetime.timedelta(seconds=countdown)
            options["in_"], due = delay, now + delay
        elif eta is not None:
            options["at"] = due = eta
        if expires is not None:
            end = expires if isinstance(expires, datetime.datetime) else now + datetime.timedelta(seconds=expires)
            left = end - max(due, now)
            if left <= datetime.timedelta(0):
                raise ValueError("the task would expire before it is due")
            options["expire"] = left
        self.app.client.put(
            self.queue, {"task": self.name, "args": list(args), "kwargs": dict(kwargs or {})}, **options
        )
        return Result(number, self)

    def run(self, job: Job) -> Any:
        """Runs the task of a job."""
        body = job.json()
        first = (Request(self, job, body["args"], body["kwargs"]),) if self.bind else ()
        return self.function(*first, *body["args"], **body["kwargs"])


class App:
    """The tasks of a program, and the client that puts them. `queue`: their tube, unless a task has its own."""

    def __init__(self, client: Client | str = "127.0.0.1:11300", *, queue: str = "tasks") -> None:
        self.client = Client(client) if isinstance(client, str) else client
        self.queue = queue
        self.tasks: dict[str, Task] = {}

    def task(
        self,
        function: Callable[..., Any] | None = None,
        *,
        name: str | None = None,
        queue: str | None = None,
        bind: bool = False,
        max_retries: int | None = None,
        **options: Any,
    ) -> Any:
        """Makes a task of a function: `@app.task`, or `@app.task(bind=True, max_retries=3)`. Other options are
        those of Client.put."""
        if function is None:
            return functools.partial(self.task, name=name, queue=queue, bind=bind, max_retries=max_retries, **options)
        if inspect.iscoroutinefunction(function):
            raise TypeError(f"{function!r} is a coroutine: a task is a function; for coroutines there is AsyncWorker")
        full = name or f"{function.__module__}.{function.__qualname__}"
        if full in self.tasks:
            raise ValueError(f"there is a task {full!r}")
        if max_retries is not None:
            options["attempts"] = max_retries + 1
        checked: PutOptions = options  # type: ignore[assignment]
        self.tasks[full] = Task(self, function, full, queue or self.queue, bind, checked)
        return self.tasks[full]

    def revoke(self, task_id: str) -> bool:
        """Cancels a task by its id; returns whether nobody will ever run it."""
        queues = sorted({task.queue for task in self.tasks.values()})
        return "removed" in [self.client.cancel(queue, task_id) for queue in queues]

    def worker(self, *, concurrency: int = 8) -> Worker:
        """A worker for all tasks that are known by now."""
        worker = Worker(self.client, concurrency=concurrency)
        for queue in sorted({task.queue for task in self.tasks.values()}):
            worker.handler(queue)(self._run)
        return worker

    def _run(self, job: Job) -> Any:
        name = job.json()["task"]
        if name not in self.tasks:
            raise LookupError(f"there is no task {name!r} in this worker")
        return self.tasks[name].run(job)
