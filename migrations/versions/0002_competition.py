"""What lasts beyond a race: dailies, boards, ratings, exposure, rematches. Only additions."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

ID = sa.LargeBinary(16).with_variant(postgresql.UUID(), "postgresql")


def added_to_plays() -> list[sa.Column]:
    return [
        sa.Column("ranking", sa.Text, nullable=False, server_default="time"),
        sa.Column("ranked", sa.Boolean, nullable=False, server_default=sa.text("true")),
        sa.Column("merit", sa.BigInteger),
        sa.Column("rank", sa.Integer),
        sa.Column("points", sa.Integer),
        sa.Column("boarded", sa.Boolean, nullable=False, server_default=sa.text("false")),
    ]


def upgrade() -> None:
    for column in added_to_plays():
        op.add_column("plays", column)
    op.create_index("ix_plays_race_board", "plays", ["race_id", "merit", "player_id"])
    op.create_index("ix_plays_deal_board", "plays", ["deal_id", "merit", "player_id"])
    unboarded = sa.text("merit IS NOT NULL AND NOT boarded")
    op.create_index(
        "ix_plays_unboarded",
        "plays",
        ["race_id"],
        postgresql_where=unboarded,
        sqlite_where=unboarded,
    )
    op.add_column("races", sa.Column("parent_id", ID))
    op.create_index("ix_races_parent_id", "races", ["parent_id"], unique=True)
    op.create_table(
        "dailies",
        sa.Column("game", sa.Text, nullable=False),
        sa.Column("date", sa.Text, nullable=False),
        sa.Column("race_id", ID, nullable=False),
        sa.PrimaryKeyConstraint("game", "date", name="pk_dailies"),
        sa.UniqueConstraint("race_id", name="uq_dailies_race_id"),
    )
    op.create_table(
        "exposures",
        sa.Column("player_id", ID, nullable=False),
        sa.Column("deal_id", ID, nullable=False),
        sa.Column("how", sa.Text, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("player_id", "deal_id", name="pk_exposures"),
    )
    op.create_table(
        "board_rows",
        sa.Column("board", sa.Text, nullable=False),
        sa.Column("player_id", ID, nullable=False),
        sa.Column("merit", sa.BigInteger, nullable=False),
        sa.Column("races", sa.Integer, nullable=False),
        sa.Column("v", sa.Integer, nullable=False),
        sa.Column("boarded_v", sa.Integer, nullable=False, server_default="0"),
        sa.PrimaryKeyConstraint("board", "player_id", name="pk_board_rows"),
    )
    op.create_index("ix_board_rows_order", "board_rows", ["board", "merit", "player_id"])
    behind = sa.text("boarded_v < v")
    op.create_index(
        "ix_board_rows_unboarded",
        "board_rows",
        ["board"],
        postgresql_where=behind,
        sqlite_where=behind,
    )
    op.create_table(
        "rating_log",
        sa.Column("game", sa.Text, nullable=False),
        sa.Column("n", sa.Integer, nullable=False),
        sa.Column("race_id", ID, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("game", "n", name="pk_rating_log"),
        sa.UniqueConstraint("race_id", name="uq_rating_log_race_id"),
    )
    op.create_table(
        "ratings",
        sa.Column("player_id", ID, nullable=False),
        sa.Column("game", sa.Text, nullable=False),
        sa.Column("n", sa.Integer, nullable=False),
        sa.Column("race_id", ID, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("mu", sa.Float(53), nullable=False),
        sa.Column("sigma", sa.Float(53), nullable=False),
        sa.Column("races", sa.Integer, nullable=False),
        sa.PrimaryKeyConstraint("player_id", "game", "n", name="pk_ratings"),
        sa.UniqueConstraint("race_id", "player_id", name="uq_ratings_race_id_player_id"),
    )


def downgrade() -> None:
    for table in ("ratings", "rating_log", "board_rows", "exposures", "dailies"):
        op.drop_table(table)
    op.drop_index("ix_races_parent_id", "races")
    op.drop_column("races", "parent_id")
    op.drop_index("ix_plays_unboarded", "plays")
    op.drop_index("ix_plays_deal_board", "plays")
    op.drop_index("ix_plays_race_board", "plays")
    for column in added_to_plays():
        op.drop_column("plays", column.name)
