"""Re-weighted rates: strata, the weights that a false-acceptance rate needs, and their intervals."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from calibration.statistics.checks import require_count, require_part, require_share
from calibration.statistics.proportions import GateResult, level_of, score_gate, wilson_interval
from calibration.values import Interval, Undefined


@dataclass(frozen=True, slots=True)
class Stratum:
    """The counts of one stratum and its share of the population that is spoken of."""

    share: float
    """In [0, 1]; the shares of all strata sum to 1. For FAR: share of the deployment's failures."""
    x: float
    """Events; may be an effective count."""
    n: float
    """Cases; may be an effective size."""


@dataclass(frozen=True, slots=True)
class WeightedRate:
    """A rate re-weighted to a population, with its interval."""

    estimate: float | Undefined
    """Sum of share times x / n; undefined where a stratum with weight has no case."""
    interval: Interval
    unweighted: float | Undefined
    """x / n over all strata, to show what the weights change."""
    n_effective: float | Undefined
    """1 / sum(share² / n): the size of an unweighted sample of the same precision (Kish 1965)."""


@dataclass(frozen=True, slots=True)
class KishSize:
    """What unequal weights cost."""

    n_effective: float
    design_effect: float


def normalise(weights: Sequence[float]) -> tuple[float, ...]:
    """The weights divided by their sum, in the order given.

    Raises:
        ValueError: for a negative or non-finite weight, or when all are 0.
    """
    for weight in weights:
        require_count(weight, name="a weight")
    total = math.fsum(weights)
    if total <= 0:
        raise ValueError(
            f"the weights {tuple(weights)!r} sum to {total!r}; at least one must be greater than 0"
        )
    return tuple(weight / total for weight in weights)


def kish_size(weights: Sequence[float]) -> KishSize:
    """The effective size (sum w)² / sum w² of weighted cases, and the design effect n / n_effective.

    Raises:
        ValueError: for a negative or non-finite weight, or when all are 0.

    Source: Kish 1965, section 11.7.
    """
    shares = normalise(weights)
    effective = 1 / math.fsum(share * share for share in shares)
    return KishSize(effective, len(shares) / effective)


def _checked(strata: Sequence[Stratum]) -> list[Stratum]:
    """The strata that carry weight, with shares that sum to 1 exactly as far as floats go."""
    for stratum in strata:
        require_share(stratum.share, name="a stratum's share")
        require_part(stratum.x, stratum.n)
    total = math.fsum(stratum.share for stratum in strata)
    if abs(total - 1) > 1e-6:
        raise ValueError(
            f"the shares {[stratum.share for stratum in strata]!r} sum to {total!r}; they must sum to 1: "
            "divide each by the sum, or add the stratum that is missing"
        )
    return [Stratum(stratum.share / total, stratum.x, stratum.n) for stratum in strata if stratum.share > 0]


def _point(strata: Sequence[Stratum]) -> float | Undefined:
    if any(stratum.n == 0 for stratum in strata):
        return Undefined("a stratum that has weight has no case")
    return math.fsum(stratum.share * stratum.x / stratum.n for stratum in strata)


def _described(strata: Sequence[Stratum], everything: Sequence[Stratum], interval: Interval) -> WeightedRate:
    x, n = math.fsum(s.x for s in everything), math.fsum(s.n for s in everything)
    empty = any(stratum.n == 0 for stratum in strata)
    return WeightedRate(
        estimate=_point(strata),
        interval=interval,
        unweighted=x / n if n else Undefined("no case in any stratum"),
        n_effective=Undefined("a stratum that has weight has no case")
        if empty
        else 1 / math.fsum(stratum.share**2 / stratum.n for stratum in strata),
    )


def mover_rate(
    strata: Sequence[Stratum], *, confidence: float = 0.95, z: float | None = None
) -> WeightedRate:
    """The re-weighted rate with the interval that a gate may use: Wilson per stratum, combined by MOVER.

    Lower = p - sqrt(sum share² (p_h - l_h)²), upper likewise, in [0, 1]; one stratum gives plain Wilson. A
    stratum that has weight and no case leaves the estimate undefined and enters the interval with 0 below and
    1 above.

    Args:
        strata: shares sum to 1; strata of share 0 are ignored.
        confidence: level in (0, 1) of the two-sided interval.
        z: explicit quantile instead of the level.

    Raises:
        ValueError: for a bad count, a share outside [0, 1], or shares that do not sum to 1 (within 1e-6).

    Source: Zou, Donner 2008, with Wilson limits; STATISTICS §4.
    """
    weighted = _checked(strata)
    level = level_of(confidence, 2, z)
    low, high, below, above = 0.0, 0.0, 0.0, 0.0
    for stratum in weighted:
        limits = wilson_interval(stratum.x, stratum.n, z=level.z)
        point_low, point_high = (stratum.x / stratum.n,) * 2 if stratum.n else (0.0, 1.0)
        low += stratum.share * point_low
        high += stratum.share * point_high
        below += (stratum.share * (point_low - limits.lower)) ** 2
        above += (stratum.share * (limits.upper - point_high)) ** 2
    interval = Interval(
        max(low - math.sqrt(below), 0.0),
        min(high + math.sqrt(above), 1.0),
        level.confidence,
        2,
        "mover-wilson",
    )
    return _described(weighted, strata, interval)


def mover_gate(strata: Sequence[Stratum], *, limit: float, z: float) -> GateResult:
    """Whether a re-weighted rate holds a limit: upper end <= limit passes, lower end > limit fails.

    Insufficient while a stratum that has weight has no case. With one stratum it is `score_gate`.

    Raises:
        ValueError: as `mover_rate`, or for a limit outside [0, 1].
    """
    require_share(limit, name="limit")
    weighted = _checked(strata)
    if any(stratum.n == 0 for stratum in weighted):
        return GateResult.INSUFFICIENT
    if len(weighted) == 1:
        return score_gate(weighted[0].x, weighted[0].n, limit=limit, z=z)
    interval = mover_rate(strata, z=z).interval
    if interval.upper <= limit:
        return GateResult.PASS
    return GateResult.FAIL if interval.lower > limit else GateResult.INSUFFICIENT


def kish_rate(strata: Sequence[Stratum], *, confidence: float = 0.95, z: float | None = None) -> WeightedRate:
    """The re-weighted rate with Wilson on the Kish effective size; secondary: it missed high in up to 10.7 %.

    Without a case in a stratum that has weight the estimate is undefined and the interval [0, 1].

    Raises:
        ValueError: as `mover_rate`.
    """
    weighted = _checked(strata)
    described = _described(weighted, strata, wilson_interval(0, 0, confidence=confidence, z=z))
    if isinstance(described.estimate, Undefined) or isinstance(described.n_effective, Undefined):
        return described
    size = described.n_effective
    plain = wilson_interval(min(described.estimate, 1.0) * size, size, confidence=confidence, z=z)
    interval = Interval(plain.lower, plain.upper, plain.confidence, 2, "kish-wilson")
    return WeightedRate(described.estimate, interval, described.unweighted, size)


def korn_graubard(strata: Sequence[Stratum], *, confidence: float = 0.95) -> WeightedRate | Undefined:
    """The re-weighted rate with the Korn-Graubard interval, as survey packages print it; secondary.

    The design degrees of freedom are n minus the number of strata. Undefined with a stratum of fewer than two
    cases, and when no stratum varies (the design variance is 0).

    Raises:
        ValueError: as `mover_rate`.

    Source: Korn, Graubard 1998.
    """
    from scipy.special import betaincinv, stdtrit

    weighted = _checked(strata)
    if any(stratum.n < 2 for stratum in weighted):
        return Undefined("a stratum has fewer than two cases: its variance is unknown")
    estimate = math.fsum(stratum.share * stratum.x / stratum.n for stratum in weighted)
    variance = math.fsum(s.share**2 * (s.x / s.n) * (1 - s.x / s.n) / (s.n - 1) for s in weighted)
    if variance <= 0:
        return Undefined("no stratum varies: the design variance is 0")
    tail = (1 - level_of(confidence, 2, None).confidence) / 2
    n = math.fsum(stratum.n for stratum in weighted)
    shrink = (float(stdtrit(n - 1, tail)) / float(stdtrit(n - len(weighted), tail))) ** 2
    size = estimate * (1 - estimate) / variance * shrink
    lower = float(betaincinv(size * estimate, size * (1 - estimate) + 1, tail))
    upper = float(betaincinv(size * estimate + 1, size * (1 - estimate), 1 - tail))
    interval = Interval(lower, upper, confidence, 2, "korn-graubard")
    described = _described(weighted, strata, interval)
    return WeightedRate(described.estimate, interval, described.unweighted, size)
