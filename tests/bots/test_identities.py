"""Who the bots are, over restarts, revoked tokens and servers that have forgotten them."""

import asyncio
import stat
from pathlib import Path

import pytest

from service.bots.identities import Identities, InUse
from service.bots.messages import Refused
from tests.bots.conftest import Home


async def test_they_stay_the_same_and_are_bots(home: Home, tmp_path: Path) -> None:
    with Identities(tmp_path / "new", home.address, "easy") as first:
        clients = await asyncio.gather(*(first.client(number) for number in range(3)))
        players = [client.player for client in clients]
        assert len({player.id for player in players if player}) == 3
        assert {player.kind for player in players if player} == {"bot"}
        assert all(player.name.startswith("easy-") for player in players if player)
        with pytest.raises(InUse), Identities(tmp_path / "new", home.address, "easy"):
            pass
        with Identities(tmp_path / "new", home.address, "sharp"):
            pass
    for client in clients:
        async with client:
            pass
    for kept in (tmp_path / "new").iterdir():
        assert stat.S_IMODE(kept.stat().st_mode) == 0o600
    with Identities(tmp_path / "new", home.address, "easy") as again:
        for number, player in enumerate(players):
            async with await again.client(number) as client:
                assert client.player == player
                assert await client.unfinished() == ()


async def test_a_revoked_token_is_replaced(home: Home, tmp_path: Path) -> None:
    with Identities(tmp_path, home.address, "easy") as identities:
        async with await identities.client(0) as before:
            await before.logout()
            with pytest.raises(Refused):
                await before.unfinished()
        await identities.renew(0)
        async with await identities.client(0) as after:
            assert after.player == before.player
            assert await after.unfinished() == ()


async def test_what_cannot_be_read_is_begun_anew(home: Home, tmp_path: Path) -> None:
    with Identities(tmp_path, home.address, "easy") as identities:
        async with await identities.client(0):
            pass
    (kept,) = tmp_path.glob("*.json")  # noqa: ASYNC240
    kept.write_text('[{"player": ')
    with Identities(tmp_path, home.address, "easy") as identities:
        async with await identities.client(0) as client:
            assert await client.unfinished() == ()
