"""Plans: minimum evidence, power, sizes; and what the gate really does at the limit (STATISTICS §9, §13)."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, norm

from calibration.statistics import planning
from calibration.statistics.normal import look_adjusted_z, z_value
from calibration.statistics.paired import PairedTable
from calibration.statistics.planning import (
    cases_to_draw,
    clean_failures_in_clusters,
    failures_for_power,
    gate_characteristic,
    largest_true_far,
    min_failures_clean,
    more_failures_needed,
)
from calibration.statistics.proportions import GateResult, max_accepted, score_gate
from calibration.statistics.sample_size import (
    n_for_half_width,
    n_pairs_noninferiority,
    n_pairs_scaled,
    n_two_arm,
)
from calibration.values import Undefined

Z = z_value(0.95)
PASS = GateResult.PASS


@pytest.mark.parametrize(("limit", "n"), [(0.1, 35), (0.05, 73), (0.02, 189), (0.01, 381)])
def test_clean_failures(limit: float, n: int) -> None:
    """A judge that accepts nothing needs 35, 73, 189, 381 failures; one fewer does not pass."""
    assert min_failures_clean(limit, z=1.96) == n
    assert score_gate(0, n, limit=limit, z=1.96) is PASS
    assert score_gate(0, n - 1, limit=limit, z=1.96) is not PASS


def test_clean_failures_one_sided_at_three_looks_and_at_exact_equality() -> None:
    """One-sided 25, three Bonferroni looks 52; z = 2 at 0.2 needs exactly 16."""
    assert min_failures_clean(0.1, z=z_value(0.95, sided=1)) == 25
    assert min_failures_clean(0.1, z=look_adjusted_z(0.05, 3)) == 52
    assert min_failures_clean(0.2, z=2.0) == 16
    assert min_failures_clean(0.999, z=0.001) == 1
    for limit in (0, 1, -0.1):
        with pytest.raises(ValueError, match="limit is"):
            min_failures_clean(limit, z=1.96)
    with pytest.raises(ValueError, match="z is 0"):
        min_failures_clean(0.1, z=0)


@pytest.mark.parametrize(
    ("x", "n", "clean", "at_rate"),
    [(0, 20, 15, 15), (1, 50, 3, 5), (3, 80, 4, 9), (4, 80, 19, 59), (5, 60, 53, 1185), (0, 50, 0, 0)],
)
def test_more_failures(x: int, n: int, clean: int, at_rate: int) -> None:
    """The worked lines: if clean, and at the rate seen so far."""
    found = more_failures_needed(x, n, limit=0.1, z=1.96)
    assert (found.clean, found.at_observed_rate) == (clean, at_rate)


def test_more_failures_without_a_plan() -> None:
    """16 of 80 never pass at their rate; at exactly the limit neither; no failure yet has no rate."""
    never = more_failures_needed(16, 80, limit=0.1, z=1.96)
    assert never.clean == 174
    assert isinstance(never.at_observed_rate, Undefined)
    assert "never pass" in never.at_observed_rate.reason
    on_the_limit = more_failures_needed(7, 70, limit=0.1, z=1.96)
    assert isinstance(on_the_limit.at_observed_rate, Undefined)
    none = more_failures_needed(0, 0, limit=0.1, z=1.96)
    assert none.clean == 35
    assert isinstance(none.at_observed_rate, Undefined)
    assert "no failure so far" in none.at_observed_rate.reason
    assert more_failures_needed(0, 50, limit=0.1, z=look_adjusted_z(0.05, 3)).clean == 2
    with pytest.raises(ValueError, match="x is 3 of n 2"):
        more_failures_needed(3, 2, limit=0.1, z=1.96)


@given(
    st.integers(0, 150).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))),
    st.sampled_from([0.05, 0.1, 0.25]),
)
@settings(max_examples=60, derandomize=True, deadline=None)
def test_more_clean_failures_are_just_enough(counts: tuple[int, int], limit: float) -> None:
    """With the clean number the gate passes, with one fewer it does not, unless none was needed."""
    x, n = counts
    clean = more_failures_needed(x, n, limit=limit, z=Z).clean
    assert score_gate(x, n + clean, limit=limit, z=Z) is PASS
    assert clean == 0 or score_gate(x, n + clean - 1, limit=limit, z=Z) is not PASS


@pytest.mark.parametrize(
    ("n", "most", "admits"),
    [
        (50, 0, (1, 0.364, 0.077, 0.0155, 0.005, 0.002, 0.000)),
        (80, 2, (1, 0.784, 0.231, 0.040, 0.011, 0.003, 0.000)),
        (150, 7, (1, 0.989, 0.523, 0.081, 0.014, 0.002, 0.000)),
        (300, 19, (1, 1.000, 0.881, 0.1695, 0.017, 0.001, 0.000)),
    ],
)
def test_operating_characteristic(n: int, most: int, admits: tuple[float, ...]) -> None:
    """Table 1 of STATISTICS §9: most accepted failures that pass, and P(admit) at seven true FARs."""
    for true_far, expected in zip((0, 0.02, 0.05, 0.08, 0.1, 0.12, 0.15), admits, strict=True):
        found = gate_characteristic(n, limit=0.1, true_far=true_far, z=Z)
        assert found.max_accepted == most
        assert found.pass_probability == pytest.approx(expected, abs=5.001e-4)


def test_twenty_failures_cannot_admit() -> None:
    """20 failures admit nobody, at any FAR."""
    found = gate_characteristic(20, limit=0.1, true_far=0, z=Z)
    assert isinstance(found.max_accepted, Undefined)
    assert found.pass_probability == 0
    assert isinstance(largest_true_far(20, limit=0.1, power=0.8, z=Z), Undefined)
    with pytest.raises(ValueError, match="true_far is 2"):
        gate_characteristic(20, limit=0.1, true_far=2, z=Z)


@pytest.mark.parametrize(
    ("n", "at_limit", "at_2_percent"),
    [(50, 0.034, 0.736), (80, 0.035, 0.923), (150, 0.031, 0.997), (300, 0.046, 1.0)],
)
def test_one_sided_gate_is_less_strict(n: int, at_limit: float, at_2_percent: float) -> None:
    """Table 3: the one-sided 95 % limit admits 3.1 to 4.6 % of judges at the limit."""
    z = z_value(0.95, sided=1)
    assert gate_characteristic(n, limit=0.1, true_far=0.1, z=z).pass_probability == pytest.approx(
        at_limit, abs=5.001e-4
    )
    assert gate_characteristic(n, limit=0.1, true_far=0.02, z=z).pass_probability == pytest.approx(
        at_2_percent, abs=5.001e-4
    )


def test_exact_size_of_one_look() -> None:
    """P(admit) at FAR = limit .10 over n = 35..1000 is at most 2.65 %, its maximum 2.64 % at n = 84."""
    sizes = {}
    for n in range(35, 1001):
        most = max_accepted(n, limit=0.1, z=Z)
        assert not isinstance(most, Undefined)
        sizes[n] = float(binom.cdf(most, n, 0.1))
    worst = max(sizes, key=lambda n: sizes[n])
    assert worst == 84
    assert 0.0263 < sizes[worst] <= 0.0265
    assert [round(sizes[n], 3) for n in (50, 80, 150, 300)] == [0.005, 0.011, 0.014, 0.017]


@pytest.mark.parametrize(
    ("limit", "true_far", "power", "first", "stable"),
    [
        (0.1, 0.0, 0.95, 35, 35),
        (0.1, 0.02, 0.8, 69, 84),
        (0.1, 0.02, 0.9, 84, 99),
        (0.1, 0.02, 0.95, 99, 113),
        (0.1, 0.05, 0.8, 217, 254),
        (0.1, 0.05, 0.9, 291, 315),
        (0.1, 0.05, 0.95, 351, 386),
        (0.1, 0.07, 0.8, 684, 740),
        (0.1, 0.07, 0.9, 908, 963),
        (0.1, 0.07, 0.95, 1117, 1172),
        (0.05, 0.02, 0.8, 311, 337),
        (0.05, 0.02, 0.9, 389, 440),
    ],
)
def test_failures_for_power(limit: float, true_far: float, power: float, first: int, stable: int) -> None:
    """The table of STATISTICS §6: first, and the number from which every larger one reaches the power."""
    found = failures_for_power(limit=limit, true_far=true_far, power=power, z=1.96)
    assert not isinstance(found, Undefined)
    assert (found.first, found.stable) == (first, stable)


@given(st.sampled_from([0.005, 0.01, 0.02, 0.03, 0.04]), st.sampled_from([0.5, 0.8, 0.95]))
@settings(max_examples=12, derandomize=True, deadline=None)
def test_stable_plan_holds_at_every_larger_n(true_far: float, power: float) -> None:
    """At the stable n and 2,000 beyond it the power is reached; just before it, it is not."""
    found = failures_for_power(limit=0.1, true_far=true_far, power=power, z=Z)
    assert not isinstance(found, Undefined)
    for n in (found.stable, *range(found.stable, found.stable + 2000, 7)):
        assert gate_characteristic(n, limit=0.1, true_far=true_far, z=Z).pass_probability >= power - 1e-9
    assert found.first <= found.stable
    if found.stable > 35:
        before = gate_characteristic(found.stable - 1, limit=0.1, true_far=true_far, z=Z)
        assert before.pass_probability < power


def test_power_is_out_of_reach_at_and_near_the_limit() -> None:
    """A true FAR at the limit never passes often enough; one a hair below needs more than can be planned."""
    at = failures_for_power(limit=0.1, true_far=0.1, power=0.8, z=Z)
    near = failures_for_power(limit=0.1, true_far=0.0999, power=0.8, z=Z)
    assert isinstance(at, Undefined)
    assert "not below the limit" in at.reason
    assert isinstance(near, Undefined)
    assert "more than 2,000,000" in near.reason
    with pytest.raises(ValueError, match="power is 1"):
        failures_for_power(limit=0.1, true_far=0.02, power=1, z=Z)
    with pytest.raises(ValueError, match="true_far is -1"):
        failures_for_power(limit=0.1, true_far=-1, power=0.8, z=Z)


def test_many_probabilities_agree_with_one_at_a_time() -> None:
    """The vectorised pass probabilities equal the single ones, also at the edge (z = 2, L = .2)."""
    many = planning._pass_probabilities(1, 120, 0.2, 0.05, 2.0)
    single = [gate_characteristic(n, limit=0.2, true_far=0.05, z=2.0).pass_probability for n in range(1, 121)]
    assert many == pytest.approx(np.array(single), abs=1e-14)


def test_plan_in_reverse() -> None:
    """60 failures admit, with power .8, only judges with a true FAR of at most 1.4 %."""
    far = largest_true_far(60, limit=0.1, power=0.8, z=Z)
    assert not isinstance(far, Undefined)
    assert round(100 * far, 1) == 1.4
    assert gate_characteristic(60, limit=0.1, true_far=far, z=Z).pass_probability == pytest.approx(0.8)
    assert largest_true_far(60, limit=1.0, power=0.8, z=Z) == 1.0
    with pytest.raises(ValueError, match="power is 0"):
        largest_true_far(60, limit=0.1, power=0, z=Z)


@pytest.mark.parametrize(
    ("per_cluster", "one", "three"), [(2, 45, 68), (3, 56, 83), (4, 66, 99), (5, 77, 114)]
)
def test_clean_failures_in_clusters(per_cluster: int, one: int, three: int) -> None:
    """STATISTICS §13: clean failures with planning ICC .3, at one look and at three."""
    assert clean_failures_in_clusters(0.1, z=Z, per_cluster=per_cluster, icc=0.3) == one
    z3 = look_adjusted_z(0.05, 3)
    assert clean_failures_in_clusters(0.1, z=z3, per_cluster=per_cluster, icc=0.3) == three


def test_clean_failures_in_single_clusters_are_the_plain_ones() -> None:
    """One case a cluster needs the plain number, at the exact edge too."""
    assert clean_failures_in_clusters(0.1, z=Z, per_cluster=1, icc=0.9) == min_failures_clean(0.1, z=Z)
    assert clean_failures_in_clusters(0.2, z=2.0, per_cluster=1, icc=0.9) == 16
    with pytest.raises(ValueError, match="limit is 1"):
        clean_failures_in_clusters(1, z=Z, per_cluster=2, icc=0.3)
    with pytest.raises(ValueError, match="z is 0"):
        clean_failures_in_clusters(0.1, z=0, per_cluster=2, icc=0.3)


def test_cases_to_draw() -> None:
    """100 failures at 20 % prevalence and 10 % unresolved: 550; design effect 2.2: 1,210."""
    assert cases_to_draw(100, prevalence=0.2) == 550
    assert cases_to_draw(100, prevalence=0.2, effect=2.2) == 1210
    assert cases_to_draw(100, prevalence=1, unresolved=0) == 100
    assert cases_to_draw(7, prevalence=0.3, unresolved=0) == 24
    with pytest.raises(ValueError, match="prevalence is 0"):
        cases_to_draw(100, prevalence=0)
    with pytest.raises(ValueError, match="prevalence is 20"):
        cases_to_draw(100, prevalence=20)
    with pytest.raises(ValueError, match=r"effect is 0\.5; a design effect is at least 1"):
        cases_to_draw(100, prevalence=0.2, effect=0.5)
    with pytest.raises(ValueError, match="effect is inf"):
        cases_to_draw(100, prevalence=0.2, effect=float("inf"))
    with pytest.raises(ValueError, match="unresolved is -1"):
        cases_to_draw(100, prevalence=0.2, unresolved=-1)
    with pytest.raises(ValueError, match="failures is -1"):
        cases_to_draw(-1, prevalence=0.2)


def test_half_width() -> None:
    """2 points at .5 need 2,401, exactly; a certain rate still needs one case."""
    assert n_for_half_width(0.5, 0.02, z=1.96) == 2401
    assert n_for_half_width(0.2, 0.0801, z=1.96) == 96
    assert n_for_half_width(0, 0.1, z=1.96) == 1
    for p, half, z in ((2, 0.1, 1.96), (0.5, 0, 1.96), (0.5, 0.1, 0)):
        with pytest.raises(ValueError, match=r"p is 2|half_width is 0|z is 0"):
            n_for_half_width(p, half, z=z)


def test_two_arms_reach_their_power() -> None:
    """With that many in each arm the normal test has the wanted power."""
    n = n_two_arm(0.5, 0.04, power=0.8, z=1.96)
    assert n == pytest.approx(2452.838, abs=1e-3)
    assert norm.cdf(0.04 / (2 * 0.25 / n) ** 0.5 - 1.96) == pytest.approx(0.8)
    for p, difference, power, z in (
        (2, 0.1, 0.8, 1.96),
        (0.5, 0, 0.8, 1.96),
        (0.5, 0.1, 1, 1.96),
        (0.5, 0.1, 0.8, 0),
    ):
        with pytest.raises(ValueError, match=r"p is 2|difference is 0|probability is 1|z is 0"):
            n_two_arm(p, difference, power=power, z=z)


def test_pairs_for_noninferiority() -> None:
    """433 and 580 pairs for a 4-point gain, 3,925 and 5,254 for none (STATISTICS §6)."""
    plan = {"discordant": 0.2, "tolerance": 0.02, "z": 1.96}
    found = [
        n_pairs_noninferiority(gain=gain, power=power, **plan) for gain in (0.04, 0.0) for power in (0.8, 0.9)
    ]
    assert found == [433, 580, 3925, 5254]


def test_pairs_for_noninferiority_bad_plans() -> None:
    """A loss as large as the tolerance, too few discordant pairs, and bad shares are refused."""

    def size(**changed: float) -> int:
        plan = {"gain": 0.0, "discordant": 0.2, "tolerance": 0.02, "power": 0.8, "z": 1.96}
        return n_pairs_noninferiority(**{**plan, **changed})

    for name, value, message in (
        ("gain", -0.02, r"gain \+ tolerance is 0"),
        ("gain", 0.3, r"discordant is 0\.2; pairs that differ make the gain 0\.3"),
        ("discordant", 2, "discordant is 2"),
        ("tolerance", -1, "tolerance is -1"),
        ("z", 0, "z is 0"),
        ("power", 1, "probability is 1"),
    ):
        with pytest.raises(ValueError, match=message):
            size(**{name: value})
    assert size(gain=0.2, discordant=0.2) >= 1
    assert size(discordant=0.0) == 1
    # 2² · 0.04 / 0.02² = 400 exactly, power .5 adds nothing
    assert size(discordant=0.04, power=0.5, z=2.0) == 400
    # (1.96 + 0.8416)² (0.2 - 0.0001) / 0.01² = 15,690.3
    assert size(gain=-0.01) == 15691


def test_scaled_pairs() -> None:
    """Notebook 13.1: 7.21 points, 217 pairs; no first run has none; too large a loss is refused."""
    found = n_pairs_scaled(PairedTable(70, 12, 18, 50), true_gain=0.04, tolerance=0.02, z=1.96)
    assert not isinstance(found, Undefined)
    assert found.n_pairs_ceil == 217
    assert round(100 * found.lower_half_width, 2) == 7.21
    assert found.n_pairs == pytest.approx(216.385, abs=1e-3)
    empty = n_pairs_scaled(PairedTable(0, 0, 0, 0), true_gain=0.04, tolerance=0.02, z=1.96)
    assert empty == Undefined("no pair in the first run")
    with pytest.raises(ValueError, match=r"true_gain \+ tolerance is"):
        n_pairs_scaled(PairedTable(1, 1, 1, 1), true_gain=-0.04, tolerance=0.02, z=1.96)
