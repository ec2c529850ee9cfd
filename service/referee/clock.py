"""The clock: finds what time asks for and has it carried out, in every process alike.

Whoever appends first has done it. A sweep of the database finds what other processes scheduled
and what a killed process left behind; what this process schedules itself it need not look up.
"""

import asyncio
import heapq
from collections.abc import Awaitable, Callable, Coroutine

from service.contest.play import TIMEOUT_GRACE_MS
from service.storage import plays, races
from service.storage.database import Database

SWEEP_MS = 1_000
AHEAD_MS = 1_500
RETRY_MS = 500
AT_ONCE = 16


class RefereeClock:
    """Calls `settle` for each race when something is owed in it."""

    def __init__(
        self,
        database: Database,
        settle: Callable[[str], Awaitable[None]],
        time_out: Callable[[str], Awaitable[None]],
        make_dailies: Callable[[int], Awaitable[None]],
        on_error: Callable[[str, Exception], None],
    ) -> None:
        self._database = database
        self._settle = settle
        self._time_out = time_out
        self._make_dailies = make_dailies
        self._on_error = on_error
        self._due: list[tuple[int, str]] = []
        self._known: dict[str, int] = {}
        self._wake = asyncio.Event()
        self._tasks: set[asyncio.Task[None]] = set()
        self._slots = asyncio.Semaphore(AT_ONCE)
        self._running: asyncio.Task[None] | None = None
        self._swept_at = 0

    def at(self, race_id: str, when: int) -> None:
        """Look at a race at an instant (epoch ms); an earlier appointment replaces a later one."""
        known = self._known.get(race_id)
        if known is None or when < known:
            self._known[race_id] = when
            heapq.heappush(self._due, (when, race_id))
            self._wake.set()

    def soon(self, race_id: str) -> None:
        """Look at a race now: one of its plays has ended."""
        self._spawn(race_id)

    async def start(self) -> None:
        """Begin with what is owed already."""
        self._running = asyncio.create_task(self._run(), name="clock")

    async def stop(self) -> None:
        """Carry out nothing more; what has begun is finished."""
        if self._running is not None:
            self._running.cancel()
            await asyncio.gather(self._running, return_exceptions=True)
        if self._tasks:
            await asyncio.wait(self._tasks, timeout=3)

    async def _run(self) -> None:
        while True:
            now = self._database.clock.now()
            if now >= self._swept_at + SWEEP_MS:
                self._swept_at = now
                await self._sweep(now)
            while self._due and self._due[0][0] <= now:
                when, race_id = heapq.heappop(self._due)
                if self._known.get(race_id) == when:
                    del self._known[race_id]
                    self._spawn(race_id)
            until = self._swept_at + SWEEP_MS
            if self._due:
                until = min(until, self._due[0][0])
            self._wake.clear()
            try:
                async with asyncio.timeout(max(0, until - self._database.clock.now()) / 1000):
                    await self._wake.wait()
            except TimeoutError:
                pass

    async def _sweep(self, now: int) -> None:
        try:
            await self._make_dailies(now)
            async with self._database.read() as connection:
                owed = await races.owed(connection, now + AHEAD_MS)
                overdue = await plays.overdue(connection, now - TIMEOUT_GRACE_MS)
        except Exception as error:
            self._on_error("", error)
            return
        for race_id, when in owed:
            self.at(race_id, when)
        for play_id in overdue:
            self._begin(self._end(play_id))

    def _spawn(self, race_id: str) -> None:
        self._begin(self._carry_out(race_id))

    def _begin(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    async def _carry_out(self, race_id: str) -> None:
        async with self._slots:
            try:
                await self._settle(race_id)
            except Exception as error:
                self._on_error(race_id, error)
                self.at(race_id, self._database.clock.now() + RETRY_MS)

    async def _end(self, play_id: str) -> None:
        """Time out one play of an open race; a failure is met again by the next sweep."""
        async with self._slots:
            try:
                await self._time_out(play_id)
            except Exception as error:
                self._on_error(play_id, error)
