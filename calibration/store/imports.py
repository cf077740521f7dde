"""Where records came from: one row for each file that was imported."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from sqlmodel import Session

from calibration.store.chain import append_event
from calibration.store.columns import Row, in_utc, one_of, row_key, text_column, time_column
from calibration.store.inserting import insert_one
from calibration.store.text import name, stored_json


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
    """
    key = row_key("import", kind, dataset, file_digest)
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
        append_event(
            session=session, stream="imports", kind="file.imported", actor=actor, payload=what, at=at
        )
    return key
