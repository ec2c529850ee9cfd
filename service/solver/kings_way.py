"""King's Way for the search: positions checked and put into bytes, lines back into moves."""

from collections import Counter
from typing import NamedTuple

from service.rules.cards import RANK, RED, Card
from service.rules.kings_way import COLUMNS, KINGS_WAY, ROWS, KingsWay
from service.solver import _kings_way_py as twin
from service.solver.verdict import BadPosition, Verdict

try:
    from service.solver import _kings_way as fast
except ImportError:  # no compiler was there: the twin says the same, later
    fast = None  # type: ignore[assignment]

COMPILED = fast is not None

_MOVES = (*(f"c{n}-w" for n in range(1, COLUMNS + 1)), "turn", "redeal")
_STOCK = 96 - COLUMNS * ROWS


class Coded(NamedTuple):
    """The first arguments of the cores."""

    lengths: bytes
    cards: bytes
    stock: bytes
    waste: bytes
    aces: int
    redeal_left: int


def code(position: KingsWay) -> Coded:
    return Coded(
        bytes(map(len, position.columns)),
        b"".join(map(_bytes, position.columns)),
        _bytes(position.stock),
        _bytes(position.waste),
        len(position.aces),
        2 - position.pass_,
    )


def _bytes(cards: tuple[Card, ...]) -> bytes:
    return bytes((RANK[card] - 1) * 2 + (card[1] in RED) for card in cards)


def check(position: object, reduced: bool = False) -> KingsWay:
    """The position itself, or `BadPosition` with what is wrong with it."""
    if not isinstance(position, KingsWay):
        raise BadPosition("not a position of kings-way")
    if reduced:
        return position
    columns, stock, waste, aces, pass_ = position
    if len(columns) != COLUMNS:
        raise BadPosition(f"there are {COLUMNS} columns")
    if any(len(column) > ROWS for column in columns):
        raise BadPosition(f"a column has at most {ROWS} cards")
    check_cards([*stock, *waste, *aces, *(c for column in columns for c in column)], KINGS_WAY.deck)
    if any(card[0] != "A" for card in aces):
        raise BadPosition("only aces are set aside")
    if pass_ == 1:
        if len(stock) > _STOCK:
            raise BadPosition(f"the stock has at most {_STOCK} cards")
        if not waste and position.score:
            raise BadPosition("cards were cleared, but the waste is empty")
    elif pass_ == 2:
        if not aces:
            raise BadPosition("a redeal needs an ace set aside")
        if len(stock) > len(aces):
            raise BadPosition("the second stock has at most as many cards as aces were set aside")
    else:
        raise BadPosition("the pass is 1 or 2")
    return position


def check_cards(cards: list[Card], deck: tuple[Card, ...]) -> None:
    """Whether these are the cards of the deck, each as often; else `BadPosition`."""
    there, due = Counter(cards), Counter(deck)
    for card in there:
        if card not in due:
            raise BadPosition("a card that is not in the pack")
    for card, n in due.items():
        if there[card] != n:
            raise BadPosition(f"{card} is there {there[card]} times, not {n}")


def search(position: KingsWay, budget: int, tick: twin.Tick | None, python: bool) -> Verdict:
    """The core's verdict on any position, of a reduced deck too."""
    core = twin.search if python or fast is None else fast.search
    status, line, states = core(*code(position), budget, tick)
    moves = tuple(_MOVES[move] for move in line)
    if status == twin.SOLVED:
        return Verdict("solved", moves, states)
    return Verdict("unwinnable" if status == twin.UNWINNABLE else "unknown", (), states)


def ease(position: KingsWay, times: int, python: bool) -> int:
    """Greedy play-outs won."""
    core = twin.ease if python or fast is None else fast.ease
    return core(*code(position), times)
