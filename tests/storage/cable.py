"""A wire to Postgres that tests can hold and cut, to see what a client makes of it."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

from sqlalchemy.engine import make_url


class Cable:
    """Passes bytes both ways between clients and a server, until told otherwise."""

    def __init__(self, host: str, port: int) -> None:
        self._server = (host, port)
        self._replies = asyncio.Event()
        self._replies.set()
        self._writers: set[asyncio.StreamWriter] = set()
        self._whole = True
        self._tasks: set[asyncio.Task[None]] = set()

    def hold_replies(self) -> None:
        """From now on the server hears its clients, but they do not hear it."""
        self._replies.clear()

    def cut(self) -> None:
        """Break every connection; new ones are not taken up until `mend`."""
        self._whole = False
        for writer in self._writers:
            writer.transport.abort()

    def mend(self) -> None:
        self._whole = True
        self._replies.set()

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        if not self._whole:
            writer.transport.abort()
            return
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        far_reader, far_writer = await asyncio.open_connection(*self._server)
        ends = {writer, far_writer}
        self._writers |= ends
        try:
            await asyncio.wait(
                [
                    asyncio.ensure_future(self._pass(reader, far_writer)),
                    asyncio.ensure_future(self._pass(far_reader, writer, self._replies)),
                ],
                return_when=asyncio.FIRST_COMPLETED,
            )
        finally:
            self._writers -= ends
            for end in ends:
                end.transport.abort()
            self._replies.set()  # nothing is left that could pass
            self._tasks.discard(task)

    async def _pass(
        self,
        reader: asyncio.StreamReader,
        writer: asyncio.StreamWriter,
        gate: asyncio.Event | None = None,
    ) -> None:
        with contextlib.suppress(ConnectionError):
            while data := await reader.read(65536):
                if gate is not None:
                    await gate.wait()
                writer.write(data)
                await writer.drain()

    async def drained(self) -> None:
        if self._tasks:
            await asyncio.wait(self._tasks)


@contextlib.asynccontextmanager
async def cable_to(url: str) -> AsyncIterator[tuple[Cable, str]]:
    """A cable to a Postgres database, and the address at its near end."""
    far = make_url(url)
    cable = Cable(far.host or "127.0.0.1", far.port or 5432)
    server = await asyncio.start_server(cable.connected, "127.0.0.1", 0)
    port = server.sockets[0].getsockname()[1]
    try:
        yield cable, far.set(host="127.0.0.1", port=port).render_as_string(hide_password=False)
    finally:
        server.close()
        cable.cut()
        await cable.drained()
        await server.wait_closed()
