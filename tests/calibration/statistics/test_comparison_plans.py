"""Comparisons and rates in reverse."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from calibration.statistics.comparison_plans import HalfWidths, half_widths, smallest_gain
from calibration.statistics.sample_size import n_pairs_noninferiority
from calibration.values import Undefined

PLAN = {"discordant": 0.2, "tolerance": 0.02, "power": 0.8, "z": 1.96}


def test_smallest_gain_undoes_the_plan() -> None:
    """433 pairs show a gain of 4 points, 3,925 none at all: the numbers of STATISTICS §6 read backwards."""
    for pairs, gain in ((433, 0.04), (3925, 0.0)):
        found = smallest_gain(pairs, **PLAN)
        assert found == pytest.approx(gain, abs=1e-3)


@given(st.integers(20, 20_000))
@settings(max_examples=40, derandomize=True, deadline=None)
def test_the_gain_found_is_enough_and_a_smaller_one_is_not(pairs: int) -> None:
    """At the gain found the plan needs at most the pairs; a hair below it needs more."""
    found = smallest_gain(pairs, **PLAN)
    if isinstance(found, Undefined):
        assert n_pairs_noninferiority(gain=0.2, **PLAN) > pairs
        return
    assert n_pairs_noninferiority(gain=found, **PLAN) <= pairs
    assert n_pairs_noninferiority(gain=found - 2e-6, **PLAN) > pairs


def test_too_few_pairs() -> None:
    """10 pairs show nothing, even if the candidate wins every one that differs."""
    found = smallest_gain(10, **PLAN)
    assert isinstance(found, Undefined)
    assert "10 pairs are too few" in found.reason
    with pytest.raises(ValueError, match="pairs is 0"):
        smallest_gain(0, **PLAN)


def test_half_widths() -> None:
    """100 cases near .5: 9.8 points, Wilson 9.6; no case, no width."""
    found = half_widths(0.5, 100, z=1.96)
    assert isinstance(found, HalfWidths)
    assert found.normal == pytest.approx(0.098)
    assert found.wilson == pytest.approx(0.0962, abs=5e-5)
    assert isinstance(half_widths(0.5, 0, z=1.96), Undefined)
