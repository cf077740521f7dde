"""Use case: grade an output for a consumer. The registry is asked first, for every criterion that is asked.

A criterion without a live admission is never graded by somebody else and never left out: the whole grade is
refused, and the refusal names what is missing. Each criterion has its own grader: an admitted rule or model,
or people, whose answer comes later. What a judge says outside the population that it was calibrated on goes
to people too, where its policy says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field
from datetime import datetime

from sqlmodel import Session

from calibration.evidence import CalibrationReport
from calibration.policy import AdmissionPolicy
from calibration.registry import (
    ANY_POPULATION,
    Departure,
    PopulationRecord,
    Trigger,
    departures,
    live_admission,
    recorded_population,
)
from calibration.registry.auditing import audited_systems
from calibration.registry.bundle import Bundle
from calibration.registry.voters import members_of
from calibration.store.decisions import DecisionScope, StoredDecision, iter_decisions
from calibration.store.judges import StoredJudge, get_judge
from calibration.store.reports import get_policy, get_report
from judge.graders import Answered, Asking, Connected, ModelMoved, open_grader
from judge.overall import ACCEPTANCE, DIAGNOSTIC, REVIEW_TRIGGER, Part, overall_of
from rubrics.errors import AdmissionError, AdmissionExpired, DeclarationError, JudgeNotAdmitted
from rubrics.item import Item
from rubrics.rubric import Rubric
from rubrics.verdict import Outcome, UnknownReason, Verdict, unknown

AUTO = "auto"
PEOPLE = "people"
"""The grader of a criterion that waits for a person."""

__all__ = [
    "ACCEPTANCE", "AUTO", "DIAGNOSTIC", "PEOPLE", "REVIEW_TRIGGER", "CriterionGrade", "Flag", "Grade",
    "GradeRequest", "Grader", "Notice", "Notices", "appoint", "appoint_bundled", "grade_items",
]  # fmt: skip


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
    def models(self) -> tuple[str, ...]:
        """What the provider reported as the model when the judge was calibrated."""
        return tuple(self.decision.content.get("reported_models") or ()) if self.decision else ()


@dataclass(frozen=True, slots=True)
class Flag:
    """Something about an item that a reader of its grade must know."""

    criterion: str
    trigger: str
    field: str
    sentence: str
    suspends: bool
    """True where the judge's verdict does not count because of it."""


@dataclass(frozen=True, slots=True)
class CriterionGrade:
    """The verdict on one criterion."""

    criterion: str
    outcome: Outcome
    rationale: str
    judge: str
    decision: str
    """Hash of the decision that it rests on; empty where people answer."""
    role: str = ACCEPTANCE
    queued: bool = False
    """A person is to look at it."""
    cost_micros: int | None = None
    """What its calls cost, in millionths of a US dollar; None where nobody was called or it is not known."""


@dataclass(frozen=True, slots=True)
class Grade:
    """The verdicts on one item and what they amount to."""

    item_id: str
    overall: Verdict
    """Of the required criteria, by the four-verdict rule; a review trigger that fires makes it pending."""
    criteria: tuple[CriterionGrade, ...]
    content_digest: str
    """Of the texts that were graded."""
    flags: tuple[Flag, ...] = ()
    system: str = ""


@dataclass(frozen=True, slots=True)
class Notice:
    """What was noticed while grading and belongs into the record."""

    decision: str
    trigger: str
    sentence: str
    system: str = ""
    """Where it is a system that nobody audited."""


@dataclass(slots=True)
class Notices:
    """The notices of one grading; to be recorded by whoever has a store, also where grading stopped."""

    found: dict[tuple[str, str, str], Notice] = field(default_factory=dict)

    def add(self, notice: Notice) -> None:
        """Keep the notice once."""
        self.found.setdefault((notice.decision, notice.trigger, notice.system or notice.sentence), notice)


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
                admission.warnings,
                report,
                audited,
                members,
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


Connect = Callable[..., AbstractContextManager[Connected]]


def grade_items(
    request: GradeRequest,
    graders: Sequence[Grader],
    items: Sequence[Item],
    *,
    connect: Connect | None = None,
    notices: Notices | None = None,
    attempts: Mapping[str, int] | None = None,
) -> Iterator[Grade]:
    """The grade of each item by its appointed graders.

    Args:
        request: what is asked.
        graders: from appoint().
        items: in the order in which they are graded.
        connect: reaches the model of a model judge; None where no model may be called.
        notices: takes what belongs into the record; filled even where grading stops.
        attempts: how often each item was graded before, where that is known.

    Raises:
        JudgeNotAdmitted: an appointed judge cannot be run here, its provider reports another model than the
            calibrated one, or, by their policies, no item lies within what the judges were calibrated on.
    """
    seen = notices if notices is not None else Notices()
    done = attempts or {}
    flags = {
        item.item_id: (
            *_flags(request, graders, item),
            *_spent_attempts(graders, done.get(item.item_id, 0)),
        )
        for item in items
    }
    _notice_systems(seen, graders, items, flags)
    _require_one_inside(graders, items, flags)
    with ExitStack() as stack:
        asking = {
            grader.criterion: stack.enter_context(
                open_grader(grader.judge, grader.criterion, connect, grader.members)
            )
            for grader in graders
            if grader.judge is not None
        }
        for item in items:
            yield _graded(request, graders, asking, item, flags[item.item_id], seen)


def _flags(request: GradeRequest, graders: Sequence[Grader], item: Item) -> Iterator[Flag]:
    for grader in graders:
        record = grader.population
        if record is None:
            continue
        for found in departures(record, item, request.rubric):
            yield _flag(grader, found)


def _spent_attempts(graders: Sequence[Grader], before: int) -> Iterator[Flag]:
    """Of each decision that covers fewer attempts of an item than this one would be."""
    for grader in graders:
        most = grader.decision.content.get("most_attempts") if grader.decision else None
        if most is not None and before >= most:
            said = f"attempt {before + 1} of this item; the decision covers {most}"
            yield Flag(grader.criterion, Trigger.ATTEMPTS.value, "attempt", said, suspends=True)


def _flag(grader: Grader, found: Departure) -> Flag:
    suspends = found.trigger is not Trigger.SYSTEM and (
        grader.policy is not None and grader.policy.suspends(found.trigger.value)
    )
    return Flag(grader.criterion, found.trigger.value, found.field, found.sentence, suspends)


def _notice_systems(
    notices: Notices, graders: Sequence[Grader], items: Sequence[Item], flags: dict[str, tuple[Flag, ...]]
) -> None:
    """An audit is asked for of every system that wrote none of the calibrated outputs.

    Of one that no item names nothing can be drawn: its items are flagged alone.
    """
    for grader in graders:
        for item in (each for each in items if each.system.strip()):
            for flag in flags[item.item_id]:
                if flag.trigger == Trigger.SYSTEM and flag.criterion == grader.criterion and grader.decision:
                    notices.add(Notice(grader.decision.hash, flag.trigger, flag.sentence, item.system))


def _require_one_inside(
    graders: Sequence[Grader], items: Sequence[Item], flags: dict[str, tuple[Flag, ...]]
) -> None:
    """Refuse a call of which no item lies within the calibrated population, by the judges' policies."""
    outside = [next((f for f in flags[item.item_id] if f.suspends), None) for item in items]
    if not items or not all(outside):
        return
    first = outside[0]
    grader = next(g for g in graders if first and g.criterion == first.criterion)
    name = grader.judge.name if grader.judge else PEOPLE
    said = first.sentence if first else ""
    raise JudgeNotAdmitted(
        f"judge {name!r} may not grade item {items[0].item_id!r} on {grader.criterion!r}: it lies outside "
        f"what was calibrated ({said})"
        + (f", and so do {len(items) - 1} more items" if len(items) > 1 else "")
        + "; calibrate on items like these, or let people answer with --human",
        missing=(f"a calibration on items of which this is true: {said}",),
    )


def _graded(
    request: GradeRequest,
    graders: Sequence[Grader],
    asking: dict[str, Asking],
    item: Item,
    flags: tuple[Flag, ...],
    notices: Notices,
) -> Grade:
    grades = tuple(_criterion(request, grader, asking, item, flags, notices) for grader in graders)
    required = {criterion.key for criterion in request.rubric.required}
    parts = [Part(each.outcome.combinable, each.role, required=each.criterion in required) for each in grades]
    return Grade(item.item_id, overall_of(parts), grades, item.content_digest, flags, item.system)


def _criterion(
    request: GradeRequest,
    grader: Grader,
    asking: dict[str, Asking],
    item: Item,
    flags: tuple[Flag, ...],
    notices: Notices,
) -> CriterionGrade:
    refused = next((f for f in flags if f.criterion == grader.criterion and f.suspends), None)
    if grader.judge is None or grader.decision is None or refused is not None:
        waiting = unknown(UnknownReason.PENDING, "human_queue")
        why = f"outside what the judge was calibrated on: {refused.sentence}" if refused else ""
        return CriterionGrade(grader.criterion, waiting, why, PEOPLE, "", grader.role, queued=True)
    try:
        said: Answered = asking[grader.criterion](request.rubric, item, grader.models)
    except ModelMoved as moved:
        notices.add(Notice(grader.decision.hash, "judge", moved.sentence))
        if grader.policy is not None and grader.policy.suspends("judge"):
            raise JudgeNotAdmitted(
                f"judge {grader.judge.name!r} may not go on: {moved.sentence}; its verdict on item "
                f"{item.item_id!r} is not used; calibrate the judge as it answers now",
                missing=(f"a calibration of {grader.judge.name} as it answers now",),
            ) from moved
        said = moved.answered
    final = said.outcome.reason is not None and not said.outcome.is_open
    fired = grader.role == REVIEW_TRIGGER and said.outcome.verdict is Verdict.FAIL
    return CriterionGrade(
        criterion=grader.criterion,
        outcome=said.outcome,
        rationale=said.rationale,
        judge=grader.judge.name,
        decision=grader.decision.hash,
        role=grader.role,
        queued=fired or (final and grader.role != DIAGNOSTIC),
        cost_micros=said.cost_micros,
    )


def require_known_people(request: GradeRequest) -> None:
    """Refuse a criterion for people that is not among those asked for.

    Raises:
        DeclarationError: naming it.
    """
    for criterion in sorted(request.people - set(request.criteria)):
        raise DeclarationError(
            f"--human {criterion!r} is not among the criteria that are graded: {', '.join(request.criteria)}"
        )
