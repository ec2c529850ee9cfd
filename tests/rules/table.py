"""What the tests of the rules share: positions from short text, whole games, a second reading.

`expected_legal` reads the rulings again, slowly, and from a viewer's board alone: it has no access
to a hidden card, and none of the tables of `service.rules.cards`.
"""

from collections import Counter
from collections.abc import Callable
from typing import NamedTuple

import msgspec

from service.rules import GAMES, Position, start
from service.rules.game import Board, Pile, Step
from service.rules.kings_way import KingsWay
from service.rules.royal_mullein import TWOS, RoyalMullein

NAMES = sorted(GAMES)

VOCABULARY = {
    "kings-way": ["turn", "redeal", *(f"c{n}-w" for n in range(1, 9))],
    "royal-mullein": [
        "turn",
        "redeal",
        *(f"w-f{n}" for n in range(1, 9)),
        *(f"w-l{n}" for n in range(1, 9)),
        *(f"l{n}-f{m}" for n in range(1, 9) for m in range(1, 9)),
    ],
}
"""Every move text that a game has, legal in some position."""

PACKS = Counter({rank + suit: 2 for rank in "A23456789TJQK" for suit in "CDHS"})
"""The 104 cards."""


def cards(text: str) -> tuple[str, ...]:
    return tuple(text.split())


def kings_way(
    columns: str = "", stock: str = "", waste: str = "", aces: str = "", pass_: int = 1
) -> KingsWay:
    """Columns from c1 on, separated by `|`, top of the column first; missing ones are empty."""
    laid = [cards(column) for column in columns.split("|")]
    laid += [()] * (8 - len(laid))
    return KingsWay(tuple(laid), cards(stock), cards(waste), cards(aces), pass_)


def royal_mullein(
    stock: str = "",
    waste: str = "",
    families: dict[int, str] | None = None,
    aces: dict[int, str] | None = None,
    left: dict[int, str] | None = None,
    pass_: int = 1,
    pass_left: int | None = None,
) -> RoyalMullein:
    """Rows by their number, 1 to 8; a family is given from its two on."""
    families, aces, left = families or {}, aces or {}, left or {}
    return RoyalMullein(
        cards(stock),
        cards(waste),
        tuple(cards(families.get(n, TWOS[n - 1])) for n in range(1, 9)),
        tuple(aces.get(n) for n in range(1, 9)),
        tuple(cards(left.get(n, "")) for n in range(1, 9)),
        pass_,
        len(cards(stock)) if pass_left is None else pass_left,
    )


def family(row: int, top: str) -> str:
    """The family of a row from its two up to the rank `top`, its colours alternating.

    >>> family(1, "5")
    '2H 3S 4H 5S'
    """
    ranks = "23456789TJQK"
    other = "S" if TWOS[row - 1][1] in "DH" else "H"
    suits = (TWOS[row - 1][1], other)
    return " ".join(rank + suits[n % 2] for n, rank in enumerate(ranks[: ranks.index(top) + 1]))


class Game(NamedTuple):
    """One game from the lay-out to its end: `steps[n]` is what `moves[n]` made."""

    name: str
    seed: str
    moves: list[str]
    steps: list[Step]

    @property
    def positions(self) -> list[Position]:
        """From before the first move; position n is the one after n moves."""
        return [start(self.name, self.seed), *(step.position for step in self.steps)]

    @property
    def end(self) -> Position:
        return self.positions[-1]


Policy = Callable[[Position, tuple[str, ...]], str]


def play(name: str, seed: str, policy: Policy) -> Game:
    """A whole game; fails when it goes on beyond the game's bound."""
    position = start(name, seed)
    moves: list[str] = []
    steps: list[Step] = []
    while legal := position.legal():
        assert len(moves) < GAMES[name].max_moves
        move = policy(position, legal)
        step = position.apply(move)
        position = step.position
        moves.append(move)
        steps.append(step)
    return Game(name, seed, moves, steps)


def is_play(move: str) -> bool:
    """Whether the move plays a card, rather than turning one or redealing."""
    return move not in ("turn", "redeal")


def encoded(value: object) -> bytes:
    """As it is sent: what a viewer could tell apart, and no more."""
    return msgspec.json.encode(value, order="sorted")


def all_cards(position: Position) -> Counter[str]:
    """Every card of a position, hidden ones included, kings and twos that never move too."""
    if isinstance(position, KingsWay):
        piles = [*position.columns, position.stock, position.waste, position.aces]
        kings = [pile.up for name, pile in position.board().piles.items() if name[0] == "k"]
        return Counter(card for pile in (*piles, *kings) for card in pile)
    assert isinstance(position, RoyalMullein)
    piles = [*position.families, *position.left, position.stock, position.waste]
    aces = [ace for ace in position.aces if ace is not None]
    return Counter([*(card for pile in piles for card in pile), *aces])


def _fits(card: str, on: str, *steps: int) -> bool:
    ranks = "A23456789TJQK"
    red = {"D": True, "H": True, "C": False, "S": False}
    away = ranks.index(card[0]) - ranks.index(on[0])
    return away in steps and red[card[1]] != red[on[1]]


def expected_legal(name: str, board: Board) -> list[str]:
    """The legal moves as rules.md has them, worked out from the board alone."""
    piles, moves = board.piles, []
    waste = piles["w"].up
    if name == "kings-way":
        if all(piles[f"c{n}"] == Pile(0, ()) for n in range(1, 9)):
            return []  # KW8
        if piles["s"].down > 0:
            moves.append("turn")  # KW1
        if piles["s"].down == 0 and piles["a"].up and board.redeals_left == 1:
            moves.append("redeal")  # KW6
        for n in range(1, 9):
            column = piles[f"c{n}"].up
            if column and waste and _fits(column[-1], waste[-1], 1, -1):
                moves.append(f"c{n}-w")  # KW2
        return sorted(moves)
    if board.pass_left > 0:
        moves.append("turn")  # RM1
    elif board.redeals_left == 2 or (board.redeals_left == 1 and waste):
        moves.append("redeal")  # RM7
    for m in range(1, 9):
        top = piles[f"f{m}"].up[-1]
        if waste and _fits(waste[-1], top, 1):
            moves.append(f"w-f{m}")  # RM3
        row = piles[f"l{m}"].up
        if waste and piles[f"a{m}"].up and (not row or _fits(waste[-1], row[-1], -1)):
            moves.append(f"w-l{m}")  # RM4
        for n in range(1, 9):
            row = piles[f"l{n}"].up
            if board.pass_ > 1 and row and _fits(row[-1], top, 1):
                moves.append(f"l{n}-f{m}")  # RM5
    return sorted(moves)
