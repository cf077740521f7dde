"""How much evidence a gate needs, and how often it admits."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calibration.statistics.checks import (
    require_count,
    require_open_share,
    require_part,
    require_positive,
    require_share,
    require_whole,
)
from calibration.statistics.clusters import design_effect
from calibration.statistics.proportions import GateResult, max_accepted, score_gate
from calibration.values import Undefined


@dataclass(frozen=True, slots=True)
class MoreFailures:
    """Further reference failures until the gate passes."""

    clean: int
    """If the judge accepts none of them: the floor."""
    at_observed_rate: int | Undefined
    """If it accepts them at the rate seen so far: the plan."""


def min_failures_clean(limit: float, *, z: float) -> int:
    """The fewest reference failures that pass a judge which accepts none of them: ceil(z² (1 - L) / L).

    Args:
        limit: on the false-acceptance rate, in (0, 1).
        z: quantile of the gate, > 0.

    Raises:
        ValueError: for a limit outside (0, 1) or a bad z.
    """
    return _first_pass(0, 1, limit, z)


def _first_pass(x: int, start: int, limit: float, z: float) -> int:
    """The smallest n >= start at which x accepted of n pass; passing stays passing as n grows."""
    require_open_share(limit, name="limit")
    require_positive(z, name="z")
    spread = z * math.sqrt(limit * (1 - limit))
    root = (spread + math.sqrt(spread * spread + 4 * limit * x)) / (2 * limit)
    n = max(start, x, math.floor(root * root) - 1)
    while score_gate(x, n, limit=limit, z=z) is not GateResult.PASS:
        n += 1
    return n


def more_failures_needed(x: int, n: int, *, limit: float, z: float) -> MoreFailures:
    """Further reference failures until x of n accepted passes, if all are rejected and at the rate so far.

    At the rate p seen so far the gate passes from n* = z² L (1 - L) / (L - p)² failures on; that plan is
    undefined without a failure so far and when p >= limit.

    Args:
        x: accepted reference failures so far.
        n: reference failures so far.
        limit: on the false-acceptance rate, in (0, 1).
        z: quantile of the gate at its look level, > 0.

    Raises:
        ValueError: for a bad count, x > n, a limit outside (0, 1) or a bad z.
    """
    whole_x, whole_n = require_whole(x, name="x"), require_whole(n, name="n")
    require_part(whole_x, whole_n)
    clean = _first_pass(whole_x, max(whole_n, 1), limit, z) - whole_n
    return MoreFailures(clean, _at_observed_rate(whole_x, whole_n, limit, z))


def _at_observed_rate(x: int, n: int, limit: float, z: float) -> int | Undefined:
    if n == 0:
        return Undefined("no failure so far: no rate is known")
    if x >= n * limit:
        return Undefined("the rate so far is not below the limit: more cases at this rate never pass")
    needed = z * z * limit * (1 - limit) / (limit - x / n) ** 2
    return max(0, math.ceil(needed * (1 - 1e-12)) - n)


@dataclass(frozen=True, slots=True)
class GateCharacteristic:
    """What the gate does at a number of failures."""

    max_accepted: int | Undefined
    """Most accepted failures that pass; undefined where not even 0 passes."""
    pass_probability: float
    """P(the gate passes) at the true FAR, independent failures, one look."""


def gate_characteristic(n: int, *, limit: float, true_far: float, z: float) -> GateCharacteristic:
    """The most accepted failures that pass among n, and the exact chance to pass at a true FAR.

    Raises:
        ValueError: for a negative n, a limit or FAR outside [0, 1], or a bad z.
    """
    from scipy.special import bdtr

    require_share(true_far, name="true_far")
    most = max_accepted(n, limit=limit, z=z)
    if isinstance(most, Undefined):
        return GateCharacteristic(most, 0.0)
    return GateCharacteristic(most, float(bdtr(most, n, true_far)))


def largest_true_far(n: int, *, limit: float, power: float, z: float) -> float | Undefined:
    """The largest true FAR at which n failures still pass the gate with this probability, in [0, 1].

    It reads a plan in reverse: 60 failures and power 0.8 admit only judges with a true FAR of at most 1.4 %.
    Undefined where not even a judge that accepts nothing passes.

    Raises:
        ValueError: for a negative n, a limit outside [0, 1], a power outside (0, 1), or a bad z.
    """
    from scipy.special import betaincinv

    require_open_share(power, name="power")
    most = max_accepted(n, limit=limit, z=z)
    if isinstance(most, Undefined):
        return most
    return 1.0 if most == n else float(betaincinv(most + 1, n - most, 1 - power))


@dataclass(frozen=True, slots=True)
class FailuresForPower:
    """Reference failures with which a judge passes the gate often enough."""

    first: int
    """Smallest number that reaches the power; a larger one may miss it again."""
    stable: int
    """Smallest number from which every larger one reaches it: the number to plan with."""


MAX_PLANNED_FAILURES = 2_000_000


def failures_for_power(
    *, limit: float, true_far: float, power: float, z: float
) -> FailuresForPower | Undefined:
    """The reference failures with which a judge of this true FAR passes with at least this probability.

    Exact binomial probabilities, one look, independent failures. Every larger n is covered: beyond the last
    n that is computed a Chernoff bound on the failing tail holds. Undefined when the true FAR is not below
    the limit (no number of failures is enough), and when more than 2,000,000 would be needed.

    Args:
        limit: on the false-acceptance rate, in (0, 1).
        true_far: of the judge, in [0, 1].
        power: wanted probability to pass, in (0, 1).
        z: quantile of the gate at its look level.

    Raises:
        ValueError: for a limit or power outside (0, 1), a true_far outside [0, 1], or a bad z.
    """
    require_open_share(limit, name="limit")
    require_share(true_far, name="true_far")
    require_open_share(power, name="power")
    if true_far >= limit:
        return Undefined("the true FAR is not below the limit: no number of failures is enough")
    fewest = min_failures_clean(limit, z=z)
    if true_far == 0:
        return FailuresForPower(fewest, fewest)
    last = _chernoff_size(limit, true_far, power, z, fewest)
    if last > MAX_PLANNED_FAILURES:
        return Undefined(
            f"more than {MAX_PLANNED_FAILURES:,} failures would be needed: the FAR is too near the limit"
        )
    reached = _pass_probabilities(fewest, last, limit, true_far, z) >= power - 1e-12
    first = fewest + int(np.argmax(reached))
    misses = np.flatnonzero(~reached)
    return FailuresForPower(first, fewest + (int(misses[-1]) + 1 if misses.size else 0))


def _chernoff_size(limit: float, true_far: float, power: float, z: float, start: int) -> int:
    """An n from which on the chance to fail the gate is below 1 - power, by the Chernoff bound.

    The most accepted failures that pass, as a share of n, is at least limit - z sqrt(limit (1 - limit) / n)
    - 1/n, which grows with n, so the bound exp(-n KL) shrinks.
    """
    n = start
    while n <= MAX_PLANNED_FAILURES:
        share = limit - z * math.sqrt(limit * (1 - limit) / n) - 1 / n
        if share > true_far:
            information = share * math.log(share / true_far)
            information += (1 - share) * math.log((1 - share) / (1 - true_far))
            if math.exp(-n * information) <= 1 - power:
                return n
        n += 1 + n // 50
    return n


def _pass_probabilities(
    first: int, last: int, limit: float, true_far: float, z: float
) -> NDArray[np.float64]:
    """P(pass) for every n from first to last."""
    from scipy.special import bdtr

    sizes = np.arange(first, last + 1)
    most = np.floor(sizes * limit - z * np.sqrt(sizes * limit * (1 - limit))).astype(np.int64)
    doubtful = np.flatnonzero(
        np.abs(np.square(most - sizes * limit) - z * z * sizes * limit * (1 - limit)) < 1e-6
    )
    for i in (*doubtful, *np.flatnonzero(most < 0)):
        exact = max_accepted(int(sizes[i]), limit=limit, z=z)
        most[i] = -1 if isinstance(exact, Undefined) else exact
    return np.where(most >= 0, bdtr(np.maximum(most, 0).astype(float), sizes, true_far), 0.0)


def clean_failures_in_clusters(limit: float, *, z: float, per_cluster: float, icc: float) -> int:
    """The fewest reference failures, in clusters of this size, that pass a judge which accepts none of them.

    `min_failures_clean` times the design effect 1 + (m - 1) icc, rounded up once.

    Raises:
        ValueError: for a limit outside (0, 1), a bad z, less than one case a cluster, or a bad icc.
    """
    effect = design_effect(1, per_cluster=per_cluster, icc=icc).design_effect
    require_open_share(limit, name="limit")
    require_positive(z, name="z")
    return math.ceil(effect * z * z * (1 - limit) / limit * (1 - 1e-12))


def cases_to_draw(failures: int, *, prevalence: float, effect: float = 1.0, unresolved: float = 0.1) -> int:
    """Cases to draw at random so that this many reference failures can be expected.

    failures x design effect x (1 + unresolved share) / prevalence, rounded up.

    Raises:
        ValueError: for a negative count, a prevalence outside (0, 1], a design effect below 1, or a negative
            unresolved share.
    """
    require_whole(failures, name="failures")
    require_positive(prevalence, name="prevalence")
    require_share(prevalence, name="prevalence")
    require_count(unresolved, name="unresolved")
    if not (math.isfinite(effect) and effect >= 1):
        raise ValueError(f"effect is {effect!r}; a design effect is at least 1")
    return math.ceil(failures * effect * (1 + unresolved) / prevalence * (1 - 1e-12))
