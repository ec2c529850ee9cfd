"""A small client of the protocol, as a stranger would write it from the documents: no service code."""

import asyncio
import contextlib
import copy
import json
from collections.abc import AsyncIterator
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import Any

import httpx2
from websockets.asyncio.client import ClientConnection, connect
from websockets.exceptions import ConnectionClosed

from tests.serving import Service

PATIENCE_S = 20.0

Json = dict[str, Any]


@contextlib.asynccontextmanager
async def http() -> AsyncIterator[httpx2.AsyncClient]:
    """Connections for one test. Keeps no cookies: what is sent is what a test says."""
    async with httpx2.AsyncClient(
        cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
        verify=False,
        trust_env=False,
        timeout=PATIENCE_S,
        limits=httpx2.Limits(max_connections=200, max_keepalive_connections=50),
    ) as client:
        yield client


class Caller:
    """Somebody who calls the service, with a token or without."""

    def __init__(
        self, service: Service, client: httpx2.AsyncClient, player: Json | None, token: str | None
    ) -> None:
        self.service = service
        self.client = client
        self.player = player
        self.token = token

    @property
    def id(self) -> str:
        assert self.player is not None
        return str(self.player["id"])

    async def call(
        self, method: str, path: str, body: Any = None, headers: Json | None = None, **other: Any
    ) -> httpx2.Response:
        """A request; `body` is sent as JSON, `content=` as it stands."""
        sent = {} if self.token is None else {"Authorization": f"Bearer {self.token}"}
        if body is not None:
            # Not `json=`: that cannot send lone surrogates.
            other["content"] = json.dumps(body)
            sent["Content-Type"] = "application/json"
        return await self.client.request(
            method, self.service.url + path, headers={**sent, **(headers or {})}, **other
        )

    async def get(self, path: str, status: int = 200, **other: Any) -> Any:
        return _json(await self.call("GET", path, **other), status)

    async def post(self, path: str, body: Any = None, status: int = 200, **other: Any) -> Any:
        return _json(await self.call("POST", path, body, **other), status)

    async def patch(self, path: str, body: Any = None, status: int = 200, **other: Any) -> Any:
        return _json(await self.call("PATCH", path, body, **other), status)

    async def delete(self, path: str, status: int = 200, **other: Any) -> Any:
        return _json(await self.call("DELETE", path, **other), status)

    @contextlib.asynccontextmanager
    async def socket(self, url: str | None = None, **options: Any) -> AsyncIterator["Socket"]:
        """A socket of this caller's, with the first `ready` still to be read."""
        headers = {} if self.token is None else {"Authorization": f"Bearer {self.token}"}
        address = (url or self.service.url).replace("http", "ws", 1) + "/v1/ws"
        async with connect(
            address,
            additional_headers={**headers, **options.pop("headers", {})},
            compression=None,
            max_size=None,
            ping_interval=None,
            proxy=None,
            **options,
        ) as connection:
            async with Socket(connection) as socket:
                yield socket


def _json(reply: httpx2.Response, status: int) -> Any:
    assert reply.status_code == status, f"{reply.status_code}, not {status}: {reply.text}"
    return reply.json() if reply.content else None


class Socket:
    """An open socket: `heard` is all that came, in order; `expect` waits for what is to come."""

    def __init__(self, connection: ClientConnection) -> None:
        self.connection = connection
        self.heard: list[Json] = []
        self._unread: list[Json] = []
        self._news = asyncio.Condition()
        self._closed = False
        self._reader: asyncio.Task[None] | None = None
        self._pings = 0

    async def __aenter__(self) -> "Socket":
        self._reader = asyncio.create_task(self._read())
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self.connection.close()
        assert self._reader is not None
        await self._reader

    async def _read(self) -> None:
        try:
            async for text in self.connection:
                assert isinstance(text, str), "the server sends text frames only"
                assert len(text.encode()) <= 256 * 1024
                frame = json.loads(text)
                async with self._news:
                    self.heard.append(frame)
                    self._unread.append(frame)
                    self._news.notify_all()
        except ConnectionClosed:
            pass
        async with self._news:
            self._closed = True
            self._news.notify_all()

    async def send(self, *frames: Json) -> None:
        for frame in frames:
            await self.connection.send(json.dumps(frame))

    async def raw(self, frame: str | bytes) -> None:
        await self.connection.send(frame)

    async def expect(self, op: str, **fields: Any) -> Json:
        """The first frame not yet expected of that op and those fields; of `type`, in its data."""

        def found() -> Json | None:
            return next((frame for frame in self._unread if _matches(frame, op, fields)), None)

        async with self._news:
            try:
                async with asyncio.timeout(PATIENCE_S):
                    await self._news.wait_for(lambda: found() is not None or self._closed)
            except TimeoutError:
                pass
            frame = found()
            assert frame is not None, f"no {op} {fields} among {self.heard[-20:]} {self._closed=}"
            self._unread.remove(frame)
            return frame

    async def still(self) -> list[Json]:
        """Everything that was said before the answer to a ping sent now."""
        self._pings += 1
        mark = f"still-{self._pings}"
        await self.send({"op": "ping", "id": mark})
        pong = await self.expect("pong", id=mark)
        return self.heard[: self.heard.index(pong)]

    async def close_code(self) -> int:
        """Waits until the server has closed; its code."""
        async with asyncio.timeout(PATIENCE_S):
            await self.connection.wait_closed()
        assert self.connection.close_code is not None
        return self.connection.close_code

    async def move(self, play: str, ply: int, move: str, move_id: str | None = None) -> Json:
        """A move and its answer, an `ack` or a `reject`."""
        move_id = move_id or f"p{ply}"
        await self.send({"op": "move", "play": play, "ply": ply, "move": move, "id": move_id})
        return await self.answer(move_id)

    async def answer(self, move_id: str) -> Json:
        """The one answer to a move."""
        return await self.expect("ack|reject", id=move_id)

    async def watch(self, topic: str, since: int | None = None) -> Json:
        """Watches a topic; its `watching`."""
        frame: Json = {"op": "watch", "topic": topic}
        await self.send(frame if since is None else {**frame, "since": since})
        return await self.expect("watching", topic=topic)


def _matches(frame: Json, op: str, fields: Json) -> bool:
    if frame["op"] not in op.split("|"):
        return False
    for key, value in fields.items():
        held = frame.get("data", {}).get("type") if key == "type" else frame.get(key)
        if held != value:
            return False
    return True


# What a client works out by itself


def board_after(board: Json, delta: Json) -> Json:
    """The board after a delta, as the protocol says: `changes` applied, or the whole `board`."""
    if "board" in delta:
        return dict(delta["board"])
    board = copy.deepcopy(board)
    piles = board["piles"]
    for change in delta["changes"]:
        match change:
            case {"do": "move", "card": card, "from": source, "to": target}:
                if piles[source]["up"]:
                    assert piles[source]["up"].pop() == card
                else:
                    piles[source]["down"] -= 1
                piles[target]["up"].append(card)
            case {"do": "reveal", "card": card, "pile": pile}:
                assert piles[pile]["up"] == []
                piles[pile]["down"] -= 1
                piles[pile]["up"].append(card)
            case {"do": "pack", "from": source, "to": target, "count": count}:
                del piles[source]["up"][len(piles[source]["up"]) - count :]
                piles[target]["down"] += count
            case _:
                raise AssertionError(f"no such change: {change}")
    for field in ("pass", "pass_left", "redeals_left"):
        board[field] = delta[field]
    return board


def sensible(legal: list[str]) -> str:
    """What a sensible player does, in either game: cards home first, turning last."""
    return min(legal, key=lambda move: (move in ("turn", "redeal"), "-f" not in move, move))
