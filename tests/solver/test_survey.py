"""Figures over many deals, and the catalogue's text."""

import pytest

from service import solver
from service.solver import catalogue, survey


def row(verdict: str, par: int | None = None, redeals: int = 0) -> survey.Surveyed:
    return survey.Surveyed("kings-way", "1", verdict, par, redeals, 0.5, 1)  # type: ignore[arg-type]


def test_the_figures_of_a_survey() -> None:
    rows = [row("solved", 90), row("solved", 100, 1), row("unwinnable"), row("unknown")]
    seen = survey.summary("kings-way", rows)
    assert (seen.deals, seen.solved, seen.unwinnable, seen.unknown) == (4, 2, 1, 1)
    assert seen.share == pytest.approx(2 / 3)
    assert seen.low == survey.wilson(2, 4)[0]
    assert seen.high == survey.wilson(3, 4)[1]
    assert (seen.mean_par, seen.least_par, seen.most_par) == (95, 90, 100)
    assert seen.redeals == {0: 1, 1: 1}
    assert seen.mean_ease == 0.5


def test_a_survey_of_nothing() -> None:
    seen = survey.summary("kings-way", [])
    assert (seen.deals, seen.share, seen.low, seen.high) == (0, 0.0, 0.0, 1.0)


def test_one_deal_surveyed() -> None:
    seen = survey.surveyed(("royal-mullein", "1", 5_000))
    assert seen.par == solver.certificate("royal-mullein", "1", 5_000).par


@pytest.mark.parametrize("game", ["kings-way", "royal-mullein"])
def test_a_catalogue_reads_back_what_was_written(game: str) -> None:
    deals = dict(catalogue.certified((game, seed, 5_000)) for seed in ("1", "2"))
    data = b"\n".join(catalogue.write(game, 5_000, deals.items()))
    head, read = catalogue.read(data)
    assert read == deals
    assert (head.game, head.budget, head.solver_version) == (game, 5_000, solver.SOLVER_VERSION)
