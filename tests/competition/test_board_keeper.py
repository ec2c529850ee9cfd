"""Redis's boards kept true: emptied, restarted, paused, behind, rebuilt."""

import asyncio
import os
import signal
import uuid
from collections.abc import AsyncIterator

import pytest
from click.testing import CliRunner

from service.accounts.accounts import Accounts
from service.cli import main
from service.contest.play import TIMEOUT_GRACE_MS
from service.contest.season import season_board
from service.feed.boards import Leaderboards
from service.live.boards import BoardsAway
from service.referee.board_keeper import rebuild_all
from service.storage import results
from service.storage.boards import Ask, Board, slice_of
from tests.competition.conftest import Houses
from tests.competition.house import House
from tests.servers import RedisServer, free_port
from tests.storage.rows import until

GAME = "kings-way"


class Kept:
    """A house with Redis whose keeper is at work, and one that has only the database."""

    def __init__(self, house: House, other: House, month: str) -> None:
        self.house = house
        self.other = other
        self.redis = house.process.redis_boards
        self.sql = Leaderboards(house.database, None, lambda *_: None)
        self.month = month
        self.daily = ""

    async def begin(self) -> None:
        """Five players with points, and three who have finished today's daily."""
        self.people = await self.house.players(5)
        await self.points({player.id: n for n, player in enumerate(self.people)})
        self.daily = await self.house.open_races.daily(GAME)
        for player in self.people[:3]:
            play = await self.house.enter(player, self.daily)
            await self.house.finish(player, play.header.id)

    async def points(self, points: dict[str, int]) -> None:
        board = season_board(GAME, self.month)
        await self.house.database.transact(lambda own: results.add_points(own, board, points))

    async def pages(self, boards: Leaderboards, **ask):
        """Every row of the season and of the daily, whatever their moment."""
        header = (await self.house.race_of(self.daily)).header
        season = await boards.season(GAME, self.month, Ask(100, **ask))
        daily = await boards.race(header, False, Ask(100, **ask))
        return [(page.items, page.total, page.me) for page in (season, daily)]

    async def equal(self, **ask) -> bool:
        """Both boards are as the database has them; whoever answers."""
        return await self.pages(self.house.boards, **ask) == await self.pages(self.sql, **ask)

    async def from_redis(self) -> bool:
        """Both boards are complete in Redis, and there they are the same. Asking is what wakes it."""
        assert len(await self.pages(self.house.boards)) == 2
        try:
            for name, board in self.boards.items():
                ask = Ask(100, me=self.people[0].id)
                async with self.house.database.read() as connection:
                    told = await slice_of(connection, board, ask)
                if await self.redis.slice_of(name, ask) != told:
                    return False
        except BoardsAway:
            return False
        return True

    @property
    def boards(self) -> dict[str, Board]:
        season = season_board(GAME, self.month)
        return {
            season: Board("rows", season),
            f"daily:{self.daily}": Board("race", self.daily),
        }


@pytest.fixture
async def kept(
    houses: Houses, common_url: str, month: str, redis_server: RedisServer
) -> AsyncIterator[Kept]:
    redis_server.start()
    prefix = f"{uuid.uuid4()}:"
    two = await houses(2, redis_url=redis_server.url, redis_prefix=prefix)
    for house in two:
        await house.process.keeper.start()
    kept = Kept(*two, month)
    await kept.begin()
    await until(kept.from_redis)
    yield kept
    redis_server.start()
    for house in two:
        await house.process.keeper.stop()


async def test_it_comes_by_itself_and_follows(kept):
    assert await kept.equal(me=kept.people[1].id)
    await kept.points({kept.people[0].id: 500})
    player = await kept.house.player("bot")
    await kept.house.finish(player, (await kept.house.enter(player, kept.daily)).header.id)
    await until(kept.from_redis)
    season, daily = await kept.pages(kept.house.boards, me=kept.people[0].id)
    assert (season[2].rank, season[2].points) == (1, 50.0)
    assert daily[1] == 4


async def test_emptied(kept, redis_server):
    redis_server.flush()
    assert await kept.equal()
    await until(kept.from_redis)


async def test_away_for_a_while(kept, redis_server):
    """Pages come from the database; what happens meanwhile is in Redis when it is back."""
    redis_server.stop()
    assert await kept.equal()
    await kept.points({kept.people[0].id: 700})
    player = await kept.house.player()
    await kept.house.finish(player, (await kept.house.enter(player, kept.daily)).header.id)
    assert await kept.equal(me=player.id)
    assert not await kept.from_redis()
    redis_server.start()
    await until(kept.from_redis)
    assert await kept.equal(me=kept.people[0].id)


async def test_it_stands_still_for_a_while(kept, redis_server):
    """As after a long pause: what it has is old, and is brought up to date."""
    os.kill(redis_server._process.pid, signal.SIGSTOP)
    try:
        assert await kept.equal()
        await kept.points({kept.people[0].id: 900})
        assert await kept.equal(me=kept.people[0].id)
    finally:
        os.kill(redis_server._process.pid, signal.SIGCONT)
    await until(kept.from_redis)
    assert await kept.equal(me=kept.people[0].id)


async def test_the_end_of_a_daily_changes_no_row_of_it(kept, time):
    race = await kept.house.race_of(kept.daily)
    time.now = race.header.closes_at + TIMEOUT_GRACE_MS
    race = await kept.house.settle(race)
    assert race.state == "ended"
    await until(kept.from_redis)
    page = await kept.house.boards.race(race.header, True, Ask(100))
    assert page.items == await kept.house.reader.outcomes.final_standings(race)


async def test_who_claims_a_name_moves_among_the_humans(kept):
    guest = await kept.house.player("guest")
    await kept.house.finish(guest, (await kept.house.enter(guest, kept.daily)).header.id)
    await until(kept.from_redis)
    header = (await kept.house.race_of(kept.daily)).header

    async def of_kind(kind: str) -> set[str]:
        page = await kept.house.boards.race(header, False, Ask(100, kind=kind))
        return {row.player.id for row in page.items}

    assert await of_kind("guest") == {guest.id}
    accounts: Accounts = kept.house.process.house.accounts
    await accounts.claim(guest, f"Claimed_{guest.name[7:]}", "a good password")

    async def moved() -> bool:
        return await of_kind("guest") == set() and guest.id in await of_kind("human")

    await until(moved)
    assert await kept.redis.is_complete(f"daily:{kept.daily}")


async def test_two_keepers_tell_the_same_rows(kept):
    """Both processes tell every change at the same time, while there are more and more."""
    people = [player.id for player in kept.people]
    for n in range(8):
        await kept.points({player: n + at for at, player in enumerate(people)})
        await asyncio.gather(*(house.process.keeper._tell() for house in (kept.house, kept.other)))
        assert await kept.from_redis()


async def test_rebuild_all(kept):
    name = season_board(GAME, kept.month)
    wrong = next(iter(kept.people))
    await kept.redis._redis.zadd(kept.redis._rows(name, None), {"00" * 16: 1})
    await kept.redis._redis.zrem(kept.redis._rows(name, None), wrong.id)
    assert not await kept.from_redis()
    rebuilt = await rebuild_all(kept.house.database, kept.redis)
    assert set(kept.boards) <= set(rebuilt)
    assert await kept.from_redis()


async def test_a_flush_between_the_rows_and_the_mark(kept, redis_server):
    """Then the board is not complete, and says so."""
    name = season_board(GAME, kept.month)
    await kept.redis.drop([name])
    assert await kept.redis.begin_rebuild(name, "ours")
    assert not await kept.redis.begin_rebuild(name, "theirs")
    redis_server.flush()
    await kept.redis.complete(name, "ours")
    assert not await kept.redis.is_complete(name)


# The command


@pytest.fixture
def run(monkeypatch, tmp_path):
    """`samedeal boards rebuild` with an environment: its exit status and what it says."""

    async def run(**environ: str) -> tuple[int, str]:
        told = await asyncio.to_thread(
            CliRunner().invoke,
            main,
            ["boards", "rebuild", "--data-dir", str(tmp_path)],
            env={"SAMEDEAL_REDIS_URL": "", "SAMEDEAL_DATABASE_URL": "", **environ},
        )
        return told.exit_code, told.output

    return run


async def test_the_command_says_what_it_has_rebuilt(kept, run, redis_server):
    redis_server.flush()
    status, said = await run(
        SAMEDEAL_REDIS_URL=redis_server.url,
        SAMEDEAL_REDIS_PREFIX=kept.redis._prefix.removesuffix("board:"),
        SAMEDEAL_DATABASE_URL=kept.house.database.url.render_as_string(hide_password=False),
    )
    *names, last = said.splitlines()
    assert (status, last) == (0, f"Rebuilt {len(names)} boards.")
    assert set(kept.boards) <= set(names)
    assert await kept.from_redis()


async def test_the_command_without_redis_or_a_database(run, redis_url):
    status, said = await run()
    assert status == 1
    assert said.startswith("Error: SAMEDEAL_REDIS_URL is not set")
    nobody = f"127.0.0.1:{free_port()}"
    assert await run(SAMEDEAL_REDIS_URL=f"redis://{nobody}/0") == (
        1,
        "Error: Redis does not answer\n",
    )
    status, said = await run(
        SAMEDEAL_REDIS_URL=redis_url, SAMEDEAL_DATABASE_URL=f"postgresql://u:secret@{nobody}/d"
    )
    assert status == 1
    assert said.startswith("Error: the database cannot be used")
    assert "secret" not in said
    assert len(said.splitlines()) == 1
