"""What the contract's tests share: callers, and an eye on the log of the service under test."""

import itertools
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator

import httpx2
import pytest

from tests.client import Caller, Json, http
from tests.serving import Service

_names = itertools.count(1)


@pytest.fixture
async def client() -> AsyncIterator[httpx2.AsyncClient]:
    async with http() as client:
        yield client


@pytest.fixture(autouse=True)
def no_faults(request: pytest.FixtureRequest) -> Iterator[None]:
    """Whatever a test sends, the service blames nobody but clients: it logs no fault."""
    names = [name for name in ("service", "patient") if name in request.fixturenames]
    services: list[Service] = [request.getfixturevalue(name) for name in names]
    yield
    for service in services:
        assert service.new_faults() == []


@pytest.fixture
def nobody(service: Service, client: httpx2.AsyncClient) -> Caller:
    """An anonymous caller."""
    return Caller(service, client, None, None)


Guests = Callable[[], Awaitable[Caller]]


async def guest_of(service: Service, client: httpx2.AsyncClient) -> Caller:
    entry: Json = await Caller(service, client, None, None).post("/v1/guests", status=201)
    return Caller(service, client, entry["player"], entry["token"])


@pytest.fixture
def guests(service: Service, client: httpx2.AsyncClient) -> Guests:
    """Makes guests, one a call."""
    return lambda: guest_of(service, client)


@pytest.fixture
async def guest(guests: Guests) -> Caller:
    return await guests()


@pytest.fixture
async def rival(guests: Guests) -> Caller:
    return await guests()


@pytest.fixture
async def stranger(guests: Guests) -> Caller:
    return await guests()


@pytest.fixture
def fresh_name() -> Callable[[], str]:
    """Names that nobody has yet."""
    return lambda: f"Name_{next(_names)}"
