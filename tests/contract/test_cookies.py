"""The browser's cookie, and the origins from which it counts; CORS."""

import pytest

from tests.client import Caller
from tests.contract.shapes import problem

PASSWORD = "correct horse"


@pytest.fixture
async def browser(nobody, fresh_name):
    """A player logged in, with the cookie as it was set."""
    body = {"name": fresh_name(), "password": PASSWORD}
    await nobody.post("/v1/players", body, status=201)
    reply = await nobody.call("POST", "/v1/login", body)
    assert reply.status_code == 200
    return reply.headers["set-cookie"], reply.json()["player"]


def _sent(set_cookie: str) -> str:
    return set_cookie.partition(";")[0]


async def test_the_cookie_is_out_of_reach_of_scripts_and_other_sites(browser):
    attributes = [part.strip().lower() for part in browser[0].split(";")[1:]]
    assert "httponly" in attributes
    assert "samesite=lax" in attributes
    assert "path=/" in attributes
    assert not any(attribute.startswith("domain") for attribute in attributes)


async def test_the_cookie_counts_for_looking_from_anywhere(nobody, browser):
    cookie, player = browser
    for origin in ({}, {"Origin": "https://elsewhere.example"}):
        assert await nobody.get("/v1/me", headers={"Cookie": _sent(cookie), **origin}) == player


async def test_the_cookie_counts_for_acting_from_our_own_pages_only(service, client, browser):
    cookie, player = browser
    url = service.urls[0]
    for origin, status in (
        (url, 201),
        (None, 403),
        ("null", 403),
        ("https://elsewhere.example", 403),
        (url + ".elsewhere.example", 403),
        (url.replace("127.0.0.1", "localhost"), 403),
        ("http://[::1", 403),
    ):
        headers = {"Cookie": _sent(cookie), **({} if origin is None else {"Origin": origin})}
        reply = await client.post(f"{url}/v1/plays", json={"game": "kings-way"}, headers=headers)
        if status == 201:
            assert reply.status_code == 201, origin
            assert reply.json()["player"] == player
        else:
            problem(reply, 403, "foreign-origin")


async def test_a_bearer_counts_before_the_cookie(guest, browser):
    headers = {"Cookie": _sent(browser[0]), "Origin": "https://elsewhere.example"}
    play = await guest.post("/v1/plays", {"game": "kings-way"}, status=201, headers=headers)
    assert play["player"] == guest.player


async def test_a_stale_cookie_is_an_anonymous_browser(service, client, nobody, browser):
    cookie, _player = browser
    url = service.urls[0]
    headers = {"Cookie": _sent(cookie), "Origin": url}
    reply = await client.post(f"{url}/v1/logout", headers=headers)
    assert reply.status_code == 204
    name, _, value = _sent(reply.headers["set-cookie"]).partition("=")
    assert name == _sent(cookie).partition("=")[0]
    assert value in ("", '""')
    problem(await client.get(f"{url}/v1/me", headers=headers), 401, "unauthorized")
    assert (await client.get(f"{url}/v1/games", headers=headers)).status_code == 200


async def test_the_socket_takes_the_cookie_from_our_own_pages_only(service, client, browser):
    cookie, player = browser
    anonymous = Caller(service, client, None, None)
    url = service.urls[0]
    headers = {"Cookie": _sent(cookie)}
    async with anonymous.socket(url, headers=headers, origin=url) as socket:
        assert (await socket.expect("ready"))["player"] == player
    for origin in (None, "https://elsewhere.example"):
        async with anonymous.socket(url, headers=headers, origin=origin) as socket:
            assert (await socket.expect("error"))["code"] == "foreign-origin"
            assert await socket.close_code() == 1008
            assert [frame["op"] for frame in socket.heard] == ["error"]
    async with anonymous.socket(url, origin="https://elsewhere.example") as socket:
        assert (await socket.expect("ready"))["player"] is None


async def test_any_page_may_ask_without_credentials(nobody):
    origin = {"Origin": "https://elsewhere.example"}
    for reply, status in (
        (await nobody.call("GET", "/v1/games", headers=origin), 200),
        (await nobody.call("GET", "/v1/me", headers=origin), 401),
        (await nobody.call("GET", "/v1/nowhere", headers=origin), 404),
        (await nobody.call("POST", "/v1/guests", content=b"{", headers=origin), 415),
    ):
        assert reply.status_code == status
        assert reply.headers["access-control-allow-origin"] == "*"
        assert "access-control-allow-credentials" not in reply.headers


@pytest.mark.parametrize("method", ["GET", "POST", "PATCH", "DELETE"])
async def test_a_page_may_ask_beforehand(nobody, method):
    reply = await nobody.call(
        "OPTIONS",
        "/v1/plays",
        headers={
            "Origin": "https://elsewhere.example",
            "Access-Control-Request-Method": method,
            "Access-Control-Request-Headers": "authorization, content-type, idempotency-key",
        },
    )
    assert reply.status_code == 200
    assert reply.headers["access-control-allow-origin"] == "*"
    assert method in reply.headers["access-control-allow-methods"]
    assert "access-control-allow-credentials" not in reply.headers


async def test_a_page_may_read_what_it_needs(nobody):
    reply = await nobody.call("GET", "/v1/games", headers={"Origin": "https://elsewhere.example"})
    exposed = {h.strip().lower() for h in reply.headers["access-control-expose-headers"].split(",")}
    assert {"location", "retry-after", "ratelimit", "x-request-id"} <= exposed
