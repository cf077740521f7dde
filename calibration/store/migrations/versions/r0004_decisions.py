"""Policies, reports, the ledger of looks, and admission decisions."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from calibration.store.triggers import protect

revision = "0004"
down_revision = "0003"
branch_labels = None
depends_on = None

TABLES = ("policy", "report", "look", "decision")


def upgrade() -> None:
    """Creates the tables and the triggers that keep them append-only."""
    for create in (_policy, _report, _look, _decision):
        create()
    protect(op.execute, op.get_bind().dialect.name, *TABLES)


def _policy() -> None:
    op.create_table(
        "policy",
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("content_digest", sa.Text(), nullable=False),
        sa.Column("added_by", sa.Text(), nullable=False),
        sa.Column("added_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_policy")),
    )
    op.create_index(op.f("ix_policy_name"), "policy", ["name"], unique=False)


def _report() -> None:
    op.create_table(
        "report",
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("input_digest", sa.Text(), nullable=False),
        sa.Column("judge_digest", sa.Text(), nullable=False),
        sa.Column("rubric_digest", sa.Text(), nullable=False),
        sa.Column("criterion", sa.Text(), nullable=False),
        sa.Column("dataset", sa.Text(), nullable=False),
        sa.Column("set_digest", sa.Text(), nullable=True),
        sa.Column("policy_digest", sa.Text(), nullable=True),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("content_digest", sa.Text(), nullable=False),
        sa.Column("recorded_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(["judge_digest"], ["judge.digest"], name=op.f("fk_report_judge_digest")),
        sa.ForeignKeyConstraint(["policy_digest"], ["policy.digest"], name=op.f("fk_report_policy_digest")),
        sa.ForeignKeyConstraint(
            ["rubric_digest"], ["rubric_version.digest"], name=op.f("fk_report_rubric_digest")
        ),
        sa.ForeignKeyConstraint(
            ["set_digest"], ["calibration_set.digest"], name=op.f("fk_report_set_digest")
        ),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_report")),
    )
    op.create_index(op.f("ix_report_input_digest"), "report", ["input_digest"], unique=False)
    op.create_index("ix_report_judge_digest_criterion", "report", ["judge_digest", "criterion"], unique=False)


def _look() -> None:
    op.create_table(
        "look",
        sa.Column("input_digest", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("set_digest", sa.Text(), nullable=True),
        sa.Column("judge_digest", sa.Text(), nullable=True),
        sa.Column("rubric_digest", sa.Text(), nullable=True),
        sa.Column("criterion", sa.Text(), nullable=False),
        sa.Column("policy_digest", sa.Text(), nullable=True),
        sa.Column("report_digest", sa.Text(), nullable=True),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("steered", sa.Text(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("kind IN ('report', 'disagreements', 'export')", name=op.f("ck_look_kind")),
        sa.CheckConstraint("steered IN ('yes', 'no', 'presumed')", name=op.f("ck_look_steered")),
        sa.ForeignKeyConstraint(["judge_digest"], ["judge.digest"], name=op.f("fk_look_judge_digest")),
        sa.ForeignKeyConstraint(["policy_digest"], ["policy.digest"], name=op.f("fk_look_policy_digest")),
        sa.ForeignKeyConstraint(["report_digest"], ["report.digest"], name=op.f("fk_look_report_digest")),
        sa.ForeignKeyConstraint(
            ["rubric_digest"], ["rubric_version.digest"], name=op.f("fk_look_rubric_digest")
        ),
        sa.ForeignKeyConstraint(["set_digest"], ["calibration_set.digest"], name=op.f("fk_look_set_digest")),
        sa.PrimaryKeyConstraint("input_digest", name=op.f("pk_look")),
    )
    op.create_index(op.f("ix_look_set_digest"), "look", ["set_digest"], unique=False)


def _decision() -> None:
    op.create_table(
        "decision",
        sa.Column("hash", sa.Text(), nullable=False),
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("judge_digest", sa.Text(), nullable=False),
        sa.Column("rubric_digest", sa.Text(), nullable=False),
        sa.Column("criterion", sa.Text(), nullable=False),
        sa.Column("population", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("report_digest", sa.Text(), nullable=False),
        sa.Column("policy_digest", sa.Text(), nullable=False),
        sa.Column("outcome", sa.Text(), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("signer", sa.Text(), nullable=False),
        sa.Column("valid_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("supersedes", sa.Text(), nullable=True),
        sa.Column("prev_hash", sa.Text(), nullable=False),
        sa.Column("decided_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(
            "outcome IN ('admit', 'reject', 'insufficient_evidence', 'suspended')",
            name=op.f("ck_decision_outcome"),
        ),
        sa.CheckConstraint(
            "role IN ('acceptance', 'review_trigger', 'diagnostic')", name=op.f("ck_decision_role")
        ),
        sa.CheckConstraint("length(hash) = 64 AND hash = lower(hash)", name=op.f("ck_decision_hash")),
        sa.CheckConstraint("seq >= 1", name=op.f("ck_decision_seq")),
        sa.ForeignKeyConstraint(["judge_digest"], ["judge.digest"], name=op.f("fk_decision_judge_digest")),
        sa.ForeignKeyConstraint(["policy_digest"], ["policy.digest"], name=op.f("fk_decision_policy_digest")),
        sa.ForeignKeyConstraint(["report_digest"], ["report.digest"], name=op.f("fk_decision_report_digest")),
        sa.ForeignKeyConstraint(
            ["rubric_digest"], ["rubric_version.digest"], name=op.f("fk_decision_rubric_digest")
        ),
        sa.ForeignKeyConstraint(["supersedes"], ["decision.hash"], name=op.f("fk_decision_supersedes")),
        sa.PrimaryKeyConstraint("hash", name=op.f("pk_decision")),
        sa.UniqueConstraint("seq", name=op.f("uq_decision_seq")),
        sa.UniqueConstraint("supersedes", name=op.f("uq_decision_supersedes")),
    )
    op.create_index(
        "uq_decision_first_of_scope",
        "decision",
        ["judge_digest", "rubric_digest", "criterion", "population", "role"],
        unique=True,
        sqlite_where=sa.text("supersedes IS NULL"),
        postgresql_where=sa.text("supersedes IS NULL"),
    )
