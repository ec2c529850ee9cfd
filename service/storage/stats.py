"""A player's record, from what ended races and plays have left behind."""

from typing import Any, NamedTuple

from sqlalchemy import and_, case, func, select
from sqlalchemy.ext.asyncio import AsyncConnection

from service.storage.competition_tables import dailies
from service.storage.tables import plays, races


class Record(NamedTuple):
    """One game's record. `best_ms` and `best_plies` of solved race plays, None without one.

    `races` counts ended races in which the player made a move, `wins` those ranked first among
    at least two.
    """

    game: str
    races: int
    wins: int
    solved: int
    best_ms: int | None
    best_plies: int | None
    practised: int


async def records(connection: AsyncConnection, player_id: str) -> dict[str, Record]:
    """By game: a player's record; games never played are left out."""
    ranked = and_(plays.c.race_id.is_not(None), plays.c.rank.is_not(None))
    solved = and_(plays.c.race_id.is_not(None), plays.c.status == "solved")
    opposed = and_(ranked, plays.c.rank == 1, plays.c.points.is_not(None), races.c.total != 1)
    query = (
        select(
            plays.c.game,
            _count(ranked),
            _count(opposed),
            _count(solved),
            func.min(case((solved, plays.c.score_ms))),
            func.min(case((solved, plays.c.score_plies))),
            _count(plays.c.race_id.is_(None)),
        )
        .outerjoin(races, races.c.id == plays.c.race_id)
        .where(plays.c.player_id == player_id)
        .group_by(plays.c.game)
    )
    return {row[0]: Record(*row) for row in await connection.execute(query)}


def _count(condition: Any) -> Any:
    return func.sum(case((condition, 1), else_=0))


async def daily_dates(connection: AsyncConnection, player_id: str, game: str) -> list[str]:
    """The dates of a game's dailies in which the player made a move, in order."""
    query = (
        select(dailies.c.date)
        .join(plays, plays.c.race_id == dailies.c.race_id)
        .where(dailies.c.game == game, plays.c.player_id == player_id, plays.c.moved)
        .order_by(dailies.c.date)
    )
    return list((await connection.execute(query)).scalars())
