"""A database that fails in the middle of a run: nothing acknowledged is lost, nothing is stored twice."""

from __future__ import annotations

import shutil
from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from types import SimpleNamespace

import pytest
import sqlalchemy as sa
from sqlmodel import Session

from calibration.store.database import KeptWriter, Store, database_url, make_engine
from calibration.store.integrity import check
from judge.calls import ModelReply, ModelRequest
from judge.fake_model import FakeTransport
from judge.runs.recorder import SPARE_BYTES, SPARE_BYTES_A_CALL, require_space
from rubrics.errors import StoreError
from rubrics.order import OrderPolicy
from tests.judge.cases import judge
from tests.judge.run_world import (
    asked_once_each,
    carried_out,
    even_passes,
    lay_down,
    number_in,
    numbered,
    planned,
    rows,
    verdicts,
)

ONE_ORDER = judge(name="one-order", order=OrderPolicy.AS_DECLARED)
CONCURRENCY = 4


class Flaky(Store):
    """A store of which some steps fail, before or after they were committed."""

    def __init__(self, store: Store, *, failing: range, committed: bool, retryable: bool = True) -> None:
        super().__init__(store.engine)
        self._failing, self._committed, self._retryable = failing, committed, retryable
        self.steps = 0

    @contextmanager
    def write(self) -> Iterator[Session]:
        """As Store.write, failing where it was asked to."""
        with self.step(super().write()) as session:
            yield session

    @contextmanager
    def kept_writer(self) -> Iterator[KeptWriter]:
        """As Store.kept_writer, its writes failing where it was asked to."""
        with super().kept_writer() as kept:
            yield FlakyWriter(self, kept)

    @contextmanager
    def step(self, writing: AbstractContextManager[Session]) -> Iterator[Session]:
        """One of the steps that are counted and may fail."""
        self.steps += 1
        fails = self.steps in self._failing
        if fails and not self._committed:
            raise StoreError("the connection failed", retryable=self._retryable)
        with writing as session:
            yield session
        if fails:
            raise StoreError("the answer to the commit was lost", retryable=self._retryable)


class FlakyWriter(KeptWriter):
    """A kept writer of such a store."""

    def __init__(self, store: Flaky, kept: KeptWriter) -> None:
        self._flaky, self._kept = store, kept

    @contextmanager
    def write(self) -> Iterator[Session]:
        """As KeptWriter.write, failing where the store was asked to."""
        with self._flaky.step(self._kept.write()) as session:
            yield session


@pytest.mark.parametrize("committed", [False, True])
def test_a_database_that_comes_back_loses_and_repeats_nothing(store: Store, committed: bool) -> None:
    """Steps fail and are tried again, whether or not they had been committed: no call is made twice."""
    lay_down(store, numbered(30), ONE_ORDER)
    flaky = Flaky(store, failing=range(5, 9), committed=committed)
    model = FakeTransport(even_passes)
    summary = carried_out(flaky, planned(flaky, ONE_ORDER), model, patience_s=30.0)
    assert summary.complete
    assert (len(model.requests), asked_once_each(model)) == (30, True)
    assert (summary.calls.intended, summary.calls.unresolved) == (30, 0)
    assert len(verdicts(store)) == 30
    if store.dialect == "sqlite":
        assert check(store.where) == ()


def test_a_database_that_stays_away_ends_the_run_and_what_was_stored_stays(store: Store) -> None:
    """The error is told; no call starts after it; the answers in flight are asked again, and only those."""
    lay_down(store, numbered(30), ONE_ORDER)
    flaky = Flaky(store, failing=range(8, 10_000), committed=False)
    first = FakeTransport(even_passes)
    with pytest.raises(StoreError, match="the connection failed"):
        carried_out(flaky, planned(flaky, ONE_ORDER), first, concurrency=CONCURRENCY)
    kept = verdicts(store)
    assert 0 <= len(first.requests) - len(kept) <= CONCURRENCY
    second = FakeTransport(even_passes)
    summary = carried_out(store, planned(store, ONE_ORDER), second)
    assert summary.complete
    assert len(second.requests) == 30 - len(kept)
    assert summary.calls.unresolved >= len(first.requests) - len(kept)
    assert {row["digest"] for row in kept} <= {row["digest"] for row in verdicts(store)}


def test_a_connection_that_the_server_ends_is_made_again(postgres_store: Store) -> None:
    """PostgreSQL ends every connection in the middle of a run: every unit has its verdict, asked once."""
    lay_down(postgres_store, numbered(30), ONE_ORDER)

    def ends_connections(request: ModelRequest) -> ModelReply:
        if len(model.requests) == 10:
            with postgres_store.engine.connect() as other:
                other.exec_driver_sql(
                    "SELECT pg_terminate_backend(pid) FROM pg_stat_activity"
                    " WHERE pid <> pg_backend_pid() AND datname = current_database()"
                )
        return even_passes(request)

    model = FakeTransport(ends_connections)
    summary = carried_out(postgres_store, planned(postgres_store, ONE_ORDER), model, patience_s=30.0)
    assert (summary.complete, len(model.requests), summary.calls.unresolved) == (True, 30, 0)
    assert len(verdicts(postgres_store)) == 30


def test_a_full_disk_is_told_and_nothing_is_lost(sqlite_store: Store) -> None:
    """No page is left: a sentence that says so; with space the run asks again only what was in flight."""
    lay_down(sqlite_store, numbered(200), ONE_ORDER)
    ((pages,),) = rows(sqlite_store, "PRAGMA page_count")
    engine = make_engine(database_url(sqlite_store.where))

    @sa.event.listens_for(engine, "connect")
    def _limit(connection: object, _record: object) -> None:
        connection.execute(f"PRAGMA max_page_count={pages + 25}")  # type: ignore[attr-defined]

    long_winded = "because " * 200

    def verbose(request: ModelRequest) -> ModelReply:
        word = "fail" if number_in(request) % 2 else "pass"
        return ModelReply(f'{{"reason": "{long_winded}", "verdict": "{word}"}}', "stop", model="fake-1")

    small, first = Store(engine), FakeTransport(verbose)
    with pytest.raises(
        StoreError, match=r"is full: nothing of this step was stored.*free some space"
    ) as full:
        carried_out(small, planned(small, ONE_ORDER), first, concurrency=CONCURRENCY)
    small.close()
    assert full.value.retryable
    kept = verdicts(sqlite_store)
    assert 0 < len(kept) < 200
    assert 0 <= len(first.requests) - len(kept) <= CONCURRENCY
    second = FakeTransport(verbose)
    summary = carried_out(sqlite_store, planned(sqlite_store, ONE_ORDER), second)
    assert (summary.complete, summary.verdicts) == (True, {"fail": 100, "pass": 100})
    asked = Counter(map(number_in, (*first.requests, *second.requests)))
    assert sum(asked.values()) - 200 <= min(CONCURRENCY, summary.calls.unresolved)
    assert {row["digest"] for row in kept} <= {row["digest"] for row in verdicts(sqlite_store)}
    assert check(sqlite_store.where) == ()


def test_no_call_is_made_where_the_disk_has_no_room_for_its_answer(
    sqlite_store: Store, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Less free than the answers in flight need: it stops before the first call and says what it needs."""
    lay_down(sqlite_store, numbered(3), ONE_ORDER)
    needed = SPARE_BYTES + CONCURRENCY * SPARE_BYTES_A_CALL
    model = FakeTransport(even_passes)
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=needed - 1))
    with pytest.raises(
        StoreError, match=r"has 1\.3 MB free and 1\.3 MB are kept.*no call is made: free some"
    ):
        carried_out(sqlite_store, planned(sqlite_store, ONE_ORDER), model, concurrency=CONCURRENCY)
    assert model.requests == []
    assert rows(sqlite_store, "SELECT state FROM judge_run") == [("paused",)]
    monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=needed))
    require_space(sqlite_store, in_flight=CONCURRENCY)
