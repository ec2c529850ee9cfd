"""Random JSON at every path and every op: a clear 4xx or an error frame, and never a fault."""

import importlib
import json
import pkgutil
from urllib.parse import quote

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from service.api import errors, messages, ops, rest
from tests.contract.live import lobby
from tests.contract.shapes import PROBLEM, exactly

ROUTES = [("", route) for route in ops.routes] + [
    ("/v1", route)
    for module in pkgutil.iter_modules(rest.__path__)
    for route in importlib.import_module(f"{rest.__name__}.{module.name}").routes
]
CALLS = sorted(
    (method.upper(), prefix + route.path)
    for prefix, route in ROUTES
    for method in ("get", "post", "put", "patch", "delete")
    if hasattr(route.endpoint, method) and not route.path.endswith("/logout")
)
SLOW = ("/hint", "/analysis")
"""Where a solver works on what there is: seconds, or 503 when it is not done by then."""
CODES = {(shape.status, shape.code) for shape in errors.SHAPES.values()}
SOCKET_CODES = {code for _status, code in CODES} | {"too-many-sockets"}


def _forms(base):
    for form in base.__subclasses__():
        yield form
        yield from _forms(form)


FORMS = [*_forms(messages.Request), *_forms(messages.Frame)]
FIELDS = sorted({name for form in FORMS for name in form.__struct_fields__})

# Every code point, surrogates as well: json writes those as escapes.
TEXT = st.text(st.characters(codec=None, exclude_categories=()), max_size=30)
NUMBERS = (
    st.integers()
    | st.integers(-(10**400), 10**400)
    | st.floats()
    | st.sampled_from([0, 1, -1, 2**31, 2**53, 2**63, 2**64, 10**400, 1e308])
)
KNOWN = st.sampled_from(
    [
        *("kings-way", "royal-mullein", "live", "open", "time", "moves", "turn", "undo", "c1-w"),
        *("move", "watch", "unwatch", "auth", "ping", "read", "2026-01-01T00:00:00.000Z", "lobby"),
        *("me", "playing", "ended", "newest", "guest", "2026-01", "2026-01-01"),
    ]
)
SCALARS = st.none() | st.booleans() | NUMBERS | TEXT | KNOWN
JSON = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4),
    max_leaves=8,
)
BODIES = st.dictionaries(st.sampled_from(FIELDS) | TEXT, SCALARS | JSON, max_size=6) | JSON
QUERY = st.dictionaries(
    st.sampled_from(
        [
            "limit",
            "cursor",
            "after",
            "around",
            "kind",
            "state",
            "game",
            "sort",
            "status",
            "race",
            "name",
            "month",
            "q",
        ]
    ),
    st.text(st.characters(exclude_categories=("C", "Zl", "Zp")), max_size=30)
    | KNOWN
    | st.integers().map(str),
    max_size=3,
)
PARTS = TEXT.map(lambda text: quote(text.encode("utf-8", "replace"), safe="")) | KNOWN

JUNK = settings(
    deadline=None,
    max_examples=6,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)


@pytest.fixture
async def things(guest):
    """Ids of what there is, for paths and bodies that get further than the first look."""
    play = await guest.post("/v1/plays", {"game": "kings-way", "seed": "1"}, status=201)
    race = await lobby(guest)
    return [play["id"], race["id"], guest.id]


@JUNK
@given(
    calls=st.lists(
        st.tuples(st.sampled_from(CALLS), BODIES, QUERY, st.integers(0, 4), PARTS),
        min_size=8,
        max_size=16,
    )
)
async def test_every_path_is_thrown_junk(guest, things, calls):
    for (method, path), body, query, which, part in calls:
        # Half of the ids name something, if not always what the path is about.
        known = things[which] if which < len(things) and not path.endswith(SLOW) else part or "-"
        parts = [known if "{" in piece else piece for piece in path.split("/")]
        sent = None if method == "GET" else body
        reply = await guest.call(method, "/".join(parts), sent, params=query)
        assert reply.status_code < 500, (method, path, body, query, reply.text)
        if reply.status_code >= 400:
            assert reply.headers["content-type"] == "application/problem+json"
            told = reply.json()
            exactly({key: told.get(key) for key in PROBLEM}, PROBLEM)
            assert (reply.status_code, told["code"]) in CODES, told


@JUNK
@given(
    frames=st.lists(
        st.tuples(
            st.sampled_from(["move", "watch", "unwatch", "ping", "x"]), BODIES, st.integers(0, 4)
        ),
        min_size=10,
        max_size=25,
    )
)
async def test_every_op_is_thrown_junk(guest, things, frames):
    async with guest.socket() as socket:
        await socket.expect("ready")
        for op, body, which in frames:
            frame = body
            if isinstance(body, dict) and which < len(things):
                topic = ("play:", "race:", "")[which] + things[which]
                frame = {"op": op, "play": things[0], "topic": topic} | body
            text = json.dumps(frame)
            if len(text) <= 16_000:
                await socket.raw(text)
        for told in await socket.still():
            if told["op"] in ("error", "reject"):
                assert told["code"] in SOCKET_CODES, told


@JUNK
@given(frames=st.lists(st.binary(max_size=200) | TEXT, min_size=5, max_size=20))
async def test_the_socket_is_thrown_noise(guest, frames):
    async with guest.socket() as socket:
        await socket.expect("ready")
        for frame in frames:
            await socket.raw(
                frame if isinstance(frame, bytes) else frame.encode("utf-8", "replace")
            )
        answers = [told for told in await socket.still() if told["op"] != "ready"]
        assert len(answers) == len(frames)
        assert {told["op"] for told in answers} == {"error"}
