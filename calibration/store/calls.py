"""Calls of judges: an intent is committed before each call, so that a killed run knows what may be paid.

An intent without a verdict and without a fault is unresolved: the call may or may not have reached the
provider. Nothing here says what a judge answered; verdicts do (calibration.store.verdicts). Kept from raters.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any, Literal

import sqlalchemy as sa
from sqlmodel import Field, Session

from calibration.store.columns import Row, in_utc, one_of, row_key, table_of, text_column, time_column
from calibration.store.inserting import Added, batches, insert_many
from calibration.store.judges import JudgeRunRow
from calibration.store.text import stored_json
from calibration.store.verdicts import VerdictRow
from rubrics.record import normalise_text
from rubrics.verdict import UnknownReason

Presentation = Literal["ab", "ba", "none"]
NO_ORDER: Literal["none"] = "none"
"""The presentation of a judge to which nothing is shown in an order."""
NOT_MADE = "cancelled"
"""The detail of a fault whose call was never made."""
UNPARSED = "unparsed"
"""The detail of a fault whose reply could not be read and was asked for once more."""
MODEL_CHANGED = "model_changed"
"""The detail of a fault whose reply came from another model than those before in the run."""
LATE = "late"
"""The detail of a fault whose reply came when its unit had its verdict from another call."""
Unit = tuple[str, str, str, int]
"""Item key, criterion, presentation, repeat: what has exactly one verdict in a run."""


class JudgeCallRow(Row, table=True):
    """The intent of one call: which unit of which run, for the how manieth time."""

    __tablename__ = "judge_call"
    __table_args__ = (
        sa.UniqueConstraint(
            *("run_key", "item_key", "criteria", "presentation", "repeat", "attempt"),
            name="uq_judge_call_unit",
        ),
        one_of("presentation", ("ab", "ba", "none")),
        sa.CheckConstraint("attempt >= 1", name="attempt"),
    )
    key: str = text_column(primary_key=True)
    run_key: str = text_column(foreign_key="judge_run.key")
    item_key: str = text_column(foreign_key="item.key")
    criteria: str = text_column()
    """The keys that the call asks, a space between them."""
    presentation: str = text_column()
    repeat: int
    attempt: int
    shown_digest: str = text_column()
    """Of the texts as rendered: a call is the same only where they are."""
    reserved_micros: int | None = Field(sa_type=sa.BigInteger)
    """What it was expected to cost at most; None without a price."""
    recorded_at: datetime = time_column()


class JudgeCallFaultRow(Row, table=True):
    """What became of a call that brought no verdict; its unit stays open."""

    __tablename__ = "judge_call_fault"
    __table_args__ = (one_of("reason", UnknownReason),)
    call_key: str = text_column(primary_key=True, foreign_key="judge_call.key")
    reason: str = text_column()
    detail: str = text_column()
    sentence: str = text_column()
    attempts: str = text_column()
    cost_micros: int | None = Field(sa_type=sa.BigInteger)
    recorded_at: datetime = time_column()


@dataclass(frozen=True, slots=True)
class CallEntry:
    """A call as it is intended."""

    run_key: str
    item_key: str
    criteria: tuple[str, ...]
    presentation: Presentation
    repeat: int
    attempt: int
    """From 1; one more each time that the unit is asked again."""
    shown_digest: str
    reserved_micros: int | None = None
    key: str = field(init=False, compare=False)
    """Made from what identifies the call, so that an insert repeated after an unclear commit finds it."""

    def __post_init__(self) -> None:
        unit = (self.run_key, self.item_key, " ".join(self.criteria), self.presentation)
        object.__setattr__(self, "key", row_key("call", *unit, self.repeat, self.attempt))


@dataclass(frozen=True, slots=True)
class StoredCall:
    """An intent as it is recorded, with its key."""

    key: str
    item_key: str
    criteria: tuple[str, ...]
    presentation: Presentation
    repeat: int
    attempt: int
    shown_digest: str


@dataclass(frozen=True, slots=True)
class FaultEntry:
    """Why a call brought no verdict."""

    call_key: str
    reason: UnknownReason
    detail: str
    sentence: str
    """What happened, for whoever runs the judge; no text of the provider."""
    attempts: Sequence[Mapping[str, Any]] = ()
    """Each attempt of the call, as JSON; the one that brought a reply with its `tokens`."""
    cost_micros: int | None = None
    """0 where nothing was billed, None where that is not known."""


@dataclass(frozen=True, slots=True)
class OpenUnit:
    """A unit whose newest call ended in a fault and that has no verdict yet."""

    item_id: str
    criterion: str
    presentation: Presentation
    repeat: int
    reason: UnknownReason
    detail: str
    sentence: str


def add_calls(*, session: Session, calls: Iterable[CallEntry], at: datetime) -> Added:
    """What became of the intents: added, or already there; they hold once the session is committed."""
    moment = in_utc(at)
    rows = ({**_call_values(each), "recorded_at": moment} for each in calls)
    return insert_many(session=session, row=JudgeCallRow, rows=rows, identity="key")


def add_faults(*, session: Session, faults: Iterable[FaultEntry], at: datetime) -> Added:
    """What became of the faults: added, or already there."""
    moment = in_utc(at)
    rows = (
        {
            "call_key": each.call_key,
            "reason": each.reason.value,
            "detail": each.detail,
            "sentence": normalise_text(each.sentence),
            "attempts": stored_json([dict(attempt) for attempt in each.attempts]),
            "cost_micros": each.cost_micros,
            "recorded_at": moment,
        }
        for each in faults
    )
    return insert_many(session=session, row=JudgeCallFaultRow, rows=rows, identity="call_key")


def settled_units(*, session: Session, run_key: str, item_keys: Sequence[str]) -> frozenset[Unit]:
    """The units of these items that have their verdict."""
    found: set[Unit] = set()
    for batch in batches(item_keys):
        given = {"run": run_key, "items": batch}
        found.update(tuple(row) for row in session.connection().execute(_SETTLED, given))
    return frozenset(found)


def attempts_made(*, session: Session, run_key: str, item_keys: Sequence[str]) -> dict[Unit, int]:
    """How often each unit of these items was asked so far; units that never were are absent."""
    made: dict[Unit, int] = {}
    for batch in batches(item_keys):
        asked = session.connection().execute(_MADE, {"run": run_key, "items": batch})
        for item_key, criteria, presentation, repeat, attempt in asked:
            for criterion in criteria.split(" "):
                unit = (item_key, criterion, presentation, repeat)
                made[unit] = max(attempt, made.get(unit, 0))
    return made


def find_calls(*, session: Session, run_key: str, keys: Sequence[str]) -> dict[str, StoredCall]:
    """The intents of the run with these keys; a key of another run is absent."""
    columns = (_CALL.key, _CALL.item_key, _CALL.criteria, _CALL.presentation, _CALL.repeat, _CALL.attempt)
    found: dict[str, StoredCall] = {}
    for batch in batches(keys):
        query = sa.select(*columns, _CALL.shown_digest).where(_CALL.run_key == run_key, _CALL.key.in_(batch))
        for row in session.connection().execute(query):
            key, item, asked, *rest = row
            found[key] = StoredCall(key, item, tuple(asked.split(" ")), *rest)
    return found


def verdicts_of_calls(
    *, session: Session, keys: Sequence[str]
) -> dict[str, frozenset[tuple[str, str, str | None]]]:
    """What calls have brought, by their keys: criterion, answer and reason each; without a verdict absent."""
    found: dict[str, frozenset[tuple[str, str, str | None]]] = {}
    columns = (_VERDICT.call_key, _VERDICT.criterion, _VERDICT.value, _VERDICT.reason)
    for batch in batches(keys):
        for key, *said in session.connection().execute(
            sa.select(*columns).where(_VERDICT.call_key.in_(batch))
        ):
            found[key] = found.get(key, frozenset()) | {tuple(said)}
    return found


def failed_calls(*, session: Session, keys: Sequence[str]) -> frozenset[str]:
    """Those of the calls that ended in a fault."""
    found: set[str] = set()
    for batch in batches(keys):
        query = sa.select(_FAULT.call_key).where(_FAULT.call_key.in_(batch))
        found.update(session.connection().execute(query).scalars())
    return frozenset(found)


@dataclass(frozen=True, slots=True)
class SameCall:
    """A verdict of another run of the very judge under the rubric, from a call that was made."""

    verdict: str
    """Digest of the verdict."""
    run_key: str
    shown_digest: str
    criteria: tuple[str, ...]
    """All that the call asked."""
    value: str
    reason: UnknownReason | None
    detail: str | None
    reply_digest: str | None
    reported_model: str | None
    tokens_in: int | None
    tokens_out: int | None
    decided_at: datetime | None


def same_calls(
    *, session: Session, run_key: str, judge_digest: str, rubric_digest: str, item_keys: Sequence[str]
) -> dict[Unit, SameCall]:
    """Verdicts of other runs on the same units, by unit; the oldest where there are several.

    A repeat has its own number, so that a new repeat finds nothing here.
    """
    named = {"run": run_key, "judge": judge_digest, "rubric": rubric_digest}
    found: dict[Unit, SameCall] = {}
    for batch in batches(item_keys):
        for row in session.connection().execute(_SAME, {**named, "items": batch}):
            item, criterion, shown, repeat, digest, other, texts, asked, value, reason, *rest = row
            why = UnknownReason(reason) if reason else None
            known = SameCall(digest, other, texts, tuple(asked.split(" ")), value, why, *rest)
            found.setdefault((item, criterion, shown, repeat), known)
    return found


def asked_again(*, session: Session, run_key: str, item_keys: Sequence[str]) -> frozenset[Unit]:
    """The units of these items that were asked once more because a reply could not be read."""
    found: set[Unit] = set()
    for batch in batches(item_keys):
        given = {"run": run_key, "items": batch}
        for item_key, criteria, presentation, repeat in session.connection().execute(_AGAIN, given):
            found.update((item_key, criterion, presentation, repeat) for criterion in criteria.split(" "))
    return frozenset(found)


def open_units(*, session: Session, run_key: str) -> list[OpenUnit]:
    """The units of the run that have no verdict and whose newest call ended in a fault, by item id."""
    newest, is_newest = _newest(run_key)
    query = (
        sa.select(_ITEM.c.item_id, *_ASKED[1:], _FAULT.reason, _FAULT.detail, _FAULT.sentence, _ITEM.c.key)
        .select_from(table_of(JudgeCallRow))
        .join(newest, is_newest)
        .join(table_of(JudgeCallFaultRow), _FAULT.call_key == _CALL.key)
        .join(_ITEM, _ITEM.c.key == _CALL.item_key)
        .where(_CALL.run_key == run_key)
        .order_by(_ITEM.c.item_id, *_ASKED[1:])
    )
    rows = list(session.connection().execute(query))
    settled = settled_units(session=session, run_key=run_key, item_keys=[row[-1] for row in rows])
    return [
        OpenUnit(item_id, criterion, presentation, repeat, UnknownReason(reason), detail, sentence)
        for item_id, criteria, presentation, repeat, reason, detail, sentence, key in rows
        for criterion in criteria.split(" ")
        if (key, criterion, presentation, repeat) not in settled
    ]


def unanswered_units(*, session: Session, run_key: str) -> int:
    """How many units of the run have no verdict and a newest call that has no answer: out, or cut off."""
    newest, is_newest = _newest(run_key)
    unit = (_VERDICT.run_key == run_key, _VERDICT.item_key == _CALL.item_key)  # of an index
    answered = sa.exists().where(*unit, _VERDICT.call_key == _CALL.key)
    query = (
        sa.select(*_ASKED)
        .select_from(table_of(JudgeCallRow))
        .join(newest, is_newest)
        .outerjoin(table_of(JudgeCallFaultRow), _FAULT.call_key == _CALL.key)
        .where(_CALL.run_key == run_key, _FAULT.call_key.is_(None), ~answered)
    )
    rows = list(session.connection().execute(query))
    settled = settled_units(session=session, run_key=run_key, item_keys=[row.item_key for row in rows])
    return sum(
        (key, criterion, presentation, repeat) not in settled
        for key, criteria, presentation, repeat in rows
        for criterion in criteria.split(" ")
    )


def _newest(run_key: str) -> tuple[sa.Subquery, sa.ColumnElement[bool]]:
    """The newest call about each unit of the run, and that a call is it."""
    attempt = sa.func.max(_CALL.attempt).label("attempt")
    newest = sa.select(*_ASKED, attempt).where(_CALL.run_key == run_key).group_by(*_ASKED).subquery()
    return newest, sa.and_(*(newest.c[column.name] == column for column in (*_ASKED, _CALL.attempt)))


def begin_run(*, session: Session, key: str) -> None:
    """Records that the run is being worked on; an earlier request to cancel it is answered with that."""
    table = table_of(JudgeRunRow)
    values = {"state": "running", "cancel_requested_at": None}
    session.connection().execute(table.update().where(table.c.key == key).values(**values))


def cancel_requested(*, session: Session, key: str) -> bool:
    """True where somebody asked the run to stop."""
    return bool(session.connection().execute(_CANCELLED, {"run": key}).scalar())


_CALL = table_of(JudgeCallRow).c
_FAULT = table_of(JudgeCallFaultRow).c
_VERDICT = table_of(VerdictRow).c
_RUN = table_of(JudgeRunRow).c
_ITEM = sa.table("item", sa.column("key"), sa.column("item_id"))

# Put together once: that takes longer than asking, and a run asks for every chunk of items.
_ITEMS: sa.BindParameter[Sequence[str]] = sa.bindparam("items", expanding=True)
_ASKED = (_CALL.item_key, _CALL.criteria, _CALL.presentation, _CALL.repeat)
_SAID = (_VERDICT.item_key, _VERDICT.criterion, _VERDICT.presentation, _VERDICT.repeat)
_SETTLED = sa.select(*_SAID).where(_VERDICT.run_key == sa.bindparam("run"), _VERDICT.item_key.in_(_ITEMS))
_OF_RUN = (_CALL.run_key == sa.bindparam("run"), _CALL.item_key.in_(_ITEMS))
_MADE = sa.select(*_ASKED, sa.func.max(_CALL.attempt)).where(*_OF_RUN).group_by(*_ASKED)
_AGAIN = (
    sa.select(*_ASKED)
    .join_from(table_of(JudgeCallRow), table_of(JudgeCallFaultRow), _FAULT.call_key == _CALL.key)
    .where(*_OF_RUN, _FAULT.detail == UNPARSED)
)
_SAME = (
    sa.select(
        *(*_SAID, _VERDICT.digest, _VERDICT.run_key, _CALL.shown_digest, _CALL.criteria),
        *(_VERDICT.value, _VERDICT.reason, _VERDICT.detail),
        *(_VERDICT.reply_digest, _VERDICT.reported_model),
        *(_VERDICT.tokens_in, _VERDICT.tokens_out, _VERDICT.decided_at),
    )
    .join_from(table_of(VerdictRow), table_of(JudgeRunRow), _RUN.key == _VERDICT.run_key)
    .join(table_of(JudgeCallRow), _CALL.key == _VERDICT.call_key)
    .where(
        _RUN.judge_digest == sa.bindparam("judge"),
        _RUN.rubric_digest == sa.bindparam("rubric"),
        _RUN.key != sa.bindparam("run"),
        _VERDICT.item_key.in_(_ITEMS),
    )
    .order_by(_VERDICT.recorded_at, _VERDICT.digest)
)


_CANCELLED = sa.select(_RUN.cancel_requested_at.is_not(None)).where(_RUN.key == sa.bindparam("run"))


def _call_values(entry: CallEntry) -> dict[str, Any]:
    return {
        "key": entry.key,
        "run_key": entry.run_key,
        "item_key": entry.item_key,
        "criteria": " ".join(entry.criteria),
        "presentation": entry.presentation,
        "repeat": entry.repeat,
        "attempt": entry.attempt,
        "shown_digest": entry.shown_digest,
        "reserved_micros": entry.reserved_micros,
    }
