"""Fleiss' kappa with its interval: against plain resampling, and where there is none."""

from __future__ import annotations

import numpy as np
import pytest

from calibration.statistics.fleiss_interval import fleiss_estimate
from calibration.statistics.raters import fleiss_kappa
from calibration.values import Interval, Undefined


def rng(seed: int = 1) -> np.random.Generator:
    """A generator with a fixed seed."""
    return np.random.default_rng(seed)


def test_interval_is_the_one_of_plain_resampling() -> None:
    """Sixty cases of four raters: ends as from drawing the cases one by one, to Monte Carlo error."""
    source = rng(5)
    counts = [source.multinomial(4, source.dirichlet([0.6, 0.6, 0.3])).tolist() for _ in range(60)]
    found, exact = fleiss_estimate(counts, rng=rng(), resamples=20_000, confidence=0.9), fleiss_kappa(counts)
    assert not isinstance(found, Undefined)
    assert not isinstance(exact, Undefined)
    assert found.value == exact.kappa
    drawn = np.array(counts)[source.integers(0, 60, size=(3_000, 60))]
    agreement = (drawn * (drawn - 1)).sum(axis=2).mean(axis=1) / (4 * 3)  # pairs of four raters that agree
    by_chance = ((drawn.sum(axis=1) / (60 * 4)) ** 2).sum(axis=1)
    values = (agreement - by_chance) / (1 - by_chance)
    assert isinstance(found.interval, Interval)
    plain = np.quantile(values, [0.05, 0.95])
    assert (found.interval.lower, found.interval.upper) == pytest.approx(plain.tolist(), abs=0.012)
    assert (found.interval.confidence, found.interval.method) == (0.9, "bootstrap-percentile")


def test_no_interval_without_variety() -> None:
    """One category has no kappa; perfect agreement on two has no interval; few resamples are refused."""
    assert isinstance(fleiss_estimate([[3, 0]] * 9, rng=rng()), Undefined)
    perfect = fleiss_estimate([[3, 0]] * 30 + [[0, 3]] * 30, rng=rng())
    assert not isinstance(perfect, Undefined)
    assert perfect.value == 1
    assert isinstance(perfect.interval, Undefined)
    with pytest.raises(ValueError, match="resamples is 10"):
        fleiss_estimate([[2, 1], [1, 2]], rng=rng(), resamples=10)
