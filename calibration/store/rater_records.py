"""What stands beside an assessment: where it was made, that it was taken back, and what else happened.

Raters' code may load it. The answers themselves lie in `assessments`.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import Any

import sqlalchemy as sa
from sqlmodel import Field, Session

from calibration.store.assessments import AssessmentRow
from calibration.store.columns import Row, in_utc, row_key, table_of, text_column, time_column
from calibration.store.inserting import batches, insert_many
from calibration.store.retractions import RetractionRow
from calibration.store.text import name, stored_json
from rubrics.record import normalise_text


class AssessmentContextRow(Row, table=True):
    """How an assessment came about; the assessment itself does not depend on it."""

    __tablename__ = "assessment_context"
    assessment_digest: str = text_column(primary_key=True, foreign_key="assessment.digest")
    assignment_key: str = text_column(foreign_key="assignment.key", index=True)
    lease_no: int
    position: int
    swapped: bool = Field(sa_type=sa.Boolean)
    ui_version: str = text_column()
    idle: bool = Field(sa_type=sa.Boolean)
    spans: str = text_column()
    recorded_at: datetime = time_column()


class RaterEventRow(Row, table=True):
    """Something a page noted: a task was shown, a break was taken, a practice case was answered."""

    __tablename__ = "rater_event"
    __table_args__ = (sa.Index("ix_rater_event_whose", "session_key", "rater", "kind", "at"),)
    key: str = text_column(primary_key=True)
    session_key: str = text_column(foreign_key="labeling_session.key")
    rater: str = text_column()
    kind: str = text_column()
    assignment_key: str | None = text_column(index=True)
    criterion: str | None = text_column()
    payload: str = text_column()
    at: datetime = time_column()


@dataclass(frozen=True, slots=True)
class RaterEvent:
    """A recorded event."""

    kind: str
    assignment_key: str | None
    criterion: str | None
    payload: Mapping[str, Any]
    at: datetime


@dataclass(frozen=True, slots=True)
class Said:
    """A rater's answer with what stands beside it."""

    digest: str
    item_key: str
    criterion: str
    rater: str
    repeat: int
    revision: int
    value: str
    """In source positions."""
    reason: str | None
    failure_mode: str | None
    note_digest: str | None
    shown_at: datetime | None
    decided_at: datetime | None
    recorded_at: datetime
    assignment_key: str | None
    """None for a label that came from a file."""
    swapped: bool
    idle: bool
    spans: tuple[tuple[str, int, int], ...]
    retracted: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class ContextEntry:
    """How an assessment came about, as it is recorded."""

    assessment_digest: str
    assignment_key: str
    lease_no: int
    """The fencing number under which it was given."""
    position: int
    swapped: bool
    ui_version: str
    idle: bool
    spans: Sequence[tuple[str, int, int]] = ()
    """Marked pieces of the shown fields: key, start, end."""


def add_context(*, session: Session, entry: ContextEntry, at: datetime) -> None:
    """Records how an assessment came about; once."""
    values = {
        "assessment_digest": entry.assessment_digest,
        "assignment_key": entry.assignment_key,
        "lease_no": entry.lease_no,
        "position": entry.position,
        "swapped": entry.swapped,
        "ui_version": normalise_text(entry.ui_version)[:200],
        "idle": entry.idle,
        "spans": stored_json([list(each) for each in entry.spans]),
        "recorded_at": in_utc(at),
    }
    insert_many(session=session, row=AssessmentContextRow, rows=[values], identity="assessment_digest")


def add_event(
    *,
    session: Session,
    key: str,
    rater: str,
    kind: str,
    at: datetime,
    assignment_key: str | None = None,
    criterion: str | None = None,
    payload: Mapping[str, Any] | None = None,
) -> bool:
    """True if the event is new; the same thing at the same moment is one event.

    Args:
        session: a writing session.
        key: of the labeling session.
        rater: whose.
        kind: a word.
        at: when.
        assignment_key: of the task that it is about.
        criterion: of the task that it is about.
        payload: JSON, without any text that would have to be erased.
    """
    moment = in_utc(at)
    values = {
        "key": row_key("rater_event", key, rater, kind, assignment_key, criterion, moment.isoformat()),
        "session_key": key,
        "rater": name(rater, "rater"),
        "kind": name(kind, "kind"),
        "assignment_key": assignment_key,
        "criterion": criterion,
        "payload": stored_json(dict(payload or {})),
        "at": moment,
    }
    return bool(insert_many(session=session, row=RaterEventRow, rows=[values], identity="key").added)


def events_of(
    *, session: Session, key: str, rater: str | None = None, kinds: Sequence[str] = ()
) -> list[RaterEvent]:
    """The events of a session, of one person or of all, oldest first."""
    query = sa.select(*(_EVENT.c[each] for each in _EVENT_COLUMNS)).where(_EVENT.c.session_key == key)
    if rater is not None:
        query = query.where(_EVENT.c.rater == rater)
    if kinds:
        query = query.where(_EVENT.c.kind.in_(kinds))
    rows = session.connection().execute(query.order_by(_EVENT.c.at, _EVENT.c.key))
    return [_event(row) for row in rows]


def events_about(*, session: Session, assignment_key: str, kind: str) -> list[RaterEvent]:
    """The events of a kind about an assignment, oldest first."""
    query = sa.select(*(_EVENT.c[each] for each in _EVENT_COLUMNS)).where(
        _EVENT.c.assignment_key == assignment_key, _EVENT.c.kind == kind
    )
    return [_event(row) for row in session.connection().execute(query.order_by(_EVENT.c.at, _EVENT.c.key))]


def last_moment(*, session: Session, rater: str, kinds: Sequence[str], since: datetime) -> datetime | None:
    """When the newest event of the kinds by the person was, in any session; None without one since then."""
    query = sa.select(sa.func.max(_EVENT.c.at)).where(
        _EVENT.c.rater == rater, _EVENT.c.kind.in_(kinds), _EVENT.c.at >= in_utc(since)
    )
    found: datetime | None = session.connection().execute(query).scalar_one()
    return found


def first_moment(*, session: Session, rater: str, kinds: Sequence[str], since: datetime) -> datetime | None:
    """When the oldest event of the kinds by the person since a moment was, in any session."""
    query = sa.select(sa.func.min(_EVENT.c.at)).where(
        _EVENT.c.rater == rater, _EVENT.c.kind.in_(kinds), _EVENT.c.at >= in_utc(since)
    )
    found: datetime | None = session.connection().execute(query).scalar_one()
    return found


def answers_of(
    *,
    session: Session,
    rubric_digest: str,
    item_key: str,
    rater: str | None = None,
    repeat: int | None = None,
    criterion: str | None = None,
) -> list[Said]:
    """The newest answer of each rater, criterion and repeat on the item, retracted or not."""
    given = {"rater": rater, "repeat": repeat, "criterion": criterion}
    asked = {column: value for column, value in given.items() if value is not None}
    query = _newest_on_item(*asked)
    asked |= {"item_key": item_key, "rubric_digest": rubric_digest}
    return [_said(row) for row in session.connection().execute(query, asked)]


def answers_for(*, session: Session, rubric_digest: str, items: Sequence[str]) -> list[Said]:
    """The newest answers of every rater on the items, retracted or not, by item, criterion and rater."""
    found: list[Said] = []
    for batch in batches(items):
        query = _NEWEST.where(_LABEL.c.rubric_digest == rubric_digest, _LABEL.c.item_key.in_(batch))
        order = (_LABEL.c.item_key, _LABEL.c.criterion, _LABEL.c.rater, _LABEL.c.repeat)
        found += [_said(row) for row in session.connection().execute(query.order_by(*order))]
    return found


def answers_in(
    *, session: Session, key: str, rater: str | None = None, limit: int | None = None
) -> list[Said]:
    """The newest answers given in a labeling session, newest first.

    Args:
        session: a reading session.
        key: of the labeling session.
        rater: one person, or None for all.
        limit: at most so many.
    """
    assignment = sa.table("assignment", sa.column("key"), sa.column("session_key"), sa.column("rater"))
    query = _NEWEST.join(assignment, assignment.c.key == _CONTEXT.c.assignment_key)
    query = query.where(assignment.c.session_key == key)
    if rater is not None:
        query = query.where(assignment.c.rater == rater, _LABEL.c.rater == rater)
    query = query.order_by(_LABEL.c.recorded_at.desc(), _LABEL.c.digest)
    if limit is not None:
        query = query.limit(limit)
    return [_said(row) for row in session.connection().execute(query)]


def count_answers(*, session: Session, rubric_digest: str, items: Sequence[str], rater: str) -> int:
    """How many of the items carry an answer of the person under the rubric."""
    query = sa.select(sa.func.count(sa.distinct(_LABEL.c.item_key))).where(
        _LABEL.c.rubric_digest == rubric_digest, _LABEL.c.rater == rater, _LABEL.c.item_key.in_(items)
    )
    return int(session.connection().execute(query).scalar_one())


_LABEL = table_of(AssessmentRow)
_CONTEXT = table_of(AssessmentContextRow)
_RETRACTION = table_of(RetractionRow)
_EVENT = table_of(RaterEventRow)
_EVENT_COLUMNS = ("kind", "assignment_key", "criterion", "payload", "at")
_SAID = (
    *("digest", "item_key", "criterion", "rater", "repeat", "revision", "value", "reason", "failure_mode"),
    *("note_digest", "shown_at", "decided_at", "recorded_at"),
)

_LATER = _LABEL.alias()
_NEWEST = (  # built once: a page asks for it at every key press
    sa.select(
        *(_LABEL.c[each] for each in _SAID),
        *(_CONTEXT.c[each] for each in ("assignment_key", "swapped", "idle", "spans")),
        _RETRACTION.c.assessment_digest,
    )
    .join_from(_LABEL, _CONTEXT, _CONTEXT.c.assessment_digest == _LABEL.c.digest, isouter=True)
    .join(_RETRACTION, _RETRACTION.c.assessment_digest == _LABEL.c.digest, isouter=True)
    .where(~sa.exists().where(_LATER.c.supersedes == _LABEL.c.digest))
)


@cache
def _newest_on_item(*asked: str) -> sa.Select[*tuple[Any, ...]]:
    columns = ("item_key", "rubric_digest", *asked)
    query = _NEWEST.where(*(_LABEL.c[column] == sa.bindparam(column) for column in columns))
    return query.order_by(_LABEL.c.rater, _LABEL.c.criterion, _LABEL.c.repeat)


def _said(row: sa.Row[*tuple[Any, ...]]) -> Said:
    values = dict(zip(_SAID, row, strict=False))
    assignment, swapped, idle, spans, retracted = row[len(_SAID) :]
    return Said(
        **values,
        assignment_key=assignment,
        swapped=bool(swapped),
        idle=bool(idle),
        spans=tuple((field, start, end) for field, start, end in json.loads(spans or "[]")),
        retracted=retracted is not None,
    )


def _event(row: sa.Row[*tuple[Any, ...]]) -> RaterEvent:
    kind, assignment, criterion, payload, at = row
    return RaterEvent(kind, assignment, criterion, json.loads(payload), at)
