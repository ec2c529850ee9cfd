"""Resuming: nothing is lost, told twice or done twice when wires break and servers restart."""

import asyncio
import json
from typing import Any

import pytest
from websockets.asyncio.server import ServerConnection, serve

from service.bots.client import Client
from service.bots.messages import Delta, Lost, Play, Race, RaceEvent, Refused
from service.bots.socket import Socket
from tests.bots.conftest import Home
from tests.bots.races import PATIENCE_S, both_resign, events_until, wire_to


async def test_a_cut_wire_leaves_no_gap_in_a_race(home: Home, soon: None) -> None:
    async with (
        wire_to(home) as (wire, address),
        await Client.guest(home.address) as host,
        await Client.guest(home.address) as rival,
        Client(address) as onlooker,
        onlooker.socket() as socket,
    ):
        race = await host.create_race("kings-way")
        feed = await socket.watch_race(race.id)
        first = await anext(feed)
        assert isinstance(first, Race)
        assert first.v == race.v == feed.v
        await rival.join(race.id)
        joined = await anext(feed)
        assert isinstance(joined, RaceEvent)
        assert (joined.type, joined.v) == ("entrant-joined", first.v + 1)
        wire.cut()
        for player in (host, rival):
            await player.ready(race.id)
        await both_resign(race.id, host, rival)
        wire.mend()
        events = await events_until(feed, "race-ended")
        assert [event.v for event in events] == [*range(joined.v + 1, events[-1].v + 1)]
        assert events[-1].v == (await host.race(race.id)).v
        assert [event.type for event in events] == [
            *("entrant-ready", "entrant-ready", "countdown", "started"),
            *("entrant-ended", "entrant-ended", "race-ended"),
        ]
        assert socket.reconnections >= 1


async def test_many_cuts_in_a_game_lose_and_repeat_nothing(home: Home, soon: None) -> None:
    """Every eighth move has its wire cut, before, while or after it is heard; a second socket, cut
    with it, sees every one."""
    async with (
        wire_to(home) as (wire, address),
        await Client.guest(home.address) as nobody,
        Client(address, nobody.player, nobody.token) as me,
        me.socket() as socket,
        me.socket() as watching,
    ):
        play = held = await me.practise("kings-way", "1")
        feed = await watching.watch_play(play.id, since=0)
        cuts = 0
        while not play.over:
            moving = asyncio.create_task(socket.move(play.id, play.ply + 1, play.legal[0]))
            if play.ply % 8 == 7:
                await _turns_of_the_loop(cuts)
                wire.cut()
                asyncio.get_running_loop().call_later(0.05, wire.mend)
                cuts += 1
            play = play.after(await asyncio.wait_for(moving, PATIENCE_S))
        seen = []
        async with asyncio.timeout(PATIENCE_S):
            async for news in feed:
                assert isinstance(news, Delta)
                seen.append(news.ply)
                held = held.after(news)
                if held.over:
                    break
        assert seen == [*range(1, play.ply + 1)]
        now = await nobody.play(play.id)
        assert now.board == play.board == held.board
        assert (now.ply, now.status, now.score) == (play.ply, play.status, play.score)
        assert cuts > 5
        # No move is answered without a wire, so only the last cut may still be waited out.
        assert socket.reconnections >= cuts - 1


async def _turns_of_the_loop(number: int) -> None:
    for _ in range(number):
        await asyncio.sleep(0)


async def test_a_move_whose_answer_was_lost_is_made_once(home: Home, soon: None) -> None:
    async with (
        wire_to(home) as (wire, address),
        await Client.guest(home.address) as nobody,
        Client(address, nobody.player, nobody.token) as me,
        me.socket() as socket,
    ):
        play = await nobody.practise("kings-way", "1")
        feed = await socket.watch_play(play.id)
        assert isinstance(await anext(feed), Play)
        wire.hold_replies()
        moving = asyncio.create_task(socket.move(play.id, 1, "turn", "the-first"))
        async with asyncio.timeout(PATIENCE_S):
            while (await nobody.play(play.id)).ply == 0:  # noqa: ASYNC110
                await asyncio.sleep(0.02)
        assert not moving.done()
        wire.cut()
        wire.mend()
        delta = await asyncio.wait_for(moving, PATIENCE_S)
        assert delta == await anext(feed)
        assert delta.ply == (await nobody.play(play.id)).ply == 1
        # The same over REST, and then on with the next: the feed has no second first.
        assert await nobody.move(play.id, 1, "turn", "the-first") == delta
        second = await socket.move(play.id, 2, "turn")
        assert await anext(feed) == second


async def test_moves_may_be_sent_without_waiting(home: Home, soon: None) -> None:
    async with (
        wire_to(home) as (wire, address),
        await Client.guest(home.address) as nobody,
        Client(address, nobody.player, nobody.token) as me,
        me.socket() as socket,
    ):
        play = await nobody.practise("kings-way", "1")
        wire.hold_replies()
        moves = [
            asyncio.create_task(socket.move(play.id, ply, "turn", f"m{ply}")) for ply in (1, 2, 3)
        ]
        await asyncio.sleep(0.1)
        wire.cut()
        wire.mend()
        deltas = await asyncio.wait_for(asyncio.gather(*moves), PATIENCE_S)
        assert [delta.ply for delta in deltas] == [1, 2, 3]
        assert (await nobody.play(play.id)).ply == 3


@pytest.mark.parametrize("how", ["stop", "kill"])
async def test_a_restart_is_lived_through(how: str, home: Home, soon: None) -> None:
    async with (
        await Client.guest(home.address) as me,
        me.socket() as socket,
    ):
        race = await me.create_race("royal-mullein", capacity=2)
        feed = await socket.watch_race(race.id)
        assert isinstance(await anext(feed), Race)
        play = await me.practise("royal-mullein", "1")
        for _ in range(3):
            play = play.after(await socket.move(play.id, play.ply + 1, "turn"))
        await asyncio.to_thread(home.stop if how == "stop" else home.kill)
        moving = asyncio.create_task(socket.move(play.id, play.ply + 1, "turn"))
        await asyncio.sleep(0.3)
        await asyncio.to_thread(home.start)
        play = play.after(await asyncio.wait_for(moving, PATIENCE_S))
        assert play.board == (await me.play(play.id)).board
        await me.ready(race.id)
        await me.start(race.id)
        events = await events_until(feed, "started")
        assert [event.v for event in events] == [*range(race.v + 1, race.v + 4)]
        # The start brings the whole play: its first move may be made at once.
        own = events[-1].play
        assert own is not None
        assert own.board is not None
        assert own.after(await socket.move(own.id, 1, own.legal[0])).ply == 1
        await me.resign(own.id)
        assert (await events_until(feed, "race-ended"))[-1].total == 1


async def test_a_feed_may_begin_where_an_earlier_one_ended(home: Home) -> None:
    """A feed that begins at a version gets what came after it, and no snapshot."""
    async with await Client.guest(home.address) as me, me.socket() as socket:
        race = await me.create_race("kings-way")
        await me.ready(race.id)
        await me.ready(race.id, False)
        feed = await socket.watch_race(race.id, since=race.v)
        told = [await anext(feed), await anext(feed)]
        assert [(news.type, news.v, news.ready) for news in told] == [
            ("entrant-ready", race.v + 1, True),
            ("entrant-ready", race.v + 2, False),
        ]
        await feed.close()
        with pytest.raises(StopAsyncIteration):
            await anext(feed)
        again = await socket.watch_race(race.id)
        assert isinstance(await anext(again), Race)


async def test_a_revoked_token_is_the_end(home: Home, soon: None) -> None:
    async with await Client.guest(home.address) as me, me.socket() as socket:
        race = await me.create_race("kings-way")
        feed = await socket.watch_race(race.id)
        assert isinstance(await anext(feed), Race)
        await me.logout()
        with pytest.raises(Refused) as refused:
            await asyncio.wait_for(anext(feed), PATIENCE_S)
        assert refused.value.code == "token-revoked"
        with pytest.raises(Refused):
            await socket.watch_race(race.id)
        assert socket.reconnections == 0


async def test_a_service_that_is_away_is_given_up(
    home: Home, soon: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("service.bots.socket.PATIENCE_SECONDS", 0.5)
    async with wire_to(home) as (wire, address), Client(address) as me, me.socket() as socket:
        feed = await socket.watch_race("no-matter")
        wire.cut()
        with pytest.raises((Lost, Refused)):
            await asyncio.wait_for(anext(feed), PATIENCE_S)
        with pytest.raises(Lost):
            await me.race("no-matter")


class Script:
    """A service of which everything can be said in advance, for what a real one seldom does."""

    def __init__(self, code: int) -> None:
        self.code = code
        self.heard: list[dict[str, Any]] = []

    async def __call__(self, connection: ServerConnection) -> None:
        await connection.send(json.dumps({"op": "ready", "player": None}))
        self.heard.append(json.loads(await connection.recv()))
        topic = self.heard[-1]["topic"]

        async def event(v: int) -> None:
            data = {"type": "of-a-kind-not-known-yet", "whatever": [v]}
            await connection.send(json.dumps({"op": "event", "topic": topic, "v": v, "data": data}))

        if "since" in self.heard[-1]:
            for v in (6, 7, 8):  # 6 is known already
                await event(v)
            await connection.wait_closed()
            return
        race = {"id": "r", "game": "g", "deal": {"commitment": "c"}, "state": "s", "total": 0}
        told = {"v": 3, "data": {"type": "race", "v": 3, "entrants": [], "more": {}, **race}}
        await connection.send(json.dumps({"op": "snapshot", "topic": topic, **told}))
        await event(4)
        await connection.send(json.dumps({"op": "news", "data": {"of": "a later version"}}))
        await event(6)  # 5 is missing
        self.heard.append(json.loads(await connection.recv()))
        for v in (5, 6):
            await event(v)
        await connection.close(self.code)


@pytest.mark.parametrize("code", [1001, 1011, 1012, 4008, 4999])
async def test_after_most_closes_it_resumes_where_it_was(code: int, soon: None) -> None:
    script = Script(code)
    async with serve(script, "127.0.0.1", 0) as server:
        address = f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1/ws"
        async with Socket(address, None, direct=True) as socket:
            feed = await socket.watch_race("r")
            async with asyncio.timeout(PATIENCE_S):
                assert [(await anext(feed)).v for _ in range(6)] == [3, 4, 5, 6, 7, 8]
    assert [frame.get("since") for frame in script.heard] == [None, 4, 6]


@pytest.mark.parametrize("code", [1008, 1009, 4001, 4003])
async def test_after_some_closes_it_does_not_come_back(code: int, soon: None) -> None:
    script = Script(code)
    async with serve(script, "127.0.0.1", 0) as server:
        address = f"ws://127.0.0.1:{server.sockets[0].getsockname()[1]}/v1/ws"
        async with Socket(address, None, direct=True) as socket:
            feed = await socket.watch_race("r")
            async with asyncio.timeout(PATIENCE_S):
                assert [(await anext(feed)).v for _ in range(4)] == [3, 4, 5, 6]
                with pytest.raises(Refused):
                    await anext(feed)
                with pytest.raises(Refused):
                    await socket.move("p", 1, "turn")
    assert socket.reconnections == 0
