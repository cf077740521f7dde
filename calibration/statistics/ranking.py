"""Several judges on the same reference failures: paired differences, and ranks as ranges."""

from __future__ import annotations

import math
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations

import numpy as np

from calibration.statistics.checks import require_open_share, require_same_length
from calibration.statistics.multiplicity import holm
from calibration.statistics.paired import PairedTable, newcombe_paired
from calibration.values import Estimate, Interval, Undefined


@dataclass(frozen=True, slots=True)
class PairedFar:
    """The FAR of two judges on the same failures."""

    first: str
    second: str
    only_first: int
    """Failures that only the first accepted."""
    only_second: int
    failures: int
    difference: Estimate | Undefined
    """FAR of the first minus FAR of the second."""
    p_value: float
    """Two-sided, exact under swapping the two judges within whole clusters."""
    p_adjusted: float
    """By Holm over the pairs compared."""


@dataclass(frozen=True, slots=True)
class RankRange:
    """The places that a judge may hold, 1 the lowest FAR."""

    judge: str
    low: int
    high: int


@dataclass(frozen=True, slots=True)
class Ranking:
    """Ranks as ranges, and every pair that was compared; pairs that do not separate tie."""

    ranks: tuple[RankRange, ...]
    pairs: tuple[PairedFar, ...]
    ties: tuple[tuple[str, str], ...]


def rank_judges(
    accepted: Mapping[str, Sequence[bool]],
    clusters: Sequence[Hashable] | None = None,
    *,
    alpha: float = 0.05,
    confidence: float = 0.95,
) -> Ranking:
    """Judges ordered by FAR as far as the shared reference failures separate them.

    A judge's lowest place is 1 plus the judges that are separately better, its highest the number of judges
    minus those that are separately worse; separately means a Holm-adjusted p at or below alpha.

    Args:
        accepted: for each judge, for each shared reference failure whether it accepted it.
        clusters: cluster of each failure; None when they are independent.
        alpha: family-wise error in (0, 1).
        confidence: level of the intervals of the differences.

    Raises:
        ValueError: for judges with unequal numbers of failures, or an alpha outside (0, 1).
    """
    require_open_share(alpha, name="alpha")
    names = sorted(accepted)
    sizes = {name: len(accepted[name]) for name in names}
    if len(set(sizes.values())) > 1:
        raise ValueError(
            f"the judges have {sizes!r} failures; compare them on the failures that all of them judged"
        )
    rows = list(range(sizes[names[0]])) if names else []
    owner = _codes(rows if clusters is None else clusters, len(rows))
    marks = {name: np.asarray(accepted[name], dtype=bool).astype(np.int64) for name in names}
    compared = [
        (first, second, _compare(marks[first], marks[second], owner, confidence))
        for first, second in combinations(names, 2)
    ]
    adjusted = holm([outcome.p_value for _, _, outcome in compared])
    pairs = tuple(
        PairedFar(first, second, o.only_first, o.only_second, len(rows), o.difference, o.p_value, p)
        for (first, second, o), p in zip(compared, adjusted, strict=True)
    )
    return Ranking(
        ranks=_ranges(names, pairs, alpha),
        pairs=pairs,
        ties=tuple((pair.first, pair.second) for pair in pairs if pair.p_adjusted > alpha),
    )


def _codes(clusters: Sequence[Hashable], failures: int) -> np.ndarray[tuple[int], np.dtype[np.int64]]:
    require_same_length(range(failures), clusters, names="the judges' failures and clusters")
    labels = {cluster: i for i, cluster in enumerate(dict.fromkeys(clusters))}
    return np.array([labels[cluster] for cluster in clusters], dtype=np.int64)


@dataclass(frozen=True, slots=True)
class _Outcome:
    only_first: int
    only_second: int
    difference: Estimate | Undefined
    p_value: float


def _compare(
    first: np.ndarray[tuple[int], np.dtype[np.int64]],
    second: np.ndarray[tuple[int], np.dtype[np.int64]],
    owner: np.ndarray[tuple[int], np.dtype[np.int64]],
    confidence: float,
) -> _Outcome:
    gap = first - second
    only_first, only_second = int((gap > 0).sum()), int((gap < 0).sum())
    if not gap.size:
        return _Outcome(0, 0, Undefined("no shared failure"), 1.0)
    sums = np.bincount(owner, weights=gap).astype(np.int64)
    sizes = np.bincount(owner)
    if (sizes == 1).all():
        both = int((first & second).sum())
        table = PairedTable(both, only_second, only_first, gap.size - both - only_first - only_second)
        difference = newcombe_paired(table, confidence=confidence)
    else:
        difference = clustered_difference(sums.tolist(), sizes.tolist(), confidence=confidence)
    return _Outcome(only_first, only_second, difference, sign_flip_p(sums.tolist()))


def clustered_difference(
    sums: Sequence[int], sizes: Sequence[int], *, confidence: float = 0.95
) -> Estimate | Undefined:
    """The mean of paired differences of clustered cases, with a t interval over clusters, within [-1, 1].

    Undefined without a case. The interval is undefined with fewer than two clusters, and when no cluster
    departs from the mean.

    Args:
        sums: for each cluster the sum of its paired differences.
        sizes: for each cluster its cases, at least 1.
        confidence: level in (0, 1).

    Raises:
        ValueError: for sequences of unequal lengths.

    Source: Cochran 1977, equation 6.13 (ratio estimator), k - 1 degrees of freedom.
    """
    from scipy.special import stdtrit

    require_open_share(confidence, name="confidence")
    require_same_length(sums, sizes, names="sums and sizes")
    n, clusters = sum(sizes), len(sizes)
    if n == 0:
        return Undefined("no case")
    mean = sum(sums) / n
    if clusters < 2:
        return Estimate(mean, Undefined("fewer than two clusters: their spread is unknown"))
    squares = math.fsum((total - mean * size) ** 2 for total, size in zip(sums, sizes, strict=True))
    if squares <= 1e-18 * n:
        return Estimate(mean, Undefined("no cluster departs from the mean: their spread is unknown"))
    error = math.sqrt(clusters / (clusters - 1) * squares) / n
    reach = float(stdtrit(clusters - 1, (1 + confidence) / 2)) * error
    interval = Interval(max(-1.0, mean - reach), min(1.0, mean + reach), confidence, 2, "cluster-t")
    return Estimate(mean, interval)


def sign_flip_p(sums: Sequence[int]) -> float:
    """The exact two-sided p, in (0, 1], of paired differences whose sides may be swapped in each cluster.

    The distribution of the sum over all 2^k ways to swap whole clusters, by convolution; with one case a
    cluster it is McNemar's exact p. 1 when nothing differs.

    Args:
        sums: for each cluster the sum of its paired differences.
    """
    steps = [abs(total) for total in sums if total]
    reach = sum(steps)
    chances = np.ones(1)
    for step in steps:
        wider = np.zeros(chances.size + 2 * step)
        wider[: chances.size] += chances / 2
        wider[2 * step :] += chances / 2
        chances = wider
    values = np.arange(-reach, reach + 1)
    return min(1.0, float(chances[np.abs(values) >= abs(sum(sums))].sum()))


def _ranges(names: Sequence[str], pairs: Sequence[PairedFar], alpha: float) -> tuple[RankRange, ...]:
    better = dict.fromkeys(names, 0)
    worse = dict.fromkeys(names, 0)
    for pair in pairs:
        if pair.p_adjusted > alpha:
            continue
        low, high = (
            (pair.second, pair.first) if pair.only_first > pair.only_second else (pair.first, pair.second)
        )
        better[high] += 1
        worse[low] += 1
    ranges = [RankRange(name, 1 + better[name], len(names) - worse[name]) for name in names]
    return tuple(sorted(ranges, key=lambda each: (each.low, each.high, each.judge)))
