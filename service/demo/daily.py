"""Today's daily: two players, each at a time of their own, and the leaderboard between them."""

import asyncio
from typing import NamedTuple

from service.bots.client import Client
from service.bots.messages import Play, Race, Standing
from service.demo.stage import Seat, played

SECONDS = 9.0
LATER_SECONDS = 1.0
"""How much later the second player comes: a daily is entered at any time of its day."""


class Day(NamedTuple):
    """What the daily looks like after both have played; `faults` is empty when all of it held."""

    race: Race
    standings: tuple[Standing, ...]
    faults: tuple[str, ...]


async def daily(game: str, seats: list[Seat], onlooker: Client) -> Day:
    """Let these enter and play today's daily."""
    race = await onlooker.daily(game)

    async def play(number: int, seat: Seat) -> Play:
        await asyncio.sleep(number * LATER_SECONDS)
        return await played(seat, await seat.client.enter(race.id), SECONDS)

    async with asyncio.TaskGroup() as group:
        plays = [group.create_task(play(number, seat)) for number, seat in enumerate(seats)]
    standings = await onlooker.standings(race.id)
    faults: list[str] = []
    told = {row.player.id: (row.status, row.score) for row in standings}
    held = {play.result().player.id: play.result() for play in plays}
    if told != {player: (own.status, own.score) for player, own in held.items()}:
        faults.append("the leaderboard is not of the plays that were played")
    # Others may yet enter: what was played stays hidden until the day is over.
    if any([(await onlooker.play(own.id)).board is not None for own in held.values()]):
        faults.append("a board of the daily is shown before the day is over")
    return Day(race, standings, tuple(faults))
