"""Groups of moves into SQLite: one statement in one transaction of the one writer."""

import uuid
from collections.abc import Sequence
from typing import Any

from sqlalchemy import bindparam, case, update
from sqlalchemy.ext.asyncio import AsyncConnection

from service.storage.database import Database
from service.storage.ids import id_text
from service.storage.move_store import Waiting
from service.storage.tables import plays

_INSERT = (
    "INSERT INTO moves (play_id, ply, move, at_ms, move_id, score) VALUES {}"
    " ON CONFLICT DO NOTHING RETURNING play_id"
)

_END = (
    update(plays)
    .where(plays.c.id == bindparam("play"))
    .values(
        status=bindparam("to_status"),
        score=bindparam("to_score"),
        score_ms=bindparam("to_score_ms"),
        score_plies=bindparam("to_score_plies"),
        moved=bindparam("to_moved"),
        undone=bindparam("to_undone"),
        ended_at=bindparam("to_ended_at"),
        merit=case((plays.c.hinted, None), else_=bindparam("to_merit")),
    )
)


class SqliteMoves:
    """A `MoveStore` on SQLite."""

    def __init__(self, database: Database) -> None:
        self._database = database

    async def insert(self, group: Sequence[Waiting]) -> set[uuid.UUID]:
        sql = _INSERT.format(",".join(["(?,?,?,?,?,?)"] * len(group)))
        values: list[Any] = []
        for item in group:
            values.append(item.play_id.bytes)
            values.extend(item.entry)

        async def work(connection: AsyncConnection) -> set[uuid.UUID]:
            rows = await connection.exec_driver_sql(sql, tuple(values))
            logged = {uuid.UUID(bytes=bytes(row[0])) for row in rows}
            ends = [
                {"play": id_text(item.play_id.bytes)}
                | {f"to_{name}": value for name, value in item.end._asdict().items()}
                for item in group
                if item.end is not None and item.play_id in logged
            ]
            if ends:
                await connection.execute(_END, ends)
            return logged

        return await self._database.transact(work)

    async def stop(self) -> None:
        """The database closes its own connections."""
