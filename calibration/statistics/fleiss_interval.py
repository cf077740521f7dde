"""Fleiss' kappa with a bootstrap interval over cases."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from calibration.statistics.bootstrap import Floats, bootstrap_interval, distinct_vectors, resample_totals
from calibration.statistics.raters import fleiss_kappa
from calibration.values import Estimate, Undefined


def fleiss_estimate(
    counts: Sequence[Sequence[int]],
    *,
    rng: np.random.Generator,
    confidence: float = 0.95,
    resamples: int = 2_000,
) -> Estimate | Undefined:
    """Fleiss' kappa in [-1, 1] with a percentile interval over resampled cases.

    Undefined where `fleiss_kappa` is. The interval is undefined where every resample gives the same value.

    Args:
        counts: for each case how many labels of each category it got.
        rng: source of the resamples.
        confidence: level in (0, 1).
        resamples: at least 2,000.

    Raises:
        ValueError: as `fleiss_kappa`, for fewer than 2,000 resamples or a bad level.

    Source: Fleiss 1971 (kappa); Efron, Tibshirani 1993, section 13.3 (percentile interval).
    """
    kappa = fleiss_kappa(counts)
    if isinstance(kappa, Undefined):
        return kappa
    rows = np.asarray(counts, dtype=float)
    raters = rows[0].sum()
    distinct = distinct_vectors(np.column_stack([rows, (rows * rows).sum(axis=1)]))

    def statistic(totals: Floats) -> Floats:
        columns, squares = totals[:, :-1], totals[:, -1]
        labels = columns.sum(axis=1)
        po = (squares - labels) / (labels * (raters - 1))
        pe = ((columns / labels[:, None]) ** 2).sum(axis=1)
        room = 1 - pe
        return np.asarray(np.divide(po - pe, room, out=np.full(pe.shape, np.nan), where=room > 1e-12))

    totals = resample_totals(distinct, rng=rng, resamples=resamples)
    found = bootstrap_interval(distinct, totals, statistic, confidence=confidence)
    if isinstance(found, Undefined):
        raise AssertionError("kappa exists, so its resamples have an estimate")
    return Estimate(kappa.kappa, found.interval)
