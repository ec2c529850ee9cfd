"""Season points and ratings: who gets them, when, once, and that the results give them again."""

import asyncio
from collections import defaultdict
from datetime import UTC, datetime

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import delete, select, text

from service.contest.play import TIMEOUT_GRACE_MS
from service.contest.player import Player
from service.contest.proof import verify
from service.contest.ranking import UNMOVED
from service.contest.rating import PROVISIONAL_RACES, Skill, recomputed
from service.contest.season import rating_board, season_board, season_of
from service.storage import races as stored
from service.storage import results
from service.storage.boards import Ask
from service.storage.competition_tables import board_rows, rating_log, ratings
from service.storage.database import Database
from service.storage.ids import new_id
from tests.competition.house import DAY, HOUR, MINUTE, House
from tests.competition.proofs import whole_proof
from tests.storage.rows import until

GAME = "kings-way"


def ms(*when: int) -> int:
    return int(datetime(*when, tzinfo=UTC).timestamp()) * 1000


def next_month(month: str) -> int:
    year, number = map(int, month.split("-"))
    return ms(year + number // 12, number % 12 + 1, 1)


async def ended(house: House, race, *players: Player, turns=(), scores=()):
    """The race after all these have played it: so many turns, then moves up to a score."""
    for at, player in enumerate(players):
        play = (await house.reader.view_of(await house.race(race), player.id)).me.play
        wanted = scores[at] if scores else 0
        await house.finish(player, play, turns[at] if turns else 1, wanted)
    return await house.settle(race)


async def season(house: House, month: str, **ask) -> dict[str, tuple[int | None, float, int]]:
    """By player: rank, points, races."""
    page = await house.boards.season(GAME, month, Ask(100, **ask))
    return {row.player.id: (row.rank, row.points, row.races) for row in page.items}


async def rating(house: House, player: Player):
    """A player's row of the rating board, None without."""
    return (await house.boards.rating(GAME, Ask(1, me=player.id))).me


async def test_a_rated_race_gives_points_by_its_start_and_ratings_at_its_end(house, time, month):
    human, other, bot, guest = (
        *await house.players(2),
        *[await house.player(kind) for kind in ("bot", "guest")],
    )
    end_of_month = next_month(month)
    time.now = end_of_month - 1_001
    race = await house.live_race(guest, bot, human, other)
    assert race.starts_at == end_of_month - 1
    time.now = end_of_month + MINUTE
    await ended(house, race, guest, bot, human, other, turns=(1, 1, 1, 0), scores=(3, 2, 1, 0))
    # The guest counts as an opponent and scores nothing; who never moved is nobody's opponent.
    assert await season(house, month) == {bot.id: (1, 50.0, 1), human.id: (2, 0.0, 1)}
    assert await season(house, month, kind="bot") == {bot.id: (1, 50.0, 1)}
    assert await season(house, f"{datetime.fromtimestamp(time.now / 1000, UTC):%Y-%m}") == {}
    standings = (await house.standings(race)).items
    assert [(row.player, row.rank, row.points) for row in standings] == [
        (guest, 1, 100.0),
        (bot, 2, 50.0),
        (human, 3, 0.0),
        (other, None, None),
    ]
    assert (await rating(house, bot)).rating > 1000 > (await rating(house, human)).rating
    assert await rating(house, guest) is None
    assert await rating(house, other) is None


async def test_unrated_alone_and_open_races_give_neither(house, month):
    one, two = await house.players(2)
    await ended(house, await house.live_race(one, two, rated=False), one, two)
    await ended(house, await house.live_race(one), one)
    await ended(house, await house.live_race(one, two), one, two, turns=(1, 0))
    race = await house.open_race()
    house.time.now = race.header.closes_at - 1
    await house.enter(one, race)
    await house.enter(two, race)
    house.time.now = race.header.closes_at + TIMEOUT_GRACE_MS
    assert (await ended(house, race, one, two)).state == "ended"
    assert await season(house, month) == {}
    assert await rating(house, one) is None
    alone = await house.live_race(one)
    alone = await ended(house, alone, one)
    (row,) = (await house.standings(alone)).items
    assert (row.rank, row.points) == (1, None)


async def test_a_daily_gives_points_by_its_date(house, time, month):
    last_day = next_month(month) - DAY
    time.now = last_day + HOUR
    one, two, guest, late = (
        *await house.players(2),
        await house.player("guest"),
        await house.player(),
    )
    race = await house.race_of(await house.open_races.daily(GAME))
    for player in (one, two, guest):
        await house.enter(player, race)
    await ended(house, race, one, two, guest, scores=(1, 0, 2))
    time.now = last_day + DAY - MINUTE
    play = await house.enter(late, race)
    assert await season(house, month) == {}
    time.now = last_day + DAY + MINUTE
    await house.finish(late, play.header.id, scoring=3)
    assert (await house.settle(race)).state == "ended"
    assert await season(house, month) == {
        late.id: (1, 100.0, 1),
        one.id: (2, 33.3, 1),
        two.id: (3, 0.0, 1),
    }
    assert await rating(house, one) is None


async def test_alone_in_a_daily_is_everything(house, time, month):
    player = await house.player()
    race = await house.race_of(await house.open_races.daily(GAME))
    await house.enter(player, race)
    no_show = await house.player()
    await house.enter(no_show, race)
    await ended(house, race, player, no_show, turns=(1, 0))
    time.now = race.header.closes_at + TIMEOUT_GRACE_MS
    await house.settle(race)
    assert await season(house, month) == {player.id: (1, 100.0, 1)}


async def test_sums_are_exact(house, time, month):
    """A third of the points thirty times over: floats would drift."""
    player = await house.player()
    board = season_board(GAME, month)
    for _ in range(30):
        await house.database.transact(
            lambda own: results.add_points(own, board, {player.id: results.tenths(33.3)})
        )
    assert await season(house, month) == {player.id: (1, 999.0, 30)}


async def test_a_season_takes_a_daily_of_any_size(house, month):
    """More entrants than a statement has parameters."""
    points = {new_id(1): n % 1001 for n in range(9_000)}
    board = season_board(GAME, month)
    await house.database.transact(lambda own: results.add_points(own, board, points))
    rows = await house.rows(
        select(board_rows.c.player_id, board_rows.c.merit).where(board_rows.c.board == board)
    )
    assert {player: -merit for player, merit in rows} == points
    gone = delete(board_rows).where(board_rows.c.board == board)
    await house.database.transact(lambda own: own.execute(gone))


async def test_ties_rate_alike_and_ten_races_settle_it(house):
    one, two = await house.players(2)
    for n in range(1, PROVISIONAL_RACES + 1):
        await ended(house, await house.live_race(one, two), one, two)
        rows = [await rating(house, player) for player in (one, two)]
        assert {(row.rating, row.races, row.provisional) for row in rows} == {
            (rows[0].rating, n, n < PROVISIONAL_RACES)
        }
    async with house.database.read() as connection:
        history = await results.rating_history(connection, GAME, one.id, after=0, limit=100)
    assert [skill.races for *_rest, skill in history] == list(range(1, PROVISIONAL_RACES + 1))


async def test_once_a_race_however_many_settle_it(own_houses):
    houses = await own_houses(3)
    one, two = await houses[0].players(2)
    race = await houses[0].live_race(one, two)
    for player in (one, two):
        play = (await houses[1].reader.view_of(race, player.id)).me.play
        await houses[1].finish(player, play)
    await asyncio.gather(*(house.settle(race) for house in houses))
    month = datetime.fromtimestamp(houses[0].time.now / 1000, UTC).strftime("%Y-%m")
    assert await season(houses[2], month) == {one.id: (1, 50.0, 1), two.id: (1, 50.0, 1)}
    assert await houses[2].rows(select(rating_log.c.n, rating_log.c.race_id)) == [
        (1, race.header.id)
    ]
    assert (await rating(houses[2], one)).races == 1


@pytest.mark.parametrize("database_kind", ["postgres"], indirect=True)
async def test_two_races_of_the_same_players_rated_at_once(own_houses, common_url):
    """One is held up where it takes its number, while the other is rated."""
    (house,) = await own_houses(1)
    one, two = await house.players(2)
    other = Database(house.database.url)
    other_race = new_id(1)
    ahead = {player: Skill(30.0, 5.0, 1) for player in (one.id, two.id)}
    held, go = asyncio.Event(), asyncio.Event()

    async def rate_the_other(own) -> None:
        await own.execute(text("LOCK TABLE rating_log IN ACCESS EXCLUSIVE MODE"))
        held.set()
        await go.wait()
        await results.append_rating(own, GAME, 1, other_race, ahead, 1)

    async def waits() -> bool:
        query = text("SELECT count(*) FROM pg_locks WHERE NOT granted")
        return (await house.rows(query))[0][0] > 0

    race = await house.live_race(one, two)
    holding = asyncio.create_task(other.transact(rate_the_other))
    await held.wait()
    settling = asyncio.create_task(ended(house, race, one, two))
    await until(waits)
    go.set()
    await holding
    await settling
    await other.stop()
    rows = await house.rows(select(ratings.c.n, ratings.c.races).order_by(ratings.c.n))
    assert rows == [(1, 1), (1, 1), (2, 2), (2, 2)]


plays_of = st.lists(
    st.tuples(st.integers(0, 7), st.integers(0, 2), st.integers(0, 2), st.integers(0, 1_000)),
    min_size=1,
    max_size=5,
    unique_by=lambda play: play[0],
)
"""Players, and for each: turns, a score to reach, and how long it takes."""


@given(
    rounds=st.lists(
        st.tuples(st.sampled_from(["rated", "unrated", "daily"]), plays_of), min_size=2, max_size=4
    )
)
@settings(
    max_examples=3, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
async def test_all_of_it_follows_from_the_results(own_houses, time, rounds):
    """Several races at once, settled in two processes; then everything again from the standings."""
    houses = await own_houses(2)
    one, two = houses
    people = [
        player
        for kind, n in (("human", 5), ("bot", 2), ("guest", 1))
        for player in await one.players(n, kind)
    ]
    time.now += DAY  # another daily for every example
    races = []
    for kind, chosen in rounds:
        entrants = [people[who] for who, *_rest in chosen]
        if kind == "daily":
            race = await one.race_of(await one.open_races.daily(GAME))
            for player in entrants:
                await two.enter(player, race)
        else:
            race = await one.live_race(*entrants, rated=kind == "rated")
        races.append((race, chosen))
    for race, chosen in races:
        for who, turns, score, takes in chosen:
            time.now += takes
            house = houses[who % 2]
            play = (await house.reader.view_of(await house.race(race), people[who].id)).me.play
            if not (await house.reader.play(play, people[who].id))[0].over:
                await house.finish(people[who], play, turns, score)
    time.now = (time.now // DAY + 1) * DAY + TIMEOUT_GRACE_MS
    await asyncio.gather(*(house.settle(race) for race, _chosen in races for house in houses))
    await same_again(two)


async def same_again(house: House) -> None:
    """Compare the season and rating tables with what the standings of all races give."""
    log = await house.rows(select(rating_log.c.race_id).order_by(rating_log.c.n))
    points: dict[tuple[str, str], list[int]] = defaultdict(list)
    ranks: dict[str, dict[str, int]] = {}
    async with house.database.read() as connection:
        races = [
            await house.reader.race(race_id)
            for race_id in await stored.page(connection, before=None, limit=1_000)
        ]
    for race in races:
        assert race.state == "ended"
        header = race.header
        rows = [
            row
            for row in await house.reader.outcomes.final_standings(race)
            if row.player.kind != "guest"
        ]
        if header.kind == "live" and not header.rated:
            continue
        month = (header.daily or season_of(race.starts_at))[:7]
        for row in rows:
            if row.points is not None:
                points[season_board(GAME, month), row.player.id].append(round(row.points * 10))
        if header.kind == "live":
            ranks[header.id] = {row.player.id: row.rank for row in rows if row.rank is not None}
    rated_races = {race_id for race_id, of in ranks.items() if len(of) > 1}
    assert rated_races == {race_id for (race_id,) in log}
    columns = (board_rows.c.board, board_rows.c.player_id, board_rows.c.merit, board_rows.c.races)
    table = {(board, player): told for board, player, *told in await house.rows(select(*columns))}
    skills = recomputed([ranks[race_id] for (race_id,) in log])
    assert table == {key: [-sum(of), len(of)] for key, of in points.items()} | {
        (rating_board(GAME), player): [-skill.shown, skill.races]
        for player, skill in skills.items()
    }
    async with house.database.read() as connection:
        assert await results.skills(connection, GAME, sorted(skills)) == skills
    assert all(merit < UNMOVED for merit, _races in table.values())


async def test_a_name_claimed_afterwards_leaves_the_proof_whole(house):
    """The race knows its entrants as they were; what it gave does not change."""
    guest, other = await house.player("guest"), await house.player()
    race = await house.live_race(guest, other)
    race = await ended(house, race, guest, other, scores=(1, 0))
    later = await house.open_race()
    house.time.now = later.header.closes_at - 1
    await house.enter(guest, later)
    later = await ended(house, later, guest)
    await house.process.house.accounts.claim(guest, f"Claimed_{guest.name[7:]}", "a good password")
    assert verify(await whole_proof(house, race, 1)).plays == 2
    assert await rating(house, guest) is None
    house.time.now += TIMEOUT_GRACE_MS + 1
    assert (await house.settle(later)).state == "ended"
    assert verify(await whole_proof(house, later, 1)).plays == 1
