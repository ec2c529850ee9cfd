"""Cards as text, rank then suit (`TD`, `AS`), and which fits which.

Only rank and colour matter for play; suits are shown.
"""

Card = str
Deck = tuple[Card, ...]

RANKS = "A23456789TJQK"
SUITS = "CDHS"
RED = "DH"

RANK: dict[Card, int] = {r + s: n for n, r in enumerate(RANKS, 1) for s in SUITS}
"""Rank by card: A = 1 … K = 13."""

ONE_ABOVE: dict[Card, frozenset[Card]] = {
    card: frozenset(
        other
        for other, above in RANK.items()
        if above == rank + 1 and (other[1] in RED) != (card[1] in RED)
    )
    for card, rank in RANK.items()
}
"""By card: the cards of the other colour one rank higher. There is no wrap."""

ONE_BELOW: dict[Card, frozenset[Card]] = {
    card: frozenset(other for other, ups in ONE_ABOVE.items() if card in ups) for card in RANK
}
"""By card: the cards of the other colour one rank lower. There is no wrap."""

NEXT_TO: dict[Card, frozenset[Card]] = {card: ONE_ABOVE[card] | ONE_BELOW[card] for card in RANK}
"""By card: the cards of the other colour one rank higher or lower."""


def two_packs_without(rank: str) -> Deck:
    """The 96 cards that are shuffled, in the order that the deal algorithm starts from.

    >>> two_packs_without("K")[:3]
    ('AC', '2C', '3C')
    """
    return tuple(r + s for _pack in range(2) for s in SUITS for r in RANKS if r != rank)
