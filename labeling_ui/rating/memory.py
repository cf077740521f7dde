"""What a page must find again when its tab, or the server, has forgotten it."""

from __future__ import annotations

from datetime import datetime

import sqlalchemy as sa
from sqlmodel import col

from calibration.labeling.looking import history, newer_rubric
from calibration.labeling.records import EventKind, TaskKey
from calibration.store.database import Store
from calibration.store.rater_records import events_about, events_of
from calibration.store.rubrics import RubricVersionRow
from calibration.store.sessions import session_key
from rubrics.rubric import Rubric

_LATEST = 5
"""Answers among which those of the item at hand must be: its criteria come in a row."""


def last_shown(*, store: Store, rater: str, session: str, task: TaskKey, now: datetime) -> datetime | None:
    """When the task came on the screen at the latest, as far as the store knows; None for never.

    That is when its item was handed out, or when the criterion before it was answered.
    """
    with store.read() as reading:
        shown = events_about(session=reading, assignment_key=task.assignment, kind=EventKind.SHOWN)
    past = history(store=store, rater=rater, session=session, limit=_LATEST, now=now)
    answered = [each.given.decided_at for each in past if each.assignment == task.assignment]
    return max((*(event.at for event in shown), *answered), default=None)


def unread_rubric(*, store: Store, rater: str, session: str, own: Rubric) -> Rubric | None:
    """A newer version of the session's own rubric of which the rater was not told yet, or None."""
    newest = newer_rubric(store=store, session=session, own=own)
    if newest is None:
        return None
    with store.read() as reading:
        read = events_of(
            session=reading, key=session_key(session), rater=rater, kinds=[EventKind.RUBRIC_NOTICE]
        )
        query = sa.select(col(RubricVersionRow.recorded_at)).where(
            col(RubricVersionRow.digest) == newest.digest
        )
        published: datetime = reading.connection().execute(query).scalar_one()
    return None if any(event.at >= published for event in read) else newest
