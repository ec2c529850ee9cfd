"""Receipts: an effect and its reply are one, whoever asks and however often."""

import asyncio

import pytest

from service.storage.receipts import (
    KEPT_MS,
    LEASE_MS,
    KeyBusy,
    KeyReused,
    LeaseLost,
    Receipt,
    Reply,
    forget_old,
    give_up,
    take,
)
from tests.storage.rows import scalar

SCOPE = ("player", "POST", "/v1/races", "key")
REPLY = Reply(201, b'{"id": "x"}')


@pytest.fixture
def later(database, monkeypatch):
    """Makes the database's clock run ahead, so that nobody has to wait a day."""

    def later(ms: int) -> None:
        now = database.clock.now
        monkeypatch.setattr(database.clock, "now", lambda: now() + ms)

    return later


async def fill(database, receipt: Receipt, reply: Reply = REPLY) -> None:
    await database.transact(lambda connection: receipt.fill(connection, reply))


async def test_the_first_reply_is_given_again(database):
    receipt = await take(database, SCOPE, b"body")
    assert isinstance(receipt, Receipt)
    await fill(database, receipt)
    assert await take(database, SCOPE, b"body") == REPLY
    with pytest.raises(KeyReused):
        await take(database, SCOPE, b"another body")


async def test_one_is_busy_while_it_runs(database):
    await take(database, SCOPE, b"body")
    with pytest.raises(KeyBusy):
        await take(database, SCOPE, b"body")
    with pytest.raises(KeyReused):
        await take(database, SCOPE, b"another body")


async def test_twenty_at_once(database):
    asked = [take(database, SCOPE, b"body") for _ in range(20)]
    done = await asyncio.gather(*asked, return_exceptions=True)
    assert sum(isinstance(each, Receipt) for each in done) == 1
    assert sum(isinstance(each, KeyBusy) for each in done) == 19


@pytest.mark.parametrize("place", range(4))
async def test_each_part_of_the_scope_counts(database, place):
    await take(database, SCOPE, b"body")
    other = tuple(f"{part}2" if n == place else part for n, part in enumerate(SCOPE))
    assert isinstance(await take(database, other, b"another body"), Receipt)


async def test_without_success_it_may_be_tried_again(database):
    receipt = await take(database, SCOPE, b"body")
    await give_up(database, receipt)
    again = await take(database, SCOPE, b"another body")
    assert isinstance(again, Receipt)
    await give_up(database, receipt)  # which is no longer its own
    await fill(database, again)
    await give_up(database, again)  # a success stays
    assert await take(database, SCOPE, b"another body") == REPLY


async def test_what_died_with_its_process_is_taken_over(database, later):
    dead = await take(database, SCOPE, b"body")
    later(LEASE_MS + 1)
    heir = await take(database, SCOPE, b"body")
    assert isinstance(heir, Receipt)
    with pytest.raises(LeaseLost):  # and its effect with it
        await fill(database, dead)
    await fill(database, heir)
    assert await take(database, SCOPE, b"body") == REPLY


@pytest.mark.parametrize("database_kind", ["postgres"], indirect=True)
async def test_one_that_was_only_slow_is_not_done_twice(database, later):
    slow = await take(database, SCOPE, b"body")
    later(LEASE_MS + 1)
    filled, commit = asyncio.Event(), asyncio.Event()

    async def effect(connection) -> None:
        await slow.fill(connection, REPLY)
        filled.set()
        await commit.wait()

    async def heir_waits() -> bool:
        query = "SELECT count(*) FROM pg_stat_activity WHERE wait_event_type = 'Lock' AND datname = current_database()"
        return await scalar(database, query) == 1

    running = asyncio.create_task(database.transact(effect))
    await filled.wait()
    heir = asyncio.create_task(take(database, SCOPE, b"body"))
    async with asyncio.timeout(20):
        while not await heir_waits() and not heir.done():  # noqa: ASYNC110
            await asyncio.sleep(0.005)
    commit.set()
    await running
    with pytest.raises(KeyBusy):
        await heir
    assert await take(database, SCOPE, b"body") == REPLY


async def test_kept_for_a_day(database, later):
    receipt = await take(database, SCOPE, b"body")
    await fill(database, receipt)
    later(KEPT_MS - 60_000)
    await forget_old(database)
    assert await take(database, SCOPE, b"body") == REPLY
    later(120_000)
    again = await take(database, SCOPE, b"another body")  # not swept yet, and yet forgotten
    assert isinstance(again, Receipt)
    await forget_old(database)
    with pytest.raises(KeyBusy):
        await take(database, SCOPE, b"another body")
    later(KEPT_MS + 1)
    await forget_old(database)
    assert await scalar(database, "SELECT count(*) FROM receipts") == 0
