"""Playing a race's play from its start to its end over one socket, whoever decides the moves."""

import asyncio
from collections.abc import Awaitable, Callable

from service.bots.client import Client
from service.bots.feed import RaceNews
from service.bots.messages import Board, Play, Race, RaceEvent, Refused
from service.bots.socket import Socket

Decide = Callable[[Board, tuple[str, ...]], Awaitable[str]]
"""One of the legal moves, of which there is at least one."""


class NoStart(Exception):
    """A race was called off, or ended without the player having had a play in it."""


async def started_play(client: Client, race_id: str, socket: Socket) -> Play:
    """Wait for the start of a race that the client is in: the own play, as it then is.

    Raises `NoStart`.
    """
    feed = await socket.watch_race(race_id)
    try:
        async for news in feed:
            play = await own_play(client, news)
            if play is not None:
                return play
    finally:
        await feed.close()
    raise NoStart(f"{race_id}: no longer watched")


async def own_play(client: Client, news: RaceNews) -> Play | None:
    """The client's play, as soon as a race tells of it. Raises `NoStart`."""
    match news:
        case RaceEvent(type="started", play=Play() as play):
            return play
        case Race(me=me) if me is not None and me.play is not None:
            return await client.play(me.play)  # it has started before we could watch it
        case Race(state="cancelled" | "ended") | RaceEvent(type="cancelled" | "race-ended"):
            raise NoStart("the race has come to its end without us")
        case _:
            return None


async def play_out(
    client: Client,
    socket: Socket,
    play: Play,
    decide: Decide,
    *,
    pause: Callable[[], float],
    patience: float | None = None,
) -> Play:
    """Play until it is over; after `patience` seconds resign. The play as held at its end.

    `pause`: how many seconds to take for the next move.
    """
    try:
        async with asyncio.timeout(patience):
            while not play.over:
                play = await _moved(client, socket, play, decide, pause())
    except TimeoutError:
        try:
            await client.resign(play.id)
        except Refused as error:
            if error.code != "play-over":
                raise
        play = await client.play(play.id)
    return play


async def _moved(
    client: Client, socket: Socket, play: Play, decide: Decide, seconds: float
) -> Play:
    if play.board is None:
        raise ValueError(f"the board of {play.id} is not shown to its player")
    # Thinking is part of the time taken, and not on top of it.
    move, _ = await asyncio.gather(decide(play.board, play.legal), asyncio.sleep(seconds))
    try:
        return play.after(await socket.move(play.id, play.ply + 1, move))
    except Refused as error:
        if error.code not in ("ply-conflict", "play-over"):
            raise
        # The play has got on without us: our time is up, or we sit at two tables.
        return await client.play(play.id)
