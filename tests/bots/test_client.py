"""The client against a real service: what it learns, and how it is told no."""

import asyncio
import subprocess
import sys

import pytest

from service.bots.client import Client
from service.bots.messages import RaceProgress, Refused
from service.contest.proof import verify
from tests.bots.conftest import Home
from tests.bots.races import PATIENCE_S, both_resign, events_until


def test_it_needs_nothing_of_the_service_itself() -> None:
    rooms = "api accounts feed referee live storage app server settings solver"
    code = (
        "import sys, service.bots.client, service.bots.playing\n"
        f"print([m for m in sys.modules for r in {rooms.split()} if m.startswith('service.' + r)])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.stdout, done.stderr) == ("", "") or done.stdout == "[]\n"


async def test_a_token_that_is_none_is_refused(home: Home) -> None:
    async with Client(home.address, token="nonsense") as me:
        with pytest.raises(Refused) as refused:
            async with me.socket():
                pass
        assert refused.value.code == "bad-token"
        with pytest.raises(Refused) as refused:
            await me.create_race("kings-way")
        assert refused.value.code == "bad-token"


async def test_what_may_not_be_watched_says_so(home: Home) -> None:
    async with (
        await Client.guest(home.address) as me,
        await Client.guest(home.address) as stranger,
        stranger.socket() as socket,
    ):
        play = await me.practise("kings-way")
        feed = await socket.watch_play(play.id)
        with pytest.raises(Refused) as refused:
            await anext(feed)
        assert refused.value.code == "not-visible"
        feed = await socket.watch_race("no-such-race")
        with pytest.raises(Refused) as refused:
            await anext(feed)
        assert refused.value.code == "not-found"
        with pytest.raises(Refused) as refused:
            await socket.move(play.id, 1, "turn")
        assert refused.value.code == "not-your-play"


async def test_a_refused_move_tells_what_helps(home: Home) -> None:
    async with await Client.guest(home.address) as me, me.socket() as socket:
        play = await me.practise("kings-way", "1")
        with pytest.raises(Refused) as refused:
            await socket.move(play.id, 1, "redeal")
        assert (refused.value.code, refused.value.legal) == ("illegal-move", ("turn",))
        with pytest.raises(Refused) as refused:
            await me.move(play.id, 7, "turn")
        assert (refused.value.code, refused.value.ply) == ("ply-conflict", 0)
        turned = play.after(await socket.move(play.id, 1, "turn"))
        undone = turned.after(await socket.move(play.id, 2, "undo"))
        assert undone.board == play.board
        assert undone.ply == 2


async def test_the_pages_of_a_proof_are_joined(home: Home) -> None:
    async with (
        await Client.guest(home.address) as host,
        await Client.guest(home.address) as rival,
        host.socket() as socket,
    ):
        race = await host.create_race("kings-way")
        with pytest.raises(Refused) as refused:
            await host.proof(race.id)
        assert refused.value.code == "race-not-ended"
        feed = await socket.watch_race(race.id)
        await rival.join(race.id)
        for player in (host, rival):
            await player.ready(race.id)
        await both_resign(race.id, host, rival)
        await events_until(feed, "race-ended")
        whole, joined = await host.proof(race.id), await host.proof(race.id, page_size=1)
        assert verify(joined.text) == verify(whole.text)
        assert verify(joined.text).plays == 2
        assert joined.standings == whole.standings == await rival.standings(race.id)
        assert whole.commitment == race.deal.commitment


async def test_progress_of_rivals_is_told_without_their_boards(home: Home) -> None:
    async with (
        await Client.guest(home.address) as host,
        Client(home.address) as onlooker,
        onlooker.socket() as socket,
    ):
        race = await host.create_race("kings-way")
        feed = await socket.watch_race(race.id)
        await host.start(race.id)
        (*_, started) = await events_until(feed, "started")
        assert started.play is None
        play = (await host.race(race.id)).me
        assert play is not None
        assert play.play is not None
        await host.move(play.play, 1, "turn")
        async with asyncio.timeout(PATIENCE_S):
            async for news in feed:
                if isinstance(news, RaceProgress):
                    break
        assert host.player is not None
        assert news.players[host.player.id].ply == 1
        assert (await onlooker.play(play.play)).board is None
        await host.resign(play.play)
