"""King's Way ruling by ruling, on built positions. Columns are given from the king down."""

import msgspec
import pytest

from service.rules import GAMES, IllegalMove, start
from service.rules.game import Moved, Packed, Pile, Revealed
from service.rules.kings_way import KINGS
from tests.rules.table import cards, encoded, kings_way

GAME = GAMES["kings-way"]

REST = "6C"
"""A column that keeps the game going where another one is emptied or none matters."""


def legal(**position) -> tuple[str, ...]:
    return kings_way(**position).legal()


# The lay-out


def test_lay_out_row_by_row():
    deal = tuple(f"card {n}" for n in range(96))
    position = GAME.lay_out(deal)
    assert position.columns[0] == ("card 0", "card 8", "card 16", "card 24", "card 32")
    assert position.columns[7] == ("card 7", "card 15", "card 23", "card 31", "card 39")
    assert position.stock == deal[40:]
    assert position.apply_unchecked("turn").position.waste == ("card 40",)
    assert (position.waste, position.aces, position.score) == ((), (), 0)


def test_board_of_the_lay_out():
    board = start("kings-way", "1").board()
    assert sorted(board.piles) == sorted(GAME.piles)
    assert board.piles["s"] == Pile(56, ())
    assert board.piles["w"] == board.piles["a"] == Pile(0, ())
    fifth_row = "3H 9C 4C 3S 7S QS 4C 7S"
    assert [board.piles[f"c{n}"] for n in range(1, 9)] == [Pile(4, (c,)) for c in cards(fifth_row)]
    kings = "KH KS KD KC KH KS KD KC"
    assert [board.piles[f"k{n}"] for n in range(1, 9)] == [Pile(0, (c,)) for c in cards(kings)]
    assert cards(kings) == KINGS
    assert (board.pass_, board.pass_left, board.redeals_left) == (1, 56, 1)


def test_example_of_the_protocol():
    position = start("kings-way", "1")
    for _ in range(2):
        position = position.apply("turn").position
    assert position.legal() == ("c5-w", "c8-w", "turn")
    board = msgspec.to_builtins(position.board())
    assert board["piles"]["s"] == {"down": 54, "up": ()}
    assert board["piles"]["w"] == {"down": 0, "up": ("7C", "6H")}
    assert board["piles"]["c5"] == {"down": 4, "up": ("7S",)}
    assert {key: board[key] for key in ("pass", "pass_left", "redeals_left")} == {
        "pass": 1,
        "pass_left": 54,
        "redeals_left": 1,
    }
    after, changes = position.apply("c5-w")
    assert msgspec.json.encode(changes) == (
        b'[{"do":"move","card":"7S","from":"c5","to":"w"},{"do":"reveal","card":"JS","pile":"c5"}]'
    )
    assert (after.score, after.legal()) == (1, ("turn",))


# KW1


def test_kw1_turn_is_legal_while_the_stock_has_a_card_whatever_can_be_played():
    position = kings_way(REST, stock="9H TD", waste="5H")
    assert position.legal() == ("c1-w", "turn")
    position, changes = position.apply("turn")
    assert changes == (Moved("9H", "s", "w"),)
    assert (position.waste, position.stock) == (("5H", "9H"), ("TD",))
    position = position.apply("turn").position
    assert (position.waste, position.legal()) == (("5H", "9H", "TD"), ())
    with pytest.raises(IllegalMove) as refused:
        position.apply("turn")
    assert refused.value.legal == ()


# KW2


@pytest.mark.parametrize(
    ("waste", "ends", "moves"),
    [
        ("TS", "9D 9C JH JS TH TC 9H 8D", "c1-w c3-w c7-w"),
        ("9H", "TS TC 8S 8C TD 8H 9S 7S", "c1-w c2-w c3-w c4-w"),
        ("QH", "JS JC JD JH AS AC QS 2S", "c1-w c2-w"),  # no wrap: kings are out
        ("AD", "2S 2C 2H 2D QS QC AS JS", "c1-w c2-w"),  # no wrap
        ("2S", "AD AH AC AS 3D 3H 3S 3C", "c1-w c2-w c5-w c6-w"),
    ],
)
def test_kw2_one_higher_or_lower_of_the_other_colour_no_wrap(waste, ends, moves):
    position = kings_way("|".join(ends.split()), waste=waste)
    assert position.legal() == tuple(moves.split())


def test_kw2_the_direction_may_change_with_every_card():
    """The source's example: 9 on 10, then 10 or 8."""
    position = kings_way("9H | TC | 8C", waste="TS")
    position = position.apply("c1-w").position
    assert position.legal() == ("c2-w", "c3-w")
    up = position.apply("c2-w").position
    assert up.waste == cards("TS 9H TC")
    down = position.apply("c3-w").position
    assert down.waste == cards("TS 9H 8C")


def test_kw2_only_the_end_card_and_only_on_the_top_of_the_waste():
    assert legal(columns="9H 3C | 2C 9H", waste="TS 4C") == ()
    assert legal(columns="9H 3C | 2C 9H", waste="4C TS") == ("c2-w",)


def test_kw2_nothing_goes_onto_an_empty_waste():
    assert legal(columns="AS | 2H | QD", stock="3C") == ("turn",)
    assert legal(columns="AS | 2H | QD") == ()


def test_kw2_equal_rows_are_all_listed():
    assert legal(columns="9H | 9H | | 9D", waste="TS") == ("c1-w", "c2-w", "c4-w")


# KW3


def test_kw3_the_card_above_is_turned_at_once_and_playable():
    position = kings_way("2C 8S 9H", waste="TS")
    assert position.board().piles["c1"] == Pile(2, ("9H",))
    position, changes = position.apply("c1-w")
    assert changes == (Moved("9H", "c1", "w"), Revealed("8S", "c1"))
    assert position.board().piles["c1"] == Pile(1, ("8S",))
    assert position.legal() == ("c1-w",)


def test_kw3_nothing_is_turned_above_the_last_card():
    position, changes = kings_way(f"9H | {REST}", waste="TS").apply("c1-w")
    assert changes == (Moved("9H", "c1", "w"),)
    assert position.board().piles["c1"] == Pile(0, ())
    assert position.board().piles["k1"] == Pile(0, ("KH",))


# KW4


@pytest.mark.parametrize("ace", cards("AC AS AD AH"))
@pytest.mark.parametrize("waste", ["", "9H"])
@pytest.mark.parametrize(
    ("columns", "shows"),
    [
        ("2D 3C | 2H 3C | 2C 3D | 2S 3D", ""),  # twos of all suits, all face down
        ("6C | 2D", "D"),
        ("6C | 3H 2H", "H"),
        ("2C | 6C", "C"),
        ("6C | | | | | | | 2S", "S"),
        ("2C | 2S | 2D | 2H", "CSDH"),
        ("3C | 3S | 3D | 3H", ""),
    ],
)
def test_kw4_an_ace_is_set_aside_unless_a_two_of_the_other_colour_shows(ace, waste, columns, shows):
    position = kings_way(columns, stock=f"{ace} 7C", waste=waste)
    stays = any((suit in "DH") != (ace[1] in "DH") for suit in shows)
    after, changes = position.apply("turn")
    assert changes == (Moved(ace, "s", "w" if stays else "a"),)
    assert after.waste == cards(waste) + ((ace,) if stays else ())
    assert after.aces == (() if stays else (ace,))
    assert after.stock == ("7C",)
    assert after.board() == position.board().after(changes, after.turns)


def test_kw4_a_two_on_the_waste_or_in_the_stock_does_not_show():
    position = kings_way(REST, stock="AS 2H", waste="3C 2H")
    assert position.apply("turn").position.aces == ("AS",)


def test_kw4_the_waste_keeps_its_old_top():
    position = kings_way("8S", stock="AS", waste="9H")
    assert position.apply("turn").position.legal() == ("c1-w", "redeal")


def test_kw4_an_empty_waste_stays_empty_and_takes_nothing():
    position = kings_way("2S", stock="AS 4C").apply("turn").position
    assert (position.waste, position.aces, position.legal()) == ((), ("AS",), ("turn",))


def test_kw4_an_ace_on_the_waste_may_be_covered_by_the_two():
    position = kings_way("3C 2H", stock="AS").apply("turn").position
    assert position.legal() == ("c1-w",)
    position = position.apply("c1-w").position
    assert position.waste == cards("AS 2H")
    assert position.legal() == ("c1-w",)  # then the black three, as in the source


def test_kw4_an_ace_on_the_waste_may_be_buried_by_the_next_turn():
    position = kings_way("2H", stock="AS 9C").apply("turn").position
    assert position.legal() == ("c1-w", "turn")
    position = position.apply("turn").position
    assert (position.waste, position.legal()) == (cards("AS 9C"), ())


def test_kw4_other_cards_are_never_set_aside():
    for card in cards("2H 2C TD QS 3H"):
        assert kings_way(REST, stock=card).apply("turn").position.waste == (card,)


# KW5


def test_kw5_an_ace_in_a_column_only_goes_onto_a_two_of_the_other_colour():
    aces = "AS | AC | AD | AH"
    assert legal(columns=aces, waste="2H") == ("c1-w", "c2-w")
    assert legal(columns=aces, waste="2C") == ("c3-w", "c4-w")
    for waste in cards("3H AD AS QH"):
        assert legal(columns=aces, waste=waste) == ()


def test_kw5_from_a_column_an_ace_is_never_set_aside():
    position, changes = kings_way(f"AS | {REST}", waste="2H").apply("c1-w")
    assert changes == (Moved("AS", "c1", "w"),)
    assert (position.waste, position.aces) == (cards("2H AS"), ())
    position, changes = kings_way("AS 2H", stock="7C", waste="3C").apply("c1-w")
    assert changes[1] == Revealed("AS", "c1")
    assert position.columns[0] == ("AS",)


# KW6


def test_kw6_the_packet_is_dealt_again_in_the_order_in_which_it_was_laid():
    position = kings_way(REST, waste="3D 9H JC 4S 8D", aces="AS AD AH")
    assert position.legal() == ("redeal",)
    position, changes = position.apply("redeal")
    assert changes == (Packed("w", "s", 3),)
    assert encoded(changes) == b'[{"count":3,"do":"pack","from":"w","to":"s"}]'
    assert position.waste == cards("3D 9H")
    assert position.aces == cards("AS AD AH")
    assert position.board().piles["s"] == Pile(3, ())
    assert position.turns == (2, 3, 0)
    for card in cards("JC 4S 8D"):
        assert position.legal() == ("turn",)
        position, changes = position.apply("turn")
        assert changes == (Moved(card, "s", "w"),)
    assert position.waste == cards("3D 9H JC 4S 8D")


def test_kw6_the_new_top_is_playable_at_once():
    position = kings_way("8S", waste="9H 4D", aces="AS")
    assert position.legal() == ("redeal",)
    position = position.apply("redeal").position
    assert position.legal() == ("c1-w", "turn")


def test_kw6_plays_need_not_be_exhausted():
    assert legal(columns="8S", waste="4D 9H", aces="AS") == ("c1-w", "redeal")


def test_kw6_needs_an_empty_stock_an_ace_aside_and_the_first_deal():
    assert legal(columns=REST, stock="3C", waste="9H", aces="AS") == ("turn",)
    assert legal(columns=REST, waste="9H") == ()
    assert legal(columns=REST, waste="9H AS") == ()  # an ace on the waste does not count
    assert legal(columns=REST, waste="9H", aces="AS", pass_=2) == ()


def test_kw6_the_whole_waste_when_it_is_just_so_many():
    position = kings_way(REST, waste="9H 4D", aces="AS AD").apply("redeal").position
    assert (position.waste, position.stock) == ((), cards("9H 4D"))
    assert position.legal() == ("turn",)


# KW7


def test_kw7_second_deal_an_ace_that_lay_on_the_waste_is_set_aside_now():
    """In the first deal a two showed; it has gone since."""
    position = kings_way("3C 2H", stock="AC AS 9D")
    position = position.apply("turn").position.apply("turn").position
    assert position.waste == cards("AC AS")
    position = position.apply("c1-w").position.apply("turn").position
    position = position._replace(columns=((REST,), *position.columns[1:]), aces=("AH",) * 3)
    position = position.apply("redeal").position
    assert position.stock == cards("AS 2H 9D")
    position, changes = position.apply("turn")
    assert changes == (Moved("AS", "s", "a"),)
    assert (position.waste, position.aces) == (("AC",), cards("AH AH AH AS"))


def test_kw7_second_deal_an_ace_stays_on_the_waste_while_a_two_shows():
    position = kings_way("2H | 6C", stock="AS", waste="9D", aces="AD", pass_=2)
    position = position.apply("turn").position
    assert position.legal() == ("c1-w",)
    assert (position.waste, position.aces) == (cards("9D AS"), ("AD",))


def test_kw7_there_is_no_third_deal():
    position = kings_way(REST, stock="AS", waste="9H 4D", aces="AD", pass_=2)
    position = position.apply("turn").position
    assert position.aces == cards("AD AS")
    assert position.turns == (2, 0, 0)
    assert position.legal() == ()


# KW8


def test_kw8_solved_when_the_columns_are_empty_even_with_cards_left():
    position = kings_way("9H", stock="3C 4D", waste="TS", aces="AS")
    assert not position.solved
    position = position.apply("c1-w").position
    assert position.solved
    assert position.score == GAME.goal == 40
    assert position.legal() == ()
    with pytest.raises(IllegalMove):
        position.apply("turn")


def test_kw8_solved_in_the_first_deal_there_is_no_redeal():
    assert legal(waste="TS", aces="AS") == ()


def test_kw8_stuck():
    position = kings_way("9H | 8C", waste="KS")
    assert (position.legal(), position.solved, position.score) == ((), False, 38)


def test_kw8_score_counts_cleared_cards_only():
    position = kings_way("9H 8C | 3D", stock="7H", waste="AS 2D", aces="AS")
    assert position.score == 37
    assert position.apply("turn").position.score == 37


def test_kw8_the_longest_game_has_105_moves():
    """56 turns, all eight aces aside, a redeal of eight, and forty plays at the very end."""
    assert GAME.max_moves == 56 + 1 + 8 + 40


# Notation


@pytest.mark.parametrize(
    "move",
    ["", "TURN", "turn ", "c1", "c0-w", "c9-w", "C1-w", "c1-a", "w-c1", "k1-w", "undo", "c01-w"],
)
def test_nothing_else_is_a_move(move):
    position = kings_way("9H | | | | | | | 9H", stock="3C", waste="TS")
    with pytest.raises(IllegalMove) as refused:
        position.apply(move)
    assert (refused.value.move, refused.value.legal) == (move, ("c1-w", "c8-w", "turn"))
