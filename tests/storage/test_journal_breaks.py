"""What becomes of writes when connections break, servers stop or time runs out."""

import asyncio

import pytest
from sqlalchemy import text
from sqlalchemy.engine import make_url

from service.storage.database import Database, OutcomeUnknown, Unavailable
from service.storage.ids import id_text
from service.storage.journal import Journal
from tests.storage.cable import cable_to
from tests.storage.rows import an_entry, moves_locked, scalar, some_keys, until

postgres = pytest.mark.parametrize("database_kind", ["postgres"], indirect=True)

JOURNAL = "application_name = 'samedeal journal' AND datname = current_database()"


async def kill_journal(database: Database) -> int:
    """Ends the journal's connection; how many there were."""
    query = f"SELECT count(pg_terminate_backend(pid)) FROM pg_stat_activity WHERE {JOURNAL}"
    ended: int = await scalar(database, query)

    async def gone() -> bool:
        query = f"SELECT count(*) FROM pg_stat_activity WHERE {JOURNAL}"
        return await scalar(database, query) == 0

    await until(gone)
    return ended


async def journal_waits(database: Database) -> None:
    async def waits() -> bool:
        query = (
            f"SELECT count(*) FROM pg_stat_activity WHERE {JOURNAL} AND wait_event_type = 'Lock'"
        )
        return await scalar(database, query) == 1

    await until(waits)


# Moves


@postgres
async def test_a_connection_killed_between_two_moves(journal, database):
    (key,) = some_keys(1)
    assert await journal.append(key, an_entry(1))
    assert await kill_journal(database) == 1
    # Whether the journal has noticed or not: in the end it recovers by itself.
    for _ in range(2):
        try:
            assert await journal.append(key, an_entry(2)) is True
            break
        except (Unavailable, OutcomeUnknown):
            assert await journal.entries(id_text(key.bytes), after=1) == []
    assert len(await journal.entries(id_text(key.bytes))) == 2


@postgres
async def test_a_connection_killed_in_a_move(journal, database):
    keys = some_keys(3)
    async with moves_locked(database):
        took = [journal.append(key, an_entry(1)) for key in keys]
        await journal_waits(database)
        assert await kill_journal(database) == 1
        for done in await asyncio.gather(*took, return_exceptions=True):
            assert isinstance(done, Unavailable | OutcomeUnknown)
    assert await scalar(database, "SELECT count(*) FROM moves") == 0
    took = [journal.append(key, an_entry(1)) for key in keys]
    assert await asyncio.gather(*took) == [True] * 3


@postgres
async def test_a_commit_whose_answer_is_lost(far, database):
    cable, _, journal = far
    first, second = some_keys(2)
    assert await journal.append(first, an_entry(1))
    cable.hold_replies()
    took = [journal.append(key, an_entry(2)) for key in (first, second)]

    async def committed() -> bool:
        return await scalar(database, "SELECT count(*) FROM moves") == 3

    await until(committed)
    assert not any(done.done() for done in took)
    cable.cut()
    for done in took:
        with pytest.raises(OutcomeUnknown):
            await done
    cable.mend()
    assert await journal.entries(id_text(first.bytes), after=1) == [an_entry(2)]
    assert await journal.append(first, an_entry(2, move_id="another")) is False
    assert await journal.append(first, an_entry(3)) is True


@postgres
async def test_no_connection_to_be_had(far):
    cable, database, journal = far
    (key,) = some_keys(1)
    cable.cut()
    with pytest.raises(Unavailable):
        await journal.append(key, an_entry(1))
    with pytest.raises(Unavailable):
        await journal.entries(id_text(key.bytes))
    with pytest.raises(Unavailable):
        await database.transact(lambda c: c.execute(text("SELECT 1")))
    cable.mend()
    assert await journal.append(key, an_entry(1)) is True
    assert len(await journal.entries(id_text(key.bytes))) == 1


@postgres
async def test_a_server_that_falls_silent(database_url, monkeypatch):
    monkeypatch.setattr("service.storage.engines.STATEMENT_TIMEOUT_MS", 300)
    monkeypatch.setattr("service.storage.engines.SILENCE_MS", 0)
    async with cable_to(database_url) as (cable, url):
        database = Database(make_url(url))
        journal = Journal(database)
        await journal.start()
        (key,) = some_keys(1)
        assert await journal.append(key, an_entry(1))
        cable.hold_replies()
        with pytest.raises(OutcomeUnknown):
            await journal.append(key, an_entry(2))
        cable.mend()
        assert await journal.entries(id_text(key.bytes), after=1) == [an_entry(2)]
        await journal.stop()
        await database.stop()


@postgres
async def test_moves_have_a_time_limit(database_url, monkeypatch):
    monkeypatch.setattr("service.storage.engines.STATEMENT_TIMEOUT_MS", 200)
    database = Database(make_url(database_url))
    journal = Journal(database)
    await journal.start()
    (key,) = some_keys(1)
    async with moves_locked(database):
        with pytest.raises(Unavailable):
            await journal.append(key, an_entry(1))
    assert await journal.append(key, an_entry(1)) is True
    await journal.stop()
    await database.stop()
