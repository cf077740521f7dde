"""One proportion: intervals by a second route, and the score test at its edges."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom, binomtest
from statsmodels.stats.proportion import proportion_confint

from calibration.statistics.normal import look_adjusted_z, z_value
from calibration.statistics.proportions import (
    GateResult,
    clopper_pearson_interval,
    level_of,
    max_accepted,
    rate,
    score_gate,
    wald_interval,
    wilson_interval,
)
from calibration.values import Undefined

PASS, FAIL, INSUFFICIENT = GateResult.PASS, GateResult.FAIL, GateResult.INSUFFICIENT
Z = z_value(0.95)


@given(st.integers(1, 400).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
@settings(max_examples=60, derandomize=True, deadline=None)
def test_wilson_agrees_with_scipy(counts: tuple[int, int]) -> None:
    """Both ends equal scipy's Wilson interval, two-sided and one-sided."""
    x, n = counts
    ours, theirs = wilson_interval(x, n), binomtest(x, n).proportion_ci(0.95, "wilson")
    assert (ours.lower, ours.upper) == pytest.approx((theirs.low, theirs.high), abs=1e-12)
    one = binomtest(x, n, alternative="less").proportion_ci(0.95, "wilson").high
    assert wilson_interval(x, n, sided=1).upper == pytest.approx(one, abs=1e-12)


@given(st.floats(0.5, 300), st.floats(0, 1))
@settings(max_examples=60, derandomize=True, deadline=None)
def test_wilson_ends_are_the_roots_of_the_score_equation(n: float, share: float) -> None:
    """At each end n (p - x/n)² = z² p (1 - p), also for effective counts, and x/n lies between them."""
    x = n * share
    found = wilson_interval(x, n)
    for end in (found.lower, found.upper):
        if 0 < end < 1:
            assert n * (end - x / n) ** 2 == pytest.approx(Z**2 * end * (1 - end), rel=1e-6, abs=1e-12)
    assert 0 <= found.lower <= x / n * (1 + 1e-12)
    assert x / n * (1 - 1e-12) <= found.upper <= 1


def test_wilson_edges_are_exact() -> None:
    """0 of 50: lower exactly 0, upper z²/(50 + z²); 50 of 50 mirrored; no case: [0, 1]."""
    none, every, empty = wilson_interval(0, 50), wilson_interval(50, 50), wilson_interval(0, 0)
    assert none.lower == 0
    assert none.upper == pytest.approx(Z**2 / (50 + Z**2), abs=1e-15)
    assert every.upper == 1
    assert every.lower == pytest.approx(1 - none.upper, abs=1e-15)
    assert (empty.lower, empty.upper) == (0, 1)
    assert empty.method == "wilson"


def test_wilson_names_its_level() -> None:
    """The confidence and sides asked for are in the result; an explicit z names the level it stands for."""
    found = wilson_interval(3, 10, confidence=0.9, sided=1)
    low = binomtest(3, 10, alternative="greater").proportion_ci(0.9, "wilson").low
    high = binomtest(3, 10, alternative="less").proportion_ci(0.9, "wilson").high
    assert (found.lower, found.upper) == pytest.approx((low, high))
    assert (found.confidence, found.sided, found.method) == (0.9, 1, "wilson")
    by_z = wilson_interval(3, 10, z=1.645, sided=1)
    assert by_z.confidence == pytest.approx(0.95, abs=1e-4)
    assert level_of(0.8, 2, None).z == z_value(0.8)
    assert level_of(0.8, 2, Z).confidence == pytest.approx(0.95)
    assert wilson_interval(0, 0, z=1.645, sided=1).sided == 1


@pytest.mark.parametrize(
    ("x", "n"), [(-1, 5), (6, 5), (math.nan, 5), (1, math.nan), (1, math.inf), (0, -1), (1, 0)]
)
def test_bad_counts_are_refused(x: float, n: float) -> None:
    """Negative, NaN and infinite counts and x > n are one clear error in every function."""
    with pytest.raises(ValueError, match=r"count|x <= n"):
        wilson_interval(x, n)
    with pytest.raises(ValueError, match=r"count|x <= n"):
        score_gate(x, n, limit=0.1, z=Z)


def test_rate_carries_its_counts() -> None:
    """16 of 80: the printed numbers of the exercise, and no estimate without a case."""
    found = rate(16, 80)
    assert (found.x, found.n, found.estimate) == (16, 80, 0.2)
    assert (found.interval.lower, found.interval.upper) == pytest.approx((0.12703, 0.30046), abs=5e-6)
    assert rate(16, 80, sided=1).interval.upper == pytest.approx(0.2828, abs=5e-5)
    assert rate(0, 50, z=1.96).interval.upper == pytest.approx(0.0713500341743187, abs=1e-15)
    assert isinstance(rate(0, 0).estimate, Undefined)
    with pytest.raises(ValueError, match=r"x is 1\.5; a count is a whole number"):
        rate(1.5, 3)  # type: ignore[arg-type]


@given(st.integers(1, 150).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))))
@settings(max_examples=40, derandomize=True, deadline=None)
def test_clopper_pearson_inverts_the_binomial_tails(counts: tuple[int, int]) -> None:
    """At the upper end P(X <= x) = 2.5 %, at the lower P(X >= x) = 2.5 %; 0 and 1 at the edges."""
    x, n = counts
    found = clopper_pearson_interval(x, n)
    assert found.upper == 1 if x == n else binom.cdf(x, n, found.upper) == pytest.approx(0.025)
    assert found.lower == 0 if x == 0 else binom.sf(x - 1, n, found.lower) == pytest.approx(0.025)
    assert (found.confidence, found.sided, found.method) == (0.95, 2, "clopper-pearson")


def test_clopper_pearson_one_sided_and_without_a_case() -> None:
    """The one-sided limit puts 5 % on one side; no case gives [0, 1]; a bad level is refused."""
    assert binom.cdf(2, 30, clopper_pearson_interval(2, 30, sided=1).upper) == pytest.approx(0.05)
    empty = clopper_pearson_interval(0, 0)
    assert (empty.lower, empty.upper) == (0, 1)
    with pytest.raises(ValueError, match="confidence"):
        clopper_pearson_interval(1, 2, confidence=95)
    with pytest.raises(ValueError, match="x is 3 of n 2"):
        clopper_pearson_interval(3, 2)


def test_wald_shows_what_is_wrong_with_it() -> None:
    """2 of 50 reaches below 0; 0 of 50 has no width; no case gives nothing."""
    low = wald_interval(2, 50, z=1.96)
    theirs = proportion_confint(2, 50, alpha=0.05, method="normal")
    assert not isinstance(low, Undefined)
    assert low.lower == pytest.approx(-0.0143, abs=5e-5)
    assert low.upper == pytest.approx(theirs[1], abs=1e-4)
    flat = wald_interval(0, 50)
    assert not isinstance(flat, Undefined)
    assert (flat.half_width, flat.estimate) == (0, 0)
    assert wald_interval(0, 0) == Undefined("no case in the denominator")
    with pytest.raises(ValueError, match="x is 3 of n 2"):
        wald_interval(3, 2)


@given(
    st.integers(1, 300).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n))),
    st.sampled_from([0.02, 0.05, 0.1, 0.2, 0.5]),
    st.sampled_from([1.645, 1.96, 2.394]),
)
@settings(max_examples=150, derandomize=True, deadline=None)
def test_gate_is_the_wilson_interval_against_the_limit(
    counts: tuple[int, int], limit: float, z: float
) -> None:
    """Pass where the upper end is at most the limit, fail where the lower end exceeds it."""
    x, n = counts
    interval = wilson_interval(x, n, z=z)
    expected = PASS if interval.upper <= limit else FAIL if interval.lower > limit else INSUFFICIENT
    assert score_gate(x, n, limit=limit, z=z) is expected
    # the same decision for effective counts that a cluster correction leaves
    shrunk = wilson_interval(x / 1.7, n / 1.7, z=z)
    expected = PASS if shrunk.upper <= limit else FAIL if shrunk.lower > limit else INSUFFICIENT
    assert score_gate(x / 1.7, n / 1.7, limit=limit, z=z) is expected


def test_gate_at_exact_equality() -> None:
    """With z = 2 and limit 0.2, 0 of 16 lies exactly on the limit and passes; exactly above is no fail."""
    # (0 - 16/5)² = 10.24 = 4 · 16 · 0.2 · 0.8; (x - 3.2)² = 10.24 at x = 6.4
    assert score_gate(0, 16, limit=0.2, z=2.0) is PASS
    assert score_gate(0, 15, limit=0.2, z=2.0) is INSUFFICIENT
    assert score_gate(6.4, 16, limit=0.2, z=2.0) is INSUFFICIENT
    assert score_gate(6.5, 16, limit=0.2, z=2.0) is FAIL
    # the same edge in effective counts, where floats decide: 1/3 of everything
    assert score_gate(0.0, 16 / 3 * 3.0000000000000004, limit=0.2, z=2.0) is PASS
    # 16 of 25 at 0.8, z = 2: (16 - 20)² = 16 = 4 · 25 · 0.8 · 0.2: exactly on it
    assert score_gate(16, 25, limit=0.8, z=2.0) is PASS
    assert score_gate(24, 25, limit=0.8, z=2.0) is INSUFFICIENT
    assert score_gate(25, 25, limit=0.8, z=2.0) is FAIL


def test_gate_without_a_case_and_at_the_limits_0_and_1() -> None:
    """No case is insufficient at every limit; at 0 nothing passes and any acceptance fails; at 1 all pass."""
    for limit in (0.0, 0.1, 1.0):
        assert score_gate(0, 0, limit=limit, z=Z) is INSUFFICIENT
    assert score_gate(0, 10**6, limit=0.0, z=Z) is INSUFFICIENT
    assert score_gate(1, 10**6, limit=0.0, z=Z) is FAIL
    assert score_gate(5, 5, limit=1.0, z=Z) is PASS
    with pytest.raises(ValueError, match="limit is 10"):
        score_gate(1, 5, limit=10, z=Z)
    with pytest.raises(ValueError, match="z is -1"):
        score_gate(1, 5, limit=0.1, z=-1)


def test_limit_is_read_as_the_decimal_that_was_written() -> None:
    """At x/n equal to the limit the evidence is insufficient: 7 of 70 at 0.1, whatever the float."""
    assert score_gate(7, 70, limit=0.1, z=Z) is INSUFFICIENT
    assert score_gate(7.0, 70.0, limit=0.1, z=Z) is INSUFFICIENT


def test_ladder_of_accepted_failures() -> None:
    """Limit 10 %: 0 to 10 accepted failures need n >= 35, 53, 69, ..., 179; 19 need 291."""
    ladder = [35, 53, 69, 84, 99, 113, 127, 140, 153, 166, 179]
    for x, n in [*enumerate(ladder), (19, 291)]:
        assert max_accepted(n, limit=0.1, z=1.96) == x
        below = max_accepted(n - 1, limit=0.1, z=1.96)
        assert isinstance(below, Undefined) if x == 0 else below == x - 1


@given(st.integers(0, 600), st.sampled_from([0.02, 0.05, 0.1, 0.3]), st.sampled_from([1, 3]))
@settings(max_examples=80, derandomize=True, deadline=None)
def test_max_accepted_is_the_last_that_passes(n: int, limit: float, looks: int) -> None:
    """One more would not pass, itself does; where it is undefined not even 0 passes."""
    z = look_adjusted_z(0.05, looks)
    most = max_accepted(n, limit=limit, z=z)
    if isinstance(most, Undefined):
        assert f"{n} reference failures are too few" in most.reason
        assert score_gate(0, n, limit=limit, z=z) is not PASS
        return
    assert score_gate(most, n, limit=limit, z=z) is PASS
    assert most == n or score_gate(most + 1, n, limit=limit, z=z) is not PASS


def test_max_accepted_at_the_ends() -> None:
    """At limit 1 all of them pass; bad arguments are refused."""
    assert max_accepted(7, limit=1.0, z=Z) == 7
    assert isinstance(max_accepted(7, limit=0.0, z=Z), Undefined)
    # exactly on the edge: 16 failures at limit 0.2 with z = 2
    assert max_accepted(16, limit=0.2, z=2.0) == 0
    assert max_accepted(25, limit=0.8, z=2.0) == 16
    with pytest.raises(ValueError, match="n is -1"):
        max_accepted(-1, limit=0.1, z=Z)
    with pytest.raises(ValueError, match="limit is 2"):
        max_accepted(1, limit=2, z=Z)
    with pytest.raises(ValueError, match="z is 0"):
        max_accepted(1, limit=0.1, z=0)
