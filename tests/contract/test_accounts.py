"""Guests, players, log-in and log-out, and who is who."""

import asyncio

from tests.client import Caller
from tests.contract.shapes import ENTRY, PLAYER, exactly, problem

PASSWORD = "correct horse"


async def test_a_guest_is_made_without_a_body_or_with_an_empty_one(nobody):
    for body in (None, {}):
        entry = await nobody.post("/v1/guests", body, status=201)
        exactly(entry, {**ENTRY, "player": {**PLAYER, "kind": {"guest"}}})


async def test_every_guest_is_somebody_else(guests):
    made = await asyncio.gather(*(guests() for _ in range(5)))
    assert len({caller.id for caller in made}) == 5
    assert len({caller.token for caller in made}) == 5


async def test_a_player_has_a_name_and_a_token(nobody, service, client, fresh_name):
    name = fresh_name()
    entry = await nobody.post("/v1/players", {"name": name, "password": PASSWORD}, status=201)
    exactly(entry, {**ENTRY, "player": {**PLAYER, "kind": {"human"}}})
    assert entry["player"]["name"] == name
    me = await Caller(service, client, entry["player"], entry["token"]).get("/v1/me")
    assert me == entry["player"]


async def test_a_guest_claims_a_name_and_keeps_id_and_history(guest, nobody, fresh_name):
    play = await guest.post("/v1/plays", {"game": "kings-way", "seed": "1"}, status=201)
    name = fresh_name()
    entry = await guest.post("/v1/players", {"name": name, "password": PASSWORD}, status=201)
    exactly(entry, ENTRY)
    assert entry["player"] == {"id": guest.id, "name": name, "kind": "human"}
    # Both the guest's token and the new one speak for the player.
    assert await guest.get("/v1/me") == entry["player"]
    mine = await guest.get("/v1/me/plays")
    assert [item["id"] for item in mine["items"]] == [play["id"]]
    assert entry["player"].items() <= (await nobody.get(f"/v1/players/{guest.id}")).items()


async def test_one_of_two_claims_of_one_guest_counts(guest, fresh_name):
    names = [fresh_name(), fresh_name()]
    replies = await asyncio.gather(
        *(guest.call("POST", "/v1/players", {"name": n, "password": PASSWORD}) for n in names)
    )
    me = await guest.get("/v1/me")
    won = [reply for reply in replies if reply.status_code == 201]
    # The second may have come so late that it was no guest's any more: then it is a new player.
    own = [r.json()["player"] for r in won if r.json()["player"]["id"] == guest.id]
    assert own == [me]
    for reply in replies:
        if reply.status_code != 201:
            problem(reply, 409, "already-named")


async def test_a_name_is_taken_in_any_case(nobody, guest, fresh_name):
    name = fresh_name()
    await nobody.post("/v1/players", {"name": name, "password": PASSWORD}, status=201)
    for caller in (nobody, guest):
        body = {"name": name.upper(), "password": PASSWORD}
        problem(await caller.call("POST", "/v1/players", body), 409, "name-taken")
    assert (await guest.get("/v1/me"))["kind"] == "guest"


async def test_twenty_who_want_one_name_at_once(nobody, fresh_name):
    name = fresh_name()
    replies = await asyncio.gather(
        *(
            nobody.call("POST", "/v1/players", {"name": name, "password": PASSWORD})
            for _ in range(8)
        )
    )
    assert sorted(reply.status_code for reply in replies) == [201, *[409] * 7]


BAD_NAMES = [
    *("", "ab", "a" * 21, "with space", "ümlaut", "a\x00bc", "new\nline", "abc\n", "a/b/c"),
    *("\ud800abc", "abc\udfff", "ａｂｃ", "abc\u202e", "<script>", 12345, None, ["abc"], True),
]


async def test_names_have_a_form(nobody):
    for name in BAD_NAMES:
        body = {"name": name, "password": PASSWORD}
        reply = await nobody.call("POST", "/v1/players", body)
        # A lone surrogate is no Unicode text, and so no JSON.
        surrogate = isinstance(name, str) and any("\ud800" <= char <= "\udfff" for char in name)
        assert "<" not in reply.text
        assert "\\u0000" not in reply.text
        problem(reply, *((400, "bad-json") if surrogate else (422, "malformed")))


async def test_some_names_are_nobodys(nobody):
    for name in ("admin", "Samedeal", "NULL", "guest-0123456789"):
        problem(await _new(nobody, name), 422, "name-reserved")


async def _new(caller, name):
    return await caller.call("POST", "/v1/players", {"name": name, "password": PASSWORD})


BAD_PASSWORDS = ["", "short", "x" * 201, "nul\x00nul\x00", "\ud800" * 8, 1, None]


async def test_passwords_have_a_form(nobody, fresh_name):
    for password in BAD_PASSWORDS:
        body = {"name": fresh_name(), "password": password}
        reply = await nobody.call("POST", "/v1/players", body)
        assert reply.status_code in (400, 422)
        problem(reply, reply.status_code, "bad-json" if reply.status_code == 400 else "malformed")


async def test_logging_in_gives_a_fresh_token_and_keeps_the_old(
    nobody, service, client, fresh_name
):
    body = {"name": fresh_name(), "password": "Пароль с пробелами 🂡"}
    entry = await nobody.post("/v1/players", body, status=201)
    again = await nobody.post("/v1/login", {**body, "name": body["name"].lower()})
    exactly(again, ENTRY)
    assert again["player"] == entry["player"]
    assert again["token"] != entry["token"]
    for token in (entry["token"], again["token"]):
        caller = Caller(service, client, entry["player"], token)
        assert await caller.get("/v1/me") == entry["player"]


async def test_nobody_is_told_which_of_name_and_password_is_wrong(nobody, guest, fresh_name):
    name = fresh_name()
    await nobody.post("/v1/players", {"name": name, "password": PASSWORD}, status=201)
    told = []
    for wrong in (
        {"name": name, "password": "wrong password"},
        {"name": fresh_name(), "password": PASSWORD},
        {"name": guest.player["name"], "password": PASSWORD},
    ):
        body = problem(await nobody.call("POST", "/v1/login", wrong), 401, "bad-credentials")
        told.append({key: body[key] for key in ("title", "detail")})
    assert told[0] == told[1] == told[2]


async def test_logging_out_ends_one_token_and_its_sockets(nobody, service, client, fresh_name):
    body = {"name": fresh_name(), "password": PASSWORD}
    entry = await nobody.post("/v1/players", body, status=201)
    other = await nobody.post("/v1/login", body)
    leaving = Caller(service, client, entry["player"], entry["token"])
    staying = Caller(service, client, other["player"], other["token"])
    async with leaving.socket() as gone, staying.socket() as kept:
        await gone.expect("ready")
        await kept.expect("ready")
        assert await leaving.post("/v1/logout", status=204) is None
        assert await gone.close_code() == 4001
        await kept.still()
    problem(await leaving.call("GET", "/v1/me"), 401, "bad-token")
    problem(await leaving.call("POST", "/v1/logout"), 401, "bad-token")
    assert await staying.get("/v1/me") == entry["player"]


async def test_who_somebody_is(nobody, guest, fresh_name):
    assert guest.player.items() <= (await nobody.get(f"/v1/players/{guest.id}")).items()
    found = await nobody.get("/v1/players", params={"name": guest.player["name"].upper()})
    assert found == {"items": [guest.player], "next": None}
    missing = await nobody.get("/v1/players", params={"name": fresh_name()})
    assert missing == {"items": [], "next": None}
    problem(await nobody.call("GET", "/v1/players"), 422, "malformed")


NOBODYS = ["nul\x00", "", "é" * 50, "%00", "\u017fomebody", "x" * 5000]


async def test_a_name_that_nobody_can_have_is_not_found(nobody):
    for name in NOBODYS:
        found = await nobody.get("/v1/players", params={"name": name})
        assert found == {"items": [], "next": None}


async def test_me_is_told_only_to_somebody(nobody, service, client):
    reply = await nobody.call("GET", "/v1/me")
    problem(reply, 401, "unauthorized")
    assert reply.headers["www-authenticate"].startswith("Bearer")
    for token in ("nonsense", "sd_" + "x" * 43, "é"):
        header = f"Bearer {token}".encode("latin-1")
        reply = await nobody.call("GET", "/v1/me", headers={"Authorization": header})
        problem(reply, 401, "bad-token")
    for header in ("Bearer", "Basic dTpw", "nonsense"):
        reply = await nobody.call("GET", "/v1/me", headers={"Authorization": header})
        problem(reply, 401, "bad-token")
