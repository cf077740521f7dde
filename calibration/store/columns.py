"""What all tables share: naming of constraints, column shapes, times in UTC, client-made keys."""

from __future__ import annotations

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, cast

import sqlalchemy as sa
from sqlalchemy.engine import Dialect
from sqlmodel import Field, SQLModel

from rubrics.digest import canonical_json

NAMING = {
    "ix": "ix_%(table_name)s_%(column_0_N_name)s",
    "uq": "uq_%(table_name)s_%(column_0_N_name)s",
    "ck": "ck_%(table_name)s_%(constraint_name)s",
    "fk": "fk_%(table_name)s_%(column_0_N_name)s",
    "pk": "pk_%(table_name)s",
}
"""Every constraint has a name that both databases agree on, so that a migration can find it."""


class Row(SQLModel):
    """The base of all tables. A row class only stores: its constructor accepts anything."""

    metadata = sa.MetaData(naming_convention=NAMING)


class UtcDateTime(sa.TypeDecorator[datetime]):
    """A moment in UTC, to the microsecond; a time without a zone is refused, never guessed."""

    impl = sa.DateTime(timezone=True)
    cache_ok = True

    def process_bind_param(self, value: datetime | None, dialect: Dialect) -> datetime | None:
        """The moment as the driver takes it: SQLite has no zones, so UTC is stored without one."""
        if value is None:
            return None
        moment = in_utc(value)
        return moment.replace(tzinfo=None) if dialect.name == "sqlite" else moment

    def process_result_value(
        self,
        value: datetime | None,
        dialect: Dialect,  # noqa: ARG002 - the interface of SQLAlchemy
    ) -> datetime | None:
        """The moment with its zone, UTC."""
        if value is None:
            return None
        return value.replace(tzinfo=UTC) if value.tzinfo is None else value.astimezone(UTC)


def in_utc(moment: datetime) -> datetime:
    """The same moment in UTC; raises ValueError for a time without a zone."""
    if moment.tzinfo is None:
        raise ValueError(f"{moment!r} has no time zone; use datetime.now(UTC)")
    return moment.astimezone(UTC)


def text_column(**options: Any) -> Any:
    """A text field; words of a closed set get a CHECK (one_of), never a database enum."""
    return Field(sa_type=sa.Text, **options)


def time_column(**options: Any) -> Any:
    """A field for a moment in UTC."""
    return Field(sa_type=UtcDateTime, **options)


def one_of(column: str, words: Iterable[str]) -> sa.CheckConstraint:
    """A CHECK that the column holds one of the words; NULL passes where the column allows it."""
    listed = ", ".join(f"'{word}'" for word in words)
    return sa.CheckConstraint(f"{column} IN ({listed})", name=column)


def table_of(row: type[Row]) -> sa.Table:
    """The table that a row class is mapped to."""
    return cast("sa.Table", sa.inspect(row).local_table)


def row_key(*parts: str | int | None) -> str:
    """A key made from what identifies a row: 32 hex digits, the same for the same parts on every machine.

    Made by the client, so that an insert repeated after an unclear commit finds its own row.
    """
    return hashlib.sha256(canonical_json(parts).encode()).hexdigest()[:32]


def row_digest(row: Mapping[str, Any], stated: Sequence[str]) -> str:
    """The digest of what a row states, 64 hex digits.

    SHA-256 over name and value of each stated column that is not NULL, in the given order, with a NUL
    between them, which no stored text holds; times in UTC, numbers as JSON writes them. Bookkeeping (when
    it was recorded, by which import) is left out, so that the same statement imported twice is recognised.
    """
    parts: list[str] = []
    for name in stated:
        value = row[name]
        if value is not None:
            parts += (name, value if isinstance(value, str) else _written(value))
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _written(value: Any) -> str:
    if type(value) is int:  # as JSON writes it, without asking the JSON encoder for every row
        return str(value)
    if isinstance(value, datetime):
        return in_utc(value).isoformat(timespec="microseconds")
    return canonical_json(value)


SCALES = ("binary", "ordinal", "preference")
VALUE_FITS_SCALE = (
    "(scale <> 'binary' OR value IN ('pass', 'fail', 'unknown'))"
    " AND (scale <> 'preference' OR value IN ('A', 'B', 'tie', 'unknown'))"
    " AND value <> ''"
)
"""What a label or verdict may say: pass or fail; a level; A, B or tie in source positions; or unknown."""
