"""Figures beyond the set itself: groups of failures, the deployment, another prevalence, raters who err."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from itertools import islice
from typing import Any

import numpy as np

from calibration.evidence import (
    Case,
    CorrectedFigure,
    GateFigure,
    GroupFigure,
    RateFigure,
    RaterErrorFigure,
    RestatedFigure,
    VerdictTable,
)
from calibration.policy import AdmissionPolicy
from calibration.report.coding import FAIL, FAR_RULE, PASS, CodedCases, GateSettings, gate_figure
from calibration.report.figures import MIN_GROUP, rate_figure
from calibration.report.supplement import Deployment, Supplement
from calibration.statistics.correction import CorrectionMethod, JudgeErrors, choose_correction, rogan_gladen
from calibration.statistics.error_rates import far_by_group
from calibration.statistics.proportions import rate
from calibration.statistics.rater_error import (
    RaterErrors,
    apparent_far,
    failures_among_accepted_at,
    far_given_rater_errors,
)
from calibration.values import Undefined
from rubrics.verdict import Verdict

MOST_LISTED = 200
"""Accepted failures whose ids a report lists."""


def beyond(
    cases: Sequence[Case], table: VerdictTable, supplement: Supplement, policy: AdmissionPolicy | None
) -> dict[str, Any]:
    """The fields of a report that go beyond its set, each null or empty where its input is not known."""
    failures = [case for case in cases if case.reference.verdict is Verdict.FAIL]
    accepted = (case.item_id for case in failures if case.outcome.accepted)
    return {
        "accepted_failures": tuple(islice(accepted, MOST_LISTED)),
        "failure_modes": group_figures(cases, lambda case: case.failure_modes, policy),
        "severities": group_figures(cases, lambda case: (case.severity,) if case.severity else (), policy),
        "corrected": corrected_figure(table, supplement.deployment),
        "restated": restated_figure(table, supplement.prevalence),
        "rater_error": rater_error_figure(table, supplement.rater_errors),
        "target": target(supplement),
        "operation": supplement.operation,
    }


def target(supplement: Supplement) -> str:
    """What an interval speaks about, by how the items came to be there."""
    if supplement.accepts_only:
        return "what the judge accepts in use"
    if supplement.design in {None, "convenience"}:
        return "items like these: no sampling design is recorded"
    return "the population that the set was drawn from"


def group_figures(
    cases: Sequence[Case], groups_of: Callable[[Case], Sequence[str]], policy: AdmissionPolicy | None
) -> tuple[GroupFigure, ...]:
    """FAR of each group of failures with its own status; groups with few failures are not assessed.

    Args:
        cases: all of the set, so that strata without a failure of a group are known to be there.
        groups_of: the groups of a failure.
        policy: whose gate settings and guard are taken.
    """
    failed = [case.reference.verdict is Verdict.FAIL for case in cases]
    groups = [groups_of(case) if fail else () for case, fail in zip(cases, failed, strict=True)]
    accepted = [case.outcome.accepted for case, fail in zip(cases, failed, strict=True) if fail]
    of_failures = [names for names, fail in zip(groups, failed, strict=True) if fail]
    if not any(of_failures):
        return ()
    gates = _gates(cases, groups, policy)
    if policy is None:
        counts: dict[str, list[int]] = {}
        for names, was_accepted in zip(of_failures, accepted, strict=True):
            for name in set(names):
                cell = counts.setdefault(name, [0, 0])
                cell[0] += was_accepted
                cell[1] += 1
        return tuple(
            GroupFigure(group=name, far=rate_figure(x, n), limit=None, status=None, far_gate=gates[name])
            for name, (x, n) in sorted(counts.items())
        )
    guard = policy.guards.get("slice_far")
    found = far_by_group(
        of_failures,
        accepted,
        limits=policy.primary.upper_at_most,
        z=policy.z,
        min_failures=guard.min_n if guard else MIN_GROUP,
    )
    return tuple(
        GroupFigure(
            group=g.group,
            far=RateFigure.of(g.far),
            limit=g.limit,
            status=g.status.value,
            far_gate=gates[g.group],
        )
        for g in found
    )


def _gates(
    cases: Sequence[Case], groups: Sequence[Sequence[str]], policy: AdmissionPolicy | None
) -> dict[str, GateFigure]:
    """The gate's interval among the failures of each group, as the gate's own is made.

    Whatever is not of the group counts as a pass: it is in no rate, and shows which strata were drawn from.
    """
    coded, settings = CodedCases.of(cases), GateSettings.of(policy)
    found = {}
    for name in sorted({name for names in groups for name in names}):
        members = np.array([name in names for names in groups])
        only = replace(coded, reference=np.where(members, FAIL, PASS))
        found[name] = gate_figure(only, FAR_RULE, settings)
    return found


def corrected_figure(table: VerdictTable, deployment: Deployment | None) -> CorrectedFigure | None:
    """The deployment's pass rate corrected for the judge's errors, or why it cannot be corrected.

    The labelled set is not taken for a random sample of the deployment, so the estimator is Rogan-Gladen's,
    which needs only FAR and non-acceptance to carry over.
    """
    if deployment is None:
        return None
    fail, passing = table.fail, table.passing
    errors = JudgeErrors(fail.accepted, fail.total, passing.total - passing.accepted, passing.total)
    method = choose_correction(errors, labels_are_random_sample=False)
    found = (
        method if isinstance(method, Undefined) else rogan_gladen(deployment.accepted, deployment.n, errors)
    )
    undefined = found.reason if isinstance(found, Undefined) else None
    return CorrectedFigure(
        accepted=deployment.accepted,
        n=deployment.n,
        method="none" if undefined else CorrectionMethod.ROGAN_GLADEN.value,
        estimate=None if isinstance(found, Undefined) else found.estimate,
        lower=None if isinstance(found, Undefined) else found.interval.lower,
        upper=None if isinstance(found, Undefined) else found.interval.upper,
        undefined=undefined,
    )


def restated_figure(table: VerdictTable, prevalence: float | None) -> RestatedFigure | None:
    """Failure among accepted at the declared prevalence; both rates at their ends."""
    if prevalence is None:
        return None
    fail, passing = table.fail, table.passing
    found = failures_among_accepted_at(
        prevalence,
        rate(fail.accepted, fail.total),
        rate(passing.total - passing.accepted, passing.total),
    )
    return RestatedFigure(
        prevalence=prevalence,
        estimate=None if isinstance(found.estimate, Undefined) else found.estimate,
        lower=found.interval.lower,
        upper=found.interval.upper,
    )


def rater_error_figure(table: VerdictTable, errors: RaterErrors | None) -> RaterErrorFigure | None:
    """FAR against the truth if the raters err so, and what a perfect judge would show with such raters."""
    if errors is None:
        return None
    fail, passing = table.fail, table.passing
    resolved = fail.total + passing.total
    found: Any = Undefined("no reference failure, or no reference pass")
    perfect: float | Undefined = Undefined("no reference failure, or no reference pass")
    if fail.total and passing.total:
        share = fail.total / resolved
        found = far_given_rater_errors(
            measured_far=fail.accepted / fail.total,
            measured_frr=(passing.total - passing.accepted) / passing.total,
            labelled_fail_share=share,
            raters=errors,
        )
        power = errors.detects_fail + errors.passes_pass - 1
        prevalence = (share - 1 + errors.passes_pass) / power if power > 0 else share
        perfect = apparent_far(
            fail_prevalence=min(1.0, max(0.0, prevalence)), true_far=0.0, true_frr=0.0, raters=errors
        )
    return RaterErrorFigure(
        detects_fail=errors.detects_fail,
        passes_pass=errors.passes_pass,
        far=None if isinstance(found, Undefined) else found.far,
        perfect_judge_shows=None if isinstance(perfect, Undefined) else perfect,
        undefined=found.reason if isinstance(found, Undefined) else None,
    )
