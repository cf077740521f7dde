"""Killed at any moment, out of space, or without the server: all or nothing, and a clear sentence."""

from __future__ import annotations

import os
import random
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
import sqlalchemy as sa

from calibration.store.chain import append_event, events
from calibration.store.columns import table_of
from calibration.store.database import Store, database_url, make_engine
from calibration.store.decisions import iter_decisions
from calibration.store.integrity import check
from calibration.store.items import Scope
from calibration.store.payloads import payload, put_payloads
from calibration.store.schema import open_store
from calibration.store.verdicts import VerdictRow, add_verdicts, iter_verdicts
from rubrics.errors import StoreError
from tests.calibration.store.evidence import DATASET, NOW, lay_down, verdict
from tests.calibration.store.writer import ITEMS


def address_of(store: Store) -> str:
    """What `--db` would be for the store."""
    url = store.engine.url
    return str(url.database) if store.dialect == "sqlite" else url.render_as_string(hide_password=False)


@contextmanager
def writer_process() -> Iterator[subprocess.Popen[str]]:
    """The process that forks a writer for each line it is given."""
    command = [sys.executable, "-m", "tests.calibration.store.writer"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as process:
        yield process
        assert process.stdin
        process.stdin.close()


def kill_after(
    process: subprocess.Popen[str], address: str, first: int, delay: float
) -> tuple[int, set[int]]:
    """The last transaction that was begun and those that were acknowledged before the writer was killed."""
    assert process.stdin
    assert process.stdout
    process.stdin.write(f"{address} {first}\n")
    process.stdin.flush()
    begun, done = first, set()
    timer: threading.Timer | None = None
    child = 0
    for line in process.stdout:
        word, number = line.split()
        if word == "child":
            child = int(number)
        elif word == "begin":
            begun = int(number)
        elif word == "done":
            done.add(int(number))
        if timer is None and child and done:
            timer = threading.Timer(delay, os.kill, (child, signal.SIGKILL))
            timer.start()
        if word == "dead":
            break
    return begun, done


def written(store: Store) -> list[int]:
    """The numbers of the transactions that are there, each of which must be whole."""
    with store.read() as session:
        numbers = [int(event.payload["n"]) for event in events(session=session, stream="writes")]
        table = table_of(VerdictRow)
        counted = sa.select(table.c.repeat, sa.func.count()).group_by(table.c.repeat).order_by(table.c.repeat)
        assert [tuple(row) for row in session.connection().execute(counted)] == [(n, ITEMS) for n in numbers]
        labels = session.connection().exec_driver_sql(
            "SELECT repeat, count(*) FROM assessment GROUP BY repeat"
        )
        assert sorted(tuple(row) for row in labels) == [(n, ITEMS) for n in numbers]
        assert len(list(iter_decisions(session=session))) == len(numbers)
    return numbers


@pytest.mark.parametrize("kills", [6, pytest.param(20, marks=pytest.mark.slow)])
def test_killed_at_random_moments_all_or_nothing(store: Store, kills: int) -> None:
    """Kill -9 at random moments of imports and signatures: each is there whole or not at all.

    Nothing acknowledged is lost, nothing is there that was not begun, and every digest and chain holds.
    """
    chance = random.Random(20261130)
    address, last = address_of(store), 0
    with writer_process() as process:
        for _kill in range(kills):
            begun, done = kill_after(process, address, last, chance.uniform(0, 0.15))
            there = written(store)
            assert done <= set(there) <= set(range(1, begun + 1))
            assert there == sorted(set(there))
            last = begun
    assert check(address) == ()


def test_a_full_disk_is_told_and_nothing_is_lost(sqlite_store: Store, tmp_path: Path) -> None:
    """Out of space: a clear error, nothing half-stored, everything readable; with space it works again."""
    with sqlite_store.write() as session:
        run = lay_down(session).run_key
        add_verdicts(session=session, verdicts=[verdict(run, n) for n in range(6)], at=NOW)
        pages = session.connection().exec_driver_sql("PRAGMA page_count").scalar_one()
    small = small_store(sqlite_store, pages + 3)
    big = [payload({"raw": f"{n}" * 3000}) for n in range(50)]
    stored = 0

    def fill() -> None:
        nonlocal stored
        for each in big:
            with small.write() as session:
                put_payloads(session=session, payloads=[each])
            stored += 1

    with pytest.raises(StoreError, match=r"is full: nothing of this step was stored.*free some") as full:
        fill()
    assert stored
    assert full.value.retryable
    with small.read() as session:
        assert len(list(iter_verdicts(session=session, scope=Scope(dataset=DATASET)))) == 6
        texts = session.connection().exec_driver_sql("SELECT count(*) FROM item_payload").scalar_one()
        assert texts == 6 + stored
    small.close()
    with sqlite_store.write() as session:
        assert put_payloads(session=session, payloads=big) == 50 - stored
    assert check(sqlite_store.where) == ()


def small_store(store: Store, pages: int) -> Store:
    """The same file, as if the disk had room for so many pages only."""
    engine = make_engine(database_url(store.where))

    @sa.event.listens_for(engine, "connect")
    def _limit(connection: object, _record: object) -> None:
        connection.execute(f"PRAGMA max_page_count={pages}")  # type: ignore[attr-defined]

    return Store(engine)


def test_a_step_that_the_database_gave_up_is_not_committed(sqlite_store: Store) -> None:
    """Where SQLite has rolled back by itself, going on and committing is refused: no half step stays."""

    def go_on() -> None:
        with sqlite_store.write() as session:
            append_event(session=session, stream="s", kind="before", actor="a", payload={}, at=NOW)
            session.connection().exec_driver_sql("ROLLBACK")  # as it does itself after some errors
            append_event(session=session, stream="t", kind="after", actor="a", payload={}, at=NOW)

    with pytest.raises(StoreError, match="gave up this step after an error"):
        go_on()
    with sqlite_store.read() as session:
        assert list(events(session=session, stream="s")) == []


def test_an_error_in_a_step_undoes_all_of_it(store: Store) -> None:
    """Whatever is raised in a writing block, nothing of the block is stored."""

    def step() -> None:
        with store.write() as session:
            lay_down(session)
            raise KeyError("a bug")

    with pytest.raises(KeyError):
        step()
    with store.read() as session:
        assert session.connection().exec_driver_sql("SELECT count(*) FROM item").scalar_one() == 0


def test_a_repeated_step_after_an_unclear_commit_stores_nothing_twice(store: Store) -> None:
    """The commit reached the database and its answer was lost: doing the step again adds nothing."""

    def step() -> tuple[int, int]:
        with store.write() as session:
            run = lay_down(session).run_key
            outcome = add_verdicts(session=session, verdicts=[verdict(run, n) for n in range(6)], at=NOW)
        return outcome.added, outcome.present

    class Lost(Exception):
        """The answer to a commit that never came."""

    @sa.event.listens_for(sa.orm.Session, "after_commit")
    def _lose(_session: object) -> None:
        raise Lost

    try:
        with pytest.raises(Lost):
            step()
    finally:
        sa.event.remove(sa.orm.Session, "after_commit", _lose)
    assert step() == (0, 6)


def test_a_dead_server_is_told_clearly() -> None:
    """No server: what could not be reached, and that repeating is safe; the password is not shown."""
    with pytest.raises(StoreError, match=r"connection to postgresql://me:\*\*\*@127\.0\.0\.1:1/none") as gone:
        open_store("postgresql://me:secret@127.0.0.1:1/none")
    assert gone.value.retryable
    assert "secret" not in str(gone.value)


def test_a_lost_connection_is_told_and_the_next_step_works(postgres_store: Store) -> None:
    """The server ends the connection in the middle of a step: nothing is stored, and the next step works."""

    def step() -> None:
        with postgres_store.write() as session:
            lay_down(session)
            victim = session.connection().exec_driver_sql("SELECT pg_backend_pid()").scalar_one()
            with postgres_store.engine.connect() as other:
                other.exec_driver_sql(f"SELECT pg_terminate_backend({victim})")
            lay_down(session, judge="other")

    with pytest.raises(StoreError, match="not stored twice") as gone:
        step()
    assert gone.value.retryable
    with postgres_store.write() as session:
        assert session.connection().exec_driver_sql("SELECT count(*) FROM item").scalar_one() == 0
        lay_down(session)


def test_a_locked_file_is_told_after_waiting(sqlite_store: Store, monkeypatch: pytest.MonkeyPatch) -> None:
    """Another process, or a thread of this one, keeps the write lock: the writer waits, then says so."""
    monkeypatch.setattr("calibration.store.database.BUSY_SECONDS", 0.05)
    other = Store(make_engine(database_url(sqlite_store.where)))
    with sqlite_store.write() as session:
        lay_down(session)
        for store in (other, sqlite_store):
            with pytest.raises(StoreError, match="locked for more than") as locked, store.write() as second:
                lay_down(second)
            assert locked.value.retryable
    other.close()
    with sqlite_store.write() as session:
        lay_down(session)


def test_readers_see_one_state_and_cannot_write(store: Store) -> None:
    """A reading session is not disturbed by a writer, and refuses to write."""
    with store.read() as reader:
        count = "SELECT count(*) FROM item"
        assert reader.connection().exec_driver_sql(count).scalar_one() == 0
        with store.write() as session:
            lay_down(session)
        assert reader.connection().exec_driver_sql(count).scalar_one() == 0
    with pytest.raises(StoreError, match="may only be read here"), store.read() as session:
        lay_down(session)
    with store.write() as session:
        lay_down(session)
