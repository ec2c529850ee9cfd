"""Bring a database to a revision of the schema. Any number of processes may ask at once."""

import asyncio
import contextlib
import fcntl
import io
import logging
import threading
import time
from collections.abc import AsyncIterator, Callable
from importlib import resources
from pathlib import Path
from typing import Any

from alembic import command
from alembic.config import Config
from alembic.migration import MigrationContext
from alembic.script import ScriptDirectory
from alembic.util import CommandError
from sqlalchemy import Connection, event, text
from sqlalchemy.engine import URL
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import AsyncConnection, AsyncEngine, create_async_engine
from sqlalchemy.pool import NullPool

from service.storage.database import Unavailable
from service.storage.engines import connect_args

PATIENCE_S = 600.0
"""How long a process waits for another one that migrates the same database."""

_ADVISORY_KEY = 0x73616D656465616C  # "samedeal", as the signed 64 bits that Postgres wants
_POLL_S = 0.05

# Alembic works through module-wide proxies: within a process, one migration at a time.
_one_in_process = threading.Lock()


class CannotMigrate(Exception):
    """The database cannot be brought there; the message says why, for whoever runs the service."""


async def migrate(url: URL, revision: str = "head") -> None:
    """Bring the schema to a revision: `head`, `base`, one's number, `+1` or `-1`.

    Whole or not at all. Makes the data directory when it is missing. Raises `CannotMigrate`, and
    `Unavailable` when the database does not answer.
    """
    sqlite = url.get_backend_name() == "sqlite"
    lock = _file_lock(_sqlite_path(url)) if sqlite else contextlib.nullcontext()
    engine = _sqlite_engine(url) if sqlite else _postgres_engine(url)
    try:
        async with lock, _connected(engine) as connection:
            if not sqlite:
                # Held by the very connection that migrates: they cannot live without each other.
                await _poll(lambda: _advisory_lock(connection))
            async with _process_lock():
                await connection.run_sync(_run, revision)
    finally:
        await engine.dispose()


def _run(connection: Connection, revision: str) -> None:
    logging.getLogger("alembic").setLevel(logging.WARNING)
    config = Config(stdout=io.StringIO(), attributes={"connection": connection})
    folder = resources.files("service.migrations")
    config.set_main_option("script_location", str(folder).replace("%", "%%"))
    script = ScriptDirectory.from_config(config)
    order = [None, *reversed([known.revision for known in script.walk_revisions()])]
    # Asked only now that the lock is ours: another process may just have moved it.
    current = MigrationContext.configure(connection).get_current_revision()
    connection.rollback()  # Alembic commits only a transaction that it began itself
    if current not in order:
        raise CannotMigrate(
            f"the database is at schema revision {current}, which this release does not know;"
            " a newer one has used it"
        )
    target = _target(order, order.index(current), revision)
    try:
        if target > order.index(current):
            command.upgrade(config, order[target] or "head")
        elif target < order.index(current):
            command.downgrade(config, order[target] or "base")
    except CommandError as error:
        raise CannotMigrate(str(error)) from error


def _target(order: list[str | None], current: int, revision: str) -> int:
    """The place in `order` of what was asked for."""
    if revision == "head":
        return len(order) - 1
    if revision == "base":
        return 0
    if revision in order:
        return order.index(revision)
    if revision[:1] in ("+", "-") and revision[1:].isdecimal():
        target = current + int(revision)
        if 0 <= target < len(order):
            return target
    raise CannotMigrate(f"there is no schema revision {revision!r} from here")


# Locks. All are polled: a process waiting inside Postgres' own lock call would hold a snapshot,
# and one blocked in the operating system could not be told to stop.


async def _poll(take: Callable[[], Any]) -> None:
    until = time.monotonic() + PATIENCE_S
    while not await take():
        if time.monotonic() > until:
            raise CannotMigrate("another process has been migrating this database for too long")
        await asyncio.sleep(_POLL_S)


async def _advisory_lock(connection: AsyncConnection) -> bool:
    query = text("SELECT pg_try_advisory_lock(:key)")
    taken: bool = (await connection.execute(query, {"key": _ADVISORY_KEY})).scalar_one()
    await connection.commit()
    return taken


@contextlib.asynccontextmanager
async def _process_lock() -> AsyncIterator[None]:
    async def take() -> bool:
        return _one_in_process.acquire(blocking=False)

    await _poll(take)
    try:
        yield
    finally:
        _one_in_process.release()


@contextlib.asynccontextmanager
async def _file_lock(database: Path) -> AsyncIterator[None]:
    try:
        # Seeds lie in there: a directory that we make is nobody else's to read.
        database.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        # Left lying afterwards: whoever removed it could remove another's lock.
        file = database.with_name(f"{database.name}.lock").open("ab")
    except OSError as error:
        raise CannotMigrate(f"no database can be kept at {database}: {error.strerror}") from error

    async def take() -> bool:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    with file:
        await _poll(take)
        yield


def _sqlite_path(url: URL) -> Path:
    name = url.database or ""
    if not name or name == ":memory:" or name.startswith("file:"):
        raise CannotMigrate(
            "SQLite needs a plain file, such as sqlite:///data/samedeal.db: the service opens it"
            " from several connections, and in memory each of them would see another database"
        )
    return Path(name)


# Connections of their own: a pool may sit behind others, and these have no time limit.


@contextlib.asynccontextmanager
async def _connected(engine: AsyncEngine) -> AsyncIterator[AsyncConnection]:
    try:
        connection = await engine.connect()
    except (OSError, DBAPIError) as error:
        raise Unavailable(str(error)) from error
    try:
        yield connection
    finally:
        await connection.close()


def _postgres_engine(url: URL) -> AsyncEngine:
    return create_async_engine(
        url,
        hide_parameters=True,
        poolclass=NullPool,
        connect_args=connect_args("samedeal migrate", statement_timeout_ms=0),
    )


def _sqlite_engine(url: URL) -> AsyncEngine:
    engine = create_async_engine(url, hide_parameters=True, poolclass=NullPool)

    @event.listens_for(engine.sync_engine, "connect")
    def connected(dbapi: Any, _record: Any) -> None:
        dbapi.isolation_level = None  # else the driver would commit before each CREATE
        cursor = dbapi.cursor()
        cursor.execute("PRAGMA busy_timeout = 60000")
        cursor.execute("PRAGMA journal_mode = WAL")
        cursor.execute("PRAGMA synchronous = FULL")
        # Foreign keys stay off, as SQLite asks for where tables are made anew and renamed.
        cursor.close()

    @event.listens_for(engine.sync_engine, "begin")
    def begun(connection: Connection) -> None:
        connection.exec_driver_sql("BEGIN IMMEDIATE")

    return engine
