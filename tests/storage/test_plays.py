"""Plays, deals and their headers."""

import asyncio

import pytest
from sqlalchemy.exc import IntegrityError

from service.contest.race import Ended
from service.rules import commitment
from service.storage import deals, plays
from service.storage.ids import id_bytes, new_id
from service.storage.journal import Journal, play_key
from service.storage.move_store import End
from tests.storage.rows import a_player, an_entry, scalar, some_plays


async def read(database, query, *arguments, **options):
    async with database.read() as connection:
        return await query(connection, *arguments, **options)


async def end(database, play_id: str) -> None:
    journal = Journal(database)
    await journal.start()
    ended = End("stuck", 3, 80, 9, True, False, 4_000)
    assert await journal.append(play_key(play_id), an_entry(1), ended)
    await journal.stop()


async def test_a_deal_is_one_row_however_many_want_it(database):
    async def ensure():
        return await database.transact(
            lambda c: deals.ensure(database, c, "royal-mullein", "same-seed")
        )

    first, *others = await asyncio.gather(*(ensure() for _ in range(10)))
    assert set(others) == {first}
    assert first.commitment == commitment("royal-mullein", "same-seed")
    assert await scalar(database, "SELECT count(*) FROM deals") == 1


def test_fresh_seeds():
    seeds = {deals.fresh_seed() for _ in range(1_000)}
    assert len(seeds) == 1_000
    assert {len(seed) for seed in seeds} == {24}


async def test_a_header_comes_back_as_it_went(database):
    ann = await a_player(database, "Ann")
    (header,) = await some_plays(database, ann, 1)
    row = await read(database, plays.load, header.id)
    assert row == plays.Row(header, "playing", 0, None, None)
    assert header.mode == "practice"
    assert await read(database, plays.load, new_id(1)) is None


async def test_one_play_a_player_in_a_race(database):
    ann, bob = await a_player(database, "Ann"), await a_player(database, "Bob")
    race = new_id(1)
    (first,) = await some_plays(database, ann, 1, race)
    (second,) = await some_plays(database, bob, 1, race)
    with pytest.raises(IntegrityError):
        await some_plays(database, ann, 1, race)
    await end(database, second.id)
    rows = await read(database, plays.of_race, race)
    assert [row.header.id for row in rows] == sorted([first.id, second.id], key=id_bytes)
    endings = await read(database, plays.endings, race)
    assert endings == {ann.id: None, bob.id: Ended("stuck", 3, 80, 9, True)}


async def test_pages_of_a_player(database):
    ann, bob = await a_player(database, "Ann"), await a_player(database, "Bob")
    headers = await some_plays(database, ann, 5)
    await some_plays(database, bob, 2)
    (raced,) = await some_plays(database, ann, 1, race := new_id(1))
    await end(database, headers[2].id)
    await end(database, raced.id)

    async def page(**options):
        options = {"before": None, "limit": 10} | options
        rows = await read(database, plays.page_of_player, ann.id, **options)
        return [row.header.id for row in rows]

    made = (header.id for header in [*headers, raced])
    newest_first = sorted(made, key=id_bytes, reverse=True)
    assert await page(limit=4) == newest_first[:4]
    assert await page(limit=4, before=newest_first[3]) == newest_first[4:]
    assert await page(statuses=["stuck"], race=race) == [raced.id]
    assert await page(statuses=[]) == []
    # The race is not known to have ended, so its board stays shut.
    assert await page(open_only=True) == [headers[2].id]
