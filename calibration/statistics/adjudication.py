"""FAR from a probability sample of adjudicated cases in all four judge x rater cells (STATISTICS §0.10)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

from calibration.statistics.checks import require_part, require_whole
from calibration.statistics.proportions import level_of, wilson_interval
from calibration.values import Interval, Undefined


@dataclass(frozen=True, slots=True)
class AdjudicationCell:
    """The cases of one judge x rater cell, how many were drawn for adjudication, and what came out."""

    judge_accepted: bool
    rater_failed: bool
    cases: int
    adjudicated: int
    failures: int
    """Adjudicated as fail."""

    def __post_init__(self) -> None:
        for name in ("cases", "adjudicated", "failures"):
            require_whole(getattr(self, name), name=name)
        require_part(self.adjudicated, self.cases)
        require_part(self.failures, self.adjudicated)


@dataclass(frozen=True, slots=True)
class AdjudicatedFar:
    """FAR against the adjudicated truth, re-weighted to all cases of the set."""

    estimate: float
    accepted_failures: float
    """Estimated true failures that the judge accepted."""
    failures: float
    """Estimated true failures."""
    interval: Interval
    """For the population that the set was sampled from: both the set and the adjudication vary."""
    set_interval: Interval
    """For this fixed set: only the adjudication sample varies; no width when everything was adjudicated."""


def adjudicated_far(
    cells: Sequence[AdjudicationCell], *, confidence: float = 0.95, z: float | None = None
) -> AdjudicatedFar | Undefined:
    """FAR against the truth, when cases of every judge x rater cell were adjudicated with known probability.

    Each cell's failures are scaled up from its adjudicated cases. Adjudicating only the failures that the
    judge accepted makes the reference depend on the judge and biases FAR down; the accepted passes of the
    raters must be sampled too. Undefined when a cell that has cases has none adjudicated, and when no failure
    was found.

    The set's interval combines per-cell Wilson limits of the cases not adjudicated by MOVER for a ratio; the
    population's adds the binomial spread of the failures (distances squared and summed).

    Args:
        cells: the four cells; several of one kind may be given (strata).
        confidence: level in (0, 1).
        z: explicit quantile instead of the level.

    Source: Cochran 1977, chapter 12 (double sampling); Donner, Zou 2012 (ratio).
    """
    level = level_of(confidence, 2, z)
    filled = [cell for cell in cells if cell.cases]
    if any(cell.adjudicated == 0 for cell in filled):
        return Undefined("a judge x rater cell that has cases has none adjudicated")
    accepted = _side([cell for cell in filled if cell.judge_accepted], level.z)
    others = _side([cell for cell in filled if not cell.judge_accepted], level.z)
    total = accepted.point + others.point
    if total <= 0:
        return Undefined("no failure was found by adjudication")
    far = accepted.point / total
    set_low, set_high = _ratio_limits(accepted, others)
    spread = wilson_interval(accepted.point, total, z=level.z)
    interval = Interval(
        max(0.0, far - math.hypot(far - set_low, far - spread.lower)),
        min(1.0, far + math.hypot(set_high - far, spread.upper - far)),
        level.confidence,
        2,
        "adjudication-mover",
    )
    fixed = Interval(set_low, set_high, level.confidence, 2, "adjudication-mover-fixed-set")
    return AdjudicatedFar(far, accepted.point, total, interval, fixed)


@dataclass(frozen=True, slots=True)
class _Side:
    """Estimated failures on one side of the judge, with limits."""

    point: float
    low: float
    high: float


def _side(cells: Sequence[AdjudicationCell], z: float) -> _Side:
    point = below = above = 0.0
    for cell in cells:
        unseen = cell.cases - cell.adjudicated
        share = cell.failures / cell.adjudicated
        limits = wilson_interval(cell.failures, cell.adjudicated, z=z)
        point += cell.failures + unseen * share
        below += (unseen * (share - limits.lower)) ** 2
        above += (unseen * (limits.upper - share)) ** 2
    return _Side(point, point - math.sqrt(below), point + math.sqrt(above))


def _ratio_limits(accepted: _Side, others: _Side) -> tuple[float, float]:
    """Limits of a / (a + b) from limits of a and b: how far the ratio moves with each, squares summed."""
    total = accepted.point + others.point
    far = accepted.point / total

    def far_at(a: float, b: float) -> float:
        return a / (a + b) if a + b > 0 else far

    below = math.hypot(far - far_at(accepted.low, others.point), far - far_at(accepted.point, others.high))
    above = math.hypot(far_at(accepted.high, others.point) - far, far_at(accepted.point, others.low) - far)
    return max(0.0, far - below), min(1.0, far + above)
