"""The tables of what the solver knows: certificates, the pool of secret deals, analyses."""

from sqlalchemy import BigInteger, Column, ForeignKey, Index, Integer, SmallInteger, Table, Text

from service.storage.tables import Id, metadata

# What is known of a deal with all its cards seen. Told only when the deal is no longer secret.
certificates = Table(
    "certificates",
    metadata,
    Column("deal_id", Id, ForeignKey("deals.id"), primary_key=True),
    Column("verdict", Text, nullable=False),
    Column("solver_version", SmallInteger, nullable=False),
    Column("budget", BigInteger, nullable=False),
    Column("states", BigInteger, nullable=False),
    Column("par", SmallInteger),  # plies of the shortest line found
    Column("ease", SmallInteger, nullable=False),  # of 200 greedy play-outs, how many win
    Column("line", Text, nullable=False),  # the moves, a space between
)

# Certified secret deals that wait for a race; a race takes its row away.
pool = Table(
    "pool",
    metadata,
    Column("deal_id", Id, ForeignKey("deals.id"), primary_key=True),
    Column("game", Text, nullable=False),
    Index("ix_pool_game", "game", "deal_id"),
)

# Open practice deals that come with the service.
catalogue = Table(
    "catalogue",
    metadata,
    Column("game", Text, primary_key=True),
    Column("number", Integer, primary_key=True, autoincrement=False),
    Column("deal_id", Id, ForeignKey("deals.id"), nullable=False, unique=True),
)

analyses = Table(
    "analyses",
    metadata,
    Column("play_id", Id, primary_key=True),
    Column("solver_version", SmallInteger, nullable=False),
    Column("data", Text, nullable=False),
)
