"""Bad luck: what comes at the same instant has one outcome, told alike to everybody.

When things are sent is arranged here, what comes of it is not: either outcome is right, but only one.
"""

import asyncio
import contextlib
from datetime import datetime

from service.contest.proof import verify
from tests.client import sensible
from tests.contract.live import lobby
from tests.contract.shapes import problem

LIMIT_MS = 1_500
"""Time enough for a game of King's Way; where it is not, every play just ends by it."""
OFFSETS_MS = (-50, -25, -10, 0, 10, 25, 50)


def _ms(instant):
    return datetime.fromisoformat(instant).timestamp() * 1000


async def _until(socket, instant, offset_ms=0):
    """Waits for an instant of the server's clock, and a little less or more."""
    await socket.send({"op": "ping", "id": "clock"})
    now = _ms((await socket.expect("pong", id="clock"))["server_time"])
    await asyncio.sleep(max(0, _ms(instant) - now + offset_ms) / 1000)


async def _everybody_leaves(offset_ms, guest, rival, nobody):
    race = (await lobby(guest, rival))["id"]
    async with guest.socket() as mine, nobody.socket() as watching:
        for socket in (mine, watching):
            await socket.watch(f"race:{race}")
        starts_at = (await guest.post(f"/v1/races/{race}/start"))["starts_at"]
        await _until(mine, starts_at, offset_ms)
        replies = await asyncio.gather(
            *(c.call("DELETE", f"/v1/races/{race}/entrants/me") for c in (guest, rival))
        )
        left = set()
        for caller, reply in zip((guest, rival), replies, strict=True):
            if reply.status_code == 200:
                left.add(caller.id)
            else:
                problem(reply, 409, "race-started")
        outcome = "cancelled" if left == {guest.id, rival.id} else "started"
        for socket in (mine, watching):
            await socket.expect("event", type=outcome)
    log = [e["data"] for e in (await nobody.get(f"/v1/races/{race}/events"))["items"]]
    assert [e["type"] for e in log if e["type"] in ("started", "cancelled")] == [outcome]
    assert {e["player"] for e in log if e["type"] == "entrant-left"} == left
    now = await nobody.get(f"/v1/races/{race}")
    assert now["state"] == {"started": "running", "cancelled": "cancelled"}[outcome]
    assert {e["player"]["id"] for e in now["entrants"]} == {guest.id, rival.id} - left
    for caller in (guest, rival):
        plays = (await caller.get("/v1/me/plays", params={"race": race}))["items"]
        assert len(plays) == (0 if caller.id in left else 1)
        for play in plays:  # or they would run for a quarter of an hour
            await caller.post(f"/v1/plays/{play['id']}/resign")


async def test_leaving_around_the_start(guests, nobody):
    pairs = [(await guests(), await guests()) for _ in OFFSETS_MS]
    async with asyncio.TaskGroup() as group:
        for offset, pair in zip(OFFSETS_MS, pairs, strict=True):
            group.create_task(_everybody_leaves(offset, *pair, nobody))


async def _line(socket, play):
    """Plays a deal to its end; all the moves."""
    moves, legal = [], play["legal"]
    while legal:
        moves.append(sensible(legal))
        answer = await socket.move(play["id"], len(moves), moves[-1])
        if answer["op"] == "reject":
            assert answer["code"] == "play-over"
            break
        legal = answer["data"]["legal"]
    return moves


async def _follow(socket, play, moves):
    """Plays what somebody else has found out, without waiting."""
    for ply, move in enumerate(moves, 1):
        await socket.send(
            {"op": "move", "play": play["id"], "ply": ply, "move": move, "id": f"p{ply}"}
        )
        if ply % 30 == 0 or ply == len(moves):  # no more at once than a socket's queue holds
            answer = await socket.answer(f"p{ply}")
            assert answer["op"] == "ack" or answer["code"] == "play-over"


async def _one_end(callers, race, watching, limit_ms):
    """Every play of a race has one end, the same wherever it is told."""
    end = (await watching.expect("event", type="race-ended"))["data"]
    told = {
        frame["data"]["player"]: frame["data"]
        for frame in watching.heard
        if frame["op"] == "event" and frame["data"]["type"] == "entrant-ended"
    }
    ends = [f for f in watching.heard if f.get("data", {}).get("type") == "entrant-ended"]
    assert len(ends) == len(callers)
    rows = (await callers[0].get(f"/v1/races/{race}/standings"))["items"]
    assert rows == end["standings"]
    standings = {row["player"]["id"]: row for row in rows}
    statuses = []
    for caller in callers:
        me = (await caller.get(f"/v1/races/{race}"))["me"]["play"]
        play = await caller.get(f"/v1/plays/{me}")
        log = (await caller.get(f"/v1/plays/{me}/moves", params={"limit": 500}))["items"]
        assert play["status"] == told[caller.id]["status"] == standings[caller.id]["status"]
        assert play["score"] == told[caller.id]["score"] == standings[caller.id]["score"]
        assert [entry["ply"] for entry in log] == list(range(1, play["ply"] + 1))
        kinds = {"resign": "resigned", "timeout": "timed_out"}
        final = log[-1]["move"]
        assert kinds.get(final, play["status"]) == play["status"]
        assert not [entry for entry in log[:-1] if entry["move"] in kinds]
        assert all(entry["at_ms"] < limit_ms or entry["move"] == "timeout" for entry in log)
        assert play["elapsed_ms"] == log[-1]["at_ms"] <= limit_ms
        statuses.append(play["status"])
    proof = await callers[0].call("GET", f"/v1/races/{race}/proof")
    assert verify(proof.content).plays == len(callers)
    return statuses


async def _begun(callers, sockets, watching, **settings):
    """A race that has started; the plays of all."""
    race = (await lobby(*callers, **settings))["id"]
    for socket in (*sockets, watching):
        await socket.watch(f"race:{race}")
    await callers[0].post(f"/v1/races/{race}/start")
    return race, [(await s.expect("event", type="started"))["data"]["play"] for s in sockets]


async def _finale(caller, socket, play, moves, resigning):
    """The last move and a resignation at once, perhaps over two edges and processes."""
    last = {"op": "move", "play": play["id"], "ply": len(moves), "move": moves[-1], "id": "last"}
    resigned, _sent = await asyncio.gather(
        caller.call("POST", f"/v1/plays/{play['id']}/resign") if resigning else asyncio.sleep(0),
        socket.send(last),
    )
    answer = await socket.answer("last")
    ended_by_move = answer["op"] == "ack"
    if not ended_by_move:
        assert answer["code"] == "play-over", answer
    if resigned is not None and (ended_by_move or resigned.status_code != 200):
        problem(resigned, 409, "play-over")  # where it is neither, time was up before
    return ended_by_move, resigned is not None and resigned.status_code == 200


async def test_the_winning_move_and_a_resignation_at_once(guests, nobody):
    callers = [await guests() for _ in range(3)]
    async with (
        callers[0].socket() as one,
        callers[1].socket() as two,
        callers[2].socket() as three,
        nobody.socket() as watching,
    ):
        sockets = (one, two, three)
        race, plays = await _begun(
            callers, sockets, watching, game="royal-mullein", time_limit_ms=120_000
        )
        # All have the same deal: the first finds the line, the others play it up to its last move.
        moves = await _line(one, plays[0])
        await asyncio.gather(
            *(_follow(s, p, moves[:-1]) for s, p in zip(sockets[1:], plays[1:], strict=True))
        )
        outcomes = await asyncio.gather(
            *(
                _finale(c, s, p, moves, resigning=True)
                for c, s, p in zip(callers[1:], sockets[1:], plays[1:], strict=True)
            )
        )
        statuses = await _one_end(callers, race, watching, 120_000)
    assert statuses[0] in ("solved", "stuck")
    for (by_move, by_resigning), status in zip(outcomes, statuses[1:], strict=True):
        assert by_move != by_resigning
        assert status == (statuses[0] if by_move else "resigned")


async def test_the_last_move_a_resignation_and_the_deadline_at_once(guests, nobody):
    offsets_ms = (-40, -15, 0, 0, 15, 40)
    callers = [await guests() for _ in range(1 + len(offsets_ms))]
    async with contextlib.AsyncExitStack() as stack:
        sockets = [await stack.enter_async_context(caller.socket()) for caller in callers]
        watching = await stack.enter_async_context(nobody.socket())
        race, plays = await _begun(callers, sockets, watching, time_limit_ms=LIMIT_MS)
        moves = await _line(sockets[0], plays[0])

        async def run(caller, socket, play, offset_ms, resigning):
            await _follow(socket, play, moves[:-1])
            await _until(socket, play["deadline_at"], offset_ms)
            return await _finale(caller, socket, play, moves, resigning)

        followers = zip(callers[1:], sockets[1:], plays[1:], offsets_ms, strict=True)
        outcomes = await asyncio.gather(
            *(run(*follower, resigning=n % 2 == 0) for n, follower in enumerate(followers))
        )
        statuses = await _one_end(callers, race, watching, LIMIT_MS)
    for (by_move, by_resigning), status in zip(outcomes, statuses[1:], strict=True):
        assert not (by_move and by_resigning)
        if by_move:
            assert status == statuses[0]
        else:
            assert status == ("resigned" if by_resigning else "timed_out")
