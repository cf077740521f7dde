"""Plans of a calibration set: failures for a power, in clusters too; read in reverse; and what looks cost."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from calibration.statistics import simulation
from calibration.statistics.checks import require_open_share, require_share, require_whole
from calibration.statistics.clusters import design_effect
from calibration.statistics.gate_curve import AdmissionChance, GateSetting, admission_curve
from calibration.statistics.planning import (
    FailuresForPower,
    clean_failures_in_clusters,
    failures_for_power,
    largest_true_far,
    min_failures_clean,
)
from calibration.statistics.proportions import max_accepted
from calibration.statistics.simulation import GateDesign
from calibration.values import Undefined

REPLICATES = 10_000
MAX_CLUSTERS = 4_000
_DRAWS = 2_000_000
"""Cluster draws held at once: fewer replicates for plans of very many clusters."""
_SIZES_TRIED = 40


@dataclass(frozen=True, slots=True)
class FailurePlan:
    """Reference failures with which a judge of a hoped-for FAR passes often enough."""

    failures: int
    """The plan: it and every larger number reach the power."""
    first: int
    """Smallest number that reaches the power; a larger one may miss it again."""
    clean: int
    """Fewest with which a judge that accepts none of them passes."""
    clusters: int
    most_accepted: int | Undefined
    """Most accepted failures that still pass at the plan; undefined in clusters, where it depends on how they
    lie."""
    tried_up_to: int | None
    """Largest number of failures that was simulated; None where every larger one is covered exactly."""
    chance: AdmissionChance
    """P(pass) at the hoped-for FAR."""
    wrongly: AdmissionChance
    """P(pass) of a judge at the limit."""


def plan_failures(
    gate: GateSetting, *, true_far: float, power: float, rng: np.random.Generator
) -> FailurePlan | Undefined:
    """The failures with which a judge of this true FAR passes one evaluation with at least this probability.

    One failure a cluster: exact, for every larger number. Several: by simulation of the gate with clusters
    correlated as it assumes, from the clean number to beyond the plan. Several looks raise the quantile of
    the one evaluation that is planned for. Undefined when the FAR is not below the limit, or too near it.

    Args:
        gate: its failures and its true correlation do not matter.
        true_far: of the judge, in [0, 1].
        power: wanted probability to pass, in (0, 1).
        rng: of the simulation.

    Raises:
        ValueError: for a true_far outside [0, 1] or a power outside (0, 1).
    """
    require_share(true_far, name="true_far")
    require_open_share(power, name="power")
    apart = failures_for_power(limit=gate.limit, true_far=true_far, power=power, z=gate.z)
    if isinstance(apart, Undefined):
        return apart
    size = gate.per_cluster
    if size == 1:
        found, tried = apart, None
    else:
        simulated = _clusters_for_power(gate, apart, true_far=true_far, power=power, rng=rng)
        if isinstance(simulated, Undefined):
            return simulated
        found, tried = simulated.sizes, simulated.tried_up_to
    planned = replace(gate, failures=found.stable, icc=_assumed(gate), looks=1, confidence=_level(gate))
    chance, wrongly = admission_curve(planned, (true_far, gate.limit), rng=rng)
    return FailurePlan(
        failures=found.stable,
        first=found.first,
        clean=clean_failures(gate),
        clusters=found.stable // size,
        most_accepted=_most(gate, found.stable),
        tried_up_to=tried,
        chance=chance,
        wrongly=wrongly,
    )


def _most(gate: GateSetting, failures: int) -> int | Undefined:
    if gate.per_cluster > 1:
        return Undefined("depends on how the accepted failures lie in the clusters")
    return max_accepted(failures, limit=gate.limit, z=gate.z)


def clean_failures(gate: GateSetting) -> int:
    """The fewest failures with which one evaluation of the gate passes a judge that accepts none of them."""
    size = gate.per_cluster
    if size == 1:
        return min_failures_clean(gate.limit, z=gate.z)
    return clean_failures_in_clusters(gate.limit, z=gate.z, per_cluster=size, icc=gate.planning_icc)


def _level(gate: GateSetting) -> float:
    """The level of each single look."""
    return 1 - (1 - gate.confidence) / (gate.looks if gate.divided else 1)


def _assumed(gate: GateSetting) -> float:
    """The true correlation that a plan supposes: what the gate assumes of clusters."""
    return gate.planning_icc if gate.per_cluster > 1 else 0.0


@dataclass(frozen=True, slots=True)
class _Simulated:
    sizes: FailuresForPower
    tried_up_to: int


def _clusters_for_power(
    gate: GateSetting, apart: FailuresForPower, *, true_far: float, power: float, rng: np.random.Generator
) -> _Simulated | Undefined:
    """Whole clusters with which the power is reached and stays reached up to the largest number tried."""
    size = gate.per_cluster
    fewest = math.ceil(clean_failures(gate) / size)
    effect = design_effect(1, per_cluster=size, icc=gate.planning_icc).design_effect
    guess = math.ceil(effect * apart.stable / size)
    least, most = max(fewest, guess // 2), fewest + guess + guess // 2
    while most <= MAX_CLUSTERS:
        tried = np.unique(np.linspace(least, most, _SIZES_TRIED).astype(int))
        reached = _powers(gate, tried, true_far, rng) >= power
        misses = np.flatnonzero(~reached)
        if not misses.size and least > fewest:
            least = fewest
            continue
        stable = int(misses[-1]) + 1 if misses.size else 0
        # a plan that holds for the last few sizes only may be luck: look further
        if stable <= 0.8 * len(tried):
            first, last = int(tried[int(np.argmax(reached))]), int(tried[stable])
            return _Simulated(FailuresForPower(first * size, last * size), int(tried[-1]) * size)
        most *= 2
    return Undefined(
        f"more than {MAX_CLUSTERS:,} clusters would be needed: take one output of each, or a smaller FAR"
    )


def _powers(
    gate: GateSetting, clusters: NDArray[np.int64], true_far: float, rng: np.random.Generator
) -> NDArray[np.float64]:
    """P(pass) with each number of clusters, all of them prefixes of the same draws."""
    most, size = int(clusters[-1]), gate.per_cluster

    def design(count: int) -> GateDesign:
        return GateDesign(
            count * size,
            gate.limit,
            gate.z,
            per_cluster=size,
            icc=_assumed(gate),
            planning_icc=gate.planning_icc,
        )

    replicates = max(1_000, min(REPLICATES, _DRAWS // most))
    events = simulation._draw(design(most), true_far, rng, (replicates, most))
    return np.array(
        [simulation._admits(design(count), events[:, :count]).mean() for count in clusters.tolist()]
    )


def reachable_far(gate: GateSetting, *, power: float, rng: np.random.Generator) -> float | Undefined:
    """The largest true FAR that the gate's failures still admit with this probability: a plan in reverse.

    Exact with one failure a cluster; in clusters by simulation, with the correlation that the gate assumes.
    Undefined where not even a judge that accepts nothing passes.

    Raises:
        ValueError: for a power outside (0, 1).
    """
    if gate.per_cluster == 1:
        return largest_true_far(gate.failures, limit=gate.limit, power=power, z=gate.z)
    require_open_share(power, name="power")
    clean = clean_failures(gate)
    if gate.failures < clean:
        return Undefined(
            f"{gate.failures} reference failures in clusters of {gate.per_cluster} are too few to pass a "
            f"limit of {gate.limit!r}, even with none accepted: it takes {clean}"
        )
    seed = int(rng.integers(2**32))
    low, high = 0.0, gate.limit
    clusters = np.array([gate.failures // gate.per_cluster])
    while high - low > 5e-4 * gate.limit:
        middle = (low + high) / 2
        reached = float(_powers(gate, clusters, middle, np.random.default_rng(seed))[0]) >= power
        low, high = (middle, high) if reached else (low, middle)
    return low


@dataclass(frozen=True, slots=True)
class LooksPlan:
    """One way to spend the error over several looks."""

    failures: int
    """Reference failures at the last look."""
    looks: int
    divided: bool
    z: float
    confidence: float
    """Level of each look."""
    clean: int
    """Fewest failures that pass a judge which accepts none of them, at one look of this level."""
    needed: FailuresForPower | Undefined
    """Failures for the power at one look of this level."""
    wrongly: float
    """P(admitted at any of the looks) of a judge at the limit, exact."""
    chance: float
    """The same of a judge with the hoped-for FAR."""


def plan_looks(
    *, limit: float, true_far: float, power: float, looks: int, failures: int | None, confidence: float = 0.95
) -> tuple[LooksPlan, ...] | Undefined:
    """One look, several that share the error, and several that do not: what each costs and lets through.

    The looks come at equal steps of the failures, one failure a cluster.

    Args:
        limit: on the false-acceptance rate, in (0, 1).
        true_far: of the judge hoped for, in [0, 1].
        power: wanted probability to pass, in (0, 1).
        looks: how many, at least 1.
        failures: at the last look; by default what the shared error needs for the power.
        confidence: level of the policy, in (0, 1).

    Undefined when no number is given and none is enough.

    Raises:
        ValueError: for a rate, power or level outside its range, or more looks than failures.
    """
    if require_whole(looks, name="looks") < 1:
        raise ValueError(f"looks is {looks!r}; evaluating the gate once is one look: give at least 1")
    ways = dict.fromkeys([(1, True), (looks, True), (looks, False)] if looks > 1 else [(1, True)])
    gates = [
        GateSetting(failures or looks, limit, confidence, looks=count, divided=divided)
        for count, divided in ways
    ]
    needed = [failures_for_power(limit=limit, true_far=true_far, power=power, z=gate.z) for gate in gates]
    if failures is None:
        shared = needed[min(1, len(needed) - 1)]
        if isinstance(shared, Undefined):
            return shared
        gates = [replace(gate, failures=shared.stable) for gate in gates]
    return tuple(_look_plan(gate, true_far, enough) for gate, enough in zip(gates, needed, strict=True))


def _look_plan(gate: GateSetting, true_far: float, needed: FailuresForPower | Undefined) -> LooksPlan:
    # exact: one failure a cluster; the generator is asked for nothing
    chance, wrongly = admission_curve(gate, (true_far, gate.limit), rng=np.random.default_rng(0))
    return LooksPlan(
        failures=gate.failures,
        looks=gate.looks,
        divided=gate.divided,
        z=gate.z,
        confidence=_level(gate),
        clean=clean_failures(gate),
        needed=needed,
        wrongly=wrongly.probability,
        chance=chance.probability,
    )
