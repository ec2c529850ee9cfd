"""A deal is (game, seed): the same cards in every language, for ever (`deal_version` 1)."""

import hashlib
import hmac
import re
from collections.abc import Iterator

from service.rules.cards import Deck

DEAL_VERSION = 1

_SEED = re.compile(r"[A-Za-z0-9_-]{1,64}")


class BadSeed(ValueError):
    """A seed is text of 1 to 64 characters from `[A-Za-z0-9_-]`; never a number."""

    def __init__(self) -> None:
        super().__init__("a seed is 1 to 64 characters from A-Z a-z 0-9 _ -")


def check_seed(seed: str) -> str:
    """The seed itself, or `BadSeed` (which does not repeat what it was given)."""
    if not _SEED.fullmatch(seed):
        raise BadSeed
    return seed


def commitment(game: str, seed: str) -> str:
    """What is told of a secret deal beforehand: lower-case hex SHA-256, 64 characters.

    Raises `BadSeed`: nobody can commit to a deal that cannot be dealt.

    >>> commitment("kings-way", "1")[:8]
    'e78f9cb5'
    """
    text = f"samedeal/{DEAL_VERSION}:{game}:{check_seed(seed)}"
    return hashlib.sha256(text.encode()).hexdigest()


def shuffled(game: str, deck: Deck, seed: str) -> Deck:
    """The deck in the order in which the deal (game, seed) deals it; card 0 is dealt first.

    Fisher–Yates from the last card down, driven by HMAC-SHA256 blocks; a word that would
    favour low indices is skipped. Raises `BadSeed`.

    >>> from service.rules.cards import two_packs_without
    >>> shuffled("kings-way", two_packs_without("K"), "1")[:3]
    ('6C', '5S', '4S')
    """
    words = _words(game, check_seed(seed))
    cards = list(deck)
    for i in range(len(cards) - 1, 0, -1):
        n = i + 1
        fair = (1 << 32) // n * n
        word = next(words)
        while word >= fair:
            word = next(words)
        j = word % n
        cards[i], cards[j] = cards[j], cards[i]
    return tuple(cards)


def _words(game: str, seed: str) -> Iterator[int]:
    """An endless stream of 32-bit words; eight big-endian ones a block."""
    block = 0
    while True:
        message = f"samedeal/{DEAL_VERSION}:{game}:{block}".encode()
        digest = hmac.digest(seed.encode(), message, "sha256")
        for at in range(0, 32, 4):
            yield int.from_bytes(digest[at : at + 4], "big")
        block += 1
