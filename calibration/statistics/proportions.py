"""One proportion: intervals, and the score test that a limit is decided by."""

from __future__ import annotations

import math
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

from calibration.statistics.checks import require_part, require_positive, require_share, require_whole
from calibration.statistics.normal import confidence_of, z_value
from calibration.values import Interval, Rate, Undefined


class GateResult(StrEnum):
    """What the evidence says of a limit on a rate."""

    PASS = "pass"
    """The upper end of the interval is at or below the limit."""
    FAIL = "fail"
    """The lower end is above the limit."""
    INSUFFICIENT = "insufficient"
    """The interval contains the limit, or there is no case."""


@dataclass(frozen=True, slots=True)
class WaldInterval:
    """The textbook interval, shown only as a warning: it may leave [0, 1] and has no width at 0 of n."""

    estimate: float
    half_width: float
    lower: float
    """Not clipped."""
    upper: float
    """Not clipped."""


@dataclass(frozen=True, slots=True)
class LevelOfZ:
    """A z with the level and sidedness that it stands for."""

    z: float
    confidence: float
    sided: int


def level_of(confidence: float, sided: int, z: float | None) -> LevelOfZ:
    """The z to use and the level to print: from an explicit z when one is given, else from the level."""
    if z is None:
        return LevelOfZ(z_value(confidence, sided=sided), confidence, sided)
    return LevelOfZ(z, confidence_of(z, sided=sided), sided)


def wilson_lower(x: float, n: float, z: float) -> float:
    """The lower end of the Wilson interval for 0 <= x <= n and n > 0, without loss of digits near 0.

    The two ends are the roots of (n + z²) p² - (2x + z²) p + x²/n = 0 (Wilson 1927), so the lower one is the
    product of the roots divided by the larger root.
    """
    if x == 0:
        return 0.0
    larger = x + z * z / 2 + z * math.sqrt(x * (n - x) / n + z * z / 4)
    return x * x / n / larger


def wilson_interval(
    x: float, n: float, *, confidence: float = 0.95, sided: int = 2, z: float | None = None
) -> Interval:
    """The Wilson score interval of a rate x / n, both ends in [0, 1].

    x = 0 has the lower end exactly 0, x = n the upper end exactly 1, and n = 0 the interval [0, 1]: no
    evidence never looks good.

    Args:
        x: cases counted among the n; may be an effective (non-integer) count.
        n: cases in the denominator; may be an effective size.
        confidence: level in (0, 1).
        sided: 2, or 1 when each end is a one-sided limit at the level.
        z: explicit quantile; the level of the result is then the one that it stands for.

    Raises:
        ValueError: for a negative or non-finite count, or x > n.

    Source: Wilson 1927; Brown, Cai, DasGupta 2001, equation 4.
    """
    x = require_part(x, n)
    level = level_of(confidence, sided, z)
    if n == 0:
        return Interval(0.0, 1.0, level.confidence, sided, "wilson")
    lower = wilson_lower(x, n, level.z)
    upper = 1.0 - wilson_lower(n - x, n, level.z)
    return Interval(lower, upper, level.confidence, sided, "wilson")


def rate(x: int, n: int, *, confidence: float = 0.95, sided: int = 2, z: float | None = None) -> Rate:
    """The rate x / n in [0, 1] with its Wilson interval; the estimate is undefined at n = 0.

    Raises:
        ValueError: for a count that is negative or no whole number, or x > n.
    """
    whole_x, whole_n = require_whole(x, name="x"), require_whole(n, name="n")
    return Rate(whole_x, whole_n, wilson_interval(x, n, confidence=confidence, sided=sided, z=z))


def clopper_pearson_interval(x: int, n: int, *, confidence: float = 0.95, sided: int = 2) -> Interval:
    """The Clopper-Pearson ("exact") interval of a rate x / n, never less than the nominal coverage.

    x = 0 has the lower end 0, x = n the upper end 1, n = 0 the interval [0, 1].

    Raises:
        ValueError: for a negative count, x > n, or a level outside (0, 1).

    Source: Clopper, Pearson 1934, through beta quantiles.
    """
    from scipy.special import betaincinv

    require_part(require_whole(x, name="x"), require_whole(n, name="n"))
    z_value(confidence, sided=sided)
    tail = (1 - confidence) / sided
    lower = 0.0 if x == 0 else float(betaincinv(x, n - x + 1, tail))
    upper = 1.0 if x == n else float(betaincinv(x + 1, n - x, 1 - tail))
    return Interval(lower, upper, confidence, sided, "clopper-pearson")


def wald_interval(
    x: int, n: int, *, confidence: float = 0.95, z: float | None = None
) -> WaldInterval | Undefined:
    """The Wald interval, unclipped, to show what is wrong with it; undefined at n = 0. No decision uses it.

    Raises:
        ValueError: for a negative count or x > n.
    """
    require_part(x, n)
    level = level_of(confidence, 2, z)
    if n == 0:
        return Undefined("no case in the denominator")
    estimate = x / n
    half = level.z * math.sqrt(estimate * (1 - estimate) / n)
    return WaldInterval(estimate, half, estimate - half, estimate + half)


def score_gate(x: float, n: float, *, limit: float, z: float) -> GateResult:
    """Whether the evidence x of n holds a rate at or below a limit, by the score test.

    Pass: x/n <= limit and n (x/n - limit)² >= z² limit (1 - limit). Fail: x/n > limit and the same with >.
    Else, and at n = 0, insufficient. It is the decision "upper end of the Wilson interval <= limit" without
    comparing rounded numbers: whole counts are compared as exact fractions, the limit as the decimal that was
    written; effective counts in floats, with a relative slack of 1e-12 in favour of equality.

    Args:
        x: cases counted, 0 <= x <= n; may be effective.
        n: cases in the denominator; may be effective.
        limit: in [0, 1]. At 0 nothing can pass, at 1 everything with a case does.
        z: quantile, finite and > 0.

    Raises:
        ValueError: for a bad count, x > n, a limit outside [0, 1], or a bad z.

    Source: Wilson 1927; STATISTICS §0.2.
    """
    x = require_part(x, n)
    require_share(limit, name="limit")
    require_positive(z, name="z")
    if n == 0:
        return GateResult.INSUFFICIENT
    if limit == 0:
        return GateResult.INSUFFICIENT if x == 0 else GateResult.FAIL
    above, surplus = _surplus(x, n, limit, z)
    if above:
        return GateResult.FAIL if surplus > 0 else GateResult.INSUFFICIENT
    return GateResult.PASS if surplus >= 0 else GateResult.INSUFFICIENT


def _surplus(x: float, n: float, limit: float, z: float) -> tuple[bool, float]:
    """Whether x/n is above the limit, and (x - n limit)² - z² n limit (1 - limit) with its sign made safe."""
    if float(x).is_integer() and float(n).is_integer():
        exact_limit, exact_z = Fraction(repr(float(limit))), Fraction(repr(float(z)))
        distance = int(x) - int(n) * exact_limit
        exact = distance**2 - exact_z**2 * int(n) * exact_limit * (1 - exact_limit)
        return distance > 0, (exact > 0) - (exact < 0)
    excess = x - n * limit
    needed = z * z * n * limit * (1 - limit)
    surplus = excess * excess - needed
    return excess > 0, 0.0 if abs(surplus) <= 1e-12 * needed else surplus


def max_accepted(n: int, *, limit: float, z: float) -> int | Undefined:
    """The most accepted failures among n that still pass `score_gate`; undefined when not even 0 passes.

    Raises:
        ValueError: for a negative n, a limit outside [0, 1], or a bad z.
    """
    whole = require_whole(n, name="n")
    require_share(limit, name="limit")
    require_positive(z, name="z")
    guess = math.floor(whole * limit - z * math.sqrt(whole * limit * (1 - limit)))
    for x in (guess + 1, guess, guess - 1):
        if 0 <= x <= whole and score_gate(x, whole, limit=limit, z=z) is GateResult.PASS:
            return x
    return Undefined(
        f"{whole} reference failures are too few to pass a limit of {limit!r}, even with none accepted"
    )
