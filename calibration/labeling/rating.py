"""What a rater does: get the next task, answer it, take an answer back, look at what they said.

Every function opens and closes its own transaction and derives everything from the database, so that a
new page, a second tab or a restarted server goes on where the rater was. `now` is the server's clock.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime, timedelta

from sqlmodel import Session

from calibration.labeling.handing import (
    PRACTISED,
    Handing,
    hand,
    live,
    newest,
    next_in,
    note,
    places,
    practice_in,
)
from calibration.labeling.plan import SessionPlan
from calibration.labeling.practice import PREFIX, PracticeCase, feedback_on
from calibration.labeling.records import (
    EARLIEST_MS,
    Answer,
    Answered,
    EventKind,
    Feedback,
    IgnoredWhy,
    Nothing,
    NothingWhy,
    Task,
    TaskKey,
    TaskKind,
)
from calibration.labeling.storing import finish, seat_of, store_answer
from calibration.labeling.tasks import (
    Held,
    check_answer,
    given_of,
    held,
    make_task,
    refusals_audited,
    to_source,
    why_not,
)
from calibration.labels import Blindness
from calibration.store.assignments import move_assignment
from calibration.store.database import Store
from calibration.store.payloads import payload, put_payloads
from calibration.store.rater_records import (
    Said,
)
from calibration.store.retractions import add_retraction
from calibration.store.rubrics import get_rubric_by_digest
from calibration.store.sessions import StoredSession, move_cursor, seats_of, session_by_key
from rubrics.criterion import Criterion
from rubrics.errors import DeclarationError, RaterRefused
from rubrics.record import shown
from rubrics.rubric import Rubric


def next_task(*, store: Store, rater: str, session: str | None = None, now: datetime) -> Task | Nothing:
    """The rater's next task, or why there is none.

    The first call for an item hands it out: it notes the moment in which it was shown and takes the lease
    whose number the answer must name. Later calls give the same task under the same number.

    Args:
        store: from open_rating_store() in the app.
        rater: handle of the person.
        session: name of a labeling session, or None for the oldest one that has a task.
        now: when.

    Raises:
        RaterRefused: the rater has no place in the named session.
    """
    with refusals_audited(store, rater, now):
        while True:
            with store.read() as reading:
                found = _first(reading, rater, session, now)
            if not isinstance(found, Handing):
                return found
            with store.write() as writing:
                handed = hand(writing, found, now)
            if handed and found.task is not None:
                return found.task


def _first(session: Session, rater: str, named: str | None, now: datetime) -> Task | Nothing | Handing:
    """The first place of the rater that has a task; else why the last one has none."""
    best: Task | Nothing | Handing = Nothing(NothingWhy.NO_SESSION)
    for seat in places(session, rater, named):
        best = next_in(session, seat, now)
        if not isinstance(best, Nothing):
            return best
    return best


def task_at(*, store: Store, rater: str, assignment: str, criterion: str, now: datetime) -> Task:
    """A task of one's own, looked at again, with the answer that was given (`task.given`).

    Works in a closed session too: to look is allowed, to answer is not.

    Raises:
        RaterRefused: it is not this rater's, or was never shown to them.
    """
    with refusals_audited(store, rater, now), store.read() as session:
        found = _looked_at(session, assignment, rater)
        asked = _criterion(found.rubric, criterion)
        said = newest(session, found).get(criterion)
        given = given_of(session, said, asked) if said is not None and not said.retracted else None
        return make_task(session, found, asked, given=given)


def _looked_at(session: Session, assignment: str, rater: str) -> Held:
    found = held(session, assignment=assignment, rater=rater, kind=TaskKind.RATE, now=None, lease_no=None)
    if not found.assigned.lease_no:
        raise RaterRefused("this item was not shown to you yet: items come in their order")
    return found


def _criterion(rubric: Rubric, key: str) -> Criterion:
    try:
        return rubric.criterion(key)
    except DeclarationError as error:
        raise RaterRefused(str(error)) from error


def answer(*, store: Store, rater: str, task: TaskKey, answer: Answer, now: datetime) -> Answered:
    """What became of the answer: stored, stored before, ignored, or feedback on a practice case.

    The same answer given twice is stored once; a different one to an answered task is ignored
    (`ALREADY_ANSWERED`): take the first back to change it. One sooner than EARLIEST_MS after the task was
    shown is ignored.

    Args:
        store: from open_rating_store() in the app.
        rater: handle of the person.
        task: the key of the task that the page shows: task.key.
        answer: what they said.
        now: when.

    Raises:
        RaterRefused: not this rater's, not handed out, taken back since, out of order, or the session takes
            no answers; written to the audit trail.
        DeclarationError: no such answer, a missing reason, a failure mode that does not belong to it.
    """
    if task.assignment.startswith(f"{PREFIX}-"):
        return _practised(store, rater, task, answer, now)
    with refusals_audited(store, rater, now), store.write() as session:
        found = held(
            session,
            assignment=task.assignment,
            rater=rater,
            kind=TaskKind.RATE,
            now=now,
            lease_no=task.lease_no,
        )
        criterion = _criterion(found.rubric, task.criterion)
        check_answer(criterion, answer.value, answer.reason, answer.failure_mode)
        _check_times(answer, now)
        if _too_early(answer):
            return Answered(ignored=IgnoredWhy.TOO_EARLY)
        before = newest(session, found)
        standing = {key: said for key, said in before.items() if not said.retracted}
        if criterion.key in standing:
            return _again(standing[criterion.key], criterion, answer, found)
        _refuse_out_of_order(found.rubric, criterion, standing)
        digest = store_answer(
            session,
            found,
            criterion,
            answer,
            before=before.get(criterion.key),
            blind=Blindness.YES,
            now=now,
        )
        if len(standing) + 1 == len(found.rubric.criteria):
            finish(session, found)
        return Answered(digest=digest, new=True)


def _too_early(given: Answer) -> bool:
    return given.decided_at - given.shown_at < timedelta(milliseconds=EARLIEST_MS)


def _check_times(given: Answer, now: datetime) -> None:
    if given.decided_at < given.shown_at or given.decided_at - now > timedelta(minutes=1):
        raise DeclarationError(
            f"shown at {given.shown_at.isoformat()}, decided at {given.decided_at.isoformat()}, and it is"
            f" {now.isoformat()}: give the server's own times, shown before decided"
        )


def _again(said: Said, criterion: Criterion, given: Answer, found: Held) -> Answered:
    same = (
        to_source(given.value, criterion, swapped=found.assigned.swapped),
        given.reason,
        given.failure_mode,
    ) == (said.value, said.reason, said.failure_mode)
    return Answered(digest=said.digest) if same else Answered(ignored=IgnoredWhy.ALREADY_ANSWERED)


def _refuse_out_of_order(rubric: Rubric, criterion: Criterion, live: Mapping[str, Said]) -> None:
    first = next(each.key for each in rubric.criteria if each.key not in live)
    if first != criterion.key:
        raise RaterRefused(
            f"criterion {criterion.key!r} was not asked yet: {first!r} of the same item comes first"
        )


def _practised(store: Store, rater: str, task: TaskKey, given: Answer, now: datetime) -> Answered:
    with refusals_audited(store, rater, now), store.write() as session:
        for seat in seats_of(session=session, rater=rater, kind="rate"):
            labeling = session_by_key(session=session, key=seat.session_key)
            rubric = get_rubric_by_digest(session=session, digest=labeling.rubric_digest)
            for case in practice_in(labeling, rubric, rater):
                if case.key == task.assignment and why_not(labeling, now) is None:
                    check_answer(case.criterion, given.value, given.reason, given.failure_mode)
                    if _too_early(given):
                        return Answered(ignored=IgnoredWhy.TOO_EARLY)
                    said = {"case": case.key, "value": given.value}
                    note(session, labeling.key, rater, PRACTISED, now, None, case.criterion.key, said)
                    return Answered(feedback=feedback_on(case, given.value))
        raise RaterRefused(f"{shown(task.assignment)} is no practice case of {shown(rater)}")


def feedback(task: Task, answer: Answer) -> Feedback:
    """What the rubric says of a practice task, without recording anything.

    Raises ValueError for a task that is no practice.
    """
    if task.kind is not TaskKind.PRACTICE:
        raise ValueError("only a practice task has feedback")
    number = int(task.assignment.rpartition("-")[2])
    example = task.criterion.examples[number]
    first = next((field.text for field in task.fields if field.key == "left"), None)
    case = PracticeCase(task.assignment, task.criterion, example, first == example.output_b)
    return feedback_on(case, answer.value)


def retract(
    *, store: Store, rater: str, assignment: str, criterion: str, why: str = "", now: datetime
) -> Task:
    """The task again, after its answer was taken back; both the answer and the retraction stay recorded.

    Raises:
        RaterRefused: not this rater's, nothing to take back, or the session takes no answers.
        DeclarationError: the answer is older than the session's `reason_after_hours` and `why` is blank.
    """
    with refusals_audited(store, rater, now), store.write() as session:
        found = held(session, assignment=assignment, rater=rater, kind=TaskKind.RATE, now=now, lease_no=None)
        asked = _criterion(found.rubric, criterion)
        said = live(session, found).get(criterion)
        if said is None:
            raise RaterRefused("there is no answer here to take back")
        _refuse_late_change(found.labeling, said, why, now)
        add_retraction(session=session, assessment_digest=said.digest, rater=rater, why=why, at=now)
        if found.assigned.state == "done":
            move_assignment(session=session, key=assignment, lease_no=found.assigned.lease_no, state="open")
        seat = seat_of(session, found)
        move_cursor(session=session, seat=seat.key, to=min(seat.cursor, found.assigned.position))
        return make_task(session, found, asked, given=None)


def _refuse_late_change(labeling: StoredSession, said: Said, why: str, now: datetime) -> None:
    hours = SessionPlan.model_validate(labeling.plan).reason_after_hours
    if now - (said.decided_at or said.recorded_at) > timedelta(hours=hours) and not why.strip():
        raise DeclarationError(f"this answer is older than {hours:g} hours: say why it changes")


def flag_broken(*, store: Store, rater: str, task: TaskKey, why: str, now: datetime) -> None:
    """Takes an item that cannot be judged (cut off, empty, the wrong text) off the rater's queue.

    Whoever leads the session sees it; answers that were given to it stay.

    Raises:
        RaterRefused: as answer().
        DeclarationError: no word why.
    """
    if not why.strip():
        raise DeclarationError("say in a few words what is broken about the item")
    with refusals_audited(store, rater, now), store.write() as session:
        found = held(
            session,
            assignment=task.assignment,
            rater=rater,
            kind=TaskKind.RATE,
            now=now,
            lease_no=task.lease_no,
        )
        said = payload({"note": why})
        put_payloads(session=session, payloads=[said])
        key = found.assigned.session_key
        note(session, key, rater, "broken", now, task.assignment, task.criterion, {"note": said.digest})
        move_assignment(session=session, key=task.assignment, lease_no=task.lease_no, state="broken")


def note_event(
    *,
    store: Store,
    rater: str,
    session: str,
    kind: EventKind,
    now: datetime,
    task: TaskKey | None = None,
) -> None:
    """Notes what a page saw: a break taken or skipped, idle time, a notice that was read.

    Nothing of it is evidence; it is kept for figures of speed and for the next break. next_task() notes
    `shown` itself.

    Raises:
        RaterRefused: the rater has no place in the session.
    """
    with refusals_audited(store, rater, now), store.write() as writing:
        seat = places(writing, rater, session)[0]
        note(
            writing,
            seat.session_key,
            rater,
            kind,
            now,
            task.assignment if task else None,
            task.criterion if task else None,
        )
