"""Buckets: the same answers from memory and from Redis, and answers whatever becomes of Redis."""

import asyncio
import os
import signal
import uuid

import pytest
import redis
from hypothesis import given
from hypothesis import strategies as st

from service.live import buckets as module
from service.live.buckets import Bucket, Level, MemoryBuckets, RedisBuckets

NOW = 1_800_000_000_000
PATIENCE_S = 20.0


@pytest.fixture
def lost():
    """What was logged of a Redis that does not answer."""
    return []


@pytest.fixture
async def shared(redis_url, lost):
    it = RedisBuckets(redis_url, f"{uuid.uuid4()}:", lambda event, error: lost.append(event))
    yield it
    await it.stop()


@pytest.fixture(params=["memory", "redis"])
def either(request):
    if request.param == "memory":
        return MemoryBuckets()
    return request.getfixturevalue("shared")


async def test_it_holds_so_many_and_fills_up_evenly(either):
    bucket = Bucket("a", 3, 3_000)
    assert [(await either.take([bucket], NOW))[0] for _ in range(4)] == [
        Level(2, 1_000, 0),
        Level(1, 2_000, 0),
        Level(0, 3_000, 0),
        Level(0, 3_000, 1_000),
    ]
    assert (await either.take([bucket], NOW + 999))[0] == Level(0, 2_001, 1)
    assert (await either.take([bucket], NOW + 1_000))[0] == Level(0, 3_000, 0)
    assert (await either.take([bucket], NOW + 60_000))[0] == Level(2, 1_000, 0)


async def test_all_are_taken_from_or_none(either):
    one, two = Bucket("one", 1, 1_000), Bucket("two", 5, 5_000)
    assert [level.left for level in await either.take([one, two], NOW)] == [0, 4]
    refused = await either.take([two, one], NOW)
    assert refused == [Level(4, 1_000, 0), Level(0, 1_000, 1_000)]
    assert (await either.take([two], NOW))[0].left == 3


async def test_what_is_given_back_can_be_taken_again(either):
    bucket = Bucket("a", 1, 60_000)
    await either.give_back([bucket])  # nothing was taken: it is as full as can be
    assert (await either.take([bucket], NOW))[0].wait_ms == 0
    assert (await either.take([bucket], NOW))[0].wait_ms == 60_000
    await either.give_back([bucket])
    assert (await either.take([bucket], NOW))[0].wait_ms == 0
    assert (await either.take([bucket], NOW))[0].wait_ms == 60_000


async def test_many_at_once_take_no_more_than_there_is(either):
    bucket = Bucket("a", 50, 3_600_000)
    levels = await asyncio.gather(*(either.take([bucket], NOW) for _ in range(200)))
    assert sum(level.wait_ms == 0 for (level,) in levels) == 50


STEPS = st.lists(
    st.tuples(
        st.sampled_from(["take", "give back"]),
        st.lists(st.sampled_from("abc"), min_size=1, max_size=3, unique=True),
        st.integers(0, 2_000),
    ),
    max_size=30,
)
SIZES = {"a": (1, 1_000), "b": (3, 1_000), "c": (7, 5_000)}


@given(STEPS)
def test_memory_and_redis_agree_step_by_step(redis_url, steps):
    async def run():
        memory = MemoryBuckets()
        shared = RedisBuckets(redis_url, f"{uuid.uuid4()}:", pytest.fail)
        now = NOW
        for what, keys, later in steps:
            now += later
            wanted = [Bucket(key, *SIZES[key]) for key in keys]
            if what == "take":
                assert await memory.take(wanted, now) == await shared.take(wanted, now)
            else:
                # Only what is in use: of a full one Redis remembers nothing, and need not.
                used = [
                    bucket for bucket in wanted if memory._full_at.get(bucket.key, 0) > now * 1000
                ]
                await memory.give_back(used)
                await shared.give_back(used)
        await shared.stop()

    asyncio.run(run())


async def test_two_processes_share_what_is_in_redis(redis_url, shared):
    other = RedisBuckets(redis_url, shared._prefix.removesuffix("limit:"), pytest.fail)
    bucket = Bucket("a", 2, 3_600_000)
    took = [await each.take([bucket], NOW) for each in (shared, other, shared, other)]
    assert [level.wait_ms > 0 for (level,) in took] == [False, False, True, True]
    await other.stop()


async def test_redis_forgets_a_bucket_that_is_full_again(redis_url, shared):
    await shared.take([Bucket("a", 10, 1_000)], NOW)
    with redis.Redis.from_url(redis_url) as client:
        (key,) = client.keys(shared._prefix + "*")
        assert 0 < client.pttl(key) <= 100


async def test_memory_forgets_who_has_been_away_longest():
    memory = MemoryBuckets(limit=3)
    for key in "abcad":
        await memory.take([Bucket(key, 5, 60_000)], NOW)
    assert len(memory) == 3
    assert (await memory.take([Bucket("a", 5, 60_000)], NOW))[0].left == 2
    assert (await memory.take([Bucket("b", 5, 60_000)], NOW))[0].left == 4


async def test_redis_gone_and_back(redis_server, monkeypatch, lost):
    monkeypatch.setattr(module, "AWAY_SECONDS", 0.2)
    it = RedisBuckets(redis_server.url, f"{uuid.uuid4()}:", lambda event, error: lost.append(event))
    bucket = Bucket("a", 4, 3_600_000)
    await it.take([bucket], NOW)
    await it.take([bucket], NOW)
    redis_server.stop()
    try:
        # Each process counts by itself meanwhile, on from what it last heard.
        levels = [(await it.take([bucket], NOW))[0] for _ in range(3)]
        assert [level.wait_ms > 0 for level in levels] == [False, False, True]
        assert lost == ["limits.lost"]
        await it.give_back([bucket])
        assert (await it.take([bucket], NOW))[0].wait_ms == 0
    finally:
        redis_server.start()
    await asyncio.sleep(0.3)
    levels = [(await it.take([bucket], NOW))[0] for _ in range(5)]
    assert [level.wait_ms > 0 for level in levels] == [*[False] * 4, True]  # it came back empty
    assert lost == ["limits.lost"]
    await it.stop()


async def test_a_redis_that_hangs_costs_a_moment_and_only_once(redis_server, lost):
    it = RedisBuckets(redis_server.url, f"{uuid.uuid4()}:", lambda event, error: lost.append(event))
    bucket = Bucket("a", 1_000, 3_600_000)
    await it.take([bucket], NOW)
    os.kill(redis_server._process.pid, signal.SIGSTOP)
    try:
        async with asyncio.timeout(PATIENCE_S):
            await asyncio.gather(*(it.take([bucket], NOW) for _ in range(100)))
            # Each of these would wait for a tenth of a second, if it waited: far longer than our patience.
            for _ in range(1_000):
                await it.take([bucket], NOW)
        assert lost == ["limits.lost"]
    finally:
        os.kill(redis_server._process.pid, signal.SIGCONT)
    await it.stop()
