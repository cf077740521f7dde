"""What a run says of itself: one unit, call or item in the singular, several in the plural."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from calibration.store.database import Store
from calibration.store.operation import AnsweredSpan
from calibration.store.tallies import CallTally
from judge.calls import CostSource
from judge.cascading import Escalation, escalation_words, saving_words
from judge.runs import RunSummary, conditions
from judge.runs.estimate import Estimate
from judge.runs.summary import without_verdict
from judge.runs.words import plan_words, summary_words
from rubrics.order import OrderPolicy
from tests.judge.cases import judge
from tests.judge.run_world import lay_down, numbered, planned


def expected(*, units: int, done: int, each: int) -> Estimate:
    """An estimate with the same number of calls, settled units, items and tokens."""
    return Estimate(units, done, each, each, each, each, each, each, None, None, CostSource.DECLARED)


def summary(*, units: int, verdicts: Mapping[str, int], calls: int = 0, unknown_cost: int = 0) -> RunSummary:
    """A run of so many units and calls, each call with one token in and out."""
    return RunSummary(
        run="r" * 64,
        judge="careful",
        judge_digest="d" * 64,
        rubric="refunds@1",
        dataset="support",
        set_digest=None,
        criteria=("states_terms",),
        units=units,
        verdicts=verdicts,
        unknown={},
        errors={},
        pending=units - sum(verdicts.values()),
        done_before=0,
        calls=CallTally(calls, 0, 0, 0, unknown_cost, 0),
        tokens_in=calls,
        tokens_out=calls,
        models=(),
        first_error="",
        note="",
        answered=AnsweredSpan(0, 0.0),
        stopped=None,
    )


def test_the_plan_of_one_item_is_in_the_singular(sqlite_store: Store) -> None:
    """One unit, call, token, item with its texts; its verdict, and what is left."""
    spec = judge(order=OrderPolicy.AS_DECLARED)
    lay_down(sqlite_store, numbered(1), spec)
    plan = planned(sqlite_store, spec)
    said = " ".join(plan_words(plan, expected(units=2, done=1, each=1), on="x", width=500))
    assert "1 unit; 1 has its verdict, 1 is left" in said
    assert "about 1 call, 1 token in, 1 out (at most 1), by the prompts of 1 item; 1 unit is settled" in said
    assert "1 item with its texts" in " ".join(each.what for each in conditions(plan))
    several = " ".join(plan_words(plan, expected(units=5, done=2, each=2), on="x", width=500))
    assert "2 have their verdict, 3 are left" in several
    assert "about 2 calls, 2 tokens in, 2 out (at most 2), by the prompts of 2 items; 2 units are" in several


@pytest.mark.parametrize(
    ("units", "done", "said"),
    [
        (1, 1, "1 of 1 unit has its verdict."),
        (1, 0, "0 of 1 unit has its verdict."),
        (6, 1, "1 of 6 units has its verdict."),
        (6, 0, "0 of 6 units have their verdict."),
        (1_200, 1_100, "1,100 of 1,200 units have their verdict."),
    ],
)
def test_the_verb_goes_with_the_units_that_are_done(units: int, done: int, said: str) -> None:
    """One unit has its verdict, none and several have theirs."""
    assert next(summary_words(summary(units=units, verdicts={"pass": done}))).endswith(said)


def test_calls_and_tokens_are_counted_in_words() -> None:
    """One call with one token, and several of which the cost of one is not known."""
    one = list(summary_words(summary(units=1, verdicts={"pass": 1}, calls=1)))
    assert "  1 call, 1 token in, 1 token out, $0" in one
    three = list(summary_words(summary(units=3, verdicts={"pass": 3}, calls=3, unknown_cost=1)))
    assert "  3 calls, 3 tokens in, 3 tokens out, $0 and 1 call of unknown cost" in three


def test_units_without_a_verdict_are_counted_in_words() -> None:
    """The beginning of the sentence that says why a run is not done."""
    assert (without_verdict(1), without_verdict(2)) == ("1 unit has no verdict", "2 units have no verdict")


def test_what_a_cascade_sends_on_is_counted_in_words() -> None:
    """Of one item, or of several."""
    one, many = (Escalation("terms", "run", items, 1, None) for items in (1, 4))
    assert escalation_words(one, second="strong").endswith("its answers to 1 of 1 item (100%) count")
    assert escalation_words(many, second="strong").endswith("its answers to 1 of 4 items (25%) count")
    told = {"criterion": "terms", "items": 1, "sent_on": 1, "calls_saved": 0, "saved_micros": None}
    assert "1 of 1 item went to the second judge; 0 of its calls saved" in saving_words(told)
