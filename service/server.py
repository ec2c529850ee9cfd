"""The web server: uvicorn with our order of shutting down, and sockets that can be kicked."""

import gc
import multiprocessing
import multiprocessing.connection
import os
import signal
import socket
import sys
import tempfile
import time
from collections.abc import Callable
from multiprocessing.context import SpawnProcess
from typing import Any

import msgspec
import uvicorn
from prometheus_client import multiprocess
from uvicorn.protocols.websockets.websockets_sansio_impl import WebSocketsSansIOProtocol
from websockets.exceptions import InvalidState

from service import logs
from service.api.socket.connection import HEAR, KICK, PUT
from service.app import Process, create_app
from service.referee.thinking import leave_with_parent
from service.settings import Settings

MAX_CLIENT_FRAME = 16 * 1024
PING_SECONDS = 25.0
SILENCE_SECONDS = 60.0
KICK_SECONDS = 3.0
SHUTDOWN_SECONDS = 5
BACKLOG = 2048
COLLECT_EVERY = 5_000, 10, 1_000_000
"""Objects that came and stayed between two collections, and collections between wider ones: what
is old is looked at by the clock, not whenever there is more of it. A full collection visits every
play that is kept, a tenth of a second with thousands, and players who move make nothing for it."""
COLLECT_SECONDS = 60
PAUSE_SECONDS = 2.0
FAILED = 3
"""Exit status of a server that could not start."""


class SocketProtocol(WebSocketsSansIOProtocol):
    """Lets the application read and write without a detour, and close a socket that is not read."""

    heard: Callable[[bytes], bool] | None = None

    async def run_asgi(self) -> None:
        ours = {HEAR: self.hear, KICK: self.kick, PUT: self.put}
        self.scope["extensions"] = {**(self.scope["extensions"] or {}), **ours}  # type: ignore[dict-item]
        await super().run_asgi()

    def shutdown(self) -> None:
        try:
            super().shutdown()
        except InvalidState:  # its peer has said goodbye, but does not read our answer
            self.transport.close()

    def hear(self, heard: Callable[[bytes], bool]) -> None:
        """Offer text frames to `heard`; those that it leaves are queued."""
        self.heard = heard

    def send_receive_event_to_app(self) -> None:
        heard, text = self.heard, self.curr_msg_data_type == "text" and not self.close_sent
        # Nothing is taken out of its turn: what has been queued comes first.
        if heard is not None and text and self.queue.empty() and heard(b"".join(self.frames)):
            self.frames = []
        else:
            super().send_receive_event_to_app()

    def put(self, text: bytes) -> bool:
        """Write a text frame now; False if it cannot be written, or would have to wait."""
        if not self.writable.is_set() or self.close_sent or self.transport.is_closing():
            return False
        size = len(text)
        if size < 126:
            head = bytes((0x81, size))
        elif size < 1 << 16:
            head = b"\x81\x7e" + size.to_bytes(2, "big")
        else:
            head = b"\x81\x7f" + size.to_bytes(8, "big")
        self.transport.write(head + text)
        return True

    def kick(self, code: int, reason: str) -> None:
        """Say why, without waiting for what is buffered, and hang up if that does not help."""
        self.queue.put_nowait({"type": "websocket.disconnect", "code": code, "reason": reason})
        if self.close_sent or self.transport.is_closing():
            return
        try:
            self.conn.send_close(code, reason)
        except InvalidState:
            return
        self.transport.write(b"".join(self.conn.data_to_send()))
        self.close_sent = True
        if self.read_paused:
            self.read_paused = False
            self.transport.resume_reading()
        self.close_timer = self.loop.call_later(KICK_SECONDS, self.transport.abort)


class Server(uvicorn.Server):
    """Stops the clock and writes what waits before the sockets are told to go."""

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        # What is there by now stays: modules and types, which every full collection would visit.
        # The rest is freed by counting; only closed sockets and errors leave cycles.
        gc.collect()
        gc.freeze()
        gc.set_threshold(*COLLECT_EVERY)

    async def shutdown(self, sockets: list[socket.socket] | None = None) -> None:
        for server in self.servers:
            server.close()
        # Not by way of `loaded_app`, which uvicorn may have wrapped.
        await self.config.app.process.drain()  # type: ignore[union-attr]
        await super().shutdown(sockets)


async def _collect() -> None:
    """Free what closed sockets and errors have left in circles."""
    gc.collect()


class _App:
    """Makes the application in the process that serves it."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings
        self.process: Process | None = None

    def __call__(self) -> Any:
        logs.set_up(self._settings.log_level)
        app = create_app(self._settings)
        self.process = app.state.process
        return app


def _config(settings: Settings, workers: int, host: str = "", port: int = 0) -> uvicorn.Config:
    return uvicorn.Config(
        _App(settings),
        factory=True,
        host=host,
        port=port,
        workers=workers,
        loop="uvloop" if sys.platform != "win32" else "asyncio",
        http="httptools",
        ws=SocketProtocol,
        ws_max_size=MAX_CLIENT_FRAME,
        ws_ping_interval=PING_SECONDS,
        ws_ping_timeout=SILENCE_SECONDS - PING_SECONDS,
        ws_per_message_deflate=False,
        access_log=False,
        log_config=None,
        server_header=False,
        lifespan="on",
        # Left to itself, uvicorn believes whatever comes from this machine to be a proxy.
        proxy_headers=bool(os.environ.get("FORWARDED_ALLOW_IPS")),
        timeout_graceful_shutdown=SHUTDOWN_SECONDS,
        callback_notify=_collect,
        timeout_notify=COLLECT_SECONDS,
    )


def serve(settings: Settings, host: str, port: int, workers: int) -> int:
    """Serve until told to stop; the exit status."""
    config = _config(settings, workers, host, port)
    listening = config.bind_socket()
    listening.listen(BACKLOG)  # from now on whoever comes waits for the start, and is not refused
    print(f"samedeal listens on http://{host}:{listening.getsockname()[1]}", flush=True)
    if workers == 1:
        return _work(config, listening)
    with tempfile.TemporaryDirectory(prefix="samedeal-metrics-") as shared:
        os.environ["PROMETHEUS_MULTIPROC_DIR"] = shared
        return _supervise(settings, listening, workers)


def _work(config: uvicorn.Config, listening: socket.socket) -> int:
    server = Server(config)
    server.run(sockets=[listening])
    return 0 if server.started else FAILED


def _supervise(settings: Settings, listening: socket.socket, workers: int) -> int:
    """Keep that many workers on one listening socket; a dead one is replaced, a failed one not.

    Only the first keeps the pool of deals: it is one for all, and so is the processor.
    """
    spawn = multiprocessing.get_context("spawn")
    stopping = False

    def stop(*_signal: object) -> None:
        nonlocal stopping
        stopping = True
        for worker in running.values():
            if worker.is_alive():
                worker.terminate()

    born: dict[int, float] = {}

    def begin(number: int) -> SpawnProcess:
        born[number] = time.monotonic()
        own = settings if number == 0 else msgspec.structs.replace(settings, pool=0)
        worker = spawn.Process(target=_worker, args=(_config(own, workers), listening))
        worker.start()
        if stopping:  # told so in this very moment
            worker.terminate()
        return worker

    running: dict[int, SpawnProcess] = {}
    for kind in (signal.SIGTERM, signal.SIGINT):
        signal.signal(kind, stop)
    for number in range(workers):
        running[number] = begin(number)
    status = 0
    while running:
        multiprocessing.connection.wait([worker.sentinel for worker in running.values()])
        for number, worker in tuple(running.items()):
            if worker.is_alive():
                continue
            del running[number]
            if worker.pid is not None:
                multiprocess.mark_process_dead(worker.pid)  # type: ignore[no-untyped-call]
            if worker.exitcode == FAILED and not stopping:
                status = FAILED
                stop()
            elif not stopping:
                if time.monotonic() < born[number] + PAUSE_SECONDS:
                    time.sleep(PAUSE_SECONDS)  # it died as it began: no use in being quick
                running[number] = begin(number)
    return status


def _worker(config: uvicorn.Config, listening: socket.socket) -> None:
    leave_with_parent()
    sys.exit(_work(config, listening))
