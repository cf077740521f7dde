"""What a rater may know of their own work: history, progress, sessions, a newer rubric."""

from __future__ import annotations

from datetime import datetime, timedelta

from sqlmodel import Session

from calibration.labeling.handing import places
from calibration.labeling.records import (
    BATCH,
    BREAK_MINUTES,
    LEFT,
    EventKind,
    GivenAnswer,
    Past,
    Progress,
    SessionInfo,
    TaskKind,
)
from calibration.labeling.tasks import fields_of, given_of, item_of, why_not
from calibration.store.assignments import counts_of, done_ever, get_assignment
from calibration.store.database import Store
from calibration.store.items import ErasedItem
from calibration.store.rater_records import Said, answers_in, first_moment, last_moment
from calibration.store.rubrics import get_rubric, get_rubric_by_digest
from calibration.store.sessions import Seat, StoredSession, get_session, seats_of, session_by_key
from rubrics.criterion import ALL_OUTPUTS
from rubrics.errors import RaterRefused
from rubrics.rubric import Rubric

EXCERPT = 120
"""Characters of an output in a list."""
_OFF = ("broken", "reassigned", "window_closed")


def history(
    *, store: Store, rater: str, session: str | None = None, limit: int = 50, now: datetime
) -> tuple[Past, ...]:
    """The rater's own newest answers, newest first; one that was taken back says so (`given.retracted`).

    Args:
        store: the store.
        rater: handle of the person.
        session: name of a session, or None for all of theirs.
        limit: at most so many.
        now: when; tells whether an answer may still be changed.

    Raises:
        RaterRefused: the rater has no place in the named session.
    """
    with store.read() as reading:
        found: list[tuple[datetime, Past]] = []
        for seat in places(reading, rater, session):
            labeling = session_by_key(session=reading, key=seat.session_key)
            rubric = get_rubric_by_digest(session=reading, digest=labeling.rubric_digest)
            said = answers_in(session=reading, key=labeling.key, rater=rater, limit=limit)
            found += [(each.recorded_at, _past(reading, labeling, rubric, each, now)) for each in said]
        found.sort(key=lambda each: each[0], reverse=True)
        return tuple(past for _, past in found[:limit])


def _past(session: Session, labeling: StoredSession, rubric: Rubric, said: Said, now: datetime) -> Past:
    criterion = rubric.criterion(said.criterion)
    assigned = get_assignment(session=session, key=said.assignment_key or "")
    if assigned is None:  # pragma: no cover - answers_in() joins assignments
        raise RaterRefused("an answer without an assignment")
    item = item_of(session, assigned)
    excerpt = "(erased)"
    if not isinstance(item, ErasedItem):
        fields = fields_of(item, rubric, criterion, swapped=assigned.swapped)
        excerpt = next(f.text for f in fields if f.key in {LEFT, *ALL_OUTPUTS})[:EXCERPT]
    given: GivenAnswer = given_of(session, said, criterion)
    return Past(
        session=labeling.name,
        assignment=assigned.key,
        criterion=criterion.key,
        criterion_title=criterion.title,
        position=assigned.position,
        excerpt=excerpt,
        given=given,
        changeable=why_not(labeling, now) is None and assigned.state not in _OFF,
    )


def progress(*, store: Store, rater: str, session: str | None = None, now: datetime) -> Progress:
    """How far the rater is in a session (without one, in the first that still has items).

    Raises:
        RaterRefused: the rater has no place in the named session.
    """
    with store.read() as reading:
        done, of = _done_of(reading, places(reading, rater, session))
        minutes = _since_break(reading, rater, now)
        ever = done_ever(session=reading, rater=rater)
    # a batch that is full stays the current one until the next item is done
    batch = (max(done - 1, 0) // BATCH) + 1 if done and done % BATCH == 0 else done // BATCH + 1
    size = min(BATCH, max(of - (batch - 1) * BATCH, 0))
    return Progress(
        batch=batch,
        batch_done=done - (batch - 1) * BATCH,
        batch_size=size,
        done=done,
        of=of,
        total_ever=ever,
        minutes_since_break=minutes,
        break_due=done < of and (minutes >= BREAK_MINUTES or _batch_break(done, minutes)),
    )


def _batch_break(done: int, minutes: float) -> bool:
    """A full batch asks for a break unless one was just taken or skipped."""
    return done > 0 and done % BATCH == 0 and minutes > 1


def _done_of(session: Session, seats: list[Seat]) -> tuple[int, int]:
    done = of = 0
    for seat in seats:
        counts = counts_of(session=session, seat=seat)
        done = counts.get("done", 0)
        of = sum(count for state, count in counts.items() if state not in _OFF)
        if done < of:
            break
    return done, of


def _since_break(session: Session, rater: str, now: datetime) -> float:
    since = now - timedelta(hours=12)
    breaks = (EventKind.BREAK.value, EventKind.BREAK_SKIPPED.value)
    paused = last_moment(session=session, rater=rater, kinds=breaks, since=since)
    start = paused or first_moment(session=session, rater=rater, kinds=[EventKind.SHOWN.value], since=since)
    return max((now - start).total_seconds() / 60, 0.0) if start else 0.0


def sessions_of(*, store: Store, rater: str, now: datetime) -> tuple[SessionInfo, ...]:
    """The sessions in which the person has a place, oldest first, with how far they are."""
    with store.read() as reading:
        found = []
        for seat in seats_of(session=reading, rater=rater):
            labeling = session_by_key(session=reading, key=seat.session_key)
            done, of = _done_of(reading, [seat])
            rubric = get_rubric_by_digest(session=reading, digest=labeling.rubric_digest)
            found.append(
                SessionInfo(
                    name=labeling.name,
                    rubric=rubric.ref,
                    role=TaskKind(seat.kind),
                    open=why_not(labeling, now) is None,
                    window_ends_at=labeling.window_ends_at,
                    done=done,
                    of=of,
                )
            )
        return tuple(found)


def handed_on(*, store: Store, rater: str, assignment: str | None = None) -> int:
    """How many of the rater's items were given to somebody else: all of them, or 1 or 0 for this one."""
    with store.read() as reading:
        if assignment is not None:
            found = get_assignment(session=reading, key=assignment)
            return int(found is not None and found.rater == rater and found.state == "reassigned")
        seats = seats_of(session=reading, rater=rater, kind="rate")
        return sum(counts_of(session=reading, seat=seat).get("reassigned", 0) for seat in seats)


def newer_rubric(*, store: Store, session: str, own: Rubric | None = None) -> Rubric | None:
    """A version of the session's rubric that was published after its own; None where there is none.

    The session goes on under its own version, and its labels stay there; the page says so once and shows
    the difference.

    Args:
        store: the store.
        session: name of the session.
        own: its rubric, where it is at hand: it is not read again then.
    """
    with store.read() as reading:
        if own is None:
            labeling = get_session(session=reading, session_name=session)
            own = get_rubric_by_digest(session=reading, digest=labeling.rubric_digest)
        newest = get_rubric(session=reading, name=own.name)
        return newest if newest.version > own.version else None
