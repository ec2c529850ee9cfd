"""(f) From the last play's end to the end of its race, with all that it brings, committed."""

import asyncio
import contextlib
import random
import time
from typing import NamedTuple

from sqlalchemy import func, insert, select

from bench.machine import CORES, GENERATOR_CORE, pin
from bench.report import table
from bench.servers import fresh_database, has_redis, redis_server
from service.app import Process
from service.contest.player import Player
from service.contest.race import Race
from service.contest.season import rating_board
from service.referee import closing
from service.settings import Settings
from service.storage.competition_tables import board_rows, ratings
from service.storage.ids import new_id
from service.storage.tables import players

GAME = "kings-way"
AIM_SECONDS = 2.0


class Closed(NamedTuple):
    """Seconds that one closing took, and of these the ratings' arithmetic; seconds until Redis knew."""

    whole: float
    processor: float
    rating: float
    redis: float | None


async def run(quick: bool, stores: tuple[str, ...]) -> str:
    """The part as Markdown."""
    if "Postgres" not in stores:
        return "Left out: it takes a Postgres that answers."
    entrants, times = (200, 2) if quick else (1_000, 3)
    async with contextlib.AsyncExitStack() as stack:
        settings = {
            "database_url": await stack.enter_async_context(fresh_database()),
            "countdown_ms": 0,
            "redis_url": None,
        }
        if has_redis():
            settings["redis_url"] = await stack.enter_async_context(redis_server())
        pin(*CORES)  # the referee is in this very process
        process = Process(Settings(**settings))
        await process.start()
        try:
            closed = await _closings(process, entrants, times)
        finally:
            await process.drain()
            await process.stop()
            pin(GENERATOR_CORE)
    return _told(entrants, closed)


async def _closings(process: Process, entrants: int, times: int) -> list[Closed]:
    """The same players race that often: from the second time on each has a rating already."""
    process.plays._on_end = lambda _race: None  # nobody but us closes the race
    found = []
    for number in range(1, times + 1):
        if number == 1:
            racing = await _players(process, entrants)
        race = await _run_race(process, racing)
        found.append(await _close(process, race, number))
    return found


async def _players(process: Process, number: int) -> list[Player]:
    now = process.database.clock.now()
    made = [Player(new_id(now), f"Racer_{n}", "human") for n in range(number)]
    rows = [
        {"id": p.id, "name": p.name, "name_key": p.name.lower(), "kind": p.kind, "created_at": now}
        for p in made
    ]
    await process.database.transact(lambda own: own.execute(insert(players), rows))
    return made


async def _run_race(process: Process, racing: list[Player]) -> Race:
    """A rated live race whose plays have all ended after some moves, and which nobody has closed."""
    races, host = process.races, racing[0]
    race = await races.create_live(
        host,
        GAME,
        name=None,
        capacity=len(racing),
        time_limit_ms=600_000,
        ranking="time",
        rated=True,
        listed=False,
    )
    race_id = race.header.id
    for player in racing[1:]:
        await races.join(race_id, player)
    await races.start(race_id, host.id)
    async with asyncio.timeout(30):
        while (race := await process.reader.race(race_id)).state != "running":
            await races.settle(race_id)
            await asyncio.sleep(0.05)
    await asyncio.sleep(0.1)
    several = asyncio.Semaphore(50)

    async def play(player: Player) -> None:
        async with several:
            seat = await process.plays._shelf.seat(race.entrants[player.id].play)
            choice = random.Random(player.name)
            for _ in range(choice.randint(1, 12)):
                move, now = choice.choice(seat.play.legal), process.database.clock.now()
                ply = seat.play.ply + 1
                await process.plays.move(player.id, seat.header.id, ply, move, None, now)
            await process.plays.resign(player.id, seat.header.id, process.database.clock.now())

    await asyncio.gather(*map(play, racing))
    return race


async def _close(process: Process, race: Race, number: int) -> Closed:
    rating = 0.0
    plain = closing.rated

    def timed(*args: object) -> object:
        nonlocal rating
        at = time.perf_counter()
        try:
            return plain(*args)
        finally:
            rating += time.perf_counter() - at

    closing.rated = timed
    try:
        begun, ran = time.perf_counter(), time.process_time()
        await process.races.settle(race.header.id)
        whole, ran = time.perf_counter() - begun, time.process_time() - ran
    finally:
        closing.rated = plain
    redis = None
    if process.keeper is not None:
        process.keeper.soon()
        await _redis_knows(process)
        redis = time.perf_counter() - begun
    await _checked(process, race, number)
    return Closed(whole, ran, rating, redis)


async def _redis_knows(process: Process) -> None:
    unknown = select(func.count()).where(board_rows.c.boarded_v < board_rows.c.v)
    async with asyncio.timeout(60):
        while True:
            async with process.database.read() as connection:
                if not (await connection.execute(unknown)).scalar_one():
                    return
            await asyncio.sleep(0.02)


async def _checked(process: Process, race: Race, number: int) -> None:
    after = await process.reader.race(race.header.id)
    if after.state != "ended":
        raise RuntimeError("the race was not closed")
    rated = select(func.count()).where(ratings.c.race_id == race.header.id)
    row = select(func.count()).where(
        board_rows.c.board == rating_board(GAME), board_rows.c.races == number
    )
    async with process.database.read() as connection:
        counts = [(await connection.execute(query)).scalar_one() for query in (rated, row)]
    if counts != [len(race.entrants)] * 2:
        raise RuntimeError(
            f"of {len(race.entrants)} entrants {counts} were rated, stand on a board"
        )


def _told(entrants: int, closed: list[Closed]) -> str:
    rows = [
        (
            number,
            f"{one.whole:.2f}",
            f"{one.processor:.2f}",
            f"{one.rating:.2f}",
            "–" if one.redis is None else f"{one.redis:.2f}",
        )
        for number, one in enumerate(closed, 1)
    ]
    head = ("race", "seconds", "of them the processor's", "of them ratings", "until Redis knows it")
    return (
        f"Rated live races of {entrants:,} registered players, all of whom have moved and ended, on "
        "Postgres; seconds from the end of the last play until standings, match points, ratings and "
        f"the boards are committed with the race's end (aim for 1,000: ≤ {AIM_SECONDS:.0f}), and until "
        "both boards have been told to Redis. The same players each time: after the first race they "
        f"have ratings and rows already.\n\n{table(head, rows)}\n\n"
        "What limits it: rows, several for each entrant, written one statement a row in a single "
        "transaction, while Postgres and the referee wait for each other; then the ratings, for "
        "which everybody is compared with everybody, in Python."
    )
