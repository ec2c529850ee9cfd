"""The tables of what lasts beyond a race: dailies, boards, ratings, and who has seen which deal."""

from sqlalchemy import (
    BigInteger,
    Column,
    Float,
    Index,
    Integer,
    Table,
    Text,
    UniqueConstraint,
    text,
)

from service.storage.tables import Id, metadata

dailies = Table(
    "dailies",
    metadata,
    Column("game", Text, primary_key=True),
    Column("date", Text, primary_key=True),  # YYYY-MM-DD, UTC
    Column("race_id", Id, nullable=False, unique=True),
)

exposures = Table(
    "exposures",
    metadata,
    Column("player_id", Id, primary_key=True),
    Column("deal_id", Id, primary_key=True),
    Column("how", Text, nullable=False),  # played, proof or board
    Column("at", BigInteger, nullable=False),
)

# Season and rating boards. `v` counts a row's changes; Redis has been told of `boarded_v`.
board_rows = Table(
    "board_rows",
    metadata,
    Column("board", Text, primary_key=True),
    Column("player_id", Id, primary_key=True),
    Column("merit", BigInteger, nullable=False),  # the lower the better
    Column("races", Integer, nullable=False),
    Column("v", Integer, nullable=False),
    Column("boarded_v", Integer, nullable=False, server_default="0"),
    Index("ix_board_rows_order", "board", "merit", "player_id"),
    Index(
        "ix_board_rows_unboarded",
        "board",
        postgresql_where=text("boarded_v < v"),
        sqlite_where=text("boarded_v < v"),
    ),
)

# One entry a race: whoever writes number n of a game first has rated the n-th race.
rating_log = Table(
    "rating_log",
    metadata,
    Column("game", Text, primary_key=True),
    Column("n", Integer, primary_key=True, autoincrement=False),
    Column("race_id", Id, nullable=False, unique=True),
    Column("at", BigInteger, nullable=False),
)

ratings = Table(
    "ratings",
    metadata,
    Column("player_id", Id, primary_key=True),
    Column("game", Text, primary_key=True),
    Column("n", Integer, primary_key=True, autoincrement=False),
    Column("race_id", Id, nullable=False),
    Column("at", BigInteger, nullable=False),
    Column("mu", Float(53), nullable=False),
    Column("sigma", Float(53), nullable=False),
    Column("races", Integer, nullable=False),
    UniqueConstraint("race_id", "player_id"),
)
