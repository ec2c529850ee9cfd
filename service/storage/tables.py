"""The tables. Instants are BIGINT epoch milliseconds.

The two log tables have no foreign keys and start their keys with what a shard or a partition
would split by. Columns under "derived" can all be worked out again from the logs.
"""

import uuid
from typing import Any

from sqlalchemy import (
    BigInteger,
    Boolean,
    CheckConstraint,
    Column,
    Dialect,
    ForeignKey,
    Index,
    Integer,
    LargeBinary,
    MetaData,
    SmallInteger,
    Table,
    Text,
    TypeDecorator,
    UniqueConstraint,
    Uuid,
    text,
)
from sqlalchemy.types import TypeEngine

from service.storage.ids import id_bytes, id_text


class Id(TypeDecorator[str]):
    """An id: short text in Python, native uuid in Postgres, 16 bytes in SQLite."""

    impl = LargeBinary
    cache_ok = True

    def load_dialect_impl(self, dialect: Dialect) -> TypeEngine[Any]:
        if dialect.name == "postgresql":
            return dialect.type_descriptor(Uuid(as_uuid=True))
        return dialect.type_descriptor(LargeBinary(16))

    def process_bind_param(self, value: str | None, dialect: Dialect) -> Any:
        if value is None:
            return None
        raw = id_bytes(value)
        return uuid.UUID(bytes=raw) if dialect.name == "postgresql" else raw

    def process_result_value(self, value: Any, dialect: Dialect) -> str | None:
        if value is None:
            return None
        return id_text(value.bytes if isinstance(value, uuid.UUID) else bytes(value))


metadata = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "ck": "ck_%(table_name)s_%(constraint_name)s",
        "fk": "fk_%(table_name)s_%(column_0_name)s",
        "pk": "pk_%(table_name)s",
    }
)

players = Table(
    "players",
    metadata,
    Column("id", Id, primary_key=True),
    Column("name", Text, nullable=False),
    Column("name_key", Text, nullable=False, unique=True),
    Column("kind", Text, nullable=False),
    Column("password", Text),
    Column("created_at", BigInteger, nullable=False),
    CheckConstraint("kind IN ('guest', 'human', 'bot')", name="kind"),
)

tokens = Table(
    "tokens",
    metadata,
    Column("id", Id, primary_key=True),
    Column("player_id", Id, ForeignKey("players.id"), nullable=False, index=True),
    Column("hash", LargeBinary, nullable=False, unique=True),
    Column("scopes", Text, nullable=False),
    Column("label", Text),
    Column("created_at", BigInteger, nullable=False),
    Column("revoked_at", BigInteger),
)

deals = Table(
    "deals",
    metadata,
    Column("id", Id, primary_key=True),
    Column("game", Text, nullable=False),
    Column("deal_version", SmallInteger, nullable=False),
    Column("seed", Text, nullable=False),
    Column("commitment", Text, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    UniqueConstraint("game", "deal_version", "seed"),
)

plays = Table(
    "plays",
    metadata,
    Column("id", Id, primary_key=True),
    Column("deal_id", Id, ForeignKey("deals.id"), nullable=False, index=True),
    Column("game", Text, nullable=False),
    Column("rules_version", SmallInteger, nullable=False),
    Column("mode", Text, nullable=False),
    Column("player_id", Id, ForeignKey("players.id"), nullable=False),
    Column("race_id", Id),
    Column("started_at", BigInteger, nullable=False),
    Column("deadline_at", BigInteger),
    Column("ranking", Text, nullable=False, server_default="time"),
    # Whether it may stand on a board: in practice, whether its player met the deal for the first time.
    Column("ranked", Boolean, nullable=False, server_default=text("true")),
    # derived
    Column("status", Text, nullable=False, server_default="playing"),
    Column("score", SmallInteger, nullable=False, server_default="0"),
    Column("score_ms", BigInteger, nullable=False, server_default="0"),
    Column("score_plies", SmallInteger, nullable=False, server_default="0"),
    Column("moved", Boolean, nullable=False, server_default=text("false")),
    Column("undone", Boolean, nullable=False, server_default=text("false")),
    Column("ended_at", BigInteger),
    # One number to order ended plays by, the lower the better; null where a play counts for nothing.
    Column("merit", BigInteger),
    Column("rank", Integer),
    Column("points", Integer),  # tenths of a per cent
    Column("boarded", Boolean, nullable=False, server_default=text("false")),
    Column("hinted", Boolean, nullable=False, server_default=text("false")),
    UniqueConstraint("race_id", "player_id"),
    Index("ix_plays_race_board", "race_id", "merit", "player_id"),
    Index("ix_plays_deal_board", "deal_id", "merit", "player_id"),
    Index(
        "ix_plays_unboarded",
        "race_id",
        postgresql_where=text("merit IS NOT NULL AND NOT boarded"),
        sqlite_where=text("merit IS NOT NULL AND NOT boarded"),
    ),
    Index(None, "player_id", "id"),
    Index(
        "ix_plays_racing",
        "player_id",
        postgresql_where=text("status = 'playing' AND race_id IS NOT NULL"),
        sqlite_where=text("status = 'playing' AND race_id IS NOT NULL"),
    ),
    Index(
        "ix_plays_running",
        "deadline_at",
        postgresql_where=text("status = 'playing' AND deadline_at IS NOT NULL"),
        sqlite_where=text("status = 'playing' AND deadline_at IS NOT NULL"),
    ),
)

moves = Table(
    "moves",
    metadata,
    Column("play_id", Id, primary_key=True),
    Column("ply", SmallInteger, primary_key=True, autoincrement=False),
    Column("move", Text, nullable=False),
    Column("at_ms", BigInteger, nullable=False),
    Column("move_id", Text, nullable=False),
    Column("score", SmallInteger, nullable=False),
)

races = Table(
    "races",
    metadata,
    Column("id", Id, primary_key=True),
    Column("deal_id", Id, ForeignKey("deals.id"), nullable=False, unique=True),
    Column("game", Text, nullable=False),
    Column("kind", Text, nullable=False),
    Column("name", Text),
    Column("creator_id", Id, ForeignKey("players.id")),
    Column("deals", Text, nullable=False, server_default=text("'winnable'")),
    Column("certified", Boolean, nullable=False, server_default=text("false")),
    Column("rules_version", SmallInteger, nullable=False),
    Column("ranking_version", SmallInteger, nullable=False),
    Column("ranking", Text, nullable=False),
    Column("capacity", Integer, nullable=False),
    Column("time_limit_ms", BigInteger, nullable=False),
    Column("rated", Boolean, nullable=False),
    Column("listed", Boolean, nullable=False),
    Column("created_at", BigInteger, nullable=False),
    Column("opens_at", BigInteger),
    Column("closes_at", BigInteger),
    Column("parent_id", Id, index=True, unique=True),  # the race that this one is the rematch of
    # derived
    Column("v", Integer, nullable=False, server_default="0"),
    Column("state", Text, nullable=False),
    Column("total", Integer, nullable=False, server_default="0"),
    Column("starts_at", BigInteger),
    Column("ended_at", BigInteger),
    Column("due_at", BigInteger),
    Index(
        "ix_races_due",
        "due_at",
        postgresql_where=text("due_at IS NOT NULL"),
        sqlite_where=text("due_at IS NOT NULL"),
    ),
    Index("ix_races_listed", "listed", "state", "id"),
)

seats = Table(
    "seats",
    metadata,
    Column("player_id", Id, primary_key=True),
    Column("race_id", Id, primary_key=True, index=True),
    Column("left", Boolean, nullable=False, server_default=text("false")),
)

race_events = Table(
    "race_events",
    metadata,
    Column("race_id", Id, primary_key=True),
    Column("v", Integer, primary_key=True, autoincrement=False),
    Column("at", BigInteger, nullable=False),
    Column("data", Text, nullable=False),
)

receipts = Table(
    "receipts",
    metadata,
    Column("key", LargeBinary, primary_key=True),
    Column("body_hash", LargeBinary, nullable=False),
    Column("holder", Id, nullable=False),
    Column("created_at", BigInteger, nullable=False, index=True),
    Column("status", SmallInteger),
    Column("reply", LargeBinary),
    Column("location", Text),
)
