"""Where records came from: one row for each file that was imported."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import sqlalchemy as sa
from sqlmodel import Session

from calibration.store.chain import append_event, events
from calibration.store.columns import Row, in_utc, one_of, row_key, table_of, text_column, time_column
from calibration.store.inserting import insert_one
from calibration.store.text import content_digest, name, stored_json

IMPORTS = "imports"
"""The stream of the audit trail that tells of imports."""


class ImportFileRow(Row, table=True):
    """Where records came from: one row a file, kind and dataset."""

    __tablename__ = "import_file"
    __table_args__ = (one_of("kind", ("items", "labels", "verdicts")),)
    key: str = text_column(primary_key=True)
    kind: str = text_column()
    dataset: str = text_column()
    file_digest: str = text_column()
    provenance: str = text_column()
    """JSON: name of the file, origin, licence, collector, options of the import."""
    recorded_at: datetime = time_column()


def record_import(
    *,
    session: Session,
    kind: str,
    dataset: str,
    file_digest: str,
    provenance: Mapping[str, Any],
    actor: str,
    at: datetime,
    again: int = 0,
) -> str:
    """The key of the import, for the records that it brings; the same file again has the same key.

    Args:
        session: the writing session of the import: one transaction a file.
        kind: items, labels or verdicts.
        dataset: the dataset that the file belongs to.
        file_digest: SHA-256 of the file's bytes.
        provenance: file name, origin, licence, collector, options; JSON.
        actor: who imports.
        at: when.
        again: how many imports of this file are recorded that may not be added to: a sealed import is closed,
            and what a further one brings (lines that could not be joined before) has a key of its own.
    """
    key = row_key("import", kind, dataset, file_digest, *([again] if again else []))
    values = {
        "key": key,
        "kind": kind,
        "dataset": name(dataset, "dataset"),
        "file_digest": file_digest,
        "provenance": stored_json(dict(provenance)),
        "recorded_at": in_utc(at),
    }
    if insert_one(session=session, row=ImportFileRow, values=values, identity="key"):
        what = {"import": key, "kind": kind, "dataset": dataset, "file": file_digest}
        append_event(session=session, stream=IMPORTS, kind="file.imported", actor=actor, payload=what, at=at)
    return key


@dataclass(frozen=True, slots=True)
class StoredImport:
    """A recorded import."""

    key: str
    kind: str
    dataset: str
    file_digest: str
    provenance: Mapping[str, Any]
    recorded_at: datetime


def list_imports(
    *, session: Session, dataset: str | None = None, kind: str | None = None, file_digest: str | None = None
) -> list[StoredImport]:
    """The recorded imports, oldest first; those of a dataset, kind or file where given."""
    table = table_of(ImportFileRow)
    query = sa.select(table).order_by(table.c.recorded_at, table.c.key)
    wanted = ((table.c.dataset, dataset), (table.c.kind, kind), (table.c.file_digest, file_digest))
    for column, value in wanted:
        if value is not None:
            query = query.where(column == value)
    rows = session.connection().execute(query).mappings()
    return [StoredImport(**{**row, "provenance": json.loads(row["provenance"])}) for row in rows]


@dataclass(frozen=True, slots=True)
class Seal:
    """How many rows an import brought, and the digest over theirs."""

    rows: int
    digest: str


# By name: this module is open to raters' code, and may not reach the tables of verdicts.
_BROUGHT = {"items": ("item",), "labels": ("assessment", "adjudication"), "verdicts": ("verdict",)}


def import_seal(*, session: Session, key: str, kind: str) -> Seal:
    """The seal of what the import brought, computed from the rows that are there."""
    found: list[str] = []
    for each in _BROUGHT[kind]:
        table = sa.table(each, sa.column("digest"), sa.column("import_key"))
        query = sa.select(table.c.digest).where(table.c.import_key == key)
        found += session.connection().execute(query).scalars()
    return Seal(len(found), content_digest(stored_json(sorted(found))))


def seal_import(*, session: Session, key: str, kind: str, actor: str, at: datetime) -> Seal:
    """The seal of the import, now an event of the audit trail; call it last in the import's transaction.

    From then on a row of the import that is changed, added or removed outside voirdire is found.
    An import that brought nothing new is not sealed again.
    """
    seal = import_seal(session=session, key=key, kind=kind)
    payload = {"import": key, "kind": kind, "rows": seal.rows, "digest": seal.digest}
    sealed = any(
        event.kind == "import.sealed" and event.payload == payload
        for event in events(session=session, stream=IMPORTS)
    )
    if not sealed:
        append_event(
            session=session, stream=IMPORTS, kind="import.sealed", actor=actor, payload=payload, at=at
        )
    return seal
