"""Logistic regression: against statsmodels, and where nothing can be estimated."""

from __future__ import annotations

import math

import numpy as np
import pytest
import statsmodels.api as sm
from hypothesis import given, settings
from hypothesis import strategies as st

from calibration.statistics.logistic import LogisticFit, fit_logistic
from calibration.values import Undefined

Case = tuple[float, float, int, int]

overlapping = st.lists(
    st.tuples(st.floats(-3, 3).map(lambda v: round(v, 2)), st.integers(0, 9), st.integers(0, 9)),
    min_size=6,
    max_size=25,
)


def fitted(found: LogisticFit | Undefined) -> LogisticFit:
    """A fit that exists."""
    assert isinstance(found, LogisticFit)
    return found


@given(overlapping, st.booleans())
@settings(max_examples=40, derandomize=True, deadline=None)
def test_fit_agrees_with_statsmodels(rows: list[tuple[float, int, int]], clustered: bool) -> None:
    """Coefficients and (cluster-robust) errors equal those of a binomial model on the single cases."""
    x = [a for a, _, _ in rows]
    yes, no = [b + 1 for _, b, _ in rows], [c + 1 for _, _, c in rows]
    second = [float(i % 3) for i in range(len(rows))]
    groups = [f"g{i % 5}" for i in range(len(rows))] if clustered else None
    if len(set(x)) < 4:
        return
    found = fitted(fit_logistic([x, second], yes, no, clusters=groups))
    expand = np.repeat(np.arange(len(rows)), np.array(yes) + np.array(no))
    answers = np.concatenate([[1.0] * y + [0.0] * n for y, n in zip(yes, no, strict=True)])
    design = np.column_stack([np.ones(len(rows)), x, second])[expand]
    model = sm.GLM(answers, design, family=sm.families.Binomial())
    if not clustered:
        fit = model.fit(tol=1e-12, maxiter=200)
        errors = fit.bse
    else:
        owner = (np.arange(len(rows)) % 5)[expand]
        fit = model.fit(
            tol=1e-12,
            maxiter=200,
            cov_type="cluster",
            cov_kwds={"groups": owner, "use_correction": False},
        )
        errors = fit.bse * math.sqrt(5 / 4)
    assert found.coefficients == pytest.approx(fit.params, abs=1e-6)
    assert found.standard_errors == pytest.approx(errors, rel=1e-5, abs=1e-7)


@pytest.mark.parametrize(
    ("columns", "yes", "no"),
    [
        ([[1, 2, 3, 4]], [0, 0, 5, 5], [5, 5, 0, 0]),  # wholly
        ([[1, 2, 3, 4]], [0, 0, 3, 5], [5, 5, 2, 0]),  # at an edge: mixed at 3 only
        ([[0, 0, 1, 1]], [3, 2, 5, 4], [2, 1, 0, 0]),  # one level never rejected
        ([[4, 3, 2, 1]], [0, 0, 5, 5], [5, 5, 0, 0]),  # the other direction
        ([[1, 2, 3], [0, 1, 0]], [5, 5, 0], [0, 0, 5]),
    ],
)
def test_separation_is_not_estimable(columns: list[list[float]], yes: list[int], no: list[int]) -> None:
    """Where a column orders successes above failures there is no finite estimate, also at the edge."""
    found = fit_logistic(columns, yes, no)
    assert isinstance(found, Undefined)
    assert "separate" in found.reason


def test_overlap_on_a_large_scale_is_estimable() -> None:
    """Values in thousands that overlap do not count as separated; one mixed row is enough overlap."""
    found = fitted(fit_logistic([[1000.0, 2000.0, 3000.0, 4000.0]], [3, 4, 5, 6], [6, 5, 4, 3]))
    assert found.coefficients[1] == pytest.approx(
        fitted(fit_logistic([[1.0, 2.0, 3.0, 4.0]], [3, 4, 5, 6], [6, 5, 4, 3])).coefficients[1] / 1000
    )
    crossed = fitted(fit_logistic([[1.0, 2.0, 3.0, 4.0]], [0, 3, 0, 4], [2, 0, 3, 0]))
    assert crossed.coefficients[1] > 0


def test_collinear_columns_are_not_estimable() -> None:
    """A constant column, and one that doubles another, follow from the others; an empty row does not help."""
    for columns in ([[2, 2, 2]], [[1, 2, 3], [2, 4, 6]]):
        found = fit_logistic(columns, [1, 2, 3], [3, 2, 1])
        assert isinstance(found, Undefined)
        assert "a column is constant or follows from the others" in found.reason
    masked = fit_logistic([[2, 2, 9]], [1, 2, 0], [3, 2, 0])
    assert isinstance(masked, Undefined)


def test_only_successes_have_no_fit() -> None:
    """Nothing to contrast: the intercept itself runs away."""
    found = fit_logistic([[1, 2, 3]], [2, 3, 4], [0, 0, 0])
    assert isinstance(found, Undefined)


def test_clusters_must_outnumber_the_coefficients() -> None:
    """Two clusters cannot give the spread of two coefficients; empty rows' clusters do not count."""
    columns, yes, no = [[1.0, 2.0, 3.0, 4.0, 5.0]], [3, 4, 5, 6, 0], [6, 5, 4, 3, 0]
    found = fit_logistic(columns, yes, no, clusters=["a", "a", "b", "b", "c"])
    assert isinstance(found, Undefined)
    assert "fewer clusters than coefficients plus one" in found.reason
    assert isinstance(fit_logistic(columns, yes, no, clusters=["a", "b", "b", "d", "c"]), LogisticFit)


def test_bad_rows() -> None:
    """Unequal lengths, negative counts and NaN are refused."""
    for columns, yes, no, message in (
        ([[1.0]], [1, 2], [1, 2], r"have \[1, 2\] rows"),
        ([[1.0, 2.0]], [1, 2], [1], r"have \[1, 2\] rows"),
        ([[1.0, math.nan]], [1, 2], [1, 2], "a value is not finite"),
        ([[1.0, math.inf]], [1, 2], [1, 2], "a value is not finite"),
        ([[1.0, 2.0]], [1, -2], [1, 2], "a count is negative"),
        ([[1.0, 2.0]], [1, 2], [1, -2], "a count is negative"),
    ):
        with pytest.raises(ValueError, match=message):
            fit_logistic(columns, yes, no)


def test_extreme_slopes_converge() -> None:
    """A steep but overlapping relation is found: the score is 0 at the estimate."""
    x = [-20.0, -1.0, 0.0, 1.0, 20.0]
    yes, no = [0, 1, 500, 999, 2000], [2000, 999, 500, 1, 0]
    found = fitted(fit_logistic([x], yes, no))
    score = np.array([found.coefficients[0] + found.coefficients[1] * v for v in x])
    p = 1 / (1 + np.exp(-score))
    residual = np.array(yes) - (np.array(yes) + np.array(no)) * p
    assert abs(residual.sum()) < 1e-6
    assert abs((residual * np.array(x)).sum()) < 1e-5


def test_a_step_that_overshoots_is_halved() -> None:
    """An outlying value makes Newton's first step jump too far; the score is 0 at the estimate."""
    x, yes, no = [702.6, -3.9, -6.5, -2.9, -6.2], [1966, 3, 0, 11, 3], [0, 145, 592, 346, 1964]
    found = fitted(fit_logistic([x], yes, no))
    assert found.coefficients == pytest.approx((-0.540509, 0.976817), abs=1e-5)
    score = np.array([found.coefficients[0] + found.coefficients[1] * v for v in x])
    residual = np.array(yes) - (np.array(yes) + np.array(no)) / (1 + np.exp(-score))
    assert abs(residual.sum()) < 1e-6
    assert abs((residual * np.array(x)).sum()) < 1e-4
