"""What is known of a deal, to be kept with it."""

from typing import Literal

import msgspec

from service import rules
from service.solver.solve import ease, par
from service.solver.verdict import (
    DEFAULT_BUDGETS,
    SOLVER_VERSION,
    Cancelled,
    Progress,
    check_budget,
)


class Certificate(msgspec.Struct, frozen=True):
    """`par` in plies: of the line in `moves`, the shortest found; null unless `solved`.

    `ease` is the share of greedy play-outs that win, 0 to 1. With the same solver version and
    budget anyone gets the same certificate.
    """

    verdict: Literal["solved", "unwinnable", "unknown"]
    solver_version: int
    budget: int
    states: int
    par: int | None
    ease: float
    moves: tuple[str, ...]

    @property
    def redeals(self) -> int:
        """How many redeals the line takes: 1 in Royal Mullein means that pass 2 suffices."""
        return self.moves.count("redeal")


def certificate(
    game: str,
    seed: str,
    budget: int | None = None,
    *,
    progress: Progress | None = None,
    cancelled: Cancelled | None = None,
    python: bool = False,
) -> Certificate:
    """Raises `UnknownGame`, `BadSeed`, `BadBudget`. Cancelled: the verdict is `unknown`."""
    name = rules.game_named(game).name
    budget = check_budget(DEFAULT_BUDGETS[name] if budget is None else budget)
    start = rules.start(name, seed)
    found = par(name, start, budget, progress=progress, cancelled=cancelled, python=python)
    return Certificate(
        verdict=found.verdict,
        solver_version=SOLVER_VERSION,
        budget=budget,
        states=found.states,
        par=len(found.moves) if found.verdict == "solved" else None,
        ease=ease(name, start, python=python),
        moves=found.moves,
    )
