"""Seals: what every row of the evidence was, in all its columns, when somebody signed.

A row's own digest covers what it states and shows a changed value; it can neither cover its bookkeeping nor
show that the row is gone. A seal does both for every row that was there when it was made, however the row
came: by an import, by the rating app, by a run. Kept from raters: it lists verdicts.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlmodel import Field, Session

from calibration.store.assessments import AssessmentRow
from calibration.store.calls import JudgeCallFaultRow, JudgeCallRow
from calibration.store.chain import append_event, lock_stream
from calibration.store.columns import Row, in_utc, row_digest, row_key, table_of, text_column, time_column
from calibration.store.inserting import CHUNK, batches
from calibration.store.items import ItemRow
from calibration.store.judges import JudgeRow, JudgeRunRow
from calibration.store.reading import stream_named
from calibration.store.references import AdjudicationRow, ReferenceLabelRow
from calibration.store.reports import LookRow, PolicyRow, ReportRow
from calibration.store.retractions import RetractionRow
from calibration.store.text import content_digest, stored_json
from calibration.store.verdicts import VerdictRow

SEALS = "seals"
"""The stream of the audit trail that tells of seals."""


class EvidenceSealRow(Row, table=True):
    """Up to a thousand rows of one table, each with the digest over all its columns."""

    __tablename__ = "evidence_seal"
    __table_args__ = (sa.CheckConstraint("seq >= 1", name="seq"),)
    key: str = text_column(primary_key=True)
    seq: int = Field(unique=True)
    table_name: str = text_column(index=True)
    columns: str = text_column()
    """JSON: the columns, as they were when the seal was made."""
    members: str = text_column()
    """JSON: [primary key, digest] of each row."""
    rows: int
    digest: str = text_column()
    sealed_at: datetime = time_column()


@dataclass(frozen=True, slots=True)
class Sealed:
    """A table whose rows are sealed: its primary key, and the columns that may move."""

    row: type[Row]
    key: str
    moving: frozenset[str] = frozenset()


SEALED: tuple[Sealed, ...] = (
    Sealed(ItemRow, "key"),
    Sealed(AssessmentRow, "digest"),
    Sealed(RetractionRow, "assessment_digest"),
    Sealed(AdjudicationRow, "digest"),
    Sealed(ReferenceLabelRow, "digest"),
    Sealed(JudgeRow, "digest"),
    Sealed(JudgeRunRow, "key", frozenset({"state", "cancel_requested_at", "priority"})),
    Sealed(JudgeCallRow, "key"),
    Sealed(JudgeCallFaultRow, "call_key"),
    Sealed(VerdictRow, "digest"),
    Sealed(PolicyRow, "digest"),
    Sealed(ReportRow, "digest"),
    Sealed(LookRow, "input_digest"),
)
"""The evidence, from what is judged to what was concluded; decisions and events are chained themselves."""


@dataclass(frozen=True, slots=True)
class BrokenSeal:
    """A row that is not what it was when it was sealed."""

    table: str
    key: str
    what: str


def seal_evidence(*, session: Session, actor: str, at: datetime) -> int:
    """How many rows were sealed that were not before; to be called where something is signed."""
    lock_stream(session, SEALS)  # two signers at once would seal the same rows under the same number
    sealed = 0
    for each in SEALED:
        for batch in batches(_unsealed(session, each), CHUNK):
            _add_seal(session, each, batch, actor, at)
            sealed += len(batch)
    return sealed


def _add_seal(
    session: Session, each: Sealed, batch: Sequence[Mapping[str, Any]], actor: str, at: datetime
) -> None:
    columns = _columns(each)
    members = [[row[each.key], row_digest(row, columns)] for row in batch]
    seq = (session.connection().execute(sa.select(sa.func.max(_SEAL.c.seq))).scalar() or 0) + 1
    values: dict[str, Any] = {
        "key": row_key("evidence-seal", seq),
        "seq": seq,
        "table_name": table_of(each.row).name,
        "columns": stored_json(columns),
        "members": stored_json(members),
        "rows": len(members),
        "sealed_at": in_utc(at),
    }
    values["digest"] = content_digest(values["columns"] + values["members"])
    session.connection().execute(_SEAL.insert(), values)
    told = {"seal": seq, "table": values["table_name"], "rows": len(members), "digest": values["digest"]}
    append_event(session=session, stream=SEALS, kind="evidence.sealed", actor=actor, payload=told, at=at)


def broken_seals(*, session: Session) -> Iterator[BrokenSeal]:
    """Every sealed row that is gone or changed, in the order of the tables; seals that do not hold first."""
    for each in SEALED:
        table = table_of(each.row)
        wanted: dict[str, tuple[str, tuple[str, ...]]] = {}
        for seal in _seals(session, table.name):
            try:
                members, columns = _opened(seal)
            except ValueError:
                yield BrokenSeal(
                    "evidence_seal", str(seal["seq"]), "its content is not the one that its digest names"
                )
                continue
            wanted |= {key: (digest, columns) for key, digest in members}
        if wanted:
            yield from _compared(session, each, wanted)


def _compared(
    session: Session, each: Sealed, wanted: dict[str, tuple[str, tuple[str, ...]]]
) -> Iterator[BrokenSeal]:
    table = table_of(each.row)
    for row in stream_named(session, sa.select(table)):
        found = wanted.pop(row[each.key], None)
        if found is not None and not _same(row, *found):
            yield BrokenSeal(table.name, row[each.key], "is not what it was when it was sealed")
    for key in wanted:
        yield BrokenSeal(table.name, key, "was sealed and is gone, or has another key")


def _same(row: Mapping[str, Any], digest: str, columns: Sequence[str]) -> bool:
    return all(column in row for column in columns) and row_digest(row, columns) == digest


def _opened(seal: Mapping[str, Any]) -> tuple[list[list[str]], tuple[str, ...]]:
    if content_digest(seal["columns"] + seal["members"]) != seal["digest"]:
        raise ValueError("the seal was changed")
    return json.loads(seal["members"]), tuple(json.loads(seal["columns"]))


def _columns(each: Sealed) -> list[str]:
    return [column.name for column in table_of(each.row).columns if column.name not in each.moving]


def _unsealed(session: Session, each: Sealed) -> Iterator[Mapping[str, Any]]:
    """The rows that no seal holds yet, by key."""
    table = table_of(each.row)
    known = set(_known(session, each))
    # keys first: seals are written between the chunks, which a half-read cursor would not survive
    keys = list(
        session.connection().execute(sa.select(table.c[each.key]).order_by(table.c[each.key])).scalars()
    )
    for batch in batches(key for key in keys if key not in known):
        found = session.connection().execute(sa.select(table).where(table.c[each.key].in_(batch))).mappings()
        yield from sorted((dict(row) for row in found), key=lambda row: str(row[each.key]))


def _known(session: Session, each: Sealed) -> Iterator[str]:
    """The keys of the rows that are sealed."""
    for seal in list(_seals(session, table_of(each.row).name)):
        yield from (key for key, _ in json.loads(seal["members"]))


def _seals(session: Session, table: str) -> Iterator[dict[str, Any]]:
    yield from stream_named(
        session, sa.select(_SEAL).where(_SEAL.c.table_name == table).order_by(_SEAL.c.seq)
    )


_SEAL = table_of(EvidenceSealRow)
