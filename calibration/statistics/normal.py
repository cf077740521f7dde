"""Quantiles of the normal distribution: the z of a level, of a sidedness and of a number of looks."""

from __future__ import annotations

import math
from functools import lru_cache
from statistics import NormalDist

from calibration.statistics.checks import require_open_share, require_positive, require_whole

_STANDARD = NormalDist()


def require_sided(sided: int) -> None:
    """Accept 1 or 2, else raise ValueError."""
    if sided not in (1, 2):
        raise ValueError(f"sided is {sided!r}; an interval is two-sided (2) or a one-sided limit (1)")


@lru_cache(maxsize=256)
def z_value(confidence: float, *, sided: int = 2) -> float:
    """The normal quantile of a confidence level, exact to float precision (0.95 two-sided: 1.959964).

    Args:
        confidence: level in (0, 1).
        sided: 2 for an interval, 1 for a one-sided limit.

    Raises:
        ValueError: for a level outside (0, 1) or another sidedness.
    """
    require_open_share(confidence, name="confidence")
    require_sided(sided)
    return -_STANDARD.inv_cdf((1 - confidence) / sided)


def confidence_of(z: float, *, sided: int = 2) -> float:
    """The level in (0, 1) that a z stands for: the inverse of `z_value`.

    Raises:
        ValueError: for a z that is not finite and positive.
    """
    require_positive(z, name="z")
    require_sided(sided)
    return math.erf(z / math.sqrt(2)) if sided == 2 else _STANDARD.cdf(z)


def normal_cdf(z: float) -> float:
    """P(Z <= z) of a standard normal Z."""
    return 0.5 * math.erfc(-z / math.sqrt(2))


def normal_quantile(probability: float) -> float:
    """The z with P(Z <= z) = probability, for a probability in (0, 1)."""
    require_open_share(probability, name="probability")
    return _STANDARD.inv_cdf(probability)


def look_adjusted_confidence(alpha: float, looks: int) -> float:
    """The two-sided level of each of `looks` looks that together spend alpha (Bonferroni): 1 - alpha / looks.

    Args:
        alpha: total two-sided error in (0, 1); 0.05 for a 95 % interval.
        looks: how many looks are allowed, the first included; at least 1.

    Raises:
        ValueError: for an alpha outside (0, 1) or fewer than one look.
    """
    require_open_share(alpha, name="alpha")
    if require_whole(looks, name="looks") < 1:
        raise ValueError(f"looks is {looks!r}; evaluating a gate once is one look: give at least 1")
    return 1 - alpha / looks


def look_adjusted_z(alpha: float, looks: int) -> float:
    """The z of each of `looks` looks that together spend a two-sided alpha (0.05 and 3 looks: 2.393980).

    Raises:
        ValueError: for an alpha outside (0, 1) or fewer than one look.
    """
    look_adjusted_confidence(alpha, looks)
    return -_STANDARD.inv_cdf(alpha / looks / 2)
