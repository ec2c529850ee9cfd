"""Connections and transactions, on SQLite and on Postgres.

`read` gives a connection outside any transaction; `transact` runs a function in a transaction of
its own task, so that a vanished caller cancels only the waiting.
"""

import asyncio
import contextlib
import random
from collections.abc import AsyncIterator, Awaitable, Callable
from pathlib import Path
from typing import Any, TypeVar

from sqlalchemy import event, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError
from sqlalchemy.exc import TimeoutError as PoolTimeout
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine
from sqlalchemy.pool import AsyncAdaptedQueuePool, StaticPool

from service.storage.clock import Clock

T = TypeVar("T")

STATEMENT_TIMEOUT_MS = 10_000
IDLE_TRANSACTION_MS = 10_000
_RETRIED_SQLSTATES = frozenset({"40001", "40P01"})  # serialization failure, deadlock


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
    parsed = make_url(url)
    backend = parsed.get_backend_name()
    if backend in ("postgresql", "postgres"):
        return parsed.set(drivername="postgresql+asyncpg")
    if backend == "sqlite":
        return parsed.set(drivername="sqlite+aiosqlite")
    raise ValueError("SAMEDEAL_DATABASE_URL must begin with postgresql:// or sqlite://")


class Database:
    """One database for one process."""

    def __init__(self, url: URL, *, pool_size: int = 8) -> None:
        self.url = url
        self.dialect = url.get_backend_name()
        self.clock = Clock(self._time)
        if self.dialect == "sqlite":
            self._reader = _sqlite_engine(url, readers=4)
            self._writer = _sqlite_engine(url, readers=0)
            self._one_writer = asyncio.Lock()
        else:
            engine = _postgres_engine(url, pool_size)
            self._reader = engine.execution_options(isolation_level="AUTOCOMMIT")
            self._writer = engine

    async def start(self) -> None:
        """Connect and take the time."""
        await self.clock.sync()

    async def stop(self) -> None:
        """Close every connection."""
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

        Deadlocks are tried again, so `work` may run more than once. Raises `Unavailable`.
        """
        task = asyncio.ensure_future(self._transact(work))
        try:
            return await asyncio.shield(task)
        except asyncio.CancelledError:
            task.add_done_callback(_forget)
            raise

    async def _transact(self, work: Callable[[AsyncConnection], Awaitable[T]]) -> T:
        for attempt in range(5):
            try:
                with _plain_errors():
                    async with self._begin() as connection:
                        return await work(connection)
            except DBAPIError as error:
                if attempt == 4 or getattr(error.orig, "sqlstate", None) not in _RETRIED_SQLSTATES:
                    raise
                await asyncio.sleep(random.uniform(0, 0.05 * (attempt + 1)))
        raise AssertionError("unreachable")

    @contextlib.asynccontextmanager
    async def _begin(self) -> AsyncIterator[AsyncConnection]:
        if self.dialect == "sqlite":
            async with self._one_writer, self._writer.begin() as connection:
                yield connection
        else:
            async with self._writer.begin() as connection:
                yield connection

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
def _plain_errors() -> Any:
    """Turn what means "no database now" into `Unavailable`, leave the rest."""
    try:
        yield
    except (OSError, PoolTimeout) as error:
        raise Unavailable from error
    except (OperationalError, InterfaceError) as error:
        raise Unavailable from error
    except DBAPIError as error:
        state = getattr(error.orig, "sqlstate", None) or ""
        # 08 connection, 53 resources, 57 intervention: shutdown, starting up, cancelled
        if error.connection_invalidated or state[:2] in ("08", "53", "57"):
            raise Unavailable from error
        raise


def _forget(task: "asyncio.Future[Any]") -> None:
    if not task.cancelled():
        task.exception()


def _postgres_engine(url: URL, pool_size: int) -> AsyncEngine:
    return create_async_engine(
        url,
        hide_parameters=True,  # they hold seeds
        pool_size=pool_size,
        max_overflow=pool_size,
        pool_timeout=5,
        pool_pre_ping=True,
        connect_args=connect_args("samedeal", STATEMENT_TIMEOUT_MS),
    )


def connect_args(application: str, statement_timeout_ms: int) -> dict[str, Any]:
    """What every connection to Postgres is made with; a `statement_timeout_ms` of 0: no limit."""
    return {
        "timeout": 5,
        # The server's limit is no help when it is the server, or the way to it, that is gone.
        "command_timeout": statement_timeout_ms / 1000 + 5 if statement_timeout_ms else None,
        "server_settings": {
            "application_name": application,
            "statement_timeout": str(statement_timeout_ms),
            "idle_in_transaction_session_timeout": str(IDLE_TRANSACTION_MS),
        },
    }


def _sqlite_engine(url: URL, *, readers: int) -> AsyncEngine:
    """With readers: a query-only pool; without: the one connection that writes."""
    if readers:
        engine = create_async_engine(
            url,
            hide_parameters=True,
            poolclass=AsyncAdaptedQueuePool,
            pool_size=readers,
            max_overflow=0,
            isolation_level="AUTOCOMMIT",
        )
    else:
        engine = create_async_engine(url, hide_parameters=True, poolclass=StaticPool)

    @event.listens_for(engine.sync_engine, "connect")
    def connected(dbapi: Any, _record: Any) -> None:
        dbapi.isolation_level = None  # we begin transactions ourselves
        cursor = dbapi.cursor()
        cursor.execute("PRAGMA busy_timeout = 10000")
        cursor.execute("PRAGMA journal_mode = WAL")
        cursor.execute("PRAGMA synchronous = FULL")
        cursor.execute("PRAGMA foreign_keys = ON")
        if readers:
            cursor.execute("PRAGMA query_only = ON")
        cursor.close()

    if not readers:

        @event.listens_for(engine.sync_engine, "begin")
        def begun(connection: Any) -> None:
            connection.exec_driver_sql("BEGIN IMMEDIATE")

    return engine
