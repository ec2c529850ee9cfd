"""Frames that are no requests: told so, or closed, and nobody else is disturbed."""

import contextlib
import itertools
import json

import pytest
from websockets.exceptions import ConnectionClosed

from tests.contract.shapes import exactly

SOME_ID = "AZrQ2k3vcAAAAAAAAAAAAA"


@pytest.fixture
async def neighbour(guest, rival):
    """A socket beside the one under test, in a play of its own; it goes on as if nothing were."""
    play = await rival.post("/v1/plays", {"game": "kings-way", "seed": "1"}, status=201)
    plies = itertools.count(1)
    async with rival.socket() as socket:
        await socket.watch(f"play:{play['id']}")

        async def goes_on():
            ply = next(plies)
            assert (await socket.move(play["id"], ply, "turn", f"n{ply}"))["op"] == "ack"

        await goes_on()
        yield goes_on
        await goes_on()
        told = {frame["op"] for frame in socket.heard}
        assert told == {"ready", "watching", "snapshot", "ack"}


UNREADABLE = [
    *(
        "",
        " ",
        "\n",
        "[1]\n",
        "5",
        "null",
        "true",
        '"x"',
        "{",
        "{}",
        "[]",
        "[{}]",
        "NaN",
        "Infinity",
    ),
    *('{"op":"ping"', '{"op":"ping"} x', "{'op':'ping'}", '{"op":null}', '{"op":5}', '{"op":"x"}'),
    *('{"op":"ping","more":1}', '{"op":["ping"]}', '{"OP":"ping"}', '{"op":"ping","id":NaN}'),
    *('{"op":"ping","id":' + "9" * 400 + "}", '{"op":"ping","id":-1e400}', '{"op":"ping","id":""}'),
    *('{"op":"ping","id":"\\ud800"}', '{"op":"ping","id":"\\u0000"}', '{"op":"ping","id":{}}'),
    *("[" * 16_000, '{"a":' * 3_000, "\x00", "\ufeff{}", "é", "🂡" * 1_000),
    *('{"op":"watch"}', '{"op":"watch","topic":5}', '{"op":"unwatch"}', '{"op":"auth"}'),
    *('{"op":"move"}', '{"op":"move","play":"x"}', '{"op":"ready"}', '{"op":"ack"}'),
]


async def test_the_socket_lives_on_whatever_text_it_is_sent(guest, neighbour):
    async with guest.socket() as socket:
        await socket.expect("ready")
        for text in UNREADABLE:
            await socket.raw(text)
            error = await socket.expect("error")
            assert error["code"] in ("bad-json", "malformed"), text
            assert isinstance(error["detail"], str)
            assert error.keys() <= {"op", "code", "detail", "id"}
            assert "9" * 400 not in error["detail"]
        await neighbour()
        await socket.still()


BINARY = [b"", b"{}", b'{"op":"ping"}', b"\xff\xfe\x00", b"x" * 1_000]


async def test_binary_frames_are_no_requests(guest, neighbour):
    for frame in BINARY:
        async with guest.socket() as socket:
            await socket.expect("ready")
            await socket.raw(frame)
            error = await socket.expect("error")
            exactly(error, {"op": str, "code": {"bad-json"}, "detail": str})
            await socket.still()
            await neighbour()


async def test_frames_up_to_16_kib_are_read(guest):
    async with guest.socket() as socket:
        await socket.expect("ready")
        for size in (16_000, 16 * 1024):
            await socket.raw('{"op":"ping"}'.ljust(size))
            await socket.expect("pong")


TOO_BIG = [16 * 1024 + 1, 17 * 1024, 1_000_000]


async def test_longer_frames_close_as_too_big(guest, neighbour):
    for size in TOO_BIG:
        for frame in ('{"op":"ping"}'.ljust(size), b" " * size):
            async with guest.socket() as socket:
                await socket.expect("ready")
                # The server reads the head alone, and may be gone while we still send the rest.
                with contextlib.suppress(ConnectionClosed):
                    await socket.raw(frame)
                assert await socket.close_code() == 1009
        await neighbour()


async def test_text_that_is_no_utf8_closes(guest, neighbour):
    async with guest.socket() as socket:
        await socket.expect("ready")
        await socket.connection.send(b'{"op":"ping","id":"\xff"}', text=True)
        assert await socket.close_code() == 1007
    await neighbour()


async def test_fragments_make_one_frame(guest):
    async with guest.socket() as socket:
        await socket.expect("ready")
        await socket.connection.send(['{"op":', '"ping",', '"id":"a"}'])
        await socket.expect("pong", id="a")


NO_MOVES = [
    *({"ply": -1}, {"ply": "1"}, {"ply": 1.5}, {"ply": None}, {"ply": 10**400}, {"ply": True}),
    *({"move": ""}, {"move": "TURN"}, {"move": 5}, {"move": None}, {"move": "x" * 17}),
    *({"play": ""}, {"play": 5}, {"play": "a b"}, {"play": "x" * 41}, {"play": None}),
    *({"more": 1}, {"move": "\ud800"}, {"move": "\x00"}),
]


async def test_a_move_with_a_readable_id_is_answered_by_it(guest):
    for wrong in NO_MOVES:
        frame = {"op": "move", "play": SOME_ID, "ply": 1, "move": "turn", "id": "mine", **wrong}
        surrogate = wrong.get("move") == "\ud800"
        async with guest.socket() as socket:
            await socket.raw(json.dumps(frame))
            if surrogate:  # not even JSON: nothing of it can be read
                assert (await socket.expect("error"))["code"] == "bad-json"
                continue
            reject = await socket.answer("mine")
            assert (reject["op"], reject["code"], reject["ply"]) == ("reject", "malformed", None)
            answers = [f for f in await socket.still() if f["op"] in ("ack", "reject", "error")]
            assert answers == [reject]


BAD_IDS = [5, None, "", "x" * 41, ["a"], {"a": 1}, True]


async def test_a_move_without_a_readable_id_is_an_error(guest):
    for bad in BAD_IDS:
        frame = {"op": "move", "play": SOME_ID, "ply": 1, "move": "turn", "id": bad}
        async with guest.socket() as socket:
            await socket.send(frame)
            assert (await socket.expect("error"))["code"] == "malformed"
            answers = [f for f in await socket.still() if f["op"] in ("ack", "reject", "error")]
            assert len(answers) == 1
