"""What a race leaves behind when it ends: ranks and points, season sums, ratings."""

from collections.abc import Mapping, Sequence

from sqlalchemy import bindparam, func, insert, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from service.contest.ranking import Standing
from service.contest.rating import Skill
from service.contest.season import rating_board
from service.storage.competition_tables import board_rows, rating_log, ratings
from service.storage.journal import Conflict
from service.storage.tables import players, plays


def tenths(points: float) -> int:
    """Points in tenths of a per cent, exactly."""
    return round(points * 10)


async def set_standings(connection: AsyncConnection, rows: Sequence[Standing]) -> None:
    """Write ranks and points to the plays of a race that has ended."""
    if rows:
        query = (
            update(plays)
            .where(plays.c.id == bindparam("play"))
            .values(rank=bindparam("to_rank"), points=bindparam("to_points"))
        )
        await connection.execute(
            query,
            [
                {
                    "play": row.play,
                    "to_rank": row.rank,
                    "to_points": None if row.points is None else tenths(row.points),
                }
                for row in sorted(rows, key=lambda row: row.play)
            ],
        )


async def registered(connection: AsyncConnection, race_id: str) -> set[str]:
    """Those of a race's players who are no guests now."""
    query = (
        select(players.c.id)
        .join(plays, plays.c.player_id == players.c.id)
        .where(plays.c.race_id == race_id, players.c.kind != "guest")
    )
    return set((await connection.execute(query)).scalars())


async def add_points(connection: AsyncConnection, board: str, points: Mapping[str, int]) -> None:
    """Add tenths of match points to rows of a season's board."""
    if not points:
        return
    upsert = sqlite.insert if connection.dialect.name == "sqlite" else postgresql.insert
    query = upsert(board_rows)
    query = query.on_conflict_do_update(
        index_elements=["board", "player_id"],
        set_={
            "merit": board_rows.c.merit + query.excluded.merit,
            "races": board_rows.c.races + 1,
            "v": board_rows.c.v + 1,
        },
    )
    # One statement for each: all in one have more parameters than a driver takes.
    await connection.execute(
        query,
        [
            {"board": board, "player_id": player, "merit": -points[player], "races": 1, "v": 1}
            for player in sorted(points)
        ],
    )


async def skills(
    connection: AsyncConnection, game: str, player_ids: Sequence[str]
) -> dict[str, Skill]:
    """By player: the present skill in a game; the unrated have the one to begin with."""
    latest = (
        select(ratings.c.player_id, func.max(ratings.c.n).label("n"))
        .where(ratings.c.game == game, ratings.c.player_id.in_(player_ids))
        .group_by(ratings.c.player_id)
        .subquery()
    )
    query = (
        select(ratings.c.player_id, ratings.c.mu, ratings.c.sigma, ratings.c.races)
        .join(latest, (latest.c.player_id == ratings.c.player_id) & (latest.c.n == ratings.c.n))
        .where(ratings.c.game == game)
    )
    found = {row.player_id: Skill(*row[1:]) for row in await connection.execute(query)}
    return {player: found.get(player, Skill()) for player in player_ids}


async def next_rated(connection: AsyncConnection, game: str) -> int:
    """The number of the next rated race of a game."""
    query = select(func.coalesce(func.max(rating_log.c.n), 0)).where(rating_log.c.game == game)
    return int((await connection.execute(query)).scalar_one()) + 1


async def append_rating(
    connection: AsyncConnection,
    game: str,
    n: int,
    race_id: str,
    after: Mapping[str, Skill],
    now: int,
) -> None:
    """Log the n-th rated race of a game, once. Raises `Conflict` when another race is the n-th."""
    try:
        await connection.execute(insert(rating_log).values(game=game, n=n, race_id=race_id, at=now))
    except IntegrityError:
        raise Conflict from None
    await connection.execute(
        insert(ratings),
        [
            {
                "player_id": player,
                "game": game,
                "n": n,
                "race_id": race_id,
                "at": now,
                "mu": skill.mu,
                "sigma": skill.sigma,
                "races": skill.races,
            }
            for player, skill in sorted(after.items())
        ],
    )
    upsert = sqlite.insert if connection.dialect.name == "sqlite" else postgresql.insert
    query = upsert(board_rows).values(
        [
            {
                "board": rating_board(game),
                "player_id": player,
                "merit": -skill.shown,
                "races": skill.races,
                "v": skill.races,
            }
            for player, skill in sorted(after.items())
        ]
    )
    query = query.on_conflict_do_update(
        index_elements=["board", "player_id"],
        set_={
            "merit": query.excluded.merit,
            "races": query.excluded.races,
            "v": query.excluded.v,
        },
    )
    await connection.execute(query)


async def rating_history(
    connection: AsyncConnection, game: str, player_id: str, *, after: int, limit: int
) -> list[tuple[int, int, str, Skill]]:
    """A player's ratings from the first on: (n, when in epoch ms, race id, skill)."""
    query = (
        select(
            ratings.c.n, ratings.c.at, ratings.c.race_id, ratings.c.mu, ratings.c.sigma,
            ratings.c.races,
        )
        .where(ratings.c.player_id == player_id, ratings.c.game == game, ratings.c.n > after)
        .order_by(ratings.c.n)
        .limit(limit)
    )  # fmt: skip
    return [
        (row.n, row.at, row.race_id, Skill(row.mu, row.sigma, row.races))
        for row in await connection.execute(query)
    ]
