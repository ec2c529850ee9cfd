"""Royal Mullein ruling by ruling, on built positions. Rows are numbered from 1, the topmost.

The twos are 2H 2S 2D 2C 2H 2S 2D 2C: rows 1 3 5 7 are red, 2 4 6 8 black.
"""

import pytest

from service.rules import GAMES, IllegalMove, start
from service.rules.game import Moved, Packed, Pile
from service.rules.royal_mullein import TWOS
from tests.rules.table import all_cards, cards, encoded, family, play, royal_mullein

GAME = GAMES["royal-mullein"]
ALL_ACES = {n: "AS" if n % 2 else "AH" for n in range(1, 9)}


def legal(**position) -> tuple[str, ...]:
    return royal_mullein(**position).legal()


# The lay-out


def test_lay_out():
    deal = tuple(f"card {n}" for n in range(96))
    position = GAME.lay_out(deal)
    assert position.stock == deal
    assert position.apply_unchecked("turn").position.waste == ("card 0",)
    board = start("royal-mullein", "1").board()
    assert sorted(board.piles) == sorted(GAME.piles)
    assert board.piles["s"] == Pile(96, ())
    twos = cards("2H 2S 2D 2C 2H 2S 2D 2C")
    assert twos == TWOS
    assert [board.piles[f"f{n}"] for n in range(1, 9)] == [Pile(0, (two,)) for two in twos]
    for n in range(1, 9):
        assert board.piles[f"a{n}"] == board.piles[f"l{n}"] == Pile(0, ())
    assert (board.pass_, board.pass_left, board.redeals_left) == (1, 30, 2)


# RM1


def test_rm1_pass_one_is_thirty_cards_only():
    position = start("royal-mullein", "1")
    for left in range(30, 0, -1):
        assert position.turns == (1, left, 2)
        assert "turn" in position.legal()
        assert "redeal" not in position.legal()
        position = position.apply("turn").position
    assert position.turns == (1, 0, 2)
    assert len(position.stock) == 66
    assert "turn" not in position.legal()
    assert "redeal" in position.legal()
    with pytest.raises(IllegalMove):
        position.apply("turn")


def test_rm1_aces_count_among_the_thirty():
    position = royal_mullein("AS 3C", pass_left=1)
    position = position.apply("turn").position
    assert position.turns == (1, 0, 2)
    assert position.legal() == ("redeal",)


# RM2


@pytest.mark.parametrize(
    ("ace", "rows"),
    [("AS", (1, 3, 5, 7)), ("AC", (1, 3, 5, 7)), ("AD", (2, 4, 6, 8)), ("AH", (2, 4, 6, 8))],
)
def test_rm2_an_ace_slides_under_the_topmost_two_of_the_other_colour_without_one(ace, rows):
    position = royal_mullein(f"{ace} {ace} {ace} {ace} 9C", waste="JD")
    for at, row in enumerate(rows):
        before = position
        position, changes = position.apply("turn")
        assert changes == (Moved(ace, "s", f"a{row}"),)
        assert position.waste == ("JD",)
        assert position.score == at + 1
        assert position.board() == before.board().after(changes, position.turns)
        assert position.board().piles[f"a{row}"] == Pile(0, (ace,))
    assert position.apply("turn").position.waste == cards("JD 9C")


def test_rm2_the_topmost_free_place_not_the_next_one():
    position = royal_mullein("AC", aces={1: "AS", 5: "AS"})
    assert position.apply("turn").changes == (Moved("AC", "s", "a3"),)


def test_rm2_a_grown_family_still_gets_its_ace():
    position = royal_mullein("AS", families={1: family(1, "K")})
    assert position.apply("turn").changes == (Moved("AS", "s", "a1"),)


def test_rm2_the_move_ends_there():
    """The card that the source lays beside the ace at once is a `turn` and a `w-lN` of its own."""
    position = royal_mullein("AS 9C 8D")
    position, changes = position.apply("turn")
    assert len(changes) == 1
    assert (position.waste, position.legal()) == ((), ("turn",))
    position = position.apply("turn").position
    assert position.legal() == ("turn", "w-l1")


def test_rm2_any_other_card_goes_onto_the_waste_fitting_or_not():
    position, changes = royal_mullein("3S KD", waste="9C").apply("turn")
    assert changes == (Moved("3S", "s", "w"),)
    position = position.apply("turn").position
    assert position.waste == cards("9C 3S KD")


# RM3


def test_rm3_onto_a_family_one_higher_of_the_other_colour_equal_rows_all_listed():
    assert legal(waste="3S", pass_=3) == ("w-f1", "w-f3", "w-f5", "w-f7")
    assert legal(waste="3D", pass_=3) == ("w-f2", "w-f4", "w-f6", "w-f8")
    assert legal(waste="4S", pass_=3) == ()
    assert legal(waste="AS", pass_=3) == ()
    grown = {1: family(1, "5"), 2: family(2, "5"), 3: family(3, "6"), 8: family(8, "Q")}
    assert legal(waste="6H", families=grown, pass_=3) == ("w-f1",)  # 5S; not 5H of row 2
    assert legal(waste="6S", families=grown, pass_=3) == ("w-f2",)
    assert legal(waste="7C", families=grown, pass_=3) == ("w-f3",)
    assert legal(waste="5C", families=grown, pass_=3) == ()  # families only ascend
    assert legal(waste="KH", families=grown, pass_=3) == ("w-f8",)
    assert legal(waste="KS", families=grown, pass_=3) == ()


def test_rm3_needs_no_ace_and_moves_one_card():
    position = royal_mullein("9C", waste="KS 4H 3S").apply("w-f5")
    position, changes = position
    assert changes == (Moved("3S", "w", "f5"),)
    assert position.families[4] == cards("2H 3S")
    assert position.waste == cards("KS 4H")
    assert position.score == 1
    assert position.legal() == ("turn", "w-f5")


def test_rm3_there_is_no_wrap():
    full = {n: family(n, "K") for n in range(1, 9)}
    for card in cards("AS AH 2S 2H KS KH"):
        assert legal(waste=card, families=full, pass_=3) == ()


# RM4


def test_rm4_any_card_into_an_empty_row_with_an_ace():
    for card in cards("KD 9C 5H"):
        assert legal(waste=card, aces={1: "AS", 6: "AD"}, pass_=3) == ("w-l1", "w-l6")
    assert legal(waste="KD", pass_=3) == ()


def test_rm4_one_lower_of_the_other_colour_onto_a_row():
    rows = {1: "9C", 2: "TD 9S", 3: "9H", 4: "7C", 5: "8C"}
    position = royal_mullein(waste="8D", aces=ALL_ACES, left=rows, pass_=1)
    assert position.legal() == ("redeal", "w-l1", "w-l2", "w-l6", "w-l7", "w-l8")
    position, changes = position.apply("w-l2")
    assert changes == (Moved("8D", "w", "l2"),)
    assert position.left[1] == cards("TD 9S 8D")
    assert position.score == 8  # in an auxiliary row it is not home


def test_rm4_no_card_into_a_row_whose_ace_is_missing():
    assert legal(waste="8D", aces={1: "AS"}, left={1: "KC"}, pass_=3) == ()


def test_rm4_no_wrap_nothing_on_a_row_that_ends_below():
    aces = {1: "AS"}
    assert legal(waste="KD", aces=aces, left={1: "4C"}, pass_=3) == ()
    assert legal(waste="KD", aces=aces, left={1: "QC"}, pass_=3) == ()
    assert legal(waste="QC", aces=aces, left={1: "KD"}, pass_=3) == ("w-l1",)


@pytest.mark.parametrize("pass_", [1, 2, 3])
@pytest.mark.parametrize("stock", ["", "5C"])
def test_rm4_in_every_pass_also_between_its_last_card_and_the_redeal(pass_, stock):
    moves = legal(stock=stock, waste="8D", aces={1: "AS"}, pass_=pass_)
    assert "w-l1" in moves
    assert ("turn" in moves) == bool(stock)
    assert ("redeal" in moves) == (not stock and pass_ < 3)


def test_rm4_a_place_may_stay_empty():
    """Never a duty: `turn` and `redeal` stay legal beside an empty place and a waste to fill it."""
    assert legal(stock="5C", waste="8D", aces={1: "AS"}, pass_=1) == ("turn", "w-l1")
    assert legal(stock="5C", waste="8D", aces={1: "AS"}, pass_=1, pass_left=0) == ("redeal", "w-l1")
    assert legal(stock="5C", waste="8D", aces={1: "AS"}, pass_=3) == ("turn", "w-l1")


# RM5


def test_rm5_a_row_goes_home_only_after_the_first_redeal():
    rows = {"aces": {1: "AS"}, "left": {1: "4D 3S"}}
    assert legal(**rows, pass_=1) == ("redeal",)
    home = ("l1-f1", "l1-f3", "l1-f5", "l1-f7")
    assert legal(**rows, pass_=2) == home
    assert legal(**rows, pass_=3) == home
    position = royal_mullein("9C", **rows, pass_=1, pass_left=0)
    assert position.legal() == ("redeal",)
    with pytest.raises(IllegalMove):
        position.apply("l1-f1")
    assert position.apply("redeal").position.legal() == (*home, "turn")


def test_rm5_one_card_a_move_the_last_one_onto_any_family():
    position = royal_mullein(aces={2: "AD"}, left={2: "5S 4D 3S"}, pass_=2)
    position, changes = position.apply("l2-f7")
    assert changes == (Moved("3S", "l2", "f7"),)
    assert position.left[1] == cards("5S 4D")
    assert position.families[6] == cards("2D 3S")
    assert position.legal() == ("l2-f7",)
    position = position.apply("l2-f7").position.apply("l2-f7").position
    assert (position.left[1], position.families[6]) == ((), cards("2D 3S 4D 5S"))
    assert position.score == 4


def test_rm5_only_the_last_card_of_a_row_fits():
    assert legal(aces={1: "AS"}, left={1: "3S 9D"}, pass_=2) == ()
    assert legal(aces={1: "AS"}, left={1: "4D"}, pass_=2) == ()
    assert legal(aces={1: "AS"}, left={1: "AD"}, pass_=2) == ()


def test_rm5_every_row_is_looked_at():
    left = {n: "3S" if n % 2 else "3D" for n in range(1, 9)}
    moves = legal(aces=ALL_ACES, left=left, pass_=2)
    assert len(moves) == 32
    assert "l8-f8" in moves
    assert "l8-f7" not in moves


# RM6


@pytest.mark.parametrize("pass_", [1, 2, 3])
def test_rm6_the_top_of_the_waste_is_available_in_every_pass(pass_):
    assert "w-f1" in legal(stock="9C", waste="3S", pass_=pass_)
    assert "w-f1" in legal(waste="3S", pass_=pass_)
    assert "w-f1" not in legal(stock="9C", waste="3S KD", pass_=pass_)


@pytest.mark.parametrize(
    "move",
    ["f1-f2", "f1-l1", "f1-w", "a1-w", "a1-l1", "a1-a3", "l1-l2", "l2-l1", "l1-w", "l1-a1", "s-w",
     "w-a1", "s-l1", "w-w", "w-f0", "w-f9", "l1-f9", "w-l0", "W-F1", "turn\n", "", "undo"],
)  # fmt: skip
def test_rm6_nothing_else_moves(move):
    position = royal_mullein(
        "9C", waste="3D", aces=ALL_ACES, left={1: "4D", 2: "5S"}, families={1: "2H 3S"}, pass_=2
    )
    with pytest.raises(IllegalMove) as refused:
        position.apply(move)
    assert refused.value.legal == position.legal()
    assert "l1-f1" in position.legal()


# RM7


def test_rm7_the_waste_goes_under_the_stock_the_card_laid_first_first():
    position = royal_mullein("4C 5C", waste="KD QD JD", pass_left=0)
    position, changes = position.apply("redeal")
    assert changes == (Packed("w", "s", 3),)
    assert encoded(changes) == b'[{"count":3,"do":"pack","from":"w","to":"s"}]'
    assert (position.stock, position.waste) == (cards("4C 5C KD QD JD"), ())
    assert position.board().piles["s"] == Pile(5, ())
    assert position.turns == (2, 5, 1)
    for card in cards("4C 5C KD QD JD"):
        position, changes = position.apply("turn")
        assert changes == (Moved(card, "s", "w"),)
    assert position.turns == (2, 0, 1)
    position = position.apply("redeal").position
    assert position.stock == cards("4C 5C KD QD JD")
    assert position.turns == (3, 5, 0)


def test_rm7_pass_one_ends_even_if_the_waste_is_empty():
    position = royal_mullein("4C 5C", pass_left=0)
    before = position.board()
    assert position.legal() == ("redeal",)
    position, changes = position.apply("redeal")
    assert changes == (Packed("w", "s", 0),)
    assert position.board() == before.after(changes, position.turns)
    assert (position.stock, position.turns) == (cards("4C 5C"), (2, 2, 1))


def test_rm7_not_before_the_pass_is_through():
    assert legal(stock="4C 5C", waste="9H", pass_=1, pass_left=1) == ("turn",)
    assert legal(stock="4C", waste="9H", pass_=2) == ("turn",)


def test_rm7_pass_two_needs_a_waste():
    assert legal(waste="9H", pass_=2) == ("redeal",)
    assert legal(aces={1: "AS"}, left={1: "9H"}, pass_=2) == ()


def test_rm7_pass_three_goes_through_everything_and_is_the_last():
    position = royal_mullein(waste="9H 8C", pass_=2).apply("redeal").position
    assert position.turns == (3, 2, 0)
    position = position.apply("turn").position.apply("turn").position
    assert position.turns == (3, 0, 0)
    assert position.legal() == ()


def test_rm7_with_stock_and_waste_empty_the_rows_always_go_home():
    """What the ruling says of pass 2; true of pass 3 as well. Met on the way in real games."""

    def filling(position, legal):
        """Builds rows as often as it can, takes them home late: lets the waste run empty."""
        return max(legal, key=lambda move: (move[:3] == "w-l", move[:3] == "w-f", move == "turn"))

    met = 0
    for seed in range(60):
        for position in play("royal-mullein", f"home-{seed}", filling).positions:
            if position.pass_ > 1 and not position.stock and not position.waste:
                met += 1
                while moves := position.legal():
                    assert all(move[0] == "l" for move in moves)
                    position = position.apply(moves[-1]).position
                assert position.solved
                break
    assert met >= 5


# RM8


COMPLETE = {n: family(n, "K") for n in range(1, 9)}


def test_rm8_solved_when_all_96_are_home():
    families = COMPLETE | {8: family(8, "Q")}
    position = royal_mullein(families=families, aces=ALL_ACES, waste="KD", pass_=3)
    assert (position.score, position.solved) == (95, False)
    assert position.legal() == ("w-f8", *(f"w-l{n}" for n in range(1, 9)))
    position = position.apply("w-f8").position
    assert (position.score, position.solved, position.legal()) == (96, True, ())
    assert position.score == GAME.goal
    assert sum(all_cards(position).values()) == 104


def test_rm8_an_ace_may_be_the_last_card_home():
    aces = {n: ace for n, ace in ALL_ACES.items() if n != 3}
    position = royal_mullein("AC", families=COMPLETE, aces=aces, pass_=2)
    assert (position.score, position.solved, position.legal()) == (95, False, ("turn",))
    position = position.apply("turn").position
    assert (position.score, position.solved, position.legal()) == (96, True, ())


def test_rm8_a_card_in_an_auxiliary_row_is_not_home():
    families = COMPLETE | {1: family(1, "Q")}
    position = royal_mullein(families=families, aces=ALL_ACES, left={8: "KC"}, pass_=3)
    assert (position.score, position.solved) == (95, False)
    assert position.legal() == ("l8-f1",)
    assert position.apply("l8-f1").position.solved


def test_rm8_stuck():
    position = royal_mullein(waste="4S 9D", aces={1: "AS"}, left={1: "KC"}, pass_=3)
    assert (position.legal(), position.solved, position.score) == ((), False, 1)


def test_rm8_fewer_than_400_moves():
    """At most 30 + 96 + 88 turns (no ace is left for pass 3), two redeals, 88 cards twice."""
    assert 30 + 96 + 88 + 2 + 2 * 88 <= GAME.max_moves < 400
