"""What a judge's recorded verdicts amount to: which run, both orders, and what is still open."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
from sqlmodel import Session

from calibration.calibrate.references import References
from calibration.calibrate.remarks import warnings_of
from calibration.calibrate.verdicts import Judged, read_verdicts
from calibration.store.calls import CallEntry, FaultEntry, add_calls, add_faults
from calibration.store.database import Store
from calibration.store.items import Scope, item_key
from calibration.store.judges import RunOrigin, add_run, get_judge
from calibration.store.sets import MemberEntry, add_set
from calibration.store.verdicts import VerdictEntry, add_verdicts
from rubrics.answer import Answer, answered, no_answer
from rubrics.verdict import UnknownReason
from tests.calibration.store.evidence import DATASET, NOW, World, later, lay_down, rubric, verdict

MISSING = no_answer(UnknownReason.MISSING)
ERROR = no_answer(UnknownReason.ERROR, "timeout")
ABSTAINED = no_answer(UnknownReason.ABSTAINED, "cannot_tell")


def started(
    session: Session, world: World, *, orders: Sequence[str | None], at: float = 1, **plan: Any
) -> str:
    """A run of the world's judge that asks in these orders."""
    return add_run(
        session=session,
        judge_digest=world.judge_digest,
        rubric_digest=world.rubric.digest,
        dataset=DATASET,
        origin=RunOrigin.RUN,
        plan={"orders": list(orders), **plan},
        units=9,
        at=later(at),
    )


def said(run: str, number: int, answer: str, order: Any = "ab", **changes: Any) -> VerdictEntry:
    """What a run has of one item in one order."""
    unknown: dict[str, Any] = {}
    if answer == "unknown":
        unknown = {"reason": UnknownReason.ABSTAINED, "detail": "cannot_tell"}
    return verdict(run, number, answer, order=order, repeat=1, **(unknown | changes))


def fails(session: Session, run: str, number: int, order: Any = "ab", attempt: int = 1) -> None:
    """A call of the run that timed out."""
    call = CallEntry(run, item_key(DATASET, f"case-{number}"), ("correct",), order, 1, attempt, "d" * 64)
    add_calls(session=session, calls=[call], at=NOW)
    fault = FaultEntry(call.key, UnknownReason.ERROR, "timeout", "it did not answer in time")
    add_faults(session=session, faults=[fault], at=NOW)


def read(store: Store, world: World, scope: Scope | None = None, criterion: str = "correct") -> Judged:
    """The judge's verdicts on the dataset."""
    with store.read() as session:
        found = read_verdicts(
            session=session,
            scope=scope or Scope(dataset=DATASET),
            judge_digest=world.judge_digest,
            rubric_digest=world.rubric.digest,
            dataset=DATASET,
            criterion=rubric().criterion(criterion),
        )
    assert found is not None
    return found


def test_an_answer_is_never_made_of_one_order_where_two_are_due(store: Store) -> None:
    """A run that stopped between the orders: missing, unless what is there is a final unknown already."""
    with store.write() as session:
        world = lay_down(session)
        run = started(session, world, orders=["ab", "ba"])
        verdicts = [
            *(said(run, 0, "pass", order) for order in ("ab", "ba")),
            said(run, 1, "pass"),
            said(run, 2, "unknown"),
            *(said(run, 3, answer, order) for answer, order in (("pass", "ab"), ("fail", "ba"))),
        ]
        add_verdicts(session=session, verdicts=verdicts, at=NOW)
    assert read(store, world).answers == {
        "case-0": answered("pass"),
        "case-1": MISSING,
        "case-2": ABSTAINED,
        "case-3": no_answer(UnknownReason.INCONSISTENT, "orders"),
    }


def test_a_mixture_of_models_is_said(store: Store) -> None:
    """Where two models have answered in one run, the reader of its rates is told both; of one nothing is."""
    with store.write() as session:
        world = lay_down(session)
        run = started(session, world, orders=["ab"])
        verdicts = [said(run, n, "pass", reported_model=name) for n, name in enumerate(("m-2", "m-1", "m-2"))]
        add_verdicts(session=session, verdicts=verdicts, at=NOW)
    with store.read() as session:
        judge = get_judge(session=session, judge=world.judge_digest)
    mixed = read(store, world)
    assert mixed.models == ("m-1", "m-2")
    nothing = References({}, (), 0)
    (sentence,) = warnings_of(judge, mixed, nothing, [])
    assert "2 models have answered in this run (m-1 and m-2)" in sentence
    assert warnings_of(judge, replace(mixed, models=("m-1",)), nothing, []) == []


@pytest.mark.parametrize("orders", [["ab"], ["none"], [None]])
def test_one_order_is_enough_where_one_is_due(store: Store, orders: list[str | None]) -> None:
    """A judge asked in one order, or in none, answers by it."""
    with store.write() as session:
        world = lay_down(session)
        run = started(session, world, orders=orders)
        order = "ab" if orders == ["ab"] else None
        add_verdicts(session=session, verdicts=[said(run, 0, "fail", order)], at=NOW)
    assert read(store, world).answers == {"case-0": answered("fail")}


def test_an_imported_run_says_nothing_about_orders(store: Store) -> None:
    """One order in a file is an answer: nobody knows that two were due."""
    with store.write() as session:
        world = lay_down(session)
        add_verdicts(session=session, verdicts=[said(world.run_key, 0, "pass")], at=NOW)
    assert read(store, world).answers == {"case-0": answered("pass")}


def test_a_unit_whose_call_failed_is_an_error(store: Store) -> None:
    """Until asking again brings a verdict; the inputs of a report change with it."""
    with store.write() as session:
        world = lay_down(session)
        run = started(session, world, orders=["ab", "ba"])
        add_verdicts(session=session, verdicts=[said(run, 0, "pass"), said(run, 1, "unknown")], at=NOW)
        for number, order in ((0, "ba"), (1, "ba"), (2, "ab")):
            fails(session, run, number, order)
    before = read(store, world)
    assert before.answers == {"case-0": ERROR, "case-1": ABSTAINED, "case-2": ERROR_AND_MISSING}
    assert len(set(before.digests)) == 5
    with store.write() as session:
        add_verdicts(session=session, verdicts=[said(run, 0, "pass", "ba")], at=NOW)
    after = read(store, world)
    assert after.answers["case-0"] == answered("pass")
    assert len(set(after.digests) - set(before.digests)) == 1


ERROR_AND_MISSING: Answer = ERROR
"""One order failed and the other was never asked: the stronger open reason, by rubrics.order."""


def test_failures_outside_the_scope_stay_outside(store: Store) -> None:
    """A set of some items reads nothing of the others."""
    with store.write() as session:
        world = lay_down(session)
        run = started(session, world, orders=["ab"])
        add_verdicts(session=session, verdicts=[said(run, 0, "pass")], at=NOW)
        fails(session, run, 1)
        fails(session, run, 2)
        chosen = add_set(
            session=session,
            set_name="few",
            version=1,
            dataset=DATASET,
            content={"kind": "convenience"},
            members=[MemberEntry("case-0"), MemberEntry("case-2")],
            actor="lead",
            at=NOW,
        )
    assert read(store, world, Scope(set_digest=chosen)).answers == {
        "case-0": answered("pass"),
        "case-2": ERROR,
    }


def test_the_newest_run_that_answers_the_criterion_is_read(store: Store) -> None:
    """A later run of another criterion, or of other items, hides nothing; a later one of these does."""
    with store.write() as session:
        world = lay_down(session)
        first = started(session, world, orders=["none"], criteria=["correct"])
        other = started(session, world, orders=["none"], at=2, criteria=["tone"])
        add_verdicts(
            session=session,
            verdicts=[said(first, 0, "pass", None), said(other, 0, "3", None, criterion="tone")],
            at=NOW,
        )
    found = read(store, world)
    assert (found.run, found.answers) == (first, {"case-0": answered("pass")})
    assert read(store, world, criterion="tone").run == other
    with store.write() as session:
        newest = started(session, world, orders=["none"], at=3, criteria=["correct"], attempt=2)
        add_verdicts(session=session, verdicts=[said(newest, 1, "fail", None)], at=NOW)
    assert read(store, world).answers == {"case-1": answered("fail")}
