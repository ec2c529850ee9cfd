"""The events of one race as frames: each worked out once, however many watch."""

import asyncio
from collections import deque
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from service.contest.events import Logged
from service.contest.race import Race
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
        self._shown: deque[Step] = deque(maxlen=KEPT)
        self._wanted = 0
        self._pulling: asyncio.Task[None] | None = None
        self._deal: Deal | None = None

    def woken(self, v: int, cursors: Cursors) -> None:
        """The log has reached v: read it and show every cursor what is new."""
        self._wanted = max(self._wanted, v)
        if self._shown and self._shown[-1].race.v >= v:
            for cursor in cursors():
                cursor.offer(v, None)
        elif self._pulling is None:
            self._pulling = asyncio.ensure_future(self._pull(cursors))
            self._pulling.add_done_callback(self._pulled)

    def _pulled(self, _done: "asyncio.Future[None]") -> None:
        self._pulling = None

    async def _pull(self, cursors: Cursors) -> None:
        try:
            while True:
                after = self._shown[-1].race.v if self._shown else self._wanted - 1
                steps = await self._steps(after)
                self._shown.extend(steps)
                for step in steps:
                    for cursor in cursors():
                        cursor.offer(step.race.v, self._frame(step, cursor.outlet.viewer))
                if not steps or self._shown[-1].race.v >= self._wanted:
                    return
        except Unavailable:
            return  # heads are compared again

    async def page(self, after: int, limit: int, viewer: str | None) -> list[tuple[int, str]]:
        """Up to `limit` frames after a version, for one viewer."""
        if self._shown and self._shown[0].race.v <= after + 1:
            steps = [step for step in self._shown if step.race.v > after]
        else:
            steps = await self._steps(after)
        return [(step.race.v, self._frame(step, viewer)) for step in steps[:limit]]

    async def _steps(self, after: int) -> list[Step]:
        """The events after a version, each with the race just after it and everybody's frame."""
        race, log, self._deal = await self._reader.race_log(self._race_id)
        steps = []
        for logged in log:
            race = race.after(logged)
            if race.v > after:
                rows = await self._reader.final_standings(race)
                data = race_data(race, logged, rows)
                steps.append(Step(race, logged, event_frame(self._topic, race.v, data), rows))
        return steps

    def _frame(self, step: Step, viewer: str | None) -> str:
        race, logged, frame, rows = step
        if viewer is None or self._deal is None:
            return frame
        own = personal_data(race, logged, rows, viewer, self._deal)
        return frame if own is None else event_frame(self._topic, race.v, own)
