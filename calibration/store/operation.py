"""What the verdicts of a run cost and how long they took. Kept from raters: durations tell judges apart."""

from __future__ import annotations

import json
import math
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import sqlalchemy as sa
from sqlmodel import Session

from calibration.evidence import OperationFigure
from calibration.store.calls import UNPARSED, JudgeCallFaultRow, JudgeCallRow
from calibration.store.columns import table_of
from calibration.store.inserting import batches
from calibration.store.items import ItemRow, Scope
from calibration.store.judges import JudgeRow, JudgeRunRow, RunOrigin
from calibration.store.payloads import Erased, StoredText, read_payloads
from calibration.store.tallies import models_of_run
from calibration.store.verdicts import VerdictRow


def operation_of(*, session: Session, scope: Scope, run_key: str, criterion: str) -> OperationFigure | None:
    """Cost and duration over a run's verdicts on the items in the scope under one criterion.

    A verdict that was settled without a call costs nothing and has no duration; it is counted apart.

    They are those of asking the judge: a verdict taken over from another run, or read again in a replay,
    counts with what the call behind it cost and took, and an unread reply with the call after it. Every order
    and repeat is a verdict of its own. None where neither cost nor duration of any was recorded, as for a
    judge that is not run here.
    """
    took = _took(session, scope, run_key, criterion)
    costs = [each.cost_micros for each in took if each.cost_micros is not None]
    times = sorted(each.latency_ms for each in took if each.latency_ms is not None)
    if not costs and not times:
        return None
    return OperationFigure(
        verdicts=len(took),
        costed=len(costs),
        cost_micros=sum(costs),
        items=len({each.item_id for each in took}),
        timed=len(times),
        latency_p95_ms=times[math.ceil(0.95 * len(times)) - 1] if times else None,
        declared_free=_declared_free(session, scope, run_key, criterion),
        uncalled=sum(each.uncalled for each in took),
    )


def costs_by_item(*, session: Session, scope: Scope, run_key: str) -> dict[tuple[str, str], int | None]:
    """What asking for the run's verdicts costs by item id and criterion, all orders and repeats together.

    In millionths of a US dollar, counted as operation_of() does; None where the cost of one is not known.
    """
    found: dict[tuple[str, str], int | None] = {}
    for each in _took(session, scope, run_key, None):
        place = each.item_id, each.criterion
        before = found.get(place, 0)
        found[place] = None if before is None or each.cost_micros is None else before + each.cost_micros
    return found


@dataclass(frozen=True, slots=True)
class _Took:
    """What one verdict cost and took when it was asked for; None where that is not recorded."""

    item_id: str
    criterion: str
    cost_micros: int | None
    latency_ms: int | None
    uncalled: bool = False
    """Settled without a call, by a model that was asked here."""


def _took(session: Session, scope: Scope, run_key: str, criterion: str | None) -> list[_Took]:
    rows = _verdicts(session, scope, run_key, criterion)
    behind, here = _behind(session, run_key, rows), _asked_here(session, run_key)
    unread = _unread(session, {run_key, *(row.run_key for row in behind.values() if row is not None)})
    found = []
    for row in rows:
        asked = behind.get(row.digest, row)
        if asked is None:
            found.append(_Took(row.item_id, row.criterion, None, None))
            continue
        place = asked.run_key, asked.item_key, asked.criterion, asked.presentation, asked.repeat
        before = unread.get(place, 0)
        cost = None if before is None or asked.cost_micros is None else before + asked.cost_micros
        uncalled = here and asked.call_key is None
        found.append(_Took(row.item_id, row.criterion, cost, asked.latency_ms, uncalled))
    return found


def _verdicts(session: Session, scope: Scope, run_key: str, criterion: str | None) -> Sequence[sa.Row[Any]]:
    query = scope.applied(sa.select(_ITEM.c.item_id, *_READ).join_from(table_of(VerdictRow), _ITEM))
    query = query.where(_VERDICT.run_key == run_key)
    if criterion is not None:
        query = query.where(_VERDICT.criterion == criterion)
    return session.connection().execute(query).all()


def _declared_free(session: Session, scope: Scope, run_key: str, criterion: str) -> int:
    """Verdicts of the run, and of those that voted in it, whose call cost 0 by prices that were declared."""
    found = 0
    for key in (run_key, *(member for _, member in _member_runs(session, run_key))):
        rows = _verdicts(session, scope, key, criterion)
        behind = _behind(session, key, rows)
        asked = (behind.get(row.digest, row) for row in rows)
        calls = [row.call_key for row in asked if row is not None and row.cost_micros == 0 and row.call_key]
        declared = _priced_by_hand(session, set(calls))
        found += sum(call in declared for call in calls)
    return found


def _priced_by_hand(session: Session, calls: Collection[str]) -> set[str]:
    """Those of the calls whose cost is by prices that were declared; one of their verdicts says so."""
    found: set[str] = set()
    for batch in batches(sorted(calls)):
        query = sa.select(_VERDICT.call_key, _VERDICT.reply_digest).where(_VERDICT.call_key.in_(batch))
        rows = session.connection().execute(query.where(_VERDICT.reply_digest.is_not(None))).all()
        replies = read_payloads(session=session, digests={row.reply_digest for row in rows})
        found |= {
            row.call_key for row in rows if _fields(replies.get(row.reply_digest)).get(_SOURCE) == _BY_HAND
        }
    return found


_SOURCE, _BY_HAND = "cost_source", "declared"
"""What a reply says of a cost that somebody gave the prices of."""


def _fields(reply: StoredText | Erased | None) -> Mapping[str, Any]:
    content = reply.content if isinstance(reply, StoredText) else {}
    found: Mapping[str, Any] = (content.get("fields") or {}) if isinstance(content, Mapping) else {}
    return found


def _behind(session: Session, run_key: str, rows: Sequence[sa.Row[Any]]) -> dict[str, sa.Row[Any] | None]:
    """By digest of a verdict without a call of its own: the verdict that it was taken from at last.

    None where that is not recorded any more; what was settled without a call is absent.
    """
    if not _asked_here(session, run_key):
        return {}
    at = {row.digest: row for row in rows if row.call_key is None and row.reply_digest is not None}
    found: dict[str, sa.Row[Any] | None] = {}
    while at:
        replies = read_payloads(session=session, digests={row.reply_digest for row in at.values()})
        sources = {digest: _source(replies.get(row.reply_digest)) for digest, row in at.items()}
        known = _by_digest(session, {source for source in sources.values() if source})
        newer = {digest: known.get(source) for digest, source in sources.items() if source is not None}
        found |= newer
        at = {
            digest: row
            for digest, row in newer.items()
            if row is not None and row.call_key is None and row.reply_digest is not None
        }
    return found


def _asked_here(session: Session, run_key: str) -> bool:
    """Whether the run is of a model that was asked here: no other verdicts are taken over."""
    query = sa.select(_RUN.c.origin, _JUDGE.c.kind).join_from(
        _RUN, _JUDGE, _JUDGE.c.digest == _RUN.c.judge_digest
    )
    row = session.connection().execute(query.where(_RUN.c.key == run_key)).first()
    return row is not None and tuple(row) == (RunOrigin.RUN.value, "model")


def _source(reply: StoredText | Erased | None) -> str | None:
    """Digest of the verdict that this one was taken from; "" where it is erased, None where there is none."""
    if not isinstance(reply, StoredText):
        return ""
    fields = _fields(reply)
    return fields.get("replayed") or fields.get("reused")


def _by_digest(session: Session, digests: Collection[str]) -> dict[str, sa.Row[Any]]:
    found: dict[str, sa.Row[Any]] = {}
    for batch in batches(sorted(digests)):
        query = sa.select(*_READ).where(_VERDICT.digest.in_(batch))
        found |= {row.digest: row for row in session.connection().execute(query)}
    return found


def _unread(session: Session, run_keys: Collection[str]) -> dict[tuple[str, str, str, str, int], int | None]:
    """What unread replies cost, by run, item, criterion, presentation and repeat; None where not known."""
    call, fault = table_of(JudgeCallRow), table_of(JudgeCallFaultRow)
    asked = (call.c.run_key, call.c.item_key, call.c.criteria, call.c.presentation, call.c.repeat)
    query = sa.select(*asked, fault.c.cost_micros).join_from(call, fault, fault.c.call_key == call.c.key)
    found: dict[tuple[str, str, str, str, int], int | None] = {}
    for batch in batches(sorted(run_keys)):
        unread = query.where(call.c.run_key.in_(batch), fault.c.detail == UNPARSED)
        for run, item, criteria, presentation, repeat, cost in session.connection().execute(unread):
            for criterion in criteria.split(" "):
                place = run, item, criterion, presentation, repeat
                before = found.get(place, 0)
                found[place] = None if before is None or cost is None else before + cost
    return found


@dataclass(frozen=True, slots=True)
class AnsweredSpan:
    """The verdicts of a run that came from calls of its own, and when."""

    verdicts: int
    seconds: float
    """From the first of them to the last; pauses between its processes are in it."""

    @property
    def per_minute(self) -> float | None:
        """Verdicts a minute after the first; None where there is no span to speak of."""
        return 60 * (self.verdicts - 1) / self.seconds if self.seconds > 0 else None


def answered_span(*, session: Session, run_key: str) -> AnsweredSpan:
    """How many verdicts of the run came from its own calls, and over what time."""
    verdict = table_of(VerdictRow).c
    said = (sa.func.count(), sa.func.min(verdict.decided_at), sa.func.max(verdict.decided_at))
    query = sa.select(*said).where(verdict.run_key == run_key, verdict.call_key.is_not(None))
    count, first, last = session.connection().execute(query).one()
    return AnsweredSpan(count, (last - first).total_seconds() if first is not None else 0.0)


def reported_models(*, session: Session, run_key: str) -> tuple[str, ...]:
    """The models that the provider said had answered in the run, sorted; empty where it said none.

    Of a panel or cascade those of its members' runs.
    """
    keys = [run_key, *(key for _, key in _member_runs(session, run_key))]
    return tuple(sorted({name for key in keys for name in models_of_run(session=session, run_key=key)}))


def member_models(*, session: Session, run_key: str) -> dict[str, tuple[str, ...]]:
    """The models that the provider said had answered for each member, by the member's digest.

    Of a panel or cascade, with the members of its members; empty for a judge that answers by itself.
    """
    found: dict[str, tuple[str, ...]] = {}
    for judge, key in _member_runs(session, run_key):
        models = {*found.get(judge, ()), *reported_models(session=session, run_key=key)}
        found[judge] = tuple(sorted(models))
    return found


def _member_runs(session: Session, run_key: str) -> Iterator[tuple[str, str]]:
    """Judge and run of the verdicts that voted in the run, and of those that voted in these."""
    column = table_of(JudgeRunRow).c
    plan = session.connection().execute(sa.select(column.plan).where(column.key == run_key)).scalar()
    for judge, key in (json.loads(plan).get("members") or {}).items() if plan else ():
        yield judge, key
        yield from _member_runs(session, key)


_ITEM, _RUN, _JUDGE = table_of(ItemRow), table_of(JudgeRunRow), table_of(JudgeRow)
_VERDICT = table_of(VerdictRow).c
_READ = (
    *(_VERDICT.digest, _VERDICT.run_key, _VERDICT.item_key, _VERDICT.criterion, _VERDICT.presentation),
    *(_VERDICT.repeat, _VERDICT.cost_micros, _VERDICT.latency_ms, _VERDICT.call_key, _VERDICT.reply_digest),
)
