"""Copies of a store, and starting again from one."""

from __future__ import annotations

import hashlib
import os
import sqlite3
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

import sqlalchemy as sa

from calibration.store.database import database_url, place
from calibration.store.schema import KNOWN
from rubrics.errors import StoreError

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Copy:
    """A copy of a store in one file."""

    path: Path
    sha256: str
    """Of the file: keep it elsewhere, and compare before restoring."""
    rows: Mapping[str, int]
    """Rows by table."""


def backup(where: str | Path | None, to: Path) -> Copy:
    """A copy of the store in one new file, taken at one moment while others go on writing.

    It holds every text; an erase after this moment does not reach it.

    Raises:
        StoreError: there is no store, the file exists, the disk is full, or the store is on PostgreSQL.
    """
    url = _sqlite_only(
        where, "pg_dump --format=custom --file=voirdire.dump", "is backed up by the server's own tool"
    )
    source = Path(str(url.database))
    if not source.is_file():
        raise StoreError(f"there is no database {str(source)!r} to back up; give the right --db")
    return _copied(source, to)


def restore(copy: Path, to: str | Path | None, *, sha256: str | None = None) -> Copy:
    """The store in a new file, from a backup that was found whole.

    An existing store is never overwritten. The restored one may be older than decisions or checkpoints
    that were handed out: compare its heads with them.

    Args:
        copy: from backup().
        to: where the store shall be; must not exist.
        sha256: that of the backup, as it was noted when it was made.

    Raises:
        StoreError: the backup is damaged or no backup of voirdire, the file exists, or it is for PostgreSQL.
    """
    url = _sqlite_only(to, "pg_restore --dbname=... voirdire.dump", "is restored by the server's own tool")
    target = Path(str(url.database))
    if not copy.is_file():
        raise StoreError(f"there is no backup {str(copy)!r}; give the file that `voirdire db backup` made")
    if sha256 is not None and _sha256(copy) != sha256.lower():
        raise StoreError(f"{str(copy)!r} is not the file that was noted: its sha256 is {_sha256(copy)}")
    for each in (target, Path(f"{target}-wal"), Path(f"{target}-shm")):
        if each.exists():
            raise StoreError(f"{str(each)!r} exists; move it away first, for nothing is ever overwritten")
    _must_be_whole(copy)
    return _copied(copy, target)


def _sqlite_only(where: str | Path | None, command: str, sentence: str) -> sa.URL:
    url = database_url(where)
    if url.get_backend_name() != "sqlite":
        raise StoreError(f"{place(url)} {sentence}: run `{command} '{place(url)}'`")
    return url


def _copied(source: Path, target: Path) -> Copy:
    """The whole source in a new file; no half of one is left where it fails."""
    try:
        os.close(os.open(target, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except FileExistsError:
        raise StoreError(
            f"{str(target)!r} exists; give another file, for nothing is ever overwritten"
        ) from None
    except OSError as error:
        raise StoreError(f"cannot create {str(target)!r} ({error.strerror}); give another file") from error
    try:
        _guarded(source, lambda: _copy(source, target))
        return Copy(target, _sha256(target), _guarded(target, lambda: _rows(target)))
    except BaseException:
        target.unlink()
        raise


def _copy(source: Path, target: Path) -> None:
    with closing(sqlite3.connect(source)) as read, closing(sqlite3.connect(target)) as written:
        read.backup(written)
        written.execute("PRAGMA journal_mode=DELETE")  # one file, no log beside it
    with target.open("rb") as file:
        os.fsync(file.fileno())


def _must_be_whole(copy: Path) -> None:
    def problems() -> list[str]:
        with closing(sqlite3.connect(copy)) as connection:
            found = [row[0] for row in connection.execute("PRAGMA integrity_check(3)")]
            version = [row[0] for row in connection.execute("SELECT version_num FROM alembic_version")]
        return [each for each in found if each != "ok"] + [f"revision {v}" for v in version if v not in KNOWN]

    found = _guarded(copy, problems)
    if found:
        raise StoreError(f"{str(copy)!r} cannot be restored: {'; '.join(found)}; use another backup")


def _rows(path: Path) -> dict[str, int]:
    tables = "SELECT name FROM sqlite_master WHERE type = 'table' AND name NOT LIKE 'sqlite_%' ORDER BY name"
    with closing(sqlite3.connect(path)) as connection:
        return {
            name: connection.execute(f'SELECT count(*) FROM "{name}"').fetchone()[0]
            for (name,) in connection.execute(tables).fetchall()
        }


def _guarded(path: Path, work: Callable[[], T]) -> T:
    try:
        return work()
    except sqlite3.Error as error:
        raise StoreError(
            f"{str(path)!r} could not be copied ({error}): check that it is a voirdire database"
            " and that the disk has room"
        ) from error


def _sha256(path: Path) -> str:
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
