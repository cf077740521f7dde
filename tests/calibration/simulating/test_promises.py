"""Bands: where chance leaves a delivered number, and where it does not."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.stats import binom

from calibration.simulating.promises import BAND_Z, TAIL, Claim, mean, share, wilson_coverage
from calibration.statistics.normal import z_value


@pytest.mark.parametrize(("n", "promised"), [(60, 0.014), (1_000, 0.95), (5_000, 0.1), (20, 0.5)])
def test_the_band_is_what_chance_leaves(n: int, promised: float) -> None:
    """Each end is left with at most the tail's chance, and is the first count of which that is true."""
    found = share("x", 0, n, promised)
    low, high = round(found.low * n), round(found.high * n)
    assert binom.cdf(low - 1, n, promised) <= TAIL < binom.cdf(low, n, promised)
    assert binom.sf(high, n, promised) <= TAIL
    assert high == 0 or binom.sf(high - 1, n, promised) > TAIL


def test_a_promise_is_kept_inside_its_band() -> None:
    """100 of 1,000 against 10 %, both ends, and just beyond each."""
    band = share("x", 100, 1_000, 0.1)
    assert band.kept
    assert band.delivered == 0.1
    low, high = round(1_000 * band.low), round(1_000 * band.high)
    assert [share("x", x, 1_000, 0.1).kept for x in (low - 1, low, high, high + 1)] == [
        False,
        True,
        True,
        False,
    ]


def test_one_sided_claims_have_one_end() -> None:
    """At most 2.7 %: nothing is too little; at least 92 %: nothing is too much."""
    assert share("x", 0, 1_000, 0.027, claim=Claim.AT_MOST).kept
    assert not share("x", 60, 1_000, 0.027, claim=Claim.AT_MOST).kept
    assert share("x", 1_000, 1_000, 0.92, claim=Claim.AT_LEAST).kept
    assert not share("x", 870, 1_000, 0.92, claim=Claim.AT_LEAST).kept
    assert not share("x", 0, 1_000, 0.027).kept


def test_impossible_and_certain_promises() -> None:
    """What never happens may not happen once; what always happens may not fail once."""
    assert share("x", 0, 500, 0.0).kept
    assert not share("x", 1, 500, 0.0).kept
    assert share("x", 500, 500, 1.0).kept
    assert not share("x", 499, 500, 1.0).kept


def test_means() -> None:
    """The band of a mean is 3.5 standard errors to each side."""
    values = [0.1, 0.2, 0.3, 0.4]
    error = float(np.std(values, ddof=1)) / 2
    found = mean("x", values, 0.25)
    assert found.kept
    assert (found.low, found.high) == pytest.approx((0.25 - BAND_Z * error, 0.25 + BAND_Z * error))
    assert not mean("x", values, 0.25 + 1.1 * BAND_Z * error).kept


def test_nothing_simulated_is_an_error() -> None:
    """No share of nothing, no band of one value."""
    with pytest.raises(ValueError, match="'x': nothing was simulated"):
        share("x", 0, 0, 0.1)
    with pytest.raises(ValueError, match="'x': 1 values simulated"):
        mean("x", [0.1], 0.1)


@pytest.mark.parametrize(("n", "p"), [(50, 0.1), (150, 0.02), (7, 0.5)])
def test_exact_coverage_of_wilson(n: int, p: float) -> None:
    """By the score test itself: the counts whose distance from p is at most z standard errors of p."""
    z = z_value(0.95)
    counts = np.arange(n + 1)
    held = np.abs(counts / n - p) <= z * np.sqrt(p * (1 - p) / n) + 1e-12
    assert wilson_coverage(n, p, z=z) == pytest.approx(float(binom.pmf(counts, n, p)[held].sum()))
