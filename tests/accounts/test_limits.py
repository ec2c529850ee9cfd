"""Limits, and the attempts to log in: with a clock of the tests' own."""

import re
import uuid
from pathlib import Path

import pytest

from service.accounts import limits as module
from service.accounts.limits import (
    HOUR,
    MINUTE,
    RACES,
    REQUESTS,
    Limit,
    Limits,
    RateLimited,
    attempt,
)
from service.live.buckets import MemoryBuckets, RedisBuckets

HERE, THERE = "192.0.2.1", "192.0.2.2"


class Clock:
    def __init__(self):
        self.now = 1_800_000_000_000

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture(params=["memory", "redis"])
async def limits(request, clock):
    if request.param == "memory":
        buckets = MemoryBuckets()
    else:
        url = request.getfixturevalue("redis_url")
        buckets = RedisBuckets(url, f"{uuid.uuid4()}:", pytest.fail)
    yield Limits(buckets, clock)
    await buckets.stop()


def nothing(_spent):
    pass


async def fails(limits, name, address, note=nothing):
    """An attempt with a wrong password; the milliseconds to wait, 0 if it was looked at."""
    try:
        await attempt(limits, name, address, note)
    except RateLimited as error:
        return error.retry_after_ms
    return 0


async def succeeds(limits, name, address):
    try:
        trial = await attempt(limits, name, address, nothing)
    except RateLimited as error:
        return error.retry_after_ms
    await trial.succeeded()
    return 0


async def test_who_has_spent_it_waits(limits, clock):
    for _ in range(60):
        await limits.spend(RACES, "ann", nothing)
    noted = []
    with pytest.raises(RateLimited) as caught:
        await limits.spend(RACES, "ann", noted.append)
    assert caught.value.retry_after_ms == 1_000
    assert [(spent.limit, spent.level.left) for spent in noted] == [(RACES, 0)]
    await limits.spend(RACES, "bob", nothing)
    clock.now += 1_000
    await limits.spend(RACES, "ann", nothing)


async def test_what_a_process_counts_by_itself(limits, clock):
    for _ in range(REQUESTS.size):
        limits.spend_here(REQUESTS, "ann", nothing)
    with pytest.raises(RateLimited):
        limits.spend_here(REQUESTS, "ann", nothing)
    limits.give_back_here(REQUESTS, "ann")
    limits.spend_here(REQUESTS, "ann", nothing)
    clock.now += 5
    limits.spend_here(REQUESTS, "ann", nothing)


async def test_without_limits_nobody_is_limited(clock):
    limits = Limits(MemoryBuckets(), clock, on=False)
    for _ in range(200):
        await limits.spend(RACES, "ann", pytest.fail)
        assert await fails(limits, "ann", HERE, pytest.fail) == 0


async def test_ten_tries_a_minute_for_an_account_from_an_address(limits, clock):
    assert [await fails(limits, "Ann", HERE) for _ in range(11)] == [*[0] * 10, 6_000]
    # In any case of the name; others, and the same one elsewhere, are no part of it.
    assert await fails(limits, "aNN", HERE) == 6_000
    assert await fails(limits, "bob", HERE) == 0
    assert await succeeds(limits, "ann", THERE) == 0
    clock.now += 6_000
    assert await succeeds(limits, "ann", HERE) == 0


async def test_a_right_password_counts_as_a_try_and_not_as_a_failure(limits, clock):
    for _ in range(400):
        assert await succeeds(limits, "ann", HERE) == 0
        clock.now += 6_000
    assert await fails(limits, "ann", HERE) == 0


async def test_an_address_that_tries_many_names_is_stopped(limits, clock):
    for n in range(300):
        assert await fails(limits, f"name{n}", HERE) == 0
    assert await fails(limits, "another", HERE) == HOUR // 300
    assert await succeeds(limits, "another", HERE) == HOUR // 300
    assert await succeeds(limits, "another", THERE) == 0
    clock.now += HOUR // 300
    assert await succeeds(limits, "another", HERE) == 0


async def test_strangers_who_guess_do_not_lock_the_owner_out(limits, clock):
    for n in range(3):
        for _ in range(10):
            assert await fails(limits, "ann", f"198.51.100.{n}") == 0
    clock.now += MINUTE
    # The account's failures are used up: everybody has three more, the owner as many as they like.
    assert [await fails(limits, "ann", "198.51.100.0") for _ in range(4)][:3] == [0, 0, 0]
    assert await fails(limits, "ann", "198.51.100.0") > 60_000
    for _ in range(5):
        assert await succeeds(limits, "ann", HERE) == 0
    assert [await fails(limits, "ann", HERE) for _ in range(3)] == [0, 0, 0]
    assert await succeeds(limits, "ann", HERE) > 0
    assert await succeeds(limits, "ann", THERE) == 0


async def test_a_refused_attempt_takes_nothing_from_the_address(limits, clock):
    for n in range(3):
        for _ in range(10):
            await fails(limits, "ann", f"198.51.100.{n}")
    for _ in range(3):
        await fails(limits, "ann", HERE)
    for n in range(400):
        clock.now += 6_000 if n % 5 == 4 else 0
        await fails(limits, "ann", HERE)
    for n in range(150):
        assert await fails(limits, f"name{n}", HERE) == 0


async def test_nobody_is_told_how_many_failures_an_account_has(limits):
    noted = []
    await fails(limits, "ann", HERE, noted.append)
    assert {spent.limit.name for spent in noted} == {"login", "login-address"}


def test_the_documents_tell_the_limits_as_they_are():
    named = {it.name: it for it in vars(module).values() if isinstance(it, Limit)}
    seconds = {"second": 1_000, "minute": 60_000, "hour": 3_600_000}
    row = re.compile(r"^\| `([a-z-]+)` \|[^|]*\|[^|]*\| ([\d,]+) \| ([\d,]+) an? (\w+) \|$", re.M)
    for text in (Path("README.md").read_text(), module.__doc__):
        rows = row.findall(text)
        assert {name for name, *_ in rows} == named.keys()
        for name, size, back, unit in rows:
            limit = named[name]
            assert limit.size == int(size.replace(",", "")), name
            per_unit = limit.size * seconds[unit] / limit.refill_ms
            assert per_unit == int(back.replace(",", "")), name
