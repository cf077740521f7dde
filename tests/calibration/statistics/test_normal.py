"""Quantiles of levels, sides and looks."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import norm

from calibration.statistics.normal import (
    confidence_of,
    look_adjusted_confidence,
    look_adjusted_z,
    normal_cdf,
    normal_quantile,
    z_value,
)


@pytest.mark.parametrize("confidence", [0.5, 0.8, 0.9, 0.95, 0.99, 0.999])
def test_z_agrees_with_scipy(confidence: float) -> None:
    """The two-sided and the one-sided quantile equal scipy's."""
    assert z_value(confidence) == pytest.approx(norm.ppf((1 + confidence) / 2), abs=1e-13)
    assert z_value(confidence, sided=1) == pytest.approx(norm.ppf(confidence), abs=1e-13)


@given(st.floats(0.01, 0.999), st.sampled_from([1, 2]))
@settings(derandomize=True, deadline=None)
def test_level_and_z_are_inverse(confidence: float, sided: int) -> None:
    """The level of the z of a level is the level, where a one-sided level has a positive z."""
    if sided == 1 and confidence <= 0.5:
        return
    z = z_value(confidence, sided=sided)
    assert confidence_of(z, sided=sided) == pytest.approx(confidence, abs=1e-12)


@pytest.mark.parametrize("confidence", [0, 1, -0.1, 95, math.nan])
def test_a_level_lies_strictly_between_0_and_1(confidence: float) -> None:
    """95 is not 0.95."""
    with pytest.raises(ValueError, match="confidence is"):
        z_value(confidence)


def test_an_interval_has_one_or_two_sides() -> None:
    """Three sides are refused, for a level and for a z."""
    with pytest.raises(ValueError, match="sided is 3; an interval is two-sided"):
        z_value(0.95, sided=3)
    with pytest.raises(ValueError, match="sided is 0"):
        confidence_of(1.96, sided=0)
    with pytest.raises(ValueError, match="z is 0"):
        confidence_of(0)


@pytest.mark.parametrize("z", [-8.0, -1.96, 0.0, 0.5, 1.96])
def test_cdf_agrees_with_scipy(z: float) -> None:
    """The distribution function keeps its relative precision in the lower tail."""
    assert normal_cdf(z) == pytest.approx(norm.cdf(z), rel=1e-12)


def test_quantile_inverts_the_cdf() -> None:
    """normal_quantile(0.025) is -1.96; 0 has no quantile."""
    assert normal_quantile(0.025) == pytest.approx(-1.959963984540054)
    with pytest.raises(ValueError, match="probability is 0"):
        normal_quantile(0)


@pytest.mark.parametrize(
    ("looks", "z"), [(1, 1.959963984540054), (2, 2.241402727604947), (3, 2.3939797998185)]
)
def test_looks_divide_the_error(looks: int, z: float) -> None:
    """Three looks at 5 % need z 2.394; both forms agree."""
    assert look_adjusted_z(0.05, looks) == pytest.approx(z, abs=1e-10)
    assert z_value(look_adjusted_confidence(0.05, looks)) == pytest.approx(z, abs=1e-9)


def test_there_is_at_least_one_look() -> None:
    """No look, a negative number of looks and an alpha of 5 are refused."""
    with pytest.raises(ValueError, match="looks is 0; evaluating a gate once is one look: give at least 1"):
        look_adjusted_z(0.05, 0)
    with pytest.raises(ValueError, match="looks is -1"):
        look_adjusted_confidence(0.05, -1)
    with pytest.raises(ValueError, match="alpha is 5"):
        look_adjusted_confidence(5, 1)
