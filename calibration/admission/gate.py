"""The false-acceptance gate: worst case to pass, best case to fail, and what more evidence would do."""

from __future__ import annotations

from collections.abc import Sequence

from calibration.evidence import (
    CalibrationReport,
    GateFigure,
    ItemKind,
    ItemStatus,
    MoreFailures,
    PolicyItem,
)
from calibration.policy import AdmissionPolicy
from calibration.statistics.gates import MOVER, effective_counts, gate_p_value, gate_result
from calibration.statistics.more_clusters import more_clusters_needed
from calibration.statistics.multiplicity import holm
from calibration.statistics.planning import more_failures_needed
from calibration.statistics.proportions import GateResult
from calibration.values import Undefined


def gate_status(gate: GateFigure, limit: float, *, z: float) -> ItemStatus:
    """The standing of a policy item that is such a gate."""
    return _STATUS[gate_result(gate, limit, z=z)]


_STATUS = {
    GateResult.PASS: ItemStatus.PASS,
    GateResult.FAIL: ItemStatus.FAIL,
    GateResult.INSUFFICIENT: ItemStatus.INSUFFICIENT,
}


def far_item(
    report: CalibrationReport, policy: AdmissionPolicy, rivals: Sequence[CalibrationReport]
) -> PolicyItem:
    """The gate as a policy item; among several judges Holm may turn a pass into insufficient."""
    gate, limit = report.far_gate, policy.primary.upper_at_most
    status = gate_status(gate, limit, z=policy.z)
    detail = ""
    if not gate.n:
        detail = "no item has a reference failure"
    elif status is ItemStatus.PASS and policy.judges_compared == "holm" and rivals:
        adjusted, allowed = _holm(report, policy, rivals)
        detail = f"Holm-adjusted p {adjusted:.3g} among {len(rivals) + 1} judges, needed {allowed:.3g}"
        status = ItemStatus.PASS if adjusted <= allowed else ItemStatus.INSUFFICIENT
    return PolicyItem(
        name="far",
        kind=ItemKind.FAR,
        status=status,
        value=gate.lower if status is ItemStatus.FAIL else gate.upper,
        limit=limit,
        comparison="upper_at_most",
        x=gate.x_best if status is ItemStatus.FAIL else gate.x,
        n=gate.n_best if status is ItemStatus.FAIL else gate.n,
        lower=gate.lower,
        upper=gate.upper,
        detail=detail,
    )


def _holm(
    report: CalibrationReport, policy: AdmissionPolicy, rivals: Sequence[CalibrationReport]
) -> tuple[float, float]:
    """The judge's Holm-adjusted p among all compared, and the one-sided error of one look."""
    limit = policy.primary.upper_at_most
    p_values = [gate_p_value(r.far_gate, limit) for r in (report, *rivals)]
    adjusted = holm([1.0 if p is None else p for p in p_values])[0]
    return adjusted, (1 - policy.confidence) / policy.primary.sided


def more_failures(report: CalibrationReport, policy: AdmissionPolicy) -> MoreFailures:
    """Further failures, each of a cluster of its own, that would pass the gate.

    Where cases share clusters the gate is asked with them added, since its correlation is estimated anew. A
    re-weighted set counts as the whole failures that it is worth: accepted rounded up, denominator down.
    None are needed where the policy has no gate.
    """
    if not policy.gate:
        return MoreFailures(clean=0, at_observed_rate=0, looks=policy.looks.max)
    gate, limit = report.far_gate, policy.primary.upper_at_most
    if gate.cluster_counts and not gate.method.startswith(MOVER):
        icc = policy.primary.cluster.planning_icc
        needed = more_clusters_needed(gate.cluster_counts, limit=limit, z=policy.z, planning_icc=icc)
    else:
        x, n = effective_counts(gate)
        needed = more_failures_needed(x, n, limit=limit, z=policy.z)
    at_rate = needed.at_observed_rate
    return MoreFailures(
        clean=needed.clean,
        at_observed_rate=None if isinstance(at_rate, Undefined) else at_rate,
        looks=policy.looks.max,
    )
