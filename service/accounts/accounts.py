"""Accounts: guests, players with passwords, log-in and log-out."""

import hashlib
import secrets
from typing import NamedTuple

from service.accounts.passwords import hashed, matches
from service.contest.player import Player
from service.live.bus import Bus, Wake
from service.storage import players
from service.storage.database import Connection, Database
from service.storage.ids import new_id
from service.storage.players import NameTaken, Token

SCOPES = frozenset({"read", "play", "host", "account"})
_RESERVED = """
    admin administrator api bot deleted guest help host me moderator nobody null official root
    samedeal staff support system undefined
"""
RESERVED = frozenset(_RESERVED.split())
REVOKED_TOPIC = "tokens"


class BadCredentials(Exception):
    """No such name, or not its password; nobody is told which."""


class BadToken(Exception):
    """The token is unknown or revoked."""


class NameReserved(Exception):
    """Nobody can have this name."""


class AlreadyNamed(Exception):
    """Only a guest can claim a name."""


class Entry(NamedTuple):
    """A player with a fresh token, shown this once."""

    player: Player
    token: str


class Accounts:
    """The accounts of one process's database."""

    def __init__(self, database: Database, bus: Bus) -> None:
        self._database = database
        self._bus = bus

    async def guest(self) -> Entry:
        """A new guest."""
        while True:
            now = self._database.clock.now()
            name = f"guest-{secrets.token_hex(5)}"
            player = Player(new_id(now), name, "guest")
            try:
                return await self._enter(player, None)
            except NameTaken:
                continue

    async def register(self, name: str, password: str) -> Entry:
        """A new player. Raises `NameReserved`, `NameTaken`."""
        _check(name)
        player = Player(new_id(self._database.clock.now()), name, "human")
        return await self._enter(player, await hashed(password))

    async def claim(self, guest: Player, name: str, password: str) -> Entry:
        """A guest takes a name and keeps id and history.

        Raises `AlreadyNamed`, `NameReserved`, `NameTaken`.
        """
        _check(name)
        if guest.kind != "guest":
            raise AlreadyNamed
        player = Player(guest.id, name, "human")
        stored = await hashed(password)
        token = _token()

        async def work(connection: Connection) -> None:
            if not await players.claim(connection, player, stored):
                raise AlreadyNamed
            await self._add(connection, player.id, token)

        await self._database.transact(work)
        return Entry(player, token)

    async def log_in(self, name: str, password: str) -> Entry:
        """A fresh token for a name and its password. Raises `BadCredentials`."""
        async with self._database.read() as connection:
            found = await players.by_name(connection, name)
        if not await matches(None if found is None else found[1], password) or found is None:
            raise BadCredentials
        player, token = found[0], _token()
        await self._database.transact(lambda connection: self._add(connection, player.id, token))
        return Entry(player, token)

    async def log_out(self, token_id: str) -> None:
        """Revoke a token; its sockets close in every process."""
        now = self._database.clock.now()
        await self._database.transact(
            lambda connection: players.revoke_token(connection, token_id, now)
        )
        self._bus.publish(Wake(REVOKED_TOPIC, 0, token_id.encode()))

    async def token(self, text: str) -> Token:
        """Who a token speaks for. Raises `BadToken`."""
        async with self._database.read() as connection:
            token = await players.token_by_digest(connection, _digest(text))
        if token is None:
            raise BadToken
        return token

    async def revoked(self, token_ids: list[str]) -> set[str]:
        """Those of the tokens that count no longer."""
        async with self._database.read() as connection:
            return await players.revoked(connection, token_ids)

    async def player(self, player_id: str) -> Player | None:
        """The player of that id."""
        async with self._database.read() as connection:
            return await players.by_id(connection, player_id)

    async def named(self, name: str) -> Player | None:
        """The player of that name, in any case."""
        async with self._database.read() as connection:
            found = await players.by_name(connection, name)
        return None if found is None else found[0]

    async def _enter(self, player: Player, password: str | None) -> Entry:
        token = _token()
        now = self._database.clock.now()

        async def work(connection: Connection) -> None:
            await players.create(connection, player, password, now)
            await self._add(connection, player.id, token)

        await self._database.transact(work)
        return Entry(player, token)

    async def _add(self, connection: Connection, player_id: str, token: str) -> None:
        now = self._database.clock.now()
        await players.add_token(connection, new_id(now), player_id, _digest(token), SCOPES, now)


def _token() -> str:
    return f"sd_{secrets.token_urlsafe(32)}"


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()


def _check(name: str) -> None:
    if name.casefold() in RESERVED or name.casefold().startswith("guest-"):
        raise NameReserved
