"""Nothing leaks: every byte that anybody got before a race's end, held against the deal.

All that an entrant, a rival, a spectator, an anonymous caller and an operator were told is kept,
while errors are provoked on every path. When the race has ended its seed is known, and with it
everything that nobody should have been told.
"""

import asyncio
import itertools
import json
from collections import Counter
from typing import Any

import httpx2
import msgspec
import pytest

from service.rules import commitment, start
from service.rules.game import Position
from tests.e2e.conftest import Listen, Racers
from tests.e2e.racing import Json, Racer, begin, eager, ended, last, lazy, lobby, proved
from tests.e2e.served import Service, Services, caller, cards_in

SECRET_FIELDS = frozenset({"board", "piles", "changes", "legal", "can_undo", "move", "log", "up"})


@pytest.mark.parametrize(
    ("game", "kind"), [("kings-way", "sqlite"), ("royal-mullein", "postgres and redis")]
)
async def test_nothing_is_told_before_the_end(
    services: Services,
    racers: Racers,
    listen: Listen,
    request: pytest.FixtureRequest,
    game: str,
    kind: str,
) -> None:
    if kind == "sqlite":
        server = await services.start()
    else:
        url = request.getfixturevalue("fresh_postgres_url")
        server = await services.start(url, request.getfixturevalue("redis_url"))
    # The host is in it, too, and has no more to see than others. The last one is slow.
    host, quick, quitter, slow, spectator = await racers(5, server)
    four = [host, quick, quitter, slow]
    race = await lobby(four, game)
    watchers = [await listen(server), await listen(server, spectator.token)]
    for watcher in watchers:
        await watcher.send(op="watch", topic=f"race:{race}")
        await watcher.frame(op="snapshot")
    public: list[bytes] = []
    await _everything_public(server, race, public)
    await begin(four)
    plays = {racer.id: racer.play["id"] for racer in four}

    for racer in four:
        await _provoke(racer, four)
    await asyncio.gather(
        slow.play_on(lazy, lambda: slow.ply >= 20),
        quitter.play_on(last, lambda: quitter.ply >= 10),
        host.play_on(eager),
        quick.play_on(lazy),
    )
    await quitter.done("POST", f"/v1/plays/{plays[quitter.id]}/resign")
    for racer in (host, quick, quitter):
        ending = {"type": "entrant-ended", "player": racer.id}
        await slow.until(
            lambda e=ending: any(e.items() <= event.items() for event in slow.events.values()),
            "the end of a play is told",
        )
    # Three have finished, one has not. What do they, and those who never were in it, get to see?
    for racer in (*four, spectator):
        for owner in four:
            await _look(racer, owner, race)
    for racer in (host, quick, quitter):
        await _provoke(racer, four)
    for watcher in watchers:
        for play in plays.values():
            await watcher.send(op="watch", topic=f"play:{play}")
            answer = await watcher.frame(op="error", topic=f"play:{play}")
            assert answer["code"] == "not-visible"
            await watcher.send(op="move", play=play, ply=1, move="turn", id=f"x-{play}")
            refusal = await watcher.frame(op="reject", id=f"x-{play}")
            assert refusal["code"] in ("not-your-play", "unauthorized")
    await _everything_public(server, race, public)
    assert (await host.refused("POST", f"/v1/races/{race}/cancel"))[0] == 409

    # The cut: all that was told up to here was told before the end.
    before = {racer.id: _told(racer) for racer in (*four, spectator)}
    public += [text.encode() for watcher in watchers for text in watcher.raw]
    logs = server.logged()
    await slow.done("POST", f"/v1/plays/{slow.play['id']}/resign")
    await ended(four)
    proof = await proved(four)
    seed = proof["seed"]
    assert commitment(game, seed) == proof["commitment"]

    for told in (*before.values(), public, [logs.encode()]):
        assert not [text for text in told if seed.encode() in text]
    for told in (public, before[spectator.id]):
        for text in told:
            _check_stranger(text)
    deal = start(game, seed)
    logged = {play["play"]: [e["move"] for e in play["log"]] for play in proof["plays"]}
    for racer in four:
        _check_entrant(racer, before[racer.id], deal, logged[plays[racer.id]])

    # And now everything is open, to everybody.
    for owner in four:
        view = await spectator.done("GET", f"/v1/plays/{plays[owner.id]}")
        assert view["deal"]["seed"] == seed
        assert view["board"]
        log = await spectator.done("GET", f"/v1/plays/{plays[owner.id]}/moves", limit=500)
        assert [entry["move"] for entry in log["items"]] == logged[plays[owner.id]]
    for watcher in watchers:
        assert (await watcher.frame(op="event", v=slow.race_v))["data"]["seed"] == seed


def _told(racer: Racer) -> list[bytes]:
    return [*racer.heard, *(text.encode() for socket in racer.sockets for text in socket.raw)]


async def _provoke(racer: Racer, four: list[Racer]) -> None:
    """Every error that a player can get out of the service, by REST and on the socket."""
    play = racer.play["id"]
    path = f"/v1/plays/{play}/moves"
    other = next(rival for rival in four if rival is not racer).play["id"]
    nonsense = {"ply": racer.ply + 1, "move": "s-k9", "id": f"n-{racer.ply}"}
    for body in (
        nonsense,
        {**nonsense, "ply": 0},
        {**nonsense, "ply": 900},
        {**nonsense, "move": "undo"},
        {**nonsense, "move": "timeout"},
        {**nonsense, "id": ""},
        {**nonsense, "seed": "1"},
        [nonsense],
    ):
        assert (await racer.call("POST", path, body)).status_code in (409, 422)
    turn = {"ply": 1, "move": "turn", "id": f"t-{racer.ply}"}
    assert await racer.refused("POST", f"/v1/plays/{other}/moves", turn) == (403, "not-your-play")
    assert await racer.refused("POST", f"/v1/plays/{other}/resign") == (403, "not-your-play")
    hint = await racer.call("GET", f"/v1/plays/{play}/hint")
    assert not hint.is_success
    socket = racer.socket
    seen = len(socket.frames)
    frames: list[Json] = [
        {"op": "move", "play": play, **nonsense, "id": f"s-{racer.ply}"},
        {"op": "move", "play": play, **nonsense, "id": f"u-{racer.ply}", "ply": 700},
        {"op": "move", "play": other, **turn, "id": f"v-{racer.ply}"},
        {"op": "move", "play": other, "ply": "1", "move": 5, "id": f"w-{racer.ply}"},
        {"op": "watch", "topic": f"play:{other}"},
        {"op": "watch", "topic": f"play:{other}", "since": 0},
        {"op": "watch", "topic": "deal:1"},
        {"op": "watch", "topic": f"race:{other}"},
        {"op": "auth", "token": racer.token},
        {"op": "peek", "play": other},
    ]
    for frame in frames:
        await socket.send(**frame)
    await socket.until(
        lambda: (
            len([f for f in socket.frames[seen:] if f["op"] in ("reject", "error")]) >= len(frames)
        ),
        "every error is told",
    )


async def _look(racer: Racer, owner: Racer, race: str) -> None:
    """What is there to see of somebody's play while the race goes on."""
    play = owner.play["id"]
    view = await racer.done("GET", f"/v1/plays/{play}")
    assert view["deal"]["seed"] is None
    assert ("board" in view) == ("legal" in view) == (racer is owner)
    if racer is owner:
        await racer.done("GET", f"/v1/plays/{play}/moves", limit=500)
    else:
        for query in ("", "?after=3"):
            refusal = await racer.refused("GET", f"/v1/plays/{play}/moves{query}")
            assert refusal == (403, "not-visible")
    listed = await racer.done("GET", f"/v1/players/{owner.id}/plays")
    assert (play in [item["id"] for item in listed["items"]]) == (racer is owner)
    await racer.done("GET", "/v1/me/plays", race=race)
    assert await racer.refused("GET", f"/v1/races/{race}/proof") == (409, "race-not-ended")


async def _everything_public(server: Service, race: str, heard: list[bytes]) -> None:
    """All that can be read of a race without an account, and by its operators."""
    async with caller(server.url) as http:

        async def get(path: str) -> httpx2.Response:
            answer = await http.get(path)
            heard.extend((str(dict(answer.headers)).encode(), answer.content))
            return answer

        found = (await get(f"/v1/races/{race}")).json()
        for path in (
            *("/livez", "/readyz", "/metrics", "/v1/races", "/v1/races?state=running"),
            *(f"/v1/races/{race}/{part}" for part in ("entrants", "events", "standings")),
            f"/v1/races/{race}/events?after=3&limit=2",
            *(f"/v1/players/{entrant['player']['id']}" for entrant in found["entrants"]),
            *(f"/v1/players/{entrant['player']['id']}/plays" for entrant in found["entrants"]),
        ):
            assert (await get(path)).status_code == 200, path
        proof = await get(f"/v1/races/{race}/proof")
        assert (proof.status_code, proof.json()["code"]) == (409, "race-not-ended")
        # A commitment is no seed: nobody can practise by it.
        deal = {"game": found["game"], "seed": found["deal"]["commitment"]}
        assert (await http.post("/v1/plays", json=deal)).status_code == 401


def _check_stranger(text: bytes) -> None:
    """Not a card, not a move, not a pile of the race's deal."""
    value = _json(text)
    _no_secrets(value)
    assert cards_in(value) == [], value


def _json(text: bytes) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text.decode()  # a reply's head, or numbers for an operator


def _no_secrets(value: Any) -> None:
    match value:
        case dict():
            for key, item in value.items():
                assert key not in SECRET_FIELDS, value
                _no_secrets(item)
        case list():
            for item in value:
                _no_secrets(item)


def _check_entrant(racer: Racer, told: list[bytes], deal: Position, moves: list[str]) -> None:
    """Each card that an entrant was told lay face up on their own board by then."""
    positions = [deal]
    for move in moves:
        if move not in ("resign", "timeout"):
            positions.append(positions[-1].apply(move).position)
    # Face up at some ply or other, of what each was before the cut.
    boards = [json.loads(msgspec.json.encode(position.board())) for position in positions]
    faces = [Counter(cards_in([pile["up"] for pile in b["piles"].values()])) for b in boards]
    told_of = 0
    for text in told:
        value = _json(text)
        for found in _parts(value):
            if "board" in found:
                assert found["id"] == racer.play["id"]
                shown = found["board"]
                assert shown == boards[min(found["ply"], len(boards) - 1)]
                told_of += 1
            elif "changes" in found and found["move"] not in ("resign", "timeout"):
                ply = found["ply"]
                step = positions[ply - 1].apply(found["move"])
                assert found["changes"] == json.loads(msgspec.json.encode(step.changes))
                assert not Counter(cards_in(found["changes"])) - (faces[ply - 1] | faces[ply])
                assert tuple(found["legal"]) == positions[ply].legal()
                told_of += 1
            elif "legal" in found:
                # A refusal: what was legal at some ply of their own; or an end.
                legal = tuple(found["legal"])
                assert not legal or any(legal == position.legal() for position in positions)
        rest = _without_boards(value)
        assert cards_in(rest) == [], rest
    assert told_of > len(racer.told)


def _parts(value: Any) -> Any:
    match value:
        case dict():
            yield value
            yield from itertools.chain.from_iterable(map(_parts, value.values()))
        case list():
            yield from itertools.chain.from_iterable(map(_parts, value))


def _without_boards(value: Any) -> Any:
    match value:
        case dict():
            hidden = ("board", "changes")
            return {key: _without_boards(item) for key, item in value.items() if key not in hidden}
        case list():
            return [_without_boards(item) for item in value]
        case _:
            return value
