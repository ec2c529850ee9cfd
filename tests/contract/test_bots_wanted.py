"""House bots asked into a lobby: what the host may ask for, and that everybody is told."""

import pytest

from tests.contract.live import lobby, start
from tests.contract.shapes import RACE, exactly, problem


def _bots(race):
    return f"/v1/races/{race['id']}/bots"


async def test_the_host_asks_and_everybody_is_told(guest, rival):
    race = await lobby(guest, rival, listed=True)
    assert race["bots_wanted"] == {}
    async with rival.socket() as socket:
        await socket.watch(f"race:{race['id']}")
        asked = await guest.post(_bots(race), {"level": "sharp", "count": 2})
        exactly(asked, RACE)
        assert asked["bots_wanted"] == {"sharp": 2}
        told = await socket.expect("event", type="bots-asked")
        assert (told["data"]["level"], told["data"]["count"]) == ("sharp", 2)
        assert told["v"] == asked["v"] == race["v"] + 1
    await guest.post(_bots(race), {"level": "easy", "count": 1})
    after = await guest.post(_bots(race), {"level": "sharp", "count": 1})
    assert after["bots_wanted"] == {"easy": 1, "sharp": 1}
    again = await guest.post(_bots(race), {"level": "sharp", "count": 1})
    assert again["v"] == after["v"]


async def test_only_the_host_only_in_the_lobby_and_only_as_many_as_have_room(guest, rival, nobody):
    race = await lobby(guest, rival, capacity=4)
    path, one = _bots(race), {"level": "easy", "count": 1}
    problem(await rival.call("POST", path, one), 403, "not-host")
    problem(await nobody.call("POST", path, one), 401, "unauthorized")
    problem(await guest.call("POST", path, {"level": "easy", "count": 3}), 409, "race-full")
    await guest.post(path, {"level": "easy", "count": 1})
    problem(await guest.call("POST", path, {"level": "steady", "count": 2}), 409, "race-full")
    problem(await guest.call("POST", "/v1/races/nonsense/bots", one), 404, "not-found")
    await start(guest, race["id"])
    problem(await guest.call("POST", path, one), 409, "race-started")


@pytest.mark.parametrize(
    "asked",
    [
        {},
        {"level": "easy"},
        {"level": "easy", "count": 0},
        {"level": "easy", "count": 8},
        {"level": "easy", "count": 1.5},
        {"level": "perfect", "count": 1},
        {"level": "easy", "count": 1, "more": 1},
    ],
)
async def test_what_is_no_request(guest, asked):
    race = await lobby(guest)
    problem(await guest.call("POST", _bots(race), asked), 422, "malformed")
