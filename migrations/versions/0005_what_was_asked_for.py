"""Which deals a race was asked to draw from, for its rematch; and where a first reply pointed."""

import sqlalchemy as sa
from alembic import op

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None


def upgrade() -> None:
    op.add_column(
        "races", sa.Column("deals", sa.Text, nullable=False, server_default=sa.text("'winnable'"))
    )
    op.add_column("receipts", sa.Column("location", sa.Text))


def downgrade() -> None:
    op.drop_column("receipts", "location")
    op.drop_column("races", "deals")
