"""One WebSocket: a reader, a queue with an end, a writer, and close codes that say why."""

import asyncio
from collections import deque
from collections.abc import Callable
from typing import Any

from starlette.types import Receive, Send
from starlette.websockets import WebSocket

from service.storage.players import Token

MAX_FRAMES = 64
MAX_QUEUED = 256 * 1024
ROOM = 32
"""Whoever can wait does so while more frames than this are queued."""
STALLED_SECONDS = 10.0

KICK = "samedeal.kick"
"""The ASGI extension by which our server closes a socket without waiting for its peer."""
PUT = "samedeal.put"
"""The one by which it writes a text frame, given as bytes, at once; False if that cannot be."""
HEAR = "samedeal.hear"
"""The one by which it offers whole text frames, as bytes, before it queues them."""

POLICY, TOO_SLOW, REVOKED, BAD_TOKEN, RESTART = 1008, 4008, 4001, 4003, 1012


class Connection:
    """An `Outlet` over ASGI.

    `viewer` is whoever the socket has authenticated as, `scopes` what the token is good for.
    """

    __slots__ = (
        "_closing",
        "_drained",
        "_hear",
        "_kick",
        "_last",
        "_listening",
        "_put",
        "_queue",
        "_queued",
        "_receive",
        "_send",
        "_sending",
        "_writer",
        "scopes",
        "token_id",
        "viewer",
    )

    def __init__(self, socket: WebSocket) -> None:
        self.viewer: str | None = None
        self.token_id: str | None = None
        self.scopes: frozenset[str] = frozenset()
        self._receive: Receive = socket._receive
        self._send: Send = socket._send
        extensions = socket.scope.get("extensions", {})
        self._kick: Callable[[int, str], None] | None = extensions.get(KICK)
        self._put: Callable[[bytes], bool] | None = extensions.get(PUT)
        self._hear: Callable[[Callable[[bytes], bool]], None] | None = extensions.get(HEAR)
        self._listening = False
        self._queue: deque[str] = deque()
        self._queued = 0
        self._sending = False
        self._closing = False
        self._last: tuple[int, str] | None = None
        self._drained = asyncio.Event()
        self._writer: asyncio.Task[None] | None = None

    def speaks_for(self, token: Token) -> None:
        """The socket has authenticated."""
        self.viewer, self.token_id, self.scopes = token.player.id, token.id, token.scopes

    @property
    def closing(self) -> bool:
        """Whether nothing more will be sent."""
        return self._closing

    async def receive(self) -> str | bytes | None:
        """The next frame, None when the socket is gone."""
        self._listening = True
        message = await self._receive()
        self._listening = False
        if message["type"] != "websocket.receive" or self._closing:
            return None
        text = message.get("text")
        return text if text is not None else message.get("bytes")

    def on_text(self, heard: Callable[[bytes], bool]) -> None:
        """Offer text frames to `heard` first, which says whether it has dealt with them.

        Only those that `receive` would have returned at once, while nothing waits to be sent.
        """

        def offered(text: bytes) -> bool:
            busy = self._sending or self._closing or self._last is not None
            return self._listening and not busy and heard(text)

        if self._hear is not None:
            self._hear(offered)

    def send(self, frame: str) -> None:
        """Queue a frame, in order; a queue at its end closes the socket with 4008."""
        if self._closing or self._written(frame.encode()):
            return
        if len(self._queue) >= MAX_FRAMES or self._queued + len(frame) > MAX_QUEUED:
            self.close(TOO_SLOW, "too slow")
            return
        self._queue.append(frame)
        self._queued += len(frame)
        if not self._sending:
            self._write()

    def answer(self, frame: bytes) -> None:
        """The same for a frame that is encoded already."""
        if not self._written(frame):
            self.send(frame.decode())

    def _written(self, frame: bytes) -> bool:
        """Whether a frame could go out at once: nothing is before it, and the peer reads."""
        return not self._sending and self._put is not None and self._put(frame)

    async def room(self) -> bool:
        """Wait until the queue has room again; False when the socket is gone."""
        if len(self._queue) > ROOM or self._queued > MAX_QUEUED // 2:
            self._drained.clear()
            try:
                async with asyncio.timeout(STALLED_SECONDS):
                    await self._drained.wait()
            except TimeoutError:
                self.close(TOO_SLOW, "too slow")
        return not self._closing

    def close(self, code: int, reason: str) -> None:
        """Close at once; what is queued is not sent any more."""
        if self._closing:
            return
        self._gone()
        if self._kick is not None:
            self._kick(code, reason)

    def finish(self, code: int, reason: str) -> None:
        """Close once what is queued has been sent."""
        self._last = (code, reason)
        if not self._sending and not self._queue:
            self.close(code, reason)

    async def gone(self) -> None:
        """Wait until the socket is gone; what it still says is not heard."""
        while await self.receive() is not None:
            pass

    def _gone(self) -> None:
        self._closing = True
        self._queue.clear()
        self._queued = 0
        self._drained.set()

    def _write(self) -> None:
        """Send what is queued; the task lives as long as there is something to send."""
        self._sending = True
        self._writer = asyncio.ensure_future(self._drain())

    async def _drain(self) -> None:
        send, queue = self._send, self._queue
        message: dict[str, Any] = {"type": "websocket.send"}
        try:
            while queue and not self._closing:
                frame = queue.popleft()
                self._queued -= len(frame)
                if len(queue) <= ROOM // 2:
                    self._drained.set()
                message["text"] = frame
                await send(message)
        except OSError:
            self._gone()
        finally:
            self._sending = False
        if self._last is not None:
            self.close(*self._last)
