"""Examinations to render, each made by the product's own report and decision from counted cases."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import cache

from calibration.admission import decide
from calibration.evidence import (
    CalibrationReport,
    Case,
    Comparison,
    Examination,
    RankRange,
    ReportScope,
    Tie,
)
from calibration.labels import Assessment, Blindness, ReferenceLabel, UnresolvedReason
from calibration.policy import AdmissionPolicy, far_only, shipped_policy
from calibration.report import build_report
from calibration.report.supplement import AnswerTable, Supplement
from rubrics.verdict import FAIL, PASS, Outcome, UnknownReason, Verdict, unknown


@dataclass(frozen=True)
class Evidence:
    """How many answers of each kind; the rest of a group is rejected (failing) or accepted (good)."""

    fail: int
    accepted_fail: int = 0
    good: int = 120
    accepted_good: int | None = None
    unresolved: int = 0
    accepted_unresolved: int = 0
    open_fail: int = 0
    abstained_fail: int = 0
    invalid_good: int = 0
    per_prompt: int = 1
    """Failing answers that share a prompt."""
    slices: bool = False
    raters: int = 1
    blind: Blindness = Blindness.UNKNOWN


def _reference(verdict: Verdict, raters: int) -> ReferenceLabel:
    unresolved = UnresolvedReason.DISAGREEMENT if verdict is Verdict.UNKNOWN else None
    return ReferenceLabel(verdict, raters, adjudicated=False, unresolved=unresolved)


def _outcomes(evidence: Evidence) -> list[tuple[Verdict, Outcome]]:
    e = evidence
    rejected = e.fail - e.accepted_fail - e.open_fail - e.abstained_fail
    accepted_good = e.good - e.invalid_good if e.accepted_good is None else e.accepted_good
    fail = (
        [PASS] * e.accepted_fail
        + [unknown(UnknownReason.MISSING)] * e.open_fail
        + [unknown(UnknownReason.ABSTAINED)] * e.abstained_fail
        + [FAIL] * rejected
    )
    good = (
        [PASS] * accepted_good
        + [unknown(UnknownReason.INVALID)] * e.invalid_good
        + [FAIL] * (e.good - accepted_good - e.invalid_good)
    )
    disputed = [PASS] * e.accepted_unresolved + [FAIL] * (e.unresolved - e.accepted_unresolved)
    return (
        [(Verdict.FAIL, outcome) for outcome in fail]
        + [(Verdict.PASS, outcome) for outcome in good]
        + [(Verdict.UNKNOWN, outcome) for outcome in disputed]
    )


def cases_of(evidence: Evidence) -> list[Case]:
    """The cases: failing answers first, then good ones, then those without an agreed label."""
    cases = []
    for number, (verdict, outcome) in enumerate(_outcomes(evidence)):
        cluster = f"p{number // evidence.per_prompt}" if verdict is Verdict.FAIL else f"q{number}"
        slices = (("kind", "adversarial" if number % 3 == 0 else "easy"),) if evidence.slices else ()
        reference = _reference(verdict, evidence.raters)
        cases.append(Case(f"i{number:05d}", cluster, reference, outcome, slices))
    return cases


def assessments_of(evidence: Evidence, criterion: str) -> list[Assessment]:
    """Each rater's label of each answer; two raters of an unresolved answer say the opposite."""
    made = []
    for case in cases_of(evidence):
        for rater in range(evidence.raters):
            verdict = case.reference.verdict
            if verdict is Verdict.UNKNOWN:
                verdict = Verdict.PASS if rater % 2 else Verdict.FAIL
            made.append(
                Assessment(case.item_id, criterion, f"rater-{rater + 1}", verdict, blind=evidence.blind)
            )
    return made


def report_of(
    evidence: Evidence,
    *,
    policy: AdmissionPolicy | None,
    judge: str = "judge-b",
    criterion: str = "correct",
    constructed: bool = False,
    warnings: Sequence[str] = (),
) -> CalibrationReport:
    """The product's report of the evidence."""
    return build_report(
        cases_of(evidence),
        scope=ReportScope(judge=judge, criterion=criterion, dataset="answers.csv"),
        policy=policy,
        assessments=assessments_of(evidence, criterion),
        constructed=constructed,
        warnings=warnings,
    )


def examine(
    evidence: Evidence,
    *,
    policy: AdmissionPolicy | None = None,
    limit: float | None = 0.10,
    looks_used: int = 1,
    judge: str = "judge-b",
    criterion: str = "correct",
    constructed: bool = False,
    warnings: Sequence[str] = (),
) -> Examination:
    """The examination under the policy; under far_only at the limit without one; undecided without either."""
    rule = policy or (far_only(limit) if limit is not None else None)
    report = report_of(
        evidence, policy=rule, judge=judge, criterion=criterion, constructed=constructed, warnings=warnings
    )
    return Examination(report=report, decision=decide(report, rule, looks_used=looks_used) if rule else None)


def preferences(evidence: Evidence, *, judge: str = "judge-p") -> Examination:
    """Pairs without a declared candidate under 10 %: failing is a preferred side, accepted the wrong one."""
    wrong, pending = evidence.accepted_fail, evidence.open_fail
    right = evidence.fail - wrong - pending - evidence.abstained_fail
    sides = ((right, wrong, 0, pending + evidence.abstained_fail), (0, 0, 0, 0), (0, 0, 0, 0))
    policy = far_only(0.10)
    report = build_report(
        cases_of(evidence),
        scope=ReportScope(judge=judge, criterion="better", dataset="pairs.csv"),
        policy=policy,
        assessments=assessments_of(evidence, "better"),
        supplement=Supplement(answers=AnswerTable(("A", "B", "tie"), sides, ordered=False), wrong_side=True),
    )
    return Examination(report=report, decision=decide(report, policy))


FLAT = Evidence(fail=80, accepted_fail=16, accepted_good=114)


def rejected() -> Examination:
    """16 of 80 failures and 114 of 120 passes accepted."""
    return examine(FLAT)


def admitted() -> Examination:
    """0 of 50 failures and 114 of 120 passes accepted."""
    return examine(Evidence(fail=50, accepted_good=114), judge="judge-a")


def insufficient() -> Examination:
    """2 of 30 failures and 110 of 120 passes accepted."""
    return examine(Evidence(fail=30, accepted_fail=2, accepted_good=110), judge="judge-c")


def open_verdicts() -> Examination:
    """The same plus 30 failures with an empty verdict."""
    return examine(Evidence(fail=60, accepted_fail=2, accepted_good=110, open_fail=30), judge="judge-c")


def clustered() -> Examination:
    """4 of 100 failures accepted, five outputs to each of 20 prompts."""
    return examine(Evidence(fail=100, accepted_fail=4, accepted_good=114, per_prompt=5), judge="judge-d")


def no_failures() -> Examination:
    """200 passes and no failure."""
    return examine(Evidence(fail=0, good=200, accepted_good=190), judge="judge-e")


def undecided() -> Examination:
    """16 of 80 without a limit or policy."""
    return examine(FLAT, limit=None)


def full_policy() -> Examination:
    """Two blind raters, slices, unresolved references and abstentions under the acceptance policy."""
    evidence = Evidence(
        fail=120,
        accepted_fail=2,
        good=130,
        accepted_good=122,
        unresolved=6,
        accepted_unresolved=1,
        abstained_fail=4,
        invalid_good=1,
        slices=True,
        raters=2,
        blind=Blindness.YES,
    )
    return examine(evidence, policy=shipped_policy("acceptance"), judge="judge-a")


def constructed() -> Examination:
    """The demonstration policy on constructed evidence."""
    evidence = Evidence(
        fail=64, accepted_fail=1, good=90, accepted_good=80, slices=True, raters=2, unresolved=4
    )
    return examine(evidence, policy=shipped_policy("demo"), judge="rule-window", constructed=True)


ELEVEN = {
    "EM": 4, "Contains": 13, "JudgeLM": 71, "Llama-13B": 83, "Llama3-70B": 190, "Gemma-2B": 800,
    "Llama-7B": 333, "Mistral-7B": 285, "Llama3-8B": 296, "Llama-70B": 228, "GPT-4": 170,
}  # fmt: skip


@cache
def eleven_judges() -> Comparison:
    """Eleven judges on the same 1,093 failures from 264 prompts."""
    made = tuple(
        examine(
            Evidence(fail=1093, accepted_fail=accepted, good=507, accepted_good=465, per_prompt=4),
            judge=judge,
        )
        for judge, accepted in ELEVEN.items()
    )
    ranks = tuple(
        RankRange(criterion="correct", judge=judge, low=max(1, place - 1), high=min(11, place + 1))
        for place, judge in enumerate(sorted(ELEVEN, key=ELEVEN.__getitem__), start=1)
    )
    ties = (
        Tie(
            criterion="correct",
            judges=("JudgeLM", "Llama-13B"),
            only_first=30,
            only_second=42,
            shared_failures=1093,
            p_value=0.19,
        ),
    )
    return Comparison(examinations=made, rank=ranks, ties=ties)


def three_judges() -> Comparison:
    """One judge of each outcome."""
    found = (
        examine(Evidence(fail=80, accepted_fail=1, accepted_good=112, slices=True), judge="judge-a"),
        examine(Evidence(fail=80, accepted_fail=4, accepted_good=108, slices=True), judge="judge-c"),
        examine(replace(FLAT, slices=True), judge="judge-b"),
    )
    tie = Tie(
        criterion="correct",
        judges=("judge-a", "judge-c"),
        only_first=0,
        only_second=3,
        shared_failures=80,
        p_value=0.25,
    )
    ranks = tuple(
        RankRange(criterion="correct", judge=judge, low=low, high=high)
        for judge, low, high in (("judge-a", 1, 2), ("judge-c", 1, 2), ("judge-b", 3, 3))
    )
    return Comparison(examinations=found, rank=ranks, ties=(tie,))


def two_criteria() -> Comparison:
    """One rule judge under two criteria, rejected under one of them."""
    good = Evidence(fail=64, accepted_fail=1, good=90, accepted_good=84)
    bad = Evidence(fail=72, accepted_fail=19, good=82, accepted_good=75)
    return Comparison(
        examinations=(
            examine(good, judge="rule-window", criterion="states the date"),
            examine(bad, judge="rule-window", criterion="answers the question"),
        )
    )


ALL: dict[str, Callable[[], Examination | Comparison]] = {
    "rejected": rejected,
    "admitted": admitted,
    "insufficient": insufficient,
    "open_verdicts": open_verdicts,
    "clustered": clustered,
    "no_failures": no_failures,
    "undecided": undecided,
    "full_policy": full_policy,
    "constructed": constructed,
    "three_judges": three_judges,
    "eleven_judges": eleven_judges,
    "two_criteria": two_criteria,
}
