"""Bootstrap of a mean paired difference over tasks: resampled for many tasks, exact for few."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

import numpy as np
from numpy.typing import ArrayLike

from calibration.statistics.bootstrap import bootstrap_interval, distinct_vectors, resample_totals
from calibration.statistics.checks import require_number, require_open_share
from calibration.values import Interval, Undefined

MAX_EXACT_TASKS = 200


@dataclass(frozen=True, slots=True)
class PairedBootstrap:
    """A mean paired difference with its bootstrap interval and p."""

    difference: float
    interval: Interval | Undefined
    p_value: float
    """Two-sided, (1 + resamples at or beyond 0) / (1 + resamples) doubled, so never 0."""
    resamples: int


def paired_bootstrap(
    differences: ArrayLike, *, rng: np.random.Generator, resamples: int = 10_000, confidence: float = 0.95
) -> PairedBootstrap | Undefined:
    """The mean of per-task differences (candidate - baseline) with a percentile interval over tasks.

    Undefined without a task; the interval is undefined when all differences are equal.

    Raises:
        ValueError: for a difference that is not finite, fewer than 2,000 resamples, or a bad level.
    """
    values = np.asarray(differences, dtype=float)
    if not values.size:
        return Undefined("no task")
    distinct = distinct_vectors(values.reshape(-1, 1))
    totals = resample_totals(distinct, rng=rng, resamples=resamples)
    count = float(values.size)
    found = bootstrap_interval(distinct, totals, lambda sums: sums[:, 0] / count, confidence=confidence)
    if isinstance(found, Undefined):
        return found
    slack = 1e-9 * float(np.abs(values).max())
    at_most = int((totals[:, 0] <= slack).sum())
    at_least = int((totals[:, 0] >= -slack).sum())
    p_value = min(1.0, 2 * (1 + min(at_most, at_least)) / (1 + resamples))
    return PairedBootstrap(found.estimate, found.interval, p_value, resamples)


@dataclass(frozen=True, slots=True)
class ExactBootstrap:
    """The whole bootstrap distribution of a mean paired difference, without sampling."""

    difference: float
    share_at_or_below_0: float
    p_value: float
    """Two-sided: twice the smaller of P(at or below 0) and P(at or above 0), at most 1."""
    lower: float
    """Quantile of the distribution: the smallest value that reaches (1 - confidence) / 2."""
    upper: float


def paired_bootstrap_exact(
    differences: Sequence[float], *, confidence: float = 0.95
) -> ExactBootstrap | Undefined:
    """The exact bootstrap distribution of the mean of few paired differences, by convolution.

    Differences are read as the decimals that were written. Undefined without a task.

    Raises:
        ValueError: for a difference that is not finite, more than 200 tasks, or a level outside (0, 1).
    """
    require_open_share(confidence, name="confidence")
    for value in differences:
        require_number(value, name="a difference")
    tasks = len(differences)
    if tasks == 0:
        return Undefined("no task")
    if tasks > MAX_EXACT_TASKS:
        raise ValueError(
            f"{tasks} tasks; the exact distribution is for at most {MAX_EXACT_TASKS}: resample instead"
        )
    exact = [Fraction(repr(float(value))) for value in differences]
    ways = _sums_of_draws(exact)
    everything = tasks**tasks
    at_most = sum(count for total, count in ways.items() if total <= 0)
    at_least = sum(count for total, count in ways.items() if total >= 0)
    tail = (1 - Fraction(repr(float(confidence)))) / 2
    return ExactBootstrap(
        difference=float(sum(exact) / tasks),
        share_at_or_below_0=at_most / everything,
        p_value=min(1.0, 2 * min(at_most, at_least) / everything),
        lower=float(_quantile(ways, tail * everything) / tasks),
        upper=float(_quantile(ways, (1 - tail) * everything) / tasks),
    )


def _sums_of_draws(values: Sequence[Fraction]) -> dict[Fraction, int]:
    """How many of the sequences of draws with replacement have each sum."""
    ways = {Fraction(0): 1}
    for _ in values:
        following: dict[Fraction, int] = {}
        for total, count in ways.items():
            for value in values:
                following[total + value] = following.get(total + value, 0) + count
        ways = following
    return ways


def _quantile(ways: dict[Fraction, int], wanted: Fraction) -> Fraction:
    """The smallest sum at which at least so many sequences lie at or below."""
    seen = 0
    ordered = sorted(ways)
    for total in ordered:
        seen += ways[total]
        if seen >= wanted:
            return total
    return ordered[-1]
