"""Shared counters: token buckets in memory or in Redis, which give equal answers.

A bucket holds `size` units and fills up again, evenly, in `refill_ms`. All that is kept of it is the
instant at which it will be full (GCRA), so that a bucket nobody draws on costs nothing. Whoever
takes names the time, epoch milliseconds.
"""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol, cast

from redis.asyncio import Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

MAX_BUCKETS = 50_000
"""Buckets kept in memory; beyond, those longest not drawn on are forgotten."""
WAIT_SECONDS = 0.1
"""How long an answer of Redis is waited for."""
PARTS = 4
AWAY_SECONDS = 1.0
"""How long Redis is left alone after it did not answer."""


class Bucket(NamedTuple):
    """A bucket of `size` units that is full again `refill_ms` after it was empty."""

    key: str
    size: int
    refill_ms: int

    @property
    def unit(self) -> int:
        """In how many microseconds one unit comes back."""
        return self.refill_ms * 1000 // self.size


class Level(NamedTuple):
    """A bucket after somebody took from it, or was refused.

    `left` whole units are in it, it is full again in `full_ms`; `wait_ms` is 0 unless it was too
    empty, and else in how long it would not be.
    """

    left: int
    full_ms: int
    wait_ms: int


class Buckets(Protocol):
    """Where the buckets are."""

    async def take(self, buckets: Sequence[Bucket], now: int) -> list[Level]:
        """Take a unit from each of the buckets, or from none if one is empty. Never fails."""

    async def give_back(self, buckets: Sequence[Bucket]) -> None:
        """Put a unit that was taken back into each. Never fails."""

    async def stop(self) -> None:
        """Close what is open."""


class MemoryBuckets:
    """The buckets of a single process."""

    def __init__(self, limit: int = MAX_BUCKETS) -> None:
        self._limit = limit
        self._full_at: OrderedDict[str, int] = OrderedDict()

    def __len__(self) -> int:
        return len(self._full_at)

    def take_now(self, buckets: Sequence[Bucket], now: int) -> list[Level]:
        """As `take`, at once."""
        full_at = [self._full_at.get(bucket.key, 0) for bucket in buckets]
        levels, after = _taken(buckets, full_at, now)
        self.learn(buckets, after)
        return levels

    def learn(self, buckets: Sequence[Bucket], after: Sequence[int]) -> None:
        """When the buckets will be full (microseconds)."""
        for bucket, instant in zip(buckets, after, strict=True):
            self._full_at[bucket.key] = instant
            self._full_at.move_to_end(bucket.key)
        while len(self._full_at) > self._limit:
            self._full_at.popitem(last=False)

    def give_back_now(self, buckets: Sequence[Bucket]) -> None:
        """As `give_back`, at once."""
        for bucket in buckets:
            if bucket.key in self._full_at:
                self._full_at[bucket.key] -= bucket.unit

    async def take(self, buckets: Sequence[Bucket], now: int) -> list[Level]:
        return self.take_now(buckets, now)

    async def give_back(self, buckets: Sequence[Bucket]) -> None:
        self.give_back_now(buckets)

    async def stop(self) -> None:
        """Nothing to do."""


# Decides and stores in one step, and tells what was there before; the rest is worked out by whoever
# asked, with the same arithmetic as in memory. Microseconds since 1970 fit a double exactly.
_TAKE = """
local now, before, enough = tonumber(ARGV[1]), {}, true
for i, key in ipairs(KEYS) do
  local unit, size = tonumber(ARGV[2 * i]), tonumber(ARGV[2 * i + 1])
  before[i] = math.max(tonumber(redis.call('GET', key) or '0'), now)
  if before[i] + unit > now + unit * size then enough = false end
end
for i, key in ipairs(KEYS) do
  if enough then
    local after = before[i] + tonumber(ARGV[2 * i])
    local ms = math.ceil((after - now) / 1000)
    redis.call('SET', key, string.format('%.0f', after), 'PX', string.format('%.0f', ms))
  end
  before[i] = string.format('%.0f', before[i])
end
return before
"""

_GIVE_BACK = """
for i, key in ipairs(KEYS) do
  local full = redis.call('GET', key)
  if full then
    redis.call('SET', key, string.format('%.0f', tonumber(full) - tonumber(ARGV[i])), 'KEEPTTL')
  end
end
"""


class RedisBuckets:
    """Buckets that all processes share; while Redis is slow or away each goes on by itself.

    What is asked while an answer is under way is asked together, on the same connection.
    """

    def __init__(self, url: str, prefix: str, log: Callable[[str, Exception], None]) -> None:
        self._prefix = f"{prefix}limit:"
        self._log = log
        self._memory = MemoryBuckets()
        # No retries: an answer that does not come at once is not needed.
        self._redis = Redis.from_url(
            url,
            socket_timeout=WAIT_SECONDS,
            socket_connect_timeout=WAIT_SECONDS,
            retry=Retry(NoBackoff(), 0),
        )
        self._asked: list[_Question] = []
        self._asking: asyncio.Task[None] | None = None
        self._away_until: float | None = None

    async def take(self, buckets: Sequence[Bucket], now: int) -> list[Level]:
        numbers = [number for bucket in buckets for number in (bucket.unit, bucket.size)]
        told = await self._answer(_TAKE, buckets, [now * 1000, *numbers])
        if told is None:
            return self._memory.take_now(buckets, now)
        levels, after = _taken(buckets, [int(text) for text in cast(list[bytes], told)], now)
        # Should Redis go away, this process goes on from what it last heard.
        self._memory.learn(buckets, after)
        return levels

    async def give_back(self, buckets: Sequence[Bucket]) -> None:
        self._memory.give_back_now(buckets)
        await self._answer(_GIVE_BACK, buckets, [bucket.unit for bucket in buckets])

    async def stop(self) -> None:
        if self._asking is not None:
            self._asking.cancel()
            await asyncio.gather(self._asking, return_exceptions=True)
        await self._redis.aclose()

    async def _answer(
        self, script: str, buckets: Sequence[Bucket], numbers: list[int]
    ) -> Any | None:
        """What Redis says, None when it says nothing in time."""
        if not self._present():
            return None
        keys = [self._prefix + bucket.key for bucket in buckets]
        question = _Question(
            [script, len(keys), *keys, *numbers], asyncio.get_running_loop().create_future()
        )
        self._asked.append(question)
        if self._asking is None:
            self._asking = asyncio.ensure_future(self._ask())
        return await question.answer

    async def _ask(self) -> None:
        """Ask whatever there is to ask, until there is nothing more."""
        group: list[_Question] = []
        try:
            while self._asked:
                group, self._asked = self._asked, []
                told = await self._in_time(group)
                for question, answer in zip(group, told, strict=True):
                    if not question.answer.done():
                        question.answer.set_result(answer)
        finally:
            self._asking = None
            for question in (*group, *self._asked):
                if not question.answer.done():
                    question.answer.set_result(None)
            self._asked = []

    async def _in_time(self, group: "list[_Question]") -> list[Any | None]:
        task = asyncio.ensure_future(self._execute(group))
        try:
            # In parts: when it is this process that was late, the answer may be there already.
            for _ in range(PARTS):
                if task in (await asyncio.wait([task], timeout=WAIT_SECONDS / PARTS))[0]:
                    break
            else:
                raise TimeoutError
            told = task.result()
        except (RedisError, OSError, TimeoutError) as error:
            if self._away_until is None:
                self._log("limits.lost", error)
            self._away_until = time.monotonic() + AWAY_SECONDS
            return [None] * len(group)
        finally:
            if not task.done():
                task.cancel()
                await asyncio.gather(task, return_exceptions=True)
        self._away_until = None
        return told

    async def _execute(self, group: "list[_Question]") -> list[Any]:
        async with self._redis.pipeline(transaction=False) as pipe:
            for question in group:
                _ = pipe.eval(*question.words)
            return await pipe.execute()

    def _present(self) -> bool:
        """Whether to ask Redis; while it is away, one caller a second does."""
        if self._away_until is None:
            return True
        now = time.monotonic()
        if now < self._away_until:
            return False
        self._away_until = now + AWAY_SECONDS
        return True


class _Question(NamedTuple):
    words: list[Any]
    answer: "asyncio.Future[Any | None]"


def _taken(
    buckets: Sequence[Bucket], full_at: Sequence[int], now: int
) -> tuple[list[Level], list[int]]:
    """What taking comes to, and when each bucket is full after it (microseconds)."""
    at = now * 1000
    before = [max(instant, at) for instant in full_at]
    enough = all(
        instant + bucket.unit <= at + bucket.unit * bucket.size
        for bucket, instant in zip(buckets, before, strict=True)
    )
    levels, after = [], []
    for bucket, instant in zip(buckets, before, strict=True):
        ends = at + bucket.unit * bucket.size
        wait = max(0, instant + bucket.unit - ends)
        if enough:
            instant += bucket.unit
        after.append(instant)
        levels.append(
            Level(
                max(0, ends - instant) // bucket.unit, _ms(instant - at), 0 if enough else _ms(wait)
            )
        )
    return levels, after


def _ms(microseconds: int) -> int:
    return -(-microseconds // 1000)
