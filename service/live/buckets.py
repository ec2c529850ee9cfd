"""Shared counters: token buckets in memory or in Redis, which give equal answers.

A bucket holds `size` units and fills up again, evenly, in `refill_ms`. All that is kept of it is the
instant at which it will be full (GCRA), so that a bucket nobody draws on costs nothing. Whoever
takes names the time, epoch milliseconds.
"""

import asyncio
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import NamedTuple, Protocol, cast

from redis.asyncio import BlockingConnectionPool, Redis
from redis.asyncio.retry import Retry
from redis.backoff import NoBackoff
from redis.exceptions import RedisError

MAX_BUCKETS = 50_000
"""Buckets kept in memory; beyond, those longest not drawn on are forgotten."""
WAIT_SECONDS = 0.1
"""How long an answer of Redis is waited for."""
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
        for bucket, instant in zip(buckets, after, strict=True):
            self._full_at[bucket.key] = instant
            self._full_at.move_to_end(bucket.key)
        while len(self._full_at) > self._limit:
            self._full_at.popitem(last=False)
        return levels

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
    """Buckets that all processes share; each has its own while Redis is slow or away."""

    def __init__(self, url: str, prefix: str, log: Callable[[str, Exception], None]) -> None:
        self._prefix = f"{prefix}limit:"
        self._log = log
        self._memory = MemoryBuckets()
        # Few connections and no retries: an answer that does not come at once is not needed.
        self._redis = Redis.from_pool(
            BlockingConnectionPool.from_url(
                url,
                max_connections=8,
                timeout=WAIT_SECONDS,
                socket_timeout=WAIT_SECONDS,
                socket_connect_timeout=WAIT_SECONDS,
                retry=Retry(NoBackoff(), 0),
            )
        )
        self._take = self._redis.register_script(_TAKE)
        self._give_back = self._redis.register_script(_GIVE_BACK)
        self._away_until: float | None = None

    async def take(self, buckets: Sequence[Bucket], now: int) -> list[Level]:
        if self._ask():
            numbers = [number for bucket in buckets for number in (bucket.unit, bucket.size)]
            try:
                async with asyncio.timeout(WAIT_SECONDS):
                    told = await self._take(self._keys(buckets), [now * 1000, *numbers])
            except (RedisError, OSError, TimeoutError) as error:
                self._lost(error)
            else:
                self._away_until = None
                return _taken(buckets, [int(text) for text in cast(list[bytes], told)], now)[0]
        return self._memory.take_now(buckets, now)

    async def give_back(self, buckets: Sequence[Bucket]) -> None:
        if self._ask():
            try:
                async with asyncio.timeout(WAIT_SECONDS):
                    await self._give_back(self._keys(buckets), [bucket.unit for bucket in buckets])
            except (RedisError, OSError, TimeoutError) as error:
                self._lost(error)
            else:
                self._away_until = None
                return
        self._memory.give_back_now(buckets)

    async def stop(self) -> None:
        await self._redis.aclose()

    def _keys(self, buckets: Sequence[Bucket]) -> list[str]:
        return [self._prefix + bucket.key for bucket in buckets]

    def _ask(self) -> bool:
        """Whether to ask Redis; while it is away, one caller a second does."""
        if self._away_until is None:
            return True
        now = time.monotonic()
        if now < self._away_until:
            return False
        self._away_until = now + AWAY_SECONDS
        return True

    def _lost(self, error: Exception) -> None:
        if self._away_until is None:
            self._log("limits.lost", error)
        self._away_until = time.monotonic() + AWAY_SECONDS


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
