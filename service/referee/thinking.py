"""Long thoughts in processes of their own: the event loop and the moves never wait for them."""

import asyncio
import contextlib
import multiprocessing
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from typing import ParamSpec, TypeVar

from service.solver import COMPILED

SLOWER = 50
"""How much less is thought about where the solver is not compiled, so that it takes as long."""

SPELL_SECONDS = 0.02
ALONE = 0.9
"""The share of the time that whoever has a processor alone gets of it, at least."""
RESTS = 8
"""How much longer than it was at work it then rests."""
LOWEST = 19
"""The niceness of work that may wait for as long as anybody else has any."""

P = ParamSpec("P")
T = TypeVar("T")


def affordable(budget: int) -> int:
    """A budget of states on this machine."""
    return budget if COMPILED else max(1, budget // SLOWER)


class ThinkerDied(Exception):
    """The process was killed in the middle of the work (out of memory, say)."""


class TooLong(Exception):
    """The work was not done in its time; its process has been ended."""


class Thinker:
    """One process that thinks for us, begun when there is something to think about.

    `niceness` as of `nice(2)`, 0 to `LOWEST`: how far everybody else goes before it.
    """

    def __init__(self, niceness: int) -> None:
        self._niceness = niceness
        self._pool: ProcessPoolExecutor | None = None
        self._turn = asyncio.Lock()

    async def think(
        self, seconds: float, work: Callable[P, T], *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """The result of a pure, picklable function. One at a time; others wait for their turn.

        Raises `ThinkerDied` and `TooLong`, and whatever the function raises.
        """
        async with self._turn:
            if self._pool is None:
                self._pool = ProcessPoolExecutor(
                    1,
                    mp_context=multiprocessing.get_context("spawn"),
                    initializer=_begin,
                    initargs=(self._niceness,),
                )
            future = self._pool.submit(work, *args, **kwargs)
            try:
                async with asyncio.timeout(seconds):
                    return await asyncio.wrap_future(future)
            except BrokenProcessPool:
                self._drop()
                raise ThinkerDied from None
            except TimeoutError:
                self._drop()
                raise TooLong from None
            except asyncio.CancelledError:
                self._drop()
                raise

    def stop(self) -> None:
        """End the process, whatever it is at."""
        self._drop()

    def _drop(self) -> None:
        pool, self._pool = self._pool, None
        if pool is None:
            return
        for process in list((pool._processes or {}).values()):
            with contextlib.suppress(OSError):
                process.kill()
        pool.shutdown(wait=False, cancel_futures=True)


class Rests:
    """Progress of work that may wait: where it has to share the processor, it rests in between.

    However low its priority, such a process takes from the others what they have in caches, and
    keeps a processor from being idle, which is when the system would give it more of their work.
    """

    def __init__(self) -> None:
        self._wall, self._used = time.perf_counter(), time.process_time()

    def __call__(self, _states: int) -> None:
        wall, used = time.perf_counter() - self._wall, time.process_time() - self._used
        if used < SPELL_SECONDS:
            return
        if used < ALONE * wall:
            time.sleep(RESTS * used)
        self._wall, self._used = time.perf_counter(), time.process_time()


def leave_with_parent() -> None:
    """See to it that this process ends when the one that began it has ended, however."""
    threading.Thread(target=_follow_parent, daemon=True).start()


def _follow_parent() -> None:
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)


def _begin(niceness: int) -> None:
    leave_with_parent()
    with contextlib.suppress(OSError, AttributeError):
        os.nice(niceness)
        if niceness >= LOWEST and sys.platform == "linux":
            # Only when nobody else wants the processor: whoever wakes does not even wait its turn.
            os.sched_setscheduler(0, os.SCHED_IDLE, os.sched_param(0))
