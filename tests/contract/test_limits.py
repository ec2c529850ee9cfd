"""Limits: told in every reply, and refused with 429 beyond."""

import asyncio
import re

import pytest

from tests.client import Caller
from tests.contract.shapes import problem
from tests.serving import serving

PASSWORD = "correct horse"
POLICY = re.compile(r'"([a-z-]+)";q=(\d+);w=(\d+)')
LEFT = re.compile(r'"([a-z-]+)";r=(\d+);t=(\d+)')


def told(reply):
    """What a reply tells of limits: by name, quota and window, what is left and until when."""
    policy, left = reply.headers["ratelimit-policy"], reply.headers["ratelimit"]
    assert re.fullmatch(rf"{POLICY.pattern}(, {POLICY.pattern})*", policy)
    assert re.fullmatch(rf"{LEFT.pattern}(, {LEFT.pattern})*", left)
    policies = {name: (int(q), int(w)) for name, q, w in POLICY.findall(policy)}
    lefts = {name: (int(r), int(t)) for name, r, t in LEFT.findall(left)}
    assert policies.keys() == lefts.keys()
    return {name: (*policies[name], *lefts[name]) for name in policies}


async def test_every_reply_tells_what_is_left(nobody, guest):
    for caller, path in ((nobody, "/v1/games"), (guest, "/v1/me"), (nobody, "/v1/nowhere")):
        quota, window, left, until = told(await caller.call("GET", path))["requests"]
        assert (quota, window) == (5000, 25)
        assert 0 < left < quota
        assert 0 < until <= window
    assert "ratelimit" not in (await nobody.call("GET", "/livez")).headers


async def test_making_something_draws_on_a_limit_of_its_own(nobody, guest):
    made = {
        "accounts": await nobody.call("POST", "/v1/guests"),
        "plays": await guest.call("POST", "/v1/plays", {"game": "kings-way"}),
        "races": await guest.call("POST", "/v1/races", {"game": "kings-way", "kind": "live"}),
        "tokens": await guest.call("POST", "/v1/tokens", {"scopes": ["read"]}),
    }
    for name, reply in made.items():
        assert reply.status_code == 201
        assert told(reply).keys() == {"requests", name}
        quota, _window, left, _until = told(reply)[name]
        assert left < quota
        if name != "accounts":
            assert left == quota - 1


async def test_beyond_a_limit_requests_are_refused_in_every_process(guest):
    made, refused = 0, []
    while len(refused) < 4:  # they take turns
        asked = (guest.call("POST", "/v1/tokens", {"scopes": ["read"]}) for _ in range(4))
        for reply in await asyncio.gather(*asked):
            made += reply.status_code == 201
            refused += [reply] if reply.status_code != 201 else []
        assert made <= 120
    # A busy machine may be slow to ask Redis, and then each process counts by itself for a moment.
    assert made >= 100
    for reply in refused:
        body = problem(reply, 429, "rate-limited")
        assert 0 < int(reply.headers["retry-after"]) <= 36
        assert 0 < body["retry_after_ms"] <= 36_000
        assert told(reply)["tokens"][2] == 0
    # Whatever else one does is no part of it.
    assert (await guest.call("GET", "/v1/me")).status_code == 200


async def test_guessing_a_password_is_stopped(nobody, fresh_name):
    name = fresh_name()
    await nobody.post("/v1/players", {"name": name, "password": PASSWORD}, 201)
    wrong, right = ({"name": name, "password": word} for word in ("wrong password", PASSWORD))
    replies = await asyncio.gather(*(nobody.call("POST", "/v1/login", wrong) for _ in range(14)))
    codes = sorted(reply.status_code for reply in replies)
    assert codes.count(401) in (10, 11)  # one comes back every six seconds
    assert codes.count(401) + codes.count(429) == 14
    reply = await nobody.call("POST", "/v1/login", right)
    problem(reply, 429, "rate-limited")
    assert 0 < int(reply.headers["retry-after"]) <= 6
    assert told(reply)["login"][:3] == (10, 60, 0)


async def test_names_that_nobody_has_are_throttled_the_same(nobody, fresh_name):
    body = {"name": fresh_name(), "password": PASSWORD}
    replies = await asyncio.gather(*(nobody.call("POST", "/v1/login", body) for _ in range(12)))
    assert {reply.status_code for reply in replies} == {401, 429}


# Servers with settings of their own


@pytest.fixture
def served(request, tmp_path):
    """A server of one process with such settings."""

    def start(combination="sqlite-local", **settings):
        return serving(request, combination, tmp_path, **settings)

    return start


async def _logins(client, service, name, headers):
    """How many wrong passwords are looked at before one is not, 30 at most."""
    body = {"name": name, "password": "wrong password"}
    for n in range(30):
        sent = headers(n)
        reply = await client.post(f"{service.url}/v1/login", json=body, headers=sent)
        if reply.status_code == 429:
            return n
        assert reply.status_code == 401
    return 30


FORGED = (
    lambda n: {"X-Forwarded-For": f"198.51.100.{n}"},
    lambda n: {"X-Forwarded-For": f"198.51.100.{n}, 198.51.100.77"},
    lambda n: {"Forwarded": f"for=198.51.100.{n}"},
    lambda n: {"X-Real-IP": f"198.51.100.{n}", "X-Client-IP": f"198.51.100.{n}"},
)


async def test_forged_forwarding_headers_are_not_believed(client, served):
    with served() as service:
        for number, forged in enumerate(FORGED):
            assert 10 <= await _logins(client, service, f"name{number}", forged) < 30
        # Nor is a forged scheme: a cookie that was to be kept to https would be kept by nobody.
        body = {"name": "somebody", "password": PASSWORD}
        await client.post(f"{service.url}/v1/players", json=body)
        headers = {"X-Forwarded-Proto": "https"}
        reply = await client.post(f"{service.url}/v1/login", json=body, headers=headers)
        assert "secure" not in reply.headers["set-cookie"].lower()


async def test_a_configured_proxy_is_believed_and_owners_are_not_locked_out(client, served):
    with served(FORWARDED_ALLOW_IPS="127.0.0.1") as service:
        body = {"name": "somebody", "password": PASSWORD}
        await client.post(f"{service.url}/v1/players", json=body)
        # The proxy's neighbour is whoever it names last; what that one claims counts for nothing.
        same = lambda n: {"X-Forwarded-For": f"198.51.100.{n}, 203.0.113.1"}  # noqa: E731
        assert 10 <= await _logins(client, service, "somebody", same) < 30
        for n in range(2, 6):
            there = {"X-Forwarded-For": f"203.0.113.{n}"}
            await _logins(client, service, "somebody", lambda _n, there=there: there)
        there = {"X-Forwarded-For": "203.0.113.99", "X-Forwarded-Proto": "https"}
        reply = await client.post(f"{service.url}/v1/login", json=body, headers=there)
        assert reply.status_code == 200
        assert "secure" in reply.headers["set-cookie"].lower()


async def test_limits_can_be_lifted(client, served):
    with served(SAMEDEAL_RATE_LIMITS="off") as service:
        assert await _logins(client, service, "somebody", lambda _n: {}) == 30
        reply = await client.get(f"{service.url}/v1/games")
        assert "ratelimit" not in reply.headers


async def test_without_redis_requests_are_still_answered_and_limited(request, tmp_path, client):
    server = request.getfixturevalue("redis_server")
    with serving(request, "sqlite-redis", tmp_path) as service:
        try:
            entry = (await client.post(f"{service.url}/v1/guests")).json()
            caller = Caller(service, client, entry["player"], entry["token"])
            server.stop()
            for _ in range(6):
                reply = await caller.call("POST", "/v1/tokens", {"scopes": ["read"]})
                assert reply.status_code == 201
                assert reply.elapsed.total_seconds() < 1.5
                assert told(reply)["tokens"][0] == 100
        finally:
            server.start()


@pytest.mark.parametrize("value", ["maybe", "1"])
def test_the_setting_is_on_or_off(value):
    from service.settings import from_environment

    assert from_environment({"SAMEDEAL_RATE_LIMITS": "OFF"}).rate_limits is False
    assert from_environment({}).rate_limits is True
    with pytest.raises(ValueError, match="SAMEDEAL_RATE_LIMITS"):
        from_environment({"SAMEDEAL_RATE_LIMITS": value})
