"""Clustered rates: the correlation by a second route, and what protects when nothing can be estimated."""

from __future__ import annotations

import json
import math
from collections import Counter

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st

from calibration.statistics.clusters import (
    anova_icc,
    cluster_robust_rate,
    cluster_wilson,
    design_effect,
)
from calibration.statistics.normal import z_value
from calibration.statistics.proportions import GateResult, score_gate, wilson_interval
from calibration.values import Undefined
from tests.shared_data import shared

clusters = st.lists(
    st.integers(1, 6).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))), min_size=2, max_size=20
)


def _cases(x: list[int], n: list[int]) -> tuple[np.ndarray[tuple[int], np.dtype[np.float64]], list[int]]:
    values, owners = [], []
    for i, (events, size) in enumerate(zip(x, n, strict=True)):
        values += [1.0] * events + [0.0] * (size - events)
        owners += [i] * size
    return np.array(values), owners


@given(clusters)
@settings(max_examples=80, derandomize=True, deadline=None)
def test_icc_is_the_one_of_the_mean_squares(counts: list[tuple[int, int]]) -> None:
    """(MSB - MSW) / (MSB + (n0 - 1) MSW) with the mean squares of a one-way analysis of the single cases."""
    x, n = [a for a, _ in counts], [b for _, b in counts]
    found = anova_icc(x, n)
    values, owners = _cases(x, n)
    if max(n) == 1 or values.sum() in (0, values.size):
        assert isinstance(found, Undefined)
        return
    means = [values[[o == i for o in owners]].mean() for i in range(len(n))]
    between = sum(m * (a - values.mean()) ** 2 for m, a in zip(n, means, strict=True)) / (len(n) - 1)
    within = sum((v - means[o]) ** 2 for v, o in zip(values, owners, strict=True)) / (values.size - len(n))
    typical = (values.size - sum(m * m for m in n) / values.size) / (len(n) - 1)
    assert found == pytest.approx((between - within) / (between + (typical - 1) * within), abs=1e-9)


def test_icc_extremes() -> None:
    """Clusters that agree wholly have ICC 1; as many events as others in each pair has -1."""
    assert anova_icc([5, 0, 5, 0], [5] * 4) == pytest.approx(1)
    assert anova_icc([1] * 8, [2] * 8) == pytest.approx(-1)


@pytest.mark.parametrize(
    ("x", "n", "reason"),
    [
        ([], [], "fewer than two clusters"),
        ([2], [5], "fewer than two clusters"),
        ([1, 0], [1, 1], "no cluster has two cases"),
        ([0, 0], [3, 2], "no case, or every case, is an event"),
        ([3, 2], [3, 2], "no case, or every case, is an event"),
        ([2, 0], [5, 0], "fewer than two clusters"),
    ],
)
def test_icc_is_undefined(x: list[int], n: list[int], reason: str) -> None:
    """Without two clusters, a pair, or an event the correlation is not 0: it does not exist."""
    found = anova_icc(x, n)
    assert isinstance(found, Undefined)
    assert reason in found.reason


def test_no_event_leaves_the_planning_correlation() -> None:
    """0 of 4 x 5: the estimate is 0/0, so .3 inflates by 1 + .3 · 4 and 20 cases are worth 9.09."""
    found = cluster_wilson([0, 0, 0, 0], [5, 5, 5, 5])
    assert isinstance(found.icc_estimated, Undefined)
    assert (found.icc, found.clusters, found.x, found.n) == (0.3, 4, 0, 20)
    assert found.vif == pytest.approx(2.2)
    assert found.n_effective == pytest.approx(20 / 2.2)
    assert found.interval == wilson_interval(0, 20 / found.vif)
    assert found.x_effective == 0


def test_the_larger_correlation_is_used() -> None:
    """An estimate above the plan wins, one below does not, a negative one counts as the plan."""
    high = cluster_wilson([5, 0, 5, 0], [5] * 4)
    assert high.icc == pytest.approx(1)
    assert high.vif == pytest.approx(5)
    assert high.x_effective == pytest.approx(2)
    low = cluster_wilson([1] * 8, [2] * 8)
    assert low.icc == 0.3
    assert low.vif == pytest.approx(1.3)
    assert low.icc_estimated == pytest.approx(-1)
    zero = cluster_wilson([1] * 8, [2] * 8, planning_icc=0)
    assert (zero.icc, zero.vif) == (0, 1)


def test_unequal_clusters_inflate_by_their_squared_sizes() -> None:
    """Sizes 1, 2, 3: sum of squares 14 over 6, so vif = 1 + icc (14/6 - 1)."""
    found = cluster_wilson([0, 0, 0], [1, 2, 3], planning_icc=0.6)
    assert found.vif == pytest.approx(1 + 0.6 * (14 / 6 - 1))


@given(st.lists(st.integers(0, 1), min_size=1, max_size=60), st.sampled_from([1, 2]))
@settings(max_examples=30, derandomize=True, deadline=None)
def test_single_cases_are_plain_wilson(x: list[int], sided: int) -> None:
    """Clusters of one case each give exactly the plain interval, whatever the plan."""
    found = cluster_wilson(x, [1] * len(x), planning_icc=0.9, sided=sided)
    assert found.interval == wilson_interval(sum(x), len(x), sided=sided)
    assert found.vif == 1


def test_empty_clusters_do_not_count() -> None:
    """A cluster without a case is no cluster; no case at all gives [0, 1]."""
    assert cluster_wilson([1, 0, 0], [4, 0, 3]) == cluster_wilson([1, 0], [4, 3])
    empty = cluster_wilson([], [])
    assert (empty.interval.lower, empty.interval.upper, empty.clusters, empty.vif) == (0, 1, 0, 1)


def test_level_is_passed_on() -> None:
    """Another confidence and an explicit z reach the interval."""
    assert cluster_wilson([1, 0], [4, 3], confidence=0.8).interval.confidence == 0.8
    wide = cluster_wilson([1, 0], [4, 3], z=3.0).interval
    assert wide.upper > cluster_wilson([1, 0], [4, 3]).interval.upper


@pytest.mark.parametrize(
    ("x", "n", "message"),
    [
        ([1], [1, 2], "x and n have 1 and 2 entries"),
        ([2, 3], [2, 2], "cluster 1 has x 3 of n 2; 0 <= x <= n must hold"),
        ([-1, 0], [2, 2], "cluster 0 has x -1 of n 2"),
        ([1.5, 0], [2, 2], "x holds values that are no whole numbers"),
        ([1, 0], [2.0, math.nan], "n holds values that are no whole numbers"),
    ],
)
def test_bad_clusters(x: list[int], n: list[int], message: str) -> None:
    """Unequal lengths, x > n, negative counts, fractions and NaN are one clear error."""
    for function in (cluster_wilson, anova_icc, cluster_robust_rate):
        with pytest.raises(ValueError, match=message):
            function(x, n)


@pytest.mark.parametrize("icc", [-0.1, 1.1, math.nan])
def test_planning_correlation_is_a_share(icc: float) -> None:
    """A planned correlation outside [0, 1] is refused."""
    with pytest.raises(ValueError, match="planning_icc is"):
        cluster_wilson([1, 0], [2, 2], planning_icc=icc)


@given(clusters.filter(lambda counts: 0 < sum(x for x, _ in counts) < sum(n for _, n in counts)))
@settings(max_examples=30, derandomize=True, deadline=None)
def test_robust_error_agrees_with_statsmodels(counts: list[tuple[int, int]]) -> None:
    """The linearised error equals the cluster-robust one of a regression on a constant."""
    x, n = [a for a, _ in counts], [b for _, b in counts]
    values, owners = _cases(x, n)
    fit = sm.OLS(values, np.ones(values.size)).fit(
        cov_type="cluster", cov_kwds={"groups": np.array(owners), "use_correction": False}
    )
    found = cluster_robust_rate(x, n)
    assert not isinstance(found, Undefined)
    error = math.sqrt(len(n) / (len(n) - 1)) * float(fit.bse[0])
    assert found.estimate == pytest.approx(values.mean())
    assert found.standard_error == pytest.approx(error, abs=1e-9)
    p = values.mean()
    assert found.design_effect == pytest.approx(error**2 / (p * (1 - p) / values.size), abs=1e-6)


def test_robust_error_needs_two_clusters_and_an_event() -> None:
    """One cluster has no spread; without an event the design effect is 0/0."""
    assert isinstance(cluster_robust_rate([1], [3]), Undefined)
    for x in ([0, 0], [3, 2]):
        found = cluster_robust_rate(x, [3, 2])
        assert not isinstance(found, Undefined)
        assert found.standard_error == 0
        assert isinstance(found.design_effect, Undefined)


def test_design_effect() -> None:
    """200 cases in fives at .3 are worth 90.9; single cases lose nothing; bad sizes are refused."""
    found = design_effect(200, per_cluster=5, icc=0.3)
    assert (found.design_effect, found.n_effective) == pytest.approx((2.2, 200 / 2.2))
    assert design_effect(80, per_cluster=1, icc=0.5).design_effect == 1
    for bad in (0.5, math.nan, math.inf):
        with pytest.raises(ValueError, match="a cluster holds at least one case"):
            design_effect(80, per_cluster=bad, icc=0.5)
    with pytest.raises(ValueError, match="icc is 2"):
        design_effect(80, per_cluster=2, icc=2)
    with pytest.raises(ValueError, match="n is -1"):
        design_effect(-1, per_cluster=2, icc=0.5)


@pytest.mark.shared
def test_gate_on_the_public_triviaqa_judges() -> None:
    """At 10 % three judges pass; Llama-13B passes by plain Wilson (9.3 %) and not by clusters (11.0 %)."""
    folder = shared("data/judges_triviaqa")

    def rows(name: str) -> list[dict[str, str]]:
        text = (folder / name).read_text(encoding="utf-8")
        return [json.loads(line) for line in text.split("\n") if line]

    group = {row["item_id"]: row["group"] for row in rows("items.jsonl")}
    fails = {row["item_id"] for row in rows("labels.jsonl") if row["label"] == "fail"}
    sizes = Counter(group[item] for item in fails)
    accepted: dict[str, Counter[str]] = {}
    for row in rows("verdicts.jsonl"):
        if row["item_id"] in fails and row["label"] != "fail":  # an open verdict counts as accepted
            accepted.setdefault(row["judge"], Counter())[group[row["item_id"]]] += 1
    gates = {
        judge: cluster_wilson([counts[g] for g in sizes], list(sizes.values()))
        for judge, counts in accepted.items()
    }
    assert {gate.clusters for gate in gates.values()} == {264}
    assert {gate.n for gate in gates.values()} == {1093}
    shown = {judge: (gate.x, round(100 * gate.interval.upper, 1)) for judge, gate in gates.items()}
    assert shown["EM"] == (4, 1.5)
    assert shown["Contains"] == (13, 2.7)
    assert shown["JudgeLM"] == (71, 9.2)
    assert shown["Llama-13B"] == (83, 11.0)
    assert round(100 * wilson_interval(83, 1093).upper, 1) == 9.3
    statuses = Counter(
        score_gate(gate.x_effective, gate.n_effective, limit=0.1, z=z_value(0.95)) for gate in gates.values()
    )
    assert statuses == {GateResult.PASS: 3, GateResult.INSUFFICIENT: 1, GateResult.FAIL: 7}
