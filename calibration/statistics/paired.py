"""Two rates compared: on the same cases, or on two independent sets."""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction

from calibration.statistics.checks import (
    require_number,
    require_part,
    require_positive,
    require_share,
    require_whole,
)
from calibration.statistics.proportions import level_of, wilson_interval
from calibration.values import Estimate, Interval, Undefined


@dataclass(frozen=True, slots=True)
class PairedTable:
    """The same n cases under a baseline and a candidate."""

    both: int
    only_baseline: int
    """The discordant cell b."""
    only_candidate: int
    """The discordant cell c."""
    neither: int

    def __post_init__(self) -> None:
        for name in ("both", "only_baseline", "only_candidate", "neither"):
            require_whole(getattr(self, name), name=name)

    @property
    def n(self) -> int:
        """All pairs."""
        return self.both + self.only_baseline + self.only_candidate + self.neither

    @property
    def difference(self) -> float | Undefined:
        """Candidate minus baseline rate; undefined without a pair."""
        return (self.only_candidate - self.only_baseline) / self.n if self.n else Undefined("no pair")


def newcombe_independent(
    x1: int, n1: int, x2: int, n2: int, *, confidence: float = 0.95, z: float | None = None
) -> Estimate | Undefined:
    """The difference x1/n1 - x2/n2 of two independent rates, in [-1, 1], with its interval.

    Undefined when one of the groups has no case.

    Raises:
        ValueError: for a bad count or x > n in a group.

    Source: Newcombe 1998 (interval estimation for the difference between independent proportions), method 10.
    """
    first = wilson_interval(x1, n1, confidence=confidence, z=z)
    second = wilson_interval(x2, n2, confidence=confidence, z=z)
    if n1 == 0 or n2 == 0:
        return Undefined("one of the two groups has no case")
    p1, p2 = x1 / n1, x2 / n2
    below = math.hypot(p1 - first.lower, second.upper - p2)
    above = math.hypot(first.upper - p1, p2 - second.lower)
    difference = p1 - p2
    interval = Interval(difference - below, difference + above, first.confidence, 2, "newcombe-independent")
    return Estimate(difference, interval)


def newcombe_paired(
    table: PairedTable, *, confidence: float = 0.95, z: float | None = None
) -> Estimate | Undefined:
    """The difference candidate - baseline of two rates on the same cases, in [-1, 1], with its interval.

    Undefined without a pair. The correlation of the two is phi with the numerator ad - bc lowered by n/2, not
    below 0, when it is positive; it is 0 where a margin is empty.

    Source: Newcombe 1998 (improved confidence intervals for the difference between binomial proportions based
    on paired data), method 10.
    """
    if table.n == 0:
        return Undefined("no pair")
    cells = (table.both, table.only_baseline, table.only_candidate, table.neither)
    return newcombe_cells(*cells, confidence=confidence, z=z)


def newcombe_cells(
    both: float,
    only_baseline: float,
    only_candidate: float,
    neither: float,
    *,
    confidence: float = 0.95,
    z: float | None = None,
    method: str = "newcombe-paired",
) -> Estimate:
    """As newcombe_paired, from cells that need not be whole, as those of an effective size; n > 0."""
    n = both + only_baseline + only_candidate + neither
    candidate, baseline = both + only_candidate, both + only_baseline
    of_candidate = wilson_interval(candidate, n, confidence=confidence, z=z)
    of_baseline = wilson_interval(baseline, n, confidence=confidence, z=z)
    pc, pb = candidate / n, baseline / n
    phi = _newcombe_phi(both, only_baseline, only_candidate, neither)
    below = _root(pc - of_candidate.lower, of_baseline.upper - pb, phi)
    above = _root(pb - of_baseline.lower, of_candidate.upper - pc, phi)
    difference = (only_candidate - only_baseline) / n
    interval = Interval(difference - below, difference + above, of_candidate.confidence, 2, method)
    return Estimate(difference, interval)


def _newcombe_phi(a: float, b: float, c: float, d: float) -> float:
    margins = (a + b) * (c + d) * (a + c) * (b + d)
    if margins == 0:
        return 0.0
    numerator: float = a * d - b * c
    if numerator > 0:
        numerator = max(numerator - (a + b + c + d) / 2, 0)
    return numerator / math.sqrt(margins)


def _root(first: float, second: float, phi: float) -> float:
    return math.sqrt(max(0.0, first * first - 2 * phi * first * second + second * second))


def mcnemar_exact(b: int, c: int) -> float:
    """The two-sided exact p of b against c discordant pairs, in (0, 1]; 1 when there is none.

    Raises:
        ValueError: for a count that is negative or no whole number.

    Source: McNemar 1947, with the binomial tail at 1/2 doubled.
    """
    from scipy.special import bdtr

    low, high = sorted((require_whole(b, name="b"), require_whole(c, name="c")))
    return min(1.0, 2 * float(bdtr(low, low + high, 0.5)))


@dataclass(frozen=True, slots=True)
class ChiSquare:
    """A chi-square statistic of one degree of freedom with its p."""

    statistic: float
    p_value: float


def mcnemar_chi_square(b: int, c: int) -> ChiSquare | Undefined:
    """McNemar's chi-square with continuity correction, for display only; undefined without a discordant pair.

    Raises:
        ValueError: for a negative count.
    """
    discordant = require_whole(b, name="b") + require_whole(c, name="c")
    if discordant == 0:
        return Undefined("no discordant pair")
    statistic = (abs(b - c) - 1) ** 2 / discordant
    return ChiSquare(statistic, math.erfc(math.sqrt(statistic / 2)))


@dataclass(frozen=True, slots=True)
class PairedNormal:
    """The textbook interval of a paired difference, for planning and display only."""

    difference: float
    discordant: float
    """Share of pairs that differ."""
    standard_error: float
    half_width: float
    interval: Interval


def paired_normal(
    b: int, c: int, n: int, *, confidence: float = 0.95, z: float | None = None
) -> PairedNormal | Undefined:
    """The difference (c - b) / n of paired rates with the normal interval; undefined without a pair.

    Raises:
        ValueError: for a bad count or b + c > n.
    """
    discordant = require_whole(b, name="b") + require_whole(c, name="c")
    require_part(discordant, require_whole(n, name="n"))
    level = level_of(confidence, 2, z)
    if n == 0:
        return Undefined("no pair")
    difference, share = (c - b) / n, discordant / n
    error = math.sqrt(float(Fraction(discordant, n) - Fraction(c - b, n) ** 2) / n)
    half = level.z * error
    interval = Interval(difference - half, difference + half, level.confidence, 2, "paired-normal")
    return PairedNormal(difference, share, error, half, interval)


@dataclass(frozen=True, slots=True)
class PairingGain:
    """What it is worth to run both systems on the same cases."""

    paired_over_independent: float
    """Variance of the paired difference over that of two independent sets of the same size."""
    independent_over_paired: float
    equivalent_n_per_arm: float
    """Size of each independent set with the same precision."""


def pairing_gain(table: PairedTable) -> PairingGain | Undefined:
    """Variance of the difference, independent over paired; undefined when one of the two is 0."""
    n = table.n
    if n == 0:
        return Undefined("no pair")
    baseline = Fraction(table.both + table.only_baseline, n)
    candidate = Fraction(table.both + table.only_candidate, n)
    independent = baseline * (1 - baseline) + candidate * (1 - candidate)
    discordant = Fraction(table.only_baseline + table.only_candidate, n)
    paired = discordant - (candidate - baseline) ** 2
    if paired == 0 or independent == 0:
        return Undefined("no pair differs, or every pair differs the same way: a variance is 0")
    ratio = independent / paired
    return PairingGain(float(1 / ratio), float(ratio), float(n * ratio))


@dataclass(frozen=True, slots=True)
class Noninferiority:
    """What the lower end of a difference shows."""

    noninferior: bool
    superior: bool


def noninferiority(lower: float, *, tolerance: float) -> Noninferiority:
    """Whether a difference is above -tolerance (not inferior), and above 0 (superior); both strictly.

    Args:
        lower: lower end of the interval of candidate - baseline.
        tolerance: largest loss that would be accepted, >= 0.

    Raises:
        ValueError: for a lower end that is not finite or a tolerance outside [0, 1].
    """
    require_number(lower, name="lower")
    require_share(tolerance, name="tolerance")
    return Noninferiority(lower > -tolerance, lower > 0)


@dataclass(frozen=True, slots=True)
class PairedOutcomes:
    """Pairs with the unresolved ones counted: as not accepted, and with both extremes."""

    table: PairedTable
    """Unresolved outcomes as not accepted (the four-verdict default)."""
    lowest: float | Undefined
    """Candidate minus baseline with unresolved candidates failing and unresolved baselines passing."""
    highest: float | Undefined
    unresolved_pairs: int


def paired_outcomes(baseline: list[bool | None], candidate: list[bool | None]) -> PairedOutcomes:
    """The paired table of two systems on the same cases, None for an unresolved outcome; no pair is dropped.

    Raises:
        ValueError: for lists of unequal lengths.
    """
    if len(baseline) != len(candidate):
        raise ValueError(
            f"{len(baseline)} baseline and {len(candidate)} candidate outcomes; give one of each per case"
        )
    pairs = list(zip(baseline, candidate, strict=True))

    def table(unresolved_baseline: bool, unresolved_candidate: bool) -> PairedTable:
        resolved = [
            (unresolved_baseline if b is None else b, unresolved_candidate if c is None else c)
            for b, c in pairs
        ]
        cells = [
            resolved.count(cell) for cell in ((True, True), (True, False), (False, True), (False, False))
        ]
        return PairedTable(*cells)

    return PairedOutcomes(
        table=table(False, False),
        lowest=table(True, False).difference,
        highest=table(False, True).difference,
        unresolved_pairs=sum(b is None or c is None for b, c in pairs),
    )


def within_drop(new: float, baseline: float, *, max_drop: float) -> bool:
    """Whether new >= baseline - max_drop, compared as the decimals written: 0.77 holds 0.80 - 0.03.

    Raises:
        ValueError: for a number that is not finite, or a negative max_drop.
    """
    require_number(new, name="new")
    require_number(baseline, name="baseline")
    if max_drop != 0:
        require_positive(max_drop, name="max_drop")
    first, second, drop = (Fraction(repr(float(value))) for value in (new, baseline, max_drop))
    return first >= second - drop
