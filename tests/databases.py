"""Migrated, empty databases of both kinds, one for each test. A plugin, loaded by conftest.

`database`
    A started `Database`.
`journal`
    A started `Journal` of that database.
`database_url`
    The address of one, for tests that start processes or several `Database` objects.

A test that asks for any of them runs twice, on SQLite and on Postgres. Migrating takes longer than
copying, so each kind is migrated once a session and copied for each test.
"""

import shutil
from collections.abc import AsyncIterator, Iterator
from pathlib import Path

import pytest
from sqlalchemy.engine import make_url

from service.storage.database import Database
from service.storage.journal import Journal
from service.storage.migrate import migrate
from tests.servers import Postgres, apart


@pytest.fixture(scope="session")
def migrated_file(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A migrated SQLite database that nobody has open: to be copied, not used."""
    path = tmp_path_factory.mktemp("migrated") / "samedeal.db"
    apart(lambda: migrate(make_url(f"sqlite+aiosqlite:///{path}")))
    return path


@pytest.fixture(scope="session")
def migrated_postgres_url(postgres_server: Postgres) -> str:
    """A migrated Postgres database that nobody has open: to be copied, not used."""
    url = postgres_server.create()
    apart(lambda: migrate(make_url(url)))
    return url


@pytest.fixture(params=["sqlite", "postgres"])
def database_kind(request: pytest.FixtureRequest) -> str:
    """`sqlite` or `postgres`; parametrize it (`indirect=True`) to run on one of them only."""
    kind: str = request.param
    return kind


@pytest.fixture
def database_url(
    database_kind: str, request: pytest.FixtureRequest, tmp_path: Path
) -> Iterator[str]:
    """The address of a migrated, empty database."""
    if database_kind == "sqlite":
        path = tmp_path / "samedeal.db"
        shutil.copyfile(request.getfixturevalue("migrated_file"), path)
        yield f"sqlite+aiosqlite:///{path}"
    else:
        server: Postgres = request.getfixturevalue("postgres_server")
        url = server.create(request.getfixturevalue("migrated_postgres_url"))
        yield url
        server.drop(url)


@pytest.fixture
async def database(database_url: str) -> AsyncIterator[Database]:
    """A migrated, empty database, started."""
    database = Database(make_url(database_url))
    await database.start()
    yield database
    await database.stop()


@pytest.fixture
async def journal(database: Database) -> AsyncIterator[Journal]:
    journal = Journal(database)
    await journal.start()
    yield journal
    await journal.stop()
