"""Whole games, worked out before anything is timed."""

import functools
import random

from service.rules import GAMES, start

SEEDS = 40
"""Deals of each game that the plays of a run share."""

NAMES = tuple(GAMES)


@functools.cache
def whole_game(game: str, seed: str) -> tuple[str, ...]:
    """The moves of one whole game, chosen at random, always the same."""
    choice = random.Random(f"{game} {seed}").choice
    position, moves = start(game, seed), []
    while legal := position.legal():
        move = choice(legal)
        moves.append(move)
        position = position.apply_unchecked(move).position
    return tuple(moves)


def deals(number: int) -> list[tuple[str, str]]:
    """That many (game, seed), the games by turns."""
    return [(NAMES[n % len(NAMES)], f"bench-{n // len(NAMES) % SEEDS}") for n in range(number)]
