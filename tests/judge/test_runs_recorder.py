"""In which groups the writer of a run stores intents and answers."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from calibration.store.calls import CallEntry, FaultEntry
from judge.runs.entries import not_sent
from judge.runs.recorder import BEHIND, FULL_LOAD, LONGEST_S, LOOKED_AT_S, Load, Recorder
from rubrics.errors import StoreError
from tests.judge.run_world import NOW


def intent(number: int) -> CallEntry:
    """The intent of one call."""
    return CallEntry("run", f"item-{number}", ("states_terms",), "none", 1, 1, "shown")


def end(call: CallEntry) -> FaultEntry:
    """Something that is stored of the call."""
    return not_sent(call.key, "for a test")


class NoStore:
    """A database of a kind, of which a writer that stores nothing needs no more."""

    def __init__(self, dialect: str) -> None:
        self.dialect = dialect

    @contextmanager
    def kept_writer(self) -> Iterator[str]:
        """What stores in the event loop."""
        yield "kept"


class SaidLoad(Load):
    """A load that is what a test says."""

    full = False

    def is_full(self) -> bool:
        """As the test says."""
        return self.full


class Written(Recorder):
    """A writer that keeps what it should store, and takes its time over a commit."""

    def __init__(self, *, at_once: int, fails_at: int | None = None, dialect: str = "postgresql") -> None:
        store: Any = NoStore(dialect)
        self.load = SaidLoad()
        super().__init__(store, "run", now=lambda: NOW, backlog=1_000, at_once=at_once, load=self.load)
        self.groups: list[tuple[list[str], list[str]]] = []
        self.refuses: list[StoreError] = []
        """What storing in the event loop ends with, one after the other."""
        self.threads: list[bool] = []
        """Of each group, whether it was stored in a thread."""
        self.takes_s = 0.002
        self._fails_at = fails_at

    def _store_once(self, group: Any, writer: Any) -> None:
        if writer == "kept" and self.refuses:
            raise self.refuses.pop(0)
        if len(self.groups) == self._fails_at:
            raise StoreError("gone for good")
        time.sleep(self.takes_s)
        self.threads.append(threading.current_thread() is not threading.main_thread())
        self.groups.append(([each.key for each in group.calls], [each.call_key for each in group.faults]))


async def asked(recorder: Recorder, calls: list[CallEntry]) -> list[BaseException | None]:
    """All of them intended at one time."""
    async with recorder:
        return await asyncio.gather(*(recorder.intend(call) for call in calls), return_exceptions=True)


def test_intents_that_come_at_once_are_committed_in_small_groups_at_first() -> None:
    """Four full groups let the first calls begin early; a writer that is behind by then takes all."""
    calls = [intent(number) for number in range(64)]
    recorder = Written(at_once=8)
    assert set(asyncio.run(asked(recorder, calls))) == {None}
    assert [len(stored) for stored, _ in recorder.groups] == [*[8] * BEHIND, 64 - 8 * BEHIND]
    assert [key for stored, _ in recorder.groups for key in stored] == [call.key for call in calls]


def test_small_groups_come_again_once_the_writer_has_caught_up() -> None:
    """A second burst after the first is spread as the first was."""
    recorder = Written(at_once=8)

    async def twice() -> None:
        async with recorder:
            for burst in (range(64), range(100, 101), range(200, 264)):
                await asyncio.gather(*(recorder.intend(intent(number)) for number in burst))

    asyncio.run(twice())
    sizes = [len(stored) for stored, _ in recorder.groups]
    assert sizes == [*[8] * BEHIND, 32, 1, *[8] * BEHIND, 32]


def test_an_answer_is_stored_no_later_than_the_intent_that_follows_it() -> None:
    """So that never more answers are unstored than calls may be in flight."""
    recorder = Written(at_once=4)

    async def ask_on(number: int) -> None:
        before = intent(number)
        await recorder.intend(before)
        recorder.put(end(before))
        await recorder.intend(intent(1_000 + number))

    async def all_of_them() -> None:
        async with recorder:
            await asyncio.gather(*(ask_on(number) for number in range(30)))

    asyncio.run(all_of_them())
    stored_by = {key: place for place, (_, ends) in enumerate(recorder.groups) for key in ends}
    begun_at = {key: place for place, (calls, _) in enumerate(recorder.groups) for key in calls}
    assert len(stored_by) == 30
    for number in range(30):
        assert stored_by[intent(number).key] <= begun_at[intent(1_000 + number).key]


def test_whoever_waits_is_told_where_the_database_fails_for_good() -> None:
    """Those of the group that failed, those behind it, and those that come later."""
    recorder = Written(at_once=4, fails_at=1)

    async def run() -> list[BaseException | None]:
        results = await asked(recorder, [intent(number) for number in range(20)])
        with pytest.raises(StoreError):
            await recorder.intend(intent(99))
        return results

    results = asyncio.run(run())
    assert results[:4] == [None] * 4
    assert all(isinstance(each, StoreError) for each in results[4:])
    assert len(recorder.groups) == 1


def test_a_file_is_written_in_the_event_loop_and_a_server_in_a_thread() -> None:
    """A thread would wait for the interpreter at every row; a server may take its time."""
    for dialect, aside in (("sqlite", False), ("postgresql", True)):
        recorder = Written(at_once=2, dialect=dialect)
        assert set(asyncio.run(asked(recorder, [intent(number) for number in range(5)]))) == {None}
        assert set(recorder.threads) == {aside}


def test_a_file_that_is_locked_is_waited_for_in_a_thread() -> None:
    """Calls in flight go on meanwhile; what was refused is stored whole, and so is what comes next."""
    recorder = Written(at_once=2, dialect="sqlite")
    recorder.refuses = [StoreError("locked", retryable=True)]
    assert set(asyncio.run(asked(recorder, [intent(number) for number in range(6)]))) == {None}
    assert sum(len(stored) for stored, _ in recorder.groups) == 6
    assert set(recorder.threads) == {True}


def test_a_file_that_fails_for_good_is_not_tried_again() -> None:
    """Whoever waits is told."""
    recorder = Written(at_once=8, dialect="sqlite")
    recorder.refuses = [StoreError("damaged")]
    (told,) = asyncio.run(asked(recorder, [intent(1)]))
    assert isinstance(told, StoreError)
    assert recorder.groups == []


def test_a_slow_disk_does_not_hold_up_the_calls() -> None:
    """After one long commit the next ones are made in a thread."""
    recorder = Written(at_once=1, dialect="sqlite")
    recorder.takes_s = LONGEST_S * 1.1
    assert set(asyncio.run(asked(recorder, [intent(number) for number in range(3)]))) == {None}
    assert recorder.threads == [False, True, True]


def test_groups_stay_small_in_the_event_loop_until_processor_time_is_short() -> None:
    """There the calls of a group begin as soon as it is stored; large groups cost least."""
    for full, sizes in ((False, [8] * 8), (True, [64])):
        recorder = Written(at_once=8, dialect="sqlite")
        recorder.load.full = full
        assert set(asyncio.run(asked(recorder, [intent(number) for number in range(64)]))) == {None}
        assert [len(stored) for stored, _ in recorder.groups] == sizes


def test_the_load_is_that_of_the_last_quarter_of_a_second() -> None:
    """Looked at once in it: a short burst is no load, and one that has ended is none any more."""
    clock, taken = [0.0], [0.0]
    load = Load(lambda: clock[0], lambda: taken[0])
    said = []
    for seconds, processor in (
        (0.1, 0.1),
        (LOOKED_AT_S, 0.0),
        (LOOKED_AT_S, FULL_LOAD),
        (0.01, 0.0),
        (1.0, 0.2),
    ):
        clock[0] += seconds
        taken[0] += processor
        said.append(load.is_full())
    assert said == [False, False, True, True, False]
