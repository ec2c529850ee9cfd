"""Boards: Redis and both databases give the same pages, and they are the right ones."""

import uuid
from collections.abc import AsyncIterator

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from sqlalchemy import delete, insert, update

from service.contest.player import Player
from service.contest.ranking import UNMOVED, Result, merit, standings
from service.live.boards import RedisBoards
from service.referee.board_keeper import rebuild
from service.storage import board_sync, boards, deals
from service.storage.boards import Ask, Board, NotOnBoard, Place, Slice
from service.storage.competition_tables import board_rows
from service.storage.ids import id_bytes, new_id
from service.storage.tables import plays as plays_table
from tests.competition.house import House

BEST, WORST = 0, UNMOVED - 1
KINDS = (None, "guest", "human", "bot")

# Few values, so that there are many ties, and the largest that can be.
merits = st.sampled_from([BEST, 1, 2, (1 << 51) - 1, 1 << 51, WORST - 1, WORST, UNMOVED])


@pytest.fixture
async def redis(redis_url: str) -> AsyncIterator[RedisBoards]:
    redis = RedisBoards(redis_url, f"{uuid.uuid4()}:")
    await redis.meet()
    yield redis
    await redis.stop()


@pytest.fixture
async def people(house: House) -> list[Player]:
    return [
        player
        for kind, n in (("guest", 4), ("human", 5), ("bot", 3))
        for player in await house.players(n, kind)
    ]


def expected(rows: dict[Player, int], ask: Ask) -> Slice | None:
    """What a page should be, the long way; None for somebody who is not there."""
    places = sorted(
        (merit, id_bytes(player.id), player.id)
        for player, merit in rows.items()
        if ask.kind in (None, player.kind)
    )

    def place(merit: int, _bits: bytes, player: str) -> Place:
        rank = 1 + sum(other[0] < merit for other in places)
        return Place(player, merit, None if merit == UNMOVED else rank)

    start = 0
    if ask.around is not None:
        at = next((at for at, row in enumerate(places) if row[2] == ask.around), None)
        if at is None:
            return None
        start = max(0, min(at - (ask.limit - 1) // 2, len(places) - ask.limit))
    elif ask.after is not None:
        cursor = ask.after[0], id_bytes(ask.after[1])
        start = sum(row[:2] <= cursor for row in places)
    page = tuple(place(*row) for row in places[start : start + ask.limit])
    me = next((place(*row) for row in places if row[2] == ask.me), None)
    return Slice(len(places), page, start + len(page) < len(places), me)


class Both:
    """One season board in SQL and in Redis."""

    def __init__(self, house: House, redis: RedisBoards) -> None:
        self.house = house
        self.redis = redis
        self.name = f"season:{uuid.uuid4()}"
        self.board = Board("rows", self.name)
        self.rows: dict[Player, int] = {}
        self.versions: dict[str, int] = {}

    async def fill(self, rows: dict[Player, int]) -> None:
        self.rows = dict(rows)
        self.versions = {player.id: 1 for player in rows}
        if rows:
            values = [
                {"board": self.name, "player_id": player.id, "merit": merit, "races": 1, "v": 1}
                for player, merit in rows.items()
            ]
            await self.house.database.transact(lambda own: own.execute(insert(board_rows), values))
        await rebuild(self.house.database, self.redis, self.name, self.board)

    async def change(self, player: Player, merit: int) -> None:
        self.rows[player] = merit
        v = self.versions[player.id] = self.versions.get(player.id, 0) + 1
        row = {"board": self.name, "player_id": player.id, "merit": merit, "races": 1, "v": v}
        mine = (board_rows.c.board == self.name) & (board_rows.c.player_id == player.id)
        query = insert(board_rows) if v == 1 else update(board_rows).where(mine)
        await self.house.database.transact(lambda own: own.execute(query.values(row)))
        await self.redis.put(self.name, [board_sync.Row(player.id, player.kind, merit, v)])

    async def page(self, ask: Ask) -> Slice | None:
        async def from_sql() -> Slice | None:
            async with self.house.database.read() as connection:
                return await boards.slice_of(connection, self.board, ask)

        told = []
        for work in (from_sql(), self.redis.slice_of(self.name, ask)):
            try:
                told.append(await work)
            except NotOnBoard:
                told.append(None)
        want = expected(self.rows, ask)
        assert told == [want, want]
        return want


same_pages = settings(
    max_examples=20, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


@given(st.data())
@same_pages
async def test_pages_one_after_another(house, redis, people, data):
    both = Both(house, redis)
    await both.fill(data.draw(st.dictionaries(st.sampled_from(people), merits)))
    kind = data.draw(st.sampled_from(KINDS))
    limit = data.draw(st.integers(1, len(people) + 1))
    me = data.draw(st.sampled_from([None, *people]))
    ask = Ask(limit, kind, None, None, me and me.id)
    page = await both.page(ask)
    seen = []
    while page.places:
        seen += page.places
        last = page.places[-1]
        page = await both.page(ask._replace(after=(last.merit, last.player_id)))
    assert seen == list(expected(both.rows, Ask(100, kind)).places)
    assert [place.player_id for place in seen] == list(
        dict.fromkeys(place.player_id for place in seen)
    )


@given(st.data())
@same_pages
async def test_around_anybody(house, redis, people, data):
    both = Both(house, redis)
    await both.fill(data.draw(st.dictionaries(st.sampled_from(people), merits)))
    kind = data.draw(st.sampled_from(KINDS))
    limit = data.draw(st.integers(1, len(people) + 1))
    for player in people:
        page = await both.page(Ask(limit, kind, None, player.id, player.id))
        assert page is None or page.me in page.places


@given(st.data())
@same_pages
async def test_rows_that_come_and_go_on_between_pages(house, redis, people, data):
    """A cursor holds though its row has moved, or was never there: who stands still is seen once."""
    both = Both(house, redis)
    await both.fill(data.draw(st.dictionaries(st.sampled_from(people), merits)))
    kind = data.draw(st.sampled_from(KINDS))
    ask = Ask(data.draw(st.integers(1, 4)), kind)
    still, seen = dict(both.rows), []
    page = await both.page(ask)
    while page.places:
        seen += [place.player_id for place in page.places]
        last = page.places[-1]
        moved = data.draw(st.sampled_from([last.player_id, *[player.id for player in people]]))
        player = next(player for player in people if player.id == moved)
        await both.change(player, data.draw(merits))
        still.pop(player, None)
        page = await both.page(ask._replace(after=(last.merit, last.player_id)))
    of_kind = [player.id for player in still if kind in (None, player.kind)]
    assert [seen.count(player) for player in of_kind] == [1] * len(of_kind)
    stranger = new_id(data.draw(st.sampled_from([0, 1 << 40, (1 << 48) - 1])))
    await both.page(ask._replace(after=(data.draw(merits), stranger)))


async def test_first_second_last_and_missing(house, redis, people):
    both = Both(house, redis)
    *there, missing = people
    await both.fill({player: n for n, player in enumerate(there)})

    async def around(player: Player) -> list[int]:
        page = await both.page(Ask(5, None, None, player.id, player.id))
        assert page.me.player_id == player.id
        return [place.rank for place in page.places]

    assert await around(there[0]) == [1, 2, 3, 4, 5]
    assert await around(there[1]) == [1, 2, 3, 4, 5]
    assert await around(there[5]) == [4, 5, 6, 7, 8]
    assert await around(there[-1]) == [7, 8, 9, 10, 11]
    assert await both.page(Ask(5, None, None, missing.id)) is None
    assert (await both.page(Ask(5, me=missing.id))).me is None


async def test_an_older_row_never_replaces_a_newer_one(house, redis, people):
    both = Both(house, redis)
    player = people[0]
    await both.fill({player: 1})
    await both.change(player, 2)
    await redis.put(both.name, [board_sync.Row(player.id, player.kind, 1, 1)])
    await both.page(Ask(5))


# The plays of a race


def a_result(player: Player, score: int, score_ms: int) -> Result:
    return Result(player, new_id(1), "resigned", score, score_ms, 1, True)


async def stored(house: House, race_id: str, results: list[Result]) -> None:
    """Ended plays of a race as the journal leaves them."""

    async def work(own) -> None:
        deal = await deals.ensure(house.database, own, "kings-way", f"of-{race_id}")
        await own.execute(
            insert(plays_table),
            [
                {
                    **{"id": new_id(1), "deal_id": deal.id, "race_id": race_id, "mode": "race"},
                    **{"game": "kings-way", "rules_version": 1, "started_at": 1, "ended_at": 2},
                    **{"player_id": result.player.id, "status": result.status, "moved": True},
                    **{"score": result.score, "score_ms": result.score_ms, "score_plies": 1},
                    "merit": merit(result, "time"),
                }
                for result in results
            ],
        )

    await house.database.transact(work)


async def all_pages(house: House, board: Board, limit: int) -> list[Place]:
    places, after = [], None
    while True:
        async with house.database.read() as connection:
            page = await boards.slice_of(connection, board, Ask(limit, after=after))
        places += page.places
        if not page.more:
            return places
        after = page.places[-1].merit, page.places[-1].player_id


async def test_300_equal_results_in_pages_of_ten(house, redis):
    race_id = new_id(house.time.now)
    people = await house.players(303)
    first, *equal, last, behind = people
    results = [
        a_result(first, 7, 1),
        *(a_result(player, 5, 1_000) for player in equal),
        a_result(last, 5, 1_001),
        a_result(behind, 0, 0),
    ]
    await stored(house, race_id, results)
    places = await all_pages(house, Board("race", race_id), 10)
    assert [(place.player_id, place.rank) for place in places] == [
        (row.player.id, row.rank) for row in standings(results, "time")
    ]
    assert len({place.player_id for place in places}) == 303
    assert [place.rank for place in places] == [1, *[2] * 300, 302, 303]
    name = f"daily:{race_id}"
    await redis.put(
        name, [board_sync.Row(place.player_id, "human", place.merit, 2) for place in places]
    )
    token = new_id(1)
    assert await redis.begin_rebuild(name, token)
    await redis.complete(name, token)
    after, again = None, []
    while page := (await redis.slice_of(name, Ask(10, after=after))).places:
        again += page
        after = page[-1].merit, page[-1].player_id
    assert again == places


async def test_hundredths_of_a_second_count_and_so_does_a_score_of_nothing(house):
    race_id = new_id(house.time.now)
    quick, slow, nothing = await house.players(3)
    results = [a_result(nothing, 0, 0), a_result(slow, 40, 90_600), a_result(quick, 40, 90_290)]
    await stored(house, race_id, results)
    places = await all_pages(house, Board("race", race_id), 2)
    assert [(place.player_id, place.rank) for place in places] == [
        (quick.id, 1),
        (slow.id, 2),
        (nothing.id, 3),
    ]


@given(
    st.lists(
        st.tuples(st.integers(0, 96), st.integers(0, 86_400_000), st.integers(0, 400)),
        min_size=2,
        max_size=2,
    ),
    st.sampled_from(["time", "moves"]),
)
def test_merit_is_exact_as_a_float_and_orders_as_the_protocol_says(pair, ranking):
    player = Player(new_id(1), "Ann", "human")
    results = [Result(player, "p", "stuck", *one, True) for one in pair]
    found = [merit(result, ranking) for result in results]
    assert all(0 <= one < UNMOVED < 2**53 and int(float(one)) == one for one in found)
    keys = [(-score, ms) if ranking == "time" else (-score, plies, ms) for score, ms, plies in pair]
    assert (found[0] < found[1], found[0] == found[1]) == (keys[0] < keys[1], keys[0] == keys[1])


async def test_rows_gone_meanwhile(house):
    """A deal's board can lose a row: an undo takes it away. The page after it goes on."""
    race_id = new_id(house.time.now)
    people = await house.players(4)
    await stored(house, race_id, [a_result(player, 9 - n, 1) for n, player in enumerate(people)])
    board = Board("race", race_id)
    async with house.database.read() as connection:
        page = await boards.slice_of(connection, board, Ask(2))
    gone = plays_table.c.player_id.in_([people[0].id, people[1].id])
    await house.database.transact(lambda own: own.execute(delete(plays_table).where(gone)))
    last = page.places[-1]
    async with house.database.read() as connection:
        page = await boards.slice_of(connection, board, Ask(2, after=(last.merit, last.player_id)))
    assert [(place.player_id, place.rank) for place in page.places] == [
        (people[2].id, 1),
        (people[3].id, 2),
    ]
