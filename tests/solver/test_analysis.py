"""Certificates, hints and what is said of an ended play."""

import pytest

from service import rules, solver
from service.solver import kings_way

compiled = pytest.mark.skipif(not kings_way.COMPILED, reason="the extension is not built")

LOST = "play-6"
"""A deal that can be won, and that the greedy player loses."""


def greedy(game: str, seed: str) -> list[str]:
    position, log = rules.start(game, seed), []
    while legal := position.legal():
        log.append(min(legal, key=lambda move: (move in ("turn", "redeal"), move)))
        position = position.apply(log[-1]).position
    return log


@compiled
def test_the_ply_that_lost_a_kings_way() -> None:
    log = [*greedy("kings-way", LOST), "resign"]
    seen = solver.analysis("kings-way", LOST, log)
    assert [looked.entry for looked in seen.plies] == ["", *log]
    known = [looked.winnable for looked in seen.plies]
    assert seen.fatal is not None
    assert known == [True] * seen.fatal + [False] * (len(log) + 1 - seen.fatal)
    before = solver.after(rules.start("kings-way", LOST), log[: seen.fatal - 1])
    assert solver.solve("kings-way", before).verdict == "solved"
    assert len(before.legal()) > 1
    lost = before.apply(log[seen.fatal - 1]).position
    assert solver.solve("kings-way", lost).verdict == "unwinnable"
    assert solver.after(rules.start("kings-way", LOST), seen.par).solved


@compiled
def test_a_lost_ply_taken_back_is_not_fatal() -> None:
    log = greedy("kings-way", LOST)
    fatal = solver.analysis("kings-way", LOST, log).fatal
    assert fatal is not None
    seen = solver.analysis("kings-way", LOST, [*log[:fatal], "undo", "timeout"])
    assert seen.fatal is None
    assert [looked.winnable for looked in seen.plies[-3:]] == [False, True, True]
    again = solver.analysis("kings-way", LOST, [*log[:fatal], "undo", *log[fatal - 1 :]])
    assert again.fatal == fatal + 2


@compiled
def test_a_won_play_has_no_fatal_ply() -> None:
    line = solver.certificate("kings-way", LOST).moves
    seen = solver.analysis("kings-way", LOST, line)
    assert seen.fatal is None
    assert all(looked.winnable for looked in seen.plies)


@compiled
def test_what_each_ply_of_a_mullein_cost() -> None:
    log = greedy("royal-mullein", "1")
    seen = solver.analysis("royal-mullein", "1", log, 1_500)
    best = [looked.best for looked in seen.plies]
    assert best[-1] == 0
    costs = [looked.cost for looked in seen.plies]
    assert min(costs) == 0
    assert best[0] == len(seen.par) == len(log) - sum(costs)
    assert solver.after(rules.start("royal-mullein", "1"), seen.par).solved


def test_an_analysis_in_a_hurry_says_what_it_does_not_know() -> None:
    seen = solver.analysis("kings-way", "1", ["turn", "turn"], 10)
    assert [looked.winnable for looked in seen.plies] == [None, None, None]
    assert seen.fatal is None
    seen = solver.analysis("royal-mullein", "1", ["turn"], 10, cancelled=lambda: True)
    assert [looked.best for looked in seen.plies] == [None, None]


@compiled
def test_certificates_are_the_same_for_everybody() -> None:
    one = solver.certificate("royal-mullein", "1", 50_000)
    assert one == solver.certificate("royal-mullein", "1", 50_000)
    assert one.verdict == "solved"
    assert one.par == len(one.moves)
    assert one.solver_version == solver.SOLVER_VERSION
    assert 0.9 <= one.ease <= 1
    assert one.redeals in (1, 2)
    two = solver.certificate("kings-way", LOST)
    assert two.verdict == "solved"
    assert two.par == len(two.moves)
    assert two.ease < 0.5


@compiled
@pytest.mark.parametrize("game", list(rules.GAMES))
def test_hints_lead_to_a_win(game: str) -> None:
    position, moves = rules.start(game, "hints-3"), 0
    while not position.solved:
        hint = solver.hint(game, position, 100_000_000 if game == "kings-way" else 50_000)
        if hint.hint == "none":
            assert moves == 0, "a hint must not lose the game"
            return
        assert hint.move is not None
        line = solver.solve(game, position).moves[: 25 if game == "kings-way" else 60]
        assert line[0] in position.legal()
        for move in (hint.move, *line[1:]) if hint.move == line[0] else (hint.move,):
            position = position.apply(move).position
            moves += 1
    assert position.solved


def test_no_hint_where_none_is() -> None:
    start = rules.start("kings-way", "1")
    assert solver.hint("kings-way", start, 5) == solver.Hint("unknown", None, 5)
    lost = start
    while legal := lost.legal():
        lost = lost.apply("turn" if "turn" in legal else legal[0]).position
    if not lost.solved:
        assert solver.hint("kings-way", lost).hint == "none"
