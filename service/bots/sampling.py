"""What the levels share that sample: the cards not seen, and a choice between noisy means."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from service.bots.messages import Board
from service.rules import GAMES


def unseen(game: str, board: Board, known: Sequence[str]) -> tuple[list[str], tuple[str, ...]]:
    """The cards that lie face down nobody knows where, sorted, and the known ones.

    `known` are the lowest cards of the stock, the next to be turned first; when they cannot be
    (something has been missed), nothing is known.
    """
    hidden = Counter(GAMES[game].deck)
    for name, pile in board.piles.items():
        shown = pile.up[1:] if name[0] == "f" else pile.up  # families begin with an undealt two
        if name[0] != "k":
            hidden.subtract(shown)
    rest = hidden.copy()
    rest.subtract(known)
    if len(known) > board.piles["s"].down or any(count < 0 for count in rest.values()):
        return sorted(hidden.elements()), ()
    return sorted(rest.elements()), tuple(known)


def clearly_best(usual: str, values: Mapping[str, Sequence[float]], sure: float) -> str:
    """The move with the best mean over the same worlds; one other than `usual` must be better by
    `sure` standard errors, for chance alone makes some move look best.

    >>> clearly_best("a", {"a": [1, 1, 1], "b": [2, 2, 3], "c": [0, 9, 0]}, 2.0)
    'b'
    """
    best, gained = usual, 0.0
    for move, value in values.items():
        if move == usual:
            continue
        mean, error = _mean_and_error(
            [mine - its for mine, its in zip(value, values[usual], strict=True)]
        )
        if mean > gained and mean > sure * error:
            best, gained = move, mean
    return best


def hopeful(usual: str, values: Mapping[str, list[float]]) -> dict[str, list[float]]:
    """What is worth more samples: `usual`, and what may yet turn out to be better.

    >>> sorted(hopeful("a", {"a": [5, 5, 5], "b": [5, 6, 5], "c": [1, 2, 1]}))
    ['a', 'b']
    """
    kept = {usual: values[usual]}
    for move, value in values.items():
        gains = [mine - its for mine, its in zip(value, values[usual], strict=True)]
        mean, error = _mean_and_error(gains)
        if mean + error > 0:
            kept[move] = value
    return kept


def _mean_and_error(values: Sequence[float]) -> tuple[float, float]:
    count = len(values)
    mean = sum(values) / count
    return mean, math.sqrt(sum((value - mean) ** 2 for value in values)) / count


def counts(cards: Iterable[str]) -> Mapping[str, int]:
    """How often each card is among them."""
    return Counter(cards)
