"""The demo's rule judge and the baselines, examined on the sample as the demo examines them."""

from __future__ import annotations

import re
from collections import Counter
from pathlib import Path

import pytest

import judge.demo
from judge.baselines import BaselineName, BaselineSpec
from judge.baselines import judge_all as baseline_all
from judge.demo.sample import CRITERIA, demo_file, demo_items, demo_references, demo_rule
from judge.rules import RuleVerdict, judge_all
from judge.spec import parse_judge
from rubrics.verdict import Verdict

ITEMS = demo_items()
ABOUT = (Path(judge.demo.__file__).parent / "ABOUT.md").read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def verdicts() -> dict[str, RuleVerdict]:
    """The rule judge's verdicts on the whole sample."""
    return judge_all(demo_rule(), ITEMS)


def accepted(verdicts: dict[str, RuleVerdict], reference: Verdict) -> list[str]:
    """The ids of accepted items that have this reference under states_terms."""
    references = demo_references("states_terms")
    return [
        item_id
        for item_id, verdict in verdicts.items()
        if verdict.outcome.accepted and references[item_id].verdict is reference
    ]


def test_the_rule_judge_would_pass_a_limit_of_ten_per_cent(verdicts: dict[str, RuleVerdict]) -> None:
    """1 of 70 failures accepted passes the score test at 10 %, in the worst case of unresolved items too."""
    wrongly = accepted(verdicts, Verdict.FAIL)
    openly = accepted(verdicts, Verdict.UNKNOWN)
    failures = sum(label.verdict is Verdict.FAIL for label in demo_references("states_terms").values())
    assert (len(wrongly), len(openly), failures) == (1, 0, 70)
    x, n, z, limit = len(wrongly) + len(openly), failures + len(openly), 1.959963984540054, 0.10
    assert x / n <= limit
    assert n * (x / n - limit) ** 2 >= z * z * limit * (1 - limit)


def test_it_accepts_most_passes(verdicts: dict[str, RuleVerdict]) -> None:
    """89 of 95 passes are accepted; five are abstained on and one is rejected."""
    references = demo_references("states_terms")
    outcomes = Counter(
        (verdict.outcome.verdict, verdict.outcome.detail)
        for item_id, verdict in verdicts.items()
        if references[item_id].verdict is Verdict.PASS
    )
    assert outcomes == {
        (Verdict.PASS, None): 89,
        (Verdict.UNKNOWN, "cannot_tell"): 5,
        (Verdict.FAIL, None): 1,
    }


def test_its_one_false_acceptance_is_the_limit_it_declares(verdicts: dict[str, RuleVerdict]) -> None:
    """The window of another clause passes where that clause is in the evidence too."""
    (missed,) = accepted(verdicts, Verdict.FAIL)
    (item,) = (item for item in ITEMS if item.item_id == missed)
    assert "within 14 days" in item.text("output")
    assert "14 days" in item.evidence["policy"]
    assert "within 30 days" in item.evidence["policy"]


def test_its_file_is_a_judge_like_any_other() -> None:
    """What `judge add` reads from the file is the judge of the demo, by digest."""
    declared = parse_judge(demo_file("rule_terms.yaml").read_text(encoding="utf-8"))
    assert declared.digest == demo_rule().digest


def test_it_knows_no_item() -> None:
    """The spec names no id, and shares no run of five words with any question or answer."""
    text = demo_rule().model_dump_json()
    assert not any(item.item_id in text for item in ITEMS)
    patterns = [pattern for rule in demo_rule().rules for pattern in getattr(rule, "patterns", ())]
    assert patterns
    runs = {run for pattern in patterns for run in runs_of_five(pattern)}
    assert not any(runs & runs_of_five(f"{item.input} {item.output}") for item in ITEMS)


def runs_of_five(text: str) -> set[tuple[str, ...]]:
    """Every five words that follow each other in a text."""
    found = re.findall(r"[a-z']+", text.lower())
    return {tuple(found[i : i + 5]) for i in range(len(found) - 4)}


def test_without_the_policy_it_accepts_nothing() -> None:
    """Every item without its evidence is unknown(abstained, evidence_missing)."""
    bare = [item.model_copy(update={"evidence": {}}) for item in ITEMS]
    outcomes = {verdict.outcome.detail for verdict in judge_all(demo_rule(), bare).values()}
    assert outcomes == {"evidence_missing"}


@pytest.mark.parametrize("criterion", CRITERIA)
@pytest.mark.parametrize("name", [BaselineName.LENGTH, BaselineName.WORD_OVERLAP])
def test_no_trivial_baseline_is_any_good_here(criterion: str, name: BaselineName) -> None:
    """Each fitted baseline accepts at least 40 % of the failures, and 20 % of the adversarial ones."""
    references = demo_references(criterion)
    outcomes = baseline_all(BaselineSpec(name=name), ITEMS, references)
    failures = [item for item in ITEMS if references[item.item_id].verdict is Verdict.FAIL]
    taken = [item for item in failures if outcomes[item.item_id].accepted]
    adversarial = [sum(i.tags["slice"] == "adversarial" for i in some) for some in (taken, failures)]
    assert len(taken) >= 0.4 * len(failures)
    assert adversarial[0] >= 0.2 * adversarial[1]


def test_about_says_what_the_rule_judge_did(verdicts: dict[str, RuleVerdict]) -> None:
    """The row of ABOUT.md holds the figures of this very run, slice by slice."""
    references = demo_references("states_terms")
    cells = []
    for name in ("", "plain", "adversarial", "restraint"):
        here = [item.item_id for item in ITEMS if not name or item.tags["slice"] == name]
        parts = []
        for reference in (Verdict.FAIL, Verdict.PASS):
            ids = [item_id for item_id in here if references[item_id].verdict is reference]
            parts.append(f"{sum(verdicts[i].outcome.accepted for i in ids)}/{len(ids)}")
        cells.append(", ".join(parts))
    row = re.search(r"\| `states_terms` \| rule \|(.*)\| \.91 \|", ABOUT)
    assert row is not None
    assert [cell.strip() for cell in row[1].split("|") if cell.strip()] == cells
