"""Ways into a lobby without knowing one: the rematch of a race, and the quick race."""

import asyncio
from collections.abc import Callable
from typing import NamedTuple

from service.contest.player import Player
from service.contest.race import Race
from service.contest.race_header import Settings
from service.contest.refusals import RaceFull, RaceOver, RaceStarted
from service.live.bus import Bus
from service.referee import races
from service.referee.news import tell_rematch
from service.referee.races import PATIENCE_SECONDS, Races
from service.rules import game_named
from service.storage import races as stored
from service.storage import seats
from service.storage.database import Connection, Database, Unavailable
from service.storage.races import HasRematch
from service.storage.receipts import Receipt, Reply
from service.storage.shelf import RaceShelf


class Entered(NamedTuple):
    """A lobby that the player is now in, and whether it was made for that."""

    race: Race
    made: bool


Slip = tuple[Receipt, Callable[[Entered], Reply]]


class _SomebodyWaits(Exception):
    """There is a lobby with room after all."""


class Lobbies:
    """The referee of who gets into which lobby."""

    def __init__(self, database: Database, shelf: RaceShelf, races_: Races, bus: Bus) -> None:
        self._database = database
        self._shelf = shelf
        self._races = races_
        self._bus = bus
        self._turns: dict[str, asyncio.Lock] = {}

    async def rematch(self, race_id: str, player: Player, slip: Slip | None = None) -> Entered:
        """The next race of the same settings: whoever asks first makes it, the others join.

        Raises `NotFound`, `WrongKind`, `NotEntrant`, `RaceNotEnded`, and as `Races.join`.
        """
        race = await self._shelf.at_head(race_id)
        settings = race.rematch(player.id)
        while True:
            async with self._database.read() as connection:
                found = await stored.rematch_of(connection, race_id)
            if found is not None:
                joined = await self._races.join(found, player, _plain(slip, made=False))
                return Entered(joined, False)
            try:
                made = await self._races.create_live(
                    player,
                    **settings._asdict(),
                    slip=_plain(slip, made=True),
                    parent=race_id,
                    unless=lambda connection: stored.disown(connection, race_id),
                )
            except HasRematch:
                continue
            tell_rematch(self._bus, race, made)
            return Entered(made, True)

    async def quick(self, player: Player, settings: Settings, slip: Slip | None = None) -> Entered:
        """A listed lobby of these settings: one that the player is in, else the one that has
        waited longest with room and that the player has not left, else a new one.

        Callers in one process take turns, so that many of them fill lobbies; of several
        processes one makes the next lobby. Raises `UnknownGame`, `Unavailable`.
        """
        game = game_named(settings.game).name
        turn = self._turns.setdefault(game, asyncio.Lock())
        try:
            async with asyncio.timeout(PATIENCE_SECONDS), turn:
                while True:
                    entered = await self._into_one(player, settings, slip)
                    if entered is not None:
                        return entered
                    try:
                        made = await self._races.create_live(
                            player,
                            **settings._asdict(),
                            slip=_plain(slip, made=True),
                            unless=lambda connection: _nobody_waits(connection, player, settings),
                        )
                    except _SomebodyWaits:
                        continue
                    return Entered(made, True)
        except TimeoutError:
            raise Unavailable from None

    async def _into_one(
        self, player: Player, settings: Settings, slip: Slip | None
    ) -> Entered | None:
        async with self._database.read() as connection:
            own = await seats.quick_seat(connection, player.id, settings)
            found = [own] if own else await seats.waiting(connection, player.id, settings)
        for race_id in found:
            try:
                race = await self._races.join(race_id, player, _plain(slip, made=False))
            except (RaceFull, RaceStarted, RaceOver):
                continue  # somebody was faster
            return Entered(race, False)
        return None


async def _nobody_waits(connection: Connection, player: Player, settings: Settings) -> None:
    """Raises `_SomebodyWaits`; else nobody else makes such a lobby until this one is there."""
    await seats.alone(connection, settings.game)
    if await seats.quick_seat(connection, player.id, settings) is not None:
        raise _SomebodyWaits
    if await seats.waiting(connection, player.id, settings, limit=1):
        raise _SomebodyWaits


def _plain(slip: Slip | None, *, made: bool) -> races.Slip | None:
    """The slip for a command that answers with the race alone."""
    if slip is None:
        return None
    receipt, write = slip
    return receipt, lambda race: write(Entered(race, made))
