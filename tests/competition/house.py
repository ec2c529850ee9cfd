"""The service's own parts without its edges: several houses on one database, at a time of our own."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from sqlalchemy import insert

from service.app import Process
from service.contest.play import Play
from service.contest.player import Player
from service.contest.race import Race
from service.settings import Settings
from service.storage.boards import Ask
from service.storage.clock import Clock
from service.storage.database import Database
from service.storage.ids import new_id
from service.storage.tables import players as players_table

NOON = 1_767_268_800_000  # 2026-01-01T12:00:00Z
MINUTE = 60_000
HOUR = 60 * MINUTE
DAY = 24 * HOUR


@dataclass
class Time:
    """What every house of a test takes for the time (epoch ms)."""

    now: int = NOON


class SetClock(Clock):
    """A clock that stands where a test has set it."""

    def __init__(self, time: Time) -> None:
        super().__init__(self._told)
        self._time = time

    async def _told(self) -> int:
        return self._time.now

    def now(self) -> int:
        return self._time.now


@dataclass
class House:
    """One process's referees and readers. Nothing happens by itself: `settle` is the clock's part."""

    process: Process
    time: Time
    names: Callable[[], int]

    @property
    def database(self) -> Database:
        return self.process.database

    @property
    def open_races(self):
        return self.process.open_races

    @property
    def races(self):
        return self.process.races

    @property
    def plays(self):
        return self.process.plays

    @property
    def reader(self):
        return self.process.reader

    @property
    def boards(self):
        return self.process.house.leaderboards

    async def players(self, count: int, kind: str = "human") -> list[Player]:
        """New players."""
        new = [Player(new_id(self.time.now), f"Player_{self.names()}", kind) for _ in range(count)]
        rows = [
            {"id": p.id, "name": p.name, "name_key": p.name.lower(), "kind": kind, "created_at": 1}
            for p in new
        ]
        await self.database.transact(lambda own: own.execute(insert(players_table), rows))
        return new

    async def player(self, kind: str = "human") -> Player:
        return (await self.players(1, kind))[0]

    async def open_race(self, maker: Player | None = None, **changes: Any) -> Race:
        """An open race, from now for an hour."""
        asked = {
            "name": None,
            "capacity": 1_000_000,
            "time_limit_ms": 10 * MINUTE,
            "ranking": None,
            "listed": True,
            "opens_at": self.time.now,
            "closes_at": self.time.now + HOUR,
        }
        return await self.open_races.create(
            maker or await self.player(), "kings-way", **(asked | changes)
        )

    async def enter(self, player: Player, race: Race | str) -> Play:
        race_id = race if isinstance(race, str) else race.header.id
        return (await self.open_races.enter(player, race_id, self.time.now))[0]

    async def live_race(self, *entrants: Player, **changes: Any) -> Race:
        """A live race that has started."""
        asked = {
            "name": None,
            "capacity": 1_000,
            "time_limit_ms": 10 * MINUTE,
            "ranking": "time",
            "rated": True,
            "listed": True,
        }
        race = await self.races.create_live(entrants[0], "kings-way", **(asked | changes))
        for entrant in entrants[1:]:
            await self.races.join(race.header.id, entrant)
        race = await self.races.start(race.header.id, entrants[0].id)
        self.time.now = race.starts_at
        await self.races.settle(race.header.id)
        return await self.reader.race(race.header.id)

    async def move(self, player: Player, play_id: str, move: str = "turn") -> None:
        """A move, now."""
        play, _sight, _state = await self.reader.play(play_id, player.id)
        await self.plays.move(player.id, play_id, play.ply + 1, move, None, self.time.now)

    async def finish(self, player: Player, play_id: str, turns: int = 1, scoring: int = 0) -> None:
        """Some turns, then as many moves as it takes for a score, all of them now; then the end."""
        for _ in range(turns):
            await self.move(player, play_id)
        while True:
            play, _sight, _state = await self.reader.play(play_id, player.id)
            if play.over:
                return
            if play.score >= scoring:
                break
            await self.move(player, play_id, min(play.legal, key=lambda move: move == "turn"))
        await self.plays.resign(player.id, play_id, self.time.now)

    async def race(self, race: Race) -> Race:
        return await self.reader.race(race.header.id)

    async def race_of(self, race_id: str) -> Race:
        return await self.reader.race(race_id)

    async def settle(self, race: Race) -> Race:
        """The race once nothing more is owed now; what the end of a play has set off included."""
        await self.process.clock.stop()
        await self.races.settle(race.header.id)
        return await self.race(race)

    async def standings(self, race: Race, limit: int = 100, **ask: Any):
        return await self.reader.outcomes.standings(await self.race(race), Ask(limit, **ask))

    async def rows(self, query: Any) -> list[Any]:
        async with self.database.read() as connection:
            return list(await connection.execute(query))


def process_on(url: str, time: Time | None, **settings: Any) -> Process:
    """The parts of a process, not started; its clock stands where `time` is, if given."""
    process = Process(Settings(database_url=url, countdown_ms=1_000, **settings))
    if time is not None:
        process.database.clock = SetClock(time)
    return process


async def start(process: Process) -> None:
    await process.database.start()
    await process.journal.start()
    await process.bus.start()


async def stop(process: Process) -> None:
    await process.clock.stop()
    await process.hub.stop()
    await process.journal.stop()
    await process.bus.stop()
    await process.buckets.stop()
    if process.redis_boards is not None:
        await process.redis_boards.stop()
    await process.database.stop()
