"""One move, whatever happens to it: refusals in their order, ids, and many at once."""

import asyncio

import pytest

from tests.contract.shapes import problem


@pytest.fixture
async def play(guest):
    return await guest.post("/v1/plays", {"game": "kings-way", "seed": "1"}, status=201)


def _path(play):
    return f"/v1/plays/{play['id']}/moves"


async def _log(caller, play):
    return [(entry["ply"], entry["move"]) for entry in (await caller.get(_path(play)))["items"]]


async def test_the_same_id_at_once_after_a_reconnect_and_over_rest(guest, play):
    frame = {"op": "move", "play": play["id"], "ply": 1, "move": "turn", "id": "a"}
    async with guest.socket() as socket:
        await socket.watch(f"play:{play['id']}")
        await socket.send(frame, frame)
        answers = [await socket.answer("a"), await socket.answer("a")]
        # The first answer stands for event 1; there is no other.
        assert [f for f in await socket.still() if f["op"] == "event"] == []
    async with guest.socket() as socket:
        answers.append(await socket.move(play["id"], 1, "turn", "a"))
    assert [answer["op"] for answer in answers] == ["ack"] * 3
    assert answers[0] == answers[1] == answers[2]
    body = {"ply": 1, "move": "turn", "id": "a"}
    assert await guest.post(_path(play), body) == answers[0]["data"]
    assert await _log(guest, play) == [(1, "turn")]


async def test_the_same_id_from_two_sockets_at_once(guest, play):
    async with guest.socket() as one, guest.socket() as two:
        answers = await asyncio.gather(
            *(socket.move(play["id"], 1, "turn", "a") for socket in (one, two)),
        )
    assert answers[0] == answers[1]
    assert await _log(guest, play) == [(1, "turn")]


async def test_an_id_with_a_later_ply_gets_its_first_answer(guest, play):
    async with guest.socket() as socket:
        first = await socket.move(play["id"], 1, "turn", "a")
        await socket.move(play["id"], 2, "turn", "b")
        assert await socket.move(play["id"], 3, "turn", "a") == first
    body = {"ply": 3, "move": "turn", "id": "a"}
    assert await guest.post(_path(play), body) == first["data"]
    assert await _log(guest, play) == [(1, "turn"), (2, "turn")]


async def test_an_id_with_another_move_is_refused(guest, play):
    async with guest.socket() as socket:
        await socket.move(play["id"], 1, "turn", "a")
        for ply in (1, 2):
            reject = await socket.move(play["id"], ply, "c5-w", "a")
            assert (reject["op"], reject["code"], reject["ply"]) == ("reject", "id-reused", 1)
    reply = await guest.call("POST", _path(play), {"ply": 2, "move": "c5-w", "id": "a"})
    problem(reply, 409, "id-reused")
    assert await _log(guest, play) == [(1, "turn")]


async def test_ids_name_a_move_of_one_play_only(guest, play):
    other = await guest.post("/v1/plays", {"game": "kings-way", "seed": "2"}, status=201)
    async with guest.socket() as socket:
        for somewhere in (play, other):
            answer = await socket.move(somewhere["id"], 1, "turn", "a")
            assert (answer["op"], answer["play"]) == ("ack", somewhere["id"])


async def test_a_stale_and_a_skipped_ply_learn_the_present_one(guest, play):
    async with guest.socket() as socket:
        await socket.move(play["id"], 1, "turn")
        await socket.move(play["id"], 2, "turn")
        for n, ply in enumerate((0, 1, 2, 4, 1000, 1_000_000)):
            reject = await socket.move(play["id"], ply, "turn", f"w{n}")
            assert reject["op"] == "reject"
            assert (reject["code"], reject["ply"]) == ("ply-conflict", 2)
            assert reject["play"] == play["id"]
            assert isinstance(reject["detail"], str)
            reply = await guest.call("POST", _path(play), {"ply": ply, "move": "turn"})
            assert problem(reply, 409, "ply-conflict")["ply"] == 2
    assert await _log(guest, play) == [(1, "turn"), (2, "turn")]


async def test_what_is_not_legal_learns_what_is(guest, play):
    async with guest.socket() as socket:
        for n, move in enumerate(("c1-w", "redeal", "undo", "resign", "timeout", "x", "w-f1")):
            reject = await socket.move(play["id"], 1, move, f"w{n}")
            assert (reject["op"], reject["code"]) == ("reject", "illegal-move")
            assert (reject["legal"], reject["ply"]) == (["turn"], 0)
            reply = await guest.call("POST", _path(play), {"ply": 1, "move": move})
            assert problem(reply, 422, "illegal-move")["legal"] == ["turn"]
    assert await _log(guest, play) == []


async def test_refusals_come_in_their_order(guest, stranger, play):
    """Malformed, not yours, known id, over, ply, legal: each hides those after it."""

    async def refused(caller, body, status, code):
        problem(await caller.call("POST", _path(play), body), status, code)

    await guest.post(_path(play), {"ply": 1, "move": "turn", "id": "a"})
    await refused(stranger, {"ply": "1", "move": "turn", "id": "a"}, 422, "malformed")
    await refused(stranger, {"ply": 1, "move": "turn", "id": "a"}, 403, "not-your-play")
    await refused(guest, {"ply": 7, "move": "c1-w", "id": "a"}, 409, "id-reused")
    await refused(guest, {"ply": 7, "move": "c1-w"}, 409, "ply-conflict")
    await refused(guest, {"ply": 2, "move": "c1-w"}, 422, "illegal-move")
    first = await guest.post(_path(play), {"ply": 9, "move": "turn", "id": "a"})
    await guest.post(f"/v1/plays/{play['id']}/resign")
    assert await guest.post(_path(play), {"ply": 9, "move": "turn", "id": "a"}) == first
    await refused(guest, {"ply": 7, "move": "c1-w", "id": "a"}, 409, "id-reused")
    await refused(guest, {"ply": 7, "move": "c1-w"}, 409, "play-over")
    await refused(stranger, {"ply": 7, "move": "c1-w"}, 403, "not-your-play")


async def test_twenty_for_one_ply_from_two_sockets(guest, play):
    async with guest.socket() as one, guest.socket() as two:
        await one.watch(f"play:{play['id']}")
        await two.watch(f"play:{play['id']}")
        sockets = [one, two] * 10
        await asyncio.gather(
            *(
                socket.send(
                    {"op": "move", "play": play["id"], "ply": 1, "move": "turn", "id": f"m{n}"}
                )
                for n, socket in enumerate(sockets)
            )
        )
        answers = await asyncio.gather(*(s.answer(f"m{n}") for n, s in enumerate(sockets)))
        won = [answer for answer in answers if answer["op"] == "ack"]
        lost = [answer for answer in answers if answer["op"] == "reject"]
        assert (len(won), len(lost)) == (1, 19)
        assert {(reject["code"], reject["ply"]) for reject in lost} == {("ply-conflict", 1)}
        assert await _log(guest, play) == [(1, "turn")]
        # The game goes on at ply 2, and both sockets know every ply once.
        assert (await two.move(play["id"], 2, "turn", "next"))["op"] == "ack"
        await one.expect("event", v=2)
        for socket in (one, two):
            told = [f.get("v", f.get("ply")) for f in socket.heard if f["op"] in ("ack", "event")]
            assert told == [1, 2]


async def test_plies_without_waiting_are_handled_in_order(guest, play):
    async with guest.socket() as socket:
        await socket.watch(f"play:{play['id']}")
        await socket.send(
            *(
                {"op": "move", "play": play["id"], "ply": ply, "move": "turn", "id": f"m{ply}"}
                for ply in range(1, 51)
            )
        )
        for ply in range(1, 51):
            assert (await socket.answer(f"m{ply}"))["op"] == "ack"
        assert [f["ply"] for f in socket.heard if f["op"] == "ack"] == list(range(1, 51))
        assert [f for f in await socket.still() if f["op"] == "event"] == []
    assert [ply for ply, _move in await _log(guest, play)] == list(range(1, 51))


async def test_one_bad_ply_among_many_stops_those_after_it(guest, play):
    moves = ["turn", "turn", "c1-w", "turn", "turn"]
    async with guest.socket() as socket:
        await socket.send(
            *(
                {"op": "move", "play": play["id"], "ply": ply, "move": move, "id": f"m{ply}"}
                for ply, move in enumerate(moves, 1)
            )
        )
        answers = [await socket.answer(f"m{ply}") for ply in range(1, 6)]
    assert [answer["op"] for answer in answers] == ["ack", "ack", "reject", "reject", "reject"]
    assert [answer["code"] for answer in answers[2:]] == [
        "illegal-move",
        "ply-conflict",
        "ply-conflict",
    ]
    assert {answer["ply"] for answer in answers[2:]} == {2}


async def test_a_strangers_move_is_refused_and_leaves_no_row(guest, stranger, nobody, play):
    async with stranger.socket() as theirs, nobody.socket() as nobodys:
        for ply in (0, 1, 2):
            reject = await theirs.move(play["id"], ply, "turn", f"m{ply}")
            assert (reject["op"], reject["code"]) == ("reject", "not-your-play")
            assert reject["ply"] is None
            reject = await nobodys.move(play["id"], ply, "turn", f"m{ply}")
            assert (reject["op"], reject["code"]) == ("reject", "unauthorized")
    body = {"ply": 1, "move": "turn"}
    problem(await stranger.call("POST", _path(play), body), 403, "not-your-play")
    problem(await nobody.call("POST", _path(play), body), 401, "unauthorized")
    assert await _log(guest, play) == []


async def test_moves_over_both_edges_share_one_log(guest, play):
    async with guest.socket() as socket:
        await socket.watch(f"play:{play['id']}")
        for ply in range(1, 9, 2):
            await guest.post(_path(play), {"ply": ply, "move": "turn", "id": f"r{ply}"})
            event = await socket.expect("event", v=ply)
            assert event["data"]["type"] == "move"
            ack = await socket.move(play["id"], ply + 1, "turn")
            assert ack["op"] == "ack"
    assert [ply for ply, _move in await _log(guest, play)] == list(range(1, 9))


async def test_moves_are_limited_for_each_play(guest, play):
    other = await guest.post("/v1/plays", {"game": "kings-way", "seed": "2"}, status=201)
    async with guest.socket() as socket:
        sent = 0
        while True:
            ids = [f"m{n}" for n in range(sent, sent + 50)]
            sent += 50
            await socket.send(
                *(
                    {"op": "move", "play": play["id"], "ply": 9, "move": "turn", "id": i}
                    for i in ids
                )
            )
            answers = [await socket.answer(move_id) for move_id in ids]
            assert {answer["code"] for answer in answers} <= {"ply-conflict", "rate-limited"}
            if answers[-1]["code"] == "rate-limited":
                break
            assert sent < 5_000
        assert answers[-1]["retry_after_ms"] > 0
        reply = await guest.call("POST", _path(play), {"ply": 1, "move": "turn"})
        if reply.status_code != 200:  # the other process keeps its own count
            problem(reply, 429, "rate-limited")
            assert int(reply.headers["retry-after"]) >= 1
        assert (await socket.move(other["id"], 1, "turn"))["op"] == "ack"


@pytest.mark.parametrize("play_id", ["x", "-", "A" * 40, "AZrQ2k3vcAAAAAAAAAAAAA"])
async def test_a_move_in_a_play_that_cannot_be(guest, play_id):
    async with guest.socket() as socket:
        answer = await socket.move(play_id, 1, "turn", "a")
    assert (answer["op"], answer["code"], answer["ply"]) == ("reject", "not-found", None)
    body = {"ply": 1, "move": "turn", "id": "a"}
    problem(await guest.call("POST", f"/v1/plays/{play_id}/moves", body), 404, "not-found")
