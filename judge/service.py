"""Use case: grade outputs for a consumer, each criterion by its appointed grader.

A rule or model that is admitted for it, or people, whose answer comes later. What a judge says outside the
population that it was calibrated on goes to people too, where its policy says so.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field

from calibration.registry import Departure, Trigger, departures
from judge.appointing import Grader, GradeRequest
from judge.graders import Answered, Asking, Connected, ModelMoved, open_grader
from judge.overall import ACCEPTANCE, DIAGNOSTIC, REVIEW_TRIGGER, Part, overall_of
from rubrics.errors import JudgeNotAdmitted
from rubrics.item import Item
from rubrics.verdict import Outcome, UnknownReason, Verdict, unknown

PEOPLE = "people"
"""The grader of a criterion that waits for a person."""


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
