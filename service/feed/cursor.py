"""A cursor: one socket's place in one log.

A wake at v: no further than the cursor, drop; the next, send; beyond, read the journal.
"""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Protocol

from service.storage.database import Unavailable


class Outlet(Protocol):
    """Where a socket's frames go."""

    viewer: str | None

    def send(self, frame: str) -> None:
        """Queue a frame; a queue at its end closes the socket."""

    async def room(self) -> bool:
        """Wait until the queue has room; False when the socket is gone."""


Page = Callable[[int], Awaitable[list[tuple[int, str]]]]
"""The frames after a version, a page of them, for one viewer."""


class Cursor:
    """One socket's place in one log."""

    def __init__(self, topic: str, outlet: Outlet, on_close: "Callable[[Cursor], None]") -> None:
        self._on_close = on_close
        self.topic = topic
        self.outlet = outlet
        self.v = -1
        self.closed = False
        self._wanted = -1
        self._page: Page | None = None
        self._refilling: asyncio.Task[None] | None = None

    def begin(self, v: int, page: Page) -> None:
        """From now on events after v are sent; what was woken meanwhile is made up for."""
        self.v = v
        self._page = page
        if self._wanted > v:
            self._refill()

    def offer(self, v: int, frame: str | None) -> None:
        """The log has reached v; `frame` is that event where it is at hand."""
        if self.closed or v <= self.v:
            return
        if v == self.v + 1 and frame is not None and self._page and self._refilling is None:
            self.outlet.send(frame)
            self.v = v
            return
        self._wanted = max(self._wanted, v)
        self._refill()

    async def catch_up(self, v: int) -> None:
        """Send all events up to v, as far as they can be read now."""
        while self._page is not None and not self.closed and self.v < v:
            self._wanted = max(self._wanted, v)
            self._refill()
            was = self.v
            if self._refilling is not None:
                await asyncio.wait((self._refilling,))
            if self.v == was:
                return

    def answered(self, v: int) -> bool:
        """Event v is told in another form, and not by us; False: not yet, those before are missing."""
        if self.v < v - 1:
            return False
        self.v = max(self.v, v)
        return True

    def _refill(self) -> None:
        if self._page is not None and self._refilling is None and not self.closed:
            self._refilling = asyncio.ensure_future(self._read())
            self._refilling.add_done_callback(self._refilled)

    def _refilled(self, _done: "asyncio.Future[None]") -> None:
        self._refilling = None

    async def _read(self) -> None:
        assert self._page is not None
        try:
            while self.v < self._wanted and not self.closed:
                page = await self._page(self.v)
                if not page:
                    return  # the wake was ahead of what can be read; heads are compared again
                for v, frame in page:
                    if not await self.outlet.room() or self.closed:
                        return
                    if v == self.v + 1:
                        self.outlet.send(frame)
                        self.v = v
        except Unavailable:
            return  # likewise

    def close(self) -> None:
        """Send nothing more."""
        if not self.closed:
            self.closed = True
            self._on_close(self)
