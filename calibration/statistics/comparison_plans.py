"""Plans of comparisons and rates read in reverse: what the cases that are at hand can show."""

from __future__ import annotations

from dataclasses import dataclass

from calibration.statistics.checks import require_whole
from calibration.statistics.proportions import wald_interval, wilson_interval
from calibration.statistics.sample_size import n_pairs_noninferiority
from calibration.values import Undefined

_PRECISION = 1e-6


def smallest_gain(
    pairs: int, *, discordant: float, tolerance: float, power: float, z: float
) -> float | Undefined:
    """The smallest true gain with which so many pairs show noninferiority with this power, in [-1, 1].

    The inverse of `n_pairs_noninferiority`, by bisection. Undefined where not even a candidate that wins
    every pair that differs is shown.

    Args:
        pairs: cases judged under both, at least 1.
        discordant: share of pairs that differ, in (0, 1].
        tolerance: largest loss that would be accepted, in [0, 1].
        power: wanted probability to show it, in (0, 1).
        z: quantile of the interval.

    Raises:
        ValueError: for fewer than one pair, or a share, power or z outside its range.
    """
    if require_whole(pairs, name="pairs") < 1:
        raise ValueError(f"pairs is {pairs!r}; give at least one")

    def enough(gain: float) -> bool:
        needed = n_pairs_noninferiority(
            gain=gain, discordant=discordant, tolerance=tolerance, power=power, z=z
        )
        return needed <= pairs

    low, high = max(-tolerance, -discordant), discordant
    if not enough(high):
        return Undefined(f"{pairs} pairs are too few, even if the candidate wins every pair that differs")
    while high - low > _PRECISION:
        middle = (low + high) / 2
        low, high = (low, middle) if enough(middle) else (middle, high)
    return high


@dataclass(frozen=True, slots=True)
class HalfWidths:
    """How far an interval reaches from a rate, by two methods."""

    normal: float
    """Of the normal interval, which plans are made with."""
    wilson: float
    """Half the length of the Wilson interval, which reports give."""


def half_widths(p: float, n: int, *, z: float) -> HalfWidths | Undefined:
    """The half-widths of a rate near p from n cases; undefined without a case.

    Raises:
        ValueError: for a negative n, a p outside [0, 1], or a bad z.
    """
    x = p * require_whole(n, name="n")
    normal = wald_interval(x, n, z=z)  # type: ignore[arg-type]  # a planned count need not be whole
    if isinstance(normal, Undefined):
        return normal
    wilson = wilson_interval(x, n, z=z)
    return HalfWidths(normal.half_width, (wilson.upper - wilson.lower) / 2)
