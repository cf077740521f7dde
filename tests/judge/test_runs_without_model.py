"""Rule judges and baselines run by the same path, without a call."""

from __future__ import annotations

import pytest

from calibration.store.database import Store
from judge.baselines import run_baseline
from judge.runs import RunSummary, run_judge
from judge.runs.plan import RunPlan
from judge.spec import BaselineJudge, RuleJudge, parse_judge
from rubrics.errors import DeclarationError
from rubrics.item import Item
from tests.judge.cases import item
from tests.judge.run_world import KEY, label_all, lay_down, numbered, planned, rows, state, verdicts
from tests.judge.test_runs_plan import ALWAYS, LENGTH, RULE

WORDS = ("yes", "no no no", "maybe so, if the receipt is there", "a long answer that goes on and on and on")


def run(store: Store, plan: RunPlan) -> RunSummary:
    """The run of a judge that makes no call."""
    return run_judge(store, plan, None)


def varied(count: int) -> list[Item]:
    """Items of several lengths, a group each."""
    return [item(f"Case {n}: {WORDS[n % 4] * (1 + n % 3)}", item_id=f"n-{n}") for n in range(count)]


def test_a_rule_judge_gives_its_verdicts_without_a_call(store: Store) -> None:
    """Each with its reason, in no order, and no intent; a second run finds them."""
    items = [
        *numbered(3),
        item("Case 9: soon", item_id="vague"),
        item("Case 8: 5 days", item_id="bare", policy=None),
    ]
    lay_down(store, items, RULE)
    plan = planned(store, RULE, criteria=())
    summary = run(store, plan)
    assert (summary.verdicts, summary.unknown) == (
        {"fail": 1, "pass": 3},
        {"abstained (evidence_missing)": 1},
    )
    assert (summary.complete, summary.calls.intended, summary.tokens_in) == (True, 0, 0)
    assert {row["presentation"] for row in verdicts(store)} == {"none"}
    (rationale,) = (
        text for (text,) in rows(store, "SELECT text FROM item_payload") if "names no time" in text
    )
    assert "rationale" in rationale
    again = run(store, plan)
    assert (again.run, again.done_before, len(verdicts(store))) == (summary.run, 5, 5)


def test_more_items_than_a_chunk(sqlite_store: Store) -> None:
    """Every item has its verdict where chunk borders lie between them."""
    lay_down(sqlite_store, numbered(251), RULE)
    assert run(sqlite_store, planned(sqlite_store, RULE)).verdicts == {"pass": 251}


@pytest.mark.parametrize("name", ["always_accept", "always_reject", "length", "word_overlap"])
def test_a_baseline_says_in_a_run_what_it_says_alone(sqlite_store: Store, name: str) -> None:
    """The cross-fitted verdicts of run_baseline() on the same items and references, one for one."""
    spec = BaselineJudge(kind="baseline", name=name)
    items = varied(30)
    lay_down(sqlite_store, items, spec)
    label_all(sqlite_store, {each.item_id: "pass" if n % 4 < 2 else "fail" for n, each in enumerate(items)})
    plan = planned(sqlite_store, spec)
    summary = run(sqlite_store, plan)
    alone = run_baseline(spec, items, plan.references.get(KEY, {})).outcomes
    stored = {row["item_key"]: row["value"] for row in verdicts(sqlite_store)}
    keys = dict(rows(sqlite_store, "SELECT key, item_id FROM item"))
    assert {keys[key]: value for key, value in stored.items()} == {
        item_id: outcome.verdict.value for item_id, outcome in alone.items()
    }
    assert (summary.complete, state(sqlite_store, summary.run)) == (True, "finished")


def test_a_baseline_with_nothing_to_learn_from_says_so(sqlite_store: Store) -> None:
    """Labels of one class: every item is an abstention, and the summary says why."""
    lay_down(sqlite_store, varied(6), LENGTH)
    label_all(sqlite_store, {f"n-{n}": "pass" for n in range(6)})
    summary = run(sqlite_store, planned(sqlite_store, LENGTH))
    assert summary.unknown == {"abstained (cannot_tell)": 6}
    assert summary.note != ""


def test_other_labels_make_another_run_of_a_fitted_baseline(sqlite_store: Store) -> None:
    """The verdicts that rest on the old labels stay beside the new ones, each in its run."""
    lay_down(sqlite_store, varied(12), LENGTH, ALWAYS)
    label_all(sqlite_store, {f"n-{n}": "pass" if n % 2 else "fail" for n in range(12)})
    first = run(sqlite_store, planned(sqlite_store, LENGTH))
    label_all(sqlite_store, {"n-0": "pass"}, rater="bo")
    second = run(sqlite_store, planned(sqlite_store, LENGTH))
    assert first.run != second.run
    assert len(verdicts(sqlite_store)) == 24
    assert run(sqlite_store, planned(sqlite_store, ALWAYS)).verdicts == {"pass": 12}


def test_a_rule_whose_code_is_not_installed_ends_before_any_verdict(sqlite_store: Store) -> None:
    """The missing entry point is named; the run is there, paused, and empty."""
    spec = parse_judge(
        f"""
kind: rule
name: by-code
version: 1
criterion: {KEY}
evidence: [policy]
rules:
  - {{kind: code, name: compiles, entry_point: no-such-check, version: "1"}}
"""
    )
    assert isinstance(spec, RuleJudge)
    lay_down(sqlite_store, numbered(2), spec)
    with pytest.raises(DeclarationError, match="are called 'no-such-check'"):
        run(sqlite_store, planned(sqlite_store, spec))
    assert rows(sqlite_store, "SELECT state FROM judge_run") == [("paused",)]
    assert verdicts(sqlite_store) == []
