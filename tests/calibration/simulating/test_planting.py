"""What is planted is there: rates, clusters, unknowns, orders, raters who err, strata."""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest

from calibration.labels import UnresolvedReason
from calibration.report import build_report
from calibration.simulating.planting import CRITERION, Evidence, PlantedGroup, PlantedRaters, plant
from calibration.simulating.running import _SCOPE
from calibration.statistics.clusters import anova_icc
from calibration.statistics.rater_error import RaterErrors
from rubrics.verdict import UnknownReason, Verdict

ITEMS = 5_000
FAILING = PlantedGroup(Verdict.FAIL, ITEMS, 0.2)


def rng() -> np.random.Generator:
    """A fresh generator with the fixed seed."""
    return np.random.default_rng(20261130)


def outcomes(evidence: Evidence) -> dict[str, float]:
    """The share of items with each outcome, by verdict or reason."""
    words = Counter(str(c.outcome.reason or c.outcome.verdict) for c in evidence.cases)
    return {word: count / len(evidence.cases) for word, count in words.items()}


def test_a_pointwise_judge_accepts_rejects_and_abstains_as_planted() -> None:
    """20 % accepted, 10 % abstained, the rest rejected: shares of all items."""
    found = outcomes(plant([replace(FAILING, abstains=0.1)], rng=rng()))
    assert found == pytest.approx({"pass": 0.2, "abstained": 0.1, "fail": 0.7}, abs=0.02)


def test_a_judge_of_pairs_goes_by_place() -> None:
    """15 % name the first output in both orders: inconsistent, the cell of the first place, not accepted."""
    group = replace(FAILING, by_place=0.15, abstains=0.05)
    evidence = plant([group], rng=rng(), both_orders=True)
    found = outcomes(evidence)
    assert found == pytest.approx(
        {"pass": 0.2, "abstained": 0.05, "inconsistent": 0.15, "fail": 0.6}, abs=0.02
    )
    cells = evidence.supplement.position
    assert cells is not None
    assert sum(cells.values()) == ITEMS
    assert cells["SS"] == cells["TT"] == 0
    shares = {cell: cells[cell] / ITEMS for cell in ("AA", "BB", "FF", "X")}
    assert shares == pytest.approx({"AA": 0.6, "BB": 0.2, "FF": 0.15, "X": 0.05}, abs=0.02)
    details = {c.outcome.detail for c in evidence.cases if c.outcome.reason is UnknownReason.INCONSISTENT}
    assert details == {"orders"}


def test_pointwise_judges_have_no_place_to_go_by() -> None:
    """Without a second order a judge that goes by place gives no answer."""
    found = outcomes(plant([replace(FAILING, by_place=0.15)], rng=rng()))
    assert found["abstained"] == pytest.approx(0.15, abs=0.02)
    assert plant([FAILING], rng=rng()).supplement.position is None


def test_clusters_are_correlated_as_planted() -> None:
    """Fives at ICC .3: the estimate is .3, the rate .2; ids of the last cluster stay in range."""
    evidence = plant([replace(FAILING, items=ITEMS - 2, per_cluster=5, icc=0.3)], rng=rng())
    accepted: Counter[str] = Counter()
    sizes: Counter[str] = Counter()
    for case in evidence.cases:
        sizes[case.cluster] += 1
        accepted[case.cluster] += case.outcome.accepted
    assert sorted(set(sizes.values())) == [3, 5]
    names = list(sizes)
    found = anova_icc([accepted[name] for name in names], [sizes[name] for name in names])
    assert found == pytest.approx(0.3, abs=0.04)
    assert sum(accepted.values()) / ITEMS == pytest.approx(0.2, abs=0.02)


@pytest.mark.parametrize("far", [0.0, 1.0])
def test_certain_judges_have_no_correlation(far: float) -> None:
    """A judge that accepts nothing, or everything, does so in every cluster."""
    evidence = plant([replace(FAILING, items=50, accepts=far, per_cluster=5, icc=0.3)], rng=rng())
    assert {case.outcome.accepted for case in evidence.cases} == {bool(far)}


def test_perfect_raters_know_the_truth() -> None:
    """References are the truth; nothing is shown to the report unless it is asked for."""
    groups = [replace(FAILING, items=30), PlantedGroup(Verdict.PASS, 20, 0.9)]
    evidence = plant(groups, rng=rng())
    assert [case.reference.verdict for case in evidence.cases] == [Verdict.FAIL] * 30 + [Verdict.PASS] * 20
    assert evidence.assessments == ()
    shown = plant(groups, rng=rng(), raters=PlantedRaters(number=2, recorded=True))
    assert len(shown.assessments) == 100
    assert {a.criterion for a in shown.assessments} == {CRITERION}
    assert all(a.blind.satisfies_blind for a in shown.assessments)
    assert len({case.item_id for case in evidence.cases}) == 50


def test_raters_err_as_planted() -> None:
    """One rater fails 4 % of good answers and misses 10 % of failures; two who differ leave it unresolved."""
    errors = RaterErrors(detects_fail=0.9, passes_pass=0.96)
    groups = [FAILING, replace(FAILING, truth=Verdict.PASS)]
    single = plant(groups, rng=rng(), raters=PlantedRaters(errors=errors), errors_known=True)
    fails = [case.reference.verdict is Verdict.FAIL for case in single.cases]
    assert np.mean(fails[:ITEMS]) == pytest.approx(0.9, abs=0.01)
    assert np.mean(fails[ITEMS:]) == pytest.approx(0.04, abs=0.01)
    assert single.supplement.rater_errors == errors
    pair = plant([FAILING], rng=rng(), raters=PlantedRaters(number=2, errors=errors))
    open_ones = [case.reference for case in pair.cases if not case.reference.resolved]
    assert len(open_ones) / ITEMS == pytest.approx(2 * 0.9 * 0.1, abs=0.01)
    assert {reference.unresolved for reference in open_ones} == {UnresolvedReason.DISAGREEMENT}


def test_strata_and_their_probabilities_reach_the_report() -> None:
    """Two strata drawn with different probability make the gate re-weight."""
    groups = [
        replace(FAILING, items=80, stratum="easy", probability=0.1),
        replace(FAILING, items=40, stratum="hard", probability=0.4),
    ]
    evidence = plant(groups, rng=rng())
    gate = build_report(evidence.cases, scope=_SCOPE).far_gate
    assert gate.method.startswith("mover")
    # 80/.1 = 800 and 40/.4 = 100: shares 8/9 and 1/9
    x = [sum(c.outcome.accepted for c in evidence.cases if c.stratum == name) for name in ("easy", "hard")]
    assert gate.estimate == pytest.approx(8 / 9 * x[0] / 80 + 1 / 9 * x[1] / 40)
