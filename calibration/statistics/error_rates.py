"""A judge's error rates with every outcome in a denominator (STATISTICS §1)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum

from calibration.evidence import VerdictTable
from calibration.statistics.checks import require_same_length, require_whole
from calibration.statistics.proportions import GateResult, rate, score_gate
from calibration.values import Rate, Undefined
from rubrics.verdict import FAIL, PASS, Outcome, UnknownReason, Verdict, combine, unknown


@dataclass(frozen=True, slots=True)
class ResolutionBounds:
    """A rate recomputed with every unknown resolved each way; both ends in [0, 1]."""

    low: float | Undefined
    high: float | Undefined


@dataclass(frozen=True, slots=True)
class JudgeRates:
    """The rates of one judge on one set; a rate without a denominator has an undefined estimate."""

    far: Rate
    """Accepted among all reference failures; open verdicts count as not accepted."""
    far_open_as_accepted: Rate
    """The same with every open verdict counted as accepted: what a gate may pass on."""
    far_bounds: ResolutionBounds
    """Over open verdicts and unresolved references, exact extremes."""
    far_bounds_all_unknown: ResolutionBounds
    """Over every unknown, abstentions and invalid replies too."""
    far_decided: Rate
    """Accepted among the failures that were accepted or rejected; diagnostic only."""
    frr: Rate
    """Rejected among reference passes."""
    non_acceptance_among_pass: Rate
    """Not accepted, for whatever reason, among reference passes: the cost that users feel."""
    failure_among_accepted: Rate
    """Reference failures among the accepted with a resolved reference; holds for this mix only."""
    abstention: Rate
    coverage: Rate
    """Accepted or rejected among all cases, whatever their reference."""


def judge_rates(table: VerdictTable, *, confidence: float = 0.95, z: float | None = None) -> JudgeRates:
    """Every rate of STATISTICS §1 from the counts of judge outcome by reference label.

    Abstained, invalid and inconsistent are final non-acceptances and stay in each denominator.
    """

    def part(x: int, n: int) -> Rate:
        return rate(x, n, confidence=confidence, z=z)

    fail, passing, everything = table.fail, table.passing, table.all
    return JudgeRates(
        far=part(fail.accepted, fail.total),
        far_open_as_accepted=part(fail.accepted + fail.open, fail.total),
        far_bounds=far_bounds(table),
        far_bounds_all_unknown=far_bounds(table, every_unknown=True),
        far_decided=part(fail.accepted, fail.decided),
        frr=part(passing.rejected, passing.total),
        non_acceptance_among_pass=part(passing.total - passing.accepted, passing.total),
        failure_among_accepted=part(fail.accepted, fail.accepted + passing.accepted),
        abstention=part(everything.abstained, everything.total),
        coverage=part(everything.decided, everything.total),
    )


def far_bounds(table: VerdictTable, *, every_unknown: bool = False) -> ResolutionBounds:
    """The extremes of FAR over all ways to resolve open verdicts and unresolved references.

    Low: open verdicts were not accepted, and of the unresolved references exactly those that the judge did
    not accept are failures. High: open verdicts were accepted, and exactly those unresolved references that
    were (or may be) accepted are failures. With `every_unknown` an abstained, invalid or inconsistent
    outcome may turn out either way too. An end is undefined where its denominator is 0.
    """
    fail, unresolved = table.fail, table.unresolved
    extra_fail = fail.open + (fail.final_unknown if every_unknown else 0)
    extra_unresolved = unresolved.open + (unresolved.final_unknown if every_unknown else 0)
    low = _share(fail.accepted, fail.total + unresolved.total - unresolved.accepted)
    reachable = unresolved.accepted + extra_unresolved
    high = _share(fail.accepted + extra_fail + reachable, fail.total + reachable)
    return ResolutionBounds(low, high)


def _share(x: int, n: int) -> float | Undefined:
    return x / n if n else Undefined("no case in the denominator")


def resolution_bounds(accepted: int, failed: int, unresolved: int) -> ResolutionBounds:
    """The acceptance fraction with the unresolved counted as not accepted, and as accepted.

    The denominator is all three groups; the point estimate is the low end. Undefined without a case.

    Raises:
        ValueError: for a negative count.
    """
    counts = [
        require_whole(value, name=name)
        for name, value in (("accepted", accepted), ("failed", failed), ("unresolved", unresolved))
    ]
    n = sum(counts)
    return ResolutionBounds(_share(accepted, n), _share(accepted + unresolved, n))


@dataclass(frozen=True, slots=True)
class Classification:
    """The figures of a two-way table that other tools print; acceptance of a pass is the positive case."""

    far: float | Undefined
    frr: float | Undefined
    precision: float | Undefined
    f1: float | Undefined
    balanced_accuracy: float | Undefined
    mcc: float | Undefined
    """Matthews correlation in [-1, 1]; undefined when a margin is empty."""


def classification(*, tp: int, fn: int, fp: int, tn: int) -> Classification:
    """FAR, FRR, precision, F1, balanced accuracy and MCC of accepted/not accepted against pass/fail.

    Args:
        tp: passes accepted.
        fn: passes not accepted.
        fp: failures accepted.
        tn: failures not accepted.

    Raises:
        ValueError: for a negative count.
    """
    for name, value in (("tp", tp), ("fn", fn), ("fp", fp), ("tn", tn)):
        require_whole(value, name=name)
    far, frr = _share(fp, fp + tn), _share(fn, fn + tp)
    balanced = (
        Undefined("one reference class is empty")
        if isinstance(far, Undefined) or isinstance(frr, Undefined)
        else 1 - (far + frr) / 2
    )
    margins = (tp + fp) * (tp + fn) * (tn + fp) * (tn + fn)
    mcc = (tp * tn - fp * fn) / math.sqrt(margins) if margins else Undefined("a margin of the table is empty")
    return Classification(
        far=far,
        frr=frr,
        precision=_share(tp, tp + fp),
        f1=_share(2 * tp, 2 * tp + fp + fn),
        balanced_accuracy=balanced,
        mcc=mcc,
    )


@dataclass(frozen=True, slots=True)
class WholeRubricCase:
    """One item over all required criteria: what the judge says of it, and what the reference says."""

    outcome: Outcome
    reference: Verdict
    """pass, fail, or unknown where the reference is not resolved."""


def whole_rubric_case(
    outcomes: Mapping[str, Outcome], references: Mapping[str, Verdict], *, required: Sequence[str]
) -> WholeRubricCase:
    """One item as the whole rubric sees it: combine() over the judge's verdicts, and over the reference's.

    A criterion without a verdict is `missing`, one without a reference is unresolved. A combined outcome that
    can no longer become a pass because one part abstained or was invalid keeps that final reason, even beside
    an open part. Without a required criterion the outcome is unknown, never pass.
    """
    parts = [outcomes.get(name, unknown(UnknownReason.MISSING)) for name in required]
    truth = [references.get(name, Verdict.UNKNOWN) for name in required]
    reference = combine(Verdict.UNKNOWN if verdict is Verdict.PENDING else verdict for verdict in truth)
    return WholeRubricCase(_combined(parts), reference)


def _combined(parts: Sequence[Outcome]) -> Outcome:
    overall = combine(part.combinable for part in parts)
    if overall in (Verdict.PASS, Verdict.FAIL):
        return PASS if overall is Verdict.PASS else FAIL
    reasons = [part.reason for part in parts if part.reason is not None]
    final_first = sorted(reasons, key=lambda reason: (reason.is_open, list(UnknownReason).index(reason)))
    return unknown(final_first[0] if final_first else UnknownReason.MISSING)


class GroupStatus(StrEnum):
    """How the FAR of one slice, failure mode or severity level stands against its limit."""

    WITHIN_LIMIT = "within_limit"
    ABOVE_LIMIT = "above_limit"
    UNDECIDED = "undecided"
    NOT_ASSESSED = "not_assessed"
    """Fewer failures than the declared minimum: never "ok"."""


@dataclass(frozen=True, slots=True)
class GroupRate:
    """FAR among the failures of one group."""

    group: str
    far: Rate
    limit: float
    status: GroupStatus


def far_by_group(
    groups: Sequence[Iterable[str]],
    accepted: Sequence[bool],
    *,
    limits: Mapping[str, float] | float,
    z: float,
    min_failures: int = 20,
) -> tuple[GroupRate, ...]:
    """FAR of each slice, failure mode or severity level, sorted by name, each with its own status.

    Args:
        groups: for each reference failure the groups that it belongs to; one, several or none.
        accepted: for each reference failure whether the judge accepted it.
        limits: one limit for all, or one a group (severity levels have their own).
        z: quantile of the decision.
        min_failures: groups with fewer failures are not assessed.

    Raises:
        ValueError: for unequal lengths, a group without a limit, or a limit outside [0, 1].
    """
    require_same_length(groups, accepted, names="groups and accepted")
    counts: dict[str, list[int]] = {}
    for names, was_accepted in zip(groups, accepted, strict=True):
        for name in set(names):
            cell = counts.setdefault(name, [0, 0])
            cell[0] += bool(was_accepted)
            cell[1] += 1
    return tuple(
        _group_rate(name, x, n, limits=limits, z=z, min_failures=min_failures)
        for name, (x, n) in sorted(counts.items())
    )


def _group_rate(
    name: str, x: int, n: int, *, limits: Mapping[str, float] | float, z: float, min_failures: int
) -> GroupRate:
    if isinstance(limits, Mapping):
        if name not in limits:
            raise ValueError(
                f"group {name!r} has no limit; limits are declared for {sorted(limits)!r}: add one"
            )
        limit = limits[name]
    else:
        limit = limits
    decided = score_gate(x, n, limit=limit, z=z)
    status = {
        GateResult.PASS: GroupStatus.WITHIN_LIMIT,
        GateResult.FAIL: GroupStatus.ABOVE_LIMIT,
        GateResult.INSUFFICIENT: GroupStatus.UNDECIDED,
    }[decided]
    if n < min_failures:
        status = GroupStatus.NOT_ASSESSED
    return GroupRate(name, rate(x, n, z=z), limit, status)
