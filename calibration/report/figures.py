"""The figures of a report, each from the verdict table or from the coded cases."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from calibration.evidence import (
    BaselineFigure,
    Bounds,
    Case,
    Counts,
    GateFigure,
    JudgeMargin,
    Margins,
    RateFigure,
    ReferenceMargin,
    SliceFigure,
    VerdictTable,
)
from calibration.policy import AdmissionPolicy
from calibration.report.agreement import operational_kappa
from calibration.report.coding import (
    ACCEPTED,
    FAIL,
    FAR_RULE,
    PASS,
    REJECTED,
    UNRESOLVED,
    CodedCases,
    GateSettings,
    gate_figure,
)
from calibration.statistics.error_rates import GroupStatus, ResolutionBounds
from calibration.statistics.gates import gate_result
from calibration.statistics.proportions import GateResult, rate
from calibration.values import Undefined

MIN_GROUP = 20
"""Failures below which a slice, failure mode or severity level is not assessed, if the policy names none."""
MIN_MARGIN = 0.10
"""Below this share of the rarer label or verdict kappa is not assessed (STATISTICS §0.4)."""


def rate_figure(x: int, n: int) -> RateFigure:
    """X of n with its two-sided 95 % Wilson interval."""
    return RateFigure.of(rate(x, n))


def bounds_figure(bounds: ResolutionBounds) -> Bounds:
    """The record of both-outcome bounds; null without a denominator."""
    low, high = bounds.low, bounds.high
    return Bounds(
        low=None if isinstance(low, Undefined) else low, high=None if isinstance(high, Undefined) else high
    )


def count_figures(table: VerdictTable, coded: CodedCases) -> Counts:
    """The counts that scripts read first."""
    every = table.all
    return Counts(
        reference_fail=table.fail.total,
        reference_pass=table.passing.total,
        reference_unresolved=table.unresolved.total,
        accepted_among_fail=table.fail.accepted,
        accepted_among_pass=table.passing.accepted,
        rejected_among_fail=table.fail.rejected,
        rejected_among_pass=table.passing.rejected,
        abstained=every.abstained,
        invalid=every.invalid,
        inconsistent=every.inconsistent,
        pending=every.pending,
        missing=every.missing,
        error=every.error,
        clusters=coded.clusters_of(FAIL, PASS, UNRESOLVED),
        clusters_fail=coded.clusters_of(FAIL),
    )


def margin_figures(table: VerdictTable) -> Margins:
    """Both margins over the resolved references."""
    n = table.fail.total + table.passing.total
    accepted = table.fail.accepted + table.passing.accepted
    return Margins(
        judge=JudgeMargin(accepted=accepted, not_accepted=n - accepted, n=n),
        reference=ReferenceMargin(passing=table.passing.total, fail=table.fail.total, n=n),
    )


def smallest_margin(margins: Margins) -> float | Undefined:
    """The smallest of the four marginal shares in [0, 0.5]; undefined without a resolved reference."""
    if not margins.judge.n:
        return Undefined("no item has a resolved reference")
    cells = (
        margins.judge.accepted,
        margins.judge.not_accepted,
        margins.reference.passing,
        margins.reference.fail,
    )
    return min(cells) / margins.judge.n


def slice_figures(
    cases: Sequence[Case], coded: CodedCases, settings: GateSettings, policy: AdmissionPolicy | None
) -> tuple[SliceFigure, ...]:
    """FAR and its cost in each slice, in the order of slice names."""
    members: dict[tuple[str, str], list[int]] = {}
    for index, case in enumerate(cases):
        for pair in case.slices:
            members.setdefault(pair, []).append(index)
    figures = []
    for (name, value), indices in sorted(members.items()):
        mask = np.zeros(len(cases), dtype=bool)
        mask[indices] = True
        part = coded.where(mask)
        table, gate = part.table(), gate_figure(part, FAR_RULE, settings)
        figures.append(
            SliceFigure(
                slice=name,
                value=value,
                far=rate_figure(table.fail.accepted, table.fail.total),
                far_gate=gate,
                non_acceptance_among_pass=rate_figure(
                    table.passing.total - table.passing.accepted, table.passing.total
                ),
                status=_slice_status(gate, table.fail.total, policy),
            )
        )
    return tuple(figures)


def _slice_status(gate: GateFigure, failures: int, policy: AdmissionPolicy | None) -> str | None:
    """How the slice stands against the limit; with few failures it is not assessed, never "ok"."""
    if policy is None:
        return None
    guard = policy.guards.get("slice_far")
    if failures < (guard.min_n if guard else MIN_GROUP):
        return GroupStatus.NOT_ASSESSED.value
    limit = guard.limit if guard else policy.primary.upper_at_most
    return _STANDING[gate_result(gate, limit, z=policy.z)].value


_STANDING = {
    GateResult.PASS: GroupStatus.WITHIN_LIMIT,
    GateResult.FAIL: GroupStatus.ABOVE_LIMIT,
    GateResult.INSUFFICIENT: GroupStatus.UNDECIDED,
}


def baseline(name: str, description: str, cases: Sequence[Case]) -> BaselineFigure:
    """The figures of a trivial judge on the same items, to stand beside the examined one."""
    coded = CodedCases.of(cases)
    return _baseline(name, description, coded, rng=np.random.default_rng(len(cases)))


def _baseline(name: str, description: str, coded: CodedCases, *, rng: np.random.Generator) -> BaselineFigure:
    table = coded.table()
    fail, passing = table.fail, table.passing
    return BaselineFigure(
        name=name,
        description=description,
        far=rate_figure(fail.accepted, fail.total),
        non_acceptance_among_pass=rate_figure(passing.total - passing.accepted, passing.total),
        kappa=operational_kappa(coded, rng=rng),
    )


def constant_baselines(coded: CodedCases, *, rng: np.random.Generator) -> tuple[BaselineFigure, ...]:
    """The judge that accepts everything and the one that rejects everything."""
    return (
        _baseline("always-accept", "accepts every item", coded.judged_as(ACCEPTED), rng=rng),
        _baseline("always-reject", "rejects every item", coded.judged_as(REJECTED), rng=rng),
    )
