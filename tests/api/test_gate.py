"""The gate before everything: requests and sockets counted, by player where one is known."""

import json
from types import SimpleNamespace

import pytest
from starlette.requests import HTTPConnection
from starlette.responses import Response

from service.accounts.limits import REQUESTS, SOCKETS, Limits
from service.api.errors import MissingScope
from service.api.middleware import Gate, Watchman
from service.api.rates import recognised
from service.live.buckets import MemoryBuckets

NOW = 1_800_000_000_000


class Served:
    """The gate in the watchman's care, before an application that knows one token."""

    def __init__(self):
        self.known = {}
        self.faults = []
        self.now = NOW
        limits = Limits(MemoryBuckets(), lambda: self.now)
        accounts = SimpleNamespace(last_known=self.known.get)
        self.house = SimpleNamespace(limits=limits, accounts=accounts)
        self.app = Watchman(Gate(self._inside), self.faults.append)

    async def _inside(self, scope, receive, send):
        if scope["type"] == "websocket":
            return await send({"type": "websocket.accept"})
        if scope["path"] == "/v1/refused":
            raise MissingScope("play")
        if dict(scope["headers"]).get(b"authorization") == b"Bearer ann's":
            self.known["ann's"] = "ann"
            recognised(HTTPConnection(scope), "ann")
        return await Response("done")(scope, receive, send)

    async def ask(self, path="/v1/games", client="192.0.2.1", kind="http", **headers):
        """The first message and the body that come back."""
        told = []

        async def send(message):
            told.append(message)

        scope = {
            "type": kind,
            "path": path,
            "method": "GET",
            "query_string": b"",
            "headers": [(name.encode(), value.encode()) for name, value in headers.items()],
            "client": None if client is None else (client, 1234),
            "app": SimpleNamespace(state=SimpleNamespace(house=self.house)),
            "extensions": {"websocket.http.response": {}},
        }
        await self.app(scope, None, send)
        first = told[0]
        first["named"] = {name.decode(): text.decode() for name, text in first.get("headers", [])}
        first["body"] = b"".join(message.get("body", b"") for message in told[1:])
        return first

    async def spend(self, times, **asked):
        for _ in range(times):
            told = await self.ask(**asked)
        return told


@pytest.fixture
def served():
    return Served()


async def test_an_address_that_floods_is_refused(served):
    told = await served.spend(REQUESTS.size)
    assert told["status"] == 200
    assert told["named"]["ratelimit"] == '"requests";r=0;t=25'
    refused = await served.ask()
    assert refused["status"] == 429
    assert json.loads(refused["body"])["code"] == "rate-limited"
    assert refused["named"]["retry-after"] == "1"
    assert refused["named"]["ratelimit-policy"] == '"requests";q=5000;w=25'
    assert refused["named"]["ratelimit"] == '"requests";r=0;t=25'
    # Others are not, nor is whoever asks whether we are alive.
    assert (await served.ask(client="192.0.2.2"))["status"] == 200
    told = await served.ask("/livez")
    assert told["status"] == 200
    assert "ratelimit" not in told["named"]
    served.now += 5
    assert (await served.ask())["status"] == 200
    assert served.faults == []


async def test_players_behind_an_address_that_floods_go_on(served):
    assert (await served.ask(authorization="Bearer ann's"))["status"] == 200
    # What ann asked was given back to her address when she was recognised.
    assert (await served.spend(REQUESTS.size))["status"] == 200
    assert (await served.ask())["status"] == 429
    told = await served.ask(authorization="Bearer ann's")
    assert told["status"] == 200
    assert told["named"]["ratelimit"] == '"requests";r=4998;t=1'


async def test_tokens_made_up_are_counted_as_their_addresss(served):
    for n in range(REQUESTS.size):
        await served.ask(authorization=f"Bearer made-up-{n}")
    assert (await served.ask(authorization="Bearer made-up-again"))["status"] == 429
    assert (await served.ask(authorization="nonsense"))["status"] == 429


async def test_errors_tell_what_is_left_too(served):
    told = await served.ask("/v1/refused")
    assert told["status"] == 403
    assert told["named"]["ratelimit"] == '"requests";r=4999;t=1'


async def test_too_many_sockets_are_refused_before_they_open(served):
    told = await served.spend(SOCKETS.size, path="/v1/ws", kind="websocket")
    assert told["type"] == "websocket.accept"
    refused = await served.ask("/v1/ws", kind="websocket")
    assert refused["type"] == "websocket.http.response.start"
    assert refused["status"] == 429
    assert json.loads(refused["body"])["code"] == "rate-limited"
    assert refused["named"]["ratelimit"] == '"sockets";r=0;t=20'
    assert (await served.ask())["status"] == 200
    assert served.faults == []


async def test_neighbours_in_a_network_are_one_address(served):
    await served.spend(REQUESTS.size, client="2001:db8::1")
    assert (await served.ask(client="2001:db8::2"))["status"] == 429
    assert (await served.ask(client="2001:db8:0:1::1"))["status"] == 200
    # What has no address, or what a proxy made of one, is one of all such.
    assert (await served.ask(client=None))["status"] == 200
    assert (await served.ask(client="x" * 10_000))["status"] == 200
