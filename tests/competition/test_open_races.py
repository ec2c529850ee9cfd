"""Open races: who gets in and when, what counts, and when they end."""

import asyncio

import msgspec
import pytest
from sqlalchemy import func, select

from service.contest.play import TIMEOUT_GRACE_MS, PlayOver
from service.contest.proof import verify
from service.contest.race import fold
from service.contest.ranking import by_bits
from service.contest.refusals import NotHost, RaceFull, RaceNotOpen, RaceOver, RaceStarted
from service.feed.frames import SHOWN_STANDINGS, personal_data, race_data
from service.storage.ids import new_id
from service.storage.tables import plays as plays_table
from tests.competition.house import MINUTE
from tests.competition.proofs import whole_proof


async def at_once(*work):
    return await asyncio.gather(*work, return_exceptions=True)


async def test_in_until_the_last_millisecond(house, time):
    race = await house.open_race()
    early, at, late = await house.players(3)
    closes_at = race.header.closes_at
    time.now = closes_at - 1
    await house.enter(early, race)
    time.now = closes_at
    with pytest.raises(RaceOver):
        await house.enter(at, race)
    time.now = closes_at + 1
    with pytest.raises(RaceOver):
        await house.enter(late, race)
    assert [e.player for e in (await house.reader.race_view(race.header.id, None)).entrants] == [
        early
    ]


async def test_who_asked_in_time_gets_in_though_the_others_look_at_it_after_the_end(house, time):
    """The stamp counts: a request read before the end may be carried out a little later."""
    race = await house.open_race()
    player = await house.player()
    time.now = race.header.closes_at + TIMEOUT_GRACE_MS - 1
    await house.settle(race)
    play, new = await house.open_races.enter(player, race.header.id, race.header.closes_at - 1)
    assert new
    assert play.header.started_at == race.header.closes_at - 1


async def test_a_move_counts_until_the_last_millisecond_of_the_players_own_clock(house, time):
    race = await house.open_race()
    player = await house.player()
    time.now += 20 * MINUTE
    play = await house.enter(player, race)
    assert play.header.deadline_at == time.now + race.header.time_limit_ms
    time.now = play.header.deadline_at - 1
    await house.move(player, play.header.id, "turn")
    time.now += 1
    with pytest.raises(PlayOver):
        await house.move(player, play.header.id, "turn")
    await house.plays.time_out(play.header.id)
    after, _sight, _state = await house.reader.play(play.header.id, player.id)
    assert (after.status, after.moves, after.at_ms) == ("timed_out", 1, race.header.time_limit_ms)


async def test_it_ends_only_when_the_last_entrant_has(house, time):
    race = await house.open_race()
    first, last = await house.players(2)
    await house.finish(first, (await house.enter(first, race)).header.id)
    time.now = race.header.closes_at - 1
    play = await house.enter(last, race)
    for now in (race.header.closes_at, race.header.closes_at + 5 * MINUTE):
        time.now = now
        assert (await house.settle(race)).state == "running"
        await house.move(last, play.header.id, "turn")
    await house.finish(last, play.header.id, 0)
    race = await house.settle(race)
    assert (race.state, race.total, race.ended_at) == ("ended", 2, time.now)
    # Neither has cleared a card.
    rows = (await house.standings(race)).items
    assert [row.rank for row in rows] == [1, 1]
    assert await house.reader.outcomes.final_standings(race) == rows


async def test_it_ends_when_the_last_one_runs_out_of_time(house, time):
    race = await house.open_race()
    player = await house.player()
    time.now = race.header.closes_at - 1
    play = await house.enter(player, race)
    time.now = play.header.deadline_at + TIMEOUT_GRACE_MS
    assert (await house.settle(race)).state == "running"  # the time-out is the clock's
    await house.plays.time_out(play.header.id)
    assert (await house.settle(race)).state == "ended"


async def test_nobody_came(house, time):
    race = await house.open_race()
    time.now = race.header.closes_at + TIMEOUT_GRACE_MS
    race = await house.settle(race)
    assert (race.state, race.total) == ("ended", 0)
    page = await house.standings(race)
    assert (page.items, page.total, page.next) == ((), 0, None)


async def test_one_play_a_player_however_often_and_wherever(houses):
    one, two = await houses(2)
    race = await one.open_race()
    player = await one.player()
    entered = await asyncio.gather(
        *(
            house.open_races.enter(player, race.header.id, one.time.now)
            for house in (one, two, one, two)
        )
    )
    assert len({play.header.id for play, _new in entered}) == 1
    assert [new for _play, new in entered].count(True) == 1
    of_race = select(func.count()).where(plays_table.c.race_id == race.header.id)
    assert await one.rows(of_race) == [(1,)]


async def test_abandoned_and_started_again_it_resumes(houses, time):
    one, two = await houses(2)
    race = await one.open_race()
    player = await one.player()
    play = await one.enter(player, race)
    await one.move(player, play.header.id, "turn")
    time.now += MINUTE
    again, new = await two.open_races.enter(player, race.header.id, time.now)
    assert not new
    assert (again.header, again.ply) == (play.header, 1)
    await two.finish(player, play.header.id, 0)
    time.now = race.header.closes_at + TIMEOUT_GRACE_MS
    assert (await two.settle(race)).state == "ended"
    again, new = await one.open_races.enter(player, race.header.id, time.now)
    assert (again.status, new) == ("resigned", False)


async def test_not_before_it_opens_and_all_at_once_when_it_does(houses, time):
    one, two = await houses(2)
    opens_at = time.now + MINUTE
    race = await one.open_race(opens_at=opens_at)
    assert race.state == "scheduled"
    players = await one.players(20)
    time.now = opens_at - 1
    with pytest.raises(RaceNotOpen):
        await one.enter(players[0], race)
    time.now = opens_at
    plays = await asyncio.gather(
        *(house.enter(player, race) for house, player in zip((one, two) * 10, players, strict=True))
    )
    assert len({play.header.id for play in plays}) == 20
    assert (await two.race(race)).state == "running"


async def test_a_scheduled_race_can_be_cancelled_by_its_maker_alone(houses, time):
    one, two = await houses(2)
    maker, other = await one.players(2)
    race = await one.open_race(maker, opens_at=time.now + MINUTE)
    with pytest.raises(NotHost):
        await two.races.cancel(race.header.id, other.id)
    cancelled = await two.races.cancel(race.header.id, maker.id)
    assert cancelled.state == "cancelled"
    assert cancelled.seed is not None
    time.now += MINUTE
    for house in (one, two):
        assert (await house.settle(race)).state == "cancelled"
        with pytest.raises(RaceOver):
            await house.enter(other, race)
    running = await one.open_race(maker)
    with pytest.raises(RaceStarted):
        await one.races.cancel(running.header.id, maker.id)


async def test_no_more_than_its_capacity(houses):
    one, two = await houses(2)
    race = await one.open_race(capacity=3)
    players = await one.players(8)
    told = await at_once(
        *(house.enter(player, race) for house, player in zip((one, two) * 4, players, strict=True))
    )
    full = [one for one in told if isinstance(one, BaseException)]
    assert len(full) == 5
    assert {type(error) for error in full} == {RaceFull}
    inside = [player for player, one in zip(players, told, strict=True) if one not in full]
    again, new = await two.open_races.enter(inside[0], race.header.id, two.time.now)
    assert (again.header.player, new) == (inside[0], False)


@pytest.mark.parametrize("turn", range(5))
async def test_the_end_against_an_entry_in_another_process(houses, time, turn):
    """Whoever is first: no race has ended while somebody plays in it, and its total is true."""
    one, two = await houses(2)
    race = await one.open_race()
    players = await one.players(4)
    stamp = race.header.closes_at - 1
    time.now = race.header.closes_at + TIMEOUT_GRACE_MS

    async def late(player):
        await asyncio.sleep(turn * 0.001)
        return await two.open_races.enter(player, race.header.id, stamp)

    told, *_ = await asyncio.gather(
        at_once(*map(late, players)), one.settle(race), two.settle(race)
    )
    assert all(isinstance(entered, RaceOver | tuple) for entered in told)
    race = await one.race(race)
    inside = [entered for entered in told if isinstance(entered, tuple)]
    if race.state == "ended":
        assert (inside, race.total) == ([], 0)
        return
    assert len(inside) == len(players)
    for player, (play, _new) in zip(players, inside, strict=True):
        await one.finish(player, play.header.id, 0)
    race = await two.settle(race)
    assert (race.state, race.total) == ("ended", 4)


async def test_standings_grow_from_the_first_finisher_on(house, time):
    race = await house.open_race()
    first, second, third = await house.players(3)
    plays = {
        player: (await house.enter(player, race)).header.id for player in (first, second, third)
    }
    assert (await house.standings(race)).items == ()
    await house.finish(first, plays[first])
    (row,) = (await house.standings(race)).items
    assert (row.rank, row.points, row.player) == (1, None, first)
    time.now += 1
    await house.finish(second, plays[second], 2)
    await house.finish(third, plays[third], 0)  # without a move: nobody's other
    rows = (await house.standings(race)).items
    assert [(row.player, row.rank, row.points) for row in rows] == [
        *sorted([(first, 1, 50.0), (second, 1, 50.0)], key=lambda row: by_bits(row[0].id)),
        (third, None, None),
    ]


async def test_points_of_a_kind_are_those_against_everybody(house):
    """`kind` picks rows and ranks them among themselves; points stay those of the whole race."""
    race = await house.open_race()
    human, bot = await house.player(), await house.player("bot")
    plays = [(player, (await house.enter(player, race)).header.id) for player in (human, bot)]
    for score, (player, play) in enumerate(plays):
        await house.finish(player, play, scoring=score)
    whole = {row.player: row for row in (await house.standings(race)).items}
    for kind, player in (("human", human), ("bot", bot)):
        (row,) = (await house.standings(race, kind=kind)).items
        assert (row.player, row.rank, row.points) == (player, 1, whole[player].points)


async def test_the_end_told_to_those_beyond_the_first_fifty(house, time):
    race = await house.open_race()
    players = await house.players(SHOWN_STANDINGS + 3)
    for player in players:
        await house.finish(player, (await house.enter(player, race)).header.id)
    time.now = race.header.closes_at + TIMEOUT_GRACE_MS
    race = await house.settle(race)
    begun, log, deal = await house.reader.race_log(race.header.id)
    rows = await house.reader.outcomes.final_standings(race)
    assert fold(begun, log) == race
    ended = msgspec.json.decode(race_data(race, log[-1], rows))
    assert ended["type"] == "race-ended"
    assert (len(ended["standings"]), ended["total"]) == (SHOWN_STANDINGS, len(players))
    for at, row in enumerate(rows):
        own = personal_data(race, log[-1], rows, row.player.id, deal)
        if at < SHOWN_STANDINGS:
            assert own is None
        else:
            added = [*ended["standings"], msgspec.to_builtins(row)]
            assert msgspec.json.decode(own) == ended | {"standings": added}
    assert personal_data(race, log[-1], rows, new_id(1), deal) is None
    assert verify(await whole_proof(house, race, 20)).plays == len(players)
