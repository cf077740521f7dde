"""A cascade run as what it is for: the second judge is asked only about what the first sends on.

Three runs, each resumable by itself: the first judge on all items, the second on what the first sent on, and
the cascade's own, whose verdicts are what is calibrated: its errors are measured, not made of its members'.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from sqlmodel import Session

from calibration.rendering.text import counted
from calibration.store.items import item_key
from calibration.store.judges import RunState
from calibration.store.sets import get_set_by_digest
from calibration.store.tallies import tally_calls
from judge.panel import CascadeJudge, Member
from judge.recorded import recorded_judge
from judge.runs.budget import dollars
from judge.runs.members import Ground, answers_of, run_of, sent_on
from judge.runs.plan import RunPlan, plan_run, recorded_run
from rubrics.errors import DeclarationError, RecordError
from rubrics.rubric import Rubric


@dataclass(frozen=True)
class EscalatedPlan(RunPlan):
    """The second judge asked about what the first sent on; by itself no evidence about its judge."""

    escalated: Mapping[str, str] = field(default_factory=dict)

    @property
    def content(self) -> dict[str, Any]:
        """As of any run, with the cascade and the first judge's run that it follows."""
        return {**super().content, "escalated": dict(self.escalated)}


@dataclass(frozen=True, slots=True)
class Escalation:
    """What the first judge's run leaves to the second under one criterion."""

    criterion: str
    first_run: str
    items: int
    """All items of the cascade."""
    sent: int
    """Items that the second judge is asked about."""
    plan: EscalatedPlan | None
    """The second judge's run; None where nothing is sent on, or it was asked about all items before."""

    @property
    def calls_saved(self) -> int:
        """Calls that a run of the second judge on all items would have made besides."""
        return (self.items - self.sent) * len(self.plan.orders) if self.plan else 0


@dataclass(frozen=True, slots=True)
class Whole:
    """A cascade and what it is to judge."""

    cascade: CascadeJudge
    rubric: Rubric
    on: Ground

    def under(self, criterion: str) -> Ground:
        """The same items under one criterion."""
        return replace(self.on, criteria=(criterion,))


def whole_of(
    *,
    session: Session,
    cascade: CascadeJudge,
    rubric: Rubric,
    dataset: str | None,
    set_digest: str | None,
    criteria: Sequence[str],
) -> Whole:
    """What the cascade is to judge: members of a set or items of a dataset, under all criteria or some."""
    name = get_set_by_digest(session=session, digest=set_digest).dataset if set_digest else dataset
    keys = tuple(criteria) or tuple(criterion.key for criterion in rubric.criteria)
    return Whole(cascade, rubric, Ground(name or "", set_digest, rubric.digest, keys))


def first_plan(*, session: Session, whole: Whole) -> RunPlan | None:
    """The plan of the first judge's run; None where it was asked about all items before.

    Raises RecordError where the first judge is not recorded, or is a panel whose members were not asked.
    """
    plan = _plan_of(session, whole, whole.cascade.first, whole.on.criteria)
    known = recorded_run(session=session, plan=plan)
    if known is not None:
        return None if known.state is RunState.FINISHED else plan
    return None if _asked_all(session, whole.cascade.judges[0], whole.on) else plan


def escalation(*, session: Session, whole: Whole, criterion: str) -> Escalation:
    """What the first judge sends on under the criterion, and the run in which the second is asked about it.

    Raises RecordError where the first judge was not asked about the items.
    """
    on, cascade = whole.under(criterion), whole.cascade
    first_run = run_of(session=session, member=cascade.judges[0], on=on)
    said = answers_of(session=session, run_key=first_run, on=on)
    first = {item: votes[0] for (item, key), votes in said.items() if key == criterion}
    sent = {item_key(on.dataset, item) for item, answer in first.items() if cascade.escalates(answer)}
    base = _plan_of(session, whole, cascade.then, (criterion,))
    plan = None
    if sent and not _asked_all(session, cascade.judges[1], on):
        _require_alone(base, criterion)
        parts = {name: getattr(base, name) for name in RunPlan.__slots__}
        parts["item_keys"] = tuple(key for key in base.item_keys if key in sent)
        plan = EscalatedPlan(**parts, escalated=sent_on(cascade, first_run))
    return Escalation(criterion, first_run, len(base.item_keys), len(sent), plan)


def _require_alone(plan: RunPlan, criterion: str) -> None:
    """Refuse a second judge that asks about other criteria too: an item is sent on under one of them."""
    if tuple(each.key for each in plan.criteria) != (criterion,):
        raise DeclarationError(
            f"the second judge {plan.judge.name!r} asks several criteria in one call, and items are sent on "
            f"under one ({criterion!r}); run it on all items first, or declare `criteria_per_call: 1` for it"
        )


def escalation_words(found: Escalation, *, second: str) -> str:
    """What the second judge is asked about, in a sentence."""
    if not found.sent:
        return f"{found.criterion}: nothing is sent on to {second}"
    share = f"{found.sent:,} of {counted(found.items, 'item')} ({found.sent / found.items:.0%})"
    if found.plan is None:
        return f"{found.criterion}: {second} was asked about all items before; its answers to {share} count"
    return f"{found.criterion}: {second} is asked about {share}"


def saving(*, session: Session, found: Escalation) -> dict[str, Any]:
    """The calls that were saved, and what they would have cost at the mean of those made.

    The amount is null where no call was made, or where the cost of one is not known.
    """
    run = recorded_run(session=session, plan=found.plan) if found.plan else None
    amount = None
    if run is not None:
        tally = tally_calls(session=session, run_key=run.key)
        made = tally.intended - tally.not_made
        if made and not tally.unknown_cost:
            amount = round(tally.known_micros / made * found.calls_saved)
    return {
        "criterion": found.criterion,
        "items": found.items,
        "sent_on": found.sent,
        "second_run": run.key if run else None,
        "calls_saved": found.calls_saved,
        "saved_micros": amount,
    }


def saving_words(told: Mapping[str, Any]) -> str:
    """What was saved, in a sentence."""
    amount = told["saved_micros"]
    worth = "" if amount is None else f", about {dollars(amount)} at the mean cost of those made"
    return (
        f"  {told['criterion']}: {told['sent_on']:,} of {counted(told['items'], 'item')} went to the second "
        "judge; "
        f"{told['calls_saved']:,} of its calls saved{worth}"
    )


def _plan_of(session: Session, whole: Whole, judge: str, criteria: tuple[str, ...]) -> RunPlan:
    on = whole.on
    return plan_run(
        session=session,
        judge=recorded_judge(session=session, judge=judge),
        rubric=whole.rubric,
        dataset=on.dataset,
        set_digest=on.set_digest,
        criteria=criteria,
    )


def _asked_all(session: Session, member: Member, on: Ground) -> bool:
    """True where the judge was asked about every item, whatever for."""
    try:
        run_of(session=session, member=member, on=on)
    except RecordError:
        return False
    return True
