"""Who the house bots are: names and tokens that outlast a restart, in a file only we may read."""

import asyncio
import fcntl
import os
import re
import secrets
from pathlib import Path

import msgspec

from service.bots.client import Client
from service.bots.messages import Player, Refused

NAMES = (
    "Arum", "Aster", "Betony", "Borage", "Bryony", "Clary", "Cosmos", "Daisy", "Fennel", "Flax",
    "Iris", "Linden", "Lovage", "Lupin", "Mallow", "Mint", "Mullein", "Myrtle", "Nettle", "Orchid",
    "Poppy", "Quince", "Rowan", "Rue", "Sage", "Sorrel", "Tansy", "Thyme", "Vervain", "Yarrow",
)  # fmt: skip


class InUse(Exception):
    """Other bots are running under these identities."""


class Identity(msgspec.Struct):
    """A player that is ours. The password is kept for the day on which the token is revoked."""

    player: Player
    token: str
    password: str


class Identities:
    """Those of one level at one server; use it with `with`. Raises `InUse`, `OSError`."""

    def __init__(self, folder: Path, address: str, level: str) -> None:
        self._address = address
        self._level = level
        self._path = folder / f"{re.sub(r'[^A-Za-z0-9]+', '-', address)}-{level}.json"
        self._known: list[Identity] = []
        self._lock = -1
        self._turn = asyncio.Lock()

    def __enter__(self) -> "Identities":
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._lock = os.open(self._path.with_suffix(".lock"), os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(self._lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            os.close(self._lock)
            raise InUse(f"other {self._level} bots of {self._address} are running") from None
        if self._path.exists():
            try:
                self._known = msgspec.json.decode(self._path.read_bytes(), type=list[Identity])
            except msgspec.MsgspecError:  # not ours, or of another time: they get new names
                self._known = []
        return self

    def __exit__(self, *_: object) -> None:
        os.close(self._lock)

    async def client(self, number: int) -> Client:
        """The bot of that number, from 0; a new player when there is none yet.

        Raises `Refused` and `Lost`.
        """
        async with self._turn:
            while number >= len(self._known):
                client, password = await self._registered()
                async with client:
                    assert client.player is not None
                    assert client.token is not None
                    self._known.append(Identity(client.player, client.token, password))
                    self._keep()
        known = self._known[number]
        return Client(self._address, known.player, known.token)

    async def renew(self, number: int) -> None:
        """The token of a bot counts no longer: log in, or be somebody new where it is unknown."""
        known = self._known[number]
        try:
            client = await Client.registered(self._address, known.player.name, known.password)
        except Refused:
            client, known.password = await self._registered()
        assert client.player is not None
        assert client.token is not None
        async with client:
            known.player = (
                client.player if client.player.kind == "bot" else await client.become_bot()
            )
        known.token = client.token
        self._keep()

    async def _registered(self) -> tuple[Client, str]:
        """A new player, marked as a bot before anything else."""
        password = secrets.token_urlsafe(24)
        name = f"{self._level}-{secrets.choice(NAMES)}-{secrets.token_hex(2)}"
        client = await Client.registered(self._address, name, password)
        await client.become_bot()
        return client, password

    def _keep(self) -> None:
        """Whole or not at all, and never readable for others."""
        new = self._path.with_suffix(".new")
        with open(os.open(new, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), "wb") as file:
            file.write(msgspec.json.format(msgspec.json.encode(self._known)))
            file.flush()
            os.fsync(file.fileno())
        new.replace(self._path)
