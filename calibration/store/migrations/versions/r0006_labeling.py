"""Labeling: people, sessions, assignments, and what stands beside an assessment."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from calibration.store.triggers import protect

revision = "0006"
down_revision = "0005"
branch_labels = None
depends_on = None

TABLES = (
    *("person", "role_grant", "labeling_session", "session_rater", "assignment", "assignment_closure"),
    *("assessment_context", "retraction", "rater_event", "adjudication_draw"),
)


def upgrade() -> None:
    """Creates the tables and the triggers that protect them."""
    for create in (_person, _role_grant, _labeling_session, _session_rater, _assignment):
        create()
    for create in (_assignment_closure, _assessment_context, _retraction, _rater_event, _adjudication_draw):
        create()
    protect(op.execute, op.get_bind().dialect.name, *TABLES)


def _person() -> None:
    op.create_table(
        "person",
        sa.Column("id", sa.Text(), nullable=False),
        sa.Column("handle", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("auth", sa.Text(), nullable=False),
        sa.Column("recorded_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("auth IN ('local', 'oidc', 'proxy')", name=op.f("ck_person_auth")),
        sa.PrimaryKeyConstraint("id", name=op.f("pk_person")),
        sa.UniqueConstraint("handle", name=op.f("uq_person_handle")),
    )


def _role_grant() -> None:
    op.create_table(
        "role_grant",
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("handle", sa.Text(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("number", sa.Integer(), nullable=False),
        sa.Column("given", sa.Boolean(), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("recorded_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint(
            "role IN ('rater', 'adjudicator', 'reviewer', 'admin', 'grader')", name=op.f("ck_role_grant_role")
        ),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_role_grant")),
        sa.UniqueConstraint("handle", "role", "number", name=op.f("uq_role_grant_handle_role_number")),
    )


def _labeling_session() -> None:
    op.create_table(
        "labeling_session",
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("dataset", sa.Text(), nullable=False),
        sa.Column("set_digest", sa.Text(), nullable=False),
        sa.Column("rubric_digest", sa.Text(), nullable=False),
        sa.Column("plan", sa.Text(), nullable=False),
        sa.Column("opened_by", sa.Text(), nullable=False),
        sa.Column("opens_at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("window_ends_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("closed_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("recorded_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("state IN ('open', 'closed')", name=op.f("ck_labeling_session_state")),
        sa.ForeignKeyConstraint(
            ["rubric_digest"], ["rubric_version.digest"], name=op.f("fk_labeling_session_rubric_digest")
        ),
        sa.ForeignKeyConstraint(
            ["set_digest"], ["calibration_set.digest"], name=op.f("fk_labeling_session_set_digest")
        ),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_labeling_session")),
        sa.UniqueConstraint("name", name=op.f("uq_labeling_session_name")),
    )


def _session_rater() -> None:
    op.create_table(
        "session_rater",
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("session_key", sa.Text(), nullable=False),
        sa.Column("rater", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("seed", sa.Text(), nullable=False),
        sa.Column("cursor", sa.Integer(), nullable=False),
        sa.Column("absent_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("recorded_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("kind IN ('rate', 'adjudicate')", name=op.f("ck_session_rater_kind")),
        sa.ForeignKeyConstraint(
            ["session_key"], ["labeling_session.key"], name=op.f("fk_session_rater_session_key")
        ),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_session_rater")),
        sa.UniqueConstraint(
            "session_key", "rater", "kind", name=op.f("uq_session_rater_session_key_rater_kind")
        ),
    )
    op.create_index(op.f("ix_session_rater_rater"), "session_rater", ["rater"], unique=False)


def _assignment() -> None:
    op.create_table(
        "assignment",
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("session_key", sa.Text(), nullable=False),
        sa.Column("item_key", sa.Text(), nullable=False),
        sa.Column("rater", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("criterion", sa.Text(), nullable=False),
        sa.Column("repeat", sa.Integer(), nullable=False),
        sa.Column("slot", sa.Integer(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("swapped", sa.Boolean(), nullable=False),
        sa.Column("state", sa.Text(), nullable=False),
        sa.Column("lease_no", sa.Integer(), nullable=False),
        sa.Column("lease_until", sa.DateTime(timezone=True), nullable=True),
        sa.Column("recorded_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("kind IN ('rate', 'adjudicate')", name=op.f("ck_assignment_kind")),
        sa.CheckConstraint(
            "state IN ('open', 'done', 'broken', 'reassigned', 'window_closed')",
            name=op.f("ck_assignment_state"),
        ),
        sa.ForeignKeyConstraint(["item_key"], ["item.key"], name=op.f("fk_assignment_item_key")),
        sa.ForeignKeyConstraint(
            ["session_key"], ["labeling_session.key"], name=op.f("fk_assignment_session_key")
        ),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_assignment")),
        sa.UniqueConstraint(
            "session_key", "item_key", "rater", "kind", "criterion", "repeat", name="uq_assignment_person"
        ),
        sa.UniqueConstraint("session_key", "rater", "kind", "position", name="uq_assignment_place"),
    )
    op.create_index(op.f("ix_assignment_rater"), "assignment", ["rater"], unique=False)
    op.create_index(
        "uq_assignment_slot",
        "assignment",
        ["session_key", "item_key", "kind", "criterion", "slot", "repeat"],
        unique=True,
        sqlite_where=sa.text("state IN ('open', 'done')"),
        postgresql_where=sa.text("state IN ('open', 'done')"),
    )


def _assignment_closure() -> None:
    op.create_table(
        "assignment_closure",
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("assignment_key", sa.Text(), nullable=False),
        sa.Column("item_key", sa.Text(), nullable=False),
        sa.Column("rubric_digest", sa.Text(), nullable=False),
        sa.Column("criterion", sa.Text(), nullable=False),
        sa.Column("reason", sa.Text(), nullable=False),
        sa.Column("detail", sa.Text(), nullable=False),
        sa.Column("recorded_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("detail IN ('window_closed')", name=op.f("ck_assignment_closure_detail")),
        sa.CheckConstraint("reason IN ('error')", name=op.f("ck_assignment_closure_reason")),
        sa.ForeignKeyConstraint(
            ["assignment_key"], ["assignment.key"], name=op.f("fk_assignment_closure_assignment_key")
        ),
        sa.ForeignKeyConstraint(["item_key"], ["item.key"], name=op.f("fk_assignment_closure_item_key")),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_assignment_closure")),
    )
    op.create_index(
        op.f("ix_assignment_closure_assignment_key"), "assignment_closure", ["assignment_key"], unique=False
    )
    op.create_index(op.f("ix_assignment_closure_item_key"), "assignment_closure", ["item_key"], unique=False)


def _assessment_context() -> None:
    op.create_table(
        "assessment_context",
        sa.Column("assessment_digest", sa.Text(), nullable=False),
        sa.Column("assignment_key", sa.Text(), nullable=False),
        sa.Column("lease_no", sa.Integer(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("swapped", sa.Boolean(), nullable=False),
        sa.Column("ui_version", sa.Text(), nullable=False),
        sa.Column("idle", sa.Boolean(), nullable=False),
        sa.Column("spans", sa.Text(), nullable=False),
        sa.Column("recorded_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["assessment_digest"], ["assessment.digest"], name=op.f("fk_assessment_context_assessment_digest")
        ),
        sa.ForeignKeyConstraint(
            ["assignment_key"], ["assignment.key"], name=op.f("fk_assessment_context_assignment_key")
        ),
        sa.PrimaryKeyConstraint("assessment_digest", name=op.f("pk_assessment_context")),
    )
    op.create_index(
        op.f("ix_assessment_context_assignment_key"), "assessment_context", ["assignment_key"], unique=False
    )


def _retraction() -> None:
    op.create_table(
        "retraction",
        sa.Column("assessment_digest", sa.Text(), nullable=False),
        sa.Column("rater", sa.Text(), nullable=False),
        sa.Column("why_digest", sa.Text(), nullable=True),
        sa.Column("recorded_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["assessment_digest"], ["assessment.digest"], name=op.f("fk_retraction_assessment_digest")
        ),
        sa.ForeignKeyConstraint(
            ["why_digest"], ["item_payload.digest"], name=op.f("fk_retraction_why_digest")
        ),
        sa.PrimaryKeyConstraint("assessment_digest", name=op.f("pk_retraction")),
    )


def _rater_event() -> None:
    op.create_table(
        "rater_event",
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("session_key", sa.Text(), nullable=False),
        sa.Column("rater", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("assignment_key", sa.Text(), nullable=True),
        sa.Column("criterion", sa.Text(), nullable=True),
        sa.Column("payload", sa.Text(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["session_key"], ["labeling_session.key"], name=op.f("fk_rater_event_session_key")
        ),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_rater_event")),
    )
    op.create_index(op.f("ix_rater_event_assignment_key"), "rater_event", ["assignment_key"], unique=False)
    op.create_index(
        "ix_rater_event_whose", "rater_event", ["session_key", "rater", "kind", "at"], unique=False
    )


def _adjudication_draw() -> None:
    op.create_table(
        "adjudication_draw",
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("session_key", sa.Text(), nullable=False),
        sa.Column("set_digest", sa.Text(), nullable=False),
        sa.Column("judge_digest", sa.Text(), nullable=False),
        sa.Column("rubric_digest", sa.Text(), nullable=False),
        sa.Column("criterion", sa.Text(), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("content_digest", sa.Text(), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("recorded_at", sa.DateTime(timezone=True), nullable=False),
        sa.ForeignKeyConstraint(
            ["judge_digest"], ["judge.digest"], name=op.f("fk_adjudication_draw_judge_digest")
        ),
        sa.ForeignKeyConstraint(
            ["session_key"], ["labeling_session.key"], name=op.f("fk_adjudication_draw_session_key")
        ),
        sa.ForeignKeyConstraint(
            ["set_digest"], ["calibration_set.digest"], name=op.f("fk_adjudication_draw_set_digest")
        ),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_adjudication_draw")),
    )
