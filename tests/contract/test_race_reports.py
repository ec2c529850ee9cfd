"""What other services' players reported as bugs of races, each with the right outcome."""

from tests.contract.live import begun, finish, lobby, raced, start
from tests.contract.shapes import problem


async def test_a_creator_who_has_finished_may_open_another_race(guest, rival):
    first = await begun(guest, rival)
    me = (await guest.get(f"/v1/races/{first}"))["me"]
    await guest.post(f"/v1/plays/{me['play']}/resign")
    assert (await guest.get(f"/v1/races/{first}"))["state"] == "running"
    second = await lobby(guest, rival)
    await start(guest, second["id"])
    assert (await guest.get(f"/v1/races/{second['id']}"))["state"] == "running"
    await finish(second["id"], guest, rival)
    await finish(first, rival)


async def test_the_host_leaves_and_the_longest_standing_entrant_can_start(guest, rival, stranger):
    race = (await lobby(guest, rival, stranger))["id"]
    problem(await rival.call("POST", f"/v1/races/{race}/start"), 403, "not-host")
    await guest.delete(f"/v1/races/{race}/entrants/me")
    assert (await rival.get(f"/v1/races/{race}"))["host"] == rival.player
    problem(await stranger.call("POST", f"/v1/races/{race}/start"), 403, "not-host")
    problem(await guest.call("POST", f"/v1/races/{race}/start"), 403, "not-host")
    await start(rival, race)
    entrants = (await rival.get(f"/v1/races/{race}"))["entrants"]
    assert [entrant["player"] for entrant in entrants] == [rival.player, stranger.player]


async def test_cancelled_stays_cancelled_whatever_is_sent(guest, rival, stranger):
    race = (await lobby(guest, rival))["id"]
    cancelled = await guest.post(f"/v1/races/{race}/cancel")
    assert cancelled["state"] == "cancelled"
    at = f"/v1/races/{race}"
    for caller, method, path, body in (
        (stranger, "POST", "/entrants", None),
        (rival, "POST", "/entrants", None),
        (rival, "PATCH", "/entrants/me", {"ready": True}),
        (guest, "PATCH", "/entrants/me", {"ready": True}),
        (rival, "DELETE", "/entrants/me", None),
        (guest, "POST", "/start", None),
        (guest, "POST", "/rematch", None),
        (guest, "POST", "/plays", None),
        (rival, "POST", "/cancel", None),
    ):
        reply = await caller.call(method, at + path, body)
        assert 400 <= reply.status_code < 500, (method, path, reply.text)
    assert await guest.post(f"{at}/cancel") == cancelled
    assert await guest.get(at) == cancelled


async def test_a_race_alone_ends_when_you_end(guest):
    race = await raced(guest)
    ended = await guest.get(f"/v1/races/{race}")
    assert (ended["state"], ended["total"]) == ("ended", 1)
    (row,) = (await guest.get(f"/v1/races/{race}/standings"))["items"]
    assert (row["player"], row["status"]) == (guest.player, "resigned")


async def test_spectators_are_not_in_the_results(guest, rival, guests, nobody):
    spectators = [await guests() for _ in range(4)] + [nobody]
    race = (await lobby(guest, rival))["id"]
    sockets = [spectator.socket() for spectator in spectators]
    opened = [await socket.__aenter__() for socket in sockets]
    for socket in opened:
        await socket.watch(f"race:{race}")
    await start(guest, race)
    for socket in opened:
        frame = await socket.expect("event", type="started")
        assert frame["data"]["play"] is None
    await finish(race, guest, rival)
    racers = {guest.id, rival.id}
    for socket in opened:
        frame = await socket.expect("event", type="race-ended")
        assert {row["player"]["id"] for row in frame["data"]["standings"]} == racers
        assert frame["data"]["total"] == 2
    for socket in sockets:
        await socket.__aexit__(None, None, None)
    standings = await nobody.get(f"/v1/races/{race}/standings")
    assert {row["player"]["id"] for row in standings["items"]} == racers
    assert standings["total"] == 2
    proof = await nobody.get(f"/v1/races/{race}/proof")
    assert {play["player"]["id"] for play in proof["plays"]} == racers
