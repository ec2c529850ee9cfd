"""`undo` gives back the very play before, however many moves are taken back and made again."""

import random

import msgspec
import pytest

from service.contest.play import Entry, Header, Play, begin, replay
from service.contest.player import Player
from service.rules import GAMES, IllegalMove

HEADER = Header(
    "p", "kings-way", 1, "7", "", 1, "practice", Player("a", "Ann", "human"), None, 0, None
)


def header(game: str) -> Header:
    return msgspec.structs.replace(HEADER, game=game)


def same(one: Play, other: Play) -> bool:
    """But for the place in the log, its time, and that something was undone."""

    def bare(play: Play) -> Play:
        return play._replace(ply=0, at_ms=0, undone=False, past=None)

    return bare(one) == bare(other)


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("seed", range(5))
def test_undo_goes_back_one_move_at_a_time(game: str, seed: int) -> None:
    choose = random.Random(seed)
    play = begin(header(game))
    stack, log = [], []
    for at in range(1, 400):
        if stack and (not play.legal or choose.random() < 0.4):
            move, expected = "undo", stack.pop()
        elif play.legal:
            move, expected = choose.choice(play.legal), None
            stack.append(play)
        else:
            break
        play, delta = play.after(move, at * 10)
        log.append(Entry(at, move, at * 10, f"m{at}", play.score))
        assert play.ply == at
        assert play.can_undo == bool(stack)
        if expected is not None:
            assert same(play, expected)
            assert delta.board == expected.position.board()
    again, _deltas = replay(begin(header(game)), log)
    assert again._replace(past=None) == play._replace(past=None)
    while stack:
        play, _ = play.after("undo", 5_000)
        assert same(play, stack.pop())
    with pytest.raises(IllegalMove):
        play.after("undo", 5_000)
