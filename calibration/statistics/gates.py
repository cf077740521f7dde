"""What a gate's interval says of a limit: worst case to pass, best case to fail (STATISTICS §0.4)."""

from __future__ import annotations

import math

from calibration.evidence import GateFigure
from calibration.statistics.normal import normal_cdf
from calibration.statistics.proportions import GateResult, score_gate

MOVER = "mover"
"""First word of the method of a re-weighted interval; it has no single count to put to the score test."""


def gate_result(gate: GateFigure, limit: float, *, z: float) -> GateResult:
    """Pass when the worst case holds the limit, fail when the best case breaks it, else insufficient.

    By the score test on counts, so that no rounded float decides; by the ends of the interval where it is
    re-weighted over strata.
    """
    if gate.method.startswith(MOVER):
        if gate.n and gate.upper <= limit:
            return GateResult.PASS
        return GateResult.FAIL if gate.n_best and gate.lower > limit else GateResult.INSUFFICIENT
    worst = score_gate(gate.x * shrink(gate.n_effective, gate.n), gate.n_effective, limit=limit, z=z)
    if worst is GateResult.PASS:
        return GateResult.PASS
    best_n = gate.n_effective_best
    best = score_gate(gate.x_best * shrink(best_n, gate.n_best), best_n, limit=limit, z=z)
    return GateResult.FAIL if best is GateResult.FAIL else GateResult.INSUFFICIENT


def shrink(effective: float, n: int) -> float:
    """The factor effective / n by which counts shrink to the effective size; 0 without a case."""
    return effective / n if n else 0.0


def gate_p_value(gate: GateFigure, limit: float) -> float | None:
    """One-sided p of the worst case against a rate at the limit; null without a case.

    Exact binomial P(X <= x) with one item per cluster, else the normal tail of the score at the effective n
    (STATISTICS §6).
    """
    if not gate.n or gate.estimate is None:
        return None
    if gate.cases_per_cluster_max <= 1 and not gate.method.startswith(MOVER):
        from scipy.special import bdtr

        return float(bdtr(gate.x, gate.n, limit))
    return normal_cdf((gate.estimate - limit) / math.sqrt(limit * (1 - limit) / gate.n_effective))


def effective_counts(gate: GateFigure) -> tuple[int, int]:
    """The whole (accepted, failures) that the gate's evidence is worth: accepted up, failures down."""
    n = math.floor(gate.n_effective + 1e-9)
    return min(n, math.ceil((gate.estimate or 0.0) * gate.n_effective - 1e-9)), n
