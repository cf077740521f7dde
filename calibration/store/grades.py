"""What was graded on whose word: grades, what people did about them later, and which decision each rests on.

Append-only: a pending criterion is resolved, and a verdict overridden, by a further row. Kept from raters.
"""

from __future__ import annotations

import json
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

import sqlalchemy as sa
from sqlmodel import Session

from calibration.store.chain import append_event, lock_stream
from calibration.store.columns import (
    Row,
    in_utc,
    one_of,
    row_digest,
    row_key,
    table_of,
    text_column,
    time_column,
)
from calibration.store.inserting import batches, insert_many
from calibration.store.payloads import Erased, payload, put_payloads, read_payloads
from calibration.store.reading import stream_named
from calibration.store.text import content_digest, item_id, name, stored_json
from rubrics.criterion import JudgeRole
from rubrics.errors import DifferentRecord, RecordError
from rubrics.verdict import Verdict

GRADES = "grades"
"""The stream of the audit trail that tells of grades."""
GRADE_STATES = (
    *("key", "idempotency_key", "request_digest", "rubric_digest", "item_id", "content_digest", "population"),
    *("role", "system", "attempt", "overall", "content", "rationale_digest", "actor", "graded_at"),
)
GRADE_EVENT_STATES = (
    *("key", "grade_key", "seq", "criterion", "kind", "verdict", "note_digest", "actor", "recorded_at"),
)
USE_STATES = ("grade_key", "criterion", "decision_hash")


class GradeEventKind(StrEnum):
    """What a person did about a grade."""

    RESOLVED = "resolved"
    """A pending criterion has its verdict."""
    OVERRIDDEN = "overridden"
    """A verdict no longer counts; another takes its place."""
    APPEALED = "appealed"
    """Somebody asks for it to be looked at again; the verdict stands until then."""


class GradeRow(Row, table=True):
    """One item graded once."""

    __tablename__ = "grade"
    __table_args__ = (
        one_of("role", JudgeRole),
        one_of("overall", Verdict),
        sa.CheckConstraint("attempt >= 1", name="attempt"),
        sa.UniqueConstraint(
            *("rubric_digest", "item_id", "population", "role", "attempt"), name="uq_grade_attempt"
        ),
    )
    key: str = text_column(primary_key=True)
    idempotency_key: str | None = text_column(unique=True)
    request_digest: str = text_column()
    rubric_digest: str = text_column(foreign_key="rubric_version.digest")
    item_id: str = text_column()
    content_digest: str = text_column()
    population: str = text_column()
    role: str = text_column()
    system: str | None = text_column()
    attempt: int
    overall: str = text_column()
    content: str = text_column()
    rationale_digest: str | None = text_column(foreign_key="item_payload.digest")
    digest: str = text_column()
    actor: str = text_column()
    graded_at: datetime = time_column(index=True)


class GradeEventRow(Row, table=True):
    """What a person did about one criterion of a grade."""

    __tablename__ = "grade_event"
    __table_args__ = (
        one_of("kind", GradeEventKind),
        one_of("verdict", ("pass", "fail", "unknown")),
        sa.CheckConstraint("seq >= 1", name="seq"),
        sa.UniqueConstraint("grade_key", "seq", name="uq_grade_event_seq"),
    )
    key: str = text_column(primary_key=True)
    grade_key: str = text_column(foreign_key="grade.key")
    seq: int
    criterion: str = text_column()
    kind: str = text_column()
    verdict: str | None = text_column()
    note_digest: str = text_column(foreign_key="item_payload.digest")
    digest: str = text_column()
    actor: str = text_column()
    recorded_at: datetime = time_column()


class GradeUseRow(Row, table=True):
    """The decision that a criterion of a grade rests on."""

    __tablename__ = "grade_use"
    grade_key: str = text_column(primary_key=True, foreign_key="grade.key")
    criterion: str = text_column(primary_key=True)
    decision_hash: str = text_column(foreign_key="decision.hash", index=True)
    digest: str = text_column()


@dataclass(frozen=True, slots=True)
class GradeEntry:
    """One graded item as it is recorded."""

    request_digest: str
    """Of what was asked: rubric, criteria, judges, population, role and the item's texts."""
    rubric_digest: str
    item_id: str
    content_digest: str
    population: str
    role: str
    overall: str
    content: Mapping[str, Any]
    """JSON without any text of the item: the verdict, judge and decision of each criterion, and flags."""
    uses: Mapping[str, str]
    """Decision by criterion."""
    rationales: Mapping[str, str]
    """What each judge gave as its reason, by criterion; erasable."""
    system: str | None = None
    idempotency_key: str | None = None


@dataclass(frozen=True, slots=True)
class StoredGrade:
    """A recorded grade."""

    key: str
    idempotency_key: str | None
    request_digest: str
    rubric_digest: str
    item_id: str
    content_digest: str
    population: str
    role: str
    system: str | None
    attempt: int
    overall: str
    content: Mapping[str, Any]
    rationale_digest: str | None
    actor: str
    graded_at: datetime


@dataclass(frozen=True, slots=True)
class GradeEvent:
    """What a person did about a criterion of a grade."""

    grade_key: str
    seq: int
    criterion: str
    kind: GradeEventKind
    verdict: str | None
    note: str | None
    """Why; None where it was erased."""
    actor: str
    recorded_at: datetime


def add_grades(
    *, session: Session, grades: Sequence[GradeEntry], actor: str, at: datetime
) -> list[StoredGrade]:
    """The grades as recorded, in their order; one that bears a known idempotency key is the recorded one.

    Each further grade of an item under a rubric, population and role is its next attempt.

    Raises:
        DifferentRecord: an idempotency key was used for another request.
    """
    if not grades:
        return []
    lock_stream(session, GRADES)  # attempts are counted, and two writers would count the same
    keys = [each.idempotency_key for each in grades if each.idempotency_key]
    known = known_grades(session=session, keys=keys)
    attempts = _attempts_of(session, grades)
    rows: list[dict[str, Any]] = []
    stored: list[StoredGrade] = []
    uses: list[dict[str, Any]] = []
    for each in grades:
        there = known.get(each.idempotency_key or "")
        if there is not None:
            stored.append(_same_request(there, each))
            continue
        place = (each.rubric_digest, each.item_id, each.population, each.role)
        attempts[place] = attempts.get(place, 0) + 1
        row = _row(session, each, attempts[place], actor, at)
        rows.append(row)
        uses += [_use(row["key"], criterion, decision) for criterion, decision in each.uses.items()]
        stored.append(_stored(row))
        if each.idempotency_key:
            known[each.idempotency_key] = stored[-1]
    if rows:
        insert_many(session=session, row=GradeRow, rows=rows)
        if uses:
            insert_many(session=session, row=GradeUseRow, rows=uses)
        _tell(session, "grades.given", [*rows, *uses], actor, at)
    return stored


def _same_request(there: StoredGrade, given: GradeEntry) -> StoredGrade:
    if there.request_digest != given.request_digest:
        raise DifferentRecord(
            f"the key {given.idempotency_key!r} was used for another request (item {there.item_id!r}, "
            f"{there.graded_at:%Y-%m-%d %H:%M} UTC); give each request a key of its own"
        )
    return there


def _row(session: Session, each: GradeEntry, attempt: int, actor: str, at: datetime) -> dict[str, Any]:
    reasons = {criterion: text for criterion, text in each.rationales.items() if text}
    text = payload(reasons) if reasons else None
    if text is not None:
        put_payloads(session=session, payloads=[text])
    values: dict[str, Any] = {
        "key": row_key("grade", each.rubric_digest, each.item_id, each.population, each.role, attempt),
        "idempotency_key": name(each.idempotency_key, "idempotency key") if each.idempotency_key else None,
        "request_digest": each.request_digest,
        "rubric_digest": each.rubric_digest,
        "item_id": item_id(each.item_id),
        "content_digest": each.content_digest,
        "population": name(each.population, "population"),
        "role": each.role,
        "system": name(each.system, "system") if each.system else None,
        "attempt": attempt,
        "overall": each.overall,
        "content": stored_json(dict(each.content)),
        "rationale_digest": text.digest if text else None,
        "actor": name(actor, "actor"),
        "graded_at": in_utc(at),
    }
    return {**values, "digest": row_digest(values, GRADE_STATES)}


def _use(key: str, criterion: str, decision: str) -> dict[str, Any]:
    values = {"grade_key": key, "criterion": criterion, "decision_hash": decision}
    return {**values, "digest": row_digest(values, USE_STATES)}


def _tell(
    session: Session, kind: str, written: Sequence[Mapping[str, Any]], actor: str, at: datetime
) -> None:
    """The event that seals what was just written: a row that is changed or removed later is found."""
    keys = [row["key"] for row in written if "key" in row]
    told = {"keys": keys, "digest": sealed_digest(row["digest"] for row in written)}
    append_event(session=session, stream=GRADES, kind=kind, actor=actor, payload=told, at=at)


def sealed_digest(digests: Iterable[str]) -> str:
    """The digest over those of rows that were written together, whatever their order."""
    return content_digest(stored_json(sorted(digests)))


def _attempts_of(session: Session, grades: Sequence[GradeEntry]) -> dict[tuple[str, str, str, str], int]:
    """Attempts so far by rubric, item, population and role."""
    columns = (_GRADE.c.rubric_digest, _GRADE.c.item_id, _GRADE.c.population, _GRADE.c.role)
    found: dict[tuple[str, str, str, str], int] = {}
    for batch in batches(dict.fromkeys(each.item_id for each in grades)):
        query = (
            sa.select(*columns, sa.func.max(_GRADE.c.attempt))
            .where(_GRADE.c.item_id.in_(batch))
            .group_by(*columns)
        )
        for rubric, item, population, role, most in session.connection().execute(query):
            found[rubric, item, population, role] = most
    return found


def known_grades(*, session: Session, keys: Sequence[str]) -> dict[str, StoredGrade]:
    """The grades that bear the idempotency keys, by key; a key that nobody used is absent."""
    found = {}
    for batch in batches(keys):
        query = sa.select(_GRADE).where(_GRADE.c.idempotency_key.in_(batch))
        for row in session.connection().execute(query).mappings():
            found[row["idempotency_key"]] = _stored(dict(row))
    return found


def grades_of_run(*, session: Session, run: str) -> dict[str, StoredGrade]:
    """The grades that one batch file recorded, by key."""
    query = sa.select(_GRADE).where(_GRADE.c.idempotency_key.startswith(f"{run}:", autoescape=True))
    return {row["key"]: _stored(dict(row)) for row in session.connection().execute(query).mappings()}


def attempts_of(*, session: Session, rubric_digest: str, item: str, population: str, role: str) -> int:
    """How often the item was graded under the rubric for this population and role."""
    query = sa.select(sa.func.count()).where(
        _GRADE.c.rubric_digest == rubric_digest,
        _GRADE.c.item_id == item,
        _GRADE.c.population == population,
        _GRADE.c.role == role,
    )
    return int(session.connection().execute(query).scalar_one())


def attempts_by_item(
    *, session: Session, rubric_digest: str, items: Sequence[str], population: str, role: str
) -> dict[str, int]:
    """How often each of the items was graded so far; one that never was is absent."""
    found: dict[str, int] = {}
    for batch in batches(dict.fromkeys(items)):
        query = (
            sa.select(_GRADE.c.item_id, sa.func.max(_GRADE.c.attempt))
            .where(
                _GRADE.c.rubric_digest == rubric_digest,
                _GRADE.c.population == population,
                _GRADE.c.role == role,
                _GRADE.c.item_id.in_(batch),
            )
            .group_by(_GRADE.c.item_id)
        )
        for item, most in session.connection().execute(query):
            found[item] = most
    return found


def uses_of(*, session: Session, decisions: Collection[str]) -> int:
    """How many criteria of grades rest on any of the decisions."""
    query = sa.select(sa.func.count()).where(_USE.c.decision_hash.in_(list(decisions)))
    return int(session.connection().execute(query).scalar_one())


def get_grade(*, session: Session, key_prefix: str) -> StoredGrade:
    """The one grade whose key begins so, or that has the idempotency key; RecordError where there is none."""
    query = sa.select(_GRADE).where(
        sa.or_(_GRADE.c.key.startswith(key_prefix, autoescape=True), _GRADE.c.idempotency_key == key_prefix)
    )
    rows = session.connection().execute(query.limit(2)).mappings().all()
    if len(rows) != 1:
        many = "several grades begin" if rows else "no grade begins"
        raise RecordError(f"{many} with {key_prefix!r}; `voirdire grades list` shows their ids")
    return _stored(dict(rows[0]))


def iter_grades(
    *, session: Session, rubric_digest: str | None = None, overall: str | None = None
) -> Iterator[StoredGrade]:
    """The grades as they were first given, oldest first; of one rubric or overall verdict where given."""
    query = sa.select(_GRADE).order_by(_GRADE.c.graded_at, _GRADE.c.key)
    for column, value in ((_GRADE.c.rubric_digest, rubric_digest), (_GRADE.c.overall, overall)):
        if value is not None:
            query = query.where(column == value)
    for row in stream_named(session, query):
        yield _stored(row)


def add_grade_event(
    *,
    session: Session,
    grade: StoredGrade,
    criterion: str,
    kind: GradeEventKind,
    verdict: str | None,
    note: str,
    actor: str,
    at: datetime,
) -> GradeEvent:
    """What a person did about the grade, appended; two at once get two places, never one."""
    lock_stream(session, GRADES)
    said = payload({"note": note})
    put_payloads(session=session, payloads=[said])
    last = sa.select(sa.func.max(_EVENT.c.seq)).where(_EVENT.c.grade_key == grade.key)
    seq = (session.connection().execute(last).scalar() or 0) + 1
    values: dict[str, Any] = {
        "key": row_key("grade-event", grade.key, seq),
        "grade_key": grade.key,
        "seq": seq,
        "criterion": name(criterion, "criterion"),
        "kind": kind.value,
        "verdict": verdict,
        "note_digest": said.digest,
        "actor": name(actor, "actor"),
        "recorded_at": in_utc(at),
    }
    values["digest"] = row_digest(values, GRADE_EVENT_STATES)
    session.connection().execute(_EVENT.insert(), values)
    _tell(session, f"grade.{kind.value}", [values], actor, at)
    return GradeEvent(grade.key, seq, criterion, kind, verdict, note, actor, values["recorded_at"])


def grade_events(*, session: Session, keys: Sequence[str]) -> dict[str, tuple[GradeEvent, ...]]:
    """What was done about each of the grades, in order; a grade that nobody touched is absent."""
    found: dict[str, list[GradeEvent]] = {}
    for batch in batches(keys):
        query = (
            sa.select(_EVENT).where(_EVENT.c.grade_key.in_(batch)).order_by(_EVENT.c.grade_key, _EVENT.c.seq)
        )
        rows = session.connection().execute(query).mappings().all()
        notes = read_payloads(session=session, digests=[row["note_digest"] for row in rows])
        for row in rows:
            note = notes.get(row["note_digest"])
            text = None if note is None or isinstance(note, Erased) else note.content["note"]
            found.setdefault(row["grade_key"], []).append(
                GradeEvent(
                    row["grade_key"],
                    row["seq"],
                    row["criterion"],
                    GradeEventKind(row["kind"]),
                    row["verdict"],
                    text,
                    row["actor"],
                    row["recorded_at"],
                )
            )
    return {key: tuple(each) for key, each in found.items()}


def rationales_of(*, session: Session, grade: StoredGrade) -> Mapping[str, str]:
    """What each judge gave as its reason, by criterion; empty where none did or it was erased."""
    if grade.rationale_digest is None:
        return {}
    found = read_payloads(session=session, digests=[grade.rationale_digest])[grade.rationale_digest]
    return {} if isinstance(found, Erased) else dict(found.content)


_GRADE, _EVENT, _USE = table_of(GradeRow), table_of(GradeEventRow), table_of(GradeUseRow)


def _stored(row: Mapping[str, Any]) -> StoredGrade:
    values = {field: row[field] for field in StoredGrade.__slots__ if field != "content"}
    return StoredGrade(**values, content=json.loads(row["content"]))
