"""Flights: the same question asked by many at once is put to the database once."""

import asyncio
from collections.abc import Awaitable, Callable, Hashable
from typing import Any, TypeVar

T = TypeVar("T")


class Flights:
    """Questions under way, by key."""

    def __init__(self) -> None:
        self._flights: dict[Hashable, asyncio.Future[Any]] = {}

    async def share(self, key: Hashable, ask: Callable[[], Awaitable[T]]) -> T:
        """The answer to the question of that key that is under way, else to a new one.

        Whoever goes away cancels only the waiting.
        """
        flight = self._flights.get(key)
        if flight is None:
            flight = self._flights[key] = asyncio.ensure_future(ask())
            flight.add_done_callback(lambda _done: self._flights.pop(key, None))
        answer: T = await asyncio.shield(flight)
        return answer
