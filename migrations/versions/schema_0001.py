"""The first schema."""

import sqlalchemy as sa
from alembic import op

revision: str = "0001"
down_revision: str | None = None


def upgrade() -> None:
    for table in ("profiles", "upstreams"):
        op.create_table(
            table,
            sa.Column("name", sa.Text(), nullable=False),
            sa.Column("revision", sa.BigInteger(), nullable=False),
            sa.Column("document", sa.Text(), nullable=False),
            sa.PrimaryKeyConstraint("name", name=f"pk_{table}"),
        )
    op.create_table(
        "fleets",
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("revision", sa.BigInteger(), nullable=False),
        sa.Column("endpoints_revision", sa.BigInteger(), nullable=False),
        sa.Column("document", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("name", name="pk_fleets"),
    )
    op.create_table(
        "endpoints",
        sa.Column("fleet", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("position", sa.BigInteger(), nullable=False),
        sa.Column("revision", sa.BigInteger(), nullable=False),
        sa.Column("upstream", sa.Text(), nullable=True),
        sa.Column("profile", sa.Text(), nullable=True),
        sa.Column("document", sa.Text(), nullable=False),
        sa.PrimaryKeyConstraint("fleet", "name", name="pk_endpoints"),
        sa.ForeignKeyConstraint(["fleet"], ["fleets.name"], name="fk_endpoints_fleet"),
        sa.ForeignKeyConstraint(["upstream"], ["upstreams.name"], name="fk_endpoints_upstream"),
        sa.ForeignKeyConstraint(["profile"], ["profiles.name"], name="fk_endpoints_profile"),
    )
    op.create_table(
        "halts",
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("revision", sa.BigInteger(), nullable=False),
        sa.PrimaryKeyConstraint("key", name="pk_halts"),
    )
    op.create_table(
        "revisions",
        sa.Column("number", sa.BigInteger(), autoincrement=False, nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("action", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("fleet", sa.Text(), nullable=True),
        sa.Column("before", sa.Text(), nullable=True),
        sa.Column("after", sa.Text(), nullable=True),
        sa.PrimaryKeyConstraint("number", name="pk_revisions"),
    )
    op.create_index("ix_revisions_kind_key", "revisions", ["kind", "key", "number"])
    op.create_index("ix_revisions_fleet", "revisions", ["fleet", "number"])
