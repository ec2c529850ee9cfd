"""The topics that one socket watches."""

from typing import Any

import msgspec

from service.api.errors import Malformed, MissingScope
from service.api.house import House
from service.api.socket.connection import Connection
from service.feed.cursor import Cursor
from service.feed.lobby import Watcher
from service.feed.me import MyWatcher
from service.feed.reader import NotVisible
from service.feed.views import PlayView, RaceView
from service.storage.ids import is_id
from service.storage.shelf import NotFound

MAX_TOPICS = 256
MAX_BEHIND = 500

_encode = msgspec.json.Encoder().encode


class Topics:
    """Cursors by topic, for one socket."""

    def __init__(self, house: House, connection: Connection) -> None:
        self._house = house
        self._connection = connection
        self._cursors: dict[str, Cursor | Watcher | MyWatcher | None] = {}

    def cursor(self, topic: str) -> Cursor | None:
        """The socket's cursor on a topic that it watches."""
        cursor = self._cursors.get(topic)
        return cursor if isinstance(cursor, Cursor) else None

    async def watch(self, topic: str, since: int | None) -> None:
        """Answer `watching`, then events from `since` on or a snapshot, then what comes.

        Raises with the topic attached: `Malformed`, `MissingScope`, `NotFound`, `NotVisible`,
        `Unavailable`.
        """
        try:
            await self._watch(topic, since)
        except Exception as error:
            self.unwatch(topic)
            error.topic = topic  # type: ignore[attr-defined]
            raise

    async def _watch(self, topic: str, since: int | None) -> None:
        if self._connection.viewer is not None and "read" not in self._connection.scopes:
            raise MissingScope("read")
        kind, _, key = topic.partition(":")
        if topic not in ("lobby", "me"):
            if kind not in ("play", "race"):
                raise Malformed("a topic is play:ID, race:ID, lobby or me")
            if not is_id(key):
                raise NotFound
        self.unwatch(topic)
        if len(self._cursors) >= MAX_TOPICS:
            raise Malformed(f"a socket watches {MAX_TOPICS} topics at most")
        if kind == "play":
            await self._watch_play(topic, key, since)
        elif kind == "race":
            await self._watch_race(topic, key, since)
        else:
            hub = self._house.hub
            watched = hub.lobby if kind == "lobby" else hub.me
            self._cursors[topic] = await watched.watch(
                self._connection, lambda: self._watching(topic, 0)
            )

    async def _watch_play(self, topic: str, play_id: str, since: int | None) -> None:
        reader, viewer = self._house.reader, self._connection.viewer
        # Nobody else's board may grow before their eyes: a stranger sees only what has ended,
        # and a practice play that is taken up again is a stranger's no longer.
        play, sight, _state = await reader.play(play_id, viewer)
        if sight != "full":
            raise NotVisible
        if play.header.player.id != viewer:
            self._cursors[topic] = None
            _play, view = await reader.visible_play(play_id, viewer)
            self._watching(topic, view.ply)
            if since != view.ply:
                self._snapshot(topic, view.ply, "play", view)
            return
        cursor = self._cursors[topic] = await self._house.hub.open(topic, self._connection)
        _play, view = await reader.visible_play(play_id, viewer)
        self._watching(topic, view.ply)
        page = self._house.hub.play_page(topic)
        if since is not None and view.ply - MAX_BEHIND <= since <= view.ply:
            cursor.begin(since, page)
            await cursor.catch_up(view.ply)
        else:
            self._snapshot(topic, view.ply, "play", view)
            cursor.begin(view.ply, page)

    async def _watch_race(self, topic: str, race_id: str, since: int | None) -> None:
        reader, viewer = self._house.reader, self._connection.viewer
        await reader.race(race_id)
        cursor = self._cursors[topic] = await self._house.hub.open(topic, self._connection)
        view = await reader.race_view(race_id, viewer)
        self._watching(topic, view.v)
        page = self._house.hub.race_page(topic, viewer)
        if since is not None and view.v - MAX_BEHIND <= since <= view.v:
            cursor.begin(since, page)
            await cursor.catch_up(view.v)
        else:
            self._snapshot(topic, view.v, "race", view)
            cursor.begin(view.v, page)

    def unwatch(self, topic: str) -> None:
        """Watch a topic no longer; nothing if it was not watched."""
        cursor = self._cursors.pop(topic, None)
        if cursor is not None:
            cursor.close()

    def close(self) -> None:
        """Watch nothing any more."""
        for topic in tuple(self._cursors):
            self.unwatch(topic)

    def _watching(self, topic: str, v: int) -> None:
        self._say({"op": "watching", "topic": topic, "v": v})

    def _snapshot(self, topic: str, v: int, kind: str, view: PlayView | RaceView) -> None:
        data = {"type": kind, **msgspec.structs.asdict(view)}
        kept = {key: value for key, value in data.items() if value is not msgspec.UNSET}
        self._say({"op": "snapshot", "topic": topic, "v": v, "data": kept})

    def _say(self, told: dict[str, Any]) -> None:
        self._connection.send(_encode(told).decode())
