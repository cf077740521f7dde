"""The audit trail: events in streams, each bound to the one before it by its hash.

A trigger keeps honest software from changing a record; the chain lets anyone see that something
else did. It proves little by itself about the newest records: keep `heads()` outside the database.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlmodel import Field, Session, col, select

from calibration.store.columns import Row, in_utc, table_of, text_column, time_column
from calibration.store.reading import stream_named
from calibration.store.text import name, stored_json
from rubrics.digest import digest

GENESIS = "0" * 64
"""What the first record of a stream names as the one before it."""


class AuditEventRow(Row, table=True):
    """One event of one stream."""

    __tablename__ = "audit_event"
    __table_args__ = (
        sa.CheckConstraint("seq >= 1", name="seq"),
        sa.CheckConstraint("length(hash) = 64 AND hash = lower(hash)", name="hash"),
    )
    stream: str = text_column(primary_key=True)
    seq: int = Field(primary_key=True)
    at: datetime = time_column()
    actor: str = text_column()
    kind: str = text_column()
    payload: str = text_column()
    prev_hash: str = text_column()
    hash: str = text_column(unique=True)


@dataclass(frozen=True, slots=True)
class Event:
    """A recorded event."""

    stream: str
    seq: int
    """1 for the first of its stream, then without a gap."""
    at: datetime
    actor: str
    kind: str
    """What happened, in the past tense with its noun first: payload.erased, import.sealed."""
    payload: Mapping[str, Any]
    prev_hash: str
    hash: str


@dataclass(frozen=True, slots=True)
class Head:
    """The newest record of a stream: what a checkpoint kept elsewhere is compared with."""

    seq: int
    hash: str
    at: datetime | None = None


@dataclass(frozen=True, slots=True)
class Link:
    """A record of a chain as it is verified."""

    seq: int
    prev_hash: str
    hash: str
    body: Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Broken:
    """The first record at which a chain does not hold, and how."""

    stream: str
    seq: int
    how: str


def link(kind: str, seq: int, prev_hash: str, body: Mapping[str, Any]) -> str:
    """The hash of a record: of its kind, place, predecessor and body.

    The kind stands in the hash so that a record of one kind can never pass for one of another.
    """
    return digest({"type": f"voirdire.{kind}/1", "seq": seq, "prev_hash": prev_hash, "body": dict(body)})


def lock_stream(session: Session, stream: str) -> None:
    """Waits until no one else appends to the stream, until this transaction ends.

    SQLite has one writer anyway. PostgreSQL takes an advisory lock; the unique (stream, seq) stays
    the guarantee, the lock only turns a conflict into a wait.
    """
    if session.connection().dialect.name != "sqlite":
        session.connection().execute(
            sa.text("SELECT pg_advisory_xact_lock(hashtextextended(:stream, 0))"),
            {"stream": f"voirdire:{stream}"},
        )


def append_event(
    *, session: Session, stream: str, kind: str, actor: str, payload: Mapping[str, Any], at: datetime
) -> Event:
    """The event as recorded at the end of its stream.

    Args:
        session: a writing session; the event stands or falls with its transaction.
        stream: which chain; any name.
        kind: what happened.
        actor: who did it, as the caller could establish it.
        payload: JSON with digests and reasons; never the text of an item, which could not be erased here.
        at: the time; that of the last event where it lies before it, as it does for one who waited while
            others appended: times in a stream never go back.
    """
    lock_stream(session, stream)
    head = heads(session=session, stream=stream).get(stream, Head(0, GENESIS))
    moment = in_utc(at) if head.at is None else max(in_utc(at), head.at)
    text = stored_json(dict(payload))
    values = {
        "stream": name(stream, "stream"),
        "seq": head.seq + 1,
        "at": moment,
        "actor": name(actor, "actor"),
        "kind": name(kind, "kind"),
        "payload": text,
        "prev_hash": head.hash,
    }
    values["hash"] = link("audit-event", head.seq + 1, head.hash, _body(values))
    session.connection().execute(table_of(AuditEventRow).insert(), values)
    return _event(values)


def heads(*, session: Session, stream: str | None = None) -> dict[str, Head]:
    """The newest record of each stream, or of one."""
    newest = select(AuditEventRow.stream, sa.func.max(AuditEventRow.seq).label("seq")).group_by(
        col(AuditEventRow.stream)
    )
    if stream is not None:
        newest = newest.where(AuditEventRow.stream == stream)
    last = newest.subquery()
    rows = session.exec(
        select(AuditEventRow.stream, AuditEventRow.seq, AuditEventRow.hash, AuditEventRow.at).join(
            last, (col(AuditEventRow.stream) == last.c.stream) & (col(AuditEventRow.seq) == last.c.seq)
        )
    )
    return {name: Head(seq, hash_, at) for name, seq, hash_, at in rows}


def events(*, session: Session, stream: str | None = None, kind: str | None = None) -> Iterator[Event]:
    """The events of a stream and kind, or of all, in the order of their streams and places."""
    for row in _rows(session, stream, kind):
        yield _event(row)


def verify_events(*, session: Session, checkpoints: Mapping[str, Head] | None = None) -> tuple[Broken, ...]:
    """The first broken record of each stream; empty when every chain holds.

    Args:
        session: a reading session.
        checkpoints: heads kept outside the database; a stream that no longer reaches its checkpoint
            was cut, which nothing inside the database can show.
    """
    records = (
        (row["stream"], Link(row["seq"], row["prev_hash"], row["hash"], _body(row)))
        for row in _rows(session, None)
    )
    return verify_links("audit-event", records, checkpoints or {})


def verify_links(
    kind: str, records: Iterable[tuple[str, Link]], checkpoints: Mapping[str, Head]
) -> tuple[Broken, ...]:
    """The first broken record of each stream among records that come in the order of their streams."""
    found: dict[str, Broken] = {}
    last: dict[str, Link] = {}
    reached: set[str] = set()
    for stream, record in records:
        how = _break(kind, last.get(stream), record)
        if how and stream not in found:
            found[stream] = Broken(stream, record.seq, how)
        last[stream] = record
        point = checkpoints.get(stream)
        if point and (point.seq, point.hash) == (record.seq, record.hash):
            reached.add(stream)
    for stream, point in checkpoints.items():
        if stream not in reached and stream not in found:
            found[stream] = Broken(
                stream, point.seq, "its checkpoint is not reached: records were cut off or replaced"
            )
    return tuple(found.values())


def _break(kind: str, before: Link | None, record: Link) -> str | None:
    """How a record fails to follow the one before it; None if it follows."""
    seq, hash_ = (before.seq, before.hash) if before else (0, GENESIS)
    if record.seq != seq + 1:
        return f"a record is missing or doubled: {seq} is followed by {record.seq}"
    if record.prev_hash != hash_:
        return "it names another record as the one before it"
    if record.hash != link(kind, record.seq, record.prev_hash, record.body):
        return "its content is not the one that its hash names"
    return None


def _rows(session: Session, stream: str | None, kind: str | None = None) -> Iterator[Mapping[str, Any]]:
    table = table_of(AuditEventRow)
    query = sa.select(table).order_by(table.c.stream, table.c.seq)
    if stream is not None:
        query = query.where(table.c.stream == stream)
    if kind is not None:
        query = query.where(table.c.kind == kind)
    yield from stream_named(session, query)


def _body(values: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "stream": values["stream"],
        "at": values["at"].isoformat(timespec="microseconds"),
        "actor": values["actor"],
        "kind": values["kind"],
        "payload": values["payload"],
    }


def _event(row: Mapping[str, Any]) -> Event:
    return Event(**{**row, "payload": json.loads(row["payload"])})
