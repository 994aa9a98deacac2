"""Workers of asyncio. A handler whose job was cancelled, whose lease has ended, or whose time is over, gets
asyncio.CancelledError; `job.stop_reason` says which."""

from __future__ import annotations

import asyncio
import contextlib
import inspect
import math
import signal
import time
from collections.abc import Callable
from typing import Any, Union

from . import _commands, _texts, tracing
from ._commands import Command
from ._hand import Hand, Running, described, extend_commands, log
from ._texts import Duration
from .aio import AsyncClient
from .errors import BatchError, ElapseError, LeaseEndedError
from .jobs import AsyncJob, JobCancelled, read_job
from ._thread_worker import _PAUSE_MAX_S, _RESERVE_WAIT, REFUSALS, UNTOLD, Handlers, check_concurrency, holder


class AsyncWorker(Handlers):
    """A worker of asyncio. Its handlers and hooks are coroutines. The options are those of Worker."""

    def __init__(
        self, client: Union[AsyncClient, str] = "127.0.0.1:11300", *, concurrency: int = 64, grace: Duration = "25s"
    ) -> None:
        super().__init__()
        check_concurrency(concurrency)
        self.client = AsyncClient(client) if isinstance(client, str) else client
        self.concurrency = concurrency
        self.grace_s = _texts.seconds(grace)
        self._stopping = False
        self._keeping = True
        #: Until then the watcher sleeps.
        self._watched_until_s = math.inf
        self._begin()

    def _begin(self) -> None:
        """Makes what each run has anew."""
        self._tasks: dict[tuple[int, bytes], asyncio.Task[None]] = {}
        self._hand: Hand[AsyncJob] = Hand(self._stop_job)
        self._keeping = True
        self._changed = asyncio.Event()
        self._freed = asyncio.Event()
        self._hurrying = asyncio.Event()
        self._sooner = asyncio.Event()
        self._watched_until_s = math.inf

    def _check_handler(self, function: Callable[..., Any]) -> None:
        if not inspect.iscoroutinefunction(function):
            raise TypeError(f"{function!r} is no coroutine: use a Worker, which runs handlers in threads")

    def stop(self) -> None:
        """Ends `run`, as Worker.stop does. Call it in the event loop."""
        self._stopping = True

    async def run(self, *, client: AsyncClient | None = None, until_idle: bool = False) -> bool:
        """Works until `stop`, SIGTERM or SIGINT; with `until_idle`, until no job is ready. A second signal ends the
        grace. Returns whether all handlers have ended in time. Raises what the server says if it refuses to hand out: a
        wrong password, a right that is missing."""
        if not self._handlers:
            raise ValueError("the worker has no handler")
        if client is not None:
            self.client = client
        self._begin()
        loop = asyncio.get_running_loop()
        signals = self._take_signals(loop)
        keeper = asyncio.create_task(self._keep())
        watcher = asyncio.create_task(self._watch())
        sayer = asyncio.create_task(self._say())
        try:
            await self._fetch(until_idle)
        finally:
            all_ended = await self._finish(keeper, sayer)
            watcher.cancel()
            for number in signals:
                loop.remove_signal_handler(number)
            self._stopping = False  # and not before a run, so that a stop which comes before it is not forgotten
        return all_ended

    def _take_signals(self, loop: asyncio.AbstractEventLoop) -> list[int]:
        taken: list[int] = []
        for number in (signal.SIGTERM, signal.SIGINT):
            try:
                loop.add_signal_handler(number, self._stop_by_signal)
                taken.append(number)
            except (RuntimeError, ValueError, NotImplementedError):
                pass  # not the main thread
        return taken

    def _stop_by_signal(self) -> None:
        if self._stopping:
            self._hurrying.set()
        self._stopping = True

    def _stop_job(self, job: AsyncJob, reason: str) -> None:
        job.stop_reason = job.stop_reason or reason
        task = self._tasks.get(job.pair)
        if task is not None:
            task.cancel(reason)

    async def _end_of(self, tasks: list[asyncio.Task[None]]) -> set[asyncio.Task[None]]:
        """Waits for the tasks, for the grace or until a second signal; returns those that have not ended."""
        ended = asyncio.ensure_future(asyncio.wait(tasks))
        hurry = asyncio.ensure_future(self._hurrying.wait())
        await asyncio.wait([ended, hurry], timeout=self.grace_s, return_when=asyncio.FIRST_COMPLETED)
        ended.cancel()
        hurry.cancel()
        return {task for task in tasks if not task.done()}

    async def _finish(self, keeper: asyncio.Task[None], sayer: asyncio.Task[None]) -> bool:
        tasks = list(self._tasks.values())
        late: set[asyncio.Task[None]] = set()
        if tasks:
            late = await self._end_of(tasks)
        for job in self._hand.jobs():
            self._stop_job(job, "stopping")
        if late:
            _, stuck = await asyncio.wait(late, timeout=1)
            for job in self._hand.jobs():
                self._hand.fail(job, "the worker ended before the handler did")
            log.warning(
                "%d handlers have not ended in time; %d do not even end when they are cancelled", len(late), len(stuck)
            )
        self._keeping = False
        self._changed.set()
        await sayer
        keeper.cancel()  # no lease is left to extend
        await asyncio.wait([keeper])
        return not late

    async def _fetch(self, until_idle: bool) -> None:
        client = self.client.like(name=holder())
        pause_s, unreached = 0.05, False
        try:
            while not self._stopping:
                free = self.concurrency - len(self._tasks)
                if free == 0:
                    self._freed.clear()
                    try:
                        await asyncio.wait_for(self._freed.wait(), 0.5)
                    except asyncio.TimeoutError:
                        pass
                    continue
                idle = not self._tasks and self._hand.next_s() == float("inf")
                wait = ("1ms" if idle else "20ms") if until_idle else _RESERVE_WAIT
                try:
                    rows = await client.run(_commands.reserve(list(self._handlers), min(free, 1000), wait))
                except REFUSALS:
                    raise
                except ElapseError as error:
                    if not unreached:
                        log.warning("no jobs could be taken, and it is tried again: %s", error)
                    unreached = True
                    await asyncio.sleep(pause_s)
                    pause_s = min(_PAUSE_MAX_S, pause_s * 2)
                    continue
                if unreached:
                    log.warning("a server is reached again")
                pause_s, unreached = 0.05, False
                for row in rows:
                    self._hand_out(AsyncJob(**read_job(row, client.codec), _finish=self._done))
                self._changed.set()
                if until_idle and idle and not rows:
                    return
        finally:
            await client.close()

    def _hand_out(self, job: AsyncJob) -> None:
        if self._stopping:
            self._hand.give_back(job)
            return
        self._watch_for(self._hand.begin(job, time.monotonic(), self._handlers[job.tube][1]))
        task = asyncio.create_task(self._run_one(job))
        self._tasks[job.pair] = task

        def ended(_: asyncio.Task[None]) -> None:
            # A task that was cancelled before it began has said nothing of its job.
            if self._hand.has(job):
                self._hand.end(job, JobCancelled(job.stop_reason), time.monotonic())
            self._tasks.pop(job.pair, None)
            self._freed.set()
            self._changed.set()

        task.add_done_callback(ended)

    async def _run_one(self, job: AsyncJob) -> None:
        began_s = time.monotonic()
        error: BaseException | None = None
        try:
            with tracing.handling(job.tube, job.id, job.attempt, job.headers):
                for hook in self._before:
                    await hook(job)
                await self._handlers[job.tube][0](job)
                if job.gatherer is not None and not job.finished:
                    await job.done()
                for hook in self._after:
                    await hook(job)
        except BaseException as caught:  # also a CancelledError, which ends this task anyway
            error = caught
        now_s = time.monotonic()
        outcome = self._hand.end(job, error, now_s)
        self._changed.set()
        tracing.handled(job.tube, outcome, now_s - began_s)
        if outcome in ("failed", "buried") and error is not None:
            log.warning("job %d of %s failed: %s", job.id, job.tube, described(error), exc_info=error)
            for hook in self._on_failure:
                try:
                    await hook(job, error)
                except Exception:
                    log.exception("the hook on_failure failed")

    async def _done(self, job: AsyncJob, commands: tuple[Command[Any], ...]) -> list[Any]:
        if job.finished:
            raise RuntimeError("done was called before")
        left = self._hand.leave(job)
        try:
            results = await self.client.transaction(*commands, leased=[job])
        except LeaseEndedError:
            job.stop_reason = job.stop_reason or "lost"
            raise
        except BaseException:
            # The handler may go on: its lease is kept, and it is told when it has to stop.
            if left is not None:
                self._hand.resume(left)
                self._watch_for(left)
                self._changed.set()
            raise
        job.finished = True
        return results

    async def _watch(self) -> None:
        """Tells handlers to stop whose time is over, also while the keeper waits for a server."""
        while True:
            now_s = time.monotonic()
            self._hand.stop_late(now_s)
            self._watched_until_s = self._hand.next_end_s()
            self._sooner.clear()
            try:
                await asyncio.wait_for(self._sooner.wait(), min(60.0, max(0.0, self._watched_until_s - now_s)))
            except asyncio.TimeoutError:
                pass

    def _watch_for(self, running: Running[AsyncJob]) -> None:
        """Wakes the watcher if it would sleep too long for this job."""
        if running.ends_s < self._watched_until_s:
            self._sooner.set()

    # Each of the next two has a connection of its own: what is said of a job is sent again for as long as the partition
    # of the job has no owner, and the leases of the others are extended meanwhile.

    async def _keep(self) -> None:
        client = self.client.like()
        try:
            while True:
                now_s = await self._time_of(self._hand.next_extension_s)
                if not self._keeping:
                    return
                jobs = self._hand.take_extensions(now_s)
                sent_s = time.monotonic()
                answers = await self._tell(client, [*extend_commands(jobs)])
                self._hand.extended(jobs, answers, sent_s, time.monotonic())
        finally:
            await client.close()

    async def _say(self) -> None:
        client = self.client.like()
        try:
            while True:
                await self._time_of(self._hand.next_said_s)
                said = self._hand.take_said()
                if not self._keeping and not said:
                    return
                await self._tell(client, said)
        finally:
            await client.close()

    async def _time_of(self, next_s: Callable[[], float]) -> float:
        """Waits until the time that this function tells, which may change, or until the worker ends. Returns now."""
        now_s = time.monotonic()
        while self._keeping and next_s() > now_s:
            self._changed.clear()
            try:
                await asyncio.wait_for(self._changed.wait(), min(60.0, next_s() - now_s))
            except asyncio.TimeoutError:
                pass
            now_s = time.monotonic()
        return now_s

    async def _tell(self, client: AsyncClient, commands: list[Command[Any]]) -> list[Any]:
        """As Worker._tell."""
        with contextlib.suppress(Exception):
            try:
                return await client.run_many(commands)
            except BatchError as error:
                log.warning("the server did not do all that it was told: %s", error)
                return error.results
            except ElapseError as error:
                log.warning(UNTOLD, error)
            except Exception:
                log.exception("the server could not be told what was done, or whose leases to extend")
        return []
