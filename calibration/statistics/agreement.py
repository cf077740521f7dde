"""Agreement of two raters: Cohen's kappa with its interval and with what must be read beside it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from fractions import Fraction
from typing import TypeAlias

from calibration.statistics.checks import require_count
from calibration.statistics.proportions import level_of
from calibration.values import Interval, Undefined


class KappaWeights(StrEnum):
    """How much a near miss counts as agreement, for ordered levels."""

    NONE = "none"
    LINEAR = "linear"
    """1 - |i - j| / (q - 1)."""
    QUADRATIC = "quadratic"
    """1 - (i - j)² / (q - 1)²."""


@dataclass(frozen=True, slots=True)
class Kappa:
    """Cohen's kappa with both margins; `interval` is undefined where one rater said only one thing."""

    kappa: float
    """In [-1, 1]."""
    po: float
    """Raw agreement in [0, 1]; weighted where the weights are."""
    pe: float
    """Chance agreement in [0, 1) from the two margins."""
    se: float
    """Standard error for the interval (Fleiss, Cohen, Everitt 1969)."""
    se0: float
    """Standard error under independence, only for the test of kappa = 0."""
    interval: Interval | Undefined
    kappa_max: float | Undefined
    """The largest kappa that these margins allow; for unweighted kappa only."""
    n: float
    """Cases that both rated."""
    row_margin: tuple[float, ...]
    """Share of each category by the row rater; sums to 1."""
    col_margin: tuple[float, ...]

    @property
    def min_margin(self) -> float:
        """The smallest share of a category by either rater; below 0.1 the normal interval is too short."""
        return min(*self.row_margin, *self.col_margin)


Exact: TypeAlias = int | Fraction
"""Whole counts stay ints, which are much faster; effective ones become fractions."""


@dataclass(frozen=True, slots=True)
class _Sums:
    """The table as exact numbers; `scale` makes the weights whole, so no digit is lost."""

    cells: list[list[Exact]]
    rows: list[Exact]
    cols: list[Exact]
    n: Exact
    weights: list[list[int]]
    scale: int
    observed: Exact
    expected: Exact


def cohens_kappa(
    table: Sequence[Sequence[float]],
    *,
    weights: KappaWeights = KappaWeights.NONE,
    confidence: float = 0.95,
    z: float | None = None,
) -> Kappa | Undefined:
    """Cohen's kappa, chance-corrected agreement in [-1, 1], of two raters who rated the same n cases.

    Computed in exact fractions. Undefined without a case, and at chance agreement 1 (both raters said one and
    the same thing throughout). Where only one of them was constant kappa is 0 by construction, its standard
    error is 0, and the interval is undefined.

    Args:
        table: square; cell [i][j] counts the cases that the row rater put in i and the column rater in j.
        weights: of near misses, for ordered categories.
        confidence: level in (0, 1) of the two-sided interval.
        z: explicit quantile instead of the level.

    Raises:
        ValueError: for a table that is not square with at least two categories, or holds a bad count.

    Source: Cohen 1960; Fleiss, Cohen, Everitt 1969, equations 8 and 9.
    """
    sums = _sum(table, KappaWeights(weights))
    level = level_of(confidence, 2, z)
    if sums.n == 0:
        return Undefined("no case that both rated")
    room = sums.scale * sums.n**2 - sums.expected
    if room == 0:
        return Undefined("chance agreement is 1: both gave every case the same one label")
    kappa = float((sums.n * sums.observed - sums.expected) / room)
    se = math.sqrt(_variance(sums, room))
    row_margin = tuple(float(row / sums.n) for row in sums.rows)
    col_margin = tuple(float(col / sums.n) for col in sums.cols)
    interval: Interval | Undefined = Interval(
        kappa - level.z * se, kappa + level.z * se, level.confidence, 2, "fleiss-cohen-everitt"
    )
    if 1 in row_margin or 1 in col_margin:
        interval = Undefined(
            "degenerate: one rater gave every case the same label, so kappa is 0 whatever the other did"
        )
    return Kappa(
        kappa=kappa,
        po=float(sums.observed / (sums.scale * sums.n)),
        pe=float(sums.expected / (sums.scale * sums.n**2)),
        se=se,
        se0=math.sqrt(_null_variance(sums, room)),
        interval=interval,
        kappa_max=_kappa_max(sums, room, weights),
        n=float(sums.n),
        row_margin=row_margin,
        col_margin=col_margin,
    )


def require_square(table: Sequence[Sequence[float]]) -> None:
    """Accept a square table of counts with at least two categories, else raise ValueError."""
    size = len(table)
    if size < 2 or any(len(row) != size for row in table):
        widths = [len(row) for row in table]
        raise ValueError(
            f"the table has {size} rows of {widths!r} cells; give a square one of 2 or more categories"
        )
    for row in table:
        for cell in row:
            require_count(cell, name="a cell of the agreement table")


def _sum(table: Sequence[Sequence[float]], weights: KappaWeights) -> _Sums:
    require_square(table)
    size = len(table)
    cells = [[_exact(cell) for cell in row] for row in table]
    rows = [sum(row) for row in cells]
    cols = [sum(row[j] for row in cells) for j in range(size)]
    scale = {KappaWeights.NONE: 1, KappaWeights.LINEAR: size - 1, KappaWeights.QUADRATIC: (size - 1) ** 2}[
        weights
    ]
    whole = [[scale - _loss(i - j, weights) for j in range(size)] for i in range(size)]
    pairs = [(i, j) for i in range(size) for j in range(size)]
    observed = sum(whole[i][j] * cells[i][j] for i, j in pairs)
    expected = sum(whole[i][j] * rows[i] * cols[j] for i, j in pairs)
    return _Sums(cells, rows, cols, sum(rows), whole, scale, observed, expected)


def _exact(cell: float) -> Exact:
    return int(cell) if float(cell).is_integer() else Fraction(float(cell))


def _loss(gap: int, weights: KappaWeights) -> int:
    if weights is KappaWeights.NONE:
        return int(gap != 0)
    return abs(gap) if weights is KappaWeights.LINEAR else gap**2


def _mean_weights(sums: _Sums) -> tuple[list[Exact], list[Exact]]:
    """For each row category the weight that it meets on average, times n and scale; the same for columns."""
    size = range(len(sums.rows))
    by_row = [sum(sums.cols[j] * sums.weights[i][j] for j in size) for i in size]
    by_col = [sum(sums.rows[i] * sums.weights[i][j] for i in size) for j in size]
    return by_row, by_col


def _variance(sums: _Sums, room: Exact) -> float:
    """Fleiss, Cohen, Everitt 1969 equation 8, multiplied out so that whole counts stay whole numbers.

    With A = scale n p_o, B = scale n² p_e and room = scale n² - B.
    """
    n, observed, expected, scale = sums.n, sums.observed, sums.expected, sums.scale
    by_row, by_col = _mean_weights(sums)
    short = scale * n - observed
    squares: Exact = 0
    for i, row in enumerate(sums.cells):
        for j, cell in enumerate(row):
            squares += cell * (sums.weights[i][j] * room - (by_row[i] + by_col[j]) * short) ** 2
    centre = scale * n * n * observed - 2 * scale * n * expected + observed * expected
    return float((n * squares - centre**2) * n / room**4)


def _null_variance(sums: _Sums, room: Exact) -> float:
    """Fleiss, Cohen, Everitt 1969 equation 9: the variance when the two raters are independent."""
    by_row, by_col = _mean_weights(sums)
    squares: Exact = 0
    for i, row in enumerate(sums.rows):
        for j, col in enumerate(sums.cols):
            squares += row * col * (sums.n * sums.weights[i][j] - by_row[i] - by_col[j]) ** 2
    return float((squares - sums.expected**2) / (sums.n * room**2))


def _kappa_max(sums: _Sums, room: Exact, weights: KappaWeights) -> float | Undefined:
    if weights is not KappaWeights.NONE:
        return Undefined("the largest kappa is given for unweighted kappa only")
    overlap = sum(min(row, col) for row, col in zip(sums.rows, sums.cols, strict=True))
    return float((sums.n * overlap - sums.expected) / room)
