"""Differences of two rates, paired and independent: by the packages, by hand, and at the edges."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import binomtest
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.proportion import confint_proportions_2indep

from calibration.statistics.paired import (
    PairedTable,
    mcnemar_chi_square,
    mcnemar_exact,
    newcombe_independent,
    newcombe_paired,
    noninferiority,
    paired_normal,
    paired_outcomes,
    pairing_gain,
    within_drop,
)
from calibration.values import Interval, Undefined

counts = st.integers(1, 80).flatmap(lambda n: st.tuples(st.integers(0, n), st.just(n)))


@given(counts, counts)
@settings(max_examples=50, derandomize=True, deadline=None)
def test_independent_difference_agrees_with_statsmodels(
    first: tuple[int, int], second: tuple[int, int]
) -> None:
    """Newcombe's method 10 for independent groups equals statsmodels'."""
    found = newcombe_independent(*first, *second)
    low, high = confint_proportions_2indep(*first, *second, method="newcomb", compare="diff")
    assert not isinstance(found, Undefined)
    assert isinstance(found.interval, Interval)
    assert found.value == pytest.approx(first[0] / first[1] - second[0] / second[1])
    assert (found.interval.lower, found.interval.upper) == pytest.approx((low, high), abs=1e-9)
    assert (found.interval.method, found.interval.sided) == ("newcombe-independent", 2)
    assert -1 <= found.interval.lower <= found.interval.upper <= 1


def test_independent_difference_needs_both_groups() -> None:
    """56/70 against 48/80 as Newcombe printed it; an empty group has no difference; x > n is refused."""
    found = newcombe_independent(56, 70, 48, 80)
    assert not isinstance(found, Undefined)
    assert isinstance(found.interval, Interval)
    assert (found.interval.lower, found.interval.upper) == pytest.approx((0.0524, 0.3339), abs=5e-5)
    for arguments in ((0, 0, 3, 5), (3, 5, 0, 0)):
        assert newcombe_independent(*arguments) == Undefined("one of the two groups has no case")
    with pytest.raises(ValueError, match="x is 6 of n 5"):
        newcombe_independent(6, 5, 0, 5)
    wide = newcombe_independent(56, 70, 48, 80, z=3.0)
    assert not isinstance(wide, Undefined)
    assert isinstance(wide.interval, Interval)
    assert wide.interval.confidence == pytest.approx(0.9973, abs=1e-4)


@pytest.mark.parametrize(
    ("cells", "low", "high"),
    [
        # Newcombe 1998 (paired), Table II, rows as reproduced by the exact-fraction references
        ((70, 12, 18, 50), -0.0320628539986, 0.1112112100779),
        ((14, 0, 5, 22), 0.0114832413830, 0.2264926843512),  # positive numerator lowered by n/2
        ((1, 7, 1, 12), -0.5069202266861, -0.0255591241649),
        ((12, 3, 4, 1), -0.2064092833239, 0.2991438688231),  # numerator clipped at 0
        ((30, 20, 25, 5), -0.1002520410065, 0.2210261069614),  # negative numerator unchanged
        ((0, 0, 10, 0), 0.6075093504305, 1.0),  # empty margins: phi 0
    ],
)
def test_paired_difference(cells: tuple[int, int, int, int], low: float, high: float) -> None:
    """Method 10 in each case of its correlation."""
    found = newcombe_paired(PairedTable(*cells))
    assert not isinstance(found, Undefined)
    assert isinstance(found.interval, Interval)
    assert (found.interval.lower, found.interval.upper) == pytest.approx((low, high), abs=1e-10)
    assert found.value == pytest.approx((cells[2] - cells[1]) / sum(cells))
    interval = found.interval
    assert (interval.method, interval.confidence, interval.sided) == ("newcombe-paired", 0.95, 2)


@given(st.tuples(*[st.integers(0, 30)] * 4).filter(any))
@settings(max_examples=60, derandomize=True, deadline=None)
def test_paired_difference_lies_within_its_interval_and_mirrors(cells: tuple[int, int, int, int]) -> None:
    """The interval holds the difference within [-1, 1]; exchanging the two systems mirrors it."""
    a, b, c, d = cells
    found, mirrored = newcombe_paired(PairedTable(a, b, c, d)), newcombe_paired(PairedTable(a, c, b, d))
    assert not isinstance(found, Undefined)
    assert not isinstance(mirrored, Undefined)
    assert isinstance(found.interval, Interval)
    assert isinstance(mirrored.interval, Interval)
    assert -1 - 1e-12 <= found.interval.lower <= found.value <= found.interval.upper <= 1 + 1e-12
    assert found.interval.lower == pytest.approx(-mirrored.interval.upper, abs=1e-12)


def test_no_pair_has_no_difference() -> None:
    """An empty table is undefined everywhere."""
    empty = PairedTable(0, 0, 0, 0)
    assert empty.difference == Undefined("no pair")
    assert newcombe_paired(empty) == Undefined("no pair")
    assert pairing_gain(empty) == Undefined("no pair")
    assert paired_normal(0, 0, 0) == Undefined("no pair")
    assert PairedTable(1, 2, 5, 2).difference == pytest.approx(0.3)
    for place in range(4):
        cells = [1, 1, 1, 1]
        cells[place] = -1
        with pytest.raises(ValueError, match="is -1; a count"):
            PairedTable(*cells)


@given(st.integers(0, 60), st.integers(0, 60))
@settings(max_examples=60, derandomize=True, deadline=None)
def test_mcnemar_agrees_with_scipy_and_statsmodels(b: int, c: int) -> None:
    """The exact p equals the two-sided binomial test at 1/2; the chi-square equals statsmodels'."""
    if b + c == 0:
        assert mcnemar_exact(b, c) == 1
        assert isinstance(mcnemar_chi_square(b, c), Undefined)
        return
    assert mcnemar_exact(b, c) == pytest.approx(binomtest(b, b + c).pvalue, rel=1e-9)
    ours, theirs = mcnemar_chi_square(b, c), mcnemar([[0, b], [c, 0]], exact=False, correction=True)
    assert not isinstance(ours, Undefined)
    assert (ours.statistic, ours.p_value) == pytest.approx((theirs.statistic, theirs.pvalue))


def test_mcnemar_counts_are_whole_and_not_negative() -> None:
    """Negative counts are refused by both forms, fractions by the exact one."""
    with pytest.raises(ValueError, match="b is -1"):
        mcnemar_exact(-1, 2)
    with pytest.raises(ValueError, match="c is -1"):
        mcnemar_chi_square(1, -1)
    with pytest.raises(ValueError, match=r"b is 1\.5; a count is a whole number"):
        mcnemar_exact(1.5, 2)  # type: ignore[arg-type]


def test_paired_normal_by_hand() -> None:
    """Exercise 4: (16 - 6)/200 = 5 points; variance (.11 - .0025)/200; nothing discordant has no width."""
    found = paired_normal(6, 16, 200, z=1.96)
    assert not isinstance(found, Undefined)
    assert (found.difference, found.discordant) == (0.05, 0.11)
    assert found.standard_error == pytest.approx(math.sqrt(0.1075 / 200))
    assert found.half_width == pytest.approx(1.96 * found.standard_error)
    assert (found.interval.lower, found.interval.upper) == pytest.approx((0.0045594, 0.0954406), abs=5e-7)
    assert (found.interval.method, found.interval.sided) == ("paired-normal", 2)
    same = paired_normal(10, 0, 10, confidence=0.9)
    assert not isinstance(same, Undefined)
    assert (same.difference, same.standard_error, same.interval.confidence) == (-1, 0, 0.9)
    with pytest.raises(ValueError, match="x is 11 of n 10"):
        paired_normal(6, 5, 10)
    for arguments, name in (((-1, 1, 9), "b"), ((1, -1, 9), "c"), ((1, 1, -1), "n")):
        with pytest.raises(ValueError, match=f"^{name} is -1; a count"):
            paired_normal(*arguments)


def test_pairing_gain_by_hand() -> None:
    """Exercise 4: independent .24·.. over paired: ratio 4.19, as good as 839 in each arm."""
    found = pairing_gain(PairedTable(120, 6, 16, 58))
    assert not isinstance(found, Undefined)
    baseline, candidate = 126 / 200, 136 / 200
    ratio = (baseline * (1 - baseline) + candidate * (1 - candidate)) / (0.11 - 0.05**2)
    assert found.independent_over_paired == pytest.approx(ratio)
    assert found.paired_over_independent == pytest.approx(1 / ratio)
    assert round(found.equivalent_n_per_arm) == 839


@pytest.mark.parametrize("cells", [(5, 0, 0, 5), (0, 0, 5, 0), (0, 5, 0, 0), (5, 0, 0, 0)])
def test_pairing_gain_without_variance(cells: tuple[int, int, int, int]) -> None:
    """Where nothing differs, or everything the same way, the ratio is 0/0 or x/0."""
    assert pairing_gain(PairedTable(*cells)) == Undefined(
        "no pair differs, or every pair differs the same way: a variance is 0"
    )


@pytest.mark.parametrize(
    ("lower", "noninferior", "superior"),
    [
        (-0.021, False, False),
        (-0.02, False, False),
        (-0.0199, True, False),
        (0.0, True, False),
        (1e-9, True, True),
    ],
)
def test_noninferiority_is_strict(lower: float, noninferior: bool, superior: bool) -> None:
    """Exactly at the tolerance is not noninferior, exactly 0 is not superior."""
    found = noninferiority(lower, tolerance=0.02)
    assert (found.noninferior, found.superior) == (noninferior, superior)


def test_noninferiority_arguments() -> None:
    """NaN and a tolerance of 2 points written as 2 are refused."""
    with pytest.raises(ValueError, match="lower is nan"):
        noninferiority(math.nan, tolerance=0.02)
    with pytest.raises(ValueError, match="tolerance is 2"):
        noninferiority(0.1, tolerance=2)


def test_unresolved_pairs_are_kept_and_bounded() -> None:
    """Unresolved counts as not accepted; the extremes resolve each side its own way."""
    baseline = [True, True, None, False, None, False, True]
    candidate = [True, None, True, None, None, False, True]
    found = paired_outcomes(baseline, candidate)
    # as not accepted: TT, TF, FT, FF, FF, FF, TT
    assert found.table == PairedTable(2, 1, 1, 3)
    # lowest: 3 candidates and 5 baselines; highest: 6 candidates and 3 baselines
    assert (found.lowest, found.highest) == pytest.approx((-2 / 7, 3 / 7))
    assert found.unresolved_pairs == 4
    assert isinstance(paired_outcomes([], []).lowest, Undefined)
    with pytest.raises(ValueError, match="1 baseline and 2 candidate outcomes"):
        paired_outcomes([True], [True, False])


def test_drop_is_compared_in_decimals() -> None:
    """0.77 holds 0.80 - 0.03 although the floats differ; a smaller value does not."""
    assert within_drop(0.77, 0.80, max_drop=0.03)
    assert not within_drop(0.7699, 0.80, max_drop=0.03)
    assert within_drop(0.5, 0.5, max_drop=0)
    assert not within_drop(0.4999, 0.5, max_drop=0)
    for new, baseline, drop in ((math.nan, 1, 0), (1, math.inf, 0), (1, 1, -0.1)):
        with pytest.raises(ValueError, match=r"new is nan|baseline is inf|max_drop is -0\.1"):
            within_drop(new, baseline, max_drop=drop)
