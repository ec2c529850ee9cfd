"""Groups of moves into Postgres: one prepared statement on a connection of its own."""

import asyncio
import uuid
from collections.abc import Sequence
from typing import Any

import asyncpg
from sqlalchemy.engine import URL

from service.storage.database import OutcomeUnknown, Unavailable
from service.storage.engines import asyncpg_args, conceal
from service.storage.move_store import Waiting

_INSERT = """
INSERT INTO moves (play_id, ply, move, at_ms, move_id, score)
SELECT * FROM unnest($1::uuid[], $2::smallint[], $3::text[], $4::bigint[], $5::text[],
                     $6::smallint[])
ON CONFLICT DO NOTHING
RETURNING play_id
"""

# Derived columns are written only for the rows that the log took.
_INSERT_WITH_ENDS = """
WITH logged AS (
    INSERT INTO moves (play_id, ply, move, at_ms, move_id, score)
    SELECT * FROM unnest($1::uuid[], $2::smallint[], $3::text[], $4::bigint[], $5::text[],
                         $6::smallint[])
    ON CONFLICT DO NOTHING
    RETURNING play_id
), ended AS (
    UPDATE plays SET status = e.status, score = e.score, score_ms = e.score_ms,
                     score_plies = e.score_plies, moved = e.moved, undone = e.undone,
                     ended_at = e.ended_at,
                     merit = CASE WHEN plays.hinted THEN NULL ELSE e.merit END
    FROM unnest($7::uuid[], $8::text[], $9::smallint[], $10::bigint[], $11::smallint[],
                $12::boolean[], $13::boolean[], $14::bigint[], $15::bigint[])
         AS e (play_id, status, score, score_ms, score_plies, moved, undone, ended_at, merit)
    JOIN logged ON logged.play_id = e.play_id
    WHERE plays.id = e.play_id
)
SELECT play_id FROM logged
"""

_RETRIED = (asyncpg.DeadlockDetectedError, asyncpg.SerializationError)
_NOT_NOW = (
    asyncpg.CannotConnectNowError,
    asyncpg.AdminShutdownError,
    asyncpg.CrashShutdownError,
    asyncpg.QueryCanceledError,
    asyncpg.InsufficientResourcesError,
    asyncpg.ReadOnlySQLTransactionError,  # a standby, after a failover: connect again elsewhere
)
_BROKEN = (
    OSError,
    asyncpg.PostgresConnectionError,
    asyncpg.InterfaceError,
    asyncpg.InternalClientError,
)


class PostgresMoves:
    """A `MoveStore` on Postgres."""

    def __init__(self, url: URL) -> None:
        self._options = asyncpg_args(url, "samedeal journal")
        self._connection: asyncpg.Connection[Any] | None = None
        self._statements: tuple[Any, Any] | None = None

    async def insert(self, group: Sequence[Waiting]) -> set[uuid.UUID]:
        for attempt in range(5):
            plain, with_ends = await self._connect()
            ends = [(item.play_id, *item.end) for item in group if item.end is not None]
            columns: list[Sequence[Any]] = [[item.play_id for item in group]]
            columns.extend(zip(*[item.entry for item in group], strict=True))
            try:
                if ends:
                    rows = await with_ends.fetch(*columns, *zip(*ends, strict=True))
                else:
                    rows = await plain.fetch(*columns)
            except _RETRIED:
                if attempt == 4:
                    raise Unavailable from None
                continue
            except _NOT_NOW as error:
                # The server refused or undid the statement itself; a shutdown closes us too.
                if not isinstance(error, asyncpg.QueryCanceledError):
                    await self._drop()
                raise Unavailable from error
            except _BROKEN as error:
                if isinstance(error, ValueError):
                    conceal(error)
                    raise  # the driver would not even encode it
                await self._drop()
                raise OutcomeUnknown from error
            except asyncpg.PostgresError as error:
                conceal(error)
                raise  # a fault of the group's content
            except BaseException:
                await self._drop()
                raise
            return {row[0] for row in rows}
        raise AssertionError("unreachable")

    async def stop(self) -> None:
        await self._drop()

    async def _connect(self) -> tuple[Any, Any]:
        if self._connection is not None and self._connection.is_closed():
            await self._drop()
        if self._statements is None:
            try:
                self._connection = await asyncpg.connect(**self._options)
                self._statements = (
                    await self._connection.prepare(_INSERT),
                    await self._connection.prepare(_INSERT_WITH_ENDS),
                )
            except (asyncpg.PostgresError, *_BROKEN) as error:
                await self._drop()
                raise Unavailable from error
        return self._statements

    async def _drop(self) -> None:
        connection, self._connection, self._statements = self._connection, None, None
        if connection is not None and not connection.is_closed():
            try:
                await asyncio.wait_for(connection.close(), 1)
            except (TimeoutError, *_BROKEN, asyncpg.PostgresError):
                connection.terminate()
