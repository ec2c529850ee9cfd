"""argon2id, in threads of its own: a hash takes a hundredth of a second and 19 MiB."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

from argon2 import PasswordHasher
from argon2.exceptions import Argon2Error, InvalidHashError

THREADS = 2

_hasher = PasswordHasher(time_cost=2, memory_cost=19_456, parallelism=1)
_threads = ThreadPoolExecutor(THREADS, thread_name_prefix="argon2")
_nobody = _hasher.hash("nobody's password")


async def hashed(password: str) -> str:
    """What is stored of a password."""
    return await asyncio.get_running_loop().run_in_executor(_threads, _hasher.hash, password)


async def matches(stored: str | None, password: str) -> bool:
    """Whether a password is the stored one; takes as long when there is none to compare with."""
    return await asyncio.get_running_loop().run_in_executor(_threads, _verify, stored, password)


def _verify(stored: str | None, password: str) -> bool:
    try:
        _hasher.verify(_nobody if stored is None else stored, password)
    except (Argon2Error, InvalidHashError):
        return False
    return stored is not None
