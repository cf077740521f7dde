"""The very same call is not paid twice over runs; a new repeat, judge or text always calls."""

from __future__ import annotations

import json

from calibration.store.database import Store
from calibration.store.items import Scope
from calibration.store.verdicts import iter_verdicts
from judge.fake_model import FakeTransport
from rubrics.order import OrderPolicy
from tests.judge.cases import TONE, judge
from tests.judge.run_world import (
    DATASET,
    KEY,
    adds_up,
    answer,
    carried_out,
    even_passes,
    lay_down,
    numbered,
    planned,
    rows,
)

ONE = judge(name="one", order=OrderPolicy.AS_DECLARED)


def test_a_run_of_more_items_asks_only_about_the_new_ones(store: Store) -> None:
    """Three items are added: another run, whose first four verdicts are taken over at cost 0."""
    lay_down(store, numbered(4), ONE)
    first = carried_out(store, planned(store, ONE), lambda request: even_passes(request))
    lay_down(store, numbered(7))
    model = FakeTransport(even_passes)
    second = carried_out(store, planned(store, ONE), model)
    assert second.run != first.run
    assert (len(model.requests), second.complete, second.verdicts) == (3, True, {"fail": 3, "pass": 4})
    assert (second.calls.made, adds_up(second)) == (3, True)
    told = [
        json.loads(text)
        for (text,) in rows(store, "SELECT text FROM item_payload WHERE text LIKE '%reused%'")
    ]
    assert {each["fields"]["reused_run"] for each in told} == {first.run}
    with store.read() as session:
        mine = list(iter_verdicts(session=session, scope=Scope(dataset=DATASET), run_key=second.run))
    assert {v.item_id: v.answer for v in mine} == {f"n-{n}": "fail" if n % 2 else "pass" for n in range(7)}


def test_a_new_repeat_always_calls(sqlite_store: Store) -> None:
    """Of three repeats the first is there; the others have numbers of their own."""
    lay_down(sqlite_store, numbered(4), ONE)
    carried_out(sqlite_store, planned(sqlite_store, ONE), even_passes)
    model = FakeTransport(even_passes)
    summary = carried_out(sqlite_store, planned(sqlite_store, ONE, repeats=3), model)
    assert (len(model.requests), summary.units, summary.complete) == (8, 12, True)


def test_another_judge_or_criterion_calls(sqlite_store: Store) -> None:
    """Nothing is taken over from another spec of the same name, or another question."""
    other = judge(name="one", order=OrderPolicy.AS_DECLARED, labels="letters")
    lay_down(sqlite_store, numbered(3), ONE, other)
    carried_out(sqlite_store, planned(sqlite_store, ONE), even_passes)
    model = FakeTransport(lambda _: answer("A"))
    assert carried_out(sqlite_store, planned(sqlite_store, other), model).complete
    tone = FakeTransport(lambda _: answer("2"))
    assert carried_out(sqlite_store, planned(sqlite_store, ONE, criteria=(TONE.key,)), tone).complete
    assert (len(model.requests), len(tone.requests)) == (3, 3)
    assert TONE.key != KEY


def test_what_failed_is_not_taken_over(sqlite_store: Store) -> None:
    """An unknown that a reply gave is a verdict and is; a unit without one is asked."""
    lay_down(sqlite_store, numbered(2), ONE)
    carried_out(sqlite_store, planned(sqlite_store, ONE), lambda _: answer("cannot_tell"))
    model = FakeTransport(even_passes)
    lay_down(sqlite_store, numbered(3))
    summary = carried_out(sqlite_store, planned(sqlite_store, ONE), model)
    assert (summary.unknown, len(model.requests)) == ({"abstained (cannot_tell)": 2}, 1)
