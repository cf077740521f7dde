"""Recording an answer: the assessment, how it came about, and where the rater stands afterwards."""

from __future__ import annotations

from datetime import datetime, timedelta

from sqlmodel import Session

from calibration.labeling.records import IDLE_MINUTES, Answer
from calibration.labeling.tasks import Held, to_source
from calibration.labels import Blindness
from calibration.store.assessments import LabelEntry, add_label
from calibration.store.assignments import advance, move_assignment
from calibration.store.items import ref_of_key
from calibration.store.rater_records import ContextEntry, Said, add_context
from calibration.store.sessions import Seat, seats_of
from rubrics.criterion import Criterion


def store_answer(
    session: Session,
    found: Held,
    criterion: Criterion,
    given: Answer,
    *,
    before: Said | None,
    blind: Blindness,
    now: datetime,
) -> str:
    """The digest of the assessment that is now recorded, with its context.

    Args:
        session: a writing session.
        found: the assignment.
        criterion: that was answered.
        given: the answer, which was found to belong to the criterion.
        before: the newest answer of the rater to it, which the new one revises.
        blind: `yes` where the app enforced it, `sheet` for an offline sheet.
        now: when.
    """
    assigned = found.assigned
    item_id, ref = ref_of_key(session=session, key=assigned.item_key)
    entry = LabelEntry(
        item_id=item_id,
        criterion=criterion.key,
        rater=assigned.rater,
        answer=to_source(given.value, criterion, swapped=assigned.swapped),
        reason=given.reason,
        failure_mode=given.failure_mode,
        note=given.note,
        blind=blind,
        repeat=assigned.repeat,
        revision=before.revision + 1 if before else 0,
        supersedes=before.digest if before else None,
        shown_at=given.shown_at,
        decided_at=given.decided_at,
    )
    digest = add_label(
        session=session,
        entry=entry,
        ref=ref,
        rubric_digest=found.rubric.digest,
        scale=criterion.scale.kind,
        at=now,
    )
    context = ContextEntry(
        assessment_digest=digest,
        assignment_key=assigned.key,
        lease_no=assigned.lease_no,
        position=assigned.position,
        swapped=assigned.swapped,
        ui_version=given.ui_version,
        idle=given.idle or given.decided_at - given.shown_at > timedelta(minutes=IDLE_MINUTES),
        spans=given.spans,
    )
    add_context(session=session, entry=context, at=now)
    return digest


def finish(session: Session, found: Held) -> None:
    """The assignment is done, and the rater's cursor moves on."""
    assigned = found.assigned
    move_assignment(session=session, key=assigned.key, lease_no=assigned.lease_no, state="done")
    advance(session=session, assigned=assigned)


def seat_of(session: Session, found: Held) -> Seat:
    """The place of the assignment's rater."""
    assigned = found.assigned
    return seats_of(session=session, key=assigned.session_key, rater=assigned.rater, kind=assigned.kind)[0]
