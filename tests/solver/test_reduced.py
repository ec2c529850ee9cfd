"""On small positions: the solver, its twin and brute force over the rules agree every time."""

from collections.abc import Callable
from typing import Any

import pytest
from hypothesis import assume, given, settings

from service import solver
from tests.solver import reduced


def _mullein(number: int) -> Any:
    build = reduced.jammed_mullein if number % 3 else reduced.royal_mullein
    return build(number)


BUILDERS: dict[str, Callable[[int], Any]] = {
    "kings-way": reduced.kings_way,
    "royal-mullein": _mullein,
}
EXAMPLES = {"kings-way": 400, "royal-mullein": 60}
games = pytest.mark.parametrize("game", list(BUILDERS))


def for_numbers(share: float = 1.0) -> Callable[[Callable[[str, int], None]], Any]:
    """Runs a test of (game, number) for many numbers; Mullein's brute force takes longer."""

    def wrap(test: Callable[[str, int], None]) -> Any:
        def run(game: str) -> None:
            examples = int(EXAMPLES[game] * share)
            run_one = given(reduced.numbers)(lambda number: test(game, number))
            settings(max_examples=examples, deadline=None, database=None)(run_one)()

        run.__doc__ = test.__doc__
        return games(run)

    return wrap


def solve(game: str, position: Any, budget: int = 1_000_000, **more: Any) -> solver.Verdict:
    return solver.solve(game, position, budget, reduced=True, **more)


@for_numbers()
def test_the_verdict_is_that_of_brute_force(game: str, number: int) -> None:
    position = BUILDERS[game](number)
    truth = reduced.winnable(position)
    assume(truth is not None)
    found = solve(game, position)
    assert found.verdict == ("solved" if truth else "unwinnable")
    assert solver.after(position, found.moves).solved == truth
    assert solve(game, position, python=True) == found


@for_numbers(0.5)
def test_no_budget_gives_a_false_unwinnable(game: str, number: int) -> None:
    position = BUILDERS[game](number)
    full = solve(game, position)
    assume(full.verdict != "unknown")
    for budget in {1, 2, 3, 7, 20, 100, max(full.states - 1, 1), full.states + 1}:
        found = solve(game, position, budget)
        assert found.verdict in ("unknown", full.verdict)
        assert solve(game, position, budget, python=True) == found
        if found.verdict == "solved":
            assert solver.after(position, found.moves).solved


@for_numbers(0.3)
def test_ease_does_not_depend_on_the_compiler(game: str, number: int) -> None:
    position = BUILDERS[game](number)
    share = solver.ease(game, position, 20, reduced=True)
    assert solver.ease(game, position, 20, reduced=True, python=True) == share
    if share:
        assert solve(game, position).verdict == "solved"


def test_the_par_of_small_positions_is_the_shortest_line() -> None:
    gaps = []
    for number in range(40):
        position = reduced.royal_mullein(number, low=11)
        least = reduced.shortest(position)
        if least is None:
            continue
        found = solver.par("royal-mullein", position, 5_000, reduced=True)
        assert solver.par("royal-mullein", position, 5_000, reduced=True, python=True) == found
        gaps.append(len(found.moves) - least)
    assert len(gaps) > 10
    assert min(gaps) == 0
    assert sum(gaps) <= 1, "a par is what was found, but of so little nearly always the least"
