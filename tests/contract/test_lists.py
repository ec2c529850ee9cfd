"""Lists: limits, cursors, orders and filters."""

import base64

import pytest

from tests.contract.shapes import CURSOR, PLAY, RACE, exactly, problem


async def _pages(caller, path, **params):
    """The items of a whole list, read in pages."""
    items, cursor = [], None
    while True:
        asked = params if cursor is None else {**params, "cursor": cursor}
        page = await caller.get(path, params=asked)
        exactly(page["next"], CURSOR)
        assert len(page["items"]) <= params.get("limit", 20)
        items += page["items"]
        cursor = page["next"]
        if cursor is None:
            return items


@pytest.fixture
async def five(guest):
    """Five plays, the latest first: of both games, some ended."""
    made = []
    for n in range(5):
        game = ("kings-way", "royal-mullein")[n % 2]
        play = await guest.post("/v1/plays", {"game": game}, status=201)
        if n in (1, 2):
            await guest.post(f"/v1/plays/{play['id']}/resign")
        made.insert(0, play["id"])
    return made


async def test_my_plays_the_latest_first(guest, rival, five):
    page = await guest.get("/v1/me/plays")
    exactly(page, {"items": [PLAY], "next": None})
    assert [item["id"] for item in page["items"]] == five
    for limit in (1, 2, 5, 100):
        items = await _pages(guest, "/v1/me/plays", limit=limit)
        assert [item["id"] for item in items] == five
    assert await rival.get("/v1/me/plays") == {"items": [], "next": None}


async def test_my_plays_by_status_and_race(guest, five):
    for status, expected in (
        ("resigned", [five[2], five[3]]),
        ("ended", [five[2], five[3]]),
        ("playing", [five[0], five[1], five[4]]),
        ("solved", []),
    ):
        items = await _pages(guest, "/v1/me/plays", status=status, limit=1)
        assert [item["id"] for item in items] == expected
    race = await guest.post("/v1/races", {"game": "kings-way", "kind": "live"}, status=201)
    page = await guest.get("/v1/me/plays", params={"race": race["id"]})
    assert page == {"items": [], "next": None}
    for params in ({"status": "nonsense"}, {"status": ""}, {"race": "x"}, {"race": ""}):
        problem(await guest.call("GET", "/v1/me/plays", params=params), 422, "malformed")


async def test_what_comes_meanwhile_does_not_disturb_the_pages(guest, five):
    first = await guest.get("/v1/me/plays", params={"limit": 2})
    await guest.post("/v1/plays", {"game": "kings-way"}, status=201)
    rest = await guest.get("/v1/me/plays", params={"limit": 100, "cursor": first["next"]})
    read = [item["id"] for item in first["items"] + rest["items"]]
    assert read == five


NO_LIMITS = ["0", "101", "-1", "x", "", "1.5", "9" * 400, "٣"]


async def test_limits_have_a_range(guest):
    for limit in NO_LIMITS:
        for path in ("/v1/me/plays", "/v1/races"):
            problem(await guest.call("GET", path, params={"limit": limit}), 422, "malformed")


async def test_a_cursor_counts_for_its_list_only(guest, rival, five):
    cursor = (await guest.get("/v1/me/plays", params={"limit": 2}))["next"]
    race = await guest.post("/v1/races", {"game": "kings-way", "kind": "live"}, status=201)
    await rival.post(f"/v1/races/{race['id']}/entrants")
    for caller, path, params in (
        (rival, "/v1/me/plays", {}),
        (guest, "/v1/me/plays", {"status": "playing"}),
        (guest, f"/v1/players/{guest.id}/plays", {"status": "resigned"}),
        (guest, "/v1/races", {}),
        (guest, f"/v1/races/{race['id']}/entrants", {}),
        (guest, f"/v1/races/{race['id']}/standings", {}),
        (guest, f"/v1/races/{race['id']}/proof", {}),
    ):
        reply = await caller.call("GET", path, params={**params, "cursor": cursor})
        problem(reply, 422, "malformed")


async def test_cursors_of_any_junk(guest, rival, five):
    race = await guest.post("/v1/races", {"game": "kings-way", "kind": "live"}, status=201)
    await rival.post(f"/v1/races/{race['id']}/entrants")
    true = {
        "/v1/me/plays": (await guest.get("/v1/me/plays", params={"limit": 2}))["next"],
        f"/v1/races/{race['id']}/entrants": (
            await guest.get(f"/v1/races/{race['id']}/entrants", params={"limit": 1})
        )["next"],
        "/v1/races": (await guest.get("/v1/races", params={"limit": 1}))["next"],
    }
    for path, cursor in true.items():
        scope = base64.urlsafe_b64decode(cursor + "==").decode().rpartition(" ")[0]
        # Not only noise, but what somebody would make who has understood what a cursor is.
        forged = [
            base64.urlsafe_b64encode(f"{scope} {at}".encode()).decode().rstrip("=")
            for at in ("x", "", "-1", "1.5", "9" * 5000, "\x00", "1 OR 1", "é", "٣", five[0] + "x")
        ]
        for junk in (*forged, "", "x", "é", "=", "\x00", "x" * 5000, cursor + "A", cursor[:-1]):
            reply = await guest.call("GET", path, params={"cursor": junk})
            problem(reply, 422, "malformed")


async def test_races_the_latest_first(guest, nobody):
    made = []
    for n in range(3):
        body = {"game": ("kings-way", "royal-mullein")[n % 2], "kind": "live", "name": f"Race {n}"}
        made.insert(0, (await guest.post("/v1/races", body, status=201))["id"])
    hidden = {"game": "kings-way", "kind": "live", "listed": False}
    unlisted = await guest.post("/v1/races", hidden, status=201)
    page = await nobody.get("/v1/races", params={"limit": 3})
    exactly(page, {"items": [RACE], "next": CURSOR})
    assert [item["id"] for item in page["items"]] == made
    # Other tests make races, too: as many pages as there are since ours.
    first = await nobody.get("/v1/races", params={"limit": 1})
    second = await nobody.get("/v1/races", params={"limit": 2, "cursor": first["next"]})
    assert [item["id"] for item in first["items"] + second["items"]] == made
    assert (await nobody.get(f"/v1/races/{unlisted['id']}"))["listed"] is False
    await guest.post(f"/v1/races/{made[0]}/cancel")
    for params, expected in (
        ({"game": "royal-mullein"}, [made[1]]),
        ({"game": "kings-way", "state": "lobby"}, [made[2]]),
        ({"state": "cancelled", "kind": "live"}, [made[0]]),
    ):
        asked = {**params, "limit": 1, "sort": "newest"}
        page = await nobody.get("/v1/races", params=asked)
        assert [item["id"] for item in page["items"]] == expected
    for params in ({"state": "x"}, {"kind": "x"}, {"game": "x"}, {"game": "\x00"}, {"sort": "x"}):
        problem(await nobody.call("GET", "/v1/races", params=params), 422, "malformed")
