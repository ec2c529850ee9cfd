"""Players and their tokens. Only hashes of tokens and passwords are stored."""

from typing import NamedTuple

from sqlalchemy import (
    BindParameter,
    ColumnElement,
    Select,
    bindparam,
    exists,
    insert,
    or_,
    select,
    update,
)
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from service.contest.player import Player, PlayerKind
from service.storage.tables import players, plays, tokens

_ALIKE = str.maketrans({"-": "_", "0": "o", "1": "l", "i": "l"})
_PAIRS = (("rn", "m"), ("vv", "w"))


class NameTaken(Exception):
    """Another player has this name, or one that cannot be told from it at a glance."""

    def __init__(self) -> None:
        super().__init__("another player has this name, or one that looks like it")


class Token(NamedTuple):
    """A valid token and whose it is."""

    id: str
    player: Player
    scopes: frozenset[str]


class Listed(NamedTuple):
    """A valid token as its player sees it; instants are epoch milliseconds."""

    id: str
    label: str | None
    scopes: frozenset[str]
    created_at: int
    expires: int | None


def name_key(name: str) -> str:
    """What must be unique of a name: two names with one key look alike.

    The rule: case does not count; `-` and `_` are one; `0` reads as `o`; `1` and `i` read as `l`;
    then `rn` reads as `m` and `vv` as `w`. Whatever else differs tells two names apart.

    >>> name_key("Modern-1") == name_key("m0dem_I")
    True
    >>> name_key("Ann") == name_key("Anne")
    False
    """
    key = name.lower().translate(_ALIKE)
    for pair, one in _PAIRS:
        key = key.replace(pair, one)
    return key


def _players() -> "Select[tuple[str, str, PlayerKind]]":
    return select(players.c.id, players.c.name, players.c.kind)


async def create(
    connection: AsyncConnection, player: Player, password: str | None, now: int
) -> None:
    """Store a new player; `password` is its hash. Raises `NameTaken`; the transaction lives on."""
    values = {
        "id": player.id,
        "name": player.name,
        "name_key": name_key(player.name),
        "kind": player.kind,
        "password": password,
        "created_at": now,
    }
    upsert = sqlite.insert if connection.dialect.name == "sqlite" else postgresql.insert
    query = upsert(players).values(values).on_conflict_do_nothing(index_elements=["name_key"])
    if (await connection.execute(query)).rowcount != 1:
        raise NameTaken


async def claim(connection: AsyncConnection, player: Player, password: str) -> bool:
    """Give a guest a name and a password; False when it is no guest (any more).

    Raises `NameTaken`; the transaction lives on.
    """
    query = (
        update(players)
        .where(players.c.id == player.id, players.c.kind == "guest")
        .values(
            name=player.name, name_key=name_key(player.name), kind=player.kind, password=password
        )
    )
    try:
        async with connection.begin_nested():
            claimed = (await connection.execute(query)).rowcount == 1
    except IntegrityError:
        raise NameTaken from None
    # Boards by kind have the player among the guests.
    ranked = update(plays).where(plays.c.player_id == player.id, plays.c.boarded)
    await connection.execute(ranked.values(boarded=False))
    return claimed


async def by_id(connection: AsyncConnection, player_id: str) -> Player | None:
    """The player of that id."""
    row = (await connection.execute(_players().where(players.c.id == player_id))).one_or_none()
    return None if row is None else Player(row.id, row.name, row.kind)


async def become_bot(connection: AsyncConnection, player_id: str) -> bool:
    """Mark a player as a bot for good; False when it has raced already as something else."""
    raced = exists().where(plays.c.player_id == player_id, plays.c.race_id.is_not(None))
    query = (
        update(players)
        .where(players.c.id == player_id, or_(players.c.kind == "bot", ~raced))
        .values(kind="bot")
    )
    return (await connection.execute(query)).rowcount == 1


async def by_name(connection: AsyncConnection, name: str) -> tuple[Player, str | None] | None:
    """The player of that name, without regard to case, and the hash of its password.

    Somebody whose name only looks like it is not found.
    """
    query = select(players.c.id, players.c.name, players.c.kind, players.c.password).where(
        players.c.name_key == name_key(name)
    )
    row = (await connection.execute(query)).one_or_none()
    if row is None or row.name.lower() != name.lower():
        return None
    return Player(row.id, row.name, row.kind), row.password


# Tokens. `revoked_at` is the instant from which a token counts for nothing: for one that expires it
# is known beforehand.


def _valid(now: "int | BindParameter[int]") -> "ColumnElement[bool]":
    return or_(tokens.c.revoked_at.is_(None), tokens.c.revoked_at > now)


# Made once: every request with a token asks for it.
_BY_DIGEST = (
    select(tokens.c.id, tokens.c.scopes, players.c.id, players.c.name, players.c.kind)
    .join(players, players.c.id == tokens.c.player_id)
    .where(tokens.c.hash == bindparam("digest"), _valid(bindparam("now")))
)


async def add_token(
    connection: AsyncConnection,
    token_id: str,
    player_id: str,
    digest: bytes,
    scopes: frozenset[str],
    now: int,
    *,
    label: str | None = None,
    expires: int | None = None,
) -> None:
    """Store a token by its digest."""
    await connection.execute(
        insert(tokens).values(
            id=token_id,
            player_id=player_id,
            hash=digest,
            scopes=" ".join(sorted(scopes)),
            label=label,
            created_at=now,
            revoked_at=expires,
        )
    )


async def token_by_digest(connection: AsyncConnection, digest: bytes, now: int) -> Token | None:
    """The token of that digest, unless it is revoked or has expired."""
    found = await connection.execute(_BY_DIGEST, {"digest": digest, "now": now})
    row = found.one_or_none()
    if row is None:
        return None
    token_id, scopes, player_id, name, kind = row
    return Token(token_id, Player(player_id, name, kind), frozenset(scopes.split()))


async def tokens_of(
    connection: AsyncConnection, player_id: str, *, before: str | None, limit: int, now: int
) -> list[Listed]:
    """A player's valid tokens, the newest first, from the one after `before` on."""
    query = (
        select(tokens)
        .where(tokens.c.player_id == player_id, _valid(now))
        .order_by(tokens.c.id.desc())
        .limit(limit)
    )
    if before is not None:
        query = query.where(tokens.c.id < before)
    return [
        Listed(row.id, row.label, frozenset(row.scopes.split()), row.created_at, row.revoked_at)
        for row in await connection.execute(query)
    ]


async def revoke_token(
    connection: AsyncConnection, token_id: str, now: int, player_id: str | None = None
) -> bool:
    """Whether the token, of that player if one is given, was valid until now."""
    query = update(tokens).where(tokens.c.id == token_id, _valid(now)).values(revoked_at=now)
    if player_id is not None:
        query = query.where(tokens.c.player_id == player_id)
    return (await connection.execute(query)).rowcount == 1


async def revoked(connection: AsyncConnection, token_ids: list[str], now: int) -> set[str]:
    """Those of the tokens that no longer count."""
    query = select(tokens.c.id).where(tokens.c.id.in_(token_ids), _valid(now))
    valid = set((await connection.execute(query)).scalars())
    return set(token_ids) - valid
