"""Subscriptions: cursors over logs. The bus only wakes them; what they say comes from the logs.

The two topics without a log are `lobby` and `me`.
"""

import asyncio
from collections.abc import Callable

from service.feed.cursor import Cursor, Outlet, Page
from service.feed.frames import delta_data, event_frame, rematch_frame
from service.feed.lobby import Lobby
from service.feed.me import Me
from service.feed.progress import Ticker
from service.feed.race_channel import RaceSource
from service.feed.reader import Reader
from service.live.bus import Bus, Wake
from service.storage.database import Database
from service.storage.journal import Journal

PAGE = 32
COMPARE_SECONDS = 2.0


class Hub:
    """Every cursor of this process, by topic."""

    def __init__(
        self,
        database: Database,
        journal: Journal,
        reader: Reader,
        bus: Bus,
        on_error: Callable[[Exception], None],
    ) -> None:
        """`on_error` is told when heads could not be compared."""
        self._on_error = on_error
        self._database = database
        self._journal = journal
        self._reader = reader
        self._bus = bus
        self.lobby = Lobby(database, reader, bus, on_error)
        self.me = Me(database, reader, bus, on_error)
        self._cursors: dict[str, set[Cursor]] = {}
        self._opening: dict[str, asyncio.Future[None]] = {}
        self._races: dict[str, RaceSource] = {}
        self._tickers: dict[str, Ticker] = {}
        self._comparing: asyncio.Task[None] | None = None
        self._gap = asyncio.Event()
        bus.on_gap(self._gap.set)

    async def start(self) -> None:
        """Begin to compare heads."""
        self._comparing = asyncio.create_task(self._compare_for_ever(), name="compare heads")

    async def stop(self) -> None:
        """Stop comparing."""
        if self._comparing is not None:
            self._comparing.cancel()
            await asyncio.gather(self._comparing, return_exceptions=True)
        await self.lobby.stop()
        await self.me.stop()

    # Cursors

    async def open(self, topic: str, outlet: Outlet) -> Cursor:
        """A cursor that is woken from now on, but sends nothing before it has begun."""
        cursor = Cursor(topic, outlet, self._leave)
        if topic not in self._cursors:
            self._cursors[topic] = set()
            self._opening[topic] = asyncio.ensure_future(self._listen(topic))
        self._cursors[topic].add(cursor)
        # Whoever comes second waits for it as well: before that, wakes pass by unheard.
        await asyncio.shield(self._opening[topic])
        return cursor

    async def _listen(self, topic: str) -> None:
        kind, _, key = topic.partition(":")
        if kind == "race":
            source = self._races[topic] = RaceSource(self._reader, key)
            ticker = self._tickers[topic] = Ticker(topic, lambda: self._cursors.get(topic, ()))
            await self._bus.listen(f"progress:{key}", ticker.woken)
            await self._bus.listen(topic, lambda wake: self._race_woken(topic, source, wake))
        else:
            await self._bus.listen(topic, lambda wake: self._play_woken(topic, wake))
        if topic not in self._cursors:  # everybody has left meanwhile
            self._unlisten(topic)

    def _leave(self, cursor: Cursor) -> None:
        """Forget a cursor, and its topic when it was the last."""
        cursors = self._cursors.get(cursor.topic)
        if cursors is None:
            return
        cursors.discard(cursor)
        if not cursors:
            del self._cursors[cursor.topic], self._opening[cursor.topic]
            self._unlisten(cursor.topic)

    def _unlisten(self, topic: str) -> None:
        self._bus.unlisten(topic)
        if self._races.pop(topic, None) is not None:
            self._tickers.pop(topic).stop()
            self._bus.unlisten("progress:" + topic.partition(":")[2])

    def play_page(self, topic: str) -> Page:
        """Pages of a play's events, for its player."""
        play_id = topic.partition(":")[2]

        async def page(after: int) -> list[tuple[int, str]]:
            deltas = await self._reader.deltas(play_id, after, PAGE)
            return [
                (delta.ply, event_frame(topic, delta.ply, delta_data(delta))) for delta in deltas
            ]

        return page

    def race_page(self, topic: str, viewer: str | None) -> Page:
        """Pages of a race's events for a viewer."""
        source = self._races[topic]

        async def page(after: int) -> list[tuple[int, str]]:
            return await source.page(after, PAGE, viewer)

        return page

    # Wakes

    def _play_woken(self, topic: str, wake: Wake) -> None:
        frame = event_frame(topic, wake.v, wake.data) if wake.data else None
        for cursor in tuple(self._cursors.get(topic, ())):
            cursor.offer(wake.v, frame)

    def _race_woken(self, topic: str, source: RaceSource, wake: Wake) -> None:
        if wake.data:  # of a race that has ended: its log is closed, but it has a rematch now
            for cursor in tuple(self._cursors.get(topic, ())):
                if cursor.v >= 0:
                    cursor.outlet.send(rematch_frame(topic, wake.data))
        source.woken(wake.v, lambda: tuple(self._cursors.get(topic, ())))

    # Lost wakes

    async def _compare_for_ever(self) -> None:
        lost = False  # and not yet made up for
        while True:
            try:
                async with asyncio.timeout(COMPARE_SECONDS):
                    await self._gap.wait()
            except TimeoutError:
                pass
            lost = lost or self._gap.is_set() or not self._bus.connected
            self._gap.clear()
            try:
                await self.compare()
                if lost:
                    await self._refresh_progress()
                    lost = False
            except Exception as error:
                self._on_error(error)

    async def compare(self) -> None:
        """Wake whoever is behind the database, in one query a kind of log."""
        self.lobby.look()
        self.me.look_at_all()
        plays = [topic[5:] for topic in self._cursors if topic.startswith("play:")]
        races = [topic[5:] for topic in self._cursors if topic.startswith("race:")]
        for play_id, (ply, _score) in (await self._journal.last_entries(plays)).items():
            self._play_woken(f"play:{play_id}", Wake(f"play:{play_id}", ply))
        for race_id, v in (await self._journal.race_heads(races)).items():
            topic = f"race:{race_id}"
            if topic in self._races:
                self._race_woken(topic, self._races[topic], Wake(topic, v))

    async def _refresh_progress(self) -> None:
        for topic, ticker in tuple(self._tickers.items()):
            race = await self._reader.race(topic.partition(":")[2])
            if race.state == "running":
                ticker.merge(await self._reader.progress(race, race.entrants.values()))
