"""The games in words, and practice plays from the first ply to the last."""

import pytest

from tests.client import board_after, sensible
from tests.contract.shapes import DELTA, LOG, MOVE, PLAY, UNDO, exactly, many, natural, problem

GAME_SHAPE = {
    "game": {"kings-way", "royal-mullein"},
    "title": {"en": str, "de": str, "fr": str, "ru": str},
    "goal": {"cards": {40, 96}, "text": str},
    "piles": many(MOVE, str),
    "rules": [str],
    "rules_version": {1},
}


async def test_the_games_in_words(nobody):
    games = await nobody.get("/v1/games")
    exactly(games, {"items": [GAME_SHAPE], "next": None})
    assert {game["game"] for game in games["items"]} == {"kings-way", "royal-mullein"}
    for game in games["items"]:
        assert await nobody.get(f"/v1/games/{game['game']}") == game
    problem(await nobody.call("GET", "/v1/games/bridge"), 404, "not-found")


async def test_the_deal_of_the_protocol(guest):
    play = await guest.post("/v1/plays", {"game": "kings-way", "seed": "1"}, status=201)
    exactly(play, {**PLAY, "mode": {"practice"}, "race": None, "deadline_at": None})
    assert play["deal"] == {
        "version": 1,
        "seed": "1",
        "commitment": "e78f9cb55974aa81006c0d8d98b8d437dd9adb56839e0d73154455c922a64add",
    }
    assert (play["status"], play["ply"], play["score"], play["goal"]) == ("playing", 0, 0, 40)
    assert (play["legal"], play["can_undo"]) == (["turn"], False)
    assert play["player"] == guest.player
    for ply in (1, 2):
        path = f"/v1/plays/{play['id']}/moves"
        delta = await guest.post(path, {"ply": ply, "move": "turn"})
        exactly(delta, DELTA)
    now = await guest.get(f"/v1/plays/{play['id']}")
    exactly(now, PLAY)
    assert now["board"]["piles"]["s"] == {"down": 54, "up": []}
    assert now["board"]["piles"]["w"] == {"down": 0, "up": ["7C", "6H"]}
    assert now["board"]["piles"]["c5"] == {"down": 4, "up": ["7S"]}
    assert {k: v for k, v in now["board"].items() if k != "piles"} == {
        "pass": 1,
        "pass_left": 54,
        "redeals_left": 1,
    }
    assert now["legal"] == ["c5-w", "c8-w", "turn"]
    assert (now["ply"], now["score"], now["can_undo"]) == (2, 0, True)
    delta = await guest.post(f"/v1/plays/{play['id']}/moves", {"ply": 3, "move": "c5-w"})
    assert delta.pop("at_ms") >= 0
    assert delta == {
        "ply": 3,
        "move": "c5-w",
        "changes": [
            {"do": "move", "card": "7S", "from": "c5", "to": "w"},
            {"do": "reveal", "card": "JS", "pile": "c5"},
        ],
        "score": 1,
        "status": "playing",
        "pass": 1,
        "pass_left": 54,
        "redeals_left": 1,
        "legal": ["turn"],
        "can_undo": True,
    }


async def test_where_a_new_play_is(guest):
    reply = await guest.call("POST", "/v1/plays", {"game": "royal-mullein"})
    assert reply.status_code == 201
    assert reply.headers["location"] == f"/v1/plays/{reply.json()['id']}"
    assert await guest.get(reply.headers["location"]) | {"elapsed_ms": 0} == reply.json()


async def test_without_a_seed_every_play_is_another_deal(guest):
    plays = [await guest.post("/v1/plays", {"game": "kings-way"}, status=201) for _ in range(3)]
    assert len({play["deal"]["seed"] for play in plays}) == 3
    null = await guest.post("/v1/plays", {"game": "kings-way", "seed": None}, status=201)
    assert null["deal"]["seed"]


@pytest.mark.parametrize("game", ["kings-way", "royal-mullein"])
async def test_a_whole_game_follows_from_its_deltas(guest, game):
    play = await guest.post("/v1/plays", {"game": game, "seed": "contract"}, status=201)
    board, legal, status, at_ms = play["board"], play["legal"], "playing", 0
    async with guest.socket() as socket:
        while status == "playing":
            ack = await socket.move(play["id"], play["ply"] + 1, sensible(legal))
            delta = ack["data"]
            exactly(delta, DELTA)
            assert delta["at_ms"] >= at_ms
            board, legal, at_ms = board_after(board, delta), delta["legal"], delta["at_ms"]
            status, play["ply"] = delta["status"], delta["ply"]
            # Now and then, or a long game would be asked for three hundred times.
            if status != "playing" or play["ply"] % 40 == 0:
                now = await guest.get(f"/v1/plays/{play['id']}")
                exactly(now, PLAY)
                assert (now["board"], now["legal"]) == (board, legal)
                assert (now["status"], now["score"]) == (status, delta["score"])
    assert legal == []
    assert status in ("solved", "stuck")
    assert (now["score"] == now["goal"]) == (status == "solved")
    assert now["ended_at"] is not None
    assert now["elapsed_ms"] == at_ms


async def test_undo_takes_back_the_last_move_not_yet_taken_back(guest):
    play = await guest.post("/v1/plays", {"game": "kings-way", "seed": "1"}, status=201)
    path = f"/v1/plays/{play['id']}"
    states = [play]
    for ply in (1, 2):
        await guest.post(f"{path}/moves", {"ply": ply, "move": "turn"})
        states.append(await guest.get(path))
    for ply, before in ((3, states[1]), (4, states[0])):
        delta = await guest.post(f"{path}/moves", {"ply": ply, "move": "undo"})
        exactly(delta, UNDO)
        assert (delta["board"], delta["legal"]) == (before["board"], before["legal"])
        now = await guest.get(path)
        assert (now["board"], now["legal"], now["ply"]) == (before["board"], before["legal"], ply)
        assert "undo" not in now["legal"]
        assert now["can_undo"] == before["can_undo"] == delta["can_undo"]
    body = problem(
        await guest.call("POST", f"{path}/moves", {"ply": 5, "move": "undo"}), 422, "illegal-move"
    )
    assert body["legal"] == ["turn"]
    log = await guest.get(f"{path}/moves")
    assert [entry["move"] for entry in log["items"]] == ["turn", "turn", "undo", "undo"]


async def test_a_play_that_has_ended_in_practice_can_be_taken_up_again(guest, stranger):
    play = await guest.post("/v1/plays", {"game": "kings-way", "seed": "contract"}, status=201)
    path = f"/v1/plays/{play['id']}"
    legal, ply = play["legal"], 0
    async with guest.socket() as socket:
        while legal:
            ply += 1
            legal = (await socket.move(play["id"], ply, sensible(legal)))["data"]["legal"]
    ended = await guest.get(path)
    assert (ended["status"], ended["can_undo"]) == ("stuck", True)
    assert "board" in await stranger.get(path)
    # Not stale either: the play is over, whatever ply is named.
    for wrong in (ply, ply + 1, ply + 2):
        reply = await guest.call("POST", f"{path}/moves", {"ply": wrong, "move": "turn"})
        problem(reply, 409, "play-over")
    body = problem(
        await guest.call("POST", f"{path}/moves", {"ply": ply, "move": "undo"}), 409, "ply-conflict"
    )
    assert body["ply"] == ply
    delta = await guest.post(f"{path}/moves", {"ply": ply + 1, "move": "undo"})
    assert delta["status"] == "playing"
    now = await guest.get(path)
    assert (now["status"], now["ended_at"]) == ("playing", None)
    assert "board" not in await stranger.get(path)
    again = await guest.post(f"{path}/moves", {"ply": ply + 2, "move": now["legal"][0]})
    assert again["status"] in ("stuck", "playing")


async def test_resigning_ends_a_play_for_good(guest, stranger):
    play = await guest.post("/v1/plays", {"game": "kings-way", "seed": "1"}, status=201)
    path = f"/v1/plays/{play['id']}"
    await guest.post(f"{path}/moves", {"ply": 1, "move": "turn"})
    problem(await stranger.call("POST", f"{path}/resign"), 403, "not-your-play")
    delta = await guest.post(f"{path}/resign")
    exactly(delta, {**DELTA, "move": {"resign"}, "status": {"resigned"}, "changes": []})
    assert (delta["ply"], delta["legal"], delta["can_undo"]) == (2, [], False)
    now = await guest.get(path)
    assert (now["status"], now["ply"], now["legal"], now["can_undo"]) == ("resigned", 2, [], False)
    assert now["elapsed_ms"] == delta["at_ms"]
    problem(await guest.call("POST", f"{path}/resign", {}), 409, "play-over")
    for move in ("turn", "undo"):
        reply = await guest.call("POST", f"{path}/moves", {"ply": 3, "move": move})
        problem(reply, 409, "play-over")
    log = await guest.get(f"{path}/moves")
    assert [entry["move"] for entry in log["items"]] == ["turn", "resign"]


@pytest.mark.parametrize("move", ["resign", "timeout"])
async def test_the_ends_are_no_moves(guest, move):
    play = await guest.post("/v1/plays", {"game": "kings-way", "seed": "1"}, status=201)
    reply = await guest.call("POST", f"/v1/plays/{play['id']}/moves", {"ply": 1, "move": move})
    assert problem(reply, 422, "illegal-move")["legal"] == ["turn"]
    assert (await guest.get(f"/v1/plays/{play['id']}"))["status"] == "playing"


async def test_others_see_the_numbers_and_after_the_end_the_board(guest, stranger, nobody):
    play = await guest.post("/v1/plays", {"game": "kings-way", "seed": "1"}, status=201)
    path = f"/v1/plays/{play['id']}"
    await guest.post(f"{path}/moves", {"ply": 1, "move": "turn"})
    for caller in (stranger, nobody):
        seen = await caller.get(path)
        assert {"board", "legal", "can_undo"}.isdisjoint(seen)
        exactly(seen, {k: v for k, v in PLAY.items() if k not in ("board", "legal", "can_undo")})
        assert (seen["ply"], seen["status"]) == (1, "playing")
        problem(await caller.call("GET", f"{path}/moves"), 403, "not-visible")
        assert (await caller.get(f"/v1/players/{guest.id}/plays"))["items"] == []
    await guest.post(f"{path}/resign")
    for caller in (stranger, nobody):
        exactly(await caller.get(path), PLAY)
        exactly(await caller.get(f"{path}/moves"), LOG)
        listed = await caller.get(f"/v1/players/{guest.id}/plays")
        assert [item["id"] for item in listed["items"]] == [play["id"]]


async def test_a_log_is_read_in_pages(guest):
    play = await guest.post("/v1/plays", {"game": "kings-way", "seed": "1"}, status=201)
    path = f"/v1/plays/{play['id']}/moves"
    async with guest.socket() as socket:
        for ply in range(1, 8):
            await socket.move(play["id"], ply, "turn")
    whole = await guest.get(path)
    exactly(whole, {"items": [{"ply": natural, "move": MOVE, "at_ms": natural}], "next": None})
    assert [entry["ply"] for entry in whole["items"]] == [1, 2, 3, 4, 5, 6, 7]
    assert [entry["at_ms"] for entry in whole["items"]] == sorted(
        entry["at_ms"] for entry in whole["items"]
    )
    read, after = [], 0
    while after is not None:
        page = await guest.get(path, params={"after": after, "limit": 3})
        assert len(page["items"]) <= 3
        read += page["items"]
        after = page["next"]
    assert read == whole["items"]
    assert await guest.get(path, params={"after": 7}) == {"items": [], "next": None}
    for after in ("-1", "x", "1.0", "9" * 400, "", "١"):
        problem(await guest.call("GET", path, params={"after": after}), 422, "malformed")
