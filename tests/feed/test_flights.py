"""The same question asked by many at once is put once."""

import asyncio

import pytest

from service.feed.flights import Flights


async def test_many_at_once_share_one_answer():
    flights, asked, go = Flights(), [], asyncio.Event()

    async def ask():
        asked.append(1)
        await go.wait()
        return object()

    waiting = [asyncio.create_task(flights.share("a", ask)) for _ in range(50)]
    other = asyncio.create_task(flights.share("b", ask))
    await asyncio.sleep(0)
    waiting[0].cancel()
    go.set()
    answers = await asyncio.gather(*waiting[1:])
    assert len(set(map(id, answers))) == 1
    assert await other is not answers[0]
    assert len(asked) == 2
    # What is over is asked anew.
    assert await flights.share("a", ask) is not answers[0]


async def test_a_failure_is_everybodys_and_not_kept():
    flights = Flights()

    async def fail():
        raise ValueError("no")

    with pytest.raises(ValueError, match="no"):
        await flights.share("a", fail)

    async def succeed():
        return 1

    assert await flights.share("a", succeed) == 1
