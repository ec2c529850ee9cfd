"""(e) A rating board of a million rows: own rank, around me, a page, by whole requests.

Two servers on one database, of which one has Redis, are asked by turns.
"""

import base64
import contextlib
import hashlib
import random
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any, NamedTuple

import asyncpg
from redis.asyncio import Redis

from bench.client import _connection, _exchange
from bench.report import ms, quantile, table
from bench.servers import Running, fresh_database, has_redis, redis_server, service
from service.contest.season import rating_board
from service.live.boards import RedisBoards
from service.storage.database import database_url
from service.storage.migrate import migrate

GAME = "kings-way"
BOARD = rating_board(GAME)
PATH = f"/v1/leaderboards/rating/{GAME}"
PREFIX = "samedeal:"
AIM_MS = 5
ASKERS = 200
WARM_UP = 20

_PLAYERS = """
INSERT INTO players (id, name, name_key, kind, created_at)
SELECT lpad(to_hex(n), 32, '0')::uuid, 'Racer_' || n, 'racer_' || n, 'human', 1 FROM generate_series(1, $1) n
"""
_ROWS = """
INSERT INTO board_rows (board, player_id, merit, races, v, boarded_v)
SELECT $2, lpad(to_hex(n), 32, '0')::uuid, -(1500 + 300 * random_normal)::int, 1 + n % 50, 1, 1
FROM (
  SELECT n, sqrt(-2 * ln(1 - random())) * cos(2 * pi() * random()) AS random_normal
  FROM generate_series(1, $1) n
) AS drawn
"""


class Asked(NamedTuple):
    """What is asked for: the path by the asker's number."""

    name: str
    path: Callable[[int], str]


async def run(quick: bool, stores: tuple[str, ...]) -> str:
    """The part as Markdown."""
    if "Postgres" not in stores or not has_redis():
        return "Left out: it takes a Postgres that answers and a `redis-server` program."
    rows, most, seconds = (100_000, 300, 1.5) if quick else (1_000_000, 3_000, 4.0)
    async with contextlib.AsyncExitStack() as stack:
        database = await stack.enter_async_context(fresh_database())
        await migrate(database_url(database, Path()))
        begun = time.perf_counter()
        askers = await _fill(database, rows)
        filled, begun = time.perf_counter() - begun, time.perf_counter()
        redis = await stack.enter_async_context(redis_server())
        await _push(database, redis)
        pushed = time.perf_counter() - begun
        told = []
        for name, address in (("with Redis", redis), ("SQL alone", None)):
            running = service(
                "Postgres", name=name, database=database, redis=address, prefix=PREFIX
            )
            told.append(await stack.enter_async_context(running))
        asked = await _questions(told[0], askers)
        await _same(told, asked, askers)
        found = [
            (question.name, server.name, *await _measure(server, question, askers, most, seconds))
            for question in asked
            for server in told
        ]
    head = ("asked for", "server", "requests", "p50 ms", "p99 ms", "worst ms")
    return (
        f"A rating board of {rows:,} players, Postgres; milliseconds of a whole REST request with a "
        f"player's token, one at a time on a connection that stays open (aim with Redis: p99 ≤ "
        f"{AIM_MS}). Both servers gave the same pages. As many requests as fit into {seconds:.0f} "
        f"seconds, {most:,} at most. The board was made in SQL in {filled:.0f} s and put into Redis "
        f"in {pushed:.0f} s.\n\n{table(head, found)}\n\n"
        "What limits it: with Redis the request itself and the names of ten players, which come from "
        "SQL. SQL alone counts rows: all of the board for `total`, and those before a place for its "
        "rank; that grows with the board."
    )


async def _fill(database: str, rows: int) -> list[tuple[str, str]]:
    """The board; some of its players, spread over it: their ids and tokens."""
    connection = await asyncpg.connect(database)
    try:
        await connection.execute("SELECT setseed(0.5)")
        await connection.execute(_PLAYERS, rows)
        await connection.execute(_ROWS, rows, BOARD)
        await connection.execute("VACUUM ANALYZE players")
        await connection.execute("VACUUM ANALYZE board_rows")
        chosen = random.Random(1).sample(range(1, rows + 1), ASKERS)
        tokens = []
        for number in chosen:
            raw, token = number.to_bytes(16, "big"), f"sd_bench-{number}"
            owner = base64.urlsafe_b64encode(raw).decode()[:22]
            tokens.append((owner, token))
            await connection.execute(
                "INSERT INTO tokens (id, player_id, hash, scopes, created_at) "
                "VALUES ($1, $1, $2, $3, 1)",
                raw.hex(), hashlib.sha256(token.encode()).digest(), "play read",
            )  # fmt: skip
        return tokens
    finally:
        await connection.close()


async def _push(database: str, address: str) -> None:
    """The board in Redis, complete, as `samedeal boards rebuild` would leave it."""
    boards = RedisBoards(address, PREFIX)
    redis = Redis.from_url(address)
    connection = await asyncpg.connect(database)
    try:
        await boards.meet()
        await boards.begin_rebuild(BOARD, "bench")
        everybody = boards._rows(BOARD, None)
        rows = await connection.fetch("SELECT player_id, merit, v FROM board_rows")
        for start in range(0, len(rows), 10_000):
            scores: list[object] = []
            versions: list[object] = []
            for row in rows[start : start + 10_000]:
                member = row["player_id"].hex
                scores += (row["merit"], member)
                versions += (member, row["v"])
            await redis.execute_command("ZADD", everybody, *scores)
            await redis.execute_command("HSET", f"{boards._prefix}{BOARD}:v", *versions)
            await boards.go_on(BOARD)
        await redis.copy(everybody, boards._rows(BOARD, "human"))
        await boards.complete(BOARD, "bench")
        if not await boards.is_complete(BOARD):
            raise RuntimeError("the board in Redis was not complete")
    finally:
        await connection.close()
        await redis.aclose()
        await boards.stop()


async def _questions(server: Running, askers: list[tuple[str, str]]) -> list[Asked]:
    """What is asked for; the pages begin all over the board."""
    cursors = []
    async with _asking(server) as ask:
        for _player, token in askers:
            cursors.append((await ask(f"{PATH}?around=me&limit=10", token))["next"])
    return [
        Asked("own rank", lambda _n: f"{PATH}?limit=1"),
        Asked("around me", lambda _n: f"{PATH}?around=me&limit=10"),
        Asked("a page of ten", lambda n: f"{PATH}?limit=10&cursor={cursors[n] or ''}"),
    ]


async def _same(servers: list[Running], asked: list[Asked], askers: list[tuple[str, str]]) -> None:
    """See to it that all servers give the same pages. It also warms them up."""
    for question in asked:
        told = []
        for server in servers:
            async with _asking(server) as ask:
                pages = [
                    await ask(question.path(n), token)
                    for n, (_player, token) in enumerate(askers[:WARM_UP])
                ]
            told.append([{**page, "as_of": None} for page in pages])
        if any(pages != told[0] for pages in told):
            raise RuntimeError(f"{question.name}: not the same pages")
        if any(page["me"]["player"]["id"] != who for page, (who, _) in zip(told[0], askers)):  # noqa: B905
            raise RuntimeError(f"{question.name}: not the rank that was asked for")


async def _measure(
    server: Running, question: Asked, askers: list[tuple[str, str]], most: int, seconds: float
) -> tuple[Any, ...]:
    took: list[float] = []
    async with _asking(server) as ask:
        until = time.perf_counter() + seconds
        while len(took) < most and (at := time.perf_counter()) < until:
            n = len(took) % len(askers)
            await ask(question.path(n), askers[n][1])
            took.append(time.perf_counter() - at)
    return len(took), ms(quantile(took, 0.5)), ms(quantile(took, 0.99)), ms(max(took))


@contextlib.asynccontextmanager
async def _asking(server: Running) -> AsyncIterator[Callable[[str, str], Any]]:
    async with _connection(server.port) as streams:
        yield lambda path, token: _exchange(*streams, "GET", path, token, None)
