"""Deals: one row for each (game, seed) that anybody has played."""

import secrets
from typing import NamedTuple

from sqlalchemy import exists, select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection

from service.rules import DEAL_VERSION, check_seed, commitment
from service.storage.database import Database
from service.storage.ids import new_id
from service.storage.tables import deals, plays

SECRET_BYTES = 18  # 144 random bits, 24 characters


class Deal(NamedTuple):
    """A stored deal. Whether its seed may be told is `sight`'s to say."""

    id: str
    game: str
    deal_version: int
    seed: str
    commitment: str


def fresh_seed() -> str:
    """A seed that nobody can guess."""
    return secrets.token_urlsafe(SECRET_BYTES)


async def ensure(database: Database, connection: AsyncConnection, game: str, seed: str) -> Deal:
    """The row of a deal, made when it is new. Raises `BadSeed`."""
    now = database.clock.now()
    made = Deal(new_id(now), game, DEAL_VERSION, check_seed(seed), commitment(game, seed))
    upsert = sqlite.insert if database.dialect == "sqlite" else postgresql.insert
    await connection.execute(
        upsert(deals).values(**made._asdict(), created_at=now).on_conflict_do_nothing()
    )
    row = await connection.execute(
        select(*(deals.c[field] for field in Deal._fields)).where(
            deals.c.game == game, deals.c.deal_version == DEAL_VERSION, deals.c.seed == seed
        )
    )
    return Deal(*row.one())


async def find_open(connection: AsyncConnection, game: str, seed: str) -> str | None:
    """The id of a deal that has been practised; nothing is said of any other."""
    query = select(deals.c.id).where(
        deals.c.game == game,
        deals.c.deal_version == DEAL_VERSION,
        deals.c.seed == seed,
        exists().where(plays.c.deal_id == deals.c.id, plays.c.race_id.is_(None)),
    )
    return (await connection.execute(query)).scalar_one_or_none()
