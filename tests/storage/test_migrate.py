"""Migrations: equal to the tables, whole or not at all, from many processes at once."""

import asyncio
import contextlib
import fcntl
import subprocess
import sys
from importlib import resources
from typing import Any

import asyncpg
import pytest
from alembic.autogenerate import compare_metadata
from alembic.migration import MigrationContext
from sqlalchemy import Connection, inspect, text
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import DBAPIError
from sqlalchemy.ext.asyncio import create_async_engine
from sqlalchemy.pool import NullPool

from service.storage.database import Database, Unavailable
from service.storage.migrate import CannotMigrate, migrate
from service.storage.schema import metadata
from tests.servers import free_port
from tests.storage.rows import a_player, scalar, some_plays

TABLES = set(metadata.tables)


@pytest.fixture
def empty_url(database_kind, request, tmp_path) -> URL:
    """A database that has never been migrated, in SQLite's case one that is not there."""
    if database_kind == "sqlite":
        return make_url(f"sqlite+aiosqlite:///{tmp_path}/not/there/samedeal.db")
    return make_url(request.getfixturevalue("fresh_postgres_url"))


async def on(url: URL, work) -> Any:
    """What a function makes of a plain connection."""
    engine = create_async_engine(url, poolclass=NullPool)
    async with engine.begin() as connection:
        return await connection.run_sync(work)


def tables(connection: Connection) -> set[str]:
    return set(inspect(connection).get_table_names()) - {"alembic_version"}


def revision(connection: Connection) -> str | None:
    return connection.execute(text("SELECT version_num FROM alembic_version")).scalar_one_or_none()


def schema(connection: Connection) -> dict[str, Any]:
    """All that the database knows of our tables, in its own words and without an order."""
    inspector = inspect(connection)

    def plain(value: Any) -> Any:
        if isinstance(value, dict):
            return sorted((key, plain(inner)) for key, inner in value.items())
        return str(value)

    def flat(rows: list[dict[str, Any]]) -> list[str]:
        return sorted(str(plain(row)) for row in rows)

    return {
        table: [
            flat(inspector.get_columns(table)),
            flat([inspector.get_pk_constraint(table)]),
            flat(inspector.get_foreign_keys(table)),
            flat(inspector.get_unique_constraints(table)),
            flat(inspector.get_check_constraints(table)),
            flat(inspector.get_indexes(table)),
        ]
        for table in sorted(TABLES)
    }


async def test_it_makes_exactly_the_tables(empty_url):
    await migrate(empty_url)

    def differences(connection: Connection) -> list[Any]:
        options = {"compare_type": True, "compare_server_default": True}
        return compare_metadata(MigrationContext.configure(connection, opts=options), metadata)

    assert await on(empty_url, differences) == []
    migrated = await on(empty_url, schema)

    # Alembic does not compare everything: what SQLAlchemy makes of the tables is the same in all.
    await migrate(empty_url, "base")
    assert await on(empty_url, tables) == set()
    await on(empty_url, metadata.create_all)
    assert await on(empty_url, schema) == migrated


async def test_down_and_up_again_with_data(empty_url):
    await migrate(empty_url)
    before = await on(empty_url, schema)
    database = Database(empty_url)
    await database.start()
    await some_plays(database, await a_player(database, "Ann"), 3)
    await database.stop()

    # Steps after the first only add, so what was there before them stays.
    newest = await on(empty_url, revision)
    while await on(empty_url, revision) != "0001":
        await migrate(empty_url, "-1")
    while await on(empty_url, revision) != newest:
        await migrate(empty_url, "+1")
    assert await on(empty_url, schema) == before
    database = Database(empty_url)
    await database.start()
    assert await scalar(database, "SELECT count(*) FROM plays") == 3
    await database.stop()

    await migrate(empty_url, "base")
    assert await on(empty_url, revision) is None
    await migrate(empty_url)
    assert await on(empty_url, schema) == before

    database = Database(empty_url)
    await database.start()
    assert await scalar(database, "SELECT count(*) FROM plays") == 0
    await some_plays(database, await a_player(database, "Ann"), 3)
    await database.stop()


async def test_again_changes_nothing(database, database_url):
    await a_player(database, "Ann")
    await migrate(make_url(database_url))
    assert await scalar(database, "SELECT count(*) FROM players") == 1


PROGRAM = """
import asyncio, logging, sys
from sqlalchemy.engine import make_url
from service.storage.migrate import migrate
logging.basicConfig(level=logging.INFO)
print("ready", flush=True)
sys.stdin.readline()
asyncio.run(migrate(make_url(sys.argv[1])))
"""


def migrate_from_many_processes(address: str, count: int) -> list[tuple[int, str]]:
    """Exit code and output of each."""
    command = [sys.executable, "-W", "error", "-c", PROGRAM, address]
    pipe = subprocess.PIPE
    processes = [
        subprocess.Popen(command, stdin=pipe, stdout=pipe, stderr=subprocess.STDOUT, text=True)
        for _ in range(count)
    ]
    try:
        # All have their imports behind them before any of them begins.
        for process in processes:
            assert process.stdout.readline() == "ready\n"
        for process in processes:
            process.stdin.write("\n")
            process.stdin.flush()
        said = [process.communicate(timeout=60)[0] for process in processes]
        return [(process.returncode, words) for process, words in zip(processes, said, strict=True)]
    finally:
        for process in processes:
            process.kill()


async def test_four_processes_at_once(empty_url):
    address = empty_url.render_as_string(hide_password=False)
    assert migrate_from_many_processes(address, 4) == [(0, "")] * 4
    assert await on(empty_url, tables) == TABLES


async def test_several_tasks_of_one_process(empty_url):
    await asyncio.gather(*(migrate(empty_url) for _ in range(4)))
    assert await on(empty_url, tables) == TABLES


async def test_another_one_at_it_is_waited_for(database, database_url, monkeypatch, tmp_path):
    monkeypatch.setattr("service.storage.migrate.PATIENCE_S", -1)  # not for long, here
    url = make_url(database_url)
    with contextlib.ExitStack() as held:
        if database.dialect == "sqlite":
            file = held.enter_context((tmp_path / "samedeal.db.lock").open("wb"))
            fcntl.flock(file, fcntl.LOCK_EX)
        else:
            key = int.from_bytes(b"samedeal", "big")  # for ever: releases differ, and must agree
            connection = await asyncpg.connect(
                url.set(drivername="postgresql").render_as_string(False)
            )
            await connection.execute(f"SELECT pg_advisory_lock({key})")
            held.callback(connection.terminate)
        with pytest.raises(CannotMigrate, match="another process"):
            await migrate(url)


async def test_whole_or_not_at_all(empty_url):
    await migrate(empty_url)
    await migrate(empty_url, "base")
    # In the way of the last table but one.
    await on(empty_url, lambda connection: connection.execute(text("CREATE TABLE races (x TEXT)")))
    with pytest.raises(DBAPIError):
        await migrate(empty_url)
    assert await on(empty_url, tables) == {"races"}
    await on(empty_url, lambda connection: connection.execute(text("DROP TABLE races")))
    await migrate(empty_url)
    assert await on(empty_url, tables) == TABLES


async def test_a_newer_database_is_left_alone(database, database_url):
    url = make_url(database_url)
    await database.stop()
    await on(url, lambda c: c.execute(text("UPDATE alembic_version SET version_num = '9999'")))
    for asked in ("head", "base", "0001"):
        with pytest.raises(CannotMigrate, match="9999, which this release does not know"):
            await migrate(url, asked)
    assert await on(url, revision) == "9999"


@pytest.mark.parametrize("asked", ["0000", "+1", "-99", "", "head; DROP TABLE plays"])
async def test_an_unknown_revision(database_url, asked):
    with pytest.raises(CannotMigrate, match="there is no schema revision"):
        await migrate(make_url(database_url), asked)


@pytest.mark.parametrize(
    "address",
    [
        "sqlite+aiosqlite://",
        "sqlite+aiosqlite:///:memory:",
        "sqlite+aiosqlite:///file:x?mode=memory&uri=true",
    ],
)
async def test_not_in_memory(address):
    with pytest.raises(CannotMigrate, match="needs a plain file"):
        await migrate(make_url(address))


async def test_a_directory_that_cannot_be(tmp_path):
    (tmp_path / "data").write_text("a file")
    with pytest.raises(CannotMigrate, match="no database can be kept at"):
        await migrate(make_url(f"sqlite+aiosqlite:///{tmp_path}/data/samedeal.db"))


async def test_no_server():
    url = make_url(f"postgresql+asyncpg://nobody:secret@127.0.0.1:{free_port()}/nothing")
    with pytest.raises(Unavailable) as caught:
        await migrate(url)
    assert "secret" not in str(caught.value)


async def test_says_nothing(empty_url, capfd, caplog):
    with caplog.at_level("INFO"):
        await migrate(empty_url)
    assert capfd.readouterr() == ("", "")
    assert [record for record in caplog.records if record.name.startswith("alembic")] == []


def test_they_are_shipped_inside_the_package():
    folder = resources.files("service.migrations")
    assert folder.joinpath("env.py").is_file()
    assert folder.joinpath("versions", "0001_ground_floor.py").is_file()
