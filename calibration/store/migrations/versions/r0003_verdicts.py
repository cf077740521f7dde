"""Calibration sets, judges, their runs and verdicts."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from calibration.store.triggers import protect

revision = "0003"
down_revision = "0002"
branch_labels = None
depends_on = None

TABLES = ("calibration_set", "set_member", "set_freeze", "judge", "judge_run", "verdict")


def upgrade() -> None:
    """Creates the tables and the triggers that keep them append-only."""
    for create in (_calibration_set, _set_member, _set_freeze, _judge, _judge_run, _verdict):
        create()
    protect(op.execute, op.get_bind().dialect.name, *TABLES)


def _calibration_set() -> None:
    op.create_table(
        "calibration_set",
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("dataset", sa.Text(), nullable=False),
        sa.Column("extends", sa.Text(), nullable=True),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("content_digest", sa.Text(), nullable=False),
        sa.Column("recorded_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["extends"], ["calibration_set.digest"], name=op.f("fk_calibration_set_extends")
        ),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_calibration_set")),
        sa.UniqueConstraint("name", "version", name=op.f("uq_calibration_set_name_version")),
    )


def _set_member() -> None:
    op.create_table(
        "set_member",
        sa.Column("set_digest", sa.Text(), nullable=False),
        sa.Column("item_key", sa.Text(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("stratum", sa.Text(), nullable=True),
        sa.Column("inclusion_probability", sa.Float(), nullable=True),
        sa.CheckConstraint(
            "inclusion_probability > 0 AND inclusion_probability <= 1", name=op.f("ck_set_member_inclusion")
        ),
        sa.ForeignKeyConstraint(["item_key"], ["item.key"], name=op.f("fk_set_member_item_key")),
        sa.ForeignKeyConstraint(
            ["set_digest"], ["calibration_set.digest"], name=op.f("fk_set_member_set_digest")
        ),
        sa.PrimaryKeyConstraint("set_digest", "item_key", name=op.f("pk_set_member")),
    )


def _set_freeze() -> None:
    op.create_table(
        "set_freeze",
        sa.Column("set_digest", sa.Text(), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("frozen_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["set_digest"], ["calibration_set.digest"], name=op.f("fk_set_freeze_set_digest")
        ),
        sa.PrimaryKeyConstraint("set_digest", name=op.f("pk_set_freeze")),
    )


def _judge() -> None:
    op.create_table(
        "judge",
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("content_digest", sa.Text(), nullable=False),
        sa.Column("recorded_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_judge")),
    )
    op.create_index(op.f("ix_judge_name"), "judge", ["name"], unique=False)


def _judge_run() -> None:
    op.create_table(
        "judge_run",
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("judge_digest", sa.Text(), nullable=False),
        sa.Column("rubric_digest", sa.Text(), nullable=False),
        sa.Column("dataset", sa.Text(), nullable=False),
        sa.Column("set_digest", sa.Text(), nullable=True),
        sa.Column("origin", sa.Text(), nullable=False),
        sa.Column("plan", sa.Text(), nullable=False),
        sa.Column("units", sa.Integer(), nullable=False),
        sa.Column("priority", sa.Integer(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("cancel_requested_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("recorded_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("origin IN ('run', 'import')", name=op.f("ck_judge_run_origin")),
        sa.CheckConstraint(
            "state IN ('planned', 'running', 'paused', 'finished', 'cancelled')",
            name=op.f("ck_judge_run_state"),
        ),
        sa.ForeignKeyConstraint(["judge_digest"], ["judge.digest"], name=op.f("fk_judge_run_judge_digest")),
        sa.ForeignKeyConstraint(
            ["rubric_digest"], ["rubric_version.digest"], name=op.f("fk_judge_run_rubric_digest")
        ),
        sa.ForeignKeyConstraint(
            ["set_digest"], ["calibration_set.digest"], name=op.f("fk_judge_run_set_digest")
        ),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_judge_run")),
    )
    op.create_index("ix_judge_run_state_priority", "judge_run", ["state", "priority"], unique=False)


def _verdict() -> None:
    op.create_table(
        "verdict",
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("run_key", sa.Text(), nullable=False),
        sa.Column("item_key", sa.Text(), nullable=False),
        sa.Column("content_digest", sa.Text(), nullable=False),
        sa.Column("criterion", sa.Text(), nullable=False),
        sa.Column("presentation", sa.Text(), nullable=False),
        sa.Column("repeat", sa.Integer(), nullable=False),
        sa.Column("scale", sa.Text(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("detail", sa.Text(), nullable=True),
        sa.Column("reply_digest", sa.Text(), nullable=True),
        sa.Column("reported_model", sa.Text(), nullable=True),
        sa.Column("tokens_in", sa.Integer(), nullable=True),
        sa.Column("tokens_out", sa.Integer(), nullable=True),
        sa.Column("cost_micros", sa.BigInteger(), nullable=True),
        sa.Column("latency_ms", sa.Integer(), nullable=True),
        sa.Column("call_key", sa.Text(), nullable=True),
        sa.Column("decided_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("import_key", sa.Text(), nullable=True),
        sa.Column("recorded_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(
            "(scale <> 'binary' OR value IN ('pass', 'fail', 'unknown'))"
            " AND (scale <> 'preference' OR value IN ('A', 'B', 'tie', 'unknown')) AND value <> ''",
            name=op.f("ck_verdict_value"),
        ),
        sa.CheckConstraint(
            "(value = 'unknown') = (reason IS NOT NULL)", name=op.f("ck_verdict_unknown_has_reason")
        ),
        sa.CheckConstraint("presentation IN ('ab', 'ba', 'none')", name=op.f("ck_verdict_presentation")),
        sa.CheckConstraint(
            "reason IN ('abstained', 'invalid', 'inconsistent', 'pending', 'missing', 'error')",
            name=op.f("ck_verdict_reason"),
        ),
        sa.CheckConstraint("scale IN ('binary', 'ordinal', 'preference')", name=op.f("ck_verdict_scale")),
        sa.CheckConstraint("detail IS NULL OR reason IS NOT NULL", name=op.f("ck_verdict_detail_has_reason")),
        sa.ForeignKeyConstraint(["import_key"], ["import_file.key"], name=op.f("fk_verdict_import_key")),
        sa.ForeignKeyConstraint(["item_key"], ["item.key"], name=op.f("fk_verdict_item_key")),
        sa.ForeignKeyConstraint(
            ["reply_digest"], ["item_payload.digest"], name=op.f("fk_verdict_reply_digest")
        ),
        sa.ForeignKeyConstraint(["run_key"], ["judge_run.key"], name=op.f("fk_verdict_run_key")),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_verdict")),
        sa.UniqueConstraint(
            "run_key", "item_key", "criterion", "presentation", "repeat", name="uq_verdict_unit"
        ),
    )
    op.create_index(op.f("ix_verdict_item_key"), "verdict", ["item_key"], unique=False)
