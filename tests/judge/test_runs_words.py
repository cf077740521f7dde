"""What a run says of itself: one unit, call or item in the singular, several in the plural."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

import pytest

import judge.runs.command as commanding
from calibration.store.calls import CallEntry, add_calls
from calibration.store.database import Store
from calibration.store.judges import RunOrigin, add_run
from calibration.store.operation import AnsweredSpan
from calibration.store.tallies import CallTally
from judge.calls import CostSource
from judge.cascading import Escalation, escalation_words, saving_words
from judge.runs import RunPlan, RunSummary, conditions
from judge.runs.command import Wanted
from judge.runs.estimate import Estimate
from judge.runs.summary import StopKind, Stopped, without_verdict
from judge.runs.words import plan_words, summary_words
from rubrics.order import OrderPolicy
from tests.judge.cases import judge
from tests.judge.cli.records import address, on
from tests.judge.run_world import DATASET, KEY, NOW, lay_down, numbered, planned


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


WANTED = Wanted("j", "d", None, None, (), 1, None, 1.4, 1.0, 2.0, None)


@pytest.mark.parametrize(
    ("kind", "how", "ends"),
    [
        (
            StopKind.COST_CAP,
            " with a cap above $1.4",
            "--price-input 1.0 --price-output 2.0 --max-cost AMOUNT",
        ),
        (StopKind.MODEL_CHANGED, " with both models", "--price-output 2.0 --allow-model-change"),
        (StopKind.PROVIDER, "", "--max-cost 1.4 --price-input 1.0 --price-output 2.0"),
    ],
)
def test_the_command_that_goes_on_does_not_stop_at_once(kind: StopKind, how: str, ends: str) -> None:
    """A cap that was reached is left for a higher one, and a model that changed is allowed."""
    stopped = Stopped(kind, "why")
    assert (WANTED.how_on(stopped), WANTED.going_on(stopped)[-len(ends) :]) == (how, ends)
    assert "--max-cost 1.4" in WANTED.command


def test_units_that_were_asked_are_not_called_unasked() -> None:
    """Of three pending units one is out."""
    some = replace(summary(units=4, verdicts={"pass": 1}), unanswered=1)
    assert "  open: out in a batch or cut off 1, not asked 2" in list(summary_words(some))


def test_calls_that_were_given_up_are_told(
    sqlite_store: Store, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A second Ctrl-C ends at once: how many calls may have been paid, what they may cost, how to go on."""
    spec = judge(order=OrderPolicy.AS_DECLARED)
    lay_down(sqlite_store, numbered(2), spec)

    def given_up(store: Store, plan: RunPlan, *_: Any, **__: Any) -> None:
        with store.write() as session:
            run = add_run(
                session=session, judge_digest=spec.digest, rubric_digest=plan.rubric.digest, dataset=DATASET,
                origin=RunOrigin.RUN, plan=plan.content, units=plan.units, at=NOW,
            )  # fmt: skip
            calls = [CallEntry(run, key, (KEY,), "ab", 1, 1, "x", 50_000) for key in plan.item_keys]
            add_calls(session=session, calls=calls, at=NOW)
        raise KeyboardInterrupt

    monkeypatch.setattr(commanding, "ask", given_up)
    words = ("--judge", "test-judge", "--dataset", DATASET, "--criterion", KEY)
    done = on(address(sqlite_store))("judge", "run", *words)
    assert done.exit_code == 130
    told = " ".join(done.stderr.split())
    assert "stopped at once; 2 calls of this run have no answer" in told
    assert "may be paid twice (up to $0.10)" in told
    assert "go on: voirdire judge run --judge test-judge" in told
    plan = planned(sqlite_store, spec)
    commanding.tell_of_given_up(sqlite_store, plan, "again", plan)
    told = " ".join(capsys.readouterr().err.split())
    assert told.count("stopped at once; test-judge: 2 calls of this run have no answer") == 2
    assert told.endswith("go on: again")
