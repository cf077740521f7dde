"""Several looks at growing evidence: spending, e-values, confidence sequences, and drift alarms."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from calibration.statistics.checks import (
    require_open_share,
    require_part,
    require_positive,
    require_share,
    require_whole,
)
from calibration.statistics.normal import normal_cdf, normal_quantile
from calibration.statistics.proportions import max_accepted
from calibration.values import Interval, Undefined
from rubrics.verdict import Verdict


@dataclass(frozen=True, slots=True)
class SpentAlpha:
    """The two-sided error that may be spent up to an information fraction."""

    obrien_fleming: float
    pocock: float


def spent_alpha(alpha: float, fraction: float) -> SpentAlpha:
    """The error spent once this fraction of the planned failures is in, by the two usual spending functions.

    Args:
        alpha: total two-sided error in (0, 1).
        fraction: information fraction in (0, 1].

    Raises:
        ValueError: for an alpha outside (0, 1) or a fraction outside (0, 1].

    Source: Lan, DeMets 1983.
    """
    require_open_share(alpha, name="alpha")
    require_positive(fraction, name="fraction")
    require_share(fraction, name="fraction")
    z = -normal_quantile(alpha / 2)
    early = 2 * normal_cdf(-z / math.sqrt(fraction))
    return SpentAlpha(early, alpha * math.log1p((math.e - 1) * fraction))


class Direction(StrEnum):
    """Which side of the limit the e-value gathers evidence for."""

    BELOW = "below"
    """Evidence against "the rate is at least the limit": admission."""
    ABOVE = "above"
    """Evidence against "the rate is at most the limit": an alarm."""


def log_e_value(
    x: int, n: int, *, limit: float, direction: Direction, a: float = 1.0, b: float = 1.0
) -> float:
    """The logarithm of the e-value of x events in n, against a rate on the wrong side of the limit.

    A Beta(a, b) mixture of Bernoulli likelihoods, truncated to the side that is claimed, over the likelihood
    at the limit. It may be watched after every case: the chance that it ever exceeds 40 is at most 1/40 when
    the claim is false. Count reference failures only. At n = 0 it is 0.

    Args:
        x: accepted reference failures.
        n: reference failures.
        limit: in (0, 1).
        direction: the side claimed.
        a: first parameter of the mixture, > 0.
        b: second parameter of the mixture, > 0.

    Raises:
        ValueError: for a bad count, x > n, a limit outside (0, 1), or a parameter that is not positive.

    Source: Ville 1939; Robbins 1970 (mixtures).
    """
    require_part(require_whole(x, name="x"), require_whole(n, name="n"))
    require_open_share(limit, name="limit")
    require_positive(a, name="a")
    require_positive(b, name="b")
    if Direction(direction) is Direction.BELOW:
        mixture = _log_incomplete_beta(limit, a + x, b + n - x) - _log_incomplete_beta(limit, a, b)
    else:
        mixture = _log_incomplete_beta(1 - limit, b + n - x, a + x) - _log_incomplete_beta(1 - limit, b, a)
    return mixture - x * math.log(limit) - (n - x) * math.log1p(-limit)


def _log_beta(a: float, b: float) -> float:
    return math.lgamma(a) + math.lgamma(b) - math.lgamma(a + b)


def _log_incomplete_beta(limit: float, a: float, b: float) -> float:
    """Log of the integral of p^(a-1) (1-p)^(b-1) from 0 to limit, without underflow in the far tail."""
    if limit < (a + 1) / (a + b + 2):
        return (
            a * math.log(limit) + b * math.log1p(-limit) - math.log(a) - math.log(_beta_fraction(limit, a, b))
        )
    whole = _log_beta(a, b)
    rest = (
        b * math.log1p(-limit) + a * math.log(limit) - math.log(b) - math.log(_beta_fraction(1 - limit, b, a))
    )
    return whole + math.log1p(-math.exp(rest - whole))


def _beta_fraction(x: float, a: float, b: float) -> float:
    """The continued fraction below the incomplete beta function (DLMF 8.17.22), evaluated from the tail.

    It converges fast for x < (a + 1) / (a + b + 2), in O(sqrt(max(a, b))) terms.
    """
    terms = 60 + 4 * math.isqrt(int(max(a, b)) + 1)
    value = 1.0
    for m in range(terms, 0, -1):
        half, odd = divmod(m, 2)
        if odd:
            term = -(a + half) * (a + b + half) * x / ((a + 2 * half) * (a + 2 * half + 1))
        else:
            term = half * (b - half) * x / ((a + 2 * half - 1) * (a + 2 * half))
        value = 1.0 + term / value
    return value


def confidence_sequence(x: int, n: int, *, alpha: float = 0.05, a: float = 1.0, b: float = 1.0) -> Interval:
    """The two-sided interval of a rate that holds at every n at once, with probability 1 - alpha.

    Wider than Wilson: the price of looking whenever one likes. At n = 0 it is [0, 1].

    Raises:
        ValueError: for a bad count, x > n, an alpha outside (0, 1), or a parameter that is not positive.

    Source: Robbins 1970, Beta(a, b) mixture of Bernoulli likelihoods.
    """
    require_part(require_whole(x, name="x"), require_whole(n, name="n"))
    require_open_share(alpha, name="alpha")
    require_positive(a, name="a")
    require_positive(b, name="b")
    log_mixture = _log_beta(a + x, b + n - x) - _log_beta(a, b)
    threshold = log_mixture + math.log(alpha)

    def outside(p: float) -> bool:
        log_likelihood = (x * math.log(p) if x else 0.0) + ((n - x) * math.log1p(-p) if n > x else 0.0)
        return log_likelihood < threshold

    lower = 0.0 if x == 0 else _boundary(0.0, x / n, outside)
    upper = 1.0 if x == n else _boundary(1.0, x / n, outside)
    return Interval(lower, upper, 1 - alpha, 2, "beta-mixture-sequence")


def _boundary(far_end: float, inside: float, outside: Callable[[float], bool]) -> float:
    """The point between an end outside and a point inside at which `outside` changes, by bisection."""
    while (middle := (far_end + inside) / 2) not in (far_end, inside):
        far_end, inside = (middle, inside) if outside(middle) else (far_end, middle)
    return middle


@dataclass(frozen=True, slots=True)
class FailureCount:
    """Reference failures so far, and how many of them the judge accepted."""

    x: int
    n: int


def failure_counts(rows: Iterable[tuple[Verdict, bool]]) -> Iterator[FailureCount]:
    """After each row the reference failures so far; passes and unresolved references never move the count.

    Args:
        rows: reference verdict, and whether the judge accepted.
    """
    x = n = 0
    for reference, accepted in rows:
        if reference is Verdict.FAIL:
            n += 1
            x += bool(accepted)
        yield FailureCount(x, n)


def admission_probability(sizes: Sequence[int], *, limit: float, z: float, true_far: float) -> float:
    """P(the gate passes at one of the looks), for a judge with this FAR and independent failures, exact.

    Args:
        sizes: reference failures at each look, increasing.
        limit: on the false-acceptance rate, in [0, 1].
        z: quantile that every look uses.
        true_far: in [0, 1].

    Raises:
        ValueError: for sizes that do not increase, a limit or FAR outside [0, 1], or a bad z.
    """
    require_share(true_far, name="true_far")
    if any(later <= earlier for earlier, later in zip([0, *sizes], sizes, strict=False)):
        raise ValueError(
            f"sizes is {tuple(sizes)!r}; give the failures at each look, increasing from at least 1"
        )
    waiting, admitted, seen = np.ones(1), 0.0, 0
    for size in sizes:
        waiting = np.convolve(waiting, binomial_pmf(size - seen, true_far))
        seen = size
        most = max_accepted(size, limit=limit, z=z)
        if not isinstance(most, Undefined):
            admitted += float(waiting[: most + 1].sum())
            waiting[: most + 1] = 0.0
    return min(1.0, admitted)


def binomial_pmf(n: int, p: float) -> NDArray[np.float64]:
    """P(X = 0..n) of a binomial count."""
    if p in (0, 1):
        pmf = np.zeros(n + 1)
        pmf[n if p else 0] = 1.0
        return pmf
    k = np.arange(1, n + 1)
    log_choose = np.concatenate([[0.0], np.cumsum(np.log((n - k + 1) / k))])
    counts = np.arange(n + 1)
    return np.asarray(np.exp(log_choose + counts * math.log(p) + (n - counts) * math.log1p(-p)))


@dataclass(frozen=True, slots=True)
class Cusum:
    """The path of a CUSUM over an audit stream, and its first alarm."""

    path: tuple[float, ...]
    """After each audited failure, >= 0."""
    alarm_at: int | None
    """Audited failures at the first crossing; None while there is none."""


def cusum(accepted: Iterable[bool], *, good: float, bad: float, threshold: float) -> Cusum:
    """The log-likelihood CUSUM that watches a FAR drift from `good` to `bad`: an early warning.

    Args:
        accepted: for each audited reference failure, in order, whether the judge accepted it.
        good: FAR when all is well, in (0, 1).
        bad: FAR that must be noticed, in (good, 1).
        threshold: alarm level of the sum, > 0.

    Raises:
        ValueError: for rates outside (0, 1), good >= bad, or a threshold that is not positive.

    Source: Page 1954.
    """
    require_open_share(good, name="good")
    require_open_share(bad, name="bad")
    require_positive(threshold, name="threshold")
    if good >= bad:
        raise ValueError(
            f"good is {good!r} and bad is {bad!r}; the drift to notice must be upward: give good < bad"
        )
    up, down = math.log(bad / good), math.log((1 - bad) / (1 - good))
    path: list[float] = []
    alarm_at: int | None = None
    level = 0.0
    for was_accepted in accepted:
        level = max(0.0, level + (up if was_accepted else down))
        path.append(level)
        if alarm_at is None and level >= threshold:
            alarm_at = len(path)
    return Cusum(tuple(path), alarm_at)
