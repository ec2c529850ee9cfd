"""`Idempotency-Key`: sending a POST again does nothing again."""

import asyncio
import itertools

import pytest

from tests.contract.shapes import problem

_numbers = itertools.count(1)


@pytest.fixture
def key():
    """A header with a key that nobody has used."""
    return {"Idempotency-Key": f"key {next(_numbers)}"}


async def _mine(caller):
    return [item["id"] for item in (await caller.get("/v1/me/plays"))["items"]]


async def test_the_same_again_gives_the_first_reply(guest, key):
    body = {"game": "kings-way"}
    first = await guest.call("POST", "/v1/plays", body, headers=key)
    again = await guest.call("POST", "/v1/plays", body, headers=key)
    assert (first.status_code, again.status_code) == (201, 201)
    assert first.content == again.content
    for header in ("content-type", "cache-control", "location"):
        assert again.headers[header] == first.headers[header]
    assert await _mine(guest) == [first.json()["id"]]


async def test_with_another_body_the_key_is_refused(guest, key):
    await guest.post("/v1/plays", {"game": "kings-way"}, status=201, headers=key)
    other = {"game": "royal-mullein"}
    problem(await guest.call("POST", "/v1/plays", other, headers=key), 422, "key-reused")
    assert len(await _mine(guest)) == 1


async def test_a_key_is_one_players_and_one_paths(guest, rival, key):
    body = {"game": "kings-way"}
    own = await guest.post("/v1/plays", body, status=201, headers=key)
    others = await rival.post("/v1/plays", body, status=201, headers=key)
    race = await guest.post("/v1/races", {**body, "kind": "live"}, status=201, headers=key)
    assert len({own["id"], others["id"], race["id"]}) == 3
    assert others["player"] == rival.player


async def test_what_did_not_succeed_may_be_sent_again(guest, key):
    problem(
        await guest.call("POST", "/v1/plays", {"game": "bridge"}, headers=key), 422, "unknown-game"
    )
    problem(await guest.call("POST", "/v1/plays", {"game": 5}, headers=key), 422, "malformed")
    play = await guest.post("/v1/plays", {"game": "kings-way"}, status=201, headers=key)
    assert await _mine(guest) == [play["id"]]


async def test_many_at_once_have_one_effect(guest, key):
    body = {"game": "kings-way"}
    replies = await asyncio.gather(
        *(guest.call("POST", "/v1/plays", body, headers=key) for _ in range(12))
    )
    made = {reply.content for reply in replies if reply.status_code == 201}
    assert len(made) == 1
    for reply in replies:
        if reply.status_code != 201:
            problem(reply, 409, "key-busy")
    assert len(await _mine(guest)) == 1


async def test_every_command_on_a_race_may_be_sent_again(guest, rival, key):
    body = {"game": "kings-way", "kind": "live"}
    race = await guest.post("/v1/races", body, status=201, headers=key)
    assert await guest.post("/v1/races", body, status=201, headers=key) == race
    path = f"/v1/races/{race['id']}"
    joined = await rival.post(f"{path}/entrants", headers=key)
    await rival.delete(f"{path}/entrants/me")
    # The key stands for what was done, whatever has come since.
    assert await rival.post(f"{path}/entrants", headers=key) == joined
    assert (await guest.get(path))["total"] == 1
    cancelled = await guest.post(f"{path}/cancel", headers=key)
    assert await guest.post(f"{path}/cancel", headers=key) == cancelled
    assert cancelled["state"] == "cancelled"


async def test_resigning_may_be_sent_again(guest, key):
    play = await guest.post("/v1/plays", {"game": "kings-way"}, status=201)
    path = f"/v1/plays/{play['id']}/resign"
    delta = await guest.post(path, headers=key)
    assert await guest.post(path, headers=key) == delta
    problem(await guest.call("POST", path), 409, "play-over")


async def test_a_start_may_be_sent_again(guest, key):
    race = await guest.post("/v1/races", {"game": "kings-way", "kind": "live"}, status=201)
    path = f"/v1/races/{race['id']}/start"
    started = await guest.post(path, headers=key)
    assert started["state"] == "countdown"
    assert await guest.post(path, headers=key) == started


async def test_a_reply_with_a_secret_is_never_kept(nobody, guest, fresh_name, key):
    guests = [await guest.post("/v1/guests", status=201, headers=key) for _ in range(2)]
    assert guests[0]["token"] != guests[1]["token"]
    body = {"name": fresh_name(), "password": "correct horse"}
    await nobody.post("/v1/players", body, status=201, headers=key)
    problem(await nobody.call("POST", "/v1/players", body, headers=key), 409, "name-taken")
    tokens = [(await nobody.post("/v1/login", body, headers=key))["token"] for _ in range(2)]
    assert tokens[0] != tokens[1]


async def test_moves_have_their_own_ids(guest, key):
    play = await guest.post("/v1/plays", {"game": "kings-way"}, status=201)
    path = f"/v1/plays/{play['id']}/moves"
    for ply in (1, 2):
        delta = await guest.post(path, {"ply": ply, "move": "turn"}, headers=key)
        assert delta["ply"] == ply


BAD_KEYS = ["", "x" * 256, "ключ", "a\tb"]


async def test_keys_have_a_form(guest):
    for bad in BAD_KEYS:
        headers = {"Idempotency-Key": bad.encode()}
        reply = await guest.call("POST", "/v1/plays", {"game": "kings-way"}, headers=headers)
        problem(reply, 422, "malformed")
        assert await _mine(guest) == []
