"""Sizes of comparisons: half-widths, independent arms, and pairs."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from calibration.statistics.checks import require_open_share, require_positive, require_share
from calibration.statistics.normal import normal_quantile
from calibration.statistics.paired import PairedTable, newcombe_paired
from calibration.values import Undefined


def n_for_half_width(p: float, half_width: float, *, z: float) -> int:
    """Cases with which the normal interval of a rate near p has this half-width: ceil(z² p (1 - p) / h²).

    Raises:
        ValueError: for a p outside [0, 1], a half-width outside (0, 1), or a bad z.
    """
    require_share(p, name="p")
    require_open_share(half_width, name="half_width")
    require_positive(z, name="z")
    share, half, quantile = (Fraction(repr(float(value))) for value in (p, half_width, z))
    return max(1, math.ceil(quantile**2 * share * (1 - share) / half**2))


def n_two_arm(p: float, difference: float, *, power: float, z: float) -> float:
    """Cases in each of two independent arms to detect a difference, both arms near p; not rounded.

    2 (z + z_power)² p (1 - p) / difference².

    Raises:
        ValueError: for a p outside [0, 1], a difference or power outside (0, 1), or a bad z.
    """
    require_share(p, name="p")
    require_open_share(difference, name="difference")
    require_positive(z, name="z")
    return 2 * (z + normal_quantile(power)) ** 2 * p * (1 - p) / difference**2


def n_pairs_noninferiority(
    *, gain: float, discordant: float, tolerance: float, power: float, z: float
) -> int:
    """Pairs with which a candidate is shown to be no worse than baseline - tolerance.

    ceil((z + z_power)² (discordant - gain²) / (gain + tolerance)²).

    Args:
        gain: true difference candidate - baseline.
        discordant: share of pairs that differ, in [0, 1] and at least gain².
        tolerance: largest loss that would be accepted.
        power: wanted probability to show it, in (0, 1).
        z: quantile of the interval.

    Raises:
        ValueError: for a share outside its range, gain + tolerance that is not positive, or a bad z.
    """
    require_share(discordant, name="discordant")
    require_share(tolerance, name="tolerance")
    require_positive(z, name="z")
    require_positive(gain + tolerance, name="gain + tolerance")
    if discordant < abs(gain):
        raise ValueError(
            f"discordant is {discordant!r}; pairs that differ make the gain {gain!r}: give at least that"
        )
    needed = (z + normal_quantile(power)) ** 2 * (discordant - gain * gain) / (gain + tolerance) ** 2
    return max(1, math.ceil(needed * (1 - 1e-12)))


@dataclass(frozen=True, slots=True)
class ScaledPairs:
    """Pairs needed, scaled from the interval that a first run gave."""

    n_pairs: float
    n_pairs_ceil: int
    lower_half_width: float
    """Distance from the difference to its lower end in the first run."""


def n_pairs_scaled(
    table: PairedTable, *, true_gain: float, tolerance: float, z: float
) -> ScaledPairs | Undefined:
    """Pairs with which the lower end would just reach -tolerance, were the true gain this; no power added.

    Undefined without a pair in the first run.

    Raises:
        ValueError: when true_gain + tolerance is not positive, or for a bad z.
    """
    require_positive(true_gain + tolerance, name="true_gain + tolerance")
    first = newcombe_paired(table, z=z)
    if isinstance(first, Undefined) or isinstance(first.interval, Undefined):
        return Undefined("no pair in the first run")
    half = first.value - first.interval.lower
    pairs = table.n * (half / (true_gain + tolerance)) ** 2
    return ScaledPairs(pairs, math.ceil(pairs), half)
