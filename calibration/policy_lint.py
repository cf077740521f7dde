"""What is wrong with a policy before any evidence: above all, that nobody could ever pass it."""

from __future__ import annotations

from calibration.admission import decide
from calibration.evidence import AdmissionOutcome, Case, ItemStatus, ReportScope
from calibration.labels import Assessment, Blindness, ReferenceLabel
from calibration.policy import AdmissionPolicy
from calibration.report import build_report
from calibration.statistics.planning import min_failures_clean
from rubrics.verdict import FAIL, PASS, Verdict

TYPICAL_PASSES = 50
"""Reference passes assumed where a policy names no minimum."""


def lint_policy(policy: AdmissionPolicy) -> tuple[str, ...]:
    """What is wrong with the policy, one sentence each; empty when it can do its work.

    A judge that is right about every item, on exactly the policy's own minimum of blind, agreeing
    labels and one output per cluster, must be admitted at the first look.
    """
    needed = min_failures_clean(policy.primary.upper_at_most, z=policy.z)
    declared = policy.minimum.fail
    problems = []
    if declared and declared < needed:
        problems.append(
            f"minimum.fail is {declared}, but at {policy.looks.max} look(s) and the limit "
            f"{policy.primary.upper_at_most:g} even a perfect judge needs {needed} reference failures; "
            f"set minimum.fail to {needed} or more"
        )
    problems.extend(_unmet_by_perfect_judge(policy, max(declared, needed)))
    return tuple(problems)


def _unmet_by_perfect_judge(policy: AdmissionPolicy, failures: int) -> list[str]:
    minimum = policy.minimum
    passes = max(minimum.passing or TYPICAL_PASSES, minimum.cases - failures)
    raters = max(minimum.raters_per_case, 1)
    verdicts = [Verdict.FAIL] * failures + [Verdict.PASS] * passes
    cases, labels = [], []
    for number, verdict in enumerate(verdicts):
        item = f"item-{number:06d}"
        outcome = PASS if verdict is Verdict.PASS else FAIL
        cases.append(Case(item, item, ReferenceLabel(verdict, raters), outcome))
        labels += [
            Assessment(item, "criterion", f"rater-{rater}", verdict, blind=Blindness.YES)
            for rater in range(raters)
        ]
    report = build_report(
        cases, scope=ReportScope(judge="perfect", criterion="criterion"), policy=policy, assessments=labels
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
