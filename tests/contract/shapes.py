"""The exact JSON shapes of the protocol: field names, types and formats.

A shape is a type, a predicate, a set of constants, a list of one shape, or a dict of them. `exactly`
demands every field and no other; `|` between shapes is `either`.
"""

import re
from collections.abc import Callable
from typing import Any

Shape = Any


def exactly(value: Any, shape: Shape, at: str = "") -> None:
    """Fails with the place at which a value is not of that shape."""
    match shape:
        case dict():
            assert isinstance(value, dict), f"{at}: {value!r} is not an object"
            assert value.keys() == shape.keys(), f"{at}: {sorted(value)} are not {sorted(shape)}"
            for key, inner in shape.items():
                exactly(value[key], inner, f"{at}.{key}")
        case []:
            assert value == [], f"{at}: {value!r} is not empty"
        case [inner]:
            assert isinstance(value, list), f"{at}: {value!r} is not an array"
            for n, item in enumerate(value):
                exactly(item, inner, f"{at}[{n}]")
        case set() | frozenset():
            assert value in shape, f"{at}: {value!r} is none of {shape}"
        case type():
            # True is an int to Python, and not to JSON.
            assert type(value) is shape, f"{at}: {value!r} is no {shape.__name__}"
        case None:
            assert value is None, f"{at}: {value!r} is not null"
        case _:
            assert shape(value), f"{at}: {value!r} is no {shape.__doc__ or shape.__name__}"


def text_like(pattern: str) -> Callable[[Any], bool]:
    def matches(value: Any) -> bool:
        return isinstance(value, str) and re.fullmatch(pattern, value) is not None

    matches.__doc__ = f"text like {pattern}"
    return matches


def either(*shapes: Shape) -> Callable[[Any], bool]:
    def matches(value: Any) -> bool:
        for shape in shapes:
            try:
                exactly(value, shape)
            except AssertionError:
                continue
            return True
        return False

    matches.__doc__ = f"either of {shapes}"
    return matches


def many(key: Shape, inner: Shape) -> Callable[[Any], bool]:
    """An object of any keys of one shape, all values of another."""

    def matches(value: Any) -> bool:
        for name, item in value.items():
            exactly(name, key)
            exactly(item, inner, name)
        return True

    return matches


def natural(value: Any) -> bool:
    """natural number"""
    return type(value) is int and value >= 0


ID = text_like(r"[A-Za-z0-9_-]{1,40}")
INSTANT = text_like(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z")
HEX = text_like(r"[0-9a-f]{64}")
SEED = text_like(r"[A-Za-z0-9_-]{1,64}")
CARD = text_like(r"[A23456789TJQK][CDHS]")
MOVE = text_like(r"[a-z0-9-]{1,16}")
CURSOR = either(None, text_like(r"[A-Za-z0-9_-]+"))
STATUS = {"playing", "solved", "stuck", "resigned", "timed_out"}
GAME = {"kings-way", "royal-mullein"}

PLAYER = {"id": ID, "name": text_like(r"[A-Za-z0-9_-]{3,20}"), "kind": {"guest", "human", "bot"}}
ENTRY = {"player": PLAYER, "token": text_like(r"[!-~]{20,200}")}
PROBLEM = {"type": str, "title": str, "status": int, "detail": str, "code": text_like("[a-z-]+")}

BOARD = {
    "piles": many(MOVE, {"down": natural, "up": [CARD]}),
    "pass": natural,
    "pass_left": natural,
    "redeals_left": natural,
}
NUMBERS = {
    "id": ID,
    "game": GAME,
    "rules_version": natural,
    "mode": {"practice", "race"},
    "player": PLAYER,
    "race": either(None, ID),
    "deal": {"version": natural, "seed": either(None, SEED), "commitment": HEX},
    "status": STATUS,
    "ply": natural,
    "score": natural,
    "goal": {40, 96},
    "started_at": INSTANT,
    "deadline_at": either(None, INSTANT),
    "ended_at": either(None, INSTANT),
    "elapsed_ms": natural,
}
"""A play as those see it who may not see its board."""
PLAY = {**NUMBERS, "board": BOARD, "legal": [MOVE], "can_undo": bool}

CHANGE = either(
    {"do": {"move"}, "card": CARD, "from": MOVE, "to": MOVE},
    {"do": {"reveal"}, "card": CARD, "pile": MOVE},
    {"do": {"pack"}, "from": MOVE, "to": MOVE, "count": natural},
)
_DELTA = {
    "ply": natural,
    "move": MOVE,
    "at_ms": natural,
    "score": natural,
    "status": STATUS,
    "pass": natural,
    "pass_left": natural,
    "redeals_left": natural,
    "legal": [MOVE],
    "can_undo": bool,
}
DELTA = {**_DELTA, "changes": [CHANGE]}
UNDO = {**_DELTA, "move": {"undo"}, "board": BOARD}
LOG = {"items": [{"ply": natural, "move": MOVE, "at_ms": natural}], "next": either(None, natural)}

ENTRANT = {
    "player": PLAYER,
    "ready": bool,
    "status": either(None, STATUS),
    "score": either(None, natural),
    "ply": either(None, natural),
}
RACE = {
    "id": ID,
    "game": GAME,
    "kind": {"live", "open"},
    "name": either(None, str),
    "state": {"lobby", "countdown", "scheduled", "running", "ended", "cancelled"},
    "v": natural,
    "host": either(None, PLAYER),
    "rules_version": natural,
    "deal": {
        "version": natural,
        "commitment": HEX,
        "seed": either(None, SEED),
        "certified": bool,
    },
    "capacity": natural,
    "time_limit_ms": natural,
    "ranking": {"time", "moves"},
    "rated": bool,
    "listed": bool,
    "deals": {"winnable", "any"},
    "created_at": INSTANT,
    "starts_at": either(None, INSTANT),
    "opens_at": either(None, INSTANT),
    "closes_at": either(None, INSTANT),
    "ended_at": either(None, INSTANT),
    "parent": either(None, ID),
    "rematch": either(None, ID),
    "total": natural,
    "entrants": [ENTRANT],
    "me": either(None, {"ready": bool, "play": either(None, ID)}),
    "bots_wanted": many({"easy", "steady", "sharp"}, natural),
}
STANDING = {
    "rank": either(None, natural),
    "player": PLAYER,
    "status": STATUS,
    "score": natural,
    "score_ms": natural,
    "score_plies": natural,
    "points": either(None, float),
    "play": ID,
}
STANDINGS = {
    "items": [STANDING],
    "next": CURSOR,
    "total": natural,
    "as_of": INSTANT,
    "me": either(None, STANDING),
}
PROOF = {
    "race": ID,
    "game": GAME,
    "kind": {"live", "open", "daily"},
    "deal_version": natural,
    "rules_version": natural,
    "ranking_version": natural,
    "seed": SEED,
    "commitment": HEX,
    "ranking": {"time", "moves"},
    "time_limit_ms": natural,
    "plays": [
        {
            "player": PLAYER,
            "play": ID,
            "started_at": INSTANT,
            "log": [{"ply": natural, "move": MOVE, "at_ms": natural}],
        }
    ],
    "standings": [STANDING],
    "next": CURSOR,
    "daily": either(None, text_like(r"\d{4}-\d\d-\d\d")),
}

_EVENT = {"at": INSTANT}
EVENTS = {
    "created": _EVENT,
    "entrant-joined": {**_EVENT, "player": PLAYER},
    "entrant-left": {**_EVENT, "player": ID},
    "entrant-ready": {**_EVENT, "player": ID, "ready": bool},
    "host-changed": {**_EVENT, "host": PLAYER},
    "countdown": {**_EVENT, "starts_at": INSTANT},
    "cancelled": {**_EVENT, "reason": {"host", "empty", "idle"}, "seed": SEED},
    "started": {**_EVENT, "starts_at": INSTANT, "play": either(None, PLAY)},
    "entrant-ended": {
        **_EVENT,
        "player": ID,
        "status": STATUS,
        "score": natural,
        "score_ms": natural,
        "score_plies": natural,
        "moved": bool,
    },
    "race-ended": {**_EVENT, "standings": [STANDING], "total": natural, "seed": SEED},
}
"""The data of a race's events, by type."""


def race_event(data: Any) -> bool:
    """An event of a race."""
    exactly(data, {"type": set(EVENTS), **EVENTS[data["type"]]})
    return True


def problem(reply: Any, status: int, code: str) -> dict[str, Any]:
    """The body of an HTTP reply that must be an error of that status and code."""
    assert reply.status_code == status, f"{reply.status_code}, not {status}: {reply.text}"
    assert reply.headers["content-type"] == "application/problem+json"
    body = reply.json()
    assert body["code"] == code, body
    exactly({key: body[key] for key in PROBLEM}, PROBLEM)
    assert body["status"] == status
    assert body["type"].endswith(code)
    return dict(body)
