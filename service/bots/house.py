"""House bots at work: each looks for a lobby where it is welcome, races, and looks again."""

import asyncio
import contextlib
import random
import signal
import sys
import time
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from pathlib import Path
from typing import NamedTuple, TypeVar

from service.bots.client import Client
from service.bots.feed import Feed, LobbyNews
from service.bots.identities import Identities, InUse
from service.bots.manners import Manners, joins, players, stays
from service.bots.messages import (
    Board,
    Lost,
    Play,
    Player,
    Race,
    RaceEvent,
    RaceList,
    RaceRemoved,
    Refused,
)
from service.bots.minds import mind
from service.bots.playing import NoStart, own_play, play_out
from service.bots.socket import Socket
from service.rules import GAMES

LOBBY_SECONDS = 600.0
"""Nobody starts: then the seat is given up."""
MOST_SECONDS_AWAY = 60.0
GOODBYE_SECONDS = 3.0
LOST_TOKEN = frozenset({"bad-token", "unauthorized", "token-revoked"})

Say = Callable[[str], None]
T = TypeVar("T")


class Order(NamedTuple):
    """What is asked of the house. `pace`: seconds a move, about."""

    address: str
    manners: Manners
    bots: int
    pace: float
    folder: Path


def run(order: Order) -> int:
    """Until it is ended by SIGTERM or Ctrl-C; the exit status."""
    return asyncio.run(_main(order))


async def _main(order: Order) -> int:
    task = asyncio.current_task()
    assert task is not None
    for name in (signal.SIGTERM, signal.SIGINT):
        asyncio.get_running_loop().add_signal_handler(name, task.cancel)
    try:
        with Identities(order.folder, order.address, order.manners.level) as identities:
            # One thinks at a time: they are guests on the machine that serves.
            thinking = asyncio.Lock()
            async with asyncio.TaskGroup() as group:
                for number in range(order.bots):
                    bot = Bot(order, number, identities, thinking, _say)
                    group.create_task(bot.work())
    except asyncio.CancelledError:
        return 0
    except (InUse, OSError) as error:
        print(f"samedeal bots: {error}", file=sys.stderr)
        return 1
    return 0


def _say(text: str) -> None:
    with contextlib.suppress(BrokenPipeError):
        print(text, flush=True)


class Bot:
    """One of them."""

    def __init__(
        self, order: Order, number: int, identities: Identities, thinking: asyncio.Lock, say: Say
    ) -> None:
        self._order = order
        self._manners = order.manners
        self._number = number
        self._identities = identities
        self._thinking = thinking
        self._say = say
        self._rng = random.Random()
        self._done_with: dict[str, Mapping[str, int]] = {}
        """Races that were left, until their hosts ask for other bots."""

    async def work(self) -> None:
        """For ever; whatever happens to the service, it comes back."""
        away = 1.0
        while True:
            began = time.monotonic()
            try:
                await self._session()
            except (Lost, Refused, NoStart) as error:
                self._say(f"bot {self._number + 1}: {error}")
                if isinstance(error, Refused) and error.code in LOST_TOKEN:
                    with contextlib.suppress(Lost, Refused):
                        await self._identities.renew(self._number)
            away = 1.0 if time.monotonic() - began > MOST_SECONDS_AWAY else away
            await asyncio.sleep(away * self._rng.uniform(0.5, 1.5))
            away = min(2 * away, MOST_SECONDS_AWAY)

    async def _session(self) -> None:
        client = await self._identities.client(self._number)
        async with client, client.socket() as socket:
            assert client.player is not None
            self._say(f"{client.player.name} is here")
            for play in await client.unfinished():  # of the time before a restart
                if play.race is not None:
                    await self._play(client, socket, await client.play(play.id))
            while True:
                race = await self._find(client, socket)
                with contextlib.suppress(NoStart):
                    await self._take_part(client, socket, race)
                self._done_with[race.id] = race.bots_wanted

    # Finding a lobby

    async def _find(self, client: Client, socket: Socket) -> Race:
        """A lobby to be in, looked for as long as it takes."""
        assert client.player is not None
        listed: dict[str, Race] = {}
        since: dict[str, float] = {}
        lonely_at = time.monotonic() + self._rng.uniform(3, 8)
        async with _watching(await socket.watch_lobby()) as feed:
            while True:
                with contextlib.suppress(TimeoutError):
                    async with asyncio.timeout(self._rng.uniform(0.5, 1.5)):
                        _note(await anext(feed), listed, since)
                now = time.monotonic()
                for race in listed.values():
                    if self._done_with.get(race.id) == race.bots_wanted:
                        continue
                    mine = any(player.id == client.player.id for player in players(race))
                    if mine or joins(self._manners, race, now - since[race.id]):
                        return race
                if self._manners.race_each_other and now > lonely_at:
                    game = self._manners.game or self._rng.choice(tuple(GAMES))
                    return await client.create_race(game, name="House bots")

    # A race

    async def _take_part(self, client: Client, socket: Socket, race: Race) -> None:
        """From joining to the end of the own play; or not, when others were faster."""
        try:
            joined = await client.join(race.id)
        except Refused:
            return
        try:
            play = await self._start(client, socket, joined)
        except BaseException:
            await _goodbye(client.leave(race.id))
            raise
        if play is None:
            await client.leave(race.id)
        else:
            await self._play(client, socket, play)

    async def _start(self, client: Client, socket: Socket, race: Race) -> Play | None:
        """The own play once the race has started; None when it is better to leave."""
        assert client.player is not None
        inside: dict[str, Player] = {}
        wanted: dict[str, int] = {}
        state, ready = "lobby", False
        with contextlib.suppress(TimeoutError):
            async with (
                asyncio.timeout(LOBBY_SECONDS),
                _watching(await socket.watch_race(race.id)) as feed,
            ):
                async for news in feed:
                    play = await own_play(client, news)
                    if play is not None:
                        return play
                    match news:
                        case Race():
                            inside = {player.id: player for player in players(news)}
                            wanted, state = dict(news.bots_wanted), news.state
                        case RaceEvent(type="entrant-joined", player=Player() as player):
                            inside[player.id] = player
                        case RaceEvent(type="entrant-left", player=str(player_id)):
                            inside.pop(player_id, None)
                        case RaceEvent(type="bots-asked", level=level, count=count):
                            wanted[level] = count
                        case RaceEvent(type="countdown"):
                            state = "countdown"
                    if client.player.id not in inside:
                        continue
                    if state == "lobby" and not stays(
                        self._manners, inside.values(), wanted, client.player.id
                    ):
                        return None
                    if not ready:
                        ready = True
                        await asyncio.sleep(
                            min(self._order.pace, 1.0) * self._rng.uniform(0.5, 1.5)
                        )
                        with contextlib.suppress(Refused):  # it may have begun meanwhile
                            await client.ready(race.id)
        return None

    async def _play(self, client: Client, socket: Socket, play: Play) -> None:
        assert client.player is not None
        self._say(f"{client.player.name} plays {play.game} in race {play.race}")
        thought = mind(self._manners.level, play.game, self._rng)

        async def decide(board: Board, legal: tuple[str, ...]) -> str:
            if len(legal) == 1:
                return thought.choose(board, legal)
            async with self._thinking:
                return await asyncio.to_thread(thought.choose, board, legal)

        try:
            done = await play_out(
                client,
                socket,
                play,
                decide,
                pause=lambda: self._order.pace * self._rng.uniform(0.4, 1.6),
            )
        except asyncio.CancelledError:
            await _goodbye(client.resign(play.id))  # nobody is to wait for who does not come back
            raise
        self._say(f"{client.player.name}: {done.status}, {done.score} of {done.goal}")


@contextlib.asynccontextmanager
async def _watching(feed: Feed[T]) -> AsyncIterator[Feed[T]]:
    try:
        yield feed
    finally:
        await feed.close()


async def _goodbye(last: Awaitable[object]) -> None:
    with contextlib.suppress(Refused, Lost, TimeoutError):
        async with asyncio.timeout(GOODBYE_SECONDS):
            await last


def _note(news: LobbyNews, listed: dict[str, Race], since: dict[str, float]) -> None:
    """Keep the list as it now is, and since when each race is on it."""
    told: tuple[Race, ...] = ()
    gone: set[str] = set()
    match news:
        case RaceList(races):
            told, gone = races, listed.keys() - {race.id for race in races}
        case Race():
            told = (news,)
        case RaceRemoved(race_id):
            gone = {race_id}
    for key in gone:
        listed.pop(key, None)
        since.pop(key, None)
    for race in told:
        listed[race.id] = race
        since.setdefault(race.id, time.monotonic())
