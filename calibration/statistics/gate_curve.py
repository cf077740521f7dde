"""How often a gate admits, by the true FAR: looks, clusters and strata; exact where it can be."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calibration.statistics import simulation
from calibration.statistics.checks import require_open_share, require_positive, require_share, require_whole
from calibration.statistics.clusters import PLANNING_ICC
from calibration.statistics.normal import look_adjusted_z
from calibration.statistics.proportions import GateResult, rate
from calibration.statistics.sequential import admission_probability, binomial_pmf
from calibration.statistics.simulation import GateDesign
from calibration.statistics.strata import Stratum, mover_gate, normalise
from calibration.values import Rate

REPLICATES = 20_000
MAX_TABLE = 10_000
"""Tables of accepted failures over the strata that are looked through one by one; beyond, simulation."""
_ROUNDING = 1e-12


@dataclass(frozen=True, slots=True)
class AdmissionChance:
    """P(the gate admits) at one true FAR, and how it was found."""

    probability: float
    simulated: Rate | None = None
    """Replicates admitted, with the interval of the simulation; None where the probability is exact."""


@dataclass(frozen=True, slots=True)
class PlannedStratum:
    """A stratum of a calibration set to come."""

    name: str
    weight: float
    """Share of the deployment's failures, up to a factor."""
    failures: int
    ratio: float = 1.0
    """FAR here against that of a stratum with ratio 1."""

    def __post_init__(self) -> None:
        require_positive(self.weight, name=f"the weight of stratum {self.name!r}")
        require_positive(self.ratio, name=f"the ratio of stratum {self.name!r}")
        if require_whole(self.failures, name=f"the failures of stratum {self.name!r}") < 1:
            raise ValueError(
                f"stratum {self.name!r} has no failure; a stratum with weight needs at least one"
            )


@dataclass(frozen=True, slots=True)
class GateSetting:
    """A gate, and the calibration set that it will see."""

    failures: int = 0
    """Reference failures at the last look; not used with strata, which have their own."""
    limit: float = 0.10
    confidence: float = 0.95
    looks: int = 1
    """Evaluations at equal steps of the evidence; the first that passes admits."""
    divided: bool = True
    """Whether the looks share the error (Bonferroni), as policies do, or each takes all of it."""
    per_cluster: int = 1
    """Failures in each cluster."""
    icc: float = 0.0
    """True correlation within clusters."""
    planning_icc: float = PLANNING_ICC
    """Correlation that the gate assumes at least."""
    allow_for_clusters: bool = True
    """False shows what a gate does that takes clustered failures for independent ones."""
    strata: tuple[PlannedStratum, ...] = ()

    def __post_init__(self) -> None:
        require_open_share(self.limit, name="limit")
        require_open_share(self.confidence, name="confidence")
        if require_whole(self.looks, name="looks") < 1:
            raise ValueError(
                f"looks is {self.looks!r}; evaluating the gate once is one look: give at least 1"
            )
        if not self.strata:
            self._design(self.failures)
        elif self.per_cluster != 1 or len({stratum.name for stratum in self.strata}) < len(self.strata):
            raise ValueError("strata have distinct names, and clusters inside strata are not simulated")
        if min(self._units) < self.looks:
            raise ValueError(
                f"looks is {self.looks!r}, more than there are failures or clusters to see: give fewer looks"
            )

    @property
    def z(self) -> float:
        """Quantile that each look uses."""
        return look_adjusted_z(1 - self.confidence, self.looks if self.divided else 1)

    @property
    def _units(self) -> tuple[int, ...]:
        """What grows from look to look: the failures of each stratum, or the clusters."""
        return tuple(s.failures for s in self.strata) or (self.failures // self.per_cluster,)

    def units_at(self, look: int) -> tuple[int, ...]:
        """The failures of each stratum, or the number of clusters, at a look counted from 1."""
        return tuple(units * look // self.looks for units in self._units)

    def design_at(self, look: int) -> GateDesign:
        """The gate over clusters at a look counted from 1."""
        return self._design(self.units_at(look)[0] * self.per_cluster)

    def _design(self, failures: int) -> GateDesign:
        allowed = self.allow_for_clusters
        return GateDesign(
            failures,
            self.limit,
            self.z,
            per_cluster=self.per_cluster,
            icc=self.icc,
            planning_icc=self.planning_icc if allowed else 0.0,
            estimate_icc=allowed,
        )


def stratum_fars(strata: Sequence[PlannedStratum], true_far: float) -> tuple[float, ...]:
    """The FAR of each stratum, in the strata's ratios, whose weighted mean is the true FAR.

    Raises:
        ValueError: for a true FAR outside [0, 1], or one that would put a stratum above 1.
    """
    require_share(true_far, name="true_far")
    shares = normalise([stratum.weight for stratum in strata])
    mean = math.fsum(share * stratum.ratio for share, stratum in zip(shares, strata, strict=True))
    fars = tuple(true_far * stratum.ratio / mean for stratum in strata)
    if max(fars) > 1 + _ROUNDING:
        raise ValueError(
            f"a true FAR of {true_far!r} would put a stratum at {max(fars):.3g}; lower it, or its ratio"
        )
    return tuple(min(1.0, far) for far in fars)


def admission_curve(
    setting: GateSetting,
    true_fars: Sequence[float],
    *,
    rng: np.random.Generator,
    replicates: int = REPLICATES,
) -> tuple[AdmissionChance, ...]:
    """P(the gate admits) at each true FAR.

    Exact for independent failures at any number of looks, and for strata at one look while their tables are
    few enough to go through; by simulation with its interval for clusters, and for strata at several looks.

    Raises:
        ValueError: for a FAR outside [0, 1], one that puts a stratum above 1, or no replicate.
    """
    if require_whole(replicates, name="replicates") < 1:
        raise ValueError(f"replicates is {replicates!r}; give at least one")
    for true_far in true_fars:
        require_share(true_far, name="true_far")
    if setting.strata:
        return _stratified(setting, true_fars, rng, replicates)
    if setting.per_cluster == 1:
        sizes = [setting.units_at(look)[0] for look in range(1, setting.looks + 1)]
        gate = {"limit": setting.limit, "z": setting.z}
        return tuple(AdmissionChance(admission_probability(sizes, **gate, true_far=far)) for far in true_fars)
    return tuple(_in_clusters(setting, true_far, rng, replicates) for true_far in true_fars)


def _in_clusters(
    setting: GateSetting, true_far: float, rng: np.random.Generator, replicates: int
) -> AdmissionChance:
    """The chance that one of the looks passes; each look sees the first clusters of the same draw."""
    designs = [setting.design_at(look) for look in range(1, setting.looks + 1)]
    clusters = designs[-1].failures // setting.per_cluster
    batch = max(1, simulation.BATCH // clusters)
    admitted = 0
    for start in range(0, replicates, batch):
        events = simulation._draw(designs[-1], true_far, rng, (min(batch, replicates - start), clusters))
        passed = np.zeros(len(events), dtype=bool)
        for design in designs:
            passed |= simulation._admits(design, events[:, : design.failures // setting.per_cluster])
        admitted += int(passed.sum())
    return _simulated(admitted, replicates)


def _simulated(admitted: int, replicates: int) -> AdmissionChance:
    return AdmissionChance(admitted / replicates, rate(admitted, replicates))


def _stratified(
    setting: GateSetting, true_fars: Sequence[float], rng: np.random.Generator, replicates: int
) -> tuple[AdmissionChance, ...]:
    strata = setting.strata
    fars = [stratum_fars(strata, true_far) for true_far in true_fars]
    table = _passing_table(setting) if setting.looks == 1 else None
    if table is not None:
        return tuple(AdmissionChance(_mass(table, strata, each)) for each in fars)
    return tuple(_strata_simulated(setting, each, rng, replicates) for each in fars)


def _passing_table(setting: GateSetting) -> NDArray[np.int64] | None:
    """Every table of accepted failures that passes, one row each; None where there are too many to try.

    The upper end is at least the weighted rate, so a table whose weighted rate is above the limit fails.
    """
    shares = normalise([stratum.weight for stratum in setting.strata])
    rows, rates = np.zeros((1, 0), dtype=np.int64), np.zeros(1)
    for share, stratum in zip(shares, setting.strata, strict=True):
        x = np.arange(stratum.failures + 1)
        grown = rates[:, None] + share * x[None, :] / stratum.failures
        kept, chosen = np.nonzero(grown <= setting.limit + _ROUNDING)
        if kept.size > MAX_TABLE:
            return None
        rows, rates = np.column_stack([rows[kept], x[chosen]]), grown[kept, chosen]
    sizes = [stratum.failures for stratum in setting.strata]
    return rows[_passing(setting, rows, sizes)]


def _passing(setting: GateSetting, rows: NDArray[np.int64], sizes: Sequence[int]) -> NDArray[np.bool_]:
    """Whether each row of accepted failures passes the re-weighted gate."""
    shares = normalise([stratum.weight for stratum in setting.strata])
    results = (
        mover_gate(
            [Stratum(*each) for each in zip(shares, row, sizes, strict=True)],
            limit=setting.limit,
            z=setting.z,
        )
        for row in rows.tolist()
    )
    return np.array([result is GateResult.PASS for result in results], dtype=bool)


def _mass(table: NDArray[np.int64], strata: Sequence[PlannedStratum], fars: Sequence[float]) -> float:
    """The probability of the tables, accepted failures being binomial in each stratum."""
    chance = np.ones(len(table))
    for column, (stratum, far) in enumerate(zip(strata, fars, strict=True)):
        chance *= binomial_pmf(stratum.failures, far)[table[:, column]]
    return min(1.0, float(chance.sum()))


def _strata_simulated(
    setting: GateSetting, fars: Sequence[float], rng: np.random.Generator, replicates: int
) -> AdmissionChance:
    accepted = np.zeros((replicates, len(fars)), dtype=np.int64)
    seen: tuple[int, ...] = (0,) * len(fars)
    passed = np.zeros(replicates, dtype=bool)
    for look in range(1, setting.looks + 1):
        sizes = setting.units_at(look)
        accepted += rng.binomial([n - m for n, m in zip(sizes, seen, strict=True)], fars, accepted.shape)
        seen = sizes
        kinds, place = np.unique(accepted, axis=0, return_inverse=True)
        passed |= _passing(setting, kinds, sizes)[place.reshape(-1)]
    return _simulated(int(passed.sum()), replicates)
