"""What waits for a person, put before raters: a labeling session on queued outputs, and its way back.

Raters see the texts and the rubric as in any session, and neither the judge's verdict nor why an output is
there. What they agree on resolves the grade, appended like every other step.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlmodel import Session

from calibration.calibrate.references import Referenced, read_references
from calibration.labeling.plan import SessionPlan
from calibration.labeling.sessions import Opening, open_session
from calibration.labels import ReferenceRule
from calibration.sampling import DesignKind
from calibration.store.assessments import iter_labels
from calibration.store.chain import Event, append_event, events
from calibration.store.grades import GradeEventKind, get_grade
from calibration.store.items import Scope, add_items
from calibration.store.rubrics import get_rubric_by_digest
from calibration.store.sessions import StoredSession, get_session
from calibration.store.sets import MemberEntry, add_set, freeze_set, get_set_by_digest
from judge.grade_records import GradeState, Step, queue, state_of, take_step
from rubrics.errors import RecordError
from rubrics.item import Item, Split
from rubrics.rubric import Rubric
from rubrics.verdict import Verdict

STREAM = "queue"
SENT, SETTLED = "grades.sent", "grades.settled"
SHOWN_OF_A_KEY = 16


@dataclass(frozen=True, slots=True, kw_only=True)
class Sending:
    """Which of what waits is put before whom."""

    name: str
    rubric: Rubric
    items: Sequence[Item]
    """The outputs as they were graded; the store keeps only their digests."""
    raters: tuple[str, ...]
    adjudicators: tuple[str, ...] = ()
    raters_per_item: int = 1
    criteria: frozenset[str] = frozenset()
    """Only what waits for one of these; empty takes all."""
    seed: int = 0


@dataclass(frozen=True, slots=True)
class Sent:
    """What was put before raters, and what stayed where it was."""

    name: str
    grades: Mapping[str, str]
    """Key of the grade by the id under which raters meet its output."""
    absent: tuple[str, ...]
    """Items that wait and whose texts were not among those given."""
    elsewhere: int
    """Grades that an earlier session asks about already."""


def send(*, session: Session, sending: Sending, actor: str, at: datetime) -> Sent:
    """A labeling session over the outputs of grades that wait for a person.

    Args:
        session: a writing session.
        sending: rubric, texts and people.
        actor: who opens it.
        at: now.

    Raises:
        RecordError: nothing waits, or no text of what waits is among the items.
        DifferentRecord: a session of this name is there.
    """
    texts = {item.content_digest: item for item in sending.items}
    asked = _asked_now(session)
    chosen: dict[str, Item] = {}
    grades: dict[str, str] = {}
    absent: list[str] = []
    elsewhere = 0
    for state in queue(session=session, rubric_digest=sending.rubric.digest):
        if sending.criteria and not sending.criteria & set(state.waiting):
            continue
        key, item = state.stored.key, texts.get(state.stored.content_digest)
        if key in asked:
            elsewhere += 1
        elif item is None:
            absent.append(state.stored.item_id)
        else:
            shown = key[:SHOWN_OF_A_KEY]
            blind = {"item_id": shown, "split": Split.TUNING, "group": shown, "tags": {}, "system": ""}
            chosen[shown], grades[shown] = item.model_copy(update=blind), key
    if not chosen:
        raise RecordError(_nothing(sending, absent, elsewhere))
    _open(session, sending, chosen, actor, at)
    payload = {"session": sending.name, "rubric": sending.rubric.digest, "grades": grades}
    append_event(session=session, stream=STREAM, kind=SENT, actor=actor, payload=payload, at=at)
    return Sent(sending.name, grades, tuple(absent), elsewhere)


def _nothing(sending: Sending, absent: Sequence[str], elsewhere: int) -> str:
    if absent:
        return (
            f"the texts of the {len(absent):,} outputs that wait are not in the file; "
            "give the file that was graded, unchanged"
        )
    if elsewhere:
        return f"all {elsewhere:,} that wait are in a session already; `voirdire queue settle NAME` reads it"
    return f"nothing under {sending.rubric.ref} waits for a person; `voirdire grades queue` lists what does"


def _open(session: Session, sending: Sending, chosen: Mapping[str, Item], actor: str, at: datetime) -> None:
    """The outputs as a dataset of their own, which no calibration set can draw, and the session on it."""
    dataset = f"queue-{sending.name}"
    add_items(session=session, dataset=dataset, items=[chosen[each] for each in sorted(chosen)], at=at)
    set_digest = add_set(
        session=session,
        set_name=dataset,
        version=1,
        dataset=dataset,
        content={"design": {"kind": DesignKind.CONVENIENCE.value}, "queue": sending.name},
        members=[MemberEntry(each) for each in sorted(chosen)],
        actor=actor,
        at=at,
    )
    freeze_set(session=session, set_digest=set_digest, actor=actor, at=at)
    plan = SessionPlan(
        raters_per_item=sending.raters_per_item,
        repeat_share=0,
        repeats_at_least=0,
        practice=0,
        seed=sending.seed,
    )
    opening = Opening(
        name=sending.name,
        stored_set=get_set_by_digest(session=session, digest=set_digest),
        rubric=sending.rubric,
        raters=sending.raters,
        adjudicators=sending.adjudicators,
        plan=plan,
    )
    open_session(session=session, opening=opening, actor=actor, at=at)


def _sent(session: Session) -> list[Event]:
    return list(events(session=session, stream=STREAM, kind=SENT))


def _asked_now(session: Session) -> set[str]:
    """Grades that an open session asks about; what a closed one left open may be asked again."""
    found: set[str] = set()
    for each in _sent(session):
        if get_session(session=session, session_name=each.payload["session"]).state == "open":
            found |= set(each.payload["grades"].values())
    return found


@dataclass(frozen=True, slots=True)
class Settled:
    """What a session's labels made of the grades that it was about."""

    name: str
    resolved: tuple[GradeState, ...]
    """Grades of which some criterion was resolved now."""
    waiting: int
    """Grades of which a criterion still waits."""


def settle(*, session: Session, name: str, actor: str, at: datetime) -> Settled:
    """The grades of a session, resolved where its raters agree or an adjudicator has ruled.

    Whoever could not decide, or disagrees with another, leaves the grade waiting. Doing it again resolves
    what was labelled since, and nothing twice.

    Args:
        session: a writing session.
        name: of a session that send() opened.
        actor: who reads it back.
        at: now.

    Raises:
        RecordError: no such session was opened for what waits.
    """
    sent = next((each for each in _sent(session) if each.payload["session"] == name), None)
    if sent is None:
        raise RecordError(f"no session {name!r} was opened for what waits; `voirdire queue open` opens one")
    stored = get_session(session=session, session_name=name)
    grades: Mapping[str, str] = sent.payload["grades"]
    states = {
        shown: state_of(session=session, stored=get_grade(session=session, key_prefix=key))
        for shown, key in grades.items()
    }
    resolved: dict[str, GradeState] = {}
    for criterion in sorted({each for state in states.values() for each in state.waiting}):
        found = _labelled(session, stored, criterion)
        for shown, state in states.items():
            reference, raters = found.get(shown, (None, ()))
            if criterion not in state.waiting or reference is None:
                continue
            if reference.label.verdict not in {Verdict.PASS, Verdict.FAIL}:
                continue
            step = Step(
                criterion,
                GradeEventKind.RESOLVED,
                reference.label.verdict.value,
                f"labelled in session {name} by {', '.join(raters)}",
                f"session {name}",
            )
            states[shown] = take_step(session=session, stored=state.stored, step=step, at=at)
            resolved[shown] = states[shown]
    waiting = sum(bool(state.waiting) for state in states.values())
    if resolved:
        payload = {"session": name, "grades": sorted(grades[shown] for shown in resolved), "waiting": waiting}
        append_event(session=session, stream=STREAM, kind=SETTLED, actor=actor, payload=payload, at=at)
    return Settled(name, tuple(resolved.values()), waiting)


def _labelled(
    session: Session, stored: StoredSession, criterion: str
) -> dict[str, tuple[Referenced, tuple[str, ...]]]:
    """What the raters of the session came to on each output under the criterion, and who they are."""
    rubric = get_rubric_by_digest(session=session, digest=stored.rubric_digest)
    scope = Scope(set_digest=stored.set_digest)
    references = read_references(
        session=session,
        scope=scope,
        rubric_digest=rubric.digest,
        criterion=rubric.criterion(criterion),
        rule=ReferenceRule.UNANIMOUS_OR_ADJUDICATED,
        min_raters=int(stored.plan.get("raters_per_item", 1)),
    )
    people: dict[str, set[str]] = {}
    for label in iter_labels(session=session, scope=scope, rubric_digest=rubric.digest, criterion=criterion):
        people.setdefault(label.item_id, set()).add(label.rater)
    return {item: (found, tuple(sorted(people.get(item, ())))) for item, found in references.by_item.items()}
