"""Four players of different habits, who see what any player sees: their own board and its moves."""

import random
from collections.abc import Callable
from typing import NamedTuple

from service.bots.messages import Board
from service.rules.cards import NEXT_TO, RANK

Choose = Callable[[Board, tuple[str, ...], random.Random], str]
"""One of the legal moves, of which there is at least one."""


class Habit(NamedTuple):
    """How somebody plays. `pace`: time taken for a move, 1 is usual."""

    name: str
    pace: float
    choose: Choose
    ponders: bool = False
    """Thinks so long over a move that others must not wait for it."""


# Habits. A move's text says what it is: `c5-w` clears a card of a column (King's Way), `w-f2` and
# `l3-f2` bring one home and `w-l3` puts one aside (Royal Mullein), `turn` and `redeal` go on.


def plain(_board: Board, legal: tuple[str, ...], _rng: random.Random) -> str:
    """The first move in the list, whatever it is."""
    return legal[0]


def eager(board: Board, legal: tuple[str, ...], _rng: random.Random) -> str:
    """Score if that can be done, and where least is left to do; put aside all that goes."""
    scoring = _scoring(legal)
    if scoring:
        return min(scoring, key=lambda move: _height(board, _source(move)))
    return min(legal, key=_goes_on)


def cautious(board: Board, legal: tuple[str, ...], _rng: random.Random) -> str:
    """Keep many ways open: clear what leads on to most, put aside only where it costs little."""
    scoring = _scoring(legal)
    if scoring:
        return max(
            scoring, key=lambda move: (_leads_on(board, move), _height(board, _source(move)))
        )
    aside = [move for move in legal if "-l" in move]
    continued = [move for move in aside if board.piles[move[2:]].up]
    if continued:
        return continued[0]
    if aside and (len(aside) == len(legal) or RANK[board.piles["w"].up[-1]] >= 9):
        return aside[0]  # a row that begins high takes many cards
    return max(legal, key=_goes_on)


def whimsical(_board: Board, legal: tuple[str, ...], rng: random.Random) -> str:
    """Whatever comes to mind."""
    return rng.choice(legal)


HABITS = (
    Habit("plain", 1.0, plain),
    Habit("eager", 0.85, eager),
    Habit("cautious", 1.15, cautious),
    Habit("whimsical", 0.9, whimsical),
)


def _scoring(legal: tuple[str, ...]) -> list[str]:
    return [move for move in legal if move[0] == "c" or "-f" in move]


def _goes_on(move: str) -> bool:
    return move in ("turn", "redeal")


def _source(move: str) -> str:
    return move.partition("-")[0]


def _height(board: Board, pile: str) -> int:
    held = board.piles[pile]
    return held.down + len(held.up)


def _leads_on(board: Board, move: str) -> int:
    """How many other columns end with a card that fits the one moved by this move."""
    source = _source(move)
    fits = NEXT_TO[board.piles[source].up[-1]]
    return sum(
        name[0] == "c" and name != source and bool(pile.up) and pile.up[-1] in fits
        for name, pile in board.piles.items()
    )
