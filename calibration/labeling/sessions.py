"""What whoever leads a session does: open it on a frozen set, see how it stands, reassign, close.

The rating app may not import this: it reads the set, whose strata may be a judge's verdicts.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from sqlmodel import Session

from calibration.labeling.handing import LEASE
from calibration.labeling.plan import SessionPlan, queue_of, seeded, share_out
from calibration.labeling.tasks import STREAM
from calibration.store.assignments import (
    Assigned,
    AssignmentEntry,
    add_assignments,
    assignments_of,
    counts_of,
    last_place,
    take_back,
)
from calibration.store.chain import append_event
from calibration.store.items import ErasedItem, Scope, iter_full_items
from calibration.store.payloads import StoredText, read_payloads
from calibration.store.rater_records import answers_of, count_answers, events_of
from calibration.store.rubrics import get_rubric_by_digest
from calibration.store.sessions import (
    Kind,
    Seat,
    SessionEntry,
    StoredSession,
    add_closures,
    add_seats,
    add_session,
    close_row,
    get_session,
    list_sessions,
    mark_absent,
    seats_of,
)
from calibration.store.sets import StoredSet, iter_members
from rubrics.errors import DeclarationError, RecordError
from rubrics.rubric import Rubric


@dataclass(frozen=True, slots=True, kw_only=True)
class Opening:
    """A session that is to be opened."""

    name: str
    stored_set: StoredSet
    rubric: Rubric
    raters: tuple[str, ...]
    adjudicators: tuple[str, ...] = ()
    plan: SessionPlan = field(default_factory=SessionPlan)
    opens_at: datetime | None = None
    """None for at once."""
    window_ends_at: datetime | None = None
    """The end of the observation window: what is open then becomes unknown(error, window_closed)."""


def open_session(*, session: Session, opening: Opening, actor: str, at: datetime) -> StoredSession:
    """The session, recorded with every rater's queue: order, sides and repeats are fixed now.

    Raises:
        RecordError: the set is not frozen.
        DifferentRecord: the name is taken.
        DeclarationError: too few raters, an adjudicator who also rates, a window that ends before it opens,
            items of another shape than the rubric judges, or a rater who labelled an item already.
    """
    _check(session, opening, at)
    stored = add_session(session=session, entry=_entry(opening, actor, at), at=at)
    items = [
        member.item_key for member in iter_members(session=session, set_digest=opening.stored_set.digest)
    ]
    _refuse_rated(session, opening, items)
    seats: list[tuple[str, str, Kind, str]] = [
        *((stored.key, rater, "rate", _seed(opening, rater)) for rater in opening.raters),
        *((stored.key, who, "adjudicate", _seed(opening, who)) for who in opening.adjudicators),
    ]
    add_seats(session=session, seats=seats, at=at)
    shares = share_out(items, opening.raters, opening.plan, session=opening.name)
    for rater, mine in shares.items():
        queue = queue_of(mine, opening.plan, session=opening.name, rater=rater)
        entries = [
            AssignmentEntry(each.item, rater, "rate", each.slot, place, each.swapped, repeat=each.repeat)
            for place, each in enumerate(queue, start=1)
        ]
        add_assignments(session=session, key=stored.key, entries=entries, at=at)
    _tell(
        session,
        "session.opened",
        actor,
        at,
        {
            "session": stored.name,
            "set": opening.stored_set.digest,
            "rubric": opening.rubric.digest,
            "raters": list(opening.raters),
            "adjudicators": list(opening.adjudicators),
        },
    )
    return stored


def _entry(opening: Opening, actor: str, at: datetime) -> SessionEntry:
    return SessionEntry(
        name=opening.name,
        dataset=opening.stored_set.dataset,
        set_digest=opening.stored_set.digest,
        rubric_digest=opening.rubric.digest,
        plan=opening.plan.model_dump(mode="json"),
        opened_by=actor,
        opens_at=opening.opens_at or at,
        window_ends_at=opening.window_ends_at,
    )


def _seed(opening: Opening, person: str) -> str:
    return f"{seeded('seat', opening.name, opening.plan.seed, person).getrandbits(64):016x}"


def _tell(session: Session, kind: str, actor: str, at: datetime, what: Mapping[str, Any]) -> None:
    append_event(session=session, stream=STREAM, kind=kind, actor=actor, payload=dict(what), at=at)


def _check(session: Session, opening: Opening, at: datetime) -> None:
    stored = opening.stored_set
    if stored.frozen_at is None:
        raise RecordError(
            f"set {stored.ref} is not frozen, so its items may still change; run `voirdire set freeze"
            f" {stored.name}`"
        )
    people = [*opening.raters, *opening.adjudicators]
    twice = sorted({who for who in people if people.count(who) > 1})
    if twice:
        raise DeclarationError(
            f"{twice[0]!r} is named twice: a person rates or adjudicates, not both; name someone else"
        )
    if len(opening.raters) < opening.plan.raters_per_item:
        raise DeclarationError(
            f"{len(opening.raters)} {'rater' if len(opening.raters) == 1 else 'raters'} for"
            f" {opening.plan.raters_per_item} raters an item: name more"
            " raters, or ask for fewer an item (--per-item)"
        )
    if opening.window_ends_at is not None and opening.window_ends_at <= (opening.opens_at or at):
        raise DeclarationError(
            f"the window ends at {opening.window_ends_at.isoformat()}, before the session opens: give a later"
            " end"
        )
    _check_items(session, opening)


def _check_items(session: Session, opening: Opening) -> None:
    mode = opening.rubric.mode
    for item in iter_full_items(session=session, scope=Scope(set_digest=opening.stored_set.digest)):
        if not isinstance(item, ErasedItem) and item.mode is not mode:
            raise DeclarationError(
                f"item {item.item_id!r} is {item.mode.value} and {opening.rubric.ref} judges {mode.value}"
                " items: open the session with a rubric of that kind"
            )


def _refuse_rated(session: Session, opening: Opening, items: Sequence[str]) -> None:
    for rater in opening.raters:
        count = count_answers(session=session, rubric_digest=opening.rubric.digest, items=items, rater=rater)
        if count:
            raise DeclarationError(
                f"{rater!r} has labelled {count} {'item' if count == 1 else 'items'} of set"
                f" {opening.stored_set.ref} under"
                f" {opening.rubric.ref} already: an independent assessment is made once; name another rater"
            )


# -- how it stands


@dataclass(frozen=True, slots=True)
class PersonStatus:
    """How far one person is."""

    person: str
    kind: Kind
    open: int
    done: int
    broken: int
    reassigned: int
    window_closed: int
    absent: bool


@dataclass(frozen=True, slots=True)
class BrokenItem:
    """An item that a rater says cannot be judged."""

    item_key: str
    rater: str
    why: str


@dataclass(frozen=True, slots=True)
class SessionStatus:
    """How a session stands."""

    stored: StoredSession
    rubric: str
    """name@version."""
    people: tuple[PersonStatus, ...]
    broken: tuple[BrokenItem, ...]
    over: bool
    """True where the observation window has ended and nobody closed the session yet."""

    @property
    def open(self) -> int:
        """Assignments to rate that are open."""
        return sum(each.open for each in self.people if each.kind == "rate")

    @property
    def asked(self) -> int:
        """Assignments to rate in all: what the window left open is among them, broken and moved ones not."""
        left = sum(each.window_closed for each in self.people if each.kind == "rate")
        return self.open + self.done + left

    @property
    def done(self) -> int:
        """Assignments to rate that are done."""
        return sum(each.done for each in self.people if each.kind == "rate")


def session_status(*, session: Session, name: str, now: datetime) -> SessionStatus:
    """How the session stands: by person, broken items, whether its window is over.

    Raises:
        RecordError: no such session.
    """
    stored = get_session(session=session, session_name=name)
    seats = seats_of(session=session, key=stored.key)
    return SessionStatus(
        stored=stored,
        rubric=get_rubric_by_digest(session=session, digest=stored.rubric_digest).ref,
        people=tuple(_person(session, seat) for seat in seats),
        broken=_broken(session, stored),
        over=stored.state == "open" and stored.window_ends_at is not None and stored.window_ends_at <= now,
    )


def _person(session: Session, seat: Seat) -> PersonStatus:
    counts = counts_of(session=session, seat=seat)
    words = ("open", "done", "broken", "reassigned", "window_closed")
    tally = {word: counts.get(word, 0) for word in words}
    return PersonStatus(person=seat.rater, kind=seat.kind, absent=seat.absent_at is not None, **tally)


def _broken(session: Session, stored: StoredSession) -> tuple[BrokenItem, ...]:
    items = {each.key: each for each in assignments_of(session=session, key=stored.key, kind="rate")}
    found = []
    for event in events_of(session=session, key=stored.key, kinds=["broken"]):
        digest = str(event.payload.get("note", ""))
        text = read_payloads(session=session, digests=[digest]).get(digest)
        said = str(text.content["note"]) if isinstance(text, StoredText) else ""
        assigned = items.get(event.assignment_key or "")
        if assigned is not None:
            found.append(BrokenItem(assigned.item_key, assigned.rater, said))
    return tuple(found)


def open_items(*, session: Session, person: str, set_digest: str) -> int:
    """How many items of the set the person still has to rate or to adjudicate, in whichever session.

    Who has any may not see what a judge or other people said of the set. Cases that wait for an adjudicator
    count after the close too, and so does an item that another set asks this person about.
    """
    mine = {each.item_key for _, found in _open_of(session, person) for each in found}
    if not mine:
        return 0
    return sum(member.item_key in mine for member in iter_members(session=session, set_digest=set_digest))


@dataclass(frozen=True, slots=True)
class OpenWork:
    """What a person still rates or adjudicates: what others said there could bias them."""

    rubrics: frozenset[str]
    """Names, whatever the version."""
    datasets: frozenset[str]


def open_work(*, session: Session, person: str) -> OpenWork:
    """The rubrics under which, and the datasets on which, the person has something open."""
    held = [stored for stored, _ in _open_of(session, person)]
    digests = {stored.rubric_digest for stored in held}
    return OpenWork(
        frozenset(get_rubric_by_digest(session=session, digest=each).name for each in digests),
        frozenset(stored.dataset for stored in held),
    )


def _open_of(session: Session, person: str) -> list[tuple[StoredSession, list[Assigned]]]:
    """The sessions in which the person has something open, each with what it is."""
    found = [
        (stored, list(assignments_of(session=session, key=stored.key, rater=person, states=["open"])))
        for stored in list_sessions(session=session)
    ]
    return [(stored, mine) for stored, mine in found if mine]


# -- changing it


def close_session(*, session: Session, name: str, actor: str, at: datetime) -> int:
    """How many assessments were still open: each becomes unknown(error, window_closed), by its own record.

    No rater's answer is taken for the session afterwards. Labels that were given stay as they are, and
    `calibrate` counts what was left open. Adjudicators go on: what they resolve is known only now.
    Closing a closed session changes nothing.

    Raises:
        RecordError: no such session.
    """
    stored = get_session(session=session, session_name=name)
    if not close_row(session=session, key=stored.key, at=at):
        return 0
    rubric = get_rubric_by_digest(session=session, digest=stored.rubric_digest)
    left = 0
    for assigned in list(assignments_of(session=session, key=stored.key, kind="rate", states=["open"])):
        missing = _unanswered(session, assigned, rubric)
        closures = [(assigned, rubric.digest, criterion) for criterion in missing]
        left += add_closures(session=session, closures=closures, at=at)
        take_back(session=session, key=assigned.key, state="window_closed")
    _tell(session, "session.closed", actor, at, {"session": name, "left_open": left})
    return left


def close_due(*, session: Session, at: datetime) -> int:
    """How many assessments were left open in sessions whose window has ended since; those are closed now.

    Asked before anything is counted: at the end of a window nobody needs to be at the keyboard.
    """
    return sum(
        close_session(session=session, name=each.name, actor="voirdire", at=at)
        for each in list_sessions(session=session)
        if each.state == "open" and each.window_ends_at is not None and each.window_ends_at <= at
    )


def _unanswered(session: Session, assigned: Assigned, rubric: Rubric) -> list[str]:
    said = answers_of(
        session=session,
        rubric_digest=rubric.digest,
        item_key=assigned.item_key,
        rater=assigned.rater,
        repeat=assigned.repeat,
    )
    live = {each.criterion for each in said if not each.retracted}
    return [each.key for each in rubric.criteria if each.key not in live]


def reassign(
    *,
    session: Session,
    name: str,
    absent: str,
    to: Sequence[str],
    actor: str,
    at: datetime,
    force: bool = False,
) -> int:
    """How many open items of an absent rater were given to others, who have not rated them.

    What the absent rater was just looking at is theirs until the lease ends, unless forced; a page that
    still shows it is then refused by the fencing number. Hidden repeats of theirs fall away: a repeat asks
    the same person again.

    Args:
        session: a writing session.
        name: of the labeling session.
        absent: who is away.
        to: raters who take over; those with fewer open items first.
        actor: who reassigns.
        at: now.
        force: also what is being looked at.

    Raises:
        RecordError: no such session, it is closed, or the rater has no place in it.
        DeclarationError: somebody is named who cannot take over.
    """
    stored = get_session(session=session, session_name=name)
    if stored.state != "open":
        raise RecordError(f"the session {name!r} is closed: nothing is reassigned in it any more")
    mine = seats_of(session=session, key=stored.key, rater=absent, kind="rate")
    if not mine:
        raise RecordError(
            f"{absent!r} does not rate in the session {name!r}; `voirdire session status {name}`"
        )
    _seat_newcomers(session, stored, absent, to, at)
    moved = 0
    for assigned in list(
        assignments_of(session=session, key=stored.key, rater=absent, kind="rate", states=["open"])
    ):
        if not force and assigned.lease_until is not None and assigned.lease_until > at:
            continue
        if assigned.repeat:
            take_back(session=session, key=assigned.key, state="reassigned")
            continue
        moved += _hand_on(session, stored, assigned, to, at)
    mark_absent(session=session, seat=mine[0].key, at=at)
    what = {"session": name, "absent": absent, "to": list(to), "items": moved}
    _tell(session, "session.reassigned", actor, at, what)
    return moved


@dataclass(frozen=True, slots=True)
class Staying:
    """Open items that stay with an absent rater, by why."""

    looked_at: int
    """Handed out less than an hour ago."""
    on_a_sheet: int
    nobody: int
    """All who were named to take over rate or rated them."""


def staying(*, session: Session, name: str, absent: str, now: datetime, force: bool) -> Staying:
    """What is still open with the absent rater once a reassignment is through."""
    stored = get_session(session=session, session_name=name)
    left = [
        timedelta(0) if force or each.lease_until is None else each.lease_until - now
        for each in assignments_of(
            session=session, key=stored.key, rater=absent, kind="rate", states=["open"]
        )
    ]
    on_a_sheet, held = (sum(time > least for time in left) for least in (LEASE, timedelta(0)))
    return Staying(held - on_a_sheet, on_a_sheet, len(left) - held)


def _seat_newcomers(
    session: Session, stored: StoredSession, absent: str, to: Sequence[str], at: datetime
) -> None:
    adjudicators = {s.rater for s in seats_of(session=session, key=stored.key, kind="adjudicate")}
    for rater in to:
        if rater == absent or rater in adjudicators:
            raise DeclarationError(
                f"{rater!r} cannot take over: they are the absent rater, or adjudicate in this session"
            )
    if not to:
        raise DeclarationError("name at least one rater who takes over (--to)")
    seed = f"{seeded('seat', stored.name, absent, at.isoformat()).getrandbits(64):016x}"
    add_seats(session=session, seats=[(stored.key, rater, "rate", seed) for rater in to], at=at)


def _hand_on(
    session: Session, stored: StoredSession, assigned: Assigned, to: Sequence[str], at: datetime
) -> int:
    """1 if somebody takes the item over, 0 if all of them have rated it or are to rate it."""
    busy = {
        each.rater
        for each in assignments_of(session=session, key=stored.key, kind="rate")
        if each.item_key == assigned.item_key
    }
    free = [rater for rater in to if rater not in busy]
    if not free:
        return 0
    places = {r: last_place(session=session, key=stored.key, rater=r, kind="rate") for r in free}
    taker = min(free, key=lambda rater: (places[rater], rater))
    take_back(session=session, key=assigned.key, state="reassigned")
    rng = seeded("reassigned", stored.name, assigned.item_key, taker)
    entry = AssignmentEntry(
        *(assigned.item_key, taker, "rate", assigned.slot, places[taker] + 1), swapped=rng.random() < 0.5
    )
    return add_assignments(session=session, key=stored.key, entries=[entry], at=at)
