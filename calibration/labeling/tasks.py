"""From an assignment to what its person sees, and back from what they say to what is stored."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Final

from sqlmodel import Session

from calibration.labeling.records import (
    LEFT,
    RIGHT,
    UNKNOWN,
    CannotDecide,
    GivenAnswer,
    NothingWhy,
    ShownField,
    Span,
    Task,
    TaskKind,
    shown_answers,
)
from calibration.store.assignments import Assigned, get_assignment, last_place, lock_assignment
from calibration.store.chain import append_event
from calibration.store.database import Store
from calibration.store.items import ErasedItem, read_items
from calibration.store.payloads import StoredText, read_payloads
from calibration.store.rater_records import Said
from calibration.store.rubrics import get_rubric_by_digest
from calibration.store.sessions import StoredSession, session_by_key
from rubrics.criterion import ALL_OUTPUTS, Criterion, EvidenceSource
from rubrics.errors import DeclarationError, RaterRefused
from rubrics.item import Item
from rubrics.record import shown
from rubrics.rubric import Rubric
from rubrics.scale import PreferenceScale
from rubrics.verdict import Verdict

STREAM: Final = "labeling"
"""The audit stream of sessions: opened, closed, refused."""
LIVE_STATES: Final = ("open", "done")


@contextmanager
def refusals_audited(store: Store, rater: str, now: datetime) -> Iterator[None]:
    """Whatever is refused within the block is written to the audit trail before it is raised."""
    try:
        yield
    except RaterRefused as refused:
        with store.write() as session:
            append_event(
                session=session,
                stream=STREAM,
                kind="rater.refused",
                actor=rater,
                payload={"said": str(refused)},
                at=now,
            )
        raise


def why_not(labeling: StoredSession, now: datetime) -> NothingWhy | None:
    """Why nobody may answer in the session now; None where they may."""
    if labeling.state == "closed":
        return NothingWhy.CLOSED
    if now < labeling.opens_at:
        return NothingWhy.NOT_YET_OPEN
    if labeling.window_ends_at is not None and now >= labeling.window_ends_at:
        return NothingWhy.WINDOW_OVER
    return None


_REFUSALS: Final = {
    NothingWhy.CLOSED: "the session {name!r} is closed: nothing more is taken for it",
    NothingWhy.NOT_YET_OPEN: "the session {name!r} opens at {opens_at:%Y-%m-%d %H:%M} UTC; come back then",
    NothingWhy.WINDOW_OVER: "the time of the session {name!r} ended at {window_ends_at:%Y-%m-%d %H:%M} UTC;"
    " ask whoever leads it",
}


def refuse_unless_running(labeling: StoredSession, now: datetime) -> None:
    """Raises RaterRefused where the session takes no answers now."""
    reason = why_not(labeling, now)
    if reason is not None:
        raise RaterRefused(
            _REFUSALS[reason].format(
                name=labeling.name, opens_at=labeling.opens_at, window_ends_at=labeling.window_ends_at
            )
        )


@dataclass(frozen=True, slots=True)
class Held:
    """An assignment that its person holds, in a session that runs."""

    assigned: Assigned
    labeling: StoredSession
    rubric: Rubric


def held(
    session: Session,
    *,
    assignment: str,
    rater: str,
    kind: TaskKind,
    now: datetime | None,
    lease_no: int | None,
) -> Held:
    """The assignment, if it is this person's and they may act on it.

    Args:
        session: a session; a writing one holds the assignment against other writers.
        assignment: its key.
        rater: who asks.
        kind: RATE or ADJUDICATE.
        now: when; None to look only, which a closed session allows.
        lease_no: the fencing number that the page was given; None to look only.

    Raises:
        RaterRefused: it is someone else's, was taken back, or the session takes no answers.
    """
    find = lock_assignment if now is not None else get_assignment
    assigned = find(session=session, key=assignment)
    if assigned is None or assigned.rater != rater or assigned.kind != kind.value:
        # the same sentence for all: whether an assignment exists is nobody else's business
        raise RaterRefused(
            f"{shown(assignment)} is no assignment of {shown(rater)}: go on with your own items"
        )
    labeling = session_by_key(session=session, key=assigned.session_key)
    if now is not None and kind is TaskKind.RATE:  # adjudicators go on after the raters' window
        refuse_unless_running(labeling, now)
    if assigned.state not in LIVE_STATES and now is not None:
        raise RaterRefused("this item was taken off your list: go on with the next one")
    if lease_no is not None and (not lease_no or assigned.lease_no != lease_no):
        raise RaterRefused("this page shows an item that is no longer handed out this way: load it again")
    return Held(assigned, labeling, get_rubric_by_digest(session=session, digest=labeling.rubric_digest))


def item_of(session: Session, assigned: Assigned) -> Item | ErasedItem:
    """The assigned item with its texts, or what is left of it."""
    return read_items(session=session, keys=[assigned.item_key])[0][1]


def fields_of(item: Item, rubric: Rubric, criterion: Criterion, *, swapped: bool) -> tuple[ShownField, ...]:
    """The texts that the rubric shows, in its order; a pair as left and right; absent evidence left out.

    Evidence that the criterion requires is shown even where it is blank, so that its absence is seen.
    """
    found: list[ShownField] = []
    for field in rubric.fields:
        text = item.text(field.key)
        if field.key in ALL_OUTPUTS or text.strip() or field.key in criterion.requires:
            found.append(ShownField(field.key, field.title, field.source, text))
    return tuple(_by_side(found, swapped))


def _by_side(fields: Sequence[ShownField], swapped: bool) -> Iterator[ShownField]:
    """The fields with a pair's outputs renamed by side: their titles would tell which is which."""
    pair = {field.key: field.text for field in fields if field.key in {"output_a", "output_b"}}
    sides = iter(
        (("output_b", LEFT), ("output_a", RIGHT)) if swapped else (("output_a", LEFT), ("output_b", RIGHT))
    )
    for field in fields:
        if field.key in pair:
            source, side = next(sides)
            yield ShownField(side, side.capitalize(), EvidenceSource.CANDIDATE, pair[source])
        else:
            yield field


def make_task(
    session: Session,
    found: Held,
    criterion: Criterion,
    *,
    given: GivenAnswer | None,
    item: Item | ErasedItem | None = None,
) -> Task:
    """The task as its person sees it; `item` where it was read before.

    Raises:
        RaterRefused: the texts of the item were erased.
    """
    assigned, rubric = found.assigned, found.rubric
    item = item_of(session, assigned) if item is None else item
    if isinstance(item, ErasedItem):
        raise RaterRefused("the texts of this item were erased; it cannot be shown any more")
    keys = [each.key for each in rubric.criteria]
    single = bool(assigned.criterion)
    return Task(
        session=found.labeling.name,
        assignment=assigned.key,
        lease_no=assigned.lease_no,
        kind=TaskKind(assigned.kind),
        fields=fields_of(item, rubric, criterion, swapped=assigned.swapped),
        rubric=rubric,
        criterion=criterion,
        criterion_no=1 if single else keys.index(criterion.key) + 1,
        criteria=1 if single else len(keys),
        position=assigned.position,
        of=last_place(session=session, key=assigned.session_key, rater=assigned.rater, kind=assigned.kind),
        given=given,
    )


def to_source(value: str, criterion: Criterion, *, swapped: bool) -> str:
    """The answer in source positions: left and right become A and B."""
    if not isinstance(criterion.scale, PreferenceScale) or value not in {LEFT, RIGHT}:
        return value
    return "B" if (value == LEFT) == swapped else "A"


def from_source(value: str, criterion: Criterion, *, swapped: bool) -> str:
    """The stored answer as the person sees the item."""
    if not isinstance(criterion.scale, PreferenceScale) or value not in {"A", "B"}:
        return value
    return LEFT if (value == "B") == swapped else RIGHT


def check_answer(criterion: Criterion, value: str, reason: str | None, failure_mode: str | None) -> None:
    """Raises DeclarationError where the answer does not belong to the criterion, in a sentence to act on."""
    allowed = (*shown_answers(criterion), UNKNOWN)
    if value not in allowed:
        raise DeclarationError(
            f"{shown(value)} is no answer under {criterion.key!r}; allowed: {', '.join(allowed)}"
        )
    words = ", ".join(CannotDecide)
    if value == UNKNOWN and reason not in set(CannotDecide):
        raise DeclarationError(
            f"cannot decide needs a reason, and {shown(reason)} was given; allowed: {words}"
        )
    if value != UNKNOWN and reason is not None:
        raise DeclarationError(f"{shown(reason)} is a reason for not deciding; {value!r} takes none")
    if failure_mode is not None:
        _check_mode(criterion, value, failure_mode)


def _check_mode(criterion: Criterion, value: str, failure_mode: str) -> None:
    modes = [mode.key for mode in criterion.failure_modes]
    if failure_mode not in modes:
        known = ", ".join(modes) or "none is declared"
        raise DeclarationError(
            f"{shown(failure_mode)} is no failure mode of {criterion.key!r}; allowed: {known}"
        )
    if isinstance(criterion.scale, PreferenceScale) or criterion.read(value) is not Verdict.FAIL:
        raise DeclarationError(f"a failure mode belongs to an answer that fails; {value!r} does not")


def given_of(session: Session, said: Said, criterion: Criterion) -> GivenAnswer:
    """A stored answer as its person gave it."""
    return GivenAnswer(
        digest=said.digest,
        value=from_source(said.value, criterion, swapped=said.swapped),
        reason=said.reason,
        failure_mode=said.failure_mode,
        note=text_of(session, said.note_digest, "note"),
        decided_at=said.decided_at or said.recorded_at,
        revision=said.revision,
        retracted=said.retracted,
        spans=tuple(Span(*span) for span in said.spans),
    )


def text_of(session: Session, digest: str | None, key: str) -> str:
    """A stored text by its digest; empty where there is none or it was erased."""
    if digest is None:
        return ""
    found = read_payloads(session=session, digests=[digest]).get(digest)
    return str(found.content.get(key, "")) if isinstance(found, StoredText) else ""
