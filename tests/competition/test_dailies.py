"""The daily: one a game and UTC date, whoever makes it, wherever the server stands."""

import asyncio
import os
import subprocess
import sys
from datetime import UTC, datetime

import pytest
from sqlalchemy import func, select

from service.contest.play import TIMEOUT_GRACE_MS
from service.contest.proof import verify
from service.rules import GAMES
from service.storage.competition_tables import dailies
from service.storage.shelf import NotFound
from service.storage.tables import races as races_table
from tests.competition.house import DAY, MINUTE
from tests.competition.proofs import whole_proof


def day(at: int) -> str:
    return datetime.fromtimestamp(at / 1000, UTC).date().isoformat()


async def test_four_processes_make_one(houses, month):
    four = await houses(4)
    made = await asyncio.gather(
        *(house.open_races.make_dailies(house.time.now) for house in four),
        *(house.open_races.daily(game) for house in four for game in GAMES),
    )
    ids = made[4:]
    assert len(set(ids)) == len(GAMES)
    today = day(four[0].time.now)
    of_today = select(dailies.c.race_id).where(dailies.c.date == today)
    assert {race_id for (race_id,) in await four[0].rows(of_today)} == set(ids)
    stray = select(func.count()).where(
        races_table.c.opens_at == (four[0].time.now // DAY) * DAY, races_table.c.id.not_in(ids)
    )
    assert await four[0].rows(stray) == [(0,)]
    race = await four[1].race_of(ids[0])
    assert (race.header.daily, race.header.opens_at % DAY) == (today, 0)
    assert race.header.closes_at == race.header.opens_at + DAY


async def test_tomorrows_does_not_exist_and_yesterdays_is_not_made_up(house, time, month):
    today, tomorrow, yesterday = (day(time.now + n * DAY) for n in (0, 1, -1))
    for game in GAMES:
        for missing in (tomorrow, yesterday, "9999-12-31", "0001-01-01"):
            with pytest.raises(NotFound):
                await house.open_races.daily(game, missing)
        made = await house.open_races.daily(game, today)
        assert await house.open_races.daily(game) == made
        time.now += DAY
        assert await house.open_races.daily(game, today) == made
        assert await house.open_races.daily(game) != made
        time.now -= DAY


async def test_a_play_begun_at_one_minute_to_midnight_counts_for_its_day(house, time, month):
    time.now = (time.now // DAY + 1) * DAY - MINUTE
    player = await house.player()
    race = await house.race_of(await house.open_races.daily("kings-way"))
    play = await house.enter(player, race)
    time.now += 10 * MINUTE
    await house.open_races.make_dailies(time.now)
    assert (await house.settle(race)).state == "running"
    await house.finish(player, play.header.id, scoring=1)
    race = await house.settle(race)
    assert race.state == "ended"
    (row,) = (await house.standings(race)).items
    assert (row.player, row.rank, row.points) == (player, 1, 100.0)
    assert race.header.daily == day(play.header.started_at)
    new = await house.race_of(await house.open_races.daily("kings-way"))
    assert (new.header.daily, new.total) == (day(time.now), 0)


async def test_the_proof_of_a_daily_counts_one_alone_as_everything(house, time, month):
    player, idle = await house.players(2)
    race = await house.race_of(await house.open_races.daily("royal-mullein"))
    for who, turns in ((player, 3), (idle, 0)):
        await house.finish(who, (await house.enter(who, race)).header.id, turns)
    time.now = race.header.closes_at + TIMEOUT_GRACE_MS
    race = await house.settle(race)
    proof = await whole_proof(house, race, 1)
    assert verify(proof).plays == 2
    rows = (await house.standings(race)).items
    assert [(row.player, row.points) for row in rows] == [(player, 100.0), (idle, None)]


DAYS = """
import asyncio, sys
from datetime import UTC, datetime
from service.contest.season import DAY_MS
from tests.competition.house import Time, process_on, start, stop

async def main():
    time = Time()
    process = process_on(sys.argv[1], time)
    await start(process)
    for date in sys.argv[2:]:
        time.now = int(datetime.fromisoformat(date).timestamp() * 1000)
        await process.open_races.make_dailies(time.now)
    await stop(process)

asyncio.run(main())
"""

# The nights in which New York and Sydney put their clocks forward and back, and hours around them.
CHANGES = ("2026-03-08", "2026-11-01", "2026-04-04", "2026-04-05", "2026-10-03", "2026-10-04")
HOURS = (
    "00:00:00",
    "01:30:00",
    "05:59:59",
    "06:59:59.999",
    "13:30",
    "15:59",
    "16:01",
    "23:59:59.999",
)


@pytest.mark.parametrize(
    ("database_kind", "zone"),
    [("sqlite", "America/New_York"), ("postgres", "Australia/Sydney")],
    indirect=["database_kind"],
)
async def test_one_a_utc_date_where_the_clocks_change(own_house, zone):
    instants = [f"{date}T{hour}+00:00" for date in CHANGES for hour in HOURS]
    url = own_house.database.url.render_as_string(hide_password=False)
    done = await asyncio.to_thread(
        subprocess.run,
        [sys.executable, "-W", "error", "-c", DAYS, url, *instants],
        env={**os.environ, "TZ": zone},
        capture_output=True,
        text=True,
    )
    assert (done.returncode, done.stderr) == (0, "")
    made = await own_house.rows(
        select(
            dailies.c.game, dailies.c.date, races_table.c.opens_at, races_table.c.closes_at
        ).join(races_table, races_table.c.id == dailies.c.race_id)
    )
    assert sorted((game, date) for game, date, *_ in made) == sorted(
        (game, date) for game in GAMES for date in CHANGES
    )
    for _game, date, opens_at, closes_at in made:
        assert opens_at == int(datetime.fromisoformat(f"{date}T00:00+00:00").timestamp()) * 1000
        assert closes_at == opens_at + DAY
