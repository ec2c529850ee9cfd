"""Servers and players for the tests here, gone when their test is."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from pathlib import Path

import pytest

pytest.register_assert_rewrite("tests.e2e.served", "tests.e2e.racing")

from tests.e2e.racing import MEANWHILE, Racer, Socket  # noqa: E402
from tests.e2e.served import Service, Services  # noqa: E402

Racers = Callable[..., Awaitable[list[Racer]]]
Listen = Callable[..., Awaitable[Socket]]


@pytest.fixture
def services(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Services]:
    """Starts servers; at the end kills them and looks through their logs."""
    if "database_url" in request.fixturenames:
        request.getfixturevalue("database_url")  # before the servers, and so after them, too
    made = Services(tmp_path)
    yield made
    made.close()
    made.check_logs()


@pytest.fixture
async def racers(services: Services) -> AsyncIterator[Racers]:
    """Makes guests, each at home at another server: `await racers(4, server, …)`."""
    made: list[Racer] = []

    async def make(count: int, *at: Service) -> list[Racer]:
        new = [await Racer.guest(services, *at) for _ in range(count)]
        for n, racer in enumerate(new):
            racer.turn = n
        made.extend(new)
        return new

    yield make
    going = [task for task in asyncio.all_tasks() if task.get_name() == MEANWHILE]
    for task in going:
        task.cancel()
    await asyncio.gather(*going, return_exceptions=True)
    for racer in made:
        await racer.close()


@pytest.fixture
async def listen() -> AsyncIterator[Listen]:
    """Opens sockets, anonymous or with a token: `await listen(server, token)`."""
    opened: list[Socket] = []

    async def listen_to(server: Service, token: str | None = None) -> Socket:
        socket = await Socket.open(server.url, token)
        opened.append(socket)
        return socket

    yield listen_to
    await asyncio.gather(*(socket.close() for socket in opened))
