"""The topic `lobby`: the list of races that can be joined or soon begin, for all who watch it.

Unversioned. A wake only says that something has changed: the list is read again, at most a few
times a second, and what differs from what was shown is told, encoded once.
"""

import asyncio
from collections.abc import Callable
from typing import NamedTuple

import msgspec

from service.feed.cursor import Outlet
from service.feed.frames import event_frame, snapshot_frame
from service.feed.reader import Reader
from service.feed.views import RaceView
from service.live.bus import Bus
from service.storage import races
from service.storage.database import Database, Unavailable

TOPIC = "lobby"
SHOWN = 50
SHOWN_ENTRANTS = 8
"""Of each race; so that the whole list fits into a frame."""
MANY = 16
"""More changes than these at once are told by a snapshot."""
PERIOD = 0.25
PERIOD_A_WATCHER = 0.0001
"""Seconds between two looks: four a second, and slower for more than some thousand watchers."""

_encode = msgspec.json.Encoder().encode


def brief(view: RaceView) -> RaceView:
    """A race object for a list: with its first few entrants only."""
    return msgspec.structs.replace(view, entrants=view.entrants[:SHOWN_ENTRANTS])


class Watcher:
    """One socket that watches."""

    def __init__(self, outlet: Outlet, on_close: "Callable[[Watcher], None]") -> None:
        self.outlet = outlet
        self.begun = False
        self._on_close = on_close

    def close(self) -> None:
        """Send nothing more."""
        self.begun = False
        self._on_close(self)


class _Shown(NamedTuple):
    """A race as it was last told: its version and its object as JSON."""

    v: int
    data: bytes


class Lobby:
    """The list of races as this process last read it, and who watches it."""

    def __init__(
        self,
        database: Database,
        reader: Reader,
        bus: Bus,
        on_error: Callable[[Exception], None],
    ) -> None:
        self._database = database
        self._reader = reader
        self._bus = bus
        self._on_error = on_error
        self._watchers: set[Watcher] = set()
        self._shown: dict[str, _Shown] = {}
        self._reading = asyncio.Lock()
        self._reads = 0
        self._dirty = False
        self._looking: asyncio.Task[None] | None = None

    async def watch(self, outlet: Outlet, greet: Callable[[], None]) -> Watcher:
        """Call `greet`, send a snapshot, and from then on what changes. Raises `Unavailable`."""
        watcher = Watcher(outlet, self._leave)
        self._watchers.add(watcher)
        try:
            if len(self._watchers) == 1:
                await self._bus.listen(TOPIC, lambda _wake: self.look())
            await self._read_from_now()
        except BaseException:
            watcher.close()
            raise
        greet()
        outlet.send(self._snapshot())
        watcher.begun = True
        return watcher

    def _leave(self, watcher: Watcher) -> None:
        self._watchers.discard(watcher)
        if not self._watchers:
            self._bus.unlisten(TOPIC)

    async def stop(self) -> None:
        """Look no more."""
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.gather(self._looking, return_exceptions=True)

    def look(self) -> None:
        """Something may have changed: tell it soon, if anybody watches."""
        self._dirty = True
        if self._watchers and self._looking is None:
            self._looking = asyncio.ensure_future(self._look())
            self._looking.add_done_callback(self._looked)

    def _looked(self, _done: "asyncio.Future[None]") -> None:
        self._looking = None

    async def _look(self) -> None:
        while self._dirty and self._watchers:
            self._dirty = False
            try:
                async with self._reading:
                    await self._read()
            except Exception as error:
                if not isinstance(error, Unavailable):
                    self._on_error(error)
                return  # heads are compared again
            await asyncio.sleep(max(PERIOD, len(self._watchers) * PERIOD_A_WATCHER))

    async def _read_from_now(self) -> None:
        """Read the list, or wait for a reading that has begun after this was asked."""
        asked = self._reads
        async with self._reading:
            if self._reads == asked:
                await self._read()

    async def _read(self) -> None:
        """Read the list and tell those who watch already what has changed."""
        self._reads += 1
        async with self._database.read() as connection:
            listed = await races.in_lobby(connection, SHOWN)
        now: dict[str, _Shown] = {}
        for race_id, v, kind in listed:
            known = self._shown.get(race_id)
            if known is not None and known.v == v and kind == "live":
                now[race_id] = known
                continue
            view = await self._reader.race_view(race_id, None)  # of an open race `total` grows
            if _is_listed(view):
                now[race_id] = _Shown(view.v, _encode(brief(view)))
        before, self._shown = self._shown, now
        gone = [race_id for race_id in before if race_id not in now]
        news = [
            shown
            for race_id, shown in now.items()
            if race_id not in before or before[race_id].data != shown.data
        ]
        self._tell(gone, news)

    def _tell(self, gone: list[str], news: list[_Shown]) -> None:
        told = tuple(watcher for watcher in self._watchers if watcher.begun)
        if not told:
            return
        if len(gone) + len(news) > MANY:
            frames = [self._snapshot()]
        else:
            frames = [_event(b'{"type":"race-removed","race":"%b"}' % key.encode()) for key in gone]
            # The oldest first: whoever puts each before the others has the order of the snapshot.
            frames += [_event(b'{"type":"race","race":%b}' % shown.data) for shown in news[::-1]]
        for frame in frames:
            for watcher in told:
                watcher.outlet.send(frame)

    def _snapshot(self) -> str:
        listed = b",".join(shown.data for shown in self._shown.values())
        return snapshot_frame(TOPIC, 0, b'{"type":"lobby","races":[%b]}' % listed)


def _event(data: bytes) -> str:
    return event_frame(TOPIC, 0, data)


def _is_listed(view: RaceView) -> bool:
    """Whether a race is still one of the list: it may have begun since that was read."""
    if view.kind == "live":
        return view.state in ("lobby", "countdown")
    return view.state in ("scheduled", "running")
