"""Live races from their start to their proof, as entrants and everybody else are told of them."""

import asyncio
import hashlib

import msgspec
import pytest

from service.contest.proof import BadProof, verify
from tests.client import board_after, sensible
from tests.contract.live import begun, finish, lobby, start
from tests.contract.shapes import (
    NUMBERS,
    PLAY,
    PROOF,
    RACE,
    STANDINGS,
    exactly,
    problem,
    race_event,
)


def _versions(socket, topic):
    """The versions that a socket was told of a topic, in order; a snapshot starts them anew."""
    told = []
    for frame in socket.heard:
        if frame.get("topic") == topic and frame["op"] == "snapshot":
            told = [frame["v"]]
        elif frame.get("topic") == topic and frame["op"] == "event":
            told.append(frame["v"])
    return told


def _unbroken(versions):
    return versions == list(range(versions[0], versions[0] + len(versions)))


async def _play_out(socket, play, plies=None):
    """Plays sensibly until the end or so many plies; the last delta."""
    legal, ply, delta = play["legal"], play["ply"], None
    while legal and (plies is None or ply < plies):
        ply += 1
        ack = await socket.move(play["id"], ply, sensible(legal), f"p{ply}")
        delta = ack["data"]
        legal = delta["legal"]
    return delta


async def test_a_whole_race(guest, rival, nobody):
    race = (await lobby(guest, rival, time_limit_ms=60_000))["id"]
    topic = f"race:{race}"
    async with guest.socket() as mine, rival.socket() as theirs, nobody.socket() as watching:
        everybody = (mine, theirs, watching)
        for socket in everybody:
            assert (await socket.watch(topic))["v"] == 3
            snapshot = await socket.expect("snapshot", topic=topic)
            exactly({k: v for k, v in snapshot["data"].items() if k != "type"}, RACE)
            assert (snapshot["v"], snapshot["data"]["type"]) == (3, "race")
        await guest.post(f"/v1/races/{race}/start")
        told = {}
        for socket in everybody:
            countdown = await socket.expect("event", type="countdown")
            event = await socket.expect("event", type="started")
            told[socket] = event["data"]
            race_event(event["data"])
            assert event["data"]["starts_at"] == countdown["data"]["starts_at"]
        assert told[watching]["play"] is None
        own, others = told[mine]["play"], told[theirs]["play"]
        for play, caller in ((own, guest), (others, rival)):
            exactly(play, PLAY)
            assert (play["player"], play["race"], play["ply"]) == (caller.player, race, 0)
            assert (play["mode"], play["deal"]["seed"]) == ("race", None)
            assert play["started_at"] == told[watching]["starts_at"]
            assert play["deadline_at"] is not None
            assert play["can_undo"] is False
        # The same deal for both.
        assert own["board"] == others["board"]
        assert own["deal"] == others["deal"]
        running = await nobody.get(f"/v1/races/{race}")
        exactly(running, RACE)
        assert (running["state"], running["me"]) == ("running", None)
        assert [e["status"] for e in running["entrants"]] == ["playing", "playing"]
        assert (await guest.get(f"/v1/races/{race}"))["me"] == {"ready": False, "play": own["id"]}

        # Ply 1 may be sent at once; the board follows from the deltas.
        ack = await mine.move(own["id"], 1, own["legal"][0])
        now = await guest.get(f"/v1/plays/{own['id']}")
        assert now["board"] == board_after(own["board"], ack["data"])
        progress = await watching.expect("progress", topic=topic)
        assert progress["data"][guest.id] == {"score": 0, "ply": 1, "status": "playing"}

        last = await _play_out(mine, {**own, "ply": 1, "legal": ack["data"]["legal"]})
        for socket in everybody:
            ended = await socket.expect("event", type="entrant-ended")
            race_event(ended["data"])
            assert ended["data"]["player"] == guest.id
            assert ended["data"]["status"] == last["status"]
            assert ended["data"]["score"] == last["score"]
        problem(await nobody.call("GET", f"/v1/races/{race}/proof"), 409, "race-not-ended")
        await _play_out(theirs, others, plies=3)
        await rival.post(f"/v1/plays/{others['id']}/resign")
        for socket in everybody:
            end = (await socket.expect("event", type="race-ended"))["data"]
            race_event(end)
            assert end["total"] == 2
            assert _unbroken(_versions(socket, topic))
        standings = await nobody.get(f"/v1/races/{race}/standings")
        exactly(standings, {**STANDINGS, "me": None})
        assert standings["items"] == end["standings"]
        assert (standings["total"], standings["next"]) == (2, None)
        assert {row["player"]["id"]: row["status"] for row in standings["items"]} == {
            guest.id: last["status"],
            rival.id: "resigned",
        }
        for n, row in enumerate(standings["items"]):
            one = await nobody.get(
                f"/v1/races/{race}/standings", params={"around": row["player"]["id"]}
            )
            assert row in one["items"], n
        assert (await rival.get(f"/v1/races/{race}/standings"))["me"]["player"] == rival.player
        over = await nobody.get(f"/v1/races/{race}")
        exactly(over, RACE)
        assert (over["state"], over["deal"]["seed"]) == ("ended", end["seed"])
        committed = f"samedeal/1:kings-way:{end['seed']}".encode()
        assert hashlib.sha256(committed).hexdigest() == over["deal"]["commitment"]
    log = (await nobody.get(f"/v1/races/{race}/events"))["items"]
    assert [event["data"]["type"] for event in log] == [
        *("created", "entrant-joined", "entrant-joined", "countdown", "started"),
        *("entrant-ended", "entrant-ended", "race-ended"),
    ]
    for event in log:
        race_event(event["data"])
    proof = await nobody.call("GET", f"/v1/races/{race}/proof")
    exactly(proof.json(), PROOF)
    checked = verify(proof.content)
    assert checked.plays == 2
    assert proof.json()["standings"] == standings["items"]


async def test_a_proof_of_many_pages(guest, rival, stranger, nobody):
    race = await begun(guest, rival, stranger)
    await finish(race, guest, rival, stranger)
    plays, page, asked = [], None, {"limit": 1}
    standings = []
    while True:
        page = await nobody.get(f"/v1/races/{race}/proof", params=asked)
        assert len(page["plays"]) == 1
        with pytest.raises(BadProof):
            verify(msgspec.json.encode(page))
        plays += page["plays"]
        standings += page["standings"]
        if page["next"] is None:
            break
        asked = {"limit": 1, "cursor": page["next"]}
    whole = {**page, "plays": plays, "standings": standings}
    assert verify(msgspec.json.encode(whole)).plays == 3


async def test_what_a_rival_and_the_world_see_of_a_play(guest, rival, nobody):
    race = await begun(guest, rival)
    own = (await guest.get(f"/v1/races/{race}"))["me"]["play"]
    async with guest.socket() as mine:
        play = await guest.get(f"/v1/plays/{own}")
        exactly(play, PLAY)
        await _play_out(mine, play, plies=2)
    # Those who have finished see no more than others: a confederate could resign and look.
    others = (await rival.get(f"/v1/races/{race}"))["me"]["play"]
    await rival.post(f"/v1/plays/{others}/resign")
    for caller in (rival, nobody):
        seen = await caller.get(f"/v1/plays/{own}")
        exactly(seen, {**NUMBERS, "ply": {2}})
        assert seen["deal"]["seed"] is None
        problem(await caller.call("GET", f"/v1/plays/{own}/moves"), 403, "not-visible")
        async with caller.socket() as socket:
            await socket.send({"op": "watch", "topic": f"play:{own}"})
            error = await socket.expect("error")
            assert (error["code"], error["topic"]) == ("not-visible", f"play:{own}")
    # Nor do they know more of their own deal than they have seen of it.
    theirs = await rival.get(f"/v1/plays/{others}")
    assert (theirs["status"], theirs["deal"]["seed"]) == ("resigned", None)
    await finish(race, guest)
    for caller in (rival, nobody):
        seen = await caller.get(f"/v1/plays/{own}")
        exactly(seen, PLAY)
        assert seen["deal"]["seed"]
        log = await caller.get(f"/v1/plays/{own}/moves")
        assert [entry["move"] for entry in log["items"]][-1] == "resign"
        async with caller.socket() as socket:
            assert (await socket.watch(f"play:{own}"))["v"] == 3
            assert (await socket.expect("snapshot"))["data"]["board"] == seen["board"]


async def test_races_take_neither_undo_nor_late_comers(guest, rival, stranger):
    race = await begun(guest, rival)
    own = (await guest.get(f"/v1/races/{race}"))["me"]["play"]
    await guest.post(f"/v1/plays/{own}/moves", {"ply": 1, "move": "turn"})
    reply = await guest.call("POST", f"/v1/plays/{own}/moves", {"ply": 2, "move": "undo"})
    assert "undo" not in problem(reply, 422, "illegal-move")["legal"]
    for caller, method, path, code in (
        (stranger, "POST", "entrants", "race-started"),
        (guest, "POST", "start", "race-started"),
        (guest, "POST", "cancel", "race-started"),
        (guest, "DELETE", "entrants/me", "race-started"),
        (rival, "DELETE", "entrants/me", "race-started"),
    ):
        problem(await caller.call(method, f"/v1/races/{race}/{path}"), 409, code)
    reply = await stranger.call("DELETE", f"/v1/races/{race}/entrants/me")
    problem(reply, 409, "not-entrant")
    # Who is in may ask to join again, and is told how things stand.
    again = await rival.post(f"/v1/races/{race}/entrants")
    now = await rival.get(f"/v1/races/{race}")
    assert again == now
    assert [entrant["status"] for entrant in again["entrants"]] == ["playing", "playing"]
    same = await rival.patch(f"/v1/races/{race}/entrants/me", {"ready": False})
    assert same == now


async def test_standings_while_it_runs(guest, rival, stranger, nobody):
    race = await begun(guest, rival, stranger)
    own = (await guest.get(f"/v1/races/{race}"))["me"]["play"]
    async with guest.socket() as mine:
        delta = await _play_out(mine, await guest.get(f"/v1/plays/{own}"), plies=20)
    standings = await rival.get(f"/v1/races/{race}/standings")
    exactly(standings, STANDINGS)
    assert standings["total"] == 3
    rows = {row["player"]["id"]: row for row in standings["items"]}
    first = rows[guest.id]
    assert standings["items"][0] == first
    assert (first["rank"], first["status"], first["score"]) == (1, "playing", delta["score"])
    # An entrant without a move has no rank and is nobody's other.
    assert first["points"] is None
    for other in (rival, stranger):
        row = rows[other.id]
        assert (row["rank"], row["points"], row["score"], row["score_ms"]) == (None, None, 0, 0)
    assert standings["me"] == rows[rival.id]
    await finish(race, guest, rival, stranger)
    after = await nobody.get(f"/v1/races/{race}/standings")
    assert [row["rank"] for row in after["items"]] == [1, None, None]


async def test_ties_share_their_rank_and_their_points(guests, guest, nobody):
    """Nobody has scored: all who made a move are equal, whatever time it took them."""
    others = [await guests() for _ in range(3)]
    race = await begun(guest, *others)
    for caller in (guest, *others[:2]):
        own = (await caller.get(f"/v1/races/{race}"))["me"]["play"]
        await caller.post(f"/v1/plays/{own}/moves", {"ply": 1, "move": "turn"})
    await finish(race, guest, *others)
    rows = (await nobody.get(f"/v1/races/{race}/standings"))["items"]
    assert [row["rank"] for row in rows] == [1, 1, 1, None]
    assert [row["points"] for row in rows] == [50.0, 50.0, 50.0, None]
    assert [(row["score"], row["score_ms"], row["score_plies"]) for row in rows] == [(0, 0, 0)] * 4


async def test_standings_are_read_in_pages(guest, rival, stranger):
    race = await begun(guest, rival, stranger)
    await finish(race, guest, rival, stranger)
    whole = (await guest.get(f"/v1/races/{race}/standings"))["items"]
    rows, asked = [], {"limit": 2}
    while True:
        page = await guest.get(f"/v1/races/{race}/standings", params=asked)
        assert (page["total"], page["me"]["player"]) == (3, guest.player)
        rows += page["items"]
        if page["next"] is None:
            break
        asked = {"limit": 2, "cursor": page["next"]}
    assert rows == whole


async def test_a_race_of_entrants_who_never_move_ends(guest, rival, nobody):
    """… and of one who came late to everything, and of one who has gone."""
    race = (await lobby(guest, rival, time_limit_ms=1_000))["id"]
    async with nobody.socket() as watching, guest.socket() as mine:
        await watching.watch(f"race:{race}")
        await mine.watch(f"race:{race}")
        await guest.post(f"/v1/races/{race}/start")
        play = (await mine.expect("event", type="started"))["data"]["play"]
        await mine.watch(f"play:{play['id']}")
        timeout = (await mine.expect("event", type="play-ended"))["data"]
        assert (timeout["move"], timeout["at_ms"], timeout["status"]) == (
            "timeout",
            1_000,
            "timed_out",
        )
        end = (await watching.expect("event", type="race-ended"))["data"]
        # The deadline has passed, whatever is in the log by now.
        reject = await mine.move(play["id"], 1, "turn", "late")
        assert (reject["op"], reject["code"]) == ("reject", "play-over")
    assert [row["status"] for row in end["standings"]] == ["timed_out", "timed_out"]
    assert [row["rank"] for row in end["standings"]] == [None, None]
    assert verify((await nobody.call("GET", f"/v1/races/{race}/proof")).content).plays == 2
    now = await nobody.get(f"/v1/plays/{play['id']}")
    assert (now["status"], now["elapsed_ms"]) == ("timed_out", 1_000)
    assert now["ended_at"] == now["deadline_at"]


async def test_a_race_alone(guest):
    race = await begun(guest)
    await finish(race, guest)
    standings = await guest.get(f"/v1/races/{race}/standings")
    assert [row["points"] for row in standings["items"]] == [None]


async def test_a_name_claimed_in_the_middle_of_a_race(guest, rival, nobody, fresh_name):
    """Whatever name the proof and the standings tell, they must agree."""
    race = await begun(guest, rival)
    own = (await rival.get(f"/v1/races/{race}"))["me"]["play"]
    await rival.post(f"/v1/plays/{own}/moves", {"ply": 1, "move": "turn"})
    body = {"name": fresh_name(), "password": "correct horse"}
    await rival.post("/v1/players", body, status=201)
    await finish(race, guest, rival)
    proof = await nobody.call("GET", f"/v1/races/{race}/proof")
    assert verify(proof.content).plays == 2


async def test_after_a_reconnect_events_go_on_where_they_stopped(guest, rival):
    race = (await lobby(guest, rival))["id"]
    topic = f"race:{race}"
    await start(guest, race)
    log = (await guest.get(f"/v1/races/{race}/events"))["items"]
    head = log[-1]["v"]
    async with guest.socket() as socket:
        for since in range(head + 1):
            assert (await socket.watch(topic, since))["v"] == head
            frames = await socket.still()
            mark = max(n for n, f in enumerate(frames) if f["op"] == "watching")
            told = [f for f in frames[mark + 1 :] if f["op"] == "event"]
            assert [f["v"] for f in told] == list(range(since + 1, head + 1))
            assert not [f for f in frames[mark:] if f["op"] == "snapshot"]
            for frame in told:
                race_event(frame["data"])
                if frame["data"]["type"] == "started":
                    assert frame["data"]["play"]["player"] == guest.player
        await socket.watch(topic, head + 1)
        assert (await socket.expect("snapshot", topic=topic))["v"] == head
    own = (await guest.get(f"/v1/races/{race}"))["me"]["play"]
    async with guest.socket() as socket:
        await _play_out(socket, await guest.get(f"/v1/plays/{own}"), plies=70)
        for since in (0, 3, 69, 70):
            assert (await socket.watch(f"play:{own}", since))["v"] == 70
            frames = await socket.still()
            mark = max(n for n, f in enumerate(frames) if f["op"] == "watching")
            told = [f for f in frames[mark + 1 :] if f["op"] == "event"]
            assert [f["v"] for f in told] == list(range(since + 1, 71))
            assert [f["data"]["ply"] for f in told] == [f["v"] for f in told]
        await socket.watch(f"play:{own}", 71)
        snapshot = await socket.expect("snapshot")
        exactly({k: v for k, v in snapshot["data"].items() if k != "type"}, PLAY)
        assert (snapshot["v"], snapshot["data"]["type"]) == (70, "play")
    await finish(race, guest, rival)


# A crowd takes its time; half of the combinations has each database and each bus once.
@pytest.mark.parametrize(
    "combination", ["sqlite-local", "postgres-redis"], indirect=True, scope="session"
)
async def test_the_fifty_first_entrants_and_all_of_them(guests, guest, nobody):
    """A race of more than fifty: what is cut short says so, and one's own row is always there."""
    others = await asyncio.gather(*(guests() for _ in range(51)))
    race = (await lobby(guest, capacity=60))["id"]
    for caller in others:
        await caller.post(f"/v1/races/{race}/entrants")
    seen = await nobody.get(f"/v1/races/{race}")
    assert (seen["total"], len(seen["entrants"])) == (52, 50)
    page = await nobody.get(f"/v1/races/{race}/entrants", params={"limit": 100})
    assert (page["total"], len(page["items"])) == (52, 52)
    await start(guest, race)
    everybody = [guest, *others]
    async with guest.socket() as first, others[-1].socket() as last, nobody.socket() as watching:
        sockets = (first, last, watching)
        for socket in sockets:
            await socket.watch(f"race:{race}")
        plays = {}
        for caller in everybody:
            plays[caller.id] = (await caller.get(f"/v1/races/{race}"))["me"]["play"]
        await asyncio.gather(*(c.post(f"/v1/plays/{plays[c.id]}/resign") for c in everybody))
        ends = [(await socket.expect("event", type="race-ended"))["data"] for socket in sockets]
        for end, caller in zip(ends, (guest, others[-1], None), strict=True):
            race_event(end)
            told = [row["player"]["id"] for row in end["standings"]]
            assert end["total"] == 52
            assert len(set(told)) == len(told)
            assert caller is None or caller.id in told
            assert len(told) in (50, 51)
        for socket in sockets:
            assert _unbroken(_versions(socket, f"race:{race}"))
    proof = await nobody.call("GET", f"/v1/races/{race}/proof", params={"limit": 100})
    assert verify(proof.content).plays == 52
