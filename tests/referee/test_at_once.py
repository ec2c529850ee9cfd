"""Moves without a task: the usual one is made, everything else is left as it was."""

import asyncio

import pytest
from sqlalchemy.engine import make_url

from service.contest.player import Player
from service.live.bus import LocalBus
from service.referee.plays import Answer, NotYourPlay, Plays, PlyConflict
from service.referee.ration import BURST, TooFast
from service.storage import players
from service.storage.database import Database, Unavailable
from service.storage.ids import new_id
from service.storage.journal import Journal
from service.storage.shelf import NotFound, PlayShelf
from tests.storage.cable import cable_to

PATIENCE_S = 20.0


class Referee:
    """The referee of one process."""

    def __init__(self, database, journal):
        self.shelf = PlayShelf(database, journal)
        self.plays = Plays(database, journal, self.shelf, LocalBus(), lambda _race: None)
        self.now = database.clock.now

    def at_once(self, player, play_id, ply, move="turn", move_id="a"):
        """What it comes to, later; None when it was not taken."""
        told = asyncio.get_running_loop().create_future()
        taken = self.plays.move_at_once(
            player.id, play_id, ply, move, move_id, self.now(), told.set_result
        )
        return asyncio.wait_for(told, PATIENCE_S) if taken else None

    async def move(self, player, play_id, ply, move="turn", move_id="a"):
        return await self.plays.move(player.id, play_id, ply, move, move_id, self.now())


@pytest.fixture
def referee(database, journal):
    return Referee(database, journal)


@pytest.fixture
async def other(database_url):
    """The referee of another process."""
    database = Database(make_url(database_url))
    await database.start()
    journal = Journal(database)
    await journal.start()
    yield Referee(database, journal)
    await journal.stop()
    await database.stop()


async def enter(database, name="somebody"):
    player = Player(new_id(database.clock.now()), name, "human")
    await database.transact(lambda c: players.create(c, player, None, 1))
    return player


async def begin(referee, player):
    return (await referee.plays.practise(player, "kings-way", "1")).header.id


@pytest.fixture
async def player(database):
    return await enter(database)


@pytest.fixture
async def play(referee, player):
    return await begin(referee, player)


async def log_of(journal, play):
    return [(entry.ply, entry.move, entry.id) for entry in await journal.entries(play)]


async def test_the_usual_move(referee, journal, player, play):
    first = await referee.at_once(player, play, 1)
    assert (first.delta.ply, first.delta.move) == (1, "turn")
    assert (await referee.at_once(player, play, 2, move_id="b")).delta.ply == 2
    assert await log_of(journal, play) == [(1, "turn", "a"), (2, "turn", "b")]
    assert await referee.move(player, play, 1) == first


async def test_whatever_else_is_left_as_it_was(referee, journal, player, play):
    stranger = Player("AZrQ2k3vcAAAAAAAAAAAAA", "stranger", "human")
    await referee.at_once(player, play, 1)
    before = referee.shelf.cached(play).tokens
    for asked in (
        (player, "AZrQ2k3vcAAAAAAAAAAAAA", 1),
        (stranger, play, 2),
        (player, play, 0),
        (player, play, 1, "turn", "b"),
        (player, play, 3, "turn", "b"),
        (player, play, 2, "turn", "a"),
        (player, play, 2, "c1-w", "b"),
        (player, play, 2, "resign", "b"),
        (player, play, 2, "no such move", "b"),
    ):
        assert referee.at_once(*asked) is None
    assert referee.shelf.cached(play).tokens == before
    with pytest.raises(NotFound):
        await referee.move(player, "AZrQ2k3vcAAAAAAAAAAAAA", 1)
    with pytest.raises(NotYourPlay):
        await referee.move(stranger, play, 2)
    assert (await referee.at_once(player, play, 2, move_id="b")).delta.ply == 2
    await referee.plays.resign(player.id, play, referee.now())
    assert referee.at_once(player, play, 4, move_id="c") is None
    assert [move for _, move, _ in await log_of(journal, play)] == ["turn", "turn", "resign"]


async def test_a_play_at_work_is_left_to_those_who_wait(referee, player, play):
    seat = referee.shelf.cached(play)
    async with seat.lock:
        waiting = asyncio.create_task(referee.move(player, play, 1, move_id="waits"))
        await asyncio.sleep(0)
        assert referee.at_once(player, play, 1) is None
    # Free now, but promised: whoever came first goes first.
    assert not seat.lock.locked()
    assert referee.at_once(player, play, 1) is None
    assert (await waiting).delta.ply == 1
    made = referee.at_once(player, play, 2)
    assert referee.at_once(player, play, 2, move_id="b") is None
    behind = asyncio.create_task(referee.move(player, play, 3, move_id="c"))
    assert [answer.delta.ply for answer in await asyncio.gather(made, behind)] == [2, 3]


async def test_a_moment_after_too_many(referee, player, play):
    seat = referee.shelf.cached(play)
    seat.tokens, seat.tokens_at = 0.5, referee.now() + 60_000
    assert referee.at_once(player, play, 1) is None
    with pytest.raises(TooFast):
        await referee.move(player, play, 1)
    seat.tokens = BURST
    assert (await referee.at_once(player, play, 1)).delta.ply == 1


async def test_a_ply_taken_elsewhere(referee, other, journal, player, play):
    await other.shelf.seat(play)
    here, there = (
        referee.at_once(player, play, 1, move_id="here"),
        other.at_once(player, play, 1, move_id="there"),
    )
    told = await asyncio.gather(here, there)
    assert {type(each) for each in told} == {Answer, PlyConflict}
    (lost,) = (each for each in told if isinstance(each, PlyConflict))
    assert lost.ply == 1
    assert len(await log_of(journal, play)) == 1
    # Neither keeps the play to itself.
    for ply, one in ((2, referee), (3, other), (4, referee)):
        assert (await one.move(player, play, ply, move_id=f"m{ply}")).delta.ply == ply


async def test_the_same_move_at_two_doors(referee, other, journal, player, play):
    await other.shelf.seat(play)
    one, two = await asyncio.gather(
        referee.at_once(player, play, 1), other.at_once(player, play, 1)
    )
    assert one == two
    assert await log_of(journal, play) == [(1, "turn", "a")]


async def test_a_journal_that_has_stopped(referee, journal, player, play):
    await journal.stop()
    assert isinstance(await referee.at_once(player, play, 1), Unavailable)
    assert not referee.shelf.cached(play).lock.locked()


@pytest.mark.parametrize("database_kind", ["postgres"], indirect=True)
async def test_a_commit_that_broke_is_read_back(database_url):
    async with cable_to(database_url) as (cable, url):
        database = Database(make_url(url))
        await database.start()
        journal = Journal(database)
        await journal.start()
        referee = Referee(database, journal)
        player = await enter(database)
        play = await begin(referee, player)
        assert (await referee.at_once(player, play, 1)).delta.ply == 1
        cable.hold_replies()
        broken = referee.at_once(player, play, 2, move_id="b")
        direct = Database(make_url(database_url))
        stored = Journal(direct)
        async with asyncio.timeout(PATIENCE_S):
            while len(await stored.entries(play)) < 2:  # noqa: ASYNC110
                await asyncio.sleep(0.01)
        await direct.stop()
        cable.cut()
        cable.mend()
        assert (await broken).delta.ply == 2
        assert (await referee.move(player, play, 3, move_id="c")).delta.ply == 3
        await journal.stop()
        await database.stop()
