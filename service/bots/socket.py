"""The live half of the client: one WebSocket for everything, that survives being cut.

What makes that possible is in the contract: every topic counts its events, so that watching again
with `since` brings exactly what was missed, and every move has an id, so that sending it again is
safe. So there is only one thing to do when a connection is lost, whatever the reason: connect anew,
watch every topic from the version held, and send every unanswered move once more.
"""

import asyncio
import contextlib
import random
import secrets
import time
from collections.abc import Callable
from types import TracebackType

import msgspec
from msgspec import Struct
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed, InvalidHandshake, InvalidStatus

from service.bots.feed import (
    Feed,
    LobbyNews,
    PlayNews,
    RaceNews,
    Unnumbered,
    lobby_news,
    play_news,
    race_news,
)
from service.bots.messages import Delta, Frame, Lost, Refused

FINAL = {1008: "policy", 1009: "too-big", 4001: "token-revoked", 4003: "bad-token"}
"""Close codes after which trying again would only bring the same. After all others, among them 1012
(the service restarts), 4008 (we were too slow) and no code at all: come back and resume."""
PASSING = frozenset({"unavailable", "outcome-unknown", "internal"})
"""Codes of errors that may be gone in a moment."""
PASSING_SECONDS = 1.0
RECONNECT_SECONDS = 3.0
"""Reconnect after 0 to 3 seconds at random, so that a restart is not followed by a stampede."""
PATIENCE_SECONDS = 60.0
"""How long the service may be away."""


AnyFeed = Feed[RaceNews] | Feed[PlayNews] | Feed[LobbyNews]


class _Move(Struct):
    """A move that has not been answered yet."""

    frame: bytes
    answer: asyncio.Future[Delta]


class Socket:
    """One connection, kept up for as long as the `async with` lasts."""

    def __init__(self, address: str, token: str | None, *, direct: bool = False) -> None:
        """`address` is `ws://…/v1/ws`; without a token only what everybody may see.

        `direct`: do not look for a proxy in the environment.
        """
        self._address = address
        self._headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        self._direct = direct
        self._connection: ClientConnection | None = None
        self._connected = asyncio.Event()
        # Frames go out one by one, and those of a resumption before all newer ones.
        self._sending = asyncio.Lock()
        self._feeds: dict[str, AnyFeed] = {}
        self._moves: dict[tuple[str, str], _Move] = {}
        self._later: set[asyncio.Task[None]] = set()
        self._failure: Exception | None = None
        self._alive_at = time.monotonic()
        self._keeper: asyncio.Task[None] | None = None
        self.reconnections = 0
        """How often it had to come back."""

    async def __aenter__(self) -> "Socket":
        self._keeper = asyncio.create_task(self._keep())
        try:
            async with asyncio.timeout(PATIENCE_SECONDS):
                await self._connected.wait()
            if self._failure is not None:
                raise self._failure
        except TimeoutError:
            await self.close()
            raise Lost("the service does not say that it is ready") from None
        except BaseException:
            await self.close()
            raise
        return self

    async def __aexit__(
        self,
        _kind: type[BaseException] | None,
        _error: BaseException | None,
        _trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Hang up; whoever still waits for something gets `Lost`."""
        tasks = [task for task in (self._keeper, *self._later) if task is not None]
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        self._fail(Lost("this socket has been closed"))

    # What one does with it

    async def watch_race(self, race_id: str, since: int | None = None) -> Feed[RaceNews]:
        """Follow a race: first the whole, or with `since` only what came after that version."""
        feed = Feed(f"race:{race_id}", since, race_news, self._leave)
        await self._watch(feed)
        return feed

    async def watch_lobby(self) -> Feed[LobbyNews]:
        """Follow the list of races that can be joined or soon begin."""
        feed = Unnumbered("lobby", None, lobby_news, self._leave)
        await self._watch(feed)
        return feed

    async def watch_play(self, play_id: str, since: int | None = None) -> Feed[PlayNews]:
        """Follow a play whose board one may see; versions are its plies."""
        feed = Feed(f"play:{play_id}", since, play_news, self._leave)
        await self._watch(feed)
        return feed

    async def move(self, play_id: str, ply: int, move: str, move_id: str | None = None) -> Delta:
        """Make a move and wait until it is stored, over lost connections too.

        Raises `Refused`; with `ply-conflict` its `ply` is the present one, with `illegal-move` its
        `legal` are the moves to choose from.
        """
        if self._failure is not None:
            raise self._failure
        key = (play_id, secrets.token_urlsafe(9) if move_id is None else move_id)
        sent = {"op": "move", "play": play_id, "ply": ply, "move": move, "id": key[1]}
        waiting = _Move(msgspec.json.encode(sent), asyncio.get_running_loop().create_future())
        self._moves[key] = waiting
        try:
            await self._say(waiting.frame)
            return await waiting.answer
        finally:
            self._moves.pop(key, None)

    async def _watch(self, feed: AnyFeed) -> None:
        if self._failure is not None:
            raise self._failure
        if feed.topic in self._feeds:
            raise ValueError(f"{feed.topic} is watched already")
        self._feeds[feed.topic] = feed
        await self._say(feed.request())

    async def _leave(self, topic: str) -> None:
        if self._feeds.pop(topic, None) is not None:
            await self._say(msgspec.json.encode({"op": "unwatch", "topic": topic}))

    # The connection

    async def _say(self, frame: bytes) -> None:
        """Send a frame; nothing when there is no connection, for the next one begins with all."""
        async with self._sending:
            if self._connection is not None:
                with contextlib.suppress(ConnectionClosed):
                    await self._connection.send(frame, text=True)

    async def _keep(self) -> None:
        """Be connected, again and again, until there is no sense in it."""
        while True:
            try:
                await self._connect()
            except InvalidStatus as error:
                if error.response.status_code < 500:
                    self._fail(Refused("no-socket", str(error)))
            except (OSError, InvalidHandshake, ConnectionClosed):
                pass  # it is not there just now
            except Exception as error:
                self._fail(error)
            if time.monotonic() - self._alive_at > PATIENCE_SECONDS:
                self._fail(Lost("the service cannot be reached"))
            if self._failure is not None:
                return
            await asyncio.sleep(random.uniform(0, RECONNECT_SECONDS))
            self.reconnections += 1

    async def _connect(self) -> None:
        async with connect(
            self._address,
            additional_headers=self._headers,
            compression=None,
            proxy=None if self._direct else True,
        ) as connection:
            await self._serve(connection)
        code = connection.close_code
        if code in FINAL:
            self._fail(Refused(FINAL[code], connection.close_reason or "the socket was closed"))

    async def _serve(self, connection: ClientConnection) -> None:
        """Resume, then read until the connection is gone."""
        # Answers are read while the requests are still going out: otherwise both sides might wait.
        reading = asyncio.create_task(self._read(connection))
        try:
            async with self._sending:
                for feed in tuple(self._feeds.values()):
                    await connection.send(feed.request(), text=True)
                for move in tuple(self._moves.values()):
                    await connection.send(move.frame, text=True)
                self._connection = connection
            await reading
        except ConnectionClosed:
            pass  # in the middle of it
        finally:
            self._alive_at = time.monotonic()
            self._connection = None
            reading.cancel()
            await asyncio.gather(reading, return_exceptions=True)

    async def _read(self, connection: ClientConnection) -> None:
        with contextlib.suppress(ConnectionClosed):
            async for raw in connection:
                self._heard(msgspec.json.decode(raw, type=Frame))

    def _fail(self, error: Exception) -> None:
        """Nothing more will come: tell everybody who waits."""
        if self._failure is not None:
            return
        self._failure = error
        self._connected.set()
        for feed in self._feeds.values():
            feed.failed(error)
        for move in self._moves.values():
            if not move.answer.done():
                move.answer.set_exception(error)

    # What is heard

    def _heard(self, frame: Frame) -> None:
        """Frames of kinds that are not known here are passed over."""
        match frame.op:
            case "ready":
                self._connected.set()
            case "snapshot" | "event" | "progress" | "error":
                feed = self._feeds.get(frame.topic)
                if feed is not None:
                    self._told(feed, frame)
            case "ack" | "reject":
                self._answered(frame)

    def _told(self, feed: AnyFeed, frame: Frame) -> None:
        match frame.op:
            case "snapshot":
                feed.replaced(frame)
            case "event":
                self._follow(feed, frame.v, frame)
            case "progress":
                feed.passed(frame)
            case _ if frame.code in PASSING:
                self._soon(PASSING_SECONDS, feed.request)
            case _:
                del self._feeds[feed.topic]
                feed.failed(Refused(frame.code, frame.detail))

    def _follow(self, feed: AnyFeed, v: int, frame: Frame) -> None:
        if not feed.followed(v, frame) and feed.v is not None:
            self._soon(0, feed.request)  # should not happen; asking again mends it

    def _answered(self, frame: Frame) -> None:
        feed = self._feeds.get(f"play:{frame.play}")
        if frame.op == "ack" and frame.ply is not None and feed is not None:
            self._follow(feed, frame.ply, frame)  # for whoever watches the play it is the event
        move = self._moves.get((frame.play or "", str(frame.id)))
        if move is None or move.answer.done():
            return
        if frame.op == "ack":
            move.answer.set_result(msgspec.json.decode(frame.data, type=Delta))
        elif frame.retry_after_ms is not None:  # not now: the same again, with the same id
            self._soon(frame.retry_after_ms / 1000, lambda: move.frame)
        else:
            no = Refused(frame.code, frame.detail, ply=frame.ply, legal=frame.legal)
            move.answer.set_exception(no)

    def _soon(self, seconds: float, frame: Callable[[], bytes]) -> None:
        async def later() -> None:
            await asyncio.sleep(seconds)
            await self._say(frame())

        task = asyncio.create_task(later())
        self._later.add(task)
        task.add_done_callback(self._later.discard)
