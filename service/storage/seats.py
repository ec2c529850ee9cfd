"""Seats: who sits in which lobby, and who has left it. Derived from the logs of live races.

A race's rows go when it starts or is cancelled; its plays say who raced.
"""

from collections.abc import Collection, Sequence
from typing import NamedTuple

from sqlalchemy import ColumnElement, and_, delete, func, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection

from service.contest import events as e
from service.contest.race import State
from service.contest.race_header import Settings
from service.storage.tables import races, seats


class Seat(NamedTuple):
    """A player in a lobby or a countdown; `starts_at` in epoch ms."""

    player: str
    race: str
    state: State
    starts_at: int | None


async def follow(connection: AsyncConnection, race_id: str, events: Sequence[e.Event]) -> None:
    """Follow a live race's log, in the transaction that appends to it."""
    upsert = sqlite.insert if connection.dialect.name == "sqlite" else postgresql.insert
    for event in events:
        match event:
            case e.EntrantJoined(player):
                query = upsert(seats).values(player_id=player.id, race_id=race_id, left=False)
                await connection.execute(
                    query.on_conflict_do_update(
                        index_elements=["player_id", "race_id"], set_={"left": False}
                    )
                )
            case e.EntrantLeft(player=key):
                await connection.execute(
                    update(seats)
                    .where(seats.c.player_id == key, seats.c.race_id == race_id)
                    .values(left=True)
                )
            case e.Started() | e.Cancelled():
                await connection.execute(delete(seats).where(seats.c.race_id == race_id))


async def of_players(connection: AsyncConnection, player_ids: Collection[str]) -> list[Seat]:
    """The lobbies and countdowns that players are in, the latest made first."""
    query = (
        select(seats.c.player_id, seats.c.race_id, races.c.state, races.c.starts_at)
        .join(races, races.c.id == seats.c.race_id)
        .where(seats.c.player_id.in_(player_ids), ~seats.c.left)
        .order_by(seats.c.race_id.desc())
    )
    return [Seat(*row) for row in await connection.execute(query)]


def _like(settings: Settings) -> ColumnElement[bool]:
    """Listed live races of these settings that nobody made for their own company."""
    return and_(
        races.c.kind == "live",
        races.c.listed,
        races.c.parent_id.is_(None),
        *(races.c[field] == value for field, value in settings._asdict().items()),
    )


async def quick_seat(connection: AsyncConnection, player: str, settings: Settings) -> str | None:
    """The latest of such lobbies and countdowns that the player is in."""
    query = (
        select(races.c.id)
        .join(seats, seats.c.race_id == races.c.id)
        .where(seats.c.player_id == player, ~seats.c.left, _like(settings))
        .order_by(races.c.id.desc())
        .limit(1)
    )
    found: str | None = (await connection.execute(query)).scalar_one_or_none()
    return found


async def waiting(
    connection: AsyncConnection, player: str, settings: Settings, limit: int = 5
) -> list[str]:
    """Such lobbies with room that the player is not in and has not left, the oldest first."""
    known = select(seats.c.race_id).where(seats.c.player_id == player)
    query = (
        select(races.c.id)
        .where(
            races.c.state == "lobby",
            races.c.total < races.c.capacity,
            races.c.id.not_in(known),
            _like(settings),
        )
        .order_by(races.c.id)
        .limit(limit)
    )
    return list((await connection.execute(query)).scalars())


async def alone(connection: AsyncConnection, game: str) -> None:
    """Until the end of the transaction nobody else makes a quick lobby of the game."""
    if connection.dialect.name == "postgresql":  # SQLite has one writer anyway
        await connection.execute(
            select(func.pg_advisory_xact_lock(func.hashtext(f"samedeal quick {game}")))
        )
