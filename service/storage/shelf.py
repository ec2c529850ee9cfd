"""Plays and races as they stand, kept in memory as long as there is room.

A shelf is a cache over the journal and may be dropped at any time. What it holds is a prefix of
the log; only a log entry that follows ever moves it on.
"""

import asyncio
import uuid
from collections import OrderedDict
from collections.abc import Iterable

from service.contest.events import Logged
from service.contest.play import Entry, Header, Play, begin
from service.contest.race import Race, fold
from service.storage import plays, races
from service.storage.database import Database
from service.storage.ids import is_id
from service.storage.journal import Journal, play_key

PLAYS = 5_000
RACES = 2_000


class NotFound(LookupError):
    """There is nothing of that id."""


class Seat:
    """A play at some ply, and who is at work on it.

    `ids` gives the ply of every move id in the log so far. Whoever appends holds `lock`.
    """

    __slots__ = ("header", "ids", "key", "lock", "play", "tokens", "tokens_at")

    def __init__(self, header: Header) -> None:
        self.header = header
        self.key: uuid.UUID = play_key(header.id)
        self.play: Play = begin(header)
        self.ids: dict[str, int] = {}
        self.lock = asyncio.Lock()
        self.tokens = 0.0
        self.tokens_at: int | None = None

    def seized(self) -> bool:
        """Take `lock` if it is free and nobody waits for it; whoever does so releases it."""
        taking = self.lock.acquire()  # which waits for nothing then, and so returns at once
        try:
            taking.send(None)
        except StopIteration:
            return True
        taking.close()
        return False

    def take(self, entries: Iterable[Entry]) -> None:
        """Follow the log; entries already followed are passed over."""
        for entry in entries:
            if entry.ply == self.play.ply + 1:
                self.advance(self.play.after(entry.move, entry.at_ms)[0], entry)

    def advance(self, play: Play, entry: Entry) -> None:
        """Take over the play after an entry that is in the log."""
        self.play = play
        self.ids[entry.id] = entry.ply


class PlayShelf:
    """The plays that this process has lately had to do with."""

    def __init__(self, database: Database, journal: Journal) -> None:
        self._database = database
        self._journal = journal
        self._seats: OrderedDict[str, Seat] = OrderedDict()
        self._loading: dict[str, asyncio.Future[Seat]] = {}

    def cached(self, play_id: str) -> Seat | None:
        """The seat as this process last knew it, perhaps behind its log."""
        seat = self._seats.get(play_id)
        if seat is not None:
            self._seats.move_to_end(play_id)
        return seat

    async def seat(self, play_id: str) -> Seat:
        """The seat, loaded if need be, perhaps behind its log. Raises `NotFound`."""
        seat = self.cached(play_id)
        if seat is not None:
            return seat
        loading = self._loading.get(play_id)
        if loading is None:
            loading = asyncio.ensure_future(self._load(play_id))
            self._loading[play_id] = loading
            loading.add_done_callback(lambda _done: self._loading.pop(play_id, None))
        return await asyncio.shield(loading)

    async def at_head(self, play_id: str) -> Seat:
        """The seat with the tail of its log loaded just now. Raises `NotFound`."""
        seat = await self.seat(play_id)
        await self.refresh(seat)
        return seat

    async def moves_of(self, play_id: str) -> tuple[str, ...]:
        """The texts of a play's whole log."""
        return tuple(entry.move for entry in await self._journal.all_entries(play_id))

    async def at_heads(self, play_ids: Iterable[str]) -> list[Seat]:
        """The same for many: only logs that have grown are read. Raises `NotFound`."""
        seats = [await self.seat(play_id) for play_id in play_ids]
        heads = await self._journal.last_entries(seat.header.id for seat in seats)
        for seat in seats:
            if seat.play.ply < heads.get(seat.header.id, (0, 0))[0]:
                await self.refresh(seat)
        return seats

    async def refresh(self, seat: Seat) -> None:
        """Load the tail of a seat's log."""
        seat.take(await self._journal.all_entries(seat.header.id, seat.play.ply))

    def put(self, seat: Seat) -> None:
        """Keep a seat, and let go of those not used for longest."""
        self._seats[seat.header.id] = seat
        while len(self._seats) > PLAYS:
            self._seats.popitem(last=False)

    def drop(self, play_id: str) -> None:
        """Forget a play."""
        self._seats.pop(play_id, None)

    async def _load(self, play_id: str) -> Seat:
        if not is_id(play_id):
            raise NotFound
        async with self._database.read() as connection:
            row = await plays.load(connection, play_id)
        if row is None:
            raise NotFound
        seat = Seat(row.header)
        await self.refresh(seat)
        # Two loads of one play must not make two locks.
        kept = self._seats.setdefault(play_id, seat)
        self.put(kept)
        return kept


class RaceShelf:
    """The races that this process has lately had to do with."""

    def __init__(self, database: Database, journal: Journal) -> None:
        self._database = database
        self._journal = journal
        self._races: OrderedDict[str, Race] = OrderedDict()

    async def at_head(self, race_id: str) -> Race:
        """The race with the tail of its log loaded just now. Raises `NotFound`."""
        race = self._races.get(race_id)
        if race is None:
            if not is_id(race_id):
                raise NotFound
            async with self._database.read() as connection:
                header = await races.load(connection, race_id)
            if header is None:
                raise NotFound
            race = Race(header)
        return self.take(race, await self._journal.events(race_id, race.v))

    def take(self, race: Race, tail: Iterable[Logged]) -> Race:
        """The race after more of its log; kept unless a later version is known."""
        race = fold(race, tail)
        known = self._races.get(race.header.id)
        if known is not None and known.v > race.v:
            race = known
        self._races[race.header.id] = race
        self._races.move_to_end(race.header.id)
        while len(self._races) > RACES:
            self._races.popitem(last=False)
        return race
