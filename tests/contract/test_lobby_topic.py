"""The topic `lobby`: the list of races that can be joined or soon begin, and what changes in it."""

import asyncio

import pytest

from tests.contract.live import finish, lobby, start
from tests.contract.shapes import RACE, exactly

LISTED = {"listed": True, "name": "Shown"}


async def _of(socket, race, **fields):
    """The next news of a race for which the fields hold; what was superseded is passed over."""
    while True:
        frame = await socket.expect("event", topic="lobby", type="race")
        exactly(frame, {"op": str, "topic": str, "v": {0}, "data": {"type": str, "race": RACE}})
        told = frame["data"]["race"]
        if told["id"] == race and all(told[key] == value for key, value in fields.items()):
            return told


async def _gone(socket, race):
    while True:
        frame = await socket.expect("event", topic="lobby", type="race-removed")
        exactly(frame, {"op": str, "topic": str, "v": {0}, "data": {"type": str, "race": str}})
        if frame["data"]["race"] == race:
            return


async def _list(caller):
    async with caller.socket() as socket:
        assert (await socket.watch("lobby"))["v"] == 0
        return (await socket.expect("snapshot", topic="lobby"))["data"]


async def test_a_snapshot_of_the_newest_first(guest, rival, nobody):
    first = await lobby(guest, **LISTED)
    second = await lobby(rival, **LISTED)
    hidden = await lobby(guest)
    for caller in (nobody, guest):
        told = await _list(caller)
        exactly(told, {"type": {"lobby"}, "races": [RACE]})
        ids = [race["id"] for race in told["races"]]
        assert ids.index(second["id"]) < ids.index(first["id"])
        assert hidden["id"] not in ids
        shown = told["races"][ids.index(first["id"])]
        assert shown == {**await nobody.get(f"/v1/races/{first['id']}")}
        assert shown["me"] is None
    for caller, race in ((guest, first), (rival, second)):
        await caller.post(f"/v1/races/{race['id']}/cancel")
    ids = [race["id"] for race in (await _list(nobody))["races"]]
    assert first["id"] not in ids


async def test_a_race_appears_changes_and_goes(guest, rival, nobody):
    async with nobody.socket() as socket:
        await socket.watch("lobby")
        await socket.expect("snapshot", topic="lobby")
        race = (await lobby(guest, **LISTED))["id"]
        told = await _of(socket, race, total=1, state="lobby")
        assert (told["host"], told["me"]) == (guest.player, None)
        await rival.post(f"/v1/races/{race}/entrants")
        assert len((await _of(socket, race, total=2))["entrants"]) == 2
        await guest.delete(f"/v1/races/{race}/entrants/me")
        assert (await _of(socket, race, total=1))["host"] == rival.player
        await rival.post(f"/v1/races/{race}/start")
        # It runs after the countdown, and nobody can join it any more.
        await _gone(socket, race)


async def test_a_cancelled_race_goes(guest, nobody):
    async with nobody.socket() as socket:
        await socket.watch("lobby")
        race = (await lobby(guest, **LISTED))["id"]
        await _of(socket, race)
        await guest.delete(f"/v1/races/{race}/entrants/me")
        await _gone(socket, race)


async def test_nothing_of_what_is_not_listed(guest, rival, nobody):
    async with nobody.socket() as socket:
        await socket.watch("lobby")
        hidden = (await lobby(guest, rival))["id"]
        await start(guest, hidden)
        await finish(hidden, guest, rival)
        race = (await lobby(guest, **LISTED))["id"]
        await _of(socket, race)
        assert hidden not in str(await socket.still())
    await guest.post(f"/v1/races/{race}/cancel")


async def test_a_crowd_is_told_at_most_a_few_times_a_second(guests, nobody):
    callers = [await guests() for _ in range(30)]
    async with nobody.socket() as socket:
        await socket.watch("lobby")
        race = (await lobby(callers[0], **LISTED, capacity=30))["id"]
        begun = asyncio.get_running_loop().time()
        await asyncio.gather(*(c.post(f"/v1/races/{race}/entrants") for c in callers[1:]))
        last = await _of(socket, race, total=30)
        took = asyncio.get_running_loop().time() - begun
        assert len(last["entrants"]) == 8  # of so many races nobody needs all the names
        told = [
            frame
            for frame in socket.heard
            if frame["op"] == "event" and frame["data"].get("race", {}).get("id") == race
        ]
        assert len(told) <= 4 * took + 3
    await callers[0].post(f"/v1/races/{race}/cancel")


async def test_unwatched_nothing_comes(guest, nobody):
    async with nobody.socket() as socket, nobody.socket() as other:
        for each in (socket, other):
            await each.watch("lobby")
        await socket.send({"op": "unwatch", "topic": "lobby"})
        await socket.expect("unwatched", topic="lobby")
        race = (await lobby(guest, **LISTED))["id"]
        await _of(other, race)
        assert race not in str(await socket.still())
        # And again from the beginning.
        await socket.watch("lobby")
        await socket.expect("snapshot", topic="lobby")
        told = [f for f in await socket.still() if f["op"] == "snapshot"][-1]["data"]["races"]
        assert race in [each["id"] for each in told]
    await guest.post(f"/v1/races/{race}/cancel")


@pytest.mark.parametrize(
    "topic", ["lobby:AAAAAAAAAAAAAAAAAAAAAA", "me:AAAAAAAAAAAAAAAAAAAAAA", "lobbies"]
)
async def test_there_is_only_one(nobody, topic):
    async with nobody.socket() as socket:
        await socket.send({"op": "watch", "topic": topic})
        assert (await socket.expect("error", topic=topic))["code"] == "malformed"
