"""What people said: assessments, adjudications, reference labels."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from calibration.store.triggers import protect

revision = "0002"
down_revision = "0001"
branch_labels = None
depends_on = None

TABLES = ("assessment", "adjudication", "reference_label")


def upgrade() -> None:
    """Creates the tables and the triggers that keep them append-only."""
    for create in (_assessment, _adjudication, _reference_label):
        create()
    protect(op.execute, op.get_bind().dialect.name, *TABLES)


def _assessment() -> None:
    op.create_table(
        "assessment",
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("item_key", sa.Text(), nullable=False),
        sa.Column("content_digest", sa.Text(), nullable=False),
        sa.Column("rubric_digest", sa.Text(), nullable=False),
        sa.Column("criterion", sa.Text(), nullable=False),
        sa.Column("rater", sa.Text(), nullable=False),
        sa.Column("repeat", sa.Integer(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("supersedes", sa.Text(), nullable=True),
        sa.Column("scale", sa.Text(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=True),
        sa.Column("failure_mode", sa.Text(), nullable=True),
        sa.Column("note_digest", sa.Text(), nullable=True),
        sa.Column("blind", sa.Text(), nullable=False),
        sa.Column("source", sa.Text(), nullable=False),
        sa.Column("shown_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("decided_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("import_key", sa.Text(), nullable=True),
        sa.Column("recorded_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(
            "(scale <> 'binary' OR value IN ('pass', 'fail', 'unknown'))"
            " AND (scale <> 'preference' OR value IN ('A', 'B', 'tie', 'unknown')) AND value <> ''",
            name=op.f("ck_assessment_value"),
        ),
        sa.CheckConstraint(
            "blind IN ('yes', 'sheet', 'declared', 'no', 'unknown')", name=op.f("ck_assessment_blind")
        ),
        sa.CheckConstraint("scale IN ('binary', 'ordinal', 'preference')", name=op.f("ck_assessment_scale")),
        sa.CheckConstraint("source IN ('human', 'model', 'code')", name=op.f("ck_assessment_source")),
        sa.CheckConstraint("(revision = 0) = (supersedes IS NULL)", name=op.f("ck_assessment_revision")),
        sa.ForeignKeyConstraint(["import_key"], ["import_file.key"], name=op.f("fk_assessment_import_key")),
        sa.ForeignKeyConstraint(["item_key"], ["item.key"], name=op.f("fk_assessment_item_key")),
        sa.ForeignKeyConstraint(
            ["note_digest"], ["item_payload.digest"], name=op.f("fk_assessment_note_digest")
        ),
        sa.ForeignKeyConstraint(
            ["rubric_digest", "criterion"],
            ["criterion.rubric_digest", "criterion.key"],
            name=op.f("fk_assessment_rubric_digest_criterion"),
        ),
        sa.ForeignKeyConstraint(["supersedes"], ["assessment.digest"], name=op.f("fk_assessment_supersedes")),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_assessment")),
        sa.UniqueConstraint(
            "item_key",
            "rubric_digest",
            "criterion",
            "rater",
            "repeat",
            "revision",
            name="uq_assessment_answer",
        ),
        sa.UniqueConstraint("supersedes", name=op.f("uq_assessment_supersedes")),
    )


def _adjudication() -> None:
    op.create_table(
        "adjudication",
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("item_key", sa.Text(), nullable=False),
        sa.Column("content_digest", sa.Text(), nullable=False),
        sa.Column("rubric_digest", sa.Text(), nullable=False),
        sa.Column("criterion", sa.Text(), nullable=False),
        sa.Column("adjudicator", sa.Text(), nullable=False),
        sa.Column("revision", sa.Integer(), nullable=False),
        sa.Column("supersedes", sa.Text(), nullable=True),
        sa.Column("scale", sa.Text(), nullable=False),
        sa.Column("value", sa.Text(), nullable=False),
        sa.Column("reason_digest", sa.Text(), nullable=True),
        sa.Column("decided_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("import_key", sa.Text(), nullable=True),
        sa.Column("recorded_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(
            "(scale <> 'binary' OR value IN ('pass', 'fail', 'unknown'))"
            " AND (scale <> 'preference' OR value IN ('A', 'B', 'tie', 'unknown')) AND value <> ''",
            name=op.f("ck_adjudication_value"),
        ),
        sa.CheckConstraint(
            "scale IN ('binary', 'ordinal', 'preference')", name=op.f("ck_adjudication_scale")
        ),
        sa.CheckConstraint("(revision = 0) = (supersedes IS NULL)", name=op.f("ck_adjudication_revision")),
        sa.ForeignKeyConstraint(["import_key"], ["import_file.key"], name=op.f("fk_adjudication_import_key")),
        sa.ForeignKeyConstraint(["item_key"], ["item.key"], name=op.f("fk_adjudication_item_key")),
        sa.ForeignKeyConstraint(
            ["reason_digest"], ["item_payload.digest"], name=op.f("fk_adjudication_reason_digest")
        ),
        sa.ForeignKeyConstraint(
            ["rubric_digest", "criterion"],
            ["criterion.rubric_digest", "criterion.key"],
            name=op.f("fk_adjudication_rubric_digest_criterion"),
        ),
        sa.ForeignKeyConstraint(
            ["supersedes"], ["adjudication.digest"], name=op.f("fk_adjudication_supersedes")
        ),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_adjudication")),
        sa.UniqueConstraint(
            "item_key", "rubric_digest", "criterion", "revision", name="uq_adjudication_resolution"
        ),
        sa.UniqueConstraint("supersedes", name=op.f("uq_adjudication_supersedes")),
    )


def _reference_label() -> None:
    op.create_table(
        "reference_label",
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("item_key", sa.Text(), nullable=False),
        sa.Column("content_digest", sa.Text(), nullable=False),
        sa.Column("rubric_digest", sa.Text(), nullable=False),
        sa.Column("criterion", sa.Text(), nullable=False),
        sa.Column("rule", sa.Text(), nullable=False),
        sa.Column("min_raters", sa.Integer(), nullable=False),
        sa.Column("inputs_digest", sa.Text(), nullable=False),
        sa.Column("verdict", sa.Text(), nullable=False),
        sa.Column("answer", sa.Text(), nullable=True),
        sa.Column("raters", sa.Integer(), nullable=False),
        sa.Column("adjudicated", sa.Boolean(), nullable=False),
        sa.Column("unresolved", sa.Text(), nullable=True),
        sa.Column("recorded_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(
            "(verdict = 'unknown') = (unresolved IS NOT NULL)", name=op.f("ck_reference_label_reason")
        ),
        sa.CheckConstraint(
            "rule IN ('majority', 'unanimous', 'adjudicated', 'unanimous_or_adjudicated')",
            name=op.f("ck_reference_label_rule"),
        ),
        sa.CheckConstraint(
            "unresolved IN ('no_label', 'cannot_decide', 'disagreement', 'too_few_raters', 'not_adjudicated',"
            " 'adjudication_open')",
            name=op.f("ck_reference_label_unresolved"),
        ),
        sa.CheckConstraint("verdict IN ('pass', 'fail', 'unknown')", name=op.f("ck_reference_label_verdict")),
        sa.ForeignKeyConstraint(["item_key"], ["item.key"], name=op.f("fk_reference_label_item_key")),
        sa.ForeignKeyConstraint(
            ["rubric_digest", "criterion"],
            ["criterion.rubric_digest", "criterion.key"],
            name=op.f("fk_reference_label_rubric_digest_criterion"),
        ),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_reference_label")),
        sa.UniqueConstraint(
            "item_key",
            "rubric_digest",
            "criterion",
            "rule",
            "min_raters",
            "inputs_digest",
            name="uq_reference_label_result",
        ),
    )
