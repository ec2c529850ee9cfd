"""How connections are made on each database, and what their errors mean."""

import sqlite3
import time
from typing import Any

import asyncpg
from sqlalchemy import event
from sqlalchemy.engine import URL, ExceptionContext
from sqlalchemy.exc import DBAPIError, InvalidatePoolError
from sqlalchemy.ext.asyncio import AsyncEngine, create_async_engine
from sqlalchemy.pool import AsyncAdaptedQueuePool, ConnectionPoolEntry, StaticPool

STATEMENT_TIMEOUT_MS = 10_000
IDLE_TRANSACTION_MS = 10_000
SILENCE_MS = 5_000
"""How much longer than its own limit a server may take to say so."""

IDLE_SECONDS = 0.1
"""A connection that nobody has used for so long is tried before it is given away."""

BROKEN = (OSError, asyncpg.InternalClientError)
"""A connection that broke, where SQLAlchemy passes on what it does not know."""
DEADLOCKS = frozenset({"40001", "40P01"})  # serialization failure, deadlock
# 53 resources, 57 intervention (shutdown, starting up, cancelled); read-only after a failover;
# idle for too long inside a transaction
_NOT_NOW = ("53", "57", "25006", "25P03")
_SQLITE_NOT_NOW = frozenset(
    {
        sqlite3.SQLITE_BUSY,
        sqlite3.SQLITE_LOCKED,
        sqlite3.SQLITE_NOMEM,
        sqlite3.SQLITE_READONLY,
        sqlite3.SQLITE_INTERRUPT,
        sqlite3.SQLITE_IOERR,
        sqlite3.SQLITE_FULL,
        sqlite3.SQLITE_CANTOPEN,
        sqlite3.SQLITE_PROTOCOL,
    }
)


def sqlstate(error: DBAPIError) -> str:
    """Postgres' code of an error, or nothing."""
    return getattr(error.orig, "sqlstate", None) or ""


def is_refusal(error: DBAPIError) -> bool:
    """Whether the database itself says that it cannot now, so that nothing is stored."""
    if isinstance(error.orig, sqlite3.Error):
        code = getattr(error.orig, "sqlite_errorcode", sqlite3.SQLITE_ERROR) & 0xFF
        return code in _SQLITE_NOT_NOW
    return sqlstate(error).startswith(_NOT_NOW)


def is_break(error: DBAPIError) -> bool:
    """Whether the connection broke (or could not be had), and with it what was under way."""
    if error.connection_invalidated or sqlstate(error).startswith("08"):
        return True
    cause = error.orig.__cause__ if error.orig is not None else None
    # A ValueError: the driver could not encode what it was given, which is the caller's fault.
    if isinstance(cause, asyncpg.InterfaceError):
        return not isinstance(cause, ValueError)
    # aiosqlite without its connection has no error code of SQLite's.
    return isinstance(error.orig, sqlite3.OperationalError) and isinstance(cause, ValueError)


def conceal(error: BaseException | None) -> None:
    """Take the values out of an error of asyncpg's: rows and parameters hold seeds."""
    if isinstance(error, asyncpg.PostgresError):
        error.detail = None  # "Failing row contains (…)", "Key (…)=(…) already exists."
    elif isinstance(error, asyncpg.InterfaceError) and isinstance(error, ValueError):
        error.args = ("a value does not fit the type of its parameter",)


def _on_error(context: ExceptionContext) -> None:
    """The same for what SQLAlchemy has made of it; and no connection is a broken one."""
    if context.connection is None and not context.is_pre_ping:
        # Whatever the server says to one who asks in vain: it is not the caller's fault.
        context.is_disconnect = True
    adapted = context.original_exception
    cause = adapted.__cause__
    if not isinstance(cause, asyncpg.PostgresError | asyncpg.InterfaceError):
        return
    (told,) = cause.args
    conceal(cause)
    (tells,) = cause.args
    if hasattr(adapted, "detail"):
        adapted.detail = None
    for error in (adapted, context.sqlalchemy_exception):
        if error is not None:
            error.args = tuple(
                part.replace(told, tells) if isinstance(part, str) else part for part in error.args
            )


def connect_args(application: str, statement_timeout_ms: int) -> dict[str, Any]:
    """What every connection to Postgres is made with; a `statement_timeout_ms` of 0: no limit."""
    return {
        "timeout": 5,
        # The server's limit is no help when it is the server, or the way to it, that is gone.
        "command_timeout": (statement_timeout_ms + SILENCE_MS) / 1000
        if statement_timeout_ms
        else None,
        "server_settings": {
            "application_name": application,
            "statement_timeout": str(statement_timeout_ms),
            "idle_in_transaction_session_timeout": str(IDLE_TRANSACTION_MS),
        },
    }


def asyncpg_args(url: URL, application: str) -> dict[str, Any]:
    """The same for asyncpg without SQLAlchemy, from the same address."""
    _, options = url.get_dialect()().create_connect_args(url)
    ours = ("prepared_statement_cache_size", "prepared_statement_name_func", "async_creator_fn")
    plain = {name: value for name, value in options.items() if name not in ours}
    return plain | connect_args(application, STATEMENT_TIMEOUT_MS)


def postgres_engine(url: URL, pool_size: int) -> AsyncEngine:
    """A pool for everything but the journal's moves."""
    engine = create_async_engine(
        url,
        hide_parameters=True,  # they hold seeds
        pool_size=2 * pool_size,
        max_overflow=0,  # such connections are made anew at every rush, when there is no time for it
        pool_timeout=5,
        connect_args=connect_args("samedeal", STATEMENT_TIMEOUT_MS),
    )
    event.listen(engine.sync_engine, "handle_error", _on_error)
    _ping_after_idling(engine)
    return engine


def _ping_after_idling(engine: AsyncEngine) -> None:
    """What `pool_pre_ping` does, three round trips, but not for what was in use just now."""
    dialect = engine.dialect

    @event.listens_for(engine.sync_engine, "checkin")
    def given_back(_dbapi: Any, record: ConnectionPoolEntry) -> None:
        record.info["idle_since"] = time.monotonic()

    @event.listens_for(engine.sync_engine, "checkout")
    def taken(dbapi: Any, record: ConnectionPoolEntry, _proxy: Any) -> None:
        now = time.monotonic()
        if now - record.info.get("idle_since", now) < IDLE_SECONDS:
            return
        try:
            dialect.do_ping(dbapi)
        except dialect.loaded_dbapi.Error as error:
            raise InvalidatePoolError from error  # which connects anew


def sqlite_engine(url: URL, *, readers: int) -> AsyncEngine:
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
