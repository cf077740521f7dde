"""A store with a rubric, items and a judge, and runs of it over fake models."""

from __future__ import annotations

import asyncio
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from datetime import UTC, datetime
from random import Random
from typing import Any

import sqlalchemy as sa

from calibration.store.assessments import LabelEntry, add_labels
from calibration.store.columns import table_of
from calibration.store.database import Store
from calibration.store.items import add_items
from calibration.store.judges import add_judge, get_run
from calibration.store.rubrics import add_rubric
from calibration.store.verdicts import VerdictRow
from judge.calls import Cost, CostSource, ModelCallError, ModelReply, ModelRequest
from judge.fake_model import FakeTransport, said
from judge.retries import RetryingClient
from judge.runs import RunOptions, RunPlan, RunSummary, plan_run, run_judge
from judge.runs.pacing import Pacer
from judge.spec import JudgeSpec
from rubrics.item import Item
from rubrics.rubric import Rubric
from tests.judge.cases import POINTWISE, item, judge

NOW = datetime(2026, 11, 30, 12, tzinfo=UTC)
DATASET = "support"
KEY = "states_terms"

Handler = Callable[[ModelRequest], ModelReply | ModelCallError]


def numbered(count: int, **changes: Any) -> list[Item]:
    """Items with the ids n-0, n-1, ..., whose outputs hold their numbers."""
    return [item(f"Case {n}: {n} days.", item_id=f"n-{n}", **changes) for n in range(count)]


def lay_down(
    store: Store,
    items: Iterable[Item],
    *judges: JudgeSpec,
    rubric: Rubric = POINTWISE,
) -> None:
    """Rubric, items of the dataset, and judges, recorded; adding them again adds nothing."""
    with store.write() as session:
        add_rubric(session=session, rubric=rubric, actor="lead", at=NOW)
        add_items(session=session, dataset=DATASET, items=items, at=NOW)
        for spec in judges:
            add_judge(
                session=session,
                digest=spec.digest,
                judge_name=spec.name,
                kind=spec.kind,
                content=spec.model_dump(mode="json"),
                actor="lead",
                at=NOW,
            )


def label_all(store: Store, labels: dict[str, str], *, criterion: str = KEY, rater: str = "ann") -> None:
    """One rater's labels by item id."""
    entries = [LabelEntry(item_id, criterion, rater, answer) for item_id, answer in labels.items()]
    with store.write() as session:
        add_labels(session=session, dataset=DATASET, rubric_digest=POINTWISE.digest, labels=entries, at=NOW)


def planned(store: Store, spec: JudgeSpec | None = None, **options: Any) -> RunPlan:
    """The plan of a judge over the dataset, under the binary criterion unless told otherwise."""
    chosen = {"dataset": DATASET, "criteria": (KEY,), "rubric": POINTWISE, **options}
    with store.read() as session:
        return plan_run(session=session, judge=spec or judge(), **chosen)


def carried_out(
    store: Store,
    plan: RunPlan,
    model: FakeTransport | Handler,
    *,
    on_progress: Any = None,
    **options: Any,
) -> RunSummary:
    """The run over a fake model, at the pace of a `pacer` where one is given."""
    pacer: Pacer | None = options.pop("pacer", None)
    fake = model if isinstance(model, FakeTransport) else FakeTransport(model)
    client = fake if pacer is None else RetryingClient(fake, rng=Random(1), turn=pacer.turn)
    chosen = RunOptions(**{"concurrency": 4, "patience_s": 0.0, **options})
    return run_judge(store, plan, lambda: client, options=chosen, on_progress=on_progress)


def number_in(request: ModelRequest) -> int:
    """The number of the item that is asked about."""
    found = re.search(r"Case (\d+):", request.messages[-1].content)
    assert found
    return int(found[1])


def place_in(request: ModelRequest) -> str:
    """Which order is asked: `ab` where pass is listed before fail."""
    text = request.messages[0].content
    return "ab" if text.index('"pass"') < text.index('"fail"') else "ba"


def answer(value: str, *, micros: int | None = None, **changes: Any) -> ModelReply:
    """A reply in the standard form, at a cost."""
    cost: dict[str, Any] = {} if micros is None else {"cost": Cost(micros, CostSource.DECLARED)}
    return said(json.dumps({"reason": "as asked", "verdict": value}), **cost, **changes)


def even_passes(request: ModelRequest) -> ModelReply:
    """Pass for an even item, fail for an odd one, whatever the order."""
    return answer("fail" if number_in(request) % 2 else "pass")


class Slow(FakeTransport):
    """A fake model that counts how many calls it works on at once, and takes a while for each."""

    def __init__(self, handler: Handler, *, company: int) -> None:
        """Let every call but the first, which is made alone, wait until so many have been in flight."""
        super().__init__(handler)
        self.in_flight = self.peak = self.begun = 0
        self._company, self._met = company, asyncio.Event()

    async def send(self, request: ModelRequest) -> ModelReply:
        """The handler's reply after a while."""
        self.begun += 1
        self.in_flight += 1
        self.peak = max(self.peak, self.in_flight)
        if self.peak >= self._company:
            self._met.set()
        try:
            if self.begun > 1:
                with suppress(TimeoutError):
                    await asyncio.wait_for(self._met.wait(), 5)
            await asyncio.sleep(0.01)
            return await super().send(request)
        finally:
            self.in_flight -= 1


def rows(store: Store, statement: str) -> list[tuple[Any, ...]]:
    """The rows of a query in SQL."""
    with store.read() as session:
        return [tuple(row) for row in session.connection().execute(sa.text(statement))]


def verdicts(store: Store, run_key: str | None = None) -> list[Any]:
    """The recorded verdicts as rows, by item key, order and repeat."""
    table = table_of(VerdictRow)
    query = sa.select(table).order_by(
        table.c.item_key, table.c.criterion, table.c.presentation, table.c.repeat
    )
    if run_key is not None:
        query = query.where(table.c.run_key == run_key)
    with store.read() as session:
        return list(session.connection().execute(query).mappings())


def asked_once_each(model: FakeTransport) -> bool:
    """Whether no item was asked twice in the same order."""
    counted = Counter((number_in(request), place_in(request)) for request in model.requests)
    return set(counted.values()) <= {1}


def state(store: Store, run_key: str) -> str:
    """Where the run stands, as it is recorded."""
    with store.read() as session:
        return get_run(session=session, key=run_key).state.value


def adds_up(summary: RunSummary) -> bool:
    """Whether every unit of the run is counted exactly once."""
    counts: Sequence[int] = (
        *summary.verdicts.values(),
        *summary.unknown.values(),
        *summary.errors.values(),
        summary.pending,
    )
    return sum(counts) == summary.units and min(counts) >= 0
