"""Two rates compared: on the same cases, or on two independent sets."""

from __future__ import annotations

import math

from calibration.statistics.checks import require_part, require_whole
from calibration.statistics.proportions import wilson_interval
from calibration.values import Estimate, Interval, Undefined


def newcombe_independent(
    x1: int, n1: int, x2: int, n2: int, *, confidence: float = 0.95, z: float | None = None
) -> Estimate | Undefined:
    """The difference x1/n1 - x2/n2 of two independent rates, in [-1, 1], with its interval.

    Undefined when one of the groups has no case.

    Raises:
        ValueError: for a bad count or x > n in a group.

    Source: Newcombe 1998 (interval estimation for the difference between independent proportions), method 10.
    """
    require_part(x1, n1)
    require_part(x2, n2)
    first = wilson_interval(x1, n1, confidence=confidence, z=z)
    second = wilson_interval(x2, n2, confidence=confidence, z=z)
    if n1 == 0 or n2 == 0:
        return Undefined("one of the two groups has no case")
    p1, p2 = x1 / n1, x2 / n2
    below = math.hypot(p1 - first.lower, second.upper - p2)
    above = math.hypot(first.upper - p1, p2 - second.lower)
    difference = p1 - p2
    interval = Interval(difference - below, difference + above, first.confidence, 2, "newcombe-independent")
    return Estimate(difference, interval)


def mcnemar_exact(b: int, c: int) -> float:
    """The two-sided exact p of b against c discordant pairs, in (0, 1]; 1 when there is none.

    Raises:
        ValueError: for a negative count.
        TypeError: for a count that is no whole number.

    Source: McNemar 1947, with the binomial tail at 1/2 doubled.
    """
    from scipy.special import bdtr

    low, high = sorted((require_whole(b, name="b"), require_whole(c, name="c")))
    return min(1.0, 2 * float(bdtr(low, low + high, 0.5)))
