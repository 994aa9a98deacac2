"""The client for asyncio. All tasks of one event loop may share it."""

from __future__ import annotations

import asyncio
import datetime
import time
from collections.abc import AsyncIterator, Callable, Iterable, Sequence
from typing import TYPE_CHECKING, Any, List, TypeVar

import redis
import redis.asyncio
from redis.asyncio.retry import Retry

from . import _base, _commands, _texts, tracing
from ._commands import Command, GroupInfo, JobInfo, Limits, PutOptions, PutResult, State
from ._texts import Codec, Duration, Name
from ._tries import Fault, Tries
from .errors import BatchError, ElapseError, LeaseEndedError, ReplyError
from .jobs import AsyncJob, read_job

if TYPE_CHECKING:
    from typing import Unpack

T = TypeVar("T")

# `list` is a method of the client, so its annotations say List.


class AsyncClient:
    """A client of a server, or of a cluster.

    `addresses`: host:port, or URLs of redis-py (`redis://`, `rediss://` for TLS, `unix://`), with user and
    password if the server wants them. Of several, such as the nodes of a cluster, one is used until it
    fails, and then the next one. `deadline`: how long a command is tried. `timeout`: how long one try may
    take. `codec`: how bodies that are neither bytes nor texts are written; JSON unless it is given. Other
    options go to redis-py's pool of connections.
    """

    def __init__(
        self,
        *addresses: str,
        deadline: Duration = "30s",
        timeout: Duration = "15s",
        codec: Codec | None = None,
        name: str | None = None,
        **options: Any,
    ) -> None:
        self._options = _base.Options(addresses, deadline, timeout, codec, name, options)
        arguments = self._options.of_pool(Retry)
        self._pools = [redis.asyncio.ConnectionPool.from_url(one, **arguments) for one in self._options.addresses]
        self._asking = _base.connection_arguments(redis.asyncio.ConnectionPool)
        self._at = 0

    async def __aenter__(self) -> AsyncClient:
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Closes the connections. A later command opens them again."""
        for pool in self._pools:
            await pool.disconnect()

    def like(self, *, name: str | None = None, timeout: Duration | None = None) -> AsyncClient:
        """A client with the same options and connections of its own."""
        options = self._options
        return AsyncClient(
            *options.addresses,
            deadline=f"{options.deadline_s}s",
            timeout=timeout or f"{options.timeout_s}s",
            codec=options.codec,
            name=name or options.name,
            **options.others,
        )

    @property
    def codec(self) -> Codec:
        """How bodies that are neither bytes nor texts are written and read."""
        return self._options.codec

    @property
    def deadline_s(self) -> float:
        """How many seconds a command is tried."""
        return self._options.deadline_s

    # ---- puts and changes ----

    async def put(self, tube: Name, body: Any, **options: Unpack[PutOptions]) -> PutResult:
        """Puts a job. It is stored when this returns, once, however often the connection was lost. Raises
        UncertainError if that is not known by the deadline, or, with `token` and `token_for`, when the token may
        have ended: another try could store the job twice. With a `token_for` below a minute, it raises that at once
        if a cluster answers UNKNOWN."""
        options.setdefault("codec", self._options.codec)
        return await self.run(_commands.put(tube, body, options, tracing.headers()))

    async def put_many(self, puts: Iterable[Command[PutResult]]) -> List[PutResult]:
        """Puts many jobs, made by `elapse.put`, a hundred at a time in one journey. They are not one
        transaction. Raises BatchError if some have failed: its `results` tell what became of each, also if no
        server answered any more behind the first ones."""
        return await self.run_many(_commands.commands(puts))

    async def cancel(self, tube: Name, key: Name) -> str:
        """Cancels the job that has the key. `removed`: nobody will ever get it; `running`: a worker has
        it and is told; `gone`: there is none."""
        return (await self.run(_commands.cancel(tube, key)))[0]

    async def cancel_many(self, tube: Name, keys: Iterable[Name]) -> List[str]:
        """Cancels jobs by their keys; a word for each, as `cancel` has them. Raises BatchError, with the words that are
        known in its `results`, if a partition did not answer for some keys until the deadline, or if a key is gone and
        perhaps by an earlier try of this call. If all keys have failed in the same way, it raises that error."""
        cancels = [_commands.cancel(tube, key) for key in _texts.several(keys, "keys")]
        if not cancels:
            return []
        places = await self._run_together(cancels, as_one=True)
        results = [one if isinstance(one, ElapseError) else one[0] for one in places.results]
        _base.raise_failed(results, as_one=True)
        return results

    async def cancel_id(self, number: int) -> str:
        """Cancels a job by its number."""
        return (await self.run(_commands.cancel_id(number)))[0]

    async def cancel_all(self, tube: Name, *, state: State | None = None, tag: Name | None = None) -> dict[str, int]:
        """Cancels all jobs of a tube that fit; tells how many were `removed`, and how many are `running`."""
        return await self.run(_commands.cancel_all(tube, state, tag))

    async def reschedule(
        self, tube: Name, key: Name, *, in_: Duration | None = None, at: datetime.datetime | None = None
    ) -> str:
        """Gives the job another due time: `rescheduled`, `running` or `gone`."""
        return await self.run(_commands.reschedule(tube, key, in_, at))

    async def reschedule_id(
        self, number: int, *, in_: Duration | None = None, at: datetime.datetime | None = None
    ) -> str:
        """The same by its number."""
        return await self.run(_commands.reschedule_id(number, in_, at))

    async def arrive(self, tube: Name, key: Name, n: int = 1, *, token: Name | None = None) -> int | None:
        """Tells the job with the key, which was put with `await_`, that so many have arrived; returns how many are
        missing now, or None: no such job waits. However often the connection was lost, it counts once; with
        a token of yours, also if you call it again within 10 minutes."""
        return await self.run(_commands.arrive(tube, key, n, token))

    async def gather(
        self,
        tube: Name,
        body: Any,
        pieces: Iterable[Command[PutResult]],
        *,
        timeout: Duration,
        **options: Unpack[PutOptions],
    ) -> List[PutResult]:
        """Puts a job that waits until all pieces, made by `elapse.put`, are done, or for the timeout, and then the
        pieces. Returns the results of all, the waiting job's first. If the key is given and taken, it raises
        BusyKeyError, and no piece is put. If some pieces could not be put, it raises BatchError with the results of
        all, the waiting job's first; if this program dies meanwhile, some may never be put. The timeout is for both,
        too. `client.transaction(*elapse.gather(...))`, which takes no key, does all or nothing."""
        options.setdefault("codec", self._options.codec)
        gathered = _commands.gather(tube, body, pieces, timeout, options, tracing.headers())
        # A body that cannot be written is found before anything is sent.
        first, *others = [self._options.written(one) for one in gathered]
        waits = await self.run(first)
        try:
            return [waits, *await self.run_many(others)]
        except BatchError as error:
            raise BatchError([waits, *error.results]) from error
        except ElapseError as error:  # each piece has failed in the same way
            raise BatchError([waits, *([error] * len(others))]) from error

    async def kick(self, tube: Name, count: int = 1) -> int:
        """Makes buried jobs ready, or else delayed ones; tells how many."""
        return await self.run(_commands.kick(tube, count))

    async def kick_id(self, number: int) -> str:
        """Makes one job ready: `ok`, `running` or `gone`."""
        return await self.run(_commands.kick_id(number))

    async def pause(self, tube: Name, length: Duration) -> str:
        """Hands out nothing of the tube for so long; "0s" ends it."""
        return await self.run(_commands.pause(tube, length))

    async def limit(self, tube: Name, **limits: Unpack[Limits]) -> None:
        """Sets the limits of the tube in place of those before; without any, or with None, there are none.
        `concurrency`: how many jobs run at a time. `rate=(100, "1s")`: so many are handed out in so long, with
        `burst` at once after a rest. `group_concurrency`, `group_rate` and `group_burst` say the same of each
        group, and `group_order=True` keeps the order of each. `buried`: how many buried jobs are kept, and
        `buried_age` for how long. Others of the server that are a number go by their names."""
        await self.run(_commands.limit(tube, limits))

    async def limits(self, tube: Name) -> dict[str, int]:
        """The limits of the tube; empty if there are none."""
        return await self.run(_commands.limits(tube))

    # ---- looks ----

    async def lookup(self, tube: Name, key: Name) -> JobInfo | None:
        """The job that has the key."""
        return await self.run(_commands.lookup(tube, key))

    async def lookup_id(self, number: int) -> JobInfo | None:
        """The job of this number."""
        return await self.run(_commands.lookup_id(number))

    def list(self, tube: Name, *, state: State | None = None, tag: Name | None = None) -> AsyncIterator[JobInfo]:
        """The jobs of a tube, in no order, without their bodies. Pages are read as they are needed."""
        return self._pages(lambda cursor: _commands.list_jobs(tube, state, tag, cursor))

    async def stats(self, tube: Name | None = None) -> dict[str, Any]:
        """Counts of the server, or of a tube; empty if there is no such tube."""
        return await self.run(_commands.stats(tube))

    async def tubes(self) -> AsyncIterator[str]:
        """The names of the tubes."""
        seen: set[str] = set()  # a cluster names a tube once for each partition that has it
        async for name in self._pages(_commands.tubes):
            if name not in seen:
                yield name
            seen.add(name)

    def groups(self, tube: Name, *, held: bool = False) -> AsyncIterator[GroupInfo]:
        """The groups of a tube that have jobs, in no order; with `held` those alone of which a limit of each group
        holds jobs back. Pages are read as they are needed."""
        return self._pages(lambda cursor: _commands.groups(tube, held, cursor))

    async def _pages(self, page: Callable[[bytes], Command[tuple[bytes, List[T]]]]) -> AsyncIterator[T]:
        """What all pages of a list have. `page` makes the command for the page behind a cursor."""
        cursor = b"0"
        while True:
            cursor, found = await self.run(page(cursor))
            for one in found:
                yield one
            if cursor == b"0":
                return

    # ---- transactions and work ----

    async def transaction(self, *commands: Command[Any], leased: Sequence[AsyncJob] = ()) -> List[Any]:
        """Does all of these commands, made by `elapse.put`, `elapse.cancel`, `elapse.arrive` and so on, or none of
        them; returns their results. A command that is answered by an error, such as a put with `if_key="fail"` whose
        key is taken, stops no other: the error, here a BusyKeyError, stands in the place of its result, and is not
        raised.

        With `leased`, nothing is done and LeaseEndedError is raised if the lease of one of these jobs has ended;
        otherwise these jobs are done, too, and those that are pieces of a gather arrive. Without it, a transaction
        that has both puts or arrivals and other commands is not sent again, because a second cancel could remove
        what the first put: it raises UncertainError if the connection was lost before the answer came. In one of
        cancels that was sent again, an UncertainError stands in the place of each that is answered `gone` then."""
        arrivals = [_commands.arrive(*job.gatherer, 1, None) for job in leased if job.gatherer is not None]
        results = await self._transact([*_commands.commands(commands), *arrivals], [job.pair for job in leased])
        return results[: len(commands)]

    async def reserve(self, *tubes: Name, count: int = 1, wait: Duration | None = None) -> List[AsyncJob]:
        """Takes jobs by hand. An AsyncWorker does this for you."""
        rows: List[List[Any]] = []
        for part in _commands.waits(wait, self._options.timeout_s / 2):
            rows = await self.run(_commands.reserve(tubes, count, part))
            if rows:
                break
        return [AsyncJob(**read_job(row, self._options.codec)) for row in rows]

    async def ack(self, job: AsyncJob) -> str:
        """The job is done: `ok`, or `gone` if its lease had ended."""
        return (await self.run(_commands.ack([job.pair])))[0]

    async def nack(
        self, job: AsyncJob, *, in_: Duration | None = None, after: Duration | None = None, error: str | None = None
    ) -> str:
        """The job failed; with `in_` it is only given back for so long."""
        return (await self.run(_commands.nack([job.pair], in_, after, error)))[0]

    async def bury(self, job: AsyncJob, error: str | None = None) -> str:
        """Sets the job aside."""
        return (await self.run(_commands.bury([job.pair], error)))[0]

    async def extend(self, job: AsyncJob) -> str:
        """Begins the lease anew: `ok`, `cancelled` or `gone`."""
        return (await self.run(_commands.extend([job.pair])))[0]

    # ---- how commands are sent ----

    async def run(self, command: Command[T]) -> T:
        """Sends one command until it is answered."""
        sent: Command[T] = self._options.ready(command)
        tries = Tries(time.monotonic(), self._options.deadline_s, sent.again, sent.life_s)

        def begin() -> List[tuple[bytes, ...]]:
            tries.begin(time.monotonic())
            return [sent.sent]

        while True:
            try:
                return _base.read(sent, (await self._send(begin))[0], tries)  # type: ignore[no-any-return]
            except Fault as fault:
                await self._pause(tries, fault)
            except ReplyError as error:
                tries.refused(error)
                raise

    async def run_many(self, commands: List[Command[T]]) -> List[T]:
        """Sends many commands, a hundred at a time in one journey, until each is answered. Raises BatchError, which has
        the results of all, if some have failed."""
        ready = [self._options.ready(one) for one in commands]
        results: List[Any] = []
        while len(results) < len(ready):
            places = await self._run_together(ready[len(results) : len(results) + 100])
            results += places.results
            if places.closed is not None:  # the others would wait for another deadline each hundred
                results += [places.closed] * (len(ready) - len(results))
        _base.raise_failed(results)
        return results

    async def _run_together(self, commands: Sequence[Command[Any]], as_one: bool = False) -> _base.Places:
        """Sends commands in one journey, and what is not answered again. `as_one`: they are cancels of one key each,
        and are sent as one cancel of all keys."""
        places = _base.Places(commands, time.monotonic(), self._options.deadline_s)

        def begin() -> List[tuple[bytes, ...]]:
            left = places.begin(time.monotonic())
            return [_commands.one_cancel(left)] if as_one and left else left

        while places.left:
            try:
                replies = await self._send(begin)
                if as_one and places.left:
                    replies = _commands.replies_of_cancel(len(places.left), replies[0])
                wait_s = places.answered(replies, time.monotonic())
            except (Fault, ReplyError) as error:
                wait_s = places.lost(error, time.monotonic())
            if places.left:
                await self._go_on(wait_s)
        return places

    async def _transact(self, commands: Sequence[Command[Any]], leases: List[tuple[int, bytes]]) -> List[Any]:
        # The guard makes tokens needless: what was done once has ended the lease.
        parts = [self._options.written(one) if leases else self._options.ready(one) for one in commands]
        acks = [_commands.ack(leases)] if leases else []
        sent, command = _commands.transaction([*acks, *parts], leases)
        tries = Tries(time.monotonic(), self._options.deadline_s, command.again, command.life_s)

        def begin() -> List[tuple[bytes, ...]]:
            tries.begin(time.monotonic())
            return sent

        while True:
            try:
                replies = await self._send(begin)
                for refused in replies[1:-1]:
                    if isinstance(refused, Exception):
                        _base.read(command, refused, tries)  # raises what it says
                results: List[Any] = _base.read(command, replies[-1], tries)[len(acks) :]
                return results if leases else _base.doubted(parts, results, tries)
            except Fault as fault:
                await self._pause(tries, fault)
            except ReplyError as error:
                tries.refused(error)
                raise
            except LeaseEndedError as error:
                raise LeaseEndedError(str(error), maybe_done=tries.uncertain) from None

    async def _pause(self, tries: Tries, fault: Fault) -> None:
        await self._go_on(tries.failed(fault, time.monotonic()))

    async def _go_on(self, wait_s: float) -> None:
        """The next try is at the next address."""
        self._at = (self._at + 1) % len(self._pools)
        await asyncio.sleep(wait_s)

    async def _send(self, begin: Callable[[], List[tuple[bytes, ...]]]) -> List[Any]:
        """Sends commands at once; returns their replies, of which some may be errors. `begin` is called when there is a
        connection, and returns the commands; what it raises is raised, and nothing is sent."""
        pool = self._pools[self._at]
        try:
            connection = await pool.get_connection(*self._asking)
        except (*_base.LOST, redis.RedisError) as error:
            raise _base.refused_connection(error) from error
        replies: List[Any] = []
        try:
            commands = begin()
            task = asyncio.current_task()
            assert task is not None
            cancelled = task.cancelling()  # not only by users: a time-out of redis-py counts, too
            await connection.send_packed_command(connection.pack_commands(commands))
            # redis-py sends by asyncio.wait_for, which loses a cancellation that comes when all is sent (Python 3.11).
            if task.cancelling() > cancelled:
                raise asyncio.CancelledError
            for _ in commands:
                try:
                    replies.append(await connection.read_response())
                except (redis.ResponseError, redis.AuthenticationError) as error:
                    replies.append(error)
        except _base.LOST as error:
            await connection.disconnect()
            raise Fault(str(error) or type(error).__name__, sent=True) from error
        except BaseException:
            await connection.disconnect()  # replies that were not read must not be taken for those of others
            raise
        finally:
            await pool.release(connection)
        return replies
