"""Handing out: which item comes next for a rater, and under which number they hold it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta

from sqlmodel import Session

from calibration.labeling.plan import SessionPlan
from calibration.labeling.practice import PracticeCase, practice_cases, practice_task
from calibration.labeling.records import EventKind, Nothing, NothingWhy, Task
from calibration.labeling.tasks import Held, item_of, make_task, why_not
from calibration.store.assignments import Assigned, count_awaiting, hand_out, move_assignment, next_open
from calibration.store.items import ErasedItem
from calibration.store.rater_records import Said, add_event, answers_of, events_of
from calibration.store.rubrics import get_rubric_by_digest
from calibration.store.sessions import Seat, StoredSession, get_session, seats_of, session_by_key
from rubrics.errors import RaterRefused, RecordError
from rubrics.item import Item
from rubrics.record import shown
from rubrics.rubric import Rubric

LEASE = timedelta(minutes=60)
"""How long a hand-out counts as being looked at: a lead who reassigns before that is told so."""
PRACTISED = "practised"


def places(session: Session, rater: str, named: str | None) -> list[Seat]:
    """The rater's places, in the named session or in all; raises RaterRefused where there is none in it."""
    if named is None:
        return seats_of(session=session, rater=rater, kind="rate")
    try:
        labeling = get_session(session=session, session_name=named)
        mine = seats_of(session=session, key=labeling.key, rater=rater, kind="rate")
    except RecordError:
        mine = []
    if not mine:
        raise RaterRefused(f"{shown(rater)} has no place in a session {shown(named)}: ask whoever leads it")
    return mine


@dataclass(frozen=True, slots=True)
class Handing:
    """An assignment that is about to be handed out, or to leave the queue unseen."""

    assigned: Assigned
    task: Task | None
    """As it will be shown; None where there is nothing to show."""
    state: str
    """The state that it moves to: open, or what it leaves the queue as."""


def next_in(session: Session, seat: Seat, now: datetime) -> Task | Nothing | Handing:
    """The next task at a place: practice first, then the queue; or why there is none.

    Everything is read before the store is written to, so that nobody waits for a page that is being put
    together.
    """
    labeling = session_by_key(session=session, key=seat.session_key)
    reason = why_not(labeling, now)
    if reason is not None:
        return Nothing(reason, session=labeling.name, opens_at=labeling.opens_at)
    rubric = get_rubric_by_digest(session=session, digest=labeling.rubric_digest)
    practice = _next_practice(session, labeling, rubric, seat.rater)
    if practice is not None:
        return practice
    assigned = next_open(session=session, seat=seat)
    if assigned is None:
        return Nothing(NothingWhy.ALL_DONE, count_awaiting(session=session, seat=seat), labeling.name)
    item = item_of(session, assigned)
    if isinstance(item, ErasedItem):
        return Handing(assigned, None, "broken")
    number = assigned.lease_no or 1
    task = _open_task(session, Held(replace(assigned, lease_no=number), labeling, rubric), item)
    if task is None:  # all of it was answered in a file that was imported meanwhile
        return Handing(assigned, None, "done")
    kept = assigned.lease_no and assigned.lease_until and assigned.lease_until - now > LEASE / 2
    return task if kept else Handing(assigned, task, "open")


def hand(session: Session, handing: Handing, now: datetime) -> bool:
    """True if the assignment is handed out now (or has left the queue); False if it moved meanwhile."""
    assigned = handing.assigned
    if handing.task is None:
        return move_assignment(
            session=session, key=assigned.key, lease_no=assigned.lease_no, state=handing.state
        )
    first = not assigned.lease_no
    if not hand_out(session=session, assigned=assigned, until=now + LEASE):
        return False
    if first:
        note(session, assigned.session_key, assigned.rater, EventKind.SHOWN, now, assigned.key)
    return True


def _next_practice(session: Session, labeling: StoredSession, rubric: Rubric, rater: str) -> Task | None:
    cases = practice_in(labeling, rubric, rater)
    if not cases:
        return None
    done = {
        event.payload.get("case")
        for event in events_of(session=session, key=labeling.key, rater=rater, kinds=[PRACTISED])
    }
    for number, case in enumerate(cases, start=1):
        if case.key not in done:
            return practice_task(case, rubric, session=labeling.name, position=number, of=len(cases))
    return None


def practice_in(labeling: StoredSession, rubric: Rubric, rater: str) -> list[PracticeCase]:
    """The practice cases of a rater in a session, in their order."""
    plan = SessionPlan.model_validate(labeling.plan)
    if not plan.practice:
        return []
    return practice_cases(rubric, session=labeling.name, rater=rater, seed=plan.seed, at_most=plan.practice)


def _open_task(session: Session, found: Held, item: Item | None = None) -> Task | None:
    """The task of the first criterion that has no live answer; None where every one has."""
    said = live(session, found)
    for criterion in found.rubric.criteria:
        if criterion.key not in said:
            return make_task(session, found, criterion, given=None, item=item)
    return None


def newest(session: Session, found: Held) -> dict[str, Said]:
    """By criterion the rater's newest answer to the assignment, retracted or not."""
    answers = answers_of(
        session=session,
        rubric_digest=found.rubric.digest,
        item_key=found.assigned.item_key,
        rater=found.assigned.rater,
        repeat=found.assigned.repeat,
    )
    return {said.criterion: said for said in answers}


def live(session: Session, found: Held) -> dict[str, Said]:
    """By criterion the rater's answer that counts."""
    return {key: said for key, said in newest(session, found).items() if not said.retracted}


def note(
    session: Session,
    key: str,
    rater: str,
    kind: str,
    now: datetime,
    assignment: str | None = None,
    criterion: str | None = None,
    said: Mapping[str, str] | None = None,
) -> None:
    """Records an event of a session."""
    add_event(
        session=session,
        key=key,
        rater=rater,
        kind=str(kind),
        at=now,
        assignment_key=assignment,
        criterion=criterion,
        payload=said,
    )
