"""The topic `me`: what happens to a player, for a client that watches nothing else."""

from tests.contract.live import begun, finish, lobby, start
from tests.contract.shapes import INSTANT, PLAY, PLAYER, RACE, exactly

EVENT = {"op": {"event"}, "topic": {"me"}, "v": {0}}


async def _me(socket):
    assert (await socket.watch("me"))["v"] == 0
    frame = await socket.expect("snapshot", topic="me")
    exactly(frame["data"], {"type": {"me"}, "player": PLAYER, "races": [RACE], "plays": [PLAY]})
    return frame["data"]


async def test_nobody_has_none(nobody):
    async with nobody.socket() as socket:
        await socket.send({"op": "watch", "topic": "me"})
        assert (await socket.expect("error", topic="me"))["code"] == "not-visible"


async def test_a_race_from_its_countdown_to_the_first_move(guest, rival):
    async with guest.socket() as socket:
        assert await _me(socket) == {"type": "me", "player": guest.player, "races": [], "plays": []}
        race = (await lobby(rival, guest))["id"]
        await rival.post(f"/v1/races/{race}/start")
        frame = await socket.expect("event", type="countdown")
        data = {"type": {"countdown"}, "race": {race}, "starts_at": INSTANT}
        exactly(frame, {**EVENT, "data": data})
        frame = await socket.expect("event", type="play-started")
        exactly(frame, {**EVENT, "data": {"type": {"play-started"}, "race": {race}, "play": PLAY}})
        play = frame["data"]["play"]
        assert (play["ply"], play["race"], play["player"]) == (0, race, guest.player)
        assert play["deal"]["seed"] is None
        # Everything for the first move is there.
        assert (await socket.move(play["id"], 1, play["legal"][-1]))["op"] == "ack"
        told = await rival.get(f"/v1/races/{race}")
        assert told["starts_at"] == play["started_at"]
        heard = [f["data"]["type"] for f in await socket.still() if f["op"] == "event"]
        assert heard == ["countdown", "play-started"]
    await finish(race, rival, guest)


async def test_every_socket_of_the_player_and_nobody_elses(guest, rival, stranger):
    async with guest.socket() as one, guest.socket() as two, stranger.socket() as other:
        for socket in (one, two, other):
            await _me(socket)
        race = await begun(guest, rival)
        for socket in (one, two):
            frame = await socket.expect("event", type="play-started")
            assert frame["data"]["race"] == race
        assert [f["op"] for f in await other.still()] == ["ready", "watching", "snapshot", "pong"][
            :-1
        ]


async def test_what_is_on_when_one_comes(guest, rival):
    waiting = await lobby(guest, rival)
    running = await begun(rival, guest)
    left = await lobby(rival, guest)
    await guest.delete(f"/v1/races/{left['id']}/entrants/me")
    async with guest.socket() as socket:
        told = await _me(socket)
        assert [race["id"] for race in told["races"]] == [running, waiting["id"]]
        assert [race["state"] for race in told["races"]] == ["running", "lobby"]
        (play,) = told["plays"]
        assert told["races"][0]["me"]["play"] == play["id"]
        # What it was told already it is not told again.
        await start(guest, waiting["id"])
        frame = await socket.expect("event", type="play-started")
        assert frame["data"]["race"] == waiting["id"]
        await finish(running, guest, rival)
        heard = [f for f in await socket.still() if f["op"] == "event"]
        assert [f["data"]["type"] for f in heard] == ["countdown", "play-started"]
    async with guest.socket() as socket:
        told = await _me(socket)
        assert [race["id"] for race in told["races"]] == [waiting["id"]]


async def test_one_who_leaves_in_the_countdown_has_no_play(patient, client):
    from tests.contract.conftest import guest_of

    host, other = [await guest_of(patient, client) for _ in range(2)]
    async with host.socket() as staying, other.socket() as leaving:
        for socket in (staying, leaving):
            await _me(socket)
        race = (await lobby(host, other))["id"]
        await host.post(f"/v1/races/{race}/start")
        for socket in (staying, leaving):
            await socket.expect("event", type="countdown")
        await other.delete(f"/v1/races/{race}/entrants/me")
    async with host.socket() as staying, other.socket() as leaving:
        assert [race["state"] for race in (await _me(staying))["races"]] == ["countdown"]
        assert (await _me(leaving))["races"] == []
        # It is in the snapshot: the countdown is no news.
        assert [f for f in await staying.still() if f["op"] == "event"] == []
    await host.post(f"/v1/races/{race}/cancel")


async def test_a_practice_play_is_no_news(guest):
    async with guest.socket() as socket:
        await _me(socket)
        await guest.post("/v1/plays", {"game": "kings-way"}, status=201)
        assert [f for f in await socket.still() if f["op"] == "event"] == []
    async with guest.socket() as socket:
        assert (await _me(socket))["plays"] == []


async def test_a_token_that_is_revoked_elsewhere(guest):
    made = await guest.post("/v1/tokens", {"scopes": ["play"]}, status=201)
    async with guest.socket() as socket:
        await _me(socket)
        await guest.delete(f"/v1/tokens/{made['id']}", status=204)
        frame = await socket.expect("event", type="token-revoked")
        exactly(frame, {**EVENT, "data": {"type": {"token-revoked"}, "token": {made["id"]}}})
