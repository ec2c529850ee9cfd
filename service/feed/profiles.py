"""A player's public record: counts, best times, streaks, rating and its history."""

import msgspec

from service.contest.rating import Skill
from service.contest.season import day_of, streaks
from service.feed.views import instant
from service.rules import GAMES
from service.storage import players, results, stats
from service.storage.database import Database
from service.storage.shelf import NotFound


class RatingView(msgspec.Struct, frozen=True):
    """A rating in one game; null where there is none yet."""

    rating: int
    races: int
    provisional: bool


class GameRecord(msgspec.Struct, frozen=True):
    """One game's record. `win_rate` in per cent of the races with a move, to a tenth."""

    races: int
    wins: int
    win_rate: float | None
    solved: int
    best_ms: int | None
    best_plies: int | None
    practised: int
    daily_streak: int
    best_daily_streak: int
    rating: RatingView | None


class Profile(msgspec.Struct, frozen=True):
    """A player and their record by game."""

    id: str
    name: str
    kind: str
    games: dict[str, GameRecord]


class RatingStep(msgspec.Struct, frozen=True):
    """The rating after one race: a point of the graph."""

    n: int
    at: str
    race: str
    rating: int
    provisional: bool


def _rating_view(skill: Skill) -> RatingView | None:
    return RatingView(skill.shown, skill.races, skill.provisional) if skill.races else None


class Profiles:
    """What everybody may know of a player."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def profile(self, player_id: str) -> Profile:
        """A player's record in every game. Raises `NotFound`."""
        async with self._database.read() as connection:
            player = await players.by_id(connection, player_id)
            if player is None:
                raise NotFound
            known = await stats.records(connection, player_id)
            today = day_of(self._database.clock.now())
            games = {}
            for game in GAMES:
                record = known.get(game) or stats.Record(game, 0, 0, 0, None, None, 0)
                run, best = streaks(await stats.daily_dates(connection, player_id, game), today)
                skill = (await results.skills(connection, game, [player_id]))[player_id]
                rate = round(1000 * record.wins / record.races) / 10 if record.races else None
                games[game] = GameRecord(
                    record.races,
                    record.wins,
                    rate,
                    record.solved,
                    record.best_ms,
                    record.best_plies,
                    record.practised,
                    run,
                    best,
                    _rating_view(skill),
                )
        return Profile(player.id, player.name, player.kind, games)

    async def rating_history(
        self, player_id: str, game: str, after: int, limit: int
    ) -> tuple[list[RatingStep], int | None]:
        """A page of a player's ratings from the first on, and the number to go on after.

        Raises `NotFound`.
        """
        async with self._database.read() as connection:
            if await players.by_id(connection, player_id) is None:
                raise NotFound
            rows = await results.rating_history(
                connection, game, player_id, after=after, limit=limit + 1
            )
        steps = [
            RatingStep(n, instant(at), race, skill.shown, skill.provisional)
            for n, at, race, skill in rows[:limit]
        ]
        return steps, steps[-1].n if len(rows) > limit else None
