"""Rates from cases that come in clusters: the effective size, and the interval that follows from it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calibration.statistics.checks import require_count, require_same_length, require_share
from calibration.statistics.proportions import wilson_interval
from calibration.values import Interval, Undefined

PLANNING_ICC = 0.3
"""Intra-cluster correlation that is assumed until the data show a larger one."""


@dataclass(frozen=True, slots=True)
class ClusterInterval:
    """A rate of clustered cases with the interval of its effective size."""

    x: int
    """Cases counted."""
    n: int
    """Cases in the denominator."""
    n_effective: float
    """n / vif: how many independent cases the n are worth."""
    icc: float
    """Intra-cluster correlation used, in [0, 1]."""
    icc_estimated: float | Undefined
    """ANOVA estimate, may be negative; undefined without an event, or without a cluster of two."""
    vif: float
    """Variance inflation, at least 1."""
    clusters: int
    """Clusters with at least one case in the denominator."""
    interval: Interval
    """Wilson, of x / vif among n / vif."""

    @property
    def x_effective(self) -> float:
        """The count x / vif that goes into the score test beside `n_effective`."""
        return self.x / self.vif


def as_counts(x: Sequence[int], n: Sequence[int]) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The counts of the clusters that have a case, checked.

    Raises:
        ValueError: for unequal lengths, a count that is not whole, a negative one, or x > n in a cluster.
    """
    require_same_length(x, n, names="x and n")
    wholes = []
    for name, values in (("x", x), ("n", n)):
        array = np.asarray(values)
        if array.size and not np.issubdtype(array.dtype, np.integer):
            raise ValueError(
                f"{name} holds values that are no whole numbers: count the cases of each cluster"
            )
        wholes.append(array.astype(np.int64))
    events, sizes = wholes
    bad = np.flatnonzero((events < 0) | (events > sizes))
    if bad.size:
        first = int(bad[0])
        raise ValueError(
            f"cluster {first} has x {int(events[first])} of n {int(sizes[first])}; 0 <= x <= n must hold"
        )
    keep = sizes > 0
    return events[keep], sizes[keep]


def anova_icc(x: Sequence[int], n: Sequence[int]) -> float | Undefined:
    """The ANOVA estimate of the intra-cluster correlation of a yes/no case; at most 1, may be negative.

    Undefined with fewer than two clusters, when no cluster has two cases, and when no case or every case is
    an event (0/0: the data say nothing about the correlation).

    Raises:
        ValueError: as `as_counts`.

    Source: Saha, Miller, Wang 2016, section 2.
    """
    return _anova_icc(*as_counts(x, n))


def _anova_icc(events: NDArray[np.int64], sizes: NDArray[np.int64]) -> float | Undefined:
    return icc_of_sums(cluster_sums(events, sizes))


@dataclass(frozen=True, slots=True)
class ClusterSums:
    """All that the correlation and the effective size need of the clusters; sums of two groups add up."""

    clusters: int
    cases: int
    events: int
    events_squared: float
    """Sum of x² / n."""
    cases_squared: int
    """Sum of n²."""

    def with_singles(self, more: int, events: int) -> ClusterSums:
        """The sums with so many clusters of one case added, of which so many are events."""
        return ClusterSums(
            self.clusters + more,
            self.cases + more,
            self.events + events,
            self.events_squared + events,
            self.cases_squared + more,
        )


def cluster_sums(events: NDArray[np.int64], sizes: NDArray[np.int64]) -> ClusterSums:
    """The sums of clusters that all have a case."""
    return ClusterSums(
        clusters=int(sizes.size),
        cases=int(sizes.sum()),
        events=int(events.sum()),
        events_squared=float((events * events / sizes).sum()) if sizes.size else 0.0,
        cases_squared=int((sizes * sizes).sum()),
    )


def icc_of_sums(sums: ClusterSums) -> float | Undefined:
    """The ANOVA estimate from sums; undefined as `anova_icc`."""
    clusters, total, count = sums.clusters, sums.cases, sums.events
    if clusters < 2:
        return Undefined("fewer than two clusters: no correlation can be estimated")
    if total == clusters:
        return Undefined("no cluster has two cases: there is no correlation to estimate")
    if count in (0, total):
        return Undefined("no case, or every case, is an event: the correlation is 0/0")
    between = (sums.events_squared - count * count / total) / (clusters - 1)
    within = (count - sums.events_squared) / (total - clusters)
    typical = (total - sums.cases_squared / total) / (clusters - 1)
    return (between - within) / (between + (typical - 1) * within)


def inflation(sums: ClusterSums, *, planning_icc: float) -> float:
    """The variance inflation by the larger of the estimated and the planned correlation; at least 1."""
    estimated = icc_of_sums(sums)
    icc = max(planning_icc, 0.0 if isinstance(estimated, Undefined) else estimated)
    return 1 + icc * (sums.cases_squared / sums.cases - 1) if sums.cases else 1.0


def cluster_wilson(
    x: Sequence[int],
    n: Sequence[int],
    *,
    planning_icc: float = PLANNING_ICC,
    confidence: float = 0.95,
    sided: int = 2,
    z: float | None = None,
) -> ClusterInterval:
    """The rate sum(x) / sum(n) with the Wilson interval of its effective size.

    The correlation used is the largest of the ANOVA estimate, the planning value and 0, so that data without
    an event, where nothing can be estimated, are still not read as independent. Clusters of one case each
    give the plain Wilson interval; no case at all gives [0, 1]. Clusters with n = 0 do not count.

    Args:
        x: events of each cluster.
        n: cases of each cluster.
        planning_icc: correlation in [0, 1] assumed until the estimate is larger.
        confidence: level in (0, 1).
        sided: 2, or 1 for one-sided limits.
        z: explicit quantile instead of the level.

    Raises:
        ValueError: for unequal lengths, a bad count, x > n in a cluster, or a planning_icc outside [0, 1].

    Source: Saha, Miller, Wang 2016; STATISTICS §4.
    """
    if not 0 <= planning_icc <= 1:
        raise ValueError(f"planning_icc is {planning_icc!r}; a planned correlation lies in [0, 1]")
    events, sizes = as_counts(x, n)
    total, count = int(sizes.sum()), int(events.sum())
    estimated = _anova_icc(events, sizes)
    icc = max(planning_icc, 0.0 if isinstance(estimated, Undefined) else estimated)
    vif = 1 + icc * (float((sizes * sizes).sum()) / total - 1) if total else 1.0
    interval = wilson_interval(count / vif, total / vif, confidence=confidence, sided=sided, z=z)
    return ClusterInterval(
        x=count,
        n=total,
        n_effective=total / vif,
        icc=icc,
        icc_estimated=estimated,
        vif=vif,
        clusters=int(sizes.size),
        interval=interval,
    )


@dataclass(frozen=True, slots=True)
class ClusterRobustRate:
    """A rate of clustered cases with its linearised standard error; no gate uses it."""

    estimate: float
    standard_error: float
    design_effect: float | Undefined
    """Variance over that of as many independent cases; undefined at 0 and at 1."""


def cluster_robust_rate(x: Sequence[int], n: Sequence[int]) -> ClusterRobustRate | Undefined:
    """The rate sum(x) / sum(n) with the ratio estimator's standard error, factor k / (k - 1) for k clusters.

    Undefined with fewer than two clusters that have a case.

    Raises:
        ValueError: as `as_counts`.

    Source: Cochran 1977, equation 6.13; equals survey::svymean.
    """
    events, sizes = as_counts(x, n)
    clusters, total = int(sizes.size), int(sizes.sum())
    if clusters < 2:
        return Undefined("fewer than two clusters: their spread is unknown")
    estimate = int(events.sum()) / total
    residual = float(((events - estimate * sizes) ** 2).sum())
    variance = clusters / (clusters - 1) * residual / total**2
    independent = estimate * (1 - estimate) / total
    design_effect = (
        variance / independent if independent else Undefined("no case, or every case, is an event: 0/0")
    )
    return ClusterRobustRate(estimate, math.sqrt(variance), design_effect)


@dataclass(frozen=True, slots=True)
class DesignEffect:
    """What clusters of one size cost."""

    design_effect: float
    n_effective: float


def design_effect(n: float, *, per_cluster: float, icc: float) -> DesignEffect:
    """The design effect 1 + (m - 1) icc of clusters of m cases, and the effective size of n such cases.

    Raises:
        ValueError: for a bad n, fewer than one case a cluster, or an icc outside [0, 1].

    Source: Kish 1965, section 5.4.
    """
    require_count(n, name="n")
    require_share(icc, name="icc")
    if not (math.isfinite(per_cluster) and per_cluster >= 1):
        raise ValueError(f"per_cluster is {per_cluster!r}; a cluster holds at least one case")
    effect = 1 + (per_cluster - 1) * icc
    return DesignEffect(effect, n / effect)
