"""Bootstrap of a mean paired difference over tasks: resampled for many tasks, exact for few."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from itertools import accumulate

import numpy as np
from numpy.typing import ArrayLike

from calibration.statistics.bootstrap import bootstrap_interval, distinct_vectors, resample_totals
from calibration.statistics.checks import require_number, require_open_share
from calibration.values import Interval, Undefined

MAX_EXACT_BYTES = 4_000_000


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
        raise AssertionError("a mean of at least one difference always exists")
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

    Differences are read as the fractions with a denominator up to 1,000 that they stand for, else as the
    decimals that were written. Undefined without a task.

    Raises:
        ValueError: for a difference that is not finite, a bad level, or differences so many and so fine that
            the sums have too many values.
    """
    require_open_share(confidence, name="confidence")
    for value in differences:
        require_number(value, name="a difference")
    tasks = len(differences)
    if tasks == 0:
        return Undefined("no task")
    exact = [_simple(value) for value in differences]
    sums = _sums_of_draws(exact)
    at_most = sum(count for value, count in sums if value <= 0)
    at_least = sum(count for value, count in sums if value >= 0)
    everything = tasks**tasks
    tail = (1 - Fraction(repr(float(confidence)))) / 2
    return ExactBootstrap(
        difference=float(sum(exact) / tasks),
        share_at_or_below_0=at_most / everything,
        p_value=min(1.0, 2 * min(at_most, at_least) / everything),
        lower=float(_quantile(sums, tail * everything) / tasks),
        upper=float(_quantile(sums, (1 - tail) * everything) / tasks),
    )


def _simple(value: float) -> Fraction:
    """The fraction that a float stands for: 0.3333333333333333 is 1/3, 0.15 is 3/20."""
    written = Fraction(repr(float(value)))
    simple = written.limit_denominator(1000)
    return simple if abs(simple - written) <= Fraction(1, 10**12) else written


def _sums_of_draws(values: Sequence[Fraction]) -> list[tuple[Fraction, int]]:
    """Each sum of as many draws with replacement, in order, and how many sequences of draws have it.

    The numbers of sequences are the coefficients of a power of the polynomial whose exponents are the values;
    all coefficients are packed into one integer, so that the power is one multiplication chain.
    """
    tasks = len(values)
    unit = math.lcm(*(value.denominator for value in values))
    whole = [int(value * unit) for value in values]
    low = min(whole)
    step = math.gcd(*(value - low for value in whole)) or 1
    places = [(value - low) // step for value in whole]
    width = (tasks**tasks).bit_length() // 8 + 1
    terms = tasks * max(places) + 1
    if terms * width > MAX_EXACT_BYTES:
        raise ValueError(f"the sums of {tasks} such differences have {terms} values: resample instead")
    packed = sum(count << (8 * width * place) for place, count in Counter(places).items())
    digits = (packed**tasks).to_bytes(terms * width, "little")
    counts = [int.from_bytes(digits[width * i : width * (i + 1)], "little") for i in range(terms)]
    return [(Fraction(tasks * low + step * i, unit), count) for i, count in enumerate(counts) if count]


def _quantile(sums: Sequence[tuple[Fraction, int]], wanted: Fraction) -> Fraction:
    """The smallest sum at which at least so many sequences lie at or below."""
    reached = accumulate(count for _, count in sums)
    return next(value for (value, _), seen in zip(sums, reached, strict=True) if seen >= wanted)
