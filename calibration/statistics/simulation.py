"""The gate simulated: how often it admits judges of a known FAR when failures come in clusters."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calibration.statistics.checks import require_open_share, require_positive, require_share, require_whole
from calibration.statistics.clusters import PLANNING_ICC
from calibration.statistics.proportions import rate
from calibration.values import Rate

BATCH = 4_000_000


@dataclass(frozen=True, slots=True)
class GateDesign:
    """A calibration set and a gate."""

    failures: int
    """Reference failures; a whole number of clusters."""
    limit: float
    """On the false-acceptance rate, in (0, 1)."""
    z: float
    """Quantile of the gate at its look level."""
    per_cluster: int = 1
    """Failures in each cluster (outputs of one prompt)."""
    icc: float = 0.0
    """True correlation within clusters, in [0, 1)."""
    planning_icc: float = PLANNING_ICC
    """What the gate assumes at least."""
    estimate_icc: bool = True
    """Whether the gate estimates the correlation; with `planning_icc` 0 and False it ignores clusters."""

    def __post_init__(self) -> None:
        if require_whole(self.per_cluster, name="per_cluster") < 1:
            raise ValueError(f"per_cluster is {self.per_cluster!r}; a cluster holds at least one failure")
        if require_whole(self.failures, name="failures") % self.per_cluster or not self.failures:
            raise ValueError(
                f"failures is {self.failures!r}; give a multiple of {self.per_cluster!r}, at least one"
            )
        require_open_share(self.limit, name="limit")
        require_positive(self.z, name="z")
        require_share(self.planning_icc, name="planning_icc")
        if not 0 <= self.icc < 1:
            raise ValueError(f"icc is {self.icc!r}; a correlation to simulate lies in [0, 1)")


def simulate_gate(
    design: GateDesign, *, true_far: float, rng: np.random.Generator, replicates: int = 20_000
) -> Rate:
    """Replicates that the gate admits at this true FAR, with the Wilson interval of the simulation.

    Failures within a cluster are beta-binomial with the design's correlation, clusters independent.

    Raises:
        ValueError: for a true_far outside [0, 1] or fewer than one replicate.
    """
    require_share(true_far, name="true_far")
    if require_whole(replicates, name="replicates") < 1:
        raise ValueError(f"replicates is {replicates!r}; give at least one")
    clusters = design.failures // design.per_cluster
    batch = max(1, BATCH // clusters)
    admitted = 0
    for start in range(0, replicates, batch):
        events = _draw(design, true_far, rng, (min(batch, replicates - start), clusters))
        admitted += int(_admits(design, events).sum())
    return rate(admitted, replicates)


def _draw(
    design: GateDesign, true_far: float, rng: np.random.Generator, shape: tuple[int, int]
) -> NDArray[np.int64]:
    if design.icc == 0 or true_far in (0, 1):
        return rng.binomial(design.per_cluster, true_far, size=shape)
    strength = (1 - design.icc) / design.icc
    return rng.binomial(
        design.per_cluster, rng.beta(true_far * strength, (1 - true_far) * strength, size=shape)
    )


def _admits(design: GateDesign, events: NDArray[np.int64]) -> NDArray[np.bool_]:
    """The score test on the effective size of each replicate (one row each)."""
    x = events.sum(axis=1).astype(float)
    vif = 1 + _icc_used(design, events, x) * (design.per_cluster - 1)
    n = design.failures / vif
    excess = x / vif - n * design.limit
    needed = design.z**2 * n * design.limit * (1 - design.limit)
    return np.asarray((excess <= 0) & (excess**2 >= needed * (1 - 1e-12)))


def _icc_used(design: GateDesign, events: NDArray[np.int64], x: NDArray[np.float64]) -> NDArray[np.float64]:
    """The larger of the planning value and the ANOVA estimate for clusters of one size."""
    planned = np.full(x.shape, design.planning_icc)
    m, n = design.per_cluster, design.failures
    clusters = n // m
    if not design.estimate_icc or m == 1 or clusters < 2:
        return planned
    squared = (events.astype(float) ** 2).sum(axis=1) / m
    between = (squared - x**2 / n) / (clusters - 1)
    within = (x - squared) / (n - clusters)
    spread = between + (m - 1) * within
    estimated = np.divide(between - within, spread, out=np.zeros_like(x), where=spread > 0)
    return np.asarray(np.maximum(planned, estimated))
