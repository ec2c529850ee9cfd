"""A client that costs little: WebSocket frames and JSON requests on bare transports.

The load generator must not be what limits, so frames are made beforehand and answers are looked at
only as far as the question needs.
"""

import asyncio
import base64
import contextlib
import json
import os
import struct
from collections.abc import AsyncIterator, Callable
from typing import Any

HOST = "127.0.0.1"
PATIENCE = 30.0


def frame(text: bytes) -> bytes:
    """A client's text frame. The mask is all zeros: it costs the server as much as any other."""
    if len(text) < 126:
        return struct.pack("!BBI", 0x81, 0x80 | len(text), 0) + text
    return struct.pack("!BBHI", 0x81, 0xFE, len(text), 0) + text


def command(**fields: Any) -> bytes:
    """A client's frame as the protocol has it."""
    return frame(json.dumps(fields, separators=(",", ":")).encode())


class Socket(asyncio.Protocol):
    """One WebSocket; whoever uses it says what is done with a text that comes."""

    def __init__(self, port: int, path: str, token: str | None) -> None:
        self.opened: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        self.transport: asyncio.Transport
        self._ask = (port, path, token)
        self._rest = b""

    def on_text(self, text: bytes) -> None:
        """A whole text frame has come."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self.transport = transport  # type: ignore[assignment]
        port, path, token = self._ask
        key = base64.b64encode(os.urandom(16)).decode()
        bearer = "" if token is None else f"Authorization: Bearer {token}\r\n"
        transport.write(
            f"GET {path} HTTP/1.1\r\nHost: {HOST}:{port}\r\nUpgrade: websocket\r\n"
            f"Connection: Upgrade\r\nSec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n"
            f"{bearer}\r\n".encode()
        )

    def connection_lost(self, exc: Exception | None) -> None:
        if not self.opened.done():
            self.opened.set_exception(ConnectionError("the server hung up"))

    def data_received(self, data: bytes) -> None:
        if self._rest:
            data = self._rest + data
        at = 0
        if not self.opened.done():
            head, found, _ = data.partition(b"\r\n\r\n")
            if not found:
                self._rest = data
                return
            if b" 101 " not in head.partition(b"\r\n")[0]:
                self.opened.set_exception(ConnectionError(head.decode()))
                return
            self.opened.set_result(None)
            at = len(head) + 4
        whole = len(data)
        while whole - at >= 2:
            start, size = at + 2, data[at + 1]
            if size == 126:
                start, size = at + 4, int.from_bytes(data[at + 2 : at + 4], "big")
            elif size == 127:
                start, size = at + 10, int.from_bytes(data[at + 2 : at + 10], "big")
            if start + size > whole:
                break
            code = data[at] & 15
            at = start + size
            if code == 1:
                self.on_text(data[start:at])
            elif code == 9:
                self.transport.write(struct.pack("!BBI", 0x8A, 0x80 | size, 0) + data[start:at])
            elif code == 8:
                self.transport.close()
        self._rest = data[at:]


async def until(condition: Callable[[], object], seconds: float = PATIENCE) -> None:
    """Wait for something that nobody tells of. Raises `TimeoutError`."""
    async with asyncio.timeout(seconds):
        while not condition():  # noqa: ASYNC110
            await asyncio.sleep(0.01)


async def opened(socket: Socket) -> None:
    """Connect a socket and wait until it is open."""
    loop = asyncio.get_running_loop()
    async with asyncio.timeout(PATIENCE):
        await loop.create_connection(lambda: socket, HOST, socket._ask[0])
        await socket.opened


async def all_opened(sockets: list[Any], at_once: int = 50) -> None:
    """Connect many, some at a time, so that no listen queue overflows."""
    for start in range(0, len(sockets), at_once):
        await asyncio.gather(*map(opened, sockets[start : start + at_once]))


async def ask(
    port: int, method: str, path: str, token: str | None = None, body: Any = None
) -> dict[str, Any]:
    """What a request is answered with. Raises `RuntimeError` unless it is a 2xx."""
    async with _connection(port) as streams:
        return await _exchange(*streams, method, path, token, body)


async def ask_all(
    port: int, requests: list[tuple[str, str, str | None, Any]], at_once: int = 16
) -> list[dict[str, Any]]:
    """Many requests (method, path, token, body), over a few connections; answers in order."""
    answers: list[Any] = [None] * len(requests)
    waiting = iter(list(enumerate(requests)))

    async def work() -> None:
        async with _connection(port) as streams:
            for at, request in waiting:
                answers[at] = await _exchange(*streams, *request)

    await asyncio.gather(*(work() for _ in range(min(at_once, len(requests)))))
    return answers


@contextlib.asynccontextmanager
async def _connection(
    port: int,
) -> AsyncIterator[tuple[asyncio.StreamReader, asyncio.StreamWriter]]:
    reader, writer = await asyncio.open_connection(HOST, port)
    try:
        yield reader, writer
    finally:
        writer.close()


async def _exchange(
    reader: asyncio.StreamReader,
    writer: asyncio.StreamWriter,
    method: str,
    path: str,
    token: str | None,
    body: Any,
) -> dict[str, Any]:
    payload = b"" if body is None else json.dumps(body).encode()
    head = f"{method} {path} HTTP/1.1\r\nHost: {HOST}\r\nContent-Length: {len(payload)}\r\n"
    if body is not None:
        head += "Content-Type: application/json\r\n"
    if token is not None:
        head += f"Authorization: Bearer {token}\r\n"
    writer.write(head.encode() + b"\r\n" + payload)
    async with asyncio.timeout(PATIENCE):
        told = (await reader.readuntil(b"\r\n\r\n")).decode()
        fields = {
            name.lower(): value.strip()
            for name, _, value in (line.partition(":") for line in told.split("\r\n")[1:])
        }
        answer = await reader.readexactly(int(fields.get("content-length", "0")))
    if told.split(" ", 2)[1][:1] != "2":
        raise RuntimeError(f"{method} {path}: {told.splitlines()[0]} {answer.decode()}")
    return json.loads(answer or b"{}")
