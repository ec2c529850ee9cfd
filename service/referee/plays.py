"""Moves, resignations and timeouts: decided from the fold, true once they are in the log."""

import asyncio
import secrets
from collections.abc import Callable
from functools import partial
from typing import NamedTuple

import msgspec

from service.contest.play import RESIGN, TIMEOUT, UNDO, Delta, Entry, Play, PlayOver, begin, replay
from service.contest.player import Player
from service.live.bus import Bus, Wake
from service.referee.ration import TooFast, take_ration
from service.rules import RULES_VERSION, IllegalMove, game_named
from service.storage import deals, exposures, plays
from service.storage.database import Connection, Database, OutcomeUnknown, Unavailable
from service.storage.ids import new_id
from service.storage.journal import Journal, end_of
from service.storage.receipts import Receipt, Reply
from service.storage.shelf import PlayShelf, Seat

READ_BACK_SECONDS = (0.05, 0.2, 0.5, 1.0, 2.0, 3.0)


class NotYourPlay(Exception):
    """Only its player moves in a play."""


class PlyConflict(Exception):
    """The ply is not the next; `ply` is the present one."""

    def __init__(self, ply: int) -> None:
        super().__init__(f"the play is at ply {ply}")
        self.ply = ply


class IdReused(Exception):
    """The id names another move of this play."""


class Answer(NamedTuple):
    """A delta that is durably stored, and the same as JSON."""

    delta: Delta
    json: bytes


class Attempt(NamedTuple):
    """An entry on its way into the log, and what it makes of a play."""

    before: Play
    play: Play
    delta: Delta
    entry: Entry
    logged: "asyncio.Future[bool]"


Told = Callable[[Answer | Exception], None]

_encode = msgspec.json.Encoder().encode


class Plays:
    """The referee of plays."""

    def __init__(
        self,
        database: Database,
        journal: Journal,
        shelf: PlayShelf,
        bus: Bus,
        on_end: Callable[[str], None],
    ) -> None:
        """`on_end` is told the race of every race play that has just ended."""
        self._database = database
        self._journal = journal
        self._shelf = shelf
        self._bus = bus
        self._on_end = on_end
        self._resting: set[asyncio.Future[None]] = set()

    async def practise(
        self,
        player: Player,
        game: str,
        seed: str | None,
        slip: "tuple[Receipt, Callable[[Play], Reply]] | None" = None,
    ) -> Play:
        """Begin a practice play. Raises `UnknownGame`, `BadSeed`."""
        rules = game_named(game)
        now = self._database.clock.now()

        async def work(connection: Connection) -> Play:
            deal = await deals.ensure(
                self._database, connection, rules.name, deals.fresh_seed() if seed is None else seed
            )
            first = await exposures.played(connection, [player.id], deal.id, now)
            header = plays.header_of(
                new_id(now),
                deal,
                player,
                rules_version=RULES_VERSION,
                race=None,
                started_at=now,
                deadline_at=None,
                ranking=rules.ranking,
                ranked=first == 1,
            )
            await plays.create(connection, deal.id, [header])
            play = begin(header)
            if slip is not None:
                await slip[0].fill(connection, slip[1](play))
            return play

        play = await self._database.transact(work)
        self._shelf.put(Seat(play.header))
        return play

    async def move(
        self, player: str, play_id: str, ply: int, move: str, move_id: str | None, stamp: int
    ) -> Answer:
        """The delta of a move, stored; of its first time when the id is known already.

        `stamp` is when it was read (epoch ms). Raises, in this order, `NotFound`, `NotYourPlay`,
        `IdReused`, `PlayOver`, `PlyConflict`, `IllegalMove`, and `TooFast`, `Unavailable`.
        """
        seat = self._shelf.cached(play_id) or await self._shelf.seat(play_id)
        if seat.header.player.id != player:
            raise NotYourPlay
        if move_id is None:
            move_id = _own_id()
        async with seat.lock:
            take_ration(seat, stamp)
            return await self._decide(seat, ply, move, move_id, stamp, fresh=False)

    def move_at_once(
        self, player: str, play_id: str, ply: int, move: str, move_id: str, stamp: int, told: Told
    ) -> bool:
        """The same for the usual move, without a task: the next of a play at hand and at rest.

        False: it is not that, nothing was done, and `move` has to look at it. Otherwise `told` is
        called once, later, with what `move` would have returned or raised.
        """
        seat = self._shelf.cached(play_id)
        if seat is None or seat.header.player.id != player or not seat.seized():
            return False
        attempt: Attempt | None = None
        try:
            before = seat.play
            if move_id not in seat.ids and ply == before.ply + 1:
                made = before.moved(move, before.stamped(stamp))
                take_ration(seat, stamp)
                attempt = self._begin(seat, move_id, *made)
        except (PlayOver, IllegalMove, TooFast):
            pass  # perhaps: only what is stored can say so
        finally:
            if attempt is None:
                seat.lock.release()
        if attempt is None:
            return False
        attempt.logged.add_done_callback(partial(self._landed, seat, attempt, stamp, told))
        return True

    def _landed(
        self, seat: Seat, attempt: Attempt, stamp: int, told: Told, logged: "asyncio.Future[bool]"
    ) -> None:
        if logged.exception() is None and logged.result():
            try:
                answer = self._tell(seat, attempt)
            finally:
                seat.lock.release()
            told(answer)
        else:
            rest = asyncio.ensure_future(self._rest(seat, attempt, stamp, told))
            self._resting.add(rest)
            rest.add_done_callback(self._resting.discard)

    async def _rest(self, seat: Seat, attempt: Attempt, stamp: int, told: Told) -> None:
        """What is left of a move begun at once that did not come out as usual."""
        entry = attempt.entry
        try:
            answer = await self._stored(seat, attempt)
            if answer is None:
                await self._shelf.refresh(seat)
                answer = await self._decide(
                    seat, entry.ply, entry.move, entry.id, stamp, fresh=True
                )
        except Exception as error:
            told(error)
        else:
            told(answer)
        finally:
            seat.lock.release()

    async def _decide(
        self, seat: Seat, ply: int, move: str, move_id: str, stamp: int, *, fresh: bool
    ) -> Answer:
        """`fresh`: the seat has just been read; from the cache only a success may be decided."""
        while True:
            before = seat.play
            if move_id not in seat.ids and ply == before.ply + 1:
                try:
                    made = before.moved(move, before.stamped(stamp))
                except (PlayOver, IllegalMove):
                    if fresh:
                        raise
                else:
                    answer = await self._stored(seat, self._begin(seat, move_id, *made))
                    if answer is not None:
                        return answer
            elif fresh:
                return await self._refuse(seat, ply, move, move_id, stamp)
            await self._shelf.refresh(seat)
            fresh = True

    async def resign(
        self,
        player: str,
        play_id: str,
        stamp: int,
        slip: "tuple[Receipt, Callable[[Answer], Reply]] | None" = None,
    ) -> Answer:
        """End a play; tries the next ply until the play is over. The slip is filled afterwards.

        Raises `NotFound`, `NotYourPlay`, `PlayOver`, `Unavailable`.
        """
        seat = await self._shelf.seat(play_id)
        if seat.header.player.id != player:
            raise NotYourPlay
        async with seat.lock:
            answer = await self._end(seat, RESIGN, lambda play: play.stamped(stamp))
        if slip is not None:
            receipt, reply = slip[0], slip[1](answer)
            await self._database.transact(lambda connection: receipt.fill(connection, reply))
        return answer

    async def time_out(self, play_id: str) -> None:
        """Log that a play's time is up, unless it is over. Raises `NotFound`, `Unavailable`."""
        seat = await self._shelf.seat(play_id)
        deadline = seat.header.deadline_at
        if deadline is None:
            return
        limit = deadline - seat.header.started_at
        async with seat.lock:
            try:
                await self._end(seat, TIMEOUT, lambda play: max(play.at_ms, limit))
            except PlayOver:
                return

    async def _end(self, seat: Seat, move: str, at_ms: Callable[[Play], int]) -> Answer:
        while True:
            await self._shelf.refresh(seat)
            before = seat.play
            if before.over:
                raise PlayOver
            made = before.after(move, at_ms(before))
            answer = await self._stored(seat, self._begin(seat, _own_id(), *made))
            if answer is not None:
                return answer

    def _begin(self, seat: Seat, entry_id: str, play: Play, delta: Delta) -> Attempt:
        """Hand the next entry of a play to the journal; the seat's lock is ours."""
        before = seat.play
        entry = Entry(play.ply, delta.move, play.at_ms, entry_id, play.score)
        end = end_of(play) if play.over or before.over else None
        return Attempt(before, play, delta, entry, self._journal.append(seat.key, entry, end))

    async def _stored(self, seat: Seat, attempt: Attempt) -> Answer | None:
        """The answer once the entry is in the log; None: somebody else's has its ply."""
        try:
            logged = await attempt.logged
        except OutcomeUnknown:
            logged = await self._read_back(seat, attempt.entry)
        return self._tell(seat, attempt) if logged else None

    async def _read_back(self, seat: Seat, entry: Entry) -> bool:
        """Find out whether an entry whose commit broke is in the log. Raises `OutcomeUnknown`."""
        self._shelf.drop(seat.header.id)
        for seconds in READ_BACK_SECONDS:
            await asyncio.sleep(seconds)
            try:
                found = await self._journal.entries(seat.header.id, entry.ply - 1, 1)
            except Unavailable:
                continue
            return bool(found) and found[0].id == entry.id
        raise OutcomeUnknown

    async def _refuse(self, seat: Seat, ply: int, move: str, move_id: str, stamp: int) -> Answer:
        """Say why, in the protocol's order; a known id gets its first answer again."""
        known = seat.ids.get(move_id)
        if known is not None:
            entries = await self._journal.all_entries(seat.header.id)
            if entries[known - 1].move != move:
                raise IdReused
            _play, deltas = replay(begin(seat.header), entries[:known])
            return Answer(deltas[-1], _encode(deltas[-1]))
        play = seat.play
        play.stamped(stamp)
        if play.over and not (move == UNDO and play.can_undo):
            raise PlayOver
        raise PlyConflict(play.ply)

    def _tell(self, seat: Seat, attempt: Attempt) -> Answer:
        """Follow the log, and wake whoever watches; never on the way of the answer itself."""
        before, play, delta, entry, _ = attempt
        if seat.play is before:
            seat.advance(play, entry)
        answer = Answer(delta, _encode(delta))
        header = seat.header
        kind = b"play-ended" if delta.move in (RESIGN, TIMEOUT) else b"move"
        self._bus.publish(
            Wake(f"play:{header.id}", play.ply, b'{"type":"%b",%b' % (kind, answer.json[1:]))
        )
        if header.race is not None:
            progress = {"score": play.score, "ply": play.ply, "status": play.status}
            self._bus.publish(
                Wake(f"progress:{header.race}", play.ply, _encode({header.player.id: progress}))
            )
            if play.over:
                self._on_end(header.race)
        return answer

    def ply_of(self, player: str | None, play_id: str) -> int | None:
        """The ply of a player's own play as far as this process knows."""
        seat = self._shelf.cached(play_id)
        return seat.play.ply if seat is not None and seat.header.player.id == player else None


def _own_id() -> str:
    """An id for an entry whose sender gave none; no client can send a space."""
    return f"own {secrets.token_urlsafe(9)}"
