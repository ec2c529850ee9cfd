"""What share of deals can be won: one deal at a time, then the figures over many.

`surveyed` is what worker processes run; its argument and result can be pickled.
"""

from collections.abc import Iterable
from math import sqrt
from typing import BinaryIO, Literal

import msgspec

from service.solver.certificate import certificate


class Surveyed(msgspec.Struct, frozen=True):
    """One deal, as its certificate has it."""

    game: str
    seed: str
    verdict: Literal["solved", "unwinnable", "unknown"]
    par: int | None
    redeals: int
    ease: float
    states: int


class Survey(msgspec.Struct, frozen=True):
    """Figures over many deals. `low` to `high` is the 95 % interval of the share winnable: its
    lower end takes every unknown deal as lost, its upper end as won."""

    game: str
    deals: int
    solved: int
    unwinnable: int
    unknown: int
    share: float
    low: float
    high: float
    mean_par: float | None
    least_par: int | None
    most_par: int | None
    redeals: dict[int, int]
    """Solved deals by the redeals that their line took."""
    mean_ease: float


def seeds(prefix: str, deals: int) -> list[str]:
    """The seeds of a survey: anybody can run the same again.

    >>> seeds("survey", 2)
    ['survey-1', 'survey-2']
    """
    return [f"{prefix}-{n}" for n in range(1, deals + 1)]


def surveyed(task: tuple[str, str, int | None]) -> Surveyed:
    """(game, seed, budget) looked at."""
    game, seed, budget = task
    found = certificate(game, seed, budget)
    return Surveyed(game, seed, found.verdict, found.par, found.redeals, found.ease, found.states)


_ROW = b'{"game":"'


def kept(file: BinaryIO) -> list[Surveyed]:
    """The rows of a file of JSON lines, which is then at its end; a line cut short is cut off.

    Raises `msgspec.DecodeError`; then the file is as it was.
    """
    file.seek(0)
    lines = file.read()
    whole = lines[: lines.rfind(b"\n") + 1]
    rest = lines[len(whole) :]
    if rest and not rest.startswith(_ROW[: len(rest)]):
        raise msgspec.DecodeError("the last line is no row")
    rows = msgspec.json.Decoder(Surveyed).decode_lines(whole)
    file.truncate(len(whole))
    return rows


def wilson(hits: int, of: int) -> tuple[float, float]:
    """The 95 % interval of a share.

    >>> [round(end, 3) for end in wilson(74, 100)]
    [0.646, 0.816]
    """
    z = 1.959964
    if not of:
        return 0.0, 1.0
    share = hits / of
    middle = share + z * z / (2 * of)
    spread = z * sqrt(share * (1 - share) / of + z * z / (4 * of * of))
    below = 1 + z * z / of
    return max((middle - spread) / below, 0.0), min((middle + spread) / below, 1.0)


def summary(game: str, rows: Iterable[Surveyed]) -> Survey:
    """The figures over these deals, in any order."""
    rows = list(rows)
    verdicts = [row.verdict for row in rows]
    solved, unknown = verdicts.count("solved"), verdicts.count("unknown")
    pars = [row.par for row in rows if row.par is not None]
    redeals: dict[int, int] = {}
    for row in rows:
        if row.verdict == "solved":
            redeals[row.redeals] = redeals.get(row.redeals, 0) + 1
    decided = len(rows) - unknown
    return Survey(
        game=game,
        deals=len(rows),
        solved=solved,
        unwinnable=verdicts.count("unwinnable"),
        unknown=unknown,
        share=solved / decided if decided else 0.0,
        low=wilson(solved, len(rows))[0],
        high=wilson(solved + unknown, len(rows))[1],
        mean_par=sum(pars) / len(pars) if pars else None,
        least_par=min(pars, default=None),
        most_par=max(pars, default=None),
        redeals=dict(sorted(redeals.items())),
        mean_ease=sum(row.ease for row in rows) / len(rows) if rows else 0.0,
    )
