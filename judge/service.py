"""Use case: grade an output for a consumer. The registry is asked first, for every required criterion.

A criterion without a live admission is never graded by somebody else and never left out: the whole grade is
refused, and the refusal names what is missing.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlmodel import Session

from calibration.registry import ANY_POPULATION, require_admission
from calibration.store.decisions import DecisionScope, StoredDecision, iter_decisions
from calibration.store.judges import StoredJudge, get_judge
from judge.grading import grade_by_rule
from judge.question import Question
from judge.rules import load_checks
from judge.spec import RuleJudge
from rubrics.errors import AdmissionError, JudgeNotAdmitted
from rubrics.item import Item
from rubrics.rubric import Rubric
from rubrics.scale import NoClaim
from rubrics.verdict import Outcome, Verdict, combine

AUTO = "auto"
ACCEPTANCE = "acceptance"


@dataclass(frozen=True, slots=True)
class GradeRequest:
    """What is to be graded and by whom."""

    rubric: Rubric
    criteria: tuple[str, ...]
    judge: str = AUTO
    """A judge by name or digest; `auto` takes each criterion's own admitted judge."""
    population: str = ANY_POPULATION
    role: str = ACCEPTANCE


@dataclass(frozen=True, slots=True)
class Grader:
    """The admitted judge of one criterion with the decision that it rests on."""

    criterion: str
    judge: StoredJudge
    decision: StoredDecision


@dataclass(frozen=True, slots=True)
class CriterionGrade:
    """The verdict on one criterion."""

    criterion: str
    outcome: Outcome
    rationale: str
    judge: str
    decision: str


@dataclass(frozen=True, slots=True)
class Grade:
    """The verdicts on one item and what they amount to."""

    item_id: str
    overall: Verdict
    """Of the required criteria, by the four-verdict rule."""
    criteria: tuple[CriterionGrade, ...]
    content_digest: str
    """Of the texts that were graded."""


def appoint(*, session: Session, request: GradeRequest, at: datetime) -> tuple[Grader, ...]:
    """The admitted grader of each criterion asked for; all of them, or an error.

    Args:
        session: a reading session.
        request: rubric, criteria, judge, population and role.
        at: now.

    Raises:
        JudgeNotAdmitted: some criterion has no live admission; `missing` names each.
        AdmissionExpired: the only thing wrong is that an admission has lapsed.
    """
    graders: list[Grader] = []
    refused: list[AdmissionError] = []
    for criterion in request.criteria:
        request.rubric.criterion(criterion)
        try:
            graders.append(_appointed(session, request, criterion, at))
        except AdmissionError as error:
            refused.append(error)
    if len(refused) == 1:
        raise refused[0]
    if refused:
        raise JudgeNotAdmitted(
            "; ".join(str(error) for error in refused),
            missing=tuple(line for error in refused for line in _missing(error)),
        )
    return tuple(graders)


def _missing(error: AdmissionError) -> tuple[str, ...]:
    return error.missing if isinstance(error, JudgeNotAdmitted) else (str(error),)


def _appointed(session: Session, request: GradeRequest, criterion: str, at: datetime) -> Grader:
    judges = _candidates(session, request, criterion)
    first: AdmissionError | None = None
    for judge in judges:
        scope = DecisionScope(
            judge.digest, request.rubric.digest, criterion, request.population, request.role
        )
        try:
            decision = require_admission(
                session=session, scope=scope, judge=judge.name, rubric=request.rubric.ref, at=at
            )
        except AdmissionError as error:
            first = first or error
        else:
            return Grader(criterion, judge, decision)
    raise first or JudgeNotAdmitted(
        f"no judge is admitted for {request.rubric.ref} {criterion!r} ({request.role}, "
        f"{request.population}); run `voirdire calibrate`, then `voirdire admit`",
        missing=(f"a decision for {request.rubric.ref}, {criterion}, {request.population}, {request.role}",),
    )


def _candidates(session: Session, request: GradeRequest, criterion: str) -> Sequence[StoredJudge]:
    """The judge that is named, or every judge with a standing decision on the criterion, newest first."""
    if request.judge != AUTO:
        return [get_judge(session=session, judge=request.judge)]
    standing = [
        decision
        for decision in iter_decisions(session=session, rubric_digest=request.rubric.digest, standing=True)
        if decision.scope.criterion == criterion
    ]
    digests = dict.fromkeys(decision.scope.judge_digest for decision in reversed(standing))
    return [get_judge(session=session, judge=digest) for digest in digests]


def grade_items(request: GradeRequest, graders: Sequence[Grader], items: Sequence[Item]) -> Iterator[Grade]:
    """The grade of each item by its appointed graders.

    Raises:
        JudgeNotAdmitted: an appointed judge cannot be run here (an external one, or one that needs a model).
    """
    specs = {grader.criterion: _runnable(grader) for grader in graders}
    checks = {criterion: load_checks(spec) for criterion, spec in specs.items()}
    required = {criterion.key for criterion in request.rubric.required}
    for item in items:
        grades = tuple(
            _graded(request.rubric, grader, specs[grader.criterion], checks[grader.criterion], item)
            for grader in graders
        )
        overall = combine(grade.outcome.combinable for grade in grades if grade.criterion in required)
        yield Grade(item.item_id, overall, grades, item.content_digest)


def _graded(
    rubric: Rubric, grader: Grader, spec: RuleJudge, checks: Mapping[str, Any], item: Item
) -> CriterionGrade:
    question = Question(rubric, rubric.criterion(grader.criterion), item)
    graded = grade_by_rule(spec, question, checks=checks)
    if isinstance(graded.outcome, NoClaim):  # a rule judge serves binary criteria only
        raise TypeError(f"{grader.judge.name} gave a preference")
    return CriterionGrade(
        criterion=grader.criterion,
        outcome=graded.outcome,
        rationale=graded.verdicts[0].rationale or "",
        judge=grader.judge.name,
        decision=grader.decision.hash,
    )


def _runnable(grader: Grader) -> RuleJudge:
    """The spec of a judge that can be run here."""
    judge = grader.judge
    if judge.kind != "rule":
        raise JudgeNotAdmitted(
            f"judge {judge.name!r} is {judge.kind} and cannot be run here; only rule judges grade so far",
            missing=(f"a rule judge admitted for {grader.criterion}",),
        )
    spec = RuleJudge.model_validate(dict(judge.content))
    if spec.digest != judge.digest:
        raise JudgeNotAdmitted(
            f"the record of judge {judge.name!r} does not have the digest that was admitted",
            missing=("an intact judge record; run `voirdire audit verify`",),
        )
    return spec
