"""Players, tokens, deals, plays, races, receipts and the two logs.

Written out and never edited once released: it must go on making what it made, whatever becomes of
`service.storage.tables`. A test holds the newest revision and the tables together.
"""

import sqlalchemy as sa
from alembic import op
from sqlalchemy.dialects import postgresql

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

ID = sa.LargeBinary(16).with_variant(postgresql.UUID(), "postgresql")


def upgrade() -> None:
    op.create_table(
        "players",
        sa.Column("id", ID, nullable=False),
        sa.Column("name", sa.Text, nullable=False),
        sa.Column("name_key", sa.Text, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("password", sa.Text),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_players"),
        sa.CheckConstraint("kind IN ('guest', 'human', 'bot')", name="ck_players_kind"),
        sa.UniqueConstraint("name_key", name="uq_players_name_key"),
    )
    op.create_table(
        "tokens",
        sa.Column("id", ID, nullable=False),
        sa.Column("player_id", ID, nullable=False),
        sa.Column("hash", sa.LargeBinary, nullable=False),
        sa.Column("scopes", sa.Text, nullable=False),
        sa.Column("label", sa.Text),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("revoked_at", sa.BigInteger),
        sa.PrimaryKeyConstraint("id", name="pk_tokens"),
        sa.ForeignKeyConstraint(["player_id"], ["players.id"], name="fk_tokens_player_id"),
        sa.UniqueConstraint("hash", name="uq_tokens_hash"),
    )
    op.create_index("ix_tokens_player_id", "tokens", ["player_id"])
    op.create_table(
        "deals",
        sa.Column("id", ID, nullable=False),
        sa.Column("game", sa.Text, nullable=False),
        sa.Column("deal_version", sa.SmallInteger, nullable=False),
        sa.Column("seed", sa.Text, nullable=False),
        sa.Column("commitment", sa.Text, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.PrimaryKeyConstraint("id", name="pk_deals"),
        sa.UniqueConstraint("game", "deal_version", "seed", name="uq_deals_game_deal_version_seed"),
    )
    op.create_table(
        "plays",
        sa.Column("id", ID, nullable=False),
        sa.Column("deal_id", ID, nullable=False),
        sa.Column("game", sa.Text, nullable=False),
        sa.Column("rules_version", sa.SmallInteger, nullable=False),
        sa.Column("mode", sa.Text, nullable=False),
        sa.Column("player_id", ID, nullable=False),
        sa.Column("race_id", ID),
        sa.Column("started_at", sa.BigInteger, nullable=False),
        sa.Column("deadline_at", sa.BigInteger),
        sa.Column("status", sa.Text, nullable=False, server_default="playing"),
        sa.Column("score", sa.SmallInteger, nullable=False, server_default="0"),
        sa.Column("score_ms", sa.BigInteger, nullable=False, server_default="0"),
        sa.Column("score_plies", sa.SmallInteger, nullable=False, server_default="0"),
        sa.Column("moved", sa.Boolean, nullable=False, server_default=sa.text("false")),
        sa.Column("undone", sa.Boolean, nullable=False, server_default=sa.text("false")),
        sa.Column("ended_at", sa.BigInteger),
        sa.PrimaryKeyConstraint("id", name="pk_plays"),
        sa.ForeignKeyConstraint(["deal_id"], ["deals.id"], name="fk_plays_deal_id"),
        sa.ForeignKeyConstraint(["player_id"], ["players.id"], name="fk_plays_player_id"),
        sa.UniqueConstraint("race_id", "player_id", name="uq_plays_race_id_player_id"),
    )
    op.create_index("ix_plays_deal_id", "plays", ["deal_id"])
    op.create_index("ix_plays_player_id_id", "plays", ["player_id", "id"])
    running = sa.text("status = 'playing' AND deadline_at IS NOT NULL")
    op.create_index(
        "ix_plays_running",
        "plays",
        ["deadline_at"],
        postgresql_where=running,
        sqlite_where=running,
    )
    op.create_table(
        "moves",
        sa.Column("play_id", ID, nullable=False),
        sa.Column("ply", sa.SmallInteger, nullable=False),
        sa.Column("move", sa.Text, nullable=False),
        sa.Column("at_ms", sa.BigInteger, nullable=False),
        sa.Column("move_id", sa.Text, nullable=False),
        sa.Column("score", sa.SmallInteger, nullable=False),
        sa.PrimaryKeyConstraint("play_id", "ply", name="pk_moves"),
    )
    op.create_table(
        "races",
        sa.Column("id", ID, nullable=False),
        sa.Column("deal_id", ID, nullable=False),
        sa.Column("game", sa.Text, nullable=False),
        sa.Column("kind", sa.Text, nullable=False),
        sa.Column("name", sa.Text),
        sa.Column("creator_id", ID),
        sa.Column("certified", sa.Boolean, nullable=False, server_default=sa.text("false")),
        sa.Column("rules_version", sa.SmallInteger, nullable=False),
        sa.Column("ranking_version", sa.SmallInteger, nullable=False),
        sa.Column("ranking", sa.Text, nullable=False),
        sa.Column("capacity", sa.Integer, nullable=False),
        sa.Column("time_limit_ms", sa.BigInteger, nullable=False),
        sa.Column("rated", sa.Boolean, nullable=False),
        sa.Column("listed", sa.Boolean, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("opens_at", sa.BigInteger),
        sa.Column("closes_at", sa.BigInteger),
        sa.Column("v", sa.Integer, nullable=False, server_default="0"),
        sa.Column("state", sa.Text, nullable=False),
        sa.Column("total", sa.Integer, nullable=False, server_default="0"),
        sa.Column("starts_at", sa.BigInteger),
        sa.Column("ended_at", sa.BigInteger),
        sa.Column("due_at", sa.BigInteger),
        sa.PrimaryKeyConstraint("id", name="pk_races"),
        sa.ForeignKeyConstraint(["deal_id"], ["deals.id"], name="fk_races_deal_id"),
        sa.ForeignKeyConstraint(["creator_id"], ["players.id"], name="fk_races_creator_id"),
        sa.UniqueConstraint("deal_id", name="uq_races_deal_id"),
    )
    due = sa.text("due_at IS NOT NULL")
    op.create_index("ix_races_due", "races", ["due_at"], postgresql_where=due, sqlite_where=due)
    op.create_index("ix_races_listed", "races", ["listed", "state", "id"])
    op.create_table(
        "race_events",
        sa.Column("race_id", ID, nullable=False),
        sa.Column("v", sa.Integer, nullable=False),
        sa.Column("at", sa.BigInteger, nullable=False),
        sa.Column("data", sa.Text, nullable=False),
        sa.PrimaryKeyConstraint("race_id", "v", name="pk_race_events"),
    )
    op.create_table(
        "receipts",
        sa.Column("key", sa.LargeBinary, nullable=False),
        sa.Column("body_hash", sa.LargeBinary, nullable=False),
        sa.Column("holder", ID, nullable=False),
        sa.Column("created_at", sa.BigInteger, nullable=False),
        sa.Column("status", sa.SmallInteger),
        sa.Column("reply", sa.LargeBinary),
        sa.PrimaryKeyConstraint("key", name="pk_receipts"),
    )
    op.create_index("ix_receipts_created_at", "receipts", ["created_at"])


def downgrade() -> None:
    for table in (
        "receipts",
        "race_events",
        "races",
        "moves",
        "plays",
        "deals",
        "tokens",
        "players",
    ):
        op.drop_table(table)
