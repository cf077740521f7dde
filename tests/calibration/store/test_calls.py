"""Intents and faults of calls: recorded once, and what of a run is still open."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from sqlmodel import Session

from calibration.store.calls import (
    CallEntry,
    FaultEntry,
    OpenUnit,
    add_calls,
    add_faults,
    attempts_made,
    begin_run,
    cancel_requested,
    open_units,
    settled_units,
)
from calibration.store.database import Store
from calibration.store.inserting import Added
from calibration.store.items import item_key
from calibration.store.judges import RunState, get_run, move_run, request_cancel
from calibration.store.verdicts import add_verdicts
from rubrics.errors import RecordError
from rubrics.verdict import UnknownReason
from tests.calibration.store.evidence import DATASET, NOW, lay_down, verdict


def call(run: str, number: int, **changes: Any) -> CallEntry:
    """The intent of asking `correct` about item `number`, in order ab, for the first time."""
    made = CallEntry(run, item_key(DATASET, f"case-{number}"), ("correct",), "ab", 1, 1, "d" * 64, 100)
    return replace(made, **changes)


def fault(of: CallEntry, detail: str = "timeout", cost: int | None = None) -> FaultEntry:
    """A call that brought nothing."""
    return FaultEntry(of.key, UnknownReason.ERROR, detail, f"it met {detail}", [{"number": 1}], cost)


def answered(session: Session, of: CallEntry, number: int, **changes: Any) -> None:
    """The verdict that a call brought."""
    given: dict[str, Any] = {
        "order": "ab",
        "repeat": 1,
        "call_key": of.key,
        "cost_micros": 7,
        "tokens_in": 5,
        "tokens_out": 2,
    }
    entry = verdict(of.run_key, number, **(given | changes))
    add_verdicts(session=session, verdicts=[entry], at=NOW)


def test_an_intent_is_recorded_once(store: Store) -> None:
    """The same intent again adds nothing; the next attempt, another order or repeat is another one."""
    with store.write() as session:
        run = lay_down(session).run_key
        first = call(run, 0)
        others = [call(run, 0, attempt=2), call(run, 0, presentation="ba"), call(run, 0, repeat=2)]
        assert add_calls(session=session, calls=[first], at=NOW) == Added(1, 0, ())
        assert add_calls(session=session, calls=[first, *others], at=NOW) == Added(3, 1, ())
    assert len({first.key, *(other.key for other in others)}) == 4


def test_a_call_belongs_to_a_run_and_an_item(store: Store) -> None:
    """A run or an item that is not recorded is refused, and so is an attempt 0."""
    with store.write() as session:
        run = lay_down(session).run_key
    for wrong in (call("none", 0), call(run, 99), call(run, 0, attempt=0)):
        with pytest.raises(RecordError, match="refused the record"), store.write() as session:
            add_calls(session=session, calls=[wrong], at=NOW)


def test_units_are_settled_by_verdicts_and_attempts_are_counted(store: Store) -> None:
    """Only of the items asked for; an attempt that failed counts as one made."""
    with store.write() as session:
        run = lay_down(session).run_key
        first, second = call(run, 0), call(run, 0, attempt=2)
        add_calls(session=session, calls=[first, second, call(run, 1, criteria=("correct", "tone"))], at=NOW)
        answered(session, second, 0)
    keys = [item_key(DATASET, f"case-{number}") for number in range(3)]
    with store.read() as session:
        assert settled_units(session=session, run_key=run, item_keys=keys) == {(keys[0], "correct", "ab", 1)}
        assert settled_units(session=session, run_key=run, item_keys=keys[1:]) == frozenset()
        made = attempts_made(session=session, run_key=run, item_keys=keys)
    assert made == {
        (keys[0], "correct", "ab", 1): 2,
        (keys[1], "correct", "ab", 1): 1,
        (keys[1], "tone", "ab", 1): 1,
    }


def test_a_unit_is_open_while_its_newest_call_failed(store: Store) -> None:
    """Not after a verdict, not while it is being asked again, and with the reason of the newest fault."""
    with store.write() as session:
        run = lay_down(session).run_key
        calls = [call(run, number) for number in range(4)]
        again = [call(run, 1, attempt=2), call(run, 2, attempt=2), call(run, 3, attempt=2)]
        add_calls(session=session, calls=[*calls, *again], at=NOW)
        add_faults(session=session, faults=[fault(each) for each in calls], at=NOW)
        answered(session, again[0], 1)
        add_faults(session=session, faults=[fault(again[1], "unreachable")], at=NOW)
    with store.read() as session:
        assert open_units(session=session, run_key=run) == [
            OpenUnit("case-0", "correct", "ab", 1, UnknownReason.ERROR, "timeout", "it met timeout"),
            OpenUnit("case-2", "correct", "ab", 1, UnknownReason.ERROR, "unreachable", "it met unreachable"),
        ]


def test_a_fault_may_say_anything(store: Store) -> None:
    """NUL and half a character in its sentence become visible escapes."""
    with store.write() as session:
        run = lay_down(session).run_key
        add_calls(session=session, calls=[call(run, 0)], at=NOW)
        told = replace(fault(call(run, 0)), sentence="a\0b\ud800", attempts=[{"fault": "\0"}])
        add_faults(session=session, faults=[told], at=NOW)
    with store.read() as session:
        (found,) = open_units(session=session, run_key=run)
    assert found.sentence == "a\\u{0}b\\u{D800}"


def test_a_run_that_begins_answers_an_earlier_request_to_cancel(store: Store) -> None:
    """Asked to stop, then begun again: it runs, and nobody asks it to stop."""
    with store.write() as session:
        run = lay_down(session).run_key
        move_run(session=session, key=run, state=RunState.CANCELLED)
        request_cancel(session=session, key=run, at=NOW)
        assert cancel_requested(session=session, key=run)
        begin_run(session=session, key=run)
    with store.read() as session:
        assert not cancel_requested(session=session, key=run)
        assert get_run(session=session, key=run).state is RunState.RUNNING
