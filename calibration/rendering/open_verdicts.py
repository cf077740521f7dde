"""Whether the open verdicts alone may settle what binds an outcome, and towards what."""

from __future__ import annotations

from calibration.evidence import ItemKind, PolicyItem
from calibration.rendering.reading import Reading
from calibration.rendering.text import counted
from calibration.statistics.normal import z_value
from calibration.statistics.paired import newcombe_independent
from calibration.statistics.planning import more_failures_needed
from calibration.statistics.proportions import GateResult, score_gate
from calibration.values import Interval, Undefined


def open_decides(reading: Reading) -> str:
    """What the open verdicts on failing answers may decide alone, and towards what; empty where nothing."""
    number = reading.report.table.fail.open
    one = number == 1
    rejects, accepts, rate = "rejects", "accepts", "false acceptance"
    on = "a failing answer" if one else "failing answers"
    if reading.pairs:
        rejects, accepts, rate = "takes the right side of", "takes the wrong side of", "the wrong side"
        on = "a pair with a preferred side" if one else "pairs with a preferred side"
    which = "it" if one else "them all"
    ways = []
    if gate_if(reading, accepted=False) is GateResult.PASS:
        ways.append(f"if the judge {rejects} {which}, it holds the limit")
    if gate_if(reading, accepted=True) is GateResult.FAIL:
        ways.append(f"if the judge {accepts} {which}, it breaks the limit")
    if not number or not ways:
        return ""
    return f"The {counted(number, 'missing verdict')} on {on} may decide {rate} alone: {'; '.join(ways)}."


def gate_if(reading: Reading, *, accepted: bool) -> GateResult:
    """What the gate says once every open verdict on a failing answer is in, all accepting or all rejecting.

    Disputed answers that the judge accepted stay against it towards passing and are left out towards failing.
    Read at the gate's level and with its clusters; an approximation where the set is re-weighted.
    """
    gate, table, limit = reading.report.far_gate, reading.report.table, reading.limit
    if limit is None or not gate.n_best:
        return GateResult.INSUFFICIENT
    x = table.fail.accepted + (table.fail.open if accepted else table.unresolved.accepted)
    n = table.fail.total + (0 if accepted else table.unresolved.accepted)
    kept = gate.n_effective_best / gate.n_best
    z = z_value(gate.confidence, sided=gate.sided)
    return score_gate(x * kept, n * kept, limit=limit, z=z)


def clean_once_in(reading: Reading) -> int | None:
    """Further failing answers, all rejected, that pass the gate once every open verdict is in and rejects.

    None where answers share prompts (their worth changes with each answer) or no number would do.
    """
    gate, table, limit = reading.report.far_gate, reading.report.table, reading.limit
    if limit is None or reading.clustered:
        return None
    x = table.fail.accepted + table.unresolved.accepted
    n = table.fail.total + table.unresolved.accepted
    found = more_failures_needed(x, n, limit=limit, z=z_value(gate.confidence, sided=gate.sided))
    return found.clean


def may_settle(reading: Reading, item: PolicyItem) -> bool:
    """True where the open verdicts, turning out well, would let this item hold without further answers."""
    report = reading.report
    if not report.open.x:
        return False
    if item.kind is ItemKind.FAR:
        return gate_if(reading, accepted=False) is GateResult.PASS
    if item.kind is ItemKind.RATE:
        return _guard_may_hold(reading, item)
    if item.name == "informative":
        return _may_tell_apart(reading)
    if item.name == "far_high_bound" and isinstance(item.limit, int | float):
        fail, disputed = report.table.fail, report.table.unresolved.accepted
        return fail.accepted + disputed <= item.limit * (fail.total + disputed)
    return item.name == "kappa_vs_reference"


def _guard_may_hold(reading: Reading, item: PolicyItem) -> bool:
    """A guard on a rate with what is open turning out well."""
    gate = reading.report.guard_gates.get(item.name)
    if gate is None or not gate.n_best or not isinstance(item.limit, int | float):
        return False
    if item.comparison == "point_at_least":
        return gate.x >= item.limit * gate.n
    if item.comparison == "point_at_most":
        return gate.x_best <= item.limit * gate.n_best
    kept = gate.n_effective_best / gate.n_best
    z = z_value(gate.confidence, sided=gate.sided)
    return score_gate(gate.x_best * kept, gate.n_effective_best, limit=item.limit, z=z) is GateResult.PASS


def _may_tell_apart(reading: Reading) -> bool:
    """The difference of acceptance, with open verdicts on good answers accepting and on failing ones not."""
    fail, passing = reading.report.table.fail, reading.report.table.passing
    found = newcombe_independent(
        passing.accepted + passing.open, passing.total, fail.accepted, fail.total, confidence=0.95
    )
    interval = None if isinstance(found, Undefined) else found.interval
    return isinstance(interval, Interval) and interval.lower > 0
