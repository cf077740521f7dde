"""What raters said: one answer a row, corrections as further rows."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlmodel import Session

from calibration.labels import Blindness, LabelSource
from calibration.store.columns import (
    SCALES,
    VALUE_FITS_SCALE,
    Row,
    in_utc,
    one_of,
    row_digest,
    table_of,
    text_column,
    time_column,
)
from calibration.store.inserting import Added, add_records, insert_many
from calibration.store.items import ItemIndex, ItemRef, ItemRow, Scope
from calibration.store.payloads import Payload, payload, put_payloads
from calibration.store.reading import stream_named
from calibration.store.retractions import not_retracted
from calibration.store.rubrics import answer_spaces, fitting_scale
from calibration.store.text import name
from rubrics.errors import DifferentRecord
from rubrics.record import normalise_text

ASSESSMENT_STATES = (
    *(
        "item_key",
        "content_digest",
        "rubric_digest",
        "criterion",
        "rater",
        "repeat",
        "revision",
        "supersedes",
    ),
    *("scale", "value", "reason", "failure_mode", "note_digest", "blind", "source", "shown_at", "decided_at"),
)
"""The columns that make the digest of an assessment."""


def about_criterion() -> sa.ForeignKeyConstraint:
    """A label is about a criterion of a published rubric."""
    return sa.ForeignKeyConstraint(
        ["rubric_digest", "criterion"], ["criterion.rubric_digest", "criterion.key"]
    )


def answer_checks() -> tuple[sa.CheckConstraint, ...]:
    """The answer fits its scale; only a revision names what it corrects."""
    return (
        one_of("scale", SCALES),
        sa.CheckConstraint(VALUE_FITS_SCALE, name="value"),
        sa.CheckConstraint("(revision = 0) = (supersedes IS NULL)", name="revision"),
    )


class AssessmentRow(Row, table=True):
    """One rater's answer; a correction is a new row that names this one."""

    __tablename__ = "assessment"
    __table_args__ = (
        sa.UniqueConstraint(
            *("item_key", "rubric_digest", "criterion", "rater", "repeat", "revision"),
            name="uq_assessment_answer",
        ),
        about_criterion(),
        one_of("blind", Blindness),
        one_of("source", LabelSource),
        *answer_checks(),
    )
    digest: str = text_column(primary_key=True)
    item_key: str = text_column(foreign_key="item.key")
    content_digest: str = text_column()
    rubric_digest: str = text_column()
    criterion: str = text_column()
    rater: str = text_column()
    repeat: int
    revision: int
    supersedes: str | None = text_column(foreign_key="assessment.digest", unique=True)
    scale: str = text_column()
    value: str = text_column()
    reason: str | None = text_column()
    failure_mode: str | None = text_column()
    note_digest: str | None = text_column(foreign_key="item_payload.digest")
    blind: str = text_column()
    source: str = text_column()
    shown_at: datetime | None = time_column()
    decided_at: datetime | None = time_column()
    import_key: str | None = text_column(foreign_key="import_file.key")
    recorded_at: datetime = time_column()


@dataclass(frozen=True, slots=True)
class LabelEntry:
    """One rater's answer on one item under one criterion, as it is recorded."""

    item_id: str
    criterion: str
    rater: str
    answer: str
    """pass or fail, a level, or A, B, tie in source positions; `unknown` is cannot-decide."""
    reason: str | None = None
    """Why it is unknown, in a word."""
    failure_mode: str | None = None
    note: str = ""
    blind: Blindness = Blindness.UNKNOWN
    source: LabelSource = LabelSource.HUMAN
    repeat: int = 0
    """0 for the first independent assessment of the item by this rater, then 1, 2, ..."""
    revision: int = 0
    """0 for the first answer; a correction is one more and names the one it corrects."""
    supersedes: str | None = None
    """Digest of the label that this one corrects."""
    shown_at: datetime | None = None
    decided_at: datetime | None = None
    fields: Mapping[str, Any] | None = None
    """Further fields of an imported line, JSON; kept beside the note."""


@dataclass(frozen=True, slots=True)
class StoredLabel:
    """A recorded label; the note is read by its digest (payloads.read_payloads)."""

    digest: str
    item_id: str
    criterion: str
    rater: str
    answer: str
    reason: str | None
    failure_mode: str | None
    note_digest: str | None
    blind: Blindness
    source: LabelSource
    repeat: int
    revision: int
    supersedes: str | None
    shown_at: datetime | None
    decided_at: datetime | None


def add_labels(
    *,
    session: Session,
    dataset: str,
    rubric_digest: str,
    labels: Iterable[LabelEntry],
    at: datetime,
    import_key: str | None = None,
    strict: bool = True,
) -> Added:
    """What became of the labels: added, already there, or there with another answer.

    Args:
        session: a writing session.
        dataset: where their items are.
        rubric_digest: of the published rubric that the raters answered.
        labels: read one by one.
        at: when.
        import_key: from items.record_import().
        strict: raise at the first difference instead of listing it in `different`.

    Raises:
        DifferentRecord: the rater's answer to this item is recorded and says something else.
        RecordError: no such item or rubric.
        DeclarationError: no such criterion, or no such answer on its scale.
    """
    spaces = answer_spaces(session=session, rubric_digest=rubric_digest)
    index = ItemIndex(session, dataset)
    common = {"rubric_digest": rubric_digest, "import_key": import_key, "recorded_at": in_utc(at)}

    def rows_of(batch: Sequence[LabelEntry]) -> list[dict[str, Any]]:
        notes = [_note(each) for each in batch]
        put_payloads(session=session, payloads=[note for note in notes if note])
        refs = index.refs(each.item_id for each in batch)
        return [
            _row(each, ref, note, {**common, "scale": fitting_scale(spaces, each.criterion, each.answer)})
            for each, ref, note in zip(batch, refs, notes, strict=True)
        ]

    def refusal(entry: LabelEntry, row: Mapping[str, Any], position: int) -> DifferentRecord:
        return _different(session, entry, row, position)

    return add_records(
        session=session,
        row=AssessmentRow,
        records=labels,
        rows_of=rows_of,
        refusal=refusal if strict else None,
    )


def add_label(
    *, session: Session, entry: LabelEntry, ref: ItemRef, rubric_digest: str, scale: str, at: datetime
) -> str:
    """The digest of one label, recorded now or before.

    For whoever has the item and the criterion at hand and has found that the answer belongs to it: nothing
    is looked up again.

    Args:
        session: a writing session.
        entry: the label.
        ref: its item.
        rubric_digest: of the published rubric that the rater answered.
        scale: of the criterion.
        at: when.

    Raises:
        DifferentRecord: the rater's answer to this item is recorded and says something else.
    """
    note = _note(entry)
    if note is not None:
        put_payloads(session=session, payloads=[note])
    common = {"rubric_digest": rubric_digest, "import_key": None, "recorded_at": in_utc(at), "scale": scale}
    row = _row(entry, ref, note, common)
    if insert_many(session=session, row=AssessmentRow, rows=[row]).different:
        raise _different(session, entry, row, 0)
    return str(row["digest"])


def iter_labels(
    *, session: Session, scope: Scope, rubric_digest: str, criterion: str | None = None, live: bool = True
) -> Iterator[StoredLabel]:
    """The labels of the items in the scope, by item in the order of items, then rater, repeat, revision.

    Args:
        session: a reading session.
        scope: which items.
        rubric_digest: of the rubric that was answered.
        criterion: one criterion, or None for all.
        live: leave out labels that a later one corrects or that their rater took back.
    """
    table, item = table_of(AssessmentRow), table_of(ItemRow)
    query = scope.applied(
        sa.select(item.c.item_id, *(table.c[each] for each in _READ)).join_from(table, item)
    )
    query = query.where(table.c.rubric_digest == rubric_digest)
    if criterion is not None:
        query = query.where(table.c.criterion == criterion)
    if live:
        later = table.alias()
        query = query.where(~sa.exists().where(later.c.supersedes == table.c.digest))
        query = query.where(not_retracted(table.c.digest))
    query = query.order_by(
        item.c.position, item.c.item_id, table.c.criterion, table.c.rater, table.c.repeat, table.c.revision
    )
    for row in stream_named(session, query):
        yield _stored(row)


def label_digest(*, entry: LabelEntry, ref: ItemRef, rubric_digest: str, scale: str) -> str:
    """The digest under which the label will be recorded: what a revision of it names."""
    return str(_row(entry, ref, _note(entry), {"rubric_digest": rubric_digest, "scale": scale})["digest"])


def rubrics_of_labels(*, session: Session, scope: Scope) -> tuple[str, ...]:
    """Digests of the rubrics under which any item of the scope is labelled, sorted."""
    table, item = table_of(AssessmentRow), table_of(ItemRow)
    query = scope.applied(sa.select(table.c.rubric_digest).join_from(table, item)).distinct()
    return tuple(sorted(session.connection().execute(query).scalars()))


_READ = (
    *("digest", "criterion", "rater", "value", "reason", "failure_mode", "note_digest", "blind", "source"),
    *("repeat", "revision", "supersedes", "shown_at", "decided_at"),
)


def _stored(row: Mapping[str, Any]) -> StoredLabel:
    values = {**row, "blind": Blindness(row["blind"]), "source": LabelSource(row["source"])}
    return StoredLabel(answer=values.pop("value"), **values)


def _note(entry: LabelEntry) -> Payload | None:
    said = {"note": entry.note, "fields": dict(entry.fields or {})}
    content = {key: each for key, each in said.items() if each}
    return payload(content) if content else None


def _row(entry: LabelEntry, ref: ItemRef, note: Payload | None, common: Mapping[str, Any]) -> dict[str, Any]:
    values = {
        **common,
        "item_key": ref.key,
        "content_digest": ref.content_digest,
        "criterion": entry.criterion,
        "rater": name(entry.rater, "rater"),
        "repeat": entry.repeat,
        "revision": entry.revision,
        "supersedes": entry.supersedes,
        "value": entry.answer,
        "reason": normalise_text(entry.reason) if entry.reason else None,
        "failure_mode": normalise_text(entry.failure_mode) if entry.failure_mode else None,
        "note_digest": note.digest if note else None,
        "blind": entry.blind.value,
        "source": entry.source.value,
        "shown_at": entry.shown_at,
        "decided_at": entry.decided_at,
    }
    return {**values, "digest": row_digest(values, ASSESSMENT_STATES)}


def _different(session: Session, entry: LabelEntry, row: Mapping[str, Any], position: int) -> DifferentRecord:
    table = table_of(AssessmentRow)
    taken = sa.and_(*(table.c[each] == row[each] for each in _NATURAL))
    if row["supersedes"] is not None:
        taken = sa.or_(taken, table.c.supersedes == row["supersedes"])
    there = session.connection().execute(sa.select(table.c.value, table.c.rater).where(taken))
    value, rater = there.first() or ("another answer", entry.rater)
    return DifferentRecord(
        f"{rater!r} is recorded with {value!r} on item {entry.item_id!r} under {entry.criterion!r}, and"
        f" {entry.answer!r} was given now (or its note, source, blindness or times differ): recorded labels"
        " are not changed; record a revision that names the earlier one",
        position=position,
    )


_NATURAL = ("item_key", "rubric_digest", "criterion", "rater", "repeat", "revision")
