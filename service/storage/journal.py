"""The journal: the only module that touches the two log tables.

Whoever inserts number n of a log first has done it; the key is the lock. Moves are committed in
groups: one writer takes whatever waits, at most one entry a play, in one autocommitted statement.
Race events are appended in blocks, whole or not at all, inside their command's transaction.
"""

import asyncio
import contextlib
import uuid
from collections import deque
from collections.abc import Iterable, Mapping, Sequence

import msgspec
from sqlalchemy import bindparam, func, insert, select
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from service.contest.events import Event, Logged, Unknown
from service.contest.play import Entry, Play
from service.contest.ranking import merit_of
from service.storage.database import Database, OutcomeUnknown, Unavailable
from service.storage.ids import id_bytes
from service.storage.move_store import End, MoveStore, Waiting
from service.storage.moves_postgres import PostgresMoves
from service.storage.moves_sqlite import SqliteMoves
from service.storage.tables import moves, race_events

GROUP = 256
PAGE = 500

_ENTRIES = (
    select(moves.c.ply, moves.c.move, moves.c.at_ms, moves.c.move_id, moves.c.score)
    .where(moves.c.play_id == bindparam("play"), moves.c.ply > bindparam("after"))
    .order_by(moves.c.ply)
    .limit(bindparam("limit"))
)

_encode_event = msgspec.json.Encoder().encode
_decode_event: msgspec.json.Decoder[Event] = msgspec.json.Decoder(Event)


class Conflict(Exception):
    """Somebody else took this number of the log first: load the tail and decide again."""


def end_of(play: Play) -> End:
    """What the plays table is told of a play."""
    return End(
        play.status,
        play.score,
        play.score_ms,
        play.score_plies,
        play.moves > 0,
        play.undone,
        play.ended_at,
        merit_of(play),
    )


class Journal:
    """The logs of one process's database."""

    def __init__(self, database: Database) -> None:
        self._database = database
        self._store: MoveStore = (
            SqliteMoves(database) if database.dialect == "sqlite" else PostgresMoves(database.url)
        )
        self._waiting: deque[Waiting] = deque()
        self._closed = False
        self._wake = asyncio.Event()
        self._idle = asyncio.Event()
        self._idle.set()
        self._loop: asyncio.AbstractEventLoop
        self._writer: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Begin to write."""
        self._loop = asyncio.get_running_loop()  # once: each time, it asks the system
        self._writer = asyncio.create_task(self._write(), name="journal")

    async def drain(self, patience: float = 3.0) -> None:
        """Wait until nothing waits or is under way, for `patience` seconds at most."""
        # Not by their futures: of an entry whose waiter has gone, the future is done already.
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._idle.wait(), patience)

    async def stop(self, patience: float = 3.0) -> None:
        """Write what waits, for `patience` seconds at most, then close. Takes nothing more."""
        self._closed = True
        if self._writer is not None:
            # Not by their futures: of an entry whose waiter has gone, the future is done already.
            self._wake.set()
            await asyncio.wait([self._writer], timeout=patience)
            self._writer.cancel()
            await asyncio.gather(self._writer, return_exceptions=True)
        while self._waiting:
            _fail(self._waiting.popleft(), Unavailable())
        await self._store.stop()

    # Plays

    def append(
        self, play_id: uuid.UUID, entry: Entry, end: End | None = None
    ) -> "asyncio.Future[bool]":
        """Whether the entry is durably stored; False: its ply was taken. One a play at a time.

        The future raises `Unavailable` (not stored) or `OutcomeUnknown` (read it back).
        """
        done = self._loop.create_future()
        if self._closed:
            done.set_exception(Unavailable())
            return done
        self._waiting.append(Waiting(play_id, entry, end, done))
        self._idle.clear()
        self._wake.set()
        return done

    async def entries(self, play_id: str, after: int = 0, limit: int = PAGE) -> list[Entry]:
        """Up to `limit` entries of a play's log after a ply. Raises `Unavailable`."""
        asked = {"play": play_id, "after": after, "limit": limit}
        async with self._database.read() as connection:
            return [Entry(*row) for row in await connection.execute(_ENTRIES, asked)]

    async def all_entries(self, play_id: str, after: int = 0) -> list[Entry]:
        """The rest of a play's log after a ply, however long. Raises `Unavailable`."""
        everything: list[Entry] = []
        while True:
            page = await self.entries(play_id, after)
            everything.extend(page)
            if len(page) < PAGE:
                return everything
            after = page[-1].ply

    async def last_entries(self, play_ids: Iterable[str]) -> dict[str, tuple[int, int]]:
        """The head of each play's log as (ply, score); plays without an entry are left out."""
        ids = list(play_ids)
        if not ids:
            return {}
        heads = (
            select(moves.c.play_id, func.max(moves.c.ply).label("ply"))
            .where(moves.c.play_id.in_(ids))
            .group_by(moves.c.play_id)
            .subquery()
        )
        query = select(moves.c.play_id, moves.c.ply, moves.c.score).join(
            heads, (heads.c.play_id == moves.c.play_id) & (heads.c.ply == moves.c.ply)
        )
        async with self._database.read() as connection:
            return {row.play_id: (row.ply, row.score) for row in await connection.execute(query)}

    # Races

    async def append_events(
        self, connection: AsyncConnection, race_id: str, block: Sequence[Logged]
    ) -> None:
        """Append one consecutive block inside the command's transaction. Raises `Conflict`."""
        rows = [
            {
                "race_id": race_id,
                "v": logged.v,
                "at": logged.at,
                "data": _encode_event(logged.event).decode(),
            }
            for logged in block
        ]
        try:
            await connection.execute(insert(race_events), rows)
        except IntegrityError:
            raise Conflict from None

    async def events(
        self,
        race_id: str,
        after: int = 0,
        limit: int | None = None,
        connection: AsyncConnection | None = None,
    ) -> list[Logged]:
        """A race's log after a version. Raises `Unavailable`."""
        query = (
            select(race_events.c.v, race_events.c.at, race_events.c.data)
            .where(race_events.c.race_id == race_id, race_events.c.v > after)
            .order_by(race_events.c.v)
            .limit(limit)
        )
        if connection is not None:
            rows = (await connection.execute(query)).all()
        else:
            async with self._database.read() as own:
                rows = (await own.execute(query)).all()
        return [Logged(row.v, row.at, _event(row.data)) for row in rows]

    async def race_heads(self, race_ids: Iterable[str]) -> Mapping[str, int]:
        """The version of each race's log; races without a log are left out."""
        ids = list(race_ids)
        if not ids:
            return {}
        query = (
            select(race_events.c.race_id, func.max(race_events.c.v).label("v"))
            .where(race_events.c.race_id.in_(ids))
            .group_by(race_events.c.race_id)
        )
        async with self._database.read() as connection:
            return {row.race_id: row.v for row in await connection.execute(query)}

    # The writer

    async def _write(self) -> None:
        while not self._closed:
            await self._wake.wait()
            self._wake.clear()
            while self._waiting:
                group = self._take()
                try:
                    await self._insert(group)
                except BaseException:
                    for item in group:
                        _fail(item, OutcomeUnknown())
                    raise
            self._idle.set()

    def _take(self) -> list[Waiting]:
        """Up to `GROUP` entries, one a play, sorted by play so that groups cannot deadlock."""
        group: dict[int, Waiting] = {}  # of numbers: keys themselves are slow to hash and compare
        later: list[Waiting] = []
        while self._waiting and len(group) < GROUP:
            item = self._waiting.popleft()
            if item.play_id.int in group:
                later.append(item)
            else:
                group[item.play_id.int] = item
        self._waiting.extendleft(reversed(later))
        return [group[key] for key in sorted(group)]

    async def _insert(self, group: Sequence[Waiting]) -> None:
        try:
            logged = await self._store.insert(group)
        except (Unavailable, OutcomeUnknown) as error:
            for item in group:
                _fail(item, type(error)())
        except Exception as error:
            # A fault of one entry must not cost its neighbours theirs.
            if len(group) == 1:
                _fail(group[0], error)
                return
            middle = len(group) // 2
            await self._insert(group[:middle])
            await self._insert(group[middle:])
        else:
            whole = len(logged) == len(group)
            for item in group:
                if not item.done.done():
                    item.done.set_result(whole or item.play_id in logged)


def _event(data: str) -> Event:
    try:
        return _decode_event.decode(data)
    except msgspec.ValidationError:
        return Unknown()  # a later release has written it


def _fail(item: Waiting, error: Exception) -> None:
    if not item.done.done():
        item.done.set_exception(error)


def play_key(play_id: str) -> uuid.UUID:
    """The log key of a play's id."""
    return uuid.UUID(bytes=id_bytes(play_id))
