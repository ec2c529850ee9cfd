"""A play: one player's go at one deal, as the fold of its log.

The log has entries 1, 2, 3 … (`ply`): moves, `undo` (practice only), `resign`, `timeout`.
`begin` is ply 0; `Play.after` is the only transition and returns a new play with its delta.
"""

from collections.abc import Iterable
from typing import Literal, NamedTuple

import msgspec

from service.contest.player import Player
from service.rules import IllegalMove, Position, start
from service.rules.game import Board, Change

MAX_ENTRIES = 5_000
TIMEOUT_GRACE_MS = 500
"""`timeout` is logged this long after the deadline, so that moves stamped in time come first."""

PLAYS_KEPT = 16

Mode = Literal["practice", "race"]
Ranking = Literal["time", "moves"]
Status = Literal["playing", "solved", "stuck", "resigned", "timed_out"]

UNDO, RESIGN, TIMEOUT = "undo", "resign", "timeout"
_ENDS: dict[str, Status] = {RESIGN: "resigned", TIMEOUT: "timed_out"}


class PlayOver(Exception):
    """The play takes no more entries (or its deadline has passed)."""


class Header(msgspec.Struct, frozen=True):
    """What never changes of a play. Instants are epoch milliseconds.

    `seed` is known here whether or not it is secret: `sight` says who may be told.
    """

    id: str
    game: str
    deal_version: int
    seed: str
    commitment: str
    rules_version: int
    mode: Mode
    player: Player
    race: str | None
    started_at: int
    deadline_at: int | None
    ranking: Ranking = "time"
    ranked: bool = True
    """Whether the play may stand on a board: in practice only its player's first of the deal."""


class Entry(NamedTuple):
    """A row of the log. `at_ms` counts from `started_at`; `id` names the move in its play.

    `score` is the score after it: derived, but there it answers a glance at a rival's progress
    without a replay.
    """

    ply: int
    move: str
    at_ms: int
    id: str
    score: int


class Delta(msgspec.Struct, frozen=True, omit_defaults=True, rename={"pass_": "pass"}):
    """What one entry made of a play, as its player is told. `board` only after `undo`."""

    ply: int
    move: str
    at_ms: int
    score: int
    status: Status
    pass_: int
    pass_left: int
    redeals_left: int
    legal: tuple[str, ...]
    can_undo: bool
    changes: tuple[Change, ...] | msgspec.UnsetType = msgspec.UNSET
    board: Board | msgspec.UnsetType = msgspec.UNSET


class Past(NamedTuple):
    """A move not taken back, and those before it. Only every `PLAYS_KEPT`th knows its play.

    A whole game of plays is a quarter of a megabyte; a few moves are soon played again.
    """

    before: "Past | None"
    move: str
    at_ms: int
    play: "Play | None"
    """The play that the move was made in; of the first move always there."""

    def reached(self) -> "Play":
        """The play that the move was made in, but for its `ply` and what was undone since."""
        cell, again = self, []
        while cell.play is None:
            assert cell.before is not None
            cell = cell.before
            again.append(cell)
        play = cell.play
        for cell in reversed(again):
            play, _delta = play.after(cell.move, cell.at_ms)
        return play


class Play(NamedTuple):
    """A play after `ply` entries. `score_ms` and `score_plies`: when the score was first reached.

    `past` is what `undo` takes back. Only practice keeps it.
    """

    header: Header
    ply: int
    position: Position
    legal: tuple[str, ...]
    status: Status
    at_ms: int
    score: int
    score_ms: int
    score_plies: int
    moves: int
    undone: bool
    past: Past | None

    @property
    def over(self) -> bool:
        return self.status != "playing"

    @property
    def can_undo(self) -> bool:
        return self.past is not None and self.status not in ("resigned", "timed_out")

    @property
    def ended_at(self) -> int | None:
        """Epoch milliseconds of the end, or None while it goes on."""
        return self.header.started_at + self.at_ms if self.over else None

    def stamped(self, now: int) -> int:
        """`at_ms` of an entry read at `now`: never before the last one.

        Raises `PlayOver` at or after the deadline: a move counts if its stamp is before it.
        """
        deadline = self.header.deadline_at
        if deadline is not None and now >= deadline:
            raise PlayOver
        return max(self.at_ms, now - self.header.started_at)

    def moved(self, move: str, at_ms: int) -> "tuple[Play, Delta]":
        """The same as `after` for what a player may ask for: a move or `undo`, never an end."""
        if move in _ENDS and not self.over:
            raise IllegalMove(move, self.legal)
        return self.after(move, at_ms)

    def after(self, move: str, at_ms: int) -> "tuple[Play, Delta]":
        """The play after one more entry, and its delta.

        Raises `PlayOver` or `IllegalMove`; then nothing has changed.
        """
        if self.ply >= MAX_ENTRIES and move not in _ENDS:
            raise PlayOver
        if move == UNDO and self.header.mode == "practice":
            return self._undone(at_ms)
        if self.over:
            raise PlayOver
        if move in _ENDS:
            return self._ended(_ENDS[move], move, at_ms)
        if move not in self.legal:
            raise IllegalMove(move, self.legal)
        position, changes = self.position.apply_unchecked(move)
        legal = position.legal()
        score = position.score
        status: Status = "playing" if legal else "solved" if position.solved else "stuck"
        ply, moves = self.ply + 1, self.moves + 1
        gained = score > self.score
        play = Play(
            self.header,
            ply,
            position,
            legal,
            status,
            at_ms,
            score,
            at_ms if gained else self.score_ms,
            moves if gained else self.score_plies,
            moves,
            self.undone,
            self._past(move, at_ms) if self.header.mode == "practice" else None,
        )
        return play, play._delta(move, changes)

    def _past(self, move: str, at_ms: int) -> Past:
        return Past(self.past, move, at_ms, self if self.moves % PLAYS_KEPT == 0 else None)

    def _undone(self, at_ms: int) -> "tuple[Play, Delta]":
        if self.status in ("resigned", "timed_out"):
            raise PlayOver
        if self.past is None:
            raise IllegalMove(UNDO, self.legal)
        play = self.past.reached()._replace(ply=self.ply + 1, at_ms=at_ms, undone=True)
        return play, msgspec.structs.replace(
            play._delta(UNDO, ()), changes=msgspec.UNSET, board=play.position.board()
        )

    def _ended(self, status: Status, move: str, at_ms: int) -> "tuple[Play, Delta]":
        play = self._replace(ply=self.ply + 1, status=status, at_ms=at_ms, legal=())
        return play, play._delta(move, ())

    def _delta(self, move: str, changes: tuple[Change, ...]) -> Delta:
        pass_, pass_left, redeals_left = self.position.turns
        return Delta(
            self.ply,
            move,
            self.at_ms,
            self.score,
            self.status,
            pass_,
            pass_left,
            redeals_left,
            self.legal,
            self.can_undo,
            changes,
        )


def begin(header: Header) -> Play:
    """The play at ply 0: the lay-out of its deal."""
    position = start(header.game, header.seed)
    return Play(
        header, 0, position, position.legal(), "playing", 0, position.score, 0, 0, 0, False, None
    )


class LogBroken(ValueError):
    """A stored or claimed log breaks the rules; `ply` is the first bad entry."""

    def __init__(self, ply: int, why: str) -> None:
        super().__init__(f"ply {ply}: {why}")
        self.ply = ply


def replay(play: Play, entries: Iterable[Entry]) -> tuple[Play, list[Delta]]:
    """Fold more of the log, with the delta of each entry. Raises `LogBroken`."""
    deltas = []
    for entry in entries:
        if entry.ply != play.ply + 1:
            raise LogBroken(entry.ply, f"expected ply {play.ply + 1}")
        if entry.at_ms < play.at_ms:
            raise LogBroken(entry.ply, "time runs backwards")
        try:
            play, delta = play.after(entry.move, entry.at_ms)
        except IllegalMove as error:
            raise LogBroken(entry.ply, str(error)) from None
        except PlayOver:
            raise LogBroken(entry.ply, "the play is over") from None
        deltas.append(delta)
    return play, deltas
