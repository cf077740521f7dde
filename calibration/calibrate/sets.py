"""Use cases of calibration sets: draw one by a declared design, top it up, freeze it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from random import Random
from typing import Any

from sqlmodel import Session

from calibration.calibrate.evidence_set import refuse_tuning_overlap
from calibration.calibrate.failure_modes import ModeCount, mode_counts
from calibration.calibrate.leaks import Leak, NearDuplicate, find_leaks, near_duplicates
from calibration.calibrate.verdicts import read_verdicts
from calibration.sampling import Candidate, DesignKind, SamplingDesign, draw
from calibration.sampling import Member as Drawn
from calibration.store.items import Scope, StoredItem, iter_full_items, iter_items
from calibration.store.judges import get_judge, list_judges
from calibration.store.sets import (
    MemberEntry,
    StoredSet,
    add_set,
    freeze_set,
    get_set_by_digest,
    iter_members,
    list_sets,
)
from rubrics.criterion import Criterion
from rubrics.errors import DeclarationError, RecordError
from rubrics.item import Item, Split
from rubrics.rubric import Rubric
from rubrics.scale import NoClaim
from rubrics.verdict import Verdict

TOLD = 20
"""Near-duplicates that are listed; all are counted."""


@dataclass(frozen=True, slots=True)
class Drawing:
    """What is to be drawn."""

    name: str
    dataset: str
    design: SamplingDesign
    rubric: Rubric | None = None
    """Of the screening verdicts, for a failure-oversampled design."""
    criterion: str | None = None


def draw_set(*, session: Session, drawing: Drawing, actor: str, at: datetime) -> StoredSet:
    """The drawn set, recorded and not yet frozen; under a name that exists, its next version tops it up.

    Raises:
        RecordError: the dataset has no calibration item, or the screening judge has no verdict.
        DeclarationError: the design cannot be drawn from what is there, or meets a tuning group.
    """
    items = list(iter_items(session=session, scope=Scope(drawing.dataset, Split.CALIBRATION)))
    if not items:
        raise RecordError(
            f"dataset {drawing.dataset!r} has no calibration item; "
            f"run `voirdire items import FILE --dataset {drawing.dataset}`"
        )
    versions = [s for s in list_sets(session=session, dataset=drawing.dataset) if s.name == drawing.name]
    earlier = _members(session, versions[-1]) if versions else ()
    strata = _strata(session, drawing, items)
    candidates = [Candidate(i.item_id, i.group, strata.get(i.item_id, "")) for i in items]
    rng = Random(drawing.design.seed)
    members = draw(candidates, drawing.design, rng=rng, already=earlier)
    chosen = {member.item_id for member in members}
    refuse_tuning_overlap(
        session=session, dataset=drawing.dataset, items=(i for i in items if i.item_id in chosen)
    )
    set_digest = add_set(
        session=session,
        set_name=drawing.name,
        version=len(versions) + 1,
        dataset=drawing.dataset,
        content=_content(drawing, strata, items),
        members=[MemberEntry(m.item_id, m.stratum or None, m.inclusion_probability) for m in members],
        actor=actor,
        at=at,
        extends=versions[-1].digest if versions else None,
    )
    return get_set_by_digest(session=session, digest=set_digest)


def _content(drawing: Drawing, strata: Mapping[str, str], items: list[StoredItem]) -> dict[str, Any]:
    sizes: dict[str, int] = {}
    for item in items:
        stratum = strata.get(item.item_id, "")
        sizes[stratum] = sizes.get(stratum, 0) + 1
    return {
        "design": drawing.design.model_dump(mode="json"),
        "rubric": drawing.rubric.ref if drawing.rubric else None,
        "criterion": drawing.criterion,
        "population": sizes,
    }


def _members(session: Session, stored: StoredSet) -> tuple[Drawn, ...]:
    return tuple(
        Drawn(m.item_id, m.group, m.stratum or "", m.inclusion_probability or 1.0)
        for m in iter_members(session=session, set_digest=stored.digest)
    )


def _strata(session: Session, drawing: Drawing, items: list[StoredItem]) -> dict[str, str]:
    """The stratum of each item: a tag, or the verdict of the screening judge."""
    design = drawing.design
    if design.kind is DesignKind.STRATIFIED:
        return {item.item_id: item.tags.get(design.by or "", "(none)") for item in items}
    if design.kind is not DesignKind.FAILURE_OVERSAMPLED:
        return {}
    if drawing.rubric is None or drawing.criterion is None:
        raise DeclarationError(
            "a failure_oversampled design needs --rubric and --criterion of the screening verdicts"
        )
    criterion = drawing.rubric.criterion(drawing.criterion)
    judge = get_judge(session=session, judge=design.by or "")
    judged = read_verdicts(
        session=session,
        scope=Scope(dataset=drawing.dataset),
        judge_digest=judge.digest,
        rubric_digest=drawing.rubric.digest,
        dataset=drawing.dataset,
        criterion=criterion,
    )
    if judged is None:
        raise RecordError(
            f"judge {judge.name!r} has no verdict on dataset {drawing.dataset!r} to screen by; "
            "import or run it first"
        )
    return {item: _screened(answer, criterion) for item, answer in judged.answers.items()}


def _screened(answer: Any, criterion: Criterion) -> str:
    outcome = answer.outcome(criterion.scale)
    return Verdict.UNKNOWN.value if isinstance(outcome, NoClaim) else str(outcome.verdict.value)


@dataclass(frozen=True, slots=True)
class Frozen:
    """A frozen set with what was found at freezing."""

    stored: StoredSet
    near_duplicates: tuple[NearDuplicate, ...]
    modes: tuple[ModeCount, ...] = ()
    """Items by failure mode, as far as they are known, against what was asked for."""


def freeze(
    *,
    session: Session,
    stored: StoredSet,
    rubrics: tuple[Rubric, ...],
    actor: str,
    at: datetime,
    needed: Mapping[str, int] | None = None,
) -> Frozen:
    """Freeze a drawn set after looking for texts that the judge's author could see.

    Args:
        session: a writing session.
        stored: the set.
        rubrics: whose examples a judge may be shown.
        actor: who freezes it.
        at: now.
        needed: items asked for of each failure mode; a shortfall is recorded and told, and refuses nothing.

    Raises:
        DeclarationError: an output also stands in the tuning split, a rubric example or a judge's prompt.
    """
    outputs = dict(_outputs(session, Scope(set_digest=stored.digest)))
    leaks = find_leaks(outputs, dict(_seen(session, stored.dataset, rubrics)))
    if leaks:
        raise DeclarationError(_told(leaks))
    twins = near_duplicates(outputs)
    modes = mode_counts(session=session, set_digest=stored.digest, needed=needed or {})
    freeze_set(
        session=session,
        set_digest=stored.digest,
        actor=actor,
        at=at,
        content={
            "near_duplicates": len(twins),
            "first": [[t.first, t.second, round(t.similarity, 3)] for t in twins[:TOLD]],
            "failure_modes": [[each.mode, each.items, each.needed] for each in modes],
        },
    )
    return Frozen(get_set_by_digest(session=session, digest=stored.digest), twins, modes)


def _told(leaks: tuple[Leak, ...]) -> str:
    first = leaks[0]
    return (
        f"the output of item {first.item_id!r} also stands in {first.place}"
        + (f", and {len(leaks) - 1} more items in places like it" if len(leaks) > 1 else "")
        + ": whoever wrote the judge has seen it; draw the set without it"
    )


def _outputs(session: Session, scope: Scope) -> Iterator[tuple[str, str]]:
    """Item id and output text of every item that is not erased."""
    for item in iter_full_items(session=session, scope=scope):
        if isinstance(item, Item):
            yield item.item_id, "\n\n".join(item.outputs)


def _seen(session: Session, dataset: str, rubrics: tuple[Rubric, ...]) -> Iterator[tuple[str, str]]:
    """Texts that the author of a judge or rubric wrote or tuned on, by place."""
    for item_id, text in _outputs(session, Scope(dataset, Split.TUNING)):
        yield f"tuning item {item_id!r}", text
    for rubric in rubrics:
        for criterion in rubric.criteria:
            for number, example in enumerate(criterion.examples, start=1):
                shown = (example.output, example.output_a, example.output_b)
                whole = "\n\n".join(text for text in shown if text)
                yield f"example {number} of {rubric.ref} {criterion.key!r}", whole
    for judge in list_judges(session=session):
        texts = [value for value in judge.content.values() if isinstance(value, str)]
        yield f"the spec of judge {judge.name!r}", "\n\n".join(texts)
