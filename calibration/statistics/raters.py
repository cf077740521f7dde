"""Several raters: Fleiss' kappa, Krippendorff's alpha, each rater's errors, and Dawid-Skene."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from calibration.statistics.checks import require_same_length, require_whole
from calibration.statistics.proportions import rate
from calibration.values import Rate, Undefined

Floats = NDArray[np.float64]
MAX_COUNTED_SPAN = 256
FEW_CATEGORIES = 12


@dataclass(frozen=True, slots=True)
class FleissKappa:
    """Chance-corrected agreement of several raters with equal numbers of labels per case."""

    kappa: float
    po: float
    """Mean share of agreeing pairs of labels of a case."""
    pe: float


def fleiss_kappa(counts: Sequence[Sequence[int]]) -> FleissKappa | Undefined:
    """Fleiss' kappa in [-1, 1], from the number of labels of each category that each case got.

    Undefined without a case, with one label a case, and when only one category was ever used.

    Raises:
        ValueError: for a negative count, or cases with unequal numbers of labels or categories.

    Source: Fleiss 1971.
    """
    rows = [[require_whole(count, name="a label count") for count in row] for row in counts]
    if not rows:
        return Undefined("no case")
    raters = sum(rows[0])
    if any(sum(row) != raters or len(row) != len(rows[0]) for row in rows):
        raise ValueError(
            "the cases have unequal numbers of labels; use Krippendorff's alpha, which allows it"
        )
    if raters < 2:
        return Undefined("one rater: agreement needs two labels of a case")
    agreeing = sum(count * count for row in rows for count in row) - len(rows) * raters
    po = Fraction(agreeing, len(rows) * raters * (raters - 1))
    columns = [sum(row[j] for row in rows) for j in range(len(rows[0]))]
    pe = sum((Fraction(column, len(rows) * raters) ** 2 for column in columns), Fraction(0))
    if pe == 1:
        return Undefined("chance agreement is 1: every label is the same")
    return FleissKappa(float((po - pe) / (1 - pe)), float(po), float(pe))


class Level(StrEnum):
    """What the distance between two labels means."""

    NOMINAL = "nominal"
    ORDINAL = "ordinal"
    INTERVAL = "interval"


def krippendorff_alpha(
    labels: Sequence[Sequence[float | None]] | Floats, *, level: Level = Level.NOMINAL
) -> float | Undefined:
    """Krippendorff's alpha, 1 - observed / expected disagreement, at most 1; labels may be missing.

    Units with fewer than two labels drop out. Undefined when no unit has two, and when the pairable labels
    are all the same (0/0).

    Args:
        labels: one row a rater, one column a unit; None (or NaN in an array) for a missing label.
        level: distance between labels: unequal, by rank, or by squared difference.

    Raises:
        ValueError: for rows of unequal lengths or an infinite label.

    Source: Krippendorff 2011 (Computing Krippendorff's alpha-reliability), section D.
    """
    values = np.asarray(labels, dtype=float)
    if values.ndim != 2:
        raise ValueError(f"labels has {values.ndim} dimensions; give one row a rater and one column a unit")
    given = values[values == values]
    if not given.size:
        return Undefined("no unit has two labels")
    categories = _categories(given)
    counts = _label_counts(values, categories)
    per_unit = counts.sum(axis=0)
    counts = counts * (per_unit > 1)
    totals = counts.sum(axis=1)
    used = totals > 0
    if not used.any():
        return Undefined("no unit has two labels")
    if np.count_nonzero(used) < 2:
        return Undefined("all pairable labels are the same: alpha is 0/0")
    if not used.all():
        counts, totals, categories = counts[used], totals[used], categories[used]
    weighted = counts / np.maximum(per_unit - 1, 1)
    coincidences = weighted @ counts.T - np.diag(weighted.sum(axis=1))
    distance = _distances(categories, totals, Level(level))
    size = float(totals.sum())
    observed = float((coincidences * distance).sum()) / size
    expected = float(totals @ distance @ totals) / (size * (size - 1))
    return 1 - observed / expected


def _categories(given: Floats) -> Floats:
    """The different labels in order; small whole numbers are found by counting instead of sorting."""
    low, high = float(given.min()), float(given.max())
    if not (math.isfinite(low) and math.isfinite(high)):
        raise ValueError("a label is infinite; give a finite number, or None for a missing label")
    if high - low < MAX_COUNTED_SPAN and low == math.floor(low):
        shifted = (given - low).astype(np.uint8)
        if np.array_equal(shifted, given - low):
            return np.asarray(np.flatnonzero(np.bincount(shifted)) + low, dtype=float)
    return np.unique(given)


def _label_counts(values: Floats, categories: Floats) -> Floats:
    """How often each unit (column) got each category (row)."""
    if categories.size <= FEW_CATEGORIES:
        return np.array([(values == category).sum(axis=0) for category in categories], dtype=float)
    given = ~np.isnan(values)
    units = np.broadcast_to(np.arange(values.shape[1]), values.shape)[given]
    codes = np.searchsorted(categories, values[given])
    flat = np.bincount(codes * values.shape[1] + units, minlength=categories.size * values.shape[1])
    return flat.reshape(categories.size, -1).astype(float)


def _distances(categories: Floats, totals: Floats, level: Level) -> Floats:
    if level is Level.NOMINAL:
        return 1.0 - np.eye(categories.size)
    scale = categories if level is Level.INTERVAL else np.cumsum(totals) - totals / 2
    gaps: Floats = (scale[:, None] - scale[None, :]) ** 2
    return gaps


@dataclass(frozen=True, slots=True)
class RaterErrorRates:
    """One rater against the adjudicated labels: a rater's own false acceptances and false rejections."""

    passed_among_fail: Rate
    failed_among_pass: Rate
    undecided: int
    """Cases on which the rater did not decide; in both denominators, as no error."""


def rater_error_rates(
    rater: Sequence[bool | None], adjudicated: Sequence[bool | None], *, confidence: float = 0.95
) -> RaterErrorRates:
    """How often a rater passes what adjudication fails, and fails what it passes.

    Args:
        rater: True for pass, False for fail, None for cannot decide; one entry a case.
        adjudicated: True for pass, False for fail, None for unresolved: such cases are left out.
        confidence: level of the intervals.

    Raises:
        ValueError: for sequences of unequal lengths.
    """
    require_same_length(rater, adjudicated, names="rater and adjudicated")
    pairs = [(said, truth) for said, truth in zip(rater, adjudicated, strict=True) if truth is not None]
    on_fail = [said for said, truth in pairs if not truth]
    on_pass = [said for said, truth in pairs if truth]
    return RaterErrorRates(
        passed_among_fail=rate(on_fail.count(True), len(on_fail), confidence=confidence),
        failed_among_pass=rate(on_pass.count(False), len(on_pass), confidence=confidence),
        undecided=sum(said is None for said, _ in pairs),
    )


@dataclass(frozen=True, slots=True)
class DawidSkene:
    """Rater errors estimated without a reference; a diagnostic, never a source of labels for a gate."""

    posterior: tuple[float, ...]
    """For each case P(label 1)."""
    prevalence: float
    """Share of label 1."""
    error_when_0: tuple[float | Undefined, ...]
    """For each rater P(says 1 | truth 0); undefined where the rater met no such case."""
    error_when_1: tuple[float | Undefined, ...]
    """For each rater P(says 0 | truth 1)."""
    iterations: int
    """Steps until nothing changed any more, or the limit."""


def dawid_skene(
    labels: Sequence[Sequence[int | None]], *, max_iterations: int = 500, tolerance: float = 1e-12
) -> DawidSkene | Undefined:
    """Rater errors and case posteriors by expectation maximisation from the vote shares, without smoothing.

    Assumes that raters err independently given the truth. Undefined with fewer than three raters (two cannot
    be told apart) and when a case has no label.

    Args:
        labels: one row a rater, one column a case; 0, 1, or None for not rated.
        max_iterations: limit on the steps, at least 1.
        tolerance: stop when no posterior moves by more.

    Raises:
        ValueError: for rows of unequal lengths, or a label that is not 0, 1 or None.

    Source: Dawid, Skene 1979.
    """
    ones, given = _coded(labels)
    if require_whole(max_iterations, name="max_iterations") < 1:
        raise ValueError(f"max_iterations is {max_iterations!r}; give at least 1")
    if len(labels) < 3:
        return Undefined("fewer than three raters: their errors cannot be told apart")
    rated = given.sum(axis=0)
    if not rated.size or rated.min() == 0:
        return Undefined("a case has no label, or there is no case")
    posterior = ones.sum(axis=0) / rated
    steps, moved = 0, math.inf
    while steps < max_iterations and moved > tolerance:
        updated = _posterior(ones, given, float(posterior.mean()), *_rater_errors(ones, given, posterior))
        moved = float(np.abs(updated - posterior).max())
        posterior, steps = updated, steps + 1
    wrong0, wrong1 = _rater_errors(ones, given, posterior)
    return DawidSkene(
        posterior=tuple(posterior.tolist()),
        prevalence=float(posterior.mean()),
        error_when_0=_or_undefined(wrong0, given @ (1 - posterior)),
        error_when_1=_or_undefined(wrong1, given @ posterior),
        iterations=steps,
    )


def _rater_errors(ones: Floats, given: Floats, posterior: Floats) -> tuple[Floats, Floats]:
    """Of each rater P(says 1 | truth 0) and P(says 0 | truth 1), weighted by the posteriors."""
    return (
        _ratio(ones @ (1 - posterior), given @ (1 - posterior)),
        _ratio((given - ones) @ posterior, given @ posterior),
    )


def _or_undefined(errors: Floats, weights: Floats) -> tuple[float | Undefined, ...]:
    reason = Undefined("the rater met no case of this truth")
    return tuple(
        error if weight > 0 else reason
        for error, weight in zip(errors.tolist(), weights.tolist(), strict=True)
    )


def _coded(labels: Sequence[Sequence[int | None]]) -> tuple[Floats, Floats]:
    """Where each rater said 1, and where a rater said anything; one row a rater."""
    for row in labels:
        require_same_length(row, labels[0], names="two raters' rows")
        for label in row:
            if label not in (0, 1, None):
                raise ValueError(f"label is {label!r}; Dawid-Skene here reads 0, 1 or None (not rated)")
    ones = np.array([[float(label == 1) for label in row] for row in labels])
    given = np.array([[float(label is not None) for label in row] for row in labels])
    return ones, given


def _ratio(numerator: Floats, denominator: Floats) -> Floats:
    """Numerator over denominator, 0 where a rater met no case of this truth (the term is then never used)."""
    return np.divide(numerator, denominator, out=np.zeros_like(numerator), where=denominator > 0)


def _posterior(
    ones: Floats,
    given: Floats,
    prevalence: float,
    wrong0: Floats,
    wrong1: Floats,
) -> Floats:
    """P(label 1) of each case, from log likelihoods so that many raters do not underflow."""
    zeros = given - ones
    if prevalence in (0, 1):
        return np.full(ones.shape[1], float(prevalence))
    score1 = math.log(prevalence) + _log_likelihood(ones, zeros, 1 - wrong1)
    score0 = math.log1p(-prevalence) + _log_likelihood(ones, zeros, wrong0)
    return np.asarray(1 / (1 + np.exp(np.clip(score0 - score1, -700, 700))))


def _log_likelihood(ones: Floats, zeros: Floats, says_one: Floats) -> Floats:
    """Of each case log P(its labels) when rater r says 1 with says_one[r]; -1e300 stands for impossible."""
    log_one = np.log(says_one, out=np.full_like(says_one, -1e300), where=says_one > 0)
    log_zero = np.log1p(-says_one, out=np.full_like(says_one, -1e300), where=says_one < 1)
    return np.asarray(log_one @ ones + log_zero @ zeros)
