"""What judges said: judges, their runs, and one verdict a row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

import sqlalchemy as sa
from sqlmodel import Field, Session

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
from calibration.store.inserting import Added, add_records
from calibration.store.items import ItemIndex, ItemRef, ItemRow, Scope
from calibration.store.judges import JudgeRunRow, StoredRun, get_run
from calibration.store.payloads import Payload, payload, put_payloads
from calibration.store.reading import stream
from calibration.store.rubrics import AnswerSpace, answer_spaces, fitting_scale
from calibration.store.text import name
from rubrics.errors import DifferentRecord
from rubrics.verdict import UnknownReason

VERDICT_STATES = (
    *("run_key", "item_key", "content_digest", "criterion", "presentation", "repeat", "scale", "value"),
    *(
        "reason",
        "detail",
        "reply_digest",
        "reported_model",
        "tokens_in",
        "tokens_out",
        "cost_micros",
        "latency_ms",
    ),
    *("call_key", "decided_at"),
)
"""The columns that make the digest of a verdict."""


class VerdictRow(Row, table=True):
    """One verdict of one run on one item in one presentation; the reply lies in item_payload."""

    __tablename__ = "verdict"
    __table_args__ = (
        sa.UniqueConstraint(
            *("run_key", "item_key", "criterion", "presentation", "repeat"), name="uq_verdict_unit"
        ),
        one_of("presentation", ("ab", "ba", "none")),
        one_of("scale", SCALES),
        one_of("reason", UnknownReason),
        sa.CheckConstraint(VALUE_FITS_SCALE, name="value"),
        sa.CheckConstraint("(value = 'unknown') = (reason IS NOT NULL)", name="unknown_has_reason"),
        sa.CheckConstraint("detail IS NULL OR reason IS NOT NULL", name="detail_has_reason"),
    )
    digest: str = text_column(primary_key=True)
    run_key: str = text_column(foreign_key="judge_run.key")
    item_key: str = text_column(foreign_key="item.key", index=True)
    content_digest: str = text_column()
    criterion: str = text_column()
    presentation: str = text_column()
    repeat: int
    scale: str = text_column()
    value: str = text_column()
    reason: str | None = text_column()
    detail: str | None = text_column()
    reply_digest: str | None = text_column(foreign_key="item_payload.digest")
    reported_model: str | None = text_column()
    tokens_in: int | None
    tokens_out: int | None
    cost_micros: int | None = Field(sa_type=sa.BigInteger)
    latency_ms: int | None
    call_key: str | None = text_column()
    decided_at: datetime | None = time_column()
    import_key: str | None = text_column(foreign_key="import_file.key")
    recorded_at: datetime = time_column()


@dataclass(frozen=True, slots=True)
class VerdictEntry:
    """One verdict as it is recorded."""

    run_key: str
    item_id: str
    criterion: str
    answer: str
    """pass or fail, a level, A, B, tie in source positions, or `unknown` with its reason."""
    reason: UnknownReason | None = None
    detail: str | None = None
    order: Literal["ab", "ba"] | None = None
    """The presentation of a pair; None where there is one output."""
    repeat: int = 0
    raw: str | None = None
    """The reply as it came."""
    rationale: str | None = None
    fields: Mapping[str, Any] | None = None
    """Further fields of an imported line, JSON; kept beside the reply."""
    reported_model: str | None = None
    """What the provider said had answered."""
    tokens_in: int | None = None
    tokens_out: int | None = None
    cost_micros: int | None = None
    """Millionths of the price map's currency unit; None where unknown."""
    latency_ms: int | None = None
    call_key: str | None = None
    decided_at: datetime | None = None
    item: ItemRef | None = None
    """The item as it was read when it was judged; None has it looked up by its id."""


@dataclass(frozen=True, slots=True)
class KnownRuns:
    """Runs and their rubrics that were read before; kept by whoever adds verdicts in many small groups."""

    runs: dict[str, StoredRun] = field(default_factory=dict)
    spaces: dict[str, dict[str, AnswerSpace]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class StoredVerdict:
    """A recorded verdict, with what a report needs; the reply is read by its digest."""

    digest: str
    judge_digest: str
    run_key: str
    item_id: str
    criterion: str
    answer: str
    reason: UnknownReason | None
    detail: str | None
    order: Literal["ab", "ba"] | None
    repeat: int
    reply_digest: str | None
    reported_model: str | None = None


def add_verdicts(
    *,
    session: Session,
    verdicts: Iterable[VerdictEntry],
    at: datetime,
    import_key: str | None = None,
    strict: bool = True,
    known: KnownRuns | None = None,
) -> Added:
    """What became of the verdicts: added, already there, or there with another answer.

    Args:
        session: a writing session.
        verdicts: of one run or of several, in any order; read chunk by chunk.
        at: when.
        import_key: from items.record_import().
        strict: raise at the first difference instead of listing it in `different`.
        known: what earlier calls have read of the runs, filled further by this one.

    Raises:
        DifferentRecord: the run's verdict on this item and presentation is recorded and says something else.
        RecordError: no such run or item.
        DeclarationError: no such criterion, or no such answer on its scale.
    """
    runs = _Runs(session, known or KnownRuns())
    common = {"import_key": import_key, "recorded_at": in_utc(at)}

    def rows_of(batch: Sequence[VerdictEntry]) -> list[dict[str, Any]]:
        replies = [_reply(each) for each in batch]
        put_payloads(session=session, payloads=[reply for reply in replies if reply])
        return [
            _row(each, ref, reply, {**common, "scale": runs.scale(each)})
            for each, ref, reply in zip(batch, runs.refs(batch), replies, strict=True)
        ]

    def refusal(entry: VerdictEntry, row: Mapping[str, Any], position: int) -> DifferentRecord:
        return _different(session, entry, row, position)

    return add_records(
        session=session,
        row=VerdictRow,
        records=verdicts,
        rows_of=rows_of,
        refusal=refusal if strict else None,
    )


def iter_verdicts(
    *,
    session: Session,
    scope: Scope,
    criterion: str | None = None,
    judge_digest: str | None = None,
    rubric_digest: str | None = None,
    run_key: str | None = None,
) -> Iterator[StoredVerdict]:
    """The verdicts on the items in the scope, by item in the order of items, then run, presentation, repeat.

    Args:
        session: a reading session.
        scope: which items.
        criterion: one criterion, or None for all.
        judge_digest: one judge, or None for all.
        rubric_digest: one rubric version, or None for all.
        run_key: one run, or None for all.
    """
    table, item, run = table_of(VerdictRow), table_of(ItemRow), table_of(JudgeRunRow)
    columns = [table.c[each] for each in _READ]
    query = sa.select(item.c.item_id, run.c.judge_digest, *columns).join_from(table, item).join(run)
    query = scope.applied(query)
    wanted = (
        (table.c.criterion, criterion),
        (run.c.judge_digest, judge_digest),
        (run.c.rubric_digest, rubric_digest),
        (table.c.run_key, run_key),
    )
    for column, value in wanted:
        if value is not None:
            query = query.where(column == value)
    order = (
        item.c.position,
        item.c.item_id,
        table.c.run_key,
        table.c.criterion,
        table.c.presentation,
        table.c.repeat,
    )
    for row in stream(session, query.order_by(*order)):
        yield _stored(row)


_READ = (
    "digest",
    "run_key",
    "criterion",
    "value",
    "reason",
    "detail",
    "presentation",
    "repeat",
    "reply_digest",
    "reported_model",
)


class _Runs:
    """What add_verdicts needs of the runs that it meets, each read once."""

    def __init__(self, session: Session, known: KnownRuns) -> None:
        self._session = session
        self._runs, self._spaces = known.runs, known.spaces
        self._indexes: dict[str, ItemIndex] = {}

    def scale(self, entry: VerdictEntry) -> str:
        """The scale of the verdict's criterion, on which its answer was found."""
        rubric = self._run(entry.run_key).rubric_digest
        if rubric not in self._spaces:
            self._spaces[rubric] = answer_spaces(session=self._session, rubric_digest=rubric)
        return fitting_scale(self._spaces[rubric], entry.criterion, entry.answer)

    def refs(self, batch: Sequence[VerdictEntry]) -> list[ItemRef]:
        """The items of the verdicts, in their order."""
        if all(each.item is not None for each in batch):
            return [each.item for each in batch if each.item is not None]
        by_dataset: dict[str, list[str]] = {}
        for each in batch:
            by_dataset.setdefault(self._run(each.run_key).dataset, []).append(each.item_id)
        refs = {}
        for dataset, ids in by_dataset.items():
            index = self._indexes.setdefault(dataset, ItemIndex(self._session, dataset))
            refs[dataset] = iter(index.refs(ids))
        return [next(refs[self._run(each.run_key).dataset]) for each in batch]

    def _run(self, key: str) -> StoredRun:
        if key not in self._runs:
            self._runs[key] = get_run(session=self._session, key=key)
        return self._runs[key]


def _reply(entry: VerdictEntry) -> Payload | None:
    said = {"raw": entry.raw, "rationale": entry.rationale, "fields": dict(entry.fields or {}) or None}
    content = {key: each for key, each in said.items() if each is not None}
    return payload(content) if content else None


def _row(
    entry: VerdictEntry, ref: ItemRef, reply: Payload | None, common: Mapping[str, Any]
) -> dict[str, Any]:
    values = {
        **common,
        "run_key": entry.run_key,
        "item_key": ref.key,
        "content_digest": ref.content_digest,
        "criterion": entry.criterion,
        "presentation": entry.order or "none",
        "repeat": entry.repeat,
        "value": entry.answer,
        "reason": entry.reason.value if entry.reason else None,
        "detail": name(entry.detail, "detail") if entry.detail else None,
        "reply_digest": reply.digest if reply else None,
        "reported_model": name(entry.reported_model, "reported model") if entry.reported_model else None,
        "tokens_in": entry.tokens_in,
        "tokens_out": entry.tokens_out,
        "cost_micros": entry.cost_micros,
        "latency_ms": entry.latency_ms,
        "call_key": name(entry.call_key, "call") if entry.call_key else None,
        "decided_at": entry.decided_at,
    }
    return {**values, "digest": row_digest(values, VERDICT_STATES)}


def _stored(row: Sequence[Any]) -> StoredVerdict:
    item_id, judge, digest, run_key, criterion, value, reason, detail, shown, repeat, *rest = row
    return StoredVerdict(
        digest=digest,
        judge_digest=judge,
        run_key=run_key,
        item_id=item_id,
        criterion=criterion,
        answer=value,
        reason=UnknownReason(reason) if reason else None,
        detail=detail,
        order=None if shown == "none" else shown,
        repeat=repeat,
        reply_digest=rest[0],
        reported_model=rest[1],
    )


def _different(
    session: Session, entry: VerdictEntry, row: Mapping[str, Any], position: int
) -> DifferentRecord:
    table = table_of(VerdictRow)
    same = [
        table.c[each] == row[each] for each in ("run_key", "item_key", "criterion", "presentation", "repeat")
    ]
    there = session.connection().execute(sa.select(table.c.value, table.c.reason).where(*same)).one()
    told = f" ({there.reason})" if there.reason else ""
    given = f" ({entry.reason.value})" if entry.reason else ""
    return DifferentRecord(
        f"the verdict on item {entry.item_id!r} under {entry.criterion!r} (order {entry.order or 'none'},"
        f" repeat {entry.repeat}) is recorded as {there.value!r}{told}, and {entry.answer!r}{given} was given"
        " now (or its reply or cost differs): verdicts are not changed; give a repeat its own number, or"
        " import into a new run",
        position=position,
    )
