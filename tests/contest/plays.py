"""Plays to test with."""

from service.contest.play import Header, Play, begin
from service.contest.player import Player

ANNA = Player("anna", "Anna", "human")
BORIS = Player("boris", "Boris", "guest")


def header(game="kings-way", seed="1", *, race=None, deadline_at=None, player=ANNA, id_="play"):
    mode = "practice" if race is None else "race"
    return Header(id_, game, 1, seed, "c" * 64, 1, mode, player, race, 1_000, deadline_at)


def played(play: Play, *moves: str) -> Play:
    """The play after some moves, a hundred milliseconds each."""
    for move in moves:
        play, _delta = play.after(move, play.at_ms + 100)
    return play


def played_out(play: Play) -> Play:
    """The play after taking whatever is first, to its end."""
    while not play.over:
        play = played(play, play.legal[0])
    return play


def practice(**options) -> Play:
    return begin(header(**options))


def in_race(**options) -> Play:
    return begin(header(**{"race": "race", "deadline_at": 61_000, **options}))
