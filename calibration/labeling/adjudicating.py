"""What an adjudicator does: an own verdict, then the raters' answers without names, then the resolution.

An adjudicator never meets an item that they rated, and no page says why an item is here. The window and
the close of a session bind its raters: adjudicators go on afterwards.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime, timedelta
from typing import Any

from sqlmodel import Session

from calibration.labeling.disputes import queue_disputes
from calibration.labeling.plan import seeded
from calibration.labeling.records import (
    UNKNOWN,
    AdjudicationCounts,
    Answer,
    Case,
    GivenAnswer,
    Nothing,
    NothingWhy,
    Resolved,
    Revealed,
    Span,
    TaskKey,
    TaskKind,
    shown_answers,
)
from calibration.labeling.tasks import (
    Held,
    check_answer,
    from_source,
    held,
    item_of,
    make_task,
    refusals_audited,
    text_of,
    to_source,
    why_not,
)
from calibration.store.assignments import (
    assignments_of,
    counts_of,
    hand_out,
    lock_assignment,
    move_assignment,
    next_open,
)
from calibration.store.database import Store
from calibration.store.items import ErasedItem
from calibration.store.payloads import payload, put_payloads
from calibration.store.rater_records import RaterEvent, Said, add_event, answers_of, events_about
from calibration.store.references import (
    AdjudicationEntry,
    StoredAdjudication,
    add_adjudications,
    adjudication_of,
)
from calibration.store.rubrics import get_rubric_by_digest
from calibration.store.sessions import Seat, get_session, move_cursor, seats_of, session_by_key
from rubrics.criterion import Criterion
from rubrics.errors import DeclarationError, RaterRefused, RecordError
from rubrics.record import shown

LEASE = timedelta(minutes=60)
FIRST, RESOLVED, SEEN = "first_verdict", "resolved", "revealed"
_LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"


def next_case(*, store: Store, rater: str, session: str | None = None, now: datetime) -> Case | Nothing:
    """The adjudicator's next case, or why there is none.

    Disagreements on items whose raters have all answered are queued here, in seeded order. `case.first` is
    the own verdict where it was given before the page was loaded again: then reveal() is open.

    Args:
        store: from open_rating_store() in the app.
        rater: handle of the adjudicator.
        session: name of a session, or None for the oldest one that has a case.
        now: when.

    Raises:
        RaterRefused: no place as adjudicator in the named session; audited.
    """
    with refusals_audited(store, rater, now):
        with store.read() as reading:
            seats = _seats(reading, rater, session)
        best = Nothing(NothingWhy.NO_SESSION)
        for seat in seats:
            found = _next_in(store, seat, now)
            if isinstance(found, Case):
                return found
            best = found
        return best


def _seats(session: Session, rater: str, named: str | None) -> list[Seat]:
    seats = seats_of(session=session, rater=rater, kind="adjudicate")
    if named is None:
        return seats
    try:
        key = get_session(session=session, session_name=named).key
    except RecordError:
        key = ""
    mine = [seat for seat in seats if seat.session_key == key]
    if not mine:
        raise RaterRefused(f"{shown(rater)} adjudicates in no session {shown(named)}: ask whoever leads it")
    return mine


def _next_in(store: Store, seat: Seat, now: datetime) -> Case | Nothing:
    with store.write() as session:
        labeling = session_by_key(session=session, key=seat.session_key)
        if why_not(labeling, now) is NothingWhy.NOT_YET_OPEN:
            return Nothing(NothingWhy.NOT_YET_OPEN, session=labeling.name, opens_at=labeling.opens_at)
        rubric = get_rubric_by_digest(session=session, digest=labeling.rubric_digest)
        queue_disputes(session=session, labeling=labeling, rubric=rubric, at=now)
        while True:
            found = next_open(session=session, seat=seat)
            assigned = lock_assignment(session=session, key=found.key) if found else None
            if assigned is None:
                return Nothing(NothingWhy.ALL_DONE, session=labeling.name)
            if isinstance(item_of(session, assigned), ErasedItem):
                move_assignment(session=session, key=assigned.key, lease_no=assigned.lease_no, state="broken")
                continue
            hand_out(session=session, assigned=assigned, until=now + LEASE)
            return _case(session, Held(replace(assigned, lease_no=assigned.lease_no or 1), labeling, rubric))


def case_at(*, store: Store, rater: str, assignment: str, now: datetime) -> Case:
    """A case of one's own, looked at again; `case.task.given` is the resolution where there is one.

    Raises:
        RaterRefused: it is not this adjudicator's; audited.
    """
    with refusals_audited(store, rater, now), store.read() as session:
        found = _held(session, assignment, rater, None, None)
        return _case(session, found)


def _case(session: Session, found: Held) -> Case:
    criterion = found.rubric.criterion(found.assigned.criterion)
    resolution = _resolution(session, found)
    given = None
    if resolution is not None and resolution.adjudicator == found.assigned.rater:
        given = _given_resolution(session, found, resolution, criterion)
    task = make_task(session, found, criterion, given=given)
    return Case(task, _first(session, found, criterion))


def _held(session: Session, assignment: str, rater: str, now: datetime | None, lease_no: int | None) -> Held:
    return held(
        session,
        assignment=assignment,
        rater=rater,
        kind=TaskKind.ADJUDICATE,
        now=now,
        lease_no=lease_no,
    )


def _first(session: Session, found: Held, criterion: Criterion) -> GivenAnswer | None:
    events = events_about(session=session, assignment_key=found.assigned.key, kind=FIRST)
    if not events:
        return None
    said: RaterEvent = events[-1]
    return GivenAnswer(
        digest="",
        value=from_source(said.payload["value"], criterion, swapped=found.assigned.swapped),
        reason=said.payload["reason"],
        failure_mode=said.payload["failure_mode"],
        note=text_of(session, said.payload["note"], "note"),
        decided_at=said.at,
        revision=len(events) - 1,
    )


def first_verdict(*, store: Store, rater: str, task: TaskKey, answer: Answer, now: datetime) -> Case:
    """The case with the adjudicator's own verdict recorded, given before anything was revealed.

    It may be given again until the reveal; afterwards it stands.

    Raises:
        RaterRefused: not this adjudicator's case, or the raters' answers were revealed; audited.
        DeclarationError: no such answer, or cannot decide without a reason.
    """
    with refusals_audited(store, rater, now), store.write() as session:
        found = _held(session, task.assignment, rater, now, task.lease_no)
        criterion = found.rubric.criterion(found.assigned.criterion)
        if events_about(session=session, assignment_key=found.assigned.key, kind=SEEN):
            raise RaterRefused("the raters' answers were revealed: your first verdict stands as it is")
        check_answer(criterion, answer.value, answer.reason, answer.failure_mode)
        note = payload({"note": answer.note}) if answer.note.strip() else None
        put_payloads(session=session, payloads=[note] if note else [])
        said = {
            "value": to_source(answer.value, criterion, swapped=found.assigned.swapped),
            "reason": answer.reason,
            "failure_mode": answer.failure_mode,
            "note": note.digest if note else None,
            "shown_at": answer.shown_at.isoformat(),
            "ui_version": answer.ui_version,
        }
        _event(session, found, FIRST, now, said)
        return _case(session, found)


def reveal(*, store: Store, rater: str, task: TaskKey, now: datetime) -> tuple[Revealed, ...]:
    """The raters' live answers, without names, in a random order that stays the same for this case.

    Raises:
        RaterRefused: not this adjudicator's case, or their own verdict is not given yet; audited.
    """
    with refusals_audited(store, rater, now), store.write() as session:
        found = _held(session, task.assignment, rater, now, task.lease_no)
        criterion = found.rubric.criterion(found.assigned.criterion)
        if _first(session, found, criterion) is None:
            raise RaterRefused("give your own verdict first: the raters' answers are shown after it")
        if not events_about(session=session, assignment_key=found.assigned.key, kind=SEEN):
            _event(session, found, SEEN, now, {})
        return tuple(
            _revealed(session, letter, said, criterion, found)
            for letter, said in zip(_LETTERS, _in_dispute(session, found), strict=False)
        )


def _in_dispute(session: Session, found: Held) -> list[Said]:
    answers = answers_of(
        session=session,
        rubric_digest=found.rubric.digest,
        item_key=found.assigned.item_key,
        criterion=found.assigned.criterion,
        repeat=0,
    )
    live = [said for said in answers if not said.retracted]
    seeded("reveal", found.assigned.key).shuffle(live)
    return live


def _revealed(session: Session, letter: str, said: Said, criterion: Criterion, found: Held) -> Revealed:
    swapped = found.assigned.swapped
    return Revealed(
        letter=letter,
        value=from_source(said.value, criterion, swapped=swapped),
        reason=said.reason,
        failure_mode=said.failure_mode,
        note=text_of(session, said.note_digest, "note"),
        spans=tuple(_turned(Span(*span), turned=said.swapped != swapped) for span in said.spans),
    )


def _turned(span: Span, *, turned: bool) -> Span:
    """The span on the side on which the adjudicator sees its text."""
    sides = {"left": "right", "right": "left"}
    return span._replace(field=sides.get(span.field, span.field)) if turned else span


def resolve(*, store: Store, rater: str, task: TaskKey, value: str, reason: str, now: datetime) -> Resolved:
    """The recorded resolution of the case; `unknown` leaves it unresolved, which is a result too.

    Given again while the session is open it is a revision; both stay recorded.

    Args:
        store: from open_rating_store() in the app.
        rater: handle of the adjudicator.
        task: the case's task.key.
        value: one of task.answers, or `unknown`.
        reason: what decided it; required.
        now: when.

    Raises:
        RaterRefused: not this adjudicator's case, nothing revealed yet, or someone else resolved it; audited.
        DeclarationError: no such answer, or no reason.
    """
    if not reason.strip():
        raise DeclarationError("a resolution needs a reason: say what decided it")
    with refusals_audited(store, rater, now), store.write() as session:
        found = _held(session, task.assignment, rater, now, task.lease_no)
        criterion = found.rubric.criterion(found.assigned.criterion)
        _check_value(criterion, value)
        first = _first(session, found, criterion)
        if first is None or not events_about(session=session, assignment_key=found.assigned.key, kind=SEEN):
            raise RaterRefused("give your own verdict and look at the raters' answers before you resolve")
        digest = _record(session, found, criterion, value, reason, now)
        said = {"adjudication": digest, "first": first.value, "final": value}
        _event(session, found, RESOLVED, now, said)
        _finish(session, found)
        return Resolved(digest, value, changed=value != first.value)


def _check_value(criterion: Criterion, value: str) -> None:
    allowed = (*shown_answers(criterion), UNKNOWN)
    if value not in allowed:
        raise DeclarationError(
            f"{shown(value)} is no resolution under {criterion.key!r}; allowed: {', '.join(allowed)}"
        )


def _record(
    session: Session, found: Held, criterion: Criterion, value: str, reason: str, now: datetime
) -> str:
    before = _resolution(session, found)
    if before is not None and before.adjudicator != found.assigned.rater:
        raise RaterRefused("someone else has resolved this case: go on with the next one")
    item = item_of(session, found.assigned)
    entry = AdjudicationEntry(
        item_id=item.item_id,
        criterion=criterion.key,
        adjudicator=found.assigned.rater,
        answer=to_source(value, criterion, swapped=found.assigned.swapped),
        reason=reason,
        revision=before.revision + 1 if before else 0,
        supersedes=before.digest if before else None,
        decided_at=now,
    )
    add_adjudications(
        session=session,
        dataset=found.labeling.dataset,
        rubric_digest=found.rubric.digest,
        adjudications=[entry],
        at=now,
    )
    recorded = _resolution(session, found)
    return recorded.digest if recorded else ""


def _resolution(session: Session, found: Held) -> StoredAdjudication | None:
    return adjudication_of(
        session=session,
        item_key=found.assigned.item_key,
        rubric_digest=found.rubric.digest,
        criterion=found.assigned.criterion,
    )


def _given_resolution(
    session: Session, found: Held, said: StoredAdjudication, criterion: Criterion
) -> GivenAnswer | None:
    return GivenAnswer(
        digest=said.digest,
        value=from_source(said.answer, criterion, swapped=found.assigned.swapped),
        reason=None,
        failure_mode=None,
        note=text_of(session, said.reason_digest, "reason"),
        decided_at=said.decided_at or found.labeling.opens_at,
        revision=said.revision,
    )


def _finish(session: Session, found: Held) -> None:
    assigned = found.assigned
    move_assignment(session=session, key=assigned.key, lease_no=assigned.lease_no, state="done")
    seats = seats_of(session=session, key=assigned.session_key, rater=assigned.rater, kind="adjudicate")
    following = next_open(session=session, seat=seats[0])
    if following is not None:
        move_cursor(session=session, seat=seats[0].key, to=following.position)


def _event(session: Session, found: Held, kind: str, now: datetime, said: dict[str, Any]) -> None:
    add_event(
        session=session,
        key=found.assigned.session_key,
        rater=found.assigned.rater,
        kind=kind,
        at=now,
        assignment_key=found.assigned.key,
        criterion=found.assigned.criterion,
        payload=said,
    )


def counts(*, store: Store, rater: str, session: str | None = None) -> AdjudicationCounts:
    """How many of the adjudicator's cases are open, resolved with a verdict, and left unresolved.

    Raises:
        RaterRefused: no place as adjudicator in the named session.
    """
    waiting = resolved = unresolved = 0
    with store.read() as reading:
        for seat in _seats(reading, rater, session):
            tally = counts_of(session=reading, seat=seat)
            waiting += tally.get("open", 0)
            undecided = _undecided(reading, seat)
            resolved += tally.get("done", 0) - undecided
            unresolved += undecided
    return AdjudicationCounts(waiting, resolved, unresolved)


def _undecided(session: Session, seat: Seat) -> int:
    labeling = session_by_key(session=session, key=seat.session_key)
    done: Sequence[Any] = list(
        assignments_of(
            session=session, key=seat.session_key, rater=seat.rater, kind="adjudicate", states=["done"]
        )
    )
    found = (
        adjudication_of(
            session=session,
            item_key=each.item_key,
            rubric_digest=labeling.rubric_digest,
            criterion=each.criterion,
        )
        for each in done
    )
    return sum(each is not None and each.answer == UNKNOWN for each in found)
