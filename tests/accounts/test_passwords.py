"""Hashing passwords: in threads of its own, and with an end to the queue."""

import asyncio

import pytest

from service.accounts import passwords
from service.accounts.passwords import Busy, hashed, matches


async def test_a_password_matches_its_hash_and_no_other():
    stored = await hashed("correct horse")
    assert stored.startswith("$argon2id$v=19$m=19456,t=2,p=1$")
    assert await hashed("correct horse") != stored
    assert await matches(stored, "correct horse")
    assert not await matches(stored, "correct horse ")
    assert not await matches(None, "nobody's password")
    assert not await matches("no hash", "correct horse")


async def test_only_so_many_may_wait(monkeypatch):
    monkeypatch.setattr(passwords, "MAX_WAITING", 5)
    done = await asyncio.gather(
        *(hashed("correct horse") for _ in range(8)), return_exceptions=True
    )
    assert sum(isinstance(each, Busy) for each in done) == 3
    assert sum(isinstance(each, str) for each in done) == 5
    # Who was turned away, and who no longer waits, leaves no place taken.
    task = asyncio.ensure_future(hashed("correct horse"))
    await asyncio.sleep(0)
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    await asyncio.gather(*(hashed("correct horse") for _ in range(5)))
    assert passwords._waiting == 0


async def test_hashing_holds_nobody_up():
    """A thread's, not the event loop's, time."""
    ticks = 0

    async def tick():
        nonlocal ticks
        while True:
            await asyncio.sleep(0.001)
            ticks += 1

    ticking = asyncio.ensure_future(tick())
    await asyncio.gather(*(hashed("correct horse") for _ in range(6)))
    ticking.cancel()
    assert ticks >= 5


@pytest.mark.parametrize("password", ["a" * 200, "Пароль с пробелами 🂡", "\x01" * 8])
async def test_any_text_can_be_a_password(password):
    assert await matches(await hashed(password), password)
