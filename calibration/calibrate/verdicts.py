"""Recorded verdicts of one judge -> its deployed verdict on each item, and what orders and repeats show."""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from sqlmodel import Session

from calibration.store.calls import NO_ORDER, open_units
from calibration.store.items import Scope, item_ids
from calibration.store.judges import RunOrigin, StoredRun, list_runs
from calibration.store.tallies import models_of_run
from calibration.store.verdicts import StoredVerdict, iter_verdicts
from rubrics.answer import Answer, answered, no_answer
from rubrics.criterion import Criterion
from rubrics.digest import digest
from rubrics.order import position_cells, reconcile
from rubrics.verdict import UnknownReason, Verdict

MISSING = no_answer(UnknownReason.MISSING)


@dataclass(frozen=True, slots=True)
class Judged:
    """What one judge said of the items of a scope under one criterion."""

    answers: Mapping[str, Answer]
    """The deployed answer by item: both orders reconciled where both were asked, the first repeat."""
    position: Mapping[str, int] | None
    """Items by cell of position (rubrics.order) over the items asked in both orders; None without any."""
    repeats: tuple[tuple[int, ...], ...] | None
    """For each repeated item how often each answer came, `unknown` last; None without repeats."""
    run: str
    digests: tuple[str, ...]
    """The recorded verdicts that were read."""
    earlier_runs: int
    """Older runs of the same judge and rubric that answer the criterion on these items too, left out."""
    models: tuple[str, ...] = ()
    """What the provider said has answered in the run; of a panel none, since its members were asked."""


def read_verdicts(
    *,
    session: Session,
    scope: Scope,
    judge_digest: str,
    rubric_digest: str,
    dataset: str,
    criterion: Criterion,
) -> Judged | None:
    """The judge's verdicts of its newest run under the rubric; None where it has no run on the dataset.

    The newest that has a verdict on these items under this criterion, since a run of other items or criteria
    answers nothing here. A run on what another judge sent on is never evidence about its own judge. A unit
    whose call failed is an error, as long as nothing came of asking again.
    """
    runs = [
        run
        for run in list_runs(session=session, judge_digest=judge_digest, dataset=dataset)
        if run.rubric_digest == rubric_digest and not run.escalated
    ]
    if not runs:
        return None
    run, stored, earlier = _newest(session, runs, scope, criterion)
    due = _orders_due(run)
    by_item: defaultdict[str, list[StoredVerdict]] = defaultdict(list)
    for verdict in stored:
        by_item[verdict.item_id].append(verdict)
    return Judged(
        answers={item: deployed(given, due) for item, given in by_item.items()},
        position=_position(by_item.values(), criterion),
        repeats=_repeats(by_item.values(), criterion),
        run=run.key,
        digests=tuple(verdict.digest for verdict in stored),
        earlier_runs=earlier,
        models=models_of_run(session=session, run_key=run.key),
    )


def _newest(
    session: Session, runs: Iterable[StoredRun], scope: Scope, criterion: Criterion
) -> tuple[StoredRun, list[StoredVerdict], int]:
    """The newest run that answers the criterion here, its verdicts, and how many older ones do so too."""

    def answers(run: StoredRun) -> Iterator[StoredVerdict]:
        return iter_verdicts(session=session, scope=scope, criterion=criterion.key, run_key=run.key)

    newest_first = sorted(runs, key=lambda run: (run.recorded_at, run.key), reverse=True)
    for place, run in enumerate(newest_first, start=1):
        if stored := list(answers(run)):
            earlier = sum(next(answers(older), None) is not None for older in newest_first[place:])
            return run, [*stored, *_failed(session, run, scope, criterion)], earlier
    return newest_first[0], [], 0


def _failed(session: Session, run: StoredRun, scope: Scope, criterion: Criterion) -> Iterator[StoredVerdict]:
    """What units without a verdict amount to whose newest call failed."""
    units = [
        unit
        for unit in open_units(session=session, run_key=run.key)
        if unit.criterion == criterion.key and run.origin is RunOrigin.RUN
    ]
    inside = item_ids(session=session, scope=scope) if units else set()
    for unit in units:
        if unit.item_id in inside:
            yield StoredVerdict(
                digest=digest(["open", run.key, criterion.key, unit.item_id, unit.presentation, unit.repeat]),
                judge_digest=run.judge_digest,
                run_key=run.key,
                item_id=unit.item_id,
                criterion=criterion.key,
                answer=Verdict.UNKNOWN.value,
                reason=unit.reason,
                detail=unit.detail,
                order=None if unit.presentation == NO_ORDER else unit.presentation,
                repeat=unit.repeat,
                reply_digest=None,
            )


def _orders_due(run: StoredRun) -> tuple[str | None, ...]:
    """The orders in which the run asks about each item; an imported run does not say."""
    if run.origin is not RunOrigin.RUN:
        return ()
    return tuple(None if order == NO_ORDER else order for order in json.loads(run.plan).get("orders", ()))


def deployed(given: Iterable[StoredVerdict], due: Sequence[str | None] = ()) -> Answer:
    """The answer that the judge would give in use: of the first repeat, both orders reconciled.

    An order that is due and has not been answered is missing: where a judge is asked in two orders, no
    answer is made of one.
    """
    by_repeat: defaultdict[int, dict[str | None, Answer]] = defaultdict(dict)
    for verdict in given:
        by_repeat[verdict.repeat][verdict.order] = answer_of(verdict)
    if not by_repeat:
        return MISSING
    first = by_repeat[min(by_repeat)]
    return reconcile([*first.values(), *(MISSING for order in due if order not in first)])


def _by_repeat(given: Iterable[StoredVerdict]) -> dict[int, list[Answer]]:
    answers: defaultdict[int, list[Answer]] = defaultdict(list)
    for verdict in given:
        answers[verdict.repeat].append(answer_of(verdict))
    return dict(answers)


def answer_of(verdict: StoredVerdict) -> Answer:
    """The stored verdict as an answer on the criterion's scale."""
    if verdict.reason is not None:
        return no_answer(verdict.reason, verdict.detail)
    return answered(verdict.answer)


def _position(items: Iterable[list[StoredVerdict]], criterion: Criterion) -> Mapping[str, int] | None:
    pairs = list(_swapped(items))
    return position_cells(criterion.answers, pairs) if pairs else None


def _swapped(items: Iterable[list[StoredVerdict]]) -> Iterator[tuple[Answer, Answer]]:
    """(answer in order ab, answer in order ba) of the first repeat of each item asked in both."""
    for given in items:
        first = min(verdict.repeat for verdict in given)
        by_order = {v.order: answer_of(v) for v in given if v.repeat == first and v.order}
        if len(by_order) == 2:
            yield by_order["ab"], by_order["ba"]


def _repeats(
    items: Iterable[list[StoredVerdict]], criterion: Criterion
) -> tuple[tuple[int, ...], ...] | None:
    words = (*criterion.answers, None)
    rows = []
    for given in items:
        answers = [reconcile(each).value for each in _by_repeat(given).values()]
        if len(answers) > 1:
            rows.append(tuple(answers.count(word) for word in words))
    return tuple(rows) or None
