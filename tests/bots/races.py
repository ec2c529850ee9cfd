"""What the tests of the client share: wires to cut, races to watch and to end."""

import asyncio
import contextlib
from collections.abc import AsyncIterator

from service.bots.client import Client
from service.bots.feed import Feed, RaceNews
from service.bots.messages import RaceEvent
from tests.bots.conftest import Home
from tests.storage.cable import Cable

PATIENCE_S = 20.0


@contextlib.asynccontextmanager
async def wire_to(home: Home) -> AsyncIterator[tuple[Cable, str]]:
    """A wire to the service that can be held and cut, and the address at its near end."""
    cable = Cable("127.0.0.1", home.port)
    near = await asyncio.start_server(cable.connected, "127.0.0.1", 0)
    try:
        yield cable, f"http://127.0.0.1:{near.sockets[0].getsockname()[1]}"
    finally:
        near.close()
        cable.cut()
        await cable.drained()
        await near.wait_closed()


async def events_until(feed: Feed[RaceNews], last: str) -> list[RaceEvent]:
    """What a race tells up to the event of that type, progress left out."""
    events = []
    async with asyncio.timeout(PATIENCE_S):
        async for news in feed:
            if isinstance(news, RaceEvent):
                events.append(news)
                if news.type == last:
                    break
    return events


async def both_resign(race_id: str, *players: Client) -> None:
    for player in players:
        async with asyncio.timeout(PATIENCE_S):
            while (race := await player.race(race_id)).state != "running":  # noqa: ASYNC110
                await asyncio.sleep(0.02)
        assert race.me is not None
        assert race.me.play is not None
        await player.move(race.me.play, 1, "turn")
        await player.resign(race.me.play)
