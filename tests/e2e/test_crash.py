"""kill −9, and start again: what was acknowledged is there, and the race goes on and ends."""

import asyncio

import pytest

from tests.e2e.conftest import Racers
from tests.e2e.racing import begin, eager, ended, go, lazy, lobby, proved
from tests.e2e.served import Services, true_of


async def test_in_the_countdown(services: Services, racers: Racers, database_url: str) -> None:
    server = await services.start(database_url, countdown_ms=2_500)
    pair = await racers(2, server)
    race = await lobby(pair, "kings-way")
    told = await pair[0].done("POST", f"/v1/races/{race}/start")
    assert told["state"] == "countdown"
    server.kill()
    await server.start()

    again = await pair[1].done("GET", f"/v1/races/{race}")
    assert [entrant["player"]["id"] for entrant in again["entrants"]] == [r.id for r in pair]
    for racer in pair:
        await racer.until(lambda r=racer: r.play, "the race starts")
    started = next(e for e in pair[0].events.values() if e["type"] == "started")
    # Not a moment early; and later only if the restart took longer than two seconds beyond it.
    assert started["starts_at"] == told["starts_at"] or started["at"] > told["starts_at"]
    await asyncio.gather(*(racer.play_on(eager) for racer in pair))
    await proved(pair)


async def test_in_mid_race(services: Services, racers: Racers, database_url: str) -> None:
    server = await services.start(database_url)
    idle, *busy = four = await racers(4, server)
    await lobby(four, "kings-way", time_limit_ms=4_000)
    await begin(four)
    before = await idle.done("GET", f"/v1/plays/{idle.play['id']}")
    rounds = [
        go(racer.play_on(habit)) for racer, habit in zip(busy, (eager, lazy, eager), strict=True)
    ]
    await true_of(lambda: min(racer.ply for racer in busy) > 4, "some moves are made", rounds)
    server.kill()
    known = {racer.id: dict(racer.acked) for racer in busy}
    await server.start()

    after = await idle.done("GET", f"/v1/plays/{idle.play['id']}")
    same = before.keys() - {"elapsed_ms"}
    assert {key: after[key] for key in same} == {key: before[key] for key in same}
    for racer in busy:
        log = await racer.done("GET", f"/v1/plays/{racer.play['id']}/moves", limit=500)
        stored = {entry["ply"]: entry["move"] for entry in log["items"]}
        acked = {ply: delta["move"] for ply, delta in known[racer.id].items()}
        assert acked.items() <= stored.items()
    await asyncio.gather(*rounds)
    await ended(four)
    proof = await proved(four)
    (log,) = (play["log"] for play in proof["plays"] if play["play"] == idle.play["id"])
    assert log == [{"ply": 1, "move": "timeout", "at_ms": 4_000}]


@pytest.mark.parametrize("database_kind", ["postgres"], indirect=True)
async def test_with_everybody_gone_the_race_still_ends(
    services: Services, racers: Racers, database_url: str
) -> None:
    server = await services.start(database_url)
    pair = await racers(2, server)
    race = await lobby(pair, "royal-mullein", time_limit_ms=1_000)
    await begin(pair)
    for racer in pair:
        await racer.socket.close()
    server.kill()
    await server.start()

    async def over() -> bool:
        return (await pair[0].done("GET", f"/v1/races/{race}"))["state"] == "ended"

    await true_of(over, "the race ends")
    rows = (await pair[0].done("GET", f"/v1/races/{race}/standings"))["items"]
    assert [(row["status"], row["rank"]) for row in rows] == [("timed_out", None)] * 2
