"""Live races until their start: the lobby, the host, the countdown. It never ends here by itself."""

import asyncio

import pytest

from tests.contract.live import lobby
from tests.contract.shapes import ENTRANT, RACE, exactly, problem, race_event

DEFAULTS = {
    "kind": "live",
    "name": None,
    "state": "lobby",
    "capacity": 8,
    "time_limit_ms": 900_000,
    "ranking": "time",
    "rated": True,
    "listed": True,
    "deals": "winnable",
    "starts_at": None,
    "opens_at": None,
    "closes_at": None,
    "ended_at": None,
    "total": 1,
}


@pytest.fixture
def service(patient):
    """Time enough for whatever a test does in the countdown."""
    return patient


async def _types(caller, race):
    return [e["data"]["type"] for e in (await caller.get(f"/v1/races/{race}/events"))["items"]]


async def test_a_new_race_is_its_makers_lobby(guest, nobody):
    body = {"game": "royal-mullein", "kind": "live"}
    reply = await guest.call("POST", "/v1/races", body)
    assert reply.status_code == 201
    race = reply.json()
    assert reply.headers["location"] == f"/v1/races/{race['id']}"
    exactly(race, RACE)
    assert {key: race[key] for key in DEFAULTS} == DEFAULTS
    assert race["game"] == "royal-mullein"
    assert race["host"] == guest.player
    entrant = {"player": guest.player, "ready": False, "status": None, "score": None, "ply": None}
    assert race["entrants"] == [entrant]
    assert race["me"] == {"ready": False, "play": None}
    assert race["deal"]["seed"] is None
    assert await guest.get(f"/v1/races/{race['id']}") == race
    assert await nobody.get(f"/v1/races/{race['id']}") == {**race, "me": None}
    assert await _types(nobody, race["id"]) == ["created", "entrant-joined"]


async def test_a_race_as_its_maker_wants_it(guest):
    wanted = {
        **{"game": "kings-way", "kind": "live", "name": "Приз 🂡 <b>", "capacity": 1},
        **{"time_limit_ms": 1_000, "ranking": "moves", "rated": False, "listed": False},
        "deals": "any",
    }
    race = await guest.post("/v1/races", wanted, status=201)
    assert {key: race[key] for key in wanted} == wanted


NO_RACES = [
    *({"capacity": 0}, {"capacity": 1_001}, {"capacity": -1}, {"capacity": "8"}),
    *({"capacity": 10**400}, {"capacity": 1.5}, {"capacity": True}, {"capacity": []}),
    *({"time_limit_ms": 999}, {"time_limit_ms": 86_400_001}, {"time_limit_ms": 1e30}),
    *({"ranking": "score"}, {"rated": 1}, {"listed": "yes"}, {"kind": "daily"}, {"kind": None}),
    *({"name": ""}, {"name": "x" * 61}, {"name": "a\x00b"}, {"name": "a\nb"}, {"name": 5}),
    *({"name": "\u202egnp"}, {"name": "\u2028"}, {"more": 1}, {"state": "running"}),
    {"seed": "1"},
]


async def test_a_race_that_cannot_be(guest):
    for wrong in NO_RACES:
        body = {"game": "kings-way", "kind": "live", **wrong}
        problem(await guest.call("POST", "/v1/races", body), 422, "malformed")


async def test_joining_is_idempotent(guest, rival, stranger):
    race = (await lobby(guest))["id"]
    joined = await rival.post(f"/v1/races/{race}/entrants")
    exactly(joined, RACE)
    assert [entrant["player"] for entrant in joined["entrants"]] == [guest.player, rival.player]
    assert joined["me"] == {"ready": False, "play": None}
    assert await rival.post(f"/v1/races/{race}/entrants", {}) == joined
    await asyncio.gather(*(stranger.post(f"/v1/races/{race}/entrants") for _ in range(20)))
    page = await guest.get(f"/v1/races/{race}/entrants")
    exactly(page, {"items": [ENTRANT], "next": None, "total": {3}})
    assert [e["player"]["id"] for e in page["items"]] == [guest.id, rival.id, stranger.id]
    assert (await _types(guest, race)).count("entrant-joined") == 3


async def test_entrants_in_the_order_of_their_joining(guests, guest):
    race = (await lobby(guest))["id"]
    others = await asyncio.gather(*(guests() for _ in range(4)))
    for other in others:
        await other.post(f"/v1/races/{race}/entrants")
    read, asked = [], {"limit": 2}
    while True:
        page = await guest.get(f"/v1/races/{race}/entrants", params=asked)
        assert page["total"] == 5
        read += [entrant["player"]["id"] for entrant in page["items"]]
        if page["next"] is None:
            break
        asked = {"limit": 2, "cursor": page["next"]}
    assert read == [guest.id, *(other.id for other in others)]


async def test_fifty_join_a_race_of_two_at_once(guests):
    everybody = []
    for _ in range(5):
        everybody += await asyncio.gather(*(guests() for _ in range(10)))
    race = await everybody[0].post(
        "/v1/races", {"game": "kings-way", "kind": "live", "capacity": 2}, status=201
    )
    path = f"/v1/races/{race['id']}/entrants"

    async def join(caller):
        # On a slow machine some are asked to come again; that decides nothing.
        for _ in range(10):
            reply = await caller.call("POST", path)
            if reply.status_code != 503:
                break
            await asyncio.sleep(int(reply.headers["retry-after"]))
        return reply

    replies = await asyncio.gather(*(join(caller) for caller in everybody))
    joined = [caller for caller, reply in zip(everybody, replies, strict=True) if reply.is_success]
    assert len(joined) == 2
    for reply in replies:
        if not reply.is_success:
            problem(reply, 409, "race-full")
    now = await everybody[0].get(path)
    assert {entrant["player"]["id"] for entrant in now["items"]} == {c.id for c in joined}


async def test_leaving_makes_room(guest, rival, stranger):
    race = (await lobby(guest, rival, capacity=2))["id"]
    problem(await stranger.call("POST", f"/v1/races/{race}/entrants"), 409, "race-full")
    left = await rival.delete(f"/v1/races/{race}/entrants/me")
    assert (left["total"], left["me"]) == (1, None)
    problem(await rival.call("DELETE", f"/v1/races/{race}/entrants/me"), 409, "not-entrant")
    assert (await stranger.post(f"/v1/races/{race}/entrants"))["total"] == 2


async def test_the_longest_standing_follows_the_host(guest, rival, stranger):
    race = (await lobby(guest, rival, stranger))["id"]
    problem(await rival.call("POST", f"/v1/races/{race}/start"), 403, "not-host")
    problem(await rival.call("POST", f"/v1/races/{race}/cancel"), 403, "not-host")
    left = await guest.delete(f"/v1/races/{race}/entrants/me")
    assert left["host"] == rival.player
    assert (await _types(guest, race))[-2:] == ["entrant-left", "host-changed"]
    problem(await guest.call("POST", f"/v1/races/{race}/start"), 403, "not-host")
    # The former host may come back, and is then the last in line.
    await guest.post(f"/v1/races/{race}/entrants")
    assert (await rival.delete(f"/v1/races/{race}/entrants/me"))["host"] == stranger.player
    assert (await stranger.post(f"/v1/races/{race}/start"))["state"] == "countdown"


async def test_with_nobody_left_it_is_cancelled_and_tells_its_deal(guest, rival, nobody):
    for kept_up_to in ("lobby", "countdown"):
        race = (await lobby(guest, rival))["id"]
        if kept_up_to == "countdown":
            await guest.post(f"/v1/races/{race}/start")
        await guest.delete(f"/v1/races/{race}/entrants/me")
        gone = await rival.delete(f"/v1/races/{race}/entrants/me")
        assert (gone["state"], gone["total"]) == ("cancelled", 0)
        assert gone["deal"]["seed"]
        assert gone["ended_at"]
        problem(await rival.call("POST", f"/v1/races/{race}/entrants"), 409, "race-over")
        problem(await guest.call("POST", f"/v1/races/{race}/start"), 409, "race-over")
        proof = await nobody.get(f"/v1/races/{race}/proof")
        assert (proof["plays"], proof["standings"]) == ([], [])
        assert proof["seed"] == gone["deal"]["seed"]


async def test_the_host_cancels_before_the_start(guest, rival):
    for kept_up_to in ("lobby", "countdown"):
        race = (await lobby(guest, rival))["id"]
        if kept_up_to == "countdown":
            await guest.post(f"/v1/races/{race}/start")
        over = await guest.post(f"/v1/races/{race}/cancel")
        exactly(over, RACE)
        assert over["state"] == "cancelled"
        assert over["deal"]["seed"]
        assert (await guest.post(f"/v1/races/{race}/cancel"))["v"] == over["v"]
        for caller, method, path, body in (
            (rival, "POST", "entrants", None),
            (rival, "PATCH", "entrants/me", {"ready": True}),
            (rival, "DELETE", "entrants/me", None),
            (guest, "POST", "start", None),
        ):
            problem(await caller.call(method, f"/v1/races/{race}/{path}", body), 409, "race-over")


async def test_the_host_starts_and_the_lobby_closes(guest, rival, stranger):
    race = (await lobby(guest, rival))["id"]
    started = await guest.post(f"/v1/races/{race}/start")
    exactly(started, RACE)
    assert (started["state"], started["deal"]["seed"]) == ("countdown", None)
    assert started["starts_at"] is not None
    assert (await guest.post(f"/v1/races/{race}/start"))["v"] == started["v"]
    problem(await stranger.call("POST", f"/v1/races/{race}/entrants"), 409, "race-started")
    assert (await rival.post(f"/v1/races/{race}/entrants"))["v"] == started["v"]
    reply = await rival.call("PATCH", f"/v1/races/{race}/entrants/me", {"ready": True})
    problem(reply, 409, "race-started")
    # Leaving does not stop it.
    left = await rival.delete(f"/v1/races/{race}/entrants/me")
    assert (left["state"], left["starts_at"]) == ("countdown", started["starts_at"])
    problem(await guest.call("GET", f"/v1/races/{race}/proof"), 409, "race-not-ended")
    standings = await guest.get(f"/v1/races/{race}/standings")
    assert (standings["items"], standings["total"], standings["me"]) == ([], 0, None)


async def test_it_starts_by_itself_when_two_are_in_and_all_are_ready(guest, rival):
    race = (await lobby(guest))["id"]
    alone = await guest.patch(f"/v1/races/{race}/entrants/me", {"ready": True})
    assert (alone["state"], alone["me"]["ready"]) == ("lobby", True)
    await rival.post(f"/v1/races/{race}/entrants")
    not_yet = await guest.patch(f"/v1/races/{race}/entrants/me", {"ready": False})
    assert (not_yet["state"], not_yet["me"]["ready"]) == ("lobby", False)
    assert (await rival.patch(f"/v1/races/{race}/entrants/me", {"ready": True}))["state"] == "lobby"
    both = await guest.patch(f"/v1/races/{race}/entrants/me", {"ready": True})
    exactly(both, RACE)
    assert both["state"] == "countdown"
    assert (await _types(guest, race))[-2:] == ["entrant-ready", "countdown"]


async def test_it_starts_by_itself_when_the_only_one_not_ready_leaves(guest, rival, stranger):
    race = (await lobby(guest, rival, stranger))["id"]
    for caller in (rival, stranger):
        await caller.patch(f"/v1/races/{race}/entrants/me", {"ready": True})
    left = await guest.delete(f"/v1/races/{race}/entrants/me")
    assert (left["state"], left["host"]) == ("countdown", rival.player)


async def test_only_entrants_are_ready(guest, stranger, nobody):
    race = (await lobby(guest))["id"]
    path = f"/v1/races/{race}/entrants/me"
    problem(await stranger.call("PATCH", path, {"ready": True}), 409, "not-entrant")
    problem(await nobody.call("PATCH", path, {"ready": True}), 401, "unauthorized")
    for body in ({}, {"ready": 1}, {"ready": None}, {"ready": True, "more": 1}, [], "ready"):
        problem(await guest.call("PATCH", path, body), 422, "malformed")


async def test_what_needs_somebody(guest, nobody):
    race = (await lobby(guest))["id"]
    for method, path, body in (
        ("POST", "/v1/races", {"game": "kings-way", "kind": "live"}),
        ("POST", "/v1/plays", {"game": "kings-way"}),
        ("POST", f"/v1/races/{race}/entrants", None),
        ("DELETE", f"/v1/races/{race}/entrants/me", None),
        ("POST", f"/v1/races/{race}/start", None),
        ("POST", f"/v1/races/{race}/cancel", None),
        ("GET", "/v1/me/plays", None),
    ):
        problem(await nobody.call(method, path, body), 401, "unauthorized")


async def test_the_events_are_read_in_pages(guest, rival, nobody):
    race = (await lobby(guest, rival))["id"]
    await rival.patch(f"/v1/races/{race}/entrants/me", {"ready": True})
    await guest.delete(f"/v1/races/{race}/entrants/me")
    await rival.post(f"/v1/races/{race}/start")
    await rival.post(f"/v1/races/{race}/cancel")
    path = f"/v1/races/{race}/events"
    whole = await nobody.get(path)
    exactly(whole, {"items": [{"v": int, "data": race_event}], "next": None})
    assert [event["v"] for event in whole["items"]] == list(range(1, 9))
    assert await _types(nobody, race) == [
        *("created", "entrant-joined", "entrant-joined", "entrant-ready"),
        *("entrant-left", "host-changed", "countdown", "cancelled"),
    ]
    read, after = [], 0
    while after is not None:
        page = await nobody.get(path, params={"after": after, "limit": 3})
        read += page["items"]
        after = page["next"]
    assert read == whole["items"]
    assert await nobody.get(path, params={"after": 8}) == {"items": [], "next": None}


async def test_everybody_leaves_and_joins_at_once(guests, guest):
    """Whatever order it comes to, the log tells one story, and the race agrees with it."""
    others = await asyncio.gather(*(guests() for _ in range(6)))
    race = (await lobby(guest, *others))["id"]
    path = f"/v1/races/{race}/entrants"
    calls = [caller.call("DELETE", f"{path}/me") for caller in (guest, *others[:3])]
    calls += [caller.call("PATCH", f"{path}/me", {"ready": True}) for caller in others]
    replies = await asyncio.gather(*calls)
    for reply in replies[:4]:
        assert reply.status_code == 200
    for reply in replies[4:7]:
        assert reply.is_success or reply.json()["code"] in ("not-entrant", "race-started")
    log = (await guest.get(f"/v1/races/{race}/events"))["items"]
    assert [event["v"] for event in log] == list(range(1, len(log) + 1))
    inside, host = {}, None
    for event in log:
        match event["data"]:
            case {"type": "entrant-joined", "player": player}:
                inside[player["id"]] = False
                host = host or player["id"]
            case {"type": "entrant-left", "player": player}:
                del inside[player]
            case {"type": "entrant-ready", "player": player, "ready": ready}:
                inside[player] = ready
            case {"type": "host-changed", "host": player}:
                host = player["id"]
                assert host == next(iter(inside))
    now = await guest.get(f"/v1/races/{race}")
    assert {e["player"]["id"]: e["ready"] for e in now["entrants"]} == inside
    assert set(inside) == {other.id for other in others[3:]}
    assert now["host"]["id"] == host
    # Those who stay are all ready, so it counts down.
    assert now["state"] == "countdown"
