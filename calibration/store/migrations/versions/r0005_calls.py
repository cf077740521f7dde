"""Calls of judges: the intent before each call, and what became of a call that brought no verdict."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from calibration.store.triggers import protect

revision = "0005"
down_revision = "0004"
branch_labels = None
depends_on = None

TABLES = ("judge_call", "judge_call_fault")


def upgrade() -> None:
    """Creates the tables and the triggers that keep them append-only."""
    for create in (_judge_call, _judge_call_fault):
        create()
    protect(op.execute, op.get_bind().dialect.name, *TABLES)


def _judge_call() -> None:
    op.create_table(
        "judge_call",
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("run_key", sa.Text(), nullable=False),
        sa.Column("item_key", sa.Text(), nullable=False),
        sa.Column("criteria", sa.Text(), nullable=False),
        sa.Column("presentation", sa.Text(), nullable=False),
        sa.Column("repeat", sa.Integer(), nullable=False),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("shown_digest", sa.Text(), nullable=False),
        sa.Column("reserved_micros", sa.BigInteger(), nullable=True),
        sa.Column("recorded_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("presentation IN ('ab', 'ba', 'none')", name=op.f("ck_judge_call_presentation")),
        sa.CheckConstraint("attempt >= 1", name=op.f("ck_judge_call_attempt")),
        sa.ForeignKeyConstraint(["item_key"], ["item.key"], name=op.f("fk_judge_call_item_key")),
        sa.ForeignKeyConstraint(["run_key"], ["judge_run.key"], name=op.f("fk_judge_call_run_key")),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_judge_call")),
        sa.UniqueConstraint(
            "run_key",
            "item_key",
            "criteria",
            "presentation",
            "repeat",
            "attempt",
            name="uq_judge_call_unit",
        ),
    )


def _judge_call_fault() -> None:
    op.create_table(
        "judge_call_fault",
        sa.Column("call_key", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.Column("sentence", sa.Text(), nullable=False),
        sa.Column("attempts", sa.Text(), nullable=False),
        sa.Column("cost_micros", sa.BigInteger(), nullable=True),
        sa.Column("recorded_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(
            "reason IN ('abstained', 'invalid', 'inconsistent', 'pending', 'missing', 'error')",
            name=op.f("ck_judge_call_fault_reason"),
        ),
        sa.ForeignKeyConstraint(["call_key"], ["judge_call.key"], name=op.f("fk_judge_call_fault_call_key")),
        sa.PrimaryKeyConstraint("call_key", name=op.f("pk_judge_call_fault")),
    )
