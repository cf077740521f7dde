"""Calls and verdicts of a run, counted: what is unresolved, what it cost, who answered."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from calibration.store.calls import CallEntry, add_calls, add_faults
from calibration.store.database import Store
from calibration.store.inserting import Added
from calibration.store.tallies import (
    CallTally,
    LostAttempts,
    VerdictTally,
    lost_attempts,
    models_of_run,
    tally_calls,
    tally_verdicts,
)
from calibration.store.verdicts import add_verdicts
from rubrics.verdict import UnknownReason
from tests.calibration.store.evidence import NOW, lay_down, verdict
from tests.calibration.store.test_calls import answered, call, fault


def test_calls_are_counted_by_what_became_of_them(store: Store) -> None:
    """Answered, failed, never made, cut off: each once, with what is known of its cost.

    Known: 7 of the answer and 0 of the call never made. Unknown: an answer without a price, a time-out, and
    the call that was cut off, 100 set aside for each, and none for one without a price.
    """
    with store.write() as session:
        run = lay_down(session).run_key
        calls = [call(run, number) for number in range(5)] + [call(run, 5, reserved_micros=None)]
        add_calls(session=session, calls=calls, at=NOW)
        answered(session, calls[0], 0)
        answered(session, calls[1], 1, cost_micros=None, tokens_out=None)
        add_faults(session=session, faults=[fault(calls[2]), fault(calls[3], "cancelled", 0)], at=NOW)
        assert add_faults(session=session, faults=[fault(calls[2])], at=NOW) == Added(0, 1, ())
    with store.read() as session:
        tally = tally_calls(session=session, run_key=run)
        assert tally == CallTally(
            intended=6,
            not_made=1,
            unresolved=2,
            known_micros=7,
            unknown_cost=4,
            reserved_micros=300,
            unpriced_uncounted=1,
        )
        assert tally.made == 5
        assert tally_verdicts(session=session, run_key=run) == [VerdictTally("pass", None, None, 2, 10, None)]
        assert tally_calls(session=session, run_key="other") == CallTally(0, 0, 0, 0, 0, 0)


def test_lost_attempts_are_counted_beside_what_their_calls_cost(store: Store) -> None:
    """Of an answered call each, of a failed one all but one, which is the call's own; refused ones never.

    An answer that spells the word is no fault, and an attempt without a price leaves no amount of all.
    """
    lost, refused = {"fault": "timeout"}, {"fault": "overloaded"}
    done = {"number": 3, "fault": None}
    with store.write() as session:
        run = lay_down(session).run_key
        calls = [call(run, number) for number in range(5)]
        add_calls(session=session, calls=calls, at=NOW)
        answered(session, calls[0], 0, raw='{"fault":"timeout"}', fields={"attempts": [refused, lost, done]})
        answered(session, calls[1], 1, cost_micros=None, fields={"attempts": [lost, lost, done]})
        failures: list[tuple[CallEntry, int | None, list[dict[str, Any]]]] = [
            (calls[2], None, [lost, lost, refused]),
            (calls[3], 0, [refused]),
            (calls[4], 3, [lost, done]),
        ]
        for each, cost, attempts in failures:
            told = replace(fault(each, "timeout", cost), attempts=attempts)
            add_faults(session=session, faults=[told], at=NOW)
    with store.read() as session:
        found = lost_attempts(session=session, run_key=run, maybe_billed={"timeout"})
        assert (found, found.at_most_micros) == (LostAttempts(5, 500), 500)
        failed = lost_attempts(session=session, run_key=run, maybe_billed={"timeout"}, answered=False)
        assert (failed, failed + found) == (LostAttempts(2, 200), LostAttempts(7, 700))
        assert lost_attempts(session=session, run_key="other", maybe_billed={"timeout"}) == LostAttempts()
    with store.write() as session:
        unpriced = call(run, 5, reserved_micros=None)
        add_calls(session=session, calls=[unpriced], at=NOW)
        answered(session, unpriced, 5, fields={"attempts": [lost, done]})
    with store.read() as session:
        found = lost_attempts(session=session, run_key=run, maybe_billed={"timeout"})
        assert found.to_json() == {"attempts": 6, "at_most_micros": None}
        assert (found.micros, found.unpriced) == (500, 1)


def test_verdicts_are_tallied_by_what_they_say(store: Store) -> None:
    """By value, reason and detail; one that took no call takes no tokens from the sum."""
    with store.write() as session:
        run = lay_down(session).run_key
        calls = [call(run, number) for number in range(3)]
        add_calls(session=session, calls=calls, at=NOW)
        answered(session, calls[0], 0, reported_model="m-2")
        answered(session, calls[1], 1, reported_model="m-1")
        answered(session, calls[2], 2, answer="unknown", reason=UnknownReason.ABSTAINED, detail="cannot_tell")
        add_verdicts(session=session, verdicts=[verdict(run, 3, answer="pass", repeat=1)], at=NOW)
    with store.read() as session:
        assert tally_verdicts(session=session, run_key=run) == [
            VerdictTally("pass", None, None, 3, 10, 4),
            VerdictTally("unknown", UnknownReason.ABSTAINED, "cannot_tell", 1, 5, 2),
        ]
        assert models_of_run(session=session, run_key=run) == ("m-1", "m-2")
