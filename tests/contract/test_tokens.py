"""Tokens with scopes, made, listed and revoked; bots; names that look alike."""

from datetime import datetime, timedelta

import pytest

from tests.client import Caller
from tests.contract.shapes import ENTRY, ID, INSTANT, PLAYER, either, exactly, problem

PASSWORD = "correct horse"
SCOPES = {"read", "play", "host", "account"}
TOKEN = {
    "id": ID,
    "label": either(None, str),
    "scopes": [SCOPES],
    "created_at": INSTANT,
    "expires": either(None, INSTANT),
    "current": bool,
}


@pytest.fixture
def with_token(service, client):
    """The caller with another token of its own, of these scopes."""

    async def make(caller, *scopes, **more):
        body = {"scopes": list(scopes), **more}
        made = await caller.post("/v1/tokens", body, status=201)
        other = Caller(service, client, caller.player, made["token"])
        other.token_id = made["id"]
        return other

    return make


# Made, listed, revoked


async def test_a_secret_is_shown_once(guest):
    made = await guest.post("/v1/tokens", {"scopes": ["read", "play"], "label": "My bot"}, 201)
    secret = made.pop("token")
    exactly(secret, ENTRY["token"])
    exactly(made, TOKEN)
    assert (made["label"], made["scopes"], made["expires"]) == ("My bot", ["play", "read"], None)
    reply = await guest.call("GET", "/v1/tokens")
    assert secret not in reply.text
    listed = reply.json()["items"]
    exactly(reply.json(), {"items": [TOKEN], "next": None})
    assert listed[0] == made
    assert [item["current"] for item in listed] == [False, True]
    assert set(listed[1]["scopes"]) == SCOPES


async def test_the_list_has_pages_the_newest_first(guest):
    made = [
        (await guest.post("/v1/tokens", {"scopes": ["read"], "label": str(n)}, 201))["id"]
        for n in range(5)
    ]
    seen, cursor = [], None
    while True:
        params = {"limit": 2, **({"cursor": cursor} if cursor else {})}
        page = await guest.get("/v1/tokens", params=params)
        assert len(page["items"]) <= 2
        seen += [item["id"] for item in page["items"]]
        if (cursor := page["next"]) is None:
            break
    assert seen[:5] == made[::-1]
    assert len(seen) == 6
    reply = await guest.call("GET", "/v1/tokens", params={"cursor": "bm9uc2Vuc2U"})
    problem(reply, 422, "malformed")


async def test_a_revoked_token_counts_for_nothing_and_its_sockets_close(guest, with_token):
    other = await with_token(guest, "read")
    async with other.socket() as gone, guest.socket() as kept:
        await gone.expect("ready")
        await kept.expect("ready")
        assert await guest.delete(f"/v1/tokens/{other.token_id}", status=204) is None
        assert await gone.close_code() == 4001
        await kept.still()
    problem(await other.call("GET", "/v1/me"), 401, "bad-token")
    problem(await guest.call("DELETE", f"/v1/tokens/{other.token_id}"), 404, "not-found")
    assert other.token_id not in {t["id"] for t in (await guest.get("/v1/tokens"))["items"]}


async def test_a_token_may_revoke_itself(guest):
    (own,) = (await guest.get("/v1/tokens"))["items"]
    await guest.delete(f"/v1/tokens/{own['id']}", status=204)
    problem(await guest.call("GET", "/v1/me"), 401, "bad-token")


async def test_tokens_are_nobody_elses_business(guest, rival, nobody):
    (own,) = (await guest.get("/v1/tokens"))["items"]
    problem(await rival.call("DELETE", f"/v1/tokens/{own['id']}"), 404, "not-found")
    for method, path in (("GET", "/v1/tokens"), ("POST", "/v1/tokens"), ("DELETE", "/v1/tokens/a")):
        problem(await nobody.call(method, path), 401, "unauthorized")
    assert (await guest.get("/v1/me")) == guest.player
    for unknown in ("nonsense", "A" * 22, "a.b"):
        problem(await guest.call("DELETE", f"/v1/tokens/{unknown}"), 404, "not-found")


@pytest.mark.parametrize(
    "body",
    [
        {},
        {"scopes": []},
        {"scopes": ["everything"]},
        {"scopes": "read"},
        {"scopes": ["read"] * 5},
        {"scopes": ["read"], "label": ""},
        {"scopes": ["read"], "label": "a\nb"},
        {"scopes": ["read"], "label": "x" * 61},
        {"scopes": ["read"], "expires": "2001-01-01T00:00:00Z"},
        {"scopes": ["read"], "expires": "9999-12-31T23:59:59Z"},
        {"scopes": ["read"], "expires": "0001-01-01T00:00:00+23:59"},
        {"scopes": ["read"], "expires": "2031-01-01T00:00:00"},
        {"scopes": ["read"], "expires": 5},
        {"scopes": ["read"], "more": 1},
    ],
)
async def test_what_is_asked_of_a_token_has_a_form(guest, body):
    problem(await guest.call("POST", "/v1/tokens", body), 422, "malformed")


async def test_a_token_expires_and_its_sockets_close(guest, with_token):
    now = datetime.fromisoformat(await _server_time(guest))
    expires = f"{now + timedelta(seconds=2):%Y-%m-%dT%H:%M:%S}.500Z"
    other = await with_token(guest, "read", expires=expires)
    assert (await guest.get("/v1/tokens"))["items"][0]["expires"] == expires
    async with other.socket() as socket:
        await socket.expect("ready")
        assert await socket.close_code() == 4001
    problem(await other.call("GET", "/v1/me"), 401, "bad-token")
    problem(await guest.call("DELETE", f"/v1/tokens/{other.token_id}"), 404, "not-found")


async def _server_time(caller):
    async with caller.socket() as socket:
        return (await socket.expect("ready"))["server_time"]


# Scopes


async def test_a_token_makes_none_with_more_than_it_has(guest, with_token):
    lesser = await with_token(guest, "account", "read")
    for scopes in (["play"], ["read", "host"], ["read", "play", "host", "account"]):
        reply = await lesser.call("POST", "/v1/tokens", {"scopes": scopes})
        assert "token" not in problem(reply, 403, "missing-scope")
    least = await with_token(lesser, "read")
    problem(await least.call("POST", "/v1/tokens", {"scopes": ["read"]}), 403, "missing-scope")


ASKED = [
    ("read", "GET", "/v1/me"),
    ("read", "GET", "/v1/me/plays"),
    ("read", "GET", "/v1/races"),
    ("read", "GET", "/v1/plays/{play}"),
    ("read", "GET", "/v1/plays/{play}/moves"),
    ("play", "POST", "/v1/plays"),
    ("play", "POST", "/v1/plays/{play}/moves"),
    ("play", "POST", "/v1/plays/{play}/resign"),
    ("play", "POST", "/v1/races/{race}/entrants"),
    ("play", "PATCH", "/v1/races/{race}/entrants/me"),
    ("play", "DELETE", "/v1/races/{race}/entrants/me"),
    ("host", "POST", "/v1/races"),
    ("host", "POST", "/v1/races/{race}/start"),
    ("host", "POST", "/v1/races/{race}/cancel"),
    ("account", "GET", "/v1/tokens"),
    ("account", "POST", "/v1/tokens"),
    ("account", "DELETE", "/v1/tokens/{play}"),
    ("account", "POST", "/v1/me/bot"),
]


async def test_every_request_needs_its_scope(guest, with_token):
    play = await guest.post("/v1/plays", {"game": "kings-way"}, 201)
    race = await guest.post("/v1/races", {"game": "kings-way", "kind": "live"}, 201)
    for needed in SCOPES:
        all_but = await with_token(guest, *(SCOPES - {needed}))
        only = await with_token(guest, needed)
        for scope, method, path in ASKED:
            path = path.format(play=play["id"], race=race["id"])
            if scope == needed:
                body = problem(await all_but.call(method, path), 403, "missing-scope")
                assert needed in body["detail"]
            else:
                problem(await only.call(method, path), 403, "missing-scope")
    # Nothing of all that has happened.
    assert (await guest.get(f"/v1/plays/{play['id']}"))["status"] == "playing"
    assert (await guest.get(f"/v1/races/{race['id']}"))["total"] == 1


async def test_any_token_may_log_out(guest, with_token):
    other = await with_token(guest, "play")
    await other.post("/v1/logout", status=204)
    problem(await other.call("POST", "/v1/plays"), 401, "bad-token")


async def test_a_claim_needs_the_scope_account(guest, with_token, fresh_name):
    lesser = await with_token(guest, "read", "play", "host")
    body = {"name": fresh_name(), "password": PASSWORD}
    problem(await lesser.call("POST", "/v1/players", body), 403, "missing-scope")
    assert await guest.get("/v1/me") == guest.player


async def test_a_socket_needs_play_to_move_and_read_to_watch(guest, with_token):
    play = await guest.post("/v1/plays", {"game": "kings-way", "seed": "1"}, 201)
    looker, mover = await with_token(guest, "read"), await with_token(guest, "play")
    async with looker.socket() as socket:
        await socket.watch(f"play:{play['id']}")
        answer = await socket.move(play["id"], 1, "turn")
        assert (answer["op"], answer["code"]) == ("reject", "missing-scope")
    async with mover.socket() as socket:
        await socket.send({"op": "watch", "topic": f"play:{play['id']}"})
        error = await socket.expect("error")
        assert (error["code"], error["topic"]) == ("missing-scope", f"play:{play['id']}")
        assert (await socket.move(play["id"], 1, "turn"))["op"] == "ack"


# Bots


async def test_a_player_says_before_the_first_race_that_it_is_a_bot(
    nobody, service, client, fresh_name
):
    body = {"name": fresh_name(), "password": PASSWORD}
    entry = await nobody.post("/v1/players", body, 201)
    bot = Caller(service, client, entry["player"], entry["token"])
    await bot.post("/v1/plays", {"game": "kings-way"}, 201)  # practice is no race
    told = await bot.post("/v1/me/bot", {})
    exactly(told, {**PLAYER, "kind": {"bot"}})
    assert told == {**entry["player"], "kind": "bot"} == await bot.get("/v1/me")
    assert (await nobody.get(f"/v1/players/{bot.id}"))["kind"] == "bot"
    assert await bot.post("/v1/me/bot") == told
    assert (await nobody.post("/v1/login", body))["player"] == told


async def test_who_has_raced_cannot_become_a_bot(guest, rival):
    await rival.post("/v1/me/bot")
    race = await guest.post("/v1/races", {"game": "kings-way", "kind": "live"}, 201)
    await rival.post(f"/v1/races/{race['id']}/entrants")
    await guest.post(f"/v1/races/{race['id']}/start")
    async with guest.socket() as socket:
        await socket.watch(f"race:{race['id']}", since=0)
        await socket.expect("event", type="started")
    problem(await guest.call("POST", "/v1/me/bot"), 409, "already-raced")
    assert (await guest.get("/v1/me"))["kind"] == "guest"
    assert (await rival.post("/v1/me/bot"))["kind"] == "bot"  # and stays one


async def test_only_somebody_can_be_a_bot(nobody, guest):
    problem(await nobody.call("POST", "/v1/me/bot"), 401, "unauthorized")
    problem(await guest.call("POST", "/v1/me/bot", {"bot": False}), 422, "malformed")


# Names


async def test_a_name_that_looks_like_anothers_is_taken(nobody, guest, fresh_name):
    name = fresh_name() + "_io1"
    first = {"name": name, "password": PASSWORD}
    entry = await nobody.post("/v1/players", first, 201)
    for alike in (name.replace("_", "-"), name[:-3] + "l0I", name.upper()):
        body = {"name": alike, "password": PASSWORD}
        problem(await nobody.call("POST", "/v1/players", body), 409, "name-taken")
        problem(await guest.call("POST", "/v1/players", body), 409, "name-taken")
    # Whoever only looks like somebody is not them.
    alike = name[:-3] + "l0I"
    reply = await nobody.call("POST", "/v1/login", {"name": alike, "password": PASSWORD})
    problem(reply, 401, "bad-credentials")
    assert (await nobody.get("/v1/players", params={"name": alike}))["items"] == []
    found = await nobody.get("/v1/players", params={"name": name.upper()})
    assert found["items"] == [entry["player"]]


@pytest.mark.parametrize(
    "name",
    ["adm1n", "ADMlN", "adrnin", "r00t", "nu1l", "Nobody", "guest_abc", "Guest-1", "off1cia1"],
)
async def test_what_looks_like_a_reserved_name_is_reserved(nobody, guest, name):
    body = {"name": name, "password": PASSWORD}
    for caller in (nobody, guest):
        problem(await caller.call("POST", "/v1/players", body), 422, "name-reserved")
