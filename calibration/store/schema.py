"""The schema: which revision a database is at, whether its triggers are the declared ones, and upgrades."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Sequence
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

import sqlalchemy as sa
from sqlalchemy.exc import DBAPIError

from calibration.store.database import (
    Store,
    clear_error,
    create_sqlite_file,
    database_url,
    make_engine,
    place,
)
from calibration.store.triggers import trigger_findings
from rubrics.errors import StoreError

HEAD = "0007"
"""The revision that this version of voirdire works with."""
KNOWN = ("0001", "0002", "0003", "0004", "0005", "0006", "0007")
"""Every revision that can be upgraded from, oldest first."""
MIGRATIONS = Path(__file__).parent / "migrations"

# Alembic keeps the migration that runs in module-level proxies: one at a time in a process.
_ONE_AT_A_TIME = threading.Lock()


@dataclass(frozen=True, slots=True)
class Upgrade:
    """What an upgrade did."""

    before: str | None
    """The revision found; None for an empty database."""
    after: str
    copy: Path | None
    """The copy of the old file that was made first (SQLite)."""

    @property
    def changed(self) -> bool:
        """True where there was something to upgrade."""
        return self.before != self.after


def open_store(where: str | Path | None = None, *, durable: bool = False) -> Store:
    """The store at the address, at the newest schema.

    A SQLite file is created where there is none and upgraded where it is older; a PostgreSQL database
    is never changed by opening it.

    Args:
        where: a file, a postgresql:// URL, or None for the default file.
        durable: SQLite: wait for the disk at every commit, so that even a power cut loses nothing.

    Raises:
        StoreError: it cannot be opened, is of another version of voirdire, or its triggers are not the
            declared ones.
    """
    url = database_url(where)
    if url.get_backend_name() == "sqlite":
        create_sqlite_file(url)
    store = Store(make_engine(url, durable=durable))
    try:
        findings = _findings(store)
        if findings and url.get_backend_name() == "sqlite" and _behind(store):
            upgrade(where)
            findings = _findings(store)
    except BaseException:
        store.close()
        raise
    if findings:
        store.close()
        raise StoreError(f"{store.where} cannot be used: {'; '.join(findings[:3])}")
    return store


def check_schema(connection: sa.Connection) -> tuple[str, ...]:
    """What keeps the database from being used, a sentence each; empty when schema and triggers are right."""
    found = revision(connection)
    if found != HEAD:
        return (_revision_sentence(found),)
    findings = trigger_findings(connection)
    if findings:
        why = "evidence could be changed unseen; restore a backup, or look for who changed the schema"
        return (*findings, f"{len(findings)} trigger(s) differ: {why}")
    return ()


def revision(connection: sa.Connection) -> str | None:
    """The revision of the schema; None where there is none yet."""
    if not sa.inspect(connection).has_table("alembic_version"):
        return None
    found = connection.exec_driver_sql("SELECT version_num FROM alembic_version").scalars().all()
    return str(found[0]) if found else None


def upgrade(where: str | Path | None = None, *, versions: Sequence[Path] = ()) -> Upgrade:
    """What was done to bring the database to the newest schema: everything, or, after an error, nothing.

    A SQLite file with data is copied first, beside itself, under a name that says its revision.

    Args:
        where: as for open_store().
        versions: folders with further revisions, for tests.

    Raises:
        StoreError: it is of a newer version of voirdire, or a migration failed.
    """
    url = database_url(where)
    sqlite = url.get_backend_name() == "sqlite"
    if sqlite:
        create_sqlite_file(url)
    # Copying a table, which is how SQLite alters one, needs its foreign keys asleep.
    engine = make_engine(url, foreign_keys=False)
    try:
        with engine.connect() as connection:
            before = revision(connection)
        if before == HEAD and not versions:
            return Upgrade(before, before, None)
        if before not in (None, *KNOWN):
            raise StoreError(f"{place(url)}: {_revision_sentence(before)}")
        copy = _copy_first(url, before) if sqlite and before else None
        with _ONE_AT_A_TIME, engine.begin() as connection:
            before, after = _migrate(connection, versions)
        return Upgrade(before, after, copy)
    except DBAPIError as error:
        raise clear_error(error, place(url)) from error
    finally:
        engine.dispose()


def migrate(connection: sa.Connection, target: str = "head", *, versions: Sequence[Path] = ()) -> None:
    """Runs the history up to the target within the connection's transaction."""
    from alembic import command  # costs a second, and most starts have nothing to upgrade
    from alembic.config import Config

    config = Config()
    config.set_main_option("script_location", _escaped(MIGRATIONS))
    config.set_main_option("path_separator", "newline")
    folders = [MIGRATIONS / "versions", *versions]
    config.set_main_option("version_locations", "\n".join(_escaped(folder) for folder in folders))
    config.attributes["connection"] = connection
    command.upgrade(config, target)


def _migrate(connection: sa.Connection, versions: Sequence[Path]) -> tuple[str | None, str]:
    if connection.dialect.name == "postgresql":
        connection.exec_driver_sql("SELECT pg_advisory_xact_lock(hashtextextended('voirdire:schema', 0))")
    before = revision(connection)  # again: another process may have been faster
    migrate(connection, versions=versions)
    findings = trigger_findings(connection) if versions else check_schema(connection)
    if connection.dialect.name == "sqlite":
        orphans = connection.exec_driver_sql("PRAGMA foreign_key_check").fetchall()
        findings += tuple(
            f"a row of {table} refers to nothing in {parent}" for table, _, parent, _ in orphans
        )
    if findings:
        raise StoreError(f"the upgrade was undone: {'; '.join(findings[:3])}")
    return before, revision(connection) or HEAD


def _revision_sentence(found: str | None) -> str:
    if found is None:
        return "it has no voirdire schema yet: run `voirdire db upgrade`"
    if found in KNOWN:
        return f"its schema is at revision {found}, older than {HEAD}: run `voirdire db upgrade`"
    return (
        f"its schema is at revision {found!r}, which this version of voirdire (at {HEAD}) does not know:"
        " use the newer one"
    )


def _findings(store: Store) -> tuple[str, ...]:
    with store.read() as session:
        return check_schema(session.connection())


def _behind(store: Store) -> bool:
    with store.read() as session:
        return revision(session.connection()) in (None, *KNOWN[:-1])


def _copy_first(url: sa.URL, before: str) -> Path:
    path = Path(str(url.database))
    copy = path.with_name(f"{path.name}.before-upgrade-from-{before}")
    create_sqlite_file(url.set(database=str(copy)))
    with closing(sqlite3.connect(path)) as source, closing(sqlite3.connect(copy)) as target:
        source.backup(target)
    return copy


def _escaped(path: Path) -> str:
    return str(path).replace("%", "%%")
