"""The socket: who it speaks for, what it watches, and what it says to each frame."""

import contextlib

import pytest

from tests.client import Caller
from tests.contract.live import finish, lobby
from tests.contract.shapes import (
    DELTA,
    INSTANT,
    MOVE,
    PLAY,
    PLAYER,
    RACE,
    either,
    exactly,
    natural,
)

READY = {"op": {"ready"}, "player": either(None, PLAYER), "server_time": INSTANT}


@pytest.fixture
async def play(guest):
    return await guest.post("/v1/plays", {"game": "kings-way", "seed": "1"}, status=201)


async def test_ready_at_once_and_again_after_auth(nobody, guest):
    async with nobody.socket() as socket:
        ready = await socket.expect("ready")
        exactly(ready, {**READY, "player": None})
        await socket.send({"op": "auth", "token": guest.token})
        ready = await socket.expect("ready")
        exactly(ready, READY)
        assert ready["player"] == guest.player
    async with guest.socket() as socket:
        assert (await socket.expect("ready"))["player"] == guest.player


async def test_auth_is_only_the_first_frame(nobody, guest):
    async with nobody.socket() as socket:
        await socket.expect("ready")
        await socket.still()
        await socket.send({"op": "auth", "token": guest.token})
        assert (await socket.expect("error"))["code"] == "malformed"
        # It lives on, and speaks for nobody.
        assert (await socket.move("AZrQ2k3vcAAAAAAAAAAAAA", 1, "turn"))["code"] == "unauthorized"


async def test_a_bad_token_is_told_and_closes(nobody, service, client, guest):
    for token in ("nonsense", "sd_" + "x" * 43, "\x00", "é"):
        async with nobody.socket() as socket:
            await socket.expect("ready")
            await socket.send({"op": "auth", "token": token}, {"op": "ping"})
            assert (await socket.expect("error"))["code"] == "bad-token"
            assert await socket.close_code() == 4003
            assert "pong" not in {frame["op"] for frame in socket.heard}
    async with Caller(service, client, None, "nonsense").socket() as socket:
        assert (await socket.expect("error"))["code"] == "bad-token"
        assert await socket.close_code() == 4003


async def test_a_player_has_eight_sockets(service, guest, rival, nobody):
    url = service.urls[0]
    async with contextlib.AsyncExitStack() as stack:
        sockets = [await stack.enter_async_context(guest.socket(url)) for _ in range(8)]
        for socket in sockets:
            await socket.expect("ready")
        async with guest.socket(url) as ninth:
            assert (await ninth.expect("error"))["code"] == "too-many-sockets"
            assert await ninth.close_code() == 1008
        async with rival.socket(url) as other:
            await other.still()
        for socket in sockets:
            await socket.still()
        # The eighth may say again whose it is; and one that becomes another's makes room.
        await sockets[0].connection.close()
        async with guest.socket(url) as eighth:
            await eighth.expect("ready")
            await eighth.send({"op": "auth", "token": guest.token})
            assert (await eighth.expect("ready"))["player"] == guest.player
            await eighth.still()
        async with guest.socket(url) as turncoat:
            await turncoat.expect("ready")
            await turncoat.send({"op": "auth", "token": rival.token})
            assert (await turncoat.expect("ready"))["player"] == rival.player
            async with guest.socket(url) as eighth:
                assert (await eighth.expect("ready"))["player"] == guest.player
                await eighth.still()


async def test_pings(nobody):
    async with nobody.socket() as socket:
        for mark in ("a", 5, None, "x" * 40):
            await socket.send({"op": "ping"} if mark is None else {"op": "ping", "id": mark})
            pong = await socket.expect("pong")
            shape = {"op": {"pong"}, "server_time": INSTANT}
            exactly(pong, shape if mark is None else {**shape, "id": {mark}})


async def test_watching_ones_own_play(guest, play):
    topic = f"play:{play['id']}"
    await guest.post(f"/v1/plays/{play['id']}/moves", {"ply": 1, "move": "turn"})
    async with guest.socket() as socket, guest.socket() as other:
        await socket.send({"op": "watch", "topic": topic})
        await socket.still()
        assert [frame["op"] for frame in socket.heard[:3]] == ["ready", "watching", "snapshot"]
        exactly(socket.heard[1], {"op": str, "topic": {topic}, "v": {1}})
        snapshot = socket.heard[2]
        exactly(
            snapshot, {"op": str, "topic": {topic}, "v": {1}, "data": {"type": {"play"}, **PLAY}}
        )
        # Moves of another socket come as events, one's own as acks: together every ply once.
        ack = await socket.move(play["id"], 2, "turn", "mine")
        exactly(
            ack, {"op": {"ack"}, "play": {play["id"]}, "id": {"mine"}, "ply": {2}, "data": DELTA}
        )
        await other.move(play["id"], 3, "c5-w", "others")
        event = await socket.expect("event", topic=topic)
        exactly(event, {"op": str, "topic": str, "v": {3}, "data": {"type": {"move"}, **DELTA}})
        await guest.post(f"/v1/plays/{play['id']}/moves", {"ply": 4, "move": "undo"})
        undo = await socket.expect("event", v=4)
        assert "changes" not in undo["data"]
        assert undo["data"]["board"] == (await guest.get(f"/v1/plays/{play['id']}"))["board"]
        await guest.post(f"/v1/plays/{play['id']}/resign")
        ended = await socket.expect("event", v=5)
        assert (ended["data"]["type"], ended["data"]["move"]) == ("play-ended", "resign")


async def test_a_move_that_ends_a_play_says_so_in_its_status(guest):
    play = await guest.post("/v1/plays", {"game": "kings-way", "seed": "contract"}, status=201)
    legal, ply = play["legal"], 0
    async with guest.socket() as moving, guest.socket() as watching:
        await watching.watch(f"play:{play['id']}")
        while legal:
            ply += 1
            legal = (await moving.move(play["id"], ply, legal[0]))["data"]["legal"]
        last = await watching.expect("event", v=ply)
        assert (last["data"]["type"], last["data"]["status"]) == ("move", "stuck")
        await watching.still()
        events = [frame["v"] for frame in watching.heard if frame["op"] == "event"]
        assert events == list(range(1, ply + 1))


async def test_unwatch_and_watch_again(guest, play):
    topic = f"play:{play['id']}"
    async with guest.socket() as socket:
        await socket.watch(topic)
        await socket.send({"op": "unwatch", "topic": topic})
        exactly(await socket.expect("unwatched"), {"op": str, "topic": {topic}})
        await guest.post(f"/v1/plays/{play['id']}/moves", {"ply": 1, "move": "turn"})
        assert [f for f in await socket.still() if f["op"] == "event"] == []
        assert (await socket.watch(topic, 0))["v"] == 1
        await socket.expect("event", v=1)
        # What was not watched is unwatched all the same.
        for other in ("race:AZrQ2k3vcAAAAAAAAAAAAA", "lobby"):
            await socket.send({"op": "unwatch", "topic": other})
            await socket.expect("unwatched", topic=other)


async def test_what_cannot_be_watched(nobody, guest, play):
    async with nobody.socket() as socket:
        for topic, code in (
            ("play:AZrQ2k3vcAAAAAAAAAAAAA", "not-found"),
            ("race:AZrQ2k3vcAAAAAAAAAAAAA", "not-found"),
            ("play:x", "not-found"),
            ("race:1", "not-found"),
            (f"play:{play['id']}", "not-visible"),
        ):
            await socket.send({"op": "watch", "topic": topic})
            error = await socket.expect("error")
            exactly(error, {"op": str, "code": {code}, "detail": str, "topic": {topic}})
        for topic in (
            "",
            "play",
            "play:",
            "play:é",
            "x:1",
            "PLAY:x",
            "race:" + "x" * 41,
            "lobby:x",
        ):
            await socket.send({"op": "watch", "topic": topic})
            error = await socket.expect("error")
            assert error["code"] in ("malformed", "not-found"), topic
        for since in (-1, 2**60, 1.5, "1", True):
            await socket.send({"op": "watch", "topic": f"play:{play['id']}", "since": since})
            assert (await socket.expect("error"))["code"] == "malformed"


async def test_a_socket_watches_so_many_topics(guest):
    races = [await lobby(guest) for _ in range(2)]
    async with guest.socket() as socket:
        await socket.watch(f"race:{races[0]['id']}")
        plays = []
        for _ in range(5):
            play = await guest.post("/v1/plays", {"game": "kings-way"}, status=201)
            plays.append(play["id"])
        for play in plays * 2:  # again is not one more
            await socket.watch(f"play:{play}")
        topics = [f"play:{play}" for play in plays]
        for topic in topics:
            await socket.send({"op": "unwatch", "topic": topic})
            await socket.expect("unwatched", topic=topic)


async def test_one_socket_many_topics(guest, rival, play):
    race = (await lobby(guest, rival))["id"]
    async with rival.socket() as watching, guest.socket() as mine:
        await mine.watch(f"play:{play['id']}")
        await mine.watch(f"race:{race}")
        await watching.watch(f"race:{race}")
        await mine.move(play["id"], 1, "turn")
        await rival.patch(f"/v1/races/{race}/entrants/me", {"ready": True})
        for socket in (mine, watching):
            event = await socket.expect("event", topic=f"race:{race}")
            assert event["data"]["type"] == "entrant-ready"
        # Nothing of the one's play to the other.
        for frame in await watching.still():
            assert frame.get("topic") in (None, f"race:{race}")


async def test_progress_of_a_race_and_nothing_more(guest, rival, nobody):
    race = (await lobby(guest, rival))["id"]
    topic = f"race:{race}"
    async with guest.socket() as mine, nobody.socket() as watching:
        await mine.watch(topic)
        await watching.watch(topic)
        await guest.post(f"/v1/races/{race}/start")
        play = (await mine.expect("event", type="started"))["data"]["play"]
        for ply in range(1, 31):
            await mine.move(play["id"], ply, "turn")
        score = 0
        while True:
            progress = await watching.expect("progress", topic=topic)
            exactly(progress, {"op": str, "topic": {topic}, "data": dict})
            assert progress["data"].keys() == {guest.id}
            told = progress["data"][guest.id]
            exactly(told, {"score": natural, "ply": natural, "status": {"playing"}})
            assert told["ply"] > score
            score = told["ply"]
            if score == 30:
                break
        # Of cards and moves a spectator has been told nothing.
        for frame in watching.heard:
            assert frame["op"] in ("ready", "watching", "snapshot", "event", "progress")
            assert frame["op"] != "event" or frame["data"]["type"] in ("countdown", "started")
            assert "board" not in str(frame)
            assert '"up"' not in str(frame)
        await finish(race, guest, rival)


async def test_a_snapshot_of_a_race_is_the_rest_object(guest, rival, nobody):
    race = (await lobby(guest, rival))["id"]
    for caller in (guest, nobody):
        async with caller.socket() as socket:
            await socket.watch(f"race:{race}")
            data = (await socket.expect("snapshot"))["data"]
            exactly(data, {"type": {"race"}, **RACE})
            del data["type"]
            assert data == await caller.get(f"/v1/races/{race}")


async def test_rejects_have_their_shape(guest, play):
    async with guest.socket() as socket:
        stale = await socket.move(play["id"], 5, "turn")
        shape = {"op": {"reject"}, "play": {play["id"]}, "id": str, "code": str, "detail": str}
        exactly(stale, {**shape, "ply": {0}})
        illegal = await socket.move(play["id"], 1, "c1-w")
        exactly(illegal, {**shape, "ply": {0}, "legal": [MOVE]})
        missing = await socket.move("AZrQ2k3vcAAAAAAAAAAAAA", 1, "turn")
        exactly(missing, {**shape, "play": str, "ply": None})
        assert missing["code"] == "not-found"
