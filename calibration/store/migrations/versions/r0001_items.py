"""Rubrics, items with their texts, imports, and the audit trail."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

from calibration.store.triggers import protect

revision = "0001"
down_revision = None
branch_labels = None
depends_on = None

TABLES = ("rubric_version", "criterion", "import_file", "item_payload", "item", "audit_event")


def upgrade() -> None:
    """Creates the tables and the triggers that keep them append-only."""
    for create in (_rubric_version, _criterion, _import_file, _item_payload, _item, _audit_event):
        create()
    protect(op.execute, op.get_bind().dialect.name, *TABLES)


def _rubric_version() -> None:
    op.create_table(
        "rubric_version",
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("name", sa.Text(), nullable=False),
        sa.Column("version", sa.Integer(), nullable=False),
        sa.Column("content", sa.Text(), nullable=False),
        sa.Column("recorded_at", sa.DateTime(timezone=True), nullable=False),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_rubric_version")),
        sa.UniqueConstraint("name", "version", name=op.f("uq_rubric_version_name_version")),
    )


def _criterion() -> None:
    op.create_table(
        "criterion",
        sa.Column("rubric_digest", sa.Text(), nullable=False),
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("role", sa.Text(), nullable=False),
        sa.Column("scale", sa.Text(), nullable=False),
        sa.Column("required", sa.Boolean(), nullable=False),
        sa.CheckConstraint(
            "role IN ('acceptance', 'review_trigger', 'diagnostic')", name=op.f("ck_criterion_role")
        ),
        sa.CheckConstraint("scale IN ('binary', 'ordinal', 'preference')", name=op.f("ck_criterion_scale")),
        sa.ForeignKeyConstraint(
            ["rubric_digest"], ["rubric_version.digest"], name=op.f("fk_criterion_rubric_digest")
        ),
        sa.PrimaryKeyConstraint("rubric_digest", "key", name=op.f("pk_criterion")),
    )


def _import_file() -> None:
    op.create_table(
        "import_file",
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("dataset", sa.Text(), nullable=False),
        sa.Column("file_digest", sa.Text(), nullable=False),
        sa.Column("provenance", sa.Text(), nullable=False),
        sa.Column("recorded_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("kind IN ('items', 'labels', 'verdicts')", name=op.f("ck_import_file_kind")),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_import_file")),
    )


def _item_payload() -> None:
    op.create_table(
        "item_payload",
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("text", sa.Text(), nullable=True),
        sa.Column("raw", sa.LargeBinary(), nullable=True),
        sa.Column("erased_at", sa.DateTime(timezone=True), nullable=True),
        sa.Column("erased_by", sa.Text(), nullable=True),
        sa.Column("erase_reason", sa.Text(), nullable=True),
        sa.CheckConstraint(
            "erased_at IS NULL OR (raw IS NULL AND erased_by <> '' AND erase_reason <> '')",
            name=op.f("ck_item_payload_tombstone"),
        ),
        sa.CheckConstraint(
            "(text IS NULL) = (erased_at IS NOT NULL)", name=op.f("ck_item_payload_text_or_tombstone")
        ),
        sa.PrimaryKeyConstraint("digest", name=op.f("pk_item_payload")),
    )


def _item() -> None:
    op.create_table(
        "item",
        sa.Column("key", sa.Text(), nullable=False),
        sa.Column("digest", sa.Text(), nullable=False),
        sa.Column("dataset", sa.Text(), nullable=False),
        sa.Column("item_id", sa.Text(), nullable=False),
        sa.Column("content_digest", sa.Text(), nullable=False),
        sa.Column("group_name", sa.Text(), nullable=False),
        sa.Column("tags", sa.Text(), nullable=False),
        sa.Column("split", sa.Text(), nullable=False),
        sa.Column("system", sa.Text(), nullable=False),
        sa.Column("model_family", sa.Text(), nullable=False),
        sa.Column("position", sa.Integer(), nullable=False),
        sa.Column("import_key", sa.Text(), nullable=True),
        sa.Column("recorded_at", sa.DateTime(timezone=True), nullable=False),
        sa.CheckConstraint("split IN ('calibration', 'tuning')", name=op.f("ck_item_split")),
        sa.ForeignKeyConstraint(
            ["content_digest"], ["item_payload.digest"], name=op.f("fk_item_content_digest")
        ),
        sa.ForeignKeyConstraint(["import_key"], ["import_file.key"], name=op.f("fk_item_import_key")),
        sa.PrimaryKeyConstraint("key", name=op.f("pk_item")),
        sa.UniqueConstraint("dataset", "item_id", name=op.f("uq_item_dataset_item_id")),
        sa.UniqueConstraint("digest", name=op.f("uq_item_digest")),
    )
    op.create_index(op.f("ix_item_content_digest"), "item", ["content_digest"], unique=False)


def _audit_event() -> None:
    op.create_table(
        "audit_event",
        sa.Column("stream", sa.Text(), nullable=False),
        sa.Column("seq", sa.Integer(), nullable=False),
        sa.Column("at", sa.DateTime(timezone=True), nullable=False),
        sa.Column("actor", sa.Text(), nullable=False),
        sa.Column("kind", sa.Text(), nullable=False),
        sa.Column("payload", sa.Text(), nullable=False),
        sa.Column("prev_hash", sa.Text(), nullable=False),
        sa.Column("hash", sa.Text(), nullable=False),
        sa.CheckConstraint("length(hash) = 64 AND hash = lower(hash)", name=op.f("ck_audit_event_hash")),
        sa.CheckConstraint("seq >= 1", name=op.f("ck_audit_event_seq")),
        sa.PrimaryKeyConstraint("stream", "seq", name=op.f("pk_audit_event")),
        sa.UniqueConstraint("hash", name=op.f("uq_audit_event_hash")),
    )
