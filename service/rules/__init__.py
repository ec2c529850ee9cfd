"""The two games: cards, deals, positions and moves. Pure; knows no player, clock or store."""

import functools

from service.rules import kings_way, royal_mullein
from service.rules.cards import Card, Deck
from service.rules.deal import DEAL_VERSION, check_seed, commitment, shuffled
from service.rules.game import Game, IllegalMove, Position, UnknownGame

RULES_VERSION = 1

GAMES: dict[str, Game] = {
    game.name: game for game in (kings_way.KINGS_WAY, royal_mullein.ROYAL_MULLEIN)
}


def game_named(name: str) -> Game:
    """The game of that name, or `UnknownGame`."""
    try:
        return GAMES[name]
    except KeyError:
        raise UnknownGame(name) from None


@functools.lru_cache(maxsize=512)
def start(game: str, seed: str) -> Position:
    """The position of the deal (game, seed) before the first move.

    >>> start("kings-way", "1").legal()
    ('turn',)
    """
    rules = game_named(game)
    return rules.lay_out(shuffled(rules.name, rules.deck, seed))


__all__ = [
    "DEAL_VERSION",
    "GAMES",
    "RULES_VERSION",
    "Card",
    "Deck",
    "Game",
    "IllegalMove",
    "Position",
    "UnknownGame",
    "check_seed",
    "commitment",
    "game_named",
    "shuffled",
    "start",
]
