"""Grades, what people did about them, what each rests on; and seals over the evidence."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from calibration.store.triggers import protect

revision = "0007"
down_revision = "0006"
branch_labels = None
depends_on = None

TABLES = ("grade", "grade_event", "grade_use", "evidence_seal")


def upgrade() -> None:
    """Creates the tables and the triggers that keep them append-only."""
    for create in (_grade, _grade_event, _grade_use, _evidence_seal):
        create()
    protect(op.execute, op.get_bind().dialect.name, *TABLES)


def _grade() -> None:
    op.create_table(
        "grade",
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("idempotency_key", sa.Text(), nullable=True),
        sa.Column("request_digest", sa.Text(), nullable=False),
        sa.Column("rubric_digest", sa.Text(), nullable=False),
        sa.Column("item_id", sa.Text(), nullable=False),
        sa.Column("content_digest", sa.Text(), nullable=False),
        sa.Column("population", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("system", sa.Text(), nullable=True),
        sa.Column("attempt", sa.Integer(), nullable=False),
        sa.Column("overall", sa.Text(), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("rationale_digest", sa.Text(), nullable=True),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("graded_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(
            "role IN ('acceptance', 'review_trigger', 'diagnostic')", name=op.f("ck_grade_role")
        ),
        sa.CheckConstraint(
            "overall IN ('pass', 'fail', 'pending', 'unknown')", name=op.f("ck_grade_overall")
        ),
        sa.CheckConstraint("attempt >= 1", name=op.f("ck_grade_attempt")),
        sa.ForeignKeyConstraint(
            ["rubric_digest"], ["rubric_version.digest"], name=op.f("fk_grade_rubric_digest")
        ),
        sa.ForeignKeyConstraint(
            ["rationale_digest"], ["item_payload.digest"], name=op.f("fk_grade_rationale_digest")
        ),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_grade")),
        sa.UniqueConstraint("idempotency_key", name=op.f("uq_grade_idempotency_key")),
        sa.UniqueConstraint(
            "rubric_digest", "item_id", "population", "role", "attempt", name="uq_grade_attempt"
        ),
    )
    op.create_index(op.f("ix_grade_graded_at"), "grade", ["graded_at"])


def _grade_event() -> None:
    op.create_table(
        "grade_event",
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("grade_key", sa.Text(), nullable=False),
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("criterion", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("verdict", sa.Text(), nullable=True),
        sa.Column("note_digest", sa.Text(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("recorded_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(
            "kind IN ('resolved', 'overridden', 'appealed')", name=op.f("ck_grade_event_kind")
        ),
        sa.CheckConstraint("verdict IN ('pass', 'fail', 'unknown')", name=op.f("ck_grade_event_verdict")),
        sa.CheckConstraint("seq >= 1", name=op.f("ck_grade_event_seq")),
        sa.ForeignKeyConstraint(["grade_key"], ["grade.key"], name=op.f("fk_grade_event_grade_key")),
        sa.ForeignKeyConstraint(
            ["note_digest"], ["item_payload.digest"], name=op.f("fk_grade_event_note_digest")
        ),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_grade_event")),
        sa.UniqueConstraint("grade_key", "seq", name="uq_grade_event_seq"),
    )


def _grade_use() -> None:
    op.create_table(
        "grade_use",
        sa.Column("grade_key", sa.Text(), nullable=False),
        sa.Column("criterion", sa.Text(), nullable=False),
        sa.Column("decision_hash", sa.Text(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.ForeignKeyConstraint(["grade_key"], ["grade.key"], name=op.f("fk_grade_use_grade_key")),
        sa.ForeignKeyConstraint(
            ["decision_hash"], ["decision.hash"], name=op.f("fk_grade_use_decision_hash")
        ),
        sa.PrimaryKeyConstraint("grade_key", "criterion", name=op.f("pk_grade_use")),
    )
    op.create_index(op.f("ix_grade_use_decision_hash"), "grade_use", ["decision_hash"])


def _evidence_seal() -> None:
    op.create_table(
        "evidence_seal",
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("table_name", sa.Text(), nullable=False),
        sa.Column("columns", sa.Text(), nullable=False),
        sa.Column("members", sa.Text(), nullable=False),
        sa.Column("rows", sa.Integer(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("sealed_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("seq >= 1", name=op.f("ck_evidence_seal_seq")),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_evidence_seal")),
        sa.UniqueConstraint("seq", name=op.f("uq_evidence_seal_seq")),
    )
    op.create_index(op.f("ix_evidence_seal_table_name"), "evidence_seal", ["table_name"])
