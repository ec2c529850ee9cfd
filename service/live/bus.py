"""The bus wakes cursors. It may lose a message and never decides anything.

Topics are those of the socket (`play:ID`, `race:ID`) and `progress:RACE`.
"""

import asyncio
from collections.abc import Callable
from typing import Protocol

import msgspec


class Wake(msgspec.Struct, frozen=True, array_like=True):
    """Topic's log has reached `v`; `data` is what came with it as JSON, where that is cheap."""

    topic: str
    v: int
    data: bytes = b""


Listener = Callable[[Wake], None]


class Bus(Protocol):
    """One process's end of the bus."""

    async def start(self) -> None:
        """Begin to carry messages; never fails because the other end is away."""

    async def stop(self) -> None:
        """Stop, with what is already published on its way."""

    def publish(self, wake: Wake) -> None:
        """Tell every listener in every process, soon. Never waits, never raises."""

    async def listen(self, topic: str, listener: Listener) -> None:
        """One listener a topic and process. Returns when wakes would arrive, or soon enough."""

    def unlisten(self, topic: str) -> None:
        """Stop listening."""

    def on_gap(self, callback: Callable[[], None]) -> None:
        """Call this whenever wakes may have been lost."""

    @property
    def connected(self) -> bool:
        """Whether wakes flow."""


class LocalBus:
    """The bus of a single process."""

    def __init__(self) -> None:
        self._listeners: dict[str, Listener] = {}
        self.connected = True

    async def start(self) -> None:
        """Nothing to do."""

    async def stop(self) -> None:
        """Nothing to do."""

    def publish(self, wake: Wake) -> None:
        if wake.topic in self._listeners:
            # Soon, not now: whoever publishes is on its way to answer somebody first.
            asyncio.get_running_loop().call_soon(self._deliver, wake)

    def _deliver(self, wake: Wake) -> None:
        listener = self._listeners.get(wake.topic)
        if listener is not None:
            listener(wake)

    async def listen(self, topic: str, listener: Listener) -> None:
        self._listeners[topic] = listener

    def unlisten(self, topic: str) -> None:
        self._listeners.pop(topic, None)

    def on_gap(self, callback: Callable[[], None]) -> None:
        """A single process never loses a wake."""
