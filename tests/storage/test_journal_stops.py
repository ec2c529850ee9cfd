"""Waiters that go away, and a journal that stops."""

import asyncio

import pytest

from service.storage.database import OutcomeUnknown, Unavailable
from service.storage.journal import GROUP
from tests.storage.rows import an_entry, log, moves_locked, scalar, some_keys, until


async def test_a_waiter_that_goes_does_not_take_its_write_along(journal, database):
    (key,) = some_keys(1)
    async with moves_locked(database):

        async def ask() -> bool:
            return await journal.append(key, an_entry(1))

        waiter = asyncio.create_task(ask())
        await asyncio.sleep(0)
        waiter.cancel()
        with pytest.raises(asyncio.CancelledError):
            await waiter
    await journal.stop()
    assert await log(journal, key) == [an_entry(1)]


async def test_stopping_writes_what_waits(journal):
    keys = some_keys(3 * GROUP)
    took = [journal.append(key, an_entry(1)) for key in keys]
    await journal.stop()
    assert [done.result() for done in took] == [True] * len(keys)


async def test_stopping_waits_for_what_is_under_way(journal, database):
    first, second, third = some_keys(3)
    async with moves_locked(database):
        took = [journal.append(first, an_entry(1))]
        await asyncio.sleep(0)  # the writer has taken it
        stopping = asyncio.create_task(journal.stop())
        took.append(journal.append(second, an_entry(1)))
        await asyncio.sleep(0)
        with pytest.raises(Unavailable):
            await journal.append(third, an_entry(1))
    await stopping
    assert await asyncio.gather(*took) == [True, True]


async def test_draining_waits_for_what_is_under_way_too(journal, database):
    first, second = some_keys(2)
    await journal.drain()  # nothing to wait for
    async with moves_locked(database):
        took = journal.append(first, an_entry(1))
        await asyncio.sleep(0)  # the writer has taken it
        await journal.drain(patience=0)
        assert not took.done()
        draining = asyncio.create_task(journal.drain())
        await asyncio.sleep(0)
        assert not draining.done()
    await draining
    assert took.result() is True
    assert await journal.append(second, an_entry(1)) is True  # it goes on as before


async def test_patience_ends(journal, database):
    first, second = some_keys(2)
    async with moves_locked(database):
        under_way = journal.append(first, an_entry(1))
        await asyncio.sleep(0)
        waiting = journal.append(second, an_entry(1))
        await journal.stop(patience=0)
        with pytest.raises(OutcomeUnknown):
            await under_way
        with pytest.raises(Unavailable):
            await waiting


async def test_a_busy_database_is_waited_for(journal, database):
    (key,) = some_keys(1)
    async with moves_locked(database):
        took = journal.append(key, an_entry(1))
        if database.dialect == "postgresql":

            async def waits() -> bool:
                query = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND application_name = 'samedeal journal' AND datname = current_database()"
                return await scalar(database, query) == 1

            await until(waits)
        assert not took.done()
    assert await took is True
