"""What is wrong with a policy before any evidence: above all, that nobody could ever pass it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from calibration.admission import decide
from calibration.evidence import (
    AdmissionOutcome,
    Case,
    ItemStatus,
    OperationFigure,
    ProbeFigure,
    ReportScope,
)
from calibration.labels import Assessment, Blindness, ReferenceLabel
from calibration.policy import PROBE, TRIGGERS, AdmissionPolicy
from calibration.report import build_report
from calibration.report.supplement import Supplement
from calibration.statistics.normal import z_value
from calibration.statistics.planning import min_failures_clean
from rubrics.verdict import FAIL, PASS, Verdict

TYPICAL_PASSES = 50
"""Reference passes assumed where a policy names no minimum."""
FLAWLESS = OperationFigure(verdicts=1, costed=1, cost_micros=0, items=1, timed=1, latency_p95_ms=0)
"""Verdicts that cost nothing and take no time."""


def lint_policy(policy: AdmissionPolicy) -> tuple[str, ...]:
    """What is wrong with the policy, one sentence each; empty when it can do its work.

    A judge that is right about every item, on exactly the policy's own minimum of blind, agreeing
    labels and one output per cluster, must be admitted at the first look.
    """
    declared, problems = policy.minimum.fail, []
    needed = clean_failures(policy)
    if declared and declared < needed:
        problems.append(
            f"minimum.fail is {declared}, but at {policy.looks.max} look(s) and the limit "
            f"{policy.primary.upper_at_most:g} even a perfect judge needs {needed} reference failures; "
            f"set minimum.fail to {needed} or more"
        )
    problems.extend(_unknown_triggers(policy))
    problems.extend(_unmet_by_perfect_judge(policy, max(declared, needed, *_part_sums(policy))))
    return tuple(problems)


def clean_failures(policy: AdmissionPolicy) -> int:
    """Reference failures, each of its own cluster and all rejected, that pass the gate; 0 without one."""
    if not policy.gate:
        return 0
    return min_failures_clean(policy.primary.upper_at_most, z=policy.z)


def _unknown_triggers(policy: AdmissionPolicy) -> Iterator[str]:
    for field in ("recalibrate_on", "warn_on"):
        for word in getattr(policy, field):
            if word not in TRIGGERS:
                yield f"{field} names {word!r}, which nothing raises; known triggers: {', '.join(TRIGGERS)}"


def _levels(policy: AdmissionPolicy) -> Counter[str]:
    """Failures that each severity level with a limit needs."""
    z = z_value(policy.confidence, sided=policy.primary.sided)
    return Counter(
        {
            level: max(limit.min_n, min_failures_clean(limit.upper_at_most, z=z))
            for level, limit in policy.severities.items()
        }
    )


def _slices(policy: AdmissionPolicy) -> dict[str, Counter[str]]:
    """Failures that each value of a required slice needs, by slice name."""
    found: dict[str, Counter[str]] = {}
    for key, number in policy.required.slices.items():
        name, _, value = key.partition("=")
        found.setdefault(name, Counter())[value] = number
    return found


def _part_sums(policy: AdmissionPolicy) -> tuple[int, ...]:
    modes = policy.required.failure_modes.values()
    by_slice = (counts.total() for counts in _slices(policy).values())
    return (_levels(policy).total(), *modes, *by_slice)


def _perfect_cases(policy: AdmissionPolicy, failures: int, passes: int, raters: int) -> list[Case]:
    """Cases that a judge is right about, with every level, mode and slice that the policy asks for."""
    levels = list(_levels(policy).elements())
    slices = {name: list(counts.elements()) for name, counts in _slices(policy).items()}
    modes = policy.required.failure_modes
    cases = []
    for number in range(failures + passes):
        item, fails = f"item-{number:06d}", number < failures
        cases.append(
            Case(
                item,
                item,
                ReferenceLabel(Verdict.FAIL if fails else Verdict.PASS, raters),
                FAIL if fails else PASS,
                slices=tuple((n, values[number]) for n, values in slices.items() if number < len(values)),
                failure_modes=tuple(mode for mode, n in modes.items() if fails and number < n),
                severity=levels[number] if number < len(levels) else "",
            )
        )
    return cases


def _unmoved(policy: AdmissionPolicy) -> tuple[ProbeFigure, ...]:
    """Probes of the size that each guard asks for, in which nothing flips."""
    families = policy.probe_guards
    return tuple(
        ProbeFigure(
            family=family,
            probe="",
            word="bounded",
            n=max(policy.guards[PROBE + family].min_n, 1),
            flipped=0,
            flipped_at_most=0,
            back=0,
            rise_lower=0.0,
            rise_upper=0.0,
            p_value=1.0,
            shared=len(families),
        )
        for family in families
    )


def _unmet_by_perfect_judge(policy: AdmissionPolicy, failures: int) -> list[str]:
    minimum = policy.minimum
    passes = max(minimum.passing or TYPICAL_PASSES, minimum.cases - failures)
    raters = max(minimum.raters_per_case, 1)
    cases = _perfect_cases(policy, failures, passes, raters)
    labels = [
        Assessment(case.item_id, "criterion", f"rater-{rater}", case.reference.verdict, blind=Blindness.YES)
        for case in cases
        for rater in range(raters)
    ]
    report = build_report(
        cases,
        scope=ReportScope(judge="perfect", criterion="criterion"),
        policy=policy,
        assessments=labels,
        supplement=Supplement(operation=FLAWLESS, probes=_unmoved(policy)),
    )
    decision = decide(report, policy)
    if decision.outcome is AdmissionOutcome.ADMIT:
        return []
    return [
        f"a perfect judge on {failures} failures and {passes} passes is not admitted: item {item.name} is "
        f"{item.status} (value {item.value}, limit {item.limit}); loosen it or raise the minimum"
        for item in decision.items
        if item.status in {ItemStatus.FAIL, ItemStatus.INSUFFICIENT}
    ]
