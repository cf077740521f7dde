"""A policy on a report -> AdmissionDecision, by the four-verdict rule over the policy's items."""

from __future__ import annotations

from collections.abc import Sequence

from calibration.admission.gate import far_item, more_failures
from calibration.admission.groups import group_items
from calibration.admission.guards import guard_items
from calibration.admission.quality import quality_items
from calibration.evidence import (
    AdmissionDecision,
    AdmissionOutcome,
    CalibrationReport,
    ItemKind,
    ItemStatus,
    Looks,
    PolicyItem,
)
from calibration.policy import AdmissionPolicy
from calibration.statistics.gates import gate_p_value

_BINDING_ORDER = (ItemKind.FAR, ItemKind.RATE, ItemKind.AGREEMENT, ItemKind.DATA_QUALITY)


def decide(
    report: CalibrationReport,
    policy: AdmissionPolicy,
    *,
    looks_used: int = 1,
    looks_before: int = 0,
    rivals: Sequence[CalibrationReport] = (),
) -> AdmissionDecision:
    """The outcome of a policy on a report, with every item and what bound it.

    Args:
        report: built with this policy's gate settings.
        policy: the thresholds.
        looks_used: evaluations of this gate so far, this one included.
        looks_before: evaluations in counts that ended without an admission; shown, and decides nothing.
        rivals: reports of the other judges compared with this one on the same items; where the policy
            says so, Holm divides its error among them.

    Raises:
        ValueError: the report was built with another policy's gate settings, or no look was used.
    """
    if looks_used < 1:
        raise ValueError(f"looks_used is {looks_used}; this evaluation is itself one look")
    if report.far_gate.confidence != policy.confidence or report.far_gate.sided != policy.primary.sided:
        raise ValueError(
            f"the report's gate interval has level {report.far_gate.confidence:.6g}, {policy.label} decides "
            f"at {policy.confidence:.6g}; build the report with this policy"
        )
    items = (
        *([far_item(report, policy, rivals)] if policy.gate else []),
        *guard_items(report, policy),
        *group_items(report, policy),
        *quality_items(report, policy, looks_used, looks_before),
    )
    outcome = outcome_of([item.status for item in items])
    return AdmissionDecision(
        outcome=outcome,
        binding=_binding(items, outcome),
        items=items,
        more_failures_needed=more_failures(report, policy),
        looks=Looks(used=looks_used, allowed=policy.looks.max, before=looks_before),
        policy=policy.label,
        policy_digest=policy.digest,
        role=policy.role,
        p_value=gate_p_value(report.far_gate, policy.primary.upper_at_most) if policy.gate else None,
        rivals=tuple(sorted(rival.report for rival in rivals)) if policy.judges_compared == "holm" else (),
    )


def outcome_of(statuses: Sequence[ItemStatus]) -> AdmissionOutcome:
    """Any fail rejects; else any insufficient, or no item at all, is insufficient; else admit."""
    if ItemStatus.FAIL in statuses:
        return AdmissionOutcome.REJECT
    if ItemStatus.INSUFFICIENT in statuses or not statuses:
        return AdmissionOutcome.INSUFFICIENT
    return AdmissionOutcome.ADMIT


def _binding(items: Sequence[PolicyItem], outcome: AdmissionOutcome) -> str:
    """The first item, by kind, whose status made the outcome; the FAR gate for an admission.

    Without a gate the first item of all stands for an admission.
    """
    if outcome is AdmissionOutcome.ADMIT:
        return items[0].name
    made = ItemStatus.FAIL if outcome is AdmissionOutcome.REJECT else ItemStatus.INSUFFICIENT
    guilty = [item for item in items if item.status is made]
    return min(guilty, key=lambda item: _BINDING_ORDER.index(item.kind)).name
