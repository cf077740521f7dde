"""Inserts that may be repeated: the same rows add nothing, other content under the same id is refused."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import islice
from operator import itemgetter
from typing import TYPE_CHECKING, Any, TypeVar, cast

import sqlalchemy as sa

# Both dialects by name: a driver that is looked up late would fail after the first paid call.
from sqlalchemy.dialects import postgresql, sqlite
from sqlmodel import Session

from calibration.store.columns import Row, table_of

CHUNK = 1000
"""Rows a statement, ids a look-up."""

if TYPE_CHECKING:
    import sqlite3

T = TypeVar("T")

_SQLITE = sqlite.dialect()


@dataclass(frozen=True, slots=True)
class Added:
    """What became of the given rows; the three add up to how many were given."""

    added: int
    """New rows."""
    present: int
    """Rows that were already there with the same content, or were given twice."""
    different: tuple[int, ...]
    """Places, from 0, of rows whose id is taken by other content: not stored."""


def insert_many(
    *,
    session: Session,
    row: type[Row],
    rows: Iterable[Mapping[str, Any]],
    identity: str = "digest",
    chunk: int = CHUNK,
) -> Added:
    """Counts of the rows that were added, were there, or would have changed what is recorded.

    Args:
        session: a writing session; nothing is committed here.
        row: the table.
        rows: one mapping a row, all with the same columns; read chunk by chunk.
        identity: the column that holds the digest of what the row says. A row that is not inserted and
            whose digest is not stored collides with other content.
        chunk: rows a statement.
    """
    connection = session.connection()
    table = table_of(row)
    column = table.c[identity]
    added = present = offset = 0
    different: list[int] = []
    for batch in batches(rows, chunk):
        fresh = _insert(connection, table, batch)
        added += fresh
        if fresh < len(batch):
            stored = _stored(connection, column, [each[identity] for each in batch])
            strange = [offset + place for place, each in enumerate(batch) if each[identity] not in stored]
            present += len(batch) - fresh - len(strange)
            different += strange
        offset += len(batch)
    return Added(added, present, tuple(different))


def add_records(
    *,
    session: Session,
    row: type[Row],
    records: Iterable[T],
    rows_of: Callable[[Sequence[T]], list[dict[str, Any]]],
    refusal: Callable[[T, Mapping[str, Any], int], Exception] | None,
) -> Added:
    """What became of the records, which are turned into rows and inserted chunk by chunk.

    Args:
        session: a writing session.
        row: the table.
        records: read only as far as the chunk that is being inserted.
        rows_of: the rows of a chunk of records, in their order.
        refusal: what to raise at the first record that collides with other content, from the record, its
            row and its place; None to list all of them instead.
    """
    added = present = offset = 0
    different: list[int] = []
    for batch in batches(records):
        rows = rows_of(batch)
        outcome = insert_many(session=session, row=row, rows=rows)
        if refusal and outcome.different:
            place = outcome.different[0]
            raise refusal(batch[place], rows[place], offset + place)
        added, present = added + outcome.added, present + outcome.present
        different += [offset + place for place in outcome.different]
        offset += len(batch)
    return Added(added, present, tuple(different))


def insert_one(
    *, session: Session, row: type[Row], values: Mapping[str, Any], identity: str = "digest"
) -> bool:
    """True if the row is new, False if the same row was there.

    Raises:
        Taken: its id is taken by other content.
    """
    outcome = insert_many(session=session, row=row, rows=[values], identity=identity)
    if outcome.different:
        raise Taken
    return bool(outcome.added)


class Taken(Exception):
    """The id of a row is taken by other content; never leaves the store, each caller says what is taken."""


def batches(given: Iterable[T], size: int = CHUNK) -> Iterator[list[T]]:
    """The given things in lists of `size`, the last one shorter; read only as far as asked."""
    remaining = iter(given)
    while batch := list(islice(remaining, size)):
        yield batch


def _insert(connection: sa.Connection, table: sa.Table, rows: Sequence[Mapping[str, Any]]) -> int:
    """How many of the rows are new; a row whose key is there is skipped."""
    names = tuple(rows[0])
    if connection.dialect.name == "sqlite":
        statement, writers = _sqlite_insert(table, names)
        columns = [
            map(itemgetter(name), rows) if write is None else _written(rows, name, write)
            for name, write in writers
        ]
        # The driver itself: what SQLAlchemy does around a statement takes longer than SQLite for ten rows.
        driver = cast("sqlite3.Connection", connection.connection.driver_connection)
        return driver.executemany(statement, zip(*columns, strict=True)).rowcount
    # A column is one array: with a parameter for each value the driver takes most of an import to count them.
    arrays = {name: [row[name] for row in rows] for name in names}
    return connection.execute(_postgres_insert(table, names), arrays).rowcount


def _written(rows: Sequence[Mapping[str, Any]], name: str, write: Callable[[Any], Any]) -> Iterator[Any]:
    """The values of one column; many rows in a row say the same moment."""
    before = after = None
    for row in rows:
        if row[name] is not before:
            before = row[name]
            after = write(before)
        yield after


@cache
def _sqlite_insert(
    table: sa.Table, names: tuple[str, ...]
) -> tuple[str, tuple[tuple[str, Callable[[Any], Any] | None], ...]]:
    """The statement with a question mark for each column, and how each column's values are written."""
    insert = sqlite.insert(table).values({name: sa.bindparam(name) for name in names})
    compiled = insert.on_conflict_do_nothing().compile(dialect=_SQLITE)
    types = {name: table.c[name].type.dialect_impl(_SQLITE) for name in compiled.positiontup or ()}
    return str(compiled), tuple((name, kind.bind_processor(_SQLITE)) for name, kind in types.items())


@cache
def _postgres_insert(table: sa.Table, names: tuple[str, ...]) -> sa.Executable:
    arrays = [sa.cast(sa.bindparam(name), postgresql.ARRAY(table.c[name].type)) for name in names]
    given = sa.func.unnest(*arrays).table_valued(*names).render_derived()
    insert = postgresql.insert(table).from_select(names, sa.select(*(given.c[name] for name in names)))
    return insert.on_conflict_do_nothing().execution_options(preserve_rowcount=True)


def _stored(connection: sa.Connection, column: sa.Column[Any], values: list[str]) -> set[str]:
    if not values:
        return set()
    return set(connection.execute(sa.select(column).where(column.in_(values))).scalars())
