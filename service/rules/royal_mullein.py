"""Royal Mullein (Königskerze, Molène royale): build eight families. Rulings `RM1`–`RM8`."""

from typing import NamedTuple

from service.rules.cards import ONE_ABOVE, ONE_BELOW, Card, Deck, two_packs_without
from service.rules.game import Board, Game, IllegalMove, Moved, Packed, Pile, Step, Turns

ROWS = 8
FIRST_PASS = 30
PASSES = 3
GOAL = 96
TWOS: Deck = ("2H", "2S", "2D", "2C", "2H", "2S", "2D", "2C")

_ROW = tuple(range(ROWS))
_FAMILIES = tuple((two,) for two in TWOS)
_TO_FAMILY = tuple(f"w-f{n + 1}" for n in _ROW)
_TO_LEFT = tuple(f"w-l{n + 1}" for n in _ROW)
_HOME = tuple(tuple(f"l{n + 1}-f{m + 1}" for m in _ROW) for n in _ROW)
_ROWS_FOR_ACE = {
    ace: tuple(n for n in _ROW if TWOS[n] in ONE_ABOVE[ace]) for ace in ("AC", "AD", "AH", "AS")
}


class RoyalMullein(NamedTuple):
    """A position: each pile bottom first, but the stock with the next card first."""

    stock: tuple[Card, ...]
    waste: tuple[Card, ...] = ()
    families: tuple[tuple[Card, ...], ...] = _FAMILIES
    aces: tuple[Card | None, ...] = (None,) * ROWS
    left: tuple[tuple[Card, ...], ...] = ((),) * ROWS
    pass_: int = 1
    pass_left: int = FIRST_PASS

    @property
    def score(self) -> int:
        """Aces placed and family cards beyond the twos, 0–96."""
        return sum(map(len, self.families)) - self.aces.count(None)

    @property
    def solved(self) -> bool:
        """`RM8`: all 96 cards are home."""
        return self.score == GOAL

    @property
    def turns(self) -> Turns:
        return Turns(self.pass_, self.pass_left, PASSES - self.pass_)

    def legal(self) -> tuple[str, ...]:
        moves: list[str] = []
        left = self.left
        tops = [family[-1] for family in self.families]
        if self.pass_ > 1:  # RM5
            for n in _ROW:
                if left[n]:
                    below = ONE_BELOW[left[n][-1]]
                    if not below.isdisjoint(tops):  # most rows fit nowhere
                        moves += [_HOME[n][m] for m in _ROW if tops[m] in below]
        if self._may_redeal():
            moves.append("redeal")
        if self.pass_left:
            moves.append("turn")
        if self.waste:
            top = self.waste[-1]
            below, above = ONE_BELOW[top], ONE_ABOVE[top]
            moves += [_TO_FAMILY[n] for n in _ROW if tops[n] in below]  # RM3
            moves += [  # RM4
                _TO_LEFT[n]
                for n in _ROW
                if self.aces[n] is not None and (not left[n] or left[n][-1] in above)
            ]
        return tuple(moves)

    def _may_redeal(self) -> bool:
        """`RM7`: pass 1 ends even with an empty waste, pass 2 needs something to redeal."""
        if self.pass_left:
            return False
        return self.pass_ == 1 or (self.pass_ == 2 and bool(self.waste))

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
        stock, waste, families, aces, left, pass_, pass_left = self
        source, target = move.split("-")
        m = int(target[1]) - 1
        if source == "w":
            card, waste = waste[-1], waste[:-1]
        else:
            n = int(source[1]) - 1
            card, left = left[n][-1], _put(left, n, left[n][:-1])
        if target[0] == "f":
            families = _put(families, m, (*families[m], card))
        else:
            left = _put(left, m, (*left[m], card))
        after = RoyalMullein(stock, waste, families, aces, left, pass_, pass_left)
        return Step(after, (Moved(card, source, target),))

    def _turn(self) -> Step:
        stock, waste, families, aces, left, pass_, pass_left = self
        card, stock = stock[0], stock[1:]
        if card in _ROWS_FOR_ACE:  # RM2: the topmost two of the other colour without an ace
            n = next(n for n in _ROWS_FOR_ACE[card] if aces[n] is None)
            aces, to = (*aces[:n], card, *aces[n + 1 :]), f"a{n + 1}"
        else:
            waste, to = (*waste, card), "w"
        after = RoyalMullein(stock, waste, families, aces, left, pass_, pass_left - 1)
        return Step(after, (Moved(card, "s", to),))

    def _redeal(self) -> Step:
        """`RM7`: the waste goes face down under the stock, the card laid first is turned first."""
        stock = self.stock + self.waste
        after = self._replace(stock=stock, waste=(), pass_=self.pass_ + 1, pass_left=len(stock))
        return Step(after, (Packed("w", "s", len(self.waste)),))

    def board(self) -> Board:
        piles = {"s": Pile(len(self.stock), ()), "w": Pile(0, self.waste)}
        for n in _ROW:
            ace = self.aces[n]
            piles[f"f{n + 1}"] = Pile(0, self.families[n])
            piles[f"a{n + 1}"] = Pile(0, (ace,) if ace is not None else ())
            piles[f"l{n + 1}"] = Pile(0, self.left[n])
        return Board(piles, *self.turns)


def _put(
    piles: tuple[tuple[Card, ...], ...], n: int, pile: tuple[Card, ...]
) -> tuple[tuple[Card, ...], ...]:
    return (*piles[:n], pile, *piles[n + 1 :])


def lay_out(cards: Deck) -> RoyalMullein:
    """The twos start the families; all 96 cards are the stock."""
    return RoyalMullein(stock=cards, pass_left=min(FIRST_PASS, len(cards)))


ROYAL_MULLEIN = Game(
    name="royal-mullein",
    titles={
        "en": "Royal Mullein",
        "de": "Königskerze",
        "fr": "Molène royale",
        "ru": "Королевская свеча",
    },
    goal=GOAL,
    goal_text=(
        "Under every two an ace of the other colour, beside it the family up to the king in "
        "alternating colours, and no card left in an auxiliary row: all 96 cards home."
    ),
    piles={
        "s": "stock",
        "w": "waste",
        **{f"f{n}": "family" for n in range(1, ROWS + 1)},
        **{f"a{n}": "place of the ace" for n in range(1, ROWS + 1)},
        **{f"l{n}": "auxiliary row" for n in range(1, ROWS + 1)},
    },
    rules=(
        "RM1 There are three passes; the first is 30 cards only.",
        (
            "RM2 turn: an ace slides at once under the topmost two of the other colour that has no "
            "ace yet; any other card goes onto the waste."
        ),
        (
            "RM3 w-fN: the waste's top goes onto a family if it is of the other colour and one "
            "rank higher than the family's last card."
        ),
        (
            "RM4 w-lN: the waste's top goes into auxiliary row N if an ace lies in that row, and "
            "the row is empty or the card is of the other colour and one rank lower than its last "
            "card."
        ),
        (
            "RM5 lN-fM: after the first redeal the last card of an auxiliary row goes onto a "
            "family that it fits."
        ),
        (
            "RM6 The waste's top may be played in every pass. Nothing moves from a family, from an "
            "ace's place, between auxiliary rows, or back to the waste."
        ),
        (
            "RM7 redeal: when pass 1 has turned its 30 cards, and when the stock is empty and the "
            "waste is not in pass 2, the waste is slid face down, unshuffled, under the stock: the "
            "card laid first is turned first. The next pass goes through everything."
        ),
        "RM8 Solved when all 96 cards are home; stuck when no move is legal before that.",
    ),
    deck=two_packs_without("2"),
    lay_out=lay_out,
    max_moves=399,
    ranking="moves",
)
