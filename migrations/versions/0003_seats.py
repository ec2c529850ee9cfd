"""Who sits in which lobby, and the running race plays of a player. Only additions."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

ID = sa.LargeBinary(16).with_variant(postgresql.UUID(), "postgresql")


def upgrade() -> None:
    op.create_table(
        "seats",
        sa.Column("player_id", ID, nullable=False),
        sa.Column("race_id", ID, nullable=False),
        sa.Column("left", sa.Boolean, nullable=False, server_default=sa.text("false")),
        sa.PrimaryKeyConstraint("player_id", "race_id", name="pk_seats"),
    )
    op.create_index("ix_seats_race_id", "seats", ["race_id"])
    racing = sa.text("status = 'playing' AND race_id IS NOT NULL")
    op.create_index(
        "ix_plays_racing", "plays", ["player_id"], postgresql_where=racing, sqlite_where=racing
    )


def downgrade() -> None:
    op.drop_index("ix_plays_racing", "plays")
    op.drop_table("seats")
