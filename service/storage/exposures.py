"""Who has seen which deal, and how. Whoever has seen one before is not ranked on it."""

from collections.abc import Sequence

from sqlalchemy import select
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.ext.asyncio import AsyncConnection

from service.storage.competition_tables import exposures
from service.storage.tables import plays, races


async def played(
    connection: AsyncConnection, player_ids: Sequence[str], deal_id: str, now: int
) -> int:
    """Note that players begin to play a deal; how many of them had not seen it before."""
    return await _note(connection, player_ids, deal_id, "played", now)


async def board_read(connection: AsyncConnection, player_id: str, play_id: str, now: int) -> None:
    """Note that a player reads the board or log of somebody else's play."""
    query = select(plays.c.deal_id).where(plays.c.id == play_id)
    deal_id = (await connection.execute(query)).scalar_one()
    await _note(connection, [player_id], deal_id, "board", now)


async def proof_read(connection: AsyncConnection, player_id: str, race_id: str, now: int) -> None:
    """Note that a player reads a race's proof."""
    query = select(races.c.deal_id).where(races.c.id == race_id)
    deal_id = (await connection.execute(query)).scalar_one()
    await _note(connection, [player_id], deal_id, "proof", now)


async def _note(
    connection: AsyncConnection, player_ids: Sequence[str], deal_id: str, how: str, now: int
) -> int:
    upsert = sqlite.insert if connection.dialect.name == "sqlite" else postgresql.insert
    if not player_ids:
        return 0
    rows = [
        {"player_id": player_id, "deal_id": deal_id, "how": how, "at": now}
        for player_id in sorted(player_ids)
    ]
    query = upsert(exposures).values(rows).on_conflict_do_nothing()
    return (await connection.execute(query)).rowcount
