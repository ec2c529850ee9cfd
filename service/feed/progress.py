"""Progress of a race to those who watch it: who has changed, latest only, never a queue."""

import asyncio
from collections.abc import Callable, Collection, Mapping

import msgspec

from service.feed.cursor import Cursor
from service.feed.views import Progress
from service.live.bus import Wake

PERIOD = 0.1
PERIOD_A_WATCHER = 0.0001
"""Seconds between two frames: ten a second, and slower for more than a thousand watchers."""

_decode = msgspec.json.Decoder(dict[str, Progress]).decode
_encode = msgspec.json.Encoder().encode


class Ticker:
    """The progress of one race: the first change goes out at once, the next when it is time."""

    def __init__(self, topic: str, cursors: Callable[[], Collection[Cursor]]) -> None:
        self._topic = topic
        self._cursors = cursors
        self._changed: dict[str, Progress] = {}
        self._latest: dict[str, int] = {}
        self._timer: asyncio.TimerHandle | None = None

    def woken(self, wake: Wake) -> None:
        """Some entrants have moved."""
        self.merge(_decode(wake.data))

    def merge(self, progress: Mapping[str, Progress]) -> None:
        """Take what is news; a player's highest ply wins."""
        for player, now in progress.items():
            if now.ply > self._latest.get(player, -1):
                self._latest[player] = now.ply
                self._changed[player] = now
        if self._changed and self._timer is None:
            self._flush()

    def _flush(self) -> None:
        self._timer = None
        if not self._changed:
            return
        cursors = tuple(self._cursors())
        data = _encode(self._changed).decode()
        self._changed.clear()
        frame = f'{{"op":"progress","topic":"{self._topic}","data":{data}}}'
        for cursor in cursors:
            if cursor.v >= 0:
                cursor.outlet.send(frame)
        period = max(PERIOD, len(cursors) * PERIOD_A_WATCHER)
        self._timer = asyncio.get_running_loop().call_later(period, self._flush)

    def stop(self) -> None:
        """Send nothing more."""
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None
