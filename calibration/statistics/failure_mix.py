"""The weights of a false-acceptance rate: the mix of failures in deployment, known or only to a range."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from calibration.statistics.checks import require_count, require_positive, require_same_length, require_share
from calibration.statistics.proportions import wilson_interval
from calibration.statistics.strata import normalise
from calibration.values import Undefined

Floats = NDArray[np.float64]
MAX_BOX_STRATA = 16


def failure_mix(
    traffic: Sequence[float], failure_prevalence: Sequence[float]
) -> tuple[float, ...] | Undefined:
    """The share of each stratum among the deployment's failures: traffic times prevalence, normalised.

    These are the weights of a false-acceptance rate; traffic shares alone are wrong, because FAR conditions
    on failure. Undefined when no stratum has a failure.

    Raises:
        ValueError: for unequal lengths, a negative traffic, or a prevalence outside [0, 1].
    """
    require_same_length(traffic, failure_prevalence, names="traffic and failure_prevalence")
    for share, prevalence in zip(traffic, failure_prevalence, strict=True):
        require_count(share, name="a traffic share")
        require_share(prevalence, name="a failure prevalence")
    failures = [share * prevalence for share, prevalence in zip(traffic, failure_prevalence, strict=True)]
    return (
        normalise(failures)
        if any(failures)
        else Undefined("no stratum has a failure: there is no failure mix")
    )


@dataclass(frozen=True, slots=True)
class WorstCase:
    """The largest upper limit over a box of prevalences, and the failure mix at which it is reached."""

    upper: float
    shares: tuple[float, ...]


def worst_case_upper(
    counts: Sequence[tuple[float, float]],
    traffic: Sequence[float],
    prevalence_ranges: Sequence[tuple[float, float]],
    *,
    z: float,
) -> WorstCase:
    """The largest MOVER upper limit over all failure mixes that the prevalence ranges allow.

    The upper limit is a convex function of traffic times prevalence divided by a linear one, hence
    quasi-convex, and its maximum over a box sits at a corner: all corners are tried.

    Args:
        counts: (x, n) of each stratum's reference failures.
        traffic: share of each stratum in deployment, >= 0.
        prevalence_ranges: lowest and highest failure prevalence of each stratum.
        z: quantile of the gate.

    Raises:
        ValueError: for unequal lengths, a range outside [0, 1] or out of order, no failure, or more than
            16 strata.
    """
    require_same_length(counts, traffic, names="counts and traffic")
    require_same_length(counts, prevalence_ranges, names="counts and prevalence_ranges")
    require_positive(z, name="z")
    if len(counts) > MAX_BOX_STRATA:
        raise ValueError(
            f"{len(counts)} strata have too many corners; merge them into at most {MAX_BOX_STRATA}"
        )
    points, reaches = _points_and_reaches(counts, z)
    corners = _corners(traffic, prevalence_ranges)
    totals = corners.sum(axis=1)
    usable = corners[totals > 0] / totals[totals > 0, None]
    if not usable.size:
        raise ValueError(f"the ranges {tuple(prevalence_ranges)!r} allow no failure: there is no failure mix")
    uppers = usable @ points + np.sqrt((usable**2) @ (reaches**2))
    worst = int(uppers.argmax())
    return WorstCase(min(float(uppers[worst]), 1.0), tuple(float(share) for share in usable[worst]))


def _points_and_reaches(counts: Sequence[tuple[float, float]], z: float) -> tuple[Floats, Floats]:
    points, reaches = [], []
    for x, n in counts:
        upper = wilson_interval(x, n, z=z).upper
        point = x / n if n else 1.0
        points.append(point)
        reaches.append(upper - point)
    return np.array(points), np.array(reaches)


def _corners(traffic: Sequence[float], ranges: Sequence[tuple[float, float]]) -> Floats:
    """One row a corner of the box: traffic times the lowest or highest prevalence of each stratum."""
    for low, high in ranges:
        if not 0 <= low <= high <= 1:
            raise ValueError(f"the prevalence range {(low, high)!r} must satisfy 0 <= lowest <= highest <= 1")
    for share in traffic:
        require_count(share, name="a traffic share")
    bits = (np.arange(2 ** len(ranges))[:, None] >> np.arange(len(ranges))) & 1
    lows, highs = (np.array([pair[end] for pair in ranges]) for end in (0, 1))
    corners: Floats = np.array(traffic) * np.where(bits, highs, lows)
    return corners
