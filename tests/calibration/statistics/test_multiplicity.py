"""Several p-values: against statsmodels and by hand."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.stats import false_discovery_control
from statsmodels.stats.multitest import multipletests

from calibration.statistics.multiplicity import benjamini_hochberg, bonferroni, holm


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12))
@settings(max_examples=12, derandomize=True, deadline=None)
def test_adjustments_agree_with_the_packages(p: list[float]) -> None:
    """Bonferroni and Holm equal statsmodels', Benjamini-Hochberg equals scipy's, in the order given."""
    assert bonferroni(p) == pytest.approx(multipletests(p, method="bonferroni")[1], abs=1e-12)
    assert holm(p) == pytest.approx(multipletests(p, method="holm")[1], abs=1e-12)
    assert benjamini_hochberg(p) == pytest.approx(false_discovery_control(p), abs=1e-12)


def test_by_hand() -> None:
    """.005 · 4, then .01 · 3, then .03 · 2 and .04 lifted to it; Holm never exceeds Bonferroni."""
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx((0.03, 0.06, 0.06, 0.02))
    assert bonferroni([0.5, 0.01]) == pytest.approx((1.0, 0.02))
    assert benjamini_hochberg([0.01, 0.04, 0.03, 0.005]) == pytest.approx((0.02, 0.04, 0.04, 0.02))


def test_none_and_bad_p_values() -> None:
    """No p-value stays none; a number outside [0, 1] is refused by each."""
    for adjust in (bonferroni, holm, benjamini_hochberg):
        assert adjust([]) == ()
        with pytest.raises(ValueError, match=r"a p-value is 1\.5"):
            adjust([0.1, 1.5])
