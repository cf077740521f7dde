"""Simulations with fixed seeds: what the design promises of the gate, MOVER, the correction and kappa."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import binom

from calibration.statistics import simulation
from calibration.statistics.agreement import cohens_kappa
from calibration.statistics.clusters import cluster_wilson
from calibration.statistics.correction import JudgeErrors, rogan_gladen
from calibration.statistics.kappa_interval import kappa_estimate
from calibration.statistics.normal import z_value
from calibration.statistics.planning import gate_characteristic
from calibration.statistics.proportions import GateResult, score_gate, wilson_interval
from calibration.statistics.simulation import GateDesign, simulate_gate
from calibration.statistics.strata import Stratum, mover_rate
from calibration.values import Interval, Undefined

Z = z_value(0.95)
SEED = 20261130


def rng() -> np.random.Generator:
    """A fresh generator with the fixed seed."""
    return np.random.default_rng(SEED)


def admitted(design: GateDesign, true_far: float, replicates: int) -> float:
    """The share of replicates that are admitted."""
    found = simulate_gate(design, true_far=true_far, rng=rng(), replicates=replicates)
    assert found.n == replicates
    return found.x / found.n


def test_independent_failures_are_the_exact_binomial() -> None:
    """Without clusters the simulation gives the exact probabilities, within 4 standard errors."""
    for n, far in ((80, 0.02), (150, 0.05), (300, 0.1)):
        exact = gate_characteristic(n, limit=0.1, true_far=far, z=Z).pass_probability
        error = math.sqrt(exact * (1 - exact) / 20_000)
        assert admitted(GateDesign(n, 0.1, Z), far, 20_000) == pytest.approx(exact, abs=4 * error + 1e-4)


def test_certain_judges() -> None:
    """A judge that accepts nothing is always admitted by enough failures, one that accepts all never."""
    design = GateDesign(200, 0.1, Z, per_cluster=5, icc=0.3)
    assert admitted(design, 0.0, 100) == 1
    assert admitted(design, 1.0, 100) == 0


def test_vectorised_gate_is_the_gate() -> None:
    """Replicate by replicate the simulated decision equals cluster_wilson and the score test."""
    for design in (
        GateDesign(100, 0.1, Z, per_cluster=5, icc=0.4),
        GateDesign(100, 0.1, Z, per_cluster=5, icc=0.4, planning_icc=0.0),
        GateDesign(5, 0.5, 1.0, per_cluster=5, icc=0.4),
        GateDesign(60, 0.1, Z),
    ):
        events = simulation._draw(design, 0.06, rng(), (300, design.failures // design.per_cluster))
        decided = simulation._admits(design, events)
        for row, admits in zip(events, decided, strict=True):
            gate = cluster_wilson(row, [design.per_cluster] * len(row), planning_icc=design.planning_icc)
            status = score_gate(gate.x_effective, gate.n_effective, limit=design.limit, z=design.z)
            assert (status is GateResult.PASS) is bool(admits)


def test_drawn_clusters_have_their_correlation() -> None:
    """Fives at ICC .3 and FAR .1: mean .5, variance 5 · .09 · 2.2."""
    design = GateDesign(500_000, 0.1, Z, per_cluster=5, icc=0.3)
    events = simulation._draw(design, 0.1, rng(), (1, 100_000))
    assert events.mean() == pytest.approx(0.5, abs=0.02)
    assert events.var() == pytest.approx(5 * 0.09 * 2.2, rel=0.05)


def test_batches_do_not_change_the_count(monkeypatch: pytest.MonkeyPatch) -> None:
    """Replicates in many batches are as many, and as often admitted within the Monte Carlo error."""
    design = GateDesign(80, 0.1, Z)
    whole = admitted(design, 0.02, 3_000)
    monkeypatch.setattr(simulation, "BATCH", 999)
    assert admitted(design, 0.02, 3_000) == pytest.approx(whole, abs=0.04)


def test_designs_are_checked() -> None:
    """Clusters must fill the failures; limits, correlations and z are checked; a replicate is needed."""
    good = {"failures": 100, "limit": 0.1, "z": Z, "per_cluster": 5, "icc": 0.3}
    for name, value, message in (
        ("failures", 101, "failures is 101; give a multiple of 5"),
        ("failures", 0, "failures is 0"),
        ("failures", -5, "failures is -5"),
        ("per_cluster", 0, "per_cluster is 0"),
        ("limit", 1, "limit is 1"),
        ("z", 0, "z is 0"),
        ("icc", 1, "icc is 1"),
        ("icc", -0.1, "icc is -0.1"),
        ("planning_icc", 2, "planning_icc is 2"),
    ):
        with pytest.raises(ValueError, match=message):
            GateDesign(**{**good, name: value})  # type: ignore[arg-type]
    design = GateDesign(**good)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match="true_far is 2"):
        simulate_gate(design, true_far=2, rng=rng())
    with pytest.raises(ValueError, match="replicates is 0"):
        simulate_gate(design, true_far=0.1, rng=rng(), replicates=0)


def check_clusters(replicates: int, slack: float) -> None:
    """Table 4: clusters of five; the policy's rule stays at or below 2.7 %, the naive gate does not."""
    for failures, policy in ((80, 0.007), (150, 0.011), (300, 0.013)):
        rule = GateDesign(failures, 0.1, Z, per_cluster=5, icc=0.3)
        naive = GateDesign(failures, 0.1, Z, per_cluster=5, icc=0.3, planning_icc=0.0, estimate_icc=False)
        found = admitted(rule, 0.1, replicates)
        assert found == pytest.approx(policy, abs=0.002 + slack)
        assert found <= 0.027
        assert admitted(naive, 0.1, replicates) > 0.05
    strong = GateDesign(150, 0.1, Z, per_cluster=5, icc=0.5)
    assert admitted(strong, 0.1, replicates) <= 0.027 + slack
    assert admitted(GateDesign(50, 0.1, Z, per_cluster=5, icc=0.3), 0.0, 100) == 0  # 10 prompts cannot admit


def test_cluster_gate_keeps_its_promise() -> None:
    """Reduced: 6,000 replicates a design."""
    check_clusters(6_000, 0.003)


@pytest.mark.slow
def test_cluster_gate_keeps_its_promise_in_full() -> None:
    """Full: 100,000 replicates a design."""
    check_clusters(100_000, 0.0008)


def test_power_left_in_clusters() -> None:
    """Table 4: 300 failures of 60 prompts at ICC .3 admit a 2 % judge in 95.6 %, a 5 % one in 46.5 %."""
    design = GateDesign(300, 0.1, Z, per_cluster=5, icc=0.3)
    assert admitted(design, 0.02, 6_000) == pytest.approx(0.956, abs=0.012)
    assert admitted(design, 0.05, 6_000) == pytest.approx(0.465, abs=0.025)


CONFIGURATIONS = [
    # shares (deployment mix of failures), true FAR and failures of each stratum
    ([0.9, 0.1], [0.02, 0.10], [100, 100]),
    ([0.1, 0.9], [0.02, 0.10], [100, 100]),
    ([0.5, 0.5], [0.05, 0.05], [40, 40]),
    ([0.9, 0.1], [0.20, 0.02], [100, 100]),
    ([0.1, 0.9], [0.20, 0.05], [150, 50]),
    ([0.5, 0.3, 0.2], [0.05, 0.10, 0.20], [60, 60, 60]),
    ([0.8, 0.1, 0.1], [0.02, 0.05, 0.20], [30, 60, 60]),
    ([0.6, 0.3, 0.1], [0.10, 0.02, 0.02], [50, 100, 50]),
    ([0.4, 0.3, 0.2, 0.1], [0.05, 0.05, 0.10, 0.20], [50, 50, 50, 50]),
    ([0.7, 0.1, 0.1, 0.1], [0.05, 0.02, 0.02, 0.20], [40, 40, 40, 40]),
    ([0.25, 0.25, 0.2, 0.2, 0.1], [0.02, 0.05, 0.10, 0.05, 0.20], [40, 40, 40, 40, 40]),
    ([0.3, 0.2, 0.2, 0.1, 0.1, 0.1], [0.02, 0.05, 0.05, 0.10, 0.20, 0.20], [40, 40, 40, 40, 40, 40]),
]
"""Two to six strata, FAR .02 to .2, weights 1:1 to 1:9."""


def mover_misses(configuration: tuple[list[float], list[float], list[int]], replicates: int) -> float:
    """How often the upper limit lies below the truth (a judge looks better than it is)."""
    shares, fars, sizes = configuration
    truth = sum(share * far for share, far in zip(shares, fars, strict=True))
    drawn = rng().binomial(sizes, fars, size=(replicates, len(sizes)))
    kinds, counts = np.unique(drawn, axis=0, return_counts=True)
    missed = 0
    for x, count in zip(kinds.tolist(), counts.tolist(), strict=True):
        strata = [Stratum(w, a, n) for w, a, n in zip(shares, x, sizes, strict=True)]
        missed += count * (mover_rate(strata).interval.upper < truth)
    return missed / replicates


def test_mover_of_one_dominant_stratum_is_its_wilson_interval() -> None:
    """90 % of the weight on 40 failures at FAR .2: as Wilson there it misses 2.7 %."""
    assert 0.025 < mover_misses(([0.9, 0.1], [0.20, 0.02], [40, 160]), 40_000) < 0.03
    assert float(binom.cdf(3, 40, 0.2)) == pytest.approx(0.0285, abs=5e-5)
    assert wilson_interval(3, 40).upper < 0.2 < wilson_interval(4, 40).upper


@pytest.mark.parametrize("configuration", CONFIGURATIONS)
def test_mover_rarely_misses_high(configuration: tuple[list[float], list[float], list[int]]) -> None:
    """Reduced: over 3,000 samples at most 2.5 % of upper limits are too low, plus 2 standard errors."""
    assert mover_misses(configuration, 3_000) <= 0.025 + 2 * math.sqrt(0.025 * 0.975 / 3_000)


@pytest.mark.slow
@pytest.mark.parametrize("configuration", CONFIGURATIONS)
def test_mover_rarely_misses_high_in_full(configuration: tuple[list[float], list[float], list[int]]) -> None:
    """Full: over 40,000 samples at most 2.5 %."""
    assert mover_misses(configuration, 40_000) <= 0.025


def correction_coverage(
    setting: tuple[float, float, float, int], replicates: int, *, mix: float | None
) -> float:
    """How often the Lang-Reiczigel interval, where given, holds the pass rate of 1,000 cases.

    The labelled cases are a random sample of the deployment, or have a fixed share `mix` of passes.
    """
    theta, far, frr, labels = setting
    source = rng()
    p = theta * (1 - frr) + (1 - theta) * far
    passes = source.binomial(labels, theta if mix is None else mix, size=replicates)
    accepted = source.binomial(1_000, p, size=replicates)
    false, missed = source.binomial(labels - passes, far), source.binomial(passes, frr)
    held = given = 0
    for a, x, m, s in zip(accepted.tolist(), false.tolist(), missed.tolist(), passes.tolist(), strict=True):
        found = rogan_gladen(a, 1_000, JudgeErrors(x, labels - s, m, s))
        if not isinstance(found, Undefined):
            given += 1
            held += found.interval.lower <= theta <= found.interval.upper
    assert given >= 0.975 * replicates  # a random sample of 100 may hold too few failures to tell
    return held / given


SETTINGS = [
    ((0.7, 0.05, 0.10, 200), None),
    ((0.9, 0.10, 0.05, 200), None),
    ((0.95, 0.20, 0.05, 100), None),
    ((0.6, 0.35, 0.30, 200), None),
    ((0.9, 0.05, 0.10, 200), 0.5),
    ((0.7, 0.05, 0.10, 200), 0.5),
]
"""Pass rate, FAR, FRR and labels; then how the labels were drawn: at random, or half of them passes."""


@pytest.mark.parametrize(("setting", "mix"), SETTINGS)
def test_corrected_rates_are_covered(setting: tuple[float, float, float, int], mix: float | None) -> None:
    """Reduced: coverage of the nominal 95 % is 94 to 97 %, give or take 2 errors of 4,000 samples."""
    slack = 2 * math.sqrt(0.05 * 0.95 / 4_000)
    assert 0.94 - slack <= correction_coverage(setting, 4_000, mix=mix) <= 0.97 + slack


@pytest.mark.slow
@pytest.mark.parametrize(("setting", "mix"), SETTINGS)
def test_corrected_rates_are_covered_in_full(
    setting: tuple[float, float, float, int], mix: float | None
) -> None:
    """Full: 40,000 samples, 94 to 97 %."""
    assert 0.94 <= correction_coverage(setting, 40_000, mix=mix) <= 0.97


BALANCED = [0.425, 0.075, 0.075, 0.425]  # kappa .70
SKEWED = [0.9, 0.03, 0.04, 0.03]  # margins 93/7 and 94/6, kappa .42


def kappa_coverage(shares: list[float], n: int, replicates: int, *, ruled: bool) -> float:
    """How often the interval that the rule picks (or always the normal one) exists and holds kappa."""
    source = rng()
    exact = cohens_kappa(np.array(shares).reshape(2, 2).tolist())
    assert not isinstance(exact, Undefined)
    held = 0
    kinds, counts = np.unique(source.multinomial(n, shares, size=replicates), axis=0, return_counts=True)
    for cells, count in zip(kinds.tolist(), counts.tolist(), strict=True):
        table = [cells[:2], cells[2:]]
        found = kappa_estimate(table, rng=source) if ruled else cohens_kappa(table)
        interval = found if isinstance(found, Undefined) else found.interval
        if isinstance(interval, Interval):
            held += count * (interval.lower <= exact.kappa <= interval.upper)
    return held / replicates


def test_kappa_is_covered() -> None:
    """Reduced: the rule's interval covers at least 92 %, less 2 standard errors of 1,000 samples."""
    slack = 2 * math.sqrt(0.08 * 0.92 / 1_000)
    for shares, n in ((BALANCED, 100), (SKEWED, 100), (SKEWED, 200)):
        assert kappa_coverage(shares, n, 1_000, ruled=True) >= 0.92 - slack


@pytest.mark.slow
def test_kappa_is_covered_in_full() -> None:
    """Full: at least 92 %; on skewed margins better than the normal interval alone."""
    for n in (50, 100):
        assert kappa_coverage(BALANCED, n, 20_000, ruled=True) >= 0.92
    for n in (100, 200):
        ruled = kappa_coverage(SKEWED, n, 10_000, ruled=True)
        assert ruled >= 0.92
        assert ruled > kappa_coverage(SKEWED, n, 10_000, ruled=False)
