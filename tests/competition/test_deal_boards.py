"""The boards of open deals: a player's first attempt, whole, and nobody who had seen the deal."""

import asyncio

import pytest

from service.storage.boards import Ask
from tests.competition.house import MINUTE, House

GAME = "kings-way"


async def board(house: House, seed: str, **ask):
    page = await house.boards.deal(GAME, seed, Ask(100, **ask))
    return [(row.rank, row.player, row.score, row.play) for row in page.items]


async def practise(house: House, player, seed: str, score: int | None = None):
    """A practice play; with a score it is played up to that and given up."""
    play = await house.plays.practise(player, GAME, seed)
    if score is not None:
        house.time.now += MINUTE
        await house.finish(player, play.header.id, scoring=score)
    return play.header.id


@pytest.fixture
def seed(request: pytest.FixtureRequest) -> str:
    """A deal that no other test plays; some of its column cards are soon cleared."""
    return "".join(c for c in request.node.name if c.isalnum())[-60:]


async def test_nothing_is_known_of_a_deal_that_nobody_has_practised(house, seed):
    page = await house.boards.deal(GAME, seed, Ask(10))
    assert (page.items, page.total, page.next, page.me) == ((), 0, None, None)


async def test_the_first_attempt_counts_whatever_comes_after(house, seed):
    good_first, bad_first = await house.players(2)
    good = await practise(house, good_first, seed, 2)
    await practise(house, good_first, seed, 0)
    bad = await practise(house, bad_first, seed, 0)
    await practise(house, bad_first, seed, 2)
    assert [row[0::3] for row in await board(house, seed)] == [(1, good), (2, bad)]
    page = await house.boards.deal(GAME, seed, Ask(1, around=bad_first.id, me=bad_first.id))
    assert (page.total, page.items, page.me) == (2, (page.me,), page.me)


async def test_two_attempts_at_once_are_one_row(houses, seed):
    one, two = await houses(2)
    player = await one.player()
    plays = await asyncio.gather(
        *(h.plays.practise(player, GAME, seed) for h in (one, two, one, two))
    )
    (first,) = [play for play in plays if play.header.ranked]
    await asyncio.gather(*(one.finish(player, play.header.id) for play in plays))
    assert [row[3] for row in await board(two, seed)] == [first.header.id]


async def test_what_was_taken_back_is_on_no_board(house, seed):
    before, after = await house.players(2)
    play = await practise(house, before, seed)
    for move in ("turn", "undo", "turn"):
        await house.move(before, play, move)
    await house.finish(before, play)
    play = await practise(house, after, seed)
    while not (await house.reader.play(play, after.id))[0].over:
        legal = (await house.reader.play(play, after.id))[0].legal
        await house.move(after, play, min(legal, key=lambda move: (move == "turn", move)))
    assert [row[3] for row in await board(house, seed)] == [play]
    await house.move(after, play, "undo")
    assert await board(house, seed) == []
    await house.finish(after, play, 0)
    assert await board(house, seed) == []


async def test_a_score_of_nothing_has_a_row_but_a_play_without_a_move_has_none(house, seed):
    turned, resigned = await house.players(2)
    play = await practise(house, turned, seed, 0)
    await house.finish(resigned, await practise(house, resigned, seed), 0)
    assert await board(house, seed) == [(1, turned, 0, play)]


async def test_who_has_read_somebodys_board_is_not_ranked(house, seed):
    first, reader, player = await house.players(3)
    play = await practise(house, first, seed, 0)
    await house.reader.play_view(play, reader.id)
    await practise(house, reader, seed, 1)
    await practise(house, player, seed, 0)
    assert {row[1] for row in await board(house, seed)} == {first, player}


async def test_who_has_read_a_log_is_not_ranked(house, seed):
    first, reader = await house.players(2)
    play = await practise(house, first, seed, 0)
    await house.reader.log(play, reader.id, 0, 10)
    await practise(house, reader, seed, 1)
    assert {row[1] for row in await board(house, seed)} == {first}


async def test_who_looks_at_their_own_play_is_still_first(house, seed):
    player = await house.player()
    play = await practise(house, player, seed)
    await house.reader.play_view(play, player.id)
    await house.finish(player, play)
    assert [row[3] for row in await board(house, seed)] == [play]


async def test_who_has_raced_a_deal_or_read_its_proof_is_not_ranked_on_it(house):
    racer, reader, stranger, anybody = await house.players(4)
    race = await house.live_race(racer)
    play = race.entrants[racer.id].play
    await house.finish(racer, play)
    race = await house.settle(race)
    await house.reader.outcomes.proof(race.header.id, reader.id, 0, 10)
    await house.reader.outcomes.proof(race.header.id, None, 0, 10)
    for player in (racer, reader, stranger):
        await practise(house, player, race.seed, 0)
    assert {row[1] for row in await board(house, race.seed)} == {stranger}
    await house.reader.play_view(play, anybody.id)
    await practise(house, anybody, race.seed, 0)
    assert {row[1] for row in await board(house, race.seed)} == {stranger}


async def test_the_deal_of_a_race_that_goes_on_has_no_board(house):
    racer = await house.player()
    race = await house.live_race(racer)
    play, _sight, _state = await house.reader.play(race.entrants[racer.id].play, racer.id)
    await house.finish(racer, race.entrants[racer.id].play)
    assert await board(house, play.header.seed) == []
