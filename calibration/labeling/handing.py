"""Handing out: which item comes next for a rater, and under which number they hold it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime, timedelta

from sqlmodel import Session

from calibration.labeling.plan import SessionPlan
from calibration.labeling.practice import PracticeCase, practice_cases, practice_task
from calibration.labeling.records import EventKind, Nothing, NothingWhy, Task
from calibration.labeling.tasks import Held, item_of, make_task, why_not
from calibration.store.database import Store
from calibration.store.items import ErasedItem
from calibration.store.rater_records import Said, add_event, answers_of, events_of
from calibration.store.rubrics import get_rubric_by_digest
from calibration.store.sessions import (
    Seat,
    StoredSession,
    count_awaiting,
    get_session,
    hand_out,
    lock_assignment,
    move_assignment,
    next_open,
    seats_of,
    session_by_key,
)
from rubrics.errors import RaterRefused, RecordError
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


def next_in(store: Store, seat: Seat, now: datetime) -> Task | Nothing:
    """The next task at a place: practice first, then the queue; or why there is none."""
    with store.read() as session:
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
            waiting = count_awaiting(session=session, seat=seat)
            return Nothing(NothingWhy.ALL_DONE, waiting, labeling.name)
        if assigned.lease_no and assigned.lease_until and assigned.lease_until - now > LEASE / 2:
            task = _open_task(session, Held(assigned, labeling, rubric))
            if task is not None:
                return task
    return _handed_out(store, seat, labeling, rubric, now)


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


def _handed_out(
    store: Store, seat: Seat, labeling: StoredSession, rubric: Rubric, now: datetime
) -> Task | Nothing:
    """The first open assignment, handed out; one whose texts were erased is taken off the queue."""
    with store.write() as session:
        while True:
            found = next_open(session=session, seat=seat)
            assigned = lock_assignment(session=session, key=found.key) if found else None
            if assigned is None:
                return Nothing(NothingWhy.ALL_DONE, count_awaiting(session=session, seat=seat), labeling.name)
            if isinstance(item_of(session, assigned), ErasedItem):
                move_assignment(session=session, key=assigned.key, lease_no=assigned.lease_no, state="broken")
                continue
            first = not assigned.lease_no
            if first:
                note(session, assigned.session_key, seat.rater, EventKind.SHOWN, now, assigned.key)
            number = hand_out(session=session, assigned=assigned, until=now + LEASE, anew=first)
            task = _open_task(session, Held(replace(assigned, lease_no=number), labeling, rubric))
            if task is not None:
                return task
            # all of it was answered in a file that was imported meanwhile
            move_assignment(session=session, key=assigned.key, lease_no=number, state="done")


def _open_task(session: Session, found: Held) -> Task | None:
    """The task of the first criterion that has no live answer; None where every one has."""
    said = live(session, found)
    for criterion in found.rubric.criteria:
        if criterion.key not in said:
            return make_task(session, found, criterion, given=None)
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
