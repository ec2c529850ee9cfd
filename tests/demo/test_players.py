"""The built-in players: they play by what they see, whatever the deal."""

import random

import msgspec
import pytest

from service.demo.client import Client
from service.demo.messages import Board
from service.demo.players import HABITS, Habit, NoStart, play_out, started_play
from service.rules import GAMES, start
from tests.demo.conftest import Home

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


async def test_who_is_not_through_in_time_resigns(home: Home) -> None:
    async with await Client.guest(home.address) as me, me.socket() as socket:
        play = await me.practise("kings-way", "1")
        at = {"seconds_a_move": 0.05, "patience": 0.3}
        play = await play_out(me, socket, play, HABITS[0], random.Random(1), **at)
        assert play.status == "resigned"
        assert 1 < play.ply < 20


async def test_a_race_that_is_called_off_is_not_waited_for(home: Home) -> None:
    async with await Client.guest(home.address) as me, me.socket() as socket:
        race = await me.create_race("kings-way")
        await me.cancel(race.id)
        with pytest.raises(NoStart):
            await started_play(me, race.id, socket)
