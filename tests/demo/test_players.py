"""The built-in players: they play by what they see, whatever the deal."""

import random

import msgspec
import pytest

from service.bots.messages import Board
from service.demo.players import HABITS, Habit
from service.rules import GAMES, start

SEEDS = [str(n) for n in range(12)]


@pytest.mark.parametrize("game", GAMES)
@pytest.mark.parametrize("habit", HABITS, ids=lambda habit: habit.name)
def test_every_habit_plays_to_the_end(habit: Habit, game: str) -> None:
    rng = random.Random(1)
    for seed in SEEDS:
        position = start(game, seed)
        while legal := position.legal():
            shown = msgspec.convert(msgspec.to_builtins(position.board()), Board)
            move = habit.choose(shown, legal, rng)
            assert move in legal
            position = position.apply(move).position


@pytest.mark.parametrize("game", GAMES)
def test_the_habits_differ(game: str) -> None:
    lines = set()
    for habit in HABITS:
        rng, position, line = random.Random(1), start(game, "2"), []
        while legal := position.legal():
            shown = msgspec.convert(msgspec.to_builtins(position.board()), Board)
            line.append(habit.choose(shown, legal, rng))
            position = position.apply(line[-1]).position
        lines.add(tuple(line))
    assert len(lines) == len(HABITS)
