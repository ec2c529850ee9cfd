"""A WebSocket without a library: it can stop reading, and hears later what was sent meanwhile."""

import asyncio
import base64
import json
import os
import socket
import struct
from typing import Any, Self

from tests.e2e.served import Service, deadline


class Deaf:
    """Small buffers all the way: what it does not read soon waits in the server."""

    def __init__(self, connection: socket.socket) -> None:
        self._socket = connection
        self._loop = asyncio.get_running_loop()

    @classmethod
    async def connect(cls, server: Service, token: str) -> Self:
        connection = socket.socket()
        connection.setblocking(False)
        connection.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 2_048)
        connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_MAXSEG, 536)
        deaf = cls(connection)
        await deaf._loop.sock_connect(connection, ("127.0.0.1", server.port))
        await deaf._loop.sock_sendall(
            connection,
            (
                f"GET /v1/ws HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
                "Upgrade: websocket\r\nConnection: Upgrade\r\nSec-WebSocket-Version: 13\r\n"
                f"Sec-WebSocket-Key: {base64.b64encode(os.urandom(16)).decode()}\r\n"
                f"Authorization: Bearer {token}\r\n\r\n"
            ).encode(),
        )
        head = b""
        async with deadline("the handshake"):
            while b"\r\n\r\n" not in head:
                head += await deaf._loop.sock_recv(connection, 1)
        assert head.startswith(b"HTTP/1.1 101 "), head
        return deaf

    async def send(self, **frame: Any) -> None:
        await self._frame(0x1, json.dumps(frame).encode())

    async def say_goodbye(self) -> None:
        await self._frame(0x8, struct.pack("!H", 1000))

    async def _frame(self, opcode: int, payload: bytes) -> None:
        assert len(payload) < 126
        mask = os.urandom(4)
        masked = bytes(byte ^ mask[n % 4] for n, byte in enumerate(payload))
        head = bytes([0x80 | opcode, 0x80 | len(payload)])
        await self._loop.sock_sendall(self._socket, head + mask + masked)

    async def rest(self) -> tuple[list[dict[str, Any]], int | None]:
        """Read to the end: the frames, and the close code if there was one."""
        data = bytearray()
        async with deadline("the end of a socket"):
            try:
                while part := await self._loop.sock_recv(self._socket, 65_536):
                    data += part
                    if b"too slow" in part:
                        break  # the server waits for our goodbye
            except ConnectionError:
                pass
        frames: list[dict[str, Any]] = []
        code = None
        while len(data) >= 2:
            length, start = data[1], 2
            if length == 126:
                length, start = struct.unpack_from("!H", data, 2)[0], 4
            elif length == 127:
                length, start = struct.unpack_from("!Q", data, 2)[0], 10
            payload = bytes(data[start : start + length])
            if data[0] == 0x81 and len(payload) == length:
                frames.append(json.loads(payload))
            elif data[0] == 0x88:
                (code,) = struct.unpack_from("!H", payload)
            del data[: start + length]
        return frames, code

    def close(self) -> None:
        self._socket.close()
