"""What must be read beside kappa: specific agreement, bias and prevalence, and Gwet's AC1."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from calibration.statistics.agreement import require_square
from calibration.values import Undefined


@dataclass(frozen=True, slots=True)
class BinaryAgreement:
    """Figures of a two-by-two agreement table that show what one coefficient hides."""

    po: float
    pabak: float
    """2 po - 1, kappa as if both labels were equally frequent."""
    bias_index: float
    """Difference of the two raters' shares of the first label, in [-1, 1]."""
    prevalence_index: float
    """Difference of the shares of agreed first and agreed second labels, in [-1, 1]."""
    positive_agreement: float | Undefined
    """2a / (2a + b + c): agreement on the first label."""
    negative_agreement: float | Undefined
    """2d / (2d + b + c): agreement on the second label."""


def binary_agreement(table: Sequence[Sequence[float]]) -> BinaryAgreement | Undefined:
    """Specific agreement, PABAK, bias and prevalence index of a two-by-two table; undefined without a case.

    Raises:
        ValueError: for a table that is not two by two, or a bad count.

    Source: Byrt, Bishop, Carlin 1993; Cicchetti, Feinstein 1990 (specific agreement).
    """
    require_square(table)
    if len(table) != 2:
        raise ValueError(
            f"the table has {len(table)} categories; these figures exist for two: merge the others"
        )
    (a, b), (c, d) = table
    n = a + b + c + d
    if n == 0:
        return Undefined("no case that both rated")
    absent = Undefined("neither rater ever used this label")
    return BinaryAgreement(
        po=(a + d) / n,
        pabak=(a + d - b - c) / n,
        bias_index=(b - c) / n,
        prevalence_index=(a - d) / n,
        positive_agreement=2 * a / (2 * a + b + c) if a + b + c else absent,
        negative_agreement=2 * d / (2 * d + b + c) if d + b + c else absent,
    )


@dataclass(frozen=True, slots=True)
class GwetAgreement:
    """Gwet's AC1, chance-corrected by a chance that shrinks as one label dominates."""

    ac1: float
    """In [-1, 1]."""
    pe: float
    standard_error: float


def gwet_ac1(table: Sequence[Sequence[float]]) -> GwetAgreement | Undefined:
    """Gwet's AC1 of two raters with its standard error; undefined only without a case.

    It stays high while failures are rare, whether or not they are found: never a gate.

    Raises:
        ValueError: for a table that is not square with at least two categories, or a bad count.

    Source: Gwet 2008, equations 6 and 22, without finite-population correction.
    """
    require_square(table)
    size = range(len(table))
    cells = [[Fraction(float(cell)) for cell in row] for row in table]
    n = sum((sum(row, Fraction(0)) for row in cells), Fraction(0))
    if n == 0:
        return Undefined("no case that both rated")
    means = [
        (sum(cells[k], Fraction(0)) + sum((row[k] for row in cells), Fraction(0))) / (2 * n) for k in size
    ]
    others = len(table) - 1
    po = sum((cells[k][k] for k in size), Fraction(0)) / n
    pe = sum((mean * (1 - mean) for mean in means), Fraction(0)) / others
    ac1 = (po - pe) / (1 - pe)
    squares = Fraction(0)
    for i in size:
        for j in size:
            slope = 2 * (1 - ac1) * (1 - (means[i] + means[j]) / 2) / others
            squares += cells[i][j] / n * (int(i == j) - slope) ** 2
    variance = (squares - (po - 2 * (1 - ac1) * pe) ** 2) / (n * (1 - pe) ** 2)
    return GwetAgreement(float(ac1), float(pe), math.sqrt(variance))
