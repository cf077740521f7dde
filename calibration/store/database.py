"""Opening the database: connections as they must be set, sessions that write or read, and clear errors."""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import sqlalchemy as sa
from sqlalchemy import event
from sqlalchemy.exc import DBAPIError, IntegrityError
from sqlalchemy.pool import ConnectionPoolEntry
from sqlmodel import Session

from rubrics.errors import RecordError, StoreError

BUSY_SECONDS = 30
"""How long a writer waits for another one before it gives up."""

_READ_ONLY = "voirdire_read_only"
_AT_ONCE = "voirdire_at_once"
_CONNECTIONS = {"pool_size": 8, "max_overflow": 56, "pool_timeout": 2 * BUSY_SECONDS}


def default_path() -> Path:
    """Where the evidence lies when nothing else is said: one file in the user's data directory."""
    base = os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share"
    return Path(base) / "voirdire" / "voirdire.db"


def database_url(where: str | Path | None) -> sa.URL:
    """The address of the store: of a PostgreSQL server for a URL, else of one SQLite file.

    Raises:
        StoreError: a URL of a database that voirdire does not know, or SQLite without a file.
    """
    given = str(default_path() if where is None else where)
    scheme, separator, rest = given.partition("://")
    if not separator:
        return sa.URL.create("sqlite", database=str(Path(given).expanduser()))
    if scheme in {"postgresql", "postgres", "postgresql+psycopg"}:
        return sa.make_url(f"postgresql+psycopg://{rest}")
    if scheme == "sqlite" and rest.startswith("/") and len(rest) > 1:
        return sa.URL.create("sqlite", database=rest[1:])
    raise StoreError(f"{given!r} is no database for voirdire: give a file, or postgresql://USER@HOST/NAME")


class Store:
    """An open evidence store: the one way to a session.

    `write()` and `read()` each give one transaction: everything of the block is stored, or nothing.
    """

    def __init__(self, engine: sa.Engine) -> None:
        self.engine = engine
        options: dict[str, Any] = {_READ_ONLY: True}
        if self.dialect == "postgresql":
            options |= {"isolation_level": "REPEATABLE READ", "postgresql_readonly": True}
        self._reader = engine.execution_options(**options)
        self._hasty = engine.execution_options(**{_AT_ONCE: True})
        self._turn = threading.Lock()

    @property
    def dialect(self) -> str:
        """`sqlite` or `postgresql`."""
        return self.engine.dialect.name

    @property
    def where(self) -> str:
        """The file or address, for messages: without a password."""
        return place(self.engine.url)

    @contextmanager
    def write(self) -> Iterator[Session]:
        """A session that may write; commits at the end, stores nothing if the block raises.

        On SQLite it takes the write lock at its first statement, so that it cannot lose it later.

        Raises:
            StoreError: the database refused or failed; `retryable` where repeating the block may help.
        """
        with (
            self._own_turn(BUSY_SECONDS),
            _clear_errors(self.where),
            Session(self.engine, expire_on_commit=False) as session,
        ):
            yield session
            session.commit()

    @contextmanager
    def kept_writer(self) -> Iterator[KeptWriter]:
        """A connection of its own for many short writes: opening one for each costs more than they do."""
        with (
            _clear_errors(self.where),
            self._hasty.connect() as connection,
            Session(connection, expire_on_commit=False) as session,
        ):
            yield KeptWriter(self, session)

    @contextmanager
    def read(self) -> Iterator[Session]:
        """A session that sees one unchanging state of the store, blocks no writer and cannot write.

        Raises:
            StoreError: the database failed, or the block tried to write.
        """
        with _clear_errors(self.where), Session(self._reader, expire_on_commit=False) as session:
            yield session

    @contextmanager
    def _own_turn(self, seconds: float) -> Iterator[None]:
        """Lets the writers of this process queue: SQLite has each ask again and again, and some starve."""
        if self.dialect != "sqlite":
            yield
            return
        if not self._turn.acquire(timeout=seconds):
            raise StoreError(_BUSY.format(where=self.where, said="by this process"), retryable=True)
        try:
            yield
        finally:
            self._turn.release()

    def forget(self) -> None:
        """Empties the write-ahead log of SQLite, so that what was erased is not kept there."""
        if self.dialect != "sqlite":
            return
        with _clear_errors(self.where), self.engine.connect() as connection:
            driver = connection.connection.dbapi_connection
            busy = driver.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()[0] if driver else 1
        if busy:
            raise StoreError(
                f"the log of {self.where} is still read by someone: what was erased stays in it until"
                " the last reader has finished; run `voirdire db check` then",
                retryable=True,
            )

    def close(self) -> None:
        """Ends all connections."""
        self.engine.dispose()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()


class KeptWriter:
    """Writes that never wait: each is done at once or refused."""

    def __init__(self, store: Store, session: Session) -> None:
        self._store, self._session = store, session

    @contextmanager
    def write(self) -> Iterator[Session]:
        """As Store.write(), but it fails at once, `retryable`, where somebody else is writing to SQLite."""
        with self._store._own_turn(0), _clear_errors(self._store.where):
            try:
                yield self._session
                self._session.commit()
            except BaseException:
                self._session.rollback()
                raise


def place(url: sa.URL) -> str:
    """The file of SQLite, or the address of a server without its password."""
    if url.get_backend_name() == "sqlite":
        return str(url.database)
    return url.set(drivername="postgresql").render_as_string(hide_password=True)


def make_engine(url: sa.URL, *, durable: bool = False, foreign_keys: bool = True) -> sa.Engine:
    """An engine with every connection set as the store needs it; it does not look at the schema.

    Args:
        url: from database_url().
        durable: SQLite only: wait for the disk at every commit, so that even a power cut loses nothing;
            without it a killed process loses nothing.
        foreign_keys: False only while a migration copies tables.

    Raises:
        StoreError: the driver of PostgreSQL is not installed.
    """
    if url.get_backend_name() == "sqlite":
        engine = sa.create_engine(url, connect_args={"timeout": BUSY_SECONDS}, **_CONNECTIONS)
        _set_up_sqlite(engine, durable=durable, foreign_keys=foreign_keys)
        return engine
    try:
        return sa.create_engine(url, pool_pre_ping=True, **_CONNECTIONS)
    except ModuleNotFoundError as error:
        raise StoreError(
            "PostgreSQL needs its driver, which is not installed: run `pip install 'voirdire[postgres]'`"
        ) from error


def create_sqlite_file(url: sa.URL) -> None:
    """Creates the file, readable by its owner only, where there is none.

    Raises:
        StoreError: the folder does not exist or may not be written.
    """
    path = Path(str(url.database))
    if path == default_path():
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    try:
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
    except FileExistsError:
        return
    except OSError as error:
        raise StoreError(
            f"cannot create the database {str(path)!r} ({error.strerror}): create its folder,"
            " or give another --db"
        ) from error


def _set_up_sqlite(engine: sa.Engine, *, durable: bool, foreign_keys: bool) -> None:
    settings = {
        "foreign_keys": "ON" if foreign_keys else "OFF",
        "recursive_triggers": "ON",  # else INSERT OR REPLACE deletes an append-only row unseen
        "secure_delete": "ON",  # an erased text leaves no bytes in free pages
        "trusted_schema": "OFF",
        "cache_size": "-16384",  # KiB: keys are digests, so inserts touch pages all over an index
        "synchronous": "FULL" if durable else "NORMAL",
    }

    @event.listens_for(engine, "connect")
    def _connect(connection: sqlite3.Connection, _entry: ConnectionPoolEntry) -> None:
        connection.isolation_level = None  # the driver would open its own, deferred transactions
        for pragma, value in settings.items():
            connection.execute(f"PRAGMA {pragma}={value}")
        _use_write_ahead_log(connection)

    @event.listens_for(engine, "begin")
    def _begin(connection: sa.Connection) -> None:
        reads = connection.get_execution_options().get(_READ_ONLY, False)
        connection.exec_driver_sql(f"PRAGMA query_only={'ON' if reads else 'OFF'}")
        if reads:
            connection.exec_driver_sql("BEGIN")
        else:
            _begin_writing(connection)

    @event.listens_for(engine, "commit")
    def _commit(connection: sa.Connection) -> None:
        # After a full disk SQLite has already rolled back, and a commit would succeed by doing nothing.
        if not connection.connection.in_transaction:
            raise StoreError(
                f"{place(engine.url)} gave up this step after an error: nothing of it was stored"
            )


def _begin_writing(connection: sa.Connection) -> None:
    """Takes the write lock, asking every 2 ms while another process has it.

    SQLite's own waiting sleeps up to 100 ms between two tries, in which others are served again and again.
    """
    driver = connection.connection.dbapi_connection
    at_once = connection.get_execution_options().get(_AT_ONCE, False)
    until = time.monotonic() + (0 if at_once else BUSY_SECONDS)
    if driver is not None:
        driver.execute("PRAGMA busy_timeout=0")
    try:
        while True:
            try:
                connection.exec_driver_sql("BEGIN IMMEDIATE")
            except sa.exc.OperationalError as error:
                if "locked" not in str(error.orig) or time.monotonic() > until:
                    raise
                time.sleep(0.002)
            else:
                return
    finally:
        if driver is not None:
            driver.execute(f"PRAGMA busy_timeout={BUSY_SECONDS * 1000}")


def _use_write_ahead_log(connection: sqlite3.Connection) -> None:
    """Switches a new file to its write-ahead log; the switch itself waits for no lock, so wait here."""
    until = time.monotonic() + BUSY_SECONDS
    while True:
        try:
            connection.execute("PRAGMA journal_mode=WAL")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > until:
                raise
            time.sleep(0.02)
        else:
            return


@contextmanager
def _clear_errors(where: str) -> Iterator[None]:
    try:
        yield
    except (DBAPIError, sqlite3.Error) as error:
        raise clear_error(error, where) from error


def clear_error(error: DBAPIError | sqlite3.Error, where: str) -> StoreError | RecordError:
    """What went wrong in the database, as one sentence that says what to do."""
    of_driver = error.orig if isinstance(error, DBAPIError) else error
    said = str(of_driver).strip().partition("\n")[0]
    state = getattr(of_driver, "sqlstate", None) or ""
    if isinstance(error, IntegrityError | sqlite3.IntegrityError):
        return RecordError(f"{where} refused the record: {said}")
    for applies, sentence, retryable in _CAUSES:
        if applies(said.lower(), state):
            return StoreError(sentence.format(where=where, said=said), retryable=retryable)
    return StoreError(f"{where}: {said}. Nothing of this step was stored")


def _says(*words: str) -> Callable[[str, str], bool]:
    return lambda said, _state: any(word in said for word in words)


def _state(*prefixes: str) -> Callable[[str, str], bool]:
    return lambda _said, state: state.startswith(prefixes)


_FULL = (
    "the disk or the size limit of {where} is full: nothing of this step was stored, everything before it is"
    " safe; free some space and run the same command again"
)
_BUSY = (
    "another writer has kept {where} locked for more than 30 s ({said}):"
    " run the same command again when it has finished"
)
_GONE = (
    "the connection to {where} failed ({said}): start the server or correct --db, then run the same command"
    " again; what was already stored is not stored twice"
)
_CAUSES: tuple[tuple[Callable[[str, str], bool], str, bool], ...] = (
    (_says("disk is full"), _FULL, True),
    (_state("53100"), _FULL, True),
    (_says("database is locked", "database table is locked"), _BUSY, True),
    (_state("40"), "{where} could not order two writers ({said}): run the same command again", True),
    (
        _says("readonly database", "read-only transaction"),
        "{where} may only be read here ({said}): check the rights of the file and of its folder",
        False,
    ),
    (
        _says("not a database", "malformed"),
        "{where} is damaged or no SQLite database ({said}): run `voirdire db check`, or restore a backup",
        False,
    ),
    (
        _says("unable to open"),
        "cannot open {where}: check that its folder exists and may be written, or give another --db",
        False,
    ),
    (
        _says("disk i/o error"),
        "the disk under {where} failed ({said}): nothing of this step was stored",
        True,
    ),
    (_state("08", "57P"), _GONE, True),
    (_says("connection", "server closed"), _GONE, True),
)
