"""Workers of threads: handlers by tube, and all that must not be done wrong around them.

    worker = Worker("127.0.0.1:11300", concurrency=8)

    @worker.handler("mails")
    def send(job):
        smtp.send(job.json()["to"])

    worker.run()

`python -m elapse.worker module:worker --concurrency 8` runs it, or an AsyncWorker, from the command line.
"""

from __future__ import annotations

import contextlib
import inspect
import math
import os
import queue
import signal
import socket
import threading
import time
from collections.abc import Callable
from typing import Any, TypeVar, Union

from . import _commands, _texts, tracing
from ._commands import Command
from ._hand import Hand, Running, described, extend_commands, log
from ._texts import Duration, Name
from .client import Client
from .errors import (
    AuthenticationNeededError,
    BatchError,
    CommandError,
    ElapseError,
    LeaseEndedError,
    NotPermittedError,
    WrongPasswordError,
)
from .jobs import Job, read_job

Handler = Callable[[Job], Any]
H = TypeVar("H", bound=Callable[..., Any])

_RESERVE_WAIT = "1s"
_PAUSE_MAX_S = 5.0

#: What a worker writes into the log when it cannot extend leases, or say what was done.
UNTOLD = "the server could not be told what was done, or whose leases to extend; jobs may come again: %s"

#: What the server answers to a worker that will never get a job.
REFUSALS = (AuthenticationNeededError, CommandError, NotPermittedError, WrongPasswordError)


def holder() -> str:
    """The name by which jobs show who has them."""
    name = f"{socket.gethostname()}:{os.getpid()}"
    return "".join(letter if "!" <= letter <= "~" else "-" for letter in name)[:64]


def check_concurrency(concurrency: int) -> None:
    """Raises an error if so many handlers cannot run."""
    if not isinstance(concurrency, int) or isinstance(concurrency, bool):
        raise TypeError(f"concurrency is a whole number, and not {concurrency!r}")
    if concurrency < 1:
        raise ValueError("concurrency is 1 or more")


class Handlers:
    """The handlers and hooks of a worker."""

    def __init__(self) -> None:
        self._handlers: dict[str, tuple[Callable[..., Any], float | None]] = {}
        self._before: list[Callable[..., Any]] = []
        self._after: list[Callable[..., Any]] = []
        self._on_failure: list[Callable[..., Any]] = []

    def handler(self, tube: Name, *, limit: Duration | None = None) -> Callable[[H], H]:
        """Registers the handler of a tube. With `limit`, a run that takes longer is told to stop, its
        lease is extended no more, and the job goes to another worker."""
        limit_s = None if limit is None else _texts.seconds(limit)
        if limit_s is not None and limit_s <= 0:
            raise ValueError("a limit is above 0")
        named = _texts.read_name(_texts.name(tube, "tube")) or ""  # as jobs name it

        def register(function: H) -> H:
            if named in self._handlers:
                raise ValueError(f"the tube {named!r} has a handler")
            self._check_handler(function)
            self._handlers[named] = (function, limit_s)
            return function

        return register

    def _check_handler(self, function: Callable[..., Any]) -> None:
        """Raises TypeError if the worker cannot run the function, as a handler or as a hook."""
        raise NotImplementedError

    def before(self, function: H) -> H:
        """Registers a function to call with each job before its handler. If it raises, so does the run."""
        self._check_handler(function)
        self._before.append(function)
        return function

    def after(self, function: H) -> H:
        """Registers a function to call with each job whose handler has ended well."""
        self._check_handler(function)
        self._after.append(function)
        return function

    def on_failure(self, function: H) -> H:
        """Registers a function to call with each job, and the exception, whose handler has failed."""
        self._check_handler(function)
        self._on_failure.append(function)
        return function


class Worker(Handlers):
    """A worker of threads. `client`: a Client, or the address of a server. `concurrency`: how many handlers
    run at a time; never more jobs than that are taken. `grace`: how long SIGTERM waits for handlers."""

    def __init__(
        self, client: Union[Client, str] = "127.0.0.1:11300", *, concurrency: int = 8, grace: Duration = "25s"
    ) -> None:
        super().__init__()
        check_concurrency(concurrency)
        self.client = Client(client) if isinstance(client, str) else client
        self.concurrency = concurrency
        self.grace_s = _texts.seconds(grace)
        self._stopping = threading.Event()
        #: Until then the watcher sleeps.
        self._watched_until_s = math.inf
        lock = threading.RLock()
        self._lock = threading.Condition(lock)
        self._sooner = threading.Condition(lock)
        self._sooner_extended = threading.Condition(lock)
        self._hurrying, self._keeping = False, True
        self._begin()

    def _begin(self) -> None:
        """Makes what each run has anew."""
        self._hurrying, self._keeping = False, True
        self._hand: Hand[Job] = Hand(lambda job, reason: job.stop(reason))
        self._jobs: queue.SimpleQueue[Job | None] = queue.SimpleQueue()
        self._free = self.concurrency
        self._watched_until_s = math.inf

    def _check_handler(self, function: Callable[..., Any]) -> None:
        if not callable(function):
            raise TypeError(f"a handler is a function, and not {function!r}")
        if inspect.iscoroutinefunction(function) or inspect.isgeneratorfunction(function):
            # A call of it would do nothing, and the job would count as done.
            raise TypeError(f"{function!r} is a coroutine or a generator: use an AsyncWorker, which runs coroutines")

    def stop(self) -> None:
        """Ends `run`: what runs is finished, and what has not begun is given back. Any thread, and a signal,
        may call it. Called before `run`, it ends that at once."""
        self._stopping.set()

    # ---- the life of a run ----

    def run(self, *, client: Client | None = None, until_idle: bool = False) -> bool:
        """Works until `stop`, or SIGTERM or SIGINT if this is the main thread; with `until_idle`, until no job
        is ready. A second signal ends the grace. Returns whether all handlers have ended in time. Raises what the
        server says if it refuses to hand out: a wrong password, a right that is missing."""
        if not self._handlers:
            raise ValueError("the worker has no handler")
        if client is not None:
            self.client = client
        self._begin()
        threads = [
            threading.Thread(target=self._work, name=f"elapse-{i}", daemon=True) for i in range(self.concurrency)
        ]
        keeper = threading.Thread(target=self._keep, name="elapse-keeper", daemon=True)
        watcher = threading.Thread(target=self._watch, name="elapse-watcher", daemon=True)
        sayer = threading.Thread(target=self._say, name="elapse-sayer", daemon=True)
        for thread in (*threads, keeper, watcher, sayer):
            thread.start()
        restore = self._take_signals()
        try:
            self._fetch(until_idle)
        finally:
            all_ended = self._finish(threads, [watcher, sayer, keeper])
            restore()
            self._stopping.clear()  # and not before a run, so that a stop which comes before it is not forgotten
        return all_ended

    def _take_signals(self) -> Callable[[], None]:
        if threading.current_thread() is not threading.main_thread():
            return lambda: None

        def stop(*_: object) -> None:
            self._hurrying = self._stopping.is_set()
            self._stopping.set()

        old = {number: signal.signal(number, stop) for number in (signal.SIGTERM, signal.SIGINT)}

        def restore() -> None:
            for number, handler in old.items():
                signal.signal(number, handler)

        return restore

    def _finish(self, threads: list[threading.Thread], helpers: list[threading.Thread]) -> bool:
        """Lets what runs end, up to the grace, and then the helpers, up to the deadline of the client."""
        for _ in threads:
            self._jobs.put(None)
        end_s = time.monotonic() + self.grace_s
        for thread in threads:
            while thread.is_alive() and not self._hurrying and time.monotonic() < end_s:
                # A signal does not end a join, so that a long one would keep a second signal waiting.
                thread.join(min(0.1, max(0.0, end_s - time.monotonic())))
        late = [thread for thread in threads if thread.is_alive()]
        with self._lock:
            for job in self._hand.jobs():
                job.stop("stopping")
                self._hand.fail(job, "the worker ended before the handler did")
            self._keeping = False
            self._lock.notify_all()
            self._sooner.notify_all()
            self._sooner_extended.notify_all()
        end_s = time.monotonic() + self.client.deadline_s + 1
        for thread in helpers:
            thread.join(max(0.0, end_s - time.monotonic()))
        if late:
            log.warning("%d handlers have not ended in time; their jobs go to other workers", len(late))
        return not late

    # ---- taking jobs ----

    def _fetch(self, until_idle: bool) -> None:
        client = self.client.like(name=holder())
        pause_s, unreached = 0.05, False
        try:
            while not self._stopping.is_set():
                with self._lock:
                    if self._free == 0:
                        self._lock.wait(0.5)
                        continue
                    free = self._free
                    idle = free == self.concurrency and self._hand.next_s() == float("inf")
                wait = ("1ms" if idle else "20ms") if until_idle else _RESERVE_WAIT
                try:
                    rows = client.run(_commands.reserve(list(self._handlers), min(free, 1000), wait))
                except REFUSALS:
                    raise
                except ElapseError as error:
                    if not unreached:
                        log.warning("no jobs could be taken, and it is tried again: %s", error)
                    unreached = True
                    self._stopping.wait(pause_s)
                    pause_s = min(_PAUSE_MAX_S, pause_s * 2)
                    continue
                if unreached:
                    log.warning("a server is reached again")
                pause_s, unreached = 0.05, False
                self._hand_out([Job(**read_job(row, client.codec), _finish=self._done) for row in rows])
                if until_idle and idle and not rows:
                    return
        finally:
            client.close()

    def _hand_out(self, jobs: list[Job]) -> None:
        stopping = self._stopping.is_set()
        with self._lock:
            for job in jobs:
                if stopping:
                    self._hand.give_back(job)
                    continue
                self._free -= 1
                self._watch_for(self._hand.begin(job, time.monotonic(), self._handlers[job.tube][1]))
                self._jobs.put(job)
            self._lock.notify_all()
            self._sooner_extended.notify_all()

    # ---- handlers ----

    def _work(self) -> None:
        while (job := self._jobs.get()) is not None:
            try:
                if self._stopping.is_set():
                    with self._lock:
                        if self._hand.has(job):
                            self._hand.give_back(job)
                else:
                    self._run_one(job)
            except BaseException:  # this thread has to take further jobs, whatever a hook or a logger does
                with contextlib.suppress(BaseException):
                    log.exception("job %d of %s: what comes behind its handler has failed", job.id, job.tube)
            finally:
                with self._lock:
                    self._free += 1
                    self._lock.notify_all()

    def _run_one(self, job: Job) -> None:
        began_s = time.monotonic()
        error: BaseException | None = None
        try:
            with tracing.handling(job.tube, job.id, job.attempt, job.headers):
                for hook in self._before:
                    hook(job)
                result = self._handlers[job.tube][0](job)
                if inspect.isawaitable(result):
                    raise TypeError("the handler returned a coroutine, which nobody runs: use an AsyncWorker")
                if job.gatherer is not None and not job.finished:
                    job.done()
                for hook in self._after:
                    hook(job)
        except BaseException as caught:  # a handler that ends its thread would end the worker
            error = caught
        now_s = time.monotonic()
        with self._lock:
            outcome = self._hand.end(job, error, now_s)
            self._lock.notify_all()
        tracing.handled(job.tube, outcome, now_s - began_s)
        if outcome in ("failed", "buried") and error is not None:
            log.warning("job %d of %s failed: %s", job.id, job.tube, described(error), exc_info=error)
            for hook in self._on_failure:
                try:
                    hook(job, error)
                except Exception:
                    log.exception("the hook on_failure failed")

    def _done(self, job: Job, commands: tuple[Command[Any], ...]) -> list[Any]:
        if job.finished:
            raise RuntimeError("done was called before")
        with self._lock:
            left = self._hand.leave(job)
            if left is None:
                job.check()
        try:
            results = self.client.transaction(*commands, leased=[job])
        except LeaseEndedError:
            job.stop("lost")
            raise
        except BaseException:
            # The handler may go on: its lease is kept, and it is told when it has to stop.
            with self._lock:
                if left is not None:
                    self._hand.resume(left)
                    self._watch_for(left)
                    self._sooner_extended.notify_all()
            raise
        job.finished = True
        return results

    # ---- telling handlers to stop ----

    def _watch(self) -> None:
        """Tells handlers to stop whose time is over, also while the keeper waits for a server."""
        with self._lock:
            while self._keeping:
                now_s = time.monotonic()
                self._hand.stop_late(now_s)
                self._watched_until_s = self._hand.next_end_s()
                self._sooner.wait(min(60.0, max(0.0, self._watched_until_s - now_s)))

    def _watch_for(self, running: Running[Job]) -> None:
        """Wakes the watcher if it would sleep too long for this job."""
        if running.ends_s < self._watched_until_s:
            self._sooner.notify_all()

    # ---- keeping leases, and saying what has ended ----

    # Each has a connection of its own: what is said of a job is sent again for as long as the partition of the job has
    # no owner, and the leases of the others are extended meanwhile.

    def _keep(self) -> None:
        client = self.client.like()
        try:
            while True:
                with self._lock:
                    now_s = time.monotonic()
                    while self._keeping and self._hand.next_extension_s() > now_s:
                        self._sooner_extended.wait(min(60.0, self._hand.next_extension_s() - now_s))
                        now_s = time.monotonic()
                    if not self._keeping:
                        return
                    jobs = self._hand.take_extensions(now_s)
                sent_s = time.monotonic()
                answers = self._tell(client, [*extend_commands(jobs)])
                with self._lock:
                    self._hand.extended(jobs, answers, sent_s, time.monotonic())
        finally:
            client.close()

    def _say(self) -> None:
        client = self.client.like()
        try:
            while True:
                with self._lock:
                    now_s = time.monotonic()
                    while self._keeping and self._hand.next_said_s() > now_s:
                        self._lock.wait(min(60.0, self._hand.next_said_s() - now_s))
                        now_s = time.monotonic()
                    said = self._hand.take_said()
                    if not self._keeping and not said:
                        return
                self._tell(client, said)
        finally:
            client.close()

    def _tell(self, client: Client, commands: list[Command[Any]]) -> list[Any]:
        """Returns the results of the commands, of which some may be errors; empty if none is known. It raises nothing,
        also if a logger does."""
        with contextlib.suppress(Exception):
            try:
                return client.run_many(commands)
            except BatchError as error:
                log.warning("the server did not do all that it was told: %s", error)
                return error.results
            except ElapseError as error:
                log.warning(UNTOLD, error)
            except Exception:
                log.exception("the server could not be told what was done, or whose leases to extend")
        return []
