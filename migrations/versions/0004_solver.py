"""What the solver knows: certificates, the pool, the catalogue, analyses, hints given."""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

ID = sa.LargeBinary(16).with_variant(postgresql.UUID(), "postgresql")


def upgrade() -> None:
    op.add_column(
        "plays", sa.Column("hinted", sa.Boolean, nullable=False, server_default=sa.text("false"))
    )
    op.create_table(
        "certificates",
        sa.Column("deal_id", ID, nullable=False),
        sa.Column("verdict", sa.Text, nullable=False),
        sa.Column("solver_version", sa.SmallInteger, nullable=False),
        sa.Column("budget", sa.BigInteger, nullable=False),
        sa.Column("states", sa.BigInteger, nullable=False),
        sa.Column("par", sa.SmallInteger),
        sa.Column("ease", sa.SmallInteger, nullable=False),
        sa.Column("line", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("deal_id", name="pk_certificates"),
        sa.ForeignKeyConstraint(["deal_id"], ["deals.id"], name="fk_certificates_deal_id"),
    )
    op.create_table(
        "pool",
        sa.Column("deal_id", ID, nullable=False),
        sa.Column("game", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("deal_id", name="pk_pool"),
        sa.ForeignKeyConstraint(["deal_id"], ["deals.id"], name="fk_pool_deal_id"),
    )
    op.create_index("ix_pool_game", "pool", ["game", "deal_id"])
    op.create_table(
        "catalogue",
        sa.Column("game", sa.Text, nullable=False),
        sa.Column("number", sa.Integer, nullable=False),
        sa.Column("deal_id", ID, nullable=False),
        sa.PrimaryKeyConstraint("game", "number", name="pk_catalogue"),
        sa.ForeignKeyConstraint(["deal_id"], ["deals.id"], name="fk_catalogue_deal_id"),
        sa.UniqueConstraint("deal_id", name="uq_catalogue_deal_id"),
    )
    op.create_table(
        "analyses",
        sa.Column("play_id", ID, nullable=False),
        sa.Column("solver_version", sa.SmallInteger, nullable=False),
        sa.Column("data", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("play_id", name="pk_analyses"),
    )


def downgrade() -> None:
    for table in ("analyses", "catalogue", "pool", "certificates"):
        op.drop_table(table)
    op.drop_column("plays", "hinted")
