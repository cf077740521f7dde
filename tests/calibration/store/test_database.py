"""How connections are set up, and what is said when one cannot be made."""

from __future__ import annotations

import sqlite3
import time
from contextlib import closing, suppress
from datetime import UTC, datetime, timedelta, timezone
from pathlib import Path

import pytest
import sqlalchemy as sa

from calibration.store.columns import in_utc, row_digest, row_key, table_of
from calibration.store.database import (
    BUSY_SECONDS,
    Store,
    clear_error,
    database_url,
    default_path,
    make_engine,
)
from calibration.store.inserting import insert_many
from calibration.store.payloads import ItemPayloadRow
from calibration.store.schema import open_store
from rubrics.errors import RecordError, StoreError


@pytest.mark.parametrize(
    ("given", "address"),
    [
        ("evidence.db", "sqlite:///evidence.db"),
        ("/a b/100%.db", "sqlite:////a b/100%25.db"),
        ("sqlite:////abs/x.db", "sqlite:////abs/x.db"),
        ("sqlite:///rel.db", "sqlite:///rel.db"),
        ("postgresql://u@h/d", "postgresql+psycopg://u@h/d"),
        ("postgres://u@h/d?host=/run", "postgresql+psycopg://u@h/d?host=%2Frun"),
    ],
)
def test_addresses(given: str, address: str) -> None:
    """A file is SQLite; the usual spellings of PostgreSQL are its one driver."""
    assert str(database_url(given)) == address


@pytest.mark.parametrize("given", ["mysql://h/d", "sqlite://", "sqlite:///", "http://x"])
def test_other_addresses_are_refused(given: str) -> None:
    """What is no store is named, with what to give instead."""
    with pytest.raises(StoreError, match="is no database for voirdire: give a file, or postgresql://"):
        database_url(given)


def test_the_default_is_one_file_of_the_user(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Without --db the store lies in the user's data directory, made for the owner only."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "share"))
    assert default_path() == tmp_path / "share" / "voirdire" / "voirdire.db"
    with open_store() as store:
        assert store.where == str(default_path())
    assert default_path().stat().st_mode & 0o777 == 0o600
    monkeypatch.delenv("XDG_DATA_HOME")
    assert default_path() == Path.home() / ".local/share/voirdire/voirdire.db"


def test_a_folder_that_is_not_there_is_named(tmp_path: Path) -> None:
    """No folder is made for a file that was given by name."""
    with pytest.raises(StoreError, match=r"cannot create the database .*: create its folder"):
        open_store(tmp_path / "no" / "v.db")
    wrong = tmp_path / "text.db"
    wrong.write_text("just text\n" * 500)
    with pytest.raises(StoreError, match="is damaged or no SQLite database"):
        open_store(wrong)


@pytest.mark.parametrize(("durable", "level"), [(False, 1), (True, 2)])
def test_every_sqlite_connection_is_set_up(tmp_path: Path, durable: bool, level: int) -> None:
    """The settings that the promises rest on hold on each connection, for reading and for writing."""
    expected = {
        "foreign_keys": 1,
        "recursive_triggers": 1,
        "secure_delete": 1,
        "trusted_schema": 0,
        "synchronous": level,
        "journal_mode": "wal",
        "busy_timeout": 30_000,
    }
    with open_store(tmp_path / "v.db", durable=durable) as store:
        for opened, reading in ((store.write, 0), (store.read, 1)):
            with opened() as session:
                found = {
                    pragma: session.connection().exec_driver_sql(f"PRAGMA {pragma}").scalar_one()
                    for pragma in expected
                }
                assert found == expected
                assert session.connection().exec_driver_sql("PRAGMA query_only").scalar_one() == reading


def test_a_writer_holds_the_lock_from_its_first_statement(sqlite_store: Store) -> None:
    """BEGIN IMMEDIATE: nobody can come between a read and the write that follows from it."""
    with sqlite_store.write() as session, closing(sqlite3.connect(sqlite_store.where, timeout=0)) as other:
        session.connection().exec_driver_sql("SELECT 1")
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            other.execute("BEGIN IMMEDIATE")


def test_a_kept_writer_stores_a_block_whole_or_not_at_all(sqlite_store: Store) -> None:
    """What fails leaves nothing behind, not even open: the next block is one of its own."""
    row = {"digest": "a" * 64, "text": '"x"', "raw": None}
    with sqlite_store.kept_writer() as kept:
        with suppress(ZeroDivisionError), kept.write() as session:
            insert_many(session=session, row=ItemPayloadRow, rows=[row])
            raise ZeroDivisionError
        with kept.write() as session:
            insert_many(session=session, row=ItemPayloadRow, rows=[{**row, "digest": "b" * 64}])
        with pytest.raises(RecordError, match="refused the record"), kept.write() as session:
            insert_many(session=session, row=ItemPayloadRow, rows=[{**row, "digest": "c" * 64, "text": None}])
        with sqlite_store.read() as session:
            stored = (
                session.connection().execute(sa.select(table_of(ItemPayloadRow).c.digest)).scalars().all()
            )
    assert stored == ["b" * 64]


def test_a_kept_writer_never_waits(sqlite_store: Store) -> None:
    """Where another connection writes it is refused at once, and goes on once that has ended."""
    with sqlite_store.kept_writer() as kept, closing(sqlite3.connect(sqlite_store.where)) as other:
        other.execute("BEGIN IMMEDIATE")
        began = time.monotonic()
        with pytest.raises(StoreError) as refused, kept.write() as session:
            session.connection()
        assert refused.value.retryable
        assert time.monotonic() - began < BUSY_SECONDS / 2
        other.execute("ROLLBACK")
        with kept.write() as session:
            session.connection()


def test_times_are_utc(store: Store) -> None:
    """A moment comes back in UTC whatever zone it was given in; one without a zone is refused."""
    moment = datetime(2026, 3, 29, 2, 30, 0, 1, tzinfo=timezone(timedelta(hours=5, minutes=45)))
    values = {"digest": "x", "text": None, "erased_by": "a", "erase_reason": "b"}
    with store.write() as session:
        insert_many(session=session, row=ItemPayloadRow, rows=[{**values, "erased_at": moment}])
        back = session.connection().execute(sa.select(ItemPayloadRow.erased_at)).scalar_one()  # type: ignore[call-overload]
        assert back == moment
        assert back.tzinfo is UTC
    with pytest.raises(ValueError, match="has no time zone"):
        in_utc(datetime(2026, 1, 1))  # noqa: DTZ001 - a time without a zone is what is refused
    assert in_utc(moment) == moment


def test_keys_and_digests_tell_rows_apart() -> None:
    """Equal parts give equal keys; moving a letter from one part to the next gives another."""
    assert row_key("a", "bc") == row_key("a", "bc") != row_key("ab", "c")
    assert row_key("a", None) != row_key("a", "None")
    first = {"x": "a", "y": "bc", "at": datetime(2026, 1, 1, tzinfo=UTC), "n": 1, "none": None}
    names = ("x", "y", "at", "n", "none")
    same = {**first, "at": datetime(2026, 1, 1, 1, tzinfo=timezone(timedelta(hours=1)))}
    assert row_digest(first, names) == row_digest(same, names)
    for changed in ({"x": "ab", "y": "c"}, {"n": 2}, {"none": "x"}, {"y": None, "none": "bc"}, {"n": True}):
        assert row_digest({**first, **changed}, names) != row_digest(first, names)


def test_an_unknown_error_is_still_one_sentence() -> None:
    """What no rule knows is told in the database's own words, and that nothing was stored."""
    odd = sa.exc.OperationalError("SELECT", {}, Exception("the moon is full\nDETAIL: more"))
    assert str(clear_error(odd, "x.db")) == "x.db: the moon is full. Nothing of this step was stored"


def test_postgresql_without_its_driver_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    """The one command that installs it."""

    def missing(*_args: object, **_kwargs: object) -> None:
        raise ModuleNotFoundError("psycopg")

    monkeypatch.setattr(sa, "create_engine", missing)
    with pytest.raises(StoreError, match=r"pip install 'voirdire\[postgres\]'"):
        make_engine(database_url("postgresql://h/d"))


def test_a_stream_of_rows_is_inserted_chunk_by_chunk(store: Store) -> None:
    """Rows are read as they are needed; repeats within a chunk and across chunks are counted as present."""
    taken = 0

    def rows() -> object:
        nonlocal taken
        for number in [*range(25), 3, 24, 24]:
            taken += 1
            yield {"digest": f"d{number}", "text": "{}"}

    with store.write() as session:
        outcome = insert_many(session=session, row=ItemPayloadRow, rows=rows(), chunk=10)  # type: ignore[arg-type]
        assert (outcome.added, outcome.present, outcome.different, taken) == (25, 3, (), 28)
        empty = insert_many(session=session, row=ItemPayloadRow, rows=[])
        assert (empty.added, empty.present) == (0, 0)
