"""Long thoughts: their results, their ends, and that one that dies costs nobody else anything."""

import asyncio
import math
import os
import subprocess
import sys
import time

import psutil
import pytest

from service.referee.thinking import (
    LOWEST,
    RESTS,
    SPELL_SECONDS,
    Rests,
    Thinker,
    ThinkerDied,
    TooLong,
)


@pytest.fixture
def thinker():
    made = Thinker(niceness=1)
    yield made
    made.stop()


async def test_it_thinks_elsewhere(thinker):
    assert await thinker.think(60, math.factorial, 5) == 120
    assert await thinker.think(60, os.getpid) != os.getpid()


@pytest.mark.skipif(sys.platform != "linux", reason="idle processes are Linux's")
async def test_work_that_may_wait_has_only_what_others_leave():
    thinker = Thinker(niceness=LOWEST)
    try:
        assert await thinker.think(60, os.sched_getscheduler, 0) == os.SCHED_IDLE
    finally:
        thinker.stop()


@pytest.mark.parametrize("alone", [True, False])
def test_work_that_may_wait_rests_where_it_is_not_alone(alone, monkeypatch):
    slept = []
    clock = {"wall": 0.0, "used": 0.0}
    monkeypatch.setattr(time, "perf_counter", lambda: clock["wall"])
    monkeypatch.setattr(time, "process_time", lambda: clock["used"])
    monkeypatch.setattr(time, "sleep", slept.append)
    rests = Rests()
    for states in range(10):
        clock["used"] += 0.6 * SPELL_SECONDS
        clock["wall"] += SPELL_SECONDS * (0.6 if alone else 1)
        rests(states)
    assert slept == ([] if alone else [pytest.approx(1.2 * RESTS * SPELL_SECONDS)] * 5)


async def test_what_the_work_raises_is_raised(thinker):
    with pytest.raises(ValueError, match="factorial"):
        await thinker.think(60, math.factorial, -1)


async def test_a_killed_process_costs_that_work_alone(thinker):
    with pytest.raises(ThinkerDied):
        await thinker.think(60, os._exit, 1)
    assert await thinker.think(60, math.factorial, 4) == 24


async def test_work_that_takes_too_long_is_ended(thinker):
    first = await thinker.think(60, os.getpid)
    with pytest.raises(TooLong):
        await thinker.think(0.01, time.sleep, 3600)
    assert await thinker.think(60, os.getpid) != first


async def test_a_vanished_caller_ends_the_work(thinker):
    await thinker.think(60, os.getpid)
    asking = asyncio.create_task(thinker.think(3600, time.sleep, 3600))
    await asyncio.sleep(0)
    asking.cancel()
    with pytest.raises(asyncio.CancelledError):
        await asking
    assert await thinker.think(60, math.factorial, 3) == 6


PROGRAM = """
import asyncio, os
from service.referee.thinking import Thinker
async def main():
    thinker = Thinker(1)
    print(await thinker.think(60, os.getpid), flush=True)
    await asyncio.sleep(3600)
if __name__ == "__main__":
    asyncio.run(main())
"""


def test_it_does_not_outlive_a_killed_server(tmp_path):
    program = tmp_path / "program.py"
    program.write_text(PROGRAM)
    with subprocess.Popen([sys.executable, str(program)], stdout=subprocess.PIPE) as server:
        child = psutil.Process(int(server.stdout.readline()))
        server.kill()
    child.wait(timeout=60)
