"""Figures beside the decision, in words."""

from __future__ import annotations

import pytest

from calibration.rendering.background import _odds


@pytest.mark.parametrize(
    ("ratio", "said"),
    [(1.0, "1.00"), (0.25, "0.25"), (1e-9, "under 0.001"), (1.48e19, "over 1,000"), (1000.0, "1000.00")],
)
def test_odds_that_no_sample_could_tell_are_bounded(ratio: float, said: str) -> None:
    """A ratio over a thousand, or under a thousandth, is only bounded."""
    assert _odds(ratio) == said
