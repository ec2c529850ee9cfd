"""Whole live races for tests that are about what comes before or after."""

from typing import Any

from tests.client import Caller, Json


async def lobby(*callers: Caller, **settings: Any) -> Json:
    """A race that all of them are in, the first as host."""
    asked = {"game": "kings-way", "kind": "live", "listed": False, **settings}
    race = await callers[0].post("/v1/races", asked, status=201)
    for caller in callers[1:]:
        race = await caller.post(f"/v1/races/{race['id']}/entrants")
    return dict(race)


async def begun(*callers: Caller, **settings: Any) -> str:
    """The id of a race that has started."""
    race = await lobby(*callers, **settings)
    await start(callers[0], race["id"])
    return str(race["id"])


async def start(host: Caller, race: str) -> None:
    """Starts a race and waits until it has."""
    async with host.socket() as socket:
        await socket.watch(f"race:{race}")
        await host.post(f"/v1/races/{race}/start")
        await socket.expect("event", type="started")


async def finish(race: str, *callers: Caller) -> None:
    """All of them resign; waits until the race has ended."""
    async with callers[0].socket() as socket:
        await socket.watch(f"race:{race}")
        for caller in callers:
            me = (await caller.get(f"/v1/races/{race}"))["me"]
            await caller.post(f"/v1/plays/{me['play']}/resign")
        await socket.expect("event", type="race-ended")


async def raced(*callers: Caller, **settings: Any) -> str:
    """The id of a race that has ended."""
    race = await begun(*callers, **settings)
    await finish(race, *callers)
    return race
