"""Grades as they are recorded, how they stand after what people did, and the three things people do."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from sqlmodel import Session

from calibration.registry import Trigger
from calibration.store.grades import (
    GradeEntry,
    GradeEvent,
    GradeEventKind,
    StoredGrade,
    add_grade_event,
    add_grades,
    grade_events,
    iter_grades,
    known_grades,
    rationales_of,
)
from calibration.store.rubrics import get_rubric_by_digest
from calibration.store.watching import open_audit, raise_alarm
from judge.appointing import GradeRequest
from judge.overall import Part, overall_of
from judge.service import CriterionGrade, Flag, Grade, Notices
from rubrics.digest import digest
from rubrics.errors import DeclarationError, DifferentRecord
from rubrics.item import Item
from rubrics.verdict import Outcome, UnknownReason, Verdict

MIN_NOTE = 10


def request_digest(request: GradeRequest, item_id: str, content_digest: str) -> str:
    """Identity of one item's request: the same key with another request is refused."""
    return digest(
        {
            "rubric": request.rubric.digest,
            "criteria": list(request.criteria),
            "judge": request.judge,
            "population": request.population,
            "role": request.role,
            "people": sorted(request.people),
            "item": item_id,
            "content": content_digest,
        }
    )


def known_requests(
    *, session: Session, request: GradeRequest, items: Sequence[Item], keys: Mapping[str, str]
) -> dict[str, StoredGrade]:
    """The grades that were given for these very keys, by item; nobody is asked a second time.

    Raises:
        DifferentRecord: a key was used for another request.
    """
    found = known_grades(session=session, keys=list(keys.values()))
    known = {}
    for item in items:
        stored = found.get(keys.get(item.item_id, ""))
        if stored is None:
            continue
        if stored.request_digest != request_digest(request, item.item_id, item.content_digest):
            raise DifferentRecord(
                f"the key {stored.idempotency_key!r} was used for another request (item {stored.item_id!r}); "
                "give each request a key of its own"
            )
        known[item.item_id] = stored
    return known


def record_grades(
    *,
    session: Session,
    request: GradeRequest,
    grades: Sequence[Grade],
    keys: Mapping[str, str],
    actor: str,
    at: datetime,
) -> list[StoredGrade]:
    """The grades as recorded, in their order, each with its attempt."""
    return add_grades(
        session=session,
        grades=[_entry(request, grade, keys.get(grade.item_id)) for grade in grades],
        actor=actor,
        at=at,
    )


def record_notices(*, session: Session, notices: Notices, actor: str, at: datetime) -> None:
    """Alarms raised and audits asked for, of what was noticed while grading."""
    for notice in notices.found.values():
        if notice.trigger == Trigger.SYSTEM:
            open_audit(session=session, decision=notice.decision, system=notice.system, actor=actor, at=at)
        else:
            raise_alarm(
                session=session,
                decision=notice.decision,
                trigger=notice.trigger,
                sentence=notice.sentence,
                actor=actor,
                at=at,
            )


def _entry(request: GradeRequest, grade: Grade, key: str | None) -> GradeEntry:
    roles = {each.role for each in grade.criteria}
    return GradeEntry(
        request_digest=request_digest(request, grade.item_id, grade.content_digest),
        rubric_digest=request.rubric.digest,
        item_id=grade.item_id,
        content_digest=grade.content_digest,
        population=request.population,
        role=recorded_role(request, roles),
        overall=grade.overall.value,
        content={
            "criteria": [_criterion(each) for each in grade.criteria],
            "flags": [_flag(each) for each in grade.flags],
        },
        uses={each.criterion: each.decision for each in grade.criteria if each.decision},
        rationales={each.criterion: each.rationale for each in grade.criteria},
        system=grade.system or None,
        idempotency_key=key,
    )


def recorded_role(request: GradeRequest, roles: set[str]) -> str:
    """The role under which a grade is recorded: that asked for, or the one that all its criteria have."""
    return request.role or (next(iter(roles)) if len(roles) == 1 else "acceptance")


def _criterion(each: CriterionGrade) -> dict[str, Any]:
    return {
        "criterion": each.criterion,
        "verdict": each.outcome.verdict.value,
        "reason": each.outcome.reason.value if each.outcome.reason else None,
        "detail": each.outcome.detail,
        "judge": each.judge,
        "decision": each.decision,
        "role": each.role,
        "queued": each.queued,
        "cost_micros": each.cost_micros,
    }


def _flag(flag: Flag) -> dict[str, Any]:
    # the sentence may quote a tag, which no record that cannot be erased should hold
    return {
        "criterion": flag.criterion,
        "trigger": flag.trigger,
        "field": flag.field,
        "suspends": flag.suspends,
    }


@dataclass(frozen=True, slots=True)
class CriterionState:
    """One criterion of a grade as it stands now."""

    grade: CriterionGrade
    by: str
    """Who gave the verdict that counts: the judge, or a person."""
    appealed: bool = False


@dataclass(frozen=True, slots=True)
class GradeState:
    """A grade with everything that people did about it."""

    stored: StoredGrade
    overall: Verdict
    criteria: tuple[CriterionState, ...]
    events: tuple[GradeEvent, ...]

    @property
    def waiting(self) -> tuple[str, ...]:
        """Criteria at which a person is to look."""
        return tuple(
            each.grade.criterion
            for each in self.criteria
            if each.appealed or (each.grade.queued and each.by == each.grade.judge)
        )


def state_of(*, session: Session, stored: StoredGrade) -> GradeState:
    """The grade as it stands: every verdict that a person gave replaces the one before it."""
    events = grade_events(session=session, keys=[stored.key]).get(stored.key, ())
    return _state(session, stored, events)


def _state(session: Session, stored: StoredGrade, events: Sequence[GradeEvent]) -> GradeState:
    rationales = rationales_of(session=session, grade=stored)
    rubric = get_rubric_by_digest(session=session, digest=stored.rubric_digest)
    required = {criterion.key for criterion in rubric.required}
    criteria = tuple(_now(each, rationales, events) for each in stored.content["criteria"])
    parts = [
        Part(
            each.grade.outcome.combinable,
            each.grade.role,
            required=each.grade.criterion in required,
            by_person=each.by != each.grade.judge,
        )
        for each in criteria
    ]
    return GradeState(stored, overall_of(parts), criteria, tuple(events))


def _now(
    said: Mapping[str, Any], rationales: Mapping[str, str], events: Sequence[GradeEvent]
) -> CriterionState:
    name, judge = said["criterion"], said["judge"]
    reason = UnknownReason(said["reason"]) if said["reason"] else None
    outcome = Outcome(Verdict(said["verdict"]), reason, said["detail"])
    by, appealed = judge, False
    for event in events:
        if event.criterion != name:
            continue
        appealed = event.kind is GradeEventKind.APPEALED
        if event.verdict is not None:
            by = event.actor
            outcome = _by_person(event.verdict)
    grade = CriterionGrade(
        name, outcome, rationales.get(name, ""), judge, said["decision"], said["role"], said["queued"],
        said.get("cost_micros"),
    )  # fmt: skip
    return CriterionState(grade, by, appealed)


def _by_person(verdict: str) -> Outcome:
    if verdict == Verdict.UNKNOWN.value:
        return Outcome(Verdict.UNKNOWN, UnknownReason.ABSTAINED, "cannot_tell")
    return Outcome(Verdict(verdict))


def queue(*, session: Session, rubric_digest: str | None = None) -> Iterator[GradeState]:
    """The grades at which a person is to look, oldest first."""
    stored = list(iter_grades(session=session, rubric_digest=rubric_digest))
    events = grade_events(session=session, keys=[each.key for each in stored])
    for each in stored:
        touched = events.get(each.key, ())
        if touched or any(said["queued"] for said in each.content["criteria"]):
            state = _state(session, each, touched)
            if state.waiting:
                yield state


@dataclass(frozen=True, slots=True)
class Step:
    """What a person does about one criterion of a grade."""

    criterion: str
    kind: GradeEventKind
    verdict: str | None
    note: str
    actor: str


def take_step(*, session: Session, stored: StoredGrade, step: Step, at: datetime) -> GradeState:
    """The grade after the step, which is appended; nothing that was said is removed.

    Raises:
        DeclarationError: no such criterion or nothing to resolve there, no verdict or one too many, no note,
            or a blank name.
    """
    state = state_of(session=session, stored=stored)
    here = next((each for each in state.criteria if each.grade.criterion == step.criterion), None)
    if here is None:
        known = ", ".join(each.grade.criterion for each in state.criteria)
        raise DeclarationError(
            f"grade {stored.key[:12]} has no criterion {step.criterion!r}; it has: {known}"
        )
    _require_sense(step, here, waiting=step.criterion in state.waiting)
    add_grade_event(
        session=session,
        grade=stored,
        criterion=step.criterion,
        kind=step.kind,
        verdict=step.verdict,
        note=step.note.strip(),
        actor=step.actor.strip(),
        at=at,
    )
    return state_of(session=session, stored=stored)


def _require_sense(step: Step, here: CriterionState, *, waiting: bool) -> None:
    if not step.actor.strip():
        raise DeclarationError("the name is blank; say with --by who does this")
    if len(step.note.strip()) < MIN_NOTE:
        raise DeclarationError(
            f"the reason {step.note!r} is under {MIN_NOTE} characters; say with --reason what was seen"
        )
    if (step.verdict is None) != (step.kind is GradeEventKind.APPEALED):
        raise DeclarationError(
            "an appeal gives no verdict, and everything else gives one: pass, fail or unknown"
        )
    if step.kind is GradeEventKind.RESOLVED and not waiting:
        raise DeclarationError(
            f"criterion {here.grade.criterion!r} waits for nobody ({here.grade.outcome.verdict.value} by "
            f"{here.by}); a verdict that is there is overridden, with `voirdire grades override`"
        )
    if step.kind is GradeEventKind.OVERRIDDEN and here.grade.outcome.verdict.value == step.verdict:
        raise DeclarationError(f"criterion {here.grade.criterion!r} is {step.verdict} already")
