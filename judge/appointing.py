"""Who grades a criterion: the judge with a live admission for it, or people; never somebody else.

A criterion without a live admission is never graded by another judge and never left out: the whole grade is
refused, and the refusal names what is missing.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from sqlmodel import Session

from calibration.evidence import CalibrationReport
from calibration.policy import AdmissionPolicy
from calibration.registry import ANY_POPULATION, PopulationRecord, live_admission, recorded_population
from calibration.registry.auditing import audited_systems
from calibration.registry.bundle import Bundle
from calibration.registry.voters import members_of
from calibration.store.decisions import DecisionScope, StoredDecision, iter_decisions
from calibration.store.judges import StoredJudge, get_judge
from calibration.store.reports import get_policy, get_report
from judge.overall import ACCEPTANCE
from rubrics.errors import AdmissionError, AdmissionExpired, DeclarationError, JudgeNotAdmitted
from rubrics.rubric import Rubric

AUTO = "auto"


@dataclass(frozen=True, slots=True)
class GradeRequest:
    """What is to be graded and by whom."""

    rubric: Rubric
    criteria: tuple[str, ...]
    judge: str = AUTO
    """A judge by name or digest; `auto` takes each criterion's own admitted judge."""
    population: str = ANY_POPULATION
    role: str | None = None
    """None takes each criterion's own role."""
    people: frozenset[str] = frozenset()
    """Criteria that people answer: pending until one has."""

    def role_of(self, criterion: str) -> str:
        """The role in which the criterion is graded."""
        return self.role or self.rubric.criterion(criterion).role.value


@dataclass(frozen=True, slots=True)
class Grader:
    """The admitted judge of one criterion with the decision that it rests on; people where there is none."""

    criterion: str
    judge: StoredJudge | None
    decision: StoredDecision | None
    role: str = ACCEPTANCE
    policy: AdmissionPolicy | None = None
    warnings: tuple[str, ...] = ()
    report: CalibrationReport | None = None
    """What the decision rests on."""
    audited: tuple[str, ...] = ()
    """Systems that wrote no calibrated output and whose own audit held."""
    members: Mapping[str, StoredJudge] = field(default_factory=dict)
    """Who votes where the judge is a panel or cascade, by digest."""

    @property
    def population(self) -> PopulationRecord | None:
        """What the judge was calibrated on, where it is recorded, with the systems audited since."""
        record = recorded_population(self.decision) if self.decision else None
        if record is None or not self.audited:
            return record
        return record.model_copy(update={"systems": tuple(sorted({*record.systems, *self.audited}))})

    @property
    def models(self) -> Mapping[str, tuple[str, ...]]:
        """What the provider reported as the model when the judge was calibrated, by digest of who was asked.

        A decision that does not say it of each member has every member answer by any of them.
        """
        if self.judge is None or self.decision is None:
            return {}
        content = self.decision.content
        every = content.get("reported_models") or ()
        own = content.get("member_models") or {}
        return {each: tuple(own.get(each, every)) for each in (self.judge.digest, *self.members)}


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
    return _all_of(request, lambda criterion: _appointed(session, request, criterion, at))


def appoint_bundled(*, bundles: Sequence[Bundle], request: GradeRequest, at: datetime) -> tuple[Grader, ...]:
    """As appoint(), from exported decisions and without a database."""
    return _all_of(request, lambda criterion: _bundled(bundles, request, criterion, at))


def _all_of(request: GradeRequest, appointed: Callable[[str], Grader]) -> tuple[Grader, ...]:
    graders: list[Grader] = []
    refused: list[AdmissionError] = []
    for criterion in request.criteria:
        request.rubric.criterion(criterion)
        if criterion in request.people:
            graders.append(Grader(criterion, None, None, request.role_of(criterion)))
            continue
        try:
            graders.append(appointed(criterion))
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
    role = request.role_of(criterion)
    first: AdmissionError | None = None
    for judge in judges:
        scope = DecisionScope(judge.digest, request.rubric.digest, criterion, request.population, role)
        try:
            admission = live_admission(
                session=session, scope=scope, judge=judge.name, rubric=request.rubric.ref, at=at
            )
        except AdmissionError as error:
            first = first or error
        else:
            stored = get_policy(session=session, policy=admission.decision.policy_digest)
            policy = AdmissionPolicy.model_validate(stored.content)
            found = get_report(session=session, digest_prefix=admission.decision.report_digest)
            report = CalibrationReport.model_validate(found.content)
            audited = audited_systems(session=session, decision=admission.decision)
            members = members_of(session=session, judge=judge)
            return Grader(
                criterion,
                judge,
                admission.decision,
                role,
                policy,
                warnings=admission.warnings,
                report=report,
                audited=audited,
                members=members,
            )
    raise first or _nobody(request, criterion, role)


def _nobody(request: GradeRequest, criterion: str, role: str) -> JudgeNotAdmitted:
    return JudgeNotAdmitted(
        f"no judge is admitted for {request.rubric.ref} {criterion!r} ({role}, "
        f"{request.population}); run `voirdire calibrate`, then `voirdire admit`",
        missing=(f"a decision for {request.rubric.ref}, {criterion}, {request.population}, {role}",),
    )


def _candidates(session: Session, request: GradeRequest, criterion: str) -> Sequence[StoredJudge]:
    """The judge that is named, or every judge with a standing decision on the criterion, newest first.

    A rubric of the same name whose decisions no longer fit is asked too, so that the refusal says why.
    """
    if request.judge != AUTO:
        return [get_judge(session=session, judge=request.judge)]
    standing = list(iter_decisions(session=session, standing=True))
    name = request.rubric.ref.partition("@")[0]
    own = [each for each in standing if each.scope.rubric_digest == request.rubric.digest]
    kin = [each for each in standing if str(each.content.get("rubric")).partition("@")[0] == name]
    digests = dict.fromkeys(
        each.scope.judge_digest
        for group in (own, kin)
        for each in reversed(group)
        if each.scope.criterion == criterion
    )
    return [get_judge(session=session, judge=digest) for digest in digests]


def _bundled(bundles: Sequence[Bundle], request: GradeRequest, criterion: str, at: datetime) -> Grader:
    """The grader of an exported decision; of several for the criterion, the newest that admits."""
    role = request.role_of(criterion)
    first: AdmissionError | None = None
    for bundle in sorted(bundles, key=lambda each: -each.decision.seq):
        if bundle.decision.scope.criterion != criterion:
            continue
        if request.judge not in {AUTO, bundle.judge.name, bundle.judge.digest}:
            continue
        scope = DecisionScope(bundle.judge.digest, request.rubric.digest, criterion, request.population, role)
        try:
            decision = bundle.admission(scope, at=at)
        except (JudgeNotAdmitted, AdmissionExpired) as error:
            first = first or error
        else:
            return Grader(
                criterion, bundle.judge, decision, role, bundle.policy,
                report=bundle.report, members=bundle.members,
            )  # fmt: skip
    raise first or _nobody(request, criterion, role)


def require_known_people(request: GradeRequest) -> None:
    """Refuse a criterion for people that is not among those asked for.

    Raises:
        DeclarationError: naming it.
    """
    for criterion in sorted(request.people - set(request.criteria)):
        raise DeclarationError(
            f"--human {criterion!r} is not among the criteria that are graded: {', '.join(request.criteria)}"
        )
