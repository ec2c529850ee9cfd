"""Time is the database's."""

import asyncio
import time

import pytest
from sqlalchemy import text

from service.storage.clock import Clock

DAYS = 3 * 24 * 3_600_000


async def test_it_follows_the_database(database):
    for _ in range(3):
        before = time.monotonic()
        await database.clock.sync()
        told = await database._time()
        now = database.clock.now()
        # However slow this machine is: between the question and now no more can have passed.
        assert abs(now - told) <= (time.monotonic() - before) * 1000 + 2


@pytest.mark.parametrize("database_kind", ["sqlite"], indirect=True)
async def test_sqlite_tells_milliseconds(database):
    whole = set()
    for _ in range(20):
        told = await database._time()
        async with database.read() as connection:
            seconds = (await connection.execute(text("SELECT unixepoch()"))).scalar_one()
        assert seconds * 1000 - 1000 <= told <= seconds * 1000 + 1000
        whole.add(told % 1000 == 0)
    assert False in whole


async def test_a_host_whose_own_clock_is_days_off():
    async def ask() -> int:
        return int(time.monotonic() * 1000) + DAYS

    clock = Clock(ask)
    before = time.monotonic()
    await clock.sync()
    assert abs(clock.now() - await ask()) <= (time.monotonic() - before) * 1000 + 2


async def test_the_quickest_answer_counts():
    turns = iter([True, False, True])

    async def ask() -> int:
        told = int(time.monotonic() * 1000)
        if next(turns):  # the answer is long under way: half of that would be the error
            await asyncio.sleep(0.2)
        return told

    clock = Clock(ask)
    await clock.sync()
    assert abs(clock.now() - time.monotonic() * 1000) < 100


async def test_it_is_kept_and_survives_a_failure(monkeypatch):
    monkeypatch.setattr("service.storage.clock.SYNC_SECONDS", 0)
    answers = iter([1, 1, 1])
    failures: asyncio.Queue[Exception] = asyncio.Queue()
    later: list[int] = []

    async def ask() -> int:
        if later:
            return int(time.monotonic() * 1000) + DAYS
        try:
            return next(answers)
        except StopIteration:
            raise OSError("down") from None

    clock = Clock(ask)
    await clock.sync()
    before = clock.now()
    keeping = asyncio.create_task(clock.keep(failures.put_nowait))
    assert isinstance(await failures.get(), OSError)
    assert before <= clock.now() < DAYS  # as it was, and it goes on
    later.append(1)
    async with asyncio.timeout(20):
        while clock.now() < DAYS:  # noqa: ASYNC110 (a task of its own is at it)
            await asyncio.sleep(0)
    keeping.cancel()
    await asyncio.gather(keeping, return_exceptions=True)
