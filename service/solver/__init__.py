"""Search with full knowledge of the cards. Pure: no clock, no entropy; budgets are in states.

Verdicts are `solved` with a line that the rules accept, `unwinnable` by exhaustion, or `unknown`
when the budget ends. The hot loops are in C where a compiler was there, else in Python with the
same results.
"""

from service.solver import kings_way, royal_mullein
from service.solver.analysis import Analysis, BadLog, Looked, after, analysis
from service.solver.certificate import Certificate, certificate
from service.solver.solve import Hint, ease, hint, par, solve
from service.solver.verdict import (
    DEFAULT_BUDGETS,
    HINT_BUDGETS,
    MAX_BUDGET,
    SOLVER_VERSION,
    BadBudget,
    BadPosition,
    Verdict,
)

COMPILED = kings_way.COMPILED and royal_mullein.COMPILED
"""Whether the hot loops are in C; else the same answers take a hundred times as long and more."""

__all__ = [
    "COMPILED",
    "DEFAULT_BUDGETS",
    "HINT_BUDGETS",
    "MAX_BUDGET",
    "SOLVER_VERSION",
    "Analysis",
    "BadBudget",
    "BadLog",
    "BadPosition",
    "Certificate",
    "Hint",
    "Looked",
    "Verdict",
    "after",
    "analysis",
    "certificate",
    "ease",
    "hint",
    "par",
    "solve",
]
