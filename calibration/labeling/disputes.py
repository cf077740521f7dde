"""Which items the raters disagree on, and who adjudicates them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime

from sqlmodel import Session

from calibration.labeling.plan import seeded
from calibration.store.assignments import AssignmentEntry, add_assignments, assignments_of, last_place
from calibration.store.rater_records import Said, answers_for
from calibration.store.references import adjudicated_items
from calibration.store.sessions import StoredSession, seats_of
from rubrics.rubric import Rubric


def queue_disputes(*, session: Session, labeling: StoredSession, rubric: Rubric, at: datetime) -> int:
    """How many disagreements were queued: of items whose raters have all answered, each once.

    Raters disagree where their live answers differ, one who cannot decide included. What all cannot decide
    is no disagreement: nobody has said anything to choose from.
    """
    disputed = _not_queued(session, labeling, rubric)
    return assign_cases(session=session, labeling=labeling, cases=disputed, at=at)


def _not_queued(session: Session, labeling: StoredSession, rubric: Rubric) -> list[tuple[str, str]]:
    """The disagreements of complete items that nobody has to resolve yet and nobody resolved."""
    rated: set[str] = set()
    open_items: set[str] = set()
    queued: set[tuple[str, str]] = set()
    for each in assignments_of(session=session, key=labeling.key):
        if each.kind == "adjudicate":
            queued.add((each.item_key, each.criterion))
        elif each.state in ("open", "done"):
            (open_items if each.state == "open" else rated).add(each.item_key)
    complete = rated - open_items
    if not complete:
        return []
    answers = answers_for(session=session, rubric_digest=rubric.digest, items=sorted(complete))
    decided = adjudicated_items(session=session, rubric_digest=rubric.digest, items=sorted(complete))
    return [case for case in disagreements(answers) if case not in queued and case not in decided]


@dataclass(frozen=True, slots=True)
class Disputes:
    """Disagreements that are not resolved."""

    open: int
    """In all: given to an adjudicator, or waiting until one looks."""
    beyond: int
    """Of them those that no adjudicator of the session may resolve: there is none, or each rated the item."""
    adjudicators: tuple[str, ...]
    raters: tuple[str, ...]
    """Who rated an item of those beyond: nobody of them may resolve it."""


def disputes_of(*, session: Session, labeling: StoredSession, rubric: Rubric) -> Disputes:
    """The session's disagreements that are not resolved, and how many of them nobody in it may resolve."""
    queued = list(assignments_of(session=session, key=labeling.key, kind="adjudicate", states=["open"]))
    waiting = _not_queued(session, labeling, rubric)
    raters = _raters_of(session, labeling, {item for item, _ in waiting})
    people = {seat.rater for seat in seats_of(session=session, key=labeling.key, kind="adjudicate")}
    beyond = [case for case in waiting if people <= raters.get(case[0], set())]
    rated = {who for item, _ in beyond for who in raters.get(item, ())}
    return Disputes(len(queued) + len(waiting), len(beyond), tuple(sorted(people)), tuple(sorted(rated)))


def beyond_adjudicators(*, session: Session, labeling: StoredSession, items: Iterable[str]) -> int:
    """How many of the items no adjudicator of the session may resolve, for each of them rated it before."""
    asked = set(items)
    people = {seat.rater for seat in seats_of(session=session, key=labeling.key, kind="adjudicate")}
    raters = _raters_of(session, labeling, asked)
    return sum(people <= raters.get(item, set()) for item in asked)


def _raters_of(session: Session, labeling: StoredSession, items: set[str]) -> dict[str, set[str]]:
    """Who rates each item in the session, or rated it anywhere under its rubric."""
    raters: dict[str, set[str]] = {}
    for each in assignments_of(session=session, key=labeling.key, kind="rate"):
        raters.setdefault(each.item_key, set()).add(each.rater)
    labelled = answers_for(session=session, rubric_digest=labeling.rubric_digest, items=sorted(items))
    for said in labelled:
        raters.setdefault(said.item_key, set()).add(said.rater)
    return raters


def disagreements(answers: Iterable[Said]) -> list[tuple[str, str]]:
    """The (item key, criterion) on which live answers of different raters differ, sorted; repeats apart."""
    said: dict[tuple[str, str], set[str]] = {}
    for each in answers:
        if not each.retracted and each.repeat == 0:
            said.setdefault((each.item_key, each.criterion), set()).add(each.value)
    return sorted(case for case, values in said.items() if len(values) > 1)


def assign_cases(
    *, session: Session, labeling: StoredSession, cases: Sequence[tuple[str, str]], at: datetime
) -> int:
    """How many cases were given to adjudicators: in an order of their own, never to a rater of the item.

    A case for which nobody is left waits until an adjudicator who did not rate it joins.
    """
    people = [seat.rater for seat in seats_of(session=session, key=labeling.key, kind="adjudicate")]
    if not people or not cases:
        return 0
    raters = _raters_of(session, labeling, {item for item, _ in cases})
    rng = seeded("adjudicate", labeling.name, labeling.plan.get("seed", 0), *(f"{i}/{c}" for i, c in cases))
    order = list(cases)
    rng.shuffle(order)
    places = {
        who: last_place(session=session, key=labeling.key, rater=who, kind="adjudicate") for who in people
    }
    entries = []
    for item, criterion in order:
        free = [who for who in people if who not in raters.get(item, ())]
        if not free:
            continue
        who = min(free, key=lambda each: places[each])
        places[who] += 1
        swapped = rng.random() < 0.5
        entries.append(
            AssignmentEntry(item, who, "adjudicate", 0, places[who], swapped=swapped, criterion=criterion)
        )
    return add_assignments(session=session, key=labeling.key, entries=entries, at=at)
