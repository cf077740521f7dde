"""The false-acceptance gate: worst case to pass, best case to fail, and what more evidence would do."""

from __future__ import annotations

import math
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
from calibration.statistics.multiplicity import holm
from calibration.statistics.normal import normal_cdf
from calibration.statistics.planning import more_failures_needed
from calibration.statistics.proportions import GateResult, score_gate
from calibration.values import Undefined


def gate_status(gate: GateFigure, limit: float, *, z: float) -> ItemStatus:
    """Pass when the worst case holds the limit, fail when the best case breaks it (score test)."""
    worst = score_gate(gate.x * _shrink(gate.n_effective, gate.n), gate.n_effective, limit=limit, z=z)
    if worst is GateResult.PASS:
        return ItemStatus.PASS
    best_n = gate.n_effective_best
    best = score_gate(gate.x_best * _shrink(best_n, gate.n_best), best_n, limit=limit, z=z)
    return ItemStatus.FAIL if best is GateResult.FAIL else ItemStatus.INSUFFICIENT


def _shrink(effective: float, n: int) -> float:
    return effective / n if n else 0.0


def gate_p_value(gate: GateFigure, limit: float) -> float | None:
    """One-sided p of the worst case against a rate at the limit; null without a case.

    Exact binomial P(X <= x) with one item per cluster, else the normal tail of the score at the
    effective n (STATISTICS §6).
    """
    if not gate.n:
        return None
    if gate.cases_per_cluster_max <= 1:
        from scipy.special import bdtr

        return float(bdtr(gate.x, gate.n, limit))
    score = (gate.x / gate.n - limit) / math.sqrt(limit * (1 - limit) / gate.n_effective)
    return normal_cdf(score)


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
    """Further failures, one per cluster, that would pass the gate.

    Clustered failures count as the whole independent ones that they are worth: the accepted rounded up,
    the denominator rounded down.
    """
    gate = report.far_gate
    n = math.floor(gate.n_effective + 1e-9)
    x = min(n, math.ceil(gate.x * _shrink(gate.n_effective, gate.n) - 1e-9))
    needed = more_failures_needed(x, n, limit=policy.primary.upper_at_most, z=policy.z)
    at_rate = needed.at_observed_rate
    return MoreFailures(
        clean=needed.clean,
        at_observed_rate=None if isinstance(at_rate, Undefined) else at_rate,
        looks=policy.looks.max,
    )
