"""Rows to test with, and looks at what is stored that do not go through the code under test."""

import asyncio
import contextlib
import uuid
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any

from sqlalchemy import select, text

from service.contest.play import Entry, Header
from service.contest.player import Player
from service.storage import deals, players, plays
from service.storage.database import Database
from service.storage.ids import id_text, new_id
from service.storage.journal import Journal, play_key
from service.storage.tables import plays as plays_table


def an_entry(ply: int, move: str = "turn", at_ms: int = 0, move_id: str | None = None) -> Entry:
    return Entry(ply, move, at_ms, move_id or f"m{ply}", 0)


def some_keys(count: int) -> list[uuid.UUID]:
    """Log keys of plays that have no header."""
    return [play_key(new_id(1_000 + n)) for n in range(count)]


async def a_player(database: Database, name: str) -> Player:
    player = Player(new_id(database.clock.now()), name, "guest")
    await database.transact(lambda connection: players.create(connection, player, None, 1))
    return player


async def some_plays(
    database: Database, player: Player, count: int, race: str | None = None
) -> list[Header]:
    async def work(connection: Any) -> list[Header]:
        deal = await deals.ensure(database, connection, "kings-way", "1")
        headers = [
            plays.header_of(
                new_id(2_000 + n),
                deal,
                player,
                rules_version=1,
                race=race,
                started_at=2_000 + n,
                deadline_at=None if race is None else 3_000,
            )
            for n in range(count)
        ]
        await plays.create(connection, deal.id, headers)
        return headers

    return await database.transact(work)


async def derived(database: Database, play_id: str) -> Sequence[Any]:
    """What the plays table says of a play."""
    columns = ("status", "score", "score_ms", "score_plies", "moved", "undone", "ended_at", "merit")
    query = select(*(plays_table.c[name] for name in columns)).where(plays_table.c.id == play_id)
    async with database.read() as connection:
        return tuple((await connection.execute(query)).one())


async def scalar(database: Database, query: str, **parameters: object) -> Any:
    async with database.read() as connection:
        return (await connection.execute(text(query), parameters)).scalar_one()


async def until(true: Callable[[], Awaitable[bool]], patience: float = 20.0) -> None:
    """Wait for something that must come about."""
    async with asyncio.timeout(patience):
        while not await true():  # noqa: ASYNC110 (it is a database that is asked)
            await asyncio.sleep(0.005)


async def log(journal: Journal, key: uuid.UUID) -> list[Entry]:
    return await journal.all_entries(id_text(key.bytes))


@contextlib.asynccontextmanager
async def moves_locked(database: Database) -> AsyncIterator[None]:
    """While it lasts nobody can write moves, and all who try wait."""
    locked, release = asyncio.Event(), asyncio.Event()
    other = Database(database.url)

    async def hold(connection) -> None:
        if database.dialect == "postgresql":
            await connection.execute(text("LOCK TABLE moves IN ACCESS EXCLUSIVE MODE"))
        locked.set()  # on SQLite the transaction itself is the lock
        await release.wait()

    holder = asyncio.create_task(other.transact(hold))
    await locked.wait()
    try:
        yield
    finally:
        release.set()
        await holder
        await other.stop()
