"""argon2id, in threads of its own: a hash takes a fiftieth of a second and 19 MiB.

Only so many may wait for a thread: beyond that somebody asks for hashes faster than they can be
made, and it is better to say so at once than to let everybody wait longer and longer.
"""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from argon2 import PasswordHasher
from argon2.exceptions import Argon2Error, InvalidHashError

T = TypeVar("T")

THREADS = 2
MAX_WAITING = 200
"""Hashes asked for and not yet made, about two seconds of them."""

_hasher = PasswordHasher(time_cost=2, memory_cost=19_456, parallelism=1)
_threads = ThreadPoolExecutor(THREADS, thread_name_prefix="argon2")
_nobody = _hasher.hash("nobody's password")
_waiting = 0


class Busy(Exception):
    """More passwords wait to be hashed than can be soon. Try again."""

    def __init__(self) -> None:
        super().__init__("too many passwords are being checked just now")


async def hashed(password: str) -> str:
    """What is stored of a password. Raises `Busy`."""
    return await _in_thread(lambda: _hasher.hash(password))


async def matches(stored: str | None, password: str) -> bool:
    """Whether a password is the stored one; takes as long when there is none to compare with.

    Raises `Busy`.
    """
    return await _in_thread(lambda: _verify(stored, password))


async def _in_thread(work: Callable[[], T]) -> T:
    global _waiting
    if _waiting >= MAX_WAITING:
        raise Busy
    future = asyncio.get_running_loop().run_in_executor(_threads, work)
    _waiting += 1
    future.add_done_callback(_done)
    return await future


def _done(_future: "asyncio.Future[T]") -> None:
    global _waiting
    _waiting -= 1


def _verify(stored: str | None, password: str) -> bool:
    try:
        _hasher.verify(_nobody if stored is None else stored, password)
    except (Argon2Error, InvalidHashError):
        return False
    return stored is not None
