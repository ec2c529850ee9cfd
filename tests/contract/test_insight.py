"""What the solver has to say: hints in practice, analyses of what has ended, never before."""

import pytest

from service.solver import COMPILED
from tests.contract.shapes import problem

TWO = ["sqlite-local", "postgres-redis"]
pytestmark = pytest.mark.parametrize("combination", TWO, indirect=True)

SOLVED, LOST = "7", "4"
"""King's Way seeds that the solver decides in a blink, one each way."""


quick = pytest.mark.skipif(not COMPILED, reason="the extension is not built")


async def _practise(guest, game="kings-way", seed=SOLVED):
    return await guest.post("/v1/plays", {"game": game, "seed": seed}, status=201)


async def _move(guest, play, ply, move):
    return await guest.post(f"/v1/plays/{play['id']}/moves", {"ply": ply, "move": move})


@quick
async def test_hints_lead_to_a_win(guest):
    play = await _practise(guest)
    delta = {"legal": play["legal"], "status": "playing"}
    ply = 0
    while delta["status"] == "playing":
        hint = await guest.get(f"/v1/plays/{play['id']}/hint")
        assert hint == {"ply": ply, "hint": "move", "move": hint["move"]}
        assert hint["move"] in delta["legal"]
        ply += 1
        delta = await _move(guest, play, ply, hint["move"])
    assert delta["status"] == "solved"


@quick
async def test_a_lost_position_has_no_hint(guest):
    play = await _practise(guest, seed=LOST)
    hint = await guest.get(f"/v1/plays/{play['id']}/hint")
    assert hint == {"ply": 0, "hint": "none", "move": None}


async def test_hints_are_their_players_own(guest, rival, nobody):
    play = await _practise(guest)
    path = f"/v1/plays/{play['id']}/hint"
    problem(await rival.call("GET", path), 403, "not-your-play")
    problem(await nobody.call("GET", path), 401, "unauthorized")


async def test_a_play_that_had_a_hint_stands_on_no_board(guest, rival):
    board = "/v1/leaderboards/deals/royal-mullein/hinted"
    for player, hinted in ((guest, True), (rival, False)):
        play = await _practise(player, "royal-mullein", "hinted")
        if hinted:
            await player.get(f"/v1/plays/{play['id']}/hint")
        await _move(player, play, 1, "turn")
        await player.post(f"/v1/plays/{play['id']}/resign")
    rows = (await guest.get(board))["items"]
    assert [row["player"]["id"] for row in rows] == [rival.id]


async def test_races_give_neither_hints_nor_analyses_before_their_end(guest, rival, nobody):
    race = await guest.post("/v1/races", {"game": "kings-way", "kind": "live"}, status=201)
    path = f"/v1/races/{race['id']}"
    await rival.post(f"{path}/entrants")
    async with guest.socket() as socket:
        await socket.watch(f"race:{race['id']}")
        await guest.post(f"{path}/start")
        started = await socket.expect("event", type="started")
        play = started["data"]["play"]["id"]
        problem(await guest.call("GET", f"/v1/plays/{play}/hint"), 403, "no-hints")
        await guest.post(f"/v1/plays/{play}/resign")
        problem(await guest.call("GET", f"/v1/plays/{play}/analysis"), 409, "race-not-ended")
        for other in (rival, nobody):
            problem(await other.call("GET", f"/v1/plays/{play}/analysis"), 403, "not-visible")
        theirs = (await rival.get(path))["me"]["play"]
        await rival.post(f"/v1/plays/{theirs}/resign")
        await socket.expect("event", type="race-ended")
    analysis = await nobody.get(f"/v1/plays/{play}/analysis")
    assert [entry["entry"] for entry in analysis["plies"]] == ["", "resign"]


@quick
async def test_the_move_that_lost_the_game_is_named(guest, nobody):
    """Turning the whole stock away and never playing loses at some turn, and that one is named."""
    play = await _practise(guest)
    for ply in range(1, 57):
        delta = await _move(guest, play, ply, "turn")
    problem(await guest.call("GET", f"/v1/plays/{play['id']}/analysis"), 409, "play-not-over")
    await guest.post(f"/v1/plays/{play['id']}/resign")
    analysis = await nobody.get(f"/v1/plays/{play['id']}/analysis")
    fatal = analysis["fatal"]
    assert analysis["game"] == "kings-way"
    assert 1 <= fatal <= 56
    flags = {entry["ply"]: entry.get("winnable") for entry in analysis["plies"]}
    assert flags[fatal - 1] is True
    assert flags[fatal] is False
    assert delta["legal"]
    # Kept: the same text again.
    first = await nobody.call("GET", f"/v1/plays/{play['id']}/analysis")
    again = await guest.call("GET", f"/v1/plays/{play['id']}/analysis")
    assert first.content == again.content


async def test_the_catalogue(nobody):
    everything = []
    cursor = ""
    while cursor is not None:
        query = {"limit": "100", "game": "kings-way", "verdict": "solved"}
        if cursor:
            query["cursor"] = cursor
        page = (await nobody.call("GET", "/v1/deals", params=query)).json()
        everything += page["items"]
        cursor = page["next"]
    assert len({deal["seed"] for deal in everything}) == len(everything)
    assert all(deal["certificate"]["verdict"] == "solved" for deal in everything)
    problem(await nobody.call("GET", "/v1/deals?ease=trivial"), 422, "malformed")
    problem(await nobody.call("GET", "/v1/deals?game=chess"), 422, "malformed")
