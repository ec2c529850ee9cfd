"""Keeps Redis's boards true: tells it what SQL says and it does not know yet, rebuilds the rest.

What a board row still has to be told is marked in SQL in the transaction that changed it, so a
killed process or an absent Redis only delays it.
"""

import asyncio
from collections.abc import Callable

from service.live.boards import BoardsAway, RedisBoards
from service.storage import board_sync
from service.storage.boards import Board
from service.storage.database import Database, Unavailable
from service.storage.ids import new_id

LOOK_SECONDS = 1.0
MEET_EVERY = 2
PAGE = 1_000


class BoardKeeper:
    """One process's share of keeping the boards."""

    def __init__(
        self, database: Database, redis: RedisBoards, on_error: Callable[[Exception], None]
    ) -> None:
        self._database = database
        self._redis = redis
        self._on_error = on_error
        self._wake = asyncio.Event()
        self._missing: dict[str, Board] = {}
        self._running: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Begin to look."""
        self._running = asyncio.create_task(self._run(), name="boards")

    async def stop(self) -> None:
        """Stop; what is not told yet stays marked."""
        if self._running is not None:
            self._running.cancel()
            await asyncio.gather(self._running, return_exceptions=True)

    def soon(self) -> None:
        """A race has ended or a play of a daily: look now."""
        self._wake.set()

    def missing(self, name: str, board: Board) -> None:
        """A board was asked for that Redis has not got complete: rebuild it."""
        self._missing[name] = board
        self._wake.set()

    async def _run(self) -> None:
        turns = 0
        while True:
            try:
                if turns % MEET_EVERY == 0:
                    await self._redis.meet()
                turns += 1
                await self._tell()
                while self._missing:
                    name, board = self._missing.popitem()
                    await rebuild(self._database, self._redis, name, board)
            except (BoardsAway, Unavailable):
                turns = 0
            except Exception as error:
                self._on_error(error)
            try:
                async with asyncio.timeout(LOOK_SECONDS):
                    await self._wake.wait()
            except TimeoutError:
                pass
            self._wake.clear()

    async def _tell(self) -> None:
        """Tell Redis the rows that have changed, board by board, then note that it knows."""
        while True:
            async with self._database.read() as connection:
                changed = await board_sync.changed(connection, PAGE)
            if not changed:
                return
            for name, rows in changed.items():
                await self._redis.put(name, rows)
            await self._database.transact(lambda own: board_sync.told(own, changed))  # noqa: B023


async def rebuild(database: Database, redis: RedisBoards, name: str, board: Board) -> None:
    """Fill a board from SQL and mark it complete; one process at a time.

    Raises `BoardsAway`, `Unavailable`.
    """
    if await redis.is_complete(name):
        return
    token = new_id(database.clock.now())
    if not await redis.begin_rebuild(name, token):
        return
    after: str | None = None
    while True:
        async with database.read() as connection:
            rows = await board_sync.page(connection, board, after, PAGE)
        await redis.put(name, rows)
        await redis.go_on(name)
        if len(rows) < PAGE:
            break
        after = rows[-1].player_id
    await redis.complete(name, token)


async def rebuild_all(database: Database, redis: RedisBoards) -> list[str]:
    """Rebuild every board from nothing; their names. Raises `BoardsAway`, `Unavailable`."""
    await redis.meet()
    async with database.read() as connection:
        every = await board_sync.every_board(connection)
    await redis.drop(every)
    for name, board in every.items():
        await rebuild(database, redis, name, board)
    return sorted(every)
