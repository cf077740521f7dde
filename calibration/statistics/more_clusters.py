"""Further failures until a clustered gate passes, found by asking the gate itself."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from calibration.statistics.checks import require_open_share, require_positive
from calibration.statistics.clusters import as_counts, cluster_sums, inflation
from calibration.statistics.planning import MoreFailures
from calibration.statistics.proportions import GateResult, score_gate
from calibration.values import Undefined

ClusterCounts = Sequence[tuple[int, int, int]]
"""(accepted, failures, clusters that have just these counts)."""

STEADY = 20
"""Larger numbers that must pass too: one more single failure moves the estimated correlation a little."""
MOST = 100_000
"""Further failures beyond which a plan is of no use."""


def more_clusters_needed(
    counts: ClusterCounts, *, limit: float, z: float, planning_icc: float
) -> MoreFailures:
    """Further failures, each of a cluster of its own, until the cluster gate passes.

    The correlation is estimated anew with every addition, as the gate will; it does not stay what it was.
    At the observed rate the accepted among the further ones are rounded up. The plan at that rate is
    undefined when it is not below the limit; both are capped at 100,000.

    Args:
        counts: what the gate has seen.
        limit: on the false-acceptance rate, in (0, 1).
        z: quantile of the gate at its look level, > 0.
        planning_icc: least correlation that the gate assumes.

    Raises:
        ValueError: for a limit outside (0, 1), a bad z, or bad counts.
    """
    require_open_share(limit, name="limit")
    require_positive(z, name="z")
    x = np.repeat([x for x, _, _ in counts], [times for _, _, times in counts]).astype(np.int64)
    n = np.repeat([n for _, n, _ in counts], [times for _, _, times in counts]).astype(np.int64)
    seen = cluster_sums(*as_counts(x.tolist(), n.tolist()))

    def passes(more: int, wrong: int) -> bool:
        sums = seen.with_singles(more, wrong)
        vif = inflation(sums, planning_icc=planning_icc)
        return score_gate(sums.events / vif, sums.cases / vif, limit=limit, z=z) is GateResult.PASS

    clean = _first(lambda more: passes(more, 0))
    rate = seen.events / seen.cases if seen.cases else 1.0
    at_rate: int | Undefined = Undefined(
        "the rate so far is not below the limit: more cases at this rate never pass"
    )
    if rate < limit:
        at_rate = _first(lambda more: passes(more, math.ceil(rate * more - 1e-9)))
    return MoreFailures(clean, at_rate)


def _first(passes: Callable[[int], bool]) -> int:
    """The smallest number that a search finds from which on the gate passes, capped."""
    low, high = -1, 0
    while high < MOST and not passes(high):
        low, high = high, min(MOST, max(1, 2 * high))
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if passes(middle) else (middle, high)
    while high < MOST and not all(passes(high + step) for step in range(STEADY + 1)):
        high += 1
    return high
