"""Labeling sessions: what is rated under which rubric, who takes part, and what the window left open.

Raters' code may load it: nothing here names a stratum, a judge or another person's answer.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from functools import cache
from typing import TYPE_CHECKING, Any, Literal

import sqlalchemy as sa
from sqlmodel import Session

from calibration.store.columns import Row, in_utc, one_of, row_key, table_of, text_column, time_column
from calibration.store.inserting import insert_many
from calibration.store.items import ItemRow, Scope
from calibration.store.text import name, stored_json
from rubrics.errors import DifferentRecord, RecordError

if TYPE_CHECKING:
    from calibration.store.assignments import Assigned

Kind = Literal["rate", "adjudicate"]
LIVE = ("open", "done")
"""The states of an assignment that holds its slot."""


class LabelingSessionRow(Row, table=True):
    """A declared batch: the items of a frozen set, a rubric, raters, and how it is run."""

    __tablename__ = "labeling_session"
    __table_args__ = (one_of("state", ("open", "closed")),)
    key: str = text_column(primary_key=True)
    name: str = text_column(unique=True)
    dataset: str = text_column()
    set_digest: str = text_column(foreign_key="calibration_set.digest")
    rubric_digest: str = text_column(foreign_key="rubric_version.digest")
    plan: str = text_column()
    opened_by: str = text_column()
    opens_at: datetime = time_column()
    window_ends_at: datetime | None = time_column()
    state: str = text_column()
    closed_at: datetime | None = time_column()
    recorded_at: datetime = time_column()


class SessionRaterRow(Row, table=True):
    """A person in a session, and from which place on their queue may hold open items."""

    __tablename__ = "session_rater"
    __table_args__ = (
        sa.UniqueConstraint("session_key", "rater", "kind"),
        one_of("kind", ("rate", "adjudicate")),
    )
    key: str = text_column(primary_key=True)
    session_key: str = text_column(foreign_key="labeling_session.key")
    rater: str = text_column(index=True)
    kind: str = text_column()
    seed: str = text_column()
    cursor: int
    absent_at: datetime | None = time_column()
    recorded_at: datetime = time_column()


class AssignmentClosureRow(Row, table=True):
    """An assessment that was still open when its window ended: unknown, and why."""

    __tablename__ = "assignment_closure"
    __table_args__ = (one_of("reason", ("error",)), one_of("detail", ("window_closed",)))
    key: str = text_column(primary_key=True)
    assignment_key: str = text_column(foreign_key="assignment.key", index=True)
    item_key: str = text_column(foreign_key="item.key", index=True)
    rubric_digest: str = text_column()
    criterion: str = text_column()
    reason: str = text_column()
    detail: str = text_column()
    recorded_at: datetime = time_column()


@dataclass(frozen=True, slots=True)
class StoredSession:
    """A recorded session."""

    key: str
    name: str
    dataset: str
    set_digest: str
    rubric_digest: str
    plan: Mapping[str, Any]
    opened_by: str
    opens_at: datetime
    window_ends_at: datetime | None
    state: str
    closed_at: datetime | None


@dataclass(frozen=True, slots=True)
class Seat:
    """A person's place in a session."""

    key: str
    session_key: str
    rater: str
    kind: Kind
    seed: str
    cursor: int
    absent_at: datetime | None


def session_key(session_name: str) -> str:
    """The key of a session, made from its name."""
    return row_key("labeling_session", session_name)


@dataclass(frozen=True, slots=True, kw_only=True)
class SessionEntry:
    """A session as it is recorded."""

    name: str
    dataset: str
    set_digest: str
    rubric_digest: str
    plan: Mapping[str, Any]
    """How it is run; JSON."""
    opened_by: str
    opens_at: datetime
    window_ends_at: datetime | None = None


def add_session(*, session: Session, entry: SessionEntry, at: datetime) -> StoredSession:
    """The session as recorded, open.

    Raises:
        DifferentRecord: the name is taken.
    """
    values = {
        "key": session_key(entry.name),
        "name": name(entry.name, "session"),
        "dataset": entry.dataset,
        "set_digest": entry.set_digest,
        "rubric_digest": entry.rubric_digest,
        "plan": stored_json(dict(entry.plan)),
        "opened_by": name(entry.opened_by, "actor"),
        "opens_at": in_utc(entry.opens_at),
        "window_ends_at": in_utc(entry.window_ends_at) if entry.window_ends_at else None,
        "state": "open",
        "closed_at": None,
        "recorded_at": in_utc(at),
    }
    added = insert_many(session=session, row=LabelingSessionRow, rows=[values], identity="key")
    if not added.added:
        raise DifferentRecord(f"a session {entry.name!r} is recorded already: give the new one another name")
    return get_session(session=session, session_name=entry.name)


def get_session(*, session: Session, session_name: str) -> StoredSession:
    """The session of the name; raises RecordError where there is none."""
    row = session.connection().execute(_BY_NAME, {"name": session_name}).mappings().first()
    if row is None:
        raise RecordError(f"no session {session_name!r} is recorded; `voirdire session list` shows which are")
    return _session(row)


def session_by_key(*, session: Session, key: str) -> StoredSession:
    """The session of the key; raises RecordError where there is none."""
    row = session.connection().execute(_BY_KEY, {"key": key}).mappings().first()
    if row is None:
        raise RecordError(f"no session has the key {key!r}; `voirdire session list` shows the sessions")
    return _session(row)


def list_sessions(*, session: Session) -> list[StoredSession]:
    """Every session, oldest first."""
    query = _SESSIONS.order_by(_SESSION.c.recorded_at, _SESSION.c.name)
    return [_session(row) for row in session.connection().execute(query).mappings()]


def close_row(*, session: Session, key: str, at: datetime) -> bool:
    """True if the session is closed now, False if it already was."""
    statement = _SESSION.update().where(_SESSION.c.key == key, _SESSION.c.state == "open")
    done = session.connection().execute(statement.values(state="closed", closed_at=in_utc(at)))
    return bool(done.rowcount)


def add_seats(*, session: Session, seats: Iterable[tuple[str, str, Kind, str]], at: datetime) -> int:
    """How many people took a place: (session key, rater, kind, seed) each; those who had one keep it."""
    rows = (
        {
            "key": row_key("session_rater", key, rater, kind),
            "session_key": key,
            "rater": name(rater, "rater"),
            "kind": kind,
            "seed": seed,
            "cursor": 1,
            "absent_at": None,
            "recorded_at": in_utc(at),
        }
        for key, rater, kind, seed in seats
    )
    return insert_many(session=session, row=SessionRaterRow, rows=rows, identity="key").added


def seats_of(
    *, session: Session, key: str | None = None, rater: str | None = None, kind: Kind | None = None
) -> list[Seat]:
    """The places in a session, or of a person, by the time of the session and the person's name."""
    given = {"session_key": key, "rater": rater, "kind": kind}
    asked = {column: value for column, value in given.items() if value is not None}
    return [Seat(*row) for row in session.connection().execute(_seats(*asked), asked)]


def move_cursor(*, session: Session, seat: str, to: int) -> None:
    """Says that the person's assignments before this place are none of them open."""
    session.connection().execute(_SEAT.update().where(_SEAT.c.key == seat).values(cursor=to))


def mark_absent(*, session: Session, seat: str, at: datetime | None) -> None:
    """Notes that the person is absent since a moment, or is back (None)."""
    moment = in_utc(at) if at else None
    session.connection().execute(_SEAT.update().where(_SEAT.c.key == seat).values(absent_at=moment))


def add_closures(*, session: Session, closures: Iterable[tuple[Assigned, str, str]], at: datetime) -> int:
    """How many (assignment, rubric digest, criterion) are recorded as left open when the window ended."""
    rows = (
        {
            "key": row_key("assignment_closure", each.key, criterion),
            "assignment_key": each.key,
            "item_key": each.item_key,
            "rubric_digest": rubric,
            "criterion": criterion,
            "reason": "error",
            "detail": "window_closed",
            "recorded_at": in_utc(at),
        }
        for each, rubric, criterion in closures
    )
    return insert_many(session=session, row=AssignmentClosureRow, rows=rows, identity="key").added


def closures_in(*, session: Session, scope: Scope, rubric_digest: str, criterion: str) -> dict[str, int]:
    """By item id, how many assessments were left open when a window ended."""
    closure, item = table_of(AssignmentClosureRow), table_of(ItemRow)
    query = scope.applied(
        sa.select(item.c.item_id, sa.func.count()).select_from(
            closure.join(item, closure.c.item_key == item.c.key)
        )
    )
    query = query.where(closure.c.rubric_digest == rubric_digest, closure.c.criterion == criterion)
    return {str(row[0]): int(row[1]) for row in session.connection().execute(query.group_by(item.c.item_id))}


_SESSION = table_of(LabelingSessionRow)
_SESSIONS = sa.select(*(_SESSION.c[each] for each in StoredSession.__dataclass_fields__))
_BY_NAME = _SESSIONS.where(_SESSION.c.name == sa.bindparam("name"))
_BY_KEY = _SESSIONS.where(_SESSION.c.key == sa.bindparam("key"))
_SEAT = table_of(SessionRaterRow)


@cache  # a page asks for it at every key press
def _seats(*asked: str) -> sa.Select[*tuple[Any, ...]]:
    query = sa.select(*(_SEAT.c[each] for each in Seat.__dataclass_fields__)).join(_SESSION)
    query = query.where(*(_SEAT.c[column] == sa.bindparam(column) for column in asked))
    return query.order_by(_SESSION.c.recorded_at, _SESSION.c.name, _SEAT.c.rater, _SEAT.c.kind)


def _session(row: sa.RowMapping) -> StoredSession:
    return StoredSession(**{**row, "plan": json.loads(row["plan"])})
