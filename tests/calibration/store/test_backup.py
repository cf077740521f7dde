"""A copy can be made while others write, and a store started again from it."""

from __future__ import annotations

import sqlite3
import threading
from contextlib import closing
from pathlib import Path

import pytest

from calibration.store.backup import backup, restore
from calibration.store.chain import append_event, events
from calibration.store.database import Store
from calibration.store.integrity import check
from calibration.store.items import Scope, iter_full_items
from calibration.store.schema import open_store
from rubrics.errors import StoreError
from tests.calibration.store.evidence import DATASET, NOW, lay_down, sign


def filled(store: Store) -> Path:
    """The file of the store, with a few records in it."""
    with store.write() as session:
        sign(session, lay_down(session))
    return Path(store.where)


def test_a_restored_store_is_what_was_backed_up(sqlite_store: Store, tmp_path: Path) -> None:
    """Row counts, texts and chains are equal, the copy is one file for its owner, and the store works on."""
    source = filled(sqlite_store)
    copy = backup(source, tmp_path / "copy.db")
    assert (copy.rows["item"], copy.rows["decision"]) == (6, 1)
    assert copy.path.stat().st_mode & 0o777 == 0o600
    assert sorted(each.name for each in tmp_path.glob("copy.db*")) == ["copy.db"]
    restored = restore(copy.path, tmp_path / "again.db", sha256=copy.sha256)
    assert restored.rows == copy.rows
    assert check(restored.path) == ()
    with open_store(restored.path) as again, again.write() as session:
        sign(session, lay_down(session), seconds=1)
        scope = Scope(dataset=DATASET)
        with sqlite_store.read() as before:
            old = list(iter_full_items(session=before, scope=scope))
        assert list(iter_full_items(session=session, scope=scope)) == old


def test_a_backup_under_writing_is_one_state(sqlite_store: Store, tmp_path: Path) -> None:
    """While events are appended without a pause each copy is whole: its chain has no gap."""
    stop = threading.Event()

    def write() -> None:
        while not stop.is_set():
            with sqlite_store.write() as session:
                append_event(session=session, stream="s", kind="k", actor="a", payload={}, at=NOW)

    writer = threading.Thread(target=write)
    writer.start()
    try:
        copies = [backup(sqlite_store.where, tmp_path / f"copy-{n}.db") for n in range(5)]
    finally:
        stop.set()
        writer.join()
    for copy in copies:
        assert check(copy.path) == ()
        with open_store(copy.path) as store, store.read() as session:
            assert [event.seq for event in events(session=session, stream="s")] == list(
                range(1, copy.rows["audit_event"] + 1)
            )


def test_nothing_is_overwritten(sqlite_store: Store, tmp_path: Path) -> None:
    """An existing file, or the log of one, is left alone."""
    source = filled(sqlite_store)
    copy = backup(source, tmp_path / "copy.db")
    with pytest.raises(StoreError, match=r"exists; .*nothing is ever overwritten"):
        backup(source, copy.path)
    with pytest.raises(StoreError, match=r"exists; .*nothing is ever overwritten"):
        restore(copy.path, source)
    (tmp_path / "new.db-wal").touch()
    with pytest.raises(StoreError, match=r"new\.db-wal' exists"):
        restore(copy.path, tmp_path / "new.db")


def test_a_damaged_or_foreign_file_is_not_restored(sqlite_store: Store, tmp_path: Path) -> None:
    """A changed byte is found by the noted digest; rubbish, a foreign and a missing file are named."""
    copy = backup(filled(sqlite_store), tmp_path / "copy.db")
    bytes_of = bytearray(copy.path.read_bytes())
    bytes_of[len(bytes_of) // 2] ^= 1
    copy.path.write_bytes(bytes_of)
    with pytest.raises(StoreError, match="not the file that was noted"):
        restore(copy.path, tmp_path / "new.db", sha256=copy.sha256)
    rubbish = tmp_path / "rubbish.db"
    rubbish.write_text("no database" * 1000)
    foreign = tmp_path / "foreign.db"
    with closing(sqlite3.connect(foreign)) as connection:
        connection.execute("CREATE TABLE alembic_version (version_num TEXT)")
        connection.execute("INSERT INTO alembic_version VALUES ('abcd')")
        connection.commit()
    for wrong, words in (
        (rubbish, "could not be copied"),
        (foreign, "cannot be restored: revision abcd"),
        (tmp_path / "none", "there is no backup"),
    ):
        with pytest.raises(StoreError, match=words):
            restore(wrong, tmp_path / "new.db")
    with pytest.raises(StoreError, match="there is no database"):
        backup(tmp_path / "none", tmp_path / "new.db")
    assert not (tmp_path / "new.db").exists()


def test_a_backup_that_fails_leaves_no_half_file(sqlite_store: Store, tmp_path: Path) -> None:
    """A source that turns out to be no database: no file is left under the new name."""
    filled(sqlite_store)
    rubbish = tmp_path / "rubbish.db"
    rubbish.write_text("no database" * 1000)
    with pytest.raises(StoreError, match="not a database"):
        backup(rubbish, tmp_path / "copy.db")
    assert not (tmp_path / "copy.db").exists()
    with pytest.raises(StoreError, match="cannot create"):
        backup(sqlite_store.where, tmp_path / "no" / "folder" / "copy.db")


def test_postgresql_is_left_to_its_own_tool(tmp_path: Path) -> None:
    """The sentence names pg_dump with its arguments, and shows no password."""
    address = "postgresql://me:secret@127.0.0.1/evidence"
    with pytest.raises(
        StoreError, match=r"pg_dump --format=custom .* 'postgresql://me:\*\*\*@127.0.0.1/evidence'"
    ):
        backup(address, tmp_path / "copy.db")
    with pytest.raises(StoreError, match="pg_restore"):
        restore(tmp_path / "copy.db", address)
