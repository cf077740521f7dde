"""Re-weighted rates: MOVER by hand, its peers, and the weights that a FAR needs."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import differential_evolution
from scipy.stats import beta, t

from calibration.statistics.failure_mix import failure_mix, worst_case_upper
from calibration.statistics.normal import z_value
from calibration.statistics.proportions import GateResult, score_gate, wilson_interval
from calibration.statistics.strata import (
    Stratum,
    kish_rate,
    kish_size,
    korn_graubard,
    mover_gate,
    mover_rate,
    normalise,
)
from calibration.values import Undefined

Z = z_value(0.95)
TWO = [Stratum(0.9, 1, 40), Stratum(0.1, 8, 40)]


def test_mover_by_hand() -> None:
    """.9/40 + .1 · .2 = .0425; distances of the Wilson ends, weighted, squared, summed."""
    found = mover_rate(TWO)
    first, second = wilson_interval(1, 40), wilson_interval(8, 40)
    above = math.hypot(0.9 * (first.upper - 0.025), 0.1 * (second.upper - 0.2))
    below = math.hypot(0.9 * (0.025 - first.lower), 0.1 * (0.2 - second.lower))
    assert found.estimate == pytest.approx(0.0425)
    assert (found.interval.lower, found.interval.upper) == pytest.approx((0.0425 - below, 0.0425 + above))
    assert (found.interval.method, found.interval.confidence) == ("mover-wilson", 0.95)
    assert found.unweighted == pytest.approx(9 / 80)
    assert found.n_effective == pytest.approx(1 / (0.81 / 40 + 0.01 / 40))


@given(st.integers(1, 80).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
@settings(max_examples=40, derandomize=True, deadline=None)
def test_one_stratum_is_plain_wilson(counts: tuple[int, int]) -> None:
    """One stratum, and one beside a stratum without weight, give the plain interval in all methods."""
    x, n = counts
    plain = wilson_interval(x, n)
    for strata in ([Stratum(1, x, n)], [Stratum(1, x, n), Stratum(0, 3, 7)]):
        for method in (mover_rate, kish_rate):
            found = method(strata)
            assert found.interval.lower == pytest.approx(plain.lower, abs=1e-12)
            assert found.interval.upper == pytest.approx(plain.upper, abs=1e-12)
            assert found.estimate == pytest.approx(x / n)


@given(
    st.lists(
        st.integers(1, 40).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n), st.integers(1, 9))),
        min_size=1,
        max_size=5,
    )
)
@settings(max_examples=60, derandomize=True, deadline=None)
def test_mover_ends_hold_the_estimate_within_0_and_1(counts: list[tuple[int, int, int]]) -> None:
    """0 <= lower <= estimate <= upper <= 1 for any strata."""
    shares = normalise([w for _, _, w in counts])
    found = mover_rate([Stratum(w, x, n) for w, (x, n, _) in zip(shares, counts, strict=True)])
    assert not isinstance(found.estimate, Undefined)
    assert 0 <= found.interval.lower <= found.estimate + 1e-12
    assert found.estimate - 1e-12 <= found.interval.upper <= 1


def test_an_empty_stratum_with_weight_leaves_the_rate_undefined() -> None:
    """It enters the interval with 0 and 1, and the gate is insufficient even if that would pass."""
    strata = [Stratum(0.95, 0, 500), Stratum(0.05, 0, 0)]
    found = mover_rate(strata)
    assert found.estimate == Undefined("a stratum that has weight has no case")
    assert isinstance(found.n_effective, Undefined)
    assert found.unweighted == 0
    assert found.interval.lower == 0
    assert found.interval.upper == pytest.approx(0.05 + 0.95 * wilson_interval(0, 500).upper)
    assert mover_gate(strata, limit=0.1, z=Z) is GateResult.INSUFFICIENT
    assert mover_gate([Stratum(1, 0, 500), Stratum(0, 0, 0)], limit=0.1, z=Z) is GateResult.PASS
    kish = kish_rate(strata)
    assert isinstance(kish.estimate, Undefined)
    assert (kish.interval.lower, kish.interval.upper) == (0, 1)
    assert isinstance(mover_rate([Stratum(1, 0, 0)]).unweighted, Undefined)


def test_gate_on_strata() -> None:
    """Upper end at most the limit passes, lower end above it fails; one stratum is exact."""
    upper, lower = mover_rate(TWO, z=Z).interval.upper, mover_rate(TWO, z=Z).interval.lower
    assert mover_gate(TWO, limit=upper, z=Z) is GateResult.PASS
    assert mover_gate(TWO, limit=upper - 1e-9, z=Z) is GateResult.INSUFFICIENT
    assert mover_gate(TWO, limit=lower, z=Z) is GateResult.INSUFFICIENT
    assert mover_gate(TWO, limit=lower - 1e-9, z=Z) is GateResult.FAIL
    wider = mover_rate(TWO, z=3.0).interval
    assert mover_gate(TWO, limit=wider.upper, z=3.0) is GateResult.PASS
    assert mover_gate(TWO, limit=upper, z=3.0) is GateResult.INSUFFICIENT
    assert mover_gate([Stratum(1, 0, 16)], limit=0.2, z=2.0) is score_gate(0, 16, limit=0.2, z=2.0)
    with pytest.raises(ValueError, match="limit is 10"):
        mover_gate(TWO, limit=10, z=Z)


@pytest.mark.parametrize(
    ("strata", "message"),
    [
        ([Stratum(0.5, 1, 4), Stratum(0.4, 1, 4)], "they must sum to 1: divide each by the sum"),
        ([Stratum(0.5, 1, 4), Stratum(0.500002, 1, 4)], "they must sum to 1"),
        ([Stratum(90, 1, 4), Stratum(10, 1, 4)], "a stratum's share is 90"),
        ([Stratum(-0.5, 1, 4), Stratum(1.5, 1, 4)], "a stratum's share is -0.5"),
        ([Stratum(1, 5, 4)], "x is 5 of n 4"),
        ([Stratum(1, math.nan, 4)], "x is nan"),
        ([], "they must sum to 1"),
    ],
)
def test_bad_strata(strata: list[Stratum], message: str) -> None:
    """Shares that do not sum to 1, percentages, negative shares and bad counts are refused by all methods."""
    for method in (mover_rate, kish_rate, korn_graubard):
        with pytest.raises(ValueError, match=message):
            method(strata)


def test_shares_that_sum_to_1_but_for_rounding_are_normalised() -> None:
    """.333333 three times is one third each."""
    found = mover_rate([Stratum(0.333333, 3, 10), Stratum(0.333333, 0, 10), Stratum(0.333334, 6, 10)])
    assert found.estimate == pytest.approx(0.3, abs=1e-6)
    exact = mover_rate([Stratum(0.3333335, 1, 1), Stratum(0.3333335, 1, 1), Stratum(0.3333335, 1, 1)])
    assert exact.estimate == pytest.approx(1, abs=1e-15)


def test_kish_by_hand() -> None:
    """Size 48.8 for 80 cases at 9:1; the mean of ten equal weights loses nothing."""
    found = kish_rate(TWO, z=1.96)
    size = 1 / (0.81 / 40 + 0.01 / 40)
    assert found.n_effective == pytest.approx(size)
    plain = wilson_interval(0.0425 * size, size, z=1.96)
    assert (found.interval.lower, found.interval.upper) == pytest.approx((plain.lower, plain.upper))
    assert found.interval.method == "kish-wilson"
    assert kish_size([1] * 10).n_effective == pytest.approx(10)
    assert kish_size([1, 2, 3, 4, 5]).design_effect == pytest.approx(55 * 5 / 225)
    with pytest.raises(ValueError, match="at least one must be greater than 0"):
        kish_size([0, 0])
    with pytest.raises(ValueError, match="a weight is -1"):
        kish_size([1, -1])
    with pytest.raises(ValueError, match="at least one must be greater than 0"):
        normalise([])


def test_korn_graubard_by_its_formula() -> None:
    """Beta quantiles at the design's effective size, with scipy.stats' t and beta."""
    found = korn_graubard(TWO, confidence=0.9)
    assert not isinstance(found, Undefined)
    variance = 0.81 * 0.025 * 0.975 / 39 + 0.01 * 0.2 * 0.8 / 39
    size = 0.0425 * 0.9575 / variance * (t.ppf(0.05, 79) / t.ppf(0.05, 78)) ** 2
    low = beta.ppf(0.05, size * 0.0425, size * 0.9575 + 1)
    high = beta.ppf(0.95, size * 0.0425 + 1, size * 0.9575)
    assert (found.interval.lower, found.interval.upper) == pytest.approx((low, high), abs=1e-9)
    assert (found.n_effective, found.estimate) == pytest.approx((size, 0.0425))
    assert (found.interval.method, found.interval.confidence) == ("korn-graubard", 0.9)
    assert found.interval.sided == mover_rate(TWO).interval.sided == 2
    assert found.unweighted == pytest.approx(9 / 80)
    assert isinstance(korn_graubard([Stratum(0.5, 0, 9), Stratum(0.5, 0, 9)]), Undefined)
    assert isinstance(korn_graubard([Stratum(0.5, 1, 1), Stratum(0.5, 3, 9)]), Undefined)
    assert not isinstance(korn_graubard([Stratum(0.5, 1, 2), Stratum(0.5, 3, 9)]), Undefined)


def test_failure_mix() -> None:
    """90 % of traffic with 1 % failures, 10 % with 30 %: three quarters of failures are of the tenth."""
    assert failure_mix([0.9, 0.1], [0.01, 0.3]) == pytest.approx((0.009 / 0.039, 0.03 / 0.039))
    assert isinstance(failure_mix([0.9, 0.1], [0, 0]), Undefined)
    assert failure_mix([900, 100], [0.01, 0.3]) == pytest.approx(failure_mix([0.9, 0.1], [0.01, 0.3]))
    for traffic, prevalence, message in (
        ([0.9], [0.1, 0.2], "traffic and failure_prevalence have 1 and 2"),
        ([-1, 1], [0.1, 0.1], "a traffic share is -1"),
        ([1, 1], [10, 0.1], "a failure prevalence is 10"),
    ):
        with pytest.raises(ValueError, match=message):
            failure_mix(traffic, prevalence)


def test_worst_case_over_a_box_of_prevalences() -> None:
    """The largest upper limit over the box equals a global search, and sits at a corner."""
    counts, traffic = [(1, 40), (8, 40), (0, 10)], [0.7, 0.2, 0.1]
    ranges = [(0.05, 0.3), (0.1, 0.2), (0.02, 0.4)]

    def upper(prevalence: np.ndarray[tuple[int], np.dtype[np.float64]]) -> float:
        shares = failure_mix(traffic, prevalence.tolist())
        assert not isinstance(shares, Undefined)
        strata = [Stratum(w, x, n) for w, (x, n) in zip(shares, counts, strict=True)]
        return mover_rate(strata, z=Z).interval.upper

    searched = differential_evolution(lambda p: -upper(p), ranges, seed=1, tol=1e-10, maxiter=60)
    found = worst_case_upper(counts, traffic, ranges, z=Z)
    assert -searched.fun <= found.upper + 1e-12
    assert found.upper == pytest.approx(-searched.fun, abs=1e-4)
    corners = [upper(np.array(corner)) for corner in product(*ranges)]
    assert found.upper == pytest.approx(max(corners))
    assert sum(found.shares) == pytest.approx(1)
    strata = [Stratum(w, x, n) for w, (x, n) in zip(found.shares, counts, strict=True)]
    assert mover_rate(strata, z=Z).interval.upper == pytest.approx(found.upper)


def test_worst_case_of_a_known_mix_is_the_mix() -> None:
    """Ranges of no width give the plain re-weighted upper limit; an empty stratum counts as 1."""
    found = worst_case_upper([(1, 40), (8, 40)], [0.5, 0.5], [(0.18, 0.18), (0.02, 0.02)], z=Z)
    assert found.shares == pytest.approx((0.9, 0.1))
    assert found.upper == pytest.approx(mover_rate(TWO, z=Z).interval.upper)
    wider = worst_case_upper([(1, 40), (8, 40)], [0.5, 0.5], [(0.18, 0.18), (0.02, 0.02)], z=3.0)
    assert wider.upper == pytest.approx(mover_rate(TWO, z=3.0).interval.upper)
    empty = worst_case_upper([(0, 500), (0, 0)], [0.5, 0.5], [(0.1, 0.1), (0.0, 0.1)], z=Z)
    assert empty.upper == pytest.approx(0.5 + 0.5 * wilson_interval(0, 500).upper)
    everything = worst_case_upper([(40, 40), (40, 40)], [0.5, 0.5], [(0.1, 0.1), (0.0, 0.1)], z=Z)
    assert everything.upper == 1


def test_worst_case_arguments() -> None:
    """Unequal lengths, disordered ranges, no failure and too many strata are refused."""
    for counts, traffic, ranges, z, message in (
        ([(1, 4)], [1, 1], [(0, 1)], Z, "counts and traffic have 1 and 2"),
        ([(1, 4)], [1], [(0, 1), (0, 1)], Z, "counts and prevalence_ranges have 1 and 2"),
        ([(1, 4)], [1], [(0.5, 0.4)], Z, "0 <= lowest <= highest <= 1"),
        ([(1, 4)], [1], [(0.5, 1.4)], Z, "0 <= lowest <= highest <= 1"),
        ([(1, 4)], [1], [(-0.5, 0.4)], Z, "0 <= lowest <= highest <= 1"),
        ([(1, 4)], [-1], [(0.1, 0.4)], Z, "a traffic share is -1"),
        ([(1, 4)], [1], [(0, 0)], Z, "allow no failure"),
        ([(1, 4)], [1], [(0, 1)], 0, "z is 0"),
        ([(5, 4)], [1], [(0, 1)], Z, "x is 5 of n 4"),
        (
            [(1, 4)] * 17,
            [1] * 17,
            [(0, 1)] * 17,
            Z,
            "17 strata have too many corners; merge them into at most 16",
        ),
    ):
        with pytest.raises(ValueError, match=message):
            worst_case_upper(counts, traffic, ranges, z=z)
    many = worst_case_upper([(0, 50)] * 16, [1] * 16, [(0.1, 0.2)] * 16, z=Z)
    assert 0 < many.upper < wilson_interval(0, 50).upper
