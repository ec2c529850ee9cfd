"""Accounts: guests, players with passwords, log-in and log-out, tokens."""

import hashlib
import secrets
from collections import OrderedDict
from typing import NamedTuple

import msgspec

from service.accounts.limits import Limits, Note, attempt
from service.accounts.passwords import hashed, matches
from service.contest.player import Player
from service.live.bus import Bus, Wake
from service.storage import players
from service.storage.database import Connection, Database
from service.storage.ids import new_id
from service.storage.players import Listed, NameTaken, Token, name_key

SCOPES = frozenset({"read", "play", "host", "account"})
_RESERVED = """
    admin administrator api bot deleted guest help host me moderator nobody null official root
    samedeal staff support system undefined
"""
RESERVED = frozenset(map(name_key, _RESERVED.split()))
"""The keys of names that nobody can have: what looks like one of them is refused with it."""
GUEST = "guest-"
"""What the names of guests begin with, and nobody else's."""
REVOKED_TOPIC = "tokens"
KNOWN = 10_000
"""Tokens whose players are remembered, to count their requests as theirs."""


class BadCredentials(Exception):
    """No such name, or not its password; nobody is told which."""


class BadToken(Exception):
    """The token is unknown or revoked."""


class NameReserved(Exception):
    """Nobody can have this name, or one that looks like it."""


class AlreadyNamed(Exception):
    """Only a guest can claim a name."""


class AlreadyRaced(Exception):
    """A player says before the first race whether it is a bot."""


class NotGranted(Exception):
    """A token makes none with more scopes than it has; `scope` says which it lacks."""

    def __init__(self, scope: str) -> None:
        super().__init__(f"a token without the scope {scope} makes none with it")


class Entry(NamedTuple):
    """A player with a fresh token, shown this once."""

    player: Player
    token: str


class Made(NamedTuple):
    """A token just made, and its secret, shown this once."""

    token: Listed
    secret: str


class Accounts:
    """The accounts of one process's database."""

    def __init__(self, database: Database, bus: Bus, limits: Limits) -> None:
        self._database = database
        self._bus = bus
        self._limits = limits
        self._known: OrderedDict[bytes, str] = OrderedDict()

    async def guest(self) -> Entry:
        """A new guest."""
        while True:
            now = self._database.clock.now()
            name = f"{GUEST}{secrets.token_hex(5)}"
            player = Player(new_id(now), name, "guest")
            try:
                return await self._enter(player, None)
            except NameTaken:
                continue

    async def register(self, name: str, password: str) -> Entry:
        """A new player. Raises `NameReserved`, `NameTaken`, `Busy`."""
        _check(name)
        player = Player(new_id(self._database.clock.now()), name, "human")
        return await self._enter(player, await hashed(password))

    async def claim(self, guest: Player, name: str, password: str) -> Entry:
        """A guest takes a name and keeps id and history.

        Raises `AlreadyNamed`, `NameReserved`, `NameTaken`, `Busy`.
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

    async def become_bot(self, player: Player) -> Player:
        """Mark a player as a bot, for good. Raises `AlreadyRaced`."""
        if not await self._database.transact(lambda c: players.become_bot(c, player.id)):
            raise AlreadyRaced
        return msgspec.structs.replace(player, kind="bot")

    async def log_in(self, name: str, password: str, address: str, note: Note) -> Entry:
        """A fresh token for a name and its password, asked for from an address.

        Raises `RateLimited`, `BadCredentials`, `Busy`.
        """
        trial = await attempt(self._limits, name, address, note)
        async with self._database.read() as connection:
            found = await players.by_name(connection, name)
        if not await matches(None if found is None else found[1], password) or found is None:
            raise BadCredentials
        await trial.succeeded()
        player, token = found[0], _token()
        await self._database.transact(lambda connection: self._add(connection, player.id, token))
        return Entry(player, token)

    # Tokens

    async def make_token(
        self, maker: Token, scopes: frozenset[str], label: str | None, expires: int | None
    ) -> Made:
        """Another token of the maker's player. Raises `NotGranted`.

        It counts until `expires` (epoch milliseconds), which must be to come.
        """
        if not scopes <= maker.scopes:
            raise NotGranted(min(scopes - maker.scopes))
        now, secret = self._database.clock.now(), _token()
        made = Listed(new_id(now), label, scopes, now, expires)
        await self._database.transact(
            lambda connection: players.add_token(
                connection,
                made.id,
                maker.player.id,
                _digest(secret),
                scopes,
                now,
                label=label,
                expires=expires,
            )
        )
        return Made(made, secret)

    async def tokens_of(self, player: Player, before: str | None, limit: int) -> list[Listed]:
        """The player's valid tokens, the newest first."""
        now = self._database.clock.now()
        async with self._database.read() as connection:
            return await players.tokens_of(
                connection, player.id, before=before, limit=limit, now=now
            )

    async def revoke(self, player: Player, token_id: str) -> bool:
        """Revoke one of the player's tokens; its sockets close in every process.

        False when the player has no such token (any more).
        """
        now = self._database.clock.now()
        done = await self._database.transact(
            lambda connection: players.revoke_token(connection, token_id, now, player.id)
        )
        if done:
            told = msgspec.json.encode({"type": "token-revoked", "token": token_id})
            self._bus.publish(Wake(REVOKED_TOPIC, 0, token_id.encode()))
            self._bus.publish(Wake(f"player:{player.id}", 0, told))
        return done

    async def token(self, text: str) -> Token:
        """Who a token speaks for. Raises `BadToken`."""
        digest = _digest(text)
        now = self._database.clock.now()
        async with self._database.read() as connection:
            token = await players.token_by_digest(connection, digest, now)
        if token is None:
            self._known.pop(digest, None)
            raise BadToken
        self._known[digest] = token.player.id
        self._known.move_to_end(digest)
        if len(self._known) > KNOWN:
            self._known.popitem(last=False)
        return token

    def last_known(self, text: str) -> str | None:
        """Whose the token was when it was last looked up here: a hint, never a permission."""
        return self._known.get(_digest(text))

    async def revoked(self, token_ids: list[str]) -> set[str]:
        """Those of the tokens that count no longer."""
        now = self._database.clock.now()
        async with self._database.read() as connection:
            return await players.revoked(connection, token_ids, now)

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
    key = name_key(name)
    if key in RESERVED or key.startswith(name_key(GUEST)):
        raise NameReserved
