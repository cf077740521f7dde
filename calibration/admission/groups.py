"""What a policy asks of parts of the evidence: severity levels, required modes and slices, cost and time."""

from __future__ import annotations

from collections.abc import Iterator

from calibration.admission.gate import gate_status
from calibration.evidence import (
    CalibrationReport,
    GroupFigure,
    ItemKind,
    ItemStatus,
    OperationFigure,
    PolicyItem,
)
from calibration.policy import AdmissionPolicy, SeverityLimit


def group_items(report: CalibrationReport, policy: AdmissionPolicy) -> list[PolicyItem]:
    """The items on severity levels, required evidence and operation that the policy asks for."""
    return [*_severities(report, policy), *_required(report, policy), *_operation(report, policy)]


def _severities(report: CalibrationReport, policy: AdmissionPolicy) -> Iterator[PolicyItem]:
    """One gate for each level with a limit of its own; a level without failures is insufficient."""
    found = {figure.group: figure for figure in report.severities}
    for level, limit in policy.severities.items():
        yield _severity(level, limit, found.get(level), policy)


def _severity(
    level: str, limit: SeverityLimit, figure: GroupFigure | None, policy: AdmissionPolicy
) -> PolicyItem:
    gate = figure.far_gate if figure else None
    if gate is None or not gate.n:
        return PolicyItem(
            name=f"severity:{level}",
            kind=ItemKind.RATE,
            status=ItemStatus.INSUFFICIENT,
            value=None,
            limit=limit.upper_at_most,
            comparison="upper_at_most",
            x=0,
            n=0,
            lower=0.0,
            upper=1.0,
            detail=f"no reference failure of severity {level} is among the evidence",
        )
    status = gate_status(gate, limit.upper_at_most, z=policy.z)
    few = gate.n < limit.min_n
    if few and status is ItemStatus.PASS:
        status = ItemStatus.INSUFFICIENT
    best = status is ItemStatus.FAIL
    return PolicyItem(
        name=f"severity:{level}",
        kind=ItemKind.RATE,
        status=status,
        value=gate.lower if best else gate.upper,
        limit=limit.upper_at_most,
        comparison="upper_at_most",
        x=gate.x_best if best else gate.x,
        n=gate.n_best if best else gate.n,
        lower=gate.lower,
        upper=gate.upper,
        detail=f"at least {limit.min_n} failures are asked for" if few else "",
    )


def _required(report: CalibrationReport, policy: AdmissionPolicy) -> Iterator[PolicyItem]:
    """Counts of reference failures in each required failure mode and slice; short is insufficient."""
    modes = {figure.group: figure.far.n for figure in report.failure_modes}
    slices = {f"{figure.slice}={figure.value}": figure.far.n for figure in report.slices}
    for part, needed, found in (
        ("failure_mode", policy.required.failure_modes, modes),
        ("slice", policy.required.slices, slices),
    ):
        for name, number in needed.items():
            yield _counted(f"required_{part}:{name}", found.get(name, 0), number)


def _counted(name: str, found: int, needed: int) -> PolicyItem:
    return PolicyItem(
        name=name,
        kind=ItemKind.DATA_QUALITY,
        status=ItemStatus.PASS if found >= needed else ItemStatus.INSUFFICIENT,
        value=found,
        limit=needed,
        comparison="count_at_least",
        detail="reference failures",
    )


def _operation(report: CalibrationReport, policy: AdmissionPolicy) -> Iterator[PolicyItem]:
    """Mean cost of an item and the 95th percentile of time; what was not recorded is insufficient."""
    limits, found = policy.operation, report.operation
    if limits.cost_per_item_micros is not None:
        known = found is not None and 0 < found.costed == found.verdicts
        mean = -(-found.cost_micros // found.items) if found and known else None
        detail = declared_free(found) if known else _unrecorded("cost", found.costed if found else 0, found)
        yield _at_most("cost_per_item_micros", mean, limits.cost_per_item_micros, detail)
    if limits.latency_p95_ms is not None:
        timed = found is not None and 0 < found.timed == found.verdicts - (found.uncalled or 0)
        p95 = found.latency_p95_ms if found and timed else None
        detail = _uncalled(found) if timed else _unrecorded("time", found.timed if found else 0, found)
        yield _at_most("latency_p95_ms", p95, limits.latency_p95_ms, detail)


def declared_free(found: OperationFigure | None) -> str:
    """That a cost rests on prices which somebody declared as 0, in a sentence; "" where it does not."""
    if found is None or not found.declared_free:
        return ""
    verdicts = "verdict costs" if found.declared_free == 1 else "verdicts cost"
    return (
        f"the cost rests on prices declared as 0: {found.declared_free:,} {verdicts} nothing by them "
        "(source: declared)"
    )


def _uncalled(found: OperationFigure | None) -> str:
    """Of how many verdicts a time is, where others were settled without a call; "" where none was."""
    if found is None or not found.uncalled:
        return ""
    was = "was" if found.uncalled == 1 else "were"
    return f"of the {found.timed:,} with a call; {found.uncalled:,} {was} settled without one"


def _unrecorded(what: str, known: int, found: OperationFigure | None) -> str:
    """Why a limit on cost or time cannot be held against these verdicts."""
    if found is not None and known:
        missing = found.verdicts - known - ((found.uncalled or 0) if what == "time" else 0)
        return f"not assessable: no {what} is recorded of {missing:,} of {found.verdicts:,} verdicts"
    no_call = "; a panel, a cascade or a rule makes no call of its own" if what == "time" else ""
    return f"not assessable: no verdict has a recorded {what}{no_call}"


def _at_most(name: str, found: int | None, limit: int, detail: str) -> PolicyItem:
    """A whole number held under a limit; rounded up, so that what prints as the limit holds it."""
    if found is None:
        status = ItemStatus.INSUFFICIENT
    else:
        status = ItemStatus.PASS if found <= limit else ItemStatus.FAIL
    return PolicyItem(
        name=name,
        kind=ItemKind.RATE,
        status=status,
        value=found,
        limit=limit,
        comparison="count_at_most",
        detail=detail,
    )
