"""Small positions of both games, and what brute force over the rules says of them."""

import random
from collections.abc import Iterator
from typing import Any

from hypothesis import strategies as st

from service.rules.cards import ONE_ABOVE, ONE_BELOW, RANK, two_packs_without
from service.rules.kings_way import KINGS_WAY, KingsWay
from service.rules.royal_mullein import ROWS, TWOS, RoyalMullein

numbers = st.integers(0, 2**32 - 1)
"""Hypothesis chooses the number, the number the position."""


def kings_way(number: int) -> KingsWay:
    """A few low ranks, rich in aces and twos, so that KW4 and the redeal have much to say."""
    rnd = random.Random(number)
    ranks = rnd.choice(["A23", "A234", "A2345", "A23456"])
    share = rnd.choice([0.7, 1.0])
    deck = [
        card
        for card in KINGS_WAY.deck
        if card[0] in ranks and (card[0] in "A2" or rnd.random() < share)
    ]
    rnd.shuffle(deck)

    def take(n: int) -> tuple[str, ...]:
        taken = tuple(deck[:n])
        del deck[:n]
        return taken

    columns = tuple(take(rnd.randint(0, 3)) if n < 5 else () for n in range(8))
    stock, waste = take(rnd.randint(0, 11)), take(rnd.choice([0, 0, 1, 2, 4]))
    aces = tuple(card for card in deck if card[0] == "A")[: rnd.choice([0, 0, 0, 1, 2, 3])]
    return KingsWay(columns, stock, waste, aces, rnd.choice([1, 1, 1, 2]))


def royal_mullein(number: int, low: int = 9) -> RoyalMullein:
    """The end of a game: few cards not yet home, in any disorder; often in the last pass.

    All families have reached `low` as far as there are cards for it.
    """
    rnd = random.Random(number)
    while True:
        pool = [card for card in two_packs_without("2") if card[0] != "A"]
        rnd.shuffle(pool)
        families = []
        for two in TWOS:
            family = [two]
            height = rnd.randint(low, 13)
            while RANK[family[-1]] < height:
                card = next((card for card in pool if card in ONE_ABOVE[family[-1]]), None)
                if card is None:
                    break
                pool.remove(card)
                family.append(card)
            families.append(tuple(family))
        if len(pool) <= 10:
            break
    spare = [card for card in two_packs_without("2") if card[0] == "A"]
    aces: list[str | None] = []
    for two in TWOS:
        ace = next(card for card in spare if two in ONE_ABOVE[card])
        spare.remove(ace)
        aces.append(ace)
    missing = rnd.choice([0, 1, 6, 7, 8, 8])
    stock = [ace for ace in aces[ROWS - missing :] if ace is not None]
    aces[ROWS - missing :] = [None] * missing
    left: list[tuple[str, ...]] = [()] * ROWS
    for n in range(ROWS):
        if aces[n] is not None and pool and rnd.random() < 0.3:
            row = [pool.pop()]
            while rnd.random() < 0.6:
                card = next((card for card in pool if card in ONE_BELOW[row[-1]]), None)
                if card is None:
                    break
                pool.remove(card)
                row.append(card)
            left[n] = tuple(row)
    cut = rnd.randint(0, len(pool))
    waste, stock = tuple(pool[:cut]), stock + pool[cut:]
    rnd.shuffle(stock)
    pass_ = rnd.choice([1, 2, 3, 3, 3])
    pass_left = rnd.randint(0, len(stock)) if pass_ == 1 else len(stock)
    return RoyalMullein(
        tuple(stock), waste, tuple(families), tuple(aces), tuple(left), pass_, pass_left
    )


def jammed_mullein(number: int) -> RoyalMullein:
    """The last pass, jacks beneath kings beneath queens, but for some disorder: often lost."""
    rnd = random.Random(number)
    deck = [card for card in two_packs_without("2") if card[0] in "JQK"]
    waste = sorted(deck, key=lambda card: "JKQ".index(card[0]))
    for _ in range(rnd.randint(0, 6)):
        i, j = rnd.sample(range(len(waste)), 2)
        waste[i], waste[j] = waste[j], waste[i]
    families = []
    for two in TWOS:
        family = [two]
        while RANK[family[-1]] < 10:
            family.append(min(ONE_ABOVE[family[-1]]))
        families.append(tuple(family))
    spare = [card for card in two_packs_without("2") if card[0] == "A"]
    aces = []
    for two in TWOS:
        ace = next(card for card in spare if two in ONE_ABOVE[card])
        spare.remove(ace)
        aces.append(ace)
    cut = rnd.randint(16, len(waste))
    stock = tuple(waste[cut:])
    return RoyalMullein(
        stock, tuple(waste[:cut]), tuple(families), tuple(aces), ((),) * ROWS, 3, len(stock)
    )


def _key(position: Any) -> Any:
    """Rows with an ace are alike, and so are families of one colour: tried once is enough."""
    if isinstance(position, KingsWay):
        return position
    rows = sorted((ace is None, row) for ace, row in zip(position.aces, position.left, strict=True))
    families = sorted((family[0][1] in "DH", len(family)) for family in position.families)
    return position.stock, position.waste, tuple(rows), tuple(families), position.turns


def _after(position: Any) -> Iterator[Any]:
    for move in position.legal():
        yield position.apply_unchecked(move).position


def winnable(start: Any, most: int = 4000) -> bool | None:
    """By trying every way that the rules allow; None when that are too many."""
    seen, todo = {_key(start)}, [start]
    while todo:
        position = todo.pop()
        if position.solved:
            return True
        for after in _after(position):
            if (key := _key(after)) not in seen:
                seen.add(key)
                todo.append(after)
        if len(seen) > most:
            return None
    return False


def shortest(start: Any, most: int = 400) -> int | None:
    """The fewest moves that solve it; None when there are too many ways, or none."""
    level, moves = {_key(start): start}, 0
    while level and len(level) <= most:
        if any(position.solved for position in level.values()):
            return moves
        level = {_key(after): after for one in level.values() for after in _after(one)}
        moves += 1
    return None
