"""Houses for the tests here."""

import itertools
import shutil
from collections.abc import AsyncIterator, Awaitable, Callable
from datetime import UTC, datetime

import pytest

from tests.competition.house import House, Time, process_on, start, stop
from tests.servers import Postgres

Houses = Callable[..., Awaitable[list[House]]]

_names = itertools.count(1)
_months = itertools.count(0)


@pytest.fixture
def time() -> Time:
    return Time()


@pytest.fixture(scope="session")
def common_urls() -> dict[str, str]:
    """By kind: a database that tests share."""
    return {}


@pytest.fixture
def common_url(
    database_kind: str,
    common_urls: dict[str, str],
    request: pytest.FixtureRequest,
    tmp_path_factory: pytest.TempPathFactory,
) -> str:
    """The address of a database for all the tests here, which keep apart by ids."""
    if database_kind not in common_urls:
        if database_kind == "sqlite":
            path = tmp_path_factory.mktemp("common") / "samedeal.db"
            shutil.copyfile(request.getfixturevalue("migrated_file"), path)
            url = f"sqlite+aiosqlite:///{path}"
        else:
            server: Postgres = request.getfixturevalue("postgres_server")
            url = server.create(request.getfixturevalue("migrated_postgres_url"))
        common_urls[database_kind] = url
    return common_urls[database_kind]


async def _houses(url: str, time: Time) -> AsyncIterator[Houses]:
    made: list[House] = []

    async def make(count: int, **settings: str) -> list[House]:
        new = [
            House(process_on(url, time, **settings), time, lambda: next(_names))
            for _ in range(count)
        ]
        for house in new:
            await start(house.process)
        made.extend(new)
        return new

    yield make
    for house in made:
        await stop(house.process)


@pytest.fixture
async def houses(common_url: str, time: Time) -> AsyncIterator[Houses]:
    """Makes houses on the common database, all with the same time: `await houses(2)`."""
    async for make in _houses(common_url, time):
        yield make


@pytest.fixture
async def own_houses(database_url: str, time: Time) -> AsyncIterator[Houses]:
    """The same on a database of the test's own."""
    async for make in _houses(database_url, time):
        yield make


@pytest.fixture
async def house(houses: Houses) -> House:
    return (await houses(1))[0]


@pytest.fixture
async def own_house(own_houses: Houses) -> House:
    return (await own_houses(1))[0]


@pytest.fixture
def month(time: Time) -> str:
    """A month (YYYY-MM) in which no other test plays; it is now noon of its tenth day."""
    years, months = divmod(next(_months), 12)
    when = datetime(2030 + years, 1 + months, 10, 12, tzinfo=UTC)
    time.now = int(when.timestamp()) * 1000
    return f"{when:%Y-%m}"
