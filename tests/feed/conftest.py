"""Houses on a database of their own, and a socket's end that only listens."""

import asyncio
import itertools
import json
from collections.abc import AsyncIterator, Awaitable, Callable
from typing import Any

import pytest

from tests.competition.house import House, Time, process_on, start, stop

Houses = Callable[[int], Awaitable[list[House]]]

PATIENCE_S = 20.0

_names = itertools.count(1)


class Ear:
    """An `Outlet` that keeps what it is sent."""

    def __init__(self, viewer: str | None = None) -> None:
        self.viewer = viewer
        self.heard: list[dict[str, Any]] = []
        self._news = asyncio.Event()

    def send(self, frame: str) -> None:
        self.heard.append(json.loads(frame))
        self._news.set()

    async def room(self) -> bool:
        return True

    def greet(self) -> None:
        """Stands for the `watching` that comes before everything."""
        assert self.heard == []
        self.heard.append({"op": "watching"})

    @property
    def events(self) -> list[dict[str, Any]]:
        return [frame["data"] for frame in self.heard if frame["op"] == "event"]

    @property
    def snapshots(self) -> list[dict[str, Any]]:
        return [frame["data"] for frame in self.heard if frame["op"] == "snapshot"]

    async def until(self, true: Callable[[], Any]) -> None:
        """Waits for something that follows from what is heard."""
        async with asyncio.timeout(PATIENCE_S):
            while not true():
                self._news.clear()
                await self._news.wait()


@pytest.fixture
async def houses(database_url: str) -> AsyncIterator[Houses]:
    """Makes houses on one database, that hear nothing of one another: there is no bus between them."""
    made: list[House] = []
    time = Time()

    async def make(count: int) -> list[House]:
        new = [
            House(process_on(database_url, time), time, lambda: next(_names)) for _ in range(count)
        ]
        for house in new:
            await start(house.process)
        made.extend(new)
        return new

    yield make
    for house in made:
        await stop(house.process)


@pytest.fixture
async def house(houses: Houses) -> House:
    return (await houses(1))[0]
