"""The rematch of a race, and the quick race: into a lobby without knowing one."""

import asyncio

import pytest

from tests.client import Caller
from tests.contract.live import begun, lobby, raced, start
from tests.contract.shapes import RACE, exactly, problem

SETTINGS = (
    *("game", "kind", "name", "capacity", "time_limit_ms", "ranking", "rated", "listed", "deals"),
)
QUICK = {"game": "royal-mullein"}


# Rematch


def _rematch(race):
    return f"/v1/races/{race}/rematch"


async def test_the_first_makes_it_and_the_others_join(guest, rival, nobody):
    own = {
        "name": "Again",
        "capacity": 3,
        "time_limit_ms": 60_000,
        "ranking": "moves",
        "rated": False,
        "deals": "any",
    }
    old = await nobody.get(f"/v1/races/{await raced(guest, rival, **own)}")
    assert (old["parent"], old["rematch"]) == (None, None)

    made = await rival.post(_rematch(old["id"]), status=201)
    exactly(made, RACE)
    assert {key: made[key] for key in SETTINGS} == {key: old[key] for key in SETTINGS}
    assert made["state"] == "lobby"
    assert made["host"] == rival.player
    assert [entrant["player"] for entrant in made["entrants"]] == [rival.player]
    assert made["parent"] == old["id"]
    assert made["deal"]["commitment"] != old["deal"]["commitment"]
    assert made["deal"]["seed"] is None

    joined = await guest.post(_rematch(old["id"]))
    assert (joined["id"], joined["total"], joined["host"]) == (made["id"], 2, rival.player)
    again = await rival.post(_rematch(old["id"]))
    assert (again["id"], again["total"]) == (made["id"], 2)
    assert (await nobody.get(f"/v1/races/{old['id']}"))["rematch"] == made["id"]
    assert (await nobody.get(f"/v1/races/{made['id']}"))["parent"] == old["id"]


async def test_it_can_be_raced_and_has_a_rematch_itself(guest, rival):
    first = await raced(guest, rival)
    second = await guest.post(_rematch(first), status=201)
    await rival.post(_rematch(first))
    problem(await guest.call("POST", _rematch(second["id"])), 409, "race-not-ended")
    await start(guest, second["id"])
    # An entrant who asks again is told of the race that is on.
    assert (await guest.post(_rematch(first)))["state"] == "running"


async def test_only_entrants_and_only_afterwards(guest, rival, stranger, nobody):
    race = await begun(guest, rival)
    problem(await guest.call("POST", _rematch(race)), 409, "race-not-ended")
    problem(await stranger.call("POST", _rematch(race)), 409, "not-entrant")
    problem(await nobody.call("POST", _rematch(race)), 401, "unauthorized")
    waiting = await lobby(guest)
    problem(await guest.call("POST", _rematch(waiting["id"])), 409, "race-not-ended")
    await guest.post(f"/v1/races/{waiting['id']}/cancel")
    problem(await guest.call("POST", _rematch(waiting["id"])), 409, "race-not-ended")
    problem(await guest.call("POST", _rematch("nothing")), 404, "not-found")


async def test_everybody_at_the_same_instant(guests):
    callers = [await guests() for _ in range(6)]
    old = await raced(*callers)
    replies = await asyncio.gather(*(caller.call("POST", _rematch(old)) for caller in callers))
    assert sorted(reply.status_code for reply in replies) == [200] * 5 + [201]
    (race,) = {reply.json()["id"] for reply in replies}
    assert (await callers[0].get(f"/v1/races/{race}"))["total"] == 6


async def test_a_cancelled_rematch_is_none(guest, rival):
    old = await raced(guest, rival)
    made = await guest.post(_rematch(old), status=201)
    await guest.delete(f"/v1/races/{made['id']}/entrants/me")
    assert (await guest.get(f"/v1/races/{old}"))["rematch"] is None
    other = await rival.post(_rematch(old), status=201)
    assert other["id"] != made["id"]
    assert (await guest.post(_rematch(old)))["id"] == other["id"]


async def test_watchers_of_the_old_race_learn_of_it(guest, rival, nobody):
    old = await raced(guest, rival)
    async with nobody.socket() as watching, rival.socket() as playing:
        for socket in (watching, playing):
            await socket.watch(f"race:{old}")
            await socket.expect("snapshot")
        made = await guest.post(_rematch(old), status=201)
        for socket in (watching, playing):
            told = await socket.expect("rematch", topic=f"race:{old}")
            assert told["data"] == {"race": made["id"], "host": guest.player}
        # Its log is closed: nothing was added to it.
        v = (await nobody.get(f"/v1/races/{old}"))["v"]
        assert (await nobody.get(f"/v1/races/{old}/events?limit=500"))["items"][-1]["v"] == v


async def test_an_idempotency_key_gives_the_same_reply(guest, rival):
    old = await raced(guest, rival)
    key = {"Idempotency-Key": "again"}
    made = await guest.post(_rematch(old), status=201, headers=key)
    await rival.post(_rematch(old))
    assert await guest.post(_rematch(old), status=201, headers=key) == made


# Quick race


@pytest.fixture
def fresh(guests):
    """Makes a quick lobby that is the only one with room, and who made it."""

    async def make():
        while True:
            caller = await guests()
            reply = await caller.call("POST", "/v1/quick", QUICK)
            assert reply.status_code in (200, 201), reply.text
            if reply.status_code == 201:
                return caller, reply.json()

    return make


async def test_a_lobby_as_anybody_makes_who_says_nothing_more(fresh, guest):
    _caller, race = await fresh()
    exactly(race, RACE)
    plain = await guest.post("/v1/races", {**QUICK, "kind": "live"}, status=201)
    assert {key: race[key] for key in SETTINGS} == {key: plain[key] for key in SETTINGS}
    assert race["listed"]
    await guest.post(f"/v1/races/{plain['id']}/cancel")


async def test_the_next_joins_it_and_again_is_the_same(fresh, guest):
    caller, race = await fresh()
    joined = await guest.post("/v1/quick", QUICK)
    assert (joined["id"], joined["total"], joined["host"]) == (race["id"], 2, caller.player)
    for who in (guest, caller, guest):
        again = await who.post("/v1/quick", QUICK)
        assert (again["id"], again["total"]) == (race["id"], 2)


async def test_the_one_that_has_waited_longest(fresh, guests, guest):
    _caller, first = await fresh()
    other = await guests()
    second = await other.post("/v1/races", {**QUICK, "kind": "live"}, status=201)
    assert (await guest.post("/v1/quick", QUICK))["id"] == first["id"]
    await other.post(f"/v1/races/{second['id']}/cancel")


async def test_not_one_that_was_left(fresh, guest):
    caller, race = await fresh()
    assert (await guest.post("/v1/quick", QUICK))["id"] == race["id"]
    await guest.delete(f"/v1/races/{race['id']}/entrants/me")
    other = await guest.post("/v1/quick", QUICK, status=201)
    assert other["id"] != race["id"]
    # But whoever comes back on purpose is in it.
    await guest.post(f"/v1/races/{other['id']}/cancel")
    await guest.post(f"/v1/races/{race['id']}/entrants")
    assert (await guest.post("/v1/quick", QUICK))["id"] == race["id"]
    await caller.post(f"/v1/races/{race['id']}/cancel")


@pytest.mark.parametrize(
    "other",
    [
        {"listed": False},
        {"capacity": 4},
        {"time_limit_ms": 60_000},
        {"rated": False},
        {"name": "Friends"},
        {"deals": "any"},
    ],
)
async def test_not_one_of_other_settings(fresh, guests, guest, other):
    caller, race = await fresh()
    await caller.post(f"/v1/races/{race['id']}/cancel")
    await lobby(await guests(), **{**QUICK, "listed": True, **other})
    made = await guest.post("/v1/quick", QUICK, status=201)
    await guest.post(f"/v1/races/{made['id']}/cancel")


async def test_many_at_once_fill_lobbies(fresh, guests):
    caller, race = await fresh()
    callers = [await guests() for _ in range(20)]
    replies = await asyncio.gather(*(one.call("POST", "/v1/quick", QUICK) for one in callers))
    races = {reply.json()["id"] for reply in replies}
    # Seven into the lobby that was there, eight into another, five into a third.
    assert sorted(reply.status_code for reply in replies) == [200] * 18 + [201] * 2
    totals = [(await caller.get(f"/v1/races/{one}"))["total"] for one in races]
    assert race["id"] in races
    assert sorted(totals) == [5, 8, 8]


async def test_one_player_many_times_at_once(fresh, guest):
    caller, race = await fresh()
    await caller.post(f"/v1/races/{race['id']}/cancel")
    replies = await asyncio.gather(*(guest.call("POST", "/v1/quick", QUICK) for _ in range(8)))
    assert sorted(reply.status_code for reply in replies) == [200] * 7 + [201]
    assert len({reply.json()["id"] for reply in replies}) == 1


async def test_quick_with_a_key_with_nonsense_and_without_a_token(guest, nobody):
    key = {"Idempotency-Key": "quick"}
    replies = [await guest.call("POST", "/v1/quick", QUICK, headers=key) for _ in range(2)]
    assert replies[0].status_code == replies[1].status_code
    assert replies[0].json() == replies[1].json()
    problem(await guest.call("POST", "/v1/quick", {"game": "chess"}), 422, "unknown-game")
    problem(await guest.call("POST", "/v1/quick", {**QUICK, "capacity": 2}), 422, "malformed")
    problem(await guest.call("POST", "/v1/quick", {}), 422, "malformed")
    problem(await nobody.call("POST", "/v1/quick", QUICK), 401, "unauthorized")


async def test_a_token_that_may_only_play_makes_no_races(guest, rival, service, client):
    old = await raced(guest, rival)
    made = await guest.post("/v1/tokens", {"scopes": ["read", "play"]}, status=201)
    bot = Caller(service, client, guest.player, made["token"])
    problem(await bot.call("POST", _rematch(old)), 403, "missing-scope")
    problem(await bot.call("POST", "/v1/quick", QUICK), 403, "missing-scope")
