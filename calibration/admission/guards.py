"""The guards beside the gate: rates, slices and agreement, each by what its kind may do."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from calibration.admission.gate import gate_status
from calibration.evidence import (
    CalibrationReport,
    GateFigure,
    ItemKind,
    ItemStatus,
    KappaFigure,
    PolicyItem,
    UndefinedFigure,
)
from calibration.policy import PROBE, AdmissionPolicy, Guard, guard_rule
from calibration.statistics.paired import newcombe_independent
from calibration.statistics.proportions import wilson_interval
from calibration.values import Undefined


def guard_items(report: CalibrationReport, policy: AdmissionPolicy) -> list[PolicyItem]:
    """Every guard of the policy that applies to this report, in the policy's order."""
    items = []
    for name, guard in policy.guards.items():
        rule = guard_rule(name)
        if rule is None:
            raise ValueError(f"{name!r} is no guard; a policy that is read from a file cannot hold it")
        asked = _Asked(name, rule[0], guard, report, policy.z, policy.probe_guards)
        item = _probe(asked) if name.startswith(PROBE) else _EVALUATE.get(name, _rate_guard)(asked)
        if item is not None:
            items.append(item)
    if policy.informative:
        items.append(_informative(report))
    return items


@dataclass(frozen=True, slots=True)
class _Asked:
    """One guard put to one report."""

    name: str
    kind: ItemKind
    guard: Guard
    report: CalibrationReport
    z: float
    probes: tuple[str, ...]
    """Kinds of change that the policy has probe guards on."""


def _item(asked: _Asked, status: ItemStatus, value: float | None, detail: str = "") -> PolicyItem:
    return PolicyItem(
        name=asked.name,
        kind=asked.kind,
        status=status,
        value=value,
        limit=asked.guard.limit,
        comparison=asked.guard.comparison,
        detail=detail,
    )


def _rate_guard(asked: _Asked) -> PolicyItem | None:
    """A guard on a rate; None where the report has no such rate (not applicable: listed, ignored)."""
    guard, report = asked.guard, asked.report
    gate = report.guard_gates.get(asked.name)
    if gate is None:
        return None
    status, value = _rate_status(guard, gate, asked.z)
    if gate.n < guard.min_n:
        status = ItemStatus.INSUFFICIENT
    if status is ItemStatus.FAIL:
        status = _effect(guard, ItemStatus.FAIL)
    detail = "" if gate.n else "no item in the denominator"
    # the count that `value` is of: below for a limit from below, unless the best case broke it
    lower_end = (status is ItemStatus.FAIL) != (guard.comparison == "point_at_least")
    return _item(asked, status, value, detail).model_copy(
        update={
            "x": gate.x_best if lower_end else gate.x,
            "n": gate.n_best if lower_end else gate.n,
            "lower": gate.lower,
            "upper": gate.upper,
        }
    )


def _rate_status(guard: Guard, gate: GateFigure, z: float) -> tuple[ItemStatus, float | None]:
    """Status and the number compared, by the comparison that the guard names."""
    if guard.comparison == "upper_at_most":
        status = gate_status(gate, guard.limit, z=z)
        return status, gate.lower if status is ItemStatus.FAIL else gate.upper
    if not gate.n or not gate.n_best:
        return ItemStatus.INSUFFICIENT, None
    upper_point, lower_point = gate.x / gate.n, gate.x_best / gate.n_best
    if guard.comparison == "point_at_most":
        holds, broken, worst, best = _at_most, _above, upper_point, lower_point
    else:
        holds, broken, worst, best = _at_least, _below, lower_point, upper_point
    if holds(worst, guard.limit):
        return ItemStatus.PASS, worst
    return (ItemStatus.FAIL, best) if broken(best, guard.limit) else (ItemStatus.INSUFFICIENT, worst)


_EPSILON = 1e-12
"""Points are ratios of counts; a limit such as 0.1 is not exact in binary."""


def _at_most(value: float, limit: float) -> bool:
    return value <= limit + _EPSILON


def _above(value: float, limit: float) -> bool:
    return value > limit + _EPSILON


def _at_least(value: float, limit: float) -> bool:
    return value >= limit - _EPSILON


def _below(value: float, limit: float) -> bool:
    return value < limit - _EPSILON


def _effect(guard: Guard, default: ItemStatus) -> ItemStatus:
    """What breaking the guard does."""
    if guard.effect is None:
        return default
    return {
        "fail": ItemStatus.FAIL,
        "insufficient": ItemStatus.INSUFFICIENT,
        "warn": ItemStatus.WARNING,
    }[guard.effect]


def _slice_far(asked: _Asked) -> PolicyItem | None:
    """Fails when a slice with enough failures lies wholly above the limit; None when no slice has enough."""
    guard, report = asked.guard, asked.report
    assessed = [figure for figure in report.slices if figure.far.n >= max(guard.min_n, 1)]
    if not assessed:
        return None
    broken = [f for f in assessed if gate_status(f.far_gate, guard.limit, z=asked.z) is ItemStatus.FAIL]
    worst = max(broken or assessed, key=lambda figure: figure.far_gate.lower)
    status = _effect(guard, ItemStatus.FAIL) if broken else ItemStatus.PASS
    return _item(asked, status, worst.far_gate.lower, f"{worst.slice} {worst.value}").model_copy(
        update={
            "x": worst.far.x,
            "n": worst.far.n,
            "lower": worst.far_gate.lower,
            "upper": worst.far_gate.upper,
        }
    )


def _kappa_guard(asked: _Asked) -> PolicyItem | None:
    """Agreement with the reference; None where kappa is not assessed (undefined, or a margin under 10 %)."""
    guard, report = asked.guard, asked.report
    kappa = report.kappa
    if any(gap.name == "kappa" for gap in report.not_assessed) or not isinstance(kappa, KappaFigure):
        return None
    lower = kappa.lower if kappa.lower is not None else kappa.estimate
    status = ItemStatus.PASS if lower >= guard.limit else _effect(guard, ItemStatus.INSUFFICIENT)
    return _item(asked, status, lower).model_copy(
        update={"n": kappa.n, "lower": kappa.lower, "upper": kappa.upper}
    )


def _rater_kappa(asked: _Asked) -> PolicyItem:
    """Agreement between raters before adjudication: kappa of two, alpha of more, or insufficient."""
    guard, raters = asked.guard, asked.report.raters
    if raters is None:
        return _item(asked, ItemStatus.INSUFFICIENT, None, "no rater is recorded")
    found = raters.alpha if isinstance(raters.kappa, UndefinedFigure) else raters.kappa
    if isinstance(found, UndefinedFigure):
        reason = raters.kappa.undefined if raters.raters < 2 else found.undefined  # type: ignore[union-attr]
        return _item(asked, ItemStatus.INSUFFICIENT, None, reason)
    holds = _at_least(found.estimate, guard.limit)
    status = ItemStatus.PASS if holds else _effect(guard, ItemStatus.INSUFFICIENT)
    return _item(asked, status, found.estimate).model_copy(
        update={"lower": found.lower, "upper": found.upper}
    )


def _probe(asked: _Asked) -> PolicyItem:
    """Whether a kind of change makes the judge accept failures that it did not accept before.

    Fails where the recorded probe found a rise, passes where its upper end is at or under the limit, and is
    insufficient between, without a probe, and where the probe's levels were shared among fewer kinds of
    change than the policy asks about. A guard that only warns does so in each of these.
    """
    family, guard = asked.name.removeprefix(PROBE), asked.guard
    found = next((figure for figure in asked.report.probes if figure.family == family), None)
    short = ItemStatus.WARNING if guard.effect == "warn" else ItemStatus.INSUFFICIENT
    if found is None:
        families = " ".join(f"--family {each}" for each in asked.probes)
        return _item(asked, short, None, f"not probed: run `voirdire probe {families}` for this judge")
    flips = f"{found.flipped} of {found.n} failures accepted only with the change, {found.back} only without"
    if found.flipped_at_most > found.flipped:
        flips += f"; up to {found.flipped_at_most} with those that have no verdict"
    if found.judge:
        flips += f"; found in judge {found.judge}, which asks the same calls"
    if found.word == BIASED:
        return _item(asked, _effect(guard, ItemStatus.FAIL), found.rise_lower, f"biased: {flips}")
    if found.shared < len(asked.probes):
        kinds = f"its levels are shared among {found.shared}, the policy asks about {len(asked.probes)}"
        what = f"probe all kinds of change in one probe of at least {found.n} failures"
        return _item(asked, short, found.rise_upper, f"{what}: {kinds}")
    if found.n < guard.min_n:
        return _item(asked, short, found.rise_upper, f"underpowered: asked for {guard.min_n} items; {flips}")
    if found.rise_upper <= guard.limit:
        return _item(asked, ItemStatus.PASS, found.rise_upper, f"bounded: {flips}")
    return _item(asked, short, found.rise_upper, f"underpowered: probe more failures; {flips}")


BIASED = "biased"
"""The word of a probe that found a rise."""


def _far_high_bound(asked: _Asked) -> PolicyItem:
    """The point FAR with every open verdict and unresolved reference against the judge."""
    guard, report = asked.guard, asked.report
    high = report.far_bounds.high
    if high is None:
        return _item(asked, ItemStatus.INSUFFICIENT, None, "no item has a reference failure")
    status = ItemStatus.PASS if _at_most(high, guard.limit) else _effect(guard, ItemStatus.INSUFFICIENT)
    return _item(asked, status, high)


def _picks_sides(report: CalibrationReport) -> PolicyItem:
    """Without a candidate: insufficient unless the judge picks the right side more often than not."""
    table = report.answer_agreement
    right = wrong = 0
    if table is not None:
        place = {answer: i for i, answer in enumerate(table.answers)}
        a, b = place["A"], place["B"]
        right = table.counts[a][a] + table.counts[b][b]
        wrong = table.counts[a][b] + table.counts[b][a]
    interval = wilson_interval(right, right + wrong)
    return PolicyItem(
        name="informative",
        kind=ItemKind.AGREEMENT,
        status=ItemStatus.PASS if interval.lower > CHANCE else ItemStatus.INSUFFICIENT,
        value=interval.lower,
        limit=CHANCE,
        comparison="lower_above",
        x=right,
        n=right + wrong,
        lower=interval.lower,
        upper=interval.upper,
        detail="right side among the sides picked where the reference prefers one",
    )


CHANCE = 0.5
"""Share of right sides that a coin picks."""


def _informative(report: CalibrationReport) -> PolicyItem:
    """Insufficient unless passes are accepted more often than failures (Newcombe 1998, independent).

    Open verdicts count against the judge on both sides: accepted among failures, not accepted among passes.
    """
    if report.far is None:
        return _picks_sides(report)
    fail, passing = report.table.fail, report.table.passing
    found = (
        newcombe_independent(
            passing.accepted, passing.total, fail.accepted + fail.open, fail.total, confidence=0.95
        )
        if passing.total and fail.total
        else Undefined("needs reference passes and reference failures")
    )
    interval = (
        None if isinstance(found, Undefined) or isinstance(found.interval, Undefined) else found.interval
    )
    status = ItemStatus.PASS if interval and interval.lower > 0 else ItemStatus.INSUFFICIENT
    return PolicyItem(
        name="informative",
        kind=ItemKind.AGREEMENT,
        status=status,
        value=interval.lower if interval else None,
        limit=0.0,
        comparison="lower_above",
        lower=interval.lower if interval else None,
        upper=interval.upper if interval else None,
        detail=found.reason
        if isinstance(found, Undefined)
        else "acceptance among passes less among failures",
    )


_EVALUATE: dict[str, Callable[[_Asked], PolicyItem | None]] = {
    "slice_far": _slice_far,
    "kappa_vs_reference": _kappa_guard,
    "rater_kappa": _rater_kappa,
    "far_high_bound": _far_high_bound,
}
