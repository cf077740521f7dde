"""Bootstrap intervals by resampling distinct count vectors, so the cost does not grow with the cases."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import ArrayLike, NDArray

from calibration.statistics.checks import require_open_share, require_whole
from calibration.statistics.normal import normal_cdf, normal_quantile
from calibration.values import Interval, Undefined

Floats = NDArray[np.float64]
Statistic = Callable[[Floats], Floats]
"""From summed vectors (one row a resample) to one number a row, NaN where it does not exist."""

DISTINCT_FOR_MULTINOMIAL = 35
CHUNK = 4_000_000
"""Numbers held at a time."""
MIN_RESAMPLES = 2_000
MAX_UNDEFINED_SHARE = 0.05


class BootstrapMethod(StrEnum):
    """How an interval is read from the resamples."""

    PERCENTILE = "bootstrap-percentile"
    BCA = "bootstrap-bca"
    """Bias-corrected and accelerated (Efron 1987)."""


@dataclass(frozen=True, slots=True)
class DistinctVectors:
    """The different count vectors of the clusters, most frequent first, and how many clusters share each."""

    vectors: Floats
    multiplicity: NDArray[np.int64]

    @property
    def clusters(self) -> int:
        """All clusters."""
        return int(self.multiplicity.sum())

    @property
    def total(self) -> Floats:
        """The sum over all clusters."""
        return np.asarray(self.multiplicity @ self.vectors, dtype=float)


@dataclass(frozen=True, slots=True)
class BootstrapEstimate:
    """A statistic with the interval of its resamples."""

    estimate: float
    interval: Interval | Undefined
    resamples: int
    undefined_resamples: int
    """Resamples in which the statistic does not exist; left out of the interval."""


def distinct_vectors(vectors: ArrayLike) -> DistinctVectors:
    """The distinct rows of an array of counts, one row a cluster (or a case), most frequent first.

    Raises:
        ValueError: for an array that is not two-dimensional, is empty, or holds a number that is not finite.
    """
    array = np.asarray(vectors, dtype=float)
    if array.ndim != 2 or not array.size:
        raise ValueError(
            f"vectors has the shape {array.shape!r}; give one row a cluster and at least one row"
        )
    if not np.isfinite(array).all():
        raise ValueError("a count is not finite; leave clusters with missing counts out and say how many")
    first, multiplicity = _first_of_each(array)
    order = np.argsort(-multiplicity, kind="stable")
    return DistinctVectors(array[first[order]], multiplicity[order])


def _first_of_each(array: Floats) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Index of the first of each distinct row, and how often it occurs.

    Rows of small whole numbers are folded into one number first: sorting numbers is far faster than rows.
    """
    low = array.min(axis=0)
    spans = array.max(axis=0) - low + 1
    keys = array[:, 0]
    if array.shape[1] > 1:
        if math.prod(spans.tolist()) >= 2**53 or (array != np.floor(array)).any():
            _, first, counts = np.unique(array, axis=0, return_index=True, return_counts=True)
            return first, counts
        keys = (array - low) @ np.concatenate([[1.0], np.cumprod(spans[:-1])])
    _, first, counts = np.unique(keys, return_index=True, return_counts=True)
    return first, counts


def resample_totals(distinct: DistinctVectors, *, rng: np.random.Generator, resamples: int) -> Floats:
    """The sum of the vectors in each resample of as many clusters, with replacement; one row a resample.

    With few distinct vectors the number of times each is drawn is one multinomial draw, whatever the number
    of clusters; with many, clusters are drawn one by one in chunks.

    Raises:
        ValueError: for fewer than 2,000 resamples.
    """
    if require_whole(resamples, name="resamples") < MIN_RESAMPLES:
        raise ValueError(f"resamples is {resamples!r}; percentiles need at least {MIN_RESAMPLES:,}")
    kinds, clusters = len(distinct.multiplicity), distinct.clusters
    multinomial = kinds <= max(DISTINCT_FOR_MULTINOMIAL, clusters // 8)
    chunk = max(1, CHUNK // (kinds if multinomial else clusters))
    draw = _draw_multinomial if multinomial else _draw_clusters
    parts = [
        draw(distinct, rng=rng, resamples=min(chunk, resamples - start))
        for start in range(0, resamples, chunk)
    ]
    return np.concatenate(parts)


def _draw_multinomial(distinct: DistinctVectors, *, rng: np.random.Generator, resamples: int) -> Floats:
    shares = distinct.multiplicity / distinct.clusters
    drawn = rng.multinomial(distinct.clusters, shares, size=resamples)
    whole = distinct.vectors.astype(np.int64)
    # whole numbers keep the product off the threaded float kernels, which cost more than the drawing
    vectors = whole if (whole == distinct.vectors).all() else distinct.vectors
    return np.asarray(drawn @ vectors, dtype=float)


def _draw_clusters(distinct: DistinctVectors, *, rng: np.random.Generator, resamples: int) -> Floats:
    owner = np.repeat(np.arange(len(distinct.multiplicity)), distinct.multiplicity)
    drawn = owner[rng.integers(0, distinct.clusters, size=(resamples, distinct.clusters))]
    return np.stack([column[drawn].sum(axis=1) for column in distinct.vectors.T], axis=1)


def bootstrap_interval(
    distinct: DistinctVectors,
    totals: Floats,
    statistic: Statistic,
    *,
    confidence: float = 0.95,
    method: BootstrapMethod = BootstrapMethod.PERCENTILE,
) -> BootstrapEstimate | Undefined:
    """The statistic of the data with the interval of its resamples.

    Undefined where the data do not have the statistic. The interval is undefined when every resample gives
    the same value (with no event a resample can only repeat "none": no evidence of precision), and when the
    statistic does not exist in more than one resample in twenty.

    Args:
        distinct: the data.
        totals: from `resample_totals` of the same data; several statistics may share them.
        statistic: from summed vectors to one number each.
        confidence: level in (0, 1) of the two-sided interval.
        method: percentile or BCa.

    Raises:
        ValueError: for a level outside (0, 1).

    Source: Efron, Tibshirani 1993, sections 13.3 and 14.3.
    """
    require_open_share(confidence, name="confidence")
    estimate = float(statistic(distinct.total[None, :])[0])
    if math.isnan(estimate):
        return Undefined("the data do not have this statistic")
    values = statistic(totals)
    values = values[~np.isnan(values)]
    missing = int(totals.shape[0] - values.size)
    return BootstrapEstimate(
        estimate=estimate,
        interval=_interval(
            distinct, values, statistic, estimate, missing=missing, confidence=confidence, method=method
        ),
        resamples=int(totals.shape[0]),
        undefined_resamples=missing,
    )


def _interval(
    distinct: DistinctVectors,
    values: Floats,
    statistic: Statistic,
    estimate: float,
    *,
    missing: int,
    confidence: float,
    method: BootstrapMethod,
) -> Interval | Undefined:
    if missing > MAX_UNDEFINED_SHARE * (missing + values.size):
        return Undefined(f"the statistic does not exist in {missing} of {missing + values.size} resamples")
    if values.min() == values.max():
        return Undefined("every resample gives the same value: that is no evidence of precision")
    tails = ((1 - confidence) / 2, (1 + confidence) / 2)
    if BootstrapMethod(method) is BootstrapMethod.BCA:
        left_out = statistic(distinct.total[None, :] - distinct.vectors)
        if np.isnan(left_out).any():
            return Undefined("without one of the clusters the statistic does not exist")
        tails = _bca_tails(values, estimate, left_out, distinct.multiplicity, tails)
    lower, upper = np.quantile(values, tails)
    return Interval(float(lower), float(upper), confidence, 2, method)


def _bca_tails(
    values: Floats,
    estimate: float,
    left_out: Floats,
    multiplicity: NDArray[np.int64],
    tails: tuple[float, float],
) -> tuple[float, float]:
    """The percentiles to read, moved by bias and acceleration (Efron, Tibshirani 1993, equation 14.10)."""
    slack = 1e-12 * (1 + abs(estimate))
    below = float((values < estimate - slack).mean() + 0.5 * (np.abs(values - estimate) <= slack).mean())
    edge = 0.5 / values.size
    bias = normal_quantile(min(1 - edge, max(edge, below)))
    gaps = np.average(left_out, weights=multiplicity) - left_out
    spread = float((multiplicity * gaps**2).sum())
    acceleration = float((multiplicity * gaps**3).sum()) / (6 * spread**1.5) if spread else 0.0
    low, high = (bias + normal_quantile(tail) for tail in tails)
    return normal_cdf(bias + low / (1 - acceleration * low)), normal_cdf(
        bias + high / (1 - acceleration * high)
    )


def rate_of_totals(x_column: int, n_column: int) -> Statistic:
    """The statistic "summed column x over summed column n", NaN where n is 0."""

    def statistic(totals: Floats) -> Floats:
        n = totals[:, n_column]
        return np.asarray(np.divide(totals[:, x_column], n, out=np.full(n.shape, np.nan), where=n > 0))

    return statistic


def kappa_of_totals(totals: Floats) -> Floats:
    """Cohen's kappa of flattened square tables, one a row; NaN where it does not exist."""
    size = math.isqrt(totals.shape[1])
    tables = totals.reshape(-1, size, size)
    n = tables.sum(axis=(1, 2))
    observed = np.trace(tables, axis1=1, axis2=2) * n
    expected = (tables.sum(axis=2) * tables.sum(axis=1)).sum(axis=1)
    room = n * n - expected
    return np.asarray(np.divide(observed - expected, room, out=np.full(n.shape, np.nan), where=room > 0))


def cells_of(table: Sequence[Sequence[int]]) -> DistinctVectors:
    """The independent cases of a square table as vectors: each cell is one distinct vector.

    Raises:
        ValueError: for a count that is negative or no whole number, or a table without a case.
    """
    counts = np.array([require_whole(cell, name="a cell") for row in table for cell in row], dtype=np.int64)
    if not counts.sum():
        raise ValueError("the table has no case; resampling needs at least one")
    used = np.argsort(-counts, kind="stable")[: np.count_nonzero(counts)]
    return DistinctVectors(np.eye(counts.size)[used], counts[used])
