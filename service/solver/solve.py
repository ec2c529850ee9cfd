"""One door for both games: verdicts, pars, hints, ease."""

from typing import Literal

import msgspec

from service import rules
from service.rules import Position
from service.solver import kings_way, royal_mullein
from service.solver.verdict import (
    DEFAULT_BUDGETS,
    HINT_BUDGETS,
    Cancelled,
    Progress,
    Verdict,
    check_budget,
    ticker,
)

PLAY_OUTS = 200


class Hint(msgspec.Struct, frozen=True):
    """`move`: one on a winning line; `none`: the position cannot be won (or is solved already)."""

    hint: Literal["move", "none", "unknown"]
    move: str | None
    states: int


def solve(
    game: str,
    position: Position,
    budget: int | None = None,
    *,
    progress: Progress | None = None,
    cancelled: Cancelled | None = None,
    reduced: bool = False,
    python: bool = False,
) -> Verdict:
    """Whether the game can be won from here, and how. The first line found will do.

    `budget` is in states. `reduced` lets positions of smaller decks pass unchecked (tests);
    `python` passes over the extension. Raises `UnknownGame`, `BadPosition`, `BadBudget`.
    """
    return _search(game, position, budget, True, progress, cancelled, reduced, python)


def par(
    game: str,
    position: Position,
    budget: int | None = None,
    *,
    progress: Progress | None = None,
    cancelled: Cancelled | None = None,
    reduced: bool = False,
    python: bool = False,
) -> Verdict:
    """As `solve`, but in Royal Mullein with the fewest moves that the whole budget finds."""
    return _search(game, position, budget, False, progress, cancelled, reduced, python)


def _search(
    game: str,
    position: Position,
    budget: int | None,
    first_only: bool,
    progress: Progress | None,
    cancelled: Cancelled | None,
    reduced: bool,
    python: bool,
) -> Verdict:
    name = rules.game_named(game).name
    budget = check_budget(DEFAULT_BUDGETS[name] if budget is None else budget)
    tick = ticker(progress, cancelled)
    if name == "kings-way":
        return kings_way.search(kings_way.check(position, reduced), budget, tick, python)
    mullein = royal_mullein.check(position, reduced)
    return royal_mullein.search(mullein, budget, first_only, tick, python)


def ease(
    game: str,
    position: Position,
    times: int = PLAY_OUTS,
    *,
    reduced: bool = False,
    python: bool = False,
) -> float:
    """The share of greedy play-outs from here that win; always the same ones."""
    if not 1 <= times <= 1_000_000:
        raise ValueError("play-outs are counted from 1 to 1000000")
    if rules.game_named(game).name == "kings-way":
        return kings_way.ease(kings_way.check(position, reduced), times, python) / times
    return royal_mullein.ease(royal_mullein.check(position, reduced), times, python) / times


def hint(
    game: str,
    position: Position,
    budget: int | None = None,
    *,
    cancelled: Cancelled | None = None,
    python: bool = False,
) -> Hint:
    """A move on a winning line from this very position, or why there is none."""
    name = rules.game_named(game).name
    budget = HINT_BUDGETS[name] if budget is None else budget
    found = par(name, position, budget, cancelled=cancelled, python=python)
    if found.moves:
        return Hint("move", found.moves[0], found.states)
    if found.verdict == "unknown":
        return Hint("unknown", None, found.states)
    return Hint("none", None, found.states)
