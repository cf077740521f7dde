"""How often a gate admits: the tables of STATISTICS §9 and §13, exact against simulated, strata by hand."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom

from calibration.statistics import gate_curve, simulation
from calibration.statistics.gate_curve import (
    GateSetting,
    PlannedStratum,
    admission_curve,
    stratum_fars,
)
from calibration.statistics.normal import look_adjusted_z, z_value
from calibration.statistics.proportions import GateResult
from calibration.statistics.simulation import GateDesign, simulate_gate
from calibration.statistics.strata import Stratum, mover_gate

FARS = (0.0, 0.02, 0.05, 0.08, 0.1, 0.12, 0.15)


def rng() -> np.random.Generator:
    """A fresh generator with the fixed seed."""
    return np.random.default_rng(20261130)


def chances(setting: GateSetting, fars: tuple[float, ...] = FARS, replicates: int = 4_000) -> list[float]:
    """P(admit) at each FAR."""
    return [found.probability for found in admission_curve(setting, fars, rng=rng(), replicates=replicates)]


@pytest.mark.parametrize(
    ("failures", "expected"),
    [
        (20, (0, 0, 0, 0, 0, 0, 0)),
        (50, (1, 0.364, 0.077, 0.0155, 0.005, 0.002, 0.000)),
        (80, (1, 0.784, 0.231, 0.040, 0.011, 0.003, 0.000)),
        (150, (1, 0.989, 0.523, 0.081, 0.014, 0.002, 0.000)),
        (300, (1, 1.000, 0.881, 0.1695, 0.017, 0.001, 0.000)),
    ],
)
def test_one_look_is_table_1(failures: int, expected: tuple[float, ...]) -> None:
    """Exact binomial: every row of table 1, and nothing is simulated."""
    found = admission_curve(GateSetting(failures), FARS, rng=rng())
    assert [each.probability for each in found] == pytest.approx(expected, abs=5.001e-4)
    assert all(each.simulated is None for each in found)


@pytest.mark.parametrize(
    ("failures", "naive", "shared"),
    [(50, 0.005, 0), (80, 0.027, 0.004), (150, 0.033, 0.007), (300, 0.044, 0.010)],
)
def test_three_looks_are_table_2(failures: int, naive: float, shared: float) -> None:
    """At FAR = limit, three looks at n/3, 2n/3, n: exact, within the error of the simulated table."""
    unshared = GateSetting(failures, looks=3, divided=False)
    assert chances(unshared, (0.1,)) == pytest.approx([naive], abs=3e-3)
    assert chances(GateSetting(failures, looks=3), (0.1,)) == pytest.approx([shared], abs=3e-3)
    assert GateSetting(failures, looks=3).z == look_adjusted_z(0.05, 3)
    assert unshared.z == z_value(0.95)


def test_clusters_at_one_look_are_the_simulated_gate() -> None:
    """The same draws give the same count as simulate_gate, with its interval."""
    setting = GateSetting(150, per_cluster=5, icc=0.3)
    (found,) = admission_curve(setting, [0.05], rng=rng(), replicates=2_000)
    design = GateDesign(150, 0.1, setting.z, per_cluster=5, icc=0.3)
    same = simulate_gate(design, true_far=0.05, rng=rng(), replicates=2_000)
    assert found.simulated == same
    assert found.probability == same.x / 2_000


def test_ignoring_clusters_and_looks_is_the_worst_of_table_2() -> None:
    """Clusters of 5 at ICC .3, three looks that share nothing: 14 % of judges at the limit are admitted."""
    naive = GateSetting(150, per_cluster=5, icc=0.3, looks=3, divided=False, allow_for_clusters=False)
    assert chances(naive, (0.1,)) == pytest.approx([0.144], abs=0.02)
    shipped = GateSetting(150, per_cluster=5, icc=0.3, looks=3)
    assert chances(shipped, (0.1,))[0] <= 0.01


def test_batches_count_every_replicate(monkeypatch: pytest.MonkeyPatch) -> None:
    """Many batches give as many replicates, and a chance within the Monte Carlo error."""
    setting = GateSetting(100, per_cluster=5, icc=0.3)
    (whole,) = admission_curve(setting, [0.02], rng=rng(), replicates=3_000)
    monkeypatch.setattr(simulation, "BATCH", 999)
    (parts,) = admission_curve(setting, [0.02], rng=rng(), replicates=3_000)
    assert parts.simulated is not None
    assert parts.simulated.n == 3_000
    assert parts.probability == pytest.approx(whole.probability, abs=0.05)


STRATA = (PlannedStratum("easy", 7, 12), PlannedStratum("hard", 3, 9, ratio=2.0))


def test_strata_by_every_table() -> None:
    """Two small strata against the sum over all 13 x 10 tables of accepted failures."""
    setting = GateSetting(limit=0.5, strata=STRATA)
    fars = stratum_fars(STRATA, 0.2)
    assert fars == pytest.approx((0.2 / 1.3, 0.4 / 1.3))  # .7 + .3 · 2 = 1.3
    by_hand = sum(
        binom.pmf(x, 12, fars[0]) * binom.pmf(y, 9, fars[1])
        for x, y in product(range(13), range(10))
        if mover_gate([Stratum(0.7, x, 12), Stratum(0.3, y, 9)], limit=0.5, z=z_value(0.95))
        is GateResult.PASS
    )
    (found,) = admission_curve(setting, [0.2], rng=rng())
    assert 0.2 < by_hand < 0.999
    assert found.probability == pytest.approx(by_hand)
    assert found.simulated is None


def test_too_many_tables_are_simulated(monkeypatch: pytest.MonkeyPatch) -> None:
    """Beyond the most tables that are tried one by one the chance is simulated, and agrees."""
    setting = GateSetting(limit=0.5, strata=STRATA)
    (exact,) = admission_curve(setting, [0.2], rng=rng())
    monkeypatch.setattr(gate_curve, "MAX_TABLE", 5)
    (found,) = admission_curve(setting, [0.2], rng=rng(), replicates=4_000)
    assert found.simulated is not None
    assert found.probability == pytest.approx(exact.probability, abs=4 * math.sqrt(0.25 / 4_000))


def test_looks_at_strata_are_simulated() -> None:
    """Two looks that share nothing admit at least as often as the last alone; sharing admits less often."""
    strata = (PlannedStratum("a", 1, 60), PlannedStratum("b", 1, 40))
    single = chances(GateSetting(strata=strata), (0.03,))[0]
    unshared = chances(GateSetting(strata=strata, looks=2, divided=False), (0.03,))[0]
    shared = chances(GateSetting(strata=strata, looks=2), (0.03,))[0]
    assert shared < single < unshared + 0.03
    found = admission_curve(GateSetting(strata=strata, looks=2), [0.0], rng=rng(), replicates=200)
    assert found[0].simulated is not None


def test_one_stratum_is_no_strata() -> None:
    """A set with one stratum has the chances of a set without."""
    one = GateSetting(strata=(PlannedStratum("all", 1, 80),))
    assert chances(one) == pytest.approx(chances(GateSetting(80)))


@given(st.integers(35, 200), st.floats(0, 0.3), st.floats(0, 0.3))
@settings(max_examples=25, derandomize=True, deadline=None)
def test_a_worse_judge_is_admitted_less_often(failures: int, one: float, other: float) -> None:
    """The chance falls as the true FAR rises, at any number of failures."""
    better, worse = chances(GateSetting(failures), (min(one, other), max(one, other)))
    assert better >= worse - 1e-12


def test_settings_are_checked() -> None:
    """Limits, levels, looks, clusters, strata and replicates that make no sense are one sentence each."""
    for fields, message in (
        ({"failures": 50, "limit": 1}, "limit is 1"),
        ({"failures": 50, "confidence": 1}, "confidence is 1"),
        ({"failures": 50, "looks": 0}, "looks is 0"),
        ({"failures": 2, "looks": 3}, "looks is 3, more than there are failures"),
        ({"failures": 51, "per_cluster": 5}, "failures is 51; give a multiple of 5"),
        ({"failures": 50, "per_cluster": 0}, "per_cluster is 0"),
        ({"failures": 0}, "failures is 0"),
        ({"strata": (STRATA[0], STRATA[0])}, "distinct names"),
        ({"strata": STRATA, "per_cluster": 5}, "clusters inside strata are not simulated"),
        ({"strata": STRATA, "looks": 10}, "looks is 10, more than"),
    ):
        with pytest.raises(ValueError, match=message):
            GateSetting(**fields)
    for weight, failures, ratio, message in (
        (0, 10, 1, "the weight of stratum 's' is 0"),
        (1, 0, 1, "stratum 's' has no failure"),
        (1, 10, 0, "the ratio of stratum 's' is 0"),
    ):
        with pytest.raises(ValueError, match=message):
            PlannedStratum("s", weight, failures, ratio)
    with pytest.raises(ValueError, match="would put a stratum at"):
        stratum_fars(STRATA, 0.9)
    with pytest.raises(ValueError, match="true_far is 2"):
        admission_curve(GateSetting(50), [2], rng=rng())
    with pytest.raises(ValueError, match="true_far is 2"):
        stratum_fars(STRATA, 2)
    with pytest.raises(ValueError, match="replicates is 0"):
        admission_curve(GateSetting(50), [0.1], rng=rng(), replicates=0)
