"""What holds for every path: methods, media types, sizes, headers, and what operators ask for."""

import itertools
import re

import pytest

from tests.client import Caller
from tests.contract.shapes import problem

SOME_ID = "AZrQ2k3vcAAAAAAAAAAAAA"
PATHS = {
    "/v1/guests": "POST",
    "/v1/players": "GET POST",
    f"/v1/players/{SOME_ID}": "GET",
    f"/v1/players/{SOME_ID}/plays": "GET",
    "/v1/login": "POST",
    "/v1/logout": "POST",
    "/v1/me": "GET",
    "/v1/me/plays": "GET",
    "/v1/games": "GET",
    "/v1/games/kings-way": "GET",
    "/v1/plays": "POST",
    f"/v1/plays/{SOME_ID}": "GET",
    f"/v1/plays/{SOME_ID}/moves": "GET POST",
    f"/v1/plays/{SOME_ID}/resign": "POST",
    "/v1/races": "GET POST",
    f"/v1/races/{SOME_ID}": "GET",
    f"/v1/races/{SOME_ID}/entrants": "GET POST",
    f"/v1/races/{SOME_ID}/entrants/me": "PATCH DELETE",
    f"/v1/races/{SOME_ID}/start": "POST",
    f"/v1/races/{SOME_ID}/cancel": "POST",
    f"/v1/races/{SOME_ID}/events": "GET",
    f"/v1/races/{SOME_ID}/standings": "GET",
    f"/v1/races/{SOME_ID}/proof": "GET",
    "/livez": "GET",
    "/readyz": "GET",
    "/metrics": "GET",
}
BODIES = {path for path, methods in PATHS.items() if "POST" in methods or "PATCH" in methods}
NEEDED = {
    p for p in BODIES if p.endswith(("/players", "/login", "/plays", "/moves", "/races", "me"))
}
"""Paths whose requests have a body that is needed."""


async def test_every_path_names_its_methods(nobody):
    for path, methods in PATHS.items():
        for method in {"GET", "POST", "PUT", "PATCH", "DELETE"} - set(methods.split()):
            reply = await nobody.call(method, path)
            problem(reply, 405, "method-not-allowed")
            allowed = {name.strip() for name in reply.headers["allow"].split(",")}
            assert allowed - {"HEAD", "OPTIONS"} == set(methods.split()), path


async def test_what_is_nowhere_is_not_found(nobody, guest):
    for caller in (nobody, guest):
        for path in (
            *("/", "/v1", "/v1/", "/v1/nothing", "/v1/guests/", "/v1/games/", "/v1/plays//moves"),
            *("/v2/games", "/v1/ws", "/v1/games/kings-way/x", "/index.html", "/v1/%2e%2e/livez"),
        ):
            reply = await caller.call("GET", path)
            problem(reply, 404, "not-found")


JUNK = [
    *("1", "0", "-1", "null", "x" * 22, "x" * 40, "x" * 41, "x" * 6000, "%00", "%ff%fe", "'", "%"),
    *("a%2Fb", "%2e%2e", "<script>", "AZrQ2k3vcAAAAAAAAAAAAB", "é", "1%3B%20drop", "{}", "*"),
]


async def test_ids_of_any_junk_are_not_found(guest):
    junk = itertools.cycle([SOME_ID, *JUNK])
    with_id = [(path, m) for path in PATHS if SOME_ID in path for m in PATHS[path].split()]
    # Every path with every junk would be the same code over and over; each meets some.
    for (path, method), part in zip(with_id * 3, junk, strict=False):
        body = {"moves": {"ply": 1, "move": "turn"}, "me": {"ready": True}}.get(
            path.rpartition("/")[2]
        )
        sent = body if method in ("POST", "PATCH") else None
        reply = await guest.call(method, path.replace(SOME_ID, part), sent)
        problem(reply, 404, "not-found")
        assert "<script>" not in reply.text


async def test_a_body_must_be_declared_as_json(guest):
    for path in BODIES:
        method = "PATCH" if path.endswith("me") else "POST"
        for media in (None, "text/plain", "application/x-www-form-urlencoded", "text/json", ""):
            headers = {} if media is None else {"Content-Type": media}
            reply = await guest.call(method, path, content=b"{}", headers=headers)
            if path.endswith("/logout") and reply.status_code == 204:
                pytest.fail("logged out by a body that is not JSON")
            problem(reply, 415, "not-json")
    headers = {"Content-Type": "Application/JSON; charset=utf-8"}
    content = b'{"game": "kings-way"}'
    await guest.post("/v1/plays", status=201, content=content, headers=headers)


async def test_a_needed_body_must_be_there(guest):
    for path in NEEDED:
        method = "PATCH" if path.endswith("me") else "POST"
        headers = {"Content-Type": "application/json"}
        problem(await guest.call(method, path, headers=headers), 400, "bad-json")
        problem(await guest.call(method, path), 415, "not-json")


NO_JSON = [
    *(b"{", b"nope", b"\xff\xfe", b'{"game": "kings-way"} x', b"\x00", b"NaN", b"{'a': 1}"),
    *(b'{"game": NaN}', b'{"game": Infinity}', b'{"game": -Infinity}', b'{"game": "\xc3\x28"}'),
    *(b'{"game": "\\ud800"}', b"[" * 20_000, b'{"a":' * 9_000, b"\xef\xbb\xbf{}", b"1 2"),
    *(b"[" * 20_000 + b"]" * 20_000, b'{"x":' * 9_000 + b"1" + b"}" * 9_000),
]


async def test_what_is_no_json(guest):
    for path, content in zip(sorted(BODIES) * 3, itertools.cycle(NO_JSON), strict=False):
        method = "PATCH" if path.endswith("me") else "POST"
        reply = await guest.call(
            method, path, content=content, headers={"Content-Type": "application/json"}
        )
        assert reply.status_code in (400, 422), (path, reply.text)
        problem(reply, reply.status_code, "bad-json" if reply.status_code == 400 else "malformed")


NO_PLAYS = [
    *([], 5, "x", True, [{"game": "kings-way"}], {}, {"game": None}, {"game": 1}),
    *({"game": "kings-way", "more": 1}, {"game": "kings-way", "seed": ""}, {"seed": "1"}),
    *({"game": "kings-way", "seed": 1}, {"game": "kings-way", "seed": "x" * 65}),
    *({"game": "kings-way", "seed": "a b"}, {"game": "kings-way", "seed": "a\x00"}),
    {"game": "kings-way", "seed": "é"},
]


async def test_requests_are_closed_and_every_field_has_a_form(guest):
    for body in NO_PLAYS:
        problem(await guest.call("POST", "/v1/plays", body), 422, "malformed")


async def test_no_such_game(guest):
    for game in ("bridge", "kings", "-", "kings-way-"):
        problem(await guest.call("POST", "/v1/plays", {"game": game}), 422, "unknown-game")
        body = {"game": game, "kind": "live"}
        problem(await guest.call("POST", "/v1/races", body), 422, "unknown-game")


async def test_numbers_out_of_range(guest):
    play = await guest.post("/v1/plays", {"game": "kings-way"}, status=201)
    headers = {"Content-Type": "application/json"}
    for ply in ("1.5", "-1", "1e2", "1e400", "9" * 400, "-" + "9" * 400, "9223372036854775808"):
        content = f'{{"ply": {ply}, "move": "turn"}}'.encode()
        reply = await guest.call(
            "POST", f"/v1/plays/{play['id']}/moves", content=content, headers=headers
        )
        if ply == "1e2":  # a hundred, however it is written
            assert reply.status_code in (409, 422)
        else:
            assert reply.status_code in (400, 422)
        problem(reply, reply.status_code, reply.json()["code"])
    for move_id in ("", "x" * 41, "a b", "\x00", "é", 5):
        body = {"ply": 1, "move": "turn", "id": move_id}
        reply = await guest.call("POST", f"/v1/plays/{play['id']}/moves", body)
        problem(reply, 422, "malformed")
    for move in ("", "TURN", "x" * 17, "c1 w", "turn\n", None, 1, ["turn"]):
        body = {"ply": 1, "move": move}
        reply = await guest.call("POST", f"/v1/plays/{play['id']}/moves", body)
        problem(reply, 422, "malformed")


async def test_a_body_that_is_too_long(guest):
    headers = {"Content-Type": "application/json"}

    async def chunks():
        for _ in range(20):
            yield b" " * 10_000

    for path in sorted(BODIES):
        method = "PATCH" if path.endswith("me") else "POST"
        long = b'{"name": "' + b"x" * 100_000 + b'"}'
        problem(await guest.call(method, path, content=long, headers=headers), 413, "too-large")
        reply = await guest.call(method, path, content=chunks(), headers=headers)
        problem(reply, 413, "too-large")


async def test_replies_are_json_for_whoever_asks(nobody):
    for accept in ("text/html", "image/*", "*/*;q=0", "application/json"):
        for path, status in (("/v1/games", 200), ("/v1/nothing", 404), ("/v1/me", 401)):
            reply = await nobody.call("GET", path, headers={"Accept": accept})
            assert reply.status_code == status
            assert reply.headers["content-type"].startswith(
                ("application/json", "application/prob")
            )


async def test_every_reply_has_an_id_and_is_nobody_elses(nobody, guest):
    ids = set()
    for path, methods in PATHS.items():
        for method in methods.split():
            if path.endswith("/logout"):
                continue
            for caller in (nobody, guest):
                reply = await caller.call(method, path)
                ids.add(reply.headers["x-request-id"])
                if path != "/metrics":
                    assert reply.headers["cache-control"] == "private, no-store", path
                assert "etag" not in reply.headers
                assert reply.headers["x-content-type-options"] == "nosniff"
    assert all(re.fullmatch("[0-9a-f]{16}", one) for one in ids)
    assert len(ids) > 2 * len(PATHS)


async def test_head_is_get_without_a_body(nobody):
    reply = await nobody.call("HEAD", "/v1/games")
    assert (reply.status_code, reply.content) == (200, b"")
    assert reply.headers["content-type"] == "application/json"


async def test_alive_and_ready(nobody):
    assert await nobody.get("/livez") == {"status": "alive"}
    assert await nobody.get("/readyz") == {"status": "ready", "bus": "up"}


async def test_numbers_for_operators_hold_no_ids(service, client, guest):
    url = service.urls[0]
    here = Caller(service, client, guest.player, guest.token)
    play = await here.post("/v1/plays", {"game": "kings-way"}, status=201)
    for _ in range(2):  # one for each process, where there are two
        await here.get(f"/v1/plays/{play['id']}")
    reply = await client.get(f"{url}/metrics")
    assert reply.status_code == 200
    assert reply.headers["content-type"].startswith("text/plain")
    text = reply.text
    pattern = (
        r'^samedeal_http_requests_total{method="GET",path="/v1/plays/{id}",status="200"} (\S+)$'
    )
    counted = re.search(pattern, text, re.MULTILINE)
    assert counted is not None
    assert float(counted[1]) >= 1
    for secret in (play["id"], guest.id, guest.token):
        assert secret not in text
    for name in ("samedeal_sockets", "samedeal_http_seconds_bucket"):
        assert re.search(rf"^{name}\b", text, re.MULTILINE)


async def test_the_log_tells_the_request_and_no_secret(service, client, guest):
    play = await guest.post("/v1/plays", {"game": "kings-way"}, status=201)
    reply = await guest.call("GET", f"/v1/plays/{play['id']}?secret=word")
    # The line is written after the reply has gone out, and before the next request is read.
    for url in service.urls:
        await client.get(f"{url}/livez")
    logs = "".join(process.log.read_text() for process in service.processes)
    assert reply.headers["x-request-id"] in logs
    for secret in (guest.token, play["id"], "secret=word"):
        assert secret not in logs
