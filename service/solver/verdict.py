"""What the solver says, and how it refuses."""

from collections.abc import Callable
from typing import Literal

import msgspec

SOLVER_VERSION = 1
"""Raised whenever a verdict, a line or a count of states can differ from before."""

DEFAULT_BUDGETS = {"kings-way": 200_000_000, "royal-mullein": 1_000_000}
"""States by game. A King's Way deal mostly takes a tenth of it, and stops when decided; Royal
Mullein uses all of it for fewer moves. Seconds, with the extension."""

HINT_BUDGETS = {"kings-way": 25_000_000, "royal-mullein": 100_000}
"""States by game: what fits into half a second with the extension."""

MAX_BUDGET = 1_000_000_000_000

Progress = Callable[[int], object]
"""Told the states looked at so far, now and then."""

Cancelled = Callable[[], bool]
"""Asked now and then; true ends the search with `unknown`."""


class BadPosition(ValueError):
    """The position cannot come up in the game; the text says why."""


class BadBudget(ValueError):
    """A budget is a whole number of states from 1 to `MAX_BUDGET`."""

    def __init__(self) -> None:
        super().__init__(f"a budget is a whole number of states from 1 to {MAX_BUDGET}")


class Verdict(msgspec.Struct, frozen=True):
    """`moves` is a line that the rules accept from that very position; empty unless `solved`.

    `unwinnable` is only said when every way has been tried. `states` is what the search looked
    at; with the same budget it is the same everywhere.
    """

    verdict: Literal["solved", "unwinnable", "unknown"]
    moves: tuple[str, ...]
    states: int


def check_budget(budget: object) -> int:
    """The budget itself, or `BadBudget`."""
    if not isinstance(budget, int) or isinstance(budget, bool):
        raise BadBudget
    if not 1 <= budget <= MAX_BUDGET:
        raise BadBudget
    return budget


def ticker(progress: Progress | None, cancelled: Cancelled | None) -> Callable[[int], bool] | None:
    """Both calls as the one that the cores make."""
    if progress is None and cancelled is None:
        return None

    def tick(states: int) -> bool:
        if progress is not None:
            progress(states)
        return cancelled is not None and cancelled()

    return tick
