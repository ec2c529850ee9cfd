"""How bots play Royal Mullein. Bringing a card home is always right here; what costs moves is the
rest: a card put into an auxiliary row takes one move more, and so does one turned again.
"""

import random
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from service.bots.messages import Board
from service.bots.sampling import clearly_best, hopeful, unseen
from service.rules.cards import RANK, RED

Legal = tuple[str, ...]

GAME = "royal-mullein"
NEAR = 2
"""A card so few ranks above its family soon goes home from the waste."""
UNSOLVED = 60
"""What it costs, in moves, not to get home."""
SURE = 1.0
ROUND = 8
"""After so many deals what has no hope is left out."""
PASSES = 3

ACE, KING = 1, 13
ODD = 32
"""Cards as numbers: the rank and, for those that only families of odd reds take, this."""


def easy(board: Board, legal: Legal) -> str:
    """Home what goes home, else on; the rows only in the last pass, which else would not go out."""
    on = ("-l",) if board.pass_ == PASSES else ("turn", "redeal")
    return next(filter(None, (_first(legal, part) for part in ("-f", *on))), legal[0])


def steady(board: Board, legal: Legal) -> str:
    """Free the waste: home from there first, then into a row that goes on, then into an empty one,
    but for a card that is needed soon and blocks none beneath it."""
    home = _first(legal, "w-f") or _first(legal, "-f")
    aside = [move for move in legal if "-l" in move]
    if home or not aside:
        return home or legal[0]
    continued = [move for move in aside if board.piles[move[2:]].up]
    if continued:
        return continued[0]
    on = _first(legal, "turn") or _first(legal, "redeal")
    if on is None:
        return aside[0]
    *beneath, top = map(_number, board.piles["w"].up)
    return on if _may_wait(top, beneath, _tops(board)) else aside[0]


def sharp(
    board: Board, legal: Legal, known: Sequence[str], worlds: Iterable[int], rng: random.Random
) -> str:
    """Put aside, or go on? What comes to fewer moves, over many deals of the hidden cards."""
    usual = steady(board, legal)
    if "-f" in usual:
        return usual
    moves = _different(board, legal, usual)
    if len(moves) < 2:
        return usual
    hidden, known = unseen(GAME, board, known)
    numbers = [_number(card) for card in hidden]
    below = [_number(card) for card in reversed(known)]
    values: dict[str, list[float]] = {move: [] for move in moves}
    for number in worlds if len(numbers) > 1 else (0,):  # when all is known, one is enough
        rng.shuffle(numbers)
        for move, value in values.items():
            value.append(-_after(board, move, below + numbers).played_out())
        if number % ROUND == ROUND - 1:
            values = hopeful(usual, values)
            if len(values) == 1:
                return usual
    return clearly_best(usual, values, SURE)


def _first(legal: Legal, part: str) -> str | None:
    return next((move for move in legal if part in move), None)


def _number(card: str) -> int:
    rank = RANK[card]
    return rank + ODD * ((card[1] in RED) != (rank % 2 == 1))


def _tops(board: Board) -> list[int]:
    """How many families end with the card of each number."""
    tops = [0] * (2 * ODD)
    for name, pile in board.piles.items():
        if name[0] == "f":
            tops[_number(pile.up[-1])] += 1
    return tops


def _may_wait(top: int, beneath: Sequence[int], tops: Sequence[int]) -> bool:
    """Whether the waste's top is needed soon and before all that lies beneath it."""
    rank = top % ODD
    first = top - rank
    highest = max((at for at in range(2, KING) if tops[first + at]), default=2)
    return rank - highest <= NEAR and not any(other % ODD < rank for other in beneath)


def _different(board: Board, legal: Legal, usual: str) -> list[str]:
    """The moves that are not alike: of the rows only one that is empty, and one of each end."""
    kinds: dict[object, str] = {}
    for move in (usual, *legal):
        if "-f" in move:
            continue
        row = board.piles[move[2:]].up if "-l" in move else ()
        kind: object = _number(row[-1]) if row else move[:3]
        kinds.setdefault(kind, move)
    return list(kinds.values())


class _Row:
    """An auxiliary row: what counts is where it begins and where it ends."""

    def __init__(self, low: int, high: int) -> None:
        self.low = low
        self.high = high


class _World(NamedTuple):
    """A position with all cards known. The stock's next card lies last; all lists get used up."""

    tops: list[int]
    rows: list[_Row]
    places: int
    waste: list[int]
    stock: list[int]
    left: int
    pass_: int

    def played_out(self) -> int:
        """How many moves it takes `steady` to get home, and more if that fails."""
        tops, rows, places, waste, stock, left, pass_ = self
        count = 0
        while True:
            count += _homeward(tops, rows, waste) if pass_ > 1 else _off(tops, waste)
            if waste:
                top = waste[-1]
                row = next((row for row in rows if row.low == top + 1), None)
                stays = not left and pass_ == PASSES
                if row is not None:
                    row.low = waste.pop()
                    count += 1
                    continue
                if len(rows) < places and (stays or not _may_wait(top, waste[:-1], tops)):
                    rows.append(_Row(top, waste.pop()))
                    count += 1
                    continue
            if left:
                card = stock.pop()
                left -= 1
                if card % ODD == ACE:  # RM2
                    places += 1
                else:
                    waste.append(card)
            elif pass_ == 1 or (pass_ < PASSES and waste):  # RM7
                stock = waste[::-1] + stock
                waste = []
                left = len(stock)
                pass_ += 1
            else:
                home = tops[KING] + tops[ODD + KING] == 8
                return count if home else count + UNSOLVED
            count += 1


def _off(tops: list[int], waste: list[int]) -> int:
    """Bring home from the waste what goes; how many moves that took."""
    count = 0
    while waste and tops[waste[-1] - 1]:
        card = waste.pop()
        tops[card - 1] -= 1
        tops[card] += 1
        count += 1
    return count


def _homeward(tops: list[int], rows: list[_Row], waste: list[int]) -> int:
    """The same, and from the rows; one card of a row at a time, for the waste goes first."""
    count = _off(tops, waste)
    at = 0
    while at < len(rows):
        row = rows[at]
        if not tops[row.low - 1]:
            at += 1
            continue
        tops[row.low - 1] -= 1
        tops[row.low] += 1
        if row.low == row.high:
            del rows[at]
        else:
            row.low += 1
        count += 1 + _off(tops, waste)
        at = 0
    return count


def _after(board: Board, move: str, stock: list[int]) -> _World:
    """The world after a move. `stock` is consumed: its next card lies last."""
    piles = board.piles
    rows = {
        name: _Row(_number(pile.up[-1]), _number(pile.up[0]))
        for name, pile in piles.items()
        if name[0] == "l" and pile.up
    }
    places = sum(bool(pile.up) for name, pile in piles.items() if name[0] == "a")
    waste = [_number(card) for card in piles["w"].up]
    left, pass_ = board.pass_left, board.pass_
    if move == "turn":
        card = stock.pop()
        left -= 1
        if card % ODD == ACE:
            places += 1
        else:
            waste.append(card)
    elif move == "redeal":
        stock = waste[::-1] + stock
        waste, left, pass_ = [], len(stock), pass_ + 1
    else:
        card = waste.pop()
        row = rows.setdefault(move[2:], _Row(card, card))
        row.low = card
    return _World(_tops(board), list(rows.values()), places, waste, stock, left, pass_)
