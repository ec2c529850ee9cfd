"""One live race from the lobby to its checked proof, with one player for each habit."""

import asyncio
import random
import time
from typing import NamedTuple

from service.bots.client import Client
from service.bots.feed import Feed, RaceNews
from service.bots.messages import Board, Lost, Play, Race, RaceEvent, RaceProgress, Standing
from service.bots.playing import play_out, started_play
from service.bots.reports import Proof
from service.bots.socket import Socket
from service.contest.proof import BadProof, Checked, verify
from service.demo.players import Habit
from service.demo.scene import Scene
from service.rules import GAMES

RACE_SECONDS = 16.0
"""About how long a race is to last for somebody of the usual pace."""
SHARE_OF_MOVES = 0.75
"""How much of the longest possible game a usual one takes, roughly."""
PLAY_SECONDS = 60.0
"""Who is not through by then resigns."""
TIME_LIMIT_MS = 120_000


class Seat(NamedTuple):
    """A player at the tables: who, and their one connection for everything."""

    habit: Habit
    client: Client
    socket: Socket
    rng: random.Random


class Result(NamedTuple):
    """What came of a race; `faults` is empty when all of it held."""

    race: Race
    standings: tuple[Standing, ...]
    proof: Proof
    checked: Checked | None
    faults: tuple[str, ...]


async def live_race(
    game: str,
    seats: list[Seat],
    onlooker: Client,
    onlookers_socket: Socket,
    scene: Scene,
    seconds: float = RACE_SECONDS,
    certified_within: float = 0.0,
) -> Result:
    """Race one deal for about so long, shown as an onlooker without an account sees it.

    `certified_within`: seconds to wait for a deal that is certified winnable.
    """
    host, *others = seats
    race = await _lobby(game, host.client, len(seats), certified_within)
    feed = await onlookers_socket.watch_race(race.id)
    for seat in others:
        await seat.client.join(race.id)
    async with asyncio.TaskGroup() as group:
        plays = [group.create_task(_play(seat, race, seconds)) for seat in seats]
        told = group.create_task(_look_on(feed, scene))
        # Everybody is in before the last one is ready: then it starts by itself.
        for seat in seats:
            await seat.client.ready(race.id)
    await feed.close()
    return await _check(race, seats, [play.result() for play in plays], onlooker, told.result())


async def _lobby(game: str, host: Client, capacity: int, certified_within: float) -> Race:
    patience = time.monotonic() + certified_within
    while True:
        race = await host.create_race(
            game, name="demo", capacity=capacity, time_limit_ms=TIME_LIMIT_MS, listed=False
        )
        if race.deal.certified or time.monotonic() >= patience:
            return race
        await host.cancel(race.id)
        await asyncio.sleep(1.0)


async def _play(seat: Seat, race: Race, seconds: float) -> Play:
    return await played(seat, await started_play(seat.client, race.id, seat.socket), seconds)


async def played(seat: Seat, play: Play, seconds: float) -> Play:
    """Play it out, in about so many seconds."""
    usual = seconds / (SHARE_OF_MOVES * GAMES[play.game].max_moves) * seat.habit.pace

    async def decide(board: Board, legal: tuple[str, ...]) -> str:
        if seat.habit.ponders:
            return await asyncio.to_thread(seat.habit.choose, board, legal, seat.rng)
        return seat.habit.choose(board, legal, seat.rng)

    return await play_out(
        seat.client,
        seat.socket,
        play,
        decide,
        pause=lambda: usual * seat.rng.uniform(0.5, 1.5),
        patience=PLAY_SECONDS,
    )


async def _look_on(feed: Feed[RaceNews], scene: Scene) -> tuple[Standing, ...]:
    """Show a race until it has ended; the standings as they were told then."""
    async for news in feed:
        match news:
            case Race():
                scene.begin(news)
            case RaceProgress(players):
                for player, progress in players.items():
                    scene.progress(player, progress)
            case RaceEvent():
                scene.event(news)
                if news.type == "race-ended":
                    return news.standings
    raise Lost("the race was no longer shown before its end")


async def _check(
    race: Race, seats: list[Seat], held: list[Play], onlooker: Client, told: tuple[Standing, ...]
) -> Result:
    """Ask again for everything, as a stranger, and see whether it all fits together."""
    standings = await onlooker.standings(race.id)
    proof = await onlooker.proof(race.id)
    faults: list[str] = []
    checked = None
    try:
        checked = verify(proof.text)
    except BadProof as error:
        faults.append(f"the proof does not hold: {error}")
    else:
        if checked.plays != len(seats):
            faults.append(f"the proof is of {checked.plays} plays, not of {len(seats)}")
    # A proof is worth something only for the deal that was committed to before the start.
    if proof.commitment != race.deal.commitment:
        faults.append("the proof is of another deal than the one that was committed to")
    if not standings == proof.standings == told:
        faults.append("the standings are not the same in the event, over REST and in the proof")
    for seat, play in zip(seats, held, strict=True):
        now = await onlooker.play(play.id)
        if (now.ply, now.status, now.score) != (play.ply, play.status, play.score):
            faults.append(f"{seat.habit.name} was told another end than is told now")
        if now.board != play.board:
            faults.append(f"{seat.habit.name} held another board than is told now")
    return Result(race, standings, proof, checked, tuple(faults))
