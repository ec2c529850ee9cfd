"""Races: what entrants ask for and what is owed, appended to the race's log as whole blocks."""

import asyncio
import random
from collections.abc import Awaitable, Callable, Iterator, Sequence

from service.contest import events as e
from service.contest.play import TIMEOUT_GRACE_MS, Ranking
from service.contest.player import Player
from service.contest.race import NOTHING, Due, Ended, Race, fold
from service.contest.race_header import Deals, RaceHeader
from service.live.bus import Bus
from service.referee.blocks import block
from service.referee.closing import close
from service.referee.making import make
from service.referee.news import tell
from service.referee.plays import Plays
from service.rules import RULES_VERSION, game_named
from service.storage import exposures, plays, races, seats
from service.storage.certificates import Drawn
from service.storage.database import Connection, Database, OutcomeUnknown, Unavailable
from service.storage.deals import Deal
from service.storage.ids import new_id
from service.storage.journal import Conflict, Journal
from service.storage.receipts import Receipt, Reply
from service.storage.shelf import RaceShelf

PATIENCE_SECONDS = 5.0

Decide = Callable[[Race, int], Sequence[e.Event]]
Slip = tuple[Receipt, Callable[[Race], Reply]]
"""A receipt and what to write on it, in the transaction of the effect."""


class Races:
    """The referee of races."""

    def __init__(
        self,
        database: Database,
        journal: Journal,
        shelf: RaceShelf,
        plays_: Plays,
        bus: Bus,
        countdown_ms: int,
        on_due: Callable[[str, int], None],
    ) -> None:
        """`on_due` is told when a race next wants something of time (epoch ms)."""
        self._database = database
        self._journal = journal
        self._shelf = shelf
        self._plays = plays_
        self._bus = bus
        self._countdown_ms = countdown_ms
        self._on_due = on_due
        self._queues: dict[str, _Queue] = {}
        self._settling: dict[str, bool] = {}

    async def create_live(
        self,
        maker: Player,
        game: str,
        *,
        name: str | None,
        capacity: int,
        time_limit_ms: int,
        ranking: Ranking,
        rated: bool,
        listed: bool,
        deals: Deals = "winnable",
        slip: Slip | None = None,
        parent: str | None = None,
        unless: Callable[[Connection], Awaitable[None]] | None = None,
    ) -> Race:
        """A lobby with its maker as host and first entrant.

        `unless` comes first in the same transaction; when it raises, nothing is made. Raises
        `UnknownGame`, and `HasRematch` with a `parent` that has one.
        """
        rules = game_named(game)
        now = self._database.clock.now()

        def header(drawn: Drawn) -> RaceHeader:
            return RaceHeader(
                id=new_id(now),
                game=rules.name,
                kind="live",
                name=name,
                creator=maker,
                deal_version=drawn.deal.deal_version,
                commitment=drawn.deal.commitment,
                deals=deals,
                certified=drawn.certified,
                rules_version=RULES_VERSION,
                ranking=ranking,
                capacity=capacity,
                time_limit_ms=time_limit_ms,
                rated=rated,
                listed=listed,
                created_at=now,
                parent=parent,
            )

        async def work(connection: Connection) -> Race:
            if unless is not None:
                await unless(connection)
            first = (e.Created(), e.EntrantJoined(maker))
            race = await make(
                self._database,
                self._journal,
                connection,
                rules.name,
                header,
                first,
                deals=deals,
            )
            if slip is not None:
                await slip[0].fill(connection, slip[1](race))
            return race

        race = await self._database.transact(work)
        self.announce(self._shelf.take(race, ()))
        return race

    async def join(self, race_id: str, player: Player, slip: Slip | None = None) -> Race:
        """Raises `NotFound`, `RaceFull`, `RaceStarted`, `RaceOver`, `WrongKind`, `Unavailable`."""
        return await self._command(race_id, lambda race, _now: race.join(player), slip)

    async def leave(self, race_id: str, player: str) -> Race:
        """Raises `NotFound`, `NotEntrant`, `RaceStarted`, `RaceOver`, `WrongKind`."""
        seed = await self._seed(race_id)
        return await self._command(
            race_id, lambda race, now: race.leave(player, seed, now, self._countdown_ms)
        )

    async def ready(self, race_id: str, player: str, ready: bool) -> Race:
        """Raises `NotFound`, `NotEntrant`, `RaceStarted`, `RaceOver`, `WrongKind`."""
        return await self._command(
            race_id, lambda race, now: race.ready(player, ready, now, self._countdown_ms)
        )

    async def start(self, race_id: str, player: str, slip: Slip | None = None) -> Race:
        """Raises `NotFound`, `NotHost`, `RaceStarted`, `RaceOver`, `WrongKind`."""
        return await self._command(
            race_id, lambda race, now: race.start(player, now, self._countdown_ms), slip
        )

    async def ask_bots(
        self, race_id: str, player: str, level: e.BotLevel, count: int, slip: Slip | None = None
    ) -> Race:
        """Raises `NotFound`, `NotHost`, `RaceFull`, `RaceStarted`, `RaceOver`, `WrongKind`."""
        return await self._command(
            race_id, lambda race, _now: race.ask_bots(player, level, count), slip
        )

    async def cancel(self, race_id: str, player: str, slip: Slip | None = None) -> Race:
        """Raises `NotFound`, `NotHost`, `RaceStarted`, `RaceOver`."""
        seed = await self._seed(race_id)
        return await self._command(race_id, lambda race, _now: race.cancel(player, seed), slip)

    async def settle(self, race_id: str) -> None:
        """Carry out whatever is owed in a race; by whom first, the log decides.

        One at a time a race and process: whoever asks meanwhile makes it look once more.
        """
        if race_id in self._settling:
            self._settling[race_id] = True
            return
        self._settling[race_id] = True
        try:
            while self._settling[race_id]:
                self._settling[race_id] = False
                await self._settle(race_id)
        finally:
            del self._settling[race_id]

    async def _settle(self, race_id: str) -> None:
        deal = await self._deal(race_id)
        while True:
            race = await self._shelf.at_head(race_id)
            now = self._database.clock.now()
            if race.state == "running" and race.header.kind == "open":
                due = await self._due_open(race, now, deal.seed)
            else:
                endings: dict[str, Ended | None] = {}
                if race.state == "running":
                    async with self._database.read() as connection:
                        endings = await plays.endings(connection, race_id)
                due = race.due(endings, now, deal.seed, _ids(now))
            if due == NOTHING:
                if race.header.kind == "live":
                    self._remember(race)
                return
            if due.timeouts:
                await asyncio.gather(*(self._plays.time_out(play) for play in due.timeouts))
            if due.events:
                try:
                    await self._append(race, due.events, now, deal)
                except (Conflict, OutcomeUnknown):
                    await asyncio.sleep(random.uniform(0, 0.02))

    async def _due_open(self, race: Race, now: int, seed: str) -> Due:
        """What is owed in a running open race; past its closing it waits for the last play."""
        race_id = race.header.id
        if race.next_due is not None and now < race.next_due:
            self._remember(race)
            return NOTHING
        async with self._database.read() as connection:
            total, going = await plays.counts(connection, race_id)
            last = await plays.last_deadline(connection, race_id)
        if last is not None:
            again = max(now, last) + TIMEOUT_GRACE_MS
            await self._database.transact(lambda own: races.postpone(own, race_id, again))
            self._on_due(race_id, again)
        return race.due_open(total, going, now, seed)

    async def _command(self, race_id: str, decide: Decide, slip: Slip | None = None) -> Race:
        """Decide and append, again and again until nobody was faster and the outcome is known.

        Commands to one race queue within a process. Raises `Unavailable` after five seconds.
        """
        queue = self._queues.setdefault(race_id, _Queue())
        queue.waiting += 1
        try:
            async with asyncio.timeout(PATIENCE_SECONDS), queue.lock:
                while True:
                    race = await self._shelf.at_head(race_id)
                    now = self._database.clock.now()
                    events = decide(race, now)
                    try:
                        return await self._append(race, events, now, None, slip)
                    except (Conflict, OutcomeUnknown):
                        await asyncio.sleep(random.uniform(0, 0.05))
        except TimeoutError:
            raise Unavailable from None
        finally:
            queue.waiting -= 1
            if not queue.waiting:
                self._queues.pop(race_id, None)

    async def _append(
        self,
        race: Race,
        events: Sequence[e.Event],
        now: int,
        deal: Deal | None,
        slip: Slip | None = None,
    ) -> Race:
        """The race after one more block, committed. Raises `Conflict`."""
        if not events and slip is None:
            return race
        log = block(race, events, now)
        after = fold(race, log)

        async def work(connection: Connection) -> None:
            if after.state == "ended" and race.header.kind == "open":
                await _nobody_plays(connection, after)
            if log:
                await self._journal.append_events(connection, race.header.id, log)
                await races.follow(connection, after)
                await seats.follow(connection, race.header.id, events)
            for event in events:
                if isinstance(event, e.Started) and deal is not None:
                    await _open_plays(connection, after, event, deal)
                elif isinstance(event, e.RaceEnded):
                    await close(connection, after, now)
            if slip is not None:
                await slip[0].fill(connection, slip[1](after))

        await self._database.transact(work)
        after = self._shelf.take(after, ())
        self.announce(after, events)
        return after

    def announce(self, race: Race, events: Sequence[e.Event] = (e.Created(),)) -> None:
        """Wake whoever watches a race that has just changed, and see to what it will be owed."""
        tell(self._bus, race, events)
        self._remember(race)

    def _remember(self, race: Race) -> None:
        if race.next_due is not None:
            self._on_due(race.header.id, race.next_due)

    async def _deal(self, race_id: str) -> Deal:
        await self._shelf.at_head(race_id)  # NotFound, before the join finds nothing
        async with self._database.read() as connection:
            return await races.deal_of(connection, race_id)

    async def _seed(self, race_id: str) -> str:
        return (await self._deal(race_id)).seed


class _Queue:
    """Those who wait for their turn at one race."""

    def __init__(self) -> None:
        self.lock = asyncio.Lock()
        self.waiting = 0


def _ids(now: int) -> Iterator[str]:
    while True:
        yield new_id(now)


async def _nobody_plays(connection: Connection, race: Race) -> None:
    """Hold an ended open race against entrants. Raises `Conflict` if one has come or still plays."""
    await races.lock(connection, race.header.id, shared=False)
    if await plays.counts(connection, race.header.id) != (race.total, 0):
        raise Conflict


async def _open_plays(connection: Connection, race: Race, started: e.Started, deal: Deal) -> None:
    """The plays of a live race, in the very transaction that logs `started`."""
    headers = [
        plays.header_of(
            play_id,
            deal,
            race.entrants[player].player,
            rules_version=race.header.rules_version,
            race=race.header.id,
            started_at=started.starts_at,
            deadline_at=started.starts_at + race.header.time_limit_ms,
            ranking=race.header.ranking,
        )
        for player, play_id in started.plays.items()
    ]
    await plays.create(connection, deal.id, headers)
    await exposures.played(connection, list(started.plays), deal.id, race.at)
