"""Royal Mullein for the search: positions checked and put into bytes, lines back into moves."""

from itertools import pairwise
from typing import NamedTuple

from service.rules.cards import ONE_BELOW, RANK, RED, Card, two_packs_without
from service.rules.royal_mullein import FIRST_PASS, PASSES, ROWS, TWOS, RoyalMullein
from service.solver import _royal_mullein_py as twin
from service.solver.kings_way import check_cards
from service.solver.verdict import BadPosition, Verdict

try:
    from service.solver import _royal_mullein as fast
except ImportError:  # no compiler was there: the twin says the same, later
    fast = None  # type: ignore[assignment]

COMPILED = fast is not None

_DECK = (*two_packs_without("2"), *TWOS)


class Coded(NamedTuple):
    """The first arguments of the cores."""

    cards: bytes
    later: int
    waste_n: int
    home: bytes
    rows: bytes
    open: int
    pass_: int


def _kind(card: Card) -> int:
    """1: the families begun by a red two take it."""
    red = card[1] in RED
    return int(red if RANK[card] % 2 == 0 else not red)


def code(position: RoyalMullein) -> Coded:
    now = position.stock[: position.pass_left]
    later = position.stock[position.pass_left :]
    cards = (*later, *position.waste, *now)
    home = bytearray(22)
    for family in position.families:
        for card in family[1:]:
            home[_kind(card) * 11 + RANK[card] - 3] += 1
    rows = bytearray()
    for row in position.left:
        if row:
            rows += bytes((_kind(row[0]), RANK[row[0]], RANK[row[-1]]))
    return Coded(
        bytes(RANK[card] | (RANK[card] > 1 and _kind(card)) << 4 for card in cards),
        len(later),
        len(position.waste),
        bytes(home),
        bytes(rows),
        ROWS - position.aces.count(None),
        position.pass_,
    )


def check(position: object, reduced: bool = False) -> RoyalMullein:
    """The position itself, or `BadPosition` with what is wrong with it."""
    if not isinstance(position, RoyalMullein):
        raise BadPosition("not a position of royal-mullein")
    if reduced:
        return position
    stock, waste, families, aces, left, pass_, pass_left = position
    if not len(families) == len(aces) == len(left) == ROWS:
        raise BadPosition(f"there are {ROWS} rows")
    cards = [*stock, *waste, *(ace for ace in aces if ace is not None)]
    for pile in (*families, *left):
        cards.extend(pile)
    check_cards(cards, _DECK)
    for two, family in zip(TWOS, families, strict=True):
        if family[:1] != (two,):
            raise BadPosition("a family starts with its two")
        if any(low not in ONE_BELOW[high] for low, high in pairwise(family)):
            raise BadPosition("a family goes up by one, the colours alternating")
    for row, ace in zip(left, aces, strict=True):
        if row and ace is None:
            raise BadPosition("an auxiliary row without its ace has no cards")
        if any(low not in ONE_BELOW[high] for high, low in pairwise(row)):
            raise BadPosition("an auxiliary row goes down by one, the colours alternating")
    free = {"red": False, "black": False}
    for two, ace in zip(TWOS, aces, strict=True):
        colour = "red" if two[1] in RED else "black"
        if ace is None:
            free[colour] = True
        elif ace not in ONE_BELOW[two]:
            raise BadPosition("an ace lies under a two of the other colour")
        elif free[colour]:
            raise BadPosition("an ace lies under the topmost two that is free")
    if any(card[0] == "A" for card in waste):
        raise BadPosition("an ace never lies on the waste")
    _check_pass(len(stock), pass_, pass_left)
    return position


def _check_pass(stock: int, pass_: int, pass_left: int) -> None:
    if not 1 <= pass_ <= PASSES:
        raise BadPosition(f"the pass is 1 to {PASSES}")
    if pass_ == 1:
        if pass_left != FIRST_PASS - (96 - stock) or pass_left < 0:
            raise BadPosition(f"pass 1 turns the first {FIRST_PASS} cards")
    elif pass_left != stock:
        raise BadPosition("passes 2 and 3 turn the whole stock")


def search(
    position: RoyalMullein, budget: int, first_only: bool, tick: twin.Tick | None, python: bool
) -> Verdict:
    """The core's verdict; `first_only` leaves it at the first line found, however long."""
    core = twin.search if python or fast is None else fast.search
    status, line, states = core(*code(position), budget, int(first_only), tick)
    if status == twin.SOLVED:
        return Verdict("solved", tuple(_moves(position, line)), states)
    return Verdict("unwinnable" if status == twin.UNWINNABLE else "unknown", (), states)


def _moves(position: RoyalMullein, line: list[int]) -> list[str]:
    """The core does not tell rows and families apart that are alike; the rules do."""
    moves = []
    for coded in line:
        what, kind, high, low = coded >> 9, coded >> 8 & 1, coded >> 4 & 15, coded & 15
        if what == twin.TURN:
            move = "turn"
        elif what == twin.REDEAL:
            move = "redeal"
        else:
            n = 0
            if what == twin.HOME:
                n = _row(position, kind, high, low)
                card, source = position.left[n][-1], f"l{n + 1}"
            else:
                card, source = position.waste[-1], "w"
            if what == twin.TO_LEFT:
                n = _row(position, kind, high, low) if low > RANK[card] else _empty(position)
                move = f"w-l{n + 1}"
            else:
                family = next(m for m in range(ROWS) if position.families[m][-1] in ONE_BELOW[card])
                move = f"{source}-f{family + 1}"
        moves.append(move)
        position = position.apply_unchecked(move).position
    return moves


def _row(position: RoyalMullein, kind: int, high: int, low: int) -> int:
    return next(
        n
        for n, row in enumerate(position.left)
        if row and (_kind(row[0]), RANK[row[0]], RANK[row[-1]]) == (kind, high, low)
    )


def _empty(position: RoyalMullein) -> int:
    return next(n for n in range(ROWS) if position.aces[n] is not None and not position.left[n])


def ease(position: RoyalMullein, times: int, python: bool) -> int:
    """Greedy play-outs won."""
    core = twin.ease if python or fast is None else fast.ease
    return core(*code(position), times)
