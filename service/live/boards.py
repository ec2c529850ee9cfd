"""Boards in Redis: sorted sets beside the tables that they can always be rebuilt from.

A board is one sorted set for everybody and one for each kind of player, a hash of row versions
(a script replaces only older ones) and a `complete` mark that names the Redis it was made in. A
board without its mark is served from SQL. Members are ids in hex, so that ties lie in the order
of the ids' bytes, as in SQL.
"""

import asyncio
from collections.abc import Iterable, Sequence
from typing import Any

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

from service.contest.ranking import UNMOVED
from service.storage.board_sync import Row
from service.storage.boards import Ask, NotOnBoard, Place, Slice, ranked
from service.storage.ids import id_bytes, id_text

REPLY_SECONDS = 0.25
LEASE_SECONDS = 60
KEPT_SECONDS = 90 * 24 * 3600
"""How long a board counts as complete; its rows are kept a day longer."""


class BoardsAway(Exception):
    """Redis does not answer, or has not got the board complete: ask SQL."""


_PUT = """
local seen = tonumber(redis.call('HGET', KEYS[1], ARGV[1]) or '-1')
local v = tonumber(ARGV[3])
if v < seen then return 0 end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
for i = 3, #KEYS do redis.call('ZREM', KEYS[i], ARGV[1]) end
redis.call('ZADD', KEYS[2], ARGV[2], ARGV[1])
redis.call('ZADD', KEYS[3], ARGV[2], ARGV[1])
for i = 1, 3 do redis.call('EXPIRE', KEYS[i], ARGV[4]) end
return 1
"""

_SLICE = """
if redis.call('GET', KEYS[2]) ~= ARGV[1] then return {-1} end
local rows, limit = KEYS[1], tonumber(ARGV[2])
local merit, member, around, me = ARGV[3], ARGV[4], ARGV[5], ARGV[6]
local total = redis.call('ZCARD', rows)
local start = 0
if around ~= '' then
  local at = redis.call('ZRANK', rows, around)
  if not at then return {-2} end
  start = math.max(0, math.min(at - math.floor((limit - 1) / 2), total - limit))
elseif member ~= '' then
  local now = redis.call('ZSCORE', rows, member)
  redis.call('ZADD', rows, merit, member)
  start = redis.call('ZRANK', rows, member)
  if now then redis.call('ZADD', rows, now, member) else redis.call('ZREM', rows, member) end
  if now and tonumber(now) <= tonumber(merit) then start = start + 1 end
end
local page = redis.call('ZRANGE', rows, start, start + limit - 1, 'WITHSCORES')
local better = 0
if page[2] then better = redis.call('ZCOUNT', rows, '-inf', '(' .. page[2]) end
local own, before = redis.call('ZSCORE', rows, me), 0
if own then before = redis.call('ZCOUNT', rows, '-inf', '(' .. own) end
return {total, start, better, page, own or '', before}
"""


_COMPLETE = """
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[2], ARGV[2], 'EX', ARGV[3])
redis.call('DEL', KEYS[1])
return 1
"""


class RedisBoards:
    """The boards of one Redis."""

    def __init__(self, url: str, prefix: str) -> None:
        self._redis: Redis = Redis.from_url(
            url,
            socket_timeout=REPLY_SECONDS,
            socket_connect_timeout=REPLY_SECONDS,
            retry=Retry(NoBackoff(), 0),
            retry_on_error=[],
            max_connections=64,
        )
        self._prefix = f"{prefix}board:"
        self._put = self._redis.register_script(_PUT)
        self._slice = self._redis.register_script(_SLICE)
        self._complete = self._redis.register_script(_COMPLETE)
        self._run_id = ""

    async def stop(self) -> None:
        """Close the connections."""
        await self._redis.aclose()

    async def meet(self) -> None:
        """Learn which Redis this is: a restarted one has no board complete. Raises `BoardsAway`."""
        try:
            info: dict[str, Any] = await self._redis.info("server")
        except (RedisError, OSError) as error:
            raise BoardsAway from error
        self._run_id = str(info["run_id"])

    async def slice_of(self, board: str, ask: Ask) -> Slice:
        """A page of a board. Raises `BoardsAway` and `NotOnBoard`."""
        merit, member = ("", "") if ask.after is None else (str(ask.after[0]), _hex(ask.after[1]))
        try:
            async with asyncio.timeout(REPLY_SECONDS):
                found = await self._slice(
                    keys=[self._rows(board, ask.kind), self._mark(board)],
                    args=[
                        self._run_id or "nobody",
                        ask.limit,
                        merit,
                        member,
                        "" if ask.around is None else _hex(ask.around),
                        "" if ask.me is None else _hex(ask.me),
                    ],
                )
        except (RedisError, OSError) as error:
            raise BoardsAway from error
        if found[0] == -1:
            raise BoardsAway
        if found[0] == -2:
            raise NotOnBoard
        total, start, better, page, own, before = found
        rows = [(_text(page[at]), int(float(page[at + 1]))) for at in range(0, len(page), 2)]
        me = None
        if own and ask.me is not None:
            merit_of_me = int(float(own))
            me = Place(ask.me, merit_of_me, None if merit_of_me == UNMOVED else before + 1)
        return Slice(total, ranked(start, better, rows), start + len(rows) < total, me)

    async def put(self, board: str, rows: Sequence[Row]) -> None:
        """Put rows on a board, each unless a later version of it is there. Raises `BoardsAway`."""
        try:
            async with self._redis.pipeline(transaction=False) as pipe:
                for row in rows:
                    others = [kind for kind in ("guest", "human", "bot") if kind != row.kind]
                    await self._put(
                        keys=[
                            f"{self._prefix}{board}:v",
                            self._rows(board, None),
                            self._rows(board, row.kind),
                            *(self._rows(board, kind) for kind in others),
                        ],
                        args=[_hex(row.player_id), row.merit, row.v, KEPT_SECONDS + 24 * 3600],
                        client=pipe,
                    )
                await pipe.execute()
        except (RedisError, OSError) as error:
            raise BoardsAway from error

    async def is_complete(self, board: str) -> bool:
        """Whether a board is served from here. Raises `BoardsAway`."""
        try:
            mark = await self._redis.get(self._mark(board))
        except (RedisError, OSError) as error:
            raise BoardsAway from error
        return mark == self._run_id.encode()

    async def begin_rebuild(self, board: str, token: str) -> bool:
        """Whether the rebuild of a board is ours to do. Raises `BoardsAway`."""
        try:
            return bool(
                await self._redis.set(self._rebuild(board), token, nx=True, ex=LEASE_SECONDS)
            )
        except (RedisError, OSError) as error:
            raise BoardsAway from error

    async def go_on(self, board: str) -> None:
        """Keep a rebuild that is ours a while longer. Raises `BoardsAway`."""
        try:
            await self._redis.expire(self._rebuild(board), LEASE_SECONDS)
        except (RedisError, OSError) as error:
            raise BoardsAway from error

    async def complete(self, board: str, token: str) -> None:
        """Mark a board complete, unless Redis was emptied meanwhile. Raises `BoardsAway`."""
        try:
            await self._complete(
                keys=[self._rebuild(board), self._mark(board)],
                args=[token, self._run_id, KEPT_SECONDS],
            )
        except (RedisError, OSError) as error:
            raise BoardsAway from error

    async def drop(self, boards: Iterable[str]) -> None:
        """Forget boards, so that they are rebuilt from nothing. Raises `BoardsAway`."""
        try:
            for board in boards:
                await self._redis.delete(
                    self._mark(board),
                    f"{self._prefix}{board}:v",
                    self._rebuild(board),
                    *(self._rows(board, kind) for kind in (None, "guest", "human", "bot")),
                )
        except (RedisError, OSError) as error:
            raise BoardsAway from error

    def _rows(self, board: str, kind: str | None) -> str:
        return f"{self._prefix}{board}:{kind or 'all'}"

    def _rebuild(self, board: str) -> str:
        return f"{self._prefix}{board}:rebuild"

    def _mark(self, board: str) -> str:
        return f"{self._prefix}{board}:complete"


def _hex(player_id: str) -> str:
    return id_bytes(player_id).hex()


def _text(member: bytes) -> str:
    return id_text(bytes.fromhex(member.decode()))
