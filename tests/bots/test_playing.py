"""Playing a play out: what ends it, and what never begins."""

import pytest

from service.bots.client import Client
from service.bots.messages import Board
from service.bots.playing import NoStart, play_out, started_play
from tests.bots.conftest import Home


async def test_who_is_not_through_in_time_resigns(home: Home) -> None:
    async with await Client.guest(home.address) as me, me.socket() as socket:
        play = await me.practise("kings-way", "1")

        async def first(_board: Board, legal: tuple[str, ...]) -> str:
            return legal[0]

        play = await play_out(me, socket, play, first, pause=lambda: 0.05, patience=0.3)
        assert play.status == "resigned"
        assert 1 < play.ply < 20


async def test_a_race_that_is_called_off_is_not_waited_for(home: Home) -> None:
    async with await Client.guest(home.address) as me, me.socket() as socket:
        race = await me.create_race("kings-way")
        await me.cancel(race.id)
        with pytest.raises(NoStart):
            await started_play(me, race.id, socket)
