"""The three house bots race one deal, and the loser's game is looked at afterwards."""

import asyncio
import contextlib
import random
from typing import NamedTuple

from service.bots.client import Client
from service.bots.messages import Board, Refused
from service.bots.minds import LEVELS, mind
from service.bots.reports import Analysis, RatingRow
from service.bots.socket import Socket
from service.demo.players import Choose, Habit
from service.demo.scene import Scene
from service.demo.stage import Result, Seat, live_race
from service.solver import COMPILED

GAME = "kings-way"
SECONDS = 9.0
CERTIFIED_SECONDS = 30.0
ANALYSIS_SECONDS = 15.0


class Lesson(NamedTuple):
    """Who lost, and what is known of how; `analysis` is None when it took too long."""

    player: str
    analysis: Analysis | None


class Trio(NamedTuple):
    """What came of it."""

    result: Result
    lesson: Lesson | None
    ratings: tuple[RatingRow, ...]


async def seated(stack: contextlib.AsyncExitStack, address: str) -> list[Seat]:
    """The three, as players of name and password who are marked as bots."""
    seats = []
    for level in LEVELS:
        registered = await Client.registered(address, f"{level}-bot", random.randbytes(16).hex())
        client = await stack.enter_async_context(registered)
        await client.become_bot()
        socket = await stack.enter_async_context(client.socket())
        habit = Habit(level, 1.0, _choose(level), ponders=True)
        seats.append(Seat(habit, client, socket, random.Random(level)))
    return seats


def _choose(level: str) -> Choose:
    thought = mind(level, GAME, random.Random(level))

    def choose(board: Board, legal: tuple[str, ...], _rng: random.Random) -> str:
        return thought.choose(board, legal)

    return choose


async def race_bots(seats: list[Seat], onlooker: Client, looking: Socket, scene: Scene) -> Trio:
    """Race, and look back."""
    wait = CERTIFIED_SECONDS if COMPILED else 0.0  # which then takes longer than anybody waits
    result = await live_race(GAME, seats, onlooker, looking, scene, SECONDS, wait)
    return Trio(result, await _lesson(result, onlooker), await onlooker.ratings(GAME))


async def _lesson(result: Result, onlooker: Client) -> Lesson | None:
    """Of the last who did not solve it."""
    lost = [row for row in result.standings if row.status != "solved"]
    if not lost:
        return None
    analysis = None
    with contextlib.suppress(TimeoutError, Refused):
        async with asyncio.timeout(ANALYSIS_SECONDS):
            analysis = await onlooker.analysis(lost[-1].play)
    return Lesson(lost[-1].player.id, analysis)
