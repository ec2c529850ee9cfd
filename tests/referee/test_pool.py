"""The pool: certified deals, each for one race; and races that have to go without."""

import asyncio

import pytest

from service.contest.player import Player
from service.live.bus import LocalBus
from service.referee.plays import Plays
from service.referee.pool import PoolKeeper
from service.referee.races import Races
from service.referee.thinking import affordable
from service.rules import start
from service.solver import COMPILED, SOLVER_VERSION
from service.storage import certificates, deals, players
from service.storage.certificates import Certified
from service.storage.ids import new_id
from service.storage.shelf import PlayShelf, RaceShelf

GOOD = Certified("solved", SOLVER_VERSION, 1, 1, 3, 20, "turn turn c1-w")
BUDGETS = {"kings-way": 30_000_000, "royal-mullein": 500_000}
# Without the extension King's Way takes longer than a test may.
CERTIFIABLE = [game for game in BUDGETS if COMPILED or game == "royal-mullein"]


async def fill(database, count, game="kings-way"):
    """Certified deals as a keeper would have made them."""

    async def work(connection):
        made = []
        for _ in range(count):
            deal = await deals.ensure(database, connection, game, deals.fresh_seed())
            await certificates.add_to_pool(connection, deal, GOOD)
            made.append(deal)
        return made

    return await database.transact(work)


async def draw(database, winnable=True, game="kings-way"):
    return await database.transact(
        lambda own: certificates.draw(database, own, game, winnable=winnable)
    )


async def test_a_race_takes_the_oldest_and_nobody_gets_it_again(database):
    made = await fill(database, 3)
    drawn = [await draw(database) for _ in range(3)]
    assert [one.deal for one in drawn] == made
    assert all(one.certified for one in drawn)


async def test_many_at_once_get_different_deals(database):
    await fill(database, 5)
    drawn = await asyncio.gather(*(draw(database) for _ in range(8)))
    assert len({one.deal.seed for one in drawn}) == 8
    assert sorted(one.certified for one in drawn) == [False] * 3 + [True] * 5


async def test_an_empty_pool_never_blocks(database):
    await fill(database, 1, "royal-mullein")
    drawn = await draw(database)
    assert not drawn.certified
    assert len(drawn.deal.seed) >= 22


async def test_any_deal_leaves_the_pool_alone(database):
    await fill(database, 1)
    assert not (await draw(database, winnable=False)).certified
    async with database.read() as connection:
        assert await certificates.pooled(connection, "kings-way") == 1


async def test_the_keeper_fills_it_with_deals_that_are_won_by_their_line(database):
    faults = []
    keeper = PoolKeeper(database, 1, faults.append, budgets=BUDGETS, first_look_seconds=0)
    await keeper.start()
    try:
        async with asyncio.timeout(120):
            for game in CERTIFIABLE:
                while True:
                    async with database.read() as connection:
                        if await certificates.pooled(connection, game):
                            break
                    await asyncio.sleep(0.05)
    finally:
        await keeper.stop()
    assert faults == []
    for game in CERTIFIABLE:
        drawn = await draw(database, game=game)
        assert drawn.certified
        async with database.read() as connection:
            known = await certificates.of(connection, drawn.deal.id)
        assert known.verdict == "solved"
        position = start(game, drawn.deal.seed)
        moves = known.line.split()
        for move in moves:
            position = position.apply(move).position
        assert position.solved
        assert known.par == len(moves)


async def test_a_deal_that_had_to_go_without_is_certified_afterwards(database, racing_deal):
    faults = []
    keeper = PoolKeeper(database, 0, faults.append, budgets=BUDGETS)
    assert await keeper.certify_one()
    assert not await keeper.certify_one()
    await keeper.stop()
    async with database.read() as connection:
        known = await certificates.of(connection, racing_deal.id)
    assert known.budget == affordable(BUDGETS["royal-mullein"])


@pytest.fixture
async def racing_deal(database, journal):
    """The deal of a race that was made while the pool was empty."""
    host = Player(new_id(database.clock.now()), "Hostess", "human")
    await database.transact(lambda own: players.create(own, host, None, 1))
    bus = LocalBus()
    plays = Plays(database, journal, PlayShelf(database, journal), bus, lambda _race: None)
    races = Races(
        database, journal, RaceShelf(database, journal), plays, bus, 1_000, lambda *_due: None
    )
    await races.create_live(
        host,
        "royal-mullein",
        name=None,
        capacity=2,
        time_limit_ms=60_000,
        ranking="time",
        rated=False,
        listed=True,
    )
    async with database.read() as connection:
        (deal,) = await certificates.uncertified_race_deals(connection, 10)
    return deal
