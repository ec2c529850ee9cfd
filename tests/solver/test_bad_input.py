"""Positions that cannot be, budgets out of range, games and seeds that do not exist."""

from typing import Any

import pytest

from service import rules, solver
from service.rules.deal import BadSeed

WAY: Any = rules.start("kings-way", "1")
MULLEIN: Any = rules.start("royal-mullein", "1")
PLAYED: Any = solver.after(WAY, ["turn"])
LATER: Any = MULLEIN
while LATER.pass_ == 1:
    LATER = LATER.apply(LATER.legal()[0]).position


def swapped(cards: tuple[str, ...], card: str) -> tuple[str, ...]:
    return (card, *cards[1:])


KINGS_WAY = {
    "missing": (WAY._replace(stock=WAY.stock[1:]), "times"),
    "doubled": (WAY._replace(stock=(*WAY.stock, "7C")), "7C is there 3 times, not 2"),
    "a king": (WAY._replace(stock=swapped(WAY.stock, "KC")), "not in the pack"),
    "no card": (WAY._replace(stock=swapped(WAY.stock, "<b>")), "not in the pack"),
    "columns": (WAY._replace(columns=WAY.columns[:7]), "8 columns"),
    "long column": (
        WAY._replace(columns=((*WAY.columns[0], "2C"), *WAY.columns[1:])),
        "at most 5",
    ),
    "aces": (PLAYED._replace(waste=PLAYED.waste[1:], aces=(PLAYED.waste[0],)), "only aces"),
    "stock": (PLAYED._replace(waste=(), stock=PLAYED.stock + PLAYED.waste), None),
    "pass 2": (PLAYED._replace(pass_=2), "needs an ace"),
    "pass": (WAY._replace(pass_=3), "pass is 1 or 2"),
    "other game": (MULLEIN, "not a position of kings-way"),
    "nothing": (None, "not a position of kings-way"),
}
ROYAL_MULLEIN = {
    "missing": (MULLEIN._replace(stock=MULLEIN.stock[1:]), "times"),
    "doubled": (MULLEIN._replace(waste=("KC",)), "KC is there 3 times, not 2"),
    "unknown": (MULLEIN._replace(stock=swapped(MULLEIN.stock, "1C")), "not in the pack"),
    "rows": (MULLEIN._replace(left=((),) * 7), "8 rows"),
    "families": (MULLEIN._replace(families=MULLEIN.families[::-1]), "starts with its two"),
    "family": (
        MULLEIN._replace(
            stock=MULLEIN.stock[1:],
            families=((*MULLEIN.families[0], MULLEIN.stock[0]), *MULLEIN.families[1:]),
        ),
        None,
    ),
    "no ace": (
        MULLEIN._replace(stock=MULLEIN.stock[1:], left=(MULLEIN.stock[:1], *((),) * 7)),
        "without its ace",
    ),
    "pass": (LATER._replace(pass_=4), "pass is 1 to 3"),
    "pass left": (MULLEIN._replace(pass_left=29), "first 30"),
    "pass 2": (LATER._replace(pass_left=LATER.pass_left - 1), "whole stock"),
    "other game": (WAY, "not a position of royal-mullein"),
}
CASES = [("kings-way", name, *case) for name, case in KINGS_WAY.items()] + [
    ("royal-mullein", name, *case) for name, case in ROYAL_MULLEIN.items()
]


@pytest.mark.parametrize(
    ("game", "position", "why"),
    [
        pytest.param(game, position, why, id=f"{game}: {name}")
        for game, name, position, why in CASES
    ],
)
def test_a_bad_position_is_refused_with_its_reason(
    game: str, position: Any, why: str | None
) -> None:
    if (game, why) == ("kings-way", None):
        assert solver.solve(game, position, 1).verdict == "unknown"  # a legal one, as a check
        return
    for ask in (solver.solve, solver.par, solver.hint, solver.ease):
        with pytest.raises(solver.BadPosition, match=why):
            ask(game, position, 10)


def test_a_row_that_does_not_alternate_is_refused() -> None:
    stock = list(MULLEIN.stock)
    ace = next(card for card in stock if card[0] == "A" and card[1] in "CS")
    stock.remove(ace)
    row = tuple(stock[:2])
    position = MULLEIN._replace(
        stock=tuple(stock[2:]), aces=(ace, *MULLEIN.aces[1:]), left=(row, *((),) * 7), pass_left=27
    )
    with pytest.raises(solver.BadPosition, match="goes down by one"):
        solver.solve("royal-mullein", position, 10)


def test_aces_out_of_their_order_are_refused() -> None:
    stock = list(MULLEIN.stock)
    ace = next(card for card in stock if card[0] == "A" and card[1] in "CS")
    stock.remove(ace)
    for row, why in ((1, "other colour"), (2, "topmost two")):
        aces = [None] * 8
        aces[row] = ace
        position = MULLEIN._replace(stock=tuple(stock), aces=tuple(aces), pass_left=29)
        with pytest.raises(solver.BadPosition, match=why):
            solver.solve("royal-mullein", position, 10)


@pytest.mark.parametrize("budget", [0, -1, solver.MAX_BUDGET + 1, 10**30, True, 1.5, "9"])
@pytest.mark.parametrize("game", list(rules.GAMES))
def test_a_budget_out_of_range_is_refused(game: str, budget: Any) -> None:
    for ask in (
        lambda: solver.solve(game, rules.start(game, "1"), budget),
        lambda: solver.hint(game, rules.start(game, "1"), budget),
        lambda: solver.certificate(game, "1", budget),
        lambda: solver.analysis(game, "1", [], budget),
    ):
        with pytest.raises(solver.BadBudget, match="from 1 to"):
            ask()


def test_games_and_seeds_that_do_not_exist() -> None:
    with pytest.raises(rules.UnknownGame):
        solver.solve("chess", WAY)
    with pytest.raises(rules.UnknownGame):
        solver.certificate("chess", "1")
    with pytest.raises(BadSeed):
        solver.certificate("kings-way", "no such seed")


def test_a_move_that_breaks_a_rule_is_named_by_its_ply() -> None:
    with pytest.raises(solver.BadLog, match="ply 2: ") as error:
        solver.after(WAY, ["turn", "redeal"])
    assert error.value.ply == 2
    with pytest.raises(solver.BadLog, match="ply 3: "):
        solver.analysis("kings-way", "1", ["turn", "turn", "nonsense"])
    with pytest.raises(solver.BadLog, match="ply 2: there is nothing to undo"):
        solver.analysis("kings-way", "1", ["resign", "undo"])
