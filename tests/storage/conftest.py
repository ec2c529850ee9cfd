"""What the tests of storage share."""

from collections.abc import AsyncIterator

import pytest
from sqlalchemy.engine import make_url

from service.storage.database import Database
from service.storage.journal import Journal
from tests.storage.cable import Cable, cable_to


@pytest.fixture
async def far(
    database_url: str, monkeypatch: pytest.MonkeyPatch
) -> AsyncIterator[tuple[Cable, Database, Journal]]:
    """A database behind a cable. Its pool tries every connection before it gives it away."""
    monkeypatch.setattr("service.storage.engines.IDLE_SECONDS", 0)
    async with cable_to(database_url) as (cable, url):
        database = Database(make_url(url))
        await database.start()
        journal = Journal(database)
        await journal.start()
        yield cable, database, journal
        await journal.stop()
        await database.stop()
