"""Races: headers as they went in, derived columns as the fold has them."""

import msgspec

from service.contest.events import Cancelled, Countdown, Created, EntrantJoined, Logged
from service.contest.player import Player
from service.contest.race import Race, fold
from service.contest.race_header import RaceHeader
from service.storage import deals, races
from service.storage.ids import new_id
from tests.storage.rows import a_player


async def a_race(database, creator: Player | None, at: int, **changes) -> Race:
    async def work(connection) -> Race:
        deal = await deals.ensure(database, connection, "kings-way", f"seed-{at}")
        header = RaceHeader(
            new_id(at), "kings-way", "live", "the race", creator, deal.deal_version,
            deal.commitment, True, 1, "time", 8, 900_000, True, True, at,
        )  # fmt: skip
        race = fold(Race(msgspec.structs.replace(header, **changes)), [Logged(1, at, Created())])
        await races.create(connection, race.header, deal.id, race)
        return race

    return await database.transact(work)


async def read(database, query, *arguments, **options):
    async with database.read() as connection:
        return await query(connection, *arguments, **options)


async def test_a_header_comes_back_as_it_went(database):
    ann = await a_player(database, "Ann")
    made = await a_race(database, ann, 5)
    assert await read(database, races.load, made.header.id) == made.header
    plain = await a_race(database, None, 6, name=None, opens_at=7, closes_at=8, kind="open")
    assert await read(database, races.load, plain.header.id) == plain.header
    assert await read(database, races.load, new_id(1)) is None
    deal = await read(database, races.deal_of, made.header.id)
    assert (deal.game, deal.seed, deal.commitment) == (
        "kings-way",
        "seed-5",
        made.header.commitment,
    )


async def test_what_is_owed_follows_the_race(database):
    ann = await a_player(database, "Ann")
    first, second, third = [await a_race(database, ann, at) for at in (30, 20, 10)]
    owed = await read(database, races.owed, 2**50)
    assert owed == [(race.header.id, race.next_due) for race in (third, second, first)]
    assert await read(database, races.owed, third.next_due) == owed[:1]
    assert await read(database, races.owed, 2**50, limit=2) == owed[:2]

    log = [Logged(2, 40, EntrantJoined(ann)), Logged(3, 41, Countdown(5_041))]
    started = fold(first, log)
    over = fold(second, [Logged(2, 40, Cancelled("host", "seed-20"))])
    for race in (started, over):
        await database.transact(lambda c, race=race: races.follow(c, race))
    assert await read(database, races.owed, 2**50) == [(first.header.id, 5_041), owed[0]]


async def test_pages(database):
    ann = await a_player(database, "Ann")
    ids = [(await a_race(database, ann, at)).header.id for at in range(1, 6)]
    await a_race(database, ann, 9, listed=False)
    newest_first = ids[::-1]

    async def page(**options):
        return await read(database, races.page, **{"before": None, "limit": 10} | options)

    assert await page(limit=2) == newest_first[:2]
    assert await page(before=newest_first[1]) == newest_first[2:]
    assert await page(states=["lobby"], game="kings-way", kind="live") == newest_first
    assert await page(states=["ended"]) == []
    assert await page(game="royal-mullein") == []
    assert await page(kind="open") == []
