"""Krippendorff's alpha of nominal labels with a bootstrap interval over units."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from calibration.statistics.bootstrap import (
    BootstrapMethod,
    Floats,
    bootstrap_interval,
    distinct_vectors,
    resample_totals,
)
from calibration.values import Estimate, Undefined


def nominal_alpha(
    units: Sequence[Mapping[str, int]],
    *,
    categories: Sequence[str],
    rng: np.random.Generator,
    confidence: float = 0.95,
    resamples: int = 2_000,
) -> Estimate | Undefined:
    """Krippendorff's alpha in (-1, 1] for any number of raters and missing labels, units resampled.

    Units with fewer than two labels drop out. Undefined when no unit has two labels, and when all pairable
    labels are the same (0/0). The interval is undefined where every resample gives the same value.

    Args:
        units: for each unit how many raters gave it each category; an absent category is 0.
        categories: all categories that may occur.
        rng: source of the resamples.
        confidence: level in (0, 1).
        resamples: at least 2,000.

    Source: Krippendorff 2011, section D (alpha); Efron, Tibshirani 1993, section 13.3 (percentile interval).
    """
    counts = np.array([[unit.get(word, 0) for word in categories] for unit in units], dtype=float)
    pairable = counts[counts.sum(axis=1) >= 2] if counts.size else counts
    if not pairable.size:
        return Undefined("no item has two raters")
    distinct = distinct_vectors(_coincidences(pairable))
    totals = resample_totals(distinct, rng=rng, resamples=resamples)
    found = bootstrap_interval(
        distinct, totals, alpha_of_totals, confidence=confidence, method=BootstrapMethod.PERCENTILE
    )
    if isinstance(found, Undefined):
        return Undefined("all labels are the same: agreement beyond chance is 0/0")
    return Estimate(found.estimate, found.interval)


def _coincidences(counts: Floats) -> Floats:
    """The flattened coincidence matrix of each unit: o_ck = n_c (n_k - [c = k]) / (m - 1)."""
    m = counts.sum(axis=1)
    pairs = counts[:, :, None] * counts[:, None, :]
    own = np.arange(counts.shape[1])
    pairs[:, own, own] -= counts
    return np.asarray((pairs / (m - 1)[:, None, None]).reshape(len(counts), -1))


def alpha_of_totals(totals: Floats) -> Floats:
    """Alpha of summed coincidence matrices, one row each; NaN where chance disagreement is 0."""
    size = round(totals.shape[1] ** 0.5)
    matrix = totals.reshape(-1, size, size)
    margin = matrix.sum(axis=2)
    n = margin.sum(axis=1)
    observed = n - np.trace(matrix, axis1=1, axis2=2)
    chance = n * n - (margin * margin).sum(axis=1)
    ratio = np.divide((n - 1) * observed, chance, out=np.full(n.shape, np.nan), where=chance > 1e-9)
    return np.asarray(1 - ratio)
