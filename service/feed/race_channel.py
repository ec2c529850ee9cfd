"""The events of one race as frames: each worked out once, however many watch."""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from service.contest.events import Logged
from service.contest.race import Race, fold
from service.contest.ranking import Standing
from service.feed.cursor import Cursor
from service.feed.frames import event_frame, personal_data, race_data
from service.feed.reader import Reader
from service.storage.database import Unavailable
from service.storage.deals import Deal

KEPT = 64

Cursors = Callable[[], Iterable[Cursor]]


class Step(NamedTuple):
    """An event, the race just after it, everybody's frame, and final standings if it ends."""

    race: Race
    logged: Logged
    frame: str
    standings: Sequence[Standing]


class RaceSource:
    """What a process knows of a race that somebody watches."""

    def __init__(self, reader: Reader, race_id: str) -> None:
        self._reader = reader
        self._race_id = race_id
        self._topic = f"race:{race_id}"
        self._head: Race | None = None
        self._shown: deque[Step] = deque(maxlen=KEPT)
        self._wanted = 0
        self._pulling: asyncio.Task[None] | None = None
        self._deal: Deal | None = None

    def woken(self, v: int, cursors: Cursors) -> None:
        """The log has reached v: read it and show every cursor what is new."""
        self._wanted = max(self._wanted, v)
        if self._head is not None and self._head.v >= v:
            for cursor in cursors():
                cursor.offer(v, None)
        elif self._pulling is None:
            self._pulling = asyncio.ensure_future(self._pull(cursors))
            self._pulling.add_done_callback(self._pulled)

    def _pulled(self, _done: "asyncio.Future[None]") -> None:
        self._pulling = None

    async def _pull(self, cursors: Cursors) -> None:
        try:
            while self._head is None or self._head.v < self._wanted:
                if self._head is None:
                    self._head, tail = await self._folded(self._wanted - 1)
                else:
                    tail = await self._reader.race_tail(self._race_id, self._head.v)
                if not tail:
                    return  # the wake was ahead of what can be read; heads are compared again
                for logged in tail:
                    self._head = self._head.after(logged)
                    step = await self._step(self._head, logged)
                    self._shown.append(step)
                    for cursor in cursors():
                        cursor.offer(step.race.v, self._frame(step, cursor.outlet.viewer))
        except Unavailable:
            return  # likewise

    async def page(self, after: int, limit: int, viewer: str | None) -> list[tuple[int, str]]:
        """Up to `limit` frames after a version, for one viewer."""
        if self._shown and self._shown[0].race.v <= after + 1:
            steps = [step for step in self._shown if step.race.v > after][:limit]
        else:
            race, log = await self._folded(after)
            steps = []
            for logged in log[:limit]:
                race = race.after(logged)
                steps.append(await self._step(race, logged))
        return [(step.race.v, self._frame(step, viewer)) for step in steps]

    async def _folded(self, until: int) -> tuple[Race, list[Logged]]:
        """The race at a version, and its log from there on."""
        race, log, self._deal = await self._reader.race_log(self._race_id)
        return fold(race, log[:until]), log[until:]

    async def _step(self, race: Race, logged: Logged) -> Step:
        rows = await self._reader.outcomes.final_standings(race)
        frame = event_frame(self._topic, race.v, race_data(race, logged, rows))
        return Step(race, logged, frame, rows)

    def _frame(self, step: Step, viewer: str | None) -> str:
        race, logged, frame, rows = step
        if viewer is None or self._deal is None:
            return frame
        own = personal_data(race, logged, rows, viewer, self._deal)
        return frame if own is None else event_frame(self._topic, race.v, own)
