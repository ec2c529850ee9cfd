"""The topic `me`: what happens to one player, for a client that watches nothing else.

Unversioned. A wake without data says "look": which of the player's races count down and which of
their plays have begun is read again, and what a socket has not been told yet is told. A lost wake
is made up for by the comparison every two seconds.
"""

import asyncio
from collections.abc import Callable, Collection, Iterator
from functools import partial
from typing import NamedTuple

import msgspec

from service.contest.play import begin
from service.contest.ranking import by_bits
from service.contest.sight import sight_of_play
from service.feed.cursor import Outlet
from service.feed.frames import event_frame, snapshot_frame
from service.feed.lobby import brief
from service.feed.reader import NotVisible, Reader
from service.feed.views import instant, play_view
from service.live.bus import Bus, Wake
from service.storage import players, plays, seats
from service.storage.database import Database, Unavailable
from service.storage.plays import Row
from service.storage.seats import Seat

TOPIC = "me"
SHOWN = 32
"""Races, and plays, of a snapshot; so that it fits into a frame."""
AT_ONCE = 500
"""Players asked about in one query."""

_encode = msgspec.json.Encoder().encode


class MyWatcher:
    """One socket that watches, and which news it has had: ids of plays, and of countdowns."""

    def __init__(
        self, player: str, outlet: Outlet, on_close: "Callable[[MyWatcher], None]"
    ) -> None:
        self.player = player
        self.outlet = outlet
        self.begun = False
        self.missed = False
        self.told: set[str] = set()
        self._on_close = on_close

    def close(self) -> None:
        """Send nothing more."""
        self.begun = False
        self._on_close(self)


class _State(NamedTuple):
    """A player's lobbies and countdowns, and running plays of races."""

    seats: list[Seat]
    plays: list[Row]

    def news(self, now: int) -> "Iterator[tuple[str, Callable[[], bytes]]]":
        """What there is to tell: a key that names it, and its data once it is needed."""
        for seat in self.seats:
            if seat.starts_at is not None:
                yield f"{seat.race} {seat.starts_at}", partial(_countdown, seat)
        for row in self.plays:
            yield row.header.id, partial(_started, row, now)


class Me:
    """Who watches what happens to them, in this process."""

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
        self._watchers: dict[str, set[MyWatcher]] = {}
        self._dirty: set[str] = set()
        self._looking: asyncio.Task[None] | None = None

    async def watch(self, outlet: Outlet, greet: Callable[[], None]) -> MyWatcher:
        """Call `greet`, send a snapshot, and from then on what happens.

        Raises `NotVisible` for nobody, `Unavailable`.
        """
        player = outlet.viewer
        if player is None:
            raise NotVisible
        watcher = MyWatcher(player, outlet, self._leave)
        own = self._watchers.setdefault(player, set())
        own.add(watcher)
        try:
            if len(own) == 1:
                await self._bus.listen(f"player:{player}", lambda wake: self._woken(player, wake))
            state = (await self._read([player]))[player]
            snapshot = await self._snapshot(player, state)
        except BaseException:
            watcher.close()
            raise
        greet()
        outlet.send(snapshot)
        watcher.told = {key for key, _data in state.news(0)}
        watcher.begun = True
        if watcher.missed:
            self.look([player])
        return watcher

    def _leave(self, watcher: MyWatcher) -> None:
        own = self._watchers.get(watcher.player, set())
        own.discard(watcher)
        if not own and self._watchers.pop(watcher.player, None) is not None:
            self._bus.unlisten(f"player:{watcher.player}")

    def _woken(self, player: str, wake: Wake) -> None:
        if not wake.data:
            self.look([player])
            return
        frame = event_frame(TOPIC, 0, wake.data)
        for watcher in tuple(self._watchers.get(player, ())):
            if watcher.begun:
                watcher.outlet.send(frame)

    async def stop(self) -> None:
        """Look no more."""
        if self._looking is not None:
            self._looking.cancel()
            await asyncio.gather(self._looking, return_exceptions=True)

    def look(self, players_: Collection[str]) -> None:
        """Something may have happened to them: tell it soon."""
        self._dirty.update(players_)
        if self._dirty and self._looking is None:
            self._looking = asyncio.ensure_future(self._look())
            self._looking.add_done_callback(self._looked)

    def look_at_all(self) -> None:
        """Look at everybody who watches."""
        self.look(self._watchers)

    def _looked(self, _done: "asyncio.Future[None]") -> None:
        self._looking = None

    async def _look(self) -> None:
        while self._dirty:
            asked = [self._dirty.pop() for _ in range(min(AT_ONCE, len(self._dirty)))]
            try:
                states = await self._read(asked)
            except Exception as error:
                if not isinstance(error, Unavailable):
                    self._on_error(error)
                self._dirty.clear()
                return  # everybody is looked at again with the next comparison
            now = self._database.clock.now()
            for player, state in states.items():
                self._tell(player, state, now)

    def _tell(self, player: str, state: _State, now: int) -> None:
        own = tuple(self._watchers.get(player, ()))
        for watcher in own:
            watcher.missed = not watcher.begun
        for key, data in state.news(now):
            ignorant = [watcher for watcher in own if watcher.begun and key not in watcher.told]
            if ignorant:
                frame = event_frame(TOPIC, 0, data())
                for watcher in ignorant:
                    watcher.told.add(key)
                    watcher.outlet.send(frame)

    async def _read(self, player_ids: Collection[str]) -> dict[str, _State]:
        states = {player: _State([], []) for player in player_ids}
        async with self._database.read() as connection:
            for seat in await seats.of_players(connection, player_ids):
                states[seat.player].seats.append(seat)
            for row in await plays.racing(connection, player_ids):
                states[row.header.player.id].plays.append(row)
        return states

    async def _snapshot(self, player: str, state: _State) -> str:
        async with self._database.read() as connection:
            told = await players.by_id(connection, player)
        in_play = [row.header for row in state.plays]
        races = [seat.race for seat in state.seats]
        races += [header.race for header in in_play if header.race is not None]
        data = {
            "type": "me",
            "player": told,
            "races": [
                brief(await self._reader.race_view(race_id, player))
                for race_id in sorted(races, key=by_bits, reverse=True)[:SHOWN]
            ],
            "plays": [
                await self._reader.play_view(header.id, player) for header in in_play[:SHOWN]
            ],
        }
        return snapshot_frame(TOPIC, 0, _encode(data))


def _countdown(seat: Seat) -> bytes:
    assert seat.starts_at is not None
    return _encode({"type": "countdown", "race": seat.race, "starts_at": instant(seat.starts_at)})


def _started(row: Row, now: int) -> bytes:
    """The whole play at ply 0, so that ply 1 may be sent at once."""
    header = row.header
    state = row.race_state
    sight = sight_of_play(header, over=False, race_state=state, viewer=header.player.id)
    view = play_view(begin(header), sight, state, now)
    return _encode({"type": "play-started", "race": header.race, "play": view})
