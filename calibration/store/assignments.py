"""What each person of a session is asked: an item, its place on their queue, and who may finish it.

Raters' code may load it: nothing here names a stratum, a judge or another person's answer.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

import sqlalchemy as sa
from sqlmodel import Field, Session

from calibration.store.columns import Row, in_utc, one_of, row_key, table_of, text_column, time_column
from calibration.store.inserting import insert_many
from calibration.store.sessions import Kind, Seat, SessionRaterRow
from calibration.store.text import name


class AssignmentRow(Row, table=True):
    """One item for one person: where it stands in their queue, which way round, and who may finish it."""

    __tablename__ = "assignment"
    __table_args__ = (
        sa.UniqueConstraint(
            *("session_key", "item_key", "rater", "kind", "criterion", "repeat"), name="uq_assignment_person"
        ),
        sa.UniqueConstraint("session_key", "rater", "kind", "position", name="uq_assignment_place"),
        sa.Index(
            "uq_assignment_slot",
            *("session_key", "item_key", "kind", "criterion", "slot", "repeat"),
            unique=True,
            sqlite_where=sa.text("state IN ('open', 'done')"),
            postgresql_where=sa.text("state IN ('open', 'done')"),
        ),
        one_of("kind", ("rate", "adjudicate")),
        one_of("state", ("open", "done", "broken", "reassigned", "window_closed")),
    )
    key: str = text_column(primary_key=True)
    session_key: str = text_column(foreign_key="labeling_session.key")
    item_key: str = text_column(foreign_key="item.key")
    rater: str = text_column(index=True)
    kind: str = text_column()
    criterion: str = text_column()
    repeat: int
    slot: int
    position: int
    swapped: bool = Field(sa_type=sa.Boolean)
    state: str = text_column()
    lease_no: int
    lease_until: datetime | None = time_column()
    recorded_at: datetime = time_column()


@dataclass(frozen=True, slots=True)
class Assigned:
    """A recorded assignment."""

    key: str
    session_key: str
    item_key: str
    rater: str
    kind: Kind
    criterion: str
    """The one criterion to adjudicate; empty where all are rated."""
    repeat: int
    """0, or 1 for a hidden repeat."""
    slot: int
    position: int
    """1-based, among the person's assignments of the kind."""
    swapped: bool
    """True where a pair is shown the other way round: B left, A right."""
    state: str
    lease_no: int
    """0 until it was first handed out."""
    lease_until: datetime | None


@dataclass(frozen=True, slots=True)
class AssignmentEntry:
    """An assignment as it is recorded."""

    item_key: str
    rater: str
    kind: Kind
    slot: int
    position: int
    swapped: bool = False
    criterion: str = ""
    repeat: int = 0


def assignment_key(key: str, entry: AssignmentEntry) -> str:
    """The key of an assignment: nothing of the item can be read from it."""
    return row_key(
        *("assignment", key, entry.item_key, entry.rater, entry.kind, entry.criterion, entry.repeat)
    )


def add_assignments(*, session: Session, key: str, entries: Iterable[AssignmentEntry], at: datetime) -> int:
    """How many assignments are new; one that was there stays as it is."""
    rows = (
        {
            "key": assignment_key(key, each),
            "session_key": key,
            "item_key": each.item_key,
            "rater": name(each.rater, "rater"),
            "kind": each.kind,
            "criterion": each.criterion,
            "repeat": each.repeat,
            "slot": each.slot,
            "position": each.position,
            "swapped": each.swapped,
            "state": "open",
            "lease_no": 0,
            "lease_until": None,
            "recorded_at": in_utc(at),
        }
        for each in entries
    )
    return insert_many(session=session, row=AssignmentRow, rows=rows, identity="key").added


def get_assignment(*, session: Session, key: str) -> Assigned | None:
    """The assignment of the key; None where there is none."""
    row = session.connection().execute(_BY_KEY, {"key": key}).first()
    return Assigned(*row) if row else None


def next_open(*, session: Session, seat: Seat) -> Assigned | None:
    """The person's first open assignment from the cursor on."""
    asked = {"key": seat.session_key, "rater": seat.rater, "kind": seat.kind, "cursor": seat.cursor}
    row = session.connection().execute(_NEXT_OPEN, asked).first()
    return Assigned(*row) if row else None


def assignments_of(
    *,
    session: Session,
    key: str,
    rater: str | None = None,
    kind: Kind | None = None,
    states: Sequence[str] = (),
) -> Iterator[Assigned]:
    """The assignments of a session, by person, kind and place."""
    query = _ASSIGNMENTS.where(_ASSIGNMENT.c.session_key == key)
    for column, value in ((_ASSIGNMENT.c.rater, rater), (_ASSIGNMENT.c.kind, kind)):
        if value is not None:
            query = query.where(column == value)
    if states:
        query = query.where(_ASSIGNMENT.c.state.in_(states))
    order = (_ASSIGNMENT.c.rater, _ASSIGNMENT.c.kind, _ASSIGNMENT.c.position)
    for row in session.connection().execute(query.order_by(*order)):
        yield Assigned(*row)


def counts_of(*, session: Session, seat: Seat) -> dict[str, int]:
    """How many of the person's assignments are in which state."""
    place = {"key": seat.session_key, "rater": seat.rater, "kind": seat.kind}
    return {str(row[0]): int(row[1]) for row in session.connection().execute(_COUNTS, place)}


def done_ever(*, session: Session, rater: str) -> int:
    """How many items the person has finished rating in all sessions."""
    return int(session.connection().execute(_DONE_EVER, {"rater": rater}).scalar_one())


def count_awaiting(*, session: Session, seat: Seat) -> int:
    """How many of the person's items wait for an adjudicator, whoever that is."""
    waiting = _ASSIGNMENT.alias()
    query = sa.select(sa.func.count(sa.distinct(waiting.c.item_key))).where(
        waiting.c.session_key == seat.session_key,
        waiting.c.kind == "adjudicate",
        waiting.c.state == "open",
        waiting.c.item_key.in_(sa.select(_ASSIGNMENT.c.item_key).where(*_in_seat(seat))),
    )
    return int(session.connection().execute(query).scalar_one())


def hand_out(*, session: Session, assigned: Assigned, until: datetime) -> bool:
    """True if the assignment is held until then, under the fencing number that it had, or 1 at first.

    False where it was handed out or taken back meanwhile.
    """
    held = {"of": assigned.key, "under": assigned.lease_no, "new": assigned.lease_no or 1}
    done = session.connection().execute(_HAND_OUT, {**held, "until": in_utc(until)})
    return bool(done.rowcount)


def move_assignment(*, session: Session, key: str, lease_no: int, state: str) -> bool:
    """True if the assignment was still held under the fencing number and is now in the state."""
    done = session.connection().execute(_MOVE, {"of": key, "under": lease_no, "to": state})
    return bool(done.rowcount)


def advance(*, session: Session, assigned: Assigned) -> None:
    """Moves the person's cursor to their first open assignment, or past this one where none is open."""
    session.connection().execute(
        _ADVANCE,
        {
            "in_session": assigned.session_key,
            "of": assigned.rater,
            "what": assigned.kind,
            "past": assigned.position + 1,
        },
    )


def take_back(*, session: Session, key: str, state: str) -> None:
    """Takes an assignment away from whoever holds it: its state moves, its fencing number goes up."""
    session.connection().execute(
        _ASSIGNMENT.update()
        .where(_ASSIGNMENT.c.key == key)
        .values(state=state, lease_no=_ASSIGNMENT.c.lease_no + 1, lease_until=None)
    )


def lock_assignment(*, session: Session, key: str) -> Assigned | None:
    """The assignment, held against other writers until the transaction ends."""
    query = _BY_KEY if session.connection().dialect.name == "sqlite" else _LOCKED
    row = session.connection().execute(query, {"key": key}).first()
    return Assigned(*row) if row else None


def last_place(*, session: Session, key: str, rater: str, kind: Kind) -> int:
    """The last place in the person's queue; 0 where it is empty."""
    place = {"key": key, "rater": rater, "kind": kind}
    return int(session.connection().execute(_LAST, place).scalar_one() or 0)


_ASSIGNMENT = table_of(AssignmentRow)


_ASSIGNMENTS = sa.select(*(_ASSIGNMENT.c[each] for each in Assigned.__dataclass_fields__))


# Built once: a page asks for them at every key press.
_BY_KEY = _ASSIGNMENTS.where(_ASSIGNMENT.c.key == sa.bindparam("key"))
_LOCKED = _BY_KEY.with_for_update(of=_ASSIGNMENT)
_HELD = _ASSIGNMENT.update().where(
    _ASSIGNMENT.c.key == sa.bindparam("of"), _ASSIGNMENT.c.lease_no == sa.bindparam("under")
)
_HAND_OUT = _HELD.values(lease_no=sa.bindparam("new"), lease_until=sa.bindparam("until"))
_MOVE = _HELD.values(state=sa.bindparam("to"))
_AT_PLACE = (
    _ASSIGNMENT.c.session_key == sa.bindparam("key"),
    _ASSIGNMENT.c.rater == sa.bindparam("rater"),
    _ASSIGNMENT.c.kind == sa.bindparam("kind"),
)
_LAST = sa.select(sa.func.max(_ASSIGNMENT.c.position)).where(*_AT_PLACE)
_COUNTS = sa.select(_ASSIGNMENT.c.state, sa.func.count()).where(*_AT_PLACE).group_by(_ASSIGNMENT.c.state)
_DONE_EVER = sa.select(sa.func.count()).where(
    _ASSIGNMENT.c.rater == sa.bindparam("rater"),
    _ASSIGNMENT.c.kind == "rate",
    _ASSIGNMENT.c.state == "done",
)
_NEXT_OPEN = (
    _ASSIGNMENTS.where(
        *_AT_PLACE,
        _ASSIGNMENT.c.position >= sa.bindparam("cursor"),
        _ASSIGNMENT.c.state == "open",
    )
    .order_by(_ASSIGNMENT.c.position)
    .limit(1)
)


_SEAT = table_of(SessionRaterRow)
_FIRST_OPEN = (
    sa.select(_ASSIGNMENT.c.position)
    .where(
        _ASSIGNMENT.c.session_key == _SEAT.c.session_key,
        _ASSIGNMENT.c.rater == _SEAT.c.rater,
        _ASSIGNMENT.c.kind == _SEAT.c.kind,
        _ASSIGNMENT.c.position >= _SEAT.c.cursor,
        _ASSIGNMENT.c.state == "open",
    )
    .order_by(_ASSIGNMENT.c.position)
    .limit(1)
    .correlate(_SEAT)
    .scalar_subquery()
)
_ADVANCE = (
    _SEAT.update()
    .where(
        _SEAT.c.session_key == sa.bindparam("in_session"),
        _SEAT.c.rater == sa.bindparam("of"),
        _SEAT.c.kind == sa.bindparam("what"),
    )
    .values(cursor=sa.func.coalesce(_FIRST_OPEN, sa.bindparam("past")))
)


def _in_seat(seat: Seat) -> tuple[sa.ColumnElement[bool], ...]:
    return (
        _ASSIGNMENT.c.session_key == seat.session_key,
        _ASSIGNMENT.c.rater == seat.rater,
        _ASSIGNMENT.c.kind == seat.kind,
    )
