"""What the verdicts of a run cost and how long they took. Kept from raters: durations tell judges apart."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator
from dataclasses import dataclass

import sqlalchemy as sa
from sqlmodel import Session

from calibration.evidence import OperationFigure
from calibration.store.columns import table_of
from calibration.store.items import ItemRow, Scope
from calibration.store.judges import JudgeRunRow
from calibration.store.tallies import models_of_run
from calibration.store.verdicts import VerdictRow


def operation_of(*, session: Session, scope: Scope, run_key: str, criterion: str) -> OperationFigure | None:
    """Cost and duration over a run's verdicts on the items in the scope under one criterion.

    Every order and repeat is a verdict of its own. None where neither cost nor duration of any was recorded,
    as for a judge that is not run here.
    """
    verdict, item = table_of(VerdictRow), table_of(ItemRow)
    query = scope.applied(
        sa.select(verdict.c.item_key, verdict.c.cost_micros, verdict.c.latency_ms)
        .join_from(verdict, item)
        .where(verdict.c.run_key == run_key, verdict.c.criterion == criterion)
    )
    rows = session.connection().execute(query).all()
    costs = [row.cost_micros for row in rows if row.cost_micros is not None]
    times = sorted(row.latency_ms for row in rows if row.latency_ms is not None)
    if not costs and not times:
        return None
    return OperationFigure(
        verdicts=len(rows),
        costed=len(costs),
        cost_micros=sum(costs),
        items=len({row.item_key for row in rows}),
        timed=len(times),
        latency_p95_ms=times[math.ceil(0.95 * len(times)) - 1] if times else None,
    )


def costs_by_item(*, session: Session, scope: Scope, run_key: str) -> dict[tuple[str, str], int | None]:
    """What the run's verdicts cost by item id and criterion, all orders and repeats together.

    In millionths of a US dollar; None where the cost of one of them is not known.
    """
    verdict, item = table_of(VerdictRow), table_of(ItemRow)
    query = scope.applied(
        sa.select(
            item.c.item_id,
            verdict.c.criterion,
            sa.func.sum(verdict.c.cost_micros),
            sa.func.count(verdict.c.cost_micros) == sa.func.count(),
        )
        .join_from(verdict, item)
        .where(verdict.c.run_key == run_key)
    ).group_by(item.c.item_id, verdict.c.criterion)
    return {
        (item_id, criterion): int(micros) if known else None
        for item_id, criterion, micros, known in session.connection().execute(query)
    }


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
