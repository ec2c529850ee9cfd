"""Competition as clients see it: a crowd that ends at once, dailies, open races, leaderboards."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime, timedelta

import httpx2
import msgspec
import pytest

from service.contest.proof import verify
from tests.client import Caller, http
from tests.serving import Service

# The contract has all four; here, those that differ most.
pytestmark = pytest.mark.parametrize(
    "combination", ["sqlite-local", "postgres-redis"], indirect=True
)

CROWD = 300
AT_ONCE = 60
FEW = 10
"""Who joins queues at the race's log; who queues for five seconds is sent away for a while."""


@pytest.fixture
async def client() -> AsyncIterator[httpx2.AsyncClient]:
    async with http() as client:
        yield client


@pytest.fixture(autouse=True)
def no_faults(service: Service) -> Iterator[None]:
    yield
    assert service.new_faults() == []


@pytest.fixture
def nobody(service: Service, client: httpx2.AsyncClient) -> Caller:
    return Caller(service, client, None, None)


async def guest(nobody: Caller) -> Caller:
    entry = await nobody.post("/v1/guests", status=201)
    return Caller(nobody.service, nobody.client, entry["player"], entry["token"])


async def in_turn(work, many, at_once=AT_ONCE):
    """The same for each, some at a time."""
    slots = asyncio.Semaphore(at_once)

    async def one(item):
        async with slots:
            return await work(item)

    return await asyncio.gather(*map(one, many))


def moment(at: datetime) -> str:
    return at.isoformat(timespec="milliseconds").replace("+00:00", "Z")


async def open_race(caller: Caller, opens_in: float, closes_in: float, **settings):
    now = datetime.now(UTC)
    asked = {
        "game": "kings-way",
        "kind": "open",
        "listed": False,
        "opens_at": moment(now + timedelta(seconds=opens_in)),
        "closes_at": moment(now + timedelta(seconds=closes_in)),
    }
    return await caller.post("/v1/races", {**asked, **settings}, status=201)


async def every_page(caller: Caller, path: str, limit: int) -> list:
    items, query = [], f"limit={limit}"
    while True:
        page = await caller.get(f"{path}?{query}")
        items += page["items"]
        if page["next"] is None:
            assert page.get("total", len(items)) == len(items)
            return items
        query = f"limit={limit}&cursor={page['next']}"


@pytest.mark.slow
async def test_a_crowd_that_ends_at_once(nobody):
    """Three hundred move and give up together: no 5xx, and everywhere the same standings."""
    people = await in_turn(lambda _n: guest(nobody), range(CROWD))
    host = people[0]
    asked = {"game": "kings-way", "kind": "live", "listed": False, "capacity": CROWD}
    race = f"/v1/races/{(await host.post('/v1/races', asked, status=201))['id']}"
    await in_turn(lambda one: one.post(f"{race}/entrants"), people[1:], FEW)
    topic = "race:" + race.rpartition("/")[2]
    async with host.socket() as own, nobody.socket() as other:
        await own.watch(topic)
        await other.watch(topic)
        await host.post(f"{race}/start")
        await own.expect("event", type="started")

        async def plays(caller: Caller) -> None:
            play = f"/v1/plays/{(await caller.get(race))['me']['play']}"
            if caller is not host:  # who stays without a move and so is the last
                await caller.post(f"{play}/moves", {"ply": 1, "move": "turn"})
            await caller.post(f"{play}/resign")

        await in_turn(plays, people)
        told = (await own.expect("event", type="race-ended"))["data"]
        theirs = (await other.expect("event", type="race-ended"))["data"]
    standings = await every_page(nobody, f"{race}/standings", 100)
    assert len(standings) == CROWD
    assert [row["rank"] for row in standings] == [1] * (CROWD - 1) + [None]
    assert {row["points"] for row in standings[:-1]} == {50.0}
    assert standings[-1]["player"] == host.player
    assert theirs["standings"] == standings[:50]
    assert told["standings"] == [*standings[:50], standings[-1]]
    assert (told["total"], told["seed"]) == (CROWD, theirs["seed"])

    proof = await nobody.get(f"{race}/proof?limit=100")
    page = proof
    while page["next"] is not None:
        page = await nobody.get(f"{race}/proof?limit=100&cursor={page['next']}")
        proof["plays"] += page["plays"]
    assert proof["standings"] == standings
    checked = verify(msgspec.json.encode(proof | {"next": None}))
    assert (checked.plays, checked.moves) == (CROWD, 2 * CROWD - 1)
    page = await host.get(f"{race}/standings?around=me&limit=3")
    assert page["items"] == standings[-3:]
    assert page["me"] == standings[-1]


async def test_an_open_race_before_it_opens(nobody):
    maker, other = await guest(nobody), await guest(nobody)
    race = await open_race(maker, 3_600, 7_200)
    assert (race["state"], race["entrants"], race["me"]) == ("scheduled", [], None)
    path = f"/v1/races/{race['id']}"
    refused = await other.post(f"{path}/plays", status=409)
    assert refused["code"] == "race-not-open"
    refused = await other.post(f"{path}/entrants", status=409)
    assert refused["code"] == "wrong-kind"
    refused = await other.post(f"{path}/cancel", status=403)
    assert refused["code"] == "not-host"
    assert (await other.get(f"{path}/standings"))["items"] == []
    cancelled = await maker.post(f"{path}/cancel")
    assert cancelled["state"] == "cancelled"
    for caller in (maker, other):
        refused = await caller.post(f"{path}/plays", status=409)
        assert refused["code"] == "race-over"


async def entered(maker: Caller, other: Caller, window: float) -> tuple[str, str, str] | None:
    """A race that is soon over and the plays of both; None if it was over too soon."""
    race = await open_race(maker, 0, window, time_limit_ms=600_000, name="Now or never")
    path = f"/v1/races/{race['id']}"
    own = await asyncio.gather(*(maker.call("POST", f"{path}/plays") for _ in range(4)))
    reply = await other.call("POST", f"{path}/plays")
    if 409 in (reply.status_code, *(one.status_code for one in own)):
        return None
    assert sorted(one.status_code for one in own) == [200, 200, 200, 201]
    (play,) = {one.json()["id"] for one in own}
    assert (await maker.get(path))["me"] == {"ready": True, "play": play}
    return path, play, reply.json()["id"]


async def test_an_open_race_from_its_opening_to_its_proof(nobody):
    maker, other = await guest(nobody), await guest(nobody)
    # A slow machine gets a longer race.
    found = None
    for window in (1.5, 6, 24):
        found = found or await entered(maker, other, window)
    path, play, second = found
    async with nobody.socket() as socket:
        await socket.watch("race:" + path.rpartition("/")[2])
        await maker.post(f"/v1/plays/{play}/moves", {"ply": 1, "move": "turn"})
        await maker.post(f"/v1/plays/{play}/resign")
        (row,) = (await other.get(f"{path}/standings"))["items"]
        assert (row["rank"], row["points"], row["player"]) == (1, None, maker.player)
        refused = await other.get(f"{path}/proof", status=409)
        assert refused["code"] == "race-not-ended"
        refused = await other.get(f"/v1/plays/{play}/moves", status=403)
        assert refused["code"] == "not-visible"
        await other.post(f"/v1/plays/{second}/resign")
        ended = (await socket.expect("event", type="race-ended"))["data"]
    assert ended["total"] == 2
    standings = (await nobody.get(f"{path}/standings"))["items"]
    assert ended["standings"] == standings
    assert [row["player"] for row in standings] == [maker.player, other.player]
    proof = await nobody.get(f"{path}/proof")
    assert proof["standings"] == standings
    assert verify(msgspec.json.encode(proof)).plays == 2
    refused = await (await guest(nobody)).post(f"{path}/plays", status=409)
    assert refused["code"] == "race-over"
    again = await maker.post(f"{path}/plays")
    assert again["id"] == play


async def test_dailies(nobody):
    player = await guest(nobody)
    today = await nobody.get("/v1/daily/kings-way")
    date = today["opens_at"][:10]
    assert (today["kind"], today["opens_at"]) == ("open", f"{date}T00:00:00.000Z")
    assert await nobody.get(f"/v1/daily/kings-way/{date}") == today
    tomorrow = (datetime.fromisoformat(date) + timedelta(days=1)).date().isoformat()
    strange = ("2026-1-1", "20260101", "2026-02-30", "today", "2026-W01-1", "%00", "0000-01-01")
    for missing in (tomorrow, "9999-12-31", *strange):
        for caller in (nobody, player):
            missed = await caller.get(f"/v1/daily/kings-way/{missing}", status=404)
            assert missed["code"] == "not-found"
    await nobody.get("/v1/daily/patience", status=404)
    play = await player.post(f"/v1/races/{today['id']}/plays", status=201)
    assert play["deal"]["seed"] is None
    await player.post(f"/v1/plays/{play['id']}/moves", {"ply": 1, "move": "turn"})
    await player.post(f"/v1/plays/{play['id']}/resign")
    page = await player.get(f"/v1/races/{today['id']}/standings?around=me&limit=1")
    assert [row["player"] for row in page["items"]] == [player.player]
    assert page["items"] == [page["me"]]


async def test_boards_of_what_there_is_not(nobody):
    player = await guest(nobody)
    season = "/v1/leaderboards/season/kings-way/2020-01"
    empty = await player.get(season)
    assert (empty["items"], empty["next"], empty["total"], empty["me"]) == ([], None, 0, None)
    assert (await player.get(f"{season}?around=me", status=404))["code"] == "not-on-board"
    assert (await nobody.get(f"{season}?around=me", status=401))["code"] == "unauthorized"
    for month in ("2020-13", "2020-1", "202001", "2020-00", "now"):
        await nobody.get(f"/v1/leaderboards/season/kings-way/{month}", status=404)
    for bad in ("kind=cat", "around=nobody", "limit=0", "limit=101", "cursor=AAAA", "limit=x"):
        refused = await player.get(f"{season}?{bad}", status=422)
        assert refused["code"] == "malformed"
    for path in ("rating/patience", "season/patience/2020-01", "deals/patience/1"):
        await nobody.get(f"/v1/leaderboards/{path}", status=404)


async def test_a_deals_board(nobody):
    people = await in_turn(lambda _n: guest(nobody), range(5))
    seed = f"seed-{people[0].id}"
    board = f"/v1/leaderboards/deals/kings-way/{seed}"
    assert (await nobody.get(board))["total"] == 0
    for caller in people:
        play = await caller.post("/v1/plays", {"game": "kings-way", "seed": seed}, status=201)
        await caller.post(f"/v1/plays/{play['id']}/moves", {"ply": 1, "move": "turn"})
        await caller.post(f"/v1/plays/{play['id']}/resign")
    rows = await every_page(nobody, board, 2)
    assert [row["rank"] for row in rows] == [1] * 5
    assert {row["player"]["id"] for row in rows} == {caller.id for caller in people}
    page = await people[3].get(f"{board}?around=me&limit=1")
    assert page["me"] == page["items"][0]
    cursor = (await nobody.get(f"{board}?limit=2"))["next"]
    other = f"/v1/leaderboards/deals/kings-way/{seed}x?limit=2&cursor={cursor}"
    assert (await nobody.get(other, status=422))["code"] == "malformed"
    assert (await nobody.get(f"{board}?kind=guest&cursor={cursor}", status=422))["code"] == (
        "malformed"
    )
