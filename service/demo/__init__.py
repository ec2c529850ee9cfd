"""`samedeal demo`: built-in players and bots race over the public API, and all is checked."""

import asyncio
import contextlib
import random
import signal
import sys
from collections.abc import Iterator

from service.bots.client import Client
from service.bots.messages import Lost, Refused
from service.bots.playing import NoStart
from service.bots.socket import Socket
from service.demo import trio
from service.demo.daily import daily
from service.demo.players import HABITS
from service.demo.scene import Scene
from service.demo.server import ServerFailed, own_server
from service.demo.show import Show, Unread
from service.demo.stage import Seat, live_race
from service.rules import GAMES

POOL = "1"
"""A certified deal a game is enough for a demo, and soon made."""
COUNTDOWN_MS = "2000"
INTERRUPTED = 130
"""Exit status after Ctrl-C, as shells have it."""


DAILY = "kings-way"


def run() -> int:
    """Show it all; the exit status: 0 only if every race ended and everything about it held."""
    try:
        return asyncio.run(_main(Show()))
    except (KeyboardInterrupt, asyncio.CancelledError):
        print("samedeal demo: stopped before its end", file=sys.stderr)
        return INTERRUPTED


async def _main(show: Show) -> int:
    _end_like_ctrl_c()
    held = False
    try:
        async with own_server(COUNTDOWN_MS=COUNTDOWN_MS, LOG_LEVEL="warning", POOL=POOL) as server:
            show.line(f"samedeal demo: a server of its own listens on {server.address}")
            held = await server.during(_perform(server.address, show))
    except* (ServerFailed, Lost, Refused, NoStart, Unread) as group:
        for error in _each(group):
            print(f"samedeal demo: failed: {error}", file=sys.stderr)
    show.line("")
    show.line("Everything held." if held else "Not everything held.")
    return 0 if held else 1


def _each(group: BaseExceptionGroup[Exception]) -> Iterator[Exception]:
    for error in group.exceptions:
        if isinstance(error, BaseExceptionGroup):
            yield from _each(error)
        else:
            yield error


def _end_like_ctrl_c() -> None:
    """Whoever ends us in another way wants our server ended, too."""
    task = asyncio.current_task()
    assert task is not None
    with contextlib.suppress(NotImplementedError):
        for name in (signal.SIGTERM, signal.SIGHUP):
            asyncio.get_running_loop().add_signal_handler(name, task.cancel)


async def _perform(address: str, show: Show) -> bool:
    """The four race each game, then the bots one; two play the daily; whether everything held."""
    async with contextlib.AsyncExitStack() as stack:
        onlooker = await stack.enter_async_context(Client(address))
        looking = await stack.enter_async_context(onlooker.socket())
        seats: list[Seat] = []
        names: dict[str, str] = {}
        for number, habit in enumerate(HABITS, 1):
            client = await stack.enter_async_context(await Client.guest(address))
            assert client.player is not None
            socket = await stack.enter_async_context(client.socket())
            seats.append(Seat(habit, client, socket, random.Random(number)))
            names[client.player.id] = habit.name
        held = await _four(seats, onlooker, looking, names, show)
        show.line("")
        scene = Scene(trio.GAME, {}, show.news, title="The bots")
        bots = await trio.seated(stack, address)
        scene.name({seat.client.player.id: seat.habit.name for seat in bots if seat.client.player})
        async with show.following([scene]), asyncio.TaskGroup() as group:
            day = group.create_task(daily(DAILY, seats[1:3], onlooker))
            three = group.create_task(trio.race_bots(bots, onlooker, looking, scene))
    show.daily(GAMES[DAILY], day.result(), names)
    show.result(scene, three.result().result)
    show.trio(scene, three.result())
    return held and not day.result().faults and not three.result().result.faults


async def _four(
    seats: list[Seat], onlooker: Client, looking: Socket, names: dict[str, str], show: Show
) -> bool:
    """All games at the same time, with the same players."""
    scenes = {game: Scene(game, names, show.news) for game in GAMES}
    async with show.following(list(scenes.values())), asyncio.TaskGroup() as group:
        racing = {
            game: group.create_task(live_race(game, seats, onlooker, looking, scene))
            for game, scene in scenes.items()
        }
    for game, race in racing.items():
        show.result(scenes[game], race.result())
    return all(not race.result().faults for race in racing.values())
