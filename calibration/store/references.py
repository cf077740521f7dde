"""What follows from assessments: adjudications, and the reference label of each item."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlmodel import Field, Session

from calibration.labels import ReferenceLabel, ReferenceRule, UnresolvedReason
from calibration.store.assessments import about_criterion, answer_checks
from calibration.store.columns import Row, in_utc, one_of, row_digest, table_of, text_column, time_column
from calibration.store.inserting import Added, add_records, batches
from calibration.store.items import ItemIndex, ItemRef, ItemRow, Scope
from calibration.store.payloads import Payload, payload, put_payloads
from calibration.store.reading import stream_named
from calibration.store.rubrics import answer_spaces, fitting_scale
from calibration.store.text import name
from rubrics.errors import DeclarationError, DifferentRecord
from rubrics.verdict import Verdict

ADJUDICATION_STATES = (
    *("item_key", "content_digest", "rubric_digest", "criterion", "adjudicator", "revision", "supersedes"),
    *("scale", "value", "reason_digest", "decided_at"),
)
"""The columns that make the digest of an adjudication."""
REFERENCE_STATES = (
    *("item_key", "content_digest", "rubric_digest", "criterion", "rule", "min_raters", "inputs_digest"),
    *("verdict", "answer", "raters", "adjudicated", "unresolved"),
)
"""The columns that make the digest of a reference label."""


class AdjudicationRow(Row, table=True):
    """A declared resolution of disagreeing assessments; a trigger keeps the item's raters from making it."""

    __tablename__ = "adjudication"
    __table_args__ = (
        sa.UniqueConstraint(
            *("item_key", "rubric_digest", "criterion", "revision"), name="uq_adjudication_resolution"
        ),
        about_criterion(),
        *answer_checks(),
    )
    digest: str = text_column(primary_key=True)
    item_key: str = text_column(foreign_key="item.key")
    content_digest: str = text_column()
    rubric_digest: str = text_column()
    criterion: str = text_column()
    adjudicator: str = text_column()
    revision: int
    supersedes: str | None = text_column(foreign_key="adjudication.digest", unique=True)
    scale: str = text_column()
    value: str = text_column()
    reason_digest: str | None = text_column(foreign_key="item_payload.digest")
    decided_at: datetime | None = time_column()
    import_key: str | None = text_column(foreign_key="import_file.key")
    recorded_at: datetime = time_column()


class ReferenceLabelRow(Row, table=True):
    """The reference label of an item by one rule, with the digest of the labels it rests on."""

    __tablename__ = "reference_label"
    __table_args__ = (
        sa.UniqueConstraint(
            *("item_key", "rubric_digest", "criterion", "rule", "min_raters", "inputs_digest"),
            name="uq_reference_label_result",
        ),
        about_criterion(),
        one_of("rule", ReferenceRule),
        one_of("verdict", ("pass", "fail", "unknown")),
        one_of("unresolved", UnresolvedReason),
        sa.CheckConstraint("(verdict = 'unknown') = (unresolved IS NOT NULL)", name="reason"),
    )
    digest: str = text_column(primary_key=True)
    item_key: str = text_column(foreign_key="item.key")
    content_digest: str = text_column()
    rubric_digest: str = text_column()
    criterion: str = text_column()
    rule: str = text_column()
    min_raters: int
    inputs_digest: str = text_column()
    verdict: str = text_column()
    answer: str | None = text_column()
    raters: int
    adjudicated: bool = Field(sa_type=sa.Boolean)
    unresolved: str | None = text_column()
    recorded_at: datetime = time_column()


@dataclass(frozen=True, slots=True)
class AdjudicationEntry:
    """A resolution as it is recorded; `unknown` leaves the item unresolved."""

    item_id: str
    criterion: str
    adjudicator: str
    answer: str
    reason: str = ""
    revision: int = 0
    supersedes: str | None = None
    decided_at: datetime | None = None
    fields: Mapping[str, Any] | None = None
    """Further fields of an imported line, JSON; kept beside the reason."""


@dataclass(frozen=True, slots=True)
class ReferenceEntry:
    """A reference label as it is recorded."""

    item_id: str
    criterion: str
    label: ReferenceLabel
    inputs_digest: str
    """Digest over the digests of the assessments and the adjudication that it rests on."""
    answer: str | None = None
    """The level or preference behind the verdict, where the scale is not binary."""


@dataclass(frozen=True, slots=True)
class StoredAdjudication:
    """A recorded resolution; its reason is read by its digest."""

    digest: str
    item_id: str
    criterion: str
    adjudicator: str
    answer: str
    reason_digest: str | None
    revision: int
    supersedes: str | None
    decided_at: datetime | None


@dataclass(frozen=True, slots=True)
class StoredReference:
    """A recorded reference label."""

    digest: str
    item_id: str
    criterion: str
    rule: ReferenceRule
    min_raters: int
    inputs_digest: str
    label: ReferenceLabel
    answer: str | None


def add_adjudications(
    *,
    session: Session,
    dataset: str,
    rubric_digest: str,
    adjudications: Iterable[AdjudicationEntry],
    at: datetime,
    import_key: str | None = None,
    strict: bool = True,
) -> Added:
    """What became of the resolutions: added, or already there; where not `strict` also which differ.

    Raises:
        DifferentRecord: the item is adjudicated with another answer, by another person or for another reason.
        RecordError: no such item or rubric, or the adjudicator is one of the item's raters.
        DeclarationError: no such criterion or answer, or a blank reason.
    """
    spaces = answer_spaces(session=session, rubric_digest=rubric_digest)
    index = ItemIndex(session, dataset)
    common = {"rubric_digest": rubric_digest, "import_key": import_key, "recorded_at": in_utc(at)}

    def rows_of(batch: Sequence[AdjudicationEntry]) -> list[dict[str, Any]]:
        reasons = [_reason(each) for each in batch]
        put_payloads(session=session, payloads=reasons)
        refs = index.refs(each.item_id for each in batch)
        return [
            _adjudication(
                each, ref, why, {**common, "scale": fitting_scale(spaces, each.criterion, each.answer)}
            )
            for each, ref, why in zip(batch, refs, reasons, strict=True)
        ]

    return add_records(
        session=session,
        row=AdjudicationRow,
        records=adjudications,
        rows_of=rows_of,
        refusal=_adjudicated if strict else None,
    )


def iter_adjudications(
    *, session: Session, scope: Scope, rubric_digest: str, criterion: str | None = None, live: bool = True
) -> Iterator[StoredAdjudication]:
    """The resolutions of the items in the scope, in the order of items; by default without corrected ones."""
    table, item = table_of(AdjudicationRow), table_of(ItemRow)
    query = scope.applied(
        sa.select(item.c.item_id, *(table.c[each] for each in _ADJUDICATION)).join_from(table, item)
    )
    query = query.where(table.c.rubric_digest == rubric_digest)
    if criterion is not None:
        query = query.where(table.c.criterion == criterion)
    if live:
        later = table.alias()
        query = query.where(~sa.exists().where(later.c.supersedes == table.c.digest))
    query = query.order_by(item.c.position, item.c.item_id, table.c.criterion, table.c.revision)
    for values in stream_named(session, query):
        yield StoredAdjudication(answer=values.pop("value"), **values)


def adjudication_of(
    *, session: Session, item_key: str, rubric_digest: str, criterion: str
) -> StoredAdjudication | None:
    """The live resolution of one item under a criterion; None where nobody adjudicated it."""
    table, item = table_of(AdjudicationRow), table_of(ItemRow)
    later = table.alias()
    query = (
        sa.select(item.c.item_id, *(table.c[each] for each in _ADJUDICATION))
        .join_from(table, item)
        .where(table.c.item_key == item_key, table.c.rubric_digest == rubric_digest)
        .where(table.c.criterion == criterion, ~sa.exists().where(later.c.supersedes == table.c.digest))
    )
    row = session.connection().execute(query).mappings().first()
    if row is None:
        return None
    values = dict(row)
    return StoredAdjudication(answer=values.pop("value"), **values)


def adjudicated_items(*, session: Session, rubric_digest: str, items: Sequence[str]) -> set[tuple[str, str]]:
    """The (item key, criterion) among the items that are adjudicated, resolved or left unresolved."""
    table = table_of(AdjudicationRow)
    found: set[tuple[str, str]] = set()
    for batch in batches(items):
        query = sa.select(table.c.item_key, table.c.criterion).where(
            table.c.rubric_digest == rubric_digest, table.c.item_key.in_(batch)
        )
        found |= {(row[0], row[1]) for row in session.connection().execute(query)}
    return found


def add_reference_labels(
    *,
    session: Session,
    dataset: str,
    rubric_digest: str,
    rule: ReferenceRule,
    min_raters: int,
    references: Iterable[ReferenceEntry],
    at: datetime,
) -> Added:
    """What became of the reference labels: added, or already there.

    The same rule over the same labels gives the same row, so computing references twice adds nothing;
    a later label gives another `inputs_digest` and so a further row.

    Raises:
        DifferentRecord: the rule is recorded with another result over the same labels.
    """
    index = ItemIndex(session, dataset)
    common = {
        "rubric_digest": rubric_digest,
        "rule": rule.value,
        "min_raters": min_raters,
        "recorded_at": in_utc(at),
    }

    def rows_of(batch: Sequence[ReferenceEntry]) -> list[dict[str, Any]]:
        refs = index.refs(each.item_id for each in batch)
        return [_reference(each, ref, common) for each, ref in zip(batch, refs, strict=True)]

    return add_records(
        session=session, row=ReferenceLabelRow, records=references, rows_of=rows_of, refusal=_referenced
    )


def iter_references(
    *, session: Session, scope: Scope, rubric_digest: str, criterion: str | None = None
) -> Iterator[StoredReference]:
    """The reference labels of the items in the scope, in the order of items, oldest first."""
    table, item = table_of(ReferenceLabelRow), table_of(ItemRow)
    query = scope.applied(
        sa.select(item.c.item_id, *(table.c[each] for each in _REFERENCE)).join_from(table, item)
    )
    query = query.where(table.c.rubric_digest == rubric_digest)
    if criterion is not None:
        query = query.where(table.c.criterion == criterion)
    query = query.order_by(
        item.c.position, item.c.item_id, table.c.criterion, table.c.recorded_at, table.c.digest
    )
    for row in stream_named(session, query):
        yield _stored_reference(row)


_ADJUDICATION = (
    *("digest", "criterion", "adjudicator", "value", "reason_digest", "revision", "supersedes", "decided_at"),
)
_REFERENCE = (
    *("digest", "criterion", "rule", "min_raters", "inputs_digest"),
    *("verdict", "answer", "raters", "adjudicated", "unresolved"),
)


def _adjudicated(entry: AdjudicationEntry, _row: Mapping[str, Any], position: int) -> DifferentRecord:
    return DifferentRecord(
        f"item {entry.item_id!r} is already adjudicated under {entry.criterion!r}, otherwise than given now:"
        " record a revision that names the earlier one",
        position=position,
    )


def _referenced(entry: ReferenceEntry, row: Mapping[str, Any], position: int) -> DifferentRecord:
    return DifferentRecord(
        f"the {row['rule']} reference of item {entry.item_id!r} under {entry.criterion!r} is recorded with"
        " another result over the same labels: run `voirdire db check`",
        position=position,
    )


def _reason(entry: AdjudicationEntry) -> Payload:
    if not entry.reason.strip():
        raise DeclarationError(
            f"the adjudication of item {entry.item_id!r} has no reason; say what decided it"
        )
    fields = {"fields": dict(entry.fields)} if entry.fields else {}
    return payload({"reason": entry.reason, **fields})


def _adjudication(
    entry: AdjudicationEntry, ref: ItemRef, reason: Payload, common: Mapping[str, Any]
) -> dict[str, Any]:
    values = {
        **common,
        "item_key": ref.key,
        "content_digest": ref.content_digest,
        "criterion": entry.criterion,
        "adjudicator": name(entry.adjudicator, "adjudicator"),
        "revision": entry.revision,
        "supersedes": entry.supersedes,
        "value": entry.answer,
        "reason_digest": reason.digest,
        "decided_at": entry.decided_at,
    }
    return {**values, "digest": row_digest(values, ADJUDICATION_STATES)}


def _reference(entry: ReferenceEntry, ref: ItemRef, common: Mapping[str, Any]) -> dict[str, Any]:
    label = entry.label
    values = {
        **common,
        "item_key": ref.key,
        "content_digest": ref.content_digest,
        "criterion": entry.criterion,
        "inputs_digest": entry.inputs_digest,
        "verdict": label.verdict.value,
        "answer": entry.answer,
        "raters": label.raters,
        "adjudicated": label.adjudicated,
        "unresolved": label.unresolved.value if label.unresolved else None,
    }
    return {**values, "digest": row_digest(values, REFERENCE_STATES)}


def _stored_reference(row: Mapping[str, Any]) -> StoredReference:
    unresolved = UnresolvedReason(row["unresolved"]) if row["unresolved"] else None
    label = ReferenceLabel(Verdict(row["verdict"]), row["raters"], row["adjudicated"], unresolved)
    return StoredReference(
        digest=row["digest"],
        item_id=row["item_id"],
        criterion=row["criterion"],
        rule=ReferenceRule(row["rule"]),
        min_raters=row["min_raters"],
        inputs_digest=row["inputs_digest"],
        label=label,
        answer=row["answer"],
    )
