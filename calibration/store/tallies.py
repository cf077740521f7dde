"""The calls and verdicts of a run, counted, and who answered."""

from __future__ import annotations

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlmodel import Session

from calibration.store.calls import LATE, MODEL_CHANGED, NOT_MADE, UNPARSED, JudgeCallFaultRow, JudgeCallRow
from calibration.store.columns import table_of
from calibration.store.payloads import ItemPayloadRow
from calibration.store.reading import stream
from calibration.store.verdicts import VerdictRow
from rubrics.verdict import UnknownReason


@dataclass(frozen=True, slots=True)
class CallTally:
    """The calls of a run, counted."""

    intended: int
    not_made: int
    """Intents whose run was stopped before the call."""
    unresolved: int
    """Without verdict and without fault: they may have been paid and their answer is lost."""
    known_micros: int
    """The costs that are known, added up."""
    unknown_cost: int
    """Calls whose cost is not known, unresolved ones included."""
    reserved_micros: int
    """What the calls of unknown cost were expected to cost at most, as far as it was."""
    unpriced_in: int = 0
    """Tokens of the calls of unknown cost for which nothing was set aside, as far as they are counted."""
    unpriced_out: int = 0
    unpriced_uncounted: int = 0
    """Of those calls the ones whose tokens are not counted."""

    @property
    def made(self) -> int:
        """Calls that reached the provider, or may have."""
        return self.intended - self.not_made


@dataclass(frozen=True, slots=True)
class VerdictTally:
    """The verdicts of a run that say the same, counted."""

    value: str
    reason: UnknownReason | None
    detail: str | None
    units: int
    tokens_in: int | None
    """None where the tokens of one of the calls behind them are not counted."""
    tokens_out: int | None


@dataclass(frozen=True, slots=True)
class LostReply:
    """A reply that was paid for and brought no verdict."""

    call: tuple[str, str, str, int]
    """Item key, criteria, presentation and repeat of what was asked."""
    unread: bool
    """Whether it was not of the agreed form and the unit was asked once more."""
    tokens: Mapping[str, int] | None
    """By name as calls.Tokens has them; None where they are not recorded."""

    @property
    def counts(self) -> tuple[int | None, int | None]:
        """Tokens in and out; None where they are not recorded."""
        said = self.tokens or {}
        if not {"uncached_input", "output"} <= said.keys():
            return None, None
        return said["uncached_input"] + said.get("cached_input", 0), said["output"]


def lost_replies(*, session: Session, run_key: str) -> list[LostReply]:
    """The replies of the run that brought no verdict: unreadable, of another model, or too late.

    A call that brought a verdict in the end, as one of a batch that was taken again, is absent.
    """
    return [
        LostReply((item, criteria, shown, repeat), detail == UNPARSED, _tokens_in(attempts))
        for item, criteria, shown, repeat, detail, attempts in (
            session.connection().execute(_LOST, {"run": run_key})
        )
    ]


@dataclass(frozen=True, slots=True)
class LostAttempts:
    """Attempts of a run that were lost after they were sent, beside what its calls cost.

    Of a call of unknown cost that ended without a reply one is left out: it is what that cost stands for.
    """

    attempts: int = 0
    micros: int = 0
    """What they may be billed at most, in millionths of a dollar, as far as that is known."""
    unpriced: int = 0
    """Those of them for which it is not known."""

    def __add__(self, other: LostAttempts) -> LostAttempts:
        """Those of two runs together."""
        return LostAttempts(
            self.attempts + other.attempts, self.micros + other.micros, self.unpriced + other.unpriced
        )

    @property
    def at_most_micros(self) -> int | None:
        """What they may be billed at most; None where that is not known of each."""
        return None if self.unpriced else self.micros

    def to_json(self) -> dict[str, Any]:
        """As scripts read it."""
        return {"attempts": self.attempts, "at_most_micros": self.at_most_micros}


def lost_attempts(
    *, session: Session, run_key: str, maybe_billed: Collection[str], answered: bool = True
) -> LostAttempts:
    """The attempts of the run's calls that ended in one of these faults and may be billed beside their calls.

    Of a call that was cut off, and of a reply whose text was erased, no attempt is known. Without `answered`
    the calls that brought a verdict are not looked through: each is known to have taken one attempt.
    """
    attempts = micros = unpriced = 0
    for made, cost, at_most in _tried_again(session, run_key, answered=answered):
        lost = sum(each.get("fault") in maybe_billed for each in made)
        replied = bool(made) and made[-1].get("fault") is None
        beside = lost if replied or cost is not None else max(0, lost - 1)
        attempts += beside
        micros += beside * (at_most or 0)
        unpriced += beside if at_most is None else 0
    return LostAttempts(attempts, micros, unpriced)


def _tried_again(
    session: Session, run_key: str, *, answered: bool
) -> Iterator[tuple[Sequence[Mapping[str, Any]], int | None, int | None]]:
    """The attempts of each call that may have lost one, its cost, and the most of one attempt."""
    for made, cost, at_most in stream(session, _FAULTS.params(run=run_key)):
        yield json.loads(made), cost, at_most
    for reply, cost, at_most in stream(session, _REPLIES.params(run=run_key)) if answered else ():
        yield json.loads(reply).get("fields", {}).get("attempts", ()), cost, at_most


@dataclass(frozen=True, slots=True)
class CallReply:
    """The reply of a call that brought a verdict."""

    call: tuple[str, str, str, int]
    """Item key, criteria, presentation and repeat of what was asked."""
    digest: str | None
    """Of the reply's text, with what it took in its fields."""
    tokens: Mapping[str, int] | None
    """As the verdict has them, cached ones among the uncached; None where they are not counted."""


def replies_to_calls(*, session: Session, run_key: str) -> Iterator[CallReply]:
    """The replies of the run's own calls that brought a verdict, each once."""
    asked = (_CALL.item_key, _CALL.criteria, _CALL.presentation, _CALL.repeat)
    query = sa.select(*asked, _VERDICT.reply_digest, _VERDICT.tokens_in, _VERDICT.tokens_out)
    query = query.join_from(table_of(VerdictRow), table_of(JudgeCallRow), _CALL.key == _VERDICT.call_key)
    for row in stream(session, query.where(_VERDICT.run_key == run_key, _FIRST_OF_CALL)):
        *call, digest, sent, got = row
        known = None if sent is None or got is None else {"uncached_input": sent, "output": got}
        yield CallReply((call[0], call[1], call[2], call[3]), digest, known)


def _tokens_in(attempts: str) -> Mapping[str, int] | None:
    """What the attempt that brought a reply says it took."""
    found: list[Any] = [each["tokens"] for each in json.loads(attempts) if each.get("tokens")]
    return found[-1] if found else None


def tally_calls(*, session: Session, run_key: str) -> CallTally:
    """The calls of the run, with what they cost as far as it is known."""
    found = session.connection().execute(_TALLY, {"run": run_key}).one()
    return CallTally(**{name: int(count or 0) for name, count in found._mapping.items()})


def tally_verdicts(*, session: Session, run_key: str) -> list[VerdictTally]:
    """The verdicts of the run, by what they say."""
    said = (_VERDICT.value, _VERDICT.reason, _VERDICT.detail)
    called = sa.func.count(_VERDICT.call_key)
    counted = [
        (sa.func.coalesce(sa.func.sum(sa.case((_FIRST_OF_CALL, column))), 0), sa.func.count(column))
        for column in (_VERDICT.tokens_in, _VERDICT.tokens_out)
    ]
    query = sa.select(*said, sa.func.count(), called, *counted[0], *counted[1])
    query = query.select_from(_VERDICTS_WITH_CALLS)
    query = query.where(_VERDICT.run_key == run_key).group_by(*said).order_by(*said)
    return [
        VerdictTally(
            value=value,
            reason=UnknownReason(reason) if reason else None,
            detail=detail,
            units=units,
            tokens_in=int(sum_in) if in_known >= calls else None,
            tokens_out=int(sum_out) if out_known >= calls else None,
        )
        for value, reason, detail, units, calls, sum_in, in_known, sum_out, out_known in (
            session.connection().execute(query)
        )
    ]


def models_of_run(*, session: Session, run_key: str) -> tuple[str, ...]:
    """What the provider said has answered, over the verdicts of the run, in alphabetical order."""
    column = _VERDICT.reported_model
    query = sa.select(column).distinct().where(_VERDICT.run_key == run_key, column.is_not(None))
    return tuple(sorted(session.connection().execute(query).scalars()))


_CALL = table_of(JudgeCallRow).c
_FAULT = table_of(JudgeCallFaultRow).c
_VERDICT = table_of(VerdictRow).c
_PAYLOAD = table_of(ItemPayloadRow).c

# A call about several criteria has a verdict on each, and every one says what the whole call took: sums take
# the first of them only.
_FIRST_OF_CALL = sa.or_(
    _CALL.key.is_(None),
    _CALL.criteria == _VERDICT.criterion,
    sa.func.substr(_CALL.criteria, 1, sa.func.length(_VERDICT.criterion) + 1) == _VERDICT.criterion + " ",
)
_VERDICTS_WITH_CALLS = table_of(VerdictRow).outerjoin(table_of(JudgeCallRow), _CALL.key == _VERDICT.call_key)


def _tally() -> sa.Executable:
    """One pass over the calls of a run: six counts one after the other took several times as long."""
    run: sa.BindParameter[str] = sa.bindparam("run")
    answered = (
        sa.select(
            _VERDICT.call_key,
            sa.func.max(sa.case((_VERDICT.cost_micros.is_not(None), 1), else_=0)).label("priced"),
            sa.func.sum(sa.case((_FIRST_OF_CALL, _VERDICT.cost_micros))).label("cost"),
            sa.func.sum(sa.case((_FIRST_OF_CALL, _VERDICT.tokens_in))).label("sent"),
            sa.func.sum(sa.case((_FIRST_OF_CALL, _VERDICT.tokens_out))).label("got"),
        )
        .select_from(_VERDICTS_WITH_CALLS)
        .where(_VERDICT.run_key == run, _VERDICT.call_key.is_not(None))
        .group_by(_VERDICT.call_key)  # grouped, SQLite looks it up by call, and not through the whole run
        .subquery()
    )
    said = answered.c
    silent = said.call_key.is_(None)
    unresolved = sa.and_(silent, _FAULT.call_key.is_(None))
    # a call with a fault and a verdict was taken from a batch twice, and was paid once
    unknown = sa.or_(sa.and_(silent, _FAULT.cost_micros.is_(None)), said.priced == 0)
    unpriced = sa.and_(unknown, _CALL.reserved_micros.is_(None))
    counted = sa.and_(unpriced, said.sent.is_not(None), said.got.is_not(None))
    uncounted = sa.and_(unpriced, sa.or_(said.sent.is_(None), said.got.is_(None)))
    known = sa.func.coalesce(sa.case((silent, _FAULT.cost_micros), else_=said.cost), 0)
    return (
        sa.select(
            sa.func.count().label("intended"),
            _counted(_FAULT.detail == NOT_MADE).label("not_made"),
            _counted(unresolved).label("unresolved"),
            sa.func.sum(known).label("known_micros"),
            _counted(unknown).label("unknown_cost"),
            sa.func.sum(sa.case((unknown, _CALL.reserved_micros))).label("reserved_micros"),
            sa.func.sum(sa.case((counted, said.sent))).label("unpriced_in"),
            sa.func.sum(sa.case((counted, said.got))).label("unpriced_out"),
            _counted(uncounted).label("unpriced_uncounted"),
        )
        .select_from(table_of(JudgeCallRow))
        .outerjoin(answered, said.call_key == _CALL.key)
        .outerjoin(table_of(JudgeCallFaultRow), _FAULT.call_key == _CALL.key)
        .where(_CALL.run_key == run)
    )


def _counted(which: sa.ColumnElement[bool]) -> sa.ColumnElement[int]:
    return sa.func.sum(sa.case((which, 1), else_=0))


_TALLY = _tally()


# by the columns of an index, and of the fault: else it is looked for at every call of the run
_JUDGED = sa.exists().where(
    _VERDICT.run_key == sa.bindparam("run"),
    _VERDICT.item_key == _CALL.item_key,
    _VERDICT.call_key == _FAULT.call_key,
)
_CALLS_WITH_FAULTS = table_of(JudgeCallRow).join(table_of(JudgeCallFaultRow), _FAULT.call_key == _CALL.key)


def _lost() -> sa.Executable:
    replied = sa.or_(
        _FAULT.detail.in_((UNPARSED, MODEL_CHANGED, LATE)),
        _FAULT.cost_micros > 0,
        _FAULT.attempts.like('%"tokens"%'),
    )
    return (
        sa.select(*(_CALL.item_key, _CALL.criteria, _CALL.presentation, _CALL.repeat))
        .add_columns(_FAULT.detail, _FAULT.attempts)
        .select_from(_CALLS_WITH_FAULTS)
        .where(_CALL.run_key == sa.bindparam("run"), replied, ~_JUDGED)
    )


_LOST = _lost()
_FAULTS = (
    sa.select(_FAULT.attempts, _FAULT.cost_micros, _CALL.reserved_micros)
    .select_from(_CALLS_WITH_FAULTS)
    .where(_CALL.run_key == sa.bindparam("run"), _FAULT.attempts.like('%"fault":"%'), ~_JUDGED)
)
# what a call took is kept with the first of its verdicts alone, and of an attempt that was answered no fault
_REPLIES = (
    sa.select(_PAYLOAD.text, _VERDICT.cost_micros, _CALL.reserved_micros)
    .join_from(table_of(VerdictRow), table_of(JudgeCallRow), _CALL.key == _VERDICT.call_key)
    .join(table_of(ItemPayloadRow), _PAYLOAD.digest == _VERDICT.reply_digest)
    .where(_VERDICT.run_key == sa.bindparam("run"), _PAYLOAD.text.like('%"fault":"%'))
)
