"""Assessments that were taken back: they stay recorded and count for nothing."""

from __future__ import annotations

from datetime import datetime

import sqlalchemy as sa
from sqlmodel import Session

from calibration.store.columns import Row, in_utc, table_of, text_column, time_column
from calibration.store.inserting import insert_many
from calibration.store.payloads import payload, put_payloads
from calibration.store.text import name


class RetractionRow(Row, table=True):
    """That an assessment was taken back by its rater; a later answer is its next revision."""

    __tablename__ = "retraction"
    assessment_digest: str = text_column(primary_key=True, foreign_key="assessment.digest")
    rater: str = text_column()
    why_digest: str | None = text_column(foreign_key="item_payload.digest")
    recorded_at: datetime = time_column()


def add_retraction(*, session: Session, assessment_digest: str, rater: str, why: str, at: datetime) -> bool:
    """True if the assessment is taken back now, False if it already was.

    Args:
        session: a writing session.
        assessment_digest: of the assessment.
        rater: whose it is.
        why: in their words; may be empty.
        at: when.
    """
    said = payload({"why": why}) if why.strip() else None
    if said:
        put_payloads(session=session, payloads=[said])
    values = {
        "assessment_digest": assessment_digest,
        "rater": name(rater, "rater"),
        "why_digest": said.digest if said else None,
        "recorded_at": in_utc(at),
    }
    added = insert_many(session=session, row=RetractionRow, rows=[values], identity="assessment_digest")
    return bool(added.added)


def not_retracted(digest: sa.ColumnElement[str]) -> sa.ColumnElement[bool]:
    """A condition: the assessment with this digest was not taken back."""
    return ~sa.exists().where(table_of(RetractionRow).c.assessment_digest == digest)
