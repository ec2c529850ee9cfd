"""Whole deals: every line replays, both twins agree, progress and cancellation work."""

import os

import pytest

from service import rules, solver
from service.rules import GAMES
from service.solver import kings_way, royal_mullein

SEEDS = int(os.environ.get("SAMEDEAL_SOLVER_SEEDS", "12"))
"""Seeds a game; the full check is a thousand."""

games = pytest.mark.parametrize("game", list(GAMES))
compiled = pytest.mark.skipif(
    not (kings_way.COMPILED and royal_mullein.COMPILED), reason="the extension is not built"
)


def midway(game: str, seed: str, plies: int) -> rules.Position:
    """After so many plies of a player who turns only when nothing else goes."""
    position = rules.start(game, seed)
    for _ in range(plies):
        legal = position.legal()
        if not legal:
            break
        position = position.apply(min(legal, key=lambda move: (move in ("turn", "redeal"), move)))[
            0
        ]
    return position


@compiled
@games
def test_lines_replay_to_a_win(game: str) -> None:
    won = 0
    for n in range(SEEDS):
        start = rules.start(game, f"line-{n}")
        found = solver.solve(game, start, 100_000_000 if game == "kings-way" else 1_000_000)
        assert found.verdict != "solved" or solver.after(start, found.moves).solved
        assert (found.verdict == "solved") == bool(found.moves)
        won += found.verdict == "solved"
    assert won >= SEEDS * 0.6


@compiled
@games
def test_lines_from_midway_replay_too(game: str) -> None:
    for plies in (1, 20, 40, 55, 70):
        position = midway(game, "midway", plies)
        found = solver.par(game, position, 20_000_000 if game == "kings-way" else 20_000)
        assert found.verdict != "solved" or solver.after(position, found.moves).solved


@compiled
@pytest.mark.parametrize(
    ("game", "plies", "budget"),
    [
        ("kings-way", 0, 20_000),
        ("kings-way", 58, 300_000),
        ("kings-way", 70, 300_000),
        ("royal-mullein", 0, 4_000),
        ("royal-mullein", 40, 4_000),
        ("royal-mullein", 120, 4_000),
    ],
)
def test_the_twins_agree_on_whole_deals(game: str, plies: int, budget: int) -> None:
    for seed in ("twins-1", "twins-2"):
        position = midway(game, seed, plies)
        told: list[list[int]] = [[], []]
        found = [
            solver.par(game, position, budget, progress=told[python].append, python=bool(python))
            for python in (0, 1)
        ]
        assert found[0] == found[1]
        assert told[0] == told[1]
        shares = {solver.ease(game, position, 3, python=python) for python in (False, True)}
        assert len(shares) == 1


@games
def test_the_same_budget_gives_the_same_answer(game: str) -> None:
    start = rules.start(game, "same")
    assert solver.par(game, start, 3_000) == solver.par(game, start, 3_000)


@compiled
def test_a_wider_search_never_finds_more_moves() -> None:
    start = rules.start("royal-mullein", "wider")
    pars = [len(solver.par("royal-mullein", start, n).moves) for n in (20_000, 100_000, 400_000)]
    assert pars == sorted(pars, reverse=True)
    assert pars[-1] < 240


@compiled
@games
def test_progress_is_told_and_a_cancelled_search_knows_nothing(game: str) -> None:
    told: list[int] = []
    start = rules.start(game, "1")
    found = solver.par(
        game, start, 100_000_000, progress=told.append, cancelled=lambda: len(told) >= 3
    )
    assert found.verdict == "unknown"
    assert len(told) == 3
    assert told == sorted(told)
    assert found.states < 100_000_000


@compiled
@games
def test_an_error_in_the_callback_comes_out(game: str) -> None:
    def angry(states: int) -> None:
        raise RuntimeError("enough")

    with pytest.raises(RuntimeError, match="enough"):
        solver.par(game, rules.start(game, "1"), 100_000_000, progress=angry)


@games
def test_a_tiny_budget_knows_nothing_of_a_whole_deal(game: str) -> None:
    found = solver.solve(game, rules.start(game, "1"), 1)
    assert (found.verdict, found.moves) == ("unknown", ())


def test_a_solved_position_needs_no_moves() -> None:
    start = rules.start("royal-mullein", "1")
    line = solver.solve("royal-mullein", start, 100_000).moves
    solved = solver.after(start, line)
    assert solver.solve("royal-mullein", solved) == solver.Verdict("solved", (), 0)
    assert solver.hint("royal-mullein", solved) == solver.Hint("none", None, 0)
