"""The open units of a run, read chunk by chunk, so that a run of any size takes the same memory."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from sqlmodel import Session

from calibration.store.calls import Unit as StoredUnit
from calibration.store.calls import asked_again, attempts_made, same_calls, settled_units
from calibration.store.inserting import batches
from calibration.store.items import ErasedItem, read_bound_items, read_items
from judge.calls import CostSource
from judge.grading import JudgeVerdict
from judge.question import Question
from judge.runs.entries import presentation
from judge.runs.plan import RunPlan, Unit
from judge.spec import ModelJudge
from rubrics.criterion import Criterion
from rubrics.item import Item
from rubrics.order import Order
from rubrics.verdict import UnknownReason

CHUNK = 100
"""Items that are read at once."""

Ask = tuple[tuple[Criterion, ...], Order | None, int]


def chunks(plan: RunPlan) -> Iterator[list[str]]:
    """The items of the run by key, in chunks."""
    return batches(plan.item_keys, CHUNK)


@dataclass(frozen=True, slots=True)
class _Recorded:
    """What is recorded of the units of some items."""

    settled: frozenset[StoredUnit] = frozenset()
    """Those that have their verdict."""
    made: Mapping[StoredUnit, int] = field(default_factory=dict)
    """How often each was asked."""
    again: frozenset[StoredUnit] = frozenset()
    """Those that were asked once more since a reply could not be read."""


def open_units(
    *, session: Session, plan: RunPlan, run_key: str, keys: Sequence[str], fresh: bool = False
) -> Iterator[Unit | JudgeVerdict]:
    """The units of these items that have no verdict, those that share a prompt's beginning together.

    An item whose texts were erased gives verdicts instead: nothing is left that could be judged. Of a `fresh`
    run nothing was recorded before this process had it to itself, so nothing is looked for.
    """
    known = _Recorded() if fresh else _recorded(session, plan, run_key, keys)
    settled, made, again = known.settled, known.made, known.again
    same = (
        same_calls(
            session=session,
            run_key=run_key,
            judge_digest=plan.judge.digest,
            rubric_digest=plan.rubric.digest,
            item_keys=keys,
        )
        if isinstance(plan.judge, ModelJudge) and not plan.in_turn_with  # those ask anew, at one time
        else {}
    )
    asks = tuple(plan.asks())
    wanted = [key for key in keys if any(unit not in settled for ask in asks for unit, _ in _units(key, ask))]
    items = {ref.key: (ref, item) for ref, item in read_bound_items(session=session, keys=wanted)}
    wanted.sort(key=lambda key: _shared(items[key][1]))
    for ask in asks:
        for key in wanted:
            wants = [(unit, criterion) for unit, criterion in _units(key, ask) if unit not in settled]
            if not wants:
                continue
            units = [unit for unit, _ in wants]
            ref, item = items[key]
            if not isinstance(item, Item):
                yield from (_erased(plan, item, criterion, ask) for _, criterion in wants)
                continue
            _, order, repeat = ask
            first, *beside = (Question(plan.rubric, criterion, item) for _, criterion in wants)
            yield Unit(
                item=ref,
                question=first,
                order=order,
                repeat=repeat,
                attempt=max(made.get(unit, 0) for unit in units) + 1,
                asked_again=any(unit in again for unit in units),
                same={unit[1]: same[unit] for unit in units if unit in same},
                beside=tuple(beside),
            )


def _recorded(session: Session, plan: RunPlan, run_key: str, keys: Sequence[str]) -> _Recorded:
    reasks = isinstance(plan.judge, ModelJudge) and plan.judge.reask
    return _Recorded(
        settled=settled_units(session=session, run_key=run_key, item_keys=keys),
        made=attempts_made(session=session, run_key=run_key, item_keys=keys),
        again=asked_again(session=session, run_key=run_key, item_keys=keys) if reasks else frozenset(),
    )


def all_items(*, session: Session, plan: RunPlan) -> Iterator[Item]:
    """Every item of the run that still has its texts."""
    for keys in batches(plan.item_keys):
        for _, item in read_items(session=session, keys=keys):
            if isinstance(item, Item):
                yield item


def _units(key: str, ask: Ask) -> list[tuple[StoredUnit, Criterion]]:
    """What gets a verdict of its own, with its criterion."""
    criteria, order, repeat = ask
    return [((key, criterion.key, presentation(order), repeat), criterion) for criterion in criteria]


def _erased(plan: RunPlan, item: ErasedItem, criterion: Criterion, ask: Ask) -> JudgeVerdict:
    _, order, repeat = ask
    return JudgeVerdict(
        judge=plan.judge.digest,
        rubric=plan.rubric.digest,
        criterion=criterion.key,
        item_id=item.item_id,
        order=order,
        repeat=repeat,
        evidence=item.erased.digest,
        reason=UnknownReason.ABSTAINED,
        detail="evidence_missing",
        rationale="the texts of the item were erased before it was judged",
        called=False,
        cost_micros=0,
        cost_source=CostSource.UNBILLED,
    )


def _shared(item: Item | ErasedItem) -> tuple[str, ...]:
    """What several items may have in common and a prompt begins with."""
    evidence: Mapping[str, str] = item.evidence if isinstance(item, Item) else {}
    return tuple(evidence[key] for key in sorted(evidence))
