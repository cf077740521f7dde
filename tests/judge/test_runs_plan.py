"""What a run is going to ask, what it refuses to ask, and what it says of its own conditions."""

from __future__ import annotations

from typing import Any

import pytest

from calibration.store.database import Store
from calibration.store.sets import MemberEntry, add_set, freeze_set
from judge.rule_spec import CodeRule
from judge.runs import Control, conditions, recorded_run
from judge.spec import BaselineJudge, Endpoint, ExternalJudge, JudgeSpec, Parameters, RuleJudge, parse_judge
from rubrics.errors import DeclarationError, RecordError
from rubrics.item import Split
from rubrics.order import Order, OrderPolicy
from tests.judge.cases import PAIRWISE, TONE, judge, pair
from tests.judge.run_world import (
    DATASET,
    KEY,
    NOW,
    carried_out,
    even_passes,
    label_all,
    lay_down,
    numbered,
    planned,
)

RULE = parse_judge(
    f"""
kind: rule
name: says-days
version: 1
criterion: {KEY}
evidence: [policy]
rules:
  - kind: required
    name: days
    patterns: [days]
    lacks: names no time
"""
)
ALWAYS = BaselineJudge(kind="baseline", name="always_accept")
LENGTH = BaselineJudge(kind="baseline", name="length")


def frozen_set(store: Store, *ids: str, freeze: bool = True) -> str:
    """The digest of a set of these items."""
    with store.write() as session:
        made = add_set(
            session=session,
            set_name="may",
            version=1,
            dataset=DATASET,
            content={"design": {"kind": "convenience"}},
            members=[MemberEntry(each) for each in ids],
            actor="lead",
            at=NOW,
        )
        if freeze:
            freeze_set(session=session, set_digest=made, actor="lead", at=NOW)
    return made


def test_a_plan_counts_items_criteria_orders_and_repeats(store: Store) -> None:
    """5 items, 2 criteria, 2 orders, 3 repeats: 60 units."""
    lay_down(store, numbered(5), judge())
    plan = planned(store, criteria=(), repeats=3)
    assert (plan.units, plan.orders) == (60, (Order.AB, Order.BA))
    assert [criterion.key for criterion in plan.criteria] == [KEY, TONE.key]
    assert plan.content["orders"] == ["ab", "ba"]
    assert len(list(plan.asks())) == 12


def test_a_set_is_run_on_its_members_only(store: Store) -> None:
    """The members in their order, and neither the rest of the dataset nor a tuning item."""
    lay_down(store, [*numbered(6)], judge())
    chosen = frozen_set(store, "n-4", "n-1")
    plan = planned(store, dataset=None, set_digest=chosen)
    assert (plan.units, plan.dataset, plan.set_digest) == (4, DATASET, chosen)
    summary = carried_out(store, plan, even_passes)
    assert (summary.units, summary.complete, summary.set_digest) == (4, True, chosen)


def test_tuning_items_are_not_judged(sqlite_store: Store) -> None:
    """A run over a dataset takes its calibration items."""
    tuning = [
        each.model_copy(update={"item_id": f"t-{each.item_id}", "split": Split.TUNING})
        for each in numbered(3)
    ]
    lay_down(sqlite_store, [*numbered(2), *tuning], judge())
    assert len(planned(sqlite_store).item_keys) == 2


def test_the_same_plan_is_the_same_run_and_another_is_not(sqlite_store: Store) -> None:
    """Criteria, repeats and items make another run; the order in which criteria are named does not."""
    lay_down(sqlite_store, numbered(3), judge())
    plan = planned(sqlite_store, criteria=(TONE.key, KEY))
    with sqlite_store.read() as session:
        assert recorded_run(session=session, plan=plan) is None
    first = carried_out(sqlite_store, planned(sqlite_store), even_passes)
    same = planned(sqlite_store)
    with sqlite_store.read() as session:
        found = recorded_run(session=session, plan=same)
    assert found is not None
    assert found.key == first.run
    assert planned(sqlite_store, criteria=(KEY, TONE.key)).content == plan.content
    assert planned(sqlite_store, repeats=2).content != same.content
    lay_down(sqlite_store, numbered(4), judge())
    grown = planned(sqlite_store)
    assert grown.content != same.content
    assert carried_out(sqlite_store, grown, even_passes).run != first.run


REFUSED: list[tuple[JudgeSpec, dict[str, Any], str]] = [
    (ExternalJudge(kind="external", name="other"), {}, "runs elsewhere; import what it said"),
    (judge(), {"criteria": ("nonsense",)}, "has no criterion 'nonsense'; it has: states_terms, tone"),
    (RULE, {"criteria": (TONE.key,)}, "answers only the pass or fail criterion 'states_terms', not 'tone'"),
    (
        ALWAYS,
        {"criteria": (TONE.key,)},
        "answers only pass or fail criteria, not 'tone' on its ordinal scale",
    ),
    (ALWAYS, {"repeats": 2}, "gives the same verdict every time; leave out --repeats"),
    (judge(), {"repeats": 0}, "0 repeats were asked for; give 1 or more"),
    (judge(), {"dataset": None}, "name the items with either a set or a dataset"),
]


@pytest.mark.parametrize(("spec", "options", "said"), REFUSED)
def test_what_cannot_be_asked_is_refused(
    sqlite_store: Store, spec: JudgeSpec, options: dict[str, Any], said: str
) -> None:
    """One sentence that says what was given and what is allowed."""
    lay_down(sqlite_store, numbered(2), spec)
    with pytest.raises(DeclarationError, match=said):
        planned(sqlite_store, spec, **options)


def test_records_that_are_not_there_are_named(sqlite_store: Store) -> None:
    """A judge never added, a dataset without items, a set that may still change, a set of another dataset."""
    lay_down(sqlite_store, numbered(2), judge())
    with pytest.raises(RecordError, match=r"no judge '[0-9a-f]{64}' is recorded"):
        planned(sqlite_store, judge(name="stranger"))
    with pytest.raises(
        RecordError, match="dataset 'none' has no calibration item; run `voirdire items import"
    ):
        planned(sqlite_store, dataset="none")
    draft = frozen_set(sqlite_store, "n-0", freeze=False)
    with pytest.raises(RecordError, match=r"set may@1 is not frozen.*run `voirdire set freeze may`"):
        planned(sqlite_store, dataset=None, set_digest=draft)
    with pytest.raises(DeclarationError, match="set may@1 is of dataset 'support', not of 'none'"):
        planned(sqlite_store, dataset="none", set_digest=draft)


def test_items_of_the_other_mode_are_refused_before_anything_is_asked(sqlite_store: Store) -> None:
    """A pair under a rubric for single outputs."""
    lay_down(sqlite_store, [pair()], judge(), rubric=PAIRWISE)
    lay_down(sqlite_store, [], judge())
    with pytest.raises(
        DeclarationError, match="item 'p-1' is pairwise and refunds@1 asks pointwise questions"
    ):
        planned(sqlite_store)


def test_a_fitted_baseline_names_the_labels_that_it_learns_from(sqlite_store: Store) -> None:
    """Without labels it is refused; other labels are another plan; a constant one needs none."""
    lay_down(sqlite_store, numbered(4), LENGTH, ALWAYS)
    with pytest.raises(RecordError, match="learns from reference labels and 'states_terms' has none"):
        planned(sqlite_store, LENGTH)
    assert planned(sqlite_store, ALWAYS).labels == {}
    label_all(sqlite_store, {"n-0": "pass", "n-1": "fail"})
    first = planned(sqlite_store, LENGTH)
    assert set(first.labels) == {KEY}
    assert set(first.references[KEY]) == {"n-0", "n-1"}
    assert planned(sqlite_store, LENGTH).content == first.content
    label_all(sqlite_store, {"n-2": "pass"})
    assert planned(sqlite_store, LENGTH).content != first.content


def words(spec: JudgeSpec, store: Store, control: Control, **options: Any) -> str:
    """What is said of one kind of condition."""
    lay_down(store, numbered(2), spec)
    found = conditions(planned(store, spec, **options))
    return "; ".join(each.what for each in found if each.control is control)


def test_what_is_fixed_sampled_and_uncontrolled_is_listed(sqlite_store: Store) -> None:
    """For a model: its declaration, the marks, and the machines of its provider."""
    spec = judge(parameters=Parameters(temperature=0.7, seed=4), order=OrderPolicy.AS_DECLARED)
    fixed = words(spec, sqlite_store, Control.FIXED, repeats=2)
    assert "openai/test-1, prompt standard@1, temperature 0.7, seed 4, max_output_tokens 1024" in fixed
    assert "2 items with their texts, options in one order, 2 repeats" in fixed
    sampled = words(spec, sqlite_store, Control.SAMPLED)
    assert sampled.endswith("the model's answer, at temperature 0.7, seed 4")
    uncontrolled = words(spec, sqlite_store, Control.UNCONTROLLED)
    assert "which model stands behind the undated name 'openai/test-1'" in uncontrolled
    dated = words(judge(model="openai/gpt-4.1-2025-04-14"), sqlite_store, Control.UNCONTROLLED)
    assert "undated" not in dated
    assert "the provider's machines" in dated


def test_a_provider_that_chooses_the_temperature_is_said_to(sqlite_store: Store) -> None:
    """A temperature of null is the provider's own."""
    spec = judge(parameters=Parameters(temperature=None))
    assert "at the provider's own temperature" in words(spec, sqlite_store, Control.SAMPLED)


def test_an_embedded_model_depends_on_the_machine(sqlite_store: Store) -> None:
    """Its rounding is nobody's choice, and no provider is."""
    spec = judge(model="m", endpoint=Endpoint.EMBEDDED, weights="0" * 64)
    assert words(spec, sqlite_store, Control.UNCONTROLLED) == (
        "rounding, which depends on the processor and on which calls are worked on together"
    )


def test_rules_and_baselines_leave_nothing_to_chance(sqlite_store: Store) -> None:
    """Nothing is sampled; only code beyond its version is uncontrolled."""
    assert words(RULE, sqlite_store, Control.SAMPLED) == words(RULE, sqlite_store, Control.UNCONTROLLED) == ""
    assert "the rules of its file" in words(RULE, sqlite_store, Control.FIXED)
    assert "looks at nothing" in words(ALWAYS, sqlite_store, Control.FIXED)
    label_all(sqlite_store, {"n-0": "pass", "n-1": "fail"})
    fitted = words(LENGTH, sqlite_store, Control.FIXED)
    assert "seed 0, 5 folds" in fitted
    assert "the reference labels that it learns from, by digest" in fitted
    assert isinstance(RULE, RuleJudge)
    code = CodeRule(kind="code", name="compiles", entry_point="compiles", version="1.2")
    coded = RULE.model_copy(update={"rules": (code,), "name": "by-code"})
    assert "the code behind rule 'compiles'" in words(coded, sqlite_store, Control.UNCONTROLLED)
