"""Time is the database's clock, so that every process of a cluster tells the same."""

import asyncio
import time
from collections.abc import Awaitable, Callable

SYNC_SECONDS = 30.0


class Clock:
    """The database's time as an offset to this process's monotonic clock."""

    def __init__(self, ask: Callable[[], Awaitable[int]]) -> None:
        """`ask` asks the database for its epoch milliseconds."""
        self._ask = ask
        self._offset = 0.0

    def now(self) -> int:
        """Epoch milliseconds."""
        return int(time.monotonic() * 1000 + self._offset)

    async def sync(self) -> None:
        """Take the offset anew, from the quickest of three questions."""
        best: tuple[float, float] | None = None
        for _ in range(3):
            before = time.monotonic() * 1000
            told = await self._ask()
            after = time.monotonic() * 1000
            offset = told - (before + after) / 2
            if best is None or after - before < best[0]:
                best = (after - before, offset)
        assert best is not None
        self._offset = best[1]

    async def keep(self, on_error: Callable[[Exception], None]) -> None:
        """Sync every half minute, for ever; a failure leaves the offset as it was."""
        while True:
            await asyncio.sleep(SYNC_SECONDS)
            try:
                await self.sync()
            except Exception as error:
                on_error(error)
