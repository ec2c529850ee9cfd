"""Players and their tokens. Only hashes of tokens and passwords are stored."""

from typing import NamedTuple

from sqlalchemy import Select, insert, select, update
from sqlalchemy.dialects import postgresql, sqlite
from sqlalchemy.exc import IntegrityError
from sqlalchemy.ext.asyncio import AsyncConnection

from service.contest.player import Player, PlayerKind
from service.storage.tables import players, tokens


class NameTaken(Exception):
    """Another player has this name, or one that differs only in case."""


class Token(NamedTuple):
    """A valid token and whose it is."""

    id: str
    player: Player
    scopes: frozenset[str]


def name_key(name: str) -> str:
    """What must be unique of a name."""
    return name.casefold()


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
            return (await connection.execute(query)).rowcount == 1
    except IntegrityError:
        raise NameTaken from None


async def by_id(connection: AsyncConnection, player_id: str) -> Player | None:
    """The player of that id."""
    row = (await connection.execute(_players().where(players.c.id == player_id))).one_or_none()
    return None if row is None else Player(row.id, row.name, row.kind)


async def by_name(connection: AsyncConnection, name: str) -> tuple[Player, str | None] | None:
    """The player of that name, without regard to case, and the hash of its password."""
    query = select(players.c.id, players.c.name, players.c.kind, players.c.password).where(
        players.c.name_key == name_key(name)
    )
    row = (await connection.execute(query)).one_or_none()
    return None if row is None else (Player(row.id, row.name, row.kind), row.password)


async def add_token(
    connection: AsyncConnection,
    token_id: str,
    player_id: str,
    digest: bytes,
    scopes: frozenset[str],
    now: int,
) -> None:
    """Store a token by its digest."""
    await connection.execute(
        insert(tokens).values(
            id=token_id,
            player_id=player_id,
            hash=digest,
            scopes=" ".join(sorted(scopes)),
            created_at=now,
        )
    )


async def token_by_digest(connection: AsyncConnection, digest: bytes) -> Token | None:
    """The token of that digest, unless it is revoked."""
    query = (
        select(tokens.c.id, tokens.c.scopes, players.c.id, players.c.name, players.c.kind)
        .join(players, players.c.id == tokens.c.player_id)
        .where(tokens.c.hash == digest, tokens.c.revoked_at.is_(None))
    )
    row = (await connection.execute(query)).one_or_none()
    if row is None:
        return None
    token_id, scopes, player_id, name, kind = row
    return Token(token_id, Player(player_id, name, kind), frozenset(scopes.split()))


async def revoke_token(connection: AsyncConnection, token_id: str, now: int) -> bool:
    """Whether the token was valid until now."""
    query = (
        update(tokens)
        .where(tokens.c.id == token_id, tokens.c.revoked_at.is_(None))
        .values(revoked_at=now)
    )
    return (await connection.execute(query)).rowcount == 1


async def revoked(connection: AsyncConnection, token_ids: list[str]) -> set[str]:
    """Those of the tokens that no longer count."""
    query = select(tokens.c.id).where(tokens.c.id.in_(token_ids), tokens.c.revoked_at.is_(None))
    valid = set((await connection.execute(query)).scalars())
    return set(token_ids) - valid
