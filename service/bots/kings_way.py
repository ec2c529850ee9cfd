"""How bots play King's Way. Clearing cards is always right here; which one first is the question."""

import random
from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from service.bots.messages import Board
from service.bots.sampling import clearly_best, counts, hopeful, unseen
from service.rules.cards import NEXT_TO, RANK, RED

Legal = tuple[str, ...]
Column = list[str]

GAME = "kings-way"
CHAIN = 0.3
"""What another card that can follow at once is worth, in cards of a column's height."""
CHANCE = 0.2
"""What a card loses for each unseen card onto which it could go later."""
SOLVED = 10.0
"""What it is worth to clear the last card, in cards."""
SURE = 1.0
ROUND = 24
"""After so many deals what has no hope is left out."""

_TWOS_FOR = {
    ace: frozenset(two for two in RANK if two[0] == "2" and (two[1] in RED) != (ace[1] in RED))
    for ace in RANK
    if ace[0] == "A"
}


def easy(_board: Board, legal: Legal) -> str:
    """The leftmost card that goes."""
    return legal[0]


def steady(board: Board, legal: Legal) -> str:
    """Tall columns first, where a chain goes on, and cards that will hardly find a place later."""
    clearing = [move for move in legal if move[0] == "c"]
    if len(clearing) < 2:
        return legal[0]
    hidden, _ = unseen(GAME, board, ())
    chances = _chances(hidden)
    tops = {name: pile.up[-1] for name, pile in board.piles.items() if name[0] == "c" and pile.up}

    def worth(move: str) -> float:
        name = move[:2]
        rest = {other: card for other, card in tops.items() if other != name}
        return (
            board.piles[name].down
            + CHAIN * _longest_chain(tops[name], rest)
            - CHANCE * chances[tops[name]]
        )

    return max(clearing, key=worth)


def sharp(
    board: Board, legal: Legal, known: Sequence[str], worlds: Iterable[int], rng: random.Random
) -> str:
    """What comes to most over many deals of the hidden cards; to go on may be better than to clear
    what will still fit later."""
    usual = steady(board, legal)
    if len(legal) < 2:
        return usual
    hidden, known = unseen(GAME, board, known)
    chances = {card: CHANCE * chance for card, chance in _chances(hidden).items()}
    piles = board.piles
    columns = [name for name in piles if name[0] == "c" and piles[name].up]
    values: dict[str, list[float]] = {move: [] for move in legal}
    for number in worlds:
        rng.shuffle(hidden)
        left = iter(hidden)
        deal = {
            name: [*(next(left) for _ in range(piles[name].down)), piles[name].up[-1]]
            for name in columns
        }
        stock = [*reversed(known), *left]
        for move, value in values.items():
            world = {name: column[:] for name, column in deal.items()}
            remains = _after(board, move, world, stock[:]).played_out(chances)
            value.append(-remains if remains else SOLVED)
        if number % ROUND == ROUND - 1:
            values = hopeful(usual, values)
            if len(values) == 1:
                return usual
    return clearly_best(usual, values, SURE)


def _chances(hidden: list[str]) -> dict[str, int]:
    """By card: how many unseen ones it could go onto."""
    count = counts(hidden)
    return {card: sum(count.get(other, 0) for other in NEXT_TO[card]) for card in RANK}


def _longest_chain(top: str, columns: dict[str, str]) -> int:
    """How many of these end cards can follow one another onto `top`."""
    longest = 0
    for name, card in columns.items():
        if card in NEXT_TO[top]:
            rest = {other: end for other, end in columns.items() if other != name}
            longest = max(longest, 1 + _longest_chain(card, rest))
    return longest


class _World(NamedTuple):
    """A position with all cards known. Next cards lie last; all lists get used up."""

    columns: list[Column]
    stock: Column
    waste: Column
    aces: int
    pass_: int

    def played_out(self, chances: Mapping[str, float]) -> int:
        """Cards that remain when tall columns go first, less what `chances` says of their ends."""
        columns, stock, waste, aces, pass_ = self
        while columns:
            best = _tallest(columns, waste[-1], chances) if waste else None
            if best is not None:
                waste.append(best.pop())
                if not best:
                    columns = [column for column in columns if column]
            elif stock:
                aces += _turn(columns, stock, waste)
            elif aces and pass_ == 1:
                stock, pass_ = _redeal(waste, aces), 2
            else:
                break
        return sum(map(len, columns))


def _after(board: Board, move: str, columns: dict[str, Column], stock: Column) -> _World:
    """The world after a move; `columns` and `stock` are consumed."""
    waste, aces, pass_ = list(board.piles["w"].up), len(board.piles["a"].up), board.pass_
    if move == "turn":
        aces += _turn(list(columns.values()), stock, waste)
    elif move == "redeal":
        stock, pass_ = _redeal(waste, aces), 2
    else:
        waste.append(columns[move[:2]].pop())
    return _World([column for column in columns.values() if column], stock, waste, aces, pass_)


def _tallest(columns: list[Column], top: str, chances: Mapping[str, float]) -> Column | None:
    fits = NEXT_TO[top]
    best, most = None, -1000.0
    for column in columns:
        card = column[-1]
        if card in fits:
            worth = len(column) - chances[card]
            if worth > most:
                best, most = column, worth
    return best


def _turn(columns: list[Column], stock: Column, waste: Column) -> bool:
    """Turn a card; whether it is an ace set aside (`KW4`)."""
    card = stock.pop()
    twos = _TWOS_FOR.get(card)
    if twos and not any(column[-1] in twos for column in columns):
        return True
    waste.append(card)
    return False


def _redeal(waste: Column, aces: int) -> Column:
    """Take the packet (`KW6`) off the waste: the new stock."""
    cut = len(waste) - min(aces, len(waste))
    packet = waste[cut:]
    del waste[cut:]
    return packet[::-1]
