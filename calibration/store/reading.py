"""Reading many rows without holding them all."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import sqlalchemy as sa
from sqlmodel import Session

from calibration.store.inserting import CHUNK

Query = sa.Select[*tuple[Any, ...]]


def stream(session: Session, query: Query) -> Iterator[Sequence[Any]]:
    """The rows of the query, fetched chunk by chunk.

    The database's cursor is given back when the caller stops, be it at the end or before.
    """
    result = session.connection().execute(query.execution_options(yield_per=CHUNK))
    try:
        yield from result
    finally:
        result.close()


def stream_named(session: Session, query: Query) -> Iterator[dict[str, Any]]:
    """As stream(), each row by column name."""
    result = session.connection().execute(query.execution_options(yield_per=CHUNK))
    try:
        for row in result.mappings():
            yield dict(row)
    finally:
        result.close()
