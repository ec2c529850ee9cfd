"""How bots play King's Way. Clearing cards is always right here; which one first is the question."""

import random
from collections.abc import Iterable, Mapping, Sequence

from service.bots.messages import Board
from service.bots.sampling import clearly_best, counts, unseen
from service.rules.cards import NEXT_TO, RANK, RED

Legal = tuple[str, ...]
Column = list[str]

GAME = "kings-way"
CHAIN = 0.3
"""What another card that can follow at once is worth, in cards of a column's height."""
CHANCE = 0.2
"""What a card loses for each unseen card onto which it could go later."""
SOLVED = 40.0
"""What it is worth to clear the last card, in cards."""
SURE = 2.0

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
    """The card whose clearing comes to most, over many deals of the hidden cards."""
    usual = steady(board, legal)
    clearing = [move for move in legal if move[0] == "c"]
    if len(clearing) < 2:
        return usual
    hidden, known = unseen(GAME, board, known)
    chances = {card: CHANCE * chance for card, chance in _chances(hidden).items()}
    piles = board.piles
    columns = [name for name in piles if name[0] == "c" and piles[name].up]
    values: dict[str, list[float]] = {move: [] for move in clearing}
    for _ in worlds:
        rng.shuffle(hidden)
        left = iter(hidden)
        deal = {
            name: [*(next(left) for _ in range(piles[name].down)), piles[name].up[-1]]
            for name in columns
        }
        stock = [*reversed(known), *left]
        for move in clearing:
            world = {name: column[:] for name, column in deal.items()}
            waste = [*piles["w"].up, world[move[:2]].pop()]
            remains = _played_out(
                list(world.values()), stock[:], waste, len(piles["a"].up), board.pass_, chances
            )
            values[move].append(SOLVED - remains if remains else 2 * SOLVED)
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


def _played_out(
    columns: list[Column],
    stock: Column,
    waste: Column,
    aces: int,
    pass_: int,
    chances: Mapping[str, float],
) -> int:
    """Cards that remain when tall columns go first. All lists are used up; next card last."""
    columns = [column for column in columns if column]
    while columns:
        if waste:
            fits = NEXT_TO[waste[-1]]
            best, most = None, -100.0
            for column in columns:
                card = column[-1]
                if card in fits:
                    worth = len(column) - chances[card]
                    if worth > most:
                        best, most = column, worth
            if best is not None:
                waste.append(best.pop())
                if not best:
                    columns = [column for column in columns if column]
                continue
        if stock:
            card = stock.pop()
            twos = _TWOS_FOR.get(card)
            if twos and not any(column[-1] in twos for column in columns):  # KW4
                aces += 1
            else:
                waste.append(card)
        elif aces and pass_ == 1:  # KW6
            cut = len(waste) - min(aces, len(waste))
            stock, waste, pass_ = waste[cut:][::-1], waste[:cut], 2
        else:
            break
    return sum(map(len, columns))
