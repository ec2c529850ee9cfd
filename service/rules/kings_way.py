"""King's Way (Королевский путь): clear the forty cards under the kings. Rulings `KW1`–`KW8`."""

from typing import NamedTuple

from service.rules.cards import NEXT_TO, Card, Deck, two_packs_without
from service.rules.game import (
    Board,
    Change,
    Game,
    IllegalMove,
    Moved,
    Packed,
    Pile,
    Revealed,
    Step,
    Turns,
)

COLUMNS = 8
ROWS = 5
KINGS: Deck = ("KH", "KS", "KD", "KC", "KH", "KS", "KD", "KC")

_PLAYS = tuple((n, f"c{n + 1}-w") for n in range(COLUMNS))
_COLUMN_OF = {move: n for n, move in _PLAYS}
_TWOS_FOR = {"AC": ("2D", "2H"), "AS": ("2D", "2H"), "AD": ("2C", "2S"), "AH": ("2C", "2S")}


class KingsWay(NamedTuple):
    """A position: each pile bottom first, but the stock with the next card first."""

    columns: tuple[tuple[Card, ...], ...]
    stock: tuple[Card, ...]
    waste: tuple[Card, ...] = ()
    aces: tuple[Card, ...] = ()
    pass_: int = 1

    @property
    def score(self) -> int:
        """Column cards cleared, 0–40."""
        return COLUMNS * ROWS - sum(map(len, self.columns))

    @property
    def solved(self) -> bool:
        """`KW8`: the columns are empty, even with cards left in the stock."""
        return not any(self.columns)

    @property
    def turns(self) -> Turns:
        return Turns(self.pass_, len(self.stock), 2 - self.pass_)

    def legal(self) -> tuple[str, ...]:
        if not any(self.columns):
            return ()
        moves: list[str] = []
        if self.waste:  # KW2: nothing goes onto an empty waste
            fits = NEXT_TO[self.waste[-1]]
            for n, move in _PLAYS:
                column = self.columns[n]
                if column and column[-1] in fits:
                    moves.append(move)
        if self.stock:
            moves.append("turn")
        elif self.aces and self.pass_ == 1:
            moves.append("redeal")
        return tuple(moves)

    def apply(self, move: str) -> Step:
        legal = self.legal()
        if move not in legal:
            raise IllegalMove(move, legal)
        return self.apply_unchecked(move)

    def apply_unchecked(self, move: str) -> Step:
        if move == "turn":
            return self._turn()
        if move == "redeal":
            return self._redeal()
        n = _COLUMN_OF[move]
        column = self.columns[n]
        card, rest = column[-1], column[:-1]
        pile = move[:2]
        changes: tuple[Change, ...] = (Moved(card, pile, "w"),)
        if rest:
            changes = (*changes, Revealed(rest[-1], pile))  # KW3
        columns = (*self.columns[:n], rest, *self.columns[n + 1 :])
        return Step(
            KingsWay(columns, self.stock, (*self.waste, card), self.aces, self.pass_), changes
        )

    def _turn(self) -> Step:
        card, stock = self.stock[0], self.stock[1:]
        if card in _TWOS_FOR and not self._shows(_TWOS_FOR[card]):  # KW4, KW7
            return Step(
                KingsWay(self.columns, stock, self.waste, (*self.aces, card), self.pass_),
                (Moved(card, "s", "a"),),
            )
        return Step(
            KingsWay(self.columns, stock, (*self.waste, card), self.aces, self.pass_),
            (Moved(card, "s", "w"),),
        )

    def _shows(self, twos: tuple[Card, ...]) -> bool:
        return any(column and column[-1] in twos for column in self.columns)

    def _redeal(self) -> Step:
        """`KW6`: the packet keeps the order in which it was laid, the lowest is turned first."""
        count = min(len(self.aces), len(self.waste))
        cut = len(self.waste) - count
        return Step(
            KingsWay(self.columns, self.waste[cut:], self.waste[:cut], self.aces, 2),
            (Packed("w", "s", count),),
        )

    def board(self) -> Board:
        piles = {
            "s": Pile(len(self.stock), ()),
            "w": Pile(0, self.waste),
            "a": Pile(0, self.aces),
        }
        for n, column in enumerate(self.columns, 1):
            piles[f"c{n}"] = Pile(max(len(column) - 1, 0), column[-1:])
        for n, king in enumerate(KINGS, 1):
            piles[f"k{n}"] = Pile(0, (king,))
        return Board(piles, *self.turns)


def lay_out(cards: Deck) -> KingsWay:
    """Five rows of eight, row by row; the other 56 cards are the stock."""
    laid = COLUMNS * ROWS
    return KingsWay(
        columns=tuple(cards[n:laid:COLUMNS] for n in range(COLUMNS)), stock=cards[laid:]
    )


KINGS_WAY = Game(
    name="kings-way",
    titles={
        "en": "King's Way",
        "de": "Königsweg",
        "fr": "Le Chemin du roi",
        "ru": "Королевский путь",
    },
    goal=COLUMNS * ROWS,
    goal_text="Clear the way for the kings: all 40 column cards go onto the waste.",
    piles={
        "s": "stock",
        "w": "waste",
        "a": "aces set aside",
        **{f"c{n}": "column" for n in range(1, COLUMNS + 1)},
        **{f"k{n}": "king, never moved" for n in range(1, COLUMNS + 1)},
    },
    rules=(
        "KW1 turn: the next stock card goes face up onto the waste.",
        (
            "KW2 cN-w: the end card of a column goes onto the waste if it is of the other colour "
            "and one rank higher or lower than the waste's top. There is no wrap, and nothing goes "
            "onto an empty waste."
        ),
        "KW3 The card above the one just played is turned face up at once.",
        (
            "KW4 An ace turned from the stock is set aside at once unless a column shows a two of "
            "the other colour; then it goes onto the waste, also onto an empty one."
        ),
        "KW5 An ace in a column can only go onto a two of the other colour.",
        (
            "KW6 redeal: once, when the stock is empty and an ace is set aside, as many cards as "
            "there are aces set aside are taken from the top of the waste and become the stock, "
            "the lowest turned first. The rest of the waste stays in play, the aces stay aside."
        ),
        "KW7 In the second deal aces are treated as in the first; there is no third deal.",
        "KW8 Solved when the columns are empty; stuck when no move is legal before that.",
    ),
    deck=two_packs_without("K"),
    lay_out=lay_out,
    max_moves=105,
    ranking="time",
)
