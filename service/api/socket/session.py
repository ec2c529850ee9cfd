"""What each frame of a socket means: parse, one command, one answer."""

import asyncio
from collections.abc import Callable, Coroutine
from functools import partial
from typing import Any

import msgspec
from starlette.websockets import WebSocket

from service.accounts.accounts import BadToken
from service.api.errors import (
    BadJson,
    Malformed,
    MissingScope,
    Unauthorized,
    detail_of,
    extras,
    shape_of,
)
from service.api.house import House
from service.api.http import decoded, token_of
from service.api.messages import Auth, ClientFrame, MoveFrame, Ping, Unwatch, Watch
from service.api.socket.connection import BAD_TOKEN, POLICY, RESTART, Connection
from service.api.socket.topics import Topics
from service.contest.player import Player
from service.feed.cursor import Cursor
from service.feed.views import instant
from service.referee.plays import Answer

IN_FLIGHT = 32
"""Moves of one socket that may wait for their commit; beyond, its reader waits."""

_encode = msgspec.json.Encoder().encode
_decode = msgspec.json.Decoder(ClientFrame)


class Session:
    """One socket from its accept to its close."""

    def __init__(
        self, house: House, connection: Connection, on_error: Callable[[Exception], None]
    ) -> None:
        self._house = house
        self._connection = connection
        self._on_error = on_error
        self._topics = Topics(house, connection)
        self._flying = 0
        self._tasks: set[asyncio.Task[None]] = set()
        self._landed = asyncio.Event()
        self._first = True

    async def run(self, socket: WebSocket, admit: Callable[[Connection], bool]) -> None:
        """Serve frames until the socket is gone. `admit` says whether a player may have it."""
        connection = self._connection
        try:
            token = await token_of(socket, safe=False)
        except Exception as error:
            self._error(error)
            self._close_for(error)
            await connection.gone()
            return
        if token is not None:
            connection.speaks_for(token)
        self._ready(None if token is None else token.player)
        if not admit(connection):
            self._too_many()
            await connection.gone()
            return
        connection.on_text(self._heard)
        try:
            while (frame := await connection.receive()) is not None:
                stamp = self._house.now()
                await self._frame(frame, stamp, admit)
                self._first = False
                if not await connection.room():
                    break
        finally:
            self._topics.close()

    async def _frame(
        self, raw: str | bytes, stamp: int, admit: Callable[[Connection], bool]
    ) -> None:
        try:
            if isinstance(raw, bytes):
                raise BadJson("frames are text")
            frame = decoded(raw, _decode)
            match frame:
                case MoveFrame():
                    await self._begin_move(frame, stamp)
                case Watch(topic, since):
                    await self._topics.watch(topic, since)
                case Unwatch(topic):
                    self._topics.unwatch(topic)
                    self._say({"op": "unwatched", "topic": topic})
                case Ping(id=ping):
                    pong: dict[str, Any] = {"op": "pong", "server_time": instant(stamp)}
                    self._say(pong if ping is None else pong | {"id": ping})
                case Auth(token):
                    await self._auth(token, admit)
        except Exception as error:
            about = getattr(error, "topic", None)
            if about is None and isinstance(error, BadJson | Malformed):
                self._unreadable(raw, error)
            else:
                self._error(error, about)

    async def _auth(self, text: str, admit: Callable[[Connection], bool]) -> None:
        if not self._first:
            raise Malformed("auth is only the first frame")
        try:
            token = await self._house.accounts.token(text)
        except Exception as error:
            self._error(error)
            self._close_for(error)
            await self._connection.gone()
            return
        self._connection.speaks_for(token)
        if not admit(self._connection):
            self._too_many()
            await self._connection.gone()
            return
        self._ready(token.player)

    # Moves

    def _heard(self, text: bytes) -> bool:
        """Take the usual move at once; everything else is for the reader."""
        connection, now = self._connection, self._house.now()
        viewer = connection.viewer
        if viewer is None or "play" not in connection.scopes or self._flying >= IN_FLIGHT:
            return False
        try:
            frame = decoded(text, _decode)
            if not isinstance(frame, MoveFrame) or not self._house.plays.move_at_once(
                viewer,
                frame.play,
                frame.ply,
                frame.move,
                frame.id,
                now,
                partial(self._move_told, frame),
            ):
                return False
        except Exception:
            return False  # the reader comes upon it again, and tells of it
        self._first = False
        self._flying += 1
        return True

    async def _begin_move(self, frame: MoveFrame, stamp: int) -> None:
        while self._flying >= IN_FLIGHT:
            self._landed.clear()
            await self._landed.wait()
        self._flying += 1
        self._in_background(self._move(frame, stamp))

    async def _move(self, frame: MoveFrame, stamp: int) -> None:
        """Not part of the reader's task: a move that has begun is not undone by a lost socket."""
        viewer = self._connection.viewer
        answer: Answer | Exception
        try:
            if viewer is None:
                raise Unauthorized
            if "play" not in self._connection.scopes:
                raise MissingScope("play")
            answer = await self._house.plays.move(
                viewer, frame.play, frame.ply, frame.move, frame.id, stamp
            )
        except Exception as error:
            answer = error
        self._move_told(frame, answer)

    def _move_told(self, frame: MoveFrame, answer: Answer | Exception) -> None:
        self._flying -= 1
        self._landed.set()
        if isinstance(answer, Exception):
            if shape_of(answer).status >= 500:
                self._on_error(answer)
            self._reject(frame.play, frame.id, answer)
            return
        cursor = self._topics.cursor(f"play:{frame.play}")
        if cursor is None or cursor.answered(answer.delta.ply):
            self._acknowledge(frame, answer)
        else:
            self._in_background(self._catch_up(cursor, frame, answer))

    async def _catch_up(self, cursor: Cursor, frame: MoveFrame, answer: Answer) -> None:
        await cursor.catch_up(answer.delta.ply - 1)
        cursor.answered(answer.delta.ply)
        self._acknowledge(frame, answer)

    def _acknowledge(self, frame: MoveFrame, answer: Answer) -> None:
        self._connection.answer(
            b'{"op":"ack","play":"%b","id":%b,"ply":%d,"data":%b}'
            % (frame.play.encode(), _encode(frame.id), answer.delta.ply, answer.json)
        )

    def _in_background(self, work: Coroutine[Any, Any, None]) -> None:
        task = asyncio.create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)

    def _reject(self, play: str, move_id: str, error: Exception) -> None:
        told: dict[str, Any] = {
            "op": "reject",
            "play": play,
            "id": move_id,
            "code": shape_of(error).code,
            "detail": detail_of(error),
            "ply": self._house.plays.ply_of(self._connection.viewer, play),
            **extras(error),
        }
        if shape_of(error).status == 503:
            told["retry_after_ms"] = 1_000
        self._say(told)

    # What is said

    def _ready(self, player: Player | None) -> None:
        self._say({"op": "ready", "player": player, "server_time": instant(self._house.now())})

    def _unreadable(self, raw: str | bytes, error: Exception) -> None:
        """A frame that is no request: a move with a readable id is still rejected by it."""
        try:
            loose = msgspec.json.decode(raw)
        except (msgspec.MsgspecError, UnicodeError, RecursionError):
            loose = None
        told: dict[str, Any] = {
            "op": "error",
            "code": shape_of(error).code,
            "detail": detail_of(error),
        }
        if isinstance(loose, dict):
            named = loose.get("id")
            readable = isinstance(named, str) and 1 <= len(named) <= 40
            if loose.get("op") == "move" and readable:
                play = loose.get("play")
                shown = play if isinstance(play, str) and len(play) <= 40 else None
                told = told | {"op": "reject", "play": shown, "id": named, "ply": None}
            elif readable:
                told["id"] = named
        self._say(told)

    def _error(self, error: Exception, topic: str | None = None) -> None:
        shape = shape_of(error)
        if shape.status >= 500:
            self._on_error(error)
        told = {"op": "error", "code": shape.code, "detail": detail_of(error)}
        self._say(told if topic is None else told | {"topic": topic})

    def _say(self, told: dict[str, Any]) -> None:
        self._connection.send(_encode(told).decode())

    def _close_for(self, error: Exception) -> None:
        """For good; or, where the fault is ours, to come again."""
        shape = shape_of(error)
        ours = RESTART if shape.status >= 500 else POLICY
        code = BAD_TOKEN if isinstance(error, BadToken) else ours
        self._connection.finish(code, shape.code)

    def _too_many(self) -> None:
        self._say({"op": "error", "code": "too-many-sockets", "detail": "8 sockets a player"})
        self._connection.finish(POLICY, "too many sockets")
