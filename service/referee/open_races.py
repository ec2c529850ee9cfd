"""Open races and dailies: made, entered once by each player, ended when nobody plays any more."""

from collections.abc import Callable

from service.contest import events as e
from service.contest.play import Play, Ranking, begin
from service.contest.player import Player
from service.contest.race import Race
from service.contest.race_header import Deals, RaceHeader
from service.contest.refusals import RaceFull, RaceOver
from service.contest.season import DAY_MS, day_of, day_start
from service.live.bus import Bus
from service.referee.making import make
from service.referee.news import tell_entered
from service.referee.races import Races
from service.rules import GAMES, RULES_VERSION, game_named
from service.storage import exposures, plays, races
from service.storage.certificates import Drawn
from service.storage.database import Connection, Database
from service.storage.ids import new_id
from service.storage.journal import Conflict, Journal
from service.storage.receipts import Receipt, Reply
from service.storage.shelf import NotFound, PlayShelf, RaceShelf, Seat

UNLIMITED = 1_000_000
DAILY_LIMIT_MS = 900_000

Entered = tuple[Play, bool]
PlaySlip = tuple[Receipt, Callable[[Entered], Reply]]


class OpenRaces:
    """The referee of open races."""

    def __init__(
        self,
        database: Database,
        journal: Journal,
        play_shelf: PlayShelf,
        race_shelf: RaceShelf,
        races_: Races,
        bus: Bus,
    ) -> None:
        self._database = database
        self._journal = journal
        self._plays = play_shelf
        self._shelf = race_shelf
        self._races = races_
        self._bus = bus
        self._dailies: dict[str, str] = {}

    async def create(
        self,
        maker: Player | None,
        game: str,
        *,
        name: str | None,
        capacity: int,
        time_limit_ms: int,
        ranking: Ranking | None,
        listed: bool,
        deals: Deals = "winnable",
        opens_at: int,
        closes_at: int,
        daily: str | None = None,
        slip: "tuple[Receipt, Callable[[Race], Reply]] | None" = None,
    ) -> Race:
        """An open race; it begins to take entrants at `opens_at` (epoch ms).

        Raises `UnknownGame`, and `Conflict` when the date has its daily already.
        """
        rules = game_named(game)
        now = self._database.clock.now()

        def header(drawn: Drawn) -> RaceHeader:
            return RaceHeader(
                id=new_id(now),
                game=rules.name,
                kind="open",
                name=name,
                creator=maker,
                deal_version=drawn.deal.deal_version,
                commitment=drawn.deal.commitment,
                deals=deals,
                certified=drawn.certified,
                rules_version=RULES_VERSION,
                ranking=ranking or rules.ranking,
                capacity=capacity,
                time_limit_ms=time_limit_ms,
                rated=False,
                listed=listed,
                created_at=now,
                opens_at=opens_at,
                closes_at=closes_at,
                daily=daily,
            )

        async def work(connection: Connection) -> Race:
            first = (e.Created(), e.Opened()) if now >= opens_at else (e.Created(),)
            race = await make(
                self._database,
                self._journal,
                connection,
                rules.name,
                header,
                first,
                deals=deals,
            )
            if daily is not None:
                await races.add_daily(connection, rules.name, daily, race.header.id)
            if slip is not None:
                await slip[0].fill(connection, slip[1](race))
            return race

        race = await self._database.transact(work)
        self._races.announce(self._shelf.take(race, ()))
        return race

    async def daily(self, game: str, day: str | None = None) -> str:
        """The id of a game's daily: today's is made when it is missing, no other ever is.

        Raises `UnknownGame`, and `NotFound` for a day without one, tomorrow above all.
        """
        rules = game_named(game)
        today = day_of(self._database.clock.now())
        day = today if day is None else day
        if day > today:
            raise NotFound
        while True:
            async with self._database.read() as connection:
                found = await races.daily(connection, rules.name, day)
            if found is not None:
                return found
            if day != today:
                raise NotFound
            opens_at = day_start(day)
            try:
                race = await self.create(
                    None,
                    rules.name,
                    name=f"Daily {day}",
                    capacity=UNLIMITED,
                    time_limit_ms=DAILY_LIMIT_MS,
                    ranking=None,
                    listed=True,
                    opens_at=opens_at,
                    closes_at=opens_at + DAY_MS,
                    daily=day,
                )
            except Conflict:
                continue
            return race.header.id

    async def make_dailies(self, now: int) -> None:
        """Today's dailies, by whichever process is first; cheap when they are there."""
        day = day_of(now)
        for game in GAMES:
            if self._dailies.get(game) != day:
                await self.daily(game)
                self._dailies[game] = day

    async def enter(
        self, player: Player, race_id: str, now: int, slip: PlaySlip | None = None
    ) -> Entered:
        """The player's one play in an open race, and whether it has just begun.

        `now` is when the request was read (epoch ms). Raises `NotFound`, `WrongKind`,
        `RaceNotOpen`, `RaceOver`, `RaceFull`.
        """
        race = await self._shelf.at_head(race_id)
        if race.header.kind == "open":
            async with self._database.read() as connection:
                known = await plays.of_player_in(connection, race_id, player.id)
            if known is not None:
                entered = (await self._plays.at_head(known)).play, False
                if slip is not None:
                    receipt, told = slip[0], slip[1](entered)
                    await self._database.transact(lambda own: receipt.fill(own, told))
                return entered
        race.enter(now)
        while race.state == "scheduled":
            # Another may be at it just now: then this only asks for one more look.
            await self._races.settle(race_id)
            race = await self._shelf.at_head(race_id)

        async def work(connection: Connection) -> Play | None:
            small = race.header.capacity < UNLIMITED
            if await races.lock(connection, race_id, shared=not small) != "running":
                raise RaceOver
            known = await plays.of_player_in(connection, race_id, player.id)
            if known is not None:
                return None
            if small and (await plays.counts(connection, race_id))[0] >= race.header.capacity:
                raise RaceFull
            deal = await races.deal_of(connection, race_id)
            header = plays.header_of(
                new_id(now),
                deal,
                player,
                rules_version=race.header.rules_version,
                race=race_id,
                started_at=now,
                deadline_at=now + race.header.time_limit_ms,
                ranking=race.header.ranking,
            )
            if not await plays.create_once(connection, deal.id, header):
                return None
            await exposures.played(connection, [player.id], deal.id, now)
            play = begin(header)
            if slip is not None:
                await slip[0].fill(connection, slip[1]((play, True)))
            return play

        play = await self._database.transact(work)
        if play is None:
            return await self.enter(player, race_id, now, slip)
        self._plays.put(Seat(play.header))
        tell_entered(self._bus, race, player.id)
        return play, True
