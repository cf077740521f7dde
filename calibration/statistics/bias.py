"""Biases of a judge: position, verbosity, its own family, and flips under a probe (STATISTICS §7)."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

from calibration.statistics.checks import require_number, require_part, require_whole
from calibration.statistics.logistic import LogisticFit, fit_logistic
from calibration.statistics.paired import PairedTable, mcnemar_exact, newcombe_independent, newcombe_paired
from calibration.statistics.proportions import level_of, rate
from calibration.values import Estimate, Interval, Rate, Undefined

MIN_FAMILY_FAILURES = 30


@dataclass(frozen=True, slots=True)
class SwappedPairs:
    """Pairs that were judged in both orders, by what the two verdicts named."""

    same_a: int = 0
    """Both orders preferred the output A, wherever it stood."""
    same_b: int = 0
    both_tie: int = 0
    both_first: int = 0
    """Both orders preferred whatever stood first."""
    both_second: int = 0
    other: int = 0
    """A tie against a winner, an abstention, an invalid reply: neither consistent nor a position conflict."""

    def __post_init__(self) -> None:
        for name in ("same_a", "same_b", "both_tie", "both_first", "both_second", "other"):
            require_whole(getattr(self, name), name=name)

    @property
    def pairs(self) -> int:
        """Every pair, whatever came out: the denominator."""
        return self.same_a + self.same_b + self.both_tie + self.both_first + self.both_second + self.other


@dataclass(frozen=True, slots=True)
class PositionBias:
    """How much the order of presentation decides."""

    consistency: Rate
    """Same content in both orders, among all pairs."""
    conflict: Rate
    """The same position in both orders, among all pairs."""
    first_preference: Rate
    """First position among the conflicts; undefined with interval [0, 1] when there is none."""
    effect: float | Undefined
    """(both first - both second) / pairs, in [-1, 1]; swapping removes this, not the inconsistency."""
    p_value: float
    """Two-sided exact p of first against second among the conflicts; 1 without one."""


def position_bias(pairs: SwappedPairs, *, confidence: float = 0.95, z: float | None = None) -> PositionBias:
    """Consistency, conflicts, first-position preference and position effect of order-swapped pairs."""
    n = pairs.pairs
    conflicts = pairs.both_first + pairs.both_second
    consistent = pairs.same_a + pairs.same_b + pairs.both_tie
    return PositionBias(
        consistency=rate(consistent, n, confidence=confidence, z=z),
        conflict=rate(conflicts, n, confidence=confidence, z=z),
        first_preference=rate(pairs.both_first, conflicts, confidence=confidence, z=z),
        effect=(pairs.both_first - pairs.both_second) / n
        if n
        else Undefined("no pair was judged in both orders"),
        p_value=mcnemar_exact(pairs.both_first, pairs.both_second),
    )


@dataclass(frozen=True, slots=True)
class LengthRow:
    """Cases of one length, reference label and cluster, with what the judge made of them."""

    reference_pass: bool
    log2_length: float
    accepted: int
    not_accepted: int
    cluster: Hashable = None
    """Prompt; rows without one are taken as independent."""
    own_family: bool = False
    """The output comes from the judge's own model family."""


@dataclass(frozen=True, slots=True)
class OddsRatio:
    """A log-odds coefficient and its odds ratio with the interval."""

    coefficient: float
    standard_error: float
    odds_ratio: Estimate


def _odds_ratio(
    fit: LogisticFit | Undefined, column: int, z: float, confidence: float
) -> OddsRatio | Undefined:
    if isinstance(fit, Undefined):
        return fit
    beta, error = fit.coefficients[column], fit.standard_errors[column]
    ends = [math.exp(min(700.0, beta + side * z * error)) for side in (-1, 1)]
    interval = Interval(ends[0], ends[1], confidence, 2, "logit-wald")
    return OddsRatio(beta, error, Estimate(math.exp(beta), interval))


def _fit_rows(rows: Sequence[LengthRow], extra: Sequence[Sequence[float]]) -> LogisticFit | Undefined:
    """Accepted on the extra columns and, where both labels occur, the reference label."""
    for row in rows:
        require_number(row.log2_length, name="log2_length")
        require_whole(row.accepted, name="accepted")
        require_whole(row.not_accepted, name="not_accepted")
    columns = list(extra)
    if len({row.reference_pass for row in rows if row.accepted + row.not_accepted}) > 1:
        columns.append([float(row.reference_pass) for row in rows])
    clusters = [row.cluster for row in rows]
    known = all(cluster is not None for cluster in clusters)
    return fit_logistic(
        columns,
        [row.accepted for row in rows],
        [row.not_accepted for row in rows],
        clusters=clusters if known and rows else None,
    )


def verbosity_effect(
    rows: Sequence[LengthRow], *, confidence: float = 0.95, z: float | None = None
) -> OddsRatio | Undefined:
    """The odds ratio of acceptance per doubling of length, at equal reference label.

    Logistic regression of accepted on log2 length and the reference label, errors robust to clusters where
    every row names one. Undefined ("not estimable") when the columns separate the outcomes or length does not
    vary.

    Raises:
        ValueError: for a negative count or a length that is not finite.
    """
    level = level_of(confidence, 2, z)
    fit = _fit_rows(rows, [[row.log2_length for row in rows]])
    return _odds_ratio(fit, 1, level.z, level.confidence)


@dataclass(frozen=True, slots=True)
class TercileRates:
    """FAR and cost in one third of the cases by length."""

    shortest: float
    """log2 length of the shortest case in it."""
    longest: float
    far: Rate
    non_acceptance_among_pass: Rate


def rates_by_length(rows: Sequence[LengthRow], *, confidence: float = 0.95) -> tuple[TercileRates, ...]:
    """FAR and non-acceptance among passes by tercile of length; equal lengths stay together.

    Raises:
        ValueError: for a negative count or a length that is not finite.
    """
    for row in rows:
        require_number(row.log2_length, name="log2_length")
        require_part(
            require_whole(row.accepted, name="accepted"),
            row.accepted + require_whole(row.not_accepted, name="not_accepted"),
        )
    total = sum(row.accepted + row.not_accepted for row in rows)
    thirds: list[list[LengthRow]] = [[], [], []]
    before = 0
    by_length: defaultdict[float, list[LengthRow]] = defaultdict(list)
    for row in rows:
        by_length[row.log2_length].append(row)
    for _, same in sorted(by_length.items()):
        thirds[min(2, 3 * before // max(total, 1))].extend(same)
        before += sum(row.accepted + row.not_accepted for row in same)
    return tuple(_tercile(third, confidence) for third in thirds if third)


def _tercile(rows: Sequence[LengthRow], confidence: float) -> TercileRates:
    def count(reference_pass: bool) -> tuple[int, int]:
        chosen = [row for row in rows if row.reference_pass is reference_pass]
        return sum(row.accepted for row in chosen), sum(row.accepted + row.not_accepted for row in chosen)

    (accepted_fail, fails), (accepted_pass, passes) = count(False), count(True)
    lengths = [row.log2_length for row in rows]
    return TercileRates(
        shortest=min(lengths),
        longest=max(lengths),
        far=rate(accepted_fail, fails, confidence=confidence),
        non_acceptance_among_pass=rate(passes - accepted_pass, passes, confidence=confidence),
    )


@dataclass(frozen=True, slots=True)
class SelfPreference:
    """FAR on the judge's own family minus FAR on the others."""

    own: Rate
    others: Rate
    difference: Estimate | Undefined
    """Undefined ("insufficient") with fewer than 30 reference failures on either side."""
    adjusted: OddsRatio | Undefined
    """Odds ratio of acceptance for the own family at equal reference label and length."""


def self_preference(
    rows: Sequence[LengthRow], *, confidence: float = 0.95, z: float | None = None
) -> SelfPreference:
    """Whether the judge accepts more failures of its own family than of others.

    A different family is no proof of independence; the adjusted odds ratio uses passes and failures alike.

    Raises:
        ValueError: for a negative count or a length that is not finite.
    """
    level = level_of(confidence, 2, z)
    fit = _fit_rows(rows, [[float(row.own_family) for row in rows], [row.log2_length for row in rows]])
    counts = []
    for own in (True, False):
        failures = [row for row in rows if row.own_family is own and not row.reference_pass]
        accepted = sum(row.accepted for row in failures)
        counts.append((accepted, accepted + sum(row.not_accepted for row in failures)))
    (own_x, own_n), (other_x, other_n) = counts
    difference: Estimate | Undefined = Undefined(
        f"insufficient: {own_n} and {other_n} reference failures, each family needs {MIN_FAMILY_FAILURES}"
    )
    if min(own_n, other_n) >= MIN_FAMILY_FAILURES:
        difference = newcombe_independent(own_x, own_n, other_x, other_n, z=level.z)
    return SelfPreference(
        own=rate(own_x, own_n, z=level.z),
        others=rate(other_x, other_n, z=level.z),
        difference=difference,
        adjusted=_odds_ratio(fit, 1, level.z, level.confidence),
    )


@dataclass(frozen=True, slots=True)
class ProbeEffect:
    """Verdicts before and after a change that should not matter (padding, reformatting, injection)."""

    flipped: Rate
    """Items whose acceptance changed, among all probed."""
    difference: Estimate | Undefined
    """Acceptance after minus before."""
    p_value: float
    """Two-sided exact McNemar."""


def probe_effect(table: PairedTable, *, confidence: float = 0.95, z: float | None = None) -> ProbeEffect:
    """Flip rate and change of acceptance under a probe; `both` accepted before and after.

    Args:
        table: baseline is the original item, candidate its perturbed copy.
        confidence: level in (0, 1).
        z: explicit quantile instead of the level.
    """
    flips = table.only_baseline + table.only_candidate
    return ProbeEffect(
        flipped=rate(flips, table.n, confidence=confidence, z=z),
        difference=newcombe_paired(table, confidence=confidence, z=z),
        p_value=mcnemar_exact(table.only_baseline, table.only_candidate),
    )
