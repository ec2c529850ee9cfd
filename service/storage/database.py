"""Connections and transactions, on SQLite and on Postgres.

`read` gives a connection outside any transaction; `transact` runs a function in a transaction of
its own task, so that a vanished caller cancels only the waiting.
"""

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, DBAPIError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.asyncio import AsyncConnection

from service.storage.clock import Clock
from service.storage.engines import (
    BROKEN,
    DEADLOCKS,
    is_break,
    is_refusal,
    postgres_engine,
    sqlite_engine,
    sqlstate,
)

T = TypeVar("T")

Connection = AsyncConnection
"""What storage's functions are handed, for callers who only pass it on."""

_ATTEMPTS = 5
_BAD_URL = "SAMEDEAL_DATABASE_URL must begin with postgresql:// or sqlite://"


class Unavailable(Exception):
    """The database cannot be reached now; nothing of the command was stored. Try again."""


class OutcomeUnknown(Exception):
    """The connection broke in a commit: it may or may not have been stored."""


def database_url(url: str | None, data_dir: Path) -> URL:
    """The address to use: the given one with an asyncio driver, or SQLite in the data directory.

    >>> database_url("postgresql://u@h/d", Path("data")).drivername
    'postgresql+asyncpg'
    """
    if url is None:
        return URL.create("sqlite+aiosqlite", database=str(data_dir / "samedeal.db"))
    try:
        parsed = make_url(url)
    except ArgumentError:  # whose message repeats the address, and with it the password
        raise ValueError(_BAD_URL) from None
    backend = parsed.drivername.partition("+")[0]
    if backend in ("postgresql", "postgres"):
        if "sslmode" in parsed.query:  # as Postgres' own programs have it; the driver says `ssl`
            mode = parsed.query["sslmode"]
            parsed = parsed.difference_update_query(["sslmode"]).update_query_dict({"ssl": mode})
        return parsed.set(drivername="postgresql+asyncpg")
    if backend == "sqlite":
        return parsed.set(drivername="sqlite+aiosqlite")
    raise ValueError(_BAD_URL)


class Database:
    """One database for one process."""

    def __init__(self, url: URL, *, pool_size: int = 8) -> None:
        self.url = url
        self.dialect = url.get_backend_name()
        self.clock = Clock(self._time)
        self._running: set[asyncio.Future[Any]] = set()
        if self.dialect == "sqlite":
            self._reader = sqlite_engine(url, readers=4)
            self._writer = sqlite_engine(url, readers=0)
            self._one_writer: AbstractAsyncContextManager[None] = asyncio.Lock()
        else:
            engine = postgres_engine(url, pool_size)
            self._reader = engine.execution_options(isolation_level="AUTOCOMMIT")
            self._writer = engine
            self._one_writer = contextlib.nullcontext()

    async def start(self) -> None:
        """Connect and take the time."""
        await self.clock.sync()

    async def stop(self) -> None:
        """Let what was begun come to its end, then close every connection."""
        if self._running:  # each has its time limits
            await asyncio.wait(self._running)
        await self._reader.dispose()
        await self._writer.dispose()

    @contextlib.asynccontextmanager
    async def read(self) -> AsyncIterator[AsyncConnection]:
        """A connection that reads, outside any transaction. Raises `Unavailable`."""
        with _plain_errors():
            async with self._reader.connect() as connection:
                yield connection

    async def transact(self, work: Callable[[AsyncConnection], Awaitable[T]]) -> T:
        """What `work` returns, once committed; an exception from it rolls everything back.

        Deadlocks are tried again, so `work` may run more than once. Raises `Unavailable`, and
        `OutcomeUnknown` when the connection broke in the commit.
        """
        task = asyncio.ensure_future(self._transact(work))
        self._running.add(task)
        task.add_done_callback(self._running.discard)
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            task.add_done_callback(_forget)
            raise

    async def _transact(self, work: Callable[[AsyncConnection], Awaitable[T]]) -> T:
        for attempt in range(_ATTEMPTS):
            try:
                with _plain_errors():
                    async with self._one_writer, self._writer.connect() as connection:
                        transaction = await connection.begin()
                        result = await work(connection)
                        try:
                            with _unknown_when_broken():
                                await transaction.commit()
                        except BaseException:
                            # The pool would take it back, perhaps still in its transaction.
                            await connection.invalidate()
                            raise
                        return result
            except DBAPIError as error:
                if sqlstate(error) not in DEADLOCKS:
                    raise
                await asyncio.sleep(random.uniform(0, 0.05 * (attempt + 1)))
        raise Unavailable

    async def ping(self) -> None:
        """Ask for something. Raises `Unavailable`."""
        await self._time()

    async def _time(self) -> int:
        if self.dialect == "sqlite":
            # Seconds and milliseconds apart: julianday() as a float is not exact enough.
            query = (
                "SELECT CAST(strftime('%s', 'now') AS INTEGER) * 1000"
                " + CAST(substr(strftime('%f', 'now'), 4) AS INTEGER)"
            )
        else:
            query = "SELECT CAST(extract(epoch FROM clock_timestamp()) * 1000 AS BIGINT)"
        async with self.read() as connection:
            told: int = (await connection.execute(text(query))).scalar_one()
            return told


@contextlib.contextmanager
def _plain_errors() -> Iterator[None]:
    """Turn what means "no database now" into `Unavailable`, leave the rest."""
    try:
        yield
    except (*BROKEN, PoolTimeout) as error:
        raise Unavailable from error
    except DBAPIError as error:
        if is_refusal(error) or is_break(error):
            raise Unavailable from error
        raise


@contextlib.contextmanager
def _unknown_when_broken() -> Iterator[None]:
    """Around a commit: unless the database itself refuses it, nobody can know."""
    try:
        yield
    except BROKEN as error:
        raise OutcomeUnknown from error
    except DBAPIError as error:
        if is_break(error) and not is_refusal(error):
            raise OutcomeUnknown from error
        raise


def _forget(task: "asyncio.Future[Any]") -> None:
    if not task.cancelled():
        task.exception()
