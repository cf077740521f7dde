"""Krippendorff's alpha with its interval: against the package, and against what is known of it."""

from __future__ import annotations

from collections import Counter

import krippendorff
import numpy as np
import pytest

from calibration.statistics.alpha_interval import nominal_alpha
from calibration.statistics.raters import krippendorff_alpha
from calibration.values import Interval, Undefined

WORDS = ("fail", "pass", "unknown")


def table(seed: int, *, raters: int, units: int, missing: float) -> list[list[str | None]]:
    """Labels of raters (rows) on units (columns), some missing."""
    rng = np.random.default_rng(seed)
    truth = rng.integers(0, 3, size=units)
    rows: list[list[str | None]] = []
    for _ in range(raters):
        wrong = rng.random(units) < 0.25
        said = np.where(wrong, rng.integers(0, 3, size=units), truth)
        gone = rng.random(units) < missing
        rows.append([None if g else WORDS[s] for s, g in zip(said, gone, strict=True)])
    return rows


@pytest.mark.parametrize(("raters", "missing"), [(2, 0.0), (3, 0.0), (4, 0.3)])
def test_alpha_equals_the_package_and_our_own_plain_form(raters: int, missing: float) -> None:
    """The estimate from coincidences equals krippendorff's and krippendorff_alpha's."""
    rows = table(raters, raters=raters, units=60, missing=missing)
    units = [Counter(label for label in column if label) for column in zip(*rows, strict=True)]
    found = nominal_alpha(units, categories=WORDS, rng=np.random.default_rng(1))
    assert not isinstance(found, Undefined)
    codes = [[np.nan if label is None else WORDS.index(label) for label in row] for row in rows]
    assert found.value == pytest.approx(krippendorff.alpha(codes, level_of_measurement="nominal"))
    plain = krippendorff_alpha([[None if np.isnan(c) else c for c in row] for row in codes])
    assert found.value == pytest.approx(plain)
    assert isinstance(found.interval, Interval)
    assert found.interval.lower < found.value < found.interval.upper
    assert found.interval.method == "bootstrap-percentile"


def test_alpha_is_undefined_without_pairs_or_without_variety() -> None:
    """No unit, no unit with two labels, or one word throughout: a reason and no number."""
    rng = np.random.default_rng(1)
    for units in ([], [{"pass": 1}]):
        found = nominal_alpha(units, categories=WORDS, rng=rng)
        assert found == Undefined("no item has two raters")
    same = nominal_alpha([{"pass": 2}] * 5, categories=WORDS, rng=rng)
    assert same == Undefined("all labels are the same: agreement beyond chance is 0/0")


def test_perfect_agreement_on_two_words_has_no_interval() -> None:
    """Alpha 1 in every resample is no evidence of precision."""
    found = nominal_alpha(
        [{"pass": 2}] * 50 + [{"fail": 2}] * 50, categories=WORDS, rng=np.random.default_rng(1)
    )
    assert not isinstance(found, Undefined)
    assert found.value == 1
    assert isinstance(found.interval, Undefined)
