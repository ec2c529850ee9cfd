"""What the solver has to say of a play: a hint in practice, an analysis when it is over."""

import msgspec

from service.contest.play import Play
from service.referee.plays import NotYourPlay
from service.referee.thinking import Thinker, ThinkerDied, TooLong, affordable
from service.solver import HINT_BUDGETS, SOLVER_VERSION, Analysis, Hint, analysis, hint
from service.solver.analysis import ANALYSIS_BUDGETS
from service.storage import certificates
from service.storage.database import Connection, Database
from service.storage.shelf import PlayShelf

HINT_SECONDS = 10.0
ANALYSIS_SECONDS = 120.0

_encode = msgspec.json.Encoder().encode


class NoHints(Exception):
    """Races take no hints."""


class NotOver(Exception):
    """A play is analysed when it has ended and its deal is no longer secret."""


class NotNow(Exception):
    """The solver did not finish in its time."""


class Insight:
    """Asks the solver, in a process of its own."""

    def __init__(self, database: Database, shelf: PlayShelf) -> None:
        self._database = database
        self._shelf = shelf
        self._quick = Thinker(niceness=2)
        self._thorough = Thinker(niceness=10)

    def stop(self) -> None:
        """End what is being thought about."""
        self._quick.stop()
        self._thorough.stop()

    async def hint(self, player: str, play_id: str) -> tuple[Play, Hint]:
        """The play at its head and a hint for it; the play stands on no board from then on.

        Raises `NotFound`, `NotYourPlay`, `NoHints`, `NotNow`.
        """
        seat = await self._shelf.at_head(play_id)
        if seat.header.player.id != player:
            raise NotYourPlay
        if seat.header.mode != "practice":
            raise NoHints
        # Noted first: a hint that was given and forgotten would be worth cheating for.
        await self._database.transact(lambda own: certificates.note_hint(own, play_id))
        play = seat.play
        game = seat.header.game
        try:
            found = await self._quick.think(
                HINT_SECONDS, hint, game, play.position, affordable(HINT_BUDGETS[game])
            )
        except (ThinkerDied, TooLong):
            raise NotNow from None
        return play, found

    async def analysis(self, play: Play) -> bytes:
        """The analysis of an ended play whose deal is open, as JSON; worked out once and kept.

        The caller has seen to it that the viewer may see the whole play. Raises `NotOver`,
        `NotNow`.
        """
        if not play.over:
            raise NotOver
        header = play.header
        async with self._database.read() as connection:
            kept = await certificates.analysis(connection, header.id, SOLVER_VERSION)
        if kept is not None:
            return kept.encode()
        log = await self._shelf.moves_of(header.id)
        try:
            found: Analysis = await self._thorough.think(
                ANALYSIS_SECONDS,
                analysis,
                header.game,
                header.seed,
                log,
                affordable(ANALYSIS_BUDGETS[header.game]),
            )
        except (ThinkerDied, TooLong):
            raise NotNow from None
        data = _encode(found)

        async def work(connection: Connection) -> None:
            await certificates.keep_analysis(connection, header.id, SOLVER_VERSION, data.decode())

        await self._database.transact(work)
        return data
