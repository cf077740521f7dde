"""Resampling: the fast paths against plain ones, exact distributions, and what is no evidence."""

from __future__ import annotations

import math
from collections.abc import Callable
from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binom
from scipy.stats import bootstrap as scipy_bootstrap

from calibration.statistics import bootstrap
from calibration.statistics.agreement import cohens_kappa
from calibration.statistics.bootstrap import (
    BootstrapEstimate,
    BootstrapMethod,
    DistinctVectors,
    Floats,
    bootstrap_interval,
    cells_of,
    distinct_vectors,
    kappa_of_totals,
    rate_of_totals,
    resample_totals,
)
from calibration.statistics.paired_bootstrap import paired_bootstrap, paired_bootstrap_exact
from calibration.values import Interval, Undefined


def rng(seed: int = 1) -> np.random.Generator:
    """A generator with a fixed seed."""
    return np.random.default_rng(seed)


@given(
    st.lists(st.lists(st.integers(0, 4), min_size=3, max_size=3), min_size=1, max_size=30),
    st.sampled_from([1.0, 0.5, 2.0**40]),
)
@settings(max_examples=50, derandomize=True, deadline=None)
def test_distinct_vectors_are_the_rows_counted(rows: list[list[int]], scale: float) -> None:
    """Folded, fractional and huge rows alike: each distinct row with its count, most frequent first."""
    array = np.array(rows) * scale
    found = distinct_vectors(array)
    expected: dict[tuple[float, ...], int] = {}
    for row in array.tolist():
        expected[tuple(row)] = expected.get(tuple(row), 0) + 1
    assert {
        tuple(v): int(m) for v, m in zip(found.vectors.tolist(), found.multiplicity, strict=True)
    } == expected
    assert sorted(found.multiplicity, reverse=True) == list(found.multiplicity)
    assert found.clusters == len(rows)
    assert found.total == pytest.approx(array.sum(axis=0))


def test_one_column_and_negative_values() -> None:
    """Differences of one column need no folding; rows with negative numbers fold as well."""
    assert distinct_vectors([[0.25], [-0.25], [0.25]]).multiplicity.tolist() == [2, 1]
    found = distinct_vectors([[-1, 2], [0, 0], [-1, 2]])
    assert found.vectors.tolist() == [[-1, 2], [0, 0]]


@pytest.mark.parametrize("bad", [[], [[]], [1, 2], [[1, math.nan]], [[math.inf, 0]]])
def test_vectors_are_finite_rows(bad: list[object]) -> None:
    """No row, a flat list, NaN and infinity are refused."""
    with pytest.raises(ValueError, match=r"give one row a cluster|a count is not finite"):
        distinct_vectors(bad)  # type: ignore[arg-type]


def plain_resamples(distinct: DistinctVectors, resamples: int) -> Floats:
    """Clusters drawn one by one."""
    rows = np.repeat(distinct.vectors, distinct.multiplicity, axis=0)
    drawn = rng(7).integers(0, len(rows), size=(resamples, len(rows)))
    return np.asarray(rows[drawn].sum(axis=1))


@pytest.mark.parametrize(
    "rows",
    [
        [[1, 0]] * 30 + [[0, 2]] * 20 + [[3, 1]] * 10,  # few kinds: multinomial
        [[0.5, 0.25]] * 30 + [[0.0, 2.0]] * 20,  # fractions
        [[i, (i * 7) % 11] for i in range(60)],  # many kinds: drawn one by one
    ],
    ids=["multinomial", "fractions", "one by one"],
)
def test_resampled_totals_have_the_moments_of_drawing_clusters(rows: list[list[float]]) -> None:
    """Means and covariances over 20,000 resamples match those of plain drawing, within 5 standard errors."""
    distinct = distinct_vectors(rows)
    found, plain = resample_totals(distinct, rng=rng(), resamples=20_000), plain_resamples(distinct, 20_000)
    assert found.shape == (20_000, 2)
    spread = plain.std(axis=0)
    assert np.abs(found.mean(axis=0) - distinct.total).max() < 5 * spread.max() / math.sqrt(20_000)
    assert found.std(axis=0) == pytest.approx(spread, rel=0.04)
    ours, theirs = np.corrcoef(found, rowvar=False), np.corrcoef(plain, rowvar=False)
    assert np.asarray(ours)[0, 1] == pytest.approx(np.asarray(theirs)[0, 1], abs=0.04)


def test_chunks_do_not_change_what_is_drawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """The same seed gives the same resamples in one piece and in pieces, on both paths."""
    for rows in ([[1, 0]] * 30 + [[0, 2]] * 20, [[i, i * i] for i in range(60)]):
        distinct = distinct_vectors(rows)
        whole = resample_totals(distinct, rng=rng(), resamples=2_500)
        monkeypatch.setattr(bootstrap, "CHUNK", 999)
        pieces = resample_totals(distinct, rng=rng(), resamples=2_500)
        monkeypatch.undo()
        assert pieces.shape == (2_500, 2)
        assert (pieces == whole).all()


def test_few_resamples_are_refused() -> None:
    """Percentiles of 1,999 resamples are too rough."""
    with pytest.raises(ValueError, match="resamples is 1999; percentiles need at least 2,000"):
        resample_totals(distinct_vectors([[1], [2]]), rng=rng(), resamples=1_999)


def estimate(
    rows: object,
    statistic: Callable[[Floats], Floats],
    method: BootstrapMethod = BootstrapMethod.PERCENTILE,
    confidence: float = 0.95,
) -> BootstrapEstimate:
    """The bootstrap of a statistic that the data have."""
    distinct = distinct_vectors(rows)  # type: ignore[arg-type]
    totals = resample_totals(distinct, rng=rng(), resamples=20_000)
    found = bootstrap_interval(distinct, totals, statistic, method=method, confidence=confidence)
    assert not isinstance(found, Undefined)
    return found


@pytest.mark.parametrize("method", list(BootstrapMethod))
def test_intervals_agree_with_scipy(method: BootstrapMethod) -> None:
    """Percentile and BCa intervals of a skewed ratio of cluster sums are scipy's, to Monte Carlo error."""
    source = rng(5)
    n = source.integers(1, 6, size=120)
    x = source.binomial(n, source.beta(0.5, 2.5, size=120))
    found = estimate(np.column_stack([x, n]), rate_of_totals(0, 1), method, 0.9)

    def ratio(x: Floats, n: Floats, axis: int = -1) -> Floats:
        return np.asarray(x.sum(axis=axis) / n.sum(axis=axis))

    theirs = scipy_bootstrap(
        (x.astype(float), n.astype(float)),
        ratio,
        paired=True,
        n_resamples=20_000,
        confidence_level=0.9,
        method="percentile" if method is BootstrapMethod.PERCENTILE else "BCa",
        rng=rng(9),
    ).confidence_interval
    assert isinstance(found.interval, Interval)
    assert (found.interval.lower, found.interval.upper) == pytest.approx((theirs.low, theirs.high), abs=0.004)
    assert (found.interval.method, found.interval.confidence, found.interval.sided) == (method, 0.9, 2)
    assert found.estimate == pytest.approx(x.sum() / n.sum())
    assert (found.resamples, found.undefined_resamples) == (20_000, 0)


def test_no_event_is_no_evidence_of_precision() -> None:
    """0 of 40 resamples to 0 only: no interval, instead of [0, 0]."""
    found = estimate([[0, 1]] * 40, rate_of_totals(0, 1))
    assert found.estimate == 0
    assert isinstance(found.interval, Undefined)
    assert "no evidence of precision" in found.interval.reason


def test_a_statistic_that_does_not_exist() -> None:
    """Not in the data: undefined; not in many resamples: no interval; not in few: left out and counted."""
    distinct = distinct_vectors([[0, 0]] * 3)
    totals = resample_totals(distinct, rng=rng(), resamples=2_000)
    assert isinstance(bootstrap_interval(distinct, totals, rate_of_totals(0, 1)), Undefined)
    # one of three clusters has cases: (2/3)³ = 30 % of resamples have none
    rare = estimate([[1, 2], [0, 0], [0, 0]], rate_of_totals(0, 1))
    assert rare.undefined_resamples / rare.resamples == pytest.approx(8 / 27, abs=0.02)
    assert isinstance(rare.interval, Undefined)
    assert f"does not exist in {rare.undefined_resamples} of 20000 resamples" in rare.interval.reason
    # four of six have cases: (1/3)^6 · ... = 0.14 % have none
    some = estimate([[1, 2], [0, 1], [1, 1], [0, 3], [0, 0], [0, 0]], rate_of_totals(0, 1))
    assert 0 < some.undefined_resamples < 200
    assert isinstance(some.interval, Interval)


def test_bca_without_a_jackknife() -> None:
    """When leaving one cluster out removes the statistic there is no acceleration, hence no interval."""
    distinct = DistinctVectors(np.array([[1.0, 3.0], [0.0, 1.0]]), np.array([1, 1]))

    def only_with_both(totals: Floats) -> Floats:
        exists = totals[:, 1] > 3
        return np.where(exists, totals[:, 0] / totals[:, 1].clip(1), np.nan)

    totals = np.array([[1.0, 4.0], [2.0, 6.0]] * 1000)
    found = bootstrap_interval(distinct, totals, only_with_both, method=BootstrapMethod.BCA)
    assert not isinstance(found, Undefined)
    assert isinstance(found.interval, Undefined)
    assert "without one of the clusters" in found.interval.reason


def test_bca_of_a_symmetric_statistic_is_the_percentile() -> None:
    """The mean of symmetric values has no bias and no acceleration: both intervals agree."""
    rows = [[-1.0, 1.0]] * 50 + [[1.0, 1.0]] * 50
    plain, moved = (estimate(rows, rate_of_totals(0, 1), method).interval for method in BootstrapMethod)
    assert isinstance(plain, Interval)
    assert isinstance(moved, Interval)
    assert (moved.lower, moved.upper) == pytest.approx((plain.lower, plain.upper), abs=0.02)


def test_bca_where_every_resample_lies_on_one_side() -> None:
    """A bias at the edge of what the resamples show is held at half a resample, not at infinity."""
    tails = bootstrap._bca_tails(
        np.linspace(1, 2, 2_000), 0.0, np.array([0.1, 0.2]), np.array([1, 1]), (0.025, 0.975)
    )
    assert all(0 < tail < 1 for tail in tails)
    assert max(tails) < 0.001
    flat = bootstrap._bca_tails(
        np.linspace(-1, 1, 2_001), 0.0, np.array([0.3]), np.array([9]), (0.025, 0.975)
    )
    assert flat == pytest.approx((0.025, 0.975), abs=1e-9)


def test_bca_counts_resamples_that_equal_the_estimate_half() -> None:
    """Two of ten below a nonzero estimate and six at it: half of them below, so there is no bias."""
    values = np.array([1.0, 2.0, *[5.0] * 6, 8.0, 9.0])
    tails = bootstrap._bca_tails(values, 5.0, np.array([0.3]), np.array([9]), (0.025, 0.975))
    assert tails == pytest.approx((0.025, 0.975), abs=1e-9)


def test_bca_where_every_resample_lies_below() -> None:
    """All of 2,000 below: as far as the resamples reach, and never at infinity."""
    tails = bootstrap._bca_tails(
        np.linspace(-2, -1, 2_000), 0.0, np.array([0.1, 0.2]), np.array([1, 1]), (0.025, 0.975)
    )
    assert 0.999 < min(tails) <= max(tails) <= 1


def test_a_level_outside_its_range() -> None:
    """95 is not 0.95."""
    distinct = distinct_vectors([[1, 2], [0, 3]])
    with pytest.raises(ValueError, match="confidence is 95"):
        bootstrap_interval(distinct, np.ones((2000, 2)), rate_of_totals(0, 1), confidence=95)


@given(st.integers(2, 3).flatmap(lambda q: st.lists(st.integers(0, 9), min_size=q * q, max_size=q * q)))
@settings(max_examples=60, derandomize=True, deadline=None)
def test_kappa_of_totals_is_kappa(cells: list[int]) -> None:
    """Row by row it equals cohens_kappa, and is NaN exactly where that is undefined."""
    q = math.isqrt(len(cells))
    exact = cohens_kappa(np.array(cells).reshape(q, q).tolist())
    found = kappa_of_totals(np.array([cells, cells], dtype=float))
    if isinstance(exact, Undefined):
        assert np.isnan(found).all()
    else:
        assert found == pytest.approx([exact.kappa] * 2)


def test_cells_as_vectors() -> None:
    """Each used cell is one distinct vector with its count, most frequent first; no case is refused."""
    found = cells_of([[5, 0], [2, 9]])
    assert found.multiplicity.tolist() == [9, 5, 2]
    assert found.vectors.tolist() == [[0, 0, 0, 1], [1, 0, 0, 0], [0, 0, 1, 0]]
    assert found.total.tolist() == [5, 0, 2, 9]
    with pytest.raises(ValueError, match="the table has no case"):
        cells_of([[0, 0], [0, 0]])
    with pytest.raises(ValueError, match="a cell is -1"):
        cells_of([[1, -1], [0, 0]])


def test_paired_bootstrap_agrees_with_the_exact_distribution() -> None:
    """Seven tasks: the sampled interval and p lie at the exact quantiles and tails."""
    differences = [0.25, 0.5, 0.0, 0.5, -0.25, 0.25, 0.0]
    sampled = paired_bootstrap(differences, rng=rng(), resamples=40_000)
    exact = paired_bootstrap_exact(differences)
    assert not isinstance(sampled, Undefined)
    assert not isinstance(exact, Undefined)
    assert isinstance(sampled.interval, Interval)
    assert sampled.difference == pytest.approx(exact.difference)
    assert (sampled.interval.lower, sampled.interval.upper) == pytest.approx(
        (exact.lower, exact.upper), abs=0.02
    )
    assert sampled.p_value == pytest.approx(exact.p_value, abs=0.006)
    assert sampled.resamples == 40_000
    narrow = paired_bootstrap(differences, rng=rng(), confidence=0.5)
    assert not isinstance(narrow, Undefined)
    assert isinstance(narrow.interval, Interval)
    assert (narrow.interval.confidence, narrow.resamples) == (0.5, 10_000)


def test_paired_bootstrap_p_is_never_0_and_at_most_1() -> None:
    """A clear gain has p 2/(1 + resamples); a clear loss the same; no difference has 1."""
    for sign in (1, -1):
        clear = paired_bootstrap([sign * 0.5, sign * 0.25] * 50, rng=rng(), resamples=2_000)
        assert not isinstance(clear, Undefined)
        assert clear.p_value == pytest.approx(2 / 2001)
    none = paired_bootstrap([0.0] * 20, rng=rng(), resamples=2_000)
    assert not isinstance(none, Undefined)
    assert none.p_value == 1
    assert isinstance(none.interval, Undefined)
    assert paired_bootstrap([], rng=rng()) == Undefined("no task")
    with pytest.raises(ValueError, match="a count is not finite"):
        paired_bootstrap([math.nan], rng=rng())


def test_sums_that_differ_from_0_by_rounding_alone_count_as_0() -> None:
    """0.1 three times minus 0.3 is 0 as people count: ties with 0 are on both sides."""
    found = paired_bootstrap([0.1, 0.1, 0.1, -0.3], rng=rng(), resamples=20_000)
    exact = paired_bootstrap_exact([0.1, 0.1, 0.1, -0.3])
    assert not isinstance(found, Undefined)
    assert not isinstance(exact, Undefined)
    assert found.p_value == pytest.approx(exact.p_value, abs=0.01)


def test_exact_bootstrap_of_many_tasks_is_the_binomial() -> None:
    """Of 300 tasks with 0 or 1 the sum is binomial: the quantiles are scipy's."""
    found = paired_bootstrap_exact([0.0, 1.0, 1.0] * 100)
    assert not isinstance(found, Undefined)
    assert (found.lower * 300, found.upper * 300) == pytest.approx(binom.ppf([0.025, 0.975], 300, 2 / 3))
    assert found.share_at_or_below_0 == pytest.approx((1 / 3) ** 300, rel=1e-9)


def test_exact_bootstrap_reads_thirds_and_long_decimals() -> None:
    """1/3 - 2/3 as a float is minus a third, so three of them and one full gain tie with 0; 0.12345 stays."""
    found = paired_bootstrap_exact([1 / 3 - 2 / 3, 1 / 3 - 2 / 3, 1 / 3 - 2 / 3, 1.0])
    assert not isinstance(found, Undefined)
    assert found.difference == 0
    # at most one of four draws is the gain: (3/4)^4 + 4 (3/4)^3 (1/4)
    assert found.share_at_or_below_0 == pytest.approx(0.75**4 + 0.75**3)
    long = paired_bootstrap_exact([0.12345, 0.0])
    assert not isinstance(long, Undefined)
    assert long.upper == pytest.approx(0.12345)


@given(st.lists(st.sampled_from([-1, -0.5, 0, 0.25, 1]), min_size=1, max_size=5))
@settings(max_examples=30, derandomize=True, deadline=None)
def test_exact_bootstrap_is_the_enumeration(differences: list[float]) -> None:
    """Mean, tails and quantiles equal those over all n^n sequences of draws."""
    n = len(differences)
    means = sorted(sum(draw) / n for draw in product(differences, repeat=n))
    found = paired_bootstrap_exact(differences)
    assert not isinstance(found, Undefined)
    at_most = sum(mean <= 0 for mean in means) / len(means)
    at_least = sum(mean >= 0 for mean in means) / len(means)
    assert found.difference == pytest.approx(sum(differences) / n)
    assert found.share_at_or_below_0 == pytest.approx(at_most)
    assert found.p_value == pytest.approx(min(1, 2 * min(at_most, at_least)))
    assert found.lower == pytest.approx(means[math.ceil(0.025 * len(means)) - 1])
    assert found.upper == pytest.approx(means[math.ceil(0.975 * len(means)) - 1])


def test_exact_bootstrap_as_printed_and_its_limits() -> None:
    """Five tasks of the source: .00064 = 2 / 3,125; too fine a grid is refused; none is undefined."""
    found = paired_bootstrap_exact([0.25, 0.5, 0, 0.5, 0.25])
    assert not isinstance(found, Undefined)
    assert found.p_value == pytest.approx(2 / 3125)
    assert (found.lower, found.upper) == pytest.approx((0.15, 0.45))
    assert paired_bootstrap_exact([]) == Undefined("no task")
    with pytest.raises(ValueError, match="the sums of 100 such differences have 980101 values: resample"):
        paired_bootstrap_exact([i * i / 10_000 for i in range(100)])
    with pytest.raises(ValueError, match="a difference is nan"):
        paired_bootstrap_exact([math.nan])
    with pytest.raises(ValueError, match="confidence is 1"):
        paired_bootstrap_exact([0.0], confidence=1)
    narrow, wide = (paired_bootstrap_exact([0, 1, 0, 1, 1], confidence=c) for c in (0.5, 0.99))
    assert not isinstance(narrow, Undefined)
    assert not isinstance(wide, Undefined)
    assert wide.lower < narrow.lower <= narrow.upper < wide.upper
